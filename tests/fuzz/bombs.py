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
from encode import CHUNK, CONFIG, EVENT, HEADER, INDEX, INSTANCES, PMUS, SCHEMA, START, TOPOLOGY, Recording, cbor2, decode

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


def cpus(r):
    "65,536 CPUs, each in a package and node of its own"
    n = list(range(1 << 16))
    r.body(HEADER, {1: "pmrec 1", 13: SECOND, 18: "system", 28: True})
    r.packed(TOPOLOGY, {1: START, **{k: n for k in range(2, 15)}, 15: [1] * len(n)})
    simple(r)


def columns(r):
    "four million columns in a few bytes"
    r.begin()
    simple(r)
    r.body(SCHEMA, {3: 2, 4: [{1: "stat", 3: [1, 2000, 0], 4: [1, 2000, 0]}]})


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


def metrics_chain(r):
    "metrics that name one another"
    r.begin({31: [["m.%d" % i, "1", "m.%d + m.%d" % (i + 1, i + 1), "", "", ""] for i in range(3000)] + [["m.3000", "1", "m.0", "", "", ""]]})
    simple(r)


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


def pci(r):
    "4,000 PMUs, root ports and functions of a root complex"
    n = 4000
    r.begin()
    r.packed(PMUS, {1: 0, 2: [{1: "nvidia_pcie_pmu_%d_rc_1" % i, 2: i + 10, 6: "0-1"} for i in range(n)]})
    r.packed(CONFIG, {1: [{1: "pci.root_ports", 2: START, 3: 0, 50: [[0, i, 0, 0, 0, 1, i * 2 // n, 0] for i in range(n)]},
                          {1: "pci.functions", 2: START, 3: 0, 50: [[1, i, n - 1, 0, 0, 0] for i in range(n)]}]})
    r.packed(INSTANCES, {2: 9, 3: [{1: 8, 2: i, 6: {1: "nvidia_pcie_pmu_%d_rc_1" % i}} for i in range(n)]})
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


def configs_odd(r):
    "values of every kind where others are expected"
    names = ["msr.0x606", "msr.0x610", "cpuid.00000007.0", "cpuid.00000015.0", "cpufreq.scaling_driver", "pci.root_ports", "pci.functions",
             "tsc.khz", "cpufreq.base_frequency", "rapl.unit", "msr.0xce", "cpuid.00000000.0", "cpuid.00000001.0", "cpuid.00000006.0", "os.release"]
    odd = [True, -1, 2**64 - 1, 1.5, float("nan"), "x", b"\xff", [], [[]], [[[1] * 300] * 300], {1: {2: [3]}}, [2**63] * 300]
    r.begin()
    r.body(CONFIG, {1: [{1: n, 2: START, 3: 7, 4: [0, 1 + i], 50: v} for n in names for i, v in enumerate(odd)]})
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


def sources(r):
    "100,000 counters, each of a source of its own"
    r.begin()
    simple(r, counters=[{1: "stat.ctxt", 3: "stat", 4: "1"}] + [{1: "c.%d" % i, 3: "s%d" % i, 4: "1"} for i in range(100000)])


def tsc(r, topology, cpus):
    """A recording of a register of these CPUs."""
    r.body(HEADER, {1: "pmrec 1", 13: SECOND, 18: "system", 28: True})
    if topology:
        r.packed(TOPOLOGY, {1: START, **topology})
    r.body(INSTANCES, {2: 1, 3: [{1: 0}] + [{1: 7, 2: c, 3: c} for c in cpus]})
    r.packed(SCHEMA, {1: 1, 2: [{1: "msr.tsc", 3: "msr", 4: "1", 10: {2: True}}], 3: 1,
                      4: [{1: "msr", 2: 2, 3: [1, 1, 1], 4: [2, len(cpus), 1]}]})
    r.values(1, 1, ticks_of(3), instances=len(cpus))


def registers(r):
    "a register of 65,536 cores"
    n = list(range(1 << 16))
    tsc(r, {2: n, 3: [0] * len(n), 6: n, 15: [1] * len(n)}, n)


def first_offline(r):
    "a register of four CPUs, of which the first is offline"
    tsc(r, {2: [0, 1, 2, 3], 3: [0] * 4, 6: [0, 0, 1, 1], 15: [0, 1, 1, 1]}, [1, 2, 3])


def no_topology(r):
    "a register of four CPUs, without a topology"
    tsc(r, None, [0, 1, 2, 3])


BOMBS = [cpus, columns, texts, texts_again, metrics_chain, perf_groups, perf_pmus, pci, configs_odd, nested, far, far_realtime, back, index_lies,
         kinds, counts_huge, ids_again, back_inside, columns_wide, clocks_wild]
# Made only by name: for single commands.
OTHERS = [sources, registers, first_offline, no_topology]


def main(folder, *words):
    program, names = (words[1], words[2:]) if words[:1] == ("--run",) else (None, words)
    os.makedirs(folder, exist_ok=True)
    failed = 0
    for make in [m for m in BOMBS + OTHERS if m.__name__ in names] if names else BOMBS:
        path = os.path.join(folder, make.__name__ + ".pmr")
        r = Bomb()
        make(r)
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
