"""Random recordings in which everything goes wrong that the page has a rule for."""

import random

import generate as g
from generate import S

# Names of formulas are put together from what the world has.
REASONS = [5, 7, 8, 9, 10, 2, 3, 1005, 1011, 11]


class Series:
    """Readings of one counter of one instance, made before they are asked for."""

    def __init__(self, rng, n, ticks, semantics, width, troubles, full=False):
        self.at = []
        v = rng.randrange(1 << min(width, 40)) if rng.random() < 0.5 else 0
        pace = rng.choice([0, 1, 30, 1000, 10**6]) if width > 16 else rng.choice([0, 1, 20])
        if full and semantics == "cumulative":  # it will wrap soon
            v = (1 << width) - 1 - pace * n // 4 % (1 << (width - 1))
        for s in range(n):
            step = (ticks[s] - ticks[s - 1]) / S if s else 0
            if semantics == "cumulative":
                v += int(pace * step * rng.random() * 2)
                if s in troubles["reset"]:
                    v = rng.randrange(3)
                self.at.append(v % (1 << width))
            elif semantics in ("delta", "peak"):
                self.at.append(int(pace * step * rng.random() * 2))
            else:
                self.at.append(rng.randrange(1000))
        for s, reason in troubles["reason"].items():
            self.at[s] = (None, reason)


def troubles(rng, n, kind, cpu_off):
    out = {"reset": set(), "reason": {}}
    if rng.random() < 0.15:
        out["reset"].add(rng.randrange(1, n))
    for _ in range(rng.choice([0, 0, 0, 1, 1, 2])):
        a = rng.randrange(n)
        reason = rng.choice(REASONS)
        for s in range(a, min(n, a + rng.choice([1, 1, 1, 2, 4]))):
            out["reason"][s] = reason
    if rng.random() < 0.06:  # revoked: never again
        for s in range(rng.randrange(n), n):
            out["reason"][s] = 1019
    if rng.random() < 0.06:  # a slow file
        every = rng.choice([2, 3])
        out["reason"].update({s: 10 for s in range(n) if s % every})
    for s in cpu_off:
        out["reason"][s] = 4
    return out


def stretches(rng, n, chance):
    if rng.random() >= chance:
        return set()
    a = rng.randrange(n)
    return set(range(a, min(n, a + rng.choice([1, 3, n // 2 + 1]))))


class Multiplexed:
    """Times of a perf group whose share changes, and what it counted."""

    def __init__(self, rng, ticks, shares):
        self.pair, self.share = [], []
        enabled = running = rng.choice([0, 0, 10**6])
        for s, t in enumerate(ticks):
            step = t - ticks[s - 1] if s else 0
            if rng.random() < 0.15 or not s:
                share = rng.choice(shares)
            if share is not None:
                enabled += step
                running += int(step * share)
            if rng.random() < 0.01:  # reopened, or only one of them fell
                enabled, running = rng.choice([(0, 0), (enabled, running // 2), (enabled // 2, min(running, enabled // 2))])
            self.share.append(share)
            self.pair.append((enabled, running))


def make(seed, path, runs=True):
    """Writes one; returns the formulas that make sense of it, and two lengths of bins. runs: it may have several."""
    rng = random.Random(seed)
    cpus = rng.choice([1, 2, 4, 8, 8])
    n = rng.randrange(2, 24)
    step = rng.choice([S // 10, S // 2, S, S])
    ticks = [0]
    for _ in range(n - 1):
        ticks.append(ticks[-1] + step * rng.choice([1, 1, 1, 1, 1, 1, 2, 5]))
    slew = rng.choice([0, 0, 0.0005, 0.03, -0.03, 0.08, -0.08])
    w = g.World(cpus, slew, rng.choice([0, 2 * 10**9]), of_cores=rng.choice(["cluster", "die", "node"]))
    off = {i: stretches(rng, n, 0.25) for i in range(cpus)}
    falls = random.Random(seed + 2)
    blinks = random.Random(seed + 3)
    more = random.Random(seed + 1)  # of its own: what it decides leaves the rest of the world as it is
    values, pairs = {}, {}
    formulas, apart, floats = {}, {}, set()

    def fill(names, instances, of=None):
        for name, semantics, width in names:
            for i in instances:
                kind = w.instances[i - 1][1]
                cpu_off = off[w.instances[i - 1][2]] if kind == g.KINDS["cpu"] else set()
                full = more.random() < 0.3 and not of
                made = Series(rng, n, ticks, semantics, width, troubles(rng, n, kind, cpu_off), full and name not in floats)
                for s in range(1, n):
                    if name.startswith("stat.") and falls.random() < 0.2 and not any(
                            isinstance(v, tuple) for v in made.at[s - 1:s + 1]):
                        made.at[s] = max(0, made.at[s - 1] - falls.choice([1, 1, 60, 100, 101, 150]))
                if semantics == "cumulative" and blinks.random() < 0.3:  # one reading is none
                    s = blinks.randrange(n)
                    if not isinstance(made.at[s], tuple):
                        made.at[s] = blinks.choice([0, 0, made.at[s] // 2, (1 << width) - 5])
                if name in floats:
                    made.at = [v if isinstance(v, tuple) else v / 4 for v in made.at]
                values[name, i] = made.at
                if of:
                    for s, (enabled, running) in enumerate(of[i].pair):
                        if enabled and not running and not isinstance(made.at[s], tuple):
                            made.at[s] = (None, g.NOT_COUNTED)
                    stand(made.at, of[i].pair)

    def stand(at, pair):
        """What does not run does not count."""
        before = None
        for s, v in enumerate(at):
            if isinstance(v, tuple):
                continue
            if not pair[s][1]:
                at[s] = 0
            if before is not None and pair[s][1] == pair[before][1]:
                at[s] = at[before]
            before = s

    def plain(prefix, instances):
        names = []
        for k in range(rng.choice([1, 2, 3])):
            semantics = rng.choice(["cumulative"] * 6 + ["gauge"] * 3 + ["delta", "peak", "state"])
            rule = rng.choice(["sum"] * 4 + ["mean", "max", "min", "first", "none"])
            width = rng.choice([64, 64, 64, 48, 32, 16, 8]) if semantics == "cumulative" else 64
            if width < 64 and more.random() < 0.4:
                width = more.randrange(9, 64)
            scale = rng.choice([None, None, [3, 7], [1, 1000], "2.3283064365386962890625e-10"])
            name = "%s.%s%d" % (prefix, semantics, k)
            if width == 64 and semantics in ("cumulative", "gauge") and more.random() < 0.15:
                floats.add(name)
            source = "test"
            if prefix == "test" and width == 64 and semantics == "cumulative" and name not in floats and falls.random() < 0.5:
                source, name = "stat", "stat." + ("user", "idle", "iowait")[k]
            w.counter(name, semantics, rule, width, "f64" if name in floats else "u64", scale=scale, source=source)
            names.append((name, semantics, width))
            apart[name] = rule == "none"
        w.group([x[0] for x in names], instances)
        fill(names, instances)
        return [x for x in names if not apart[x[0]]]

    of_cpu = plain("test", w.each_cpu()) + plain("again", w.each_cpu())
    of_package = plain("pkg", w.each_package()) if rng.random() < 0.6 else []
    of_system = plain("sys", w.system()) if rng.random() < 0.6 else []
    of_own = plain("own", w.each_own()) if rng.random() < 0.4 else []
    events = []
    shares = [1, 1, 0.5, 0.25, 0.1] + [0, None]
    for number in range(rng.choice([0, 1, 2])):
        names = []
        for k in range(rng.choice([1, 2])):
            names.append((w.event("ev%d%d" % (number, k), number + 1), "cumulative", 64))
        instances = w.each_cpu()
        group = w.group([x[0] for x in names], instances, perf=True, source="perf")
        of = {i: Multiplexed(rng, ticks, shares) for i in instances}
        for i in instances:
            pairs[group, i] = of[i].pair
        fill(names, instances, of)
        events += names
    if more.random() < 0.3:  # controllers of memory, two a package, each with a group of its own
        for k in range(2 * ((cpus + 3) // 4)):
            pmu = "uncore_imc_%d" % k
            i = w.instance("pmu", k, 4 * (k // 2), pmu)
            w.pmu(pmu, 20 + k, {"reads": 0x304, "cycles": 0x100})
            names = [(w.event("%s/%s/" % (pmu, e), 10 + k, pmu=pmu), "cumulative", 64) for e in ("reads", "cycles")]
            group, of = w.group([x[0] for x in names], [i], perf=True, source="perf"), {i: Multiplexed(more, ticks, shares)}
            pairs[group, i] = of[i].pair
            fill(names, [i], of)
        formulas.update({"m_bw": "uncore_imc@reads@", "m_bw_rate": "rate(uncore_imc@reads@)",
                         "m_clocks": "uncore_imc@reads@ / uncore_imc@cycles@"})
    for a, b in pairs_of(rng, [x[0] for x in events + of_cpu if x[1] == "cumulative"]):
        formulas["m_ratio_%d" % len(formulas)] = "%s / %s" % (a, b)
        formulas["m_sum_%d" % len(formulas)] = "rate(%s) + 3 * rate(%s)" % (a, b)
        formulas["m_either_%d" % len(formulas)] = "%s if %s > 1 else 7" % (a, b)
    # Inputs of any semantics, and of unlike kinds.
    mixed = [x[0] for x in of_cpu + events + of_package + of_system + of_own]
    for _ in range(3 if len(mixed) > 1 else 0):
        a, b = rng.sample(mixed, 2)
        formulas["m_mixed_%d" % len(formulas)] = "%s + 2 * %s" % (a, b)
        formulas["m_apart_%d" % len(formulas)] = "%s if %s > 1 else 5" % (a, b)
    if len(mixed) > 2:
        formulas["m_three_%d" % len(formulas)] = "%s + 2 * %s + 4 * %s" % tuple(rng.sample(mixed, 3))
    for a, semantics, _ in (of_cpu + of_package + of_system)[:4]:
        if semantics == "cumulative":
            formulas["m_share_%d" % len(formulas)] = "100 * %s / elapsed(%s)" % (a, a)
            formulas["m_nr_%d" % len(formulas)] = "aggr_nr(%s)" % a
    looks = ["max_of", "last", "mean", "first"]
    for k, (a, semantics, _) in enumerate((of_cpu + events + of_package)[:6]):  # of counts too, alone and with another
        for look in looks if semantics == "gauge" else [looks[(seed + k) % 4], "mean"]:
            formulas["m_%s_%d" % (look, len(formulas))] = "%s(%s)" % (look, a)
        formulas["m_beside_%d" % len(formulas)] = "mean(%s) + 2 * %s" % (a, mixed[(seed + k) % len(mixed)])
    for k, (name, _, _) in enumerate([x for x in of_cpu if x[1] == "cumulative"][:2]):  # what the machine has of another formula, in every row
        if formulas:
            of = list(formulas)[(seed + k) % len(formulas)]
            formulas["m_whole_%d" % len(formulas)] = "system(%s) + rate(%s)" % (of, name)
            formulas["m_part_%d" % len(formulas)] = "d_ratio(%s, system(%s))" % (name, of)
    # Segments of one run, as after a reopening; and runs.
    cut = rng.randrange(1, n) if rng.random() < 0.25 else n
    again = more.randrange(1, n) if more.random() < 0.15 and runs else n

    def place(s):
        return 1 + (s >= again), int(s >= cut)
    spans = {}
    if rng.random() < 0.2:
        spans = {(i, rng.randrange(n)): step // rng.choice([20, 50, 200]) for i in w.each_cpu()}
    w.write(path, ticks, lambda c, i, s, t: values[c, i][s], lambda k, i, s, t: pairs[k, i][s],
            rng.choice([1, 1, 3, 8, 64]), place, lambda i, s: spans.get((i, s), 20_000))
    step_s = step / S
    return formulas, [2 * step_s, 6 * step_s]


def pairs_of(rng, names):
    return [rng.sample(names, 2) for _ in range(min(3, len(names) - 1))] if len(names) > 1 else []
