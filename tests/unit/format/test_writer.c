/* When the writer repeats itself, what it refuses, and what a failing sink does to it. */
#include <malloc.h>
#include <sys/resource.h>

#include "common/sandbox.h"
#include "format/codec/block.h"
#include "format/frame.h"
#include "tests/unit/lib/input_memory.h"
#include "tests/unit/lib/sample.h"
#include "tests/unit/lib/test.h"

static const struct sample_options small = {
	.cpus = 2,
	.rows = 1,
	.chunks = 70,
	.interval_ns = 1000000000,
	.seed = 1,
};

/* When chunks must start from absolute values. */
static void key_chunks(void **state)
{
	static const struct {
		const char *why;
		uint32_t run, segment, groups;
		bool swap, break_before, no_raw, key;
	} t[] = {
		{ "first", 1, 0, 2, .key = true },
		{ "plain", 1, 0, 2, .key = false },
		{ "other order", 1, 0, 2, .swap = true, .key = false },
		{ "fewer groups", 1, 0, 1, .key = false },
		{ "plain", 1, 0, 1, .key = false },
		{ "more groups", 1, 0, 2, .key = false },
		{ "segment", 1, 1, 2, .key = true },
		{ "run", 2, 1, 2, .key = true },
		{ "plain", 2, 1, 2, .key = false },
		{ "break", 2, 1, 2, .break_before = true, .key = true },
		{ "a clock is gone", 2, 1, 2, .no_raw = true, .key = true },
		{ "still gone", 2, 1, 2, .no_raw = true, .key = false },
		{ "and back", 2, 1, 2, .key = true },
	};
	struct sample_options o = small;
	struct buf file = BUF_INIT;
	struct pm_model m;
	struct pm_writer_config config = { .sink = sample_sink, .sink_ctx = &file, .model = &m };
	uint64_t cells[64] = { 0 }, number;
	struct pm_writer *w;
	struct pm_reader *r;
	struct pm_input in;
	struct pm_item item;
	size_t i = 0;

	pm_model_init(&m);
	sample_model(&m, &o);
	assert_int_equal(pm_writer_new(&w, &config, NULL), 0);
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		uint64_t tick = 10000000 * (i + 1);
		struct pm_chunk_group g[2] = { { .group = t[i].swap ? 3 : 2, .v = cells, .stride = 1 },
					       { .group = t[i].swap ? 2 : 3, .v = cells, .stride = 1 } };
		struct pm_chunk c = { .run = t[i].run,
				      .segment = t[i].segment,
				      .rows = 1,
				      .tick = &tick,
				      .number = &number,
				      .clocks = { tick, t[i].no_raw ? 0 : tick + 5, 0, tick, 0 },
				      .group = g,
				      .n_groups = t[i].groups };

		number = i;
		for (size_t k = 0; k < 64; k++)
			cells[k] = tick + k;
		if (t[i].break_before)
			pm_writer_break(w);
		assert_int_equal(pm_writer_chunk(w, &c), 0);
	}
	assert_int_equal(pm_writer_finish(w), 0);
	pm_writer_free(w);
	assert_int_equal(input_memory(&in, file.data, file.len), 0);
	assert_int_equal(pm_reader_open(&r, &in, NULL), 0);
	i = 0;
	while (pm_reader_next(r, &item) == 1) {
		const struct pm_chunk *c;

		assert_int_not_equal(item.kind, PM_ITEM_DAMAGE);
		if (item.kind != PM_ITEM_CHUNK)
			continue;
		if (item.chunk.key != t[i].key)
			fail_msg("chunk %zu (%s)", i, t[i].why);
		assert_int_equal(pm_reader_decode(r, &c), 0);
		assert_true(c->clocks.monotonic_raw == (t[i].no_raw ? 0 : c->tick[0] + 5));
		assert_true(c->clocks.realtime == 0);
		assert_int_equal(c->n_groups, t[i].groups);
		for (uint32_t g = 0; g < c->n_groups; g++)
			for (uint32_t k = 0;
			     k < pm_group_columns(pm_model_group(pm_reader_model(r), c->group[g].group)); k++)
				if (pm_group_head(pm_model_group(pm_reader_model(r), c->group[g].group)) > k)
					assert_true(c->group[g].v[k] == c->tick[0] + k);
		i++;
	}
	assert_int_equal(i, sizeof(t) / sizeof(t[0]));
	pm_reader_close(r);
	pm_model_release(&m);
	buf_release(&file);
}

static long faults(void)
{
	struct rusage u;

	assert_int_equal(getrusage(RUSAGE_SELF, &u), 0);
	return u.ru_minflt;
}

/* Copies of definitions need much memory, and each page of it is a fault that a recorder would record of itself: the
 * writer has it before the first chunk. */
static void copies_need_no_memory(void **state)
{
	struct sample_options o = small;
	struct buf file = BUF_INIT;
	struct pm_model m;
	struct pm_writer_config config = { .sink = sample_sink, .sink_ctx = &file, .model = &m };
	uint64_t cells[64] = { 0 }, tick = 1000000000, number = 0;
	struct pm_chunk_group g = { .group = 2, .v = cells, .stride = 1 };
	struct pm_chunk c = { .run = 1, .rows = 1, .tick = &tick, .number = &number, .group = &g, .n_groups = 1 };
	struct pm_writer *w;
	long before;

	/* As in pmrec. */
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	pm_model_init(&m);
	sample_model(&m, &o);
	assert_int_equal(pm_writer_new(&w, &config, NULL), 0);
	assert_int_equal(pm_writer_define(w), 0);
	assert_int_equal(pm_writer_chunk(w, &c), 0);
	before = faults();
	for (size_t frames = pm_writer_stats(w).frames; pm_writer_stats(w).frames - frames < 6; number++) {
		assert_true(number < 3);
		tick += 1000000000;
		assert_int_equal(pm_writer_chunk(w, &c), 0);
	}
	if (!SANDBOX_SANITIZED && faults() - before > 40)
		fail_msg("%ld faults", faults() - before);
	pm_writer_free(w);
	pm_model_release(&m);
	buf_release(&file);
}

/* A bad sector of 4 KiB takes one copy of the definitions at most, wherever it lies and however long the recording. */
static void copies_lie_apart(void **state)
{
	static const uint32_t chunks[] = { 1, 5, 12, 13, 40, 14, 50, 15, 110, 80, 400, 16, 4000 };
	unsigned at_end = 0, left_out = 0;

	for (size_t i = 0; i < sizeof(chunks) / sizeof(chunks[0]); i++) {
		struct sample_options o = small;
		struct buf file = BUF_INIT;
		uint64_t first_end = 0, start = 0, end = 0, copies = 1, gap = 0, size = 0, last_size = 0, behind = 0;
		bool apart = false, were_apart = false;
		struct pm_reader *r;
		struct pm_input in;
		struct pm_item item;

		o.chunks = chunks[i];
		o.cpus = i % 2 ? 120 : 2;
		sample_write(&file, &o);
		assert_int_equal(input_memory(&in, file.data, file.len), 0);
		assert_int_equal(pm_reader_open(&r, &in, NULL), 0);
		while (pm_reader_next(r, &item) == 1) {
			bool again = item.kind == PM_ITEM_MODEL && item.parts & PM_PART_REPEATED;

			if (item.kind == PM_ITEM_CHUNK && !first_end)
				first_end = item.offset;
			if (again && item.parts & PM_PART_HEADER) {
				start = item.offset;
				gap = start - (end ? end : first_end);
				were_apart = apart;
				apart |= gap >= 4096;
				last_size = size;
				assert_true(copies == 1 || o.chunks <= 40 || start >= end + 4096);
				copies++;
			}
			if (again) {
				end = item.offset + item.length;
				size = end - start;
				behind = 0;
			}
			if (item.kind == PM_ITEM_CHUNK)
				behind = item.offset + item.length - end;
		}
		/* Before the end stands one that is worth its bytes, or little follows the last. */
		if (were_apart && !behind) {
			assert_true(gap >= 4096 && gap >= 4 * last_size);
			at_end++;
		} else if (apart && behind) {
			assert_true(behind < 4096 || behind < 4 * size);
			left_out += behind >= 4096;
		}
		assert_true(file.len < first_end + 4096 + 2048 || start >= first_end + 4096);
		pm_reader_close(r);
		buf_release(&file);
	}
	assert_true(at_end && left_out);
}

static void wrong_chunks_are_refused(void **state)
{
	struct sample_options o = small;
	uint64_t cells[64] = { 0 }, tick[130] = { 5 }, number[130] = { 0 };
	struct pm_chunk_group g[2] = { { .group = 2, .v = cells, .stride = 1 },
				       { .group = 2, .v = cells, .stride = 1 } };
	struct pm_chunk c = { .run = 1, .rows = 1, .tick = tick, .number = number, .group = g, .n_groups = 1 };

	for (int what = 0; what < 8; what++) {
		struct buf file = BUF_INIT;
		struct pm_model m;
		struct pm_writer_config config = { .sink = sample_sink, .sink_ctx = &file, .model = &m };
		struct pm_writer *w;

		pm_model_init(&m);
		sample_model(&m, &o);
		assert_int_equal(pm_writer_new(&w, &config, NULL), 0);
		c.rows = what == 0 ? 0 : what == 1 ? 129 : what == 2 ? 2 : 1; /* 2: more rows than the stride */
		c.n_groups = what == 3 ? 2 : 1;                               /* 3: a group twice */
		g[0].group = what == 4 ? 9 : 2;                               /* 4: an unknown group */
		g[0].v = what == 5 ? NULL : cells;                            /* 5: no values */
		g[0].absent = what == 7;                                      /* 7: none at all, which is good */
		if (what == 6)
			assert_int_equal(pm_model_retire_group(&m, 2), 0);
		assert_int_equal(pm_writer_chunk(w, &c), what == 7 ? 0 : -EINVAL);
		assert_int_equal(pm_writer_event(w, &(struct pm_event){ .type = 1 }), what == 7 ? 0 : -EINVAL);
		assert_int_equal(pm_writer_finish(w), what == 7 ? 0 : -EINVAL);
		assert_int_equal(pm_writer_finish(w), what == 7 ? 0 : -EINVAL);
		pm_writer_free(w);
		pm_model_release(&m);
		buf_release(&file);
	}
}

UNIT_TESTS(cmocka_unit_test(key_chunks), cmocka_unit_test(copies_need_no_memory), cmocka_unit_test(copies_lie_apart),
	   cmocka_unit_test(wrong_chunks_are_refused))
