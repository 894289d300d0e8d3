#include "format/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "format/chunk_head.h"
#include "format/codec/block.h"
#include "format/compress.h"
#include "format/crc32c.h"
#include "format/definitions.h"
#include "format/frame.h"
#include "format/index.h"
#include "format/limits.h"

#define REPEAT_FIRST_NS  1000000000ull /* from the first chunk on */
#define REPEAT_SECOND_NS 10000000000ull
#define REPEAT_APART     4096 /* bytes between copies, or one bad sector takes both */
#define PLACES           5    /* a quarter of that apart */
#define REPEAT_MIN_NS    60000000000ull
#define REPEAT_MAX_NS    600000000000ull
#define REPEAT_BYTES     20           /* times the size of the definitions */
#define REPEAT_END_BYTES 4            /* times their size after the last copy are worth one before the end */
#define KEY_EVERY        16           /* chunks */
#define BEGIN_LEVEL      19           /* of zstd, for definitions before the first chunk ... */
#define BEGIN_BYTES      (256u << 10) /* ... that are no more than this */
#define LATER_LEVEL      3            /* at least, for later ones; above it the result depends on the byte order */
#define KEY_ONCE         6            /* chunks after which one more key chunk is worth some bytes, once */
#define DEPENDENT_SAVES  5            /* percent of a chunk, or it becomes a key chunk: a fault then costs no other */
#define INDEX_EVERY      1024         /* chunks */
#define INDEX_FRAMES     65536        /* frames, if that comes first */
#define EVENTS_BYTES     (64u << 10)  /* that wait at most */
#define BLOCK_OWN        4096         /* raw bytes from which a group has a block of its own */
#define BLOCK_SHARED_MAX (1u << 20)

/* What a group keeps from chunk to chunk, by its slot in the model. */
struct writer_group {
	uint32_t id; /* 0: none */
	struct layout layout;
	uint64_t *last; /* [2 x columns]: last row written, and its growths */
	uint64_t last_tick;
	uint32_t chain; /* `last` is a row of these chunks, or was taken over from one; 0: there is no `last` */
};

/* What was defined before a place in the file. */
struct defined {
	uint64_t offset;
	uint32_t counters, strings, last_instance, last_group;
};

/* How much of the model is in the file. */
struct written {
	bool header_valid;
	struct pm_map header;
	struct defined members;
	uint32_t topology, pmus, probes, config_changes;
	uint32_t retired_instances, retired_groups, forgotten; /* of struct model_ids */
};

struct pm_writer {
	struct pm_writer_config config;
	struct pm_zstd *zstd, *copies; /* what copies of definitions need is large, and stays */
	struct error error;
	int err; /* first failure, sticks */
	uint64_t sequence, offset;
	struct written written;
	uint64_t definitions_bytes; /* of all that would be repeated */
	uint64_t begin_ns;          /* last tick of the first chunk */
	uint64_t repeat_ns,
		repeat_offset; /* when it was last written, the first time included, and where that ends */
	uint32_t repeats;
	bool copies_apart; /* no bad sector takes all copies */
	/* Definitions from `bridged` to `last`, the previous chunk, are repeated before a key chunk. Of the places
	 * passed, newest first, one shares no bad sector with the end of the file. */
	struct defined bridged, passed[PLACES], last;
	struct buf meta, body, packed, frame;

	struct block_scratch scratch;
	struct writer_group *group; /* by slot */
	uint32_t groups_cap;
	uint32_t chain; /* rises with every key chunk */

	struct buf events; /* that wait to be written */
	uint32_t n_events;
	uint64_t events_base_ns;

	struct chunk_head head;
	struct chunk_base base;
	unsigned since_key;
	uint32_t key_rows; /* of the last key chunk that was packed here */
	size_t key_bytes;  /* its payload and meta */
	size_t last_bytes; /* those of the last chunk */
	bool again;        /* a key chunk has followed KEY_ONCE chunks */
	unsigned apart;    /* chunks still to be key chunks, because depending saved too little */
	bool break_asked, finished;
	struct block block;
	struct buf payload;

	struct index_builder index;
	uint64_t index_offset; /* of the newest index frame; 0: none */
	struct pm_writer_stats stats;
};

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
	w->copies = pm_zstd_new();
	if (!w->zstd || !w->copies) {
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
	pm_zstd_free(w->copies);
	pm_map_release(&w->written.header);
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

/* Notes the first failure, with `what` failed, after which nothing is written. Returns the first one, -errno. */
static int writer_fail(struct pm_writer *w, int err, const char *what)
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

/* ---- frames ---- */

/* Frames `payload` with w->meta and hands it to the sink; the checksum of the head goes to *crc. Notes it in the
 * index. */
static int put_frame(struct pm_writer *w, unsigned type, const void *payload, size_t len, struct index_entry e,
		     uint32_t *crc)
{
	int err;

	if (w->err || len > PM_MAX_PAYLOAD || w->meta.len > PM_MAX_META)
		return writer_fail(w, -E2BIG, "frame");
	buf_clear(&w->frame);
	*crc = frame_add(&w->frame, type, w->sequence, w->config.model->recording_id, &w->meta, payload, len);
	if (w->frame.err)
		return writer_fail(w, w->frame.err, "frame");
	err = w->config.sink(w->config.sink_ctx, w->frame.data, w->frame.len);
	if (err)
		return writer_fail(w, err, "write");
	e.type = (uint8_t)type;
	e.offset = w->offset;
	e.length = w->frame.len;
	w->sequence++;
	w->offset += w->frame.len;
	w->stats.bytes += w->frame.len;
	w->stats.frames++;
	if (!w->config.without_index && type != PM_FRAME_END && index_add(&w->index, &e))
		return writer_fail(w, -ENOMEM, "index");
	return 0;
}

/* Where this frame is, and how far it is from the last index. */
static void add_links(const struct pm_writer *w, struct cbor_fields *f)
{
	cbor_field_uint(f, PM_META_OFFSET, w->offset);
	if (w->index_offset)
		cbor_field_uint(f, PM_META_INDEX, w->offset - w->index_offset);
}

/* Writes w->body as the payload of a frame, compressed if that helps. */
static void body_frame(struct pm_writer *w, unsigned type, bool repeated)
{
	const struct buf *payload = &w->body;
	struct cbor_fields fields;
	/* The first definitions are written once, before timing matters, so compress them better. */
	bool begins = !w->stats.chunks && w->body.len <= BEGIN_BYTES;
	int later = w->config.zstd_level > LATER_LEVEL ? w->config.zstd_level : LATER_LEVEL;
	int err = w->body.err ? w->body.err : w->body.len > PM_MAX_BODY ? -E2BIG : 0;
	uint32_t crc;

	if (err)
		writer_fail(w, err, "definitions");
	buf_clear(&w->packed);
	if (w->body.len > 32 && !w->config.loose) {
		err = repeated ? pm_zstd_compress_known(w->copies, w->body.data, w->body.len, &w->packed) :
				 pm_zstd_compress(w->zstd, w->body.data, w->body.len, begins ? BEGIN_LEVEL : later,
						  &w->packed);
		if (err)
			writer_fail(w, err, "zstd");
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
	if (type == PM_FRAME_INDEX)
		add_links(w, &fields);
	put_frame(w, type, payload->data, payload->len, (struct index_entry){ .repeated = repeated }, &crc);
}

static void index_frame(struct pm_writer *w)
{
	uint64_t at = w->offset;

	buf_clear(&w->body);
	index_encode(&w->index, &w->body);
	body_frame(w, PM_FRAME_INDEX, false);
	w->index_offset = at;
}

/* Writes an index frame when enough chunks have come. */
static void index_if_due(struct pm_writer *w)
{
	if ((w->index.chunks >= INDEX_EVERY || w->index.n >= INDEX_FRAMES) && !w->config.without_index)
		index_frame(w);
}

/* ---- groups ---- */

/* The state of a group of the model, valid until the model grows; NULL without memory. */
static struct writer_group *group_state(struct pm_writer *w, uint32_t id)
{
	const struct pm_group *g = pm_model_group(w->config.model, id);
	struct writer_group *own;

	if (array_hold(&w->group, &w->groups_cap, g->slot + 1ull, sizeof(*w->group)))
		return NULL;
	own = &w->group[g->slot];
	if (own->id == id)
		return own;
	/* The slot belonged to a group that has been forgotten. */
	layout_release(&own->layout);
	free(own->last);
	*own = (struct writer_group){ 0 };
	if (layout_init(&own->layout, w->config.model, g))
		return NULL;
	own->last = malloc(2ull * own->layout.columns * sizeof(*own->last));
	if (!own->last)
		return NULL;
	own->id = id;
	return own;
}

/* A new group continues another: it takes over what is known of the columns. */
static void group_continues(struct pm_writer *w, const struct pm_group *g)
{
	const struct pm_group *from = pm_model_group(w->config.model, g->continues);
	struct writer_group *own, *old;

	if (!from || from->slot >= w->groups_cap || w->group[from->slot].id != from->id ||
	    w->group[from->slot].chain != w->chain || !w->chain)
		return;
	own = group_state(w, g->id);
	old = &w->group[from->slot];
	if (!own || group_take_over(g, own->last, from, old->last, old->last_tick)) {
		writer_fail(w, -ENOMEM, "group");
		return;
	}
	own->last_tick = old->last_tick;
	own->chain = old->chain;
}

/* ---- definitions ---- */

/* Writes the body unless it is one of `empty` bytes, which has nothing in it. */
static void list_frame(struct pm_writer *w, unsigned type, bool repeated, size_t empty)
{
	if (w->body.err || w->body.len > empty)
		body_frame(w, type, repeated);
}

/* Collects ids up to `last` that retired after they were written as living. What was defined with the first ones
 * already says so. */
static struct retired find_retired(struct pm_writer *w, const struct model_ids *ids, uint32_t done, uint32_t last,
				   uint32_t **id)
{
	uint32_t from = w->written.forgotten == w->config.model->index.forgotten ? done : ids->n_kept, n = 0;

	*id = malloc((ids->n_retired - from + 1) * sizeof(**id));
	if (!*id)
		writer_fail(w, -ENOMEM, "definitions");
	for (uint32_t i = from; *id && i < ids->n_retired; i++)
		if (ids->retired[i] <= last)
			(*id)[n++] = ids->retired[i];
	return (struct retired){ .id = *id, .n = n };
}

static bool config_changed(const void *ctx, uint32_t index)
{
	const struct pm_writer *w = ctx;

	return w->config.model->config[index].change > w->written.config_changes;
}

/* Only numbers scale counters; texts and tables are not repeated. */
static bool config_scales(const void *ctx, uint32_t index)
{
	const struct pm_config *c = &((const struct pm_writer *)ctx)->config.model->config[index];

	return c->reason == PM_OK && c->privacy == PM_PRIVACY_TECHNICAL && c->value.kind <= PM_VALUE_BOOL;
}

static void configs(struct pm_writer *w, bool repeated)
{
	const struct pm_model *m = w->config.model;
	struct span all = { 0, m->n_configs };

	while (!w->err && all.from < all.to) {
		buf_clear(&w->body);
		encode_config(&w->body, m, &all, repeated ? config_scales : config_changed, w);
		list_frame(w, PM_FRAME_CONFIG, repeated, 3);
	}
}

static void list_frames(struct pm_writer *w, unsigned type, uint32_t from, uint32_t to,
			void (*encode)(struct buf *out, const struct pm_model *m, struct span *span), bool repeated)
{
	struct span all = { from, to };

	while (!w->err && all.from < all.to) {
		buf_clear(&w->body);
		encode(&w->body, w->config.model, &all);
		body_frame(w, type, repeated);
	}
}

static void header(struct pm_writer *w, bool repeated)
{
	buf_clear(&w->body);
	encode_header(&w->body, w->config.model);
	body_frame(w, PM_FRAME_HEADER, repeated);
}

/* If it is new. */
static void new_header(struct pm_writer *w)
{
	struct written *x = &w->written;

	if (x->header_valid && pm_map_equal(&w->config.model->header, &x->header))
		return;
	header(w, false);
	pm_map_release(&x->header);
	x->header_valid = true;
	if (pm_map_copy(&x->header, &w->config.model->header))
		writer_fail(w, -ENOMEM, "header");
}

static void topology(struct pm_writer *w, bool repeated)
{
	if (!w->config.model->topology.n)
		return;
	buf_clear(&w->body);
	encode_topology(&w->body, &w->config.model->topology);
	body_frame(w, PM_FRAME_TOPOLOGY, repeated);
}

/* The place in the model of the first item that was not written: ids are assigned in ascending order. */
#define FIRST_NEW(m, list, n, last) \
	({ \
		uint32_t at = (m)->n; \
		while (at && (m)->list[at - 1].id > (last)) \
			at--; \
		at; \
	})

/* Writes what was defined between two places, and what has retired. Groups come with the last. */
static void members(struct pm_writer *w, const struct defined *from, const struct defined *to, struct retired gone,
		    struct retired gone_groups, bool repeated)
{
	const struct pm_model *m = w->config.model;
	struct span counters = { from->counters, to->counters }, strings = { from->strings, to->strings };
	struct span groups = { FIRST_NEW(m, group, n_groups, from->last_group), m->n_groups };
	struct span instances = { FIRST_NEW(m, instance, n_instances, from->last_instance),
				  FIRST_NEW(m, instance, n_instances, to->last_instance) };

	while (!w->err && (instances.from < instances.to || gone.n)) {
		buf_clear(&w->body);
		encode_instances(&w->body, m, &instances, &gone, repeated);
		gone.n = 0;
		list_frame(w, PM_FRAME_INSTANCES, repeated, 1);
	}
	while (!w->err && (counters.from < counters.to || groups.from < groups.to || strings.from < strings.to ||
			   gone_groups.n)) {
		buf_clear(&w->body);
		encode_schema(&w->body, m, &counters, &groups, &strings, &gone_groups, repeated);
		list_frame(w, PM_FRAME_SCHEMA, repeated, 1);
	}
}

static struct defined all_members(const struct pm_model *m)
{
	return (struct defined){ 0, m->n_counters, m->n_strings, m->last_instance, m->last_group };
}

static void new_members(struct pm_writer *w)
{
	const struct pm_model *m = w->config.model;
	struct written *x = &w->written;
	struct defined all = all_members(m);
	SCOPED(scoped_free) uint32_t *instance = NULL;
	SCOPED(scoped_free) uint32_t *group = NULL;
	uint32_t first = FIRST_NEW(m, group, n_groups, x->members.last_group), kept = 0;
	struct retired gone =
		find_retired(w, &m->index.instance_ids, x->retired_instances, x->members.last_instance, &instance);
	struct retired gone_groups = find_retired(w, &m->index.group_ids, x->retired_groups, UINT32_MAX, &group);

	for (uint32_t i = 0; i < gone_groups.n; i++)
		if (!pm_model_group(m, group[i])->continued)
			group[kept++] = group[i];
	gone_groups.n = kept;
	members(w, &x->members, &all, gone, gone_groups, false);
	for (uint32_t i = first; i < m->n_groups && !w->err; i++)
		if (m->group[i].continues)
			group_continues(w, &m->group[i]);
	if (w->err)
		return;
	x->members = all;
	/* The retirements are written, so the model may forget them. */
	pm_model_forget(w->config.model, NULL, NULL, false);
	x->forgotten = m->index.forgotten;
	x->retired_instances = m->index.instance_ids.n_retired;
	x->retired_groups = m->index.group_ids.n_retired;
}

/* A recorder's first reading comes next: gives back what the strongest level took, and takes what copies need, so
 * that the second does not show it. */
static void settle_memory(struct pm_writer *w)
{
	size_t len = (size_t)(pm_dictionary_end - pm_dictionary);

	pm_zstd_free(w->zstd);
	w->zstd = pm_zstd_new();
	buf_clear(&w->packed);
	if (!w->zstd || pm_zstd_compress_known(w->copies, pm_dictionary, len, &w->packed))
		writer_fail(w, -ENOMEM, "zstd");
}

int pm_writer_define(struct pm_writer *w)
{
	const struct pm_model *m = w->config.model;
	struct written *x = &w->written;
	uint64_t before = w->offset;

	if (w->err)
		return w->err;
	new_header(w);
	if (m->index.topology_version != x->topology) {
		x->topology = m->index.topology_version;
		topology(w, false);
	}
	new_members(w);
	if (!w->repeats)
		w->definitions_bytes += w->offset - before;
	list_frames(w, PM_FRAME_PMUS, x->pmus, m->n_pmus, encode_pmus, false);
	list_frames(w, PM_FRAME_PROBES, x->probes, m->n_probes, encode_probes, false);
	x->pmus = m->n_pmus;
	x->probes = m->n_probes;
	if (m->index.config_changes == x->config_changes)
		return w->err;
	configs(w, false);
	x->config_changes = m->index.config_changes;
	if (!w->err && !w->stats.chunks && !w->config.loose)
		settle_memory(w);
	return w->err;
}

static void repeat(struct pm_writer *w)
{
	const struct pm_model *m = w->config.model;
	struct defined all = all_members(m);
	struct retired none = { 0 };
	uint64_t before = w->offset;

	header(w, true);
	topology(w, true);
	members(w, &(struct defined){ 0 }, &all, none, none, true);
	list_frames(w, PM_FRAME_PMUS, 0, m->n_pmus, encode_pmus, true);
	configs(w, true);
	w->definitions_bytes = w->offset - before;
	w->copies_apart |= before - w->repeat_offset >= REPEAT_APART;
	w->repeat_offset = w->offset;
	w->repeats++;
}

/* Before a chunk, `key` or not as it seems: repeats the definitions if they are due at this time. */
static void repeat_if_due(struct pm_writer *w, uint64_t now_ns, bool key)
{
	uint64_t age;

	if (!w->begin_ns) {
		w->begin_ns = w->repeat_ns = now_ns;
		w->repeat_offset = w->offset;
		return;
	}
	age = now_ns - w->repeat_ns;
	if (w->repeats && w->offset - w->repeat_offset < REPEAT_APART)
		return;
	if (w->repeats < 2 && now_ns - w->begin_ns < (w->repeats ? REPEAT_SECOND_NS : REPEAT_FIRST_NS))
		return;
	/* If a key chunk is due anyway, it is soon enough. */
	if (w->repeats >= 2 &&
	    (!key || age < REPEAT_MIN_NS ||
	     (age < REPEAT_MAX_NS && w->offset - w->repeat_offset < REPEAT_BYTES * w->definitions_bytes)))
		return;
	/* So that a file that is cut before the definitions starts with them, and continues immediately. */
	w->break_asked = true;
	repeat(w);
	w->repeat_ns = now_ns;
}

/* Before a key chunk, once that is decided, repeats what was just defined. */
static void bridge(struct pm_writer *w)
{
	struct defined from = w->bridged, now = w->written.members, to = w->last;
	struct retired none = { 0 };
	bool copied = w->repeats && w->repeat_offset == w->offset;
	unsigned behind = 0;

	now.offset = w->offset;
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
		return;
	w->bridged = w->passed[behind];
	/* What was just defined comes with the next ones; a group is written as if it did not continue another. */
	if (!copied)
		members(w, &from, &to, none, none, true);
}

/* ---- events ---- */

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
	buf_clear(&w->body);
	encode_events(&w->body, w->events_base_ns, w->n_events, &w->events);
	buf_clear(&w->events);
	w->n_events = 0;
	body_frame(w, PM_FRAME_EVENT, false);
	index_if_due(w);
	return w->err;
}

/* ---- numbers: which chunk is a key chunk, which groups share a block, and what depends on the row before ---- */

static size_t raw_size(const struct writer_group *g, uint32_t rows)
{
	return (size_t)g->layout.columns * rows * 8;
}

/* Orders group ids as in the payload: small groups first (they share blocks), each part ascending; meanwhile
 * w->head.group holds places in chunk->group. */
static int order_groups(struct pm_writer *w, const struct pm_chunk *chunk, uint32_t *place)
{
	uint64_t raw = 0;
	uint32_t n = 0, small;

	w->head.n_lost = 0;
	for (uint32_t i = 0; i < chunk->n_groups; i++) {
		const struct pm_chunk_group *g = &chunk->group[i];
		struct writer_group *own;

		if (g->absent && !g->lost)
			continue;
		if (!pm_model_group(w->config.model, g->group) || pm_model_group(w->config.model, g->group)->retired)
			return -EINVAL;
		if (g->lost) {
			w->head.lost[w->head.n_lost++] = g->group;
			continue;
		}
		own = group_state(w, g->group);
		if (!own)
			return -ENOMEM;
		if (g->stride < chunk->rows || !g->v)
			return -EINVAL;
		raw += raw_size(own, chunk->rows);
		if (raw_size(own, chunk->rows) > PM_MAX_BLOCK_RAW || raw > PM_MAX_CHUNK_RAW)
			return -E2BIG;
		place[n++] = i;
	}
	/* Recorders nearly always deliver groups in ascending order: insertion is linear then. */
	for (uint32_t i = 1; i < n; i++) {
		uint32_t p = place[i], k = i;

		while (k && chunk->group[place[k - 1]].group > chunk->group[p].group) {
			place[k] = place[k - 1];
			k--;
		}
		place[k] = p;
	}
	for (uint32_t i = 1; i < n; i++)
		if (chunk->group[place[i]].group == chunk->group[place[i - 1]].group)
			return -EINVAL;
	small = 0;
	w->head.n_groups = n;
	for (int large = 0; large < 2; large++)
		for (uint32_t i = 0; i < n; i++)
			if ((raw_size(group_state(w, chunk->group[place[i]].group), chunk->rows) >= BLOCK_OWN) ==
			    large)
				w->head.group[small++] = place[i];
	return 0;
}

static void clear_block(struct pm_writer *w)
{
	buf_clear(&w->block.items);
	buf_clear(&w->block.bits);
}

static int close_block(struct pm_writer *w, uint32_t n_groups)
{
	const struct buf *items = &w->block.items, *bits = &w->block.bits;
	struct chunk_block *b = &w->head.block[w->head.n_blocks++];
	size_t start = w->payload.len;
	int err = items->err ? items->err : bits->err;

	*b = (struct chunk_block){ .n_groups = n_groups, .bits = (uint32_t)bits->len };
	/* The plain codec is for readers that know only CBOR. */
	if (!err && w->head.codec != PM_CODEC_PLAIN && items->len > 24)
		err = pm_zstd_compress(w->zstd, items->data, items->len, w->config.zstd_level, &w->payload);
	if (err)
		return err;
	if (w->payload.len > start && w->payload.len - start < items->len) {
		b->raw = (uint32_t)items->len;
	} else {
		w->payload.len = start;
		buf_add(&w->payload, items->data, items->len);
	}
	buf_add(&w->payload, bits->data, bits->len);
	if (w->payload.err)
		return w->payload.err;
	b->stored = (uint32_t)(w->payload.len - start);
	b->crc = crc32c(w->payload.data + start, b->stored);
	clear_block(w);
	return 0;
}

static int add_blocks(struct pm_writer *w, const struct pm_chunk *chunk)
{
	struct block_rows rows = {
		.rows = chunk->rows,
		.tick = chunk->tick,
		.dependent = !w->head.key,
		.codec = w->head.codec,
	};
	uint32_t in_block = 0;
	int err = 0;

	clear_block(w);
	buf_clear(&w->payload);
	w->head.n_blocks = 0;
	for (uint32_t i = 0; i < w->head.n_groups && !err; i++) {
		const struct pm_chunk_group *g = &chunk->group[w->head.group[i]];
		struct writer_group *own = group_state(w, g->group);
		bool follows = !w->head.key && own->chain == w->chain;
		bool large = raw_size(own, chunk->rows) >= BLOCK_OWN;

		if (in_block && (large || w->block.items.len + w->block.bits.len >= BLOCK_SHARED_MAX)) {
			err = close_block(w, in_block);
			in_block = 0;
		}
		rows.before_tick = own->last_tick;
		if (!err)
			err = block_add(&w->block, &w->scratch, &own->layout, g, &rows, follows ? own->last : NULL,
					own->last);
		own->last_tick = chunk->tick[chunk->rows - 1];
		own->chain = w->chain;
		in_block++;
		w->stats.values += (uint64_t)(own->layout.columns - own->layout.head) * chunk->rows;
	}
	if (in_block && !err)
		err = close_block(w, in_block);
	return err;
}

/* All of a short recording would depend on one key chunk: one more, if the file becomes little longer by it. */
static bool may_be_key(const struct pm_writer *w, const struct pm_chunk *chunk)
{
	size_t more = w->key_bytes > w->last_bytes ? w->key_bytes - w->last_bytes : 0;

	return !w->again && w->since_key + 1 >= KEY_ONCE && chunk->rows == w->key_rows &&
	       more * 100 <= (w->offset + w->key_bytes) * DEPENDENT_SAVES;
}

static bool must_be_key(struct pm_writer *w, const struct pm_chunk *chunk)
{
	return !w->base.valid || w->break_asked || w->since_key + 1 >= KEY_EVERY ||
	       (w->apart && chunk->rows == w->key_rows) || w->config.codec == PM_CODEC_PLAIN ||
	       chunk->run != w->base.run || chunk->segment != w->base.segment ||
	       !chunk_clocks_match(&chunk->clocks, &w->base.clocks) || may_be_key(w, chunk);
}

/* Compares a dependent chunk with the key chunk before it, if they have as many rows. What dependence saves changes,
 * because numbers that start near 0 grow; so it is measured again from time to time. */
static void judge_dependence(struct pm_writer *w)
{
	size_t bytes = w->payload.len + w->meta.len;

	w->last_bytes = bytes;
	w->again |= w->head.key && w->since_key + 1 >= KEY_ONCE;
	if (w->head.key) {
		w->apart = w->apart && w->head.rows == w->key_rows ? w->apart - 1 : 0;
		w->key_rows = w->head.rows;
		w->key_bytes = bytes;
	} else if (w->head.rows == w->key_rows) {
		w->apart = bytes * 100 > w->key_bytes * (100 - DEPENDENT_SAVES) ? KEY_EVERY : 0;
	}
}

/* The interval between ticks of a regular recording; 0 if it is not regular. */
static uint64_t step_of(const struct pm_writer *w, const struct pm_chunk *chunk)
{
	uint64_t interval = pm_map_u64(&w->config.model->header, PM_HEADER_INTERVAL, 0);

	if (!interval && chunk->rows > 1)
		interval = chunk->tick[1] - chunk->tick[0];
	return interval;
}

static void fill_head(struct pm_writer *w, const struct pm_chunk *chunk)
{
	struct chunk_head *h = &w->head;

	h->codec = w->config.codec;
	h->run = chunk->run;
	h->segment = chunk->segment;
	h->rows = chunk->rows;
	h->clocks = chunk->clocks;
	h->step = h->key ? step_of(w, chunk) : w->base.step;
	memcpy(h->tick, chunk->tick, chunk->rows * sizeof(*h->tick));
	memcpy(h->number, chunk->number, chunk->rows * sizeof(*h->number));
	if (chunk->flags)
		memcpy(h->flags, chunk->flags, chunk->rows);
	else
		memset(h->flags, 0, chunk->rows);
}

int pm_writer_chunk(struct pm_writer *w, const struct pm_chunk *chunk)
{
	struct index_entry entry = { .rows = (uint16_t)chunk->rows };
	uint32_t crc, *place;
	int err = pm_writer_flush(w);

	if (err)
		return err;
	if (!chunk->rows || chunk->rows > PM_CHUNK_ROWS)
		return writer_fail(w, -EINVAL, "chunk");
	repeat_if_due(w, chunk->tick[chunk->rows - 1], must_be_key(w, chunk));
	place = malloc((chunk->n_groups + 1) * sizeof(*place));
	err = place ? chunk_head_room(&w->head, chunk->n_groups + 1, chunk->n_groups, chunk->n_groups + 1) : -ENOMEM;
	if (!err)
		err = order_groups(w, chunk, place);
	free(place);
	if (err || w->err)
		return writer_fail(w, err, "chunk");

	w->head.key = must_be_key(w, chunk);
	w->chain += w->head.key;
	bridge(w);
	fill_head(w, chunk);
	err = add_blocks(w, chunk);
	if (err || w->err)
		return writer_fail(w, err, "chunk");
	for (uint32_t i = 0; i < w->head.n_groups; i++)
		w->head.group[i] = chunk->group[w->head.group[i]].group;
	buf_clear(&w->meta);
	chunk_head_encode(&w->head, &w->base, w->payload.len, &w->meta);
	entry.key = w->head.key;
	entry.from_ns = chunk->tick[0];
	entry.to_ns = chunk->tick[chunk->rows - 1];
	/* The sink may ask how many there are, including this one. */
	w->stats.snapshots += chunk->rows;
	if (put_frame(w, PM_FRAME_CHUNK, w->payload.data, w->payload.len, entry, &crc))
		return w->err;
	if (chunk_base_set(&w->base, &w->head, crc))
		return writer_fail(w, -ENOMEM, "chunk");
	judge_dependence(w);
	w->since_key = w->head.key ? 0 : w->since_key + 1;
	w->break_asked = false;
	w->stats.chunks++;
	index_if_due(w);
	return w->err;
}

/* The end frame has a fixed size, so that it can be found from the end of the file; padding in its payload fills it
 * up. */
static int end_frame(struct pm_writer *w)
{
	static const uint8_t zeros[FRAME_END_SIZE];
	size_t pad = 0;
	uint32_t crc;

	for (int round = 0; round < 2; round++) {
		struct cbor_fields fields;

		buf_clear(&w->meta);
		fields = cbor_fields(&w->meta);
		cbor_field_uint(&fields, PM_META_PAYLOAD, pad);
		add_links(w, &fields);
		if (round)
			break;
		buf_clear(&w->frame);
		frame_add(&w->frame, PM_FRAME_END, w->sequence, w->config.model->recording_id, &w->meta, zeros, 0);
		pad = w->frame.len < FRAME_END_SIZE ? FRAME_END_SIZE - w->frame.len : 0;
	}
	return put_frame(w, PM_FRAME_END, zeros, pad, (struct index_entry){ 0 }, &crc);
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
		repeat(w);
	if (w->err || w->config.without_index)
		return w->err;
	index_frame(w);
	return w->err ? w->err : end_frame(w);
}
