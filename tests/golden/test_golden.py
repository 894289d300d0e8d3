#!/usr/bin/python3
"""Checks what pmrep makes of one recording against a second reader and a second arithmetic.

    test_golden.py PMREP FILE.pmr

(a) every raw value of `pmrep dump` is the one that decode.py reads;
(b) every cell of `pmrep --show='*' --format=csv`, at all levels, is what follows from the raw values by the
    definitions below; nothing is missing that follows, and nothing is there that does not;
(c) the exit codes of check, dump and show fit what decode.py found damaged;
(d) a recording made with --privacy=strict holds nothing that names a machine, a person or a workload.

Exits with 77 if a Python module is missing that this needs.
"""

import csv
import datetime
import io
import json
import re
import subprocess
import sys
from fractions import Fraction

sys.dont_write_bytecode = True
try:
    import decode
    import uncore
except ImportError as e:
    print("skipped: %s" % e)
    sys.exit(77)

TOLERANCE = 1e-9
failures = []


def check(condition, message, *values):
    if not condition:
        failures.append(message % values)
    return condition


def run(pmrep, *args):
    done = subprocess.run([pmrep, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def same(a, b):
    return a == b or abs(a - b) <= TOLERANCE * max(abs(a), abs(b))


# ---- (a) raw values ----

def check_dump(pmrep, path, recording):
    mine = []
    for chunk, row, values in recording.snapshots():
        mine.append({"is": "snapshot", "number": chunk.numbers[row], "tick": chunk.ticks[row]})
        mine += [decode.as_json(v) for v in values]
    _, out, _ = run(pmrep, "dump", "--format=json", "--no-definitions", path)
    theirs = [json.loads(line) for line in out.splitlines()]
    theirs = [line for line in theirs if line["is"] in ("snapshot", "value")]
    theirs = [{k: v for k, v in line.items() if k != "flags"} for line in theirs]
    check(len(mine) == len(theirs), "dump has %d lines, the second reader %d", len(theirs), len(mine))
    for a, b in zip(mine, theirs):
        if not check(a == b, "dump says %s, the second reader %s", b, a):
            break
    return sum(line["is"] == "value" for line in mine)


# ---- (b) from raw values to intervals ----

class Missing(Exception):
    """A value that is not there; args[0] are the words of which one must be its status."""


class Series:
    """One counter of one instance: a reading or None for every snapshot."""

    def __init__(self, counter, instance, n):
        self.counter, self.instance = counter, instance
        self.reading = [None] * n
        scale = counter.scale
        self.scale = Fraction(scale) if isinstance(scale, str) else Fraction(*scale)

    def at(self, snapshot):
        r = self.reading[snapshot]
        if r is None:
            raise Missing({"no-interval", "not-read"})
        if r.reason:
            raise Missing({decode.reason_name(r.reason)})
        return r

    def number(self, snapshot):
        v = self.at(snapshot).value
        return self.scale * Fraction(v)

    def middle(self, snapshot):
        """Times are whole nanoseconds; so is the middle, rounded down."""
        r = self.at(snapshot)
        return (r.begin + r.end) // 2

    def state(self, snapshot):
        """Whether it was read, could not count, or was lost for a reason."""
        r = self.reading[snapshot]
        if r is None:
            return "offline"
        return decode.reason_name(r.reason) if r.reason else "known"

    def before(self, interval, i):
        """The reading that the one behind snapshot i is compared with: readings that failed are passed over."""
        while self.state(i) not in ("known", "offline") and i and interval.joined(i - 1, i):
            i -= 1
        return i if self.state(i) == "known" else None

    def stretches(self, interval):
        """The finest intervals of this one: pairs of readings between which it is known, ns in which it could not
        count, and why something is lost."""
        known, absent, lost = [], 0, []
        for i, k in interval.pairs:
            state = self.state(k)
            if state == "known":
                first = self.before(interval, i)
                if first is not None:
                    known.append((first, k))
                    continue
                state = self.state(i)
            if state == "offline":
                absent += interval.tick(k) - interval.tick(i)
            elif state != "not-read":
                lost.append((i, k, state))
        # What a reading missed comes with the next of the same interval.
        lost = [why for i, k, why in lost if not any(f <= i and k <= l for f, l in known)]
        return known, absent, lost

    def pairs(self, interval):
        known, absent, lost = self.stretches(interval)
        if not known:
            raise Missing({lost[0]} if lost else {"offline"} if absent else {"no-interval", "not-read"})
        return known

    def whole(self, interval):
        return not self.stretches(interval)[2]

    def difference(self, interval):
        pairs = self.pairs(interval)
        if self.counter.semantics == "gauge":
            # The mean of what was read at the ends of the finest intervals, by their time.
            time = [self.middle(k) - self.middle(i) for i, k in pairs]
            return sum(self.number(k) * t for (_, k), t in zip(pairs, time)) / sum(time)
        if self.counter.semantics != "cumulative":
            return self.number(pairs[-1][1])
        total, ran = 0, False
        for i, k in pairs:
            first, last = self.at(i), self.at(k)
            d = (last.value - first.value) % (1 << self.counter.width)
            enabled = last.enabled - first.enabled if first.enabled is not None else 0
            running = last.running - first.running if first.enabled is not None else 0
            # Enabled but never running: other events had the hardware. Neither: the task slept, and did nothing.
            if enabled and not running:
                continue
            ran = True
            if running < enabled:
                d = Fraction(d) * enabled / running
            total += d
        if not ran:
            raise Missing({"not-counted"})
        return self.scale * total

    def elapsed(self, interval):
        return Fraction(sum(self.middle(k) - self.middle(i) for i, k in self.pairs(interval)), 10**9)

    def rate(self, interval):
        """Per second of the time in which it was known, or could not count."""
        absent = Fraction(self.stretches(interval)[1], 10**9)
        own = self.instance.kind == "pmu" and self.at(self.pairs(interval)[0][0]).enabled is not None
        known = self.counted(interval) if own else self.elapsed(interval)
        return self.difference(interval) / (known + absent)

    def counted(self, interval):
        """As elapsed(), by the kernel's own clock of the event."""
        return Fraction(sum(self.at(k).enabled - self.at(i).enabled for i, k in self.pairs(interval)), 10**9)

    def start_at_zero(self):
        """What has not had its turn yet at its first reading stands at 0."""
        first = next(r for r in self.reading if r is not None)
        if first.reason and decode.reason_name(first.reason) == "not-counted" and first.enabled and not first.running:
            self.reading[self.reading.index(first)] = first._replace(value=0, reason=0)

    def mean(self, interval):
        """What was read at the ends of the finest intervals, weighted by their time."""
        area = sum(self.number(k) * (self.middle(k) - self.middle(i)) for i, k in self.pairs(interval))
        return area / self.elapsed(interval) / 10**9


class Interval:
    """A stretch of snapshots; nothing is said about what lies between two segments."""

    def __init__(self, first, last, snapshots):
        self.first, self.last, self.snapshots = first, last, snapshots
        self.pairs = [(i, i + 1) for i in range(first, last) if snapshots[i].place == snapshots[i + 1].place]
        # What lies between two stretches is a part of the interval of which nothing is known.
        self.duration = snapshots[last].tick - snapshots[first].tick
        self.whole = len(self.pairs) == last - first
        chunk = snapshots[last].chunk.clocks
        self.wall = snapshots[last].tick + chunk.realtime - chunk.monotonic

    def joined(self, i, k):
        return self.snapshots[i].place == self.snapshots[k].place

    def tick(self, i):
        return self.snapshots[i].tick


class Snapshot:
    def __init__(self, chunk, row):
        self.chunk, self.row = chunk, row
        self.tick = chunk.ticks[row]
        self.place = chunk.run, chunk.segment


def collect(recording):
    """Snapshots, and series by counter name."""
    rows = list(recording.snapshots())
    snapshots = [Snapshot(chunk, row) for chunk, row, _ in rows]
    series = {}
    for i, (_, _, values) in enumerate(rows):
        for v in values:
            of = series.setdefault(v.counter.name, {})
            one = of.setdefault(v.instance.id, None) or Series(v.counter, v.instance, len(rows))
            of[v.instance.id] = one
            one.reading[i] = v
    for of in series.values():
        for one in of.values():
            one.start_at_zero()
    return snapshots, {name: list(of.values()) for name, of in series.items()}


def intervals(snapshots):
    out = []
    for i in range(1, len(snapshots)):
        if snapshots[i].place == snapshots[i - 1].place:
            out.append(Interval(i - 1, i, snapshots))
    return out


class Place:
    """What the parts of a formula are summed over, in one interval."""

    def __init__(self, series, index, wanted, interval):
        self.series, self.index, self.wanted, self.interval = series, index, wanted, interval

    def parts(self, name):
        parts = [s for s in self.series.get(name, []) if self.wanted(s.instance)]
        here = []
        for s in parts:
            try:
                s.pairs(self.interval)
            except Missing as m:
                if m.args[0] == {"offline"}:
                    continue
            here.append(s)
        if not here:
            raise Missing({"offline"} if parts else {"no-input"})
        return here

    def put_together(self, name, of):
        parts = self.parts(name)
        rule = parts[0].counter.aggregation
        values = [of(s, self.interval) for s in parts]
        if len(values) == 1:
            return values[0]
        if rule == "none":
            raise Missing({"not-aggregated"})
        return {"sum": sum, "mean": lambda v: sum(v) / len(v), "max": max, "min": min,
                "first": lambda v: v[0]}[rule](values)

    def d(self, name):
        return self.put_together(name, Series.difference)

    def mean(self, name):
        return self.put_together(name, Series.mean)

    def elapsed(self, name):
        parts = self.parts(name)
        return sum(s.elapsed(self.interval) for s in parts)

    def count(self, name):
        return len(self.parts(name))

    def rate(self, name):
        return self.put_together(name, Series.rate)


def ratio(a, b):
    if not b:
        raise Missing({"division-by-zero"})
    return a / b


# /proc/stat: guest time is part of user time, so it is not in the sum of all.
BUSY = ["user", "nice", "system", "irq", "softirq", "steal"]
ALL = BUSY + ["idle", "iowait"]


def part_of_time(*names):
    return lambda p: 100 * ratio(sum(p.d("stat." + n) for n in names), sum(p.d("stat." + n) for n in ALL))


def share_of_elapsed(name):
    return lambda p: 100 * ratio(p.d(name), p.elapsed(name))


def rate(name, factor=1):
    return lambda p: p.rate(name) * factor


def quotient(a, b, factor=1):
    return lambda p: factor * ratio(p.d(a), p.d(b))


def clock(p):
    """The clock of tasks, or of CPUs where these are counted."""
    return "task-clock" if "task-clock" in p.series else "cpu-clock"


METRICS = {
    "util": part_of_time(*BUSY),
    "util.user": part_of_time("user", "nice"),
    "util.system": part_of_time("system", "irq", "softirq"),
    "util.iowait": part_of_time("iowait"),
    "util.steal": part_of_time("steal"),
    "util.nice": part_of_time("nice"),
    "util.irq": part_of_time("irq"),
    "util.softirq": part_of_time("softirq"),
    "util.guest": part_of_time("guest", "guest_nice"),
    "util.idle": part_of_time("idle"),
    "cpus": lambda p: p.count("stat.idle"),
    "cpus_busy": lambda p: p.count("stat.idle") * part_of_time(*BUSY)(p) / 100,
    "ctxsw": rate("stat.ctxt"),
    "runq": lambda p: p.mean("stat.procs_running"),
    "blocked": lambda p: p.mean("stat.procs_blocked"),
    "forks": rate("stat.processes"),
    "sched.wait": quotient("schedstat.wait_time", "schedstat.timeslices", 10**6),
    "sched.slice": quotient("schedstat.run_time", "schedstat.timeslices", 10**6),
    "sched.run": share_of_elapsed("schedstat.run_time"),
    "sched.waiting": rate("schedstat.wait_time"),
    "sched.switches": rate("schedstat.timeslices"),
    "sched.wakeups": rate("schedstat.wakeups"),
    "sched.remote": lambda p: 100 * (1 - ratio(p.d("schedstat.local_wakeups"), p.d("schedstat.wakeups"))),
    "sched.yields": rate("schedstat.yields"),
    "sched.idle": quotient("schedstat.idle_schedules", "schedstat.schedules", 100),
    "irq": rate("interrupts.total"),
    "irq.count": lambda p: p.d("interrupts.total"),
    "faults": rate("vmstat.pgfault"),
    "faults.major": rate("vmstat.pgmajfault"),
    "disk.in": rate("vmstat.pgpgin", Fraction(1, 10**6)),
    "disk.out": rate("vmstat.pgpgout", Fraction(1, 10**6)),
    "swap.in": rate("vmstat.pswpin"),
    "swap.out": rate("vmstat.pswpout"),
    "oom": lambda p: p.d("vmstat.oom_kill"),
    "numa.miss": lambda p: 100 * ratio(p.d("vmstat.numa_miss"), p.d("vmstat.numa_hit") + p.d("vmstat.numa_miss")),
    "psi.cpu": share_of_elapsed("pressure.cpu.some"),
    "psi.memory": share_of_elapsed("pressure.memory.some"),
    "psi.io": share_of_elapsed("pressure.io.some"),
    "psi.memory.full": share_of_elapsed("pressure.memory.full"),
    "psi.io.full": share_of_elapsed("pressure.io.full"),
    "psi.irq": share_of_elapsed("pressure.irq.full"),
    "migrations": rate("cpu-migrations"),
    "cpus_utilized": lambda p: p.rate(clock(p)) / 1000,
    "cpus_utilized_clock": rate("cpu-clock", Fraction(1, 1000)),
    # Per second of CPU time that was counted; task-clock is in milliseconds.
    "cs_per_second": lambda p: 1000 * ratio(p.d("context-switches"), p.d(clock(p))),
    "migrations_per_second": lambda p: 1000 * ratio(p.d("cpu-migrations"), p.d(clock(p))),
    "page_faults_per_second": lambda p: 1000 * ratio(p.d("page-faults"), p.d(clock(p))),
    "mhz": lambda p: p.mean("cpufreq.cur") / 10**6,
    "cycles_frequency": lambda p: ratio(p.d("cycles"), 10**6 * p.d(clock(p))),
}
# One metric for each member of a family: its name, the counter, the formula.
FAMILIES = [
    (r"idle\.(.+)\.residency", "cpuidle.time.", share_of_elapsed),
    (r"idle\.(.+)\.requests", "cpuidle.usage.", lambda name: lambda p: p.d(name)),
    (r"idle\.(.+)\.duration", "cpuidle.time.", lambda name: quotient(name, name.replace("time", "usage", 1), 10**6)),
    (r"idle\.(.+)\.above", "cpuidle.above.", lambda name: lambda p: p.d(name)),
    (r"idle\.(.+)\.below", "cpuidle.below.", lambda name: lambda p: p.d(name)),
    (r"irq\.(.+)", "interrupts.", rate),
    (r"softirq\.(.+)", "softirqs.", rate),
]


def formula(name, series, rates):
    if name in series:
        if rates and series[name][0].counter.semantics == "cumulative":
            return lambda p: p.rate(name)
        return lambda p: p.d(name)
    if name in METRICS:
        return METRICS[name]
    for pattern, counter, make in FAMILIES:
        match = re.fullmatch(pattern, name)
        if match and counter + match.group(1) in series:
            return make(counter + match.group(1))
    return uncore.compute(name, Missing, ratio)


def wall_ns(text):
    """RFC 3339 to ns since 1970."""
    head, fraction = text.rstrip("Z").split(".")
    moment = datetime.datetime.fromisoformat(head).replace(tzinfo=datetime.timezone.utc)
    return int(moment.timestamp()) * 10**9 + int(fraction.ljust(9, "0"))


LEVELS = {"system": (), "package": ("package",), "die": ("package", "die"), "node": ("node",),
          "core": ("package", "die", "core"), "cpu": ("cpu",), "task": (), "pmu": ()}


def belongs(recording, scope, row):
    """Whether an instance is part of the row's place."""
    cpus = {c["cpu"]: c for c in recording.topology}
    keys = LEVELS[scope]

    def wanted(instance):
        if scope == "system":
            return True
        if scope == "task":
            return instance.attrs.get(1) == row["task"]
        if scope == "pmu":
            return instance.kind == "pmu" and instance.attrs.get(1) == row["device"]
        cpu = cpus.get(instance.cpu)
        # What belongs to the whole system or to more than the place has no part in it.
        depth = {"system": 0, "package": 1, "die": 2, "node": 2, "core": 3, "cpu": 4, "pmu": 2}
        if cpu is None or depth.get(instance.kind, 9) < depth[scope]:
            return False
        return all(str(cpu.get(k, "")) == row[k] for k in keys)
    return wanted


def took_long(series, span):
    """Whether some reading at the ends of the interval took more than 1 % of it; tests/numbers says which values that
    makes doubtful."""
    ends = (s.reading[i] for parts in series.values() for s in parts for i in (span.first, span.last))
    return any(100 * (r.end - r.begin) > span.duration for r in ends if r is not None)


def check_cells(pmrep, path, recording, level, total, rates=False):
    """Every cell of one table; returns how many there were."""
    args = ["--show=*", "--format=csv", "--total" if total else "--all", path]
    args += ["--per-" + level] if level else []
    args += ["--rate"] if rates else []
    code, out, err = run(pmrep, *args)
    check(code in (0, 3), "%s ends with %d: %s", " ".join(args), code, err)
    snapshots, series = collect(recording)
    index = uncore.Index(series, recording.groups)
    spans = intervals(snapshots)
    if total and spans:
        spans = [Interval(0, len(snapshots) - 1, snapshots)]
    rows = list(csv.DictReader(io.StringIO(out)))
    by_time, wanted_cells, slow, seen = {}, set(), {}, 0
    for span in spans:
        by_time.setdefault(span.wall // 10**6, span)
        slow[span] = took_long(series, span)
    for row in rows:
        wall = wall_ns(row["time"]) // 10**6
        span = by_time.get(wall) or by_time.get(wall - 1) or by_time.get(wall + 1)
        where = "%s, %s of %s" % (row["time"], row["metric"], ",".join(v for v in [row["scope"], row["cpu"]] if v))
        if not check(span, "%s: there is no such interval", where):
            continue
        lasts = row["duration_ns"]
        check(int(lasts) == span.duration, "%s: lasts %s, not %d", where, lasts, span.duration)
        compute = formula(row["metric"], series, rates)
        if not check(compute, "%s: no second definition; test_golden.py needs one", where):
            continue
        seen += 1
        wanted_cells.add((span.last, row["scope"], row["metric"]))
        try:
            mine = compute(Place(series, index, belongs(recording, row["scope"], row), span))
        except Missing as m:
            check(row["value"] == "", "%s: is %s, but must be missing (%s)", where, row["value"], m.args[0])
            check(row["status"] in m.args[0], "%s: status is %s, not one of %s", where, row["status"], m.args[0])
            continue
        if check(row["value"] != "", "%s: is missing (%s), but must be %s", where, row["status"], float(mine)):
            mine = float(mine)
            check(same(float(row["value"]), mine), "%s: is %s, but must be %r", where, row["value"], mine)
            good = {"ok", "doubtful"} if slow[span] else {"ok"}
            check(row["status"] in (good if span.whole else {"partial"}), "%s: status is %s", where, row["status"])
            check((row["coverage"] == "1") == span.whole, "%s: coverage is %s", where, row["coverage"])
    # Every counter has a cell in every interval, except that tasks have no place in CPUs.
    for span in spans:
        for name, parts in series.items():
            if all(s.reading[span.last] is None for s in parts):
                continue
            if level not in (None, "system") and parts[0].instance.kind in ("task", "cgroup", "device", "pmu"):
                continue
            check((span.last, "system", name) in wanted_cells or (span.last, level, name) in wanted_cells,
                  "%s has no cell in the interval that ends at snapshot %d", name, span.last)
    check(rows or not spans, "no rows")
    return seen


# ---- (d) privacy: what --privacy=strict may record is in the key numbers ----

def check_strict(recording):
    if recording.header.get(19) != "strict":
        return
    maps = {"header": recording.header}
    maps.update(("counter " + c.name, c.attrs) for c in recording.counters.values())
    maps.update(("instance %d" % i.id, i.attrs) for i in recording.instances.values())
    maps.update(("event " + e.type, e.attrs) for e in recording.events)
    maps.update(("PMU %d" % i, p) for i, p in recording.pmus.items())
    for what, of in maps.items():
        for key in of:
            check(key < 100 or 300 <= key < 400, "%s has key %d under strict privacy", what, key)
    for c in recording.configs:
        check(c.privacy in (0, 3), "%s is of privacy class %d under strict privacy", c.name, c.privacy)


# ---- (c) exit codes ----

def check_codes(pmrep, path, recording):
    damaged = bool(recording.damage) or not recording.ended
    expected = {"check": 1 if damaged else 0, "dump": 3 if damaged else 0, "show": 3 if damaged else 0}
    for command, code in expected.items():
        got, out, err = run(pmrep, command, path)
        check(got == code, "%s ends with %d, not with %d", command, got, code)
        if command != "check" and damaged:
            check(err.strip(), "%s says nothing about the damage", command)
        if command == "check" and damaged:
            check(out.strip() or err.strip(), "check does not say what is damaged")
    name = path.rsplit("/", 1)[-1]
    check(("killed" in name) == damaged, "%s: damaged is %s", name, damaged)


def main(argv):
    if len(argv) != 3:
        sys.exit(__doc__)
    pmrep, path = argv[1:]
    recording = decode.load(path)
    counts = {"raw values": check_dump(pmrep, path, recording)}
    for level in (None, "cpu", "core", "package", "system"):
        name = "cells" + (" a " + level if level else "")
        counts[name] = check_cells(pmrep, path, recording, level, False)
        counts[name + " in all"] = check_cells(pmrep, path, recording, level, True)
    counts["rates"] = check_cells(pmrep, path, recording, None, False, True)
    check_codes(pmrep, path, recording)
    check_strict(recording)
    print("%s: %s" % (path.rsplit("/", 1)[-1], ", ".join("%d %s" % (n, what) for what, n in counts.items())))
    for message in failures[:20]:
        print("FAILED: " + message)
    if len(failures) > 20:
        print("... and %d more" % (len(failures) - 20))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
