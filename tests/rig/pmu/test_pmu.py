#!/usr/bin/python3
"""test_pmu.py MACHINE: perf and pmrec count the same events of an emulated machine; both beside what it was programmed to count.

The truth of a count is the rate of the table times the time for which the event ran, which either program prints.
"""
import csv
import io
import json
import os
import re
import subprocess
import sys
import tempfile

import machine

BIN, TESTS = os.environ["PM_BIN"], os.environ["PM_TESTS"]
TOLERANCE = .001     # counts and times are read at one moment
SUM = .05            # CPUs differ in their rates, and do not begin and end together
MULTIPLEXED = .1     # two of three turns of 4 ms in a second


def skip(why):
    print("skipped:", why)
    sys.exit(77)


class Runner:
    def __init__(self, folder, m):
        self.folder, self.machine = folder, m
        self.env = dict(os.environ, FAKE_PMU=folder, LD_PRELOAD=os.path.join(TESTS, "libfakepmu.so"), LC_ALL="C",
                        PERF_CPUID=m.table.CPUID)

    def run(self, *command, preload=True):
        # What was open is closed with its process.
        if preload:
            open(os.path.join(self.folder, "state"), "w").close()
        return subprocess.run(command, env=self.env if preload else None, capture_output=True, text=True, timeout=60)

    def rows(self, text):
        """(count or None, ns for which it ran, percent, CPU or None) of each line, in the order of the events."""
        for line in text.splitlines():
            cell = line.split(";")
            cpu = int(cell.pop(0)[3:]) if line.startswith("CPU") else None
            if len(cell) > 4 and not line.startswith("#"):
                yield float(cell[0]) if cell[0][0].isdigit() else None, float(cell[3]), float(cell[4]), cpu

    def perf(self, events, seconds, *how):
        done = self.run("perf", "stat", "-a", *how, "-x;", "-e", ",".join(events), "sleep", str(seconds))
        return list(self.rows(done.stderr)), done.stderr

    def pmrec(self, events, seconds, *how):
        path = os.path.join(self.folder, "x.pmr")
        done = self.run(os.path.join(BIN, "pmrec"), "-q", "--overwrite", "--sources=perf", "-a", "-i", "0", "-o", path, "-e",
                        ",".join(events), "sleep", str(seconds))
        if done.returncode:
            return [], f"{done.stderr}pmrec: {done.returncode}"
        shown = self.run(os.path.join(BIN, "pmrep"), "stat", *how, "-x;", path, preload=False)
        return list(self.rows(shown.stdout)), f"{done.stderr}{shown.stderr}pmrep: {shown.returncode}"


def places(m, pmu):
    return len(m.places(pmu))


def scale(m, pmu, event):
    sides = m.table.PMUS[pmu].get("events", {}).get(event, ())
    return float(sides[1]) if len(sides) > 1 else 1


def truth(m, pmus, event):
    """(counts a second, places) of an event, added up over PMUs."""
    return sum(m.rate(p, event) for p in pmus) * scale(m, pmus[0], event), sum(places(m, p) for p in pmus)


def families(m):
    """PMUs that differ in their number only, by what they have in common."""
    found = {}
    for pmu in m.table.PMUS:
        stem, _, number = pmu.rpartition("_")
        if number.isdigit():
            found.setdefault(stem, []).append(pmu)
    return found


def check_counts(m, programs):
    """Every event that sysfs names and one that it does not, as many at a time as there is room for; of a family, the first
    PMU and the last."""
    wrong, middle = [], {pmu for pmus in families(m).values() for pmu in pmus[1:-1]}
    for pmu, p in m.table.PMUS.items():
        if pmu in middle or p.get("by_metrics"):
            continue
        metric = {machine.config(p, t) for t in p.get("metric", ())}
        events = [e for e, (terms, *_) in p.get("events", {}).items() if machine.config(p, terms) not in metric]
        events.append("event=0x42" if "event" in p["format"] else "type=0x7,eventid=0x9")
        room = min(4, p["general"])
        for at in range(0, len(events), room):
            few = events[at:at + room]
            wrong += compare_each(m, programs, pmu, few)
    return wrong


def compare_each(m, programs, pmu, events):
    """CPU by CPU, or package by package."""
    wrong, n = [], places(m, pmu)
    for name, count in programs.items():
        rows, errors = count([f"{pmu}/{e}/" for e in events], .1, "-A")
        if len(rows) != len(events) * n:
            wrong.append(f"{name}: {pmu}: {events}: {len(rows)} rows: {errors}")
            continue
        for i, (value, ran, percent, cpu) in enumerate(rows):
            event = events[i // n]
            expected = m.rate_at(pmu, event, cpu) * scale(m, pmu, event) * ran / 1e9
            if value is None or not ran or percent < 99 or abs(value - expected) > TOLERANCE * expected + .01:
                wrong.append(f"{name}: {pmu}/{event}/ of CPU {cpu} is {value} in {ran} ns, {percent} %, not {expected}")
    return wrong


def compare(m, programs, asked, wanted, share=100, tolerance=SUM, seconds=.2):
    wrong = []
    for name, count in programs.items():
        rows, errors = count(asked, seconds)
        if len(rows) != len(wanted):
            wrong.append(f"{name}: {asked}: {len(rows)} rows: {errors}")
            continue
        for event, (value, ran, percent, _), (rate, n) in zip(asked, rows, wanted):
            expected = rate * ran / (percent / 100) / n / 1e9
            if value is None or not ran or abs(value - expected) > tolerance * expected or percent > share + 15 or percent < share - 15:
                wrong.append(f"{name}: {event} is {value} in {ran} ns, {percent} %, not {expected}")
    return wrong


def check_families(m, programs):
    """PMUs of one kind are added up under their common name."""
    wrong = []
    for stem, pmus in families(m).items():
        p = m.table.PMUS[pmus[0]]
        events = [*p.get("events", p.get("rates", ["event=0x42"]))][:2]
        if len(pmus) > 1 and not p.get("by_metrics"):
            wrong += compare(m, programs, [f"{stem}/{e}/" for e in events], [truth(m, pmus, e) for e in events])
    return wrong


def core_of(m):
    return next(name for name, p in m.table.PMUS.items() if p["kind"] == "core")


def check_room(m, programs):
    """More events than counters take turns; a group that can never fit is refused by the kernel: no count, and never 0."""
    pmu, wrong = core_of(m), []
    general = m.table.PMUS[pmu]["general"]
    events = [f"event={0x40 + i:#x}" for i in range(general * 3 // 2)]
    wrong += compare(m, programs, [f"{pmu}/{e}/" for e in events], [truth(m, [pmu], e) for e in events], share=67,
                     tolerance=MULTIPLEXED, seconds=1)
    group = "{" + ",".join(f"{pmu}/event={0x40 + i:#x}/" for i in range(general + 1)) + "}"
    rows, _ = programs["perf"]([group], .1) if "perf" in programs else ([], "")
    if any(value is not None for value, *_ in rows):
        wrong.append(f"perf counts a group of {general + 1}: {rows}")
    return wrong


def check_topdown(m, programs):
    """Shares of the slots, in a group that slots leads; alone they are refused."""
    pmu = core_of(m)
    p = m.table.PMUS[pmu]
    shares = [e for e in p["events"] if e.startswith("topdown-")]
    if "slots" not in p["events"] or not shares:
        return []
    asked = ["slots", *shares]
    group = "{" + ",".join(f"{pmu}/{e}/" for e in asked) + "}"
    wrong = []
    for name, count in programs.items():
        rows, errors = count([group], .2)
        if len(rows) != len(asked):
            wrong.append(f"{name}: {group}: {len(rows)} rows: {errors}")
            continue
        for event, (value, ran, _, _) in zip(asked, rows):
            rate, n = truth(m, [pmu], event)
            if value is None or abs(value - rate * ran / n / 1e9) > SUM * value:
                wrong.append(f"{name}: {event} is {value}, not {rate * ran / n / 1e9}")
    if "perf" in programs:
        rows, _ = programs["perf"]([f"{pmu}/topdown-retiring/"], .1)
        if any(value is not None for value, *_ in rows):
            wrong.append(f"perf counts a share without its slots: {rows}")
    return wrong + check_led(m, pmu, shares, programs["pmrec"])


def check_led(m, pmu, shares, pmrec):
    """Wherever shares stand and whatever they are called, the slots lead them; they survive a group that is taken apart."""
    wrong, many = [], [f"{pmu}/event={0x40 + i:#x}/" for i in range(m.table.PMUS[pmu]["general"] + 1)]
    code = m.table.PMUS[pmu]["events"]["topdown-bad-spec"][0]
    for asked in ([f"{pmu}/{e}/" for e in shares[:2]], [f"{{{pmu}/{shares[0]}/,{pmu}/slots/}}"], [f"{pmu}/{code},name=x/"],
                  ["{" + ",".join([f"{pmu}/{shares[0]}/", *many]) + "}:W"]):
        rows, errors = pmrec(asked, .2)
        rate, n = truth(m, [pmu], code if "name=x" in asked[0] else shares[0])
        expected = rate * rows[0][1] / rows[0][2] * 100 / n / 1e9 if rows else 0
        if not rows or any(row[0] is None for row in rows) or abs(rows[0][0] - expected) > MULTIPLEXED * expected:
            wrong.append(f"pmrec: {asked} is {rows}, not {expected}: {errors}")
    return wrong


def check_many(m, runner):
    """A formula of more events than any PMU counts at once opens none of them twice, the slots of its last share neither."""
    pmu, path = core_of(m), os.path.join(runner.folder, "many.json")
    shares = [e for e in m.table.PMUS[pmu]["events"] if e.startswith("topdown-")]
    if "slots" not in m.table.PMUS[pmu]["events"]:
        return []
    others = [f"{pmu}@event\\={0x40 + i:#x}@" for i in range(36)]
    formula = " + ".join(others[:20] + shares[:1] + others[20:] + shares[1:]).replace("-", r"\-")
    with open(path, "w", encoding="utf-8") as f:
        json.dump([{"MetricName": "Many", "MetricExpr": f"({formula}) / slots"}], f)
    text = runner.run(os.path.join(BIN, "pmrec"), "--sources=perf", "-a", f"--metrics-file={path}", "-M", "Many", "--dry-run", "true")
    events = re.findall(r"event=0x\w+|topdown-[\w-]+|slots", text.stdout)
    wanted = len(others) + len(shares) + 1
    return [] if len(events) == wanted == len(set(events)) else [f"{len(events)} events and not {wanted} are opened: {text.stdout}{text.stderr}"]


def check_thresholds(m, runner):
    """What a threshold needs is counted once, where the formulas have it, also if it has no room beside that metric's own."""
    pmu, path = core_of(m), os.path.join(runner.folder, "thresholds.json")
    size = m.table.PMUS[pmu]["general"] - 1
    total = lambda first, n: " + ".join(f"{pmu}@event\\={first + i:#x}@" for i in range(n))
    metrics = [{"MetricName": "Long", "MetricExpr": total(0x40, size + 1), "MetricThreshold": f"Long > 1 & {total(0x80, 1)} > 2 & {total(0x90, 1)} > 3"},
               {"MetricName": "One", "MetricExpr": total(0x80, size)}, {"MetricName": "Other", "MetricExpr": total(0x90, size)}]
    with open(path, "w", encoding="utf-8") as f:
        json.dump(metrics, f)
    text = runner.run(os.path.join(BIN, "pmrec"), "--sources=perf", "-a", f"--metrics-file={path}", "-M", "Long,One,Other", "--dry-run", "true")
    events = re.findall(r"event=0x\w+", text.stdout)
    wanted = 1 + 3 * size
    return [] if len(events) == wanted == len(set(events)) else [f"{len(events)} events and not {wanted} are opened: {text.stdout}{text.stderr}"]


def check_room_unasked(m, runner):
    """Metrics share groups only as far as the PMU has counters, also where its driver takes in more and then never counts."""
    path, pmu = os.path.join(runner.folder, "share.json"), next((n for n, p in m.table.PMUS.items() if not p.get("checks", True)), None)
    if not pmu:
        return []
    metrics = [{"MetricName": f"Share{i}", "MetricExpr": " + ".join(f"{pmu}@event\\={0x40 + 3 * i + k:#x}@" for k in range(3))} for i in range(6)]
    with open(path, "w", encoding="utf-8") as f:
        json.dump(metrics, f)
    names = ",".join(o["MetricName"] for o in metrics)
    text = runner.run(os.path.join(BIN, "pmrec"), "--sources=perf", "-a", f"--metrics-file={path}", "-M", names, "--dry-run", "true").stdout
    sizes = [line.count("event=") for line in text.splitlines()[1:]]
    return [] if sum(sizes) == 18 and max(sizes) <= m.table.PMUS[pmu]["general"] else [f"{pmu}: groups of {sizes}: {text}"]


def check_defaults(runner):
    """Who names no event counts on the cores what perf counts."""
    asked = runner.run("perf", "stat", "-a", "-x;", "true").stderr
    path = os.path.join(runner.folder, "x.pmr")
    runner.run(os.path.join(BIN, "pmrec"), "-q", "--overwrite", "--sources=perf", "-a", "-i", "0", "-o", path, "true")
    ours = runner.run(os.path.join(BIN, "pmrep"), "stat", "-x;", path, preload=False).stdout
    names = [{line.split(";")[2] for line in text.splitlines() if line.count(";") > 4 and line[0] != ";"} for text in (asked, ours)]
    missing = {n for n in names[0] if n not in names[1]}
    return [f"of perf's default events pmrec lacks {sorted(missing)}: {sorted(names[1])}"] if missing or not names[0] else []


def check_kinds(m, runner):
    """Where cores are of several kinds, each has its own ratio."""
    kinds = [name for name, p in m.table.PMUS.items() if p["kind"] == "core"]
    path, wrong = os.path.join(runner.folder, "x.pmr"), []
    runner.run(os.path.join(BIN, "pmrec"), "-q", "--overwrite", "--sources=perf", "-a", "-i", "0", "-o", path, "-e", "cycles,instructions",
               "sleep", ".1")
    shown = runner.run(os.path.join(BIN, "pmrep"), "stat", "-j", "-M", "insn_per_cycle", path, preload=False).stdout
    found = {o["event"]: o.get("metric-value") for o in map(json.loads, shown.splitlines()) if "event" in o}
    for pmu in kinds if len(kinds) > 1 else []:
        ratio = m.rate(pmu, "instructions") / m.rate(pmu, "cpu-cycles")
        got = found.get(f"{pmu}/cycles/")  # the first of its events
        if not got or abs(float(got) - ratio) > .01:
            wrong.append(f"instructions per cycle of {pmu}: {got}, not {ratio}")
    return wrong


PERFMON = {"MetricName": "Ratio", "Level": 1, "UnitOfMeasure": "percent", "Category": "TMA", "Constants": [],
           "Events": [{"Name": "ACME.DONE", "Alias": "a"}, {"Name": "ACME.ISSUED:c1", "Alias": "b"}], "Formula": "100 * a / b"}


def check_perfmon(m, folder, runner):
    """Intel's own schema: of a hybrid processor each kind of cores has its files, and the same names in them."""
    kinds = [name for name, p in m.table.PMUS.items() if p["kind"] == "core"]
    wrong, home = [], os.path.join(folder, "perfmon")
    roles = {"cpu_atom": "0x20,0x000001,Atom", "cpu_core": "0x40,0x000001,Core", "cpu_lowpower": "0x20,0x000002,LowPower_Atom"}
    if kinds[0] not in roles:
        return []
    os.makedirs(os.path.join(home, "ACM"))
    lines = ["Family-model,Version,Filename,EventType,Core Type,Native Model ID,Core Role Name"]
    codes = {kind: (0x51 + 16 * i, 0x52 + 16 * i) for i, kind in enumerate(kinds)}
    for kind, role in ((k, r) for k, r in roles.items() if k in kinds):
        events = [{"EventName": name, "EventCode": f"{code:#x}", "UMask": "0x00"} for name, code in zip(("ACME.DONE", "ACME.ISSUED"), codes[kind])]
        for part, what, type_ in (("Events", events, "hybridcore"), ("Metrics", [PERFMON], "metrics")):
            with open(os.path.join(home, f"ACM/{kind}_{part}.json"), "w", encoding="utf-8") as f:
                json.dump({"Header": {}, part: what}, f)
            lines.append(f".*,V1,/ACM/{kind}_{part}.json,{type_},{role}")
    with open(os.path.join(home, "mapfile.csv"), "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")
    path, pack = os.path.join(folder, "x.pmr"), dict(runner.env, XDG_DATA_HOME=os.path.join(folder, "data"))
    pmrec = os.path.join(BIN, "pmrec")
    said = subprocess.run([pmrec, "vendor", "import", home], env=pack, capture_output=True, text=True, timeout=60, check=False).stderr
    said += subprocess.run([pmrec, "-q", "--overwrite", "--sources=perf", "-a", "-i", "0", "-o", path, "-M", "Ratio", "sleep", ".1"], env=pack,
                           capture_output=True, text=True, timeout=60, check=False).stderr
    shown = runner.run(os.path.join(BIN, "pmrep"), "show", "--total", "--format=csv", "--show=*ratio*", "--per-system", path, preload=False).stdout
    values = {r["metric"]: r["value"] for r in csv.DictReader(io.StringIO(shown))}
    for kind, (done, issued) in codes.items():
        ratio = 100 * m.rate(kind, f"event={done:#x}") / m.rate(kind, f"event={issued:#x},cmask=1")
        if abs(float(values.get(f"ratio_{kind}") or 0) - ratio) > SUM * ratio:
            wrong.append(f"perfmon: {kind}: {values}, not {ratio}: {said}")
    return wrong


def check_starving(m, folder, runner):
    """A group that another user's counters keep out is told while it is recorded; what else there is counts on."""
    wrong, path = [], os.path.join(folder, "x.pmr")
    loose = next((name for name, p in m.table.PMUS.items() if not p.get("checks", True) and len(p.get("rates", {})) > 2), None)
    for pmu in filter(None, (loose, core_of(m))):
        events = ["event=0x40", "event=0x41", "event=0x42"] if pmu == core_of(m) else list(m.table.PMUS[pmu]["rates"])[:3]
        asked = "{" + ",".join(f"{pmu}/{e}/" for e in events[:2]) + f"}},{pmu}/{events[2]}/"
        m.write(folder, pinned={pmu: m.table.PMUS[pmu]["general"] - 1})
        shown = runner.run(os.path.join(BIN, "pmrec"), "--overwrite", "--sources=perf", "-a", "-i", "0.5", "--timeout=3500", "-o", path,
                           "-e", asked).stderr
        m.write(folder)
        info = runner.run(os.path.join(BIN, "pmrep"), "info", path, preload=False).stdout
        told = "others of its group: not counted, because others hold counters or the PMU has too few"
        if shown.count("not counted") != 1 or told not in shown or told not in info:
            wrong.append(f"{asked} starves untold: {shown}")
        shown = runner.run(os.path.join(BIN, "pmrep"), "stat", "-x;", "--no-scale", path, preload=False).stdout
        for event, (value, ran, percent, _) in zip(events, runner.rows(shown)):
            expected = m.rate(pmu, event) * ran / places(m, pmu) / 1e9
            if value is not None if event in events[:2] else not value or abs(value - expected) > SUM * expected:
                wrong.append(f"{pmu}/{event}/ beside a group that starves is {value} in {ran} ns, {percent} %, not {expected}")
    return wrong


def check_others(m, folder, programs):
    """Counters that another user has pinned are not there; without rights nothing of the system is counted."""
    pmu = core_of(m)
    p = m.table.PMUS[pmu]
    m.write(folder, pinned={pmu: p["general"] - 2})
    events = [f"event={0x40 + i:#x}" for i in range(3)]
    wrong = compare(m, programs, [f"{pmu}/{e}/" for e in events], [truth(m, [pmu], e) for e in events], share=67,
                    tolerance=MULTIPLEXED, seconds=1)
    m.write(folder, paranoid=2, privileged=False)
    for name, count in programs.items():
        rows, errors = count([f"{pmu}/event=0x40/"], .1)
        if any(value is not None for value, *_ in rows):
            wrong.append(f"{name} counts without rights: {rows} {errors}")
    m.write(folder)
    return wrong


def main():
    m = machine.Machine(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="pm-pmu-") as folder:
        m.write(folder)
        runner = Runner(folder, m)
        if runner.run("true").returncode:
            skip("libfakepmu.so cannot be loaded")
        programs = {"pmrec": runner.pmrec}
        beside = runner.run("perf", "stat", "-e", "dummy", "true") if any(
            os.access(os.path.join(d, "perf"), os.X_OK) for d in os.environ["PATH"].split(":")) else None
        if beside is None:
            print("no perf on this machine: pmrec alone")
        elif beside.returncode:
            skip(f"perf_event_open() is not permitted: {beside.stderr}")
        else:
            programs["perf"] = runner.perf
        wrong = check_counts(m, programs) + check_families(m, programs) + check_room(m, programs) + \
            check_topdown(m, programs) + check_many(m, runner) + check_thresholds(m, runner) + check_room_unasked(m, runner) + check_others(m, folder, programs)
        if "perf" in programs:
            wrong += check_defaults(runner)
        wrong += check_starving(m, folder, runner) + check_kinds(m, runner) + check_perfmon(m, folder, runner)
    for line in wrong:
        print("wrong:", line)
    print(f"{sys.argv[1]}: {', '.join(programs)}: {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
