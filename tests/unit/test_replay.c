/* Differences, gaps, resets, wraps, scaling, longer intervals: everything that happens to one counter of one
 * instance. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "builder.h"
#include "report/replay.h"
#include "report/status.h"

#define MAX 4096

/* What came out: values of track 0, or of any other by number. */
struct caught {
	struct replay *replay;
	struct interval interval[MAX];
	struct value value[4][TRACK_ASPECTS][MAX];
	size_t n;
};

static int catch(void *ctx, const struct interval *interval, size_t n)
{
	struct caught *c = ctx;

	assert_true(n > 0 && n <= replay_block(c->replay) && c->n + n <= MAX);
	memcpy(&c->interval[c->n], interval, n * sizeof(*interval));
	for (size_t t = 0; t < replay_tracks(c->replay) && t < 4; t++)
		for (int a = 0; a < TRACK_ASPECTS; a++)
			if (replay_values(c->replay, t, (enum track_aspect)a))
				memcpy(&c->value[t][a][c->n], replay_values(c->replay, t, (enum track_aspect)a),
				       n * sizeof(struct value));
	c->n += n;
	return 0;
}

static void want(struct caught *c, struct builder *b, unsigned aspects)
{
	assert_int_equal(replay_begin_tracks(c->replay, &b->model), 0);
	for (uint32_t i = 1; i <= b->model.n_counters; i++)
		assert_int_equal(replay_want(c->replay, i, aspects), 0);
	assert_int_equal(replay_end_tracks(c->replay), 0);
}

static struct caught *start(struct builder *b, enum replay_mode mode, uint64_t every_ns, unsigned aspects)
{
	struct replay_config config = { .mode = mode, .every_ns = every_ns };
	struct caught *c = calloc(1, sizeof(*c));

	assert_non_null(c);
	assert_int_equal(replay_new(&c->replay, &config, catch, c), 0);
	want(c, b, aspects);
	return c;
}

static void feed(struct caught *c, struct builder *b, uint64_t row, uint32_t n)
{
	assert_int_equal(replay_chunk(c->replay, builder_chunk(b, row, n, 1)), 0);
}

static void stop(struct caught *c)
{
	replay_free(c->replay);
	free(c);
}

#define VALUE (1u << TRACK_VALUE)

static void assert_value(struct value v, double expected)
{
	assert_int_equal(v.reason, 0);
	assert_true(v.v == expected);
}

static void assert_missing(struct value v, unsigned reason)
{
	assert_int_equal(v.reason, reason);
}

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

static void differences(void **state)
{
	static const struct reading table[] = { { 100, 0 }, { 107, 0 }, { 107, 0 }, { 1000, 0 } };
	struct builder b;
	struct caught *c;

	setup(&b, table, PM_CUMULATIVE, 64);
	c = start(&b, REPLAY_EACH, 0, VALUE);
	feed(c, &b, 0, 4);
	assert_int_equal(replay_finish(c->replay), 0);
	assert_int_equal(c->n, 3);
	assert_value(c->value[0][TRACK_VALUE][0], 7);
	assert_value(c->value[0][TRACK_VALUE][1], 0);
	assert_value(c->value[0][TRACK_VALUE][2], 893);
	assert_int_equal(c->interval[2].from_ns, BUILDER_START_NS + 2000000000);
	assert_int_equal(c->interval[2].to_ns, BUILDER_START_NS + 3000000000);
	assert_int_equal(c->interval[2].duration_ns, 1000000000);
	assert_int_equal(c->interval[2].wall_ns, BUILDER_WALL_NS + 3000000000);
	stop(c);
	builder_release(&b);
}

/* The same over chunks of one row, which take the slow way. */
static void differences_across_chunks(void **state)
{
	static const struct reading table[] = { { 100, 0 }, { 107, 0 }, { 107, 0 }, { 1000, 0 } };
	struct builder b;
	struct caught *c;

	setup(&b, table, PM_CUMULATIVE, 64);
	c = start(&b, REPLAY_EACH, 0, VALUE);
	for (int i = 0; i < 4; i++)
		feed(c, &b, (uint64_t)i, 1);
	assert_int_equal(c->n, 3);
	assert_value(c->value[0][TRACK_VALUE][0], 7);
	assert_value(c->value[0][TRACK_VALUE][1], 0);
	assert_value(c->value[0][TRACK_VALUE][2], 893);
	stop(c);
	builder_release(&b);
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
	assert_missing(c->value[0][TRACK_VALUE][0], REPORT_RESET);
	stop(c);
	builder_release(&b);
}

/* A reading that failed costs the two intervals that it belongs to, and none else. */
static void failed_reading(void **state)
{
	static const struct reading table[] = { { 1, 0 }, { 2, 0 }, { 0, PM_REASON_ERRNO + 5 }, { 8, 0 }, { 9, 0 } };
	struct builder b;
	struct caught *c;

	for (uint32_t rows = 1; rows <= 5; rows += 4) {
		setup(&b, table, PM_CUMULATIVE, 64);
		c = start(&b, REPLAY_EACH, 0, VALUE);
		for (uint32_t i = 0; i < 5; i += rows)
			feed(c, &b, i, rows);
		assert_int_equal(c->n, 4);
		assert_value(c->value[0][TRACK_VALUE][0], 1);
		assert_missing(c->value[0][TRACK_VALUE][1], PM_REASON_ERRNO + 5);
		assert_missing(c->value[0][TRACK_VALUE][2], PM_REASON_ERRNO + 5);
		assert_value(c->value[0][TRACK_VALUE][3], 1);
		stop(c);
		builder_release(&b);
	}
	/* Inside a longer interval it costs nothing, because the difference of the ends is known. */
	setup(&b, table, PM_CUMULATIVE, 64);
	c = start(&b, REPLAY_EVERY, 4000000000, VALUE | 1u << TRACK_ELAPSED);
	feed(c, &b, 0, 5);
	assert_int_equal(c->n, 1);
	assert_value(c->value[0][TRACK_VALUE][0], 8);
	assert_value(c->value[0][TRACK_ELAPSED][0], 4);
	stop(c);
	/* At the end of one it costs it. */
	c = start(&b, REPLAY_EVERY, 2000000000, VALUE);
	feed(c, &b, 0, 5);
	assert_int_equal(c->n, 2);
	assert_missing(c->value[0][TRACK_VALUE][0], PM_REASON_ERRNO + 5);
	assert_missing(c->value[0][TRACK_VALUE][1], PM_REASON_ERRNO + 5);
	stop(c);
	builder_release(&b);
}

/* What was not due is no gap: the difference counts where it was read, over the time that it took. */
static void not_due(void **state)
{
	static const struct reading table[] = {
		{ 10, 0 }, { 0, PM_REASON_NOT_READ }, { 0, PM_REASON_NOT_READ }, { 40, 0 }, { 41, 0 },
	};
	struct builder b;
	struct caught *c;

	setup(&b, table, PM_CUMULATIVE, 64);
	c = start(&b, REPLAY_EACH, 0, VALUE | 1u << TRACK_ELAPSED | 1u << TRACK_RATE);
	feed(c, &b, 0, 5);
	assert_missing(c->value[0][TRACK_VALUE][0], PM_REASON_NOT_READ);
	assert_missing(c->value[0][TRACK_VALUE][1], PM_REASON_NOT_READ);
	assert_value(c->value[0][TRACK_VALUE][2], 30);
	assert_value(c->value[0][TRACK_ELAPSED][2], 3);
	assert_value(c->value[0][TRACK_RATE][2], 10);
	assert_value(c->value[0][TRACK_VALUE][3], 1);
	assert_value(c->value[0][TRACK_ELAPSED][3], 1);
	stop(c);
	builder_release(&b);
}

static void offline_and_back(void **state)
{
	static const struct reading table[] = {
		{ 10, 0 }, { 20, 0 }, { 0, PM_REASON_OFFLINE }, { 0, PM_REASON_OFFLINE }, { 3, 0 }, { 4, 0 },
	};
	struct builder b;
	struct caught *c;

	for (uint32_t rows = 1; rows <= 6; rows += 5) {
		setup(&b, table, PM_CUMULATIVE, 64);
		c = start(&b, REPLAY_EACH, 0, VALUE);
		for (uint32_t i = 0; i < 6; i += rows)
			feed(c, &b, i, rows);
		assert_value(c->value[0][TRACK_VALUE][0], 10);
		for (int i = 1; i < 4; i++)
			assert_missing(c->value[0][TRACK_VALUE][i], PM_REASON_OFFLINE);
		assert_value(c->value[0][TRACK_VALUE][4], 1);
		stop(c);
		builder_release(&b);
	}
	/* Over all: what it counted while it was there, in the time that it was there. */
	setup(&b, table, PM_CUMULATIVE, 64);
	c = start(&b, REPLAY_TOTAL, 0, VALUE | 1u << TRACK_ELAPSED);
	feed(c, &b, 0, 6);
	replay_finish(c->replay);
	assert_value(c->value[0][TRACK_VALUE][0], 11);
	assert_value(c->value[0][TRACK_ELAPSED][0], 2);
	stop(c);
	builder_release(&b);
}

static void nothing_across_breaks(void **state)
{
	static const struct reading table[] = { { 10, 0 }, { 20, 0 }, { 1000, 0 }, { 1001, 0 } };
	struct builder b;
	struct caught *c;

	/* Damage. */
	setup(&b, table, PM_CUMULATIVE, 64);
	c = start(&b, REPLAY_EACH, 0, VALUE);
	feed(c, &b, 0, 2);
	assert_int_equal(replay_break(c->replay), 0);
	feed(c, &b, 2, 2);
	assert_int_equal(c->n, 2);
	assert_value(c->value[0][TRACK_VALUE][0], 10);
	assert_value(c->value[0][TRACK_VALUE][1], 1);
	stop(c);
	/* Damage in the middle of a total: what is known is a part. */
	c = start(&b, REPLAY_TOTAL, 0, VALUE);
	feed(c, &b, 0, 2);
	assert_int_equal(replay_break(c->replay), 0);
	feed(c, &b, 2, 2);
	replay_finish(c->replay);
	assert_int_equal(c->n, 1);
	assert_value(c->value[0][TRACK_VALUE][0], 11);
	assert_true(c->interval[0].partial);
	assert_int_equal(c->interval[0].duration_ns, 2000000000);
	stop(c);
	/* A segment ends; a run ends. */
	for (int run = 0; run < 2; run++) {
		c = start(&b, REPLAY_TOTAL, 0, VALUE);
		b.run = b.segment = 1;
		feed(c, &b, 0, 2);
		b.run += (uint32_t)run;
		b.segment++;
		feed(c, &b, 2, 2);
		replay_finish(c->replay);
		assert_int_equal(c->n, run ? 2 : 1);
		assert_value(c->value[0][TRACK_VALUE][0], run ? 10 : 11);
		assert_false(c->interval[0].partial);
		if (run) {
			assert_value(c->value[0][TRACK_VALUE][1], 1);
			assert_int_equal(c->interval[1].run, 2);
		}
		stop(c);
	}
	builder_release(&b);
}

static void levels(void **state)
{
	static const struct reading table[] = { { 10, 0 }, { 40, 0 }, { 20, 0 }, { 0, PM_REASON_MISSED }, { 30, 0 } };
	struct builder b;
	struct caught *c;

	setup(&b, table, PM_GAUGE, 64);
	c = start(&b, REPLAY_EACH, 0, VALUE);
	feed(c, &b, 0, 5);
	assert_value(c->value[0][TRACK_VALUE][0], 40);
	assert_value(c->value[0][TRACK_VALUE][1], 20);
	assert_missing(c->value[0][TRACK_VALUE][2], PM_REASON_MISSED);
	assert_value(c->value[0][TRACK_VALUE][3], 30);
	stop(c);
	c = start(&b, REPLAY_TOTAL, 0,
		  VALUE | 1u << TRACK_FIRST | 1u << TRACK_LAST | 1u << TRACK_MEAN | 1u << TRACK_MAX);
	feed(c, &b, 0, 5);
	replay_finish(c->replay);
	assert_value(c->value[0][TRACK_VALUE][0], 30);
	assert_value(c->value[0][TRACK_FIRST][0], 10);
	assert_value(c->value[0][TRACK_LAST][0], 30);
	assert_value(c->value[0][TRACK_MAX][0], 40);
	/* Trapezoids: 25 over 1 s, 30 over 1 s, 25 over the 2 s around the reading that is missing. */
	assert_value(c->value[0][TRACK_MEAN][0], (25. + 30 + 2 * 25) / 4);
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

/* ---- perf's multiplexing ---- */

/* Opened 20 ns before the first snapshot, and has not had a turn by then. */
static struct reading waiting(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	if (!strcmp(counter, "enabled"))
		return (struct reading){ 20 + row * 100, 0 };
	if (!strcmp(counter, "running"))
		return (struct reading){ row * 50, 0 };
	return (struct reading){ row * 500, row ? 0 : PM_REASON_NOT_COUNTED };
}

static void turns_that_come_late(void **state)
{
	struct builder b;
	struct caught *c;
	uint32_t counter;

	builder_init(&b, waiting);
	counter = builder_counter(&b, "cycles", "1", PM_CUMULATIVE, PM_AGG_SUM);
	builder_group(&b, PM_CPU, 1, PM_GROUP_PERF_TIMES, &counter, 1);
	c = start(&b, REPLAY_EACH, 0, VALUE);
	feed(c, &b, 0, 3);
	assert_value(c->value[0][TRACK_VALUE][0], 1000);
	assert_value(c->value[0][TRACK_VALUE][1], 1000);
	stop(c);
	c = start(&b, REPLAY_TOTAL, 0, VALUE);
	feed(c, &b, 0, 5);
	replay_finish(c->replay);
	assert_value(c->value[0][TRACK_VALUE][0], 4000);
	stop(c);
	builder_release(&b);
}

/* Counts 1000 a snapshot, enabled for 100 of it; running for 100, 50, 0 and 25 of it in turn. */
static const uint64_t runs[] = { 0, 100, 50, 0, 25 };

static struct reading multiplexed(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	uint64_t running = 0;

	for (uint64_t r = 1; r <= row; r++)
		running += runs[r];
	if (!strcmp(counter, "enabled"))
		return (struct reading){ row * 100, 0 };
	if (!strcmp(counter, "running"))
		return (struct reading){ running, 0 };
	return (struct reading){ 10 * running, 0 };
}

static void scaling(void **state)
{
	struct builder b;
	struct caught *c;
	uint32_t counter;

	builder_init(&b, multiplexed);
	counter = builder_counter(&b, "cycles", "1", PM_CUMULATIVE, PM_AGG_SUM);
	builder_group(&b, PM_CPU, 1, PM_GROUP_PERF_TIMES, &counter, 1);
	for (uint32_t rows = 1; rows <= 5; rows += 4) {
		c = start(&b, REPLAY_EACH, 0, VALUE);
		for (uint32_t i = 0; i < 5; i += rows)
			feed(c, &b, i, rows);
		assert_value(c->value[0][TRACK_VALUE][0], 1000);
		assert_value(c->value[0][TRACK_VALUE][1], 1000);
		assert_missing(c->value[0][TRACK_VALUE][2], PM_REASON_NOT_COUNTED);
		assert_value(c->value[0][TRACK_VALUE][3], 1000);
		stop(c);
	}
	/* A longer interval is scaled once, as perf does with that interval: 1750 * 400 / 175. */
	c = start(&b, REPLAY_TOTAL, 0, VALUE);
	feed(c, &b, 0, 5);
	replay_finish(c->replay);
	assert_value(c->value[0][TRACK_VALUE][0], 4000);
	stop(c);
	/* The user asked for no scaling. */
	assert_int_equal(pm_map_set(&b.model.header, PM_HEADER_SCALED, pm_bool(false)), 0);
	c = start(&b, REPLAY_EACH, 0, VALUE);
	feed(c, &b, 0, 5);
	assert_value(c->value[0][TRACK_VALUE][1], 500);
	assert_value(c->value[0][TRACK_VALUE][2], 0);
	stop(c);
	builder_release(&b);
}

/* ---- time ---- */

static struct reading counts_rows(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	return (struct reading){ row * 10, 0 };
}

static void longer_intervals(void **state)
{
	struct builder b;
	struct caught *c;
	uint32_t counter;

	builder_init(&b, counts_rows);
	b.period_ns = 300000000;
	counter = builder_counter(&b, "test.x", "1", PM_CUMULATIVE, PM_AGG_SUM);
	builder_group(&b, PM_CPU, 1, 0, &counter, 1);
	c = start(&b, REPLAY_EVERY, 1000000000, VALUE);
	feed(c, &b, 0, 6);
	feed(c, &b, 6, 5);
	replay_finish(c->replay);
	/* Snapshots at 0, 0.3, ... 3.0: the first at or after 1, 2, 3 s end an interval. */
	assert_int_equal(c->n, 3);
	assert_value(c->value[0][TRACK_VALUE][0], 40);
	assert_int_equal(c->interval[0].duration_ns, 1200000000);
	assert_value(c->value[0][TRACK_VALUE][1], 30);
	assert_value(c->value[0][TRACK_VALUE][2], 30);
	assert_int_equal(c->interval[2].to_ns, BUILDER_START_NS + 3000000000);
	stop(c);
	builder_release(&b);
}

static void window(void **state)
{
	struct replay_config config = { .mode = REPLAY_EACH, .since_ns = BUILDER_START_NS + 3000000000,
					.until_ns = BUILDER_START_NS + 5500000000 };
	struct builder b;
	struct caught *c = calloc(1, sizeof(*c));
	uint32_t counter;

	assert_non_null(c);
	builder_init(&b, counts_rows);
	counter = builder_counter(&b, "test.x", "1", PM_CUMULATIVE, PM_AGG_SUM);
	builder_group(&b, PM_CPU, 1, 0, &counter, 1);
	assert_int_equal(replay_new(&c->replay, &config, catch, c), 0);
	want(c, &b, VALUE);
	feed(c, &b, 0, 2);
	feed(c, &b, 2, 8);
	replay_finish(c->replay);
	assert_int_equal(c->n, 2);
	assert_int_equal(c->interval[0].from_ns, config.since_ns);
	assert_int_equal(c->interval[1].to_ns, BUILDER_START_NS + 5000000000);
	stop(c);
	builder_release(&b);
}

/* Rates go by the times at which the instance was read. */
static struct reading by_time(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	/* Read 0, 1, 2 ... us late in turn: a counter at 1 GHz counts what the clock says. */
	return (struct reading){ row * b->period_ns + i->number * b->read_ns, 0 };
}

static void rates(void **state)
{
	struct builder b;
	struct caught *c;
	uint32_t counter;

	builder_init(&b, by_time);
	b.read_ns = 20000;
	b.period_ns = 1000000;
	counter = builder_counter(&b, "test.x", "1", PM_CUMULATIVE, PM_AGG_SUM);
	builder_group(&b, PM_CPU, 3, 0, &counter, 1);
	c = start(&b, REPLAY_EACH, 0, VALUE | 1u << TRACK_RATE | 1u << TRACK_ELAPSED);
	feed(c, &b, 0, 3);
	for (int t = 0; t < 3; t++) {
		assert_value(c->value[t][TRACK_ELAPSED][1], 0.001);
		assert_true(c->value[t][TRACK_RATE][1].v > 999999999. && c->value[t][TRACK_RATE][1].v < 1000000001.);
	}
	stop(c);
	builder_release(&b);
}

/* ---- groups that come and go ---- */

static void a_series_goes_on_in_a_new_group(void **state)
{
	struct builder b;
	struct caught *c;
	uint32_t counter;

	builder_init(&b, counts_rows);
	counter = builder_counter(&b, "test.x", "1", PM_CUMULATIVE, PM_AGG_SUM);
	builder_group(&b, PM_CPU, 1, 0, &counter, 1);
	c = start(&b, REPLAY_EACH, 0, VALUE);
	feed(c, &b, 0, 3);
	/* The second group has one CPU more. */
	builder_group(&b, PM_CPU, 2, 0, &counter, 1);
	want(c, &b, VALUE);
	assert_int_equal(replay_tracks(c->replay), 2);
	assert_int_equal(replay_chunk(c->replay, builder_chunk(&b, 3, 3, 2)), 0);
	assert_int_equal(c->n, 5);
	for (int i = 0; i < 5; i++)
		assert_value(c->value[0][TRACK_VALUE][i], 10);
	/* What was not there before its first reading had no part, which is no loss. */
	assert_missing(c->value[1][TRACK_VALUE][2], PM_REASON_OFFLINE);
	assert_value(c->value[1][TRACK_VALUE][3], 10);
	stop(c);
	builder_release(&b);
}

static void a_group_that_is_missing(void **state)
{
	struct builder b;
	struct caught *c;
	uint32_t counter;

	builder_init(&b, counts_rows);
	counter = builder_counter(&b, "test.x", "1", PM_CUMULATIVE, PM_AGG_SUM);
	builder_group(&b, PM_CPU, 1, 0, &counter, 1);
	c = start(&b, REPLAY_EACH, 0, VALUE);
	feed(c, &b, 0, 3);
	assert_int_equal(replay_chunk(c->replay, builder_chunk(&b, 3, 2, 2)), 0);
	feed(c, &b, 5, 2);
	assert_int_equal(c->n, 6);
	assert_missing(c->value[0][TRACK_VALUE][2], PM_REASON_DROPPED);
	assert_missing(c->value[0][TRACK_VALUE][3], PM_REASON_DROPPED);
	assert_true(c->value[0][TRACK_VALUE][4].reason != 0);
	assert_value(c->value[0][TRACK_VALUE][5], 10);
	stop(c);
	builder_release(&b);
}

/* ---- both ways of computing agree ---- */

struct noise {
	struct reading v[MAX];
	uint64_t enabled[MAX], running[MAX];
};

static struct reading noisy(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	const struct noise *n = b->data;

	if (!strcmp(counter, "enabled"))
		return (struct reading){ n->enabled[row], 0 };
	if (!strcmp(counter, "running"))
		return (struct reading){ n->running[row], 0 };
	return n->v[row];
}

static uint64_t dice(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 33;
}

static void random_recordings(void **state)
{
	struct noise *n = calloc(1, sizeof(*n));
	uint64_t seed = 42;
	size_t compared = 0;

	assert_non_null(n);
	for (int round = 0; round < 40; round++) {
		uint8_t width = round % 2 ? 64 : 20;
		uint64_t unit = round % 5 ? 1 : 1000;
		bool failures = round % 3 == 0;
		struct builder b;
		struct caught *one, *many;
		uint32_t counter;

		for (int i = 1; i < 1000; i++) {
			uint64_t e = 1 + dice(&seed) % 1000, r = dice(&seed) % 4 ? e : dice(&seed) % (e + 1);

			n->enabled[i] = n->enabled[i - 1] + e;
			n->running[i] = n->running[i - 1] + r;
			n->v[i].v = (n->v[i - 1].v + dice(&seed) % 1000000) & (width == 20 ? 0xfffff : UINT64_MAX);
			if (width == 64 && dice(&seed) % 200 == 0)
				n->v[i].v = dice(&seed) % 100;
			n->v[i].status = failures && dice(&seed) % 50 == 0 ? PM_REASON_MISSED : 0;
		}
		builder_init(&b, noisy);
		b.data = n;
		counter = builder_counter(&b, "cycles", "1", PM_CUMULATIVE, PM_AGG_SUM);
		builder_counter_at(&b, counter)->width = width;
		builder_counter_at(&b, counter)->scale.den = unit;
		builder_group(&b, PM_CPU, 1, PM_GROUP_PERF_TIMES, &counter, 1);
		one = start(&b, REPLAY_EACH, 0, VALUE);
		many = start(&b, REPLAY_EACH, 0, VALUE);
		for (uint32_t i = 0; i < 1000; i++)
			feed(one, &b, i, 1);
		for (uint32_t i = 0; i < 1000; i += 100)
			feed(many, &b, i, 100);
		assert_int_equal(one->n, 999);
		assert_int_equal(many->n, 999);
		for (size_t k = 0; k < 999; k++) {
			const struct value *a = &one->value[0][TRACK_VALUE][k], *m = &many->value[0][TRACK_VALUE][k];
			uint64_t e = n->enabled[k + 1] - n->enabled[k], r = n->running[k + 1] - n->running[k];
			uint64_t d = (n->v[k + 1].v - n->v[k].v) & (width == 20 ? 0xfffff : UINT64_MAX);

			/* The truth, written down once more. */
			if (n->v[k].status || n->v[k + 1].status) {
				assert_int_equal(a->reason, PM_REASON_MISSED);
			} else if (width == 64 && n->v[k + 1].v < n->v[k].v) {
				assert_int_equal(a->reason, REPORT_RESET);
			} else if (!r) {
				assert_int_equal(a->reason, PM_REASON_NOT_COUNTED);
			} else {
				uint64_t scaled = r < e ? (uint64_t)((double)d * (double)e / (double)r) : d;

				assert_int_equal(a->reason, 0);
				assert_true(a->v == (double)scaled / (double)unit);
			}
			assert_int_equal(m->reason, a->reason);
			assert_true(a->reason || m->v == a->v);
			compared++;
		}
		stop(one);
		stop(many);
		builder_release(&b);
	}
	assert_int_equal(compared, 40 * 999);
	free(n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(differences),
		cmocka_unit_test(differences_across_chunks),
		cmocka_unit_test(narrow_counters_wrap),
		cmocka_unit_test(wide_counters_reset),
		cmocka_unit_test(failed_reading),
		cmocka_unit_test(not_due),
		cmocka_unit_test(offline_and_back),
		cmocka_unit_test(nothing_across_breaks),
		cmocka_unit_test(levels),
		cmocka_unit_test(deltas_and_peaks),
		cmocka_unit_test(scales_and_types),
		cmocka_unit_test(scaling),
		cmocka_unit_test(turns_that_come_late),
		cmocka_unit_test(longer_intervals),
		cmocka_unit_test(window),
		cmocka_unit_test(rates),
		cmocka_unit_test(a_series_goes_on_in_a_new_group),
		cmocka_unit_test(a_group_that_is_missing),
		cmocka_unit_test(random_recordings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
