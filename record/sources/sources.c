#include "record/sources/sources.h"

const struct source_ops *const sources[] = {
	&source_perf,       &source_msr,        &source_add,      &source_cpuidle,   &source_cpufreq,
	&source_interrupts, &source_softirqs,   &source_stat,     &source_schedstat, &source_vmstat,
	&source_pressure,   &source_thermal,    &source_throttle, &source_hwmon,     &source_powercap,
	&source_gfx,        &source_uncorefreq, &source_lpi,      &source_pmt,       NULL,
};
