"""One EPYC 8005 or the like with two memory controllers."""
import zen

CPUS = [0, 0]
CPUID = "AuthenticAMD-26-11-0"
CPUINFO = zen.cpuinfo(26, 17, len(CPUS))
HARDWARE = zen.HARDWARE
PMUS = {"cpu": zen.CORE, **zen.umcs(2), **zen.fabric(16, "config:0-7,32-37", "config:8-15,24-27")}
METRICS = zen.UMC_METRICS
