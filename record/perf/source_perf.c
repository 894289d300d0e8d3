/* perf events. Planning opens every event once to find out what the machine permits, adds the counters in the user's
 * order, and then one column group for each kernel group: its events times the CPUs or tasks that it is opened on. */
#include "record/perf/source_perf.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/memory.h"
#include "common/names.h"
#include "common/number.h"
#include "record/host/clocks.h"
#include "record/perf/freeze_smi.h"
#include "record/perf/perf_pmu.h"
#include "record/perf/perf_source.h"
#include "record/perf/perf_tool.h"
#include "record/plan/add.h"
#include "record/plan/topology.h"

/* Which events are read together. Reading a group costs the same as reading one event (one system call, and one
 * interrupt for another CPU), so events that never compete for a counter share a group even if the user did not
 * request it. Events of hardware counters stay apart: a group is scheduled as a whole, which would change how they
 * multiplex. */

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
	memory_must(event_set_mods(ev, ev->mods | EVENT_MOD_USER));
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
		perf_filter_failed(p->root, e->ev->name, e->filter, err, error);
		return -ENOTRECOVERABLE;
	}
	/* perf drops the kernel's part before it checks whether the event exists. */
	if (excluded && (fd >= 0 || (fd == -ENOENT && p->options->perf.as_perf)))
		mark_user_only(e->ev);
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

int perf_groups_settle(struct perf_source *s, struct plan *p, struct error *error)
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

void perf_choose_sampling(struct perf_source *s, const struct sample_options *o)
{
	if (o->sampling == SAMPLING_READER || o->interval_ns < SAMPLE_MIN_NS ||
	    o->interval_ns > (o->sampling == SAMPLING_KERNEL ? SAMPLE_LIMIT_NS : SAMPLE_MAX_NS))
		return;
	for (uint32_t i = 0; i < s->n_groups; i++)
		if (can_be_sampled(s->group[i]))
			s->group[i]->sample_ns = o->interval_ns;
}

/* What the recording says about each event. */

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

	if (e->add)
		add_set_attrs(e->add, &c.attrs);
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

static void refuse(struct plan *p, const struct perf_event *e, struct pm_value what)
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

/* Whether no earlier event fails in the same way under the same name. */
static bool fails_first(const struct perf_source *s, size_t k)
{
	bool first = true;

	for (size_t i = 0; i < k && first; i++)
		first = reason_of(&s->event[i]) != reason_of(&s->event[k]) || strcmp(called(s, i), called(s, k));
	return first;
}

/* Events that the user named are counters even if they cannot be opened; of the defaults only a note remains, one for
 * all that fail in the same way. */
void perf_counters_add(struct perf_source *s, struct plan *p)
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
			refuse(p, e, pm_remark(PM_REMARK_EVENTS, pm_model_counter(p->model, e->counter)->name));
	}
	for (uint32_t i = 0; i < s->n_groups; i++)
		for (uint32_t k = 0; s->group[i]->copy && k < s->group[i]->n; k++)
			add_event_counter(p, &s->group[i]->copy[k], s->group[i], k);
	for (size_t i = 0; i < s->set.n; i++) {
		SCOPED(buf_release) struct buf names = BUF_INIT;
		unsigned n = 0;
		bool first = !s->event[i].requested && s->event[i].err;

		for (size_t k = 0; k < i && first; k++)
			first = s->event[k].err != s->event[i].err;
		for (size_t k = i; k < s->set.n && first; k++)
			if (s->event[k].err == s->event[i].err && fails_first(s, k) && n++ < NAMED_MAX)
				buf_printf(&names, "%s%s", names.len ? ", " : "", called(s, k));
		if (first)
			refuse(p, &s->event[i],
			       pm_remark(n > NAMED_MAX ? PM_REMARK_MORE_EVENTS : PM_REMARK_EVENTS, buf_str(&names),
					 n - NAMED_MAX));
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

static int switch_rows(struct perf_source *s, bool on)
{
	int err = 0;

	for (uint32_t i = 0; i < s->n_groups; i++)
		for (uint32_t k = 0; k < s->group[i]->n_rows; k++) {
			int one = perf_row_enable(s->group[i]->row[k], on);

			err = err ? err : one;
		}
	return err;
}

/* Also of its twins in other BPF programs, which are counters of their own. */
static void set_off(struct perf_source *s, size_t i, bool off, void (*found)(void *arg, uint32_t counter), void *arg)
{
	s->event[i].off = off;
	if (found)
		found(arg, s->event[i].counter);
	for (uint32_t g = 0; g < s->n_groups; g++)
		for (uint32_t k = 0; s->group[g]->copy && k < s->group[g]->n; k++) {
			struct perf_event *twin = &s->group[g]->copy[k];

			if (twin->ev != s->event[i].ev)
				continue;
			twin->off = off;
			if (found)
				found(arg, twin->counter);
		}
}

int perf_enable(struct source *source, bool on)
{
	struct perf_source *s = source->data;

	s->on = on;
	s->from_exec = false;
	for (size_t i = 0; i < s->set.n && on && !s->chosen; i++)
		set_off(s, i, false, NULL, NULL);
	if (on)
		s->chosen = false;
	return switch_rows(s, on);
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
		perf_threads_cpu(s, p, cpu);
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

static bool answers_to(const struct event *ev, const char *name)
{
	return !strcmp(name, ev->display) || !strcmp(name, ev->name) || !strcmp(name, ev->text);
}

int perf_enable_one(struct source *source, const char *name, bool on, void (*found)(void *arg, uint32_t counter),
		    void *arg)
{
	struct perf_source *s = source->data;
	bool running = s->on || s->from_exec, all_off = on && !running && !s->chosen;
	int n = 0, err = 0;

	for (size_t i = 0; i < s->set.n; i++) {
		if (!s->event[i].counter || !answers_to(s->event[i].ev, name))
			continue;
		/* If nothing counts, to enable one event is to leave out the others. */
		for (size_t k = 0; k < s->set.n && all_off; k++)
			set_off(s, k, true, NULL, NULL);
		all_off = false;
		s->chosen = !running;
		set_off(s, i, !on, found, arg);
		n++;
	}
	if (n)
		err = switch_rows(s, running);
	return err ? err : n;
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
