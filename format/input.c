/* Where a reader's bytes come from: a path, a descriptor or memory. */
#include "format/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct file {
	int fd;
};

static ssize_t file_read(void *ctx, void *data, size_t len)
{
	const struct file *f = ctx;
	ssize_t n;

	do
		n = read(f->fd, data, len);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
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
