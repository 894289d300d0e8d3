/*
 * Recordings that lie: what a recording holds, taken apart frame by frame, changed, and put together again with right
 * lengths and checksums, so that the change reaches what lies behind them.
 */
#pragma once

#include "common/buf.h"
#include "report/numbers/statistics.h"

struct shape;

/* Takes a good recording apart. NULL: it is none, or no memory. */
struct shape *shape_read(const void *data, size_t len);
void shape_free(struct shape *s);
/* Appends the recording as it is now. */
void shape_write(struct shape *s, struct buf *out);

/* One change by chance: a number, text, list or map of a frame's meta, body or blocks, or a whole frame. */
void shape_change(struct shape *s, struct statistics_random *r);
