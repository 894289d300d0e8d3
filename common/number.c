/*
 * Doubles are printed by the method of R. Giulietti, "The Schubfach way to render doubles" (2021): of the
 * decimals that round to the double it finds the shortest and, among those, the closest, with three 64 x 128
 * bit products.
 */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "common/double_bits.h"
#include "common/number.h"

/* 10^k for these k: what doubles need. */
#define POW10_MIN (-292)
#define POW10_MAX 324
#define LIMBS     28

/* Powers of ten as 128 bits, of which the highest is set, rounded up. */
static struct pow10 {
	uint64_t high, low;
} pow10_table[POW10_MAX - POW10_MIN + 1];

/* The highest 128 bits of a number, lowest limb first, plus `more`. */
static struct pow10 top_bits(const uint32_t *limb, unsigned more)
{
	unsigned __int128 top = 0;
	int n = LIMBS - 1, shift;

	while (!limb[n])
		n--;
	shift = __builtin_clz(limb[n]);
	for (int i = 0; i < 4; i++)
		top = top << 32 | (n >= i ? limb[n - i] : 0);
	top = (top << shift | (n >= 4 ? (uint64_t)limb[n - 4] << shift >> 32 : 0)) + more;
	return (struct pow10){ (uint64_t)(top >> 64), (uint64_t)top };
}

/* The bits of 10^k are those of 5^k: multiplies up from 1, and divides down from a power of two; what the divisions
 * lose is what a single one by 5^-k would. */
__attribute__((constructor)) static void pow10_init(void)
{
	uint32_t up[LIMBS] = { 1 }, down[LIMBS] = { [LIMBS - 1] = 1u << 31 };

	for (int k = 0; k <= POW10_MAX; k++) {
		uint64_t carry = 0, rest = 0;

		pow10_table[k - POW10_MIN] = top_bits(up, k > 55);
		if (k <= -POW10_MIN)
			pow10_table[-k - POW10_MIN] = top_bits(down, k > 0);
		for (int i = 0; i < LIMBS; i++) {
			carry += (uint64_t)up[i] * 5;
			up[i] = (uint32_t)carry;
			carry >>= 32;
		}
		for (int i = LIMBS; i--;) {
			rest = rest << 32 | down[i];
			down[i] = (uint32_t)(rest / 5);
			rest %= 5;
		}
	}
}

static const char digit_pairs[201] = "0001020304050607080910111213141516171819"
				     "2021222324252627282930313233343536373839"
				     "4041424344454647484950515253545556575859"
				     "6061626364656667686970717273747576777879"
				     "8081828384858687888990919293949596979899";

/* clang-format off */
static const uint64_t powers_of_ten[20] = {
	1ull, 10ull, 100ull, 1000ull, 10000ull, 100000ull, 1000000ull, 10000000ull, 100000000ull, 1000000000ull,
	10000000000ull, 100000000000ull, 1000000000000ull, 10000000000000ull, 100000000000000ull, 1000000000000000ull,
	10000000000000000ull, 100000000000000000ull, 1000000000000000000ull, 10000000000000000000ull,
};
/* clang-format on */

static unsigned count_digits(uint64_t v)
{
	/* 1233/4096 is slightly more than log10(2), so the guess is right or one too high. */
	unsigned guess = (unsigned)((64 - __builtin_clzll(v | 1)) * 1233) >> 12;

	return guess + (v >= powers_of_ten[guess]);
}

/* Exactly `digits` characters, with leading zeros. */
static void put_digits(char *out, uint64_t v, unsigned digits)
{
	while (digits >= 2) {
		digits -= 2;
		memcpy(out + digits, digit_pairs + v % 100 * 2, 2);
		v /= 100;
	}
	if (digits)
		out[0] = (char)('0' + v);
}

size_t number_u64(char *out, uint64_t v)
{
	unsigned digits = v ? count_digits(v) : 1;

	put_digits(out, v, digits);
	return digits;
}

size_t number_s64(char *out, int64_t v)
{
	if (v >= 0)
		return number_u64(out, (uint64_t)v);
	out[0] = '-';
	return 1 + number_u64(out + 1, 0 - (uint64_t)v);
}

static int32_t floor_log10_pow2(int32_t e)
{
	return (int32_t)(((int64_t)e * 1262611) >> 22);
}

/* floor(log10(3/4 * 2^e)), for doubles whose lower neighbour is nearer than the upper one. */
static int32_t floor_log10_three_quarters_pow2(int32_t e)
{
	return (int32_t)(((int64_t)e * 1262611 - 524031) >> 22);
}

static int32_t floor_log2_pow10(int32_t e)
{
	return (int32_t)(((int64_t)e * 1741647) >> 19);
}

/* The high part of the product; the lowest bit is set if a remainder was lost. */
static uint64_t round_to_odd(struct pow10 g, uint64_t c)
{
	unsigned __int128 x = (unsigned __int128)g.low * c;
	unsigned __int128 y = (unsigned __int128)g.high * c + (uint64_t)(x >> 64);

	return (uint64_t)(y >> 64) | ((uint64_t)y > 1);
}

/* A finite positive double as digits * 10^exponent. */
static uint64_t shortest(uint64_t bits, int32_t *exponent)
{
	uint64_t fraction = bits & ((1ull << 52) - 1), c, s, below, here, above, lower, upper;
	int32_t biased = (int32_t)(bits >> 52), q, k, h;
	bool near_below = !fraction && biased > 1, odd, take_low, take_high;
	struct pow10 g;

	c = biased ? fraction | 1ull << 52 : fraction;
	q = (biased ? biased : 1) - 1075;
	odd = c & 1;
	k = near_below ? floor_log10_three_quarters_pow2(q) : floor_log10_pow2(q);
	h = q + floor_log2_pow10(-k) + 1;
	g = pow10_table[-k - POW10_MIN];
	below = round_to_odd(g, (4 * c - 2 + near_below) << h);
	here = round_to_odd(g, 4 * c << h);
	above = round_to_odd(g, (4 * c + 2) << h);
	lower = below + odd; /* the ends of the interval round to the double only if it is even */
	upper = above - odd;

	s = here / 4;
	*exponent = k;
	if (s >= 10) {
		uint64_t tens = s / 10;

		take_low = lower <= 40 * tens;
		take_high = 40 * tens + 40 <= upper;
		if (take_low != take_high) {
			*exponent = k + 1;
			return tens + take_high;
		}
	}
	take_low = lower <= 4 * s;
	take_high = 4 * s + 4 <= upper;
	if (take_low != take_high)
		return s + take_high;
	return s + (here > 4 * s + 2 || (here == 4 * s + 2 && (s & 1)));
}

static uint64_t strip_zeros(uint64_t digits, int32_t *exponent)
{
	while (digits % 100 == 0) {
		digits /= 100;
		*exponent += 2;
	}
	if (digits % 10 == 0) {
		digits /= 10;
		*exponent += 1;
	}
	return digits;
}

static size_t put_scientific(char *out, uint64_t digits, unsigned n, int32_t exponent)
{
	size_t len = n > 1 ? n + 1 : 1;

	put_digits(out + 1, digits, n);
	out[0] = out[1];
	if (n > 1)
		out[1] = '.';
	out[len++] = 'e';
	return len + number_s64(out + len, exponent);
}

size_t number_double(char *out, double v)
{
	char *to = out;
	uint64_t bits, digits;
	int32_t exponent, point;
	unsigned n;

	if (v > -1e17 && v < 1e17 && v == (double)(int64_t)v) {
		if (v == 0 && signbit(v))
			*to++ = '-';
		return (size_t)(to - out) + number_s64(to, (int64_t)v);
	}
	if (v != v) {
		memcpy(out, "nan", 3);
		return 3;
	}
	if (v < 0)
		*to++ = '-';
	if (isinf(v)) {
		memcpy(to, "inf", 3);
		return (size_t)(to - out) + 3;
	}
	bits = double_to_bits(v);
	digits = strip_zeros(shortest(bits & ~(1ull << 63), &exponent), &exponent);
	n = count_digits(digits);
	point = (int32_t)n + exponent; /* digits before the decimal point */
	if (point > 17 || point < -4)
		return (size_t)(to - out) + put_scientific(to, digits, n, point - 1);
	if (point <= 0) {
		memcpy(to, "0.0000", 6);
		to += 2 - point;
		put_digits(to, digits, n);
		return (size_t)(to - out) + n;
	}
	/* It is no integer, so some digits follow the decimal point. */
	put_digits(to, digits / powers_of_ten[-exponent], (unsigned)point);
	to[point] = '.';
	put_digits(to + point + 1, digits % powers_of_ten[-exponent], (unsigned)-exponent);
	return (size_t)(to - out) + n + 1;
}

/* The fraction c / 2^shift (below 1) in units of 10^-decimals, rounded half to even. `odd`: the digit before it is
 * odd. */
static uint64_t round_fraction(uint64_t c, unsigned shift, unsigned decimals, bool odd)
{
	unsigned __int128 product = (unsigned __int128)c * powers_of_ten[decimals], rest, half;
	uint64_t whole;

	if (shift >= 127) /* 2^53 * 10^9 is far less than half of that */
		return 0;
	whole = (uint64_t)(product >> shift);
	rest = product & (((unsigned __int128)1 << shift) - 1);
	half = (unsigned __int128)1 << (shift - 1);
	if (rest > half || (rest == half && (decimals ? whole & 1 : odd)))
		whole++;
	return whole;
}

size_t number_fixed(char *out, double v, unsigned decimals)
{
	uint64_t bits, c, whole, fraction = 0;
	int32_t q;
	char *to = out;

	if (!(fabs(v) < 1e15))
		return number_double(out, v);
	if (decimals > 9)
		decimals = 9;
	bits = double_to_bits(v);
	q = (int32_t)(bits >> 52 & 0x7ff);
	c = (bits & ((1ull << 52) - 1)) | (q ? 1ull << 52 : 0);
	q = (q ? q : 1) - 1075; /* negative, because |v| is less than 2^53 */
	if (q > -53) {
		whole = c >> -q;
		c &= (1ull << -q) - 1;
	} else {
		whole = 0;
	}
	if (c) {
		fraction = round_fraction(c, (unsigned)-q, decimals, whole & 1);
		if (fraction == powers_of_ten[decimals]) {
			whole++;
			fraction = 0;
		}
	}
	if (v < 0 && (whole || fraction))
		*to++ = '-';
	to += number_u64(to, whole);
	if (decimals) {
		*to++ = '.';
		put_digits(to, fraction, decimals);
		to += decimals;
	}
	return (size_t)(to - out);
}

size_t number_time(char *out, uint64_t ns_since_1970, int32_t offset_s)
{
	uint64_t s = ns_since_1970 / 1000000000, ns = ns_since_1970 % 1000000000;
	int64_t local = (int64_t)s + offset_s;
	int64_t days = local / 86400, second = local % 86400, era, year;
	uint32_t day_of_era, year_of_era, day_of_year, month, minutes;
	char *to = out;

	if (second < 0) {
		second += 86400;
		days--;
	}
	/* The calendar repeats every 400 years (146,097 days); years that begin in March have the leap day at
	 * the end. */
	days += 719468;
	era = days / 146097;
	day_of_era = (uint32_t)(days - era * 146097);
	year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
	day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	month = (5 * day_of_year + 2) / 153; /* from March = 0 */
	year = year_of_era + era * 400 + (month >= 10);

	/* 2^64 ns end in the year 2554, so four digits suffice. */
	put_digits(to, (uint64_t)year, 4);
	to[4] = '-';
	put_digits(to + 5, month < 10 ? month + 3 : month - 9, 2);
	to[7] = '-';
	put_digits(to + 8, day_of_year - (153 * month + 2) / 5 + 1, 2);
	to[10] = 'T';
	put_digits(to + 11, (uint64_t)second / 3600, 2);
	to[13] = ':';
	put_digits(to + 14, (uint64_t)second / 60 % 60, 2);
	to[16] = ':';
	put_digits(to + 17, (uint64_t)second % 60, 2);
	to[19] = '.';
	put_digits(to + 20, ns, 9);
	to += 29;
	if (!offset_s) {
		*to++ = 'Z';
		return (size_t)(to - out);
	}
	minutes = (uint32_t)(offset_s < 0 ? -offset_s : offset_s) / 60;
	*to++ = offset_s < 0 ? '-' : '+';
	put_digits(to, minutes / 60 % 100, 2);
	to[2] = ':';
	put_digits(to + 3, minutes % 60, 2);
	return (size_t)(to - out) + 5;
}
