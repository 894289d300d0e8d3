/* What perf events follow instead of CPUs: the command, or the processes and threads of -p and -t. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/array.h"
#include "record/host/clocks.h"
#include "record/perf/perf_source.h"

int perf_task_define(struct perf_source *s, struct plan *p, struct perf_task *t, uint32_t number)
{
	struct pm_instance i = { .kind = PM_TASK, .number = PM_NONE, .cpu = PM_NONE, .added_ns = t->began_ns };
	char name[32], comm[64];
	int64_t id;
	int err;

	snprintf(name, sizeof(name), "task-%u", number);
	err = pm_map_set(&i.attrs, PM_INSTANCE_NAME, pm_text(name));
	if (!err && plan_may_name(p->options, PM_INSTANCE_PID))
		err = pm_map_set(&i.attrs, PM_INSTANCE_PID, pm_u64((uint64_t)t->pid));
	if (!err && plan_may_name(p->options, PM_INSTANCE_TID))
		err = pm_map_set(&i.attrs, PM_INSTANCE_TID, pm_u64((uint64_t)t->tid));
	/* The command gets its name only by its exec. */
	if (!err && plan_may_name(p->options, PM_INSTANCE_COMM) && t->tid != p->child &&
	    !root_line(p->root, comm, sizeof(comm), "/proc/%d/comm", (int)t->tid))
		err = pm_map_set(&i.attrs, PM_INSTANCE_COMM, pm_text(comm));
	id = plan_instance(p, &i, err);
	if (id > 0)
		t->instance = (uint32_t)id;
	return id < 0 ? (int)id : 0;
}

static int add_task(struct perf_source *s, struct plan *p, pid_t pid, pid_t tid)
{
	int err;

	if (array_room(&s->task, s->n_tasks, sizeof(*s->task)))
		return -ENOMEM;
	s->task[s->n_tasks] = (struct perf_task){ .pid = pid, .tid = tid, .end = -1 };
	err = perf_task_define(s, p, &s->task[s->n_tasks], s->n_tasks + 1);
	s->n_tasks += !err;
	return err;
}

/* Adds all threads of a process. */
static int add_process(struct perf_source *s, struct plan *p, uint32_t pid, struct error *e)
{
	SCOPED(root_list_free) char **names = NULL;
	int n = root_list(p->root, &names, "/proc/%u/task", pid), err = 0;

	if (n < 0)
		return error_set(e, ESRCH, "-p: there is no process %u", pid);
	for (int i = 0; i < n && !err; i++)
		err = add_task(s, p, (pid_t)pid, (pid_t)strtol(names[i], NULL, 10));
	return err;
}

/* Which process a thread is of. */
static pid_t process_of(const struct root *root, pid_t tid)
{
	SCOPED(buf_release) struct buf text = BUF_INIT;
	ssize_t size = root_read(root, &text, 1 << 16, "/proc/%d/status", (int)tid);
	const char *line = size > 0 ? strstr(buf_str(&text), "\nTgid:\t") : NULL;

	return line ? (pid_t)strtol(line + strlen("\nTgid:\t"), NULL, 10) : tid;
}

static int add_ids(struct perf_source *s, struct plan *p, const char *text, bool threads, struct error *e)
{
	const char *at = text;
	int err = 0;

	while (at && !err) {
		char *end;
		unsigned long id = strtoul(at, &end, 10);

		if (*at < '0' || *at > '9' || !id || id > INT32_MAX || (*end && *end != ','))
			return error_set(e, EINVAL, "%s: \"%.60s\" is not a list of ids", threads ? "-t" : "-p",
					 text);
		if (!threads)
			err = add_process(s, p, (uint32_t)id, e);
		else if (!root_exists(p->root, "/proc/%lu", id))
			err = error_set(e, ESRCH, "-t: there is no thread %lu", id);
		else
			err = add_task(s, p, process_of(p->root, (pid_t)id), (pid_t)id);
		at = *end ? end + 1 : NULL;
	}
	return err;
}

/* Adds every thread of the system, except those that end meanwhile. */
static int add_all(struct perf_source *s, struct plan *p)
{
	SCOPED(root_list_free) char **names = NULL;
	int n = root_list(p->root, &names, "/proc"), err = n < 0 ? n : 0;

	for (int i = 0; i < n && !err; i++) {
		struct error ignored = { 0 };

		if (names[i][0] < '0' || names[i][0] > '9')
			continue;
		err = add_process(s, p, (uint32_t)strtoul(names[i], NULL, 10), &ignored);
		if (err == -ESRCH)
			err = 0;
	}
	return err;
}

int perf_tasks_add(struct perf_source *s, struct plan *p, struct error *e)
{
	int err = 0;

	if (p->options->target == TARGET_COMMAND && p->child)
		return add_task(s, p, p->child, p->child);
	if (p->options->target != TARGET_TASKS)
		return 0;
	if (!p->options->perf.pids && !p->options->perf.tids)
		return add_all(s, p);
	err = add_ids(s, p, p->options->perf.pids, false, e);
	return err ? err : add_ids(s, p, p->options->perf.tids, true, e);
}

/* Descendants' counts continue to be added to their ancestor, so a task with heirs is not over. */
static void end_rows(struct perf_source *s, uint32_t instance)
{
	for (uint32_t i = 0; i < s->n_groups; i++)
		for (uint32_t k = 0; k < s->group[i]->n_rows && s->group[i]->tasks && !s->group[i]->inherit; k++)
			if (s->group[i]->row[k]->instance == instance && s->group[i]->row[k]->end == PERF_ALIVE)
				s->group[i]->row[k]->end = PERF_ENDING;
}

/* Works for processes since Linux 5.3, for threads since 6.9 (PIDFD_THREAD). */
static int open_end(pid_t tid)
{
	long fd = syscall(SYS_pidfd_open, tid, 0);

	if (fd < 0)
		fd = syscall(SYS_pidfd_open, tid, O_EXCL);
	return (int)fd;
}

void perf_tasks_watch(struct perf_source *s, const struct plan *p)
{
	const struct record_options *o = p->options;

	if (o->target != TARGET_TASKS || o->perf.per_thread)
		return;
	s->ends = epoll_create1(EPOLL_CLOEXEC);
	for (uint32_t i = 0; i < s->n_tasks && s->ends >= 0; i++) {
		struct epoll_event watch = { .events = EPOLLIN, .data.u32 = i };

		/* A process that was named is represented by its first thread. */
		if (o->perf.pids && s->task[i].tid != s->task[i].pid)
			continue;
		s->task[i].end = open_end(s->task[i].tid);
		/* If the kernel does not report its end, check once a second. */
		if (s->task[i].end >= 0)
			epoll_ctl(s->ends, EPOLL_CTL_ADD, s->task[i].end, &watch);
	}
}

bool perf_tasks_notice(struct perf_source *s)
{
	uint64_t now = clocks_monotonic();
	struct epoll_event ended[16];
	int n = s->ends < 0 ? 0 : epoll_wait(s->ends, ended, 16, 0);

	for (int i = 0; i < n; i++) {
		struct perf_task *t = &s->task[ended[i].data.u32];

		close(t->end);
		t->end = -1;
		/* Its parent may be slow to reap it, and its name stays in /proc until then. */
		for (struct perf_task *k = s->task; k < s->task + s->n_tasks; k++)
			if (!k->ended_ns && (k == t || (t->tid == t->pid && k->pid == t->pid)))
				k->ended_ns = now;
	}
	return n > 0;
}

void perf_tasks_release(struct perf_source *s)
{
	for (uint32_t i = 0; i < s->n_tasks; i++)
		fd_close(&s->task[i].end);
	fd_close(&s->ends);
	free(s->task);
}

int perf_tasks_look(struct perf_source *s, struct plan *p)
{
	const struct record_options *o = p->options;
	bool any = o->target != TARGET_TASKS || (!o->perf.pids && !o->perf.tids) || !s->n_tasks;
	int err = 0;

	for (uint32_t i = 0; i < s->n_tasks && o->target == TARGET_TASKS && !err; i++) {
		struct perf_task *t = &s->task[i];

		if (!t->ended_ns && root_exists(p->root, "/proc/%d", (int)t->tid)) {
			any = true;
			continue;
		}
		if (!t->ended_ns)
			t->ended_ns = clocks_monotonic();
		if (t->told || !t->instance)
			continue;
		t->told = true;
		end_rows(s, t->instance);
		err = plan_gone(p, t->instance, t->ended_ns);
	}
	p->targets_gone = !any;
	return err;
}
