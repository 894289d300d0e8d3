/* Formats by name. */
#pragma once

#include "report/export/exporter.h"

static inline const struct sink_ops *exporter_find(const char *name)
{
	const struct sink_ops *const *x = exporters;

	while (*x && strcmp((*x)->name, name))
		x++;
	return *x;
}
