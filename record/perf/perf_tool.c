#include "record/perf/perf_tool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/memory.h"
#include "record/host/clocks.h"
#include "record/host/taskstats.h"

/* ---- texts of /proc ---- */

/* User and system time in the text of /proc/PID/stat, in ticks; with `children`, those of ended children, too. False
 * for any other text. */
static bool perf_tool_task_times(const char *text, bool children, uint64_t ticks[2])
{
	enum { USER = 14, SYSTEM, CHILDREN_USER, CHILDREN_SYSTEM, FIELDS };
	uint64_t v[FIELDS];

	if (taskstats_fields(text, v, FIELDS) < FIELDS)
		return false;
	ticks[0] = v[USER] + (children ? v[CHILDREN_USER] : 0);
	ticks[1] = v[SYSTEM] + (children ? v[CHILDREN_SYSTEM] : 0);
	return true;
}

/* The same for a CPU in /proc/stat. False if it has no line. */
static bool perf_tool_cpu_times(const char *text, uint32_t cpu, uint64_t ticks[2])
{
	uint64_t user, nice, system;
	unsigned number;

	for (const char *at = text; at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (strncmp(at, "cpu", 3))
			return false;
		/* Of all CPUs; after a blank %u would take its first count for a number. */
		if (at[3] == ' ')
			continue;
		if (sscanf(at, "cpu%u %" SCNu64 " %" SCNu64 " %" SCNu64, &number, &user, &nice, &system) == 4 &&
		    number == cpu) {
			ticks[0] = user + nice;
			ticks[1] = system;
			return true;
		}
	}
	return false;
}

#define TASK_STAT_MAX 2048

struct tool_place {
	int fd;            /* stat file of a task; -1: none */
	uint32_t cpu;      /* of /proc/stat; PM_NONE: a task */
	uint32_t instance; /* id */
	bool fresh;        /* began while recording, and has not been read yet: it had used nothing */
	bool gone;         /* cannot be read any more */
};

/* Shared by the source and its units, which may be freed in any order. */
struct perf_tool {
	unsigned refs;
	uint64_t tick_ns;
	struct tool_place *place; /* owned */
	uint32_t n_places;
	int stat;    /* /proc/stat; -1: none */
	char *text;  /* owned */
	size_t size; /* of text */
	bool command, children;
	uint64_t before[2]; /* rusage of the children when the command was last seen, ns */
};

struct tool_unit {
	struct unit unit;
	struct perf_tool *tool;
	uint32_t first, n_places; /* of the tool's, for times */
	uint32_t n;
	enum event_tool what[];
};

/* ---- times ---- */

static void rusage_ns(uint64_t ns[2])
{
	struct rusage u = { 0 };

	getrusage(RUSAGE_CHILDREN, &u);
	ns[0] = clocks_timeval_ns(&u.ru_utime);
	ns[1] = clocks_timeval_ns(&u.ru_stime);
}

/* Reads the file again from its start. */
static bool reread(struct perf_tool *t, int fd)
{
	ssize_t n = fd < 0 ? -1 : pread(fd, t->text, t->size - 1, 0);

	t->text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

static uint16_t place_times(struct perf_tool *t, struct tool_place *at, uint64_t ns[2])
{
	uint64_t now[2];

	if (at->fresh) {
		at->fresh = false;
		return PM_OK;
	}
	/* Read it first: if the command still exists afterwards, none of it is included. */
	if (t->command)
		rusage_ns(now);
	if (at->cpu != PM_NONE) {
		if (!perf_tool_cpu_times(t->text, at->cpu, ns))
			return PM_REASON_OFFLINE;
	} else if (!at->gone && reread(t, at->fd)) {
		if (t->command)
			memcpy(t->before, now, sizeof(now));
		if (!perf_tool_task_times(t->text, t->children, ns))
			return PM_REASON_FORMAT;
	} else if (t->command) {
		rusage_ns(now);
		ns[0] = now[0] - t->before[0];
		ns[1] = now[1] - t->before[1];
		return PM_OK;
	} else {
		at->gone = true;
		return PM_REASON_GONE;
	}
	ns[0] *= t->tick_ns;
	ns[1] *= t->tick_ns;
	return PM_OK;
}

/* ---- units ---- */

static void set_times(struct cells *c)
{
	/* They always run. */
	uint64_t now = clocks_monotonic();

	if (c->enabled)
		*c->enabled = now;
	if (c->running)
		*c->running = now;
}

static int read_duration(struct unit *u, struct cells *c)
{
	set_times(c);
	for (uint32_t k = 0; k < c->n; k++)
		cells_set(c, k, clocks_monotonic());
	return 0;
}

static int read_times(struct unit *u, struct cells *c)
{
	struct tool_unit *t = (struct tool_unit *)u;
	struct perf_tool *tool = t->tool;

	set_times(c);
	if (tool->stat >= 0 && !reread(tool, tool->stat)) {
		cells_fail_all(c, PM_REASON_FORMAT);
		return 0;
	}
	for (uint32_t i = 0; i < t->n_places; i++) {
		uint64_t ns[2] = { 0 };
		uint16_t reason = place_times(tool, &tool->place[t->first + i], ns);

		for (uint32_t k = 0; k < t->n; k++) {
			uint32_t cell = k * t->n_places + i;

			if (reason)
				cells_fail(c, cell, reason);
			else
				cells_set(c, cell, ns[t->what[k] == EVENT_TOOL_SYSTEM_TIME]);
		}
	}
	return 0;
}

void perf_tool_release(struct perf_tool *t)
{
	if (!t || --t->refs)
		return;
	for (uint32_t i = 0; i < t->n_places; i++)
		fd_close(&t->place[i].fd);
	fd_close(&t->stat);
	free(t->place);
	free(t->text);
	free(t);
}

static void tool_release(struct unit *u)
{
	struct tool_unit *t = (struct tool_unit *)u;

	perf_tool_release(t->tool);
	free(t);
}

/* ---- planning ---- */

static bool is_time(enum event_tool what)
{
	return what == EVENT_TOOL_USER_TIME || what == EVENT_TOOL_SYSTEM_TIME;
}

static bool is_tool(const struct perf_event *e)
{
	return e->ev->type == EVENT_TYPE_TOOL;
}

static struct tool_place *add_place(struct perf_tool *t, uint32_t instance)
{
	memory_room(&t->place, t->n_places, sizeof(*t->place));
	t->place[t->n_places] = (struct tool_place){ .fd = -1, .cpu = PM_NONE, .instance = instance };
	return &t->place[t->n_places++];
}

static void open_cpu(struct perf_tool *t, struct plan *p, uint32_t cpu)
{
	int64_t id = plan_cpu_instance(p, cpu);

	if (id > 0)
		add_place(t, (uint32_t)id)->cpu = cpu;
}

/* Whether there is one place per process, at its first thread, which also has the times of the others. With
 * --per-thread, or if threads were named, each thread has its own place. */
static bool of_processes(const struct plan *p)
{
	return !p->options->perf.per_thread && !p->options->perf.tids;
}

static void open_task(struct perf_tool *t, const struct plan *p, struct perf_task *task)
{
	bool whole = of_processes(p);
	struct tool_place *at;

	if (!task->instance || (whole && task->tid != task->pid))
		return;
	at = add_place(t, task->instance);
	task->timed = true;
	at->fresh = task->began_ns;
	at->fd = whole ? root_open(p->root, "/proc/%d/stat", (int)task->pid) :
			 root_open(p->root, "/proc/%d/task/%d/stat", (int)task->tid, (int)task->tid);
}

static void open_places(struct perf_tool *t, struct perf_source *s, struct plan *p)
{
	bool tasks = p->options->target != TARGET_SYSTEM;

	/* A CPU's line has ten numbers; the other lines follow. */
	t->size = tasks ? TASK_STAT_MAX : 4096 + 256 * (size_t)p->model->topology.n;
	t->text = memory_new(t->size, 1);
	if (!tasks)
		t->stat = root_open(p->root, "/proc/stat");
	for (size_t i = 0; i < p->cpus.n && !tasks; i++)
		open_cpu(t, p, p->cpus.cpu[i]);
	t->command = of_processes(p) && p->options->target == TARGET_COMMAND;
	t->children = of_processes(p) && !p->options->perf.no_inherit;
	if (t->command)
		rusage_ns(t->before);
	for (uint32_t i = 0; i < s->n_tasks && tasks; i++)
		open_task(t, p, &s->task[i]);
}

/* Adds one group and unit for the CPU times at all places from `first` on, or for the duration. */
static void add_unit(struct perf_source *s, struct plan *p, bool times, uint32_t first)
{
	struct pm_group g = { .source = "perf", .flags = PM_GROUP_SHARED_TIME | PM_GROUP_PERF_TIMES };
	struct tool_unit *u = memory_new(1, sizeof(*u) + s->set.n * sizeof(u->what[0]));
	uint32_t places = times ? s->tool->n_places - first : 1;
	int64_t id = 0;

	g.counter = memory_new(s->set.n, sizeof(*g.counter));
	g.instance = memory_new(places, sizeof(*g.instance));
	for (size_t i = 0; i < s->set.n; i++) {
		const struct perf_event *e = &s->event[i];
		enum event_tool what = (enum event_tool)s->set.event[i].config[0];

		if (e->err || !e->counter || !is_tool(e) || is_time(what) != times)
			continue;
		u->what[u->n++] = what;
		g.counter[g.n_counters++] = e->counter;
	}
	for (uint32_t i = 0; i < places; i++)
		g.instance[g.n_instances++] = times ? s->tool->place[first + i].instance : p->system_instance;
	if (g.n_counters && places)
		id = plan_group(p, &g);
	if (id > 0) {
		u->unit = (struct unit){ .read = times ? read_times : read_duration,
					 .release = tool_release,
					 .group = (uint32_t)id,
					 .cpu = PM_NONE };
		u->tool = s->tool;
		u->first = first;
		u->n_places = places;
		s->tool->refs++;
		plan_add_unit(p, &u->unit);
	} else {
		free(u);
	}
	free(g.counter);
	free(g.instance);
}

/* ---- what changes while it is recorded ---- */

void perf_tool_cpu(struct perf_source *s, struct plan *p, uint32_t cpu, bool online)
{
	struct perf_tool *t = s->tool;
	size_t size = 4096 + 256 * (size_t)p->model->topology.n;
	uint32_t before;

	if (!t)
		return;
	if (!online || t->stat < 0 || !plan_wants_cpu(p, cpu))
		return;
	for (uint32_t i = 0; i < t->n_places; i++)
		if (t->place[i].cpu == cpu)
			return;
	if (size > t->size) {
		t->text = memory_resize(t->text, size, 1);
		t->size = size;
	}
	before = t->n_places;
	open_cpu(t, p, cpu);
	add_unit(s, p, true, before);
}

/* Whether all its tasks have ended, and were read afterwards. */
static bool has_ended(struct unit *u)
{
	const struct tool_unit *t = (struct tool_unit *)u;
	bool over = u->read == read_times;

	for (uint32_t i = 0; over && i < t->n_places; i++)
		over = t->tool->place[t->first + i].gone;
	return over;
}

void perf_tool_threads(struct perf_source *s, struct plan *p)
{
	uint32_t first;

	if (!s->tool)
		return;
	first = s->tool->n_places;
	for (uint32_t i = 0; i < first; i++)
		if (s->tool->place[i].gone && s->tool->place[i].fd >= 0) {
			close(s->tool->place[i].fd);
			s->tool->place[i].fd = -1;
		}
	plan_drop_units(p, has_ended);
	for (uint32_t i = 0; i < s->n_tasks; i++)
		if (!s->task[i].told && !s->task[i].timed)
			open_task(s->tool, p, &s->task[i]);
	add_unit(s, p, true, first);
}

void perf_tool_restart(struct perf_tool *t, const struct plan *p)
{
	if (!t || !t->n_places || t->place[0].cpu != PM_NONE)
		return;
	/* What the previous command had started ends with it. */
	for (uint32_t i = 1; i < t->n_places; i++)
		t->place[i].gone = true;
	fd_close(&t->place[0].fd);
	t->place[0].fd = root_open(p->root, "/proc/%d/stat", (int)p->child);
	t->place[0].gone = false;
	rusage_ns(t->before);
}

void perf_tool_plan(struct perf_source *s, struct plan *p)
{
	bool any = false;

	for (size_t i = 0; i < s->set.n; i++)
		any = any || is_tool(&s->event[i]);
	if (!any)
		return;
	s->tool = memory_new(1, sizeof(*s->tool));
	*s->tool = (struct perf_tool){
		.refs = 1,
		.stat = -1,
		.tick_ns = 1000000000 / (uint64_t)sysconf(_SC_CLK_TCK),
	};
	open_places(s->tool, s, p);
	add_unit(s, p, false, 0);
	add_unit(s, p, true, 0);
}
