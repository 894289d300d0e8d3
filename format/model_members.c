/* Instances, and the groups that refer to them: they come and go. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/limits.h"
#include "format/model_private.h"

#define FORGET_MIN 64 /* retired items for which a pass over the model is worthwhile */

void model_instance_release(struct pm_instance *i)
{
	pm_map_release(&i->attrs);
	*i = (struct pm_instance){ 0 };
}

void pm_group_release(struct pm_group *g)
{
	free(g->source);
	free(g->counter);
	free(g->instance);
	*g = (struct pm_group){ 0 };
}

bool model_group_equal(const struct pm_group *a, const struct pm_group *b)
{
	return !strcmp(a->source, b->source) && a->flags == b->flags && a->n_counters == b->n_counters &&
	       a->n_instances == b->n_instances &&
	       !memcmp(a->counter, b->counter, a->n_counters * sizeof(*a->counter)) &&
	       !memcmp(a->instance, b->instance, a->n_instances * sizeof(*a->instance));
}

static uint64_t instance_size(const struct pm_instance *i)
{
	return sizeof(*i) + model_map_size(&i->attrs);
}

static uint64_t group_size(const struct pm_group *g)
{
	return sizeof(*g) + 4ull * (g->n_counters + g->n_instances) + 32;
}

/* The array also holds the retired that are not yet forgotten; the limit is for those that live. */
static uint32_t most(uint32_t max, uint32_t retired)
{
	return retired > UINT32_MAX / 4 - max ? UINT32_MAX / 4 : max + retired;
}

static struct pm_instance *find_instance(const struct pm_model *m, uint32_t id)
{
	uint32_t at = PM_NONE;

	if (m->caps)
		at = model_ids_place(&m->caps->instance_ids, m->instance, m->n_instances, sizeof(*m->instance), id);
	return at == PM_NONE ? NULL : &m->instance[at];
}

static struct pm_group *find_group(const struct pm_model *m, uint32_t id)
{
	uint32_t at = PM_NONE;

	if (m->caps)
		at = model_ids_place(&m->caps->group_ids, m->group, m->n_groups, sizeof(*m->group), id);
	return at == PM_NONE ? NULL : &m->group[at];
}

int64_t model_add_instance(struct pm_model *m, const struct pm_instance *i, uint32_t id)
{
	struct pm_model_caps *caps = model_caps(m);
	struct pm_instance copy = *i;
	int err;

	if (!caps)
		return -ENOMEM;
	err = model_grow(m, &m->instance, m->n_instances, most(PM_MAX_INSTANCES, caps->instance_ids.n_retired),
			 sizeof(copy), instance_size(i));
	if (!err)
		err = pm_map_copy(&copy.attrs, &i->attrs);
	if (!err) {
		err = model_ids_add(&caps->instance_ids, m->instance, m->n_instances, sizeof(copy), id, &copy.slot);
		if (err)
			pm_map_release(&copy.attrs);
	}
	if (err)
		return err;
	copy.id = id;
	copy.retired_ns = 0;
	m->instance[m->n_instances++] = copy;
	m->last_instance = id > m->last_instance ? id : m->last_instance;
	if (i->retired_ns && pm_model_retire_instance(m, id, i->retired_ns))
		return -ENOMEM;
	return id;
}

int64_t pm_model_add_instance(struct pm_model *m, const struct pm_instance *i)
{
	return m->last_instance == UINT32_MAX ? -E2BIG : model_add_instance(m, i, m->last_instance + 1);
}

uint32_t model_group_kept(const struct pm_group *g, const struct pm_group *from, uint32_t *place)
{
	uint32_t kept = 0;

	for (uint32_t at = 0; at < from->n_instances && kept < g->n_instances; at++) {
		if (from->instance[at] != g->instance[kept])
			continue;
		if (place)
			place[kept] = at;
		kept++;
	}
	return kept;
}

static bool continues(const struct pm_model *m, const struct pm_group *g)
{
	const struct pm_group *from = pm_model_group(m, g->continues);

	return from && !(g->flags & PM_GROUP_LIST) && from->flags == g->flags && from->n_counters == g->n_counters &&
	       !memcmp(from->counter, g->counter, g->n_counters * sizeof(*g->counter));
}

static bool ascend(const uint32_t *id, uint32_t n)
{
	for (uint32_t k = 1; k < n; k++)
		if (id[k] <= id[k - 1])
			return false;
	return true;
}

static int by_id(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* A column that occurs twice would be counted twice. Returns 0, -EINVAL or -ENOMEM; nearly all lists ascend. */
static int each_once(const uint32_t *id, const uint32_t *with, uint32_t n)
{
	SCOPED(scoped_free) uint64_t *sorted = NULL;
	int err = 0;

	if (ascend(id, n) || (with && ascend(with, n)))
		return 0;
	sorted = malloc(n * sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	for (uint32_t k = 0; k < n; k++)
		sorted[k] = (with ? (uint64_t)with[k] << 32 : 0) | id[k];
	qsort(sorted, n, sizeof(*sorted), by_id);
	for (uint32_t k = 1; k < n; k++)
		if (sorted[k] == sorted[k - 1])
			err = -EINVAL;
	return err;
}

static int check_group(const struct pm_model *m, const struct pm_group *g)
{
	uint64_t columns;
	int err;

	if (!g->n_counters || !g->n_instances ||
	    g->flags & ~(uint32_t)(PM_GROUP_LIST | PM_GROUP_SHARED_TIME | PM_GROUP_PERF_TIMES) ||
	    (g->flags & PM_GROUP_LIST && g->n_instances != g->n_counters))
		return -EINVAL;
	columns = g->flags & PM_GROUP_LIST ? g->n_counters : (uint64_t)g->n_counters * g->n_instances;
	if (columns + 4ull * g->n_instances > PM_MAX_COLUMNS)
		return -E2BIG;
	for (uint32_t k = 0; k < g->n_counters; k++)
		if (!pm_model_counter(m, g->counter[k]))
			return -EINVAL;
	for (uint32_t k = 0; k < g->n_instances; k++)
		if (!pm_model_instance(m, g->instance[k]))
			return -EINVAL;
	if (g->flags & PM_GROUP_LIST) {
		err = each_once(g->counter, g->instance, g->n_counters);
	} else {
		err = each_once(g->counter, NULL, g->n_counters);
		if (!err)
			err = each_once(g->instance, NULL, g->n_instances);
	}
	return !err && g->continues && !continues(m, g) ? -EINVAL : err;
}

static uint32_t *copy_ids(const uint32_t *id, uint32_t n)
{
	uint32_t *copy = malloc(n * sizeof(*copy));

	if (copy)
		memcpy(copy, id, n * sizeof(*copy));
	return copy;
}

int64_t model_add_group(struct pm_model *m, const struct pm_group *g, uint32_t id)
{
	struct pm_group copy = *g;
	int err = check_group(m, g);

	if (!err)
		err = model_grow(m, &m->group, m->n_groups, most(PM_MAX_GROUPS, m->caps->group_ids.n_retired),
				 sizeof(copy), group_size(g));
	if (err)
		return err;
	copy.id = id;
	copy.retired = copy.continued = false;
	copy.source = strdup(g->source ? g->source : "");
	copy.counter = copy_ids(g->counter, g->n_counters);
	copy.instance = copy_ids(g->instance, g->n_instances);
	if (!copy.source || !copy.counter || !copy.instance ||
	    model_ids_add(&m->caps->group_ids, m->group, m->n_groups, sizeof(copy), id, &copy.slot)) {
		pm_group_release(&copy);
		return -ENOMEM;
	}
	m->group[m->n_groups++] = copy;
	m->last_group = id > m->last_group ? id : m->last_group;
	if (g->continues) {
		find_group(m, g->continues)->continued = true;
		err = pm_model_retire_group(m, g->continues);
	}
	return err ? (int64_t)err : id;
}

int64_t pm_model_add_group(struct pm_model *m, const struct pm_group *g)
{
	return m->last_group == UINT32_MAX ? -E2BIG : model_add_group(m, g, m->last_group + 1);
}

const struct pm_instance *pm_model_instance(const struct pm_model *m, uint32_t id)
{
	return find_instance(m, id);
}

const struct pm_group *pm_model_group(const struct pm_model *m, uint32_t id)
{
	return find_group(m, id);
}

int pm_model_retire_instance(struct pm_model *m, uint32_t id, uint64_t time_ns)
{
	struct pm_instance *i = find_instance(m, id);

	if (!i)
		return -EINVAL;
	if (i->retired_ns)
		return 0;
	if (model_ids_retire(&m->caps->instance_ids, id))
		return -ENOMEM;
	i->retired_ns = time_ns ? time_ns : 1;
	return 0;
}

int pm_model_retire_group(struct pm_model *m, uint32_t id)
{
	struct pm_group *g = find_group(m, id);

	if (!g)
		return -EINVAL;
	if (g->retired)
		return 0;
	if (model_ids_retire(&m->caps->group_ids, id))
		return -ENOMEM;
	g->retired = true;
	return 0;
}

/* Those that stay have retired all the same. */
static void still_retired(struct model_ids *ids, uint32_t id)
{
	ids->retired[ids->n_retired++] = id;
	ids->n_kept = ids->n_retired;
}

static bool names_needed(const struct pm_model *m, const struct pm_group *g, const bool *needed)
{
	bool any = false;

	for (uint32_t k = 0; k < g->n_instances && !any && !g->continued; k++)
		any = needed[find_instance(m, g->instance[k])->slot];
	return any;
}

/* With what the groups that stay name, more is needed. */
static void forget_groups(struct pm_model *m, bool *needed)
{
	struct model_ids *ids = &m->caps->group_ids;
	uint32_t n = 0;

	for (uint32_t i = 0; i < m->n_groups; i++) {
		struct pm_group *g = &m->group[i];

		if (!g->retired || names_needed(m, g, needed)) {
			m->group[n++] = *g;
			continue;
		}
		m->caps->bytes -= group_size(g);
		model_ids_give_back(ids, g->slot);
		pm_group_release(g);
	}
	m->n_groups = n;
	model_ids_rebuild(ids, m->group, n, sizeof(*m->group));
	for (uint32_t i = 0; i < n; i++) {
		if (m->group[i].retired)
			still_retired(ids, m->group[i].id);
		for (uint32_t k = 0; k < m->group[i].n_instances; k++)
			needed[find_instance(m, m->group[i].instance[k])->slot] = true;
	}
}

static void forget_instances(struct pm_model *m, const bool *needed)
{
	struct model_ids *ids = &m->caps->instance_ids;
	uint32_t n = 0;

	for (uint32_t i = 0; i < m->n_instances; i++) {
		struct pm_instance *x = &m->instance[i];

		if (!x->retired_ns || needed[x->slot]) {
			m->instance[n++] = *x;
			continue;
		}
		m->caps->bytes -= instance_size(x);
		model_ids_give_back(ids, x->slot);
		model_instance_release(x);
	}
	m->n_instances = n;
	model_ids_rebuild(ids, m->instance, n, sizeof(*m->instance));
	for (uint32_t i = 0; i < n; i++)
		if (m->instance[i].retired_ns)
			still_retired(ids, m->instance[i].id);
}

/* Whether enough of all items have retired since the last time. */
static bool many(const struct model_ids *ids, uint32_t n)
{
	uint32_t retired = ids->n_retired - ids->n_kept;

	return retired >= FORGET_MIN && retired >= n / 3;
}

void pm_model_forget(struct pm_model *m, pm_model_needs *needs, void *ctx, bool few)
{
	struct pm_model_caps *caps = m->caps;
	SCOPED(scoped_free) bool *needed = NULL;

	if (!caps || (!few && !many(&caps->instance_ids, m->n_instances) && !many(&caps->group_ids, m->n_groups)))
		return;
	/* Without memory, try another time. */
	if (model_ids_map(&caps->instance_ids, m->instance, m->n_instances, sizeof(*m->instance)) ||
	    model_ids_map(&caps->group_ids, m->group, m->n_groups, sizeof(*m->group)))
		return;
	needed = calloc(caps->instance_ids.slots + 1, sizeof(*needed));
	if (!needed)
		return;
	if (needs)
		needs(ctx, m, needed);
	forget_groups(m, needed);
	forget_instances(m, needed);
	caps->forgotten++;
}
