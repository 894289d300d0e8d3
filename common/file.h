/* Files that the user names. */
#pragma once

#include <stddef.h>

#include "common/buf.h"
#include "common/error.h"

/* Opens a regular file for reading. Pipes and devices are refused, because they may block or never end. Returns a
 * descriptor, or -errno with a text that begins with the path. */
int file_open(const char *path, struct error *e);
/* Appends the contents of such a file. 0 or -errno. */
int file_read(const char *path, struct buf *text, struct error *e);
/* Writes all of it, in as many calls as it takes. 0 or -errno. */
int file_write(int fd, const void *data, size_t len);
