"""What a Xeon need not be: sockets 0 and 2, CPUs that take turns between them, two of them offline, controllers with gaps in their
numbers, masks that name the last CPU of a socket, forty slices of cache, and a core PMU without caps."""
import intel

CPUS = [0, 2, 0, 2, 0, 2, 0, 2]
OFFLINE = [0, 5]
CPUID = "GenuineIntel-6-6A-6"
CPUINFO = intel.cpuinfo(0x6a, len(CPUS))
HARDWARE = intel.HARDWARE
IMCS = intel.imcs(8, 20, "event=0x04,umask=0x0f", "event=0x04,umask=0x30", "event=0x00")
PMUS = {"cpu": dict(intel.core("icelake", intel.SHARES), caps={}),
        **{name: dict(imc, on=[6, 7]) for name, imc in IMCS.items() if name[-1] in "0367"},
        **{name: dict(pmu, on=[4, 3]) for name, pmu in intel.uncore(40, 3, 2).items() if name != "uncore_upi_1"}}
METRICS = {**intel.memory(), **intel.CHA_METRICS, **intel.UPI_METRICS, **intel.iio_metrics()}
