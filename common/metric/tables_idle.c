/* Idle states and frequencies as the kernel's drivers see them. */
#include "common/metric/tables.h"

/* Tables: a row is read as a row. */
/* clang-format off */
const struct metric metric_idle[] = {
	{ .name = "idle.*.requests", .display = "*", .categories = "idle,swidle,sysfs,cpuidle",
	  .each = "cpuidle.usage", .unit = "1", .scope = METRIC_CPU, .expr = "cpuidle.usage.*",
	  .help = "How often idle state * was entered in the interval" },
	{ .name = "idle.*.residency", .display = "*%", .categories = "idle,swidle,sysfs,pct_idle",
	  .each = "cpuidle.time", .unit = "%", .precision = 2, .scope = METRIC_CPU, .default_on = true,
	  .expr = "100 * cpuidle.time.* / elapsed(cpuidle.time.*)",
	  .help = "Time in idle state * as the kernel requested it; the hardware may have done less" },
	{ .name = "idle.*.duration", .display = "*_us", .categories = "idle", .each = "cpuidle.time",
	  .unit = "us", .precision = 1, .scope = METRIC_CPU, .expr = "1e6 * cpuidle.time.* / cpuidle.usage.*",
	  .help = "How long a stay in idle state * lasted on average" },
	{ .name = "idle.*.above", .display = "*-", .categories = "idle,swidle,cpuidle",
	  .each = "cpuidle.above", .unit = "1", .scope = METRIC_CPU, .better = METRIC_LOWER,
	  .expr = "cpuidle.above.*",
	  .help = "How often * turned out too deep: the CPU was needed again before it paid off" },
	{ .name = "idle.*.below", .display = "*+", .categories = "idle,swidle,cpuidle",
	  .each = "cpuidle.below", .unit = "1", .scope = METRIC_CPU, .better = METRIC_LOWER,
	  .expr = "cpuidle.below.*",
	  .help = "How often * turned out too shallow: a deeper state would have paid off" },
};
METRIC_TABLE_END(idle);

const struct metric metric_frequency[] = {
	{ .name = "mhz", .display = "MHz", .aliases = "cpufreq", .categories = "frequency", .unit = "MHz",
	  .scope = METRIC_CPU, .default_on = true, .expr = "mean(cpufreq.cur) / 1e6",
	  .help = "Frequency that the cpufreq driver reports, averaged over the readings" },
	{ .name = "mhz.max", .display = "MaxMHz", .categories = "frequency", .unit = "MHz",
	  .scope = METRIC_CPU, .expr = "max_of(cpufreq.cur) / 1e6",
	  .help = "Highest frequency that the cpufreq driver reported in the interval" },
};
METRIC_TABLE_END(frequency);
