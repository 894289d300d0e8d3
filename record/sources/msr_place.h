/*
 * Where to read a register of some scope: one CPU stands for its core, module, package or the whole system, so that a
 * shared register is read once.
 */
#pragma once

#include "common/catalog/msr.h"
#include "format/model.h"

struct plan;

struct msr_place {
	enum catalog_msr_scope scope;
	enum pm_kind kind; /* of the instance; may be narrower than the scope where the topology says less */
	uint32_t instance; /* id; PM_NONE until msr_place_instance() */
	uint32_t cpu;      /* that is read */
	/* One-time values name a place by a number that is unique in the machine: a package by its own, the system by
	 * none, anything else by the CPU that is read. */
	enum pm_kind config_kind;
	uint32_t config_number;
};

/* The place of that scope to which `cpu` belongs, with this CPU to be read. Adds nothing to the model. */
void msr_place_of(const struct plan *p, enum catalog_msr_scope scope, uint32_t cpu, struct msr_place *place);
/* Whether the CPU belongs to the place. */
bool msr_place_has(const struct plan *p, const struct msr_place *place, uint32_t cpu);
/* Sets the instance of a place that has something to record; added to the model if new. 0 or -errno. */
int msr_place_instance(struct plan *p, struct msr_place *place);
/* The lowest online CPU of the place that may be recorded; PM_NONE if there is none. */
uint32_t msr_place_cpu(const struct plan *p, const struct msr_place *place);
