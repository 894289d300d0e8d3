#include "record/plan/topology.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "record/host/clocks.h"
#include "record/host/cpuid.h"
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

/* What the kernel names by numbers that may repeat, or be missing, and by lists of CPUs, which tell for certain. */
enum { PACKAGE, DIE, CLUSTER, CORE, CACHES, LEVELS = CACHES + PM_CACHES };

static const struct {
	size_t number;       /* in struct pm_cpu */
	const char *list[2]; /* the second one is the name that older kernels have */
	bool within;         /* the numbers begin again in each package and die */
} levels[LEVELS] = {
	[PACKAGE] = { offsetof(struct pm_cpu, package), { "package_cpus_list", "core_siblings_list" }, false },
	[DIE] = { offsetof(struct pm_cpu, die), { "die_cpus_list" }, true },
	[CLUSTER] = { offsetof(struct pm_cpu, cluster), { "cluster_cpus_list" }, true },
	[CORE] = { offsetof(struct pm_cpu, core), { "core_cpus_list", "thread_siblings_list" }, true },
	[CACHES + PM_CACHE_L1D] = { offsetof(struct pm_cpu, cache[PM_CACHE_L1D]), { NULL }, false },
	[CACHES + PM_CACHE_L1I] = { offsetof(struct pm_cpu, cache[PM_CACHE_L1I]), { NULL }, false },
	[CACHES + PM_CACHE_L2] = { offsetof(struct pm_cpu, cache[PM_CACHE_L2]), { NULL }, false },
	[CACHES + PM_CACHE_L3] = { offsetof(struct pm_cpu, cache[PM_CACHE_L3]), { NULL }, false },
};

struct reading {
	const struct root *root;
	const struct pm_topology *before; /* or NULL */
	struct pm_topology *t;
	struct {
		uint32_t first;  /* the lowest online CPU of its place; PM_NONE: there is no list */
		uint32_t n;      /* CPUs in the list */
		uint32_t number; /* the kernel's */
	} (*of)[LEVELS];         /* owned, by index in t->cpu */
	bool caches, capacities; /* whether to read them; the kernel shows capacities of all CPUs or of none */
};

static uint32_t *number_of(struct pm_cpu *c, int level)
{
	return (uint32_t *)((char *)c + levels[level].number);
}

/* One list serves all its CPUs. */
static void mark(struct reading *r, int level, const struct cpulist *list)
{
	uint32_t first = PM_NONE;

	for (size_t i = 0; i < list->n; i++) {
		const struct pm_cpu *c = pm_topology_cpu(r->t, list->cpu[i]);

		if (!c || !c->online)
			continue;
		first = first == PM_NONE ? c->cpu : first;
		r->of[c - r->t->cpu][level].first = first;
		r->of[c - r->t->cpu][level].n = (uint32_t)list->n;
	}
}

/* Also finds the threads of a core, by their places in the list. */
static void read_list(struct reading *r, int level, uint32_t at)
{
	SCOPED(cpulist_release) struct cpulist list = { 0 };
	struct pm_cpu *c = &r->t->cpu[at];

	if (r->of[at][level].first != PM_NONE)
		return;
	if (root_cpulist(r->root, &list, CPU "topology/%s", c->cpu, levels[level].list[0]) && levels[level].list[1])
		root_cpulist(r->root, &list, CPU "topology/%s", c->cpu, levels[level].list[1]);
	if (!cpulist_has(&list, c->cpu))
		return;
	mark(r, level, &list);
	for (uint32_t i = 0; i < list.n && level == CORE; i++) {
		const struct pm_cpu *thread = pm_topology_cpu(r->t, list.cpu[i]);

		if (thread && thread->online)
			r->t->cpu[thread - r->t->cpu].thread = i;
	}
}

static int cache_kind(uint64_t level, const char *type)
{
	if (level == 1)
		return !strcmp(type, "Data") ? PM_CACHE_L1D : !strcmp(type, "Instruction") ? PM_CACHE_L1I : -1;
	return level == 2 ? PM_CACHE_L2 : level == 3 ? PM_CACHE_L3 : -1;
}

static void read_caches(struct reading *r, uint32_t at)
{
	SCOPED(cpulist_release) struct cpulist shared = { 0 };
	struct pm_cpu *c = &r->t->cpu[at];
	char type[32] = "";
	uint64_t level, id;
	int kind;

	for (unsigned i = 0; i < CACHES_MAX && c->cache[PM_CACHE_L3] == PM_NONE; i++) {
		if (root_u64(r->root, &level, CPU "cache/index%u/level", c->cpu, i))
			break;
		if (level == 1 && root_line(r->root, type, sizeof(type), CPU "cache/index%u/type", c->cpu, i))
			continue;
		kind = cache_kind(level, type);
		if (kind < 0)
			continue;
		if (r->of[at][CACHES + kind].first == PM_NONE &&
		    !root_cpulist(r->root, &shared, CPU "cache/index%u/shared_cpu_list", c->cpu, i) &&
		    cpulist_has(&shared, c->cpu))
			mark(r, CACHES + kind, &shared);
		if (!root_u64(r->root, &id, CPU "cache/index%u/id", c->cpu, i) && id < PM_NONE)
			c->cache[kind] = (uint32_t)id;
		/* Firmware without cache numbers still says who shares them. */
		else
			c->cache[kind] = r->of[at][CACHES + kind].first;
	}
}

static void read_cpu(struct reading *r, uint32_t at)
{
	struct pm_cpu *c = &r->t->cpu[at], *sibling;
	bool own_caches = false;
	uint64_t capacity;

	read_list(r, CORE, at);
	/* The threads of a core have all of this in common; but every other thread of eight may have other caches
	 * (POWER9 and 10, whose large cores are two small ones). */
	if (r->of[at][CORE].first < c->cpu) {
		const struct pm_cpu own = *c;

		sibling = &r->t->cpu[pm_topology_cpu(r->t, r->of[at][CORE].first) - r->t->cpu];
		*c = *sibling;
		c->cpu = own.cpu;
		c->thread = own.thread;
		memcpy(r->of[at], r->of[sibling - r->t->cpu], CACHES * sizeof(r->of[at][0]));
		for (int level = CACHES; level < LEVELS; level++)
			own_caches |= r->of[at][level].first != r->of[sibling - r->t->cpu][level].first;
		if (own_caches) {
			memset(c->cache, 0xff, sizeof(c->cache));
			read_caches(r, at);
		}
		return;
	}
	c->package = number(r->root, "physical_package_id", c->cpu);
	c->die = number(r->root, "die_id", c->cpu);
	c->cluster = number(r->root, "cluster_id", c->cpu);
	if (c->cluster == CLUSTER_UNKNOWN)
		c->cluster = PM_NONE;
	c->core = number(r->root, "core_id", c->cpu);
	if (r->capacities && !root_u64(r->root, &capacity, CPU "cpu_capacity", c->cpu) && capacity < PM_NONE)
		c->capacity = (uint32_t)capacity;
	r->capacities = c->capacity != PM_NONE;
	for (int level = PACKAGE; level < CORE; level++)
		if (*number_of(c, level) != PM_NONE || level == PACKAGE)
			read_list(r, level, at);
	if (r->caches)
		read_caches(r, at);
}

static bool same_numbers(int level, const struct pm_cpu *a, const struct pm_cpu *b)
{
	const size_t at = levels[level].number;

	if (levels[level].within && (a->package != b->package || (level != DIE && a->die != b->die)))
		return false;
	return !memcmp((const char *)a + at, (const char *)b + at, sizeof(uint32_t));
}

/* Whether another place has the number. What the CPUs that are offline belong to is known from before. */
static bool is_taken(const struct reading *r, int level, uint32_t at)
{
	const struct pm_topology *t = r->t;
	const struct pm_cpu *c = &t->cpu[at], *known = r->before ? pm_topology_cpu(r->before, c->cpu) : NULL;

	for (uint32_t i = 0; i < t->n; i++) {
		const struct pm_cpu *other = &t->cpu[i], *old;

		if (!same_numbers(level, c, other) || (other->online && i >= at))
			continue;
		if (other->online ?
			    r->of[i][level].first != PM_NONE && r->of[i][level].first != r->of[at][level].first :
			    known && (old = pm_topology_cpu(r->before, other->cpu)) &&
				    !same_numbers(level, known, old))
			return true;
	}
	return false;
}

/* A number that no place has, above those that the kernel gives. */
static uint32_t next_number(struct reading *r, int level, const struct pm_cpu *c)
{
	uint32_t next = 0;

	for (uint32_t i = 0; i < r->t->n; i++) {
		struct pm_cpu like = *c, *other = &r->t->cpu[i];
		uint32_t n = *number_of(&like, level) = *number_of(other, level);

		if (n != PM_NONE && n >= next && same_numbers(level, &like, other))
			next = n + 1;
	}
	return next;
}

/*
 * Gives each place a number of its own. Several nodes of one package number their cores alike (Opteron, Threadripper;
 * arm64 in clusters), books of s390x their sockets, and some kernels number nothing. Where the kernel knows no
 * packages at all, it lists each CPU alone.
 */
static void settle_level(struct reading *r, int level)
{
	struct pm_topology *t = r->t;
	bool lists = t->n == 1 || level == CORE;

	for (uint32_t i = 0; i < t->n; i++) {
		r->of[i][level].number = *number_of(&t->cpu[i], level);
		lists = lists || (level == PACKAGE && r->of[i][level].first != PM_NONE && r->of[i][level].n > 1);
	}
	for (uint32_t i = 0; i < t->n; i++) {
		struct pm_cpu *c = &t->cpu[i];
		uint32_t first = r->of[i][level].first, *to = number_of(c, level);
		const struct pm_cpu *known = r->before ? pm_topology_cpu(r->before, c->cpu) : NULL;

		if (!c->online || first == PM_NONE || (*to == PM_NONE && !lists))
			continue;
		if (first != c->cpu) {
			const struct pm_cpu *leader = pm_topology_cpu(t, first);

			/* Lists of cores outrank numbers, but one list of packages may have several chips. */
			if (level == CORE || *to == r->of[leader - t->cpu][level].number)
				*to = *number_of((struct pm_cpu *)leader, level);
			continue;
		}
		if (*to != PM_NONE && !is_taken(r, level, i))
			continue;
		*to = known ? *number_of((struct pm_cpu *)known, level) : PM_NONE;
		if (*to == PM_NONE || is_taken(r, level, i))
			*to = next_number(r, level, c);
	}
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
	int err = root_online(r, online);

	if (err)
		return error_sys(e, -err, "%s" ROOT_ONLINE, r->prefix);
	if (!online->n)
		return error_set(e, EINVAL, "%s" ROOT_ONLINE " is empty", r->prefix);
	if (root_cpulist(r, present, "/sys/devices/system/cpu/present"))
		present->n = 0;
	/* A copied tree may say less than the kernel does. */
	for (size_t i = 0; i < online->n; i++)
		memory_must(cpulist_add(present, online->cpu[i]));
	return 0;
}

static void read_cpus(struct reading *r, const struct cpulist *present, const struct cpulist *online)
{
	struct pm_topology *t = r->t;
	const struct pm_cpu *known;

	t->n = (uint32_t)present->n;
	memset(t->cpu, 0xff, t->n * sizeof(*t->cpu)); /* PM_NONE everywhere */
	memset(r->of, 0xff, t->n * sizeof(*r->of));
	for (uint32_t i = 0; i < t->n; i++) {
		t->cpu[i].cpu = present->cpu[i];
		t->cpu[i].online = cpulist_has(online, present->cpu[i]);
	}
	for (uint32_t i = 0; i < t->n; i++) {
		known = r->before ? pm_topology_cpu(r->before, t->cpu[i].cpu) : NULL;
		if (t->cpu[i].online) {
			read_cpu(r, i);
		} else if (known) {
			t->cpu[i] = *known;
			t->cpu[i].online = false;
		}
	}
	for (int level = 0; level < LEVELS; level++)
		settle_level(r, level);
	for (uint32_t i = 0; i < t->n; i++) {
		struct pm_cpu *c = &t->cpu[i];

		known = r->before ? pm_topology_cpu(r->before, c->cpu) : NULL;
		/* If a sibling goes offline, the remaining thread moves to the front of the list: it keeps its old
		 * position. */
		if (known && known->thread != PM_NONE && known->thread + 1 > c->thread + 1 &&
		    same_numbers(CORE, known, c))
			c->thread = known->thread;
	}
}

int topology_read(const struct plan *p, const struct pm_topology *before, struct pm_topology *t, struct error *e)
{
	/* Counts of tasks alone belong to no cache. */
	const bool caches = !p->options->perf.brief || p->options->target == TARGET_SYSTEM;
	SCOPED(cpulist_release) struct cpulist present = { 0 }, online = { 0 };
	struct reading r = { p->root, before, t, .caches = caches, .capacities = true };
	int err;

	*t = (struct pm_topology){ .time_ns = clocks_monotonic() };
	err = present_cpus(p->root, &present, &online, e);
	if (err)
		return err;
	t->cpu = memory_new(present.n, sizeof(*t->cpu));
	r.of = memory_new(present.n, sizeof(*r.of));
	read_cpus(&r, &present, &online);
	read_nodes(p->root, t);
	cputype_read(p->root, before, t);
	free(r.of);
	return 0;
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
		memory_must(pm_model_set_topology(p->model, &t));
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
	if (kind == PM_CACHE)
		plan_set(&add.attrs, PM_INSTANCE_LEVEL, pm_u64(3));
	id = plan_instance(p, &add);
	if (id > 0) {
		memory_hold(&p->place_next, &p->n_place_next, (uint32_t)id + 1, sizeof(*p->place_next));
		p->place_next[id] = *at;
		*at = (uint32_t)id;
	}
	return id;
}
