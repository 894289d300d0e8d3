"""Two sockets of a Xeon of the fifth generation, each split into two nodes (SNC2): eight memory controllers a socket, which sysfs gives to
no node."""
import intel

CPUS = [0, 0, 0, 0, 1, 1, 1, 1]
NODES = [0, 0, 1, 1, 2, 2, 3, 3]
CPUID = "GenuineIntel-6-CF-2"
CPUINFO = intel.cpuinfo(0xcf, len(CPUS))
HARDWARE = intel.HARDWARE
PMUS = {"cpu": intel.core("sapphire_rapids", {**intel.SHARES, **intel.MORE_SHARES}),
        **intel.imcs(8, 20, "event=0x05,umask=0xcf", "event=0x05,umask=0xf0", "event=0x01"),
        **intel.uncore(6, 4, 2)}
METRICS = {**intel.memory(), **intel.CHA_METRICS, **intel.UPI_METRICS, **intel.iio_metrics()}
