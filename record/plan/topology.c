#include "record/plan/topology.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "record/host/clocks.h"
#include "record/host/cputype.h"
#include "record/plan/plan.h"

#define CPU        "/sys/devices/system/cpu/cpu%u/"
#define CACHES_MAX 16 /* index directories of one CPU that are examined */

/* Until a CPU has a cluster, x86 kernels show the 16-bit "bad APIC id". */
#define CLUSTER_UNKNOWN 65535

static uint32_t number(const struct root *r, const char *file, uint32_t cpu)
{
	uint64_t v;

	if (root_u64(r, &v, CPU "topology/%s", cpu, file) || v >= PM_NONE)
		return PM_NONE; /* the kernel writes -1 for unknown */
	return (uint32_t)v;
}

/* The position of `cpu` among the CPUs of its core, of which *first is one; PM_NONE: unknown. */
static uint32_t thread_of(const struct root *r, uint32_t cpu, uint32_t *first)
{
	SCOPED(cpulist_release) struct cpulist siblings = { 0 };
	uint32_t thread = PM_NONE;

	if (root_cpulist(r, &siblings, CPU "topology/core_cpus_list", cpu))
		root_cpulist(r, &siblings, CPU "topology/thread_siblings_list", cpu);
	for (size_t i = 0; i < siblings.n; i++)
		if (siblings.cpu[i] == cpu)
			thread = (uint32_t)i;
	*first = thread == PM_NONE ? cpu : siblings.cpu[0];
	return thread;
}

static int cache_kind(uint64_t level, const char *type)
{
	if (level == 1)
		return !strcmp(type, "Data") ? PM_CACHE_L1D : !strcmp(type, "Instruction") ? PM_CACHE_L1I : -1;
	return level == 2 ? PM_CACHE_L2 : level == 3 ? PM_CACHE_L3 : -1;
}

static void read_caches(const struct root *r, struct pm_cpu *c)
{
	SCOPED(cpulist_release) struct cpulist shared = { 0 };
	char type[32] = "";
	uint64_t level, id;
	int kind;

	for (unsigned i = 0; i < CACHES_MAX && c->cache[PM_CACHE_L3] == PM_NONE; i++) {
		if (root_u64(r, &level, CPU "cache/index%u/level", c->cpu, i))
			break;
		if (level == 1 && root_line(r, type, sizeof(type), CPU "cache/index%u/type", c->cpu, i))
			continue;
		kind = cache_kind(level, type);
		if (kind < 0)
			continue;
		if (!root_u64(r, &id, CPU "cache/index%u/id", c->cpu, i) && id < PM_NONE)
			c->cache[kind] = (uint32_t)id;
		/* Firmware without cache numbers still says who shares them. */
		else if (!root_cpulist(r, &shared, CPU "cache/index%u/shared_cpu_list", c->cpu, i) && shared.n)
			c->cache[kind] = shared.cpu[0];
	}
}

/* *capacities: whether the kernel shows the capacity of CPUs. */
static void read_cpu(const struct root *r, const struct pm_topology *t, struct pm_cpu *c, bool caches,
		     bool *capacities)
{
	uint64_t capacity;
	uint32_t first, thread = thread_of(r, c->cpu, &first), cpu = c->cpu;
	const struct pm_cpu *sibling = first < cpu ? pm_topology_cpu(t, first) : NULL;

	/* The threads of a core have all of this in common. */
	if (sibling && sibling->online) {
		*c = *sibling;
		c->cpu = cpu;
		c->thread = thread;
		return;
	}
	c->thread = thread;
	c->package = number(r, "physical_package_id", c->cpu);
	c->die = number(r, "die_id", c->cpu);
	c->cluster = number(r, "cluster_id", c->cpu);
	if (c->cluster == CLUSTER_UNKNOWN)
		c->cluster = PM_NONE;
	c->core = number(r, "core_id", c->cpu);
	if (*capacities && !root_u64(r, &capacity, CPU "cpu_capacity", c->cpu) && capacity < PM_NONE)
		c->capacity = (uint32_t)capacity;
	*capacities = c->capacity != PM_NONE;
	if (caches)
		read_caches(r, c);
}

static void read_nodes(const struct root *r, struct pm_topology *t)
{
	SCOPED(cpulist_release) struct cpulist nodes = { 0 }, cpus = { 0 };
	size_t at;

	if (root_cpulist(r, &nodes, "/sys/devices/system/node/online"))
		root_cpulist(r, &nodes, "/sys/devices/system/node/possible");
	for (size_t i = 0; i < nodes.n; i++) {
		if (root_cpulist(r, &cpus, "/sys/devices/system/node/node%u/cpulist", nodes.cpu[i]))
			continue;
		at = 0;
		for (uint32_t k = 0; k < t->n; k++) {
			while (at < cpus.n && cpus.cpu[at] < t->cpu[k].cpu)
				at++;
			if (at < cpus.n && cpus.cpu[at] == t->cpu[k].cpu)
				t->cpu[k].node = nodes.cpu[i];
		}
	}
}

static int present_cpus(const struct root *r, struct cpulist *present, struct cpulist *online, struct error *e)
{
	int err = root_cpulist(r, online, "/sys/devices/system/cpu/online");

	if (err)
		return error_sys(e, -err, "%s/sys/devices/system/cpu/online", r->prefix);
	if (!online->n)
		return error_set(e, EINVAL, "%s/sys/devices/system/cpu/online is empty", r->prefix);
	if (root_cpulist(r, present, "/sys/devices/system/cpu/present"))
		present->n = 0;
	/* A copied tree may say less than the kernel does. */
	for (size_t i = 0; i < online->n; i++)
		if (cpulist_add(present, online->cpu[i]))
			return error_sys(e, ENOMEM, "topology");
	return 0;
}

int topology_read(const struct plan *p, const struct pm_topology *before, struct pm_topology *t, struct error *e)
{
	/* Counts of tasks alone belong to no cache. */
	const bool caches = !p->options->perf.brief || p->options->target == TARGET_SYSTEM;
	const struct root *r = p->root;
	SCOPED(cpulist_release) struct cpulist present = { 0 }, online = { 0 };
	const struct pm_cpu *known;
	bool capacities = true;
	int err;

	*t = (struct pm_topology){ .time_ns = clocks_monotonic() };
	err = present_cpus(r, &present, &online, e);
	if (!err) {
		t->cpu = calloc(present.n, sizeof(*t->cpu));
		if (!t->cpu)
			err = error_sys(e, ENOMEM, "topology");
	}
	for (size_t i = 0; i < present.n && !err; i++) {
		struct pm_cpu *c = &t->cpu[t->n++];

		*c = (struct pm_cpu){ .cpu = present.cpu[i],
				      .package = PM_NONE,
				      .die = PM_NONE,
				      .cluster = PM_NONE,
				      .core = PM_NONE,
				      .node = PM_NONE,
				      .thread = PM_NONE,
				      .type = PM_NONE,
				      .capacity = PM_NONE,
				      .online = cpulist_has(&online, present.cpu[i]) };
		for (int k = 0; k < PM_CACHES; k++)
			c->cache[k] = PM_NONE;
		known = before ? pm_topology_cpu(before, c->cpu) : NULL;
		if (c->online)
			read_cpu(r, t, c, caches, &capacities);
		else if (known)
			*c = *known;
		c->online = cpulist_has(&online, c->cpu);
		/* If a sibling goes offline, the remaining thread moves to the front of the list: it keeps its old
		 * position. */
		if (known && known->thread != PM_NONE && known->core == c->core && known->package == c->package)
			c->thread = known->thread;
	}
	if (!err) {
		read_nodes(r, t);
		err = cputype_read(r, before, t, e);
	}
	if (err)
		pm_topology_release(t);
	return err;
}

static bool same_topology(const struct pm_topology *a, const struct pm_topology *b)
{
	if (a->n != b->n || a->n_types != b->n_types)
		return false;
	for (uint32_t i = 0; i < a->n_types; i++)
		if (strcmp(a->type[i], b->type[i]))
			return false;
	for (uint32_t i = 0; i < a->n; i++) {
		const struct pm_cpu *x = &a->cpu[i], *y = &b->cpu[i];

		if (x->cpu != y->cpu || x->package != y->package || x->die != y->die || x->cluster != y->cluster ||
		    x->core != y->core || x->node != y->node || x->thread != y->thread || x->type != y->type ||
		    x->capacity != y->capacity || x->online != y->online ||
		    memcmp(x->cache, y->cache, sizeof(x->cache)))
			return false;
	}
	return true;
}

int topology_refresh(struct plan *p)
{
	struct pm_topology t;
	int err = topology_read(p, &p->model->topology, &t, NULL);

	if (err)
		return err;
	if (!same_topology(&t, &p->model->topology)) {
		err = pm_model_set_topology(p->model, &t);
		if (!err)
			err = 1;
	}
	pm_topology_release(&t);
	return err;
}

/* The number of the place, and whether both CPUs are in it. */
static uint32_t place_number(const struct pm_cpu *c, enum pm_kind kind)
{
	switch (kind) {
	case PM_PACKAGE:
		return c->package;
	case PM_DIE:
		return c->die;
	case PM_CLUSTER:
		return c->cluster;
	case PM_CACHE:
		return c->cache[PM_CACHE_L3];
	case PM_NODE:
		return c->node;
	case PM_CORE:
		return c->core;
	case PM_CPU:
		return c->cpu;
	default:
		return PM_NONE;
	}
}

static bool same_place(const struct pm_cpu *a, const struct pm_cpu *b, enum pm_kind kind)
{
	if (place_number(a, kind) != place_number(b, kind))
		return false;
	switch (kind) {
	case PM_CORE:
		/* Some machines number cores within the cluster, others within the die. */
		return a->package == b->package && a->die == b->die && a->cluster == b->cluster;
	case PM_CLUSTER:
		return a->package == b->package && a->die == b->die;
	case PM_DIE:
		return a->package == b->package;
	default:
		return true;
	}
}

/* The first CPU of its place, online or not. */
static const struct pm_cpu *leader(const struct pm_topology *t, enum pm_kind kind, const struct pm_cpu *c)
{
	const struct pm_cpu *first = kind == PM_CORE && !c->thread ? c : t->cpu;

	while (!same_place(first, c, kind))
		first++;
	return first;
}

bool topology_shares(const struct pm_topology *t, enum pm_kind kind, uint32_t cpu, uint32_t other)
{
	const struct pm_cpu *a = pm_topology_cpu(t, cpu), *b = pm_topology_cpu(t, other);

	if (kind == PM_CPU)
		return cpu == other;
	return a && b && place_number(a, kind) != PM_NONE && same_place(a, b, kind);
}

int64_t topology_instance(struct plan *p, enum pm_kind kind, uint32_t cpu)
{
	const struct pm_topology *t = &p->model->topology;
	const struct pm_cpu *c = pm_topology_cpu(t, cpu);
	struct pm_instance add = { .kind = kind };
	uint32_t *at;
	int64_t id;

	if (kind == PM_CPU)
		return plan_cpu_instance(p, cpu);
	if (!c || place_number(c, kind) == PM_NONE)
		return -ENOENT;
	at = &p->place[place_number(c, kind) % PLAN_PLACES];
	for (uint32_t i = *at; i; i = p->place_next[i]) {
		const struct pm_instance *known = pm_model_instance(p->model, i);
		const struct pm_cpu *of;

		if (known->kind != kind || known->number != place_number(c, kind) || known->retired_ns)
			continue;
		of = pm_topology_cpu(t, known->cpu);
		if (of && same_place(of, c, kind))
			return i;
	}
	add.number = place_number(c, kind);
	add.cpu = leader(t, kind, c)->cpu;
	id = plan_instance(p, &add, kind == PM_CACHE ? pm_map_set(&add.attrs, PM_INSTANCE_LEVEL, pm_u64(3)) : 0);
	if (id > 0 && array_hold(&p->place_next, &p->n_place_next, (uint32_t)id + 1, sizeof(*p->place_next)))
		return -ENOMEM;
	if (id > 0) {
		p->place_next[id] = *at;
		*at = (uint32_t)id;
	}
	return id;
}
