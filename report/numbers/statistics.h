/*
 * Statistics of small samples: Student's t, Welch's comparison of two means, the exact rank sum test, the false
 * discovery rate, and the error of the mean of a series.
 *
 * Callers leave out missing values. A result that is not defined for its input, such as the error of one value, is
 * NaN.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The t for which P(T <= t) is p, 0 < p < 1, of Student's distribution with df > 0 degrees of freedom (NIST DLMF
 * 8.17); df may be infinite. Relative error below 1e-10. */
double statistics_t_quantile(double p, double df);

/* An estimate with its standard error. */
struct statistics_estimate {
	double value;
	double error; /* standard error; 0: known exactly */
	double df;    /* degrees of freedom of the error; infinite: the error itself is known */
};
/* The mean of n values and its error, which is NaN for one value. */
struct statistics_estimate statistics_of(const double *x, size_t n);
/* b - a for independent estimates, with Welch's degrees of freedom. */
struct statistics_estimate statistics_difference(struct statistics_estimate a, struct statistics_estimate b);
/* Two-sided p of the hypothesis that the value is `against`. */
double statistics_p(struct statistics_estimate e, double against);
/* Half the width of the confidence interval of `level` (0.95). */
double statistics_half_width(struct statistics_estimate e, double level);

#define STATISTICS_RANKS_MAX 32 /* values of both sides */
/* Two-sided p of the exact rank sum test (Wilcoxon 1945) with mean ranks for ties: the share of all assignments of
 * ranks that lie at least this far from the expectation. NaN for more than STATISTICS_RANKS_MAX values. */
double statistics_rank_sum(const double *a, size_t n_a, const double *b, size_t n_b);

/* q[i] for p[i] by Benjamini and Hochberg (1995): the smallest false discovery rate at which i would be among the
 * discoveries. A p of NaN does not count, and its q is NaN. */
void statistics_false_discovery(const double *p, double *q, size_t n);

/* The mean of a series, and its standard error by `batches` batch means (ten: Schmeiser 1982). With n < 2 * batches
 * every value is a batch. df is the number of batches less one. */
struct statistics_estimate statistics_batch_means(const double *x, size_t n, size_t batches);

/* Pseudorandom numbers that are the same everywhere (xorshift64*), so that results are repeatable. */
struct statistics_random {
	uint64_t state; /* not 0 */
};
uint64_t statistics_random(struct statistics_random *r);

/* The median of n > 0 values, which are reordered, but not sorted. */
double statistics_median(double *v, size_t n);
