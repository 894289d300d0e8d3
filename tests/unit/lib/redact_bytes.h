/* Redaction of recordings in memory, through a file, because it reads them twice. */
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include "report/copy/redact.h"
#include "tests/unit/lib/bytes.h"

static inline void redact_bytes(struct redact *redact, const struct buf *in, struct buf *out)
{
	struct rewrite_rules rules = { .history = "redacted", .redact = redact };
	struct rewrite_result result;
	struct error e = { 0 };
	struct spool spool;
	char path[] = "/tmp/redact.XXXXXX";
	int fd = mkstemp(path);

	assert_int_equal(write(fd, in->data, in->len), in->len);
	close(fd);
	assert_int_equal(spool_open(&spool, path, SPOOL_TWICE, &e), 0);
	assert_int_equal(redact_look(redact, &spool, &e), 0);
	assert_int_equal(rewrite_all(&rules, 1, rewrite_spool, &spool, take, out, &result, &e), 0);
	spool_close(&spool);
	unlink(path);
}
