/* Rows of perf groups: where each group is opened, and the column groups that they fill. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "record/perf/perf_class.h"
#include "record/perf/perf_source.h"

struct perf_start perf_start_of(const struct perf_source *s, const struct perf_group *g)
{
	bool on_exec = s->from_exec && s->to_exec && g->tasks;

	/* Nobody calls enable() for a command that is followed from its exec on. */
	return (struct perf_start){ .on = s->on || (s->from_exec && !on_exec), .on_exec = on_exec };
}

/* Reports members that could not be opened where others of their group could, as with too few descriptors. */
static int tell_missing(struct plan *p, const struct perf_row *row, const char *where)
{
	char text[300];
	int err = 0;

	for (uint32_t k = 0; k < row->n && row->n_open < row->n && !err; k++) {
		const struct event *ev = row->group->member[k]->ev;

		if (row->missing[k])
			err = plan_refused(
				p, row->missing[k],
				row->missing[k] <= PM_REASON_ERRNO ?
					NULL :
					perf_hint(row->missing[k] - PM_REASON_ERRNO, ev, p, text, sizeof(text)),
				"%s on %s", ev->name, where);
	}
	return err;
}

/* What others have now, there: its values are missing for that reason. */
static bool is_shortage(int err, struct perf_place at)
{
	return err == -EBUSY ||
	       (at.cpu >= 0 && (err == -EMFILE || err == -ENFILE || err == -ENOMEM || err == -ENOSPC));
}

/* Again, where it was open or is shut. */
static void reopen(struct perf_source *s, struct perf_row *row)
{
	int err;

	perf_row_close(row, true);
	err = perf_row_open(row, perf_start_of(s, row->group));
	row->shut = err && (row->shut || is_shortage(err, row->at));
}

/* Opens a row for the place; *out is NULL if nothing can be opened there, which is noted. */
static int open_row(struct perf_source *s, struct plan *p, struct perf_group *g, struct perf_place at,
		    uint32_t instance, uint32_t cgroup, struct perf_row **out)
{
	struct perf_row *row = perf_row_new(g, at, instance);
	char text[300], where[32];
	int err;

	*out = NULL;
	if (!row)
		return -ENOMEM;
	row->cgroup = cgroup;
	err = perf_row_open(row, perf_start_of(s, g));
	snprintf(where, sizeof(where), at.cpu < 0 ? "one of the tasks" : "CPU %d", at.cpu);
	if (!err) {
		*out = row;
		return tell_missing(p, row, where);
	}
	/* On a CPU that lacks what others have, a member has no values: its part of a sum is missing. */
	row->shut = is_shortage(err, at);
	if (row->shut)
		*out = row;
	else
		row->unit.release(&row->unit);
	/* Among many threads some end while they are being listed. */
	if (err == -ESRCH && p->options->perf.per_thread)
		return 0;
	return plan_refused(p, perf_reason(err), perf_hint(err, g->member[0]->ev, p, text, sizeof(text)),
			    "%s%s on %s", g->member[0]->ev->name, g->n > 1 ? " and its group" : "", where);
}

/* Opens the row of the group on a CPU, in one of its cgroups if it has any. */
static int open_cpu(struct perf_source *s, struct plan *p, struct perf_group *g, uint32_t cgroup, uint32_t cpu,
		    struct perf_row **out)
{
	struct perf_place at = perf_on_cpu((int)cpu);
	int64_t id;

	if (g->n_cgroups) {
		at.cgroup = g->way == PERF_BY_READ ? s->cgroup[cgroup].fd : -1;
		id = perf_cgroup_instance(s, p, cgroup, cpu);
	} else if (perf_class_of_group(&s->pmus, g)) {
		id = perf_class_instance(&s->pmus, p, perf_class_of_group(&s->pmus, g), cpu);
	} else {
		id = plan_cpu_instance(p, cpu);
	}
	return id < 0 ? (int)id : open_row(s, p, g, at, (uint32_t)id, cgroup, out);
}

int perf_rows_add(struct plan *p, struct perf_group *g, struct perf_row **rows, uint32_t n)
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

uint32_t perf_rows_places(const struct perf_source *s, const struct perf_group *g)
{
	return g->tasks ? s->n_tasks : (uint32_t)g->cpus.n * (g->n_cgroups ? g->n_cgroups : 1);
}

int perf_rows_open(struct perf_source *s, struct plan *p, struct perf_group *g)
{
	uint32_t places = perf_rows_places(s, g), n = 0;
	SCOPED(scoped_free) struct perf_row **rows = calloc(places + 1, sizeof(*rows));
	int err = rows ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < places && !err; i++) {
		/* Its number may be another's now. */
		if (g->tasks && s->task[i].ended_ns)
			continue;
		if (g->tasks)
			err = open_row(s, p, g, perf_on_task(s->task[i].tid), s->task[i].instance, 0, &rows[n]);
		else
			err = open_cpu(s, p, g, g->first_cgroup + i / (uint32_t)g->cpus.n, g->cpus.cpu[i % g->cpus.n],
				       &rows[n]);
		n += !err && rows[n];
	}
	if (err)
		while (n)
			n--, rows[n]->unit.release(&rows[n]->unit);
	return err ? err : perf_rows_add(p, g, rows, n);
}

/* Whether the group counts on a CPU that was not there at the start. */
static bool counts_on(const struct perf_group *g, const struct plan *p, uint32_t cpu)
{
	const struct event *ev = g->member[0]->ev;
	SCOPED(cpulist_release) struct cpulist list = { 0 };
	bool yes = true;

	if (ev->cpus && !cpulist_parse(&list, ev->cpus, false, NULL))
		yes = cpulist_has(&list, cpu);
	/* When a CPU goes offline, the kernel moves its uncore PMUs to another one, with their events. */
	if (yes && ev->uncore)
		return false;
	if (yes && ev->core && !root_cpulist(p->root, &list, "/sys/bus/event_source/devices/%s/cpus", ev->pmu))
		yes = cpulist_has(&list, cpu);
	return yes;
}

/* After the kernel has moved the events of an uncore PMU from a CPU that went offline, reads them on the new one. */
static void follow_mask(const struct perf_group *g, const struct plan *p, uint32_t gone)
{
	SCOPED(cpulist_release) struct cpulist mask = { 0 };

	if (!root_cpulist(p->root, &mask, "/sys/bus/event_source/devices/%s/cpumask", g->member[0]->ev->pmu))
		for (uint32_t k = 0; k < g->n_rows; k++)
			if (g->row[k]->unit.cpu == gone)
				g->row[k]->unit.cpu = mask.n == 1 && g->n_rows == 1 ? mask.cpu[0] : PM_NONE;
}

int perf_rows_update(struct perf_source *s, struct plan *p, struct perf_group *g, uint32_t cgroup, uint32_t cpu,
		     bool online)
{
	struct perf_row *row = NULL;
	int err;

	if (g->member[0]->ev->uncore && !online)
		follow_mask(g, p, cpu);
	for (uint32_t k = 0; k < g->n_rows && !row; k++)
		if (g->row[k]->at.cpu == (int)cpu && (!g->n_cgroups || g->row[k]->cgroup == cgroup))
			row = g->row[k];
	if (row && g->member[0]->ev->uncore)
		return 0;
	if (row) {
		if (online)
			reopen(s, row);
		else
			perf_row_close(row, true);
		return 0;
	}
	if (!online || !plan_wants_cpu(p, cpu) || !counts_on(g, p, cpu))
		return 0;
	err = open_cpu(s, p, g, cgroup, cpu, &row);
	return err || !row ? err : perf_rows_add(p, g, &row, 1);
}

int perf_rows_revive(struct perf_source *s, struct plan *p)
{
	SCOPED(cpulist_release) struct cpulist online = { 0 };
	uint64_t revived = 0;
	int err = root_cpulist(p->root, &online, "/sys/devices/system/cpu/online");

	for (uint32_t i = 0; i < s->n_groups && !err; i++)
		for (uint32_t k = 0; k < s->group[i]->n_rows; k++) {
			struct perf_row *row = s->group[i]->row[k];

			if (!row->stood || !cpulist_has(&online, (uint32_t)row->at.cpu))
				continue;
			revived++;
			reopen(s, row);
		}
	return err || !revived ? err : plan_note(p, revived, "groups of events on CPUs that were briefly offline");
}
