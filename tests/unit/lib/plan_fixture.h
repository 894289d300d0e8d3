/* A machine that has nothing but a list of CPUs, for tests of the plan itself. */
#pragma once

#include "record/plan/plan.h"
#include "tests/unit/lib/sysroot.h"
#include "tests/unit/lib/test.h"

struct fixture {
	char dir[32];
	struct root root;
	struct pm_model model;
	struct record_options options;
	struct plan plan;
};

/* The caller adds files and options, then calls root_init() and plan_init(). */
static inline void fixture_begin(struct fixture *f, const char *online, const char *privacy)
{
	memset(f, 0, sizeof(*f));
	sysroot_make(f->dir, NULL);
	sysroot_put(f->dir, "/sys/devices/system/cpu/online", "%s\n", online);
	pm_model_init(&f->model);
	f->options.privacy = (char *)privacy;
	f->options.root = f->dir;
}

static inline void fixture_end(struct fixture *f)
{
	plan_release(&f->plan);
	pm_model_release(&f->model);
	root_release(&f->root);
	sysroot_remove(f->dir);
}
