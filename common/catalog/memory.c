/* /proc/vmstat and /proc/pressure. */
#include "common/catalog/tables.h"

/* Tables: a row is read as a row. */
/* clang-format off */
#define EVENTS(key_, text) \
	{ .source = "vmstat", .name = "vmstat." key_, .display = "vmstat." key_, .key = key_, \
	  .unit = "1", .help = text }

/*
 * The file does not say which of its numbers are levels and which run up. As a rule nr_* are levels and the rest runs
 * up; the rows with a key of their own are what the rule gets wrong. The two rules come last.
 */
const struct catalog_counter catalog_vmstat[19] = {
	EVENTS("nr_dirtied", "Pages made dirty"),
	EVENTS("nr_written", "Pages written back"),
	EVENTS("nr_throttled_written", "Pages written back while reclaim was throttled"),
	EVENTS("nr_vmscan_write", "Pages written by reclaim"),
	EVENTS("nr_vmscan_immediate_reclaim", "Pages that reclaim marked to be freed after writing"),
	EVENTS("nr_foll_pin_acquired", "Pages pinned for user memory access"),
	EVENTS("nr_foll_pin_released", "Pages unpinned"),
	EVENTS("nr_tlb_remote_flush", "TLB flushes sent to other CPUs"),
	EVENTS("nr_tlb_remote_flush_received", "TLB flushes received from other CPUs"),
	EVENTS("nr_tlb_local_flush_all", "Full TLB flushes of the own CPU"),
	EVENTS("nr_tlb_local_flush_one", "TLB flushes of one page on the own CPU"),
	{ .source = "vmstat", .name = "vmstat.workingset_nodes", .display = "vmstat.workingset_nodes",
	  .key = "workingset_nodes", .unit = "1", .semantics = CATALOG_GAUGE,
	  .help = "Nodes that hold shadow entries" },
	{ .source = "vmstat", .name = "vmstat.zswpwb", .display = "vmstat.zswpwb", .key = "zswpwb", .unit = "1",
	  .help = "Pages written from zswap to swap" },
	{ .source = "vmstat", .name = "vmstat.pgfault", .display = "vmstat.pgfault", .key = "pgfault", .unit = "1",
	  .help = "Page faults, minor and major" },
	{ .source = "vmstat", .name = "vmstat.pgmajfault", .display = "vmstat.pgmajfault", .key = "pgmajfault",
	  .unit = "1", .help = "Page faults that needed I/O" },
	{ .source = "vmstat", .name = "vmstat.pgpgin", .display = "vmstat.pgpgin", .key = "pgpgin", .unit = "By",
	  .num = 1024, .den = 1, .help = "Read from block devices" },
	{ .source = "vmstat", .name = "vmstat.pgpgout", .display = "vmstat.pgpgout", .key = "pgpgout", .unit = "By",
	  .num = 1024, .den = 1, .help = "Written to block devices" },
	{ .source = "vmstat", .name = "vmstat.nr_*", .display = "vmstat.nr_*", .key = "nr_*", .unit = "1",
	  .semantics = CATALOG_GAUGE },
	{ .source = "vmstat", .name = "vmstat.*", .display = "vmstat.*", .key = "*", .unit = "1" },
};

#define PRESSURE(what, kind, text) \
	{ .source = "pressure", .name = "pressure." what "." kind, .display = "pressure." what "." kind, \
	  .key = what "." kind, .unit = "s", .num = 1, .den = 1000000, .help = text }

const struct catalog_counter catalog_pressure[7] = {
	PRESSURE("cpu", "some", "Time in which some task waited for a CPU"),
	PRESSURE("cpu", "full",
		 "Time in which all tasks waited for a CPU; not counted for the whole system"),
	PRESSURE("memory", "some", "Time in which some task waited for memory"),
	PRESSURE("memory", "full", "Time in which all tasks waited for memory"),
	PRESSURE("io", "some", "Time in which some task waited for I/O"),
	PRESSURE("io", "full", "Time in which all tasks waited for I/O"),
	PRESSURE("irq", "full", "Time in which all tasks were held up by interrupts"),
};
