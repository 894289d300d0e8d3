/* Buckets: what is put in comes out, however often they had to be widened or halved. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/html_series.h"

static double number(const struct buf *b, size_t at, uint32_t bytes, const struct html_series *s)
{
	unsigned n = bytes == 1 ? b->data[at] : b->data[2 * at] | (unsigned)b->data[2 * at + 1] << 8;

	return n ? s->low + (n - 1) / (bytes == 1 ? 254.0 : 65534.0) * (s->high - s->low) : (double)NAN;
}

/* Value k at second k; those in [300, 400) are missing. */
static void ramp(struct html_set *s, uint32_t place, int seconds)
{
	for (int k = 0; k < seconds; k++) {
		html_set_reach(s, k + 0.5);
		if (k < 300 || k >= 400)
			html_set_take(s, place, 1, k);
	}
	html_set_finish(s);
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

	html_set_init(&s, 1024, 1, 100 * 64 * sizeof(struct html_bucket), true);
	assert_int_equal(html_set_add(&s, 0, 0, false, &place), 0);
	assert_int_equal(s.cap, 1024);
	for (int k = 0; k < 1000; k++) {
		html_set_reach(&s, k + 0.5);
		html_set_take(&s, 0, 1, 7);
	}
	for (uint32_t i = 1; i < 400; i++)
		assert_int_equal(html_set_add(&s, 0, i, false, &place), 0);
	assert_int_equal(s.cap, 16);
	assert_true((uint64_t)s.n * s.cap * sizeof(struct html_bucket) <= s.memory);
	assert_int_equal(html_set_add(&s, 0, 400, false, &place), -ENOSPC);
	assert_int_equal(s.left_out, 1);
	html_set_finish(&s);
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
	html_set_take(&s, place, 1e-3, 1);
	html_set_reach(&s, 86400.0 * 365);
	html_set_take(&s, place, 1e-3, 3);
	html_set_finish(&s);
	assert_true(s.used <= 64 && s.used > 32);
	assert_true(s.series[0].low == 1 && s.series[0].high == 3);
	assert_true(s.series[0].bucket[0].low == 1 && s.series[0].bucket[s.used - 1].high == 3);
	html_set_release(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ramps),
		cmocka_unit_test(many),
		cmocka_unit_test(long_ago),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
