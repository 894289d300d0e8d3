/*
 * A table of the tasks or cgroups that matter, which may change at each reading. The reading thread leaves a page of
 * rows; the writer's thread takes the page of a chunk, and turns it into instances and groups.
 */
#pragma once

#include <pthread.h>

#include "record/plan/plan.h"

enum { RANKING_VALUES = 16, RANKING_ROWS = 128, RANKING_TOP = 24 };

/* A stay in the table, in what may be there. */
struct ranking_stay {
	uint32_t id;       /* never given twice; 0: it is not there */
	uint32_t number;   /* of its instances; 0: none yet */
	uint64_t since_ns; /* when it came */
	uint64_t wanted;   /* the last reading in which it was among the first */
};

/* All that may be in a table: `n` stays, `size` bytes apart. */
struct ranking_stays {
	struct ranking_stay *first;
	size_t size;
	uint32_t n;
	uint32_t most; /* in the table */
	uint32_t idle; /* readings after which one may have to leave that was not wanted again */
};

/* What a source's own row begins with. */
struct ranking_row {
	struct ranking_stay stay;
	uint64_t v[RANKING_VALUES];
	uint16_t status[RANKING_VALUES];
};

struct ranking_page;

struct ranking {
	struct unit unit; /* first; .read is the source's */
	const char *source;
	const char *const *key; /* of the catalog, n_values of them */
	uint32_t n_values;
	size_t row_size;
	/* Adds the instance of a row that is new. Id or -errno. */
	int64_t (*instance)(struct plan *p, const struct ranking_row *row);
	/* Of the reading thread. */
	uint64_t reading;   /* the source's number of the last one, from 1 */
	uint64_t before_ns; /* when the one before was */
	uint32_t last_id, last_number;

	pthread_mutex_t lock;
	struct ranking_page *late; /* owned: those that wait for the writer, by reading; guarded by the lock */
	struct ranking_page *page; /* of the reading thread, while it holds the lock */
	/* The writer's. */
	struct ranking_page *taken; /* owned */
	uint32_t group;             /* id of what was written last; 0: none */
	uint32_t n, counter[RANKING_VALUES];
	uint32_t id[RANKING_ROWS], row_instance[RANKING_ROWS];
	uint64_t v[2 + RANKING_VALUES * RANKING_ROWS];
	uint16_t status[2 + RANKING_VALUES * RANKING_ROWS];
};

/* Set the members before `reading`, and the unit's `read`, first. */
void ranking_init(struct ranking *r);
void ranking_release(struct ranking *r);
/* Makes source->data, `size` bytes of zeros; if the interval is too short for readings a refusal says so, and it
 * stays NULL; returns it. */
void *ranking_new(struct source *s, struct plan *p, size_t size);
/* Adds the unit that reads, with a group of its own for the whole system: counters of these keys, of which the first
 * is the number of the reading. Those of the table come with it, or with the first row (`late`). */
void ranking_plan(struct ranking *r, struct plan *p, const char *const *cell_key, uint32_t n_cells, bool late);

/* Those with the largest values, which come first; at most RANKING_TOP. */
struct ranking_top {
	uint32_t most, n;
	void *who[RANKING_TOP];
	uint64_t value[RANKING_TOP];
};

/* Takes `who` if its value is among the `most` largest. Values of 0 do not count; of equal ones the first does. */
void ranking_offer(struct ranking_top *t, uint64_t value, void *who);

/* Notes that it is wanted in this reading; if it is not there its stay begins, for which the least wanted leaves if
 * there is no other room. True: it has just come. */
bool ranking_want(struct ranking *r, struct ranking_stay *one, const struct ranking_stays *all);

/* Call these around filling the page of a reading; the writer waits meanwhile. */
void ranking_begin(struct ranking *r, uint64_t reading);
/* A zeroed row of row_size; at most RANKING_ROWS. */
void *ranking_add(struct ranking *r, const struct ranking_stay *stay);
void ranking_end(struct ranking *r);

/* source_ops->tables() of a source whose data begin with their ranking. */
int ranking_tables(struct source *s, struct plan *p, const struct pm_chunk *c, struct pm_chunk_group *out);
