/* The machine being recorded: topology, CPU identity, facts about the kernel. */
#ifndef RECORD_MACHINE_H
#define RECORD_MACHINE_H

#include "common/error.h"

struct plan;

/*
 * Sets the model's topology, the part of the header that describes the machine, and one-time values (CPUID, MIDR,
 * switches of the kernel). What is not to be had is left out; privacy is kept. Call once, before the sources plan. 0
 * or -errno.
 */
int machine_describe(struct plan *p, struct error *e);

#endif
