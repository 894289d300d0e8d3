#include "format/window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void window_release(struct window *w)
{
	if (w->in.close)
		w->in.close(w->in.ctx);
	free(w->data);
	*w = (struct window){ 0 };
}

void window_pace(struct window *w, size_t first, size_t most)
{
	w->step = w->first = first;
	w->most = most;
}

/* Makes room for at least one step after `end`. */
static int make_room(struct window *w)
{
	size_t cap = w->cap ? w->cap : 2 * w->step;
	uint8_t *data;

	if (w->cap - w->end >= w->step)
		return 0;
	if (w->at) {
		memmove(w->data, w->data + w->at, window_has(w));
		w->end -= w->at;
		w->at = 0;
	}
	while (cap - w->end < w->step)
		cap *= 2;
	if (cap == w->cap)
		return 0;
	data = realloc(w->data, cap);
	if (!data)
		return -ENOMEM;
	w->data = data;
	w->cap = cap;
	return 0;
}

int window_need(struct window *w, uint64_t len)
{
	/* A file that grows is examined again each time. */
	if (w->in.growing)
		w->eof = false;
	while (window_has(w) < len && !w->eof) {
		ssize_t n;
		int err = make_room(w);

		if (err)
			return err;
		n = w->in.read(w->in.ctx, w->data + w->end, w->step);
		if (n < 0)
			return (int)n;
		w->eof = n == 0;
		w->end += (size_t)n;
		w->bytes_read += (uint64_t)n;
		w->step = w->step * 2 < w->most ? w->step * 2 : w->most;
	}
	return 0;
}

int window_seek(struct window *w, uint64_t offset)
{
	int err;

	if (offset >= w->offset && offset - w->offset <= window_has(w)) {
		w->at += (size_t)(offset - w->offset);
		w->offset = offset;
		return 0;
	}
	if (!w->in.seek)
		return -ESPIPE;
	err = w->in.seek(w->in.ctx, offset);
	if (err)
		return err;
	w->at = w->end = 0;
	w->offset = offset;
	w->eof = false;
	w->step = w->first;
	return 0;
}

int window_skip(struct window *w, uint64_t len)
{
	while (len) {
		uint64_t n = window_has(w) < len ? window_has(w) : len;
		int err;

		/* Beyond the end there is nothing to skip; the next need() finds that out. */
		if (n < len && w->in.seek && !w->in.growing && len - n > w->step &&
		    (w->in.size == UINT64_MAX || w->offset + len <= w->in.size))
			return window_seek(w, w->offset + len);
		w->at += (size_t)n;
		w->offset += n;
		len -= n;
		if (!len)
			break;
		err = window_need(w, 1);
		if (err)
			return err;
		if (!window_has(w))
			break;
	}
	return 0;
}
