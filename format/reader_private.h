/* Shared by reader.c (items), reader_damage.c, reader_chunk.c (numbers), reader_seek.c and reader_leap.c. */
#pragma once

#include "format/codec/block.h"
#include "format/chunk_head.h"
#include "format/compress.h"
#include "format/definitions.h"
#include "format/frame.h"
#include "format/index.h"
#include "format/reader.h"
#include "format/window.h"

#define READ_STEP (256u << 10) /* for sequential reading */
#define HOP_STEP  (4u << 10)   /* while hopping from head to head */
#define LEAP_STEP (16u << 10)  /* for single frames */

enum wanted { WANTED_UNASKED = 0, WANTED_YES, WANTED_NO };

/* What a group keeps from chunk to chunk. */
struct reader_group {
	uint32_t id; /* 0: none */
	struct layout layout;
	uint8_t wanted;       /* enum wanted */
	bool marked;          /* some of its columns cannot be read */
	bool strings;         /* some of its numbers are those of strings */
	bool in_v;            /* the last row is that of v, else `before` */
	bool chained;         /* `before` is the row before v, if that is the last one */
	uint32_t chain, rows; /* the last row is one of these chunks, or was taken over from one; 0: there is none */
	uint64_t chunk;       /* that it was last decoded from, counted from 1 */
	uint64_t last_tick;   /* of the last row */
	uint64_t *v, *before; /* [columns x rows], [2 x columns]: a row and its growths */
	size_t v_cap;
	uint16_t *status;
	size_t status_cap;
};

/* Where the key chunks and the definitions of the recording are. */
struct catalog {
	struct index_list entries; /* offsets count from the start of the input */
	uint64_t from_ns, to_ns, chunks, snapshots;
	uint64_t to_offset; /* covers the recording up to here */
	bool ended;         /* and there is nothing after it */
	bool indexed;       /* the index says so, and where each frame is */
	uint64_t next;      /* where another recording begins; 0: none does */
};

/* The way to the chunk that was sought: from entry to entry of the catalog. */
struct leap {
	bool on;
	size_t next, to;        /* entries */
	size_t copy, copy_end;  /* where all definitions are repeated; copy_end 0: not used */
	struct pm_model *named; /* owned: what the copy has said so far */
	struct definitions_seen seen;
	size_t damages; /* before the way began */
	bool gaps;      /* definitions of what has gone were left out */
};

struct pm_reader {
	struct window window;
	struct pm_model model;
	enum pm_rule rule; /* what the last frame broke, if it broke one */
	struct definitions_seen seen;
	struct pm_zstd *zstd;
	struct buf body;
	int err; /* failure of the input, sticks */

	bool id_known;
	uint8_t id[8];
	uint64_t start; /* offset of the recording in the input */
	bool sequence_known;
	uint64_t sequence;  /* expected of the next frame */
	bool ended;         /* the end frame was seen */
	bool over;          /* the end of the input was reported */
	bool fresh;         /* nothing of this recording was returned yet */
	bool leaving;       /* the rest of this recording is left out */
	bool turning;       /* the next recording was announced, but the model is still the previous one's */
	uint64_t frame_end; /* of the frame that was returned last; the window is at its start */
	bool frame_open;

	bool lost; /* looking for a frame since ... */
	uint64_t lost_from;
	bool lost_cut; /* ... a frame that the end of the input has cut */
	char lost_text[100];
	size_t claimed; /* bytes of the head that was none, as far as they were looked at */
	uint64_t vain;  /* bytes with wrong checksums; those inside one another count again */

	struct pm_damage *damage; /* owned */
	size_t n_damage;
	size_t damage_told;  /* how many were returned as items */
	size_t damage_timed; /* how many have both ends of their time range */
	uint64_t last_ns;    /* last good time */
	uint64_t before_ns;  /* of the previous chunk; the numbers of the current one may turn out to be lost */

	bool held; /* an item that waits until the damage before it has been returned */
	struct pm_item held_item;
	struct pm_event *event; /* owned: those of the current frame */
	size_t n_events, next_event;
	uint32_t retired_instances, retired_groups, forgotten; /* of struct model_ids: returned as events, released */

	bool chunk_open, chunk_decoded;
	struct frame_head chunk_frame;
	struct chunk_head head;
	struct chunk_base base;
	uint64_t values, asked;     /* decoded so far; in the current chunk */
	uint64_t groups_room;       /* that heads of chunks may still name */
	struct reader_group *group; /* by slot */
	uint32_t groups_cap;
	size_t looked_ahead;  /* damages at the last time */
	bool last_decoded;    /* the previous chunk was */
	bool hole;            /* there is damage after the last chunk that was decoded */
	size_t before_chunk;  /* damages up to that chunk */
	uint64_t last_number; /* its last tick number, run and segment; or reader_expect_first() */
	uint32_t last_run, last_segment;
	uint32_t chain; /* rises with every key chunk, and where a chunk is not decoded */
	uint32_t torn;  /* the chain in which the last damage was: groups that lack their row before are lost */
	struct pm_chunk chunk;
	struct pm_chunk_group *chunk_group;
	uint32_t chunk_groups_cap;
	bool (*wanted)(void *ctx, const struct pm_group *g);
	void *wanted_ctx;

	struct catalog catalog;
	struct leap leap;
	bool forgets; /* on the way, too, at every chunk that is passed over */
	/* Clock relations, a new one whenever wall time departed from the last. */
	struct pm_clocks *relation;
	size_t n_relations;

	struct buf newer; /* see pm_reader_newer() */
	bool too_new;     /* nothing that follows in this recording can be read, ... */
	bool hidden;      /* the current recording cannot be read at all */
	uint8_t hidden_id[8];
	bool chunk_too_new; /* nor what depends on this chunk */

	struct pm_reader_stats stats;
};

/* Notes damage; contiguous damage of one kind becomes one. NULL without memory. */
struct pm_damage *reader_damage_add(struct pm_reader *r, enum pm_damage_kind kind, uint64_t offset, uint64_t length,
				    const char *format, ...) __attribute__((format(printf, 5, 6)));
/* Good numbers start at this time: the far end of what was lost before. */
void reader_damage_until(struct pm_reader *r, uint64_t time_ns);
/* The current chunk is intact, but cannot be read because of what was lost before it. */
void reader_damage_chunk(struct pm_reader *r, uint64_t end, uint32_t snapshots);
/* The current chunk lacks groups, of these sources, that depend on a lost block: its damage has not ended. `partial`:
 * there are others. */
void reader_damage_goes_on(struct pm_reader *r, bool partial, const char *sources);
void reader_damage_frames(struct pm_reader *r, uint64_t frames, uint64_t offset);

/* Moves to the first magic of a frame in the window, which must hold enough bytes for one: 1. 0: none; the window is
 * now after all that cannot be part of one. -errno. */
int reader_to_magic(struct window *w);
/* Skips a byte of what has no good head or, after too many wrong checksums, its whole length. 0 or -errno. */
int reader_pass(struct pm_reader *r);
/* The current frame, which is in the window, is damaged: if another one begins inside, because a file was cut and
 * another followed, this one ends there. */
void reader_frame_within(struct pm_reader *r, const struct frame_head *h);
/* Moves to the next good frame: 1. 0: the end. -EAGAIN, other -errno. */
int reader_find(struct pm_reader *r, struct frame_head *h);
/* The body of a frame with its payload in the window: checksum, decompression. Points into the window or r->body. 0,
 * -EBADMSG, -ENOMEM; -ENOTSUP if only a newer version can. */
int reader_body(struct pm_reader *r, const struct frame_head *h, const void **body, size_t *len);
/* Whether this frame belongs to a recording that cannot be read; notes that. 1, 0 or -ENOMEM. */
int reader_hides(struct pm_reader *r, const struct frame_head *h);
/* Notes a frame that this version does not know, and the consequences. */
void reader_too_new(struct pm_reader *r, unsigned type);
/* The first chunk of a recording goes on from here, unless others before it are lost. */
static inline void reader_expect_first(struct pm_reader *r)
{
	r->last_run = 1;
	r->last_segment = 0;
	r->last_number = UINT64_MAX;
}
/* Starts the announced recording, if there is one. */
void reader_turn(struct pm_reader *r);

/* As chunk_head_decode(): what a frame may name is bounded by the bytes of chunks. */
int reader_chunk_head(struct pm_reader *r, struct chunk_head *head, const struct chunk_base *base,
		      const struct frame_head *h);
/* -ENODATA: it follows a chunk that is lost, which is noted. Else as other frames. */
int reader_chunk(struct pm_reader *r, const struct frame_head *h, struct pm_item *item);
/* Takes the definitions that are repeated after this place, if earlier ones may be lost. *parts: which are new. 0 or
 * -errno. */
int reader_look_ahead(struct pm_reader *r, unsigned *parts);
void reader_groups_release(struct pm_reader *r);
/* The state of a group of the model, valid until the model grows; NULL without memory. */
struct reader_group *reader_group_of(struct pm_reader *r, uint32_t id);
/* The same, if there is one already; else NULL. */
struct reader_group *reader_group_if(struct pm_reader *r, uint32_t id);
/* Whether the caller selected the group. False: it is not in the model, or has no state yet. */
bool reader_wants(struct pm_reader *r, uint32_t id);
/* Lays the group's columns out, once. 0 or -ENOMEM. */
int reader_need_layout(struct pm_reader *r, struct reader_group *own);
/* The last row goes to `before`; v is then free to be filled. 0 or -ENOMEM. */
int reader_keep_last_row(struct reader_group *g);
/* After definitions: groups that continue others take over their last rows, and retired ones are released. 0 or
 * -ENOMEM. */
int reader_groups_changed(struct pm_reader *r);
void reader_catalog_release(struct pm_reader *r);
/* Goes to the next frame on the way to the chunk that was sought. 0 or -errno. */
int reader_leap(struct pm_reader *r);
/* A frame of definitions, which the model has taken. What a copy of all does not name retires at its end: on that way
 * here, elsewhere after damage in reader_copy_over(). Call that at a chunk if leap.named and not leap.on. */
int reader_leap_over(struct pm_reader *r, const struct frame_head *h, const void *body, size_t len, unsigned *parts);
int reader_copy_over(struct pm_reader *r, const struct frame_head *h);
void reader_leap_end(struct pm_reader *r);
void reader_release_events(struct pm_reader *r);

/* What a file is, if not a recording: "a gzip file", ... */
const char *sniff(const uint8_t *head, size_t len);
bool sniff_text(const uint8_t *head, size_t len);
