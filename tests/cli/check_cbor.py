#!/usr/bin/python3
"""check_cbor.py FILE...: looks at recordings with nothing but a CBOR library and format/SPEC.md.

Shares no code with the project: the checksum is computed bit by bit from the polynomial, CBOR is decoded by Debian's
python3-cbor2 and once more by a small strict walker that knows only deterministic encoding. Verifies frames, sequence
numbers, the directories of chunks, definitions, the index chain and the end frame; decodes typed arrays of the plain
codec and reports their sums. Packed matrices are passed over.

With --cells the numbers of plain chunks are printed, a line a column, missing ones as "!reason". With --expect
NAME=VALUE the line "NAME VALUE" of the summary must be there. Exits 0 if all is well, else 1 with a line a fault.
"""
import io
import os
import struct
import subprocess
import sys

import cbor2

MAGIC = b"\xd9\xd9\xf7\x88\x48PMR\r\n\x1a\n\x01"
TYPES = {1: "header", 2: "topology", 3: "schema", 4: "instances", 5: "pmus", 6: "probes", 7: "config", 8: "chunk",
         9: "event", 10: "index", 11: "end"}
META_KEYS = {1: int, 2: int, 3: int, 4: bool, 5: int, 6: int, 7: int, 8: int, 9: int, 10: list, 11: int, 12: list,
             13: list, 14: list, 15: int, 16: list, 17: list, 18: int, 19: int, 300: int}


class Fault(Exception):
    pass


def need(condition, text):
    if not condition:
        raise Fault(text)


TABLE = []
for byte in range(256):
    value = byte
    for _ in range(8):
        value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    TABLE.append(value)


def crc32c(data):
    crc = 0xFFFFFFFF
    for b in data:
        crc = crc >> 8 ^ TABLE[(crc ^ b) & 255]
    return crc ^ 0xFFFFFFFF


def walk(data, at, depth=0):
    """One item of RFC 8949 core deterministic encoding; returns what follows it. Bytes are not looked into."""
    need(depth <= 12, "nested deeper than 12")
    need(at < len(data), "an item is cut")
    major, info = data[at] >> 5, data[at] & 31
    need(info < 28, f"indefinite or reserved length at {at}")
    size = 0 if info < 24 else 1 << (info - 24)
    need(at + 1 + size <= len(data), "a head is cut")
    raw = data[at + 1:at + 1 + size]
    value = int.from_bytes(raw, "big") if size else info
    at += 1 + size
    if major == 7:
        if size >= 2:
            check_float(raw)
        return at
    need(size == 0 or value >= (24 if size == 1 else 1 << (4 * size)), "an integer is not in its shortest form")
    if major in (2, 3):
        need(at + value <= len(data), "a string is cut")
        if major == 3:
            data[at:at + value].decode("utf-8")
        return at + value
    if major == 4:
        for _ in range(value):
            at = walk(data, at, depth + 1)
    elif major == 5:
        last = b""
        for _ in range(value):
            start = at
            at = walk(data, at, depth + 1)
            need(data[start:at] > last, "keys of a map are not in order, or come twice")
            last = data[start:at]
            at = walk(data, at, depth + 1)
    elif major == 6:
        at = walk(data, at, depth + 1)
    return at


def check_float(raw):
    if len(raw) == 8:
        v = struct.unpack(">d", raw)[0]
        narrow = v == v
        if narrow:
            try:
                narrow = struct.unpack(">f", struct.pack(">f", v))[0] == v
            except OverflowError:
                narrow = False
        need(not narrow and v == v, "a double that a single would hold")
    elif len(raw) == 4:
        v = struct.unpack(">f", raw)[0]
        narrow = v == v
        if narrow:
            try:
                narrow = struct.unpack(">e", struct.pack(">e", v))[0] == v
            except OverflowError:
                narrow = False
        need(not narrow and v == v, "a single that a half would hold")


def deterministic(data, what):
    at = 0
    at = walk(data, at)
    need(at == len(data), f"{what}: {len(data) - at} bytes too many")
    return cbor2.loads(data)


def unzstd(data, raw, codec=1):
    known = ["-D", os.path.join(os.path.dirname(__file__), "../../format/dictionary.bin")] if codec == 2 else []
    out = subprocess.run(["zstd", *known, "-dc"], input=data, stdout=subprocess.PIPE, check=True).stdout
    need(len(out) == raw, f"{len(out)} bytes after decompression, {raw} were announced")
    return out


class Recording:
    def __init__(self, start, ident):
        self.start, self.ident = start, ident
        self.sequence = 0
        self.frames = []
        self.counters, self.instances, self.groups, self.strings = [], 0, [], 0
        self.base = None
        self.count = dict.fromkeys(TYPES.values(), 0)
        self.keys = self.rows = self.plain_sum = self.missing = 0
        self.ended = False


def columns_of(group, rec):
    ids = lambda flat: [f + k * s for f, n, s in zip(*[iter(flat)] * 3) for k in range(n)]
    flags = group.get(2, 0)
    counters, instances = ids(group[3]), ids(group[4])
    need(all(1 <= c <= len(rec.counters) for c in counters), "a group names a counter that is not there")
    need(all(1 <= i <= rec.instances for i in instances), "a group names an instance that is not there")
    times = 1 if flags & 3 else len(instances)
    head = times * (4 if flags & 4 else 2)
    if flags & 1:
        need(len(counters) == len(instances), "a list group with uneven lists")
        values = len(counters)
    else:
        values = len(counters) * len(instances)
    return head, values


def schema(rec, body):
    if 2 in body:
        need(1 <= body[1] <= len(rec.counters) + 1, "counters leave a gap")
        rec.counters[body[1] - 1:] = body[2] if body[1] + len(body[2]) > len(rec.counters) else rec.counters[body[1] - 1:]
        for c in body[2]:
            need({1, 3, 4} <= set(c) <= set(range(1, 11)), "a counter lacks name, source or unit")
            need(1 <= c.get(8, 64) <= 64, "a width out of range")
    if 4 in body:
        need(1 <= body[3] <= len(rec.groups) + 1, "groups leave a gap")
        for k, g in enumerate(body[4]):
            shape = columns_of(g, rec)
            if body[3] + k > len(rec.groups):
                rec.groups.append(shape)
            else:
                need(rec.groups[body[3] + k - 1] == shape, "a group changed")
    if 6 in body:
        need(1 <= body[5] <= rec.strings + 1, "strings leave a gap")
        rec.strings = max(rec.strings, body[5] - 1 + len(body[6]))


def definitions(rec, kind, body):
    if kind == 3:
        schema(rec, body)
    elif kind == 4:
        if 3 in body:
            need(1 <= body[2] <= rec.instances + 1, "instances leave a gap")
            rec.instances = max(rec.instances, body[2] - 1 + len(body[3]))
        need(len(body.get(4, [])) % 2 == 0, "an odd list of retirements")
    elif kind == 7:
        for c in body[1]:
            value = [k for k in c if k % 100 == 50]
            need({1, 2, 3} <= set(c) and len(value) + (5 in c) == 1, "a one-time value lacks something, or has too much")


TYPED = {71: "<Q", 79: "<q", 86: "<d"}


CELLS = False


def print_cells(bands, status, head, rows):
    cells = [str(v % 2**64) if not isinstance(v, float) else str(struct.unpack("<Q", struct.pack("<d", v))[0])
             for band in bands for v in band]
    at = head * rows
    for valid, missing, reason in zip(*[iter(status)] * 3):
        at += valid
        cells[at:at + missing] = [f"!{reason}"] * missing
        at += missing
    for column in range(len(cells) // rows):
        print("", *cells[column * rows:(column + 1) * rows])


def status_runs(status, values, rows, rec):
    need(isinstance(status, list) and len(status) % 3 == 0, "a status list that is not in threes")
    at = 0
    for valid, missing, reason in zip(*[iter(status)] * 3):
        need(missing > 0 and 0 < reason < 65536, "an empty stretch, or one without a reason")
        at += valid + missing
        rec.missing += missing
    need(at <= values * rows, "the status runs beyond the values")


def group_items(stream, gid, codec, rows, rec):
    matrix, status = cbor2.load(stream), cbor2.load(stream)
    need(1 <= gid <= len(rec.groups), f"group {gid} is not defined")
    head, values = rec.groups[gid - 1]
    status_runs(status, values, rows, rec)
    if codec == 0:
        need(isinstance(matrix, bytes) and matrix and matrix[0] & ~(16 | 32) in (0, 1, 2), "a packed matrix of unknown form")
        return
    cells, bands = 0, []
    for band in matrix:
        need(isinstance(band, cbor2.CBORTag) and band.tag in TYPED, "a band that is no typed array")
        need(len(band.value) % 8 == 0, "a typed array of odd length")
        numbers = struct.unpack("<%d%s" % (len(band.value) // 8, TYPED[band.tag][1]), band.value)
        if band.tag == 71:
            rec.plain_sum = (rec.plain_sum + sum(numbers)) % 2**64
        cells += len(numbers)
        bands.append(numbers)
    need(cells == (head + values) * rows, f"{cells} cells, not {(head + values) * rows}")
    if CELLS:
        print_cells(bands, status, head, rows)


def chunk(rec, meta, payload, head_crc):
    rows, codec = meta.get(7, 1), meta.get(2, 0)
    key = 15 not in meta
    need(1 <= rows <= 128, "rows out of range")
    need(key == (8 in meta), "step belongs into key chunks")
    need(len(meta[14]) == 4, "not four clocks")
    if not key:
        need(rec.base is not None and meta[15] == rec.base["crc"], "depends on another chunk than the one before it")
        for k in (5, 6):
            need(meta.get(k) == rec.base["meta"].get(k), "depends across a run or segment")
    groups = meta.get(16)
    if groups is not None:
        ids = [f + k for f, n in zip(*[iter(groups)] * 2) for k in range(n)]
    else:
        need(not key, "a key chunk without its groups")
        ids = rec.base["ids"]
    need(len(set(ids)) == len(ids), "a group twice")
    for k in (10, 12):
        need(k not in meta or len(meta[k]) == rows - 1, "a list of ticks of the wrong length")
    at = first = 0
    for stored, raw, crc, n in zip(*[iter(meta[17])] * 4):
        block = payload[at:at + stored]
        need(len(block) == stored and crc32c(block) == crc, "the checksum of a block fails")
        at += stored
        data = unzstd(block, raw) if raw else block
        inner = 0
        for _ in range(2 * n):
            inner = walk(data, inner)
        need(inner == len(data), "a block is not used up")
        stream = io.BytesIO(data)
        for gid in ids[first:first + n]:
            group_items(stream, gid, codec, rows, rec)
        first += n
    need(at == len(payload) and first == len(ids), "blocks and payload do not agree")
    rec.base = {"crc": head_crc, "ids": ids, "meta": meta}
    rec.keys += key
    rec.rows += rows


def index(rec, meta, body, offset):
    own = offset - rec.start
    need(meta[18] == own, "an index at another offset than it says")
    first, at = body[1], body[1]
    previous = [f for f in rec.frames if f[0] == 10]
    need((19 in meta) == bool(previous), "the chain of index frames is broken")
    if previous:
        need(own - meta[19] == previous[-1][1], "the chain of index frames leads elsewhere")
    covered = [f for f in rec.frames if f[1] >= first]
    need(len(covered) == len(body[2]) == len(body[3]), "the index has another number of frames")
    length = 0
    chunks = 0
    for frame, flags, step in zip(covered, body[2], body[3]):
        length += step
        need((frame[0], frame[1], frame[2]) == (flags & 63, at, length), f"the index is wrong about the frame at {frame[1]}")
        need(bool(flags & 128) == frame[3] and bool(flags & 64) == frame[4], "the index is wrong about a flag")
        at += length
        chunks += frame[0] == 8
    need(at == own, "the index does not reach up to itself")
    need(chunks == len(body[4]) == len(body[5]) == len(body[6]), "the index has another number of chunks")


def frame(data, at, rec):
    need(data[at:at + 13] == MAGIC, f"no frame at {at}")
    end = walk(data, at)
    tag = data[at:end]
    item = cbor2.loads(tag[3:])
    need(len(item) == 8, "a frame of other than 8 items")
    magic, kind, sequence, ident, meta_bytes, crc, payload, payload_crc = item
    need(len(ident) == 8 and len(crc) == 4 and len(payload_crc) == 4, "a field of the wrong size")
    pos = 3 + 1 + 9
    for _ in range(2):
        pos = walk(tag, pos)
    pos = walk(tag, walk(tag, pos))
    need(crc32c(tag[:pos]) == int.from_bytes(crc, "big"), "the checksum of a head fails")
    need(crc32c(payload) == int.from_bytes(payload_crc, "big"), "the checksum of a payload fails")
    meta = deterministic(meta_bytes, "meta")
    need(meta.get(1, 0) == len(payload), "meta and payload disagree about the length")
    for k, v in meta.items():
        need(k in META_KEYS and type(v) is META_KEYS[k], f"meta key {k}")
    if rec is None or ident != rec.ident or (kind == 1 and sequence == 0 and rec.sequence):
        need(kind == 1, "a recording does not begin with a header")
        rec = Recording(at, ident)
    need(sequence == rec.sequence, f"frame {sequence} where {rec.sequence} should be")
    rec.sequence += 1
    rec.count[TYPES[kind]] += 1
    if kind == 8:
        chunk(rec, meta, payload, int.from_bytes(crc, "big"))
    elif kind == 11:
        need(end - at == 64 and not any(payload), "an end frame of other than 64 bytes")
        need(meta[18] == at - rec.start, "the end frame is elsewhere than it says")
        need(meta[18] - meta[19] == [f[1] for f in rec.frames if f[0] == 10][-1], "the end frame misses the index")
        rec.ended = True
    else:
        body = deterministic(unzstd(payload, meta[3], meta[2]) if meta.get(2) else payload, TYPES[kind])
        if kind == 10:
            index(rec, meta, body, at)
        else:
            definitions(rec, kind, body)
    rec.frames.append((kind, at - rec.start, end - at, kind == 8 and 15 not in meta, bool(meta.get(4))))
    return end, rec


def check(path):
    with open(path, "rb") as f:
        data = f.read()
    at, rec, recordings = 0, None, []
    while at < len(data):
        try:
            at, now = frame(data, at, rec)
        except Fault as fault:
            raise Fault(f"{path}: frame at {at}: {fault}") from None
        if now is not rec:
            recordings.append(now)
        rec = now
    lines = []
    for r in recordings:
        lines += [f"{k} {v}" for k, v in r.count.items() if v]
        lines += [f"keys {r.keys}", f"rows {r.rows}", f"missing {r.missing}", f"plain_sum {r.plain_sum}",
                  f"ended {int(r.ended)}"]
    return lines


def main():
    global CELLS
    args, expected, bad = [], [], 0
    it = iter(sys.argv[1:])
    for a in it:
        if a == "--expect":
            expected.append(next(it).replace("=", " "))
        elif a == "--cells":
            CELLS = True
        else:
            args.append(a)
    if not args:
        sys.exit(__doc__)
    for path in args:
        try:
            lines = check(path)
        except Fault as fault:
            print(fault)
            bad = 1
            continue
        if not CELLS:
            print(f"{path}: " + ", ".join(lines))
        for e in expected:
            if e not in lines:
                print(f"{path}: expected {e}")
                bad = 1
    sys.exit(bad)


if __name__ == "__main__":
    main()
