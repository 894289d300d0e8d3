/*
 * The writer thread: takes chunks from the ring, makes rows of what the readers filled, and alone talks to the
 * format's writer. While it runs it owns the model; the control thread borrows it between recording_lock() and
 * recording_unlock().
 */
#pragma once

#include "record/host/clocks.h"
#include "record/output/outlet.h"
#include "record/sample/ring.h"
#include "record/sample/rotate.h"

struct recording;

struct recording_config {
	struct pm_writer_config writer;    /* its sink may block, in a process of its own */
	size_t buffer;                     /* bytes that may wait for the sink; 0: OUTLET_BYTES */
	const struct clock_source *clocks; /* NULL: those of the machine */
	struct rotation *rotation;         /* NULL: there is one file only */
	/* Adds groups to a chunk, at most SOURCE_TABLES, with the model locked. 0 or -errno. NULL: none. */
	int (*tables)(void *ctx, struct pm_chunk *c);
	void *tables_ctx;
	bool waits_for_room; /* a full disk pauses writing, not recording */
};

struct recording_stats {
	uint64_t snapshots, lost, bytes; /* of all files; the snapshot that two files share counts once */
};

/* Writes the definitions of the model, and starts the thread. 0 or -errno. */
int recording_new(struct recording **r, const struct recording_config *config, struct error *e);
/* Ends the thread if recording_finish() did not. */
void recording_free(struct recording *r);

/* The word by which a ring wakes the writer. */
_Atomic uint32_t *recording_wake(struct recording *r);
/* Takes chunks from this ring from now on; NULL: from none. Waits until the old one is encoded. Readers must be
 * parked. */
void recording_attach(struct recording *r, struct ring *ring);
/* Waits until all that was handed over is encoded. */
void recording_drain(struct recording *r);

/* Waits until all that was handed over is in the file, at most RECORDING_FLUSH_NS. Whether it is. */
bool recording_flush(struct recording *r);
#define RECORDING_FLUSH_NS 1000000000u

/* Hands over an event; takes its attributes, also on failure. It is written after the ring's chunks below `after`; 0:
 * at once. 0, -ENOMEM, or -ENOBUFS if thousands wait for a sink that takes nothing; their number is recorded. */
int recording_event(struct recording *r, struct pm_event *e, uint64_t after);

/* Lends the model to the caller while the writer waits. Nobody holds the lock while waiting for the sink. */
void recording_lock(struct recording *r);
void recording_unlock(struct recording *r);

/* Readable once writing has failed or a disk is full; recording_error() or recording_no_room() has the reason. After
 * a failure samples are dropped. */
int recording_fd(const struct recording *r);
/* 0 or the -errno of the failure. */
int recording_error(struct recording *r, struct error *e);
/* -errno once for each failed write to the disk; 0: none. */
int recording_no_room(struct recording *r);
struct recording_stats recording_stats(const struct recording *r);
struct outlet_state recording_outlet(struct recording *r);

/* After recording_finish(): a line for each source, or part of one, that stopped delivering, and for why no
 * further file could be begun; "" if there is nothing to say. */
const char *recording_dead(struct recording *r);

/* The recording is about to end: from now on nobody waits longer than OUTLET_PATIENCE_NS for a sink that takes
 * nothing. */
void recording_hurry(struct recording *r);
/* Writes the rest with index and end frame, and ends the thread. 0 or -errno; -ETIMEDOUT: the sink took no more, and
 * the text says what is missing. */
int recording_finish(struct recording *r, struct error *e);
