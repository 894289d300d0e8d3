/* Commands of pmrep in a child of the test, and what they print: as from the shell, in a hundredth of the time. */
#pragma once

#include "tests/unit/lib/builder.h"

#define CAPTURED_MOST (1 << 20)

struct captured {
	int status; /* -N: killed by signal N */
	char out[CAPTURED_MOST], err[CAPTURED_MOST];
};

/* Runs it with the words of `line`, which one blank parts, behind its name: in words a '~' stands for a blank. All steps
 * are asserted to succeed. */
void captured_run(struct captured *c, int (*command)(int argc, char **argv), const char *line);
/* A file with these bytes, of a name that nobody else has; captured_remove() takes it away. */
void captured_file(char path[64], const struct buf *bytes);
void captured_remove(const char *path);
