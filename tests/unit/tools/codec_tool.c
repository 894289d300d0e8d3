/*
 * Packs matrices for codec_diff.py, one a line. From stdin, decimal: rows bands, then for each band columns
 * bits ref_first ref_columns, then 1 or 0 whether there is a row before, its tick, the ticks, the row before and its
 * growths (if there is one), and the numbers column by column. To stdout: the lengths and the bits in hex, "-" for none.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "format/codec/codec.h"

static uint64_t number(void)
{
	uint64_t x;

	if (scanf("%" SCNu64, &x) != 1)
		exit(2);
	return x;
}

static uint64_t *numbers(size_t n)
{
	uint64_t *x = malloc((n + 1) * sizeof(*x));

	if (!x)
		exit(2);
	for (size_t i = 0; i < n; i++)
		x[i] = number();
	return x;
}

static void print_hex(const struct buf *b, char after)
{
	for (size_t i = 0; i < b->len; i++)
		printf("%02x", b->data[i]);
	printf("%s%c", b->len ? "" : "-", after);
}

static void pack_one(uint32_t rows)
{
	uint32_t n_bands = (uint32_t)number(), columns = 0;
	struct pm_band *band = calloc(n_bands + 1, sizeof(*band));
	uint64_t before_tick, *tick, *before = NULL, *growth = NULL, *v;
	struct buf lengths = BUF_INIT, bits = BUF_INIT;
	struct pm_matrix m;
	bool has_before;

	if (!band)
		exit(2);
	for (uint32_t b = 0; b < n_bands; b++) {
		band[b].columns = (uint32_t)number();
		band[b].bits = (uint8_t)number();
		band[b].ref_first = (uint32_t)number();
		band[b].ref_columns = (uint32_t)number();
		columns += band[b].columns;
	}
	has_before = number();
	before_tick = number();
	tick = numbers(rows);
	if (has_before) {
		before = numbers(columns);
		growth = numbers(columns);
	}
	v = numbers((size_t)columns * rows);
	m = (struct pm_matrix){
		.band = band,
		.n_bands = n_bands,
		.rows = rows,
		.stride = rows,
		.v = v,
		.tick = tick,
		.before = before,
		.growth = growth,
		.before_tick = before_tick,
	};
	if (pm_pack(&m, &lengths, &bits))
		exit(2);
	print_hex(&lengths, ' ');
	print_hex(&bits, '\n');
	buf_release(&lengths);
	buf_release(&bits);
	free(v);
	free(before);
	free(growth);
	free(tick);
	free(band);
}

int main(void)
{
	uint32_t rows;

	while (scanf("%" SCNu32, &rows) == 1)
		pack_one(rows);
	return 0;
}
