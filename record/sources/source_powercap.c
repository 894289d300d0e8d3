/* Energy of packages, cores, memory and platform as the powercap framework reports it (RAPL of Intel and AMD). */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/parse.h"
#include "record/plan/plan.h"
#include "record/plan/topology.h"
#include "record/sources/filegrid.h"

#define ZONES "/sys/class/powercap"
/* "intel-rapl-mmio:" shows the same registers again, by memory-mapped I/O: skip those. */
#define PREFIX          "intel-rapl:"
#define CONSTRAINTS_MAX 8

/* "intel-rapl:0:1" is below "intel-rapl:0", whose name says the package. */
static void parent_of(char *parent, size_t size, const char *zone)
{
	const char *colon = strchr(zone + strlen(PREFIX), ':');

	snprintf(parent, size, "%.*s", colon ? (int)(colon - zone) : (int)strlen(zone), zone);
}

/* Parses "package-1" or "package-1-die-0"; false for other names. *die: PM_NONE if not given. */
static bool is_package(const char *name, uint32_t *package, uint32_t *die)
{
	unsigned p, d;
	int n = 0;

	*die = PM_NONE;
	if (sscanf(name, "package-%u-die-%u%n", &p, &d, &n) == 2 && !name[n])
		*die = d;
	else if (n = 0, sscanf(name, "package-%u%n", &p, &n) != 1 || name[n])
		return false;
	*package = p;
	return true;
}

/* The package or die whose zone has that name; 0: the topology does not know it. */
static int64_t place_of(struct plan *p, const char *name)
{
	const struct pm_topology *t = &p->model->topology;
	uint32_t package, die;

	if (!is_package(name, &package, &die))
		return 0;
	for (uint32_t i = 0; i < t->n; i++)
		if (t->cpu[i].package == package && (die == PM_NONE || t->cpu[i].die == die))
			return topology_instance(p, die == PM_NONE ? PM_PACKAGE : PM_DIE, t->cpu[i].cpu);
	return 0;
}

static int64_t zone_counter(struct plan *p, const char *name)
{
	const struct catalog_counter *row;
	uint32_t package, die;
	char part[32];

	row = catalog_find("powercap", is_package(name, &package, &die) ? "package" : name);
	if (row)
		return plan_counter(p, row);
	member_part(part, sizeof(part), name, strlen(name));
	return member_counter(p, catalog_find("powercap", "*"), &(struct member){ .part = part, .shown = name });
}

static int64_t zone_instance(struct plan *p, const char *zone, const char *name, const char *top)
{
	int64_t id = place_of(p, top);
	char device[160];

	if (id)
		return id;
	snprintf(device, sizeof(device), "%s%s%s", top, strcmp(top, name) ? "/" : "", strcmp(top, name) ? name : "");
	return device_instance(p, device, zone);
}

static int config_zone(struct plan *p, const char *zone, const char *name)
{
	static const char *const whole[] = { "max_energy_range_uj", "enabled" };
	static const char *const each[] = { "name", "power_limit_uw", "time_window_us", "max_power_uw" };
	char line[64];
	uint64_t v;
	int err;

	err = plan_fact(p, pm_text(name), "powercap.%s.name", zone);
	for (size_t k = 0; k < 2 && !err; k++)
		if (!root_u64(p->root, &v, ZONES "/%s/%s", zone, whole[k]))
			err = plan_fact(p, pm_u64(v), "powercap.%s.%s", zone, whole[k]);
	for (unsigned c = 0; c < CONSTRAINTS_MAX && !err; c++) {
		for (size_t k = 0; k < sizeof(each) / sizeof(each[0]) && !err; k++) {
			if (root_line(p->root, line, sizeof(line), ZONES "/%s/constraint_%u_%s", zone, c, each[k]))
				continue;
			err = plan_fact(p, parse_u64(line, &v) ? pm_text(line) : pm_u64(v),
					"powercap.%s.constraint_%u.%s", zone, c, each[k]);
		}
	}
	return err;
}

static int add_zone(struct filegrid *g, struct plan *p, const char *zone)
{
	char name[64], top[64], parent[64];
	int64_t counter;
	uint64_t range = 0;
	int err;

	parent_of(parent, sizeof(parent), zone);
	if (root_line(p->root, name, sizeof(name), ZONES "/%s/name", zone) ||
	    root_line(p->root, top, sizeof(top), ZONES "/%s/name", parent) ||
	    !root_exists(p->root, ZONES "/%s/energy_uj", zone))
		return 0;
	root_u64(p->root, &range, ZONES "/%s/max_energy_range_uj", zone);
	err = config_zone(p, zone, name);
	if (err)
		return err;
	err = filegrid_try(p->root, ZONES "/%s/energy_uj", zone);
	if (err)
		return plan_refused(p, filegrid_reason(err, false),
				    err == -EACCES ? "run pmrec as root, or chmod a+r " ZONES "/*/energy_uj" : NULL,
				    ZONES "/%s/energy_uj (%s)", zone, name);
	counter = zone_counter(p, name);
	return filegrid_add(g, counter, zone_instance(p, zone, name, top), PM_NONE, range, ZONES "/%s/energy_uj",
			    zone);
}

const struct source_ops source_powercap = {
	.name = "powercap",
	.help = "energy of packages, cores, memory and platform (sysfs powercap)",
	.plan = filegrid_plan,
	.folder =
		&(const struct filegrid_folder){
			.path = ZONES,
			.prefix = PREFIX,
			.add = add_zone,
			.what = ZONES "/intel-rapl*",
			.hint = "modprobe intel_rapl_msr; virtual machines have none",
		},
};
