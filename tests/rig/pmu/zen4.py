"""One EPYC 9004 with two memory controllers: six general counters a core, nothing fixed (arch/x86/events/amd: core.c, uncore.c)."""
CPUS = [0, 0, 0, 0]
CPUID = "AuthenticAMD-25-11-1"
CPUINFO = "\n".join(f"processor\t: {i}\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\nstepping\t: 1\n"
                    for i in range(len(CPUS)))
HARDWARE = [0x76, 0xc0, 0xff60, 0x964, 0xc2, 0xc3]
UMC = {"event": "config:0-7", "rdwrmask": "config:8-9"}
PMUS = {
    "cpu": dict(type=4, kind="core", general=6,
                format={"event": "config:0-7,32-35", "umask": "config:8-15", "edge": "config:18", "inv": "config:23",
                        "cmask": "config:24-31"},
                events={"cpu-cycles": ("event=0x76",), "instructions": ("event=0xc0",),
                        "branch-instructions": ("event=0xc2",), "branch-misses": ("event=0xc3",)},
                rates={"event=0x76": 3.1e9, "event=0xc0": 5e9, "event=0xc2": 8e8, "event=0xc3": 8e6}, caps={}),
    # The driver does not look whether a group can ever run.
    **{f"amd_umc_{i}": dict(type=30 + i, kind="uncore", general=4, checks=False, format=UMC,
                            rates={"event=0x0a,rdwrmask=0x1": 3e8 + 1e7 * i, "event=0x0a,rdwrmask=0x2": 1e8 + 1e7 * i,
                                   "event=0x00": 2.4e9})
       for i in range(2)},
    "amd_df": dict(type=28, kind="uncore", general=16, checks=False,
                   format={"event": "config:0-7,32-37", "umask": "config:8-15,24-27"}),
}
