"""Two sockets of HiSilicon Kunpeng 920, two dies each: every die has its own cache and controllers."""
import intel
import neoverse

CPUS = [0, 0, 1, 1]
CPUID = "0x00000000480fd010"
CPUINFO = neoverse.cpuinfo(0xd01, len(CPUS)).replace("0x41", "0x48")
HARDWARE = neoverse.HARDWARE
DIES = ((0, 1), (0, 3), (1, 5), (1, 7))
# What its metrics name beside the codes of its own (the kernel's drivers/perf/arm_pmuv3.c).
NAMED = {"inst_spec": 0x1b, "l2i_cache": 0x27, "l2i_cache_refill": 0x28, "l2i_tlb_refill": 0x2e, "l2i_tlb": 0x30}
PMUS = {"armv8_pmuv3_0": dict(neoverse.CORE, events={**neoverse.CORE["events"], **{k: (f"event={code:#x}",) for k, code in NAMED.items()}})}
for at, (socket, die) in enumerate(DIES):
    PMUS.update(neoverse.units(4, f"hisi_sccl{die}_ddrc{{}}", 30 + 10 * at, {"flux_wr": (0x00, 2e8), "flux_rd": (0x01, 7e8)}, package=socket))
    PMUS.update(neoverse.units(2, f"hisi_sccl{die}_l3c{{}}", 80 + 10 * at, {"rd_cpipe": (0x00, 4e8), "wr_cpipe": (0x01, 2e8), "rd_hit_cpipe": (0x02, 3e8),
                                                                      "wr_hit_cpipe": (0x03, 1e8)}, package=socket))
    PMUS.update(neoverse.units(2, f"hisi_sccl{die}_hha{{}}", 130 + 10 * at, {"rx_ops_num": (0x00, 3e8), "rx_outer": (0x01, 5e7)}, package=socket))
READ, WRITE = (lambda m, p, e=e: sum(m.sum(f"hisi_sccl{d}_ddrc", e, p) for _, d in DIES) * 32 / 1e9 for e in ("flux_rd", "flux_wr"))
CACHE = lambda m, p, e: sum(m.sum(f"hisi_sccl{d}_l3c", e, p) for _, d in DIES)
METRICS = {"mem.read_bw": READ, "mem.write_bw": WRITE, "mem.bw": lambda m, p: READ(m, p) + WRITE(m, p),
           "llc.hit_share": lambda m, p: 100 * (CACHE(m, p, "rd_hit_cpipe") + CACHE(m, p, "wr_hit_cpipe"))
           / (CACHE(m, p, "rd_cpipe") + CACHE(m, p, "wr_cpipe"))}
