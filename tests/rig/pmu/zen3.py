"""Two sockets of EPYC 7003: no PMU of the memory controllers, the data fabric counts."""
import zen

CPUS = [0, 0, 1, 1]
CPUID = "AuthenticAMD-25-1-1"
CPUINFO = zen.cpuinfo(25, 1, len(CPUS))
HARDWARE = zen.HARDWARE
PMUS = {"cpu": zen.CORE, **zen.fabric(4), **zen.l3()}
METRICS = {**zen.DF_METRICS, **zen.L3_METRICS}
# The fabric has four counters, which memory takes: asked for, not recorded by default.
ASKED = zen.LINK_METRICS
