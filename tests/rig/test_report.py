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
SYSTEM = {"syswatt", "sys_j", "graphics.rc6", "graphics.mhz", "graphics.mhz.actual", "idle.cpus", "idle.system",
          "media.mc6", "media.mhz", "media.mhz.actual"}
BELOW_100 = {"therm_status": "core.temp", "package_therm_status": "package.temp"}
JOULES = {"pkgwatt": "pkg_j", "corwatt": "cor_j", "gfxwatt": "gfx_j", "ramwatt": "ram_j", "syswatt": "sys_j"}
# Things counted, per second, in every CPU i: as machines.py programs the files of cpuidle and interrupts.
COUNTS = {"irq.count": lambda i: 100 * (i + 1) + 1, "nmi": lambda i: 1,
          **{f"idle.{state}.requests": lambda i, n=n: n for state, n in (("poll", 10), ("c1", 100), ("c6", 20))},
          **{f"idle.{state}.{way}": lambda i, n=times * n: n for way, times in (("above", 3), ("below", 1))
             for state, n in (("poll", 0), ("c1", 1), ("c6", 2))}}
RESIDENCIES = {"idle.poll.residency": .1, "idle.c1.residency": 5, "idle.c6.residency": 30}
# What the machine has of what its places have.
SUMS = set(COUNTS) | set(WATTS.values()) | set(JOULES.values()) | {"smi"} - {"syswatt", "sys_j"}
HIGHEST = {"core.temp", "package.temp"}
MEANS = {"busy", "avg_mhz", "tsc_mhz", "cpu.c1", "cpu.c3", "cpu.c6", "cpu.c7", "module.c6", *RESIDENCIES,
         *(f"package.c{n}" for n in (2, 3, 6, 7, 8, 9, 10))}
TWEAKED = {"rocketlake", "hybrid"}    # MPERF runs at the base frequency, which the TSC hits only nearly


class PerSecond(float):
    """A rate whose column counts: the interval decides how far it gets."""


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
            # Efficiency cores count what is in C7 in C6, too.
            small = name == "core_c6_res" and machine.cpus[cpu]["big"] is False
            want[PERCENT[name], cpu] = 100 * (rate - (truth["msr.core_c7_res", cpu][1] if small else 0))
        elif name in WATTS:
            want[WATTS[name], cpu] = rate * unit_of(machine, name)
            want[JOULES[WATTS[name]], cpu] = PerSecond(rate * unit_of(machine, name))
        elif name in HELD_BACK:
            want[HELD_BACK[name], cpu] = 100 * rate * TIME
        elif name in BELOW_100:
            want[BELOW_100[name], cpu] = 100 - (rate >> 16 & 127)
        elif name == "mperf":
            want["busy", cpu] = 100 * rate / (1e8 * machine.base_ratio / machine.tsc_hz
                                              if machine.name in TWEAKED else 1)
        elif name == "aperf":
            share = rate / truth["msr.mperf", cpu][1]
            base = (machine.once[0xCE] >> 8 & 0xFF) * 100 if 0xCE in machine.once else machine.tsc_hz / 1e6
            want |= {("avg_mhz", cpu): machine.tsc_hz / 1e6 * rate, ("bzy_mhz", cpu): base * share}
        elif name == "tsc":
            want["tsc_mhz", cpu] = machine.tsc_hz / 1e6 * rate
        elif name == "smi_count":
            want["smi", cpu] = PerSecond(rate)
    for c in machine.cpus:
        want |= {(name, c["cpu"]): PerSecond(count(c["cpu"])) for name, count in COUNTS.items()}
        want |= {(name, c["cpu"]): percent for name, percent in RESIDENCIES.items()}
    for c in machine.leaders("package", "core"):
        want["throttled.core", c["cpu"]] = PerSecond(2)
    if machine.spec.get("gfx"):
        # Programmed in machines.py: 900 ms a second asleep, and so on.
        want |= {("graphics.rc6", 0): 90, ("graphics.mhz", 0): 350, ("graphics.mhz.actual", 0): 300,
                 ("media.mc6", 0): 45, ("media.mhz", 0): 650, ("media.mhz.actual", 0): 600,
                 ("idle.cpus", 0): 25, ("idle.system", 0): 12.5}
    want |= {(f"uncore.cluster.{n}.{n % 2}.mhz", 0): 1800 + 50 * n
             for n in range(machine.spec.get("uncore_domains", 0))}
    if not machine.amd:
        want |= {("uncore.mhz", c["cpu"]): 2200 + 100 * c["package"] for c in machine.leaders("package")}
    return want


def of_all(metric, want):
    """What the line of the whole machine should say; None: that is a question of its own."""
    values = [v for (name, _), v in want.items() if name == metric]
    if not values or metric not in SUMS | HIGHEST | MEANS:
        return None
    total = max(values) if metric in HIGHEST else sum(values) / (len(values) if metric in MEANS else 1)
    return type(values[0])(total)


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
    want, met = expected(machine), set()
    for r in rows:
        place = {"cpu": None, "core": (r["package"], r["core"]), "package": (r["package"],),
                 "cluster": (r["package"], r["cluster"])}.get(r["scope"], ())
        cpu = 0 if r["scope"] == "system" else int(r["cpu"]) if place is None else first.get((r["scope"], place))
        if r["scope"] == "system" and r["metric"] not in SYSTEM:
            truth = of_all(r["metric"], want)
        else:
            truth = want.get((r["metric"], cpu))
            met.add((r["metric"], cpu))
        if truth is None:
            continue
        seen += 1
        # The counters of power limits run so slowly that one count shows.
        slack = 100 * TIME / SECONDS if r["metric"] in HELD_BACK.values() else .005
        if isinstance(truth, PerSecond):
            # The interval of the report is not to the millisecond that of each file that was read.
            truth *= int(r["duration_ns"]) / 1e9
            slack = 1.5 * len(machine.cpus)**.5 + .02 * truth
        if r["status"] not in ("ok", "doubtful") or abs(float(r["value"]) - truth) > TOLERANCE * truth + slack:
            wrong.append(f"{r['metric']} of {r['scope']} with CPU {cpu} is {r['value']} ({r['status']}), not {truth}")
    wrong += [f"{metric} of CPU {cpu} has no row" for metric, cpu in want if (metric, cpu) not in met]
    return wrong if seen else wrong + ["nothing could be compared"]


def check_lies(rows):
    """A hypervisor that answers 0 to all: no register gives a number but the TSC."""
    return [f"{r['metric']} is {r['value']} ({r['status']})" for r in rows
            if r["status"] in ("ok", "doubtful") and r["metric"] not in ("tsc_mhz", "uncore.mhz")]


def check_text(path):
    """TABs, turbostat's heads in its order, one line a CPU and one for the machine."""
    done = subprocess.run([os.path.join(rig.BIN, "pmrep"), path, "-q", "--total", "--format=turbostat"],
                          capture_output=True, text=True, check=True, timeout=120)
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    # Cores that have watts of their own have them before the package.
    heads = ["CPU", "Avg_MHz", "Busy%", "Bzy_MHz", "TSC_MHz", "SMI", "CPU%c1", "CPU%c3", "CPU%c6", "CPU%c7",
             "CoreTmp", "PkgTmp", "Pkg%pc2", "Pkg%pc3", "Pkg%pc6", "PkgWatt", "CorWatt", "GFXWatt", "RAMWatt",
             "PKG_%", "RAM_%"]
    places = [lines[0].index(h) for h in heads if h in lines[0] and (h != "CorWatt" or "SMI" in lines[0])]
    wrong = [] if places == sorted(places) else [f"the heads are {lines[0]}"]
    # awk takes what follows a hole for another column.
    wrong += [f"a hole in {line}" for line in lines if "" in line]
    later = {"Module", "L3", "NMI", "SysWatt", "SAM%mc6"} & set(lines[0])
    wrong += [f"turbostat has no {later}"] if later else []
    return wrong + [f"a line of {len(line)} cells" for line in lines if len(line) > len(lines[0])]


def check_once(machine, m):
    sources = ["msr"] + ["gfx", "lpi"] * bool(machine.spec.get("gfx")) + ["uncorefreq"] * (not machine.amd)
    if not machine.spec.get("guest"):
        sources += ["cpuidle", "interrupts", "throttle"]
    m.record("--sources=" + ",".join(sources), "-i", "100ms", "-n", str(10 * SECONDS))
    if machine.spec.get("unknown") == "zero":
        return check_lies(columns(m.path()))
    if not [n for n, _ in machine.truth if n == "msr.mperf"]:
        return []
    return check(machine, columns(m.path(), "--enable=all")) + check_text(m.path())


def main(name):
    rig.need()
    machine = machines.build(name)
    with rig.Mounted(machine) as m:
        # A machine that is busy with something else misses readings: what is wrong must be wrong three times.
        for attempt in range(3):
            wrong = check_once(machine, m)
            for line in wrong[:40]:
                print(f"attempt {attempt + 1}: {line}")
            if not wrong:
                break
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
