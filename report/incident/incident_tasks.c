/* Which tasks did more during an incident than before and after. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/incident/incident_private.h"

#define TASKS      512
#define TASK_LEAST 0.02 /* of a CPU */
#define AROUND     5    /* intervals before and behind, or as long as it took */
#define MOST_OF    0.8  /* of what its process did more: it was this thread */
#define NEAR_S     300  /* what lies so near to each other is read in one */

struct task {
	double cpu[2], bytes[2], ended; /* outside, inside */
	char *name, *parent_name;       /* owned; that of the parent only of the short-lived */
	uint64_t pid, parent;           /* pid 0: all short-lived ones of that name and parent */
	uint64_t tid;                   /* of a thread of that process; 0: it is none */
	bool several;                   /* processes of that name */
};

/* One incident: from `from_s` to `to_s` its tasks are looked at. */
struct who {
	struct incident *i;
	double from_s, to_s;
	struct task *task; /* owned */
	uint32_t n_tasks;
	double inside_s, outside_s;
};

struct look {
	struct sink sink;
	struct who who[INCIDENTS_REFINED];
	uint32_t from, to; /* those that are being read */
	const struct places *places;
	bool *shown;     /* owned: by metric */
	double origin_s; /* of the recording, on the clock of intervals */
};

static int plan(struct sink *sink, struct sink_plan *plan)
{
	static const struct sheet_config by_task = { .per = PM_TASK };
	struct look *l = (struct look *)sink;

	l->places = plan->places;
	free(l->shown);
	l->shown = calloc(plan->binding->n_metrics + 1, sizeof(*l->shown));
	if (!l->shown)
		return -ENOMEM;
	for (size_t k = 0; k < plan->binding->n_metrics; k++) {
		const struct bound_metric *m = &plan->binding->metric[k];

		l->shown[k] = m->kind == PM_TASK && !strncmp(m->name, "tasks.", 6);
	}
	plan->sheet[plan->n_sheets++] = (struct sink_wish){ by_task, l->shown };
	return 0;
}

/* Processes of one name are one; those without a number are many, and their name says whose they were. Threads
 * without numbers are nobody's. */
static struct task *task_of(const struct places *p, struct who *l, const struct place *place, bool thread)
{
	const struct pm_instance *i = pm_model_instance(p->model, place->instance);
	uint64_t pid = i ? pm_map_u64(&i->attrs, PM_INSTANCE_PID, 0) : 0;
	uint64_t parent = i && !pid ? pm_map_u64(&i->attrs, PM_INSTANCE_PARENT, 0) : 0;
	uint64_t tid = i && thread ? pm_map_u64(&i->attrs, PM_INSTANCE_TID, 0) : 0;
	const char *name;
	struct task *t;

	if (!i || (thread && (!tid || !pid)))
		return NULL;
	name = pm_map_text(&i->attrs, PM_INSTANCE_COMM, "");
	if (!*name)
		name = places_name(p, place);
	for (t = l->task; t < l->task + l->n_tasks; t++)
		if (!t->pid == !pid && t->parent == parent && t->tid == tid && t->name && !strcmp(t->name, name)) {
			t->several |= t->pid != pid;
			return t;
		}
	if (l->n_tasks == TASKS)
		return NULL;
	l->n_tasks++;
	*t = (struct task){ .name = strdup(name),
			    .parent_name = strdup(pid ? "" : pm_map_text(&i->attrs, PM_INSTANCE_PARENT_COMM, "")),
			    .pid = pid,
			    .tid = tid,
			    .parent = parent };
	return t;
}

static void take_tasks(const struct places *p, struct who *l, const struct sheet *sheet, size_t k, double seconds,
		       int inside)
{
	for (uint32_t r = 0; r < sheet->n_rows; r++)
		for (uint32_t c = 0; c < sheet->row[r].n_cells; c++) {
			const struct sheet_cell *cell = &sheet->row[r].cell[c];
			const char *name = sheet->column[cell->column].metric->name + strlen("tasks.");
			const struct value *v = &cell->value[k];
			struct task *t;

			if (sheet->row[r].place.kind != PM_TASK || v->reason || !(v->v > 0))
				continue;
			t = task_of(p, l, &sheet->row[r].place, !strcmp(name, "thread_cpu"));
			if (!t)
				continue;
			if (t->tid || !strcmp(name, "user") || !strcmp(name, "system"))
				t->cpu[inside] += v->v * seconds;
			else if (!strcmp(name, "read") || !strcmp(name, "write"))
				t->bytes[inside] += v->v * seconds;
			else if (!strcmp(name, "ended") && inside)
				t->ended += v->v * seconds;
		}
}

static int shape(struct sink *sink, const struct sheet *sheet, size_t n)
{
	return 0;
}

static int intervals(struct sink *sink, const struct sheet *sheet, const struct interval *interval, size_t n)
{
	struct look *l = (struct look *)sink;

	for (size_t k = 0; k < n; k++) {
		double seconds = (double)interval[k].duration_ns / 1e9, middle;

		middle = ((double)(int64_t)(interval[k].from_ns - sink->origin_ns) / 1e9 +
			  (double)(int64_t)(interval[k].to_ns - sink->origin_ns) / 1e9) /
				 2 -
			 l->origin_s;
		for (uint32_t w = l->from; w < l->to; w++) {
			struct who *who = &l->who[w];
			bool inside = middle > who->i->from_s && middle < who->i->to_s;

			if (middle < who->from_s || middle > who->to_s)
				continue;
			*(inside ? &who->inside_s : &who->outside_s) += seconds;
			take_tasks(l->places, who, sheet, k, seconds, inside);
		}
	}
	return 0;
}

static const struct sink_ops ops = { .plan = plan, .shape = shape, .intervals = intervals };

static double more_than_before(const struct who *l, const double v[2])
{
	return l->outside_s > 0 ? v[1] - v[0] / l->outside_s * l->inside_s : v[1];
}

struct kept {
	const struct task *of, *thread; /* the thread that did nearly all of it; NULL: there is none */
	struct incident_task task;
};

static int by_cpu(const void *a, const void *b)
{
	const struct incident_task *x = &((const struct kept *)a)->task, *y = &((const struct kept *)b)->task;

	/* That it ended many times says as much as a millisecond each. */
	double a_s = x->cpu + (double)x->ended / 1e3, b_s = y->cpu + (double)y->ended / 1e3;

	return (a_s < b_s) - (a_s > b_s);
}

/* Where the parent of short-lived tasks is among the n; n: it is not. */
static uint32_t parent_of(const struct kept *kept, uint32_t n, const struct task *of)
{
	uint32_t k = of->parent ? 0 : n;

	while (k < n && (kept[k].of->pid != of->parent || kept[k].of->several))
		k++;
	return k;
}

/* A parent is named before its children. */
static void parents_first(struct kept *kept, uint32_t n)
{
	for (uint32_t k = 0; k < n; k++) {
		uint32_t at = parent_of(kept, n, kept[k].of);

		if (at < n && at > k) {
			struct kept parent = kept[at];

			memmove(&kept[k + 1], &kept[k], (at - k) * sizeof(*kept));
			kept[k] = parent;
		}
	}
}

static char *name_of(const struct kept *kept, uint32_t n, const struct kept *one)
{
	const struct task *t = one->of;
	struct buf name = BUF_INIT;

	if (t->pid || one->task.ended <= 1) {
		buf_addstr(&name, t->name ? t->name : "?");
	} else {
		incident_put_number(&name, (double)one->task.ended);
		if (parent_of(kept, n, t) < n)
			buf_addstr(&name, " short-lived children");
		else
			buf_printf(&name, " short-lived %s", t->name ? t->name : "?");
	}
	if (t->several)
		buf_addstr(&name, " (several)");
	else if (one->thread)
		buf_printf(&name, " (pid %llu, thread %s, tid %llu)", (unsigned long long)t->pid, one->thread->name,
			   (unsigned long long)one->thread->tid);
	else if (t->pid)
		buf_printf(&name, " (pid %llu)", (unsigned long long)t->pid);
	else if (parent_of(kept, n, t) == n && t->parent_name && t->parent_name[0])
		buf_printf(&name, " of %s", t->parent_name);
	if (!t->pid && parent_of(kept, n, t) == n && t->parent)
		buf_printf(&name, " (pid %llu)", (unsigned long long)t->parent);
	return buf_detach(&name);
}

/* Whether others of the name of one that ended are tasks of their own: once is enough to name them. */
static bool lives_too(const struct who *l, const struct task *t)
{
	bool lives = false;

	for (uint32_t k = 0; k < l->n_tasks && !t->pid && !lives; k++)
		lives = l->task[k].pid && !l->task[k].tid && l->task[k].name && t->name &&
			!strcmp(l->task[k].name, t->name);
	return lives;
}

static const struct task *thread_of(const struct who *l, const struct task *of, double cpu)
{
	for (uint32_t k = 0; k < l->n_tasks && of->pid && !of->several; k++) {
		const struct task *t = &l->task[k];

		if (t->tid && t->pid == of->pid && t->name && cpu > 0 && more_than_before(l, t->cpu) > MOST_OF * cpu)
			return t;
	}
	return NULL;
}

/* Those that did more then than before and behind. */
static int keep_tasks(struct who *l)
{
	struct kept kept[INCIDENT_TASKS + 1];
	struct incident *i = l->i;
	uint32_t n = 0;

	for (uint32_t k = 0; k < l->n_tasks; k++) {
		const struct task *t = &l->task[k];
		struct incident_task new = { .pid = t->several ? 0 : t->pid,
					     .ended = (uint64_t)llround(t->ended),
					     .cpu = fmax(more_than_before(l, t->cpu), 0),
					     .bytes = fmax(more_than_before(l, t->bytes), 0) };

		if (t->tid)
			continue;
		if ((new.cpu < TASK_LEAST * l->inside_s) && (new.bytes < 1e6 * l->inside_s) && (new.ended < 10))
			continue;
		if (new.ended <= 1 && lives_too(l, t))
			continue;
		kept[n++] = (struct kept){ t, thread_of(l, t, new.cpu), new };
		qsort(kept, n, sizeof(*kept), by_cpu);
		if (n > INCIDENT_TASKS)
			n--;
	}
	parents_first(kept, n);
	for (uint32_t k = 0; k < n; k++) {
		i->task[k] = kept[k].task;
		i->task[k].tid = kept[k].thread ? kept[k].thread->tid : 0;
		i->task[k].name = name_of(kept, n, &kept[k]);
		if (!i->task[k].name)
			return -ENOMEM;
		i->n_tasks++;
	}
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct who *x = a, *y = b;

	return (x->from_s > y->from_s) - (x->from_s < y->from_s);
}

int find_tasks(struct incidents *found, const char *path, const struct pipeline_config *config, struct error *e)
{
	const struct incident_store *s = found->store;
	struct pipeline_config own = *config;
	struct look l = { .sink.ops = &ops, .origin_s = s->origin_s };
	uint32_t n = 0;
	int err = 0;

	own.bind.counters_only = true;
	for (uint32_t k = 0; k < found->n && n < INCIDENTS_REFINED && !err; k++) {
		struct incident *i = &found->incident[k];
		double around = fmax(AROUND * s->interval_s, i->to_s - i->from_s);

		if (i->kind != INCIDENT_STRETCH)
			continue;
		l.who[n] = (struct who){ .i = i,
					 .from_s = i->from_s - around,
					 .to_s = i->to_s + around,
					 .task = calloc(TASKS, sizeof(struct task)) };
		err = l.who[n++].task ? 0 : -ENOMEM;
	}
	qsort(l.who, n, sizeof(*l.who), by_time);
	for (; l.from < n && !err; l.from = l.to) {
		double to_s = l.who[l.from].to_s;

		for (l.to = l.from + 1; l.to < n && l.who[l.to].from_s < to_s + NEAR_S; l.to++)
			to_s = fmax(to_s, l.who[l.to].to_s);
		err = incident_read(s, &l.sink, &own, path, l.who[l.from].from_s, to_s, e);
	}
	for (uint32_t w = 0; w < n; w++) {
		if (!err)
			err = keep_tasks(&l.who[w]);
		for (uint32_t k = 0; k < l.who[w].n_tasks; k++) {
			free(l.who[w].task[k].name);
			free(l.who[w].task[k].parent_name);
		}
		free(l.who[w].task);
	}
	free(l.shown);
	return err;
}
