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
/* Appends the entries of a body. 0, -EBADMSG, -ENOMEM or -E2BIG. */
int index_decode(struct index_builder *b, const void *body, size_t len);

#define INDEX_BLOCK 64

/* Entries that are kept while a recording is read, in ascending order: packed, but for one block. */
struct index_list {
	size_t n;
	struct buf packed;
	uint64_t *block; /* owned: where each INDEX_BLOCK entries begin */
	size_t unpacked; /* which block is in `entry`, counted from 1; 0: none */
	struct index_entry entry[INDEX_BLOCK];
	struct index_entry last;
};
void index_list_release(struct index_list *l);
/* Keeps all but to_ns and rows, and from_ns only of chunks. 0, -ENOMEM, or -E2BIG beyond PM_MAX_CATALOG entries. */
int index_list_add(struct index_list *l, const struct index_entry *e);
/* Entry `i`, which is below n; valid until the next call. */
const struct index_entry *index_list_at(struct index_list *l, size_t i);
