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
	double range_s;    /* in which the energy of a package runs through 32 bits at TDP */
	double most_watts; /* that a package can draw; NUMBERS.md, section 3 */
	uint8_t amd_bits;  /* width of AMD's energy registers, by model */
};
static inline bool cpu_has(const struct cpu_facts *f, enum cpu_flag flag)
{
	return f->id.known && (f->id.known->features->flags & flag);
}

/* A field of a register. */
static inline unsigned cpu_bits(uint64_t v, unsigned hi, unsigned lo)
{
	return (unsigned)(v >> lo & ((UINT64_C(1) << (hi - lo + 1)) - 1));
}

/* By the registers of one package, for machines whose packages differ; PM_NONE: of any. */
void cpu_facts_find(const struct pm_model *m, uint32_t package, struct cpu_facts *f);

/* The rate of the TSC, or its substitute: CPUID's as recorded (a hypervisor may scale it), or `nominal`, unless the
 * clocks of the recording differ from it by more than 0.1 %. 0: not known. */
double cpu_counter_hz(const struct pm_model *m, double nominal);

/* The literal (without '#') of that name at a package and a CPU, PM_NONE: at any; false: it is none of the processor.
 * An unknown fact is a missing value. */
bool cpu_literal(const struct pm_model *m, const char *name, uint32_t package, uint32_t cpu, struct value *v);

enum sensor { SENSOR_NONE, SENSOR_TEMPERATURE, SENSOR_FAN };

/* What is known of a counter beyond its width, to recognize impossible values. */
struct counter_rule {
	uint64_t wrap_ns;   /* readings this far apart may have a whole wrap between them; 0: never */
	double most;        /* counts in a nanosecond at its greatest possible rate; 0: not known */
	uint64_t late_ns;   /* what it counts may show that much later */
	uint8_t width;      /* bits, if the model has others than the recording says; 0: it has not */
	bool may_be_wide;   /* it has 64 bits, whatever the model, if a reading does not fit into its width */
	bool advances;      /* it always changes between two readings */
	bool is_clock;      /* it is the time stamp counter */
	bool never_zero;    /* it reads 0 where the processor lacks it: 0 twice in a row is missing */
	enum sensor sensor; /* of which sensor_may_say() judges each reading */
};
/* Whether a sensor can measure it. Temperatures are -55 to 125 Cel (data sheet of the LM75 and its kind); an input
 * that is open or shorted, or a chip that sleeps, reads as 0 or as the end of its register: 127, 255, 511, -128; and
 * kernels of some boards say 47, not 47,000. A fan's period of 0, or of all ones, reads as 65,535 per minute. */
static inline bool sensor_may_say(enum sensor of, double v)
{
	return of == SENSOR_FAN ? v < 65535 : v > -55 && v < 127 && (v < -.127 || v > .127);
}

/* Whether it is worth asking for its rule. */
bool counter_may_have_rule(const struct pm_counter *c);
/* `i`: one of its instances. False: there is nothing to look at. */
bool counter_rule(const struct cpu_facts *f, const struct pm_model *m, const struct pm_counter *c,
		  const struct pm_instance *i, struct counter_rule *r);
