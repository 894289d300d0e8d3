/* One counter of one instance, followed through the recording. The arithmetic of differences lives here, and nowhere
 * else. */
#ifndef REPORT_TRACK_H
#define REPORT_TRACK_H

#include "report/replay/replay.h"

struct counter_rule;
struct track_more; /* what only tracks with rare aspects need */

struct track {
	uint32_t counter, instance;
	uint32_t slot; /* first of its arrays of results, in arrays */
	uint32_t seen; /* chunk in which it was read last */
	uint8_t width; /* bits that it counts, 1 to 64 */
	bool started;  /* `prev` is a reading that the next one may be compared with */
	uint8_t aspects;
	uint8_t type;      /* pm_type */
	uint8_t semantics; /* pm_semantics */
	bool scaled : 1;   /* mul or div is not 1 */
	bool perf : 1;     /* the group has enabled and running, and scaling is wanted */
	bool may_go : 1;   /* a task or cgroup: after its end there is nothing more to count, and nothing lost */
	bool uncore : 1;   /* of an uncore PMU */
	bool any : 1;      /* a difference or level was taken in this interval */
	bool stale : 1;    /* the reading at the end of an interval before this one is missing: `prev` is too old */
	uint16_t gap;      /* why the reading before this one is missing; 0: it is there */
	uint16_t reason;   /* why the interval's value is missing, whatever else was read */
	uint16_t absent;   /* why there is nothing, if nothing was read */
	uint16_t before;   /* why there was no reading before the first; 0: no special reason */
	uint16_t unseen;   /* why it is not in the chunk at hand */
	double mul, div;
	uint64_t prev, prev_time;
	uint64_t sum; /* difference so far, or the latest level; the bits of a double if type is F64 */
	uint64_t elapsed;
	struct track_times *times; /* owned; NULL unless its group has enabled and running */
	struct track_more *more;   /* owned; NULL unless it has a rule, or FIRST, LAST, MEAN, MAX or SPAN is wanted */
};

struct track_times {
	uint64_t prev_enabled, prev_running;
	uint64_t enabled, running; /* of this interval */
};

struct track_more {
	const struct counter_rule *rule; /* NULL: none; the replay owns it */
	uint64_t prev_half, first_half;  /* doubt about when `prev` was read, and the one at the interval's start */
	bool any;
	double first, last, max, weighted;
	double span; /* microseconds */
	uint64_t weight;
};

/* One column of a chunk. */
struct column {
	const uint64_t *v;
	const uint16_t *status;                          /* NULL: all valid */
	const uint64_t *begin, *end, *enabled, *running; /* the last two NULL without perf times */
	const double *seconds; /* since the row before, for all rows but the first; NULL: not asked for */
};

/* Fills seconds[row + 1] to seconds[end - 1] as struct column has them. */
void track_seconds(const struct column *c, uint32_t row, uint32_t end, double *seconds);
/* One reading. */
void track_step(struct track *t, const struct column *c, uint32_t row);
/* Rows [row, end), none of which ends an interval but perhaps the last. Same as a step for each, faster. */
void track_span(struct track *t, const struct column *c, uint32_t row, uint32_t end);
/* The interval ends with the reading before: result k of each wanted aspect; base = arrays, `stride` apart. `counts`:
 * an array for its counts, or NULL. */
void track_close(struct track *t, struct value *base, size_t stride, size_t k, struct count *counts);
/* Rows [row, end) each close an interval, from k on. Same as step and close for each, faster; c->seconds is there if
 * time is asked for. */
void track_rows(struct track *t, const struct column *c, uint32_t row, uint32_t end, struct value *base,
		size_t stride, size_t k, struct count *counts);
/* It was not read at all in these snapshots. */
void track_missed(struct track *t, uint16_t reason);
/* The next reading starts anew; `before`: why there is none before it. */
void track_restart(struct track *t, uint16_t before);

#endif
