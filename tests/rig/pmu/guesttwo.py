"""A guest whose hypervisor gives it two counters, nothing fixed and no caps."""
import intel
CPUS = [0, 0, 0, 0]
CPUID = "GenuineIntel-6-8F-6"
CPUINFO = intel.cpuinfo(0x8f, len(CPUS))
HARDWARE = intel.HARDWARE
C = intel.core("x", {})
PMUS = {"cpu": dict(C, general=2, fixed={}, only_fixed=[], caps={}, events={k: v for k, v in C["events"].items() if k not in ("slots", "ref-cycles")})}
METRICS = {"mem.bw": None}
