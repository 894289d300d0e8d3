/* Series in bins, against values that were put in by hand. */
#include "report/export/spark.h"
#include "tests/unit/lib/test.h"

#define SECOND 1000000000ull

/* One line, of CPU 0. */
static struct plot_line *begin(struct plot_data *d, uint32_t bins)
{
	uint32_t at;

	plot_data_init(d, bins);
	at = plot_data_line(d, "m", "1", "CPU 0");
	assert_int_equal(at, 0);
	return &d->line[0];
}

static void line_is(const struct plot_data *d, uint32_t cells, bool utf8, const char *want)
{
	struct place cpu = { .kind = PM_CPU };
	struct buf out = BUF_INIT;

	spark_put(&out, d, "m", NULL, &cpu, cells, utf8);
	assert_string_equal(buf_str(&out), want);
	buf_release(&out);
}

static void steps(void **state)
{
	struct plot_data s;
	struct plot_line *l;

	l = begin(&s, 64);
	for (uint64_t i = 0; i < 8; i++) {
		plot_data_reach(&s, 100 + i * SECOND, 100 + (i + 1) * SECOND);
		/* The fifth second is missing. */
		if (i != 4)
			plot_data_take(&s, l, 100 + i * SECOND, 100 + (i + 1) * SECOND, (double)i);
	}
	line_is(&s, 8, true, "▁▂▃▄ ▆▇█");
	line_is(&s, 8, false, "_.-: +*#");
	line_is(&s, 4, false, "_-*#"); /* 0.5, 2.5, 5 and 6.5 */
	/* More cells than values: each stands for its time. */
	line_is(&s, 16, false, "__..--::  ++**##");
	plot_data_release(&s);
}

/* However long the time gets, and whatever the order of magnitude, a spike of one interval stays to be seen. */
static void spike(void **state)
{
	struct plot_data s;
	struct plot_line *l;
	struct spark_bin b;
	unsigned found = 0;
	double sum = 0, weight = 0;

	l = begin(&s, 64);
	for (uint64_t i = 0; i < 100000; i++) {
		plot_data_reach(&s, i * SECOND, (i + 1) * SECOND);
		plot_data_take(&s, l, i * SECOND, (i + 1) * SECOND, i == 77777 ? 1000 : 1);
	}
	for (uint32_t x = 0; x < 20; x++) {
		assert_true(plot_data_column(&s, l, x, 20, &b));
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
	plot_data_release(&s);
}

/* What is added later may be of an earlier time. */
static void earlier(void **state)
{
	for (uint32_t bins = 8; bins <= 1024; bins *= 2) {
		struct plot_data s;
		struct plot_line *l;
		struct spark_bin b;
		float weight = 0;

		l = begin(&s, bins);
		for (uint64_t i = 0; i < 4; i++) {
			uint64_t at = (1000 - 2 * i) * SECOND;

			plot_data_reach(&s, at, at + SECOND);
			plot_data_take(&s, l, at, at + SECOND, (double)i);
		}
		assert_true(s.from_ns <= 994 * SECOND && s.from_ns + s.width_ns > 994 * SECOND);
		assert_true(s.to_ns == 1001 * SECOND);
		for (uint32_t i = 0; i < bins; i++)
			weight += l->bin[i].weight;
		assert_true(fabsf(weight - 4) < 0.01f);
		assert_true(plot_data_column(&s, l, 0, 3, &b) && b.high == 3);
		assert_true(plot_data_column(&s, l, 2, 3, &b) && b.low == 0);
		plot_data_release(&s);
	}
}

static void nothing(void **state)
{
	struct plot_data s;
	struct plot_line *l;
	struct spark_bin b;

	l = begin(&s, 2);
	plot_data_reach(&s, 5, 5 + SECOND);
	plot_data_take(&s, l, 5, 5 + SECOND, NAN);
	plot_data_take(&s, l, 5, 5 + SECOND, INFINITY);
	plot_data_take(&s, l, 0, 5 + SECOND, 1); /* begins before all */
	assert_false(plot_data_column(&s, l, 0, 1, &b));
	line_is(&s, 3, true, "   ");
	/* One value alone is in the middle. */
	plot_data_take(&s, l, 5, 5 + SECOND, 3);
	line_is(&s, 1, false, "=");
	/* So is what hardly differs; and nothing at all is low. */
	assert_int_equal(spark_level(3, 2.99, 3), 4);
	assert_int_equal(spark_level(3, 2.8, 3), 6);
	assert_int_equal(spark_level(3, 2.6, 3), 7);
	assert_int_equal(spark_level(0, 0, 0), 0);
	/* A conversion to a whole number has no meaning for what is none. */
	assert_int_equal(spark_level((double)NAN, 0, 1), 0);
	plot_data_release(&s);
}

UNIT_TESTS(cmocka_unit_test(steps), cmocka_unit_test(spike), cmocka_unit_test(earlier), cmocka_unit_test(nothing))
