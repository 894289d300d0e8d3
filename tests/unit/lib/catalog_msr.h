/* A register of the catalog by its name, with or without "msr."; NULL if there is none. */
#pragma once

#include <string.h>

#include "common/catalog/msr.h"

static inline const struct catalog_msr *catalog_msr_find(const char *name)
{
	if (!strncmp(name, "msr.", 4))
		name += 4;
	for (const struct catalog_msr *r = catalog_msrs; r->address; r++)
		if (!strcmp(r->counter.key, name))
			return r;
	return NULL;
}
