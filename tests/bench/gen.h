/*
 * Synthetic counters of a big machine, for the benchmarks: one group, one instance a CPU, up to 40 counters
 * each, read on every CPU at a time of its own.
 *
 * The load of each CPU is an autocorrelated series around a level of its own; everything else follows from
 * the load and from the time between two reads of that CPU, with noise. Reads start 0-50 us after the tick,
 * uniformly. The same seed gives the same numbers everywhere.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GEN_COUNTERS 40

struct gen_counter {
	const char *name, *source, *unit;
	uint8_t width;
	bool gauge;
};
extern const struct gen_counter gen_counter[GEN_COUNTERS];

struct gen_config {
	uint32_t cpus;
	uint32_t counters; /* the first so many of the table */
	uint64_t period_ns;
	uint64_t jitter_ns; /* 50000 */
	uint64_t seed;
};

struct gen;
struct gen *gen_new(const struct gen_config *config); /* NULL: no memory */
void gen_free(struct gen *g);
/* cpus x (2 + counters), in the order of struct pm_group: begin, end, values. */
size_t gen_columns(const struct gen_config *config);
/* The next row: its tick, and the value of column c to v[c * stride]. */
void gen_row(struct gen *g, uint64_t *tick, uint64_t *v, size_t stride);
