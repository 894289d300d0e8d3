/* What --metrics-file names: metrics, and the events of a folder, whose names their formulas may use. */
#ifndef REPORT_VENDOR_FILES_H
#define REPORT_VENDOR_FILES_H

#include "common/event/vendor_events.h"
#include "common/metric/metric.h"

/* Adds a file, or a folder, to *sets and *events, which the caller owns and frees. 0 or -errno. */
int vendor_files_add(struct metric_set **sets, size_t *n, struct vendor_events **events, const char *path,
		     struct error *e);

#endif
