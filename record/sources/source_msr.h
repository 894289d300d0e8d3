/* The parts of the msr source that a test puts other registers under. */
#pragma once

#include "record/plan/source.h"
#include "record/sources/msr_device.h"

/* As source_msr.plan(), with registers read through `reader`; NULL: those of the machine. */
int source_msr_plan(struct source *s, struct plan *p, const struct msr_reader *reader, struct error *e);
