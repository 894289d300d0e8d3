/* The lines of `pmrep dump`, as text and as JSON. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "format/reader.h"
#include "report/export/output.h"
#include "report/pipeline/pipeline.h"

struct dump {
	struct pm_reader *reader; /* owned */
	char **glob;              /* owned array, up to NULL; counters, all if there is none */
	bool json, no_values, no_definitions;
	struct buf out;
	int (*flush)(struct dump *d); /* writes `out` once it is long; not 0 ends the dump */
	struct output_total total;
	/* How much of the model is printed already. */
	uint32_t counters, instances, groups, pmus, probes, configs, strings;
};

/* Whether to print values of the counter. */
bool dump_wants(const struct dump *d, uint32_t counter);
void dump_frame(struct dump *d, const struct pm_item *item);
/* 0, or what flush() returned. */
int dump_snapshot(struct dump *d, const struct pm_chunk *chunk, uint32_t row);
/* Name and value of each counter that feeds a shown column, in the first row. */
void dump_turbostat(const struct offer *offer, const struct pm_chunk *chunk, struct buf *out);
