#include "common/catalog/catalog.h"

#include <string.h>

#include "common/catalog/tables.h"

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))
#define TABLE(name) \
	{ \
		.source = #name, .row = catalog_##name, .n = ROWS(catalog_##name) \
	}

const struct catalog_table catalog_tables[] = {
	TABLE(cpuidle), TABLE(cpufreq),    TABLE(interrupts), TABLE(softirqs), TABLE(stat),        TABLE(schedstat),
	TABLE(vmstat),  TABLE(pressure),   TABLE(thermal),    TABLE(throttle), TABLE(hwmon),       TABLE(powercap),
	TABLE(gfx),     TABLE(uncorefreq), TABLE(lpi),        TABLE(pmt),      { .source = NULL },
};

const struct catalog_counter *catalog_source(const char *source, size_t *n)
{
	for (const struct catalog_table *t = catalog_tables; t->source; t++) {
		if (strcmp(t->source, source))
			continue;
		*n = t->n;
		return t->row;
	}
	*n = 0;
	return NULL;
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
