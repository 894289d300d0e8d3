#!/usr/bin/env python3
"""What --add and --TCC are told, from the command line to the report; the CPU that stands for a package leaves."""
import collections
import csv
import errno
import io
import os
import statistics
import subprocess
import sys
import time

import machines
import rig

ADDED = ["msr0x199,u32,raw,PRF_CTRL", "msr0x3fd,core,percent,C6P", "msr0x611,u32,package,PkgE", "msr0x34,u32",
         "msr0x7fff,cpu,None", "/sys/devices/system/cpu/cpu0/cpuidle/state2/time,usec,percent,C6T",
         "/sys/devices/system/cpu/cpu0/cpuidle/state1/time,package,C1T",
         "/sys/devices/system/cpu/intel_uncore_frequency/package_01_die_00/current_freq_khz,average,UncK",
         "/sys/devices/system/cpu/intel_uncore_frequency/package_01_die_00/current_freq_khz,average,package,UncP",
         "/sys/no/such/file,Lost"]
INTERVAL_S = .1


def cells(path, *options):
    """{(display name, scope, place): [(value or None, status)]} of the counters that were added."""
    text = subprocess.run([os.path.join(rig.BIN, "pmrep"), path, "--quiet", "--format=csv", "--all", *options],
                          capture_output=True, text=True, check=True, timeout=120).stdout
    out = collections.defaultdict(list)
    for r in csv.DictReader(io.StringIO(text)):
        place = {"cpu": r["cpu"], "core": f"{r['package']}.{r['core']}", "package": r["package"]}.get(r["scope"], "")
        out[r["metric"], r["scope"], place].append((float(r["value"]) if r["value"] else None, r["status"]))
    return out


def expected(machine):
    """{(metric, scope, place): value an interval}"""
    want = {}
    for c in machine.cpus[:4]:
        i = c["cpu"]
        want[("add.prf_ctrl", "cpu", f"{i}")] = 0x2A00
        want[("add.m0x34", "cpu", f"{i}")] = None
        want[("add.c6t", "cpu", f"{i}")] = 30
        want[("add.unck", "cpu", f"{i}")] = 2300000
    for package in (0, 1):
        want[("add.pkge", "package", f"{package}")] = 35.5 * (package + 1) * 2**14 * INTERVAL_S
        want[("add.c1t", "package", f"{package}")] = 50000 * INTERVAL_S
        want[("add.uncp", "package", f"{package}")] = 2300000
        for core in (0, 1):
            want[("add.c6p", "core", f"{package}.{core}")] = 5.0 * (2 * package + core + 1)
    return want


# Columns of the report, from what is recorded anyway, beside columns that the recorder was told: the register, then how.
LATER = ["msr0x611,u32,package,raw", "msr0x611,package,delta", "msr0x3fd,core,percent", "msr0x19c,package,raw",
         "msr0x10,raw", "msr0xe8,package", "msr0xe8,cpu,percent",
         "/sys/devices/system/cpu/cpu0/cpuidle/state1/time,core"]


def later(m):
    """What is wrong with columns that are added to the recording: each has to say what the recorded one says."""
    wrong = []
    subprocess.run(m.command("--sources=msr", "-i", "0.1", "-n", "20",
                             *[f"--add={text},THEN{i}" for i, text in enumerate(LATER)]), check=True, timeout=60)
    seen = cells(m.path(), "--show=add", *[f"--add={text},NOW{i}" for i, text in enumerate(LATER)])
    for i, text in enumerate(LATER):
        then, now = ({key[1:]: [v for v, _ in values if v is not None] for key, values in seen.items()
                      if key[0] == f"add.{when}{i}" and any(v is not None for v, _ in values)} for when in ("then", "now"))
        if not then or set(then) != set(now):
            wrong.append(f"{text}: rows {sorted(then)} when recording, {sorted(now)} later")
        for key in set(then) & set(now):
            a, b = statistics.median(then[key]), statistics.median(now[key])
            if abs(a - b) > .02 * abs(a):
                wrong.append(f"{text}: {key} is {a} when recorded so, {b} later")
    for text, answer in (("msr0xce,raw", "read only when the recording began"), ("msr0x123,raw", "--add=msr0x123,raw"), ("/sys/none,NONE", "--add=/sys/none")):
        said = subprocess.run([os.path.join(rig.BIN, "pmrep"), m.path(), f"--add={text}"], capture_output=True, text=True, timeout=60)
        if said.returncode != 2 or answer not in said.stderr:
            wrong.append(f"--add={text} ends with {said.returncode}: {said.stderr}")
    return wrong


def main():
    rig.need()
    machine, wrong = machines.build("skylakex"), []
    with rig.Mounted(machine) as m:
        process = subprocess.Popen(m.command("--sources=msr", "-i", f"{INTERVAL_S}", "-n", "40", "--TCC=90",
                                             *[f"--add={text}" for text in ADDED]), stderr=subprocess.PIPE, text=True)
        time.sleep(1.5)
        m.control(f"fail * 4 {errno.ENXIO}", "file sys/devices/system/cpu/online 0-3,5-7\\n")
        _, errors = process.communicate(timeout=60)
        if process.returncode:
            print(f"wrong: pmrec ended with {process.returncode}: {errors}")
            return 1
        seen = cells(m.path())
        temperature = seen["core.temp", "core", "0.0"]
        for key, value in expected(machine).items():
            numbers = [v for v, s in seen[key] if s in ("ok", "partial", "doubtful")]
            # The file of a CPU goes with it; a register of a package is read on another CPU.
            if len(numbers) < (8 if key == ("add.c1t", "package", "1") else 20):
                wrong.append(f"{key} has {len(numbers)} numbers: {seen[key]}")
            elif value is not None and abs(statistics.median(numbers) - value) > .01 * value:
                wrong.append(f"{key} is {statistics.median(numbers)}, not {value}")
        if {s for _, s in seen["add.c1t", "package", "1"][-8:]} != {"offline"}:
            wrong.append(f"the file of CPU 4, which went: {seen['add.c1t', 'package', '1']}")
        refused = {p["what"]: p["reason"] for p in rig.Recording(m.path()).probes if p["source"] == "add"}
        if refused != {"None": "errno-5", "Lost": "not-supported"}:
            wrong.append(f"what is not there: {refused}")
        for name, reason in (("add.none", "errno-5"), ("add.lost", "not-supported")):
            if set(seen[name, "system", ""]) != {(None, reason)} or len(seen[name, "system", ""]) < 20:
                wrong.append(f"{name}, which cannot be read: {seen[name, 'system', '']}")
        if {v for v, s in temperature if s in ("ok", "doubtful")} != {90 - 55}:
            wrong.append(f"with --TCC=90 the core has {temperature} C")
        wrong += later(m)
        by_instance = {key for key in seen if key[0] == "add.pkge" and key[1] == "package"}
        if len(by_instance) != 2:
            wrong.append(f"packages of add.pkge: {by_instance}")
    for line in wrong:
        print("wrong:", line[:500])
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
