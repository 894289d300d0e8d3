/* A plan of a source that is not there: groups and units as a test wants them, for what lies between plan and file. */
#pragma once

#include "record/plan/readout.h"
#include "tests/unit/lib/test.h"

#define MS 1000000ull

static const struct source_ops fake_ops = { .name = "fake" };
static struct source fake_source = { .ops = &fake_ops };

struct fake_plan {
	struct pm_model model;
	struct record_options options;
	struct plan plan;
	struct unit unit[140];
	unsigned n_units;
	struct readout readout;
};

static inline void fake_begin(struct fake_plan *f)
{
	*f = (struct fake_plan){ .plan = { .model = &f->model, .options = &f->options, .source = &fake_source } };
	f->plan.units_end = &f->plan.units;
	pm_model_init(&f->model);
}

static inline void fake_end(struct fake_plan *f)
{
	readout_release(&f->readout);
	pm_model_release(&f->model);
}

/* Counters and instances have ids from 1; those that are there are taken again. */
static inline uint32_t fake_group(struct fake_plan *f, uint32_t counters, uint32_t instances, uint32_t flags)
{
	uint32_t *c = calloc(counters, sizeof(*c)), *in = calloc(instances, sizeof(*in));
	struct pm_group g = { .source = (char *)"fake",
			      .flags = flags,
			      .counter = c,
			      .n_counters = counters,
			      .instance = in,
			      .n_instances = instances };
	int64_t id;

	for (uint32_t i = 0; i < counters; i++) {
		char name[16];
		struct pm_counter add = { .name = name,
					  .display = name,
					  .source = (char *)"fake",
					  .unit = (char *)"1",
					  .scale = { 1, 1, NULL },
					  .width = 64 };

		snprintf(name, sizeof(name), "fake.%u", i);
		c[i] = i < f->model.n_counters ? i + 1 : (uint32_t)pm_model_add_counter(&f->model, &add);
	}
	for (uint32_t i = 0; i < instances; i++) {
		struct pm_instance add = { .kind = PM_CPU, .number = i, .cpu = i };

		in[i] = i < f->model.n_instances ? i + 1 : (uint32_t)pm_model_add_instance(&f->model, &add);
	}
	id = pm_model_add_group(&f->model, &g);
	assert_true(id > 0);
	free(c);
	free(in);
	return (uint32_t)id;
}

static inline struct unit *fake_unit(struct fake_plan *f, uint32_t group, uint32_t instance, uint32_t cpu)
{
	struct unit *u = &f->unit[f->n_units++];

	*u = (struct unit){ .group = group, .instance = instance, .cpu = cpu };
	plan_add_unit(&f->plan, u);
	return u;
}
