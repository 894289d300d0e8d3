"""Worlds whose numbers everybody can work out by hand. case(path) writes one and returns what is asked of it:
(options, metric, {column: text}, value or None, status word, coverage; ...: not asked for)."""

import generate as g
from generate import S

ALL = "--all"
TOTAL = "--total"
RATE = ("--rate", "--total")


def line(n, step=S):
    return [k * step for k in range(n)]


def away(path):
    """Two CPUs at 1000/s, one of them there for 2 of 20 s: the machine did 1100/s."""
    w = g.World(2)
    w.counter("test.n")
    w.group(["test.n"], w.each_cpu())
    w.write(path, line(21), lambda c, i, s, t: (None, g.OFFLINE) if i == 2 and s > 2 else 1000 * s)
    return {"all_rate": "rate(test.n)"}, [
        (RATE, "test.n", {"scope": "system"}, 1100, "ok", 1),
        (TOTAL, "test.n", {"scope": "system"}, 22000, "ok", 1),
        (TOTAL, "all_rate", {"scope": "system"}, 1100, "ok", 1),
        (("--rate", "--total", "--per-cpu"), "test.n", {"cpu": "1"}, 100, "ok", 1),
        (("--rate", "--every=5"), "test.n", {"scope": "system", "wall": 5}, 1400, "ok", 1),
        (("--rate", "--every=5"), "test.n", {"scope": "system", "wall": 20}, 1000, "ok", 1)]


def multiplexed(path):
    """10 s at 1e6/s with the counter all the time, 10 s at 1e9/s with it for a quarter: 4 CPUs counted 4.004e10."""
    w = g.World(4)
    w.event("work")
    w.group(["work"], w.each_cpu(), perf=True, source="perf")
    w.write(path, line(21), lambda c, i, s, t: 10**6 * min(s, 10) + 25 * 10**7 * max(0, s - 10),
            lambda k, i, s, t: (t, min(t, 10 * S) + max(0, t - 10 * S) // 4))
    return {}, [(TOTAL, "work", {"scope": "system"}, 4 * (10**7 + 10**10), "ok", 1),
                (("--every=4",), "work", {"scope": "system", "wall": 12}, 4 * (2 * 10**6 + 2 * 10**9), "ok", 1),
                (ALL, "work", {"scope": "system", "wall": 11}, 4 * 10**9, "ok", 1)]


def starved(path):
    """One of two CPUs never gave the event a counter; later on the other loses it, too."""
    w = g.World(2)
    w.event("work")
    w.group(["work"], w.each_cpu(), perf=True, source="perf")

    def value(c, i, s, t):
        return (None, g.NOT_COUNTED) if i == 2 else 500 * min(s, 4)
    w.write(path, line(9), value, lambda k, i, s, t: (t, 0 if i == 2 else min(t, 4 * S)))
    return {"mean_work": "aggr_nr(work)"}, [
        (TOTAL, "work", {"scope": "system"}, None, "not-counted", 0.25),
        (("--total", "--per-cpu"), "work", {"cpu": "0"}, 2000, "partial", 0.5),
        (("--all", "--per-cpu"), "work", {"cpu": "0", "wall": 5}, None, "not-counted", 0),
        (("--total", "--per-cpu"), "work", {"cpu": "1"}, None, "not-counted", 0)]


def late(path):
    """An event that had no counter at first counts from 0."""
    w = g.World(1)
    w.event("work")
    w.group(["work"], w.each_cpu(), perf=True, source="perf")
    w.write(path, line(5), lambda c, i, s, t: (None, g.NOT_COUNTED) if s < 2 else 300 * (s - 1),
            lambda k, i, s, t: (t + S, max(0, t - S)))
    return {}, [(ALL, "work", {"scope": "system", "wall": 1}, None, "not-counted", 0),
                (ALL, "work", {"scope": "system", "wall": 2}, 300, "ok", 1),
                (TOTAL, "work", {"scope": "system"}, 900, "partial", 0.75)]


def levels(path):
    """40 degrees for 20 s, 90 for 20 s: 65. A CPU that is away adds nothing to a sum and nothing to a mean."""
    w = g.World(2)
    w.counter("test.temp", "gauge", "max", unit="Cel")
    w.counter("test.load", "gauge", "sum")
    w.counter("test.mhz", "gauge", "mean")
    w.group(["test.temp", "test.load", "test.mhz"], w.each_cpu())

    def value(c, i, s, t):
        if i == 2 and s > 10:
            return None, g.OFFLINE
        return {"test.temp": 90 if s > 20 else 40, "test.load": 8 * i, "test.mhz": 1000 * i}[c]
    w.write(path, line(41), value)
    return {"hottest": "max_of(test.temp)", "latest": "last(test.temp)", "at_first": "first(test.temp)"}, [
        (TOTAL, "test.temp", {"scope": "system"}, 65, "ok", 1),
        (TOTAL, "hottest", {"scope": "system"}, 90, "ok", 1),
        (TOTAL, "latest", {"scope": "system"}, 90, "ok", 1),
        (TOTAL, "at_first", {"scope": "system"}, 40, "ok", 1),
        (TOTAL, "test.load", {"scope": "system"}, 8 + 16 / 4, "ok", 1),
        (("--total", "--per-cpu"), "test.load", {"cpu": "1"}, 16 / 4, "ok", 1),
        (TOTAL, "test.mhz", {"scope": "system"}, (10 * 1500 + 30 * 1000) / 40, "ok", 1),
        (("--every=16",), "test.mhz", {"scope": "system", "wall": 16}, (10 * 1500 + 6 * 1000) / 16, "ok", 1),
        (ALL, "test.load", {"scope": "system", "wall": 10}, 24, "ok", 1),
        (ALL, "test.load", {"scope": "system", "wall": 12}, 8, "ok", 1),
        (ALL, "test.mhz", {"scope": "system", "wall": 12}, 1000, "ok", 1)]


def added(path):
    """What a user adds without a type counts, but is averaged over the CPUs, as turbostat does."""
    w = g.World(4)
    w.counter("add.n", attrs={30: "cpu"})
    w.counter("test.n")
    w.group(["add.n", "test.n"], w.each_cpu())
    w.write(path, line(5), lambda c, i, s, t: (None, g.OFFLINE) if i == 4 else 100 * i * s)
    return {}, [(TOTAL, "add.n", {"scope": "system"}, 800, "ok", 1), (TOTAL, "test.n", {"scope": "system"}, 2400, "ok", 1),
                (("--rate", "--every=2"), "add.n", {"scope": "system", "wall": 4}, 200, "ok", 1)]


def reset(path):
    """5,000,200 followed by 40 in 32 bits began anew; 4,294,967,290 followed by 40 turned round."""
    w = g.World(1)
    w.counter("test.reset", width=32)
    w.counter("test.wrap", width=32)
    w.counter("test.small", width=8)
    w.counter("test.wide")
    names = ["test.reset", "test.wrap", "test.small", "test.wide"]
    w.group(names, w.each_cpu())
    reading = {"test.reset": [5000000, 5000200, 40, 50], "test.wrap": [2**32 - 206, 2**32 - 6, 40, 50],
               "test.small": [250, 4, 130, 5], "test.wide": [1000, 2000, 1999, 2100]}
    w.write(path, line(4), lambda c, i, s, t: reading[c][s])
    one = {"scope": "system"}
    return {"level": "mean(test.reset)", "began": "first(test.reset)"}, [
        (ALL, "test.reset", {**one, "wall": 2}, None, "reset", 0), (TOTAL, "test.reset", one, 210, "partial", 2 / 3),
        (TOTAL, "level", one, (5000200 + 50) / 2, "partial", 2 / 3), (TOTAL, "began", one, 5000000, "partial", 2 / 3),
        (TOTAL, "test.wrap", one, 256, "ok", 1), (ALL, "test.wrap", {**one, "wall": 2}, 46, "ok", 1),
        (ALL, "test.small", {**one, "wall": 1}, 10, "ok", 1), (ALL, "test.small", {**one, "wall": 2}, 126, "ok", 1),
        (ALL, "test.small", {**one, "wall": 3}, None, "reset", 0), (TOTAL, "test.small", one, 136, "partial", 2 / 3),
        (TOTAL, "test.wide", one, 1101, "partial", 2 / 3)]


def missed(path):
    """What a missed reading did not count the next one does."""
    w = g.World(2)
    w.counter("test.n")
    w.counter("test.level", "gauge", "max")
    w.group(["test.n", "test.level"], w.each_cpu())

    def value(c, i, s, t):
        if i == 2 and s in (3, 4, 8):
            return None, g.MISSED if s == 3 else g.DROPPED if s == 4 else 1005
        return 100 * s if c == "test.n" else 7
    w.write(path, line(9), value)
    one = {"cpu": "1"}
    cpu = ("--all", "--per-cpu")
    return {}, [(cpu, "test.n", {**one, "wall": 3}, None, "missed", 0), (cpu, "test.n", {**one, "wall": 4}, None, "dropped", 0),
                (cpu, "test.n", {**one, "wall": 5}, 300, "ok", 1),
                (("--every=5", "--per-cpu"), "test.n", {**one, "wall": 5}, 500, "ok", 1),
                (("--every=2", "--per-cpu"), "test.n", {**one, "wall": 4}, None, "missed", 0),
                (("--every=2", "--per-cpu"), "test.n", {**one, "wall": 6}, 400, "ok", 1),
                (("--every=2", "--per-cpu", "--rate"), "test.n", {**one, "wall": 6}, 100, "ok", 1),
                (TOTAL, "test.n", {"scope": "system"}, 1500, "partial", 15 / 16),
                (("--total", "--rate"), "test.n", {"scope": "system"}, 200, "partial", 15 / 16),
                (TOTAL, "test.level", {"scope": "system"}, 7, "partial", 13 / 16),
                (ALL, "test.n", {"scope": "system", "wall": 3}, None, "missed", 0.5)]


def members_lost(path):
    """A member of which nothing is known makes a sum missing; a mean is made of the others."""
    w = g.World(4)
    w.counter("test.n")
    w.counter("test.avg", rule="mean")
    w.counter("test.most", rule="max")
    w.group(["test.n", "test.avg", "test.most"], w.each_cpu())
    w.write(path, line(5), lambda c, i, s, t: (None, 1024) if i == 3 else 10 * s * i)
    return {}, [(TOTAL, "test.n", {"scope": "system"}, None, "errno-24", 0.75),
                (TOTAL, "test.avg", {"scope": "system"}, 40 * (1 + 2 + 4) / 3, "partial", 0.75),
                (TOTAL, "test.most", {"scope": "system"}, 160, "partial", 0.75),
                (("--total", "--per-core"), "test.n", {"core": "0"}, 120, "ok", 1)]


def sockets(path):
    """A socket whose CPUs are offline still moves data: its PMU is lost, not absent."""
    w = g.World(8)
    w.counter("test.energy", unit="J")
    w.group(["test.energy"], w.each_package())
    w.counter("test.n")
    w.group(["test.n"], w.each_cpu())
    packages = w.each_package()

    def value(c, i, s, t):
        if c == "test.energy":
            return (None, g.OFFLINE) if i == packages[1] else 50 * s
        return (None, g.OFFLINE) if w.instances[i - 1][2] > 3 else s
    w.write(path, line(5), value)
    return {}, [(TOTAL, "test.energy", {"scope": "system"}, None, "offline", 0.5),
                (("--total", "--per-package"), "test.energy", {"package": "0"}, 200, "ok", 1),
                (TOTAL, "test.n", {"scope": "system"}, 16, "ok", 1),
                (("--total", "--per-package"), "test.n", {"package": "1"}, None, "offline", None)]


def two_counters():
    """test.a and test.b of each of two CPUs, in groups of their own."""
    w = g.World(2)
    w.counter("test.a")
    w.counter("test.b")
    w.group(["test.a"], w.each_cpu())
    w.group(["test.b"], w.each_cpu())
    return w


def support(path):
    """A ratio takes both of its counters from the same members and intervals."""
    w = two_counters()

    def value(c, i, s, t):
        if c == "test.b" and i == 2 and s >= 5:
            return None, 1005
        if c == "test.a" and i == 1 and s == 2:
            return None, g.MISSED
        return (300 * i if c == "test.a" else 100 * i) * s
    w.write(path, line(11), value)
    return {"quot": "test.a / test.b"}, [
        (TOTAL, "quot", {"scope": "system"}, 3, "partial", 14 / 20),
        (("--total", "--per-cpu"), "quot", {"cpu": "0"}, 3, "ok", 1),
        (("--total", "--per-cpu"), "quot", {"cpu": "1"}, 3, "partial", 0.4),
        (("--all", "--per-cpu"), "quot", {"cpu": "0", "wall": 3}, 3, "ok", 1),
        (("--all", "--per-cpu"), "quot", {"cpu": "0", "wall": 2}, None, "missed", ...),
        (TOTAL, "test.a", {"scope": "system"}, 9000, "ok", 1)]


def slewed(slew):
    def case(path):
        """Energy by a true clock, while MONOTONIC goes wrong by some per cent: the watts are right."""
        w = g.World(1, slew=slew, tsc_hz=2 * 10**9)
        w.counter("test.energy", unit="J")
        w.counter("test.level", "gauge", "max")
        w.group(["test.energy", "test.level"], w.each_cpu(), late=0, span=0)
        w.write(path, line(11), lambda c, i, s, t: round(1e9 * t / S / (1 + slew)) if c == "test.energy" else 5)
        return {"part": "test.energy / elapsed(test.energy) / 1e7"}, [
            (RATE, "test.energy", {"scope": "system"}, 1e9, "ok", 1),
            (("--rate", "--all"), "test.energy", {"scope": "system", "wall": 1}, 1e9, "ok", 1),
            (("--rate", "--every=3"), "test.energy", {"scope": "system", "wall": 9}, 1e9, "ok", 1),
            (TOTAL, "part", {"scope": "system"}, 100, "ok", 1)]
    case.__doc__ = "MONOTONIC is %g %% off" % (100 * slew)
    return case


def pmus(path):
    """Four memory controllers, two a socket, are one event. The clock of each is no second bandwidth."""
    w = g.World(8)
    pmu = [w.instance("pmu", k, 4 * (k // 2), "uncore_imc_%d" % k) for k in range(4)]
    for k, i in enumerate(pmu):
        w.pmu("uncore_imc_%d" % k, 20 + k, {"reads": 0x304, "cycles": 0x100})
        names = [w.event("uncore_imc_%d/%s/" % (k, e), k + 1, pmu="uncore_imc_%d" % k) for e in ("reads", "cycles")]
        w.group(names, [i], perf=True, source="perf")

    def value(c, i, s, t):
        return s * (1000 * (pmu.index(i) + 1) if "reads" in c else 100)
    w.write(path, line(6), value, lambda k, i, s, t: (t, t))
    return {"bw": "uncore_imc@reads@", "per_cycle": "uncore_imc@reads@ / uncore_imc@cycles@", "bw_rate": "rate(uncore_imc@reads@)"}, [
        (TOTAL, "bw", {"scope": "system"}, 50000, "ok", 1),
        (TOTAL, "bw_rate", {"scope": "system"}, 10000, "ok", 1),
        (TOTAL, "per_cycle", {"scope": "system"}, 25, "ok", 1),
        (("--total", "--per-package"), "bw", {"package": "1"}, 35000, "ok", 1)]


def twice(path):
    """An event opened in two groups is taken from the group of the formula's other event, and never added up."""
    w = g.World(1)
    cpus = w.each_cpu()
    w.config.update({"cycles": (0, 0), "loads": (4, 0x81d0), "stores": (4, 0x82d0)})
    w.event("cycles", 1)
    w.event("loads", 1)
    w.event("cycles#2", 2)
    w.event("stores", 2)
    w.group(["cycles", "loads"], cpus, perf=True, source="perf")
    w.group(["cycles#2", "stores"], cpus, perf=True, source="perf")
    pace = {"cycles": 1000, "loads": 100, "cycles#2": 4000, "stores": 800}
    w.write(path, line(6), lambda c, i, s, t: pace[c] * s, lambda k, i, s, t: (t, t))
    return {"ld": "loads / cycles", "st": "stores / cycles", "cy": "cycles * 1"}, [
        (TOTAL, "ld", {"scope": "system"}, 0.1, "ok", 1),
        (TOTAL, "st", {"scope": "system"}, 0.2, "ok", 1),
        (TOTAL, "cy", {"scope": "system"}, 5000, "ok", 1),
        (TOTAL, "cycles", {"scope": "system"}, 5000, "ok", 1)]


def segments(path):
    """A reopening in the middle of a run: what lies between its two sides is lost."""
    w = g.World(1)
    w.counter("test.n")
    w.group(["test.n"], w.each_cpu())
    w.write(path, line(11), lambda c, i, s, t: 100 * (s if s < 5 else s - 5), place=lambda s: (1, int(s >= 5)))
    return {}, [(TOTAL, "test.n", {"scope": "system"}, 900, "partial", 0.9),
                (RATE, "test.n", {"scope": "system"}, 100, "partial", 0.9),
                (ALL, "test.n", {"scope": "system", "wall": 4}, 100, "ok", 1),
                (("--every=5",), "test.n", {"scope": "system", "wall": 5}, 400, "partial", 0.8),
                (("--every=5",), "test.n", {"scope": "system", "wall": 10}, 500, "ok", 1)]


def hidden(path):
    """Nobody looked for a second: who was away before and behind it was away, and the level behind it is one of the
    interval that spans it. What two inputs lack counts for both, by the time of each."""
    w = g.World(2)
    w.counter("test.n")
    w.counter("test.g", "gauge", "max")
    w.counter("test.other")
    cpus = w.each_cpu()
    w.group(["test.n", "test.g", "test.other"], cpus)

    def value(c, i, s, t):
        if i == cpus[1] and c != "test.other" and 3 <= s <= 7:
            return None, g.OFFLINE
        return {"test.n": 100 * s, "test.g": {2: 40, 5: 90}.get(s, 10), "test.other": 10 * s}[c]
    w.write(path, line(11), value, place=lambda s: (1, int(s >= 5)))
    every = "--every=3", "--per-cpu"
    return {"first": "first(test.g)", "high": "max_of(test.g)"}, [
        (TOTAL, "test.n", {"scope": "system"}, 1300, "partial", 13 / 14),
        (every, "test.n", {"cpu": "1", "wall": 6}, None, "offline", None),
        (every, "test.n", {"cpu": "0", "wall": 6}, 200, "partial", 2 / 3),
        (every, "high", {"cpu": "0", "wall": 6}, 90, "partial", 2 / 3),
        (every, "first", {"cpu": "0", "wall": 6}, 10, "partial", 2 / 3),
        (("--every=2", "--per-cpu"), "first", {"cpu": "0", "wall": 4}, 40, "ok", 1)]


def back(path):
    """A CPU that comes back behind a gap is there as soon as an event waits for a counter on it: the gap is lost for it, too."""
    w = g.World(2)
    w.counter("test.n", rule="first")
    w.group(["test.n"], w.each_cpu())
    w.event("work")
    w.group(["work"], w.each_cpu(), perf=True, source="perf")

    def value(c, i, s, t):
        if i == 2 and (not s or c == "work"):
            return None, g.NOT_COUNTED if s else g.OFFLINE
        return 10 * s
    w.write(path, line(4), value, lambda k, i, s, t: (t, 0 if i == 2 else t), place=lambda s: (1, int(s > 0)))
    return {"either": "test.n if work > 1 else 7"}, [(TOTAL, "either", {"scope": "system"}, 20, "partial", 1 / 3)]


def ticks(path):
    """Missed ticks: the next snapshot has it all, and belongs to the bin in which it stands."""
    w = g.World(1)
    w.counter("test.n")
    w.group(["test.n"], w.each_cpu())
    times = [0, 1, 2, 5, 6, 9, 10, 11, 12]
    w.write(path, [t * S for t in times], lambda c, i, s, t: 10 * times[s])
    return {}, [(TOTAL, "test.n", {"scope": "system"}, 120, "ok", 1),
                (("--every=4",), "test.n", {"scope": "system", "wall": 2}, 20, "ok", 1),
                (("--every=4",), "test.n", {"scope": "system", "wall": 6}, 40, "ok", 1),
                (("--every=4",), "test.n", {"scope": "system", "wall": 12}, 60, "ok", 1),
                (("--every=4", "--rate"), "test.n", {"scope": "system", "wall": 6}, 10, "ok", 1)]


def interrupted(path):
    """A reading that took 65.8 ms: one register may be from before an interruption, and the other from behind it. Its
    count is one all the same, and in the middle of an interval it does no harm."""
    w = g.World(1)
    for name in "msr.part", "msr.clock":
        w.counter(name, source="msr")
    w.group(["msr.part", "msr.clock"], w.each_cpu(), source="msr")
    w.counter("test.n")
    w.group(["test.n"], w.each_cpu())

    def value(c, i, s, t):
        return {"msr.part": 882, "msr.clock": 1000, "test.n": 50}[c] * s + (40 if c == "msr.part" and s == 3 else 0)
    w.write(path, line(11), value, span=lambda i, s: 65_774_000 if s == 3 else 20_000)
    at = {n: {"scope": "system", "wall": n} for n in range(12)}
    return {"share": "100 * msr.part / msr.clock", "pace": "rate(test.n)"}, [
        (ALL, "share", at[2], 88.2, "ok", 1),
        (ALL, "share", at[3], 92.2, "doubtful", 1),
        (ALL, "share", at[4], 84.2, "doubtful", 1),
        (ALL, "share", at[5], 88.2, "ok", 1),
        (ALL, "pace", at[3], 50 / 1.032877, "doubtful", 1),
        (ALL, "pace", at[5], 50, "ok", 1),
        (ALL, "test.n", at[3], 50, "ok", 1),
        ((ALL, "--rate"), "test.n", at[4], 50 / 0.967123, "doubtful", 1),
        (TOTAL, "share", at[10], 88.2, "ok", 1),
        (("--every=3",), "share", at[3], 100 * (882 * 3 + 40) / 3000, "doubtful", 1),
        (("--every=2",), "share", at[4], 88.2, "ok", 1)]


def means(path):
    """What is averaged over CPUs is so with its time, and goes on with those that are left."""
    w = g.World(2)
    w.counter("test.busy", rule="mean")
    w.counter("test.some", rule="mean")
    w.group(["test.busy", "test.some"], w.each_cpu())
    w.write(path, line(11), lambda c, i, s, t: (None, 1005) if c == "test.some" and i == 2 else 100 * i * s)
    one = {"scope": "system"}
    return {"share": "test.busy / elapsed(test.busy)", "rest": "test.some / elapsed(test.some)", "n": "aggr_nr(test.some)"}, [
        (TOTAL, "test.busy", one, 1500, "ok", 1), (TOTAL, "share", one, 150, "ok", 1),
        (TOTAL, "rest", one, 100, "partial", 0.5), (TOTAL, "n", one, 1, "partial", 0.5)]


def given_up(path):
    """A CPU comes back, but its readings are dropped until the counters are opened anew: nothing will speak for it."""
    w = g.World(2)
    w.counter("test.n")
    w.group(["test.n"], w.each_cpu())

    def value(c, i, s, t):
        return (None, g.OFFLINE if s < 4 else g.DROPPED) if i == 2 and s else 10 * s
    w.write(path, [t * S for t in (0, 1, 2, 3, 4, 7, 8, 9)], value, place=lambda s: (1, int(s > 4)))
    one = {"scope": "system"}
    return {}, [(("--every=6",), "test.n", {**one, "wall": 4}, None, "dropped", ...),
                (("--every=3",), "test.n", {**one, "wall": 3}, 30, "ok", 1)]


def disabled(path):
    """An event that waits for a counter, and is then switched off for a while: what it would have counted is lost."""
    w = g.World(1)
    w.event("work")
    w.group(["work"], w.each_cpu(), perf=True, source="perf")
    w.write(path, line(6), lambda c, i, s, t: (None, g.NOT_COUNTED) if 0 < s < 3 else 5 * s,
            lambda k, i, s, t: ([0, S, S, 2 * S, 3 * S, 4 * S][s], [0, 0, 0, S, 2 * S, 3 * S][s]))
    one = {"scope": "system"}
    return {}, [(ALL, "work", {**one, "wall": 1}, None, "not-counted", ...), (ALL, "work", {**one, "wall": 2}, None, "not-counted", ...),
                (ALL, "work", {**one, "wall": 4}, 5, "ok", 1)]


def spoilt(path):
    """What one input loses for good while a reading of the other is missing is lost for both."""
    w = g.World(1)
    for name in ("test.a", "test.b", "test.c"):
        w.counter(name)
        w.group([name], w.each_cpu())
    w.event("work")
    w.group(["work"], w.each_cpu(), perf=True, source="perf")

    def value(c, i, s, t):
        if c == "test.a":
            return (None, g.DROPPED) if s == 3 else 100 * s
        if c == "test.b":
            return 10 * s if s < 3 else 5 if s == 3 else 100 + 10 * s
        if c == "work":
            return (None, g.NOT_COUNTED) if s == 3 else 10 * min(s, 2) + 10 * max(0, s - 3)
        return 10 * s if s < 3 else 10 * (s - 3)
    w.write(path, line(7), value, lambda k, i, s, t: (t, min(t, 2 * S) + max(0, t - 3 * S)))
    one = {"scope": "system"}
    asked = []
    for name in ("reset", "waiting"):
        asked += [(TOTAL, name, one, 10, "partial", 4 / 6), (("--every=4",), name, {**one, "wall": 4}, 10, "partial", 0.5),
                  (ALL, name, {**one, "wall": 3}, None, "dropped", ...), (ALL, name, {**one, "wall": 5}, 10, "ok", 1),
                  (ALL, name, {**one, "wall": 4}, None, "reset" if name == "reset" else "not-counted", ...)]
    return {"reset": "test.a / test.b", "waiting": "test.a / work", "began": "test.a / test.c"}, asked + [
        (TOTAL, "began", one, 400 / 40, "partial", 4 / 6)]


def leaves(path):
    """A CPU goes offline while its reading is missing. Another reading, missing too, comes back with the next snapshot:
    what that speaks for is lost for both."""
    w = g.World(2)
    w.counter("test.a")
    w.counter("pkg.b")
    w.group(["test.a"], w.each_cpu())
    w.group(["pkg.b"], w.each_package())

    def value(c, i, s, t):
        if s > 2 and i == 2 or s == 3 and c == "pkg.b":
            return None, g.DROPPED if s == 3 else g.OFFLINE
        return (10 if c == "test.a" else 100) * s
    w.write(path, line(7), value)
    one = {"scope": "system"}
    return {"share": "pkg.b / test.a"}, [
        (ALL, "share", {**one, "wall": 4}, None, "dropped", ...), (ALL, "share", {**one, "wall": 5}, 10, "ok", 1),
        (("--every=2",), "share", {**one, "wall": 4}, None, "dropped", ...), (TOTAL, "share", one, 400 / 60, "partial", 2 / 3)]


def switched_off(path):
    """An event that is switched off by name while its group runs: nothing is carried over that reading."""
    w = g.World(1)
    w.event("work")
    w.group(["work"], w.each_cpu(), perf=True, source="perf")
    w.write(path, line(6), lambda c, i, s, t: (None, g.NOT_COUNTED) if s == 3 else 5 * s, lambda k, i, s, t: (t, t))
    one = {"scope": "system"}
    return {}, [(ALL, "work", {**one, "wall": 3}, None, "not-counted", ...), (ALL, "work", {**one, "wall": 4}, None, "not-counted", ...),
                (ALL, "work", {**one, "wall": 5}, 5, "ok", 1), (TOTAL, "work", one, 15, "partial", 3 / 5)]


def first_after(path):
    """A level at the beginning of an interval is the first one, also if nothing could be read behind it; one that is not
    always due speaks for the time since it was tried last."""
    w = g.World(1)
    for name in ("test.level", "test.other", "test.slow"):
        w.counter(name, "gauge", "max")
        w.group([name], w.each_cpu())

    def value(c, i, s, t):
        if c == "test.level":
            return (None, g.OFFLINE) if s == 3 else 10 * s
        if c == "test.other":
            return (None, g.OFFLINE) if s == 1 else 7 + s
        return [0, 10, (None, g.DROPPED), (None, g.NOT_READ), (None, g.NOT_READ), 40][s]
    w.write(path, line(6), value)
    return {"at_first": "first(test.level)", "began": "first(test.other)"}, [
        (("--every=2",), "at_first", {"scope": "system", "wall": 4}, 20, "ok", 1),
        (TOTAL, "began", {"scope": "system"}, 7, "ok", 1),
        (TOTAL, "test.slow", {"scope": "system"}, (10 + 3 * 40) / 4, "partial", 4 / 5)]


def several(path):
    """Coverage is that of all members of all inputs; one of which something is known restricts the others."""
    w = two_counters()

    def value(c, i, s, t):
        if c == "test.b" and (i == 2 or s == 4):
            return None, 1005
        return 10 * s if c == "test.a" else 20 * s
    w.write(path, line(5), value)
    return {"either": "test.a if test.b > 1 else 7", "on_cpu": "test.a / test.b"}, [
        (TOTAL, "either", {"scope": "system"}, None, "errno-5", ...),
        (("--total", "--per-cpu"), "on_cpu", {"cpu": "0"}, 0.5, "partial", 3 / 4)]


def shared(path):
    """8 CPUs, of which 4 are busy; 30 + 10 W; 12 GB/s. Task a uses 2 CPUs, b 1, cgroup /s both. An idle CPU taken for a quarter
    of a busy one, the machine is as good as 5 CPUs; for a whole one 8, for nothing 4. Then b is gone, the CPUs are idle and
    take 8 W; a uses a CPU by its own account, and /proc/stat saw none of it. The energy of a package is lost at the end."""
    w = g.World(8)
    for name in ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"):
        w.counter("stat." + name, unit="s", scale=[1, 100], source="stat")
    w.group([n for n in w.names], w.each_cpu(), source="stat")
    w.counter("powercap.energy.package", unit="J", scale=[1, 1000], source="powercap")
    w.group(["powercap.energy.package"], w.each_package(), source="powercap")
    a, b, c = w.instance("task", 7, name="a-7"), w.instance("task", 8, name="b-8"), w.instance("cgroup", 1, name="/s")
    for kind, rule in (("tasks", "sum"), ("cgroups", "none")):
        for name in ("user", "system"):
            w.counter("%s.%s" % (kind, name), rule=rule, unit="s", scale=[1, 10000], source=kind)
    w.group(["tasks.user", "tasks.system"], [a, b], source="tasks")
    w.group(["cgroups.user", "cgroups.system"], [c], source="cgroups")
    w.pmu("uncore_imc_0", 20, {"cas_count_read": 0x304, "cas_count_write": 0xc04})
    for name in ("cas_count_read", "cas_count_write"):
        w.event("uncore_imc_0/%s/" % name, pmu="uncore_imc_0", scale="6.103515625e-5")
    w.group(["uncore_imc_0/cas_count_read/", "uncore_imc_0/cas_count_write/"], [w.instance("pmu", cpu=0, name="uncore_imc_0")],
            perf=True, source="perf")
    first = w.each_package()[0]

    def value(counter, i, s, t):
        on, off = min(s, 4), max(0, s - 4)
        of, name = counter.split(".")[:2] if "/" not in counter else ("imc", "")
        if of == "stat":
            busy = 100 * on if i % 2 else 0
            return busy if name == "user" else 100 * s - busy if name == "idle" else 0
        if of == "powercap":
            if s == 8 and i != first:
                return None, 1005
            return 1000 * (30 * on + 6 * off if i == first else 10 * on + 2 * off)
        if of == "imc":  # lines of 64 bytes
            return on * 6 * 10**9 // 64
        if of == "tasks" and i == b and s > 4:
            return None, g.GONE
        used = (on if i == b else 2 * on + off if i == a else 3 * on) * 10000
        return used * 3 // 4 if name == "user" else used // 4
    w.write(path, line(9), value, lambda k, i, s, t: (t, t))
    at, tasks, system = {"task": "a-7", "wall": 2}, ("--all", "--per-task"), {"scope": "system", "wall": 2}
    half, groups = ("--every=4", "--per-task"), {"cgroup": "/s", "wall": 2}
    return {"machine": "rate(stat.user) + 3", "beside": "system(machine) - rate(stat.user)"}, [
        (tasks, "task.watts", at, 16, "estimate", 1), (tasks, "task.watts", {"task": "b-8", "wall": 2}, 8, "estimate", 1),
        (tasks, "task.watts_low", at, 10, "estimate", 1), (tasks, "task.watts_high", at, 20, "estimate", 1),
        (tasks, "task.joules", at, 16, "estimate", 1), (tasks, "task.mem_bw", at, 6, "estimate", 1),
        (tasks, "task.mem_bw_low", at, 3, "estimate", 1),
        (ALL, "task.watts", system, 24, "estimate", 1), (ALL, "task.watts_rest", system, 16, "estimate", 1),
        (ALL, "task.joules_rest", system, 16, "estimate", 1), (ALL, "task.mem_bw_rest", system, 3, "estimate", 1),
        (ALL, "pkgwatt", system, 40, "ok", 1), (ALL, "mem.bw", system, 12, "ok", 1),
        (("--all", "--per-cgroup"), "cgroup.watts", groups, 24, "estimate", 1),
        (("--all", "--per-cgroup"), "cgroup.watts_high", groups, 30, "estimate", 1),
        (half, "task.joules", {"task": "a-7", "wall": 4}, 64, "estimate", 1),
        (tasks, "task.watts", {"task": "a-7", "wall": 6}, 8 / 2.75, "estimate", 1),
        (tasks, "task.watts_low", {"task": "a-7", "wall": 6}, 1, "estimate", 1),
        (tasks, "task.watts_high", {"task": "a-7", "wall": 6}, 8, "estimate", 1),
        (tasks, "task.watts", {"task": "a-7", "wall": 8}, None, "errno-5", ...),
        (ALL, "task.watts_rest", {"scope": "system", "wall": 8}, None, "errno-5", ...),
        (("--total", "--per-task"), "task.watts", {"task": "a-7"}, (18 + 46 / 7) * 1.5 / 3.5, "estimate", 15 / 16),
        (("--all", "--per-cpu"), "beside", {"cpu": "1", "wall": 2}, 7, "ok", 1),
        (("--all", "--per-cpu"), "beside", {"cpu": "0", "wall": 2}, 6, "ok", 1)]


def between(per_chunk):
    """Snapshots 1, 2, 4, 6 and 8 were taken before a counter could wrap; between 4 and 5 is a gap, and the last is one of
    them. A row joins them with what follows."""
    def case(path):
        w = g.World(1)
        w.counter("test.n", width=8)
        w.counter("test.level", "gauge", "mean")
        w.group(["test.n", "test.level"], w.each_cpu())
        w.write(path, line(9), lambda c, i, s, t: 100 * s % 256 if c == "test.n" else 10 * s, per_chunk=per_chunk,
                place=lambda s: (1, int(s > 4)), flags={s: 8 for s in (1, 2, 4, 6, 8)})
        one = {"scope": "system"}
        return {}, [(ALL, "test.n", {**one, "wall": 3}, 300, "ok", 1), (ALL, "test.level", {**one, "wall": 3}, 20, "ok", 1),
                    (ALL, "test.n", {**one, "wall": 4}, 100, "ok", 1), (ALL, "test.n", {**one, "wall": 7}, 200, "ok", 1),
                    (ALL, "test.level", {**one, "wall": 7}, 65, "ok", 1), (ALL, "test.n", {**one, "wall": 8}, 100, "ok", 1),
                    (("--rate", "--all"), "test.n", {**one, "wall": 3}, 100, "ok", 1),
                    (("--every=2",), "test.n", {**one, "wall": 2}, 200, "ok", 1),
                    (TOTAL, "test.n", one, 700, "partial", 7 / 8)]
    return case


def shares(path):
    """CPU 1 counts faster than its clock; CPU 2 is 3 % over; what CPU 3 did in 5 s is booked in the last of them."""
    w = g.World(8)
    w.counter("test.on", rule="mean")
    w.counter("test.clock", rule="mean")
    w.counter("schedstat.run_time", scale=[1, 1000], source="schedstat")
    w.group(["test.on", "test.clock", "schedstat.run_time"], w.each_cpu(), span=0, late=0)
    pace = {2: 123, 3: 103, 4: 60}

    def value(c, i, s, t):
        if c == "schedstat.run_time":
            return 1000 * (s if i != 4 or s < 2 or s > 5 else 1)
        return 1000 * s if c == "test.clock" else 10 * pace.get(i, 50) * s
    w.write(path, line(8), value)
    cpu, core, package = ("--all", "--per-cpu"), ("--all", "--per-core"), ("--all", "--per-package")
    idle = "sched.run"
    return {"on": "percent(test.on, test.clock)"}, [
        (cpu, "on", {"cpu": "0", "wall": 1}, 50, "ok", 1), (cpu, "on", {"cpu": "1", "wall": 1}, None, "unstable", ...),
        (cpu, "on", {"cpu": "2", "wall": 1}, 103, "doubtful", 1), (cpu, "on", {"cpu": "3", "wall": 1}, 60, "ok", 1),
        (core, "on", {"core": "0", "package": "0", "wall": 1}, 50, "partial", 0.5),
        (core, "on", {"core": "1", "package": "0", "wall": 1}, (103 + 60) / 2, "doubtful", 1),
        (package, "on", {"package": "0", "wall": 1}, (50 + 103 + 60) / 3, "partial", 0.75),
        (package, "on", {"package": "1", "wall": 1}, 50, "ok", 1),
        (TOTAL, "on", {"scope": "system"}, (50 * 5 + 103 + 60) / 7, "partial", 7 / 8),
        (cpu, idle, {"cpu": "3", "wall": 6}, 500, "doubtful", 1), (cpu, idle, {"cpu": "3", "wall": 5}, 0, "ok", 1),
        (ALL, idle, {"scope": "system", "wall": 6}, 150, "doubtful", 1), (ALL, idle, {"scope": "system", "wall": 7}, 100, "ok", 1),
        (package, idle, {"package": "1", "wall": 6}, 100, "ok", 1), (TOTAL, idle, {"scope": "system"}, 100, "ok", 1)]


CASES = {"shares": shares, "between": between(1), "between_many": between(4), "added": added, "shared": shared, "means": means, "given_up": given_up, "disabled": disabled, "spoilt": spoilt, "leaves": leaves, "switched_off": switched_off,
         "first_after": first_after, "several": several, "away": away, "multiplexed": multiplexed, "starved": starved, "late": late, "levels": levels, "reset": reset,
         "missed": missed, "members_lost": members_lost, "sockets": sockets, "support": support, "pmus": pmus,
         "twice": twice, "segments": segments, "hidden": hidden, "back": back, "ticks": ticks, "interrupted": interrupted, "slew3": slewed(0.03), "slew8": slewed(0.08),
         "slow8": slewed(-0.08)}
