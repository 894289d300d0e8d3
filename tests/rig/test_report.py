#!/usr/bin/env python3
"""test_report.py MACHINE: turbostat's columns of a recording of an emulated machine, against what it was programmed
to do. The formulas stand here a second time."""
import csv
import io
import os
import subprocess
import sys

import machines
import rig

TOLERANCE = 0.002
SECONDS = 3
ENERGY, TIME = 2**-14, 2**-10    # of rapl_power_unit 0xa0e03, which all Intel machines have
PERCENT = {"core_c1_res": "cpu.c1", "core_c3_res": "cpu.c3", "core_c6_res": "cpu.c6", "core_c7_res": "cpu.c7",
           "module_c6_res": "module.c6", "weighted_core_c0": "package.c0.total", "any_core_c0": "package.c0.any",
           "any_gfxe_c0": "package.c0.gfx", "core_gfxe_overlap_c0": "package.c0.both", "pkg_c2_res": "package.c2",
           "pkg_c3_res": "package.c3", "pkg_c6_res": "package.c6", "pkg_c7_res": "package.c7",
           "pkg_c8_res": "package.c8", "pkg_c9_res": "package.c9", "pkg_c10_res": "package.c10"}
WATTS = {"pkg_energy_status": "pkgwatt", "pp0_energy_status": "corwatt", "pp1_energy_status": "gfxwatt",
         "dram_energy_status": "ramwatt", "platform_energy_status": "syswatt", "amd_pkg_energy": "pkgwatt",
         "amd_core_energy": "corwatt"}
HELD_BACK = {"pkg_perf_status": "package.throttled", "dram_perf_status": "memory.throttled"}
SYSTEM = {"syswatt", "graphics.rc6", "graphics.mhz", "graphics.mhz.actual", "idle.cpus", "idle.system"}
BELOW_100 = {"therm_status": "core.temp", "package_therm_status": "package.temp"}
TWEAKED = {"rocketlake", "hybrid"}    # MPERF runs at the base frequency, which the TSC hits only nearly


def unit_of(machine, counter):
    if counter.startswith("amd_"):
        return 2.0**-(machine.once[0xC0010299] >> 8 & 31)
    if counter == "dram_energy_status" and machine.spec["model"] in machines.FIXED_DRAM:
        return 15.3e-6
    return 1 if counter == "platform_energy_status" and machine.spec.get("whole_joules") else ENERGY


def expected(machine):
    """{(metric, cpu): value}, where a place goes by its first CPU."""
    truth, want = machine.truth, {}
    for (name, cpu), (kind, rate) in truth.items():
        name = name.removeprefix("msr.")
        if name in PERCENT:
            own = truth["msr.core_c7_res", cpu][1] if name == "core_c6_res" and machine.cpus[cpu]["big"] is False else 0
            want[PERCENT[name], cpu] = 100 * (rate - own)
        elif name in WATTS:
            want[WATTS[name], cpu] = rate * unit_of(machine, name)
        elif name in HELD_BACK:
            want[HELD_BACK[name], cpu] = 100 * rate * TIME
        elif name in BELOW_100:
            want[BELOW_100[name], cpu] = 100 - (rate >> 16 & 127)
        elif name == "mperf":
            want["busy", cpu] = 100 * rate / (1e8 * machine.base_ratio / machine.tsc_hz
                                              if machine.name in TWEAKED else 1)
    if machine.spec.get("gfx"):
        # Programmed in machines.py: 900 ms a second asleep, and so on.
        want |= {("graphics.rc6", 0): 90, ("graphics.mhz", 0): 350, ("graphics.mhz.actual", 0): 300,
                 ("idle.cpus", 0): 25, ("idle.system", 0): 12.5}
    if not machine.amd:
        want |= {("uncore.mhz", c["cpu"]): 2200 + 100 * c["package"] for c in machine.leaders("package")}
    return want


def columns(path, *options):
    text = subprocess.run([os.path.join(rig.BIN, "pmrep"), path, "--quiet", "--total", "--format=csv", *options],
                          capture_output=True, text=True, check=True, timeout=120).stdout
    return list(csv.DictReader(io.StringIO(text)))


def check(machine, rows):
    first, wrong, seen = {}, [], 0
    for r in sorted((r for r in rows if r["scope"] == "cpu"), key=lambda r: -int(r["cpu"])):
        for scope, place in (("core", (r["package"], r["core"])), ("package", (r["package"],)),
                             ("cluster", (r["package"], r["cluster"]))):
            first[scope, place] = int(r["cpu"])
    want = expected(machine)
    for r in rows:
        place = {"cpu": None, "core": (r["package"], r["core"]), "package": (r["package"],),
                 "cluster": (r["package"], r["cluster"])}.get(r["scope"], ())
        cpu = 0 if r["scope"] == "system" else int(r["cpu"]) if place is None else first.get((r["scope"], place))
        if r["scope"] == "system" and r["metric"] not in SYSTEM:
            continue
        truth = want.pop((r["metric"], cpu), None)
        if truth is None:
            continue
        seen += 1
        # The counters of power limits run so slowly that one count shows.
        slack = 100 * TIME / SECONDS if r["metric"] in HELD_BACK.values() else .005
        if r["status"] != "ok" or abs(float(r["value"]) - truth) > TOLERANCE * truth + slack:
            wrong.append(f"{r['metric']} of {r['scope']} with CPU {cpu} is {r['value']} ({r['status']}), not {truth}")
    wrong += [f"{metric} of CPU {cpu} has no row" for (metric, cpu), truth in want.items() if truth is not None]
    return wrong if seen else wrong + ["nothing could be compared"]


def check_lies(rows):
    """A hypervisor that answers 0 to all: no register gives a number but the TSC."""
    return [f"{r['metric']} is {r['value']} ({r['status']})" for r in rows
            if r["status"] == "ok" and r["metric"] not in ("tsc_mhz", "uncore.mhz")]


def check_text(path):
    """TABs, turbostat's heads in its order, one line a CPU and one for the machine."""
    done = subprocess.run([os.path.join(rig.BIN, "pmrep"), path, "-q", "--total", "--format=turbostat"],
                          capture_output=True, text=True, check=True, timeout=120)
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    heads = ["CPU", "Avg_MHz", "Busy%", "Bzy_MHz", "TSC_MHz", "SMI", "CPU%c1", "CPU%c3", "CPU%c6", "CPU%c7", "CoreTmp",
             "PkgTmp", "Pkg%pc2", "Pkg%pc3", "Pkg%pc6", "PkgWatt", "CorWatt", "GFXWatt", "RAMWatt", "PKG_%", "RAM_%"]
    places = [lines[0].index(h) for h in heads if h in lines[0]]
    wrong = [] if places == sorted(places) else [f"the heads are {lines[0]}"]
    return wrong + [f"a line of {len(line)} cells" for line in lines if len(line) > len(lines[0])]


def main(name):
    rig.need()
    machine = machines.build(name)
    with rig.Mounted(machine) as m:
        sources = ["msr"] + ["gfx", "lpi"] * bool(machine.spec.get("gfx")) + ["uncorefreq"] * (not machine.amd)
        m.record("--sources=" + ",".join(sources), "-i", "100ms", "-n", str(10 * SECONDS))
        if machine.spec.get("unknown") == "zero":
            wrong = check_lies(columns(m.path()))
        elif not [n for n, _ in machine.truth if n == "msr.mperf"]:
            wrong = []
        else:
            wrong = check(machine, columns(m.path(), "--enable=all")) + check_text(m.path())
    for line in wrong[:40]:
        print(line)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
