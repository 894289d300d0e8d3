/*
 * Series for pictures of text: values over time in a bounded number of bins of equal length, each with the smallest,
 * the largest and the mean value. When time goes beyond the last bin, pairs become one and all are twice as long. And
 * a line of marks, eight steps high, that shows one of them.
 */
#ifndef REPORT_SPARK_H
#define REPORT_SPARK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

struct spark_bin {
	float low, high;
	float sum, weight; /* of values by their seconds; weight 0: there is no value */
};

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

/* `bins` is a power of two, two at least. Nothing is allocated yet. */
void spark_init(struct spark_set *s, uint32_t bins);
void spark_release(struct spark_set *s);
/* A new series: its number, or -ENOMEM. */
int64_t spark_add(struct spark_set *s);
/* The time that is shown goes on to there. The first call sets the begin, which nothing may lie before. */
void spark_reach(struct spark_set *s, uint64_t from_ns, uint64_t to_ns);
/* A value that held from one time to the other, within what was reached. What is not finite is none. */
void spark_take(struct spark_set *s, size_t series, uint64_t from_ns, uint64_t to_ns, double v);
/* What the series did in column `at` of `columns`, which divide the time evenly. False: it has no value there. */
bool spark_column(const struct spark_set *s, size_t series, uint32_t at, uint32_t columns, struct spark_bin *out);
/* Smallest and largest mean of so many columns; false: the series has none. Widens *low and *high, which begin as
 * INFINITY and -INFINITY. */
bool spark_mean_range(const struct spark_set *s, size_t series, uint32_t columns, double *low, double *high);

#define SPARK_LEVELS 8
/* The mark of a level from 0 to 7, lowest to highest; blocks, or signs of ASCII with more and more ink. */
const char *spark_mark(unsigned level, bool utf8);
/* The level of a value between low and high; where these are the same to four digits, the middle, and 0 the
 * lowest. */
unsigned spark_level(double v, double low, double high);
/* Appends `cells` marks, means between low and high; a blank where there is no value. */
void spark_line(struct buf *out, const struct spark_set *s, size_t series, uint32_t cells, double low, double high,
		bool utf8);

#endif
