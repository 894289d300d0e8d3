/*
 * Opening a recording by name, for every command: a path or "-", plain or .gz; errors say what other
 * files are.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "format/reader.h"

/* The name of the file, after the last slash; points into `path`. */
const char *input_name(const char *path);

/* Opens `path`. With `growing` an end is not final (see pm_input). Errors begin with the path. */
int input_open(struct pm_reader **r, const char *path, bool growing, struct error *e);

/* The same for a copy; errors begin with `name`. */
int input_open_as(struct pm_reader **r, const char *path, const char *name, struct error *e);
/* Sets *e for a failure `err` (-errno) of reading: `what`, and the reason. Returns err. */
int input_failed(struct error *e, int err, const char *what);
/* Reads on to the next chunk: 1 with the chunk's item. 0: none follows, or not yet in a growing input. -errno with
 * the text in *e, as input_failed() makes it. */
int input_next_chunk(struct pm_reader *r, struct pm_item *item, const char *what, struct error *e);
/* Whether a file that begins with these bytes is compressed as a whole, by gzip. */
bool input_is_packed(const void *head, size_t len);
/* Only the bytes of the recording, unwrapped. The caller closes *in. */
int input_bytes(struct pm_input *in, const char *path, struct error *e);

/* Whether a recorder is writing the file now, by its lock. */
bool input_being_written(const char *path);

/* Waiting for more of such a file. */
struct follow {
	const char *path;
	int watch;      /* inotify descriptor; -1: none, so it polls */
	bool last_look; /* the recorder has ended, but its last bytes are not read yet */
};

/* Watches the file from now on; the path is borrowed. */
void follow_init(struct follow *f, const char *path);
void follow_release(struct follow *f);
/* 0 when there may be more, 1 when nobody writes any more. For pipeline_config.wait. */
int follow_wait(void *follow);

/* Whether `path` names an archive of Performance Co-Pilot, whose own pmrep is another program. */
bool input_is_pcp(const char *path);
