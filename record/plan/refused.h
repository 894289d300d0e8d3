/* Reporting what could not be recorded: once, briefly, with the command that would allow it. */
#pragma once

#include "format/model.h"

/* Appends a few lines about missing permissions; `all`: also about what the machine lacks. */
void refused_print(const struct pm_model *m, bool all, struct buf *out);

/* The first refusal by a limit that somebody set: open files and memory, or else rights. NULL: none. */
const struct pm_probe *refused_first(const struct pm_model *m);
