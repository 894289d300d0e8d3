/*
 * A recording of tasks that come and go, made from numbers that follow from a seed. Every value says which task,
 * counter and snapshot it belongs to, so that what is read can be checked without looking at what was written.
 */
#pragma once

#include <stdio.h>

#include "common/buf.h"
#include "format/reader.h"
#include "format/writer.h"

struct churn_options {
	uint32_t live, counters, replaced; /* tasks at a time; of which so many are others in the next chunk */
	uint32_t chunks, rows;
	bool perf;    /* enabled and running, too */
	bool shared;  /* one time for all tasks */
	bool restart; /* no group continues another */
	bool slow;    /* a second group, in every third chunk */
	bool cgroups; /* instead of tasks */
	uint32_t seed;
	FILE *to; /* in place of `out`; then each quarter prints chunks, bytes, bytes of a copy of all definitions,
		   * instances and groups of the model, and KiB that are resident */
};

/* Appends the recording to `out`. */
void churn_write(struct buf *out, const struct churn_options *o);
/* Of counter `counter` (from 0) of the task with this pid in snapshot `n`. */
uint64_t churn_value(const struct churn_options *o, uint64_t pid, uint32_t counter, uint64_t n);
/* Values of a decoded chunk that are not what was written. Counts all of them in *values. */
uint64_t churn_compare(const struct pm_model *m, const struct churn_options *o, const struct pm_chunk *c,
		       uint64_t *values);

#define CHURN_START 1000000000000ull
#define CHURN_STEP  1000000000ull
