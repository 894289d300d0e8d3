"""The numbers of one group in one chunk, by the words of format/SPEC.md: "Packed columns" and the plain codec."""

import collections
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
        window = int.from_bytes(self.data[first:first + 9], "little") >> (self.at & 7)
        self.at += n
        return window & ((1 << n) - 1)

    def number(self, length):
        need(length <= 64, "length of a number")
        return zigzag(1 << length - 1 | self.u(length - 1)) if length else 0


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


def growth(before, v):
    """What the course of a column goes on by."""
    return v - before & MASK if before else 0


def other_of(m, band, column, kind):
    """What a column stands beside in each row, the row before first; m: the ticks, then the columns so far."""
    if kind in (3, 4) and column > band.first:
        return m[column]
    if kind < 5:
        return [0] * len(m[0])
    need(band.ref is not None, "no reference")
    return m[0 if band.ref == TICK else 1 + band.ref + (column - band.first if band.each else 0)]


def residuals(lengths, bits, rows):
    """Of the next column; lengths: an iterator."""
    mine = [next(lengths)]
    if rows < 8 or mine[0] < 128:
        mine += [next(lengths) for _ in range(rows - 1)]
        return [bits.number(n) for n in mine]
    need(mine[0] < 192, "width")
    least = bits.number(next(lengths))
    return [least + bits.u(mine[0] - 128) for _ in range(rows)]


def unpack(lengths, bits, bands, ticks, before, before_tick, growths):
    """The columns of one group in one chunk. before: the last row before the chunk, or None; growths: of that row."""
    columns = sum(b.columns for b in bands)
    lengths, bits = iter(lengths), Bits(bits)
    try:
        flags = next(lengths)
        need(flags < 4, "flags")
        kinds = [next(lengths) if flags & 2 else 1 if b.ref is None else 6 for b in bands]
        need(all(k & ~16 < 7 for k in kinds), "kinds")
        if before is None or flags & 1:
            before, before_tick, growths = [0] * columns, 0, [0] * columns
        m = [[before_tick, *ticks]]
        for band, kind in zip(bands, kinds):
            width, kind = 64 if kind & 16 else band.bits, kind & 15
            for column in range(band.first, band.first + band.columns):
                other, out, grows = other_of(m, band, column, kind), [before[column]], growths[column]
                w = out[0] - other[0]
                for x, p in zip(residuals(lengths, bits, len(ticks)), other[1:]):
                    w = x + (0 if kind in (0, 3, 5) else w + grows if kind == 2 else w)
                    out.append(w + p & (1 << width) - 1)
                    grows = growth(out[-2], out[-1])
                m.append(out)
    except StopIteration:
        raise Malformed("lengths end early") from None
    need(next(lengths, None) is None, "lengths left over")
    rest = 8 * len(bits.data) - bits.at
    need(rest < 8 and not bits.u(rest), "bits left over")
    return [c[1:] for c in m[1:]]


def plain(items, bands, rows):
    need(isinstance(items, list) and len(items) == len(bands), "bands")
    out = []
    for item, band in zip(items, bands):
        need(isinstance(item, cbor2.CBORTag) and item.tag == band.tag, "typed array")
        need(len(item.value) == 8 * rows * band.columns, "length of a typed array")
        numbers = struct.unpack("<%dQ" % (rows * band.columns), item.value)
        out += [list(numbers[i:i + rows]) for i in range(0, len(numbers), rows)]
    return out
