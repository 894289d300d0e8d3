/* A recording is read and written again while the n-th allocation, read, seek or write fails, for every n: the copy ends
 * with this error, or is the same as ever. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "format/compress.h"
#include "report/copy/rewrite.h"
#include "tests/unit/lib/churn.h"
#include "tests/unit/lib/sample.h"

enum what { ALLOCATION, READ, SEEK, WRITE, WHATS };
static const int error_of[WHATS] = { ENOMEM, EIO, ESTALE, ENOSPC };

static struct {
	long left[WHATS]; /* until one fails; 0: none does */
	bool failed;
} world;

static bool refused(enum what w)
{
	bool now = world.left[w] && !--world.left[w];

	world.failed |= now;
	return now;
}

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
char *__real_strdup(const char *s);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
char *__wrap_strdup(const char *s);
int __wrap_random_bytes(void *out, size_t n);

void *__wrap_malloc(size_t n)
{
	return refused(ALLOCATION) ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return refused(ALLOCATION) ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
	return refused(ALLOCATION) ? NULL : __real_realloc(p, n);
}

char *__wrap_strdup(const char *s)
{
	return refused(ALLOCATION) ? NULL : __real_strdup(s);
}

/* Ids of copies are the same, so that copies are. */
int __wrap_random_bytes(void *out, size_t n)
{
	memset(out, 0x5a, n);
	return 0;
}

/* How bytes come. */
struct way {
	size_t step;  /* at most so many with a read; 0: all */
	bool stream;  /* no seek */
	bool growing; /* every other read finds the end so far */
	bool wrapped; /* in a zstd stream */
};

struct bytes {
	const struct buf *file;
	struct way way;
	size_t at;
	bool paused;
};

static ssize_t read_bytes(void *ctx, void *data, size_t len)
{
	struct bytes *b = ctx;
	size_t n = b->file->len - b->at;

	if (refused(READ))
		return -error_of[READ];
	b->paused = b->way.growing && !b->paused;
	if (b->paused)
		return 0;
	n = n < len ? n : len;
	n = b->way.step && n > b->way.step ? b->way.step : n;
	memcpy(data, b->file->data + b->at, n);
	b->at += n;
	return (ssize_t)n;
}

static int seek_bytes(void *ctx, uint64_t offset)
{
	struct bytes *b = ctx;

	if (refused(SEEK))
		return -error_of[SEEK];
	b->at = (size_t)offset;
	return 0;
}

static int write_bytes(void *ctx, const void *data, size_t len)
{
	struct buf *b = ctx;

	if (refused(WRITE))
		return -error_of[WRITE];
	buf_add(b, data, len);
	return b->err;
}

static int open_bytes(struct pm_reader **r, struct bytes *b, struct error *e)
{
	struct pm_input in = { .ctx = b,
			       .read = read_bytes,
			       .seek = b->way.stream || b->way.wrapped ? NULL : seek_bytes,
			       .size = b->way.growing || b->way.wrapped ? UINT64_MAX : b->file->len,
			       .growing = b->way.growing };
	struct pm_input inner = in;
	int err = 0;

	if (b->way.wrapped)
		err = pm_input_zstd(&in, &inner, b->file->data, b->at = 4, e);
	return err ? err : pm_reader_open(r, &in, e);
}

static int copy(struct buf *out, struct bytes *b, const struct rewrite_rules *rules)
{
	struct pm_reader *r = NULL;
	struct rewrite *w = NULL;
	struct error e = { 0 };
	int err = open_bytes(&r, b, &e);

	if (!err)
		err = rewrite_new(&w, rules, write_bytes, out, &e);
	if (!err)
		err = rewrite_recording(w, r, &e);
	if (!err)
		err = rewrite_finish(w, &e);
	assert_true(!err || *e.text);
	rewrite_free(w);
	pm_reader_close(r);
	return err;
}

/* Number by number. */
static void say_chunk(struct buf *out, const struct pm_model *m, const struct pm_chunk *c)
{
	for (uint32_t i = 0; i < c->n_groups; i++) {
		const struct pm_chunk_group *g = &c->group[i];
		uint32_t columns = g->absent ? 0 : pm_group_columns(pm_model_group(m, g->group));

		buf_printf(out, "\ngroup %u:", g->group);
		for (uint32_t k = 0; k < columns; k++) {
			for (uint32_t r = 0; r < c->rows; r++) {
				unsigned status = g->status ? g->status[k * g->stride + r] : 0;

				buf_printf(out, " %u %llu", status,
					   status ? 0ull : (unsigned long long)g->v[k * g->stride + r]);
			}
		}
	}
}

/* What a reader says of the whole, then what it meets, with any rules from the middle on. */
static int look(struct buf *out, struct bytes *b, const struct rewrite_rules *rules)
{
	struct pm_reader *r = NULL;
	struct pm_clocks clocks[4] = { 0 };
	const struct pm_chunk *chunk;
	struct pm_extent x = { 0 };
	struct error e = { 0 };
	struct pm_item item;
	int err = open_bytes(&r, b, &e);

	if (!err)
		err = pm_reader_extent(r, &x);
	if (!err)
		err = pm_reader_clocks(r, clocks, 4, 0);
	if (err >= 0)
		err = rules ? pm_reader_seek(r, x.from_ns + (x.to_ns - x.from_ns) / 2, false) : 0;
	buf_add(out, &x.from_ns, sizeof(x.from_ns));
	buf_add(out, &x.to_ns, sizeof(x.to_ns));
	buf_add(out, &x.snapshots, sizeof(x.snapshots));
	buf_add(out, clocks, sizeof(clocks));
	while (!err && (err = pm_reader_next(r, &item)) == 1) {
		err = item.kind == PM_ITEM_CHUNK ? pm_reader_decode(r, &chunk) : 0;
		if (!err && item.kind == PM_ITEM_CHUNK)
			say_chunk(out, pm_reader_model(r), chunk);
	}
	pm_reader_close(r);
	return err ? err : out->err;
}

typedef int task(struct buf *out, struct bytes *b, const struct rewrite_rules *rules);

/* A chunk may be packed in another way where memory was refused; its numbers are the same. */
static void assert_same(task *f, const struct buf *out, const struct buf *good)
{
	struct buf said[2] = { 0 };

	if (f == copy && (out->len != good->len || memcmp(out->data, good->data, good->len) != 0)) {
		assert_int_equal(look(&said[0], &(struct bytes){ .file = out }, NULL), 0);
		assert_int_equal(look(&said[1], &(struct bytes){ .file = good }, NULL), 0);
		out = &said[0];
		good = &said[1];
	}
	assert_int_equal(out->len, good->len);
	assert_memory_equal(out->data, good->data, good->len);
	buf_release(&said[0]);
	buf_release(&said[1]);
}

/* Lets each of the things fail that the task does with the file, until it does no more of them. */
static void refuse(task *f, const struct buf *file, struct way way, const struct rewrite_rules *rules)
{
	struct buf good = { 0 };

	memset(&world, 0, sizeof(world));
	assert_int_equal(f(&good, &(struct bytes){ file, way, 0, false }, rules), 0);
	assert_true(good.len > 0);
	for (enum what w = 0; w < WHATS; w++) {
		for (long n = 1;; n++) {
			struct buf out = { 0 };
			int err;

			memset(&world, 0, sizeof(world));
			world.left[w] = n;
			err = f(&out, &(struct bytes){ file, way, 0, false }, rules);
			world.left[w] = 0;
			if (err)
				assert_int_equal(-err, error_of[w]);
			else
				assert_same(f, &out, &good);
			buf_release(&out);
			if (!world.failed)
				break;
		}
	}
	buf_release(&good);
}

static const struct sample_options sample = { .cpus = 2, .rows = 3, .chunks = 4, .interval_ns = 5000000, .seed = 5 };
static const struct churn_options churn = {
	.live = 4, .counters = 2, .replaced = 2, .chunks = 5, .rows = 3, .perf = true, .slow = true, .seed = 3
};

static void copies(void **state)
{
	static const struct rewrite_rules rules[] = {
		{ 0 },
		{ .every = 2 },
		{ .shift_ns = 1000 },
		{ .gather_small = true },
	};
	struct sample_options plain = sample;
	struct buf file[3] = { 0 };

	(void)state;
	plain.codec = PM_CODEC_PLAIN;
	sample_write(&file[0], &sample);
	sample_write(&file[1], &plain);
	churn_write(&file[2], &churn);
	for (size_t f = 0; f < 3; f++) {
		for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++)
			refuse(copy, &file[f], (struct way){ 0 }, &rules[i]);
		refuse(look, &file[f], (struct way){ 0 }, NULL);
		refuse(look, &file[f], (struct way){ 0 }, rules);
		buf_release(&file[f]);
	}
}

/* However the bytes come, the copy is the same. */
static void ways(void **state)
{
	static const struct way way[] = {
		{ .step = 1 },       { .step = 7 },
		{ .stream = true },  { .step = 5, .stream = true },
		{ .wrapped = true }, { .step = 3, .wrapped = true },
	};
	const struct rewrite_rules rules = { 0 };
	struct buf file = { 0 }, packed = { 0 }, good = { 0 };
	struct pm_zstd *z = pm_zstd_new();

	(void)state;
	sample_write(&file, &sample);
	assert_int_equal(pm_zstd_compress(z, file.data, file.len, 1, &packed), 0);
	memset(&world, 0, sizeof(world));
	assert_int_equal(copy(&good, &(struct bytes){ &file, { 0 }, 0, false }, &rules), 0);
	for (size_t i = 0; i < sizeof(way) / sizeof(*way); i++) {
		const struct buf *from = way[i].wrapped ? &packed : &file;
		struct buf out = { 0 };

		assert_int_equal(copy(&out, &(struct bytes){ from, way[i], 0, false }, &rules), 0);
		assert_int_equal(out.len, good.len);
		assert_memory_equal(out.data, good.data, good.len);
		buf_release(&out);
		if (way[i].step != 1)
			refuse(copy, from, way[i], &rules);
	}
	pm_zstd_free(z);
	buf_release(&file);
	buf_release(&packed);
	buf_release(&good);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(copies), cmocka_unit_test(ways) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
