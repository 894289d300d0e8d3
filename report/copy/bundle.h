/*
 * Making a recording fit into so many bytes: redacted, wrapped in gzip, and with as few snapshots as that takes. Its
 * input is written once, or nearly so: how large it becomes shows early, and what came out too large is reduced
 * further from what came out, not from the input.
 */
#ifndef REPORT_BUNDLE_H
#define REPORT_BUNDLE_H

#include "common/buf.h"
#include "report/copy/redact.h"
#include "report/input/spool.h"

/* What is left of the resolution. */
struct bundle_way {
	uint32_t every;   /* one snapshot in so many; UINT32_MAX: the first and the last of each stretch */
	uint32_t sources; /* how many of the largest have no values of single CPUs any more */
};

/* How much of a recording is values of single CPUs. */
struct bundle_share {
	char *source; /* owned */
	uint64_t columns;
};

struct bundle {
	uint64_t max_size;
	struct redact *redact; /* borrowed; NULL: nothing is taken out */

	/* What bundle_make() finds. */
	int fd; /* the bundle, an unnamed file; -1: none */
	uint64_t bytes;
	struct bundle_way way;
	struct rewrite_result result; /* snapshots_in and damages are those of the input */
	struct bundle_share *share;   /* owned; the largest first */
	size_t n_shares;
};

/* Where the recording was looked at for redaction already. 0; -EFBIG with the smallest possible size in *e; other
 * -errno. */
int bundle_make(struct bundle *b, const struct spool *in, struct error *e);
/* What was lost beside what redaction takes, in words; nothing where nothing was. */
void bundle_tell(const struct bundle *b, struct buf *out);
void bundle_release(struct bundle *b);

#endif
