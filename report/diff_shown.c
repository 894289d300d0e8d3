#include "report/diff_shown.h"

#include <fnmatch.h>
#include <string.h>

/* Events that cost time or are caused by it: of the same work, fewer are better. Ends with NULL. */
static const char *const costs[] = {
	"cycles*", "cpu-cycles*", "ref-cycles*", "instructions*", "task-clock*", "cpu-clock*", "duration_time",
	"user_time", "system_time", "*faults*", "context-switches*", "cpu-migrations*", "*misses*", "stalled-*", NULL,
};

static bool named(const struct selection *s, const char *name, const char *display, const char *aliases,
		  const char *categories)
{
	for (size_t i = 0; i < s->n; i++)
		if (selection_matches(s->word[i].word, name, display, aliases, categories))
			return true;
	return false;
}

struct diff_gate *diff_gate_of(const struct diff_options *o, const char *name, const char *display,
			       const char *aliases)
{
	for (size_t i = 0; i < o->n_gates; i++)
		if (selection_matches(o->gate[i].word, name, display, aliases, ""))
			return &o->gate[i];
	return NULL;
}

bool diff_chooses(const struct diff_options *o, const char *name, const char *display, const char *aliases,
		  const char *categories, bool listed)
{
	const struct selection *s = &o->selection;
	bool chosen = o->all || (listed && !s->has_show);

	if (o->n_gates)
		return diff_gate_of(o, name, display, aliases) != NULL;
	for (size_t i = 0; i < s->n; i++)
		if (selection_matches(s->word[i].word, name, display, aliases, categories))
			chosen = s->word[i].verb != SELECT_HIDE;
	return chosen;
}

void diff_choose(const struct diff_options *o, const struct binding *b, bool *shown)
{
	for (size_t i = 0; i < b->n_metrics; i++) {
		const struct bound_metric *m = &b->metric[i];

		shown[i] = diff_chooses(o, m->name, m->display, m->aliases ? m->aliases : "",
					m->categories ? m->categories : "", m->default_on || m->added);
	}
}

enum metric_better diff_better(const struct diff_options *o, const struct bound_metric *m, bool work)
{
	const char *aliases = m->aliases ? m->aliases : "", *categories = m->categories ? m->categories : "";

	if (named(&o->lower, m->name, m->display, aliases, categories))
		return METRIC_LOWER;
	if (named(&o->higher, m->name, m->display, aliases, categories))
		return METRIC_HIGHER;
	for (size_t i = 0; costs[i] && work && m->counter && m->better == METRIC_NEUTRAL; i++)
		if (!fnmatch(costs[i], m->name, FNM_CASEFOLD))
			return METRIC_LOWER;
	return m->better;
}
