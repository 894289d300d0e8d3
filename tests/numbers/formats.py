#!/usr/bin/python3
"""One value, whoever prints it: every metric of a recording in every format of pmrep.

    formats.py PMREP FILE.pmr...      samples
    formats.py PMREP random [SEED [COUNT]]    one generated recording after another, for some seconds
    --without=PART,...                before these: leave out text, stat, charts, means (of charts) or diff

Long csv of `show` is what the others are compared with, each to its own precision; test_numbers.py and test_golden.py
hold that one to a second evaluator. The metrics are those that `pmrep list` names."""

import base64
import csv
import io
import json
import os
import re
import sys
import tempfile
import time

sys.dont_write_bytecode = True
try:
    import compare
    import generate
    import known
    import random_worlds
except ImportError as e:
    print("skipped: %s" % e)
    sys.exit(77)
SECONDS = 20
WITHOUT = set()
MARKS = {"partial": "~", "doubtful": "?"}
PLACE = ["recording", "run", "time", "duration_ns", "scope", "package", "die", "cluster", "cache", "node", "core", "cpu",
         "device", "task", "cgroup"]


def text_of(v):
    return "" if v is None else repr(v) if isinstance(v, float) else str(v)


def number(text):
    """Also of texts for people: 1,234."""
    text = (text or "").replace(",", "").lstrip("~?")
    try:
        return float(text) if text != "nan" else None
    except ValueError:
        return None


def precision(text):
    """Half of the last digit."""
    text = text.replace(",", "").lstrip("~?")
    head, _, exponent = text.lower().partition("e")
    digits = len(head.partition(".")[2])
    return 0.5000001 * 10.0 ** (int(exponent or 0) - digits)


def near(text, want):
    got = number(text)
    return got is not None and abs(got - want) <= precision(text) + 1e-9 * abs(want)


class Recording:
    def __init__(self, pmrep, path, more=()):
        self.pmrep, self.path, self.more = pmrep, path, list(more)
        self.failures, self.cells = [], {}
        listed = [json.loads(line) for line in self.out("list", "metrics", "--format=json").splitlines()]
        self.columns = {m["metric"]: m["column"] for m in listed}
        self.total = self.long("--total")
        self.n = len({r["time"] for r in self.long("--all", "-S")})
        self.system = {r["metric"]: r for r in self.total if r["scope"] == "system"}

    def fail(self, what, message, *values):
        self.failures.append("%s: %s: %s" % (os.path.basename(self.path), what, message % values))

    def count(self, what, n=1):
        self.cells[what] = self.cells.get(what, 0) + n

    def out(self, command, *args):
        more = self.more if command not in ("list", "info") else []
        code, out, err = compare.run(self.pmrep, command, *args, *more, self.path)
        nothing = ("no column is left", "no metric in common", "no perf event was recorded", "nothing to show")
        if code not in (0, 1, 3, 4) and not any(x in err for x in nothing):
            self.fail("%s %s" % (command, " ".join(args)), "ends with %d: %s", code, err.strip()[:200])
        return out

    def long(self, *args):
        return list(csv.DictReader(io.StringIO(self.out("show", "--show=*", "--format=csv", *args))))

    def values(self):
        """(metric, value) of the system over all that have one."""
        return [(m, float(r["value"])) for m, r in self.system.items() if r["value"] != ""]

    def same(self, what, metric, text, want):
        self.count(what)
        if not near(text, want):
            self.fail(what, "%s is %s, csv has %r", metric, text, want)

    # ---- csv and json, long and wide ----

    def machine_formats(self):
        for args in (("--total",), ("--all", "--per-cpu")):
            tidy = self.long(*args)
            cells = {(tuple(r[k] for k in PLACE), r["metric"], r["unit"]): r for r in tidy}
            if len(cells) != len(tidy):
                self.fail("csv", "a cell is there twice")
            lines = [json.loads(x) for x in self.out("show", "--show=*", "--format=json", *args).splitlines()]
            for o in lines:
                key = tuple(text_of(o[k]) for k in PLACE), o["metric"], text_of(o["unit"])
                row = cells.get(key)
                if row is None:
                    self.fail("json", "%s is not in csv", key)
                    continue
                self.count("json")
                mine = (None if row["value"] == "" else float(row["value"]), row["status"],
                        None if row.get("coverage", "") == "" else float(row["coverage"]))
                if mine != (o["value"], o["status"], o.get("coverage")):
                    self.fail("json", "%s is %s, csv has %s", key, (o["value"], o["status"], o.get("coverage")), mine)
            if len(lines) != len(tidy):
                self.fail("json", "%d lines, csv has %d", len(lines), len(tidy))
            self.wide(args, cells)

    def wide(self, args, cells):
        got = {}
        for row in csv.DictReader(io.StringIO(self.out("show", "--show=*", "--format=csv", "--layout=wide", *args))):
            place = tuple(row[k] for k in PLACE)
            for head, v in row.items():
                match = head not in PLACE and re.fullmatch(r"(.*)\[([^\[\]]*)\]", head)
                if match and v != "":
                    got[place, match[1], match[2]] = float(v)
        want = {k: float(r["value"]) for k, r in cells.items() if r["value"] != ""}
        self.count("wide csv", len(got))
        for key in set(got) ^ set(want) | {k for k in got if k in want and got[k] != want[k]}:
            self.fail("wide csv", "%s is %s, long has %s", key, got.get(key), want.get(key))
        got = {}
        for row in map(json.loads, self.out("show", "--show=*", "--format=json", "--layout=wide", *args).splitlines()):
            place = tuple(text_of(row[k]) for k in PLACE)
            got.update({(place, k): float(v) for k, v in row.items() if k not in PLACE and isinstance(v, (int, float))})
        self.count("wide json", len(got))
        want = {(k[0], k[1]): v for k, v in want.items()}
        for key in want:
            if got.get(key) != want[key]:
                self.fail("wide json", "%s is %s, long has %s", key, got.get(key), want[key])

    # ---- for people ----

    def tables(self):
        """Columns stand in the order of csv; a value is rounded to what its column shows."""
        order = list(self.system)
        for form, split in (("table", None), ("turbostat", "\t")):
            by_head = {}
            args = ["--total", "-S", "-q", "--format=" + form] + (["--width=0"] if form == "table" else [])
            for metrics in chunks([m for m in order if self.system[m]["status"] != "no-input"], 1 if len(order) < 40 else 20):
                lines = self.rows("show", "--show=" + ",".join(metrics), *args)
                if not lines:
                    self.fail(form, "nothing for %s", metrics)
                    continue
                heads, cells = lines[0].split(split), lines[-1].split(split)
                if len(heads) != len(metrics) or len(cells) != len(heads):
                    by_head[tuple(metrics)] = heads, cells
                    continue
                self.row(form, metrics, heads, cells)
            for metrics in [(m,) for many in by_head for m in many]:
                lines = self.rows("show", "--show=" + metrics[0], *args)
                if len(lines) >= 2 and len(lines[-1].split(split)) == 1:
                    self.row(form, metrics, lines[0].split(split), lines[-1].split(split))

    def rows(self, *args):
        """Without the legend."""
        return [x for x in self.out(*args).splitlines() if x.strip() and x[:2] not in ("~ ", "? ")]

    def row(self, form, metrics, heads, cells):
        def plain(head):
            return re.sub(r"[^A-Za-z0-9]", "", head)
        left = dict.fromkeys(metrics)
        for head, cell in zip(heads, cells):
            metric = next((m for m in left if plain(self.columns.get(m, m)) == plain(head)), None)
            if metric is None:
                metric = next((m for m in left if plain(m) == plain(head)), None)
            if metric is None:
                continue
            del left[metric]
            row = self.system[metric]
            cell = cell.strip().rstrip("*")
            mark = MARKS.get(row["status"], "") if form == "table" else ""
            if form == "table" and row["status"] == "estimate" and row["coverage"] != "1":
                mark = "~"
            if cell[:1].strip("0123456789.-") != mark:
                self.fail(form, "%s is %s, csv says %s", metric, cell, row["status"])
            cell = cell[len(mark):]
            if row["value"] == "":
                self.count(form + ", missing")
                if number(cell) is not None:
                    self.fail(form, "%s is %s, csv has nothing (%s)", metric, cell, row["status"])
            elif cell.startswith("0x"):
                self.count(form)
                if int(cell, 16) != int(float(row["value"])) and float(row["value"]) < 2**53:
                    self.fail(form, "%s is %s, csv has %s", metric, cell, row["value"])
            else:
                self.same(form, metric, cell, float(row["value"]))

    # ---- stat ----

    def stat(self):
        perf = any(c["source"] == "perf" for c in self.counters().values())
        whole = {o["name"] for o in map(json.loads, self.out("dump", "--format=json", "--no-values").splitlines())
                 if o["is"] == "counter" and o["type"] in ("u64", "s64")}
        which = ["--all-events"] if perf else ["-e", ",".join(
            n for n, c in self.counters().items() if c["semantics"] == "cumulative" and c["aggregation"] == "sum" and n in whole and
            not n.startswith("add."))]  # what a user adds is averaged, so it is no count
        if which == ["-e", ""]:
            return
        events = [json.loads(x) for x in self.out("stat", *which, "-j").splitlines() if x.startswith("{")]
        self.stat_counts("stat -j", [(e.get("event"), e.get("counter-value")) for e in events])
        rows = csv.reader(io.StringIO(self.out("stat", *which, "-x,")))
        self.stat_counts("stat -x", [(r[2], r[0]) for r in rows if len(r) > 2])
        text = self.out("stat", *which)
        self.stat_counts("stat", [(m[2], m[1]) for m in re.finditer(
            r"^ *(-|[0-9][0-9,.]*|<[a-z ]+>) (?:msec|ns|s|Joules|[A-Za-z%/]+)? *(\S+)(?: +#.*| +\([0-9.]+%\))*$", text, re.M)])
        for name in self.columns:
            if name not in self.system or "/" in name or name in self.counters():
                continue
            args = ("stat", "-M", name, "-j", *self.more, self.path)
            code, out, err = compare.run(self.pmrep, *args)
            if code:
                if "no metric" not in err and not err.strip():
                    self.fail("stat -M", "%s: ends with %d: %s", name, code, err)
                continue
            got = [json.loads(x, parse_float=str) for x in out.splitlines() if x.startswith("{")]
            words = self.columns[name].split()
            got = [o["metric-value"] for o in got if o["metric-unit"].split()[-len(words):] == words or o["metric-unit"].split()[-1:] == [name]]
            if len(got) == 1 and got[0] is not None:
                row = self.system[name]
                if row["value"] == "":
                    self.fail("stat -M", "%s is %s, csv has nothing (%s)", name, got[0], row["status"])
                else:
                    self.same("stat -M", name, got[0], float(row["value"]))
            elif len(got) == 1 and self.system[name]["value"] != "":
                self.fail("stat -M", "%s is %s, csv has %s", name, got[0], self.system[name]["value"])

    def counters(self):
        if not hasattr(self, "_counters"):
            lines = self.out("list", "counters", "--format=json").splitlines()
            self._counters = {o["counter"]: o for o in map(json.loads, lines)}
        return self._counters

    def never_enabled(self, name):
        """perf's word for these is <not counted>; what they counted is known: 0. No step leads from a segment to the next."""
        times, segment = {}, None
        for o in map(json.loads, self.out("dump", "--format=json", "--no-definitions", "--counter=" + name).splitlines()):
            segment = o.get("segment", segment)
            if "value" in o and "enabled" in o:
                times.setdefault((o["instance"], segment), []).append(o["enabled"])
        return bool(times) and all(b <= a for t in times.values() for a, b in zip(t, t[1:]))

    def stat_counts(self, what, pairs):
        names = [p[0] for p in pairs]
        for name, text in pairs:
            row = self.system.get(name)
            if row is None or names.count(name) > 1 or name not in self.counters():
                continue
            if self.counters()[name]["semantics"] != "cumulative":
                continue
            if row["value"] == "":
                self.count(what + ", missing")
                if number(text) is not None:
                    self.fail(what, "%s is %s, csv has nothing (%s)", name, text, row["status"])
            elif number(text) is None and text == "<not counted>" and float(row["value"]) == 0 and self.never_enabled(name):
                self.count(what + ", never enabled")
            elif number(text) is None:
                self.fail(what, "%s is %s, csv has %s", name, text, row["value"])
            else:
                self.count(what)
                # Whole events, however they were made up.
                slack = 1 if number(text) == int(number(text)) else 0
                want = float(row["value"])
                if abs(number(text) - want) > max(slack, precision(text)) + 1e-9 * abs(want):
                    self.fail(what, "%s is %s, csv has %r", name, text, want)

    # ---- html, plot, diff ----

    def html(self, folder):
        """The numbers of charts: of the whole, and of each stretch that is drawn where it is a recorded interval."""
        page = os.path.join(folder, "page.html")
        self.out("html", "--show=*", "-o", page)
        if not os.path.exists(page):
            return
        with open(page, encoding="utf-8") as f:
            text = f.read()
        os.remove(page)
        data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)[1])
        packed = base64.b64decode(re.search(r'id="numbers">(.*?)</script>', text, re.S)[1])
        every = {}
        for row in self.long("--all", "--rate", "--time=epoch-ns"):
            if row["scope"] == "system":
                every.setdefault(row["metric"], []).append(row)
        for part, metric in re.findall(r"<tr><th[^>]*><code>([^<]*)</code></th><td>system</td>(.*?)</tr>", text):
            if ("doubtful" in metric) != any(r["status"] == "doubtful" for r in every.get(part, [])):
                self.fail("html", "%s: %s", part, metric)
        for rec in data["recordings"]:
            near = rec["near"]
            size = near["buckets"] * near["bytes"] * (3 if near["band"] else 1)
            for i, (metric, row, low, high, mean) in enumerate(x[:5] for x in near["list"]):
                name = rec["metrics"][metric].get("name")
                if name not in self.system or rec["rows"][row]["label"] != "system":
                    continue
                rows = every.get(name, [])
                if near["bytes"] == 2 and len(rows) == near["buckets"] and all(
                        int(r["duration_ns"]) == round(near["width"] * 1e9) for r in rows):
                    self.drawn(name, packed[near["offset"] + i * size:], rows, low, high)
                value = self.system[name]["value"]
                if value == "" and mean is not None:
                    self.fail("html", "the mean of %s is %r, csv has nothing (%s)", name, mean, self.system[name]["status"])
                if value != "" and mean is not None and name not in self.counters():
                    self.mean("html", name, mean, 2e-3 * abs(high - low), len(rows))

    def drawn(self, name, numbers, rows, low, high):
        for k, row in enumerate(rows):
            n = int.from_bytes(numbers[2 * k:2 * k + 2], "little")
            got = low + (n - 1) / 65534 * (high - low) if n else None
            want = None if row["value"] == "" else float(row["value"])
            self.count("html, intervals")
            if (got is None) != (want is None) or (got is not None and abs(got - want) > 1e-4 * max(abs(high - low), abs(want))):
                self.fail("html", "%s is %s in interval %d, csv has %s", name, got, k, want)

    def mean(self, what, name, got, slack, n):
        """Of what is counted in an interval, charts have the mean count of one; of the others, the number itself."""
        if "means" in WITHOUT:
            return
        want = float(self.system[name]["value"])
        wanted = [want, want / n] if n and self.system[name]["unit"] in ("1", "J", "By") else [want]
        if len(wanted) > 1 and self.system[name]["coverage"] != "1":  # what is lost of one is in no mean
            return
        self.count(what)
        if all(abs(got - w) > slack + 1e-3 * abs(w) for w in wanted):
            self.fail(what, "the mean of %s is %r, csv has %r", name, got, want)

    def plot(self):
        names = [m for m, v in self.values() if m in self.columns and m not in self.counters()]
        for many in chunks(names, 30):
            text = self.out("plot", *many, "--ascii", "--width=40", "--height=3")
            for m in re.finditer(r"^(?:[^ ] )?(\S.*): min (\S+), mean (\S+), max (\S+)", text, re.M):
                metric = [n for n in many if self.columns[n] == m[1]]
                if len(metric) == 1:
                    if number(m[3]) is not None:
                        self.mean("plot", metric[0], number(m[3]), precision(m[3]), self.n)

    def diff(self, other):
        out = self.out("diff", "--format=json", "--all", "--rate", "--force", other)
        if not out.strip():
            return
        rates = {r["metric"]: r for r in self.long("--total", "--rate") if r["scope"] == "system"}
        for r in json.loads(out)["results"]:
            row = rates.get(r["metric"])
            if r["scope"] != "system" or r.get("new") is None or row is None:
                continue
            if row["value"] == "":
                self.fail("diff", "%s is %s, csv has nothing (%s)", r["metric"], r["new"], row["status"])
                continue
            self.count("diff")
            wanted = [float(row["value"])]
            if row["unit"] in ("1", "J", "By"):  # what counts in an interval is compared a second, too
                wanted.append(wanted[0] / int(row["duration_ns"]) * 1e9)
            if not any(compare.same(r["new"], w) for w in wanted):
                self.fail("diff", "%s is %r, csv has %s", r["metric"], r["new"], row["value"])

    def all(self, folder, other):
        self.machine_formats()
        for part, work in (("text", self.tables), ("stat", self.stat), ("charts", lambda: self.html(folder)),
                           ("means", self.plot), ("diff", lambda: self.diff(other))):
            if part not in WITHOUT:
                work()
        return self.failures


def chunks(items, n):
    return [items[i:i + n] for i in range(0, len(items), n)]


def of_samples(paths):
    """Each beside another that it can be compared with."""
    for path in paths:
        folder = os.path.dirname(path)
        arm = any(x in path for x in ("tegra", "grace", "guest"))
        others = ("grace.pmr", "tegra410.pmr") if arm else ("loaded.pmr", "idle.pmr")
        yield path, os.path.join(folder, next(o for o in others if not path.endswith("/" + o)))


def at_random(folder, seed, last, end):
    """Each beside another recording of the same world. Of one run: stat and diff add up what csv has in a row per run."""
    def both(name, make):
        paths = [os.path.join(folder, name + x) for x in (".pmr", ".other")]
        for path, generate.World.recording in zip(paths, (b"\x11" * 8, b"\x22" * 8)):
            make(path)
        return paths
    for name, case in known.CASES.items():
        yield both(name, case)
    while seed < last and time.monotonic() < end:
        yield both(str(seed), lambda path: random_worlds.make(seed, path, runs=False))
        seed += 1


def main(argv):
    if argv[2].startswith("--without="):
        WITHOUT.update(argv.pop(2)[10:].split(","))
    pmrep, first = argv[1:3]
    failures, cells, n = [], {}, 0
    with tempfile.TemporaryDirectory() as folder:
        if first == "random":
            seed = int(argv[3]) if argv[3:] else int.from_bytes(os.urandom(3), "big")
            print("formats.py PMREP random %d" % seed)
            work = at_random(folder, seed, seed + int(argv[4]) if argv[4:] else 1 << 63, time.monotonic() + SECONDS)
        else:
            work = of_samples(argv[2:])
        for path, other in work:
            r = Recording(pmrep, path)
            failures += r.all(folder, other)
            n += 1
            for what, k in r.cells.items():
                cells[what] = cells.get(what, 0) + k
    print("%d recordings: %s" % (n, ", ".join("%s %d" % x for x in sorted(cells.items()))))
    for f in failures[:40]:
        print("FAILED: " + f)
    if len(failures) > 40:
        print("... and %d more" % (len(failures) - 40))
    return 1 if failures or not cells else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
