/* What is written comes back, through every kind of input; and an index saves reading. */
#include "format/compress.h"
#include "format/frame.h"
#include "format/index.h"
#include "tests/unit/lib/input_memory.h"
#include "tests/unit/lib/sample.h"
#include "tests/unit/lib/test.h"

static const struct sample_options shapes[] = {
	{ .cpus = 2, .rows = 1, .chunks = 70, .interval_ns = 1000000000, .seed = 1 },
	{ .cpus = 1, .rows = 1, .chunks = 1, .interval_ns = 1000000000, .seed = 2 },
	{ .cpus = 3, .rows = 10, .chunks = 50, .interval_ns = 100000000, .seed = 3 },
	{ .cpus = 9, .rows = 128, .chunks = 5, .interval_ns = 1000000, .seed = 4 },
	{ .cpus = 2, .rows = 17, .chunks = 4, .interval_ns = 10000000, .codec = PM_CODEC_PLAIN, .seed = 5 },
	{ .cpus = 130, .rows = 5, .chunks = 20, .interval_ns = 10000000, .seed = 6 },
	{ .cpus = 2, .rows = 3, .chunks = 3000, .interval_ns = 1000000000, .seed = 7 },
};
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

/* Gives a few bytes at a time, and no way to seek. */
struct drip {
	const struct buf *file;
	size_t at, most;
	uint32_t seed;
};
static ssize_t drip_read(void *ctx, void *data, size_t len)
{
	struct drip *d = ctx;
	size_t n = 1 + (d->seed = d->seed * 1664525 + 1013904223) % 97;

	n = n < len ? n : len;
	n = n < d->most - d->at ? n : d->most - d->at;
	memcpy(data, d->file->data + d->at, n);
	d->at += n;
	return (ssize_t)n;
}

/* The file grows between the questions; whatever is there is read, and nothing is called damage. */
static void a_growing_file_is_followed(void **state)
{
	const struct sample_options *o = &shapes[2];
	struct buf file = BUF_INIT;
	struct drip d = { .file = &file, .seed = 9 };
	struct pm_input in = { .ctx = &d, .read = drip_read, .size = UINT64_MAX, .growing = true };
	struct pm_reader *r;
	struct pm_item item;
	uint64_t chunks = 0, waits = 0, wrong = 0;
	int ok;

	sample_write(&file, o);
	assert_int_equal(pm_reader_open(&r, &in, NULL), 0);
	while ((ok = pm_reader_next(r, &item)) != 0) {
		const struct pm_chunk *c;

		if (ok == -EAGAIN) {
			assert_true(d.most < file.len);
			d.most += 1 + (d.seed = d.seed * 1664525 + 1013904223) % 300;
			d.most = d.most < file.len ? d.most : file.len;
			waits++;
			continue;
		}
		assert_int_equal(ok, 1);
		assert_int_not_equal(item.kind, PM_ITEM_DAMAGE);
		if (item.kind != PM_ITEM_CHUNK)
			continue;
		assert_int_equal(pm_reader_decode(r, &c), 0);
		wrong += sample_compare(pm_reader_model(r), o, c);
		chunks++;
	}
	assert_int_equal(chunks, o->chunks);
	assert_int_equal(wrong, 0);
	assert_true(waits > 50);
	pm_reader_close(r);
	buf_release(&file);
}

/* Not a recording: a sentence says what it is. */
static void other_files_are_named(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		int err;
		const char *word;
	} t[] = {
		{ "", 0, -EINVAL, "empty" },
		{ "hello, world\n", 13, -EINVAL, "text" },
		{ "\0\0\0\x84\x50\x05\x26\x02\0\0\0\0", 12, -EINVAL, "PCP" },
		{ "PERFILE2aaaaaaaa", 16, -EINVAL, "perf.data" },
		{ "\x1f\x8b\x08\0\0\0\0\0", 8, -EINVAL, "gzip" },
		{ "\x28\xb5\x2f\xfd\0\0\0\0", 8, -EINVAL, "zstd" },
		{ "\x7f"
		  "ELF\2\1\1",
		  7, -EINVAL, "ELF" },
		{ "\0\1\2\3\4\5\6\7\xff\xfe", 10, -EINVAL, "not a recording" },
		{ "\xd9\xd9\xf7\x88\x48PMR\r\n\x1a\n\2\1\0", 15, -ENOTSUP, "major version 2" },
		{ "\xd9\xd9\xf7\x88\x48PMR\r\n\x1a\n\1\1\0", 15, -EINVAL, "none of its frames can be read" },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct pm_reader *r;
		struct pm_input in;
		struct error e;

		assert_int_equal(input_memory(&in, t[i].bytes, t[i].len), 0);
		assert_int_equal(pm_reader_open(&r, &in, &e), t[i].err);
		assert_null(r);
		if (!strstr(e.text, t[i].word))
			fail_msg("\"%s\" lacks \"%s\"", e.text, t[i].word);
	}
}

static bool only_idle(void *ctx, const struct pm_group *g)
{
	++*(int *)ctx;
	return g->id == SAMPLE_IDLE;
}

/* Groups that are not asked for stay away, and damage in their blocks is nobody's business. */
static void selection_decodes_what_it_names(void **state)
{
	struct sample_options o = shapes[5];
	struct buf file = BUF_INIT;
	struct pm_reader *r;
	struct pm_input in;
	struct pm_item item;
	int asked = 0, chunks = 0, late = 0, ok;

	o.rows = 8;
	sample_write(&file, &o);
	assert_int_equal(input_memory(&in, file.data, file.len), 0);
	assert_int_equal(pm_reader_open(&r, &in, NULL), 0);
	pm_reader_select(r, only_idle, &asked);
	while ((ok = pm_reader_next(r, &item)) == 1) {
		const struct pm_chunk *c;

		assert_int_not_equal(item.kind, PM_ITEM_DAMAGE);
		if (item.kind != PM_ITEM_CHUNK)
			continue;
		assert_int_equal(pm_reader_decode(r, &c), 0);
		assert_int_equal(sample_compare(pm_reader_model(r), &o, c), 0);
		for (uint32_t g = 0; g < c->n_groups; g++) {
			bool there = chunks < 5 ? c->group[g].group == SAMPLE_IDLE :
						  item.chunk.key || late || c->group[g].group == SAMPLE_IDLE;

			assert_int_equal(c->group[g].absent, !there);
		}
		late |= chunks >= 5 && item.chunk.key;
		if (++chunks == 5) {
			assert_int_equal(asked, SAMPLE_GROUPS);
			pm_reader_select(r, NULL, NULL);
		}
	}
	assert_int_equal(ok, 0);
	assert_int_equal(chunks, o.chunks);
	assert_int_equal(late, 1);
	pm_reader_close(r);
	buf_release(&file);
}

static uint64_t first_chunk_after(struct pm_reader *r, const struct sample_options *o, bool *key)
{
	struct pm_item item;

	while (pm_reader_next(r, &item) == 1) {
		const struct pm_chunk *c;

		assert_int_not_equal(item.kind, PM_ITEM_DAMAGE);
		if (item.kind != PM_ITEM_CHUNK)
			continue;
		assert_int_equal(pm_reader_decode(r, &c), 0);
		assert_int_equal(sample_compare(pm_reader_model(r), o, c), 0);
		for (uint32_t g = 0; g < c->n_groups; g++)
			assert_false(c->group[g].absent);
		*key = item.chunk.key;
		return item.chunk.from_ns;
	}
	fail();
	return 0;
}

static void seeking(void **state)
{
	for (int without = 0; without < 2; without++) {
		struct sample_options o = shapes[6];
		struct buf file = BUF_INIT;
		struct pm_reader *r;
		struct pm_input in;
		struct pm_extent x;
		uint64_t last = sample_tick(&o, (uint64_t)o.chunks * o.rows - 1), read;
		static const uint32_t places[] = { 8000, 100, 8999, 0, 4500, 4501, 20000 };

		o.without_index = without;
		sample_write(&file, &o);
		assert_int_equal(input_memory(&in, file.data, file.len), 0);
		assert_int_equal(pm_reader_open(&r, &in, NULL), 0);
		assert_int_equal(pm_reader_extent(r, &x), 0);
		assert_true(x.from_ns == sample_tick(&o, 0));
		assert_true(x.to_ns == last);
		assert_int_equal(x.chunks, o.chunks);
		assert_int_equal(x.snapshots, o.chunks * o.rows);
		assert_int_equal(x.indexed, !without);
		for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
			uint64_t want = sample_tick(&o, places[i]), got;
			bool key;

			assert_int_equal(pm_reader_seek(r, want, i % 2), 0);
			got = first_chunk_after(r, &o, &key);
			assert_true(key);
			assert_true(got <= want);
			assert_true(got + 16ull * o.rows * o.interval_ns > (want < last ? want : last));
		}
		read = pm_reader_bytes(r);
		pm_reader_close(r);

		/* From there to the end, as many chunks as there are. */
		assert_int_equal(input_memory(&in, file.data, file.len), 0);
		assert_int_equal(pm_reader_open(&r, &in, NULL), 0);
		assert_int_equal(pm_reader_seek(r, last, false), 0);
		read = pm_reader_bytes(r);
		print_message("%s: %zu bytes, seeking the end reads %llu\n", without ? "by hopping" : "by index",
			      file.len, (unsigned long long)read);
		if (!without)
			assert_true(read < file.len / 2);
		pm_reader_close(r);
		buf_release(&file);
	}
}

UNIT_TESTS(cmocka_unit_test(a_growing_file_is_followed), cmocka_unit_test(other_files_are_named),
	   cmocka_unit_test(selection_decodes_what_it_names), cmocka_unit_test(seeking))
