/* Where a reader's bytes come from: a path, a descriptor or memory; and the part that is in memory, from the current
 * place on. */
#pragma once

#include "format/reader.h"

struct window {
	struct pm_input in;
	uint8_t *data; /* owned */
	size_t cap;
	size_t at, end;  /* bytes [at, end) of data are valid */
	uint64_t offset; /* of data[at] in the input */
	size_t step;     /* bytes to read next: doubles from `first` to `most` while reading is sequential */
	size_t first, most;
	uint64_t bytes_read;
	bool eof; /* the input has ended (so far, if it grows) */
};

/* The bytes from the current place on, and their number; valid until the next call. */
static inline const uint8_t *window_at(const struct window *w)
{
	return w->data + w->at;
}

static inline size_t window_has(const struct window *w)
{
	return w->end - w->at;
}

void window_release(struct window *w);
/* Sets `first` and `most`, in bytes. */
void window_pace(struct window *w, size_t first, size_t most);
/* Makes `len` bytes available; fewer only at the end. Memory grows with what was read, not with `len`. 0 or
 * -errno. */
int window_need(struct window *w, uint64_t len);
/* Moves forward, on a stream by reading, at most to the end of the input. 0 or -errno. */
int window_skip(struct window *w, uint64_t len);
/* Moves to an offset of the input. 0 or -errno; -ESPIPE on a stream. */
int window_seek(struct window *w, uint64_t offset);
