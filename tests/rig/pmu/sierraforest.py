"""Two sockets of a Xeon of the sixth generation with efficient cores: topdown events without slots, twelve memory controllers and 40 slices a
socket, whose masks have the width of newer kernels."""
import graniterapids
import intel

CPUS = [0, 0, 1, 1]
CPUID = "GenuineIntel-6-AF-3"
CPUINFO = intel.cpuinfo(0xaf, len(CPUS))
HARDWARE = intel.HARDWARE
CORE = intel.core("sierra_forest", {})
TOPDOWN = {"topdown-retiring": ("event=0x72", 8e9), "topdown-bad-spec": ("event=0x73", 2e9), "topdown-fe-bound": ("event=0x9c,umask=0x01", 4e9),
           "topdown-be-bound": ("event=0xa4,umask=0x02", 6e9)}
PMUS = {"cpu": dict(CORE, events={**{k: v for k, v in CORE["events"].items() if k != "slots"}, **{k: (t,) for k, (t, _) in TOPDOWN.items()}},
                    rates={**CORE["rates"], **dict(TOPDOWN.values())}, fixed={"event=0xc0": 0, "event=0x3c": 1, "event=0x00,umask=0x03": 2},
                    only_fixed=["event=0x00,umask=0x03"]),
        **{k: v for k, v in graniterapids.PMUS.items() if k.startswith("uncore_imc_")},
        **intel.uncore(40, 4, ext=",32-63"),
        **{f"uncore_b2cmi_{i}": dict(type=300 + i, kind="uncore", by_metrics=True, general=4, format={"event": "config:0-7", "umask": "config:8-15,32-63"})
           for i in range(12)}}
METRICS = {**{k: v for k, v in graniterapids.METRICS.items()}, **intel.UPI_METRICS}
