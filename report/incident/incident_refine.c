/* Reads the times that matter again, for their exact beginning and end. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/incident/incident_private.h"
#include "report/input/input.h"
#include "report/metric/amount.h"

#define SERIES     16   /* of an incident, whose values are read again */
#define VALUES     8192 /* intervals of a stretch; a longer one is exact enough */
#define BINS_EXACT 40
struct look {
	struct sink sink;
	struct incident *i;
	double from_s, to_s; /* what is wanted, with a bin before and after */
	const struct places *places;
	bool *shown;        /* owned */
	uint64_t origin_ns; /* of the recording */
	double *from, *to;  /* owned: by interval */
	float *v[SERIES];   /* owned: likewise */
	uint32_t n;
	const struct sheet_cell *cell[SERIES];
	bool amount[SERIES]; /* of an interval: divided by its time, as when they were collected */
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
			const struct bound_metric *m;

			buf_clear(&label);
			places_put_name(l->places, &row->place, &label);
			for (uint32_t c = 0; c < row->n_cells && !label.err; c++)
				for (uint32_t k = 0; k < l->i->n_series && k < SERIES; k++) {
					m = sheet[i].column[row->cell[c].column].metric;
					if (l->i->series[k].kind != row->place.kind ||
					    strcmp(l->i->series[k].label, buf_str(&label)) != 0 ||
					    strcmp(m->name, l->i->series[k].metric) != 0)
						continue;
					l->cell[k] = &row->cell[c];
					l->amount[k] = metric_is_amount(sheet[i].binding, m, l->places->model);
				}
		}
	err = label.err;
	buf_release(&label);
	return err;
}

static int intervals(struct sink *sink, const struct sheet *sheet, const struct interval *interval, size_t n)
{
	struct look *l = (struct look *)sink;

	for (size_t k = 0; k < n && l->n < VALUES; k++) {
		l->from[l->n] = (double)(int64_t)(interval[k].from_ns - l->origin_ns) / 1e9;
		l->to[l->n] = (double)(int64_t)(interval[k].to_ns - l->origin_ns) / 1e9;
		if (l->to[l->n] < l->from_s || l->from[l->n] > l->to_s)
			continue;
		for (uint32_t s = 0; s < SERIES; s++) {
			const struct value *v = l->cell[s] ? &l->cell[s]->value[k] : NULL;
			double per = l->amount[s] ? fmax((double)interval[k].duration_ns / 1e9, 1e-9) : 1;

			l->v[s][l->n] = v && !v->reason ? (float)(v->v / per) : NAN;
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

/* Where the reader goes on: at a time, in a file that it has read a part of. A stream starts anew. */
static int go_to(struct pm_reader **reader, const char *path, uint64_t ns, struct error *e)
{
	if (*reader) {
		pm_reader_select(*reader, NULL, NULL);
		if (!pm_reader_seek(*reader, ns, false))
			return 0;
		pm_reader_close(*reader);
		*reader = NULL;
	}
	return input_open(reader, path, false, e);
}

/* Reads what n looks want, whose times overlap. */
static int read_part(struct look *l, uint32_t n, const struct pipeline_config *config, struct pm_reader **reader,
		     const char *path, struct error *e)
{
	struct pipeline_part part[INCIDENTS_REFINED];
	struct pipeline_result result[INCIDENTS_REFINED];
	struct pipeline_config own = *config;
	double to_s = l->to_s, from = (double)l->origin_ns + l->from_s * 1e9;
	int err;

	for (uint32_t k = 0; k < n; k++) {
		part[k] = (struct pipeline_part){ &own, &l[k].sink, &result[k] };
		to_s = fmax(to_s, l[k].to_s);
	}
	own.mode = PIPELINE_EACH;
	own.bind.rate = true;
	own.selection = (struct selection){ 0 };
	own.since = (struct moment){ MOMENT_MONOTONIC, from > 1 ? (uint64_t)from : 1 };
	own.until = (struct moment){ MOMENT_MONOTONIC, l->origin_ns + (uint64_t)(to_s * 1e9) + 1 };
	if ((err = go_to(reader, path, own.since.ns, e)))
		return err;
	err = pipeline_run_all(part, n, *reader, e);
	for (uint32_t k = 0; k < n; k++)
		pipeline_result_release(&result[k]);
	return err;
}

static int begin(struct look *l, const struct incident_store *s, struct incident *i)
{
	double bin = s->interval_s * s->per_bin;
	bool failed;

	*l = (struct look){ .sink.ops = &ops,
			    .i = i,
			    .from_s = i->from_s - bin,
			    .to_s = i->to_s + bin,
			    .origin_ns = s->start[0].origin_ns,
			    .from = calloc(VALUES, sizeof(*l->from)),
			    .to = calloc(VALUES, sizeof(*l->to)) };
	failed = !l->from || !l->to;
	for (uint32_t k = 0; k < SERIES; k++)
		failed |= !(l->v[k] = calloc(VALUES, sizeof(float)));
	return failed ? -ENOMEM : 0;
}

static void release(struct look *l)
{
	for (uint32_t k = 0; k < SERIES; k++)
		free(l->v[k]);
	free(l->from);
	free(l->to);
	free(l->shown);
}

static int by_time(const void *a, const void *b)
{
	const struct look *x = a, *y = b;

	return (x->from_s > y->from_s) - (x->from_s < y->from_s);
}

int refine_all(struct incidents *found, const char *path, const struct pipeline_config *config, struct error *e)
{
	const struct incident_store *s = found->store;
	struct look look[INCIDENTS_REFINED];
	struct pm_reader *reader = NULL;
	uint32_t looked = 0, n = 0;
	int err = 0;

	/* Times in a file with several recordings do not identify a place in it. */
	for (uint32_t i = 0; s->joined && s->recordings == 1 && i < found->n && looked < INCIDENTS_REFINED && !err;
	     i++)
		if (found->incident[i].kind == INCIDENT_STRETCH && looked++ < INCIDENTS_REFINED &&
		    found->incident[i].to_s - found->incident[i].from_s < BINS_EXACT * s->interval_s * s->per_bin)
			err = begin(&look[n++], s, &found->incident[i]);
	qsort(look, n, sizeof(*look), by_time);
	for (uint32_t i = 0, end; i < n && !err; i = end) {
		double to_s = look[i].to_s;

		/* Several at once need as many times the memory. */
		for (end = i + 1; end < n && look[end].from_s < to_s && s->parts <= 1; end++)
			to_s = fmax(to_s, look[end].to_s);
		err = read_part(&look[i], end - i, config, &reader, path, e);
	}
	for (uint32_t i = 0; i < n; i++) {
		if (!err && look[i].n < VALUES)
			find_times(&look[i]);
		release(&look[i]);
	}
	if (reader)
		pm_reader_close(reader);
	return err || !s->tasks ? err : find_tasks(found, path, e);
}
