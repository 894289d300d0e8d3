/* Mounts, from /proc/mounts. */
#pragma once

#include "record/host/root.h"

struct mount {
	const char *what, *where, *type, *options; /* valid until the next one */
};

/* Reads the table into *text, which the caller frees. The length or -errno. */
ssize_t mounts_read(const struct root *r, struct buf *text);
/* The next mount of the text, which is modified; start with *at NULL. False after the last. */
bool mounts_next(struct buf *text, char **at, struct mount *m);
