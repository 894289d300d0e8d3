/* Values of metrics are the engine's: which cell of its sheet has the one of a row, and what stands in it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/stat/stat_shadow.h"

/* A metric at a place. */
struct answer {
	const struct sheet_cell *cell; /* NULL: the engine was not asked */
	uint32_t row, at;              /* of the sheet, and the cell in it */
	struct value now;              /* of the interval at hand, or of the whole */
	enum sheet_verdict verdict;
};

struct stat_numbers {
	bool *asked;                        /* owned: by metric of the binding */
	const struct bound_metric **metric; /* owned: by metric that is printed; NULL: the engine cannot be asked */
	struct answer *answer;              /* owned: row by row */
	uint32_t n_rows, n_shown;
	uint32_t runs; /* wholes that were taken */
};

static void release(struct stat_numbers *n)
{
	free(n->asked);
	free(n->metric);
	free(n->answer);
	free(n);
}

void stat_numbers_release(struct stat_sheet *s)
{
	if (s->numbers)
		release(s->numbers);
	s->numbers = NULL;
}

/* Rows that leave out what is in a place of the recording are no places of the engine. */
static bool is_filtered(const struct stat_config *c)
{
	return c->cpus.n || c->n_pids || c->n_tids || c->cgroups.n || c->programs.n || c->no_scale ||
	       c->aggr == STAT_CACHE || c->aggr == STAT_THREAD || c->aggr == STAT_CGROUP;
}

static const struct bound_metric *find_metric(const struct stat_sheet *s, const struct binding *b,
					      const struct shown *x)
{
	const char *filter = x->filter ? s->classes.filter[x->filter] : "";
	size_t len = strlen(x->metric->name);

	for (size_t i = 0; i < b->n_metrics; i++) {
		const struct bound_metric *m = &b->metric[i];

		if (strncmp(m->name, x->metric->name, len) || m->counter || m->absent || m->added)
			continue;
		if (!*filter ? !m->name[len] :
			       m->name[len] == '/' && !strncmp(m->name + len + 1, filter, strlen(filter)) &&
				       !strcmp(m->name + len + 1 + strlen(filter), "/"))
			return m;
	}
	return NULL;
}

int stat_numbers_ask(struct stat_sheet *s, const struct binding *b, const bool **asked)
{
	struct stat_numbers *n = s->numbers;

	*asked = NULL;
	if (!n && !(n = s->numbers = calloc(1, sizeof(*n))))
		return -ENOMEM;
	free(n->asked);
	free(n->metric);
	n->n_shown = s->shadow->n;
	n->asked = calloc(b->n_metrics + 1, sizeof(*n->asked));
	n->metric = calloc((size_t)n->n_shown + 1, sizeof(const struct bound_metric *));
	if (!n->asked || !n->metric)
		return -ENOMEM;
	for (uint32_t i = 0; i < n->n_shown && !is_filtered(s->config); i++) {
		const struct shown *x = &s->shadow->shown[i];

		if (x->rate || x->pmu || x->cgroup || (x->event < s->n_events && s->event[x->event].in_cgroup))
			continue;
		n->metric[i] = find_metric(s, b, x);
		if (n->metric[i]) {
			n->asked[n->metric[i] - b->metric] = true;
			*asked = n->asked;
		}
	}
	return 0;
}

static const struct sheet_row *row_at(const struct sheet *sheet, const struct place *p)
{
	for (uint32_t i = 0; i < sheet->n_rows; i++)
		if (!place_compare(&sheet->row[i].place, p))
			return &sheet->row[i];
	return NULL;
}

int stat_numbers_shape(struct stat_sheet *s, const struct sheet *sheet, size_t n_sheets)
{
	struct stat_numbers *n = s->numbers;

	free(n->answer);
	n->n_rows = s->n_rows;
	n->answer = calloc((size_t)n->n_rows * n->n_shown + 1, sizeof(*n->answer));
	for (uint32_t r = 0; n->answer && r < n->n_rows; r++) {
		const struct sheet_row *row = n_sheets ? row_at(sheet, &s->row[r].place) : NULL;

		for (uint32_t k = 0; row && k < row->n_cells; k++)
			for (uint32_t i = 0; i < n->n_shown; i++)
				if (n->metric[i] == sheet->column[row->cell[k].column].metric && n->metric[i])
					n->answer[(size_t)r * n->n_shown + i] = (struct answer){
						.cell = &row->cell[k], .row = (uint32_t)(row - sheet->row), .at = k
					};
	}
	return n->answer ? 0 : -ENOMEM;
}

void stat_numbers_take(struct stat_sheet *s, const struct sheet *sheet, size_t k)
{
	struct stat_numbers *n = s->numbers;

	for (size_t i = 0; i < (size_t)n->n_rows * n->n_shown; i++) {
		struct answer *a = &n->answer[i];

		if (!a->cell)
			continue;
		a->now = a->cell->value[k];
		a->verdict = sheet_verdict(sheet, a->cell, k);
	}
}

void stat_numbers_take_total(struct stat_sheet *s, const struct sheet *sheet, size_t k)
{
	struct stat_numbers *n = s->numbers;

	n->runs++;
	for (size_t i = 0; i < (size_t)n->n_rows * n->n_shown; i++) {
		struct answer *a = &n->answer[i];

		if (!a->cell)
			continue;
		a->now = sheet->row[a->row].cell[a->at].value[k];
		a->verdict = sheet_verdict(sheet, &sheet->row[a->row].cell[a->at], k);
	}
}

bool stat_numbers_get(const struct stat_sheet *s, uint32_t shown, uint32_t row, struct value *v,
		      enum sheet_verdict *verdict)
{
	const struct stat_numbers *n = s->numbers;
	const struct answer *a =
		n && shown < n->n_shown && row < n->n_rows ? &n->answer[(size_t)row * n->n_shown + shown] : NULL;

	/* What several runs come to is no number of one of them. */
	if (!a || !a->cell || (s->summing ? n->runs != 1 : !s->config->intervals && s->intervals > 1))
		return false;
	*v = a->now;
	*verdict = a->verdict;
	return true;
}
