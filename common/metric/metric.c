#include "common/metric/metric.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"

/* The tables: a metric is a row, which ends with what is not the default. A macro means the same in all of them. */
/* clang-format off */
#define METRIC(name_, display_, categories_, unit_, precision_, expr_, help_, ...) \
	{ .name = name_, .display = display_, .categories = categories_, .unit = unit_, .precision = precision_, \
	  .expr = expr_, .help = help_, __VA_ARGS__ }
/* clang-format on */
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

char *metric_id(const char *name)
{
	char *id = memory_text(name);

	/* By the letters of ASCII, whatever the locale. */
	for (char *c = id; *c; c++) {
		if (*c >= 'A' && *c <= 'Z')
			*c = (char)(*c - 'A' + 'a');
		else if (!((*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9') || *c == '.'))
			*c = '_';
	}
	return id;
}

/* ---- sets that were read from files ---- */

void metric_row_release(struct metric *row)
{
	const char *owned[] = { row->name, row->display, row->aliases,   row->categories,   row->unit,
				row->expr, row->help,    row->threshold, row->ungrouped_in, row->board };

	for (size_t k = 0; k < sizeof(owned) / sizeof(owned[0]); k++)
		free((void *)(uintptr_t)owned[k]);
	*row = (struct metric){ 0 };
}

void metric_set_release(struct metric_set *set)
{
	for (size_t i = 0; i < set->n; i++)
		metric_row_release(&set->row[i]);
	free(set->row);
	buf_release(&set->skipped);
	*set = (struct metric_set){ 0 };
}
