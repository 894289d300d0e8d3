/*
 * CBOR (RFC 8949), the part that a recording uses. The encoder writes core deterministic encoding; the pull decoder
 * takes any well-formed item of definite length, keeps inside its bounds, and never allocates.
 */
#ifndef FORMAT_CBOR_H
#define FORMAT_CBOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "format/value.h"

enum cbor_major {
	CBOR_UINT = 0,
	CBOR_NINT = 1,
	CBOR_BYTES = 2,
	CBOR_TEXT = 3,
	CBOR_ARRAY = 4,
	CBOR_MAP = 5,
	CBOR_TAG = 6,
	CBOR_SIMPLE = 7,
	CBOR_END = 8, /* nothing more, or the decoder has failed */
};

/* ---- encoding; errors stay in the buffer ---- */

/* A major type and its argument in the fewest bytes. */
void cbor_add_head(struct buf *b, enum cbor_major major, uint64_t argument);
void cbor_add_uint(struct buf *b, uint64_t v);
void cbor_add_int(struct buf *b, int64_t v);
void cbor_add_bytes(struct buf *b, const void *data, size_t len);
/* Bytes that are no UTF-8 are replaced by U+FFFD: kernel files may hold anything, CBOR text may not. */
void cbor_add_text(struct buf *b, const char *text, size_t len);
void cbor_add_bool(struct buf *b, bool v);
/* The shortest of half, single and double that is the same number. */
void cbor_add_double(struct buf *b, double v);
/* Levels that values inside a body may nest, so that the whole stays within PM_MAX_DEPTH. */
#define CBOR_ATTRS_DEPTH 9
/* -E2BIG, -EINVAL in the buffer for strings, nesting and keys that no reader would take. */
void cbor_add_value(struct buf *b, const struct pm_value *v);
void cbor_add_map(struct buf *b, const struct pm_map *m);

/* A map of up to CBOR_FIELDS_MAX fields, whose number is known when it is done: begun here, it grows by a key and the
 * value that is added behind it. The keys have to ascend. */
#define CBOR_FIELDS_MAX 23
struct cbor_fields {
	struct buf *out;
	size_t head;
};
struct cbor_fields cbor_fields(struct buf *b);
void cbor_field(struct cbor_fields *f, uint32_t key);
void cbor_field_uint(struct cbor_fields *f, uint32_t key, uint64_t v);
void cbor_field_int(struct cbor_fields *f, uint32_t key, int64_t v);
/* Not if it is what a reader takes for it where it is left out. */
void cbor_field_unless(struct cbor_fields *f, uint32_t key, uint64_t v, uint64_t unless);
/* An array [first, count ...] of ids. */
void cbor_field_ranges(struct cbor_fields *f, uint32_t key, const uint32_t *id, size_t n);

/* ---- decoding ---- */

/* A cursor. After the first failure `err` sticks, every call gives 0, and peek gives CBOR_END. */
struct cbor {
	const uint8_t *at, *end;
	int err; /* 0 or -EBADMSG (or -ENOMEM from the two that allocate) */
};

static inline struct cbor cbor_over(const void *data, size_t len)
{
	return (struct cbor){ .at = data, .end = (const uint8_t *)data + len };
}

/* What comes next; nothing is consumed. */
enum cbor_major cbor_peek(const struct cbor *c);
/* Each takes one item of its type; another type is an error. Texts and bytes point into the input. */
uint64_t cbor_uint(struct cbor *c);
int64_t cbor_int(struct cbor *c); /* unsigned or negative, within 64 bits */
bool cbor_bool(struct cbor *c);
double cbor_double(struct cbor *c); /* any float width, or an integer */
const uint8_t *cbor_bytes(struct cbor *c, size_t *len);
const char *cbor_text(struct cbor *c, size_t *len); /* valid UTF-8; not terminated */
/* Number of items that follow; never more than bytes are left. */
size_t cbor_array(struct cbor *c);
uint64_t cbor_tag(struct cbor *c);
/* Passes one whole item, with everything in it. */
void cbor_skip(struct cbor *c);
/* Fails unless all bytes were taken. Returns err. */
int cbor_finish(struct cbor *c);
/* Marks the input as malformed. */
void cbor_fail(struct cbor *c);

/* Walks a map whose keys are unsigned integers up to CBOR_KEY_MAX. Any order; a key that comes twice fails.
 *   cbor_map(c, &m); while (cbor_next(c, &m)) switch (m.key) { ... default: cbor_skip(c); }
 * The body must take exactly one item. */
#define CBOR_KEY_MAX 511
struct cbor_map {
	size_t left;
	uint32_t key;
	uint64_t seen[(CBOR_KEY_MAX + 1) / 64];
};
void cbor_map(struct cbor *c, struct cbor_map *m);
bool cbor_next(struct cbor *c, struct cbor_map *m);

/* These allocate; the caller releases what they fill, also after a failure. Kinds that struct pm_value has no place
 * for (tags, null, undefined) are left out of maps and fail elsewhere. `depth`: levels of nesting that are still
 * allowed. */
void cbor_value(struct cbor *c, struct pm_value *v, unsigned depth);
void cbor_value_map(struct cbor *c, struct pm_map *m, unsigned depth);

#endif
