/* Sleeping until a word changes or until an absolute CLOCK_MONOTONIC time: one system call, no lock. */
#pragma once

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/host/clocks.h"

/* deadline_ns 0: no deadline. Returns early for any reason; the caller looks again. */
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
