/* The inside of a replay. */
#pragma once

#include "report/machine/cpu_facts.h"
#include "report/replay/replay.h"
#include "report/replay/track.h"

#define ARENA_ROWS  PM_CHUNK_ROWS /* intervals at once, if there are few tracks */
#define GATHER_TILE 8             /* columns taken from rows together: a cache line of each row */

/* Which track a value column of a group feeds. */
struct feed {
	uint32_t column, time, track;
};

/* How long readings took, in ns: the one at the beginning of the open interval, and the last. */
struct spans {
	uint64_t first, last;
};

struct group_feeds {
	uint32_t group, slot; /* as struct pm_group has them */
	struct feed *feed;    /* owned */
	uint32_t n;
	struct spans *spans; /* owned: of each of its times; NULL: none was ever long */
	uint32_t n_spans;
	uint8_t *doubt;          /* owned: times x rows of results; NULL likewise */
	uint32_t stretch, first; /* the last stretch in which it was read, and the first chunk there */
};

/* Of a counter that has one, for all of its tracks in a package: packages may count energy in different units.
 * `place`: the package's number, or the id of a device. */
struct rule_row {
	uint32_t counter, place;
	struct counter_rule rule;
};

/* What every value needs of its track, close together. */
struct brief {
	uint32_t slot; /* first of its arrays of results, in arrays */
	uint8_t aspects;
};

/* A group of the gathered rows. */
struct gathered {
	uint32_t columns, head; /* all; those of times */
	uint32_t room;          /* for columns */
	uint64_t *row;          /* owned: row by row */
	uint64_t *time;         /* owned: head x rows of the gather, filled once the rows are complete */
	uint64_t *tile;         /* owned: GATHER_TILE x rows of the gather: the current columns */
	uint32_t tiled;         /* the first of them; PM_NONE: none yet */
	uint16_t *status;       /* owned: room x rows; NULL: not needed so far */
	bool some_missing;      /* `status` counts */
};

/* Rows of chunks too short for a pass over all columns. */
struct gather {
	struct gathered *group; /* owned: beside chunk.group */
	uint32_t cap_groups;
	struct pm_chunk chunk; /* owns its groups, of which only times and status are in place */
	uint32_t rows;         /* room */
	uint64_t tick[PM_CHUNK_ROWS];
	int64_t wall[PM_CHUNK_ROWS];
};

struct clock_pair {
	uint64_t monotonic, raw;
};

#define CLOCK_PAIRS 64

/* The current rows, which end no more intervals than the arena holds. */
struct slice {
	const uint64_t *tick;
	uint32_t row;    /* the first */
	uint64_t before; /* tick of the previous snapshot; 0: none in this stretch */
	bool begins;     /* an interval begins with it */
	bool each;       /* each ends one */
};

struct formula {
	uint32_t *counter; /* owned, ascending */
	uint32_t n;
	enum pm_kind area; /* PM_KINDS: of an instance */
	const struct places *places;
};

/* What the counters of one place share that a formula takes together. */
struct joint {
	uint32_t formula;                    /* its number */
	bool of_area;                        /* of several instances */
	bool waits;                          /* for some, the next reading may cover the row before */
	bool stepped;                        /* the current rows are not plain */
	uint16_t owed;                       /* why it waits */
	uint16_t lost;                       /* why waiting was in vain; 0: it was not, so far */
	struct row_note note[PM_CHUNK_ROWS]; /* findings of the tracks */
	struct joint_row row[PM_CHUNK_ROWS]; /* consequence for all */
};

/* Of a track. */
struct joint_link {
	uint32_t joint; /* its joint: place + 1; 0: none, it is plain */
	uint32_t next;  /* the next for this counter and instance, for another formula; 0: none */
	bool missed;    /* a part of it was missing */
	bool fresh;     /* and that is new */
};

#define JOINT_TAKEN 1 /* a formula takes it with other counts */
#define JOINT_MIXED 2 /* one takes it with others of which some are levels */

struct joints {
	struct formula *formula; /* owned */
	struct joint *joint;     /* owned */
	struct joint_link *link; /* owned: by track */
	unsigned char *taken;    /* owned: by counter id: JOINT_ bits */
	uint32_t n_formulas, n, n_taken;
	size_t n_links, n_seen; /* n_seen: tracks seen before */
};

struct replay {
	struct replay_config config;
	replay_sink sink;
	void *ctx;
	const struct pm_model *model;
	uint16_t *want;   /* by counter id: aspects */
	uint32_t *sum_of; /* likewise: the track of all that have ended, + 1; 0: none */
	size_t n_want, n_folded;
	struct track *track;
	size_t n_tracks, cap_tracks;
	struct track_end *past; /* of a total, what single tracks that have ended came to; their numbers follow */
	size_t n_past;
	uint32_t *live; /* tracks that have not ended; room for all */
	size_t n_live;
	uint32_t *key; /* the live ones, + 1, by open addressing from counter and instance; 0: free */
	size_t n_keys, used_keys;
	struct group_feeds *group;  /* that have not retired */
	struct group_feeds *former; /* owned: those set aside, by group, with nothing but their spans */
	uint32_t n_former;
	uint32_t n_groups, cap_groups;
	uint32_t *at_slot; /* by slot: place in group[] + 1; 0: none */
	uint32_t n_slots;
	uint32_t groups_seen, last_seen; /* of the model: how many were seen; id of the last of them */
	struct rule_row **rule;          /* owned: what tracks point to, so it does not move */
	size_t n_rules;
	struct cpu_facts facts; /* of the package `facts_of` */
	uint32_t facts_of;
	bool has_facts;
	struct value *arena;
	struct brief *brief;  /* by track */
	struct count *counts; /* tracks x rows, if they are wanted */
	size_t arrays, rows;  /* arena: arrays x rows */
	size_t cap_arena;     /* values that fit */
	bool placed;          /* all tracks have a place in it */
	uint32_t places;      /* how often they got it */
	struct gather gather;
	uint32_t newest; /* largest id of a group of a chunk that found nothing gathered */
	struct joints joints;
	struct average **average; /* owned */
	size_t n_averages;
	bool averages;   /* some interval of the current rows has several */
	double *seconds; /* owned: times x rows of the current group, as in struct column */
	uint32_t cap_seconds;
	uint32_t chunk;   /* number of the current chunk, or of those gathered */
	uint32_t stretch; /* number of the current stretch, from 1 */
	size_t unseen;    /* live tracks not found in it so far */
	uint32_t run, segment;
	bool begun;            /* a snapshot of this run was seen */
	bool fresh;            /* none of this stretch was: nothing is known about the time before */
	bool open;             /* an interval is open: it holds what is in `now` */
	bool losses;           /* some track has missed something, */
	bool some_loss;        /* and does in the current block; only inside a sink */
	const uint8_t **doubt; /* owned: by track, of the current block; NULL: nothing was ever doubtful */
	bool some_doubt;       /* in the current block */
	struct slice slice;
	double slope;                        /* seconds in a second of CLOCK_MONOTONIC, in the current chunk */
	struct clock_pair head[CLOCK_PAIRS]; /* of the last chunks; the oldest is that of n_heads - CLOCK_PAIRS */
	uint64_t n_heads;
	bool perf_scale;
	uint64_t last_ns, next_ns;
	int64_t wall; /* what to add to a tick; INT64_MIN: unknown */
	struct interval now;
	struct interval done[ARENA_ROWS];
};

/* Likewise what a group of the current chunk feeds, and notes that it was read; NULL also if it is absent. */
struct group_feeds *replay_read(const struct replay *r, const struct pm_chunk_group *cg);
/* Whether the group feeds the track. Where two groups have one column, the one to be read first in a stretch does;
 * when it retires, a later one that was not read beside it continues the series. */
bool replay_takes(const struct replay *r, const struct group_feeds *f, struct track *t);
/* A new live track, empty. */
uint32_t replay_add_track(struct replay *r);

/* What a number stands for that is none of track[]; NULL: it is one. */
static inline struct track_end *replay_past(const struct replay *r, size_t track)
{
	return track < r->n_tracks ? NULL : &r->past[track - r->n_tracks];
}

/* Wherever an interval ends, tracks have a place for it. */
static inline struct value *results_of(const struct replay *r, size_t track)
{
	return r->arena + r->brief[track].slot * r->rows;
}

/* Column `x` of group `i` of a chunk. */
typedef struct column (*column_of)(struct replay *r, const struct pm_chunk *c, uint32_t i, const struct feed *x);

/* Creates joint tracks for what misses something from rows [row, end) on. True: attach them and lay out their
 * results. */
bool joints_split(struct replay *r, const struct pm_chunk *c, uint32_t row, uint32_t end, column_of column);
/* Lets groups feed these tracks. */
void joints_attach(struct replay *r);
/* Decides rows [row, end): begins before plain tracks are fed, takes what those found, ends before joint tracks are
 * fed. */
void joints_begin(struct joints *j, uint32_t row, uint32_t end);
bool joints_ask(const struct joints *j, size_t track);
void joints_note(struct joints *j, size_t track, const struct row_note *found, uint32_t row, uint32_t end);
void joints_end(struct joints *j, uint32_t row, uint32_t end);
/* The next readings are not compared with earlier ones. */
void joints_restart(struct joints *j);
/* Whether a track is one of them; the decisions for its rows, or NULL: as for any track. */
bool joints_own(const struct joints *j, size_t track);
const struct joint_row *joint_rows(const struct replay *r, uint32_t track);
/* Renumbers tracks: place[] has the new number, or PM_NONE if dropped. */
void joints_renumber(struct joints *j, const uint32_t *place, size_t n);
void joints_release(struct joints *j);
/* Takes rows [row, end) as all tracks have them, and ends the intervals that end there. */
void averages_settle(struct replay *r, uint32_t row, uint32_t end, const bool *closes);
/* Ends interval k. */
void averages_close(struct replay *r, size_t k);
void averages_release(struct replay *r);
