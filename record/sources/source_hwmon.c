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

static int add_channel(struct filegrid *g, struct plan *p, const char *hwmon, const char *chip, const char *file)
{
	char channel[32], label[64], name[160], path[64] = "";
	const struct catalog_counter *row = row_of(file, channel, sizeof(channel));
	int64_t counter;
	int err;

	if (!row)
		return 0;
	if (strstr(file, "_average") && root_exists(p->root, CHIPS "/%s/%s_input", hwmon, channel))
		return 0;
	if (root_line(p->root, label, sizeof(label), CHIPS "/%s/%s_label", hwmon, channel) || !label[0])
		snprintf(label, sizeof(label), "%s", channel);
	snprintf(name, sizeof(name), "%s/%s", chip, label);
	root_link_name(p->root, path, sizeof(path), CHIPS "/%s/device", hwmon);
	err = filegrid_try(p->root, CHIPS "/%s/%s", hwmon, file);
	if (err)
		return plan_refused(p, filegrid_reason(err, false), NULL, CHIPS "/%s/%s (%s)", hwmon, file, name);
	counter = plan_counter(p, row);
	return filegrid_add(g, counter, device_instance(p, name, path[0] ? path : NULL), PM_NONE, 0, CHIPS "/%s/%s",
			    hwmon, file);
}

static int add_chip(struct filegrid *g, struct plan *p, const char *hwmon)
{
	SCOPED(root_list_free) char **file = NULL;
	char chip[64];
	int n, err = 0;

	if (root_line(p->root, chip, sizeof(chip), CHIPS "/%s/name", hwmon) || !chip[0])
		snprintf(chip, sizeof(chip), "hwmon");
	n = root_list(p->root, &file, CHIPS "/%s", hwmon);
	for (int i = 0; i < n && !err; i++)
		err = add_channel(g, p, hwmon, chip, file[i]);
	return err;
}

static int add_zone(struct filegrid *g, struct plan *p, const char *zone)
{
	const struct catalog_counter *row = catalog_find("thermal", "temp");
	int64_t counter;
	char type[64];
	int err;

	if (!root_exists(p->root, ZONES "/%s/temp", zone))
		return 0;
	if (root_line(p->root, type, sizeof(type), ZONES "/%s/type", zone) || !type[0])
		strcpy(type, "zone");
	/* A zone without a number now may have one later, but what is planned must be readable once. */
	err = filegrid_try(p->root, ZONES "/%s/temp", zone);
	if (err)
		return plan_refused(p, filegrid_reason(err, false), NULL, ZONES "/%s/temp (%s)", zone, type);
	counter = plan_counter(p, row);
	return filegrid_add(g, counter, device_instance(p, type, zone), PM_NONE, 0, ZONES "/%s/temp", zone);
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
