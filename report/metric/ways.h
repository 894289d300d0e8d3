/*
 * Where the numbers of turbostat's columns come from: a register of the processor, what the kernel derives from it,
 * or a perf event if /dev/cpu cannot be read (guests, containers, lockdown).
 */
#pragma once

#include "common/buf.h"
#include "report/metric/bind.h"

enum way { WAY_REGISTERS, WAY_KERNEL, WAY_PERF, WAYS };
extern const char *const ways_name[WAYS];

/* Appends the counters of the metric, once for all PMUs of a kind. */
void ways_counters(const struct binding *b, const struct bound_metric *metric, struct buf *out);

typedef void (*ways_fn)(void *arg, enum way way, const char *column, const char *counters);
/* Lists the ways of each column that has registers. 0 or -errno. */
int ways_each(const struct pm_model *m, ways_fn tell, void *arg);
