/* The part of the input that is in memory, from the reader's current place on. */
#ifndef FORMAT_WINDOW_H
#define FORMAT_WINDOW_H

#include "format/reader.h"

struct window {
	struct pm_input in;
	uint8_t *data; /* owned */
	size_t cap;
	size_t at, end;  /* bytes [at, end) of data are there */
	uint64_t offset; /* of data[at] in the input */
	size_t step; /* bytes to ask for next: doubles from `first` up to `most` while reading goes on in one place */
	size_t first, most;
	uint64_t bytes_read;
	bool eof; /* the input has ended (so far, if it grows) */
};

/* The bytes that are there from the current place on, and how many. Valid until the next call. */
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
/* Makes `len` bytes from the current place available; fewer only at the end. Memory grows only with what has actually
 * been read. 0 or -errno. */
int window_need(struct window *w, uint64_t len);
/* Goes forward; on a stream by reading. Ends at the end of the input if that comes first. */
int window_skip(struct window *w, uint64_t len);
/* Goes anywhere. -ESPIPE on a stream. */
int window_seek(struct window *w, uint64_t offset);

#endif
