"""One AmpereOne with eight memory controllers."""
import intel
import neoverse

CPUS = [0, 0]
CPUID = "0x00000000c00fac30"
CPUINFO = neoverse.cpuinfo(0xac3, len(CPUS)).replace("0x41", "0xc0")
HARDWARE = neoverse.HARDWARE
PMUS = {"armv8_pmuv3_0": neoverse.CORE,
        **neoverse.units(8, "ampere_mcu_pmu_{}", 30, {"rd_rda_sent": (0x0f, 3e8), "wr_wra_sent": (0x10, 1e8)})}
METRICS = intel.memory(("rd_rda_sent", "wr_wra_sent"), "ampere_mcu_")
