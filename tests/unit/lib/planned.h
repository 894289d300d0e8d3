/* A plan on a copy of a machine, up to where the sources add to it; for the tests of sources. */
#pragma once

#include "record/plan/machine.h"
#include "record/plan/plan.h"
#include "record/sources/sources.h"
#include "tests/unit/lib/sysroot.h"
#include "tests/unit/lib/test.h"

struct planned {
	char dir[32];                  /* "": there is no tree */
	struct record_options options; /* set by the test before planned_begin() */
	struct root root;
	struct pm_model model;
	struct plan plan;
	struct source *source;
	size_t n_sources;
};

/* Describes the machine as the tree has it now, and selects the sources. */
static inline void planned_describe(struct planned *p, const char *sources)
{
	struct error e = { 0 };

	pm_model_init(&p->model);
	assert_int_equal(plan_init(&p->plan, &p->options, &p->root, &p->model, &e), 0);
	assert_int_equal(machine_describe(&p->plan, &e), 0);
	assert_int_equal(sources_select(&p->source, &p->n_sources, sources, &e), 0);
}

/* Forgets what was described. */
static inline void planned_forget(struct planned *p)
{
	plan_release(&p->plan);
	sources_release(p->source, p->n_sources);
	pm_model_release(&p->model);
}

/* Describes a new tree, or the one that the test has made. */
static inline void planned_begin(struct planned *p, const char *kind, const char *sources)
{
	if (!p->dir[0])
		sysroot_make(p->dir, kind);
	root_init(&p->root, p->dir);
	planned_describe(p, sources);
}

static inline void planned_end(struct planned *p)
{
	planned_forget(p);
	root_release(&p->root);
	sysroot_remove(p->dir);
	p->dir[0] = '\0';
}
