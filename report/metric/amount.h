/* Tells amounts from rates. */
#pragma once

#include "report/metric/bind.h"

/*
 * Whether the metric is an amount, which doubles in twice the time, as counts do and rates and shares do not. It
 * evaluates the formula with made-up numbers, because formulas do not say.
 */
bool metric_is_amount(const struct binding *b, const struct bound_metric *m, const struct pm_model *model);
