#include "report/diff/diff_shown.h"

#include <fnmatch.h>
#include <string.h>

/* Events that cost time or are caused by it: for the same work, fewer are better. Ends with NULL. */
static const char *const costs[] = {
	"cycles*",           "cpu-cycles*",     "ref-cycles*", "instructions*", "task-clock*",
	"cpu-clock*",        "duration_time",   "user_time",   "system_time",   "*faults*",
	"context-switches*", "cpu-migrations*", "*misses*",    "stalled-*",     NULL,
};

static bool fits(const char *word, const struct diff_name *n)
{
	if (!strcmp(word, n->metric) || !strcmp(word, n->display))
		return true;
	return selection_matches(word, n->metric, n->display, n->aliases, n->categories) && !n->exact(n->ctx, word);
}

static bool named(const struct selection *s, const struct diff_name *n)
{
	for (size_t i = 0; i < s->n; i++)
		if (fits(s->word[i].word, n))
			return true;
	return false;
}

void diff_words_known(struct diff_options *o, const struct diff_name *name)
{
	struct selection *const list[] = { &o->selection, &o->lower, &o->higher };

	for (size_t k = 0; k < sizeof(list) / sizeof(*list); k++)
		for (size_t i = 0; i < list[k]->n; i++)
			list[k]->word[i].known = list[k]->word[i].known || fits(list[k]->word[i].word, name);
}

const struct diff_gate *diff_gate_of(const struct diff_options *o, const struct diff_name *name)
{
	for (size_t i = 0; i < o->n_gates; i++)
		if (fits(o->gate[i].word, name))
			return &o->gate[i];
	return NULL;
}

bool diff_chooses(const struct diff_options *o, const struct diff_name *name, bool listed)
{
	const struct selection *s = &o->selection;
	bool chosen = o->all || (listed && !s->has_show);

	if (o->n_gates)
		return diff_gate_of(o, name) != NULL;
	for (size_t i = 0; i < s->n; i++)
		if (fits(s->word[i].word, name))
			chosen = s->word[i].verb != SELECT_HIDE;
	return chosen;
}

static bool is_name(void *ctx, const char *word)
{
	const struct binding *b = ctx;

	for (size_t i = 0; i < b->n_metrics; i++)
		if (!strcmp(word, b->metric[i].name) || !strcmp(word, b->metric[i].display))
			return true;
	return false;
}

struct diff_name diff_name_of(const struct binding *b, const struct bound_metric *m)
{
	return (struct diff_name){
		.metric = m->name,
		.display = m->display,
		.aliases = m->about->aliases ? m->about->aliases : "",
		.categories = m->about->categories ? m->about->categories : "",
		.exact = is_name,
		.ctx = (void *)b,
	};
}

enum metric_better diff_better(const struct diff_options *o, const struct binding *b, const struct bound_metric *m,
			       bool work)
{
	struct diff_name name = diff_name_of(b, m);

	if (named(&o->lower, &name))
		return METRIC_LOWER;
	if (named(&o->higher, &name))
		return METRIC_HIGHER;
	for (size_t i = 0; costs[i] && work && m->counter && m->better == METRIC_NEUTRAL; i++)
		if (!fnmatch(costs[i], m->name, FNM_CASEFOLD))
			return METRIC_LOWER;
	return m->better;
}
