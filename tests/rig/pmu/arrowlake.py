"""A client with three kinds of cores: fast ones, efficient ones, and those of the low-power island. Its memory controllers have counters that
always run, with names, and others that the kernel has no names for."""
import alderlake
import intel

CPUS = [0] * 6
CPUID = "GenuineIntel-6-C5-2"
CPUINFO = intel.cpuinfo(0xc5, len(CPUS))
HARDWARE = intel.HARDWARE
ATOM = alderlake.PMUS["cpu_atom"]
PMUS = {"cpu_core": dict(alderlake.FAST, cpus=[0, 1], general=10, format={**alderlake.FAST["format"], "umask": "config:8-15,40-47"}), "cpu_atom": dict(ATOM, cpus=[2, 3], general=8),
        "cpu_lowpower": dict(ATOM, type=11, cpus=[4, 5], general=8, rates={"event=0x3c": 9e8, "event=0xc0": 7e8, "event=0x00,umask=0x03": 8e8}),
        **{k: v for k, v in alderlake.PMUS.items() if k.startswith("uncore_")},
        **{f"uncore_imc_{i}": dict(type=30 + i, kind="uncore", general=5, format={"event": "config:0-7", "chmask": "config:8-11", "edge": "config:18"})
           for i in range(2)},
        **{f"uncore_cbox_{i}": dict(type=40 + i, kind="uncore", general=2, format={"event": "config:0-7", "umask": "config:8-15"}) for i in range(4)}}
METRICS = alderlake.METRICS
