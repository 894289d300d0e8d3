/*
 * Bodies of definitions, events and indexes, and heads of chunks, with one byte changed, dropped or added and with
 * right checksums: whatever the reader takes of them has the properties on which all commands rely.
 */
#include "format/cbor.h"
#include "format/compress.h"
#include "format/frame.h"
#include "tests/unit/lib/churn.h"
#include "tests/unit/lib/input_memory.h"
#include "tests/unit/lib/sample.h"
#include "tests/unit/lib/test.h"

#define FRAMES 40

struct piece {
	unsigned type;
	uint64_t sequence;
	bool repeated;
	size_t at, len; /* in the file */
	struct buf meta, body, raw;
};

struct pieces {
	struct piece piece[FRAMES];
	size_t n;
	uint8_t id[8];
};

static uint64_t meta_number(const struct frame_head *h, uint64_t key)
{
	struct cbor c = cbor_over(h->meta, h->meta_len);
	uint64_t found = 0;
	struct cbor_map m;

	for (cbor_map(&c, &m); cbor_next(&c, &m);) {
		if (m.key != key)
			cbor_skip(&c);
		else
			found = key == PM_META_REPEATED ? cbor_bool(&c) : cbor_uint(&c);
	}
	return found;
}

/* Takes a recording apart; bodies are unpacked. */
static void take_apart(struct pieces *p, const struct buf *file)
{
	struct pm_zstd *z = pm_zstd_new();

	for (size_t at = 0; at < file->len && p->n < FRAMES;) {
		struct piece *one = &p->piece[p->n++];
		struct frame_head h;
		const uint8_t *payload;
		unsigned major;
		uint64_t codec;
		size_t need;

		assert_int_equal(frame_parse(file->data + at, file->len - at, &h, &need, &major), FRAME_OK);
		payload = file->data + at + h.head_len;
		memcpy(p->id, h.id, sizeof(p->id));
		one->type = h.type;
		one->sequence = h.sequence;
		one->repeated = meta_number(&h, PM_META_REPEATED);
		buf_add(&one->meta, h.meta, h.meta_len);
		codec = h.type == PM_FRAME_CHUNK ? 0 : meta_number(&h, PM_META_CODEC);
		if (!codec)
			buf_add(&one->body, payload, (size_t)h.payload_len);
		else
			assert_int_equal((codec == PM_BODY_ZSTD ? pm_zstd_decompress : pm_zstd_decompress_known)(
						 z, payload, (size_t)h.payload_len,
						 (size_t)meta_number(&h, PM_META_RAW), &one->body),
					 0);
		buf_add(&one->raw, payload, (size_t)h.payload_len);
		one->at = at;
		one->len = (size_t)frame_len(&h);
		at += one->len;
	}
	pm_zstd_free(z);
}

static void release(struct pieces *p)
{
	for (size_t i = 0; i < p->n; i++) {
		buf_release(&p->piece[i].meta);
		buf_release(&p->piece[i].body);
		buf_release(&p->piece[i].raw);
	}
}

static void put_together(const struct pieces *p, size_t changed, const struct buf *body, struct buf *file)
{
	buf_clear(file);
	for (size_t i = 0; i < p->n; i++) {
		const struct piece *one = &p->piece[i];
		const struct buf *of = i == changed && one->type != PM_FRAME_CHUNK ? body : &one->body;
		struct buf meta = BUF_INIT;

		if (one->type == PM_FRAME_CHUNK || one->type == PM_FRAME_END) {
			buf_add(&meta, i == changed ? body->data : one->meta.data,
				i == changed ? body->len : one->meta.len);
		} else {
			buf_addch(&meta, one->repeated ? 0xa2 : 0xa1);
			buf_add(&meta, (uint8_t[]){ 1, 0x19, (uint8_t)(of->len >> 8), (uint8_t)of->len }, 4);
			if (one->repeated)
				buf_add(&meta, (uint8_t[]){ PM_META_REPEATED, 0xf5 }, 2);
		}
		frame_add(file, one->type, one->sequence, p->id, &meta, of->data, of->len);
		buf_release(&meta);
	}
}

static void assert_sound(const struct pm_model *m)
{
	for (uint32_t i = 0; i < m->n_counters; i++) {
		const struct pm_counter *c = &m->counter[i];

		assert_true(c->name && *c->name && c->source && c->unit && c->width >= 1 && c->width <= 64);
	}
	for (uint32_t i = 0; i < m->n_groups; i++) {
		const struct pm_group *g = &m->group[i];

		assert_true(g->n_counters && g->n_instances && g->source);
		for (uint32_t k = 0; k < g->n_counters; k++)
			assert_non_null(pm_model_counter(m, g->counter[k]));
		for (uint32_t k = 0; k < g->n_instances; k++)
			assert_non_null(pm_model_instance(m, g->instance[k]));
	}
}

/* Reads all, from the beginning or from the middle. */
static void read_all(const struct buf *file, uint64_t seek, uint64_t limit)
{
	struct pm_reader *r;
	struct pm_input in;
	struct pm_item item;
	uint64_t last = 0, items = 0;
	struct pm_clocks clocks[4];
	struct pm_extent x;
	int ok;

	assert_int_equal(input_memory(&in, file->data, file->len), 0);
	if (pm_reader_open(&r, &in, NULL))
		return;
	if (seek) {
		assert_int_equal(pm_reader_extent(r, &x), 0);
		assert_true(pm_reader_clocks(r, clocks, 4, 0) >= 0);
		assert_int_equal(pm_reader_seek(r, seek, false), 0);
	}
	while ((ok = pm_reader_next(r, &item)) == 1) {
		const struct pm_chunk *c;

		assert_true(++items < limit);
		if (item.kind != PM_ITEM_CHUNK || pm_reader_decode(r, &c))
			continue;
		assert_true(c->rows >= 1 && c->rows <= PM_CHUNK_ROWS);
		for (uint32_t row = 0; row < c->rows; row++) {
			assert_true(c->tick[row] >= last && c->tick[row] <= INT64_MAX);
			last = c->tick[row];
		}
		for (uint32_t i = 0; i < c->n_groups; i++)
			assert_true(pm_model_group(pm_reader_model(r), c->group[i].group) &&
				    (c->group[i].absent || c->group[i].v));
	}
	assert_int_equal(ok, 0);
	assert_sound(pm_reader_model(r));
	pm_reader_close(r);
}

/* Items of each kind, heads of such, and numbers at the ends of ranges. */
/* clang-format off */
static const struct { uint8_t n, bytes[9]; } instead[] = {
	{ 0, { 0 } }, { 1, { 0x00 } }, { 1, { 0x01 } }, { 1, { 0x17 } }, { 1, { 0x1b } }, { 1, { 0x20 } },
	{ 1, { 0x3b } }, { 1, { 0x41 } }, { 1, { 0x60 } }, { 1, { 0x62 } }, { 1, { 0x80 } }, { 1, { 0x82 } },
	{ 1, { 0xa0 } }, { 1, { 0xa1 } }, { 1, { 0xf5 } }, { 1, { 0xf6 } }, { 1, { 0xfb } }, { 1, { 0xff } },
	{ 2, { 0x18, 0x50 } }, { 2, { 0x18, 0xff } }, { 3, { 0x19, 0xff, 0xff } },
	{ 5, { 0x1a, 0xff, 0xff, 0xff, 0xff } }, { 5, { 0x1a, 0xff, 0xff, 0xff, 0xfe } },
	{ 9, { 0x1b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff } },
	{ 9, { 0x1b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff } },
	{ 9, { 0x3b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff } },
	{ 9, { 0xfb, 0x7f, 0xf8, 0, 0, 0, 0, 0, 0 } },
};
/* clang-format on */
enum { TWICE = sizeof(instead) / sizeof(*instead), NEXT, SHORTER, LONGER, CHANGES };

/* A copy with another byte, or another number of items in what begins here. */
static void change(struct buf *to, const struct buf *of, size_t at, size_t how)
{
	uint8_t here = of->data[at];
	size_t rest = at + 1;

	buf_clear(to);
	buf_add(to, of->data, at);
	if (how < TWICE)
		buf_add(to, instead[how].bytes, instead[how].n);
	else
		buf_addch(to, (char)(here + (how == NEXT || how == LONGER) - (how == SHORTER)));
	if (how == TWICE)
		buf_addch(to, (char)here);
	else if (how == LONGER)
		buf_addch(to, 1);
	rest += how == SHORTER && rest < of->len;
	buf_add(to, of->data + rest, of->len - rest);
}

static void change_each(const struct buf *whole, uint64_t middle, size_t step)
{
	struct buf file = BUF_INIT, body = BUF_INIT;
	struct pieces p = { 0 };
	size_t turn = 0;

	take_apart(&p, whole);
	put_together(&p, SIZE_MAX, NULL, &file);
	read_all(&file, 0, 1000);
	for (size_t i = 0; i < p.n; i++) {
		const struct piece *one = &p.piece[i];
		const struct buf *of = one->type == PM_FRAME_CHUNK ? &one->meta : &one->body;

		for (size_t at = 0; at < of->len && one->type != PM_FRAME_END; at++)
			for (size_t k = turn++ % step; k < CHANGES; k += step) {
				change(&body, of, at, k);
				put_together(&p, i, &body, &file);
				read_all(&file, k % 3 ? 0 : middle, 1000);
			}
	}
	release(&p);
	buf_release(&file);
	buf_release(&body);
}

/* The frames of an index, and the end, of the same length: nothing else is wrong with the file. */
static void change_index(const struct buf *whole, uint64_t middle)
{
	struct buf file = BUF_INIT, changed = BUF_INIT, frame = BUF_INIT;
	struct pieces p = { 0 };

	take_apart(&p, whole);
	for (size_t i = 0; i < p.n; i++) {
		const struct piece *one = &p.piece[i];

		for (size_t k = 0; k < CHANGES && (one->type == PM_FRAME_INDEX || one->type == PM_FRAME_END); k++) {
			for (size_t at = 0; at < one->meta.len + one->raw.len; at++) {
				bool meta = at < one->meta.len;
				const struct buf *of = meta ? &one->meta : &one->raw;

				if (k < TWICE ? instead[k].n != 1 : k != NEXT)
					continue;
				change(&changed, of, meta ? at : at - one->meta.len, k);
				buf_clear(&frame);
				frame_add(&frame, one->type, one->sequence, p.id, meta ? &changed : &one->meta,
					  meta ? one->raw.data : changed.data, one->raw.len);
				buf_clear(&file);
				buf_add(&file, whole->data, one->at);
				buf_add(&file, frame.data, frame.len);
				buf_add(&file, whole->data + one->at + one->len, whole->len - one->at - one->len);
				read_all(&file, middle, 1000);
			}
		}
	}
	release(&p);
	buf_release(&file);
	buf_release(&changed);
	buf_release(&frame);
}

static void definitions_of_all_kinds(void **state)
{
	static const struct sample_options o = {
		.cpus = 1, .rows = 2, .chunks = 3, .interval_ns = 10000000, .seed = 5
	};
	struct buf whole = BUF_INIT;

	(void)state;
	sample_write(&whole, &o);
	change_each(&whole, sample_tick(&o, 3), 7);
	change_index(&whole, sample_tick(&o, 3));
	buf_release(&whole);
}

static void what_comes_and_goes(void **state)
{
	static const struct churn_options o = {
		.live = 4, .counters = 2, .replaced = 1, .chunks = 5, .rows = 1, .perf = true, .slow = true, .seed = 6
	};
	struct buf whole = BUF_INIT;

	(void)state;
	churn_write(&whole, &o);
	change_each(&whole, CHURN_START + 3 * CHURN_STEP, 7);
	change_index(&whole, CHURN_START + 3 * CHURN_STEP);
	buf_release(&whole);
}

UNIT_TESTS(cmocka_unit_test(definitions_of_all_kinds), cmocka_unit_test(what_comes_and_goes))
