"""Slots that are not told apart, and three memory controllers."""
import intel
CPUS = [0, 0, 1, 1]
CPUID = "GenuineIntel-6-8F-6"
CPUINFO = intel.cpuinfo(0x8f, len(CPUS))
HARDWARE = intel.HARDWARE
PMUS = {"cpu": intel.core("sapphire_rapids", {}), **intel.imcs(3, 20, "event=0x05,umask=0xcf", "event=0x05,umask=0xf0", "event=0x01")}
METRICS = intel.memory()
