/* Buckets: what is put in comes out, however often they had to be widened or halved. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/model.h"
#include "report/html/html_series.h"

static double number(const struct buf *b, size_t at, uint32_t bytes, const struct html_series *s)
{
	unsigned n = bytes == 1 ? b->data[at] : b->data[2 * at] | (unsigned)b->data[2 * at + 1] << 8;

	return n ? s->low + (n - 1) / (bytes == 1 ? 254.0 : 65534.0) * (s->high - s->low) : (double)NAN;
}

/* In the bucket that is open. */
static void take(struct html_set *s, uint32_t place, double weight_s, double v)
{
	struct html_steps steps = { 0 };
	struct value value = value_of(v);
	struct html_value_run run = { .value = &value };

	html_steps_add(&steps, s->open_at, weight_s, false);
	html_set_take(s, place, &steps, &run);
	html_set_end_steps(s, &steps);
}

/* Value k at second k; those in [300, 400) are missing. */
static void ramp(struct html_set *s, uint32_t place, int seconds)
{
	for (int k = 0; k < seconds; k++) {
		html_set_reach(s, k + 0.5);
		if (k < 300 || k >= 400)
			take(s, place, 1, k);
	}
	assert_int_equal(html_set_finish(s), 0);
}

static void check_ramp(bool quick, uint32_t bytes, uint32_t merge)
{
	struct html_form form = { .merge = merge, .bytes = bytes, .band = true };
	struct html_set s;
	struct buf out = BUF_INIT;
	uint32_t place, n, width;

	html_set_init(&s, 64, 1, 1 << 20, quick);
	assert_int_equal(html_set_add(&s, 0, 0, false, &place), 0);
	ramp(&s, place, 1000);
	assert_true(s.width_s == 16); /* 1000 s in at most 64 buckets, twice as long each time */
	assert_int_equal(s.used, 63);
	assert_true(s.series[0].low == 0 && s.series[0].high == 999);
	assert_true(s.series[0].weight == 900);
	assert_true(fabs(s.series[0].sum - (999.0 * 1000 / 2 - 349.5 * 100)) < 1);
	n = html_form_buckets(&s, &form);
	width = 16 * merge;
	assert_int_equal(n, (63 + merge - 1) / merge);
	html_series_pack(&s, &s.series[0], &form, &out);
	assert_int_equal(out.len, n * bytes * 3);
	assert_int_equal(out.len, html_form_bytes(&s, &form));
	for (uint32_t i = 0; i < n; i++) {
		double sum = 0, count = 0, low = NAN, high = NAN, near = bytes == 1 ? 999 / 254.0 : 0.02;

		for (uint32_t k = i * width; k < (i + 1) * width && k < 1000; k++) {
			if (k >= 300 && k < 400)
				continue;
			sum += k;
			count++;
			low = isnan(low) ? k : low;
			high = k;
		}
		if (!count) {
			for (int what = 0; what < 3; what++)
				assert_true(isnan(number(&out, what * n + i, bytes, &s.series[0])));
			continue;
		}
		assert_true(fabs(number(&out, i, bytes, &s.series[0]) - sum / count) <= near);
		assert_true(fabs(number(&out, n + i, bytes, &s.series[0]) - low) <= near);
		assert_true(fabs(number(&out, 2 * n + i, bytes, &s.series[0]) - high) <= near);
	}
	buf_release(&out);
	html_set_release(&s);
}

static void ramps(void **state)
{
	check_ramp(false, 2, 1);
	check_ramp(true, 2, 1);
	check_ramp(true, 1, 1);
	check_ramp(false, 1, 4);
	check_ramp(false, 2, 5);
}

/* Series that come when others have data already: all get fewer buckets, and none loses anything. */
static void many(void **state)
{
	struct html_set s;
	uint32_t place;

	html_set_init(&s, 1024, 1, 100 * 64 * sizeof(struct spark_bin), true);
	assert_int_equal(html_set_add(&s, 0, 0, false, &place), 0);
	assert_int_equal(s.cap, 1024);
	for (int k = 0; k < 1000; k++) {
		html_set_reach(&s, k + 0.5);
		take(&s, 0, 1, 7);
	}
	for (uint32_t i = 1; i < 400; i++)
		assert_int_equal(html_set_add(&s, 0, i, false, &place), 0);
	assert_int_equal(s.cap, 16);
	assert_true((uint64_t)s.n * s.cap * sizeof(struct spark_bin) <= s.memory);
	assert_int_equal(html_set_add(&s, 0, 400, false, &place), -ENOSPC);
	assert_int_equal(s.left_out, 1);
	assert_int_equal(html_set_finish(&s), 0);
	assert_true(s.series[0].weight == 1000 && s.series[0].sum == 7000);
	assert_int_equal(s.series[399].present, 0);
	html_set_release(&s);
}

static void long_ago(void **state)
{
	struct html_set s;
	uint32_t place;

	html_set_init(&s, 64, 1e-3, 1 << 20, false);
	assert_int_equal(html_set_add(&s, 0, 0, false, &place), 0);
	html_set_reach(&s, 0);
	take(&s, place, 1e-3, 1);
	html_set_reach(&s, 86400.0 * 365);
	take(&s, place, 1e-3, 3);
	assert_int_equal(html_set_finish(&s), 0);
	assert_true(s.used <= 64 && s.used > 32);
	assert_true(s.series[0].low == 1 && s.series[0].high == 3);
	assert_true(s.series[0].bucket[0].low == 1 && s.series[0].bucket[s.used - 1].high == 3);
	html_set_release(&s);
}

/* ---- many steps at once ---- */

#define SERIES 150
#define STEPS  3000

static uint64_t dice(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 33;
}

static struct value throw_value(uint64_t *seed, bool failures)
{
	unsigned kind = failures ? (unsigned)dice(seed) % 20 : 20;

	if (kind == 0)
		return value_missing(7);
	if (kind == 1)
		return value_missing(PM_REASON_OFFLINE);
	if (kind == 2)
		return value_of((double)INFINITY);
	return value_of((double)dice(seed) / 1000 - 1e5);
}

static void assert_same_bucket(const struct spark_bin *a, const struct spark_bin *b)
{
	assert_true(a->sum == b->sum && a->weight == b->weight && a->low == b->low && a->high == b->high);
}

/*
 * Series 0 to 99 are there from the start, the others come in the middle, and 17 never has a value; step k lies at
 * second k. One set takes them step by step, the other as many at once as go.
 */
static void steps_together(void **state)
{
	static struct value value[SERIES][STEPS];
	static double coverage[SERIES][STEPS];
	uint64_t seed = 5;

	for (int round = 0; round < 4; round++) {
		bool quick = round % 2, failures = round / 2;
		struct html_set one, many;
		uint32_t place, series = 100;
		size_t together = 0;

		for (uint32_t i = 0; i < SERIES; i++)
			for (uint32_t k = 0; k < STEPS; k++) {
				value[i][k] = throw_value(&seed, failures);
				coverage[i][k] = failures && dice(&seed) % 30 == 0 ? 0.5 : 1;
			}
		html_set_init(&one, 256, 1, 1 << 20, quick);
		html_set_init(&many, 256, 1, 1 << 20, quick);
		for (uint32_t i = 0; i < series; i++) {
			assert_int_equal(html_set_add(&one, 0, i, false, &place), 0);
			assert_int_equal(html_set_add(&many, 0, i, false, &place), 0);
		}
		for (uint32_t k = 0, n; k < STEPS; k += n) {
			struct html_steps steps = { 0 };
			uint32_t most = 1 + (uint32_t)dice(&seed) % 60;

			if (k > 1500 && series < SERIES) {
				assert_int_equal(html_set_add(&one, 0, series, false, &place), 0);
				assert_int_equal(html_set_add(&many, 0, series, false, &place), 0);
				series++;
			}
			for (n = 0; n < most && k + n < STEPS; n++) {
				uint32_t bucket;

				if (!html_set_has(&many, k + n + 0.5, &bucket))
					break;
				html_steps_add(&steps, bucket, 1 + (k + n) % 3 / 8.0,
					       (k + n) % 100 == 99 && failures);
			}
			if (!n) {
				html_set_reach(&many, k + 0.5);
				continue;
			}
			together += n > 1;
			for (uint32_t i = 0; i < series; i++) {
				struct html_value_run run = { .value = &value[i][k],
							      .coverage = i % 2 ? &coverage[i][k] : NULL };

				if (i != 17)
					html_set_take(&many, i, &steps, &run);
			}
			html_set_end_steps(&many, &steps);
			for (uint32_t m = k; m < k + n; m++) {
				struct html_steps step = { 0 };

				html_set_reach(&one, m + 0.5);
				html_steps_add(&step, one.open_at, steps.weight_s[m - k], steps.partial[m - k]);
				for (uint32_t i = 0; i < series; i++) {
					struct html_value_run run = { .value = &value[i][m],
								      .coverage = i % 2 ? &coverage[i][m] : NULL };

					if (i != 17)
						html_set_take(&one, i, &step, &run);
				}
				html_set_end_steps(&one, &step);
			}
		}
		assert_true(together > 20);
		assert_int_equal(html_set_finish(&one), 0);
		assert_int_equal(html_set_finish(&many), 0);
		assert_true(one.width_s == many.width_s && one.width_s > 1);
		assert_int_equal(one.used, many.used);
		for (uint32_t i = 0; i < series; i++) {
			const struct html_series *a = &one.series[i], *b = &many.series[i];

			for (uint32_t k = 0; k < one.used; k++)
				assert_same_bucket(&a->bucket[k], &b->bucket[k]);
			assert_true(a->sum == b->sum && a->weight == b->weight && a->low == b->low &&
				    a->high == b->high);
			assert_true(a->present == b->present && a->missing == b->missing &&
				    a->partial == b->partial && a->reason == b->reason);
			assert_true((a->weight > 0) == (i != 17));
			assert_true(!failures || i == 17 || a->missing > 0);
		}
		html_set_release(&one);
		html_set_release(&many);
	}
}

/* Buckets that were made long enough at once hold what those hold that grew. */
static void expected_length(void **state)
{
	(void)state;
	struct html_set grown, expected;
	uint32_t place;

	html_set_init(&grown, 64, 1, 1 << 20, true);
	html_set_init(&expected, 64, 1, 1 << 20, true);
	assert_int_equal(html_set_add(&grown, 0, 0, false, &place), 0);
	assert_int_equal(html_set_add(&expected, 0, 0, false, &place), 0);
	html_set_expect(&expected, 1000);
	assert_true(expected.width_s == 16);
	for (uint32_t k = 0; k < 1000; k++) {
		struct html_set *set[] = { &grown, &expected };
		struct value value = { .v = k % 37 };

		for (int i = 0; i < 2; i++) {
			struct html_value_run run = { .value = &value };
			struct html_steps step = { 0 };

			html_set_reach(set[i], k + 0.5);
			html_steps_add(&step, set[i]->open_at, 1, false);
			html_set_take(set[i], 0, &step, &run);
			html_set_end_steps(set[i], &step);
		}
	}
	assert_int_equal(html_set_finish(&grown), 0);
	assert_int_equal(html_set_finish(&expected), 0);
	assert_true(grown.width_s == expected.width_s);
	assert_int_equal(grown.used, expected.used);
	for (uint32_t k = 0; k < grown.used; k++)
		assert_same_bucket(&grown.series[0].bucket[k], &expected.series[0].bucket[k]);
	html_set_release(&grown);
	html_set_release(&expected);
}

/* As many buckets as were reached, be they next to one another or not; what lies before the start is in the first. */
static void reached(void **state)
{
	static const struct {
		double at[4];
		uint32_t used;
	} cases[] = {
		{ { 0.5, 1.5 }, 2 },      { { 0.5, 1.5, 2.5 }, 3 }, { { 0.5, 1.5, 2.5, 3.5 }, 4 },
		{ { 0.5, 2.5, 3.5 }, 4 }, { { -1, 1 }, 2 },         { { 0, 63.5 }, 64 },
		{ { 0, 64 }, 33 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct html_set s;
		uint32_t place, n = 0;

		html_set_init(&s, 64, 1, 1 << 20, false);
		assert_int_equal(html_set_add(&s, 0, 0, false, &place), 0);
		for (int k = 0; k < 4 && (!k || cases[i].at[k] > 0); k++) {
			html_set_reach(&s, cases[i].at[k]);
			take(&s, place, 1, k + 1);
			n++;
		}
		assert_int_equal(html_set_finish(&s), 0);
		assert_int_equal(s.used, cases[i].used);
		assert_int_equal(s.series[0].present, n);
		assert_true(s.series[0].bucket[0].low == 1 && s.series[0].bucket[s.used - 1].high == n);
		html_set_release(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ramps),           cmocka_unit_test(many),
		cmocka_unit_test(long_ago),        cmocka_unit_test(steps_together),
		cmocka_unit_test(expected_length), cmocka_unit_test(reached),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
