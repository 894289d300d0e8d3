"""Units that a kernel need not give: controllers with two counters and gaps in their numbers, without masks, scales and units, and one with
half of them; PCIe in words other than MiB; QPI."""
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
FORM = {"event": "config:0-7,21", "umask": "config:8-15"}
QPI = {"drs_data": ("event=0x102,umask=0x08",), "ncb_data": ("event=0x103,umask=0x04",)}
PMUS = {"cpu": intel.core("broadwell", {}),
        **{name: dict(IMCS[name], general=2, bare=True, events=EVENTS[name[-1] == "5"]) for name in ("uncore_imc_0", "uncore_imc_1", "uncore_imc_4", "uncore_imc_5")},
        **{name: dict(pmu, events={k: (v[0], *words) for k, v in pmu["events"].items()}) for (name, pmu), words in zip(PORTS.items(), WORDS)},
        **{f"uncore_qpi_{i}": dict(type=60 + i, kind="uncore", general=4, format=FORM, events=QPI, rates={v[0]: 2e8 * (k + 1) + 1e7 * i for k, v in enumerate(QPI.values())}) for i in (0, 1)}}
METRICS = {**intel.memory(), **intel.iio_metrics(4),
           "link.out_bw": lambda m, p: sum(m.sum("uncore_qpi_", e, p) for e in QPI) * 8 / 1e9}
