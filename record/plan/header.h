/* What the header of a recording and its one-time values say of the machine and of what was asked for. */
#pragma once

#include "common/error.h"
#include "record/plan/plan.h"

/*
 * Sets the model's topology, the part of the header that describes the machine, and one-time values (CPUID, MIDR,
 * switches of the kernel), where they are available and privacy allows. Call it once, before the sources plan. 0
 * or -errno.
 */
int machine_describe(struct plan *p, struct error *e);

/* Sets the part that follows from pmrec's options, after machine_describe() and the sources' plans; `argv` is
 * pmrec's. */
void header_fill(struct plan *p, const struct source *s, size_t n, char *const *argv);
