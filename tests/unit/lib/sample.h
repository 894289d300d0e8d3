/*
 * A small recording with everything in it, made from numbers that follow from a seed: what the tests write, they can
 * say again cell by cell without looking into the file.
 */
#pragma once

#include "common/buf.h"
#include "format/reader.h"
#include "format/writer.h"

struct sample_options {
	uint32_t cpus; /* of the matrix groups; at least 1 */
	uint32_t rows; /* of each chunk */
	uint32_t chunks;
	uint64_t interval_ns;
	enum pm_codec codec;
	bool without_index;
	bool plain_model; /* leave out what only fills the file: PMUs, config, probes */
	uint32_t seed;
};

enum { SAMPLE_PERF = 1, SAMPLE_IDLE = 2, SAMPLE_LIST = 3, SAMPLE_GROUPS = 3 };

/* Adds all definitions; group ids are those above. */
void sample_model(struct pm_model *m, const struct sample_options *o);
/* Writes chunks and events; appends to `out`. */
void sample_write(struct buf *out, const struct sample_options *o);

/* The cell of column `column` (order: model.h) of a group in snapshot `n` of the recording; and its status. */
uint64_t sample_cell(const struct pm_model *m, const struct sample_options *o, uint32_t group, uint32_t column,
		     uint64_t n);
uint16_t sample_status(const struct pm_model *m, const struct sample_options *o, uint32_t group, uint32_t column,
		       uint64_t n);
uint64_t sample_tick(const struct sample_options *o, uint64_t n);
/* Which snapshot a tick belongs to; UINT64_MAX: none. */
uint64_t sample_of_tick(const struct sample_options *o, uint64_t tick);
/* Compares a decoded chunk with what was written. Returns the number of wrong cells, ticks and statuses. */
uint64_t sample_compare(const struct pm_model *m, const struct sample_options *o, const struct pm_chunk *c);

int sample_sink(void *buf, const void *data, size_t len);
