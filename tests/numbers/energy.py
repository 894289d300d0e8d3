#!/usr/bin/python3
"""Energy as each interface counts it, on machines of which the truth is programmed: all of them show the same watts.

    energy.py PMREP [CASE...]

A package has one register. The MSR driver shows it, the kernel's power zones and perf's power events make of it what
their drivers do, hwmon's amd_energy likewise. Exits with 77 if a Python module is missing that this needs."""

import csv
import io
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
try:
    import compare
    import generate as g
except ImportError as e:
    print("skipped: %s" % e)
    sys.exit(77)

INTEL, AMD = "GenuineIntel-6-%X-1", "AuthenticAMD-%d-%X-1"
AGAIN = "again"  # the register starts again at 0, then counts on for this interval
RESET, WRAPS = "reset", "wrap-ambiguous"


class Machine:
    """unit: J of a count. rated, most: W, as pkg_power_info and the power zone say them. bits: of the register."""

    def __init__(self, cpu, unit, rated=0, most=0, bits=32, says=None, hypervisor=None):
        self.cpu, self.unit, self.bits = cpu, unit, bits
        self.amd = cpu.startswith("A")
        esu = says if says is not None else round(-__import__("math").log2(unit))
        self.facts = {"msr.amd_power_unit" if self.amd else "msr.rapl_power_unit": esu << 8 | 3 | 10 << 16}
        if rated or most:
            self.facts["msr.pkg_power_info"] = rated * 8 | most * 8 << 32
        self.zone = {"powercap.intel-rapl:0.name": "package-0",
                     "powercap.intel-rapl:0.max_energy_range_uj": round(unit * (2**32 - 1) * 1e6)}
        if rated:
            self.zone["powercap.intel-rapl:0.constraint_0.max_power_uw"] = rated * 10**6
        if most:
            self.zone["powercap.intel-rapl:0.constraint_1.max_power_uw"] = most * 10**6
        self.header = {10: cpu}
        if hypervisor:
            self.header[12] = hypervisor


LAPTOP = Machine(INTEL % 0xA7, 2**-14, 15)  # turns after 262,144 J
SERVER = Machine(INTEL % 0x55, 2**-14, 205, 414)
NOBODY_KNOWS = Machine(INTEL % 0xF0, 2**-16)
MILAN = Machine(AMD % (25, 1), 2**-16, bits=32)
GENOA = Machine(AMD % (25, 0x11), 2**-16, bits=64)
TURIN = Machine(AMD % (26, 2), 2**-16, bits=64)
GRANITE_RIDGE = Machine(AMD % (26, 0x44), 2**-16, bits=64)  # in no list
BAY_TRAIL, AIRMONT, AIRMONT_NP = (Machine(INTEL % m, 2**5 * 1e-6, says=5) for m in (0x37, 0x4C, 0x75))
AVOTON = Machine(INTEL % 0x4D, 2**-16)  # the manual says 2^ESU uJ, as of the others
GOLDMONT, TREMONT = (Machine(INTEL % m, 2**-14, 10) for m in (0x5C, 0x96))

LOW, HIGH, TOP = 0.2, 0.7627, 0.99997  # where in its range a register begins
# name: (machine, share of 2^32 at which the register begins, seconds between readings, [watts of each interval, or
# (what happens, watts)], what is shown where that is not the truth {interval: reason}, interfaces)
CASES = {
    "resume_high": (LAPTOP, HIGH, 1, [15, (AGAIN, 15), 15, 15], {1: RESET}),
    "resume_low": (LAPTOP, LOW, 1, [15, (AGAIN, 15), 15, 15], {1: RESET}),
    "resume_server": (SERVER, HIGH, 1, [300, (AGAIN, 300), 350], {1: RESET}),
    "resume_unrated": (NOBODY_KNOWS, HIGH, 1, [30, (AGAIN, 30), 30], {1: RESET}),
    "resume_milan": (MILAN, HIGH, 1, [100, (AGAIN, 100), 100], {1: RESET}),
    "resume_genoa": (GENOA, HIGH, 1, [100, (AGAIN, 100), 100], {1: RESET}),
    # The energy of three minutes at 3 W, and what may have gone before it.
    "resume_slow": (LAPTOP, HIGH, 180, [3, (AGAIN, 3), 3], {1: RESET}),
    "turns": (LAPTOP, TOP, 1, [15, 0, 15, 15], {}),
    "turns_at_3x": (LAPTOP, TOP, 1, [45] * 4, {}),
    "long_at_3x": (LAPTOP, LOW, 60, [45] * 30, {}),
    "long_at_4x": (LAPTOP, HIGH, 600, [60] * 4, {}),
    "tuned_desktop": (Machine(INTEL % 0xB7, 2**-14, 125, 253), HIGH, 10, [420] * 5, {}),
    "small": (Machine(INTEL % 0xBE, 2**-14, 6), HIGH, 10, [35, 6, 35], {}),
    "jumps": (LAPTOP, LOW, 1, [35, (+696, 35), 35, (-696, 35), 35], {1: RESET, 3: RESET}),
    "may_turn_twice": (SERVER, LOW, 300, [100] * 3, {0: WRAPS, 1: WRAPS, 2: WRAPS}, ["msr", "powercap"]),
    "kernel_reads": (SERVER, LOW, 300, [100, 400, 300], {}, ["perf"]),
    "milan_400w": (MILAN, LOW, 205, [400] * 2, {0: WRAPS, 1: WRAPS}, ["msr", "powercap"]),
    "milan_400w_short": (MILAN, HIGH, 60, [400] * 8, {}),
    "genoa_400w": (GENOA, LOW, 205, [400] * 3, {}, ["msr", "hwmon", "perf"]),
    "genoa_turns_32": (GENOA, TOP, 205, [400] * 3, {}, ["msr", "hwmon", "perf"]),
    "turin_500w": (TURIN, LOW, 900, [500] * 3, {}, ["msr", "hwmon", "perf"]),
    # What begins above 32 bits has more.
    "wide_by_value": (GRANITE_RIDGE, 3.4, 205, [170] * 3, {}, ["msr", "perf"]),
    "bay_trail": (BAY_TRAIL, HIGH, 1, [4, 4], {}, ["msr"]),
    "avoton": (AVOTON, HIGH, 1, [18, 18], {}, ["msr"]),
    "airmont": (AIRMONT, HIGH, 1, [4, 2], {}, ["msr"]),
    "airmont_np": (AIRMONT_NP, HIGH, 1, [4, 2], {}, ["msr"]),
    "goldmont": (GOLDMONT, HIGH, 1, [4, 2], {}),
    "tremont": (TREMONT, HIGH, 1, [4, 2], {}),
    # A hypervisor's monitor that looks once a second: nothing, then the energy of a second within 100 ms.
    "guest": (Machine(INTEL % 0x55, 2**-14, 20, hypervisor="KVMKVMKVM"), LOW, .1, [0, 200, 0, 400], {}, ["msr"]),
    # One that answers for what it does not count.
    "guest_zeros": (Machine(INTEL % 0xCF, 2**-14, 20, hypervisor="KVMKVMKVM"), 0, 1, [0] * 3, dict.fromkeys(range(3), "suspect"), ["msr", "perf"]),
}


def register(machine, begins, step, intervals):
    """Its readings, of all bits that it would have."""
    joules = begins * 2**32 * machine.unit
    out = [joules]
    for i in intervals:
        what, watts = i if isinstance(i, tuple) else (0, i)
        joules = 0 if what == AGAIN else joules + what
        joules += watts * step
        out.append(joules)
    return [int(j / machine.unit) for j in out]


def unwrapped(values, turn):
    total = [values[0]]
    for a, b in zip(values, values[1:]):
        total.append(total[-1] + (b - a if b >= a else turn - a + b))
    return total


def readings(interface, machine, counts, step, intervals):
    narrow = [c % 2**32 for c in counts]
    if interface == "msr":
        return [c % 2**machine.bits for c in counts]
    if interface == "powercap":
        uj = [int(c * machine.unit * 1e6) for c in narrow]
        return unwrapped(uj, machine.zone["powercap.intel-rapl:0.max_energy_range_uj"])
    if interface == "hwmon":  # amd_energy adds up what has 32 bits
        wide = counts if machine.bits == 64 else unwrapped(narrow, 2**32)
        return [int(c * machine.unit * 1e6) for c in wide]
    # The kernel looks at it several times in the turn of a register, and adds up differences modulo 2^32.
    fine = [counts[0]]
    for i, (a, b) in zip(intervals, zip(counts, counts[1:])):
        if isinstance(i, tuple) and i[0] == AGAIN:
            a = fine[-1] // 2**32 * 2**32 + (2**32 if fine[-1] % 2**32 else 0)
            fine.append(a + b)
        else:
            fine.append(fine[-1] + (b - a) % (2**32 if b < a else 2**64))
    return [round((c - fine[0]) * machine.unit * 2**32) for c in fine]


def write(path, interface, machine, counts, step, intervals):
    w = g.World(4, header=machine.header)
    values = readings(interface, machine, counts, step, intervals)
    where = w.each_package()
    perf = interface == "perf"
    w.facts.update(machine.facts)
    if interface == "msr":
        name = w.counter("msr.amd_pkg_energy" if machine.amd else "msr.pkg_energy_status", width=32, source="msr")
    elif interface == "powercap":
        w.facts.update(machine.zone)
        name = w.counter("powercap.energy.package", unit="J", scale=[1, 10**6], source="powercap")
    elif interface == "hwmon":
        name = w.counter("hwmon.energy", unit="J", scale=[1, 10**6], rule="none", source="hwmon")
        where = [w.instance("device", name="amd_energy/Esocket0")]
    else:
        w.pmu("power", 31, {"energy-pkg": 2})
        name = w.event("power/energy-pkg/", pmu="power", unit="J", scale="2.3283064365386962890625e-10")
        where = [w.instance("pmu", cpu=0, name="power")]
    w.group([name], where, perf=perf, source=interface)
    ticks = [round(k * step * g.S) for k in range(len(counts))]
    w.write(path, ticks, lambda c, i, s, t: values[s], (lambda k, i, s, t: (t + g.S, t + g.S)) if perf else None)
    return "sensor.energy" if interface == "hwmon" else "pkgwatt"


def show(pmrep, path, metric, *options):
    args = [pmrep, "show", "--show=" + metric, "--format=csv", "-q", "-S" if metric == "pkgwatt" else "--per-device", *options, path]
    out = subprocess.run(args, stdout=subprocess.PIPE, text=True, check=False).stdout
    return [(r["value"], r["status"]) for r in csv.DictReader(io.StringIO(out)) if r["metric"] == metric]


def fits(got, want):
    value, status = got
    if isinstance(want, str):
        return value == "" and status == want
    return value != "" and abs(float(value) - want) < 2e-3 * max(want, 1) and status == "ok"


DEFAULT = {True: ["msr", "powercap", "hwmon", "perf"], False: ["msr", "powercap", "perf"]}


def case(pmrep, folder, name, machine, begins, step, intervals, marked, interfaces=None):
    failures = []
    counts = register(machine, begins, step, intervals)
    want = [marked.get(k, i[1] if isinstance(i, tuple) else i) for k, i in enumerate(intervals)]
    for interface in interfaces or DEFAULT[machine.amd]:
        path = os.path.join(folder, "%s-%s.pmr" % (name, interface))
        metric = write(path, interface, machine, counts, step, intervals)
        got = show(pmrep, path, metric, "--all")
        if len(got) != len(want) or not all(fits(a, b) for a, b in zip(got, want)):
            failures.append("%s, %s: %s, and not %s" % (name, interface, got, want))
        known = [w for w in want if not isinstance(w, str)]
        whole = show(pmrep, path, metric, "--total")
        value, status = whole[0] if whole else ("", "no row")
        good = value == "" if not known else value != "" and abs(float(value) - sum(known) / len(known)) < .05 + sum(known) * 1e-3
        if not good or status != ("partial" if marked and known else "ok" if known else want[0]):
            failures.append("%s, %s: in total %s, of %s" % (name, interface, whole, want))
        second = compare.Comparison(pmrep, path).all(levels=("system",), rates=(True,))
        failures += ["%s, %s: %s" % (name, interface, f) for f in second.failures[:4]]
    return failures


def rows(pmrep, path, *options):
    args = [pmrep, "show", "--format=csv", "-q", "--all", *options, path]
    out = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout
    return [(r["scope"] + r[r["scope"]] if r["scope"] != "system" else "", r["metric"], r["value"] and round(float(r["value"]), 3))
            for r in csv.DictReader(io.StringIO(out))]


def dies(pmrep, path):
    """Zones package-0-die-0 and package-0-die-1, at 50 and 20 W; the second restarts."""
    w = g.World(4, of_cores="die")
    for d in (0, 1):
        w.facts["powercap.intel-rapl:%d.name" % d] = "package-0-die-%d" % d
        w.facts["powercap.intel-rapl:%d.max_energy_range_uj" % d] = 262143328850
    name = w.counter("powercap.energy.package", unit="J", scale=[1, 10**6], source="powercap")
    first, second = w.each_own()
    w.group([name], [first, second], source="powercap")
    w.write(path, [0, g.S, 2 * g.S], lambda c, i, s, t: [0, 50, 100][s] * 10**6 if i == first else [7, 27, 262150][s] * 10**6)
    show = "--show=PkgWatt", "-S"
    both = ["die0", "pkgwatt", 50.0], ["die1", "pkgwatt", 20.0]
    return [(rows(pmrep, path, "--show=PkgWatt", "--per-die"), [*map(tuple, both), ("die0", "pkgwatt", 50.0), ("die1", "pkgwatt", "")]),
            (rows(pmrep, path, "--show=PkgWatt", "--per-package"), [("package0", "pkgwatt", 70.0), ("package0", "pkgwatt", "")]),
            (rows(pmrep, path, *show), [("", "pkgwatt", 70.0), ("", "pkgwatt", "")])]


def dies_of_events(pmrep, path):
    """The kernel's PMU counts each die's energy by one of its CPUs: 50 and 20 W, 30 and 7 W; or each package's alone."""
    w = g.World(8, of_cores="die")
    w.pmu("power", 31, {"energy-pkg": 2})
    name = w.event("power/energy-pkg/", pmu="power", unit="J", scale="2.3283064365386962890625e-10")
    of = {w.instance("pmu", cpu=c, name="power-%d" % c): watts for c, watts in ((0, 50), (2, 20), (4, 30), (6, 7))}
    w.group([name], list(of), perf=True, source="perf")
    w.write(path, [0, g.S], lambda c, i, s, t: round(of[i] * s * 2**32), lambda k, i, s, t: (t + g.S, t + g.S))
    of_dies = [("die%d" % (k % 2), "pkgwatt", watts) for k, watts in enumerate((50, 20, 30, 7))]
    return [(rows(pmrep, path, "--show=PkgWatt", "--per-die"), of_dies),
            (rows(pmrep, path, "--show=PkgWatt", "--per-package"), [("package0", "pkgwatt", 70), ("package1", "pkgwatt", 37)]),
            (rows(pmrep, path, "--show=PkgWatt", "-S"), [("", "pkgwatt", 107)])]


def asleep(pmrep, path):
    """A suspend of two hours, in which the platform drew 400 J and stayed in its deepest state, and MPERF began anew."""
    w = g.World(4, header={10: INTEL % 0xA7}, tsc_hz=2 * g.S)
    w.facts["msr.rapl_power_unit"] = 14 << 8 | 3 | 10 << 16
    names = [w.counter("msr." + n, source="msr", width=32 if "energy" in n else 64) for n in (
        "pkg_energy_status", "pkg_c6_residency", "tsc", "mperf", "aperf")]
    w.group(names[:2], w.each_package(), source="msr")
    w.group(names[2:], w.each_cpu(), source="msr")
    def value(counter, i, s, t):
        woken = s > 2
        return {names[0]: round((1000 + 15 * s + 400 * woken) * 2**14), names[1]: g.S * s + 14400 * g.S * woken,
                names[2]: 2 * g.S * (s + 7200 * woken)}.get(counter, g.S * (s - 3 * woken))
    w.write(path, [k * g.S for k in range(6)], value, place=lambda s: (1, int(s > 2)))
    out = []
    for options, n, status in (["--all"], 4, "ok"), (["--total"], 1, "partial"):
        for metric, truth in ("pkgwatt", 15), ("busy", 50), ("bzy_mhz", 2000), ("tsc_mhz", 2000):
            got = [(float(v), s) for v, s in show(pmrep, path, metric, "-S", *options)]
            out.append(([(round(v, 3), metric, s) for v, s in got], [(truth, metric, status)] * n))
    return out


def core_zone(cpu, also_perf=False):
    """The zone "core" at 3.5 W, which on AMD is one of two cores; the PMU power_core has both, at 3.5 and 16.5 W."""
    def check(pmrep, path):
        w = g.World(4, header={10: cpu})
        names = [w.counter("powercap.energy." + n, unit="J", scale=[1, 10**6], source="powercap") for n in ("package", "core")]
        w.group(names, w.each_package(), source="powercap")
        if also_perf:
            w.pmu("power_core", 32, {"energy-core": 1})
            event = w.event("power_core/energy-core/", pmu="power_core", unit="J", scale="2.3283064365386962890625e-10")
            cores = [w.instance("pmu", cpu=c, name="power_core-%d" % c) for c in (0, 2)]
            w.group([event], cores, perf=True, source="perf")
        watts = {names[0]: 25e6, names[1]: 3.5e6}
        w.write(path, [0, g.S], lambda c, i, s, t: round(s * (watts[c] if c in watts else (3.5 if i == cores[0] else 16.5) * 2**32)),
                lambda k, i, s, t: (t + g.S, t + g.S))
        value = 20.0 if also_perf else 3.5 if cpu.startswith("Genuine") else None
        return [(rows(pmrep, path, "--show=PkgWatt,CorWatt", "-S"), [("", "pkgwatt", 25.0)] + (
            [("", "corwatt", value)] if value else []))]
    return check


PLACES = {"dies": dies, "dies_of_events": dies_of_events, "asleep": asleep, "core_zone_intel": core_zone(INTEL % 0xA7), "core_zone_amd": core_zone(AMD % (25, 0x21)),
          "core_zone_hygon": core_zone("HygonGenuine-24-0-1"), "core_zone_amd_perf": core_zone(AMD % (25, 0x21), True)}


def main(argv):
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        for name in argv[2:] or [*CASES, *PLACES]:
            if name in CASES:
                failures += case(argv[1], folder, name, *CASES[name])
                continue
            for got, want in PLACES[name](argv[1], os.path.join(folder, name + ".pmr")):
                if [r for r in got if r[1] in ("pkgwatt", "corwatt") or name == "asleep"] != want:
                    failures.append("%s: %s, and not %s" % (name, got, want))
    for f in failures:
        print("FAILED: " + f)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
