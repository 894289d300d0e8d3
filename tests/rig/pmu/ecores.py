"""The client with two kinds of cores, whose fast ones are offline: one memory controller has a name that nobody knows."""
import alderlake
import intel

CPUS = alderlake.CPUS
OFFLINE = [0, 1]
CPUID, CPUINFO, HARDWARE = alderlake.CPUID, alderlake.CPUINFO, alderlake.HARDWARE
PMUS = {k.replace("uncore_imc_free_running_1", "acme_x"): v for k, v in alderlake.PMUS.items()}
METRICS = intel.memory(("data_read", "data_write"), "uncore_imc_free_")
