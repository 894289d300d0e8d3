/* Temperatures, throttling, fans, voltages, power and energy as the kernel's drivers show them. */
#include "common/catalog/tables.h"

/* Tables: a row is read as a row. */
/* clang-format off */
const struct catalog_counter catalog_thermal[1] = {
	{ .source = "thermal", .name = "thermal.temp", .display = "thermal.temp", .key = "temp", .unit = "Cel",
	  .num = 1, .den = 1000, .type = CATALOG_S64, .semantics = CATALOG_GAUGE, .aggregation = CATALOG_MAX,
	  .help = "Temperature of a thermal zone" },
};

const struct catalog_counter catalog_throttle[4] = {
	{ .source = "throttle", .name = "throttle.core", .display = "CoreThr", .key = "core_throttle_count",
	  .unit = "1", .help = "How often the core was throttled for its temperature" },
	{ .source = "throttle", .name = "throttle.core_time", .display = "CoreThr.time",
	  .key = "core_throttle_total_time_ms", .unit = "s", .num = 1, .den = 1000,
	  .help = "How long the core was throttled for its temperature" },
	{ .source = "throttle", .name = "throttle.package", .display = "PkgThr", .key = "package_throttle_count",
	  .unit = "1", .help = "How often the package was throttled for its temperature" },
	{ .source = "throttle", .name = "throttle.package_time", .display = "PkgThr.time",
	  .key = "package_throttle_total_time_ms", .unit = "s", .num = 1, .den = 1000,
	  .help = "How long the package was throttled for its temperature" },
};

/* `key` is how the names of the channel's files begin. */
const struct catalog_counter catalog_hwmon[6] = {
	{ .source = "hwmon", .name = "hwmon.temp", .display = "hwmon.temp", .key = "temp", .unit = "Cel", .num = 1,
	  .den = 1000, .type = CATALOG_S64, .semantics = CATALOG_GAUGE, .aggregation = CATALOG_MAX,
	  .help = "Temperature of a sensor" },
	{ .source = "hwmon", .name = "hwmon.fan", .display = "hwmon.fan", .key = "fan", .unit = "1/min",
	  .semantics = CATALOG_GAUGE, .aggregation = CATALOG_MAX, .help = "Speed of a fan" },
	{ .source = "hwmon", .name = "hwmon.in", .display = "hwmon.in", .key = "in", .unit = "V", .num = 1,
	  .den = 1000, .type = CATALOG_S64, .semantics = CATALOG_GAUGE, .aggregation = CATALOG_NONE,
	  .help = "Voltage of a sensor" },
	{ .source = "hwmon", .name = "hwmon.curr", .display = "hwmon.curr", .key = "curr", .unit = "A", .num = 1,
	  .den = 1000, .type = CATALOG_S64, .semantics = CATALOG_GAUGE, .aggregation = CATALOG_NONE,
	  .help = "Current of a sensor" },
	{ .source = "hwmon", .name = "hwmon.power", .display = "hwmon.power", .key = "power", .unit = "W", .num = 1,
	  .den = 1000000, .type = CATALOG_S64, .semantics = CATALOG_GAUGE, .aggregation = CATALOG_NONE,
	  .help = "Power of a sensor" },
	{ .source = "hwmon", .name = "hwmon.energy", .display = "hwmon.energy", .key = "energy", .unit = "J",
	  .num = 1, .den = 1000000, .aggregation = CATALOG_NONE, .help = "Energy of a sensor" },
};

/* `key` is how a zone's name begins. The recorder takes the wrap at max_energy_range_uj out, so 64 bits hold. */
#define ENERGY(kind, text) \
	{ .source = "powercap", .name = "powercap.energy." kind, .display = "powercap." kind, .key = kind, \
	  .unit = "J", .num = 1, .den = 1000000, .help = text }

const struct catalog_counter catalog_powercap[6] = {
	ENERGY("package", "Energy of a package, or of a die where the package has several"),
	ENERGY("core", "Energy of the cores of a package"),
	ENERGY("uncore", "Energy of the graphics of a package"),
	ENERGY("dram", "Energy of the memory of a package"),
	ENERGY("psys", "Energy of the whole platform"),
	{ .source = "powercap", .name = "powercap.energy.*", .display = "powercap.*", .key = "*", .unit = "J",
	  .num = 1, .den = 1000000, .aggregation = CATALOG_NONE, .help = "Energy of another zone" },
};
