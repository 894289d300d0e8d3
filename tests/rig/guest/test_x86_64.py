#!/usr/bin/python3
"""Holds what pmrec recorded in the x86_64 guest against what the machine and the guest's own tools say."""
import json
import re

import bpf
from guest import Checks, Guest, pmrep


def statuses(t, guest):
    for what, good, found in guest.check_statuses():
        t.check(what, good, found)


def topology(t, guest):
    path = guest.path("default")
    info = json.loads(pmrep("info", "--format=json", path))["topology"]
    for name, expected in {"cpus": 8, "cores": 4, "packages": 2, "nodes": 2, "threads_per_core": 2}.items():
        t.check(f"{name} {expected}", info.get(name, expected) == expected, info)
    told = {int(line.split()[0]): line.split()[1:] for line in guest.text("topology").splitlines()}
    recorded = {}
    for line in pmrep("dump", "--format=json", path).splitlines():
        o = json.loads(line)
        if o.get("is") == "cpu":
            recorded[o["cpu"]] = o
    t.check("8 CPUs", len(told) == len(recorded) == 8, recorded)
    for cpu, (package, die, core, threads) in told.items():
        o = recorded[cpu]
        place = o["package"], o.get("die", 0), o["core"]
        t.check(f"place of CPU {cpu}", place == (int(package), int(die), int(core)), o)
        same = [c for c, other in recorded.items() if (other["package"], other["core"]) == (o["package"], o["core"])]
        t.check(f"threads of CPU {cpu}", ",".join(map(str, sorted(same))) == threads.replace("-", ","), threads)


# What a register is called, and whether it is read as a counter or once.
REGISTERS = {0x34: "msr.smi_count", 0x3a: "msr.feature_control", 0x8b: "msr.ucode_rev", 0xce: "msr.platform_info",
             0x198: "msr.perf_status", 0x1a0: "msr.misc_enable", 0x1a2: "msr.temperature_target",
             0x606: "msr.rapl_power_unit"}


def registers(t, guest):
    told = {}
    for line in guest.text("registers").splitlines():
        cpu, register, value = line.split()
        told[int(register, 16), int(cpu)] = int(value, 16)
    t.check("the second package has other settings", told[0x1a0, 4] == 0x4000010001 != told[0x1a0, 0], told[0x1a0, 4])
    recording = guest.recording("msr")
    seen = 0
    for (register, cpu), value in told.items():
        name = REGISTERS.get(register)
        rows = recording.series.get((name, cpu))
        if rows:
            seen += 1
            t.check(f"{name} of CPU {cpu}", rows[0].value == value, f"{rows[0]}, not {value:#x}")
        for o in recording.config.get(name, []):
            place = [i for r in o["instances"].split(",")
                     for i in range(int(r.split("-")[0]), int(r.split("-")[-1]) + 1)]
            number = {"cpu": cpu, "package": cpu // 4}.get(o["kind"])
            if number in place:
                seen += 1
                t.check(f"{name} of CPU {cpu}", o.get("value") == value, f"{o}, not {value:#x}")
    t.check("registers were recorded", seen >= 20, seen)
    # Bit 16 of MISC_ENABLE is Enhanced SpeedStep, bit 38 turns turbo off.
    text = pmrep("show", guest.path("msr"))
    lines = [line for line in text.splitlines() if line.startswith("msr.misc_enable")]
    t.check("settings differ by package", len(lines) == 2, lines)
    if len(lines) == 2:
        first, second = ("0x00000001", False, True), ("0x4000010001", True, False)
        for line, (value, eist, turbo) in zip(lines, (first, second)):
            t.check("value of a package", value in line, line)
            t.check("settings of a package", ("no EIST" not in line, "no turbo" not in line) == (eist, turbo), line)


def clocks(t, guest):
    recording = guest.recording("tsc")
    header = json.loads(pmrep("info", "--format=json", recording.path))
    rate, _ = recording.rate("msr/tsc/")
    hz = [v for k, v in walk(header) if k == "clock_counter_hz"]
    t.check("TSC was counted", rate, rate)
    if hz:
        t.near("TSC rate", rate, hz[0] / 1e9)
    for cpu in range(8):
        rows = recording.series["cpu-clock", cpu]
        t.near(f"cpu-clock of CPU {cpu}", rows[-1].value - rows[0].value, rows[-1].enabled - rows[0].enabled)


def walk(o):
    if isinstance(o, dict):
        for k, v in o.items():
            yield k, v
            yield from walk(v)


def hotplug(t, guest):
    recording = guest.recording("hotplug")
    states = {cpu: "".join("+" if v.status == "ok" else "-" for v in recording.series["cpu-clock", cpu])
              for cpu in range(8)}
    for cpu in (0, 1, 2, 4, 6, 7):
        # A reading that a busy host kept from its tick is another matter.
        t.check(f"CPU {cpu} is there all the time", states[cpu].count("-") <= 1, states[cpu])
    t.check("CPU 3 goes and comes back", "+-+" in re.sub(r"(.)\1+", r"\1", states[3]), states[3])
    t.check("CPU 5 comes", states[5].endswith("+"), states[5])
    table = pmrep("show", "--per-cpu", "--show=cpu-clock", recording.path)
    t.check("pmrep shows it", bool(table))


def main():
    guest, t = Guest("x86_64"), Checks()
    for section in (statuses, topology, registers, clocks, hotplug):
        t.run(section.__name__, section, guest)
    for section in bpf.SECTIONS:
        t.run(f"BPF: {section.__name__}", section, guest)
    t.end()


if __name__ == "__main__":
    main()
