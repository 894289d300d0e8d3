/* Values of metrics come from the engine, at the rows of the lines, once for each cgroup with events of the metric.
 */
#include <errno.h>
#include <stdlib.h>

#include "report/stat/stat_shadow.h"

/* A metric at a row. */
struct answer {
	uint32_t row, at; /* of the sheet, and the cell in it + 1; 0: nothing feeds it there */
	struct value now; /* of the current interval, or the total */
	enum sheet_verdict verdict;
};

struct stat_numbers {
	struct sheet_custom rows;
	bool *asked;           /* owned: by metric of the binding */
	uint32_t *cgroup;      /* owned: by scope */
	struct answer *answer; /* owned: row by row */
	uint32_t n_rows, n_shown;
};

void stat_numbers_release(struct stat_sheet *s)
{
	struct stat_numbers *n = s->numbers;

	if (!n)
		return;
	free(n->asked);
	free(n->cgroup);
	free(n->answer);
	free(n);
	s->numbers = NULL;
}

static int lay_out(void *ctx, uint32_t *rows)
{
	struct stat_sheet *s = ctx;
	int err = s->laid_out ? 0 : stat_lay_out(s, s->sink.notes, &s->sink.error);

	*rows = s->n_rows;
	return err;
}

static uint32_t row_in(void *ctx, uint32_t scope, uint32_t counter, const struct pm_instance *i)
{
	const struct stat_sheet *s = ctx;
	const struct pm_counter *c = pm_model_counter(s->places->model, counter);

	if (!stat_programs_wanted(&s->config->programs, c))
		return PM_NONE;
	return stat_row_of(s, c, s->numbers->cgroup[scope], i);
}

static void add_scope(struct stat_numbers *n, uint32_t cgroup)
{
	for (uint32_t i = 0; i < n->rows.scopes; i++)
		if (n->cgroup[i] == cgroup)
			return;
	n->cgroup[n->rows.scopes++] = cgroup;
}

int stat_numbers_plan(struct stat_sheet *s, struct sink_plan *plan)
{
	const struct binding *b = plan->binding;
	struct stat_numbers *n;

	stat_numbers_release(s);
	if (!(n = s->numbers = calloc(1, sizeof(*n))))
		return -ENOMEM;
	n->rows = (struct sheet_custom){ .ctx = s, .lay_out = lay_out, .row = row_in };
	n->n_shown = s->shadow->n;
	n->asked = calloc(b->n_metrics + 1, sizeof(*n->asked));
	n->cgroup = calloc((size_t)n->n_shown + 1, sizeof(*n->cgroup));
	if (!n->asked || !n->cgroup)
		return -ENOMEM;
	for (uint32_t i = 0; i < n->n_shown; i++) {
		const struct shown *x = &s->shadow->shown[i];

		add_scope(n, x->cgroup);
		if (x->metric)
			n->asked[x->metric - b->metric] = true;
	}
	if (n->n_shown)
		plan->sheet[plan->n_sheets++] = (struct sink_wish){ { .custom = &n->rows }, n->asked };
	return 0;
}

int stat_numbers_shape(struct stat_sheet *s, const struct sheet *sheet, size_t n_sheets)
{
	struct stat_numbers *n = s->numbers;

	n->n_rows = s->n_rows;
	n->answer = calloc((size_t)n->n_rows * n->n_shown + 1, sizeof(*n->answer));
	if (!n->answer)
		return -ENOMEM;
	for (size_t i = 0; i < (size_t)n->n_rows * n->n_shown; i++)
		n->answer[i].now = value_missing(VALUE_NO_INPUT);
	for (uint32_t r = 0; n_sheets && r < sheet->n_rows; r++)
		for (uint32_t k = 0; k < sheet->row[r].n_cells; k++)
			for (uint32_t i = 0; i < n->n_shown; i++) {
				const struct shown *x = &s->shadow->shown[i];
				struct answer *a = &n->answer[(size_t)(r % n->n_rows) * n->n_shown + i];

				if (x->metric == sheet->column[sheet->row[r].cell[k].column].metric &&
				    x->cgroup == n->cgroup[r / n->n_rows])
					a->row = r, a->at = k + 1;
			}
	return 0;
}

void stat_numbers_take(struct stat_sheet *s, const struct sheet *sheet, size_t k)
{
	struct stat_numbers *n = s->numbers;

	for (size_t i = 0; i < (size_t)n->n_rows * n->n_shown; i++) {
		struct answer *a = &n->answer[i];
		const struct sheet_cell *cell = a->at ? &sheet->row[a->row].cell[a->at - 1] : NULL;

		if (!cell)
			continue;
		a->now = cell->value[k];
		a->verdict = sheet_verdict(sheet, cell, k);
		s->doubtful |= !a->now.reason && sheet_quality(cell, k) == STATUS_DOUBTFUL;
	}
}

struct value stat_numbers_get(const struct stat_sheet *s, uint32_t shown, uint32_t row, enum sheet_verdict *verdict)
{
	const struct answer *a = &s->numbers->answer[(size_t)row * s->numbers->n_shown + shown];

	*verdict = a->verdict;
	return a->now;
}
