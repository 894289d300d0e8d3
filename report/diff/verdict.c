#include "report/diff/verdict.h"

#include <math.h>

#include "common/statistics.h"

#define TRIM_RUNS 8 /* from this many runs on, some are trimmed */
#define TRIM_MOST 64
#define MODES     3.0 /* deviations by which two modes differ */

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

/* A mean whose error comes not from the spread of the runs, but from within them and from what is known of how runs
 * vary. */
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
	/* With a given deviation from run to run, no series within them is needed. */
	if (isnan(within) && !isnan(run_sd))
		within = 0;
	e.error = sqrt(variance + within) / (double)s->n;
	if (within > 0) {
		double share = within / (variance + within);

		e.df = 9 * (double)s->n / (share * share); /* ten batch means a run */
	}
	return e;
}

static double log_ways(size_t n, size_t k)
{
	return lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1);
}

/* Runs in two modes are not disturbed runs: trimming a fifth at each end may leave one mode, with hardly any spread.
 * If the runs of both sides together fall into two such modes, and one side has both, p is that of their numbers
 * (Fisher's exact test). 0: they do not. */
static double modes_p(const struct verdict_side *base, const struct verdict_side *fresh, bool logarithmic)
{
	double x[2 * TRIM_MOST], sum = 0, squares = 0, gap = 0, within = 0, p = 0, seen;
	size_t n = base->n + fresh->n, low = 0, of_base = 0, least = base->n < fresh->n ? base->n : fresh->n;

	if (least < TRIM_RUNS || n > 2 * TRIM_MOST)
		return 0;
	for (size_t i = 0; i < n; i++) {
		double v = transformed(i < base->n ? base : fresh, i < base->n ? i : i - base->n, logarithmic);
		size_t k = i;

		for (; k && x[k - 1] > v; k--)
			x[k] = x[k - 1];
		x[k] = v;
	}
	for (size_t i = (n + 3) / 4; i <= n - (n + 3) / 4; i++)
		if (x[i] - x[i - 1] > gap) {
			gap = x[i] - x[i - 1];
			low = i;
		}
	for (size_t part = 0; part < 2 && low; part++) {
		size_t from = part ? low : 0, to = part ? n : low;

		sum = squares = 0;
		for (size_t i = from; i < to; i++) {
			sum += x[i] - x[from];
			squares += (x[i] - x[from]) * (x[i] - x[from]);
		}
		within += squares - sum * sum / (double)(to - from);
	}
	for (size_t i = 0; i < base->n && low; i++)
		of_base += transformed(base, i, logarithmic) < x[low];
	if (!low || gap * gap < MODES * MODES * within / (double)(n - 2) || (low == base->n && of_base == low) ||
	    (low == fresh->n && !of_base))
		return 0;
	seen = log_ways(base->n, of_base) + log_ways(fresh->n, low - of_base);
	for (size_t k = low > fresh->n ? low - fresh->n : 0; k <= base->n && k <= low; k++) {
		double ways = log_ways(base->n, k) + log_ways(fresh->n, low - k);

		if (ways <= seen + 1e-9)
			p += exp(ways - log_ways(n, low));
	}
	return fmin(p, 1);
}

/* A mean without the fifth of the runs at each end, with its error from the winsorized values (Yuen 1974), so that
 * disturbed runs do not affect the result. With few runs none is trimmed. */
static struct statistics_estimate trimmed(const struct verdict_side *s, bool logarithmic)
{
	size_t cut = s->n < TRIM_RUNS ? 0 : s->n / 5, kept = s->n - 2 * cut;
	double x[TRIM_MOST], mean = 0, squares = 0, drawn = 0;

	if (s->n > TRIM_MOST || !cut)
		return statistics_estimate_of(sample_of(s, logarithmic));
	for (size_t i = 0; i < s->n; i++) {
		double v = transformed(s, i, logarithmic);
		size_t k = i;

		for (; k && x[k - 1] > v; k--)
			x[k] = x[k - 1];
		x[k] = v;
	}
	for (size_t i = 0; i < s->n; i++) {
		mean += i >= cut && i < s->n - cut ? x[i] / (double)kept : 0;
		x[i] = x[i < cut ? cut : i >= s->n - cut ? s->n - cut - 1 : i];
		drawn += x[i] / (double)s->n;
	}
	for (size_t i = 0; i < s->n; i++)
		squares += (x[i] - drawn) * (x[i] - drawn);
	return (struct statistics_estimate){ .value = mean,
					     .error = sqrt(squares / (double)(kept * (kept - 1))),
					     .df = (double)kept - 1 };
}

/* The difference within each pair. */
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

/* If runs resemble the previous one, the mean of n runs varies more than their spread says, and that spread is too
 * small. */
static struct statistics_estimate widened(struct statistics_estimate e, size_t runs, double resemblance)
{
	double n = (double)runs, wider = 1;

	for (double k = 1; k < n; k++)
		wider += 2 * (1 - k / n) * pow(resemblance, k);
	e.error *= sqrt(wider / (1 - (wider - 1) / (n - 1)));
	/* Found by simulation: holds p from 0.05 to 0.001 for 4 to 16 runs and correlations of 0.3 to 0.8. */
	e.df /= cbrt(wider);
	return e;
}

static struct statistics_estimate apart(struct statistics_estimate a, struct statistics_estimate b, size_t n_a,
					size_t n_b, double resemblance)
{
	if (resemblance > 0)
		return statistics_difference(widened(a, n_a, resemblance), widened(b, n_b, resemblance));
	return statistics_difference(a, b);
}

/* Each session whose effect was removed costs a degree of freedom. */
static struct statistics_estimate without_sessions(struct statistics_estimate e, double n, double sessions)
{
	double left = fmax(n - sessions - 1, 0) / (n - 2);

	e.error /= sqrt(left);
	e.df *= left;
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
		.p_tested = NAN,
		.q = NAN,
		.ranks = NAN,
		.spread = NAN,
		.n_base = base->n,
		.n_fresh = fresh->n,
	};
	bool few = base->n < VERDICT_RUNS || fresh->n < VERDICT_RUNS, pairs = rules->pairs && base->n == fresh->n;
	struct statistics_estimate a, b, e, wide = { 0 };
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
	/* The mean of differences is the difference of means, but not of trimmed ones. */
	a = few || pairs ? statistics_estimate_of(sample_of(base, v.logarithmic)) : trimmed(base, v.logarithmic);
	b = few || pairs ? statistics_estimate_of(sample_of(fresh, v.logarithmic)) : trimmed(fresh, v.logarithmic);
	if (v.within)
		e = statistics_difference(told(base, v.logarithmic, rules->run_sd),
					  told(fresh, v.logarithmic, rules->run_sd));
	else if (pairs)
		e = paired(base, fresh, v.logarithmic);
	else
		e = apart(a, b, base->n, fresh->n, few ? 0 : rules->order.found);
	if (rules->sessions && !v.within)
		e = without_sessions(e, (double)(base->n + fresh->n), (double)rules->sessions);
	wide = few || pairs || rules->sessions ? e : apart(a, b, base->n, fresh->n, rules->order.most);
	v.p = statistics_p(e, 0);
	/* Whatever the distribution, ranks must say so, too; pairs that did not change differ symmetrically. */
	if (!few && !rules->pairs && v.p < rules->alpha) {
		v.ranks = statistics_rank_sum(base->value, base->n, fresh->value, fresh->n);
		v.p = fmax(v.p, fmax(v.ranks / 2, modes_p(base, fresh, v.logarithmic)));
	}
	v.p_tested = few ? v.p : fmax(v.p, statistics_p(wide, 0));
	half = statistics_half_width(e, 1 - rules->alpha);
	if (v.logarithmic) {
		v.base = exp(a.value);
		v.fresh = exp(b.value);
		v.ratio = exp(e.value);
		v.low = exp(e.value - half);
		v.high = exp(e.value + half);
	} else {
		v.base = a.value;
		v.fresh = b.value;
		if (a.value > 0 || a.value < 0) {
			v.ratio = b.value / a.value;
			v.low = v.ratio - half / fabs(a.value);
			v.high = v.ratio + half / fabs(a.value);
			/* What is never negative has no ratio below 0. */
			if (never_negative(base) && never_negative(fresh) && v.low < 0)
				v.low = 0;
		} else if (b.value <= 0 && b.value >= 0) {
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

#define RUNS_MOST 10000

/* Student's quantile from the normal one, to a hundredth from six degrees of freedom on (Fisher and Cornish 1960). */
static double student(double z, double df)
{
	return z + (pow(z, 3) + z) / (4 * df) + (5 * pow(z, 5) + 16 * pow(z, 3) + 3 * z) / (96 * df * df);
}

/* The runs per side at which the interval, shrinking with the root of their number, would permit a verdict. */
static size_t runs_needed(const struct verdict *v, double margin, double alpha)
{
	double least = v->n_base < v->n_fresh ? (double)v->n_base : (double)v->n_fresh;
	double effect = fabs(log(v->ratio)), half = log(v->high / v->low) / 2, room = fabs(effect - margin);
	size_t low = VERDICT_RUNS - 1, high = RUNS_MOST + 1;
	double z = statistics_t_quantile(1 - alpha / 2, INFINITY), now;

	if (!(v->low > 0) || !(half > 0) || isnan(effect) || v->capped || !(room > 0))
		return 0;
	/* The quantile shrinks too as the error becomes better known. */
	now = student(z, 2 * least - 2 > 1 ? 2 * least - 2 : 1);
	while (high - low > 1) {
		size_t runs = (low + high) / 2;
		double then = student(z, 2 * (double)runs - 2);

		*(half * then / now * sqrt(least / (double)runs) < room ? &high : &low) = runs;
	}
	return high > RUNS_MOST ? 0 : high;
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
		v->why = rules->by_session ?
				 "a boot counts as one run: four or more per side, or both sides in each" :
			 v->within ? "how much runs vary is unknown: record four or more per side, or give "
				     "--assume-run-sd" :
				     "fewer than four runs per side";
		v->needed = VERDICT_RUNS;
	} else if (isnan(v->p)) {
		v->why = "no error can be estimated";
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
	} else if (rules->order.found > 0) {
		v->why = "successive runs are correlated: alternate the sides, as pmrec compare does";
	} else if (v->p < rules->alpha && !(v->p_tested < rules->alpha)) {
		v->why = "drift between the sides may explain it: alternate the sides, as pmrec compare does";
	} else if (v->low > edge || v->high < 1 / edge) {
		v->why = "significant alone, but not among all judged metrics: use more runs, or --gate";
	} else {
		v->needed = runs_needed(v, log(edge), rules->alpha);
	}
}
