#include "record/host/realtime.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "record/host/opener.h"

/* How long a reader may run without sleeping: a thousand times what it needs. */
#define BOUND_US 200000

static void too_long(int signo)
{
	const struct sched_param none = { 0 };

	sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &none);
}

int realtime_allow(unsigned priority)
{
	struct sigaction act = { .sa_handler = too_long, .sa_flags = SA_RESTART };
	struct rlimit bound;
	int err = getrlimit(RLIMIT_RTTIME, &bound) ? -errno : 0;

	if (!err && (bound.rlim_cur == RLIM_INFINITY || bound.rlim_cur > BOUND_US)) {
		bound.rlim_cur = BOUND_US;
		err = setrlimit(RLIMIT_RTTIME, &bound) ? -errno : 0;
	}
	if (!err && sigaction(SIGXCPU, &act, NULL))
		err = -errno;
	if (!err)
		err = realtime_begin(priority);
	too_long(0);
	return err;
}

int realtime_begin(unsigned priority)
{
	const struct sched_param param = { .sched_priority = (int)priority };

	/* Allowed by the caller's limit, or by the opener's right. */
	return sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param) ? opener_hurry(gettid(), priority) : 0;
}
