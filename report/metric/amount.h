/* What grows with time, and what does not. */
#ifndef REPORT_AMOUNT_H
#define REPORT_AMOUNT_H

#include "report/metric/bind.h"

/*
 * Whether the metric is an amount: twice as much in twice the time, as a count is and a rate or a share is not. Tried
 * out on made-up numbers, because formulas do not say.
 */
bool metric_is_amount(const struct binding *b, const struct bound_metric *m, const struct pm_model *model);

#endif
