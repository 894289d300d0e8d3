/* How Parquet packs integers: runs and packed groups (RLE), and blocks of differences (DELTA_BINARY_PACKED). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

/* Runs of eight and more, and packed groups of eight between them. */
struct hybrid {
	struct buf *out;
	unsigned width;
	uint32_t waiting[512];
	size_t n;
};

void hybrid_put(struct hybrid *h, uint32_t v, uint32_t count);
/* What waits goes out; also at the end. */
void hybrid_pack(struct hybrid *h);

enum { DELTA_BLOCK = 128, DELTA_MINI = 32 };

/* `n` differences, 1 to DELTA_BLOCK. */
void put_delta_block(struct buf *out, const int64_t *delta, size_t n);

/* Bits that the number takes. */
static inline unsigned width_of(uint64_t v)
{
	return v ? 64 - (unsigned)__builtin_clzll(v) : 0;
}

/* The low bytes, least first. */
static inline void put_little(struct buf *out, uint64_t v, int bytes)
{
	uint8_t b[8];

	for (int i = 0; i < bytes; i++)
		b[i] = (uint8_t)(v >> 8 * i);
	buf_add(out, b, (size_t)bytes);
}
