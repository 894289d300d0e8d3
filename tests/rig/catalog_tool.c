/* Addresses and names of the catalog's registers, for the tests of the rig. */
#include <stdio.h>

#include "common/catalog/msr.h"

int main(void)
{
	for (const struct catalog_msr *r = catalog_msrs; r->address; r++)
		printf("0x%x %s\n", r->address, r->counter.name);
	return 0;
}
