/*
 * All clocks of the machine, read together. Tests of suspend and of setting a clock hand the sampler another struct
 * clock_source.
 */
#pragma once

#include <sys/time.h>
#include <time.h>

#include "format/chunk.h"

struct clock_source {
	void *ctx;
	/* Reads all five as close together as possible; `monotonic` is the midpoint. */
	void (*read)(void *ctx, struct pm_clocks *out);
	/* BOOTTIME minus MONOTONIC in ns: how long the machine was suspended. Cheap enough for every tick. */
	int64_t (*slept)(void *ctx);
};

/* The clocks of this machine; and those for another one under --root, whose counter is out of reach: 0. */
extern const struct clock_source clocks_machine, clocks_emulated;

/* A clock of clock_gettime(2) in ns; 0 if there is none of that number. */
uint64_t clocks_ns(clockid_t id);
uint64_t clocks_monotonic(void);

static inline struct timespec clocks_timespec(uint64_t ns)
{
	return (struct timespec){ .tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u) };
}
static inline uint64_t clocks_timeval_ns(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_usec * 1000u;
}

/* The name of the counter clock for the header ("tsc", "cntvct"), or NULL if it cannot be read. */
const char *clocks_counter_name(void);
/* The frequency that the hardware states, in Hz; 0 if it states none. */
uint64_t clocks_counter_hz(void);
