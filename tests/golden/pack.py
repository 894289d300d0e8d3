"""Packs the numbers of one group in one chunk, by the words of format/SPEC.md: "Packed columns". Among the forms, sources,
orders, modes and grains that are right it chooses by chance, so that readers meet those that a frugal writer never takes."""

import fractions
import struct

from packed import MASK, TICK

WIDTHS = 1 << 51


def signed(x, bits=64):
    x &= (1 << bits) - 1
    return x - (1 << bits) if x >> (bits - 1) else x


def zigzag(x):
    return 2 * x if x >= 0 else -2 * x - 1


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


class Out:
    """Bits, LSB first."""

    def __init__(self):
        self.value, self.n = 0, 0

    def u(self, n, value):
        assert 0 <= value < 1 << n or value == n == 0
        self.value |= value << self.n
        self.n += n

    def rice(self, k, x):
        self.u((x >> k) + 1, (1 << (x >> k)) - 1)
        self.u(k, x & ((1 << k) - 1))

    def number(self, x):
        z = zigzag(x)
        self.u(7, z.bit_length())
        self.u(z.bit_length(), z)

    def align(self):
        self.n += -self.n % 8

    def bytes(self):
        return self.value.to_bytes((self.n + 7) // 8, "little")


def double(bits):
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


def whole(bits, grain):
    """The whole number of this grain that a double is, or None."""
    d = double(bits)
    if d != d or d in (float("inf"), float("-inf")):
        return None
    unit = fractions.Fraction(1, 10 ** (grain - 1)) if grain < 24 else fractions.Fraction(2) ** (grain - 151)
    n = round(fractions.Fraction(d) / unit)
    if abs(n) >= WIDTHS:
        return None
    try:
        back = n / 10 ** (grain - 1) if grain < 24 else float(n * unit)
    except OverflowError:
        return None
    return n if struct.pack("<d", back) == struct.pack("<Q", bits) else None


def grains_of(rng, bands, v):
    """One grain for each column of real bands; 0: none."""
    out = {}
    for band in bands:
        for c in range(band.first, band.first + band.columns):
            if band.tag == 86:
                fits = [g for g in rng.sample(range(1, 256), 12) + [1, 2, 3, 149, 150, 151]
                        if all(whole(x, g) is not None for x in v[c])]
                out[c] = rng.choice(fits + [0])
    return out


def usable(band):
    """Whether all that the band refers to lies before it."""
    return band.ref == TICK or band.ref is not None and band.ref + (band.columns if band.each else 1) <= band.first


class Packer:
    def __init__(self, rng, bands, ticks, v, before, before_tick, growths):
        self.rng, self.bands, self.ticks, self.rows = rng, bands, ticks, len(ticks)
        self.v, self.before, self.before_tick, self.growths = v, before, before_tick, growths

    def prediction(self, band, c, source):
        """p of row -1 (with a row before), and of the rows."""
        if source == 0 or source == 1 and c == band.first:
            return 0, [0] * self.rows
        if source == 2 and band.ref == TICK:
            return self.before_tick, self.ticks
        if source == 3:
            v, grown = (self.before[c], self.growths[c]) if self.before else (0, 0)
            out = []
            for r in range(self.rows):
                out.append(v + grown)
                grown = self.v[c][r] - v if v else 0
                v = self.v[c][r]
            return 0, out
        at = c - 1 if source == 1 else band.ref + (c - band.first if band.each else 0)
        return self.before[at] if self.before else 0, self.v[at]

    def errors(self, band, c, source, bits):
        """w of row -1, or None without a row before, and w of the rows, as residuals of order 0."""
        p, predicted = self.prediction(band, c, source)
        return signed(self.before[c] - p, bits) if self.before else None, \
            [signed(a - b, bits) for a, b in zip(self.v[c], predicted)]

    def pack(self):
        form = self.rng.randrange(3)
        fits = all(x >> b.bits == 0 for b in self.bands for c in range(b.first, b.first + b.columns) for x in self.v[c])
        if form == 1 and not fits:
            form = 2
        grains = grains_of(self.rng, self.bands, self.v) if self.rng.random() < 0.5 else {}
        head, at = bytes([form | (32 if grains else 0)]), sorted(grains)
        while at:
            n = 1
            while n < len(at) and grains[at[n]] == grains[at[0]] and self.rng.random() < 0.9:
                n += 1
            head += bytes([grains[at[0]]]) + varint(n)
            at = at[n:]
        for c, grain in grains.items():
            if grain:
                self.v[c] = [whole(x, grain) & MASK for x in self.v[c]]
                if self.before:
                    self.before[c], self.growths[c] = (whole(self.before[c], grain) or 0) & MASK, 0
        return head + (self.along() if form == 0 else self.across(form))

    # ---- form 0 ----

    def along(self):
        kinds, widths, numbers, packed = b"", b"", b"", b""
        for band in self.bands:
            last_base = last_seed = 0
            for c in range(band.first, band.first + band.columns):
                wide = any(x >> band.bits for x in self.v[c]) or self.rng.random() < 0.1
                bits = 64 if wide else band.bits
                source = self.rng.choice([0] + [1] * (c > band.first) + [2] * usable(band))
                order = self.rng.randrange(3)
                seed, w = self.errors(band, c, source, bits)
                if seed is None:
                    seed = signed(self.rng.choice([w[0], 0, 2 * w[0] - w[-1]]), bits)
                x, step = w, self.rng.choice([0, w[0] - seed])
                if order:
                    x = [signed(b - a, bits) for a, b in zip([seed] + w, w)]
                if order == 2:
                    x = [signed(b - a, bits) for a, b in zip([step] + x, x)]
                base = min(x) - self.rng.choice([0, 0, 3])
                if base < -(1 << 63) or max(x) - base > MASK:
                    base = min(x)
                width = max(b - base for b in x).bit_length()
                numbers += varint(zigzag(signed(base - last_base)))
                last_base = base
                if order and not self.before:
                    numbers += varint(zigzag(signed(seed - last_seed, bits)))
                    last_seed = last_seed + signed(seed - last_seed, bits)
                if order == 2:
                    numbers += varint(zigzag(signed(step)))
                kinds += bytes([source * 3 + order + (16 if wide else 0)])
                widths += bytes([width])
                out = Out()
                for one in x:
                    out.u(width, one - base)
                packed += out.bytes()
        return kinds + widths + numbers + packed

    # ---- forms 1 and 2 ----

    def across(self, form):
        runs = []
        for band in self.bands:
            if band.columns >= 8:
                runs.append([band])
            elif runs and runs[-1][0].columns < 8:
                runs[-1].append(band)
            else:
                runs.append([band])
        out = Out()
        for run in runs:
            large = run[0].columns >= 8
            residuals = []
            for band in run:
                source, order = (2 if usable(band) else 0), 1
                if large:
                    source, order = self.rng.choice([(s, o) for s in (0, 1) + (2,) * usable(band) for o in (0, 1)] + [(3, 0)])
                    out.u(3, source * 2 + order)
                bits = 64 if form == 2 else band.bits
                for c in range(band.first, band.first + band.columns):
                    seed, w = self.errors(band, c, source, bits)
                    residuals += [signed(b - a, bits) for a, b in zip([seed or 0] + w, w)] if order else w
            for i in range(0, len(residuals), 128):
                self.block(out, residuals[i:i + 128])
        return out.bytes()

    def block(self, out, x):
        mode = self.rng.choice(([0] if not any(x) else []) + [1, 2, 3])
        out.u(2, mode)
        if mode == 1:
            self.sparse(out, x)
        elif mode == 2:
            base = min(x)
            width = (max(x) - base).bit_length()
            out.number(base)
            out.u(7, width)
            out.align()
            for one in x:
                out.u(width, one - base)
            out.align()
        elif mode == 3:
            k, base = self.rng.choice([0, 3, 20, 63]), min(x)
            out.u(6, k)
            out.number(base)
            for one in x:
                if one - base >> k < 20:
                    out.rice(k, one - base)
                else:
                    out.u(20, (1 << 20) - 1)
                    out.u(7, (one - base).bit_length())
                    out.u((one - base).bit_length(), one - base)

    def sparse(self, out, x):
        a, b = self.rng.randrange(8), self.rng.randrange(4)
        out.u(3, a)
        out.u(2, b)
        while x:
            zeros = next((i for i, one in enumerate(x) if one), len(x))
            out.rice(a, zeros)
            x = x[zeros:]
            if x:
                n = abs(x[0]).bit_length()
                out.rice(b, n - 1)
                out.u(1, x[0] < 0)
                out.u(n - 1, abs(x[0]) & ((1 << (n - 1)) - 1))
                x = x[1:]
