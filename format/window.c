#include "format/window.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/compress.h"

struct file {
	int fd;
};

static ssize_t file_read(void *ctx, void *data, size_t len)
{
	const struct file *f = ctx;
	ssize_t n;

	while ((n = read(f->fd, data, len)) < 0) {
		struct pollfd p = { .fd = f->fd, .events = POLLIN };

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
	const struct file *f = ctx;

	return lseek(f->fd, (off_t)offset, SEEK_SET) < 0 ? -errno : 0;
}

static void file_close(void *ctx)
{
	struct file *f = ctx;

	close(f->fd);
	free(f);
}

/* Takes ownership of fd, also on failure. */
static int input_fd(struct pm_input *in, int fd)
{
	struct file *f = malloc(sizeof(*f));
	struct stat st;

	*in = (struct pm_input){ .size = UINT64_MAX };
	if (!f) {
		close(fd);
		return -ENOMEM;
	}
	*f = (struct file){ .fd = fd };
	*in = (struct pm_input){ .ctx = f, .read = file_read, .close = file_close, .size = UINT64_MAX };
	/* Terminals and pipes may appear seekable; only what has a size is. */
	if (!fstat(fd, &st) && (S_ISREG(st.st_mode) || S_ISBLK(st.st_mode)) && lseek(fd, 0, SEEK_CUR) == 0) {
		in->seek = file_seek;
		if (S_ISREG(st.st_mode))
			in->size = (uint64_t)st.st_size;
	}
	return 0;
}

int pm_input_path(struct pm_input *in, const char *path, bool growing, struct error *e)
{
	struct stat st;
	int fd, err;

	*in = (struct pm_input){ .size = UINT64_MAX };
	fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) : dup(STDIN_FILENO);
	if (fd < 0)
		return error_sys(e, errno, "%s", path);
	if (!fstat(fd, &st) && S_ISDIR(st.st_mode)) {
		close(fd);
		return error_set(e, EISDIR, "%s: is a directory, not a recording", path);
	}
	err = input_fd(in, fd);
	if (err)
		return error_sys(e, -err, "%s", path);
	in->growing = growing;
	return 0;
}

struct memory {
	const uint8_t *data;
	size_t len, at;
};

static ssize_t memory_read(void *ctx, void *data, size_t len)
{
	struct memory *m = ctx;
	size_t n = len < m->len - m->at ? len : m->len - m->at;

	if (n)
		memcpy(data, m->data + m->at, n);
	m->at += n;
	return (ssize_t)n;
}

static int memory_seek(void *ctx, uint64_t offset)
{
	struct memory *m = ctx;

	m->at = offset < m->len ? (size_t)offset : m->len;
	return 0;
}

int pm_input_memory(struct pm_input *in, const void *data, size_t len)
{
	struct memory *m = malloc(sizeof(*m));

	*in = (struct pm_input){ .size = UINT64_MAX };
	if (!m)
		return -ENOMEM;
	*m = (struct memory){ .data = data, .len = len };
	*in = (struct pm_input){
		.ctx = m,
		.read = memory_read,
		.seek = memory_seek,
		.close = free,
		.size = len,
	};
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

/* A recording that was compressed as a whole: a stream, whatever the input is. */

#define STEP 65536

struct unpacking {
	struct pm_input inner;
	struct pm_unpacker how;
	uint8_t *in; /* [STEP]: compressed bytes */
	size_t at, end;
	size_t member;   /* where the current member begins, as far as it is in `in` */
	bool inside;     /* a member */
	bool given;      /* some of its data was delivered ... */
	bool any, whole; /* or of any one; there was a whole one */
	bool raw;        /* what is left is not compressed, or damaged, and handed over for the reader to report */
	bool ended;      /* the input has */
};

static void unpacking_close(void *ctx)
{
	struct unpacking *u = ctx;

	if (u->inner.close)
		u->inner.close(u->inner.ctx);
	if (u->how.stream)
		u->how.free(u->how.stream);
	free(u->in);
	free(u);
}

/* Unpacks a piece: the bytes given, 0 if that needs more input, or -errno. */
static ssize_t unpack_members(struct unpacking *u, void *data, size_t len)
{
	size_t taken, given;

	do {
		bool ended = false;
		int err;

		/* Zeros after a member fill up a block of a tape or a disk. */
		while (u->whole && !u->inside && u->at < u->end && !u->in[u->at])
			u->at++;
		if (!u->inside)
			u->member = u->at;
		taken = u->end - u->at;
		given = len;
		err = u->how.read(u->how.stream, u->in + u->at, &taken, data, &given, &ended);
		if (err)
			return err;
		u->at += taken;
		u->inside = !ended && (u->inside || taken);
		u->given = !ended && (u->given || given);
		u->whole |= ended && taken;
		u->any |= given > 0;
	} while (!given && u->at < u->end);
	return (ssize_t)given;
}

static ssize_t hand_over(struct unpacking *u, void *data, size_t len)
{
	size_t n = u->end - u->at < len ? u->end - u->at : len;

	memcpy(data, u->in + u->at, n);
	u->at += n;
	return (ssize_t)n;
}

/* A stream that is cut ends like a recording that is cut, and is reported as one. */
static ssize_t unpacking_read(void *ctx, void *data, size_t len)
{
	struct unpacking *u = ctx;

	while (len) {
		ssize_t n = u->raw ? hand_over(u, data, len) : unpack_members(u, data, len);

		if (n > 0 || (n && n != -EBADMSG))
			return n;
		if (!n && !u->ended) {
			if ((n = u->inner.read(u->inner.ctx, u->in, STEP)) < 0)
				return n;
			u->ended = !n;
			if (n) {
				u->at = u->member = 0;
				u->end = (size_t)n;
				continue;
			}
		}
		if (!u->any && !u->whole)
			return -ENODATA;
		if (u->raw || (!n && (!u->inside || u->given)))
			return 0;
		/* If nothing came of the member, it is handed over from its beginning. */
		u->at = u->given ? u->at : u->member;
		u->raw = true;
	}
	return 0;
}

int pm_input_unpack(struct pm_input *in, struct pm_input *inner, const struct pm_unpacker *how, const void *head,
		    size_t head_len, struct error *e)
{
	struct unpacking *u = calloc(1, sizeof(*u));
	uint8_t *bytes = malloc(head_len > STEP ? head_len : STEP);

	if (!u || !bytes || !how->stream) {
		if (inner->close)
			inner->close(inner->ctx);
		if (how->stream)
			how->free(how->stream);
		free(bytes);
		free(u);
		return error_set(e, ENOMEM, "out of memory");
	}
	*u = (struct unpacking){ .inner = *inner, .how = *how, .in = bytes, .end = head_len };
	if (head_len)
		memcpy(u->in, head, head_len);
	*in = (struct pm_input){ .ctx = u, .read = unpacking_read, .close = unpacking_close, .size = UINT64_MAX };
	return 0;
}

static int zstd_read(void *stream, const void *in, size_t *in_len, void *out, size_t *out_len, bool *ended)
{
	int err = pm_zstd_stream_read(stream, in, in_len, out, out_len);

	*ended = pm_zstd_stream_at_end(stream);
	return err;
}

static void zstd_free(void *stream)
{
	pm_zstd_stream_free(stream);
}

int pm_input_zstd(struct pm_input *in, struct pm_input *inner, const void *head, size_t head_len, struct error *e)
{
	struct pm_unpacker how = { .read = zstd_read, .free = zstd_free };

	if (!pm_zstd_looks_like(head, head_len)) {
		*in = *inner;
		return error_set(e, EINVAL, "not compressed with zstd");
	}
	how.stream = pm_zstd_stream_new();
	return pm_input_unpack(in, inner, &how, head, head_len, e);
}
