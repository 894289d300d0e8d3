"""The parts of format/SPEC.md that are bytes: CBOR, CRC-32C, zstd, packed columns. Written from that page alone."""

import os
import struct

import zstandard

M64 = (1 << 64) - 1
DICTIONARY = os.path.join(os.path.dirname(__file__), "..", "..", "format", "dictionary.bin")


class Bad(Exception):
    """What SPEC.md tells readers to refuse."""


def need(good, what):
    if not good:
        raise Bad(what)


# ---- CBOR ----

class Tag:
    def __init__(self, number, value):
        self.number, self.value = number, value


class Simple:
    """null, undefined and simple values without a meaning."""

    def __init__(self, number):
        self.number = number

    def __eq__(self, other):
        return isinstance(other, Simple) and other.number == self.number


class Map(list):
    """The pairs of a map, as they came: only who knows the map can say which keys it may have."""


class Raw(bytes):
    """An item that is encoded already."""


def head(major, n):
    for info, limit, form in ((None, 24, ""), (24, 1 << 8, ">B"), (25, 1 << 16, ">H"), (26, 1 << 32, ">I"), (27, 1 << 64, ">Q")):
        if n < limit:
            return bytes([major << 5 | n]) if info is None else bytes([major << 5 | info]) + struct.pack(form, n)
    raise ValueError(n)


def encode(x):
    if isinstance(x, Raw):
        return bytes(x)
    if x is True or x is False:
        return b"\xf5" if x else b"\xf4"
    if isinstance(x, int):
        return head(0, x) if x >= 0 else head(1, -1 - x)
    if isinstance(x, float):
        if x != x:
            return b"\xf9\x7e\x00"
        for first, form in ((0xf9, ">e"), (0xfa, ">f"), (0xfb, ">d")):
            try:
                packed = struct.pack(form, x)
            except OverflowError:
                continue
            if struct.unpack(form, packed)[0] == x:
                return bytes([first]) + packed
    if isinstance(x, str):
        return head(3, len(x.encode())) + x.encode()
    if isinstance(x, (bytes, bytearray)):
        return head(2, len(x)) + bytes(x)
    if isinstance(x, Tag):
        return head(6, x.number) + encode(x.value)
    if isinstance(x, Simple):
        return head(7, x.number)
    if isinstance(x, Map):
        return head(5, len(x)) + b"".join(sorted(encode(k) + encode(v) for k, v in x))
    if isinstance(x, dict):
        return head(5, len(x)) + b"".join(encode(k) + encode(x[k]) for k in sorted(x))
    return head(4, len(x)) + b"".join(map(encode, x))


def read_head(data, pos):
    need(pos < len(data), "CBOR: ends in an item")
    major, info = data[pos] >> 5, data[pos] & 31
    pos += 1
    if info < 24:
        return major, info, pos, info
    need(info < 28, "CBOR: indefinite length or reserved")
    size = 1 << (info - 24)
    need(pos + size <= len(data), "CBOR: ends in a head")
    return major, int.from_bytes(data[pos:pos + size], "big"), pos + size, info


def decode(data, pos=0, depth=12):
    major, n, pos, info = read_head(data, pos)
    if major == 0:
        return n, pos
    if major == 1:
        return -1 - n, pos
    if major in (2, 3):
        need(pos + n <= len(data), "CBOR: ends in a string")
        need(n <= 1 << 20 or major == 2, "CBOR: text above 1 MiB")
        part = bytes(data[pos:pos + n])
        try:
            return (part if major == 2 else part.decode()), pos + n
        except UnicodeDecodeError:
            raise Bad("CBOR: text is not UTF-8") from None
    if major == 7:
        if info in (25, 26, 27):
            return struct.unpack({25: ">e", 26: ">f", 27: ">d"}[info], data[pos - (1 << info - 24):pos])[0], pos
        need(info != 24 or n >= 32, "CBOR: simple value of two bytes below 32")
        return ({20: False, 21: True}[n] if n in (20, 21) else Simple(n)), pos
    need(depth > 0, "CBOR: nested too deeply")
    if major == 6:
        value, pos = decode(data, pos, depth - 1)
        return Tag(n, value), pos
    need(n <= (len(data) - pos) // (major - 3), "CBOR: more items than bytes")
    items = Map() if major == 5 else []
    for _ in range(n):
        value, pos = decode(data, pos, depth - 1)
        if major == 5:
            key, (value, pos) = value, decode(data, pos, depth - 1)
            items.append((key, value))
        else:
            items.append(value)
    return items, pos


def is_int(x):
    return type(x) is int


def known(pairs, ascending=False):
    """The map of the pairs, if the keys are as they must be."""
    need(isinstance(pairs, Map), "not a map")
    result, last = {}, -1
    for k, v in pairs:
        need(is_int(k) and 0 <= k <= 511, "a key that is not from 0 to 511")
        need(k not in result, "a duplicate key")
        need(k > last or not ascending, "keys do not ascend")
        result[k], last = v, k
    return result


def read_map(data, ascending=False):
    pairs, pos = decode(data)
    need(pos == len(data), "bytes after the map")
    return known(pairs, ascending)


# ---- CRC-32C ----

def _tables():
    first = []
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ (0x82f63b78 if n & 1 else 0)
        first.append(n)
    return first


TABLE = _tables()


def crc32c(data, crc=0):
    crc ^= 0xffffffff
    table = TABLE
    for b in data:
        crc = crc >> 8 ^ table[(crc ^ b) & 255]
    return crc ^ 0xffffffff


# ---- zstd ----

_dictionary = None


def dictionary():
    global _dictionary
    if _dictionary is None:
        with open(DICTIONARY, "rb") as f:
            _dictionary = zstandard.ZstdCompressionDict(f.read(), dict_type=zstandard.DICT_TYPE_RAWCONTENT)
    return _dictionary


def compress(data, frozen=False, level=3):
    c = zstandard.ZstdCompressor(level=level, dict_data=dictionary() if frozen else None, write_content_size=True, write_dict_id=False,
                                 write_checksum=False)
    return c.compress(data)


def decompress(data, size, frozen=False):
    """One zstd frame with its content size."""
    try:
        parameters = zstandard.get_frame_parameters(data)
        need(parameters.content_size == size, "zstd: another content size")
        need(parameters.dict_id == 0, "zstd: a dictionary id")
        d = zstandard.ZstdDecompressor(dict_data=dictionary() if frozen else None).decompressobj()
        out = d.decompress(data)
    except zstandard.ZstdError as e:
        raise Bad("zstd: %s" % e) from None
    need(len(out) == size and not d.unused_data, "zstd: not one frame")
    return out


# ---- numbers ----

def zigzag(x):
    x = signed(x)
    return 2 * x if x >= 0 else -2 * x - 1


def unzigzag(z):
    return z >> 1 if z & 1 == 0 else -(z >> 1) - 1


def extend(x, w):
    x &= (1 << w) - 1
    return x - (1 << w) if x >> (w - 1) else x


def signed(x):
    return extend(x, 64)


def varint(n):
    out = bytearray()
    while n >= 128:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out) + bytes([n])


def read_varint(data, pos):
    n = 0
    for i in range(10):
        need(pos < len(data), "packed: ends in a varint")
        b = data[pos]
        pos += 1
        n |= (b & 127) << 7 * i
        if b < 128:
            need(i < 9 or b <= 1, "packed: varint above 64 bits")
            return n, pos
    raise Bad("packed: varint of more than 10 bytes")


class BitReader:
    def __init__(self, data, pos):
        self.data, self.pos, self.end = data, pos * 8, len(data) * 8

    def u(self, n):
        need(self.pos + n <= self.end, "packed: ends too early")
        first = self.pos >> 3
        x = int.from_bytes(self.data[first:(self.pos + n + 7) >> 3], "little") >> (self.pos & 7) & ((1 << n) - 1)
        self.pos += n
        return x

    def ones(self, most):
        """The number of one bits before the next zero bit, which is read; `most` of them have none."""
        n = 0
        while n < most and self.u(1):
            n += 1
        return n

    def whole(self):
        """To the next whole byte."""
        skipped = -self.pos % 8
        self.u(skipped)

    def number(self):
        n = self.u(7)
        need(n <= 64, "packed: a number of more than 64 bits")
        return unzigzag(self.u(n))


class BitWriter:
    def __init__(self):
        self.bits, self.n, self.out = 0, 0, bytearray()

    def u(self, x, n):
        assert 0 <= x < 1 << n
        self.bits |= x << self.n
        self.n += n
        if self.n >= 4096:
            whole = self.n >> 3
            self.out += (self.bits & ((1 << 8 * whole) - 1)).to_bytes(whole, "little")
            self.bits >>= 8 * whole
            self.n &= 7

    def rice(self, x, k):
        q = x >> k
        self.u((1 << q) - 1, q)
        self.u(0, 1)
        self.u(x & ((1 << k) - 1), k)

    def number(self, x):
        z = zigzag(x)
        self.u(z.bit_length(), 7)
        self.u(z, z.bit_length())

    def whole(self):
        self.u(0, -self.n % 8)

    def bytes(self):
        self.whole()
        return bytes(self.out) + self.bits.to_bytes(self.n >> 3, "little")


# ---- packed columns ----

class Band:
    """A run of columns; `ref` is None, "tick", or the first column referred to, `each` column its own or all that one."""

    def __init__(self, first, count, bits=64, plain="u64", ref=None, each=True):
        self.first, self.count, self.bits, self.plain, self.ref, self.each = first, count, bits, plain, ref, each
        self.real = plain == "f64"


class Row:
    """A row before: numbers and growths of the columns, and the tick."""

    def __init__(self, tick, v, growth):
        self.tick, self.v, self.growth = tick, v, growth


def double(bits):
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


def bits_of(x):
    return struct.unpack("<Q", struct.pack("<d", x))[0]


def grained(n, grain):
    """The bits of the double that is n grains."""
    n = signed(n)
    return bits_of(n / 10 ** (grain - 1) if grain <= 23 else float(n) * 2.0 ** (grain - 151))


def grains_of(bits, grain):
    """How many grains this double is, or None."""
    x = double(bits)
    if x - x != 0:
        return None
    near = x * 10.0 ** (grain - 1) if grain <= 23 else x / 2.0 ** (grain - 151)
    if abs(near) >= 2.0 ** 51 + 2:
        return None
    for n in (round(near), round(near) - 1, round(near) + 1):
        if abs(n) < 1 << 51 and grained(n, grain) == bits:
            return n
    return None


def usable(band):
    return band.ref == "tick" or band.ref is not None and (band.ref + (band.count if band.each else 1)) <= band.first


def prediction(band, c, source, order, first_neighbor):
    """p of column c as a function of the columns and the tick of one row."""
    if source == 0:
        return lambda get, tick: 0
    if source == 1:
        if c == band.first:
            need(first_neighbor, "packed: the first column has no neighbor")
            return lambda get, tick: 0
        return lambda get, tick: get(c - 1)
    need(usable(band), "packed: no usable reference")
    if band.ref == "tick":
        return lambda get, tick: tick
    at = band.ref + (c - band.first if band.each else 0)
    return lambda get, tick: get(at)


def runs_of(bands):
    """Form 1 and 2: lists of bands, and whether the run is one large band."""
    runs = []
    for band in bands:
        if band.count >= 8:
            runs.append(([band], True))
        elif band.count:
            if runs and not runs[-1][1]:
                runs[-1][0].append(band)
            else:
                runs.append(([band], False))
    return runs


def adopt(before, grains):
    """The row before as this matrix sees it: grains where the column has a grain."""
    if before is None:
        return None
    v, growth = list(before.v), list(before.growth)
    for c, g in grains.items():
        if g:
            v[c], growth[c] = (grains_of(v[c], g) or 0) & M64, 0
    return Row(before.tick, v, growth)


def unpack(data, rows, bands, ticks, before):
    """The columns (lists of `rows` numbers) of a packed matrix."""
    need(len(data) > 0, "packed: empty")
    form = data[0] & ~48
    need(form <= 2, "packed: unknown form")
    if data[0] & 16:
        before = None
    columns = sum(b.count for b in bands)
    pos, grains = 1, {}
    if data[0] & 32:
        real = [c for b in bands if b.real for c in range(b.first, b.first + b.count)]
        need(real, "packed: grains without doubles")
        while len(grains) < len(real):
            need(pos < len(data), "packed: ends in the grains")
            grain = data[pos]
            n, pos = read_varint(data, pos + 1)
            need(0 < n <= len(real) - len(grains), "packed: grains of more columns than there are, or of none")
            for c in real[len(grains):len(grains) + n]:
                grains[c] = grain
    before = adopt(before, grains)
    v = (along_time if form == 0 else across)(data, pos, rows, bands, ticks, before, columns, form)
    for c, g in grains.items():
        if g:
            need(all(abs(signed(n)) < 1 << 51 for n in v[c]), "packed: too many grains")
            v[c] = [grained(n, g) for n in v[c]]
    return v


def undo(v, c, rows, bits, p, ticks, before, order, w, d, x):
    mask = (1 << bits) - 1
    for r in range(rows):
        if order == 0:
            w = x[r]
        elif order == 1:
            w += x[r]
        else:
            d += x[r]
            w += d
        v[c].append((w + p(lambda k: v[k][r], ticks[r])) & mask)


def along_time(data, pos, rows, bands, ticks, before, columns, _):
    need(pos + 2 * columns <= len(data), "packed: ends in the kinds")
    kinds, widths = data[pos:pos + columns], data[pos + columns:pos + 2 * columns]
    pos += 2 * columns
    need(all(w <= 64 for w in widths) and all(k & ~16 <= 8 for k in kinds), "packed: kind or width")
    sizes = [(rows * w + 7) // 8 for w in widths]
    at = len(data) - sum(sizes)
    end = at
    v = [[] for _ in range(columns)]
    for band in bands:
        base = last_seed = 0
        for c in range(band.first, band.first + band.count):
            source, order = divmod(kinds[c] & 15, 3)
            bits = 64 if kinds[c] & 16 else band.bits
            p = prediction(band, c, source, order, False)
            z, pos = read_varint(data, pos)
            base = base + unzigzag(z) & M64
            w = d = 0
            if order and before is None:
                z, pos = read_varint(data, pos)
                w = last_seed = last_seed + unzigzag(z) & M64
            elif order:
                w = before.v[c] - p(lambda k: before.v[k], before.tick)
            if order == 2:
                z, pos = read_varint(data, pos)
                d = unzigzag(z)
            stored = int.from_bytes(data[at:at + sizes[c]], "little")
            need(stored >> rows * widths[c] == 0, "packed: bits that are not 0 after the residuals")
            at += sizes[c]
            mask = (1 << widths[c]) - 1
            undo(v, c, rows, bits, p, ticks, before, order, w, d, [base + (stored >> r * widths[c] & mask) for r in range(rows)])
    need(pos == end, "packed: the numbers do not fill their place")
    return v


def block(bits, n):
    mode = bits.u(2)
    if mode == 0:
        return [0] * n
    if mode == 1:
        a, b, x = bits.u(3), bits.u(2), []
        while len(x) < n:
            zeros = bits.ones(129) << a
            zeros += bits.u(a)
            need(zeros <= n - len(x), "packed: a run of zeros longer than the block")
            x += [0] * zeros
            if len(x) == n:
                break
            size = (bits.ones(65) << b) + bits.u(b) + 1
            need(size <= 64, "packed: a length above 64")
            negative = bits.u(1)
            size -= 1
            value = 1 << size | bits.u(size)
            x.append(-value if negative else value)
        return x
    if mode == 2:
        base, width = bits.number(), bits.u(7)
        need(width <= 64, "packed: a width above 64")
        bits.whole()
        x = [base + bits.u(width) for _ in range(n)]
        bits.whole()
        return x
    k, base, x = bits.u(6), bits.number(), []
    for _ in range(n):
        q = bits.ones(20)
        if q < 20:
            x.append(base + (q << k) + bits.u(k))
        else:
            size = bits.u(7)
            need(size <= 64, "packed: an escape above 64 bits")
            x.append(base + bits.u(size))
    return x


def course(v, c, rows, bits, before, x):
    u, growth = (before.v[c], before.growth[c]) if before else (0, 0)
    for r in range(rows):
        now = u + growth + x[r] & ((1 << bits) - 1)
        v[c].append(now)
        growth = now - u & M64 if u else 0
        u = now


def across(data, pos, rows, bands, ticks, before, columns, form):
    bits = BitReader(data, pos)
    v = [[] for _ in range(columns)]
    for run, large in runs_of(bands):
        kind = bits.u(3) if large else None
        need(kind != 7, "packed: kind 7")
        left, x = sum(b.count for b in run) * rows, []
        while left:
            n = min(128, left)
            x += block(bits, n)
            left -= n
        at = 0
        for band in run:
            source, order = divmod(kind, 2) if large else (2 if usable(band) else 0, 1)
            width = 64 if form == 2 else band.bits
            for c in range(band.first, band.first + band.count):
                part = x[at:at + rows]
                at += rows
                if source == 3:
                    course(v, c, rows, width, before, part)
                    continue
                p = prediction(band, c, source, order, True)
                w = before.v[c] - p(lambda k: before.v[k], before.tick) if before else 0
                undo(v, c, rows, width, p, ticks, before, order, w, 0, part)
    bits.whole()
    need(bits.pos == bits.end, "packed: bytes left over")
    return v


def row_after(v, tick, before):
    """The row before that the next dependent chunk finds."""
    growth = []
    for c, numbers in enumerate(v):
        u = numbers[-2] if len(numbers) > 1 else before.v[c] if before else 0
        growth.append(numbers[-1] - u & M64 if u else 0)
    return Row(tick, [numbers[-1] for numbers in v], growth)


# ---- packing, with every choice left to chance ----

def pack(rng, v, rows, bands, ticks, before, absolute):
    """The columns v, packed in one of the ways that SPEC.md allows."""
    columns = len(v)
    forms = [0, 0, 1, 1, 2]
    if any(x >> b.bits for b in bands for c in range(b.first, b.first + b.count) for x in v[c]):
        forms = [0, 2]
    form = rng.choice(forms)
    first = form | (16 if absolute else 0)
    used = None if absolute else before
    grains, out = {}, b""
    real = [c for b in bands if b.real for c in range(b.first, b.first + b.count)]
    if real and rng.random() < 0.6:
        first |= 32
        for c in real:
            choice = [g for g in rng.sample(range(256), 12) + list(range(1, 6)) + list(range(148, 153)) if g and
                      all(grains_of(x, g) is not None for x in v[c])]
            grains[c] = rng.choice(choice + [0])
        if rng.random() < 0.3:
            for c, d in zip(real, real[1:]):
                if all(grains_of(x, grains[c]) is not None for x in v[d]) if grains[c] else True:
                    grains[d] = grains[c]
        i = 0
        while i < len(real):
            n = 1
            while i + n < len(real) and grains[real[i + n]] == grains[real[i]] and rng.random() < 0.8:
                n += 1
            out += bytes([grains[real[i]]]) + varint(n)
            i += n
        v = [[grains_of(x, grains[c]) & M64 for x in v[c]] if grains.get(c) else v[c] for c in range(columns)]
    used = adopt(used, grains)
    body = (pack_along if form == 0 else pack_across)(rng, v, rows, bands, ticks, used, form)
    return bytes([first]) + out + body


def wanted(v, c, rows, bits, p, ticks, order, w, d):
    """The residuals of a column."""
    x = []
    for r in range(rows):
        now = v[c][r] - p(lambda k: v[k][r], ticks[r])
        if order == 0:
            x.append(extend(now, bits))
        elif order == 1:
            x.append(extend(now - w, bits))
        else:
            x.append(extend(now - w - d, bits))
            d = now - w
        w = now
    return x


def pack_along(rng, v, rows, bands, ticks, before, _):
    kinds, widths, numbers, packed = bytearray(), bytearray(), b"", b""
    for band in bands:
        base = last_seed = 0
        for c in range(band.first, band.first + band.count):
            wide = any(x >> band.bits for x in v[c]) or rng.random() < 0.1
            bits = 64 if wide else band.bits
            sources = [0] + ([1] if c > band.first else []) + ([2] if usable(band) else [])
            source, order = rng.choice(sources), rng.randrange(3)
            p = prediction(band, c, source, order, False)
            seeds, w, d = b"", 0, 0
            if order:
                now = [v[c][r] - p(lambda k: v[k][r], ticks[r]) for r in range(min(rows, 2))]
                if before is None:
                    w = rng.choice([0, now[0], 2 * now[0] - now[-1], rng.getrandbits(64)]) & M64
                    seeds = varint(zigzag(w - last_seed))
                    last_seed = w
                else:
                    w = before.v[c] - p(lambda k: before.v[k], before.tick)
                if order == 2:
                    d = signed(rng.choice([0, now[0] - w, now[-1] - now[0], rng.getrandbits(64)]))
                    seeds += varint(zigzag(d))
            x = wanted(v, c, rows, bits, p, ticks, order, w, d)
            width = min(64, (max(x) - min(x)).bit_length() + rng.choice([0, 0, 0, 1, 7]))
            low, high = max(x) - (1 << width) + 1, min(x)
            this = rng.choice([low, high, max(low, min(high, signed(base))), rng.randint(low, high)])
            numbers += varint(zigzag(this - base)) + seeds
            base = this & M64
            kinds.append(source * 3 + order + (16 if wide else 0))
            widths.append(width)
            stored = sum((n - this) << r * width for r, n in enumerate(x))
            packed += stored.to_bytes((rows * width + 7) // 8, "little")
    return bytes(kinds) + bytes(widths) + numbers + packed


def pack_block(rng, bits, x):
    modes = [2, 3]
    if not any(x):
        modes = [0, 0, 1, 2, 3]
    elif any(n == 0 for n in x) or rng.random() < 0.5:
        modes = [1, 1, 2, 3]
    mode = rng.choice(modes)
    bits.u(mode, 2)
    if mode == 1:
        a, b = rng.randrange(8), rng.randrange(4)
        bits.u(a, 3)
        bits.u(b, 2)
        i = 0
        while i < len(x):
            zeros = 0
            while i + zeros < len(x) and x[i + zeros] == 0:
                zeros += 1
            bits.rice(zeros, a)
            i += zeros
            if i == len(x):
                break
            size = abs(x[i]).bit_length()
            bits.rice(size - 1, b)
            bits.u(x[i] < 0, 1)
            bits.u(abs(x[i]) & ((1 << size - 1) - 1), size - 1)
            i += 1
    elif mode == 2:
        width = min(64, (max(x) - min(x)).bit_length() + rng.choice([0, 0, 1]))
        base = max(-(1 << 63), max(x) - (1 << width) + 1) if rng.random() < 0.3 else min(x)
        bits.number(base)
        bits.u(width, 7)
        bits.whole()
        for n in x:
            bits.u(n - base, width)
        bits.whole()
    elif mode == 3:
        base = rng.choice([min(x), rng.choice(x), 0])
        k = rng.choice([0, rng.randrange(64), max(0, (max(x) - min(x)).bit_length() - 2)])
        bits.u(k, 6)
        bits.number(base)
        for n in x:
            n = n - base & M64
            if n >> k < 20 and rng.random() < 0.95:
                bits.rice(n, k)
            else:
                bits.u((1 << 20) - 1, 20)
                size = min(64, n.bit_length() + rng.choice([0, 0, 1]))
                bits.u(size, 7)
                bits.u(n, size)


def pack_across(rng, v, rows, bands, ticks, before, form):
    bits = BitWriter()
    for run, large in runs_of(bands):
        if large:
            kind = rng.choice([0, 1, 2, 3, 6] + ([4, 5] if usable(run[0]) else []))
            bits.u(kind, 3)
        x = []
        for band in run:
            source, order = divmod(kind, 2) if large else (2 if usable(band) else 0, 1)
            width = 64 if form == 2 else band.bits
            for c in range(band.first, band.first + band.count):
                if source == 3:
                    u, growth = (before.v[c], before.growth[c]) if before else (0, 0)
                    for now in v[c]:
                        x.append(extend(now - u - growth, width))
                        growth = now - u if u else 0
                        u = now
                    continue
                p = prediction(band, c, source, order, True)
                w = before.v[c] - p(lambda k: before.v[k], before.tick) if before else 0
                x += wanted(v, c, rows, width, p, ticks, order, w, 0)
        for i in range(0, len(x), 128):
            pack_block(rng, bits, x[i:i + 128])
    return bits.bytes()
