/* Between the readers of vendors' files and common/metric/; metric.h is for everyone else. */
#pragma once

#include "common/json.h"
#include "common/metric/metric.h"

/* Arrays of objects, of which some are metrics. */
struct vendor_docs {
	struct json **doc; /* owned */
	size_t n;
	struct json **standard; /* owned; where ArchStdEvent is looked up */
	size_t n_standards;
};

/* As metric_set_load(), from files that were read. */
int vendor_load(struct metric_set *set, const struct vendor_docs *docs, struct error *e);

/* Appends the metrics to an array, with the members that vendor_load() reads. 0 or -ENOMEM. */
int vendor_copy(const struct vendor_docs *docs, bool help, struct json *to);
