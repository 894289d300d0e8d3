/* The recorder reads its signals from a descriptor, and while it waits for a file it reads none. */
#ifndef RECORD_INTERRUPTIBLE_H
#define RECORD_INTERRUPTIBLE_H

#include <signal.h>

/* From here on SIGINT, SIGTERM, SIGHUP and SIGQUIT end the process where it is, if they are not ignored: for the time
 * in which nothing is lost with it, and files are opened that may lie on a dead network. */
void interruptible_begin(sigset_t *before);
void interruptible_end(const sigset_t *before);

#endif
