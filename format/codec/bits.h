/* Reading and writing bit by bit, LSB first. Numbers have 0 to 64 bits. What the writer runs out of is noted in its
 * buffer (buf.err); a reader that ran out gives 0 from then on. */
#pragma once

#include <stdbool.h>

#include "common/buf.h"
#include "format/codec/bitpack.h"

struct bit_writer {
	struct buf *out;
	uint64_t acc;
	unsigned fill; /* < 8 between calls */
};

static inline void bits_put(struct bit_writer *w, uint64_t x, unsigned n)
{
	while (n > 32) {
		bits_put(w, x & UINT32_MAX, 32);
		x >>= 32;
		n -= 32;
	}
	w->acc |= (x & pm_mask(n)) << w->fill;
	for (w->fill += n; w->fill >= 8; w->fill -= 8, w->acc >>= 8)
		buf_addch(w->out, (char)w->acc);
}

/* To the next whole byte. */
static inline void bits_align(struct bit_writer *w)
{
	if (w->fill)
		bits_put(w, 0, 8 - w->fill);
}

struct bit_reader {
	const uint8_t *p, *end;
	uint64_t acc;
	unsigned fill;
	bool bad; /* more was requested than there is, or something malformed */
};

static inline void bits_refill(struct bit_reader *r)
{
	while (r->fill <= 56 && r->p < r->end) {
		r->acc |= (uint64_t)*r->p++ << r->fill;
		r->fill += 8;
	}
}

static inline uint64_t bits_get(struct bit_reader *r, unsigned n)
{
	uint64_t x = 0;
	unsigned at = 0;

	for (; n > 32; n -= 32, at = 32)
		x = bits_get(r, 32);
	if (r->fill < n)
		bits_refill(r);
	if (r->fill < n) {
		r->bad = true;
		return 0;
	}
	x |= (r->acc & pm_mask(n)) << at;
	r->acc >>= n;
	r->fill -= n;
	return x;
}

/* Ones up to a zero; bad from `limit` on. */
static inline unsigned bits_unary(struct bit_reader *r, unsigned limit)
{
	unsigned n = 0;

	while (bits_get(r, 1)) {
		if (++n == limit) {
			r->bad = true;
			return 0;
		}
	}
	return n;
}

/* Drops what is left of the byte, which must be 0, and gives the `size` whole bytes after it; NULL: there are
 * not so many. */
static inline const uint8_t *bits_bytes(struct bit_reader *r, size_t size)
{
	const uint8_t *p;

	if (bits_get(r, r->fill % 8))
		r->bad = true;
	p = r->p - r->fill / 8;
	if (r->bad || size > (size_t)(r->end - p)) {
		r->bad = true;
		return NULL;
	}
	r->p = p + size;
	r->acc = 0;
	r->fill = 0;
	return p;
}
