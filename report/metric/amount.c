#include "report/metric/amount.h"

#include <math.h>

#include "common/memory.h"

#define TRIES 16 /* a formula may need numbers in some order */

/* Whether an input grows with the length of the interval. */
static bool grows(const struct binding *b, const struct bound_input *in, const struct pm_model *model)
{
	if (in->duration)
		return true;
	if (in->more->whole && !in->constant)
		return metric_is_amount(b, bind_whole(b, in->more), model);
	if (in->constant || in->rate || in->aspect == EXPR_RATE || in->more->op == INPUT_NUMBER ||
	    in->more->op == INPUT_SPAN || in->more->op == INPUT_WALL || !in->n_counters)
		return false;
	switch (in->aspect) {
	case EXPR_VALUE:
	case EXPR_SECONDS:
		break;
	case EXPR_ELAPSED:
		return true;
	default:
		return false;
	}
	for (uint32_t i = 0; i < in->n_counters; i++) {
		enum pm_semantics s = pm_model_counter(model, in->counter[i])->semantics;

		if (s != PM_CUMULATIVE && s != PM_DELTA)
			return false;
	}
	return true;
}

bool metric_is_amount(const struct binding *b, const struct bound_metric *m, const struct pm_model *model)
{
	SCOPED(scoped_free) struct value *once = memory_new(m->n_inputs, sizeof(*once));
	SCOPED(scoped_free) struct value *twice = memory_new(m->n_inputs, sizeof(*twice));
	unsigned seed = 12345;
	bool amount = false, known = !m->expr;

	if (!m->expr)
		amount = m->n_inputs && grows(b, &b->input[m->input[0]], model);
	for (int try = 0; try < TRIES && !known; try++) {
		struct value v, w;

		for (uint32_t i = 0; i < m->n_inputs; i++) {
			const struct bound_input *in = &b->input[m->input[i]];

			seed = seed * 1103515245u + 12345u;
			once[i] = in->constant ? in->more->value :
						 (struct value){ .v = 1 + (double)(seed >> 8 & 0xffff) / 7e3 };
			twice[i] = once[i];
			if (grows(b, in, model))
				twice[i].v *= 2;
		}
		v = expr_eval(m->expr, once);
		w = expr_eval(m->expr, twice);
		known = !v.reason && !w.reason && isfinite(v.v) && isfinite(w.v) && (v.v > 0 || v.v < 0);
		amount = known && fabs(w.v / v.v - 2) < 1e-6;
	}
	return amount;
}
