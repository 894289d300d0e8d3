#include "report/input/input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/input/gzip.h"
#include "common/memory.h"

/* ---- a stream of which the first bytes were looked at ---- */

/* What a packed file may unpack to: this, and so many times its own size. A recording is packed already; a few
 * kilobytes that become gigabytes were made to fill disks. */
#define UNPACKED_FREE   ((uint64_t)256 << 20)
#define UNPACKED_A_BYTE 200

struct peeked {
	struct pm_input inner;
	uint8_t head[8];
	size_t len, at;
	uint64_t taken;              /* bytes of `inner` so far */
	const struct peeked *packed; /* what `inner` unpacks, which it owns; NULL: it is not a packed file */
};

static ssize_t peeked_read(void *ctx, void *data, size_t len)
{
	struct peeked *p = ctx;
	size_t n = p->len - p->at;

	if (!n) {
		ssize_t got = p->inner.read(p->inner.ctx, data, len);

		p->taken += got > 0 ? (uint64_t)got : 0;
		return p->packed && p->taken > UNPACKED_FREE + UNPACKED_A_BYTE * p->packed->taken ? -EFBIG : got;
	}
	if (n > len)
		n = len;
	memcpy(data, p->head + p->at, n);
	p->at += n;
	return (ssize_t)n;
}

static void peeked_close(void *ctx)
{
	struct peeked *p = ctx;

	if (p->inner.close)
		p->inner.close(p->inner.ctx);
	free(p);
}

/* Takes ownership of *inner in every case. Waits for bytes that are not there yet, unless the input ends. */
static int peek(struct pm_input *in, struct pm_input *inner, const struct peeked *packed, struct error *e)
{
	struct peeked *p = memory_new(1, sizeof(*p));

	p->inner = *inner;
	p->packed = packed;
	while (p->len < sizeof(p->head)) {
		ssize_t n = inner->read(inner->ctx, p->head + p->len, sizeof(p->head) - p->len);

		if (n == -EINTR)
			continue;
		if (n < 0) {
			peeked_close(p);
			if (n == -ENODATA)
				return error_set(e, ENODATA,
						 "the compressed file is cut or damaged before the first "
						 "byte of the recording");
			return error_sys(e, (int)-n, "cannot read");
		}
		if (!n)
			break;
		p->len += (size_t)n;
	}
	*in = (struct pm_input){
		.ctx = p,
		.read = peeked_read,
		.close = peeked_close,
		.size = inner->size,
		.growing = inner->growing,
	};
	return 0;
}

/* ---- by name ---- */

bool input_being_written(const char *path)
{
	bool locked = false;
	struct stat st;
	int fd;

	/* Whoever writes into a FIFO loses what it wrote while another opens and closes it. */
	if (!strcmp(path, "-") || stat(path, &st) || !S_ISREG(st.st_mode))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return false;
	if (flock(fd, LOCK_SH | LOCK_NB))
		locked = errno == EWOULDBLOCK;
	close(fd);
	return locked;
}

#define LOOK_MS 200 /* not every file system reports changes (NFS, FUSE) */

void follow_init(struct follow *f, const char *path)
{
	*f = (struct follow){ .path = path, .watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC) };
	if (f->watch >= 0)
		inotify_add_watch(f->watch, path, IN_MODIFY | IN_CLOSE_WRITE);
}

void follow_release(struct follow *f)
{
	if (f->watch >= 0)
		close(f->watch);
	f->watch = -1;
}

int follow_wait(void *follow)
{
	struct follow *f = follow;
	struct pollfd p = { .fd = f->watch, .events = POLLIN };
	char events[4096];

	if (f->last_look)
		return 1;
	if (!input_being_written(f->path)) {
		f->last_look = true;
		return 0;
	}
	if (poll(&p, f->watch >= 0, LOOK_MS) > 0)
		while (read(f->watch, events, sizeof(events)) > 0)
			;
	return 0;
}

static bool has_suffix(const char *path, const char *suffix)
{
	SCOPED(scoped_free) char *whole = memory_format("%s%s", path, suffix);

	return !access(whole, F_OK);
}

bool input_is_pcp(const char *path)
{
	static const char *const parts[] = { ".index", ".meta", ".0" };
	size_t len = strlen(path);

	if (access(path, F_OK))
		return has_suffix(path, ".index") || has_suffix(path, ".meta");
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		size_t n = strlen(parts[i]);
		unsigned char magic[8] = { 0 };
		FILE *f;

		if (len <= n || strcmp(path + len - n, parts[i]))
			continue;
		/* Every file of an archive begins with a length and 0x50052600 + version. */
		f = fopen(path, "rb");
		if (!f)
			return false;
		if (fread(magic, 1, sizeof(magic), f) != sizeof(magic))
			memset(magic, 0, sizeof(magic));
		fclose(f);
		return magic[4] == 0x50 && magic[5] == 0x05 && magic[6] == 0x26;
	}
	return false;
}

bool input_is_packed(const void *head, size_t len)
{
	return len >= 2 && !memcmp(head, "\x1f\x8b", 2);
}

static int open_path(struct pm_input *in, const char *path, bool growing, struct error *e)
{
	struct pm_input raw, inner, packed;
	struct peeked *p;
	int r;

	if (strcmp(path, "-") && input_is_pcp(path))
		return error_set(e, EINVAL,
				 "an archive of Performance Co-Pilot; this pmrep reads recordings of pmrec, PCP's "
				 "pmrep is in the package pcp");
	if (!strcmp(path, "-") && isatty(STDIN_FILENO))
		return error_set(e, EINVAL, "standard input is a terminal, not a recording");
	r = pm_input_path(&raw, path, growing, e);
	if (r)
		return r;
	r = peek(&inner, &raw, NULL, e);
	if (r)
		return r;
	p = inner.ctx;
	if (input_is_packed(p->head, p->len)) {
		input_gzip(&packed, &inner);
		return peek(in, &packed, p, e);
	}
	*in = inner;
	/* What can be read again needs nobody in between. */
	if (raw.seek && !raw.seek(raw.ctx, 0)) {
		free(p);
		*in = raw;
	}
	return 0;
}

const char *input_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* An error of open() already begins with the path. */
static int name_error(struct error *e, int err, const char *path, const char *name)
{
	if (err == -EFBIG)
		return input_failed(e, err, name);
	if (err && strncmp(e->text, path, strlen(path)))
		error_prefix(e, "%s", name);
	return err;
}

int input_open_as(struct pm_reader **r, const char *path, const char *name, struct error *e)
{
	struct pm_input in;
	int err = open_path(&in, path, false, e);

	if (!err)
		err = pm_reader_open(r, &in, e);
	return name_error(e, err, name, name);
}

int input_open(struct pm_reader **r, const char *path, bool growing, struct error *e)
{
	struct pm_input in;
	int err = open_path(&in, path, growing, e);

	if (!err)
		err = pm_reader_open(r, &in, e);
	return name_error(e, err, path, strcmp(path, "-") ? path : "standard input");
}

int input_bytes(struct pm_input *in, const char *path, struct error *e)
{
	int err = open_path(in, path, false, e);

	return name_error(e, err, path, strcmp(path, "-") ? path : "standard input");
}

int input_failed(struct error *e, int err, const char *what)
{
	if (err == -EFBIG)
		return error_set(e, EFBIG, "%s: unpacks to more than %u times its size, which no recording does",
				 what, UNPACKED_A_BYTE);
	return error_sys(e, -err, "%s", what);
}

int input_next_chunk(struct pm_reader *r, struct pm_item *item, const char *what, struct error *e)
{
	int got;

	while ((got = pm_reader_next(r, item)) == 1 && item->kind != PM_ITEM_CHUNK)
		;
	return got < 0 && got != -EAGAIN ? input_failed(e, got, what) : got == 1;
}
