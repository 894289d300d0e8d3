"""Two sockets of Ampere Altra: DMC-620, whose events have a filter by direction, beside a CMN-600."""
import intel
import neoverse

CPUS = [0, 0, 1, 1]
CPUID = "0x00000000413fd0c1"
CPUINFO = neoverse.cpuinfo(0xd0c, len(CPUS)).replace("0x41", "0x41")
HARDWARE = neoverse.HARDWARE
FORM = {"mask": "config:0-44", "match": "config1:0-44", "invert": "config2:0", "incr": "config2:1-2", "event": "config2:3-8", "clkdiv2": "config2:9"}
WAY = [f"event=0x12,clkdiv2=0x1,mask=0x1,match={i}" for i in range(2)]
SOC = "jep106:0a16:0001"
MESH, ASKED = neoverse.linked(neoverse.mesh("43400"), (0, 448))
PMUS = {"armv8_pmuv3_0": neoverse.CORE, "arm_cmn_0": MESH,
        **{f"arm_dmc620_1000{i:x}c000": dict(type=60 + i, kind="uncore", general=8, format=FORM, events={"clkdiv2_rdwr": ("event=0x12,clkdiv2=0x1",)},
                                             rates={WAY[0]: 3e8 + 1e7 * i, WAY[1]: 1e8, "event=0x12,clkdiv2=0x1": 4e8 + 1e7 * i}) for i in range(8)}}
METRICS = {**neoverse.MESH_METRICS, **intel.memory(WAY, "arm_dmc620_")}
