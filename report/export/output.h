/* Buffered text output to a descriptor, in few writes. */
#pragma once

#include <stdbool.h>

#include "common/buf.h"
#include "common/error.h"

#define OUTPUT_ENOUGH (256u << 10) /* bytes that justify a write() */

struct output {
	struct buf text; /* what is not written yet */
	int fd;
	uint64_t written; /* bytes written */
	bool live;        /* write after every piece */
	struct error error;
};

/* Writes all of it. 0 or -errno with the text in out->error. */
int output_flush(struct output *out);
/* Whether the buffer is large enough to write; long output is written in pieces. */
static inline bool output_is_full(const struct output *out)
{
	return out->text.len >= OUTPUT_ENOUGH || out->text.err;
}
/* As output_flush() if the buffer is large enough, or always if the output is live. */
int output_pace(struct output *out);
/* Room for `n` more bytes; NULL without memory. */
static inline char *output_room(struct buf *text, size_t n)
{
	return buf_reserve(text, n) ? NULL : (char *)text->data + text->len;
}
/* Frees the buffer; does not close the descriptor. */
void output_release(struct output *out);
