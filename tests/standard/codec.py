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


class BitReader:
    def __init__(self, data):
        self.data, self.pos = data, 0

    def u(self, n):
        need(self.pos + n <= 8 * len(self.data), "packed: ends in the bits")
        first = self.pos >> 3
        x = int.from_bytes(self.data[first:(self.pos + n + 7) >> 3], "little") >> (self.pos & 7) & ((1 << n) - 1)
        self.pos += n
        return x

    def number(self, length):
        need(length <= 64, "packed: a length above 64")
        return unzigzag(1 << length - 1 | self.u(length - 1)) if length else 0


class BitWriter:
    def __init__(self):
        self.bits, self.n, self.out = 0, 0, bytearray()

    def u(self, x, n):
        assert 0 <= x < 1 << n
        self.bits |= x << self.n
        whole, self.n = divmod(self.n + n, 8)
        self.out += (self.bits & ((1 << 8 * whole) - 1)).to_bytes(whole, "little")
        self.bits >>= 8 * whole

    def number(self, x):
        """All below the highest bit of zigzag(x), the length of which comes back."""
        z = zigzag(x)
        n = z.bit_length()
        self.u(z ^ (1 << n >> 1), max(n - 1, 0))
        return n

    def bytes(self):
        self.u(0, -self.n % 8)
        return bytes(self.out)


# ---- packed columns ----

VALUE, DIFFERENCE, COURSE, NEIGHBOR, NEIGHBOR_CHANGES, REFERENCE, REFERENCE_CHANGES = range(7)
FRESH, KINDS, WIDE, EVEN = 1, 2, 16, 128


class Band:
    """A run of columns; `ref` is None, "tick", or the first column referred to, `each` column its own or all that one."""

    def __init__(self, first, count, bits=64, plain="u64", ref=None, each=True):
        self.first, self.count, self.bits, self.plain, self.ref, self.each = first, count, bits, plain, ref, each

    def kinds(self):
        usable = self.ref == "tick" or self.ref is not None and self.ref + (self.count if self.each else 1) <= self.first
        return range(REFERENCE_CHANGES + 1 if usable else REFERENCE)

    def usual(self):
        return max(self.kinds()) if REFERENCE in self.kinds() else DIFFERENCE

    def beside(self, kind, c, v, ticks):
        """p of column c, for each row that there is."""
        if kind in (NEIGHBOR, NEIGHBOR_CHANGES) and c > self.first:
            return v[c - 1]
        if kind < REFERENCE:
            return [0] * len(ticks)
        return ticks if self.ref == "tick" else v[self.ref + (c - self.first if self.each else 0)]


class Row:
    """A row before: numbers and growths of the columns, and the tick."""

    def __init__(self, tick, v, growth):
        self.tick, self.v, self.growth = tick, v, growth


def double(bits):
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


def bits_of(x):
    return struct.unpack("<Q", struct.pack("<d", x))[0]


def grown(u, v):
    return v - u & M64 if u else 0


def row_after(v, tick, before):
    """The row before that the next dependent chunk finds."""
    growth = [grown(x[-2] if len(x) > 1 else before.v[c] if before else 0, x[-1]) for c, x in enumerate(v)]
    return Row(tick, [x[-1] for x in v], growth)


def unpack(lengths, bits, rows, bands, ticks, before):
    """The columns (lists of `rows` numbers) of a packed matrix."""
    need(lengths and lengths[0] <= FRESH | KINDS, "packed: flags")
    columns = sum(b.count for b in bands)
    if before is None or lengths[0] & FRESH:
        before = Row(0, [0] * columns, [0] * columns)
    kinds = [band.usual() for band in bands]
    rest = iter(lengths[1:])
    if lengths[0] & KINDS:
        kinds = [next(rest, 255) for _ in bands]
        need(all(k & ~WIDE in b.kinds() for k, b in zip(kinds, bands)), "packed: kinds")
    bits = BitReader(bits)
    # Row -1 is the row before.
    ticks, v = [before.tick] + ticks, [[x] for x in before.v]
    for kind, band in zip(kinds, bands):
        mask = M64 if kind & WIDE else (1 << band.bits) - 1
        kind &= ~WIDE
        for c in range(band.first, band.first + band.count):
            first = next(rest, 255)
            if rows >= 8 and first >= EVEN:
                need(first < EVEN + 64, "packed: a width above 63")
                least = bits.number(next(rest, 255))
                x = [least + bits.u(first - EVEN) for _ in range(rows)]
            else:
                x = [bits.number(first)] + [bits.number(next(rest, 255)) for _ in range(rows - 1)]
            p, growth = band.beside(kind, c, v, ticks), before.growth[c]
            w = v[c][0] - p[0]
            for r in range(rows):
                w = x[r] + (0 if kind in (VALUE, NEIGHBOR, REFERENCE) else w + growth if kind == COURSE else w)
                v[c].append(w + p[r + 1] & mask)
                growth = grown(*v[c][-2:])
    need(next(rest, None) is None, "packed: lengths left over")
    left = 8 * len(bits.data) - bits.pos
    need(left < 8 and bits.u(left) == 0, "packed: bits left over")
    return [x[1:] for x in v]


def pack(rng, v, rows, bands, ticks, before, fresh):
    """Lengths and bits of the columns v, in one of the ways that SPEC.md allows."""
    if before is None or fresh:
        before = Row(0, [0] * len(v), [0] * len(v))
    kinds = []
    for band in bands:
        wide = any(x >> band.bits for c in range(band.first, band.first + band.count) for x in v[c]) or rng.random() < 0.1
        kinds.append(rng.choice([band.usual(), *band.kinds()]) | (WIDE if wide else 0))
    usual = [band.usual() for band in bands]
    if rng.random() < 0.3:
        kinds = [u | k & WIDE for u, k in zip(usual, kinds)]
    listed = kinds != usual or rng.random() < 0.5
    lengths, bits = bytearray([(FRESH if fresh else 0) | (KINDS if listed else 0)]), BitWriter()
    lengths += bytes(kinds if listed else [])
    ticks, v = [before.tick] + ticks, [[u] + x for u, x in zip(before.v, v)]
    for kind, band in zip(kinds, bands):
        width = 64 if kind & WIDE else band.bits
        kind &= ~WIDE
        for c in range(band.first, band.first + band.count):
            w = [a - b for a, b in zip(v[c], band.beside(kind, c, v, ticks))]
            growth, x = before.growth[c], []
            for r in range(1, rows + 1):
                x.append(extend(w[r] - (0 if kind in (VALUE, NEIGHBOR, REFERENCE) else w[r - 1] + growth if kind == COURSE else w[r - 1]), width))
                growth = grown(v[c][r - 1], v[c][r])
            spread = (max(x) - min(x)).bit_length()
            if rows >= 8 and spread < 64 and rng.random() < 0.5:
                spread = min(63, spread + rng.choice([0, 0, 1, 9]))
                least = rng.choice([min(x), max(-1 << 63, max(x) - (1 << spread) + 1)])
                lengths += bytes([EVEN + spread, bits.number(least)])
                for n in x:
                    bits.u(n - least, spread)
            else:
                lengths += bytes(bits.number(n) for n in x)
    return bytes(lengths), bits.bytes()
