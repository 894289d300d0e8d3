/* The metrics of pmrec's -M, from the recording. */
#pragma once

#include <stdbool.h>

#include "common/metric/metric.h"
#include "format/model.h"

/* The definitions of those from a vendor's file, without invalid ones. Release with metric_set_release(). */
void recorded_metrics(struct metric_set *set, const struct pm_model *m);
/* The requested names, from 0 on; NULL after the last. */
const char *recorded_name(const struct pm_model *m, uint32_t i);
/* Whether -M requested the metric of this name or display. */
bool recorded_asks(const struct pm_model *m, const char *name);
