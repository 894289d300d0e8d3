#!/usr/bin/python3
"""test_metrics.py MACHINE [newer FOLDER]: every metric of the CPU's vendor on an emulated machine: perf's value, ours, and the truth,
within 0.5 %.

The files are those of $PM_PMU_EVENTS, the folder tools/perf/pmu-events/arch of a kernel's tree; newer: those of newer.py, and its
perf, below FOLDER. Time does not pass: every reading is
a second (FAKE_PMU_STEP). Where perf is further off than that, it is listed, with the reason for newer perf; we have to be right.
"""
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import formulas  # noqa: E402
import machine  # noqa: E402
import newer  # noqa: E402
from test_pmu import BIN, Runner, skip  # noqa: E402

TOLERANCE = .005
ROUNDED = 1e-6   # perf prints six decimals
AT_ONCE = 40


def near(a, b):
    return abs(a - b) <= TOLERANCE * abs(b) + ROUNDED


def perf_values(runner, names):
    """perf's values and its own seconds. A metric that it cannot parse takes all others with it."""
    done = runner.run("perf", "stat", "-a", "-j", "--metric-no-merge", "-M", ",".join(names), "-e", "duration_time", "true")
    found, seconds = {}, None
    for text in re.findall(r"\{\"[^{}]*\}", done.stderr):
        o = json.loads(re.sub(r": -?(nan|inf)\b", ": null", text))
        if o.get("event") == "duration_time":
            seconds = float(o["counter-value"]) / 1e9
        name = (o.get("metric-unit") or "").rpartition("  ")[2]
        value = o.get("metric-value")
        if value not in (None, "nan", "none"):
            found.setdefault(name, []).append(float(value))
    if seconds is None and len(names) > 1:
        half = len(names) // 2
        return {**perf_values(runner, names[:half]), **perf_values(runner, names[half:])}
    return {n: (found[n], seconds) for n in names if n in found}


def our_values(runner, files, names):
    path = os.path.join(runner.folder, "m.pmr")
    done = runner.run(os.path.join(BIN, "pmrec"), "-q", "--overwrite", "--sources=perf", "-a", "-i", "0", "-o", path,
                      *files, "-M", ",".join(names), "true")
    if done.returncode:
        return {}, done.stderr
    shown = runner.run(os.path.join(BIN, "pmrep"), "--total", "-S", "--format=json", path, preload=False)
    found = {}
    for line in shown.stdout.splitlines():
        o = json.loads(line)
        if o["scope"] == "system" and o["value"] is not None:
            found.setdefault(o["metric"], (o["value"], o["duration_ns"] / 1e9))
    return found, done.stderr + shown.stderr


def at_once(runner):
    """How many events the program that ran last has had open at a time, on all CPUs and PMUs together (fakepmu.c: struct state)."""
    with open(os.path.join(runner.folder, "state"), "rb") as f:
        return struct.unpack("=4xI", f.read(8))[0]


def opened(runner, files, name):
    """Counters that perf and we take for a metric or a group of metrics; None: perf cannot count all of it, or counts its defaults."""
    # Its text is judged by thresholds, and needs their events; -x is not.
    done = runner.run("perf", "stat", "-a", "-M", name, "true")
    lacks = any(word in done.stderr for word in ("cpu-clock", "<not supported>"))
    theirs = at_once(runner) if done.returncode == 0 and not lacks else None
    how = (os.path.join(BIN, "pmrec"), "-q", "--overwrite", "--sources=perf", "-a", "-i", "0", "-o", os.path.join(runner.folder, "m.pmr"),
           *files, "-M", name)
    said = runner.run(*how, "true").stderr
    ours = at_once(runner)
    return theirs, ours, said + runner.run(*how, "--dry-run").stdout if theirs is not None and ours > theirs else said


def why(f, key, seen=()):
    """Why perf's value of that metric may be another one; None: no reason is known."""
    for name in f.names(key):
        other = next((k for k in ((name, key[1]), (name, None)) if k in f.metrics and k not in seen), None)
        event, _, term = name.partition("/")[2].rstrip("/").partition(",")
        own = f.events.get((event or name).lower(), [{}])[0]
        if term.startswith("umask=") and int(term[6:], 0) | int(own.get("UMask", "0"), 0) != int(term[6:], 0):
            return f"{event} keeps the bits of its own mask beside {term}"
        if formulas.filters(own) not in ([], [own.get("Filter")]):
            return f"{name} has its filter in the wrong half of config1"
        if sum(f.terms_on(pmu, name) is not None for pmu in f.machine.table.PMUS) > 1 and not own.get("Unit"):
            return f"{name} is an event of other PMUs, too"
        found = why(f, other, (*seen, other)) if other else None
        if found:
            return found
    # Each begins when it is opened, which on a busy machine takes a while.
    return "perf's duration_time of a metric is not the one of -e" if "duration_time" in f.names(key) else None


def ids(keys):
    """The names that our columns have."""
    used, found = {}, {}
    for key in keys:
        twins = [k for k in keys if k[0] == key[0]]
        name = re.sub(r"[^a-z0-9.]", "_", (f"{key[0]} {key[1]}" if len(twins) > 1 else key[0]).lower())
        used[name] = used.get(name, 0) + 1
        found[key] = name if used[name] == 1 else f"{name}_{used[name]}"
    return found


def check_counters(runner, files, groups, names):
    """We never take more counters than perf for the same metric, or the same group of metrics."""
    pairs = {name: opened(runner, files, name) for name in [*groups, *names]}
    pairs = {name: p for name, p in pairs.items() if p[0] is not None}
    totals = [sum(p[i] for p in pairs.values()) for i in range(2)]
    print(f"counters of {len(pairs)} metrics and groups of them: ours {totals[1]}, perf's {totals[0]}")
    return [f"-M {name} takes {ours} counters and perf {theirs}: {text}" for name, (theirs, ours, text) in pairs.items() if ours > theirs]


FAKE = [os.path.join(os.path.dirname(os.path.abspath(__file__)), f"{name}.c") for name in ("fakepmu", "paths", "table")]


def take_newer(folder, for_arm):
    """The folder of the vendors' files; perf is that of the same kernel from now on, which knows only its own processors: Arm's runs in QEMU."""
    root, why = newer.bring(folder)
    arch, why = newer.vendor(folder) if root else (None, why)
    fake = os.path.join(os.path.abspath(folder), "arm64", "libfakepmu.so")
    if arch and for_arm:
        if not shutil.which("aarch64-linux-gnu-gcc") or not shutil.which("qemu-aarch64-static"):
            skip("no compiler or no emulator of arm64")
        root, why = newer.bring(os.path.join(folder, "arm64"), "arm64")
        subprocess.run(["aarch64-linux-gnu-gcc", "-std=gnu17", "-O1", "-D_GNU_SOURCE", "-fPIC", "-shared", "-fvisibility=hidden", "-o", fake, *FAKE],
                       check=True)
    if not arch or not root:
        skip(why)
    run = newer.loader(os.path.abspath(root), *(("arm64", fake) if for_arm else ()))
    programs = os.path.join(os.path.abspath(folder), "bin")
    os.makedirs(programs, exist_ok=True)
    script = os.path.join(programs, "perf")
    with open(script, "w", encoding="utf-8") as f:
        f.write(f"#!/bin/sh\nexec {' '.join(run)} {os.path.abspath(root)}/usr/bin/perf \"$@\"\n")
    os.chmod(script, 0o755)
    os.environ["PATH"] = f"{programs}:{os.environ['PATH']}"
    return arch


def main():
    m = machine.Machine(sys.argv[1])
    arm = "-" not in m.table.CPUID
    arch = take_newer(sys.argv[3], arm) if "newer" in sys.argv else os.environ.get("PM_PMU_EVENTS")
    folder_of_arch = os.path.join(arch, "arm64" if arm else "x86") if arch else ""
    if not os.path.exists(os.path.join(folder_of_arch, "mapfile.csv")):
        skip("PM_PMU_EVENTS names no folder tools/perf/pmu-events/arch")
    files = formulas.folder_of(folder_of_arch, m.table.CPUID)
    if not files:
        skip(f"no line for {m.table.CPUID}")
    f = formulas.Formulas(m, files)
    lacking, truth = [], {}
    for key in f.metrics:
        try:
            truth[key] = f.value(key, 1.0)
        except KeyError as e:
            lacking.append(f"{key[0]}: {e}")
    names = sorted({key[0] for key in truth})
    if not names:
        skip("the machine has nothing of what its vendor's metrics need")
    with tempfile.TemporaryDirectory(prefix="pm-metrics-") as folder:
        m.write(folder)
        runner = Runner(folder, m)
        runner.env["FAKE_PMU_STEP"] = "1"
        how = [] if arm else [f"--metrics-file={files}"]
        if arm:
            # What the boards have is in the pack alone.
            runner.env["XDG_DATA_HOME"] = folder
            subprocess.run([os.path.join(BIN, "pmrec"), "vendor", "import", "-d", folder_of_arch], env=runner.env, check=True,
                                 stdout=subprocess.DEVNULL)
        perf = {}
        for at in range(0, len(names), AT_ONCE):
            perf.update(perf_values(runner, names[at:at + AT_ONCE]))
        ours, errors = our_values(runner, how, names)
        groups = {g.strip() for key in truth for g in f.metrics[key].get("MetricGroup", "").split(";")} - {""}
        # Older perf counts the formulas of one kind of cores, and no more than these.
        takes = check_counters(runner, how, sorted(groups), names[::10]) if "cpu_core" not in m.table.PMUS or "newer" in sys.argv else []
    columns, wrong, perf_off, perf_lacks, none = ids(f.metrics), takes, [], 0, 0
    for key in truth:
        mine = ours.get(columns[key])
        theirs = perf.get(key[0])
        expected = f.value(key, mine[1] if mine else 1.0)
        if expected != expected or abs(expected) == float("inf"):
            none += 1
            if mine:
                wrong.append(f"{key[0]} is {mine[0]} and has no value")
            continue
        if not mine or not near(mine[0], expected):
            wrong.append(f"{key[0]} is {mine and mine[0]}, not {expected}; perf: {theirs}")
        if not theirs:
            perf_lacks += 1
        # Each kind of cores has a value, and both have one name.
        elif not any(near(one, f.value(key, theirs[1])) for one in theirs[0]):
            perf_off.append(f"{key[0]}: perf {theirs[0]}, truth {f.value(key, theirs[1])}, ours {mine and mine[0]}: {why(f, key)}")
            # Older perf is not explained here.
            wrong += [f"nothing says why {perf_off[-1]}"] if "newer" in sys.argv and not why(f, key) else []
    for line in perf_off:
        print("perf differs:", line)
    for line in wrong:
        print("wrong:", line)
    print(f"{sys.argv[1]}: {len(truth)} metrics, {none} of them without a value; perf has {len(perf)}, {len(perf_off)} differing, and lacks "
          f"{perf_lacks}; {len(lacking)} need PMUs that the machine has not; {len(wrong)} of ours are wrong")
    if wrong:
        print(errors[-2000:])
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
