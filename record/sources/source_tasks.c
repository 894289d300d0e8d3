/* Who used most CPU, memory and storage since the last reading: processes, those too short-lived to be seen, by name
 * and parent, and threads on request. They change with every reading: their groups are made when the chunk is
 * written. Threads have a counter of their own, so that nothing adds them to their processes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/host/clocks.h"
#include "record/sources/ranking.h"
#include "record/sources/task_list.h"

#define TOP         12 /* of each kind enter the table */
#define TOP_THREADS 24
#define IO_MOST     64 /* processes whose I/O is examined */
#define IDLE_MOST   10 /* readings for which a name stays while none of its tasks ends */
#define SMALL_BYTES (16u << 20)
/* Steps of the catalog. */
#define STEP_US     100
#define STEP_BYTES  512
#define STEP_MEMORY 4096

enum { PROCESSES, BRIEF, THREAD, TABLES };
enum { USER, SYSTEM, READ, WRITTEN, FAULTS, ENDED, RSS, THREADS, STATE, VALUES };
enum { ROWS = 48 };
_Static_assert((int)THREAD *ROWS <= RANKING_ROWS && (int)VALUES <= RANKING_VALUES, "all fit in");

static const char *const key[VALUES] = { "user",  "system", "read",    "write", "faults",
					 "ended", "rss",    "threads", "state" };
static const char *const thread_key[] = { "thread_cpu" };

/* A period in which a task is in the table. */
struct stay {
	uint32_t id; /* 0: the place is free */
	uint32_t number;
	pid_t pid, parent; /* pid 0: all of that name and parent that ended unseen */
	pid_t tid;         /* 0: not a thread; a thread's parent is its process */
	char name[TASK_NAME], parent_name[TASK_NAME];
	struct task_use base; /* what it had used before */
	uint64_t base_ended;
	uint64_t since_ns; /* when that was */
	uint64_t wanted;   /* the last reading in which it was among the first */
	bool over;         /* it leaves after this reading */
};

struct row {
	struct ranking_row row; /* first */
	struct stay who;
};

struct tasks {
	struct ranking ranking; /* first */
	struct ranking thread_ranking;
	struct task_list list;
	struct thread_list threads;
	struct stay member[TABLES][ROWS];
	uint32_t last_id, last_number;
	uint64_t before_ns; /* of the reading before */
};

/* ---- who is in the table ---- */

static uint64_t by_cpu(const struct task *t)
{
	return task_cpu(&t->use) - task_cpu(&t->before);
}

static uint64_t by_memory(const struct task *t)
{
	return t->ended || t->rss < SMALL_BYTES ? 0 : t->rss;
}

static uint64_t by_io(const struct task *t)
{
	return t->use.bytes[0] - t->before.bytes[0] + t->use.bytes[1] - t->before.bytes[1];
}

/* A free place, or that of the least wanted task. NULL: all are wanted now. */
static struct stay *place_for(struct stay *m, uint64_t reading)
{
	struct stay *least = &m[0];

	for (int i = 0; i < ROWS; i++) {
		if (!m[i].id)
			return &m[i];
		if (m[i].wanted < least->wanted)
			least = &m[i];
	}
	return least->wanted < reading && !least->over ? least : NULL;
}

static struct stay *admit(struct tasks *d, int table, uint32_t *number)
{
	struct stay *m = place_for(d->member[table], d->list.reading);
	struct thread *thread;
	struct task *t;

	if (!m)
		return NULL;
	if (m->id && table == PROCESSES && (t = task_list_find(&d->list, m->pid)))
		t->member = 0;
	if (m->id && table == THREAD && (thread = thread_list_find(&d->threads, m->tid)))
		thread->member = 0;
	for (int i = 0; i < BRIEF_MOST && m->id && table == BRIEF; i++)
		if (d->list.brief[i].member == (uint32_t)(m - d->member[table]) + 1)
			d->list.brief[i].member = 0;
	*number = *number ? *number : ++d->last_number;
	*m = (struct stay){ .id = ++d->last_id, .number = *number, .since_ns = d->before_ns };
	return m;
}

static void want_task(struct tasks *d, struct task *t)
{
	const struct task *parent = task_list_find(&d->list, t->parent);
	struct stay *m = t->member ? &d->member[PROCESSES][t->member - 1] : admit(d, PROCESSES, &t->number);

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

/* Makes room among the n largest so far, of at most `most`, for a larger value. Its place, or -1. */
static int top_place(uint64_t *value, int *n, int most, uint64_t v)
{
	int at = *n < most ? *n : most - 1;

	if (!v || (*n == most && v <= value[at]))
		return -1;
	*n += *n < most;
	for (; at && value[at - 1] < v; at--)
		value[at] = value[at - 1];
	value[at] = v;
	return at;
}

/* Marks those with the largest values as wanted. */
static void want_most(struct tasks *d, uint64_t (*of)(const struct task *t))
{
	struct task *top[TOP];
	uint64_t value[TOP];
	int n = 0;

	for (uint32_t i = 0; i < d->list.n; i++) {
		int at = top_place(value, &n, TOP, of(&d->list.task[i]));

		if (at < 0)
			continue;
		memmove(&top[at + 1], &top[at], (size_t)(n - 1 - at) * sizeof(*top));
		top[at] = &d->list.task[i];
	}
	for (int i = 0; i < n; i++)
		want_task(d, top[i]);
}

static void want_thread(struct tasks *d, struct thread *t)
{
	struct stay *m = t->member ? &d->member[THREAD][t->member - 1] : admit(d, THREAD, &t->number);
	const struct task *task = task_list_find(&d->list, t->pid);

	if (!m)
		return;
	if (!t->member) {
		t->member = (uint32_t)(m - d->member[THREAD]) + 1;
		m->pid = t->pid;
		m->tid = t->tid;
		m->base.user = t->before;
		m->since_ns = t->since_ns;
		thread_list_name(&d->threads, t);
		memcpy(m->name, t->name, sizeof(m->name));
		if (task)
			memcpy(m->parent_name, task->name, sizeof(m->parent_name));
	}
	m->wanted = d->list.reading;
}

static void want_threads(struct tasks *d)
{
	struct thread *top[TOP_THREADS];
	uint64_t value[TOP_THREADS];
	int n = 0;

	for (uint32_t i = 0; i < d->threads.n; i++) {
		const struct thread *t = &d->threads.thread[i];
		uint64_t run = t->looked == d->list.reading ? (t->use - t->before) / STEP_US : 0;
		/* A recording has rows of threads from its first snapshot on, whichever ran at that moment. */
		int at = top_place(value, &n, TOP_THREADS, d->list.reading <= 2 ? t->use : run);

		if (at < 0)
			continue;
		memmove(&top[at + 1], &top[at], (size_t)(n - 1 - at) * sizeof(*top));
		top[at] = &d->threads.thread[i];
	}
	for (int i = 0; i < n; i++)
		want_thread(d, top[i]);
}

static void want_brief(struct tasks *d)
{
	for (int i = 0; i < BRIEF_MOST; i++) {
		struct task_brief *b = &d->list.brief[i];
		struct stay *m = b->member ? &d->member[BRIEF][b->member - 1] : NULL;

		if (m && b->since + IDLE_MOST < d->list.reading) {
			*m = (struct stay){ 0 };
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

static void look_at(struct tasks *d, struct task *t)
{
	bool known = !t->no_io;

	task_list_io(&d->list, t);
	/* It may be in the table already, and was refused until now. */
	if (!known && t->member)
		memcpy(d->member[PROCESSES][t->member - 1].base.bytes, t->before.bytes, sizeof(t->before.bytes));
}

/* Reads the additional file for tasks that have probably read or written something. */
static void look_at_io(struct tasks *d)
{
	unsigned left = IO_MOST;

	for (uint32_t i = 0; i < d->list.n && left; i++) {
		struct task *t = &d->list.task[i];

		if (t->ended || !(t->member || t->state == 'D' || by_cpu(t)))
			continue;
		look_at(d, t);
		left--;
	}
}

/* Reads it for those that entered the table for another reason. */
static void look_at_rest(struct tasks *d)
{
	for (uint32_t i = 0; i < d->list.n; i++) {
		struct task *t = &d->list.task[i];

		if (t->member && !t->ended && t->no_io == PM_REASON_NOT_READ)
			look_at(d, t);
	}
}

/* ---- a reading ---- */

/* The kernel may divide time anew between user and system, and take some back. */
static uint64_t steps_since(uint64_t base, uint64_t now)
{
	return now > base ? (now - base) / STEP_US : 0;
}

static uint64_t *new_row(struct tasks *d, const struct stay *m, const struct task_use *use, uint16_t no_io)
{
	struct row *row = ranking_add(&d->ranking, m->id);
	uint64_t *v = row->row.v;

	row->who = *m;
	v[USER] = steps_since(m->base.user, use->user);
	v[SYSTEM] = steps_since(m->base.system, use->system);
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
		struct stay *m = t->member ? &d->member[PROCESSES][t->member - 1] : NULL;
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
			*m = (struct stay){ 0 };
	}
}

static void put_brief(struct tasks *d)
{
	for (int i = 0; i < BRIEF_MOST; i++) {
		const struct task_brief *b = &d->list.brief[i];
		const struct stay *m = b->member ? &d->member[BRIEF][b->member - 1] : NULL;
		uint64_t *v;

		if (!m)
			continue;
		v = new_row(d, m, &b->use, PM_OK);
		/* None of them exists now. */
		v[ENDED] = b->ended - m->base_ended;
		v[STATE] = 'X';
	}
}

static void put_threads(struct tasks *d)
{
	for (uint32_t i = 0; i < ROWS; i++) {
		struct stay *m = &d->member[THREAD][i];
		const struct thread *t = m->id ? thread_list_find(&d->threads, m->tid) : NULL;
		const struct task *task = t ? task_list_find(&d->list, t->pid) : NULL;
		struct row *row;

		if (!t || t->member != i + 1) {
			*m = (struct stay){ 0 };
			continue;
		}
		row = ranking_add(&d->thread_ranking, m->id);
		row->who = *m;
		row->row.v[0] = steps_since(m->base.user, t->use);
		/* What its process has used since has not been examined yet. */
		if (task && !task->ended && !t->ended && task->looked_cpu != task_cpu(&task->use))
			row->row.status[0] = PM_REASON_NOT_READ;
		if (!task || task->ended || t->ended)
			*m = (struct stay){ 0 };
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
	if (d->list.threads) {
		thread_list_read(&d->threads);
		want_threads(d);
		ranking_begin(&d->thread_ranking, d->list.reading);
		put_threads(d);
		ranking_end(&d->thread_ranking);
	}
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

static void describe(struct plan *p, const struct stay *who, struct pm_map *attrs)
{
	char text[512];
	const char *at;

	/* Its own name is enough: thousands of them may come and go. */
	if (!plan_may_name(p->options, PM_INSTANCE_COMM)) {
		snprintf(text, sizeof(text), "task-%u", who->number);
		plan_set(attrs, PM_INSTANCE_NAME, pm_text(text));
		return;
	}
	plan_set(attrs, PM_INSTANCE_COMM, pm_text(who->name));
	if (who->parent)
		plan_set(attrs, PM_INSTANCE_PARENT, pm_u64((uint64_t)who->parent));
	if (who->parent_name[0])
		plan_set(attrs, PM_INSTANCE_PARENT_COMM, pm_text(who->parent_name));
	if (!who->pid)
		return;
	plan_set(attrs, PM_INSTANCE_PID, pm_u64((uint64_t)who->pid));
	if (who->tid)
		plan_set(attrs, PM_INSTANCE_TID, pm_u64((uint64_t)who->tid));
	/* It may have ended by now. The path follows the second colon, and may have more. */
	if (!root_line(p->root, text, sizeof(text), "/proc/%d/cgroup", (int)who->pid) && (at = strchr(text, ':')) &&
	    (at = strchr(at + 1, ':')))
		plan_set(attrs, PM_INSTANCE_CGROUP, pm_text(at + 1));
	if (!who->tid && plan_may_name(p->options, PM_INSTANCE_ARGUMENTS)) {
		SCOPED(buf_release) struct buf b = BUF_INIT;
		ssize_t n = root_read(p->root, &b, 4096, "/proc/%d/cmdline", (int)who->pid);

		for (ssize_t i = 0; i + 1 < n; i++)
			b.data[i] = b.data[i] ? b.data[i] : ' ';
		if (n > 0)
			plan_set(attrs, PM_INSTANCE_ARGUMENTS, pm_text(buf_str(&b)));
	}
}

static int64_t new_instance(struct plan *p, const struct ranking_row *row)
{
	const struct stay *who = &((const struct row *)row)->who;
	struct pm_instance i = { .kind = PM_TASK, .number = who->number, .cpu = PM_NONE, .added_ns = who->since_ns };

	describe(p, who, &i.attrs);
	return plan_instance(p, &i);
}

/* ---- planning ---- */

/* What would let the kernel tell of tasks that end. */
static unsigned exits_remedy(int err)
{
	switch (-err) {
	case EPERM:
		return PM_REMEDY_NET_ADMIN;
	case EINVAL:
		return PM_REMEDY_FIRST_NAMESPACES;
	case ENOENT:
	case EPROTONOSUPPORT:
		return PM_REMEDY_TASKSTATS;
	default:
		return 0;
	}
}

static int tasks_plan(struct source *s, struct plan *p, struct error *e)
{
	struct tasks *d = ranking_new(s, p, sizeof(*d));
	int err;

	if (!d)
		return 0;
	d->ranking = (struct ranking){ .source = "tasks",
				       .key = key,
				       .n_values = VALUES,
				       .row_size = sizeof(struct row),
				       .instance = new_instance,
				       .unit.read = tasks_read };
	d->thread_ranking = (struct ranking){ .source = "tasks",
					      .key = thread_key,
					      .n_values = 1,
					      .row_size = sizeof(struct row),
					      .instance = new_instance };
	ranking_init(&d->ranking);
	err = task_list_init(&d->list, p->root);
	if (!err && p->options->sample.tasks == TASKS_THREADS) {
		d->list.threads = &d->threads;
		thread_list_init(&d->threads, &d->list);
		ranking_init(&d->thread_ranking);
	}
	if (err)
		return plan_refused(p, pm_reason_errno(err), pm_remark(0), pm_remark(PM_REMARK_FILE, "/proc"));
	if (d->list.exits < 0 && !p->root->emulated)
		plan_refused(p, pm_reason_errno(d->list.exits), pm_remark(exits_remedy(d->list.exits)),
			     pm_remark(PM_REMARK_TASKS_ENDED));
	/* Everyone may see the first process, unless /proc hides other users' processes. */
	if (!p->root->emulated && faccessat(d->list.proc, "1/stat", R_OK, 0))
		plan_refused(p, pm_reason_errno(-EPERM), pm_remark(PM_REMEDY_HIDEPID),
			     pm_remark(PM_REMARK_TASKS_HIDDEN));
	/* What is used from now on counts. */
	err = tasks_read(&d->ranking.unit, NULL);
	if (err)
		return err == -ENODATA ? plan_refused(p, pm_reason_errno(err), pm_remark(0),
						      pm_remark(PM_REMARK_FILE, "/proc")) :
					 err;
	ranking_plan(&d->ranking, p, cell_key, CELLS, false);
	d->thread_ranking.own_group = d->ranking.own_group;
	if (d->list.threads)
		ranking_counters(&d->thread_ranking, p);
	return 0;
}

static int tasks_tables(struct source *s, struct plan *p, const struct pm_chunk *c, struct pm_chunk_group *out)
{
	struct tasks *d = s->data;
	int n = ranking_take(&d->ranking, p, c, out), more;

	if (n < 0 || !d->list.threads)
		return n;
	more = ranking_take(&d->thread_ranking, p, c, out + n);
	return more < 0 ? more : n + more;
}

static void tasks_release(struct source *s)
{
	struct tasks *d = s->data;

	if (d->list.threads) {
		thread_list_release(&d->threads);
		ranking_release(&d->thread_ranking);
	}
	task_list_release(&d->list);
	ranking_release(&d->ranking);
}

const struct source_ops source_tasks = {
	.name = "tasks",
	.help = "the processes that use the most CPU, memory and storage (/proc/PID, taskstats)",
	.plan = tasks_plan,
	.tables = tasks_tables,
	.release = tasks_release,
};
