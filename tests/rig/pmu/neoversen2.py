"""Two sockets of Neoverse N2 on a CMN-700 each."""
import neoverse

CPUS = [0, 0, 1, 1]
CPUID = "0x00000000410fd490"
CPUINFO = neoverse.cpuinfo(0xd49, len(CPUS))
HARDWARE = neoverse.HARDWARE
PMUS = {"armv8_pmuv3_0": neoverse.CORE, "arm_cmn_0": neoverse.mesh("43c03")}
METRICS = neoverse.MESH_METRICS
