/* The progress line of the recorder on stderr, if that is a terminal. */
#pragma once

#include "record/sample/recording.h"

struct progress {
	bool on;
	bool shown;
	uint64_t start_ns;
};

/* Adds "0:01:23  83 snapshots  95.1 kB". */
void progress_put(const struct progress *p, const struct recording_stats *stats, struct buf *out);
/* Shows nothing if `quiet`, or without a terminal on stderr. */
void progress_init(struct progress *p, bool quiet);
/* Replaces the line. */
void progress_show(struct progress *p, const struct recording_stats *stats);
/* Removes the line; call it before printing anything else. */
void progress_clear(struct progress *p);
