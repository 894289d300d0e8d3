/* What perf events follow in place of CPUs: the command, or the processes and threads of -p and -t. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/clocks.h"
#include "record/perf_source.h"

static int add_task(struct perf_source *s, struct plan *p, pid_t pid, pid_t tid)
{
	struct pm_instance i = {
		.kind = PM_TASK, .number = PM_NONE, .cpu = PM_NONE, .added_ns = clocks_monotonic()
	};
	struct perf_task *bigger = realloc(s->task, (s->n_tasks + 1) * sizeof(*bigger));
	char name[32], comm[64];
	int64_t id;
	int err;

	if (!bigger)
		return -ENOMEM;
	s->task = bigger;
	snprintf(name, sizeof(name), "task-%u", s->n_tasks + 1);
	err = pm_map_set(&i.attrs, PM_INSTANCE_NAME, pm_text(name));
	if (!err && plan_may_record(p->options, PM_INSTANCE_PID))
		err = pm_map_set(&i.attrs, PM_INSTANCE_PID, pm_u64((uint64_t)pid));
	if (!err && plan_may_record(p->options, PM_INSTANCE_TID))
		err = pm_map_set(&i.attrs, PM_INSTANCE_TID, pm_u64((uint64_t)tid));
	/* The command has not got its name before its exec. */
	if (!err && plan_may_record(p->options, PM_INSTANCE_COMM) && pid != p->child &&
	    !root_line(p->root, comm, sizeof(comm), "/proc/%d/comm", (int)tid))
		err = pm_map_set(&i.attrs, PM_INSTANCE_COMM, pm_text(comm));
	if (!err) {
		id = pm_model_add_instance(p->model, &i);
		err = id < 0 ? (int)id : 0;
		if (!err)
			s->task[s->n_tasks++] = (struct perf_task){ .tid = tid, .instance = (uint32_t)id };
	}
	pm_map_release(&i.attrs);
	return err;
}

/* All threads of a process. */
static int add_process(struct perf_source *s, struct plan *p, uint32_t pid, struct error *e)
{
	char **names;
	int n = root_list(p->root, &names, "/proc/%u/task", pid), err = 0;

	if (n < 0)
		return error_set(e, ESRCH, "-p: there is no process %u", pid);
	for (int i = 0; i < n && !err; i++)
		err = add_task(s, p, (pid_t)pid, (pid_t)strtol(names[i], NULL, 10));
	root_list_free(names, n);
	return err;
}

static int add_ids(struct perf_source *s, struct plan *p, const char *text, bool threads, struct error *e)
{
	const char *at = text;
	int err = 0;

	while (at && *at && !err) {
		char *end;
		unsigned long id = strtoul(at, &end, 10);

		if (*at < '0' || *at > '9' || !id || id > INT32_MAX || (*end && *end != ','))
			return error_set(e, EINVAL, "%s: \"%.60s\" is not a list of ids",
			                 threads ? "-t" : "-p", text);
		if (!threads)
			err = add_process(s, p, (uint32_t)id, e);
		else if (!root_exists(p->root, "/proc/%lu", id))
			err = error_set(e, ESRCH, "-t: there is no thread %lu", id);
		else
			err = add_task(s, p, (pid_t)id, (pid_t)id);
		at = *end ? end + 1 : end;
	}
	return err;
}

int perf_tasks_add(struct perf_source *s, struct plan *p, struct error *e)
{
	int err = 0;

	if (p->options->target == TARGET_COMMAND && p->child)
		return add_task(s, p, p->child, p->child);
	if (p->options->target == TARGET_TASKS) {
		err = add_ids(s, p, p->options->pids, false, e);
		if (!err)
			err = add_ids(s, p, p->options->tids, true, e);
	}
	return err;
}
