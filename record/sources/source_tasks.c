/* Who used most CPU, memory and storage since the last reading: processes, and those that are too short-lived to be
 * seen, by name and parent. Which they are changes with every reading: their groups are made when the chunk is
 * written. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/catalog/catalog.h"
#include "record/host/clocks.h"
#include "record/plan/plan.h"
#include "record/plan/source.h"
#include "record/sources/ranking.h"
#include "record/sources/task_list.h"

#define TOP         12 /* of each kind get into the table */
#define IO_MOST     64 /* processes whose reading and writing is looked at */
#define IDLE_MOST   10 /* readings that a name stays of which none has ended */
#define SMALL_BYTES (16u << 20)
/* Steps of the catalog. */
#define STEP_US     100
#define STEP_BYTES  512
#define STEP_MEMORY 4096

enum { PROCESSES, BRIEF, TABLES };
enum { USER, SYSTEM, READ, WRITTEN, FAULTS, ENDED, RSS, THREADS, STATE, VALUES };
enum { ROWS = 48 };
_Static_assert((int)TABLES *ROWS <= RANKING_ROWS && (int)VALUES <= RANKING_VALUES, "all fit in");

static const char *const key[VALUES] = { "user",  "system", "read",    "write", "faults",
					 "ended", "rss",    "threads", "state" };

/* A stretch of time in which somebody is in the table. */
struct member {
	uint32_t id; /* 0: the place is free */
	uint32_t number;
	pid_t pid, parent; /* pid 0: all of that name and parent that nobody could see */
	char name[TASK_NAME], parent_name[TASK_NAME];
	struct task_use base; /* what it had used before */
	uint64_t base_ended;
	uint64_t since_ns; /* when that was */
	uint64_t wanted;   /* reading in which it was among the first the last time */
	bool over;         /* it leaves after this reading */
};

struct row {
	struct ranking_row row; /* first */
	struct member who;
};

struct tasks {
	struct ranking ranking; /* first */
	struct task_list list;
	struct member member[TABLES][ROWS];
	uint32_t last_id, last_number;
	uint64_t before_ns; /* of the reading before */
};

/* ---- who is in the table ---- */

static uint64_t cpu_of(const struct task_use *u)
{
	return u->user + u->system;
}

static uint64_t by_cpu(const struct task *t)
{
	return cpu_of(&t->use) - cpu_of(&t->before);
}

static uint64_t by_memory(const struct task *t)
{
	return t->ended || t->rss < SMALL_BYTES ? 0 : t->rss;
}

static uint64_t by_io(const struct task *t)
{
	return t->use.bytes[0] - t->before.bytes[0] + t->use.bytes[1] - t->before.bytes[1];
}

/* A free place, or that of who was wanted least. NULL: all are wanted now. */
static struct member *place_for(struct member *m, uint64_t reading)
{
	struct member *least = &m[0];

	for (int i = 0; i < ROWS; i++) {
		if (!m[i].id)
			return &m[i];
		if (m[i].wanted < least->wanted)
			least = &m[i];
	}
	return least->wanted < reading && !least->over ? least : NULL;
}

static struct member *admit(struct tasks *d, int table, uint32_t *number)
{
	struct member *m = place_for(d->member[table], d->list.reading);
	struct task *t;

	if (!m)
		return NULL;
	if (m->id && table == PROCESSES && (t = task_list_find(&d->list, m->pid)))
		t->member = 0;
	for (int i = 0; i < BRIEF_MOST && m->id && table == BRIEF; i++)
		if (d->list.brief[i].member == (uint32_t)(m - d->member[table]) + 1)
			d->list.brief[i].member = 0;
	*number = *number ? *number : ++d->last_number;
	*m = (struct member){ .id = ++d->last_id, .number = *number, .since_ns = d->before_ns };
	return m;
}

static void want_task(struct tasks *d, struct task *t)
{
	const struct task *parent = task_list_find(&d->list, t->parent);
	struct member *m = t->member ? &d->member[PROCESSES][t->member - 1] : admit(d, PROCESSES, &t->number);

	if (!m)
		return;
	if (!t->member) {
		t->member = (uint32_t)(m - d->member[PROCESSES]) + 1;
		m->pid = t->pid;
		m->base = t->before;
		memcpy(m->parent_name, parent ? parent->name : "", parent ? sizeof(parent->name) : 1);
	}
	m->wanted = d->list.reading;
}

/* Those with the most of something. */
static void want_most(struct tasks *d, uint64_t (*of)(const struct task *t))
{
	struct task *top[TOP];
	uint64_t value[TOP];
	int n = 0;

	for (uint32_t i = 0; i < d->list.n; i++) {
		uint64_t v = of(&d->list.task[i]);
		int at = n < TOP ? n : TOP - 1;

		if (!v || (n == TOP && v <= value[at]))
			continue;
		n += n < TOP;
		for (; at && value[at - 1] < v; at--) {
			top[at] = top[at - 1];
			value[at] = value[at - 1];
		}
		top[at] = &d->list.task[i];
		value[at] = v;
	}
	for (int i = 0; i < n; i++)
		want_task(d, top[i]);
}

static void want_brief(struct tasks *d)
{
	for (int i = 0; i < BRIEF_MOST; i++) {
		struct task_brief *b = &d->list.brief[i];
		struct member *m = b->member ? &d->member[BRIEF][b->member - 1] : NULL;

		if (m && b->since + IDLE_MOST < d->list.reading) {
			*m = (struct member){ 0 };
			b->member = 0;
		}
		if (b->since != d->list.reading)
			continue;
		if (!m && (m = admit(d, BRIEF, &b->number))) {
			b->member = (uint32_t)(m - d->member[BRIEF]) + 1;
			m->parent = b->parent;
			memcpy(m->name, b->name, sizeof(m->name));
			memcpy(m->parent_name, b->parent_name, sizeof(m->parent_name));
			m->base = b->before;
			m->base_ended = b->ended_before;
		}
		if (m)
			m->wanted = d->list.reading;
	}
}

/* What costs another file is looked at where it is likely that something was read or written. */
static void look_at_io(struct tasks *d)
{
	unsigned left = IO_MOST;

	for (uint32_t i = 0; i < d->list.n && left; i++) {
		struct task *t = &d->list.task[i];

		if (t->ended || !(t->member || t->state == 'D' || by_cpu(t)))
			continue;
		task_list_io(&d->list, t);
		left--;
	}
}

/* Of those who have come into the table for something else. */
static void look_at_rest(struct tasks *d)
{
	for (uint32_t i = 0; i < d->list.n; i++) {
		struct task *t = &d->list.task[i];

		if (!t->member || t->ended || t->no_io != PM_REASON_NOT_READ)
			continue;
		task_list_io(&d->list, t);
		memcpy(d->member[PROCESSES][t->member - 1].base.bytes, t->before.bytes, sizeof(t->before.bytes));
	}
}

/* ---- a reading ---- */

static uint64_t *new_row(struct tasks *d, const struct member *m, const struct task_use *use, uint16_t no_io)
{
	struct row *row = ranking_add(&d->ranking, m->id);
	uint64_t *v = row->row.v;

	row->who = *m;
	v[USER] = (use->user - m->base.user) / STEP_US;
	v[SYSTEM] = (use->system - m->base.system) / STEP_US;
	v[READ] = (use->bytes[0] - m->base.bytes[0]) / STEP_BYTES;
	v[WRITTEN] = (use->bytes[1] - m->base.bytes[1]) / STEP_BYTES;
	v[FAULTS] = use->faults - m->base.faults;
	row->row.status[READ] = row->row.status[WRITTEN] = no_io;
	return v;
}

static void put_processes(struct tasks *d)
{
	for (uint32_t i = 0; i < d->list.n; i++) {
		struct task *t = &d->list.task[i];
		struct member *m = t->member ? &d->member[PROCESSES][t->member - 1] : NULL;
		uint64_t *v;

		if (!m)
			continue;
		if (m->name[0] && strcmp(m->name, t->name)) {
			/* It has become another program. */
			t->number = ++d->last_number;
			m->number = t->number;
			m->id = ++d->last_id;
			m->base = t->before;
			m->since_ns = d->before_ns;
		}
		m->parent = t->parent;
		memcpy(m->name, t->name, sizeof(m->name));
		m->over = t->ended;
		v = new_row(d, m, &t->use, t->no_io);
		v[ENDED] = t->ended;
		v[RSS] = t->ended ? 0 : t->rss / STEP_MEMORY;
		v[THREADS] = t->ended ? 0 : t->threads;
		v[STATE] = t->ended ? 'X' : (unsigned char)t->state;
		if (t->ended)
			*m = (struct member){ 0 };
	}
}

static void put_brief(struct tasks *d)
{
	for (int i = 0; i < BRIEF_MOST; i++) {
		const struct task_brief *b = &d->list.brief[i];
		const struct member *m = b->member ? &d->member[BRIEF][b->member - 1] : NULL;
		uint64_t *v;

		if (!m)
			continue;
		v = new_row(d, m, &b->use, PM_OK);
		/* None of them is there now. */
		v[ENDED] = b->ended - m->base_ended;
		v[STATE] = 'X';
	}
}

enum { CELL_READING, CELL_PROCESSES, CELL_EXITS, CELL_MISSED, CELLS };
static const char *const cell_key[CELLS] = { "reading", "processes", "exits", "missed" };

static int tasks_read(struct unit *u, struct cells *c)
{
	struct tasks *d = (struct tasks *)u;
	uint64_t now = clocks_monotonic(), alive = 0;
	int err = task_list_read(&d->list);

	if (err)
		return err;
	look_at_io(d);
	want_most(d, by_cpu);
	want_most(d, by_memory);
	want_most(d, by_io);
	look_at_rest(d);
	want_brief(d);
	ranking_begin(&d->ranking, d->list.reading);
	put_processes(d);
	put_brief(d);
	ranking_end(&d->ranking);
	d->before_ns = now;
	for (uint32_t i = 0; i < d->list.n; i++)
		alive += !d->list.task[i].ended;
	if (!c)
		return 0;
	cells_set(c, CELL_READING, d->list.reading);
	cells_set(c, CELL_PROCESSES, alive);
	cells_set(c, CELL_EXITS, d->list.ended);
	cells_set(c, CELL_MISSED, d->list.missed);
	if (d->list.exits < 0)
		cells_fail(c, CELL_EXITS, pm_reason_errno(d->list.exits));
	return 0;
}

/* ---- on the writer's thread ---- */

static int describe(struct plan *p, const struct member *who, struct pm_map *attrs)
{
	char text[512];
	int err;

	/* Its own name is enough: thousands of them may come and go. */
	if (!plan_may_name(p->options, PM_INSTANCE_COMM)) {
		snprintf(text, sizeof(text), "task-%u", who->number);
		return pm_map_set(attrs, PM_INSTANCE_NAME, pm_text(text));
	}
	err = pm_map_set(attrs, PM_INSTANCE_COMM, pm_text(who->name));
	if (!err && who->parent)
		err = pm_map_set(attrs, PM_INSTANCE_PARENT, pm_u64((uint64_t)who->parent));
	if (!err && who->parent_name[0])
		err = pm_map_set(attrs, PM_INSTANCE_PARENT_COMM, pm_text(who->parent_name));
	if (err || !who->pid)
		return err;
	err = pm_map_set(attrs, PM_INSTANCE_PID, pm_u64((uint64_t)who->pid));
	/* It may have ended by now. */
	if (!err && !root_line(p->root, text, sizeof(text), "/proc/%d/cgroup", (int)who->pid) && strrchr(text, ':'))
		err = pm_map_set(attrs, PM_INSTANCE_CGROUP, pm_text(strrchr(text, ':') + 1));
	if (!err && plan_may_name(p->options, PM_INSTANCE_ARGUMENTS)) {
		struct buf b = BUF_INIT;
		ssize_t n = root_read(p->root, &b, 4096, "/proc/%d/cmdline", (int)who->pid);

		for (ssize_t i = 0; i + 1 < n; i++)
			b.data[i] = b.data[i] ? b.data[i] : ' ';
		if (n > 0)
			err = pm_map_set(attrs, PM_INSTANCE_ARGUMENTS, pm_text(buf_str(&b)));
		buf_release(&b);
	}
	return err;
}

static int64_t new_instance(struct plan *p, const struct ranking_row *row)
{
	const struct member *who = &((const struct row *)row)->who;
	struct pm_instance i = { .kind = PM_TASK, .number = who->number, .cpu = PM_NONE, .added_ns = who->since_ns };
	int64_t id = describe(p, who, &i.attrs);

	if (!id)
		id = pm_model_add_instance(p->model, &i);
	pm_map_release(&i.attrs);
	return id;
}

/* ---- planning ---- */

static int tasks_plan(struct source *s, struct plan *p, struct error *e)
{
	struct tasks *d;
	int err;

	if (ranking_too_often(p))
		return ranking_refused(p);
	d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	s->data = d;
	d->ranking = (struct ranking){ .source = "tasks",
				       .key = key,
				       .n_values = VALUES,
				       .row_size = sizeof(struct row),
				       .instance = new_instance,
				       .unit.read = tasks_read };
	err = task_list_init(&d->list, p->root);
	if (!err)
		err = ranking_init(&d->ranking);
	if (err && err != -ENOMEM)
		return plan_refused(p, pm_reason_errno(err), NULL, "/proc");
	if (!err && d->list.exits < 0 && !p->root->emulated)
		err = plan_refused(p, pm_reason_errno(d->list.exits),
				   d->list.exits == -EPERM ? "run pmrec as root, or with CAP_NET_ADMIN" :
							     "a kernel with CONFIG_TASKSTATS",
				   "/proc: tasks that end before they are read");
	/* What is used from now on counts. */
	if (!err)
		err = tasks_read(&d->ranking.unit, NULL);
	if (err)
		return err == -ENODATA ? plan_refused(p, pm_reason_errno(err), NULL, "/proc") : err;
	return ranking_plan(&d->ranking, p, cell_key, CELLS, false);
}

static void tasks_release(struct source *s)
{
	struct tasks *d = s->data;

	if (!d)
		return;
	task_list_release(&d->list);
	ranking_release(&d->ranking);
	free(d);
	s->data = NULL;
}

const struct source_ops source_tasks = {
	.name = "tasks",
	.help = "the processes that use most CPU, memory and storage (/proc/PID, taskstats)",
	.default_on = true,
	.plan = tasks_plan,
	.tables = ranking_tables,
	.release = tasks_release,
};
