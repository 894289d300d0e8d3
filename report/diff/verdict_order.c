/* Whether runs resemble the previous one. If so, and one side ran as a whole before the other, the spread of the runs
 * is too small, and many metrics together show a difference where the machine has only drifted (an autoregression
 * with 0.8: 20 gates, four runs per side, 45 % false REGRESSED). One metric of few runs cannot show it, and is tested
 * as if they did; all metrics of a family together can, compared with the same runs in random order, which keeps what
 * metrics have in common. */
#include <math.h>
#include <stdlib.h>

#include "common/statistics.h"
#include "report/diff/verdict.h"

#define RUNS_MOST 64
#define ORDERS    999  /* random ones */
#define BEYOND    0.05 /* share of these that may show as much resemblance */
#define FOUND     0.9
#define METRICS   3     /* at least: with one or two, a warm-up would pass for resemblance */
#define MOST      0.8   /* the largest value assumed: above it no number of runs would decide */
#define Z         1.645 /* of the upper bound */

struct likeness {
	size_t n;                             /* runs */
	double product[RUNS_MOST][RUNS_MOST]; /* of two runs, over all metrics */
};

static double rank_of(const struct verdict_side *s, size_t i)
{
	double below = 0;

	for (size_t k = 0; k < s->n; k++)
		below += s->value[k] < s->value[i] ? 1 : k != i && s->value[k] <= s->value[i] ? 0.5 : 0;
	return below - (double)(s->n - 1) / 2;
}

/* By ranks, which a single outlier does not dominate. */
static void add(struct likeness *l, const struct verdict_side *s)
{
	double rank[RUNS_MOST], squares = 0;

	for (size_t i = 0; i < s->n; i++) {
		rank[i] = rank_of(s, i);
		squares += rank[i] * rank[i];
	}
	for (size_t i = 0; i < s->n && squares > 0; i++)
		for (size_t k = 0; k < s->n; k++)
			l->product[i][k] += rank[i] * rank[k] / squares;
}

static double of_order(const struct likeness *l, const size_t *order)
{
	double sum = 0;

	for (size_t i = 0; i + 1 < l->n; i++)
		sum += l->product[order[i]][order[i + 1]];
	return sum;
}

static void shuffle(size_t *order, size_t n, struct statistics_random *r)
{
	for (size_t i = n; i > 1; i--) {
		size_t k = (size_t)(statistics_random(r) % i), t = order[i - 1];

		order[i - 1] = order[k];
		order[k] = t;
	}
}

struct verdict_order verdict_order(const struct verdict_side (*metric)[2], size_t n)
{
	SCOPED(scoped_free) struct likeness *l = calloc(2, sizeof(*l));
	struct statistics_random random = { 20260131 };
	size_t order[2][RUNS_MOST], more = 0, metrics = 0;
	struct verdict_order result = { 0, MOST };
	double seen = 0, sum = 0, squares = 0, left, likely, error;

	for (size_t i = 0; i < n && l; i++)
		for (int s = 0; s < 2; s++)
			l[s].n = metric[i][s].n > l[s].n ? metric[i][s].n : l[s].n;
	if (!l || l[0].n < VERDICT_RUNS || l[1].n < VERDICT_RUNS || l[0].n > RUNS_MOST || l[1].n > RUNS_MOST)
		goto out;
	for (size_t i = 0; i < n; i++)
		if (metric[i][0].n == l[0].n && metric[i][1].n == l[1].n) {
			add(&l[0], &metric[i][0]);
			add(&l[1], &metric[i][1]);
			metrics++;
		}
	if (!metrics)
		goto out;
	for (int s = 0; s < 2; s++) {
		for (size_t i = 0; i < l[s].n; i++)
			order[s][i] = i;
		seen += (double)l[s].n * of_order(&l[s], order[s]);
	}
	for (int k = 0; k < ORDERS; k++) {
		double now = 0;

		for (int s = 0; s < 2; s++) {
			shuffle(order[s], l[s].n, &random);
			now += (double)l[s].n * of_order(&l[s], order[s]);
		}
		more += now >= seen;
		squares += now * now;
		sum += now;
	}
	/* The first autocorrelation r of n runs, corrected for the removal of their mean, is (n r + 1) / (n - 3)
	 * (Marriott and Pope 1954); of both sides the mean, weighted by n - 3. */
	left = (double)(l[0].n + l[1].n) - 6;
	likely = (seen / (double)metrics + 2) / left;
	error = sqrt(squares / ORDERS - pow(sum / ORDERS, 2)) / (double)metrics / left;
	result.most = fmin(fmax(likely + Z * error, 0), MOST);
	if (metrics >= METRICS && more + 1 <= BEYOND * (ORDERS + 1))
		result.found = fmin(fmax(likely, 0), FOUND);
	result.most = fmax(result.most, result.found);
out:
	return result;
}
