#include "report/diff/verdict.h"

#include <math.h>

#include "common/statistics.h"

const char *verdict_name(enum verdict_kind kind)
{
	static const char *const name[] = {
		[VERDICT_INCONCLUSIVE] = "INCONCLUSIVE", [VERDICT_SAME] = "SAME",
		[VERDICT_IMPROVED] = "IMPROVED",         [VERDICT_REGRESSED] = "REGRESSED",
		[VERDICT_CHANGED] = "CHANGED",           [VERDICT_ABSENT] = "ABSENT",
	};

	return name[kind];
}

static bool all_positive(const struct verdict_side *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (!(s->value[i] > 0))
			return false;
	return true;
}

static bool never_negative(const struct verdict_side *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (!(s->value[i] >= 0))
			return false;
	return true;
}

static double transformed(const struct verdict_side *s, size_t i, bool logarithmic)
{
	return logarithmic ? log(s->value[i]) : s->value[i];
}

/* Mean and variance in one pass over the runs, without a copy of them (Welford 1962). */
static struct statistics_sample sample_of(const struct verdict_side *s, bool logarithmic)
{
	struct statistics_sample out = { .n = s->n, .mean = NAN, .variance = NAN };
	double mean = 0, squares = 0;

	for (size_t i = 0; i < s->n; i++) {
		double x = transformed(s, i, logarithmic), step = x - mean;

		mean += step / (double)(i + 1);
		squares += step * (x - mean);
	}
	if (s->n)
		out.mean = mean;
	if (s->n > 1)
		out.variance = squares / (double)(s->n - 1);
	return out;
}

/* A mean whose error is not taken from the spread of the runs, but from within them and from what is known of how
 * runs vary. */
static struct statistics_estimate told(const struct verdict_side *s, bool logarithmic, double run_sd)
{
	struct statistics_estimate e = { .value = sample_of(s, logarithmic).mean, .df = INFINITY };
	double variance = 0, within = 0;

	for (size_t i = 0; i < s->n; i++) {
		double error = s->error ? s->error[i] : NAN;

		within += logarithmic ? error * error / (s->value[i] * s->value[i]) : error * error;
	}
	if (!isnan(run_sd))
		variance = (double)s->n * run_sd * run_sd * (logarithmic ? 1 : e.value * e.value);
	/* Who gives a deviation from run to run need not have a series within them. */
	if (isnan(within) && !isnan(run_sd))
		within = 0;
	e.error = sqrt(variance + within) / (double)s->n;
	if (within > 0) {
		double share = within / (variance + within);

		e.df = 9 * (double)s->n / (share * share); /* ten batch means a run */
	}
	return e;
}

static double exact(const struct verdict_side *a, const struct verdict_side *b, bool logarithmic)
{
	double x[16], y[16];

	if (a->n < 5 || b->n < 5 || a->n > 16 || b->n > 16)
		return NAN;
	for (size_t i = 0; i < a->n; i++)
		x[i] = transformed(a, i, logarithmic);
	for (size_t i = 0; i < b->n; i++)
		y[i] = transformed(b, i, logarithmic);
	return statistics_permutation(x, a->n, y, b->n);
}

/* What lies between the two of each pair. */
static struct statistics_estimate paired(const struct verdict_side *a, const struct verdict_side *b, bool logarithmic)
{
	struct statistics_estimate e = { .df = (double)a->n - 1 };
	double squares = 0;

	for (size_t i = 0; i < a->n; i++) {
		double x = transformed(b, i, logarithmic) - transformed(a, i, logarithmic), step = x - e.value;

		e.value += step / (double)(i + 1);
		squares += step * (x - e.value);
	}
	e.error = sqrt(squares / e.df / (double)a->n);
	return e;
}

struct verdict verdict_measure(const struct verdict_side *base, const struct verdict_side *fresh,
			       const struct verdict_rules *rules)
{
	struct verdict v = {
		.base = NAN,
		.fresh = NAN,
		.ratio = NAN,
		.low = NAN,
		.high = NAN,
		.p = NAN,
		.q = NAN,
		.permutation = NAN,
		.spread = NAN,
		.n_base = base->n,
		.n_fresh = fresh->n,
	};
	bool few = base->n < VERDICT_RUNS || fresh->n < VERDICT_RUNS;
	struct statistics_sample a, b;
	struct statistics_estimate e;
	double half;

	if (!base->n || !fresh->n) {
		v.kind = VERDICT_ABSENT;
		v.base = sample_of(base, false).mean;
		v.fresh = sample_of(fresh, false).mean;
		return v;
	}
	v.logarithmic = all_positive(base) && all_positive(fresh);
	v.capped = few && isnan(rules->run_sd);
	v.within = few && (base->n < 2 || fresh->n < 2 || !isnan(rules->run_sd));
	a = sample_of(base, v.logarithmic);
	b = sample_of(fresh, v.logarithmic);
	if (v.within)
		e = statistics_difference(told(base, v.logarithmic, rules->run_sd),
					  told(fresh, v.logarithmic, rules->run_sd));
	else if (rules->pairs && base->n == fresh->n)
		e = paired(base, fresh, v.logarithmic);
	else
		e = statistics_welch(a, b);
	v.p = statistics_p(e, 0);
	v.permutation = exact(base, fresh, v.logarithmic);
	half = statistics_half_width(e, 1 - rules->alpha);
	if (v.logarithmic) {
		v.base = exp(a.mean);
		v.fresh = exp(b.mean);
		v.ratio = exp(e.value);
		v.low = exp(e.value - half);
		v.high = exp(e.value + half);
	} else {
		v.base = a.mean;
		v.fresh = b.mean;
		if (a.mean > 0 || a.mean < 0) {
			v.ratio = b.mean / a.mean;
			v.low = v.ratio - half / fabs(a.mean);
			v.high = v.ratio + half / fabs(a.mean);
			/* What is never below 0 has no ratio below it. */
			if (never_negative(base) && never_negative(fresh) && v.low < 0)
				v.low = 0;
		} else if (b.mean <= 0 && b.mean >= 0) {
			v.ratio = v.low = v.high = 1;
		}
	}
	if (v.ratio > 0)
		v.spread = expm1(fabs(log(v.ratio)) / (statistics_t_quantile(1 - rules->alpha / 2, INFINITY) *
						       sqrt(1 / (double)base->n + 1 / (double)fresh->n)));
	return v;
}

static enum verdict_kind by_direction(bool more, enum metric_better better)
{
	if (better == METRIC_NEUTRAL)
		return VERDICT_CHANGED;
	return more == (better == METRIC_HIGHER) ? VERDICT_IMPROVED : VERDICT_REGRESSED;
}

/* Runs a side at which the interval, shrinking with the root of their number, would leave room for a verdict. */
static size_t runs_needed(const struct verdict *v, double margin, double alpha)
{
	double least = v->n_base < v->n_fresh ? (double)v->n_base : (double)v->n_fresh;
	double effect = fabs(log(v->ratio)), half = log(v->high / v->low) / 2, room = fabs(effect - margin), runs;
	double now;

	if (!(v->low > 0) || !(half > 0) || isnan(effect) || v->capped || !(room > 0))
		return 0;
	/* A known error instead of one from few runs: the quantile shrinks too. */
	now = statistics_t_quantile(1 - alpha / 2, 2 * least - 2 > 1 ? 2 * least - 2 : 1);
	for (runs = VERDICT_RUNS; runs <= 10000; runs = ceil(runs * 1.02)) {
		double then = statistics_t_quantile(1 - alpha / 2, 2 * runs - 2);

		if (half * then / now * sqrt(least / runs) < room)
			return (size_t)runs;
	}
	return 0;
}

void verdict_decide(struct verdict *v, const struct verdict_rules *rules)
{
	double edge = 1 + rules->margin;
	bool significant = v->q < rules->alpha;

	if (v->kind == VERDICT_ABSENT) {
		v->why = v->n_base ? "only the base has it" : v->n_fresh ? "only the new side has it" : "no value";
		return;
	}
	v->kind = VERDICT_INCONCLUSIVE;
	if (v->capped) {
		bool beyond = isnan(v->ratio) ? v->base != v->fresh : v->ratio > edge || v->ratio < 1 / edge;
		bool seen = isnan(v->p) || (significant && (isnan(v->ratio) || v->low > edge || v->high < 1 / edge));

		if (seen && beyond && !(v->spread < VERDICT_SPREAD))
			v->kind = VERDICT_CHANGED;
		v->why = v->within ? "how runs vary is unknown: four or more a side, or --assume-run-sd" :
				     "fewer than four runs a side";
		v->needed = VERDICT_RUNS;
	} else if (isnan(v->p)) {
		v->why = "no error can be given";
	} else if (isnan(v->ratio)) {
		if (significant)
			v->kind = by_direction(v->fresh > v->base, rules->better);
		v->why = "the base is 0";
	} else if (significant && v->low > edge) {
		v->kind = by_direction(true, rules->better);
	} else if (significant && v->high < 1 / edge) {
		v->kind = by_direction(false, rules->better);
	} else if (v->low > 1 / edge && v->high < edge) {
		v->kind = VERDICT_SAME;
	} else {
		v->needed = runs_needed(v, log(edge), rules->alpha);
	}
}
