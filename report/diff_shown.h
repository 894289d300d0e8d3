/* Which metrics are compared, and which way of each is better. */
#ifndef REPORT_DIFF_SHOWN_H
#define REPORT_DIFF_SHOWN_H

#include "report/bind.h"
#include "report/diff.h"

/* Whether the options choose the metric of that name; `listed`: it is among those compared without being asked for. */
bool diff_chooses(const struct diff_options *o, const char *name, const char *display, const char *aliases,
		  const char *categories, bool listed);
/* The same for all metrics of a recording. */
void diff_choose(const struct diff_options *o, const struct binding *b, bool *shown);
/* The gate that names the metric; NULL: none. */
struct diff_gate *diff_gate_of(const struct diff_options *o, const char *name, const char *display,
			       const char *aliases);
/* Of an amount of work that was done (`work`), what events count is a cost. */
enum metric_better diff_better(const struct diff_options *o, const struct bound_metric *m, bool work);

#endif
