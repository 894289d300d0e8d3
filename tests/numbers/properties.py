"""What holds whatever the numbers are: rows add up, children are their parents, bins of bins are bins."""

import compare


def value(row):
    return float(row["value"]) if row["value"] != "" else None


def check(c, every):
    return [f for of in (statuses, adds_up, averages, children, bins) for f in of(c, every)]


def by(rows, *keys):
    out = {}
    for r in rows:
        out.setdefault(tuple(r[k] for k in keys), []).append(r)
    return out


PLACE = "scope", "package", "die", "cluster", "core", "cpu", "node", "metric"


def summed(c, name):
    """Whether a value of the metric is a sum over time and members."""
    if name not in c.world.members:
        return False
    counter = next(iter(c.world.members[name].values())).counter
    return counter.semantics == "cumulative" and counter.aggregation == "sum"


def statuses(c, every):
    for step in ["--all", "--total"] + ["--every=%s" % e for e in every]:
        for row in c.rows(step, "--per-cpu"):
            where = "%s %s of %s %s at %s" % (step, row["metric"], row["scope"], row["cpu"], row["time"])
            full = row.get("coverage") in ("1", "1.0")
            if row["status"] == "ok" and not full:
                yield "%s: ok with coverage %s" % (where, row.get("coverage"))
            if row["status"] == "partial" and full:
                yield "%s: partial with coverage 1" % where
            if (row["value"] == "") != (row["status"] not in ("ok", "partial", "doubtful", "estimate")):
                yield "%s: value %s, status %s" % (where, row["value"] or "missing", row["status"])


def adds_up(c, every):
    """Rows to the total, for each member; bins to the total."""
    total = by(c.rows("--total", "--per-cpu"), *PLACE)
    for step in ["--all"] + ["--every=%s" % e for e in every]:
        for key, rows in by(c.rows(step, "--per-cpu"), *PLACE).items():
            if not summed(c, key[-1]) or key not in total or len(total[key]) != 1:
                continue
            if key[0] == "system" and any(value(r) is None for r in rows):
                continue
            want = value(total[key][0])
            parts = [value(r) for r in rows if value(r) is not None]
            if want is None:
                if parts and key[0] == "cpu":
                    yield "%s %s: the total is missing, but rows have values" % (step, key)
            elif not compare.same(sum(parts), want):
                yield "%s %s: rows add up to %r, the total is %r" % (step, key, sum(parts), want)


def averages(c, every):
    """Levels of several members: the total, and each bin, is the mean by time of the rows that have a value."""
    rows = by(c.rows("--all", "--per-core"), *PLACE)
    for step in ["--total"] + ["--every=%s" % e for e in every]:
        for key, longer in by(c.rows(step, "--per-core"), *PLACE).items():
            of = c.world.members.get(key[-1], {})
            counter = next(iter(of.values())).counter if of else None
            if not of or counter.semantics != "gauge" or counter.aggregation not in ("mean", "max", "min"):
                continue
            if sum(map(c.world.inside((key[0], dict(zip(PLACE, key)))), (m.instance for m in of.values()))) < 2:
                continue
            before = 0
            for row in longer:
                parts = [r for r in rows.get(key, []) if before < int(r["time"]) <= int(row["time"]) and r["value"] != ""]
                before = int(row["time"])
                time = sum(int(r["duration_ns"]) for r in parts)
                want = sum(value(r) * int(r["duration_ns"]) for r in parts) / time if time else None
                if (value(row) is None) != (want is None) or (time and not compare.same(value(row), want, 1e-6)):
                    yield "%s %s at %s: is %s, but its rows have %r" % (step, key, row["time"], row["value"], want)


def children(c, every):
    """CPUs to core, package, system, for counters of CPUs that are sums: counts and rates."""
    for more in ((), ("--rate",)):
        cpus = [r for r in c.rows("--total", "--per-cpu", *more) if r["scope"] == "cpu"]
        for level, keys in (("core", ("package", "core")), ("package", ("package",)), ("system", ())):
            of = by(cpus, "metric", "time", *keys)
            for row in c.rows("--total", "--per-" + level, *more):
                name = row["metric"]
                if row["scope"] != level or not summed(c, name) or value(row) is None:
                    continue
                if any(m.instance.kind != "cpu" for m in c.world.members[name].values()):
                    continue
                parts = [value(r) for r in of[(name, row["time"], *(row[k] for k in keys))] if value(r) is not None]
                if not compare.same(sum(parts), value(row)):
                    yield "%s %s: its CPUs add up to %r, it is %r" % (level, name, sum(parts), value(row))


def bins(c, every):
    """--every=N is made of what --every=M has, if M divides N."""
    short, long = every
    fine = by(c.rows("--every=%s" % short, "--per-cpu"), *PLACE)
    for key, rows in by(c.rows("--every=%s" % long, "--per-cpu"), *PLACE).items():
        if not summed(c, key[-1]) or key[0] != "cpu":
            continue
        before = 0
        for row in rows:
            parts = [r for r in fine.get(key, []) if before < int(r["time"]) <= int(row["time"])]
            before = int(row["time"])
            have = [value(r) for r in parts if value(r) is not None]
            if value(row) is not None and not compare.same(sum(have), value(row)):
                yield "--every=%s %s at %s: %r, but its parts are %r" % (long, key, row["time"], value(row), sum(have))
