/* Finds the next frame: right after the last one or, after damage, at the next magic number. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "format/reader_private.h"

#define SEARCH_MAX (64u << 20) /* how far to search for the first frame */
#define VAIN_FREE  (64u << 20) /* bytes with wrong checksums in which frames are searched for, ... */
#define VAIN_BYTE  16          /* ... and more for each byte read: heads may all claim what follows them */

/* Starts to look for the next frame; what lies between is lost. */
static void lose(struct pm_reader *r, bool cut, const char *text)
{
	if (!r->lost) {
		r->lost = true;
		r->lost_from = r->window.offset;
		r->lost_cut = cut;
		snprintf(r->lost_text, sizeof(r->lost_text), "%s", text);
	}
}

/* Bytes [from, here) could not be used. */
static void note_lost(struct pm_reader *r, bool at_end)
{
	uint64_t length = r->window.offset - r->lost_from;

	r->lost = false;
	if (!length)
		return;
	if (at_end && r->lost_cut)
		reader_damage_add(r, PM_DAMAGE_CUT, r->lost_from, length, "the file ends inside a frame");
	else
		reader_damage_add(r, PM_DAMAGE_GARBAGE, r->lost_from, length, "%s", r->lost_text);
}

int reader_to_magic(struct window *w)
{
	const uint8_t *found = memmem(window_at(w), window_has(w), frame_magic, FRAME_MAGIC_LEN);
	int err;

	/* The last bytes may be the beginning of a frame. */
	err = window_skip(w, found ? (uint64_t)(found - window_at(w)) : window_has(w) - (FRAME_MAGIC_LEN - 1));
	return err ? err : found ? 1 : 0;
}

/* Whether to look for frames in bytes with a wrong checksum. */
static bool looks_within(struct pm_reader *r, uint64_t bytes)
{
	r->vain += bytes;
	return r->vain <= VAIN_FREE + VAIN_BYTE * r->window.bytes_read;
}

int reader_pass(struct pm_reader *r)
{
	size_t step = looks_within(r, r->claimed) ? 1 : r->claimed, has = window_has(&r->window);

	return window_skip(&r->window, step < has ? step : has);
}

void reader_frame_within(struct pm_reader *r, const struct frame_head *h)
{
	const uint8_t *start = window_at(&r->window), *found;
	size_t len = (size_t)(r->frame_end - r->window.offset);

	if (!looks_within(r, len))
		return;
	found = memmem(start + h->head_len, len - h->head_len, frame_magic, FRAME_MAGIC_LEN);
	if (found)
		r->frame_end = r->window.offset + (uint64_t)(found - start);
}

/* Moves at least one byte to the next place that looks like a frame. 1, 0 at the end, -errno. */
static int search(struct pm_reader *r)
{
	struct window *w = &r->window;
	int err = reader_pass(r);

	while (!err) {
		err = window_need(w, FRAME_MAGIC_LEN);
		if (err)
			break;
		if (window_has(w) < FRAME_MAGIC_LEN)
			return w->in.growing ? -EAGAIN : 0;
		if (!r->id_known && w->offset > SEARCH_MAX)
			return 0;
		err = reader_to_magic(w);
	}
	return err;
}

/* Parses the head at the window's position. FRAME_OK; FRAME_SHORT: the input ends inside; -EBADMSG, -ENOTSUP, -errno.
 */
static int parse(struct pm_reader *r, struct frame_head *h, unsigned *major)
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

/* Makes sure that the whole frame is available, in the window or, for chunks of a file, in the file. FRAME_OK,
 * FRAME_SHORT, -errno. */
static int have_frame(struct pm_reader *r, struct frame_head *h)
{
	struct window *w = &r->window;
	size_t need;
	unsigned major;
	int err;

	if (h->type == PM_FRAME_CHUNK && w->in.seek && !w->in.growing && w->in.size != UINT64_MAX)
		return w->offset + frame_len(h) <= w->in.size ? FRAME_OK : FRAME_SHORT;
	err = window_need(w, frame_len(h));
	if (err)
		return err;
	if (window_has(w) < frame_len(h))
		return FRAME_SHORT;
	/* The window may have moved. */
	return frame_parse(window_at(w), window_has(w), h, &need, &major);
}

int reader_find(struct pm_reader *r, struct frame_head *h)
{
	struct window *w = &r->window;

	for (;;) {
		unsigned major = 0;
		int ok = parse(r, h, &major);

		if (ok == FRAME_OK)
			ok = have_frame(r, h);
		if (ok == FRAME_OK) {
			if (r->lost)
				note_lost(r, false);
			return 1;
		}
		if (ok == FRAME_SHORT && w->in.growing)
			return -EAGAIN;
		if (ok == FRAME_SHORT && !window_has(w)) {
			if (r->lost)
				note_lost(r, true);
			return 0;
		}
		if (ok < 0 && ok != -EBADMSG && ok != -ENOTSUP)
			return ok;
		if (ok != -ENOTSUP) {
			lose(r, ok == FRAME_SHORT, "bytes that are not a frame");
		} else {
			if (r->lost)
				note_lost(r, false);
			newer_note(&r->newer, "recordings of major version %u are newer than this program", major);
		}
		ok = search(r);
		if (ok < 0)
			return ok;
		if (!ok) {
			/* The rest is too short for a frame. */
			int err = window_skip(w, window_has(w));

			if (err)
				return err;
			if (r->lost)
				note_lost(r, true);
			return 0;
		}
	}
}
