#!/usr/bin/env python3
"""test_turbostat.py MACHINE: turbostat and pmrec side by side on the same emulated hardware, column by column.

Both are compared with what the machine was programmed to do: medians of 5 intervals of 1 s and of 50 of 20 ms.
"""
import collections
import csv
import io
import os
import shutil
import statistics
import subprocess
import sys

import machines
import patch_cpuid
import rig

# Columns of turbostat: level, metric of pmrep, digits that turbostat prints.
COLUMNS = {
    "Avg_MHz": ("cpu", "avg_mhz", 0), "Busy%": ("cpu", "busy", 2), "Bzy_MHz": ("cpu", "bzy_mhz", 0),
    "TSC_MHz": ("cpu", "tsc_mhz", 0), "SMI": ("cpu", "smi", 0), "CPU%c1": ("cpu", "cpu.c1", 2),
    "POLL%": ("cpu", "idle.poll.residency", 2), "C1%": ("cpu", "idle.c1.residency", 2),
    "C6%": ("cpu", "idle.c6.residency", 2),
    "CPU%c3": ("core", "cpu.c3", 2), "CPU%c6": ("core", "cpu.c6", 2), "CPU%c7": ("core", "cpu.c7", 2),
    "CoreTmp": ("core", "core.temp", 0),
    "PkgTmp": ("package", "package.temp", 0), "PkgWatt": ("package", "pkgwatt", 2),
    "CorWatt": ("package", "corwatt", 2),
    "GFXWatt": ("package", "gfxwatt", 2), "RAMWatt": ("package", "ramwatt", 2),
    "PKG_%": ("package", "package.throttled", 2), "RAM_%": ("package", "memory.throttled", 2),
    **{f"Pkg%pc{n}": ("package", f"package.c{n}", 2) for n in (2, 3, 6, 7, 8, 9)},
    "Pk%pc10": ("package", "package.c10", 2),
}
# MPERF runs at the base frequency of CPUID 0x16, the TSC and the residencies at that of 0x15. turbostat corrects the
# residencies, too, and is 0.3 % off there.
TWEAKED = {0xA7, 0x97}
# Columns of turbostat 2022 that newer ones know the model not to have; pmrep shows them with --enable only.
HIDDEN = {(0x97, "Pkg%pc7"), (0x97, "Pkg%pc9")}
# How far medians of either side may differ by chance: the two take turns on the same emulated machine.
NOISE = {1: .0001, .02: .004}
# Files have no such excuse: turbostat reads the TSC by an instruction, pmrec through the file system of the rig.
NOISE_OF_FILES = {1: .0001, .02: .001}
# Debian's turbostat does not start on these, which is checked.
CANNOT = {"guest_refused": "it ends with the first register that it cannot read",
          "guest_zeros": "it starts over for ever while APERF stands still"}


def truth_of(machine, column, cpu, interval):
    """What the column should be in the row of a CPU that stands for the place; None: the machine does not say."""
    rate = lambda name, at=cpu: machine.truth.get((f"msr.{name}", at), (None, None))[1]
    hz = machine.tsc_hz
    tweak = 1e8 * machine.base_ratio / machine.tsc_hz if machine.spec["model"] in TWEAKED else 1
    share = lambda name, at=cpu: 100 * rate(name, at) if rate(name, at) is not None else None
    unit = 2**-16 if machine.amd else 2**-14
    energy = {"PkgWatt": "amd_pkg_energy" if machine.amd else "pkg_energy_status", "CorWatt": "pp0_energy_status",
              "GFXWatt": "pp1_energy_status", "RAMWatt": "dram_energy_status"}
    if column in energy:
        value = rate(energy[column])
        fixed = column == "RAMWatt" and machine.spec["model"] in machines.FIXED_DRAM
        return None if value is None else value * (15.3e-6 if fixed else unit)
    if column.startswith("Pk"):
        if column == "PkgTmp":
            return None if machine.amd else 100 - (rate("package_therm_status") >> 16 & 0x7F)
        return share(f"pkg_c{column.split('pc')[1]}_res")
    if column in ("PKG_%", "RAM_%"):
        value = rate({"PKG_%": "pkg_perf_status", "RAM_%": "dram_perf_status"}[column])
        return None if value is None else 100 * value / 1024
    if column == "CPU%c6" and machine.cpus[cpu]["big"] is False:
        # Efficiency cores count the time in C7 as time in C6, too; turbostat takes it away.
        return share("core_c6_res") - share("core_c7_res")
    if column.startswith("CPU%c") and column != "CPU%c1":
        return share(f"core_{column[4:]}_res")
    if column == "CPU%c1":
        if rate("core_c1_res") is not None:
            return share("core_c1_res")
        if machine.amd:
            return None
        core = machine.members(machine.cpus[cpu], "package", "core")[0]
        return max(0, 100 - share("mperf") / tweak - sum(share(f"core_c{n}_res", core) or 0 for n in (3, 6, 7)))
    if column == "CoreTmp":
        return None if machine.amd else 100 - (rate("therm_status") >> 16 & 0x7F)
    if column == "SMI":
        return rate("smi_count") and rate("smi_count") * interval
    base = (machine.once[0xCE] >> 8 & 0xFF) * 100e6 if 0xCE in machine.once else hz
    return {"Avg_MHz": hz * rate("aperf") / 1e6, "Busy%": share("mperf") / tweak, "TSC_MHz": hz / 1e6,
            "Bzy_MHz": base / 1e6 * rate("aperf") / rate("mperf"), "POLL%": .1, "C1%": 5.0, "C6%": 30.0}[column]


def one_count(machine, column, cpu, interval):
    """What one count of the source makes in a column that counts coarsely."""
    if column in ("SMI", "PkgTmp", "CoreTmp"):
        return 1
    if column in ("PKG_%", "RAM_%"):
        return 100 / 1024 / interval
    if column.endswith("%") and column != "Busy%":    # microseconds of cpuidle
        return 1e-4 / interval
    if column == "CPU%c1" and ("msr.core_c1_res", cpu) not in machine.truth:
        # What is left over of 100 % carries the scatter of all that was taken away.
        return .02 if interval >= 1 else .5
    return 0


def read_turbostat(text):
    """{(column, cpu of the row): [values]}"""
    values, head = collections.defaultdict(list), []
    for line in text.splitlines():
        cells = line.split("\t")
        if "CPU" in cells and "Busy%" in cells:
            head = cells
        elif head and cells[0].strip() != "-" and len(cells) > 3:
            row = dict(zip(head, cells))
            if not row["CPU"].isdigit():
                continue
            for column, cell in row.items():
                try:
                    values[column, int(row["CPU"])].append(float(cell))
                except ValueError:
                    pass
    return values


def read_pmrep(machine, path):
    values = collections.defaultdict(list)
    metrics = {(level, metric): column for column, (level, metric, _) in COLUMNS.items()}
    keys = {"cpu": ("cpu",), "core": ("package", "core"), "package": ("package",)}
    for level in ("cpu", "core", "package"):
        text = subprocess.check_output([os.path.join(rig.BIN, "pmrep"), "show", "--format=csv", "--all",
                                        f"--per-{level}", path], text=True)
        for row in csv.DictReader(io.StringIO(text)):
            column = metrics.get((level, row["metric"]))
            if not column or row["status"] not in ("ok", "doubtful") or row["scope"] != level:
                continue
            cpu = next(c["cpu"] for c in machine.cpus if all(str(c[k]) == row[k] for k in keys[level] if row[k]))
            values[column, cpu].append(float(row["value"]))
    return values


def run_turbostat(mounted, turbostat, interval, n, timeout=120):
    here = os.path.dirname(os.path.abspath(__file__))
    return subprocess.run([os.path.join(here, "inside"), mounted.root, os.path.join(mounted.folder, "profile"),
                           os.path.join(rig.TESTS, "libcpushim.so"), turbostat, "--quiet", "-i", str(interval),
                           "-n", str(n)], capture_output=True, text=True, timeout=timeout)


def side_by_side(mounted, turbostat, interval, n):
    pmrec = subprocess.Popen(mounted.command("-i", str(interval), "-n", str(n)), stderr=subprocess.DEVNULL)
    done = run_turbostat(mounted, turbostat, interval, n)
    if pmrec.wait(timeout=120) or done.returncode:
        raise AssertionError(f"turbostat: {done.returncode} {done.stderr[-500:]}, pmrec: {pmrec.returncode}")
    return read_turbostat(done.stdout), read_pmrep(mounted.machine, mounted.path())


def scatter(values):
    """How far half of the values are from their median."""
    middle = statistics.median(values)
    return statistics.median(abs(value - middle) for value in values)


def compare(machine, theirs, ours, interval):
    """Lines of what is wrong: at 1 s more than 0.1 % or one count off, package watts at 20 ms more than 1 % off, or
    anything further off than turbostat, as far as the digits that it prints tell."""
    wrong, compared, worst = [], 0, {"ours": 0, "theirs": 0}
    for (column, cpu), values in sorted(theirs.items()):
        if column not in COLUMNS or (machine.spec["model"], column) in HIDDEN:
            continue
        truth = truth_of(machine, column, cpu, interval)
        if truth is None:
            continue
        if (column, cpu) not in ours:
            wrong.append(f"{column} of CPU {cpu} is not in our report")
            continue
        compared += 1
        they, we = statistics.median(values), statistics.median(ours[column, cpu])
        count = one_count(machine, column, cpu, interval)
        theirs_off, ours_off = abs(they - truth), abs(we - truth)
        if truth and not count:
            worst["ours"] = max(worst["ours"], 100 * ours_off / truth)
            worst["theirs"] = max(worst["theirs"], 100 * theirs_off / truth)
        rounding = .5 * 10**-COLUMNS[column][2]
        noise = (NOISE_OF_FILES if COLUMNS[column][1].startswith("idle.") else NOISE)[interval] * truth
        # What the machine below does to the two readings of an interval scatters the intervals of either side, too.
        noise += max(scatter(values), scatter(ours[column, cpu]))
        limit = .001 * truth if interval >= 1 else .01 * truth if column == "PkgWatt" else None
        if limit is not None and ours_off > max(limit, count):
            wrong.append(f"{column} of CPU {cpu} at {interval} s is {we}; truth {truth}, turbostat {they}")
        elif ours_off > max(theirs_off + rounding, count, noise):
            wrong.append(f"{column} of CPU {cpu} at {interval} s is {we}; turbostat's {they} is closer to {truth}")
    if compared < 20:
        wrong.append(f"only {compared} cells were compared")
    print(f"{machine.name} at {interval} s: {compared} cells, from the truth at most {worst['ours']:.3f} %, "
          f"turbostat {worst['theirs']:.3f} %")
    return wrong


def main():
    rig.need()
    original = shutil.which("turbostat", path=os.environ.get("PATH", "") + ":/usr/sbin")
    if not original or not shutil.which("objdump"):
        rig.skip("no turbostat (package linux-cpupower) or no objdump")
    if subprocess.run(["unshare", "-m", "--propagation", "private", "true"], capture_output=True).returncode:
        rig.skip("no mount namespace of its own can be made here")
    machine, wrong = machines.build(sys.argv[1]), []
    with rig.Mounted(machine) as mounted:
        turbostat = os.path.join(mounted.folder, "turbostat")
        patch_cpuid.patch(original, turbostat)
        if machine.name in CANNOT:
            try:
                done = run_turbostat(mounted, turbostat, .2, 2, 10)
            except subprocess.TimeoutExpired:
                rig.skip(f"turbostat cannot run on {machine.name}: {CANNOT[machine.name]}")
            if done.returncode:
                why = f"{CANNOT[machine.name]}: {done.stderr.strip()}"
                rig.skip(f"turbostat cannot run on {machine.name}: {why}")
            print(f"wrong: turbostat can run on {machine.name}")
            return 1
        for interval, n in ((1, 5), (.02, 50)):
            # A neighbour of this virtual machine can cost either side more than the allowance: what is wrong must be
            # wrong five times.
            for attempt in range(5):
                found = compare(machine, *side_by_side(mounted, turbostat, interval, n), interval)
                if not found:
                    break
                print(f"attempt {attempt + 1}:", *found, sep="\n  ")
            wrong += found
    for line in wrong:
        print("wrong:", line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
