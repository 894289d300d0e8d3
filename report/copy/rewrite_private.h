/* How the parts of a rewrite fit together: rewrite.c leads, rewrite_model.c maps definitions, rewrite_gather.c
 * gathers the numbers, rewrite_rows.c writes them. */
#pragma once

#include "report/copy/rewrite.h"

/* A group of the input in the output: which of its columns go where. */
struct rewrite_group {
	uint32_t from;      /* in the input */
	uint32_t id;        /* in the output; 0: nothing of it is copied */
	uint32_t n_columns; /* in the output */
	uint32_t n_head;    /* columns of times among them */
	uint32_t stretch;   /* in which it was copied last */
	uint64_t chunk;     /* the last partial one, by number, in which it is, or is known to be lost */
	uint32_t *column;   /* owned: of the input, in the order of the output */
	/* Owned, n_columns: counters (ids of the input) of columns whose values take more than a copy, else 0; NULL:
	 * there are none. */
	uint32_t *special;
	struct rewrite_carry *carry; /* likewise, where snapshots are skipped */
	uint64_t *rebase;            /* likewise: the numbers to add; NULL: none */
	uint32_t n_clocks;           /* columns of times of CLOCK_MONOTONIC, which are the first */
	uint64_t *add; /* owned, n_columns: numbers to add to each; NULL: none, or a copy takes more than that */
	bool blank;    /* no values, only the reason */
	bool whole;    /* the same columns in the same order, with the same values */
};

/* What skipped snapshots pass on to the next one: the sum of their deltas, the largest of their peaks. */
struct rewrite_carry {
	uint64_t v;
	uint16_t reason; /* why one of them is missing; 0: none is */
	bool any;
};

struct rewrite_instance {
	uint32_t from, to; /* ids of the input and the output; to 0: dropped */
};

/* From ids of the current input to ids of the output. Counters and strings have the index id - 1, and 0 means
 * dropped; instances and groups, which come and go, that of their slot. */
struct rewrite_maps {
	const struct pm_model *in;
	uint32_t *counter;
	struct rewrite_instance *instance;
	uint32_t *string; /* + 1; 0: not seen yet; 1: dropped */
	struct rewrite_group *group;
	uint32_t n_counters, n_groups, n_pmus, n_probes, n_configs; /* up to this id or slot */
	uint32_t seen_instances, seen_groups;                       /* of the input's, mapped so far */
	uint32_t cap_counters, cap_instances, cap_strings, cap_groups;
	uint64_t topology_ns;
};

/* One group of the snapshots that wait to be a chunk. */
struct rewrite_slot {
	struct pm_chunk_group g; /* owned, with v and status, room for `room` rows */
	size_t size;             /* allocated values */
	uint32_t columns, stage; /* the first of them in a row of the stage */
	bool missing;            /* a status is not 0; else `status` holds anything */
};

/* Snapshots waiting to be a chunk. */
struct rewrite_rows {
	struct pm_chunk chunk;     /* common to all groups; its rows are those gathered */
	struct rewrite_slot *slot; /* owned */
	uint32_t n_slots, cap_slots;
	uint32_t columns; /* of all slots */
	uint64_t *stage;  /* owned: rows as they came, all columns of one after those of another */
	size_t stage_size;
	uint32_t staged; /* how many of the last rows are there */
	uint64_t tick[PM_CHUNK_ROWS], number[PM_CHUNK_ROWS];
	uint8_t flags[PM_CHUNK_ROWS];
	uint32_t room;
	uint32_t *lost; /* owned: ids of the output of groups that damage took */
	uint32_t n_lost, cap_lost;
	bool spare;        /* after the last row there is a skipped one, which is copied if nothing follows ... */
	bool spare_staged; /* ... on the stage */
};

struct rewrite {
	const struct rewrite_rules *rules;
	pm_sink_fn sink;
	void *sink_ctx;
	struct pm_model model;
	struct pm_writer *writer;
	struct rewrite_maps maps;
	struct rewrite_rows rows;
	struct rewrite_result result;
	uint32_t segment_base; /* added to the segments of the input */
	uint32_t segment_last; /* the last one written */
	uint32_t recordings;
	uint32_t stretch;       /* rises where segments begin because of damage */
	uint32_t n_stretch;     /* living groups that were copied in it */
	uint64_t partial;       /* chunks that lack groups, so far */
	bool opened;            /* the current input has had a chunk: from_ns and to_ns are known */
	bool begun;             /* and a snapshot */
	bool key;               /* the current chunk starts from absolute values */
	uint64_t moved, stuck;  /* chunks with numbers to add: copied packed, and not */
	uint32_t segment_in;    /* of its last snapshot */
	uint64_t in_segment;    /* snapshots of that segment so far */
	uint64_t last_tick;     /* that went over */
	struct pm_damage early; /* found before a tick was copied; length 0: none */
};

/* Brings the output's model up to date with the input's; 0 or -errno with the text in *e. */
int rewrite_model(struct rewrite *w, const struct pm_model *in, struct error *e);
/* Groups that have retired in the input do so in the output. 0 or -errno. */
int rewrite_retire_groups(struct rewrite *w, const struct pm_model *in);
void rewrite_maps_release(struct rewrite_maps *m);

/* A time of the input on the output's clock; what lies before that began is at its beginning. */
static inline uint64_t rewrite_time(const struct rewrite *w, uint64_t ns)
{
	uint64_t to = ns + w->rules->shift_ns;

	return to > INT64_MAX ? 1 : to;
}

/* 0: unknown or dropped. */
static inline uint32_t rewrite_instance_of(const struct rewrite_maps *m, uint32_t id)
{
	const struct pm_instance *i = m->in ? pm_model_instance(m->in, id) : NULL;

	return i && i->slot < m->cap_instances && m->instance[i->slot].from == id ? m->instance[i->slot].to : 0;
}

/* NULL: not seen yet. */
static inline struct rewrite_group *rewrite_group_of(const struct rewrite *w, uint32_t id)
{
	const struct pm_group *g = w->maps.in ? pm_model_group(w->maps.in, id) : NULL;

	return g && g->slot < w->maps.n_groups && w->maps.group[g->slot].from == id ? &w->maps.group[g->slot] : NULL;
}

static inline bool rewrite_goes_over(const struct rewrite *w, const struct pm_chunk_group *g)
{
	const struct rewrite_group *to = rewrite_group_of(w, g->group);

	return !g->absent && to && to->id;
}

/* Whether skipped values of a counter belong to the next one that is copied. */
bool rewrite_adds_up(const struct pm_counter *c);
/* Copies or changes a value of a special column. 0 or -errno. */
int rewrite_put_special(struct rewrite *w, const struct pm_model *in, struct rewrite_group *to, uint32_t column,
			bool skipped, uint64_t *v, uint16_t *status);

/* Takes `n` rows of a chunk, without those to skip (NULL: none); the last of these waits until another row follows. 0
 * or -errno. */
int rewrite_rows_add(struct rewrite *w, const struct pm_model *in, const struct pm_chunk *chunk, uint32_t row,
		     uint32_t n, const bool *skip);
/* Moves all that was gathered into the slots, with the row that waits. */
void rewrite_gather_end(struct rewrite_rows *r);
/* Takes all rows of a chunk as they are, without a copy where that is possible. */
int rewrite_rows_pass(struct rewrite *w, struct pm_reader *reader, const struct pm_chunk *chunk, uint32_t segment);
/* What was gathered since the last chunk lacks the groups that damage took from `chunk`. 0 or -ENOMEM. */
int rewrite_rows_lose(struct rewrite *w, const struct pm_chunk *chunk);
/* Writes what has been gathered. */
int rewrite_rows_flush(struct rewrite *w);
void rewrite_rows_release(struct rewrite_rows *r);
