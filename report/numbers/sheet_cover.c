/* How much of a number is known, and whether its time is in doubt. */
#include <math.h>
#include <string.h>

#include "report/numbers/sheet_private.h"

/* Whether an earlier input has the same counters: what is named twice counts once. */
static bool is_again(const struct sheet *s, const struct bound_metric *m, uint32_t i)
{
	const struct bound_input *in = &s->binding->input[m->input[i]], *of;
	bool again = false;

	for (uint32_t k = 0; k < i && in->counter && in->n_counters && !again; k++) {
		of = &s->binding->input[m->input[k]];
		again = of->counter && of->n_counters == in->n_counters &&
			!memcmp(of->counter, in->counter, in->n_counters * sizeof(*in->counter));
	}
	return again;
}

/* Adds how long an input is known, and how long not. */
static void cover(const struct sheet *s, const struct bound_metric *m, uint32_t input, size_t place,
		  const struct interval *interval, size_t n, double *known, double *lost)
{
	const struct sheet_private *p = s->p;

	if (is_again(s, m, input))
		return;
	for (size_t k = 0; k < n; k++) {
		known[k] += p->in_parts[place] ? p->in_known[place * p->block + k] :
						 p->in_whole[place] * ((double)interval[k].duration_ns / 1e9);
		lost[k] += p->in_parts[place] ? p->in_lost[place * p->block + k] : 0;
	}
}

bool sheet_cover(const struct sheet *s, const struct level *l, const struct bound_metric *m,
		 const struct interval *interval, size_t n, double *coverage)
{
	struct sheet_private *p = s->p;
	double *known = coverage, *lost = p->all_lost;
	bool any = false;

	for (uint32_t i = 0; i < m->n_inputs; i++) {
		const struct sheet_cell *whole = p->whole ? p->whole[m->input[i]] : NULL;

		any |= p->in_parts[l->place[m->input[i]]] || (whole && whole->coverage);
	}
	if (!any)
		return false;
	memset(known, 0, n * sizeof(*known));
	memset(lost, 0, n * sizeof(*lost));
	for (uint32_t i = 0; i < m->n_inputs; i++)
		cover(s, m, i, l->place[m->input[i]], interval, n, known, lost);
	any = false;
	for (size_t k = 0; k < n; k++) {
		any |= lost[k] > 0;
		coverage[k] = lost[k] > 0 ? known[k] / (known[k] + lost[k]) : 1;
	}
	for (uint32_t i = 0; p->whole && i < m->n_inputs; i++) {
		const struct sheet_cell *whole = p->whole[m->input[i]];

		any |= whole && whole->coverage;
		for (size_t k = 0; whole && whole->coverage && k < n; k++)
			coverage[k] = fmin(coverage[k], whole->coverage[k]);
	}
	return any;
}

static bool takes_time(const struct bound_input *in)
{
	return in->rate || in->aspect == EXPR_RATE || in->aspect == EXPR_ELAPSED || in->aspect == EXPR_SECONDS;
}

/* Whether slow readings of an input make the metric doubtful: if its time counts, or if it is combined with registers
 * that are read one after the other. */
static bool may_doubt(const struct sheet *s, const struct bound_metric *m, const struct bound_input *in)
{
	const struct pm_model *model = s->places->model;

	return in->n_counters && !in->constant &&
	       (takes_time(in) ||
		(m->n_inputs > 1 && !strcmp(pm_model_counter(model, in->counter[0])->source, "msr")));
}

static void doubt_input(const struct sheet *s, const struct level *l, uint32_t row, uint32_t place, size_t n,
			double *coverage)
{
	size_t slot = (size_t)row * l->n_inputs + place;

	for (uint32_t t = l->start[slot]; t < l->start[slot + 1]; t++) {
		const uint8_t *own = replay_doubt(s->p->replay, l->track[t]);

		for (size_t k = 0; own && k < n; k++)
			coverage[k] += coverage[k] >= 1 && own[k];
	}
}

void sheet_doubt(const struct sheet *s, const struct level *l, uint32_t row, struct sheet_cell *cell, size_t n)
{
	struct sheet_private *p = s->p;
	const struct bound_metric *m = s->column[cell->column].metric;

	if (!replay_doubts(p->replay))
		return;
	for (uint32_t i = 0; i < m->n_inputs; i++) {
		const struct bound_input *in = &s->binding->input[m->input[i]];
		const struct sheet_cell *whole = p->whole ? p->whole[m->input[i]] : NULL;
		double *coverage = p->coverage + (size_t)(cell - p->cell) * p->block;

		if (!may_doubt(s, m, in) && !(whole && whole->coverage))
			continue;
		for (size_t k = 0; !cell->coverage && k < n; k++)
			coverage[k] = 1;
		cell->coverage = coverage;
		for (size_t k = 0; whole && whole->coverage && k < n; k++)
			coverage[k] += coverage[k] >= 1 && whole->coverage[k] > 1;
		doubt_input(s, l, row, l->place[m->input[i]], n, coverage);
	}
}
