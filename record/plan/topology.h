/* Where each CPU is: packages, dies, clusters, cores, threads, nodes, caches, types of CPUs. */
#ifndef RECORD_TOPOLOGY_H
#define RECORD_TOPOLOGY_H

#include <stdint.h>

#include "common/error.h"
#include "format/model.h"
#include "record/host/root.h"

struct plan;

/*
 * Reads the topology of all CPUs that are present. A CPU that is offline has no topology in sysfs: what `before` (may
 * be NULL) says of it is kept. *t is owned by the caller. 0 or -errno.
 */
int topology_read(const struct root *r, const struct pm_topology *before, struct pm_topology *t, struct error *e);
/* Reads again, after a CPU has come or gone, and puts it into the model if it is another one. 1 if so, 0, -errno. */
int topology_refresh(struct plan *p);
/*
 * Instance of the package, die, cluster, core, node or L3 cache (PM_CACHE) that a CPU belongs to, added if it is new.
 * The lowest CPU of it stands for it, because core and die numbers repeat in every package. Id > 0; -ENOENT if the
 * topology does not say; -errno.
 */
int64_t topology_instance(struct plan *p, enum pm_kind kind, uint32_t cpu);
/* Whether the topology knows both CPUs to be in the same package, die, ... or the same CPU. */
bool topology_shares(const struct pm_topology *t, enum pm_kind kind, uint32_t cpu, uint32_t other);

#endif
