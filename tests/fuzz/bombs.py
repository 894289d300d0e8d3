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
    index = None

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

    def values(self, group, counters, ticks, instances=1, realtime=None, lost=None):
        """A chunk of one group with shared times, and of a lost one; each column has the same numbers."""
        bands = [t for t in ([t + 100 for t in ticks], [t + 350 for t in ticks])]
        bands += [[100 * (1 + i) for i in range(len(ticks))] * instances] * counters
        block = cbor2.dumps([cbor2.CBORTag(71, struct.pack("<%dQ" % len(b), *(x % 2**64 for x in b))) for b in bands]) + cbor2.dumps([])
        small = PACKER.compress(block)
        more = [b - a - SECOND for a, b in zip(ticks, ticks[1:])]
        blocks, groups = [len(small), 0, len(block), decode.crc32c(small), 1], [group, 1]
        if lost:
            small, blocks, groups = small + b"\x80", blocks + [1, 0, 0, decode.crc32c(b"\x80"), 1], groups + [lost, 1]
        self.frame(CHUNK, small, {2: 1, 7: len(ticks), 8: SECOND, 9: ticks[0], **({10: more} if any(more) else {}),
                                  14: [ticks[0], ticks[0], ticks[0], 0], 16: groups, 17: blocks,
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


def texts_again(r):
    "texts of a megabyte that stand in each row"
    big = lambda text: text * (MIB // len(text.encode()) - 1)
    r.begin()
    counters = [counter("c.%d" % i, _2=big("=d\u202e<\""), _4=big("u\x1b[2J<&\",=")) for i in range(3)]
    r.body(INSTANCES, {2: 1, 3: [{1: 0}]})
    r.packed(SCHEMA, {1: 1, 2: counters, 3: 1, 4: [{1: "stat", 2: 2, 3: [1, 3, 1], 4: [1, 1, 0]}]})
    for i in range(20):
        r.values(1, 3, ticks_of(128, start=START + 128 * SECOND * i))


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


def perf_wildcard(r):
    "two events of 3,000 PMUs that say where they count, each found by one wildcard"
    n = 3000
    r.begin()
    r.packed(PMUS, {1: 0, 2: [{1: "uncore_%d" % i, 2: i + 10, 4: "0-65535", 6: "0-65535"} for i in range(n)]})
    simple(r, counters=[perf_counter("uncore_%d" % (i // 2), "uncore_%d/e%d/" % (i // 2, i % 2), 1 + i, {20: 1 + i % 2}) for i in range(2 * n)])


def pmus_of_cores(r):
    "4,000 PMUs of as many kinds of CPUs: no machine is a hybrid of so many"
    r.begin()
    r.packed(PMUS, {1: 0, 2: [{1: "cpu_%d" % i, 2: i + 10, 6: "0-1"} for i in range(4000)]})
    simple(r, counters=[perf_counter("cpu_%d" % i, "cycles", 1 + i) for i in range(20)])


def pci(r):
    "4,000 PMUs, root ports and functions of a root complex"
    n = 4000
    r.begin()
    r.packed(PMUS, {1: 0, 2: [{1: "nvidia_pcie_pmu_%d_rc_1" % i, 2: i + 10, 6: "0-1"} for i in range(n)]})
    r.packed(CONFIG, {1: [{1: "pci.root_ports", 2: START, 3: 0, 50: [[0, i, 0, 0, 0, 1, i * 2 // n, 0] for i in range(n)]},
                          {1: "pci.functions", 2: START, 3: 0, 50: [[1, i, n - 1, 0, 0, 0] for i in range(n)]}]})
    r.packed(INSTANCES, {2: 9, 3: [{1: 8, 2: i, 6: {1: "nvidia_pcie_pmu_%d_rc_1" % i}} for i in range(n)]})
    simple(r)


def perf_cpus(r):
    "events of 65,536 CPUs"
    r.begin(cpus=65536)
    r.packed(INSTANCES, {2: 1, 3: [{1: 7, 2: c, 3: c} for c in range(65536)]})
    r.packed(SCHEMA, {1: 1, 2: [perf_counter("cpu", "cycles", 1)], 3: 1, 4: [{1: "perf", 2: 2, 3: [1, 1, 0], 4: [1, 65536, 1]}]})
    r.values(1, 1, ticks_of(3), 65536)


def registers(r):
    "registers of 65,536 packages, each with a rule of its own"
    r.body(HEADER, {1: "pmrec 1", 5: "x86_64", 8: "GenuineIntel", 10: "GenuineIntel-6-85-7", 13: SECOND, 18: "system", 28: True})
    r.packed(TOPOLOGY, {1: START, 2: list(range(65536)), 3: list(range(65536)), 15: [1] * 65536})
    r.packed(INSTANCES, {2: 1, 3: [{1: 1, 2: c, 3: c} for c in range(65536)]})
    r.packed(SCHEMA, {1: 1, 2: [counter("msr." + n, _3="msr") for n in ("tsc", "aperf", "mperf")], 3: 1,
                      4: [{1: "msr", 2: 2, 3: [1, 3, 1], 4: [1, 65536, 1]}]})
    r.values(1, 3, ticks_of(3), 65536)


def groups_many(r):
    r.begin()
    r.body(INSTANCES, {2: 1, 3: [{1: 0}]})
    r.packed(SCHEMA, {1: 1, 2: [counter("c.0")], 3: 1, 4: [{1: "stat", 2: 2, 3: [1, 1, 0], 4: [1, 1, 0]}] * 250000})
    r.values(250000, 1, ticks_of(3))


def groups_lost(r):
    "60,000 groups, and chunks of one that each lack another, whose definition is lost"
    r.begin()
    r.body(INSTANCES, {2: 1, 3: [{1: 0}]})
    r.packed(SCHEMA, {1: 1, 2: [counter("c.0")], 3: 1, 4: [{1: "stat", 2: 2, 3: [1, 1, 0], 4: [1, 1, 0]}] * 60000})
    for i in range(20000):
        r.values(1, 1, ticks_of(2, start=START + 2 * i * SECOND), lost=70000)


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


def clocks_jump(r):
    "clocks that stand still, wrap and run a thousand times too fast, and wall clocks at both ends of 64 bits"
    r.begin()
    r.body(INSTANCES, {2: 1, 3: [{1: 0}, {1: 7, 2: 0, 3: 0}, {1: 7, 2: 1, 3: 1}]})
    names = ["a", "msr.tsc", "msr.aperf", "msr.mperf"]
    r.body(SCHEMA, {1: 1, 2: [counter(n, _3="msr") for n in names], 3: 1, 4: [{1: "msr", 2: 2, 3: [1, 4, 1], 4: [2, 2, 1]}]})
    for i in range(30):
        t = ticks_of(2, start=START + 2 * i * SECOND)
        clocks = [[t[0], 0, 0, 0], [t[0], 2**64 - 1, 1, 2**64 - 1], [t[0], 1, 2**64 - 1, 5], [t[0], t[0] * 1000, t[0], 0],
                  [1, t[0], t[0], 2**63], [2**64 - 1] * 4][i % 6]
        r.chunk([(1, times(t, 1, 0) + [("u64", [[i, 2**63 + i]] * 2)] * 4, [])], t, clocks, {300: [0, 1, 2**64 - 1, 2**63, 10**18][i % 5]})


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


def index_again(r):
    "an index that names one frame a million times"
    r.begin()
    simple(r)
    r.data += b"damage"
    r.values(1, 1, ticks_of(2, start=START + 20 * SECOND))
    again = len(r.data)
    r.packed(SCHEMA, {1: 2, 2: [counter("d.%d" % i) for i in range(5000)], 3: 2, 4: [{1: "stat", 2: 2, 3: [2, 5000, 1], 4: [1, 1, 0]}]}, {4: True})
    n, at = 10**6, len(r.data)
    head = cbor2.dumps({1: 0, 2: b"\1" + b"\x43" * n + b"\3"})
    steps = b"\x9a" + struct.pack(">I", n + 2) + cbor2.dumps(again) + cbor2.dumps(-again) + b"\0" * (n - 1) + cbor2.dumps(at - again)
    r.packed(INDEX, b"\xa6" + head[1:] + b"\3" + steps + b"\4\x80\5\x80\6\x80", {18: at})
    r.index = len(r.data) - at


def groups_named(r):
    "chunks of a hundred bytes that name a million groups"
    r.begin()
    simple(r)
    for tick in ticks_of(300, start=START + 10 * SECOND):
        r.frame(CHUNK, b"\x80", {2: 1, 8: SECOND, 9: tick, 14: [tick, tick, tick, 0], 16: [5, MIB], 17: [1, 0, 0, decode.crc32c(b"\x80"), MIB]})


def kinds(r):
    "kinds, types, semantics, flags and scopes that no version has"
    r.begin()
    r.body(INSTANCES, {2: 1, 3: [{1: k, 2: k, 3: k, 6: {1: "i%d" % k}} for k in list(range(0, 30)) + [63, 64, 127, 200, 255]]})
    r.body(SCHEMA, {1: 1, 2: [counter("c%d" % k, _6=k % 7, _7=k % 11, _9=k % 13, _8=1 + k % 64) for k in range(200)],
                    3: 1, 4: [{1: "s%d" % k, 2: k, 3: [1, 200, 1], 4: [k + 1, 1, 0]} for k in range(30)]})
    r.body(EVENT, {1: START, 2: [{1: k, 2: k, 3: {7: 2**64 - 1, 3: 2**64 - 1, 1: 2**64 - 1, 6: 2**64 - 1, 8: 2**64 - 1}} for k in range(256)]})
    r.values(1, 200, ticks_of(3))


def nested_meta(r):
    "lists in lists in the head of each frame, and maps in maps in attributes"
    r.begin()
    deep, maps = b"\x81" * 900000 + b"\x00", b"\xa1\x18\x63" * 400000 + b"\x00"
    simple(r)
    for kind in (HEADER, SCHEMA, CHUNK, EVENT, INDEX, 77):
        head = decode.MAGIC + r.major + cbor2.dumps(kind) + cbor2.dumps(r.sequence) + b"\x48" + r.id
        head += cbor2.dumps(b"\xa1\x18\x63" + deep)
        r.data += head + b"\x44" + decode.crc32c(head).to_bytes(4, "big") + b"\x40" + b"\x44" + decode.crc32c(b"").to_bytes(4, "big")
        r.sequence += 1
    r.packed(INSTANCES, b"\xa2\x02\x0a\x03\x81\xa2\x01\x09\x06\xa1\x18\x63" + maps)
    r.packed(SCHEMA, b"\xa2\x01\x02\x02\x81\xa4\x01\x61z\x03\x61z\x04\x611\x0a\xa1\x18\x63" + maps)


def counts_huge(r):
    "lists, texts and ranges that say more than there is"
    r.begin()
    simple(r)
    for most in (b"\x1b" + b"\xff" * 8, b"\x1b" + b"\x7f" + b"\xff" * 7, b"\x1a\xff\xff\xff\xff", b"\x1a\x00\xff\xff\xff"):
        for major in (0x80, 0xa0, 0x60, 0x40):
            said = bytes([major | most[0]]) + most[1:]
            for kind, body in ((HEADER, b"\xa1\x15" + said), (SCHEMA, b"\xa2\x01\x01\x02" + said), (EVENT, b"\xa1\x02" + said), (CONFIG, b"\xa1\x01" + said)):
                r.frame(kind, body)
    for n in (2**32 - 1, 2**31, 2**64 - 1, 10**7):
        r.body(SCHEMA, {3: 2, 4: [{1: "stat", 2: 2, 3: [1, n, 0], 4: [1, 1, 0]}]})
        r.body(SCHEMA, {3: 2, 4: [{1: "stat", 2: 2, 3: [1, 1, 0], 4: [1, n, 0]}]})
        r.body(SCHEMA, {7: [1, n]})
        r.body(INSTANCES, {1: START, 2: [1, n], 3: [{1: 7, 2: 0}]})
        r.body(CONFIG, {1: [{1: "x", 2: START, 3: 7, 4: [0, n], 50: 1}]})
        r.body(TOPOLOGY, {1: START, 2: [n], 3: [n], 6: [n], 12: [n], 13: [n], 15: [1]})
        r.frame(CHUNK, b"", {2: 1, 7: n, 8: SECOND, 9: START, 14: [START] * 4, 16: [1, n], 17: [0, 0, n, 0, n]})


def cycles(r):
    "groups that continue themselves, tasks whose parents are their children, PCI functions below one another"
    r.begin()
    tasks = [{1: 9, 2: i, 4: 0, 6: {1: "task-%d" % i, 200: i + 1, 202: "x", 204: i % 50000 + 2 if i < 49999 else 1}} for i in range(50000)]
    r.packed(INSTANCES, {1: START, 2: 1, 3: tasks})
    r.body(SCHEMA, {1: 1, 2: [counter("tasks.cpu_time", _4="s"), counter("tasks.threads", _7=2)], 3: 1,
                    4: [{1: "tasks", 2: 2, 3: [1, 1, 0], 4: [1, 50000, 1]}]})
    for old in (1, 2, 3, 4, 2**32 - 1):
        r.body(SCHEMA, {3: 2, 4: [{1: "tasks", 5: old, 6: [3, 1]}]})
    r.body(CONFIG, {1: [{1: "pci.root_ports", 2: START, 3: 0, 50: [[i % 3, 8 * i, i, 0, i, i, 0, 0] for i in range(3000)]},
                        {1: "pci.functions", 2: START, 3: 0, 50: [[i % 3, i, i % 3000, 0x20000, 1, 2] for i in range(9000)]}]})
    for i in range(3):
        r.values(1, 1, ticks_of(3, start=START + 3 * i * SECOND), 50000)


def ids_again(r):
    "the same ids for other things: instances, counters, groups and texts, retired or not"
    r.begin()
    simple(r, n=3)
    for i in range(300):
        r.body(INSTANCES, {1: START + i, 2: [1, 3], 3: [{1: i % 12, 2: i, 3: i % 4, 6: {1: "other%d" % i}}] * 3, 4: [1, 0, 1, 0]})
        r.body(SCHEMA, {1: 1 + i % 3, 2: [counter("other.%d" % i, _6=i % 3, _8=1 + i % 64)], 3: 1, 4: [{1: "stat", 2: i % 8, 3: [1, 2, 1], 4: [1, 2, 1]}], 5: 1, 6: ["s%d" % i]})
        r.body(SCHEMA, {7: [1, 1 + i % 3]})
        r.values(1, 3, ticks_of(2, start=START + (3 + 2 * i) * SECOND))


def back_inside(r):
    "rows that end before they begin, go back and stand still, in each chunk others"
    r.begin()
    r.body(INSTANCES, {2: 1, 3: [{1: 7, 2: c, 3: c} for c in range(4)]})
    r.body(SCHEMA, {1: 1, 2: [perf_counter("cpu", "cycles", 1)], 3: 1, 4: [{1: "perf", 2: 4, 3: [1, 1, 0], 4: [1, 4, 1]}]})
    odd = random.Random(5)
    for i in range(200):
        ticks = ticks_of(4, start=START + 4 * i * SECOND)
        bands = [("u64", [[odd.choice((0, t, t - 10**12, t + 5, 2**64 - 1)) for t in ticks] for c in range(4)]) for _ in range(5)]
        r.chunk([(1, bands, [])], ticks if i % 3 else ticks[::-1] if i % 2 else [ticks[0]] * 4)


def columns_wide(r):
    "numbers of many columns, of no bit and of 255, scales that are no number"
    r.begin()
    r.body(INSTANCES, {2: 1, 3: [{1: 0}]})
    for i, more in enumerate(({11: 2**32}, {11: 4}, {8: 0}, {8: 255}, {5: [0, 0]}, {5: [2**64 - 1, 1]}, {5: "1e-400"}, {5: "1e400"}, {5: "nan"}, {5: "-" * 500},
                              {9: 200}, {7: 200}, {6: 200}, {10: {6: 2**60, 3: "f"}}, {10: {6: 1, 3: "f"}}, {10: {6: 1, 3: "f"}})):
        # The second is for who refuses the first.
        for one in (more, {}):
            r.body(SCHEMA, {1: i + 1, 2: [{**counter("w.%d" % i), **one}], 3: i + 1, 4: [{1: "stat", 2: 2, 3: [i + 1, 1, 0], 4: [1, 1, 0]}]})
        r.values(i + 1, 1, ticks_of(3, start=START + 3 * i * SECOND))


def chunks_tiny(r):
    "8,000 chunks of a snapshot, each of a run, a segment and a wall clock of its own"
    r.begin()
    simple(r)
    block = cbor2.dumps([cbor2.CBORTag(71, struct.pack("<Q", x)) for x in (START, START, 1)]) + cbor2.dumps([])
    for i in range(8000):
        tick = START + (i + 5) * SECOND
        r.frame(CHUNK, block, {2: 1, 5: 1 + i // 7, 6: 1 + i // 3, 8: SECOND, 9: tick, 14: [tick, tick - i * 10**8, tick + i * 10**9, i * 2**40], 16: [1, 1],
                               17: [len(block), 0, 0, decode.crc32c(block), 1], 300: (i * 7919 % 997) * 10**15})


def floods(r):
    "bodies that say that they are small, or large, or begin and never end; a dictionary that is not ours"
    r.begin()
    simple(r)
    zeros = zstandard.ZstdCompressor(level=19, write_content_size=False).compress(bytes(300 << 20))
    for kind in (CONFIG, EVENT, INSTANCES, SCHEMA, PMUS):
        for raw in (10, 256 << 20, 2**63, 0):
            r.frame(kind, zeros, {2: 1, 3: raw})
            r.frame(kind, zeros, {2: 2, 3: raw})
    for raw in (10, 256 << 20, 2**32):
        r.frame(CHUNK, zeros, {2: 1, 7: 1, 8: SECOND, 9: START + 9 * SECOND, 14: [START] * 4, 16: [1, 1], 17: [len(zeros), 0, raw, decode.crc32c(zeros), 1]})


def names_odd(r):
    "names of a MiB, of nothing, of controls and marks of direction, of paths that lead elsewhere"
    odd = ["", "\0", "a\0b", "\u202e" * 4000, "\x1b[2J\x07" * 4000, "../../../../tmp/x", "/etc/passwd", "</script><script>alert(1)</script>", "=cmd|' /C calc'!A0",
           "%s%n%x", "\ud7ff\ue000\ufffd", "x" * MIB, "A" * 65536, "\u2028\u2029", "\u200f", "-o", "--", "`id`", "$(id)", "|id"]
    r.begin({203: [[a, b] for a in odd[:5] for b in odd[5:12]], 200: odd[3], 201: odd, 100: odd[4], 102: odd[7]})
    r.packed(INSTANCES, {1: START, 2: 1, 3: [{1: kind, 2: i, 3: 0, 6: {1: name, 2: name, 100: name, 202: name, 203: name}} for kind in (7, 9, 10, 11) for i, name in enumerate(odd)]})
    n = 4 * len(odd)
    r.packed(SCHEMA, {1: 1, 2: [counter("o%d" % i + (name if 0 < len(name) < 200 and "\0" not in name else ""), _2=name.replace("\0", "")[:500] or "x", _4="1") for i, name in enumerate(odd)],
                      3: 1, 4: [{1: "stat", 2: 2, 3: [1, len(odd), 1], 4: [1, n, 1]}]})
    r.packed(EVENT, {1: START, 2: [{1: k % 16, 2: 5 + k, 3: {200: name, 15: name, 5: name}} for k, name in enumerate(odd)]})
    r.values(1, len(odd), ticks_of(4), n)


def clocks_wild(r):
    "clocks that jump, stand, go back and wrap between chunks"
    r.begin({14: "tsc", 15: 0})
    simple(r)
    odd = random.Random(7)
    for i in range(400):
        t = START + (3 + 2 * i) * SECOND
        block = cbor2.dumps([cbor2.CBORTag(71, struct.pack("<2Q", *b)) for b in ([t + 100, t + SECOND], [t + 350, t + SECOND + 9], [i, i + 5])]) + cbor2.dumps([])
        wild = [odd.choice((0, 1, t, t + 10**18, 2**64 - 1, 2**63)) for _ in range(4)]
        r.frame(CHUNK, block, {2: 1, 7: 2, 8: SECOND, 9: t, 14: [t] + wild[1:], 16: [1, 1], 17: [len(block), 0, 0, decode.crc32c(block), 1], 300: wild[0]})


BOMBS = [texts, texts_again, text_names, label_flood, metrics_deep, metrics_many, metrics_chain, counters_many, counters_family, perf_groups, perf_pmus, perf_wildcard, pmus_of_cores, pci, perf_cpus, registers, groups_many, groups_lost, group_churn,
         instance_churn, instances_many, cgroups_many, values_wide, values_long, strings_many, repeated, headers, topologies, recordings,
         events_many, events_texts, hotplug, configs_many, configs_odd, pmus, probes, nested, far, far_realtime, back, index_lies, index_again, groups_named, kinds,
         nested_meta, counts_huge, cycles, ids_again, back_inside, columns_wide, chunks_tiny, floods, names_odd, clocks_wild, clocks_jump]


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
            r.end(r.index)
        r.save(path)
        if program:
            print(make.__name__, end=": ", flush=True)
            failed += subprocess.run([program, "--as-it-is", path]).returncode != 0
    return failed and 1


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
