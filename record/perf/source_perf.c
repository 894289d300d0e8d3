/* perf events. Planning opens every event once to find out what the machine permits, adds the counters in the user's
 * order, and then one column group for each kernel group: its events times the CPUs or tasks that it is opened on. */
#include "record/perf/source_perf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/memory.h"
#include "common/names.h"
#include "common/number.h"
#include "record/host/clocks.h"
#include "record/host/taskstats.h"
#include "record/perf/freeze_smi.h"
#include "record/perf/perf_pmu.h"
#include "record/perf/perf_source.h"
#include "record/perf/perf_tool.h"
#include "record/plan/machine.h"

/* Which events are read together. Reading a group costs the same as reading one event (one system call, and one
 * interrupt for another CPU), so events that never compete for a counter share a group even if the user did not
 * request it. Events of hardware counters stay apart: a group is scheduled as a whole, which would change how they
 * multiplex. */

/* The kind of the event, if all events of its kind count at the same time and may share a group; or NULL. */
static const char *class_of(const struct event *ev)
{
	static const char *const pmus[] = { "software",   "power",       "power_core",
					    "cstate_pkg", "cstate_core", "cstate_module" };

	if (ev->group || ev->mods & (EVENT_MOD_PINNED | EVENT_MOD_EXCLUSIVE))
		return NULL;
	if (!strcmp(ev->pmu, "tracepoint") || !strcmp(ev->pmu, "msr"))
		return "software";
	for (size_t i = 0; i < sizeof(pmus) / sizeof(pmus[0]); i++)
		if (!strcmp(pmus[i], ev->pmu))
			return pmus[i];
	return NULL;
}

/* The CPUs of a PMU or an event, whose text was valid when it was read. */
static struct cpulist cpus_of(const char *text)
{
	struct cpulist cpus = { 0 };

	memory_must(cpulist_parse(&cpus, text, false, NULL));
	return cpus;
}

/* Keeps in *cpus only what is in the list `text`. */
static void keep_only(struct cpulist *cpus, const char *text)
{
	SCOPED(cpulist_release) struct cpulist with = cpus_of(text);

	cpulist_intersect(cpus, &with);
}

/* Of the CPUs where an uncore PMU is counted, keeps those that stand for one of `wanted`: each stands for the largest
 * part of the machine in which it is the only one. */
static void keep_units(struct cpulist *wanted, const char *mask, const struct pm_topology *t)
{
	static const enum pm_kind kinds[] = { PM_PACKAGE, PM_DIE, PM_CACHE, PM_CLUSTER, PM_CORE };
	struct cpulist units = cpus_of(mask);
	enum pm_kind kind = PM_CPU;
	size_t n = 0;

	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]) && kind == PM_CPU; k++) {
		bool alone = true;

		for (size_t i = 1; i < units.n && alone; i++)
			alone = !topology_shares(t, kinds[k], units.cpu[i - 1], units.cpu[i]);
		kind = alone ? kinds[k] : PM_CPU;
	}
	for (size_t i = 0; i < units.n; i++)
		for (size_t k = 0; k < wanted->n; k++)
			if (topology_shares(t, kind, units.cpu[i], wanted->cpu[k])) {
				units.cpu[n++] = units.cpu[i];
				break;
			}
	if (n) {
		units.n = n;
		cpulist_release(wanted);
		*wanted = units;
		return;
	}
	cpulist_release(&units);
	keep_only(wanted, mask);
}

/* The recorded CPUs on which to open the event. */
static void perf_event_cpus(const struct perf_source *s, const struct plan *p, const struct event *ev,
			    struct cpulist *cpus)
{
	const struct event_pmu *pmu = ev->pmu_index == EVENT_NONE ? NULL : &s->pmus.pmu[ev->pmu_index];

	memory_must(cpulist_copy(cpus, &p->cpus));
	if (pmu && pmu->cpus && ev->uncore && p->options->cpus)
		keep_units(cpus, pmu->cpus, &p->model->topology);
	else if (pmu && pmu->cpus)
		keep_only(cpus, pmu->cpus);
	if (ev->cpus)
		keep_only(cpus, ev->cpus);
}

/* Where to open an event whose PMU counts none of the recorded CPUs. Nowhere, if -C means others of the kind:
 * those of its packages or kind of cores. An event of one uncore PMU alone is meant, wherever that is. */
static void perf_event_beyond(const struct perf_source *s, const struct plan *p, struct perf_event *e,
			      struct cpulist *cpus)
{
	e->elsewhere = p->options->cpus && !e->requested;
	for (size_t i = 0; i < s->set.n && p->options->cpus && !e->elsewhere; i++) {
		SCOPED(cpulist_release) struct cpulist other = { 0 };

		if (e->ev->wildcard && s->set.event[i].wildcard == e->ev->wildcard)
			perf_event_cpus(s, p, &s->set.event[i], &other);
		e->elsewhere = other.n > 0;
	}
	if (e->elsewhere || !e->ev->uncore)
		return;
	cpulist_release(cpus);
	*cpus = cpus_of(s->pmus.pmu[e->ev->pmu_index].cpus);
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
static void tell_other_cpus(const struct perf_source *s, struct plan *p)
{
	SCOPED(cpulist_release) struct cpulist others = { 0 };
	SCOPED(buf_release) struct buf cpus = BUF_INIT, pmus = BUF_INIT;
	SCOPED(names_release) struct names told = { 0 };

	for (uint32_t i = 0; i < s->n_groups && p->options->cpus; i++) {
		const struct cpulist *at = &s->group[i]->cpus;
		const struct perf_event *e = s->group[i]->member[0];
		uint32_t beyond = 0, ignored;
		char kind[64];

		for (size_t k = 0; k < at->n && e->ev->uncore; k++)
			if (!cpulist_has(&p->cpus, at->cpu[k]) && ++beyond)
				memory_must(cpulist_add(&others, at->cpu[k]));
		if (!beyond)
			continue;
		name_kind(s, e, kind, sizeof(kind));
		if (names_get(&told, kind, &ignored))
			continue;
		buf_printf(&pmus, "%s%s", told.n ? ", " : "", kind);
		memory_must(names_set(&told, kind, 0));
	}
	cpulist_print(&others, &cpus);
	if (others.n)
		plan_refused(p, PM_OK, pm_remark(0),
			     pm_remark(PM_REMARK_OTHER_CPUS, p->options->cpus, buf_str(&cpus), buf_str(&pmus)));
}

/* Whether they count the same things at the same places. */
static bool are_alike(const struct perf_group *a, const struct perf_group *b)
{
	return a->way == b->way && a->tasks == b->tasks && a->inherit == b->inherit &&
	       a->first_cgroup == b->first_cgroup && a->n_cgroups == b->n_cgroups && a->cpus.n == b->cpus.n &&
	       (!a->cpus.n || !memcmp(a->cpus.cpu, b->cpus.cpu, a->cpus.n * sizeof(*a->cpus.cpu)));
}

/* Adds the event to the group of its braces, to one of its class, or to a new one. */
static void assign(struct perf_source *s, struct plan *p, struct perf_event *e)
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

	if (!(wanted.tasks && read))
		perf_event_cpus(s, p, ev, &wanted.cpus);
	wanted.inherit = wanted.tasks && !p->options->perf.per_thread &&
			 (ev->inherit < 0 ? !p->options->perf.no_inherit : ev->inherit);
	if (ev->pmu_index != EVENT_NONE && !wanted.cpus.n && !(wanted.tasks && read))
		perf_event_beyond(s, p, e, &wanted.cpus);
	for (uint32_t i = 0; i < s->n_groups && !g; i++)
		if (are_alike(s->group[i], &wanted) && s->group[i]->n < PERF_GROUP_MAX &&
		    (braces ? s->group[i]->member[0]->ev->group == braces : class && s->group[i]->class == class))
			g = s->group[i];
	if (!g && !e->elsewhere) {
		g = perf_group_like(&s->group, &s->n_groups, &wanted);
		g->class = class;
		g->braces = braces;
		g->weak = braces && ev->mods & EVENT_MOD_WEAK;
	}
	if (!e->elsewhere)
		perf_group_add(g, e);
	cpulist_release(&wanted.cpus);
}

/* Takes member k into a group of its own, which comes last. */
static void group_split(struct perf_source *s, struct perf_group *g, uint32_t k)
{
	perf_group_add(perf_group_like(&s->group, &s->n_groups, g), g->member[k]);
	perf_group_remove(g, k);
}

/* The kernel's part was refused: the event's name says so, unless the user chose it. */
static void mark_user_only(struct event *ev)
{
	char *shown = ev->display;

	if (!ev->named) {
		ev->display = memory_format("%s%s", shown, shown[strlen(shown) - 1] == '/' ? "u" : ":u");
		free(shown);
	}
	event_set_mods(ev, ev->mods | EVENT_MOD_USER);
}

/* Says what is wrong with the filter of a tracepoint; `number` is the kernel's positive errno. */
static void perf_filter_failed(const char *event, const char *filter, int number, struct error *e)
{
	if (number == EPERM || number == EACCES)
		error_sys(e, number, "--filter '%.100s' of %.100s", filter, event);
	else
		error_set(e, number,
			  "--filter '%.60s' of %.60s: the kernel does not understand it; write FIELD OPERATOR VALUE, "
			  "joined by && and ||; its format file below /sys/kernel/tracing/events lists the fields",
			  filter, event);
}

/* Opens member k in the leader's group, or alone if that is refused. */
static int try_member(const struct plan *p, struct perf_group *g, struct perf_event *e, struct perf_place at,
		      int leader, bool *alone_only, struct error *error)
{
	bool excluded = false;
	bool inherit = g->inherit && g->way == PERF_BY_READ;
	int fd = perf_event_try(e, inherit, at, leader, &excluded);

	*alone_only = false;
	if (fd < 0 && leader >= 0) {
		fd = perf_event_try(e, inherit, at, -1, &excluded);
		*alone_only = fd >= 0;
	}
	if (fd >= 0 && e->filter && ioctl(fd, PERF_EVENT_IOC_SET_FILTER, e->filter)) {
		int err = errno;

		close(fd);
		/* Recording more than the filter lets through would be a different measurement. */
		perf_filter_failed(e->ev->name, e->filter, err, error);
		return -ENOTRECOVERABLE;
	}
	/* perf drops the kernel's part before it checks whether the event exists. */
	if (excluded && (fd >= 0 || (fd == -ENOENT && p->options->perf.as_perf)))
		mark_user_only(e->ev);
	return fd;
}

/* Rows of a group: tasks, CPUs, or every CPU of one cgroup after the other. */
static uint32_t perf_rows_places(const struct perf_source *s, const struct perf_group *g)
{
	return g->tasks ? s->n_tasks : (uint32_t)g->cpus.n * (g->n_cgroups ? g->n_cgroups : 1);
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

/* Ends what perf_groups_settle() has kept open. */
static void perf_held_close(struct perf_source *s)
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

			while (g->n > keep)
				group_split(s, g, g->weak ? g->n - 1 : k);
			err = g->weak ? -EAGAIN : 0;
		} else {
			e->err = EINVAL;
			e->remedy =
				e->ev->core && perf_nmi_watchdog(p->root) ? PM_REMEDY_WEAK_WATCHDOG : PM_REMEDY_WEAK;
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

static int settle_group(struct perf_source *s, struct plan *p, struct perf_group *g, struct error *error)
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
		e->remedy = g->tasks ? 0 : PM_REMEDY_ANOTHER_CPU;
		if (!g->tasks && e->ev->pmu_index != EVENT_NONE && has_no_cpu(&s->pmus.pmu[e->ev->pmu_index])) {
			/* The mask of an uncore PMU is never empty, but may be no list. */
			e->reason = e->ev->uncore ? PM_REASON_NOT_SUPPORTED : PM_REASON_OFFLINE;
			e->remedy = PM_REMEDY_CPUS_ONLINE;
			e->incurable = e->ev->uncore;
		}
	}
	return 0;
}

/* Puts the events into groups, and tries each on its first CPU or task: what cannot be opened gets an error, what
 * cannot be opened together is taken apart. */
static int perf_groups_settle(struct perf_source *s, struct plan *p, struct error *error)
{
	uint32_t kept = 0;
	int err = 0;

	for (size_t i = 0; i < s->set.n; i++)
		if (!s->event[i].err && s->set.event[i].type != EVENT_TYPE_TOOL)
			assign(s, p, &s->event[i]);
	tell_other_cpus(s, p);
	/* Groups that are split off meanwhile are tried in their turn. */
	for (uint32_t i = 0; i < s->n_groups && !err; i++)
		err = settle_group(s, p, s->group[i], error);
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

/* Who reads the groups of CPUs at each tick: the kernel, in the interrupt of a timer, or a reader, which a timer
 * wakes and which takes several times as much CPU time. */

/* At longer intervals the cost of a reader's wake-ups is not measurable, and it reads without delay. */
#define SAMPLE_MAX_NS 50000000u
/* As requested. */
#define SAMPLE_LIMIT_NS 500000000u
/* The kernel's clock is not faster. */
#define SAMPLE_MIN_NS 10000u

/* Whether a clock of the CPU can lead the group: system-wide events, in software or in the core. */
static bool can_be_sampled(const struct perf_group *g)
{
	bool can = !g->tasks && !g->n_cgroups && !g->bpf && g->way == PERF_BY_READ && g->n > 0;

	for (uint32_t k = 0; k < g->n && can; k++) {
		const struct event *ev = g->member[k]->ev;

		can = !(ev->mods & (EVENT_MOD_PINNED | EVENT_MOD_EXCLUSIVE)) && !ev->uncore &&
		      (ev->core || ev->type == PERF_TYPE_SOFTWARE || ev->type == PERF_TYPE_TRACEPOINT ||
		       !strcmp(ev->pmu, "msr"));
	}
	return can;
}

/* Which groups the kernel samples (sample_ns): those that it can, if that was requested or the interval is short. */
static void perf_choose_sampling(struct perf_source *s, const struct sample_options *o)
{
	if (o->sampling == SAMPLING_READER || o->interval_ns < SAMPLE_MIN_NS ||
	    o->interval_ns > (o->sampling == SAMPLING_KERNEL ? SAMPLE_LIMIT_NS : SAMPLE_MAX_NS))
		return;
	for (uint32_t i = 0; i < s->n_groups; i++)
		if (can_be_sampled(s->group[i]))
			s->group[i]->sample_ns = o->interval_ns;
}

/* ---- what the recording says about each event ---- */

struct attr_value {
	uint32_t key;
	struct pm_value v;
	bool wanted;
};

static uint16_t reason_of(const struct perf_event *e)
{
	return e->reason ? e->reason : perf_reason(e->err);
}

static void set_attrs(struct pm_counter *c, const struct perf_event *e, const struct plan *p,
		      const struct perf_group *g, uint32_t position)
{
	const struct event *ev = e->ev;
	const struct bpf_group *bpf = g ? g->bpf : NULL;
	const char *program = bpf ? bpf->name : NULL;
	struct attr_value all[] = {
		{ PM_COUNTER_REQUESTED, pm_bool(true), e->requested },
		{ PM_COUNTER_PERF_ATTR, pm_bytes(e->attr.bytes, e->attr.a.size), true },
		{ PM_COUNTER_PERF_PMU, pm_text(ev->pmu), true },
		{ PM_COUNTER_PERF_EVENT, pm_text(ev->name), true },
		{ PM_COUNTER_PERF_GROUP, pm_u64(g ? g->number : 0), g != NULL },
		{ PM_COUNTER_PERF_POSITION, pm_u64(position), g != NULL },
		{ PM_COUNTER_PERF_WEAK, pm_bool(true), ev->mods & EVENT_MOD_WEAK },
		{ PM_COUNTER_PERF_PINNED, pm_bool(true), ev->mods & EVENT_MOD_PINNED },
		{ PM_COUNTER_PERF_PER_PKG, pm_bool(true), ev->per_pkg },
		{ PM_COUNTER_PERF_SNAPSHOT, pm_bool(true), ev->snapshot },
		{ PM_COUNTER_PERF_PERCORE, pm_bool(true), ev->percore },
		{ PM_COUNTER_PERF_WILDCARD, pm_u64(ev->wildcard), ev->wildcard },
		{ PM_COUNTER_PERF_METRIC_ID, pm_text(ev->metric_id ? ev->metric_id : ""), ev->metric_id },
		{ PM_COUNTER_PERF_GROUP_NAME, pm_text(ev->group_name ? ev->group_name : ""), ev->group_name },
		{ PM_COUNTER_PERF_USER_TEXT, pm_text(ev->text), true },
		{ PM_COUNTER_PERF_PARSED, pm_u64(ev->parsed), true },
		{ PM_COUNTER_PERF_INVALID, pm_u64(reason_of(e)), e->err && !g },
		{ PM_COUNTER_PERF_BPF, pm_text(bpf ? bpf->text : ""), bpf != NULL },
		{ PM_COUNTER_PERF_PROGRAM, pm_text(program ? program : ""), program != NULL },
		{ PM_COUNTER_PERF_FILTER, pm_text(e->filter ? e->filter : ""), e->filter },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (all[i].wanted && plan_may_record(p->options, all[i].key))
			plan_set(&c->attrs, all[i].key, all[i].v);
		else
			pm_value_release(&all[i].v);
	}
}

/* Adds it under the canonical text, with a number appended if the same event exists already. */
static uint32_t add_named(struct plan *p, struct pm_counter *c)
{
	const char *name = c->name;
	char numbered[512];
	int64_t id = pm_model_add_counter(p->model, c);

	for (unsigned n = 2; id == -EEXIST && n < EVENT_LIST_MAX; n++) {
		snprintf(numbered, sizeof(numbered), "%.480s#%u", name, n);
		c->name = numbered;
		id = pm_model_add_counter(p->model, c);
	}
	c->name = (char *)name;
	return (uint32_t)memory_must(id);
}

static void add_event_counter(struct plan *p, struct perf_event *e, const struct perf_group *g, uint32_t position)
{
	const struct event *ev = e->ev;
	struct pm_counter c = {
		.name = ev->name,
		.display = ev->display,
		.source = "perf",
		.unit = (char *)event_unit_ucum(ev->unit ? ev->unit : "1"),
		.scale = { .num = 1, .den = 1, .text = ev->scale },
		.type = PM_U64,
		.semantics = ev->snapshot ? PM_GAUGE : PM_CUMULATIVE,
		.width = 64,
		.aggregation = PM_AGG_SUM,
	};

	set_attrs(&c, e, p, g, position);
	e->counter = add_named(p, &c);
	pm_map_release(&c.attrs);
	/* The kernel's timer looks at the registers twice in the time that they take for a turn at 200 W. */
	if (!strcmp(ev->pmu, "power") || !strcmp(ev->pmu, "power_core"))
		plan_read_within(p, ENERGY_WITHIN_NS);
}

static const struct perf_group *group_of(const struct perf_source *s, const struct perf_event *e, uint32_t *position)
{
	for (uint32_t i = 0; i < s->n_groups; i++)
		for (*position = 0; *position < s->group[i]->n; ++*position)
			if (s->group[i]->member[*position] == e)
				return s->group[i];
	return NULL;
}

static void refuse_event(struct plan *p, const struct perf_event *e, struct pm_value what)
{
	struct pm_value remedy = e->incurable ? pm_remark(0) :
				 e->remedy    ? pm_remark(e->remedy) :
						perf_remedy(e->err, e->ev, p);

	plan_refused(p, reason_of(e), remedy, what);
}

#define NAMED_MAX 16

/* The name of a default event in a note: many PMUs of a kind share that of their class. */
static const char *called(const struct perf_source *s, size_t k)
{
	const struct event *ev = &s->set.event[k];
	const struct event_pmu *pmu = ev->pmu_index == EVENT_NONE ? NULL : &s->pmus.pmu[ev->pmu_index];

	return pmu && pmu->class && !pmu->ruled ? pmu->class : ev->display;
}

/* Events that the user named are counters even if they cannot be opened; of the defaults only a note remains, one for
 * all that fail in the same way. */
static void perf_counters_add(struct perf_source *s, struct plan *p)
{
	/* perf prints lines of its default events even if the machine lacks them. */
	bool all = p->options->output.fd > 0;

	for (size_t i = 0; i < s->set.n; i++) {
		struct perf_event *e = &s->event[i];
		uint32_t position = 0;
		const struct perf_group *g = group_of(s, e, &position);

		if (e->elsewhere)
			continue;
		if (!e->err || g || e->requested || all)
			add_event_counter(p, e, g, position);
		else if (e->ev->pmu_index != EVENT_NONE)
			perf_class_refuse(&s->pmus.pmu[e->ev->pmu_index], reason_of(e));
		/* Look it up by its counter's name: the same event may exist twice, once with success. */
		if (e->err && e->requested)
			refuse_event(p, e, pm_remark(PM_REMARK_EVENTS, pm_model_counter(p->model, e->counter)->name));
	}
	for (uint32_t i = 0; i < s->n_groups; i++)
		for (uint32_t k = 0; s->group[i]->copy && k < s->group[i]->n; k++)
			add_event_counter(p, &s->group[i]->copy[k], s->group[i], k);
	for (size_t i = 0; i < s->set.n; i++) {
		SCOPED(buf_release) struct buf text = BUF_INIT;
		SCOPED(names_release) struct names told = { 0 };
		bool first = !s->event[i].requested && s->event[i].err;
		uint32_t ignored;

		for (size_t k = 0; k < i && first; k++)
			first = s->event[k].err != s->event[i].err;
		for (size_t k = i; k < s->set.n && first; k++)
			if (s->event[k].err == s->event[i].err && !names_get(&told, called(s, k), &ignored)) {
				if (told.n < NAMED_MAX)
					buf_printf(&text, "%s%s", text.len ? ", " : "", called(s, k));
				memory_must(names_set(&told, called(s, k), 0));
			}
		if (first)
			refuse_event(p, &s->event[i],
				     pm_remark(told.n > NAMED_MAX ? PM_REMARK_MORE_EVENTS : PM_REMARK_EVENTS,
					       buf_str(&text), (unsigned)told.n - NAMED_MAX));
	}
	perf_classes_record(&s->pmus, p->model);
}

/* Within this time a group has a counter: those of one PMU take turns of some milliseconds. */
#define LACKING_NS 800000000u
#define TURN_NS    8000000u

/* Approximate number of descriptors that the sources after this one need. */
#define OTHERS 32

/* Checks how many descriptors all rows need, besides all others. */
static void check_descriptors(const struct perf_source *s, struct plan *p)
{
	uint64_t need = 0, have = perf_raise_nofile();

	for (uint32_t i = 0; i < s->n_groups; i++) {
		const struct perf_group *g = s->group[i];
		/* What BPF counts needs descriptors once, and the kernel keeps the events. */
		uint32_t each = g->bpf && !g->bpf->opens ? 5 : perf_rows_places(s, g);

		need += (uint64_t)(g->n + (g->sample_ns > 0)) * each;
	}
	/* What notices new tasks. */
	if (p->options->perf.per_thread && !p->options->perf.no_inherit)
		need += (uint64_t)(s->n_tasks + 1) * p->model->topology.n;
	need += perf_used_nofile();
	if (need <= have)
		return;
	need += OTHERS;
	plan_refused(p, pm_reason_errno(EMFILE), pm_remark(PM_REMEDY_ULIMIT, (unsigned)need),
		     pm_remark(PM_REMARK_DESCRIPTORS, (unsigned)need, (unsigned)have));
}

/* ---- rows of groups: where each is opened, and the column groups that they fill ---- */

static struct perf_start perf_start_of(const struct perf_source *s, const struct perf_group *g)
{
	bool on_exec = s->from_exec && s->to_exec && g->tasks;

	/* Nobody calls enable() for a command that is followed from its exec on. */
	return (struct perf_start){ .on = s->on || (s->from_exec && !on_exec), .on_exec = on_exec };
}

/* Reports members that could not be opened where others of their group could, as with too few descriptors. */
static void tell_missing(struct plan *p, const struct perf_row *row)
{
	int cpu = row->at.cpu;

	for (uint32_t k = 0; k < row->n && row->n_open < row->n; k++) {
		const struct event *ev = row->group->member[k]->ev;

		if (row->missing[k])
			plan_refused(p, row->missing[k],
				     row->missing[k] <= PM_REASON_ERRNO ?
					     pm_remark(0) :
					     perf_remedy(row->missing[k] - PM_REASON_ERRNO, ev, p),
				     pm_remark(cpu < 0 ? PM_REMARK_EVENT_ON_TASK : PM_REMARK_EVENT_ON_CPU, ev->name,
					       (unsigned)cpu));
	}
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

/* Opens a row for the place; NULL if nothing can be opened there, which is noted. */
static struct perf_row *open_row(struct perf_source *s, struct plan *p, struct perf_group *g, struct perf_place at,
				 uint32_t instance, uint32_t cgroup)
{
	struct perf_row *row = perf_row_new(g, at, instance);
	unsigned remark = at.cpu < 0 ? (g->n > 1 ? PM_REMARK_GROUP_ON_TASK : PM_REMARK_EVENT_ON_TASK) :
				       (g->n > 1 ? PM_REMARK_GROUP_ON_CPU : PM_REMARK_EVENT_ON_CPU);
	int err;

	row->cgroup = cgroup;
	err = perf_row_open(row, perf_start_of(s, g));
	if (!err) {
		tell_missing(p, row);
		return row;
	}
	/* Among many threads some end while they are being listed. */
	if (err != -ESRCH || !p->options->perf.per_thread)
		plan_refused(p, perf_reason(err), perf_remedy(err, g->member[0]->ev, p),
			     pm_remark(remark, g->member[0]->ev->name, (unsigned)at.cpu));
	/* On a CPU that lacks what others have, a member has no values: its part of a sum is missing. */
	row->shut = is_shortage(err, at);
	if (row->shut)
		return row;
	row->unit.release(&row->unit);
	return NULL;
}

/* Opens the row of the group on a CPU, in one of its cgroups if it has any. */
static struct perf_row *open_cpu(struct perf_source *s, struct plan *p, struct perf_group *g, uint32_t cgroup,
				 uint32_t cpu)
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
	return id < 0 ? NULL : open_row(s, p, g, at, (uint32_t)id, cgroup);
}

/* One column group for rows that are not in one yet. */
static void perf_rows_add(struct plan *p, struct perf_group *g, struct perf_row **rows, uint32_t n)
{
	struct pm_group out = {
		.source = "perf", .flags = PM_GROUP_PERF_TIMES, .n_counters = g->n, .n_instances = n
	};
	int64_t id;

	if (!n)
		return;
	out.counter = memory_new(g->n, sizeof(*out.counter));
	out.instance = memory_new(n, sizeof(*out.instance));
	for (uint32_t k = 0; k < g->n; k++)
		out.counter[k] = g->member[k]->counter;
	for (uint32_t i = 0; i < n; i++)
		out.instance[i] = rows[i]->instance;
	id = plan_group(p, &out);
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
}

/* Opens all rows of a group. */
static void perf_rows_open(struct perf_source *s, struct plan *p, struct perf_group *g)
{
	uint32_t places = perf_rows_places(s, g), n = 0;
	SCOPED(scoped_free) struct perf_row **rows = memory_new(places, sizeof(*rows));

	for (uint32_t i = 0; i < places; i++) {
		/* Its number may be another's now. */
		if (g->tasks && s->task[i].ended_ns)
			continue;
		rows[n] = g->tasks ? open_row(s, p, g, perf_on_task(s->task[i].tid), s->task[i].instance, 0) :
				     open_cpu(s, p, g, g->first_cgroup + i / (uint32_t)g->cpus.n,
					      g->cpus.cpu[i % g->cpus.n]);
		n += rows[n] != NULL;
	}
	perf_rows_add(p, g, rows, n);
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

/* After a CPU went offline or came online: for one group, and one of its cgroups, if any. */
static void perf_rows_update(struct perf_source *s, struct plan *p, struct perf_group *g, uint32_t cgroup,
			     uint32_t cpu, bool online)
{
	struct perf_row *row = NULL;

	if (g->member[0]->ev->uncore && !online)
		follow_mask(g, p, cpu);
	for (uint32_t k = 0; k < g->n_rows && !row; k++)
		if (g->row[k]->at.cpu == (int)cpu && (!g->n_cgroups || g->row[k]->cgroup == cgroup))
			row = g->row[k];
	if (row && g->member[0]->ev->uncore)
		return;
	if (row && online)
		reopen(s, row);
	else if (row)
		perf_row_close(row, true);
	else if (online && plan_wants_cpu(p, cpu) && counts_on(g, p, cpu) && (row = open_cpu(s, p, g, cgroup, cpu)))
		perf_rows_add(p, g, &row, 1);
}

/* Reopens what stopped because its CPU was offline too briefly to be noticed. */
static void perf_rows_revive(struct perf_source *s, struct plan *p)
{
	SCOPED(cpulist_release) struct cpulist online = { 0 };
	uint64_t revived = 0;

	(void)root_cpulist(p->root, &online, "/sys/devices/system/cpu/online");
	for (uint32_t i = 0; i < s->n_groups; i++)
		for (uint32_t k = 0; k < s->group[i]->n_rows; k++) {
			struct perf_row *row = s->group[i]->row[k];

			if (!row->stood || !cpulist_has(&online, (uint32_t)row->at.cpu))
				continue;
			revived++;
			reopen(s, row);
		}
	if (revived)
		plan_note(p, revived, pm_remark(PM_REMARK_CPUS_WERE_AWAY));
}

/* ---- what is followed instead of CPUs: the command, or the processes and threads of -p and -t ---- */

/* --per-thread: tasks that start and end while recording. The kernel writes a record of each into buffers that this
 * reads. A new task gets its events at once, and a place in the recording a little later, together with others.
 * What a task did before its events were open, some microseconds, is not counted; `n_missed` counts tasks that had
 * ended by then. */

#define DATA_PAGES 8 /* a power of two; 32 bytes per record */

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static void close_ring(const struct perf_follow_ring *ring)
{
	if (ring->base)
		munmap(ring->base, (DATA_PAGES + 1) * page_bytes());
	close(ring->fd);
}

static void perf_follow_end(struct perf_follow *f)
{
	for (uint32_t i = 0; i < f->n_rings; i++)
		close_ring(&f->ring[i]);
	free(f->ring);
	fd_close(&f->epoll);
	*f = (struct perf_follow){ .epoll = -1 };
}

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
		struct perf_row *row;
		int err;

		if (!s->group[i]->tasks)
			continue;
		row = perf_row_new(s->group[i], perf_on_task(tid), 0);
		err = perf_row_open(row, start);
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
	if (open_rows(s, tid)) {
		s->n_missed++;
		return;
	}
	memory_room(&s->task, s->n_tasks, sizeof(*s->task));
	s->task[s->n_tasks++] = (struct perf_task){ .pid = pid, .tid = tid, .began_ns = time_ns, .end = -1 };
}

static void end_task(struct noticed *n, pid_t tid, uint64_t time_ns)
{
	struct perf_task *t = find_task(n->s, tid);

	/* The end of the command is an event of its own, and with -r it begins again. */
	if (t && !t->ended_ns && tid != n->p->child)
		t->ended_ns = time_ns;
}

/* `into`: the ring of its CPU that has a buffer, or -1 for the first one there, which gets it. */
static int add_ring(struct perf_follow *f, pid_t tid, uint32_t cpu, int into)
{
	union perf_attr attr = {
		.a = { .size = sizeof(attr.a),
		       .type = PERF_TYPE_SOFTWARE,
		       .config = PERF_COUNT_SW_DUMMY,
		       .task = 1,
		       .inherit = tid >= 0,
		       .exclude_kernel = 1,
		       .watermark = 1, /* events would be samples */
		       .wakeup_watermark = 1,
		       .use_clockid = 1,
		       .clockid = CLOCK_MONOTONIC },
	};
	struct perf_place at = { .pid = tid, .cpu = (int)cpu, .cgroup = -1 };
	struct epoll_event watch = { .events = EPOLLIN };
	void *base = NULL;
	int fd, err = 0;

	memory_room(&f->ring, f->n_rings, sizeof(*f->ring));
	fd = perf_open(&attr, at, -1);
	if (fd < 0)
		return fd;
	if (into >= 0) {
		err = ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, into) ? -errno : 0;
	} else {
		base = mmap(NULL, (DATA_PAGES + 1) * page_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (base == MAP_FAILED || epoll_ctl(f->epoll, EPOLL_CTL_ADD, fd, &watch))
			err = -errno;
	}
	if (err) {
		if (base && base != MAP_FAILED)
			munmap(base, (DATA_PAGES + 1) * page_bytes());
		close(fd);
		return err;
	}
	f->ring[f->n_rings++] = (struct perf_follow_ring){ .fd = fd, .base = base };
	return fd;
}

static int follow_cpu(struct perf_follow *f, const pid_t *tid, uint32_t n, uint32_t cpu)
{
	int into = -1;

	for (uint32_t i = 0; i < (n ? n : 1); i++) {
		int fd = add_ring(f, n ? tid[i] : -1, cpu, into);

		/* A task that has just ended starts no others. */
		if (fd < 0 && fd != -ESRCH)
			return fd;
		if (into < 0)
			into = fd;
	}
	return 0;
}

/* Watches the tasks that these and their descendants start, or all (n 0), on these CPUs. 0 or -errno. */
static int perf_follow_begin(struct perf_follow *f, const pid_t *tid, uint32_t n, const struct cpulist *cpus)
{
	int err = 0, refused = 0;

	*f = (struct perf_follow){ .epoll = epoll_create1(EPOLL_CLOEXEC) };
	if (f->epoll < 0)
		return -errno;
	for (size_t c = 0; c < cpus->n && !err; c++) {
		err = follow_cpu(f, tid, n, cpus->cpu[c]);
		/* A CPU that is offline is left out until it comes, unless all are. */
		if (err == -ENODEV || err == -EINVAL || err == -ENXIO) {
			refused = err;
			err = 0;
		}
	}
	if (!err && !f->n_rings)
		err = refused;
	if (err)
		perf_follow_end(f);
	return err;
}

/* PERF_RECORD_FORK and _EXIT. */
struct task_record {
	struct perf_event_header header;
	uint32_t pid, ppid, tid, ptid;
	uint64_t time;
};

static void take_record(struct noticed *n, const struct task_record *r)
{
	if (r->header.type == PERF_RECORD_LOST)
		n->lost = true;
	else if (r->header.size < sizeof(*r))
		return;
	else if (r->header.type == PERF_RECORD_FORK)
		begin_task(n, (pid_t)r->pid, (pid_t)r->tid, r->time);
	else if (r->header.type == PERF_RECORD_EXIT)
		end_task(n, (pid_t)r->tid, r->time);
}

static void read_ring(struct noticed *n, const struct perf_follow_ring *ring)
{
	struct perf_event_mmap_page *page = ring->base;
	const char *data = (const char *)ring->base + page_bytes();
	uint64_t size = DATA_PAGES * page_bytes(), tail = page->data_tail;
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	/* The kernel reports lost records only with the next one that fits, which may come too late. */
	bool full = head - tail + 4 * sizeof(struct task_record) > size;

	while (tail < head) {
		struct task_record r = { 0 };
		uint64_t at = tail % size, bytes = sizeof(r);

		/* It may wrap around in the buffer; records longer than ours do not matter. */
		if (bytes > size - at)
			bytes = size - at;
		memcpy(&r, data + at, bytes);
		memcpy((char *)&r + bytes, data, sizeof(r) - bytes);
		if (!r.header.size || r.header.size > head - tail)
			break;
		tail += r.header.size;
		take_record(n, &r);
	}
	__atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
	n->lost |= full;
}

/* Reads all records, in order of time for each CPU. */
static void perf_follow_read(struct noticed *n)
{
	for (uint32_t i = 0; i < n->s->follow.n_rings; i++)
		if (n->s->follow.ring[i].base)
			read_ring(n, &n->s->follow.ring[i]);
}

/* An instance for a task that has none yet. */
static void perf_task_define(struct perf_source *s, struct plan *p, struct perf_task *t, uint32_t number)
{
	struct pm_instance i = { .kind = PM_TASK, .number = PM_NONE, .cpu = PM_NONE, .added_ns = t->began_ns };
	char name[32], comm[64];
	int64_t id;

	snprintf(name, sizeof(name), "task-%u", number);
	plan_set(&i.attrs, PM_INSTANCE_NAME, pm_text(name));
	if (plan_may_name(p->options, PM_INSTANCE_PID))
		plan_set(&i.attrs, PM_INSTANCE_PID, pm_u64((uint64_t)t->pid));
	if (plan_may_name(p->options, PM_INSTANCE_TID))
		plan_set(&i.attrs, PM_INSTANCE_TID, pm_u64((uint64_t)t->tid));
	/* The command gets its name only by its exec. */
	if (plan_may_name(p->options, PM_INSTANCE_COMM) && t->tid != p->child &&
	    !root_line(p->root, comm, sizeof(comm), "/proc/%d/comm", (int)t->tid))
		plan_set(&i.attrs, PM_INSTANCE_COMM, pm_text(comm));
	id = plan_instance(p, &i);
	if (id > 0)
		t->instance = (uint32_t)id;
}

static void add_task(struct perf_source *s, struct plan *p, pid_t pid, pid_t tid)
{
	memory_room(&s->task, s->n_tasks, sizeof(*s->task));
	s->task[s->n_tasks] = (struct perf_task){ .pid = pid, .tid = tid, .end = -1 };
	perf_task_define(s, p, &s->task[s->n_tasks], s->n_tasks + 1);
	s->n_tasks++;
}

/* Adds all threads of a process. */
static int add_process(struct perf_source *s, struct plan *p, uint32_t pid, struct error *e)
{
	SCOPED(root_list_free) char **names = NULL;
	int n = root_list(p->root, &names, "/proc/%u/task", pid);

	if (n < 0)
		return error_set(e, ESRCH, "-p: there is no process %u", pid);
	for (int i = 0; i < n; i++)
		add_task(s, p, (pid_t)pid, (pid_t)strtol(names[i], NULL, 10));
	return 0;
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
			add_task(s, p, process_of(p->root, (pid_t)id), (pid_t)id);
		at = *end ? end + 1 : NULL;
	}
	return err;
}

/* Adds every thread of the system, except those that end meanwhile. */
static int add_all(struct perf_source *s, struct plan *p)
{
	SCOPED(root_list_free) char **names = NULL;
	int n = root_list(p->root, &names, "/proc");

	for (int i = 0; i < n; i++)
		if (names[i][0] >= '0' && names[i][0] <= '9')
			(void)add_process(s, p, (uint32_t)strtoul(names[i], NULL, 10), NULL);
	return n < 0 ? n : 0;
}

/* Adds the instances of what is followed, if that is not CPUs. */
static int perf_tasks_add(struct perf_source *s, struct plan *p, struct error *e)
{
	int err;

	if (p->options->target == TARGET_COMMAND && p->child)
		add_task(s, p, p->child, p->child);
	if (p->options->target != TARGET_TASKS)
		return 0;
	if (!p->options->perf.pids && !p->options->perf.tids)
		return add_all(s, p);
	err = add_ids(s, p, p->options->perf.pids, false, e);
	return err ? err : add_ids(s, p, p->options->perf.tids, true, e);
}

/* Reports that it has ended, once it has an instance. Descendants' counts continue to be added to their ancestor, so
 * a row with heirs is not over. */
static void perf_task_gone(struct perf_source *s, struct plan *p, struct perf_task *t)
{
	if (!t->ended_ns || t->told || !t->instance)
		return;
	t->told = true;
	for (uint32_t i = 0; i < s->n_groups; i++)
		for (uint32_t k = 0; k < s->group[i]->n_rows && s->group[i]->tasks && !s->group[i]->inherit; k++)
			if (s->group[i]->row[k]->instance == t->instance && s->group[i]->row[k]->end == PERF_ALIVE)
				s->group[i]->row[k]->end = PERF_ENDING;
	plan_gone(p, t->instance, t->ended_ns);
}

/* Works for processes since Linux 5.3, for threads since 6.9 (PIDFD_THREAD). */
static int open_end(pid_t tid)
{
	long fd = syscall(SYS_pidfd_open, tid, 0);

	if (fd < 0)
		fd = syscall(SYS_pidfd_open, tid, O_EXCL);
	return (int)fd;
}

/* -p and -t, unless new tasks are followed: watches for the end of each, where the kernel lets it. */
static void perf_tasks_watch(struct perf_source *s, const struct plan *p)
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

/* True if any has ended, for perf_tasks_look() to report. */
static bool perf_tasks_notice(struct perf_source *s)
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

static void perf_tasks_release(struct perf_source *s)
{
	for (uint32_t i = 0; i < s->n_tasks; i++)
		fd_close(&s->task[i].end);
	fd_close(&s->ends);
	free(s->task);
}

/* Finds tasks of -p and -t that have ended. */
static void perf_tasks_look(struct perf_source *s, struct plan *p)
{
	const struct record_options *o = p->options;
	bool any = o->target != TARGET_TASKS || (!o->perf.pids && !o->perf.tids) || !s->n_tasks;

	for (uint32_t i = 0; i < s->n_tasks && o->target == TARGET_TASKS; i++) {
		struct perf_task *t = &s->task[i];

		if (!t->ended_ns && root_exists(p->root, "/proc/%d", (int)t->tid)) {
			any = true;
			continue;
		}
		if (!t->ended_ns)
			t->ended_ns = clocks_monotonic();
		perf_task_gone(s, p, t);
	}
	p->targets_gone = !any;
}

/* --per-thread: a row per task, including those that begin while recording. */

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
			end_task(n, t->tid, clocks_monotonic());
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

/* Tasks that can start others. */
static pid_t *live_tasks(const struct perf_source *s, const struct plan *p, uint32_t *n)
{
	pid_t *tid = memory_new(s->n_tasks, sizeof(*tid));

	*n = 0;
	for (uint32_t i = 0; i < s->n_tasks && !follows_all(p); i++)
		if (!s->task[i].ended_ns)
			tid[(*n)++] = s->task[i].tid;
	return tid;
}

/* Existing tasks can be counted even if new ones cannot. */
static void watch_threads(struct perf_source *s, struct plan *p)
{
	SCOPED(cpulist_release) struct cpulist present = { 0 };
	uint32_t n;
	SCOPED(scoped_free) pid_t *tid = live_tasks(s, p, &n);
	int err = root_cpulist(p->root, &present, "/sys/devices/system/cpu/present");

	if (!err && (n || follows_all(p)))
		err = perf_follow_begin(&s->follow, tid, n, &present);
	if (err)
		plan_refused(p, perf_reason(err), perf_remedy(err, NULL, p), pm_remark(PM_REMARK_NEW_TASKS));
}

/* Watches for new tasks. */
static void perf_threads_begin(struct perf_source *s, struct plan *p)
{
	s->follow.epoll = -1;
	if (!p->options->perf.per_thread || p->options->perf.no_inherit || !s->n_groups)
		return;
	s->since_ticks = clocks_ns(CLOCK_BOOTTIME) / (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
	watch_threads(s, p);
}

/* A CPU has come online: the kernel has dropped a watch of all tasks there, or never had one. So all are watched
 * anew, and what began meanwhile is searched for. Call perf_threads_update() afterwards. */
static void perf_threads_cpu(struct perf_source *s, struct plan *p)
{
	struct noticed n = { .s = s, .p = p };

	if (s->follow.epoll < 0)
		return;
	perf_follow_read(&n);
	perf_follow_end(&s->follow);
	watch_threads(s, p);
	look_again(&n);
}

/* Reads what has happened: opens events for new tasks. True if perf_threads_update() has something to do. */
static bool perf_threads_notice(struct perf_source *s, struct plan *p)
{
	struct noticed n = { .s = s, .p = p };
	bool work = false;

	if (s->follow.epoll < 0)
		return false;
	perf_follow_read(&n);
	if (n.lost) {
		s->n_lost++;
		look_again(&n);
	}
	for (uint32_t i = 0; i < s->n_tasks && !work; i++)
		work = !s->task[i].instance || (s->task[i].ended_ns && !s->task[i].told);
	return work;
}

static void define_new(struct perf_source *s, struct plan *p)
{
	for (uint32_t i = 0; i < s->n_tasks; i++) {
		if (s->task[i].instance)
			continue;
		perf_task_define(s, p, &s->task[i], i + 1);
		for (uint32_t g = 0; g < s->n_groups && s->task[i].instance; g++) {
			struct perf_row **row = s->group[g]->row, **end = row + s->group[g]->n_rows;

			/* Two tasks may have had one number, in the order of their rows. */
			while (row < end && ((*row)->instance || (*row)->at.pid != s->task[i].tid))
				row++;
			if (row < end)
				(*row)->instance = s->task[i].instance;
		}
	}
}

static void place_rows(struct plan *p, struct perf_group *g)
{
	SCOPED(scoped_free) struct perf_row **rows = memory_new(g->n_rows, sizeof(*rows));
	uint32_t n = 0;

	for (uint32_t k = 0; k < g->n_rows; k++)
		if (!g->row[k]->unit.group && g->row[k]->instance)
			rows[n++] = g->row[k];
	perf_rows_add(p, g, rows, n);
}

/* Whether its tasks have been read after their end. */
static bool has_ended(struct unit *u)
{
	const struct perf_row *row = perf_row_of(u);

	return row && row->at.cpu < 0 && row->end == PERF_ENDED;
}

/* While nothing is read: gives new tasks their place in the recording, and takes it from those that have ended. */
static void perf_threads_update(struct perf_source *s, struct plan *p)
{
	if (!p->options->perf.per_thread)
		return;
	plan_drop_units(p, has_ended);
	define_new(s, p);
	for (uint32_t i = 0; i < s->n_groups; i++)
		if (s->group[i]->tasks)
			place_rows(p, s->group[i]);
	for (uint32_t i = 0; i < s->n_tasks; i++)
		perf_task_gone(s, p, &s->task[i]);
	perf_tool_threads(s, p);
}

/* -r: drops the tasks of the previous run but the first, which is now the next command. */
static void perf_threads_restart(struct perf_source *s, struct plan *p)
{
	uint64_t now = clocks_monotonic();

	if (!p->options->perf.per_thread)
		return;
	for (uint32_t i = 1; i < s->n_tasks; i++)
		if (!s->task[i].ended_ns)
			s->task[i].ended_ns = now;
	perf_follow_end(&s->follow);
	perf_threads_begin(s, p);
}

/* ---- the source ---- */

/* Texts that are wrong for the machine are also wrong under --root. */
static int refuse_emulated(struct perf_source *s, struct plan *p, const char *sets, struct error *e)
{
	int err = p->options->perf.events || p->options->perf.metrics ? perf_events_read(s, p, sets, e) : 0;

	if (err)
		return err;
	/* More descriptors would not help. */
	if (p->root->shortage)
		*p->root->shortage = 0;
	return plan_refused(p, PM_REASON_NOT_SUPPORTED, pm_remark(0), pm_remark(PM_REMARK_EMULATED));
}

/* The kernel's own events on CPUs neither end nor wait for a counter. */
static bool is_restless(const struct perf_source *s, const struct plan *p)
{
	bool some = p->options->target != TARGET_SYSTEM || s->n_cgroups;

	for (uint32_t i = 0; i < s->n_groups && !some; i++)
		for (uint32_t k = 0; k < s->group[i]->n && !some; k++)
			some = s->group[i]->member[k]->ev->type != PERF_TYPE_SOFTWARE;
	return some;
}

static int perf_plan(struct source *source, struct plan *p, struct error *e)
{
	struct perf_source *s = source->data = memory_new(1, sizeof(*s));
	SCOPED(buf_release) struct buf sets = BUF_INIT;
	int err;

	s->follow.epoll = s->ends = -1;
	perf_pmus_read(&s->pmus, p->root);
	if (p->options->perf.null || p->root->emulated)
		perf_pmus_record(&s->pmus, NULL, p);
	if (p->options->perf.null)
		return 0;
	err = perf_sets_text(s, p, &sets, e);
	if (err)
		return err;
	perf_classes_note(&s->pmus, p);
	if (p->root->emulated)
		return refuse_emulated(s, p, buf_str(&sets), e);
	perf_raise_nofile();
	err = perf_events_read(s, p, buf_str(&sets), e);
	if (err)
		return err;
	perf_pmus_record(&s->pmus, &s->set, p);
	err = perf_tasks_add(s, p, e);
	if (err)
		return err;
	if (p->options->target == TARGET_TASKS && p->options->cpus)
		plan_refused(p, PM_OK, pm_remark(0), pm_remark(PM_REMARK_TASKS_ANYWHERE, p->options->cpus));
	err = perf_bpf_check(s, p, e);
	if (!err)
		err = perf_groups_settle(s, p, e);
	s->from_exec = s->to_exec = p->options->target == TARGET_COMMAND && !p->options->perf.delay_ms;
	if (!err)
		err = perf_bpf_begin(s, p, e);
	if (err)
		return err;
	perf_choose_sampling(s, &p->options->sample);
	check_descriptors(s, p);
	perf_counters_add(s, p);
	for (uint32_t i = 0; i < s->n_groups; i++)
		perf_rows_open(s, p, s->group[i]);
	s->to_exec = false;
	perf_held_close(s);
	source->restless = is_restless(s, p);
	perf_tool_plan(s, p);
	perf_threads_begin(s, p);
	perf_tasks_watch(s, p);
	return 0;
}

int perf_enable(struct source *source, bool on)
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

static void perf_update(struct source *source, struct plan *p, uint32_t cpu, bool online)
{
	struct perf_source *s = source->data;

	if (cpu == PM_NONE) {
		perf_rows_revive(s, p);
		perf_threads_update(s, p);
		return;
	}
	perf_tool_cpu(s, p, cpu, online);
	if (online) {
		perf_threads_cpu(s, p);
		atomic_store(&source->stale, p->options->perf.per_thread);
	}
	for (uint32_t i = 0; i < s->n_groups; i++) {
		struct perf_group *g = s->group[i];
		uint32_t n = g->n_cgroups ? g->n_cgroups : 1;

		/* What BPF counts, on new CPUs and for tasks that get there, too. */
		if (online && g->bpf && (g->tasks || plan_wants_cpu(p, cpu)))
			bpf_group_online(g, cpu);
		for (uint32_t c = g->first_cgroup; c < g->first_cgroup + n && !g->tasks; c++)
			perf_rows_update(s, p, g, c, cpu, online);
	}
}

/* If a PMU's driver was removed, its events stand still, and the kernel may not even report that. */
static void look_for_pmus(struct perf_source *s, struct plan *p)
{
	for (uint32_t i = 0; i < s->n_groups; i++) {
		struct perf_group *g = s->group[i];
		const struct event_pmu *pmu = perf_class_of_group(&s->pmus, g);

		if (!pmu || !g->n_rows || g->row[0]->end != PERF_ALIVE ||
		    root_exists(p->root, "/sys/bus/event_source/devices/%s", pmu->name))
			continue;
		for (uint32_t k = 0; k < g->n_rows; k++) {
			g->row[k]->end = PERF_ENDED;
			plan_gone(p, g->row[k]->instance, clocks_monotonic());
		}
	}
}

/* Says of which group, and why. */
static struct pm_value say_lacking(const struct perf_group *g, const struct perf_row *row, uint32_t n,
				   const struct plan *p)
{
	const struct event *ev = g->member[0]->ev;
	char where[64] = "";

	if (n == 1 && g->n_rows > 1 && row->at.cpu >= 0)
		snprintf(where, sizeof(where), " on CPU %d", row->at.cpu);
	else if (n < g->n_rows)
		snprintf(where, sizeof(where), " in %u of %u places", n, g->n_rows);
	return pm_remark(
		PM_REMARK_LACKING, ev->name, g->n > 1 ? " and the others of its group" : "",
		row->seen_running ? "hardly" : "not", where,
		ev->core && perf_nmi_watchdog(p->root) ? "; sysctl kernel.nmi_watchdog=0 frees one on each CPU" : "");
}

/* Reports each group that has no counter, once. It is counted as a whole or not at all, and the kernel does not say
 * when the events of others keep it out. */
static void look_for_lacking(struct perf_source *s, struct plan *p)
{
	uint32_t told = 0;

	for (uint32_t i = 0; i < s->n_groups; i++) {
		struct perf_group *g = s->group[i];
		const struct perf_row *row = NULL;
		struct pm_value remark;
		uint32_t n = 0;

		for (uint32_t k = 0; k < g->n_rows && !g->lacking; k++)
			if (perf_row_lacks_counter(g->row[k], LACKING_NS + (uint64_t)s->n_groups * TURN_NS)) {
				row = g->row[k];
				n++;
			}
		if (!n)
			continue;
		g->lacking = true;
		remark = say_lacking(g, row, n, p);
		/* One line for all of them. */
		if (!told++)
			plan_tell(p, &remark);
		plan_note(p, g->n, remark);
	}
	if (told > 1)
		snprintf(p->told + strlen(p->told), sizeof(p->told) - strlen(p->told),
			 "; and %u more groups (pmrep info lists them)", told - 1);
}

void perf_look(struct source *source, struct plan *p)
{
	struct perf_source *s = source->data;

	perf_cgroups_look(s, p);
	perf_tasks_look(s, p);
	look_for_pmus(s, p);
	look_for_lacking(s, p);
	for (uint32_t i = 0; i < s->n_groups; i++)
		for (uint32_t k = 0; k < s->group[i]->n_rows && s->group[i]->n_cgroups; k++) {
			struct perf_row *row = s->group[i]->row[k];

			if (s->cgroup[row->cgroup].gone && row->end == PERF_ALIVE)
				row->end = PERF_ENDING;
		}
}

int perf_restart(struct source *source, struct plan *p, struct error *e)
{
	struct perf_source *s = source->data;
	int err = 0;

	if (p->options->target != TARGET_COMMAND || !s->n_tasks)
		return 0;
	s->task[0].tid = s->task[0].pid = p->child;
	s->from_exec = s->to_exec = !p->options->perf.delay_ms;
	for (uint32_t i = 0; i < s->n_groups && !err; i++)
		for (uint32_t k = 0; k < s->group[i]->n_rows && !err; k++) {
			struct perf_row *row = s->group[i]->row[k];

			if (!s->group[i]->tasks)
				continue;
			perf_row_close(row, false);
			/* What the previous command had started ends with it. */
			if (row->instance != s->task[0].instance) {
				row->end = PERF_ENDED;
				continue;
			}
			row->at.pid = p->child;
			err = perf_row_open(row, perf_start_of(s, s->group[i]));
			/* Others may hold its counter in this run. */
			row->shut = err == -EBUSY;
			if (row->shut)
				err = 0;
			if (err)
				error_sys(e, -err, "%s in the next run", s->group[i]->member[0]->ev->name);
		}
	s->to_exec = false;
	perf_tool_restart(s->tool, p);
	if (!err)
		perf_threads_restart(s, p);
	atomic_store(&source->stale, p->options->perf.per_thread);
	return err;
}

int perf_watch(const struct source *source)
{
	const struct perf_source *s = source->data;

	return s->follow.epoll >= 0 ? s->follow.epoll : s->ends;
}

bool perf_notice(struct source *source, struct plan *p)
{
	struct perf_source *s = source->data;
	bool work = perf_threads_notice(s, p);

	if (work)
		atomic_store(&source->stale, true);
	return work || perf_tasks_notice(s);
}

/* Reports of which PMUs nothing could be read, and why that may be. */
static void note_standing(struct perf_source *s, struct plan *p)
{
	for (uint32_t i = 0; i < s->n_groups; i++) {
		struct perf_group *g = s->group[i];
		const struct event_pmu *pmu = perf_class_of_group(&s->pmus, g);
		bool first = pmu != NULL;

		for (uint32_t k = 0; k < i && first; k++)
			first = perf_class_of_group(&s->pmus, s->group[k]) != pmu;
		if (first && g->n_rows && g->row[0]->end == PERF_ALIVE)
			perf_class_stands(pmu, g, p);
	}
}

static void perf_finish(struct source *source, struct plan *p)
{
	struct perf_source *s = source->data;

	note_standing(s, p);
	if (s->n_missed)
		plan_note(p, s->n_missed, pm_remark(PM_REMARK_TASKS_MISSED));
	if (s->n_lost)
		plan_note(p, s->n_lost, pm_remark(PM_REMARK_TASKS_LOST));
}

static void perf_release(struct source *source)
{
	struct perf_source *s = source->data;

	for (uint32_t i = 0; i < s->n_groups; i++)
		perf_group_free(s->group[i]);
	free(s->group);
	free(s->event);
	perf_held_close(s);
	perf_tasks_release(s);
	perf_cgroups_release(s);
	perf_follow_end(&s->follow);
	perf_tool_release(s->tool);
	perf_bpf_release(s->bpf);
	event_set_release(&s->set);
	buf_release(&s->no_event);
	perf_pmus_release(&s->pmus);
}

void perf_doctor(struct source *source, struct plan *p, struct buf *out)
{
	struct perf_source *s = source->data;
	uint32_t rows = 0, events = 0;
	char line[32];

	for (uint32_t i = 0; s && i < s->n_groups; i++) {
		rows += s->group[i]->n_rows;
		events += s->group[i]->n;
	}
	buf_printf(out, "%u event%s in %u group%s, %u read%s per snapshot; %zu PMU%s\n", events, plural(events),
		   s ? s->n_groups : 0, plural(s ? s->n_groups : 0), rows, plural(rows), s ? s->pmus.n : 0,
		   plural(s ? s->pmus.n : 0));
	/* Each driver has its own cure; the table has room for one. */
	for (uint32_t i = 0; i < p->model->n_probes; i++) {
		const struct pm_probe *probe = &p->model->probe[i];
		SCOPED(buf_release) struct buf hint = BUF_INIT;

		pm_remark_text(&hint, &probe->hint);
		if (strncmp(buf_str(&hint), "modprobe nvidia", 15))
			continue;
		pm_remark_text(out, &probe->what);
		buf_printf(out, ": %s\n", buf_str(&hint));
	}
	if (s)
		perf_classes_tell(&s->pmus, p, out);
	if (!root_line(p->root, line, sizeof(line), "/proc/sys/kernel/perf_event_paranoid"))
		buf_printf(out, "kernel.perf_event_paranoid is %s\n", line);
	if (!root_line(p->root, line, sizeof(line), FREEZE_SMI_PATH) && !strcmp(line, "1"))
		buf_addstr(out, "core counters are frozen in firmware interrupts; unless somebody is recording with "
				"--smi-cost, echo 0 >" FREEZE_SMI_PATH "\n");
	perf_bpf_doctor(p, out);
	if (perf_nmi_watchdog(p->root))
		buf_addstr(out, "the NMI watchdog may hold one counter on each CPU: sysctl kernel.nmi_watchdog=0\n");
}

const struct source_ops source_perf = {
	.name = "perf",
	.help = "events of the kernel's perf interface: those of -e, or perf's defaults",
	.plan = perf_plan,
	.update = perf_update,
	.finish = perf_finish,
	.release = perf_release,
};

struct source *perf_among(struct source *s, size_t n)
{
	size_t i = 0;

	while (i < n && s[i].ops != &source_perf)
		i++;
	return i < n && s[i].data ? &s[i] : NULL;
}

const char *perf_no_event(const struct source *source)
{
	const struct perf_source *s = source->data;

	return s->no_event.len ? buf_str((struct buf *)(uintptr_t)&s->no_event) : NULL;
}
