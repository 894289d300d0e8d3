/* Files that somebody names. */
#ifndef COMMON_FILE_H
#define COMMON_FILE_H

#include "common/error.h"

/* Opens a regular file for reading: what has no end, or lets the one who opens it wait (pipes, devices), is refused.
 * A descriptor, or -errno with a text that begins with the path. */
int file_open(const char *path, struct error *e);

#endif
