#include "report/machine/places.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"

void places_release(struct places *p)
{
	for (uint32_t i = 0; i < p->n_labels; i++)
		free(p->label[i].text);
	free(p->label);
	names_release(&p->firsts);
	free(p->cpu);
	free(p->of_number);
	free(p->kind);
	*p = (struct places){ 0 };
}

static void keep_known(struct pm_cpu *to, const struct pm_cpu *from)
{
#define KEEP(field) \
	do { \
		if (from->field != PM_NONE) \
			to->field = from->field; \
	} while (0)
	KEEP(package);
	KEEP(die);
	KEEP(cluster);
	KEEP(core);
	KEEP(node);
	KEEP(thread);
	for (int i = 0; i < PM_CACHES; i++)
		KEEP(cache[i]);
#undef KEEP
	to->online = from->online;
}

/* Whether that first instance (0: none) no longer exists, so that another takes its place. */
static bool is_gone(const struct places *p, uint32_t first)
{
	return !first || !pm_model_instance(p->model, first);
}

/* A task that comes and goes has a new instance each time, all with one number. */
static void number_task(struct places *p, const struct pm_instance *i)
{
	enum { MOST = 1 << 22 };

	if (i->kind != PM_TASK || i->number >= MOST)
		return;
	memory_hold(&p->of_number, &p->n_numbers, (size_t)i->number + 1, sizeof(*p->of_number));
	if (is_gone(p, p->of_number[i->number]))
		p->of_number[i->number] = i->id;
}

/* NULL: it has none. */
static const char *label_of(const struct places *p, const struct pm_instance *i)
{
	return i->slot < p->n_labels && p->label[i->slot].instance == i->id ? p->label[i->slot].text : NULL;
}

/* Its name and pid, if they were recorded, or its own id for a thread; for those too short-lived to have one, their
 * parent's. */
static void name_task(struct places *p, const struct pm_instance *i)
{
	const char *comm = pm_map_text(&i->attrs, PM_INSTANCE_COMM, NULL);
	uint64_t tid = pm_map_u64(&i->attrs, PM_INSTANCE_TID, 0), pid = pm_map_u64(&i->attrs, PM_INSTANCE_PID, 0);
	const char *parent = pm_map_text(&i->attrs, PM_INSTANCE_PARENT_COMM, "");
	uint64_t number = pm_map_u64(&i->attrs, PM_INSTANCE_PARENT, 0);
	char text[200], from[32] = "";

	if (i->kind != PM_TASK || !comm)
		return;
	if (number)
		snprintf(from, sizeof(from), " %llu", (unsigned long long)number);
	if (tid || pid)
		snprintf(text, sizeof(text), "%.64s (%llu)", comm, (unsigned long long)(tid ? tid : pid));
	else if (*parent || number)
		snprintf(text, sizeof(text), "%.64s (of%s%.64s%s)", comm, *parent ? " " : "", parent, from);
	else
		snprintf(text, sizeof(text), "%.64s", comm);
	places_label(p, i, text);
}

enum first { OF_CGROUP = 'c', OF_PACKAGE = 'p', OF_NODE = 'n' };

/* 0: none is known. */
static uint32_t first_of(const struct places *p, enum first of, uint32_t number)
{
	uint32_t first = 0;
	char key[16];

	snprintf(key, sizeof(key), "%c%u", (int)of, number);
	names_get(&p->firsts, key, &first);
	return first;
}

static void set_first(struct places *p, enum first of, uint32_t number, uint32_t first)
{
	char key[16];

	snprintf(key, sizeof(key), "%c%u", (int)of, number);
	memory_done(names_set(&p->firsts, key, first));
}

static void number_cgroup(struct places *p, const struct pm_instance *i)
{
	if (i->kind == PM_CGROUP && i->number != PM_NONE && is_gone(p, first_of(p, OF_CGROUP, i->number)))
		set_first(p, OF_CGROUP, i->number, i->id);
}

/* Examines new instances; or all of them if the model has forgotten some, so that others moved up. */
static void see_instances(struct places *p)
{
	const struct pm_model *m = p->model;

	if (p->n_seen > m->n_instances || (p->n_seen && m->instance[p->n_seen - 1].id != p->last_seen))
		p->n_seen = 0;
	for (; p->n_seen < m->n_instances; p->n_seen++) {
		const struct pm_instance *i = &m->instance[p->n_seen];

		number_cgroup(p, i);
		/* What is said of an instance never changes. */
		if (!label_of(p, i))
			name_task(p, i);
		number_task(p, i);
		p->last_seen = i->id;
	}
}

static void note_kind(struct places *p, uint32_t counter, enum pm_kind k)
{
	enum pm_kind before = (enum pm_kind)p->kind[counter];

	p->kind[counter] = (unsigned char)(before == PM_KINDS ? k : kind_join(before, k));
}

/* Likewise for groups. */
static void see_groups(struct places *p)
{
	const struct pm_model *m = p->model;

	p->kind = memory_resize(p->kind, m->n_counters + 1ull, 1);
	for (; p->n_kinds <= m->n_counters; p->n_kinds++)
		p->kind[p->n_kinds] = PM_KINDS;
	if (p->groups_seen > m->n_groups || (p->groups_seen && m->group[p->groups_seen - 1].id != p->last_group))
		p->groups_seen = 0;
	for (; p->groups_seen < m->n_groups; p->groups_seen++) {
		const struct pm_group *g = &m->group[p->groups_seen];
		enum pm_kind all = PM_KINDS, one;

		for (uint32_t k = 0; k < g->n_instances; k++) {
			one = pm_model_instance(m, g->instance[k])->kind;
			all = all == PM_KINDS ? one : kind_join(all, one);
			if (g->flags & PM_GROUP_LIST)
				note_kind(p, g->counter[k], one);
		}
		for (uint32_t k = 0; k < g->n_counters && !(g->flags & PM_GROUP_LIST); k++)
			note_kind(p, g->counter[k], all);
		p->last_group = g->id;
	}
}

void places_update(struct places *p, const struct pm_model *m)
{
	const struct pm_topology *t = &m->topology;
	struct pm_cpu *merged;
	uint32_t i = 0, k = 0, n = 0;

	p->model = m;
	see_instances(p);
	see_groups(p);
	merged = memory_new((size_t)p->n + t->n, sizeof(*merged));
	while (i < p->n || k < t->n) {
		if (k == t->n || (i < p->n && p->cpu[i].cpu < t->cpu[k].cpu)) {
			merged[n++] = p->cpu[i++];
		} else if (i < p->n && p->cpu[i].cpu == t->cpu[k].cpu) {
			merged[n] = p->cpu[i++];
			keep_known(&merged[n++], &t->cpu[k++]);
		} else {
			merged[n++] = t->cpu[k++];
		}
	}
	free(p->cpu);
	p->cpu = merged;
	p->n = n;
	p->cache = PM_CACHE_L2;
	for (i = 0; i < n; i++)
		if (merged[i].cache[PM_CACHE_L3] != PM_NONE)
			p->cache = PM_CACHE_L3;
	for (i = n; i--;) {
		set_first(p, OF_PACKAGE, merged[i].package, i + 1);
		set_first(p, OF_NODE, merged[i].node, i + 1);
	}
}

const struct pm_cpu *places_cpu(const struct places *p, uint32_t cpu)
{
	return pm_topology_cpu(&(struct pm_topology){ .cpu = p->cpu, .n = p->n }, cpu);
}

/* Nested kinds in order; the others (PMU, device, task, cgroup) are outside that order. */
static const signed char rank[PM_KINDS] = {
	[PM_CPU] = 1, [PM_CORE] = 2, [PM_CLUSTER] = 3, [PM_CACHE] = 4,
	[PM_DIE] = 5, [PM_NODE] = 6, [PM_PACKAGE] = 7, [PM_SYSTEM] = 8,
};

bool kind_contains(enum pm_kind outer, enum pm_kind inner)
{
	if (outer == inner || outer == PM_SYSTEM)
		return true;
	if (!rank[outer])
		return false;
	if (rank[inner])
		return rank[inner] <= rank[outer];
	/* Uncore PMUs and devices belong to a die, a node or a package; tasks move. */
	return (inner == PM_PMU || inner == PM_DEVICE) && rank[outer] >= rank[PM_DIE];
}

enum pm_kind kind_join(enum pm_kind a, enum pm_kind b)
{
	static const enum pm_kind up[] = { PM_CPU, PM_CORE, PM_CLUSTER, PM_CACHE, PM_DIE, PM_NODE, PM_PACKAGE };

	if (a == b)
		return a;
	for (size_t i = 0; i < sizeof(up) / sizeof(up[0]); i++)
		if (kind_contains(up[i], a) && kind_contains(up[i], b))
			return up[i];
	return PM_SYSTEM;
}

/* Of a package or a node the first CPU. */
static const struct pm_cpu *cpu_of(const struct places *p, const struct pm_instance *i)
{
	bool package = i->kind == PM_PACKAGE;
	uint32_t first;

	if (i->kind == PM_CPU || i->cpu != PM_NONE)
		return places_cpu(p, i->kind == PM_CPU ? i->number : i->cpu);
	if (!package && i->kind != PM_NODE)
		return NULL;
	first = first_of(p, package ? OF_PACKAGE : OF_NODE, i->number);
	/* It was found to be elsewhere meanwhile. */
	if (first && (package ? p->cpu[first - 1].package : p->cpu[first - 1].node) != i->number)
		first = 0;
	return first ? &p->cpu[first - 1] : NULL;
}

/* A cgroup has an instance for each CPU; the first one represents all. */
static uint32_t first_of_cgroup(const struct places *p, const struct pm_instance *i)
{
	uint32_t first = i->number != PM_NONE ? first_of(p, OF_CGROUP, i->number) : 0;

	return first ? first : i->id;
}

/* Whether a PMU counts more than the node of the CPU that reads it. On x86 the kernel lets one CPU of a package read
 * what belongs to all of it, and nothing says which controller belongs to which node if a package is split into
 * several (SNC, NPS). If a PMU has several instances in the package, one per cache, each belongs to its own node. */
static bool spans_nodes(const struct places *p, const struct pm_instance *i, const struct pm_cpu *c)
{
	const char *name = pm_map_text(&i->attrs, PM_INSTANCE_NAME, "");
	bool split = false;

	if (i->kind != PM_PMU || pm_map_get(&i->attrs, PM_INSTANCE_CPUS) ||
	    strcmp(pm_map_text(&p->model->header, PM_HEADER_ARCH, ""), "x86_64"))
		return false;
	for (uint32_t k = 0; k < p->n && !split; k++)
		split = p->cpu[k].package == c->package && p->cpu[k].node != c->node;
	for (uint32_t k = 0; k < p->model->n_instances && split; k++) {
		const struct pm_instance *other = &p->model->instance[k];
		const struct pm_cpu *of = other->kind == PM_PMU && other->id != i->id ? cpu_of(p, other) : NULL;

		split = !of || of->package != c->package ||
			strcmp(pm_map_text(&other->attrs, PM_INSTANCE_NAME, ""), name);
	}
	return split;
}

bool places_find(const struct places *p, const struct pm_instance *i, enum pm_kind kind, struct place *place)
{
	const struct pm_cpu *c;
	int r = rank[kind];

	*place = PLACE_NOWHERE(kind);
	if (!kind_contains(kind, i->kind))
		return false;
	if (kind == PM_SYSTEM)
		return i->kind != PM_DEVICE || !pm_map_u64(&i->attrs, PM_INSTANCE_LAYER, 0);
	c = cpu_of(p, i);
	if (!r) {
		place->instance = kind == PM_CGROUP                           ? first_of_cgroup(p, i) :
				  kind == PM_TASK && i->number < p->n_numbers ? p->of_number[i->number] :
										i->id;
		if (c && (kind == PM_PMU || kind == PM_DEVICE)) {
			place->package = c->package;
			place->first_cpu = c->cpu;
		}
		return true;
	}
	if (!c) {
		/* Without topology a CPU is still a CPU, and a package a package. */
		if (kind != i->kind)
			return false;
		if (kind == PM_CPU)
			place->cpu = i->number;
		else if (kind == PM_PACKAGE)
			place->package = i->number;
		else if (kind == PM_NODE)
			place->node = i->number;
		else if (kind == PM_CORE)
			place->core = i->number;
		else
			place->instance = i->id;
		place->first_cpu = i->kind == PM_CPU ? i->number : PM_NONE;
		return true;
	}
	if (kind == PM_NODE && spans_nodes(p, i, c))
		return false;
	place->first_cpu = c->cpu;
	if (kind == PM_NODE) {
		place->node = c->node;
		return true;
	}
	place->package = c->package;
	if (r <= rank[PM_DIE])
		place->die = c->die;
	if (r <= rank[PM_CACHE])
		place->cache = i->kind == PM_CACHE && kind == PM_CACHE ? i->number : c->cache[p->cache];
	if (r <= rank[PM_CLUSTER])
		place->cluster = c->cluster;
	if (r <= rank[PM_CORE]) {
		place->core = c->core;
		place->node = c->node;
	}
	if (kind == PM_CPU) {
		place->cpu = c->cpu;
		place->thread = c->thread;
	}
	return true;
}

bool place_has(const struct places *p, const struct place *place, const struct place *cpu)
{
	const struct pm_cpu *c = places_cpu(p, cpu->first_cpu);
	struct pm_instance i = { .kind = PM_CPU, .number = cpu->first_cpu, .cpu = cpu->first_cpu };
	struct place at;

	if (!c || !places_find(p, &i, place->kind, &at))
		return false;
	at.instance = place->instance;
	return !place_compare(&at, place);
}

static int by(uint32_t a, uint32_t b)
{
	return (a > b) - (a < b);
}

int place_compare(const void *left, const void *right)
{
	const struct place *a = left, *b = right;
	int d;

	if ((d = by(a->kind, b->kind)) || (d = by(a->package, b->package)) || (d = by(a->die, b->die)))
		return d;
	/* A CPU's core determines its cluster and cache; only rows of these need them as a key. */
	if (a->kind == PM_CLUSTER && (d = by(a->cluster, b->cluster)))
		return d;
	if (a->kind == PM_CACHE && (d = by(a->cache, b->cache)))
		return d;
	if (a->kind == PM_NODE && (d = by(a->node, b->node)))
		return d;
	if (a->kind == PM_CORE && (d = by(a->cluster, b->cluster)))
		return d;
	if ((d = by(a->core, b->core)) || (d = by(a->thread, b->thread)) || (d = by(a->cpu, b->cpu)))
		return d;
	return by(a->instance, b->instance);
}

uint32_t place_number(const struct place *p)
{
	const uint32_t number[PM_KINDS] = {
		[PM_PACKAGE] = p->package, [PM_DIE] = p->die,   [PM_CLUSTER] = p->cluster, [PM_CACHE] = p->cache,
		[PM_NODE] = p->node,       [PM_CORE] = p->core, [PM_CPU] = p->cpu,
	};

	return rank[p->kind] && p->kind != PM_SYSTEM ? number[p->kind] : PM_NONE;
}

void places_label(struct places *p, const struct pm_instance *i, const char *text)
{
	memory_hold(&p->label, &p->n_labels, (size_t)i->slot + 1, sizeof(*p->label));
	free(p->label[i->slot].text);
	p->label[i->slot] = (struct place_label){ i->id, memory_text(text) };
}

const char *places_name(const struct places *p, const struct place *place)
{
	const struct pm_instance *i =
		place->instance == PM_NONE ? NULL : pm_model_instance(p->model, place->instance);

	if (!i)
		return "";
	if (label_of(p, i))
		return label_of(p, i);
	/* A path says more than a pseudonym, if it was recorded. */
	return pm_map_text(&i->attrs, i->kind == PM_CGROUP ? PM_INSTANCE_CGROUP : PM_INSTANCE_NAME,
			   pm_map_text(&i->attrs, PM_INSTANCE_NAME, ""));
}

/* Whether another PMU has its name; those that share one have been added one after the other. */
static bool is_twin(const struct places *p, const struct place *place)
{
	const struct pm_instance *i = place->kind == PM_PMU ? pm_model_instance(p->model, place->instance) : NULL;
	const struct pm_instance *first = p->model->instance, *end = first + p->model->n_instances;
	bool found = false;

	for (int step = -1; step < 2 && i; step += 2)
		found |= i + step >= first && i + step < end && i[step].kind == PM_PMU &&
			 !strcmp(pm_map_text(&i[step].attrs, PM_INSTANCE_NAME, ""), places_name(p, place));
	return found;
}

void places_put_name(const struct places *p, const struct place *place, struct buf *out)
{
	bool twin = is_twin(p, place);
	uint32_t number = place_number(place);

	if (number != PM_NONE)
		buf_printf(out, "%s %u", place->kind == PM_CPU ? "CPU" : pm_kind_name(place->kind), number);
	else
		buf_addstr(out, places_name(p, place));
	/* Where there are several dies, cores are numbered in each. */
	if (place->kind == PM_CORE && place->die && place->die != PM_NONE)
		buf_printf(out, " of die %u", place->die);
	if ((twin || place->kind == PM_CORE || place->kind == PM_DIE || place->kind == PM_CLUSTER) &&
	    place->package != PM_NONE)
		buf_printf(out, " of package %u", place->package);
	if (twin)
		buf_printf(out, " (CPU %u)", pm_model_instance(p->model, place->instance)->cpu);
}
