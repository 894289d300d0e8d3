/*
 * Reads a recording that has lost its definitions with those of another one: a sibling of a rotation, or one made by
 * the same command on the same machine. Its own definitions come first, so that contradictions show as damage.
 */
#pragma once

#include "report/input/spool.h"

struct borrow;

/* Scans both files. 0 or -errno with the text in *e: -EINVAL if `like` has no definitions or `file` no frame,
 * -ENODATA if they have no place in `file`, which has its own. */
int borrow_new(struct borrow **b, const struct spool *file, const struct spool *like, struct error *e);
void borrow_free(struct borrow *b);
/* Opens a reader at the start. 0 or -errno with the text in *e. */
int borrow_reader(struct pm_reader **r, struct borrow *b, struct error *e);
