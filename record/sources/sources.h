/* All sources by name; only sources.c and the files that define them need this. */
#ifndef RECORD_SOURCES_H
#define RECORD_SOURCES_H

#include "record/plan/source.h"

extern const struct source_ops source_perf, source_msr, source_add;
extern const struct source_ops source_cpuidle, source_cpufreq;
extern const struct source_ops source_interrupts, source_softirqs;
extern const struct source_ops source_stat, source_schedstat, source_vmstat, source_pressure;
extern const struct source_ops source_thermal, source_throttle, source_hwmon, source_powercap;
extern const struct source_ops source_gfx, source_uncorefreq, source_lpi, source_pmt;

#endif
