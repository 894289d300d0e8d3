"""Recordings without a machine: a world whose counters a test programs, written by the words of format/SPEC.md.

CPUs 0 to 7 are two packages of two cores of two threads; a core is a cluster, and may be a die or a node, too. Truth is in the functions that a test
gives; the time that goes by is RAW, and MONOTONIC is what a slewed clock shows of it."""

import os
import struct
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden"))
import encode

S = 10**9
KINDS = {"system": 0, "package": 1, "die": 2, "cluster": 3, "node": 5, "core": 6, "cpu": 7, "pmu": 8, "task": 9, "cgroup": 10,
         "device": 11}
TYPES = ["u64", "s64", "f64"]
SEMANTICS = ["cumulative", "delta", "gauge", "peak", "state", "bitfield"]
RULES = ["sum", "mean", "max", "min", "first", "none"]
OFFLINE, MISSED, GONE, DROPPED, NOT_READ, NOT_COUNTED = 4, 5, 6, 7, 10, 1
ONLINE = 1


class World:
    """group() and value functions first, then write()."""
    recording = b"\x11" * 8

    def __init__(self, cpus=8, slew=0.0, tsc_hz=0, header=None, of_cores="cluster"):
        self.cpus, self.slew, self.tsc_hz, self.of_cores = cpus, slew, tsc_hz, of_cores
        self.instances, self.ids, self.counters, self.names, self.groups = [], {}, [], {}, []
        self.pmus, self.config = [], {}
        self.facts = {}  # one-time values
        self.header = {1: "test", 13: S, 5: "x86_64", 18: "system", 28: True, **(header or {})}

    def instance(self, kind, number=None, cpu=None, name=None):
        key = kind, number, name
        if key not in self.ids:
            i = {1: KINDS[kind]}
            if number is not None and kind != "pmu":
                i[2] = number
            if cpu is not None:
                i[3] = cpu
            if name:
                i[6] = {1: name}
            self.instances.append(i)
            self.ids[key] = len(self.instances)
        return self.ids[key]

    def each_cpu(self):
        return [self.instance("cpu", c, c) for c in range(self.cpus)]

    def each_package(self):
        return [self.instance("package", p, 4 * p) for p in range((self.cpus + 3) // 4)]

    def each_core(self):
        return [self.instance("core", c // 2 % 2, c) for c in range(0, self.cpus, 2)] if self.cpus <= 4 else [
            self.instance("core", c // 2 % 2, c, "core%d" % (c // 2)) for c in range(0, self.cpus, 2)]

    def each_own(self):
        """The cores as what else they are."""
        return [self.instance(self.of_cores, c // 2, c) for c in range(0, self.cpus, 2)]

    def system(self):
        return [self.instance("system")]

    def counter(self, name, semantics="cumulative", rule="sum", width=64, kind="u64", scale=None, unit="1",
                source="test", attrs=None):
        c = {1: name, 3: source, 4: unit}
        if scale:
            c[5] = scale
        if kind != "u64":
            c[6] = TYPES.index(kind)
        if semantics != "cumulative":
            c[7] = SEMANTICS.index(semantics)
        if width != 64:
            c[8] = width
        if rule != "sum":
            c[9] = RULES.index(rule)
        c[10] = {2: True, **(attrs or {})}
        self.counters.append(c)
        self.names[name] = len(self.counters), width, kind
        return name

    def pmu(self, name, number, events):
        """A PMU with a name for each event: {name: config}, the low byte the event, the next the umask."""
        self.pmus.append({1: name, 2: number, 7: [["event", "config:0-7"], ["umask", "config:8-15"]],
                          8: [[e, "event=0x%x,umask=0x%x" % (c & 255, c >> 8), "", "", 0] for e, c in events.items()]})
        self.config.update({"%s/%s/" % (name, e): (number, c) for e, c in events.items()})

    def event(self, name, group=1, pmu="cpu", **more):
        """A counter of perf."""
        text = name.split("#")[0]
        attrs = {11: pmu, 12: text, 13: group, 14: 0}
        if text in self.config:
            attrs[10] = struct.pack("<IIQ", self.config[text][0], 136, self.config[text][1]) + bytes(120)
        return self.counter(name, source="perf", attrs=attrs, **more)

    def group(self, counters, instances, perf=False, source="test", late=40_000, span=20_000):
        """One counter for each name and instance; late: how much later each instance is read than the one before."""
        self.groups.append((counters, instances, perf, source, late, span))
        return len(self.groups)

    def write(self, path, ticks, value, enabled=None, per_chunk=1, place=None, span=None, jitter=None, flags=None):
        """value(counter, instance id, snapshot, time): number, or ("reason",) as (None, reason); enabled(...) the same:
        (enabled, running); place(snapshot): (run, segment); flags: {snapshot: flags}; ticks: MONOTONIC ns since the start."""
        r = encode.Recording(self.recording)
        r.body(encode.HEADER, self.header)
        cpus = range(self.cpus)
        dies, nodes = self.of_cores == "die", 2 if self.of_cores == "node" else 4
        r.body(encode.TOPOLOGY, {1: encode.START, 2: list(cpus), 3: [c // 4 for c in cpus],
                                 4: [dies * (c // 2 % 2) for c in cpus], 5: [c // 2 for c in cpus],
                                 6: [c // 2 % 2 for c in cpus], 7: [c // nodes for c in cpus], 8: [c % 2 for c in cpus],
                                 15: [1 for c in cpus]})
        r.body(encode.INSTANCES, {2: 1, 3: self.instances})
        groups = []
        for counters, instances, perf, source, _, _ in self.groups:
            groups.append({1: source, 2: 4 if perf else 0,
                           3: [x for c in counters for x in (self.names[c][0], 1, 0)],
                           4: [x for i in instances for x in (i, 1, 0)]})
            if not perf:
                del groups[-1][2]
        if self.pmus:
            r.body(encode.PMUS, {1: 0, 2: self.pmus})
        if self.facts:
            r.body(encode.CONFIG, {1: [{1: k, 2: encode.START, 3: 0, 50: v} for k, v in self.facts.items()]})
        r.body(encode.SCHEMA, {1: 1, 2: self.counters, 3: 1, 4: groups})
        place = place or (lambda s: (1, 0))
        at = 0
        while at < len(ticks):
            rows = [at]
            while len(rows) < per_chunk and rows[-1] + 1 < len(ticks) and place(rows[-1] + 1) == place(at):
                rows.append(rows[-1] + 1)
            self.chunk(r, rows, ticks, value, enabled, place(at), span, jitter, flags or {})
            at = rows[-1] + 1
        r.end()
        r.save(path)

    def chunk(self, r, rows, ticks, value, enabled, place, span_of, jitter, flagged):
        blocks = []
        for number, (counters, instances, perf, _, late, span) in enumerate(self.groups, 1):
            begin, end = [], []
            for k, i in enumerate(instances):
                b = [encode.START + ticks[s] + late * (k + 1) + (jitter(i, s) if jitter else 0) for s in rows]
                begin.append(b)
                end.append([x + (span_of(i, s) if span_of else span) for x, s in zip(b, rows)])
            bands = [("u64", begin), ("u64", end)]
            if perf:
                pairs = [[enabled(number, i, s, ticks[s]) for s in rows] for i in instances]
                bands += [("u64", [[p[0] for p in of] for of in pairs]), ("u64", [[p[1] for p in of] for of in pairs])]
            flags = []
            for c in counters:
                _, width, kind = self.names[c]
                columns = []
                for i in instances:
                    column, before = [], 0
                    for s in rows:
                        v = value(c, i, s, ticks[s])
                        reason = 0
                        if isinstance(v, tuple):
                            v, reason = before, v[1]
                        flags.append(reason)
                        before = v
                        column.append(v if kind != "u64" else v % (1 << 64))
                    columns.append(column)
                bands.append((kind, columns))
            blocks.append((number, bands, triples(flags)))
        first = ticks[rows[0]]
        raw = round(first / (1 + self.slew))
        clocks = [encode.START + first, 77 * S + raw, encode.START + first,
                  5 * S + round(raw * self.tsc_hz / S) if self.tsc_hz else 0]
        head = {5: place[0], 6: place[1], 11: rows[0]}
        marks = [x for k, s in enumerate(rows) if s in flagged for x in (k, flagged[s])]
        r.chunk(blocks, [encode.START + ticks[s] for s in rows], clocks, {**head, 13: marks} if marks else head)


def triples(flags):
    out, valid, at = [], 0, 0
    while at < len(flags):
        if not flags[at]:
            valid += 1
            at += 1
            continue
        n = at
        while n < len(flags) and flags[n] == flags[at]:
            n += 1
        out += [valid, n - at, flags[at]]
        valid, at = 0, n
    return out
