/* Files that somebody names. */
#ifndef COMMON_FILE_H
#define COMMON_FILE_H

#include "common/error.h"

/* Opens a regular file for reading; pipes and devices are refused, because they may block or never end. Returns a
 * descriptor, or -errno with a text that begins with the path. */
int file_open(const char *path, struct error *e);

#endif
