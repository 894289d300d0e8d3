/* Markers between processes: a socket "@pmrec/UID/PID" a recorder, in the abstract namespace. */
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
