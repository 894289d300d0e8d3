"""A reader of recordings, written from format/SPEC.md alone. It keeps everything, and lists as damage whatever SPEC.md refuses."""

import math
import re

from codec import (M64, Bad, Band, Map, Row, Simple, Tag, crc32c, decode, decompress, double, encode, head, is_int, known, need, read_head,
                   read_map, row_after, signed, unpack)

MAGIC = bytes.fromhex("d9d9f78848504d520d0a1a0a")
BODIES = (1, 2, 3, 4, 5, 6, 7, 9, 10)
CHUNK, EVENT, INDEX, END = 8, 9, 10, 11
GONE = 14   # the event of an instance that retires
NEWER, NO_STRING = 12, 8
SCALE = re.compile(r"\+?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
LIST, SHARED, PERF = 1, 2, 4


def critical_number(n):
    """An unknown type, semantics, aggregation or kind."""
    return n <= 63 or 128 <= n <= 191


def critical_key(k):
    return k < 400 and 80 <= k % 100 <= 89


def critical_flags(flags):
    return (flags & ~7) & 0x00ff00ff != 0


def critical_frame(kind):
    return kind == 0 or 12 <= kind <= 31 or 48 <= kind <= 55


def shortest(data, pos, major):
    got, n, after, _ = read_head(data, pos)
    need(got == major and data[pos:after] == head(major, n), "head of a frame")
    return n, after


class Frame:
    def __init__(self, data, at):
        """The frame at this offset; Bad if its head is not good."""
        need(data[at:at + 12] == MAGIC, "no frame")
        self.offset, self.major = at, data[at + 12] if at + 12 < len(data) else 0
        self.type, pos = shortest(data, at + 13, 0)
        need(self.type < 1 << 32, "type of a frame")
        self.sequence, pos = shortest(data, pos, 0)
        need(data[pos:pos + 1] == b"\x48", "recording id")
        self.recording = data[pos + 1:pos + 9]
        n, pos = shortest(data, pos + 9, 2)
        need(n <= 4 << 20 and pos + n + 5 <= len(data), "meta")
        self.items = [data[pos:pos + n]]    # the meta, and the body as it was before compression
        meta = self.items[0]
        pos += n
        need(data[pos:pos + 1] == b"\x44" and int.from_bytes(data[pos + 1:pos + 5], "big") == crc32c(data[at:pos]), "head's checksum")
        self.head_crc = int.from_bytes(data[pos + 1:pos + 5], "big")
        pos += 5
        self.broken, self.end = None, pos
        self.meta, self.payload = {}, b""
        if self.major != 1:
            return
        try:
            self.meta = read_map(meta)
            size = self.meta.get(1, 0)
            need(is_int(size) and 0 <= size <= 256 << 20, "meta key 1")
            start = head(2, size)
            self.end = pos + len(start) + size + 5
            need(self.end <= len(data), "ends in a payload")
            n, pos = shortest(data, pos, 2)
            need(n == size, "payload of another length")
            self.payload = data[pos:pos + n]
            need(data[pos + n:pos + n + 1] == b"\x44", "payload's checksum")
            need(int.from_bytes(data[pos + n + 1:pos + n + 5], "big") == crc32c(self.payload), "payload's checksum")
        except Bad as e:
            self.broken, self.end = str(e), min(self.end, len(data))

    length = property(lambda self: self.end - self.offset)

    def body(self):
        codec = self.meta.get(2, 0)
        if codec == 0:
            self.items.append(self.payload)
            return read_map(self.payload, True)
        size = self.meta.get(3)
        need(is_int(size) and 0 <= size <= 64 << 20 and size <= (1 << 20) + 1000 * len(self.payload), "meta key 3")
        self.items.append(decompress(self.payload, size, codec == 2))
        return read_map(self.items[-1], True)


def broken_duties(reader):
    """What SPEC.md demands of writers, and readers do without."""
    for recording in reader.recordings:
        keys, must = 0, True
        for frame in recording.frames:
            for item in frame.items:
                if encode(decode(item)[0]) != bytes(item):
                    yield "frame at %d: not in deterministic encoding" % frame.offset
            if frame.type == END and frame.length != 64:
                yield "end frame of %d bytes" % frame.length
            if frame.type == CHUNK:
                keys = keys + 1 if 15 in frame.meta else 1
                if keys > 16 or must and keys > 1:
                    yield "frame at %d: no key chunk" % frame.offset
                must = False
            must |= frame.meta.get(4) is True and frame.type != CHUNK
        yield from (line for c in recording.chunks for line in held(c))


def held(c):
    """A missing value holds the previous one of its column."""
    for v, reasons, g in c.groups.values():
        for (k, r) in reasons or ():
            column = v[len(v) - len(g.values) + k]
            if r and column[r] != column[r - 1]:
                yield "chunk at %d: a missing value that is not the one before" % c.frame.offset


class Counter:
    def __init__(self, pairs):
        m = known(pairs)
        self.map = m
        self.name, self.source, self.unit = (text(m.get(k), True) for k in (1, 3, 4))
        need(1 <= len(self.name.encode()) <= 512, "name of a counter")
        self.display = text(m.get(2, self.name), True)
        self.type, self.semantics, self.aggregation = (below(m.get(k, 0), 256) for k in (6, 7, 9))
        self.width = m.get(8, 64)
        need(is_int(self.width) and 1 <= self.width <= 64, "width")
        if self.type > 1:
            self.width = 64
        self.columns = below(m.get(11, 1), 1 << 64)
        need(self.columns, "columns of a counter")
        self.scale = m.get(5, [1, 1])
        if isinstance(self.scale, str):
            need(SCALE.fullmatch(self.scale) and 0 < float(self.scale) < math.inf, "scale")
        else:
            need(isinstance(self.scale, list) and len(self.scale) == 2 and all(is_int(x) and 0 < x <= M64 for x in self.scale), "scale")
        self.attributes = attributes(m.get(10))
        self.newer = ["key %d" % k for k in list(m) + list(self.attributes) if critical_key(k)]
        if self.columns != 1:
            self.newer.append("columns %d" % self.columns)
        if self.type > 4 and critical_number(self.type):
            self.newer.append("type %d" % self.type)
        if self.semantics > 5 and critical_number(self.semantics):
            self.newer.append("semantics %d" % self.semantics)

    def meaning(self):
        return (self.name, self.display, self.source, self.unit, self.type, self.semantics, self.aggregation, self.width, self.columns,
                encode(self.scale), encode(Map(self.attributes.items())))

    plain = property(lambda self: "s64" if self.type == 1 else "f64" if self.type == 2 else "u64")
    is_string = property(lambda self: self.type in (3, 4) or self.type & 112 == 80)


class Instance:
    def __init__(self, pairs, base):
        m = known(pairs)
        self.map, self.base = m, base
        self.kind = below(m.get(1), 256)
        self.number, self.cpu = (m.get(k) for k in (2, 3))
        for x in (self.number, self.cpu):
            need(x is None or is_int(x) and 0 <= x < 1 << 32, "number of an instance")
        self.added, self.retired = (None if m.get(k) is None else when(base, m[k]) for k in (4, 5))
        self.attributes = attributes(m.get(6))
        self.newer = ["key %d" % k for k in list(m) + list(self.attributes) if critical_key(k)]
        if self.kind > 11 and critical_number(self.kind):
            self.newer.append("kind %d" % self.kind)


class Group:
    retired = False
    before = None

    def __init__(self, source, flags, counters, instances):
        self.source, self.flags, self.counters, self.instances = source, flags, counters, instances

    def same(self, other):
        return (self.source, self.flags, self.counters, self.instances) == (other.source, other.flags, other.counters, other.instances)

    def shape(self, counter):
        """Bands, and the columns of each value: (counter, instance, column, first column of times)."""
        is_list, perf = self.flags & LIST, self.flags & PERF
        n = len(self.counters) if is_list else len(self.instances)
        t = 1 if self.flags & (LIST | SHARED) else n
        bands = [Band(0, t, ref="tick"), Band(t, t, ref=0)]
        if perf:
            bands += [Band(2 * t, t, ref=0), Band(3 * t, t, ref=2 * t)]
        at, values = len(bands) * t, []
        self.times = t
        if is_list:
            last = None
            for c in self.counters:
                c = counter(c)
                if last is None or (c.width, c.plain) != last:
                    bands.append(Band(at, 0, c.width, c.plain))
                    last = c.width, c.plain
                bands[-1].count += 1
                at += 1
            values = list(zip(self.counters, self.instances))
        else:
            for i in self.counters:
                c = counter(i)
                band = Band(at, n, c.width, c.plain)
                if perf and c.type == 0 and c.width == 64 and c.unit == "ms" and c.scale == "1e-6":
                    band.ref, band.each = 2 * t, t == n and not self.flags & SHARED
                bands.append(band)
                at += n
                values += [(i, k) for k in self.instances]
        return bands, values


def below(x, limit):
    need(is_int(x) and 0 <= x < limit, "a number of another kind")
    return x


def signed64(x):
    need(is_int(x) and -(1 << 63) <= x < 1 << 63, "a number of another kind")
    return x


def text(x, strict=False):
    need(isinstance(x, str) and len(x.encode()) <= 1 << 20, "not a text")
    need(not strict or "\0" not in x, "NUL in a text")
    return x


def attributes(x):
    return {} if x is None else known(x)


def is_value(x):
    """What attributes and config entries may hold."""
    if isinstance(x, Map):
        return all(is_int(k) and 0 <= k <= 511 and is_value(v) for k, v in x)
    if isinstance(x, list):
        return all(is_value(v) for v in x)
    return not isinstance(x, (Tag, Simple)) and (not is_int(x) or x >= -(1 << 63))


def array(x, step=1):
    need(isinstance(x, list) and not isinstance(x, Map) and len(x) % step == 0, "not an array of what it must hold")
    return x


def when(base, x):
    need(0 <= base + signed64(x) < 1 << 63, "time")
    return base + x


def ids_of(x, n=None):
    """Ids of a list: first, or runs of ascending ids. `n` items, or as many as the runs say."""
    if is_int(x):
        need(1 <= x and x + n <= 1 << 32, "first id")
        return list(range(x, x + n))
    array(x, 2)
    ids = []
    for first, count in zip(x[::2], x[1::2]):
        need(is_int(first) and is_int(count) and count > 0 and first > (ids[-1] if ids else 0), "ids do not ascend")
        need(first + count <= 1 << 32 and len(ids) + count <= 1 << 22, "ids above the limits")
        ids += range(first, first + count)
    need(n is None or len(ids) == n, "another number of ids")
    return ids


def runs(x):
    array(x, 3)
    ids = []
    for first, count, step in zip(x[::3], x[1::3], x[2::3]):
        need(all(is_int(k) and 0 <= k < 1 << 32 for k in (first, count, step)), "run of ids")
        need(len(ids) + count <= 1 << 22, "columns")
        ids += [first + k * step for k in range(count)]
        need(0 < first and count and ids[-1] < 1 << 32, "run of ids")
    return ids


class Chunk:
    """One chunk: its meta, and of each group that can be read the columns and the reasons."""

    def __init__(self, frame):
        self.frame, self.groups, self.order, self.newer = frame, {}, [], False


class Recording:
    def __init__(self, ident):
        self.id, self.header, self.topology = ident, {}, {}
        self.counters, self.strings, self.instances, self.groups = [], [], {}, {}
        self.all_groups, self.all_instances = {}, {}
        self.pmus, self.probes, self.config, self.events, self.chunks = {}, {}, [], [], []
        self.frames, self.newer = [], []
        self.hidden = self.stopped = self.ended = False
        self.last = None      # the chunk before, if it was good
        self.start = self.tick = 0

    def counter(self, i):
        return self.counters[i - 1]


class Reader:
    def __init__(self, data):
        self.data, self.damage, self.recordings = bytes(data), [], []
        self.now = None
        self.sequence = -1
        pos = 0
        while pos < len(self.data):
            try:
                frame = Frame(self.data, pos)
            except Bad as e:
                after = self.data.find(MAGIC, pos + 1)
                while after >= 0 and not self.is_frame(after):
                    after = self.data.find(MAGIC, after + 1)
                self.damage.append((pos, str(e)))
                pos = len(self.data) if after < 0 else after
                self.gap()
                continue
            pos = frame.end
            if frame.broken:
                self.damage.append((frame.offset, frame.broken))
            self.take(frame)
            if frame.major != 1:
                after = self.data.find(MAGIC, pos)
                while after >= 0 and not self.is_frame(after):
                    after = self.data.find(MAGIC, after + 1)
                pos = len(self.data) if after < 0 else after

    def is_frame(self, at):
        try:
            Frame(self.data, at)
            return True
        except Bad:
            return False

    def gap(self):
        if self.now:
            self.now.last = None

    def take(self, frame):
        now = self.now
        if now is None or frame.recording != now.id or frame.type == 1 and frame.sequence == 0 and self.sequence > 0:
            if now is not None and frame.type != 1 or any(r.id == frame.recording for r in self.recordings) and frame.sequence:
                self.damage.append((frame.offset, "foreign"))
                return
            now = self.now = Recording(frame.recording)
            now.start = frame.offset
            self.recordings.append(now)
            self.sequence = frame.sequence - 1
            if frame.sequence:
                self.damage.append((frame.offset, "the beginning is missing"))
        elif frame.sequence <= self.sequence:
            self.damage.append((frame.offset, "foreign"))
            return
        if frame.sequence != self.sequence + 1:
            self.damage.append((frame.offset, "%d frames are missing" % (frame.sequence - self.sequence - 1)))
            self.gap()
        self.sequence = frame.sequence
        now.frames.append(frame)
        now.ended = frame.type == END
        if frame.major != 1:
            now.newer.append("major version %d" % frame.major)
            now.hidden = True
        if now.hidden:
            return
        if frame.broken:
            if frame.type == CHUNK:
                self.gap()
            return
        try:
            self.use(now, frame)
        except (Bad, AttributeError, IndexError, KeyError, TypeError, ValueError) as e:    # of another kind than it must be
            self.damage.append((frame.offset, str(e)))
            if frame.type == CHUNK:
                self.gap()

    def use(self, now, frame):
        if frame.type == CHUNK:
            self.chunk(now, frame)
        elif frame.type in BODIES:
            codec = below(frame.meta.get(2, 0), 1 << 64)
            if codec > 2:
                now.newer.append("frames of type %d" % frame.type)
                now.stopped |= frame.type <= 7
                return
            body = frame.body()
            (self.header, self.topology, self.schema, self.list_of_instances, self.pmus, self.probes, self.config, None, self.events,
             self.index)[frame.type - 1](now, body, frame)
        elif critical_frame(frame.type):
            now.newer.append("frames of type %d" % frame.type)
            now.stopped = True

    def header(self, now, m, _):
        bits = m.get(4, 0)
        first = not now.header
        now.header = m
        if first and (not is_int(bits) or bits != 0):
            now.newer.append("features %r" % bits)
            now.hidden = True
        for k in m:
            if first and critical_key(k):
                now.newer.append("header key %d" % k)
                now.hidden = True

    def topology(self, now, m, _):
        below(m.get(1, 0), 1 << 63)
        cpus = array(m.get(2, []))
        need(all(is_int(x) and 0 <= x <= 0xfffffffe for x in cpus) and all(a < b for a, b in zip(cpus, cpus[1:])) and len(cpus) <= 65536,
             "CPUs of the topology")
        for k in range(3, 16):
            if k in m:
                need(len(array(m[k])) == len(cpus), "array of the topology")
                m[k] = [signed64(x) for x in m[k]]
                m[k] = [x if 0 <= x <= 0xfffffffe else -1 for x in m[k]]
        for name in array(m.get(16, [])):
            text(name)
        now.topology = m

    def schema(self, now, m, _):
        if 2 in m:
            first = below(m.get(1), 1 << 32)
            need(1 <= first <= len(now.counters) + 1, "counters are missing")
            for i, pairs in enumerate(array(m[2]), first):
                c = Counter(pairs)
                if i <= len(now.counters):
                    need(c.meaning() == now.counters[i - 1].meaning(), "another counter by the same id")
                    continue
                need(all(c.name != o.name for o in now.counters), "a name twice")
                now.counters.append(c)
        if 6 in m:
            first = below(m.get(5), 1 << 32)
            need(1 <= first <= len(now.strings) + 1, "strings are missing")
            for i, s in enumerate(array(m[6]), first):
                need(isinstance(s, (str, bytes)), "not a string")
                if i <= len(now.strings):
                    need(now.strings[i - 1] == s, "another string by the same id")
                    continue
                now.strings.append(s)
        if 3 in m or 4 in m:
            groups = array(m.get(4, []))
            for i, pairs in zip(ids_of(m.get(3), len(groups)) if groups or not is_int(m.get(3, 0)) else [], groups):
                self.group(now, i, known(pairs))
        if 7 in m:
            for first, count in zip(*[iter(array(m[7], 2))] * 2):
                need(is_int(first) and is_int(count) and min(first, count) >= 0, "a range")
                for i in [i for i in now.groups if first <= i < first + count]:
                    now.groups.pop(i).retired = True

    def group(self, now, i, m):
        flags = m.get(2, 0)
        if 5 in m:
            need(2 not in m and 3 not in m, "a group that continues has no flags and no counters")
            old_id = below(m[5], i)
            old = now.groups.get(old_id)
            if i in now.groups and old is None:
                return
            need(old is not None, "it continues an unknown group")
            need(not old.flags & LIST, "it continues a list")
            stay, at = [], 0
            for k, n in enumerate(array(m.get(6, []), 2)):
                below(n, 1 << 32)
                need(at + n <= len(old.instances), "more stay and leave than there are")
                if k % 2 == 0:
                    stay += range(at, at + n)
                at += n
            stay += range(at, len(old.instances))
            new = runs(m.get(4, []))
            g = Group(text(m.get(1, old.source), True), old.flags, old.counters, [old.instances[k] for k in stay] + new)
            need(len(set(g.instances)) == len(g.instances), "an instance twice")
            self.known_members(now, g)
            need(g.instances, "a group without instances")
            if old.before is not None:
                g.before = self.carried(old, g, stay, len(new))
            now.groups.pop(old_id).retired = True
            g.continues = old_id
        else:
            g = Group(text(m.get(1), True), below(flags, 1 << 32), runs(m.get(3)), runs(m.get(4)))
            if flags & LIST:
                need(len(g.counters) == len(g.instances), "a list of unequal lengths")
                need(len(set(zip(g.counters, g.instances))) == len(g.counters), "a pair twice")
            else:
                need(len(set(g.counters)) == len(g.counters) and len(set(g.instances)) == len(g.instances), "a member twice")
            g.continues = None
            need(g.counters and g.instances, "a group without columns")
            self.known_members(now, g)
        g.newer = ["key %d" % k for k in m if critical_key(k)]
        if critical_flags(g.flags):
            g.newer.append("flags %d" % (g.flags & ~7 & 0x00ff00ff))
        g.unknown = critical_flags(g.flags) or any(now.counter(c).columns != 1 for c in g.counters)
        if i in now.all_groups:
            need(now.all_groups[i].same(g), "another group by the same id")
            return
        g.id = i
        g.bands, g.values = g.shape(now.counter)
        now.groups[i] = now.all_groups[i] = g

    @staticmethod
    def known_members(now, g):
        need(all(c <= len(now.counters) for c in g.counters), "an unknown counter")
        need(all(k in now.all_instances for k in g.instances), "an unknown instance")

    @staticmethod
    def carried(old, g, stay, added):
        """The row before of a group that continues another."""
        tick, v, growth = old.before.tick, [], []
        kinds = 4 if g.flags & PERF else 2
        at = 0
        for kind in range(kinds + len(g.counters)):
            if kind < kinds and g.flags & SHARED:
                v.append(old.before.v[at])
                growth.append(old.before.growth[at])
                at += 1
                continue
            v += [old.before.v[at + k] for k in stay] + [tick if kind < 2 else 0] * added
            growth += [old.before.growth[at + k] for k in stay] + [0] * added
            at += len(old.instances)
        return Row(tick, v, growth)

    def list_of_instances(self, now, m, _):
        base = below(m.get(1, 0), 1 << 63)
        if 3 in m:
            for i, pairs in zip(ids_of(m.get(2), len(array(m[3]))), m[3]):
                one = Instance(pairs, base)
                one.id = i
                if i in now.all_instances:
                    old = now.all_instances[i]
                    need((old.kind, old.number, old.cpu, old.added or 0, encode(Map(old.attributes.items()))) ==
                         (one.kind, one.number, one.cpu, one.added or 0, encode(Map(one.attributes.items()))), "another instance by the same id")
                    continue
                now.instances[i] = now.all_instances[i] = one
        if 4 in m:
            i, t = 0, base
            for step, later in zip(*[iter(array(m[4], 2))] * 2):
                need(is_int(step) and is_int(later), "retirement")
                i, t = i + step, when(t, later)
                need(0 < i < 1 << 32, "id")
                if i in now.instances:
                    now.instances.pop(i).retired = t
                    now.events.append((GONE, t, {7: i}))

    def listed(self, items, m, check):
        first = below(m.get(1), 1 << 32)
        for i, pairs in enumerate(array(m.get(2, [])), first):
            one = known(pairs)
            check(one)
            items.setdefault(i, one)

    def pmus(self, now, m, _):
        self.listed(now.pmus, m, lambda one: None)

    def probes(self, now, m, _):
        def check(one):
            text(one.get(1))
            for k in (2, 3) if 3 in one else (2,):
                remark = array(one.get(k))
                need(remark and is_int(remark[0]) and 0 < remark[0] < 1 << 32, "code of a remark")
                need(all(is_value(v) and not isinstance(v, list) for v in remark), "argument of a remark")
            below(one.get(4), 1 << 16)
            attributes(one.get(5))
        self.listed(now.probes, m, check)

    def config(self, now, m, frame):
        for pairs in array(m.get(1, [])):
            e = known(pairs)
            text(e.get(1), True)
            below(e.get(2), 1 << 63)
            need(is_int(e.get(3)) and 0 <= e[3] < 256, "kind of a config entry")
            values = [k for k in (50, 150, 250, 350) if k in e]
            need(all(is_value(e[k]) for k in values), "value of a config entry")
            below(e.get(5, 1), 1 << 16)
            need(len(values) == (0 if e.get(5) else 1), "neither a value nor a reason, or both")
            last = -1
            for first, count in zip(*[iter(array(e.get(4, []), 2))] * 2):
                need(is_int(first) and is_int(count) and first > last and count > 0 and first + count <= 65536, "instances of an entry")
                last = first + count - 1
            if not frame.meta.get(4):
                now.config.append(e)

    def events(self, now, m, _):
        base = below(m.get(1, 0), 1 << 63)
        for pairs in array(m.get(2, [])):
            e = known(pairs)
            need(is_int(e.get(1)) and 1 <= e[1] < 1 << 31, "type of an event")
            now.events.append((e[1], when(base, e.get(2, 0)), attributes(e.get(3))))

    def index(self, now, m, frame):
        """An index may not disagree with the frames."""
        here = frame.offset - now.start
        first = m.get(1)
        need(frame.meta.get(18) == here and is_int(first), "index: offset")
        frames = [f for f in now.frames if first <= f.offset - now.start < here]
        need(isinstance(m.get(2), bytes) and len(m[2]) == len(frames), "index: number of frames")
        lengths, last = [], 0
        for step in m.get(3):
            last += step
            lengths.append(last)
        at = first
        for f, kind, n in zip(frames, m[2], lengths):
            need(f.offset - now.start == at and f.end - f.offset == n, "index: lengths")
            mark = min(f.type, 63) + (128 if f.type == CHUNK and 15 not in f.meta else 0) + (64 if f.meta.get(4) is True else 0)
            need(kind == mark, "index: type %d of a frame at %d" % (kind, f.offset))
            at += n
        need(at == here, "index: gap")
        if all(f.type != CHUNK for f in frames):
            return
        chunks = [c for c in now.chunks if c.frame in frames]
        if len(chunks) != sum(f.type == CHUNK for f in frames):
            return
        expected, previous = 0, None
        for c, tick, span, rows in zip(chunks, m.get(4), m.get(5), m.get(6)):
            need(expected + tick == c.ticks[0] and span == c.ticks[-1] - c.ticks[0] and rows == len(c.ticks), "index: a chunk")
            expected = c.ticks[0] + (c.ticks[0] - previous if previous is not None else 0)
            previous = c.ticks[0]

    # ---- chunks ----

    def chunk(self, now, frame):
        m = frame.meta
        c = Chunk(frame)
        last = now.last
        c.key = 15 not in m
        now.last = None
        if c.key:
            for g in now.all_groups.values():
                g.before = None
        critical = [k for k in m if critical_key(k)]
        codec = below(m.get(2, 0), 1 << 31)
        if critical or codec > 1:
            now.newer.append("chunk %r" % (critical or codec))
        if not c.key:
            need(last is not None, "the chunk before is not good")
            need(m[15] == last.frame.head_crc, "it depends on another chunk")
        c.newer = bool(now.stopped or critical or codec > 1 or not c.key and last.newer)
        rows = m.get(7, 1)
        need(is_int(rows) and 1 <= rows <= 128, "rows")
        c.run, c.segment = (below(m.get(k, 6 - k), 1 << 32) for k in (5, 6))
        c.step = below(m.get(8, None if c.key else last.step), 1 << 64)
        gaps, numbers = array(m.get(10, [0] * (rows - 1))), array(m.get(12, [0] * (rows - 1)))
        need(len(gaps) == len(numbers) == rows - 1 and all(signed64(x) == x for x in gaps + numbers), "ticks")
        c.ticks = [(0 if c.key else last.ticks[-1] + c.step) + signed64(m.get(9, 0)) & M64]
        c.numbers = [(0 if c.key else last.numbers[-1] + 1) + signed64(m.get(11, 0)) & M64]
        for x, y in zip(gaps, numbers):
            c.ticks.append(c.ticks[-1] + c.step + x & M64)
            c.numbers.append(c.numbers[-1] + 1 + y & M64)
        need(c.ticks[0] >= now.tick and all(a <= b for a, b in zip(c.ticks, c.ticks[1:])) and c.ticks[-1] < 1 << 63, "ticks descend")
        c.flags = [0] * rows
        at = -1
        for row, flags in zip(*[iter(array(m.get(13, []), 2))] * 2):
            need(is_int(row) and at < row < rows and is_int(flags) and 0 <= flags <= 255, "flags")
            c.flags[row], at = flags, row
        clocks = array(m.get(14))
        need(len(clocks) >= 4 and all(map(is_int, clocks)), "clocks")
        mono, raw, boot, cycles = clocks[:4]
        real = None if 300 not in m else m[300]
        need(real is None or is_int(real) and -(1 << 63) <= real <= M64, "key 300")
        if not c.key:
            need((c.run, c.segment) == (last.run, last.segment) and codec != 1, "it may not depend on that chunk")
            lm, lr, lb, lc = last.clocks
            mono = mono + c.ticks[0]
            raw = raw + lr - lm + mono if lr else raw
            boot = boot + lb - lm + mono if lb else boot
            need((raw == 0) == (lr == 0) and (boot == 0) == (lb == 0), "readable clocks")
            cycles += lc
            need((real is None) == (last.realtime is None), "key 300")
            if real is not None:
                real += last.realtime - lm + mono
        c.clocks, c.realtime = [x & M64 for x in (mono, raw, boot, cycles)], real
        if 16 in m:
            c.order = self.ids(m[16])
        else:
            need(not c.key, "key 16")
            c.order = last.order
        c.lost = self.ids(m.get(20, []))
        here = c.order + c.lost
        need(len(set(here)) == len(here), "a group twice")
        self.blocks(now, c, codec)
        now.last, now.tick = c, c.ticks[-1]
        now.chunks.append(c)

    @staticmethod
    def ids(pairs):
        out = []
        for first, count in zip(*[iter(array(pairs, 2))] * 2):
            need(is_int(first) and is_int(count) and first > 0 and count > 0 and first + count <= 1 << 32, "groups")
            out += range(first, first + count)
        return out

    def blocks(self, now, c, codec):
        pos, at, payload = 0, 0, c.frame.payload
        for stored, size, raw, crc, count in zip(*[iter(array(c.frame.meta.get(17), 5))] * 5):
            need(all(is_int(x) and x >= 0 for x in (stored, size, raw, crc, count)) and raw <= 64 << 20 and size <= stored, "block")
            items, bits = payload[pos:pos + stored - size], payload[pos + stored - size:pos + stored]
            need(len(items + bits) == stored and (not count or crc32c(items + bits) == crc), "block's checksum")
            pos += stored
            if not count:
                continue
            if raw:
                need(raw <= 40000 * len(items), "block: too large")
                items = decompress(items, raw)
            inside = 0
            for i in c.order[at:at + count]:
                group = now.all_groups.get(i)
                if c.newer and group:
                    c.groups[i] = None, None, group
                    inside, bits = len(items), b""
                    continue
                size = 0
                if codec == 0:
                    size, inside = decode(items, inside)
                    below(size, len(bits) + 1)
                matrix, inside = decode(items, inside)
                status, inside = decode(items, inside)
                if group is None:
                    self.damage.append((c.frame.offset, "unknown group %d" % i))
                elif group.unknown or group.newer:
                    c.groups[i] = None, None, group
                else:
                    self.matrix(now, c, group, matrix, bits[:size], status, codec)
                bits = bits[size:]
            need(inside == len(items) and not bits and at + count <= len(c.order), "block: bytes left over")
            at += count
        need(pos == len(payload) and at == len(c.order), "blocks: bytes or groups left over")

    @staticmethod
    def matrix(now, c, group, matrix, bits, status, codec):
        rows = len(c.ticks)
        if codec == 0:
            need(isinstance(matrix, bytes), "matrix")
            need(c.key or group.before or matrix[:1] in (b"\1", b"\3"), "no row before")
            v = unpack(matrix, bits, rows, group.bands, c.ticks, group.before)
        else:
            need(c.key and len(array(matrix)) == len(group.bands), "plain matrix")
            v = []
            for band, item in zip(group.bands, matrix):
                need(isinstance(item, Tag) and item.number == {"u64": 71, "s64": 79, "f64": 86}[band.plain] and isinstance(item.value, bytes) and
                     len(item.value) == 8 * rows * band.count, "plain band")
                numbers = [int.from_bytes(item.value[k:k + 8], "little") for k in range(0, len(item.value), 8)]
                v += [numbers[k:k + rows] for k in range(0, len(numbers), rows)]
        array(status, 3)
        reasons, at = {}, 0
        for valid, missing, reason in zip(*[iter(status)] * 3):
            need(all(map(is_int, (valid, missing, reason))) and valid >= 0 and missing > 0 and 1 <= reason <= 65535, "status")
            at += valid
            need(at + missing <= rows * len(group.values), "status: too many")
            for k in range(at, at + missing):
                reasons[divmod(k, rows)] = reason
            at += missing
        group.before = row_after(v, c.ticks[-1], group.before)
        c.groups[group.id] = v, reasons, group


def values(reader):
    """(recording, chunk, row, group, counter, instance, value or None, reason, times) of everything."""
    for recording in reader.recordings:
        for c in recording.chunks:
            for r in range(len(c.ticks)):
                for found in values_of(recording, c, r):
                    yield recording, c, r, *found


def values_of(recording, c, r):
    """(group, counter, instance, value or None, reason, times) of a row."""
    for v, reasons, g in (c.groups[i] for i in c.order if i in c.groups):
        if v is None:
            for counter, instance in g.values:
                yield g, counter, instance, 0, NEWER, []
            continue
        first = len(v) - len(g.values)
        for k, (counter, instance) in enumerate(g.values):
            at = 0 if g.times == 1 else k % g.times
            times = [v[t + at][r] for t in range(0, first, g.times)]
            reason = reasons.get((k, r), 0)
            if recording.counter(counter).newer or recording.all_instances[instance].newer:
                reason = NEWER
            yield g, counter, instance, v[first + k][r], reason, times


def shown(recording, counter, number):
    """A valid number as its counter means it: a value, and the reason why there is none."""
    if counter.is_string:
        return (recording.strings[number - 1], 0) if 1 <= number <= len(recording.strings) else (None, NO_STRING)
    return (signed(number) if counter.plain == "s64" else double(number) if counter.plain == "f64" else number), 0
