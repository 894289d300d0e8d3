/* CBOR from a text that people can read. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "common/buf.h"

static void put_head(struct buf *out, unsigned major, uint64_t n)
{
	buf_addch(out, (char)(major << 5 | 27));
	for (int i = 56; i >= 0; i -= 8)
		buf_addch(out, (char)(n >> i));
}

/* One item of what looks like CBOR's diagnostic notation: numbers, 'texts', "bytes", [lists] and {maps}; T: tag 71. */
static void put_item(struct buf *out, const char **at)
{
	char c = *(*at)++;

	if (c == '[' || c == '{') {
		struct buf inner = BUF_INIT;
		uint64_t n = 0;

		for (; **at != ']' && **at != '}'; n++) {
			put_item(&inner, at);
			*at += **at == ',' || **at == ':';
		}
		++*at;
		put_head(out, c == '[' ? 4 : 5, c == '[' ? n : n / 2);
		buf_add(out, inner.data, inner.len);
		buf_release(&inner);
	} else if (c == '\'' || c == '"') {
		size_t len = (size_t)(strchr(*at, c) - *at);

		put_head(out, c == '"' ? 2 : 3, len);
		buf_add(out, *at, len);
		*at += len + 1;
	} else if (c == 'T') {
		put_head(out, 6, 71);
		put_item(out, at);
	} else {
		char *end;
		uint64_t n = strtoull(*at - (c != '-'), &end, 10);

		put_head(out, c == '-', c == '-' ? n - 1 : n);
		*at = end;
	}
}
