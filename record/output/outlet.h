/*
 * What the format's writer writes to: a queue, and behind it the file. Whole frames wait in memory until the
 * file takes them. A pipe that nobody reads, or a disk that hangs, then blocks neither encoding nor control; it only
 * costs memory, up to a limit.
 *
 * A separate process writes the frames; it shares all memory and descriptors with this one. A thread would do, but
 * not on a frozen file system: a thread that writes there cannot even be killed, and a program ends only with all of
 * its threads. Where the kernel, or an emulation of it, refuses such a process, a thread is used.
 */
#pragma once

#include "format/writer.h"
#include "record/plan/plan.h"

#define OUTLET_BYTES (16u << 20) /* the usual limit */

struct outlet;

struct outlet_config {
	size_t bytes;    /* that may wait; 0: OUTLET_BYTES */
	pm_sink_fn sink; /* takes the frames, as outlet_write() does; may block */
	/* Called in the outlet's process when the sink failed: whether to retry the frame soon. NULL: never. */
	bool (*stalled)(void *ctx, int err);
	/* Called in the outlet's process at the first failure of the sink, -errno; all later frames are dropped. */
	void (*failed)(void *ctx, int err);
	void *ctx;
};

/* 0 or -errno. */
int outlet_new(struct outlet **o, const struct outlet_config *config, struct error *e);
/* Frames that still wait are not written. */
void outlet_free(struct outlet *o);

/* Where the frames of one writer go. */
struct outlet_target {
	struct outlet *outlet;
	void *sink_ctx;
	const struct pm_writer *writer; /* NULL: there is none yet */
	uint64_t before;                /* snapshots in the files before its own */
};
/* The sink of that writer: copies a frame (length 0: a request to the sink). Never blocks. One thread at a time. 0 or
 * -ENOMEM. */
int outlet_put(void *target, const void *frame, size_t len);
/* Waits until this many bytes fit into the limit, or nothing waits. False if it gave up. */
bool outlet_await_room(struct outlet *o, size_t bytes);
/* Waits until the sink has taken or refused everything. False if it gave up. */
bool outlet_await_empty(struct outlet *o);
/* Returns the sink's failure and clears it; 0: none. */
int outlet_forgive(struct outlet *o);
/* The end is near: from now on waits give up if the sink has finished no frame for OUTLET_PATIENCE_NS, and soon after
 * another fatal signal. */
void outlet_hurry(struct outlet *o);
#define OUTLET_PATIENCE_NS 1500000000u

struct outlet_state {
	size_t bytes;       /* that wait */
	uint64_t snapshots; /* handed over with the last frame that was written */
	uint64_t stalls;    /* how often there was no room */
	uint64_t stalled_ns;
	bool given_up;
};
struct outlet_state outlet_state(struct outlet *o);

/* The sink that is a file, a struct output: only system calls, with one write() per frame. Removes a frame that was
 * written in part. Length 0: flushes to disk. */
int outlet_write(void *output, const void *data, size_t len);

/* Where the recording goes: a new file, an existing pipe or device, or stdout. */
struct output {
	char *path; /* owned; "-" for stdout */
	int fd;
	int copy;                    /* gets each frame after it; 0: none */
	bool regular;                /* can be truncated after a failed write */
	bool live;                   /* a pipe or a socket, which may have a live reader */
	bool created;                /* created by us: removed if empty */
	uint64_t bytes;              /* whole frames written */
	uint64_t sync_ns, synced_ns; /* --sync: its interval, and the last time; 0: never */
};

/* Opens with the caller's rights. Refuses a terminal, and an existing recording without --overwrite. 0 or -errno. */
int output_open(struct output *out, const struct record_options *o, struct error *e);
/* The same with the thread's rights. */
int output_open_as_self(struct output *out, const struct record_options *o, struct error *e);
/* Closes it, and removes an empty file. 0, or -errno, also for writes that the system had buffered. */
int output_close(struct output *out, struct error *e);

/* error_prefix() with the name of the output. */
int output_blame(const struct output *out, struct error *e);
