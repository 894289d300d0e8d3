/* Writes the numbers: decides which chunk is a key chunk, which groups share a block, and what depends on the row
 * before. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "format/crc32c.h"
#include "format/limits.h"
#include "format/writer_private.h"

struct writer_group *writer_group_of(struct pm_writer *w, uint32_t id)
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

int writer_group_continue(struct pm_writer *w, const struct pm_group *g)
{
	const struct pm_group *from = pm_model_group(w->config.model, g->continues);
	struct writer_group *own, *old;

	if (!from || from->slot >= w->groups_cap || w->group[from->slot].id != from->id ||
	    w->group[from->slot].chain != w->chain || !w->chain)
		return 0;
	own = writer_group_of(w, g->id);
	if (!own)
		return writer_fail(w, -ENOMEM, "group");
	old = &w->group[from->slot];
	if (group_take_over(g, own->last, from, old->last, old->last_tick))
		return writer_fail(w, -ENOMEM, "group");
	own->last_tick = old->last_tick;
	own->chain = old->chain;
	return 0;
}

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
		own = writer_group_of(w, g->group);
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
			if ((raw_size(writer_group_of(w, chunk->group[place[i]].group), chunk->rows) >= BLOCK_OWN) ==
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
		struct writer_group *own = writer_group_of(w, g->group);
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

int writer_frame(struct pm_writer *w, unsigned type, const void *payload, size_t len, const struct index_entry *entry,
		 uint32_t *crc)
{
	struct index_entry e = *entry;
	uint32_t head;
	int err;

	if (len > PM_MAX_PAYLOAD || w->meta.len > PM_MAX_META)
		return writer_fail(w, -E2BIG, "frame");
	buf_clear(&w->frame);
	head = frame_add(&w->frame, type, w->sequence, w->config.model->recording_id, &w->meta, payload, len);
	if (w->frame.err)
		return writer_fail(w, w->frame.err, "frame");
	err = w->config.sink(w->config.sink_ctx, w->frame.data, w->frame.len);
	if (err)
		return writer_fail(w, err, "write");
	if (crc)
		*crc = head;
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

int pm_writer_chunk(struct pm_writer *w, const struct pm_chunk *chunk)
{
	struct index_entry entry = { .rows = (uint16_t)chunk->rows };
	uint32_t crc, *place;
	int err = pm_writer_flush(w);

	if (err)
		return err;
	if (!chunk->rows || chunk->rows > PM_CHUNK_ROWS)
		return writer_fail(w, -EINVAL, "chunk");
	err = writer_repeat(w, chunk->tick[chunk->rows - 1], must_be_key(w, chunk));
	if (!err)
		err = chunk_head_room(&w->head, chunk->n_groups + 1, chunk->n_groups, chunk->n_groups + 1);
	if (err)
		return writer_fail(w, err, "chunk");
	place = malloc((chunk->n_groups + 1) * sizeof(*place));
	if (!place)
		return writer_fail(w, -ENOMEM, "chunk");
	err = order_groups(w, chunk, place);
	free(place);
	if (err)
		return writer_fail(w, err, "chunk");

	w->head.key = must_be_key(w, chunk);
	w->chain += w->head.key;
	err = writer_bridge(w);
	if (err)
		return err;
	fill_head(w, chunk);
	err = add_blocks(w, chunk);
	if (err)
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
	err = writer_frame(w, PM_FRAME_CHUNK, w->payload.data, w->payload.len, &entry, &crc);
	if (!err && chunk_base_set(&w->base, &w->head, crc))
		err = writer_fail(w, -ENOMEM, "chunk");
	if (err)
		return err;
	judge_dependence(w);
	w->since_key = w->head.key ? 0 : w->since_key + 1;
	w->break_asked = false;
	w->stats.chunks++;
	return writer_index(w);
}
