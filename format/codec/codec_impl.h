/* What the files of the codec share. The bytes are defined in SPEC.md, "Packed columns". */
#pragma once

#include "format/codec/bitpack.h"
#include "format/codec/codec.h"

#define PM_TIMEWISE_ROWS 16 /* from this many rows on blocks run along time */

enum pm_form {
	PM_FORM_TIME = 0,     /* one block a column */
	PM_FORM_ROW = 1,      /* blocks across columns and bands */
	PM_FORM_ROW_WIDE = 2, /* likewise, where a value is wider than its band says: modulo 2^64 */
	PM_FORM_GRAINS = 32,  /* beside one of these: doubles are whole numbers of grains, which come first */
};

/* How a column is predicted: source * 3 + order, with PM_KIND_WIDE added where a value is wider than its band
 * says and arithmetic is modulo 2^64. */
enum pm_source { PM_SOURCE_NONE = 0, PM_SOURCE_NEIGHBOUR = 1, PM_SOURCE_REF = 2, PM_SOURCES, PM_SOURCE_COURSE = 3 };
#define PM_ORDERS    3
#define PM_KINDS     (PM_SOURCES * PM_ORDERS)
#define PM_KIND_WIDE 16

struct pm_packer {
	const struct pm_kernel *kernel;
	struct buf heads, varints, bits; /* packing: parts of the result */
	struct buf grains, whole;        /* of doubles: one byte a column; numbers of the grains */
	struct buf second;               /* packing: the matrix in these numbers */
};

/* A band and where it lies. */
struct pm_place {
	const struct pm_band *band;
	uint32_t first; /* its first column */
	bool has_ref;   /* what it refers to lies before it */
	uint64_t mask;  /* of its width */
	unsigned shift; /* 64 - width */
};

/* Whether what the band refers to lies before column `first`, where the band begins. */
static inline bool pm_ref_valid(const struct pm_band *b, uint32_t first)
{
	if (b->ref_first == PM_NO_REF)
		return false;
	if (b->ref_first == PM_REF_TICK)
		return true;
	return (uint64_t)b->ref_first + (b->ref_columns == 1 ? 1 : b->columns) <= first;
}

static inline struct pm_place pm_place(const struct pm_band *b, uint32_t first)
{
	unsigned bits = b->bits >= 1 && b->bits <= 64 ? b->bits : 64;

	return (struct pm_place){
		.band = b,
		.first = first,
		.has_ref = pm_ref_valid(b, first),
		.mask = UINT64_MAX >> (64 - bits),
		.shift = 64 - bits,
	};
}

/* The rows of the column that column c of the band refers to, and the number before them (0 without one). */
static inline const uint64_t *pm_ref_rows(const struct pm_matrix *m, const struct pm_place *p, uint32_t c,
					  uint64_t *before)
{
	size_t column = (size_t)p->band->ref_first + (p->band->ref_columns == 1 ? 0 : c);

	if (p->band->ref_first == PM_REF_TICK) {
		*before = m->before ? m->before_tick : 0;
		return m->tick;
	}
	*before = m->before ? m->before[column] : 0;
	return m->v + column * m->stride;
}

/* LEB128. */
void pm_add_varint(struct buf *b, uint64_t x);
/* Moves *p on; -EBADMSG at the end of the input or above 64 bits. */
int pm_get_varint(const uint8_t **p, const uint8_t *end, uint64_t *x);

/*
 * The matrix with its real bands as whole numbers of grains. Packing appends to an empty buffer, or nothing where no
 * grain fits. `columns`: of all bands; `form`: without PM_FORM_GRAINS. 0, -ENOMEM, -EBADMSG.
 */
int pm_pack_grains(struct pm_packer *p, const struct pm_matrix *m, size_t columns, struct buf *out);
int pm_unpack_grains(struct pm_packer *p, const struct pm_matrix *m, size_t columns, unsigned form, const uint8_t *in,
		     const uint8_t *end);
/* The matrix as numbers, in the form that suits its rows: this is the first byte that packing appends, and stands
 * before `in`. */
int pm_pack_form(struct pm_packer *p, const struct pm_matrix *m, struct buf *out);
int pm_unpack_form(struct pm_packer *p, const struct pm_matrix *m, unsigned form, const uint8_t *in,
		   const uint8_t *end);

/*
 * The columns of a matrix, packed along the time or, where rows are few, across columns. Packing appends to *out;
 * unpacking fills the matrix from the bytes up to `end`. `wide`: numbers go by 64 bits, whatever the width of their
 * band. 0, -ENOMEM, or -EBADMSG for bytes that no packer writes.
 */
int pm_pack_time(struct pm_packer *p, const struct pm_matrix *m, struct buf *out);
int pm_unpack_time(struct pm_packer *p, const struct pm_matrix *m, const uint8_t *in, const uint8_t *end);
int pm_pack_rows(struct pm_packer *p, const struct pm_matrix *m, struct buf *out);
int pm_unpack_rows(struct pm_packer *p, const struct pm_matrix *m, bool wide, const uint8_t *in, const uint8_t *end);
