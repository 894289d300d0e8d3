/*
 * Columns of numbers to bytes and back (SPEC.md, "Packed columns"). Knows nothing of frames, groups or zstd.
 *
 * A matrix is a sequence of bands. A band is a run of columns of the same nature: one counter over all its
 * instances, or one kind of time stamp over all of them.
 */
#pragma once

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/buf.h"

#define PM_MATRIX_ROWS 128 /* at most */

struct pm_band {
	uint32_t columns; /* > 0 */
	uint8_t bits;     /* width of the counter, 1-64: differences are taken modulo 2^bits */
	/* Column-wise reference that the values lie close to: the value of column c is predicted from the column
	 * `ref_first + (ref_columns == 1 ? 0 : c)` of the same matrix, in the same row. begin refers to the ticks,
	 * end and enabled to begin, running and perf's clocks to enabled. PM_NO_REF: none. PM_REF_TICK: the ticks. */
	uint32_t ref_first;
	uint32_t ref_columns;
};
#define PM_NO_REF   UINT32_MAX
#define PM_REF_TICK (UINT32_MAX - 1)

struct pm_matrix {
	const struct pm_band *band;
	uint32_t n_bands;
	uint32_t rows; /* 1 ... PM_MATRIX_ROWS */
	size_t stride; /* value of column c, row r: v[c * stride + r] */
	uint64_t *v;
	const uint64_t *tick; /* [rows] */
	/* The row before the first, one value a column, and its tick; NULL: none, the matrix starts from absolute
	 * values (key chunk). */
	const uint64_t *before;
	const uint64_t *growth; /* of that row, pm_growth() for each column; NULL: all 0 */
	uint64_t before_tick;
};

/* First byte of the lengths. */
#define PM_MATRIX_FRESH 1 /* the matrix starts from absolute values although the chunk depends on another */
#define PM_MATRIX_KINDS 2 /* the kinds of bands follow; without them, all are of the usual one */

static inline void store_le64(uint8_t *p, uint64_t x)
{
	x = htole64(x);
	memcpy(p, &x, sizeof(x));
}

static inline uint64_t load_le64(const uint8_t *p)
{
	uint64_t x;

	memcpy(&x, p, sizeof(x));
	return le64toh(x);
}

/* By how much a number is expected to grow: as much as last time. After a 0 nothing is known. */
static inline uint64_t pm_growth(uint64_t before, uint64_t v)
{
	return before ? v - before : 0;
}

/* Appends the coded matrix: to `lengths` what zstd makes much smaller, a byte a number; to `bits` what nothing makes
 * smaller. 0, -ENOMEM, -EINVAL (rows). */
int pm_pack(const struct pm_matrix *m, struct buf *lengths, struct buf *bits);
/* Fills m->v from exactly these bytes. 0, or -EBADMSG (malformed: never reads or writes out of bounds). */
int pm_unpack(const struct pm_matrix *m, const void *lengths, size_t len, const void *bits, size_t bits_len);
