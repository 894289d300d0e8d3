/* What the source that reads /proc/stat knows for others. */
#pragma once

#include "record/plan/source.h"

/* The time that the host has taken of the CPU with that index (from 0), in ticks of the kernel's clock, as the last
 * snapshot has it: *cpu and *stolen. False: there is no such CPU, or the source records nothing. Any thread may ask.
 */
bool stat_stolen(const struct source *s, uint32_t index, uint32_t *cpu, uint64_t *stolen);
