/* The machine: where each CPU is (packages, dies, clusters, cores, threads, nodes, caches, types of CPUs), and what
 * the header of a recording and its one-time values say of it and of what was asked for. */
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

/* Reads the topology again after a CPU has come or gone, and updates the model. 1 if it changed, 0, or -errno. */
int topology_refresh(struct plan *p);
/*
 * The instance of the package, die, cluster, core, node or L3 cache (PM_CACHE) of a CPU, added if new. Its lowest CPU
 * identifies it, because core and die numbers repeat in every package. Id > 0; -ENOENT if the topology does not say;
 * -errno.
 */
int64_t topology_instance(struct plan *p, enum pm_kind kind, uint32_t cpu);
/* Whether both are in the same package, die, ..., as far as their numbers say. */
bool topology_same_place(const struct pm_cpu *a, const struct pm_cpu *b, enum pm_kind kind);
/* Whether both CPUs are known to be in the same package, die, ..., or are the same CPU. */
bool topology_shares(const struct pm_topology *t, enum pm_kind kind, uint32_t cpu, uint32_t other);
