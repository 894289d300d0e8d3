/* Model-specific registers: how they are read, wherever they come from, and where: one CPU stands for its core,
 * module, package or the whole system, so that a shared register is read once. */
#pragma once

#include "common/catalog/msr.h"
#include "format/model.h"
#include "record/host/root.h"

struct error;
struct plan;
struct source;

struct msr_reader {
	/* The register of one CPU; 0 or -errno: -ENODEV if the CPU is offline, -EIO if it has no such register.
	 * Called from the threads that sample; allocates nothing. */
	int (*read)(void *ctx, uint32_t cpu, uint32_t address, uint64_t *value);
	/* Permits or ends reading the CPU. 0 or -errno. On the control thread while nothing is read. */
	int (*open)(void *ctx, uint32_t cpu);
	void (*close)(void *ctx, uint32_t cpu);
	void *ctx;
};

/* The files of the msr driver, one per CPU. */
struct msr_devices {
	const struct root *root;
	int *fd; /* owned; by CPU number, -1: not open */
	uint32_t n;
};

/* Opens nothing; the root is borrowed. */
void msr_devices_init(struct msr_devices *d, const struct root *root);
void msr_devices_release(struct msr_devices *d);
/* Reads by these files; valid as long as they are. */
struct msr_reader msr_devices_reader(struct msr_devices *d);

/* How to open the files. The caller owns it. */
struct pm_value msr_remedy(const struct root *root, int err);
/* Why a value is missing. */
uint16_t msr_reason(int err);

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
/* Sets the instance of a place that has something to record; added to the model if new. False: there is no room for
 * one. */
bool msr_place_instance(struct plan *p, struct msr_place *place);
/* The lowest online CPU of the place that may be recorded; PM_NONE if there is none. */
uint32_t msr_place_cpu(const struct plan *p, const struct msr_place *place);

/* The plan() of the source msr, with registers read through `reader`; NULL: those of the machine. */
int source_msr_plan(struct source *s, struct plan *p, const struct msr_reader *reader, struct error *e);
