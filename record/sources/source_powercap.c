/* Energy of packages, cores, memory and platform as the powercap framework reports it (RAPL of Intel and AMD). */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/memory.h"
#include "common/parse.h"
#include "record/plan/plan.h"
#include "record/plan/machine.h"
#include "record/sources/filegrid.h"

#define ZONES "/sys/class/powercap"
/* "intel-rapl:0"; and "intel-rapl-mmio:0", which shows the same registers again, by memory-mapped I/O. */
#define PREFIX          "intel-rapl"
#define MMIO            PREFIX "-mmio:"
#define CONSTRAINTS_MAX 8
#define LEAST_WITHIN_NS 250000000 /* rather ambiguous than busy */

/* "intel-rapl:0:1" is below "intel-rapl:0", whose name says the package. */
static void parent_of(char *parent, size_t size, const char *zone)
{
	size_t type = strcspn(zone, ":") + 1;

	snprintf(parent, size, "%.*s", (int)(type + strcspn(zone + type, ":")), zone);
}

/* Reads the names of a zone and of the one that it is below, which may be itself. False: it has none. */
static bool names_of(const struct plan *p, const char *zone, char name[64], char top[64])
{
	char parent[64];

	if (!strchr(zone, ':'))
		return false;
	parent_of(parent, sizeof(parent), zone);
	return !root_line(p->root, name, 64, ZONES "/%s/name", zone) &&
	       !root_line(p->root, top, 64, ZONES "/%s/name", parent);
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

/* AMD counts the energy of a package in one register, which kernels show in a zone of each of its dies. */
static bool is_amd(const struct plan *p)
{
	const char *vendor = pm_map_text(&p->model->header, PM_HEADER_CPU_VENDOR, "");

	return !strcmp(vendor, "AuthenticAMD") || !strcmp(vendor, "HygonGenuine");
}

/* The package or die whose zone has that name; 0: the topology does not know it. */
static int64_t place_of(struct plan *p, const char *name)
{
	const struct pm_topology *t = &p->model->topology;
	uint32_t package, die;

	if (!is_package(name, &package, &die))
		return 0;
	if (is_amd(p))
		die = PM_NONE;
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
	return device_instance(p, device, zone, PM_NONE);
}

static void config_zone(struct plan *p, const char *zone, const char *name)
{
	static const char *const whole[] = { "max_energy_range_uj", "enabled" };
	static const char *const each[] = { "name", "power_limit_uw", "time_window_us", "max_power_uw" };
	char line[64];
	uint64_t v;

	plan_fact(p, pm_text(name), "powercap.%s.name", zone);
	for (size_t k = 0; k < 2; k++)
		if (!root_u64(p->root, &v, ZONES "/%s/%s", zone, whole[k]))
			plan_fact(p, pm_u64(v), "powercap.%s.%s", zone, whole[k]);
	for (unsigned c = 0; c < CONSTRAINTS_MAX; c++)
		for (size_t k = 0; k < sizeof(each) / sizeof(each[0]); k++)
			if (!root_line(p->root, line, sizeof(line), ZONES "/%s/constraint_%u_%s", zone, c, each[k]))
				plan_fact(p, parse_u64(line, &v) ? pm_text(line) : pm_u64(v),
					  "powercap.%s.constraint_%u.%s", zone, c, each[k]);
}

/* A zone with a small range is read more often: at 1,000 W and 4 times what it may be limited to. */
static void read_within(struct plan *p, const char *zone, uint64_t range_uj)
{
	uint64_t most = 1000, uw, ns = ENERGY_WITHIN_NS;

	for (unsigned c = 0; c < CONSTRAINTS_MAX; c++)
		if (!root_u64(p->root, &uw, ZONES "/%s/constraint_%u_max_power_uw", zone, c) && uw < UINT32_MAX)
			most = most < 1000 + 4 * uw / 1000000 ? 1000 + 4 * uw / 1000000 : most;
	if (range_uj / most < ns / 500)
		ns = range_uj / most * 500;
	plan_read_within(p, ns < LEAST_WITHIN_NS ? LEAST_WITHIN_NS : ns);
}

/* Whether another zone can be read that is added up with this one: of another package, or of the same name. */
static bool has_readable_peer(struct plan *p, const char *zone, const char *name)
{
	SCOPED(root_list_free) char **entry = NULL;
	uint32_t package, die, other_package;
	bool whole = is_package(name, &package, &die), found = false;
	int n = root_list(p->root, &entry, ZONES);
	const size_t type = strcspn(zone, ":") + 1;
	char other[64];

	for (int i = 0; i < n && !found; i++) {
		if (strncmp(entry[i], zone, type) != 0 || !strcmp(entry[i], zone) ||
		    root_line(p->root, other, sizeof(other), ZONES "/%s/name", entry[i]))
			continue;
		found = (whole ? is_package(other, &other_package, &die) && (!is_amd(p) || other_package != package) :
				 !strcmp(other, name)) &&
			!filegrid_try(p->root, ZONES "/%s/energy_uj", entry[i]);
	}
	return found;
}

/* Whether registers show what the zone shows by memory-mapped I/O. */
static bool is_shown_twice(struct plan *p, const char *zone, const char *name, const char *top)
{
	SCOPED(root_list_free) char **entry = NULL;
	char other[64], other_top[64];
	uint32_t package, of, die;
	bool found = false;
	int n = strncmp(zone, MMIO, strlen(MMIO)) ? 0 : root_list(p->root, &entry, ZONES);

	for (int i = 0; i < n && !found; i++)
		if (!strncmp(entry[i], PREFIX ":", strlen(PREFIX ":")) && names_of(p, entry[i], other, other_top) &&
		    root_exists(p->root, ZONES "/%s/energy_uj", entry[i]))
			found = is_package(name, &package, &die) ? is_package(other, &of, &die) && of == package :
								   !strcmp(other, name) && !strcmp(other_top, top);
	return found;
}

static void add_zone(struct filegrid *g, struct plan *p, const char *zone)
{
	char name[64], top[64];
	int64_t counter, instance;
	uint64_t range = 0;
	int err;

	if (!names_of(p, zone, name, top) || is_shown_twice(p, zone, name, top) ||
	    !root_exists(p->root, ZONES "/%s/energy_uj", zone))
		return;
	root_u64(p->root, &range, ZONES "/%s/max_energy_range_uj", zone);
	config_zone(p, zone, name);
	err = filegrid_try(p->root, ZONES "/%s/energy_uj", zone);
	if (err)
		plan_refused(p, filegrid_reason(err, false), pm_remark(err == -EACCES ? PM_REMEDY_RAPL_READABLE : 0),
			     pm_remark(PM_REMARK_DEVICE_FILE, ZONES, zone, "energy_uj", name));
	if (err && !has_readable_peer(p, zone, name))
		return;
	if (range)
		read_within(p, zone, range);
	counter = zone_counter(p, name);
	instance = zone_instance(p, zone, name, top);
	for (uint32_t i = 0; i < g->n; i++)
		if (g->cell[i].counter == counter && g->cell[i].instance == instance)
			return;
	/* A sum without this zone would be wrong, so it has a column. */
	g->tolerant = true;
	filegrid_add(g, counter, instance, PM_NONE, range, ZONES "/%s/energy_uj", zone);
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
			.remedy = PM_REMEDY_RAPL,
		},
};
