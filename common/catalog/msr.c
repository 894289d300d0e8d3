#include "common/catalog/msr.h"

#include <string.h>

/* Tables: a row is read as a row. */
/* clang-format off */
/*
 * Cycles and residencies are averaged over what has them: a share of time is the quotient of two such averages,
 * whatever the levels of the two (a package's residency over the time stamp counters of its CPUs).
 */
#define COUNTER(address_, scope_, name_, display_, manual_, help_, ...) \
	{ .counter = { .source = "msr", .name = "msr." name_, .display = display_, .key = name_, .unit = "1", \
		       .help = help_, __VA_ARGS__ }, \
	  .address = address_, .scope = CATALOG_MSR_##scope_, .use = CATALOG_MSR_COUNTER, .manual = manual_ }
#define CYCLES(address_, scope_, name_, display_, manual_, help_) \
	COUNTER(address_, scope_, name_, display_, manual_, help_, .aggregation = CATALOG_MEAN)
/* In units that another register gives. */
#define ENERGY(address_, scope_, name_, display_, manual_, help_) \
	COUNTER(address_, scope_, name_, display_, manual_, help_, .width = 32)
#define FIELDS(address_, scope_, use_, name_, manual_, help_) \
	{ .counter = { .source = "msr", .name = "msr." name_, .display = "msr." name_, .key = name_, .unit = "1", \
		       .semantics = CATALOG_BITFIELD, .aggregation = CATALOG_NONE, .help = help_ }, \
	  .address = address_, .scope = CATALOG_MSR_##scope_, .use = CATALOG_MSR_##use_, .manual = manual_ }
#define ONCE(address_, scope_, name_, manual_, help_) FIELDS(address_, scope_, ONCE, name_, manual_, help_)

#define ARCH "SDM, architectural"
#define NHM  "SDM, Nehalem"
#define SNB  "SDM, Sandy Bridge"
#define IVB  "SDM, Ivy Bridge"
#define HSW  "SDM, Haswell"
#define SKL  "SDM, Skylake"
#define ATOM "SDM, Atom"
#define KNL  "SDM, Knights Landing"
#define PPR  "PPR, family 17h and later"
#define APM  "APM, volume 2"

/* Rows of a scope that are read together stand together; the first three of them are compared with each other. */
const struct catalog_msr catalog_msrs[] = {
	CYCLES(0x10, CPU, "tsc", "TSC", ARCH, "Time stamp counter"),
	CYCLES(0xe7, CPU, "mperf", "MPERF", ARCH, "Cycles at a fixed frequency while the CPU was not idle"),
	CYCLES(0xe8, CPU, "aperf", "APERF", ARCH, "Cycles at the actual frequency while the CPU was not idle"),
	CYCLES(0x660, CPU, "core_c1_res", "C1_RES", ATOM, "TSC cycles in C1"),
	COUNTER(0x34, CPU, "smi_count", "SMI", NHM, "System management interrupts since reset", .width = 32),

	FIELDS(0x19c, CORE, BOTH, "therm_status", ARCH, "Temperature of the core below its maximum; thermal events"),
	CYCLES(0x3fc, CORE, "core_c3_res", "C3_RES", NHM, "TSC cycles of the core in C3"),
	CYCLES(0x3fd, CORE, "core_c6_res", "C6_RES", NHM, "TSC cycles of the core in C6"),
	CYCLES(0x3fe, CORE, "core_c7_res", "C7_RES", SNB, "TSC cycles of the core in C7"),
	CYCLES(0x3ff, CORE, "knl_core_c6_res", "KNL_C6_RES", KNL, "TSC cycles of the core in C6"),
	ENERGY(0xc001029a, CORE, "amd_core_energy", "CoreEnergy", PPR,
	       "Energy of the core, in units of amd_power_unit"),

	CYCLES(0x664, MODULE, "module_c6_res", "MC6_RES", ATOM, "TSC cycles of the module in C6"),

	ENERGY(0x611, PACKAGE, "pkg_energy_status", "PkgEnergy", SNB,
	       "Energy of the package, in units of rapl_power_unit"),
	ENERGY(0x639, PACKAGE, "pp0_energy_status", "PP0Energy", SNB,
	       "Energy of the cores of the package, in units of rapl_power_unit"),
	ENERGY(0x641, PACKAGE, "pp1_energy_status", "PP1Energy", SNB,
	       "Energy of the graphics of the package, in units of rapl_power_unit"),
	ENERGY(0x619, PACKAGE, "dram_energy_status", "DRAMEnergy", SNB,
	       "Energy of the memory of the package, in units of rapl_power_unit or of the model"),
	ENERGY(0xc001029b, PACKAGE, "amd_pkg_energy", "PkgEnergy", PPR,
	       "Energy of the package, in units of amd_power_unit"),
	ENERGY(0x613, PACKAGE, "pkg_perf_status", "PkgPerf", SNB,
	       "Time that the package was held back by its power limit, in units of rapl_power_unit"),
	ENERGY(0x61b, PACKAGE, "dram_perf_status", "DRAMPerf", SNB,
	       "Time that the memory was held back by its power limit, in units of rapl_power_unit"),
	FIELDS(0x1b1, PACKAGE, BOTH, "package_therm_status", ARCH,
	       "Temperature of the package below its maximum; thermal events"),
	CYCLES(0x60d, PACKAGE, "pkg_c2_res", "PC2_RES", SNB, "TSC cycles of the package in C2"),
	CYCLES(0x3f8, PACKAGE, "pkg_c3_res", "PC3_RES", NHM, "TSC cycles of the package in C3"),
	CYCLES(0x3f9, PACKAGE, "pkg_c6_res", "PC6_RES", NHM, "TSC cycles of the package in C6"),
	CYCLES(0x3fa, PACKAGE, "pkg_c7_res", "PC7_RES", NHM, "TSC cycles of the package in C7; on Silvermont in C6"),
	CYCLES(0x630, PACKAGE, "pkg_c8_res", "PC8_RES", HSW, "TSC cycles of the package in C8"),
	CYCLES(0x631, PACKAGE, "pkg_c9_res", "PC9_RES", HSW, "TSC cycles of the package in C9"),
	CYCLES(0x632, PACKAGE, "pkg_c10_res", "PC10_RES", HSW, "TSC cycles of the package in C10"),
	CYCLES(0x658, PACKAGE, "weighted_core_c0", "WeightedC0", SKL,
	       "TSC cycles in C0, added up over the cores of the package"),
	CYCLES(0x659, PACKAGE, "any_core_c0", "AnyC0", SKL, "TSC cycles with any core of the package in C0"),
	CYCLES(0x65a, PACKAGE, "any_gfxe_c0", "GFXC0", SKL, "TSC cycles with any graphics engine in C0"),
	CYCLES(0x65b, PACKAGE, "core_gfxe_overlap_c0", "CPUGFXC0", SKL,
	       "TSC cycles with a core and a graphics engine in C0"),
	FIELDS(0x64f, PACKAGE, BOTH, "core_perf_limit_reasons", SKL, "What limits the frequency of the cores"),
	FIELDS(0x690, PACKAGE, BOTH, "hsw_core_perf_limit_reasons", HSW, "What limits the frequency of the cores"),
	FIELDS(0x6b0, PACKAGE, BOTH, "gfx_perf_limit_reasons", HSW, "What limits the frequency of the graphics"),
	FIELDS(0x6b1, PACKAGE, BOTH, "ring_perf_limit_reasons", HSW, "What limits the frequency of the ring"),

	ENERGY(0x64d, SYSTEM, "platform_energy_status", "PsysEnergy", SKL,
	       "Energy of the platform, in units of rapl_power_unit or of the model"),

	ONCE(0x3a, CPU, "feature_control", ARCH, "Lock, SMX, VMX, SGX"),
	ONCE(0x8b, CPU, "ucode_rev", ARCH, "Revision of the microcode"),
	ONCE(0x198, CPU, "perf_status", ARCH, "Ratio that the CPU runs at"),
	ONCE(0x199, CPU, "perf_ctl", ARCH, "Ratio that the kernel asks for"),
	ONCE(0x1a4, CPU, "misc_feature_control", NHM, "Switches of the prefetchers"),
	ONCE(0x1b0, CPU, "energy_perf_bias", ARCH, "Preference of energy over speed"),
	ONCE(0x771, CPU, "hwp_capabilities", ARCH, "Highest, guaranteed, most efficient and lowest performance"),
	ONCE(0x773, CPU, "hwp_interrupt", ARCH, "What hardware P-states notify about"),
	ONCE(0x774, CPU, "hwp_request", ARCH, "Performance asked of hardware P-states"),
	ONCE(0x777, CPU, "hwp_status", ARCH, "Events of hardware P-states"),
	ONCE(0xc0010015, CPU, "amd_hwcr", APM, "Hardware configuration: boost"),
	ONCE(0xc0010061, CPU, "amd_pstate_limit", APM, "Highest and lowest P-state"),
	ONCE(0xc0010062, CPU, "amd_pstate_ctl", APM, "P-state that is asked for"),
	ONCE(0xc0010063, CPU, "amd_pstate_status", APM, "P-state that the CPU is in"),
	ONCE(0xc0010292, CPU, "amd_pm_control", PPR, "Control of power management and throttling"),
	ONCE(0xc0010293, CPU, "amd_hw_pstate_status", PPR, "Frequency and voltage of the P-state in use"),
	ONCE(0xc00102b0, CPU, "amd_cppc_cap1", PPR, "Highest, nominal and lowest performance"),
	ONCE(0xc00102b1, CPU, "amd_cppc_enable", PPR, "Whether collaborative performance control is on"),
	ONCE(0xc00102b2, CPU, "amd_cppc_cap2", PPR, "Constraint of collaborative performance control"),
	ONCE(0xc00102b3, CPU, "amd_cppc_request", PPR, "Performance asked for"),
	ONCE(0xc00102b4, CPU, "amd_cppc_status", PPR, "Status of collaborative performance control"),

	ONCE(0x19b, CORE, "therm_interrupt", ARCH, "Thresholds of temperature at which the core interrupts"),

	ONCE(0xce, PACKAGE, "platform_info", NHM, "Base and most efficient ratio; what is programmable"),
	ONCE(0xe2, PACKAGE, "pkg_cst_config_control", NHM, "Deepest C-state of the package, demotion, lock"),
	ONCE(0x1a0, PACKAGE, "misc_enable", ARCH, "Thermal control, SpeedStep, MWAIT, prefetch, turbo"),
	ONCE(0x1a2, PACKAGE, "temperature_target", NHM, "Maximum temperature and its offset"),
	ONCE(0x1aa, PACKAGE, "misc_pwr_mgmt", NHM, "Coordination of P-states, energy bias, out-of-band control"),
	ONCE(0x1ad, PACKAGE, "turbo_ratio_limit", NHM, "Turbo ratios by number of active cores"),
	ONCE(0x1ae, PACKAGE, "turbo_ratio_limit1", IVB, "More turbo ratios, or the numbers of cores they are for"),
	ONCE(0x1af, PACKAGE, "turbo_ratio_limit2", HSW, "More turbo ratios"),
	ONCE(0x650, PACKAGE, "secondary_turbo_ratio_limit", "SDM, Alder Lake", "Turbo ratios of the efficient cores"),
	ONCE(0x1b2, PACKAGE, "package_therm_interrupt", ARCH, "Thresholds of temperature of the package"),
	ONCE(0x1fc, PACKAGE, "power_ctl", NHM, "C1E promotion, prewake"),
	ONCE(0x601, PACKAGE, "vr_current_config", SNB, "Power or current limit 4"),
	ONCE(0x606, PACKAGE, "rapl_power_unit", SNB, "Units of power, energy and time"),
	ONCE(0x60a, PACKAGE, "pkgc3_irtl", SNB, "Latency allowed to interrupts in package C3"),
	ONCE(0x60b, PACKAGE, "pkgc6_irtl", SNB, "Latency allowed to interrupts in package C6"),
	ONCE(0x60c, PACKAGE, "pkgc7_irtl", SNB, "Latency allowed to interrupts in package C7"),
	ONCE(0x633, PACKAGE, "pkgc8_irtl", HSW, "Latency allowed to interrupts in package C8"),
	ONCE(0x634, PACKAGE, "pkgc9_irtl", HSW, "Latency allowed to interrupts in package C9"),
	ONCE(0x635, PACKAGE, "pkgc10_irtl", HSW, "Latency allowed to interrupts in package C10"),
	ONCE(0x610, PACKAGE, "pkg_power_limit", SNB, "Power limits 1 and 2 of the package"),
	ONCE(0x614, PACKAGE, "pkg_power_info", SNB, "Thermal design power; range of limits"),
	ONCE(0x618, PACKAGE, "dram_power_limit", SNB, "Power limit of the memory"),
	ONCE(0x61c, PACKAGE, "dram_power_info", SNB, "Range of power limits of the memory"),
	ONCE(0x638, PACKAGE, "pp0_power_limit", SNB, "Power limit of the cores"),
	ONCE(0x63a, PACKAGE, "pp0_policy", SNB, "Share of power for the cores"),
	ONCE(0x640, PACKAGE, "pp1_power_limit", SNB, "Power limit of the graphics"),
	ONCE(0x642, PACKAGE, "pp1_policy", SNB, "Share of power for the graphics"),
	ONCE(0x648, PACKAGE, "config_tdp_nominal", IVB, "Nominal ratio of configurable TDP"),
	ONCE(0x649, PACKAGE, "config_tdp_level_1", IVB, "Ratio and power of TDP level 1"),
	ONCE(0x64a, PACKAGE, "config_tdp_level_2", IVB, "Ratio and power of TDP level 2"),
	ONCE(0x64b, PACKAGE, "config_tdp_control", IVB, "TDP level in use; lock"),
	ONCE(0x64c, PACKAGE, "turbo_activation_ratio", IVB, "Highest ratio without turbo; lock"),
	ONCE(0x668, PACKAGE, "cc6_demotion_policy", ATOM, "Demotion of core C6"),
	ONCE(0x669, PACKAGE, "mc6_demotion_policy", ATOM, "Demotion of module C6"),
	ONCE(0x66a, PACKAGE, "atom_core_ratios", ATOM, "Base and most efficient ratio"),
	ONCE(0x66c, PACKAGE, "atom_core_turbo_ratios", ATOM, "Turbo ratios"),
	ONCE(0x770, PACKAGE, "pm_enable", ARCH, "Whether hardware P-states are on"),
	ONCE(0x772, PACKAGE, "hwp_request_pkg", ARCH, "Performance asked of hardware P-states for the package"),
	ONCE(0xc0010064, PACKAGE, "amd_pstate_def0", APM, "Definition of P-state 0"),
	ONCE(0xc0010065, PACKAGE, "amd_pstate_def1", APM, "Definition of P-state 1"),
	ONCE(0xc0010066, PACKAGE, "amd_pstate_def2", APM, "Definition of P-state 2"),
	ONCE(0xc0010067, PACKAGE, "amd_pstate_def3", APM, "Definition of P-state 3"),
	ONCE(0xc0010068, PACKAGE, "amd_pstate_def4", APM, "Definition of P-state 4"),
	ONCE(0xc0010069, PACKAGE, "amd_pstate_def5", APM, "Definition of P-state 5"),
	ONCE(0xc001006a, PACKAGE, "amd_pstate_def6", APM, "Definition of P-state 6"),
	ONCE(0xc001006b, PACKAGE, "amd_pstate_def7", APM, "Definition of P-state 7"),
	ONCE(0xc0010299, PACKAGE, "amd_power_unit", PPR, "Units of power, energy and time"),

	ONCE(0xcd, SYSTEM, "fsb_freq", ATOM, "Reference clock"),
	ONCE(0x65c, SYSTEM, "platform_power_limit", SKL, "Power limits of the platform"),
	{ .address = 0 },
};

const struct catalog_msr *catalog_msr_find(const char *name)
{
	if (!strncmp(name, "msr.", 4))
		name += 4;
	for (const struct catalog_msr *r = catalog_msrs; r->address; r++)
		if (!strcmp(r->counter.key, name))
			return r;
	return NULL;
}
