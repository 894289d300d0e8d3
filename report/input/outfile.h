/*
 * A file that a command makes: a recording, a page. It appears under its name when it is whole, or not at all; an
 * existing file is kept unless it may be replaced, and an input is never written over.
 */
#ifndef REPORT_OUTFILE_H
#define REPORT_OUTFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

struct outfile {
	char *path;      /* owned; "-": stdout */
	char *place;     /* owned: the file itself, where `path` is a link */
	char *temporary; /* owned; what is written until it is whole; NULL: written in place (a pipe, a device) */
	int fd;
	int err; /* of the writing that failed first, -errno */
	uint64_t bytes;
};

/*
 * Opens for writing. `inputs` are `n` paths that are being read. -EEXIST for a file that is there without
 * `overwrite`, -EINVAL for one of the inputs or a terminal with `binary`.
 */
int outfile_open(struct outfile *o, const char *path, bool overwrite, bool binary, char *const *inputs, size_t n,
		 struct error *e);
/* A pm_sink_fn. */
int outfile_write(void *o, const void *data, size_t len);
/* Where it was the writing that failed, *e names the file that is written, and no input. Returns err. */
int outfile_blame(const struct outfile *o, int err, struct error *e);
/* Gives the file its name. 0 or -errno with the text in *e; then nothing is left behind. */
int outfile_commit(struct outfile *o, struct error *e);
/* Takes away what was not committed. */
void outfile_release(struct outfile *o);

#endif
