#include "common/catalog/catalog.h"

#include <fnmatch.h>
#include <string.h>

#include "common/catalog/msr.h"

/* The tables: a counter is a row, which ends with what is not the default. A macro means the same in all of them. */
/* clang-format off */
#define SHOWN(source_, name_, display_, key_, unit_, help_, ...) \
	{ .source = #source_, .name = #source_ "." name_, .display = display_, .key = key_, .unit = unit_, \
	  .help = help_, __VA_ARGS__ }
/* Displayed by its name. */
#define COUNTER(source, name, key, unit, help, ...) \
	SHOWN(source, name, #source "." name, key, unit, help, __VA_ARGS__)
/* clang-format on */
#include "common/catalog/cpu.inc"
#include "common/catalog/msr.inc"
#include "common/catalog/memory.inc"
#include "common/catalog/sensors.inc"
#include "common/catalog/graphics.inc"
#include "common/catalog/devices.inc"
#include "common/catalog/tasks.inc"
#include "common/catalog/cgroups.inc"

#define TABLE(source) { #source, catalog_##source, sizeof(catalog_##source) / sizeof(catalog_##source[0]) },
/* clang-format off */
const struct catalog_table catalog_tables[] = {
	TABLE(cpuidle)
	TABLE(cpufreq)
	TABLE(interrupts)
	TABLE(softirqs)
	TABLE(stat)
	TABLE(schedstat)
	TABLE(vmstat)
	TABLE(pressure)
	TABLE(thermal)
	TABLE(throttle)
	TABLE(hwmon)
	TABLE(powercap)
	TABLE(resctrl)
	TABLE(gfx)
	TABLE(uncorefreq)
	TABLE(lpi)
	TABLE(meminfo)
	TABLE(diskstats)
	TABLE(netdev)
	TABLE(tcp)
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

const struct catalog_counter *catalog_named(const char *source, const char *name)
{
	const struct catalog_counter *row;
	size_t n;

	row = catalog_source(source, &n);
	for (size_t i = 0; i < n; i++)
		if (!fnmatch(row[i].name, name, 0))
			return &row[i];
	return NULL;
}
