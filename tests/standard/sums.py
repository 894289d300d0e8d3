"""What intervals and totals of counters are, by the table of semantics in format/SPEC.md, beside `pmrep show --format=csv`."""

import csv
import fractions
import io

from codec import bits_of, double, signed
from dumped import run
from reader import Counter, Group, Instance
from worlds import World, as_pairs

F = fractions.Fraction
UNITS = ("1", "By", "s")


class Sums(World):
    """CPUs whose counters have every semantics; each row is read at once, at its tick."""

    flags, pauses = (0, 1), 0

    def __init__(self, rng):
        super().__init__(rng, exotic=False)
        self.cpu_count = rng.randint(1, 3)
        listed = [{1: 7, 2: k, 3: k} for k in range(self.cpu_count)]
        self.body(2, {1: self.time, 2: list(range(self.cpu_count)), 15: [1] * self.cpu_count})
        self.body(4, {2: 1, 3: listed})
        self.maps = []
        for k in range(rng.randint(1, 8)):
            m = {1: "k%d" % k, 3: "own", 4: rng.choice(UNITS), 6: rng.randrange(3), 7: rng.randrange(5), 9: rng.randrange(4)}
            if m[6] == 0 and rng.random() < 0.5:
                m[8] = rng.choice([8, 24, 32, 48, 63])
            if rng.random() < 0.4:
                m[5] = rng.choice([[1, 1000], [3, 7], "1e-6", "0.25", "2.3283064365386962890625e-10"])
            self.maps.append(m)
        ids = list(range(1, self.cpu_count + 1))
        self.define_made(self.maps, ids)

    def define_made(self, maps, ids):
        self.all_instances = {i: Instance(as_pairs({1: 7, 2: i - 1, 3: i - 1}), 0) for i in ids}
        self.counters = [Counter(as_pairs(m)) for m in maps]
        self.body(3, {1: 1, 2: maps, 3: 1, 4: [{1: "own", 2: 2, 3: [1, len(maps), 1], 4: [1, len(ids), 1]}]})
        self.group_made = Group("own", 2, list(range(1, len(maps) + 1)), ids)
        self.group_made.id, self.group_made.unknown, self.group_made.newer = 1, False, False
        self.group_made.bands, self.group_made.values = self.group_made.shape(self.counter)
        self.groups[1] = self.all_groups[1] = self.group_made

    def fill(self, g, ticks):
        self.holes = 0
        return super().fill(g, ticks)

    def number_of(self, g, c, instance, tick):
        rng, counter, key = self.rng, self.counter(c), (c, instance)
        old, mask = self.state.get(key), (1 << self.counter(c).width) - 1
        if counter.semantics == 0:
            step = min(rng.choice([0, 1, 7, 1000]), mask // 2)     # more looks like a reset
            if counter.plain == "f64":
                new = bits_of((double(old) if old is not None else 0.0) + step / 4)
            else:
                new = (old if old is not None else mask - rng.randrange(3000) if counter.width < 64 else rng.getrandbits(20)) + step & mask
        else:
            new = rng.randrange(200) if counter.plain != "f64" else bits_of(rng.randrange(200) / 8)
        self.state[key] = new
        return new


def sums(rng):
    world = Sums(rng)
    while len(world.chunks) < 2 or rng.random() < 0.7:
        world.make_chunk()
    world.end()
    return world


def number(counter, v):
    return F(double(v)) if counter.plain == "f64" else F(signed(v)) if counter.plain == "s64" else F(v)


def over(counter, rows):
    """The value over rows [(tick, number)], of which the first is where the interval begins."""
    scale = F(counter.scale) if isinstance(counter.scale, str) else F(*counter.scale)
    v = [number(counter, x) for _, x in rows]
    if counter.semantics == 0:
        steps = [b - a for a, b in zip(v, v[1:])]
        return sum(d % (1 << counter.width) if counter.plain == "u64" else d for d in steps) * scale
    if counter.semantics == 1:
        return sum(v[1:]) * scale
    if counter.semantics == 2:
        times = [b - a for (a, _), (b, _) in zip(rows, rows[1:])]
        return sum(x * t for x, t in zip(v[1:], times)) / sum(times) * scale
    if counter.semantics == 3:
        return max(v[1:]) * scale
    return v[-1] * scale


def check(pmrep, world, path):
    """Every interval and the total of every segment, for each CPU."""
    rows = {}
    for c, r, g, counter, instance, v, reason, times in world.expected():
        rows.setdefault((counter, instance), []).append((c["run"], c["segment"], F(sum(times), 2), v))
    n = 0
    for options, total in ((("--all",), False), (("--total",), True)):
        out, _ = run(pmrep, "show", "-s", ",".join(m[1] for m in world.maps), "--per-cpu", "--format=csv", *options, path, code=(0, 3))
        got = {}
        for line in csv.DictReader(io.StringIO(out)):
            got.setdefault((line["metric"], int(line["cpu"])), []).append(line)
        for (counter, instance), all_rows in rows.items():
            c = world.counter(counter)
            lines = [l for l in got.get((c.name, instance - 1), []) if l["status"] == "ok"]
            parts = {}
            for run_, segment, tick, v in all_rows:
                parts.setdefault((run_, segment), []).append((tick, v))
            if total and len(parts) > 1:
                continue        # several segments have no common total here
            spans = [p for p in parts.values() if len(p) > 1]
            expected = [over(c, p) for p in spans] if total else [over(c, [a, b]) for p in spans for a, b in zip(p, p[1:])]
            values = [float(l["value"]) for l in lines]
            assert len(values) == len(expected), "%s of CPU %d: %d values, not %d" % (c.name, instance - 1, len(values), len(expected))
            for value, wanted in zip(values, expected):
                assert abs(value - float(wanted)) <= (1e-6 if c.semantics == 2 else 1e-9) * max(1e-300, abs(float(wanted))), \
                    "%s (semantics %d, type %d, scale %s) of CPU %d%s: %r, not %r" % (c.name, c.semantics, c.type, c.scale, instance - 1,
                                                                                   " in total" if total else "", value, float(wanted))
                n += 1
    return n
