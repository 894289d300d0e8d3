/* What this process and its threads do to themselves: CPUs, locks, signals. */
#pragma once

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "common/buf.h"
#include "record/host/clocks.h"

/* CPUs on which a thread may run, on machines of any size. */
struct affinity {
	cpu_set_t mask[65536 / CPU_SETSIZE];
	bool saved;
};

/* Remembers where the calling thread may run. 0 or -errno. */
int affinity_save(struct affinity *a);
/* Lets it run there again, if that was saved. */
void affinity_restore(struct affinity *a);
/* Lets a thread of this process run there again. 0 or -errno. */
int affinity_apply(const struct affinity *a, pid_t tid);
/* How many CPUs the calling thread may run on, at least 1. */
uint32_t affinity_cpus(void);
/* 0, or -errno if the machine lacks the CPU or a cpuset excludes it. */
int affinity_pin(uint32_t cpu);

/* Holds a mutex to the end of a block: SCOPED(unlock) pthread_mutex_t *held = lock(&x->lock). */
static inline pthread_mutex_t *lock(pthread_mutex_t *m)
{
	pthread_mutex_lock(m);
	return m;
}

static inline void unlock(pthread_mutex_t **m)
{
	pthread_mutex_unlock(*m);
}

/* Gives memory back that only starting needed: what was freed, and pages of the program and its libraries as they are
 * in their files; those that are used again come back. A debugger's breakpoints in them do not. */
void process_shrink(void);

/* Blocked signals. Fatal ones wait for the control thread; code that waits for something else checks here. */

/* Whether one is pending. */
static inline bool interrupted(void)
{
	sigset_t set;

	return !sigpending(&set) && (sigismember(&set, SIGINT) == 1 || sigismember(&set, SIGTERM) == 1 ||
				     sigismember(&set, SIGHUP) == 1 || sigismember(&set, SIGQUIT) == 1);
}

/* The recorder reads its signals from a descriptor, and while it waits for a file it reads none. */

/* From here on SIGINT, SIGTERM, SIGHUP and SIGQUIT end the process at once, unless ignored: for the time in which
 * nothing can be lost, and files are opened that may be on a dead network. */
void interruptible_begin(sigset_t *before);
void interruptible_end(const sigset_t *before);

/* Sleeping until a word changes or until an absolute CLOCK_MONOTONIC time: one system call, no lock.
 * deadline_ns 0: no deadline. Returns early for any reason; the caller looks again. */
static inline void futex_wait_until(_Atomic uint32_t *word, uint32_t seen, uint64_t deadline_ns)
{
	struct timespec t = clocks_timespec(deadline_ns);

	syscall(SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, seen, deadline_ns ? &t : NULL, NULL,
		FUTEX_BITSET_MATCH_ANY);
}

static inline void futex_wake_all(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT_MAX, NULL, NULL, 0);
}
