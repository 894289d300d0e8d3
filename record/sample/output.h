/* Where the recording goes: a new file, an existing pipe or device, or stdout. */
#ifndef RECORD_OUTPUT_H
#define RECORD_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "record/plan/plan.h"

struct output {
	char *path; /* owned; "-" for stdout */
	int fd;
	bool regular;   /* can be cut back after a failed write */
	bool live;      /* a pipe or a socket: somebody may be reading along */
	bool created;   /* by us: an empty one is taken away again */
	uint64_t bytes; /* whole frames written */
	uint64_t sync_ns,
		synced_ns; /* --sync: how often what was written is made to last, and when it was; 0: never */
};

/* "<folder of dumps or of -o>/<-o without .pmr>-dump-<UTC>.pmr", for --ring; owned, NULL without memory. */
char *output_dump_name(const struct record_options *o);

/* Opens with the caller's rights. Refuses a terminal, and an existing recording without --overwrite. 0 or -errno. */
int output_open(struct output *out, const struct record_options *o, struct error *e);
/* As output_open(), with the rights that the thread has. */
int output_open_as_self(struct output *out, const struct record_options *o, struct error *e);
/* Closes; a failure to write what was buffered shows here. A file without a byte in it is removed. 0 or -errno. */
int output_close(struct output *out, struct error *e);

/* A pm_sink_fn for an outlet: system calls alone, one write() a frame. A frame that the disk could only take a part of
 * is taken back. Of length 0: what was written is made to last. */
int output_write(void *out, const void *data, size_t len);
/* Puts the name of the output before the text; returns what error_prefix() does. */
int output_blame(const struct output *out, struct error *e);

#endif
