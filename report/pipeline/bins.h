/*
 * Metrics over time in memory that does not grow with it: each series has bins of equal length, with the smallest,
 * the largest and the mean value in each. When a recording is longer than they reach, pairs of bins become one and
 * all are twice as long. When there are too many series, they likewise get fewer bins.
 *
 * A sink hands on what it gets: bins_shape(), bins_intervals(), bins_totals() and bins_end(); bins_close() after the
 * last recording.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/names.h"
#include "report/pipeline/sink.h"

struct bin {
	float low, high;
	float sum, weight; /* of values by their seconds; weight 0: there is no value */
};

/* Adds what is in `from` to `to`. */
static inline void bin_join(struct bin *to, const struct bin *from)
{
	if (from->weight <= 0)
		return;
	if (to->weight <= 0) {
		*to = *from;
		return;
	}
	to->low = from->low < to->low ? from->low : to->low;
	to->high = from->high > to->high ? from->high : to->high;
	to->sum += from->sum;
	to->weight += from->weight;
}

struct bins_metric {
	char *name, *display, *unit, *help; /* owned */
	uint8_t precision;
	bool charted; /* has bins; the others have totals only */
};

struct bins_row {
	char *label, *place; /* owned: "CPU 3"; where it is: "package 0, core 1", or "" */
	enum pm_kind kind;
	uint32_t package, number; /* number: of the CPU; PM_NONE: none */
	uint32_t first_cpu;       /* of those that it contains */
	bool far;                 /* one of very many: a CPU, a core, a task */
};

struct bins_series {
	uint32_t metric, row;
	double sum, weight;         /* over all intervals */
	double whole, whole_weight; /* the number of the whole; weight 0: it has none */
	bool totalled;              /* the whole was requested; else its number is the mean of the intervals */
	double low, high;
	uint64_t present, missing, partial,
		doubtful; /* intervals; those in which the thing was not there count in none */
	uint16_t reason;  /* of the first that is missing */
	uint32_t layout;  /* in which it was laid out last */
};

/* Series whose bins are equally long and many. */
struct bins_set {
	struct bins_series *series; /* owned */
	uint32_t n;
	struct bin *bin; /* owned: `cap` for each series; NULL: a set of totals only */
	size_t room;     /* of bin[] */
	struct {
		uint32_t *series, room; /* owned: by metric; 1 + place in series[], 0: none */
	} * row;                        /* owned */
	uint32_t n_rows;
	uint32_t cap;      /* a power of two */
	uint32_t used;     /* bins that lie within the recording */
	uint32_t filled;   /* from here on they are empty in all series */
	double width_s;    /* of a bin */
	uint64_t memory;   /* bytes that bins may take */
	uint32_t left_out; /* series dropped for lack of memory */
};

struct bins {
	struct bins_metric *metric; /* owned */
	struct bins_row *row;       /* owned */
	uint32_t n_metrics, n_rows;
	struct names metrics, rows; /* names -> places in these */
	struct bins_set near, far,
		totals;         /* of few places; of those of which there are many; of what is not charted */
	double duration_s;      /* from the start to the end of the last interval */
	int64_t start_wall_ns;  /* of the start; 0: not recorded */
	bool apart;             /* the time between the recordings of a file counts */
	struct bins_feed *feed; /* owned: of the recording that is read; NULL before */
};

/* The bins of a series. */
static inline struct bin *bins_of(const struct bins_set *s, const struct bins_series *x)
{
	return s->bin + (size_t)(x - s->series) * s->cap;
}
/* NULL: there is none. */
const struct bins_series *bins_find(const struct bins_set *s, uint32_t metric, uint32_t row);
/* Of the whole, as tables have it; NaN: it has none. */
static inline double bins_mean(const struct bins_series *s)
{
	return s->whole_weight > 0        ? s->whole / s->whole_weight :
	       s->present && !s->totalled ? s->sum / s->weight :
					    (double)__builtin_nan("");
}

/* The place of a metric, or of a row, which is added if it is new. */
uint32_t bins_metric(struct bins *b, const struct bound_metric *m);
uint32_t bins_row(struct bins *b, const struct places *places, const struct place *p);

/* How sheets are taken. */
struct bins_view {
	size_t n_charted; /* so many get bins; of the others there are totals */
	/* By metric of the binding, borrowed until the next shape: not charted, and no bins where places are many.
	 * NULL: none. */
	const bool *few;
	bool whole; /* all of the recording is read */
};
void bins_shape(struct bins *b, struct sink *sink, const struct sheet *sheet, size_t n, const struct bins_view *view);
void bins_intervals(struct bins *b, const struct interval *interval, size_t n);
void bins_totals(struct bins *b, const struct sheet *sheet, size_t n_sheets, const struct interval *interval,
		 size_t n);
/* A time of the current recording (CLOCK_MONOTONIC) as seconds from the start. */
double bins_at(const struct bins *b, uint64_t time_ns);
/* After each recording; another may follow. */
void bins_end(struct bins *b);
void bins_close(struct bins *b);
/* What is not charted has totals of the system only, and comes after what is. */
void bins_sort(struct bins *b);
void bins_release(struct bins *b);
