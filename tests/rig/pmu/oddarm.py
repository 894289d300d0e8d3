"""What an Arm server need not be: the first CPU offline, one socket with a controller more than the other, PMUs whose driver has no
format, and one whose event has no number."""
import intel
import neoverse

CPUS = [0, 0, 1, 1]
OFFLINE = [0]
CPUID = "0x00000000c00fac30"
CPUINFO = neoverse.cpuinfo(0xac3, len(CPUS)).replace("0x41", "0xc0")
HARDWARE = neoverse.HARDWARE
MCUS = neoverse.units(12, "ampere_mcu_pmu_{}", 30, {"rd_rda_sent": (0x0f, 3e8), "wr_wra_sent": (0x10, 1e8)})
PMUS = {"armv8_pmuv3_0": neoverse.CORE,
        **{name: dict(MCUS[name], package=socket, on=[cpu]) for name, socket, cpu in
           (("ampere_mcu_pmu_1", 0, 1), ("ampere_mcu_pmu_4", 0, 1), ("ampere_mcu_pmu_11", 1, 3))},
        "arm_dsu_3": dict(neoverse.dsus(1)["arm_dsu_0"], type=89, format={}, fixed={}, rates={}),
        "silent_pmu_7": dict(type=90, kind="uncore", general=2, format={}, by_metrics=True),
        "silent_pmu_9": dict(type=91, kind="uncore", general=2, format={"event": "config:0-7"}, events={"ticks": ("event=",)}, by_metrics=True)}
METRICS = intel.memory(("rd_rda_sent", "wr_wra_sent"), "ampere_mcu_")
