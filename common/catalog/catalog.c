#include "common/catalog/catalog.h"

#include <string.h>

#include "common/catalog/msr.h"

/* The tables: a counter is a row. */
#include "common/catalog/cpu.inc"
#include "common/catalog/msr.inc"
#include "common/catalog/memory.inc"
#include "common/catalog/sensors.inc"
#include "common/catalog/graphics.inc"
#include "common/catalog/devices.inc"
#include "common/catalog/tasks.inc"
#include "common/catalog/cgroups.inc"

#define TABLE_OF(source, boot) \
	{ #source, boot, catalog_##source, sizeof(catalog_##source) / sizeof(catalog_##source[0]) },
#define TABLE(source)      TABLE_OF(source, false)
#define SINCE_BOOT(source) TABLE_OF(source, true)
/* clang-format off */
const struct catalog_table catalog_tables[] = {
	SINCE_BOOT(cpuidle)
	TABLE(cpufreq)
	SINCE_BOOT(interrupts)
	SINCE_BOOT(softirqs)
	SINCE_BOOT(stat)
	SINCE_BOOT(schedstat)
	SINCE_BOOT(vmstat)
	SINCE_BOOT(pressure)
	TABLE(thermal)
	SINCE_BOOT(throttle)
	TABLE(hwmon)
	TABLE(powercap)
	TABLE(resctrl)
	TABLE(gfx)
	TABLE(uncorefreq)
	TABLE(lpi)
	TABLE(pmt)
	TABLE(meminfo)
	SINCE_BOOT(diskstats)
	SINCE_BOOT(netdev)
	SINCE_BOOT(tcp)
	TABLE(filesystems)
	TABLE(tasks)
	TABLE(cgroups)
	{ .source = NULL },
};
/* clang-format on */

static const struct catalog_table *table_of(const char *source)
{
	const struct catalog_table *t = catalog_tables;

	while (t->source && strcmp(t->source, source))
		t++;
	return t;
}

const struct catalog_counter *catalog_source(const char *source, size_t *n)
{
	*n = table_of(source)->n;
	return table_of(source)->row;
}

bool catalog_since_boot(const char *source)
{
	return table_of(source)->since_boot;
}

const struct catalog_counter *catalog_find(const char *source, const char *key)
{
	const struct catalog_counter *row;
	size_t n;

	row = catalog_source(source, &n);
	for (size_t i = 0; i < n; i++)
		if (row[i].key && !strcmp(row[i].key, key))
			return &row[i];
	return NULL;
}
