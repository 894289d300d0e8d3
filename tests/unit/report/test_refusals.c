/* A recording is read and written again while the n-th read, seek or write fails, for every n: the copy ends
 * with this error, or is the same as ever. */
#include <limits.h>
#include <sys/stat.h>

#include "format/vendor_pack.h"
#include "report/copy/rewrite.h"
#include "tests/unit/lib/churn.h"
#include "tests/unit/lib/refused.h"
#include "tests/unit/lib/sample.h"
#include "tests/unit/lib/test.h"

ssize_t __real_pread(int fd, void *data, size_t n, off_t at);
ssize_t __real_write(int fd, const void *data, size_t n);
ssize_t __wrap_pread(int fd, void *data, size_t n, off_t at);
ssize_t __wrap_write(int fd, const void *data, size_t n);
int __wrap_random_bytes(void *out, size_t n);

ssize_t __wrap_pread(int fd, void *data, size_t n, off_t at)
{
	return refused(READ) ? -1 : __real_pread(fd, data, n, at);
}

ssize_t __wrap_write(int fd, const void *data, size_t n)
{
	errno = error_of[WRITE];
	return refused(WRITE) ? -1 : __real_write(fd, data, n);
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

static int open_bytes(struct pm_reader **r, struct bytes *b, struct error *e)
{
	struct pm_input in = { .ctx = b,
			       .read = read_bytes,
			       .seek = b->way.stream ? NULL : seek_bytes,
			       .size = b->way.growing ? UINT64_MAX : b->file->len,
			       .growing = b->way.growing };

	return pm_reader_open(r, &in, e);
}

static int open_input(void *ctx, size_t i, struct pm_reader **r, const char **name, struct error *e)
{
	(void)i;
	*name = "bytes";
	return open_bytes(r, ctx, e);
}

static int copy(struct buf *out, struct bytes *b, const struct rewrite_rules *rules)
{
	struct rewrite_result result;
	struct error e = { 0 };
	int err = rewrite_all(rules, 1, open_input, b, write_bytes, out, &result, &e);

	assert_true(!err || *e.text);
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

/* At most so many items, as far as there are any; what grows is asked again. */
static int read_on(struct buf *out, struct pm_reader *r, unsigned most, bool forget)
{
	const struct pm_chunk *chunk;
	struct pm_item item;
	unsigned asked = 0;
	int err = 1;

	while (most && (err == 1 || (err == -EAGAIN && ++asked < 400))) {
		err = pm_reader_next(r, &item);
		if (err != 1)
			continue;
		asked = 0;
		most--;
		if (item.kind == PM_ITEM_DAMAGE)
			buf_printf(out, "\ndamage %u", item.damage->kind);
		err = item.kind == PM_ITEM_CHUNK ? pm_reader_decode(r, &chunk) : -EBADMSG;
		if (!err)
			say_chunk(out, pm_reader_model(r), chunk);
		if (!err && forget)
			pm_reader_forget(r, NULL, NULL);
		/* Of a damaged chunk nothing may be left. */
		err = !err || err == -EBADMSG ? 1 : err;
	}
	return err == 1 || err == -EAGAIN ? 0 : err;
}

static int extent_of(struct pm_reader *r, struct pm_extent *x)
{
	int err = -EAGAIN;

	for (int asked = 0; err == -EAGAIN && asked < 200; asked++)
		err = pm_reader_extent(r, x);
	return err;
}

/* What look() says before the values: of what there is so far. */
#define WHOLE (3 * sizeof(uint64_t) + 4 * sizeof(struct pm_clocks))

/* What a reader says of the whole, then what it meets, with any rules from the middle on. */
static int look(struct buf *out, struct bytes *b, const struct rewrite_rules *rules)
{
	struct pm_reader *r = NULL;
	struct pm_clocks clocks[4] = { 0 };
	struct pm_extent x = { 0 };
	struct error e = { 0 };
	int err = open_bytes(&r, b, &e);

	if (!err)
		err = extent_of(r, &x);
	if (!err)
		err = pm_reader_clocks(r, clocks, 4, UINT64_MAX);
	if (err >= 0)
		err = rules ? pm_reader_seek(r, x.from_ns + (x.to_ns - x.from_ns) / 2, false) : 0;
	buf_add(out, &x.from_ns, sizeof(x.from_ns));
	buf_add(out, &x.to_ns, sizeof(x.to_ns));
	buf_add(out, &x.snapshots, sizeof(x.snapshots));
	buf_add(out, clocks, sizeof(clocks));
	if (!err)
		err = read_on(out, r, UINT_MAX, false);
	pm_reader_close(r);
	return err ? err : out->err;
}

static bool one_group(void *ctx, const struct pm_group *g)
{
	return g->id == 1;
}

/* Back and forth in each of the recordings. */
static int wander(struct buf *out, struct bytes *b, const struct rewrite_rules *rules)
{
	struct pm_reader *r = NULL;
	struct error e = { 0 };
	int err = open_bytes(&r, b, &e), more = 1;

	if (!err)
		err = read_on(out, r, 4, false);
	while (!err && more == 1) {
		struct pm_extent x;

		err = extent_of(r, &x);
		for (unsigned turn = 0; turn < 6 && !err; turn++) {
			uint64_t to_ns = turn % 2 ? x.from_ns : x.from_ns + (x.to_ns - x.from_ns) * turn / 4;

			pm_reader_select(r, turn == 2 ? one_group : NULL, NULL);
			err = pm_reader_seek(r, to_ns, turn == 1);
			if (!err)
				err = read_on(out, r, turn == 3 ? UINT_MAX : 4 * turn, turn > 2);
		}
		more = err ? 0 : pm_reader_leave(r);
		if (more)
			err = more < 0 ? more : read_on(out, r, 2, false);
	}
	pm_reader_close(r);
	return err ? err : out->err;
}

typedef int task(struct buf *out, struct bytes *b, const struct rewrite_rules *rules);

/* Lets each of the things fail that the task does with the file, until it does no more of them. */
static void refuse(task *f, const struct buf *file, struct way way, const struct rewrite_rules *rules)
{
	struct buf good = { 0 };

	memset(&world, 0, sizeof(world));
	assert_int_equal(f(&good, &(struct bytes){ file, way, 0, false }, rules), 0);
	assert_true(good.len > 0);
	/* Without memory a reader and a copy end the program. */
	for (enum what w = READ; w < WHATS; w++) {
		for (long n = 1;; n++) {
			struct buf out = { 0 };
			int err;

			memset(&world, 0, sizeof(world));
			world.left[w] = n;
			err = f(&out, &(struct bytes){ file, way, 0, false }, rules);
			world.left[w] = 0;
			if (err) {
				assert_int_equal(-err, error_of[w]);
			} else {
				assert_int_equal(out.len, good.len);
				assert_memory_equal(out.data, good.data, good.len);
			}
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
		{ .gather = true },
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

/* Recordings that are searched frame by frame: without an index, with a damaged one, damaged, cut, followed by another,
 * and growing. */
static void searches(void **state)
{
	struct sample_options without = sample;
	struct buf file[6] = { 0 };
	const struct rewrite_rules rules = { 0 };

	(void)state;
	without.without_index = true;
	sample_write(&file[0], &without);
	for (size_t f = 1; f < 4; f++)
		sample_write(&file[f], &sample);
	file[1].len -= 10;
	file[2].data[file[2].len - 100] ^= 1;
	file[3].data[file[3].len / 2] ^= 1;
	sample_write(&file[4], &sample);
	churn_write(&file[4], &churn);
	churn_write(&file[5], &churn);
	for (size_t f = 0; f < 6; f++) {
		refuse(wander, &file[f], (struct way){ 0 }, NULL);
		refuse(look, &file[f], (struct way){ .growing = true }, NULL);
		refuse(look, &file[f], (struct way){ .step = 50, .growing = true }, &rules);
		if (f < 5)
			refuse(copy, &file[f], (struct way){ 0 }, &rules);
		buf_release(&file[f]);
	}
}

/* A pack is written, and read for a CPU: 0 with all texts, or an error with a sentence. */
static int pack_and_read(const char *path, bool *read_failed)
{
	struct vendor_pack p = { .fd = -1 };
	struct vendor_texts t = { 0 };
	struct error e = { 0 };
	int err;

	*read_failed = false;
	for (uint32_t i = 0; i < 5; i++) {
		char name[] = { 's', (char)('0' + i), '\0' };

		vendor_pack_add_cpu(&p, i ? name : "cpu", vendor_pack_add_set(&p, name));
		buf_printf(&p.set[i].rows, "rows of %s\n", name);
		buf_printf(&p.set[i].list, "list of %s", name);
	}
	err = vendor_pack_write(&p, path, &e);
	vendor_pack_close(&p);
	if (!err) {
		*read_failed = true;
		err = vendor_pack_find(&p, &e);
		if (!err)
			err = vendor_pack_texts(&p, "cpu", &t, &e);
		*read_failed = err;
		vendor_pack_close(&p);
	}
	assert_int_equal(err != 0, *e.text != '\0');
	if (!err) {
		assert_int_equal(t.n, 1);
		assert_string_equal(t.set[0].rows, "rows of s0\n");
		assert_string_equal(t.set[0].metrics, "[list of s0]");
	}
	vendor_texts_release(&t);
	return err;
}

static void packs(void **state)
{
	char folder[] = "/tmp/refusals.XXXXXX", inner[64], path[80];

	(void)state;
	assert_non_null(mkdtemp(folder));
	setenv("XDG_DATA_HOME", folder, 1);
	snprintf(inner, sizeof(inner), "%s/pmrec", folder);
	snprintf(path, sizeof(path), "%s/vendor.pmv", inner);
	for (enum what w = 0; w < WHATS; w++) {
		/* Without memory the program ends. */
		for (long n = 1; w != ALLOCATION; n++) {
			bool reading;
			int err;

			assert_int_equal(mkdir(inner, 0700), 0);
			memset(&world, 0, sizeof(world));
			world.left[w] = n;
			err = pack_and_read(path, &reading);
			world.left[w] = 0;
			if (!world.failed)
				break;
			/* What cannot be read of a pack counts as damage of it. */
			if (err)
				assert_int_equal(err, w == READ ? -EBADMSG : -error_of[w]);
			/* No file is left that was not written whole. */
			assert_int_equal(access(path, F_OK), err && !reading ? -1 : 0);
			unlink(path);
			assert_int_equal(rmdir(inner), 0);
		}
		unlink(path);
		rmdir(inner);
	}
	rmdir(folder);
}

/* However the bytes come, the copy is the same. */
static void ways(void **state)
{
	static const struct way way[] = {
		{ .step = 1 },
		{ .step = 7 },
		{ .stream = true },
		{ .step = 5, .stream = true },
	};
	const struct rewrite_rules rules = { 0 };
	struct buf file = { 0 }, good = { 0 }, grown = { 0 }, still = { 0 };

	(void)state;
	sample_write(&file, &sample);
	memset(&world, 0, sizeof(world));
	assert_int_equal(copy(&good, &(struct bytes){ &file, { 0 }, 0, false }, &rules), 0);
	for (size_t i = 0; i < sizeof(way) / sizeof(*way); i++) {
		struct buf out = { 0 };

		assert_int_equal(copy(&out, &(struct bytes){ &file, way[i], 0, false }, &rules), 0);
		assert_int_equal(out.len, good.len);
		assert_memory_equal(out.data, good.data, good.len);
		buf_release(&out);
		if (way[i].step != 1)
			refuse(copy, &file, way[i], &rules);
	}
	/* What grows meanwhile has the same values. */
	assert_int_equal(look(&still, &(struct bytes){ .file = &file }, NULL), 0);
	assert_int_equal(look(&grown, &(struct bytes){ &file, { .step = 5, .growing = true }, 0, false }, NULL), 0);
	assert_int_equal(grown.len, still.len);
	assert_memory_equal(grown.data + WHOLE, still.data + WHOLE, still.len - WHOLE);
	buf_release(&still);
	buf_release(&grown);
	buf_release(&file);
	buf_release(&good);
}

UNIT_TESTS(cmocka_unit_test(copies), cmocka_unit_test(searches), cmocka_unit_test(packs), cmocka_unit_test(ways))
