/* A double as the 64 bits of its IEEE 754 representation, the form in recordings. */
#pragma once

#include <stdint.h>
#include <string.h>

static inline uint64_t double_to_bits(double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	return bits;
}

static inline double double_from_bits(uint64_t bits)
{
	double v;

	memcpy(&v, &bits, sizeof(v));
	return v;
}
