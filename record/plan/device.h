/* Instances for things that are neither CPUs nor places in the topology: sensors, zones. */
#ifndef RECORD_DEVICE_H
#define RECORD_DEVICE_H

#include <stdint.h>

struct plan;

/*
 * Adds a PM_DEVICE instance. If a device already has the name, ".2", ".3" ... is appended. `path` says where the
 * device hangs and may be NULL; privacy may leave it out. Id > 0 or -errno.
 */
int64_t device_instance(struct plan *p, const char *name, const char *path);
/* The same for what lies where the CPU does; PM_NONE: nowhere. */
int64_t device_instance_at(struct plan *p, const char *name, const char *path, uint32_t cpu);
/* An instance for what users may have named, an interface or a place: where privacy forbids that, it is its source's device
 * of that number (from 0). */
int64_t device_named(struct plan *p, const char *name, uint32_t number);

#endif
