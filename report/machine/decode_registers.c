/* The fields of the registers, as Intel's SDM (volume 4) and AMD's manuals give them. */
#include <stdio.h>

#include "report/machine/decode.h"

#define END \
	{ \
		.name = NULL \
	}
#define FIELDS(...) \
	(const struct reg_field[]) \
	{ \
		__VA_ARGS__, END \
	}

static unsigned bits(uint64_t v, unsigned hi, unsigned lo)
{
	return (unsigned)(v >> lo & ((UINT64_C(1) << (hi - lo + 1)) - 1));
}

/* ---- what is more than a field ---- */

static const char *const active_cores[] = {
	"1 core",   "2 cores",  "3 cores",  "4 cores",  "5 cores",  "6 cores",  "7 cores",  "8 cores",  "9 cores",
	"10 cores", "11 cores", "12 cores", "13 cores", "14 cores", "15 cores", "16 cores", "17 cores", "18 cores",
};

static void turbo(const struct cpu_facts *f, uint64_t value, struct decoded *d, unsigned first, unsigned n)
{
	for (unsigned i = 0; i < n && i < 8; i++) {
		unsigned ratio = bits(value, 8 * i + 7, 8 * i);

		if (ratio && f->bclk_mhz > 0)
			decode_add(d, active_cores[first + i], ratio * f->bclk_mhz, "MHz");
		else if (ratio)
			decode_add(d, active_cores[first + i], ratio, "x bus clock");
	}
}

static bool has(const struct cpu_facts *f, enum cpu_flag flag)
{
	return f->id.known && (f->id.known->features->flags & flag);
}

static const char *const groups_of_cores[] = { "group 1", "group 2", "group 3", "group 4",
					       "group 5", "group 6", "group 7", "group 8" };

/* Groups of cores that turbo_ratio_limit1 gives the sizes of, where the model is known to have them. */
static void turbo_first(const struct cpu_facts *f, uint64_t value, struct decoded *d)
{
	if (has(f, CPU_KNL_TURBO)) {
		/* The first group's ratio, then by how much each next one is slower and how many cores it adds. */
		unsigned ratio = bits(value, 15, 8), cores = bits(value, 7, 1);

		for (unsigned i = 0; i < 7; i++) {
			if (i) {
				ratio -= bits(value, 8 * i + 15, 8 * i + 13);
				cores += bits(value, 8 * i + 12, 8 * i + 8);
			}
			struct decoded_field *at = decode_add(d, groups_of_cores[i], ratio * f->bclk_mhz, "MHz");

			if (at)
				snprintf(at->text, sizeof(at->text), "up to %u cores %g", cores, ratio * f->bclk_mhz);
		}
		return;
	}
	if (!has(f, CPU_TRL_COUNTS)) {
		turbo(f, value, d, 0, 8);
		return;
	}
	for (unsigned i = 0; i < 8; i++)
		if (bits(value, 8 * i + 7, 8 * i))
			decode_add(d, groups_of_cores[i], bits(value, 8 * i + 7, 8 * i) * f->bclk_mhz, "MHz");
}

static void turbo_second(const struct cpu_facts *f, uint64_t value, struct decoded *d)
{
	if (!has(f, CPU_TRL_COUNTS)) {
		turbo(f, value, d, 8, 8);
		return;
	}
	for (unsigned i = 0; i < 8; i++)
		if (bits(value, 8 * i + 7, 8 * i))
			decode_add(d, groups_of_cores[i], bits(value, 8 * i + 7, 8 * i), "cores at most");
}

static void turbo_third(const struct cpu_facts *f, uint64_t value, struct decoded *d)
{
	turbo(f, value, d, 16, 2);
}

static void turbo_atom(const struct cpu_facts *f, uint64_t value, struct decoded *d)
{
	for (unsigned i = 0; i < 4; i++)
		decode_add(d, active_cores[i], bits(value, 8 * i + 5, 8 * i) * f->bclk_mhz, "MHz");
}

static void latency(const struct cpu_facts *f, uint64_t value, struct decoded *d)
{
	static const double unit_ns[] = { 1, 32, 1024, 32768, 1048576, 33554432 };
	unsigned unit = bits(value, 12, 10);

	decode_flag(d, "valid", bits(value, 15, 15));
	if (unit < 6)
		decode_add(d, "latency", bits(value, 9, 0) * unit_ns[unit], "ns");
	else
		decode_word(d, "latency", "in an unknown unit");
}

static const char *const core_reasons[32] = {
	[0] = "PROCHOT",      [1] = "ThermStatus", [4] = "Graphics",  [5] = "Auto-HWP",  [6] = "VR-Therm",
	[8] = "Amps",         [9] = "CorePwr",     [10] = "PkgPwrL1", [11] = "PkgPwrL2", [12] = "MultiCoreTurbo",
	[13] = "Transitions",
};
static const char *const skl_reasons[32] = {
	[0] = "PROCHOT",   [1] = "ThermStatus", [4] = "RSR",          [5] = "RATL",
	[6] = "VR-Therm",  [7] = "VR-TDC",      [8] = "Other",        [10] = "PkgPwrL1",
	[11] = "PkgPwrL2", [12] = "MaxTurbo",   [13] = "Transitions",
};
static const char *const gfx_reasons[32] = {
	[0] = "PROCHOT", [1] = "ThermStatus", [4] = "Graphics",  [6] = "VR-Therm",
	[8] = "Amps",    [9] = "GFXPwr",      [10] = "PkgPwrL1", [11] = "PkgPwrL2",
};
static const char *const ring_reasons[32] = {
	[0] = "PROCHOT", [1] = "ThermStatus", [6] = "VR-Therm", [8] = "Amps", [10] = "PkgPwrL1", [11] = "PkgPwrL2",
};

static void reasons(uint64_t value, struct decoded *d, const char *const *name)
{
	for (unsigned half = 0; half < 2; half++)
		for (unsigned i = 0; i < 16; i++)
			if (name[i] && bits(value, i + 16 * half, i + 16 * half))
				decode_word(d, half ? "logged" : "active", name[i]);
	if (!d->n)
		decode_word(d, "active", "nothing");
}
static void core_limits(const struct cpu_facts *f, uint64_t value, struct decoded *d)
{
	reasons(value, d, core_reasons);
}
static void skl_limits(const struct cpu_facts *f, uint64_t value, struct decoded *d)
{
	reasons(value, d, skl_reasons);
}
static void gfx_limits(const struct cpu_facts *f, uint64_t value, struct decoded *d)
{
	reasons(value, d, gfx_reasons);
}
static void ring_limits(const struct cpu_facts *f, uint64_t value, struct decoded *d)
{
	reasons(value, d, ring_reasons);
}

static void microcode(const struct cpu_facts *f, uint64_t value, struct decoded *d)
{
	struct decoded_field *at;

	value = f->id.vendor == CPU_AMD ? value & 0xffffffff : value >> 32;
	at = decode_add(d, "microcode", (double)value, "");
	if (at)
		snprintf(at->text, sizeof(at->text), "0x%llx", (unsigned long long)value);
}

/* How long the energy counter takes for a turn: what a recording must be read more often than. */
static void joule_range(const struct cpu_facts *f, uint64_t value, struct decoded *d)
{
	if (f->range_s > 0) {
		decode_add(d, "counter range", f->range_s, "s");
		decode_add(d, f->tdp_recorded ? "at" : "at a guessed", f->tdp_watts, "W");
	}
}

static void offset(const struct cpu_facts *f, uint64_t value, struct decoded *d)
{
	unsigned n = f->id.known ? f->id.known->features->tcc_bits : 0;

	if (n)
		decode_add(d, "offset", bits(value, 24 + n - 1, 24), "C");
	else if (!f->id.known && f->id.vendor == CPU_INTEL && bits(value, 29, 24))
		decode_word(d, "offset", "depends on the model, which is not known");
}

/* ---- the table ---- */

#define RAPL_UNITS \
	FIELDS({ "power", 3, 0, FIELD_POWER_UNIT }, { "energy", 12, 8, FIELD_ENERGY_UNIT }, \
	       { "time", 19, 16, FIELD_TIME_UNIT })
#define ONE_LIMIT \
	FIELDS({ "enabled", 15, 15, FIELD_FLAG }, { "limit", 14, 0, FIELD_WATTS }, \
	       { "window", 23, 17, FIELD_WINDOW }, { "clamp", 16, 16, FIELD_FLAG }, \
	       { "locked", 31, 31, FIELD_FLAG })
#define TWO_LIMITS \
	FIELDS({ "enabled 1", 15, 15, FIELD_FLAG }, { "limit 1", 14, 0, FIELD_WATTS }, \
	       { "window 1", 23, 17, FIELD_WINDOW }, { "clamp 1", 16, 16, FIELD_FLAG }, \
	       { "enabled 2", 47, 47, FIELD_FLAG }, { "limit 2", 46, 32, FIELD_WATTS }, \
	       { "window 2", 55, 49, FIELD_WINDOW }, { "clamp 2", 48, 48, FIELD_FLAG }, \
	       { "locked", 63, 63, FIELD_FLAG })
#define POWER_INFO \
	FIELDS({ "TDP", 14, 0, FIELD_WATTS }, { "lowest limit", 30, 16, FIELD_WATTS }, \
	       { "highest limit", 46, 32, FIELD_WATTS }, { "longest window", 53, 48, FIELD_SECONDS })
#define TDP_LEVEL \
	FIELDS({ "TDP", 14, 0, FIELD_WATTS }, { "ratio", 23, 16, FIELD_NUMBER }, { "highest", 46, 32, FIELD_WATTS }, \
	       { "lowest", 62, 48, FIELD_WATTS })
#define THERMAL \
	FIELDS({ "temperature", 22, 16, FIELD_BELOW }, { "resolution", 30, 27, FIELD_CELSIUS }, \
	       { "valid", 31, 31, FIELD_FLAG }, { "hot now", 0, 0, FIELD_FLAG }, { "hot before", 1, 1, FIELD_FLAG }, \
	       { "PROCHOT before", 3, 3, FIELD_FLAG }, { "critical before", 5, 5, FIELD_FLAG }, \
	       { "power limited before", 11, 11, FIELD_FLAG })
#define PACKAGE_THERMAL \
	FIELDS({ "temperature", 22, 16, FIELD_BELOW }, { "hot now", 0, 0, FIELD_FLAG }, \
	       { "hot before", 1, 1, FIELD_FLAG }, { "PROCHOT before", 3, 3, FIELD_FLAG }, \
	       { "critical before", 5, 5, FIELD_FLAG }, { "power limited before", 11, 11, FIELD_FLAG })
#define THRESHOLDS \
	FIELDS({ "threshold 1", 14, 8, FIELD_BELOW }, { "on 1", 15, 15, FIELD_FLAG }, \
	       { "threshold 2", 22, 16, FIELD_BELOW }, { "on 2", 23, 23, FIELD_FLAG })
#define PERFORMANCE \
	FIELDS({ "highest", 7, 0, FIELD_NUMBER }, { "guaranteed", 15, 8, FIELD_NUMBER }, \
	       { "most efficient", 23, 16, FIELD_NUMBER }, { "lowest", 31, 24, FIELD_NUMBER })
#define DEMOTION FIELDS({ "demotion", 0, 0, FIELD_FLAG })
#define POLICY   FIELDS({ "priority", 4, 0, FIELD_NUMBER })
#define PSTATE   FIELDS({ "frequency", 13, 0, FIELD_AMD_MHZ }, { "enabled", 63, 63, FIELD_FLAG })

const struct reg_row decode_registers[] = {
	{ "ucode_rev", .more = microcode },
	{ "misc_enable", FIELDS({ "thermal control (TCC)", 3, 3, FIELD_FLAG }, { "EIST", 16, 16, FIELD_FLAG },
				{ "MWAIT", 18, 18, FIELD_FLAG }, { "prefetch", 9, 9, FIELD_INVERSE },
				{ "turbo", 38, 38, FIELD_INVERSE }) },
	{ "feature_control", FIELDS({ "locked", 0, 0, FIELD_FLAG }, { "SGX", 18, 18, FIELD_FLAG }) },
	{ "fsb_freq", FIELDS({ "bus clock", 3, 0, FIELD_BUS }) },
	{ "platform_info", FIELDS({ "max efficiency", 47, 40, FIELD_RATIO }, { "base", 15, 8, FIELD_RATIO },
				  { "turbo ratios programmable", 28, 28, FIELD_FLAG },
				  { "TDP limits programmable", 29, 29, FIELD_FLAG },
				  { "TCC offset programmable", 30, 30, FIELD_FLAG }) },
	{ "atom_core_ratios",
	  FIELDS({ "lowest", 5, 0, FIELD_RATIO }, { "max efficiency", 13, 8, FIELD_RATIO },
		 { "base", 21, 16, FIELD_RATIO }),
	  .needs = CPU_ATOM_RATIOS },
	{ "atom_core_turbo_ratios", .more = turbo_atom, .needs = CPU_ATOM_RATIOS },
	{ "turbo_ratio_limit2", .more = turbo_third, .needs = CPU_TRL_MORE },
	{ "turbo_ratio_limit1", .more = turbo_second, .needs = CPU_TRL_MORE | CPU_TRL_COUNTS },
	{ "turbo_ratio_limit", .more = turbo_first },
	{ "secondary_turbo_ratio_limit", .more = turbo_first },
	{ "config_tdp_nominal", FIELDS({ "base ratio", 7, 0, FIELD_NUMBER }) },
	{ "config_tdp_level_1", TDP_LEVEL },
	{ "config_tdp_level_2", TDP_LEVEL },
	{ "config_tdp_control", FIELDS({ "level", 1, 0, FIELD_NUMBER }, { "locked", 31, 31, FIELD_FLAG }) },
	{ "turbo_activation_ratio",
	  FIELDS({ "highest ratio without turbo", 7, 0, FIELD_NUMBER }, { "locked", 31, 31, FIELD_FLAG }) },
	{ "perf_status", FIELDS({ "running at", 15, 8, FIELD_RATIO }) },
	{ "perf_ctl", FIELDS({ "asked for", 15, 8, FIELD_RATIO }) },
	{ "misc_pwr_mgmt", FIELDS({ "EIST coordination", 0, 0, FIELD_INVERSE }, { "EPB", 1, 1, FIELD_FLAG },
				  { "out-of-band control", 8, 8, FIELD_FLAG }) },
	{ "pm_enable", FIELDS({ "HWP", 0, 0, FIELD_FLAG }) },
	{ "hwp_capabilities", PERFORMANCE },
	{ "hwp_request", FIELDS({ "min", 7, 0, FIELD_NUMBER }, { "max", 15, 8, FIELD_NUMBER },
				{ "desired", 23, 16, FIELD_NUMBER }, { "EPP", 31, 24, FIELD_NUMBER },
				{ "window", 41, 32, FIELD_HEX }, { "package", 42, 42, FIELD_FLAG }) },
	{ "hwp_request_pkg",
	  FIELDS({ "min", 7, 0, FIELD_NUMBER }, { "max", 15, 8, FIELD_NUMBER }, { "desired", 23, 16, FIELD_NUMBER },
		 { "EPP", 31, 24, FIELD_NUMBER }, { "window", 41, 32, FIELD_HEX }) },
	{ "hwp_interrupt", FIELDS({ "on change of guaranteed", 0, 0, FIELD_FLAG },
				  { "on excursion below minimum", 1, 1, FIELD_FLAG }) },
	{ "hwp_status",
	  FIELDS({ "guaranteed changed", 0, 0, FIELD_FLAG }, { "excursion below minimum", 2, 2, FIELD_FLAG }) },
	{ "energy_perf_bias", FIELDS({ "bias", 3, 0, FIELD_BIAS }) },
	{ "core_perf_limit_reasons", .more = skl_limits },
	{ "hsw_core_perf_limit_reasons", .more = core_limits, .needs = CPU_LIMIT_REASONS },
	{ "gfx_perf_limit_reasons", .more = gfx_limits },
	{ "ring_perf_limit_reasons", .more = ring_limits },
	{ "power_ctl",
	  FIELDS({ "C1E promotion", 1, 1, FIELD_FLAG }, { "C-state prewake", 30, 30, FIELD_INVERSE, CPU_PREWAKE }) },
	{ "pkg_cst_config_control",
	  FIELDS({ "limit", 3, 0, FIELD_LIMIT }, { "locked", 15, 15, FIELD_FLAG },
		 { "auto conversion", 16, 16, FIELD_FLAG, CPU_AUTO_CONVERSION }, { "demote C3", 25, 25, FIELD_FLAG },
		 { "demote C1", 26, 26, FIELD_FLAG }, { "undemote C3", 27, 27, FIELD_FLAG },
		 { "undemote C1", 28, 28, FIELD_FLAG }) },
	{ "cc6_demotion_policy", DEMOTION },
	{ "mc6_demotion_policy", DEMOTION },
	{ "pkgc3_irtl", .more = latency },
	{ "pkgc6_irtl", .more = latency },
	{ "pkgc7_irtl", .more = latency },
	{ "pkgc8_irtl", .more = latency },
	{ "pkgc9_irtl", .more = latency },
	{ "pkgc10_irtl", .more = latency },
	{ "rapl_power_unit", RAPL_UNITS, .more = joule_range },
	{ "pkg_power_info", POWER_INFO },
	{ "pkg_power_limit", TWO_LIMITS },
	{ "vr_current_config", FIELDS({ "limit 4", 12, 0, FIELD_WATTS }, { "locked", 31, 31, FIELD_FLAG }) },
	{ "dram_power_info", POWER_INFO },
	{ "dram_power_limit", ONE_LIMIT },
	{ "pp0_policy", POLICY },
	{ "pp0_power_limit", ONE_LIMIT },
	{ "pp1_policy", POLICY },
	{ "pp1_power_limit", ONE_LIMIT },
	{ "platform_power_limit", TWO_LIMITS },
	{ "temperature_target", FIELDS({ "maximum", 23, 16, FIELD_CELSIUS }), .more = offset },
	{ "package_therm_status", PACKAGE_THERMAL },
	{ "package_therm_interrupt", THRESHOLDS },
	{ "therm_status", THERMAL },
	{ "therm_interrupt", THRESHOLDS },
	{ "misc_feature_control",
	  FIELDS({ "L2 prefetch", 0, 0, FIELD_INVERSE }, { "L2 pair prefetch", 1, 1, FIELD_INVERSE },
		 { "L1 prefetch", 2, 2, FIELD_INVERSE }, { "L1 IP prefetch", 3, 3, FIELD_INVERSE }) },
	{ "amd_power_unit", RAPL_UNITS, .more = joule_range },
	{ "amd_hwcr", FIELDS({ "boost", 25, 25, FIELD_INVERSE }) },
	{ "amd_pstate_limit",
	  FIELDS({ "highest P-state", 2, 0, FIELD_NUMBER }, { "lowest P-state", 6, 4, FIELD_NUMBER }) },
	{ "amd_pstate_ctl", FIELDS({ "P-state", 2, 0, FIELD_NUMBER }) },
	{ "amd_pstate_status", FIELDS({ "P-state", 2, 0, FIELD_NUMBER }) },
	{ "amd_pstate_def0", PSTATE },
	{ "amd_pstate_def1", PSTATE },
	{ "amd_pstate_def2", PSTATE },
	{ "amd_pstate_def3", PSTATE },
	{ "amd_pstate_def4", PSTATE },
	{ "amd_pstate_def5", PSTATE },
	{ "amd_pstate_def6", PSTATE },
	{ "amd_pstate_def7", PSTATE },
	{ "amd_cppc_cap1", FIELDS({ "lowest", 7, 0, FIELD_NUMBER }, { "lowest nonlinear", 15, 8, FIELD_NUMBER },
				  { "nominal", 23, 16, FIELD_NUMBER }, { "highest", 31, 24, FIELD_NUMBER }) },
	{ "amd_cppc_enable", FIELDS({ "enabled", 0, 0, FIELD_FLAG }) },
	{ "amd_cppc_request", FIELDS({ "max", 7, 0, FIELD_NUMBER }, { "min", 15, 8, FIELD_NUMBER },
				     { "desired", 23, 16, FIELD_NUMBER }, { "EPP", 31, 24, FIELD_NUMBER }) },
	{ .name = NULL },
};
