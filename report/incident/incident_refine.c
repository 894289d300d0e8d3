/* Reads the times that matter again, for their exact beginning and end. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/incident/incident_private.h"
#include "report/input/input.h"

#define SERIES     16   /* of an incident, whose values are read again */
#define VALUES     8192 /* intervals of a stretch; a longer one is exact enough */
#define BINS_EXACT 40
struct look {
	struct sink sink;
	struct incident *i;
	const struct places *places;
	bool *shown;       /* owned */
	double origin_s;   /* of the recording, on the clock of intervals */
	double *from, *to; /* owned: by interval */
	float *v[SERIES];  /* owned: likewise */
	uint32_t n;
	const struct sheet_cell *cell[SERIES];
};

static bool names(const struct incident *i, const char *metric)
{
	for (uint32_t k = 0; k < i->n_series && k < SERIES; k++)
		if (!strcmp(i->series[k].metric, metric))
			return true;
	return false;
}

static int plan(struct sink *sink, struct sink_plan *plan)
{
	struct look *l = (struct look *)sink;
	size_t n = plan->binding->n_metrics;

	l->places = plan->places;
	free(l->shown);
	l->shown = calloc(n + 1, sizeof(*l->shown));
	if (!l->shown)
		return -ENOMEM;
	for (size_t k = 0; k < n; k++)
		l->shown[k] = names(l->i, plan->binding->metric[k].name);
	incident_wish(plan, l->shown);
	return 0;
}

static int shape(struct sink *sink, const struct sheet *sheet, size_t n)
{
	struct look *l = (struct look *)sink;
	struct buf label = BUF_INIT;
	int err;

	memset(l->cell, 0, sizeof(l->cell));
	for (size_t i = 0; i < n; i++)
		for (uint32_t r = 0; r < sheet[i].n_rows; r++) {
			const struct sheet_row *row = &sheet[i].row[r];

			buf_clear(&label);
			places_put_name(l->places, &row->place, &label);
			for (uint32_t c = 0; c < row->n_cells && !label.err; c++)
				for (uint32_t k = 0; k < l->i->n_series && k < SERIES; k++)
					if (l->i->series[k].kind == row->place.kind &&
					    !strcmp(l->i->series[k].label, buf_str(&label)) &&
					    !strcmp(sheet[i].column[row->cell[c].column].metric->name,
						    l->i->series[k].metric))
						l->cell[k] = &row->cell[c];
		}
	err = label.err;
	buf_release(&label);
	return err;
}

static int intervals(struct sink *sink, const struct sheet *sheet, const struct interval *interval, size_t n)
{
	struct look *l = (struct look *)sink;

	for (size_t k = 0; k < n && l->n < VALUES; k++) {
		l->from[l->n] = (double)(int64_t)(interval[k].from_ns - sink->origin_ns) / 1e9 - l->origin_s;
		l->to[l->n] = (double)(int64_t)(interval[k].to_ns - sink->origin_ns) / 1e9 - l->origin_s;
		for (uint32_t s = 0; s < SERIES; s++) {
			const struct value *v = l->cell[s] ? &l->cell[s]->value[k] : NULL;

			l->v[s][l->n] = v && !v->reason ? (float)v->v : NAN;
		}
		l->n++;
	}
	return 0;
}

static const struct sink_ops ops = { .plan = plan, .shape = shape, .intervals = intervals };

/* The stretch in which the values are nearer to the extreme one than to what is usual. */
static void find_times(struct look *l)
{
	const struct incident_series *s = &l->i->series[0];
	double sign = s->value < s->usual ? -1 : 1, top[3] = { 0 }, half;
	struct best_run run = { 0 };

	for (uint32_t k = 0; k < l->n; k++) {
		double d = sign * ((double)l->v[0][k] - s->usual);

		for (int t = 0; t < 3; t++)
			if (d > top[t]) {
				memmove(&top[t + 1], &top[t], (size_t)(2 - t) * sizeof(*top));
				top[t] = d;
				break;
			}
	}
	half = fmax(top[2] > 0 ? (top[0] + top[1] + top[2]) / 6 : top[0] / 2, top[0] / 4);
	for (uint32_t k = 0; k < l->n; k++)
		best_run_add(&run, k, isnan(l->v[0][k]) ? 0 : sign * ((double)l->v[0][k] - s->usual) - half);
	if (!run.to)
		return;
	l->i->from_s = fmax(l->from[run.from], 0);
	l->i->to_s = l->to[run.to - 1];
	for (uint32_t k = 0; k < l->i->n_series && k < SERIES; k++) {
		double sum = 0;
		uint32_t n = 0;

		for (uint32_t i = run.from; i < run.to; i++)
			if (!isnan(l->v[k][i])) {
				sum += (double)l->v[k][i];
				n++;
			}
		if (n)
			l->i->series[k].value = sum / n;
	}
}

/* Reads the recording from one second after its start to another into a sink. */
static int read_part(const struct incident_store *s, struct sink *sink, const struct pipeline_config *config,
		     const char *path, double from_s, double to_s, struct error *e)
{
	struct pipeline_config own = *config;
	struct pipeline_result result = { 0 };
	struct pm_reader *reader;
	int err = input_open(&reader, path, false, e);

	if (err)
		return err;
	own.mode = PIPELINE_EACH;
	own.bind.rate = true;
	own.selection = (struct selection){ 0 };
	own.since = (struct moment){ MOMENT_FROM_START, (uint64_t)(fmax(from_s + s->origin_s, 0) * 1e9) };
	own.until = (struct moment){ MOMENT_FROM_START, (uint64_t)((to_s + s->origin_s) * 1e9) + 1 };
	err = pipeline_run(&own, reader, sink, &result, e);
	buf_release(&result.notes);
	buf_release(&result.remarks);
	pm_reader_close(reader);
	return err;
}

static int refine(const struct incident_store *s, struct incident *i, const char *path,
		  const struct pipeline_config *config, struct error *e)
{
	double bin = s->interval_s * s->per_bin;
	struct look l = { .sink.ops = &ops,
			  .i = i,
			  .origin_s = s->origin_s,
			  .from = calloc(VALUES, sizeof(*l.from)),
			  .to = calloc(VALUES, sizeof(*l.to)) };
	int err = l.from && l.to ? 0 : -ENOMEM;

	for (uint32_t k = 0; k < SERIES; k++) {
		l.v[k] = calloc(VALUES, sizeof(float));
		err = l.v[k] ? err : -ENOMEM;
	}
	if (!err)
		err = read_part(s, &l.sink, config, path, i->from_s - 1.5 * bin, i->to_s + 1.5 * bin, e);
	if (!err && l.n < VALUES)
		find_times(&l);
	for (uint32_t k = 0; k < SERIES; k++)
		free(l.v[k]);
	free(l.from);
	free(l.to);
	free(l.shown);
	return err;
}

int refine_all(struct incidents *found, const char *path, const struct pipeline_config *config, struct error *e)
{
	const struct incident_store *s = found->store;
	uint32_t looked = 0;
	int err = 0;

	/* Times in a file with several recordings do not identify a place in it. */
	for (uint32_t i = 0; s->joined && s->recordings == 1 && i < found->n && looked < INCIDENTS_REFINED && !err;
	     i++)
		if (found->incident[i].kind == INCIDENT_STRETCH && looked++ < INCIDENTS_REFINED &&
		    found->incident[i].to_s - found->incident[i].from_s < BINS_EXACT * s->interval_s * s->per_bin)
			err = refine(s, &found->incident[i], path, config, e);
	return err || !s->tasks ? err : find_tasks(found, path, e);
}
