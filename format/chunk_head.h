/* The meta of a chunk frame (SPEC.md, "Chunks"): when, which groups, which blocks. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/chunk.h"
#include "format/cbor.h"
#include "format/writer.h"

/* What the next chunk needs to know of this one, if it depends on it. */
struct chunk_base {
	bool valid;
	uint32_t crc; /* of the frame's head */
	uint32_t run, segment;
	uint64_t step;                   /* ns between ticks, by which ticks are predicted */
	uint64_t last_tick, last_number; /* of its last row */
	struct pm_clocks clocks;
	uint32_t *group; /* owned: ids in the order of the payload */
	uint32_t n_groups, groups_cap;
};
void chunk_base_release(struct chunk_base *b);

struct chunk_block {
	uint32_t stored; /* bytes in the payload */
	uint32_t bits;   /* of them, at the end: those of the matrices, which are stored as they are */
	uint32_t raw;    /* bytes of the others after decompression; 0: stored as they are */
	uint32_t crc;    /* CRC-32C of the stored bytes */
	uint32_t n_groups;
};

/* As in struct pm_chunk, which describes most members. */
struct chunk_head {
	bool key;
	bool newer;        /* the blocks cannot be read: another codec, or a critical key */
	enum pm_rule rule; /* what it broke, if chunk_head_decode() returned -EBADMSG */
	enum pm_codec codec;
	uint32_t run, segment, rows;
	uint64_t step; /* ns between ticks */
	uint64_t tick[PM_CHUNK_ROWS], number[PM_CHUNK_ROWS];
	uint8_t flags[PM_CHUNK_ROWS];
	struct pm_clocks clocks;
	uint32_t base_crc; /* of the head of the chunk that a dependent one builds on */
	uint32_t *group;   /* owned: ids in the order of the payload */
	uint32_t n_groups, groups_cap;
	uint32_t *lost; /* owned: ids of those that damage took before the chunk was written */
	uint32_t n_lost, lost_cap;
	struct chunk_block *block; /* owned */
	uint32_t n_blocks, blocks_cap;
	uint32_t groups_most; /* that decoding accepts, with lost ones; 0: the limits of a chunk */
};
void chunk_head_release(struct chunk_head *h);
/* Makes room for so many, and keeps the contents. 0 or -ENOMEM. */
int chunk_head_room(struct chunk_head *h, uint32_t groups, uint32_t lost, uint32_t blocks);

/* A dependent chunk cannot follow `b` if a clock was unreadable in one of them alone. */
bool chunk_clocks_match(const struct pm_clocks *a, const struct pm_clocks *b);

/* Appends the map. A key chunk needs no base. */
void chunk_head_encode(const struct chunk_head *h, const struct chunk_base *base, uint64_t payload, struct buf *out);
/* 0; -ENOLINK: depends on a chunk that `base` is not (then only key, rows, run and segment are set); -EBADMSG;
 * -E2BIG: too many groups. `payload`: bytes of the payload, which the blocks must fill exactly. */
int chunk_head_decode(struct chunk_head *h, const struct chunk_base *base, const void *meta, size_t len,
		      uint64_t payload);
/* Makes *base what the chunk after `h` depends on. `crc`: of the frame's head. 0 or -ENOMEM. */
int chunk_base_set(struct chunk_base *base, const struct chunk_head *h, uint32_t crc);
