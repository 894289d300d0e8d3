/* The inner loops, compiled once for any CPU and again with AVX2 (PM_KERNEL_AVX2): loops without dependences between
 * iterations become vectors. */
#include "format/codec/bitpack.h"

/* Computes the numbers of the series, after the two that precede them. */
static void numbers_of(uint64_t w[static PM_BLOCK + 2], const struct pm_series *s)
{
	w[0] = s->last2;
	w[1] = s->last;
	if (s->other)
		for (size_t i = 0; i < s->n; i++)
			w[i + 2] = s->v[i] - s->other[i];
	else
		memcpy(w + 2, s->v, s->n * sizeof(*w));
}

static uint64_t bits(const uint64_t *v, size_t n)
{
	uint64_t all = 0;

	for (size_t i = 0; i < n; i++)
		all |= v[i];
	return all;
}

/* Like pm_extend(), without the arithmetic right shift, which vectors of 64 bits lack. */
static inline uint64_t extend(uint64_t x, uint64_t mask, uint64_t sign)
{
	return ((x & mask) ^ sign) - sign;
}

static void differences(uint64_t *x, const uint64_t *w, size_t n, unsigned order, unsigned shift)
{
	uint64_t mask = UINT64_MAX >> shift, sign = shift ? (mask >> 1) + 1 : 0;

	if (order == 0)
		for (size_t i = 0; i < n; i++)
			x[i] = extend(w[i + 2], mask, sign);
	else if (order == 1)
		for (size_t i = 0; i < n; i++)
			x[i] = extend(w[i + 2] - w[i + 1], mask, sign);
	else
		for (size_t i = 0; i < n; i++)
			x[i] = extend(w[i + 2] - 2 * w[i + 1] + w[i], mask, sign);
}

static void ranges(const struct pm_series *s, struct pm_range range[3])
{
	uint64_t w[PM_BLOCK + 2], mask = UINT64_MAX >> s->shift, sign = s->shift ? (mask >> 1) + 1 : 0;
	struct pm_range a = { INT64_MAX, INT64_MIN }, b = a, c = a;

	numbers_of(w, s);
	for (size_t i = 0; i < s->n; i++) {
		uint64_t d = w[i + 2] - w[i + 1];
		int64_t x = (int64_t)extend(w[i + 2], mask, sign);
		int64_t y = (int64_t)extend(d, mask, sign);
		int64_t z = (int64_t)extend(d - (w[i + 1] - w[i]), mask, sign);

		a.lo = x < a.lo ? x : a.lo;
		a.hi = x > a.hi ? x : a.hi;
		b.lo = y < b.lo ? y : b.lo;
		b.hi = y > b.hi ? y : b.hi;
		c.lo = z < c.lo ? z : c.lo;
		c.hi = z > c.hi ? z : c.hi;
	}
	range[0] = a;
	range[1] = b;
	range[2] = c;
}

static void pack(uint8_t *out, const struct pm_series *s, unsigned order, uint64_t base, unsigned width)
{
	uint64_t w[PM_BLOCK + 2], x[PM_BLOCK + 3];
	uint64_t acc = 0;
	unsigned fill = 0;
	size_t n = s->n;

	if (!width)
		return;
	numbers_of(w, s);
	differences(x, w, n, order, s->shift);
	for (size_t i = 0; i < n; i++)
		x[i] -= base;
	/* In pairs while they fit: this halves the steps of the sequential part. */
	for (; width <= 32 && n > 1; width *= 2, n = (n + 1) / 2) {
		x[n] = 0;
		for (size_t i = 0; i < (n + 1) / 2; i++)
			x[i] = x[2 * i] | x[2 * i + 1] << width;
	}
	for (size_t i = 0; i < n; i++) {
		acc |= x[i] << fill;
		fill += width;
		if (fill >= 64) {
			pm_store_le64(out, acc);
			out += 8;
			fill -= 64;
			/* What did not fit: the top `fill` bits of the value. */
			acc = fill ? x[i] >> (width - fill) : 0;
		}
	}
	pm_store_le64(out, acc);
}

static void unpack_bits(uint64_t *x, const uint8_t *in, size_t n, unsigned width, uint64_t base)
{
	uint64_t mask = pm_mask(width);
	size_t bit = 0;

	if (width <= 57) {
		/* An offset of up to seven bits and the value fit one load. */
		for (size_t i = 0; i < n; i++, bit += width)
			x[i] = (pm_load_le64(in + bit / 8) >> (bit % 8) & mask) + base;
		return;
	}
	for (size_t i = 0; i < n; i++, bit += width) {
		uint64_t v = pm_load_le64(in + bit / 8) >> (bit % 8);

		if (bit % 8)
			v |= (uint64_t)in[bit / 8 + 8] << (64 - bit % 8);
		x[i] = (v & mask) + base;
	}
}

static void unpack(uint64_t *out, const uint8_t *in, size_t n, unsigned order, uint64_t base, unsigned width,
		   uint64_t sum, uint64_t step, const uint64_t *other, uint64_t mask)
{
	unpack_bits(out, in, n, width, base);
	if (order == 1) {
		for (size_t i = 0; i < n; i++)
			out[i] = sum += out[i];
	} else if (order == 2) {
		for (size_t i = 0; i < n; i++) {
			step += out[i];
			out[i] = sum += step;
		}
	}
	if (other) {
		for (size_t i = 0; i < n; i++)
			out[i] = (out[i] + other[i]) & mask;
	} else if (mask != UINT64_MAX) {
		for (size_t i = 0; i < n; i++)
			out[i] &= mask;
	}
}

#ifdef PM_KERNEL_AVX2
const struct pm_kernel pm_kernel_avx2 = {
	.name = "AVX2",
#else
const struct pm_kernel pm_kernel_portable = {
	.name = "portable",
#endif
	.bits = bits,
	.ranges = ranges,
	.pack = pack,
	.unpack = unpack,
};
