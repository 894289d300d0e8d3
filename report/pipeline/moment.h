/* Points in time, for --since and --until. */
#pragma once

#include "common/error.h"
#include "format/reader.h"

struct moment {
	enum { MOMENT_NONE, MOMENT_MONOTONIC, MOMENT_FROM_START, MOMENT_FROM_END, MOMENT_WALL, MOMENT_CLOCK } kind;
	uint64_t ns;
};
/* "10", "+1.5m" after the start; "-1m" before the end; RFC 3339, without a zone in the reader's, or "@SECONDS" of
 * wall time; "03:10" or "03:10:02" of the recording's day in UTC, as tables print it. */
int moment_parse(struct moment *m, const char *text, struct error *e);
/* Its CLOCK_MONOTONIC in the recording with this first chunk; NONE leaves *ns unchanged. 0; -ESPIPE: the end of a
 * stream is not known in advance; -EINVAL: the recording has no wall time. */
int moment_resolve(const struct moment *m, struct pm_reader *reader, const struct pm_chunk_head *first, uint64_t *ns,
		   struct error *e);
