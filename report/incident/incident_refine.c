/* A second look at the times that matter: from when to when exactly, and which tasks ran. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/incident/incident_private.h"
#include "report/input/input.h"

#define LOOKED_AT  5    /* incidents: each is read once more */
#define SERIES     16   /* of an incident whose values are taken anew */
#define VALUES     8192 /* intervals of a stretch; a longer one is exact enough */
#define BINS_EXACT 40
#define TASKS      512
#define TASK_LEAST 0.02 /* of a CPU */

struct task {
	double cpu[2], bytes[2], ended; /* outside, inside */
	char *name;                     /* owned */
	uint64_t pid;
	bool several; /* processes of that name */
};

struct look {
	struct sink sink;
	struct incident *i;
	const struct places *places;
	bool *shown, *of_tasks; /* owned */
	bool exact;             /* times, too */
	double origin_s;        /* of the recording, on the clock of intervals */
	double *from, *to;      /* owned: by interval */
	float *v[SERIES];       /* owned: likewise */
	uint32_t n;
	const struct sheet_cell *cell[SERIES];
	struct task *task; /* owned */
	uint32_t n_tasks;
	int tasks_sheet; /* -1: none */
	double inside_s, outside_s;
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
	static const struct sheet_config by_cpu = { .per = PM_CPU, .summary = true };
	static const struct sheet_config by_task = { .per = PM_TASK };
	struct look *l = (struct look *)sink;
	size_t n = plan->binding->n_metrics;
	bool tasks = false;

	l->places = plan->places;
	free(l->shown);
	free(l->of_tasks);
	l->shown = calloc(n + 1, sizeof(*l->shown));
	l->of_tasks = calloc(n + 1, sizeof(*l->of_tasks));
	if (!l->shown || !l->of_tasks)
		return -ENOMEM;
	for (size_t k = 0; k < n; k++) {
		const struct bound_metric *m = &plan->binding->metric[k];

		l->shown[k] = l->exact && names(l->i, m->name);
		l->of_tasks[k] = m->counter && m->kind == PM_TASK && !strncmp(m->name, "tasks.", 6);
		tasks |= l->of_tasks[k];
	}
	plan->sheet[plan->n_sheets++] = (struct sink_wish){ by_cpu, l->shown };
	l->tasks_sheet = tasks ? 1 : -1;
	if (tasks)
		plan->sheet[plan->n_sheets++] = (struct sink_wish){ by_task, l->of_tasks };
	return 0;
}

static bool same_place(const struct look *l, const struct incident_series *s, const struct place *p)
{
	if (s->kind != p->kind)
		return false;
	switch (s->kind) {
	case PM_SYSTEM:
		return true;
	case PM_CPU:
		return s->cpu == p->cpu;
	case PM_PACKAGE:
		return s->package == p->package;
	default:
		return s->device[0] && !strcmp(s->device, places_name(l->places, p));
	}
}

static int shape(struct sink *sink, const struct sheet *sheet, size_t n)
{
	struct look *l = (struct look *)sink;

	(void)n;
	memset(l->cell, 0, sizeof(l->cell));
	for (uint32_t r = 0; r < sheet->n_rows; r++)
		for (uint32_t c = 0; c < sheet->row[r].n_cells; c++)
			for (uint32_t k = 0; k < l->i->n_series && k < SERIES; k++)
				if (!strcmp(sheet->column[sheet->row[r].cell[c].column].metric->name,
					    l->i->series[k].metric) &&
				    same_place(l, &l->i->series[k], &sheet->row[r].place))
					l->cell[k] = &sheet->row[r].cell[c];
	return 0;
}

/* Processes of one name are one; those without a number are many, and their name says whose they were. */
static struct task *task_of(struct look *l, const struct place *place)
{
	const struct pm_instance *i = pm_model_instance(l->places->model, place->instance);
	uint64_t pid = i ? pm_map_u64(&i->attrs, PM_INSTANCE_PID, 0) : 0;
	const char *name = pid ? pm_map_text(&i->attrs, PM_INSTANCE_COMM, "") : "";
	struct task *t;

	if (!i)
		return NULL;
	if (!*name)
		name = places_name(l->places, place);
	for (t = l->task; t < l->task + l->n_tasks; t++)
		if (!t->pid == !pid && t->name && !strcmp(t->name, name)) {
			t->several |= t->pid != pid;
			return t;
		}
	if (l->n_tasks == TASKS)
		return NULL;
	l->n_tasks++;
	*t = (struct task){ .name = strdup(name), .pid = pid };
	return t;
}

static void take_tasks(struct look *l, const struct sheet *sheet, size_t k, double seconds, int inside)
{
	for (uint32_t r = 0; r < sheet->n_rows; r++)
		for (uint32_t c = 0; c < sheet->row[r].n_cells; c++) {
			const struct sheet_cell *cell = &sheet->row[r].cell[c];
			const char *name = sheet->column[cell->column].metric->name + strlen("tasks.");
			const struct value *v = &cell->value[k];
			struct task *t;

			if (sheet->row[r].place.kind != PM_TASK || v->reason || !(v->v > 0))
				continue;
			t = task_of(l, &sheet->row[r].place);
			if (!t)
				continue;
			if (!strcmp(name, "user") || !strcmp(name, "system"))
				t->cpu[inside] += v->v * seconds;
			else if (!strcmp(name, "read") || !strcmp(name, "write"))
				t->bytes[inside] += v->v * seconds;
			else if (!strcmp(name, "ended") && inside)
				t->ended += v->v * seconds;
		}
}

static int intervals(struct sink *sink, const struct sheet *sheet, const struct interval *interval, size_t n)
{
	struct look *l = (struct look *)sink;

	for (size_t k = 0; k < n && l->n < VALUES; k++) {
		double seconds = (double)interval[k].duration_ns / 1e9;
		double from = (double)(int64_t)(interval[k].from_ns - sink->origin_ns) / 1e9 - l->origin_s;
		double to = (double)(int64_t)(interval[k].to_ns - sink->origin_ns) / 1e9 - l->origin_s;
		bool inside = (from + to) / 2 > l->i->from_s && (from + to) / 2 < l->i->to_s;

		l->from[l->n] = from;
		l->to[l->n] = to;
		for (uint32_t s = 0; s < SERIES; s++) {
			const struct value *v = l->cell[s] ? &l->cell[s]->value[k] : NULL;

			l->v[s][l->n] = v && !v->reason ? (float)v->v : NAN;
		}
		l->n++;
		*(inside ? &l->inside_s : &l->outside_s) += seconds;
		if (l->tasks_sheet >= 0)
			take_tasks(l, &sheet[l->tasks_sheet], k, seconds, inside);
	}
	return 0;
}

static const struct sink_ops ops = { .plan = plan, .shape = shape, .intervals = intervals };

/* Reads from `before_s` before it to as long behind it. */
static int look(struct look *l, const struct pipeline_config *config, const char *path, double before_s,
		struct error *e)
{
	struct pipeline_config own = *config;
	struct pipeline_result result = { 0 };
	double from = fmax(l->i->from_s - before_s + l->origin_s, 0), to = l->i->to_s + before_s + l->origin_s;
	struct pm_reader *reader;
	int err = input_open(&reader, path, false, e);

	if (err)
		return err;
	own.mode = PIPELINE_EACH;
	own.bind.rate = true;
	own.selection = (struct selection){ 0 };
	own.since = (struct moment){ MOMENT_FROM_START, (uint64_t)(from * 1e9) };
	own.until = (struct moment){ MOMENT_FROM_START, (uint64_t)(to * 1e9) + 1 };
	l->n = 0;
	l->inside_s = l->outside_s = 0;
	err = pipeline_run(&own, reader, &l->sink, &result, e);
	buf_release(&result.notes);
	buf_release(&result.remarks);
	pm_reader_close(reader);
	return err;
}

/* The stretch in which the values are nearer to the farthest of them than to what is usual. */
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

static double more_than_before(const struct look *l, const double v[2])
{
	return l->outside_s > 0 ? v[1] - v[0] / l->outside_s * l->inside_s : v[1];
}

static int by_cpu(const void *a, const void *b)
{
	const struct incident_task *x = a, *y = b;

	/* That it ended many times says as much as a millisecond each. */
	double a_s = x->cpu + (double)x->ended / 1e3, b_s = y->cpu + (double)y->ended / 1e3;

	return (a_s < b_s) - (a_s > b_s);
}

/* Those that did more then than before and behind. */
static int keep_tasks(struct look *l)
{
	struct incident *i = l->i;

	for (uint32_t k = 0; k < l->n_tasks; k++) {
		const struct task *t = &l->task[k];
		struct incident_task new = { .pid = t->several ? 0 : t->pid,
					     .ended = (uint64_t)llround(t->ended),
					     .cpu = fmax(more_than_before(l, t->cpu), 0),
					     .bytes = fmax(more_than_before(l, t->bytes), 0) };
		struct buf name = BUF_INIT;

		if (new.cpu < TASK_LEAST * l->inside_s &&new.bytes < 1e6 * l->inside_s &&new.ended < 10)
			continue;
		if (i->n_tasks == INCIDENT_TASKS) {
			if (by_cpu(&new, &i->task[INCIDENT_TASKS - 1]) >= 0)
				continue;
			free(i->task[--i->n_tasks].name);
		}
		if (!t->pid && new.ended > 1) {
			incident_put_number(&name, (double)new.ended);
			buf_addstr(&name, " short-lived ");
		}
		buf_addstr(&name, t->name ? t->name : "?");
		if (t->several)
			buf_addstr(&name, " (several)");
		else if (t->pid)
			buf_printf(&name, " (pid %llu)", (unsigned long long)t->pid);
		new.name = buf_detach(&name);
		if (!new.name)
			return -ENOMEM;
		i->task[i->n_tasks++] = new;
		qsort(i->task, i->n_tasks, sizeof(new), by_cpu);
	}
	return 0;
}

static int refine(const struct incident_store *s, struct incident *i, const char *path,
		  const struct pipeline_config *config, struct error *e)
{
	double bin = s->interval_s * s->per_bin;
	struct look l = { .sink.ops = &ops,
			  .i = i,
			  .origin_s = s->origin_s,
			  .exact = s->joined && i->to_s - i->from_s < BINS_EXACT * bin,
			  .from = calloc(VALUES, sizeof(*l.from)),
			  .to = calloc(VALUES, sizeof(*l.to)),
			  .task = calloc(TASKS, sizeof(*l.task)) };
	int err = l.from && l.to && l.task ? 0 : -ENOMEM;

	for (uint32_t k = 0; k < SERIES; k++) {
		l.v[k] = calloc(VALUES, sizeof(float));
		err = l.v[k] ? err : -ENOMEM;
	}
	if (!err && l.exact) {
		err = look(&l, config, path, 1.5 * bin, e);
		if (!err && l.n < VALUES)
			find_times(&l);
		l.exact = false;
	}
	for (uint32_t k = 0; k < l.n_tasks; k++)
		free(l.task[k].name);
	l.n_tasks = 0;
	if (!err && s->tasks)
		err = look(&l, config, path, fmax(5 * s->interval_s, i->to_s - i->from_s), e);
	if (!err)
		err = keep_tasks(&l);
	for (uint32_t k = 0; k < l.n_tasks; k++)
		free(l.task[k].name);
	for (uint32_t k = 0; k < SERIES; k++)
		free(l.v[k]);
	free(l.from);
	free(l.to);
	free(l.task);
	free(l.shown);
	free(l.of_tasks);
	return err;
}

int refine_all(struct incidents *found, const char *path, const struct pipeline_config *config, struct error *e)
{
	const struct incident_store *s = found->store;
	uint32_t looked = 0;
	int err = 0;

	/* Times of a file with several recordings are no place in it. */
	if ((!s->joined && !s->tasks) || s->recordings > 1)
		return 0;
	for (uint32_t i = 0; i < found->n && looked < LOOKED_AT && !err; i++)
		if (found->incident[i].kind == INCIDENT_STRETCH) {
			err = refine(s, &found->incident[i], path, config, e);
			looked++;
		}
	return err;
}
