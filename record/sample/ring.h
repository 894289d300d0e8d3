/*
 * Chunk buffers between the readers and the writer. Chunks are numbered from 0; chunk c lives in buffer c % buffers.
 *
 * Who may touch a buffer follows from two kinds of numbers, without a lock:
 *  - buf->chunk, stored by the writer: the chunk that the buffer is free for. A reader that comes to a chunk whose
 *    buffer still holds an older one drops its snapshot.
 *  - reader->left, stored by each reader: it will never again touch a chunk below this one. When all have left a
 *    chunk, it is the writer's. The order of the (sequentially consistent) stores and loads guarantees that the last
 *    reader notices this; others may notice it, too.
 *
 * A reader may be kept from its CPU, or wait for a file that does not answer. Nobody waits for it: a chunk is closed
 * one tick after its last one. A reader sets reader->in before it checks whether the chunk is closed; the writer
 * closes the chunk before it checks reader->in. If a reader is inside, the writer replaces the buffer by a copy of
 * all finished rows, and reuses it once the reader has left.
 *
 * An epoch is a stretch of chunks whose rows follow each other tick by tick, or a single snapshot. Epochs begin only
 * while all readers are parked.
 */
#pragma once

#include <pthread.h>
#include <stdalign.h>

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
	bool resumed;    /* ticks before it were not wanted, so none is lost */
};

struct ring_filled {
	alignas(RING_LINE) uint64_t rows[PM_CHUNK_ROWS / 64];
};

struct ring_buf {
	_Atomic uint64_t chunk;
	struct pm_chunk_group *group; /* by index of readout.group; v and status are always there */
	void *cells;                  /* what these point into, of this size in bytes; owned */
	size_t size;
	bool *slot_missing; /* one per slot, in an array of its own, so that each byte has one writer */
	bool *slot_read;
	struct ring_filled *filled; /* one per reader */
	struct ring_buf *next;      /* writer: held, too */
	/* By the first reader: */
	struct pm_clocks clocks; /* monotonic 0: not read */
	uint32_t slept_row;      /* first row after a suspend; PM_NONE: none */
	int64_t slept_ns;
};

struct ring_reader {
	alignas(RING_LINE) _Atomic uint64_t left;
	_Atomic uint64_t in;      /* the chunk that it fills, + 1; 0: none */
	_Atomic uint64_t dropped; /* snapshots for which there was no buffer */
};

/* What there is of a chunk: the snapshots that exist. */
struct rows {
	uint64_t tick[PM_CHUNK_ROWS];
	uint64_t number[PM_CHUNK_ROWS];
	uint8_t flags[PM_CHUNK_ROWS];
	uint8_t place[PM_CHUNK_ROWS]; /* row of the buffer before the gaps were closed */
	uint32_t n;
	const struct readout *readout;
	struct pm_chunk_group *group; /* owned: what rows_chunk() passes on */
	bool *present, *missing;      /* owned, by group */
};

#define RING_EPOCHS 256

struct ring {
	const struct readout *readout;
	struct ring_buf *_Atomic *buf;
	uint32_t n_bufs;
	struct ring_reader *reader;
	struct ring_epoch epoch[RING_EPOCHS];
	_Atomic uint32_t epochs;      /* begun so far */
	_Atomic uint32_t epochs_done; /* that the writer has finished */
	_Atomic uint32_t *wake;       /* the writer sleeps on it */
	_Atomic uint64_t closed;      /* nobody enters a chunk below this one */
	pthread_mutex_t lock;         /* between closing a chunk and beginning or ending an epoch */
	uint64_t until;               /* chunks below this one may still be filled; UINT64_MAX: all */
	/* Writer: */
	uint64_t next;         /* the chunk that it takes next */
	uint32_t warm;         /* buffers that have their memory */
	struct ring_buf *held; /* buffers that readers were inside when they were replaced; owned */
	struct rows rows;      /* of the chunk that it took last */
};

/* `bytes`: the approximate memory for buffers, of which there are at least four. */
void ring_init(struct ring *r, const struct readout *l, size_t bytes, _Atomic uint32_t *wake);
void ring_release(struct ring *r);

/* Control, while readers are parked. False if too many epochs wait to be written. */
bool ring_begin(struct ring *r, const struct ring_epoch *e);
/* Control, while readers are parked: all chunks below `chunk`, or more, are the writer's. Returns the one that the
 * next epoch begins with. */
uint64_t ring_leave_all(struct ring *r, uint64_t chunk);

/* Reader `i` begins chunk `chunk` and will not return to those before it. */
void ring_leave(struct ring *r, uint32_t i, uint64_t chunk);
/* The buffer of a chunk, which is the reader's until ring_exit(). NULL: it is not free, or the chunk is closed. */
struct ring_buf *ring_enter(struct ring *r, uint32_t i, uint64_t chunk);
/* Call it after ring_enter(), also after a failure. */
void ring_exit(struct ring *r, uint32_t i);
/* Reader `i` has done these rows of the buffer. */
static inline void ring_fill(struct ring_buf *b, uint32_t i, uint32_t word, uint64_t rows)
{
	uint64_t *filled = &b->filled[i].rows[word];

	__atomic_store_n(filled, *filled | rows, __ATOMIC_RELEASE);
}
/* There was no buffer for `n` snapshots of a chunk. */
void ring_drop(struct ring *r, uint32_t i, uint64_t chunk, uint64_t n);

/* Writer: the next chunk that all readers have left or that is closed, and its epoch; NULL if there is none now.
 * Finds its rows, says why cells are missing in those that a reader missed, and closes the gaps between them. */
struct ring_buf *ring_take(struct ring *r, const struct ring_epoch **e);
/* Where the buffer's row is now; 0 for PM_NONE. */
uint32_t rows_split(const struct rows *r, uint32_t row);
/* Sets rows and groups of *c to `n` rows from `first` on, which are not copied. */
void rows_chunk(struct rows *r, const struct ring_buf *b, uint32_t first, uint32_t n, struct pm_chunk *c);
/* Writer: when the next chunk is closed, CLOCK_MONOTONIC; 0: not while nothing new begins. */
uint64_t ring_due(struct ring *r);
/* Writer: done with what ring_take() gave; the buffer is cleaned and free again. */
void ring_give_back(struct ring *r, struct ring_buf *b);
uint64_t ring_dropped(const struct ring *r);
