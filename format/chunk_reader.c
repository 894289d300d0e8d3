#include "format/chunk_reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "format/crc32c.h"
#include "format/limits.h"

enum wanted { WANTED_UNASKED = 0, WANTED_YES, WANTED_NO };

/* What a group keeps from chunk to chunk. */
struct reader_group {
	uint32_t id; /* 0: none */
	struct layout layout;
	uint8_t wanted;       /* enum wanted */
	bool marked;          /* some of its columns cannot be read */
	bool strings;         /* some of its numbers are those of strings */
	bool in_v;            /* the last row is that of v, else `before` */
	bool chained;         /* `before` is the row before v, if that is the last one */
	uint32_t chain, rows; /* the last row is one of these chunks, or was taken over from one; 0: there is none */
	uint64_t chunk;       /* that it was last decoded from, counted from 1 */
	uint64_t last_tick;   /* of the last row */
	uint64_t *v, *before; /* [columns x rows], [2 x columns]: a row and its growths */
	size_t v_cap;
	uint16_t *status;
	size_t status_cap;
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

void chunk_reader_release(struct chunk_reader *r)
{
	release_groups(r);
	chunk_head_release(&r->head);
	chunk_base_release(&r->base);
	free(r->chunk_group);
	pm_zstd_free(r->zstd);
	buf_release(&r->body);
	buf_release(&r->newer);
}

void chunk_reader_reset(struct chunk_reader *r)
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

void chunk_reader_jump(struct chunk_reader *r)
{
	r->stage = CHUNK_NONE;
	r->base.valid = r->last_decoded = r->chunk_too_new = false;
	r->chain++;
}

void chunk_reader_select(struct chunk_reader *r, bool (*wanted)(void *ctx, const struct pm_group *g), void *ctx)
{
	r->wanted = wanted;
	r->wanted_ctx = ctx;
	for (uint32_t i = 0; i < r->groups_cap; i++)
		r->group[i].wanted = WANTED_UNASKED;
}

/* The state of a group of the model, valid until the model grows; NULL without memory. */
static struct reader_group *group_of(struct chunk_reader *r, uint32_t id)
{
	const struct pm_group *g = pm_model_group(r->model, id);
	struct reader_group *own;

	if (array_hold(&r->group, &r->groups_cap, g->slot + 1ull, sizeof(*r->group)))
		return NULL;
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

/* The last row goes to `before`; v is then free to be filled. 0 or -ENOMEM. */
static int keep_last_row(struct reader_group *g)
{
	struct pm_matrix m = { .rows = g->rows, .stride = g->rows, .v = g->v };

	if (!g->in_v)
		return 0;
	if (!g->before) {
		g->before = malloc(2ull * g->layout.columns * sizeof(*g->before));
		if (!g->before)
			return -ENOMEM;
	}
	m.before = g->chained ? g->before : NULL;
	row_after(&g->layout, &m, g->before);
	g->in_v = false;
	return 0;
}

/* Lays the group's columns out, once. 0 or -ENOMEM. */
static int need_layout(struct chunk_reader *r, struct reader_group *own)
{
	const struct pm_group *g = pm_model_group(r->model, own->id);

	if (own->layout.band)
		return 0;
	for (uint32_t i = 0; i < g->n_counters; i++) {
		const struct pm_counter *c = pm_model_counter(r->model, g->counter[i]);

		own->marked |= c->newer;
		own->strings |= pm_counter_texts(c);
	}
	for (uint32_t i = 0; i < g->n_instances; i++)
		own->marked |= pm_model_instance(r->model, g->instance[i])->newer;
	return layout_init(&own->layout, r->model, g);
}

static int continue_group(struct chunk_reader *r, const struct pm_group *g)
{
	const struct pm_group *from = pm_model_group(r->model, g->continues);
	struct reader_group *own, *old = from ? group_if(r, from->id) : NULL;
	int err;

	if (!old || !r->chain || old->chain != r->chain)
		return 0;
	own = group_of(r, g->id);
	old = group_if(r, from->id);
	if (!own || keep_last_row(old) || need_layout(r, own))
		return -ENOMEM;
	/* The chunk is being read again after going back: what is known is newer. */
	if (own->chain == r->chain)
		return 0;
	free(own->before);
	own->before = malloc(2ull * own->layout.columns * sizeof(*own->before));
	if (!own->before)
		return -ENOMEM;
	err = group_take_over(g, own->before, from, old->before, old->last_tick);
	own->in_v = false;
	own->last_tick = old->last_tick;
	own->chain = old->chain;
	return err;
}

int chunk_reader_regroup(struct chunk_reader *r, const struct definitions_seen *seen)
{
	const struct model_ids *ids = &r->model->index.group_ids;
	int err = 0;

	for (uint32_t i = 0; i < seen->n_groups && !err; i++)
		err = continue_group(r, pm_model_group(r->model, seen->group[i]));
	/* The rows take most of a group's memory. */
	for (uint32_t i = r->forgotten == r->model->index.forgotten ? r->retired : 0; i < ids->n_retired; i++) {
		struct reader_group *g = group_if(r, ids->retired[i]);

		if (g)
			group_release(g);
	}
	r->retired = ids->n_retired;
	r->forgotten = r->model->index.forgotten;
	return err;
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

int chunk_reader_peek(struct chunk_reader *r, struct chunk_head *head, const struct chunk_base *base,
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

int chunk_reader_take(struct chunk_reader *r, const struct frame_head *h, uint64_t last_ns)
{
	int err = chunk_reader_peek(r, &r->head, &r->base, h);

	if (!err && !ascends(&r->head, last_ns))
		err = -EDOM;
	if (err) {
		r->base.valid = false;
		return err == -EBADMSG ? -EPROTO : err;
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
	return chunk_base_set(&r->base, &r->head, h->crc);
}

static int make_room(struct reader_group *g, uint32_t rows)
{
	size_t cells = (size_t)g->layout.columns * rows;

	if (cells <= g->v_cap)
		return 0;
	free(g->v);
	g->v = malloc(cells * sizeof(*g->v));
	g->v_cap = g->v ? cells : 0;
	return g->v ? 0 : -ENOMEM;
}

static uint16_t *make_status(void *ctx, size_t cells)
{
	struct pm_chunk_group *out = ((void **)ctx)[0];
	struct reader_group *g = ((void **)ctx)[1];

	if (cells > g->status_cap) {
		free(g->status);
		g->status = malloc(cells * sizeof(*g->status));
		g->status_cap = g->status ? cells : 0;
	}
	if (g->status)
		memset(g->status, 0, cells * sizeof(*g->status));
	out->status = g->status;
	return g->status;
}

/* Marks values that this version cannot read: those of some counters and instances, or all. */
static int mark_newer(struct chunk_reader *r, struct reader_group *own, struct pm_chunk_group *out, bool all)
{
	const struct pm_group *g = pm_model_group(r->model, own->id);
	uint32_t head = own->layout.head, rows = r->head.rows;

	if (!out->status && !make_status((void *[]){ out, own }, (size_t)own->layout.columns * rows))
		return -ENOMEM;
	for (uint32_t v = 0; head + v < own->layout.columns; v++)
		if (all || pm_model_counter(r->model, pm_group_counter_of(g, v))->newer ||
		    pm_model_instance(r->model, pm_group_instance_of(g, v))->newer)
			for (uint32_t row = 0; row < rows; row++)
				own->status[(size_t)(head + v) * rows + row] = PM_REASON_NEWER;
	return 0;
}

/* A value that is not the id of a string is invalid. */
static int check_strings(struct chunk_reader *r, struct reader_group *own, struct pm_chunk_group *out)
{
	const struct pm_group *g = pm_model_group(r->model, own->id);
	uint32_t head = own->layout.head, rows = r->head.rows;

	for (uint32_t v = 0; head + v < own->layout.columns; v++) {
		size_t at = (size_t)(head + v) * rows;

		if (!pm_counter_texts(pm_model_counter(r->model, pm_group_counter_of(g, v))))
			continue;
		for (size_t cell = at; cell < at + rows; cell++) {
			if ((out->status && out->status[cell]) ||
			    (own->v[cell] && own->v[cell] <= r->model->n_strings))
				continue;
			if (!out->status && !make_status((void *[]){ out, own }, (size_t)own->layout.columns * rows))
				return -ENOMEM;
			own->status[cell] = PM_REASON_SUSPECT;
		}
	}
	return 0;
}

static bool all_newer(const struct chunk_reader *r, uint32_t id)
{
	return r->too_new || r->chunk_too_new || pm_model_group(r->model, id)->newer;
}

/* For a group whose bytes cannot be interpreted, only the fact that it was read at these ticks is known. */
static int stand_in(struct chunk_reader *r, uint32_t id, struct pm_chunk_group *out)
{
	struct reader_group *g = group_if(r, id);
	uint32_t rows = r->head.rows;
	int err = make_room(g, rows);

	if (err)
		return err;
	g->chain = 0;
	g->in_v = false;
	for (uint32_t c = 0; c < g->layout.columns; c++)
		for (uint32_t row = 0; row < rows; row++)
			g->v[(size_t)c * rows + row] = c < g->layout.head ? r->head.tick[row] : 0;
	*out = (struct pm_chunk_group){ .group = id, .v = g->v, .stride = rows };
	return mark_newer(r, g, out, true);
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
		return err || !g ? err : stand_in(r, id, out);
	}
	rows.before_tick = g->last_tick;
	if (chained)
		err = keep_last_row(g);
	g->chain = 0;
	if (!err)
		err = make_room(g, rows.rows);
	if (err)
		return err;
	out->v = g->v;
	out->stride = rows.rows;
	err = block_take(b, &g->layout, &rows, chained ? g->before : NULL, g->v, rows.rows, make_status,
			 (void *[]){ out, g });
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
	out->absent = false;
	if (g->strings)
		err = check_strings(r, g, out);
	return err || !g->marked ? err : mark_newer(r, g, out, false);
}

/* What may be decoded is bounded before anything is allocated: by the limits of a chunk, and in total by the bytes
 * read. */
static int prepare_groups(struct chunk_reader *r, uint64_t budget)
{
	uint64_t values = 0;
	uint32_t n = r->head.n_groups + r->head.n_lost;

	if (array_hold(&r->chunk_group, &r->chunk_groups_cap, n, sizeof(*r->chunk_group)))
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		bool lost = i >= r->head.n_groups;
		uint32_t id = lost ? r->head.lost[i - r->head.n_groups] : r->head.group[i];

		if (pm_model_group(r->model, id) && !group_of(r, id))
			return -ENOMEM;
		if (!wants(r, id))
			continue;
		if (need_layout(r, group_if(r, id)))
			return -ENOMEM;
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
		err = !r->head.newer      ? take_group(r, &at, id, out, loss) :
		      out && wants(r, id) ? stand_in(r, id, out) :
					    0;
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

int chunk_reader_decode(struct chunk_reader *r, const uint8_t *payload, uint64_t budget, struct chunk_loss *loss)
{
	int err = prepare_groups(r, budget);

	if (!err)
		err = take_blocks(r, payload, loss);
	r->last_decoded = !err;
	return err;
}

void chunk_reader_keep(struct chunk_reader *r, const struct chunk_loss *loss)
{
	r->stage = CHUNK_DECODED;
	r->chunk.unknown = loss->unknown != 0;
	r->chunk.partial |= loss->unknown || loss->groups;
	r->hole = false;
	r->last_number = r->head.number[r->head.rows - 1];
	r->last_run = r->head.run;
	r->last_segment = r->head.segment;
}
