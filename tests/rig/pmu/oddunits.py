"""Units that a kernel need not give: controllers with two counters and gaps in their numbers, without masks, scales and units, and one with
half of them; PCIe in words other than MiB."""
import intel

CPUS = [0, 0, 1, 1]
CPUID = "GenuineIntel-6-4F-1"
CPUINFO = intel.cpuinfo(0x4f, len(CPUS))
HARDWARE = intel.HARDWARE
READ, WRITE = "event=0x4,umask=0x3", "event=0x4,umask=0xc"
IMCS = intel.imcs(6, 20, READ, WRITE, "event=0x0")
EVENTS = [{"cas_count_read": (READ,), "cas_count_write": (WRITE,)},
          {"cas_count_read": (READ, "6.103515625e-5"), "cas_count_write": (WRITE, "6.4e-5", "MB")}]
PORTS = intel.uncore(0, 0, 3, 4, 0x24, "")
WORDS = [("4", "Bytes"), ("0.00390625", "KiB"), ("4e-9", "GB")]
PMUS = {"cpu": intel.core("broadwell", {}),
        **{name: dict(IMCS[name], general=2, bare=True, events=EVENTS[name[-1] == "5"]) for name in ("uncore_imc_0", "uncore_imc_1", "uncore_imc_4", "uncore_imc_5")},
        **{name: dict(pmu, events={k: (v[0], *words) for k, v in pmu["events"].items()}) for (name, pmu), words in zip(PORTS.items(), WORDS)}}
METRICS = {**intel.memory(), **intel.iio_metrics(4)}
