/* Which tasks did more during an incident than before and after. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/incident/incident_private.h"
#include "report/input/input.h"

#define TASKS      512
#define TASK_LEAST 0.02 /* of a CPU */
#define AROUND     5    /* intervals before and after, or as many as it lasted */
#define MOST_OF    0.8  /* share of what its process did more: it was this thread */
#define FIRST_S    0.5  /* after the start: only later readings show who comes */
#define RSS_LEAST  16e6 /* bytes; below it a task is not recorded for its memory */
#define RSS_OF     0.1  /* share of the memory that the incident took */

struct task {
	double cpu[2], bytes[2], ended; /* outside, inside */
	double grown, most;             /* bytes by which its memory grew; of one process, `grower` */
	char *name, *parent_name;       /* owned; the parent's name only for short-lived ones */
	uint64_t pid, parent;           /* pid 0: all short-lived ones of that name and parent */
	uint64_t tid, grower;           /* tid: of a thread of that process; 0: not a thread */
	bool several;                   /* processes of that name */
};

/* What counters say of a task. */
enum { USER, SYSTEM, READ, WRITTEN, ENDED, THREAD_CPU, RSS, SAID };
static const char *const said[SAID] = { "tasks.user",  "tasks.system",     "tasks.read", "tasks.write",
					"tasks.ended", "tasks.thread_cpu", "tasks.rss" };

/* The last reading of an instance. */
struct reading {
	uint32_t id;
	uint64_t ns, v[SAID];
	struct task *task; /* NULL: nobody's yet */
	double rss[2];     /* before, and the most since then */
};

/* One incident, whose tasks from `from_s` to `to_s` are examined. Values are taken as they were recorded: only
 * differences are wanted, and of few of the chunks. */
struct look {
	struct incident *i;
	double from_s, to_s;
	double inside_s, outside_s;
	struct task *task; /* owned */
	struct task rest;  /* of all for which there is no room */
	uint32_t n_tasks;
	struct pm_reader *reader;
	const struct pm_model *model;
	struct reading *reading; /* owned; by slot of the instance */
	uint32_t n_readings;
	struct incident_start start; /* of the recording that is being read */
	uint64_t first_ns;           /* the first snapshot that is read */
};

/* Processes of one name are one entry; short-lived ones are many, named by their parent, too. Threads without ids are
 * ignored. */
static struct task *task_of(struct look *l, const struct pm_instance *i, bool thread)
{
	uint64_t pid = pm_map_u64(&i->attrs, PM_INSTANCE_PID, 0);
	uint64_t parent = pid ? 0 : pm_map_u64(&i->attrs, PM_INSTANCE_PARENT, 0);
	uint64_t tid = thread ? pm_map_u64(&i->attrs, PM_INSTANCE_TID, 0) : 0;
	const char *name = pm_map_text(&i->attrs, PM_INSTANCE_COMM, "");
	struct task *t;

	if (thread && (!tid || !pid))
		return NULL;
	if (!*name)
		name = pm_map_text(&i->attrs, PM_INSTANCE_NAME, "?");
	for (t = l->task; t < l->task + l->n_tasks; t++)
		if (!t->pid == !pid && t->parent == parent && t->tid == tid && t->name && !strcmp(t->name, name)) {
			t->several |= t->pid != pid;
			return t;
		}
	if (l->n_tasks == TASKS)
		return &l->rest;
	l->n_tasks++;
	*t = (struct task){ .name = memory_text(name),
			    .parent_name =
				    memory_text(pid ? "" : pm_map_text(&i->attrs, PM_INSTANCE_PARENT_COMM, "")),
			    .pid = pid,
			    .tid = tid,
			    .parent = parent };
	return t;
}

static bool is_of_tasks(void *ctx, const struct pm_group *g)
{
	const struct look *l = ctx;
	const struct pm_counter *c = g->n_counters ? pm_model_counter(l->model, g->counter[0]) : NULL;

	return c && !strcmp(c->source, "tasks");
}

static double seconds_at(const struct look *l, uint64_t ns)
{
	return l->start.at_s + (double)(int64_t)(ns - l->start.origin_ns) / 1e9;
}

/* By how much a process grew since its first reading, or, if it came in a stretch or shortly before, since 0: in a
 * drift it may only have been seen late. What has ended has no memory left. */
static void add_rss(struct task *t, uint64_t pid, double rss[2], double v, bool inside, bool drift, bool came)
{
	double had = fmax(rss[1] - rss[0], 0), grown;

	/* One byte is as little as none, but known. */
	if (!(rss[0] > 0))
		rss[0] = came && !drift ? 1 : v;
	if (v > 0 && inside)
		rss[1] = drift ? v : fmax(rss[1], v);
	grown = fmax(rss[1] - rss[0], 0);
	t->grown += grown - had;
	if (grown > t->most || pid == t->grower) {
		t->most = grown;
		t->grower = pid;
	}
}

static void add(struct look *l, struct reading *r, const struct pm_instance *i, int what, double v, double middle)
{
	bool inside = middle > l->i->from_s && middle < l->i->to_s;

	if (middle < l->from_s || middle > l->to_s)
		return;
	if (!r->task && !(r->task = task_of(l, i, what == THREAD_CPU)))
		return;
	if (what == READ || what == WRITTEN)
		r->task->bytes[inside] += v;
	else if (what == ENDED)
		r->task->ended += inside ? v : 0;
	else if (what == RSS)
		add_rss(r->task, pm_map_u64(&i->attrs, PM_INSTANCE_PID, 0), r->rss, v, inside,
			l->i->kind == INCIDENT_DRIFT,
			seconds_at(l, i->added_ns) > fmax(l->from_s, l->start.at_s + FIRST_S));
	else
		r->task->cpu[inside] += v;
}

static struct reading *reading_of(struct look *l, const struct pm_instance *i)
{
	struct reading *r;

	if (i->slot >= l->n_readings) {
		uint32_t n = 2 * i->slot + 64;

		l->reading = memory_resize(l->reading, n, sizeof(*r));
		memset(l->reading + l->n_readings, 0, (n - l->n_readings) * sizeof(*r));
		l->n_readings = n;
	}
	r = &l->reading[i->slot];
	/* Who comes in the middle begins at 0. */
	if (r->id != i->id || r->ns < l->first_ns)
		*r = (struct reading){ .id = i->id, .ns = i->added_ns >= l->first_ns ? i->added_ns : 0 };
	return r;
}

static void take_group(struct look *l, const struct pm_chunk *c, const struct pm_chunk_group *values)
{
	const struct pm_group *g = pm_model_group(l->model, values->group);
	uint32_t n = g->n_instances, head = pm_group_head(g);

	for (uint32_t at = 0; at < n && !(g->flags & PM_GROUP_LIST); at++) {
		const struct pm_instance *i = pm_model_instance(l->model, g->instance[at]);
		struct reading *r;

		if (!i || i->kind != PM_TASK)
			continue;
		r = reading_of(l, i);
		for (uint32_t k = 0; k < g->n_counters; k++) {
			const struct pm_counter *counter = pm_model_counter(l->model, g->counter[k]);
			double unit = (double)counter->scale.num / (double)counter->scale.den;
			uint64_t ns = r->ns;
			int what = 0;

			while (what < SAID && strcmp(said[what], counter->name) != 0)
				what++;
			for (uint32_t row = 0; row < c->rows && what < SAID; ns = c->tick[row++]) {
				double now = seconds_at(l, c->tick[row]),
				       middle = ns ? (seconds_at(l, ns) + now) / 2 : now;
				size_t place = (head + (size_t)k * n + at) * values->stride + row;
				uint64_t v = values->v[place], before = what == RSS ? 0 : r->v[what];

				if (values->status && values->status[place])
					continue;
				if (what == RSS || (ns && v > before && c->tick[row] > l->first_ns))
					add(l, r, i, what, (double)(v - before) * unit, middle);
				r->v[what] = v;
			}
		}
		r->ns = c->rows ? c->tick[c->rows - 1] : r->ns;
	}
}

/* The chunks that have something of its time. */
static int read_chunks(struct look *l)
{
	struct pm_item item;
	const struct pm_chunk *c;
	int err = 0, got;

	if (l->from_s > l->start.at_s)
		pm_reader_seek(l->reader, l->start.origin_ns + (uint64_t)((l->from_s - l->start.at_s) * 1e9), false);
	while (!err && (got = pm_reader_next(l->reader, &item)) != 0) {
		if (got < 0)
			return got;
		if (item.kind == PM_ITEM_RECORDING)
			break;
		if (item.kind != PM_ITEM_CHUNK)
			continue;
		if (seconds_at(l, item.chunk.from_ns) > l->to_s)
			break;
		got = pm_reader_decode(l->reader, &c);
		err = got == -EBADMSG ? 0 : got;
		if (!got && !l->first_ns)
			l->first_ns = c->tick[0];
		for (uint32_t k = 0; !got && k < c->n_groups; k++)
			if (!c->group[k].absent)
				take_group(l, c, &c->group[k]);
		pm_reader_forget(l->reader, NULL, NULL);
	}
	return err;
}

static double more_than_before(const struct look *l, const double v[2])
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

	/* Memory counts before all else, and each end as much as a millisecond. */
	double a_s = x->cpu + (double)x->ended / 1e3 + 1e6 * x->rss,
	       b_s = y->cpu + (double)y->ended / 1e3 + 1e6 * y->rss;

	return (a_s < b_s) - (a_s > b_s);
}

/* The index of the parent of short-lived tasks among the n; n: it is not there. */
static uint32_t parent_of(const struct kept *kept, uint32_t n, const struct task *of)
{
	uint32_t k = of->parent ? 0 : n;

	while (k < n && (kept[k].of->pid != of->parent || kept[k].of->several))
		k++;
	return k;
}

/* Names a parent before its children. */
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
	return memory_checked(buf_detach(&name));
}

/* Whether other tasks have the name of one that ended: naming them once is enough. */
static bool lives_too(const struct look *l, const struct task *t)
{
	for (uint32_t k = 0; k < l->n_tasks && !t->pid; k++)
		if (l->task[k].pid && !l->task[k].tid && l->task[k].name && t->name &&
		    !strcmp(l->task[k].name, t->name))
			return true;
	return false;
}

static const struct task *thread_of(const struct look *l, const struct task *of, double cpu)
{
	for (uint32_t k = 0; k < l->n_tasks && of->pid && !of->several; k++) {
		const struct task *t = &l->task[k];

		if (t->tid && t->pid == of->pid && t->name && cpu > 0 && more_than_before(l, t->cpu) > MOST_OF * cpu)
			return t;
	}
	return NULL;
}

/* How much memory a task has to have taken to be named for it. INFINITY: the incident is not about that. */
static double rss_least(const struct incident *i)
{
	static const char *const of[] = { "memory.available", "memory.used", "meminfo.anon", "vmstat.nr_anon",
					  "psi.memory",       "swap.",       "oom" };
	double least = INFINITY;

	for (uint32_t k = 0; k < i->n_series; k++) {
		const struct incident_series *s = &i->series[k];
		/* Or pages. */
		double unit = !strcmp(s->unit, "MB") ? 1e6 :
			      !strcmp(s->unit, "By") ? 1 :
			      !strcmp(s->unit, "1")  ? 4096 :
						       0;

		double taken = !strcmp(s->metric, of[0]) ? s->usual - s->value : s->value - s->usual;

		for (size_t m = 0; m < sizeof(of) / sizeof(*of) && taken > 0; m++)
			if (!strncmp(s->metric, of[m], strlen(of[m])))
				least = fmax(isinf(least) ? RSS_LEAST : least, RSS_OF * unit * taken);
	}
	return least;
}

/* Keeps those that did more then than before and after. */
static void keep_tasks(struct look *l)
{
	struct kept kept[INCIDENT_TASKS + 1];
	struct incident *i = l->i;
	uint32_t n = 0;

	for (uint32_t k = 0; k < l->n_tasks; k++) {
		struct task *t = &l->task[k];
		bool took = t->grown >= rss_least(i), one = took && t->most > t->grown / 2;
		struct incident_task new = { .ended = (uint64_t)llround(t->ended),
					     .cpu = fmax(more_than_before(l, t->cpu), 0),
					     .bytes = fmax(more_than_before(l, t->bytes), 0),
					     .rss = took ? one ? t->most : t->grown : 0 };

		if (t->tid ||
		    (!took && (i->kind == INCIDENT_DRIFT || ((new.cpu < TASK_LEAST * l->inside_s) &&
							     (new.bytes < 1e6 * l->inside_s) && (new.ended < 10)))))
			continue;
		if (one) {
			t->pid = t->grower;
			t->several = false;
		}
		new.pid = t->several ? 0 : t->pid;
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
	}
	i->n_tasks = n;
}

/* The recordings before the one in which the incident began are skipped. */
static int skip_recordings(struct look *l, const struct incident_store *s)
{
	struct pm_item item;
	uint32_t r = 0;
	int got = 1;

	for (; r + 1 < s->recordings && s->start[r + 1].at_s <= l->i->from_s && got == 1; r++)
		do
			got = pm_reader_next(l->reader, &item);
		while (got == 1 && item.kind != PM_ITEM_RECORDING);
	l->start = s->start[r];
	return got < 0 ? got : 0;
}

static int look_at(struct incidents *found, struct incident *i, const char *path, struct error *e)
{
	double lasted = i->to_s - i->from_s, around = fmax(AROUND * found->bin_s, lasted);
	struct look l = { .i = i,
			  .from_s = i->from_s - around,
			  .to_s = i->to_s + around,
			  .inside_s = lasted,
			  .task = memory_new(TASKS, sizeof(*l.task)) };
	int err = input_open(&l.reader, path, false, e);

	l.outside_s = fmin(l.to_s, found->duration_s) - fmax(l.from_s, 0) - lasted;
	if (!err) {
		err = skip_recordings(&l, found->store);
		l.model = pm_reader_model(l.reader);
		pm_reader_select(l.reader, is_of_tasks, &l);
		err = err ? err : read_chunks(&l);
		if (!err)
			keep_tasks(&l);
		pm_reader_close(l.reader);
	}
	for (uint32_t k = 0; k < l.n_tasks; k++) {
		free(l.task[k].name);
		free(l.task[k].parent_name);
	}
	free(l.task);
	free(l.reading);
	return err;
}

int find_tasks(struct incidents *found, const char *path, struct error *e)
{
	uint32_t n = 0;
	int err = 0;

	for (uint32_t k = 0; k < found->n && n < INCIDENTS_REFINED && !err; k++) {
		struct incident *i = &found->incident[k];

		if (i->kind != INCIDENT_STRETCH && (i->kind != INCIDENT_DRIFT || isinf(rss_least(i))))
			continue;
		n++;
		err = look_at(found, i, path, e);
	}
	return err;
}
