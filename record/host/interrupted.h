/* Blocked signals. Fatal ones wait for the control thread; code that waits for something else checks here. */
#pragma once

#include <signal.h>
#include <stdbool.h>

/* Whether one is pending. */
static inline bool interrupted(void)
{
	sigset_t set;

	return !sigpending(&set) && (sigismember(&set, SIGINT) == 1 || sigismember(&set, SIGTERM) == 1 ||
				     sigismember(&set, SIGHUP) == 1 || sigismember(&set, SIGQUIT) == 1);
}

/* Whether the process was stopped once and went on. */
static inline bool continued(void)
{
	sigset_t set;

	return !sigpending(&set) && sigismember(&set, SIGCONT) == 1;
}
