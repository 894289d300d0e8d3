/*
 * The writer thread: takes chunks from the ring, makes rows of what the readers filled, and alone talks to the
 * format's writer. While it runs it owns the model; the control thread borrows it between recording_lock() and
 * recording_unlock().
 */
#ifndef RECORD_RECORDING_H
#define RECORD_RECORDING_H

#include "format/writer.h"
#include "record/host/clocks.h"
#include "record/sample/outlet.h"
#include "record/sample/ring.h"

struct recording;

/* One file after the other: asked and told on the writer thread. */
struct recording_rotation {
	uint64_t bytes, period_ns; /* a file is full with the one or the other; 0, 0: there is one file only */
	/* Makes the next file; what goes to the sink with that context goes into it. 0 or -errno. */
	int (*open)(void *ctx, void **sink_ctx, struct error *e);
	/* The file that was opened is written from now on, and the one before is complete; or it is of no use, and
	 * the one before goes on. */
	void (*settle)(void *ctx, bool taken);
	/* A full disk: gives up the oldest file. Whether there was one. */
	bool (*make_room)(void *ctx);
	void *ctx;
};

struct recording_config {
	struct pm_writer_config writer;    /* its sink may block: it is called beside all threads */
	size_t buffer;                     /* bytes that may wait for the sink; 0: OUTLET_BYTES */
	const struct clock_source *clocks; /* NULL: those of the machine */
	void (*thread_starts)(void);       /* drops privileges on the writer thread; or NULL */
	void (*outlet_starts)(void);       /* the same where the sink is called */
	struct recording_rotation rotation;
	/* Adds groups to a chunk, at most SOURCE_TABLES, with the model locked. 0 or -errno. NULL: none. */
	int (*tables)(void *ctx, struct pm_chunk *c);
	void *tables_ctx;
	bool waits_for_room; /* a full disk stops writing, until it has room again, and not the recording */
};

struct recording_stats {
	uint64_t snapshots, lost, bytes; /* of all files; the snapshot that two files share counts once */
};

/* Begins with the definitions that the model holds, and starts the thread. 0 or -errno. */
int recording_new(struct recording **r, const struct recording_config *config, struct error *e);
/* Ends the thread if recording_finish() did not. */
void recording_free(struct recording *r);

/* The word that a ring wakes the writer by. */
_Atomic uint32_t *recording_wake(struct recording *r);
/* Chunks come from this ring from now on; NULL: from none. Waits until all that the old one held is encoded. The
 * readers must be parked. 0 or -ENOMEM. */
int recording_attach(struct recording *r, struct ring *ring);
/* Waits until all is encoded that was handed over before the call. */
void recording_drain(struct recording *r);

/* Waits until all that was handed over before the call is in the file, for RECORDING_FLUSH_NS at most. Whether it is. */
bool recording_flush(struct recording *r);
#define RECORDING_FLUSH_NS 1000000000u

/* Hands an event over; takes its attributes, also on failure. It is written once the chunks below `after` of the ring
 * are; 0: at once. 0, -ENOMEM, or -ENOBUFS: thousands wait already, for a sink that takes nothing; their number is
 * recorded. */
int recording_event(struct recording *r, struct pm_event *e, uint64_t after);

/* While it is locked the model is the caller's and the writer waits. Nobody who waits for the sink holds it. */
void recording_lock(struct recording *r);
void recording_unlock(struct recording *r);

/* Readable once writing has failed, or a disk has no room: recording_error() or recording_no_room() then have the
 * reason. After a failure what is sampled is thrown away. */
int recording_fd(const struct recording *r);
/* 0 or the -errno of the failure. */
int recording_error(struct recording *r, struct error *e);
/* -errno, once for each time that a disk was tried in vain; 0: it takes what it is given. */
int recording_no_room(struct recording *r);
struct recording_stats recording_stats(const struct recording *r);
struct outlet_state recording_outlet(struct recording *r);

/* After recording_finish(): a line for each source, or part of one, that stopped delivering, and for why no
 * further file could be begun; "" if there is nothing to say. */
const char *recording_dead(struct recording *r);

/* The recording is about to end: from now on a sink that takes nothing is waited for no longer than
 * OUTLET_PATIENCE_NS. */
void recording_hurry(struct recording *r);
/* Writes all that is left, ends the thread, closes the recording with index and end frame. 0 or -errno; -ETIMEDOUT: the
 * sink took no more, and the text says what is missing. */
int recording_finish(struct recording *r, struct error *e);

#endif
