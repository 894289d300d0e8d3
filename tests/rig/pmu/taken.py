"""Two CPUs of four counters, and two PMUs of the mainboard: one with a filter that it has once, one that lets one user in at a time."""
import intel

CPUS = [0, 0]
CPUID = "GenuineIntel-6-6A-6"
CPUINFO = intel.cpuinfo(0x6a, len(CPUS))
HARDWARE = intel.HARDWARE
PMUS = {"cpu": dict(intel.core("icelake", {}), general=4),
        "acme_link": dict(type=30, kind="uncore", general=4, format={"event": "config:0-7", "port": "config:8-11"}, filter="port"),
        "acme_trace": dict(type=31, kind="uncore", general=4, format={"event": "config:0-7"}, alone=True)}
