/* A row of the metric tables. */
#pragma once

#include "common/metric/metric.h"
#include "tests/unit/lib/test.h"

static inline const struct metric *metric_row(const char *name)
{
	for (const struct metric_table *t = metric_tables; t->row; t++)
		for (size_t i = 0; i < t->n; i++)
			if (!strcmp(t->row[i].name, name))
				return &t->row[i];
	fail_msg("no metric %s", name);
	return NULL;
}
