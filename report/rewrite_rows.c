#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/rewrite_private.h"

#define GATHER_BYTES   (8u << 20) /* of values that wait for their chunk */
#define SMALL_ROWS     16         /* chunks below that are gathered when they have to be packed anew */
#define WALL_NOISE_NS  1000       /* between the readings of two clocks, one right behind the other */

static struct rewrite_group *group_of(const struct rewrite *w, uint32_t id)
{
	return id <= w->maps.n_groups ? &w->maps.group[id - 1] : NULL;
}

static bool goes_over(const struct rewrite *w, const struct pm_chunk_group *g)
{
	const struct rewrite_group *to = group_of(w, g->group);

	return !g->absent && to && to->id;
}

/* ---- values that take more than a copy ---- */

static int64_t text_of(struct rewrite *w, const struct pm_model *in, const struct pm_counter *c, uint64_t id)
{
	const struct pm_value *old = id <= UINT32_MAX ? pm_model_string(in, (uint32_t)id) : NULL;
	struct rewrite_maps *m = &w->maps;
	struct pm_value copy;
	int64_t r;

	if (!old)
		return 0;
	if (in->n_strings > m->cap_strings) {
		uint32_t *grown = reallocarray(m->string, in->n_strings + in->n_strings / 2, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		m->string = grown;
		m->cap_strings = in->n_strings + in->n_strings / 2;
		memset(grown + m->n_strings, 0, (m->cap_strings - m->n_strings) * sizeof(*grown));
		m->n_strings = m->cap_strings;
	}
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

static double as_double(uint64_t bits)
{
	double v;

	memcpy(&v, &bits, sizeof(v));
	return v;
}

static uint64_t as_bits(double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	return bits;
}

static bool larger(enum pm_type type, uint64_t a, uint64_t b)
{
	if (type == PM_F64)
		return as_double(a) > as_double(b);
	return type == PM_S64 ? (int64_t)a > (int64_t)b : a > b;
}

/* The value together with what skipped snapshots left. */
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
	else
		*v = c->type == PM_F64 ? as_bits(as_double(*v) + as_double(carry->v)) : *v + carry->v;
}

static int put_special(struct rewrite *w, const struct pm_model *in, struct rewrite_group *to, uint32_t column,
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
	if (c->type == PM_TEXT || c->type == PM_BYTES) {
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

/* ---- gathering ---- */

static int slot_room(struct rewrite_rows *r)
{
	uint32_t more = r->n_groups + r->n_groups / 2 + 16;
	struct pm_chunk_group *group;
	bool *missing;
	size_t *size;

	if (r->n_groups < r->cap_groups)
		return 0;
	group = reallocarray(r->group, more, sizeof(*group));
	if (group)
		r->group = group;
	size = reallocarray(r->size, more, sizeof(*size));
	if (size)
		r->size = size;
	missing = reallocarray(r->missing, more, sizeof(*missing));
	if (missing)
		r->missing = missing;
	if (!group || !size || !missing)
		return -ENOMEM;
	memset(group + r->cap_groups, 0, (more - r->cap_groups) * sizeof(*group));
	memset(size + r->cap_groups, 0, (more - r->cap_groups) * sizeof(*size));
	r->cap_groups = more;
	return 0;
}

static int slot_begin(struct rewrite_rows *r, uint32_t id, uint32_t columns)
{
	struct pm_chunk_group *g;
	size_t need = (size_t)columns * r->room;

	if (slot_room(r))
		return -ENOMEM;
	g = &r->group[r->n_groups];
	if (r->size[r->n_groups] < need) {
		free(g->v);
		free(g->status);
		g->v = calloc(need, sizeof(*g->v));
		g->status = calloc(need, sizeof(*g->status));
		r->size[r->n_groups] = g->v && g->status ? need : 0;
		if (!r->size[r->n_groups])
			return -ENOMEM;
	}
	g->group = id;
	g->stride = r->room;
	r->missing[r->n_groups++] = false;
	return 0;
}

/* Begins to gather what has the shape of this chunk. */
static int begin(struct rewrite *w, const struct pm_chunk *chunk)
{
	struct rewrite_rows *r = &w->rows;
	uint64_t columns = 1;
	int err = 0;

	for (uint32_t i = 0; i < chunk->n_groups; i++)
		if (goes_over(w, &chunk->group[i]))
			columns += group_of(w, chunk->group[i].group)->n_columns;
	columns = GATHER_BYTES / 10 / columns;
	r->room = columns < 1 ? 1 : columns > PM_CHUNK_ROWS ? PM_CHUNK_ROWS : (uint32_t)columns;
	r->n_groups = 0;
	for (uint32_t i = 0; i < chunk->n_groups && !err; i++) {
		const struct rewrite_group *to = group_of(w, chunk->group[i].group);

		if (goes_over(w, &chunk->group[i]))
			err = slot_begin(r, to->id, to->n_columns);
	}
	r->chunk.run = chunk->run;
	r->chunk.segment = w->segment_base + chunk->segment;
	r->chunk.rows = 0;
	r->chunk.clocks = chunk->clocks;
	return err;
}

static bool fits(const struct rewrite *w, const struct pm_chunk *chunk)
{
	const struct rewrite_rows *r = &w->rows;
	uint32_t n = 0;

	if (r->chunk.run != chunk->run || r->chunk.segment != w->segment_base + chunk->segment)
		return false;
	for (uint32_t i = 0; i < chunk->n_groups; i++) {
		if (!goes_over(w, &chunk->group[i]))
			continue;
		if (n == r->n_groups || r->group[n].group != group_of(w, chunk->group[i].group)->id)
			return false;
		n++;
	}
	return n == r->n_groups;
}

/* Whether the clocks of the chunk that is gathered say of this one's snapshots when they were, too. */
static bool same_clocks(const struct pm_clocks *a, const struct pm_clocks *b)
{
	int64_t wall = (int64_t)((b->realtime - b->monotonic) - (a->realtime - a->monotonic));
	int64_t boot = (int64_t)((b->boottime - b->monotonic) - (a->boottime - a->monotonic));

	if (!a->realtime != !b->realtime || !a->boottime != !b->boottime)
		return false;
	return (!a->realtime || (wall <= WALL_NOISE_NS && wall >= -WALL_NOISE_NS)) &&
	       (!a->boottime || (boot <= WALL_NOISE_NS && boot >= -WALL_NOISE_NS));
}

/* Rows of a group, column by column: that is how they lie in memory. */
static int put_group(struct rewrite *w, const struct pm_model *in, const struct pm_chunk_group *from, uint32_t row,
		     uint32_t n, uint32_t slot, bool skipped)
{
	struct rewrite_group *to = group_of(w, from->group);
	struct pm_chunk_group *g = &w->rows.group[slot];
	size_t at = w->rows.chunk.rows;
	bool missing = w->rows.missing[slot];
	int err = 0;

	for (uint32_t k = 0; k < to->n_columns && !err; k++) {
		size_t place = to->column[k] * from->stride + row;
		bool special = to->special && to->special[k];
		uint64_t *v = &g->v[k * g->stride + at];
		uint16_t *status = &g->status[k * g->stride + at];

		memcpy(v, from->v + place, n * sizeof(*v));
		if (from->status && k >= to->n_head)
			memcpy(status, from->status + place, n * sizeof(*status));
		else
			memset(status, 0, n * sizeof(*status));
		for (uint32_t i = 0; k < to->n_clocks && i < n; i++)
			v[i] += w->rules->shift_ns;
		for (uint32_t i = 0; special && i < n && !err; i++)
			err = put_special(w, in, to, k, skipped, &v[i], &status[i]);
		for (uint32_t i = 0; (from->status || special) && i < n; i++)
			missing |= status[i] != 0;
	}
	w->rows.missing[slot] = missing;
	return err;
}

static int add_rows(struct rewrite *w, const struct pm_model *in, const struct pm_chunk *chunk, uint32_t row,
		    uint32_t n, bool skipped)
{
	struct rewrite_rows *r = &w->rows;
	uint32_t slot = 0;
	int err = 0;

	for (uint32_t i = 0; i < chunk->n_groups && !err; i++)
		if (goes_over(w, &chunk->group[i]))
			err = put_group(w, in, &chunk->group[i], row, n, slot++, skipped);
	for (uint32_t i = 0; i < n && !err; i++) {
		uint32_t to = r->chunk.rows + i, step = w->rules->every > 1 ? w->rules->every : 1;

		r->tick[to] = chunk->tick[row + i] + w->rules->shift_ns;
		/* Counting what is left: the numbers of a recording of which one in ten stays cost as little. */
		r->number[to] = chunk->number[row + i] / step;
		r->flags[to] = chunk->flags[row + i];
	}
	return err;
}

int rewrite_rows_add(struct rewrite *w, const struct pm_model *in, const struct pm_chunk *chunk, uint32_t row,
		     uint32_t n, bool skipped)
{
	struct rewrite_rows *r = &w->rows;
	int err = 0;

	if ((r->chunk.rows || r->spare) && !fits(w, chunk))
		err = rewrite_rows_flush(w);
	while (n && !err) {
		uint32_t take;

		if (r->chunk.rows && r->chunk.rows == r->room)
			err = rewrite_rows_flush(w);
		if (!err && !r->chunk.rows && !r->spare)
			err = begin(w, chunk);
		if (err)
			break;
		take = n < r->room - r->chunk.rows ? n : r->room - r->chunk.rows;
		err = add_rows(w, in, chunk, row, take, skipped);
		if (!err && !skipped)
			r->chunk.rows += take;
		r->spare = skipped;
		row += take;
		n -= take;
	}
	return err;
}

static void wrote_chunk(struct rewrite *w, const struct pm_chunk *chunk)
{
	w->result.snapshots_out += chunk->rows;
	if (!w->result.from_ns)
		w->result.from_ns = chunk->tick[0];
	w->result.to_ns = w->last_tick = chunk->tick[chunk->rows - 1];
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
	wrote_chunk(w, &out);
	return 0;
}

int rewrite_rows_flush(struct rewrite *w)
{
	struct rewrite_rows *r = &w->rows;
	struct pm_chunk_group *group;
	int err;

	if (r->spare)
		r->chunk.rows++;
	r->spare = false;
	if (!r->chunk.rows)
		return 0;
	for (uint32_t i = 0; i < w->maps.n_groups; i++)
		if (w->maps.group[i].carry)
			memset(w->maps.group[i].carry, 0, w->maps.group[i].n_columns * sizeof(struct rewrite_carry));
	group = calloc(r->n_groups + 1, sizeof(*group));
	if (!group)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->n_groups; i++) {
		group[i] = r->group[i];
		if (!r->missing[i])
			group[i].status = NULL;
	}
	r->chunk.tick = r->tick;
	r->chunk.number = r->number;
	r->chunk.flags = r->flags;
	r->chunk.group = group;
	r->chunk.n_groups = r->n_groups;
	err = write_chunk(w, &r->chunk);
	r->chunk.rows = 0;
	free(group);
	return err;
}

/* ---- whole chunks ---- */

static bool passes(const struct rewrite *w, const struct pm_chunk *chunk)
{
	for (uint32_t i = 0; i < chunk->n_groups; i++)
		if (goes_over(w, &chunk->group[i]) && !group_of(w, chunk->group[i].group)->whole)
			return false;
	return true;
}

/* The bytes as they are: packing them anew is most of the work. -EAGAIN: it has to be. */
static int write_packed(struct rewrite *w, struct pm_reader *reader, const struct pm_chunk *chunk)
{
	struct pm_chunk out = *chunk;
	uint32_t *group = calloc(w->maps.n_groups + 1, sizeof(*group));
	int err = group ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < w->maps.n_groups && !err; i++)
		group[i] = w->maps.group[i].id;
	if (!err && w->rules->clocks)
		err = w->rules->clocks(w->rules->ctx, &out.clocks);
	if (!err)
		err = pm_repack(w->writer, reader, &out, group, w->maps.n_groups);
	free(group);
	if (!err)
		wrote_chunk(w, &out);
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
		if (!goes_over(w, &chunk->group[i]))
			continue;
		out.group[out.n_groups] = chunk->group[i];
		out.group[out.n_groups++].group = group_of(w, chunk->group[i].group)->id;
	}
	err = write_chunk(w, &out);
	free(out.group);
	return err;
}

int rewrite_rows_pass(struct rewrite *w, struct pm_reader *reader, const struct pm_chunk *chunk, uint32_t segment)
{
	struct pm_chunk out = *chunk;
	bool small = w->rules->gather_small && chunk->rows < SMALL_ROWS, as_it_is = passes(w, chunk);
	int err = 0;

	/* A value costs several times as much to pack in a chunk of few rows as along time in one of many, and more
	 * bytes. */
	if (as_it_is || !small || (w->rows.chunk.rows && !same_clocks(&w->rows.chunk.clocks, &chunk->clocks)))
		err = rewrite_rows_flush(w);
	if (!err && !as_it_is)
		err = rewrite_rows_add(w, pm_reader_model(reader), chunk, 0, chunk->rows, false);
	if (err || !as_it_is)
		return err || small ? err : rewrite_rows_flush(w);
	out.segment = segment;
	err = w->rules->zstd_level ? -EAGAIN : write_packed(w, reader, &out);
	return err == -EAGAIN ? write_unpacked(w, &out) : err;
}

void rewrite_rows_release(struct rewrite_rows *r)
{
	for (uint32_t i = 0; i < r->cap_groups; i++) {
		free(r->group[i].v);
		free(r->group[i].status);
	}
	free(r->group);
	free(r->size);
	free(r->missing);
	*r = (struct rewrite_rows){ 0 };
}
