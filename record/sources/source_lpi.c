/* How long all CPUs, and the whole system, were in the low-power idle states that the firmware describes. */
#include "record/plan/plan.h"
#include "record/sources/filegrid.h"

#define CPUIDLE "/sys/devices/system/cpu/cpuidle/"

static const struct {
	const char *key, *path;
} file[] = {
	{ "low_power_idle_cpu_residency_us", CPUIDLE "low_power_idle_cpu_residency_us" },
	{ "low_power_idle_system_residency_us", CPUIDLE "low_power_idle_system_residency_us" },
	/* The same for platforms whose firmware describes no such state. */
	{ "low_power_idle_system_residency_us", "/sys/kernel/debug/pmc_core/slp_s0_residency_usec" },
};

static int lpi_plan(struct source *s, struct plan *p, struct error *e)
{
	struct filegrid *g = filegrid_new(p), *list = NULL;

	for (size_t k = 0; k < sizeof(file) / sizeof(file[0]); k++) {
		const struct catalog_counter *row = catalog_find("lpi", file[k].key);

		if (!pm_model_counter_named(p->model, row->name) && !filegrid_try(p->root, "%s", file[k].path))
			filegrid_add(g, plan_counter(p, row), p->system_instance, PM_NONE, 0, "%s", file[k].path);
	}
	filegrid_finish(g, p, &list);
	if (list)
		return 0;
	return plan_refused(p, PM_REASON_NOT_SUPPORTED, pm_remark(PM_REMEDY_STANDBY), pm_remark(PM_REMARK_LOW_POWER));
}

const struct source_ops source_lpi = {
	.name = "lpi",
	.help = "residencies of the system's low-power idle states (sysfs)",
	.plan = lpi_plan,
};
