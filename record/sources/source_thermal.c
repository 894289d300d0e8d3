/* Thermal zones. */
#include <string.h>

#include "common/catalog/catalog.h"
#include "record/plan/device.h"
#include "record/sources/filegrid.h"
#include "record/plan/plan.h"

#define ZONES "/sys/class/thermal"
/* A sensor may sit behind a slow bus, and no temperature changes faster. */
#define MIN_PERIOD_NS 1000000000ull

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

static int thermal_plan(struct source *s, struct plan *p, struct error *e)
{
	return filegrid_plan(p, &(struct filegrid_folder){
					.path = ZONES,
					.prefix = "thermal_zone",
					.add = add_zone,
					.min_period_ns = MIN_PERIOD_NS,
					.what = ZONES "/thermal_zone*",
				});
}

const struct source_ops source_thermal = {
	.name = "thermal",
	.help = "temperatures of the thermal zones (sysfs)",
	.plan = thermal_plan,
};
