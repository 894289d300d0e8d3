#include "report/diff/verdict.h"

#include <math.h>

#include "common/buf.h"
#include "common/memory.h"
#include "report/numbers/statistics.h"

#define TRIM_RUNS 8 /* from this many runs on, some are trimmed */
#define TRIM_MOST 64
#define MODES     3.0 /* deviations by which two modes differ */

#define NEEDED_MOST 10000 /* runs per side */

const char *verdict_name(enum verdict_kind kind)
{
	static const char *const name[] = {
		[VERDICT_INCONCLUSIVE] = "INCONCLUSIVE", [VERDICT_SAME] = "SAME",
		[VERDICT_IMPROVED] = "IMPROVED",         [VERDICT_REGRESSED] = "REGRESSED",
		[VERDICT_CHANGED] = "CHANGED",           [VERDICT_ABSENT] = "ABSENT",
	};

	return name[kind];
}

/* Whether all values are above 0, or with `zero` none is below. */
static bool all_above(const struct verdict_side *s, bool zero)
{
	for (size_t i = 0; i < s->n; i++)
		if (!(s->value[i] > 0) && !(zero && s->value[i] >= 0))
			return false;
	return true;
}

/* A mean whose error comes not from the spread of the runs, but from within them and from what is known of how runs
 * vary. */
static struct statistics_estimate told(const struct verdict_side *s, double mean, bool logarithmic, double run_sd)
{
	struct statistics_estimate e = { .value = mean, .df = INFINITY };
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

/* Puts the value where it belongs among n ascending ones. */
static void insert(double *x, size_t n, double v)
{
	for (; n && x[n - 1] > v; n--)
		x[n] = x[n - 1];
	x[n] = v;
}

static double log_ways(size_t n, size_t k)
{
	return lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1);
}

/* Runs in two modes are not disturbed runs: trimming a fifth at each end may leave one mode, with hardly any spread.
 * If the runs of both sides together fall into two such modes, and one side has both, p is that of their numbers
 * (Fisher's exact test). 0: they do not. */
static double modes_p(const double *value, size_t base, size_t fresh)
{
	double x[2 * TRIM_MOST], sum = 0, squares = 0, gap = 0, within = 0, p = 0, seen;
	size_t n = base + fresh, low = 0, of_base = 0, least = base < fresh ? base : fresh;

	if (least < TRIM_RUNS || n > 2 * TRIM_MOST)
		return 0;
	for (size_t i = 0; i < n; i++)
		insert(x, i, value[i]);
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
	for (size_t i = 0; i < base && low; i++)
		of_base += value[i] < x[low];
	if (!low || gap * gap < MODES * MODES * within / (double)(n - 2) || (low == base && of_base == low) ||
	    (low == fresh && !of_base))
		return 0;
	seen = log_ways(base, of_base) + log_ways(fresh, low - of_base);
	for (size_t k = low > fresh ? low - fresh : 0; k <= base && k <= low; k++) {
		double ways = log_ways(base, k) + log_ways(fresh, low - k);

		if (ways <= seen + 1e-9)
			p += exp(ways - log_ways(n, low));
	}
	return fmin(p, 1);
}

/* A mean without the fifth of the runs at each end, with its error from the winsorized values (Yuen 1974), so that
 * disturbed runs do not affect the result. With few runs none is trimmed. */
static struct statistics_estimate trimmed(const double *value, size_t n)
{
	size_t cut = n < TRIM_RUNS ? 0 : n / 5, kept = n - 2 * cut;
	double x[TRIM_MOST], mean = 0, squares = 0, drawn = 0;

	if (n > TRIM_MOST || !cut)
		return statistics_of(value, n);
	for (size_t i = 0; i < n; i++)
		insert(x, i, value[i]);
	for (size_t i = 0; i < n; i++) {
		mean += i >= cut && i < n - cut ? x[i] / (double)kept : 0;
		x[i] = x[i < cut ? cut : i >= n - cut ? n - cut - 1 : i];
		drawn += x[i] / (double)n;
	}
	for (size_t i = 0; i < n; i++)
		squares += (x[i] - drawn) * (x[i] - drawn);
	return (struct statistics_estimate){ .value = mean,
					     .error = sqrt(squares / (double)(kept * (kept - 1))),
					     .df = (double)kept - 1 };
}

/* The difference within each pair. */
static struct statistics_estimate paired(const double *a, const double *b, size_t n)
{
	SCOPED(scoped_free) double *x = memory_new(n, sizeof(*x));

	for (size_t i = 0; i < n; i++)
		x[i] = b[i] - a[i];
	return statistics_of(x, n);
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
	size_t n = base->n, m = fresh->n;
	SCOPED(scoped_free) double *x = memory_new(n + m, sizeof(*x)); /* their logarithms, if all have one */
	struct statistics_estimate a, b, e, wide = { 0 };
	double half;

	if (!base->n || !fresh->n) {
		v.kind = VERDICT_ABSENT;
		v.base = statistics_of(base->value, n).value;
		v.fresh = statistics_of(fresh->value, m).value;
		return v;
	}
	v.logarithmic = all_above(base, false) && all_above(fresh, false);
	for (size_t i = 0; i < n + m; i++) {
		x[i] = i < n ? base->value[i] : fresh->value[i - n];
		x[i] = v.logarithmic ? log(x[i]) : x[i];
	}
	v.capped = few && isnan(rules->run_sd);
	v.within = few && (base->n < 2 || fresh->n < 2 || !isnan(rules->run_sd));
	/* The mean of differences is the difference of means, but not of trimmed ones. */
	a = few || pairs ? statistics_of(x, n) : trimmed(x, n);
	b = few || pairs ? statistics_of(x + n, m) : trimmed(x + n, m);
	if (v.within)
		e = statistics_difference(told(base, a.value, v.logarithmic, rules->run_sd),
					  told(fresh, b.value, v.logarithmic, rules->run_sd));
	else if (pairs)
		e = paired(x, x + n, n);
	else
		e = apart(a, b, n, m, few ? 0 : rules->order.found);
	if (rules->sessions && !v.within)
		e = without_sessions(e, (double)(n + m), (double)rules->sessions);
	wide = few || pairs || rules->sessions ? e : apart(a, b, n, m, rules->order.most);
	v.p = statistics_p(e, 0);
	/* Whatever the distribution, ranks must say so, too; pairs that did not change differ symmetrically. */
	if (!few && !rules->pairs && v.p < rules->alpha) {
		v.ranks = statistics_rank_sum(base->value, n, fresh->value, m);
		v.p = fmax(v.p, fmax(v.ranks / 2, modes_p(x, n, m)));
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
			if (all_above(base, true) && all_above(fresh, true) && v.low < 0)
				v.low = 0;
		} else if (b.value <= 0 && b.value >= 0) {
			v.ratio = v.low = v.high = 1;
		}
	}
	if (v.ratio > 0)
		v.spread = expm1(fabs(log(v.ratio)) / (statistics_t_quantile(1 - rules->alpha / 2, INFINITY) *
						       sqrt(1 / (double)n + 1 / (double)m)));
	return v;
}

static enum verdict_kind by_direction(bool more, enum metric_better better)
{
	if (better == METRIC_NEUTRAL)
		return VERDICT_CHANGED;
	return more == (better == METRIC_HIGHER) ? VERDICT_IMPROVED : VERDICT_REGRESSED;
}

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
	size_t low = VERDICT_RUNS - 1, high = NEEDED_MOST + 1;
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
	return high > NEEDED_MOST ? 0 : high;
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

/* ---- order ---- */

/* Whether runs resemble the previous one. If so, and one side ran as a whole before the other, the spread of the runs
 * is too small, and many metrics together show a difference where the machine has only drifted (an autoregression
 * with 0.8: 20 gates, four runs per side, 45 % false REGRESSED). One metric of few runs cannot show it, and is tested
 * as if they did; all metrics of a family together can, compared with the same runs in random order, which keeps what
 * metrics have in common. */

#define ORDER_RUNS    64
#define ORDER_RANDOM  999
#define ORDER_BEYOND  0.05 /* share of the random orders that may show as much resemblance */
#define ORDER_FOUND   0.9
#define ORDER_METRICS 3     /* at least: with one or two, a warm-up would pass for resemblance */
#define ORDER_MOST    0.8   /* the largest value assumed: above it no number of runs would decide */
#define ORDER_Z       1.645 /* of the upper bound */

struct likeness {
	size_t n;                               /* runs */
	double product[ORDER_RUNS][ORDER_RUNS]; /* of two runs, over all metrics */
};

static double rank_of(const struct verdict_side *s, size_t i)
{
	double below = 0;

	for (size_t k = 0; k < s->n; k++)
		below += s->value[k] < s->value[i] ? 1 : k != i && s->value[k] <= s->value[i] ? 0.5 : 0;
	return below - (double)(s->n - 1) / 2;
}

/* By ranks, which a single outlier does not dominate. */
static void add_ranks(struct likeness *l, const struct verdict_side *s)
{
	double rank[ORDER_RUNS], squares = 0;

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
	SCOPED(scoped_free) struct likeness *l = memory_new(2, sizeof(*l));
	struct statistics_random random = { 20260131 };
	size_t order[2][ORDER_RUNS], more = 0, metrics = 0;
	struct verdict_order result = { 0, ORDER_MOST };
	double seen = 0, sum = 0, squares = 0, left, likely, error;

	for (size_t i = 0; i < n; i++)
		for (int s = 0; s < 2; s++)
			l[s].n = metric[i][s].n > l[s].n ? metric[i][s].n : l[s].n;
	if (l[0].n < VERDICT_RUNS || l[1].n < VERDICT_RUNS || l[0].n > ORDER_RUNS || l[1].n > ORDER_RUNS)
		goto out;
	for (size_t i = 0; i < n; i++)
		if (metric[i][0].n == l[0].n && metric[i][1].n == l[1].n) {
			add_ranks(&l[0], &metric[i][0]);
			add_ranks(&l[1], &metric[i][1]);
			metrics++;
		}
	if (!metrics)
		goto out;
	for (int s = 0; s < 2; s++) {
		for (size_t i = 0; i < l[s].n; i++)
			order[s][i] = i;
		seen += (double)l[s].n * of_order(&l[s], order[s]);
	}
	for (int k = 0; k < ORDER_RANDOM; k++) {
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
	error = sqrt(squares / ORDER_RANDOM - pow(sum / ORDER_RANDOM, 2)) / (double)metrics / left;
	result.most = fmin(fmax(likely + ORDER_Z * error, 0), ORDER_MOST);
	if (metrics >= ORDER_METRICS && more + 1 <= ORDER_BEYOND * (ORDER_RANDOM + 1))
		result.found = fmin(fmax(likely, 0), ORDER_FOUND);
	result.most = fmax(result.most, result.found);
out:
	return result;
}

/* ---- sessions ---- */

/* Boots and other sessions as a random effect: memory layout and the order of services differ, and all runs until the
 * next boot share that. Runs of one boot against those of another are two values, however many runs there are. */
struct session {
	double sum[2]; /* of the runs of each side */
	size_t n[2];
};

/* The mean of a session is that of its sides' means, whatever their numbers. */
static double session_mean(const struct session *s)
{
	return (s->sum[0] / (double)s->n[0] + s->sum[1] / (double)s->n[1]) / 2;
}

size_t verdict_sessions(double *value, const uint32_t *session, size_t n[2])
{
	size_t base = n[0], all = n[0] + n[1], sessions = 0;
	SCOPED(scoped_free) size_t *first = memory_new(all, sizeof(*first)); /* run of the same session */
	SCOPED(scoped_free) struct session *s = memory_new(all, sizeof(*s)); /* by first run */
	bool logs = true, crossed = true;
	double whole = 0;

	for (size_t i = 0; i < all; i++) {
		logs &= value[i] > 0;
		while (session[first[i]] != session[i])
			first[i]++;
		sessions += first[i] == i;
	}
	if (sessions < 2 || sessions == all)
		return 0;
	for (size_t i = 0; i < all; i++) {
		value[i] = logs ? log(value[i]) : value[i];
		s[first[i]].sum[i >= base] += value[i];
		s[first[i]].n[i >= base]++;
	}
	for (size_t i = 0; i < all; i++)
		crossed &= s[first[i]].n[0] && s[first[i]].n[1];
	for (size_t i = 0; i < all && crossed; i++)
		whole += first[i] == i ? session_mean(&s[i]) / (double)sessions : 0;
	for (size_t i = 0; i < all && crossed; i++)
		value[i] += whole - session_mean(&s[first[i]]);
	/* Otherwise the means of a side's sessions move to its front. */
	for (int side = 0; side < 2 && !crossed; side++) {
		size_t from = side ? base : 0, to = side ? all : base;

		n[side] = 0;
		for (size_t i = from; i < to; i++)
			if (s[first[i]].n[side]) {
				value[from + n[side]++] = s[first[i]].sum[side] / (double)s[first[i]].n[side];
				s[first[i]].n[side] = 0;
			}
	}
	for (size_t i = 0; i < all && logs; i++)
		value[i] = exp(value[i]);
	return crossed ? sessions : 0;
}
