#include "report/export/when.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"

static const struct sheet_cell *cell_of(const struct sheet *s, const char *name)
{
	for (uint32_t r = 0; r < s->n_rows; r++) {
		const struct sheet_row *row = &s->row[r];

		for (uint32_t i = 0; row->place.kind == PM_SYSTEM && i < row->n_cells; i++)
			if (!strcmp(s->column[row->cell[i].column].metric->name, name))
				return &row->cell[i];
	}
	return NULL;
}

static int when_shape(struct sink *sink, const struct sheet *s, size_t n_sheets)
{
	struct when *w = (struct when *)sink;
	const struct expr_input *input;
	size_t n;

	input = expr_inputs(w->x, &n);
	for (size_t i = 0; i < n; i++) {
		w->cell[i] = cell_of(s, input[i].name);
		if (!w->cell[i])
			return error_set(&sink->error, ENOENT, "--when: '%s' has no value for the whole system",
					 input[i].name);
	}
	return 0;
}

static int when_intervals(struct sink *sink, const struct sheet *s, const struct interval *interval, size_t n)
{
	struct when *w = (struct when *)sink;
	struct value v;
	size_t n_inputs;

	(void)expr_inputs(w->x, &n_inputs);
	for (size_t k = 0; k < n; k++) {
		for (size_t i = 0; i < n_inputs; i++)
			w->value[i] = w->cell[i]->value[k];
		v = expr_eval(w->x, w->value);
		if (v.reason || v.v == 0)
			continue;
		w->met = true;
		w->at = interval[k];
		return -ECANCELED;
	}
	return 0;
}

static const struct sink_ops when_ops = {
	.name = "when",
	.shape = when_shape,
	.intervals = when_intervals,
};

int when_init(struct when *w, const char *expression, struct selection *s, struct error *e)
{
	const struct expr_input *input;
	size_t n;
	int err;

	*w = (struct when){ .sink = { .ops = &when_ops, .whole = SINK_NO_TOTALS } };
	err = expr_parse(&w->x, expression, e);
	if (err)
		return err;
	input = expr_inputs(w->x, &n);
	w->value = memory_new(n, sizeof(*w->value));
	w->cell = memory_new(n, sizeof(*w->cell));
	if (!n)
		return error_set(e, EINVAL, "the expression names no metric");
	for (size_t i = 0; i < n && !err; i++) {
		if (input[i].aspect != EXPR_VALUE)
			return error_set(e, EINVAL, "'%s': only metrics, numbers and operators are allowed here",
					 input[i].name);
		err = selection_add(s, SELECT_SHOW, input[i].name, e);
	}
	return err;
}

void when_release(struct when *w)
{
	expr_free(w->x);
	free(w->value);
	free(w->cell);
}
