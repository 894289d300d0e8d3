/*
 * Recordings with known truth, made without a machine: two packages of two cores of two threads, and counters whose
 * values a test programs.
 *
 *   CPU      0 1 2 3 4 5 6 7
 *   package  0 0 0 0 1 1 1 1      core ids count anew in each package, as they do on real machines
 *   core     0 0 1 1 0 0 1 1      node = package, die 0, one L3 a package
 *   thread   0 1 0 1 0 1 0 1
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "format/chunk.h"
#include "format/model.h"
#include "format/writer.h"

#define BUILDER_CPUS     8
#define BUILDER_START_NS UINT64_C(5000000000)          /* CLOCK_MONOTONIC of the first tick */
#define BUILDER_WALL_NS  UINT64_C(1790000000000000000) /* wall time of that tick: 2026-09-21T14:13:20Z */

struct reading {
	uint64_t v;
	uint16_t status;
};

struct builder;
/* The value of a counter (by name) of an instance in snapshot `row`. The names "enabled" and "running" are the times
 * of a perf group, which begin and end with those of the instance. */
typedef struct reading (*builder_value)(struct builder *b, const char *counter, const struct pm_instance *i,
					uint64_t row);

struct builder {
	struct pm_model model;
	builder_value value;
	void *data;                     /* the test's own */
	const struct pm_group *filling; /* whose values are asked for, "enabled" and "running" among them */
	uint64_t period_ns;             /* 1 s unless changed */
	uint64_t read_ns;               /* how long after the one before an instance is read; 0 */
	bool no_wall;
	uint64_t wall_shift_ns;                    /* by which the wall clock is ahead */
	uint32_t run, segment;                     /* of the next chunk; 1 and 1 */
	bool after_loss, partial;                  /* of the next chunk, once */
	uint32_t instance[PM_KINDS][BUILDER_CPUS]; /* ids */
	uint64_t *tick, *number;
	uint8_t *flags;
	struct pm_chunk chunk;
	struct pm_writer *writer;
	void (*close)(struct builder *b);
	struct buf file;
};

void builder_init(struct builder *b, builder_value value);
void builder_release(struct builder *b);
/* All are asserted to succeed. */
uint32_t builder_counter(struct builder *b, const char *name, const char *unit, enum pm_semantics semantics,
			 enum pm_aggregation aggregation);
struct pm_counter *builder_counter_at(struct builder *b, uint32_t id);
/* A matrix of the counters over the n first instances of a kind. */
uint32_t builder_group(struct builder *b, enum pm_kind kind, uint32_t n, uint32_t flags, const uint32_t *counter,
		       uint32_t n_counters);
/* Snapshots `row` to `row + n` of all groups from `first_group` on; valid until the next call. */
const struct pm_chunk *builder_chunk(struct builder *b, uint64_t row, uint32_t n, uint32_t first_group);
/* The same, written to b->file. */
void builder_write(struct builder *b, uint64_t row, uint32_t n);
void builder_finish(struct builder *b);
/* Writes b->file to a file and releases b: the status of a program. Refuses a path that looks like an option. */
int builder_save(struct builder *b, const char *path);
