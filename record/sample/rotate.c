#include "record/sample/rotate.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/array.h"
#include "common/memory.h"
#include "format/frame.h"
#include "record/host/caller.h"
#include "record/host/process.h"
#include "record/host/privileges.h"

static bool removes(const struct rotation *r)
{
	return r->options->output.keep || r->options->output.ring_ns;
}

/* Whether the others hold enough without the oldest, with this many more to come. */
static bool is_surplus(const struct rotation *r, size_t coming)
{
	const struct output_options *o = &r->options->output;
	uint64_t bytes = coming * o->rotate_bytes;

	if (o->keep)
		return r->n_kept + coming > o->keep;
	if (!o->ring_ns)
		return r->n_kept > MESSAGE_FDS; /* rotation_files() takes no more */
	for (size_t i = 0; i < r->n_kept; i++)
		bytes += r->kept[i].end_ns == INT64_MAX ? o->rotate_bytes : r->kept[i].bytes;
	return (o->ring_bytes && bytes > o->ring_bytes) ||
	       (int64_t)clocks_ns(CLOCK_BOOTTIME) - (int64_t)o->ring_ns > r->kept[0].end_ns;
}

/* Removes the oldest file, if it still is what was written under that name. */
static void drop_oldest(struct rotation *r)
{
	struct rotation_file *f = &r->kept[0];

	if (removes(r))
		caller_remove(f->path, f->device, f->inode);
	free(f->path);
	r->n_kept--;
	memmove(r->kept, r->kept + 1, r->n_kept * sizeof(*r->kept));
}

/* The last one is in use and must stay, whatever comes. */
static void drop_surplus(struct rotation *r, size_t coming)
{
	SCOPED(unlock) pthread_mutex_t *held = lock(&r->lock);

	while (r->n_kept > 1 && is_surplus(r, coming))
		drop_oldest(r);
}

bool rotation_make_room(struct rotation *r)
{
	SCOPED(unlock) pthread_mutex_t *held = lock(&r->lock);
	bool any = r->n_kept > 1 && removes(r);

	if (any)
		drop_oldest(r);
	return any;
}

/* For both: the one in use comes last. */
static void rotation_remember(struct rotation *r, const struct rotation_file *f)
{
	SCOPED(unlock) pthread_mutex_t *held = lock(&r->lock);

	/* What cannot be remembered stays. */
	if (f->path && !array_room(&r->kept, r->n_kept, sizeof(*r->kept)))
		r->kept[r->n_kept++] = *f;
	else
		free(f->path);
}

static void remember(struct rotation *r, const struct output *out)
{
	struct stat st;

	r->files++;
	if (!out->regular || fstat(out->fd, &st))
		return;
	rotation_remember(
		r, &(struct rotation_file){
			   .path = strdup(out->path), .device = st.st_dev, .inode = st.st_ino, .end_ns = INT64_MAX });
}

/* The file in use is complete. */
static void note_end(struct rotation *r)
{
	SCOPED(unlock) pthread_mutex_t *held = lock(&r->lock);
	struct rotation_file *last = r->n_kept ? &r->kept[r->n_kept - 1] : NULL;

	if (last && last->end_ns == INT64_MAX) {
		last->end_ns = (int64_t)clocks_ns(CLOCK_BOOTTIME);
		last->bytes = rotation_output(r)->bytes;
	}
}

void rotation_files(struct rotation *r, struct message_fds *fds)
{
	SCOPED(unlock) pthread_mutex_t *held = lock(&r->lock);

	fds->n = 0;
	for (size_t i = r->n_kept > MESSAGE_FDS ? r->n_kept - MESSAGE_FDS : 0; i < r->n_kept; i++) {
		const struct rotation_file *f = &r->kept[i];
		int fd = f->end_ns > 0 ? open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
		struct stat st;

		if (fd >= 0 && !fstat(fd, &st) && st.st_dev == f->device && st.st_ino == f->inode)
			fds->fd[fds->n++] = fd;
		else if (fd >= 0)
			close(fd);
	}
}

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

/* With --ring: adopts the files that earlier recorders left, with the caller's rights. */
static void rotation_adopt(struct rotation *r)
{
	const char *path = rotation_output(r)->path, *slash = strrchr(path, '/'), *own = slash ? slash + 1 : path;
	size_t folder = (size_t)(own - path), stem = stem_length(own);
	SCOPED(scoped_free) char *place = folder ? memory_format("%.*s", (int)folder, path) : memory_text(".");
	DIR *dir = opendir(place);

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
			f.path = memory_format("%.*s%s", (int)folder, path, d->d_name);
			rotation_remember(r, &f);
		}
	}
	if (dir)
		closedir(dir);
	if (r->n_kept)
		qsort(r->kept, r->n_kept, sizeof(*r->kept), by_end);
}

int rotation_begin(struct rotation *r, const struct record_options *o, struct error *e)
{
	int err = output_open(rotation_output(r), o, e);
	bool changed;

	r->options = o;
	if (err)
		return err;
	if (r->options->output.ring_ns) {
		changed = privileges_become_caller();
		rotation_adopt(r);
		privileges_become_self(changed);
	}
	remember(r, rotation_output(r));
	return 0;
}

int rotation_open_next(struct rotation *r, struct output **next, struct error *e)
{
	int err = output_open_as_self(&r->output[!r->now], r->options, e);

	*next = &r->output[!r->now];
	/* Before anything is written, so that there is room on a disk that --keep fits to the last byte. */
	if (!err)
		drop_surplus(r, 1);
	return err;
}

void rotation_settle(struct rotation *r, bool taken)
{
	if (!taken) {
		r->output[!r->now].bytes = 0; /* nothing of use */
		output_close(&r->output[!r->now], NULL);
		return;
	}
	note_end(r);
	/* An error of close() would not change what is done next. */
	output_close(rotation_output(r), NULL);
	r->now = !r->now;
	remember(r, rotation_output(r));
	drop_surplus(r, 0);
}

int rotation_end(struct rotation *r, struct error *e)
{
	int err = output_close(rotation_output(r), e);

	while (r->n_kept)
		free(r->kept[--r->n_kept].path);
	free(r->kept);
	r->kept = NULL;
	return err;
}
