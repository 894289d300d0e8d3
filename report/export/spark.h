/*
 * Series for pictures of text: a sink that keeps the metrics of a sheet over time, in a bounded number of bins of
 * equal length, each with the smallest, the largest and the mean value. When time exceeds the last bin, pairs of bins
 * are joined, so that all are twice as long. Also a line of marks, eight steps high, for one series.
 */
#pragma once

#include <string.h>

#include "common/names.h"
#include "report/pipeline/sink.h"

struct spark_bin {
	float low, high;
	float sum, weight; /* of values by their seconds; weight 0: there is no value */
};

/* Adds what is in `from` to `to`. */
static inline void spark_join(struct spark_bin *to, const struct spark_bin *from)
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

/* Joins the first 2 * half bins in pairs; the others become empty. */
static inline void spark_halve(struct spark_bin *bin, size_t half)
{
	for (size_t k = 0; k < half; k++) {
		struct spark_bin both = bin[2 * k];

		spark_join(&both, &bin[2 * k + 1]);
		bin[k] = both;
	}
	memset(bin + half, 0, half * sizeof(*bin));
}

/* One metric of one place. All strings are owned. */
struct plot_line {
	char *metric, *unit;   /* column head and unit */
	char *place;           /* "CPU 3"; "" for the system */
	struct spark_bin *bin; /* owned */
	double low, high;      /* of all intervals; low > high: there is none */
	bool amount;           /* grows with time: its mean is that of the intervals */
	double sum, weight;    /* of the mean; weight 0: there is none */
};

struct plot_data {
	struct sink sink;
	struct plot_line *line; /* owned */
	size_t n;
	uint32_t bins;           /* of each line; a power of two */
	uint64_t width_ns;       /* of a bin; doubles */
	uint64_t from_ns, to_ns; /* begin and end of what was taken */
	struct names lines;      /* "metric, place" -> line */
	uint32_t *map;           /* owned: line by cell of the sheet, row by row; PM_NONE: none */
	bool left_out;           /* there were more than PLOT_LINES_MAX */
	uint64_t wall;           /* makes of ticks of this recording those of a clock that all share */
	bool begun;              /* it is that of this recording */
};

#define PLOT_LINES_MAX 4096

/* `bins` is a power of two, at least two. */
void plot_data_init(struct plot_data *d, uint32_t bins);
void plot_data_release(struct plot_data *d);
/* Where the line of a metric at a place is, in line[]; it may be new. PM_NONE: there are too many. */
uint32_t plot_data_line(struct plot_data *d, const char *metric, const char *unit, const char *place);
/* Extends the time shown to `from_ns`, or up to a bin before it, and `to_ns`. */
void plot_data_reach(struct plot_data *d, uint64_t from_ns, uint64_t to_ns);
/* Adds a value that held from one time to the other, within the time so far. Ignores values that are not finite. */
void plot_data_take(struct plot_data *d, struct plot_line *l, uint64_t from_ns, uint64_t to_ns, double v);
/* The values of the line in column `at` of `columns`, which divide the time evenly. False: none there. */
bool plot_data_column(const struct plot_data *d, const struct plot_line *l, uint32_t at, uint32_t columns,
		      struct spark_bin *out);

#define SPARK_LEVELS 8
/* The mark of a level from 0 (lowest) to 7: a block, or an ASCII character of increasing ink. */
const char *spark_mark(unsigned level, bool utf8);
/* Where a value lies between low and high, from 0 to 1. If these differ by less than a tenth of their size, they are
 * nearer to the middle, because a line that always fills its box makes noise look large. */
double spark_share(double v, double low, double high);
/* The level of a value, by its share. */
unsigned spark_level(double v, double low, double high);
/* Appends `cells` marks of the means of a metric, by its head, at a place; blanks for missing values. */
void spark_put(struct buf *out, const struct plot_data *d, const char *metric, const struct places *places,
	       const struct place *place, uint32_t cells, bool utf8);
