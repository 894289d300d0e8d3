/* The current chunk: decodes its head, then verifies and unpacks the blocks of the selected groups, starting from
 * their previous rows. */
#include "format/reader_private.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "format/crc32c.h"
#include "format/limits.h"
#include "format/model_private.h"

#define RELATION_NOISE_NS 10000
#define RELATIONS_MAX     65536

/* Records the offset of wall time from CLOCK_MONOTONIC when it has changed. Both are slewed alike, so any change
 * beyond the noise of reading them is a step. */
static int note_relation(struct pm_reader *r, const struct pm_clocks *c)
{
	const struct pm_clocks *last = r->n_relations ? &r->relation[r->n_relations - 1] : NULL;

	if (!c->realtime)
		return 0;
	if (last && last->monotonic <= c->monotonic) {
		int64_t moved = (int64_t)((c->realtime - c->monotonic) - (last->realtime - last->monotonic));

		if (moved < RELATION_NOISE_NS && moved > -RELATION_NOISE_NS)
			return 0;
	}
	if ((last && last->monotonic > c->monotonic) || r->n_relations == RELATIONS_MAX)
		return 0;
	if (array_room(&r->relation, r->n_relations, sizeof(*r->relation)))
		return -ENOMEM;
	r->relation[r->n_relations++] = *c;
	return 0;
}

uint64_t pm_reader_realtime(const struct pm_reader *r, uint64_t monotonic_ns)
{
	const struct pm_clocks *now = &r->head.clocks, *best;
	size_t at;

	if (!r->n_relations)
		return 0;
	/* For its own time the current chunk is most accurate; the relations cover earlier times. */
	if (now->realtime && monotonic_ns >= r->head.tick[0])
		return now->realtime + (monotonic_ns - now->monotonic);
	at = ARRAY_PLACE(r->n_relations, i, r->relation[i].monotonic <= monotonic_ns);
	best = &r->relation[at ? at - 1 : 0];
	return best->realtime + (monotonic_ns - best->monotonic);
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

int reader_chunk_head(struct pm_reader *r, struct chunk_head *head, const struct chunk_base *base,
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

int reader_chunk(struct pm_reader *r, const struct frame_head *h, struct pm_item *item)
{
	int err = reader_chunk_head(r, &r->head, &r->base, h);

	if (err) {
		r->base.valid = false;
		if (err != -ENOLINK)
			return err == -EBADMSG ? -EPROTO : err;
		reader_damage_chunk(r, r->window.offset + frame_len(h), r->head.rows);
		return -ENODATA;
	}
	if (!ascends(&r->head, r->last_ns)) {
		r->base.valid = false;
		reader_damage_add(r, PM_DAMAGE_CONTENT, r->window.offset, frame_len(h),
				  "chunk: its times go backwards: %s", pm_rule_text(PM_RULE_ASCEND));
		return -ENODATA;
	}
	r->chunk_frame = *h;
	/* Rows of a chunk that was not decoded are unknown. */
	if (r->head.key || !r->last_decoded)
		r->chain++;
	r->last_decoded = false;
	r->chunk_too_new = r->head.newer || (r->chunk_too_new && !r->head.key);
	if (r->head.newer)
		newer_note(&r->newer, "chunks of codec %d, or with keys newer than this program", r->head.codec);
	err = chunk_base_set(&r->base, &r->head, h->crc);
	if (!err)
		err = note_relation(r, &r->head.clocks);
	if (err)
		return err;
	item->kind = PM_ITEM_CHUNK;
	item->chunk = (struct pm_chunk_head){
		.run = r->head.run,
		.segment = r->head.segment,
		.rows = r->head.rows,
		.key = r->head.key,
		.from_ns = r->head.tick[0],
		.to_ns = r->head.tick[r->head.rows - 1],
		.clocks = r->head.clocks,
	};
	r->chunk_open = true;
	r->chunk_decoded = false;
	r->stats.chunks++;
	r->stats.snapshots += r->head.rows;
	reader_damage_until(r, item->chunk.from_ns);
	r->before_ns = r->last_ns;
	r->last_ns = item->chunk.to_ns;
	return 0;
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
static int mark_newer(struct pm_reader *r, struct reader_group *own, struct pm_chunk_group *out, bool all)
{
	const struct pm_group *g = pm_model_group(&r->model, own->id);
	uint32_t head = own->layout.head, rows = r->head.rows;

	if (!out->status && !make_status((void *[]){ out, own }, (size_t)own->layout.columns * rows))
		return -ENOMEM;
	for (uint32_t v = 0; head + v < own->layout.columns; v++)
		if (all || pm_model_counter(&r->model, pm_group_counter_of(g, v))->newer ||
		    pm_model_instance(&r->model, pm_group_instance_of(g, v))->newer)
			for (uint32_t row = 0; row < rows; row++)
				own->status[(size_t)(head + v) * rows + row] = PM_REASON_NEWER;
	return 0;
}

/* A value that is not the id of a string is invalid. */
static int check_strings(struct pm_reader *r, struct reader_group *own, struct pm_chunk_group *out)
{
	const struct pm_group *g = pm_model_group(&r->model, own->id);
	uint32_t head = own->layout.head, rows = r->head.rows;

	for (uint32_t v = 0; head + v < own->layout.columns; v++) {
		size_t at = (size_t)(head + v) * rows;

		if (!pm_counter_texts(pm_model_counter(&r->model, pm_group_counter_of(g, v))))
			continue;
		for (size_t cell = at; cell < at + rows; cell++) {
			if ((out->status && out->status[cell]) ||
			    (own->v[cell] && own->v[cell] <= r->model.n_strings))
				continue;
			if (!out->status && !make_status((void *[]){ out, own }, (size_t)own->layout.columns * rows))
				return -ENOMEM;
			own->status[cell] = PM_REASON_SUSPECT;
		}
	}
	return 0;
}

static bool all_newer(const struct pm_reader *r, uint32_t id)
{
	return r->too_new || r->chunk_too_new || pm_model_group(&r->model, id)->newer;
}

/* For a group whose bytes cannot be interpreted, only the fact that it was read at these ticks is known. */
static int stand_in(struct pm_reader *r, uint32_t id, struct pm_chunk_group *out)
{
	struct reader_group *g = reader_group_if(r, id);
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

/* What damage costs a chunk: groups without a definition; blocks whose checksums fail; groups that were in such. */
struct loss {
	uint32_t unknown, blocks, groups;
	char sources[80]; /* of these groups */
};

static void lose_group(struct pm_reader *r, struct pm_chunk_group *g, struct loss *loss)
{
	uint32_t id = g->group;
	const char *source = pm_model_group(&r->model, id)->source;
	size_t len = strlen(loss->sources), n = strlen(source);

	*g = (struct pm_chunk_group){ .group = id, .absent = true, .lost = true };
	reader_group_if(r, id)->chain = 0;
	loss->groups++;
	for (const char *at = loss->sources; n && (at = strstr(at, source)); at += n)
		if ((at == loss->sources || at[-1] == ' ') && (!at[n] || at[n] == ','))
			return;
	snprintf(loss->sources + len, sizeof(loss->sources) - len, "%s%s", len ? ", " : "", source);
}

/* Decodes one group of the block; `out` says what became of it. */
static int take_group(struct pm_reader *r, struct block_cursor *b, uint32_t id, struct pm_chunk_group *out,
		      struct loss *loss)
{
	struct block_rows rows = {
		.rows = r->head.rows,
		.tick = r->head.tick,
		.dependent = !r->head.key,
		.codec = r->head.codec,
	};
	struct reader_group *g = out && reader_wants(r, id) ? reader_group_if(r, id) : NULL;
	bool chained = g && !r->head.key && g->chain == r->chain;
	struct block_cursor start = *b;
	int err = 0;

	if (!g || all_newer(r, id)) {
		err = block_skip(b, rows.codec);
		return err || !g ? err : stand_in(r, id, out);
	}
	rows.before_tick = g->last_tick;
	if (chained)
		err = reader_keep_last_row(g);
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
static int prepare_groups(struct pm_reader *r)
{
	uint64_t values = 0;
	uint32_t n = r->head.n_groups + r->head.n_lost;

	if (array_hold(&r->chunk_group, &r->chunk_groups_cap, n, sizeof(*r->chunk_group)))
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		bool lost = i >= r->head.n_groups;
		uint32_t id = lost ? r->head.lost[i - r->head.n_groups] : r->head.group[i];

		if (pm_model_group(&r->model, id) && !reader_group_of(r, id))
			return -ENOMEM;
		if (!reader_wants(r, id))
			continue;
		if (reader_need_layout(r, reader_group_if(r, id)))
			return -ENOMEM;
		r->rule = PM_RULE_NAMED;
		if (reader_group_if(r, id)->chunk == r->stats.chunks)
			return -EBADMSG;
		reader_group_if(r, id)->chunk = r->stats.chunks;
		if (lost)
			continue;
		values += (uint64_t)reader_group_if(r, id)->layout.columns * r->head.rows;
	}
	for (uint32_t i = 0; i < r->head.n_blocks; i++)
		values += r->head.block[i].raw / 8;
	r->asked = values;
	r->values += values;
	return values > PM_MAX_CHUNK_RAW / 8 || r->values > PM_FREE_VALUES + r->window.bytes_read * PM_BYTE_VALUES ?
		       -E2BIG :
		       0;
}

/* Decodes one block; `first` is the index of its first group in head.group. */
static int take_block(struct pm_reader *r, const struct chunk_block *b, const uint8_t *data, uint32_t first,
		      struct loss *loss)
{
	struct pm_chunk *chunk = &r->chunk;
	bool wanted = false, torn;
	struct block_cursor at = { .n_bits = b->bits };
	size_t packed = b->stored - b->bits;
	int err;

	for (uint32_t i = 0; i < b->n_groups; i++)
		wanted |= reader_wants(r, r->head.group[first + i]);
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

		if (pm_model_group(&r->model, id)) {
			out = &chunk->group[chunk->n_groups++];
			*out = (struct pm_chunk_group){ .group = id, .absent = true };
		} else {
			loss->unknown++;
		}
		if (torn && reader_wants(r, id))
			lose_group(r, out, loss);
		if (!wanted || torn)
			continue;
		err = !r->head.newer             ? take_group(r, &at, id, out, loss) :
		      out && reader_wants(r, id) ? stand_in(r, id, out) :
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

static int take_blocks(struct pm_reader *r, const uint8_t *payload, struct loss *loss)
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
		if (!reader_wants(r, r->head.lost[i]))
			continue;
		r->chunk.group[r->chunk.n_groups++] =
			(struct pm_chunk_group){ .group = r->head.lost[i], .absent = true, .lost = true };
		r->chunk.partial = true;
	}
	return 0;
}

/* The numbers of this chunk are lost, and so is what depends on them. */
static int lose_chunk(struct pm_reader *r, enum pm_damage_kind kind, const char *text)
{
	struct pm_damage *d;

	/* Whose checksum fails has a good head, from which others can be read. */
	r->base.valid &= kind == PM_DAMAGE_GARBAGE;
	r->chunk_open = false;
	r->last_ns = r->before_ns;
	d = reader_damage_add(r, kind, r->window.offset, r->frame_end - r->window.offset, "%s", text);
	if (d)
		d->snapshots += r->head.rows;
	return -EBADMSG;
}

/* Of a chunk whose blocks were read. What is lost lies in it, not after it. -EBADMSG: nothing is left. */
static int note_loss(struct pm_reader *r, const struct loss *loss, bool unsound)
{
	uint64_t last_ns = r->last_ns, offset = r->window.offset;
	bool left = !loss->groups;

	for (uint32_t i = 0; i < r->chunk.n_groups; i++)
		left |= !r->chunk.group[i].absent;
	if (loss->blocks || unsound)
		reader_frame_within(r, &r->chunk_frame);
	r->last_ns = r->before_ns;
	if (loss->unknown) {
		reader_damage_add(r, PM_DAMAGE_PARTIAL, offset, r->frame_end - offset,
				  "chunk: the definitions of %u of its %u groups are lost", loss->unknown,
				  r->head.n_groups);
		reader_damage_chunk(r, r->frame_end, 0);
	}
	if (loss->blocks && left) {
		reader_damage_add(r, PM_DAMAGE_PARTIAL, offset, r->frame_end - offset,
				  "chunk %" PRIu64 ": the checksums of %u of its %u blocks fail (%s)",
				  r->stats.chunks, loss->blocks, r->head.n_blocks, loss->sources);
	} else if (loss->blocks) {
		return lose_chunk(r, PM_DAMAGE_GARBAGE, "chunk: its checksum fails");
	} else if (loss->groups) {
		reader_damage_goes_on(r, left, loss->sources);
		reader_damage_chunk(r, r->frame_end, left ? 0 : r->head.rows);
	} else if (unsound) {
		r->last_ns = 0;
		reader_damage_add(r, PM_DAMAGE_PARTIAL, r->frame_end - FRAME_TRAILER, FRAME_TRAILER,
				  "chunk: its checksum fails, but not those of its blocks: no value is lost");
		r->damage_timed = r->n_damage;
	}
	r->last_ns = left ? last_ns : r->before_ns;
	r->chunk_open = left;
	if (!left)
		return -EBADMSG;
	r->chunk.unknown = loss->unknown != 0;
	r->chunk.partial |= loss->unknown || loss->groups;
	for (size_t i = r->before_chunk; i < r->n_damage && !r->chunk.partial && !r->chunk.after_loss; i++)
		r->damage[i].harmless = true;
	r->before_chunk = r->n_damage;
	r->hole = false;
	r->last_number = r->head.number[r->head.rows - 1];
	r->last_run = r->head.run;
	r->last_segment = r->head.segment;
	return 0;
}

int pm_reader_decode(struct pm_reader *r, const struct pm_chunk **chunk)
{
	struct window *w = &r->window;
	struct loss loss = { 0 };
	const uint8_t *payload;
	char text[240];
	uint32_t crc;
	bool unsound;
	int err;

	*chunk = NULL;
	if (r->err)
		return r->err;
	if (!r->chunk_open)
		return -EINVAL;
	if (r->chunk_decoded) {
		*chunk = &r->chunk;
		return 0;
	}
	err = window_need(w, r->frame_end - w->offset);
	if (err)
		return r->err = err;
	if (window_has(w) < r->frame_end - w->offset) {
		r->frame_end = w->offset + window_has(w);
		return lose_chunk(r, PM_DAMAGE_CUT, "the file ends inside a chunk");
	}
	payload = window_at(w) + r->chunk_frame.head_len;
	/* The blocks' own checksums cover what is used; with a selection, the rest does not matter. */
	unsound = frame_trailer(payload + r->chunk_frame.payload_len, &crc) ||
		  (!r->wanted && crc != crc32c(payload, r->chunk_frame.payload_len));
	err = prepare_groups(r);
	if (!err)
		err = take_blocks(r, payload, &loss);
	if (err == -E2BIG) {
		snprintf(text, sizeof(text), "chunk: claims %" PRIu64 " values in %" PRIu64 " bytes; %s", r->asked,
			 r->chunk_frame.payload_len, "beyond the limits of the format");
		return lose_chunk(r, PM_DAMAGE_CONTENT, text);
	}
	if (err == -EBADMSG) {
		snprintf(text, sizeof(text), "chunk breaks a rule of the format: %s", pm_rule_text(r->rule));
		return lose_chunk(r, PM_DAMAGE_CONTENT, text);
	}
	if (err)
		return r->err = err;
	r->chunk_decoded = r->last_decoded = true;
	err = note_loss(r, &loss, unsound);
	*chunk = err ? NULL : &r->chunk;
	return err;
}
