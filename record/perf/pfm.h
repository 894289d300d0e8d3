/* Event names of libpfm4 (--pfm-events). */
#pragma once

#include "common/buf.h"
#include "common/error.h"

/* Rewrites a list, which may have groups in braces, for -e: TYPE:CONFIG with the original name. 0, -EINVAL for what
 * libpfm4 refuses, -ENOTSUP without libpfm4. */
int pfm_events_text(const char *list, struct buf *out, struct error *e);
