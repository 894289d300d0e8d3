"""One socket of a Xeon of the sixth generation: twelve memory controllers, each with two schedulers that count by themselves."""
import intel

CPUS = [0, 0, 0, 0]
CPUID = "GenuineIntel-6-AD-1"
CPUINFO = intel.cpuinfo(0xad, len(CPUS))
HARDWARE = intel.HARDWARE
MIB = ("6.103515625e-5", "MiB")
TERMS = {"cas_count_read_sch0": "event=0x05,umask=0xcf", "cas_count_read_sch1": "event=0x06,umask=0xcf",
         "cas_count_write_sch0": "event=0x05,umask=0xf0", "cas_count_write_sch1": "event=0x06,umask=0xf0"}
PMUS = {"cpu": intel.core("granite_rapids", {**intel.SHARES, **intel.MORE_SHARES}),
        **{name: dict(imc, events={**{k: (v, *MIB) for k, v in TERMS.items()}, "clockticks": ("event=0x01",)},
                      rates={"event=0x01": 2.8e9, **{v: 1e8 * (i + 1) + imc["type"] * 1e6 for i, v in enumerate(TERMS.values())}})
           for name, imc in intel.imcs(12, 20, *list(TERMS.values())[:2], "event=0x01").items()},
        **intel.uncore(4)}
METRICS = {**intel.memory(("cas_count_read_sch0+cas_count_read_sch1", "cas_count_write_sch0+cas_count_write_sch1")), **intel.CHA_METRICS}
