/* The table of formats: it knows them all, and none of them knows it. */
#include <string.h>

#include "report/export/exporter.h"

const struct sink_ops *const exporters[] = { &export_table,       &export_csv,
					     &export_json,        &export_turbostat,
					     &export_parquet,     &export_perfetto,
					     &export_openmetrics, NULL };

const struct sink_ops *exporter_find(const char *name)
{
	for (size_t i = 0; exporters[i]; i++)
		if (!strcmp(exporters[i]->name, name))
			return exporters[i];
	return NULL;
}
