/* Chunks that are copied as they are: each that cannot be is refused before anything of it is written, and the copy has the
 * same values however its chunks came there. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/lib/sample.h"

static const struct sample_options shape = { .cpus = 2, .rows = 3, .chunks = 8, .interval_ns = 5000000, .seed = 7 };

/* Groups of the output besides those of the sample, in whose columns the bytes of SAMPLE_PERF or SAMPLE_LIST would mean
 * something else. */
enum { FEWER = SAMPLE_GROUPS + 1, OTHER_WIDTH, OTHER_TYPE, OTHER_TIMES, ALONE, NO_GROUP = 99 };

struct trial {
	struct buf file, out;
	struct pm_reader *r;
	struct pm_writer *w;
	struct pm_model model; /* of the output */
	const struct pm_chunk *chunk;
	uint32_t to[SAMPLE_GROUPS + 1]; /* the group of the output, by that of the input */
	const uint64_t *add[SAMPLE_GROUPS + 1];
};

static uint32_t group_of(const void *ctx, uint32_t from, const uint64_t **add)
{
	const struct trial *t = ctx;

	*add = t->add[from];
	return t->to[from];
}

static void add_others(struct pm_model *m)
{
	uint32_t counter[] = { 1, 2, 2, 1, 4, 5, 7, 6 }, cpu[] = { 2, 3 }, four[] = { 1, 1, 1, 1 };
	struct pm_group g = { .source = (char *)"perf",
			      .flags = PM_GROUP_PERF_TIMES,
			      .counter = counter,
			      .n_counters = 1,
			      .instance = cpu,
			      .n_instances = 2 };

	assert_int_equal(pm_model_add_group(m, &g), FEWER);
	g.n_counters = 2;
	g.counter = counter + 2;
	assert_int_equal(pm_model_add_group(m, &g), OTHER_WIDTH);
	g = (struct pm_group){ .source = (char *)"msr",
			       .flags = PM_GROUP_LIST,
			       .counter = counter + 4,
			       .n_counters = 4,
			       .instance = four,
			       .n_instances = 4 };
	assert_int_equal(pm_model_add_group(m, &g), OTHER_TYPE);
	/* As many columns as the idle times, in other places. */
	g = (struct pm_group){
		.source = (char *)"x", .counter = counter, .n_counters = 2, .instance = cpu, .n_instances = 1
	};
	assert_int_equal(pm_model_add_group(m, &g), OTHER_TIMES);
	g.flags = PM_GROUP_SHARED_TIME;
	assert_int_equal(pm_model_add_group(m, &g), ALONE);
}

static void start(struct trial *t, enum pm_codec from, enum pm_codec to)
{
	struct pm_writer_config config = {
		.sink = sample_sink, .sink_ctx = &t->out, .model = &t->model, .codec = to
	};
	struct sample_options o = shape;
	struct pm_input in;

	*t = (struct trial){ .to = { 0, 1, 2, 3 } };
	o.codec = from;
	sample_write(&t->file, &o);
	pm_model_init(&t->model);
	sample_model(&t->model, &o);
	add_others(&t->model);
	assert_int_equal(pm_input_memory(&in, t->file.data, t->file.len), 0);
	assert_int_equal(pm_reader_open(&t->r, &in, NULL), 0);
	assert_int_equal(pm_writer_new(&t->w, &config, NULL), 0);
	assert_int_equal(pm_writer_define(t->w), 0);
}

static bool next(struct trial *t, bool decode)
{
	struct pm_item item;

	while (pm_reader_next(t->r, &item) == 1) {
		if (item.kind != PM_ITEM_CHUNK)
			continue;
		if (decode)
			assert_int_equal(pm_reader_decode(t->r, &t->chunk), 0);
		return true;
	}
	return false;
}

static int repack(struct trial *t, const struct pm_chunk *c, bool moved, uint64_t add_ns)
{
	return pm_repack(t->w, t->r, c, &(struct pm_repack){ group_of, t, moved, add_ns });
}

static bool follows(struct trial *t, bool moved)
{
	return pm_repack_follows(t->w, t->r, &(struct pm_repack){ group_of, t, moved, 0 });
}

/* The rest in whichever way is possible; how many were copied as they are. */
static uint32_t finish(struct trial *t)
{
	struct pm_reader *r;
	struct pm_input in;
	struct pm_item item;
	uint64_t wrong = 0;
	uint32_t chunks = 0, copied = 0;

	while (next(t, true)) {
		int err = repack(t, t->chunk, false, 0);

		copied += !err;
		if (err == -EAGAIN)
			err = pm_writer_chunk(t->w, t->chunk);
		assert_int_equal(err, 0);
	}
	assert_int_equal(pm_writer_finish(t->w), 0);
	assert_int_equal(pm_input_memory(&in, t->out.data, t->out.len), 0);
	assert_int_equal(pm_reader_open(&r, &in, NULL), 0);
	while (pm_reader_next(r, &item) == 1) {
		const struct pm_chunk *c;

		assert_int_not_equal(item.kind, PM_ITEM_DAMAGE);
		if (item.kind != PM_ITEM_CHUNK)
			continue;
		assert_int_equal(pm_reader_decode(r, &c), 0);
		wrong += sample_compare(pm_reader_model(r), &shape, c);
		chunks++;
	}
	assert_int_equal(wrong, 0);
	assert_int_equal(chunks, shape.chunks);
	pm_reader_close(r);
	pm_reader_close(t->r);
	pm_writer_free(t->w);
	pm_model_release(&t->model);
	buf_release(&t->file);
	buf_release(&t->out);
	return copied;
}

/* Copies two chunks, and stands on the third, which depends on them. */
static void go_to_third(struct trial *t)
{
	start(t, PM_CODEC_PACKED, PM_CODEC_PACKED);
	for (int i = 0; i < 2; i++) {
		assert_true(next(t, true));
		assert_int_equal(repack(t, t->chunk, false, 0), 0);
	}
	assert_true(next(t, true));
}

static void assert_refused(struct trial *t, const struct pm_chunk *c, bool moved, uint64_t add_ns)
{
	size_t len = t->out.len;

	assert_int_equal(repack(t, c, moved, add_ns), -EAGAIN);
	assert_int_equal(t->out.len, len);
}

static void other_chunks_are_refused(void **state)
{
	enum { RUN, SEGMENT, RAW, REALTIME, BOOTTIME, COUNTER, ROWS, TICK, BREAK, WAYS };
	struct trial t;

	(void)state;
	for (int way = 0; way < WAYS; way++) {
		uint64_t tick[PM_CHUNK_ROWS];
		struct pm_chunk c;

		go_to_third(&t);
		c = *t.chunk;
		memcpy(tick, c.tick, c.rows * sizeof(*tick));
		c.run += way == RUN;
		c.segment += way == SEGMENT;
		c.clocks.monotonic_raw *= way != RAW;
		c.clocks.realtime *= way != REALTIME;
		c.clocks.boottime *= way != BOOTTIME;
		c.clocks.counter *= way != COUNTER;
		c.rows -= way == ROWS;
		tick[1] += way == TICK;
		c.tick = tick;
		if (way == BREAK)
			pm_writer_break(t.w);
		assert_refused(&t, &c, false, 0);
		/* What is packed anew has these clocks. */
		assert_int_equal(pm_writer_chunk(t.w, way < ROWS ? &c : t.chunk), 0);
		assert_in_range(finish(&t), 1, shape.chunks - 4);
	}
	go_to_third(&t);
	assert_int_equal(repack(&t, t.chunk, false, 0), 0);
	assert_int_equal(finish(&t), shape.chunks - 3);
}

static void other_groups_are_refused(void **state)
{
	static const struct {
		uint32_t from, to;
	} map[] = {
		{ 1, 0 },          { 1, NO_GROUP }, { 1, FEWER },       { 1, OTHER_WIDTH },
		{ 3, OTHER_TYPE }, { 2, 1 },        { 2, OTHER_TIMES }, { 2, ALONE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(map) / sizeof(*map); i++) {
		struct trial t;

		go_to_third(&t);
		t.to[map[i].from] = map[i].to;
		assert_refused(&t, t.chunk, false, 0);
		t.to[map[i].from] = map[i].from;
		assert_int_equal(pm_writer_chunk(t.w, t.chunk), 0);
		t.to[map[i].from] = map[i].to;
		assert_false(follows(&t, false));
		t.to[map[i].from] = map[i].from;
		/* From the next key chunk on others are copied again. */
		assert_in_range(finish(&t), 1, shape.chunks - 4);
	}
}

static void other_codecs_are_refused(void **state)
{
	(void)state;
	for (int way = 0; way < 2; way++) {
		struct trial t;

		start(&t, way ? PM_CODEC_PLAIN : PM_CODEC_PACKED, way ? PM_CODEC_PACKED : PM_CODEC_PLAIN);
		assert_int_equal(finish(&t), 0);
	}
}

/* What was not decoded is not known to be good. */
static void chunks_are_decoded_before(void **state)
{
	struct trial t;

	(void)state;
	start(&t, PM_CODEC_PACKED, PM_CODEC_PACKED);
	assert_false(follows(&t, false));
	assert_true(next(&t, true));
	assert_false(follows(&t, false));
	assert_int_equal(repack(&t, t.chunk, false, 0), 0);
	assert_true(next(&t, false));
	assert_refused(&t, t.chunk, false, 0);
	assert_false(follows(&t, false));
	assert_int_equal(pm_reader_decode(t.r, &t.chunk), 0);
	assert_int_equal(repack(&t, t.chunk, false, 0), 0);
	assert_int_equal(finish(&t), shape.chunks - 2);
}

/* Only differences can stay as they are when something is added to numbers. */
static void moved_chunks(void **state)
{
	static const uint64_t one[64] = { [0] = 1 }, none[64] = { 0 };
	static const struct {
		const uint64_t *add;
		uint64_t add_ns;
		bool good;
	} how[] = { { NULL, 0, true }, { none, 0, true }, { NULL, 1, false }, { one, 0, false } };

	(void)state;
	for (size_t i = 0; i < sizeof(how) / sizeof(*how); i++) {
		struct trial t;

		/* A key chunk has numbers. */
		start(&t, PM_CODEC_PACKED, PM_CODEC_PACKED);
		for (int g = 1; g <= SAMPLE_GROUPS; g++)
			t.add[g] = how[i].add;
		assert_true(next(&t, true));
		assert_refused(&t, t.chunk, true, how[i].add_ns);
		/* What was packed anew is followed if it is the same. */
		assert_int_equal(pm_writer_chunk(t.w, t.chunk), 0);
		assert_int_equal(follows(&t, true), how[i].add != one);
		assert_true(next(&t, true));
		assert_int_equal(repack(&t, t.chunk, true, how[i].add_ns), how[i].good ? 0 : -EAGAIN);
		if (!how[i].good)
			assert_int_equal(pm_writer_chunk(t.w, t.chunk), 0);
		assert_int_equal(finish(&t) == shape.chunks - 2, how[i].good);
	}
}

/* Times are stored as distances from their ticks, and from each other: they stay if all are moved alike. */
static void distances_stay(void **state)
{
	enum { ROWS = 32, COLUMNS = 3 };
	static const uint64_t alike[COLUMNS] = { 1000, 1000, 0 }, apart[COLUMNS] = { 1000, 1001, 0 };
	static const struct {
		const uint64_t *add;
		uint64_t add_ns;
		int err;
	} how[] = { { alike, 1000, 0 }, { apart, 1000, -EAGAIN }, { alike, 999, -EAGAIN }, { NULL, 0, 0 } };

	(void)state;
	for (size_t i = 0; i < sizeof(how) / sizeof(*how); i++) {
		uint64_t tick[ROWS], number[ROWS], moved[COLUMNS * ROWS], cells[COLUMNS * ROWS], noise = 1;
		uint8_t flags[ROWS] = { 0 };
		uint32_t one = 1;
		const struct pm_group g = { .source = (char *)"s",
					    .flags = PM_GROUP_SHARED_TIME,
					    .counter = &one,
					    .n_counters = 1,
					    .instance = &one,
					    .n_instances = 1 };
		struct trial t = { .to = { 0, 1 }, .add = { NULL, how[i].add } };
		struct pm_writer_config config = { .sink = sample_sink, .sink_ctx = &t.file, .model = &t.model };
		struct pm_chunk_group of = { .group = 1, .v = cells, .stride = ROWS };
		struct pm_chunk c = { .run = 1,
				      .rows = ROWS,
				      .tick = tick,
				      .number = number,
				      .flags = flags,
				      .group = &of,
				      .n_groups = 1,
				      .clocks.monotonic = 1 };
		struct pm_input in;

		pm_model_init(&t.model);
		assert_int_equal(pm_model_add_instance(&t.model, &(struct pm_instance){ .kind = PM_CPU }), 1);
		assert_int_equal(pm_model_add_counter(&t.model, &(struct pm_counter){ .name = (char *)"n" }), 1);
		assert_int_equal(pm_model_add_group(&t.model, &g), 1);
		assert_int_equal(pm_writer_new(&t.w, &config, NULL), 0);
		for (uint64_t n = 0; n < 2 * ROWS; n++) {
			uint64_t *at = cells + n % ROWS;

			noise = noise * 6364136223846793005u + 1442695040888963407u;
			tick[n % ROWS] = 5000000000 + n * 1000000;
			number[n % ROWS] = n;
			at[0] = tick[n % ROWS] + (noise >> 60);
			at[ROWS] = at[0] + 50 + (noise >> 56) % 16;
			at[2 * ROWS] = 7000 + n * 10;
			if (n % ROWS == ROWS - 1)
				assert_int_equal(pm_writer_chunk(t.w, &c), 0);
		}
		assert_int_equal(pm_writer_finish(t.w), 0);
		pm_writer_free(t.w);
		config.sink_ctx = &t.out;
		assert_int_equal(pm_writer_new(&t.w, &config, NULL), 0);
		assert_int_equal(pm_input_memory(&in, t.file.data, t.file.len), 0);
		assert_int_equal(pm_reader_open(&t.r, &in, NULL), 0);
		assert_true(next(&t, true));
		c = *t.chunk;
		for (uint32_t k = 0; k < ROWS; k++) {
			tick[k] = c.tick[k] + how[i].add_ns;
			for (uint32_t m = 0; m < COLUMNS; m++)
				moved[m * ROWS + k] = c.group->v[m * ROWS + k] + (how[i].add ? how[i].add[m] : 0);
		}
		c.tick = tick;
		of = *c.group;
		of.v = moved;
		c.group = &of;
		assert_int_equal(pm_writer_chunk(t.w, &c), 0);
		assert_true(follows(&t, true));
		assert_true(next(&t, true));
		assert_int_equal(repack(&t, t.chunk, true, how[i].add_ns), how[i].err);
		pm_reader_close(t.r);
		pm_writer_free(t.w);
		pm_model_release(&t.model);
		buf_release(&t.file);
		buf_release(&t.out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(other_chunks_are_refused),
		cmocka_unit_test(other_groups_are_refused),
		cmocka_unit_test(other_codecs_are_refused),
		cmocka_unit_test(chunks_are_decoded_before),
		cmocka_unit_test(moved_chunks),
		cmocka_unit_test(distances_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
