/*
 * The numbers of a recording, chunk by chunk: heads, and the blocks of the groups that the caller selected. Each
 * group goes on from its row in the chunk before. The reader says which frames are chunks, and what is lost.
 */
#pragma once

#include "format/chunk_head.h"
#include "format/codec/block.h"
#include "format/compress.h"
#include "format/definitions.h"
#include "format/frame.h"
#include "format/reader.h"

enum chunk_stage {
	CHUNK_NONE,    /* the last item was no chunk, or nothing is left of it */
	CHUNK_HEAD,    /* its head was read */
	CHUNK_DECODED, /* its numbers, too */
};

struct chunk_reader {
	struct pm_model *model; /* borrowed */
	struct pm_zstd *zstd;
	struct buf body;   /* what was unpacked last */
	struct buf newer;  /* see pm_reader_newer() */
	enum pm_rule rule; /* what the last frame broke, if it broke one */
	bool (*wanted)(void *ctx, const struct pm_group *g);
	void *wanted_ctx;

	enum chunk_stage stage;
	struct frame_head frame; /* of the current chunk */
	struct chunk_head head;
	struct chunk_base base;
	struct pm_chunk chunk;
	struct pm_chunk_group *chunk_group; /* owned, as what follows */
	uint32_t chunk_groups_cap;
	struct reader_group *group; /* by slot */
	uint32_t groups_cap;
	uint32_t retired, forgotten; /* of struct model_ids: released */

	uint64_t chunks;        /* so far */
	uint64_t values, asked; /* decoded so far; in the current chunk */
	uint64_t groups_room;   /* that heads of chunks may still name */
	bool last_decoded;      /* the previous chunk was */
	bool hole;              /* there is damage after the last chunk that was decoded */
	uint64_t last_number;   /* its last tick number, run and segment */
	uint32_t last_run, last_segment;
	uint32_t chain;     /* rises with every key chunk, and where a chunk is not decoded */
	uint32_t torn;      /* the chain in which the last damage was: groups that lack their row before are lost */
	bool too_new;       /* nothing that follows in this recording can be read, ... */
	bool chunk_too_new; /* nor what depends on this chunk */
};
void chunk_reader_release(struct chunk_reader *r);
/* Another recording begins. */
void chunk_reader_reset(struct chunk_reader *r);
/* The next chunk is not the one after the last. */
void chunk_reader_jump(struct chunk_reader *r);

/* As chunk_head_decode(): what a frame may name is bounded by the bytes of chunks. */
int chunk_reader_peek(struct chunk_reader *r, struct chunk_head *head, const struct chunk_base *base,
		      const struct frame_head *h);
/* Goes on to this chunk, whose times begin no earlier than last_ns. 0; -ENOLINK: it depends on a chunk that is lost;
 * -EDOM: its times go backwards; else as other frames. */
int chunk_reader_take(struct chunk_reader *r, const struct frame_head *h, uint64_t last_ns);

/* What damage costs a chunk: groups without a definition; blocks whose checksums fail; groups that were in such. */
struct chunk_loss {
	uint32_t unknown, blocks, groups;
	char sources[80]; /* of these groups */
};
/* Decodes the blocks of the current chunk into r->chunk. `budget`: values that all chunks so far may have. 0;
 * -EBADMSG and -E2BIG if it breaks a rule or the limits; -ENOMEM. */
int chunk_reader_decode(struct chunk_reader *r, const uint8_t *payload, uint64_t budget, struct chunk_loss *loss);
/* After that: nothing of it is lost, or at least one group is left. */
void chunk_reader_keep(struct chunk_reader *r, const struct chunk_loss *loss);

/* After definitions: groups that continue others take over their last rows, and retired ones are released. 0 or
 * -ENOMEM. */
int chunk_reader_regroup(struct chunk_reader *r, const struct definitions_seen *seen);
/* Asks again which groups are wanted. */
void chunk_reader_select(struct chunk_reader *r, bool (*wanted)(void *ctx, const struct pm_group *g), void *ctx);
