"""Two sockets of a Xeon of the first generation with hyper-threads: four general counters, no slots, six channels of memory."""
import intel

CPUS = [0, 0, 1, 1]
CPUID = "GenuineIntel-6-55-4"
CPUINFO = intel.cpuinfo(0x55, len(CPUS))
HARDWARE = intel.HARDWARE
CORE = intel.core("skylake", {})
# The filter of a slice: kinds of memory and of addresses, and all opcodes.
FILTERS = {"filter_state": "config1:17-26", "filter_rem": "config1:32", "filter_loc": "config1:33", "filter_all_op": "config1:35",
           "filter_nm": "config1:36", "filter_not_nm": "config1:37"}
TOR = [f"event=0x35,umask={mask},filter_rem=1,filter_loc=1,filter_all_op=1,filter_nm=1,filter_not_nm=1" for mask in ("0x11", "0x21")]
SLICES = {name: dict(slice_, format={**slice_["format"], **FILTERS}, rates={TOR[0]: 4e8, TOR[1]: 5e7 + 1e6 * i})
          for i, (name, slice_) in enumerate(intel.uncore(4, ext="").items())}
PMUS = {"cpu": dict(CORE, general=4, format=dict(intel.FORMAT, any="config:21"), events={k: v for k, v in CORE["events"].items() if k != "slots"},
                    fixed={"event=0xc0": 0, "event=0x3c": 1, "event=0x00,umask=0x03": 2}, only_fixed=["event=0x00,umask=0x03"]),
        **intel.imcs(6, 20, "event=0x04,umask=0x03", "event=0x04,umask=0x0c", "event=0x00"),
        **intel.uncore(0, 2, 2, 4, 0x24, ""), **SLICES}
METRICS = {"llc.hit_share": lambda m, p: 100 / (1 + m.sum("uncore_cha_", TOR[1], p) / m.sum("uncore_cha_", TOR[0], p)), **intel.memory(), **intel.UPI_METRICS, **intel.iio_metrics(4)}
