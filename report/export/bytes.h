/* Numbers as bytes, as Thrift, protobuf and Parquet write them. The buffer keeps errors. */
#pragma once

#include "common/buf.h"

/* Seven bits per byte, low ones first. */
static inline void put_varint(struct buf *out, uint64_t v)
{
	for (; v >= 128; v >>= 7)
		buf_addch(out, (char)(v | 128));
	buf_addch(out, (char)v);
}

/* The low bytes, least first. */
static inline void put_little(struct buf *out, uint64_t v, int bytes)
{
	for (int i = 0; i < bytes; i++)
		buf_addch(out, (char)(v >> 8 * i));
}
