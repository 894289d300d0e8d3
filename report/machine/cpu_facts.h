/*
 * Numbers about the processor that formulas and differences need: clocks, units of energy, ranges of narrow counters.
 * Computed from recorded registers and the model table.
 *
 * Sources: Intel's SDM, volume 3B, "Determining the Processor Base Frequency" (crystal and TSC, cpuid leaves 0x15 and
 * 0x16) and "RAPL Interfaces" (units, ranges); the PPR of AMD's family 17h, RAPL_PWR_UNIT.
 */
#pragma once

#include "common/metric/expr.h"
#include "report/machine/cpu_model.h"

/* 0 stands for unknown in all. */
struct cpu_facts {
	struct cpu_identity id;
	double bclk_mhz;
	double base_hz; /* base ratio x bus clock, or what cpuid says */
	double max_efficiency_hz;
	double crystal_hz;
	double tsc_hz;
	double tsc_tweak;                          /* TSC cycles x this = cycles that MPERF counts; 1 on most */
	double perf_factor;                        /* cycles in one count of APERF and MPERF */
	double power_unit, energy_unit, time_unit; /* W, J, s */
	double dram_unit, psys_unit, amd_unit;     /* J */
	double tj_max;                             /* Celsius */
	double tdp_watts; /* of a package; may be a guess of the model table, see tdp_recorded */
	bool tdp_recorded;
	double range_s; /* in which the energy of a package runs through 32 bits at TDP */
};
void cpu_facts_find(const struct pm_model *m, struct cpu_facts *f);
/* The same by the registers of one package, for machines whose packages differ; PM_NONE: of any. */
void cpu_facts_find_at(const struct pm_model *m, uint32_t package, struct cpu_facts *f);

/* The rate of the TSC, or its substitute: CPUID's as recorded (a hypervisor may scale it), or `nominal`, unless the
 * clocks of the recording differ from it by more than 0.1 %. 0: not known. */
double cpu_counter_hz(const struct pm_model *m, double nominal);

/* The literal (without '#') of that name; false: it is none of the processor. An unknown fact is a missing value. */
bool cpu_literal(const struct pm_model *m, const char *name, struct value *v);
/* The same at a package and a CPU, PM_NONE where there is none. */
bool cpu_literal_at(const struct pm_model *m, const char *name, uint32_t package, uint32_t cpu, struct value *v);

/* What is known of a counter beyond its width, to recognize impossible values. */
struct counter_rule {
	uint64_t wrap_ns; /* readings this far apart may have a whole wrap between them; 0: never */
	bool advances;    /* it always changes between two readings */
	bool is_clock;    /* it is the time stamp counter */
	bool never_zero;  /* 0 twice in a row is not a count: the register is not implemented */
};
/* False: there is nothing to look at. */
bool counter_rule(const struct cpu_facts *f, const struct pm_model *m, const struct pm_counter *c,
		  struct counter_rule *r);
