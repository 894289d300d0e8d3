#include "record/host/interruptible.h"

void interruptible_begin(sigset_t *before)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	sigset_t set;

	sigemptyset(&set);
	for (unsigned i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		sigaddset(&set, ends[i]);
	pthread_sigmask(SIG_UNBLOCK, &set, before);
}

void interruptible_end(const sigset_t *before)
{
	pthread_sigmask(SIG_SETMASK, before, NULL);
}
