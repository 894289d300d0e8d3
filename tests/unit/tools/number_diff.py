#!/usr/bin/python3
"""Numbers as text against Python: repr() is the shortest decimal as well, and '%.*f' is exact.

usage: number_diff.py NUMBER_TOOL [COUNT [SEED]]
"""
import math
import random
import struct
import subprocess
import sys
from decimal import Decimal


def to_bits(x):
    return struct.unpack("<Q", struct.pack("<d", x))[0]


def random_bits(rng, i):
    kind = i % 5
    if kind == 0:
        return rng.getrandbits(64)
    if kind == 1:
        return to_bits(rng.uniform(-1e6, 1e6))
    if kind == 2:
        return to_bits(round(rng.uniform(0, 1000), rng.randint(0, 6)))
    if kind == 3:  # powers of two and their neighbours
        return (rng.getrandbits(11) << 52) + rng.choice([0, 1, 2, -1]) & (1 << 64) - 1
    return to_bits(rng.randint(-2000, 2000) / 2 ** rng.randint(0, 12))


def wrong(x, decimals, shortest, fixed):
    if math.isnan(x) or math.isinf(x):
        return shortest != repr(x)
    if float(shortest) != x:
        return True
    if abs(x) < 1e17 and x == int(x):
        zero = "-0" if math.copysign(1, x) < 0 else "0"
        if shortest != (str(int(x)) if x else zero):
            return True
    elif Decimal(shortest) != Decimal(repr(x)) or ("e" in shortest) != (not 1e-5 <= abs(x) < 1e17):
        return True
    if abs(x) >= 1e15:
        return fixed != shortest
    expected = "%.*f" % (decimals, x)
    if float(expected) == 0:
        expected = expected.lstrip("-")
    return fixed != expected


def main():
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 250000
    rng = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    cases = [(random_bits(rng, i), rng.randint(0, 9)) for i in range(count)]
    text = "".join("%x %d\n" % c for c in cases)
    run = subprocess.run([sys.argv[1]], input=text, capture_output=True, text=True, check=True)
    answers = run.stdout.splitlines()
    if len(answers) != count:
        sys.exit("%d answers to %d numbers" % (len(answers), count))
    bad = 0
    for (bits, decimals), answer in zip(cases, answers):
        x = struct.unpack("<d", struct.pack("<Q", bits))[0]
        shortest, fixed = answer.split()
        if wrong(x, decimals, shortest, fixed):
            bad += 1
            if bad <= 10:
                print("%r with %d decimals: %s %s" % (x, decimals, shortest, fixed))
    print("%d numbers, %d differ" % (count, bad))
    sys.exit(bad != 0)


main()
