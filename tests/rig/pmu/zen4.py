"""One EPYC 9004 with two memory controllers."""
import zen

CPUS = [0, 0, 0, 0]
CPUID = "AuthenticAMD-25-11-1"
CPUINFO = zen.cpuinfo(25, 17, len(CPUS))
HARDWARE = zen.HARDWARE
PMUS = {"cpu": zen.CORE, **zen.umcs(2), **zen.fabric(16, "config:0-7,32-37", "config:8-15,24-27"), **zen.l3()}
METRICS = {**zen.UMC_METRICS, **zen.L3_METRICS}
# One socket has nobody to talk to.
ASKED = {**zen.ZEN4_LINK_METRICS, **zen.DMA_METRICS[4]}
