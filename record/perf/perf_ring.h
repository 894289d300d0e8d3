/*
 * Sampling in the kernel: a leader that is a clock of the CPU writes time and counts of its whole group into a ring
 * of memory, each tick, from the timer's interrupt. No thread is woken, so no tick is late on a busy CPU.
 */
#ifndef RECORD_PERF_RING_H
#define RECORD_PERF_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/host/perf_open.h"

struct perf_ring {
	int leader; /* descriptor; owned by the row, which closes it */
	void *map;  /* NULL: none */
	size_t size;
	uint64_t interval_ns;
	uint64_t *record; /* owned: the sample that was looked at */
	size_t record_size;
	uint64_t lost; /* samples for which there was no room */
};

/* Opens the leader of a group of `members` on a CPU, standing still, and its ring. Its descriptor or -errno. */
int perf_ring_open(struct perf_ring *r, struct perf_place at, uint64_t interval_ns, uint32_t members);
/* Unmaps; the descriptor is the caller's. */
void perf_ring_close(struct perf_ring *r);

/* Forgets what is in the ring; the next sample comes one interval from now. 0 or -errno. */
int perf_ring_start(struct perf_ring *r);
/* Looks at the oldest sample: its time (CLOCK_MONOTONIC), and what read() would have given, valid until the next call.
 * False: there is none. */
bool perf_ring_peek(struct perf_ring *r, uint64_t *time_ns, const uint64_t **values, size_t *n);
/* Done with it. */
void perf_ring_drop(struct perf_ring *r);

#endif
