#!/usr/bin/python3
"""Packed columns against a second reader, written from SPEC.md, "Packed columns".

usage: codec_diff.py [--cases=N] [--seed=N] CODEC_TOOL...    (several words: such as an emulator before the tool)
"""
import random
import struct
import subprocess
import sys
from fractions import Fraction

M = (1 << 64) - 1
NO_REF, REF_TICK = 0xFFFFFFFF, 0xFFFFFFFE


def unzigzag(z):
    return z >> 1 if z % 2 == 0 else -(z >> 1) - 1


def factor(grain):
    """What one of the grain is worth."""
    return Fraction(1, 10 ** (grain - 1)) if grain < 24 else Fraction(2) ** (grain - 151)


def to_bits(grain, n):
    n = n - (1 << 64) if n >> 63 else n
    assert abs(n) < 1 << 51
    return struct.unpack("<Q", struct.pack("<d", float(n * factor(grain))))[0]


def to_number(grain, bits):
    v = struct.unpack("<d", struct.pack("<Q", bits))[0]
    if v - v != 0:
        return 0
    n = round(Fraction(v) / factor(grain))
    return n & M if abs(n) < 1 << 51 and to_bits(grain, n & M) == bits else 0


class Bits:
    def __init__(self, data):
        self.n, self.at, self.size = int.from_bytes(data, "little"), 0, len(data) * 8

    def u(self, n):
        assert self.at + n <= self.size, "ran out of bits"
        x = self.n >> self.at & (1 << n) - 1
        self.at += n
        return x

    def ones(self, most):
        n = 0
        while n < most and self.u(1):
            n += 1
        return n

    def rice(self, k):
        return self.ones(1000) << k | self.u(k)

    def number(self):
        return unzigzag(self.u(self.u(7)))

    def align(self):
        assert self.u(-self.at % 8) == 0, "padding"


class Matrix:
    """rows, bands [(columns, bits, ref_first, ref_columns, real)], before, growths (lists or None), before_tick, tick"""

    def __init__(self, rows, bands, before, growths, before_tick, tick):
        self.rows, self.bands, self.before, self.growths = rows, bands, before, growths
        self.before_tick, self.tick = before_tick, tick
        self.columns = sum(b[0] for b in bands)
        self.v = [None] * self.columns
        self.courses = self.grains = 0

    def has_ref(self, band, first):
        columns, _, ref, refs, _ = band
        return ref == REF_TICK or (ref != NO_REF and ref + (1 if refs == 1 else columns) <= first)

    def prediction(self, band, first, c, source):
        """p of all rows, and of the row before"""
        if source == 0:
            return [0] * self.rows, 0
        if source == 1:
            assert c > 0
            column = first + c - 1
        else:
            assert self.has_ref(band, first)
            if band[2] == REF_TICK:
                return self.tick, self.before_tick
            column = band[2] + (0 if band[3] == 1 else c)
        return self.v[column], self.before[column] if self.before else 0

    def undo(self, band, first, c, source, order, bits, x, w, d):
        """w: of the row before, if no row before says it; d likewise"""
        p, p_before = self.prediction(band, first, c, source)
        if self.before:
            w = self.before[first + c] - p_before
        out = []
        for r in range(self.rows):
            if order == 0:
                w = x[r]
            elif order == 1:
                w += x[r]
            else:
                d += x[r]
                w += d
            out.append((w + p[r]) % (1 << bits))
        self.v[first + c] = out

    def along_course(self, column, bits, x):
        last, s = (self.before[column], self.growths[column]) if self.before else (0, 0)
        out = []
        for r in range(self.rows):
            v = (last + s + x[r]) % (1 << bits)
            s = v - last if last else 0
            last = v
            out.append(v)
        self.v[column] = out

    def unpack(self, data):
        form, at = data[0] & ~32, 1
        grains = []
        while data[0] & 32 and len(grains) < sum(b[0] for b in self.bands if b[4]):
            grain, at, count, shift = data[at], at + 1, 0, 0
            while True:
                count |= (data[at] & 127) << shift
                shift, at = shift + 7, at + 1
                if data[at - 1] < 128:
                    break
            assert count
            grains += [grain] * count
        grains = iter(grains)
        grains = [next(grains, 0) if b[4] else 0 for b in self.bands for _ in range(b[0])]
        if self.before:
            self.growths = [0 if g else x for g, x in zip(grains, self.growths)]
            self.before = [to_number(g, x) if g else x for g, x in zip(grains, self.before)]
        if form == 0:
            self.along_time(data[at:])
        else:
            self.across(data[at:], form == 2)
        self.grains = sum(map(bool, grains))
        return [[to_bits(g, x) for x in v] if g else v for g, v in zip(grains, self.v)]

    def along_time(self, data):
        kinds, widths, rest = data[:self.columns], data[self.columns:2 * self.columns], data[2 * self.columns:]
        packed = [(self.rows * w + 7) // 8 for w in widths]
        numbers, bits = rest[:len(rest) - sum(packed)], rest[len(rest) - sum(packed):]
        at = 0

        def varint():
            nonlocal at
            x = shift = 0
            while True:
                x |= (numbers[at] & 127) << shift
                shift += 7
                at += 1
                if numbers[at - 1] < 128:
                    return unzigzag(x)

        first = column = 0
        for band in self.bands:
            base = seed = 0
            for c in range(band[0]):
                kind, width = kinds[column], widths[column]
                wide, kind = kind // 16, kind % 16
                source, order = divmod(kind, 3)
                w = d = 0
                base += varint()
                if order and not self.before:
                    seed += varint()
                    w = seed
                if order == 2:
                    d = varint()
                mine = Bits(bits[:packed[column]])
                bits = bits[packed[column]:]
                x = [base + mine.u(width) for _ in range(self.rows)]
                mine.align()
                self.undo(band, first, c, source, order, 64 if wide else band[1], x, w, d)
                column += 1
            first += band[0]
        assert at == len(numbers)

    def across(self, data, wide):
        bits = Bits(data)
        runs, first = [], 0
        for band in self.bands:
            if band[0] >= 8:
                runs.append((True, [(band, first)]))
            elif runs and not runs[-1][0]:
                runs[-1][1].append((band, first))
            else:
                runs.append((False, [(band, first)]))
            first += band[0]
        for own, bands in runs:
            kind = bits.u(3) if own else None
            left = self.rows * sum(b[0] for b, _ in bands)
            x = []
            while left:
                n = min(left, 128)
                x += self.block(bits, n)
                left -= n
            for band, first in bands:
                source, order = divmod(kind, 2) if own else (2 if self.has_ref(band, first) else 0, 1)
                for c in range(band[0]):
                    if source == 3:
                        assert order == 0
                        self.courses += 1
                        self.along_course(first + c, 64 if wide else band[1], x[:self.rows])
                        x = x[self.rows:]
                        continue
                    # The first of its band has no neighbour; in these forms that is a prediction of 0.
                    s = 0 if source == 1 and c == 0 else source
                    self.undo(band, first, c, s, order, 64 if wide else band[1], x[:self.rows], 0, 0)
                    x = x[self.rows:]
        bits.align()
        assert bits.at == bits.size

    def block(self, bits, n):
        mode = bits.u(2)
        if mode == 0:
            return [0] * n
        if mode == 1:
            a, b, x = bits.u(3), bits.u(2), []
            while len(x) < n:
                x += [0] * bits.rice(a)
                assert len(x) <= n
                if len(x) < n:
                    length = bits.rice(b)
                    sign = bits.u(1)
                    size = 1 << length | bits.u(length)
                    x.append(-size if sign else size)
            return x
        if mode == 2:
            base, width = bits.number(), bits.u(7)
            bits.align()
            x = [base + bits.u(width) for _ in range(n)]
            bits.align()
            return x
        k, base, x = bits.u(6), bits.number(), []
        while len(x) < n:
            high = bits.ones(20)
            x.append(base + (high << k | bits.u(k) if high < 20 else bits.u(bits.u(7))))
        return x


def column(rng, rows, bits, other):
    """rows + 2 numbers, the first of which are the rows before"""
    mask = (1 << bits) - 1
    if rng.random() < 0.05:
        mask = M
    shape, x, step = rng.randrange(8), rng.getrandbits(rng.randint(1, 64)), rng.getrandbits(rng.randint(1, 40))
    noise, slope, out = rng.randint(0, 30), rng.getrandbits(12), []
    for r in range(rows + 2):
        jitter = rng.getrandbits(noise) if noise else 0
        if shape == 0:
            v = x
        elif shape == 1:
            v = x + jitter
        elif shape == 2:
            x += step + jitter
            v = x
        elif shape == 3:
            step += slope + jitter
            x += step
            v = x
        elif shape == 4:
            v = other[r] + jitter
        elif shape == 5:
            v = rng.getrandbits(64)
        elif shape == 6:
            x += jitter if rng.random() < 0.05 else 0
            v = x
        else:
            v = rng.choice([0, M, 1 << 63, (1 << 63) - 1])
        out.append(v & mask)
    return out


def doubles(rng, rows):
    """Mostly of one grain"""
    unit = rng.choice([lambda x: x // 1 / 4, lambda x: x * 100 // 1 / 1000, lambda x: x // 1 / 10 ** rng.randrange(23),
                       lambda x: struct.unpack("<f", struct.pack("<f", x / 7))[0], lambda x: x / 7,
                       lambda x: x // 1 * 2.0 ** 100])
    x, out = rng.uniform(-1000, 1000), []
    for _ in range(rows + 2):
        x += rng.uniform(-2, 2)
        odd = rng.choice([-0.0, float("nan"), float("inf"), 5e-324, 2.0 ** 51, 1e-22, 0.0])
        v = struct.unpack("<Q", struct.pack("<d", odd if rng.random() < 0.01 else unit(x)))[0]
        out.append(v | rng.getrandbits(20) if v >> 52 == 0x7ff and rng.random() < 0.5 else v)
    return out


def case(rng):
    rows = rng.choice([1, 1, 1, 2, 7, 15, 16, 17, 100, 128])
    ticks = [10 ** 9 + 10 ** 7 * r for r in range(rows + 2)]
    bands, columns = [], []
    for _ in range(rng.randrange(8)):
        n = rng.randint(1, 7) if rng.random() < 0.7 else rng.randint(8, 150)
        ref = rng.choice([NO_REF, NO_REF, REF_TICK, rng.randrange(len(columns) + 1)])
        refs = rng.choice([1, n])
        bits = rng.choice([64, 64, 32, rng.randint(1, 64)])
        real = rng.random() < 0.3
        bands.append((n, 64 if real else bits, NO_REF if real else ref, refs, int(real)))
        if real:
            columns += [doubles(rng, rows) for _ in range(n)]
            continue
        alike = rng.random() < 0.4
        first = len(columns)
        for c in range(n):
            at = ref + (0 if refs == 1 else c)
            other = columns[at] if ref < REF_TICK and at < len(columns) else ticks
            if alike and c and first:
                other = columns[-1]
            columns.append(column(rng, rows, bits, other))
    return rows, bands, ticks, columns, rng.random() < 0.7


def growths_of(columns):
    return [(c[1] - c[0]) % (1 << 64) if c[0] else 0 for c in columns]


def main():
    cases, seed, tool = 300, 1, []
    for word in sys.argv[1:]:
        if word.startswith("--cases="):
            cases = int(word[8:])
        elif word.startswith("--seed="):
            seed = int(word[7:])
        else:
            tool.append(word)
    if not tool:
        sys.exit(__doc__)
    rng = random.Random(seed)
    made = [case(rng) for _ in range(cases)]
    text = []
    for rows, bands, ticks, columns, dependent in made:
        words = [rows, len(bands)] + [x for b in bands for x in b] + [int(dependent), ticks[1]] + ticks[2:]
        if dependent:
            words += [c[1] for c in columns] + growths_of(columns)
        words += [x for c in columns for x in c[2:]]
        text.append(" ".join(map(str, words)))
    result = subprocess.run(tool, input="\n".join(text) + "\n", capture_output=True, text=True, check=True)
    packed = result.stdout.split("\n")[:-1]
    assert len(packed) == cases
    bad, forms, size, courses, grains = 0, [0, 0, 0], 0, 0, 0
    for i, (rows, bands, ticks, columns, dependent) in enumerate(made):
        data = bytes.fromhex(packed[i])
        forms[data[0] & ~32] += 1
        size += len(data)
        before, growths = ([c[1] for c in columns], growths_of(columns)) if dependent else (None, None)
        matrix = Matrix(rows, bands, before, growths, ticks[1], ticks[2:])
        try:
            good = matrix.unpack(data) == [c[2:] for c in columns]
        except (AssertionError, IndexError) as e:
            print(f"case {i}: {e!r}")
            good = False
        courses += matrix.courses
        grains += matrix.grains
        if not good:
            bad += 1
            print(f"case {i}: {rows} rows, bands {bands}, {'dependent' if dependent else 'key'}: {packed[i][:80]}")
    print(f"{cases} matrices, {size} bytes packed, forms {forms}, {courses} courses, {grains} columns of grains, {bad} read "
          "differently")
    return 1 if bad or not all(forms) or not courses or not grains else 0


if __name__ == "__main__":
    sys.exit(main())
