/*
 * Where a series changes: E-divisive (Matteson and James 2014, "A Nonparametric Approach for Multiple Change Point
 * Analysis of Multivariate Data") for one variable and exponent 1. The best place to cut a segment in two is the one
 * with the largest energy distance between the parts; whether it is a change at all is decided by permuting the
 * segment. Any change of distribution counts, not only of the mean.
 *
 * The permutations take values for exchangeable: a series that resembles itself has to be averaged over more than its
 * autocorrelation time first, or it changes everywhere.
 */
#ifndef COMMON_CHANGEPOINT_H
#define COMMON_CHANGEPOINT_H

#include <stddef.h>

#define CHANGEPOINT_MAX 1024 /* values of a series: time and memory grow with the square */

struct changepoint {
	size_t place; /* first value of the new phase */
	double p;     /* share of permutations that gave as large a distance, 0 to 1 */
};

/*
 * Finds the changes with p at most `p_limit` (0.001 needs 999 permutations, and is what keeps false ones rare),
 * leaving at least `shortest` >= 2 values a phase. They are put into `found` (room for n / shortest), in ascending
 * order; returns their number, or -E2BIG, -ENOMEM. The result is the same for the same input.
 */
int changepoints_find(const double *x, size_t n, size_t shortest, double p_limit, struct changepoint *found);

#endif
