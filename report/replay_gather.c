/*
 * Putting short chunks together. A recorder that is slow closes a chunk with every snapshot, and what has to be done
 * for every column costs the same for one row as for many.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/replay_private.h"

#define GATHER_BYTES (4u << 20) /* that columns may take */

void gather_release(struct gather *g)
{
	for (uint32_t i = 0; i < g->cap_groups; i++) {
		free(g->group[i].v);
		free(g->group[i].status);
		free(g->group[i].step);
	}
	free(g->group);
	free(g->chunk.group);
	*g = (struct gather){ 0 };
}

/* Rows of `step` that were as long as their columns would share a few lines of the cache. */
static size_t step_stride(const struct gathered *x)
{
	return (((size_t)x->columns + 7) & ~(size_t)7) + 8;
}

static const struct group_feeds *feeds_of(const struct replay *r, uint32_t group)
{
	return group && group <= r->n_groups ? &r->group[group - 1] : NULL;
}

static bool is_fed(const struct replay *r, const struct pm_chunk_group *cg)
{
	const struct group_feeds *f = feeds_of(r, cg->group);

	return !cg->absent && f && f->n;
}

/* How many rows are worth waiting for, and fit: whole steps. */
static uint32_t rows_for(const struct replay *r, const struct pm_chunk *c)
{
	size_t rows = r->config.mode == REPLAY_EACH ? r->rows : ARENA_ROWS, columns = 1;

	for (uint32_t i = 0; i < c->n_groups; i++)
		if (is_fed(r, &c->group[i]))
			columns += pm_group_columns(pm_model_group(r->model, c->group[i].group));
	if (rows > GATHER_BYTES / 8 / columns)
		rows = GATHER_BYTES / 8 / columns;
	rows = rows < ARENA_ROWS ? rows : ARENA_ROWS;
	return (uint32_t)(rows - rows % GATHER_STEP);
}

static int make_room(struct gather *g, uint32_t groups)
{
	struct gathered *group;
	struct pm_chunk_group *of_chunk;

	if (groups <= g->cap_groups)
		return 0;
	group = realloc(g->group, groups * sizeof(*group));
	if (!group)
		return -ENOMEM;
	g->group = group;
	memset(group + g->cap_groups, 0, (groups - g->cap_groups) * sizeof(*group));
	of_chunk = realloc(g->chunk.group, groups * sizeof(*of_chunk));
	if (!of_chunk)
		return -ENOMEM;
	g->chunk.group = of_chunk;
	g->cap_groups = groups;
	return 0;
}

static int begin_group(struct gather *g, struct gathered *x, uint32_t columns)
{
	x->some_missing = false;
	if (x->columns == columns && x->v)
		return 0;
	free(x->v);
	free(x->status);
	free(x->step);
	*x = (struct gathered){ .columns = columns };
	x->v = aligned_alloc(64, columns * g->rows * sizeof(*x->v));
	x->step = malloc(GATHER_STEP * step_stride(x) * sizeof(*x->step));
	return x->v && x->step ? 0 : -ENOMEM;
}

static int begin(struct replay *r, const struct pm_chunk *c, uint32_t rows)
{
	struct gather *g = &r->gather;
	int err;

	if (rows != g->rows) {
		gather_release(g);
		g->rows = rows;
	}
	if ((err = make_room(g, c->n_groups)))
		return err;
	for (uint32_t i = 0; i < c->n_groups; i++) {
		const struct pm_chunk_group *cg = &c->group[i];

		g->chunk.group[i] = (struct pm_chunk_group){ .group = cg->group, .absent = true };
		if (!is_fed(r, cg))
			continue;
		err = begin_group(g, &g->group[i], pm_group_columns(pm_model_group(r->model, cg->group)));
		if (err)
			return err;
		g->chunk.group[i].absent = false;
		g->chunk.group[i].v = g->group[i].v;
		g->chunk.group[i].stride = g->rows;
	}
	g->chunk.n_groups = c->n_groups;
	g->chunk.tick = g->tick;
	replay_see(r, c);
	return 0;
}

/* Whether the chunk has the same columns as those that were gathered. */
static bool goes_on(const struct replay *r, const struct pm_chunk *c)
{
	const struct gather *g = &r->gather;

	if (c->n_groups != g->chunk.n_groups)
		return false;
	for (uint32_t i = 0; i < c->n_groups; i++)
		if (c->group[i].group != g->chunk.group[i].group ||
		    is_fed(r, &c->group[i]) == g->chunk.group[i].absent)
			return false;
	return true;
}

static int take_status(struct gather *g, struct gathered *x, const struct pm_chunk_group *cg, uint32_t row)
{
	size_t cells = x->columns * g->rows;

	if (!x->status && !(x->status = malloc(cells * sizeof(*x->status))))
		return -ENOMEM;
	if (!x->some_missing)
		memset(x->status, 0, cells * sizeof(*x->status));
	x->some_missing = true;
	for (uint32_t c = 0; c < x->columns; c++)
		if (cg->status[c * cg->stride + row])
			x->status[c * g->rows + g->chunk.rows] = cg->status[c * cg->stride + row];
	return 0;
}

/* The rows in `step` go into their columns: those of times, and what feeds a track. */
static void put_into_columns(const struct replay *r, const struct gather *g, uint32_t i)
{
	const struct gathered *x = &g->group[i];
	const struct group_feeds *f = feeds_of(r, g->chunk.group[i].group);
	uint32_t head = pm_group_head(pm_model_group(r->model, g->chunk.group[i].group));
	size_t from = step_stride(x), to = g->rows;
	uint64_t *v = x->v + g->chunk.rows - g->stepped;

	for (uint32_t n = 0; n < head + f->n; n++) {
		uint32_t c = n < head ? n : f->feed[n - head].column;

		if (g->stepped == GATHER_STEP)
			for (uint32_t k = 0; k < GATHER_STEP; k++)
				v[c * to + k] = x->step[k * from + c];
		else
			for (uint32_t k = 0; k < g->stepped; k++)
				v[c * to + k] = x->step[k * from + c];
	}
}

static void end_step(struct replay *r)
{
	struct gather *g = &r->gather;

	for (uint32_t i = 0; i < g->chunk.n_groups && g->stepped; i++)
		if (!g->chunk.group[i].absent)
			put_into_columns(r, g, i);
	g->stepped = 0;
}

static int take_row(struct replay *r, const struct pm_chunk *c, uint32_t row)
{
	struct gather *g = &r->gather;
	int err;

	for (uint32_t i = 0; i < c->n_groups; i++) {
		const struct pm_chunk_group *cg = &c->group[i];
		struct gathered *x = &g->group[i];
		uint64_t *to = x->step + g->stepped * step_stride(x);

		if (g->chunk.group[i].absent)
			continue;
		if (cg->stride == 1)
			memcpy(to, cg->v, x->columns * sizeof(*to));
		else
			for (uint32_t k = 0; k < x->columns; k++)
				to[k] = cg->v[k * cg->stride + row];
		if (cg->status && (err = take_status(g, x, cg, row)))
			return err;
	}
	g->tick[g->chunk.rows] = c->tick[row];
	g->wall[g->chunk.rows] = c->clocks.realtime ? (int64_t)(c->clocks.realtime - c->clocks.monotonic) : INT64_MIN;
	g->chunk.rows++;
	if (++g->stepped == GATHER_STEP)
		end_step(r);
	return 0;
}

int gather_take(struct replay *r, const struct pm_chunk *c, uint32_t row, uint32_t end)
{
	struct gather *g = &r->gather;
	int err;

	if (!r->config.gather)
		return 0;
	if (!g->chunk.rows) {
		uint32_t rows = rows_for(r, c);

		if (rows < GATHER_STEP || (end - row) * 3 > rows)
			return 0;
		if ((err = begin(r, c, rows)))
			return err;
	} else if (g->chunk.rows + (end - row) > g->rows || !goes_on(r, c)) {
		return 0;
	}
	for (; row < end; row++)
		if ((err = take_row(r, c, row)))
			return err;
	return 1;
}

bool gather_is_full(const struct gather *g)
{
	return g->chunk.rows == g->rows;
}

int gather_settle(struct replay *r)
{
	struct gather *g = &r->gather;
	uint32_t rows = g->chunk.rows;

	if (!rows)
		return 0;
	end_step(r);
	for (uint32_t i = 0; i < g->chunk.n_groups; i++)
		g->chunk.group[i].status = g->group[i].some_missing ? g->group[i].status : NULL;
	g->chunk.rows = 0;
	return replay_rows(r, &g->chunk, 0, rows, g->wall);
}
