/*
 * The inner loops of the codec, one set for each kind of CPU. All sets give the same bytes and the same numbers.
 *
 * Packed values lie LSB first without gaps: value i of width w occupies the bits i*w ... i*w+w-1, bit b being
 * bit b%8 of byte b/8. Eight values take exactly w bytes, so vectors of eight start at byte boundaries.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define PM_BLOCK 128 /* values in a block at most */
#define PM_SLACK 64  /* bytes that a kernel may read after packed bytes, or write after its result */

/* Lowest and highest of the numbers of a block, as two's complement. */
struct pm_range {
	int64_t lo, hi;
};

/* The n numbers, at most PM_BLOCK of them, w[i] = v[i] - other[i] (other may be NULL), and the two before them. */
struct pm_series {
	const uint64_t *v, *other;
	size_t n;
	uint64_t last, last2; /* w[-1], w[-2] */
	unsigned shift;       /* numbers and differences are cut to 64 - shift bits and extended by their sign */
};

struct pm_kernel {
	const char *name;
	/* The OR of n numbers. */
	uint64_t (*bits)(const uint64_t *v, size_t n);
	/* The ranges of the series, of its differences and of the differences of these. */
	void (*ranges)(const struct pm_series *s, struct pm_range range[3]);
	/* Packs (difference of that order) - base. Writes up to PM_SLACK bytes more than pm_packed_size(). */
	void (*pack)(uint8_t *out, const struct pm_series *s, unsigned order, uint64_t base, unsigned width);
	/*
	 * Undoes it: out[i] = ((packed[i] + base, summed up `order` times) + other[i]) & mask. `sum` is the
	 * number before the first one, `step` the difference before the first one (order 2). other may be
	 * NULL. Reads up to PM_SLACK bytes after the packed ones; writes exactly n numbers.
	 */
	void (*unpack)(uint64_t *out, const uint8_t *in, size_t n, unsigned order, uint64_t base, unsigned width,
		       uint64_t sum, uint64_t step, const uint64_t *other, uint64_t mask);
};

extern const struct pm_kernel pm_kernel_portable, pm_kernel_avx2;

/* Bytes of n packed values of that width. */
static inline size_t pm_packed_size(size_t n, unsigned width)
{
	return (n * width + 7) / 8;
}

static inline uint64_t pm_load_le64(const uint8_t *p)
{
	uint64_t x;

	memcpy(&x, p, sizeof(x));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	x = __builtin_bswap64(x);
#endif
	return x;
}

static inline void pm_store_le64(uint8_t *p, uint64_t x)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	x = __builtin_bswap64(x);
#endif
	memcpy(p, &x, sizeof(x));
}

/* Keeps the low 64 - shift bits and extends their sign. */
static inline uint64_t pm_extend(uint64_t x, unsigned shift)
{
	return (uint64_t)((int64_t)(x << shift) >> shift);
}

/* Numbers near 0 of either sign as small unsigned ones: 0, -1, 1, -2 ... are 0, 1, 2, 3 ... */
static inline uint64_t pm_zigzag(uint64_t x)
{
	return x << 1 ^ (uint64_t)((int64_t)x >> 63);
}

static inline uint64_t pm_unzigzag(uint64_t x)
{
	return x >> 1 ^ -(x & 1);
}

/* The low bits, 0 to 64 of them. */
static inline uint64_t pm_mask(unsigned width)
{
	return width ? UINT64_MAX >> (64 - width) : 0;
}

/* Bits that hold 0 ... x. */
static inline unsigned pm_width_of(uint64_t x)
{
	return x ? 64 - (unsigned)__builtin_clzll(x) : 0;
}
