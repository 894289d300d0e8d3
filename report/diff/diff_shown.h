/* Which metrics are compared, and which way of each is better. */
#ifndef REPORT_DIFF_SHOWN_H
#define REPORT_DIFF_SHOWN_H

#include "report/metric/bind.h"
#include "report/diff/diff.h"

/*
 * Words are names, heads, aliases, globs or categories. A word that is the very name or head of one metric means that
 * one alone, whatever else it fits in another case: `exact` says whether there is such a metric.
 */
typedef bool (*diff_exact)(void *ctx, const char *word);

struct diff_name {
	const char *metric, *display, *aliases, *categories; /* none is NULL */
	diff_exact exact;
	void *ctx;
};

/* Whether the options choose the metric; `listed`: it is among those compared without being asked for. */
bool diff_chooses(const struct diff_options *o, const struct diff_name *name, bool listed);
/* Marks the words that name the metric. The caller has locked the options. */
void diff_words_known(struct diff_options *o, const struct diff_name *name);
/* The gate that names the metric; NULL: none. */
const struct diff_gate *diff_gate_of(const struct diff_options *o, const struct diff_name *name);
/* The name of a metric among those of a binding; valid as long as the binding. */
struct diff_name diff_name_of(const struct binding *b, const struct bound_metric *m);
/* Of an amount of work that was done (`work`), what events count is a cost. */
enum metric_better diff_better(const struct diff_options *o, const struct binding *b, const struct bound_metric *m,
			       bool work);

#endif
