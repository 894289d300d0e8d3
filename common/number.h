/*
 * Numbers and times to text, independent of the locale, and fast enough for tens of millions of cells. Every function
 * writes to `out`, without a NUL at the end, and returns the number of bytes.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define NUMBER_MAX 32 /* the most bytes that the first three write */

/* Decimal, without padding. */
size_t number_u64(char *out, uint64_t v);
size_t number_s64(char *out, int64_t v);
/* The shortest decimal that reads back as the same double; without exponent from 1e-5 to below 1e17. Integers below
 * 1e17 are exact and have no point. Others are "nan", "inf", "-inf". */
size_t number_double(char *out, double v);
/* `decimals` places (0-9), rounded half to even on the exact value; zero has no sign. From 1e15 on as
 * number_double(). */
size_t number_fixed(char *out, double v, unsigned decimals);
/* RFC 3339 with nanoseconds: "2026-11-21T09:25:07.123456789Z"; 30 bytes (more beyond the year 9999).
 * `offset_s`: seconds east of UTC; unless 0, "+01:00" replaces the Z. */
size_t number_time(char *out, uint64_t ns_since_1970, int32_t offset_s);

/* The plural ending for a count. */
static inline const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}
