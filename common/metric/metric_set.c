/* Frees sets of metrics that were read from files. */
#include <stdint.h>
#include <stdlib.h>

#include "common/metric/metric.h"

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
