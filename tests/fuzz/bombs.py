#!/usr/bin/python3
"""Recordings that ask for much in few bytes, or lie within the rules: bombs.py DIR [--run FUZZ_COMMANDS] [NAME...]

All have right checksums. --run: every command runs on each, and has to end in time and within memory.
"""

import os
import random
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../golden"))
from encode import CHUNK, CONFIG, EVENT, HEADER, INDEX, INSTANCES, PMUS, PROBES, SCHEMA, START, TOPOLOGY, Recording, cbor2, decode, times

import zstandard  # encode has skipped the test where it is missing

SECOND = 10**9
MIB = 1 << 20
PACKER = zstandard.ZstdCompressor(level=12, write_content_size=True)


class Bomb(Recording):
    def packed(self, kind, body, meta=None):
        """A body as one zstd frame, a map or the bytes of one. An unknown key takes what it packs too well: 900 to 1."""
        raw = body if isinstance(body, bytes) else cbor2.dumps(body, canonical=True)
        small = PACKER.compress(raw)
        if len(raw) > MIB + 900 * len(small):
            noise = random.Random(len(raw)).randbytes(len(raw) // 900)
            raw = bytes([raw[0] + 1]) + raw[1:] + cbor2.dumps(511) + cbor2.dumps(noise)
            small = PACKER.compress(raw)
        self.frame(kind, small, {2: 1, 3: len(raw), **(meta or {})})

    def begin(self, more=None, cpus=2):
        self.body(HEADER, {1: "pmrec 1", 5: "x86_64", 13: SECOND, 16: 100, 18: "system", 28: True, **(more or {})})
        self.body(TOPOLOGY, {1: START, 2: list(range(cpus)), 3: [0] * cpus, 15: [1] * cpus})

    def values(self, group, counters, ticks, instances=1, realtime=None):
        """A chunk of one group with shared times; each column has the same numbers."""
        bands = [t for t in ([t + 100 for t in ticks], [t + 350 for t in ticks])]
        bands += [[100 * (1 + i) for i in range(len(ticks))] * instances] * counters
        block = cbor2.dumps([cbor2.CBORTag(71, struct.pack("<%dQ" % len(b), *(x % 2**64 for x in b))) for b in bands]) + cbor2.dumps([])
        small = PACKER.compress(block)
        more = [b - a - SECOND for a, b in zip(ticks, ticks[1:])]
        self.frame(CHUNK, small, {2: 1, 7: len(ticks), 8: SECOND, 9: ticks[0], **({10: more} if any(more) else {}),
                                  14: [ticks[0], ticks[0], ticks[0], 0], 16: [group, 1],
                                  17: [len(small), len(block), decode.crc32c(small), 1],
                                  300: realtime or 1_750_000_000 * SECOND + ticks[0] - START})


def ticks_of(n, step=SECOND, start=START):
    return [start + i * step for i in range(n)]


def counter(name, **more):
    return {1: name, 3: "stat", 4: "1", 10: {2: True}, **{int(k[1:]): v for k, v in more.items()}}


def simple(r, rows=3, n=1, counters=None):
    """The rest of a recording that would be ordinary: CPUs, `n` counters of the system, `rows` snapshots."""
    r.body(INSTANCES, {2: 1, 3: [{1: 0}] + [{1: 7, 2: c, 3: c} for c in range(2)]})
    counters = counters or [counter("c.%d" % i) for i in range(n)]
    r.packed(SCHEMA, {1: 1, 2: counters, 3: 1, 4: [{1: "stat", 2: 2, 3: [1, len(counters), 1], 4: [1, 1, 0]}]})
    r.values(1, len(counters), ticks_of(rows))


def texts(r):
    "64 MiB of definitions in 64 kB, eight times"
    r.begin()
    for i in range(8):
        r.packed(CONFIG, {1: [{1: "stat.%d.%d" % (i, k), 2: START, 3: 0, 50: "\x1b" * (MIB - 64)} for k in range(40)]})
    simple(r)


def text_names(r):
    "names of 512 bytes that a page, a shell and a terminal read as something"
    r.begin()
    simple(r, n=0, counters=[counter(("%05d" % i + "<\x1b\u202e,\"=" * 60)[:300], _2="\u202e" * 500) for i in range(20000)])


def label_flood(r):
    r.begin({203: [["key%d" % i, "v"] for i in range(200000)], 201: ["x"] * 300000, 205: ["-y"] * 300000, 22: ["h"] * 100000})
    simple(r)


def metrics_deep(r):
    "formulas that nest, and formulas that are long"
    deep = [["m.deep%d" % i, "1", "(" * d + "c.0" + ")" * d, "", "", ""] for i, d in enumerate((100, 10000, 300000))]
    wide = [["m.wide%d" % i, "1", "+".join(["c.*"] * n), "", "", ""] for i, n in enumerate((100, 10000))]
    minus = [["m.minus", "1", "-" * 300000 + "c.0", "", "", ""], ["m.if", "1", "1 if " * 50000 + "1" + " else 2" * 50000, "", "", ""]]
    r.begin({31: deep + wide + minus})
    simple(r, n=300)


def metrics_many(r):
    "vendors' metrics, each over all counters"
    r.begin({31: [["m.%d" % i, "1", "+".join("c.%d" % k for k in range(60)), "m.%d > 1" % i, "g%d" % i, "h"] for i in range(5000)]})
    simple(r, n=60, rows=60)


def metrics_chain(r):
    "metrics that name one another"
    r.begin({31: [["m.%d" % i, "1", "m.%d + m.%d" % (i + 1, i + 1), "", "", ""] for i in range(3000)] + [["m.3000", "1", "m.0", "", "", ""]]})
    simple(r)


def counters_many(r):
    r.begin()
    simple(r, counters=[counter("c%d" % i) for i in range(400000)])


def counters_family(r):
    "members of families, and wildcards over them"
    r.begin({31: [["m.%d" % i, "1", "sum(cpuidle.*)", "", "", ""] for i in range(100)]})
    simple(r, counters=[{1: "cpuidle.time.%d" % i, 3: "cpuidle", 4: "s", 10: {3: "cpuidle.time.*", 4: "C%d" % i}} for i in range(50000)])


def perf_counter(pmu, event, group, more=None):
    return {1: "%s.%s.%d" % (pmu, event, group), 3: "perf", 4: "1", 10: {2: True, 11: pmu, 12: event, 13: group, 23: event, **(more or {})}}


def perf_groups(r):
    "an event that was counted in 6,000 groups"
    r.begin({31: [["m.%d" % i, "1", "cycles / (instructions + %d)" % i, "", "", ""] for i in range(50)]})
    simple(r, counters=[perf_counter("cpu", "cycles" if i % 2 else "instructions", 1 + i // 2) for i in range(12000)])


def perf_pmus(r):
    "10,000 PMUs of a kind, and a formula for each"
    r.begin({31: [["m.%d" % i, "1", "uncore_%d@reads@ + uncore@reads@" % i, "", "", ""] for i in range(3000)]})
    simple(r, counters=[perf_counter("uncore_%d" % i, "uncore_%d/reads/" % i, 1 + i, {20: 1 + i}) for i in range(10000)])


def groups_many(r):
    r.begin()
    r.body(INSTANCES, {2: 1, 3: [{1: 0}]})
    r.packed(SCHEMA, {1: 1, 2: [counter("c.0")], 3: 1, 4: [{1: "stat", 2: 2, 3: [1, 1, 0], 4: [1, 1, 0]}] * 250000})
    r.values(250000, 1, ticks_of(3))


def group_churn(r):
    "a group that retires for each second"
    r.begin()
    r.body(INSTANCES, {2: 1, 3: [{1: 0}]})
    r.body(SCHEMA, {1: 1, 2: [counter("c.0")]})
    for i in range(3000):
        r.body(SCHEMA, {3: i + 1, 4: [{1: "stat", 2: 2, 3: [1, 1, 0], 4: [1, 1, 0]}], **({7: [i, 1]} if i else {})})
        r.values(i + 1, 1, ticks_of(2, start=START + 2 * i * SECOND))


def instance_churn(r):
    "a thousand tasks that are others in each second"
    r.begin()
    r.body(SCHEMA, {1: 1, 2: [counter("task.cpu_time")]})
    each = 1000
    for i in range(200):
        t = START + i * SECOND
        r.packed(INSTANCES, {1: t, 2: i * each + 1, 3: [{1: 9, 2: i * each + k, 4: 0, 6: {1: "task-%d" % (i * each + k), 200: k + 1, 202: "x%d" % k}}
                                                       for k in range(each)], **({4: [(i - 1) * each + 1, 0] + [1, 0] * (each - 1)} if i else {})})
        r.body(SCHEMA, {3: i + 1, 4: [{1: "tasks", 2: 2, 3: [1, 1, 0], 4: [i * each + 1, each, 1]}], **({7: [i, 1]} if i else {})})
        r.values(i + 1, 1, ticks_of(2, SECOND // 2, t), each)


def instances_many(r):
    r.begin()
    names = [{1: 11, 2: i, 6: {1: "dev%d" % i, 100: "/sys/devices/pci/%d" % i}} for i in range(200000)]
    r.packed(INSTANCES, {2: 1, 3: names})
    r.packed(SCHEMA, {1: 1, 2: [counter("disk.read")], 3: 1, 4: [{1: "diskstats", 2: 2, 3: [1, 1, 0], 4: [1, len(names), 1]}]})
    r.values(1, 1, ticks_of(3), len(names))


def cgroups_many(r):
    r.begin(cpus=64)
    r.packed(INSTANCES, {2: 1, 3: [{1: 10, 2: 1 + i // 64, 3: i % 64, 6: {1: "cgroup-%d" % (i // 64), 203: "/a/%d" % (i // 64)}} for i in range(65536)]})
    r.packed(SCHEMA, {1: 1, 2: [{1: "cycles", 3: "perf", 4: "1", 10: {2: True, 11: "cpu", 12: "cycles", 23: "cycles", 24: 0}}],
                      3: 1, 4: [{1: "perf", 2: 2, 3: [1, 1, 0], 4: [1, 65536, 1]}]})
    r.values(1, 1, ticks_of(3), 65536)


def values_wide(r):
    "62 MiB of numbers in a block of a few kilobytes, five times"
    r.begin()
    r.body(INSTANCES, {2: 1, 3: [{1: 0}]})
    n = 60000
    r.packed(SCHEMA, {1: 1, 2: [counter("c%d" % i) for i in range(n)], 3: 1, 4: [{1: "stat", 2: 2, 3: [1, n, 1], 4: [1, 1, 0]}]})
    for i in range(5):
        r.values(1, n, ticks_of(128, start=START + 128 * i * SECOND))


def values_long(r):
    "a few columns, 2,000 chunks"
    r.begin()
    simple(r, n=200)
    for i in range(1, 2000):
        r.values(1, 200, ticks_of(128, start=START + 128 * i * SECOND))


def strings_many(r):
    "a text counter that says something new each time"
    r.begin()
    r.body(INSTANCES, {2: 1, 3: [{1: 0}]})
    r.packed(SCHEMA, {1: 1, 2: [{1: "t", 3: "stat", 4: "1", 6: 3, 7: 4, 10: {2: True}}], 3: 1, 4: [{1: "stat", 2: 2, 3: [1, 1, 0], 4: [1, 1, 0]}],
                      5: 1, 6: ["%d" % i + "x" * 100 for i in range(400000)]})
    r.values(1, 1, ticks_of(128))


def repeated(r):
    "100,000 times the same definitions"
    r.begin()
    simple(r)
    header, schema = {1: "pmrec 1", 13: SECOND}, {1: 1, 2: [counter("c.0")]}
    for i in range(50000):
        r.frame(HEADER, cbor2.dumps(header), {4: True})
        r.frame(SCHEMA, cbor2.dumps(schema), {4: True})


def headers(r):
    "20,000 headers and topologies, each another"
    r.begin()
    simple(r)
    for i in range(20000):
        r.body(HEADER, {1: "pmrec %d" % i, 13: SECOND + i})
        r.body(TOPOLOGY, {1: START, 2: [i % 65536], 3: [0]})


def topologies(r):
    "60 topologies of 65,536 CPUs with a type each"
    r.begin()
    for i in range(60):
        r.packed(TOPOLOGY, {1: START + i, **{key: list(range(65536)) for key in (2, 3, 4, 5, 6, 7, 12, 13)}, 16: ["t%d" % k for k in range(65536)]})
    simple(r)


def recordings(r):
    "4,000 recordings in one file"
    whole = b""
    for i in range(4000):
        one = Bomb(struct.pack(">Q", i + 1))
        one.begin()
        simple(one, rows=2)
        one.end()
        whole += one.data
    r.data = whole


def events_many(r):
    "two million events in a few kilobytes"
    r.begin()
    simple(r)
    one = cbor2.dumps({1: 1, 2: 5, 3: {200: "x"}})
    for i in range(4):
        n = 500000
        r.packed(EVENT, b"\xa2\x01" + cbor2.dumps(START) + b"\x02\x9a" + struct.pack(">I", n) + one * n)


def events_texts(r):
    "markers of a MiB"
    r.begin()
    simple(r)
    for i in range(6):
        r.packed(EVENT, {1: START, 2: [{1: 1, 2: k, 3: {200: "\u202e" * 300000, 15: "<b>" * 300000}} for k in range(30)]})


def hotplug(r):
    "CPUs that come and go a million times"
    r.begin()
    simple(r)
    n = 500000
    pair = b"".join(cbor2.dumps({1: 2 + i % 2, 2: i, 3: {3: i % 7}}) for i in range(1000))
    for i in range(2):
        r.packed(EVENT, b"\xa2\x01" + cbor2.dumps(START) + b"\x02\x9a" + struct.pack(">I", n) + pair * (n // 1000))


def configs_many(r):
    r.begin()
    for i in range(10):
        r.packed(CONFIG, {1: [{1: "msr.0x%x" % (i * 30000 + k), 2: START, 3: 7, 4: [0, 4], 50: k} for k in range(30000)]})
    simple(r)


def configs_odd(r):
    "values of every kind where others are expected"
    names = ["msr.0x606", "msr.0x610", "cpuid.00000007.0", "cpuid.00000015.0", "cpufreq.scaling_driver", "pci.root_ports", "pci.functions",
             "tsc.khz", "cpufreq.base_frequency", "rapl.unit", "msr.0xce", "cpuid.00000000.0", "cpuid.00000001.0", "cpuid.00000006.0", "os.release"]
    odd = [True, -1, 2**64 - 1, 1.5, float("nan"), "x", b"\xff", [], [[]], [[[1] * 300] * 300], {1: {2: [3]}}, [2**63] * 300]
    r.begin()
    r.body(CONFIG, {1: [{1: n, 2: START, 3: 7, 4: [0, 1 + i], 50: v} for n in names for i, v in enumerate(odd)]})
    simple(r)


def pmus(r):
    r.begin()
    one = {1: "x", 7: [["f%d" % i, "config:0-63"] for i in range(50)], 8: [["e%d" % i, "config=%d" % i, "", "", 0] for i in range(300)]}
    r.packed(PMUS, {1: 0, 2: [{**one, 1: "uncore_%d" % i, 2: i + 10} for i in range(2000)]})
    simple(r)


def probes(r):
    r.begin()
    r.packed(PROBES, {1: 0, 2: [{1: "perf", 2: "event%d" % i + "y" * 200, 3: "h" * 300, 4: 1000 + i % 130} for i in range(60000)]})
    simple(r)


def nested(r):
    "lists in lists, where a reader skips"
    deep = b"\x81" * 900000 + b"\x00"
    r.begin()
    r.packed(HEADER, b"\xa2\x01\x61x\x18\x63" + deep)
    r.packed(CONFIG, b"\xa1\x01\x81\xa4\x01\x61a\x02\x00\x03\x00\x18\x32" + deep)
    simple(r)
    r.frame(77, deep)
    r.frame(EVENT, b"\xa1\x02\x81\xa3\x01\x01\x02\x00\x03\xa1\x18\x63" + deep[:3000000])


def far(r):
    "two snapshots five hundred years apart"
    r.begin()
    simple(r)
    r.values(1, 1, [2**63 - 10**9, 2**63 - 10**6])
    r.values(1, 1, [2**64 - 10**9, 2**64 - 1])


def far_realtime(r):
    r.begin()
    simple(r)
    for i in range(1, 20):
        r.values(1, 1, ticks_of(2, 1 << (2 * i), START + (1 << (2 * i + 20))), realtime=(1 << 64) - 1 if i % 2 else 1)


def back(r):
    "each chunk a second before the one before, and rows that go back inside"
    r.begin()
    simple(r)
    for i in range(200):
        r.values(1, 1, [START - i * SECOND, START - i * SECOND + 5, START - i * SECOND + 3])


def index_lies(r):
    r.begin()
    simple(r)
    entries = [[8, START + i, i, i * 7] for i in range(100000)]
    at = len(r.data)
    for i in range(5):
        r.packed(INDEX, {1: entries, 2: entries, 3: [0] * 100000}, {18: at, 19: 2**63})
    r.frame(11, b"\0" * 8, {18: 2**63, 19: 2**63})


def kinds(r):
    "kinds, types, semantics, flags and scopes that no version has"
    r.begin()
    r.body(INSTANCES, {2: 1, 3: [{1: k, 2: k, 3: k, 6: {1: "i%d" % k}} for k in list(range(0, 30)) + [63, 64, 127, 200, 255]]})
    r.body(SCHEMA, {1: 1, 2: [counter("c%d" % k, _6=k % 7, _7=k % 11, _9=k % 13, _8=1 + k % 64) for k in range(200)],
                    3: 1, 4: [{1: "s%d" % k, 2: k, 3: [1, 200, 1], 4: [k + 1, 1, 0]} for k in range(30)]})
    r.body(EVENT, {1: START, 2: [{1: k, 2: k, 3: {7: 2**64 - 1, 3: 2**64 - 1, 1: 2**64 - 1, 6: 2**64 - 1, 8: 2**64 - 1}} for k in range(256)]})
    r.values(1, 200, ticks_of(3))


BOMBS = [texts, text_names, label_flood, metrics_deep, metrics_many, metrics_chain, counters_many, counters_family, perf_groups, perf_pmus, groups_many, group_churn,
         instance_churn, instances_many, cgroups_many, values_wide, values_long, strings_many, repeated, headers, topologies, recordings,
         events_many, events_texts, hotplug, configs_many, configs_odd, pmus, probes, nested, far, far_realtime, back, index_lies, kinds]


def main(folder, *words):
    program, names = (words[1], words[2:]) if words[:1] == ("--run",) else (None, words)
    os.makedirs(folder, exist_ok=True)
    failed = 0
    for make in BOMBS:
        if names and make.__name__ not in names:
            continue
        path = os.path.join(folder, make.__name__ + ".pmr")
        r = Bomb()
        make(r)
        if make is not recordings:
            r.end()
        r.save(path)
        if program:
            print(make.__name__, end=": ", flush=True)
            failed += subprocess.run([program, "--as-it-is", path]).returncode != 0
    return failed and 1


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
