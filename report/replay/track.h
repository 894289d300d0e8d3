/* One counter of one instance through the recording. Differences are computed here only. */
#pragma once

#include "report/replay/replay.h"

struct counter_rule;

struct track_more; /* what only tracks with rare aspects need */

struct track_loss;

struct track {
	uint32_t counter, instance;
	uint32_t seen;  /* chunk in which it was read last */
	uint32_t group; /* that feeds it; another one that has the same column is a series by itself */
	uint8_t width;  /* bits that it counts, 1 to 64 */
	bool started;   /* the next reading may be compared with `prev` */
	uint8_t aspects;
	uint8_t type;       /* pm_type */
	uint8_t semantics;  /* pm_semantics */
	bool scaled : 1;    /* mul or div is not 1 */
	bool perf : 1;      /* the group has enabled and running, and scaling is wanted */
	bool counts_on : 1; /* also while CPUs are offline: of a package, node, device or uncore PMU */
	bool uncore : 1;    /* of an uncore PMU */
	bool any : 1;       /* a difference or level was taken in this interval */
	bool several : 1;   /* several levels were: the mean is not the last one */
	bool ended : 1;     /* its instance has retired */
	bool over : 1;      /* and an interval without it was closed */
	bool away : 1;      /* it was absent at the last row */
	bool odd : 1;       /* the previous reading was a reset: it began again there, or that was no reading */
	bool folded : 1;    /* what it had is in the track of all that have ended, or in a track_end */
	uint16_t gap;       /* why the previous reading is missing; 0: it is not */
	uint16_t absent;    /* why there is no value, if nothing was read or lost */
	uint16_t before;    /* why there was no reading before the first; 0: no special reason */
	uint16_t unseen;    /* why it is not in the current chunk */
	uint32_t back;      /* how far it may step back without a reset: that counts 0 */
	double mul, div;
	uint64_t before_reset;     /* the reading before the previous one, if `odd` */
	uint64_t prev, prev_time;  /* of a gauge: the bits of the levels so far, each times its ns */
	uint64_t sum;              /* difference so far, or the latest level; the bits of a double if type is F64 */
	uint64_t elapsed;          /* ns of this interval for which it is known */
	struct track_times *times; /* owned; NULL unless its group has enabled and running */
	struct track_more *more;   /* owned; NULL unless it has a rule, or FIRST, LAST, MEAN, MAX or SPAN is wanted */
	struct track_loss *loss;   /* owned; NULL as long as nothing was missing */
	struct track_average *average; /* owned; NULL: its levels are combined with no others row by row */
};

struct track_times {
	uint64_t prev_enabled, prev_running;
	uint64_t enabled, running; /* of this interval */
	uint64_t lost;             /* part of `enabled` in which what it counted is lost */
	double made;               /* the sum, scaled */
	bool shared;               /* it was multiplexed */
};

struct track_more {
	const struct counter_rule *rule; /* NULL: none; the replay owns it */
	bool any;                        /* `last` is the previous reading */
	bool begun;                      /* `first` is a level at the beginning of this interval */
	bool paused;                     /* `last` is not compared with the next reading */
	bool some;                       /* something was read in this interval */
	double first, last, max, weighted;
	double span; /* microseconds */
	uint64_t weight;
};

/* Where a counter was not known. */
struct track_loss {
	uint64_t absent, lost;     /* ns of this interval */
	uint64_t pending;          /* ns since the last reading: lost, unless the next one carries them */
	uint64_t earlier;          /* ns of earlier intervals that it would carry, too */
	uint64_t before;           /* ns of these that a reading of this interval carried */
	uint64_t hidden;           /* unseen ns after it was absent: absent, if it is still absent afterwards */
	uint64_t undue;            /* ns since a snapshot with a reading, or a failed one: none was due */
	uint64_t ended_ns;         /* of an ended track: ns of the open interval until then */
	struct track_joint *joint; /* owned; NULL: no formula takes it with others */
	struct track_sum *sum;     /* owned; NULL: it does not stand for ended tracks */
	struct support *at;        /* [replay_block()], behind it */
	uint16_t owed;             /* why `pending` is missing */
	uint16_t why;              /* reason of the lost time */
	uint16_t last;             /* why it was lost last */
	bool carried : 1;          /* a reading of this interval carried earlier time */
	bool ever : 1;             /* it has been known */
	bool some : 1;             /* `at` is in use for the current block */
};

/* What an ended track comes to. */
struct track_end {
	uint32_t counter, instance;
	uint8_t aspects; /* one of VALUE, ELAPSED, RATE */
	bool divides;    /* `v` is a difference of which the rate is wanted */
	bool some;       /* `at` is not that of one that was known all the time */
	struct value v;
	union {
		struct {
			uint64_t known, absent, lost, before; /* ns; absent: without what follows its end */
			uint16_t why;
		} ns; /* until the interval ends */
		struct support at;
	};
};

/* One column of a chunk. */
struct column {
	const uint64_t *v;
	const uint16_t *status;                          /* NULL: all valid */
	const uint64_t *begin, *end, *enabled, *running; /* the last two NULL without perf times */
	const double *seconds; /* since the row before, for all rows but the first; NULL: not computed */
	const uint64_t *tick;
	uint32_t first;        /* the row after `before` */
	uint64_t before;       /* the tick before that row; 0: none to compare with */
	bool begins;           /* an interval begins with that row */
	double slope;          /* seconds in a second of CLOCK_MONOTONIC */
	bool averages;         /* some interval has several rows */
	struct row_note *note; /* by row: findings of a step; NULL: not wanted */
};

/* ns of CLOCK_MONOTONIC as they would have been without its slewing. */
static inline uint64_t monotonic_ns(uint64_t ns, double slope)
{
	return __builtin_expect(slope == 1, 1) ? ns : (uint64_t)((double)ns * slope + 0.5);
}

static inline uint64_t true_ns(const struct column *c, uint64_t ns)
{
	return monotonic_ns(ns, c->slope);
}

static inline uint64_t midpoint(const struct column *c, uint32_t row)
{
	return c->begin[row] + (c->end[row] - c->begin[row]) / 2;
}

/* From the previous snapshot to the row. */
static inline uint64_t column_ns(const struct column *c, uint32_t row)
{
	uint64_t before = row > c->first ? c->tick[row - 1] : c->before;

	return before ? true_ns(c, c->tick[row] - before) : 0;
}

/* What a step found about the time since the previous snapshot: reasons, or 0. */
struct row_note {
	uint16_t absent;
	uint16_t lost;  /* it is lost, with all that waited */
	uint16_t gone;  /* what waited is lost, but not this time */
	uint16_t waits; /* the next reading may carry it */
	bool goes_on;   /* as for the time before: the next reading, or this one, carries both */
};

/* The decision about that time for all counters that a formula takes together. */
struct joint_row {
	enum { JOINT_TAKE, JOINT_WAIT, JOINT_LOSE, JOINT_ABSENT } what;
	uint16_t why;
	uint16_t gone; /* what waited is lost first */
};

/* The loss of a track, created for blocks of `rows`. */
struct track_loss *track_loss_of(struct track *t, size_t rows);
/* Whether a reading of [row, end) cannot be compared with the previous one. */
bool track_breaks(const struct track *t, const struct column *c, uint32_t row, uint32_t end);
/* Ends the interval with the previous reading: result k of each wanted aspect, in arrays from `base` on, `stride`
 * apart. `counts`: an array for its counts, or NULL. */
void track_close(struct track *t, struct value *base, size_t stride, size_t k, struct count *counts);
/* A step for each row of [row, end), and a close where closes[] says so, from result 0 on, in arrays of `rows`.
 * False: some reading was not taken as it is, and the track has a loss. */
bool track_take(struct track *t, const struct column *c, uint32_t row, uint32_t end, const bool *closes,
		struct value *base, size_t rows, struct count *counts);
/* It was not read for `ns`. It has a loss. */
void track_missed(struct track *t, uint16_t reason, uint64_t ns);
/* The same for the time before a row; `note` as in struct column. */
void track_unseen(struct track *t, uint16_t reason, uint64_t ns, struct row_note *note);
/* Nothing was seen for `ns`. It has a loss. */
void track_hide(struct track *t, uint64_t ns);
/* The next reading is a first one: a stretch of the recording ends. */
void track_pause(struct track *t);
/* Begins a track that stands for all ended ones of the counter of `t`. */
void track_begin_sum(struct track *sum, const struct track *t, size_t rows);
/* Moves there what an ended track has of the open interval; false: it has to stay. */
bool track_fold(struct track *sum, struct track *t);
/* Moves there what an ended track, which is released, has of the open interval; false: that needs more. */
bool track_end(struct track_end *e, struct track *t);
/* Ends the interval, of `ns`. */
void track_end_close(struct track_end *e, uint64_t ns);
/* Begins the next one, all of which comes after its end. */
void track_end_again(struct track_end *e);
/* From here on, takes only what all counters of a formula have. It has a loss. */
void track_join(struct track *t);
/* As track_step(), or track_unseen() where `c` is NULL. */
void track_joint_step(struct track *t, const struct column *c, uint32_t row, const struct joint_row *j, uint64_t ns);
/* Whether that was called after the last track_joint_resume(). */
bool track_joint_waits(const struct track *t);
/* Call it after rows of which the last was taken: the track continues as any other. */
void track_joint_resume(struct track *t);
/* Adds a level, known for `ns`, to those of its row. */
void average_take(struct track *t, uint32_t row, double level, uint64_t ns);
/* Forgets with which others its levels are combined. */
void average_leave(struct track *t);
/* Loses what waits for the next reading. */
void track_joint_restart(struct track *t);
