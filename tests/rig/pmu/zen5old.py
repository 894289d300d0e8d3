"""Two sockets of EPYC 9005 under a kernel that has no PMU of its memory controllers."""
import zen

CPUS = [0, 0, 1, 1]
CPUID = "AuthenticAMD-26-2-1"
CPUINFO = zen.cpuinfo(26, 2, len(CPUS))
HARDWARE = zen.HARDWARE
PMUS = {"cpu": zen.CORE, **zen.fabric(16, "config:0-7,32-37", "config:8-15,24-27"), **zen.l3()}
METRICS = {**zen.BEATS_METRICS, **zen.L3_METRICS}
