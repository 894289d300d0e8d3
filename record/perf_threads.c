/* --per-thread: a row for each task, also for those that begin while it is recorded. */
#include <errno.h>
#include <stdlib.h>

#include "record/clocks.h"
#include "record/perf_source.h"

struct noticed {
	struct perf_source *s;
	struct plan *p;
	bool lost;
};

static struct perf_task *find_task(struct perf_source *s, pid_t tid)
{
	/* The newest of that number. */
	for (uint32_t i = s->n_tasks; i-- > 0;)
		if (s->task[i].tid == tid)
			return &s->task[i];
	return NULL;
}

/* Rows in all groups; they get their instance later. -errno if it has none anywhere. */
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
	struct perf_task *t = find_task(s, tid), *bigger;

	if (t && !t->ended_ns)
		return;
	bigger = realloc(s->task, (s->n_tasks + 1) * sizeof(*bigger));
	if (bigger)
		s->task = bigger;
	if (!bigger || open_rows(s, tid)) {
		s->n_missed++;
		return;
	}
	bigger[s->n_tasks++] = (struct perf_task){ .pid = pid, .tid = tid, .began_ns = time_ns };
}

static void began(void *arg, pid_t pid, pid_t tid, pid_t parent, uint64_t time_ns)
{
	begin_task(arg, pid, tid, time_ns);
}

static void ended(void *arg, pid_t tid, uint64_t time_ns)
{
	struct noticed *n = arg;
	struct perf_task *t = find_task(n->s, tid);

	/* The end of the command is an event of its own, and -r lets it begin again. */
	if (t && !t->ended_ns && tid != n->p->child)
		t->ended_ns = time_ns;
}

static void lost(void *arg)
{
	((struct noticed *)arg)->lost = true;
}

/* The threads of the processes that are known: what the lost records may have told. */
static void look_again(struct noticed *n)
{
	uint32_t known = n->s->n_tasks;

	for (uint32_t i = 0; i < known; i++) {
		pid_t pid = n->s->task[i].pid;
		char **names;
		int count;

		if (n->s->task[i].ended_ns)
			continue;
		if (!root_exists(n->p->root, "/proc/%d", (int)n->s->task[i].tid)) {
			ended(n, n->s->task[i].tid, clocks_monotonic());
			continue;
		}
		count = pid == n->s->task[i].tid ? root_list(n->p->root, &names, "/proc/%d/task", (int)pid) : -1;
		for (int k = 0; k < count; k++)
			begin_task(n, pid, (pid_t)strtol(names[k], NULL, 10), clocks_monotonic());
		if (count >= 0)
			root_list_free(names, count);
	}
}

static int watch(struct perf_source *s, struct plan *p)
{
	bool all = p->options->target == TARGET_TASKS && !p->options->pids && !p->options->tids;
	pid_t *tid = calloc(s->n_tasks + 1, sizeof(*tid));
	struct cpulist online = { 0 };
	uint32_t n = 0;
	int err = tid ? root_cpulist(p->root, &online, "/sys/devices/system/cpu/online") : -ENOMEM;

	for (uint32_t i = 0; i < s->n_tasks && !err && !all; i++)
		if (!s->task[i].ended_ns)
			tid[n++] = s->task[i].tid;
	if (!err && (n || all))
		err = perf_follow_begin(&s->follow, tid, n, &online);
	cpulist_release(&online);
	free(tid);
	return err;
}

int perf_threads_begin(struct perf_source *s, struct plan *p, struct error *e)
{
	int err;

	s->follow.epoll = -1;
	if (!p->options->per_thread || p->options->no_inherit || !s->n_groups)
		return 0;
	err = watch(s, p);
	/* Those that are there can be counted even so. */
	return err ? plan_refused(p, perf_reason(err), NULL, "--per-thread: new tasks cannot be followed") : 0;
}

bool perf_threads_notice(struct perf_source *s, struct plan *p)
{
	struct noticed n = { .s = s, .p = p };
	struct perf_follow_ops ops = { .began = began, .ended = ended, .lost = lost, .arg = &n };
	bool work = false;

	if (s->follow.epoll < 0)
		return false;
	perf_follow_read(&s->follow, &ops);
	if (n.lost)
		look_again(&n);
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
		for (uint32_t g = 0; g < s->n_groups && !err; g++)
			for (uint32_t k = 0; k < s->group[g]->n_rows; k++)
				if (!s->group[g]->row[k]->instance && s->group[g]->row[k]->at.pid == s->task[i].tid)
					s->group[g]->row[k]->instance = s->task[i].instance;
	}
	return err;
}

static int place_rows(struct plan *p, struct perf_group *g)
{
	struct perf_row **rows = calloc(g->n_rows + 1, sizeof(*rows));
	uint32_t n = 0;
	int err;

	if (!rows)
		return -ENOMEM;
	for (uint32_t k = 0; k < g->n_rows; k++)
		if (!g->row[k]->unit.group)
			rows[n++] = g->row[k];
	err = perf_rows_add(p, g, rows, n);
	free(rows);
	return err;
}

/* Units of tasks that have been read after their end. */
static void drop_ended(struct plan *p)
{
	struct unit **at = &p->units;

	while (*at) {
		struct unit *u = *at;
		const struct perf_row *row = perf_row_of(u);

		if (row && row->at.cpu < 0 && row->end == PERF_ENDED) {
			*at = u->next;
			u->release(u);
		} else {
			at = &u->next;
		}
	}
	p->units_end = at;
}

int perf_threads_update(struct perf_source *s, struct plan *p)
{
	int err;

	if (!p->options->per_thread)
		return 0;
	drop_ended(p);
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
	return err;
}

int perf_threads_restart(struct perf_source *s, struct plan *p, struct error *e)
{
	uint64_t now = clocks_monotonic();

	if (!p->options->per_thread)
		return 0;
	for (uint32_t i = 1; i < s->n_tasks; i++)
		if (!s->task[i].ended_ns)
			s->task[i].ended_ns = now;
	perf_follow_end(&s->follow);
	return perf_threads_begin(s, p, e);
}
