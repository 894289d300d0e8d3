"""Two sockets of EPYC 9005 with twelve memory controllers of one channel each: 24 PMUs."""
import zen

CPUS = [0, 0, 1, 1]
CPUID = "AuthenticAMD-26-2-1"
CPUINFO = zen.cpuinfo(26, 2, len(CPUS))
HARDWARE = zen.HARDWARE
PMUS = {"cpu": zen.CORE, **zen.umcs(24, 2), **zen.fabric(16, "config:0-7,32-37", "config:8-15,24-27"), **zen.l3()}
METRICS = {**zen.UMC_METRICS, **zen.L3_METRICS, **zen.ZEN5_LINK_METRICS}
# The rest of the fabric's counters is too little.
ASKED = zen.DMA_METRICS[5]
