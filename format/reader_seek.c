/* Seeking to a time: by the index if there is one, else by hopping from frame head to frame head. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "format/cbor.h"
#include "format/model_private.h"
#include "format/reader_private.h"

void reader_catalog_release(struct pm_reader *r)
{
	index_list_release(&r->catalog.entries);
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
		if (!c->chunks++)
			c->from_ns = e->from_ns;
		if (e->to_ns > c->to_ns)
			c->to_ns = e->to_ns;
		c->snapshots += e->rows;
	}
	c->ended |= e->type == PM_FRAME_END;
	if (e->type == PM_FRAME_CHUNK ?
		    e->key :
		    e->type <= PM_FRAME_CONFIG || e->type == PM_FRAME_EVENT || pm_frame_critical(e->type))
		return index_list_add(&c->entries, &kept);
	return 0;
}

/* ---- from the index ---- */

struct links {
	uint64_t offset, back; /* PM_META_OFFSET, PM_META_INDEX */
};

static struct links links_of(const struct frame_head *h)
{
	struct cbor c = cbor_over(h->meta, h->meta_len);
	struct links l = { 0 };
	struct cbor_map m;

	for (cbor_map(&c, &m); cbor_next(&c, &m);) {
		if (m.key == PM_META_OFFSET)
			l.offset = cbor_uint(&c);
		else if (m.key == PM_META_INDEX)
			l.back = cbor_uint(&c);
		else
			cbor_skip(&c);
	}
	return l;
}

/* Reads the frame at this offset, whole and of this recording. 0, -EBADMSG if it is not there, -errno. */
static int frame_at(struct pm_reader *r, uint64_t offset, unsigned type, struct frame_head *h)
{
	struct window *w = &r->window;
	unsigned major;
	size_t need = FRAME_PROBE;
	int ok = window_seek(w, offset);

	if (ok)
		return ok;
	for (;;) {
		ok = window_need(w, need);
		if (ok)
			return ok;
		if (window_has(w) < FRAME_MAGIC_LEN)
			return -EBADMSG;
		ok = frame_parse(window_at(w), window_has(w), h, &need, &major);
		if (ok == FRAME_OK && window_has(w) < frame_len(h)) {
			need = (size_t)frame_len(h);
			ok = window_need(w, need);
			if (ok)
				return ok;
			ok = window_has(w) < need ? -EBADMSG :
						    frame_parse(window_at(w), window_has(w), h, &need, &major);
		}
		if (ok != FRAME_SHORT)
			break;
		if (w->eof)
			return -EBADMSG;
	}
	if (ok != FRAME_OK || (type && h->type != type) || memcmp(h->id, r->id, sizeof(r->id)) != 0)
		return -EBADMSG;
	return 0;
}

/* Offsets of all index frames, newest first; they must chain back to the first. */
static int find_indexes(struct pm_reader *r, uint64_t **list, size_t *n)
{
	uint64_t size = r->window.in.size, at;
	struct frame_head h;
	struct links l;
	int err;

	if (size == UINT64_MAX || size < r->start + FRAME_END_SIZE)
		return -EBADMSG;
	at = size - FRAME_END_SIZE;
	err = frame_at(r, at, PM_FRAME_END, &h);
	if (err)
		return err;
	l = links_of(&h);
	/* The end of another recording that follows this one is of no use. */
	if (l.offset != at - r->start)
		return -EBADMSG;
	while (l.back) {
		if (l.back > at - r->start)
			return -EBADMSG;
		at -= l.back;
		err = frame_at(r, at, PM_FRAME_INDEX, &h);
		if (err)
			return err;
		if (frame_len(&h) > l.back)
			return -EBADMSG;
		l = links_of(&h);
		if (l.offset != at - r->start)
			return -EBADMSG;
		if (array_room(list, *n, sizeof(**list)))
			return -ENOMEM;
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
			err = reader_body(r, &h, &body, &len);
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
			return err == -EPROTO || err == -E2BIG ? -EBADMSG : err;
	}
	r->catalog.ended = r->catalog.indexed = true;
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
		reader_catalog_release(r);
	return err;
}

/* ---- by hopping ---- */

#define OTHER_FRAME 63 /* stands for frames that a seek does not need */

/* Skips damage, to the next place that looks like a frame. 1, 0 at the end, -errno. */
static int hop_search(struct pm_reader *r)
{
	struct window *w = &r->window;
	int err = reader_pass(r);

	while (!err) {
		err = window_need(w, FRAME_MAGIC_LEN);
		if (err || window_has(w) < FRAME_MAGIC_LEN)
			return err;
		err = reader_to_magic(w);
	}
	return err;
}

/* Reads the head of the frame at the window's position and moves past the frame. 1, 0 at the end, -EBADMSG: no frame,
 * -errno. */
static int hop(struct pm_reader *r, struct chunk_head *head, struct chunk_base *base, struct index_entry *e)
{
	struct window *w = &r->window;
	size_t need = FRAME_PROBE;
	struct frame_head h;
	unsigned major;
	uint64_t start = w->offset;
	int ok;

	do {
		ok = window_need(w, need);
		if (ok)
			return ok;
		if (!window_has(w))
			return 0;
		ok = window_has(w) < FRAME_MAGIC_LEN ? -EBADMSG :
						       frame_parse(window_at(w), window_has(w), &h, &need, &major);
	} while (ok == FRAME_SHORT && !w->eof);
	r->claimed = need;
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
		ok = reader_chunk_head(r, head, base, &h);
		base->valid = false;
		if (!ok)
			ok = chunk_base_set(base, head, h.crc);
		if (ok == -ENOMEM)
			return ok;
		if (ok) {
			e->type = OTHER_FRAME;
		} else {
			e->key = head->key;
			e->from_ns = head->tick[0];
			e->to_ns = head->tick[head->rows - 1];
			e->rows = (uint16_t)head->rows;
		}
	} else if (e->type <= PM_FRAME_CONFIG) {
		struct cbor c = cbor_over(h.meta, h.meta_len);
		struct cbor_map m;

		for (cbor_map(&c, &m); cbor_next(&c, &m);) {
			if (m.key == PM_META_REPEATED)
				e->repeated = cbor_bool(&c);
			else
				cbor_skip(&c);
		}
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
static int hop_on(struct pm_reader *r, struct chunk_head *head, struct chunk_base *base, struct index_entry *e)
{
	int ok;

	while ((ok = hop(r, head, base, e)) == -EBADMSG)
		if ((ok = hop_search(r)) != 1)
			break;
	return ok;
}

static int by_hopping(struct pm_reader *r)
{
	struct window *w = &r->window;
	SCOPED(scoped_free) struct chunk_head *head = calloc(1, sizeof(*head));
	struct chunk_base base = { 0 };
	uint64_t from = r->catalog.to_offset;
	struct index_entry e;
	int ok;

	if (!head)
		return -ENOMEM;
	ok = window_seek(w, from > r->start ? from : r->start);
	window_pace(w, HOP_STEP, HOP_STEP);
	while (!ok && (ok = hop_on(r, head, &base, &e)) == 1)
		ok = catalog_add(r, &e);
	window_pace(w, LEAP_STEP, LEAP_STEP);
	chunk_head_release(head);
	chunk_base_release(&base);
	return ok;
}

static int catalog_fill(struct pm_reader *r)
{
	int err = -EBADMSG;

	if (r->catalog.ended)
		return 0;
	/* Heads of dependent chunks can only be read from a key chunk on, so a file that has grown is scanned again.
	 */
	if (r->window.in.growing)
		reader_catalog_release(r);
	else if (!r->catalog.to_offset)
		err = from_index(r);
	return err == -EBADMSG ? by_hopping(r) : err;
}

/* ---- what callers see ---- */

static int need_id(struct pm_reader *r)
{
	struct frame_head h;
	size_t need;
	unsigned major;
	int err;

	if (r->id_known)
		return 0;
	/* The first frame has a short head, and was verified when the file was opened. */
	err = window_need(&r->window, 4096);
	if (err)
		return err;
	if (!window_has(&r->window) ||
	    frame_parse(window_at(&r->window), window_has(&r->window), &h, &need, &major) != FRAME_OK)
		return r->window.in.growing ? -EAGAIN : -EBADMSG;
	memcpy(r->id, h.id, sizeof(r->id));
	memcpy(r->model.recording_id, r->id, sizeof(r->id));
	r->id_known = true;
	return 0;
}

int pm_reader_extent(struct pm_reader *r, struct pm_extent *x)
{
	uint64_t here = r->window.offset;
	int err, back;

	*x = (struct pm_extent){ 0 };
	if (!r->window.in.seek)
		return -ESPIPE;
	reader_turn(r);
	window_pace(&r->window, LEAP_STEP, LEAP_STEP);
	err = need_id(r);
	if (!err)
		err = catalog_fill(r);
	window_pace(&r->window, LEAP_STEP, READ_STEP);
	back = window_seek(&r->window, here);
	if (back)
		return r->err = back;
	if (err)
		return err;
	*x = (struct pm_extent){
		.from_ns = r->catalog.from_ns,
		.to_ns = r->catalog.to_ns,
		.chunks = r->catalog.chunks,
		.snapshots = r->catalog.snapshots,
		.indexed = r->catalog.indexed,
	};
	return 0;
}

/* The rate of the TSC between two heads; 0: unknown. */
static double counter_hz(const struct pm_clocks *a, const struct pm_clocks *b)
{
	bool both = a->counter && b->counter > a->counter && a->monotonic_raw && b->monotonic_raw > a->monotonic_raw;

	return both ? (double)(b->counter - a->counter) / (double)(b->monotonic_raw - a->monotonic_raw) * 1e9 : 0;
}

static bool is_damage(int err)
{
	return err == -EBADMSG || err == -EPROTO || err == -ENOLINK || err == -E2BIG;
}

int pm_reader_clocks(struct pm_reader *r, struct pm_clocks *clocks, size_t max, uint64_t enough_ns)
{
	SCOPED(scoped_free) struct chunk_head *head = r->window.in.seek ? calloc(1, sizeof(*head)) : NULL;
	struct chunk_base base = { 0 };
	uint64_t here = r->window.offset;
	struct index_entry e;
	size_t n = 0;
	int ok, back;

	if (!head)
		return r->window.in.seek ? -ENOMEM : 0;
	reader_turn(r);
	window_pace(&r->window, HOP_STEP, HOP_STEP);
	ok = need_id(r);
	if (!ok)
		ok = window_seek(&r->window, r->start);
	while (!ok && n < max && (ok = hop_on(r, head, &base, &e)) == 1) {
		ok = 0;
		if (e.type == PM_FRAME_CHUNK)
			clocks[n++] = head->clocks;
		if (n && clocks[n - 1].monotonic - clocks[0].monotonic >= enough_ns)
			break;
	}
	if (n > 1)
		r->model.counter_hz = counter_hz(&clocks[0], &clocks[n - 1]);
	window_pace(&r->window, LEAP_STEP, READ_STEP);
	back = window_seek(&r->window, here);
	chunk_head_release(head);
	chunk_base_release(&base);
	return back ? (r->err = back) : ok < 0 && ok != -EAGAIN && !is_damage(ok) ? ok : (int)n;
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
		err = reader_body(r, &h, &body, &len);
	if (err == -ENOTSUP || (!err && h.type > PM_FRAME_CONFIG)) {
		reader_too_new(r, h.type);
		*parts = PM_PART_REPEATED;
		return 0;
	}
	if (err)
		return err;
	r->seen.stored += h.payload_len;
	return decode_definitions(&r->model, h.type, body, len, &r->seen, parts);
}

int reader_look_ahead(struct pm_reader *r, unsigned *parts)
{
	struct index_list *b = &r->catalog.entries;
	uint64_t here = r->window.offset;
	bool whole = false;
	int err, back;

	*parts = 0;
	window_pace(&r->window, LEAP_STEP, LEAP_STEP);
	err = need_id(r);
	if (!err)
		err = catalog_fill(r);
	for (size_t i = 0; i < b->n && !err; i++) {
		const struct index_entry *e = index_list_at(b, i);
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
	window_pace(&r->window, LEAP_STEP, READ_STEP);
	back = window_seek(&r->window, here);
	return back ? back : is_damage(err) ? 0 : err;
}

bool pm_reader_seekable(const struct pm_reader *r)
{
	return r->window.in.seek != NULL;
}

/* ---- from place to place ---- */

/* Finds the last copy of all definitions after entry `from` that ends right before a key chunk at or before entry
 * `to`: its entries are [*first, that chunk's entry, which is returned). 0: there is none. */
static size_t last_copy(struct index_list *b, size_t from, size_t to, size_t *first)
{
	for (size_t i = to; i > from + 1; i--) {
		struct index_entry at = *index_list_at(b, i);
		bool chunk = at.type == PM_FRAME_CHUNK;

		for (*first = i; chunk && *first > from; --*first) {
			const struct index_entry *before = index_list_at(b, *first - 1);

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
	r->frame_open = r->chunk_open = r->held = r->lost = r->turning = false;
	r->sequence_known = r->fresh = r->ended = r->over = false;
	r->base.valid = r->last_decoded = r->chunk_too_new = false;
	r->chain++;
	reader_release_events(r);
	r->last_ns = 0;
}

int pm_reader_seek(struct pm_reader *r, uint64_t monotonic_ns, bool all)
{
	struct index_list *b = &r->catalog.entries;
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
		const struct index_entry *e = index_list_at(b, i);

		if (e->type == PM_FRAME_CHUNK && (best == SIZE_MAX || e->from_ns <= monotonic_ns))
			best = i;
	}
	reader_leap_end(r);
	if (best == SIZE_MAX) {
		err = window_seek(&r->window, r->start);
	} else {
		/* Go back to what was skipped: all of it is available. */
		if (leap->gaps && index_list_at(b, best)->offset < r->window.offset) {
			err = window_seek(&r->window, r->start);
			all = true;
		}
		while (leap->next < best && index_list_at(b, leap->next)->offset < r->window.offset)
			leap->next++;
		leap->to = best;
		leap->on = true;
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
		reader_release_events(r);
		r->held = false;
		return r->leaving = true;
	}
	if (!err)
		err = pm_reader_extent(r, &extent);
	if (err || !r->catalog.next)
		return err;
	reader_leap_end(r);
	err = window_seek(&r->window, r->catalog.next);
	if (err)
		return r->err = err;
	arrive(r);
	/* Whatever has the number 0 is then the first of another. */
	r->ended = r->sequence_known = true;
	r->sequence = 1;
	return 1;
}
