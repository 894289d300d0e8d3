/*
 * Index frames (SPEC.md, "Index"): offsets of frames, and times of chunks. Readers can do without by hopping over the
 * frames' heads.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

/* One frame. */
struct index_entry {
	uint64_t offset;         /* bytes from the start of the recording */
	uint64_t length;         /* bytes of the whole frame */
	uint64_t from_ns, to_ns; /* chunk: first and last tick, CLOCK_MONOTONIC */
	uint16_t rows;           /* chunk */
	uint8_t type;
	bool key;      /* chunk: starts from absolute values */
	bool repeated; /* only definitions that were written before */
};

struct index_builder {
	struct index_entry *entry; /* owned */
	size_t n;
	uint32_t chunks;
};
void index_release(struct index_builder *b);
/* 0 or -ENOMEM. */
int index_add(struct index_builder *b, const struct index_entry *e);
/* Appends the body for all entries, which must be contiguous, and removes them. */
void index_encode(struct index_builder *b, struct buf *out);
/* Appends the entries of a body. 0, -EBADMSG or -E2BIG. */
int index_decode(struct index_builder *b, const void *body, size_t len);
