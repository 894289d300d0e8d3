"""EPYC 9004 under a kernel that has no PMU of its memory controllers: the fabric counts reads and writes of each channel."""
import zen

CPUS = [0, 0]
CPUID = "AuthenticAMD-25-11-1"
CPUINFO = zen.cpuinfo(25, 17, len(CPUS))
HARDWARE = zen.HARDWARE
PMUS = {"cpu": zen.CORE, **zen.fabric(16, "config:0-7,32-37", "config:8-15,24-27")}
METRICS = zen.BEATS_METRICS
