#!/usr/bin/python3
"""Reads recordings by the words of format/SPEC.md, with a CBOR library that is not ours.

    decode.py FILE          what the file holds, in a few lines
    decode.py --json FILE   every raw value, one object a line, as `pmrep dump --format=json` has them

Nothing here is shared with the programs: the checksum, the packed columns and the sums are written down a second
time. It is slow and strict. Whatever the specification does not allow raises Malformed, or becomes a Damage if the
bytes of a frame are broken.
"""

import collections
import json
import re
import struct
import sys

sys.dont_write_bytecode = True
from packed import LIST, MASK, PERF_TIMES, SHARED_TIME, Malformed, bands_of, need, plain, growth, unpack
from shell import MAGIC, Damage, Frame, cbor_all, cbor_one, crc32c, dictionary, frames, read_frame, zstandard, zstd

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
    need(len(pairs) % 2 == 0 and all(pairs[1::2]) and sum(pairs[1::2]) <= 1 << 22, "ranges")
    return [first + i for first, count in zip(*[iter(pairs)] * 2) for i in range(count)]


def listed(first, n):
    """Ids of a list of `n`: its first, or [first, count ...], ascending."""
    out = ranges(first) if isinstance(first, list) else list(range(first, first + n))
    need(len(out) == n and all(a < b for a, b in zip([0] + out, out)), "ids of a list")
    return out


def moment(ns):
    need(0 <= ns < 1 << 63, "a time")
    return ns


def ordinary(v):
    """Whether values of attributes may be so."""
    if isinstance(v, list):
        return all(map(ordinary, v))
    if isinstance(v, dict):
        return all(isinstance(k, int) and 0 <= k < 512 and ordinary(x) for k, x in v.items())
    return isinstance(v, (bool, int, float, str, bytes))


def good_scale(scale):
    if isinstance(scale, list):
        return len(scale) == 2 and min(scale) > 0
    return bool(re.fullmatch(r"\+?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?", scale)) and 0 < float(scale) < float("inf")


def body_of(frame, strict=True):
    payload = frame.payload
    if frame.meta.get(2, 0):
        payload = zstd(payload, frame.meta[3], frame.meta[2] == 2)
    body = cbor_one(payload, strict)
    need(isinstance(body, dict) and list(body) == sorted(body), "keys of a body ascend")
    return body


Clocks = collections.namedtuple("Clocks", "monotonic raw boottime counter realtime")


class Chunk:
    """key, run, segment, ticks, numbers, flags, clocks; groups: [(group, columns, statuses)]; statuses: None, or one
    list a value column; lost: ids of groups that were damaged in the original."""


# counter, instance: as defined; value: None if missing; reason: 0 or why
Value = collections.namedtuple("Value", "row counter instance begin end enabled running value reason")


class Recording:
    """The first recording of a file: all that can be read of it. strict: its encoding has to be deterministic."""

    def __init__(self, data, strict=True):
        self.strict = strict
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
        for frame in frames(data, strict):
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
            try:
                if known:
                    known(frame)
            except (AttributeError, IndexError, KeyError, StopIteration, TypeError, ValueError) as e:
                raise Malformed("%s frame: %r" % (FRAMES[frame.type], e)) from e
        self.data = data

    def on_header(self, frame):
        self.header = body_of(frame, self.strict)

    def on_topology(self, frame):
        body = body_of(frame, self.strict)
        names = [None, None, "cpu", "package", "die", "cluster", "core", "node", "thread", "l1d", "l1i", "l2", "l3",
                 "type", "capacity", "online"]
        self.topology_time = body.get(1, 0)
        columns = {names[k]: v for k, v in body.items() if 2 <= k <= 15}
        columns = columns or {"cpu": []}
        need(columns["cpu"] == sorted(set(columns["cpu"])) and min(columns["cpu"], default=0) >= 0, "CPUs")
        need(all(len(v) == len(columns["cpu"]) for v in columns.values()), "topology")
        self.topology = [{k: v[i] for k, v in columns.items() if v[i] != -1} for i in range(len(columns["cpu"]))]
        self.type_names = body.get(16, [])
        need(all(isinstance(x, int) for v in columns.values() for x in v) and all(x < 1 << 32 for x in columns["cpu"]), "numbers")
        need(all(isinstance(x, str) for x in self.type_names), "names")

    def on_schema(self, frame):
        body = body_of(frame, self.strict)
        self.need_lists(body, 2, 4, 6, 7)
        for first, known in ((1, self.counters), (5, self.strings)):
            need(first not in body or 1 <= body[first] <= len(known) + 1, "a list behind a gap")
        for i, c in enumerate(body.get(2, [])):
            n = body[1] + i
            scale = c.get(5, [1, 1])
            self.need_texts(c, 1, 3, 4)
            need(0 < len(c[1].encode()) <= 512 and not any(o.name == c[1] for k, o in self.counters.items() if k != n), "a name")
            need(good_scale(scale) and 1 <= c.get(8, 64) <= 64 and isinstance(c.get(10, {}), dict), "a counter")
            counter = Counter(n, c[1], c.get(2, c[1]), c[3], c[4], scale, TYPES[c.get(6, 0)], SEMANTICS[c.get(7, 0)],
                              c.get(8, 64) if c.get(6, 0) < 2 else 64, AGGREGATIONS[c.get(9, 0)], c.get(10, {}))
            need(self.counters.setdefault(n, counter) == counter, "a counter that changes")
        for i, s in enumerate(body.get(6, [])):
            need(isinstance(s, (str, bytes)), "a string")
            need(self.strings.setdefault(body[5] + i, s) == s, "a string that changes")
        for n, g in zip(listed(body[3], len(body[4])) if 4 in body else [], body.get(4, [])):
            old = None
            if 5 in g:
                old = self.groups[g[5]]
                need(g[5] < n and not old.flags & LIST and 2 not in g and 3 not in g, "a group that continues")
                kept, at = [], 0
                need(len(g.get(6, [])) % 2 == 0, "pairs")
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
            pairs = list(zip(group.counters, group.instances))
            for each in [pairs] if group.flags & LIST else [group.counters, group.instances]:
                need(each and len(set(each)) == len(each), "each once")
            need(not group.flags & LIST or len(group.counters) == len(group.instances), "pairs of a list")
            need(all(k in self.counters for k in group.counters), "a group of unknown counters")
            need(all(k in self.instances for k in group.instances), "a group of unknown instances")
            need(self.groups.setdefault(n, group) == group, "a group that changes")
            if old and old.id in self.last_rows:
                self.last_rows[n] = self.taken_over(group, old, kept)
            if old:
                self.retired_groups.add(old.id)
                self.last_rows.pop(old.id, None)
        retired = body.get(7, [])
        need(len(retired) % 2 == 0, "ranges")
        for first, count in zip(*[iter(retired)] * 2):
            need(first >= 0 and count >= 0, "a range")
            for n in [n for n in self.groups if first <= n < first + count]:
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
        body = body_of(frame, self.strict)
        base = time = moment(body.get(1, 0))
        for n, x in zip(listed(body[2], len(body[3])) if 3 in body else [], body.get(3, [])):
            need(all(x.get(k, 0) >= 0 for k in (2, 3)) and isinstance(x.get(6, {}), dict), "an instance")
            one = Instance(n, KINDS[x[1]], x.get(2), x.get(3), moment(base + x[4]) if 4 in x else 0,
                           moment(base + x[5]) if 5 in x else 0, x.get(6, {}))
            old = self.instances.get(n, one)
            need(old._replace(retired=0) == one._replace(retired=0), "an instance that changes")
            self.instances[n] = one
            if 5 in x and not frame.meta.get(4):
                self.events.append(Event("gone", base + x[5], {7: n}))
        n = 0
        need(len(body.get(4, [])) % 2 == 0, "pairs")
        for step, later in zip(*[iter(body.get(4, []))] * 2):
            n, time = n + step, moment(time + later)
            need(n > 0, "an id")
            if n not in self.instances or self.instances[n].retired:
                continue
            self.instances[n] = self.instances[n]._replace(retired=time)
            self.events.append(Event("gone", time, {7: n}))

    def on_pmus(self, frame):
        body = body_of(frame, self.strict)
        self.need_lists(body, 2)
        need(all(isinstance(x, dict) for x in body[2]), "PMUs")
        self.pmus.update(enumerate(body[2], body[1]))

    def on_probes(self, frame):
        body = body_of(frame, self.strict)
        for i, p in enumerate(body[2], body[1]):
            self.need_texts(p, 1, 2)
            need(0 <= p[4] < 1 << 16, "a reason")
            self.probes[i] = Probe(p[1], p[2], p.get(3), p[4], p.get(5, {}))

    def on_config(self, frame):
        body = body_of(frame, self.strict)
        self.need_lists(body, 1)
        for c in body[1]:
            value = [(k // 100, c[k]) for k in (50, 150, 250, 350) if k in c]
            self.need_texts(c, 1)
            moment(c[2])
            numbers = ranges(c.get(4, []))
            need(numbers == sorted(set(numbers)) and max(numbers, default=0) < 65536, "numbers")
            need(len(value) == (0 if c.get(5) else 1), "a config value or a reason")
            need(all(ordinary(v) for _, v in value), "a config value")
            privacy, v = value[0] if value else (0, None)
            self.configs.append(Config(c[1], c[2], KINDS[c[3]], ranges(c.get(4, [])), c.get(5, 0), privacy, v))

    def on_event(self, frame):
        body = body_of(frame, self.strict)
        self.need_lists(body, 2)
        for e in body.get(2, []):
            need(0 < e[1] < 1 << 31 and isinstance(e.get(3, {}), dict), "an event")
            self.events.append(Event(EVENTS.get(e[1], "unknown"), moment(body.get(1, 0) + e.get(2, 0)), e.get(3, {})))

    def on_index(self, frame):
        """An index names every frame since the one before it; so it must agree with what was found."""
        body = body_of(frame, self.strict)
        origin = self.frames[0].offset
        need(frame.meta[18] == frame.offset - origin, "offset of the index")
        at, length, since = body[1], 0, {f.offset - origin: f for f in self.frames}
        chunks = iter(zip(body[4], body[5], body[6]))
        start = step = 0
        for kind, difference in zip(body[2], body[3]):
            length += difference
            found = since.get(at)
            if found:
                need(min(found.type, 63) == kind & 63 and found.length == length, "index and frame")
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

    @staticmethod
    def need_lists(body, *keys):
        need(all(isinstance(body.get(k, []), list) for k in keys), "lists")

    @staticmethod
    def need_texts(item, *keys):
        for k in keys:
            need(isinstance(item[k], str) and "\0" not in item[k], "a text")

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
        need(len(blocks) % 5 == 0 and len(set(group_ids)) == len(group_ids), "blocks")
        need(chunk.key or not chunk.codec, "a plain chunk that depends")
        at = taken = 0
        rows = len(chunk.ticks)
        for stored, n_bits, raw, crc, count in zip(*[iter(blocks)] * 5):
            data = frame.payload[at:at + stored]
            at += stored
            need(len(data) == stored and crc32c(data) == crc and n_bits <= stored, "block")
            data, bits = data[:stored - n_bits], data[stored - n_bits:]
            if raw:
                data = zstd(data, raw)
            items = iter(cbor_all(data, self.strict))
            for number in group_ids[taken:taken + count]:
                group = self.groups[number]
                need(number not in self.retired_groups, "a group that has retired")
                bands = bands_of(self, group)
                size = next(items) if chunk.codec == 0 else 0
                matrix, statuses = next(items), next(items)
                need(0 <= size <= len(bits), "bits of a group")
                if chunk.codec == 1:
                    v = plain(matrix, bands, rows)
                else:
                    before, tick, growths = (None,) * 3 if chunk.key or matrix[0] & 1 else self.last_rows[number]
                    v = unpack(matrix, bits[:size], bands, chunk.ticks, before, tick, growths)
                bits = bits[size:]
                last = self.last_rows.get(number, ([0] * len(v),))[0]
                growths = [growth(c[-2] if rows > 1 else b, c[-1]) for b, c in zip(last, v)]
                self.last_rows[number] = [c[-1] for c in v], chunk.ticks[-1], growths
                chunk.groups.append((group, v, self.statuses(statuses, group, len(v), rows)))
            need(next(items, None) is None and not bits, "items of a block")
            taken += count
        need(at == len(frame.payload) and taken == len(group_ids), "blocks and groups")
        chunk.lost = ranges(frame.meta.get(20, []))
        need(len(set(group_ids + chunk.lost)) == len(group_ids) + len(chunk.lost), "lost groups")
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
            c.step = m.get(8, base.step)
            tick, number = base.ticks[-1] + c.step, base.numbers[-1] + 1
        c.ticks = self.sums(tick + m.get(9, 0), c.step, m.get(10), rows)
        c.numbers = self.sums(number + m.get(11, 0), 1, m.get(12), rows)
        c.flags = [0] * rows
        marked = m.get(13, [])[::2]
        need(len(m.get(13, [])) % 2 == 0 and marked == sorted(set(marked)) and all(k < rows for k in marked), "flags")
        for row, flags in zip(*[iter(m.get(13, []))] * 2):
            need(0 <= flags < 256, "flags")
            c.flags[row] = flags
        mono, raw, boot, counter = m[14][:4]
        real = m.get(300, 0)
        if not c.key:
            b = base.clocks
            need((b.raw or not raw) and (b.boottime or not boot) and bool(b.realtime) == (300 in m), "clocks that begin or end")
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
            need(missing and 0 < reason < 1 << 16, "status")
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
                if not reason and counter.type in ("text", "bytes") and v[head + k][row] not in self.strings:
                    reason = 8
                yield Value(chunk.numbers[row], counter, self.instances[instance], v[t][row], v[times + t][row],
                            v[2 * times + t][row] if perf else None, v[3 * times + t][row] if perf else None,
                            None if reason else self.typed(counter, v[head + k][row]), reason)


def reason_name(reason):
    return REASONS.get(reason) or ("errno-%d" % (reason - 1000) if 1000 < reason < 2000 else "reason-%d" % reason)


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
