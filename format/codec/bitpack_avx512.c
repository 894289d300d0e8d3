/* The inner loops of the codec with AVX-512 and VBMI, which shifts bytes into place across a whole vector: eight
 * numbers of 64 bits at a time. */
#include <immintrin.h>

#include "format/codec/bitpack.h"

#define TARGET "avx512f,avx512bw,avx512dq,avx512vbmi"
#define AVX512 __attribute__((target(TARGET)))
#define INLINE static inline __attribute__((always_inline, target(TARGET)))

INLINE __m512i load(const uint64_t *p)
{
	return _mm512_loadu_si512(p);
}

/* The lanes that hold numbers i ... n-1. */
INLINE __mmask8 lanes(size_t i, size_t n)
{
	return (__mmask8)(n - i >= 8 ? 0xff : (1u << (n - i)) - 1);
}

/* Eight numbers of a series and the eight that end with the last but one and the last but two of them. */
struct window {
	__m512i x, last, last2;
};

INLINE struct window window_before(const struct pm_series *s)
{
	return (struct window){ .x = _mm512_set_epi64((int64_t)s->last, (int64_t)s->last2, 0, 0, 0, 0, 0, 0) };
}

/* Moves on by eight numbers. */
INLINE void window_next(struct window *w, const struct pm_series *s, size_t i, __mmask8 m)
{
	__m512i x = _mm512_maskz_loadu_epi64(m, s->v + i);

	if (s->other)
		x = _mm512_sub_epi64(x, _mm512_maskz_loadu_epi64(m, s->other + i));
	w->last = _mm512_alignr_epi64(x, w->x, 7);
	w->last2 = _mm512_alignr_epi64(x, w->x, 6);
	w->x = x;
}

INLINE __m512i difference(const struct window *w, unsigned order, unsigned shift)
{
	__m128i count = _mm_cvtsi32_si128((int)shift);
	__m512i d = _mm512_sub_epi64(w->x, w->last);

	if (order == 2)
		d = _mm512_sub_epi64(d, _mm512_sub_epi64(w->last, w->last2));
	if (!order)
		d = w->x;
	return shift ? _mm512_sra_epi64(_mm512_sll_epi64(d, count), count) : d;
}

AVX512 static uint64_t bits(const uint64_t *v, size_t n)
{
	__m512i all = _mm512_setzero_si512();

	for (size_t i = 0; i < n; i += 8)
		all = _mm512_or_si512(all, _mm512_maskz_loadu_epi64(lanes(i, n), v + i));
	return (uint64_t)_mm512_reduce_or_epi64(all);
}

struct extremes {
	__m512i lo, hi;
};

INLINE void widen(struct extremes *e, __m512i x, __mmask8 m)
{
	e->lo = _mm512_mask_min_epi64(e->lo, m, e->lo, x);
	e->hi = _mm512_mask_max_epi64(e->hi, m, e->hi, x);
}

INLINE struct pm_range reduce(struct extremes e)
{
	return (struct pm_range){ _mm512_reduce_min_epi64(e.lo), _mm512_reduce_max_epi64(e.hi) };
}

INLINE void ranges_shifted(const struct pm_series *s, unsigned shift, struct pm_range range[3])
{
	const struct extremes none = { _mm512_set1_epi64(INT64_MAX), _mm512_set1_epi64(INT64_MIN) };
	struct extremes a = none, b = none, c = none;
	struct window w = window_before(s);
	size_t i;

	for (i = 0; i + 8 <= s->n; i += 8) {
		window_next(&w, s, i, 0xff);
		widen(&a, difference(&w, 0, shift), 0xff);
		widen(&b, difference(&w, 1, shift), 0xff);
		widen(&c, difference(&w, 2, shift), 0xff);
	}
	if (i < s->n) {
		__mmask8 m = lanes(i, s->n);

		window_next(&w, s, i, m);
		widen(&a, difference(&w, 0, shift), m);
		widen(&b, difference(&w, 1, shift), m);
		widen(&c, difference(&w, 2, shift), m);
	}
	range[0] = reduce(a);
	range[1] = reduce(b);
	range[2] = reduce(c);
}

AVX512 static void ranges(const struct pm_series *s, struct pm_range range[3])
{
	if (s->shift)
		ranges_shifted(s, s->shift, range);
	else
		ranges_shifted(s, 0, range);
}

/* Eight values of up to 8 bits to the lowest lane. */
INLINE uint64_t join(__m512i x, unsigned width)
{
	static const uint64_t place[8] = { 0, 1, 2, 3, 4, 5, 6, 7 };

	x = _mm512_sllv_epi64(x, _mm512_mullo_epi64(load(place), _mm512_set1_epi64(width)));
	return (uint64_t)_mm512_reduce_or_epi64(x);
}

/*
 * Eight values of 9 to 57 bits. Each is shifted so that its bits lie right within their byte; then every byte
 * of the result is one byte of one value, or of two values that meet in it.
 */
struct weave {
	__m512i shift, first, second;
	__mmask64 both;
};

/* Which byte of the shifted values: bit / width is the value, here with 2^16 / width, which is exact up to
 * 511 / 57. */
INLINE __m256i weave_index(__m512i byte, __m512i bit, unsigned width)
{
	__m512i value = _mm512_mulhi_epu16(bit, _mm512_set1_epi16((short)(65536 / width + 1)));
	__m512i from = _mm512_srli_epi16(_mm512_mullo_epi16(value, _mm512_set1_epi16((short)width)), 3);

	return _mm512_cvtepi16_epi8(_mm512_add_epi16(_mm512_sub_epi16(byte, from), _mm512_slli_epi16(value, 3)));
}

INLINE struct weave weave_of(unsigned width)
{
	static const uint16_t counting[32] = {
		0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
		16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
	};
	const __m512i low = _mm512_loadu_si512(counting), high = _mm512_add_epi16(low, _mm512_set1_epi16(32));
	const __m512i low_bit = _mm512_slli_epi16(low, 3), high_bit = _mm512_slli_epi16(high, 3);
	const __m512i seven = _mm512_set1_epi16(7);
	struct weave weave;

	weave.shift = _mm512_and_si512(
		_mm512_mullo_epi64(_mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0), _mm512_set1_epi64(width)),
		_mm512_set1_epi64(7));
	/* The value of the byte's lowest bit and that of its highest. */
	weave.first = _mm512_inserti64x4(_mm512_castsi256_si512(weave_index(low, low_bit, width)),
					 weave_index(high, high_bit, width), 1);
	weave.second =
		_mm512_inserti64x4(_mm512_castsi256_si512(weave_index(low, _mm512_add_epi16(low_bit, seven), width)),
				   weave_index(high, _mm512_add_epi16(high_bit, seven), width), 1);
	weave.both = _mm512_cmpneq_epi8_mask(weave.first, weave.second);
	return weave;
}

INLINE void pack_order(uint8_t *out, const struct pm_series *s, unsigned order, uint64_t base, unsigned width)
{
	__m512i bases = _mm512_set1_epi64((int64_t)base);
	struct window w = window_before(s);
	struct weave weave;

	if (width <= 8) {
		for (size_t i = 0; i < s->n; i += 8) {
			__mmask8 m = lanes(i, s->n);

			window_next(&w, s, i, m);
			pm_store_le64(out + i / 8 * width,
				      join(_mm512_maskz_sub_epi64(m, difference(&w, order, s->shift), bases), width));
		}
		return;
	}
	weave = weave_of(width);
	for (size_t i = 0; i < s->n; i += 8) {
		__mmask8 m = lanes(i, s->n);
		__m512i x;

		window_next(&w, s, i, m);
		x = _mm512_sllv_epi64(_mm512_maskz_sub_epi64(m, difference(&w, order, s->shift), bases), weave.shift);
		x = _mm512_or_si512(_mm512_permutexvar_epi8(weave.first, x),
				    _mm512_maskz_permutexvar_epi8(weave.both, weave.second, x));
		_mm512_storeu_si512(out + i / 8 * width, x);
	}
}

AVX512 static void pack(uint8_t *out, const struct pm_series *s, unsigned order, uint64_t base, unsigned width)
{
	if (!width)
		return;
	if (width > 57) /* the value no longer fits its lane when shifted by seven */
		pm_kernel_portable.pack(out, s, order, base, width);
	else if (order == 0)
		pack_order(out, s, 0, base, width);
	else if (order == 1)
		pack_order(out, s, 1, base, width);
	else
		pack_order(out, s, 2, base, width);
}

/* x[i] += x[i - 1] ... within the eight. */
INLINE __m512i sum_up(__m512i x)
{
	__m512i zero = _mm512_setzero_si512();

	x = _mm512_add_epi64(x, _mm512_alignr_epi64(x, zero, 7));
	x = _mm512_add_epi64(x, _mm512_alignr_epi64(x, zero, 6));
	return _mm512_add_epi64(x, _mm512_alignr_epi64(x, zero, 4));
}

struct running {
	__m512i base, mask, keep, sum, step;
};

INLINE void unpack_order(uint64_t *out, const uint8_t *in, size_t n, unsigned order, unsigned width,
			 struct running run, const uint64_t *other)
{
	const __m512i top = _mm512_set1_epi64(7);
	__m512i bit = _mm512_mullo_epi64(_mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0), _mm512_set1_epi64(width));
	__m512i shift = _mm512_and_si512(bit, top), index;

	/* The eight bytes from where each value starts. */
	index = _mm512_mullo_epi64(_mm512_srli_epi64(bit, 3), _mm512_set1_epi64(0x0101010101010101));
	index = _mm512_add_epi64(index, _mm512_set1_epi64(0x0706050403020100));
	for (size_t i = 0; i < n; i += 8) {
		__mmask8 m = lanes(i, n);
		__m512i x = _mm512_permutexvar_epi8(index, _mm512_loadu_si512(in + i / 8 * width));

		x = _mm512_add_epi64(_mm512_and_si512(_mm512_srlv_epi64(x, shift), run.mask), run.base);
		if (order == 2) {
			x = sum_up(x);
			x = _mm512_add_epi64(x, run.step);
			run.step = _mm512_permutexvar_epi64(top, x);
		}
		if (order) {
			x = sum_up(x);
			x = _mm512_add_epi64(x, run.sum);
			run.sum = _mm512_permutexvar_epi64(top, x);
		}
		if (other)
			x = _mm512_add_epi64(x, _mm512_maskz_loadu_epi64(m, other + i));
		_mm512_mask_storeu_epi64(out + i, m, _mm512_and_si512(x, run.keep));
	}
}

AVX512 static void unpack(uint64_t *out, const uint8_t *in, size_t n, unsigned order, uint64_t base, unsigned width,
			  uint64_t sum, uint64_t step, const uint64_t *other, uint64_t mask)
{
	struct running run = {
		.base = _mm512_set1_epi64((int64_t)base),
		.mask = _mm512_set1_epi64((int64_t)pm_mask(width)),
		.keep = _mm512_set1_epi64((int64_t)mask),
		.sum = _mm512_set1_epi64((int64_t)sum),
		.step = _mm512_set1_epi64((int64_t)step),
	};

	if (width > 57) /* seven bits of offset and the value no longer fit a lane */
		pm_kernel_portable.unpack(out, in, n, order, base, width, sum, step, other, mask);
	else if (order == 0)
		unpack_order(out, in, n, 0, width, run, other);
	else if (order == 1)
		unpack_order(out, in, n, 1, width, run, other);
	else
		unpack_order(out, in, n, 2, width, run, other);
}

const struct pm_kernel pm_kernel_avx512 = {
	.name = "AVX-512",
	.bits = bits,
	.ranges = ranges,
	.pack = pack,
	.unpack = unpack,
};
