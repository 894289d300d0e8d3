/* What replay.c runs through and replay_tracks.c lays out. */
#ifndef REPORT_REPLAY_PRIVATE_H
#define REPORT_REPLAY_PRIVATE_H

#include "report/cpu_facts.h"
#include "report/replay.h"
#include "report/track.h"

#define ARENA_ROWS 128 /* intervals at once, if there are few tracks */

/* Which track a value column of a group feeds. */
struct feed {
	uint32_t column, time, track;
};

struct group_feeds {
	struct feed *feed; /* owned */
	uint32_t n;
	bool known;
};

/* Of a counter that has one, for all of its tracks in a package: packages may count energy in different units. */
struct rule_row {
	uint32_t counter, package;
	struct counter_rule rule;
};

/* What is asked of every track for every value, close together. */
struct brief {
	uint32_t slot;
	uint8_t aspects;
};

struct replay {
	struct replay_config config;
	replay_sink sink;
	void *ctx;
	const struct pm_model *model;
	unsigned char *want;       /* by counter id: aspects */
	size_t n_want;
	struct track *track;
	size_t n_tracks, cap_tracks;
	uint32_t *key;             /* while tracks are declared: open addressing, by counter and instance: track + 1;
	                              0: empty */
	size_t n_keys;
	struct group_feeds *group; /* by group id - 1 */
	uint32_t n_groups;
	struct rule_row **rule;    /* owned: what tracks point to, so it does not move */
	size_t n_rules;
	struct cpu_facts facts;    /* of the package `facts_of` */
	uint32_t facts_of;
	bool has_facts;
	struct value *arena;
	struct brief *brief;       /* by track */
	struct count *counts;      /* tracks x rows, if they are wanted */
	size_t arrays, rows;       /* arena: arrays x rows */
	uint32_t chunk;            /* number of the chunk at hand */
	uint32_t run, segment;
	bool begun;                /* a snapshot of this segment was seen */
	bool open;                 /* an interval is open: it holds what is in `now` */
	bool perf_scale;
	uint64_t last_ns, next_ns, first_ns;
	int64_t wall;              /* what to add to a tick; INT64_MIN: unknown */
	struct interval now;
	struct interval done[ARENA_ROWS];
};

/* Frees group[] and what hangs on it. */
void replay_forget_feeds(struct replay *r);

#endif
