/* Calls of a reader that tests of whole recordings do not make: in another order, on inputs of other kinds, on clocks that
 * could not be read, and after a failure. */
#include "format/frame.h"
#include "tests/unit/lib/input_memory.h"
#include "tests/unit/lib/sample.h"
#include "tests/unit/lib/test.h"

static const struct sample_options shape = { .cpus = 2, .rows = 3, .chunks = 8, .interval_ns = 5000000, .seed = 3 };

struct bytes {
	const struct buf *file;
	size_t at, fails_at; /* reading from there fails; 0: never */
};

static ssize_t read_bytes(void *ctx, void *data, size_t len)
{
	struct bytes *b = ctx;
	size_t n = b->file->len - b->at < len ? b->file->len - b->at : len;

	if (b->fails_at && b->at + n > b->fails_at)
		n = b->fails_at > b->at ? b->fails_at - b->at : 0;
	if (b->fails_at && !n)
		return -EIO;
	memcpy(data, b->file->data + b->at, n);
	b->at += n;
	return (ssize_t)n;
}

static int seek_bytes(void *ctx, uint64_t offset)
{
	((struct bytes *)ctx)->at = (size_t)offset;
	return 0;
}

static struct pm_reader *open_memory(const struct buf *file)
{
	struct pm_reader *r;
	struct pm_input in;

	assert_int_equal(input_memory(&in, file->data, file->len), 0);
	assert_int_equal(pm_reader_open(&r, &in, NULL), 0);
	return r;
}

static int to_chunk(struct pm_reader *r)
{
	struct pm_item item;
	int ok;

	while ((ok = pm_reader_next(r, &item)) == 1 && item.kind != PM_ITEM_CHUNK)
		;
	return ok;
}

static void chunks_are_decoded_once(void **state)
{
	const struct pm_chunk *c, *again;
	struct buf file = BUF_INIT;
	struct pm_reader *r;

	(void)state;
	sample_write(&file, &shape);
	r = open_memory(&file);
	assert_int_equal(pm_reader_decode(r, &c), -EINVAL);
	assert_null(c);
	assert_int_equal(to_chunk(r), 1);
	assert_int_equal(pm_reader_decode(r, &c), 0);
	assert_int_equal(pm_reader_decode(r, &again), 0);
	assert_ptr_equal(c, again);
	while (to_chunk(r) == 1)
		;
	assert_int_equal(pm_reader_decode(r, &c), -EINVAL);
	pm_reader_close(r);
	buf_release(&file);
}

/* Wherever the input fails, the calls that follow say so, too. */
static void failures_stay(void **state)
{
	struct sample_options large = shape;
	struct buf file = BUF_INIT;
	unsigned in_chunks = 0;

	(void)state;
	large.cpus = 200;
	sample_write(&file, &large);
	for (size_t at = 200; at < file.len; at += file.len / 50) {
		struct bytes b = { .file = &file, .fails_at = at };
		struct pm_input in = { .ctx = &b, .read = read_bytes, .seek = seek_bytes, .size = file.len };
		const struct pm_chunk *c;
		struct pm_reader *r;
		struct pm_item item;
		int err;

		err = pm_reader_open(&r, &in, NULL);
		if (err) {
			assert_int_equal(err, -EIO);
			continue;
		}
		while ((err = to_chunk(r)) == 1) {
			err = pm_reader_decode(r, &c);
			in_chunks += err < 0;
			if (err)
				break;
		}
		assert_int_equal(err, -EIO);
		assert_int_equal(pm_reader_next(r, &item), -EIO);
		assert_int_equal(pm_reader_decode(r, &c), -EIO);
		assert_int_equal(pm_reader_seek(r, 0, false), -EIO);
		pm_reader_close(r);
	}
	assert_true(in_chunks > 0);
	buf_release(&file);
}

static void inputs_of_other_kinds(void **state)
{
	static const struct {
		const char *path;
		int err;
		bool seeks;
		ssize_t n; /* what a read returns */
	} rows[] = {
		{ "/", -EISDIR, false, 0 },
		{ "/nowhere/at/all", -ENOENT, false, 0 },
		{ "/dev/null", 0, false, 0 },
		{ "/dev/zero", 0, false, 1 },
		{ "/proc/self/cmdline", 0, true, 1 },
		{ "/proc/self/mem", 0, true, -EIO }, /* nothing is mapped at 0 */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct error e = { 0 };
		struct pm_input in;
		char byte;

		assert_int_equal(pm_input_path(&in, rows[i].path, false, &e), rows[i].err);
		assert_int_equal(rows[i].err != 0, *e.text != '\0');
		if (rows[i].err)
			continue;
		assert_int_equal(in.seek != NULL, rows[i].seeks);
		assert_int_equal(in.read(in.ctx, &byte, 1), rows[i].n);
		if (in.seek && rows[i].n > 0)
			assert_int_equal(in.seek(in.ctx, UINT64_MAX), -EINVAL);
		in.close(in.ctx);
	}
}

/* What remains of clocks, of which some could not be read, in all chunks and in dependent ones only. */
static void clocks_may_be_unknown(void **state)
{
	enum { RAW = 1, REALTIME = 2, BOOTTIME = 4, COUNTER = 8, ALL = 15 };

	(void)state;
	for (unsigned has = 0; has <= ALL; has++) {
		for (unsigned later = 0; later <= ALL; later++) {
			uint64_t tick = 1000000000, number = 0, cells[64] = { 0 };
			struct buf file = BUF_INIT;
			struct pm_chunk_group g = { .group = SAMPLE_IDLE, .v = cells, .stride = 1 };
			struct pm_chunk c = { .run = 1,
					      .rows = 1,
					      .tick = &tick,
					      .number = &number,
					      .flags = (uint8_t[1]){ 0 },
					      .group = &g,
					      .n_groups = 1 };
			struct pm_writer_config config = { .sink = sample_sink, .sink_ctx = &file };
			struct pm_clocks in[3], out[3] = { 0 };
			struct pm_writer *w;
			struct pm_reader *r;
			struct pm_model m;

			pm_model_init(&m);
			sample_model(&m, &shape);
			config.model = &m;
			assert_int_equal(pm_writer_new(&w, &config, NULL), 0);
			for (uint64_t k = 0; k < 3; k++) {
				unsigned known = k ? later : has;

				tick += 1000000;
				number = k;
				in[k] = (struct pm_clocks){
					.monotonic = tick + 7,
					.monotonic_raw = known & RAW ? tick + 9 : 0,
					.realtime = known & REALTIME ? tick + 1700000000000000000ull : 0,
					.boottime = known & BOOTTIME ? tick + 77 : 0,
					.counter = known & COUNTER ? 2 * tick : 0,
				};
				c.clocks = in[k];
				assert_int_equal(pm_writer_chunk(w, &c), 0);
			}
			assert_int_equal(pm_writer_finish(w), 0);
			pm_writer_free(w);
			r = open_memory(&file);
			assert_int_equal(pm_reader_clocks(r, out, 3, UINT64_MAX), 3);
			assert_memory_equal(in, out, sizeof(in));
			/* Its rate is known from two places where both clocks are. */
			assert_int_equal(pm_reader_model(r)->counter_hz,
					 (has & later & (RAW | COUNTER)) == (RAW | COUNTER) ? 2000000000 : 0);
			assert_int_equal(pm_reader_realtime(r, tick), 0);
			while (to_chunk(r) == 1)
				;
			assert_int_equal(pm_reader_realtime(r, tick),
					 (has | later) & REALTIME ? tick + 1700000000000000000ull - 7 : 0);
			pm_reader_close(r);
			pm_model_release(&m);
			buf_release(&file);
		}
	}
}

/* Each source whose values are lost is named once, also if its name is a part of another's. */
static void lost_sources_are_named(void **state)
{
	static const char *const source[] = { "ab", "a", "xa", "a", "ab", "" };
	enum { SMALL = sizeof(source) / sizeof(*source), LARGE = 600 };
	uint64_t tick = 1000000000, number = 0, cells[LARGE + 2];
	struct pm_chunk_group g[SMALL + 1];
	struct pm_chunk c = { .run = 1,
			      .rows = 1,
			      .tick = &tick,
			      .number = &number,
			      .flags = (uint8_t[1]){ 0 },
			      .group = g,
			      .n_groups = SMALL + 1,
			      .clocks.monotonic = 1 };
	struct buf file = BUF_INIT;
	struct pm_model m;
	struct pm_writer_config config = { .sink = sample_sink, .sink_ctx = &file, .model = &m };
	uint32_t one = 1, all[LARGE];
	const struct pm_chunk *read;
	const struct pm_damage *d;
	struct pm_writer *w;
	struct pm_reader *r;
	struct frame_head h;
	size_t n, begins, need;
	unsigned major;

	(void)state;
	pm_model_init(&m);
	assert_int_equal(pm_model_add_counter(&m, &(struct pm_counter){ .name = (char *)"n", .unit = (char *)"1" }),
			 1);
	for (uint32_t i = 0; i < LARGE; i++) {
		all[i] = i + 1;
		cells[i + 2] = (i + 1) * 0x9e3779b97f4a7c15u;
		assert_int_equal(pm_model_add_instance(&m, &(struct pm_instance){ .kind = PM_CPU, .number = i }),
				 i + 1);
	}
	cells[0] = cells[1] = tick;
	for (uint32_t i = 0; i <= SMALL; i++) {
		const struct pm_group group = { .source = (char *)(i < SMALL ? source[i] : "large"),
						.flags = PM_GROUP_SHARED_TIME,
						.counter = &one,
						.n_counters = 1,
						.instance = all,
						.n_instances = i < SMALL ? 1 : LARGE };

		g[i] = (struct pm_chunk_group){ .group = i + 1, .v = cells, .stride = 1 };
		assert_int_equal(pm_model_add_group(&m, &group), i + 1);
	}
	assert_int_equal(pm_writer_new(&w, &config, NULL), 0);
	assert_int_equal(pm_writer_define(w), 0);
	begins = file.len;
	assert_int_equal(pm_writer_chunk(w, &c), 0);
	/* The block of the small groups comes first in the payload. */
	assert_int_equal(frame_parse(file.data + begins, file.len - begins, &h, &need, &major), FRAME_OK);
	assert_int_equal(h.type, PM_FRAME_CHUNK);
	file.data[begins + h.head_len + 2] ^= 1;
	assert_int_equal(pm_writer_finish(w), 0);
	pm_writer_free(w);
	r = open_memory(&file);
	assert_int_equal(to_chunk(r), 1);
	assert_int_equal(pm_reader_decode(r, &read), 0);
	for (uint32_t i = 0; i <= SMALL; i++)
		assert_int_equal(read->group[i].absent, i < SMALL);
	d = pm_reader_damage(r, &n);
	assert_int_equal(n, 1);
	assert_int_equal(d->kind, PM_DAMAGE_PARTIAL);
	assert_non_null(strstr(d->text, "of 1 of its 2 blocks fail (ab, a, xa"));
	pm_reader_close(r);
	pm_model_release(&m);
	buf_release(&file);
}

UNIT_TESTS(cmocka_unit_test(chunks_are_decoded_once), cmocka_unit_test(failures_stay),
	   cmocka_unit_test(inputs_of_other_kinds), cmocka_unit_test(clocks_may_be_unknown),
	   cmocka_unit_test(lost_sources_are_named))
