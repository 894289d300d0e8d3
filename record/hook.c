#include "record/hook.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>

bool hook_await(struct child *c, struct signals *signals)
{
	struct pollfd p = { .fd = signals->fd, .events = POLLIN };
	struct signals_event event;
	bool told = false;

	while (!child_ended(c, false)) {
		poll(&p, 1, -1);
		while (signals_next(signals, &event)) {
			if (!signals_end(&event))
				continue;
			told = true;
			/* What the terminal sends has reached it already. */
			if (!event.terminal)
				child_signal(c, event.signo);
		}
	}
	return told;
}

int hook_run(unsigned what, const char *option, const char *command, const struct child_setup *setup,
	     struct signals *signals, struct error *e)
{
	char *argv[] = { (char *)"/bin/sh", (char *)"-c", (char *)command, NULL };
	struct child c;
	int err = child_fork(&c, what, argv, setup, e);
	bool told;

	if (!err)
		err = child_start(&c, e);
	if (err) {
		child_release(&c);
		return error_prefix(e, "%s", option);
	}
	told = hook_await(&c, signals);
	child_release(&c);
	if (told)
		return error_set(e, EINTR, "%s: interrupted", option);
	if (child_exit_code(&c))
		return error_set(e, ECANCELED, "%s: '%.200s' ended with %d", option, command, child_exit_code(&c));
	return 0;
}
