/*
 * Which CPUs or dies the words of Intel's platform telemetry belong to. The device does not say, so the kind of a
 * region (its GUID) decides. Regions are mapped to dies, or to twelve modules, in the order of their numbers, as
 * turbostat does for modules.
 */
#pragma once

#include "report/machine/places.h"

enum telemetry {
	TELEMETRY_NONE,
	TELEMETRY_DIE,    /* region n is of die n of the machine */
	TELEMETRY_MODULE, /* words of modules, which are CPUs that follow one another by number */
};

/* Meteor Lake: counts at the crystal's pace while the die is in C6. */
#define TELEMETRY_DIES "pmt.1a067102_120"
/* Clearwater Forest: a word for each module of four CPUs, twelve modules a region; at byte FIRST + STEP * module. */
#define TELEMETRY_MODULES          "pmt.14421519"
#define TELEMETRY_MODULES_FIRST    20936
#define TELEMETRY_MODULES_STEP     24
#define TELEMETRY_MODULES_N        12
#define TELEMETRY_CPUS_OF_A_MODULE 4

/* By a counter's name; TELEMETRY_MODULES for all words of modules. */
enum telemetry telemetry_of(const char *counter);
/* The level at which it counts: a CPU for a module, so that each row of the module's CPUs has the number. */
enum pm_kind telemetry_kind(enum telemetry what);
/* The number in the name of a region ("telem3"), or PM_NONE. */
uint32_t telemetry_number(const struct pm_instance *i);
/* CPUs that a word counts for, into cpu[] with room for p->n, ascending; returns how many. `region` counts the
 * regions of this kind from 0, in the order of their numbers. Omits unknown CPUs. */
uint32_t telemetry_cpus(const struct places *p, enum telemetry what, const struct pm_counter *c, uint32_t region,
			uint32_t *cpu);
