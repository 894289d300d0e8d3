/* Counters that share hardware, longer intervals, parts of a recording, groups that come and go; and all of it at
 * random. */
#include "report/numbers/statistics.h"
#include "report/replay/replay.c"
#include "tests/unit/lib/replay_caught.h"

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
	c = start(&b, REPLAY_EACH, 0, VALUE | 1u << TRACK_ELAPSED | 1u << TRACK_RATE);
	feed(c, &b, 0, 3);
	for (int k = 0; k < 2; k++) {
		assert_value(c->value[0][TRACK_VALUE][k], 1000);
		assert_value(c->value[0][TRACK_ELAPSED][k], 1);
		assert_value(c->value[0][TRACK_RATE][k], 1000);
	}
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
	/* A longer interval is put together from these; where it never ran nobody knows. */
	c = start(&b, REPLAY_TOTAL, 0, VALUE | 1u << TRACK_RATE);
	feed(c, &b, 0, 5);
	replay_finish(c->replay);
	assert_value(c->value[0][TRACK_VALUE][0], 3000);
	assert_value(c->value[0][TRACK_RATE][0], 1000);
	assert_true(c->support[0][0].known == 3 && c->support[0][0].lost == 1);
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

/* ---- both ways of computing agree ---- */

struct noise {
	struct reading v[CAUGHT_MAX];
	uint64_t enabled[CAUGHT_MAX], running[CAUGHT_MAX];
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

/* Bit by bit: what is faster may round no other way. */
static void assert_same(const struct caught *a, const struct caught *b, size_t tracks, unsigned aspects)
{
	assert_int_equal(a->n, b->n);
	assert_memory_equal(a->interval, b->interval, a->n * sizeof(a->interval[0]));
	for (size_t t = 0; t < tracks; t++)
		for (unsigned x = 0; x < TRACK_ASPECTS; x++)
			for (size_t k = 0; aspects & 1u << x && k < a->n; k++) {
				const struct value *v = &a->value[t][x][k], *w = &b->value[t][x][k];

				assert_int_equal(v->reason, w->reason);
				assert_true(v->reason || (v->v == w->v && v->rest == w->rest));
			}
}

static void random_recordings(void **state)
{
	static const unsigned sets[] = {
		VALUE,
		VALUE | 1u << TRACK_RATE,
		VALUE | 1u << TRACK_ELAPSED,
		VALUE | 1u << TRACK_ELAPSED | 1u << TRACK_RATE,
	};
	struct noise *n = calloc(1, sizeof(*n));
	uint64_t seed = 42;
	size_t compared = 0;

	assert_non_null(n);
	for (int round = 0; round < 40; round++) {
		uint8_t width = round % 2 ? 64 : 20;
		uint64_t unit = round % 5 ? 1 : 1000;
		bool failures = round % 3 == 0;
		struct builder b;
		struct replay_config gather = { .mode = REPLAY_EACH, .gather = true };
		struct caught *one, *many, *gathered;
		unsigned aspects = sets[round % 4];
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
		b.period_ns = 999999937;
		one = start(&b, REPLAY_EACH, 0, aspects);
		many = start(&b, REPLAY_EACH, 0, aspects);
		gathered = start_as(&b, &gather, aspects);
		for (uint32_t i = 0; i < 1000; i++)
			feed(one, &b, i, 1);
		for (uint32_t i = 0, rows; i < 1000; i += rows) {
			rows = 1 + (uint32_t)dice(&seed) % (round % 7 ? 3 : 60);
			rows = rows < 1000 - i ? rows : 1000 - i;
			feed(gathered, &b, i, rows);
		}
		assert_int_equal(replay_settle(gathered->replay), 0);
		for (uint32_t i = 0; i < 1000; i += 100)
			feed(many, &b, i, 100);
		assert_int_equal(one->n, 999);
		assert_int_equal(many->n, 999);
		for (size_t k = 0; k < 999; k++) {
			const struct value *a = &one->value[0][TRACK_VALUE][k], *m = &many->value[0][TRACK_VALUE][k];
			size_t last = k;
			uint64_t e, r, d;
			double s;

			/* The truth, written down once more. What a reading missed comes with the next. */
			while (n->v[last].status)
				last--;
			e = n->enabled[k + 1] - n->enabled[last];
			r = n->running[k + 1] - n->running[last];
			d = (n->v[k + 1].v - n->v[last].v) & (width == 20 ? 0xfffff : UINT64_MAX);
			s = (double)((k + 1 - last) * 999999937) / 1e9;
			if (n->v[k + 1].status) {
				assert_int_equal(a->reason, PM_REASON_MISSED);
			} else if (width == 64 ? d > UINT64_C(1) << 62 :
						 n->v[k + 1].v < n->v[last].v && d > 0x7ffff) {
				assert_int_equal(a->reason, REPORT_RESET);
			} else if (!r) {
				assert_int_equal(a->reason, PM_REASON_NOT_COUNTED);
			} else {
				double scaled = r < e ? (double)d * (double)e / (double)r : (double)d;

				assert_int_equal(a->reason, 0);
				assert_true(a->v == scaled / (double)unit);
				if (aspects & 1u << TRACK_ELAPSED)
					assert_value(one->value[0][TRACK_ELAPSED][k], s);
				if (aspects & 1u << TRACK_RATE)
					assert_value(one->value[0][TRACK_RATE][k], a->v / s);
			}
			assert_int_equal(m->reason, a->reason);
			assert_true(a->reason || m->v == a->v);
			compared++;
		}
		assert_same(one, many, 1, aspects);
		assert_same(one, gathered, 1, aspects);
		stop(one);
		stop(many);
		stop(gathered);
		builder_release(&b);
	}
	assert_int_equal(compared, 40 * 999);
	free(n);
}

/* ---- short chunks that are put together ---- */

static int feed_from(struct caught *c, struct builder *b, uint64_t row, uint32_t n, uint32_t first_group)
{
	return replay_chunk(c->replay, builder_chunk(b, row, n, first_group));
}

/* The same things happen to both; only one puts chunks together. */
static void life_of_a_recording(struct caught *c, struct builder *b, uint32_t counter)
{
	for (uint64_t row = 0; row < 20; row++)
		feed(c, b, row, 1);
	/* One group is not there for a while. */
	for (uint64_t row = 20; row < 23; row++)
		assert_int_equal(feed_from(c, b, row, 1, 2), 0);
	for (uint64_t row = 23; row < 30; row++)
		feed(c, b, row, 1);
	/* Damage. */
	b->after_loss = true;
	for (uint64_t row = 33; row < 40; row++)
		feed(c, b, row, 1);
	/* A segment, a long chunk among short ones, and another run. */
	b->segment++;
	feed(c, b, 40, 1);
	feed(c, b, 41, 100);
	feed(c, b, 141, 1);
	feed(c, b, 142, 2);
	b->run++;
	feed(c, b, 144, 1);
	feed(c, b, 145, 1);
	/* The model grows. */
	assert_int_equal(replay_settle(c->replay), 0);
	builder_group(b, PM_CPU, 3, 0, &counter, 1);
	want(c, b, VALUE | 1u << TRACK_RATE);
	for (uint64_t row = 146; row < 160; row++)
		assert_int_equal(feed_from(c, b, row, 1, 2), 0);
	assert_int_equal(replay_finish(c->replay), 0);
}

static struct reading now_and_then(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	bool fails = row % 11 == 3 + i->number && *(const bool *)b->data;

	return (struct reading){ row * row * (10 + i->number), fails ? PM_REASON_MISSED : 0 };
}

static void gathering(void **state)
{
	static const enum replay_mode modes[] = { REPLAY_EACH, REPLAY_EVERY, REPLAY_TOTAL };
	size_t compared = 0;

	for (unsigned round = 0; round < 24; round++) {
		struct replay_config config = { .mode = modes[round % 3], .every_ns = 2500000000 };
		/* Only where all is counts need rows between the ends of an interval not be kept. */
		enum pm_semantics other = round < 12 ? PM_GAUGE : PM_CUMULATIVE;
		bool fails = round / 3 % 2;
		struct caught *c[2];

		if (round % 12 >= 6) {
			config.since_ns = BUILDER_START_NS + 4000000000;
			config.until_ns = BUILDER_START_NS + 142000000000;
		}
		for (int i = 0; i < 2; i++) {
			uint32_t counter[2];
			struct builder b;

			builder_init(&b, now_and_then);
			b.data = &fails;
			counter[0] = builder_counter(&b, "test.x", "1", PM_CUMULATIVE, PM_AGG_SUM);
			counter[1] = builder_counter(&b, "test.y", "1", other, PM_AGG_SUM);
			builder_group(&b, PM_CPU, 2, 0, &counter[0], 1);
			builder_group(&b, PM_CPU, 1, 0, &counter[1], 1);
			config.gather = i;
			c[i] = start_as(&b, &config, VALUE | 1u << TRACK_RATE);
			life_of_a_recording(c[i], &b, counter[0]);
			compared += c[i]->n;
			replay_free(c[i]->replay);
			builder_release(&b);
		}
		assert_same(c[0], c[1], 3, VALUE | 1u << TRACK_RATE);
		free(c[0]);
		free(c[1]);
	}
	assert_true(compared > 500);
}

/* ---- what a formula takes together ---- */

/* a is missed in row 2, b fails from row 5 on. */
static struct reading unlike_losses(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	bool a = !strcmp(counter, "test.a");

	return (struct reading){ row * (a ? 30 : 10), a && row == 2 ? PM_REASON_MISSED :
						      !a && row > 4 ? pm_reason_errno(5) :
								      0 };
}

/* Both count 10 in 100 ns; a has no counter in row 2. */
static struct reading takes_turns(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	bool a = !strcmp(pm_model_counter(&b->model, b->filling->counter[0])->name, "test.a");

	if (!strcmp(counter, "enabled"))
		return (struct reading){ 100 * row, 0 };
	if (!strcmp(counter, "running"))
		return (struct reading){ 100 * (row - (a && row > 1)), 0 };
	return (struct reading){ 10 * (row - (a && row > 1)), a && row == 2 ? PM_REASON_NOT_COUNTED : 0 };
}

static struct caught *start_joined(struct builder *b, builder_value value, uint32_t groups, uint32_t flags,
				   enum replay_mode mode)
{
	struct caught *c;
	uint32_t counter[2];

	builder_init(b, value);
	counter[0] = builder_counter(b, "test.a", "1", PM_CUMULATIVE, PM_AGG_SUM);
	counter[1] = builder_counter(b, "test.b", "1", PM_CUMULATIVE, PM_AGG_SUM);
	for (uint32_t i = 0; i < groups; i++)
		builder_group(b, PM_CPU, 1, flags, &counter[i], groups == 1 ? 2 : 1);
	c = start(b, mode, 0, VALUE);
	assert_int_equal(replay_join(c->replay, counter, 2, PM_KINDS, NULL), 1);
	assert_int_equal(
		replay_join(c->replay, (uint32_t[]){ counter[1], counter[0], counter[1] }, 3, PM_KINDS, NULL), 1);
	assert_int_equal(replay_join(c->replay, counter, 1, PM_KINDS, NULL), 0);
	feed(c, b, 0, 2);
	assert_int_equal(replay_joined(c->replay, 0, 1), 0);
	return c;
}

static void joint_readings_without_a_turn(void **state)
{
	struct builder b;
	struct caught *c = start_joined(&b, takes_turns, 2, PM_GROUP_PERF_TIMES, REPLAY_TOTAL);
	uint32_t k;

	feed(c, &b, 2, 3);
	k = replay_joined(c->replay, 1, 1);
	replay_finish(c->replay);
	assert_value(c->value[1][TRACK_VALUE][0], 40);
	assert_value(c->value[k][TRACK_VALUE][0], 30);
	assert_true(c->support[k][0].lost == 1 && c->support[k][0].why == PM_REASON_NOT_COUNTED);
	stop(c);
	builder_release(&b);
}

/* Of two groups that have a, the first feeds it; the second does not stand in where the first is not in a chunk. */
static void joint_readings_of_an_absent_group(void **state)
{
	for (int joined = 0; joined < 2; joined++) {
		struct builder b;
		struct caught *c;
		uint32_t counter[2];

		builder_init(&b, unlike_losses);
		counter[0] = builder_counter(&b, "test.a", "1", PM_CUMULATIVE, PM_AGG_SUM);
		counter[1] = builder_counter(&b, "test.b", "1", PM_CUMULATIVE, PM_AGG_SUM);
		builder_group(&b, PM_CPU, 1, 0, counter, 1);
		builder_group(&b, PM_CPU, 1, 0, counter, 2);
		c = start(&b, REPLAY_EACH, 0, VALUE);
		assert_int_equal(joined ? replay_join(c->replay, counter, 2, PM_KINDS, NULL) : 1, 1);
		feed(c, &b, 0, 2);
		b.partial = true;
		assert_int_equal(replay_chunk(c->replay, builder_chunk(&b, 3, 1, 2)), 0);
		feed(c, &b, 4, 1);
		assert_int_equal(c->n, 3);
		assert_value(c->value[0][TRACK_VALUE][0], 30);
		assert_missing(c->value[0][TRACK_VALUE][1], PM_REASON_NOT_READ);
		assert_true(c->value[0][TRACK_VALUE][2].reason);
		assert_value(c->value[1][TRACK_VALUE][2], 10);
		stop(c);
		builder_release(&b);
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

static struct reading rising(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	(void)b, (void)counter, (void)i;
	return (struct reading){ 10 + row, 0 };
}

/* A reading that was taken at the moment of the one before says nothing about an interval. */
static void level_read_twice_at_once(void **state)
{
	struct builder b;
	struct caught *c;
	uint32_t counter;
	uint64_t *v;

	(void)state;
	builder_init(&b, rising);
	counter = builder_counter(&b, "temperature", "Cel", PM_GAUGE, PM_AGG_MEAN);
	builder_group(&b, PM_CPU, 1, 0, &counter, 1);
	c = start(&b, REPLAY_EACH, 0, VALUE | 1u << TRACK_ELAPSED);
	v = (uint64_t *)(uintptr_t)builder_chunk(&b, 0, 4, 1)->group[0].v;
	v[2] = v[1];
	v[4 + 2] = v[4 + 1];
	assert_int_equal(replay_chunk(c->replay, &b.chunk), 0);
	assert_int_equal(c->n, 3);
	assert_value(c->value[0][TRACK_VALUE][0], 11);
	assert_missing(c->value[0][TRACK_VALUE][1], VALUE_NO_INTERVAL);
	assert_missing(c->value[0][TRACK_ELAPSED][1], VALUE_NO_INTERVAL);
	assert_value(c->value[0][TRACK_VALUE][2], 13);
	assert_value(c->value[0][TRACK_ELAPSED][2], 2);
	stop(c);
	builder_release(&b);
}

UNIT_TESTS(cmocka_unit_test(span), cmocka_unit_test(level_read_twice_at_once), cmocka_unit_test(turns_that_come_late),
	   cmocka_unit_test(scaling), cmocka_unit_test(random_recordings), cmocka_unit_test(gathering),
	   cmocka_unit_test(joint_readings_without_a_turn), cmocka_unit_test(joint_readings_of_an_absent_group))
