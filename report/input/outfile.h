/*
 * A file that a command writes: a recording, a page, a text. It gets its name when it is complete, or never. An
 * existing file stays unless it may be replaced; an input is never overwritten.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

struct outfile {
	char *path;  /* owned; "-": stdout */
	char *place; /* owned: the file itself, where `path` is a link */
	/* The path of what is written until complete, which exit() owns and removes if the program ends before
	 * outfile_end(); NULL: written in place (a pipe, a device). */
	char **temporary;
	bool replaces; /* whatever has the name when it is complete */
	int fd;
	int err; /* the first failure to write, -errno */
	uint64_t bytes;
};

enum outfile_flags {
	OUTFILE_OVERWRITE = 1, /* an existing file is replaced */
	OUTFILE_BINARY = 2,    /* not for terminals */
	OUTFILE_APPEND = 4,    /* append, in place */
	OUTFILE_PRIVATE = 8,   /* who may not read an input may not read it either */
};

/*
 * Opens for writing; `path` "-" is stdout. `inputs` are `n` paths that are being read ("-": stdin). -EEXIST for an
 * existing file without OUTFILE_OVERWRITE, -EINVAL for an input, by whatever name, or a terminal.
 */
int outfile_open(struct outfile *o, const char *path, unsigned flags, char *const *inputs, size_t n, struct error *e);
/* Whether `path` and one of `paths` are the same file, by whatever names. Never true for devices. */
bool outfile_is_among(const char *path, char *const *paths, size_t n);
/* A pm_sink_fn. */
int outfile_write(void *o, const void *data, size_t len);
/* Gives the file its name before it is complete, so that others can watch it grow. 0 or -errno with the text in
 * *e. */
int outfile_publish(struct outfile *o, struct error *e);
/*
 * Ends it. With err 0 the file gets its name; otherwise it is removed, and *e names the file if writing failed.
 * Returns err, or -errno with the text in *e; for a file that was not opened, err.
 */
int outfile_end(struct outfile *o, int err, struct error *e);
