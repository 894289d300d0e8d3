/* What the files of the writer thread share. All functions are for that thread. */
#pragma once

#include "record/sample/recording.h"

struct message {
	struct message *next;
	struct pm_event event;
	uint64_t after;
};

struct recording {
	struct recording_config config;
	struct pm_writer *writer;
	struct outlet *outlet;
	struct outlet_target target[2]; /* of this file, and of the previous or next one */
	unsigned now;
	pthread_t thread;
	bool running;
	int fd;
	_Atomic uint32_t wake;

	pthread_mutex_t lock; /* guards the queue, `done`, `quit`, `ring`, `error` */
	pthread_cond_t progress;
	struct message *first, **last;
	uint32_t n_messages, refused; /* events that wait, and that were refused because too many did */
	uint32_t done;                /* value of `wake` up to which everything is written */
	bool quit;
	struct ring *ring;
	struct error error;
	int failed;
	_Atomic int no_room; /* -errno of the last try */
	struct buf dead;     /* a line a source that stopped delivering; guarded by model_lock */

	pthread_mutex_t model_lock;

	/* The writer thread's own. */
	struct rows *rows;    /* of the chunk in hand */
	uint64_t next_number; /* tick that should come next */
	uint32_t serial;      /* of the epoch of the last rows */
	uint64_t dropped;     /* of ring_dropped(), as last reported */
	uint32_t slept;       /* suspends so far: each begins a segment */
	int64_t wall_offset;  /* REALTIME - BOOTTIME */
	bool wall_known;

	/* Of the files before, and of the one that is being written. */
	uint64_t snapshots_before, bytes_before;
	uint64_t chunk_bytes;   /* of the largest chunk of this file */
	uint64_t file_until_ns; /* the first snapshot then or later is the file's last; 0: not yet known */
	uint64_t again_ns;      /* no other file is begun before this time */

	_Atomic uint64_t snapshots, lost, bytes;
	_Atomic bool trying; /* a failure of the sink concerns a file that is dispensable */
};

/* Takes the attributes. */
void recording_write_event(struct recording *r, struct pm_event *e);
/* Adds a line for the end unless it is there; whether it is new. */
bool recording_note(struct recording *r, struct buf *line);
/* Ticks without a row, before or between the rows of a chunk. */
void recording_find_lost(struct recording *r, const struct ring *ring, const struct ring_epoch *e);
/* Units that have died since the last look. */
void recording_find_dead(struct recording *r, const struct readout *l);
/* Whether the wall clock was set. */
void recording_find_step(struct recording *r, const struct pm_clocks *c);
