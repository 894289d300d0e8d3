/* Rules of verdicts where no distribution has a say, and changes of a series. Numbers against scipy are in
 * statistics_diff.py, rates of error in tests/bench/sim_diff.c. */
#include "report/numbers/statistics.h"
#include "report/diff/verdict.h"
#include "tests/unit/lib/test.h"

static struct verdict judge(struct verdict_side base, struct verdict_side fresh, struct verdict_rules rules)
{
	struct verdict v;

	rules.margin = rules.margin > 0 ? rules.margin : 0.02;
	rules.run_sd = rules.run_sd > 0 ? rules.run_sd : NAN;
	rules.alpha = 0.05;
	v = verdict_measure(&base, &fresh, &rules);
	v.q = v.p_tested;
	verdict_decide(&v, &rules);
	return v;
}
#define SIDE(...) \
	((struct verdict_side){ (double[]){ __VA_ARGS__ }, NULL, sizeof((double[]){ __VA_ARGS__ }) / sizeof(double) })
#define LOWER(...)   ((struct verdict_rules){ .better = METRIC_LOWER, __VA_ARGS__ })
#define HIGHER(...)  ((struct verdict_rules){ .better = METRIC_HIGHER, __VA_ARGS__ })
#define NEUTRAL(...) ((struct verdict_rules){ .better = METRIC_NEUTRAL, __VA_ARGS__ })

static void verdict_direction(void **state)
{
	struct verdict_side a = SIDE(100, 101, 99, 100), b = SIDE(110, 111, 109, 110);

	(void)state;
	assert_int_equal(judge(a, b, LOWER()).kind, VERDICT_REGRESSED);
	assert_int_equal(judge(b, a, LOWER()).kind, VERDICT_IMPROVED);
	assert_int_equal(judge(a, b, HIGHER()).kind, VERDICT_IMPROVED);
	assert_int_equal(judge(b, a, HIGHER()).kind, VERDICT_REGRESSED);
	assert_int_equal(judge(a, b, NEUTRAL()).kind, VERDICT_CHANGED);
	/* Significant, and too small to matter. */
	assert_int_equal(judge(a, b, LOWER(.margin = 0.2)).kind, VERDICT_SAME);
	/* Neither shown to be larger than the margin nor inside it. */
	assert_int_equal(judge(a, b, LOWER(.margin = 0.1)).kind, VERDICT_INCONCLUSIVE);
}

static void verdict_few_runs(void **state)
{
	struct verdict one = judge(SIDE(100), SIDE(200), LOWER());
	struct verdict three = judge(SIDE(100, 101, 99), SIDE(200, 201, 202), LOWER());
	struct verdict told = judge(SIDE(100), SIDE(200), LOWER(.run_sd = 0.02));

	(void)state;
	assert_int_equal(one.kind, VERDICT_CHANGED);
	assert_float_equal(one.spread, exp(log(2) / 1.959963985 / M_SQRT2) - 1, 1e-9);
	assert_int_equal(judge(SIDE(100), SIDE(120), LOWER()).kind, VERDICT_INCONCLUSIVE);
	assert_true(one.within && isnan(one.p));
	assert_int_equal(one.needed, VERDICT_RUNS);
	assert_int_equal(three.kind, VERDICT_CHANGED);
	assert_true(three.p < 0.05); /* it is the rule that holds it back from being worse */
	assert_int_equal(told.kind, VERDICT_REGRESSED);
	/* Two independent logs with a deviation of 0.02 each: 1.96 * 0.02 * sqrt(2) on either side. */
	assert_float_equal(told.high / told.ratio, exp(1.959963985 * 0.02 * M_SQRT2), 1e-9);
	assert_int_equal(judge(SIDE(100), SIDE(103), LOWER(.run_sd = 0.02)).kind, VERDICT_INCONCLUSIVE);
}

/* Of logs that are +0.1 and -0.1 by turns, on both sides alike: their deviation over the root of runs that are needed,
 * times 1.96 and the root of 2, is the margin. */
static void verdict_runs_needed(void **state)
{
	const double a = 0.1, deviation = a * sqrt(4.0 / 3), up = exp(a), down = exp(-a);
	struct verdict v = judge(SIDE(up, down, up, down), SIDE(up, down, up, down), LOWER(.margin = 0.05));
	double want = 2 * pow(1.959963985 * deviation / log(1.05), 2);

	(void)state;
	assert_int_equal(v.kind, VERDICT_INCONCLUSIVE);
	assert_true((double)v.needed >= want * 0.99 && (double)v.needed <= want * 1.06);
	/* Over 10,000 is no advice. */
	assert_int_equal(judge(SIDE(up, down, up, down), SIDE(up, down, up, down), LOWER(.margin = 0.002)).needed, 0);
	/* A change as large as the margin is never settled. */
	assert_int_equal(judge(SIDE(up, down, up, down), SIDE(up * 1.05, down * 1.05, up * 1.05, down * 1.05),
			       LOWER(.margin = 0.05))
				 .needed,
			 0);
}

static void verdict_constant_and_zero(void **state)
{
	struct verdict v = judge(SIDE(0, 0, 0, 0), SIDE(0, 0, 0, 0), LOWER());

	(void)state;
	assert_int_equal(v.kind, VERDICT_SAME);
	assert_float_equal(v.ratio, 1, 0);
	v = judge(SIDE(0, 0, 0, 0), SIDE(5, 6, 5, 6), LOWER());
	assert_int_equal(v.kind, VERDICT_REGRESSED);
	assert_true(isnan(v.ratio));
	assert_string_equal(v.why, "the base is 0");
	v = judge(SIDE(0, 0, 0, 0), SIDE(0, 0, 9, 0), LOWER());
	assert_int_equal(v.kind, VERDICT_INCONCLUSIVE);
	assert_int_equal(judge(SIDE(7, 7, 7, 7), SIDE(7, 7, 7, 7), LOWER()).kind, VERDICT_SAME);
	assert_int_equal(judge(SIDE(7, 7, 7, 7), SIDE(8, 8, 8, 8), LOWER()).kind, VERDICT_REGRESSED);
	/* What can be below 0 has no logarithm: 10 degrees to 12 is a fifth more. */
	v = judge(SIDE(10, 11, 9, 10, -0.0), SIDE(12, 13, 11, 12, 0), NEUTRAL());
	assert_false(v.logarithmic);
	assert_float_equal(v.ratio, 1.2, 1e-12);
	v = judge((struct verdict_side){ 0 }, SIDE(1, 2), LOWER());
	assert_int_equal(v.kind, VERDICT_ABSENT);
}

#define METRICS 20
#define RUNS    6

/* Twenty metrics whose runs differ by a part of their own; `drift` of one machine goes through all, one side after the
 * other. */
static double resemblance(double drift, double value[METRICS][2][RUNS], struct verdict_side side[METRICS][2])
{
	struct statistics_random r = { 7 };

	for (int m = 0; m < METRICS; m++)
		for (int s = 0; s < 2; s++) {
			for (int i = 0; i < RUNS; i++)
				value[m][s][i] =
					100 + drift * (s * RUNS + i) + (double)(statistics_random(&r) >> 11) / 0x1p53;
			side[m][s] = (struct verdict_side){ value[m][s], NULL, RUNS };
		}
	return verdict_order(side, METRICS).found;
}

static void verdict_order_of_runs(void **state)
{
	struct verdict_side side[METRICS][2];
	double value[METRICS][2][RUNS], alike;
	struct verdict v;

	(void)state;
	assert_float_equal(resemblance(0, value, side), 0, 0);
	alike = resemblance(1, value, side);
	assert_true(alike > 0.5 && alike < 1);
	/* One metric cannot tell a drift from a change; many can. */
	assert_float_equal(verdict_order(side, 1).found, 0, 0);
	assert_int_equal(judge(side[0][0], side[0][1], LOWER()).kind, VERDICT_REGRESSED);
	v = judge(side[0][0], side[0][1], LOWER(.order = { alike, alike }));
	assert_int_equal(v.kind, VERDICT_INCONCLUSIVE);
	assert_true(v.why && v.low < 1 && v.high > 1);
	/* Of fewer than four runs a side nothing is said. */
	for (int m = 0; m < METRICS; m++)
		side[m][0].n = 3;
	assert_float_equal(verdict_order(side, METRICS).found, 0, 0);
}

/* Two boots, of which the second makes all slower by half: the first is 100 and 110, twice each. */
static void verdict_boots(void **state)
{
	static const uint32_t both[] = { 5, 5, 7, 7, 5, 5, 7, 7 }, one[] = { 1, 1, 1, 1, 2, 2, 2, 2 };
	static const uint32_t own[] = { 1, 2, 3, 4, 5, 6, 7, 8 }, none[8] = { 0 };
	static const double runs[] = { 100, 110, 150, 165, 104, 114.4, 156, 171.6 };
	double v[8], base = sqrt(100.0 * 110) * sqrt(1.5);
	size_t n[2] = { 4, 4 };

	(void)state;
	/* Each has both sides: runs differ by their side and themselves. */
	memcpy(v, runs, sizeof(v));
	assert_int_equal(verdict_sessions(v, both, n), 2);
	assert_true(n[0] == 4 && n[1] == 4);
	for (int i = 0; i < 8; i++)
		assert_float_equal(v[i], base * sqrt(i % 2 ? 1.1 : 1 / 1.1) * (i < 4 ? 1 : 1.04), 1e-9);
	/* Each has one side: that is a value a side. */
	memcpy(v, runs, sizeof(v));
	assert_int_equal(verdict_sessions(v, one, n), 0);
	assert_true(n[0] == 1 && n[1] == 1);
	assert_float_equal(v[0], base, 1e-9);
	assert_float_equal(v[4], base * 1.04, 1e-9);
	n[0] = n[1] = 4;
	memcpy(v, runs, sizeof(v));
	assert_int_equal(verdict_sessions(v, own, n), 0);
	assert_int_equal(verdict_sessions(v, none, n), 0);
	assert_true(n[0] == 4 && n[1] == 4);
	assert_memory_equal(v, runs, sizeof(v));
	/* What has no logarithm: boots differ by an amount. */
	n[0] = n[1] = 2;
	memcpy(v, (double[]){ 0, 10, 2, 12 }, 4 * sizeof(*v));
	assert_int_equal(verdict_sessions(v, (uint32_t[]){ 1, 2, 1, 2 }, n), 2);
	assert_float_equal(v[0], 5, 1e-12);
	assert_float_equal(v[1], 5, 1e-12);
	assert_float_equal(v[2], 7, 1e-12);
	assert_float_equal(v[3], 7, 1e-12);
}

/* Of a boot with one run of each side only their difference is left, which is what a test of pairs looks at. */
static void verdict_boots_are_pairs(void **state)
{
	struct verdict_side a = SIDE(100, 121, 144, 169, 200), b = SIDE(111, 130, 161, 190, 219);
	double v[10];
	size_t n[2] = { 5, 5 };
	struct verdict pairs = judge(a, b, LOWER(.pairs = true)), boots;

	(void)state;
	memcpy(v, a.value, 5 * sizeof(*v));
	memcpy(v + 5, b.value, 5 * sizeof(*v));
	assert_int_equal(verdict_sessions(v, (uint32_t[]){ 1, 2, 3, 4, 5, 1, 2, 3, 4, 5 }, n), 5);
	boots = judge((struct verdict_side){ v, NULL, 5 }, (struct verdict_side){ v + 5, NULL, 5 },
		      LOWER(.sessions = 5));
	assert_float_equal(boots.ratio, pairs.ratio, 1e-9);
	assert_float_equal(boots.low, pairs.low, 1e-9);
	assert_float_equal(boots.high, pairs.high, 1e-9);
}

/* Whoever divides the two means gets the ratio, whatever single runs did. */
static void verdict_ratio_of_pairs(void **state)
{
	struct verdict_side a = SIDE(101, 100, 102, 300, 99, 100, 103, 98),
			    b = SIDE(105, 107, 900, 104, 106, 103, 107, 105);
	struct verdict v = judge(a, b, LOWER(.pairs = true));

	(void)state;
	assert_float_equal(v.ratio, v.fresh / v.base, 1e-9);
}

/* If runs resemble each other, the side with fewer of them is the one that says little. */
static void verdict_unequal_sides(void **state)
{
	struct verdict_side few = SIDE(100, 102, 104, 98),
			    many = SIDE(110, 110, 110, 110, 110, 110, 110, 110, 110, 110.001);
	struct verdict v = judge(few, many, LOWER(.order.most = 0.8));
	double log_mean = 0, squares = 0, wider = 1 + 2 * (0.75 * 0.8 + 0.5 * 0.64 + 0.25 * 0.512);
	struct statistics_estimate e = { .df = 3 / cbrt(wider) };

	(void)state;
	for (int i = 0; i < 4; i++)
		log_mean += log(few.value[i]) / 4;
	for (int i = 0; i < 4; i++)
		squares += pow(log(few.value[i]) - log_mean, 2);
	e.value = log(110) - log_mean;
	e.error = sqrt(squares / 3 / 4 * wider / (1 - (wider - 1) / 3));
	assert_float_equal(v.p_tested, statistics_p(e, 0), 1e-4);
	assert_true(v.p < 0.01);
}

/* One metric of four runs may be anything; 200 that are random are not alike. */
static void verdict_order_most(void **state)
{
	enum { GATES = 200 };
	static double value[GATES][2][RUNS];
	static struct verdict_side side[GATES][2];
	struct statistics_random r = { 11 };
	struct verdict_side a = SIDE(100, 101, 99, 100), b = SIDE(107, 108, 105, 107);
	struct verdict v;

	(void)state;
	for (int m = 0; m < GATES; m++)
		for (int s = 0; s < 2; s++) {
			for (int i = 0; i < RUNS; i++)
				value[m][s][i] = 100 + (double)(statistics_random(&r) >> 11) / 0x1p53;
			side[m][s] = (struct verdict_side){ value[m][s], NULL, RUNS };
		}
	assert_true(verdict_order(side, GATES).most < 0.25);
	assert_float_equal(verdict_order(side, GATES).found, 0, 0);
	side[0][0].n = side[0][1].n = 3;
	assert_float_equal(verdict_order(side, 1).most, 0.8, 0);
	/* In turn it is slower; one side after the other a drift may do that. p itself takes the runs as they are. */
	assert_int_equal(judge(a, b, LOWER()).kind, VERDICT_REGRESSED);
	v = judge(a, b, LOWER(.order = { 0, 0.8 }));
	assert_int_equal(v.kind, VERDICT_INCONCLUSIVE);
	assert_float_equal(v.p, judge(a, b, LOWER()).p, 0);
	assert_true(v.p_tested > 0.05 && v.low > 1.02);
	assert_non_null(strstr(v.why, "alternate the sides"));
}

/* Eight of ten runs in one mode, then in the other: that alone is nearly chance, however far apart the modes are and
 * however little the runs of each differ. p by R's fisher.test(matrix(c(8, 2, 2, 8), 2)). */
static void verdict_modes(void **state)
{
	struct verdict_side a = SIDE(100, 100.1, 120, 100.2, 100.3, 100.4, 120.1, 100.5, 100.6, 100.7);
	struct verdict_side b = SIDE(121, 121.1, 101, 121.2, 121.3, 121.4, 101.1, 121.5, 121.6, 121.7);
	struct verdict_side all = SIDE(121, 121.1, 121.8, 121.2, 121.3, 121.4, 121.9, 121.5, 121.6, 121.7);
	struct verdict_side few = SIDE(100, 100.1, 99.9, 100.2, 100.3, 100.4, 120.1, 100.5, 100.6, 100.7);
	struct verdict_side more = SIDE(105, 105.1, 104.9, 105.2, 105.3, 105.4, 105.6, 105.5, 105.6, 105.7);

	(void)state;
	assert_float_equal(judge(a, b, LOWER()).p, 0.02301, 0.00001);
	/* Not where a side has but one mode, nor of a single disturbed run. */
	assert_true(judge(few, all, LOWER()).p < 0.001);
	assert_true(judge(few, more, LOWER()).p < 0.001);
	assert_int_equal(judge(few, more, LOWER()).kind, VERDICT_REGRESSED);
}

UNIT_TESTS(cmocka_unit_test(verdict_direction), cmocka_unit_test(verdict_few_runs),
	   cmocka_unit_test(verdict_runs_needed), cmocka_unit_test(verdict_constant_and_zero),
	   cmocka_unit_test(verdict_order_of_runs), cmocka_unit_test(verdict_boots),
	   cmocka_unit_test(verdict_boots_are_pairs), cmocka_unit_test(verdict_ratio_of_pairs),
	   cmocka_unit_test(verdict_unequal_sides), cmocka_unit_test(verdict_order_most),
	   cmocka_unit_test(verdict_modes))
