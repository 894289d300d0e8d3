/* Several instances' values to one, by the rule of their counter. report/numbers/NUMBERS.md says what a missing value
 * does. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/metric/expr.h"
#include "format/model.h"
#include "report/replay/replay.h"

struct aggregate {
	size_t n; /* intervals */
	double sum[PM_CHUNK_ROWS];
	double known[PM_CHUNK_ROWS];   /* seconds between ticks, of instances not known all the time */
	double unknown[PM_CHUNK_ROWS]; /* seconds that were lost */
	uint32_t count[PM_CHUNK_ROWS]; /* values, besides those of the `whole` instances */
	uint32_t whole;                /* instances with all values, of the current counter */
	uint32_t all_whole;            /* of all counters since the beginning */
	uint16_t lost[PM_CHUNK_ROWS];  /* reason of a value that is missing; 0: none */
	uint16_t away[PM_CHUNK_ROWS];  /* reason of one that is absent */
	bool some_parts;               /* known[] or unknown[] is in use */
	bool levels;                   /* adds up levels: an instance counts as 0 while it is absent */
};

/* Starts again, for the first n intervals, of counts. `more`: another counter of the same sum. */
void aggregate_begin(struct aggregate *a, size_t n, bool more);
/* One instance. `s`: for how long it was known; NULL: all the time. `may_go`: if it is gone it is left out, as if
 * offline (a task that ended). */
void aggregate_add(struct aggregate *a, const struct value *v, const struct support *s,
		   const struct interval *interval, enum pm_aggregation rule, bool may_go);
/* Of instances that count once together (a package's CPUs for an event of the package), the first with a value. */
void aggregate_add_one_of(struct aggregate *a, const struct value *const *v, const struct support *const *s, size_t n,
			  const struct interval *interval, enum pm_aggregation rule, bool may_go);
/* out += result if begun with `more`, else out = result. `count`: the number of instances. */
void aggregate_end(struct aggregate *a, enum pm_aggregation rule, bool count, bool more, struct value *out);
/* How long all instances since the beginning were known, and for how long not; false: all of them all of the time,
 * with their number only. */
bool aggregate_times(const struct aggregate *a, const struct interval *interval, double *known, double *lost,
		     uint32_t *whole);
