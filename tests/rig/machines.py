#!/usr/bin/env python3
"""The machines of the rig: what they are made of, and how fast each of their registers runs.

machines.py NAME prints the profile for fakemsr; tests import build(). Programmed rates are the truth that tests
compare with, so nothing in here is taken from what the programs under test say: addresses are those of the manuals.
"""
import sys
import time

REGISTERS = {
    "tsc": 0x10, "mperf": 0xE7, "aperf": 0xE8, "core_c1_res": 0x660, "smi_count": 0x34,
    "therm_status": 0x19C, "core_c3_res": 0x3FC, "core_c6_res": 0x3FD, "core_c7_res": 0x3FE,
    "module_c6_res": 0x664, "amd_core_energy": 0xC001029A, "amd_pkg_energy": 0xC001029B,
    "pkg_energy_status": 0x611, "pp0_energy_status": 0x639, "pp1_energy_status": 0x641,
    "dram_energy_status": 0x619, "pkg_perf_status": 0x613, "dram_perf_status": 0x61B,
    "platform_energy_status": 0x64D, "package_therm_status": 0x1B1,
    "pkg_c2_res": 0x60D, "pkg_c3_res": 0x3F8, "pkg_c6_res": 0x3F9, "pkg_c7_res": 0x3FA,
    "pkg_c8_res": 0x630, "pkg_c9_res": 0x631, "pkg_c10_res": 0x632,
    "weighted_core_c0": 0x658, "any_core_c0": 0x659, "any_gfxe_c0": 0x65A, "core_gfxe_overlap_c0": 0x65B,
    "core_perf_limit_reasons": 0x64F, "hsw_core_perf_limit_reasons": 0x690, "gfx_perf_limit_reasons": 0x6B0,
    "ring_perf_limit_reasons": 0x6B1,
}
# Share of the package's TSC cycles, times package number + 1.
PACKAGE_SHARES = {
    "pkg_c2_res": .04, "pkg_c3_res": .03, "pkg_c6_res": .07, "pkg_c7_res": .02, "pkg_c8_res": .05, "pkg_c9_res": .01,
    "pkg_c10_res": .06, "weighted_core_c0": .5, "any_core_c0": .4, "any_gfxe_c0": .2, "core_gfxe_overlap_c0": .1,
}
# Watts of a package, times package number + 1. Energy is counted in 2^-14 J, memory of servers in 15.3 uJ.
WATTS = {"pkg_energy_status": 35.5, "pp0_energy_status": 20.25, "pp1_energy_status": 1.5, "dram_energy_status": 4.0}
HELD_BACK = {"pkg_perf_status": .125, "dram_perf_status": .0625}  # share of time, in units of 2^-10 s
PSYS_WATTS = 60.0
FIXED_DRAM = {0x55, 0x3F}
LIMIT_REASONS = {"core_perf_limit_reasons": 0x20001000, "hsw_core_perf_limit_reasons": 0x31200000,
                 "gfx_perf_limit_reasons": 0, "ring_perf_limit_reasons": 0x0D000000}

INTEL_ONCE = {
    0x3A: 5, 0x8B: 0x5D << 32, 0xE2: 0x1E008008,
    0x198: 0x2A00, 0x199: 0x2A00,
    0x19B: 3, 0x1A0: 0x850089, 0x1A2: (100 << 16) | (5 << 24), 0x1A4: 3, 0x1AA: 0x402000,
    0x1AD: 0x2526272829292A2A, 0x1AE: 0x1C1814100C080402, 0x1AF: 0x2222, 0x1B0: 6, 0x1B2: 3, 0x1FC: 0x4005D,
    0x601: 0x800007D0, 0x606: 0xA0E03, 0x610: 0x00428348001A82A0 | 1 << 63, 0x614: 0x00100BB800500208, 0x618: 0x8000,
    0x61C: 0x0010010000100100, 0x638: 0, 0x63A: 5, 0x640: 0, 0x642: 9, 0x649: 0, 0x64A: 0, 0x64B: 1 << 31,
    0x64C: 0x19, 0x65C: 0, 0x60A: 0x884E, 0x60B: 0x8876, 0x60C: 0x8894, 0x633: 0x88FA, 0x634: 0x894C, 0x635: 0x8BF2,
    0x770: 1, 0x771: 0x01081A2A, 0x772: 0x8000FF01, 0x773: 0, 0x774: 0x80002A08, 0x777: 4,
}
# As printed in turbostat's manual page.
HASWELL_ONCE = {
    0xCE: 0x80838F3012300, 0x1AD: 0x25262727, 0x606: 0x000A0E03, 0x610: 0x428348001A82A0,
    0x63A: 0, 0x638: 0, 0x642: 0, 0x640: 0, 0x1A2: 0x00641400, 0xE2: 0x1E000400, 0x1FC: 0x0004005D, 0x60A: 0x00008842,
    0x60B: 0x00008873, 0x60C: 0x00008891,
}
AMD_ONCE = {
    0x8B: 0x0A201205, 0xC0010015: 1, 0xC0010061: 0x20, 0xC0010062: 0, 0xC0010063: 0, 0xC0010064: 0x8000000049120890,
    0xC0010065: 0x8000000045160A90, 0xC0010066: 0x800000004318085C, 0xC0010299: 0xA1003, 0xC0010293: 0x49120890,
}

SKL_PACKAGE = ["pkg_c2_res", "pkg_c3_res", "pkg_c6_res", "pkg_c7_res", "pkg_c8_res", "pkg_c9_res", "pkg_c10_res",
               "weighted_core_c0", "any_core_c0", "any_gfxe_c0", "core_gfxe_overlap_c0", "core_perf_limit_reasons"]
ALL_RAPL = list(WATTS) + list(HELD_BACK)
SERVER_RAPL = ["pkg_energy_status", "dram_energy_status", "pkg_perf_status", "dram_perf_status"]

# `packages` x `cores` x `threads`, cores in modules of `module`; `big` cores of a hybrid come first and have threads.
MACHINES = {
    "haswell": {"model": 0x3C, "tsc_mhz": 2400.0, "cores": 4, "threads": 2, "core": ["core_c3_res", "core_c6_res", "core_c7_res"],
                "package": ["pkg_c2_res", "pkg_c3_res", "pkg_c6_res", "pkg_c7_res", "hsw_core_perf_limit_reasons",
                            "gfx_perf_limit_reasons", "ring_perf_limit_reasons", "pkg_energy_status",
                            "pp0_energy_status", "pp1_energy_status"],
                "once": HASWELL_ONCE, "without": [0x650, 0x65C, 0x770, 0x771, 0x772, 0x773, 0x774, 0x777]},
    "rocketlake": {"model": 0xA7, "tsc_mhz": 2592.0, "cores": 2, "cpu": ["core_c1_res"], "core": ["core_c6_res", "core_c7_res"],
                   "package": SKL_PACKAGE + ALL_RAPL, "psys": True, "gfx": True},
    "skylakex": {"model": 0x55, "tsc_mhz": 2599.998, "packages": 2, "cores": 2, "threads": 2, "core": ["core_c6_res"],
                 "package": ["pkg_c2_res", "pkg_c6_res"] + SERVER_RAPL, "once": {0xE2: 0x1E008407}},
    "hybrid": {"model": 0x97, "tsc_mhz": 2611.2, "cores": 6, "big": 2, "threads": 2, "module": 4, "cpu": ["core_c1_res"],
               "core": ["core_c6_res", "core_c7_res"], "once": {0x650: 0x1C1C1C1C},
               "package": SKL_PACKAGE + ALL_RAPL, "psys": True},
    "sapphirerapids": {"model": 0x8F, "tsc_mhz": 2000.0, "cores": 4, "threads": 2, "cpu": ["core_c1_res"], "core": ["core_c6_res"],
                       "package": ["pkg_c2_res", "pkg_c6_res"] + SERVER_RAPL, "psys": True, "whole_joules": True,
                       "once": {0xE2: 0x1E008407}},
    "sierraforest": {"model": 0xAF, "cores": 8, "module": 4, "cpu": ["core_c1_res"], "core": ["core_c6_res"],
                     "module_registers": ["module_c6_res"], "uncore_domains": 3, "package": ["pkg_c2_res", "pkg_c6_res"] + SERVER_RAPL,
                     "psys": True, "once": {0xE2: 0x1E008407}},
    "wrap": {"model": 0x3F, "cores": 2, "core": ["core_c3_res", "core_c6_res", "core_c7_res"], "wraps": True,
             "package": ["pkg_c2_res", "pkg_c3_res", "pkg_c6_res", "pkg_c7_res"] + SERVER_RAPL},
    "zen": {"model": 0x21, "tsc_mhz": 2994.373, "amd": True, "cores": 4, "threads": 2, "core": ["amd_core_energy"],
            "package": ["amd_pkg_energy"]},
    "guest_refused": {"model": 0x55, "cores": 4, "guest": "KVMKVMKVM", "only": [0x10, 0x8B, 0x1A0]},
    "guest_zeros": {"model": 0x55, "cores": 4, "guest": "VMwareVMware", "only": [0x10, 0x8B, 0x1A0],
                    "unknown": "zero"},
}


class Machine:
    """A built machine: `profile` for fakemsr, `truth` as {(counter, cpu that is read): rate}, a rate being (base,
    per second) or ("t", share of TSC cycles) or ("=", value); `once` as {address: value}."""

    def __init__(self, name, tsc_mhz=None):
        self.spec = dict({"tsc_mhz": 2600.001, "packages": 1, "threads": 1, "module": 1, "cpu": [], "core": [], "package": [],
                          "module_registers": [], "once": {}, "without": []}, **MACHINES[name])
        self.name, self.lines, self.truth, self.once = name, [], {}, {}
        self.amd = self.spec.get("amd", False)
        # A base frequency in whole steps of 100 MHz is what the TSC of real processors hits only nearly.
        self.tsc_hz = 1e6 * (tsc_mhz or self.spec["tsc_mhz"])
        self.base_ratio = round(self.tsc_hz / 1e8)
        self.cpus = self.layout()
        self.build()

    def layout(self):
        """One dict a CPU. Threads of a core are neighbours, as hybrids number them."""
        cpus, spec = [], self.spec
        for package in range(spec["packages"]):
            for core in range(spec["cores"]):
                big = core < spec["big"] if "big" in spec else None
                threads = 1 if big is False else spec["threads"]
                if "big" in spec:
                    module = core if big else spec["big"] + (core - spec["big"]) // spec["module"]
                else:
                    module = core // spec["module"]
                for _ in range(threads):
                    cpus.append({"cpu": len(cpus), "package": package, "core": core, "module": module, "big": big})
        return cpus

    def members(self, cpu, *keys):
        return [c["cpu"] for c in self.cpus if all(c[k] == cpu[k] for k in keys)]

    def leaders(self, *keys):
        return [c for c in self.cpus if self.members(c, *keys)[0] == c["cpu"]]

    # ---- registers ----

    def base(self, per_second, width):
        """Where a counter starts: anywhere, or so that it wraps about a second from now."""
        if width == 64 or not self.spec.get("wraps"):
            return 1000000
        return int(-per_second * (time.monotonic() + 1000 + 1.0)) % 2**32

    def register(self, name, cpus, rate, width=64):
        kind, value = rate
        if self.spec.get("only") and REGISTERS[name] not in self.spec["only"]:
            return
        if kind == "=":
            base, text = value, "0"
        elif kind == "t":
            base, text = 1000, f"{value:.6f}t"
        else:
            base, text = self.base(value, width), f"{value:.3f}"
        self.lines.append(f"msr {REGISTERS[name]:#x} {cpus[0]}-{cpus[-1]} {base:#x} {text} {width}"
                          if cpus == list(range(cpus[0], cpus[-1] + 1)) else
                          "\n".join(f"msr {REGISTERS[name]:#x} {c} {base:#x} {text} {width}" for c in cpus))
        self.truth[(f"msr.{name}", cpus[0])] = rate

    def cpu_registers(self):
        for c in self.cpus:
            i, own = c["cpu"], [c["cpu"]]
            busy, ratio = .10 * (i % 8 + 1), 1 + .05 * (i % 8)
            self.register("tsc", own, ("t", 1.0))
            self.register("mperf", own, ("t", round(busy, 6)))
            self.register("aperf", own, ("t", round(busy * ratio, 6)))
            if not self.amd:
                self.register("smi_count", own, ("s", 3.0), 32)
            for name in self.spec["cpu"]:
                self.register(name, own, ("t", .05))

    def core_registers(self):
        for k, c in enumerate(self.leaders("package", "core")):
            own = self.members(c, "package", "core")
            shares = {"core_c3_res": .01, "core_c6_res": .05 * (k + 1), "core_c7_res": .02 * (k + 1)}
            if not self.amd:
                self.register("therm_status", own, ("=", (100 - (45 + k)) << 16 | 1 << 31 | 1 << 27))
            for name in self.spec["core"]:
                if name == "amd_core_energy":
                    self.register(name, own, ("s", (3.5 + k) * 65536), 32)
                else:
                    self.register(name, own, ("t", round(shares[name], 6)))
        for c in self.leaders("package", "module"):
            for name in self.spec["module_registers"]:
                self.register(name, self.members(c, "package", "module"), ("t", round(.1 * (c["module"] + 1), 6)))

    def package_registers(self):
        for c in self.leaders("package"):
            own, k = self.members(c, "package"), c["package"] + 1
            for name in self.spec["package"]:
                if name in PACKAGE_SHARES:
                    self.register(name, own, ("t", round(PACKAGE_SHARES[name] * k, 6)))
                elif name in LIMIT_REASONS:
                    self.register(name, own, ("=", LIMIT_REASONS[name]))
                elif name in HELD_BACK:
                    self.register(name, own, ("s", HELD_BACK[name] * k * 1024), 32)
                elif name == "amd_pkg_energy":
                    self.register(name, own, ("s", 42.0 * 65536), 32)
                else:
                    fixed = name == "dram_energy_status" and self.spec["model"] in FIXED_DRAM
                    self.register(name, own, ("s", WATTS[name] * k / (15.3e-6 if fixed else 2**-14)), 32)
            if not self.amd:
                self.register("package_therm_status", own, ("=", (100 - (54 + k)) << 16 | 1 << 31))
        if self.spec.get("psys"):
            # Servers from Sapphire Rapids on count the platform in joules, whatever the register of units says.
            unit = 1 if self.spec.get("whole_joules") else 2**-14
            self.register("platform_energy_status", [c["cpu"] for c in self.cpus], ("s", PSYS_WATTS / unit), 32)

    def once_registers(self):
        self.once = {**(AMD_ONCE if self.amd else INTEL_ONCE)}
        if not self.amd:
            self.once |= {0xCE: (8 << 40) | (self.base_ratio << 8) | (7 << 28), 0x648: self.base_ratio}
        self.once |= self.spec["once"]
        if "only" in self.spec:
            self.once = {a: v for a, v in self.once.items() if a in self.spec["only"]}
        for address in self.spec["without"]:
            self.once.pop(address, None)
        self.lines += [f"msr {a:#x} * {v:#x} 0" for a, v in self.once.items()]

    # ---- cpuid ----

    def cpuid(self, leaf, subleaf, *regs, cpus="*"):
        self.lines.append(f"cpuid {leaf:#x} {subleaf} {cpus} " + " ".join(f"{r:#x}" for r in regs))

    def cpuids(self):
        model, guest = self.spec["model"], self.spec.get("guest")
        vendor = b"AuthenticAMD" if self.amd else b"GenuineIntel"
        word = [int.from_bytes(vendor[i:i + 4], "little") for i in (0, 4, 8)]
        self.cpuid(0, "*", 0x10 if self.amd else 0x1F, word[0], word[2], word[1])
        family = 0xF << 8 | 0xA << 20 if self.amd else 6 << 8
        for c in self.cpus:
            self.cpuid(1, "*", family | model >> 4 << 16 | (model & 15) << 4 | 1, c["cpu"] << 24 | 0x100800,
                       0x80000009 if guest else 9, 0x1FF0A031 | 1 << 22 | 1 << 29 | 1 << 5, cpus=c["cpu"])
            if c["big"] is not None:
                self.cpuid(0x1A, "*", 0x40000001 if c["big"] else 0x20000001, 0, 0, 0, cpus=c["cpu"])
        self.cpuid(6, "*", 0 if self.amd else 0xFC7, 2, 1 if self.amd else 9, 0)
        self.cpuid(7, 0, 0, 0, 0, 1 << 15 if "big" in self.spec else 0)
        self.cpuid(0x15, "*", 24000, round(self.tsc_hz / 1000), 24000000, 0)
        self.cpuid(0x16, "*", 100 * self.base_ratio, 4200, 100, 0)
        if guest:
            word = [int.from_bytes(guest.ljust(12, "\0").encode()[i:i + 4], "little") for i in (0, 4, 8)]
            self.cpuid(0x40000000, "*", 0x40000001, *word)
        self.cpuid(0x80000000, "*", 0x80000023 if self.amd else 0x80000008, 0, 0, 0)
        brand = f"Emulated {self.name}".ljust(48, "\0").encode()
        for k in range(3):
            self.cpuid(0x80000002 + k, "*", *(int.from_bytes(brand[16 * k + i:16 * k + i + 4], "little")
                                              for i in (0, 4, 8, 12)))
        self.cpuid(0x80000007, "*", 0, 0, 0, 1 << 8 | (1 << 14 | 1 << 7 | 1 << 9 if self.amd else 0))

    # ---- files ----

    def file(self, path, text):
        self.lines.append(f"file {path} {text}".replace("\n", "\\n"))

    def topology(self):
        top, last = "sys/devices/system/cpu", len(self.cpus) - 1
        for name in ("online", "present", "possible"):
            self.file(f"{top}/{name}", f"0-{last}\n")
        for c in self.cpus:
            at = f"{top}/cpu{c['cpu']}/topology"
            core, package = self.members(c, "package", "core"), self.members(c, "package")
            span = lambda cpus: f"{cpus[0]}-{cpus[-1]}" if len(cpus) > 1 else f"{cpus[0]}"
            self.file(f"{at}/physical_package_id", f"{c['package']}\n")
            self.file(f"{at}/die_id", "0\n")
            self.file(f"{at}/core_id", f"{c['core']}\n")
            self.file(f"{at}/cluster_id", f"{c['module']}\n")
            self.file(f"{at}/thread_siblings", f"{sum(1 << i for i in core):x}\n")
            for name, cpus in (("thread_siblings_list", core), ("core_cpus_list", core),
                               ("core_siblings_list", package), ("package_cpus_list", package)):
                self.file(f"{at}/{name}", span(cpus) + "\n")
            self.file(f"{top}/cpu{c['cpu']}/node{c['package']}/cpulist", span(package) + "\n")
            for index, level, kind, number, cpus in ((0, 1, "Data", core[0], core), (1, 1, "Instruction", core[0], core),
                                                     (2, 2, "Unified", core[0], core),
                                                     (3, 3, "Unified", c["package"], package)):
                for name, text in (("id", number), ("level", level), ("type", kind), ("shared_cpu_list", span(cpus))):
                    self.file(f"{top}/cpu{c['cpu']}/cache/index{index}/{name}", f"{text}\n")
        for c in self.leaders("package"):
            span_all = self.members(c, "package")
            self.file(f"sys/devices/system/node/node{c['package']}/cpulist", f"{span_all[0]}-{span_all[-1]}\n")
        nodes = self.spec["packages"] - 1
        self.file("sys/devices/system/node/online", f"0-{nodes}\n" if nodes else "0\n")
        if "big" in self.spec:
            for name, big in (("cpu_core", True), ("cpu_atom", False)):
                cpus = [c["cpu"] for c in self.cpus if c["big"] is big]
                self.file(f"sys/devices/{name}/cpus", f"{cpus[0]}-{cpus[-1]}\n")

    def counters_of_cpus(self):
        top = "sys/devices/system/cpu"
        states = (("POLL", "CPUIDLE CORE POLL IDLE", 10, 1000), ("C1", "MWAIT 0x00", 100, 50000),
                  ("C6", "MWAIT 0x20", 20, 300000))
        for c in self.cpus:
            i = c["cpu"]
            self.file(f"{top}/cpu{i}/power/energy_perf_bias", "6\n")
            self.file(f"{top}/cpu{i}/online", "1\n")
            self.file(f"{top}/cpu{i}/thermal_throttle/core_throttle_count", "{5,2}\n")
            self.file(f"{top}/cpu{i}/thermal_throttle/package_throttle_count", "0\n")
            for name, text in (("scaling_driver", "intel_pstate"), ("scaling_governor", "powersave"),
                               ("scaling_cur_freq", "2600000")):
                self.file(f"{top}/cpu{i}/cpufreq/{name}", text + "\n")
            for s, (name, desc, usage, time_us) in enumerate(states):
                at = f"{top}/cpu{i}/cpuidle/state{s}"
                for file, text in (("name", name), ("desc", desc), ("usage", f"{{{100 * i},{usage}}}"),
                                   ("time", f"{{{100 * i},{time_us}}}"), ("above", f"{{0,{3 * s}}}"),
                                   ("below", f"{{0,{s}}}"), ("disable", 0), ("latency", 10), ("residency", 20)):
                    self.file(f"{at}/{file}", f"{text}\n")

    def others(self):
        top, n = "sys/devices/system/cpu", len(self.cpus)
        for name, text in (("current_driver", "intel_idle"), ("current_governor", "menu"),
                           ("current_governor_ro", "menu")):
            self.file(f"{top}/cpuidle/{name}", text + "\n")
        if not self.amd:
            self.file(f"{top}/intel_pstate/no_turbo", "0\n")
            for c in self.leaders("package"):
                at = f"{top}/intel_uncore_frequency/package_{c['package']:02d}_die_00"
                for name, khz in (("current_freq_khz", 2200000 + 100000 * c["package"]), ("min_freq_khz", 800000),
                                  ("max_freq_khz", 2400000), ("initial_min_freq_khz", 800000),
                                  ("initial_max_freq_khz", 2400000)):
                    self.file(f"{at}/{name}", f"{khz}\n")
        for number in range(self.spec.get("uncore_domains", 0)):
            at = f"{top}/intel_uncore_frequency/uncore{number:02d}"
            for name, value in (("package_id", 0), ("domain_id", number), ("fabric_cluster_id", number % 2),
                                ("current_freq_khz", 1800000 + 50000 * number), ("min_freq_khz", 800000),
                                ("max_freq_khz", 2500000), ("initial_min_freq_khz", 800000),
                                ("initial_max_freq_khz", 2500000)):
                self.file(f"{at}/{name}", f"{value}\n")
        if self.spec.get("gfx"):
            self.file(f"{top}/cpuidle/low_power_idle_cpu_residency_us", "{0,250000}\n")
            self.file(f"{top}/cpuidle/low_power_idle_system_residency_us", "{0,125000}\n")
            for at in ("sys/class/drm/card0/gt/gt0",):
                self.file(f"{at}/rc6_residency_ms", "{0,900}\n")
                self.file(f"{at}/rps_cur_freq_mhz", "350\n")
                self.file(f"{at}/rps_act_freq_mhz", "300\n")
            # The second one is that of the media engines.
            self.file("sys/class/drm/card0/gt/gt1/rc6_residency_ms", "{0,450}\n")
            self.file("sys/class/drm/card0/gt/gt1/rps_cur_freq_mhz", "650\n")
            self.file("sys/class/drm/card0/gt/gt1/rps_act_freq_mhz", "600\n")
            self.file("sys/class/drm/card0/power/rc6_residency_ms", "{0,900}\n")
            self.file("sys/class/drm/card0/gt_cur_freq_mhz", "350\n")
            self.file("sys/class/drm/card0/gt_act_freq_mhz", "300\n")
            self.file("sys/class/graphics/fb0/device/drm/card0/gt_cur_freq_mhz", "350\n")
            self.file("sys/class/graphics/fb0/device/drm/card0/gt_act_freq_mhz", "300\n")
        zeros = " 0" * 10
        self.file("proc/stat", f"cpu {zeros[1:]}\n" + "".join(f"cpu{i}{zeros}\n" for i in range(n)) +
                  "intr 0\nctxt 0\n")
        self.file("proc/interrupts", "      " + "".join(f"     CPU{i}" for i in range(n)) + "\n  0:" +
                  "".join(f" {{0,{100 * (i + 1)}}}" for i in range(n)) + "  IO-APIC 2-edge timer\nNMI:" +
                  " {0,1}" * n + " Non-maskable interrupts\n")
        self.file("proc/sys/kernel/osrelease", "6.12.0-rig\n")
        self.file("proc/sys/kernel/arch", "x86_64\n")
        self.file("proc/sys/kernel/hostname", f"{self.name}\n")

    def build(self):
        self.lines += ["epoch 1000", f"tsc {self.tsc_hz:.0f}", f"cpus {len(self.cpus)}", f"unknown {self.spec.get('unknown', 'error')}"]
        self.cpuids()
        self.cpu_registers()
        self.core_registers()
        self.package_registers()
        self.once_registers()
        self.topology()
        self.counters_of_cpus()
        self.others()
        self.profile = "\n".join(self.lines) + "\n"


def build(name, tsc_mhz=None):
    return Machine(name, tsc_mhz)


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in MACHINES:
        sys.exit(f"usage: machines.py NAME, one of: {' '.join(MACHINES)}")
    sys.stdout.write(build(sys.argv[1]).profile)
