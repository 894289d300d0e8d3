/* Opening: what a file must begin with, and which of its recordings this version can read. */
#include "format/reader_private.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/limits.h"

#define FEATURES_KNOWN 0ull /* incompatible features that this version reads */

/* Before anything else of a recording is read: does its header say that it cannot be read? 1, 0 or -ENOMEM. */
static int header_too_new(struct pm_reader *r, const struct frame_head *h)
{
	struct definitions_seen seen = { 0 };
	struct pm_model m;
	const struct pm_value *bits = NULL;
	const void *body;
	unsigned parts;
	size_t len;
	bool too_new = false;
	int err = reader_body(r, h, &body, &len);
	bool newer_body = err == -ENOTSUP;

	pm_model_init(&m);
	if (!err)
		err = decode_definitions(&m, h->type, body, len, &seen, &parts);
	if (!err)
		bits = pm_map_get(&m.header, PM_HEADER_INCOMPATIBLE);
	if (bits)
		too_new = bits->kind != PM_VALUE_U64 || bits->u64 & ~FEATURES_KNOWN;
	for (uint32_t i = 0; i < m.header.n; i++)
		too_new |= pm_key_critical(m.header.field[i].key);
	pm_model_release(&m);
	definitions_seen_release(&seen);
	return err == -ENOMEM ? err : too_new || newer_body;
}

int reader_hides(struct pm_reader *r, const struct frame_head *h)
{
	const uint8_t *id = r->hidden ? r->hidden_id : r->id;
	int too_new;

	if (h->type != PM_FRAME_HEADER ||
	    ((r->hidden || r->id_known) && !memcmp(id, h->id, sizeof(r->id)) && (h->sequence || !r->sequence)))
		return r->hidden;
	if ((too_new = header_too_new(r, h)) < 0)
		return too_new;
	if (!too_new) {
		if (r->hidden && !r->id_known)
			r->start = r->window.offset;
		r->hidden = false;
		return 0;
	}
	newer_note(&r->newer, "the recording at byte %" PRIu64 " uses features newer than this program",
		   r->window.offset);
	if (r->id_known && !r->ended)
		reader_damage_add(r, PM_DAMAGE_NO_END, r->window.offset, 0,
				  "no end frame before the next recording begins");
	memcpy(r->hidden_id, h->id, sizeof(r->id));
	r->hidden = r->ended = true;
	return 1;
}

void reader_too_new(struct pm_reader *r, unsigned type)
{
	bool critical = pm_frame_critical(type);

	newer_note(&r->newer, "frames of type %u are newer than this program%s", type,
		   critical ? ": numbers after them cannot be read" : "");
	r->too_new |= critical;
}

const char *pm_reader_newer(const struct pm_reader *r)
{
	return r->newer.len ? buf_str((struct buf *)&r->newer) : "";
}

static int no_recording(const uint8_t *start, size_t len, struct error *e)
{
	const char *name = sniff(start, len);

	if (!len)
		return error_set(e, EINVAL, "the file is empty");
	if (name)
		return error_set(e, EINVAL, "is %s, not a recording", name);
	return error_set(e, EINVAL, "is not a recording");
}

static int other_major(unsigned major, struct error *e)
{
	return error_set(e, ENOTSUP, "is a recording of major version %u; this program reads version %d", major,
			 PM_MAJOR);
}

/* Moves to the first good frame, whatever lies before it. */
static int open_at(struct pm_reader *r, struct error *e)
{
	struct window *w = &r->window;
	uint8_t start[FRAME_PROBE];
	struct frame_head h;
	bool ours;
	size_t len;
	int hidden = 0, ok = window_need(w, sizeof(start));

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
	ok = reader_find(r, &h);
	if (ok < 0)
		return error_sys(e, -ok, "read");
	if (ok == 1 && ours && len > FRAME_MAGIC_LEN && start[FRAME_MAGIC_LEN] != PM_MAJOR &&
	    h.type != PM_FRAME_HEADER)
		ok = 0;
	if (!ok && ours && len > FRAME_MAGIC_LEN && start[FRAME_MAGIC_LEN] != PM_MAJOR)
		return other_major(start[FRAME_MAGIC_LEN], e);
	if (!ok && ours)
		return error_set(e, EINVAL, "is a recording, but none of its frames can be read");
	if (!ok)
		return no_recording(start, len, e);
	while (ok == 1 && (hidden = reader_hides(r, &h)) > 0) {
		ok = window_skip(w, frame_len(&h));
		if (!ok)
			ok = reader_find(r, &h);
	}
	r->ended = false;
	ok = hidden < 0 ? hidden : ok;
	return ok == 1 ? 0 :
	       ok      ? error_sys(e, -ok, "read") :
			 error_set(e, ENOTSUP, "the recording uses features newer than this program");
}

int pm_reader_open(struct pm_reader **out, struct pm_input *in, struct error *e)
{
	struct pm_reader *r = calloc(1, sizeof(*r));
	int err;

	*out = NULL;
	if (!r) {
		if (in->close)
			in->close(in->ctx);
		return error_sys(e, ENOMEM, "reader");
	}
	r->window.in = *in;
	window_pace(&r->window, LEAP_STEP, READ_STEP);
	*in = (struct pm_input){ 0 };
	pm_model_init(&r->model);
	r->zstd = pm_zstd_new();
	err = r->zstd ? open_at(r, e) : error_sys(e, ENOMEM, "reader");
	if (err) {
		pm_reader_close(r);
		return err;
	}
	r->start = r->window.offset;
	r->seen.newer = &r->newer;
	r->fresh = true;
	r->groups_room = PM_FREE_GROUPS;
	reader_expect_first(r);
	*out = r;
	return 0;
}
