/* Event names of libpfm4 (--pfm-events). */
#ifndef RECORD_PFM_H
#define RECORD_PFM_H

#include "common/buf.h"
#include "common/error.h"

/* Writes the list, which may have groups in braces, as a list of -e: TYPE:CONFIG with the name that was written. 0,
 * -EINVAL for what libpfm4 does not take, -ENOTSUP without libpfm4. */
int pfm_events_text(const char *list, struct buf *out, struct error *e);

#endif
