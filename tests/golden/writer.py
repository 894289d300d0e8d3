#!/usr/bin/python3
"""A writer of the format, by the words of format/SPEC.md, that chooses by chance among all that a writer may do: packed and
plain chunks, key and dependent ones, one row and many, groups that continue, pause and retire, missing values, every type,
repetitions with the dictionary, unknown keys and frames everywhere, long heads, with and without index and end.

    writer.py PMREP COUNT [FIRST]   pmrep and decode.py read what was written, in COUNT recordings from seed FIRST on
    writer.py --write SEED FILE     that recording
"""

import json
import math
import os
import random
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
try:
    import cbor2
    import decode
    import zstandard
    from encode import CHUNK, CONFIG, END, EVENT, HEADER, INDEX, INSTANCES, PMUS, PROBES, SCHEMA, START, TOPOLOGY, Recording
    from pack import Packer, signed
    from packed import LIST, MASK, PERF_TIMES, SHARED_TIME, bands_of, growth
except ImportError as e:
    print("skipped: %s" % e)
    sys.exit(77)

SECOND = 10**9
ODD = [None, True, -1, 1 << 63, -(1 << 64), 1.5, float("nan"), b"\0", "text", [None, cbor2.CBORTag(1, 0)], {"a": {"b": []}}, {-1: 1},
       cbor2.CBORTag(2, b"\xff" * 9), [[[[[1]]]]], cbor2.CBORSimpleValue(16), cbor2.undefined]
UNKNOWN = {"body": [k for k in range(61, 80)] + [150, 250, 350, 399, 400, 511],
           "attributes": [90, 99, 199, 299, 399, 400, 511], "meta": [61, 90, 199, 399, 400, 511]}


class Counter:
    """Of decode.bands_of: what it needs to know of one."""

    def __init__(self, rng, n):
        self.type = rng.choice(["u64"] * 4 + ["s64", "f64", "f64", "text", "bytes"])
        self.name = "c%d.%s" % (n, self.type)
        self.width = rng.choice([64, 64, 63, 48, 32, 32, 8, 1]) if self.type in ("u64", "s64") else 64
        self.unit = rng.choice(["1", "By", "s", "J", "parrots"])
        self.scale = rng.choice([None, [1, 1], [3, 7], "1e-9", "2.3283064365386962890625e-10", "+.5E+1", "1."])
        self.semantics = rng.randrange(6)
        if rng.random() < 0.3 and self.type == "u64":
            self.unit, self.scale, self.width = "ms", "1e-6", 64

    def body(self, rng, odd):
        c = {1: self.name, 3: rng.choice(["perf", "s", "stat"]), 4: self.unit, 7: self.semantics, 9: rng.randrange(6)}
        kind = decode.TYPES.index(self.type)
        c.update({6: kind} if kind or rng.random() < 0.5 else {})
        c.update({8: self.width} if self.width < 64 or rng.random() < 0.2 else {})
        c.update({5: self.scale} if self.scale else {})
        if rng.random() < 0.5:
            c[10] = odd({1: "help of it", 2: True, 3: "family", 4: "m%d" % rng.randrange(9)}, "attributes")
        if rng.random() < 0.3:
            c[2] = "shown as " + self.name
        return odd(c, "body")


class Group:
    def __init__(self, flags, counters, instances):
        self.flags, self.counters, self.instances = flags, counters, instances


class Writer(Recording):
    def __init__(self, seed):
        super().__init__(struct.pack(">Q", seed + 1))
        self.rng = random.Random(seed)
        self.odd_keys = self.rng.random() < 0.5
        self.shuffled = self.rng.random() < 0.3
        self.counters, self.instances, self.groups, self.strings = {}, {}, {}, {}
        self.numbers = {}  # the present number of (counter, instance)
        self.rows = {}     # by group: row before, its tick, growths
        self.last_instance = self.last_group = 0
        self.tick, self.number, self.base = START, self.rng.randrange(5), None
        self.written, self.events, self.places, self.times = [], 0, [], []
        self.since_key = 0

    # ---- maps and frames ----

    def odd(self, body, where):
        if self.odd_keys and self.rng.random() < 0.3:
            for key in self.rng.sample(UNKNOWN[where], 2):
                body[key] = self.rng.choice(ODD)
        if self.shuffled:
            items = list(body.items())
            self.rng.shuffle(items)
            return dict(items)
        return body

    def encoded(self, item, ascending=False):
        """Deterministic, or with heads longer than they need be and keys of maps in any order, which readers take too."""
        if not self.shuffled:
            return cbor2.dumps(item, canonical=True)
        if isinstance(item, dict):
            items = sorted(item.items()) if ascending else item.items()
            return self.head(5, len(item)) + b"".join(self.encoded(k) + self.encoded(v) for k, v in items)
        if isinstance(item, list):
            return self.head(4, len(item)) + b"".join(map(self.encoded, item))
        if isinstance(item, str):
            return self.head(3, len(item.encode())) + item.encode()
        if isinstance(item, bytes):
            return self.head(2, len(item)) + item
        if isinstance(item, int) and not isinstance(item, bool) and -1 << 64 <= item < 1 << 64:
            return self.head(0, item) if item >= 0 else self.head(1, -1 - item)
        return cbor2.dumps(item)

    def head(self, major, n):
        sizes = [s for s, most in ((0, 23), (1, 255), (2, 65535), (4, (1 << 32) - 1), (8, MASK)) if n <= most]
        size = self.rng.choice(sizes)
        return bytes([major << 5 | (n if not size else {1: 24, 2: 25, 4: 26, 8: 27}[size])]) + n.to_bytes(size, "big") if size \
            else bytes([major << 5 | n])

    def frame(self, kind, payload=b"", meta=None):
        at = len(self.data)
        meta = dict(meta or {})
        if payload:
            meta[1] = len(payload)
        head = decode.MAGIC + self.major + cbor2.dumps(kind) + cbor2.dumps(self.sequence)
        head += b"\x48" + self.id + cbor2.dumps(self.encoded(self.odd(meta, "meta") if kind != END else meta))
        checksum = lambda data: b"\x44" + decode.crc32c(data).to_bytes(4, "big")
        self.data += head + checksum(head) + cbor2.dumps(payload) + checksum(payload)
        self.sequence += 1
        self.places.append((at, len(self.data) - at, kind, kind == CHUNK and 15 not in meta, 4 in meta))
        if kind != END and self.rng.random() < 0.02:
            self.frame(self.rng.choice([32, 47, 56, 63, 64, 1000, (1 << 32) - 1]), b"nobody knows", {2: 9})

    def body(self, kind, body, repeated=False):
        data = self.encoded(self.odd(body, "body"), ascending=True)
        meta = {4: True} if repeated else {}
        how = self.rng.choice([0, 0, 1, 2])
        if how:
            known = {"dict_data": decode.dictionary()} if how == 2 else {}
            meta.update({2: how, 3: len(data)})
            data = zstandard.ZstdCompressor(level=self.rng.choice([1, 19]), **known).compress(data)
        self.frame(kind, data, meta)

    # ---- definitions ----

    def start(self):
        header = {1: "writer", 13: SECOND, 28: True, 5: "x86_64", 21: ["s"], 100: "host", 203: [["a", "b"]]}
        self.body(HEADER, self.odd(header, "attributes"))
        self.body(TOPOLOGY, {1: START, 2: [0, 1, 4], 3: [0, 0, 1], 6: [0, 1, -1], 13: [0, 0, 0], 15: [1, 1, 0], 16: ["kind"]})
        if self.rng.random() < 0.5:
            self.body(PMUS, {1: 0, 2: [self.odd({1: "cpu", 2: 4, 7: [["event", "config:0-7"]]}, "attributes")]})
            self.body(PROBES, {1: 0, 2: [self.odd({1: "s", 2: "what", 4: 3, 3: "do this"}, "body"), {1: "s", 2: "more", 4: 2, 5: {}}]})
            self.body(CONFIG, {1: [self.odd({1: "msr.0x606", 2: START, 3: 1, 4: [0, 1], 50: 0xA0E03}, "meta"),
                                   {1: "none", 2: START, 3: 0, 5: 3}, {1: "list", 2: START, 3: 7, 4: [0, 2, 4, 1], 150: ["a", 1, True]}]})
        self.add_counters(self.rng.randrange(1, 12))
        self.add_instances(self.rng.randrange(1, 12))
        for _ in range(self.rng.randrange(1, 5)):
            self.add_group()

    def runs(self, ids, step=False):
        """[first, count ...] or [first, count, step ...]: as they come, so that there are runs of one, too."""
        out = []
        while ids:
            by, n = (ids[1] - ids[0] if step and len(ids) > 1 else 1), 1
            if not step or by > 0:
                while n < len(ids) and ids[n] == ids[0] + n * by and self.rng.random() < 0.95:
                    n += 1
            out += [ids[0], n] + ([by if by > 0 and n > 1 else self.rng.choice([0, 1])] if step else [])
            ids = ids[n:]
        return out

    def add_counters(self, n):
        new = list(range(len(self.counters) + 1, len(self.counters) + 1 + n))
        for i in new:
            self.counters[i] = Counter(self.rng, i)
        first = len(self.strings) + 1
        texts = [self.rng.choice(["", "word", "é" * 300, b"", b"\0\xff", "long" * 9000]) for _ in range(self.rng.randrange(1, 4))]
        self.strings.update(enumerate(texts, first))
        self.body(SCHEMA, {1: new[0], 2: [self.counters[i].body(self.rng, self.odd) for i in new], 5: first, 6: texts})

    def instance(self, kind):
        i = {1: decode.KINDS.index(kind)}
        if kind in ("cpu", "package", "core"):
            i.update({2: self.rng.randrange(9), 3: self.rng.choice([0, 1, 4])})
        elif kind != "system":
            i[6] = self.odd({1: "thing", 200: 77, 202: "comm"} if kind == "task" else {1: "thing"}, "attributes")
        return self.odd(i, "body")

    def add_instances(self, n):
        """Ids ascend, but need not follow each other: some have come and gone before."""
        new, bodies = [], []
        gaps = self.rng.random() < 0.3
        for _ in range(n):
            self.last_instance += self.rng.choice([1, 1, 5, 3_000_000]) if gaps else 1
            new.append(self.last_instance)
            self.instances[new[-1]] = self.rng.choice(["system", "cpu", "cpu", "task", "task", "device", "package", "core"])
            bodies.append(self.instance(self.instances[new[-1]]))
        for b in bodies:
            if self.tick > START and self.rng.random() < 0.5:
                b[4] = self.tick - START
        listed = new[0] if new == list(range(new[0], new[0] + n)) and self.rng.random() < 0.5 else self.runs(new)
        self.body(INSTANCES, {1: START, 2: listed, 3: bodies})
        return new

    def new_group(self):
        gap = self.rng.random() < 0.1
        self.last_group += self.rng.choice([1, 2_000_000]) if gap else 1
        return self.last_group

    def add_group(self):
        rng = self.rng
        flags = rng.choice([0, 0, SHARED_TIME, LIST, PERF_TIMES, PERF_TIMES | SHARED_TIME, LIST | PERF_TIMES, LIST | SHARED_TIME])
        counters = rng.sample(sorted(self.counters), rng.randrange(1, len(self.counters) + 1))
        instances = rng.sample(sorted(self.instances), rng.randrange(1, len(self.instances) + 1))
        if rng.random() < 0.7:
            counters, instances = sorted(counters), sorted(instances)
        if flags & LIST:
            pairs = [(c, i) for c in counters for i in instances]
            counters, instances = zip(*sorted(rng.sample(pairs, rng.randrange(1, min(len(pairs), 40) + 1))))
        n = self.new_group()
        self.groups[n] = Group(flags, list(counters), list(instances))
        body = {1: "s", 3: self.runs(list(counters), True), 4: self.runs(list(instances), True)}
        body.update({2: flags} if flags or rng.random() < 0.2 else {})
        self.body(SCHEMA, {3: rng.choice([n, [n, 1]]), 4: [self.odd(body, "body")]})

    def continue_group(self, old_id):
        rng, old, n = self.rng, self.groups[old_id], self.new_group()
        kept = [k for k in range(len(old.instances)) if rng.random() < 0.8]
        added = [i for i in sorted(self.instances) if i not in old.instances and rng.random() < 0.5]
        if not kept and not added:
            kept = [0]
        left, at = [], 0
        while at < len(old.instances):
            stay = next((k for k in range(at, len(old.instances)) if k not in kept), len(old.instances)) - at
            leave = next((k for k in range(at + stay, len(old.instances)) if k in kept), len(old.instances)) - at - stay
            left, at = left + [stay, leave], at + stay + leave
        if left[-1] == 0:
            left = left[:-2]
        self.groups[n] = Group(old.flags, old.counters, [old.instances[k] for k in kept] + added)
        body = {5: old_id}
        body.update({1: "renamed"} if rng.random() < 0.2 else {})
        body.update({4: self.runs(added, True)} if added else {})
        body.update({6: left} if left or rng.random() < 0.3 else {})
        self.body(SCHEMA, {3: n, 4: [self.odd(body, "body")]})
        if old_id in self.rows:
            v, tick, growths = self.rows[old_id]
            self.rows[n] = self.taken(self.groups[n], old, kept, v, tick), tick, self.taken(self.groups[n], old, kept, growths, 0)
        self.forget(old_id)

    @staticmethod
    def taken(group, old, kept, v, tick):
        kinds, n, m = (4 if old.flags & PERF_TIMES else 2), len(old.instances), len(group.instances)
        if old.flags & SHARED_TIME:
            out, v = v[:kinds], v[kinds:]
        else:
            out = []
            for k in range(kinds):
                out += [v[k * n + i] for i in kept] + [tick if k < 2 else 0] * (m - len(kept))
            v = v[kinds * n:]
        for k in range(len(group.counters)):
            out += [v[k * n + i] for i in kept] + [0] * (m - len(kept))
        return out

    def forget(self, n):
        self.groups.pop(n)
        self.rows.pop(n, None)

    def come_and_go(self):
        rng = self.rng
        if rng.random() < 0.3:
            self.add_instances(rng.randrange(1, 6))
        if rng.random() < 0.1:
            self.add_counters(2)
        if rng.random() < 0.2:
            self.add_group()
        for n in [n for n in self.groups if not self.groups[n].flags & LIST and rng.random() < 0.3]:
            self.continue_group(n)
        gone = [n for n in self.groups if len(self.groups) > 1 and rng.random() < 0.1][:1]
        if gone:
            self.body(SCHEMA, {7: gone + [1]})
            self.forget(gone[0])
        used = {i for g in self.groups.values() for i in g.instances}
        leaving, entries, last = [i for i in self.instances if i not in used and rng.random() < 0.5], [], [0, START]
        rng.shuffle(leaving)
        for i in leaving[:-1] if len(leaving) == len(self.instances) else leaving:
            when = self.tick - rng.randrange(5)
            entries += [i - last[0], when - last[1]]
            last = [i, when]
            self.instances.pop(i)
            self.events += 1
        if entries:
            self.body(INSTANCES, {1: START, 4: entries})

    # ---- chunks ----

    def next_number(self, counter, key):
        rng = self.rng
        old = self.numbers.get(key, 0)
        if counter.type in ("text", "bytes"):
            v = rng.choice([i for i, s in self.strings.items()])
        elif counter.type == "f64":
            v = struct.unpack("<Q", struct.pack("<d", rng.choice([0.25, -0.0, 36.6, 1e300, float("inf"), rng.random(), 3.0, 5e-324])))[0]
        else:
            v = old + rng.choice([0, 0, 0, 1, 1000, 1000, rng.getrandbits(40), -3])
            v = rng.getrandbits(64) if rng.random() < 0.02 else v & ((1 << counter.width) - 1)
            if counter.type == "s64":
                v = signed(v, counter.width) & MASK
        self.numbers[key] = v
        return v

    def columns(self, group, ticks):
        """Times, values and reasons (of values, by column)."""
        times = 1 if group.flags & (LIST | SHARED_TIME) else len(group.instances)
        late = self.rng.choice([0, 7])
        v = [[t + 100 + k * late + self.rng.randrange(3) for t in ticks] for k in range(times)]
        v += [[t + 300 + self.rng.randrange(3) for t in v[k]] for k in range(times)]
        if group.flags & PERF_TIMES:
            v += [[t - START for t in v[k]] for k in range(times)]
            v += [[t // 2 for t in v[2 * times + k]] for k in range(times)]
        pairs = list(zip(group.counters, group.instances)) if group.flags & LIST else \
            [(c, i) for c in group.counters for i in group.instances]
        head = len(v)
        for c, i in pairs:
            v.append([self.next_number(self.counters[c], (c, i)) for _ in ticks])
        reasons = [[0] * len(ticks) for _ in v[head:]]
        if self.rng.random() < 0.5:
            reasons = [[self.rng.choice([3, 4, 500, 1005, 1, 12]) if self.rng.random() < 0.2 else 0 for _ in ticks] for _ in v[head:]]
        return pairs, head, times, v, reasons

    @staticmethod
    def hold(v, reasons, head, before):
        """What stands in the place of missing values."""
        for k, (column, why) in enumerate(zip(v[head:], reasons)):
            last = before[head + k] if before else next((x for x, r in zip(column, why) if not r), 0)
            for r, reason in enumerate(why):
                last = column[r] = last if reason else column[r]

    def statuses(self, reasons):
        flat, out, at = [r for column in reasons for r in column], [], 0
        while any(flat[at:]):
            valid = next(i for i, r in enumerate(flat[at:]) if r)
            n = 1
            while at + valid + n < len(flat) and flat[at + valid + n] == flat[at + valid]:
                n += 1
            out += [valid, n, flat[at + valid]]
            at += valid + n
        return out

    def chunk(self):
        rng = self.rng
        rows = rng.choice([1, 1, 1, 2, 15, 16, 17, 40])
        codec = rng.choice([0, 0, 0, 1])
        key = not self.base or codec == 1 or self.since_key >= 15 or rng.random() < 0.3
        step = rng.choice([SECOND, 10**7]) if key else self.base["step"]
        ticks, numbers = [], []
        for _ in range(rows):
            self.tick += step + (rng.randrange(1000) if rng.random() < 0.2 else 0)
            self.number += 1 + (rng.randrange(9) if rng.random() < 0.1 else 0)
            ticks.append(self.tick)
            numbers.append(self.number)
        if key:
            self.rows = {}
        groups = [n for n in self.groups if rng.random() < 0.8]
        rng.shuffle(groups)
        parts = [self.part(n, ticks, codec, key) for n in groups]
        blocks, payload = [], b""
        while parts or (rng.random() < 0.05 and len(blocks) < 12):
            n = rng.randrange(0 if rng.random() < 0.1 else 1, len(parts) + 1) if parts else 0
            data = b"".join(parts[:n])
            parts = parts[n:]
            packed = zstandard.ZstdCompressor().compress(data) if data and rng.random() < 0.5 else data
            blocks += [len(packed), len(data) if packed is not data else 0, decode.crc32c(packed), n]
            payload += packed
        meta = self.meta(key, rows, ticks, numbers, step, codec)
        if key or groups != self.base["groups"]:
            meta[16] = self.runs(groups)
        meta[17] = blocks
        self.frame(CHUNK, payload, meta)
        crc = self.crc_of(next(p for p in reversed(self.places) if p[2] == CHUNK))
        self.base.update(crc=crc, groups=groups)
        self.since_key = 0 if key else self.since_key + 1

    def crc_of(self, place):
        return decode.read_frame(self.data[place[0]:place[0] + place[1]], 0, strict=False).crc

    def meta(self, key, rows, ticks, numbers, step, codec):
        rng = self.rng
        meta = {7: rows} if rows > 1 or rng.random() < 0.2 else {}
        if codec:
            meta[2] = codec
        tick, number = (0, 0) if key else (self.base["tick"] + step, self.base["number"] + 1)
        meta.update({9: signed(ticks[0] - tick)} if ticks[0] != tick else {})
        meta.update({11: signed(numbers[0] - number)} if numbers[0] != number else {})
        later = [b - a - step for a, b in zip(ticks, ticks[1:])]
        meta.update({10: later} if any(later) or rng.random() < 0.1 else {})
        later = [b - a - 1 for a, b in zip(numbers, numbers[1:])]
        meta.update({12: later} if any(later) or rng.random() < 0.1 else {})
        if rng.random() < 0.1:
            meta[13] = [rows - 1, 1]
        now = [ticks[0] + rng.randrange(50), 0, 0, rng.getrandbits(50)]
        if key:
            meta[8] = step
            now[1], now[2] = rng.choice([0, now[0] + 11]), rng.choice([0, now[0] + 1000])
            wall = now[0] + 1_700_000_000 * SECOND if rng.random() < 0.8 else 0
            meta[14] = now
            meta.update({300: wall} if wall else {})
        else:
            old = self.base["clocks"]
            now[1:3] = [now[0] + 12 if old[1] else 0, now[0] + 1001 if old[2] else 0]
            lead = lambda k: (now[k] - now[0]) - (old[k] - old[0]) if now[k] else 0
            meta[14] = [now[0] - ticks[0], lead(1), lead(2), now[3] - old[3]]
            wall = now[0] + 1_700_000_001 * SECOND if self.base["wall"] else 0
            meta.update({300: (wall - now[0]) - (self.base["wall"] - old[0])} if wall else {})
            meta[15] = self.base["crc"]
        self.base = {"step": step, "tick": ticks[-1], "number": numbers[-1], "clocks": now, "wall": wall}, self.base
        self.base = {**self.base[0], "groups": self.base[1] and self.base[1]["groups"]}
        self.times.append((ticks[0], ticks[-1], rows))
        return meta

    def part(self, n, ticks, codec, key):
        """The items of a group in a block; what they say is remembered."""
        rng, group = self.rng, self.groups[n]
        pairs, head, times, v, reasons = self.columns(group, ticks)
        known = self.rows.get(n)
        fresh = not key and (not known or rng.random() < 0.1)
        before, before_tick, growths = known if known and not fresh else (None, None, None)
        self.hold(v, reasons, head, before)
        wide = [column[:] for column in v]
        bands = bands_of(self, group)
        if codec:
            arrays, at = [], 0
            for b in bands:
                flat = [x for column in v[at:at + b.columns] for x in column]
                arrays.append(cbor2.CBORTag(b.tag, struct.pack("<%dQ" % len(flat), *flat)))
                at += b.columns
            matrix = arrays
        else:
            packed = Packer(rng, bands, ticks, v, before and before[:], before_tick, growths and growths[:]).pack()
            matrix = bytes([packed[0] | (16 if fresh else 0)]) + packed[1:]
        last = known[0] if known else [0] * len(wide)
        rows = len(ticks)
        self.rows[n] = ([c[-1] for c in wide], ticks[-1], [growth(c[-2] if rows > 1 else b, c[-1]) for b, c in zip(last, wide)])
        for row in range(rows):
            for k, (c, i) in enumerate(pairs):
                at = 0 if times == 1 else group.instances.index(i)
                one = {"counter": self.counters[c].name, "instance": i, "begin": wide[at][row], "end": wide[times + at][row],
                       "status": decode.reason_name(reasons[k][row])}
                if group.flags & PERF_TIMES:
                    one.update(enabled=wide[2 * times + at][row], running=wide[3 * times + at][row])
                if not reasons[k][row]:
                    one["value"] = self.typed(self.counters[c], wide[head + k][row])
                self.written.append((ticks[row], len(self.written), one))
        return cbor2.dumps(matrix) + self.encoded(self.statuses(reasons))

    def typed(self, counter, v):
        if counter.type == "s64":
            return signed(v)
        if counter.type == "f64":
            return struct.unpack("<d", struct.pack("<Q", v))[0]
        if counter.type in ("text", "bytes"):
            return self.strings[v].hex() if isinstance(self.strings[v], bytes) else self.strings[v]
        return v

    # ---- the rest ----

    def some_events(self):
        n = self.rng.randrange(3)
        events = [{1: self.rng.choice([1, 5, 15, 77, 200]), 2: k, 3: {200: "mark", 15: "note"}} for k in range(n)]
        self.body(EVENT, {1: self.tick, 2: [self.odd(e, "body") for e in events]})
        self.events += n

    def finish(self):
        if self.rng.random() < 0.7:
            self.index()
        if self.rng.random() < 0.7:
            self.end()

    def index(self):
        lengths = [p[1] for p in self.places]
        differences = [b - a for a, b in zip([0] + lengths, lengths)]
        firsts, start, step = [], 0, 0
        for first, _, _ in self.times:
            firsts.append(signed(first - start - step))
            step, start = (first - start if start else 0), first
        body = {1: 0, 2: bytes((min(p[2], 63)) | 128 * p[3] | 64 * p[4] for p in self.places),
                3: differences, 4: firsts, 5: [b - a for a, b, _ in self.times], 6: [r for _, _, r in self.times]}
        self.indexed = len(self.data)
        self.frame(INDEX, self.encoded(body, ascending=True), {18: len(self.data)})

    indexed = None

    def end(self):
        before, places = (self.data, self.sequence), len(self.places)
        meta = {18: len(self.data)}
        if self.indexed is not None:
            meta[19] = len(self.data) - self.indexed
        self.shuffled = False
        for pad in range(64):
            self.data, self.sequence = before
            self.frame(END, b"\0" * pad, meta)
            del self.places[places + 1:]
            if len(self.data) - len(before[0]) == 64:
                return
        raise AssertionError("no end of 64 bytes")


def write(seed):
    w = Writer(seed)
    w.start()
    for _ in range(w.rng.randrange(1, 25)):
        w.chunk()
        if w.rng.random() < 0.5:
            w.come_and_go()
        if w.rng.random() < 0.2:
            w.some_events()
    w.finish()
    w.written = [one for _, _, one in sorted(w.written, key=lambda x: x[:2])]
    return w


def same(a, b):
    """JSON has no infinities and no NaN."""
    return a == b or isinstance(a, float) and not math.isfinite(a) and (b is None or not math.isfinite(b))


def compare(who, seed, w, got):
    assert len(got) == len(w.written), "seed %d: %s reads %d values of %d" % (seed, who, len(got), len(w.written))
    for one, read in zip(w.written, got):
        for key, value in one.items():
            assert same(value, read.get(key)), "seed %d: %s reads %s, written was %s" % (seed, who, read, one)
        assert "value" in one or "value" not in read, (seed, one, read)


def main(pmrep, count, first="1"):
    values = 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "written.pmr")
        for seed in range(int(first), int(first) + int(count)):
            w = write(seed)
            w.save(path)
            recording = decode.Recording(w.data, strict=False)
            assert not recording.damage, (seed, recording.damage)
            compare("decode.py", seed, w, [decode.as_json(v) for _, _, of_row in recording.snapshots() for v in of_row])
            check = subprocess.run([pmrep, "check", "--format=json", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            said = json.loads(check.stdout)
            damage = [d for d in said["damage"] if recording.ended or "no end frame" not in d["text"]]
            assert said["good"] == recording.ended and not damage, (seed, damage, check.stderr)
            out = subprocess.run([pmrep, "dump", "--format=json", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            assert out.returncode == (0 if recording.ended else 3), (seed, out.stderr)
            dump = [json.loads(line) for line in out.stdout.splitlines()]
            compare("pmrep", seed, w, [x for x in dump if x["is"] == "value"])
            events = sum("event" in x for x in dump)
            assert events == w.events == len(recording.events), (seed, w.events, events, len(recording.events))
            values += len(w.written)
    print("%s recordings, %d values" % (count, values))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--write"] and len(sys.argv) == 4:
        write(int(sys.argv[2])).save(sys.argv[3])
    elif len(sys.argv) in (3, 4):
        main(*sys.argv[1:])
    else:
        sys.exit(__doc__)
