/* What is mounted where, from /proc/mounts. */
#ifndef RECORD_MOUNTS_H
#define RECORD_MOUNTS_H

#include "record/host/root.h"

struct mount {
	const char *what, *where, *type, *options; /* valid until the next one */
};

/* Reads the table into *text, which is the caller's. Length or -errno. */
ssize_t mounts_read(const struct root *r, struct buf *text);
/* The next one of the text, which is cut up; *at begins as NULL. False: there is none. */
bool mounts_next(struct buf *text, char **at, struct mount *m);

#endif
