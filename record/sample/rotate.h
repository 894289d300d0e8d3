/*
 * --rotate and --ring: which file comes next, and which are removed. A name is that of -o with the UTC time at which
 * the file was started, so that runs do not collide.
 */
#pragma once

#include "record/host/message.h"
#include "record/output/outlet.h"

/* A file of this recorder, with its inode, because another file may have its name by now. */
struct rotation_file {
	char *path; /* owned */
	dev_t device;
	ino_t inode;
	int64_t end_ns; /* CLOCK_BOOTTIME, of its last byte; INT64_MAX: it is in use */
	uint64_t bytes;
};

/* With several files, the recording's writer thread owns it after rotation_begin(). */
struct rotation {
	const struct record_options *options;
	struct output output[2]; /* the one in use, and the one that is to follow it */
	unsigned now;
	uint64_t files;             /* begun so far */
	pthread_mutex_t lock;       /* kept and n_kept */
	struct rotation_file *kept; /* owned: the oldest first; the last one is in use */
	size_t n_kept;
};

#define ROTATION_INIT \
	{ \
		.output = { { .fd = -1 }, { .fd = -1 } }, .lock = PTHREAD_MUTEX_INITIALIZER \
	}

static inline struct output *rotation_output(struct rotation *r)
{
	return &r->output[r->now];
}

/* Opens the first file, or the only one. 0 or -errno. */
int rotation_begin(struct rotation *r, const struct record_options *o, struct error *e);
/* Opens the next file, beside the one in use. 0 or -errno. */
int rotation_open_next(struct rotation *r, struct output **next, struct error *e);
/* `taken`: it is in use, and the previous one complete; else it is not needed. */
void rotation_settle(struct rotation *r, bool taken);
/* The newest files of this boot, opened for reading, oldest first. From any thread. */
void rotation_files(struct rotation *r, struct message_fds *fds);
/* With --keep or --ring, on a full disk: removes the oldest file unless it is the only one. From any thread. Whether
 * it did. */
bool rotation_make_room(struct rotation *r);
/* Closes the last file. 0 or -errno. */
int rotation_end(struct rotation *r, struct error *e);
