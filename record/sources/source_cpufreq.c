/* Frequencies as the cpufreq drivers report them, and the settings by which they are chosen. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/memory.h"
#include "record/plan/plan.h"
#include "record/sources/filegrid.h"

#define SYS_CPU "/sys/devices/system/cpu/"

/* One-time values; numbers stay numbers. False: there is no such file. */
static bool config(struct plan *p, const struct cpulist *cpus, const char *path, const char *name)
{
	char line[256];
	uint64_t v;
	int err = root_line(p->root, line, sizeof(line), "%s", path);
	struct pm_value value;

	if (err || !line[0])
		return err != -ENOENT;
	value = filegrid_parse(line, &v) ? pm_text(line) : pm_u64(v);
	if (cpus)
		plan_config_cpus(p, cpus, value, "%s", name);
	else
		plan_fact(p, value, "%s", name);
	return true;
}

static const struct {
	const char *file, *name;
	bool own; /* of the CPU, not its policy */
} cpu_file[] = {
	{ "cpufreq/scaling_driver", "cpufreq.scaling_driver", false },
	{ "cpufreq/scaling_governor", "cpufreq.scaling_governor", false },
	{ "cpufreq/scaling_min_freq", "cpufreq.scaling_min_freq", false },
	{ "cpufreq/scaling_max_freq", "cpufreq.scaling_max_freq", false },
	{ "cpufreq/cpuinfo_min_freq", "cpufreq.cpuinfo_min_freq", false },
	{ "cpufreq/cpuinfo_max_freq", "cpufreq.cpuinfo_max_freq", false },
	{ "cpufreq/base_frequency", "cpufreq.base_frequency", false },
	{ "cpufreq/energy_performance_preference", "cpufreq.energy_performance_preference", false },
	{ "power/energy_perf_bias", "cpufreq.energy_perf_bias", true },
	{ "acpi_cppc/highest_perf", "cppc.highest_perf", true }, /* older than those that follow */
	{ "acpi_cppc/lowest_perf", "cppc.lowest_perf", true },
	{ "acpi_cppc/nominal_perf", "cppc.nominal_perf", true },
	{ "acpi_cppc/nominal_freq", "cppc.nominal_freq", true },
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

/* The CPUs of the plan that share this CPU's directory cpufreq/. */
static void read_policy(struct plan *p, uint32_t cpu, struct cpulist *policy)
{
	char line[8192];
	struct pm_value text;
	bool shared = !root_line(p->root, line, sizeof(line), SYS_CPU "cpu%u/cpufreq/related_cpus", cpu);

	if (shared) {
		text = pm_text(line);
		for (char *blank = line; (blank = strchr(blank, ' '));)
			*blank = ',';
		if (!cpulist_parse(policy, line, false, NULL))
			cpulist_intersect(policy, &p->cpus);
		if (!cpulist_has(policy, cpu))
			policy->n = 0;
	}
	memory_must(cpulist_add(policy, cpu));
	if (shared)
		plan_config_cpus(p, policy, text, "cpufreq.related_cpus");
}

/* What is known from earlier CPUs. */
struct known {
	struct cpulist told; /* their policies have been read */
	uint64_t absent;     /* files that no CPU has: this depends on the driver and on features of all CPUs */
	bool policies;       /* one of them had a policy */
};

static void config_cpu(struct plan *p, uint32_t cpu, struct known *known)
{
	SCOPED(cpulist_release) struct cpulist one = { 0 }, policy = { 0 };
	bool of_policy = !cpulist_has(&known->told, cpu), cppc = true;
	char path[128];

	memory_must(cpulist_add(&one, cpu));
	if (of_policy)
		read_policy(p, cpu, &policy);
	for (size_t k = 0; k < sizeof(cpu_file) / sizeof(cpu_file[0]); k++) {
		bool own = cpu_file[k].own, is_cppc = !strncmp(cpu_file[k].file, "acpi", 4);

		if (known->absent >> k & 1 || (!own && !of_policy) || (is_cppc && !cppc))
			continue;
		snprintf(path, sizeof(path), SYS_CPU "cpu%u/%s", cpu, cpu_file[k].file);
		if (config(p, own ? &one : &policy, path, cpu_file[k].name))
			continue;
		if (!k)
			of_policy = false;
		else if (is_cppc) /* the firmware may describe only some CPUs */
			cppc = false;
		else if (own ? cpu == p->cpus.cpu[0] : !known->policies)
			known->absent |= 1ull << k;
	}
	known->policies |= of_policy;
	for (size_t i = 0; i < policy.n; i++)
		memory_must(cpulist_add(&known->told, policy.cpu[i]));
}

/* *why and `without`, which may be NULL, tell of CPUs that have no frequency; that a file is not there says least. */
static void add_cpu(struct filegrid *g, struct plan *p, uint32_t cpu, int *why, struct cpulist *without)
{
	const struct catalog_counter *row = catalog_find("cpufreq", "scaling_cur_freq");
	int64_t instance = plan_cpu_instance(p, cpu);
	int err;

	/* The counter exists once a CPU has the file. */
	err = g->n ? 0 : filegrid_try(p->root, SYS_CPU "cpu%u/cpufreq/%s", cpu, row->key);
	if (!err)
		err = filegrid_add(g, plan_counter(p, row), instance, cpu, 0, SYS_CPU "cpu%u/cpufreq/%s", cpu,
				   row->key);
	/* Drivers have 0 for a frequency that they do not know (cpufreq_quick_get()). */
	if (!err)
		g->cell[g->n - 1].least = 1;
	if (err && (err != -ENOENT || !*why))
		*why = err;
	if (err && err != -ENOENT && without)
		memory_must(cpulist_add(without, cpu));
}

static int cpufreq_plan(struct source *s, struct plan *p, struct error *e)
{
	struct filegrid *g = filegrid_new(p), *grids = NULL;
	SCOPED(cpulist_release) struct cpulist without = { 0 };
	SCOPED(buf_release) struct buf cpus = BUF_INIT;
	struct known known = { 0 };
	int why = 0;

	for (size_t i = 0; i < p->cpus.n; i++)
		add_cpu(g, p, p->cpus.cpu[i], &why, &without);
	filegrid_finish(g, p, &grids);
	s->data = grids;
	for (size_t k = 0; k < sizeof(system_file) / sizeof(system_file[0]); k++)
		config(p, NULL, system_file[k].file, system_file[k].name);
	for (size_t i = 0; i < p->cpus.n; i++)
		config_cpu(p, p->cpus.cpu[i], &known);
	cpulist_release(&known.told);
	if (!grids)
		return filegrid_refused(p, why, PM_REMEDY_CPUFREQ, SYS_CPU "cpuN/cpufreq/scaling_cur_freq");
	if (!without.n)
		return 0;
	buf_addstr(&cpus, without.n > 1 ? "{" : "");
	cpulist_print(&without, &cpus);
	buf_addstr(&cpus, without.n > 1 ? "}" : "");
	return plan_refused(p, filegrid_reason(why, false), pm_remark(0),
			    pm_remark(PM_REMARK_CPUFREQ_FILE, buf_str(&cpus)));
}

static void cpufreq_update(struct source *s, struct plan *p, uint32_t cpu, bool online)
{
	struct filegrid *g, *grids = s->data;
	int why = 0;

	if (cpu == PM_NONE || filegrid_cpu(grids, cpu, online) || !online || !plan_wants_cpu(p, cpu))
		return;
	g = filegrid_new(p);
	add_cpu(g, p, cpu, &why, NULL);
	filegrid_finish(g, p, &grids);
	s->data = grids;
}

const struct source_ops source_cpufreq = {
	.name = "cpufreq",
	.help = "current frequency of each CPU, governors and limits (sysfs)",
	.plan = cpufreq_plan,
	.update = cpufreq_update,
};
