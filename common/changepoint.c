#include "common/changepoint.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/statistics.h"

struct search {
	const double *x;
	double *work; /* a segment, permuted */
	size_t shortest;
	double p_limit;
	struct statistics_random random;
	struct changepoint *found;
	int n_found;
};

/* The largest energy distance between the two parts of x[0..n), and where the second one begins (0: too short). */
static double best_cut(const double *x, size_t n, size_t shortest, size_t *place)
{
	double left = 0, right = 0, between = 0, best = -INFINITY;

	*place = 0;
	for (size_t i = 0; i < n; i++)
		for (size_t k = i + 1; k < n; k++)
			right += fabs(x[i] - x[k]);
	/* Value t - 1 goes over to the left part: its distances to the left ones become distances within, those to
	 * the right ones become distances between. */
	for (size_t t = 1; t + shortest <= n; t++) {
		double to_left = 0, to_right = 0, a = (double)t, b = (double)(n - t), distance;

		for (size_t i = 0; i + 1 < t; i++)
			to_left += fabs(x[i] - x[t - 1]);
		for (size_t i = t; i < n; i++)
			to_right += fabs(x[i] - x[t - 1]);
		left += to_left;
		right -= to_right;
		between += to_right - to_left;
		if (t < shortest)
			continue;
		distance = a * b / (a + b) *
			   (2 * between / (a * b) - 2 * left / (a * (a - 1)) - 2 * right / (b * (b - 1)));
		if (distance > best) {
			best = distance;
			*place = t;
		}
	}
	return best;
}

static void shuffle(double *x, size_t n, struct statistics_random *random)
{
	for (size_t i = n; i > 1; i--) {
		size_t k = statistics_random(random) % i;
		double t = x[i - 1];

		x[i - 1] = x[k];
		x[k] = t;
	}
}

static void divide(struct search *s, size_t from, size_t to)
{
	unsigned rounds = (unsigned)ceil(1 / s->p_limit) - 1, as_far = 0;
	size_t n = to - from, place, elsewhere;
	double best;

	if (n < 2 * s->shortest)
		return;
	best = best_cut(s->x + from, n, s->shortest, &place);
	if (!place || best <= 0)
		return;
	memcpy(s->work, s->x + from, n * sizeof(*s->work));
	/* One permutation that does as well is enough to miss the smallest p that so many rounds can show. */
	for (unsigned k = 0; k < rounds && !as_far; k++) {
		shuffle(s->work, n, &s->random);
		as_far += best_cut(s->work, n, s->shortest, &elsewhere) >= best;
	}
	if (as_far)
		return;
	divide(s, from, from + place);
	s->found[s->n_found++] = (struct changepoint){ from + place, 1.0 / (rounds + 1) };
	divide(s, from + place, to);
}

int changepoints_find(const double *x, size_t n, size_t shortest, double p_limit, struct changepoint *found)
{
	struct search s = { .x = x, .p_limit = p_limit, .random = { 0x9e3779b97f4a7c15u }, .found = found };

	if (n > CHANGEPOINT_MAX)
		return -E2BIG;
	if (n < 2)
		return 0;
	s.shortest = shortest < 2 ? 2 : shortest;
	s.work = malloc(n * sizeof(*s.work));
	if (!s.work)
		return -ENOMEM;
	divide(&s, 0, n);
	free(s.work);
	return s.n_found;
}
