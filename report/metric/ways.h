/*
 * The ways to turbostat's columns: a register of the processor, what the kernel makes of it, or a perf event where
 * /dev/cpu cannot be read (guests, containers, lockdown).
 */
#ifndef REPORT_WAYS_H
#define REPORT_WAYS_H

#include "common/buf.h"
#include "format/model.h"

/* The event that counts what the register does, or NULL; several CPUs or packages are averaged, as registers are. */
const char *ways_event(const char *counter);

enum way { WAY_REGISTERS, WAY_KERNEL, WAY_PERF, WAYS };
extern const char *const ways_name[WAYS];
/* Appends the columns that came that way in the recording, each with the counter or event it is made of. */
void ways_columns(const struct pm_model *m, enum way way, struct buf *out);

#endif
