"""A writer of recordings, written from format/SPEC.md alone: it makes what that page allows, with every choice left to chance."""

import struct

from codec import Map, Raw, Simple, Tag, compress, crc32c, encode, head, pack, row_after, signed
from reader import CHUNK, END, INDEX, MAGIC


def loose(rng, x, most=0.05):
    """Any well-formed item of definite length that means x; keys of maps inside may come in any order."""
    def wide(major, n):
        short = head(major, n)
        if rng.random() >= most or len(short) == 9:
            return short
        size = rng.choice([s for s in (1, 2, 4, 8) if s + 1 > len(short)])
        return bytes([major << 5 | 24 + size.bit_length() - 1]) + n.to_bytes(size, "big")
    if isinstance(x, (bool, Simple, Raw)):
        return encode(x)
    if isinstance(x, int):
        return wide(0, x) if x >= 0 else wide(1, -1 - x)
    if isinstance(x, float):
        return encode(x) if rng.random() >= most else b"\xfb" + struct.pack(">d", x)
    if isinstance(x, str):
        return wide(3, len(x.encode())) + x.encode()
    if isinstance(x, (bytes, bytearray)):
        return wide(2, len(x)) + bytes(x)
    if isinstance(x, Tag):
        return wide(6, x.number) + loose(rng, x.value, most)
    if isinstance(x, dict):
        keys = sorted(x)
        if rng.random() < most:
            rng.shuffle(keys)
        return wide(5, len(x)) + b"".join(loose(rng, k, most) + loose(rng, x[k], most) for k in keys)
    if isinstance(x, Map):
        return wide(5, len(x)) + b"".join(loose(rng, k, most) + loose(rng, v, most) for k, v in x)
    return wide(4, len(x)) + b"".join(loose(rng, y, most) for y in x)


def ranges(rng, ids):
    """[first, count ...] of the ids in this order."""
    out = []
    for i in ids:
        if out and out[-2] + out[-1] == i and rng.random() < 0.9:
            out[-1] += 1
        else:
            out += [i, 1]
    return out


def steps(rng, ids):
    """[first, count, step ...] of the ids in this order."""
    out, at = [], 0
    while at < len(ids):
        n = 1
        step = ids[at + 1] - ids[at] if at + 1 < len(ids) else 0
        while step >= 0 and at + n < len(ids) and ids[at + n] - ids[at + n - 1] == step and rng.random() < 0.95:
            n += 1
        out += [ids[at], n, max(step, 0) if n > 1 else rng.choice([0, 0, 7])]
        at += n
    return out


class Writer:
    def __init__(self, rng, ident, strict=False):
        self.rng, self.ident, self.strict = rng, ident, strict
        self.out, self.sequence = bytearray(), 0
        self.frames, self.chunks = [], []     # (offset, length, mark, chunk or None)
        self.index_at = self.last = None
        self.covered = 0

    def item(self, x):
        return encode(x) if self.strict else loose(self.rng, x)

    def ascending(self, m):
        """A body: its own keys ascend."""
        return head(5, len(m)) + b"".join(encode(k) + self.item(m[k]) for k in sorted(m))

    def frame(self, kind, payload, meta=None, mark=0, major=1):
        at = len(self.out)
        meta = dict(meta or {})
        if payload or self.rng.random() < 0.2:
            meta[1] = len(payload)
        first = MAGIC + bytes([major]) + encode(kind) + encode(self.sequence) + encode(self.ident) + encode(self.item(meta))
        crc = crc32c(first)
        self.out += first + b"\x44" + crc.to_bytes(4, "big") + encode(bytes(payload)) + b"\x44" + crc32c(payload).to_bytes(4, "big")
        self.sequence += 1
        self.frames.append([at, len(self.out) - at, min(kind, 63) | mark, None])
        return crc

    def body(self, kind, m, repeated=False, meta=None, codec=None):
        meta = dict(meta or {})
        data = self.ascending(m)
        if repeated:
            meta[4] = True
        if codec is None:
            codec = self.rng.choice([0, 1, 2] if repeated else [0, 0, 1])
        if codec:
            meta[2], meta[3] = codec, len(data)
            data = compress(data, codec == 2)
        return self.frame(kind, data, meta, 64 if repeated else 0)

    def index(self):
        at = len(self.out)
        frames = [f for f in self.frames if f[0] >= self.covered]
        lengths = [f[1] for f in frames]
        chunks = [f[3] for f in frames if f[3]]
        ticks, expected, before = [], 0, None
        for c in chunks:
            ticks.append(c["ticks"][0] - expected)
            expected = c["ticks"][0] + (c["ticks"][0] - before if before is not None else 0)
            before = c["ticks"][0]
        body = {1: self.covered, 2: bytes(f[2] for f in frames), 3: [b - a for a, b in zip([0] + lengths, lengths)], 4: ticks,
                5: [c["ticks"][-1] - c["ticks"][0] for c in chunks], 6: [len(c["ticks"]) for c in chunks]}
        meta = {18: at}
        if self.index_at is not None:
            meta[19] = at - self.index_at
        self.body(INDEX, body, meta=meta)
        self.index_at = self.covered = at

    def end(self):
        at = len(self.out)
        meta = {18: at}
        if self.index_at is not None:
            meta[19] = at - self.index_at
        for n in range(64):
            payload = bytes(n)
            fixed = {**meta, **({1: n} if n else {})}
            strict = encode(fixed)
            size = 13 + len(encode(END)) + len(encode(self.sequence)) + 9 + len(encode(strict)) + 5 + len(encode(payload)) + 5
            if size == 64:
                break
        else:
            raise AssertionError("no end frame of 64 bytes")
        was, self.strict = self.strict, True
        self.frame(END, payload, fixed)
        self.strict = was
        assert len(self.out) - at == 64

    def chunk(self, c, meta=None):
        """c: key, codec, run, segment, step, ticks, numbers, flags, clocks, realtime, groups: [(Group, columns, reasons, absolute)]."""
        rng, last = self.rng, self.last
        rows = len(c["ticks"])
        m = dict(meta or {})

        def put(key, value, default):
            if value != default or rng.random() < 0.1:
                m[key] = value
        put(2, c["codec"], 0)
        put(5, c["run"], 1)
        put(6, c["segment"], 0)
        put(7, rows, 1)
        put(8, c["step"], None if c["key"] else last["step"])
        put(9, signed(c["ticks"][0] - (0 if c["key"] else last["ticks"][-1] + c["step"])), 0)
        put(10, [signed(b - a - c["step"]) for a, b in zip(c["ticks"], c["ticks"][1:])], [0] * (rows - 1))
        put(11, signed(c["numbers"][0] - (0 if c["key"] else last["numbers"][-1] + 1)), 0)
        put(12, [signed(b - a - 1) for a, b in zip(c["numbers"], c["numbers"][1:])], [0] * (rows - 1))
        put(13, [x for r, f in enumerate(c["flags"]) if f for x in (r, f)], [])
        mono, raw, boot, cycles = c["clocks"]
        real = c["realtime"]
        clocks = [mono, raw, boot, cycles]
        if not c["key"]:
            lm, lr, lb, lc = last["clocks"]
            clocks = [mono - c["ticks"][0], raw - mono - (lr - lm) if lr else 0, boot - mono - (lb - lm) if lb else 0, signed(cycles - lc)]
            if real is not None:
                real = real - mono - (last["realtime"] - lm)
            m[15] = last["crc"]
        m[14] = clocks + [rng.getrandbits(30) for _ in range(rng.choice([0, 0, 0, 1, 2]))]
        if real is not None:
            m[300] = real
        order = [g.id for g, _, _, _ in c["groups"]]
        if c["key"] or order != last["order"] or rng.random() < 0.2:
            m[16] = ranges(rng, order)
        c["order"] = order
        if c["key"]:
            for g in self.live_rows:
                g.before = None
            self.live_rows.clear()
        blocks, payload, at = [], b"", 0
        while at < len(order) or rng.random() < 0.05:
            n = min(len(order) - at, rng.choice([0, 1, 1, 2, 5]))
            items, bits = b"", b""
            for g, v, reasons, absolute in c["groups"][at:at + n]:
                matrix, own = self.matrix(c, g, v, absolute)
                items += (b"" if c["codec"] else self.item(len(own))) + self.item(matrix) + self.item(status(rng, reasons, rows))
                bits += own
                if not g.unknown:
                    g.before = row_after(v, c["ticks"][-1], g.before)
                    self.live_rows.add(g)
            at += n
            raw = 0
            if rng.random() < 0.4 and items:
                raw, items = len(items), compress(items)
            stored = items + bits
            blocks += [len(stored), len(bits), raw, crc32c(stored), n]
            payload += stored
        m[17] = blocks
        c["crc"] = self.frame(CHUNK, payload, m, 128 if c["key"] else 0)
        self.frames[-1][3] = c
        self.last = c
        self.chunks.append(c)

    live_rows = None

    def matrix(self, c, g, v, absolute):
        """The matrix item of a group, and its bits."""
        if g.unknown:
            return v, b"" if c["codec"] else bytes(self.rng.randrange(3))
        if c["codec"] > 1:
            return b"packed in a way of its own", b"bits"
        if c["codec"] == 0:
            return pack(self.rng, v, len(c["ticks"]), g.bands, c["ticks"], g.before, absolute)
        out = []
        for band in g.bands:
            tag = {"u64": 71, "s64": 79, "f64": 86}[band.plain]
            out.append(Tag(tag, b"".join(struct.pack("<Q", x) for k in range(band.first, band.first + band.count) for x in v[k])))
        return out, b""


def status(rng, reasons, rows):
    out, at = [], 0
    for k in sorted(k * rows + r for k, r in reasons):
        reason = reasons[divmod(k, rows)]
        if out and at == k and out[-1] == reason and rng.random() < 0.95:
            out[-2] += 1
        else:
            out += [k - at, 1, reason]
        at = k + 1
    return out
