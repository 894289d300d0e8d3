/* Where the recording goes: a new file, an existing pipe or device, or stdout. */
#pragma once

#include "record/plan/plan.h"

struct output {
	char *path; /* owned; "-" for stdout */
	int fd;
	bool regular;                /* can be truncated after a failed write */
	bool live;                   /* a pipe or a socket, which may have a live reader */
	bool created;                /* created by us: removed if empty */
	uint64_t bytes;              /* whole frames written */
	uint64_t sync_ns, synced_ns; /* --sync: its interval, and the last time; 0: never */
};

/* "<folder of dumps or of -o>/<-o without .pmr>-dump-<UTC>.pmr", for --ring; owned, NULL without memory. */
char *output_dump_name(const struct record_options *o);

/* Opens with the caller's rights. Refuses a terminal, and an existing recording without --overwrite. 0 or -errno. */
int output_open(struct output *out, const struct record_options *o, struct error *e);
/* The same with the thread's rights. */
int output_open_as_self(struct output *out, const struct record_options *o, struct error *e);
/* Closes it, and removes an empty file. 0, or -errno, also for writes that the system had buffered. */
int output_close(struct output *out, struct error *e);

/* error_prefix() with the name of the output. */
int output_blame(const struct output *out, struct error *e);
