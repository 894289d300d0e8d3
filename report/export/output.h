/* Buffered text output to a descriptor, in few writes. */
#pragma once

#include <stdbool.h>

#include "common/buf.h"
#include "common/error.h"
#include "common/memory.h"

#define OUTPUT_ENOUGH (256u << 10) /* bytes that justify a write() */

/* A text of a megabyte that stands in each row makes of a small recording more output than any disk holds. */
struct output_total {
	uint64_t bytes, lines; /* lines are counted where output is long */
	uint32_t columns;      /* at most in a line; 0: few */
};
/* Counts it, before it is written. 0, or -E2BIG with the text: the lines of long output are too long on average. */
int output_count(struct output_total *t, const void *data, size_t len, struct error *e);

struct output {
	struct buf text; /* what is not written yet */
	int fd;
	uint64_t written; /* bytes written */
	bool live;        /* write after every piece */
	bool binary;      /* not counted */
	struct output_total total;
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
/* Room for `n` more bytes. */
static inline char *output_room(struct buf *text, size_t n)
{
	if (__builtin_expect(n > text->cap - text->len, 0))
		memory_done(buf_reserve(text, n));
	return (char *)text->data + text->len;
}
/* Frees the buffer; does not close the descriptor. */
void output_release(struct output *out);
