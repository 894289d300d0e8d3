/* Unscales events, and binds the thresholds of metrics. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/parse.h"
#include "report/metric/bind_private.h"

#define CORE_KINDS_MAX 16 /* hybrids have two or three kinds of cores */

double bind_unscale(const struct pm_counter *c)
{
	double scale;

	if (strcmp(c->source, "perf") || !c->scale.text || parse_double(c->scale.text, &scale) || !(scale > 0))
		return 1;
	return 1 / scale;
}

/* 1: it judges; 0: the recording lacks what it needs, or it cannot be parsed, so its metric has no verdict. */
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
	bind_begin_formula(x, in, n);
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
		SCOPED(scoped_free) char *text = strndup(from, len);

		if (!text)
			return -ENOMEM;
		kept = bind_one_threshold(x, m, text);
		from += len + (from[len] == ';');
	}
	return kept < 0 ? kept : 0;
}

const char *bind_core_pmu(const struct pm_model *m, uint32_t want)
{
	const char *found = NULL;
	uint32_t n = 0;

	/* A hostile file may list more kinds than any machine has: each costs all metrics again. */
	for (uint32_t i = 0; i < m->n_pmus && n <= CORE_KINDS_MAX; i++) {
		if (!pm_map_get(&m->pmu[i].attrs, PM_PMU_CPUS))
			continue;
		if (n++ == want)
			found = pm_map_text(&m->pmu[i].attrs, PM_PMU_NAME, "");
	}
	return n > 1 && n <= CORE_KINDS_MAX ? found : NULL;
}

bool bind_is_of_kind(const struct builder *x, const struct bound_metric *m, const char *pmu)
{
	bool own = false, other = false;

	for (uint32_t i = 0; i < m->n_inputs; i++) {
		const struct bound_input *in = &x->b->input[m->input[i]];

		for (uint32_t k = 0; !in->constant && k < in->n_counters; k++) {
			const struct pm_counter *c = pm_model_counter(x->p->model, in->counter[k]);
			const char *of = pm_map_text(&c->attrs, PM_COUNTER_PERF_PMU, ""), *core;

			for (uint32_t n = 0; (core = bind_core_pmu(x->p->model, n)); n++) {
				own |= !strcmp(core, of) && !strcmp(core, pmu);
				other |= !strcmp(core, of) && strcmp(core, pmu) != 0;
			}
		}
	}
	return own && !other;
}
