/* Doubles as multiples of a grain (SPEC.md, "Grains"): 20.25 is 81 quarters, 36.6 is 366 tenths. Nearly every
 * recorded double was once a number with few digits, or a float. */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "common/double_bits.h"
#include "format/codec/codec_impl.h"

/* Limit of the multiples' absolute value: below it no two of them give the same double, and the one that gives a
 * double is the nearest to the double divided by the grain, however that is rounded. */
#define LIMIT ((uint64_t)1 << 51)

/* The bits of a double as they are; 10^0 to 10^-22; 2^-127 to 2^104. */
enum { NONE = 0, DECIMAL = 1, BINARY = 24 };
#define DIGITS 22
#define LEAST  (-127)
#define MOST   104

static const double ten[DIGITS + 1] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
					1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };

static double power_of_two(int e)
{
	return double_from_bits((uint64_t)(1023 + e) << 52);
}

/* The double that n stands for; false: n is out of range. */
static bool to_double(unsigned grain, uint64_t n, uint64_t *bits)
{
	double v = (double)(int64_t)n;

	if (n + (LIMIT - 1) > 2 * (LIMIT - 1))
		return false;
	v = grain < BINARY ? v / ten[grain - DECIMAL] : v * power_of_two((int)grain - BINARY + LEAST);
	*bits = double_to_bits(v);
	return true;
}

/* The n that stands for exactly this double; false: there is none. */
static bool to_number(unsigned grain, uint64_t bits, uint64_t *n)
{
	/* Doubles of this size are integers, so adding it rounds to the nearest one. */
	const double whole = 0x1.8p52;
	double v = double_from_bits(bits);
	uint64_t again;

	v = grain < BINARY ? v * ten[grain - DECIMAL] : v * power_of_two(BINARY - (int)grain - LEAST);
	if (!(v < (double)LIMIT && v > -(double)LIMIT))
		return false;
	*n = double_to_bits(v + whole) - double_to_bits(whole);
	return to_double(grain, *n, &again) && again == bits;
}

/* What is known of some doubles; the grain of all follows from it. */
struct fit {
	unsigned digits; /* after the decimal point; above DIGITS: no such number */
	int lowest;      /* exponent of the lowest bit that is set in any; INT_MAX: all are 0 */
	double greatest; /* without signs */
};

/* False: no grain has this number (a NaN, -0 ...). */
static bool fit_add(struct fit *fit, uint64_t bits)
{
	double v = double_from_bits(bits & INT64_MAX);
	int exponent = (int)(bits >> 52 & 0x7ff), lowest;
	uint64_t n;

	if (!bits)
		return true;
	if (!exponent || exponent == 0x7ff)
		return false;
	lowest = exponent - 1075 + __builtin_ctzll(bits | (uint64_t)1 << 52);
	if (lowest < fit->lowest)
		fit->lowest = lowest;
	if (v > fit->greatest)
		fit->greatest = v;
	/* A number with some digits can be written with more. */
	while (fit->digits <= DIGITS && !to_number(DECIMAL + fit->digits, bits, &n))
		fit->digits = v * ten[fit->digits] < (double)LIMIT ? fit->digits + 1 : UINT_MAX;
	return true;
}

static void fit_join(struct fit *fit, const struct fit *other)
{
	if (other->digits > fit->digits)
		fit->digits = other->digits;
	if (other->lowest < fit->lowest)
		fit->lowest = other->lowest;
	if (other->greatest > fit->greatest)
		fit->greatest = other->greatest;
}

/* The largest grain that fits all these doubles: it makes the smallest numbers. */
static uint8_t grain_of(const struct fit *fit)
{
	int e = fit->lowest < MOST ? fit->lowest : MOST;
	bool decimal = fit->digits <= DIGITS && fit->greatest * ten[fit->digits] < (double)LIMIT;
	bool binary = e >= LEAST && fit->greatest < (double)LIMIT * power_of_two(e);

	if (decimal && (!binary || fit->lowest == INT_MAX || 1 / ten[fit->digits] >= power_of_two(e)))
		return (uint8_t)(DECIMAL + fit->digits);
	return binary ? (uint8_t)(BINARY + e - LEAST) : NONE;
}

/* The fit of one column, including the number before if that helps. */
static struct fit column_fit(const uint64_t *v, size_t rows, const uint64_t *before, uint8_t *grain)
{
	struct fit fit = { .lowest = INT_MAX }, with;

	*grain = NONE;
	for (size_t r = 0; r < rows; r++)
		if (!fit_add(&fit, v[r]))
			return fit;
	with = fit;
	if (before && fit_add(&with, *before) && grain_of(&with))
		fit = with;
	*grain = grain_of(&fit);
	return fit;
}

/* Blocks that span columns need one grain per band. */
static void choose_band(const struct pm_matrix *m, uint32_t first, uint32_t columns, uint8_t *grain)
{
	struct fit all = { .lowest = INT_MAX };
	uint8_t common;

	for (uint32_t c = first; c < first + columns; c++) {
		struct fit one =
			column_fit(m->v + c * m->stride, m->rows, m->before ? m->before + c : NULL, &grain[c]);

		if (grain[c])
			fit_join(&all, &one);
	}
	common = m->rows < PM_TIMEWISE_ROWS ? grain_of(&all) : NONE;
	for (uint32_t c = first; common && c < first + columns; c++)
		grain[c] = grain[c] ? common : NONE;
}

/* Converts the row before to multiples of the grains (one per column; NONE: the bits stay), in memory of twice as
 * many numbers. */
static void convert_before(struct pm_matrix *m, const uint8_t *grain, size_t columns, uint64_t *before)
{
	memcpy(before, m->before, columns * sizeof(*before));
	memset(before + columns, 0, columns * sizeof(*before));
	for (size_t c = 0; c < columns; c++) {
		if (grain[c])
			before[c] = to_number(grain[c], m->before[c], &before[c]) ? before[c] : 0;
		else if (m->growth)
			before[columns + c] = m->growth[c];
	}
	m->before = before;
	m->growth = m->growth ? before + columns : NULL;
}

static uint64_t *scratch(struct pm_packer *p, size_t numbers)
{
	buf_clear(&p->whole);
	return numbers > SIZE_MAX / 8 || buf_reserve(&p->whole, numbers * 8 + 8) ? NULL : (void *)p->whole.data;
}

/* Writes, for the columns of real bands, each grain and the number of consecutive columns that have it. */
static void add_grains(const struct pm_matrix *m, const uint8_t *grain, struct buf *out)
{
	uint32_t run = 0, c = 0;
	uint8_t last = NONE;

	for (uint32_t b = 0; b < m->n_bands; b++) {
		for (uint32_t k = 0; k < m->band[b].columns; k++, c++) {
			if (!m->band[b].real)
				continue;
			if (run && grain[c] != last) {
				buf_addch(out, (char)last);
				pm_add_varint(out, run);
				run = 0;
			}
			last = grain[c];
			run++;
		}
	}
	buf_addch(out, (char)last);
	pm_add_varint(out, run);
}

int pm_pack_grains(struct pm_packer *p, const struct pm_matrix *m, size_t columns, struct buf *out)
{
	struct pm_matrix whole = *m;
	uint8_t *grain = NULL;
	bool any = false;
	uint64_t *v;
	size_t at;
	int err;

	buf_clear(&p->grains);
	if (!buf_reserve(&p->grains, columns + 1))
		grain = memset(p->grains.data, NONE, columns);
	v = grain ? scratch(p, columns * (m->rows + 2)) : NULL;
	if (!v)
		return -ENOMEM;
	for (uint32_t b = 0, first = 0; b < m->n_bands; first += m->band[b++].columns)
		if (m->band[b].real)
			choose_band(m, first, m->band[b].columns, grain);
	for (size_t c = 0; c < columns; c++) {
		const uint64_t *from = m->v + c * m->stride;
		uint64_t *to = v + c * m->rows;

		any |= grain[c];
		memcpy(to, from, m->rows * sizeof(*to));
		for (uint32_t r = 0; grain[c] && r < m->rows; r++)
			if (!to_number(grain[c], from[r], &to[r]))
				return 0; /* the fit was too optimistic, at the very limit */
	}
	if (!any)
		return 0;
	whole.v = v;
	whole.stride = m->rows;
	if (m->before)
		convert_before(&whole, grain, columns, v + columns * m->rows);
	buf_addch(out, 0);
	add_grains(m, grain, out);
	at = out->len;
	err = pm_pack_form(p, &whole, out);
	if (err)
		return err;
	out->data[0] = out->data[at] | PM_FORM_GRAINS;
	memmove(out->data + at, out->data + at + 1, --out->len - at);
	return 0;
}

/* Reads the grains of all columns and moves *in past them. */
static int take_grains(struct pm_packer *p, const struct pm_matrix *m, size_t columns, const uint8_t **in,
		       const uint8_t *end)
{
	uint64_t run = 0;
	uint8_t last = NONE;

	buf_clear(&p->grains);
	if (buf_reserve(&p->grains, columns + 1))
		return -ENOMEM;
	for (uint32_t b = 0; b < m->n_bands; b++) {
		for (uint32_t k = 0; k < m->band[b].columns; k++) {
			bool real = m->band[b].real;

			if (real && !run) {
				if (*in == end)
					return -EBADMSG;
				last = *(*in)++;
				if (pm_get_varint(in, end, &run) || !run)
					return -EBADMSG;
			}
			run -= real;
			p->grains.data[p->grains.len++] = real ? last : NONE;
		}
	}
	return run ? -EBADMSG : 0;
}

int pm_unpack_grains(struct pm_packer *p, const struct pm_matrix *m, size_t columns, unsigned form, const uint8_t *in,
		     const uint8_t *end)
{
	struct pm_matrix whole = *m;
	uint64_t *before = scratch(p, m->before ? 2 * columns : 0);
	int err = before ? take_grains(p, m, columns, &in, end) : -ENOMEM;
	const uint8_t *grain = p->grains.data;

	if (!err && m->before)
		convert_before(&whole, grain, columns, before);
	if (!err)
		err = pm_unpack_form(p, &whole, form, in, end);
	for (uint32_t b = 0, c = 0; b < m->n_bands && !err; b++) {
		for (uint32_t k = 0; k < m->band[b].columns; k++, c++) {
			uint64_t *v = m->v + (size_t)c * m->stride;

			if (!grain[c])
				continue;
			for (uint32_t r = 0; r < m->rows; r++)
				if (!to_double(grain[c], v[r], &v[r]))
					return -EBADMSG;
		}
	}
	return err;
}
