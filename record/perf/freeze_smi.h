/*
 * --smi-cost: freezes core counters during system management interrupts. This is a setting of the whole machine, the
 * only one that pmrec changes, so a separate process holds the file and restores it when the recorder is gone, for
 * any reason.
 */
#pragma once

#include "record/host/root.h"

#define FREEZE_SMI_PATH "/sys/bus/event_source/devices/cpu/freeze_on_smi"

struct freeze_smi {
	pid_t keeper; /* 0: nothing to restore */
	int alive;    /* the keeper acts when this is closed */
};

/* 0, also if it was set already, or -errno. */
int freeze_smi_begin(struct freeze_smi *f, const struct root *root, struct error *e);
/* Restores it, and waits for that. Has no effect if nothing was changed. */
void freeze_smi_end(struct freeze_smi *f);
