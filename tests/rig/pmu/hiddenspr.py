"""A Xeon of the fourth generation whose registers nobody may read: perf has msr, power and cstate instead."""
import intel

CPUS = [0, 0, 1, 1]
CPUID = "GenuineIntel-6-8F-6"
CPUINFO = intel.cpuinfo(0x8f, len(CPUS))
HARDWARE = intel.HARDWARE
PMUS = {"cpu": intel.core("sapphire_rapids", {**intel.SHARES, **intel.MORE_SHARES}), **intel.hidden(300)}
METRICS = {"mem.bw": None}
