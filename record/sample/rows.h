/* From a chunk buffer to rows: finds which snapshots exist, says why cells are missing in those that a reader missed,
 * closes the gaps, and passes a stretch of rows to the format's writer without copying. */
#pragma once

#include "record/sample/ring.h"

struct rows {
	uint64_t tick[PM_CHUNK_ROWS];
	uint64_t number[PM_CHUNK_ROWS];
	uint8_t flags[PM_CHUNK_ROWS];
	uint8_t place[PM_CHUNK_ROWS]; /* row of the buffer before the gaps were closed */
	uint32_t n;
	const struct readout *readout;
	struct pm_chunk_group *group; /* owned: what rows_chunk() passes on */
	bool *present, *missing;      /* owned, by group */
};

/* For the buffers of another readout. 0 or -ENOMEM. */
int rows_init(struct rows *r, const struct readout *l);
void rows_release(struct rows *r);

/* Analyzes a buffer of epoch `e`, and closes its gaps. */
void rows_collect(struct rows *r, const struct ring *ring, struct ring_buf *b, uint64_t chunk,
		  const struct ring_epoch *e);
/* Where the buffer's row is now; 0 for PM_NONE. */
uint32_t rows_split(const struct rows *r, uint32_t row);
/* Sets rows and groups of *c to `n` rows from `first` on. */
void rows_chunk(struct rows *r, const struct ring_buf *b, uint32_t first, uint32_t n, struct pm_chunk *c);
