"""Two sockets of Neoverse V3, two chiplets each with a CMN S3 of its own."""
import neoverse

CPUS = [0, 0, 0, 0, 1, 1, 1, 1]
NODES = [0, 0, 1, 1, 2, 2, 3, 3]
CPUID = "0x00000000410fd840"
CPUINFO = neoverse.cpuinfo(0xd84, len(CPUS))
HARDWARE = neoverse.HARDWARE
PMUS = {"armv8_pmuv3_0": neoverse.CORE, **neoverse.mesh_s3(0, 0), **neoverse.mesh_s3(1, 0), **neoverse.mesh_s3(2, 1), **neoverse.mesh_s3(3, 1),
        **neoverse.dsus(2)}
METRICS = neoverse.S3_METRICS
