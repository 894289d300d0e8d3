/* Series in bins, and the canvas and axes of pictures: against values that were put in by hand. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/plot/plot.h"
#include "report/export/spark.h"

#define SECOND 1000000000ull

static void line_is(const struct spark_set *s, uint32_t cells, double low, double high, bool utf8, const char *want)
{
	struct buf out = BUF_INIT;

	spark_line(&out, s, 0, cells, low, high, utf8);
	assert_string_equal(buf_str(&out), want);
	buf_release(&out);
}

static void steps(void **state)
{
	struct spark_set s;
	double low = INFINITY, high = -INFINITY;

	spark_init(&s, 64);
	assert_int_equal(spark_add(&s), 0);
	for (uint64_t i = 0; i < 8; i++) {
		spark_reach(&s, 100 + i * SECOND, 100 + (i + 1) * SECOND);
		/* The fifth second is missing. */
		if (i != 4)
			spark_take(&s, 0, 100 + i * SECOND, 100 + (i + 1) * SECOND, (double)i);
	}
	line_is(&s, 8, 0, 7, true, "▁▂▃▄ ▆▇█");
	line_is(&s, 8, 0, 7, false, "_.-: +*#");
	line_is(&s, 4, 0, 7, false, "_-+#"); /* 0.5, 2.5, 5 and 6.5 of 7 */
	/* More cells than values: each stands for its time. */
	line_is(&s, 16, 0, 7, false, "__..--::  ++**##");
	assert_true(spark_mean_range(&s, 0, 8, &low, &high));
	assert_true(low < 0.5 && high > 6.5);
	spark_release(&s);
}

/* However long the time gets, and whatever the order of magnitude, a spike of one interval stays to be seen. */
static void spike(void **state)
{
	struct spark_set s;
	struct spark_bin b;
	unsigned found = 0;
	double sum = 0, weight = 0;

	spark_init(&s, 64);
	assert_int_equal(spark_add(&s), 0);
	for (uint64_t i = 0; i < 100000; i++) {
		spark_reach(&s, i * SECOND, (i + 1) * SECOND);
		spark_take(&s, 0, i * SECOND, (i + 1) * SECOND, i == 77777 ? 1000 : 1);
	}
	for (uint32_t x = 0; x < 20; x++) {
		assert_true(spark_column(&s, 0, x, 20, &b));
		assert_true(b.low == 1);
		sum += (double)b.sum;
		weight += (double)b.weight;
		if (b.high == 1000) {
			found++;
			assert_int_equal(x, 77777 / 5000);
		} else {
			assert_true(b.high == 1);
		}
	}
	assert_int_equal(found, 1);
	/* Nothing is counted twice, nothing left out. */
	assert_true(fabs(weight - 100000) < 1);
	assert_true(fabs(sum / weight - 100999.0 / 100000) < 1e-3);
	spark_release(&s);
}

/* What is added later may be of an earlier time. */
static void earlier(void **state)
{
	for (uint32_t bins = 8; bins <= 1024; bins *= 2) {
		struct spark_set s;
		struct spark_bin b;
		float weight = 0;

		spark_init(&s, bins);
		assert_int_equal(spark_add(&s), 0);
		for (uint64_t i = 0; i < 4; i++) {
			uint64_t at = (1000 - 2 * i) * SECOND;

			spark_reach(&s, at, at + SECOND);
			spark_take(&s, 0, at, at + SECOND, (double)i);
		}
		assert_true(s.from_ns <= 994 * SECOND && s.from_ns + s.width_ns > 994 * SECOND);
		assert_true(s.to_ns == 1001 * SECOND);
		for (uint32_t i = 0; i < bins; i++)
			weight += s.series[0][i].weight;
		assert_true(fabsf(weight - 4) < 0.01f);
		assert_true(spark_column(&s, 0, 0, 3, &b) && b.high == 3);
		assert_true(spark_column(&s, 0, 2, 3, &b) && b.low == 0);
		spark_release(&s);
	}
}

static void nothing(void **state)
{
	struct spark_set s;
	struct spark_bin b;
	double low = INFINITY, high = -INFINITY;

	spark_init(&s, 2);
	assert_int_equal(spark_add(&s), 0);
	spark_reach(&s, 5, 5 + SECOND);
	spark_take(&s, 0, 5, 5 + SECOND, NAN);
	spark_take(&s, 0, 5, 5 + SECOND, INFINITY);
	spark_take(&s, 0, 0, 5 + SECOND, 1); /* begins before all */
	assert_false(spark_column(&s, 0, 0, 1, &b));
	assert_false(spark_mean_range(&s, 0, 8, &low, &high));
	line_is(&s, 3, 0, 1, true, "   ");
	/* One value alone is in the middle. */
	spark_take(&s, 0, 5, 5 + SECOND, 3);
	line_is(&s, 2, 3, 3, false, "==");
	/* So is what hardly differs; and nothing at all is low. */
	line_is(&s, 2, 2.99, 3, false, "==");
	line_is(&s, 2, 2.8, 3, false, "**");
	line_is(&s, 2, 2.6, 3, false, "##");
	assert_int_equal(spark_level(0, 0, 0), 0);
	/* A conversion to a whole number has no meaning for what is none. */
	assert_int_equal(spark_level((double)NAN, 0, 1), 0);
	spark_release(&s);
}

static void row_is(const struct plot *p, uint32_t row, bool utf8, const char *want)
{
	struct buf out = BUF_INIT;

	plot_row(p, row, (struct plot_style){ .utf8 = utf8 }, &out);
	assert_string_equal(buf_str(&out), want);
	buf_release(&out);
}

/* Dots as the Unicode chart numbers them. */
static void dots(void **state)
{
	struct plot p;

	assert_int_equal(plot_init(&p, 3, 2, 1), 0);
	plot_bar(&p, 0, 0, 0);  /* dot 7 of the lower left cell */
	plot_bar(&p, 1, 7, 7);  /* dot 4 of the upper left cell */
	plot_bar(&p, 4, 0, 99); /* dots 1 2 3 7 of both on the right, and no more */
	plot_bar(&p, 5, -5, -1);
	plot_bar(&p, 6, 0, 7); /* beside the picture */
	plot_end_line(&p, 0);
	row_is(&p, 0, true, "⠈ ⡇");
	row_is(&p, 1, true, "⡀ ⡇");
	row_is(&p, 0, false, "' |");
	row_is(&p, 1, false, ". |");
	plot_release(&p);
	assert_int_equal(plot_init(&p, 0, 5, 1), -EINVAL);
	assert_int_equal(plot_init(&p, 5, 100000, 1), -EINVAL);
}

static void several(void **state)
{
	struct buf out = BUF_INIT;
	struct plot p;

	assert_int_equal(plot_init(&p, 2, 1, 2), 0);
	plot_bar(&p, 0, 0, 3);
	plot_bar(&p, 1, 0, 3);
	plot_bar(&p, 2, 1, 1);
	plot_end_line(&p, 0);
	plot_bar(&p, 0, 2, 2);
	plot_bar(&p, 2, 0, 3);
	plot_end_line(&p, 1);
	/* Each cell is of the line that has more dots in it. */
	row_is(&p, 0, true, "*o");
	plot_row(&p, 0, (struct plot_style){ .utf8 = true, .color = true }, &out);
	assert_string_equal(buf_str(&out), "\033[36m⣿\033[33m⡇\033[0m");
	buf_release(&out);
	plot_release(&p);
}

static void axis_is(double low, double high, unsigned most, double first, double last, double step)
{
	struct plot_axis a = plot_axis(low, high, most);

	if (fabs(a.first - first) > 1e-9 * step || fabs(a.last - last) > 1e-9 * step ||
	    fabs(a.step - step) > 1e-9 * step)
		fail_msg("%g to %g: %g to %g by %g", low, high, a.first, a.last, a.step);
}

static void number_is(double step, double largest, double v, const char *want)
{
	struct plot_axis a = { .first = 0, .last = largest, .step = step };
	char text[64];
	size_t len = plot_number(text, &a, v);

	text[len] = 0;
	assert_string_equal(text, want);
}

static void axes(void **state)
{
	char text[64];

	axis_is(0, 100, 5, 0, 100, 50);
	axis_is(0, 100, 6, 0, 100, 20);
	axis_is(3, 97, 6, 0, 100, 20);
	axis_is(-5, 5, 5, -5, 5, 5);
	axis_is(0, 0, 5, 0, 1, 0.5);
	axis_is(0.0012, 0.0018, 5, 0.0012, 0.0018, 0.0002);
	/* Equal but for rounding. */
	axis_is(99.99999999999999, 100.00000000000001, 5, 50, 150, 50);
	axis_is(1e300, 1e300, 5, 5e299, 1.5e300, 5e299);
	number_is(50, 100, 100, "100");
	number_is(0.5, 2, 1.5, "1.5");
	number_is(0.5, 2, 0, "0.0");
	number_is(200000, 400000, 200000, "200k");
	number_is(5e8, 2e9, 1.5e9, "1.5G");
	number_is(2e-6, 1e-5, 4e-6, "4u");
	assert_true(plot_seconds(text, 12.5, 0.5) == 4 && !memcmp(text, "12.5", 4));
	assert_true(plot_seconds(text, 200, 60) == 4 && !memcmp(text, "3:20", 4));
	assert_true(plot_seconds(text, 3723, 600) == 7 && !memcmp(text, "1:02:03", 7));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps),   cmocka_unit_test(spike), cmocka_unit_test(earlier),
		cmocka_unit_test(nothing), cmocka_unit_test(dots),  cmocka_unit_test(several),
		cmocka_unit_test(axes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
