/* What the reader says and does when a recording is cut, patched, mixed up or continued. */
#include "format/crc32c.h"
#include "format/frame.h"
#include "tests/unit/lib/input_memory.h"
#include "tests/unit/lib/sample.h"
#include "tests/unit/lib/test.h"

static const struct sample_options shape = {
	.cpus = 2,
	.rows = 2,
	.chunks = 64,
	.interval_ns = 5000000,
	.seed = 11,
};

struct frame {
	size_t at, len;
	unsigned type;
	uint64_t sequence;
};

/* The frames of a file, as its own heads tell. */
static size_t list_frames(const struct buf *file, struct frame *list, size_t max)
{
	size_t n = 0, at = 0;

	while (at < file->len && n < max) {
		struct frame_head h;
		unsigned major;
		size_t need;

		assert_int_equal(frame_parse(file->data + at, file->len - at, &h, &need, &major), FRAME_OK);
		list[n++] = (struct frame){ .at = at, .len = frame_len(&h), .type = h.type, .sequence = h.sequence };
		at += frame_len(&h);
	}
	return n;
}

static size_t nth_chunk(const struct frame *list, size_t n, size_t nth)
{
	for (size_t i = 0; i < n; i++)
		if (list[i].type == PM_FRAME_CHUNK && !nth--)
			return i;
	fail();
	return 0;
}

struct result {
	uint64_t chunks, wrong, snapshots, models, recordings;
	struct pm_damage damage[16];
	size_t n_damage;
	bool seen[256]; /* snapshots that came */
};

static struct result read_file(const void *data, size_t len, const struct sample_options *o)
{
	struct result x = { 0 };
	const struct pm_damage *d;
	struct pm_reader *r;
	struct pm_input in;
	struct pm_item item;
	size_t told = 0;
	int ok;

	assert_int_equal(input_memory(&in, data, len), 0);
	assert_int_equal(pm_reader_open(&r, &in, NULL), 0);
	while ((ok = pm_reader_next(r, &item)) == 1) {
		const struct pm_chunk *c;

		told += item.kind == PM_ITEM_DAMAGE;
		x.models += item.kind == PM_ITEM_MODEL;
		x.recordings += item.kind == PM_ITEM_RECORDING;
		if (item.kind != PM_ITEM_CHUNK || pm_reader_decode(r, &c))
			continue;
		x.chunks++;
		x.snapshots += c->rows;
		x.wrong += sample_compare(pm_reader_model(r), o, c);
		/* Differences are taken of snapshots that follow each other, whatever lies between them. */
		if (x.chunks > 1 && !x.recordings && (uint64_t)sample_of_tick(o, c->tick[0]) < 256)
			x.wrong += c->after_loss == x.seen[sample_of_tick(o, c->tick[0]) - 1];
		for (uint32_t k = 0; k < c->rows; k++) {
			uint64_t n = sample_of_tick(o, c->tick[k]);

			if (n < 256)
				x.seen[n] = true;
		}
	}
	assert_int_equal(ok, 0);
	assert_int_equal(x.wrong, 0);
	d = pm_reader_damage(r, &x.n_damage);
	assert_int_equal(told, x.n_damage);
	assert_true(x.n_damage <= 16);
	if (x.n_damage)
		memcpy(x.damage, d, x.n_damage * sizeof(*d));
	pm_reader_close(r);
	return x;
}

static void assert_damage(const struct result *x, size_t i, enum pm_damage_kind kind, uint64_t offset,
			  uint64_t length)
{
	assert_true(i < x->n_damage);
	if (x->damage[i].kind != kind || x->damage[i].offset != offset || x->damage[i].length != length)
		fail_msg("damage %zu is kind %d at %llu + %llu (%s)", i, x->damage[i].kind,
			 (unsigned long long)x->damage[i].offset, (unsigned long long)x->damage[i].length,
			 x->damage[i].text);
}

struct fixture {
	struct buf file;
	struct frame frame[128];
	size_t n;
};

static struct fixture make(const struct sample_options *o)
{
	struct fixture f = { .file = BUF_INIT };

	sample_write(&f.file, o);
	f.n = list_frames(&f.file, f.frame, 128);
	return f;
}

/* The file of a recorder that was killed in a write, and another one behind: nothing of that is lost. */
static void another_inside_a_cut_frame(void **state)
{
	struct fixture f = make(&shape);
	size_t cut[] = { nth_chunk(f.frame, f.n, 18), 1 };

	for (size_t i = 0; i < sizeof(cut) / sizeof(*cut); i++) {
		struct frame *in = &f.frame[cut[i]];
		struct buf both = BUF_INIT;
		struct result x;

		buf_add(&both, f.file.data, in->at + in->len - 40);
		buf_add(&both, f.file.data, f.file.len);
		x = read_file(both.data, both.len, &shape);
		assert_int_equal(x.recordings, 1);
		assert_int_equal(x.chunks, (i ? 0 : 18) + shape.chunks);
		assert_int_equal(x.n_damage, 2);
		assert_damage(&x, 0, PM_DAMAGE_GARBAGE, in->at, in->len - 40);
		assert_damage(&x, 1, PM_DAMAGE_NO_END, in->at + in->len - 40, 0);
		assert_false(x.damage[0].harmless);
		buf_release(&both);
	}
	buf_release(&f.file);
}

/* Bytes in many heads, or in many frames, that all claim what follows and have wrong checksums: good frames inside are
 * found, but not at any price. */
static void claims_within_claims(void **state)
{
	enum { CLAIMED = 1 << 20 };

	(void)state;
	for (int heads = 0; heads < 2; heads++) {
		for (int n = 3; n <= 200; n += 197) {
			struct fixture f = make(&shape);
			size_t at = f.frame[nth_chunk(f.frame, f.n, 63)].at;
			struct buf file = BUF_INIT, one = BUF_INIT, meta = BUF_INIT;
			struct result x;

			buf_add(&file, f.file.data, at);
			buf_addstr(&meta, "\xa1\x01\x1a");
			for (int k = 24; k >= 0; k -= 8)
				buf_addch(&meta, (char)(CLAIMED >> k));
			for (int i = 0; i < n; i++) {
				one.len = 0;
				frame_add(&one, PM_FRAME_PROBES, 1000 + (uint64_t)i, f.file.data + 16, &meta, NULL,
					  0);
				one.len -= FRAME_TRAILER + 1;
				if (heads)
					one.len -= FRAME_TRAILER + meta.len + 1;
				buf_add(&file, one.data, one.len);
				buf_addch(&file, 0x5a);
				buf_add(&file, meta.data + 3, 4);
			}
			buf_add(&file, f.file.data, f.file.len);
			/* What begins a checksum, wherever one is looked for. */
			while (file.len < 2 * CLAIMED)
				buf_addch(&file, 0x44);
			x = read_file(file.data, file.len, &shape);
			assert_int_equal(x.chunks, n == 3 ? 63 + 64 : 63);
			buf_release(&file);
			buf_release(&one);
			buf_release(&meta);
			buf_release(&f.file);
		}
	}
}

/* A suffix starts without definitions; they come again, after which everything is read. */
static void a_suffix_heals(void **state)
{
	struct sample_options o = { .cpus = 2, .rows = 1, .chunks = 1500, .interval_ns = 1000000000, .seed = 12 };
	struct buf file = BUF_INIT;
	struct pm_reader *r;
	struct pm_input in;
	struct pm_item item;
	uint64_t decoded = 0, groups = 0;
	int ok;

	sample_write(&file, &o);
	assert_int_equal(input_memory(&in, file.data + file.len / 3, file.len - file.len / 3), 0);
	assert_int_equal(pm_reader_open(&r, &in, NULL), 0);
	while ((ok = pm_reader_next(r, &item)) == 1) {
		const struct pm_chunk *c;

		if (item.kind != PM_ITEM_CHUNK || pm_reader_decode(r, &c))
			continue;
		assert_int_equal(sample_compare(pm_reader_model(r), &o, c), 0);
		decoded++;
		groups += c->n_groups;
	}
	assert_int_equal(ok, 0);
	assert_true(decoded > 900);
	assert_true(groups / SAMPLE_GROUPS > 600);
	assert_true(pm_map_equal(&pm_reader_model(r)->header, &pm_reader_model(r)->header));
	assert_string_equal(pm_map_text(&pm_reader_model(r)->header, PM_HEADER_TOOL, ""), "sample 1");
	pm_reader_close(r);
	buf_release(&file);
}

static void foreign_and_repeated_frames(void **state)
{
	struct fixture f = make(&shape);
	size_t a = nth_chunk(f.frame, f.n, 10), b = nth_chunk(f.frame, f.n, 20);
	struct buf mixed = BUF_INIT, foreign = BUF_INIT;
	struct result x;

	/* Frame a once more behind frame b; and before it a frame with another recording's id. */
	buf_add(&foreign, f.file.data + f.frame[a].at, f.frame[a].len);
	{
		struct buf meta = BUF_INIT;
		uint8_t id[8] = "other";

		buf_addch(&meta, (char)0xa0);
		foreign.len = 0;
		frame_add(&foreign, PM_FRAME_EVENT, 5, id, &meta, "", 0);
		buf_release(&meta);
	}
	buf_add(&mixed, f.file.data, f.frame[b].at);
	buf_add(&mixed, foreign.data, foreign.len);
	buf_add(&mixed, f.file.data + f.frame[a].at, f.frame[a].len);
	buf_add(&mixed, f.file.data + f.frame[b].at, f.file.len - f.frame[b].at);
	x = read_file(mixed.data, mixed.len, &shape);
	assert_int_equal(x.chunks, 64);
	assert_int_equal(x.n_damage, 1);
	assert_damage(&x, 0, PM_DAMAGE_FOREIGN, f.frame[b].at, foreign.len + f.frame[a].len);
	assert_int_equal(x.damage[0].frames, 2);
	assert_true(x.damage[0].harmless);
	buf_release(&mixed);
	buf_release(&foreign);
	buf_release(&f.file);
}

/* What is repeated later serves the chunks before it. */
static void first_copy_lost(void **state)
{
	struct sample_options o = shape;
	struct fixture f;
	struct result x;
	size_t first;

	o.interval_ns = 50000000;
	f = make(&o);
	first = nth_chunk(f.frame, f.n, 0);
	for (size_t at = 0; at < f.frame[first].at; at += 300) {
		struct buf copy = BUF_INIT;
		size_t n = f.frame[first].at - at < 512 ? f.frame[first].at - at : 512;

		buf_add(&copy, f.file.data, f.file.len);
		memset(copy.data + at, 0, n);
		x = read_file(copy.data, copy.len, &o);
		assert_true(x.n_damage > 0);
		assert_int_equal(x.chunks, o.chunks);
		buf_release(&copy);
	}
	/* All of it. */
	memset(f.file.data, 0, f.frame[first].at);
	x = read_file(f.file.data, f.file.len, &o);
	assert_int_equal(x.chunks, o.chunks);
	buf_release(&f.file);
}

/* A dependent chunk in the middle: it and its followers up to the next key chunk are lost, with their times. */
static void one_bad_chunk(void **state)
{
	struct fixture f = make(&shape);
	size_t bad = nth_chunk(f.frame, f.n, 24);
	struct result x;

	f.file.data[f.frame[bad].at + f.frame[bad].len - 20] ^= 4;
	x = read_file(f.file.data, f.file.len, &shape);
	/* Chunks 25-29 lie before a marker; 30-37 behind it; chunk 38 is a key chunk, as 6 and 22 are. */
	assert_int_equal(x.chunks, 64 - 14);
	assert_int_equal(x.n_damage, 1);
	assert_damage(&x, 0, PM_DAMAGE_GARBAGE, f.frame[bad].at, f.frame[bad].len);
	assert_int_equal(x.damage[0].frames, 1);
	assert_int_equal(x.damage[0].chunks, 13);
	assert_int_equal(x.damage[0].chunks_end, f.frame[nth_chunk(f.frame, f.n, 38)].at);
	assert_int_equal(x.damage[0].snapshots, 14 * 2);
	assert_int_equal(x.damage[0].from_ns, sample_tick(&shape, 2 * 24 - 1));
	assert_int_equal(x.damage[0].to_ns, sample_tick(&shape, 2 * 38));
	assert_false(x.damage[0].harmless);
	for (uint32_t n = 0; n < 128; n++)
		assert_int_equal(x.seen[n], n < 48 || n >= 76);
	buf_release(&f.file);
}

static void missing_frames(void **state)
{
	struct fixture f = make(&shape);
	size_t gone = nth_chunk(f.frame, f.n, 5); /* the last before the second key chunk */
	size_t at = f.frame[gone].at, len = f.frame[gone].len;
	struct result x;

	memmove(f.file.data + at, f.file.data + at + len, f.file.len - at - len);
	x = read_file(f.file.data, f.file.len - len, &shape);
	assert_int_equal(x.chunks, 63);
	assert_int_equal(x.n_damage, 1);
	assert_damage(&x, 0, PM_DAMAGE_LOST, at, 0);
	assert_int_equal(x.damage[0].frames, 1);
	assert_false(x.damage[0].harmless);
	buf_release(&f.file);
}

/* The list of damage has an end, which is no failure. */
static void more_damage_than_is_listed(void **state)
{
	struct fixture f = make(&shape);
	struct buf meta = BUF_INIT;
	const struct pm_damage *d;
	struct frame_head first;
	struct pm_reader *r;
	struct pm_input in;
	struct pm_item item;
	unsigned major;
	size_t need, n, told = 0;
	int ok;

	assert_int_equal(frame_parse(f.file.data, f.file.len, &first, &need, &major), FRAME_OK);
	f.file.len = f.frame[0].len;
	buf_addch(&meta, (char)0xa0);
	/* Every second one is missing, up to the end. */
	for (uint64_t i = 1; i <= 65540; i++)
		frame_add(&f.file, 200, 2 * i, first.id, &meta, NULL, 0);
	assert_int_equal(input_memory(&in, f.file.data, f.file.len), 0);
	assert_int_equal(pm_reader_open(&r, &in, NULL), 0);
	while ((ok = pm_reader_next(r, &item)) == 1)
		told += item.kind == PM_ITEM_DAMAGE;
	assert_int_equal(ok, 0);
	d = pm_reader_damage(r, &n);
	assert_int_equal(n, 65536);
	assert_int_equal(told, n);
	assert_int_equal(d[n - 1].offset + d[n - 1].length, f.file.len);
	pm_reader_close(r);
	buf_release(&meta);
	buf_release(&f.file);
}

UNIT_TESTS(cmocka_unit_test(first_copy_lost), cmocka_unit_test(another_inside_a_cut_frame),
	   cmocka_unit_test(claims_within_claims), cmocka_unit_test(a_suffix_heals),
	   cmocka_unit_test(foreign_and_repeated_frames), cmocka_unit_test(one_bad_chunk),
	   cmocka_unit_test(missing_frames), cmocka_unit_test(more_damage_than_is_listed))
