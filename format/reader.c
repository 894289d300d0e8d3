#include "common/array.h"
#include "format/reader_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/cbor.h"
#include "format/crc32c.h"
#include "format/limits.h"
#include "format/model_private.h"

#define LOOKS_MAX 64 /* damages for which looking ahead is worthwhile */

/* Forgets what belongs to one recording. */
static void reset(struct pm_reader *r)
{
	reader_groups_release(r);
	reader_catalog_release(r);
	reader_leap_end(r);
	r->leap.gaps = false;
	pm_model_release(&r->model);
	pm_model_init(&r->model);
	definitions_seen_release(&r->seen);
	r->retired_instances = r->retired_groups = r->forgotten = 0;
	r->base.valid = false;
	r->sequence_known = r->ended = r->hole = false;
	r->n_relations = 0;
	r->damage_timed = r->n_damage; /* the next recording has a clock of its own */
	r->before_chunk = r->n_damage;
	reader_expect_first(r);
	r->last_ns = 0;
	r->too_new = r->hidden = r->chunk_too_new = false;
	r->seen.newer = &r->newer;
	r->start = r->window.offset;
	r->fresh = true;
}

void reader_turn(struct pm_reader *r)
{
	if (!r->turning || r->held)
		return;
	reset(r);
	r->turning = r->id_known = false;
}

void reader_release_events(struct pm_reader *r)
{
	for (size_t i = 0; i < r->n_events; i++)
		pm_event_release(&r->event[i]);
	r->n_events = r->next_event = 0;
}

/* Takes over *e. */
static int queue_event(void *ctx, struct pm_event *e)
{
	struct pm_reader *r = ctx;

	if (array_room(&r->event, r->n_events, sizeof(*r->event)))
		return -ENOMEM;
	r->event[r->n_events++] = *e;
	return 0;
}

/* Reports that what has retired is gone, as an event. */
static int queue_gone(struct pm_reader *r)
{
	const struct model_ids *ids = &r->model.caps->instance_ids;
	uint32_t from = r->forgotten == r->model.caps->forgotten ? r->retired_instances : ids->n_kept;
	int err = 0;

	for (uint32_t i = from; i < ids->n_retired && !err; i++) {
		const struct pm_instance *x = pm_model_instance(&r->model, ids->retired[i]);
		struct pm_event e = { .type = PM_EVENT_GONE, .time_ns = x->retired_ns };

		err = pm_map_set(&e.attrs, PM_EVENT_KEY_INSTANCE, pm_u64(x->id));
		if (!err)
			err = queue_event(r, &e);
		if (err)
			pm_event_release(&e);
	}
	r->retired_instances = ids->n_retired;
	return err;
}

void pm_reader_close(struct pm_reader *r)
{
	if (!r)
		return;
	reader_groups_release(r);
	reader_catalog_release(r);
	reader_leap_end(r);
	window_release(&r->window);
	pm_model_release(&r->model);
	reader_release_events(r);
	free(r->event);
	definitions_seen_release(&r->seen);
	pm_zstd_free(r->zstd);
	buf_release(&r->body);
	chunk_head_release(&r->head);
	chunk_base_release(&r->base);
	free(r->damage);
	free(r->relation);
	free(r->chunk_group);
	buf_release(&r->newer);
	free(r);
}

int reader_body(struct pm_reader *r, const struct frame_head *h, const void **body, size_t *len)
{
	const uint8_t *payload = window_at(&r->window) + h->head_len;
	uint64_t raw = 0, codec = 0;
	struct cbor c = cbor_over(h->meta, h->meta_len);
	struct cbor_map m;
	uint32_t crc;
	int err;

	if (frame_trailer(payload + h->payload_len, &crc) || crc != crc32c(payload, h->payload_len))
		return -EBADMSG;
	for (cbor_map(&c, &m); cbor_next(&c, &m);) {
		if (m.key == PM_META_CODEC)
			codec = cbor_uint(&c);
		else if (m.key == PM_META_RAW)
			raw = cbor_uint(&c);
		else
			cbor_skip(&c);
	}
	r->rule = c.err ? (enum pm_rule)c.rule : PM_RULE_BODY;
	if (c.err)
		return -EPROTO;
	*body = payload;
	*len = (size_t)h->payload_len;
	if (!codec)
		return 0;
	/* Memory stays proportional to what was read. */
	if (codec > PM_BODY_ZSTD_KNOWN)
		return -ENOTSUP;
	if (raw > PM_MAX_BODY)
		return -EPROTO;
	if (raw > PM_FREE_BODY + h->payload_len * PM_BYTE_BODY)
		return -E2BIG;
	buf_clear(&r->body);
	err = codec == PM_BODY_ZSTD ?
		      pm_zstd_decompress(r->zstd, payload, (size_t)h->payload_len, (size_t)raw, &r->body) :
		      pm_zstd_decompress_known(r->zstd, payload, (size_t)h->payload_len, (size_t)raw, &r->body);
	if (err)
		return err == -EBADMSG ? -EPROTO : err;
	*body = r->body.data;
	*len = r->body.len;
	return 0;
}

/* ---- items ---- */

/* Skips a frame that is not to be returned. */
static int drop_frame(struct pm_reader *r, const struct frame_head *h)
{
	return window_skip(&r->window, frame_len(h));
}

static int damage_item(struct pm_reader *r, struct pm_item *item)
{
	const struct pm_damage *d = r->damage + r->damage_told;

	if (r->damage_told == r->n_damage)
		return r->err = -ENOMEM;
	r->damage_told++;
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
	uint64_t left = r->frame_end - w->offset;
	int err;

	if (!r->frame_open)
		return 0;
	if (r->chunk_open && !r->chunk_decoded) {
		uint8_t trailer[FRAME_TRAILER];
		uint64_t start = w->offset;
		uint32_t crc;

		/* A skipped frame is not verified, but it must end where it says. */
		err = window_skip(w, left - FRAME_TRAILER);
		if (!err)
			err = window_need(w, FRAME_TRAILER);
		if (err)
			return err;
		if (window_has(w) < FRAME_TRAILER) {
			reader_damage_add(r, PM_DAMAGE_CUT, start, w->offset + window_has(w) - start,
					  "the file ends inside a chunk");
			left = window_has(w);
		} else {
			memcpy(trailer, window_at(w), sizeof(trailer));
			if (frame_trailer(trailer, &crc))
				reader_damage_add(r, PM_DAMAGE_GARBAGE, start, r->frame_end - start,
						  "a chunk does not end where it says");
			left = FRAME_TRAILER;
		}
	}
	r->frame_open = r->chunk_open = false;
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
	if ((!same && (r->ended || h->type == PM_FRAME_HEADER)) ||
	    (h->type == PM_FRAME_HEADER && h->sequence == 0 && r->sequence_known)) {
		*begins = true;
		return 0;
	}
	if (same && (!r->sequence_known || h->sequence >= r->sequence))
		return 1;
	reader_damage_add(r, PM_DAMAGE_FOREIGN, r->window.offset, frame_len(h),
			  same ? "a repeated frame" : "a frame of another recording");
	err = drop_frame(r, h);
	return err ? err : 0;
}

static int content_damage(struct pm_reader *r, const struct frame_head *h, int err)
{
	const char *name = pm_frame_name(h->type);
	enum pm_damage_kind kind = err == -ENOLINK ? PM_DAMAGE_PARTIAL :
				   err == -EBADMSG ? PM_DAMAGE_GARBAGE :
						     PM_DAMAGE_CONTENT;

	if (err == -EBADMSG)
		reader_frame_within(r, h);
	reader_damage_add(r, kind, r->window.offset, r->frame_end - r->window.offset,
			  err == -ENOLINK ? "%s frame: refers to definitions that are lost" :
			  err == -EBADMSG ? "%s frame: its checksum fails" :
			  err == -E2BIG   ? "%s frame: beyond the limits of the format" :
					    "%s frame breaks a rule of the format: %s",
			  name ? name : "unknown", pm_rule_text(r->rule));
	return 0;
}

/* The model has. */
static int changed(struct pm_reader *r)
{
	int err = 0;

	reader_release_events(r);
	if (r->model.caps)
		err = reader_groups_changed(r);
	if (r->model.caps && !err)
		err = queue_gone(r);
	if (r->model.caps)
		r->forgotten = r->model.caps->forgotten;
	return err;
}

static int definitions(struct pm_reader *r, const struct frame_head *h, const void *body, size_t len,
		       struct pm_item *item)
{
	int err;

	r->seen.stored += h->payload_len;
	err = decode_definitions(&r->model, h->type, body, len, &r->seen, &item->parts);
	r->rule = r->seen.rule;
	if (!err)
		err = reader_leap_over(r, h, body, len, &item->parts);

	/* Bodies for very many counters are large and rare. */
	if (r->body.cap > 256u << 10)
		buf_release(&r->body);
	if (err)
		return err == -EBADMSG ? -EPROTO : err;
	item->kind = PM_ITEM_MODEL;
	return changed(r);
}

static void event_item(struct pm_reader *r, struct pm_item *item)
{
	item->kind = PM_ITEM_EVENT;
	item->event = &r->event[r->next_event++];
}

/* Fills the item from a frame other than a chunk. Returns 0: good; -EBADMSG, -EPROTO, -ENOLINK, -E2BIG: damage;
 * other: failure. */
static int small_frame(struct pm_reader *r, const struct frame_head *h, struct pm_item *item)
{
	const void *body;
	size_t len;
	int err = reader_body(r, h, &body, &len);

	if (err != -EBADMSG && (err == -ENOTSUP || h->type < PM_FRAME_HEADER || h->type > PM_FRAME_END)) {
		reader_too_new(r, h->type);
		item->kind = PM_ITEM_OTHER;
		item->newer = pm_frame_critical(h->type);
		return 0;
	}
	if (err)
		return err;
	switch (h->type) {
	case PM_FRAME_EVENT:
		reader_release_events(r);
		err = decode_events(body, len, queue_event, r, &r->rule);
		if (err)
			reader_release_events(r);
		if (err)
			return err == -EBADMSG ? -EPROTO : err;
		item->kind = PM_ITEM_OTHER;
		if (r->n_events)
			event_item(r, item);
		return 0;
	case PM_FRAME_INDEX:
		item->kind = PM_ITEM_INDEX;
		return 0;
	case PM_FRAME_END:
		item->kind = PM_ITEM_END;
		r->ended = true;
		return 0;
	default:
		return definitions(r, h, body, len, item);
	}
}

/* Without this, nothing would be said about what follows a stop in the middle. */
static int at_end(struct pm_reader *r, struct pm_item *item)
{
	if (r->damage_told < r->n_damage)
		return damage_item(r, item);
	if (!r->ended && !r->over && !r->leaving &&
	    !(r->n_damage && r->damage[r->n_damage - 1].kind == PM_DAMAGE_CUT)) {
		r->over = true;
		reader_damage_add(r, PM_DAMAGE_NO_END, r->window.offset, 0,
				  "no end frame: the recorder was killed, or is still running");
		return damage_item(r, item);
	}
	r->over = true;
	return 0;
}

/* Reads one frame. 1: *item is set; 0: look again; -errno. */
static int take_frame(struct pm_reader *r, struct frame_head *h, struct pm_item *item)
{
	struct window *w = &r->window;
	uint64_t offset = w->offset, length = frame_len(h), lost;
	bool begins;
	int hidden, ok;

	if (h->type == PM_FRAME_CHUNK && r->leap.named && !r->leap.on) {
		*item = (struct pm_item){ .kind = PM_ITEM_MODEL,
					  .offset = offset,
					  .type = PM_FRAME_HEADER,
					  .parts = PM_PART_SCHEMA | PM_PART_INSTANCES };
		ok = reader_copy_over(r, h);
		ok = ok ? ok : changed(r);
		return ok ? ok : 1;
	}
	/* After damage, look for a copy of the definitions that it may have cost. */
	if (h->type == PM_FRAME_CHUNK && r->n_damage > r->looked_ahead && r->window.in.seek &&
	    !r->window.in.growing) {
		r->looked_ahead = r->n_damage < LOOKS_MAX ? r->n_damage : SIZE_MAX;
		*item = (struct pm_item){ .kind = PM_ITEM_MODEL, .offset = offset, .type = PM_FRAME_HEADER };
		ok = reader_look_ahead(r, &item->parts);
		return ok ? ok : item->parts != 0;
	}
	if ((hidden = reader_hides(r, h)))
		return hidden < 0 ? hidden : drop_frame(r, h);
	r->frame_end = offset + length;
	ok = belongs(r, h, &begins);
	if (begins) {
		if (!r->ended)
			reader_damage_add(r, PM_DAMAGE_NO_END, offset, 0,
					  "no end frame before the next recording begins");
		r->leaving = false;
		r->turning = true;
		*item = (struct pm_item){ .kind = PM_ITEM_RECORDING, .offset = offset, .type = h->type };
		return 1;
	}
	if (ok > 0 && r->leaving) {
		r->sequence = h->sequence + 1;
		r->ended |= h->type == PM_FRAME_END;
		return drop_frame(r, h);
	}
	if (ok <= 0)
		return ok;
	lost = h->sequence - (r->sequence_known ? r->sequence : r->fresh ? 0 : h->sequence);
	if (lost)
		reader_damage_frames(r, lost, offset);
	r->sequence_known = true;
	r->sequence = h->sequence + 1;
	r->fresh = r->ended = false;
	*item = (struct pm_item){
		.offset = offset,
		.length = length,
		.sequence = h->sequence,
		.type = h->type,
	};
	r->stats.frames++;
	ok = h->type == PM_FRAME_CHUNK ? reader_chunk(r, h, item) : small_frame(r, h, item);
	if (ok == -ENODATA)
		return drop_frame(r, h);
	if (ok == -EBADMSG || ok == -EPROTO || ok == -ENOLINK || ok == -E2BIG) {
		content_damage(r, h, ok);
		return window_skip(&r->window, r->frame_end - r->window.offset);
	}
	if (ok)
		return ok;
	r->frame_open = true;
	return 1;
}

int pm_reader_next(struct pm_reader *r, struct pm_item *item)
{
	if (r->err)
		return r->err;
	reader_turn(r);
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
			ok = reader_leap(r);
		if (!ok)
			ok = reader_find(r, &h);
		if (ok == 0)
			return r->ended && r->window.in.growing ? 0 : at_end(r, item);
		if (ok == -EAGAIN)
			return r->ended && !r->lost && !window_has(&r->window) ? 0 : -EAGAIN;
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

const struct pm_model *pm_reader_model(const struct pm_reader *r)
{
	return &r->model;
}

struct pm_reader_stats pm_reader_stats(const struct pm_reader *r)
{
	struct pm_reader_stats s = r->stats;

	s.bytes_read = r->window.bytes_read;
	return s;
}
