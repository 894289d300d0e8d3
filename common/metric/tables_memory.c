/* Paging, and how long tasks were held up for want of something. */
#include "common/metric/tables.h"

/* Tables: a row is read as a row. */
/* clang-format off */
const struct metric metric_memory[] = {
	{ .name = "faults", .display = "Faults/s", .categories = "memory", .unit = "1/s", .scope = METRIC_SYSTEM,
	  .better = METRIC_LOWER, .default_on = true, .expr = "rate(vmstat.pgfault)",
	  .help = "Page faults a second, minor and major" },
	{ .name = "faults.major", .display = "MajFlt/s", .categories = "memory", .unit = "1/s", .precision = 1,
	  .scope = METRIC_SYSTEM, .better = METRIC_LOWER, .expr = "rate(vmstat.pgmajfault)",
	  .help = "Page faults a second that had to wait for a device" },
	{ .name = "disk.in", .display = "In_MB/s", .aliases = "pgpgin", .categories = "memory,io", .unit = "MB/s",
	  .precision = 2, .scope = METRIC_SYSTEM, .default_on = true, .expr = "rate(vmstat.pgpgin) / 1e6",
	  .help = "Read from block devices, megabytes (10^6) a second" },
	{ .name = "disk.out", .display = "Out_MB/s", .aliases = "pgpgout", .categories = "memory,io",
	  .unit = "MB/s", .precision = 2, .scope = METRIC_SYSTEM, .default_on = true,
	  .expr = "rate(vmstat.pgpgout) / 1e6", .help = "Written to block devices, megabytes (10^6) a second" },
	{ .name = "swap.in", .display = "SwapIn/s", .categories = "memory,io", .unit = "1/s", .precision = 1,
	  .scope = METRIC_SYSTEM, .better = METRIC_LOWER, .expr = "rate(vmstat.pswpin)",
	  .help = "Pages read from swap a second" },
	{ .name = "swap.out", .display = "SwapOut/s", .categories = "memory,io", .unit = "1/s", .precision = 1,
	  .scope = METRIC_SYSTEM, .better = METRIC_LOWER, .expr = "rate(vmstat.pswpout)",
	  .help = "Pages written to swap a second" },
	{ .name = "oom", .display = "OOM", .categories = "memory", .unit = "1", .scope = METRIC_SYSTEM,
	  .better = METRIC_LOWER, .expr = "vmstat.oom_kill", .threshold = "vmstat.oom_kill > 0",
	  .help = "Processes that the kernel killed for want of memory" },
	{ .name = "numa.miss", .display = "NUMAmiss%", .categories = "memory", .unit = "%", .precision = 2,
	  .scope = METRIC_SYSTEM, .better = METRIC_LOWER,
	  .expr = "100 * vmstat.numa_miss / (vmstat.numa_hit + vmstat.numa_miss)",
	  .help = "Part of the pages that came from another node than wanted" },
};
METRIC_TABLE_END(memory);

#define PRESSURE(counter) "100 * pressure." counter " / elapsed(pressure." counter ")"

const struct metric metric_pressure[] = {
	{ .name = "psi.cpu", .display = "PSIcpu%", .categories = "pressure", .unit = "%", .precision = 2,
	  .scope = METRIC_SYSTEM, .better = METRIC_LOWER, .default_on = true, .expr = PRESSURE("cpu.some"),
	  .help = "Time in which some task waited for a CPU" },
	{ .name = "psi.memory", .display = "PSImem%", .categories = "pressure,memory", .unit = "%", .precision = 2,
	  .scope = METRIC_SYSTEM, .better = METRIC_LOWER, .default_on = true, .expr = PRESSURE("memory.some"),
	  .help = "Time in which some task waited for memory" },
	{ .name = "psi.io", .display = "PSIio%", .categories = "pressure,io", .unit = "%", .precision = 2,
	  .scope = METRIC_SYSTEM, .better = METRIC_LOWER, .default_on = true, .expr = PRESSURE("io.some"),
	  .help = "Time in which some task waited for I/O" },
	{ .name = "psi.memory.full", .display = "PSImemF%", .categories = "pressure,memory", .unit = "%",
	  .precision = 2, .scope = METRIC_SYSTEM, .better = METRIC_LOWER, .expr = PRESSURE("memory.full"),
	  .help = "Time in which all tasks waited for memory" },
	{ .name = "psi.io.full", .display = "PSIioF%", .categories = "pressure,io", .unit = "%", .precision = 2,
	  .scope = METRIC_SYSTEM, .better = METRIC_LOWER, .expr = PRESSURE("io.full"),
	  .help = "Time in which all tasks waited for I/O" },
	{ .name = "psi.irq", .display = "PSIirq%", .categories = "pressure,interrupts", .unit = "%", .precision = 2,
	  .scope = METRIC_SYSTEM, .better = METRIC_LOWER, .expr = PRESSURE("irq.full"),
	  .help = "Time in which tasks were held up by interrupts" },
};
METRIC_TABLE_END(pressure);
