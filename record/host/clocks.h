/*
 * All clocks of the machine, read together. Tests of suspend and of setting a clock hand the sampler another struct
 * clock_source.
 */
#pragma once

#include "format/chunk.h"

struct clock_source {
	void *ctx;
	/* Reads all five as close together as possible; `monotonic` is the middle of the reading. */
	void (*read)(void *ctx, struct pm_clocks *out);
	/* BOOTTIME minus MONOTONIC in ns: how long the machine was suspended. Cheap enough for every tick. */
	int64_t (*slept)(void *ctx);
};

/* The clocks of this machine. */
extern const struct clock_source clocks_machine;

/* CLOCK_MONOTONIC in ns. */
uint64_t clocks_monotonic(void);

/* The name of the counter clock for the header ("tsc", "cntvct"), or NULL if it cannot be read. */
const char *clocks_counter_name(void);
/* The frequency that the hardware states, in Hz; 0 if it states none. */
uint64_t clocks_counter_hz(void);
