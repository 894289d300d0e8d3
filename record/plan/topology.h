/* Where each CPU is: packages, dies, clusters, cores, threads, nodes, caches, types of CPUs. */
#pragma once

#include "format/model.h"
#include "record/host/root.h"

struct plan;

/*
 * Reads the topology of all CPUs that are present. Offline CPUs, which sysfs does not describe, keep their
 * entry of `before` (or NULL). If a recording of tasks is brief (perf_options), caches are unknown. The caller
 * owns *t. 0 or -errno.
 */
int topology_read(const struct plan *p, const struct pm_topology *before, struct pm_topology *t, struct error *e);
/* Reads it again after a CPU has come or gone, and updates the model. 1 if it changed, 0, or -errno. */
int topology_refresh(struct plan *p);
/*
 * The instance of the package, die, cluster, core, node or L3 cache (PM_CACHE) of a CPU, added if new. Its lowest CPU
 * identifies it, because core and die numbers repeat in every package. Id > 0; -ENOENT if the
 * topology does not say; -errno.
 */
int64_t topology_instance(struct plan *p, enum pm_kind kind, uint32_t cpu);
/* Whether both CPUs are known to be in the same package, die, ..., or are the same CPU. */
bool topology_shares(const struct pm_topology *t, enum pm_kind kind, uint32_t cpu, uint32_t other);
