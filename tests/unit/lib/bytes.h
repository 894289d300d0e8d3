/* Recordings in memory: a sink that appends what it gets to a struct buf, and a reader of one. */
#pragma once

#include "common/buf.h"
#include "format/reader.h"
#include "tests/unit/lib/input_memory.h"
#include "tests/unit/lib/test.h"

static int take(void *ctx, const void *data, size_t len)
{
	buf_add(ctx, data, len);
	return ((struct buf *)ctx)->err;
}

static struct pm_reader *open_bytes(const struct buf *b)
{
	struct pm_reader *r;
	struct pm_input in;

	assert_int_equal(input_memory(&in, b->data, b->len), 0);
	assert_int_equal(pm_reader_open(&r, &in, NULL), 0);
	return r;
}
