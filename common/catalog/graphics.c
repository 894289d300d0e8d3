/* Graphics, uncore and platform idleness as the kernel's drivers show them. */
#include "common/catalog/tables.h"

/* Tables: a row is read as a row. */
/* clang-format off */
/* `key` begins with the part of the graphics that it is of. */
#define GFX(part, prefix, shown, text) \
	{ .source = "gfx", .name = "gfx." prefix "rc6", .display = shown "rc6", .key = part ".rc6", .unit = "s", \
	  .num = 1, .den = 1000, .aggregation = CATALOG_MEAN, .help = "Time in which the " text " slept" }, \
	{ .source = "gfx", .name = "gfx." prefix "freq", .display = shown "MHz", .key = part ".cur", .unit = "Hz", \
	  .num = 1000000, .den = 1, .semantics = CATALOG_GAUGE, .aggregation = CATALOG_MEAN, \
	  .help = "Frequency that was asked of the " text }, \
	{ .source = "gfx", .name = "gfx." prefix "freq_actual", .display = shown "AMHz", .key = part ".act", \
	  .unit = "Hz", .num = 1000000, .den = 1, .semantics = CATALOG_GAUGE, .aggregation = CATALOG_MEAN, \
	  .help = "Frequency that the " text " runs at" }

const struct catalog_counter catalog_gfx[6] = {
	GFX("render", "", "GFX", "graphics"),
	GFX("media", "media_", "SAM", "media engines"),
};

/* The member is DOMAIN_CLUSTER. */
const struct catalog_counter catalog_uncorefreq[2] = {
	{ .source = "uncorefreq", .name = "uncorefreq.package", .display = "UncMHz", .key = "package", .unit = "Hz",
	  .num = 1000, .den = 1, .semantics = CATALOG_GAUGE, .aggregation = CATALOG_MEAN,
	  .help = "Frequency of the uncore of a package, or of a die where it has several" },
	{ .source = "uncorefreq", .name = "uncorefreq.cluster.*", .display = "UMHz*", .key = "*", .unit = "Hz",
	  .num = 1000, .den = 1, .semantics = CATALOG_GAUGE, .aggregation = CATALOG_MEAN,
	  .help = "Frequency of one domain and fabric cluster of the uncore" },
};

/* The member is GUID_OFFSET. */
const struct catalog_counter catalog_pmt[1] = {
	{ .source = "pmt", .name = "pmt.*", .display = "pmt.*", .key = "*", .unit = "1",
	  .semantics = CATALOG_BITFIELD, .aggregation = CATALOG_NONE },
};

const struct catalog_counter catalog_lpi[2] = {
	{ .source = "lpi", .name = "lpi.cpu", .display = "CPU_LPI", .key = "low_power_idle_cpu_residency_us",
	  .unit = "s", .num = 1, .den = 1000000, .aggregation = CATALOG_FIRST,
	  .help = "Time in which all CPUs were in their deepest low-power state" },
	{ .source = "lpi", .name = "lpi.system", .display = "SYS_LPI", .key = "low_power_idle_system_residency_us",
	  .unit = "s", .num = 1, .den = 1000000, .aggregation = CATALOG_FIRST,
	  .help = "Time in which the whole system was in its deepest low-power state" },
};
