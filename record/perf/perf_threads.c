/* --per-thread: a row per task, including those that begin while recording. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/array.h"
#include "record/host/clocks.h"
#include "record/host/taskstats.h"
#include "record/perf/perf_tool.h"

struct noticed {
	struct perf_source *s;
	struct plan *p;
	bool lost;
};

static struct perf_task *find_task(struct perf_source *s, pid_t tid)
{
	/* The newest with that number. */
	for (uint32_t i = s->n_tasks; i-- > 0;)
		if (s->task[i].tid == tid)
			return &s->task[i];
	return NULL;
}

/* Opens rows in all groups; they get their instance later. -errno if none could be opened. */
static int open_rows(struct perf_source *s, pid_t tid)
{
	struct perf_start start = { .on = s->on || s->from_exec };
	int result = -ENOENT;

	for (uint32_t i = 0; i < s->n_groups; i++) {
		struct perf_row *row = s->group[i]->tasks ? perf_row_new(s->group[i], perf_on_task(tid), 0) : NULL;
		int err = row ? perf_row_open(row, start) : 0;

		if (!row)
			continue;
		row->fresh = true;
		if (err)
			row->unit.release(&row->unit);
		if (!err || result)
			result = err;
	}
	return result;
}

static void begin_task(struct noticed *n, pid_t pid, pid_t tid, uint64_t time_ns)
{
	struct perf_source *s = n->s;
	struct perf_task *t = find_task(s, tid);

	if (t && !t->ended_ns)
		return;
	if (array_room(&s->task, s->n_tasks, sizeof(*s->task)) || open_rows(s, tid)) {
		s->n_missed++;
		return;
	}
	s->task[s->n_tasks++] = (struct perf_task){ .pid = pid, .tid = tid, .began_ns = time_ns, .end = -1 };
}

static void began(void *arg, pid_t pid, pid_t tid, pid_t parent, uint64_t time_ns)
{
	begin_task(arg, pid, tid, time_ns);
}

static void ended(void *arg, pid_t tid, uint64_t time_ns)
{
	struct noticed *n = arg;
	struct perf_task *t = find_task(n->s, tid);

	/* The end of the command is an event of its own, and with -r it begins again. */
	if (t && !t->ended_ns && tid != n->p->child)
		t->ended_ns = time_ns;
}

static void lost(void *arg)
{
	((struct noticed *)arg)->lost = true;
}

/* Adds every thread of a process that is not known yet. */
static void begin_process(struct noticed *n, pid_t pid)
{
	SCOPED(root_list_free) char **names = NULL;
	int count = root_list(n->p->root, &names, "/proc/%d/task", (int)pid);

	for (int k = 0; k < count; k++)
		begin_task(n, pid, (pid_t)strtol(names[k], NULL, 10), clocks_monotonic());
}

static bool follows_all(const struct plan *p)
{
	return p->options->target == TARGET_TASKS && !p->options->perf.pids && !p->options->perf.tids;
}

/* Whether it is a child of a followed task and began later. Tasks that existed before were not requested. */
static bool is_descendant(struct noticed *n, pid_t pid)
{
	enum { PARENT = 4, BEGAN = 22, FIELDS };
	uint64_t field[FIELDS];
	char text[2048];

	return !root_line(n->p->root, text, sizeof(text), "/proc/%d/stat", (int)pid) &&
	       taskstats_fields(text, field, FIELDS) == FIELDS && field[BEGAN] >= n->s->since_ticks &&
	       find_task(n->s, (pid_t)field[PARENT]);
}

/* Searches /proc if records were lost or could not be written, as on a CPU that has just come online. */
static void look_again(struct noticed *n)
{
	uint32_t known;

	for (uint32_t i = 0; i < n->s->n_tasks; i++) {
		const struct perf_task *t = &n->s->task[i];

		if (!t->ended_ns && !root_exists(n->p->root, "/proc/%d", (int)t->tid))
			ended(n, t->tid, clocks_monotonic());
	}
	/* Children of what is found are searched for in the next round. */
	do {
		SCOPED(root_list_free) char **names = NULL;
		int count = root_list(n->p->root, &names, "/proc");

		known = n->s->n_tasks;
		for (int i = 0; i < count; i++) {
			pid_t pid = names[i][0] < '0' || names[i][0] > '9' ? 0 : (pid_t)strtol(names[i], NULL, 10);
			const struct perf_task *t = pid ? find_task(n->s, pid) : NULL;

			if (pid &&
			    (follows_all(n->p) || (t && t->pid == t->tid && !t->ended_ns) || is_descendant(n, pid)))
				begin_process(n, pid);
		}
	} while (n->s->n_tasks > known);
}

/* Tasks that can start others; NULL without memory. */
static pid_t *live_tasks(const struct perf_source *s, const struct plan *p, uint32_t *n)
{
	pid_t *tid = calloc(s->n_tasks + 1, sizeof(*tid));

	*n = 0;
	for (uint32_t i = 0; i < s->n_tasks && tid && !follows_all(p); i++)
		if (!s->task[i].ended_ns)
			tid[(*n)++] = s->task[i].tid;
	return tid;
}

static int watch(struct perf_source *s, struct plan *p)
{
	SCOPED(cpulist_release) struct cpulist present = { 0 };
	uint32_t n;
	SCOPED(scoped_free) pid_t *tid = live_tasks(s, p, &n);
	int err = tid ? root_cpulist(p->root, &present, "/sys/devices/system/cpu/present") : -ENOMEM;

	s->since_ticks = clocks_ns(CLOCK_BOOTTIME) / (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
	if (!err && (n || follows_all(p)))
		err = perf_follow_begin(&s->follow, tid, n, &present);
	return err;
}

int perf_threads_begin(struct perf_source *s, struct plan *p, struct error *e)
{
	char hint[300];
	int err;

	s->follow.epoll = -1;
	if (!p->options->perf.per_thread || p->options->perf.no_inherit || !s->n_groups)
		return 0;
	err = watch(s, p);
	/* Existing tasks can be counted even so. */
	return err ? plan_refused(p, perf_reason(err), perf_hint(err, NULL, p, hint, sizeof(hint)),
				  "--per-thread: new tasks cannot be followed") :
		     0;
}

static struct perf_follow_ops into(struct noticed *n)
{
	return (struct perf_follow_ops){ .began = began, .ended = ended, .lost = lost, .arg = n };
}

int perf_threads_cpu(struct perf_source *s, struct plan *p, uint32_t cpu)
{
	struct noticed n = { .s = s, .p = p };
	struct perf_follow_ops ops = into(&n);
	uint32_t n_tids;
	SCOPED(scoped_free) pid_t *tid = NULL;
	int err;

	if (s->follow.epoll < 0)
		return 0;
	tid = live_tasks(s, p, &n_tids);
	err = tid ? 0 : -ENOMEM;
	if (!err && (n_tids || follows_all(p)))
		err = perf_follow_cpu(&s->follow, tid, n_tids, cpu, &ops);
	if (err)
		err = plan_refused(p, perf_reason(err), NULL, "--per-thread: new tasks on CPU %u cannot be followed",
				   cpu);
	look_again(&n);
	return err;
}

bool perf_threads_notice(struct perf_source *s, struct plan *p)
{
	struct noticed n = { .s = s, .p = p };
	struct perf_follow_ops ops = into(&n);
	bool work = false;

	if (s->follow.epoll < 0)
		return false;
	perf_follow_read(&s->follow, &ops);
	if (n.lost) {
		s->n_lost++;
		look_again(&n);
	}
	for (uint32_t i = 0; i < s->n_tasks && !work; i++)
		work = !s->task[i].instance || (s->task[i].ended_ns && !s->task[i].told);
	return work;
}

static int define_new(struct perf_source *s, struct plan *p)
{
	int err = 0;

	for (uint32_t i = 0; i < s->n_tasks && !err; i++) {
		if (s->task[i].instance)
			continue;
		err = perf_task_define(s, p, &s->task[i], i + 1);
		for (uint32_t g = 0; g < s->n_groups && !err; g++) {
			struct perf_row **row = s->group[g]->row, **end = row + s->group[g]->n_rows;

			/* Two tasks may have had one number, in the order of their rows. */
			while (row < end && ((*row)->instance || (*row)->at.pid != s->task[i].tid))
				row++;
			if (row < end)
				(*row)->instance = s->task[i].instance;
		}
	}
	return err;
}

static int place_rows(struct plan *p, struct perf_group *g)
{
	SCOPED(scoped_free) struct perf_row **rows = calloc(g->n_rows + 1, sizeof(*rows));
	uint32_t n = 0;

	if (!rows)
		return -ENOMEM;
	for (uint32_t k = 0; k < g->n_rows; k++)
		if (!g->row[k]->unit.group)
			rows[n++] = g->row[k];
	return perf_rows_add(p, g, rows, n);
}

/* Whether its tasks have been read after their end. */
static bool has_ended(struct unit *u)
{
	const struct perf_row *row = perf_row_of(u);

	return row && row->at.cpu < 0 && row->end == PERF_ENDED;
}

int perf_threads_update(struct perf_source *s, struct plan *p)
{
	int err;

	if (!p->options->perf.per_thread)
		return 0;
	plan_drop_units(p, has_ended);
	err = define_new(s, p);
	for (uint32_t i = 0; i < s->n_groups && !err; i++)
		if (s->group[i]->tasks)
			err = place_rows(p, s->group[i]);
	for (uint32_t i = 0; i < s->n_tasks && !err; i++) {
		struct perf_task *t = &s->task[i];

		if (!t->ended_ns || t->told)
			continue;
		t->told = true;
		for (uint32_t g = 0; g < s->n_groups; g++)
			for (uint32_t k = 0; k < s->group[g]->n_rows && s->group[g]->tasks; k++)
				if (s->group[g]->row[k]->instance == t->instance)
					s->group[g]->row[k]->end = PERF_ENDING;
		err = plan_gone(p, t->instance, t->ended_ns);
	}
	return err ? err : perf_tool_threads(s, p);
}

int perf_threads_restart(struct perf_source *s, struct plan *p, struct error *e)
{
	uint64_t now = clocks_monotonic();

	if (!p->options->perf.per_thread)
		return 0;
	for (uint32_t i = 1; i < s->n_tasks; i++)
		if (!s->task[i].ended_ns)
			s->task[i].ended_ns = now;
	perf_follow_end(&s->follow);
	return perf_threads_begin(s, p, e);
}
