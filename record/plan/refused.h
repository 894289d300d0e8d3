/* Reporting what could not be recorded: once, briefly, with the command that would allow it. */
#ifndef RECORD_REFUSED_H
#define RECORD_REFUSED_H

#include <stdbool.h>

#include "common/buf.h"
#include "format/model.h"

/* Appends a few lines about what lacked a permission; `all`: about everything that was not there, too. */
void refused_print(const struct pm_model *m, bool all, struct buf *out);

#endif
