/* The command line of `pmrep diff`, whose whole is tested in tests/cli/diff.bats, and stretches of tracks. */
#include "common/statistics.h"
#include "report/diff/diff.h"
#include "report/replay/track.h"
#include "tests/unit/lib/test.h"

/* The sides' recordings as the command line is understood; NULL: it is refused. */
static void words_become(const char *const *in, const char *const *out)
{
	struct options_common common = { 0 };
	struct diff_options o = DIFF_OPTIONS_INIT;
	struct error e = { 0 };
	char *argv[16];
	int n = 0, r;

	while (in[n]) {
		argv[n] = (char *)in[n];
		n++;
	}
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
				     .back = round % 2 ? 20 : 0,
				     .aspects = 1u << TRACK_VALUE };
		struct track all = one;

		all.times = times ? &of[1] : NULL;
		one.loss = &lost[0];
		all.loss = &lost[1];
		for (int i = 0; i < 24; i++) {
			at += statistics_random(&r) % 30000;
			if (trouble && statistics_random(&r) % 8 == 0)
				at = statistics_random(&r) % 5;
			if (i && statistics_random(&r) % 8 == 0)
				at = v[i - 1] - statistics_random(&r) % 40;
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

UNIT_TESTS(cmocka_unit_test(words), cmocka_unit_test(span))
