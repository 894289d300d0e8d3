/* The inner loops of the codec with AVX2: four numbers of 64 bits at a time. */
#include <immintrin.h>

#include "format/codec/bitpack.h"

#define AVX2   __attribute__((target("avx2")))
#define INLINE static inline __attribute__((always_inline, target("avx2")))

INLINE __m256i load(const uint64_t *p)
{
	return _mm256_loadu_si256((const __m256i *)p);
}

INLINE void store(uint64_t *p, __m256i x)
{
	_mm256_storeu_si256((__m256i *)p, x);
}

/* There is no arithmetic shift of 64 bits. */
INLINE __m256i extend(__m256i x, unsigned shift)
{
	__m256i sign, mask;

	if (!shift)
		return x;
	sign = _mm256_set1_epi64x((int64_t)((uint64_t)1 << (63 - shift)));
	mask = _mm256_set1_epi64x((int64_t)(UINT64_MAX >> shift));
	return _mm256_sub_epi64(_mm256_xor_si256(_mm256_and_si256(x, mask), sign), sign);
}

/* Four numbers of a series and the four that end with the last but one and the last but two of them. */
struct window {
	__m256i x, last, last2;
};

INLINE struct window window_before(const struct pm_series *s)
{
	return (struct window){ .x = _mm256_set_epi64x((int64_t)s->last, (int64_t)s->last2, 0, 0) };
}

/* Moves on by four numbers. */
INLINE void window_next(struct window *w, const struct pm_series *s, size_t i)
{
	__m256i x = load(s->v + i), old = w->x;

	if (s->other)
		x = _mm256_sub_epi64(x, load(s->other + i));
	w->x = x;
	w->last2 = _mm256_permute2x128_si256(old, x, 0x21);
	w->last = _mm256_alignr_epi8(x, w->last2, 8);
}

INLINE __m256i difference(const struct window *w, unsigned order, unsigned shift)
{
	__m256i d = _mm256_sub_epi64(w->x, w->last);

	if (order == 2)
		d = _mm256_sub_epi64(d, _mm256_sub_epi64(w->last, w->last2));
	return extend(order ? d : w->x, shift);
}

/* What is left from number i on. */
INLINE struct pm_series rest_of(const struct pm_series *s, const struct window *w, size_t i)
{
	struct pm_series rest = *s;

	rest.v += i;
	rest.other = s->other ? s->other + i : NULL;
	rest.n -= i;
	rest.last = (uint64_t)_mm256_extract_epi64(w->x, 3);
	rest.last2 = (uint64_t)_mm256_extract_epi64(w->x, 2);
	return rest;
}

AVX2 static uint64_t bits(const uint64_t *v, size_t n)
{
	__m256i all = _mm256_setzero_si256();
	uint64_t part[4], rest = 0;
	size_t i;

	for (i = 0; i + 4 <= n; i += 4)
		all = _mm256_or_si256(all, load(v + i));
	for (; i < n; i++)
		rest |= v[i];
	store(part, all);
	return part[0] | part[1] | part[2] | part[3] | rest;
}

struct extremes {
	__m256i lo, hi;
};

INLINE void widen(struct extremes *e, __m256i x)
{
	e->lo = _mm256_blendv_epi8(e->lo, x, _mm256_cmpgt_epi64(e->lo, x));
	e->hi = _mm256_blendv_epi8(e->hi, x, _mm256_cmpgt_epi64(x, e->hi));
}

/* Joins what was found with the range of the rest. */
INLINE void reduce(struct extremes e, struct pm_range *range)
{
	uint64_t lo[4], hi[4];

	store(lo, e.lo);
	store(hi, e.hi);
	for (unsigned i = 0; i < 4; i++) {
		range->lo = (int64_t)lo[i] < range->lo ? (int64_t)lo[i] : range->lo;
		range->hi = (int64_t)hi[i] > range->hi ? (int64_t)hi[i] : range->hi;
	}
}

INLINE void ranges_shifted(const struct pm_series *s, unsigned shift, struct pm_range range[3])
{
	const struct extremes none = { _mm256_set1_epi64x(INT64_MAX), _mm256_set1_epi64x(INT64_MIN) };
	struct extremes a = none, b = none, c = none;
	struct window w = window_before(s);
	struct pm_series rest;
	size_t i;

	for (i = 0; i + 4 <= s->n; i += 4) {
		window_next(&w, s, i);
		widen(&a, difference(&w, 0, shift));
		widen(&b, difference(&w, 1, shift));
		widen(&c, difference(&w, 2, shift));
	}
	rest = rest_of(s, &w, i);
	pm_kernel_portable.ranges(&rest, range);
	reduce(a, &range[0]);
	reduce(b, &range[1]);
	reduce(c, &range[2]);
}

AVX2 static void ranges(const struct pm_series *s, struct pm_range range[3])
{
	if (s->shift)
		ranges_shifted(s, s->shift, range);
	else
		ranges_shifted(s, 0, range);
}

INLINE void residuals(uint64_t *x, const struct pm_series *s, unsigned order, uint64_t base)
{
	__m256i bases = _mm256_set1_epi64x((int64_t)base);
	struct window w = window_before(s);
	struct pm_series rest;
	size_t i;

	for (i = 0; i + 4 <= s->n; i += 4) {
		window_next(&w, s, i);
		store(x + i, _mm256_sub_epi64(difference(&w, order, s->shift), bases));
	}
	rest = rest_of(s, &w, i);
	pm_residuals(x + i, &rest, order, base);
}

AVX2 static void pack(uint8_t *out, const struct pm_series *s, unsigned order, uint64_t base, unsigned width)
{
	uint64_t x[PM_BLOCK + 4];
	size_t n = s->n;

	if (!width)
		return;
	if (order == 0)
		residuals(x, s, 0, base);
	else if (order == 1)
		residuals(x, s, 1, base);
	else
		residuals(x, s, 2, base);
	for (; n % 4; n++)
		x[n] = 0;
	/* In pairs while they fit: half as many steps for the part that cannot be done side by side. */
	for (; width <= 32 && n > 1; width *= 2, n /= 2) {
		__m256i shifts = _mm256_set_epi64x(width, 0, width, 0);

		if (n % 2)
			x[n++] = 0;
		for (size_t i = 0; i < n; i += 4) {
			__m256i a = _mm256_sllv_epi64(load(x + i), shifts);

			a = _mm256_or_si256(a, _mm256_shuffle_epi32(a, 0x4e));
			_mm_storeu_si128((__m128i *)(x + i / 2),
					 _mm256_castsi256_si128(_mm256_permute4x64_epi64(a, 0x08)));
		}
	}
	pm_pack_bits(out, x, n, width);
}

/* x[i] += x[i - 1] ... within the four. */
INLINE __m256i sum_up(__m256i x)
{
	x = _mm256_add_epi64(x, _mm256_slli_si256(x, 8));
	return _mm256_add_epi64(x,
				_mm256_blend_epi32(_mm256_setzero_si256(), _mm256_permute4x64_epi64(x, 0x55), 0xf0));
}

struct running {
	__m256i base, mask, keep, sum, step;
};

INLINE __m256i finish(struct running *run, __m256i x, unsigned order)
{
	x = _mm256_add_epi64(_mm256_and_si256(x, run->mask), run->base);
	if (order == 2) {
		x = _mm256_add_epi64(sum_up(x), run->step);
		run->step = _mm256_permute4x64_epi64(x, 0xff);
	}
	if (order) {
		x = _mm256_add_epi64(sum_up(x), run->sum);
		run->sum = _mm256_permute4x64_epi64(x, 0xff);
	}
	return x;
}

INLINE void unpack_order(uint64_t *out, const uint8_t *in, size_t n, unsigned order, unsigned width,
			 struct running run, const uint64_t *other)
{
	__m256i shuffle[2], shifts[2];

	/* The lower pair of four is taken from the byte where its first value starts, the upper pair
	 * likewise. */
	for (unsigned half = 0; half < 2; half++) {
		uint64_t control[4], shift[4];

		for (unsigned i = 0; i < 4; i++) {
			unsigned at = (half * 4 + i) * width, from = (half * 4 + i / 2 * 2) * width;

			control[i] = (at / 8 - from / 8) * 0x0101010101010101u + 0x0706050403020100u;
			shift[i] = at % 8;
		}
		shuffle[half] = load(control);
		shifts[half] = load(shift);
	}
	for (size_t i = 0; i < n; i += 4) {
		unsigned half = i / 4 % 2;
		const uint8_t *low = in + i * width / 8, *high = in + (i + 2) * width / 8;
		__m256i x = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)low)),
						    _mm_loadu_si128((const __m128i *)high), 1);

		x = finish(&run, _mm256_srlv_epi64(_mm256_shuffle_epi8(x, shuffle[half]), shifts[half]), order);
		if (i + 4 <= n) {
			if (other)
				x = _mm256_add_epi64(x, load(other + i));
			store(out + i, _mm256_and_si256(x, run.keep));
		} else {
			uint64_t last[4], keep = (uint64_t)_mm256_extract_epi64(run.keep, 0);

			store(last, x);
			for (size_t k = i; k < n; k++)
				out[k] = (last[k - i] + (other ? other[k] : 0)) & keep;
		}
	}
}

AVX2 static void unpack(uint64_t *out, const uint8_t *in, size_t n, unsigned order, uint64_t base, unsigned width,
			uint64_t sum, uint64_t step, const uint64_t *other, uint64_t mask)
{
	struct running run = {
		.base = _mm256_set1_epi64x((int64_t)base),
		.mask = _mm256_set1_epi64x((int64_t)pm_mask(width)),
		.keep = _mm256_set1_epi64x((int64_t)mask),
		.sum = _mm256_set1_epi64x((int64_t)sum),
		.step = _mm256_set1_epi64x((int64_t)step),
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

const struct pm_kernel pm_kernel_avx2 = {
	.name = "AVX2",
	.bits = bits,
	.ranges = ranges,
	.pack = pack,
	.unpack = unpack,
};
