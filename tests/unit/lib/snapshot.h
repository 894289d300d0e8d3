/* One snapshot of the sources of a plan on a copy of a machine, and what it has for a counter. */
#pragma once

#include "tests/unit/lib/planned.h"
#include "tests/unit/lib/test.h"

#define UNITS_MAX      64
#define SYSTEM         PM_NONE
#define STATUS(reason) (-1 - (int64_t)(reason)) /* how value_of() says that there is none */
#define NO_COUNTER     STATUS(9999)
#define NO_COLUMN      STATUS(9998)

static struct planned here;
static struct {
	uint64_t *v;
	uint16_t *status;
	int result;
} sampled[UNITS_MAX];

static inline void start_with(const char *kind, const char *sources, const char *privacy, const char *cpus)
{
	struct error e = { 0 };

	here.options = (struct record_options){ .privacy = (char *)privacy, .cpus = (char *)cpus };
	planned_begin(&here, kind, sources);
	assert_int_equal(plan_sources(&here.plan, here.source, here.n_sources, &e), 0);
}

static inline void start(const char *kind, const char *sources)
{
	start_with(kind, sources, "default", NULL);
}

static inline int teardown(void **state)
{
	if (!here.dir[0])
		return 0; /* the test was skipped */
	for (int i = 0; i < UNITS_MAX; i++) {
		free(sampled[i].v);
		free(sampled[i].status);
		sampled[i].v = NULL;
		sampled[i].status = NULL;
	}
	planned_end(&here);
	return 0;
}

/* A unit fills all columns of such a group; of others those of its instance. */
static inline bool fills_all(const struct pm_group *g)
{
	return g->flags & (PM_GROUP_LIST | PM_GROUP_SHARED_TIME);
}

/* One snapshot. */
static inline void sample(void)
{
	int i = 0;

	for (struct unit *u = here.plan.units; u; u = u->next, i++) {
		const struct pm_group *g = pm_model_group(&here.model, u->group);
		uint32_t n = fills_all(g) ? pm_group_values(g) : g->n_counters;
		bool missing;
		struct cells c = { .step = 1, .n = n, .any_missing = &missing };

		assert_true(i < UNITS_MAX);
		sampled[i].v = realloc(sampled[i].v, (n + 1) * sizeof(uint64_t));
		sampled[i].status = realloc(sampled[i].status, (n + 1) * sizeof(uint16_t));
		memset(sampled[i].v, 0xee, n * sizeof(uint64_t));
		memset(sampled[i].status, 0, n * sizeof(uint16_t));
		c.v = sampled[i].v;
		c.status = sampled[i].status;
		sampled[i].result = u->read(u, &c);
	}
}

static inline bool is_instance(const struct pm_instance *in, enum pm_kind kind, uint32_t cpu, const char *name)
{
	return in->kind == kind && (in->cpu == cpu || kind == PM_DEVICE) &&
	       (!name || !strcmp(pm_map_text(&in->attrs, PM_INSTANCE_NAME, ""), name));
}

/* What the last snapshot has for that counter: a place by its first CPU, a device by its name. */
static inline int64_t value_of(const char *counter, enum pm_kind kind, uint32_t cpu, const char *name)
{
	const struct pm_counter *c = pm_model_counter_named(&here.model, counter);
	int i = 0;

	if (!c)
		return NO_COUNTER;
	for (struct unit *u = here.plan.units; u; u = u->next, i++) {
		const struct pm_group *g = pm_model_group(&here.model, u->group);

		for (uint32_t k = 0; k < pm_group_values(g); k++) {
			if (pm_group_counter_of(g, k) != c->id ||
			    !is_instance(pm_model_instance(&here.model, pm_group_instance_of(g, k)), kind, cpu, name))
				continue;
			if (!fills_all(g) && k % g->n_instances != u->instance)
				continue;
			if (!fills_all(g))
				k /= g->n_instances;
			return sampled[i].status[k] ? STATUS(sampled[i].status[k]) : (int64_t)sampled[i].v[k];
		}
	}
	return NO_COLUMN;
}

static inline int64_t of_cpu(const char *counter, uint32_t cpu)
{
	return value_of(counter, PM_CPU, cpu, NULL);
}

static inline int64_t of_system(const char *counter)
{
	return value_of(counter, PM_SYSTEM, PM_NONE, NULL);
}

static inline int64_t of_device(const char *counter, const char *name)
{
	return value_of(counter, PM_DEVICE, PM_NONE, name);
}

static inline struct source *named(const char *name)
{
	for (size_t i = 0; i < here.n_sources; i++)
		if (!strcmp(here.source[i].ops->name, name))
			return &here.source[i];
	fail_msg("no source %s", name);
	return NULL;
}

static inline void update(const char *name, uint32_t cpu, bool online)
{
	here.plan.source = named(name);
	here.plan.source->ops->update(here.plan.source, &here.plan, cpu, online);
	here.plan.source = NULL;
}

static inline const struct pm_probe *refused(const char *name)
{
	for (uint32_t i = 0; i < here.model.n_probes; i++)
		if (!strcmp(here.model.probe[i].source, name))
			return &here.model.probe[i];
	return NULL;
}

static inline const struct pm_counter *counter(const char *name)
{
	const struct pm_counter *c = pm_model_counter_named(&here.model, name);

	if (!c)
		fail_msg("no counter %s", name);
	return c;
}
