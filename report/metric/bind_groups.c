/* Events that several metrics wanted and that were counted in a group for each: which of them a formula takes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/parse.h"
#include "report/metric/bind_private.h"

static const char *id_of(const struct pm_counter *c)
{
	return strcmp(c->source, "perf") ? NULL : pm_map_text(&c->attrs, PM_COUNTER_PERF_METRIC_ID, NULL);
}

static bool is_named(const struct pm_counter *c, const char *name)
{
	const char *id = id_of(c);

	return id && !strcasecmp(id, name);
}

static uint32_t group_of(const struct pm_counter *c)
{
	return (uint32_t)pm_map_u64(&c->attrs, PM_COUNTER_PERF_GROUP, 0);
}

bool bind_twice(const struct pm_model *m)
{
	struct names seen = { 0 };
	bool twice = false;

	for (uint32_t i = 0; i < m->n_counters && !twice; i++) {
		const char *id = id_of(&m->counter[i]);
		uint32_t group, own = group_of(&m->counter[i]);

		if (id && names_get(&seen, id, &group))
			twice = group != own;
		else if (id && names_set(&seen, id, own))
			break; /* then the first event of a name is taken, as if it were the only one */
	}
	names_release(&seen);
	return twice;
}

uint32_t bind_in_group(const struct pm_model *m, const char *name, uint32_t group)
{
	for (uint32_t i = 0; i < m->n_counters; i++)
		if (is_named(&m->counter[i], name) && group_of(&m->counter[i]) == group)
			return m->counter[i].id;
	return 0;
}

uint32_t bind_group(const struct pm_model *m, const struct expr_input *in, size_t n)
{
	/* The group of every event of the first input that is an event is a candidate. */
	for (size_t first = 0; first < n; first++) {
		for (uint32_t i = 0; i < m->n_counters; i++) {
			uint32_t group = group_of(&m->counter[i]);
			bool all = group != 0;

			if (!is_named(&m->counter[i], in[first].name))
				continue;
			for (size_t k = 0; k < n && all; k++) {
				bool known = false;

				for (uint32_t c = 0; c < m->n_counters && !known; c++)
					known = is_named(&m->counter[c], in[k].name);
				all = !known || bind_in_group(m, in[k].name, group);
			}
			if (all)
				return group;
		}
	}
	return 0;
}

double bind_unscale(const struct pm_counter *c)
{
	double scale;

	if (strcmp(c->source, "perf") || !c->scale.text || parse_double(c->scale.text, &scale) || !(scale > 0))
		return 1;
	return 1 / scale;
}

/* 1: it judges; 0: the recording lacks what it needs, or it cannot be understood, which leaves its metric without
 * judgement. */
static int bind_one_threshold(struct builder *x, struct bound_metric *m, const char *text)
{
	const struct expr_input *in;
	struct bound_threshold *t;
	struct expr *expr;
	size_t n;
	int err = expr_parse(&expr, text, NULL);

	if (err)
		return err == -ENOMEM ? err : 0;
	in = expr_inputs(expr, &n);
	t = calloc(1, sizeof(*t));
	if (!t) {
		expr_free(expr);
		return -ENOMEM;
	}
	m->threshold = t;
	t->expr = expr;
	t->input = malloc((n + 1) * sizeof(*t->input));
	if (!t->input)
		return -ENOMEM;
	x->group = x->twice ? bind_group(x->p->model, in, n) : 0;
	for (size_t i = 0; i < n; i++) {
		int64_t at = bind_input(x, in[i].name, in[i].aspect);

		if (at < 0)
			return (int)at;
		if (bind_lacks(&x->b->input[at]) && !bind_is_optional(in, n, i)) {
			expr_free(expr);
			free(t->input);
			free(t);
			m->threshold = NULL;
			return 0;
		}
		t->input[t->n_inputs++] = (uint32_t)at;
	}
	return 1;
}

int bind_threshold(struct builder *x, struct bound_metric *m, const struct metric *row)
{
	const char *from = row->threshold_otherwise ? row->threshold_otherwise : "";
	int kept = row->threshold && row->threshold[0] ? bind_one_threshold(x, m, row->threshold) : 0;

	while (!kept && *from) {
		size_t len = strcspn(from, ";");
		char *text = strndup(from, len);

		if (!text)
			return -ENOMEM;
		kept = bind_one_threshold(x, m, text);
		free(text);
		from += len + (from[len] == ';');
	}
	return kept < 0 ? kept : 0;
}
