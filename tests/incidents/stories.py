"""A machine whose numbers hang together (CPUs, disk, network, memory, power, a cgroup), and what happens to such machines. The
numbers are chosen as a kernel would count them, and what is expected as somebody would say it who knows what happened."""

import math
import os
import random
import subprocess

import worlds
from worlds import S, encode

SYSTEM, PACKAGE, NODE, CPU, CGROUP, DEVICE = 0, 1, 5, 7, 10, 11
HUNDREDTHS, MICRO, MILLI, KIB, SECTORS = {5: [1, 100]}, {5: [1, 1000000]}, {5: [1, 1000]}, {5: [1024, 1]}, {5: [512, 1]}
GAUGE = {7: 2}
MEAN = {7: 2, 9: 1}
# name: (unit, kind of place, more of the definition)
COUNTERS = {
    **{"stat." + n: ("s", CPU, HUNDREDTHS) for n in ("user", "nice", "system", "idle", "iowait", "irq", "softirq",
                                                                "steal", "guest", "guest_nice")},
    "cpufreq.cur": ("Hz", CPU, MEAN), "throttle.core": ("1", CPU, {}), "interrupts.loc": ("1", CPU, {}),
    "stat.ctxt": ("1", SYSTEM, {}), "stat.processes": ("1", SYSTEM, {}), "stat.procs_running": ("1", SYSTEM, GAUGE),
    "stat.procs_blocked": ("1", SYSTEM, GAUGE), "vmstat.pgfault": ("1", SYSTEM, {}), "vmstat.pgmajfault": ("1", SYSTEM, {}),
    "vmstat.oom_kill": ("1", SYSTEM, {}), "vmstat.pswpout": ("1", SYSTEM, {}), "pressure.cpu.some": ("s", SYSTEM, MICRO), "pressure.io.some": ("s", SYSTEM, MICRO),
    "pressure.memory.some": ("s", SYSTEM, MICRO), "meminfo.memtotal": ("By", SYSTEM, {**KIB, **GAUGE}),
    "meminfo.memavailable": ("By", SYSTEM, {**KIB, **GAUGE}), "tcp.out_segments": ("1", SYSTEM, {}),
    "tcp.retransmitted": ("1", SYSTEM, {}), "tcp.established": ("1", SYSTEM, GAUGE),
    "power.energy": ("J", PACKAGE, {5: [1, 1000000]}), "throttle.package": ("1", PACKAGE, {}), "imc.read": ("By", NODE, {}),
    "diskstats.reads": ("1", DEVICE, {}), "diskstats.read_bytes": ("By", DEVICE, SECTORS),
    "diskstats.read_time": ("s", DEVICE, MILLI), "diskstats.writes": ("1", DEVICE, {}),
    "diskstats.write_bytes": ("By", DEVICE, SECTORS), "diskstats.write_time": ("s", DEVICE, MILLI),
    "diskstats.busy_time": ("s", DEVICE, MILLI), "diskstats.weighted_time": ("s", DEVICE, MILLI),
    "netdev.rx_bytes": ("By", DEVICE, {}), "netdev.rx_packets": ("1", DEVICE, {}), **{"netdev." + n: ("1", DEVICE, {}) for n in ("rx_errors", "rx_dropped", "tx_errors", "tx_dropped")},
    "netdev.tx_bytes": ("By", DEVICE, {}), "netdev.tx_packets": ("1", DEVICE, {}),
    "cgroups.user": ("s", CGROUP, {5: [1, 10000]}), "cgroups.system": ("s", CGROUP, {5: [1, 10000]}), "cgroups.throttled": ("s", CGROUP, {5: [1, 10000]}),
    "cgroups.memory": ("By", CGROUP, {5: [4096, 1], **GAUGE}),
}
# What one of them stands in, where there are several places of a kind.
PLACES = {"netdev": (("eth0",),), "diskstats": (("nvme0n1", "sda"),)}


class Machine:
    """The rates of a second, for a story to change before they are counted: now["diskstats.reads", 0]."""

    def __init__(self, cpus, nodes, rnd):
        self.cpus, self.nodes, self.rnd = cpus, nodes, rnd
        self.load = [rnd.gauss(.25, .03) for _ in range(cpus)]
        self.wave = 0.

    def second(self):
        rnd, now = self.rnd, {}
        self.wave = .8 * self.wave + rnd.gauss(0, .012)
        for c in range(self.cpus):
            load = min(max(self.load[c] + self.wave + rnd.gauss(0, .05), .01), .95)
            now["user", c] = load * 75
            now["system", c] = load * 20 + rnd.random() * 2
            now["softirq", c] = load * 2
            now["iowait", c] = rnd.random() * .8
            now["cpufreq.cur", c] = rnd.gauss(2.9e9, 3e7)
            now["interrupts.loc", c] = rnd.gauss(260, 15)
        work = sum(now["user", c] for c in range(self.cpus)) / 19 / self.cpus
        small = self.cpus ** .5
        now.update({("stat.ctxt", 0): rnd.gauss(4000, 250) * small * work, ("stat.processes", 0): rnd.gauss(9, 3),
                    ("stat.procs_running", 0): max(1, rnd.gauss(self.cpus * .25, 1)),
                    ("stat.procs_blocked", 0): rnd.random() < .1, ("vmstat.pgfault", 0): rnd.gauss(6000, 700) * work,
                    ("vmstat.pgmajfault", 0): rnd.random() < .1, ("pressure.cpu.some", 0): abs(rnd.gauss(8e3, 3e3)),
                    ("pressure.io.some", 0): abs(rnd.gauss(3e3, 2e3)), ("meminfo.memtotal", 0): 64 << 20,
                    ("meminfo.memavailable", 0): (40 << 20) + rnd.gauss(0, 9e3), ("tcp.out_segments", 0): rnd.gauss(5000, 400),
                    ("tcp.retransmitted", 0): rnd.random() < .3, ("tcp.established", 0): rnd.gauss(220, 4)})
        for p in range(max(1, self.cpus // 64)):
            now["power.energy", p] = rnd.gauss(95e6, 2e6) * (.7 + .3 * work)
        for n in range(self.nodes):
            now["imc.read", n] = rnd.gauss(6e9, 3e8) * work
        for d in range(2):
            r, w = abs(rnd.gauss(12, 4)), abs(rnd.gauss(60, 12))
            now.update({("diskstats.reads", d): r, ("diskstats.read_bytes", d): r * 64, ("diskstats.read_time", d): r * .35,
                        ("diskstats.writes", d): w, ("diskstats.write_bytes", d): w * 48,
                        ("diskstats.write_time", d): w * abs(rnd.gauss(.9, .08))})
        p = rnd.gauss(4200, 300)
        now.update({("netdev.rx_bytes", 0): p * 700, ("netdev.rx_packets", 0): p, ("netdev.tx_bytes", 0): p * 900,
                    ("netdev.tx_packets", 0): p * .9})
        for g in range(2):
            now["cgroups.user", g] = rnd.gauss(6000, 500)
            now["cgroups.memory", g] = 1e6 + rnd.gauss(0, 500)
        return now


def finish(now, cpus):
    for d in range(2):
        both = now["diskstats.read_time", d] + now["diskstats.write_time", d]
        now.setdefault(("diskstats.weighted_time", d), both)
        now.setdefault(("diskstats.busy_time", d), min(both * .7, 1000))
    for c in range(cpus):
        used = 0
        for n in ("user", "system", "softirq", "iowait"):
            now["stat." + n, c] = now[n, c] = min(now[n, c], max(100 - used, 0))
            used += now[n, c]
        now["stat.idle", c] = 100 - used


def write(path, story, cpus=16, seconds=300, seed=1, nodes=1, missed=(), every=1):
    """`story`(k, now, machine) changes what happens in second k; `missed`: snapshots that are not there."""
    rnd = random.Random(seed)
    m = Machine(cpus, nodes, rnd)
    packages = max(1, cpus // 64)
    many = {SYSTEM: 1, PACKAGE: packages, NODE: nodes, CPU: cpus, CGROUP: 2}
    groups = []
    for n, (_, kind, _) in COUNTERS.items():
        source = n.split(".")[0]
        key = (kind, source if kind == DEVICE else "")
        if key not in groups:
            groups.append(key)
    names = sorted(COUNTERS, key=lambda n: groups.index((COUNTERS[n][1], n.split(".")[0] if COUNTERS[n][1] == DEVICE else "")))
    devices = [d for _, s in groups for d in (PLACES[s][0] if s else ())]
    instances = [{1: 0}] + [{1: 1, 2: p, 3: p * 64} for p in range(packages)] + [{1: 5, 2: n} for n in range(nodes)]
    instances += [{1: 7, 2: c, 3: c} for c in range(cpus)] + [{1: 10, 6: {203: "/" + g}} for g in ("web.slice", "batch.slice")]
    first, at = {}, 1
    for kind in (SYSTEM, PACKAGE, NODE, CPU, CGROUP):
        first[kind, ""] = at
        at += many[kind]
    for kind, source in groups:
        if source:
            first[kind, source] = at
            at += len(PLACES[source][0])
    instances += [{1: 11, 6: {1: d}} for d in devices]
    places = {n: len(PLACES[n.split(".")[0]][0]) if COUNTERS[n][1] == DEVICE else many[COUNTERS[n][1]] for n in names}
    columns = {n: [[] for _ in range(places[n])] for n in names}
    total = {(n, i): 1000 + rnd.random() for n in names for i in range(places[n])}
    for k in range(seconds + 1):
        now = m.second()
        if story:
            story(k, now, m)
        finish(now, cpus)
        for n in names:
            gauge = 7 in COUNTERS[n][2]
            for i in range(places[n]):
                v = max(now.get((n, i), 0), 0)
                total[n, i] = v if gauge else total[n, i] + v
                columns[n][i].append(int(total[n, i]))
    kept = [k for k in range(0, seconds + 1, every) if k not in missed]
    r = encode.Recording()
    r.body(encode.HEADER, {1: "stories", 5: "x86_64", 13: S * every, 18: "system", 28: True})
    r.body(encode.TOPOLOGY, {1: encode.START, 2: list(range(cpus)), 3: [c // 64 for c in range(cpus)], 6: list(range(cpus)),
                             13: [c * nodes // cpus for c in range(cpus)], 15: [1] * cpus})
    r.body(encode.INSTANCES, {2: 1, 3: instances})
    r.body(encode.SCHEMA, {1: 1, 2: [{1: n, 3: n.split(".")[0], 4: COUNTERS[n][0], 10: {2: True}, **COUNTERS[n][2]}
                                     for n in names], 3: 1, 4: [
        {1: source or "test", 2: 2, 3: [1 + names.index(own[0]), len(own), 1], 4: [first[kind, source], places[own[0]], 1]}
        for (kind, source), own in ((g, [n for n in names if (COUNTERS[n][1], n.split(".")[0] if COUNTERS[n][1] == DEVICE
                                                              else "") == g]) for g in groups)]})
    for at in range(0, len(kept), 128):
        part = kept[at:at + 128]
        ticks = [encode.START + k * S for k in part]
        out = []
        for number, g in enumerate(groups):
            bands = [("u64", [[t + o for t in ticks]]) for o in (100, 350)]
            for n in names:
                if (COUNTERS[n][1], n.split(".")[0] if COUNTERS[n][1] == DEVICE else "") == g:
                    bands.append(("u64", [[c[k] for k in part] for c in columns[n]]))
            out.append((number + 1, bands, []))
        r.chunk(out, ticks)
    r.end()
    r.save(path)


def within(*moments):
    """A story of what happens between such seconds: (from, to, what(now, machine))."""
    def story(k, now, m):
        for a, b, what in moments:
            if a < k <= b:
                what(now, m)
    return story


def hog(cpu):
    def what(now, _):
        now["user", cpu], now["system", cpu] = 97, 3
    return what


def put(name, at, value):
    def what(now, _):
        now[name, at] = value
    return what


def times(name, factor, *at):
    def what(now, _):
        for i in at or (0,):
            now[name, i] *= factor
    return what


def nvme_stall(now, _):
    now["diskstats.write_time", 0] = now["diskstats.writes", 0] * 45


def throttled(package):
    def what(now, m):
        for c in range(64 * package, min(64 * package + 64, m.cpus)):
            now["cpufreq.cur", c] *= .72
            now["throttle.core", c] = m.rnd.randrange(20, 40)
        now["throttle.package", package] = 35
        now["power.energy", package] *= .8
    return what


def capped(now, m):
    now["cgroups.user", 1] = 10000
    now["cgroups.throttled", 1] = m.rnd.gauss(22000, 900)


def oom(k, now, m):
    if 170 < k <= 200:
        now["meminfo.memavailable", 0] -= (38 << 20) * (k - 170) / 30
        now["vmstat.pgmajfault", 0] = 20 * (k - 170)
        now["pressure.memory.some", 0] = 2e4 * (k - 170)
    if k == 201:
        now["vmstat.oom_kill", 0] = 1


def leak(k, now, _):
    now["meminfo.memavailable", 0] -= k * 2500


def step(k, now, m):
    if k > 180:
        for c in range(m.cpus):
            now["user", c] += 18


def cron(k, now, m):
    if k % 60 == 7:
        now["stat.processes", 0] += 300
        now["vmstat.pgfault", 0] += 60000
        for c in range(2):
            now["user", c] += 45


BURSTS = {41: 30, 148: 12, 163: 55, 390: 9, 507: 20, 692: 14, 801: 33}


def bursts(k, now, m):
    """Somebody starts processes at any time, more or fewer of them."""
    for n in (BURSTS.get(k), BURSTS.get(k - 1)):
        if n:
            now["stat.processes", 0] += 4 * n
            now["vmstat.pgfault", 0] += 900 * n


def bursts_and_hog(k, now, m):
    bursts(k, now, m)
    if 560 < k <= 570:
        hog(3)(now, m)


def cron_and_stall(k, now, m):
    cron(k, now, m)
    if 425 < k <= 431:
        nvme_stall(now, m)


def stalls(k, now, _):
    """As small as its noise allows, but every 45 seconds."""
    if k % 45 == 7:
        now["diskstats.write_time", 0] += now["diskstats.writes", 0] * .5


def stays_on_cpu(k, now, _):
    if k > 150:
        now["user", 5] += 18


def creeps(k, now, _):
    """Power rises for two minutes and falls back at once."""
    if 60 < k <= 180:
        now["power.energy", 0] *= 1 + .18 * (1 - math.exp((60 - k) / 40))


def settles(k, now, _):
    """In the first minute a cgroup has a quarter less memory, and there is a little less to do."""
    if k < 60:
        now["cgroups.memory", 0] *= .75
        now["tcp.out_segments", 0] *= .86


def few_reads(k, now, m):
    """A disk that reads now and then: how long a single read took is anything."""
    for d in range(2):
        n = m.rnd.randrange(4)
        now["diskstats.reads", d] = n
        now["diskstats.read_bytes", d] = n * 8
        now["diskstats.read_time", d] = n * (12 if m.rnd.random() < .01 else 1 + m.rnd.random())


def slow_cpu(k, now, _):
    now["cpufreq.cur", 700] *= .55


# name: (story, ways to write it, [(seconds from, to, words that have to be said)], how many more there may be)
STORIES = {
    "two that overlap": (within((100, 140, hog(3)), (125, 150, nvme_stall)), {}, [(100, 140, "CPU 3"), (125, 150, "write latency")], 0),
    "at the very start": (within((0, 8, hog(5))), {}, [(0, 8, "CPU 5")], 0),
    "at the very end": (within((292, 300, hog(5))), {}, [(292, 300, "CPU 5")], 0),
    "a slow leak": (leak, {"cpus": 2, "seconds": 7200, "every": 5}, [(0, 7200, "memory")], 0),
    "cron, which is usual": (cron, {"seconds": 900}, [], 0),
    "cron and a stall": (cron_and_stall, {"seconds": 900}, [(425, 431, "write latency")], 1),
    "bursts at any time, which are usual": (bursts, {"seconds": 900}, [], 0),
    "bursts at any time and a hog": (bursts_and_hog, {"seconds": 900}, [(560, 570, "CPU 3")], 0),
    "stalls every 45 s": (stalls, {"seconds": 600}, [], 1),
    "a job that stays on a CPU": (stays_on_cpu, {"cpus": 64}, [(150, 300, "CPU 5")], 0),
    "power that creeps up": (creeps, {}, [(60, 180, "package 0")], 0),
    "a start that settles": (settles, {}, [], 0),
    "a step that stays": (step, {}, [(180, 300, "user mode")], 0),
    "ten snapshots": (within((24, 36, hog(1))), {"cpus": 2, "seconds": 60, "every": 6}, [(24, 36, "CPU 1")], 1),
    "missed ticks around it": (within((150, 156, hog(2))), {"missed": {148, 149, 152, 157, 158, 159}}, [(150, 156, "CPU 2")], 0),
    "an NVMe that stalls": (within((200, 205, nvme_stall)), {}, [(200, 205, "nvme0n1 write latency")], 0),
    "bandwidth of one node of 8": (within((90, 130, times("imc.read", 4, 5))), {"cpus": 128, "nodes": 8}, [(90, 130, "node 5")], 0),
    "a node, in a long recording": (within((4801, 4850, times("imc.read", 4, 1))), {"cpus": 2, "nodes": 2, "seconds": 9001},
                                    [(4801, 4850, "node 1")], 1),
    "one CPU of 1,024 is slow": (slow_cpu, {"cpus": 1024, "seconds": 60}, [(0, 60, "CPU 700")], 1),
    "one package throttles": (within((120, 160, throttled(1))), {"cpus": 128}, [(120, 160, "package 1")], 0),
    "TCP retransmits": (within((60, 75, put("tcp.retransmitted", 0, 240))), {}, [(60, 75, "TCP")], 0),
    "packets are dropped": (within((60, 64, put("netdev.rx_dropped", 0, 900))), {}, [(60, 64, "eth0")], 0),
    "a cgroup at cpu.max": (within((210, 240, capped)), {}, [(210, 240, "batch.slice")], 0),
    "a few TCP retransmits": (within((90, 98, put("tcp.retransmitted", 0, 4))), {}, [(90, 98, "TCP")], 0),
    "a little swapping": (within((90, 96, put("vmstat.pswpout", 0, 40))), {}, [(90, 96, "swapped out")], 0),
    "a disk that reads little": (few_reads, {"seed": 2}, [], 0),
    "an OOM kill": (oom, {}, [(180, 201, "killed for memory")], 0),
    "an hour in which nothing happens": (None, {"cpus": 2, "seconds": 3600}, [], 1),
    "five minutes of 128 CPUs": (None, {"cpus": 128}, [], 0),
    "a minute of 1,024 CPUs": (None, {"cpus": 1024, "seconds": 60}, [], 1),
}


def packed(path, pmrep):
    """As pmrec writes it."""
    subprocess.run([pmrep, "merge", "--overwrite", "-o", path + ".packed", path], check=True, stderr=subprocess.DEVNULL)
    os.replace(path + ".packed", path)
    return path


def misses(incidents, expected, more):
    """What is not as expected. Of a whole recording the time is said otherwise ("throughout"); a second more or less at both
    ends, and a tenth of what builds up, is as exact as it can be."""
    wrong, told = [], set()
    for begin, end, words in expected:
        near = [n for n, i in enumerate(incidents) if words in i["text"] and min(i["to_s"], end) - max(i["from_s"], begin) >= .5 * (
            max(i["to_s"], end) - min(i["from_s"], begin))]
        told.update(near)
        if not near or near[0] >= len(expected) + more:
            wrong.append("%d to %d s: no '%s'" % (begin, end, words))
    if len(incidents) > len(told) + more:
        wrong.append("%d incidents too many" % (len(incidents) - len(told) - more))
    return wrong
