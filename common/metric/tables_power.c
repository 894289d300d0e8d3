/* Temperatures, throttling, sensors, watts. */
#include "common/metric/tables.h"

/* Tables: a row is read as a row. */
/* clang-format off */
/* Levels between two readings are not known, so a temperature is the highest that was read: what a total over a
 * whole run should show, and for a single interval nearly the last. */
const struct metric metric_thermal[] = {
	{ .name = "temp", .display = "Temp", .aliases = "ThermalTmp", .categories = "thermal,power",
	  .unit = "Cel", .precision = 1, .better = METRIC_LOWER, .default_on = true,
	  .expr = "max_of(thermal.temp)", .help = "Highest temperature of a thermal zone" },
	{ .name = "temp.sensor", .display = "SensTemp", .categories = "thermal,sensors", .unit = "Cel",
	  .precision = 1, .better = METRIC_LOWER, .expr = "max_of(hwmon.temp)",
	  .help = "Highest temperature of a hwmon sensor" },
	{ .name = "throttled.core", .display = "CoreThr", .categories = "thermal,power", .unit = "1",
	  .scope = METRIC_CORE, .better = METRIC_LOWER, .default_on = true, .expr = "throttle.core.worst",
	  .threshold = "throttle.core > 0",
	  .help = "How often a core was throttled for its temperature in the interval; of several the most" },
	{ .name = "throttled.package", .display = "PkgThr", .categories = "thermal,power", .unit = "1",
	  .scope = METRIC_PACKAGE, .better = METRIC_LOWER, .expr = "throttle.package",
	  .threshold = "throttle.package > 0",
	  .help = "How often a package was throttled for its temperature in the interval" },
	{ .name = "throttled.core.time", .display = "CoreThr%", .categories = "thermal,power", .unit = "%",
	  .precision = 2, .scope = METRIC_CORE, .better = METRIC_LOWER,
	  .expr = "100 * throttle.core_time / elapsed(throttle.core_time)",
	  .help = "Time in which a core was throttled for its temperature" },
	{ .name = "throttled.package.time", .display = "PkgThr%", .categories = "thermal,power", .unit = "%",
	  .precision = 2, .scope = METRIC_PACKAGE, .better = METRIC_LOWER,
	  .expr = "100 * throttle.package_time / elapsed(throttle.package_time)",
	  .help = "Time in which a package was throttled for its temperature" },
	{ .name = "fan", .display = "Fan_rpm", .categories = "sensors", .unit = "1/min",
	  .scope = METRIC_DEVICE, .expr = "max_of(hwmon.fan)", .help = "Highest speed of a fan" },
};
METRIC_TABLE_END(thermal);

/* The processor's own counter in the unit of its package, what the kernel makes of it, perf's event. */
#define WATTS(reg) "rate(msr." reg ".joules)"
#define JOULES(reg) "msr." reg ".joules"
#define KERNEL_WATTS(zone, event) "rate(powercap.energy." zone ");rate(power@" event "@)"
#define KERNEL_JOULES(zone, event) "powercap.energy." zone ";power@" event "@"

const struct metric metric_power[] = {
	{ .name = "pkgwatt", .display = "PkgWatt", .categories = "power", .unit = "W", .precision = 2,
	  .scope = METRIC_PACKAGE, .better = METRIC_LOWER, .default_on = true,
	  .expr = WATTS("pkg_energy_status"),
	  .otherwise = WATTS("amd_pkg_energy") ";" KERNEL_WATTS("package", "energy-pkg"),
	  .help = "Power of the packages" },
	{ .name = "corwatt", .display = "CorWatt", .categories = "power", .unit = "W", .precision = 2,
	  .scope = METRIC_ANY, .better = METRIC_LOWER, .default_on = true,
	  .expr = WATTS("pp0_energy_status"),
	  .otherwise = WATTS("amd_core_energy") ";" KERNEL_WATTS("core", "energy-cores"),
	  .help = "Power of the cores of the packages; of each core on AMD" },
	{ .name = "gfxwatt", .display = "GFXWatt", .categories = "power", .unit = "W", .precision = 2,
	  .scope = METRIC_PACKAGE, .better = METRIC_LOWER, .default_on = true,
	  .expr = WATTS("pp1_energy_status"),
	  .otherwise = KERNEL_WATTS("uncore", "energy-gpu"),
	  .help = "Power of the graphics of the packages" },
	{ .name = "ramwatt", .display = "RAMWatt", .categories = "power", .unit = "W", .precision = 2,
	  .scope = METRIC_PACKAGE, .better = METRIC_LOWER, .default_on = true,
	  .expr = WATTS("dram_energy_status"),
	  .otherwise = KERNEL_WATTS("dram", "energy-ram"),
	  .help = "Power of the memory of the packages" },
	{ .name = "syswatt", .display = "SysWatt", .categories = "power", .unit = "W", .precision = 2,
	  .scope = METRIC_SYSTEM, .better = METRIC_LOWER, .default_on = true,
	  .expr = WATTS("platform_energy_status"),
	  .otherwise = KERNEL_WATTS("psys", "energy-psys"),
	  .help = "Power of the whole platform, where the processor measures it" },
	{ .name = "pkg_j", .display = "Pkg_J", .categories = "energy", .unit = "J", .precision = 2,
	  .scope = METRIC_PACKAGE, .better = METRIC_LOWER,
	  .expr = JOULES("pkg_energy_status"),
	  .otherwise = JOULES("amd_pkg_energy") ";" KERNEL_JOULES("package", "energy-pkg"),
	  .help = "Energy of the packages" },
	{ .name = "cor_j", .display = "Cor_J", .categories = "energy", .unit = "J", .precision = 2,
	  .scope = METRIC_ANY, .better = METRIC_LOWER,
	  .expr = JOULES("pp0_energy_status"),
	  .otherwise = JOULES("amd_core_energy") ";" KERNEL_JOULES("core", "energy-cores"),
	  .help = "Energy of the cores of the packages; of each core on AMD" },
	{ .name = "gfx_j", .display = "GFX_J", .categories = "energy", .unit = "J", .precision = 2,
	  .scope = METRIC_PACKAGE, .better = METRIC_LOWER,
	  .expr = JOULES("pp1_energy_status"),
	  .otherwise = KERNEL_JOULES("uncore", "energy-gpu"),
	  .help = "Energy of the graphics of the packages" },
	{ .name = "ram_j", .display = "RAM_J", .categories = "energy", .unit = "J", .precision = 2,
	  .scope = METRIC_PACKAGE, .better = METRIC_LOWER,
	  .expr = JOULES("dram_energy_status"),
	  .otherwise = KERNEL_JOULES("dram", "energy-ram"),
	  .help = "Energy of the memory of the packages" },
	{ .name = "sys_j", .display = "Sys_J", .categories = "energy", .unit = "J", .precision = 2,
	  .scope = METRIC_SYSTEM, .better = METRIC_LOWER,
	  .expr = JOULES("platform_energy_status"),
	  .otherwise = KERNEL_JOULES("psys", "energy-psys"),
	  .help = "Energy of the whole platform" },
	{ .name = "sensor.watt", .display = "SensWatt", .categories = "power,sensors", .unit = "W",
	  .precision = 2, .scope = METRIC_DEVICE, .better = METRIC_LOWER, .expr = "mean(hwmon.power)",
	  .help = "Power that a hwmon sensor shows, averaged over the readings" },
	{ .name = "sensor.energy", .display = "SensE_W", .categories = "power,sensors", .unit = "W",
	  .precision = 2, .scope = METRIC_DEVICE, .better = METRIC_LOWER, .expr = "rate(hwmon.energy)",
	  .help = "Power by the energy that a hwmon sensor has counted" },
	{ .name = "sensor.volt", .display = "SensVolt", .categories = "sensors", .unit = "V", .precision = 3,
	  .scope = METRIC_DEVICE, .expr = "mean(hwmon.in)", .help = "Voltage that a hwmon sensor shows" },
	{ .name = "sensor.amp", .display = "SensAmp", .categories = "sensors", .unit = "A", .precision = 3,
	  .scope = METRIC_DEVICE, .expr = "mean(hwmon.curr)", .help = "Current that a hwmon sensor shows" },
};
METRIC_TABLE_END(power);
