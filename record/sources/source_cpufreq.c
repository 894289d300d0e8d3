/* Frequencies as the cpufreq drivers know them, and how they were told to choose them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/catalog/catalog.h"
#include "record/sources/filegrid.h"
#include "record/plan/plan.h"
#include "record/plan/source.h"

#define SYS_CPU "/sys/devices/system/cpu/"

/* One-time values; numbers stay numbers. */
static int config(struct plan *p, enum pm_kind kind, uint32_t number, const char *path, const char *name)
{
	char line[256];
	uint64_t v;

	if (root_line(p->root, line, sizeof(line), "%s", path) || !line[0])
		return 0;
	return plan_config(p, kind, number, PM_PRIVACY_TECHNICAL,
			   filegrid_parse(line, &v) ? pm_text(line) : pm_u64(v), "%s", name);
}

static const struct {
	const char *file, *name;
} cpu_file[] = {
	{ "cpufreq/scaling_driver", "cpufreq.scaling_driver" },
	{ "cpufreq/scaling_governor", "cpufreq.scaling_governor" },
	{ "cpufreq/scaling_min_freq", "cpufreq.scaling_min_freq" },
	{ "cpufreq/scaling_max_freq", "cpufreq.scaling_max_freq" },
	{ "cpufreq/cpuinfo_min_freq", "cpufreq.cpuinfo_min_freq" },
	{ "cpufreq/cpuinfo_max_freq", "cpufreq.cpuinfo_max_freq" },
	{ "cpufreq/base_frequency", "cpufreq.base_frequency" },
	{ "cpufreq/energy_performance_preference", "cpufreq.energy_performance_preference" },
	{ "cpufreq/related_cpus", "cpufreq.related_cpus" },
	{ "power/energy_perf_bias", "cpufreq.energy_perf_bias" },
	{ "acpi_cppc/nominal_freq", "cppc.nominal_freq" },
	{ "acpi_cppc/nominal_perf", "cppc.nominal_perf" },
	{ "acpi_cppc/highest_perf", "cppc.highest_perf" },
	{ "acpi_cppc/lowest_perf", "cppc.lowest_perf" },
};

static const struct {
	const char *file, *name;
} system_file[] = {
	{ SYS_CPU "cpufreq/boost", "cpufreq.boost" },
	{ SYS_CPU "intel_pstate/no_turbo", "intel_pstate.no_turbo" },
	{ SYS_CPU "intel_pstate/status", "intel_pstate.status" },
	{ SYS_CPU "intel_pstate/min_perf_pct", "intel_pstate.min_perf_pct" },
	{ SYS_CPU "intel_pstate/max_perf_pct", "intel_pstate.max_perf_pct" },
	{ SYS_CPU "intel_pstate/hwp_dynamic_boost", "intel_pstate.hwp_dynamic_boost" },
	{ SYS_CPU "amd_pstate/status", "amd_pstate.status" },
	{ SYS_CPU "amd_pstate/prefcore", "amd_pstate.prefcore" },
};

static int config_cpu(struct plan *p, uint32_t cpu)
{
	const char *folder = "";
	bool there = false;
	char path[128];
	int err = 0;

	for (size_t k = 0; k < sizeof(cpu_file) / sizeof(cpu_file[0]) && !err; k++) {
		const char *file = cpu_file[k].file;
		int len = (int)strcspn(file, "/");

		/* A folder that is missing is asked for once, not file by file. */
		if (strncmp(folder, file, (size_t)len + 1))
			there = root_exists(p->root, SYS_CPU "cpu%u/%.*s", cpu, len, file);
		folder = file;
		snprintf(path, sizeof(path), SYS_CPU "cpu%u/%s", cpu, file);
		if (there)
			err = config(p, PM_CPU, cpu, path, cpu_file[k].name);
	}
	return err;
}

static int config_all(struct plan *p)
{
	int err = 0;

	for (size_t k = 0; k < sizeof(system_file) / sizeof(system_file[0]) && !err; k++)
		err = config(p, PM_SYSTEM, PM_NONE, system_file[k].file, system_file[k].name);
	for (size_t i = 0; i < p->cpus.n && !err; i++)
		err = config_cpu(p, p->cpus.cpu[i]);
	return err;
}

/* *why is set where a CPU has no frequency. */
static int add_cpu(struct filegrid *g, struct plan *p, uint32_t cpu, int *why)
{
	const struct catalog_counter *row = catalog_find("cpufreq", "scaling_cur_freq");
	int64_t instance = plan_cpu_instance(p, cpu), counter;
	int err;

	if (instance < 0)
		return (int)instance;
	/* The counter is there once a CPU has the file. */
	if (!g->n && !root_exists(p->root, SYS_CPU "cpu%u/cpufreq/scaling_cur_freq", cpu)) {
		*why = -ENOENT;
		return 0;
	}
	counter = plan_counter(p, row);
	if (counter < 0)
		return (int)counter;
	err = filegrid_add(g, counter, instance, cpu, 0, SYS_CPU "cpu%u/cpufreq/%s", cpu, row->key);
	if (err && (err != -ENOENT || !*why))
		*why = err;
	return err == -ENOMEM ? err : 0;
}

static int cpufreq_plan(struct source *s, struct plan *p, struct error *e)
{
	struct filegrid *g = filegrid_new(p), *grids = NULL;
	int err = g ? 0 : -ENOMEM, why = 0;

	for (size_t i = 0; i < p->cpus.n && !err; i++)
		err = add_cpu(g, p, p->cpus.cpu[i], &why);
	err = filegrid_finish(g, p, &grids, err);
	s->data = grids;
	if (!err)
		err = config_all(p);
	if (err)
		return err;
	if (!grids)
		return plan_refused(p, why == -ENOENT ? PM_REASON_NOT_SUPPORTED : filegrid_reason(why, false),
				    "load a cpufreq driver; virtual machines often have none",
				    SYS_CPU "cpuN/cpufreq/scaling_cur_freq");
	if (why && why != -ENOENT)
		return plan_refused(p, filegrid_reason(why, false), NULL, "frequencies of some CPUs");
	return 0;
}

static int cpufreq_update(struct source *s, struct plan *p, uint32_t cpu, bool online)
{
	struct filegrid *g, *grids = s->data;
	int err, why = 0;

	if (cpu == PM_NONE || filegrid_cpu(grids, cpu, online) || !online || !plan_wants_cpu(p, cpu))
		return 0;
	g = filegrid_new(p);
	if (!g)
		return -ENOMEM;
	err = add_cpu(g, p, cpu, &why);
	err = filegrid_finish(g, p, &grids, err);
	s->data = grids;
	return err;
}

const struct source_ops source_cpufreq = {
	.name = "cpufreq",
	.help = "current frequency of each CPU, governors and limits (sysfs)",
	.plan = cpufreq_plan,
	.update = cpufreq_update,
};
