"""Two sockets of the next Kunpeng (HiSilicon's hip09), the first CPU of the second one offline: controllers named with a part, a cache that
counts references and hits, and links whose events have no size."""
import kunpeng920
import neoverse

CPUS = [0, 0, 1, 1]
OFFLINE = [2]
CPUID = "0x00000000480fd020"
CPUINFO = neoverse.cpuinfo(0xd02, len(CPUS)).replace("0x41", "0x48")
HARDWARE = neoverse.HARDWARE
PMUS = {"armv8_pmuv3_0": neoverse.CORE}
for at, (socket, die) in enumerate(kunpeng920.DIES):
    for first, name, n, events in ((30, f"hisi_sccl{die}_ddrc{{}}_0", 4, {"cycles": (0x00, 1e9), "flux_wr": (0x83, 2e8), "flux_rd": (0x84, 7e8)}),
                                   (40, f"hisi_sccl{die}_l3c{{}}", 2, {"l3c_hit": (0x48, 3e8), "cycles": (0x7f, 2e9), "l3c_ref": (0xb8, 4e8)}),
                                   (50, f"hisi_sccl{die}_hha{{}}", 1, {"rx_ops_num": (0x00, 3e8), "rx_outer": (0x01, 5e7)}),
                                   (60, f"hisi_sicl{die - 1}_pa{{}}", 2, {"rx_req": (0x40, 3e8), "tx_req": (0x5c, 5e7), "cycle": (0x78, 1e9)})):
        PMUS.update(neoverse.units(n, name, first + 100 * at, events, package=socket))
METRICS = {**{k: kunpeng920.METRICS[k] for k in ("mem.read_bw", "mem.write_bw", "mem.bw")}, "link.out_bw": None, "link.in_bw": None,
           "llc.hit_share": lambda m, p: 100 * kunpeng920.CACHE(m, p, "l3c_hit") / kunpeng920.CACHE(m, p, "l3c_ref")}
