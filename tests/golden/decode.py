#!/usr/bin/python3
"""Reads recordings by the words of format/SPEC.md, with a CBOR library that is not ours.

    decode.py FILE          what the file holds, in a few lines
    decode.py --json FILE   every raw value, one object a line, as `pmrep dump --format=json` has them

Nothing here is shared with the programs: the checksum, the packed columns and the sums are written down a second
time. It is slow and strict. Whatever the specification does not allow raises Malformed, or becomes a Damage if the
bytes of a frame are broken.
"""

import collections
import io
import json
import os
import struct
import sys

import cbor2

sys.dont_write_bytecode = True
from packed import LIST, MASK, PERF_TIMES, SHARED_TIME, bands_of, need, plain, growth, unpack

try:
    import zstandard
except ImportError:
    zstandard = None

MAGIC = bytes.fromhex("d9d9f7 88 48 504d520d0a1a0a")
MAJOR = 1

FRAMES = {1: "header", 2: "topology", 3: "schema", 4: "instances", 5: "pmus", 6: "probes", 7: "config", 8: "chunk",
          9: "event", 10: "index", 11: "end"}
KINDS = ["system", "package", "die", "cluster", "cache", "node", "core", "cpu", "pmu", "task", "cgroup", "device"]
TYPES = ["u64", "s64", "f64", "text", "bytes"]
SEMANTICS = ["cumulative", "delta", "gauge", "peak", "state", "bitfield"]
AGGREGATIONS = ["sum", "mean", "max", "min", "first", "none"]
EVENTS = {1: "marker", 2: "cpu-online", 3: "cpu-offline", 4: "lost", 5: "clock-step", 6: "suspend", 7: "enable",
          8: "disable", 9: "child-start", 10: "child-exit", 11: "failed", 12: "run-start", 13: "run-end", 14: "gone",
          15: "note"}
REASONS = {0: "ok", 1: "not-counted", 2: "not-supported", 3: "no-permission", 4: "offline", 5: "missed", 6: "gone",
           7: "dropped", 8: "suspect", 9: "format", 10: "not-read", 11: "left-out", 12: "newer"}


# ---- CRC-32C: polynomial 0x1EDC6F41, reflected, start and end inverted ----

def crc_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


CRC_TABLE = crc_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ CRC_TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def dictionary():
    with open(os.path.join(os.path.dirname(__file__), "../../format/dictionary.bin"), "rb") as f:
        return zstandard.ZstdCompressionDict(f.read(), dict_type=zstandard.DICT_TYPE_RAWCONTENT)


def zstd(data, raw_size, known=False):
    need(zstandard, "python3-zstandard is missing")
    out = zstandard.ZstdDecompressor(**({"dict_data": dictionary()} if known else {})).decompress(data, max_output_size=raw_size)
    need(len(out) == raw_size, "size after decompression")
    return out


def cbor_all(data):
    """All items of a CBOR sequence. Writers are bound to deterministic encoding, so no key is there twice either."""
    f, items = io.BytesIO(data), []
    while f.tell() < len(data):
        items.append(cbor2.load(f))
    again = b"".join(cbor2.dumps(i, canonical=True) for i in items)
    need(again == data, "not in deterministic encoding")
    return items


def cbor_one(data):
    items = cbor_all(data)
    need(len(items) == 1, "one item expected")
    return items[0]


# ---- frames ----

Frame = collections.namedtuple("Frame", "offset length type sequence id meta crc payload")
Damage = collections.namedtuple("Damage", "kind offset length")


class Cut(Exception):
    """The bytes end inside a frame."""


class Broken(Exception):
    """The bytes here are no frame, or one whose checksum fails."""


class NewerMajor(Exception):
    pass


class Bytes:
    """A cursor over the shell of a frame."""

    def __init__(self, data, at):
        self.data, self.at = data, at

    def take(self, n):
        if self.at + n > len(self.data):
            raise Cut
        self.at += n
        return self.data[self.at - n:self.at]

    def head(self, major):
        first = self.take(1)[0]
        if first >> 5 != major or first & 31 > 27:
            raise Broken
        short = first & 31
        if short < 24:
            return short
        value = int.from_bytes(self.take(1 << (short - 24)), "big")
        if value < (24 if short == 24 else 1 << (8 << (short - 25))):
            raise Broken
        return value

    def checksum(self):
        if self.take(1) != b"\x44":
            raise Broken
        return int.from_bytes(self.take(4), "big")


def read_frame(data, offset):
    c = Bytes(data, offset)
    have = data[offset:offset + len(MAGIC)]
    if have != MAGIC[:len(have)]:
        raise Broken
    c.take(len(MAGIC))
    major = c.take(1)[0]
    kind = c.head(0)
    sequence = c.head(0)
    if c.take(1) != b"\x48":
        raise Broken
    recording = c.take(8)
    length = c.head(2)
    if length > 4 << 20:
        raise Broken
    meta = c.take(length)
    covered = c.at
    crc = c.checksum()
    if crc != crc32c(data[offset:covered]):
        raise Broken
    if major != MAJOR:
        raise NewerMajor(major)
    meta = cbor_one(meta)
    length = c.head(2)
    if length != meta.get(1, 0):
        raise Broken
    payload = c.take(length)
    if c.checksum() != crc32c(payload):
        raise Broken
    return Frame(offset, c.at - offset, kind, sequence, recording, meta, crc, payload)


def frames(data):
    """Frames and Damage, in the order of the file."""
    at = 0
    while at < len(data):
        try:
            frame = read_frame(data, at)
        except (Cut, Broken) as e:
            following = data.find(MAGIC, at + 1)
            end = following if following > 0 else len(data)
            yield Damage("cut" if isinstance(e, Cut) and following < 0 else "garbage", at, end - at)
            at = end
            continue
        yield frame
        at += frame.length


# ---- definitions ----

Counter = collections.namedtuple(
    "Counter", "id name display source unit scale type semantics width aggregation attrs")
Instance = collections.namedtuple("Instance", "id kind number cpu added retired attrs")
Group = collections.namedtuple("Group", "id source flags counters instances")
Config = collections.namedtuple("Config", "name time kind instances reason privacy value")
Event = collections.namedtuple("Event", "type time attrs")
Probe = collections.namedtuple("Probe", "source what hint reason attrs")


def ids(triples):
    need(len(triples) % 3 == 0, "ids")
    return [first + i * step for first, count, step in zip(*[iter(triples)] * 3) for i in range(count)]


def ranges(pairs):
    need(len(pairs) % 2 == 0, "ranges")
    return [first + i for first, count in zip(*[iter(pairs)] * 2) for i in range(count)]


def listed(first, n):
    """Ids of a list of `n`: its first, or [first, count ...]."""
    out = ranges(first) if isinstance(first, list) else list(range(first, first + n))
    need(len(out) == n and all(i > 0 for i in out), "ids of a list")
    return out


def body_of(frame):
    payload = frame.payload
    if frame.meta.get(2, 0):
        payload = zstd(payload, frame.meta[3], frame.meta[2] == 2)
    return cbor_one(payload)


Clocks = collections.namedtuple("Clocks", "monotonic raw boottime counter realtime")


class Chunk:
    """key, run, segment, ticks, numbers, flags, clocks; groups: [(group, columns, statuses)]; statuses: None, or one
    list a value column."""


# counter, instance: as defined; value: None if missing; reason: 0 or why
Value = collections.namedtuple("Value", "row counter instance begin end enabled running value reason")


class Recording:
    """The first recording of a file: all that can be read of it."""

    def __init__(self, data):
        self.id = None
        self.header, self.topology, self.type_names = {}, [], []
        self.topology_time = 0
        self.counters, self.instances, self.groups, self.strings = {}, {}, {}, {}
        self.pmus, self.probes, self.configs = {}, {}, []
        self.events, self.chunks, self.frames, self.damage = [], [], [], []
        self.ended = False
        self.retired_groups = set()
        self.base = None
        self.last_rows = {}  # by group: (values, tick, growths) of its last row since the last key chunk
        handle = {"header": self.on_header, "topology": self.on_topology, "schema": self.on_schema,
                  "instances": self.on_instances, "pmus": self.on_pmus, "probes": self.on_probes,
                  "config": self.on_config, "chunk": self.on_chunk, "event": self.on_event, "index": self.on_index,
                  "end": self.on_end}
        expected = 0
        for frame in frames(data):
            if isinstance(frame, Damage):
                self.damage.append(frame)
                continue
            if self.id is None:
                self.id = frame.id
            if frame.type == 1 and (frame.id != self.id or (frame.sequence == 0 and expected)):
                break
            if frame.id != self.id or frame.sequence < expected:
                self.damage.append(Damage("foreign", frame.offset, frame.length))
                continue
            if frame.sequence != expected:
                self.damage.append(Damage("lost", frame.offset, 0))
            expected = frame.sequence + 1
            self.frames.append(frame)
            known = handle.get(FRAMES.get(frame.type))
            if known:
                known(frame)
        self.data = data

    def on_header(self, frame):
        self.header = body_of(frame)

    def on_topology(self, frame):
        body = body_of(frame)
        names = [None, None, "cpu", "package", "die", "cluster", "core", "node", "thread", "l1d", "l1i", "l2", "l3",
                 "type", "capacity", "online"]
        self.topology_time = body.get(1, 0)
        columns = {names[k]: v for k, v in body.items() if 2 <= k <= 15}
        need(all(len(v) == len(columns["cpu"]) for v in columns.values()), "topology")
        self.topology = [{k: v[i] for k, v in columns.items() if v[i] != -1} for i in range(len(columns["cpu"]))]
        self.type_names = body.get(16, [])

    def on_schema(self, frame):
        body = body_of(frame)
        for first, known in ((1, self.counters), (5, self.strings)):
            need(first not in body or 1 <= body[first] <= len(known) + 1, "a list behind a gap")
        for i, c in enumerate(body.get(2, [])):
            n = body[1] + i
            scale = c.get(5, [1, 1])
            counter = Counter(n, c[1], c.get(2, c[1]), c[3], c[4], scale, TYPES[c.get(6, 0)], SEMANTICS[c.get(7, 0)],
                              c.get(8, 64), AGGREGATIONS[c.get(9, 0)], c.get(10, {}))
            need(self.counters.setdefault(n, counter) == counter, "a counter that changes")
        for i, s in enumerate(body.get(6, [])):
            need(self.strings.setdefault(body[5] + i, s) == s, "a string that changes")
        for n, g in zip(listed(body.get(3, 1), len(body.get(4, []))), body.get(4, [])):
            old = None
            if 5 in g:
                old = self.groups[g[5]]
                need(g[5] < n and not old.flags & LIST and 2 not in g and 3 not in g, "a group that continues")
                kept, at = [], 0
                for stay, leave in zip(*[iter(g.get(6, []))] * 2):
                    need(at + stay + leave <= len(old.instances), "who left")
                    kept += range(at, at + stay)
                    at += stay + leave
                kept += range(at, len(old.instances))
                added = ids(g.get(4, []))
                group = Group(n, g.get(1, old.source), old.flags, old.counters,
                              [old.instances[k] for k in kept] + added)
            else:
                group = Group(n, g[1], g.get(2, 0), ids(g[3]), ids(g[4]))
            need(group.flags < 8, "flags of a group")
            need(not group.flags & LIST or len(group.counters) == len(group.instances), "pairs of a list")
            need(all(k in self.counters for k in group.counters), "a group of unknown counters")
            need(all(k in self.instances for k in group.instances), "a group of unknown instances")
            need(self.groups.setdefault(n, group) == group, "a group that changes")
            if old and old.id in self.last_rows:
                self.last_rows[n] = self.taken_over(group, old, kept)
            if old:
                self.retired_groups.add(old.id)
                self.last_rows.pop(old.id, None)
        for n in ranges(body.get(7, [])):
            self.retired_groups.add(n)
            self.last_rows.pop(n, None)

    def taken_over(self, group, old, kept):
        """The row before of a group that continues another."""
        values, tick, growths = self.last_rows[old.id]
        return self.kept_of(group, old, kept, values, tick), tick, self.kept_of(group, old, kept, growths, 0)

    @staticmethod
    def kept_of(group, old, kept, values, tick):
        times = 1 if old.flags & SHARED_TIME else len(old.instances)
        kinds = 4 if old.flags & PERF_TIMES else 2
        out = []
        for k in range(kinds):
            column = values[k * times:(k + 1) * times]
            if old.flags & SHARED_TIME:
                out += column
                continue
            out += [column[i] for i in kept]
            out += [tick if k < 2 else 0] * (len(group.instances) - len(kept))
        for k in range(len(group.counters)):
            first = kinds * times + k * len(old.instances)
            out += [values[first + i] for i in kept] + [0] * (len(group.instances) - len(kept))
        return out

    def on_instances(self, frame):
        body = body_of(frame)
        base = time = body.get(1, 0)
        for n, x in zip(listed(body.get(2, 1), len(body.get(3, []))), body.get(3, [])):
            self.instances[n] = Instance(n, KINDS[x[1]], x.get(2), x.get(3), base + x[4] if 4 in x else 0,
                                         base + x[5] if 5 in x else 0, x.get(6, {}))
            if 5 in x and not frame.meta.get(4):
                self.events.append(Event("gone", base + x[5], {7: n}))
        n = 0
        for step, later in zip(*[iter(body.get(4, []))] * 2):
            n, time = n + step, time + later
            self.instances[n] = self.instances[n]._replace(retired=time)
            self.events.append(Event("gone", time, {7: n}))

    def on_pmus(self, frame):
        body = body_of(frame)
        self.pmus.update(enumerate(body[2], body[1]))

    def on_probes(self, frame):
        body = body_of(frame)
        for i, p in enumerate(body[2], body[1]):
            self.probes[i] = Probe(p[1], p[2], p.get(3), p[4], p.get(5, {}))

    def on_config(self, frame):
        for c in body_of(frame)[1]:
            value = [(k // 100, v) for k, v in c.items() if k >= 50]
            need(len(value) == (0 if c.get(5) else 1), "a config value or a reason")
            privacy, v = value[0] if value else (0, None)
            self.configs.append(Config(c[1], c[2], KINDS[c[3]], ranges(c.get(4, [])), c.get(5, 0), privacy, v))

    def on_event(self, frame):
        body = body_of(frame)
        for e in body.get(2, []):
            self.events.append(Event(EVENTS.get(e[1], "unknown"), body.get(1, 0) + e.get(2, 0), e.get(3, {})))

    def on_index(self, frame):
        """An index names every frame since the one before it; so it must agree with what was found."""
        body = body_of(frame)
        origin = self.frames[0].offset
        need(frame.meta[18] == frame.offset - origin, "offset of the index")
        at, length, since = body[1], 0, {f.offset - origin: f for f in self.frames}
        chunks = iter(zip(body[4], body[5], body[6]))
        start = step = 0
        for kind, difference in zip(body[2], body[3]):
            length += difference
            found = since.get(at)
            if found:
                need(found.type == kind & 63 and found.length == length, "index and frame")
                need(bool(kind & 64) == found.meta.get(4, False), "repeated in the index")
            if kind & 63 == 8:
                a, span, rows = next(chunks)
                before, start = start, start + step + a & MASK
                step = start - before if before else 0
                if found:
                    chunk = next(c for c in self.chunks if c.offset == found.offset)
                    need((chunk.ticks[0], chunk.ticks[-1] - chunk.ticks[0], len(chunk.ticks)) == (start, span, rows),
                         "times in the index")
                    need(bool(kind & 128) == chunk.key, "key in the index")
            at += length
        need(next(chunks, None) is None and len(body[2]) == len(body[3]), "lists of the index")

    def on_end(self, frame):
        need(frame.length == 64, "size of the end")
        need(frame.meta[18] == frame.offset - self.frames[0].offset, "offset of the end")
        if 19 in frame.meta:
            target = frame.offset - frame.meta[19]
            need(any(f.offset == target and f.type == 10 for f in self.frames), "end names an index")
        need(not any(frame.payload), "zeros of the end")
        self.ended = True

    # ---- chunks ----

    def on_chunk(self, frame):
        head = self.chunk_head(frame)
        if head is None:
            self.damage.append(Damage("dependent", frame.offset, frame.length))
            self.base = None
            return
        chunk, group_ids, blocks = head
        if chunk.key:
            self.last_rows = {}
        need(len(blocks) % 4 == 0, "blocks")
        at = taken = 0
        rows = len(chunk.ticks)
        for stored, raw, crc, count in zip(*[iter(blocks)] * 4):
            data = frame.payload[at:at + stored]
            at += stored
            need(len(data) == stored and crc32c(data) == crc, "block")
            if raw:
                data = zstd(data, raw)
            items = cbor_all(data)
            need(len(items) == 2 * count, "items of a block")
            for i, number in enumerate(group_ids[taken:taken + count]):
                group = self.groups[number]
                need(number not in self.retired_groups, "a group that has retired")
                bands = bands_of(self, group)
                matrix, statuses = items[2 * i:2 * i + 2]
                if chunk.codec == 1:
                    v = plain(matrix, bands, rows)
                else:
                    fresh = matrix[0] & 16
                    need(not (fresh and chunk.key), "a fresh group in a key chunk")
                    before, tick, growths = (None,) * 3 if chunk.key or fresh else self.last_rows[number]
                    v = unpack(bytes([matrix[0] & ~16]) + matrix[1:], bands, chunk.ticks, before, tick, growths)
                last = self.last_rows.get(number, ([0] * len(v),))[0]
                growths = [growth(c[-2] if rows > 1 else b, c[-1]) for b, c in zip(last, v)]
                self.last_rows[number] = [c[-1] for c in v], chunk.ticks[-1], growths
                chunk.groups.append((group, v, self.statuses(statuses, group, len(v), rows)))
            taken += count
        need(at == len(frame.payload) and taken == len(group_ids), "blocks and groups")
        self.base = chunk, group_ids, frame.crc
        self.chunks.append(chunk)

    def chunk_head(self, frame):
        m = frame.meta
        c = Chunk()
        c.offset, c.length, c.groups = frame.offset, frame.length, []
        c.key = 15 not in m
        c.codec, c.run, c.segment, rows = m.get(2, 0), m.get(5, 1), m.get(6, 0), m.get(7, 1)
        need(1 <= rows <= 128, "rows")
        tick = number = 0
        group_ids = None
        if c.key:
            c.step = m[8]
        else:
            if self.base is None or self.base[2] != m[15]:
                return None
            base, group_ids, _ = self.base
            need((base.run, base.segment) == (c.run, c.segment), "a dependent chunk across segments")
            c.step = base.step
            tick, number = base.ticks[-1] + c.step, base.numbers[-1] + 1
        c.ticks = self.sums(tick + m.get(9, 0), c.step, m.get(10), rows)
        c.numbers = self.sums(number + m.get(11, 0), 1, m.get(12), rows)
        c.flags = [0] * rows
        for row, flags in zip(*[iter(m.get(13, []))] * 2):
            c.flags[row] = flags
        mono, raw, boot, counter = m[14][:4]
        real = m.get(300, 0)
        if not c.key:
            b = base.clocks
            mono += c.ticks[0]
            raw = mono + (b.raw - b.monotonic) + raw if b.raw else 0
            boot = mono + (b.boottime - b.monotonic) + boot if b.boottime else 0
            real = mono + (b.realtime - b.monotonic) + real if 300 in m else 0
            counter += b.counter
        c.clocks = Clocks(*(x & MASK for x in (mono, raw, boot, counter, real)))
        if 16 in m:
            group_ids = ranges(m[16])
        return c, group_ids, m[17]

    @staticmethod
    def sums(first, step, differences, rows):
        need(differences is None or len(differences) == rows - 1, "ticks")
        out = [first & MASK]
        for i in range(rows - 1):
            out.append(out[-1] + step + (differences[i] if differences else 0) & MASK)
        return out

    @staticmethod
    def statuses(triples, group, columns, rows):
        """None, or one list a value column."""
        need(len(triples) % 3 == 0, "statuses")
        if not triples:
            return None
        flat = []
        for valid, missing, reason in zip(*[iter(triples)] * 3):
            need(missing and reason, "status")
            flat += [0] * valid + [reason] * missing
        times = 1 if group.flags & (LIST | SHARED_TIME) else len(group.instances)
        cells = (columns - times * (4 if group.flags & PERF_TIMES else 2)) * rows
        need(len(flat) <= cells, "statuses")
        flat += [0] * (cells - len(flat))
        return [flat[i:i + rows] for i in range(0, cells, rows)]

    # ---- values ----

    def typed(self, counter, v):
        if counter.type == "s64":
            return v - (1 << 64) if v >> 63 else v
        if counter.type == "f64":
            return struct.unpack("<d", struct.pack("<Q", v))[0]
        if counter.type in ("text", "bytes"):
            return self.strings.get(v)
        return v

    def snapshots(self):
        """(chunk, row number in it, values) for every snapshot."""
        for chunk in self.chunks:
            for row in range(len(chunk.ticks)):
                yield chunk, row, list(self.values(chunk, row))

    def values(self, chunk, row):
        for group, v, statuses in chunk.groups:
            n = len(group.instances)
            times = 1 if group.flags & (LIST | SHARED_TIME) else n
            perf = group.flags & PERF_TIMES
            head = times * (4 if perf else 2)
            for k in range(len(v) - head):
                counter = group.counters[k if group.flags & LIST else k // n]
                instance = group.instances[k if group.flags & LIST else k % n]
                t = 0 if times == 1 else k % n
                reason = statuses[k][row] if statuses else 0
                counter = self.counters[counter]
                yield Value(chunk.numbers[row], counter, self.instances[instance], v[t][row], v[times + t][row],
                            v[2 * times + t][row] if perf else None, v[3 * times + t][row] if perf else None,
                            None if reason else self.typed(counter, v[head + k][row]), reason)


def reason_name(reason):
    return REASONS.get(reason) or ("errno-%d" % (reason - 1000) if reason > 1000 else "reason-%d" % reason)


def as_json(value):
    out = {"is": "value", "counter": value.counter.name, "scope": value.instance.kind}
    if value.instance.number is not None:
        out["number"] = value.instance.number
    out["instance"] = value.instance.id
    if not value.reason:
        v = value.value
        out["value"] = v.hex() if isinstance(v, bytes) else v
    out.update(status=reason_name(value.reason), begin=value.begin, end=value.end)
    if value.enabled is not None:
        out.update(enabled=value.enabled, running=value.running)
    return out


def load(path):
    with open(path, "rb") as f:
        return Recording(f.read())


def main(argv):
    as_lines = argv[1:2] == ["--json"]
    if len(argv) != 2 + as_lines:
        sys.exit(__doc__)
    r = load(argv[-1])
    if as_lines:
        for chunk, row, values in r.snapshots():
            print(json.dumps({"is": "snapshot", "number": chunk.numbers[row], "tick": chunk.ticks[row]},
                             separators=(",", ":")))
            for v in values:
                print(json.dumps(as_json(v), separators=(",", ":"), ensure_ascii=False))
        return
    form = "%s: %s, %d frames, %d chunks (%d key), %d snapshots, %d counters, %d instances, %d groups, %d events, %s"
    print(form % (
        argv[-1], r.header.get(1), len(r.frames), len(r.chunks), sum(c.key for c in r.chunks),
        sum(len(c.ticks) for c in r.chunks), len(r.counters), len(r.instances), len(r.groups), len(r.events),
        "ended" if r.ended else "no end"))
    for d in r.damage:
        print("damage: %s at %d, %d bytes" % d)


if __name__ == "__main__":
    main(sys.argv)
