/*
 * What registers do not say themselves, by processor model: its C-states, fixed units, fields of model-specific
 * registers. An unknown model is decoded as far as the architecture defines it.
 *
 * Sources: Intel's SDM, volume 4 (registers, by model) and volume 3B, "Power and Thermal Management"; AMD's PPRs of
 * family 17h and later. Families and models are those of cpuid leaf 1. Units of energy are also in the model tables
 * of the kernel's drivers intel_rapl_msr and events/rapl.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "format/model.h"

enum cpu_cstate {
	CPU_CC1 = 1 << 0, /* has a register for it */
	CPU_CC3 = 1 << 1,
	CPU_CC6 = 1 << 2,
	CPU_CC7 = 1 << 3,
	CPU_PC2 = 1 << 4,
	CPU_PC3 = 1 << 5,
	CPU_PC6 = 1 << 6,
	CPU_PC7 = 1 << 7,
	CPU_PC8 = 1 << 8,
	CPU_PC9 = 1 << 9,
	CPU_PC10 = 1 << 10,
	CPU_MC6 = 1 << 11,
};

enum cpu_flag {
	CPU_TSC_TWEAK = 1 << 0,  /* MPERF runs at the base frequency, which the TSC does not hit exactly */
	CPU_FIXED_DRAM = 1 << 1, /* memory energy in 15.3 uJ whatever rapl_power_unit says */
	CPU_FIXED_PSYS = 1 << 2, /* platform energy in joules */
	CPU_RAPL_MICRO = 1 << 3, /* energy in 2^n uJ, power in 2^n mW, not 1/2^n J and W */
	CPU_TRL_COUNTS = 1 << 4, /* turbo_ratio_limit1 holds numbers of cores */
	CPU_AUTO_CONVERSION = 1 << 5,
	CPU_PREWAKE = 1 << 6,
	CPU_PERF_X1024 = 1 << 7,     /* APERF and MPERF count 1024 cycles */
	CPU_ATOM_RATIOS = 1 << 8,    /* turbo and base ratios in atom_core_ratios */
	CPU_PC6_IN_PC7 = 1 << 9,     /* register 0x3fa counts package C6 */
	CPU_LIMIT_REASONS = 1 << 10, /* hsw_core_perf_limit_reasons and its two sisters are there */
	CPU_NO_TDP_LEVELS = 1 << 11,
	CPU_EXTENDED_C0 = 1 << 12,    /* weighted_core_c0 and its sisters */
	CPU_TRL_MORE = 1 << 14,       /* turbo_ratio_limit1 and 2 go on with more cores */
	CPU_NO_CORE_ENERGY = 1 << 15, /* pp0_energy_status stays 0 if it can be read */
	CPU_NO_GFX_ENERGY = 1 << 16,  /* likewise pp1_energy_status */
	CPU_KNL_TURBO = 1 << 13,      /* turbo_ratio_limit holds groups of cores and ratio differences */
};

enum cpu_limits {
	LIMITS_UNKNOWN,
	LIMITS_NHM,
	LIMITS_SNB,
	LIMITS_HSW,
	LIMITS_SLV,
	LIMITS_AMT,
	LIMITS_SKX,
	LIMITS_ICX,
	LIMITS_GMT
};

struct cpu_features {
	const char *name;
	uint32_t cstates; /* cpu_cstate */
	uint32_t flags;   /* cpu_flag */
	enum cpu_limits limits;
	double bclk_mhz;      /* 0: fsb_freq says it */
	uint32_t crystal_hz;  /* where cpuid 0x15 leaves it out; 0: not known */
	uint8_t tcc_bits;     /* of the offset in temperature_target; 0: it has none */
	double default_watts; /* TDP where the registers do not say it; 0: not known */
};

enum cpu_vendor { CPU_OTHER, CPU_INTEL, CPU_AMD };

struct cpu_model {
	enum cpu_vendor vendor;
	uint16_t family, model; /* model UINT16_MAX: all of the family and later ones */
	const char *name;
	const struct cpu_features *features;
};
extern const struct cpu_model cpu_models[]; /* ends with name NULL */

/* The processor of a recording. `known` is NULL if the table does not have it. */
struct cpu_identity {
	enum cpu_vendor vendor;
	char vendor_name[13];
	uint32_t family, model, stepping, levels; /* levels: highest basic leaf of cpuid */
	const struct cpu_model *known;
};
/* False: the recording does not say what processor it is of. */
bool cpu_identify(const struct pm_model *m, struct cpu_identity *id);

/* Text for a value of pkg_cst_config_control[3:0]; NULL if it is not known. */
const char *cpu_limit_name(enum cpu_limits limits, unsigned value);

/* Registers of a cpuid leaf: eax ebx ecx edx; cpu PM_NONE: any. False if it was not recorded. */
bool cpu_leaf(const struct pm_model *m, uint32_t leaf, uint32_t subleaf, uint32_t cpu, uint32_t reg[static 4]);
/* A one-time register ("platform_info"), by the latest reading: of a package, or of one of its CPUs, or of the
 * system; of any if the package is PM_NONE or has none. False if it could not be read. */
bool cpu_register_at(const struct pm_model *m, uint32_t package, const char *name, uint64_t *value);
