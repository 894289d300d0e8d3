#!/usr/bin/python3
"""Counters that fall: by a little, where the kernel lets them; by more; and where what counts was replaced. A row is a
machine, and truth is arithmetic: steps.py PMREP"""

import csv
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
try:
    import compare
    import generate as g
    from generate import S
except ImportError as e:
    print("skipped: %s" % e)
    sys.exit(77)

N, PACE = 7, 30
TIMES = "user nice system idle iowait irq softirq steal guest guest_nice".split()
HUNDREDTHS, STEPS = [1, 100], [1, 10000]
KIND = {"vmstat": "system", "pressure": "system", "diskstats": "device", "netdev": "device", "tasks": "task",
        "cgroups": "cgroup"}

# Counter, CPUs, scale, by how much one reading is below the one before, and how far it may be: proc(5) and the kernel's
# source have a second of time that is divided anew, and 125 pages a CPU that were counted in advance.
MACHINES = [("stat." + t, cpus, HUNDREDTHS, back, 100) for t in TIMES for cpus in (1, 8) for back in (1, 100, 101, 9000)]
MACHINES += [(name, cpus, scale, back, most * (cpus if name.startswith("vmstat") else 1)) for name, scale, most in [
    ("vmstat.nr_dirtied", None, 125), ("vmstat.workingset_refault_file", None, 125), ("tasks.user", STEPS, 10**4),
    ("tasks.system", STEPS, 10**4), ("cgroups.system", STEPS, 10**4), ("cpuidle.time.c1", None, 0),
    ("schedstat.run_time", None, 0), ("softirqs.timer", None, 0), ("pressure.cpu.some", None, 0),
    ("diskstats.busy_time", None, 0), ("netdev.rx_bytes", None, 0)]
    for cpus in (1, 4) for back in (1, 125, 126, 500, 501, 10**4, 10**4 + 1)]


class Machine:
    def __init__(self, pmrep, path, cpus):
        self.pmrep, self.path, self.w, self.failures = pmrep, path, g.World(cpus), []

    def members(self, kind, n):
        if kind == "system":
            return self.w.system()
        return [self.w.instance(kind, c, c) if kind == "cpu" else self.w.instance(kind, None, None, "m%d" % c) for c in range(n)]

    def look(self, metrics, *options):
        """{(scope, member, metric): [(status, value) of each interval]}"""
        out = {}
        for level in {options[-1], "--per-system"}:
            done = subprocess.run([self.pmrep, "show", "--format=csv", "--show=" + metrics, *options[:-1], level, self.path],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            assert done.returncode in (0, 3), done.stderr
            for r in csv.DictReader(done.stdout.splitlines()):
                key = r["scope"], r["cpu"] or r["task"] or r["cgroup"] or r["device"], r["metric"]
                out.setdefault(key, []).append((r["status"], float(r["value"]) if r["value"] else None))
        return out

    def wants(self, where, got, *want):
        good = got and len(got) == len(want) and all(
            a[0] == b[0] and (a[1] is None) == (b[1] is None) and (a[1] is None or compare.same(a[1], b[1]))
            for a, b in zip(got, want))
        if not good:
            self.failures.append("%s: %s, but must be %s" % (where, got, list(want)))


def one_falls(pmrep, path, name, cpus, scale, back, most):
    """The first member falls before the fourth reading; what is read beside it does not."""
    m = Machine(pmrep, path, cpus)
    source = name.split(".")[0]
    kind, unit = KIND.get(source, "cpu"), scale[0] / scale[1] if scale else 1
    members = m.members(kind, cpus)
    m.w.counter(name, source=source, scale=scale, rule="none" if source == "cgroups" else "sum", width=32 if source == "softirqs" else 64)
    m.w.counter("test.beside", scale=scale)
    m.w.group([name, "test.beside"], members)
    m.w.write(path, [k * S for k in range(N)], lambda c, i, s, t: 20000 + 500 * i + PACE * s - (
        back + PACE if c == name and i == members[0] and s > 3 else 0))
    step, others, where = PACE * unit, len(members) - 1, "%s of %d CPUs, %d back" % (name, cpus, back)
    first = kind if kind != "system" else "system", {"cpu": "0", "system": ""}.get(kind, "m0")
    rows, total = (m.look(name + ",test.beside", o, "--per-" + kind) for o in ("--all", "--total"))
    ok = ("ok", step)
    m.wants(where, rows.get((*first, name)), ok, ok, ok, ("ok", 0) if back <= most else ("reset", None), ok, ok)
    m.wants(where, total.get((*first, name)), ("ok" if back <= most else "partial", 5 * step))
    if others and source != "cgroups":
        all_ok = ("ok", (others + 1) * step)
        m.wants(where, rows.get(("system", "", name)), all_ok, all_ok, all_ok,
                ("ok", others * step) if back <= most else ("reset", None), all_ok, all_ok)
        m.wants(where, total.get(("system", "", name)), ("ok" if back <= most else "partial", (6 * others + 5) * step))
    m.wants(where + ", beside", rows.get((*first, "test.beside")), *[ok] * 6)
    return m.failures


def shares(pmrep, path, cpus, field, back, away=()):
    """CPU k loses `back` of a field before reading k + 1. All are busy for 30 of 100; away: CPU 0 is offline then."""
    m = Machine(pmrep, path, cpus)
    for t in TIMES:
        m.w.counter("stat." + t, source="stat", scale=HUNDREDTHS)
    m.w.group(["stat." + t for t in TIMES], m.members("cpu", cpus), source="stat")
    pace = {"stat.user": 20, "stat.system": 10, "stat.idle": 70}

    def value(c, i, s, t):
        if i == 1 and s in away:
            return None, g.OFFLINE
        falls = c == "stat." + field and (s >= i if not away else i == 1 and s > away[-1])
        return 50000 + pace.get(c, 0) * s - (back + pace.get(c, 0) * (not away) if falls else 0)
    m.w.write(path, [k * S for k in range(N)], value)
    where = "%d CPUs, each loses %d of %s%s" % (cpus, back, field, ", the first was away" if away else "")
    rows, total = (m.look("util,util.user,util.idle", o, "--per-cpu") for o in ("--all", "--total"))

    def share(metric, fallen, of):
        """Of `of` CPUs of which `fallen` did not count the field."""
        have = {k: of * v - fallen * v * (k == "stat." + field) for k, v in pace.items()}
        return 100 * sum(have[k] for k in {"util": ("stat.user", "stat.system"), "util.user": ("stat.user",),
                                           "util.idle": ("stat.idle",)}[metric]) / sum(have.values())
    for metric in "util", "util.user", "util.idle":
        for s in range(1, N):
            cpu, whole = rows["cpu", "0", metric][s - 1], rows["system", "", metric][s - 1]
            if away:
                gone = s in away or s - 1 in away
                m.wants(where, [cpu], ("offline", None) if gone else ("ok", share(metric, 0, 1)))
                m.wants(where, [whole], ("ok", share(metric, 0, 1)))
            elif back <= 100:
                m.wants(where, [whole], ("ok", share(metric, s <= cpus, cpus)))
                m.wants(where, [cpu], ("ok", share(metric, s == 1, 1)))
            else:
                m.wants(where, [cpu], ("reset", None) if s == 1 else ("ok", share(metric, 0, 1)))
    if back <= 100 and not away:
        m.wants(where, total["system", "", "util"], ("ok", share("util", min(N - 1, cpus), (N - 1) * cpus)))
    return m.failures


def replaced(pmrep, path, name):
    """Of three devices one begins again: nothing of it is known in that interval, and all of the others."""
    m = Machine(pmrep, path, 1)
    source = name.split(".")[0]
    m.w.counter(name, source=source)
    m.w.counter("test.beside")
    members = m.members("device", 3)
    m.w.group([name, "test.beside"], members, source=source)
    m.w.write(path, [k * S for k in range(N)], lambda c, i, s, t: (10**6 + PACE * s if i != members[1] or s < 4 else PACE * (s - 4)))
    rows = m.look(name, "--all", "--per-device")
    ok, sums = ("ok", PACE), ("ok", 3 * PACE)
    m.wants(name, rows["device", "m1", name], ok, ok, ok, ("reset", None), ok, ok)
    m.wants(name, rows["device", "m0", name], *[ok] * 6)
    m.wants(name, rows["system", "", name], sums, sums, sums, ("reset", None), sums, sums)
    m.wants(name, m.look(name, "--total", "--per-system")["system", "", name], ("partial", 17 * PACE))
    return m.failures


def between(pmrep, path, name, scale, to):
    """One reading of the first member is none: neither what is between it and the one before, nor what comes back, was counted."""
    m = Machine(pmrep, path, 2)
    source, unit = name.split(".")[0], scale[0] / scale[1] if scale else 1
    kind = KIND.get(source, "cpu")
    m.w.counter(name, source=source, scale=scale, width=32 if source == "softirqs" else 64)
    members = m.members(kind, 2)
    m.w.group([name], members, source=source)
    for rows in 1, 64:  # in a chunk
        m.w.write(path, [k * S for k in range(N)], lambda c, i, s, t: to if (i, s) == (members[0], 3) else 1000 + PACE * s, per_chunk=rows)
        for options, of in (("--all",), [1] * 6), (("--every=2",), [2] * 3), (("--every=3",), [3] * 2), (("--total",), [6]):
            end = 0
            want = {(kind, {"cpu": "0", "system": ""}.get(kind, "m0")): [], ("system", ""): []}
            for n in of:
                lost = len({3, 4} & set(range(end + 1, end + n + 1)))
                end += n
                for place, row in want.items():
                    count = n - lost + (n if place[0] != kind else 0)
                    row.append(("reset", None) if lost == n else ("partial" if lost else "ok", count * PACE * unit))
            got = m.look(name, *options, "--per-" + kind)
            for place, row in want.items():
                m.wants("%s is %d for once: %s of %s" % (name, to, options[0], place), got[(*place, name)], *row)
    return m.failures


def comes_back(pmrep, path):
    """Of three devices one is gone for two readings and begins anew: it adds nothing to the others, and nothing of them is lost."""
    m = Machine(pmrep, path, 1)
    m.w.counter("netdev.rx_bytes", source="netdev")
    members = m.members("device", 3)
    m.w.group(["netdev.rx_bytes"], members, source="netdev")
    m.w.write(path, [k * S for k in range(N)], lambda c, i, s, t: 10**6 + PACE * s if i != members[1] or s < 2 else
              (None, g.GONE) if s < 4 else PACE * s)
    rows, total = (m.look("netdev.rx_bytes", o, "--per-device") for o in ("--all", "--total"))
    ok, gone = ("ok", PACE), ("gone", None)
    m.wants("comes back", rows["device", "m1", "netdev.rx_bytes"], ok, gone, gone, gone, ok, ok)
    m.wants("comes back", rows["system", "", "netdev.rx_bytes"], *[("ok", n * PACE) for n in (3, 2, 2, 2, 3, 3)])
    m.wants("comes back", total["system", "", "netdev.rx_bytes"], ("ok", 15 * PACE))
    return m.failures


def main(pmrep):
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.pmr")
        for row in MACHINES:
            failures += one_falls(pmrep, path, *row)
        for cpus in 2, 64:
            for field in "iowait", "idle", "user", "steal":
                for back in 1, 100, 101:
                    failures += shares(pmrep, path, cpus, field, back)
        for field in "iowait", "idle":
            failures += shares(pmrep, path, 2, field, 40000, (3, 4))
        failures += comes_back(pmrep, path)
        for name, scale in [("stat.user", HUNDREDTHS), ("cpuidle.time.c1", None), ("netdev.rx_bytes", None), ("diskstats.reads", None),
                            ("pressure.cpu.some", [1, 10**6])]:
            for to in 0, 400, 2**63 - 1, 2**63, 2**64 - 5, 2**64 - 1:
                failures += between(pmrep, path, name, scale, to)
        failures += between(pmrep, path, "softirqs.timer", None, 0)
        for name in "diskstats.reads", "diskstats.busy_time", "netdev.rx_bytes":
            failures += replaced(pmrep, path, name)
    for f in failures[:40]:
        print("FAILED: " + f)
    return 1 if failures else 0


sys.exit(main(sys.argv[1]))
