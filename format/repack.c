/* Copies packed chunks to another recording as they are, which is most of the work of cut and merge. */
#include <errno.h>
#include <string.h>

#include "format/reader_private.h"
#include "format/writer_private.h"

/* Equal bytes have equal meanings only in columns of the same kind. */
static bool same_layout(const struct layout *a, const struct layout *b)
{
	if (a->columns != b->columns || a->head != b->head || a->n_bands != b->n_bands)
		return false;
	for (uint32_t i = 0; i < a->n_bands; i++) {
		const struct pm_band *x = &a->band[i], *y = &b->band[i];

		if (x->columns != y->columns || x->bits != y->bits || x->real != y->real ||
		    x->ref_first != y->ref_first || x->ref_columns != y->ref_columns)
			return false;
	}
	return true;
}

/* Whether the row that the chunk depends on is the one that was written last. */
static bool follows(const struct pm_writer *w, const struct pm_reader *r, const struct pm_chunk *chunk)
{
	return w->base.valid && w->repacked && w->repacked_crc == r->head.base_crc && !w->break_asked &&
	       chunk->run == w->base.run && chunk->segment == w->base.segment &&
	       chunk_clocks_match(&chunk->clocks, &w->base.clocks);
}

static int map_groups(struct pm_writer *w, struct pm_reader *r, const struct pm_repack *how)
{
	const uint64_t *add;
	int err = chunk_head_room(&w->head, r->head.n_groups + 1, 0, r->head.n_blocks + 1);

	for (uint32_t i = 0; i < r->head.n_groups && !err; i++) {
		uint32_t from = r->head.group[i], id = how->group(how->ctx, from, &add);
		const struct reader_group *in = pm_model_group(&r->model, from) ? reader_group_of(r, from) : NULL;
		struct writer_group *own;

		if (!id || !pm_model_group(w->config.model, id) || !in || !r->chain || in->chain != r->chain ||
		    in->marked)
			return -EAGAIN;
		own = writer_group_of(w, id);
		if (!own)
			return -ENOMEM;
		if (!same_layout(&own->layout, &in->layout))
			return -EAGAIN;
		w->head.group[i] = id;
	}
	w->head.n_groups = r->head.n_groups;
	return err;
}

/* The number of values in this chunk, as statistics count them. */
static uint64_t values_of(struct pm_writer *w, uint32_t rows)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < w->head.n_groups; i++) {
		const struct layout *l = &writer_group_of(w, w->head.group[i])->layout;

		n += (uint64_t)(l->columns - l->head) * rows;
	}
	return n;
}

/* Whether stored differences, from previous columns or from other bands, remain valid when the values are shifted. */
static bool moves_band(const struct pm_band *b, uint8_t stored, uint32_t first, const uint64_t *add, uint64_t add_ns)
{
	for (uint32_t c = 0; c < b->columns && stored != PM_STORED_DIFFERENCES; c++) {
		uint64_t other = 0;

		if (stored == PM_STORED_DISTANCES)
			other = b->ref_first == PM_REF_TICK ? add_ns :
							      add[b->ref_first + (b->ref_columns == 1 ? 0 : c)];
		if (add[first + c] != other)
			return false;
	}
	return true;
}

/* Whether shifted numbers keep their growths, which from 0 are unknown. */
static bool grows_alike(const struct reader_group *g, const uint64_t *add)
{
	const struct layout *l = &g->layout;

	for (uint32_t b = 0, c = 0; b < l->n_bands; b++) {
		uint64_t mask = UINT64_MAX >> (64 - l->band[b].bits);

		for (uint32_t k = 0; k < l->band[b].columns; k++, c++) {
			const uint64_t *v = g->v + (size_t)c * g->rows;

			if (add[c] && !g->chained)
				return false;
			for (uint32_t row = 0; add[c] && row < g->rows; row++) {
				uint64_t last = row ? v[row - 1] : g->before[c];
				uint64_t moved = pm_growth((last + add[c]) & mask, v[row] + add[c]);

				if ((pm_growth(last, v[row]) ^ moved) & mask)
					return false;
			}
		}
	}
	return true;
}

static bool moves(struct pm_reader *r, const struct pm_repack *how)
{
	for (uint32_t i = 0; i < r->head.n_groups; i++) {
		uint32_t id = r->head.group[i], first = 0;
		const struct reader_group *g = reader_group_of(r, id);
		const struct layout *l = &g->layout;
		const uint64_t *add;

		how->group(how->ctx, id, &add);
		if ((!add && how->add_ns) || (add && !grows_alike(g, add)))
			return false;
		for (uint32_t b = 0; add && b < l->n_bands; first += l->band[b++].columns)
			if (!moves_band(&l->band[b], l->stored[b], first, add, how->add_ns))
				return false;
	}
	return true;
}

/* Whether the row of a group that was written last is the one that was read last, shifted, and grows as that does. */
static bool same_row(const struct layout *l, const uint64_t *written, const uint64_t *read, const uint64_t *add)
{
	for (uint32_t b = 0, c = 0; b < l->n_bands; b++) {
		uint64_t mask = UINT64_MAX >> (64 - l->band[b].bits);

		for (uint32_t k = 0; k < l->band[b].columns; k++, c++)
			if (((written[c] ^ (read[c] + (add ? add[c] : 0))) |
			     (written[l->columns + c] ^ read[l->columns + c])) &
			    mask)
				return false;
	}
	return true;
}

bool pm_repack_follows(struct pm_writer *w, struct pm_reader *r, const struct pm_repack *how)
{
	if (!r->chunk_decoded || !w->base.valid || w->base.n_groups != r->head.n_groups)
		return false;
	for (uint32_t i = 0; i < r->head.n_groups; i++) {
		const uint64_t *add;
		uint32_t from = r->head.group[i], id = how->group(how->ctx, from, &add);
		const struct writer_group *own;
		struct reader_group *g;

		if (!id || !pm_model_group(w->config.model, id))
			return false;
		g = reader_group_of(r, from);
		own = writer_group_of(w, id);
		if (!g || !own || g->chain != r->chain || own->chain != w->chain ||
		    !same_layout(&own->layout, &g->layout) || reader_keep_last_row(g) ||
		    !same_row(&g->layout, own->last, g->before, how->moved ? add : NULL))
			return false;
	}
	w->repacked = true;
	w->repacked_crc = r->chunk_frame.crc;
	return true;
}

int pm_repack(struct pm_writer *w, struct pm_reader *r, const struct pm_chunk *chunk, const struct pm_repack *how)
{
	struct index_entry entry = { .rows = (uint16_t)r->head.rows, .key = r->head.key };
	struct chunk_head *h = &w->head;
	const uint8_t *payload;
	uint32_t crc;
	int err;

	if (!r->chunk_decoded || r->torn == r->chain || r->head.n_lost || r->head.codec != PM_CODEC_PACKED ||
	    w->config.codec != PM_CODEC_PACKED || chunk->rows != r->head.rows ||
	    (!r->head.key && (!r->same_groups || !follows(w, r, chunk))) ||
	    memcmp(chunk->tick, r->head.tick, chunk->rows * sizeof(*chunk->tick)) ||
	    (how->moved && (r->head.key || !moves(r, how))))
		return -EAGAIN;
	err = pm_writer_flush(w);
	if (!err && r->head.key)
		err = writer_repeat(w, chunk->tick[chunk->rows - 1] + how->add_ns, true);
	if (err)
		return err;
	err = map_groups(w, r, how);
	if (err)
		return err == -EAGAIN ? err : writer_fail(w, err, "chunk");
	h->key = r->head.key;
	err = writer_bridge(w);
	if (err)
		return err;
	h->codec = PM_CODEC_PACKED;
	h->run = chunk->run;
	h->segment = chunk->segment;
	h->rows = chunk->rows;
	h->clocks = chunk->clocks;
	h->step = r->head.step;
	for (uint32_t i = 0; i < chunk->rows; i++)
		h->tick[i] = chunk->tick[i] + how->add_ns;
	memcpy(h->number, chunk->number, chunk->rows * sizeof(*h->number));
	memcpy(h->flags, chunk->flags, chunk->rows * sizeof(*h->flags));
	if (r->head.n_blocks)
		memcpy(h->block, r->head.block, r->head.n_blocks * sizeof(*h->block));
	h->n_blocks = r->head.n_blocks;
	h->n_lost = 0;
	payload = window_at(&r->window) + r->chunk_frame.head_len;
	buf_clear(&w->meta);
	chunk_head_encode(h, &w->base, r->chunk_frame.payload_len, &w->meta);
	entry.from_ns = h->tick[0];
	entry.to_ns = h->tick[chunk->rows - 1];
	err = writer_frame(w, PM_FRAME_CHUNK, payload, r->chunk_frame.payload_len, &entry, &crc);
	if (!err && chunk_base_set(&w->base, h, crc))
		err = writer_fail(w, -ENOMEM, "chunk");
	if (err)
		return err;
	/* The last rows that the writer keeps are not those of this chunk. */
	w->repacked = true;
	w->repacked_crc = r->chunk_frame.crc;
	w->since_key = h->key ? 0 : w->since_key + 1;
	w->break_asked = false;
	w->stats.values += values_of(w, chunk->rows);
	w->stats.chunks++;
	w->stats.snapshots += chunk->rows;
	return writer_index(w);
}
