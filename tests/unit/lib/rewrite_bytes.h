/* Copies of recordings in memory. */
#pragma once

#include "report/copy/rewrite.h"
#include "tests/unit/lib/bytes.h"

static inline int rewrite_input(void *ctx, size_t i, struct pm_reader **reader, const char **name, struct error *e)
{
	(void)e;
	*reader = open_bytes((const struct buf *)ctx + i);
	*name = "bytes";
	return 0;
}

/* Copies in[0] to in[n - 1]. */
static inline struct rewrite_result rewrite_bytes(const struct rewrite_rules *rules, const struct buf *in, size_t n,
						  struct buf *out)
{
	struct rewrite_result result;
	struct error e = { 0 };

	if (rewrite_all(rules, n, rewrite_input, (void *)in, take, out, &result, &e))
		fail_msg("%s", e.text);
	assert_int_equal(result.bytes, out->len);
	return result;
}
