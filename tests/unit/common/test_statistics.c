/* Statistics of samples so small that they are worked out by hand: closed forms of Student's distribution for 1 and 2
 * degrees of freedom, ranks that are counted, batches that are added up. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/statistics.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void near(double a, double b)
{
	if (!(fabs(a - b) <= 1e-9 * (1 + fabs(b))))
		fail_msg("%.15g, not %.15g", a, b);
}

static void a_sample(void **state)
{
	static const double x[] = { 1, 2, 3, 4 };
	struct statistics_sample s = statistics_of(x, 4);
	struct statistics_estimate e = statistics_estimate_of(s);

	near(s.mean, 2.5);
	near(s.variance, 5.0 / 3);
	near(e.value, 2.5);
	near(e.error, sqrt(5.0 / 12));
	near(e.df, 3);
	s = statistics_of(x + 1, 1);
	near(s.mean, 2);
	assert_true(isnan(s.variance));
	s = statistics_of(x, 0);
	assert_true(isnan(s.mean) && isnan(s.variance));
}

/* Closed forms: tan(pi (p - 1/2)); (2p - 1) sqrt(2 / (4 p (1 - p))); a table of the normal distribution. */
static void students_t(void **state)
{
	near(statistics_t_quantile(0.75, 1), 1);
	near(statistics_t_quantile(0.25, 1), -1);
	near(statistics_t_quantile(0.975, 1), tan(M_PI * 0.475));
	near(statistics_t_quantile(0.975, 2), 0.95 * sqrt(2 / (4 * 0.975 * 0.025)));
	near(statistics_t_quantile(0.1, 2), -0.8 * sqrt(2 / (4 * 0.9 * 0.1)));
	near(statistics_t_quantile(0.975, INFINITY), 1.959963984540054);
	assert_true(isnan(statistics_t_quantile(0, 2)));
	assert_true(isnan(statistics_t_quantile(1, 2)));
	assert_true(isnan(statistics_t_quantile(0.5, 0)));
}

static void hypotheses(void **state)
{
	struct statistics_estimate e = { .value = 5, .error = 2, .df = 1 };

	/* t = 1: 1 - 2 atan(1) / pi; t = 1.5. */
	near(statistics_p(e, 5), 1);
	near(statistics_p(e, 3), 0.5);
	near(statistics_p(e, 7), 0.5);
	near(statistics_p(e, 8), 1 - 2 * atan(1.5) / M_PI);
	e.df = 2;
	near(statistics_p(e, 3), 1 - 1 / sqrt(3));
	near(statistics_half_width(e, 0.95), 2 * 0.95 * sqrt(2 / (4 * 0.975 * 0.025)));
	e.error = 0;
	near(statistics_p(e, 5), 1);
	near(statistics_p(e, 5.1), 0);
	near(statistics_half_width(e, 0.95), 0);
	e.error = NAN;
	assert_true(isnan(statistics_p(e, 5)));
	e = (struct statistics_estimate){ .value = NAN, .error = 1, .df = 1 };
	assert_true(isnan(statistics_p(e, 5)));
}

static void differences(void **state)
{
	/* Variances of the means 5/12 and 4/3 of 4 and 3 values. */
	const struct statistics_estimate a = { 2.5, sqrt(5.0 / 12), 3 }, b = { 4, sqrt(4.0 / 3), 2 },
					 known = { 1, 0, 0 }, single = { 1, NAN, 0 };
	struct statistics_estimate d = statistics_difference(a, b);

	near(d.value, 1.5);
	near(d.error, sqrt(1.75));
	near(d.df, 1.75 * 1.75 / (25.0 / 144 / 3 + 16.0 / 9 / 2));
	d = statistics_difference(known, b);
	near(d.value, 3);
	near(d.error, sqrt(4.0 / 3));
	near(d.df, 2);
	d = statistics_difference(b, known);
	near(d.df, 2);
	d = statistics_difference(known, known);
	assert_true(isinf(d.df));
	near(d.error, 0);
	assert_true(isnan(statistics_difference(single, b).df));
}

static void ranks(void **state)
{
	static const double one[] = { 1, 2, 3, 4, 5, 6 }, ties[] = { 1, 1, 1, 2 }, mixed[] = { 1, 4, 2, 3 };
	double many[STATISTICS_RANKS_MAX + 1] = { 0 };

	/* The two extreme ones of 20, 6 and 3 ways. */
	near(statistics_rank_sum(one, 3, one + 3, 3), 2.0 / 20);
	near(statistics_rank_sum(one + 3, 3, one, 3), 2.0 / 20);
	near(statistics_rank_sum(one, 2, one + 2, 2), 2.0 / 6);
	near(statistics_rank_sum(one, 1, one + 1, 2), 2.0 / 3);
	near(statistics_rank_sum(one, 2, one + 2, 1), 2.0 / 3);
	/* Ranks 2, 2 against 2, 4: every way is as far. */
	near(statistics_rank_sum(ties, 2, ties + 2, 2), 1);
	/* 1 + 4 = 2 + 3. */
	near(statistics_rank_sum(mixed, 2, mixed + 2, 2), 1);
	assert_true(isnan(statistics_rank_sum(one, 0, one, 3)));
	near(statistics_rank_sum(many, 16, many + 16, 16), 1);
	assert_true(isnan(statistics_rank_sum(many, 16, many + 16, 17)));
}

static void discoveries(void **state)
{
	static const double p[] = { 0.04, NAN, 0.01, 0.03, 0.9 }, want[] = { 0.16 / 3, 0, 0.04, 0.16 / 3, 0.9 };
	double q[5];

	assert_int_equal(statistics_false_discovery(p, q, 5), 0);
	for (size_t i = 0; i < 5; i++)
		if (i == 1)
			assert_true(isnan(q[i]));
		else
			near(q[i], want[i]);
	assert_int_equal(statistics_false_discovery(p, q, 0), 0);
}

static void batches(void **state)
{
	static const double x[] = { 1, 3, 5, 9, 2 }, three[] = { 1, 2, 6 };
	struct statistics_estimate e = statistics_batch_means(x, 4, 2);

	/* 2 and 7. */
	near(e.value, 4.5);
	near(e.error, 2.5);
	near(e.df, 1);
	/* 1 and 3; 5, 9 and 2. */
	e = statistics_batch_means(x, 5, 2);
	near(e.value, 4);
	near(e.error, sqrt((4 + 16.0 / 9) / 2));
	/* Too few: each one is a batch. */
	e = statistics_batch_means(three, 3, 2);
	near(e.value, 3);
	near(e.error, sqrt(14.0 / 6));
	near(e.df, 2);
	e = statistics_batch_means(three, 1, 2);
	near(e.value, 1);
	assert_true(isnan(e.error) && isnan(e.df));
	assert_true(isnan(statistics_batch_means(three, 0, 2).value));
}

/* Marsaglia's shifts 12, 25, 27 of 1, by hand: 1, 0x2000001, and nothing more; times Vigna's factor. */
static void random_numbers(void **state)
{
	struct statistics_random r = { 1 };

	assert_true(statistics_random(&r) == 0x2000001u * 0x2545f4914f6cdd1dull);
	assert_true(r.state == 0x2000001);
}

static void medians(void **state)
{
	double odd[] = { 5, 1, 4, 2, 3 }, even[] = { 8, 1, 7, 2 }, equal[] = { 2, 2, 2, 9 }, one[] = { 3 };
	double first[] = { 9, 7, 7, 1, 8 }, third[] = { 9, 7, 7, 1, 8 }, last[] = { 9, 7, 7, 1, 8 };

	(void)state;
	assert_true(statistics_median(odd, 5) == 3);
	assert_true(statistics_median(even, 4) == 4.5);
	assert_true(statistics_median(equal, 4) == 2);
	assert_true(statistics_median(one, 1) == 3);
	assert_true(statistics_kth(first, 5, 0) == 1);
	assert_true(statistics_kth(third, 5, 2) == 7);
	assert_true(statistics_kth(last, 5, 4) == 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sample),    cmocka_unit_test(students_t),     cmocka_unit_test(hypotheses),
		cmocka_unit_test(differences), cmocka_unit_test(ranks),          cmocka_unit_test(discoveries),
		cmocka_unit_test(batches),     cmocka_unit_test(random_numbers), cmocka_unit_test(medians),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
