#include "report/copy/borrow.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/frame.h"

#define FIRST_LOOK (1u << 20) /* bytes in which the first chunk is nearly always */
#define LAST_LOOK  (128u << 20)

struct part {
	const uint8_t *data; /* NULL: of the file, from the place on */
	uint64_t len;
};

/* What is read, in this order: a header, the file up to a place before its first chunk, definitions, the rest. */
enum { HEADER, BEFORE, DEFINITIONS, AFTER, N_PARTS };

struct borrow {
	int fd; /* of the file */
	uint64_t place;
	struct buf file, like; /* their bytes up to the first chunk, and some more */
	struct buf header, definitions;
	struct part part[N_PARTS];
	uint64_t at; /* of the reading */
};

/* Finds the first whole frame at or after *at, and moves *at there. */
static bool next_frame(const uint8_t *data, size_t len, size_t *at, struct frame_head *h)
{
	while (*at < len) {
		const uint8_t *found = memmem(data + *at, len - *at, frame_magic, FRAME_MAGIC_LEN);
		unsigned major;
		size_t need;

		if (!found)
			return false;
		*at = (size_t)(found - data);
		if (frame_parse(found, len - *at, h, &need, &major) == FRAME_OK && frame_len(h) <= len - *at)
			return true;
		++*at;
	}
	return false;
}

/* Reads from the start on until there is a chunk, or the end. It is not mapped: another program may cut the file. */
static int read_head(int fd, const struct spool *s, struct buf *b, struct error *e)
{
	struct frame_head h = { 0 };
	ssize_t n = 1;

	for (size_t want = FIRST_LOOK; h.type != PM_FRAME_CHUNK && n > 0 && want <= LAST_LOOK; want *= 2) {
		if (buf_reserve(b, want - b->len))
			return error_sys(e, ENOMEM, "%s", s->name);
		while (b->len < want && (n = pread(fd, b->data + b->len, want - b->len, (off_t)b->len)) > 0)
			b->len += (size_t)n;
		if (n < 0)
			return error_sys(e, errno, "%s", s->name);
		for (size_t at = 0; h.type != PM_FRAME_CHUNK && next_frame(b->data, b->len, &at, &h);)
			at += frame_len(&h);
	}
	return 0;
}

static int open_head(int *fd, const struct spool *s, struct buf *b, struct error *e)
{
	*fd = open(s->path, O_RDONLY | O_CLOEXEC);
	return *fd < 0 ? error_sys(e, errno, "%s", s->name) : read_head(*fd, s, b, e);
}

/* Without the schema numbers mean nothing; other definitions only describe them. */
static const uint8_t least_needed_first[] = { PM_FRAME_CONFIG, PM_FRAME_PROBES, PM_FRAME_PMUS };

/* How many of the definitions before the first chunk are taken, without the `left_out` least needed kinds. */
static uint64_t count_definitions(const struct borrow *b, unsigned left_out)
{
	struct frame_head h;
	uint64_t n = 0;

	for (size_t at = 0; next_frame(b->like.data, b->like.len, &at, &h) && h.type != PM_FRAME_CHUNK;
	     at += frame_len(&h))
		n += h.type > PM_FRAME_HEADER && h.type <= PM_FRAME_CONFIG &&
		     !memchr(least_needed_first, (int)h.type, left_out);
	return n;
}

/* Takes the definitions before the first chunk as frames of the recording `id`, numbered from `room` places before
 * `next`: readers accept each number once. */
static int take_definitions(struct borrow *b, const uint8_t id[8], bool header, uint64_t room, uint64_t next)
{
	struct frame_head h;
	unsigned left_out = 0;
	uint64_t n;

	while ((n = count_definitions(b, left_out)) > room)
		if (++left_out > sizeof(least_needed_first))
			return -E2BIG;
	next -= n;
	for (size_t at = 0; next_frame(b->like.data, b->like.len, &at, &h) && h.type != PM_FRAME_CHUNK;
	     at += frame_len(&h)) {
		const struct buf meta = { .data = (uint8_t *)h.meta, .len = h.meta_len };

		if (h.type == PM_FRAME_HEADER && header)
			frame_add(&b->header, h.type, 0, id, &meta, b->like.data + at + h.head_len, h.payload_len);
		if (h.type > PM_FRAME_HEADER && h.type <= PM_FRAME_CONFIG &&
		    !memchr(least_needed_first, (int)h.type, left_out))
			frame_add(&b->definitions, h.type, next++, id, &meta, b->like.data + at + h.head_len,
				  h.payload_len);
	}
	return b->header.err ? b->header.err : b->definitions.err;
}

int borrow_new(struct borrow **out, const struct spool *file, const struct spool *like, struct error *e)
{
	struct borrow *b = calloc(1, sizeof(*b));
	struct frame_head h;
	size_t at = 0;
	bool header = false, chunk = false;
	/* Search for free numbers: the first that can be used (the header has 0), and where most are free. */
	uint64_t from = 1, room = 0, next = 0;
	uint8_t id[8];
	int err, fd = -1;

	if (!b)
		return error_sys(e, ENOMEM, "%s", file->name);
	*out = b;
	err = open_head(&b->fd, file, &b->file, e);
	if (!err)
		err = open_head(&fd, like, &b->like, e);
	if (fd >= 0)
		close(fd);
	if (err)
		return err;
	while (!chunk && next_frame(b->file.data, b->file.len, &at, &h)) {
		memcpy(id, h.id, sizeof(id));
		if (h.sequence >= from && h.sequence - from >= room) {
			room = h.sequence - from;
			next = h.sequence;
			b->place = at;
		}
		chunk = h.type == PM_FRAME_CHUNK;
		header |= h.type == PM_FRAME_HEADER;
		from = h.sequence + 1;
		at += frame_len(&h);
	}
	if (!chunk)
		return error_set(e, EINVAL, "%s: has no snapshot%s", file->name,
				 b->file.len < LAST_LOOK ? "" : " in its first 128 MiB");
	err = take_definitions(b, id, !header, room, next);
	if (err == -E2BIG)
		return room ? error_set(e, ENODATA, "%s: has more definitions than %s lost, so none is borrowed",
					like->name, file->name) :
			      error_set(e, ENODATA,
					"%s: lost no definition before its first snapshot; --like=%s adds nothing",
					file->name, like->name);
	if (err)
		return error_sys(e, -err, "%s", like->name);
	if (!b->definitions.len)
		return error_set(e, EINVAL, "%s: has no definitions to borrow", like->name);
	b->part[HEADER] = (struct part){ b->header.data, b->header.len };
	b->part[BEFORE] = (struct part){ b->file.data, b->place };
	b->part[DEFINITIONS] = (struct part){ b->definitions.data, b->definitions.len };
	b->part[AFTER] = (struct part){ NULL, file->bytes > b->place ? file->bytes - b->place : 0 };
	return 0;
}

void borrow_free(struct borrow *b)
{
	if (!b)
		return;
	if (b->fd >= 0)
		close(b->fd);
	buf_release(&b->file);
	buf_release(&b->like);
	buf_release(&b->header);
	buf_release(&b->definitions);
	free(b);
}

static ssize_t read_parts(void *ctx, void *data, size_t len)
{
	struct borrow *b = ctx;
	uint64_t at = b->at;
	ssize_t n = 0;

	for (int i = 0; i < N_PARTS; at -= b->part[i++].len) {
		const struct part *p = &b->part[i];

		if (at >= p->len)
			continue;
		len = len < p->len - at ? len : p->len - at;
		if (p->data)
			memcpy(data, p->data + at, len);
		else
			n = pread(b->fd, data, len, (off_t)(b->place + at));
		if (p->data || n > 0)
			b->at += p->data ? len : (size_t)n;
		return p->data ? (ssize_t)len : n < 0 ? -errno : n;
	}
	return 0;
}

static int seek_parts(void *ctx, uint64_t offset)
{
	((struct borrow *)ctx)->at = offset;
	return 0;
}

int borrow_reader(struct pm_reader **r, struct borrow *b, struct error *e)
{
	struct pm_input in = { .ctx = b, .read = read_parts, .seek = seek_parts };

	b->at = 0;
	for (int i = 0; i < N_PARTS; i++)
		in.size += b->part[i].len;
	return pm_reader_open(r, &in, e) ? -e->number : 0;
}
