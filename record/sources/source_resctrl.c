/* Occupancy of the last-level cache and memory bandwidth by group and cache, as the resctrl file system reports them:
 * RDT of Intel, QoS of AMD, MPAM of Arm (Documentation/filesystems/resctrl.rst). A monitoring group is part of the
 * control group above it, so their counters are different. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
static int add_domain(struct look *l, const char *path, const char *name, bool part, const char *domain)
{
	char key[64], device[200];
	const struct catalog_counter *row;
	int64_t counter, instance = 0;
	SCOPED(root_list_free) char **file = NULL;
	int n = root_list(l->p->root, &file, "%s/mon_data/%s", path, domain), err = 0;

	snprintf(device, sizeof(device), "%.120s/%.60s", name, domain + strlen("mon_"));
	for (int i = 0; i < n && !err; i++) {
		snprintf(key, sizeof(key), "%s%.40s", part ? "part." : "", file[i]);
		row = catalog_find("resctrl", key);
		if (!row)
			continue;
		err = filegrid_try(l->p->root, "%s/mon_data/%s/%s", path, domain, file[i]);
		if (err) {
			err = plan_refused(l->p, filegrid_reason(err, false), NULL, "%s/mon_data/%s/%s", path, domain,
					   file[i]);
			continue;
		}
		counter = plan_counter(l->p, row);
		if (counter >= 0 && !instance)
			instance = device_instance_at(l->p, device, NULL, cpu_of(&l->p->model->topology, domain));
		err = filegrid_add(l->grid[part], counter, instance, PM_NONE, 0, "%s/mon_data/%s/%s", path, domain,
				   file[i]);
	}
	return err;
}

static int add_group(struct look *l, const char *path, const char *above, const char *own, bool part)
{
	SCOPED(root_list_free) char **domain = NULL;
	char name[160];
	int n = root_list(l->p->root, &domain, "%s/mon_data", path), err = 0;

	if (n < 0)
		return n == -ENOMEM ? n : 0;
	/* People name groups after what runs in them. */
	if (*own && plan_may_record(l->p->options, PM_INSTANCE_DEVICE_PATH))
		snprintf(name, sizeof(name), "%s/%.100s", above, own);
	else
		snprintf(name, sizeof(name), *own ? "%s/%u" : "%s", above, l->groups);
	l->groups++;
	for (int i = 0; i < n && !err; i++)
		if (!strncmp(domain[i], "mon_L3_", 7))
			err = add_domain(l, path, name, part, domain[i]);
	return err;
}

/* Adds the control groups, and in each the groups that monitor a part of it. */
static int add_all(struct look *l)
{
	SCOPED(root_list_free) char **group = NULL;
	char path[400];
	int n = root_list(l->p->root, &group, RESCTRL), err = 0;

	for (int i = -1; i < n && !err; i++) {
		SCOPED(root_list_free) char **watch = NULL;
		int m;

		if (i >= 0 &&
		    (!strcmp(group[i], "mon_groups") || !strcmp(group[i], "mon_data") || !strcmp(group[i], "info")))
			continue;
		snprintf(path, sizeof(path), RESCTRL "%s%.200s", i < 0 ? "" : "/", i < 0 ? "" : group[i]);
		err = add_group(l, path, "resctrl", i < 0 ? "" : group[i], false);
		m = err ? 0 : root_list(l->p->root, &watch, "%s/mon_groups", path);
		for (int k = 0; k < m && !err; k++) {
			char below[600], above[160];

			snprintf(below, sizeof(below), "%s/mon_groups/%.150s", path, watch[k]);
			snprintf(above, sizeof(above), "resctrl%s%.100s/mon", i < 0 ? "" : "/",
				 i >= 0 && plan_may_record(l->p->options, PM_INSTANCE_DEVICE_PATH) ? group[i] : "");
			err = add_group(l, below, above, watch[k], true);
		}
	}
	return err;
}

static int resctrl_plan(struct source *s, struct plan *p, struct error *e)
{
	struct look l = { .p = p, .grid = { filegrid_new(p), filegrid_new(p) } };
	struct filegrid *list = NULL;
	int err = l.grid[0] && l.grid[1] ? add_all(&l) : -ENOMEM;

	for (int i = 0; i < 2; i++)
		err = filegrid_finish(l.grid[i], p, &list, err);
	if (err || list)
		return err;
	return plan_refused(p, PM_REASON_NOT_SUPPORTED,
			    root_exists(p->root, RESCTRL "/info") ? "the processor does not monitor memory" :
								    "mount -t resctrl resctrl " RESCTRL,
			    RESCTRL "/mon_data");
}

const struct source_ops source_resctrl = {
	.name = "resctrl",
	.help = "cache occupancy and memory bandwidth by group (RDT, QoS, MPAM; resctrl file system)",
	.plan = resctrl_plan,
};
