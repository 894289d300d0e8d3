"""Two sockets of a Xeon of the first generation with hyper-threads: four general counters, no slots, six channels of memory."""
import intel

CPUS = [0, 0, 1, 1]
CPUID = "GenuineIntel-6-55-4"
CPUINFO = intel.cpuinfo(0x55, len(CPUS))
HARDWARE = intel.HARDWARE
CORE = intel.core("skylake", {})
PMUS = {"cpu": dict(CORE, general=4, format=dict(intel.FORMAT, any="config:21"), events={k: v for k, v in CORE["events"].items() if k != "slots"},
                    fixed={"event=0xc0": 0, "event=0x3c": 1, "event=0x00,umask=0x03": 2}, only_fixed=["event=0x00,umask=0x03"]),
        **intel.imcs(6, 20, "event=0x04,umask=0x03", "event=0x04,umask=0x0c", "event=0x00"),
        **intel.uncore(0, 2, 2, 4, 0x24, "")}
METRICS = {**intel.memory(), **intel.UPI_METRICS, **intel.iio_metrics(4)}
