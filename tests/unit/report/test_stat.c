/* The arithmetic and the words of pmrep stat; its lines are tested from the shell (tests/cli/stat.bats). */
#include "tests/unit/lib/builder.h"
#include "report/cmd_stat.c"
#include "tests/unit/lib/test.h"

static void words(void **state)
{
	struct stat_words w = { 0 };
	static const char *const want[] = { "a", "pmu/x=1,y=2/u", "b", "c", "d:u" };

	stat_words_add(&w, "a,pmu/x=1,y=2/u,{b,c}:u");
	stat_words_add(&w, "d:u");
	assert_int_equal(w.n, 5);
	for (size_t i = 0; i < w.n; i++)
		assert_string_equal(w.word[i], want[i]);
	stat_words_release(&w);
}

static void config(void **state)
{
	struct stat_config c = { .big_num = true };
	struct error e = { 0 };

	assert_int_equal(stat_config_read(&c, "big-num = false\n[report]\nbig-num=false\n", &e), 0);
	assert_true(c.big_num);
	assert_int_equal(
		stat_config_read(&c, "# x\n[stat]\n\tbig-num = off ; why\n\tbpf-counter-events = cycles\n", &e), 0);
	assert_false(c.big_num);
	assert_int_equal(stat_config_read(&c, "[stat]\nno-csv-summary\n[core]\nno-csv-summary = no", &e), 0);
	assert_true(c.no_csv_summary);
	assert_true(stat_config_read(&c, "[stat]\nbig-num = 7\n", &e) < 0);
	assert_non_null(strstr(e.text, "stat.big-num"));
}

/* By the textbook's two passes. */
static void spread(void **state)
{
	const double v[] = { 1000000001, 1000000002, 1000000004, 1000000009 };
	struct stat_spread w = { 0 };

	for (size_t i = 0; i < 4; i++)
		stat_spread_add(&w, v[i]);
	assert_true(w.mean == 1000000004);
	/* (9 + 4 + 0 + 25) / 3 / 4 */
	assert_float_equal(stat_spread_error(&w) * stat_spread_error(&w), 38.0 / 12, 1e-9);
	w = (struct stat_spread){ 0 };
	stat_spread_add(&w, 5);
	assert_true(stat_spread_error(&w) == 0);
	assert_true(stat_spread_percent(&(struct stat_spread){ 0 }) == 0);
}

/* Whole percents, cut; of what waited for a counter none; of what was not there, and of what never stopped, all. */
static void percents(void **state)
{
	static const struct {
		struct stat_sum sum;
		unsigned percent;
		bool shared;
	} cases[] = {
		{ { .enabled = 1000, .running = 1000 }, 100, false },
		{ { .enabled = 1000, .running = 999 }, 99, true },
		{ { .enabled = 1000, .running = 9 }, 0, true },
		{ { .enabled = 1000, .running = 10 }, 1, true },
		{ { 0 }, 100, false },
		{ { .enabled = 1000, .reason = PM_REASON_NOT_COUNTED }, 0, true },
		{ { .reason = PM_REASON_NOT_COUNTED }, 100, false },
		{ { .enabled = 1000, .reason = PM_REASON_NOT_SUPPORTED }, 100, false },
		/* 1024 CPUs for three days, and for three years */
		{ { .enabled = UINT64_C(265420800000000000), .running = UINT64_C(199065600000000000) }, 75, true },
		{ { .enabled = UINT64_MAX, .running = UINT64_MAX - 1 }, 99, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(stat_percent(&cases[i].sum), cases[i].percent);
		assert_int_equal(stat_is_shared(&cases[i].sum), cases[i].shared);
	}
}

/* What perf stat says of errors of perf_event_open(): most say that the event is not there, EPERM and EACCES
 * that this user may not count it. */
static void missing(void **state)
{
	static const int not_there[] = { ENOENT, EOPNOTSUPP, EINVAL, ENODEV, ENXIO, EACCES, EPERM };

	(void)state;
	for (size_t i = 0; i < sizeof(not_there) / sizeof(*not_there); i++)
		assert_string_equal(stat_missing(pm_reason_errno(not_there[i])), "<not supported>");
	assert_string_equal(stat_missing(PM_REASON_NOT_SUPPORTED), "<not supported>");
	assert_string_equal(stat_missing(PM_REASON_NO_PERMISSION), "<not supported>");
	assert_string_equal(stat_missing(PM_REASON_NOT_COUNTED), "<not counted>");
	assert_string_equal(stat_missing(pm_reason_errno(EIO)), "<not counted>");
}

/* ---- counts of the replay ---- */

struct world {
	struct replay *replay;
	struct count count[64];
	size_t n;
	uint64_t bad_row, bad_status;
	bool slow; /* with a second aspect the values take another way */
};

static struct reading truth(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	const struct world *w = b->data;

	if (!strcmp(counter, "enabled"))
		return (struct reading){ row * 1000, 0 };
	if (!strcmp(counter, "running"))
		return (struct reading){ row > 5 ? 2500 : row * 500, 0 };
	if (w->bad_row && row == w->bad_row)
		return (struct reading){ 0, (uint16_t)w->bad_status };
	/* Beyond what a double holds. */
	return (struct reading){ (UINT64_C(1) << 60) + row * 3, 0 };
}

static int take(void *ctx, const struct interval *interval, size_t n)
{
	struct world *w = ctx;

	for (size_t k = 0; k < n; k++)
		w->count[w->n++] = replay_counts(w->replay, 0)[k];
	return 0;
}

static void replay(struct world *w, enum replay_mode mode, bool counts)
{
	struct replay_config c = { .mode = mode, .counts = counts };
	struct builder b;
	uint32_t id;

	builder_init(&b, truth);
	b.data = w;
	id = builder_counter(&b, "cycles", "1", PM_CUMULATIVE, PM_AGG_SUM);
	builder_group(&b, PM_CPU, 1, PM_GROUP_PERF_TIMES, &id, 1);
	w->replay = replay_new(&c, take, w);
	replay_begin_tracks(w->replay, &b.model);
	replay_want(w->replay, id, 1u << TRACK_VALUE | (w->slow ? 1u << TRACK_RATE : 0));
	replay_end_tracks(w->replay);
	assert_int_equal(replay_chunk(w->replay, builder_chunk(&b, 0, 4, 1)), 0);
	assert_int_equal(replay_chunk(w->replay, builder_chunk(&b, 4, 6, 1)), 0);
	assert_int_equal(replay_finish(w->replay), 0);
	replay_free(w->replay);
	builder_release(&b);
}

/* Whole numbers, as they were read, on both ways through the arithmetic. */
static void counts(void **state)
{
	for (int slow = 0; slow < 2; slow++) {
		struct world w = { .slow = slow };

		replay(&w, REPLAY_EACH, true);
		assert_int_equal(w.n, 9);
		for (size_t k = 0; k < 9; k++) {
			/* What never ran is not counted. */
			assert_true(w.count[k].v == (k < 5 ? 3 : 0));
			assert_true(w.count[k].made == (k < 5 ? 6 : 0));
			assert_int_equal(w.count[k].enabled, 1000);
			assert_int_equal(w.count[k].running, k < 5 ? 500 : 0);
			assert_int_equal(w.count[k].reason, k < 5 ? 0 : PM_REASON_NOT_COUNTED);
		}
		w = (struct world){ .slow = slow };
		replay(&w, REPLAY_TOTAL, true);
		assert_int_equal(w.n, 1);
		assert_true(w.count[0].v == 15 && w.count[0].made == 30 && w.count[0].enabled == 9000 &&
			    w.count[0].running == 2500);
	}
}

static void lost_counts(void **state)
{
	struct world w = { .bad_row = 2, .bad_status = pm_reason_errno(5) };

	replay(&w, REPLAY_EACH, true);
	assert_int_equal(w.count[0].reason, 0);
	assert_int_equal(w.count[1].reason, pm_reason_errno(5));
	/* What was missed comes with the next reading. */
	assert_int_equal(w.count[2].reason, 0);
	assert_true(w.count[2].v == 6);
	assert_int_equal(w.count[3].reason, 0);
}

/* 3 a snapshot; from the fifth to the eighth it is switched off, alone, which other segments tell apart. */
static struct reading switched(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	uint64_t on = row < 5 ? row : row < 8 ? 4 : row - 4;

	if (!strcmp(counter, "enabled") || !strcmp(counter, "running"))
		return (struct reading){ on * 1000, 0 };
	return (struct reading){ on * 3, row >= 5 && row < 8 ? PM_REASON_NOT_COUNTED : 0 };
}

static void switched_off(void **state)
{
	for (int again = 0; again < 2; again++) {
		struct replay_config c = { .mode = REPLAY_TOTAL, .counts = true };
		struct world w = { 0 };
		struct builder b;
		uint32_t id;

		builder_init(&b, switched);
		id = builder_counter(&b, "cycles", "1", PM_CUMULATIVE, PM_AGG_SUM);
		builder_group(&b, PM_CPU, 1, PM_GROUP_PERF_TIMES, &id, 1);
		w.replay = replay_new(&c, take, &w);
		replay_begin_tracks(w.replay, &b.model);
		replay_want(w.replay, id, 1u << TRACK_VALUE);
		replay_end_tracks(w.replay);
		assert_int_equal(replay_chunk(w.replay, builder_chunk(&b, 0, 5, 1)), 0);
		b.segment = 2;
		assert_int_equal(replay_chunk(w.replay, builder_chunk(&b, 5, 3, 1)), 0);
		b.segment = 3;
		if (again)
			assert_int_equal(replay_chunk(w.replay, builder_chunk(&b, 8, 3, 1)), 0);
		assert_int_equal(replay_finish(w.replay), 0);
		replay_free(w.replay);
		builder_release(&b);
		/* Snapshots 0 to 4, and 8 to 10. */
		assert_int_equal(w.n, 1);
		assert_int_equal(w.count[0].reason, 0);
		assert_int_equal(w.count[0].v, again ? 18 : 12);
		assert_int_equal(w.count[0].enabled, again ? 6000 : 4000);
	}
}

UNIT_TESTS(cmocka_unit_test(words), cmocka_unit_test(config), cmocka_unit_test(spread), cmocka_unit_test(percents),
	   cmocka_unit_test(missing), cmocka_unit_test(counts), cmocka_unit_test(lost_counts),
	   cmocka_unit_test(switched_off))
