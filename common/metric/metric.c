#include "common/metric/metric.h"

#include <stddef.h>

#include "common/metric/shadow.h"

/* The tables: a metric is a row. */
#include "common/metric/tables_time.inc"
#include "common/metric/tables_idle.inc"
#include "common/metric/tables_interrupts.inc"
#include "common/metric/tables_memory.inc"
#include "common/metric/tables_power.inc"
#include "common/metric/tables_turbostat.inc"
#include "common/metric/tables_perf.inc"
#include "common/metric/tables_stat.inc"
#include "common/metric/tables_nvidia.inc"
#include "common/metric/tables_uncore.inc"
#include "common/metric/tables_devices.inc"
#include "common/metric/tables_tasks.inc"
#include "common/metric/tables_cgroups.inc"
#include "common/metric/tables_energy.inc"

#define TABLE(subject) { #subject, metric_##subject, sizeof(metric_##subject) / sizeof(metric_##subject[0]) },
/* clang-format off */
const struct metric_table metric_tables[] = {
	TABLE(time)
	TABLE(scheduler)
	TABLE(idle)
	TABLE(frequency)
	TABLE(interrupts)
	TABLE(memory)
	TABLE(pressure)
	TABLE(thermal)
	TABLE(power)
	TABLE(turbostat)
	TABLE(perf)
	TABLE(stat)
	TABLE(uncore)
	TABLE(nvidia)
	TABLE(grace)
	TABLE(devices)
	TABLE(tasks)
	TABLE(cgroups)
	TABLE(energy)
	{ .row = NULL },
};
/* clang-format on */
