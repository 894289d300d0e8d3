#include "common/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX (256u << 20)

int file_open(const char *path, struct error *e)
{
	/* Otherwise open() would block on a pipe without a writer. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return error_sys(e, errno, "%s", path);
	if (!fstat(fd, &st) && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
		return fd; /* for a directory, read() reports the error */
	close(fd);
	return error_set(e, EINVAL, "%s: not a regular file; copy its contents into one", path);
}

int file_read(const char *path, struct buf *text, struct error *e)
{
	SCOPED(fd_close) int fd = file_open(path, e);
	ssize_t n = 1;

	if (fd < 0)
		return fd;
	while (n > 0 || (n < 0 && errno == EINTR)) {
		if (text->len > FILE_MAX)
			return error_set(e, EFBIG, "%s: larger than %u MiB", path, FILE_MAX >> 20);
		if (buf_reserve(text, 1 << 16))
			return error_sys(e, ENOMEM, "%s", path);
		n = read(fd, text->data + text->len, 1 << 16);
		text->len += n > 0 ? (size_t)n : 0;
	}
	return n < 0 ? error_sys(e, errno, "%s", path) : 0;
}

int file_write(int fd, const void *data, size_t len)
{
	for (const char *at = data; len;) {
		ssize_t n = write(fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}
