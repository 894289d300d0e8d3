/* The recorder reads its signals from a descriptor, and while it waits for a file it reads none. */
#pragma once

#include <signal.h>

/* From here on SIGINT, SIGTERM, SIGHUP and SIGQUIT end the process at once, unless ignored: for the time in which
 * nothing can be lost, and files are opened that may be on a dead network. */
void interruptible_begin(sigset_t *before);
void interruptible_end(const sigset_t *before);
