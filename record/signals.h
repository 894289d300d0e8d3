/* Signals as a file descriptor: blocked in every thread, read by the control thread. */
#pragma once

#include "record/joined.h"

struct signals {
	int fd;
};

struct signals_event {
	int signo;
	bool terminal; /* typed at the terminal: its whole foreground group has received it */
};

/* Before any thread is started: those that pmrec receives, or the program that it stands for, with a command or not.
 * 0 or -errno. */
int signals_init(struct signals *s, const struct joined *j, bool command);
void signals_release(struct signals *s);
/* False: nothing more. */
bool signals_next(struct signals *s, struct signals_event *e);
/* Whether it requests the end. */
bool signals_end(const struct signals_event *e);
