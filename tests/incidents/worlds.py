"""Recordings with one incident in them, written by the words of format/SPEC.md: of which kind, how large beside the noise, how
long, on how many CPUs, and before what background is up to the caller. Nothing of pmrep takes part."""

import itertools
import math
import os
import random
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden"))
import encode

S = 10**9
CPU, PACKAGE, SYSTEM, DEVICE = 7, 1, 0, 11
# name: (source, unit, instances, gauge, level of an instance and second, deviation of it, what names it in a report)
COUNTERS = {
    "stat.user": ("stat", "s", CPU, False, 20, 2, ("util.user", "util", "cpus_busy")),
    "stat.system": ("stat", "s", CPU, False, 8, 1, ("util.system", "util")),
    "stat.iowait": ("stat", "s", CPU, False, 3, .7, ("util.iowait",)),
    "stat.steal": ("stat", "s", CPU, False, 2, .5, ("util.steal",)),
    "interrupts.24": ("interrupts", "1", CPU, False, 300, 17, ("irq.24",)),
    "softirqs.net_rx": ("softirqs", "1", CPU, False, 500, 25, ("softirq.net_rx",)),
    "cpu-migrations": ("perf", "1", CPU, False, 60, 8, ("migrations",)),
    "cpufreq.cur": ("cpufreq", "Hz", CPU, True, 2.4e9, 2e7, ()),
    "throttle.core": ("throttle", "1", CPU, False, 0, .3, ("throttle",)),
    "stat.processes": ("stat", "1", SYSTEM, False, 30, 6, ("forks",)),
    "stat.ctxt": ("stat", "1", SYSTEM, False, 9000, 300, ("ctxsw",)),
    "stat.procs_running": ("stat", "1", SYSTEM, True, 6, 1.5, ("runq",)),
    "stat.procs_blocked": ("stat", "1", SYSTEM, True, 3, 1, ("blocked",)),
    "vmstat.pgfault": ("vmstat", "1", SYSTEM, False, 5000, 250, ("faults",)),
    "vmstat.pgmajfault": ("vmstat", "1", SYSTEM, False, 4, 2, ("faults.major",)),
    "vmstat.pgpgout": ("vmstat", "By", SYSTEM, False, 8000, 600, ("disk.out",)),
    "vmstat.pswpout": ("vmstat", "1", SYSTEM, False, 10, 4, ("swap.out",)),
    "vmstat.nr_free_pages": ("vmstat", "1", SYSTEM, True, 4e6, 2e4, ()),
    "vmstat.nr_anon_pages": ("vmstat", "1", SYSTEM, True, 8e5, 4e3, ()),
    "imc.read": ("test", "By", PACKAGE, False, 4e9, 2e8, ()),
    "power.energy": ("test", "J", PACKAGE, False, 90, 3, ()),
    "zone.temp": ("test", "Cel", DEVICE, True, 55, .8, ()),
}
ONE, ALL, SOCKET = "one", "all", "socket"
# kind: (whole recording, ((counter, where, direction and part of the size), ...))
KINDS = {
    "hog": (False, (("stat.user", ONE, 1),)),
    "kernel_hog": (False, (("stat.system", ONE, 1),)),
    "fork_storm": (False, (("stat.processes", ALL, 1), ("vmstat.pgfault", ALL, 1), ("stat.ctxt", ALL, .5))),
    "io_stall": (False, (("stat.iowait", ALL, 1), ("stat.procs_blocked", ALL, 1), ("vmstat.pgpgout", ALL, -1))),
    "memory_pressure": (False, (("vmstat.pswpout", ALL, 1), ("vmstat.nr_free_pages", ALL, -1))),
    "throttle": (False, (("throttle.core", SOCKET, 1), ("cpufreq.cur", SOCKET, -1))),
    "slow_core": (True, (("cpufreq.cur", ONE, -1),)),
    "noisy_interrupt": (False, (("interrupts.24", ONE, 1),)),
    "bandwidth": (False, (("imc.read", ONE, 1),)),
    "leak": (True, (("vmstat.nr_anon_pages", ALL, 1),)),
    "lock_contention": (False, (("stat.ctxt", ALL, 1), ("stat.system", ALL, .5))),
    "frequency_drop": (False, (("cpufreq.cur", ALL, -1),)),
    "power_limit": (False, (("power.energy", ONE, -1), ("cpufreq.cur", SOCKET, -.5))),
    "packet_flood": (False, (("softirqs.net_rx", ONE, 1),)),
    "migrations": (False, (("cpu-migrations", ALL, 1),)),
    "flush": (False, (("vmstat.pgpgout", ALL, 1),)),
    "steal": (False, (("stat.steal", ALL, 1),)),
    "major_faults": (False, (("vmstat.pgmajfault", ALL, 1),)),
    "run_queue": (False, (("stat.procs_running", ALL, 1),)),
    "heat": (False, (("zone.temp", ONE, 1),)),
}
BACKGROUNDS = ("quiet", "bursty", "wild", "periodic")


class Truth:
    def __init__(self, from_s, to_s, whole, metrics, cpu, visible=None):
        self.from_s, self.to_s, self.whole, self.metrics, self.cpu = from_s, to_s, whole, metrics, cpu
        self.visible = visible

    def in_first(self, incidents, first=3):
        for i in incidents[:first]:
            if any(s["metric"] in self.metrics for s in i["series"]) and self.at(i):
                return True
        return False

    def at(self, i):
        both = min(self.to_s, i["to_s"]) - max(self.from_s, i["from_s"])
        either = max(self.to_s, i["to_s"]) - min(self.from_s, i["from_s"])
        return self.whole or both > 0 and (both >= .4 * either or either - both <= 3)


def used_counters(cpus, seconds):
    """Of a long or wide world only some, or writing it would take longer than the tests may."""
    names = list(COUNTERS)
    return [n for n in names if COUNTERS[n][2] != CPU or cpus * seconds <= 40_000 or n in (
        "stat.user", "stat.system", "stat.iowait", "stat.steal", "cpufreq.cur", "throttle.core")]


def write(path, kind, size, cpus, seconds, background, seed, events=()):
    """`kind` None: nothing happens. `events`: for the recording, with times since its start. Returns the Truth."""
    rnd = random.Random(seed)
    names = used_counters(cpus, seconds)
    whole, moves = KINDS[kind] if kind else (True, ())
    moves = [m for m in moves if m[0] in names]
    if kind and not moves:
        return None
    rows = seconds + 1
    length = rows if whole else max(3, min(int(math.exp(rnd.uniform(math.log(max(3, rows / 700)), math.log(max(5, rows / 10))))),
                                           rows // 4))
    begin = 0 if whole else rnd.randrange(2, rows - length - 2)
    who = rnd.randrange(cpus)
    packages = max(1, cpus // 64)
    instances = [{1: 0}] + [{1: 1, 2: p, 3: p * 64} for p in range(packages)] + [{1: 7, 2: c, 3: c} for c in range(cpus)]
    instances += [{1: 11, 6: {1: "zone0"}}, {1: 11, 6: {1: "zone1"}}]
    first = {SYSTEM: 1, PACKAGE: 2, CPU: 2 + packages, DEVICE: 2 + packages + cpus}
    many = {SYSTEM: 1, PACKAGE: packages, CPU: cpus, DEVICE: 2}

    columns = {}
    for n in names:
        _, _, scope, gauge, level, sd, _ = COUNTERS[n]
        touched = next((m for m in moves if m[0] == n), None)
        columns[n] = []
        for i in range(many[scope]):
            sign = 0
            if touched:
                place = who if scope == CPU else who // 64 % packages if scope == PACKAGE else who % 2
                here = {ALL: True, ONE: i == place or scope == SYSTEM, SOCKET: i // 64 == who // 64}[touched[1]]
                sign = touched[2] * here
            columns[n].append(series(rnd, rows, gauge, level, sd, background, sign * size, begin, length, kind == "leak"))
    r = encode.Recording()
    r.body(encode.HEADER, {1: "worlds", 5: "x86_64", 13: S, 18: "system", 28: True})
    r.body(encode.TOPOLOGY, {1: encode.START, 2: list(range(cpus)), 3: [c // 64 for c in range(cpus)],
                             6: list(range(cpus)), 13: [c // 64 for c in range(cpus)], 15: [1] * cpus})
    r.body(encode.INSTANCES, {2: 1, 3: instances})
    counters = []
    for n in names:
        source, unit, _, gauge, _, _, _ = COUNTERS[n]
        c = {1: n, 3: source, 4: unit, 10: {2: True}}
        if source == "stat" and unit == "s":
            c[5] = [1, 100]
        if unit == "By" and source == "vmstat":
            c[5] = [1024, 1]
        if gauge:
            c[7] = 2
        if n in ("cpufreq.cur", "zone.temp"):
            c[9] = 1
            c[6] = 2 if n == "zone.temp" else 0
        counters.append(c)
    groups = []
    for scope in (SYSTEM, PACKAGE, CPU, DEVICE):
        ids = [k + 1 for k, n in enumerate(names) if COUNTERS[n][2] == scope]
        if ids:
            groups.append((scope, ids))
    r.body(encode.SCHEMA, {1: 1, 2: counters, 3: 1, 4: [
        {1: "test", 2: 2, 3: [g[1][0], len(g[1]), 1] if g[1] == list(range(g[1][0], g[1][-1] + 1)) else [
            x for k in g[1] for x in (k, 1, 1)], 4: [first[g[0]], many[g[0]], 1]} for g in groups]})
    for row in range(0, rows, 128):
        ticks = [encode.START + k * S for k in range(row, min(row + 128, rows))]
        out = []
        for number, (scope, ids) in enumerate(groups):
            bands = [("u64", [[t + o for t in ticks]]) for o in (100, 350)]
            for k in ids:
                n = names[k - 1]
                bands.append(("f64" if n == "zone.temp" else "u64", [c[row:row + len(ticks)] for c in columns[n]]))
            out.append((number + 1, bands, []))
        r.chunk(out, ticks)
    if events:
        r.body(encode.EVENT, {1: encode.START, 2: list(events)})
    r.end()
    r.save(path)
    metrics = {m[0] for m in moves} | {x for m in moves for x in COUNTERS[m[0]][6]} | ({"mhz"} if moves else set())
    return Truth(begin, begin + length, whole, metrics, who, 100 if whole else max(
        (stands_out(columns[m[0]], COUNTERS[m[0]][3], m[2] < 0, begin, length) for m in moves), default=0))


def stands_out(column, gauge, down, begin, length):
    """By how much the largest sum of so many values at that time exceeds the largest of any of these series, and of all of them
    together, at any other time: at most 1 if whoever knows what to look for, and for how long, would see nothing."""
    rates = [c[1:] if gauge else [b - a for a, b in zip(c, c[1:])] for c in column]
    rates = [[-v if down else v for v in r] for r in rates]
    most = 0
    for family in (rates, [[sum(v) for v in zip(*rates)]]):
        own = others = 0
        for r in family:
            usual = sorted(r)[len(r) // 2] * length
            total = [0, *itertools.accumulate(r)]
            for k in range(len(r) - length + 1):
                d = total[k + length] - total[k] - usual
                if k == begin:
                    own = max(own, d)
                elif abs(k - begin) >= length:
                    others = max(others, d)
        most = max(most, own / others if others else 100)
    return most


def series(rnd, rows, gauge, level, sd, background, move, begin, length, leak):
    gauss, out, total, burst, extra = rnd.gauss, [], 0, 0, 0.
    phase, period, bursts = rnd.random() * 7, 20 + rnd.random() * 60, background in ("bursty", "wild")
    for k in range(rows):
        v = level + gauss(0, sd if background != "constant" else 0) if level else 0
        if not level:
            pass
        elif bursts:
            if burst:
                burst -= 1
                v += extra
            elif background == "wild" and rnd.random() < .01:
                # Of any size.
                burst, extra = rnd.randrange(1, 4), 3 * rnd.paretovariate(1.5) * sd
            elif background == "bursty" and rnd.random() < .03:
                burst, extra = rnd.randrange(1, 4), min(rnd.expovariate(1), 3) * sd
        elif background == "periodic":
            v += 2 * sd * math.sin(phase + k * 6.2832 / period)
        elif background == "beats":
            v += 20 * sd * (k % 40 in (7, 8))
        if move:
            if leak:
                v += move * sd * k / rows * 2
            elif begin < k <= begin + length:
                v += move * sd
        v = max(v, 0)
        if gauge:
            out.append(v if level < 1000 and level > 50 else round(v))
        else:
            total += v
            out.append(int(total))
    return out


def machine(instances, counters, groups):
    """The definitions of a machine with two CPUs. counters: (name, source, unit, more); groups: (first counter, how many, first
    instance, how many)."""
    r = encode.Recording()
    r.body(encode.HEADER, {1: "worlds", 5: "x86_64", 13: S, 18: "system", 28: True})
    r.body(encode.TOPOLOGY, {1: encode.START, 2: [0, 1], 3: [0, 0], 6: [0, 1], 13: [0, 0], 15: [1, 1]})
    r.body(encode.INSTANCES, {1: encode.START, 2: 1, 3: [{1: 7, 2: 0, 3: 0}, {1: 7, 2: 1, 3: 1}, *instances]})
    r.body(encode.SCHEMA, {1: 1, 2: [{1: n, 3: source, 4: unit, 10: {2: True}, **more} for n, source, unit, more in counters],
                           3: 1, 4: [{1: "test", 2: 2, 3: [c, n, 1], 4: [i, m, 1]} for c, n, i, m in groups]})
    return r


def task(number, pid, comm, parent=None):
    """As the recorder knows it, shortly after its first reading."""
    whose = {200: pid} if pid else {204: parent[0], 205: parent[1]}
    return {1: 9, 2: number, 4: S // 100, 6: {1: "task-%d" % number, 202: comm, **whose}}


def save(r, path, seconds, *tables):
    """tables: for each group its counters, of which each is a list of readings for each instance."""
    for row in range(0, seconds + 1, 128):
        ticks = [encode.START + k * S for k in range(row, min(row + 128, seconds + 1))]
        around = [("u64", [[t + o for t in ticks]]) for o in (100, 350)]
        r.chunk([(g + 1, around + [("u64", [values[row:row + 128] for values in c]) for c in counters], [])
                 for g, counters in enumerate(tables)], ticks)
    r.end()
    r.save(path)


def added(values, scale=1):
    total, out = 0, [0]
    for v in values:
        total += v
        out.append(int(scale * total))
    return out


HUNDREDTHS = {5: [1, 100]}


def write_tasks(path, seconds=120, begin=60, length=6):
    """A CPU is busy for a while, because of one of two tasks: "hog", pid 4711; "idler", pid 12, does the same all the time."""
    rnd = random.Random(1)
    busy = [.95 if begin <= k < begin + length else rnd.gauss(.2, .02) for k in range(seconds)]
    hog, idler = added([max(b - .25, 0) for b in busy], 100), added([.05] * seconds, 100)
    r = machine([task(1, 4711, "hog"), task(2, 12, "idler")],
                [("stat.user", "stat", "s", HUNDREDTHS), ("tasks.user", "tasks", "s", HUNDREDTHS),
                 ("tasks.system", "tasks", "s", HUNDREDTHS)], [(1, 1, 1, 2), (2, 2, 3, 2)])
    zero = [0] * (seconds + 1)
    save(r, path, seconds, [[added(busy, 100), added([rnd.gauss(.1, .02) for _ in range(seconds)], 100)]],
         [[hog, idler], [zero, zero]])


def write_memory(path, leak, begin=200, seconds=400):
    """The newer of two processes of one name, pid 4712, takes 2 GB: until it ends, or for 30 s. The other one has more all
    the time, and pid 12 computes more then; a third of that name takes 40 MB."""
    rnd = random.Random(1)
    inside = [begin < k <= begin + 30 for k in range(seconds + 1)]
    alive = [not leak or k < seconds - 5 for k in range(seconds + 1)]
    more = [(2e9 * k / seconds if leak else 2e9 * n * min(1, (k - begin) / 4)) * alive[k] for k, n in enumerate(inside)]
    meminfo = {5: [1024, 1], 7: 2}
    r = machine([task(1, 4711, "python3"), task(2, 4712, "python3"), task(3, 12, "spinner"), task(4, 13, "python3"), {1: 0}],
                [("meminfo.memtotal", "meminfo", "By", meminfo), ("meminfo.memavailable", "meminfo", "By", meminfo),
                 ("tasks.user", "tasks", "s", HUNDREDTHS), ("tasks.rss", "tasks", "By", {5: [4096, 1], 7: 2})],
                [(1, 2, 7, 1), (3, 2, 3, 4)])
    small = [.01] * seconds
    save(r, path, seconds, [[[16 << 20] * (seconds + 1)], [[int((12e9 - m + rnd.gauss(0, 8e6)) / 1024) for m in more]]],
         [[added(small, 100), added([.05 if n else 0 for n in inside[1:]], 100), added([.9 if n else .1 for n in inside[1:]], 100),
           added(small, 100)],
          [[int(v / 4096) for v in values]
           for values in ([3e9 + rnd.gauss(0, 5e6) for _ in more], [3e7 * a + m for a, m in zip(alive, more)],
                          [2e8] * (seconds + 1), [1e8 + m / 50 for m in more])]])


def write_storm(path, seconds=120, begin=60, length=5):
    """A shell, pid 4711, starts 1,824 processes a second for a while that nobody sees alive: 9,120 of them."""
    rnd = random.Random(1)
    now = [begin <= k < begin + length for k in range(seconds)]
    r = machine([task(1, 4711, "sh"), task(2, None, "true", (4711, "sh")), {1: 0}],
                [("stat.processes", "stat", "1", {}), ("vmstat.pgfault", "vmstat", "1", {}),
                 ("tasks.user", "tasks", "s", HUNDREDTHS), ("tasks.system", "tasks", "s", HUNDREDTHS),
                 ("tasks.ended", "tasks", "1", {})], [(1, 2, 5, 1), (3, 3, 3, 2)])
    zero = [0] * (seconds + 1)
    save(r, path, seconds, [[added([1824 + 11 if n else rnd.choice((1, 2, 3)) for n in now])],
                            [added([240511 if n else rnd.gauss(3500, 90) for n in now])]],
         [[added([.05 if n else 0 for n in now], 100), added([.1 if n else 0 for n in now], 100)],
          [added([.1 if n else 0 for n in now], 100), added([.5 if n else 0 for n in now], 100)],
          [zero, added([1824 if n else 0 for n in now])]])
