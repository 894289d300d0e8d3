/*
 * All clocks of the machine, read together. Tests of suspend and of setting a clock hand the sampler another struct
 * clock_source.
 */
#ifndef RECORD_CLOCKS_H
#define RECORD_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "format/chunk.h"

struct clock_source {
	void *ctx;
	/* All five as close together as can be had; `monotonic` is the middle of the reading. */
	void (*read)(void *ctx, struct pm_clocks *out);
	/* BOOTTIME minus MONOTONIC in ns: the time that the machine has slept. Cheap: asked once a tick. */
	int64_t (*slept)(void *ctx);
};

/* The clocks of this machine. */
extern const struct clock_source clocks_machine;

/* CLOCK_MONOTONIC in ns. */
uint64_t clocks_monotonic(void);

/* What the header says of the counter clock: its name ("tsc", "cntvct"), or NULL if it cannot be read here. */
const char *clocks_counter_name(void);
/* Frequency that the hardware itself states in Hz, 0 if it does not say. */
uint64_t clocks_counter_hz(void);

#endif
