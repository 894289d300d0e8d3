/* Adopts what a killed recorder left of a ring: the next one of that name includes it in dumps, and removes it in
 * time. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/frame.h"
#include "record/sample/rotate.h"

/* Whether "-20260131T235959Z" begins here, which separates what -o says from what is added. */
static bool is_stamp(const char *c)
{
	static const char form[] = "-ddddddddTddddddZ";

	for (const char *f = form; *f; f++, c++)
		if (*f == 'd' ? *c < '0' || *c > '9' : *c != *f)
			return false;
	return true;
}

/* Length of what precedes the time; 0: there is none. */
static size_t stem_length(const char *name)
{
	for (size_t i = strlen(name); i-- > 0;)
		if (is_stamp(name + i))
			return i;
	return 0;
}

/* Whether it is one of our recordings that nobody writes. */
static bool is_left(int fd, struct stat *st)
{
	uint8_t head[FRAME_MAGIC_LEN];

	return !fstat(fd, st) && S_ISREG(st->st_mode) && st->st_uid == geteuid() &&
	       pread(fd, head, sizeof(head), 0) == sizeof(head) && !memcmp(head, frame_magic, sizeof(head)) &&
	       !flock(fd, LOCK_SH | LOCK_NB);
}

static int by_end(const void *x, const void *y)
{
	const struct rotation_file *a = x, *b = y;

	return (a->end_ns > b->end_ns) - (a->end_ns < b->end_ns);
}

void rotation_adopt(struct rotation *r)
{
	const char *path = rotation_output(r)->path, *slash = strrchr(path, '/'), *own = slash ? slash + 1 : path;
	size_t folder = (size_t)(own - path), stem = stem_length(own);
	SCOPED(scoped_free) char *place = folder ? strndup(path, folder) : strdup(".");
	DIR *dir = place ? opendir(place) : NULL;

	for (struct dirent *d; dir && (d = readdir(dir));) {
		struct rotation_file f = { 0 };
		SCOPED(fd_close) int fd = -1;
		struct stat st;

		if (strncmp(d->d_name, own, stem) || !is_stamp(d->d_name + stem))
			continue;
		fd = openat(dirfd(dir), d->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		if (fd >= 0 && is_left(fd, &st)) {
			f.device = st.st_dev;
			f.inode = st.st_ino;
			f.bytes = (uint64_t)st.st_size;
			/* The wall clock only tells how long ago that was; before the boot it is negative. */
			f.end_ns = (int64_t)(clocks_ns(CLOCK_BOOTTIME) - clocks_ns(CLOCK_REALTIME)) +
				   (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
			if (asprintf(&f.path, "%.*s%s", (int)folder, path, d->d_name) < 0)
				f.path = NULL;
			rotation_remember(r, &f);
		}
	}
	if (dir)
		closedir(dir);
	if (r->n_kept)
		qsort(r->kept, r->n_kept, sizeof(*r->kept), by_end);
}
