/* Sums of an open interval, and what ties tracks together, by themselves. */
#include "common/statistics.h"
#include "report/machine/status.h"
#include "report/replay/replay.c"
#include "report/replay/track.c"
#include "tests/unit/lib/test.h"

/* Sums that waited are put before those of the track: as if all had come in order. */
static void sums_are_joined(void **state)
{
	enum { FIRST, SECOND, BOTH, SUMS };
	static const struct {
		enum pm_type type;
		enum pm_semantics semantics;
		double v[2];
		bool any[2];
		double joined;
	} c[] = {
		{ PM_U64, PM_PEAK, { 9, 5 }, { true, true }, 9 },
		{ PM_U64, PM_PEAK, { 5, 9 }, { true, true }, 9 },
		{ PM_U64, PM_PEAK, { 5, 0 }, { true, false }, 5 },
		{ PM_U64, PM_PEAK, { 9, 5 }, { false, true }, 5 },
		{ PM_S64, PM_PEAK, { -9, -5 }, { true, true }, -5 },
		{ PM_S64, PM_PEAK, { -5, -9 }, { true, true }, -5 },
		{ PM_F64, PM_PEAK, { 0.5, -1.5 }, { true, true }, 0.5 },
		{ PM_U64, PM_CUMULATIVE, { 9, 5 }, { true, true }, 14 },
		{ PM_U64, PM_CUMULATIVE, { 9, 0 }, { true, false }, 9 },
		{ PM_U64, PM_CUMULATIVE, { 9, 5 }, { false, true }, 5 },
		{ PM_F64, PM_DELTA, { 0.5, 0.25 }, { true, true }, 0.75 },
		/* The last one counts. */
		{ PM_U64, PM_STATE, { 9, 5 }, { true, true }, 5 },
		{ PM_U64, PM_STATE, { 9, 0 }, { true, false }, 9 },
		/* Means, by time: 1 s and 3 s. */
		{ PM_U64, PM_GAUGE, { 8, 4 }, { true, true }, 5 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(c) / sizeof(*c); i++) {
		struct track_more more = { 0 };
		struct track_times times = { 0 };
		struct track t = { .type = c[i].type,
				   .semantics = c[i].semantics,
				   .width = 64,
				   .mul = 1,
				   .div = 1,
				   .times = c[i].semantics == PM_CUMULATIVE ? &times : NULL,
				   .more = &more };
		struct tally before;

		for (int k = 0; k < 2; k++) {
			double v = c[i].v[k];
			uint64_t ns = k ? 3000000000 : 1000000000;

			if (k)
				before = tally_take(&t);
			assert_true(!t.any && !t.elapsed && !more.some &&
				    (!t.times || !(times.enabled || times.shared)));
			if (!c[i].any[k])
				continue;
			t.any = true;
			t.elapsed = ns;
			t.sum = t.type == PM_F64 ? double_to_bits(v) : (uint64_t)(int64_t)v;
			if (t.semantics == PM_GAUGE || t.semantics == PM_STATE)
				t.prev = double_to_bits(v * (double)ns);
			times = (struct track_times){
				.enabled = ns, .running = ns / 2, .lost = 1, .made = v, .shared = !k
			};
			more = (struct track_more){ .some = true,
						    .first = v,
						    .last = v,
						    .max = v,
						    .weighted = v * 2,
						    .weight = 2,
						    .span = k + 1,
						    .begun = !k };
		}
		tally_put(&t, &before);
		assert_true(t.any);
		assert_int_equal(t.elapsed, (c[i].any[0] ? 1000000000 : 0) + (c[i].any[1] ? 3000000000 : 0));
		if (track_value(&t).v != c[i].joined)
			fail_msg("case %zu: %g", i, track_value(&t).v);
		assert_true(more.some && more.first == c[i].v[!c[i].any[0]] && more.last == c[i].v[c[i].any[1]]);
		assert_true(more.span == (c[i].any[1] ? 2 : 1) && more.begun == c[i].any[0]);
		assert_int_equal(more.weight, 2 * (c[i].any[0] + c[i].any[1]));
		assert_true(more.weighted == 2 * ((c[i].any[0] ? c[i].v[0] : 0) + (c[i].any[1] ? c[i].v[1] : 0)));
		assert_true(more.max ==
			    (c[i].any[0] && (!c[i].any[1] || c[i].v[0] > c[i].v[1]) ? c[i].v[0] : c[i].v[1]));
		if (t.times) {
			assert_int_equal(times.enabled, t.elapsed);
			assert_int_equal(times.running, t.elapsed / 2);
			assert_int_equal(times.lost, c[i].any[0] + c[i].any[1]);
			assert_true(times.made == c[i].joined && times.shared == c[i].any[0]);
		}
	}
}

/* Tracks that are dropped take their links along, and joints that nobody is in any longer. */
static void joints_follow_their_tracks(void **state)
{
	enum { TRACKS = 6, JOINTS = 3 };
	struct joint_link link[TRACKS] = { { 1, 2, true, false }, { 2, 0, false, false }, { 3, 5, false, true },
					   { 0, 0, true, true },  { 2, 0, false, false }, { 1, 0, false, false } };
	const uint32_t place[TRACKS] = { 0, PM_NONE, 1, 2, PM_NONE, 3 };
	struct joint *joint = calloc(JOINTS, sizeof(*joint));
	struct joints j = { .joint = joint, .link = link, .n = JOINTS, .n_links = TRACKS, .n_seen = TRACKS };

	(void)state;
	assert_non_null(joint);
	for (uint32_t i = 0; i < JOINTS; i++)
		joint[i].formula = 10 + i;
	joints_renumber(&j, place, TRACKS);
	assert_int_equal(j.n, 2);
	assert_int_equal(joint[0].formula, 10);
	assert_int_equal(joint[1].formula, 12);
	assert_int_equal(j.n_links, 4);
	assert_int_equal(j.n_seen, 4);
	assert_true(link[0].joint == 1 && link[0].next == 1 && link[0].missed && !link[0].fresh);
	assert_true(link[1].joint == 2 && link[1].next == 3 && !link[1].missed && link[1].fresh);
	assert_true(link[2].joint == 0 && link[2].next == 0 && link[2].missed && link[2].fresh);
	assert_true(link[3].joint == 1 && link[3].next == 0);
	free(joint);
}

/* ---- what has ended ---- */

static struct track ended(struct track_loss *loss, unsigned aspects)
{
	return (struct track){ .counter = 3,
			       .instance = 4,
			       .aspects = (uint8_t)aspects,
			       .type = PM_U64,
			       .semantics = PM_CUMULATIVE,
			       .width = 64,
			       .mul = 1,
			       .div = 1,
			       .any = true,
			       .sum = 60,
			       .elapsed = 2000000000,
			       .loss = loss };
}

/* What a single track comes to that ended after 3 of 5 s, of which it was absent in 1 s. */
static void ends_are_kept(void **state)
{
	enum { VALUE = 1 << TRACK_VALUE, ELAPSED = 1 << TRACK_ELAPSED, RATE = 1 << TRACK_RATE };
	static const struct {
		unsigned aspects;
		enum pm_semantics semantics;
		double v;
	} c[] = {
		{ VALUE, PM_CUMULATIVE, 60 }, { ELAPSED, PM_CUMULATIVE, 2 }, { RATE, PM_CUMULATIVE, 12 },
		{ RATE, PM_DELTA, 12 },       { RATE, PM_PEAK, 60 },         { RATE, PM_STATE, 60 },
	};
	struct track_more more = { 0 };
	struct track_joint joint = { 0 };
	struct track_loss loss = { .absent = 4000000000, .ended_ns = 3000000000 };
	struct track_end e;
	struct track t;

	(void)state;
	for (size_t i = 0; i < sizeof(c) / sizeof(*c); i++) {
		t = ended(&loss, c[i].aspects);
		t.semantics = c[i].semantics;
		assert_true(track_end(&e, &t));
		assert_true(e.counter == 3 && e.instance == 4 && e.aspects == c[i].aspects && e.some);
		track_end_close(&e, 2000000000);
		assert_int_equal(e.v.reason, 0);
		if (e.v.v != c[i].v)
			fail_msg("case %zu: %g", i, e.v.v);
		assert_true(e.at.known == 2 && e.at.absent == 3 && e.at.lost == 0 && e.at.before == 0);
		/* In the next interval it is not there at all. */
		track_end_again(&e);
		track_end_close(&e, 5000000000);
		assert_true(e.v.reason == PM_REASON_OFFLINE && e.some && e.at.known == 0 && e.at.absent == 5);
	}
	/* Lost time is kept with its reason; without any time there is no rate. */
	loss = (struct track_loss){ .lost = 1000000000, .before = 500000000, .why = PM_REASON_MISSED };
	t = ended(&loss, RATE);
	assert_true(track_end(&e, &t) && e.some);
	track_end_close(&e, 0);
	assert_true(e.v.v == 30 && e.at.lost == 1 && e.at.before == 0.5 && e.at.why == PM_REASON_MISSED);
	loss = (struct track_loss){ 0 };
	t = ended(&loss, RATE);
	t.elapsed = 0;
	assert_true(track_end(&e, &t) && !e.some);
	track_end_close(&e, 0);
	assert_int_equal(e.v.reason, VALUE_DIVISION_BY_ZERO);
	t.any = false;
	t.absent = PM_REASON_GONE;
	assert_true(track_end(&e, &t) && e.some && e.v.reason == PM_REASON_GONE);
	/* What wants more is kept whole. */
	t = ended(&loss, VALUE | RATE);
	assert_false(track_end(&e, &t));
	t = ended(&loss, 1 << TRACK_LAST);
	assert_false(track_end(&e, &t));
	t = ended(&loss, VALUE);
	t.more = &more;
	assert_false(track_end(&e, &t));
	t.more = NULL;
	t.uncore = true;
	assert_false(track_end(&e, &t));
	t.uncore = false;
	loss.joint = &joint;
	assert_false(track_end(&e, &t));
}

/* One track stands for all that have ended; for which their times must nearly be the interval's. */
static void ends_are_added(void **state)
{
	static const struct {
		uint64_t elapsed, absent, lost, before, pending, earlier, hidden;
		bool more, uncore, times, folded;
	} c[] = {
		{ .elapsed = 2000000000, .folded = true },
		{ .elapsed = 1500000000, .absent = 500000000, .folded = true },
		{ .elapsed = 2000200000, .folded = true },
		{ .elapsed = 1999800000, .folded = true },
		{ .elapsed = 2000200001 },
		{ .elapsed = 1999799999 },
		{ .elapsed = 2000000000, .lost = 1 },
		{ .elapsed = 2000000000, .before = 1 },
		{ .elapsed = 2000000000, .pending = 1 },
		{ .elapsed = 2000000000, .earlier = 1 },
		{ .elapsed = 2000000000, .hidden = 1 },
		{ .elapsed = 2000000000, .more = true },
		{ .elapsed = 2000000000, .uncore = true },
		{ .elapsed = 2000000000, .times = true },
	};
	struct track_more more = { 0 };
	struct track_times times = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(c) / sizeof(*c); i++) {
		struct track_loss loss = { .absent = c[i].absent,
					   .lost = c[i].lost,
					   .before = c[i].before,
					   .pending = c[i].pending,
					   .earlier = c[i].earlier,
					   .hidden = c[i].hidden,
					   .ended_ns = 2000000000 };
		struct track t = ended(&loss, 1 << TRACK_RATE), sum;
		double exact = 60 / ((double)(c[i].elapsed + c[i].absent + 3000000000) / 1e9), rate;

		t.elapsed = c[i].elapsed;
		track_begin_sum(&sum, &t, 1);
		assert_true(sum.loss->ever && !sum.any && !sum.elapsed && sum.counter == 3);
		t.more = c[i].more ? &more : NULL;
		t.times = c[i].times ? &times : NULL;
		t.uncore = c[i].uncore;
		if (track_fold(&sum, &t) != c[i].folded)
			fail_msg("case %zu", i);
		assert_true(!c[i].folded || (track_value(&sum).v == 60 && sum.elapsed == c[i].elapsed && !t.any));
		assert_int_equal(sum.loss->sum->known, c[i].folded ? 2000000000 - c[i].absent : 0);
		/* The interval ends 3 s later: a rate by the time of the track itself. */
		sum.loss->absent = 5000000000;
		rate = track_sum_rate(&sum);
		if (c[i].folded && !(rate > exact * (1 - 1e-14) && rate < exact * (1 + 1e-14)))
			fail_msg("case %zu: %.17g for %.17g", i, rate, exact);
		free(sum.loss->sum);
		free(sum.loss);
	}
}

/* ---- differences that may not be taken ---- */

static void rules_of_registers(void **state)
{
	static const struct {
		struct counter_rule rule;
		uint64_t prev, now, ns;
		uint16_t why;
	} c[] = {
		{ { 0 }, 5, 5, 1, 0 },
		{ { .wrap_ns = 100 }, 5, 6, 99, 0 },
		/* At most 3 in a nanosecond, which may show 10 ns later; a counter of 32 bits. */
		{ { .most = 3, .late_ns = 10 }, 5, 308, 91, 0 },
		{ { .most = 3, .late_ns = 10 }, 5, 309, 91, REPORT_RESET },
		{ { .most = 3, .late_ns = 10 }, UINT32_MAX - 2, 300, 91, 0 },
		{ { .most = 3, .late_ns = 10 }, UINT32_MAX - 2, 301, 91, REPORT_RESET },
		{ { .most = 3, .late_ns = 10 }, 309, 5, 91, REPORT_RESET },
		{ { .most = 3, .wrap_ns = 100 }, 5, 6, 100, REPORT_WRAP },
		{ { .wrap_ns = 100 }, 5, 6, 100, REPORT_WRAP },
		{ { .never_zero = true }, 0, 0, 1, PM_REASON_SUSPECT },
		{ { .never_zero = true }, 1, 0, 1, 0 },
		{ { .never_zero = true }, 0, 1, 1, 0 },
		{ { .never_zero = true }, 1, 1, 1, 0 },
		{ { .advances = true }, 5, 5, 1, REPORT_STILL },
		{ { .advances = true }, 5, 6, 1, 0 },
		{ { .advances = true, .is_clock = true }, 5, 5, 1, REPORT_TSC },
		{ { .is_clock = true }, 5, 5, 1, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(c) / sizeof(*c); i++) {
		struct track_more more = { .rule = &c[i].rule };
		struct track t = { .more = &more, .width = 32 };

		if (track_against_rule(&t, c[i].prev, c[i].now, c[i].ns) != c[i].why)
			fail_msg("case %zu", i);
	}
}

static void resets(void **state)
{
	static const struct {
		uint8_t width;
		uint64_t prev, now;
		bool reset;
	} c[] = {
		{ 8, 200, 200, false },
		{ 8, 200, 10, false },
		{ 8, 129, 1, false },
		{ 8, 128, 1, true },
		{ 8, 128, 0, false },
		{ 8, 126, 0, true },
		{ 64, 10, 9, true },
		{ 64, 9, 10, false },
		{ 64, 1, UINT64_MAX, true },
		{ 64, UINT64_MAX, 1, false },
		{ 64, 1, UINT64_C(1) << 63, true },
		{ 8, 10, 250, false },
	};
	/* What says how fast it counts has looked at that before. */
	struct counter_rule rule = { .most = 1 };
	struct track_more more = { .rule = &rule };

	(void)state;
	for (size_t i = 0; i < sizeof(c) / sizeof(*c); i++) {
		struct track t = { .width = c[i].width };

		if (track_is_reset(&t, c[i].prev, c[i].now) != c[i].reset)
			fail_msg("case %zu", i);
		t.more = &more;
		assert_false(track_is_reset(&t, c[i].prev, c[i].now));
	}
}

/* Whole stretches at once are what readings one by one are, whatever happens among them: resets, wraps, failures. */
static void span(void **state)
{
	struct statistics_random r = { 5 };

	(void)state;
	for (int round = 0; round < 2000; round++) {
		uint64_t v[24], begin[24], end[24], enabled[24], running[24], level = 1000, on = 0;
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
		struct support at[2][24] = { 0 };
		struct track_loss lost[2] = { { .at = at[0] }, { .at = at[1] } };
		struct value results[2][24] = { 0 };
		bool closes[24];
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
			level += statistics_random(&r) % 30000;
			if (trouble && statistics_random(&r) % 8 == 0)
				level = statistics_random(&r) % 5;
			if (i && statistics_random(&r) % 8 == 0)
				level = v[i - 1] - statistics_random(&r) % 40;
			v[i] = one.width == 16 ? level & 0xffff : level;
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

			size_t n = 0;

			to = to > 24 ? 24 : to;
			for (uint32_t row = from; row < to; row++)
				closes[row] = statistics_random(&r) % 2;
			c.first = from;
			track_take(&all, &c, from, to, closes, results[1], 24, NULL);
			for (; from < to; from++) {
				track_step(&one, &c, from);
				if (closes[from])
					track_close(&one, results[0], 24, n++, NULL);
			}
			assert_memory_equal(results[0], results[1], n * sizeof(results[0][0]));
			one.times = all.times = NULL;
			one.loss = all.loss = NULL;
			assert_memory_equal(&one, &all, sizeof(one));
			lost[1].at = at[0];
			assert_memory_equal(&lost[0], &lost[1], sizeof(lost[0]));
			lost[1].at = at[1];
			for (size_t k = 0; k < n; k++) {
				assert_memory_equal(&at[0][k], &at[1][k], offsetof(struct support, why));
				assert_int_equal(at[0][k].why, at[1][k].why);
			}
			one.loss = &lost[0];
			all.loss = &lost[1];
			assert_memory_equal(&of[0], &of[1], sizeof(of[0]));
			one.times = times ? &of[0] : NULL;
			all.times = times ? &of[1] : NULL;
		}
	}
}

UNIT_TESTS(cmocka_unit_test(span), cmocka_unit_test(sums_are_joined), cmocka_unit_test(joints_follow_their_tracks),
	   cmocka_unit_test(ends_are_kept), cmocka_unit_test(ends_are_added), cmocka_unit_test(rules_of_registers),
	   cmocka_unit_test(resets))
