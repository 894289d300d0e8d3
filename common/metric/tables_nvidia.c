/*
 * Uncore PMUs of NVIDIA's Tegra410 and Grace. The formulas of bandwidth, request rate, frequency and latency are
 * those of Documentation/admin-guide/perf/nvidia-tegra410-pmu.rst; GB are 10^9 bytes. What that document does not
 * have (outstanding, bytes a request, hit ratio, bandwidth from 32-byte requests) says "derived" or "estimate" in its
 * help. `class@event@` is the event on every PMU of the class; the inputs of one formula come from one group of each
 * PMU. Over several PMUs, what happened is added up before it is divided; nanoseconds are made with each PMU's own
 * clock.
 */
#include "common/metric/tables.h"

/* Tables: a row is read as a row. */
/* clang-format off */
#define EV(class, event) class "@" event "@"
#define IN(class)        "nvidia," class

#define FREQUENCY(class, head, what)                                                                                 \
	{                                                                                                            \
		.name = class ".frequency", .display = head "GHz", .categories = IN(class) ",frequency",             \
		.unit = "GHz", .precision = 3,                                                                       \
		.expr = EV(class, "cycles") " / elapsed(" EV(class, "cycles") ") / 1e9",                             \
		.help = "Clock of " what "; mean over PMUs"                                                          \
	}
#define BANDWIDTH(class, id, head, event, what, on)                                                                  \
	{                                                                                                            \
		.name = class "." id, .display = head, .categories = IN(class) ",bandwidth", .unit = "GB/s",         \
		.precision = 3, .better = METRIC_HIGHER, .default_on = on,                                           \
		.expr = "rate(" EV(class, event) ") / 1e9", .help = what                                             \
	}
#define BEATS(class, id, head, event, what, on)                                                                      \
	{                                                                                                            \
		.name = class "." id, .display = head, .categories = IN(class) ",bandwidth", .unit = "GB/s",         \
		.precision = 3, .better = METRIC_HIGHER, .default_on = on,                                           \
		.expr = "rate(" EV(class, event) ") * 32 / 1e9", .help = what                                        \
	}
#define RATE(class, id, head, event, what)                                                                           \
	{                                                                                                            \
		.name = class "." id, .display = head, .categories = IN(class) ",rate", .unit = "1", .precision = 4, \
		.expr = EV(class, event) " / " EV(class, "cycles"), .help = what " a cycle; mean over PMUs"          \
	}
#define RATIO(class, id, head, a, b, u, what)                                                                        \
	{                                                                                                            \
		.name = class "." id, .display = head, .categories = IN(class), .unit = u, .precision = 1,           \
		.expr = EV(class, a) " / " EV(class, b), .help = what " (derived)"                                   \
	}
/* Latency in cycles and nanoseconds, and how many requests are on their way. */
#define LATENCY(class, id, head, outs, req, what, where, on)                                                         \
	{ .name = class "." id "_latency_cycles",                                                                    \
	  .display = head "LatCyc",                                                                                  \
	  .categories = IN(class) ",latency",                                                                        \
	  .unit = "{cycle}",                                                                                         \
	  .precision = 1,                                                                                            \
	  .better = METRIC_LOWER,                                                                                    \
	  .expr = EV(class, outs) " / " EV(class, req),                                                              \
	  .help = "Mean latency of " what " in cycles" },                                                            \
	    { .name = class "." id "_latency",                                                                       \
	      .display = head "LatNs",                                                                               \
	      .aliases = class "." id "_latency_ns",                                                                 \
	      .categories = IN(class) ",latency",                                                                    \
	      .unit = "ns",                                                                                          \
	      .precision = 1,                                                                                        \
	      .better = METRIC_LOWER,                                                                                \
	      .default_on = on,                                                                                      \
	      .expr = "1e9 * seconds(" EV(class, outs) ", " EV(class, "cycles") ") / " EV(class, req),               \
	      .help = "Mean latency of " what },                                                                     \
	{                                                                                                            \
		.name = class "." id "_outstanding", .display = head "Outs", .categories = IN(class), .unit = "1",   \
		.precision = 2,                                                                                      \
		.expr = "seconds(" EV(class, outs) ", " EV(class, "cycles") ") * aggr_nr(" EV(                       \
		    class, outs) ") / elapsed(" EV(class, outs) ")",                                                 \
		.help = "Mean number of outstanding " what where " (derived)"                                        \
	}

#define LINK_READS(class, head, in, out)                                                                             \
	FREQUENCY(class, head, "one link"),                                                                          \
	    LATENCY(class, "in_rd", head "InRd", "in_rd_cum_outs", "in_rd_req", in, ", on all links", true),         \
	    LATENCY(class, "out_rd", head "OutRd", "out_rd_cum_outs", "out_rd_req", out, ", on all links", true)
#define LINK_WRITES(class, head, in, out)                                                                            \
	LATENCY(class, "in_wr", head "InWr", "in_wr_cum_outs", "in_wr_req", in, ", on all links", true),             \
	    LATENCY(class, "out_wr", head "OutWr", "out_wr_cum_outs", "out_wr_req", out, ", on all links", true)

#define UCF    "nvidia_ucf"
#define PCIE   "nvidia_pcie"
#define TARGET "nvidia_pcie_tgt"
#define CMEM   "nvidia_cmem_latency"
#define C2C    "nvidia_nvlink_c2c"
#define CLINK  "nvidia_nvclink"
#define DLINK  "nvidia_nvdlink"

const struct metric metric_nvidia[] = {
	BANDWIDTH(UCF, "slc_rd_bw", "SLCrdGB/s", "slc_bytes_rd", "Reads of the system-level cache", true),
	BANDWIDTH(UCF, "slc_wr_bw", "SLCwrGB/s", "slc_bytes_wr", "Writes to the system-level cache", true),
	BANDWIDTH(UCF, "mem_rd_bw", "MEMrdGB/s", "mem_bytes_rd", "Reads of local or remote memory", true),
	BANDWIDTH(UCF, "mem_wr_bw", "MEMwrGB/s", "mem_bytes_wr", "Writes to local or remote memory", true),
	RATE(UCF, "slc_rd_rate", "SLCrd/cyc", "slc_access_rd", "Read requests to the system-level cache"),
	RATE(UCF, "slc_wr_rate", "SLCwr/cyc", "slc_access_wr", "Write requests to the system-level cache"),
	RATE(UCF, "mem_rd_rate", "MEMrd/cyc", "mem_access_rd", "Read requests to local or remote memory"),
	RATE(UCF, "mem_wr_rate", "MEMwr/cyc", "mem_access_wr", "Write requests to local or remote memory"),
	FREQUENCY(UCF, "UCF", "the coherence fabric"),
	RATIO(UCF, "slc_rd_bytes_per_request", "SLCrdBy/req", "slc_bytes_rd", "slc_access_rd", "By",
	      "Bytes of a read of the system-level cache"),
	RATIO(UCF, "slc_wr_bytes_per_request", "SLCwrBy/req", "slc_bytes_wr", "slc_access_wr", "By",
	      "Bytes of a write to the system-level cache"),
	RATIO(UCF, "mem_rd_bytes_per_request", "MEMrdBy/req", "mem_bytes_rd", "mem_access_rd", "By",
	      "Bytes of a read of memory"),
	RATIO(UCF, "mem_wr_bytes_per_request", "MEMwrBy/req", "mem_bytes_wr", "mem_access_wr", "By",
	      "Bytes of a write to memory"),
	{ .name = UCF ".slc_rd_hit_ratio",
	  .display = "SLCrdHit%",
	  .categories = IN(UCF) ",cache",
	  .unit = "%",
	  .precision = 2,
	  .better = METRIC_HIGHER,
	  .expr = "100 * " EV(UCF, "slc_hit_rd") " / " EV(UCF, "slc_access_rd"),
	  .help = "Reads of the system-level cache that hit (derived)" },

	BANDWIDTH(PCIE, "rd_bw", "PCIErdGB/s", "rd_bytes", "Reads by PCIe devices", true),
	BANDWIDTH(PCIE, "wr_bw", "PCIEwrGB/s", "wr_bytes", "Writes by PCIe devices", true),
	RATE(PCIE, "rd_rate", "PCIErd/cyc", "rd_req", "Read requests of PCIe devices"),
	RATE(PCIE, "wr_rate", "PCIEwr/cyc", "wr_req", "Write requests of PCIe devices"),
	FREQUENCY(PCIE, "PCIE", "the fabric at a root complex"),
	LATENCY(PCIE, "rd", "PCIErd", "rd_cum_outs", "rd_req", "reads by PCIe devices", "", true),
	RATIO(PCIE, "rd_bytes_per_request", "PCIErdBy/req", "rd_bytes", "rd_req", "By",
	      "Bytes of a read by a PCIe device"),
	RATIO(PCIE, "wr_bytes_per_request", "PCIEwrBy/req", "wr_bytes", "wr_req", "By",
	      "Bytes of a write by a PCIe device"),

	BANDWIDTH(TARGET, "rd_bw", "TGTrdGB/s", "rd_bytes",
	          "Reads from PCIe devices; without an address filter, of BARs only", true),
	BANDWIDTH(TARGET, "wr_bw", "TGTwrGB/s", "wr_bytes",
	          "Writes to PCIe devices; without an address filter, to BARs only", true),
	RATE(TARGET, "rd_rate", "TGTrd/cyc", "rd_req", "Read requests to PCIe devices"),
	RATE(TARGET, "wr_rate", "TGTwr/cyc", "wr_req", "Write requests to PCIe devices"),
	FREQUENCY(TARGET, "TGT", "the fabric at a root complex"),
	RATIO(TARGET, "rd_bytes_per_request", "TGTrdBy/req", "rd_bytes", "rd_req", "By",
	      "Bytes of a read from a PCIe device"),
	RATIO(TARGET, "wr_bytes_per_request", "TGTwrBy/req", "wr_bytes", "wr_req", "By",
	      "Bytes of a write to a PCIe device"),

	FREQUENCY(CMEM, "CMEM", "one memory controller"),
	LATENCY(CMEM, "rd", "CMEMrd", "rd_cum_outs", "rd_req", "reads of CPU memory", ", on all channels", true),
	{ .name = CMEM ".rd_bw_estimate",
	  .display = "CMEMrdGB/s",
	  .categories = IN(CMEM) ",bandwidth",
	  .unit = "GB/s",
	  .precision = 3,
	  .better = METRIC_HIGHER,
	  .expr = "rate(" EV(CMEM, "rd_req") ") * 32 / 1e9",
	  .help = "Reads of CPU memory, an estimate: 32 bytes a request" },

	LINK_READS(C2C, "C2C", "reads from the other side", "reads of the other side"),
	LINK_WRITES(C2C, "C2C", "writes from the other side", "writes to the other side"),
	LINK_READS(CLINK, "CLINK", "reads from the other side", "reads of the other side"),
	LINK_WRITES(CLINK, "CLINK", "writes from the other side", "writes to the other side"),
	FREQUENCY(DLINK, "DLINK", "one link"),
	LATENCY(DLINK, "in_rd", "DLINKrd", "in_rd_cum_outs", "in_rd_req", "reads of CXL memory", ", on all links",
	        true),
};
METRIC_TABLE_END(nvidia);

/* ---- Grace ---- */

#define SCF "nvidia_scf"
#define MCF(class, head, who)                                                                                        \
	BANDWIDTH(class, "rd_loc_bw", head "rdLocGB/s", "rd_bytes_loc", "Reads of local memory " who, true),         \
	    BANDWIDTH(class, "rd_rem_bw", head "rdRemGB/s", "rd_bytes_rem", "Reads of remote memory " who, true),    \
	    BANDWIDTH(class, "wr_loc_bw", head "wrLocGB/s", "wr_bytes_loc", "Writes to local memory " who, true),    \
	    BANDWIDTH(class, "wr_rem_bw", head "wrRemGB/s", "wr_bytes_rem", "Writes to remote memory " who, true),   \
	    BANDWIDTH(class, "total_loc_bw", head "LocGB/s", "total_bytes_loc", "Traffic to local memory " who,      \
	              false),                                                                                        \
	    BANDWIDTH(class, "total_rem_bw", head "RemGB/s", "total_bytes_rem", "Traffic to remote memory " who,     \
	              false),                                                                                        \
	    RATE(class, "rd_loc_rate", head "rdLoc/cyc", "rd_req_loc", "Reads of local memory " who),                \
	    RATE(class, "rd_rem_rate", head "rdRem/cyc", "rd_req_rem", "Reads of remote memory " who),               \
	    RATE(class, "wr_loc_rate", head "wrLoc/cyc", "wr_req_loc", "Writes to local memory " who),               \
	    RATE(class, "wr_rem_rate", head "wrRem/cyc", "wr_req_rem", "Writes to remote memory " who),              \
	    FREQUENCY(class, head, "the interface"),                                                                 \
	    LATENCY(class, "rd_loc", head "rdLoc", "rd_cum_outs_loc", "rd_req_loc", "reads of local memory " who,    \
	            "", false),                                                                                      \
	    LATENCY(class, "rd_rem", head "rdRem", "rd_cum_outs_rem", "rd_req_rem", "reads of remote memory " who,   \
	            "", false)

const struct metric metric_grace[] = {
	BEATS(SCF, "cmem_rd_bw", "SCFrdGB/s", "cmem_rd_data", "Reads of CPU memory", true),
	BANDWIDTH(SCF, "cmem_wr_bw", "SCFwrGB/s", "cmem_wr_total_bytes", "Writes to CPU memory", true),
	BEATS(SCF, "remote_rd_bw", "SCFremRdGB/s", "remote_socket_rd_data", "Reads of other sockets", true),
	BANDWIDTH(SCF, "remote_wr_bw", "SCFremWrGB/s", "remote_socket_wr_total_bytes", "Writes to other sockets",
	          true),
	BEATS(SCF, "gmem_rd_bw", "SCFgpuRdGB/s", "gmem_rd_data", "Reads of GPU memory", false),
	BANDWIDTH(SCF, "gmem_wr_bw", "SCFgpuWrGB/s", "gmem_wr_total_bytes", "Writes to GPU memory", false),
	RATE(SCF, "cmem_rd_rate", "SCFrd/cyc", "cmem_rd_access", "Reads of CPU memory"),
	RATE(SCF, "remote_rd_rate", "SCFremRd/cyc", "remote_socket_rd_access", "Reads of other sockets"),
	FREQUENCY(SCF, "SCF", "the coherency fabric"),
	LATENCY(SCF, "cmem_rd", "SCFrd", "cmem_rd_outstanding", "cmem_rd_access", "reads of CPU memory", "", true),
	LATENCY(SCF, "remote_rd", "SCFremRd", "remote_socket_rd_outstanding", "remote_socket_rd_access",
	        "reads of other sockets", "", true),
	LATENCY(SCF, "gmem_rd", "SCFgpuRd", "gmem_rd_outstanding", "gmem_rd_access", "reads of GPU memory", "",
	        false),
	MCF("nvidia_grace_pcie", "GPCIE", "by PCIe devices"),
	MCF("nvidia_nvlink_c2c0", "C2C0", "over NVLink-C2C0"),
	MCF("nvidia_nvlink_c2c1", "C2C1", "over NVLink-C2C1"),
	MCF("nvidia_cnvlink", "CNVL", "over CNVLink"),
};
METRIC_TABLE_END(grace);
