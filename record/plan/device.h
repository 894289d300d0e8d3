/* Instances for things that are neither CPUs nor places in the topology: sensors, zones. */
#pragma once

#include <stdint.h>

struct plan;

/*
 * Adds a PM_DEVICE instance. If a device already has the name, ".2", ".3" ... is appended. `path` says where the
 * device is connected and may be NULL; privacy may omit it. Id > 0 or -errno.
 */
int64_t device_instance(struct plan *p, const char *name, const char *path);
/* The same for a device next to a CPU; PM_NONE: none. */
int64_t device_instance_at(struct plan *p, const char *name, const char *path, uint32_t cpu);
/* An instance for what users may have named, such as an interface or a mount. If privacy forbids the name, it is the
 * source's device of this number (from 0). */
int64_t device_named(struct plan *p, const char *name, uint32_t number);
