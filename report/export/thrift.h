/* The part of Thrift's compact protocol that Parquet's metadata needs. The buffer keeps errors. */
#pragma once

#include "common/buf.h"

enum {
	THRIFT_TRUE = 1,
	THRIFT_FALSE,
	THRIFT_I8,
	THRIFT_I16,
	THRIFT_I32,
	THRIFT_I64,
	THRIFT_TEXT = 8,
	THRIFT_LIST,
	THRIFT_STRUCT = 12
};

/* Field numbers are relative to the field before, within each struct. */
struct thrift {
	struct buf *out;
	int last[8];
	int depth;
};

static inline void thrift_varint(struct buf *out, uint64_t v)
{
	for (; v >= 128; v >>= 7)
		buf_addch(out, (char)(v | 128));
	buf_addch(out, (char)v);
}

static inline uint64_t thrift_zigzag(int64_t v)
{
	return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}

static inline void thrift_field(struct thrift *t, int id, int type)
{
	int step = id - t->last[t->depth];

	t->last[t->depth] = id;
	if (step > 0 && step < 16) {
		buf_addch(t->out, (char)(step << 4 | type));
		return;
	}
	buf_addch(t->out, (char)type);
	thrift_varint(t->out, thrift_zigzag(id));
}

static inline void thrift_int(struct thrift *t, int id, int type, int64_t v)
{
	thrift_field(t, id, type);
	thrift_varint(t->out, thrift_zigzag(v));
}

/* Without a field number: an element of a list. */
static inline void thrift_bytes(struct thrift *t, const void *data, size_t len)
{
	thrift_varint(t->out, len);
	buf_add(t->out, data, len);
}

static inline void thrift_text(struct thrift *t, int id, const void *data, size_t len)
{
	thrift_field(t, id, THRIFT_TEXT);
	thrift_bytes(t, data, len);
}

static inline void thrift_list(struct thrift *t, int id, int type, size_t n)
{
	thrift_field(t, id, THRIFT_LIST);
	buf_addch(t->out, (char)((n < 15 ? n << 4 : 0xf0) | (unsigned)type));
	if (n >= 15)
		thrift_varint(t->out, n);
}

/* A struct that is an element of a list; id 0: of a field. */
static inline void thrift_open(struct thrift *t, int id)
{
	if (id)
		thrift_field(t, id, THRIFT_STRUCT);
	t->last[++t->depth] = 0;
}

static inline void thrift_close(struct thrift *t)
{
	buf_addch(t->out, 0);
	t->depth--;
}
