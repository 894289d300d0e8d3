#include "format/chunk_head.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/memory.h"
#include "format/cbor.h"
#include "format/definitions.h"
#include "format/frame.h"
#include "format/limits.h"

void chunk_base_release(struct chunk_base *b)
{
	free(b->group);
	*b = (struct chunk_base){ 0 };
}

void chunk_head_release(struct chunk_head *h)
{
	free(h->group);
	free(h->lost);
	free(h->block);
	*h = (struct chunk_head){ 0 };
}

int chunk_head_room(struct chunk_head *h, uint32_t groups, uint32_t lost, uint32_t blocks)
{
	int err = array_hold(&h->group, &h->groups_cap, groups, sizeof(*h->group));

	if (!err)
		err = array_hold(&h->lost, &h->lost_cap, lost, sizeof(*h->lost));
	return err ? err : array_hold(&h->block, &h->blocks_cap, blocks, sizeof(*h->block));
}

int chunk_base_set(struct chunk_base *base, const struct chunk_head *h, uint32_t crc)
{
	base->valid = false;
	if (array_hold(&base->group, &base->groups_cap, h->n_groups, sizeof(*base->group)))
		return -ENOMEM;
	if (h->n_groups)
		memcpy(base->group, h->group, h->n_groups * sizeof(*base->group));
	base->n_groups = h->n_groups;
	base->crc = crc;
	base->run = h->run;
	base->segment = h->segment;
	base->step = h->step;
	base->last_tick = h->tick[h->rows - 1];
	base->last_number = h->number[h->rows - 1];
	base->clocks = h->clocks;
	base->valid = true;
	return 0;
}

bool chunk_clocks_match(const struct pm_clocks *a, const struct pm_clocks *b)
{
	return !a->monotonic_raw == !b->monotonic_raw && !a->realtime == !b->realtime &&
	       !a->boottime == !b->boottime && !a->counter == !b->counter;
}

/* Differences are taken modulo 2^64 and written as the signed number of least size, so nothing can overflow. */
static void add_difference(struct buf *out, uint64_t value, uint64_t expected)
{
	cbor_add_int(out, (int64_t)(value - expected));
}

/* How far clock `b` is ahead of CLOCK_MONOTONIC; this hardly changes from chunk to chunk. */
static uint64_t lead(const struct pm_clocks *c, uint64_t b)
{
	return b - c->monotonic;
}

static void encode_clocks(const struct chunk_head *h, const struct chunk_base *base, struct cbor_fields *f)
{
	const struct pm_clocks *c = &h->clocks;

	cbor_field(f, PM_META_CLOCKS);
	cbor_add_head(f->out, CBOR_ARRAY, 4);
	if (h->key) {
		cbor_add_uint(f->out, c->monotonic);
		cbor_add_uint(f->out, c->monotonic_raw);
		cbor_add_uint(f->out, c->boottime);
		cbor_add_uint(f->out, c->counter);
		return;
	}
	add_difference(f->out, c->monotonic, h->tick[0]);
	add_difference(f->out, c->monotonic_raw ? lead(c, c->monotonic_raw) : 0,
		       c->monotonic_raw ? lead(&base->clocks, base->clocks.monotonic_raw) : 0);
	add_difference(f->out, c->boottime ? lead(c, c->boottime) : 0,
		       c->boottime ? lead(&base->clocks, base->clocks.boottime) : 0);
	add_difference(f->out, c->counter, base->clocks.counter);
}

static void encode_realtime(const struct chunk_head *h, const struct chunk_base *base, struct cbor_fields *f)
{
	cbor_field(f, PM_META_REALTIME);
	if (h->key)
		cbor_add_uint(f->out, h->clocks.realtime);
	else
		add_difference(f->out, lead(&h->clocks, h->clocks.realtime),
			       lead(&base->clocks, base->clocks.realtime));
}

/* The prediction for ticks and numbers is the first one and a constant step; only deviations are written. */
static void encode_series(struct cbor_fields *f, unsigned first_key, unsigned steps_key, const uint64_t *v,
			  uint32_t rows, uint64_t first, uint64_t step)
{
	bool regular = true;

	if (v[0] != first)
		cbor_field_int(f, first_key, (int64_t)(v[0] - first));
	for (uint32_t r = 1; r < rows && regular; r++)
		regular = v[r] - v[r - 1] == step;
	if (regular)
		return;
	cbor_field(f, steps_key);
	cbor_add_head(f->out, CBOR_ARRAY, rows - 1);
	for (uint32_t r = 1; r < rows; r++)
		add_difference(f->out, v[r] - v[r - 1], step);
}

static void encode_flags(const struct chunk_head *h, struct cbor_fields *f)
{
	uint32_t n = 0;

	for (uint32_t r = 0; r < h->rows; r++)
		n += h->flags[r] != 0;
	if (!n)
		return;
	cbor_field(f, PM_META_FLAGS);
	cbor_add_head(f->out, CBOR_ARRAY, 2ull * n);
	for (uint32_t r = 0; r < h->rows; r++) {
		if (!h->flags[r])
			continue;
		cbor_add_uint(f->out, r);
		cbor_add_uint(f->out, h->flags[r]);
	}
}

void chunk_head_encode(const struct chunk_head *h, const struct chunk_base *base, uint64_t payload, struct buf *out)
{
	struct cbor_fields f = cbor_fields(out);

	cbor_field_unless(&f, PM_META_PAYLOAD, payload, 0);
	cbor_field_unless(&f, PM_META_CODEC, h->codec, PM_CODEC_PACKED);
	cbor_field_unless(&f, PM_META_RUN, h->run, 1);
	cbor_field_unless(&f, PM_META_SEGMENT, h->segment, 0);
	cbor_field_unless(&f, PM_META_ROWS, h->rows, 1);
	if (h->key || h->step != base->step)
		cbor_field_uint(&f, PM_META_STEP, h->step);
	encode_series(&f, PM_META_TICK, PM_META_TICKS, h->tick, h->rows, h->key ? 0 : base->last_tick + h->step,
		      h->step);
	encode_series(&f, PM_META_NUMBER, PM_META_NUMBERS, h->number, h->rows, h->key ? 0 : base->last_number + 1, 1);
	encode_flags(h, &f);
	encode_clocks(h, base, &f);
	if (!h->key)
		cbor_field_uint(&f, PM_META_BASE, base->crc);
	if (h->key || h->n_groups != base->n_groups ||
	    (h->n_groups && memcmp(h->group, base->group, h->n_groups * sizeof(*h->group)) != 0))
		cbor_field_ranges(&f, PM_META_GROUPS, h->group, h->n_groups);
	cbor_field(&f, PM_META_BLOCKS);
	cbor_add_head(out, CBOR_ARRAY, 5ull * h->n_blocks);
	for (uint32_t i = 0; i < h->n_blocks; i++) {
		cbor_add_uint(out, h->block[i].stored);
		cbor_add_uint(out, h->block[i].bits);
		cbor_add_uint(out, h->block[i].raw);
		cbor_add_uint(out, h->block[i].crc);
		cbor_add_uint(out, h->block[i].n_groups);
	}
	if (h->n_lost)
		cbor_field_ranges(&f, PM_META_LOST, h->lost, h->n_lost);
	if (h->clocks.realtime)
		encode_realtime(h, base, &f);
}

/* ---- decoding: first everything as it is written, then the sums ---- */

struct written {
	int64_t tick, number;
	uint64_t clock[4]; /* bits of a signed number in dependent chunks */
	uint64_t realtime;
	bool has_step, has_clocks, has_groups, has_blocks, has_realtime;
	int64_t ticks[PM_CHUNK_ROWS], numbers[PM_CHUNK_ROWS];
	uint32_t n_ticks, n_numbers; /* rows that the steps are for; 0: none */
	uint32_t last_flags;         /* the last row that has flags, from 1 */
};

static uint32_t decode_steps(struct cbor *c, int64_t *v)
{
	size_t n = cbor_array(c);

	if (n >= PM_CHUNK_ROWS)
		cbor_fail(c, PM_RULE_ROWS);
	for (size_t i = 0; i < n && !c->err; i++)
		v[i] = cbor_int(c);
	return c->err ? 0 : (uint32_t)n + 1;
}

static void decode_flags(struct cbor *c, struct chunk_head *h, struct written *w)
{
	size_t n = cbor_tuples(c, 2);

	for (size_t i = 0; i < n && !c->err; i += 2) {
		uint32_t row = take_u32(c, PM_CHUNK_ROWS - 1);

		if (row < w->last_flags)
			cbor_fail(c, PM_RULE_FLAGS);
		h->flags[row] = (uint8_t)take_u32(c, UINT8_MAX);
		w->last_flags = row + 1;
	}
}

/* Whether it may name so many more groups. */
static bool names(const struct chunk_head *h, uint32_t more)
{
	return !h->groups_most || h->n_groups + h->n_lost + more <= h->groups_most;
}

static void decode_groups(struct cbor *c, struct chunk_head *h, uint32_t **group, uint32_t *n_groups, uint32_t *cap)
{
	size_t n = cbor_tuples(c, 2);

	*n_groups = 0;
	for (size_t i = 0; i < n && !c->err; i += 2) {
		/* Ids are never reused: those of groups that come and go are limited only by their type. */
		uint32_t first = take_u32(c, UINT32_MAX), count = take_u32(c, PM_MAX_GROUPS);

		if (!first || !count || count - 1 > UINT32_MAX - first || *n_groups + count > PM_MAX_GROUPS) {
			cbor_fail(c, PM_RULE_NAMED);
			return;
		}
		if (!names(h, count)) {
			c->err = -E2BIG;
			return;
		}
		memory_hold(group, cap, *n_groups + count, sizeof(**group));
		while (count--)
			(*group)[(*n_groups)++] = first++;
	}
}

static void decode_blocks(struct cbor *c, struct chunk_head *h)
{
	size_t n = cbor_array(c);

	if (n % 5 || n / 5 > PM_MAX_GROUPS)
		cbor_fail(c, PM_RULE_PAIRS);
	else
		memory_done(chunk_head_room(h, 0, 0, (uint32_t)(n / 5)));
	h->n_blocks = 0;
	for (size_t i = 0; i < n / 5 && !c->err; i++) {
		struct chunk_block *b = &h->block[h->n_blocks++];

		b->stored = take_u32(c, PM_MAX_PAYLOAD);
		b->bits = take_u32(c, b->stored);
		b->raw = take_u32(c, PM_MAX_BLOCK_RAW);
		b->crc = take_u32(c, UINT32_MAX);
		b->n_groups = take_u32(c, PM_MAX_GROUPS);
	}
}

static void decode_clock_array(struct cbor *c, struct written *w)
{
	size_t n = cbor_array(c);

	if (n < 4)
		cbor_fail(c, PM_RULE_CLOCKS);
	for (size_t i = 0; i < n && !c->err; i++) {
		uint64_t v = cbor_peek(c) == CBOR_NINT ? (uint64_t)cbor_int(c) : cbor_uint(c);

		if (i < 4)
			w->clock[i] = v;
	}
}

static void decode_map(struct cbor *c, struct chunk_head *h, struct written *w)
{
	struct cbor_map m;

	for (cbor_map(c, &m); cbor_next(c, &m);) {
		switch (m.key) {
		case PM_META_CODEC:
			h->codec = (enum pm_codec)take_u32(c, INT32_MAX);
			h->newer |= h->codec > PM_CODEC_PLAIN;
			break;
		case PM_META_RUN:
			h->run = take_u32(c, UINT32_MAX);
			break;
		case PM_META_SEGMENT:
			h->segment = take_u32(c, UINT32_MAX);
			break;
		case PM_META_ROWS:
			h->rows = take_u32(c, PM_CHUNK_ROWS);
			break;
		case PM_META_STEP:
			h->step = cbor_uint(c);
			w->has_step = true;
			break;
		case PM_META_TICK:
			w->tick = cbor_int(c);
			break;
		case PM_META_TICKS:
			w->n_ticks = decode_steps(c, w->ticks);
			break;
		case PM_META_NUMBER:
			w->number = cbor_int(c);
			break;
		case PM_META_NUMBERS:
			w->n_numbers = decode_steps(c, w->numbers);
			break;
		case PM_META_FLAGS:
			decode_flags(c, h, w);
			break;
		case PM_META_CLOCKS:
			decode_clock_array(c, w);
			w->has_clocks = true;
			break;
		case PM_META_BASE:
			h->base_crc = take_u32(c, UINT32_MAX);
			h->key = false;
			break;
		case PM_META_GROUPS:
			decode_groups(c, h, &h->group, &h->n_groups, &h->groups_cap);
			w->has_groups = true;
			break;
		case PM_META_LOST:
			decode_groups(c, h, &h->lost, &h->n_lost, &h->lost_cap);
			break;
		case PM_META_BLOCKS:
			decode_blocks(c, h);
			w->has_blocks = true;
			break;
		case PM_META_REALTIME:
			w->realtime = cbor_peek(c) == CBOR_NINT ? (uint64_t)cbor_int(c) : cbor_uint(c);
			w->has_realtime = true;
			break;
		default:
			h->newer |= pm_key_critical(m.key);
			cbor_skip(c);
			break;
		}
	}
}

static void sum_steps(uint64_t *v, const int64_t *step, uint32_t n, uint32_t rows, uint64_t regular_step)
{
	for (uint32_t r = 1; r < rows; r++)
		v[r] = v[r - 1] + regular_step + (uint64_t)(n ? step[r - 1] : 0);
}

static void sum_clocks(struct chunk_head *h, const struct chunk_base *base, const struct written *w)
{
	struct pm_clocks *c = &h->clocks;

	if (h->key) {
		*c = (struct pm_clocks){ w->clock[0], w->clock[1], w->realtime, w->clock[2], w->clock[3] };
		return;
	}
	*c = (struct pm_clocks){ .monotonic = h->tick[0] + w->clock[0] };
	if (base->clocks.monotonic_raw)
		c->monotonic_raw = c->monotonic + lead(&base->clocks, base->clocks.monotonic_raw) + w->clock[1];
	if (base->clocks.boottime)
		c->boottime = c->monotonic + lead(&base->clocks, base->clocks.boottime) + w->clock[2];
	c->counter = base->clocks.counter + w->clock[3];
	if (w->has_realtime)
		c->realtime = c->monotonic + lead(&base->clocks, base->clocks.realtime) + w->realtime;
}

/* Clocks that could not be read have no meaningful differences. */
static bool continues(const struct chunk_head *h, const struct chunk_base *base, const struct written *w)
{
	return h->run == base->run && h->segment == base->segment && (base->clocks.monotonic_raw || !w->clock[1]) &&
	       (base->clocks.boottime || !w->clock[2]) && w->has_realtime == (base->clocks.realtime != 0);
}

static bool blocks_fit(const struct chunk_head *h, uint64_t payload)
{
	uint64_t bytes = 0, groups = 0;

	for (uint32_t i = 0; i < h->n_blocks; i++) {
		bytes += h->block[i].stored;
		groups += h->block[i].n_groups;
	}
	return bytes == payload && groups == h->n_groups;
}

int chunk_head_decode(struct chunk_head *h, const struct chunk_base *base, const void *meta, size_t len,
		      uint64_t payload)
{
	struct cbor c = cbor_over(meta, len);
	struct written w;

	memset(&w, 0, offsetof(struct written, ticks));
	w.n_ticks = w.n_numbers = w.last_flags = 0;
	h->key = true;
	h->newer = false;
	h->codec = PM_CODEC_PACKED;
	h->run = h->rows = 1;
	h->segment = 0;
	h->n_groups = h->n_lost = h->n_blocks = 0;
	h->step = 0;
	memset(h->flags, 0, sizeof(h->flags));
	decode_map(&c, h, &w);
	cbor_finish(&c);
	if (!w.has_blocks || !w.has_clocks || (h->key && (!w.has_step || !w.has_groups)))
		cbor_fail(&c, PM_RULE_CHUNK);
	if (!h->rows || (w.n_ticks && w.n_ticks != h->rows) || (w.n_numbers && w.n_numbers != h->rows))
		cbor_fail(&c, PM_RULE_ROWS);
	if (w.last_flags > h->rows)
		cbor_fail(&c, PM_RULE_FLAGS);
	if (!h->key && h->codec == PM_CODEC_PLAIN)
		cbor_fail(&c, PM_RULE_DEPENDENT);
	h->rule = (enum pm_rule)c.rule;
	if (c.err)
		return c.err;
	if (!h->key && (!base->valid || base->crc != h->base_crc))
		return -ENOLINK;
	h->rule = PM_RULE_DEPENDENT;
	if (!h->key && !continues(h, base, &w))
		return -EBADMSG;
	if (!h->key) {
		if (!w.has_step)
			h->step = base->step;
		if (!w.has_groups) {
			if (!names(h, base->n_groups))
				return -E2BIG;
			memory_done(chunk_head_room(h, base->n_groups, 0, 0));
			if (base->n_groups)
				memcpy(h->group, base->group, base->n_groups * sizeof(*h->group));
			h->n_groups = base->n_groups;
		}
	}
	h->rule = PM_RULE_BLOCKS;
	if (!blocks_fit(h, payload))
		return -EBADMSG;
	h->tick[0] = (h->key ? 0 : base->last_tick + h->step) + (uint64_t)w.tick;
	h->number[0] = (h->key ? 0 : base->last_number + 1) + (uint64_t)w.number;
	sum_steps(h->tick, w.ticks, w.n_ticks, h->rows, h->step);
	sum_steps(h->number, w.numbers, w.n_numbers, h->rows, 1);
	sum_clocks(h, base, &w);
	return 0;
}
