"""Reads Parquet files from the words of the format alone, as a second opinion: thrift, pages, encodings, statistics."""
import struct

import zstandard

INT64, DOUBLE, BYTE_ARRAY = 2, 5, 6
PLAIN, RLE, DELTA_BINARY_PACKED, RLE_DICTIONARY, BYTE_STREAM_SPLIT = 0, 3, 5, 8, 9


class Thrift:
    """Compact protocol: a struct becomes {field number: value}."""

    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def varint(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def zigzag(self):
        v = self.varint()
        return (v >> 1) ^ -(v & 1)

    def value(self, kind):
        if kind in (1, 2):
            return kind == 1
        if kind == 3:
            self.at += 1
            return struct.unpack_from("b", self.data, self.at - 1)[0]
        if kind in (4, 5, 6):
            return self.zigzag()
        if kind == 8:
            n = self.varint()
            self.at += n
            return bytes(self.data[self.at - n:self.at])
        if kind == 9:
            head = self.data[self.at]
            self.at += 1
            n = self.varint() if head >> 4 == 15 else head >> 4
            return [self.value(head & 15) for _ in range(n)]
        if kind == 12:
            return self.struct()
        raise ValueError(f"type {kind} at {self.at}")

    def struct(self):
        fields, number = {}, 0
        while True:
            head = self.data[self.at]
            self.at += 1
            if not head:
                return fields
            number = number + (head >> 4) if head >> 4 else self.zigzag()
            assert number not in fields
            fields[number] = self.value(head & 15)


def bits(data, at, n, width):
    whole = int.from_bytes(data[at:at + (n * width + 7) // 8], "little")
    mask = (1 << width) - 1
    return [whole >> i * width & mask for i in range(n)]


def hybrid(data, at, end, width, n):
    out = []
    while at < end and len(out) < n:
        t = Thrift(data, at)
        head = t.varint()
        at = t.at
        if head & 1:
            out += bits(data, at, (head >> 1) * 8, width)
            at += (head >> 1) * width
        else:
            size = (width + 7) // 8
            out += [int.from_bytes(data[at:at + size], "little")] * (head >> 1)
            at += size
    assert len(out) >= n and at == end, (len(out), n, at, end)
    return out[:n]


def deltas(data, at, end):
    t = Thrift(data, at)
    block, minis, n, value = t.varint(), t.varint(), t.varint(), t.zigzag()
    out = [value] if n else []
    while len(out) < n:
        least = t.zigzag()
        widths = t.data[t.at:t.at + minis]
        t.at += minis
        for width in widths:
            if len(out) >= n:
                break
            for d in bits(data, t.at, block // minis, width):
                value = (value + least + d + 2**63) % 2**64 - 2**63
                if len(out) < n:
                    out.append(value)
            t.at += block // minis * width // 8
    assert t.at == end
    return out


def plain(data, at, kind, n):
    if kind == BYTE_ARRAY:
        out = []
        for _ in range(n):
            size = int.from_bytes(data[at:at + 4], "little")
            out.append(data[at + 4:at + 4 + size].decode())
            at += 4 + size
        return out
    return list(struct.unpack_from(f"<{n}{'q' if kind == INT64 else 'd'}", data, at))


def page(data, at):
    t = Thrift(data, at)
    head = t.struct()
    raw = zstandard.ZstdDecompressor().decompress(data[t.at:t.at + head[3]], max_output_size=head[2])
    assert len(raw) == head[2]
    return head, raw, t.at + head[3]


class File:
    """columns: names in order; groups: a list of {name: (values with None, statistics)}."""

    def __init__(self, path):
        data = open(path, "rb").read()
        assert data[:4] == data[-4:] == b"PAR1"
        size = int.from_bytes(data[-8:-4], "little")
        t = Thrift(data, len(data) - 8 - size)
        meta = t.struct()
        assert t.at == len(data) - 8
        self.schema = {c[4].decode(): c for c in meta[2][1:]}
        assert meta[2][0][5] == len(meta[2]) - 1 == len(self.schema) == len(meta[7])
        self.columns, self.groups, self.used = list(self.schema), [], 4
        for g in meta[4]:
            self.groups.append({})
            assert [c[3][3][0].decode() for c in g[1]] == self.columns
            for c in g[1]:
                values, statistics = self.chunk(data, c[3])
                assert len(values) == g[3]
                self.groups[-1][c[3][3][0].decode()] = values, statistics
            assert g[6] == sum(c[3][7] for c in g[1]) and g[2] == sum(c[3][6] for c in g[1])
        assert meta[3] == sum(g[3] for g in meta[4])
        # Nothing lies between the pages.
        assert self.used == len(data) - 8 - size

    def chunk(self, data, m):
        at, dictionary = m.get(11, m[9]), None
        begin = at
        if 11 in m:
            head, raw, at = page(data, at)
            assert head[1] == 2 and at == m[9]
            dictionary = plain(raw, 0, m[1], head[7][1])
            assert len(set(map(str, dictionary))) == len(dictionary)
        head, raw, at = page(data, at)
        assert head[1] == 0 and m[4] == 6 and at - begin == m[7] and head[5][1] == m[5]
        self.used += m[7]
        n, encoding = head[5][1], head[5][2]
        assert encoding in m[2]
        end = 4 + int.from_bytes(raw[:4], "little")
        there = hybrid(raw, 4, end, 1, n)
        have = sum(there)
        if encoding == RLE_DICTIONARY:
            values = [dictionary[i] for i in hybrid(raw, end + 1, len(raw), raw[end], have)]
        elif encoding == DELTA_BINARY_PACKED:
            values = deltas(raw, end, len(raw))
        elif encoding == BYTE_STREAM_SPLIT:
            part = raw[end:]
            values = plain(b"".join(part[i::have] for i in range(have)) if have else b"", 0, m[1], have)
        else:
            values = plain(raw, end, m[1], have)
        assert len(values) == have
        values = iter(values)
        values = [next(values) if t else None for t in there]
        return values, m[12]

    def rows(self):
        for g in self.groups:
            yield from zip(*(g[c][0] for c in self.columns))
