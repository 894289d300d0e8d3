/* The numbers of a copy: packed chunks are copied, others go through rewrite_gather.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/double_bits.h"
#include "common/array.h"
#include "report/copy/rewrite_private.h"

#define SMALL_ROWS    16   /* smaller chunks are gathered when they must be packed again */
#define WALL_NOISE_NS 1000 /* between the readings of two clocks, one right after the other */

/* ---- values that take more than a copy ---- */

static int64_t text_of(struct rewrite *w, const struct pm_model *in, const struct pm_counter *c, uint64_t id)
{
	const struct pm_value *old = id <= UINT32_MAX ? pm_model_string(in, (uint32_t)id) : NULL;
	struct rewrite_maps *m = &w->maps;
	struct pm_value copy;
	int64_t r;

	if (!old)
		return 0;
	if (array_hold(&m->string, &m->cap_strings, in->n_strings, sizeof(*m->string)))
		return -ENOMEM;
	if (m->string[id - 1])
		return m->string[id - 1] - 1;
	if (pm_value_copy(&copy, old))
		return -ENOMEM;
	r = w->rules->text ? w->rules->text(w->rules->ctx, c, &copy) : REWRITE_KEEP;
	if (r == REWRITE_KEEP)
		r = pm_model_add_string(&w->model, copy.str.data, copy.str.len, copy.kind == PM_VALUE_BYTES);
	else if (r > 0)
		r = 0;
	pm_value_release(&copy);
	if (r >= 0)
		m->string[id - 1] = (uint32_t)r + 1;
	return r;
}

static bool larger(enum pm_type type, uint64_t a, uint64_t b)
{
	if (type == PM_F64)
		return double_from_bits(a) > double_from_bits(b);
	return type == PM_S64 ? (int64_t)a > (int64_t)b : a > b;
}

/* Adds what skipped snapshots left. */
static void add_carry(const struct pm_counter *c, const struct rewrite_carry *carry, uint64_t *v, uint16_t *status)
{
	if (!carry->any)
		return;
	if (*status || carry->reason) {
		*status = *status ? *status : carry->reason;
		return;
	}
	if (c->semantics == PM_PEAK)
		*v = larger(c->type, carry->v, *v) ? carry->v : *v;
	else if (c->type == PM_F64)
		*v = double_to_bits(double_from_bits(*v) + double_from_bits(carry->v));
	else
		*v += carry->v;
}

bool rewrite_adds_up(const struct pm_counter *c)
{
	return c->semantics == PM_DELTA || c->semantics == PM_PEAK;
}

int rewrite_put_special(struct rewrite *w, const struct pm_model *in, struct rewrite_group *to, uint32_t column,
			bool skipped, uint64_t *v, uint16_t *status)
{
	const struct pm_counter *c = pm_model_counter(in, to->special[column]);
	struct rewrite_carry *carry = &to->carry[column];

	if (to->rebase && to->rebase[column]) {
		*v += *status ? 0 : to->rebase[column];
		if (c->width < 64)
			*v &= (1ull << c->width) - 1;
		return 0;
	}
	if (pm_counter_texts(c)) {
		int64_t id = *status ? 0 : text_of(w, in, c, *v);

		if (id < 0)
			return (int)id;
		if (!id && !*status)
			*status = PM_REASON_FORMAT;
		*v = (uint64_t)id;
		return 0;
	}
	add_carry(c, carry, v, status);
	*carry = (struct rewrite_carry){ 0 };
	if (skipped)
		*carry = (struct rewrite_carry){ .v = *v, .reason = *status, .any = true };
	return 0;
}

/* ---- writing ---- */

static void wrote_chunk(struct rewrite *w, const struct pm_chunk *chunk, uint64_t add_ns)
{
	w->result.snapshots_out += chunk->rows;
	if (!w->result.from_ns)
		w->result.from_ns = chunk->tick[0] + add_ns;
	w->result.to_ns = w->last_tick = chunk->tick[chunk->rows - 1] + add_ns;
	w->segment_last = chunk->segment;
}

static int write_chunk(struct rewrite *w, const struct pm_chunk *chunk)
{
	struct pm_chunk out = *chunk;
	int r;

	out.clocks.monotonic += w->rules->shift_ns;
	if (w->rules->clocks && (r = w->rules->clocks(w->rules->ctx, &out.clocks)))
		return r < 0 ? r : -EINVAL;
	r = pm_writer_chunk(w->writer, &out);
	if (r)
		return r;
	wrote_chunk(w, &out, 0);
	return 0;
}

static int lose(struct rewrite *w, struct rewrite_group *to)
{
	struct rewrite_rows *r = &w->rows;
	const struct pm_group *g = pm_model_group(&w->model, to->id);

	if (!g || g->retired || to->chunk == w->partial)
		return 0;
	to->chunk = w->partial;
	if (array_hold(&r->lost, &r->cap_lost, r->n_lost + 1, sizeof(*r->lost)))
		return -ENOMEM;
	r->lost[r->n_lost++] = to->id;
	return 0;
}

int rewrite_rows_lose(struct rewrite *w, const struct pm_chunk *chunk)
{
	int err = 0;

	if (!w->rows.chunk.rows)
		return 0;
	w->rows.n_lost = 0;
	w->partial++;
	for (uint32_t i = 0; i < chunk->n_groups && !err; i++) {
		struct rewrite_group *to = rewrite_group_of(w, chunk->group[i].group);

		if (to && !chunk->group[i].absent)
			to->chunk = w->partial;
		else if (to && chunk->group[i].lost)
			err = lose(w, to);
	}
	/* What has no definition may be any of them. */
	for (uint32_t i = 0; i < w->maps.n_groups && chunk->unknown && !err; i++)
		err = lose(w, &w->maps.group[i]);
	return err;
}

int rewrite_rows_flush(struct rewrite *w)
{
	struct rewrite_rows *r = &w->rows;
	SCOPED(scoped_free) struct pm_chunk_group *group = NULL;
	int err;

	rewrite_gather_end(r);
	if (!r->chunk.rows)
		return 0;
	for (uint32_t i = 0; i < w->maps.n_groups; i++)
		if (w->maps.group[i].carry)
			memset(w->maps.group[i].carry, 0, w->maps.group[i].n_columns * sizeof(struct rewrite_carry));
	group = calloc(r->n_slots + r->n_lost + 1, sizeof(*group));
	if (!group)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->n_slots; i++) {
		group[i] = r->slot[i].g;
		if (!r->slot[i].missing)
			group[i].status = NULL;
	}
	r->chunk.tick = r->tick;
	r->chunk.number = r->number;
	r->chunk.flags = r->flags;
	for (uint32_t i = 0; i < r->n_lost; i++)
		group[r->n_slots + i] = (struct pm_chunk_group){ .group = r->lost[i], .absent = true, .lost = true };
	r->chunk.group = group;
	r->chunk.n_groups = r->n_slots + r->n_lost;
	err = write_chunk(w, &r->chunk);
	r->chunk.rows = r->n_lost = 0;
	return err;
}

/* ---- whole chunks ---- */

/* Whether the clocks of the gathered chunk also date this one's snapshots. */
static bool same_clocks(const struct pm_clocks *a, const struct pm_clocks *b)
{
	int64_t wall = (int64_t)((b->realtime - b->monotonic) - (a->realtime - a->monotonic));
	int64_t boot = (int64_t)((b->boottime - b->monotonic) - (a->boottime - a->monotonic));

	if (!a->realtime != !b->realtime || !a->boottime != !b->boottime)
		return false;
	return (!a->realtime || (wall <= WALL_NOISE_NS && wall >= -WALL_NOISE_NS)) &&
	       (!a->boottime || (boot <= WALL_NOISE_NS && boot >= -WALL_NOISE_NS));
}

static bool passes(const struct rewrite *w, const struct pm_chunk *chunk)
{
	for (uint32_t i = 0; i < chunk->n_groups; i++)
		if (rewrite_goes_over(w, &chunk->group[i]) && !rewrite_group_of(w, chunk->group[i].group)->whole)
			return false;
	return true;
}

/* Whether its values only have something added. */
static bool moves(const struct rewrite *w, const struct pm_chunk *chunk)
{
	for (uint32_t i = 0; i < chunk->n_groups; i++) {
		const struct rewrite_group *to = rewrite_group_of(w, chunk->group[i].group);

		if (rewrite_goes_over(w, &chunk->group[i]) && !to->whole && !to->add)
			return false;
	}
	return true;
}

static uint32_t repacked(const void *ctx, uint32_t from, const uint64_t **add)
{
	const struct rewrite_group *to = rewrite_group_of(ctx, from);

	*add = to ? to->add : NULL;
	return to ? to->id : 0;
}

/* Copies the bytes: packing them again is most of the work. -EAGAIN: that is necessary. */
static int write_packed(struct rewrite *w, struct pm_reader *reader, const struct pm_chunk *chunk, bool moved)
{
	struct pm_chunk out = *chunk;
	struct pm_repack how = { .group = repacked, .ctx = w, .moved = moved, .add_ns = w->rules->shift_ns };
	int err = 0;

	out.clocks.monotonic += w->rules->shift_ns;
	if (w->rules->clocks)
		err = w->rules->clocks(w->rules->ctx, &out.clocks);
	if (!err)
		err = pm_repack(w->writer, reader, &out, &how);
	if (!err)
		wrote_chunk(w, &out, w->rules->shift_ns);
	return err;
}

/* Writes a chunk with shifted absolute values, so that those after it can follow as they are. */
static int write_moved_key(struct rewrite *w, struct pm_reader *reader, const struct pm_chunk *chunk)
{
	struct pm_repack how = { .group = repacked, .ctx = w, .moved = true, .add_ns = w->rules->shift_ns };
	int err = rewrite_rows_flush(w);

	if (!err)
		err = rewrite_rows_add(w, pm_reader_model(reader), chunk, 0, chunk->rows, NULL);
	pm_writer_break(w->writer);
	if (!err)
		err = rewrite_rows_flush(w);
	if (!err)
		(void)pm_repack_follows(w->writer, reader, &how);
	return err;
}

static int write_unpacked(struct rewrite *w, const struct pm_chunk *chunk)
{
	struct pm_chunk out = *chunk;
	int err;

	out.group = calloc(chunk->n_groups + 1, sizeof(*out.group));
	if (!out.group)
		return -ENOMEM;
	out.n_groups = 0;
	for (uint32_t i = 0; i < chunk->n_groups; i++) {
		if (!rewrite_goes_over(w, &chunk->group[i]))
			continue;
		out.group[out.n_groups] = chunk->group[i];
		out.group[out.n_groups++].group = rewrite_group_of(w, chunk->group[i].group)->id;
	}
	err = write_chunk(w, &out);
	free(out.group);
	return err;
}

/* -EAGAIN: its values must be packed again. */
static int pass_moved(struct rewrite *w, struct pm_reader *reader, const struct pm_chunk *chunk, uint32_t segment)
{
	struct pm_chunk out = *chunk;
	int err;

	/* If this never works, gathering is faster. */
	if (w->rules->zstd_level || w->stuck > w->moved + 8)
		return -EAGAIN;
	if (w->key)
		return write_moved_key(w, reader, chunk);
	if (w->rows.chunk.rows)
		return -EAGAIN;
	out.segment = segment;
	err = write_packed(w, reader, &out, true);
	w->moved += !err;
	w->stuck += err == -EAGAIN;
	return err;
}

int rewrite_rows_pass(struct rewrite *w, struct pm_reader *reader, const struct pm_chunk *chunk, uint32_t segment)
{
	struct pm_chunk out = *chunk;
	bool small = w->rules->gather_small && chunk->rows < SMALL_ROWS, as_it_is = passes(w, chunk);
	int err = as_it_is || !moves(w, chunk) ? -EAGAIN : pass_moved(w, reader, chunk, segment);

	if (err != -EAGAIN)
		return err;
	err = 0;
	/* A value in a chunk of few rows takes several times as long to pack as in one of many, and more bytes. */
	if (as_it_is || !small || (w->rows.chunk.rows && !same_clocks(&w->rows.chunk.clocks, &chunk->clocks)))
		err = rewrite_rows_flush(w);
	if (!err && !as_it_is)
		err = rewrite_rows_add(w, pm_reader_model(reader), chunk, 0, chunk->rows, NULL);
	if (err || !as_it_is)
		return err || small ? err : rewrite_rows_flush(w);
	out.segment = segment;
	err = w->rules->zstd_level ? -EAGAIN : write_packed(w, reader, &out, false);
	return err == -EAGAIN ? write_unpacked(w, &out) : err;
}
