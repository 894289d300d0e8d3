/*
 * Bits a number of columns of doubles, by the ways in which the format could hold them: as differences of their bits, as
 * XOR with the number before (Gorilla: Pelkonen et al., VLDB 2015), and as whole numbers of a grain, the smaller of which
 * and differences is what pm_pack() takes. 100 sensors that walk by some hundredths of their level, 6,400 numbers each.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/double_bits.h"
#include "format/codec/codec.h"

#define COLUMNS 100
#define NUMBERS 6400

static uint64_t next_random(void)
{
	static uint64_t seed = 2026;
	uint64_t z = seed += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static double quarters(double v)
{
	return round(v * 4) / 4;
}

static double thousandths(double v)
{
	return round(v * 1000) / 1000;
}

static double was_float(double v)
{
	return (float)v;
}

static double all_digits(double v)
{
	return v;
}

static const struct {
	const char *name;
	double (*make)(double v);
} natures[] = {
	{ "quarters", quarters },
	{ "thousandths", thousandths },
	{ "were a float", was_float },
	{ "all digits", all_digits },
};

static void must(int err)
{
	if (err) {
		fprintf(stderr, "bench_doubles: %s\n", strerror(-err));
		exit(1);
	}
}

/* The zeros on either side of the bits that were last written with their place. */
struct window {
	unsigned leading, trailing; /* 64 in all: none yet */
};

static unsigned xor_bits(uint64_t x, struct window *w)
{
	unsigned leading, trailing;

	if (!x)
		return 1;
	leading = (unsigned)__builtin_clzll(x);
	trailing = (unsigned)__builtin_ctzll(x);
	if (w->leading + w->trailing < 64 && leading >= w->leading && trailing >= w->trailing)
		return 2 + 64 - w->leading - w->trailing;
	w->leading = leading < 31 ? leading : 31;
	w->trailing = trailing;
	return 2 + 5 + 6 + 64 - w->leading - trailing;
}

/* A column of a chunk begins without a window, or of one row takes that of the column beside it. */
static double by_xor(const uint64_t *v, uint32_t rows)
{
	double bits = 0;

	for (size_t at = rows; at < NUMBERS; at += rows) {
		struct window w = { 64, 0 };

		for (size_t c = 0; c < COLUMNS; c++) {
			if (rows > 1)
				w = (struct window){ 64, 0 };
			for (size_t r = at; r < at + rows; r++)
				bits += xor_bits(v[c * NUMBERS + r] ^ v[c * NUMBERS + r - 1], &w);
		}
	}
	return bits;
}

static double packed(struct pm_packer *p, const uint64_t *v, uint32_t rows, bool real)
{
	struct pm_band band = { .columns = COLUMNS, .bits = 64, .real = real, .ref_first = PM_NO_REF };
	uint64_t before[COLUMNS], growth[COLUMNS] = { 0 }, tick[128] = { 0 },
				  *back = malloc(COLUMNS * 128 * sizeof(*back));
	struct buf out = BUF_INIT;
	double bits = 0;

	must(back ? 0 : -12);
	for (size_t at = rows; at < NUMBERS; at += rows) {
		struct pm_matrix m = { .band = &band,
				       .n_bands = 1,
				       .rows = rows,
				       .stride = NUMBERS,
				       .tick = tick,
				       .before = before,
				       .growth = growth,
				       .v = (uint64_t *)v + at };

		for (size_t c = 0; c < COLUMNS; c++)
			before[c] = v[c * NUMBERS + at - 1];
		buf_clear(&out);
		must(pm_pack(p, &m, &out));
		bits += 8 * (double)out.len;
		m.v = back;
		m.stride = rows;
		must(pm_unpack(p, &m, out.data, out.len));
		for (size_t c = 0; c < COLUMNS; c++)
			must(memcmp(back + c * rows, v + c * NUMBERS + at, rows * sizeof(*v)) ? -74 : 0);
	}
	buf_release(&out);
	free(back);
	return bits;
}

int main(void)
{
	static const uint32_t rows[] = { 100, 1 };
	struct pm_packer *p = pm_packer_new();
	uint64_t *v = malloc((size_t)COLUMNS * NUMBERS * sizeof(*v));

	must(p && v ? 0 : -12);
	printf("bits a number   100 rows a chunk: differences    XOR  grain   1 row: differences    XOR  grain\n");
	for (size_t i = 0; i < sizeof(natures) / sizeof(natures[0]); i++) {
		for (size_t c = 0; c < COLUMNS; c++) {
			double level = 20 + (double)(next_random() % 60), walk = level;

			for (size_t r = 0; r < NUMBERS; r++) {
				walk += ((double)(next_random() % 2001) / 1000 - 1 - (walk - level) / level) * level /
					100;
				v[c * NUMBERS + r] = double_to_bits(natures[i].make(walk));
			}
		}
		printf("%-15s", natures[i].name);
		for (int k = 0; k < 2; k++) {
			double n = (double)COLUMNS * (NUMBERS - rows[k]);

			printf(" %*.1f %6.1f %6.1f", k ? 19 : 29, packed(p, v, rows[k], false) / n,
			       by_xor(v, rows[k]) / n, packed(p, v, rows[k], true) / n);
		}
		putchar('\n');
	}
	pm_packer_free(p);
	free(v);
	return 0;
}
