/* The table of formats. */
#include "report/export/exporter.h"

/* One row per format: X stands for export_X of export_X.c. The first is the default. */
#define EACH_FORMAT(FORMAT) \
	FORMAT(table) \
	FORMAT(csv) \
	FORMAT(json) \
	FORMAT(turbostat) \
	FORMAT(parquet) \
	FORMAT(perfetto) \
	FORMAT(openmetrics)

#define DECLARE(name) extern const struct sink_ops export_##name;
EACH_FORMAT(DECLARE)

#define ROW(name) &export_##name,
const struct sink_ops *const exporters[] = { EACH_FORMAT(ROW) NULL };
