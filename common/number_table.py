#!/usr/bin/python3
# Prints common/number_table.inc: for k in -292..324 the power 10^k as a 128-bit significand, rounded up, with the
# highest bit set. `tests/unit/common/test_number.c` compares what number_double() makes of it with other implementations.
MIN, MAX = -292, 324


def significand(k):
    numerator, denominator = (10**k, 1) if k >= 0 else (1, 10**-k)
    # shift so that the quotient has exactly 128 bits
    shift = 128 - (numerator.bit_length() - denominator.bit_length())
    for s in (shift - 1, shift, shift + 1):
        n, d = (numerator << s, denominator) if s >= 0 else (numerator, denominator << -s)
        quotient = -(-n // d)
        if n // d >> 127 == 1:
            return quotient
    raise AssertionError(k)


print("/* Powers of ten from 10^%d on: { high, low } 64 bits. Made by common/number_table.py. */" % MIN)
for k in range(MIN, MAX + 1):
    g = significand(k)
    assert g >> 127 == 1
    print("{ 0x%016x, 0x%016x }, /* %d */" % (g >> 64, g & (1 << 64) - 1, k))
