/*
 * The built-in tables, for metric.c that lists them. The numbers of rows stand here so that it can do so at compile
 * time; a table whose number is not that does not compile.
 */
#ifndef COMMON_METRIC_TABLES_H
#define COMMON_METRIC_TABLES_H

#include "common/metric/metric.h"

#define METRIC_TABLE(name, rows) \
	extern const struct metric metric_##name[]; \
	enum { METRIC_ROWS_##name = rows }
/* Behind a table, in its file. */
#define METRIC_TABLE_END(name) \
	_Static_assert(sizeof(metric_##name) / sizeof(metric_##name[0]) == METRIC_ROWS_##name, \
		       "tables.h has another number of rows")

/* tables_time.c */
METRIC_TABLE(time, 11);
METRIC_TABLE(scheduler, 13);
/* tables_idle.c */
METRIC_TABLE(idle, 5);
METRIC_TABLE(frequency, 2);
/* tables_interrupts.c */
METRIC_TABLE(interrupts, 3);
/* tables_memory.c */
METRIC_TABLE(memory, 8);
METRIC_TABLE(pressure, 6);
/* tables_power.c */
METRIC_TABLE(thermal, 7);
METRIC_TABLE(power, 14);
/* tables_turbostat.c */
METRIC_TABLE(turbostat, 47);
/* tables_perf.c */
METRIC_TABLE(perf, 19);
/* tables_stat.c */
METRIC_TABLE(stat, 19);
/* tables_nvidia.c */
METRIC_TABLE(nvidia, 66);
METRIC_TABLE(grace, 86);

#endif
