/* Statistics of samples so small that they are worked out by hand: closed forms of Student's distribution for 1 and 2
 * degrees of freedom, ranks that are counted, batches that are added up. */
#include "report/numbers/statistics.h"
#include "tests/unit/lib/test.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void near(double a, double b)
{
	if (!(fabs(a - b) <= 1e-9 * (1 + fabs(b))))
		fail_msg("%.15g, not %.15g", a, b);
}

static void a_sample(void **state)
{
	static const double x[] = { 1, 2, 3, 4 };
	struct statistics_estimate e = statistics_of(x, 4);

	near(e.value, 2.5);
	near(e.error, sqrt(5.0 / 12));
	near(e.df, 3);
	e = statistics_of(x + 1, 1);
	near(e.value, 2);
	assert_true(isnan(e.error));
	e = statistics_of(x, 0);
	assert_true(isnan(e.value) && isnan(e.error));
}

static void discoveries(void **state)
{
	static const double p[] = { 0.04, NAN, 0.01, 0.03, 0.9 }, want[] = { 0.16 / 3, 0, 0.04, 0.16 / 3, 0.9 };
	double q[5];

	statistics_false_discovery(p, q, 5);
	for (size_t i = 0; i < 5; i++)
		if (i == 1)
			assert_true(isnan(q[i]));
		else
			near(q[i], want[i]);
	statistics_false_discovery(p, q, 0);
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

UNIT_TESTS(cmocka_unit_test(a_sample), cmocka_unit_test(discoveries), cmocka_unit_test(batches))
