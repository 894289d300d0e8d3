#include "format/bitpack.h"

static void ranges(const uint64_t *w, size_t n, unsigned shift, struct pm_range range[3])
{
	struct pm_range a = { INT64_MAX, INT64_MIN }, b = a, c = a;

	for (size_t i = 0; i < n; i++) {
		int64_t x = (int64_t)pm_extend(w[i], shift);
		int64_t y = (int64_t)pm_extend(w[i] - w[i - 1], shift);
		int64_t z = (int64_t)pm_extend(w[i] - 2 * w[i - 1] + w[i - 2], shift);

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

static void pack_bits(uint8_t *out, const uint64_t *x, size_t n, unsigned width)
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

static void pack(uint8_t *out, const uint64_t *w, size_t n, unsigned order, unsigned shift, uint64_t base,
		 unsigned width)
{
	uint64_t x[PM_BLOCK];

	switch (order) {
	case 0:
		for (size_t i = 0; i < n; i++)
			x[i] = pm_extend(w[i], shift) - base;
		break;
	case 1:
		for (size_t i = 0; i < n; i++)
			x[i] = pm_extend(w[i] - w[i - 1], shift) - base;
		break;
	default:
		for (size_t i = 0; i < n; i++)
			x[i] = pm_extend(w[i] - 2 * w[i - 1] + w[i - 2], shift) - base;
		break;
	}
	pack_bits(out, x, n, width);
}

static void unpack_bits(uint64_t *x, const uint8_t *in, size_t n, unsigned width, uint64_t base)
{
	uint64_t mask = width < 64 ? ((uint64_t)1 << width) - 1 : UINT64_MAX;
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
	.ranges = ranges,
	.pack = pack,
	.unpack = unpack,
};

const struct pm_kernel *pm_kernel_find(int level)
{
	return &pm_kernel_portable;
}
