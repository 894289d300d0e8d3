/*
 * The built-in tables, for metric.c that lists them. The sizes stand here so that it can do so at compile time;
 * a row too many does not compile, and a test finds a row too few.
 */
#ifndef COMMON_METRIC_TABLES_H
#define COMMON_METRIC_TABLES_H

#include "common/metric/metric.h"

/* tables_time.c */
extern const struct metric metric_time[11];
extern const struct metric metric_scheduler[13];
/* tables_idle.c */
extern const struct metric metric_idle[5];
extern const struct metric metric_frequency[2];
/* tables_interrupts.c */
extern const struct metric metric_interrupts[3];
/* tables_memory.c */
extern const struct metric metric_memory[8];
extern const struct metric metric_pressure[6];
/* tables_power.c */
extern const struct metric metric_thermal[7];
extern const struct metric metric_power[14];
/* tables_turbostat.c */
extern const struct metric metric_turbostat[47];
/* tables_perf.c */
extern const struct metric metric_perf[19];
/* tables_stat.c */
extern const struct metric metric_stat[19];
/* tables_nvidia.c */
extern const struct metric metric_nvidia[66];
extern const struct metric metric_grace[86];

#endif
