#include "report/numbers/statistics.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "common/memory.h"

/* The continued fraction of the incomplete beta function (DLMF 8.17.22), evaluated from the front by Lentz's method;
 * converges fast for x < (a + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x)
{
	const double tiny = 1e-300;
	double c = 1, d = 1 - (a + b) * x / (a + 1), f;

	d = 1 / (fabs(d) < tiny ? tiny : d);
	f = d;
	for (int m = 1; m < 10000; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double step = 1;

		for (int k = 0; k < 2; k++) {
			double term = k ? odd : even;

			d = 1 + term * d;
			d = 1 / (fabs(d) < tiny ? tiny : d);
			c = 1 + term / c;
			c = fabs(c) < tiny ? tiny : c;
			step = c * d;
			f *= step;
		}
		if (fabs(step - 1) < 1e-15)
			break;
	}
	return f;
}

/* The regularised incomplete beta function. `y` is 1 - x, passed because the caller knows it more precisely. */
static double beta_regular(double a, double b, double x, double y)
{
	double front;

	if (x <= 0 || y <= 0)
		return x <= 0 ? 0 : 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(y));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, y) / b;
}

/* P(T > t), t >= 0: computed directly, because 1 - P(T <= t) would lose the small tail. */
static double t_tail(double t, double df)
{
	/* Abramowitz and Stegun 26.7.8: its error is of the order of df^-2; above this, lgamma() loses more. */
	if (df > 1e6) {
		double z = isinf(df) ? t : t * (1 - 0.25 / df) / sqrt(1 + t * t / (2 * df));

		return erfc(z / M_SQRT2) / 2;
	}
	return beta_regular(df / 2, 0.5, df / (df + t * t), t * t / (df + t * t)) / 2;
}

double statistics_t_quantile(double p, double df)
{
	double low = 0, high = 1, tail = p < 0.5 ? p : 1 - p;

	if (!(p > 0 && p < 1) || !(df > 0))
		return NAN;
	while (t_tail(high, df) > tail && high < 1e300)
		high *= 2;
	for (int i = 0; i < 200 && high - low > 1e-14 * high; i++) {
		double middle = (low + high) / 2;

		if (t_tail(middle, df) > tail)
			low = middle;
		else
			high = middle;
	}
	return p < 0.5 ? -high : high;
}

struct statistics_estimate statistics_of(const double *x, size_t n)
{
	struct statistics_estimate e = { .value = NAN, .error = NAN, .df = (double)n - 1 };
	double sum = 0, squares = 0, rest = 0;

	if (!n)
		return e;
	for (size_t i = 0; i < n; i++)
		sum += x[i];
	e.value = sum / (double)n;
	/* The second term is 0 but for rounding errors, and cancels those of the mean (Chan, Golub, LeVeque 1983). */
	for (size_t i = 0; i < n; i++) {
		squares += (x[i] - e.value) * (x[i] - e.value);
		rest += x[i] - e.value;
	}
	if (n > 1)
		e.error = sqrt((squares - rest * rest / (double)n) / (double)(n - 1) / (double)n);
	return e;
}

struct statistics_estimate statistics_difference(struct statistics_estimate a, struct statistics_estimate b)
{
	double va = a.error * a.error, vb = b.error * b.error;
	struct statistics_estimate e = { .value = b.value - a.value, .error = sqrt(va + vb), .df = INFINITY };
	double spread = (va > 0 ? va * va / a.df : 0) + (vb > 0 ? vb * vb / b.df : 0);

	if (isnan(e.error))
		e.df = NAN;
	else if (spread > 0)
		e.df = (va + vb) * (va + vb) / spread;
	return e;
}

double statistics_p(struct statistics_estimate e, double against)
{
	double distance = fabs(e.value - against);

	if (isnan(distance) || isnan(e.error))
		return NAN;
	if (e.error <= 0)
		return distance > 0 ? 0 : 1;
	return 2 * t_tail(distance / e.error, e.df);
}

double statistics_half_width(struct statistics_estimate e, double level)
{
	if (e.error <= 0)
		return 0;
	return statistics_t_quantile(0.5 + level / 2, e.df) * e.error;
}

/* Twice the mean rank of each value of a pool. */
static void rank(const double *pool, size_t n, size_t *twice)
{
	for (size_t i = 0; i < n; i++) {
		twice[i] = 1;
		for (size_t k = 0; k < n; k++)
			twice[i] += pool[k] < pool[i] ? 2 : pool[k] > pool[i] ? 0 : 1;
	}
}

double statistics_rank_sum(const double *a, size_t n_a, const double *b, size_t n_b)
{
	enum { MOST = STATISTICS_RANKS_MAX, SUMS = MOST * (MOST + 1) + 1 };
	double pool[MOST], ways[MOST / 2 + 1][SUMS], all = 0, as_far = 0;
	size_t twice[MOST], n = n_a + n_b, few = n_a < n_b ? n_a : n_b, sum = 0, total = 0;

	if (!few || n > MOST)
		return NAN;
	for (size_t i = 0; i < n; i++)
		pool[i] = i < n_a ? a[i] : b[i - n_a];
	rank(pool, n, twice);
	for (size_t i = 0; i < n; i++) {
		total += twice[i];
		sum += (n_a == few ? i < n_a : i >= n_a) ? twice[i] : 0;
	}
	/* The number of ways in which k of the ranks have each sum. */
	for (size_t k = 0; k <= few; k++)
		for (size_t s = 0; s <= total; s++)
			ways[k][s] = !k && !s;
	for (size_t i = 0; i < n; i++)
		for (size_t k = few; k; k--)
			for (size_t s = total; s >= twice[i]; s--)
				ways[k][s] += ways[k - 1][s - twice[i]];
	for (size_t s = 0; s <= total; s++) {
		double far = fabs((double)(s * n) - (double)(few * total));

		all += ways[few][s];
		as_far += far >= fabs((double)(sum * n) - (double)(few * total)) ? ways[few][s] : 0;
	}
	return as_far / all;
}

struct ranked {
	double p;
	size_t place;
};

static int by_p(const void *x, const void *y)
{
	const struct ranked *a = x, *b = y;

	return (a->p > b->p) - (a->p < b->p);
}

void statistics_false_discovery(const double *p, double *q, size_t n)
{
	SCOPED(scoped_free) struct ranked *order = memory_new(n, sizeof(*order));
	size_t there = 0;
	double least = 1;

	for (size_t i = 0; i < n; i++) {
		q[i] = NAN;
		if (!isnan(p[i]))
			order[there++] = (struct ranked){ p[i], i };
	}
	qsort(order, there, sizeof(*order), by_p);
	for (size_t k = there; k--;) {
		double here = order[k].p * (double)there / (double)(k + 1);

		least = here < least ? here : least;
		q[order[k].place] = least;
	}
}

struct statistics_estimate statistics_batch_means(const double *x, size_t n, size_t batches)
{
	double mean = 0, squares = 0, whole = 0;

	if (n < 2 * batches)
		batches = n;
	if (batches < 2)
		return (struct statistics_estimate){ .value = n ? x[0] : NAN, .error = NAN, .df = NAN };
	/* Every value is used: batch k ends where k + 1 parts of the whole end. */
	for (size_t i = 0; i < n; i++)
		whole += x[i];
	whole /= (double)n;
	for (size_t k = 0; k < batches; k++) {
		size_t from = k * n / batches, to = (k + 1) * n / batches;

		mean = 0;
		for (size_t i = from; i < to; i++)
			mean += x[i];
		mean /= (double)(to - from);
		squares += (mean - whole) * (mean - whole);
	}
	return (struct statistics_estimate){
		.value = whole,
		.error = sqrt(squares / (double)(batches - 1) / (double)batches),
		.df = (double)batches - 1,
	};
}

uint64_t statistics_random(struct statistics_random *r)
{
	r->state ^= r->state >> 12;
	r->state ^= r->state << 25;
	r->state ^= r->state >> 27;
	return r->state * 0x2545f4914f6cdd1du;
}

/* Partitions: values below the pivot first and, with `same`, those that equal it; returns how many. Without a branch
 * on values, which would be mispredicted. */
static size_t partition(double *v, size_t from, size_t to, double pivot, bool same)
{
	size_t below = from;

	for (size_t i = from; i < to; i++) {
		double t = v[i];

		v[i] = v[below];
		v[below] = t;
		below += same ? t <= pivot : t < pivot;
	}
	return below;
}

/* The value with k smaller or equal ones before it. */
static double kth(double *v, size_t n, size_t k)
{
	size_t from = 0, to = n;

	while (to - from > 1) {
		double a = v[from], b = v[from + (to - from) / 2], c = v[to - 1];
		double pivot = fmax(fmin(a, b), fmin(fmax(a, b), c));
		size_t at = partition(v, from, to, pivot, false);

		if (k < at) {
			to = at;
		} else if (at > from) {
			from = at;
		} else {
			from = partition(v, at, to, pivot, true);
			if (k < from || isnan(pivot))
				return pivot;
		}
	}
	return v[k];
}

double statistics_median(double *v, size_t n)
{
	double upper = kth(v, n, n / 2), lower = v[0];

	/* All before it are at most as large. */
	for (size_t i = 1; i < n / 2; i++)
		lower = v[i] > lower ? v[i] : lower;
	return n % 2 ? upper : (upper + lower) / 2;
}
