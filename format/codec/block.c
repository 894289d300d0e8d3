#include "format/codec/block.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* RFC 8746: arrays of 64-bit numbers, little-endian. */
enum { TAG_U64LE = 71, TAG_S64LE = 79, TAG_F64LE = 86 };

void layout_release(struct layout *l)
{
	free(l->band);
	free(l->type);
	*l = (struct layout){ 0 };
}

static void add_band(struct layout *l, uint32_t columns, uint8_t bits, uint8_t type, uint32_t ref, uint32_t refs)
{
	l->type[l->n_bands] = type;
	l->band[l->n_bands++] = (struct pm_band){ columns, bits, ref, refs };
	l->columns += columns;
}

static uint8_t plain_type(const struct pm_counter *c)
{
	/* In columns, string ids are unsigned numbers. */
	return c->type == PM_S64 || c->type == PM_F64 ? (uint8_t)c->type : PM_U64;
}

/* perf's clocks (task-clock, cpu-clock) advance in ns like the group's enabled time, and share the jitter of its
 * reading. */
static bool follows_enabled(const struct pm_group *g, const struct pm_counter *c)
{
	return g->flags & PM_GROUP_PERF_TIMES && c->type == PM_U64 && c->width == 64 && !strcmp(c->unit, "ms") &&
	       c->scale.text && !strcmp(c->scale.text, "1e-6");
}

int layout_init(struct layout *l, const struct pm_model *m, const struct pm_group *g)
{
	uint32_t times = pm_group_times(g), most = 4 + g->n_counters;

	*l = (struct layout){ 0 };
	l->band = malloc(most * sizeof(*l->band));
	l->type = malloc(most);
	if (!l->band || !l->type) {
		layout_release(l);
		return -ENOMEM;
	}
	add_band(l, times, 64, PM_U64, PM_REF_TICK, 1);
	add_band(l, times, 64, PM_U64, 0, times);
	if (g->flags & PM_GROUP_PERF_TIMES) {
		add_band(l, times, 64, PM_U64, 0, times);
		add_band(l, times, 64, PM_U64, 2 * times, times);
	}
	l->head = l->columns;
	for (uint32_t i = 0; i < g->n_counters; i++) {
		const struct pm_counter *c = pm_model_counter(m, g->counter[i]);
		struct pm_band *last = &l->band[l->n_bands - 1];

		if (!(g->flags & PM_GROUP_LIST)) {
			bool clock = follows_enabled(g, c);

			add_band(l, g->n_instances, c->width, plain_type(c), clock ? 2 * times : PM_NO_REF,
				 clock ? times : 0);
		} else if (l->columns > l->head && last->bits == c->width &&
			   l->type[l->n_bands - 1] == plain_type(c)) {
			last->columns++;
			l->columns++;
		} else {
			add_band(l, 1, c->width, plain_type(c), PM_NO_REF, 0);
		}
	}
	return 0;
}

/* Copies numbers or growths: the first `kept` members have those of their places in the other group; new ones have
 * `time` for begin and end, and 0. */
static void take_over(const struct pm_group *g, uint64_t *after, const struct pm_group *from, const uint64_t *before,
		      const uint32_t *place, uint32_t kept, uint64_t time)
{
	uint32_t times = pm_group_times(g), old_times = pm_group_times(from);
	uint32_t head = pm_group_head(g), old_head = pm_group_head(from);

	for (uint32_t k = 0; k < head / times; k++) {
		for (uint32_t i = 0; i < times; i++)
			after[k * times + i] = times == 1 && old_times == 1 && g->flags & PM_GROUP_SHARED_TIME ?
						       before[k] :
					       i < kept ? before[k * old_times + place[i]] :
					       k < 2    ? time :
							  0;
	}
	for (uint32_t c = 0; c < g->n_counters; c++)
		for (uint32_t i = 0; i < g->n_instances; i++)
			after[head + c * g->n_instances + i] =
				i < kept ? before[old_head + c * from->n_instances + place[i]] : 0;
}

int group_take_over(const struct pm_group *g, uint64_t *after, const struct pm_group *from, const uint64_t *before,
		    uint64_t before_tick)
{
	uint32_t *place = malloc((g->n_instances + 1ull) * sizeof(*place)), kept;

	if (!place)
		return -ENOMEM;
	kept = model_group_kept(g, from, place);
	take_over(g, after, from, before, place, kept, before_tick);
	take_over(g, after + pm_group_columns(g), from, before + pm_group_columns(from), place, kept, 0);
	free(place);
	return 0;
}

void block_scratch_release(struct block_scratch *s)
{
	buf_release(&s->matrix);
	buf_release(&s->status);
	free(s->v);
	*s = (struct block_scratch){ 0 };
}

/* Writes stretches of (valid values, missing values, reason), counter by counter and row by row; what follows the
 * last stretch is valid. Returns the number of stretches. */
static size_t collect_status(struct buf *out, const struct layout *l, const struct pm_chunk_group *g, uint32_t rows)
{
	uint64_t valid = 0, missing = 0;
	uint16_t reason = 0;
	size_t n = 0;

	for (uint32_t c = l->head; c < l->columns; c++) {
		const uint16_t *s = g->status + c * g->stride;

		for (uint32_t r = 0; r < rows; r++) {
			if (s[r] == reason && reason) {
				missing++;
				continue;
			}
			if (missing) {
				cbor_add_uint(out, valid);
				cbor_add_uint(out, missing);
				cbor_add_uint(out, reason);
				n++;
				valid = missing = 0;
			}
			reason = s[r];
			if (reason)
				missing = 1;
			else
				valid++;
		}
	}
	if (missing) {
		cbor_add_uint(out, valid);
		cbor_add_uint(out, missing);
		cbor_add_uint(out, reason);
		n++;
	}
	return n;
}

/* Copies the group with missing values replaced by the value before them, so that they cost nothing and no stray
 * memory reaches the file. */
static int fill_missing(struct block_scratch *s, const struct layout *l, const struct pm_chunk_group *g,
			uint32_t rows, const uint64_t *before)
{
	size_t cells = (size_t)l->columns * rows;

	if (cells > s->v_cap) {
		free(s->v);
		s->v = malloc(cells * sizeof(*s->v));
		s->v_cap = s->v ? cells : 0;
		if (!s->v)
			return -ENOMEM;
	}
	for (uint32_t c = 0; c < l->columns; c++) {
		const uint64_t *from = g->v + c * g->stride;
		const uint16_t *status = g->status + c * g->stride;
		uint64_t *to = s->v + (size_t)c * rows, last = 0;

		if (c < l->head) {
			memcpy(to, from, rows * sizeof(*to));
			continue;
		}
		if (before) {
			last = before[c];
		} else {
			for (uint32_t r = 0; r < rows; r++) {
				if (!status[r]) {
					last = from[r];
					break;
				}
			}
		}
		for (uint32_t r = 0; r < rows; r++)
			to[r] = last = status[r] ? last : from[r];
	}
	return 0;
}

static uint64_t plain_tag(uint8_t type)
{
	return type == PM_F64 ? TAG_F64LE : type == PM_S64 ? TAG_S64LE : TAG_U64LE;
}

static void add_plain(struct buf *out, const struct layout *l, const uint64_t *v, size_t stride, uint32_t rows)
{
	cbor_add_head(out, CBOR_ARRAY, l->n_bands);
	for (uint32_t b = 0; b < l->n_bands; b++) {
		size_t len = (size_t)l->band[b].columns * rows * 8;

		cbor_add_head(out, CBOR_TAG, plain_tag(l->type[b]));
		cbor_add_head(out, CBOR_BYTES, len);
		if (buf_reserve(out, len))
			return;
		for (uint32_t c = 0; c < l->band[b].columns; c++, v += stride) {
			for (uint32_t r = 0; r < rows; r++, out->len += 8)
				store_le64(out->data + out->len, v[r]);
		}
	}
}

static void add_packed(struct block *out, struct block_scratch *s, const struct pm_matrix *m, bool fresh)
{
	size_t bits = out->bits.len;
	int err;

	buf_clear(&s->matrix);
	err = pm_pack(m, &s->matrix, &out->bits);
	if (err && !out->items.err)
		out->items.err = err;
	if (fresh && s->matrix.len)
		s->matrix.data[0] |= PM_MATRIX_FRESH;
	cbor_add_uint(&out->items, out->bits.len - bits);
	cbor_add_bytes(&out->items, s->matrix.data, s->matrix.len);
}

void row_after(const struct layout *l, const struct pm_matrix *m, uint64_t *after)
{
	static const uint64_t none;
	const uint64_t *v = m->v + m->rows - 1, *last = m->rows > 1 ? v - 1 : m->before ? m->before : &none;
	size_t stride = m->stride, step = m->rows > 1 ? stride : m->before ? 1 : 0;

	for (uint32_t c = 0, n = l->columns; c < n; c++, v += stride, last += step) {
		after[n + c] = pm_growth(*last, *v);
		after[c] = *v;
	}
}

int block_add(struct block *out, struct block_scratch *s, const struct layout *l, const struct pm_chunk_group *g,
	      const struct block_rows *rows, const uint64_t *before, uint64_t *after)
{
	struct pm_matrix m = {
		.band = l->band,
		.n_bands = l->n_bands,
		.rows = rows->rows,
		.stride = g->stride,
		.v = g->v,
		.tick = rows->tick,
		.before = before,
		.growth = before ? before + l->columns : NULL,
		.before_tick = rows->before_tick,
	};
	size_t stretches = 0;

	buf_clear(&s->status);
	if (g->status)
		stretches = collect_status(&s->status, l, g, rows->rows);
	if (stretches) {
		int err = fill_missing(s, l, g, rows->rows, before);

		if (err)
			return err;
		m.v = s->v;
		m.stride = rows->rows;
	}
	if (rows->codec == PM_CODEC_PLAIN)
		add_plain(&out->items, l, m.v, m.stride, m.rows);
	else
		add_packed(out, s, &m, rows->dependent && !before);
	cbor_add_head(&out->items, CBOR_ARRAY, 3 * stretches);
	buf_add(&out->items, s->status.data, s->status.len);
	row_after(l, &m, after);
	return out->items.err ? out->items.err : s->status.err;
}

static void take_plain(struct cbor *c, const struct layout *l, uint32_t rows, uint64_t *v, size_t stride)
{
	if (cbor_array(c) != l->n_bands)
		cbor_fail(c, PM_RULE_PLAIN);
	for (uint32_t b = 0; b < l->n_bands && !c->err; b++) {
		const uint8_t *data;
		size_t len;

		if (cbor_tag(c) != plain_tag(l->type[b]))
			cbor_fail(c, PM_RULE_PLAIN);
		data = cbor_bytes(c, &len);
		if (len != (size_t)l->band[b].columns * rows * 8)
			cbor_fail(c, PM_RULE_PLAIN);
		for (uint32_t k = 0; k < l->band[b].columns && !c->err; k++, v += stride)
			for (uint32_t r = 0; r < rows; r++, data += 8)
				v[r] = load_le64(data);
	}
}

/* The bits of the next matrix; NULL: there are not so many. */
static const uint8_t *take_bits(struct block_cursor *b, uint64_t *len)
{
	const uint8_t *bits = b->bits;

	*len = cbor_uint(&b->items);
	if (!b->items.err && *len > b->n_bits)
		cbor_fail(&b->items, PM_RULE_BLOCK);
	if (b->items.err)
		return NULL;
	b->bits += *len;
	b->n_bits -= *len;
	return bits;
}

static void take_packed(struct block_cursor *b, const struct pm_matrix *m, bool dependent)
{
	uint64_t n_bits;
	size_t len;
	const uint8_t *bits = take_bits(b, &n_bits), *lengths = cbor_bytes(&b->items, &len);
	int err;

	if (b->items.err)
		return;
	if (dependent && !m->before && len && !(*lengths & PM_MATRIX_FRESH))
		err = -ENOLINK;
	else
		err = pm_unpack(m, lengths, len, bits, n_bits);
	if (err == -EBADMSG)
		cbor_fail(&b->items, PM_RULE_PACKED);
	else if (err)
		b->items.err = err;
}

static void take_status(struct cbor *c, const struct layout *l, uint32_t rows, size_t stride, block_status_fn make,
			void *ctx)
{
	uint64_t left = (uint64_t)(l->columns - l->head) * rows, at = 0;
	size_t n = cbor_tuples(c, 3);
	uint16_t *status;

	if (c->err || !n)
		return;
	status = make(ctx, (size_t)l->columns * stride) + (size_t)l->head * stride;
	for (; n && !c->err; n -= 3) {
		uint64_t valid = cbor_uint(c), missing = cbor_uint(c), reason = cbor_uint(c);

		if (valid > left || missing > left - valid || !missing || !reason || reason > UINT16_MAX) {
			cbor_fail(c, PM_RULE_STATUS);
			return;
		}
		left -= valid + missing;
		for (at += valid; missing; missing--, at++)
			status[at / rows * stride + at % rows] = (uint16_t)reason;
	}
}

int block_skip(struct block_cursor *b, enum pm_codec codec)
{
	uint64_t n_bits;

	if (codec != PM_CODEC_PLAIN)
		take_bits(b, &n_bits);
	cbor_skip(&b->items);
	cbor_skip(&b->items);
	return b->items.err;
}

int block_take(struct block_cursor *b, const struct layout *l, const struct block_rows *rows, const uint64_t *before,
	       uint64_t *v, size_t stride, block_status_fn status, void *ctx)
{
	struct pm_matrix m = {
		.band = l->band,
		.n_bands = l->n_bands,
		.rows = rows->rows,
		.stride = stride,
		.v = v,
		.tick = rows->tick,
		.before = before,
		.growth = before ? before + l->columns : NULL,
		.before_tick = rows->before_tick,
	};

	if (rows->codec == PM_CODEC_PLAIN)
		take_plain(&b->items, l, rows->rows, v, stride);
	else
		take_packed(b, &m, rows->dependent);
	take_status(&b->items, l, rows->rows, stride, status, ctx);
	return b->items.err;
}
