/*
 * A recording that a command reads more than once, or by seeking. If the input allows neither (standard input, a
 * pipe, a recording that is still being written, a compressed file), it is first copied to an unnamed file in
 * $TMPDIR, so that all passes see the same bytes. Memory use stays small.
 */
#pragma once

#include "format/reader.h"

enum spool_need {
	SPOOL_TWICE, /* will be read more than once */
	SPOOL_PLAIN, /* will be searched, and its size matters */
};

struct spool {
	char *name; /* owned: as users name it */
	char *path; /* owned: where it is read */
	int fd;     /* of the copy, -1: there is none */
	uint64_t bytes;
	bool growing; /* a recorder was writing it, so a missing end is not damage */
};

/* Copies `path` ("-": standard input) if it has to be. 0 or -errno with the text in *e, which begins with the name;
 * -ENOSPC where there is no room for the copy. */
int spool_open(struct spool *s, const char *path, enum spool_need need, struct error *e);
/* Opens a reader at the start, as input_open() does. */
int spool_reader(struct pm_reader **r, const struct spool *s, struct error *e);
void spool_close(struct spool *s);

/* A file without a name in $TMPDIR (/tmp), which is gone when it is closed. A descriptor or -errno. */
int spool_temporary(struct error *e);
