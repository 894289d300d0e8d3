#!/usr/bin/python3
"""A recording with a canary of its own in every field, redacted and bundled in every way: redacted.py PMREP

Texts, and numbers that identify: process ids, serial numbers, hardware addresses, what was counted since boot, times. None
of them may be in any byte of what is written, packed or unpacked, in any encoding; totals stay as they were; and what
--keep names is there.
"""

import itertools
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../cli"))
import decode
import encode
from encode import CONFIG, EVENT, HEADER, INSTANCES, PMUS, PROBES, SCHEMA, TOPOLOGY, Recording, times
from redact_bytes import all_bytes, texts, ways

SECOND = 10**9
START = 1_357_924_680_135  # 22 minutes after boot
WALL = encode.REALTIME
CLOCKS = [START, START + 86_420_975_313, START + 7_531_902_468_013, 0x35_7924_68ac_e013]
TICKS = [START + i * SECOND for i in range(3)]
# Counted since boot, with their own --shift-time; the rest counts from where the recorder opened it, or is a level.
SINCE_BOOT = {"stat.user": "stat", "vmstat.pgfault": "vmstat", "interrupts.24": "interrupts", "softirqs.net_rx": "softirqs",
              "schedstat.run_time": "schedstat", "diskstats.reads": "diskstats", "diskstats.write_bytes": "diskstats",
              "netdev.rx_bytes": "netdev", "netdev.tx_packets": "netdev", "tcp.in_segments": "tcp", "msr.tsc": "msr",
              "msr.pkg_c6_res": "msr", "gfx.rc6": "gfx", "lpi.cpu": "lpi", "powercap.energy.package-0": "powercap", "add.M0X10": "add"}


# Of the hardware's names, not of the user's: they stay.
REGISTERS = ("M0x1A0", "m0X606")
VENDOR = ["tma_frontend_bound", "%", "100 * cycles / 2", "", "TopdownL1,Frontend", "what slots lack", True]
KERNEL_FILE = "/sys/class/thermal/thermal_zone0/temp"


class Canaries:
    """Each text or number that is made here is one of a kind, and belongs to a class."""

    def __init__(self):
        self.text, self.number, self.n = {}, {}, itertools.count(1)

    def name(self, kind, form="zq%sx"):
        v = next(self.n) * 0x9e37_79b9 % 2**32
        word = "".join(chr(97 + v // 26**p % 26) for p in range(6))
        text = form % word
        assert text not in self.text
        self.text[text] = kind
        return text

    def id(self, kind):
        """Of 45 bits or so: no chance has it in a file."""
        v = 0x1357_0000_0000 + next(self.n) * 0x9e37_79b9 % 2**32
        self.number[v] = kind
        return v

    def address(self, kind, form):
        text = form % (next(self.n) * 0x9e37_79b9_7f4a % 2**48 | 0x10_0000_0000_01)
        self.text[text] = kind
        return text


def build(c):
    r = Recording()
    # Short parts of a path, which a technical text repeats.
    c.text.update({"qvxk": "person", "wqzjv": "person", "q7xz": "person", "u42x": "person", "w4j": "person"})
    person, machine = (lambda form="zq%sx": c.name("person", form)), (lambda form="zq%sx": c.name("machine", form))
    metric, group = person(), person()
    r.body(HEADER, {1: "pmrec 9", 2: 0, 5: "x86_64", 6: "6.1.0", 13: SECOND, 16: 100, 18: "command", 19: "full", 28: True,
                    100: machine(), 101: c.address("machine", "%012x-4aaa-8bbb-9ccc"), 102: machine("Maker zq%sx 9000"), 103: machine(),
                    104: c.address("machine", "77aa%012xbb00"), 200: person(), 201: [person(), person("/srv/zq%sx/deep/zqfile.txt"), "/home/qvxk/wqzjv/q7xz/w4j/x"],
                    202: "root=UUID=%s ro" % c.address("person", "%012x-root"), 203: [[person(), person()]], 204: person(),
                    205: [person()], 31: ["cpi", [metric, person(), "1000 * cycles / 2", metric + " > 1", person() + "," + group, person("what zq%sx needs")],
                                          [person(), "1", metric + " * 2", "", "", ""], VENDOR], 33: [metric, group, "topdownl1"]})
    r.body(TOPOLOGY, {1: START - 77, 2: [0, 1], 3: [0, 0], 6: [0, 1], 15: [1, 1]})
    unit = person("/system.slice/zq%sx.service")
    names = [("cpu", {1: 7, 2: 0, 3: 0})]
    names += [("task", {1: 9, 2: k, 4: START - 5, 6: {1: "task-%d" % k, 200: c.id("person"), 201: c.id("person"), 202: person(), 203: unit,
                                                     204: c.id("person"), 205: person(), 206: person("./zq%sx --all")}}) for k in (1, 2)]
    names += [("cgroup", {1: 10, 2: 1, 3: 0, 6: {1: person("/user.slice/zq%sx.scope"), 203: unit}})]
    devices = [machine("zq%sx"), c.address("machine", "enx%012x"), c.address("machine", "br-%012x"), c.address("machine", "veth%012x"),
               c.address("machine", "wwn-0x5000%012x"), c.address("machine", "vg0-%012x"), c.address("machine", "%012x")]
    names += [("device", {1: 11, 4: START, 6: {1: d, 100: "/sys/devices/pci0000:00/%s" % machine()}}) for d in devices]
    names += [("device", {1: 11, 6: {1: d}}) for d in ("vda", "nvme0n1", "eth0", "lo", "dm-0", "enp0s3")]
    r.body(INSTANCES, {2: 1, 3: [i for _, i in names]})
    counters = [{1: n, 3: s, 4: "1", **({10: {100: machine("eth7, zq%sx-TxRx-3")}} if s == "interrupts" else {})} for n, s in SINCE_BOOT.items()]
    counters += [{1: "tasks.cpu_time", 3: "tasks", 4: "s", 10: {5: True}},
                 {1: "cycles", 3: "perf", 4: "1", 10: {11: "cpu", 12: "cycles", 23: "cycles", 101: machine(), 200: "common_pid==%d" % c.id("person"),
                                                       201: unit}},
                 *({1: "cpu/cycles/#%d" % k, 2: alias, 3: "perf", 4: "1",
                    10: {11: "cpu", 12: "cpu/cycles/", 21: ident, 23: "cpu/cycles,name=%s,metric-id=%s/" % (quote + alias + quote, ident)}}
                   for k, quote, alias, ident in ((2, "", person(), person()), (3, "'", person("zq%sx/of it"), person()), (4, "", person("cycles#zq%sx"), person()))),
                 {1: "add." + person(), 2: person(), 3: "add", 4: "1", 7: 2, 10: {30: "cpu"}},
                 {1: "add.count", 3: "add", 4: "1", 7: 2, 10: {1: "/sys/class/net/%s/speed" % c.address("machine", "enx%012x"), 30: "cpu"}},
                 {1: "add.temp", 3: "add", 4: "1", 7: 2, 10: {1: KERNEL_FILE, 30: "cpu"}},
                 *({1: "add." + n, 3: "add", 4: "1", 7: 2, 10: {30: "cpu"}} for n in REGISTERS),
                 {1: "hwmon." + machine() + ".temp1", 3: "hwmon", 4: "Cel", 7: 2}]
    pairs = [(k, n) for k in range(1, len(counters) + 1) for n in range(1, len(names) + 1)]
    r.body(SCHEMA, {1: 1, 2: counters, 3: 1, 4: [{1: "stat", 2: 3, 3: [x for k, _ in pairs for x in (k, 1, 1)],
                                                  4: [x for _, n in pairs for x in (n, 1, 1)]}]})
    r.body(PMUS, {1: 0, 2: [{1: "cpu", 2: 4, 8: [["cycles", "event=60", "", "", 0]], 10: [["serial", person()]]}]})
    r.body(PROBES, {1: 0, 2: [{1: "add", 2: [5, "/sys/class/net/%s/speed" % devices[1]], 3: [1, "ask " + person()], 4: 3},
                            {1: "stat", 2: [1, "cannot open /home/u42x"], 3: [1, "try /home/u42x/core"], 4: 13},
                            {1: "hwmon", 2: [8, "/sys/class/hwmon", "hwmon3", "temp1", machine()], 4: 13},
                            {1: "resctrl", 2: [12, "/sys/fs/resctrl/" + person(), "mon_L3_00", "llc_occupancy"], 4: 13},
                            {1: "perf", 2: [31, person()], 4: 6}, {1: "perf", 2: [40, person(), person("what zq%sx needs")], 4: 2},
                            {1: "perf", 2: [4, "cycles, " + person(), 7], 4: 2}, {1: "perf", 2: [4711, person(), machine(), c.id("person")], 3: [4712, person()], 4: 2},
                            {1: "perf", 2: [44, person(), c.id("machine")], 4: 2}]})
    r.body(CONFIG, {1: [{1: "cpufreq.x", 2: START - 9, 3: 0, 50: "driver of qvxk and wqzjv, q7xz, w4j"}, {1: "machine.serial", 2: START - 8, 3: 0, 150: c.id("machine")},
                        {1: "machine.mac", 2: START - 8, 3: 0, 150: c.address("machine", "%012x")},
                        {1: "pmrec.when", 2: START - 8, 3: 0, 350: c.id("time")},
                        {1: "pmrec.who", 2: START - 8, 3: 0, 250: [person(), c.id("person")]}]})
    values = []
    for k, _ in pairs:
        since_boot = k <= len(SINCE_BOOT)
        first = c.id("time") if since_boot else 1000 + k
        values.append([first, first + 3, first + 10])
    late = times(TICKS, 1, 0)
    bands = late + [("u64", values)]
    r.chunk([(1, bands, [])], TICKS, CLOCKS)
    r.body(EVENT, {1: START, 2: [{1: 1, 2: 5, 3: {200: person()}}, {1: 9, 2: 6, 3: {201: c.id("person")}},
                                 {1: 15, 2: 7, 3: {15: [1, "%s went away" % devices[2]]}}, {1: 15, 2: 7, 3: {15: [4713, "the file of u42x", person()]}}, {1: 12, 2: 8, 3: {8: 1}}]})
    r.body(INSTANCES, {1: START + 2 * SECOND, 4: [2, 1]})
    r.end()
    return r.data, len(values)


def numbers(value):
    if isinstance(value, bool) or value is None:
        return
    if isinstance(value, int):
        yield value
    elif isinstance(value, (list, tuple)):
        for v in value:
            yield from numbers(v)
    elif isinstance(value, dict):
        for v in value.values():
            yield from numbers(v)


def ways_of_number(v):
    n = (v.bit_length() + 7) // 8
    for order in ("big", "little"):
        yield v.to_bytes(n, order)
    for text in (b"%d" % v, b"%x" % v, b"%X" % v):
        yield text
        yield text.decode().encode("utf-16-le")


def clock_readings(r):
    """Every time that the recording says, summed up."""
    yield from (i.added for i in r.instances.values() if getattr(i, "added", None))
    yield from (e.time for e in r.events)
    yield from (x.time for x in r.configs)
    yield r.topology_time
    for chunk, _, values in r.snapshots():
        yield from chunk.ticks
        yield from chunk.clocks
        for v in values:
            yield from (v.begin, v.end)


def check(path, want, classes, shifted):
    """classes: of canaries that must not be there."""
    found = []
    everything = list(all_bytes(path))
    with open(path, "rb") as f:
        data = f.read()
    if data[:2] == b"\x1f\x8b":
        import gzip
        data = gzip.decompress(data)
    r = decode.Recording(data)
    for where, data in everything:
        for text, kind in want.text.items():
            if kind in classes:
                parts = {text} | {p for p in text.replace("/", " ").replace("-", " ").split() if "zq" in p or len(p) >= 12}
                found += [(text, kind, where) for p in parts for w in ways(p) if w in data]
        for v, kind in want.number.items():
            if kind in classes:
                found += [(hex(v), kind, where) for w in ways_of_number(v) if w in data]
    flat = set(numbers([[i.attrs for i in r.instances.values()], [e.attrs for e in r.events], [x.value for x in r.configs],
                        [c.attrs for c in r.counters.values()], r.header]))
    series = {}
    for _, _, values in r.snapshots():
        for v in values:
            flat.add(v.value)
            series.setdefault((v.counter.id, v.instance.id), []).append(v.value)
    found += [(hex(v), kind, "decoded") for v, kind in want.number.items() if kind in classes and v in flat]
    lacking = {hex(v) for v, kind in want.number.items() if kind == "time" and v not in flat}
    assert shifted or not lacking, (path, "times that may stay", lacking)
    if shifted:
        near = [t for t in clock_readings(r) if any(abs(t - old) < 3600 * SECOND for old in (*CLOCKS, WALL))]
        found += [("time %d" % t, "time", "decoded") for t in near]
    assert not found, (path, sorted(set(found))[:10])
    return r, series


def main(pmrep):
    pmrep = os.path.abspath(pmrep)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        canaries = Canaries()
        data, n = build(canaries)
        with open("in.pmr", "wb") as f:
            f.write(data)
        subprocess.run([pmrep, "check", "-q", "in.pmr"], check=True)
        before = b"\0".join(d for _, d in all_bytes("in.pmr"))
        for text in canaries.text:
            assert text.encode() in before, text
        _, old = check("in.pmr", canaries, (), False)
        ways_of = [(), ("--shift-time",), ("--map=map",), ("--map=map", "--shift-time"), ("--keep=person",), ("--keep=machine",), ("--keep=devices",)]
        for command, options in itertools.product((("redact",), ("bundle",), ("bundle", "--max-size=20k")), ways_of):
            keep = [o[7:] for o in options if o.startswith("--keep=")]
            classes = {"person", "machine"} - set(keep)
            if "--shift-time" in options:
                classes.add("time")
            if keep == ["devices"]:
                classes.remove("machine")
            r, new = check_one(pmrep, command, options, canaries, classes)
            assert len(new) == n and all(len(v) == 3 for v in new.values()), (command, options, len(new))
            assert {"add." + n for n in REGISTERS} <= {c.name for c in r.counters.values()}, options
            assert {c.attrs.get(1) for c in r.counters.values()} >= {KERNEL_FILE}, options
            assert VENDOR in r.header[31] and "topdownl1" in r.header[33], options
            names = {i.attrs.get(1) for i in r.instances.values()}
            assert {"nvme0n1", "lo", "dm-0"} <= names, names
            if keep in (["devices"], ["machine"]):
                there = {t for i in decode.load("in.pmr").instances.values() if i.kind == "device" for t in (i.attrs[1],)}
                assert there <= names, (options, there - names)
            offsets = {}
            for key, values in new.items():
                by = [(b - a) % 2**64 for a, b in zip(old[key], values)]
                assert len(set(by)) == 1, (command, options, r.counters[key[0]].name, old[key], values)
                offsets.setdefault(r.counters[key[0]].name, set()).add(by[0])
            moved = {name: by for name, by in offsets.items() if by != {0}}
            if "--shift-time" in options:
                assert set(moved) == set(SINCE_BOOT), (set(moved) ^ set(SINCE_BOOT))
                assert all(len(by) == 1 for by in moved.values()) and len(set.union(*moved.values())) == len(moved), moved
            else:
                assert not moved, moved
        # Of two recordings in a file, the first is looked at before it is forgotten.
        with open("two.pmr", "wb") as f:
            f.write(data + build(canaries)[0])
        subprocess.run([pmrep, "redact", "--overwrite", "-o", "out.pmr", "two.pmr"], check=True, stderr=subprocess.PIPE)
        left = b"\0".join(d for _, d in all_bytes("out.pmr"))
        assert not [t for t in canaries.text if t.encode() in left], [t for t in canaries.text if t.encode() in left]
    print("%d texts and %d numbers looked for in %d ways" % (len(canaries.text), len(canaries.number), 3 * len(ways_of)))


def check_one(pmrep, command, options, canaries, classes):
    out = "out.pmr" if command[0] == "redact" else "out.pmr.gz"
    subprocess.run([pmrep, *command, *options, "--overwrite", "-o", out, "in.pmr"], check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        return check(out, canaries, classes, "--shift-time" in options)
    except AssertionError as e:
        raise AssertionError((command, options, e.args)) from None


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
