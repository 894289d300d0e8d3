/* Markers between processes: a socket "@pmrec/UID/PID.N" a recorder, in the abstract namespace. Names there belong to
 * whoever takes them first, so both sides look at the credentials of the other: a recorder takes markers of its user
 * and of root, and markers go to recorders of the same user only. */
#ifndef RECORD_MARKSOCKET_H
#define RECORD_MARKSOCKET_H

#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"

int marksocket_listen(void); /* descriptor, or -1 */
/* A marker that is waiting, if there is one; answers it. */
bool marksocket_take(int fd, char *text, size_t size);
/* Number of recorders that took it, or -errno. */
int marksocket_send(const char *text, struct error *e);

#endif
