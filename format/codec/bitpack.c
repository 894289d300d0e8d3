#include "format/codec/bitpack.h"

static uint64_t bits(const uint64_t *v, size_t n)
{
	uint64_t all = 0;

	for (size_t i = 0; i < n; i++)
		all |= v[i];
	return all;
}

static void ranges(const struct pm_series *s, struct pm_range range[3])
{
	struct pm_range a = { INT64_MAX, INT64_MIN }, b = a, c = a;
	uint64_t last = s->last, step = s->last - s->last2;

	for (size_t i = 0; i < s->n; i++) {
		uint64_t w = pm_series_at(s, i), d = w - last;
		int64_t x = (int64_t)pm_extend(w, s->shift);
		int64_t y = (int64_t)pm_extend(d, s->shift);
		int64_t z = (int64_t)pm_extend(d - step, s->shift);

		a.lo = x < a.lo ? x : a.lo;
		a.hi = x > a.hi ? x : a.hi;
		b.lo = y < b.lo ? y : b.lo;
		b.hi = y > b.hi ? y : b.hi;
		c.lo = z < c.lo ? z : c.lo;
		c.hi = z > c.hi ? z : c.hi;
		last = w;
		step = d;
	}
	range[0] = a;
	range[1] = b;
	range[2] = c;
}

void pm_pack_bits(uint8_t *out, const uint64_t *x, size_t n, unsigned width)
{
	uint64_t acc = 0;
	unsigned fill = 0;

	if (!width)
		return;
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

void pm_residuals(uint64_t *x, const struct pm_series *s, unsigned order, uint64_t base)
{
	uint64_t last = s->last, step = s->last - s->last2;

	for (size_t i = 0; i < s->n; i++) {
		uint64_t w = pm_series_at(s, i), d = w - last;

		x[i] = pm_extend(order == 0 ? w : order == 1 ? d : d - step, s->shift) - base;
		last = w;
		step = d;
	}
}

static void pack(uint8_t *out, const struct pm_series *s, unsigned order, uint64_t base, unsigned width)
{
	uint64_t x[PM_BLOCK];

	if (!width)
		return;
	pm_residuals(x, s, order, base);
	pm_pack_bits(out, x, s->n, width);
}

static void unpack_bits(uint64_t *x, const uint8_t *in, size_t n, unsigned width, uint64_t base)
{
	uint64_t mask = pm_mask(width);
	size_t bit = 0;

	if (width <= 57) {
		/* Seven bits of offset and the value fit one load. */
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

const struct pm_kernel pm_kernel_portable = {
	.name = "portable",
	.bits = bits,
	.ranges = ranges,
	.pack = pack,
	.unpack = unpack,
};

const struct pm_kernel *pm_kernel_find(int level)
{
#if defined(__x86_64__)
	if (level != 1 && __builtin_cpu_supports("avx2"))
		return &pm_kernel_avx2;
#else
	(void)level;
#endif
	return &pm_kernel_portable;
}
