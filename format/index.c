#include "format/index.h"

#include <errno.h>
#include <stdlib.h>

#include "common/memory.h"
#include "format/cbor.h"
#include "format/frame.h"
#include "format/limits.h"

enum index_key {
	INDEX_FIRST = 1,   /* offset of the first frame */
	INDEX_TYPES = 2,   /* byte string: type, + FLAG_KEY, + FLAG_REPEATED */
	INDEX_LENGTHS = 3, /* each but the first: minus the one before */
	INDEX_FROM = 4,    /* chunks: first tick; from the second on, minus what the one before predicts */
	INDEX_SPANS = 5,   /* chunks: last tick minus first tick */
	INDEX_ROWS = 6,    /* chunks */
};
enum { FLAG_KEY = 0x80, FLAG_REPEATED = 0x40, TYPE_MASK = 0x3f };

void index_release(struct index_builder *b)
{
	free(b->entry);
	*b = (struct index_builder){ 0 };
}

int index_add(struct index_builder *b, const struct index_entry *e)
{
	if (array_room(&b->entry, b->n, sizeof(*b->entry)))
		return -ENOMEM;
	b->entry[b->n++] = *e;
	b->chunks += e->type == PM_FRAME_CHUNK;
	return 0;
}

/* Regular chunks follow each other at the same distance, so only deviations cost bytes. */
struct expectation {
	uint64_t from, step;
};

static uint64_t expected(const struct expectation *x)
{
	return x->from + x->step;
}

static void came(struct expectation *x, uint64_t from)
{
	x->step = x->from ? from - x->from : 0;
	x->from = from;
}

void index_encode(struct index_builder *b, struct buf *out)
{
	SCOPED(buf_release) struct buf types = BUF_INIT, lengths = BUF_INIT, from = BUF_INIT, spans = BUF_INIT;
	SCOPED(buf_release) struct buf rows = BUF_INIT;
	struct cbor_fields f = cbor_fields(out);
	struct expectation x = { 0 };
	uint64_t last = 0;

	for (const struct index_entry *e = b->entry; e < b->entry + b->n; e++) {
		buf_addch(&types, (char)(e->type | (e->key ? FLAG_KEY : 0) | (e->repeated ? FLAG_REPEATED : 0)));
		cbor_add_int(&lengths, (int64_t)(e->length - last));
		last = e->length;
		if (e->type != PM_FRAME_CHUNK)
			continue;
		cbor_add_int(&from, (int64_t)(e->from_ns - expected(&x)));
		came(&x, e->from_ns);
		cbor_add_uint(&spans, e->to_ns - e->from_ns);
		cbor_add_uint(&rows, e->rows);
	}
	cbor_field_uint(&f, INDEX_FIRST, b->n ? b->entry[0].offset : 0);
	cbor_field(&f, INDEX_TYPES);
	cbor_add_bytes(out, types.data, types.len);
	buf_carry(out, &types);
	cbor_field_items(&f, INDEX_LENGTHS, b->n, &lengths);
	cbor_field_items(&f, INDEX_FROM, b->chunks, &from);
	cbor_field_items(&f, INDEX_SPANS, b->chunks, &spans);
	cbor_field_items(&f, INDEX_ROWS, b->chunks, &rows);
	b->n = b->chunks = 0;
}

/* The arrays of a body, each as a cursor that was checked to have `n` items. */
struct lists {
	uint64_t first;
	const uint8_t *type;
	size_t n_types;
	struct cbor length, from, span, rows;
	size_t n_lengths, n_from, n_spans, n_rows;
};

static void take_list(struct cbor *c, struct cbor *items, size_t *n)
{
	struct cbor at = *c;

	cbor_skip(c);
	*n = cbor_array(&at);
	*items = at;
}

static void find_lists(struct cbor *c, struct lists *l)
{
	struct cbor_map m;

	for (cbor_body(c, &m); cbor_next(c, &m);) {
		switch (m.key) {
		case INDEX_FIRST:
			l->first = cbor_uint(c);
			break;
		case INDEX_TYPES:
			l->type = cbor_bytes(c, &l->n_types);
			break;
		case INDEX_LENGTHS:
			take_list(c, &l->length, &l->n_lengths);
			break;
		case INDEX_FROM:
			take_list(c, &l->from, &l->n_from);
			break;
		case INDEX_SPANS:
			take_list(c, &l->span, &l->n_spans);
			break;
		case INDEX_ROWS:
			take_list(c, &l->rows, &l->n_rows);
			break;
		default:
			cbor_skip(c);
			break;
		}
	}
}

int index_decode(struct index_builder *b, const void *body, size_t len)
{
	struct cbor c = cbor_over(body, len);
	struct expectation x = { 0 };
	struct lists l = { 0 };
	uint64_t length = 0, offset;
	size_t chunks = 0;

	find_lists(&c, &l);
	if (cbor_finish(&c))
		return c.err;
	if (l.n_types > PM_MAX_INDEX)
		return -E2BIG;
	for (size_t i = 0; i < l.n_types; i++)
		chunks += (l.type[i] & TYPE_MASK) == PM_FRAME_CHUNK;
	if (l.n_lengths != l.n_types || l.n_from != chunks || l.n_spans != chunks || l.n_rows != chunks)
		return -EBADMSG;
	offset = l.first;
	for (size_t i = 0; i < l.n_types; i++) {
		struct index_entry e = {
			.offset = offset,
			.type = l.type[i] & TYPE_MASK,
			.key = l.type[i] & FLAG_KEY,
			.repeated = l.type[i] & FLAG_REPEATED,
		};

		length += (uint64_t)cbor_int(&l.length);
		if (length < FRAME_LEAST || length > PM_MAX_PAYLOAD + PM_MAX_META + 2 * FRAME_PROBE)
			return -EBADMSG;
		e.length = length;
		offset += length;
		if (e.type == PM_FRAME_CHUNK) {
			e.from_ns = expected(&x) + (uint64_t)cbor_int(&l.from);
			came(&x, e.from_ns);
			e.to_ns = e.from_ns + cbor_uint(&l.span);
			e.rows = (uint16_t)cbor_uint(&l.rows);
		}
		if (l.length.err || l.from.err || l.span.err || l.rows.err)
			return -EBADMSG;
		memory_done(index_add(b, &e));
	}
	return 0;
}
