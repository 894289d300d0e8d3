"""One Yitian 710: DDR sub-channels, a CMN-700, and DesignWare root ports that count one direction at a time."""
import intel
import neoverse

CPUS = [0, 0]
CPUID = "0x00000000410fd490"
CPUINFO = neoverse.cpuinfo(0xd49, len(CPUS)).replace("0x41", "0x41")
HARDWARE = neoverse.HARDWARE
PMUS = {"armv8_pmuv3_0": neoverse.CORE,
        **neoverse.units(4, "ali_drw_{}000", 60, {"hif_wr": (0x03, 1e8), "hif_rd": (0x02, 3e8)}, identifier="ali_drw_pmu"),
        **{f"dwc_rootport_{p}": dict(type=80 + i, kind="uncore", general=1, format={"eventid": "config:0-15", "type": "config:16-19"},
                                     events={"Tx_PCIe_TLP_Data_Payload": ("eventid=0x20,type=0x1",), "Rx_PCIe_TLP_Data_Payload": ("eventid=0x22,type=0x1",)},
                                     rates={"eventid=0x20,type=0x1": 2e9 + 1e9 * i, "eventid=0x22,type=0x1": 5e9}) for i, p in enumerate((3018, 3020))}}
METRICS = {**intel.memory(("hif_rd", "hif_wr"), "ali_drw_"),
           "pcie.in_bw": lambda m, p: m.sum("dwc_", "Rx_PCIe_TLP_Data_Payload", p) / 1e9,
           "pcie.out_bw": lambda m, p: m.sum("dwc_", "Tx_PCIe_TLP_Data_Payload", p) / 1e9}
