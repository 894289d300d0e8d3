/*
 * What turbostat shows of the processor's own registers, under its names. Residencies, TSC, MPERF and APERF are
 * averaged by their counters over what has them, so that a quotient of two is right at every level. Where the two
 * were read at different times each is taken per second of its own time. What is made of a counter in its place
 * ("msr.mperf.seconds"), see report/metric/bind_names.c; the literals are numbers that the registers of the recording give,
 * see report/machine/cpu_facts.c.
 */
#include "common/metric/tables.h"

/* Tables: a row is read as a row. */
/* clang-format off */
#define OF_TSC(counter) "percent(rate(msr." counter "), rate(msr.tsc))"

#define RESIDENCY(name_, display_, scope_, counter, when_, otherwise_, help_) \
	{ .name = name_, .display = display_, .categories = "hwidle,idle", .unit = "%", .precision = 2, \
	  .scope = scope_, .expr = OF_TSC(counter), .when = when_, .otherwise = otherwise_, .help = help_ }

#define PERF_OF_TSC(event) "percent(rate(" event "), rate(msr.tsc))"

/* Of a counter that is recorded as a level: nobody said what it is. */
#define OF_CLOCK(counter, hz) \
	"percent((last(" counter ") - first(" counter ")) * aggr_nr(" counter ") / elapsed(" counter "), " hz ")"

#define L2(pmu, umask) pmu "@event=0x24,umask=" umask "@"
#define L2_HIT(pmu, umask) "percent(" L2(pmu, umask) ", " L2(pmu, "0xff") ")"

/* With one register less, C1 is what is left of the time. */
#define SOFT_C1 \
	"max(0, 100 - percent(msr.mperf * #perf_factor, msr.tsc * #tsc_tweak)" \
	" - (percent(rate(msr.core_c3_res), rate(msr.tsc)) if has_event(msr.core_c3_res) else 0)" \
	" - percent(rate(msr.core_c6_res), rate(msr.tsc))" \
	" - (percent(rate(msr.core_c7_res), rate(msr.tsc)) if has_event(msr.core_c7_res) else 0))"

#define SHARE(name_, display_, counter, help_) \
	{ .name = name_, .display = display_, .categories = "hwidle,idle", .unit = "%", .precision = 2, \
	  .expr = "percent(rate(" counter "), 1)", .help = help_ }
#define MHZ(name_, display_, counter, help_) \
	{ .name = name_, .display = display_, .categories = "frequency", .unit = "MHz", \
	  .expr = counter " / 1e6", .help = help_ }

const struct metric metric_turbostat[] = {
	{ .name = "usec", .display = "usec", .categories = "time", .unit = "us", .scope = METRIC_CPU,
	  .expr = "reading.us",
	  .help = "How long reading the registers of the CPU took; of several the longest" },
	{ .name = "time_of_day", .display = "Time_Of_Day_Seconds", .categories = "time", .unit = "s", .precision = 6,
	  .scope = METRIC_CPU, .expr = "reading.time", .help = "End of the interval, seconds since 1970" },
	{ .name = "apic_id", .display = "APIC", .categories = "cpu", .unit = "1", .scope = METRIC_CPU,
	  .expr = "cpu.apic_id", .help = "Number of the CPU's interrupt controller, eight bits of it" },
	{ .name = "x2apic_id", .display = "X2APIC", .categories = "cpu", .unit = "1", .scope = METRIC_CPU,
	  .expr = "cpu.x2apic_id", .help = "Number of the CPU's interrupt controller, all of it" },
	{ .name = "avg_mhz", .display = "Avg_MHz", .categories = "frequency", .unit = "MHz", .scope = METRIC_CPU,
	  .expr = "rate(msr.aperf) * #perf_factor / 1e6",
	  .help = "Cycles executed a second of all time, idle time included" },
	{ .name = "busy", .display = "Busy%", .categories = "frequency,hwidle,swidle,idle", .unit = "%",
	  .precision = 2, .scope = METRIC_CPU,
	  .expr = "percent(msr.mperf * #perf_factor, msr.tsc * #tsc_tweak)",
	  .help = "Time that the CPU was not idle" },
	{ .name = "bzy_mhz", .display = "Bzy_MHz", .categories = "frequency", .unit = "MHz", .scope = METRIC_CPU,
	  .expr = "msr.aperf / msr.mperf.seconds / 1e6", 
	  .otherwise = "msr.tsc * aggr_nr(msr.tsc) / elapsed(msr.tsc) / 1e6 * msr.aperf / msr.mperf",
	  .help = "Frequency while the CPU was not idle" },
	{ .name = "tsc_mhz", .display = "TSC_MHz", .categories = "frequency", .unit = "MHz", .scope = METRIC_CPU,
	  .expr = "(last(msr.tsc) - first(msr.tsc)) / 1e6 * aggr_nr(msr.tsc) / elapsed(msr.tsc)",
	  .help = "Frequency of the time stamp counter, also where it is not to be trusted" },
	{ .name = "irq.count", .display = "IRQ", .categories = "interrupts,other", .unit = "1", .scope = METRIC_CPU,
	  .better = METRIC_LOWER, .expr = "interrupts.total", .help = "Interrupts in the interval, of all lines" },
	{ .name = "nmi", .display = "NMI", .categories = "interrupts,other", .unit = "1", .scope = METRIC_CPU,
	  .better = METRIC_LOWER, .expr = "interrupts.nmi", .help = "Non-maskable interrupts in the interval" },
	{ .name = "smi", .display = "SMI", .categories = "interrupts,other", .unit = "1", .scope = METRIC_CPU,
	  .better = METRIC_LOWER, .expr = "msr.smi_count", .otherwise = "msr@smi@",
	  .help = "System management interrupts in the interval; they stop all CPUs, and each counts them" },
	{ .name = "llc.references", .display = "LLCMRPS", .aliases = "LLCkRPS", .categories = "cache,llc,perf",
	  .unit = "M/s", .expr = "rate(cache\\-references) / 1e6",
	  .help = "References to the last-level cache, millions a second" },
	{ .name = "llc.hit", .display = "LLC%hit", .categories = "cache,llc,perf", .unit = "%", .precision = 2,
	  .better = METRIC_HIGHER, .expr = "percent(cache\\-references - cache\\-misses, cache\\-references)",
	  .help = "References to the last-level cache that hit" },
	/* Their codes differ by model and kind of core; of a model that is not known those of most are taken. */
	{ .name = "l2.references", .display = "L2MRPS", .aliases = "L2kRPS", .categories = "cache,perf",
	  .unit = "M/s", .expr = "rate(l2.refs) / 1e6", .otherwise = "rate(" L2("cpu", "0xff") ") / 1e6",
	  .help = "References to the second-level cache, millions a second" },
	{ .name = "l2.hit", .display = "L2%hit", .categories = "cache,perf", .unit = "%", .precision = 2,
	  .better = METRIC_HIGHER, .expr = "percent(l2.hits, l2.refs)",
	  .otherwise = L2_HIT("cpu", "0xdf") ";" L2_HIT("cpu", "0x5f"),
	  .help = "References to the second-level cache that hit" },
	/* Clearwater Forest has it in its telemetry, a counter of 800 MHz a module. */
	{ .name = "cpu.c1e", .display = "CPU%c1e", .categories = "hwidle,idle", .unit = "%", .precision = 2,
	  .expr = OF_CLOCK("pmt.module_c1e", "800e6"),
	  .help = "Time that the module was in C1E" },
	/* The counter of the register, then perf's event for it, then what is left. */
	{ .name = "cpu.c1", .display = "CPU%c1", .categories = "hwidle,idle", .unit = "%", .precision = 2,
	  .scope = METRIC_CPU, .inherits = true, .expr = OF_TSC("core_c1_res"),
	  .otherwise = PERF_OF_TSC("cstate_core@c1-residency@") ";" SOFT_C1,
	  .help = "Time that the CPU was in C1; without a counter for it, what other states leave" },
	RESIDENCY("cpu.c3", "CPU%c3", METRIC_CORE, "core_c3_res", "has_cc3", PERF_OF_TSC("cstate_core@c3-residency@"),
		  "Time that the core was in C3"),
	/* Efficiency cores count their time in C7 here, too. */
	{ .name = "cpu.c6", .display = "CPU%c6", .categories = "hwidle,idle", .unit = "%", .precision = 2,
	  .scope = METRIC_CORE, .when = "has_cc6",
	  .expr = "percent(rate(msr.core_c6_res)"
		  " - (rate(msr.core_c7_res.in_c6) if has_event(msr.core_c7_res.in_c6) else 0), rate(msr.tsc))",
	  .otherwise = OF_TSC("knl_core_c6_res") ";" PERF_OF_TSC("cstate_core@c6-residency@"),
	  .help = "Time that the core was in C6" },
	RESIDENCY("cpu.c7", "CPU%c7", METRIC_CORE, "core_c7_res", "has_cc7", PERF_OF_TSC("cstate_core@c7-residency@"),
		  "Time that the core was in C7"),
	RESIDENCY("module.c6", "Mod%c6", METRIC_ANY, "module_c6_res", "has_mc6", NULL,
		  "Time that the module, cores that share a cache, was in C6"),
	{ .name = "core.temp", .display = "CoreTmp", .categories = "power,other,thermal", .unit = "Cel",
	  .scope = METRIC_CORE, .better = METRIC_LOWER, .expr = "msr.therm_status.celsius",
	  .help = "Temperature of the core at the end of the interval; of several the highest" },
	{ .name = "package.temp", .display = "PkgTmp", .categories = "power,other,thermal", .unit = "Cel",
	  .scope = METRIC_PACKAGE, .better = METRIC_LOWER, .expr = "msr.package_therm_status.celsius",
	  .help = "Temperature of the package at the end of the interval; of several the highest" },
	{ .name = "package.c0.total", .display = "Totl%C0", .categories = "hwidle,idle", .unit = "%", .precision = 2,
	  .scope = METRIC_PACKAGE, .expr = "100 * rate(msr.weighted_core_c0) / rate(msr.tsc)",
	  .when = "has_extended_c0",
	  .help = "Time in C0, added up over the cores of the package: beyond 100 % with more than one" },
	RESIDENCY("package.c0.any", "Any%C0", METRIC_PACKAGE, "any_core_c0", "has_extended_c0", NULL,
		  "Time that any core of the package was in C0"),
	RESIDENCY("package.c0.gfx", "GFX%C0", METRIC_PACKAGE, "any_gfxe_c0", "has_extended_c0", NULL,
		  "Time that any graphics engine was in C0"),
	RESIDENCY("package.c0.both", "CPUGFX%", METRIC_PACKAGE, "core_gfxe_overlap_c0", "has_extended_c0", NULL,
		  "Time that a core and a graphics engine were in C0 at once"),
	RESIDENCY("package.c2", "Pkg%pc2", METRIC_PACKAGE, "pkg_c2_res", "has_pc2",
		  PERF_OF_TSC("cstate_pkg@c2-residency@"), "Time that the package was in C2"),
	RESIDENCY("package.c3", "Pkg%pc3", METRIC_PACKAGE, "pkg_c3_res", "has_pc3",
		  PERF_OF_TSC("cstate_pkg@c3-residency@"), "Time that the package was in C3"),
	/* Silvermont counts it in the register that is C7's elsewhere. */
	{ .name = "package.c6", .display = "Pkg%pc6", .categories = "hwidle,idle", .unit = "%", .precision = 2,
	  .scope = METRIC_PACKAGE, .when = "has_pc6", .expr = OF_TSC("pkg_c7_res") " * #pc6_in_pc7",
	  .otherwise = OF_TSC("pkg_c6_res") ";" PERF_OF_TSC("cstate_pkg@c6-residency@"),
	  .help = "Time that the package was in C6" },
	RESIDENCY("package.c7", "Pkg%pc7", METRIC_PACKAGE, "pkg_c7_res", "has_pc7",
		  PERF_OF_TSC("cstate_pkg@c7-residency@"),
		  "Time that the package was in C7, or in C6 where the model counts that here"),
	RESIDENCY("package.c8", "Pkg%pc8", METRIC_PACKAGE, "pkg_c8_res", "has_pc8",
		  PERF_OF_TSC("cstate_pkg@c8-residency@"), "Time that the package was in C8"),
	RESIDENCY("package.c9", "Pkg%pc9", METRIC_PACKAGE, "pkg_c9_res", "has_pc9",
		  PERF_OF_TSC("cstate_pkg@c9-residency@"), "Time that the package was in C9"),
	RESIDENCY("package.c10", "Pk%pc10", METRIC_PACKAGE, "pkg_c10_res", "has_pc10",
		  PERF_OF_TSC("cstate_pkg@c10-residency@"), "Time that the package was in C10"),
	{ .name = "package.throttled", .display = "PKG_%", .categories = "power", .unit = "%", .precision = 2,
	  .scope = METRIC_PACKAGE, .better = METRIC_LOWER,
	  .expr = "percent(msr.pkg_perf_status.seconds, elapsed(msr.pkg_perf_status))",
	  .help = "Time that the package was held back by its power limit; of several packages the mean" },
	{ .name = "memory.throttled", .display = "RAM_%", .categories = "power", .unit = "%", .precision = 2,
	  .scope = METRIC_PACKAGE, .better = METRIC_LOWER,
	  .expr = "percent(msr.dram_perf_status.seconds, elapsed(msr.dram_perf_status))",
	  .help = "Time that the memory was held back by its power limit; of several packages the mean" },
	/* What the kernel's drivers know of graphics, uncore and platform. */
	SHARE("graphics.rc6", "GFX%rc6", "gfx.rc6", "Time that the graphics slept"),
	MHZ("graphics.mhz", "GFXMHz", "gfx.freq", "Frequency asked of the graphics, at the end of the interval"),
	MHZ("graphics.mhz.actual", "GFXAMHz", "gfx.freq_actual",
	    "Frequency of the graphics, at the end of the interval"),
	SHARE("media.mc6", "SAM%mc6", "gfx.media_rc6", "Time that the media engines slept"),
	MHZ("media.mhz", "SAMMHz", "gfx.media_freq",
	    "Frequency asked of the media engines, at the end of the interval"),
	MHZ("media.mhz.actual", "SAMAMHz", "gfx.media_freq_actual",
	    "Frequency of the media engines, at the end of the interval"),
	/* Meteor Lake has it in its telemetry, in ticks of the crystal. */
	{ .name = "die.c6", .display = "Die%c6", .categories = "hwidle,idle", .unit = "%", .precision = 2,
	  .expr = OF_CLOCK("pmt.die_c6", "#crystal_hz"),
	  .help = "Time that the die was in C6" },
	SHARE("idle.cpus", "CPU%LPI", "lpi.cpu", "Time that all CPUs were in their deepest low-power state"),
	SHARE("idle.system", "SYS%LPI", "lpi.system", "Time that the system was in its deepest low-power state"),
	MHZ("uncore.mhz", "UncMHz", "uncorefreq.package",
	    "Frequency of the uncore at the end of the interval; of several the mean"),
	{ .name = "uncore.cluster.*.mhz", .display = "UMHz*", .categories = "frequency", .each = "uncorefreq.cluster",
	  .unit = "MHz", .scope = METRIC_PACKAGE, .expr = "uncorefreq.cluster.* / 1e6",
	  .help = "Frequency of the uncore's domain and cluster * at the end of the interval; of packages the mean" },
};
METRIC_TABLE_END(turbostat);
