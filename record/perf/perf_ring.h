/*
 * Sampling in the kernel: at each tick the timer interrupt of a clock event, the leader, writes time and counts of
 * its group into a ring of memory. No thread is woken, so no tick is late on a busy CPU.
 */
#pragma once

#include "record/host/perf_open.h"

struct perf_ring {
	int leader; /* descriptor; owned by the row, which closes it */
	void *map;  /* NULL: none */
	size_t size;
	uint64_t interval_ns;
	uint64_t *record; /* owned: the sample that was looked at */
	size_t record_size;
	uint64_t last_ns, last_enabled; /* when the counts of the last sample were read; 0: there was none */
};

/* Opens the leader of a group of `members` on a CPU, disabled, and its ring. A descriptor or -errno. */
int perf_ring_open(struct perf_ring *r, struct perf_place at, uint64_t interval_ns, uint32_t members);
/* Unmaps it; the caller closes the descriptor. */
void perf_ring_close(struct perf_ring *r);

/* Empties the ring; the next sample comes one interval from now. 0 or -errno. */
int perf_ring_start(struct perf_ring *r);
/* The oldest sample: its time (CLOCK_MONOTONIC), and what read() would have returned, valid until the next call.
 * False if there is none. */
bool perf_ring_peek(struct perf_ring *r, uint64_t *time_ns, const uint64_t **values, size_t *n);
/* Removes that sample. Returns how long after its time its counts were read, ns: a host may take the CPU away in
 * between, which shows in the time enabled, as it is read with the counts. */
uint64_t perf_ring_drop(struct perf_ring *r);
