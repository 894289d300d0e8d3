/*
 * --smi-cost: core counters are frozen while the firmware handles an interrupt of its own. This is a setting of the
 * whole machine, the only one that pmrec ever changes, so it is restored however pmrec ends: a separate process holds
 * the file and waits until the recorder is gone.
 */
#ifndef RECORD_FREEZE_SMI_H
#define RECORD_FREEZE_SMI_H

#include <sys/types.h>

#include "common/error.h"
#include "record/host/root.h"

#define FREEZE_SMI_PATH "/sys/bus/event_source/devices/cpu/freeze_on_smi"

struct freeze_smi {
	pid_t keeper; /* 0: nothing to put back */
	int alive;    /* the keeper acts when this is closed */
};

/* 0, also if it was set already, or -errno. */
int freeze_smi_begin(struct freeze_smi *f, const struct root *root, struct error *e);
/* Puts it back, and waits until that is done. May be called without a beginning. */
void freeze_smi_end(struct freeze_smi *f);

#endif
