"""Two sockets of a Xeon of the third generation, eight channels of memory each."""
import intel

CPUS = [0, 0, 1, 1]
CPUID = "GenuineIntel-6-6A-6"
CPUINFO = intel.cpuinfo(0x6a, len(CPUS))
HARDWARE = intel.HARDWARE
PMUS = {"cpu": intel.core("icelake", intel.SHARES),
        **intel.imcs(8, 20, "event=0x04,umask=0x0f", "event=0x04,umask=0x30", "event=0x00"),
        **intel.uncore(4, 2, ext=intel.ICELAKE)}
METRICS = {**intel.memory(), **intel.cha_metrics(*intel.LOOKUPS[intel.ICELAKE]), **intel.UPI_METRICS}
