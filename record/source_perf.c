/*
 * perf events. Planning opens every event once to see what the machine allows, adds the counters in the
 * user's order, and then one column group for each kernel group: its events times the CPUs or tasks it is
 * opened on.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/freeze_smi.h"
#include "record/perf_source.h"
#include "record/perf_tool.h"
#include "record/sources.h"

/* ---- groups and units ---- */

static struct perf_start start_of(const struct perf_source *s, const struct plan *p,
                                  const struct perf_group *g)
{
	bool from_exec = p->options->target == TARGET_COMMAND && !p->options->delay_ms;

	/* Nobody calls enable() for a command that is followed from its exec on. */
	return (struct perf_start){ .on = s->on || (from_exec && !g->tasks),
		                    .on_exec = from_exec && g->tasks };
}

/* Opens a row for the place; NULL in *out if nothing can be opened there, which becomes a note. */
static int open_row(struct perf_source *s, struct plan *p, struct perf_group *g, struct perf_place at,
                    uint32_t instance, struct perf_row **out)
{
	struct perf_row *row = perf_row_new(g, at, instance);
	char text[300], where[32];
	int err;

	*out = NULL;
	if (!row)
		return -ENOMEM;
	err = perf_row_open(row, start_of(s, p, g));
	if (!err) {
		*out = row;
		return 0;
	}
	row->unit.release(&row->unit);
	snprintf(where, sizeof(where), at.cpu < 0 ? "one of the tasks" : "CPU %d", at.cpu);
	return plan_refused(p, perf_reason(err),
	                    perf_hint(err, g->member[0]->ev, p->root, text, sizeof(text)), "%s%s on %s",
	                    g->member[0]->ev->name, g->n > 1 ? " and its group" : "", where);
}

/* The row of the group on a CPU in one of its cgroups, if it has any. */
static int open_cpu(struct perf_source *s, struct plan *p, struct perf_group *g, uint32_t cgroup, uint32_t cpu,
		    struct perf_row **out)
{
	struct perf_place at = perf_on_cpu((int)cpu);
	int64_t id;
	int err;

	if (g->n_cgroups) {
		at.cgroup = s->cgroup[cgroup].fd;
		id = perf_cgroup_instance(s, p, cgroup, cpu);
	} else {
		id = plan_cpu_instance(p, cpu);
	}
	err = id < 0 ? (int)id : open_row(s, p, g, at, (uint32_t)id, out);
	if (!err && *out)
		(*out)->cgroup = cgroup;
	return err;
}

/* One column group for rows that are not in one yet. */
static int add_columns(struct plan *p, struct perf_group *g, struct perf_row **rows, uint32_t n)
{
	struct pm_group out = {
		.source = "perf", .flags = PM_GROUP_PERF_TIMES, .n_counters = g->n, .n_instances = n
	};
	int64_t id;

	if (!n)
		return 0;
	out.counter = calloc(g->n, sizeof(*out.counter));
	out.instance = calloc(n, sizeof(*out.instance));
	for (uint32_t k = 0; out.counter && k < g->n; k++)
		out.counter[k] = g->member[k]->counter;
	for (uint32_t i = 0; out.instance && i < n; i++)
		out.instance[i] = rows[i]->instance;
	id = out.counter && out.instance ? pm_model_add_group(p->model, &out) : -ENOMEM;
	free(out.counter);
	free(out.instance);
	for (uint32_t i = 0; i < n; i++) {
		if (id < 0) {
			rows[i]->unit.release(&rows[i]->unit);
			continue;
		}
		rows[i]->unit.group = (uint32_t)id;
		rows[i]->unit.instance = i;
		plan_add_unit(p, &rows[i]->unit);
	}
	return id < 0 ? (int)id : 0;
}

/* Rows of a group: tasks, CPUs, or every CPU of one cgroup after the other. */
static uint32_t count_places(const struct perf_source *s, const struct perf_group *g)
{
	return g->tasks ? s->n_tasks : (uint32_t)g->cpus.n * (g->n_cgroups ? g->n_cgroups : 1);
}

static int open_group(struct perf_source *s, struct plan *p, struct perf_group *g)
{
	uint32_t places = count_places(s, g), n = 0;
	struct perf_row **rows = calloc(places + 1, sizeof(*rows));
	int err = rows ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < places && !err; i++) {
		if (g->tasks)
			err = open_row(s, p, g, perf_on_task(s->task[i].tid), s->task[i].instance, &rows[n]);
		else
			err = open_cpu(s, p, g, g->first_cgroup + i / (uint32_t)g->cpus.n, g->cpus.cpu[i % g->cpus.n],
				       &rows[n]);
		n += !err && rows[n];
	}
	if (err)
		while (n)
			n--, rows[n]->unit.release(&rows[n]->unit);
	else
		err = add_columns(p, g, rows, n);
	free(rows);
	return err;
}

/* How many descriptors all rows need, beside those of everyone else. */
static int check_descriptors(const struct perf_source *s, struct plan *p)
{
	uint64_t need = 0, have = perf_raise_nofile();
	char hint[80];

	for (uint32_t i = 0; i < s->n_groups; i++)
		need += (uint64_t)s->group[i]->n * count_places(s, s->group[i]);
	need += 256;
	if (need <= have)
		return 0;
	snprintf(hint, sizeof(hint), "ulimit -Hn %" PRIu64, need);
	return plan_refused(p, pm_reason_errno(EMFILE), hint,
	                    "the events need %" PRIu64 " open files, and the limit is %" PRIu64, need, have);
}

/* ---- the source ---- */

static int refuse_emulated(struct plan *p, struct error *e)
{
	for (char **text = p->options->events; text && *text; text++) {
		struct event_list *list = NULL;
		int err = event_parse(&list, *text, e);

		event_list_free(list);
		if (err)
			return err;
	}
	return plan_refused(p, PM_REASON_NOT_SUPPORTED, NULL,
	                    "perf events: under --root nothing is counted on the machine that runs pmrec");
}

static int perf_plan(struct source *source, struct plan *p, struct error *e)
{
	struct perf_source *s = calloc(1, sizeof(*s));
	struct buf sets = BUF_INIT;
	int err;

	if (!s)
		return error_sys(e, ENOMEM, "perf events");
	source->data = s;
	e->text[0] = '\0';
	err = perf_pmus_read(&s->pmus, p->root);
	if (!err && (p->options->null || p->root->emulated))
		err = perf_pmus_record(&s->pmus, NULL, p->root, p->model);
	if (!err && p->options->null)
		return 0;
	if (!err)
		err = perf_sets_text(s, p, &sets, e);
	if (!err && p->root->emulated) {
		buf_release(&sets);
		return refuse_emulated(p, e);
	}
	perf_raise_nofile();
	if (!err)
		err = perf_events_read(s, p, buf_str(&sets), e);
	buf_release(&sets);
	if (!err)
		err = perf_pmus_record(&s->pmus, &s->set, p->root, p->model);
	if (!err)
		err = perf_tasks_add(s, p, e);
	if (!err)
		perf_tool_check(s, p);
	if (!err)
		err = perf_groups_settle(s, p, e);
	s->from_exec = p->options->target == TARGET_COMMAND && !p->options->delay_ms;
	if (!err)
		err = check_descriptors(s, p);
	if (!err)
		err = perf_counters_add(s, p);
	for (uint32_t i = 0; i < s->n_groups && !err; i++)
		err = open_group(s, p, s->group[i]);
	if (!err)
		err = perf_tool_plan(s, p);
	if (err && !e->text[0])
		error_sys(e, -err, "perf events");
	return err;
}

static int perf_enable(struct source *source, bool on)
{
	struct perf_source *s = source->data;
	int err = 0;

	s->on = on;
	s->from_exec = false;
	for (uint32_t i = 0; i < s->n_groups; i++)
		for (uint32_t k = 0; k < s->group[i]->n_rows; k++) {
			int one = perf_row_enable(s->group[i]->row[k], on);

			err = err ? err : one;
		}
	return err;
}

/* A CPU that was not there at the start: does the group count on it? */
static bool counts_on(const struct perf_group *g, const struct plan *p, uint32_t cpu)
{
	const struct event *ev = g->member[0]->ev;
	struct cpulist list = { 0 };
	bool yes = true;

	if (ev->cpus && !cpulist_parse(&list, ev->cpus, false, NULL))
		yes = cpulist_has(&list, cpu);
	cpulist_release(&list);
	/* The kernel moves uncore PMUs from a CPU that goes to another one, and their events with them. */
	if (yes && ev->uncore)
		return false;
	if (yes && ev->core &&
	    !root_cpulist(p->root, &list, "/sys/bus/event_source/devices/%s/cpus", ev->pmu))
		yes = cpulist_has(&list, cpu);
	cpulist_release(&list);
	return yes;
}

/* The CPU has gone or come: for one group and one of its cgroups, if it has any. */
static int update_place(struct perf_source *s, struct plan *p, struct perf_group *g, uint32_t cgroup, uint32_t cpu,
			bool online)
{
	struct perf_row *row = NULL;
	int err;

	for (uint32_t k = 0; k < g->n_rows && !row; k++)
		if (g->row[k]->at.cpu == (int)cpu && (!g->n_cgroups || g->row[k]->cgroup == cgroup))
			row = g->row[k];
	if (row && g->member[0]->ev->uncore)
		return 0;
	if (row) {
		perf_row_close(row, true);
		if (online)
			perf_row_open(row, start_of(s, p, g));
		return 0;
	}
	if (!online || !plan_wants_cpu(p, cpu) || !counts_on(g, p, cpu))
		return 0;
	err = open_cpu(s, p, g, cgroup, cpu, &row);
	return err || !row ? err : add_columns(p, g, &row, 1);
}

static int perf_update(struct source *source, struct plan *p, uint32_t cpu, bool online)
{
	struct perf_source *s = source->data;
	int err = 0;

	if (cpu == PM_NONE)
		return 0;
	perf_tool_update(s->tool, p);
	for (uint32_t i = 0; i < s->n_groups && !err; i++) {
		struct perf_group *g = s->group[i];
		uint32_t n = g->n_cgroups ? g->n_cgroups : 1;

		for (uint32_t c = g->first_cgroup; c < g->first_cgroup + n && !err && !g->tasks; c++)
			err = update_place(s, p, g, c, cpu, online);
	}
	return err;
}

static bool answers_to(const struct event *ev, const char *name)
{
	return !strcmp(name, ev->display) || !strcmp(name, ev->name) || !strcmp(name, ev->text);
}

static int perf_enable_one(struct source *source, const char *name, bool on, void (*found)(void *arg, uint32_t counter),
			   void *arg)
{
	struct perf_source *s = source->data;
	int n = 0, err = 0;

	for (size_t i = 0; i < s->set.n; i++) {
		if (!s->event[i].counter || !answers_to(s->event[i].ev, name))
			continue;
		s->event[i].off = !on;
		found(arg, s->event[i].counter);
		n++;
	}
	if (n)
		err = perf_enable(source, s->on || s->from_exec);
	return err ? err : n;
}

static int perf_look(struct source *source, struct plan *p)
{
	struct perf_source *s = source->data;
	int err = s ? perf_cgroups_look(s, p) : 0;

	for (uint32_t i = 0; s && i < s->n_groups; i++)
		for (uint32_t k = 0; k < s->group[i]->n_rows && s->group[i]->n_cgroups; k++) {
			struct perf_row *row = s->group[i]->row[k];

			if (s->cgroup[row->cgroup].gone && row->end == PERF_ALIVE)
				row->end = PERF_ENDING;
		}
	return err;
}

static int perf_restart(struct source *source, struct plan *p, struct error *e)
{
	struct perf_source *s = source->data;
	int err = 0;

	if (p->options->target != TARGET_COMMAND || !s->n_tasks)
		return 0;
	s->task[0].tid = p->child;
	perf_tool_restart(s->tool, p);
	s->from_exec = !p->options->delay_ms;
	for (uint32_t i = 0; i < s->n_groups && !err; i++)
		for (uint32_t k = 0; k < s->group[i]->n_rows && !err; k++) {
			struct perf_row *row = s->group[i]->row[k];

			if (!s->group[i]->tasks)
				continue;
			perf_row_close(row, false);
			row->at.pid = p->child;
			err = perf_row_open(row, start_of(s, p, s->group[i]));
			if (err)
				error_sys(e, -err, "%s of the next run", s->group[i]->member[0]->ev->name);
		}
	return err;
}

static void perf_release(struct source *source)
{
	struct perf_source *s = source->data;

	if (!s)
		return;
	for (uint32_t i = 0; i < s->n_groups; i++)
		perf_group_free(s->group[i]);
	free(s->group);
	free(s->event);
	free(s->task);
	perf_cgroups_release(s);
	perf_tool_release(s->tool);
	event_set_release(&s->set);
	perf_pmus_release(&s->pmus);
	free(s);
	source->data = NULL;
}

static void perf_doctor(struct source *source, struct plan *p, struct buf *out)
{
	struct perf_source *s = source->data;
	uint32_t rows = 0, events = 0;
	char line[32];

	for (uint32_t i = 0; s && i < s->n_groups; i++) {
		rows += s->group[i]->n_rows;
		events += s->group[i]->n;
	}
	buf_printf(out, "%u events in %u groups, %u reads a snapshot; %zu PMUs\n", events,
	           s ? s->n_groups : 0, rows, s ? s->pmus.n : 0);
	if (!root_line(p->root, line, sizeof(line), "/proc/sys/kernel/perf_event_paranoid"))
		buf_printf(out, "kernel.perf_event_paranoid is %s\n", line);
	if (!root_line(p->root, line, sizeof(line), FREEZE_SMI_PATH) && !strcmp(line, "1"))
		buf_addstr(out, "core counters stand still in firmware interrupts: unless somebody records with --smi-cost "
			   "now, echo 0 >" FREEZE_SMI_PATH "\n");
	if (!root_line(p->root, line, sizeof(line), "/proc/sys/kernel/nmi_watchdog") && !strcmp(line, "1"))
		buf_addstr(out,
		           "the NMI watchdog holds one counter of each CPU: sysctl kernel.nmi_watchdog=0\n");
}

const struct source_ops source_perf = {
	.name = "perf",
	.help = "events of the kernel's perf interface: -e, or perf's defaults",
	.default_on = true,
	.plan = perf_plan,
	.update = perf_update,
	.enable = perf_enable,
	.restart = perf_restart,
	.look = perf_look,
	.enable_one = perf_enable_one,
	.release = perf_release,
	.doctor = perf_doctor,
};
