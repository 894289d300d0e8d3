/* A plan with nothing but the perf source, and work of known size to be counted; for the tests of that source. */
#pragma once

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "record/host/perf_open.h"
#include "record/perf/source_perf.h"
#include "tests/unit/lib/test.h"

struct world {
	struct record_options options;
	char *events[8];
	char *filters[8];
	struct root root;
	struct pm_model model;
	struct plan plan;
	struct source source;
	struct error e;
};

static inline void world_begin(struct world *w, const char *root)
{
	root_init(&w->root, root);
	pm_model_init(&w->model);
	if (plan_init(&w->plan, &w->options, &w->root, &w->model, &w->e))
		fail_msg("%s", w->e.text);
	w->source = (struct source){ .ops = &source_perf, .wanted = true };
	w->plan.source = &w->source;
}

static inline int world_plan(struct world *w)
{
	return source_perf.plan(&w->source, &w->plan, &w->e);
}

/* plan_release() before or after the source: both orders must do. */
static inline void world_end(struct world *w, bool source_first)
{
	if (source_first)
		source_release(&w->source);
	plan_release(&w->plan);
	if (!source_first)
		source_release(&w->source);
	pm_model_release(&w->model);
	root_release(&w->root);
}

static inline struct world *world_new(enum target_kind target, const char *a, const char *b, const char *c)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->options.target = target;
	w->options.privacy = "default";
	w->events[0] = (char *)a;
	w->events[1] = (char *)b;
	w->events[2] = (char *)c;
	w->options.perf.events = a ? w->events : NULL;
	w->options.perf.filters = w->filters;
	return w;
}

struct reading {
	uint64_t v[64], enabled, running;
	uint16_t status[64];
	bool missing;
};

static inline void read_unit(struct unit *u, const struct pm_model *m, struct reading *r)
{
	const struct pm_group *g = pm_model_group(m, u->group);
	struct cells c = { .v = r->v,
			   .status = r->status,
			   .step = 1,
			   .n = g->n_counters,
			   .enabled = &r->enabled,
			   .running = &r->running,
			   .any_missing = &r->missing };

	*r = (struct reading){ 0 };
	assert_true(g->n_counters <= 64);
	assert_int_equal(u->read(u, &c), 0);
}

/* Sum over all units of a counter. */
static inline uint64_t sum_of(struct world *w, const char *name)
{
	const struct pm_counter *c = pm_model_counter_named(&w->model, name);
	uint64_t sum = 0;

	if (!c)
		fail_msg("there is no counter %s", name);
	for (struct unit *u = w->plan.units; u; u = u->next) {
		const struct pm_group *g = pm_model_group(&w->model, u->group);
		struct reading r;

		read_unit(u, &w->model, &r);
		for (uint32_t k = 0; k < g->n_counters; k++)
			if (g->counter[k] == c->id) {
				assert_int_equal(r.status[k], PM_OK);
				sum += r.v[k];
			}
	}
	return sum;
}

static inline unsigned count_units(const struct world *w)
{
	unsigned n = 0;

	for (struct unit *u = w->plan.units; u; u = u->next)
		n++;
	return n;
}

static inline void burn(uint64_t ns)
{
	struct timespec t;
	uint64_t end;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	end = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec + ns;
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	while ((uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec < end);
}

static inline void touch(size_t pages)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *p = mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	madvise(p, pages * page, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < pages; i++)
		p[i * page] = 1;
	munmap(p, pages * page);
}

/* May events of all CPUs be opened here? */
static inline bool system_wide_allowed(void)
{
	union perf_attr attr = { .a = { .size = 64, .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY } };
	int fd = perf_open(&attr, perf_on_cpu(0), -1);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* May this process be counted, with what the kernel does for it or without? Without it events have another name. */
static inline bool own_allowed(bool without_kernel)
{
	union perf_attr attr = { .a = { .size = 64,
					.type = PERF_TYPE_SOFTWARE,
					.config = PERF_COUNT_SW_DUMMY,
					.exclude_kernel = without_kernel,
					.exclude_hv = without_kernel } };
	int fd = perf_open(&attr, perf_on_task(0), -1);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

#define NEED_KERNEL() \
	do { \
		if (!own_allowed(false)) \
			skip(); \
	} while (0)

#define NEED_SYSTEM_WIDE() \
	do { \
		if (!system_wide_allowed()) \
			skip(); \
	} while (0)

static inline char *tid_text(char text[static 16])
{
	snprintf(text, 16, "%d", (int)getpid());
	return text;
}
