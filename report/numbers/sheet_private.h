/* What sheet.c and sheet_rows.c lay out and sheet_fill.c and sheet_cover.c compute with. */
#pragma once

#include "report/numbers/sheet.h"

/* One kind of rows, and the inputs of metrics at this level. */
struct level {
	enum pm_kind kind;
	uint32_t first_row, n_rows;
	uint32_t *input; /* places in binding.input */
	uint32_t n_inputs;
	uint32_t *place;  /* by binding input: its place in input[], PM_NONE: not used here */
	uint32_t *row_of; /* owned: by track: row, PM_NONE: none; only while the sheet is built */
	uint32_t *start;  /* by (row - first_row) * n_inputs + place: first in track[] */
	uint32_t *track;
	uint32_t *partner; /* beside track[]: the clock of an input that has one, or PM_NONE; NULL: none has */
	double *number;    /* beside track[]: bound_input's number at its place; NULL: no input has one */
	uint32_t *column;  /* columns that this level shows */
	uint32_t n_columns;
};

/* Several instances' values to one, by the rule of their counter. NUMBERS.md says what a missing value does. */
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

struct sheet_private {
	void **owned; /* what sheet_room() made: all arrays but those of which it is said that they are owned */
	size_t n_owned;
	bool failed; /* some could not be made */
	const struct replay *replay;
	uint32_t *formula;    /* by column: what replay_join() returned for its counters */
	struct sheet *system; /* owned: the row of the system, of metrics that formulas want for it; or NULL */
	const struct sheet_cell **whole; /* by binding input: its cell there, or NULL */
	uint32_t taken;                  /* the formula for which inputs are being filled; 0: for none */
	struct level level[PM_KINDS];
	uint32_t n_levels;
	size_t block;            /* intervals at once */
	struct track_at *at;     /* by track */
	uint32_t *of_counter;    /* owned: tracks ordered by counter */
	uint32_t *counter_start; /* owned: by counter id */
	uint32_t n_counters;
	/* By track: how many regions of telemetry come before its own; PM_NONE: its name does not say. */
	uint32_t *region;
	struct sheet_cell *cell;              /* of all rows */
	struct value *value;                  /* block for each cell that is more than one track */
	double *coverage;                     /* block per cell */
	uint8_t *verdict;                     /* likewise: sheet_verdict; NULL: no column has a threshold */
	struct value judged[PM_CHUNK_ROWS];   /* value of a threshold */
	struct value joint[PM_CHUNK_ROWS];    /* value of a formula with its counters taken together */
	double joint_coverage[PM_CHUNK_ROWS]; /* likewise */
	double all_lost[PM_CHUNK_ROWS];       /* seconds that the inputs of a formula lack */
	size_t n_cells;
	/* Scratch for one row: an array of `block` for each input. */
	struct value *in, *scratch;
	double *in_known, *in_lost;       /* seconds, over all tracks of the input */
	uint32_t *in_whole;               /* members known all of the time, if in_known and in_lost are unused */
	bool *in_parts;                   /* they have */
	uint64_t *in_row, rows;           /* which row each was filled for; rows filled so far */
	uint32_t filled;                  /* replay_settled() at that time */
	bool stood[PM_CHUNK_ROWS];        /* the clock of some reading stopped */
	struct value part[PM_CHUNK_ROWS]; /* a field of what one track read */
	const struct value **in_at, **arg, **one_of;
	const struct support **one_of_support;
	struct aggregate aggregate;
};

struct track_at {
	uint32_t counter;
	uint32_t package; /* for events that count once a package */
	uint8_t rule;
	bool may_go : 1, per_package : 1, nowhere : 1, level : 1;
};

/* Room for n elements, which are 0, until the sheet is released; NULL without memory. */
void *sheet_room(struct sheet_private *p, size_t n, size_t size);
/* Once the columns of all levels are chosen: orders the levels, and fills row[] and each level's rows. 0 or -ENOMEM.
 */
int sheet_make_rows(struct sheet *s, const struct sheet_config *config);

/* Whether an input that so many tracks feed, the first of which is given, is what its track says, as it is. Of a
 * level that is added up its absent time counts as 0. */
static inline bool sheet_borrows(const struct sheet_private *p, const struct bound_input *in, const uint32_t *track,
				 uint32_t feeds)
{
	return feeds == 1 && !in->more->op && !in->more->clock && !in->more->n_shut && in->aspect != EXPR_AGGR_NR &&
	       !((p->at[*track].level || in->aspect == EXPR_MEAN) && p->at[*track].rule == PM_AGG_SUM);
}

/* Coverage of a cell with these inputs: what is known over all of them; at most what is known of the formula's
 * system-wide inputs. Returns whether that is less than all. */
bool sheet_cover(const struct sheet *s, const struct level *l, const struct bound_metric *m,
		 const struct interval *interval, size_t n, double *coverage);
/* Adds to the coverage of a cell where slow readings make it doubtful. */
void sheet_doubt(const struct sheet *s, const struct level *l, uint32_t row, struct sheet_cell *cell, size_t n);

/* How many tracks feed an input of a row. */
static inline uint32_t level_feeds(const struct level *l, uint32_t row, uint32_t place)
{
	size_t slot = (size_t)row * l->n_inputs + place;

	return l->start[slot + 1] - l->start[slot];
}
