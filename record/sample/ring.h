/*
 * Chunk buffers between the readers and the writer. Chunks are numbered from 0; chunk c lives in buffer c % buffers.
 *
 * Who may touch a buffer follows from two kinds of numbers, without a lock:
 *  - buf->chunk, stored by the writer: the chunk that the buffer is free for. A reader that comes to a chunk whose
 *    buffer still holds an older one drops its snapshot.
 *  - reader->left, stored by each reader: it will never again touch a chunk below this one. When all have left a
 *    chunk, it is the writer's; that one notices it first is harmless, that the last one notices it is guaranteed by
 *    the order of the (sequentially consistent) stores and loads.
 *
 * An epoch is a stretch of chunks whose rows follow each other tick by tick, or a single snapshot. Epochs begin
 * only while all readers are parked.
 */
#ifndef RECORD_RING_H
#define RECORD_RING_H

#include <stdalign.h>
#include <stdatomic.h>

#include "format/chunk.h"
#include "record/plan/readout.h"

#define RING_LINE 64 /* bytes of a cache line */

struct ring_epoch {
	uint64_t first_chunk;
	uint64_t first_number; /* tick number of the first row */
	uint64_t last_number;  /* readers stop after it; UINT64_MAX: no end */
	uint64_t start_ns;     /* tick n is planned for start_ns + n * interval */
	uint64_t tick_ns;      /* single snapshot: its time; 0: a stretch of ticks */
	uint32_t run, segment;
	uint32_t serial; /* of the ring */
	uint8_t flags;   /* pm_snapshot_flags of the single snapshot, or of the row last_number */
	bool resumed;    /* ticks before it were not wanted, so they are not lost */
};

struct ring_filled {
	alignas(RING_LINE) uint64_t rows[PM_CHUNK_ROWS / 64];
};

struct ring_buf {
	_Atomic uint64_t chunk;
	struct pm_chunk_group *group; /* by index of readout.group; v and status are always allocated */
	bool *slot_missing;           /* one a slot; array of its own so that each byte has one writer */
	bool *slot_read;
	struct ring_filled *filled; /* one a reader */
	/* By the first reader: */
	struct pm_clocks clocks; /* monotonic 0: not read */
	uint32_t slept_row;      /* first row after a suspend; PM_NONE: none */
	int64_t slept_ns;
};

struct ring_reader {
	alignas(RING_LINE) _Atomic uint64_t left;
	_Atomic uint64_t dropped; /* snapshots for which there was no buffer */
};

#define RING_EPOCHS 256

struct ring {
	const struct readout *readout;
	struct ring_buf *buf;
	uint32_t n_bufs;
	struct ring_reader *reader;
	struct ring_epoch epoch[RING_EPOCHS];
	_Atomic uint32_t epochs;      /* begun so far */
	_Atomic uint32_t epochs_done; /* left behind by the writer */
	_Atomic uint32_t *wake;       /* the writer sleeps on it */
	uint64_t next;                /* writer: the chunk that it takes next */
};

/* `bytes`: about how much memory the buffers may take; there are at least four. 0 or -ENOMEM. */
int ring_init(struct ring *r, const struct readout *l, size_t bytes, _Atomic uint32_t *wake);
void ring_release(struct ring *r);

/* Control, while readers are parked. False: too many epochs are still to be written. */
bool ring_begin(struct ring *r, const struct ring_epoch *e);
/* Control, while readers are parked: all chunks below `chunk` are the writer's. */
void ring_leave_all(struct ring *r, uint64_t chunk);

/* Reader `i` begins chunk `chunk` and will not return to those before it. */
void ring_leave(struct ring *r, uint32_t i, uint64_t chunk);
/* The buffer of a chunk, NULL if it is not free: the snapshot is dropped. */
static inline struct ring_buf *ring_buf(struct ring *r, uint64_t chunk)
{
	struct ring_buf *b = &r->buf[chunk % r->n_bufs];

	return atomic_load_explicit(&b->chunk, memory_order_acquire) == chunk ? b : NULL;
}

/* Writer: the next chunk that all readers have left, and its epoch; NULL if there is none now. */
struct ring_buf *ring_take(struct ring *r, uint64_t *chunk, const struct ring_epoch **e);
/* Writer: done with what ring_take() gave; the buffer is cleaned and free again. */
void ring_give_back(struct ring *r, struct ring_buf *b);
uint64_t ring_dropped(const struct ring *r);

#endif
