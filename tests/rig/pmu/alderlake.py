"""A client with two kinds of cores: two performance cores, two efficient ones, which have six general counters and no slots."""
import intel

CPUS = [0, 0, 0, 0]
CPUID = "GenuineIntel-6-97-2"
CPUINFO = intel.cpuinfo(0x97, len(CPUS))
HARDWARE = intel.HARDWARE
FAST = intel.core("alderlake_hybrid", {**intel.SHARES, **intel.MORE_SHARES})
PMUS = {"cpu_core": dict(FAST, cpus=[0, 1]),
        "cpu_atom": dict(FAST, type=10, cpus=[2, 3], general=6, metric=(), only_fixed=["event=0x00,umask=0x03"],
                         events={k: v for k, v in FAST["events"].items() if k != "slots" and "topdown" not in k},
                         rates={"event=0x3c": 2.2e9, "event=0xc0": 2e9, "event=0x00,umask=0x03": 1.8e9},
                         fixed={"event=0xc0": 0, "event=0x3c": 1, "event=0x00,umask=0x03": 2}),
        **{f"uncore_imc_free_running_{i}":
           dict(type=20 + i, kind="uncore", general=4, format={"event": "config:0-7", "umask": "config:8-15"},
                events={f"data_{way}": (f"event=0xff,umask={n}", "6.103515625e-5", "MiB") for n, way in ((0x10, "total"), (0x20, "read"), (0x30, "write"))},
                rates={"event=0xff,umask=0x10": 3e8, "event=0xff,umask=0x20": 2e8, "event=0xff,umask=0x30": 1e8}) for i in range(2)}}
METRICS = intel.memory(("data_read", "data_write"), "uncore_imc_free_")
