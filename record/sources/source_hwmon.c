/* Sensors: temperatures, fans, voltages, currents, power, energy; and thermal zones. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "record/plan/plan.h"
#include "record/sources/filegrid.h"

#define CHIPS "/sys/class/hwmon"
#define ZONES "/sys/class/thermal"
/* Sensors are on slow buses; a disk's needs a command of its own. */
#define MIN_PERIOD_NS 1000000000ull
/* ACPI's value for "unknown" (ACPI 6.5, 10.4.1 _PMM), from 1/1000 W; later kernels have ENODATA in its place. */
#define POWER_UNKNOWN 4294967295000u

/* Whether a temperature (1/1000 Cel) is none from the start. The reader judges later ones alike: sensor_may_say(). */
static bool is_doubtful(const struct root *r, const char *above, const char *folder, const char *file)
{
	char line[32];
	uint64_t v;

	return !root_line(r, line, sizeof(line), "%s/%s/%s", above, folder, file) && !filegrid_parse(line, &v) &&
	       ((int64_t)v <= -55000 || (int64_t)v >= 127000 || ((int64_t)v >= -127 && (int64_t)v <= 127));
}

/* k10temp's Tctl is what the fan shall go by, Tdie the temperature; without a Tdie, Tctl is it
 * (Documentation/hwmon/k10temp.rst). */
static bool is_for_fans(const struct root *r, const char *hwmon, const char *label)
{
	char other[8] = "";

	for (int k = 1; k < 4 && !strcmp(label, "Tctl") && strcmp(other, "Tdie"); k++)
		root_line(r, other, sizeof(other), CHIPS "/%s/temp%d_label", hwmon, k);
	return !strcmp(other, "Tdie");
}

/* The row for a file like "temp3_input"; *channel becomes "temp3". Power may only have an average. */
static const struct catalog_counter *row_of(const char *file, char *channel, size_t size)
{
	const char *under = strchr(file, '_');
	char kind[16];
	size_t len = strcspn(file, "0123456789");

	if (!under || len >= sizeof(kind) || (size_t)(under - file) >= size || !isdigit((unsigned char)file[len]))
		return NULL;
	snprintf(kind, sizeof(kind), "%.*s", (int)len, file);
	if (strcmp(under, "_input") && !(!strcmp(under, "_average") && !strcmp(kind, "power")))
		return NULL;
	snprintf(channel, size, "%.*s", (int)(under - file), file);
	return catalog_find("hwmon", kind);
}

static void add_channel(struct filegrid *g, struct plan *p, const char *hwmon, const char *chip, const char *file)
{
	char channel[32], label[64], name[160], path[64] = "";
	uint64_t fault = 0;
	const struct catalog_counter *row = row_of(file, channel, sizeof(channel));
	int err;

	if (!row || (strstr(file, "_average") && !filegrid_try(p->root, CHIPS "/%s/%s_input", hwmon, channel)))
		return;
	if (root_line(p->root, label, sizeof(label), CHIPS "/%s/%s_label", hwmon, channel) || !label[0])
		snprintf(label, sizeof(label), "%s", channel);
	snprintf(name, sizeof(name), "%s/%s", chip, label);
	root_link_name(p->root, path, sizeof(path), CHIPS "/%s/device", hwmon);
	err = filegrid_try(p->root, CHIPS "/%s/%s", hwmon, file);
	if (err) {
		plan_refused(p, filegrid_reason(err, false), pm_remark(0),
			     pm_remark(PM_REMARK_DEVICE_FILE, CHIPS, hwmon, file, name));
		return;
	}
	root_u64(p->root, &fault, CHIPS "/%s/%s_fault", hwmon, channel);
	if (!strcmp(row->key, "temp") &&
	    (fault || is_doubtful(p->root, CHIPS, hwmon, file) || is_for_fans(p->root, hwmon, label)))
		row = catalog_find("hwmon", "temp_doubtful");
	/* Some drivers add up what a narrow register has counted since somebody read it. */
	if (!strcmp(row->key, "energy"))
		plan_read_within(p, ENERGY_WITHIN_NS);
	if (!filegrid_add(g, plan_counter(p, row), device_instance(p, name, path[0] ? path : NULL, PM_NONE), PM_NONE,
			  0, CHIPS "/%s/%s", hwmon, file))
		g->cell[g->n - 1].none = !strcmp(row->unit, "W") ? POWER_UNKNOWN : 0;
}

static void add_chip(struct filegrid *g, struct plan *p, const char *hwmon)
{
	SCOPED(root_list_free) char **file = NULL;
	char chip[64];
	int n = root_list(p->root, &file, CHIPS "/%s", hwmon);

	if (root_line(p->root, chip, sizeof(chip), CHIPS "/%s/name", hwmon) || !chip[0])
		snprintf(chip, sizeof(chip), "hwmon");
	for (int i = 0; i < n; i++)
		add_channel(g, p, hwmon, chip, file[i]);
}

static void add_zone(struct filegrid *g, struct plan *p, const char *zone)
{
	const char *key;
	char type[64];
	int err;

	if (!root_exists(p->root, ZONES "/%s/temp", zone))
		return;
	if (root_line(p->root, type, sizeof(type), ZONES "/%s/type", zone) || !type[0])
		strcpy(type, "zone");
	/* A zone without a number now may have one later, but what is planned must be readable once. */
	err = filegrid_try(p->root, ZONES "/%s/temp", zone);
	if (err) {
		plan_refused(p, filegrid_reason(err, false), pm_remark(0),
			     pm_remark(PM_REMARK_DEVICE_FILE, ZONES, zone, "temp", type));
		return;
	}
	key = is_doubtful(p->root, ZONES, zone, "temp") ? "temp_doubtful" : "temp";
	filegrid_add(g, plan_counter(p, catalog_find("thermal", key)), device_instance(p, type, zone, PM_NONE),
		     PM_NONE, 0, ZONES "/%s/temp", zone);
}

const struct source_ops source_hwmon = {
	.name = "hwmon",
	.help = "temperatures, fans, voltages, currents and power of the sensors (sysfs)",
	.plan = filegrid_plan,
	.folder =
		&(const struct filegrid_folder){
			.path = CHIPS,
			.add = add_chip,
			.min_period_ns = MIN_PERIOD_NS,
			.what = CHIPS "/hwmon*",
		},
};

const struct source_ops source_thermal = {
	.name = "thermal",
	.help = "temperatures of the thermal zones (sysfs)",
	.plan = filegrid_plan,
	.folder =
		&(const struct filegrid_folder){
			.path = ZONES,
			.prefix = "thermal_zone",
			.add = add_zone,
			.min_period_ns = MIN_PERIOD_NS,
			.what = ZONES "/thermal_zone*",
		},
};
