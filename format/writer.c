#include "common/array.h"
#include "format/writer_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/definitions.h"
#include "format/limits.h"
#include "format/model_private.h"

int pm_writer_new(struct pm_writer **out, const struct pm_writer_config *config, struct error *e)
{
	struct pm_writer *w = calloc(1, sizeof(*w));

	*out = NULL;
	if (!w)
		return error_sys(e, ENOMEM, "writer");
	w->config = *config;
	if (!w->config.zstd_level)
		w->config.zstd_level = 1;
	w->zstd = pm_zstd_new();
	if (!w->zstd) {
		pm_writer_free(w);
		return error_sys(e, ENOMEM, "writer");
	}
	*out = w;
	return 0;
}

void pm_writer_free(struct pm_writer *w)
{
	if (!w)
		return;
	pm_zstd_free(w->zstd);
	pm_map_release(&w->written.header);
	free(w->written.config_instances);
	buf_release(&w->meta);
	buf_release(&w->body);
	buf_release(&w->packed);
	buf_release(&w->frame);
	buf_release(&w->block.items);
	buf_release(&w->block.bits);
	buf_release(&w->payload);
	buf_release(&w->events);
	block_scratch_release(&w->scratch);
	for (uint32_t i = 0; i < w->groups_cap; i++) {
		layout_release(&w->group[i].layout);
		free(w->group[i].last);
	}
	free(w->group);
	chunk_head_release(&w->head);
	chunk_base_release(&w->base);
	index_release(&w->index);
	free(w);
}

int writer_fail(struct pm_writer *w, int err, const char *what)
{
	if (!w->err) {
		w->err = err;
		error_sys(&w->error, -err, "%s", what);
	}
	return w->err;
}

struct pm_writer_stats pm_writer_stats(const struct pm_writer *w)
{
	struct pm_writer_stats stats = w->stats;

	stats.copy_bytes = w->definitions_bytes;
	return stats;
}

const char *pm_writer_error(const struct pm_writer *w)
{
	return w->error.text;
}

void pm_writer_break(struct pm_writer *w)
{
	w->break_asked = true;
}

/* Where this frame is, and how far it is from the last index. */
static void add_links(const struct pm_writer *w, struct cbor_fields *f)
{
	cbor_field_uint(f, PM_META_OFFSET, w->offset);
	if (w->index_offset)
		cbor_field_uint(f, PM_META_INDEX, w->offset - w->index_offset);
}

/* Writes w->body as the payload of a frame, compressed if that helps. */
static int body_frame(struct pm_writer *w, unsigned type, bool repeated, bool index)
{
	struct index_entry entry = { .repeated = repeated };
	const struct buf *payload = &w->body;
	struct cbor_fields fields;
	/* The first definitions are written once, before timing matters, so compress them better. */
	bool begins = !w->stats.chunks && w->body.len <= BEGIN_BYTES;
	int later = w->config.zstd_level > LATER_LEVEL ? w->config.zstd_level : LATER_LEVEL;
	int err, level = begins ? BEGIN_LEVEL : later;

	if (w->body.err)
		return writer_fail(w, w->body.err, "definitions");
	if (w->body.len > PM_MAX_BODY)
		return writer_fail(w, -E2BIG, "definitions");
	buf_clear(&w->packed);
	if (w->body.len > 32 && !w->config.loose) {
		err = repeated ? pm_zstd_compress_known(w->zstd, w->body.data, w->body.len, &w->packed) :
				 pm_zstd_compress(w->zstd, w->body.data, w->body.len, level, &w->packed);
		if (err)
			return writer_fail(w, err, "zstd");
		if (w->packed.len + 6 < w->body.len)
			payload = &w->packed;
	}
	buf_clear(&w->meta);
	fields = cbor_fields(&w->meta);
	cbor_field_uint(&fields, PM_META_PAYLOAD, payload->len);
	if (payload == &w->packed) {
		cbor_field_uint(&fields, PM_META_CODEC, repeated ? PM_BODY_ZSTD_KNOWN : PM_BODY_ZSTD);
		cbor_field_uint(&fields, PM_META_RAW, w->body.len);
	}
	if (repeated) {
		cbor_field(&fields, PM_META_REPEATED);
		cbor_add_bool(&w->meta, true);
	}
	if (index)
		add_links(w, &fields);
	return writer_frame(w, type, payload->data, payload->len, &entry, NULL);
}

static int index_frame(struct pm_writer *w)
{
	uint64_t at = w->offset;
	int err;

	buf_clear(&w->body);
	index_encode(&w->index, &w->body);
	err = body_frame(w, PM_FRAME_INDEX, false, true);
	w->index_offset = at;
	return err;
}

int writer_index(struct pm_writer *w)
{
	bool due = w->index.chunks >= INDEX_EVERY || w->index.n >= INDEX_FRAMES;

	return due && !w->config.without_index ? index_frame(w) : 0;
}

/* ---- definitions ---- */

static void clear(struct pm_writer *w)
{
	buf_clear(&w->body);
}

/* Writes the body unless it is one of `empty` bytes, which has nothing in it. */
static int list_frame(struct pm_writer *w, unsigned type, bool repeated, size_t empty)
{
	return w->body.err || w->body.len > empty ? body_frame(w, type, repeated, false) : 0;
}

static int schema(struct pm_writer *w, struct span counters, struct span groups, struct span strings,
		  struct retired retired, bool repeated)
{
	int err = 0;

	while (!err &&
	       (counters.from < counters.to || groups.from < groups.to || strings.from < strings.to || retired.n)) {
		clear(w);
		encode_schema(&w->body, w->config.model, &counters, &groups, &strings, &retired, repeated);
		err = list_frame(w, PM_FRAME_SCHEMA, repeated, 1);
	}
	return err;
}

static int instances(struct pm_writer *w, struct span all, struct retired retired, bool repeated)
{
	int err = 0;

	while (!err && (all.from < all.to || retired.n)) {
		clear(w);
		encode_instances(&w->body, w->config.model, &all, &retired, repeated);
		retired.n = 0;
		err = list_frame(w, PM_FRAME_INSTANCES, repeated, 1);
	}
	return err;
}

/* The first of retired[] that has not been written: whatever was defined with it already says so. */
static uint32_t unwritten(uint32_t done, const struct pm_writer *w, const struct model_ids *ids)
{
	return w->written.forgotten == w->config.model->caps->forgotten ? done : ids->n_kept;
}

/* Collects ids that retired after they were written as living; the caller frees them. */
static int find_retired(struct pm_writer *w, const struct model_ids *ids, uint32_t done, uint32_t last, uint32_t **id,
			struct retired *out)
{
	uint32_t from = unwritten(done, w, ids), n = 0;

	*out = (struct retired){ 0 };
	*id = NULL;
	if (from == ids->n_retired)
		return 0;
	*id = malloc((ids->n_retired - from) * sizeof(**id));
	if (!*id)
		return writer_fail(w, -ENOMEM, "definitions");
	for (uint32_t i = from; i < ids->n_retired; i++)
		if (ids->retired[i] <= last)
			(*id)[n++] = ids->retired[i];
	*out = (struct retired){ .id = *id, .n = n };
	return 0;
}

/* The retirements are written, so the model may forget them. */
static void note_retired(struct pm_writer *w)
{
	struct written *x = &w->written;

	pm_model_forget(w->config.model, NULL, NULL, false);
	x->forgotten = w->config.model->caps->forgotten;
	x->retired_instances = w->config.model->caps->instance_ids.n_retired;
	x->retired_groups = w->config.model->caps->group_ids.n_retired;
}

static bool config_changed(const void *ctx, uint32_t index)
{
	const struct pm_writer *w = ctx;

	return index >= w->written.configs ||
	       w->config.model->config[index].instances.n != w->written.config_instances[index];
}

/* Only numbers scale counters; texts and tables are not repeated. */
static bool config_scales(const void *ctx, uint32_t index)
{
	const struct pm_config *c = &((const struct pm_writer *)ctx)->config.model->config[index];

	return c->reason == PM_OK && c->privacy == PM_PRIVACY_TECHNICAL && c->value.kind <= PM_VALUE_BOOL;
}

static int configs(struct pm_writer *w, bool repeated)
{
	const struct pm_model *m = w->config.model;
	bool (*chosen)(const void *ctx, uint32_t index) = repeated ? config_scales : config_changed;
	struct span all = { 0, m->n_configs };
	int err = 0;

	while (!err && all.from < all.to) {
		clear(w);
		encode_config(&w->body, m, &all, chosen, w);
		err = list_frame(w, PM_FRAME_CONFIG, repeated, 3);
	}
	return err;
}

static int note_configs(struct pm_writer *w)
{
	const struct pm_model *m = w->config.model;
	struct written *x = &w->written;

	if (array_hold(&x->config_instances, &x->config_cap, m->n_configs, sizeof(*x->config_instances)))
		return writer_fail(w, -ENOMEM, "config");
	for (uint32_t i = 0; i < m->n_configs; i++)
		x->config_instances[i] = m->config[i].instances.n;
	x->configs = m->n_configs;
	return 0;
}

static int list_frames(struct pm_writer *w, unsigned type, struct span all,
		       void (*encode)(struct buf *out, const struct pm_model *m, struct span *span), bool repeated)
{
	int err = 0;

	while (!err && all.from < all.to) {
		clear(w);
		encode(&w->body, w->config.model, &all);
		err = body_frame(w, type, repeated, false);
	}
	return err;
}

static int header(struct pm_writer *w)
{
	const struct pm_model *m = w->config.model;
	struct written *x = &w->written;
	int err;

	if (x->header_valid && pm_map_equal(&m->header, &x->header))
		return 0;
	clear(w);
	encode_header(&w->body, m);
	err = body_frame(w, PM_FRAME_HEADER, false, false);
	if (err)
		return err;
	pm_map_release(&x->header);
	x->header_valid = true;
	return pm_map_copy(&x->header, &m->header) ? writer_fail(w, -ENOMEM, "header") : 0;
}

static int topology(struct pm_writer *w, bool repeated)
{
	if (!w->config.model->topology.n)
		return 0;
	clear(w);
	encode_topology(&w->body, &w->config.model->topology);
	return body_frame(w, PM_FRAME_TOPOLOGY, repeated, false);
}

/* The place in the model of the first item that was not written: ids are assigned in ascending order. */
#define FIRST_NEW(m, list, n, last) \
	({ \
		uint32_t at = (m)->n; \
		while (at && (m)->list[at - 1].id > (last)) \
			at--; \
		at; \
	})

static int new_members(struct pm_writer *w)
{
	const struct pm_model *m = w->config.model;
	struct written *x = &w->written;
	uint32_t group = FIRST_NEW(m, group, n_groups, x->last_group);
	uint32_t instance = FIRST_NEW(m, instance, n_instances, x->last_instance);
	uint32_t *id = NULL, kept = 0;
	struct retired gone;
	int err;

	err = find_retired(w, &m->caps->instance_ids, x->retired_instances, x->last_instance, &id, &gone);
	if (!err)
		err = instances(w, (struct span){ instance, m->n_instances }, gone, false);
	free(id);
	id = NULL;
	if (!err)
		err = find_retired(w, &m->caps->group_ids, x->retired_groups, UINT32_MAX, &id, &gone);
	for (uint32_t i = 0; i < gone.n && !err; i++)
		if (!pm_model_group(m, id[i])->continued)
			id[kept++] = id[i];
	gone.n = kept;
	if (!err)
		err = schema(w, (struct span){ x->counters, m->n_counters }, (struct span){ group, m->n_groups },
			     (struct span){ x->strings, m->n_strings }, gone, false);
	free(id);
	for (uint32_t i = group; i < m->n_groups && !err; i++)
		if (m->group[i].continues)
			err = writer_group_continue(w, &m->group[i]);
	if (err)
		return err;
	x->last_instance = m->last_instance;
	x->last_group = m->last_group;
	x->counters = m->n_counters;
	x->strings = m->n_strings;
	note_retired(w);
	return 0;
}

int pm_writer_define(struct pm_writer *w)
{
	const struct pm_model *m = w->config.model;
	struct written *x = &w->written;
	uint64_t before = w->offset;
	int err = w->err;

	if (!err)
		err = header(w);
	if (err || !m->caps)
		return err;
	if (m->caps->topology_version != x->topology) {
		x->topology = m->caps->topology_version;
		err = topology(w, false);
	}
	if (!err)
		err = new_members(w);
	if (err)
		return err;
	if (!w->repeats)
		w->definitions_bytes += w->offset - before;
	err = list_frames(w, PM_FRAME_PMUS, (struct span){ x->pmus, m->n_pmus }, encode_pmus, false);
	if (!err)
		err = list_frames(w, PM_FRAME_PROBES, (struct span){ x->probes, m->n_probes }, encode_probes, false);
	if (err)
		return err;
	x->pmus = m->n_pmus;
	x->probes = m->n_probes;
	if (m->caps->config_changes == x->config_changes)
		return 0;
	err = configs(w, false);
	if (!err)
		err = note_configs(w);
	x->config_changes = m->caps->config_changes;
	/* A recorder's first reading comes next; the second is not to show what memory its copies need. */
	if (!err && !w->stats.chunks && !w->config.loose && pm_zstd_warm(w->zstd))
		err = writer_fail(w, -ENOMEM, "zstd");
	return err;
}

static int repeat(struct pm_writer *w)
{
	const struct pm_model *m = w->config.model;
	struct retired none = { 0 };
	uint64_t before = w->offset;
	int err;

	clear(w);
	encode_header(&w->body, m);
	err = body_frame(w, PM_FRAME_HEADER, true, false);
	if (!err)
		err = topology(w, true);
	if (!err)
		err = instances(w, (struct span){ 0, m->n_instances }, none, true);
	if (!err)
		err = schema(w, (struct span){ 0, m->n_counters }, (struct span){ 0, m->n_groups },
			     (struct span){ 0, m->n_strings }, none, true);
	if (!err)
		err = list_frames(w, PM_FRAME_PMUS, (struct span){ 0, m->n_pmus }, encode_pmus, true);
	if (!err)
		err = configs(w, true);
	w->definitions_bytes = w->offset - before;
	w->copies_apart |= before - w->repeat_offset >= REPEAT_APART;
	w->repeat_offset = w->offset;
	w->repeats++;
	return err;
}

int writer_repeat(struct pm_writer *w, uint64_t now_ns, bool key)
{
	uint64_t age;
	int err;

	if (!w->begin_ns) {
		w->begin_ns = w->repeat_ns = now_ns;
		w->repeat_offset = w->offset;
		return 0;
	}
	age = now_ns - w->repeat_ns;
	if (w->repeats && w->offset - w->repeat_offset < REPEAT_APART)
		return 0;
	if (w->repeats < 2 && now_ns - w->begin_ns < (w->repeats ? REPEAT_SECOND_NS : REPEAT_FIRST_NS))
		return 0;
	/* If a key chunk is due anyway, it is soon enough. */
	if (w->repeats >= 2 &&
	    (!key || age < REPEAT_MIN_NS ||
	     (age < REPEAT_MAX_NS && w->offset - w->repeat_offset < REPEAT_BYTES * w->definitions_bytes)))
		return 0;
	/* So that a file that is cut before the definitions starts with them, and continues immediately. */
	w->break_asked = true;
	err = repeat(w);
	w->repeat_ns = now_ns;
	return err;
}

static struct defined defined_now(const struct pm_writer *w)
{
	const struct written *x = &w->written;

	return (struct defined){ w->offset, x->counters, x->strings, x->last_instance, x->last_group };
}

int writer_bridge(struct pm_writer *w)
{
	const struct pm_model *m = w->config.model;
	struct defined from = w->bridged, now = defined_now(w), to = w->last;
	struct retired none = { 0 };
	bool copied = w->repeats && w->repeat_offset == w->offset;
	unsigned behind = 0;
	int err = 0;

	/* A bad sector may take the beginning of a copy of everything and what was defined before it. */
	if (copied)
		now.offset -= w->definitions_bytes;
	if (!w->stats.chunks) {
		for (unsigned i = 0; i < PLACES; i++)
			w->passed[i] = now;
		w->bridged = now;
	}
	if (now.offset - w->passed[0].offset >= REPEAT_APART / (PLACES - 1)) {
		memmove(w->passed + 1, w->passed, sizeof(w->passed) - sizeof(*w->passed));
		w->passed[0] = now;
	}
	while (behind < PLACES - 1 && now.offset - w->passed[behind].offset < REPEAT_APART)
		behind++;
	w->last = now;
	if (!w->head.key || !w->stats.chunks)
		return 0;
	w->bridged = w->passed[behind];
	if (copied)
		return 0;
	/* What was just defined comes with the next ones; a group is written as if it did not continue another. */
	err = instances(w,
			(struct span){ FIRST_NEW(m, instance, n_instances, from.last_instance),
				       FIRST_NEW(m, instance, n_instances, to.last_instance) },
			none, true);
	if (!err)
		err = schema(w, (struct span){ from.counters, to.counters },
			     (struct span){ FIRST_NEW(m, group, n_groups, from.last_group), m->n_groups },
			     (struct span){ from.strings, to.strings }, none, true);
	return err;
}

int pm_writer_event(struct pm_writer *w, const struct pm_event *event)
{
	if (w->err)
		return w->err;
	if (!w->n_events)
		w->events_base_ns = event->time_ns;
	encode_event(&w->events, event, w->events_base_ns);
	w->n_events++;
	return w->events.err                 ? writer_fail(w, w->events.err, "event") :
	       w->events.len >= EVENTS_BYTES ? pm_writer_flush(w) :
					       0;
}

int pm_writer_flush(struct pm_writer *w)
{
	int err = pm_writer_define(w);

	if (err || !w->n_events)
		return err;
	clear(w);
	encode_events(&w->body, w->events_base_ns, w->n_events, &w->events);
	buf_clear(&w->events);
	w->n_events = 0;
	err = body_frame(w, PM_FRAME_EVENT, false, false);
	return err ? err : writer_index(w);
}

/* The end frame has a fixed size, so that it can be found from the end of the file; padding in its payload fills it
 * up. */
static int end_frame(struct pm_writer *w)
{
	static const uint8_t zeros[FRAME_END_SIZE];
	struct index_entry entry = { 0 };
	struct buf trial = BUF_INIT;
	size_t pad = 0, without;
	struct cbor_fields fields;
	int err;

	for (int round = 0; round < 2; round++) {
		buf_clear(&w->meta);
		fields = cbor_fields(&w->meta);
		cbor_field_uint(&fields, PM_META_PAYLOAD, pad);
		add_links(w, &fields);
		if (round)
			break;
		frame_add(&trial, PM_FRAME_END, w->sequence, w->config.model->recording_id, &w->meta, zeros, 0);
		without = trial.len;
		pad = without < FRAME_END_SIZE ? FRAME_END_SIZE - without : 0;
		err = trial.err;
		buf_release(&trial);
		if (err)
			return err;
	}
	return writer_frame(w, PM_FRAME_END, zeros, pad, &entry, NULL);
}

/* Whether enough follows the last copy for another one to pay off. */
static bool repeat_at_end(const struct pm_writer *w)
{
	uint64_t since = w->offset - w->repeat_offset;

	return w->copies_apart ? since >= REPEAT_APART && since >= REPEAT_END_BYTES * w->definitions_bytes :
				 w->offset > REPEAT_APART;
}

int pm_writer_finish(struct pm_writer *w)
{
	int err;

	if (w->finished)
		return w->err;
	err = pm_writer_flush(w);
	if (err)
		return err;
	w->finished = true;
	if (repeat_at_end(w))
		err = repeat(w);
	if (err || w->config.without_index)
		return err;
	err = index_frame(w);
	return err ? err : end_frame(w);
}
