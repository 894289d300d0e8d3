/* The numbers of one group inside a block (SPEC.md, "Blocks"). */
#pragma once

#include "format/cbor.h"
#include "format/chunk.h"
#include "format/codec/codec.h"
#include "format/model.h"
#include "format/writer.h"

/* How the columns of a group are cut into bands: the times, then counter by counter (matrix) or stretches of equal
 * width and type (list). Follows from the definitions alone, so that nothing about it is in the file. */
struct layout {
	struct pm_band *band; /* owned; NULL: not made yet */
	uint8_t *type;        /* owned: enum pm_type of each band; times are PM_U64 */
	uint32_t n_bands;
	uint32_t head;    /* time columns */
	uint32_t columns; /* all columns */
};
/* 0 or -ENOMEM. */
int layout_init(struct layout *l, const struct pm_model *m, const struct pm_group *g);
void layout_release(struct layout *l);

/* A block that is being written: two items a group or three, which zstd makes smaller, and bits, which it does
 * not. */
struct block {
	struct buf items, bits;
};

/* What is left of a block that is being read. */
struct block_cursor {
	struct cbor items;
	const uint8_t *bits;
	size_t n_bits; /* bytes */
};

/* Scratch memory of a writer. */
struct block_scratch {
	struct buf matrix, status;
	uint64_t *v; /* a copy in which missing values are filled in */
	size_t v_cap;
};
void block_scratch_release(struct block_scratch *s);

/* What all groups of a chunk share. */
struct block_rows {
	uint32_t rows;        /* 1 ... PM_CHUNK_ROWS */
	const uint64_t *tick; /* [rows]: CLOCK_MONOTONIC ns */
	uint64_t before_tick; /* of the row before; unused without one */
	bool dependent;       /* the chunk depends on another */
	enum pm_codec codec;
};

/* Appends the group. `before` is the row before, or NULL: it starts from absolute values; `after` is the last row
 * afterwards, and may be the same memory. Both have one value a column, then one growth a column. 0 or -ENOMEM. */
int block_add(struct block *out, struct block_scratch *s, const struct layout *l, const struct pm_chunk_group *g,
	      const struct block_rows *rows, const uint64_t *before, uint64_t *after);
/* The last row of a matrix as the row before of the next one; may be the memory of m->before. */
void row_after(const struct layout *l, const struct pm_matrix *m, uint64_t *after);
/* The row before of a group that continues another: that of the members that both have, from the last row `before` of
 * the other, whose tick was `before_tick`; new members have their times at that tick, and 0 elsewhere. 0 or -ENOMEM.
 */
int group_take_over(const struct pm_group *g, uint64_t *after, const struct pm_group *from, const uint64_t *before,
		    uint64_t before_tick);
/* Reads one group at the cursor into `v` (columns x stride). -ENOLINK: the bytes need a row before, and `before` is
 * NULL. `status` is made on demand: called with the cell count when the first missing value comes, it returns zeroed
 * cells. 0, -EBADMSG or -ENOLINK, which the cursor keeps. */
typedef uint16_t *(*block_status_fn)(void *ctx, size_t cells);
int block_take(struct block_cursor *b, const struct layout *l, const struct block_rows *rows, const uint64_t *before,
	       uint64_t *v, size_t stride, block_status_fn status, void *ctx);
/* Passes over one group. 0, or -EBADMSG, which the cursor keeps. */
int block_skip(struct block_cursor *b, enum pm_codec codec);
