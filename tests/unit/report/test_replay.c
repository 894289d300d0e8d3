/* Differences, gaps, resets, wraps, scales: everything that happens to one counter of one instance. */
#include <stdio.h>

#include "tests/unit/lib/replay_caught.h"

/* A table of readings, ends where the test says. */
static struct reading from_table(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	const struct reading *table = b->data;

	if (!strcmp(counter, "enabled"))
		return (struct reading){ row * 1000, 0 };
	if (!strcmp(counter, "running"))
		return (struct reading){ row * 1000, 0 };
	return table[row];
}

static void setup(struct builder *b, const struct reading *table, enum pm_semantics semantics, uint8_t width)
{
	uint32_t c;

	builder_init(b, from_table);
	b->data = (void *)table;
	c = builder_counter(b, "test.x", "1", semantics, PM_AGG_SUM);
	builder_counter_at(b, c)->width = width;
	builder_group(b, PM_CPU, 1, 0, &c, 1);
}

static void narrow_counters_wrap(void **state)
{
	static const struct reading table[] = { { 0xfffffff0, 0 }, { 0x10, 0 }, { 0x20, 0 } };
	struct builder b;
	struct caught *c;

	setup(&b, table, PM_CUMULATIVE, 32);
	c = start(&b, REPLAY_EACH, 0, VALUE);
	feed(c, &b, 0, 3);
	assert_value(c->value[0][TRACK_VALUE][0], 0x20);
	assert_value(c->value[0][TRACK_VALUE][1], 0x10);
	stop(c);
	c = start(&b, REPLAY_TOTAL, 0, VALUE);
	feed(c, &b, 0, 3);
	replay_finish(c->replay);
	assert_int_equal(c->n, 1);
	assert_value(c->value[0][TRACK_VALUE][0], 0x30);
	stop(c);
	builder_release(&b);
}

static void wide_counters_reset(void **state)
{
	static const struct reading table[] = { { 500, 0 }, { 600, 0 }, { 10, 0 }, { 15, 0 } };
	struct builder b;
	struct caught *c;

	setup(&b, table, PM_CUMULATIVE, 64);
	c = start(&b, REPLAY_EACH, 0, VALUE);
	feed(c, &b, 0, 4);
	assert_value(c->value[0][TRACK_VALUE][0], 100);
	assert_missing(c->value[0][TRACK_VALUE][1], REPORT_RESET);
	assert_value(c->value[0][TRACK_VALUE][2], 5);
	stop(c);
	c = start(&b, REPLAY_TOTAL, 0, VALUE);
	feed(c, &b, 0, 4);
	replay_finish(c->replay);
	assert_value(c->value[0][TRACK_VALUE][0], 105);
	assert_true(c->support[0][0].known == 2 && c->support[0][0].lost == 1);
	assert_int_equal(c->support[0][0].why, REPORT_RESET);
	stop(c);
	builder_release(&b);
}

/* Half of the range, either way, is a wrap; one more is none. */
static void half_a_range(void **state)
{
	static const struct reading table[] = { { 144, 0 }, { 16, 0 }, { 200, 0 }, { 73, 0 } };
	struct builder b;
	struct caught *c;

	for (uint32_t rows = 1; rows <= 4; rows += 3) {
		setup(&b, table, PM_CUMULATIVE, 8);
		c = start(&b, REPLAY_EACH, 0, VALUE);
		for (uint32_t i = 0; i < 4; i += rows)
			feed(c, &b, i, rows);
		assert_value(c->value[0][TRACK_VALUE][0], 128);
		assert_value(c->value[0][TRACK_VALUE][1], 184);
		assert_missing(c->value[0][TRACK_VALUE][2], REPORT_RESET);
		stop(c);
		builder_release(&b);
	}
}

/* One that takes 2 % of the interval makes both of its intervals doubtful, although all is laid out anew between them. */
static void long_readings(void **state)
{
	static const struct reading table[] = { { 1, 0 }, { 2, 0 }, { 3, 0 }, { 4, 0 } };
	struct builder b;
	struct caught *c;

	setup(&b, table, PM_CUMULATIVE, 64);
	c = start(&b, REPLAY_EACH, 0, VALUE);
	for (uint32_t i = 0; i < 4; i++) {
		const struct pm_chunk *chunk = builder_chunk(&b, i, 1, 1);

		if (i == 1)
			chunk->group[0].v[chunk->group[0].stride] += 20000000;
		assert_int_equal(replay_chunk(c->replay, chunk), 0);
		assert_int_equal(replay_settle(c->replay), 0);
		if (i == 1)
			want(c, &b, VALUE);
	}
	assert_true(c->n == 3 && c->doubt[0] && c->doubt[1] && !c->doubt[2]);
	stop(c);
	builder_release(&b);
}

static void deltas_and_peaks(void **state)
{
	static const struct reading table[] = { { 7, 0 }, { 5, 0 }, { 9, 0 }, { 2, 0 } };
	struct builder b;
	struct caught *c;

	setup(&b, table, PM_DELTA, 64);
	c = start(&b, REPLAY_TOTAL, 0, VALUE);
	feed(c, &b, 0, 4);
	replay_finish(c->replay);
	/* The first says what happened before the recording began. */
	assert_value(c->value[0][TRACK_VALUE][0], 16);
	stop(c);
	builder_release(&b);
	setup(&b, table, PM_PEAK, 64);
	c = start(&b, REPLAY_EVERY, 2000000000, VALUE);
	feed(c, &b, 0, 4);
	replay_finish(c->replay);
	assert_int_equal(c->n, 2);
	assert_value(c->value[0][TRACK_VALUE][0], 9);
	assert_value(c->value[0][TRACK_VALUE][1], 2);
	stop(c);
	builder_release(&b);
}

static void scales_and_types(void **state)
{
	static const struct reading table[] = { { 1500, 0 }, { 4500, 0 } };
	double f[] = { 1.5, 2.25 };
	char decimal[] = "2.3283064365386962890625e-10";
	struct reading floats[2], negative[] = { { 0, 0 }, { (uint64_t)-5000, 0 } };
	struct builder b;
	struct caught *c;

	setup(&b, table, PM_CUMULATIVE, 64);
	builder_counter_at(&b, 1)->scale.den = 1000;
	c = start(&b, REPLAY_EACH, 0, VALUE);
	feed(c, &b, 0, 2);
	assert_value(c->value[0][TRACK_VALUE][0], 3);
	stop(c);
	builder_release(&b);

	setup(&b, table, PM_CUMULATIVE, 64);
	builder_counter_at(&b, 1)->scale.text = decimal;
	c = start(&b, REPLAY_EACH, 0, VALUE);
	feed(c, &b, 0, 2);
	assert_value(c->value[0][TRACK_VALUE][0], 3000 / 4294967296.);
	stop(c);
	builder_release(&b);

	memcpy(&floats[0].v, &f[0], 8);
	memcpy(&floats[1].v, &f[1], 8);
	floats[0].status = floats[1].status = 0;
	setup(&b, floats, PM_CUMULATIVE, 64);
	builder_counter_at(&b, 1)->type = PM_F64;
	c = start(&b, REPLAY_EACH, 0, VALUE);
	feed(c, &b, 0, 2);
	assert_value(c->value[0][TRACK_VALUE][0], 0.75);
	stop(c);
	builder_release(&b);

	setup(&b, negative, PM_GAUGE, 64);
	builder_counter_at(&b, 1)->type = PM_S64;
	builder_counter_at(&b, 1)->scale.den = 1000;
	c = start(&b, REPLAY_EACH, 0, VALUE);
	feed(c, &b, 0, 2);
	assert_value(c->value[0][TRACK_VALUE][0], -5);
	stop(c);
	builder_release(&b);
}

/* Task 1 is read three times, task 2 seven times; a second run follows. */
static struct reading of_tasks(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	return (struct reading){ row * 10, 0 };
}

static void totals_of_the_ended(void **state)
{
	static const unsigned aspects[] = { VALUE, 1u << TRACK_ELAPSED, 1u << TRACK_RATE, VALUE | 1u << TRACK_RATE };
	static const double ended[] = { 20, 2, 20 / 6.0, 20 }, lives[] = { 60, 6, 10, 60 };

	for (size_t k = 0; k < sizeof(aspects) / sizeof(*aspects); k++)
		for (int level = 0; level < 2; level++) {
			enum track_aspect aspect = (enum track_aspect)__builtin_ctz(aspects[k]);
			struct pm_model *m;
			struct builder b;
			struct caught *c;
			uint32_t x, live = 0, dead = 0;
			bool counts = !level || aspect == TRACK_ELAPSED;

			builder_init(&b, of_tasks);
			m = &b.model;
			x = builder_counter(&b, "test.x", "1", level ? PM_GAUGE : PM_CUMULATIVE, PM_AGG_SUM);
			builder_group(&b, PM_TASK, 1, 0, &x, 1);
			builder_group(&b, PM_TASK, 1, 0, &x, 1);
			m->group[1].instance[0] = b.instance[PM_TASK][1];
			c = start(&b, REPLAY_TOTAL, 0, aspects[k] | 1u << TRACK_EACH);
			feed(c, &b, 0, 3);
			m->group[0].retired = true;
			m->instance[b.instance[PM_TASK][0] - 1].retired_ns = BUILDER_START_NS + 2500000000;
			assert_int_equal(replay_settle(c->replay), 0);
			replay_end_tracks(c->replay);
			feed(c, &b, 3, 4);
			b.run++;
			feed(c, &b, 7, 3);
			assert_int_equal(replay_finish(c->replay), 0);
			assert_int_equal(replay_tracks(c->replay), 2);
			for (uint32_t t = 0; t < 2; t++)
				if (replay_track(c->replay, t).instance == b.instance[PM_TASK][0])
					dead = t;
				else
					live = t;
			assert_true(dead != live && c->n == 2);
			/* The means are of the levels at the ends: 10, 20; 10 to 60. */
			assert_value(c->value[dead][aspect][0], counts ? ended[k] : 15);
			assert_value(c->value[live][aspect][0], counts ? lives[k] : 35);
			assert_true(c->support[dead][0].known == 2 && c->support[dead][0].absent == 4);
			assert_true(!c->support[dead][0].lost);
			assert_missing(c->value[dead][aspect][1], PM_REASON_OFFLINE);
			assert_true(!c->support[dead][1].known && c->support[dead][1].absent == 2);
			stop(c);
			builder_release(&b);
		}
}

/* A task ends after the first reading, before there is an interval; others have other aspects, and keep theirs. */
static void ended_before_the_interval(void **state)
{
	for (int sums = 0; sums < 2; sums++) {
		struct pm_model *m;
		struct builder b;
		struct caught *c;
		uint32_t x, y;

		builder_init(&b, of_tasks);
		m = &b.model;
		x = builder_counter(&b, "test.x", "1", sums ? PM_CUMULATIVE : PM_GAUGE, PM_AGG_SUM);
		y = builder_counter(&b, "test.y", "1", PM_CUMULATIVE, PM_AGG_SUM);
		builder_group(&b, PM_TASK, 1, 0, &x, 1);
		builder_group(&b, PM_TASK, 1, 0, &y, 1);
		m->group[1].instance[0] = b.instance[PM_TASK][1];
		c = calloc(1, sizeof(*c));
		assert_non_null(c);
		c->replay = replay_new(&(struct replay_config){ .mode = REPLAY_TOTAL }, catch, c);
		replay_begin_tracks(c->replay, m);
		replay_want(c->replay, x, VALUE);
		replay_want(c->replay, y, 1u << TRACK_RATE | 1u << TRACK_ELAPSED);
		replay_end_tracks(c->replay);
		feed(c, &b, 0, 1);
		m->group[0].retired = true;
		m->instance[b.instance[PM_TASK][0] - 1].retired_ns = BUILDER_START_NS + 500000000;
		assert_int_equal(replay_settle(c->replay), 0);
		replay_end_tracks(c->replay);
		feed(c, &b, 1, 4);
		assert_int_equal(replay_finish(c->replay), 0);
		assert_int_equal(c->n, 1);
		assert_int_equal(replay_tracks(c->replay), 2);
		for (uint32_t t = 0; t < 2; t++) {
			struct track_info info = replay_track(c->replay, t);

			if (info.counter == x) {
				assert_missing(c->value[t][TRACK_VALUE][0], PM_REASON_OFFLINE);
				continue;
			}
			assert_int_equal(info.instance, b.instance[PM_TASK][1]);
			assert_value(c->value[t][TRACK_RATE][0], 10);
			assert_value(c->value[t][TRACK_ELAPSED][0], 4);
		}
		stop(c);
		builder_release(&b);
	}
}

UNIT_TESTS(cmocka_unit_test(narrow_counters_wrap), cmocka_unit_test(wide_counters_reset),
	   cmocka_unit_test(half_a_range), cmocka_unit_test(long_readings), cmocka_unit_test(deltas_and_peaks),
	   cmocka_unit_test(scales_and_types), cmocka_unit_test(totals_of_the_ended),
	   cmocka_unit_test(ended_before_the_interval))
