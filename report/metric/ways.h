/*
 * Where numbers come from. turbostat's columns have several ways: a register of the processor, what the kernel makes of
 * it, or a perf event where /dev/cpu cannot be read (guests, containers, lockdown).
 */
#ifndef REPORT_WAYS_H
#define REPORT_WAYS_H

#include "common/buf.h"
#include "report/metric/bind.h"

enum way { WAY_REGISTERS, WAY_KERNEL, WAY_PERF, WAYS };
extern const char *const ways_name[WAYS];

/* Appends the counters that the metric is made of, those of PMUs of a kind once. */
void ways_counters(const struct binding *b, const struct bound_metric *metric, struct buf *out);
/* WAYS: not a column of registers. */
enum way ways_of(const struct binding *b, const struct bound_metric *metric);

typedef void (*ways_fn)(void *arg, enum way way, const char *column, const char *counters);
/* Tells of each column for which there are registers. 0 or -errno. */
int ways_each(const struct pm_model *m, ways_fn tell, void *arg);

#endif
