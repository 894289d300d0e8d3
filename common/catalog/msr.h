/*
 * Model-specific registers of x86: addresses, scopes, and when to read them. pmrec finds out whether a machine has a
 * register by reading it; addresses of Intel and AMD do not collide.
 */
#pragma once

#include "common/catalog/catalog.h"

/* Which CPUs share one register. */
enum catalog_msr_scope {
	CATALOG_MSR_CPU,
	CATALOG_MSR_CORE,
	CATALOG_MSR_MODULE, /* cores with one L2 cache, if the kernel calls them a cluster; else the core */
	CATALOG_MSR_PACKAGE,
	CATALOG_MSR_SYSTEM,
	CATALOG_MSR_SCOPES
};

enum catalog_msr_use {
	CATALOG_MSR_COUNTER = 1 << 0, /* read in every snapshot */
	CATALOG_MSR_ONCE = 1 << 1,    /* read at the start and at the end */
	CATALOG_MSR_BOTH = CATALOG_MSR_COUNTER | CATALOG_MSR_ONCE,
};

struct catalog_msr {
	struct catalog_counter counter; /* name ("msr.aperf") and help hold for one-time values, too */
	uint32_t address;
	uint8_t scope; /* catalog_msr_scope */
	uint8_t use;   /* catalog_msr_use */
};

extern const struct catalog_msr catalog_msrs[]; /* ends with address 0 */
