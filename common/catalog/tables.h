/*
 * The tables behind catalog.h; nobody but catalog.c and the files that define them needs this. The sizes stand here
 * so that catalog.c can build its table of tables at compile time; a row too many does not compile, and a test finds
 * a row too few.
 */
#ifndef COMMON_CATALOG_TABLES_H
#define COMMON_CATALOG_TABLES_H

#include "common/catalog/catalog.h"

/* cpu.c */
extern const struct catalog_counter catalog_cpuidle[4];
extern const struct catalog_counter catalog_cpufreq[1];
extern const struct catalog_counter catalog_interrupts[2];
extern const struct catalog_counter catalog_softirqs[1];
extern const struct catalog_counter catalog_stat[15];
extern const struct catalog_counter catalog_schedstat[8];
/* memory.c */
extern const struct catalog_counter catalog_vmstat[19];
extern const struct catalog_counter catalog_pressure[7];
/* sensors.c */
extern const struct catalog_counter catalog_thermal[1];
extern const struct catalog_counter catalog_throttle[4];
extern const struct catalog_counter catalog_hwmon[6];
extern const struct catalog_counter catalog_powercap[6];
/* graphics.c */
extern const struct catalog_counter catalog_gfx[6];
extern const struct catalog_counter catalog_uncorefreq[2];
extern const struct catalog_counter catalog_lpi[2];
extern const struct catalog_counter catalog_pmt[1];

#endif
