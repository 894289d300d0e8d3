/*
 * The classes of uncore PMUs: other vendors' in uncore.inc, and here those of NVIDIA's Tegra410 ("Vera") and
 * Tegra241 ("Grace"), from Documentation/admin-guide/perf/nvidia-tegra410-pmu.rst and nvidia-tegra241-pmu.rst, and
 * the drivers arm_cspmu, nvidia_cspmu, nvidia_t410_cmem_latency_pmu and nvidia_t410_c2c_pmu. Codes are those of the
 * drivers; where the kernel names its events, its events/ win.
 */
#include "common/catalog/pmu_class.h"

/* Tables: a row is read as a row. */
/* clang-format off */
#define CLOCK 0x100000000

static const struct pmu_class_event ucf_events[] = {
	{ "cycles", CLOCK, NULL, "cycles of the fabric" },
	{ "bus_cycles", 0x1d, NULL, "cycles of the fabric, by a programmable counter" },
	{ "slc_allocate", 0xf0, NULL, "allocations in the system-level cache" },
	{ "slc_wb", 0xf3, NULL, "write-backs of the system-level cache, 64 bytes each" },
	{ "slc_refill_rd", 0x109, NULL, "refills of the system-level cache by reads" },
	{ "slc_refill_wr", 0x10a, NULL, "refills of the system-level cache by writes" },
	{ "slc_access_rd", 0x111, NULL, "read requests to the system-level cache" },
	{ "slc_access_wr", 0x112, NULL, "write requests to the system-level cache" },
	{ "slc_bytes_rd", 0x113, "By", "bytes of slc_access_rd" },
	{ "slc_bytes_wr", 0x114, "By", "bytes of slc_access_wr" },
	{ "slc_hit_rd", 0x119, NULL, "read requests that hit the system-level cache" },
	{ "mem_access_rd", 0x121, NULL, "read requests to local or remote memory" },
	{ "mem_access_wr", 0x122, NULL, "write requests to local or remote memory" },
	{ "mem_bytes_rd", 0x123, "By", "bytes of mem_access_rd" },
	{ "mem_bytes_wr", 0x124, "By", "bytes of mem_access_wr" },
	{ "local_snoop", 0x180, NULL, "snoops of this socket" },
	{ "ext_snp_access", 0x181, NULL, "snoops from outside for an access" },
	{ "ext_snp_evict", 0x182, NULL, "snoops from outside for an eviction" },
	{ "slc_access_dataless", 0x183, NULL, "requests without data to the system-level cache" },
	{ "slc_access_atomic", 0x184, NULL, "atomic requests to the system-level cache" },
	{ NULL },
};
static const struct pmu_class_filter ucf_filters[] = {
	{ "src_loc_noncpu", 1, 1, "from devices of this socket" },
	{ "src_loc_cpu", 1, 1, "from CPUs of this socket" },
	{ "src_rem", 1, 1, "from the other sockets" },
	{ "dst_loc_cmem", 1, 2, "to CPU memory of this socket" },
	{ "dst_loc_gmem", 1, 2, "to GPU memory of this socket" },
	{ "dst_loc_other", 1, 2, "to CXL memory of this socket" },
	{ "dst_rem", 1, 2, "to memory of other sockets" },
	{ NULL },
};

static const struct pmu_class_event pcie_events[] = {
	{ "rd_bytes", 0, "By", "bytes that devices read" },
	{ "wr_bytes", 1, "By", "bytes that devices wrote" },
	{ "rd_req", 2, NULL, "read requests of devices" },
	{ "wr_req", 3, NULL, "write requests of devices" },
	{ "rd_cum_outs", 4, NULL, "outstanding read requests, added up in every cycle" },
	{ "cycles", CLOCK, NULL, "cycles of the fabric at this root complex" },
	{ NULL },
};
/* src_rp_mask has its default only where no function is selected: the hooks of the class see to that. */
static const struct pmu_class_filter pcie_filters[] = {
	{ "src_rp_mask", 0xff, 1, "root ports, a bit each; or a root port as DDDD:BB:DD.F" },
	{ "src_bdf", 0, 1,
	  "one function, as [DDDD:]BB:DD.F or as its 16-bit id; one for all events of a root complex" },
	{ "src_bdf_en", 0, 1, "set by src_bdf" },
	{ "dst_loc_cmem", 1, 2, "to CPU memory of this socket" },
	{ "dst_loc_gmem", 1, 2, "to GPU memory of this socket" },
	{ "dst_loc_pcie_p2p", 1, 2, "to PCIe peers of this socket" },
	{ "dst_loc_pcie_cxl", 1, 2, "to CXL memory of this socket" },
	{ "dst_rem", 1, 2, "to memory of other sockets" },
	{ NULL },
};

static const struct pmu_class_event target_events[] = {
	{ "rd_bytes", 0, "By", "bytes that were read from devices" },
	{ "wr_bytes", 1, "By", "bytes that were written to devices" },
	{ "rd_req", 2, NULL, "read requests to devices" },
	{ "wr_req", 3, NULL, "write requests to devices" },
	{ "cycles", 4, NULL, "cycles of the fabric at this root complex" },
	{ NULL },
};
static const struct pmu_class_filter target_filters[] = {
	{ "dst_rp_mask", 0xff, 1, "root ports, a bit each; or a root port as DDDD:BB:DD.F; BAR traffic only" },
	{ "dst_addr_en", 0, 1, "only addresses with (address & dst_addr_mask) == (dst_addr_base & dst_addr_mask)" },
	{ "dst_addr_base", 0, 0, "of a BAR or of CXL memory" },
	{ "dst_addr_mask", 0, 0, "bits of the address that are compared" },
	{ "dst_addr", 0, 1, "the three in one: START-END, a power of two of bytes, aligned to its size" },
	{ NULL },
};

static const struct pmu_class_event cmem_events[] = {
	{ "cycles", 0, NULL, "cycles, of one memory controller" },
	{ "rd_req", 1, NULL, "read requests of 32 bytes to CPU memory" },
	{ "rd_cum_outs", 2, NULL, "outstanding read requests, added up in every cycle" },
	{ NULL },
};
static const struct pmu_class_filter no_filters[] = { { NULL } };

static const struct pmu_class_event link_events[] = {
	{ "cycles", 0, NULL, "cycles, of one link" },
	{ "in_rd_cum_outs", 1, NULL, "outstanding reads from the other side, added up in every cycle" },
	{ "in_rd_req", 2, NULL, "reads from the other side" },
	{ "in_wr_cum_outs", 3, NULL, "outstanding writes from the other side, added up in every cycle" },
	{ "in_wr_req", 4, NULL, "writes from the other side" },
	{ "out_rd_cum_outs", 5, NULL, "outstanding reads of the other side, added up in every cycle" },
	{ "out_rd_req", 6, NULL, "reads of the other side" },
	{ "out_wr_cum_outs", 7, NULL, "outstanding writes to the other side, added up in every cycle" },
	{ "out_wr_req", 8, NULL, "writes to the other side" },
	{ NULL },
};
static const struct pmu_class_event dlink_events[] = {
	{ "cycles", 0, NULL, "cycles, of one link" },
	{ "in_rd_cum_outs", 1, NULL, "outstanding reads of CXL memory, added up in every cycle" },
	{ "in_rd_req", 2, NULL, "reads of CXL memory" },
	{ NULL },
};
static const struct pmu_class_filter link_filters[] = {
	{ "gpu_mask", 0x3, 1, "GPUs at the other side, a bit each" },
	{ NULL },
};

/* ---- Grace ---- */

#define FOUR(name, code, unit, help)                                                                                 \
	{ "socket_0_" name, code, unit, help " of socket 0" },                                                       \
	    { "socket_1_" name, code + 1, unit, help " of socket 1" },                                               \
	    { "socket_2_" name, code + 2, unit, help " of socket 2" },                                               \
	{                                                                                                            \
		"socket_3_" name, code + 3, unit, help " of socket 3"                                                \
	}

static const struct pmu_class_event scf_events[] = {
	{ "cycles", CLOCK, NULL, "cycles of the fabric" },
	{ "bus_cycles", 0x1d, NULL, "cycles of the fabric, by a programmable counter" },
	{ "scf_cache_allocate", 0xf0, NULL, "allocations in the cache of the fabric" },
	{ "scf_cache_refill", 0xf1, NULL, "refills of the cache of the fabric, 64 bytes each" },
	{ "scf_cache", 0xf2, NULL, "accesses to the cache of the fabric" },
	{ "scf_cache_wb", 0xf3, NULL, "write-backs of the cache of the fabric, 64 bytes each" },
	FOUR("rd_data", 0x101, NULL, "32-byte beats of reads from memory"),
	FOUR("wb_data", 0x109, NULL, "32-byte beats of write-backs to memory"),
	FOUR("rd_outstanding", 0x115, NULL, "outstanding reads, added up in every cycle, of memory"),
	FOUR("rd_access", 0x12d, NULL, "reads from memory"),
	FOUR("wb_access", 0x135, NULL, "write-backs to memory"),
	FOUR("wr_access", 0x139, NULL, "writes to memory"),
	FOUR("wr_data", 0x17c, NULL, "32-byte beats of writes to memory"),
	{ "gmem_rd_data", 0x16d, NULL, "32-byte beats of reads from GPU memory" },
	{ "gmem_rd_access", 0x16e, NULL, "reads from GPU memory" },
	{ "gmem_rd_outstanding", 0x16f, NULL, "outstanding reads of GPU memory, added up in every cycle" },
	{ "gmem_wb_data", 0x173, NULL, "32-byte beats of write-backs to GPU memory" },
	{ "gmem_wb_access", 0x174, NULL, "write-backs to GPU memory" },
	{ "gmem_wr_data", 0x179, NULL, "32-byte beats of writes to GPU memory" },
	{ "gmem_wr_access", 0x17b, NULL, "writes to GPU memory" },
	{ "gmem_wr_total_bytes", 0x1a0, "By", "bytes written to GPU memory" },
	{ "remote_socket_wr_total_bytes", 0x1a1, "By", "bytes written to other sockets" },
	{ "remote_socket_rd_data", 0x1a2, NULL, "32-byte beats of reads from other sockets" },
	{ "remote_socket_rd_outstanding", 0x1a3, NULL,
	  "outstanding reads of other sockets, added up in every cycle" },
	{ "remote_socket_rd_access", 0x1a4, NULL, "reads from other sockets" },
	{ "cmem_rd_data", 0x1a5, NULL, "32-byte beats of reads from CPU memory" },
	{ "cmem_rd_access", 0x1a6, NULL, "reads from CPU memory" },
	{ "cmem_rd_outstanding", 0x1a7, NULL, "outstanding reads of CPU memory, added up in every cycle" },
	{ "cmem_wb_data", 0x1ab, NULL, "32-byte beats of write-backs to CPU memory" },
	{ "cmem_wb_access", 0x1ac, NULL, "write-backs to CPU memory" },
	{ "cmem_wr_data", 0x1b1, NULL, "32-byte beats of writes to CPU memory" },
	{ "cmem_wr_access", 0x1ca, NULL, "writes to CPU memory" },
	{ "cmem_wr_total_bytes", 0x1db, "By", "bytes written to CPU memory" },
	{ NULL },
};

static const struct pmu_class_event mcf_events[] = {
	{ "rd_bytes_loc", 0x0, "By", "bytes read from memory of this socket" },
	{ "rd_bytes_rem", 0x1, "By", "bytes read from memory of other sockets" },
	{ "wr_bytes_loc", 0x2, "By", "bytes written to memory of this socket" },
	{ "wr_bytes_rem", 0x3, "By", "bytes written to memory of other sockets" },
	{ "total_bytes_loc", 0x4, "By", "bytes read from and written to memory of this socket" },
	{ "total_bytes_rem", 0x5, "By", "bytes read from and written to memory of other sockets" },
	{ "rd_req_loc", 0x6, NULL, "reads of memory of this socket" },
	{ "rd_req_rem", 0x7, NULL, "reads of memory of other sockets" },
	{ "wr_req_loc", 0x8, NULL, "writes to memory of this socket" },
	{ "wr_req_rem", 0x9, NULL, "writes to memory of other sockets" },
	{ "total_req_loc", 0xa, NULL, "requests to memory of this socket" },
	{ "total_req_rem", 0xb, NULL, "requests to memory of other sockets" },
	{ "rd_cum_outs_loc", 0xc, NULL, "outstanding reads of memory of this socket, added up in every cycle" },
	{ "rd_cum_outs_rem", 0xd, NULL, "outstanding reads of memory of other sockets, added up in every cycle" },
	{ "cycles", CLOCK, NULL, "cycles of the interface" },
	{ NULL },
};
#define MCF_DEFAULTS                                                                                                 \
	"rd_req_loc,rd_cum_outs_loc;rd_bytes_loc;wr_bytes_loc;rd_req_rem,rd_cum_outs_rem;rd_bytes_rem;"              \
	"wr_bytes_rem"

static const struct pmu_class_filter root_port_filters[] = {
	{ "root_port", 0x3ff, 1, "root ports, a bit each" },
	{ NULL },
};
static const struct pmu_class_filter port_filters[] = {
	{ "port", 0x3, 1, "ports of NVLink-C2C, a bit each" },
	{ NULL },
};
static const struct pmu_class_filter socket_filters[] = {
	{ "rem_socket", 0xf, 1, "sockets at the other side, a bit each" },
	{ NULL },
};

static const struct pmu_class_event unknown_events[] = {
	{ "cycles", CLOCK, NULL, "cycles of the unit" },
	{ NULL },
};
static const struct pmu_class_filter unknown_filters[] = {
	{ "filter", 0xffffffff, 1, "first filter word, as the hardware has it" },
	{ "filter2", 0xffffffff, 2, "second filter word, as the hardware has it" },
	{ NULL },
};

/* Product, variant, revision and implementer of a PMIIDR are bits 31:20, 19:16, 15:12 and 11:0. */
#define ANY_REVISION 0xffff0fff
#define ANY_VARIANT  0xfff00fff
#define EXACTLY      0xffffffff

#define ROW(id, about, called) .name = id, .title = about, .stem = called
#define CSPMU(number, mask)                                                                                          \
	.product = number, .product_mask = mask, .module = "nvidia_cspmu", \
	.config = "CONFIG_NVIDIA_CORESIGHT_PMU_ARCH_SYSTEM_PMU"
#define C2C(id) .hid = id, .module = "nvidia_t410_c2c_pmu", .config = "CONFIG_NVIDIA_TEGRA410_C2C_PMU", .fixed = true
#define LINK                                                                                                         \
	.event = link_events, .filter = link_filters, \
	.defaults = "in_rd_req,in_rd_cum_outs;in_wr_req,in_wr_cum_outs;out_rd_req,out_rd_cum_outs;" \
		    "out_wr_req,out_wr_cum_outs",                                                                    \
	.note = "in: from the other side to this socket",                                                            \
	.still = "the link is down, or nothing is connected to it"
#define MCF(filters) .event = mcf_events, .filter = filters, .defaults = MCF_DEFAULTS, .clock_filtered = true

const struct pmu_class pmu_classes[] = {
	{ ROW("nvidia_ucf", "Tegra410 Unified Coherence Fabric", "ucf"), CSPMU(0x2cf2036b, ANY_REVISION),
	  .event = ucf_events,
	  .filter = ucf_filters,
	  .defaults = "slc_bytes_rd,slc_access_rd;slc_bytes_wr,slc_access_wr;mem_bytes_rd,mem_access_rd;"
	              "mem_bytes_wr,mem_access_wr;?slc_hit_rd,slc_access_rd",
	  .note = "memory is local or remote; dst_loc_cmem=1 is this socket's DRAM alone" },
	{ ROW("nvidia_pcie", "Tegra410 PCIe root complex, traffic of devices", "pcie"), CSPMU(0x1030136b, EXACTLY),
	  .per_rc = true,
	  .event = pcie_events,
	  .filter = pcie_filters,
	  .defaults = "rd_req,rd_cum_outs;rd_bytes;wr_bytes;wr_req",
	  .note = "counts what the UCF counts from src_loc_noncpu, too: do not add the two" },
	{ ROW("nvidia_pcie_tgt", "Tegra410 PCIe root complex, traffic to devices", "pcie_tgt"),
	  CSPMU(0x1070036b, ANY_VARIANT),
	  .per_rc = true,
	  .event = target_events,
	  .filter = target_filters,
	  .defaults = "rd_bytes,rd_req;wr_bytes,wr_req",
	  .note = "without dst_addr_en it counts BAR traffic only; CXL memory needs an address range" },
	{ ROW("nvidia_cmem_latency", "Tegra410 CPU memory latency", "cmem_latency"),
	  .old_stem = "t410_cpu_mem",
	  .hid = "NVDA2021",
	  .module = "nvidia_t410_cmem_latency_pmu",
	  .config = "CONFIG_NVIDIA_TEGRA410_CMEM_LATENCY_PMU",
	  .event = cmem_events,
	  .filter = no_filters,
	  .defaults = "rd_req,rd_cum_outs",
	  .fixed = true },
	{ ROW("nvidia_nvlink_c2c", "Tegra410 NVLink-C2C", "nvlink_c2c"), C2C("NVDA2023"), LINK },
	{ ROW("nvidia_nvclink", "Tegra410 NV-CLink", "nvclink"), C2C("NVDA2022"), LINK },
	{ ROW("nvidia_nvdlink", "Tegra410 NV-DLink", "nvdlink"), C2C("NVDA2020"),
	  .event = dlink_events,
	  .filter = no_filters,
	  .defaults = "in_rd_req,in_rd_cum_outs",
	  .note = "in: from this socket to CXL memory",
	  .still = "there is no CXL memory, or its link is down" },
	{ ROW("nvidia_scf", "Grace Scalable Coherency Fabric", "scf"), CSPMU(0x2cf0036b, ANY_REVISION),
	  .event = scf_events,
	  .filter = no_filters,
	  .defaults = "cmem_rd_access,cmem_rd_outstanding;cmem_rd_data;cmem_wr_total_bytes;"
	              "remote_socket_rd_access,remote_socket_rd_outstanding;remote_socket_rd_data;"
	              "remote_socket_wr_total_bytes" },
	{ ROW("nvidia_grace_pcie", "Grace PCIe", "pcie"), CSPMU(0x1030036b, EXACTLY), MCF(root_port_filters) },
	{ ROW("nvidia_nvlink_c2c1", "Grace NVLink-C2C1", "nvlink_c2c1"),
	  CSPMU(0x1040036b, ANY_VARIANT), MCF(port_filters) },
	{ ROW("nvidia_nvlink_c2c0", "Grace NVLink-C2C0", "nvlink_c2c0"),
	  CSPMU(0x1050036b, ANY_VARIANT), MCF(port_filters) },
	{ ROW("nvidia_cnvlink", "Grace CNVLink", "cnvlink"), CSPMU(0x1060036b, ANY_VARIANT), MCF(socket_filters) },
	{ ROW("nvidia_uncore", "NVIDIA uncore unit that this version does not know", "uncore"), CSPMU(0, 0),
	  .event = unknown_events,
	  .filter = unknown_filters,
	  .clock_filtered = true },
#include "common/catalog/uncore.inc"
	{ .name = NULL },
};
