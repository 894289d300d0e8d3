/*
 * Any bytes as a recording. Checksums would stop nearly all of them at the door, so before reading they are made
 * right where something looks like a frame: the fuzzer then reaches what lies behind.
 *
 * The first byte chooses how the input is read: as a stream or with seeks, with a selection, mended or as it is.
 */
#include <stdlib.h>
#include <string.h>

#include "format/crc32c.h"
#include "format/frame.h"
#include "format/reader.h"
#include "tests/unit/lib/input_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SEEK = 1, SELECT = 2, MEND = 4, SKIP_CHUNKS = 8, STREAM = 16 };

static uint64_t argument(const uint8_t *at, const uint8_t *end, size_t *len)
{
	unsigned info = *at & 31, bytes = info < 24 ? 0 : info < 28 ? 1u << (info - 24) : 99;
	uint64_t v = bytes ? 0 : info;

	*len = 0;
	if (bytes > 8 || (size_t)(end - at) < 1 + bytes)
		return 0;
	for (unsigned i = 1; i <= bytes; i++)
		v = v << 8 | at[i];
	*len = 1 + bytes;
	return v;
}

static void put_crc(uint8_t *at, uint32_t crc)
{
	at[0] = 0x44;
	for (int i = 0; i < 4; i++)
		at[1 + i] = (uint8_t)(crc >> 8 * (3 - i));
}

/* Puts right checksums behind every head that has its shape. */
static void mend(uint8_t *data, size_t size)
{
	uint8_t *end = data + size, *frame = data;

	while ((frame = memmem(frame, (size_t)(end - frame), frame_magic, FRAME_MAGIC_LEN))) {
		uint8_t *at = frame + FRAME_MAGIC_LEN + 1;
		uint64_t meta, payload;
		size_t len;

		for (int i = 0; i < 2 && at < end; i++) {
			argument(at, end, &len);
			at += len;
		}
		frame += FRAME_MAGIC_LEN;
		if (at + 9 >= end)
			return;
		at += 9;
		meta = argument(at, end, &len);
		if (!len || meta > (size_t)(end - at) - len || (size_t)(end - at) - len - meta < 6)
			continue;
		at += len + meta;
		put_crc(at, crc32c(frame - FRAME_MAGIC_LEN, (size_t)(at - (frame - FRAME_MAGIC_LEN))));
		at += FRAME_TRAILER;
		payload = argument(at, end, &len);
		if (!len || payload > (size_t)(end - at) - len || (size_t)(end - at) - len - payload < FRAME_TRAILER)
			continue;
		at += len;
		put_crc(at + payload, crc32c(at, payload));
		frame = at + payload;
	}
}

static bool every_other(void *ctx, const struct pm_group *g)
{
	return g->id % 2;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned mode = size ? data[0] : 0;
	struct pm_reader *r;
	struct pm_input in;
	struct pm_item item;
	struct pm_extent x;
	uint64_t sum = 0;
	uint8_t *copy;

	if (!size)
		return 0;
	copy = malloc(size);
	if (!copy)
		return 0;
	memcpy(copy, data + 1, size - 1);
	if (mode & MEND)
		mend(copy, size - 1);
	if (input_memory(&in, copy, size - 1))
		abort();
	if (mode & STREAM)
		in.seek = NULL;
	if (!pm_reader_open(&r, &in, NULL)) {
		if (mode & SELECT)
			pm_reader_select(r, every_other, NULL);
		if (mode & SEEK) {
			pm_reader_extent(r, &x);
			pm_reader_seek(r, 1000000000000 + mode * 1000000000ull, mode & SKIP_CHUNKS);
		}
		while (pm_reader_next(r, &item) == 1) {
			const struct pm_chunk *chunk;

			if (item.kind != PM_ITEM_CHUNK || (mode & SKIP_CHUNKS && item.sequence % 3 == 0) ||
			    pm_reader_decode(r, &chunk))
				continue;
			/* All that was promised must be there. */
			for (uint32_t g = 0; g < chunk->n_groups; g++) {
				const struct pm_chunk_group *cells = &chunk->group[g];
				uint32_t columns = pm_group_columns(pm_model_group(pm_reader_model(r), cells->group));

				for (uint32_t k = 0; !cells->absent && k < columns; k++)
					for (uint32_t row = 0; row < chunk->rows; row++) {
						size_t at = k * cells->stride + row;

						sum += cells->v[at] + (cells->status ? cells->status[at] : 0);
					}
			}
		}
		pm_reader_close(r);
	}
	free(copy);
	return sum == 0x123456789abcdef ? 1 : 0;
}
