/*
 * From snapshots to intervals: the replay takes chunks and gives, for every *track* (one counter of one instance) and
 * interval, differences of cumulative counters and levels of gauges, or the reason why they are missing.
 *
 * Nothing is ever subtracted across a gap, a segment or a run. A reading that failed, or was not due, loses no count
 * of a cumulative counter: the next one carries count and time, and its difference counts in the interval in which it
 * was read. Longer intervals are combined from the finest ones. report/numbers/NUMBERS.md says what a number
 * means.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/metric/expr.h"
#include "format/chunk.h"
#include "format/model.h"
#include "report/machine/places.h"

/* What is requested of a track: a set of bits 1 << aspect. */
enum track_aspect {
	TRACK_VALUE = EXPR_VALUE,
	TRACK_FIRST = EXPR_FIRST,
	TRACK_LAST = EXPR_LAST,
	TRACK_MEAN = EXPR_MEAN,
	TRACK_MAX = EXPR_MAX,
	TRACK_ELAPSED = EXPR_ELAPSED, /* seconds */
	TRACK_RATE,                   /* difference / known and absent time; a gauge as TRACK_VALUE */
	TRACK_SPAN,                   /* microseconds that the last reading took */
	TRACK_ASPECTS,
	TRACK_EACH = TRACK_ASPECTS /* no aspect: tasks that have ended may not be one track together */
};

enum replay_mode {
	REPLAY_EACH,  /* an interval from every snapshot to the next */
	REPLAY_EVERY, /* intervals of a given length */
	REPLAY_TOTAL, /* one for each run */
};

struct replay_config {
	enum replay_mode mode;
	bool counts;    /* keep replay_counts(), too */
	bool no_scale;  /* do not scale for multiplexing */
	bool join_runs; /* REPLAY_TOTAL: one for all runs */
	bool gather;    /* intervals may be late: short chunks are combined, which is faster */
	bool roomy;     /* memory does not matter: more rows of many columns at once */
	bool forget;    /* tracks of tasks and cgroups that are gone end with the interval in which they ended */
	uint64_t every_ns;
	uint64_t since_ns, until_ns; /* CLOCK_MONOTONIC; snapshots outside are ignored. until 0: no end */
};

struct interval {
	uint64_t from_ns, to_ns; /* ticks of its first and last snapshot, CLOCK_MONOTONIC */
	uint64_t duration_ns;    /* how much of it comparable snapshots cover */
	int64_t wall_ns;         /* end, ns since 1970; 0: not recorded */
	uint32_t run, segment;
	bool partial; /* damage hides a part, which is not in duration_ns */
};

/* For how long of an interval a counter was known, and for how long not, in seconds. */
struct support {
	double known; /* between readings; the others are between ticks */
	double absent, lost;
	double before; /* the interval: time that a reading carried into it */
	uint16_t why;  /* reason of the lost time */
};

/*
 * What a counter did in an interval, before units: whole numbers, as perf stat adds them up. A counter without
 * enabled and running times was enabled, and ran, for as long as it was observed.
 */
struct count {
	uint64_t v;                /* unscaled */
	uint64_t made;             /* scaled for multiplexing, in each of the finest intervals */
	uint64_t enabled, running; /* ns */
	uint16_t reason;           /* 0, or why there is none */
};

struct replay;

/* Gets the finished intervals, at most replay_block() at a time; what replay_values() returns is valid until it
 * returns. Not 0: stop; passed on to the caller. */
typedef int (*replay_sink)(void *ctx, const struct interval *interval, size_t n);

/* Without tracks. */
struct replay *replay_new(const struct replay_config *config, replay_sink sink, void *ctx);
void replay_free(struct replay *r);
/* Takes the clocks of the first chunks before any is replayed; without them those of the first second are unknown. */
void replay_foresee(struct replay *r, const struct pm_clocks *clocks, size_t n);

/*
 * Declares what is wanted: replay_begin_tracks(), replay_want() for each counter, replay_end_tracks(). Repeat it when
 * what is wanted changes. When the model has gained or lost groups or instances, replay_end_tracks() alone is enough;
 * it takes time in proportion to the live ones. Tracks that exist continue. No intervals may be open in a sink.
 */
void replay_begin_tracks(struct replay *r, const struct pm_model *model);
void replay_want(struct replay *r, uint32_t counter, unsigned aspects);
void replay_end_tracks(struct replay *r);
bool replay_wants_group(const struct replay *r, const struct pm_group *g);

struct track_info {
	uint32_t counter, instance;
	unsigned aspects;
};
/* How many columns are wanted, and what each of them is, by its number from 0. Counter 0: not a column, but one as a
 * formula takes it. */
size_t replay_tracks(const struct replay *r);
struct track_info replay_track(const struct replay *r, size_t track);
/* The largest number of intervals that a sink is given at once. */
size_t replay_block(const struct replay *r);
/* One value an interval; NULL if that aspect was not wanted. Only inside a sink. */
const struct value *replay_values(const struct replay *r, size_t track, enum track_aspect aspect);
/* One count an interval, for a counter wanted in any aspect; NULL unless config.counts. Only inside a sink. */
const struct count *replay_counts(const struct replay *r, size_t track);

/* One an interval; NULL: the counter was known in all of every interval. Only inside a sink. */
const struct support *replay_support(const struct replay *r, size_t track);

/* Whether the reading at the beginning or the end of an interval took longer than 1 % of it: not 0, by interval.
 * NULL: none did. Only inside a sink. */
const uint8_t *replay_doubt(const struct replay *r, size_t track);
/* Whether that is true for any track. */
bool replay_doubts(const struct replay *r);
/* Changes when what replay_values() returns does; 0: some track has support or doubt. Only inside a sink. */
uint32_t replay_settled(const struct replay *r);

/* Why a counter that should exist was never known; 0: it was. */
uint16_t replay_never_known(const struct replay *r, size_t track);

/*
 * A formula takes counters of a place together: only where all of them are known. `area`: the kind of the places,
 * which go with the replay; PM_KINDS: each instance is one. Returns its number; the same for the same counters, which
 * are put in order; 0: there are none to take together.
 */
uint32_t replay_join(struct replay *r, uint32_t *counter, uint32_t n, enum pm_kind area, const struct places *places);
/* The track that has what such a formula takes of a track: itself as long as nothing is missing. Only inside a
 * sink. */
uint32_t replay_joined(const struct replay *r, uint32_t track, uint32_t formula);

/*
 * Combines levels of several members row by row, by rule mean, max or min. Call it again when members were added:
 * of an owner and part, sets with a member in common are one, and a track is in one of each part. NULL where that
 * is impossible.
 */
struct average;
const struct average *replay_average(struct replay *r, const void *owner, uint32_t part, enum pm_aggregation rule,
				     const uint32_t *track, uint32_t n);
/* One value an interval, NAN where there is none; NULL: each interval is one row. Only inside a sink. */
const double *replay_averaged(const struct replay *r, const struct average *average);

/* All return 0, -errno, or what the sink returned. */
int replay_chunk(struct replay *r, const struct pm_chunk *chunk);
/* Replays gathered rows; call it before anything that must come after these intervals. */
int replay_settle(struct replay *r);
/* From now on ignores snapshots after `ns` (CLOCK_MONOTONIC). */
void replay_until(struct replay *r, uint64_t ns);
/* The end of the input: closes what is open. */
int replay_finish(struct replay *r);
