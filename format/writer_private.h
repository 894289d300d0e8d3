/* Shared by writer.c (definitions, frames) and writer_chunk.c (numbers). */
#pragma once

#include "format/codec/block.h"
#include "format/chunk_head.h"
#include "format/compress.h"
#include "format/frame.h"
#include "format/index.h"
#include "format/writer.h"

#define REPEAT_FIRST_NS  1000000000ull /* from the first chunk on */
#define REPEAT_SECOND_NS 10000000000ull
#define REPEAT_APART     4096 /* bytes between copies, or one bad sector takes both */
#define PLACES           5    /* a quarter of that apart */
#define REPEAT_MIN_NS    60000000000ull
#define REPEAT_MAX_NS    600000000000ull
#define REPEAT_BYTES     20           /* times the size of the definitions */
#define REPEAT_END_BYTES 4            /* times their size after the last copy are worth one before the end */
#define KEY_EVERY        16           /* chunks */
#define BEGIN_LEVEL      19           /* of zstd, for definitions before the first chunk ... */
#define BEGIN_BYTES      (256u << 10) /* ... that are no more than this */
#define LATER_LEVEL      3            /* at least, for later ones; above it the result depends on the byte order */
#define KEY_ONCE         6            /* chunks after which one more key chunk is worth some bytes, once */
#define DEPENDENT_SAVES  5            /* percent of a chunk, or it becomes a key chunk: a fault then costs no other */
#define INDEX_EVERY      1024         /* chunks */
#define INDEX_FRAMES     65536        /* frames, if that comes first */
#define EVENTS_BYTES     (64u << 10)  /* that wait at most */
#define BLOCK_OWN        4096         /* raw bytes from which a group has a block of its own */
#define BLOCK_SHARED_MAX (1u << 20)

/* What a group keeps from chunk to chunk, by its slot in the model. */
struct writer_group {
	uint32_t id; /* 0: none */
	struct layout layout;
	uint64_t *last; /* [2 x columns]: last row written, and its growths */
	uint64_t last_tick;
	uint32_t chain; /* `last` is a row of these chunks, or was taken over from one; 0: there is no `last` */
};

/* How much of the model is in the file. */
struct written {
	bool header_valid;
	struct pm_map header;
	uint32_t topology, counters, strings, pmus, probes, configs, config_changes;
	uint32_t last_instance, last_group;                    /* ids */
	uint32_t retired_instances, retired_groups, forgotten; /* of struct model_ids */
	size_t *config_instances; /* by index: how many instances the written entry had */
	uint32_t config_cap;
};

/* What was defined before a place in the file. */
struct defined {
	uint64_t offset;
	uint32_t counters, strings, last_instance, last_group;
};

struct pm_writer {
	struct pm_writer_config config;
	struct pm_zstd *zstd;
	struct error error;
	int err; /* first failure, sticks */
	uint64_t sequence, offset;
	struct written written;
	uint64_t definitions_bytes; /* of all that would be repeated */
	uint64_t begin_ns;          /* last tick of the first chunk */
	uint64_t repeat_ns,
		repeat_offset; /* when it was last written, the first time included, and where that ends */
	uint32_t repeats;
	bool copies_apart; /* no bad sector takes all copies */
	/* Definitions from `bridged` to `last`, the previous chunk, are repeated before a key chunk. Of the places
	 * passed, newest first, one shares no bad sector with the end of the file. */
	struct defined bridged, passed[PLACES], last;
	struct buf meta, body, packed, frame;

	struct block_scratch scratch;
	struct writer_group *group; /* by slot */
	uint32_t groups_cap;
	uint32_t chain; /* rises with every key chunk */

	struct buf events; /* that wait to be written */
	uint32_t n_events;
	uint64_t events_base_ns;

	struct chunk_head head;
	struct chunk_base base;
	unsigned since_key;
	uint32_t key_rows; /* of the last key chunk that was packed here */
	size_t key_bytes;  /* its payload and meta */
	size_t last_bytes; /* those of the last chunk */
	bool again;        /* a key chunk has followed KEY_ONCE chunks */
	unsigned apart;    /* chunks still to be key chunks, because depending saved too little */
	bool break_asked, finished;
	struct block block;
	struct buf payload;

	struct index_builder index;
	uint64_t index_offset; /* of the newest index frame; 0: none */
	struct pm_writer_stats stats;
};

/* Frames `payload` with w->meta and hands it to the sink; the checksum of the head goes to *crc. Notes it in the
 * index. */
int writer_frame(struct pm_writer *w, unsigned type, const void *payload, size_t len, const struct index_entry *entry,
		 uint32_t *crc);
/* Notes the first failure, with `what` failed. Returns the first one, -errno. */
int writer_fail(struct pm_writer *w, int err, const char *what);
/* Writes an index frame when enough chunks have come. */
int writer_index(struct pm_writer *w);
/* The state of a group of the model, valid until the model grows; NULL without memory. */
struct writer_group *writer_group_of(struct pm_writer *w, uint32_t id);
/* A new group continues another: it takes over what is known of the columns. 0 or -ENOMEM. */
int writer_group_continue(struct pm_writer *w, const struct pm_group *g);
/* Before a chunk, `key` or not as it seems: repeats the definitions if they are due at this time; and, once that is
 * decided, the new ones before a key chunk. */
int writer_repeat(struct pm_writer *w, uint64_t now_ns, bool key);
int writer_bridge(struct pm_writer *w);
