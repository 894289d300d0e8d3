/* Occupancy of the last-level cache and memory bandwidth by group and cache, as the resctrl file system reports them:
 * RDT of Intel, QoS of AMD, MPAM of Arm (Documentation/filesystems/resctrl.rst). A monitoring group is part of the
 * control group above it, so their counters are different. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"
#include "record/plan/plan.h"
#include "record/sources/filegrid.h"

#define RESCTRL "/sys/fs/resctrl"

struct look {
	struct plan *p;
	struct filegrid *grid[2]; /* of control groups, and of monitoring groups in them */
	unsigned groups;
};

/* A CPU of the cache with the number in "mon_L3_01"; PM_NONE: not in the topology. */
static uint32_t cpu_of(const struct pm_topology *t, const char *domain)
{
	const char *number = strrchr(domain, '_');
	unsigned long id = strtoul(number + 1, NULL, 10);

	for (uint32_t i = 0; i < t->n; i++)
		if (t->cpu[i].cache[PM_CACHE_L3] == id)
			return t->cpu[i].cpu;
	return PM_NONE;
}

/* Adds a cache's numbers for the group in `path`, which is shown as `name`. */
static void add_domain(struct look *l, const char *path, const char *name, bool part, const char *domain)
{
	char key[64], device[200];
	const struct catalog_counter *row;
	int64_t counter, instance = 0;
	SCOPED(root_list_free) char **file = NULL;
	int n = root_list(l->p->root, &file, "%s/mon_data/%s", path, domain), err;

	snprintf(device, sizeof(device), "%.120s/%.60s", name, domain + strlen("mon_"));
	for (int i = 0; i < n; i++) {
		snprintf(key, sizeof(key), "%s%.40s", part ? "part." : "", file[i]);
		row = catalog_find("resctrl", key);
		if (!row)
			continue;
		err = filegrid_try(l->p->root, "%s/mon_data/%s/%s", path, domain, file[i]);
		if (err) {
			plan_refused(l->p, filegrid_reason(err, false), pm_remark(0),
				     pm_remark(PM_REMARK_RESCTRL_FILE, path, domain, file[i]));
			continue;
		}
		counter = plan_counter(l->p, row);
		if (!instance)
			instance = device_instance(l->p, device, NULL, cpu_of(&l->p->model->topology, domain));
		filegrid_add(l->grid[part], counter, instance, PM_NONE, 0, "%s/mon_data/%s/%s", path, domain,
			     file[i]);
	}
}

static void add_group(struct look *l, const char *path, const char *above, const char *own, bool part)
{
	SCOPED(root_list_free) char **domain = NULL;
	char name[160];
	int n = root_list(l->p->root, &domain, "%s/mon_data", path);

	if (n < 0)
		return;
	/* People name groups after what runs in them. */
	if (*own && plan_may_record(l->p->options, PM_INSTANCE_DEVICE_PATH))
		snprintf(name, sizeof(name), "%s/%.100s", above, own);
	else
		snprintf(name, sizeof(name), *own ? "%s/%u" : "%s", above, l->groups);
	l->groups++;
	for (int i = 0; i < n; i++)
		if (!strncmp(domain[i], "mon_L3_", 7))
			add_domain(l, path, name, part, domain[i]);
}

/* Adds the control groups, and in each the groups that monitor a part of it. */
static void add_all(struct look *l)
{
	SCOPED(root_list_free) char **group = NULL;
	int n = root_list(l->p->root, &group, RESCTRL);

	for (int i = -1; i < n; i++) {
		const char *own = i < 0 ? "" : group[i], *slash = i < 0 ? "" : "/";
		SCOPED(root_list_free) char **watch = NULL;
		char path[400];
		int m;

		if (!strcmp(own, "mon_groups") || !strcmp(own, "mon_data") || !strcmp(own, "info"))
			continue;
		snprintf(path, sizeof(path), RESCTRL "%s%.200s", slash, own);
		add_group(l, path, "resctrl", own, false);
		m = root_list(l->p->root, &watch, "%s/mon_groups", path);
		for (int k = 0; k < m; k++) {
			char below[600], above[160];

			snprintf(below, sizeof(below), "%s/mon_groups/%.150s", path, watch[k]);
			snprintf(above, sizeof(above), "resctrl%s%.100s/mon", slash,
				 plan_may_record(l->p->options, PM_INSTANCE_DEVICE_PATH) ? own : "");
			add_group(l, below, above, watch[k], true);
		}
	}
}

static int resctrl_plan(struct source *s, struct plan *p, struct error *e)
{
	struct look l = { .p = p, .grid = { filegrid_new(p), filegrid_new(p) } };
	struct filegrid *list = NULL;

	add_all(&l);
	filegrid_finish(l.grid[0], p, &list);
	filegrid_finish(l.grid[1], p, &list);
	if (list)
		return 0;
	return plan_refused(
		p, PM_REASON_NOT_SUPPORTED,
		pm_remark(root_exists(p->root, RESCTRL "/info") ? PM_REMEDY_RESCTRL_NEVER : PM_REMEDY_RESCTRL),
		pm_remark(PM_REMARK_FILE, RESCTRL "/mon_data"));
}

const struct source_ops source_resctrl = {
	.name = "resctrl",
	.help = "cache occupancy and memory bandwidth by group (RDT, QoS, MPAM; resctrl file system)",
	.plan = resctrl_plan,
};
