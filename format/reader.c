#include "format/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/array.h"
#include "common/memory.h"
#include "format/chunk_head.h"
#include "format/codec/block.h"
#include "format/compress.h"
#include "format/crc32c.h"
#include "format/definitions.h"
#include "format/frame.h"
#include "format/index.h"
#include "format/limits.h"

#define READ_STEP      (256u << 10) /* for sequential reading */
#define HOP_STEP       (4u << 10)   /* while hopping from head to head */
#define LEAP_STEP      (16u << 10)  /* for single frames */
#define FEATURES_KNOWN 0ull         /* incompatible features that this version reads */
#define DAMAGE_MAX     65536        /* entries; further damage is added to the last one */
#define LOOKS_MAX      64           /* damages for which looking ahead is worthwhile */
#define SEARCH_MAX     (64u << 20)  /* how far to search for the first frame */
#define VAIN_FREE      (64u << 20)  /* bytes with wrong checksums in which frames are searched for, ... */
#define VAIN_BYTE      16           /* ... and more for each byte read: heads may all claim what follows them */

/* ---- the bytes: those from the current place on are in memory ---- */

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

struct window {
	struct pm_input in;
	uint8_t *data; /* owned */
	size_t cap;
	size_t at, end;  /* bytes [at, end) of data are valid */
	uint64_t offset; /* of data[at] in the input */
	size_t step;     /* bytes to read next: doubles from `first` to `most` while reading is sequential */
	size_t first, most;
	uint64_t bytes_read;
	bool eof; /* the input has ended (so far, if it grows) */
};

/* The bytes from the current place on, and their number; valid until the next call. */
static inline const uint8_t *window_at(const struct window *w)
{
	return w->data + w->at;
}

static inline size_t window_has(const struct window *w)
{
	return w->end - w->at;
}

static void window_release(struct window *w)
{
	if (w->in.close)
		w->in.close(w->in.ctx);
	free(w->data);
	*w = (struct window){ 0 };
}

/* Sets `first` and `most`, in bytes. */
static void window_pace(struct window *w, size_t first, size_t most)
{
	w->step = w->first = first;
	w->most = most;
}

/* Makes room for at least one step after `end`. */
static void window_room(struct window *w)
{
	size_t cap = w->cap ? w->cap : 2 * w->step;

	if (w->cap - w->end >= w->step)
		return;
	if (w->at) {
		memmove(w->data, w->data + w->at, window_has(w));
		w->end -= w->at;
		w->at = 0;
	}
	while (cap - w->end < w->step)
		cap *= 2;
	if (cap == w->cap)
		return;
	w->data = memory_resize(w->data, cap, 1);
	w->cap = cap;
}

/* Makes `len` bytes available; fewer only at the end. Memory grows with what was read, not with `len`. 0 or
 * -errno. */
static int window_need(struct window *w, uint64_t len)
{
	/* A file that grows is examined again each time. */
	if (w->in.growing)
		w->eof = false;
	while (window_has(w) < len && !w->eof) {
		ssize_t n;

		window_room(w);
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

/* Moves to an offset of the input. 0 or -errno; -ESPIPE on a stream. */
static int window_seek(struct window *w, uint64_t offset)
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

/* Moves forward, on a stream by reading, at most to the end of the input. 0 or -errno. */
static int window_skip(struct window *w, uint64_t len)
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

/* ---- the numbers, chunk by chunk: heads, and the blocks of the groups that the caller selected. Each group goes on
 * from its row in the chunk before. What follows says which frames are chunks, and what is lost. ---- */

enum wanted { WANTED_UNASKED = 0, WANTED_YES, WANTED_NO };

/* What a group keeps from chunk to chunk. */
struct reader_group {
	uint32_t id; /* 0: none */
	struct layout layout;
	uint8_t wanted;       /* enum wanted */
	bool marked;          /* some of its columns cannot be read */
	bool strings;         /* some of its numbers are those of strings */
	bool in_v;            /* the last row is that of v, else `before` */
	bool missing;         /* some values of the last rows are; `status` says why */
	bool chained;         /* `before` is the row before v, if that is the last one */
	uint32_t chain, rows; /* the last row is one of these chunks, or was taken over from one; 0: there is none */
	uint64_t chunk;       /* that it was last decoded from, counted from 1 */
	uint64_t last_tick;   /* of the last row */
	uint64_t *v, *before; /* [columns x rows], [2 x columns]: a row and its growths */
	size_t v_cap;
	uint16_t *status;
	size_t status_cap;
};

enum chunk_stage {
	CHUNK_NONE,    /* the last item was no chunk, or nothing is left of it */
	CHUNK_HEAD,    /* its head was read */
	CHUNK_DECODED, /* its numbers, too */
};

struct chunk_reader {
	struct pm_model *model; /* borrowed */
	struct pm_zstd *zstd;
	struct buf body;   /* what was unpacked last */
	struct buf newer;  /* see pm_reader_newer() */
	enum pm_rule rule; /* what the last frame broke, if it broke one */
	bool (*wanted)(void *ctx, const struct pm_group *g);
	void *wanted_ctx;

	enum chunk_stage stage;
	struct frame_head frame; /* of the current chunk */
	struct chunk_head head;
	struct chunk_base base;
	struct pm_chunk chunk;
	struct pm_chunk_group *chunk_group; /* owned, as what follows */
	uint32_t chunk_groups_cap;
	struct reader_group *group; /* by slot */
	uint32_t groups_cap;
	uint32_t retired, forgotten; /* of struct model_ids: released */

	uint64_t chunks;        /* so far */
	uint64_t values, asked; /* decoded so far; in the current chunk */
	uint64_t groups_room;   /* that heads of chunks may still name */
	bool last_decoded;      /* the previous chunk was */
	bool hole;              /* there is damage after the last chunk that was decoded */
	uint64_t last_number;   /* its last tick number, run and segment */
	uint32_t last_run, last_segment;
	uint32_t chain;     /* rises with every key chunk, and where a chunk is not decoded */
	uint32_t torn;      /* the chain in which the last damage was: groups that lack their row before are lost */
	bool too_new;       /* nothing that follows in this recording can be read, ... */
	bool chunk_too_new; /* nor what depends on this chunk */
};

/* What damage costs a chunk: groups without a definition; blocks whose checksums fail; groups that were in such. */
struct chunk_loss {
	uint32_t unknown, blocks, groups;
	char sources[80]; /* of these groups */
};

static void group_release(struct reader_group *g)
{
	layout_release(&g->layout);
	free(g->v);
	free(g->before);
	free(g->status);
	*g = (struct reader_group){ 0 };
}

static void release_groups(struct chunk_reader *r)
{
	for (uint32_t i = 0; i < r->groups_cap; i++)
		group_release(&r->group[i]);
	free(r->group);
	r->group = NULL;
	r->groups_cap = 0;
}

static void chunk_reader_release(struct chunk_reader *r)
{
	release_groups(r);
	chunk_head_release(&r->head);
	chunk_base_release(&r->base);
	free(r->chunk_group);
	pm_zstd_free(r->zstd);
	buf_release(&r->body);
	buf_release(&r->newer);
}

/* Another recording begins. */
static void chunk_reader_reset(struct chunk_reader *r)
{
	release_groups(r);
	r->stage = CHUNK_NONE;
	r->retired = r->forgotten = 0;
	r->base.valid = r->hole = r->too_new = r->chunk_too_new = false;
	/* The first chunk goes on from here, unless others before it are lost. */
	r->last_run = 1;
	r->last_segment = 0;
	r->last_number = UINT64_MAX;
}

/* The next chunk is not the one after the last. */
static void chunk_reader_jump(struct chunk_reader *r)
{
	r->stage = CHUNK_NONE;
	r->base.valid = r->last_decoded = r->chunk_too_new = false;
	r->chain++;
}

/* The state of a group of the model, valid until the model grows. */
static struct reader_group *group_of(struct chunk_reader *r, uint32_t id)
{
	const struct pm_group *g = pm_model_group(r->model, id);
	struct reader_group *own;

	memory_hold(&r->group, &r->groups_cap, g->slot + 1ull, sizeof(*r->group));
	own = &r->group[g->slot];
	if (own->id != id) {
		group_release(own);
		own->id = id;
	}
	return own;
}

/* The same, if there is one already; else NULL. */
static struct reader_group *group_if(struct chunk_reader *r, uint32_t id)
{
	const struct pm_group *g = pm_model_group(r->model, id);

	return g && g->slot < r->groups_cap && r->group[g->slot].id == id ? &r->group[g->slot] : NULL;
}

/* Whether the caller selected the group. False: it is not in the model, or has no state yet. */
static bool wants(struct chunk_reader *r, uint32_t id)
{
	const struct pm_group *g = pm_model_group(r->model, id);
	struct reader_group *own = g ? group_if(r, id) : NULL;

	if (!own)
		return false;
	if (own->wanted == WANTED_UNASKED)
		own->wanted = !r->wanted || r->wanted(r->wanted_ctx, g) ? WANTED_YES : WANTED_NO;
	return own->wanted == WANTED_YES;
}

/* The last row goes to `before`; v is then free to be filled. */
static void keep_last_row(struct reader_group *g)
{
	struct pm_matrix m = { .rows = g->rows, .stride = g->rows, .v = g->v };

	if (!g->in_v)
		return;
	if (!g->before)
		g->before = memory_new(2ull * g->layout.columns, sizeof(*g->before));
	m.before = g->chained ? g->before : NULL;
	row_after(&g->layout, &m, g->before);
	g->in_v = false;
}

/* Lays the group's columns out, once. */
static void need_layout(struct chunk_reader *r, struct reader_group *own)
{
	const struct pm_group *g = pm_model_group(r->model, own->id);

	if (own->layout.band)
		return;
	for (uint32_t i = 0; i < g->n_counters; i++) {
		const struct pm_counter *c = pm_model_counter(r->model, g->counter[i]);

		own->marked |= c->newer;
		own->strings |= pm_counter_texts(c);
	}
	for (uint32_t i = 0; i < g->n_instances; i++)
		own->marked |= pm_model_instance(r->model, g->instance[i])->newer;
	memory_done(layout_init(&own->layout, r->model, g));
}

static void continue_group(struct chunk_reader *r, const struct pm_group *g)
{
	const struct pm_group *from = pm_model_group(r->model, g->continues);
	struct reader_group *own, *old = from ? group_if(r, from->id) : NULL;

	if (!old || !r->chain || old->chain != r->chain)
		return;
	own = group_of(r, g->id);
	old = group_if(r, from->id);
	keep_last_row(old);
	need_layout(r, own);
	/* The chunk is being read again after going back: what is known is newer. */
	if (own->chain == r->chain)
		return;
	free(own->before);
	own->before = memory_new(2ull * own->layout.columns, sizeof(*own->before));
	memory_done(group_take_over(g, own->before, from, old->before, old->last_tick));
	own->in_v = false;
	own->last_tick = old->last_tick;
	own->chain = old->chain;
}

/* After definitions: groups that continue others take over their last rows, and retired ones are released. */
static void chunk_reader_regroup(struct chunk_reader *r, const struct definitions_seen *seen)
{
	const struct model_ids *ids = &r->model->index.group_ids;

	for (uint32_t i = 0; i < seen->n_groups; i++)
		continue_group(r, pm_model_group(r->model, seen->group[i]));
	/* The rows take most of a group's memory. */
	for (uint32_t i = r->forgotten == r->model->index.forgotten ? r->retired : 0; i < ids->n_retired; i++) {
		struct reader_group *g = group_if(r, ids->retired[i]);

		if (g)
			group_release(g);
	}
	r->retired = ids->n_retired;
	r->forgotten = r->model->index.forgotten;
}

/* Readers that compute with times rely on it: CLOCK_MONOTONIC never goes back, and never reaches 292 years. */
static bool ascends(const struct chunk_head *h, uint64_t last_ns)
{
	for (uint32_t i = 0; i < h->rows; i++) {
		if (h->tick[i] < last_ns || h->tick[i] > INT64_MAX)
			return false;
		last_ns = h->tick[i];
	}
	return true;
}

/* As chunk_head_decode(): what a frame may name is bounded by the bytes of chunks. */
static int chunk_reader_peek(struct chunk_reader *r, struct chunk_head *head, const struct chunk_base *base,
			     const struct frame_head *h)
{
	int err;

	r->groups_room += frame_len(h) * PM_BYTE_GROUPS;
	head->groups_most = r->groups_room < PM_MAX_GROUPS ? (uint32_t)r->groups_room : PM_MAX_GROUPS;
	err = chunk_head_decode(head, base, h->meta, h->meta_len, h->payload_len);
	r->groups_room -= head->n_groups + head->n_lost;
	r->rule = head->rule;
	return err;
}

/* Goes on to this chunk, whose times begin no earlier than last_ns. 0; -ENOLINK: it depends on a chunk that is lost;
 * -EDOM: its times go backwards; else as other frames. */
static int chunk_reader_take(struct chunk_reader *r, const struct frame_head *h, uint64_t last_ns)
{
	int err = chunk_reader_peek(r, &r->head, &r->base, h);

	if (!err && !ascends(&r->head, last_ns))
		err = -EDOM;
	if (err) {
		r->base.valid = false;
		return err;
	}
	r->frame = *h;
	/* Rows of a chunk that was not decoded are unknown. */
	if (r->head.key || !r->last_decoded)
		r->chain++;
	r->last_decoded = false;
	r->chunk_too_new = r->head.newer || (r->chunk_too_new && !r->head.key);
	if (r->head.newer)
		newer_note(&r->newer, "chunks of codec %d, or with keys newer than this program", r->head.codec);
	r->stage = CHUNK_HEAD;
	r->chunks++;
	memory_done(chunk_base_set(&r->base, &r->head, h->crc));
	return 0;
}

static void make_room(struct reader_group *g, uint32_t rows)
{
	size_t cells = (size_t)g->layout.columns * rows;

	if (cells <= g->v_cap)
		return;
	free(g->v);
	g->v = memory_checked(malloc(cells * sizeof(*g->v)));
	g->v_cap = cells;
}

/* The cells of a chunk's group that say why values are missing, all 0. */
static uint16_t *make_status(void *ctx, size_t cells)
{
	struct reader_group *g = ctx;

	if (cells > g->status_cap) {
		free(g->status);
		g->status = memory_checked(malloc(cells * sizeof(*g->status)));
		g->status_cap = cells;
	}
	memset(g->status, 0, cells * sizeof(*g->status));
	g->missing = true;
	return g->status;
}

/* Makes them if no value was missing so far. */
static uint16_t *need_status(const struct chunk_reader *r, struct reader_group *g)
{
	return g->missing ? g->status : make_status(g, (size_t)g->layout.columns * r->head.rows);
}

/* Marks values that this version cannot read: those of some counters and instances, or all. */
static void mark_newer(struct chunk_reader *r, struct reader_group *own, bool all)
{
	const struct pm_group *g = pm_model_group(r->model, own->id);
	uint32_t head = own->layout.head, rows = r->head.rows;
	uint16_t *status = need_status(r, own);

	for (uint32_t v = 0; head + v < own->layout.columns; v++)
		if (all || pm_model_counter(r->model, pm_group_counter_of(g, v))->newer ||
		    pm_model_instance(r->model, pm_group_instance_of(g, v))->newer)
			for (uint32_t row = 0; row < rows; row++)
				status[(size_t)(head + v) * rows + row] = PM_REASON_NEWER;
}

/* A value that is not the id of a string is invalid. */
static void check_strings(struct chunk_reader *r, struct reader_group *own)
{
	const struct pm_group *g = pm_model_group(r->model, own->id);
	uint32_t head = own->layout.head, rows = r->head.rows;

	for (uint32_t v = 0; head + v < own->layout.columns; v++) {
		size_t at = (size_t)(head + v) * rows;

		if (!pm_counter_texts(pm_model_counter(r->model, pm_group_counter_of(g, v))))
			continue;
		for (size_t cell = at; cell < at + rows; cell++) {
			if ((own->missing && own->status[cell]) ||
			    (own->v[cell] && own->v[cell] <= r->model->n_strings))
				continue;
			need_status(r, own)[cell] = PM_REASON_SUSPECT;
		}
	}
}

static bool all_newer(const struct chunk_reader *r, uint32_t id)
{
	return r->too_new || r->chunk_too_new || pm_model_group(r->model, id)->newer;
}

/* For a group whose bytes cannot be interpreted, only the fact that it was read at these ticks is known. */
static void stand_in(struct chunk_reader *r, uint32_t id, struct pm_chunk_group *out)
{
	struct reader_group *g = group_if(r, id);
	uint32_t rows = r->head.rows;

	make_room(g, rows);
	g->chain = 0;
	g->in_v = g->missing = false;
	for (uint32_t c = 0; c < g->layout.columns; c++)
		for (uint32_t row = 0; row < rows; row++)
			g->v[(size_t)c * rows + row] = c < g->layout.head ? r->head.tick[row] : 0;
	mark_newer(r, g, true);
	*out = (struct pm_chunk_group){ .group = id, .v = g->v, .status = g->status, .stride = rows };
}

static void lose_group(struct chunk_reader *r, struct pm_chunk_group *g, struct chunk_loss *loss)
{
	uint32_t id = g->group;
	const char *source = pm_model_group(r->model, id)->source;
	size_t len = strlen(loss->sources), n = strlen(source);

	*g = (struct pm_chunk_group){ .group = id, .absent = true, .lost = true };
	group_if(r, id)->chain = 0;
	loss->groups++;
	for (const char *at = loss->sources; n && (at = strstr(at, source)); at += n)
		if ((at == loss->sources || at[-1] == ' ') && (!at[n] || at[n] == ','))
			return;
	snprintf(loss->sources + len, sizeof(loss->sources) - len, "%s%s", len ? ", " : "", source);
}

/* Decodes one group of the block; `out` says what became of it. */
static int take_group(struct chunk_reader *r, struct block_cursor *b, uint32_t id, struct pm_chunk_group *out,
		      struct chunk_loss *loss)
{
	struct block_rows rows = {
		.rows = r->head.rows,
		.tick = r->head.tick,
		.dependent = !r->head.key,
		.codec = r->head.codec,
	};
	struct reader_group *g = out && wants(r, id) ? group_if(r, id) : NULL;
	bool chained = g && !r->head.key && g->chain == r->chain;
	struct block_cursor start = *b;
	int err = 0;

	if (!g || all_newer(r, id)) {
		err = block_skip(b, rows.codec);
		if (!err && g)
			stand_in(r, id, out);
		return err;
	}
	rows.before_tick = g->last_tick;
	if (chained)
		keep_last_row(g);
	g->chain = 0;
	g->missing = false;
	make_room(g, rows.rows);
	err = block_take(b, &g->layout, &rows, chained ? g->before : NULL, g->v, rows.rows, make_status, g);
	/* It was selected late, or the row that it depends on was not decoded: it waits for absolute values. */
	if (err == -ENOLINK) {
		*out = (struct pm_chunk_group){ .group = id, .absent = true };
		if (r->torn == r->chain)
			lose_group(r, out, loss);
		*b = start;
		return block_skip(b, rows.codec);
	}
	if (err)
		return err;
	g->in_v = true;
	g->chained = chained;
	g->chain = r->chain;
	g->last_tick = r->head.tick[rows.rows - 1];
	g->rows = rows.rows;
	if (g->strings)
		check_strings(r, g);
	if (g->marked)
		mark_newer(r, g, false);
	*out = (struct pm_chunk_group){
		.group = id,
		.v = g->v,
		.status = g->missing ? g->status : NULL,
		.stride = rows.rows,
	};
	return 0;
}

/* What may be decoded is bounded before anything is allocated: by the limits of a chunk, and in total by the bytes
 * read. */
static int prepare_groups(struct chunk_reader *r, uint64_t budget)
{
	uint64_t values = 0;
	uint32_t n = r->head.n_groups + r->head.n_lost;

	memory_hold(&r->chunk_group, &r->chunk_groups_cap, n, sizeof(*r->chunk_group));
	for (uint32_t i = 0; i < n; i++) {
		bool lost = i >= r->head.n_groups;
		uint32_t id = lost ? r->head.lost[i - r->head.n_groups] : r->head.group[i];

		if (pm_model_group(r->model, id))
			group_of(r, id);
		if (!wants(r, id))
			continue;
		need_layout(r, group_if(r, id));
		r->rule = PM_RULE_NAMED;
		if (group_if(r, id)->chunk == r->chunks)
			return -EBADMSG;
		group_if(r, id)->chunk = r->chunks;
		if (lost)
			continue;
		values += (uint64_t)group_if(r, id)->layout.columns * r->head.rows;
	}
	for (uint32_t i = 0; i < r->head.n_blocks; i++)
		values += r->head.block[i].raw / 8;
	r->asked = values;
	r->values += values;
	return values > PM_MAX_CHUNK_RAW / 8 || r->values > budget ? -E2BIG : 0;
}

/* Decodes one block; `first` is the index of its first group in head.group. */
static int take_block(struct chunk_reader *r, const struct chunk_block *b, const uint8_t *data, uint32_t first,
		      struct chunk_loss *loss)
{
	struct pm_chunk *chunk = &r->chunk;
	bool wanted = false, torn;
	struct block_cursor at = { .n_bits = b->bits };
	size_t packed = b->stored - b->bits;
	int err;

	for (uint32_t i = 0; i < b->n_groups; i++)
		wanted |= wants(r, r->head.group[first + i]);
	/* The contents of a block of an unknown codec are unknown. */
	torn = wanted && !r->head.newer && crc32c(data, b->stored) != b->crc;
	loss->blocks += torn;
	if (wanted && !r->head.newer && !torn) {
		r->rule = PM_RULE_BLOCK;
		if (b->raw / 40000 > packed)
			return -EBADMSG;
		at.items = cbor_over(data, packed);
		at.bits = data + packed;
		if (b->raw) {
			buf_clear(&r->body);
			err = pm_zstd_decompress(r->zstd, data, packed, b->raw, &r->body);
			if (err)
				return err;
			at.items = cbor_over(r->body.data, r->body.len);
		}
	}
	for (uint32_t i = 0; i < b->n_groups; i++) {
		uint32_t id = r->head.group[first + i];
		struct pm_chunk_group *out = NULL;

		if (pm_model_group(r->model, id)) {
			out = &chunk->group[chunk->n_groups++];
			*out = (struct pm_chunk_group){ .group = id, .absent = true };
		} else {
			loss->unknown++;
		}
		if (torn && wants(r, id))
			lose_group(r, out, loss);
		if (!wanted || torn)
			continue;
		err = r->head.newer ? 0 : take_group(r, &at, id, out, loss);
		if (r->head.newer && out && wants(r, id))
			stand_in(r, id, out);
		if (err) {
			r->rule = (enum pm_rule)at.items.rule;
			return err;
		}
	}
	if (!wanted || r->head.newer || torn)
		return 0;
	if (at.n_bits)
		cbor_fail(&at.items, PM_RULE_BLOCK);
	err = cbor_finish(&at.items);
	r->rule = err ? (enum pm_rule)at.items.rule : r->rule;
	return err;
}

static int take_blocks(struct chunk_reader *r, const uint8_t *payload, struct chunk_loss *loss)
{
	uint32_t first = 0;

	/* Snapshots are counted, so a chunk that counts on shows that what is damaged before it was none. */
	r->chunk = (struct pm_chunk){
		.after_loss = r->hole && (r->head.run != r->last_run || r->head.segment != r->last_segment ||
					  r->head.number[0] != r->last_number + 1),
		.run = r->head.run,
		.segment = r->head.segment,
		.rows = r->head.rows,
		.tick = r->head.tick,
		.number = r->head.number,
		.flags = r->head.flags,
		.clocks = r->head.clocks,
		.group = r->chunk_group,
	};
	for (uint32_t i = 0; i < r->head.n_blocks; i++) {
		int err = take_block(r, &r->head.block[i], payload, first, loss);

		if (err)
			return err;
		payload += r->head.block[i].stored;
		first += r->head.block[i].n_groups;
	}
	for (uint32_t i = 0; i < r->head.n_lost; i++) {
		if (!wants(r, r->head.lost[i]))
			continue;
		r->chunk.group[r->chunk.n_groups++] =
			(struct pm_chunk_group){ .group = r->head.lost[i], .absent = true, .lost = true };
		r->chunk.partial = true;
	}
	return 0;
}

/* Decodes the blocks of the current chunk into r->chunk. `budget`: values that all chunks so far may have. 0;
 * -EBADMSG and -E2BIG if it breaks a rule or the limits. */
static int chunk_reader_decode(struct chunk_reader *r, const uint8_t *payload, uint64_t budget,
			       struct chunk_loss *loss)
{
	int err = prepare_groups(r, budget);

	if (!err)
		err = take_blocks(r, payload, loss);
	r->last_decoded = !err;
	return err;
}

/* After that: nothing of it is lost, or at least one group is left. */
static void chunk_reader_keep(struct chunk_reader *r, const struct chunk_loss *loss)
{
	r->stage = CHUNK_DECODED;
	r->chunk.unknown = loss->unknown != 0;
	r->chunk.partial |= loss->unknown || loss->groups;
	r->hole = false;
	r->last_number = r->head.number[r->head.rows - 1];
	r->last_run = r->head.run;
	r->last_segment = r->head.segment;
}

/* ---- the reader ---- */

/* Where the reader is. */
enum stand {
	BETWEEN_FRAMES,
	AT_FRAME, /* at the start of the one that was returned last, which ends at frame_end */
	LOST,     /* looking for a frame since lost_from ... */
	LOST_CUT, /* ... where the end of the input has cut one */
	TURNING,  /* the next recording was announced, but the model is still the previous one's */
};

/* Which frame should come next. */
enum expected {
	EXPECTS_FIRST, /* nothing of this recording was returned yet */
	EXPECTS_NEXT,  /* the one of this sequence number */
	EXPECTS_ANY,   /* after a jump */
	EXPECTS_END,   /* none: the end frame, or the end of the input was seen */
};

/* How it moves on. */
enum way {
	WAY_ON,   /* from frame to frame */
	WAY_SEEK, /* from entry to entry of the catalog, to the chunk that was sought */
	WAY_OUT,  /* past the rest of this recording */
};

/* Where the key chunks and the definitions of the recording are. */
struct catalog {
	struct index_entry *entry; /* owned; offsets count from the start of the input */
	size_t n;
	struct pm_extent extent;
	uint64_t to_offset; /* covers the recording up to here */
	bool ended;         /* and there is nothing after it */
	uint64_t next;      /* where another recording begins; 0: none does */
};

/* The way to the chunk that was sought. */
struct leap {
	size_t next, to;       /* entries of the catalog */
	size_t copy, copy_end; /* where all definitions are repeated; copy_end 0: not used */
	size_t damages;        /* before the way or the copy began */
	bool gaps;             /* definitions of what has gone were left out */
};

struct pm_reader {
	struct window window;
	struct pm_model model;
	struct definitions_seen seen;
	struct chunk_reader numbers;
	int err; /* failure of the input, sticks */
	enum stand stand;
	enum expected expected;
	enum way way;

	bool id_known;
	uint8_t id[8];
	uint64_t start;     /* offset of the recording in the input */
	uint64_t sequence;  /* expected of the next frame */
	uint64_t frame_end; /* of the frame that was returned last; the window is at its start */

	uint64_t lost_from;
	char lost_text[100];
	size_t claimed; /* bytes of the head that was none, as far as they were looked at */
	uint64_t vain;  /* bytes with wrong checksums; those inside one another count again */

	struct pm_damage *damage; /* owned */
	size_t n_damage;
	size_t damage_told;  /* how many were returned as items */
	size_t damage_timed; /* how many have both ends of their time range */
	size_t before_chunk; /* those up to the last chunk that was decoded */
	size_t looked_ahead; /* those at the last time */
	uint64_t last_ns;    /* last good time */
	uint64_t before_ns;  /* of the previous chunk; the numbers of the current one may turn out to be lost */

	bool held; /* an item that waits until the damage before it has been returned */
	struct pm_item held_item;
	struct pm_event *event; /* owned: those of the current frame */
	size_t n_events, next_event;
	uint32_t retired, forgotten; /* of struct model_ids: returned as events */

	struct catalog catalog;
	struct chunk_head hop_head; /* of the chunk that was passed last while hopping from head to head, ... */
	struct chunk_base hop_base; /* ... and what the next one may depend on */
	struct leap leap;
	bool copying;               /* the current definitions repeat all: what they do not name has gone */
	bool forgets;               /* while it seeks, too, at every chunk that is passed over */
	struct pm_clocks *relation; /* owned: a new one whenever wall time departed from the last */
	size_t n_relations;
	bool hidden; /* the current recording cannot be read at all */
	uint8_t hidden_id[8];
};

/* ---- times and damage ---- */

#define RELATION_NOISE_NS 10000
#define RELATIONS_MAX     65536

/* Records the offset of wall time from CLOCK_MONOTONIC when it has changed. Both are slewed alike, so any change
 * beyond the noise of reading them is a step. */
static void note_relation(struct pm_reader *r, const struct pm_clocks *c)
{
	const struct pm_clocks *last = r->n_relations ? &r->relation[r->n_relations - 1] : NULL;

	if (!c->realtime)
		return;
	if (last && last->monotonic <= c->monotonic) {
		int64_t moved = (int64_t)((c->realtime - c->monotonic) - (last->realtime - last->monotonic));

		if (moved < RELATION_NOISE_NS && moved > -RELATION_NOISE_NS)
			return;
	}
	if ((last && last->monotonic > c->monotonic) || r->n_relations == RELATIONS_MAX)
		return;
	memory_room(&r->relation, r->n_relations, sizeof(*r->relation));
	r->relation[r->n_relations++] = *c;
}

uint64_t pm_reader_realtime(const struct pm_reader *r, uint64_t monotonic_ns)
{
	const struct pm_clocks *now = &r->numbers.head.clocks, *best;
	size_t at;

	if (!r->n_relations)
		return 0;
	/* For its own time the current chunk is most accurate; the relations cover earlier times. */
	if (now->realtime && monotonic_ns >= r->numbers.head.tick[0])
		return now->realtime + (monotonic_ns - now->monotonic);
	at = ARRAY_PLACE(r->n_relations, i, r->relation[i].monotonic <= monotonic_ns);
	best = &r->relation[at ? at - 1 : 0];
	return best->realtime + (monotonic_ns - best->monotonic);
}

/* The last damage has not ended yet. */
static struct pm_damage *go_on(struct pm_reader *r, struct pm_damage *d)
{
	if (r->damage_timed == r->n_damage)
		r->damage_timed--;
	d->to_ns = d->to_wall = 0;
	d->harmless = false;
	return d;
}

/* Notes damage; contiguous damage of one kind becomes one. NULL where nobody looks at it. */
__attribute__((format(printf, 5, 6))) static struct pm_damage *damage_add(struct pm_reader *r,
									  enum pm_damage_kind kind, uint64_t offset,
									  uint64_t length, const char *format, ...)
{
	struct pm_damage *d = r->n_damage ? &r->damage[r->n_damage - 1] : NULL;
	/* A frame with a good head; other lost bytes show as a gap in the sequence numbers after them. */
	bool whole_frame =
		length && offset + length == r->frame_end && kind != PM_DAMAGE_CUT && kind != PM_DAMAGE_PARTIAL;
	char text[sizeof(d->text)];
	va_list ap;

	/* As where a file is left, nobody looks at it. */
	if (r->way == WAY_OUT)
		return NULL;
	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	r->numbers.torn = r->numbers.chain;
	r->numbers.hole |= kind != PM_DAMAGE_NO_END;
	if (d && d->kind == kind && kind == PM_DAMAGE_PARTIAL && !strcmp(d->text, text))
		return go_on(r, d);
	if (d && ((d->kind == kind && d->offset + d->length == offset && length) || r->n_damage == DAMAGE_MAX)) {
		d->length = offset + length - d->offset;
		d->frames += whole_frame;
		return go_on(r, d);
	}
	memory_room(&r->damage, r->n_damage, sizeof(*r->damage));
	d = &r->damage[r->n_damage++];
	*d = (struct pm_damage){
		.kind = kind,
		.offset = offset,
		.length = length,
		.from_ns = r->last_ns,
		.from_wall = r->last_ns ? pm_reader_realtime(r, r->last_ns) : 0,
		.frames = whole_frame,
	};
	strcpy(d->text, text);
	return d;
}

/* The current chunk lacks groups, of these sources, that depend on a lost block: its damage has not ended. `partial`:
 * there are others. */
static void damage_goes_on(struct pm_reader *r, bool partial, const char *sources)
{
	struct pm_damage *d = r->n_damage ? &r->damage[r->n_damage - 1] : NULL;

	if (d && (d->kind == PM_DAMAGE_PARTIAL || !partial))
		go_on(r, d);
	else
		damage_add(r, PM_DAMAGE_PARTIAL, r->window.offset, r->frame_end - r->window.offset,
			   "chunk: depends on a block that is lost (%s)", sources);
}

/* The current chunk is intact, but cannot be read because of what was lost before it. */
static void damage_chunk(struct pm_reader *r, uint64_t end, uint32_t snapshots)
{
	struct pm_damage *d = r->n_damage ? &r->damage[r->n_damage - 1] : NULL;

	if (r->damage_timed == r->n_damage)
		d = damage_add(r, PM_DAMAGE_DEPENDENT, r->window.offset, end - r->window.offset,
			       "intact, but the chunk before it is missing");
	if (!d)
		return;
	d->chunks++;
	d->chunks_end = end;
	d->snapshots += snapshots;
}

/* Good numbers start at this time: the far end of what was lost before. */
static void damage_until(struct pm_reader *r, uint64_t time_ns)
{
	for (; r->damage_timed < r->n_damage; r->damage_timed++) {
		r->damage[r->damage_timed].to_ns = time_ns;
		r->damage[r->damage_timed].to_wall = pm_reader_realtime(r, time_ns);
	}
}

static void damage_frames(struct pm_reader *r, uint64_t frames, uint64_t offset)
{
	struct pm_damage *d = r->n_damage ? &r->damage[r->n_damage - 1] : NULL;

	/* Unreadable bytes explain frames that are missing right after them. */
	if (d && d->kind == PM_DAMAGE_GARBAGE && d->offset + d->length == offset) {
		d->frames += frames;
		return;
	}
	d = damage_add(r, PM_DAMAGE_LOST, offset, 0, "%llu frame%s missing here", (unsigned long long)frames,
		       frames == 1 ? " is" : "s are");
	if (d)
		d->frames = frames;
}

const struct pm_damage *pm_reader_damage(const struct pm_reader *r, size_t *n)
{
	*n = r->n_damage;
	return r->damage;
}

/* ---- frames ---- */

/* Starts to look for the next frame; what lies between is lost. */
static void lose(struct pm_reader *r, bool cut, const char *text)
{
	if (r->stand != LOST && r->stand != LOST_CUT) {
		r->stand = cut ? LOST_CUT : LOST;
		r->lost_from = r->window.offset;
		snprintf(r->lost_text, sizeof(r->lost_text), "%s", text);
	}
}

/* If it was looking for one: bytes [lost_from, here) could not be used. */
static void note_lost(struct pm_reader *r, bool at_end)
{
	uint64_t length = r->window.offset - r->lost_from;
	bool cut = r->stand == LOST_CUT;

	if (r->stand != LOST && !cut)
		return;
	r->stand = BETWEEN_FRAMES;
	if (!length)
		return;
	if (at_end && cut)
		damage_add(r, PM_DAMAGE_CUT, r->lost_from, length, "the file ends inside a frame");
	else
		damage_add(r, PM_DAMAGE_GARBAGE, r->lost_from, length, "%s", r->lost_text);
}

/* Whether to look for frames in bytes with a wrong checksum. */
static bool looks_within(struct pm_reader *r, uint64_t bytes)
{
	r->vain += bytes;
	return r->vain <= VAIN_FREE + VAIN_BYTE * r->window.bytes_read;
}

/* The current frame, which is in the window, is damaged: if another one begins inside, because a file was cut and
 * another followed, this one ends there. */
static void frame_within(struct pm_reader *r, const struct frame_head *h)
{
	const uint8_t *start = window_at(&r->window), *found;
	size_t len = (size_t)(r->frame_end - r->window.offset);

	if (!looks_within(r, len))
		return;
	found = memmem(start + h->head_len, len - h->head_len, frame_magic, FRAME_MAGIC_LEN);
	if (found)
		r->frame_end = r->window.offset + (uint64_t)(found - start);
}

/* Moves at least one byte to the next place that looks like a frame; past the whole of what has no good head after
 * too many wrong checksums. 1, 0 at the end, -errno. */
static int search(struct pm_reader *r)
{
	struct window *w = &r->window;
	size_t step = looks_within(r, r->claimed) ? 1 : r->claimed;
	int err = window_skip(w, step < window_has(w) ? step : window_has(w));

	while (!err) {
		const uint8_t *found;

		err = window_need(w, FRAME_MAGIC_LEN);
		if (err)
			break;
		if (window_has(w) < FRAME_MAGIC_LEN)
			return w->in.growing ? -EAGAIN : 0;
		if (!r->id_known && w->offset > SEARCH_MAX)
			return 0;
		found = memmem(window_at(w), window_has(w), frame_magic, FRAME_MAGIC_LEN);
		/* The last bytes may be the beginning of a frame. */
		err = window_skip(w,
				  found ? (uint64_t)(found - window_at(w)) : window_has(w) - (FRAME_MAGIC_LEN - 1));
		if (!err && found)
			return 1;
	}
	return err;
}

/* Parses the head at the window's position. FRAME_OK; FRAME_SHORT: the input ends inside; -EBADMSG, -ENOTSUP, -errno.
 */
static int head_here(struct pm_reader *r, struct frame_head *h, unsigned *major)
{
	size_t need = FRAME_MAGIC_LEN + 1;

	for (;;) {
		int ok, err = window_need(&r->window, need);

		if (err)
			return err;
		ok = frame_parse(window_at(&r->window), window_has(&r->window), h, &need, major);
		r->claimed = need;
		if (ok != FRAME_SHORT || r->window.eof)
			return ok;
	}
}

/* The same, and the whole frame is in the window. */
static int whole_here(struct pm_reader *r, struct frame_head *h)
{
	struct window *w = &r->window;
	unsigned major;
	int ok = head_here(r, h, &major);

	if (ok == FRAME_OK && window_has(w) < frame_len(h)) {
		ok = window_need(w, frame_len(h));
		if (ok)
			return ok;
		/* The window may have moved. */
		return window_has(w) < frame_len(h) ? FRAME_SHORT : head_here(r, h, &major);
	}
	return ok;
}

/* Moves to the next good frame, which is whole, in the window or, for chunks of a file, in the file: 1. 0: the end.
 * -EAGAIN, other -errno. */
static int find_frame(struct pm_reader *r, struct frame_head *h)
{
	struct window *w = &r->window;

	for (;;) {
		unsigned major = 0;
		int ok = head_here(r, h, &major);

		if (ok == FRAME_OK && h->type == PM_FRAME_CHUNK && w->in.seek && !w->in.growing &&
		    w->in.size != UINT64_MAX)
			ok = w->offset + frame_len(h) <= w->in.size ? FRAME_OK : FRAME_SHORT;
		else if (ok == FRAME_OK)
			ok = whole_here(r, h);
		if (ok == FRAME_OK) {
			note_lost(r, false);
			return 1;
		}
		if (ok == FRAME_SHORT && w->in.growing)
			return -EAGAIN;
		if (ok == FRAME_SHORT && !window_has(w)) {
			note_lost(r, true);
			return 0;
		}
		if (ok < 0 && ok != -EBADMSG && ok != -ENOTSUP)
			return ok;
		if (ok != -ENOTSUP) {
			lose(r, ok == FRAME_SHORT, "bytes that are not a frame");
		} else {
			note_lost(r, false);
			newer_note(&r->numbers.newer, "recordings of major version %u are newer than this program",
				   major);
		}
		ok = search(r);
		if (ok < 0)
			return ok;
		if (!ok) {
			/* The rest is too short for a frame. */
			int err = window_skip(w, window_has(w));

			if (err)
				return err;
			note_lost(r, true);
			return 0;
		}
	}
}

/* The body of a frame with its payload in the window: checksum, decompression. Points into the window or
 * r->numbers.body. 0; -EILSEQ: the checksum fails; -EBADMSG, -E2BIG; -ENOTSUP if only a newer version can. */
static int body_of(struct pm_reader *r, const struct frame_head *h, const void **body, size_t *len)
{
	const uint8_t *payload = window_at(&r->window) + h->head_len;
	struct buf *out = &r->numbers.body;
	struct frame_meta m;
	uint32_t crc;

	if (frame_trailer(payload + h->payload_len, &crc) || crc != crc32c(payload, h->payload_len))
		return -EILSEQ;
	frame_meta(h, &m);
	r->numbers.rule = m.rule ? m.rule : PM_RULE_BODY;
	if (m.rule)
		return -EBADMSG;
	*body = payload;
	*len = (size_t)h->payload_len;
	if (!m.codec)
		return 0;
	/* Memory stays proportional to what was read. */
	if (m.codec > PM_BODY_ZSTD_KNOWN)
		return -ENOTSUP;
	if (m.raw > PM_MAX_BODY)
		return -EBADMSG;
	if (m.raw > PM_FREE_BODY + h->payload_len * PM_BYTE_BODY)
		return -E2BIG;
	buf_clear(out);
	if ((m.codec == PM_BODY_ZSTD ? pm_zstd_decompress : pm_zstd_decompress_known)(
		    r->numbers.zstd, payload, (size_t)h->payload_len, (size_t)m.raw, out))
		return -EBADMSG;
	*body = out->data;
	*len = out->len;
	return 0;
}

/* ---- opening: what a file must begin with, and which of its recordings this version can read ---- */

/* Before anything else of a recording is read: does its header say that it cannot be read? */
static bool header_too_new(struct pm_reader *r, const struct frame_head *h)
{
	struct pm_map header = { 0 };
	const struct pm_value *bits;
	struct cbor c;
	const void *body;
	size_t len;
	int err = body_of(r, h, &body, &len);
	bool too_new = err == -ENOTSUP;

	if (!err) {
		c = cbor_over(body, len);
		cbor_value_map(&c, &header, CBOR_ATTRS_DEPTH);
		err = cbor_finish(&c);
	}
	bits = err ? NULL : pm_map_get(&header, PM_HEADER_INCOMPATIBLE);
	if (bits)
		too_new = bits->kind != PM_VALUE_U64 || bits->u64 & ~FEATURES_KNOWN;
	for (uint32_t i = 0; i < header.n && !err; i++)
		too_new |= pm_key_critical(header.field[i].key);
	pm_map_release(&header);
	return too_new;
}

/* Whether this frame belongs to a recording that cannot be read; notes that. */
static bool hides(struct pm_reader *r, const struct frame_head *h)
{
	const uint8_t *id = r->hidden ? r->hidden_id : r->id;

	if (h->type != PM_FRAME_HEADER ||
	    ((r->hidden || r->id_known) && !memcmp(id, h->id, sizeof(r->id)) && (h->sequence || !r->sequence)))
		return r->hidden;
	if (!header_too_new(r, h)) {
		if (r->hidden && !r->id_known)
			r->start = r->window.offset;
		r->hidden = false;
		return false;
	}
	newer_note(&r->numbers.newer, "the recording at byte %" PRIu64 " uses features newer than this program",
		   r->window.offset);
	if (r->id_known && r->expected != EXPECTS_END)
		damage_add(r, PM_DAMAGE_NO_END, r->window.offset, 0, "no end frame before the next recording begins");
	memcpy(r->hidden_id, h->id, sizeof(r->id));
	r->hidden = true;
	r->expected = EXPECTS_END;
	return true;
}

/* Notes a frame that this version does not know, and the consequences. */
static void note_newer_frame(struct pm_reader *r, unsigned type)
{
	bool critical = pm_frame_critical(type);

	newer_note(&r->numbers.newer, "frames of type %u are newer than this program%s", type,
		   critical ? ": numbers after them cannot be read" : "");
	r->numbers.too_new |= critical;
}

const char *pm_reader_newer(const struct pm_reader *r)
{
	return r->numbers.newer.len ? buf_str((struct buf *)&r->numbers.newer) : "";
}

static const struct {
	const char *magic;
	size_t len, at;
	const char *name;
} magics[] = {
	{ "\x50\x05\x26", 3, 4, "a PCP archive (its reporter is also called pmrep: /usr/bin/pmrep of package pcp)" },
	{ "PERFILE2", 8, 0, "a perf.data file" },
	{ "2ELIFREP", 8, 0, "a perf.data file" },
	{ "\x1f\x8b", 2, 0, "a gzip file" },
	{ "\x28\xb5\x2f\xfd", 4, 0, "a zstd file (unpack it with zstd -d)" },
	{ "\xfd"
	  "7zXZ\0",
	  6, 0, "an xz file" },
	{ "PK\3\4", 4, 0, "a zip file" },
	{ "\x7f"
	  "ELF",
	  4, 0, "a program (ELF)" },
	{ "\x75\x21", 2, 0, "a sysstat file" },
	{ "\x21\x75", 2, 0, "a sysstat file" },
};

static bool sniff_text(const uint8_t *head, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (head[i] < 9 || (head[i] > 13 && head[i] < 32) || head[i] == 127)
			return false;
	return true;
}

/* What a file is, if not a recording: "a gzip file", ... */
static const char *sniff(const uint8_t *head, size_t len)
{
	if (!len)
		return "empty";
	for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]); i++)
		if (len >= magics[i].at + magics[i].len &&
		    !memcmp(head + magics[i].at, magics[i].magic, magics[i].len))
			return magics[i].name;
	return sniff_text(head, len) ? "a text file" : NULL;
}

/* ---- definitions and events ---- */

static void release_events(struct pm_reader *r)
{
	for (size_t i = 0; i < r->n_events; i++)
		pm_event_release(&r->event[i]);
	r->n_events = r->next_event = 0;
}

/* Takes over *e. */
static void queue_event(void *ctx, struct pm_event *e)
{
	struct pm_reader *r = ctx;

	memory_room(&r->event, r->n_events, sizeof(*r->event));
	r->event[r->n_events++] = *e;
}

/* Reports that what has retired is gone, as an event. */
static void queue_gone(struct pm_reader *r)
{
	const struct model_ids *ids = &r->model.index.instance_ids;
	uint32_t from = r->forgotten == r->model.index.forgotten ? r->retired : ids->n_kept;

	for (uint32_t i = from; i < ids->n_retired; i++) {
		const struct pm_instance *x = pm_model_instance(&r->model, ids->retired[i]);
		struct pm_event e = { .type = PM_EVENT_GONE, .time_ns = x->retired_ns };

		memory_done(pm_map_set(&e.attrs, PM_EVENT_KEY_INSTANCE, pm_u64(x->id)));
		queue_event(r, &e);
	}
	r->retired = ids->n_retired;
}

/* The model has. */
static void changed(struct pm_reader *r)
{
	release_events(r);
	chunk_reader_regroup(&r->numbers, &r->seen);
	queue_gone(r);
	r->forgotten = r->model.index.forgotten;
}

/* From here on, definitions repeat all that is there. */
static void enter_copy(struct pm_reader *r)
{
	r->seen.copy++;
	r->copying = true;
}

/* What the copy did not name has retired. */
static void retire_unnamed(struct pm_reader *r, uint64_t time_ns)
{
	struct pm_model *m = &r->model;

	for (uint32_t i = 0; i < m->n_groups; i++)
		if (!m->group[i].retired && m->group[i].copy != r->seen.copy)
			memory_done(pm_model_retire_group(m, m->group[i].id));
	for (uint32_t i = 0; i < m->n_instances; i++)
		if (!m->instance[i].retired_ns && m->instance[i].copy != r->seen.copy)
			memory_done(pm_model_retire_instance(m, m->instance[i].id, time_ns));
}

static int definitions(struct pm_reader *r, const struct frame_head *h, const void *body, size_t len,
		       struct pm_item *item)
{
	const struct index_entry *key = r->leap.copy_end ? &r->catalog.entry[r->leap.copy_end] : NULL;
	int err;

	r->seen.stored += h->payload_len;
	err = decode_definitions(&r->model, h->type, body, len, &r->seen, &item->parts);
	r->numbers.rule = r->seen.rule;
	/* Bodies for very many counters are large and rare. */
	if (r->numbers.body.cap > 256u << 10)
		buf_release(&r->numbers.body);
	if (err)
		return err;
	item->kind = PM_ITEM_MODEL;
	/* After damage, retirements may be lost; the copy ends with the next chunk. */
	if (r->way != WAY_SEEK && h->type == PM_FRAME_HEADER && h->sequence && r->n_damage) {
		enter_copy(r);
		r->leap.damages = r->n_damage;
	}
	if (r->way == WAY_SEEK && r->copying && r->frame_end == key->offset) {
		item->parts = (item->parts | PM_PART_SCHEMA | PM_PART_INSTANCES) & ~(unsigned)PM_PART_REPEATED;
		retire_unnamed(r, key->from_ns);
		r->copying = false;
		r->leap.copy_end = 0;
	}
	changed(r);
	return 0;
}

/* Whether it is what the bytes of a frame say, not a failure of the input. */
static bool is_damage(int err)
{
	return err == -EILSEQ || err == -EBADMSG || err == -ENOLINK || err == -E2BIG;
}

/* ---- seeking: by the index if there is one, else by hopping from frame head to frame head ---- */

static void catalog_release(struct pm_reader *r)
{
	free(r->catalog.entry);
	r->catalog = (struct catalog){ 0 };
}

/* Keeps only what a seek needs: key chunks, and informative frames other than chunks. `e->offset` counts from the
 * start of the recording. */
static int catalog_add(struct pm_reader *r, const struct index_entry *e)
{
	struct catalog *c = &r->catalog;
	struct index_entry kept = *e;

	kept.offset += r->start;
	c->to_offset = kept.offset + e->length;
	if (e->type == PM_FRAME_CHUNK) {
		if (!c->extent.chunks++)
			c->extent.from_ns = e->from_ns;
		if (e->to_ns > c->extent.to_ns)
			c->extent.to_ns = e->to_ns;
		c->extent.snapshots += e->rows;
	}
	c->ended |= e->type == PM_FRAME_END;
	if (e->type == PM_FRAME_CHUNK ?
		    !e->key :
		    e->type > PM_FRAME_CONFIG && e->type != PM_FRAME_EVENT && !pm_frame_critical(e->type))
		return 0;
	if (c->n >= PM_MAX_CATALOG)
		return -E2BIG;
	memory_room(&c->entry, c->n, sizeof(*c->entry));
	c->entry[c->n++] = kept;
	return 0;
}

/* Reads the frame at this offset, whole and of this recording. 0, -EBADMSG if it is not there, -errno. */
static int frame_at(struct pm_reader *r, uint64_t offset, unsigned type, struct frame_head *h)
{
	int ok = window_seek(&r->window, offset);

	if (!ok)
		ok = whole_here(r, h);
	else
		return ok;
	if (ok == FRAME_OK && (!type || h->type == type) && !memcmp(h->id, r->id, sizeof(r->id)))
		return 0;
	return ok < 0 && ok != -ENOTSUP ? ok : -EBADMSG;
}

/* Offsets of all index frames, newest first; they must chain back to the first. */
static int find_indexes(struct pm_reader *r, uint64_t **list, size_t *n)
{
	uint64_t size = r->window.in.size, at;
	struct frame_head h;
	struct frame_meta l;
	int err;

	if (size == UINT64_MAX || size < r->start + FRAME_END_SIZE)
		return -EBADMSG;
	at = size - FRAME_END_SIZE;
	err = frame_at(r, at, PM_FRAME_END, &h);
	if (err)
		return err;
	frame_meta(&h, &l);
	/* The end of another recording that follows this one is of no use. */
	if (l.offset != at - r->start)
		return -EBADMSG;
	while (l.index) {
		if (l.index > at - r->start)
			return -EBADMSG;
		at -= l.index;
		err = frame_at(r, at, PM_FRAME_INDEX, &h);
		if (err)
			return err;
		if (frame_len(&h) > l.index)
			return -EBADMSG;
		frame_meta(&h, &l);
		if (l.offset != at - r->start)
			return -EBADMSG;
		memory_room(list, *n, sizeof(**list));
		(*list)[(*n)++] = at;
	}
	return *n ? 0 : -EBADMSG;
}

static int read_indexes(struct pm_reader *r, const uint64_t *list, size_t n)
{
	uint64_t covered = 0;

	while (n--) {
		struct index_builder b = { 0 };
		struct frame_head h;
		const void *body;
		size_t len;
		int err = frame_at(r, list[n], PM_FRAME_INDEX, &h);

		if (!err)
			err = body_of(r, &h, &body, &len);
		if (!err)
			err = index_decode(&b, body, len);
		/* Each covers what lies between the previous one (inclusive) and itself. */
		if (!err && (!b.n || b.entry[0].offset != covered ||
			     b.entry[b.n - 1].offset + b.entry[b.n - 1].length != list[n] - r->start))
			err = -EBADMSG;
		covered = list[n] - r->start;
		for (size_t i = 0; i < b.n && !err; i++)
			err = catalog_add(r, &b.entry[i]);
		index_release(&b);
		if (err)
			return is_damage(err) ? -EBADMSG : err;
	}
	r->catalog.ended = r->catalog.extent.indexed = true;
	return 0;
}

static int from_index(struct pm_reader *r)
{
	SCOPED(scoped_free) uint64_t *list = NULL;
	size_t n = 0;
	int err = find_indexes(r, &list, &n);

	if (!err)
		err = read_indexes(r, list, n);
	if (err == -EBADMSG)
		catalog_release(r);
	return err;
}

#define OTHER_FRAME 63 /* stands for frames that a seek does not need */

/* Reads the head of the frame at the window's position and moves past the frame. 1, 0 at the end, -EBADMSG: no frame,
 * -errno. */
static int hop(struct pm_reader *r, struct index_entry *e)
{
	struct window *w = &r->window;
	const struct chunk_head *head = &r->hop_head;
	uint64_t start = w->offset;
	struct frame_meta m;
	struct frame_head h;
	unsigned major;
	int ok = head_here(r, &h, &major);

	if (ok < 0 && ok != -EBADMSG && ok != -ENOTSUP)
		return ok;
	if (!window_has(w))
		return 0;
	if (ok != FRAME_OK)
		return -EBADMSG;
	/* The next recording, if this one is followed by another. */
	if (start > r->start && (memcmp(h.id, r->id, sizeof(r->id)) ? h.type == PM_FRAME_HEADER || r->catalog.ended :
								      h.type == PM_FRAME_HEADER && !h.sequence)) {
		r->catalog.next = start;
		return 0;
	}
	*e = (struct index_entry){ 0 };
	e->type = h.type < OTHER_FRAME ? (uint8_t)h.type : OTHER_FRAME;
	e->offset = start - r->start;
	e->length = frame_len(&h);
	if (memcmp(h.id, r->id, sizeof(r->id)) != 0)
		e->type = OTHER_FRAME;
	if (e->type == PM_FRAME_CHUNK) {
		ok = chunk_reader_peek(&r->numbers, &r->hop_head, &r->hop_base, &h);
		r->hop_base.valid = false;
		if (ok) {
			e->type = OTHER_FRAME;
		} else {
			memory_done(chunk_base_set(&r->hop_base, head, h.crc));
			e->key = head->key;
			e->from_ns = head->tick[0];
			e->to_ns = head->tick[head->rows - 1];
			e->rows = (uint16_t)head->rows;
		}
	} else if (e->type <= PM_FRAME_CONFIG) {
		frame_meta(&h, &m);
		e->repeated = m.repeated;
	}
	/* Without its trailer the frame is cut. */
	ok = window_skip(w, e->length - FRAME_TRAILER);
	if (!ok)
		ok = window_need(w, FRAME_TRAILER);
	if (ok)
		return ok;
	if (window_has(w) < FRAME_TRAILER)
		return 0;
	ok = window_skip(w, FRAME_TRAILER);
	return ok ? ok : 1;
}

/* Like hop(), but skips what is not a frame. */
static int hop_on(struct pm_reader *r, struct index_entry *e)
{
	int ok;

	while ((ok = hop(r, e)) == -EBADMSG)
		if ((ok = search(r)) != 1)
			break;
	return ok == -EAGAIN ? 0 : ok;
}

static int by_hopping(struct pm_reader *r)
{
	struct window *w = &r->window;
	uint64_t from = r->catalog.to_offset;
	struct index_entry e;
	int ok = window_seek(w, from > r->start ? from : r->start);

	window_pace(w, HOP_STEP, HOP_STEP);
	r->hop_base.valid = false;
	while (!ok && (ok = hop_on(r, &e)) == 1)
		ok = catalog_add(r, &e);
	window_pace(w, LEAP_STEP, LEAP_STEP);
	return ok;
}

static int need_id(struct pm_reader *r)
{
	struct frame_head h;
	unsigned major;
	int ok;

	if (r->id_known)
		return 0;
	/* It was verified when the file was opened. */
	ok = head_here(r, &h, &major);
	if (ok != FRAME_OK)
		return ok < 0 && ok != -ENOTSUP ? ok : r->window.in.growing ? -EAGAIN : -EBADMSG;
	memcpy(r->id, h.id, sizeof(r->id));
	memcpy(r->model.recording_id, r->id, sizeof(r->id));
	r->id_known = true;
	return 0;
}

static int catalog_fill(struct pm_reader *r)
{
	int err = need_id(r);

	if (err || r->catalog.ended)
		return err;
	window_pace(&r->window, LEAP_STEP, LEAP_STEP);
	err = -EBADMSG;
	/* Heads of dependent chunks can only be read from a key chunk on, so a file that has grown is scanned again.
	 */
	if (r->window.in.growing)
		catalog_release(r);
	else if (!r->catalog.to_offset)
		err = from_index(r);
	return err == -EBADMSG ? by_hopping(r) : err;
}

/* Returns to where numbers are read sequentially. `err` counts if that succeeds. */
static int come_back(struct pm_reader *r, uint64_t offset, int err)
{
	int back;

	window_pace(&r->window, LEAP_STEP, READ_STEP);
	back = window_seek(&r->window, offset);
	return back ? (r->err = back) : err;
}

/* Starts the announced recording, if there is one. */
static void turn(struct pm_reader *r)
{
	if (r->stand != TURNING || r->held)
		return;
	catalog_release(r);
	r->leap = (struct leap){ 0 };
	r->way = WAY_ON;
	pm_model_release(&r->model);
	pm_model_init(&r->model);
	chunk_reader_reset(&r->numbers);
	definitions_seen_release(&r->seen);
	r->seen.newer = &r->numbers.newer;
	r->retired = r->forgotten = 0;
	r->expected = EXPECTS_FIRST;
	r->sequence = 0;
	r->n_relations = 0;
	r->damage_timed = r->n_damage; /* the next recording has a clock of its own */
	r->before_chunk = r->n_damage;
	r->last_ns = 0;
	r->copying = r->hidden = r->id_known = false;
	r->start = r->window.offset;
	r->stand = BETWEEN_FRAMES;
}

int pm_reader_extent(struct pm_reader *r, struct pm_extent *x)
{
	uint64_t here = r->window.offset;
	int err;

	*x = (struct pm_extent){ 0 };
	if (!r->window.in.seek)
		return -ESPIPE;
	turn(r);
	err = come_back(r, here, catalog_fill(r));
	if (!err)
		*x = r->catalog.extent;
	return err;
}

/* The rate of the TSC between two heads; 0: unknown. */
static double counter_hz(const struct pm_clocks *a, const struct pm_clocks *b)
{
	bool both = a->counter && b->counter > a->counter && a->monotonic_raw && b->monotonic_raw > a->monotonic_raw;

	return both ? (double)(b->counter - a->counter) / (double)(b->monotonic_raw - a->monotonic_raw) * 1e9 : 0;
}

int pm_reader_clocks(struct pm_reader *r, struct pm_clocks *clocks, size_t max, uint64_t enough_ns)
{
	uint64_t here = r->window.offset;
	struct index_entry e;
	size_t n = 0;
	int ok;

	if (!r->window.in.seek)
		return 0;
	turn(r);
	window_pace(&r->window, HOP_STEP, HOP_STEP);
	r->hop_base.valid = false;
	ok = need_id(r);
	if (!ok)
		ok = window_seek(&r->window, r->start);
	while (!ok && n < max && (ok = hop_on(r, &e)) == 1) {
		ok = 0;
		if (e.type == PM_FRAME_CHUNK)
			clocks[n++] = r->hop_head.clocks;
		if (n && clocks[n - 1].monotonic - clocks[0].monotonic >= enough_ns)
			break;
	}
	if (n > 1)
		r->model.counter_hz = counter_hz(&clocks[0], &clocks[n - 1]);
	return come_back(r, here, ok < 0 && ok != -EAGAIN && !is_damage(ok) ? ok : (int)n);
}

/* Adds the definitions of one frame to the model. */
static int replay_frame(struct pm_reader *r, const struct index_entry *e, unsigned *parts)
{
	struct frame_head h;
	const void *body;
	size_t len;
	int err = frame_at(r, e->offset, e->type, &h);

	/* Frames inside another would be work that no bytes pay for. */
	if (!err && frame_len(&h) != e->length)
		err = -EBADMSG;
	if (!err)
		err = body_of(r, &h, &body, &len);
	if (err == -ENOTSUP || (!err && h.type > PM_FRAME_CONFIG)) {
		note_newer_frame(r, h.type);
		*parts = PM_PART_REPEATED;
		return 0;
	}
	if (err)
		return err;
	r->seen.stored += h.payload_len;
	return decode_definitions(&r->model, h.type, body, len, &r->seen, parts);
}

/* Takes the definitions that are repeated after this place, if earlier ones may be lost. *parts: which are new. 0 or
 * -errno. */
static int look_ahead(struct pm_reader *r, unsigned *parts)
{
	const struct catalog *b = &r->catalog;
	uint64_t here = r->window.offset;
	bool whole = false;
	int err = catalog_fill(r);

	*parts = 0;
	for (size_t i = 0; i < b->n && !err; i++) {
		const struct index_entry *e = &b->entry[i];
		unsigned touched = 0;

		/* One copy of all is enough, and takes what later ones name for gone; if it is damaged, the next is
		 * used. */
		if (e->type == PM_FRAME_CHUNK && whole)
			break;
		if (e->type > PM_FRAME_CONFIG || !e->repeated || e->offset < here)
			continue;
		err = replay_frame(r, e, &touched);
		whole = !err && (whole || e->type == PM_FRAME_HEADER);
		if (is_damage(err))
			err = 0;
		else if (!(touched & PM_PART_REPEATED))
			*parts |= touched;
	}
	return come_back(r, here, is_damage(err) ? 0 : err);
}

bool pm_reader_seekable(const struct pm_reader *r)
{
	return r->window.in.seek != NULL;
}

/* Finds the last copy of all definitions after entry `from` that ends right before a key chunk at or before entry
 * `to`: its entries are [*first, that chunk's entry, which is returned). 0: there is none. */
static size_t last_copy(const struct catalog *b, size_t from, size_t to, size_t *first)
{
	for (size_t i = to; i > from + 1; i--) {
		struct index_entry at = b->entry[i];
		bool chunk = at.type == PM_FRAME_CHUNK;

		for (*first = i; chunk && *first > from; --*first) {
			const struct index_entry *before = &b->entry[*first - 1];

			if (!before->repeated || before->offset + before->length != at.offset)
				break;
			at = *before;
		}
		if (*first < i && at.type == PM_FRAME_HEADER)
			return i;
	}
	return 0;
}

/* Forgets what was known at the place that was left. */
static void arrive(struct pm_reader *r)
{
	r->stand = BETWEEN_FRAMES;
	r->expected = EXPECTS_ANY;
	r->held = r->copying = false;
	chunk_reader_jump(&r->numbers);
	release_events(r);
	r->last_ns = 0;
}

int pm_reader_seek(struct pm_reader *r, uint64_t monotonic_ns, bool all)
{
	const struct catalog *b = &r->catalog;
	struct leap *leap = &r->leap;
	struct pm_extent extent;
	size_t best = SIZE_MAX;
	int err;

	if (r->err)
		return r->err;
	err = pm_reader_extent(r, &extent);
	if (err)
		return err == -EAGAIN || err == -ESPIPE ? err : (r->err = err);
	for (size_t i = 0; i < b->n; i++) {
		const struct index_entry *e = &b->entry[i];

		if (e->type == PM_FRAME_CHUNK && (best == SIZE_MAX || e->from_ns <= monotonic_ns))
			best = i;
	}
	*leap = (struct leap){ .gaps = leap->gaps };
	r->way = best == SIZE_MAX ? WAY_ON : WAY_SEEK;
	if (best == SIZE_MAX) {
		err = window_seek(&r->window, r->start);
	} else {
		/* Go back to what was skipped: all of it is available. */
		if (leap->gaps && b->entry[best].offset < r->window.offset) {
			err = window_seek(&r->window, r->start);
			all = true;
		}
		while (leap->next < best && b->entry[leap->next].offset < r->window.offset)
			leap->next++;
		leap->to = best;
		leap->damages = r->n_damage;
		if (!all)
			leap->copy_end = last_copy(b, leap->next, best, &leap->copy);
	}
	if (err)
		return r->err = err;
	arrive(r);
	return 0;
}

int pm_reader_leave(struct pm_reader *r)
{
	struct pm_extent extent;
	int err = r->err;

	if (!err && r->window.in.growing)
		return 0;
	if (!err && !r->window.in.seek) {
		release_events(r);
		r->held = false;
		r->way = WAY_OUT;
		return 1;
	}
	if (!err)
		err = pm_reader_extent(r, &extent);
	if (err || !r->catalog.next)
		return err;
	r->leap = (struct leap){ .gaps = r->leap.gaps };
	r->way = WAY_ON;
	err = window_seek(&r->window, r->catalog.next);
	if (err)
		return r->err = err;
	arrive(r);
	/* Whatever has the number 0 is then the first of another. */
	r->expected = EXPECTS_END;
	r->sequence = 1;
	return 1;
}

/* Whether an entry adds nothing new, is repeated by the copy, or no longer matters. */
static bool is_passed_over(struct pm_reader *r, size_t i)
{
	const struct index_entry *e = &r->catalog.entry[i];
	const struct leap *l = &r->leap;

	if (e->type == PM_FRAME_CHUNK)
		return true;
	if (l->copy_end && i >= l->copy)
		return false;
	/* Copies lack probe results, and contain only those one-time values that scale others. */
	return (l->copy_end && e->type <= PM_FRAME_PMUS) || (e->repeated && l->damages == r->n_damage);
}

/* Goes to the next frame on the way to the chunk that was sought: reads definitions and events, but no chunks. If the
 * definitions are repeated on the way, it skips what came and went before that copy. 0 or -errno. */
static int go_on_seeking(struct pm_reader *r)
{
	const struct catalog *b = &r->catalog;
	struct leap *l = &r->leap;
	const struct index_entry *e;
	int err;

	if (r->way != WAY_SEEK)
		return 0;
	/* Whether something that the copy lost has gone is unknown. */
	if (r->copying && l->damages != r->n_damage) {
		r->copying = false;
		l->copy_end = l->next = 0;
		l->damages = r->n_damage;
		r->expected = EXPECTS_ANY;
		err = window_seek(&r->window, r->start);
		if (err)
			return err;
	}
	while (l->next < l->to && (b->entry[l->next].offset < r->window.offset || is_passed_over(r, l->next))) {
		l->gaps |= l->copy_end != 0;
		if (b->entry[l->next++].type == PM_FRAME_CHUNK && r->forgets)
			pm_model_forget(&r->model, NULL, NULL, false);
	}
	if (l->next == l->copy && l->copy_end && !r->copying)
		enter_copy(r);
	e = &b->entry[l->next];
	if (e->offset != r->window.offset)
		r->expected = EXPECTS_ANY;
	/* The numbers that follow are read sequentially. */
	if (l->next == l->to) {
		window_pace(&r->window, LEAP_STEP, READ_STEP);
		r->way = WAY_ON;
		r->copying = false;
	} else {
		/* Between small frames that are wanted, read nothing. */
		window_pace(&r->window, e->length < HOP_STEP ? (size_t)e->length : HOP_STEP, HOP_STEP);
	}
	return window_seek(&r->window, e->offset);
}

/* ---- items ---- */

/* Skips a frame that is not to be returned. */
static int drop_frame(struct pm_reader *r, const struct frame_head *h)
{
	return window_skip(&r->window, frame_len(h));
}

static int damage_item(struct pm_reader *r, struct pm_item *item)
{
	const struct pm_damage *d = &r->damage[r->damage_told++];

	*item = (struct pm_item){
		.kind = PM_ITEM_DAMAGE,
		.offset = d->offset,
		.length = d->length,
		.damage = d,
	};
	return 1;
}

/* Moves past the frame that was returned last. */
static int leave_frame(struct pm_reader *r)
{
	struct window *w = &r->window;
	uint64_t left = r->frame_end - w->offset, start = w->offset;
	uint32_t crc;
	int err;

	if (r->stand != AT_FRAME)
		return 0;
	/* A chunk that is skipped is not verified, but it must end where it says. */
	if (r->numbers.stage == CHUNK_HEAD) {
		err = window_skip(w, left - FRAME_TRAILER);
		if (!err)
			err = window_need(w, FRAME_TRAILER);
		if (err)
			return err;
		left = FRAME_TRAILER;
		if (window_has(w) < FRAME_TRAILER) {
			left = window_has(w);
			damage_add(r, PM_DAMAGE_CUT, start, w->offset + left - start, "the file ends inside a chunk");
		} else if (frame_trailer(window_at(w), &crc)) {
			damage_add(r, PM_DAMAGE_GARBAGE, start, r->frame_end - start,
				   "a chunk does not end where it says");
		}
	}
	r->stand = BETWEEN_FRAMES;
	r->numbers.stage = CHUNK_NONE;
	return window_skip(w, left);
}

/* Whether this frame is the next of this recording. 1: yes; 0: no, it was dropped or begins another recording
 * (*begins). */
static int belongs(struct pm_reader *r, const struct frame_head *h, bool *begins)
{
	bool same = r->id_known && !memcmp(r->id, h->id, sizeof(r->id));
	int err;

	*begins = false;
	if (!r->id_known) {
		memcpy(r->id, h->id, sizeof(r->id));
		r->id_known = true;
		memcpy(r->model.recording_id, r->id, sizeof(r->id));
		return 1;
	}
	/* A header of another recording, the first frame of this one again, or after its end what is left of another:
	 * files were concatenated. */
	if ((!same && (r->expected == EXPECTS_END || h->type == PM_FRAME_HEADER)) ||
	    (h->type == PM_FRAME_HEADER && h->sequence == 0 &&
	     (r->expected == EXPECTS_NEXT || r->expected == EXPECTS_END))) {
		*begins = true;
		return 0;
	}
	if (same && (r->expected == EXPECTS_ANY || h->sequence >= r->sequence))
		return 1;
	damage_add(r, PM_DAMAGE_FOREIGN, r->window.offset, frame_len(h),
		   same ? "a repeated frame" : "a frame of another recording");
	err = drop_frame(r, h);
	return err;
}

static void content_damage(struct pm_reader *r, const struct frame_head *h, int err)
{
	const char *name = pm_frame_name(h->type);
	enum pm_damage_kind kind = err == -ENOLINK ? PM_DAMAGE_PARTIAL :
				   err == -EILSEQ  ? PM_DAMAGE_GARBAGE :
						     PM_DAMAGE_CONTENT;

	if (err == -EILSEQ)
		frame_within(r, h);
	damage_add(r, kind, r->window.offset, r->frame_end - r->window.offset,
		   err == -ENOLINK ? "%s frame: refers to definitions that are lost" :
		   err == -EILSEQ  ? "%s frame: its checksum fails" :
		   err == -E2BIG   ? "%s frame: beyond the limits of the format" :
				     "%s frame breaks a rule of the format: %s",
		   name ? name : "unknown", pm_rule_text(r->numbers.rule));
}

static void event_item(struct pm_reader *r, struct pm_item *item)
{
	item->kind = PM_ITEM_EVENT;
	item->event = &r->event[r->next_event++];
}

/* Fills the item from a frame other than a chunk. 0, or -errno, which may be damage. */
static int small_frame(struct pm_reader *r, const struct frame_head *h, struct pm_item *item)
{
	const void *body;
	size_t len;
	int err = body_of(r, h, &body, &len);

	if (err != -EILSEQ && (err == -ENOTSUP || h->type < PM_FRAME_HEADER || h->type > PM_FRAME_END)) {
		note_newer_frame(r, h->type);
		item->kind = PM_ITEM_OTHER;
		item->newer = pm_frame_critical(h->type);
		return 0;
	}
	if (err)
		return err;
	switch (h->type) {
	case PM_FRAME_EVENT:
		release_events(r);
		err = decode_events(body, len, queue_event, r, &r->numbers.rule);
		if (err) {
			release_events(r);
			return err;
		}
		item->kind = PM_ITEM_OTHER;
		if (r->n_events)
			event_item(r, item);
		return 0;
	case PM_FRAME_INDEX:
		item->kind = PM_ITEM_INDEX;
		return 0;
	case PM_FRAME_END:
		item->kind = PM_ITEM_END;
		r->expected = EXPECTS_END;
		return 0;
	default:
		return definitions(r, h, body, len, item);
	}
}

/* As small_frame(). 1: the chunk follows one that is lost, which is noted. */
static int chunk_frame(struct pm_reader *r, const struct frame_head *h, struct pm_item *item)
{
	const struct chunk_head *head = &r->numbers.head;
	int err = chunk_reader_take(&r->numbers, h, r->last_ns);

	if (err == -ENOLINK)
		damage_chunk(r, r->window.offset + frame_len(h), head->rows);
	if (err == -EDOM)
		damage_add(r, PM_DAMAGE_CONTENT, r->window.offset, frame_len(h), "chunk: its times go backwards: %s",
			   pm_rule_text(PM_RULE_ASCEND));
	if (err == -ENOLINK || err == -EDOM)
		return 1;
	if (err)
		return err;
	note_relation(r, &head->clocks);
	item->kind = PM_ITEM_CHUNK;
	item->chunk = (struct pm_chunk_head){
		.run = head->run,
		.segment = head->segment,
		.rows = head->rows,
		.key = head->key,
		.from_ns = head->tick[0],
		.to_ns = head->tick[head->rows - 1],
		.clocks = head->clocks,
	};
	damage_until(r, item->chunk.from_ns);
	r->before_ns = r->last_ns;
	r->last_ns = item->chunk.to_ns;
	return 0;
}

/* Without this, nothing would be said about what follows a stop in the middle. */
static int at_end(struct pm_reader *r, struct pm_item *item)
{
	bool cut = r->n_damage && r->damage[r->n_damage - 1].kind == PM_DAMAGE_CUT;
	bool told = r->expected == EXPECTS_END || r->way == WAY_OUT || cut;

	if (r->damage_told < r->n_damage)
		return damage_item(r, item);
	r->expected = EXPECTS_END;
	if (told)
		return 0;
	damage_add(r, PM_DAMAGE_NO_END, r->window.offset, 0,
		   "no end frame: the recorder was killed, or is still running");
	return r->damage_told < r->n_damage ? damage_item(r, item) : 0;
}

/* Reads one frame. 1: *item is set; 0: look again; -errno. */
static int take_frame(struct pm_reader *r, struct frame_head *h, struct pm_item *item)
{
	struct window *w = &r->window;
	uint64_t offset = w->offset, length = frame_len(h), lost;
	bool begins;
	int ok;

	/* A copy of all definitions is over. */
	if (h->type == PM_FRAME_CHUNK && r->copying && r->way != WAY_SEEK) {
		bool whole = r->leap.damages == r->n_damage && r->sequence == h->sequence;

		*item = (struct pm_item){ .kind = PM_ITEM_MODEL,
					  .offset = offset,
					  .type = PM_FRAME_HEADER,
					  .parts = PM_PART_SCHEMA | PM_PART_INSTANCES };
		r->copying = false;
		if (whole)
			retire_unnamed(r, r->last_ns);
		changed(r);
		return 1;
	}
	/* After damage, look for a copy of the definitions that it may have cost. */
	if (h->type == PM_FRAME_CHUNK && r->n_damage > r->looked_ahead && r->window.in.seek &&
	    !r->window.in.growing) {
		r->looked_ahead = r->n_damage < LOOKS_MAX ? r->n_damage : SIZE_MAX;
		*item = (struct pm_item){ .kind = PM_ITEM_MODEL, .offset = offset, .type = PM_FRAME_HEADER };
		ok = look_ahead(r, &item->parts);
		return ok ? ok : item->parts != 0;
	}
	if (hides(r, h))
		return drop_frame(r, h);
	r->frame_end = offset + length;
	ok = belongs(r, h, &begins);
	if (begins) {
		if (r->expected != EXPECTS_END)
			damage_add(r, PM_DAMAGE_NO_END, offset, 0, "no end frame before the next recording begins");
		r->way = WAY_ON;
		r->stand = TURNING;
		*item = (struct pm_item){ .kind = PM_ITEM_RECORDING, .offset = offset, .type = h->type };
		return 1;
	}
	if (ok <= 0)
		return ok;
	lost = r->expected == EXPECTS_ANY ? 0 : h->sequence - r->sequence;
	r->sequence = h->sequence + 1;
	r->expected = EXPECTS_NEXT;
	if (r->way == WAY_OUT) {
		r->expected = h->type == PM_FRAME_END ? EXPECTS_END : EXPECTS_NEXT;
		return drop_frame(r, h);
	}
	if (lost)
		damage_frames(r, lost, offset);
	*item = (struct pm_item){
		.offset = offset,
		.length = length,
		.sequence = h->sequence,
		.type = h->type,
	};
	ok = h->type == PM_FRAME_CHUNK ? chunk_frame(r, h, item) : small_frame(r, h, item);
	if (ok == 1)
		return drop_frame(r, h);
	if (is_damage(ok)) {
		content_damage(r, h, ok);
		return window_skip(&r->window, r->frame_end - r->window.offset);
	}
	if (ok)
		return ok;
	r->stand = AT_FRAME;
	return 1;
}

int pm_reader_next(struct pm_reader *r, struct pm_item *item)
{
	if (r->err)
		return r->err;
	turn(r);
	for (;;) {
		struct frame_head h;
		int ok;

		/* Report damage that lies before a frame first, though it is known only afterwards. */
		if (r->held) {
			*item = r->held_item;
			if (r->damage_told < r->n_damage)
				return damage_item(r, item);
			r->held = false;
			return 1;
		}
		if (r->next_event < r->n_events) {
			*item = (struct pm_item){ .offset = r->window.offset, .type = PM_FRAME_EVENT };
			event_item(r, item);
			return 1;
		}
		ok = leave_frame(r);
		if (!ok && r->damage_told < r->n_damage)
			return damage_item(r, item);
		if (!ok)
			ok = go_on_seeking(r);
		if (!ok)
			ok = find_frame(r, &h);
		if (ok == 0)
			return r->expected == EXPECTS_END && r->window.in.growing ? 0 : at_end(r, item);
		if (ok == -EAGAIN)
			return r->expected == EXPECTS_END && r->stand == BETWEEN_FRAMES && !window_has(&r->window) ?
				       0 :
				       -EAGAIN;
		if (ok == 1)
			ok = take_frame(r, &h, item);
		if (ok < 0)
			return r->err = ok;
		if (ok == 1 && r->damage_told < r->n_damage) {
			r->held = true;
			r->held_item = *item;
			continue;
		}
		if (ok == 1)
			return 1;
	}
}

/* ---- numbers ---- */

/* The numbers of this chunk are lost, and so is what depends on them. */
static int lose_chunk(struct pm_reader *r, enum pm_damage_kind kind, const char *text)
{
	struct pm_damage *d;

	/* Whose checksum fails has a good head, from which others can be read. */
	r->numbers.base.valid &= kind == PM_DAMAGE_GARBAGE;
	r->numbers.stage = CHUNK_NONE;
	r->last_ns = r->before_ns;
	d = damage_add(r, kind, r->window.offset, r->frame_end - r->window.offset, "%s", text);
	if (d)
		d->snapshots += r->numbers.head.rows;
	return -EBADMSG;
}

/* Of a chunk whose blocks were read. What is lost lies in it, not after it. -EBADMSG: nothing is left. */
static int note_loss(struct pm_reader *r, const struct chunk_loss *loss, bool unsound)
{
	uint64_t last_ns = r->last_ns, offset = r->window.offset;
	bool left = !loss->groups;

	for (uint32_t i = 0; i < r->numbers.chunk.n_groups; i++)
		left |= !r->numbers.chunk.group[i].absent;
	if (loss->blocks || unsound)
		frame_within(r, &r->numbers.frame);
	r->last_ns = r->before_ns;
	if (loss->unknown) {
		damage_add(r, PM_DAMAGE_PARTIAL, offset, r->frame_end - offset,
			   "chunk: the definitions of %u of its %u groups are lost", loss->unknown,
			   r->numbers.head.n_groups);
		damage_chunk(r, r->frame_end, 0);
	}
	if (loss->blocks && left) {
		damage_add(r, PM_DAMAGE_PARTIAL, offset, r->frame_end - offset,
			   "chunk %" PRIu64 ": the checksums of %u of its %u blocks fail (%s)", r->numbers.chunks,
			   loss->blocks, r->numbers.head.n_blocks, loss->sources);
	} else if (loss->blocks) {
		return lose_chunk(r, PM_DAMAGE_GARBAGE, "chunk: its checksum fails");
	} else if (loss->groups) {
		damage_goes_on(r, left, loss->sources);
		damage_chunk(r, r->frame_end, left ? 0 : r->numbers.head.rows);
	} else if (unsound) {
		r->last_ns = 0;
		damage_add(r, PM_DAMAGE_PARTIAL, r->frame_end - FRAME_TRAILER, FRAME_TRAILER,
			   "chunk: its checksum fails, but not those of its blocks: no value is lost");
		r->damage_timed = r->n_damage;
	}
	r->last_ns = left ? last_ns : r->before_ns;
	if (!left) {
		r->numbers.stage = CHUNK_NONE;
		return -EBADMSG;
	}
	chunk_reader_keep(&r->numbers, loss);
	for (size_t i = r->before_chunk; i < r->n_damage; i++)
		r->damage[i].harmless |= !r->numbers.chunk.partial && !r->numbers.chunk.after_loss;
	r->before_chunk = r->n_damage;
	return 0;
}

int pm_reader_decode(struct pm_reader *r, const struct pm_chunk **chunk)
{
	const struct frame_head *h = &r->numbers.frame;
	struct window *w = &r->window;
	struct chunk_loss loss = { 0 };
	const uint8_t *payload;
	char text[240];
	uint32_t crc;
	bool unsound;
	int err;

	*chunk = NULL;
	if (r->err)
		return r->err;
	if (r->numbers.stage == CHUNK_NONE)
		return -EINVAL;
	if (r->numbers.stage == CHUNK_DECODED) {
		*chunk = &r->numbers.chunk;
		return 0;
	}
	err = window_need(w, r->frame_end - w->offset);
	if (err)
		return r->err = err;
	if (window_has(w) < r->frame_end - w->offset) {
		r->frame_end = w->offset + window_has(w);
		return lose_chunk(r, PM_DAMAGE_CUT, "the file ends inside a chunk");
	}
	payload = window_at(w) + h->head_len;
	/* The blocks' own checksums cover what is used; with a selection, the rest does not matter. */
	unsound = frame_trailer(payload + h->payload_len, &crc) ||
		  (!r->numbers.wanted && crc != crc32c(payload, h->payload_len));
	err = chunk_reader_decode(&r->numbers, payload, PM_FREE_VALUES + w->bytes_read * PM_BYTE_VALUES, &loss);
	if (err == -E2BIG) {
		snprintf(text, sizeof(text), "chunk: claims %" PRIu64 " values in %" PRIu64 " bytes; %s",
			 r->numbers.asked, h->payload_len, "beyond the limits of the format");
		return lose_chunk(r, PM_DAMAGE_CONTENT, text);
	}
	if (err == -EBADMSG) {
		snprintf(text, sizeof(text), "chunk breaks a rule of the format: %s", pm_rule_text(r->numbers.rule));
		return lose_chunk(r, PM_DAMAGE_CONTENT, text);
	}
	if (err)
		return r->err = err;
	err = note_loss(r, &loss, unsound);
	*chunk = err ? NULL : &r->numbers.chunk;
	return err;
}

void pm_reader_select(struct pm_reader *r, bool (*wanted)(void *ctx, const struct pm_group *g), void *ctx)
{
	r->numbers.wanted = wanted;
	r->numbers.wanted_ctx = ctx;
	for (uint32_t i = 0; i < r->numbers.groups_cap; i++)
		r->numbers.group[i].wanted = WANTED_UNASKED;
}

void pm_reader_forget(struct pm_reader *r, pm_model_needs *needs, void *ctx)
{
	r->forgets = !needs;
	pm_model_forget(&r->model, needs, ctx, false);
}

const struct pm_model *pm_reader_model(const struct pm_reader *r)
{
	return &r->model;
}

uint64_t pm_reader_bytes(const struct pm_reader *r)
{
	return r->window.bytes_read;
}

/* ---- opening and closing ---- */

static int no_recording(const uint8_t *start, size_t len, struct error *e)
{
	const char *name = sniff(start, len);

	if (!len)
		return error_set(e, EINVAL, "the file is empty");
	if (name)
		return error_set(e, EINVAL, "is %s, not a recording", name);
	return error_set(e, EINVAL, "is not a recording");
}

/* Moves to the first good frame, whatever lies before it. */
static int open_at(struct pm_reader *r, struct error *e)
{
	struct window *w = &r->window;
	uint8_t start[FRAME_PROBE];
	struct frame_head h;
	bool ours, other;
	size_t len;
	int ok = window_need(w, sizeof(start));

	if (ok)
		return ok == -EISDIR ? error_set(e, EISDIR, "is a directory, not a recording") :
				       error_sys(e, -ok, "read");
	len = window_has(w) < sizeof(start) ? window_has(w) : sizeof(start);
	if (len)
		memcpy(start, window_at(w), len);
	ours = !memcmp(start, frame_magic, len < FRAME_MAGIC_LEN ? len : FRAME_MAGIC_LEN);
	/* Of what grows the rest is yet to come. */
	if (w->in.growing && ours)
		return 0;
	/* Text may precede a recording that came through a login shell; a file that grows has none. */
	if (!len || (!ours && (w->in.growing || (sniff(start, len) && !sniff_text(start, len)))))
		return no_recording(start, len, e);
	ok = find_frame(r, &h);
	if (ok < 0)
		return error_sys(e, -ok, "read");
	other = ours && len > FRAME_MAGIC_LEN && start[FRAME_MAGIC_LEN] != PM_MAJOR;
	if (ok == 1 && other && h.type != PM_FRAME_HEADER)
		ok = 0;
	if (!ok && other)
		return error_set(e, ENOTSUP, "is a recording of major version %u; this program reads version %d",
				 start[FRAME_MAGIC_LEN], PM_MAJOR);
	if (!ok && ours)
		return error_set(e, EINVAL, "is a recording, but none of its frames can be read");
	if (!ok)
		return no_recording(start, len, e);
	while (ok == 1 && hides(r, &h)) {
		ok = window_skip(w, frame_len(&h));
		if (!ok)
			ok = find_frame(r, &h);
	}
	r->expected = EXPECTS_FIRST;
	return ok == 1 ? 0 :
	       ok      ? error_sys(e, -ok, "read") :
			 error_set(e, ENOTSUP, "the recording uses features newer than this program");
}

int pm_reader_open(struct pm_reader **out, struct pm_input *in, struct error *e)
{
	struct pm_reader *r = memory_new(1, sizeof(*r));
	int err;

	*out = NULL;
	r->window.in = *in;
	window_pace(&r->window, LEAP_STEP, READ_STEP);
	*in = (struct pm_input){ 0 };
	pm_model_init(&r->model);
	r->numbers.model = &r->model;
	chunk_reader_reset(&r->numbers);
	r->numbers.zstd = memory_checked(pm_zstd_new());
	err = open_at(r, e);
	if (err) {
		pm_reader_close(r);
		return err;
	}
	r->start = r->window.offset;
	r->seen.newer = &r->numbers.newer;
	r->numbers.groups_room = PM_FREE_GROUPS;
	*out = r;
	return 0;
}

void pm_reader_close(struct pm_reader *r)
{
	if (!r)
		return;
	window_release(&r->window);
	catalog_release(r);
	chunk_head_release(&r->hop_head);
	chunk_base_release(&r->hop_base);
	pm_model_release(&r->model);
	chunk_reader_release(&r->numbers);
	release_events(r);
	free(r->event);
	definitions_seen_release(&r->seen);
	free(r->damage);
	free(r->relation);
	free(r);
}
