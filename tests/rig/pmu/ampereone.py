"""Two sockets of AmpereOne with eight memory controllers."""
import intel
import neoverse

CPUS = [0, 0, 1, 1]
CPUID = "0x00000000c00fac30"
CPUINFO = neoverse.cpuinfo(0xac3, len(CPUS)).replace("0x41", "0xc0")
HARDWARE = neoverse.HARDWARE
MESH, ASKED = neoverse.linked(neoverse.mesh("43600"), (24, 920))
PMUS = {"armv8_pmuv3_0": neoverse.CORE, **{f"arm_cmn_{i}": dict(MESH, type=40 + i, package=i) for i in range(2)},
        **neoverse.units(8, "ampere_mcu_pmu_{}", 30, {"rd_rda_sent": (0x0f, 3e8), "wr_wra_sent": (0x10, 1e8)})}
METRICS = {**neoverse.MESH_METRICS, **intel.memory(("rd_rda_sent", "wr_wra_sent"), "ampere_mcu_")}
