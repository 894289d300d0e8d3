/* How often and how long x86 CPUs were throttled for heat. A CPU's directory has what it has seen of its core and of
 * its package. Threads of a core see different numbers (the interrupt goes to one of them), so each is read; of a
 * package, which interrupts all, one.
 */
#include <errno.h>
#include <string.h>

#include "common/memory.h"
#include "record/plan/plan.h"
#include "record/plan/machine.h"
#include "record/sources/filegrid.h"

#define FOLDER "/sys/devices/system/cpu/cpu%u/thermal_throttle/%s"

/* The rows of the catalog that this machine has, as bits. They depend on features that all its CPUs share. */
static uint64_t rows_there(const struct plan *p)
{
	size_t n;
	const struct catalog_counter *row = catalog_source("throttle", &n);
	uint64_t there = 0;

	for (size_t r = 0; r < n && p->cpus.n; r++)
		there |= (uint64_t)root_exists(p->root, FOLDER, p->cpus.cpu[0], row[r].key) << r;
	return there;
}

/* Adds the counts of a CPU's place. With -C, the first CPU of the plan stands for its package. */
static void add_cpu(struct filegrid *g, struct plan *p, uint32_t cpu, enum pm_kind kind, struct cpulist *seen,
		    uint64_t there)
{
	const char *prefix = kind == PM_CPU ? "core_" : "package_";
	int64_t instance = 0;
	size_t n;
	const struct catalog_counter *row = catalog_source("throttle", &n);

	for (size_t r = 0; r < n; r++) {
		int err;

		if (strncmp(row[r].key, prefix, strlen(prefix)) || !(there >> r & 1))
			continue;
		if (!instance) {
			uint32_t leader;

			instance = topology_instance(p, kind, cpu);
			if (instance == -ENOENT)
				return;
			leader = pm_model_instance(p->model, (uint32_t)memory_must(instance))->cpu;
			if (cpulist_has(seen, leader))
				return;
			memory_must(cpulist_add(seen, leader));
		}
		err = filegrid_add(g, plan_counter(p, &row[r]), instance, cpu, 0, FOLDER, cpu, row[r].key);
		if (err)
			plan_refused(p, filegrid_reason(err, false), pm_remark(0),
				     pm_remark(PM_REMARK_THROTTLE_FILE, cpu, row[r].key));
	}
}

static int throttle_plan(struct source *s, struct plan *p, struct error *e)
{
	static const enum pm_kind kinds[] = { PM_CPU, PM_PACKAGE };
	struct filegrid *grids = NULL;
	uint64_t there = rows_there(p);

	/* One matrix of CPUs and one of packages. */
	for (size_t k = 0; k < 2; k++) {
		struct filegrid *g = filegrid_new(p);
		SCOPED(cpulist_release) struct cpulist seen = { 0 };

		for (size_t i = 0; i < p->cpus.n; i++)
			add_cpu(g, p, p->cpus.cpu[i], kinds[k], &seen, there);
		filegrid_finish(g, p, &grids);
	}
	s->data = grids;
	if (grids)
		return 0;
	return plan_refused(p, PM_REASON_NOT_SUPPORTED, pm_remark(0),
			    pm_remark(PM_REMARK_FILE, "/sys/devices/system/cpu/cpuN/thermal_throttle"));
}

/* A CPU that was offline is read again when it is back. */
static void throttle_update(struct source *s, struct plan *p, uint32_t cpu, bool online)
{
	if (cpu != PM_NONE)
		filegrid_cpu(s->data, cpu, online);
}

const struct source_ops source_throttle = {
	.name = "throttle",
	.help = "how often and how long cores and packages were throttled for heat (sysfs)",
	.plan = throttle_plan,
	.update = throttle_update,
};
