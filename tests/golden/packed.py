"""The numbers of one group in one chunk, by the words of format/SPEC.md: "Packed columns" and the plain codec."""

import collections
import fractions
import math
import struct

import cbor2

MASK = (1 << 64) - 1
LIST, SHARED_TIME, PERF_TIMES = 1, 2, 4


class Malformed(Exception):
    """A frame whose checksums hold but whose content breaks the rules."""


def need(condition, what):
    if not condition:
        raise Malformed(what)


def zigzag(n):
    return n >> 1 if not n & 1 else -(n >> 1) - 1


class Bits:
    """Bits of a byte string, LSB first."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def u(self, n):
        need(self.at + n <= 8 * len(self.data), "bits end early")
        first = self.at >> 3
        window = int.from_bytes(self.data[first:first + 10], "little") >> (self.at & 7)
        self.at += n
        return window & ((1 << n) - 1)

    def align(self):
        rest = -self.at % 8
        need(self.u(rest) == 0, "padding")

    def ones(self, most):
        """Number of one bits before a zero, which is taken too; `most` of them end without one."""
        n = 0
        while n < most and self.u(1):
            n += 1
        return n

    def rice(self, k, most):
        n = self.ones(most + 1)
        need(n <= most, "too many ones")
        return n << k | self.u(k)

    def number(self):
        n = self.u(7)
        need(n <= 64, "length of a number")
        return zigzag(self.u(n))

    def values(self, n, width):
        self.align()
        out = [self.u(width) for _ in range(n)]
        self.align()
        return out


Band = collections.namedtuple("Band", "first columns bits ref each tag")
TICK = "tick"


def bands_of(recording, group):
    """What the definitions say about the columns of a group. `ref`: column, TICK or None; `each`: a column for each
    column of the band, and not the same for all."""
    times = 1 if group.flags & (LIST | SHARED_TIME) else len(group.instances)
    out = [Band(0, times, 64, TICK, False, 71), Band(times, times, 64, 0, times > 1, 71)]
    if group.flags & PERF_TIMES:
        out.append(Band(2 * times, times, 64, 0, times > 1, 71))
        out.append(Band(3 * times, times, 64, 2 * times, times > 1, 71))
    head = at = sum(b.columns for b in out)
    for number in group.counters:
        counter = recording.counters[number]
        tag = {"s64": 79, "f64": 86}.get(counter.type, 71)
        columns = 1 if group.flags & LIST else len(group.instances)
        last = out[-1]
        if group.flags & LIST and at > head and last.bits == counter.width and last.tag == tag:
            out[-1] = last._replace(columns=last.columns + 1)
        else:
            clock = (group.flags & PERF_TIMES and not group.flags & LIST and counter.type == "u64" and counter.width == 64
                     and counter.unit == "ms" and counter.scale == "1e-6")
            out.append(Band(at, columns, counter.width, 2 * times if clock else None, bool(clock) and times > 1, tag))
        at += columns
    return out


class Matrix:
    """Columns of one group in one chunk. before: the last row of the chunk before, or None; growths: of that row."""

    def __init__(self, bands, ticks, before, before_tick, growths):
        self.bands, self.ticks, self.rows = bands, ticks, len(ticks)
        self.before, self.before_tick, self.growths = before, before_tick, growths
        self.columns = sum(b.columns for b in bands)
        self.v = [None] * self.columns

    def prediction(self, band, column, source):
        """p for rows -1 (None without a row before), 0, 1, ..."""
        if source == 0:
            return [0] * (self.rows + 1)
        if source == 1:
            at = column - 1
            if column == band.first:
                return [0] * (self.rows + 1)
        else:
            need(band.ref is not None, "no reference")
            if band.ref == TICK:
                return [self.before_tick] + list(self.ticks)
            at = band.ref + (column - band.first if band.each else 0)
        need(self.v[at] is not None, "reference lies behind")
        return [self.before[at] if self.before else None] + self.v[at]

    def undo(self, residuals, order, p, w, d, bits):
        """From residuals to numbers: p as prediction() gives it, w = w(-1), d = d(-1)."""
        out = []
        for x, predicted in zip(residuals, p[1:]):
            if order == 0:
                w = x
            elif order == 1:
                w += x
            else:
                d += x
                w += d
            out.append((w + predicted) & ((1 << bits) - 1))
        return out


def growth(before, v):
    """What the course of a column goes on by."""
    return v - before & MASK if before else 0


def follow(residuals, v, d, bits):
    """From residuals to numbers along the course: v = v(-1), d = its growth."""
    out = []
    for x in residuals:
        v, last = v + d + x & (1 << bits) - 1, v
        d = growth(last, v)
        out.append(v)
    return out


def double_of(grain, n):
    """Bits of the double that is n of the grain."""
    n -= (n >> 63) << 64
    need(abs(n) < 1 << 51, "a number of a grain")
    v = n / 10 ** (grain - 1) if grain < 24 else math.ldexp(n, grain - 151)
    return struct.unpack("<Q", struct.pack("<d", v))[0]


def number_of(grain, bits):
    """The n of a double, or 0 if it has none."""
    v = struct.unpack("<d", struct.pack("<Q", bits))[0]
    if not math.isfinite(v):
        return 0
    exact = fractions.Fraction(v) * (10 ** (grain - 1) if grain < 24 else fractions.Fraction(2) ** (151 - grain))
    n = round(exact)
    return n & MASK if abs(n) < 1 << 51 and double_of(grain, n & MASK) == bits else 0


def grains_of(data, bands):
    """One a column, 0 for those that hold no grain; and the bytes behind the grains."""
    wanted = sum(b.columns for b in bands if b.tag == 86)
    need(wanted, "grains of no double")
    at, out = Varints(data), []
    while len(out) < wanted:
        need(at.at < len(data), "grains end early")
        grain, at.at = data[at.at], at.at + 1
        run = at.unsigned()
        need(run, "a grain of no column")
        out += [grain] * min(run, wanted + 1)
    need(len(out) == wanted, "grains of more columns than there are")
    out = iter(out)
    return [next(out) if b.tag == 86 else 0 for b in bands for _ in range(b.columns)], data[at.at:]


def unpack(data, bands, ticks, before, before_tick, growths):
    need(data, "empty matrix")
    form, rest = data[0], data[1:]
    grains = None
    if form & 32:
        form -= 32
        grains, rest = grains_of(rest, bands)
        if before:
            before = [number_of(g, v) if g else v for g, v in zip(grains, before)]
            growths = [0 if g else v for g, v in zip(grains, growths)]
    m = Matrix(bands, ticks, before, before_tick, growths)
    if form == 0:
        along_time(m, rest)
    elif form in (1, 2):
        across(m, rest, form == 2)
    else:
        raise Malformed("form")
    if grains:
        return [[double_of(g, v) for v in c] if g else c for g, c in zip(grains, m.v)]
    return m.v


class Varints:
    def __init__(self, data):
        self.data, self.at = data, 0

    def next(self):
        return zigzag(self.unsigned())

    def unsigned(self):
        value, shift = 0, 0
        while True:
            need(self.at < len(self.data) and shift < 70, "number")
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            shift += 7
            if not byte & 128:
                need(value <= MASK, "number above 64 bits")
                return value


def along_time(m, data):
    n = m.columns
    kinds, widths = data[:n], data[n:2 * n]
    need(len(widths) == n and all(w <= 64 for w in widths), "widths")
    need(all(k & 15 <= 8 and k < 32 for k in kinds), "kinds")
    sizes = [(w * m.rows + 7) // 8 for w in widths]
    start = len(data) - sum(sizes)
    need(start >= 2 * n, "too short")
    numbers = Varints(data[2 * n:start])
    packed = start
    for band in m.bands:
        base = seed = 0
        for column in range(band.first, band.first + band.columns):
            source, order = divmod(kinds[column] & 15, 3)
            bits = 64 if kinds[column] & 16 else band.bits
            need(source != 1 or column > band.first, "no neighbour")
            p = m.prediction(band, column, source)
            base += numbers.next()
            w = d = 0
            if m.before:
                w = m.before[column] - p[0]
            elif order:
                seed += numbers.next()
                w = seed
            if order == 2:
                d = numbers.next()
            values = Bits(data[packed:packed + sizes[column]]).values(m.rows, widths[column])
            packed += sizes[column]
            m.v[column] = m.undo([base + v for v in values], order, p, w, d, bits)
    need(numbers.at == len(numbers.data), "numbers left over")


def runs_of(bands):
    """(bands, has a kind)"""
    out, small = [], []
    for band in bands:
        if band.columns < 8:
            small.append(band)
            continue
        if small:
            out.append((small, False))
            small = []
        out.append(([band], True))
    return out + [(small, False)] if small else out


def read_block(bits, n):
    mode = bits.u(2)
    if mode == 0:
        return [0] * n
    if mode == 1:
        a, b, out = bits.u(3), bits.u(2), []
        while len(out) < n:
            zeros = bits.rice(a, 128)
            need(zeros <= n - len(out), "too many zeros")
            out += [0] * zeros
            if len(out) == n:
                break
            length = bits.rice(b, 63) + 1
            need(length <= 64, "length")
            negative = bits.u(1)
            x = 1 << (length - 1) | bits.u(length - 1)
            out.append(-x if negative else x)
        return out
    if mode == 2:
        base, width = bits.number(), bits.u(7)
        need(width <= 64, "width")
        return [base + v for v in bits.values(n, width)]
    k, base, out = bits.u(6), bits.number(), []
    for _ in range(n):
        ones = bits.ones(20)
        if ones < 20:
            out.append(base + (ones << k | bits.u(k)))
        else:
            length = bits.u(7)
            need(length <= 64, "length")
            out.append(base + bits.u(length))
    return out


def across(m, data, wide):
    bits = Bits(data)
    for bands, has_kind in runs_of(m.bands):
        kind = None
        if has_kind:
            kind = divmod(bits.u(3), 2)
            need(kind[0] < 3 or kind == (3, 0), "kind")
        left = sum(b.columns for b in bands) * m.rows
        residuals = []
        while left:
            n = min(left, 128)
            residuals += read_block(bits, n)
            left -= n
        at = 0
        for band in bands:
            source, order = kind or (0 if band.ref is None else 2, 1)
            bits_of = 64 if wide else band.bits
            for column in range(band.first, band.first + band.columns):
                mine, at = residuals[at:at + m.rows], at + m.rows
                if source == 3:
                    last, d = (m.before[column], m.growths[column]) if m.before else (0, 0)
                    m.v[column] = follow(mine, last, d, bits_of)
                    continue
                p = m.prediction(band, column, source)
                w = m.before[column] - p[0] if m.before else 0
                m.v[column] = m.undo(mine, order, p, w, 0, bits_of)
    bits.align()
    need(bits.at == 8 * len(data), "bits left over")


def plain(items, bands, rows):
    need(isinstance(items, list) and len(items) == len(bands), "bands")
    out = []
    for item, band in zip(items, bands):
        need(isinstance(item, cbor2.CBORTag) and item.tag == band.tag, "typed array")
        need(len(item.value) == 8 * rows * band.columns, "length of a typed array")
        numbers = struct.unpack("<%dQ" % (rows * band.columns), item.value)
        out += [list(numbers[i:i + rows]) for i in range(0, len(numbers), rows)]
    return out
