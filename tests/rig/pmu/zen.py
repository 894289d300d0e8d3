"""What AMD's server processors have in common: six general counters a core, nothing fixed (arch/x86/events/amd: core.c, uncore.c)."""
import intel

HARDWARE = [0x76, 0xc0, 0xff60, 0x964, 0xc2, 0xc3]
UMC = {"event": "config:0-7", "rdwrmask": "config:8-9"}
CORE = dict(type=4, kind="core", general=6,
            format={"event": "config:0-7,32-35", "umask": "config:8-15", "edge": "config:18", "inv": "config:23",
                    "cmask": "config:24-31"},
            events={"cpu-cycles": ("event=0x76",), "instructions": ("event=0xc0",), "branch-instructions": ("event=0xc2",),
                    "branch-misses": ("event=0xc3",)},
            rates={"event=0x76": 3.1e9, "event=0xc0": 5e9, "event=0xc2": 8e8, "event=0xc3": 8e6}, caps={})


def cpuinfo(family, model, n):
    return "\n".join(f"processor\t: {i}\nvendor_id\t: AuthenticAMD\ncpu family\t: {family}\nmodel\t\t: {model}\nstepping\t: 1\n"
                     for i in range(n))


def umcs(n, packages=1):
    """Memory controllers, each in one package. The driver does not look whether a group can ever run."""
    return {f"amd_umc_{i}": dict(type=30 + i, kind="uncore", general=4, checks=False, package=i * packages // n, format=UMC,
                                 rates={"event=0x0a,rdwrmask=0x1": 3e8 + 1e7 * i, "event=0x0a,rdwrmask=0x2": 1e8 + 1e7 * i,
                                        "event=0x00": 2.4e9})
            for i in range(n)}


UMC_METRICS = intel.memory(("event=0x0a,rdwrmask=0x1", "event=0x0a,rdwrmask=0x2"), "amd_umc_")
L3 = ("event=0x04,umask=0xff", "event=0x04,umask=0x01")
L3_METRICS = {"llc.hit_share": lambda m, p: 100 * (1 - m.sum("amd_l3", L3[1], p) / m.sum("amd_l3", L3[0], p))}
DRAM = [f"event={0x07 + 0x40 * i:#x},umask=0x38" for i in range(8)]
DF_METRICS = {"mem.bw": lambda m, p: sum(m.sum("amd_df", e, p) for e in DRAM) * 64 / 1e9}


def l3():
    return {"amd_l3": dict(type=27, kind="uncore", general=6, checks=False, rates={L3[0]: 4e8, L3[1]: 1e8},
                           format={"event": "config:0-7", "umask": "config:8-15"})}


LINKS = [f"event={0x7c7 + 0x40 * i:#x},umask=0x02" for i in range(4)]
LINK_METRICS = {"link.out_bw": lambda m, p: sum(m.sum("amd_df", e, p) for e in LINKS) * 32 / 1e9}
def carried(events, mask):
    return lambda m, p: sum(m.sum("amd_df", f"event={e:#x},umask={mask:#x}", p) for e in events) * 64 / 1e9


# Zen 4 counts what each of eight links sends, Zen 5 both ways of six; and what devices write and read through four or eight root complexes.
SENT = {4: range(0xb5f, 0xd60 - 1, 0x40), 5: range(0xd5f, 0xea0, 0x40)}
DMA = {4: range(0x81f, 0x8e0, 0x40), 5: range(0x81f, 0x9e0, 0x40)}
ZEN4_LINK_METRICS = {"link.out_bw": carried(SENT[4], 0xf3e)}
ZEN5_LINK_METRICS = {"link.out_bw": carried(SENT[5], 0xf3e), "link.in_bw": carried(SENT[5], 0xf3f)}
DMA_METRICS = {zen: {"pcie.in_bw": carried(events, 0xfff), "pcie.out_bw": carried(events, 0xffe)} for zen, events in DMA.items()}
# Since Zen 4: read and written beats of twelve channels.
BEATS = [[f"event={0x1f + 0x40 * i:#x},umask={mask:#x}" for i in range(12)] for mask in (0xffe, 0xfff)]
BEATS_METRICS = intel.memory(["+".join(way) for way in BEATS], "amd_df")


def fabric(general, event="config:0-7,32-35,59-60", umask="config:8-15"):
    events = [*DRAM, *LINKS] if umask == "config:8-15" else BEATS[0] + BEATS[1]
    return {"amd_df": dict(type=28, kind="uncore", general=general, checks=False, format={"event": event, "umask": umask},
                           rates={e: 1e8 * (i + 1) for i, e in enumerate(events)})}
