/* The machine being recorded: topology, CPU identity, facts about the kernel. */
#pragma once

#include "common/error.h"

struct plan;

/*
 * Sets the model's topology, the part of the header that describes the machine, and one-time values (CPUID, MIDR,
 * switches of the kernel), where they are available and privacy allows. Call it once, before the sources plan. 0
 * or -errno.
 */
int machine_describe(struct plan *p, struct error *e);
