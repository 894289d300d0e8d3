#include "format/window.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static ssize_t file_read(void *ctx, void *data, size_t len)
{
	int fd = (int)(intptr_t)ctx;
	ssize_t n;

	while ((n = read(fd, data, len)) < 0) {
		struct pollfd p = { .fd = fd, .events = POLLIN };

		/* Whoever shares a pipe may have made it one that does not wait. */
		if (errno == EAGAIN)
			poll(&p, 1, -1);
		else if (errno != EINTR)
			return -errno;
	}
	return n;
}

static int file_seek(void *ctx, uint64_t offset)
{
	return lseek((int)(intptr_t)ctx, (off_t)offset, SEEK_SET) < 0 ? -errno : 0;
}

static void file_close(void *ctx)
{
	close((int)(intptr_t)ctx);
}

int pm_input_path(struct pm_input *in, const char *path, bool growing, struct error *e)
{
	struct stat st = { 0 };
	int fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) : dup(STDIN_FILENO);

	*in = (struct pm_input){ .size = UINT64_MAX };
	if (fd < 0)
		return error_sys(e, errno, "%s", path);
	if (fstat(fd, &st) || S_ISDIR(st.st_mode)) {
		close(fd);
		return error_set(e, EISDIR, "%s: is a directory, not a recording", path);
	}
	*in = (struct pm_input){
		.ctx = (void *)(intptr_t)fd,
		.read = file_read,
		.close = file_close,
		.size = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : UINT64_MAX,
		.growing = growing,
	};
	/* Terminals and pipes may appear seekable; only what has a size is. */
	if ((S_ISREG(st.st_mode) || S_ISBLK(st.st_mode)) && lseek(fd, 0, SEEK_CUR) == 0)
		in->seek = file_seek;
	else
		in->size = UINT64_MAX;
	return 0;
}

/* ---- the part in memory ---- */

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
static int window_room(struct window *w)
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
		int err = window_room(w);

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
