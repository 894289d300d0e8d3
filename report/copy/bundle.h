/*
 * Makes a recording fit into a number of bytes: redacted, wrapped in gzip, with as many snapshots as fit. It copies
 * the input a few times, each time with the number that the size of the last copy promises.
 */
#pragma once

#include "common/buf.h"
#include "report/copy/redact.h"
#include "report/input/spool.h"

/* The resolution that is left. */
struct bundle_way {
	uint32_t every;   /* one snapshot in so many; UINT32_MAX: the first and last of each segment */
	uint32_t sources; /* how many of the largest counters lose their values of single CPUs */
};

/* The share of values of single CPUs in a recording. */
struct bundle_share {
	char *source; /* owned */
	uint64_t columns;
};

struct bundle {
	uint64_t max_size;
	struct redact *redact; /* borrowed; NULL: no redaction */

	/* Results of bundle_make(). */
	int fd; /* the bundle, an unnamed file; -1: none */
	uint64_t bytes;
	struct bundle_way way;
	struct rewrite_result result; /* snapshots_in and damages are those of the input */
	struct bundle_share *share;   /* owned; the largest first */
	size_t n_shares;
};

/* Call it after redact_look(). 0; -EFBIG with the smallest possible size in *e; or another -errno. */
int bundle_make(struct bundle *b, const struct spool *in, struct error *e);
/* Appends what such a way loses besides redacted texts, in words; "" if nothing. */
void bundle_tell(const struct bundle *b, const struct bundle_way *way, struct buf *out);
void bundle_release(struct bundle *b);
