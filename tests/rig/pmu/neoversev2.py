"""Two sockets of Neoverse V2 on a CMN-700 each."""
import neoverse

CPUS = [0, 0, 1, 1]
CPUID = "0x00000000410fd4f0"
CPUINFO = neoverse.cpuinfo(0xd4f, len(CPUS))
HARDWARE = neoverse.HARDWARE
PMUS = {"armv8_pmuv3_0": neoverse.CORE, "arm_cmn_0": neoverse.mesh("43c03"), **neoverse.dsus(4)}
METRICS = neoverse.MESH_METRICS
