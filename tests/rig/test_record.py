#!/usr/bin/env python3
"""test_record.py MACHINE: what pmrec records of an emulated machine against what the machine was programmed to do."""
import errno
import os
import subprocess
import sys
import time

import machines
import rig

TOLERANCE = 0.001
NAMES = {0xCE: "platform_info", 0x1A2: "temperature_target", 0x1AD: "turbo_ratio_limit", 0x606: "rapl_power_unit",
         0x610: "pkg_power_limit", 0x614: "pkg_power_info", 0x60B: "pkgc6_irtl", 0xE2: "pkg_cst_config_control",
         0xC0010299: "amd_power_unit", 0x770: "pm_enable", 0x648: "config_tdp_nominal"}


def check_rates(machine, recording):
    """Every counter that runs, at its place and with its rate."""
    wrong = []
    tsc, seconds = recording.change("msr.tsc", 0)
    hz = tsc / seconds
    for (name, cpu), (kind, rate) in machine.truth.items():
        if (name, cpu) not in recording.series:
            wrong.append(f"{name} of CPU {cpu} is not recorded")
            continue
        if kind == "=":
            values = {int(v) for v, status, _, _ in recording.series[name, cpu] if status == "ok"}
            if values != {rate}:
                wrong.append(f"{name} of CPU {cpu} is {values} in place of {rate}")
            continue
        change, seconds = recording.change(name, cpu)
        expected = rate * seconds * (hz if kind == "t" else 1)
        if abs(change - expected) > max(TOLERANCE * expected, 1):
            wrong.append(f"{name} of CPU {cpu} ran {change} in place of {expected:.1f} in {seconds:.3f} s")
    if machine.spec.get("unknown") != "zero":
        wrong += [f"{name} of CPU {cpu} is recorded, and the machine has none"
                  for name, cpu in recording.series if (name, cpu) not in machine.truth]
    return wrong


def check_once(machine, recording):
    """One-time values, at the start and at the end; what cannot be read, with the reason."""
    wrong, by_address = [], {}
    for line in subprocess.check_output([os.path.join(rig.TESTS, "catalog_tool")], text=True).splitlines():
        address, name = line.split()
        by_address[int(address, 16)] = name
    wrong += [f"register {address:#x} is not {name}" for address, name in NAMES.items()
              if by_address.get(address) != f"msr.{name}"]
    for address, value in machine.once.items():
        name = by_address.get(address)
        if not name:
            wrong.append(f"register {address:#x} has no row in the catalog")
            continue
        rows = recording.config.get(name, [])
        if {r.get("value") for r in rows} != {value} and {str(r.get("value")) for r in rows} != {str(value)}:
            wrong.append(f"{name} is {[r.get('value') for r in rows]} in place of {value}")
        elif len({r["time_ns"] for r in rows}) != 2:
            wrong.append(f"{name} was not read at the start and at the end")
    absent = "msr.pkg_energy_status" if machine.amd else "msr.amd_core_energy"
    status = {r["status"] for r in recording.config.get(absent, [])}
    if machine.spec.get("unknown") != "zero" and status != {f"errno-{errno.EIO}"}:
        wrong.append(f"{absent} has status {status}")
    return wrong


# Lines of a profile, and what a recording is to know of them once.
SETTINGS = (
    ("dev/cpu_dma_latency AB\\tD", "cpu_dma_latency_us", int.from_bytes(b"AB\tD", "little")),
    ("sys/class/powercap/intel-rapl:0/name package-0\\n", "powercap.intel-rapl:0.name", "package-0"),
    ("sys/class/powercap/intel-rapl:0/energy_uj {0,35500000}\\n", None, None),
    ("sys/class/powercap/intel-rapl:0/max_energy_range_uj 262143328850\\n",
     "powercap.intel-rapl:0.max_energy_range_uj", 262143328850),
    ("sys/class/powercap/intel-rapl:0/enabled 1\\n", "powercap.intel-rapl:0.enabled", 1),
    ("sys/class/powercap/intel-rapl:0/constraint_0_name long_term\\n", "powercap.intel-rapl:0.constraint_0.name",
     "long_term"),
    ("sys/class/powercap/intel-rapl:0/constraint_0_power_limit_uw 65000000\\n",
     "powercap.intel-rapl:0.constraint_0.power_limit_uw", 65000000),
    ("sys/class/powercap/intel-rapl:0/constraint_0_time_window_us 28000000\\n",
     "powercap.intel-rapl:0.constraint_0.time_window_us", 28000000),
    ("sys/class/powercap/intel-rapl:0/constraint_0_max_power_uw 66000000\\n",
     "powercap.intel-rapl:0.constraint_0.max_power_uw", 66000000),
    ("sys/devices/system/cpu/cpu1/power/energy_perf_bias 15\\n", "cpufreq.energy_perf_bias", 15),
    ("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor performance\\n", "cpufreq.scaling_governor",
     "performance"),
    ("sys/devices/system/cpu/cpu1/cpufreq/scaling_driver intel_cpufreq\\n", "cpufreq.scaling_driver",
     "intel_cpufreq"),
    # Kernels with several drivers show each CPU's; with one, all states are described alike.
    ("sys/devices/system/cpu/cpu0/cpuidle/driver/name intel_idle\\n", None, None),
    ("sys/devices/system/cpu/cpu1/cpuidle/state1/desc MWAIT 0x01\\n", "cpuidle.state1.desc", "MWAIT 0x01"),
    ("sys/devices/system/cpu/cpuidle/current_driver acpi_idle\\n", "cpuidle.current_driver", "acpi_idle"),
    ("sys/devices/system/cpu/cpuidle/current_governor_ro teo\\n", "cpuidle.current_governor_ro", "teo"),
    ("sys/devices/system/cpu/intel_pstate/no_turbo 1\\n", "intel_pstate.no_turbo", 1),
    ("sys/devices/system/cpu/intel_uncore_frequency/package_00_die_00/initial_max_freq_khz 2500000\\n",
     "uncorefreq.package_00_die_00.initial_max_freq_khz", 2500000),
)


def covers(instances, cpu):
    """Whether a list such as 0-3,5 has the CPU; an empty one stands for the system."""
    spans = (part.split("-") for part in instances.split(",")) if instances else ()
    return not instances or any(int(s[0]) <= cpu <= int(s[-1]) for s in spans)


def check_settings(machine, mounted):
    """What is read once besides registers: CPUID of each CPU, files of the kernel."""
    mounted.control(*[f"file {line}" for line, _, _ in SETTINGS])
    recording, wrong = mounted.record("-i", "50ms", "-n", "3"), []
    for _, name, value in SETTINGS:
        rows = [r for r in recording.config.get(name, []) if covers(r.get("instances") or "", 1)]
        if name and ([r["status"] for r in rows] != ["ok"] or str(rows[0].get("value")) != str(value)):
            wrong.append(f"{name} is {rows} in place of {value}")
    for line in machine.lines:
        kind, *words = line.split()
        if kind != "cpuid":
            continue
        leaf, regs = int(words[0], 16), b"".join(int(w, 16).to_bytes(4, "little") for w in words[3:])
        cpus = [c["cpu"] for c in machine.cpus] if words[2] == "*" else [int(words[2])]
        for cpu in cpus:
            rows = [r for r in recording.config.get(f"cpuid.{leaf:08x}.0", [])
                    if covers(r.get("instances") or "", cpu)]
            if [r.get("value") for r in rows] != [regs.hex()]:
                wrong.append(f"leaf {leaf:#x} of CPU {cpu} is {rows} in place of {regs.hex()}")
    return wrong


def check_suspects(machine, recording):
    suspects = {p["what"] for p in recording.probes if p["reason"] == "suspect"}
    if machine.spec.get("unknown") != "zero":
        return [f"suspect on a machine that does not lie: {suspects}"] if suspects else []
    wrong = [f"{name} is not suspect" for name in ("msr.aperf", "msr.pkg_energy_status", "msr.platform_info")
             if name not in suspects]
    return wrong + (["the TSC is suspect"] if "msr.tsc" in suspects else [])


def reads_of(mounted, snapshots):
    """Reads by register and CPU, and how many values came of it: a busy machine loses some snapshots."""
    before = mounted.log()[0]
    recording = mounted.record("--sources=msr", "-i", "50ms", "-n", str(snapshots), "--threads=one")
    values = {(machines.REGISTERS[name[4:]], cpu): sum(status == "ok" for _, status, _, _ in rows)
              for (name, cpu), rows in recording.series.items() if name[4:] in machines.REGISTERS}
    return mounted.log()[0] - before, values


def check_reads(machine, mounted):
    """Each counter once a snapshot on the CPU that stands for its place, and nothing else; once more at most where the
    reading was interrupted. A snapshot that came to nothing was read as well."""
    (few, fewer), (many, values) = reads_of(mounted, 5), reads_of(mounted, 25)
    most = 2 * 25 - 5
    wanted = {(machines.REGISTERS[name[4:]], cpu) for name, cpu in machine.truth}
    wrong = []
    for key in set(many) | wanted:
        n, expected = many[key] - few[key], values.get(key, 0) - fewer.get(key, 0)
        if machine.spec.get("unknown") == "zero" and key not in wanted:
            continue
        if not expected - fewer.get(key, 0) <= n <= most:
            wrong.append(f"register {key[0]:#x} of CPU {key[1]} is read {n} times for {expected} values")
        if key in wanted and expected < 10:
            wrong.append(f"register {key[0]:#x} of CPU {key[1]} has only {expected} values in 20 snapshots")
    return wrong


def check_faults(machine, mounted):
    """A register that fails, and comes back; a counter that stands still; a CPU that goes away."""
    process = subprocess.Popen(mounted.command("--sources=msr", "-i", "50ms", "-n", "60"), stderr=subprocess.PIPE,
                               text=True)
    last = len(machine.cpus) - 1
    time.sleep(.7)
    mounted.control("fail 0xe7 1 5", "hold 0xe8 1")
    time.sleep(.6)
    mounted.control("fail 0xe7 1 0")
    mounted.control(f"fail * {last} {errno.ENXIO}", f"file sys/devices/system/cpu/online 0-{last - 1}\\n")
    _, errors = process.communicate(timeout=60)
    wrong = []
    if process.returncode:
        return [f"pmrec ended with {process.returncode}: {errors}"]
    recording = rig.Recording(mounted.path())
    status = [s for _, s, _, _ in recording.series["msr.mperf", 1]]
    if status.count("errno-5") < 5 or status[0] != "ok" or status[-1] != "ok":
        wrong.append(f"mperf of CPU 1, which failed for a while: {status}")
    if any(v is not None for v, s, _, _ in recording.series["msr.mperf", 1] if s != "ok"):
        wrong.append("a value where none could be read")
    values = [int(v) for v, s, _, _ in recording.series["msr.aperf", 1] if s == "ok"]
    if len(values) < 45 or values[-1] != values[-10] or values[0] == values[5]:
        wrong.append(f"aperf of CPU 1, which stood still: {values}")
    for name in ("msr.tsc", "msr.aperf"):
        status = [s for _, s, _, _ in recording.series[name, last]]
        if status[0] != "ok" or status[-1] == "ok":
            wrong.append(f"{name} of CPU {last}, which went away: {status}")
    status = {s for _, s, _, _ in recording.series["msr.tsc", 0]}
    # A busy machine may miss a reading.
    if "ok" not in status or status - {"ok", "missed"}:
        wrong.append(f"the TSC of CPU 0, which nothing happened to: {status}")
    return wrong


def main():
    rig.need()
    machine = machines.build(sys.argv[1])
    with rig.Mounted(machine) as mounted:
        recording = mounted.record("--sources=msr", "-i", "20ms", "-n", "120")
        wrong = check_rates(machine, recording) + check_once(machine, recording) + check_suspects(machine, recording)
        wrong += check_reads(machine, mounted)
        if sys.argv[1] == "hybrid":
            wrong += check_settings(machine, mounted)
        if sys.argv[1] == "skylakex":
            wrong += check_faults(machine, mounted)
    for line in wrong:
        print("wrong:", line)
    print(f"{sys.argv[1]}: {len(machine.truth)} counters, {len(machine.once)} one-time registers, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
