/* Sums of an open interval, and what ties tracks together, by themselves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "report/replay/replay_private.h"
#include "report/replay/track_private.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_are_joined),
		cmocka_unit_test(joints_follow_their_tracks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
