/* --pre and --post: shell commands before and after a run. */
#pragma once

#include "record/child.h"
#include "record/signals.h"

/* Waits for the end of a child, and passes signals on that end the recorder. Whether one came. */
bool hook_await(struct child *c, struct signals *signals);
/* Runs it to its end, under this number (child_fork()), and passes signals on that end the recorder. 0, or -errno
 * with the text in *e: -EINTR after such a signal, -ECANCELED for a status other than 0. */
int hook_run(unsigned what, const char *option, const char *command, const struct child_setup *setup,
	     struct signals *signals, struct error *e);
