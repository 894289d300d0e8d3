#!/usr/bin/python3
"""What pmrep says of generated recordings, against a second evaluator and against truth.

    test_numbers.py PMREP known [CASE...]     worlds whose numbers can be worked out by hand
    test_numbers.py PMREP random [SEED [COUNT]]       random worlds; COUNT of them, one seed after another
    test_numbers.py PMREP trusted [SEED [COUNT]]      the same; of what differs only values that say ok
    test_numbers.py PMREP properties [SEED [COUNT]]   the same, but only how their numbers fit together

Exits with 77 if a Python module is missing that this needs."""

import os
import re
import sys
import tempfile
import time

sys.dont_write_bytecode = True
try:
    import compare
    import encode
    import known
    import properties
    import random_worlds
    from generate import S
except ImportError as e:
    print("skipped: %s" % e)
    sys.exit(77)
SECONDS = 20


def hand(pmrep, folder, names):
    failures = []
    for name in names or known.CASES:
        path = os.path.join(folder, name + ".pmr")
        formulas, asked = known.CASES[name](path)
        c = compare.Comparison(pmrep, path, formulas)
        for options, metric, where, value, status, coverage in asked:
            options = (options,) if isinstance(options, str) else options
            what = "%s %s %s" % (" ".join(options), metric, where)
            second(c, what, options, metric, where, value, coverage)
            rows = [r for r in c.rows(*options) if r["metric"] == metric and fits(r, where)]
            if len(rows) != 1:
                c.fail(what, "%d rows", len(rows))
                continue
            row = rows[0]
            got = row["value"], row["status"], row.get("coverage")
            good = row["value"] == "" if value is None else row["value"] != "" and compare.same(
                float(row["value"]), value, 1e-6)
            if not good or row["status"] != status:
                c.fail(what, "is %s, but must be %s %s %s", got, value, status, coverage)
            if coverage is not ...:
                c.coverage(what, row, None if value is None else coverage)
        failures += ["%s: %s" % (name, f) for f in c.failures]
    return failures


def fits(row, where):
    wall = where.get("wall")
    if wall is not None and abs(int(row["time"]) - encode.REALTIME - wall * S) > S // 1000:
        return False
    return all(row[k] == v for k, v in where.items() if k != "wall")


def second(c, what, options, metric, where, value, coverage):
    """The second evaluator has to know the truth, too."""
    every = next((float(o[8:]) for o in options if o.startswith("--every=")), None)
    spans = c.world.intervals(round(every * S) if every else None, "--total" in options)
    wall = where.get("wall")
    spans = [s for s in spans if wall is None or abs(c.world.snapshot[s[1]].wall - encode.REALTIME - wall * S) < S // 1000]
    level = next((o[6:] for o in options if o.startswith("--per-")), "system")
    at = {k: where.get(k, "") for k in ("package", "core", "cpu", "device", "task", "cgroup", "node", "die")}
    try:
        place = level, at
        if metric in c.world.formulas:
            n = c.world.metric(c.world.formulas[metric], place, *spans[0])
        else:
            n = c.world.raw(metric, place, *spans[0], "--rate" in options)
        mine, full = float(n.value), n.coverage
    except compare.evaluate.Missing as m:
        mine, full = None, m.args[1]
    if (mine is None) != (value is None) or (value is not None and not compare.same(mine, value, 1e-6)):
        c.fail(what, "the second evaluator says %s, and not %s", mine, value)
    if coverage is ...:
        return
    if (full is None) != (coverage is None) or (full is not None and abs(full - coverage) > 1e-6):
        c.fail(what, "the second evaluator has coverage %s, and not %s", full and float(full), coverage)


def at_random(pmrep, folder, seed, count, what):
    failures, cells, worlds, end, before = [], 0, 0, time.monotonic() + SECONDS, None
    while worlds < count and time.monotonic() < end:
        path = os.path.join(folder, "%d.pmr" % seed)
        formulas, every = random_worlds.make(seed, path)
        c = compare.Comparison(pmrep, path, formulas)
        if what != "properties":
            c.all(every=every)
            c.shapes(before)
        before = path
        c.failures += properties.check(c, every)
        if what == "trusted":
            c.failures = [f for f in c.failures if re.search(r"(is|status is) (\S+ )?ok, but must be", f)]
        failures += ["seed %d: %s" % (seed, f) for f in c.failures]
        cells += c.values or len(c.world.members)
        worlds += 1
        seed += 1
    print("%d worlds, %d values or counters" % (worlds, cells))
    if not cells:
        failures.append("nothing was compared")
    return failures


def main(argv):
    pmrep, what = argv[1:3]
    with tempfile.TemporaryDirectory() as folder:
        if what == "known":
            failures = hand(pmrep, folder, argv[3:])
        else:
            seed = int(argv[3]) if argv[3:] else int.from_bytes(os.urandom(3), "big")
            print("test_numbers.py PMREP %s %d" % (what, seed))
            failures = at_random(pmrep, folder, seed, int(argv[4]) if argv[4:] else 10**9, what)
    for f in failures[:40]:
        print("FAILED: " + f)
    if len(failures) > 40:
        print("... and %d more" % (len(failures) - 40))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
