/* --pre and --post: shell commands before and after a run. */
#ifndef RECORD_HOOK_H
#define RECORD_HOOK_H

#include "record/child.h"
#include "record/signals.h"

/* Runs it to its end, under that number (child_fork()); what would end the recorder is passed on. 0, or -errno (-EINTR after such a signal, -ECANCELED
 * for a status that is not 0) with the text in *e. */
int hook_run(unsigned what, const char *option, const char *command, const struct child_setup *setup,
	     struct signals *signals, struct error *e);

#endif
