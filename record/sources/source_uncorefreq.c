/* Frequencies of the uncore of Intel's processors, and the limits that are set. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/memory.h"
#include "record/plan/plan.h"
#include "record/plan/machine.h"
#include "record/sources/filegrid.h"

#define FOLDER "/sys/devices/system/cpu/intel_uncore_frequency"

static void config(struct plan *p, const char *name)
{
	static const char *const file[] = { "min_freq_khz",
					    "max_freq_khz",
					    "initial_min_freq_khz",
					    "initial_max_freq_khz",
					    "elc_floor_freq_khz",
					    "elc_low_threshold_percent",
					    "elc_high_threshold_percent" };
	uint64_t v;

	for (size_t k = 0; k < sizeof(file) / sizeof(file[0]); k++)
		if (!root_u64(p->root, &v, FOLDER "/%s/%s", name, file[k]))
			plan_fact(p, pm_u64(v), "uncorefreq.%s.%s", name, file[k]);
}

/* "package_01_die_00": the package, or the die if the package has others. */
static int64_t place_of(struct plan *p, unsigned package, unsigned die)
{
	const struct pm_topology *t = &p->model->topology;
	const struct pm_cpu *found = NULL;
	bool dies = false;

	for (uint32_t i = 0; i < t->n; i++) {
		const struct pm_cpu *c = &t->cpu[i];

		if (c->package != package)
			continue;
		dies = dies || (c->die != PM_NONE && c->die != die);
		if (!found || (found->die != die && c->die == die))
			found = c;
	}
	return found ? topology_instance(p, dies && found->die == die ? PM_DIE : PM_PACKAGE, found->cpu) : -ENOENT;
}

/* The instance and the counter: one per package, or one per cluster of a domain. -ENOENT for other directories. */
static int64_t find_column(struct plan *p, const char *name, int64_t *counter)
{
	uint64_t package, domain, cluster;
	char part[48], shown[48];
	struct member m;
	unsigned a, b;
	int n = 0;

	if (sscanf(name, "package_%u_die_%u%n", &a, &b, &n) == 2 && !name[n]) {
		*counter = plan_counter(p, catalog_find("uncorefreq", "package"));
		return place_of(p, a, b);
	}
	if (strncmp(name, "uncore", 6) || root_u64(p->root, &package, FOLDER "/%s/package_id", name) ||
	    root_u64(p->root, &domain, FOLDER "/%s/domain_id", name) ||
	    root_u64(p->root, &cluster, FOLDER "/%s/fabric_cluster_id", name))
		return -ENOENT;
	snprintf(part, sizeof(part), "%llu_%llu", (unsigned long long)domain, (unsigned long long)cluster);
	snprintf(shown, sizeof(shown), "%llu.%llu", (unsigned long long)domain, (unsigned long long)cluster);
	m = (struct member){ .part = part, .shown = shown, .family = "uncorefreq.cluster" };
	*counter = member_counter(p, catalog_find("uncorefreq", "*"), &m);
	return place_of(p, (unsigned)package, PM_NONE);
}

static void add_folder(struct filegrid *g, struct plan *p, const char *name)
{
	int64_t instance, counter = -ENOENT;
	int err;

	config(p, name);
	err = filegrid_try(p->root, FOLDER "/%s/current_freq_khz", name);
	if (err && err != -ENOENT)
		plan_refused(p, filegrid_reason(err, false), pm_remark(0),
			     pm_remark(PM_REMARK_FILE_IN, FOLDER, name, "current_freq_khz"));
	instance = err ? -ENOENT : find_column(p, name, &counter);
	if (instance != -ENOENT)
		filegrid_add(g, counter, instance, PM_NONE, 0, FOLDER "/%s/current_freq_khz", name);
}

const struct source_ops source_uncorefreq = {
	.name = "uncorefreq",
	.help = "frequencies and limits of the uncore of Intel's processors (sysfs)",
	.plan = filegrid_plan,
	.folder =
		&(const struct filegrid_folder){
			.path = FOLDER,
			.add = add_folder,
			.what = FOLDER,
			.remedy = PM_REMEDY_UNCORE_FREQUENCY,
		},
};
