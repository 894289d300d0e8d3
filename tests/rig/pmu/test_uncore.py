#!/usr/bin/python3
"""test_uncore.py [MACHINE...]: what memory, caches, links and PCIe of emulated machines carry, recorded by default and asked for by -M,
against the programmed rates: of the system, and of each package. Prints a table."""
import csv
import glob
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import machine
import test_pmu

TOLERANCE = .005


def shown(runner, path, *how):
    """{(metric, package or None): value}; missing ones are the status."""
    text = runner.run(os.path.join(test_pmu.BIN, "pmrep"), "show", "--total", "--format=csv", *how, path, preload=False).stdout
    rows = csv.DictReader(io.StringIO(text))
    return {(r["metric"], int(r["package"]) if r["scope"] == "package" else None): float(r["value"]) if r["status"] in ("ok", "doubtful") else r["status"]
            for r in rows if r["scope"] in ("system", "package")}


def record(runner, path, *how, seconds=.1):
    done = runner.run(os.path.join(test_pmu.BIN, "pmrec"), "-q", "--overwrite", "--sources=perf", "-a", "-i", "0", *how, "-o", path,
                      "sleep", str(seconds))
    return done.stderr + (f"pmrec: {done.returncode}" if done.returncode else "")


def check(name, runner, m):
    wrong, path = [], os.path.join(runner.folder, "x.pmr")
    wanted = {k: f for k, f in m.table.METRICS.items() if f}
    everything = {**wanted, **getattr(m.table, "ASKED", {})}
    for how in ([], ["-M", ",".join(everything)])[:2 if everything else 1]:
        errors = record(runner, path, *how)
        values = {**shown(runner, path, "--per-package"), **shown(runner, path, "--per-system")}
        for metric, f in (everything if how else wanted).items():
            for package in (None, *m.packages):
                truth, value = f(m, package), values.get((metric, package), "not there")
                if not isinstance(value, float) or abs(value - truth) > TOLERANCE * truth:
                    wrong.append(f"{name} {' '.join(how)}: {metric} of {'the system' if package is None else package} is {value}, not {truth} {errors}")
                elif package is None and not how:
                    print(f"{name:16} {metric:14} truth {truth:10.4f}  ours {value:10.4f}")
        for metric in m.table.METRICS.keys() - wanted.keys():
            refused = record(runner, path, "-M", metric)
            if "no PMU of this machine counts it" not in refused:
                wrong.append(f"{name}: -M {metric}: {refused}")
            record(runner, path)
            values = shown(runner, path, "--per-system")
            if (metric, None) in values:
                wrong.append(f"{name}: {metric} is {values[metric, None]}, and nothing counts it")
            said = runner.run(os.path.join(test_pmu.BIN, "pmrep"), "show", f"--show={metric}", path, preload=False).stderr
            wrong += [] if "or another PMU's event for the same, which" in said else [f"{name}: --show={metric}: {said}"]
    return wrong


def check_doctor(runner, m, expected):
    """What gives memory bandwidth, or what is in the way."""
    m.write(runner.folder, **expected[1])
    text = runner.run(os.path.join(test_pmu.BIN, "pmrec"), "doctor").stdout
    m.write(runner.folder)
    other = "modprobe amd_uncore" if "Intel" in m.table.CPUID else "modprobe intel_uncore"
    # Why other events are not counted is another matter.
    of_others = f"{expected[0]}other CPUs" in text
    return [] if expected[0] in text and other not in text and not of_others else [f"doctor: no {expected[0]}, or {other}, in {text}"]


# Machine: what doctor says, and under which rights.
DOCTOR = {"altra": ("such as arm_dmc620_", {}),
          "zen5": ("memory bandwidth: 24 PMUs such as amd_umc_0\n", {}),
          "zen4old": ("memory bandwidth: 1 PMU such as amd_df\n", {}),
          "ecores": ("such as uncore_imc_free_running_0, which cannot be counted: ", {"paranoid": 3, "privileged": False}),
          "hiddenspr": ("memory bandwidth: no PMU counts it: ", {}),
          "sapphirerapids": ("memory bandwidth: 4 PMUs such as uncore_imc_0, which cannot be counted: ",
                             {"paranoid": 2, "privileged": False})}


HIDDEN = "busy tsc_mhz avg_mhz bzy_mhz cpu.c1 cpu.c6 package.c2 package.c6 pkgwatt corwatt ramwatt".split()


def hidden_truth(m, package):
    """Columns of turbostat by the rates: {metric: (value, PMU)}."""
    cpus = [c for c, p in enumerate(m.cpus) if package in (None, p)]
    packages = m.packages if package is None else [package]
    mean = lambda pmu, event: sum(m.rate_at(pmu, event, c) for c in cpus) / len(cpus)
    level = lambda event: sum(m.sum("cstate_pkg", event, p) for p in packages) / len(packages)
    watts = lambda event: m.sum("power", event, package) * 2.3283064365386962890625e-10
    tsc = mean("msr", "tsc")
    values = (100 * mean("msr", "mperf") / tsc, tsc / 1e6, mean("msr", "aperf") / 1e6, mean("msr", "aperf") / mean("msr", "mperf") * tsc / 1e6,
              100 * mean("cstate_core", "c1-residency") / tsc, 100 * mean("cstate_core", "c6-residency") / tsc,
              100 * level("c2-residency") / tsc, 100 * level("c6-residency") / tsc,
              watts("energy-pkg"), watts("energy-cores"), watts("energy-ram"))
    pmus = ["msr"] * 4 + ["cstate_core"] * 2 + ["cstate_pkg"] * 2 + ["power"] * 3
    return dict(zip(HIDDEN, zip(values, pmus)))


def listed(runner, path):
    """{column: the counters that it came from}"""
    lines = runner.run(os.path.join(test_pmu.BIN, "pmrep"), "list", "metrics", "--format=json", path, preload=False).stdout.splitlines()
    return {o["column"]: o["from"] for o in map(json.loads, lines)}


def check_hidden(runner, m):
    """turbostat's columns without a register, each of perf's ways shut in turn: what is left is right, and the list says how it came."""
    wrong = []
    for shut in (None, "msr", "cstate_core", "cstate_pkg", "power", "cpumask"):
        # PMUs are read one after the other: a busy machine puts milliseconds between them, which weigh less in a longer recording.
        found = check_shut(runner, m, shut, .1)
        wrong += found and check_shut(runner, m, shut, 3)
    return wrong


def check_shut(runner, m, shut, seconds):
    wrong, path, pmus = [], os.path.join(runner.folder, "x.pmr"), dict(m.table.PMUS)
    m.table.PMUS = {k: {**v, "bare": shut == "cpumask"} for k, v in pmus.items() if k != shut}
    shutil.rmtree(os.path.join(runner.folder, "sys"))
    m.write(runner.folder, paranoid=2, privileged=True)
    m.table.PMUS = pmus
    record(runner, path, seconds=seconds)
    how = "--show=" + ",".join(HIDDEN)
    values = {**shown(runner, path, "--per-package", how), **shown(runner, path, "--per-system", how)}
    for package in (None, *m.packages):
        for metric, (truth, pmu) in hidden_truth(m, package).items():
            value = values.get((metric, package), "not there")
            # Residencies are parts of the TSC; C1 may be what the other states leave.
            missing = shut in (pmu, "msr") and pmu != "power" or shut == pmu
            if metric == "cpu.c1" and shut == "cstate_core":
                continue
            if isinstance(value, float) == missing or not missing and abs(value - truth) > TOLERANCE * truth:
                wrong.append(f"without {shut}: {metric} of {package} is {value}, not {truth}")
    came = listed(runner, path)
    wrong += [f"without {shut}: {column} comes from {came.get(column)}" for column, event, pmu in
              (("Busy%", "msr/mperf/", "msr"), ("Pkg%pc6", "cstate_pkg/c6-residency/", "cstate_pkg"), ("PkgWatt", "power/energy-pkg/", "power"))
              if (event in came.get(column, "")) == (shut == pmu or shut == "msr" != pmu != "power")]
    return wrong


def check_columns(runner, m):
    """Other columns of turbostat that perf's events fill."""
    wrong, path, how = [], os.path.join(runner.folder, "x.pmr"), "--show=" + ",".join(m.table.COLUMNS)
    errors = record(runner, path)
    values = {**shown(runner, path, "--per-package", how), **shown(runner, path, "--per-system", how)}
    for (column, f), package in ((c, p) for c in m.table.COLUMNS.items() for p in (None, *m.packages)):
        value, truth = values.get((column, package), "not there"), f(m, package)
        wrong += [] if isinstance(value, float) and abs(value - truth) < TOLERANCE * truth else [f"{column} of {package} is {value}, not {truth} {errors}"]
    return wrong


def check_ways(runner, m):
    """A column has a register, the kernel, or perf: each shut in turn, everything that says so names the way that is left. The files of the
    first two stand still: their numbers are for other tests."""
    wrong, path = [], os.path.join(runner.folder, "x.pmr")
    registers, zone = (os.path.join(runner.folder, d) for d in ("dev/cpu", "sys/class/powercap/intel-rapl:0"))
    pmus = dict(m.table.PMUS)
    for open_ways in (("registers", "kernel", "perf"), ("kernel", "perf"), ("perf",), ("kernel",), ()):
        m.table.PMUS = {k: v for k, v in pmus.items() if k == "cpu" or "perf" in open_ways}
        for old in ("sys", "dev"):
            shutil.rmtree(os.path.join(runner.folder, old), ignore_errors=True)
        m.write(runner.folder, paranoid=2)
        m.table.PMUS = pmus
        for cpu in m.online if "registers" in open_ways else ():
            os.makedirs(os.path.join(registers, str(cpu)), exist_ok=True)
            with open(os.path.join(registers, str(cpu), "msr"), "wb") as f:
                f.write(b"\x21" * 0x1000)
        if "kernel" in open_ways:
            for name, content in ("name", "package-0"), ("energy_uj", "77"), ("max_energy_range_uj", "262143328850"):
                machine.text(zone, name, content)
        runner.run(os.path.join(test_pmu.BIN, "pmrec"), "-q", "--overwrite", "-a", "-i", "0", "-o", path, "sleep", ".1")
        found = listed(runner, path)
        names = {"registers": {"Avg_MHz": "msr.aperf"}, "kernel": {"PkgWatt": "powercap.energy.package"},
                 "perf": {"PkgWatt": "power/energy-pkg/", "Avg_MHz": "msr/aperf/"}}
        # Which register has the energy, and its unit, depends on the processor that runs the test.
        for column in ("PkgWatt", "Avg_MHz")["registers" in open_ways:]:
            way = next((w for w in open_ways if column in names[w]), None)
            if way and found.get(column) != names[way][column]:
                wrong.append(f"ways {open_ways}: {column} is {found.get(column)}, not {names[way][column]}")
    return wrong


def check_forbidden(runner, m):
    """Without registers and without the right to perf's events: the columns say what the user can do something about."""
    path = os.path.join(runner.folder, "x.pmr")
    shutil.rmtree(os.path.join(runner.folder, "sys"))
    m.write(runner.folder, paranoid=3, privileged=False)
    runner.run(os.path.join(test_pmu.BIN, "pmrec"), "-q", "--overwrite", "-a", "-i", "0", "-o", path, "true")
    values = shown(runner, path, "--per-system", "--show=pkgwatt,busy,gfxwatt")
    # No PMU of this machine counts what graphics use.
    wanted = {"pkgwatt": "no-permission", "busy": "no-permission", "gfxwatt": "not-supported"}
    return [f"without rights: {name} is {values.get((name, None))}, not {why}" for name, why in wanted.items() if values.get((name, None)) != why]


def check_user(runner, m):
    """Somebody with CAP_PERFMON and nothing else gets turbostat's summary. What the kernel of this machine allows is not asked: it counts
    nothing but dummies."""
    shutil.rmtree(os.path.join(runner.folder, "sys"))
    m.write(runner.folder, paranoid=2)
    os.chmod(runner.folder, 0o755)
    os.chmod(os.path.join(runner.folder, "state"), 0o666)
    become = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all,+perfmon", "--ambient-caps=-all,+perfmon"]
    if os.getuid() or runner.run(*become, "true").returncode:
        print("skipped: an unprivileged user (only root can become one)")
        return []
    done = runner.run(*become, os.path.join(test_pmu.BIN, "pmrec"), "turbostat", "-q", "-S", "-i", ".5", "-n", "1")
    head, row = (done.stdout.splitlines() + ["", ""])[:2]
    values, wrong = dict(zip(head.split("\t"), row.split("\t"))), []
    # CorWatt is a matter of the model that the host's cpuid instruction tells.
    for column, metric in zip("Busy% TSC_MHz Avg_MHz Bzy_MHz PkgWatt RAMWatt".split(),
                              "busy tsc_mhz avg_mhz bzy_mhz pkgwatt ramwatt".split()):
        truth = hidden_truth(m, None)[metric][0]
        if abs(float(values.get(column) or "nan") - truth) <= .02 * truth:
            continue
        wrong.append(f"turbostat of a user: {column} is {values.get(column)}, not {truth}: {done.stdout} {done.stderr}")
    return wrong + ([f"turbostat of a user shows {head}"] if "instructions" in head else [])


def check_stat(runner, m):
    """Controllers of several dies are one line of stat, too."""
    path = os.path.join(runner.folder, "x.pmr")
    errors = record(runner, path, "-e", "hisi_ddrc/flux_rd/")
    lines = runner.run(os.path.join(test_pmu.BIN, "pmrep"), "stat", "-x;", path, preload=False).stdout.split("\n")[:-1]
    return [] if len(lines) == 1 and ";hisi_ddrc/flux_rd/;" in lines[0] else [f"stat: {lines} {errors}"]


def check_told(runner):
    """What a PMU cannot count, though it has a name for it, is said, and keeps nothing else away."""
    path = os.path.join(runner.folder, "x.pmr")
    errors = record(runner, path)
    info = runner.run(os.path.join(test_pmu.BIN, "pmrep"), "info", path, preload=False).stdout
    return [] if not errors and 'arm_dsu_3 has no term or event "event"' in info else [f"of arm_dsu_3 nothing is said: {errors} {info}"]


def check_part(runner, m, one, metrics):
    """A PMU that cannot be written in words, lacks the events of its kind, or cannot be opened: what all of its kind did is missing, and
    said; what those of another socket did is not."""
    wrong, path, at = [], os.path.join(runner.folder, "x.pmr"), os.path.join(runner.folder, "sys/bus/event_source/devices", one)
    doctor = lambda: runner.run(os.path.join(test_pmu.BIN, "pmrec"), "doctor").stdout
    gone = m.table.PMUS[one]["package"]
    for way in ("format", "events", "type", "cpumask"):
        if way in ("format", "events"):
            shutil.rmtree(os.path.join(at, way))
        else:
            with open(os.path.join(at, way), "w", encoding="utf-8") as f:
                f.write("9999\n" if way == "type" else "none\n")
        errors = record(runner, path)
        values = {**shown(runner, path, "--per-package"), **shown(runner, path, "--per-system")}
        for metric in metrics:
            for package in (None, *m.packages):
                value, truth = values.get((metric, package), "not there"), m.table.METRICS[metric](m, package)
                missing = package in (None, gone) or way == "cpumask"
                if isinstance(value, float) == missing or value == "not there" or not missing and abs(value - truth) > TOLERANCE * truth:
                    wrong.append(f"without {way} of {one}: {metric} of {package} is {value}, not {'missing' if missing else truth} {errors}")
        done = runner.run(os.path.join(test_pmu.BIN, "pmrep"), "show", "--strict", f"--show={metrics[0]}", path, preload=False)
        if done.returncode != 3 or f"{one}: not recorded" not in done.stderr:
            wrong.append(f"without {way} of {one}: --strict ends with {done.returncode}, and says {done.stderr}")
        if f"{one} cannot be counted, so sums are missing" not in doctor():
            wrong.append(f"without {way} of {one}: doctor says {doctor()}")
        m.write(runner.folder)
    return wrong


def check_nodes(runner, m):
    """Nothing says which controller of a split package is of which node: nodes have no bandwidth, not that of the whole package."""
    path = os.path.join(runner.folder, "x.pmr")
    errors = record(runner, path)
    text = runner.run(os.path.join(test_pmu.BIN, "pmrep"), "show", "--total", "--format=csv", "--per-node", "--show=mem.*,link.*,cycles",
                      path, preload=False).stdout
    rows = [r for r in csv.DictReader(io.StringIO(text)) if r["scope"] == "node"]
    nodes = {r["node"] for r in rows if r["metric"] == "cycles"}
    wrong = [r for r in rows if r["metric"] != "cycles" and r["value"]]
    return [f"nodes: {sorted(nodes)}, {wrong} {errors}"] if wrong or len(nodes) != len(set(m.nodes)) else []


def check_twins(runner, m):
    """PMUs of one name in two sockets are two rows everywhere."""
    path, base, wrong = *(os.path.join(runner.folder, f"{name}.pmr") for name in "xy"), []
    errors = record(runner, path) + record(runner, base)
    said = {how[0]: runner.run(os.path.join(test_pmu.BIN, "pmrep"), *how, path, preload=False).stdout
            for how in (("plot", "mem.read_bw", "--per-pmu"), ("html", "-o", "-"), ("diff", "--per-pmu", "--all", "--format=csv", base))}
    for cpu in m.first_cpus(m.table.PMUS["uncore_imc_0"]):
        place = f"uncore_imc_0 of package {m.cpus[cpu]} (CPU {cpu})"
        rate = m.rate_at("uncore_imc_0", "cas_count_read", cpu) * 64 / 1e9
        wrong += [] if f"{place}: min {rate:.2f}, mean {rate:.2f}, max {rate:.2f}" in said["plot"] else [f"plot: no {place} at {rate}: {said['plot'][:500]}"]
        wrong += [f"{command}: no {place} {errors}" for command in ("html", "diff") if place not in said[command]]
    return wrong


def check_events(runner, m):
    """An event of all controllers is one column with a rate, one of each on request; -C takes the sockets of its CPUs."""
    wrong, path, event = [], os.path.join(runner.folder, "x.pmr"), "uncore_imc/cas_count_read/"
    for cpus, packages in (None, m.packages), ("3", [1]), ("0,3", [0, 1]):
        errors = record(runner, path, "-e", event, *(["-C", cpus] if cpus else []))
        values = {**shown(runner, path, "--per-package"), **shown(runner, path, "--per-system")}
        truth = {p: m.sum("uncore_imc_", "cas_count_read", p) * 64 / 2**20 for p in packages}
        for package, rate in {**truth, None: sum(truth.values())}.items():
            value = values.get((event, package), "not there")
            if not isinstance(value, float) or abs(value - rate) > TOLERANCE * rate:
                wrong.append(f"-C {cpus}: {event} of {package} is {value}, not {rate} {errors}")
        wrong += [f"-C {cpus}: {m_} of {p} is shown" for m_, p in values if "/" in m_ and (m_ != event or p not in (None, *packages))]
    one = shown(runner, path, "--show=uncore_imc_1/*", "--per-system")
    if list(one) != [("uncore_imc_1/cas_count_read/", None)]:
        wrong.append(f"--show=uncore_imc_1/*: {one}")
    listed = subprocess.run([os.path.join(test_pmu.BIN, "pmrec"), "list", "events", f"--root={runner.folder}", "uncore_imc"], text=True,
                            capture_output=True, check=False).stdout
    # Those that have no names are folded, too.
    bare = subprocess.run([os.path.join(test_pmu.BIN, "pmrec"), "list", "events", f"--root={runner.folder}", "uncore_acme"], text=True,
                          capture_output=True, check=False).stdout
    if "uncore_imc_1/.../ to uncore_imc_3/.../" not in listed or listed.count("cas_count_read/") != 1 or "uncore_acme_1/.../ to uncore_acme_2/.../" not in bare:
        wrong.append(f"list events: {listed} {bare}")
    return wrong


def check_kinds(runner, m):
    """What of one kind of cores is not recorded, and why: nothing of the others of -C, one that is named, or all because none is online."""
    wrong, path = [], os.path.join(runner.folder, "x.pmr")
    offline, other = "its CPU was offline; try: with its CPUs online", "try: another CPU"
    for how, said, never in ((["-a"], [f"cpu_core/instructions/, .*{offline}", "cpu_core .* no CPU online"], "legacy-|not supported"),
                             (["-a", "-e", "instructions"], [f"cpu_core/instructions/.*{offline}"], "legacy-|cpu_atom/instr"),
                             (["-C", "2", "-e", "cpu_atom/instructions/"], [], "Not recorded.*instructions"),
                             (["-a", "-e", "cycles,cpu_atom/r3,cpu=0/"], [f"cpu_atom/r3,cpu=0/: .*{other}"], "not supported")):
        runner.run(os.path.join(test_pmu.BIN, "pmrec"), "-q", "--overwrite", "--sources=perf", "-i", "0", *how, "-o", path, "sleep", ".01")
        info = runner.run(os.path.join(test_pmu.BIN, "pmrep"), "info", path, preload=False).stdout
        wrong += [f"{how}: no {word} in {info}" for word in said if not re.search(word, info)]
        wrong += [f"{how}: {never} in {info}" for _ in range(1) if re.search(never, info)]
    return wrong


def check_masks(runner, m):
    """-C takes the PMUs of its packages though each has but one CPU in its mask, and one that is named wherever it is; what counts by other
    CPUs is said, once a kind."""
    wrong, path, first = [], os.path.join(runner.folder, "x.pmr"), m.table.METRICS["mem.bw"]
    event = lambda pmus: lambda m, package: m.sum(pmus, "event=0x1", package)
    for cpus, how, name, f, packages, said in (
            ("0", "amd_umc/event=1/", "amd_umc/event=1/", event("amd_umc_"), [0], None),
            ("0", None, "mem.bw", first, [0], None),
            ("1,3", "amd_umc/event=1/", "amd_umc/event=1/", event("amd_umc_"), [0, 1], "by CPU 0,2: amd_umc\n"),
            ("3", None, "mem.bw", first, [1], "by CPU 2: amd_df, amd_l3, amd_umc\n"),
            ("0", "amd_umc_23/event=1/", "amd_umc_23/event=0x1/", None, [1], "by CPU 2: amd_umc_23\n")):
        done = runner.run(os.path.join(test_pmu.BIN, "pmrec"), "--overwrite", "--sources=perf", "-a", "-C", cpus, "-i", "0",
                          *(["-e", how] if how else []), "-o", path, "sleep", ".1")
        values = shown(runner, path, "--per-package")
        if {p for n, p in values if n == name} != set(packages):
            wrong.append(f"-C {cpus} {how}: {values}")
        wrong += [f"-C {cpus} {how}: package {p}: {values[name, p]}" for p in packages
                  if f and abs(values[name, p] - f(m, p)) > TOLERANCE * f(m, p)]
        info = runner.run(os.path.join(test_pmu.BIN, "pmrep"), "info", path, preload=False).stdout
        for text in (done.stderr, info):
            if ("whole packages" in text) != bool(said) or (said or "") not in text or "counts more than" in text:
                wrong.append(f"-C {cpus} {how}: not {said}, but {text}")
    return wrong


def check_some(runner):
    """Reads of all controllers and writes of one: what all wrote is not known."""
    path = os.path.join(runner.folder, "x.pmr")
    errors = record(runner, path, "-e", "uncore_imc/cas_count_read/,uncore_imc_0/cas_count_write/")
    values = shown(runner, path, "--per-system", "--show=mem.*")
    # Whoever names one of them, with or without "uncore_", lacks no other.
    formula = os.path.join(runner.folder, "one.json")
    with open(formula, "w") as out:
        json.dump([{"MetricName": "one", "MetricExpr": "imc_0@cas_count_write@"}], out)
    values.update(shown(runner, path, "--per-system", f"--metrics-file={formula}", "--show=one"))
    good = isinstance(values.get(("one", None)), float) and isinstance(values.get(("mem.read_bw", None)), float) and values.get(("mem.write_bw", None)) == values.get(("mem.bw", None)) == "not-read"
    text = runner.run(os.path.join(test_pmu.BIN, "pmrep"), "show", "--total", "--per-pmu", "--show=mem.write_bw", "--format=csv", path, preload=False).stdout
    # A row of one controller lacks none of the others.
    good = good and {r["status"] for r in csv.DictReader(io.StringIO(text)) if r["scope"] == "pmu"} == {"ok"}
    return [] if good else [f"writes of one controller: {values} {text} {errors}"]


# Machine: what is recorded of it, and formulas by the PMUs, or those whose names begin so, that they mean, and the event.
NAMED = {"sapphirerapids": ("uncore_imc/cas_count_read/,uncore_imc_[01]/cas_count_write/",
                            {"imc_1@cas_count_write@": (("uncore_imc_1",), "cas_count_write"), "cas_count_write": None,
                             "cas_count_read": (("uncore_imc_",), "cas_count_read")}),
         "altra": ("arm_dmc620/clkdiv2_rdwr/", {f: (("arm_dmc620_",), "clkdiv2_rdwr") for f in ("arm_dmc620@clkdiv2_rdwr@", "clkdiv2_rdwr")}),
         "kunpeng920": ("hisi_sccl1_ddrc/flux_rd/", {f: (("hisi_sccl1_ddrc",), "flux_rd") for f in ("hisi_ddrc@flux_rd@", "flux_rd")}
                        | {"hisi_sccl1_ddrc2@flux_rd@": (("hisi_sccl1_ddrc2",), "flux_rd")})}


def check_named(runner, m, asked, formulas):
    """What a formula means by a PMU, a kind of them, or an event alone."""
    path, file = (os.path.join(runner.folder, name) for name in ("x.pmr", "named.json"))
    with open(file, "w") as out:
        json.dump([{"MetricName": f"n{i}", "MetricExpr": f"rate({f})"} for i, f in enumerate(formulas)], out)
    errors, wrong = record(runner, path, "-e", asked), []
    values = shown(runner, path, "--per-system", f"--metrics-file={file}", "--show=" + ",".join(f"n{i}" for i in range(len(formulas))))
    for i, (formula, meant) in enumerate(formulas.items()):
        value = values.get((f"n{i}", None), "not there")
        truth = m.sum(*meant) if meant else "not-read"
        if value != truth and (not meant or not isinstance(value, float) or abs(value - truth) > TOLERANCE * truth):
            wrong.append(f"{formula} of {asked} is {value}, not {truth} {errors}")
    return wrong


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    names = sys.argv[1:] or sorted(os.path.basename(p)[:-3] for p in glob.glob(f"{here}/*.py") if "\nMETRICS = " in open(p).read())
    wrong = []
    for name in names:
        m = machine.Machine(name)
        with tempfile.TemporaryDirectory(prefix="pm-pmu-") as folder:
            m.write(folder)
            runner = test_pmu.Runner(folder, m)
            if name == names[0] and runner.run("true").returncode:
                test_pmu.skip("libfakepmu.so cannot be loaded")
            wrong += check(name, runner, m)
            if name == "kunpeng920":
                wrong += check_stat(runner, m)
            if name == "zen5":
                wrong += check_masks(runner, m)
            if name == "ecores":
                wrong += check_kinds(runner, m)
            if name == "oddarm":
                wrong += check_told(runner) + check_part(runner, m, "ampere_mcu_pmu_4", sorted(k for k, f in m.table.METRICS.items() if f))
            if name == "emeraldsnc" and os.uname().machine == "x86_64":
                wrong += check_nodes(runner, m)
            if name == "hiddenspr":
                wrong += check_hidden(runner, m) + check_ways(runner, m) + check_user(runner, m) + check_forbidden(runner, m)
            if name in NAMED:
                wrong += check_named(runner, m, *NAMED[name])
            if hasattr(m.table, "COLUMNS"):
                wrong += check_columns(runner, m)
            if name in DOCTOR:
                wrong += check_doctor(runner, m, DOCTOR[name])
            if name == "sapphirerapids":
                wrong += check_events(runner, m) + check_twins(runner, m) + check_some(runner)
    for line in wrong:
        print("wrong:", line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
