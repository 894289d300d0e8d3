#include "report/export/parquet_encode.h"

#include "report/export/thrift.h"

struct packer {
	uint8_t *to;
	uint64_t bits;
	unsigned have;
};

static void pack(struct packer *k, uint64_t v, unsigned width)
{
	if (width > 32) {
		pack(k, v & UINT32_MAX, 32);
		v >>= 32;
		width -= 32;
	}
	k->bits |= v << k->have;
	for (k->have += width; k->have >= 8; k->have -= 8) {
		*k->to++ = (uint8_t)k->bits;
		k->bits >>= 8;
	}
}

void hybrid_pack(struct hybrid *h)
{
	size_t groups = (h->n + 7) / 8;
	struct packer k = { 0 };

	if (!groups)
		return;
	thrift_varint(h->out, groups << 1 | 1);
	if (!buf_reserve(h->out, groups * h->width)) {
		k.to = h->out->data + h->out->len;
		for (size_t i = 0; i < groups * 8; i++)
			pack(&k, i < h->n ? h->waiting[i] : 0, h->width);
		h->out->len += groups * h->width;
	}
	h->n = 0;
}

void hybrid_put(struct hybrid *h, uint32_t v, uint32_t count)
{
	while (count) {
		if (h->n % 8 == 0 && count >= 8) {
			hybrid_pack(h);
			thrift_varint(h->out, (uint64_t)count << 1);
			put_little(h->out, v, (int)(h->width + 7) / 8);
			return;
		}
		h->waiting[h->n++] = v;
		count--;
		if (h->n == sizeof(h->waiting) / sizeof(h->waiting[0]))
			hybrid_pack(h);
	}
}

void put_delta_block(struct buf *out, const int64_t *delta, size_t n)
{
	int64_t least = delta[0];
	unsigned width[DELTA_BLOCK / DELTA_MINI] = { 0 };

	for (size_t i = 1; i < n; i++)
		least = delta[i] < least ? delta[i] : least;
	for (size_t i = 0; i < n; i++) {
		unsigned w = width_of((uint64_t)delta[i] - (uint64_t)least);

		width[i / DELTA_MINI] = w > width[i / DELTA_MINI] ? w : width[i / DELTA_MINI];
	}
	thrift_varint(out, thrift_zigzag(least));
	for (size_t m = 0; m < DELTA_BLOCK / DELTA_MINI; m++)
		buf_addch(out, (char)width[m]);
	for (size_t m = 0; m * DELTA_MINI < n; m++) {
		struct packer k = { 0 };

		if (buf_reserve(out, DELTA_MINI / 8 * width[m]))
			return;
		k.to = out->data + out->len;
		for (size_t i = m * DELTA_MINI; i < (m + 1) * DELTA_MINI; i++)
			pack(&k, i < n ? (uint64_t)delta[i] - (uint64_t)least : 0, width[m]);
		out->len += DELTA_MINI / 8 * width[m];
	}
}
