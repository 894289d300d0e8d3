/*
 * Series for pictures of text: values over time in a bounded number of bins of equal length, each with the smallest,
 * the largest and the mean value. When time exceeds the last bin, pairs of bins are joined, so that all are twice as
 * long. Also a line of marks, eight steps high, for one series.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

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

static inline double spark_mean(const struct spark_bin *b)
{
	return (double)b->sum / (double)b->weight;
}

/* Series that share their time. */
struct spark_set {
	struct spark_bin **series; /* owned: n of them, of `bins` bins each */
	size_t n;
	uint32_t bins;           /* a power of two */
	uint64_t width_ns;       /* of a bin; doubles */
	uint64_t from_ns, to_ns; /* begin and end of what was taken */
};

/* `bins` is a power of two, at least two. Allocates nothing yet. */
void spark_init(struct spark_set *s, uint32_t bins);
void spark_release(struct spark_set *s);
/* The number of a new series, or -ENOMEM. */
int64_t spark_add(struct spark_set *s);
/* Extends the time shown to `from_ns`, or up to a bin before it, and `to_ns`. */
void spark_reach(struct spark_set *s, uint64_t from_ns, uint64_t to_ns);
/* Adds a value that held from one time to the other, within the time so far. Ignores values that are not finite. */
void spark_take(struct spark_set *s, size_t series, uint64_t from_ns, uint64_t to_ns, double v);
/* The values of the series in column `at` of `columns`, which divide the time evenly. False: none there. */
bool spark_column(const struct spark_set *s, size_t series, uint32_t at, uint32_t columns, struct spark_bin *out);
/* Widens *low and *high, initially INFINITY and -INFINITY, to the smallest and largest mean of the columns. False if
 * the series has no value. */
bool spark_mean_range(const struct spark_set *s, size_t series, uint32_t columns, double *low, double *high);

#define SPARK_LEVELS 8
/* The mark of a level from 0 (lowest) to 7: a block, or an ASCII character of increasing ink. */
const char *spark_mark(unsigned level, bool utf8);
/* Where a value lies between low and high, from 0 to 1. If these differ by less than a tenth of their size, they are
 * nearer to the middle, because a line that always fills its box makes noise look large. */
double spark_share(double v, double low, double high);
/* The level of a value, by its share. */
unsigned spark_level(double v, double low, double high);
/* Appends `cells` marks of means between low and high, with blanks for missing values. */
void spark_line(struct buf *out, const struct spark_set *s, size_t series, uint32_t cells, double low, double high,
		bool utf8);
