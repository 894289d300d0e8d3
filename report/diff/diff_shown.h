/* Which metrics are compared, and which direction is better. */
#pragma once

#include "report/metric/bind.h"
#include "report/diff/diff.h"

/*
 * Words are names, heads, aliases, globs or categories. A word that is exactly the name or head of a metric means
 * only that one, even if it matches others in another case; `exact`: there is such a metric.
 */
typedef bool (*diff_exact)(void *ctx, const char *word);

struct diff_name {
	const char *metric, *display, *aliases, *categories; /* none is NULL */
	diff_exact exact;
	void *ctx;
};

/* Whether the options select the metric; `listed`: it is compared by default. */
bool diff_chooses(const struct diff_options *o, const struct diff_name *name, bool listed);
/* Marks the words that name the metric. The caller has locked the options. */
void diff_words_known(struct diff_options *o, const struct diff_name *name);
/* The gate that names the metric; NULL: none. */
const struct diff_gate *diff_gate_of(const struct diff_options *o, const struct diff_name *name);
/* The name of a metric among those of a binding; valid as long as the binding. */
struct diff_name diff_name_of(const struct binding *b, const struct bound_metric *m);
/* For a fixed amount of work (`work`), counts of events are costs. */
enum metric_better diff_better(const struct diff_options *o, const struct binding *b, const struct bound_metric *m,
			       bool work);
