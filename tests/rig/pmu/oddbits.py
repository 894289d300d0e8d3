"""What formats of sysfs may be: numbers in pieces that are out of order, and terms in three words. Four nodes a socket (NPS4)."""
import intel
import zen

CPUS = [0] * 4 + [1] * 4
NODES = list(range(8))
CPUID = "AuthenticAMD-26-2-1"
CPUINFO = zen.cpuinfo(26, 2, len(CPUS))
HARDWARE = zen.HARDWARE
ODD = {"event": "config:0-3,8-11,60-63", "umask": "config:4-7,32-33", "low": "config1:0-7,16-19", "high": "config2:40-43"}
PMUS = {"cpu": zen.CORE, **zen.umcs(24, 2), **zen.l3(),
        "odd_pmu_0": dict(type=90, kind="uncore", general=4, format=ODD,
                          events={"pieces": ("event=0xabc,umask=0x3f",), "words": ("event=0x5,low=0x9a5,high=0x3",),
                                  "scaled": ("event=0x7", "0.5", "By")},
                          rates={"event=0xabc,umask=0x3f": 5e8, "event=0x5,low=0x9a5,high=0x3": 7e8, "event=0x7": 4e8})}
METRICS = {**zen.UMC_METRICS, **zen.L3_METRICS}
