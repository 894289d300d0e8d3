/*
 * Where a register of some scope is read: one CPU stands for its core, module, package or the whole system. So each
 * register is read once for what shares it, not once a CPU.
 */
#ifndef RECORD_MSR_PLACE_H
#define RECORD_MSR_PLACE_H

#include <stdint.h>

#include "common/catalog/msr.h"
#include "format/model.h"

struct plan;

struct msr_place {
	enum catalog_msr_scope scope;
	enum pm_kind kind;   /* of the instance; may be narrower than the scope where the topology says less */
	uint32_t instance;   /* id */
	uint32_t cpu;        /* that is read */
	/* One-time values name a place by a number that is unique in the machine: a package by its own, the system by
	 * none, anything else by the CPU that is read. */
	enum pm_kind config_kind;
	uint32_t config_number;
};

/* The place of that scope to which `cpu` belongs, with this CPU to be read. 0 or -errno. */
int msr_place_of(struct plan *p, enum catalog_msr_scope scope, uint32_t cpu, struct msr_place *place);
/* Another online CPU of the place that may be recorded; PM_NONE if there is none. */
uint32_t msr_place_cpu(struct plan *p, const struct msr_place *place);

#endif
