/* Metrics that pmrec was asked for with -M, as the recording has them. */
#ifndef REPORT_RECORDED_METRICS_H
#define REPORT_RECORDED_METRICS_H

#include <stdbool.h>

#include "common/metric/metric.h"
#include "format/model.h"

/* The definitions of those that came from a vendor's file; formulas that cannot be understood are left out. Released
 * with metric_set_release(). 0 or -ENOMEM. */
int recorded_metrics(struct metric_set *set, const struct pm_model *m);
/* The names that were asked for, from 0 on; NULL behind the last. */
const char *recorded_name(const struct pm_model *m, uint32_t i);
/* Whether -M was given that word, which may name a group of metrics. */
bool recorded_word(const struct pm_model *m, const char *word);
/* Whether a metric of that name or display was asked for. */
bool recorded_asks(const struct pm_model *m, const char *name);

#endif
