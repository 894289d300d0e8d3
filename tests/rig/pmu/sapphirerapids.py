"""Two sockets of a Xeon of the fourth generation, four memory controllers each."""
import intel

CPUS = [0, 0, 1, 1]
CPUID = "GenuineIntel-6-8F-6"
CPUINFO = intel.cpuinfo(0x8f, len(CPUS))
HARDWARE = intel.HARDWARE
PMUS = {"cpu": intel.core("sapphire_rapids", {**intel.SHARES, **intel.MORE_SHARES}),
        **intel.imcs(4, 20, "event=0x05,umask=0xcf", "event=0x05,umask=0xf0", "event=0x01"),
        **intel.uncore(4, 3, 2),
        **{f"uncore_acme_{i}": dict(type=90 + i, kind="uncore", by_metrics=True, general=4, format={"event": "config:0-7"}) for i in range(3)}}
METRICS = {**intel.memory(), **intel.CHA_METRICS, **intel.UPI_METRICS, **intel.iio_metrics()}
