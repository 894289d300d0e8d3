#include "report/input/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/file.h"
#include "common/memory.h"
#include "common/random.h"

/* Whether it is one of the inputs; a terminal or /dev/null may be several things at once. */
static bool is_among(const struct stat *st, char *const *paths, size_t n)
{
	struct stat one;

	for (size_t i = 0; i < n && !S_ISCHR(st->st_mode); i++) {
		int err = strcmp(paths[i], "-") ? stat(paths[i], &one) : fstat(STDIN_FILENO, &one);

		if (!err && one.st_dev == st->st_dev && one.st_ino == st->st_ino)
			return true;
	}
	return false;
}

bool outfile_is_among(const char *path, char *const *paths, size_t n)
{
	struct stat st;

	return !stat(path, &st) && is_among(&st, paths, n);
}

static int refuse_input(const char *name, struct error *e)
{
	return error_set(e, EINVAL, "'%s' is an input; name another file as the output", name);
}

/* Opened for writing only: mkostemp() would also read, which is not permitted in output directories. */
static int make_new(char **path, const char *place)
{
	for (int tries = 0; tries < 100; tries++) {
		uint32_t v;
		int fd = random_bytes(&v, sizeof(v));

		if (fd)
			return fd;
		free(*path);
		*path = NULL;
		*path = memory_format("%s.%06" PRIx32, place, v & 0xffffff);
		fd = open(*path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd >= 0 || errno != EEXIST)
			return fd < 0 ? -errno : fd;
	}
	return -EEXIST;
}

/* The mode bits that all inputs share; pipes do not count, and the owner's bits are always set. */
static mode_t shared_mode(char *const *paths, size_t n)
{
	mode_t mode = 0777;
	struct stat st;

	for (size_t i = 0; i < n; i++) {
		int err = strcmp(paths[i], "-") ? stat(paths[i], &st) : fstat(STDIN_FILENO, &st);

		if (!err && S_ISREG(st.st_mode))
			mode &= st.st_mode | 0700;
	}
	return mode;
}

static void remove_at_exit(int status, void *temporary)
{
	char **path = temporary;

	(void)status;
	if (*path)
		unlink(*path);
	free(*path);
	free(path);
}

/* The temporary file is no more, or has its name. */
static void forget_temporary(struct outfile *o)
{
	if (o->temporary) {
		free(*o->temporary);
		*o->temporary = NULL;
	}
	o->temporary = NULL;
}

/* Beside the file, so that a rename is enough; with the mode of a new file, or of the old one, as far as allowed. */
static int open_temporary(struct outfile *o, const struct stat *old, mode_t allowed, struct error *e)
{
	mode_t mask = umask(0);

	umask(mask);
	o->replaces |= old != NULL;
	o->temporary = memory_new(1, sizeof(*o->temporary));
	on_exit(remove_at_exit, o->temporary);
	o->fd = make_new(o->temporary, o->place);
	if (o->fd < 0) {
		int err = -o->fd;

		o->fd = -1;
		forget_temporary(o);
		return error_sys(e, err, "cannot write '%s'", o->path);
	}
	/* Writing says it, and what was written is removed. */
	signal(SIGXFSZ, SIG_IGN);
	(void)fchmod(o->fd, (old ? old->st_mode : 0666 & ~mask) & allowed);
	return 0;
}

/* Whether it is another user's link in a directory that anyone can write to. The kernel refuses to follow such links
 * when a file is opened (proc_sys_fs(5), protected_symlinks), but not when a rename replaces what they point to. */
static bool is_planted(const char *path)
{
	const char *slash = strrchr(path, '/');
	SCOPED(scoped_free) char *folder = NULL;
	struct stat link, in;

	if (lstat(path, &link) || !S_ISLNK(link.st_mode) || link.st_uid == geteuid())
		return false;
	folder = slash ? memory_format("%.*s", (int)(slash - path) + 1, path) : memory_text(".");
	return stat(folder, &in) || ((in.st_mode & S_ISVTX) && (in.st_mode & S_IWOTH) && in.st_uid != link.st_uid);
}

static int open_path(struct outfile *o, unsigned flags, char *const *inputs, size_t n, struct error *e)
{
	mode_t allowed = flags & OUTFILE_PRIVATE ? shared_mode(inputs, n) : 0777;
	struct stat st;

	if (is_planted(o->path))
		return error_set(e, EACCES,
				 "'%s' is another user's link in a directory that anyone can write to; name the file "
				 "it points to",
				 o->path);
	/* A link remains a link; its target is written. */
	o->place = realpath(o->path, NULL);
	if (!o->place)
		o->place = memory_text(o->path);
	if (stat(o->path, &st)) {
		if (errno != ENOENT)
			return error_sys(e, errno, "cannot write '%s'", o->path);
		if (!lstat(o->path, &st))
			return error_set(e, ENOENT, "'%s' is a link to a file that is not there; name that file",
					 o->path);
		return open_temporary(o, NULL, allowed, e);
	}
	if (is_among(&st, inputs, n))
		return refuse_input(o->path, e);
	if (S_ISREG(st.st_mode) && !(flags & OUTFILE_APPEND)) {
		if (st.st_size && !(flags & OUTFILE_OVERWRITE))
			return error_set(e, EEXIST, "'%s' exists; --overwrite replaces it", o->path);
		return open_temporary(o, &st, allowed, e);
	}
	o->fd = open(o->path, O_WRONLY | O_CLOEXEC | (flags & OUTFILE_APPEND ? O_APPEND : 0));
	return o->fd < 0 ? error_sys(e, errno, "cannot write '%s'", o->path) : 0;
}

static int open_stdout(struct outfile *o, char *const *inputs, size_t n, struct error *e)
{
	struct stat st;

	o->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	if (o->fd < 0 || fstat(o->fd, &st))
		return error_sys(e, errno, "standard output");
	return is_among(&st, inputs, n) ? refuse_input("standard output", e) : 0;
}

static void release(struct outfile *o)
{
	if (o->fd >= 0)
		close(o->fd);
	if (o->temporary)
		unlink(*o->temporary);
	forget_temporary(o);
	free(o->path);
	free(o->place);
	*o = (struct outfile){ .fd = -1 };
}

int outfile_open(struct outfile *o, const char *path, unsigned flags, char *const *inputs, size_t n, struct error *e)
{
	int err;

	*o = (struct outfile){ .fd = -1, .path = memory_text(path), .replaces = flags & OUTFILE_OVERWRITE };
	err = strcmp(path, "-") ? open_path(o, flags, inputs, n, e) : open_stdout(o, inputs, n, e);
	if (!err && flags & OUTFILE_BINARY && isatty(o->fd))
		err = error_set(e, EINVAL, "binary output is not written to a terminal; use -o FILE, or a pipe");
	if (err)
		release(o);
	return err;
}

int outfile_write(void *ctx, const void *data, size_t len)
{
	struct outfile *o = ctx;
	int err = file_write(o->fd, data, len);

	o->bytes += err ? 0 : len;
	o->err = o->err ? o->err : err;
	return err;
}

int outfile_publish(struct outfile *o, struct error *e)
{
	unsigned flags = o->replaces ? 0 : RENAME_NOREPLACE;
	int err = 0;

	if (o->temporary && renameat2(AT_FDCWD, *o->temporary, AT_FDCWD, o->place, flags))
		err = errno;
	/* Not every file system can tell. */
	if ((err == EINVAL || err == ENOSYS) && flags)
		err = rename(*o->temporary, o->place) ? errno : 0;
	if (err == EEXIST)
		return error_set(e, EEXIST, "'%s' appeared while this command ran; --overwrite replaces it", o->path);
	if (err)
		return error_sys(e, err, "%s", o->path);
	forget_temporary(o);
	return 0;
}

int outfile_end(struct outfile *o, int err, struct error *e)
{
	const char *name = o->path && strcmp(o->path, "-") ? o->path : "stdout";
	int fd = o->fd;

	if (err && o->err)
		err = error_sys(e, -o->err, "%s", name);
	o->fd = -1;
	if (fd >= 0 && close(fd) && !err)
		err = error_sys(e, errno, "%s", name);
	if (!err && fd >= 0)
		err = outfile_publish(o, e);
	release(o);
	return err;
}
