"""Random recordings, with what a reader must find in them."""

import struct

from codec import M64, Map, Simple, Tag, bits_of
from reader import LIST, PERF, Counter, Group, Instance, Reader, critical_flags, is_value
from writer import Writer, ranges, steps


def anything(rng, depth=0):
    """Any well-formed item of definite length, for keys that nobody knows."""
    k = rng.randrange(10 if depth < 3 else 7)
    if k < 3:
        return rng.choice([0, 1, -1, rng.getrandbits(64), -rng.getrandbits(63), True, False])
    if k == 3:
        return rng.choice([1.5, float("nan"), float("-inf"), 1e300, 0.1])
    if k == 4:
        return "\u00e4\u20ac" * rng.randrange(4)
    if k == 5:
        return bytes(rng.getrandbits(8) for _ in range(rng.randrange(20)))
    if k == 6:
        return Simple(22)
    if k == 7:
        return [anything(rng, depth + 1) for _ in range(rng.randrange(4))]
    if k == 8:
        return Map((anything(rng, 3), anything(rng, depth + 1)) for _ in range(rng.randrange(3)))
    return Tag(rng.getrandbits(20), anything(rng, depth + 1))


class World(Writer):
    """One recording that comes about step by step."""

    flags, pauses = (0, 0, 0, 1, 2, 4, 6, 255), 0.4

    def __init__(self, rng, exotic=True, future=False):
        super().__init__(rng, bytes(rng.getrandbits(8) for _ in range(8)))
        self.exotic, self.future, self.stopped, self.newer = exotic, future, False, False
        self.live_rows = set()
        self.counters, self.strings, self.instances, self.groups = [], [], {}, {}
        self.all_groups, self.all_instances = {}, {}
        self.events_made, self.config_made = [], []
        self.next_group = self.next_instance = 1
        self.time = rng.choice([0, rng.getrandbits(30), rng.getrandbits(45)]) if rng.random() < 0.9 else (1 << 62) + rng.getrandbits(60)
        self.number = 0
        self.run, self.segment = 1, 0
        self.since_key = 0
        self.state = {}
        self.pmus = self.probes = 0
        self.key_next = True
        self.has_raw, self.has_boot, self.has_real = (rng.random() < 0.8 for _ in range(3))
        self.skew = rng.getrandbits(30)
        self.header_map = {1: "writer of SPEC.md", 13: rng.choice([0, 10 ** 7, 10 ** 9])}
        self.interval = self.header_map[13] or 10 ** 9
        for key, value in ((2, rng.randrange(4)), (3, rng.getrandbits(48)), (5, "riscv64"), (6, "6.1"), (28, True), (100, "h\u00f6st"), (21, ["a", "b"]),
                           (4, 0), (13 + 40, anything(rng)), (440, anything(rng)), (511, anything(rng)), (26, "not a bool")):
            if rng.random() < 0.3:
                self.header_map[key] = value
        self.body(1, self.header_map)
        if rng.random() < 0.7:
            self.topology()

    # ---- definitions ----

    def extra(self, m, low=20):
        """Keys that no reader knows and none needs."""
        if self.exotic and self.rng.random() < 0.1:
            k = self.rng.choice([k for k in (rng_key(self.rng) for _ in range(5)) if k >= low and k not in m] or [450])
            m[k] = anything(self.rng)
        return m

    def later(self, chance=0.06):
        """Whether something comes here that a reader of 1.0 must know, and does not."""
        now = self.future and self.rng.random() < chance
        self.newer |= now
        return now

    def critical(self, m, attributes):
        """A key that 1.0 does not have, in m or in its attributes."""
        k = self.rng.choice([80, 89, 185, 283, 380])
        if attributes and self.rng.random() < 0.3:
            m.setdefault(attributes, {})[k] = anything(self.rng) if self.rng.random() < 0.5 else 1
            if not is_value(as_pairs(m[attributes])):
                m[attributes][k] = 0
        else:
            m[k] = anything(self.rng)

    def unknown_number(self, known):
        return self.rng.choice([self.rng.randint(known + 1, 63), self.rng.randint(128, 191)])

    def topology(self):
        rng = self.rng
        cpus = sorted(rng.sample(range(70), rng.randint(1, 6)))
        m = {1: self.time, 2: cpus}
        for k in range(3, 15):
            if rng.random() < 0.5:
                m[k] = [rng.choice([-1, 0, 1, rng.getrandbits(10), -5, 1 << 40]) for _ in cpus]
        m[15] = [rng.randrange(2) for _ in cpus]
        if rng.random() < 0.3:
            m[13], m[16] = [rng.randrange(2) for _ in cpus], ["big", "little"]
        else:
            m.pop(13, None)
        self.cpus = m
        self.body(2, self.extra(m))

    def counter(self, i):
        return self.counters[i - 1]

    def new_counters(self, n):
        rng, out = self.rng, []
        for _ in range(n):
            name = "c%d.%s" % (len(self.counters) + len(out) + 1, rng.choice(["a", "\u00fc", "b c", "x" * rng.randrange(1, 40)]))
            kind = rng.choice([0, 0, 0, 1, 2, 2, 3, 4])
            m = {1: name, 3: rng.choice(["perf", "stat", "own"]), 4: rng.choice(["1", "s", "ms", "By", "Cel", "J"])}
            if rng.random() < 0.3:
                m[2] = "display \u00e9 %d" % rng.randrange(9)
            if rng.random() < 0.4:
                m[5] = rng.choice([[1, 1], [1, 1000], [rng.randint(1, M64), rng.randint(1, 1 << 40)], "1e-6", "2.3283064365386962890625e-10", "+.5", "7.",
                                   "1E+3", "0.001"])
            if rng.random() < 0.2 and kind == 0:
                m[4], m[5] = "ms", "1e-6"
            if kind or rng.random() < 0.1:
                m[6] = kind
            if rng.random() < 0.5:
                m[7] = rng.randrange(6)
            if rng.random() < 0.4:
                m[8] = rng.choice([1, 8, 24, 32, 48, 63, rng.randint(1, 64)])
            if rng.random() < 0.4:
                m[9] = rng.randrange(6)
            if self.exotic:
                if rng.random() < 0.05:
                    m[6] = rng.choice([rng.randint(64, 127), rng.randint(192, 255)])
                if rng.random() < 0.05:
                    m[7] = rng.choice([rng.randint(64, 127), rng.randint(192, 255)])
                if rng.random() < 0.05:
                    m[9] = rng.choice([rng.randint(64, 127), rng.randint(192, 255)])
                if rng.random() < 0.05:
                    m[11] = 1
            if rng.random() < 0.3:
                m[10] = self.extra({k: v for k, v in ((1, "help text"), (3, "fam"), (4, "M%d" % rng.randrange(3)), (5, True), (2, 7), (25, -1))
                                    if rng.random() < 0.3}, 40)
            if self.later():
                k = rng.randrange(5)
                if k == 0:
                    m[6] = self.unknown_number(4)
                elif k == 1:
                    m[7] = self.unknown_number(5)
                elif k == 2:
                    m[9] = self.unknown_number(5)
                elif k == 3:
                    m[11] = rng.randint(2, 9)
                else:
                    self.critical(m, 10)
            out.append(self.extra(m))
        self.counters += [Counter(as_pairs(m)) for m in out]
        self.counter_maps = getattr(self, "counter_maps", []) + out
        return out

    def new_strings(self, n):
        rng = self.rng
        out = [rng.choice(["performance", "powersave", "", "\u4e16\u754c", b"\x00\xff", b"", "t%d" % rng.randrange(1000)]) for _ in range(n)]
        self.strings += out
        return out

    def new_instances(self, n):
        """A frame that defines instances, and perhaps retires others."""
        rng = self.rng
        base = max(0, self.time - rng.choice([0, 1000, 10 ** 6]))
        m, ids = {}, []
        if base or rng.random() < 0.5:
            m[1] = base
        else:
            base = 0
        i = self.next_instance
        listed = []
        for _ in range(n):
            if rng.random() < 0.2:
                i += rng.randrange(1, 4)
            ids.append(i)
            i += 1
            one = {1: rng.randrange(12)}
            if self.exotic and rng.random() < 0.05:
                one[1] = rng.choice([rng.randint(64, 127), rng.randint(192, 255)])
            if rng.random() < 0.6:
                one[2] = rng.choice([0, 1, 2, 500, rng.getrandbits(31)])
            if rng.random() < 0.5:
                one[3] = rng.choice([0, 1, 3, 69])
            if rng.random() < 0.8:
                one[4] = self.time - base
            if rng.random() < 0.4:
                one[6] = self.extra({k: v for k, v in ((1, "task-%d" % ids[-1]), (2, "0-3"), (200, rng.randrange(9999)), (202, "c\u00f6mm"))
                                     if rng.random() < 0.5}, 40)
            if self.later():
                if rng.random() < 0.5:
                    one[1] = self.unknown_number(11)
                else:
                    self.critical(one, 6)
            listed.append(self.extra(one))
        self.next_instance = i
        if ids:
            straight = ids == list(range(ids[0], ids[0] + n))
            m[2] = ids[0] if straight and rng.random() < 0.8 else ranges(rng, ids)
            m[3] = listed
        for k, one in zip(ids, listed):
            self.instances[k] = self.all_instances[k] = Instance(as_pairs(one), base)
            self.instances[k].map_made = one
        gone = self.leaving()
        if gone:
            m[4], i, t = [], 0, base
            for k, when in gone:
                m[4] += [k - i, when - t]
                i, t = k, when
                self.all_instances[k].retired = when
                del self.instances[k]
        if m.keys() - {1}:
            self.body(4, self.extra(m))

    def leaving(self):
        """Instances in no live group may retire."""
        used = {k for g in self.groups.values() for k in g.instances}
        free = [k for k in self.instances if k not in used]
        gone = [k for k in free if self.rng.random() < 0.5]
        self.rng.shuffle(gone)
        return [(k, max(1, self.time + self.rng.randrange(-1000, 1000))) for k in gone]

    def new_group(self):
        rng = self.rng
        flags = rng.choice([0, 0, 1, 2, 4, 4, 6, 5, 3, 7])
        if self.exotic and rng.random() < 0.05:
            flags |= rng.choice([1 << rng.randint(8, 15), 1 << rng.randint(24, 31)])
        counters = list(range(1, len(self.counters) + 1))
        most = rng.choice([1, 3, 10, 30])
        if self.later():
            flags |= 1 << rng.choice([3, 7, 16, 23])
        if flags & LIST:
            pairs = [(c, i) for c in counters for i in self.instances]
            pairs = rng.sample(pairs, min(len(pairs), most))
            if rng.random() < 0.5:
                pairs.sort()
            m = {1: "list", 2: flags, 3: steps(rng, [c for c, _ in pairs]), 4: steps(rng, [i for _, i in pairs])}
            g = Group("list", flags, [c for c, _ in pairs], [i for _, i in pairs])
        else:
            chosen = rng.sample(counters, min(len(counters), rng.choice([1, 2, 5, 12])))
            members = rng.sample(list(self.instances), min(len(self.instances), most))
            if rng.random() < 0.7:
                chosen.sort()
                members.sort()
            m = {1: "matrix", 3: steps(rng, chosen), 4: steps(rng, members)}
            if flags or rng.random() < 0.1:
                m[2] = flags
            g = Group("matrix", flags, chosen, members)
        return self.add_group(g, self.extra(m), None)

    def continue_group(self, old):
        rng = self.rng
        keep = [rng.random() < 0.8 for _ in old.instances]
        fresh = [i for i in self.instances if i not in old.instances]
        new = rng.sample(fresh, min(len(fresh), rng.randrange(4)))
        if not new and not any(keep):
            keep[0] = True
        stay = [k for k, x in enumerate(keep) if x]
        walk, at = [], 0
        while at < len(keep):
            for kept in (True, False):
                n = 0
                while at < len(keep) and keep[at] == kept and (n == 0 or rng.random() < 0.9):
                    n, at = n + 1, at + 1
                walk.append(n)
        if walk[-1] == 0:
            del walk[-2:]        # after the last pair all stay
        m = {5: old.id}
        if walk or rng.random() < 0.1:
            m[6] = walk
        if new or rng.random() < 0.1:
            m[4] = steps(rng, new)
        source = old.source
        if rng.random() < 0.1:
            m[1] = source = rng.choice([old.source, "other"])
        g = Group(source, old.flags, old.counters, [old.instances[k] for k in stay] + new)
        if old.before is not None:
            g.before = Reader.carried(old, g, stay, len(new))
            self.live_rows.add(g)
        return self.add_group(g, self.extra(m), old)

    def add_group(self, g, m, old):
        g.newer = self.later()
        if g.newer:
            self.critical(m, None)
        if self.rng.random() < 0.1:
            self.next_group += self.rng.randrange(1, 3)
        g.id = self.next_group
        self.next_group += 1
        g.unknown = critical_flags(g.flags) or any(self.counter(c).columns != 1 for c in g.counters)
        g.bands, g.values = g.shape(self.counter)
        if old:
            del self.groups[old.id]
        self.groups[g.id] = self.all_groups[g.id] = g
        return m

    def define(self, counters=0, strings=0, groups=0):
        rng, m = self.rng, {}
        if counters:
            m[1] = len(self.counters) + 1
            m[2] = self.new_counters(counters)
        if strings:
            m[5] = len(self.strings) + 1
            m[6] = self.new_strings(strings)

        made, ids = [], []
        for _ in range(groups):
            if rng.random() < 0.5 and (can := [g for g in self.groups.values() if not (g.flags & LIST or g.unknown or g.newer)]):
                made.append(self.continue_group(rng.choice(can)))
            elif self.counters and self.instances:
                made.append(self.new_group())
            else:
                continue
            ids.append(self.next_group - 1)
        if made:
            straight = ids == list(range(ids[0], ids[0] + len(ids)))
            m[3] = ids[0] if straight and rng.random() < 0.8 else ranges(rng, ids)
            m[4] = made
        if rng.random() < 0.15 and self.groups:
            retired = sorted(rng.sample(list(self.groups), min(len(self.groups), rng.randint(1, 3))))
            for i in retired:
                del self.groups[i]
            m[7] = ranges(rng, retired)
        if m:
            self.body(3, self.extra(m))

    def others(self):
        """PMUs, probes, config, events, and frames that are for other readers."""
        rng = self.rng
        if self.later():
            self.stopped = True
            if rng.random() < 0.5:
                self.frame(rng.choice([0, 12, 31, 48, 55]), b"later", {rng.randint(20, 79): anything(rng)})
            else:
                self.frame(rng.choice([5, 6, 7]), b"later", {2: rng.choice([3, 99, M64]), 3: 5})
        k = rng.randrange(5)
        if k == 0:
            n = rng.randint(1, 3)
            self.body(5, self.extra({1: self.pmus, 2: [self.extra({1: "pmu%d" % i, 2: i}, 40) for i in range(self.pmus, self.pmus + n)]}))
            self.pmus += n
        elif k == 1:
            self.body(6, self.extra({1: self.probes, 2: [{1: "perf", 2: rng.choice([[3, "what"], [4711, "x", 5], [45]]), 4: rng.choice([0, 2, 3, 1013])}]}))
            self.probes += 1
        elif k == 2:
            entries = []
            for _ in range(rng.randint(1, 3)):
                e = {1: "cfg.%d" % rng.randrange(99), 2: self.time, 3: rng.randrange(12)}
                if rng.random() < 0.5:
                    e[4] = rng.choice([[0, 1], [0, 2, 5, 1], [65535, 1]])
                if rng.random() < 0.3:
                    e[5] = rng.choice([2, 3, 1002])
                else:
                    e[rng.choice([50, 150, 250, 350])] = rng.choice([7, -7, M64, 1.5, "text", b"\x01\x02", True])
                entries.append(self.extra(e))
            self.config_made += entries
            self.body(7, self.extra({1: entries}))
        elif k == 3:
            base = rng.choice([0, self.time])
            m, made = {1: base} if base else {}, []
            for _ in range(rng.randint(1, 4)):
                kind = rng.choice([1, 2, 4, 5, 9, 10, 15, rng.randint(16, 300), (1 << 31) - 1])
                e, when = {1: kind}, base
                if rng.random() < 0.8:
                    when = self.time + rng.randrange(1000)
                    e[2] = when - base
                if rng.random() < 0.5:
                    e[3] = self.extra({k: v for k, v in ((1, 5), (3, 1), (15, [1, "note"]), (200, "text")) if rng.random() < 0.4}, 40)
                made.append(self.extra(e))
                self.events_made.append((kind, when))
            m[2] = made
            self.body(9, self.extra(m))
        elif self.exotic:
            self.frame(rng.choice([rng.randint(32, 47), rng.randint(56, 63), rng.randint(64, 1 << 32 - 1), (1 << 32) - 1]),
                       bytes(rng.getrandbits(8) for _ in range(rng.randrange(30))), {rng.randint(20, 79): anything(rng)})

    def repeat(self):
        """All that numbers need, once more."""
        rng = self.rng
        self.body(1, self.header_map, True)
        if hasattr(self, "cpus"):
            self.body(2, self.cpus, True)
        if self.instances:
            base = rng.choice([0, self.time])
            ids = sorted(self.instances)
            out = []
            for i in ids:
                one = dict(self.instances[i].map_made)
                if self.instances[i].added is not None:
                    one[4] = self.instances[i].added - base
                out.append(one)
            self.body(4, {**({1: base} if base else {}), 2: ranges(rng, ids), 3: out}, True)
        m = {}
        if self.counters:
            m[1], m[2] = 1, self.counter_maps
        if self.strings:
            m[5], m[6] = 1, self.strings
        ids = sorted(i for i in self.groups)
        if ids:
            m[3] = ranges(rng, ids)
            m[4] = [{1: g.source, **({2: g.flags} if g.flags else {}), 3: steps(rng, g.counters), 4: steps(rng, g.instances)}
                    for g in (self.groups[i] for i in ids)]
        if m:
            self.body(3, m, True)
        self.key_next = True

    # ---- numbers ----

    def number_of(self, g, c, instance, tick):
        """The next number of a column."""
        rng, counter = self.rng, self.counter(c)
        key = g.flags & LIST, c, instance
        old = self.state.get(key)
        if counter.is_string:
            return rng.choice([0, rng.randint(0, len(self.strings)), 1 << 40]) if rng.random() < 0.3 or old is None else old
        mask = (1 << counter.width) - 1
        if counter.plain == "f64":
            if old is not None and rng.random() < 0.5:
                return old
            return bits_of(rng.choice([rng.randrange(1000) / 4, round(rng.random() * 50, rng.randrange(5)), float(rng.randrange(50)), -0.0, 1e300 * rng.random(),
                                       float("inf"), float("nan"), struct.unpack("<f", struct.pack("<f", rng.random()))[0], 5e-324, -rng.random()]
                                      if rng.random() < 0.3 else [rng.randrange(80) / 4, round(20 + rng.random(), 1)]))
        if old is None:
            first = rng.choice([0, 0, 5, rng.getrandbits(20), rng.getrandbits(64), mask - rng.randrange(100) & mask])
            return first if counter.plain == "s64" or rng.random() < 0.03 else first & mask
        k = rng.random()
        if k < 0.4:
            return old
        if k < 0.8:
            new = old + rng.choice([1, 10, 100, 1 << 20]) + rng.randrange(3)
        elif k < 0.9:
            new = old - rng.randrange(5)
        else:
            new = rng.getrandbits(rng.choice([8, 32, 64]))
        return new & M64 if counter.plain == "s64" or rng.random() < 0.01 else new & mask

    def fill(self, g, ticks):
        rng = self.rng
        v = [[] for _ in range(sum(b.count for b in g.bands))]
        reasons, t = {}, g.times
        for r, tick in enumerate(ticks):
            slow = rng.randrange(1 + self.interval // 100)
            for k in range(t):
                begin = tick + rng.randrange(100) + k * 10
                v[k].append(begin)
                v[t + k].append(begin + slow)
                if g.flags & PERF:
                    on = tick - self.time0 + rng.randrange(50)
                    v[2 * t + k].append(on & M64)
                    v[3 * t + k].append(on - rng.choice([0, 0, on // 2]) & M64)
            first = len(v) - len(g.values)
            for k, (c, i) in enumerate(g.values):
                if rng.random() < self.holes:
                    reasons[k, r] = rng.choice([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 499, 500, 999, 1002, 1013, 1999, 2000, 65535])
                    v[first + k].append(None)
                else:
                    x = self.number_of(g, c, i, tick)
                    self.state[g.flags & LIST, c, i] = x
                    v[first + k].append(x)
        for k, column in enumerate(v):
            valid = [x for x in column if x is not None]
            last = g.before.v[k] if g.before is not None else valid[0] if valid else 0
            for r, x in enumerate(column):
                if x is None:
                    column[r] = last
                last = column[r]
        return v, reasons

    def make_chunk(self):
        rng = self.rng
        self.holes = rng.choice([0, 0, 0.02, 0.3, 1])
        key = self.key_next or self.last is None or self.since_key >= 15 or rng.random() < 0.15
        if key and rng.random() < 0.1 and self.last is not None:
            self.segment += 1
            if rng.random() < 0.3:
                self.run += 1
        if key and rng.random() < 0.2:
            self.has_raw, self.has_boot, self.has_real = (rng.random() < 0.8 for _ in range(3))
        self.key_next = False
        self.since_key = 0 if key else self.since_key + 1
        rows = rng.choice([1, 1, 1, 2, 3, rng.randint(4, 20)] if rng.random() < 0.97 else [64, 127, 128])
        step = self.interval if rng.random() < 0.9 else rng.getrandbits(30)
        ticks, numbers = [], []
        for _ in range(rows):
            lost = rng.choice([0] * 20 + [3])
            self.time += self.interval * (1 + lost) + (rng.choice([0, 0, 1, -1, 500]) if self.time > 1000 else 0)
            ticks.append(self.time)
            numbers.append(self.number + lost)
            self.number += 1 + lost
        self.time0 = getattr(self, "time0", self.time)
        if key:
            for g in self.live_rows:
                g.before = None
            self.live_rows.clear()
        live = list(self.groups.values())
        if rng.random() < self.pauses:
            live = rng.sample(live, rng.randint(0, len(live)))
        if rng.random() < 0.2:
            rng.shuffle(live)
        codec = 1 if key and rng.random() < 0.2 else 0
        more = self.extra({}, 21)
        if rng.random() < 0.1:
            more[20] = ranges(rng, [g.id for g in self.groups.values() if g not in live])
        newer = self.later(0.1)
        if newer and rng.random() < 0.5:
            codec = rng.choice([2, 3, (1 << 31) - 1])
        elif newer:
            self.critical(more, None)
        groups = []
        for g in live:
            if g.unknown:
                groups.append((g, anything(rng), {}, False))
                continue
            v, reasons = self.fill(g, ticks)
            groups.append((g, v, reasons, not key and (g.before is None or rng.random() < 0.15) or key and rng.random() < 0.1))
        mono = ticks[0] + rng.randrange(1000)
        c = {"key": key, "codec": codec, "run": self.run, "segment": self.segment, "step": step, "ticks": ticks, "numbers": numbers,
             "flags": [rng.choice(self.flags) for _ in ticks],
             "clocks": [mono, mono + self.skew if self.has_raw else 0, mono + 5 if self.has_boot else 0, rng.choice([0, mono * 3 & M64])],
             "realtime": 17 * 10 ** 17 + mono if self.has_real else None, "groups": groups,
             "newer": newer or self.stopped or not key and self.last["newer"]}
        self.chunk(c, more)

    def live(self, most):
        """Let a random time pass."""
        rng = self.rng
        while not self.instances:
            self.new_instances(rng.randint(1, 8))
        self.define(rng.randint(1, 12), rng.randint(0, 4), rng.randint(1, 5))
        for _ in range(rng.randint(1, most)):
            k = rng.random()
            if k < 0.55:
                self.make_chunk()
            elif k < 0.65:
                self.new_instances(rng.randint(0, 3))
            elif k < 0.78:
                self.define(rng.choice([0, 0, 1, 3]), rng.choice([0, 0, 1]), rng.randint(0, 3))
            elif k < 0.9:
                self.others()
            elif k < 0.95:
                self.repeat()
            elif k < 0.98:
                self.index()
            else:
                self.end()
        if rng.random() < 0.6:
            self.index()
        if rng.random() < 0.9:
            self.end()

    # ---- what must be found ----

    def expected(self):
        """(chunk, row, group, counter, instance, number, reason, times) of each value, in the order of the file."""
        for c in self.chunks:
            for r in range(len(c["ticks"])):
                for g, v, reasons, _ in c["groups"]:
                    if g.unknown or g.newer or c["newer"]:
                        for counter, instance in g.values:
                            yield c, r, g, counter, instance, 0, 12, []
                        continue
                    first = len(v) - len(g.values)
                    for k, (counter, instance) in enumerate(g.values):
                        at = 0 if g.times == 1 else k % g.times
                        newer = self.counter(counter).newer or self.all_instances[instance].newer
                        yield c, r, g, counter, instance, v[first + k][r], 12 if newer else reasons.get((k, r), 0), [v[t + at][r] for t in range(0, first, g.times)]


def rng_key(rng):
    k = rng.choice([rng.randint(20, 79), rng.randint(90, 99), rng.randint(110, 179), rng.randint(210, 279), rng.randint(310, 379), rng.randint(400, 511)])
    return k if k not in (50, 150, 250, 350) else k + 1


def as_pairs(m):
    return Map((k, as_pairs(v) if isinstance(v, dict) else v) for k, v in m.items())
