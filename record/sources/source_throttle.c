/* How often and how long x86 CPUs were throttled for heat; a CPU's folder has what its core and package counted. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/catalog/catalog.h"
#include "record/sources/filegrid.h"
#include "record/plan/plan.h"
#include "record/plan/source.h"
#include "record/plan/topology.h"

/* The CPUs of the plan decide: with -C, the first of them stands for its core or package. */
static bool is_first(const struct plan *p, enum pm_kind kind, size_t index)
{
	const struct pm_topology *t = &p->model->topology;
	uint32_t leader = topology_leader(t, kind, p->cpus.cpu[index]);

	for (size_t i = 0; i < index; i++)
		if (topology_leader(t, kind, p->cpus.cpu[i]) == leader)
			return false;
	return leader != PM_NONE;
}

static int add_cpu(struct filegrid *g, struct plan *p, size_t index, const struct catalog_counter *row,
		   enum pm_kind kind)
{
	uint32_t cpu = p->cpus.cpu[index];
	int64_t counter, instance;
	int err;

	if (!root_exists(p->root, "/sys/devices/system/cpu/cpu%u/thermal_throttle/%s", cpu, row->key))
		return 0;
	if (!is_first(p, kind, index))
		return 0;
	counter = plan_counter(p, row);
	instance = counter < 0 ? counter : topology_instance(p, kind, cpu);
	if (instance < 0)
		return (int)instance;
	err = filegrid_add(g, (uint32_t)counter, (uint32_t)instance, cpu, 0,
			   "/sys/devices/system/cpu/cpu%u/thermal_throttle/%s", cpu, row->key);
	if (err && err != -ENOMEM)
		err = plan_refused(p, filegrid_reason(err, false), NULL, "cpu%u/thermal_throttle/%s", cpu, row->key);
	return err;
}

static int throttle_plan(struct source *s, struct plan *p, struct error *e)
{
	static const enum pm_kind kinds[] = { PM_CORE, PM_PACKAGE };
	struct filegrid *grids = NULL;
	const struct catalog_counter *row;
	int err = 0;
	size_t n;

	row = catalog_source("throttle", &n);
	/* A matrix of cores and one of packages. */
	for (size_t k = 0; k < 2 && !err; k++) {
		struct filegrid *g = filegrid_new(p);
		const char *prefix = kinds[k] == PM_CORE ? "core_" : "package_";

		err = g ? 0 : -ENOMEM;
		for (size_t r = 0; r < n && !err; r++)
			for (size_t i = 0; i < p->cpus.n && !err; i++)
				if (!strncmp(row[r].key, prefix, strlen(prefix)))
					err = add_cpu(g, p, i, &row[r], kinds[k]);
		err = filegrid_finish(g, p, &grids, err);
	}
	s->data = grids;
	if (err || grids)
		return err;
	return plan_refused(p, PM_REASON_NOT_SUPPORTED, NULL, "/sys/devices/system/cpu/cpuN/thermal_throttle");
}

/* A core whose first CPU is gone is read again when that CPU is back. */
static int throttle_update(struct source *s, struct plan *p, uint32_t cpu, bool online)
{
	if (cpu != PM_NONE)
		filegrid_cpu(s->data, cpu, online);
	return 0;
}

const struct source_ops source_throttle = {
	.name = "throttle",
	.help = "how often and how long cores and packages were throttled for heat (sysfs)",
	.default_on = true,
	.plan = throttle_plan,
	.update = throttle_update,
};
