/* Which events are read together. Reading a group costs the same as reading one event (one system call, and one
 * interrupt for another CPU), so events that never compete for a counter share a group even if the user did not
 * request it. Events of hardware counters stay apart: a group is scheduled as a whole, which would change how they
 * multiplex. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/names.h"
#include "record/perf/perf_source.h"
#include "record/plan/topology.h"

/* PMUs whose events all count at the same time, each with its kind: those of one kind may share a group. */
static const struct {
	const char *pmu, *class;
} free_running[] = {
	{ "software", "software" },     { "tracepoint", "software" },         { "msr", "software" },
	{ "power", "power" },           { "cstate_core", "cstate_core" },     { "cstate_pkg", "cstate_pkg" },
	{ "power_core", "power_core" }, { "cstate_module", "cstate_module" },
};

static const char *class_of(const struct event *ev)
{
	if (ev->group || ev->mods & (EVENT_MOD_PINNED | EVENT_MOD_EXCLUSIVE))
		return NULL;
	for (size_t i = 0; i < sizeof(free_running) / sizeof(free_running[0]); i++)
		if (!strcmp(free_running[i].pmu, ev->pmu))
			return free_running[i].class;
	return NULL;
}

/* Keeps in *cpus only what is in the list `text`. */
static int keep_only(struct cpulist *cpus, const char *text)
{
	SCOPED(cpulist_release) struct cpulist with = { 0 };
	int err = cpulist_parse(&with, text, false, NULL);

	if (!err)
		cpulist_intersect(cpus, &with);
	return err;
}

/* Of the CPUs where an uncore PMU is counted, keeps those that stand for one of `wanted`: each stands for the largest
 * part of the machine in which it is the only one. */
static int keep_units(struct cpulist *wanted, const char *mask, const struct pm_topology *t)
{
	static const enum pm_kind kinds[] = { PM_PACKAGE, PM_DIE, PM_CACHE, PM_CLUSTER, PM_CORE };
	struct cpulist units = { 0 };
	enum pm_kind kind = PM_CPU;
	size_t n = 0;
	int err = cpulist_parse(&units, mask, false, NULL);

	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]) && kind == PM_CPU && !err; k++) {
		bool alone = true;

		for (size_t i = 1; i < units.n && alone; i++)
			alone = !topology_shares(t, kinds[k], units.cpu[i - 1], units.cpu[i]);
		kind = alone ? kinds[k] : PM_CPU;
	}
	for (size_t i = 0; i < units.n && !err; i++)
		for (size_t k = 0; k < wanted->n; k++)
			if (topology_shares(t, kind, units.cpu[i], wanted->cpu[k])) {
				units.cpu[n++] = units.cpu[i];
				break;
			}
	if (!err && n) {
		units.n = n;
		cpulist_release(wanted);
		*wanted = units;
		return 0;
	}
	cpulist_release(&units);
	return err ? err : keep_only(wanted, mask);
}

/* The recorded CPUs on which to open the event. */
static int perf_event_cpus(const struct perf_source *s, const struct plan *p, const struct event *ev,
			   struct cpulist *cpus)
{
	const struct event_pmu *pmu = ev->pmu_index == EVENT_NONE ? NULL : &s->pmus.pmu[ev->pmu_index];
	int err = cpulist_copy(cpus, &p->cpus);

	if (!err && pmu && pmu->cpus)
		err = ev->uncore && p->options->cpus ? keep_units(cpus, pmu->cpus, &p->model->topology) :
						       keep_only(cpus, pmu->cpus);
	if (!err && ev->cpus)
		err = keep_only(cpus, ev->cpus);
	return err;
}

/* Where to open an event whose PMU counts none of the recorded CPUs. Nowhere, if -C means others of the kind:
 * those of its packages or kind of cores. An event of one uncore PMU alone is meant, wherever that is. */
static int perf_event_beyond(const struct perf_source *s, const struct plan *p, struct perf_event *e,
			     struct cpulist *cpus)
{
	int err = 0;

	e->elsewhere = p->options->cpus && !e->requested;
	for (size_t i = 0; i < s->set.n && p->options->cpus && !e->elsewhere && !err; i++) {
		SCOPED(cpulist_release) struct cpulist other = { 0 };

		if (e->ev->wildcard && s->set.event[i].wildcard == e->ev->wildcard)
			err = perf_event_cpus(s, p, &s->set.event[i], &other);
		e->elsewhere = other.n > 0;
	}
	return err || e->elsewhere || !e->ev->uncore ?
		       err :
		       cpulist_parse(cpus, s->pmus.pmu[e->ev->pmu_index].cpus, false, NULL);
}

/* The user's words for a PMU or for all of a kind, or the kind. */
static void name_kind(const struct perf_source *s, const struct perf_event *e, char *name, size_t size)
{
	const struct event_pmu *pmu = &s->pmus.pmu[e->ev->pmu_index];
	const char *slash = e->requested ? strchr(e->ev->text, '/') : NULL;

	snprintf(name, size, "%.*s", slash ? (int)(slash - e->ev->text) : 63,
		 slash      ? e->ev->text :
		 pmu->class ? pmu->class :
			      pmu->name);
}

/* Says which PMUs count what more CPUs do than those of -C. */
static int tell_other_cpus(const struct perf_source *s, struct plan *p)
{
	SCOPED(cpulist_release) struct cpulist others = { 0 };
	SCOPED(buf_release) struct buf cpus = BUF_INIT, pmus = BUF_INIT;
	SCOPED(names_release) struct names told = { 0 };
	int err = 0;

	for (uint32_t i = 0; i < s->n_groups && p->options->cpus && !err; i++) {
		const struct cpulist *at = &s->group[i]->cpus;
		const struct perf_event *e = s->group[i]->member[0];
		uint32_t beyond = 0, ignored;
		char kind[64];

		for (size_t k = 0; k < at->n && e->ev->uncore && !err; k++)
			if (!cpulist_has(&p->cpus, at->cpu[k]) && ++beyond)
				err = cpulist_add(&others, at->cpu[k]);
		if (!beyond || err)
			continue;
		name_kind(s, e, kind, sizeof(kind));
		if (names_get(&told, kind, &ignored))
			continue;
		buf_printf(&pmus, "%s%s", told.n ? ", " : "", kind);
		err = names_set(&told, kind, 0);
	}
	cpulist_print(&others, &cpus);
	if (err || !others.n)
		return err;
	return plan_refused(p, PM_OK, NULL, "-C %.60s: these count whole packages or units, by CPU %s: %s",
			    p->options->cpus, buf_str(&cpus), buf_str(&pmus));
}

/* Whether they count the same things at the same places. */
static bool are_alike(const struct perf_group *a, const struct perf_group *b)
{
	return a->way == b->way && a->tasks == b->tasks && a->inherit == b->inherit &&
	       a->first_cgroup == b->first_cgroup && a->n_cgroups == b->n_cgroups && a->cpus.n == b->cpus.n &&
	       (!a->cpus.n || !memcmp(a->cpus.cpu, b->cpus.cpu, a->cpus.n * sizeof(*a->cpus.cpu)));
}

/* Adds the event to the group of its braces, to one of its class, or to a new one. */
static int assign(struct perf_source *s, struct plan *p, struct perf_event *e)
{
	const struct event *ev = e->ev;
	const char *class = class_of(ev);
	struct perf_group wanted = { .way = perf_way_of(p->options, ev),
				     .tasks = p->options->target != TARGET_SYSTEM && !ev->uncore,
				     .first_cgroup = e->first_cgroup,
				     .n_cgroups = e->n_cgroups };
	bool read = wanted.way == PERF_BY_READ;
	/* Leaders read single events, so there is nothing to be read together. */
	uint32_t braces = read || wanted.way == PERF_BY_PROGRAM ? ev->group : 0;
	struct perf_group *g = NULL;
	int err = wanted.tasks && read ? 0 : perf_event_cpus(s, p, ev, &wanted.cpus);

	wanted.inherit = wanted.tasks && !p->options->perf.per_thread &&
			 (ev->inherit < 0 ? !p->options->perf.no_inherit : ev->inherit);
	if (!err && ev->pmu_index != EVENT_NONE && !wanted.cpus.n && !(wanted.tasks && read))
		err = perf_event_beyond(s, p, e, &wanted.cpus);
	if (err || e->elsewhere)
		goto out;
	for (uint32_t i = 0; i < s->n_groups && !g && !err; i++)
		if (are_alike(s->group[i], &wanted) && s->group[i]->n < PERF_GROUP_MAX &&
		    (braces ? s->group[i]->member[0]->ev->group == braces : class && s->group[i]->class == class))
			g = s->group[i];
	if (!g && !err) {
		g = perf_group_like(&s->group, &s->n_groups, &wanted);
		err = g ? 0 : -ENOMEM;
		if (g) {
			g->class = class;
			g->braces = braces;
			g->weak = braces && ev->mods & EVENT_MOD_WEAK;
		}
	}
	if (!err)
		err = perf_group_add(g, e);
out:
	cpulist_release(&wanted.cpus);
	return err;
}

/* Takes member k into a group of its own, which comes last. 0 or -ENOMEM. */
static int group_split(struct perf_source *s, struct perf_group *g, uint32_t k)
{
	struct perf_group *alone = perf_group_like(&s->group, &s->n_groups, g);
	int err = alone ? perf_group_add(alone, g->member[k]) : -ENOMEM;

	if (!err)
		perf_group_remove(g, k);
	return err;
}

/* The kernel's part was refused: the event's name says so, unless the user chose it. */
static int mark_user_only(struct event *ev)
{
	bool chosen = ev->named;
	struct buf shown = BUF_INIT;
	char *text;

	buf_printf(&shown, "%s%s", ev->display, ev->display[strlen(ev->display) - 1] == '/' ? "u" : ":u");
	text = buf_detach(&shown);
	if (!text)
		return -ENOMEM;
	if (chosen) {
		free(text);
	} else {
		free(ev->display);
		ev->display = text;
	}
	return event_set_mods(ev, ev->mods | EVENT_MOD_USER);
}

/* Opens member k in the leader's group, or alone if that is refused. */
static int try_member(const struct plan *p, struct perf_group *g, struct perf_event *e, struct perf_place at,
		      int leader, bool *alone_only, struct error *error)
{
	bool excluded = false;
	bool inherit = g->inherit && g->way == PERF_BY_READ;
	int fd = perf_event_try(e, inherit, at, leader, &excluded), err;

	*alone_only = false;
	if (fd < 0 && leader >= 0) {
		fd = perf_event_try(e, inherit, at, -1, &excluded);
		*alone_only = fd >= 0;
	}
	/* perf drops the kernel's part before it checks whether the event exists. */
	if (fd < 0)
		return fd == -ENOENT && excluded && p->options->perf.as_perf && (err = mark_user_only(e->ev)) ? err :
														fd;
	if (e->filter && ioctl(fd, PERF_EVENT_IOC_SET_FILTER, e->filter)) {
		err = errno;
		close(fd);
		/* Recording more than the filter lets through would be a different measurement. */
		perf_filter_failed(p->root, e->ev->name, e->filter, err, error);
		return -ENOTRECOVERABLE;
	}
	if (excluded && (err = mark_user_only(e->ev))) {
		close(fd);
		return err;
	}
	return fd;
}

/* Ends a trial. The kernel takes tens of ms to release a tracepoint that nobody else counts, so those stay open until
 * their rows are, if that leaves enough descriptors. */
static void hold(struct perf_source *s, const struct perf_group *g, const int *fds, int n)
{
	bool slow = n && g->n && g->member[0]->ev->type == PERF_TYPE_TRACEPOINT;
	bool room = slow && perf_used_nofile() + s->set.n * (perf_rows_places(s, g) + 1) < perf_raise_nofile();
	int *bigger = room ? realloc(s->held, (s->n_held + n) * sizeof(*bigger)) : NULL;

	if (bigger)
		s->held = bigger;
	for (int i = 0; i < n; i++)
		if (bigger)
			s->held[s->n_held++] = fds[i];
		else
			close(fds[i]);
}

void perf_held_close(struct perf_source *s)
{
	while (s->n_held)
		close(s->held[--s->n_held]);
	free(s->held);
	s->held = NULL;
}

/* One pass over the members at one place. Members that fail have their error set and leave the group; -EAGAIN if the
 * group was split and must be tried again. */
static int try_group(struct perf_source *s, struct plan *p, struct perf_group *g, struct perf_place at,
		     struct error *error)
{
	static const char group_hint[] = "append :W to the group to split it: the event can be opened alone";
	static const char group_hint_watchdog[] =
		"append :W to the group to split it, or sysctl kernel.nmi_watchdog=0, which frees a counter on each "
		"CPU: the event can be opened alone";
	int fds[PERF_GROUP_MAX], n_fds = 0, err = 0;
	uint32_t together = perf_topdown_order(s, g);

	for (uint32_t k = 0; k < g->n && !err;) {
		struct perf_event *e = g->member[k];
		bool alone_only;
		int fd = try_member(p, g, e, at, n_fds ? fds[0] : -1, &alone_only, error);

		if (fd >= 0 && !alone_only && n_fds < PERF_GROUP_MAX) {
			/* On Arm the kernel accepts members as if a stopped leader needed no counter, and then never
			 * counts any of them. */
			if (!n_fds && g->n > 1)
				ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
			fds[n_fds++] = fd;
			k++;
			continue;
		}
		if (fd >= 0)
			close(fd);
		if (fd == -ENOTRECOVERABLE || (fd == -ESRCH && !n_fds)) {
			err = fd;
		} else if (fd < 0) {
			e->err = -fd;
			perf_group_remove(g, k);
		} else if ((g->weak && g->n > together) || !g->braces) {
			/* A weak group is opened as a whole or not at all. */
			uint32_t keep = g->weak ? together : g->n - 1;

			while (g->n > keep && !err)
				err = group_split(s, g, g->weak ? g->n - 1 : k);
			err = err ? err : g->weak ? -EAGAIN : 0;
		} else {
			e->err = EINVAL;
			e->hint = e->ev->core && perf_nmi_watchdog(p->root) ? group_hint_watchdog : group_hint;
			perf_group_remove(g, k);
		}
	}
	hold(s, g, fds, n_fds);
	return err;
}

/* The kernel lists a PMU's CPUs that are online. */
static bool has_no_cpu(const struct event_pmu *pmu)
{
	return pmu->cpus && !pmu->cpus[strspn(pmu->cpus, " \n")];
}

static int settle(struct perf_source *s, struct plan *p, struct perf_group *g, struct error *error)
{
	bool tasks = g->tasks && g->way == PERF_BY_READ;
	uint32_t places = tasks ? s->n_tasks : (uint32_t)g->cpus.n;
	int err = -ESRCH;

	for (uint32_t i = 0; i < places && (err == -ESRCH || err == -EAGAIN); i += err == -ESRCH) {
		struct perf_place at = tasks ? perf_on_task(s->task[i].tid) : perf_on_cpu((int)g->cpus.cpu[i]);

		if (g->n_cgroups && g->way == PERF_BY_READ)
			at.cgroup = s->cgroup[g->first_cgroup].fd;

		err = try_group(s, p, g, at, error);
	}
	if (err != -ESRCH)
		return err;
	for (; g->n; perf_group_remove(g, 0)) {
		struct perf_event *e = g->member[0];

		e->err = g->tasks ? ESRCH : ENODEV;
		e->reason = g->tasks ? 0 : PM_REASON_NOT_COUNTED;
		e->hint = g->tasks ? NULL : "another CPU: it counts on none of the recorded ones";
		if (!g->tasks && e->ev->pmu_index != EVENT_NONE && has_no_cpu(&s->pmus.pmu[e->ev->pmu_index])) {
			/* The mask of an uncore PMU is never empty, but may be no list. */
			e->reason = e->ev->uncore ? PM_REASON_NOT_SUPPORTED : PM_REASON_OFFLINE;
			e->hint = e->ev->uncore ? "" : "with its CPUs online";
		}
	}
	return 0;
}

int perf_groups_settle(struct perf_source *s, struct plan *p, struct error *error)
{
	uint32_t kept = 0;
	int err = 0;

	for (size_t i = 0; i < s->set.n && !err; i++)
		if (!s->event[i].err && s->set.event[i].type != EVENT_TYPE_TOOL)
			err = assign(s, p, &s->event[i]);
	err = err ? err : tell_other_cpus(s, p);
	/* Groups that are split off meanwhile are tried in their turn. */
	for (uint32_t i = 0; i < s->n_groups && !err; i++)
		err = settle(s, p, s->group[i], error);
	if (err == -ENOTRECOVERABLE)
		return -error->number;
	for (uint32_t i = 0; i < s->n_groups; i++) {
		if (s->group[i]->n) {
			s->group[kept++] = s->group[i];
			s->group[kept - 1]->number = kept;
			/* The kernel reads a single event faster if it need not collect a group. */
			if (s->group[kept - 1]->n == 1)
				s->group[kept - 1]->member[0]->attr.a.read_format &= ~(uint64_t)PERF_FORMAT_GROUP;
		} else {
			perf_group_free(s->group[i]);
		}
	}
	s->n_groups = kept;
	return err;
}
