"""Two sockets of a Kunpeng whose caches are of the third version: each counts in three spaces, and names other events."""
import kunpeng920
import kunpenghip09
import neoverse

CPUS = [0, 0, 1, 1]
CPUID = "0x00000000480fd030"
CPUINFO = neoverse.cpuinfo(0xd03, len(CPUS)).replace("0x41", "0x48")
HARDWARE = neoverse.HARDWARE
FORM = {"event": "config:0-7", "ext": "config:16-17", "tt_req": "config1:8-10", "tt_core": "config2:0-15"}
READS = [[f"event={code:#x},ext={space}" for space in range(3)] for code in (0x19, 0x18)]
CACHE = dict(kind="uncore", general=24, format=FORM, events={"rd_spipe": ("event=0x18",), "rd_hit_spipe": ("event=0x19",), "l3c_ref": ("event=0xbc",)},
             rates={t: rate * (1 + space / 2) for terms, rate in zip(READS, (1e8, 4e8)) for space, t in enumerate(terms)} | {READS[0][2]: 7e8})
PMUS = {**{k: v for k, v in kunpenghip09.PMUS.items() if "_l3c" not in k},
        **{f"hisi_sccl{die}_l3c{i}_0": dict(CACHE, type=40 + 100 * at + i, package=socket)
           for at, (socket, die) in enumerate(kunpeng920.DIES) for i in range(2)}}
HIT, ALL = (lambda m, p, t=t: sum(kunpeng920.CACHE(m, p, one) for one in t) for t in READS)
METRICS = {**{k: kunpeng920.METRICS[k] for k in ("mem.read_bw", "mem.write_bw", "mem.bw")}, "llc.hit_share": lambda m, p: 100 * HIT(m, p) / ALL(m, p)}
