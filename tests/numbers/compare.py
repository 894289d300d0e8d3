"""Holds what pmrep prints to the second evaluator."""

import csv
import functools
import io
import json
import subprocess
import sys

sys.dont_write_bytecode = True
import evaluate  # says where decode is
import decode

TOLERANCE = 1e-9


def run(pmrep, *args):
    done = subprocess.run([pmrep, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def same(a, b, tolerance=TOLERANCE):
    return a == b or abs(a - b) <= tolerance * max(abs(a), abs(b))


@functools.lru_cache(None)
def built_in(pmrep):
    return [json.loads(line) for line in run(pmrep, "list", "metrics", "--format=json")[1].splitlines()]


class Comparison:
    """One recording, and the formulas that are asked of it beside its counters."""

    def __init__(self, pmrep, path, formulas=None):
        self.pmrep, self.path, self.formulas = pmrep, path, formulas or {}
        self.world = evaluate.World(decode.load(path))
        self.world.formulas.update(self.formulas)
        self.world.built_in(built_in(pmrep))
        self.failures, self.cells, self.values = [], 0, 0
        self.without_coverage = self.wrong_duration = False

    def fail(self, where, message, *values):
        self.failures.append("%s: %s" % (where, message % values))

    def metrics_file(self):
        path = self.path + ".metrics.json"
        with open(path, "w", encoding="utf-8") as f:
            json.dump([{"MetricName": n, "MetricExpr": x, "ScaleUnit": "1"} for n, x in self.formulas.items()], f)
        return path

    def rows(self, *args):
        more = ["--metrics-file=" + self.metrics_file()] if self.formulas else []
        code, out, err = run(self.pmrep, "show", "--show=*", "--format=csv", "--time=epoch-ns", *more, *args, self.path)
        if code not in (0, 3):
            self.fail(" ".join(args), "ends with %d: %s", code, err)
        return list(csv.DictReader(io.StringIO(out)))

    PLACE = "scope", "package", "die", "cluster", "node", "core", "cpu"

    def shapes(self, other):
        """Neither wide csv nor another recording in front changes a value."""
        args = "--per-cpu", "--total", "--layout=wide"
        alone = self.rows(*args[:2])
        if not alone:  # no two snapshots
            return
        mine = [r for r in self.rows(*args[:2], *([other] if other else [])) if r["recording"] == alone[0]["recording"]]
        if mine != alone:
            self.fail("beside " + str(other), "other rows")
        long = {(*(r[k] for k in self.PLACE), r["time"], r["metric"]): r["value"] for r in alone if r["value"]}
        wide = {(*(r[k] for k in self.PLACE), r["time"], k.split("[")[0]): v for r in self.rows(*args) for k, v in r.items()
                if v and k.split("[")[0] in {key[-1] for key in long}}
        if long != wide:
            self.fail("wide", "differs: %s", sorted(long.items() ^ wide.items())[:4])

    def all(self, levels=None, every=(None,), totals=True, rates=(False, True)):
        fine = {k for k in ("cluster", "die", "node") for c in self.world.cpus.values() if c.get(k)}
        for level in levels or ("system", "package", *sorted(fine - {"node"} if len(fine) > 2 else fine), "core", "cpu"):
            for step in list(every) + (["total"] if totals else []):
                for rate in rates:
                    self.table(level, step, rate)
        return self

    def table(self, level, step, rate):
        args = ["--per-" + level] + (["--rate"] if rate else [])
        args += ["--total"] if step == "total" else ["--every=%s" % step] if step else ["--all"]
        spans = self.world.intervals(None if step == "total" or not step else round(step * 10**9), step == "total")
        by_wall = {self.world.snapshot[b].wall: (a, b) for a, b in spans}
        walls = sorted(by_wall)
        rows = self.rows(*args)
        if spans and not rows:
            self.fail(" ".join(args), "no rows")
        seen = set()
        for row in rows:
            wall = int(row["time"])
            near = min(walls, key=lambda w: abs(w - wall))
            where = "%s: %s of %s%s at %s" % (" ".join(args), row["metric"], row["scope"], "".join(
                " " + k + "=" + row[k] for k in ("package", "die", "cluster", "node", "core", "cpu", "device", "task") if row[k]), row["time"])
            if abs(near - wall) > 10**6:
                self.fail(where, "there is no such interval")
                continue
            seen.add(by_wall[near])
            self.cell(where, row, by_wall[near], rate)
        for span in spans:
            if rows and span not in seen:
                self.fail(" ".join(args), "no rows for snapshots %s", span)

    def cell(self, where, row, span, rate):
        name = row["metric"]
        place = row["scope"], row
        a, b = span
        lasts = self.world.ticks(a, b)
        if abs(int(row["duration_ns"]) - lasts) > b - a + lasts * 1e-9 and not self.wrong_duration:
            self.wrong_duration = True
            self.fail(where, "lasts %s, not %d", row["duration_ns"], lasts)
        if name not in self.formulas and name not in self.world.members:
            return
        self.cells += 1
        try:
            if name in self.formulas:
                mine = self.world.metric(self.formulas[name], place, a, b)
            else:
                mine = self.world.raw(name, place, a, b, rate)
        except evaluate.Missing as m:
            words = m.args[0]
            if row["value"] != "":
                self.fail(where, "is %s %s, but must be missing: %s", row["value"], row["status"], sorted(map(str, words)))
            elif row["status"] not in words:
                self.fail(where, "is missing as %s, not as %s", row["status"], sorted(map(str, words)))
            self.coverage(where, row, None)
            return
        self.values += 1
        if row["value"] == "":
            self.fail(where, "is missing (%s), but must be %r", row["status"], float(mine.value))
            return
        # Times are right to a nanosecond in each finest interval, of which the shortest may be all that is known.
        least = self.world.slewed and float(1 / min(self.world.ticks(s - 1, s) for s in range(a + 1, b + 1)))
        if not same(float(row["value"]), float(mine.value), TOLERANCE + least):
            self.fail(where, "is %s %s, but must be %r", row["value"], row["status"], float(mine.value))
        partial = mine.coverage is not None and mine.coverage != 1
        wanted = "partial" if partial else "doubtful" if mine.doubtful else "ok"
        if row["status"] != wanted:
            self.fail(where, "status is %s, but must be %s (coverage %s)", row["status"], wanted,
                      None if mine.coverage is None else float(mine.coverage))
        if not mine.alone:
            self.coverage(where, row, 1 if mine.coverage is None else mine.coverage)

    def coverage(self, where, row, mine):
        if "coverage" not in row:
            if not self.without_coverage:
                self.fail(where, "there is no coverage")
            self.without_coverage = True
        elif mine is None:
            if row["coverage"] != "":
                self.fail(where, "coverage is %s, but there is no value", row["coverage"])
        elif row["coverage"] == "" or abs(float(row["coverage"]) - float(mine)) > 1e-6:
            self.fail(where, "coverage is %s, but must be %r", row["coverage"] or "empty", float(mine))
