/* Parts of `pmrep diff` by themselves: streams of any length against all of the values at once, words of the command
 * line, and the noise floor. The whole is tested in tests/cli/diff.bats. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/statistics.h"
#include "report/diff/diff_data.h"
#include "report/diff/diff_noise.h"
#include "report/diff/diff_stream.h"
#include "report/diff/options_diff.h"
#include "report/replay/track.h"

static double uniform(struct statistics_random *r)
{
	return (double)((statistics_random(r) >> 11) + 1) / 0x1p53;
}

static double gauss(struct statistics_random *r)
{
	return sqrt(-2 * log(uniform(r))) * cos(2 * M_PI * uniform(r));
}

static double *series(size_t n, double rho, struct statistics_random *r)
{
	double *x = malloc(n * sizeof(*x)), last = gauss(r);

	assert_non_null(x);
	for (size_t i = 0; i < n; i++) {
		x[i] = 100 + 5 * last;
		last = rho * last + sqrt(1 - rho * rho) * gauss(r);
	}
	return x;
}

static struct diff_within within(const double *x, size_t n, uint32_t blocks)
{
	struct diff_stream s;
	struct diff_within w;

	diff_stream_init(&s, blocks);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(diff_stream_add(&s, x[i], 1), 0);
	assert_int_equal(diff_stream_end(&s, &w), 0);
	diff_stream_release(&s);
	return w;
}

/* While nothing has been joined, a stream says what the statistics say of the array. */
static void stream_short(void **state)
{
	struct statistics_random r = { 7 };
	double *x = series(640, 0.8, &r);
	struct diff_within w = within(x, 640, 1024);
	struct statistics_estimate e = statistics_batch_means(x, 640, 10);

	(void)state;
	assert_float_equal(w.mean, e.value, 1e-9);
	assert_float_equal(w.error, e.error, 1e-9);
	assert_float_equal(w.time, statistics_autocorrelation_time(x, 640), 1e-9);
	assert_float_equal(w.samples, 640, 0);
	free(x);
}

/* 64 blocks of a long series: ten batches of whole blocks are the ten batches of the array, and the autocorrelation
 * time of an AR(1) series, (1 + rho) / (1 - rho), is found again through the blocks. */
static void stream_long(void **state)
{
	static const double rho[] = { 0, 0.5, 0.9 };
	struct statistics_random r = { 11 };

	(void)state;
	for (size_t k = 0; k < sizeof(rho) / sizeof(*rho); k++) {
		double sum = 0;

		for (int i = 0; i < 20; i++) {
			/* 40 blocks of 512. */
			double *x = series(20480, rho[k], &r);
			struct diff_within w = within(x, 20480, 64);
			struct statistics_estimate e = statistics_batch_means(x, 20480, 10);

			assert_float_equal(w.mean, e.value, 1e-9);
			assert_float_equal(w.error, e.error, 1e-9);
			sum += w.time / 20;
			free(x);
		}
		assert_true(sum > 0.6 * (1 + rho[k]) / (1 - rho[k]));
		assert_true(sum < 1.6 * (1 + rho[k]) / (1 - rho[k]) + 0.5);
	}
}

static void stream_weights(void **state)
{
	struct diff_stream s;
	struct diff_within w;
	uint32_t n;
	double *block;

	(void)state;
	diff_stream_init(&s, 20);
	assert_int_equal(diff_stream_end(&s, &w), 0);
	assert_true(isnan(w.mean) && isnan(w.error));
	assert_int_equal(diff_stream_add(&s, 10, 3), 0);
	assert_int_equal(diff_stream_add(&s, 20, 1), 0);
	assert_int_equal(diff_stream_end(&s, &w), 0);
	assert_float_equal(w.mean, 12.5, 1e-12);
	diff_stream_clear(&s);
	for (int i = 0; i < 41; i++)
		assert_int_equal(diff_stream_add(&s, i, 1), 0);
	/* 20 values, then pairs, then fours: ten blocks, and one value that fills none. */
	block = diff_stream_blocks(&s, &n);
	assert_non_null(block);
	assert_int_equal(n, 10);
	assert_float_equal(block[0], 1.5, 1e-12);
	assert_float_equal(block[9], 37.5, 1e-12);
	free(block);
	diff_stream_release(&s);
}

/* The sides' recordings as the command line is understood; NULL: it is refused. */
static void words_become(const char *const *in, const char *const *out)
{
	struct options_common common = { 0 };
	struct diff_options o;
	struct error e = { 0 };
	char *argv[16];
	int n = 0, r;

	while (in[n]) {
		argv[n] = (char *)in[n];
		n++;
	}
	diff_options_init(&o);
	r = options_parse(&diff_spec, n, argv, &o, &common, &e);
	assert_int_equal(r, out ? 0 : -EINVAL);
	for (n = 0; out && out[n + 1] && common.said[n]; n++)
		assert_string_equal(common.said[n], out[n + 1]);
	assert_true(!out || (!out[n + 1] && !common.said[n]));
	diff_options_release(&o);
	options_common_release(&common);
}
#define WORDS(...) ((const char *const[]){ "diff", __VA_ARGS__, NULL })

static void words(void **state)
{
	(void)state;
	words_become(WORDS("a", "b"), (const char *const[]){ "diff", NULL });
	words_become(WORDS("--base", "a", "b", "--new", "c"), WORDS("--base=a", "--base=b", "--new=c"));
	words_become(WORDS("--base=a", "b", "-new", "c", "d"), WORDS("--base=a", "--base=b", "--new=c", "--new=d"));
	/* Another option ends the side, and its argument is nobody's. */
	words_become(WORDS("--base", "a", "--margin", "2%", "b"), WORDS("--base=a", "--margin=2%"));
	words_become(WORDS("--base", "--new", "c"), NULL);
	words_become(WORDS("--base", "a", "--", "-b", "--new"), WORDS("--base=a", "--base=-b", "--base=--new"));
	words_become(WORDS("--new", "c", "-"), WORDS("--new=c", "--new=-"));
}

/* Two sides of three runs: the deviation is that around each side's own mean, with four degrees of freedom, and made
 * larger by t / z. */
static void noise(void **state)
{
	static const double log_value[] = { 1, 1.01, 0.99, 2, 2.01, 1.99 };
	struct diff_recording recording[6] = { { 0 } };
	struct diff_recordings all = { .recording = recording, .n = 6 };
	struct diff_series as = {
		.metric = (char *)"m", .display = (char *)"M", .unit = (char *)"s", .where = (char *)""
	};
	struct diff_data d = { 0 };
	struct diff_noise floor = { 0 };
	struct error e = { 0 };
	char path[] = "/tmp/test_diff_XXXXXX";
	struct diff_options options = { .save_noise = path };
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(diff_series_find(&d, &as), 0);
	for (uint32_t i = 0; i < 6; i++) {
		recording[i].place = (char *)"";
		recording[i].side = i < 3 ? DIFF_BASE : DIFF_NEW;
		diff_series_value(&d.series[0], i, 1)->v = exp(log_value[i]);
	}
	assert_int_equal(diff_noise_save(&d, &all, &options, &e), 0);
	assert_int_equal(diff_noise_load(&floor, path, &e), 0);
	/* Variance 1e-4 a side; t(4) / z at 97.5 %: 2.776445 / 1.959964. */
	assert_float_equal(diff_noise_of(&floor, &d.series[0]), 0.01 * 2.7764451 / 1.9599640, 1e-7);
	as.unit = (char *)"ms";
	assert_true(isnan(diff_noise_of(&floor, &as)));
	diff_noise_release(&floor);
	/* One run a side says nothing. */
	d.series[0].n = 1;
	assert_int_equal(diff_noise_save(&d, &all, &options, &e), -ENODATA);
	diff_data_release(&d);
	unlink(path);
}

/* Whole stretches at once are what readings one by one are, whatever happens among them: resets, wraps, failures. */
static void span(void **state)
{
	struct statistics_random r = { 5 };

	(void)state;
	for (int round = 0; round < 2000; round++) {
		uint64_t v[24], begin[24], end[24], enabled[24], running[24], at = 1000, on = 0;
		uint16_t status[24];
		bool times = statistics_random(&r) % 2, trouble = statistics_random(&r) % 2;
		struct column c = { v,
				    trouble ? status : NULL,
				    begin,
				    end,
				    times ? enabled : NULL,
				    times ? running : NULL,
				    .tick = begin,
				    .slope = 1 };
		struct track_times of[2] = { { 0 } };
		struct track_loss lost[2] = { { 0 } };
		struct track one = { .type = PM_U64,
				     .semantics = PM_CUMULATIVE,
				     .width = round % 3 ? 64 : 16,
				     .perf = times,
				     .times = times ? &of[0] : NULL,
				     .aspects = 1u << TRACK_VALUE };
		struct track all = one;

		all.times = times ? &of[1] : NULL;
		one.loss = &lost[0];
		all.loss = &lost[1];
		for (int i = 0; i < 24; i++) {
			at += statistics_random(&r) % 30000;
			if (trouble && statistics_random(&r) % 8 == 0)
				at = statistics_random(&r) % 5;
			v[i] = one.width == 16 ? at & 0xffff : at;
			status[i] = statistics_random(&r) % 6 ? 0 :
				    statistics_random(&r) % 2 ? PM_REASON_OFFLINE :
								PM_REASON_MISSED;
			begin[i] = (uint64_t)i * 1000 + statistics_random(&r) % 100;
			end[i] = begin[i] + statistics_random(&r) % 50;
			on += statistics_random(&r) % 1000;
			enabled[i] = begin[i];
			running[i] = on;
		}
		for (uint32_t from = 0; from < 24;) {
			uint32_t to = from + 1 + (uint32_t)(statistics_random(&r) % 12);

			to = to > 24 ? 24 : to;
			track_span(&all, &c, from, to, track_is_regular(&all, &c, from, to));
			for (; from < to; from++)
				track_step(&one, &c, from);
			one.times = all.times = NULL;
			one.loss = all.loss = NULL;
			assert_memory_equal(&one, &all, sizeof(one));
			assert_memory_equal(&lost[0], &lost[1], sizeof(lost[0]));
			one.loss = &lost[0];
			all.loss = &lost[1];
			assert_memory_equal(&of[0], &of[1], sizeof(of[0]));
			one.times = times ? &of[0] : NULL;
			all.times = times ? &of[1] : NULL;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stream_short), cmocka_unit_test(stream_long), cmocka_unit_test(stream_weights),
		cmocka_unit_test(words),        cmocka_unit_test(noise),       cmocka_unit_test(span),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
