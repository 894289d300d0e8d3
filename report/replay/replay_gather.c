/*
 * Joins short chunks. With long intervals every snapshot is a chunk, and the work per column costs the same for one
 * row as for many.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/replay/replay_private.h"

#define GATHER_BYTES (6u << 20) /* that rows may take */
#define GATHER_ROOMY (16u << 20)
#define GATHER_LEAST 4                   /* rows */
#define RISE_MOST    (UINT64_C(1) << 48) /* so that LOOSE_MOST of them are no wrap */
#define LOOSE_MOST   4096
#define AHEAD        (4 * GATHER_TILE) /* columns that will be requested soon */

static void group_release(struct gathered *x)
{
	free(x->row);
	free(x->time);
	free(x->tile);
	free(x->status);
	*x = (struct gathered){ 0 };
}

void gather_release(struct gather *g)
{
	for (uint32_t i = 0; i < g->cap_groups; i++)
		group_release(&g->group[i]);
	free(g->group);
	free(g->chunk.group);
	*g = (struct gather){ 0 };
}

/* If each row had the same alignment in a page, one column of all rows would share a few cache lines. */
static size_t row_stride(const struct gathered *x)
{
	return (((size_t)x->room + 7) & ~(size_t)7) + 8;
}

static bool is_fed(const struct replay *r, const struct pm_chunk_group *cg)
{
	const struct group_feeds *f = cg->absent ? NULL : replay_feeds(r, cg->group);

	return f && f->n;
}

/* How many rows are worth waiting for, and fit. */
static uint32_t rows_for(const struct replay *r, const struct pm_chunk *c)
{
	size_t rows = r->config.mode == REPLAY_EACH ? r->rows : ARENA_ROWS, columns = 1;
	size_t most = (r->config.roomy ? GATHER_ROOMY : GATHER_BYTES) / sizeof(uint64_t);

	for (uint32_t i = 0; i < c->n_groups; i++)
		if (is_fed(r, &c->group[i]))
			columns += pm_group_columns(pm_model_group(r->model, c->group[i].group));
	if (rows > most / columns)
		rows = most / columns;
	return (uint32_t)(rows < ARENA_ROWS ? rows : ARENA_ROWS);
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

static int begin_group(const struct gather *g, struct gathered *x, const struct pm_group *of)
{
	uint32_t columns = pm_group_columns(of), head = pm_group_head(of);

	x->some_missing = false;
	x->tiled = PM_NONE;
	/* Members that come and go change it by little. */
	if (x->row && x->room >= columns && x->room / 2 <= columns && x->head == head) {
		x->columns = columns;
		return 0;
	}
	group_release(x);
	x->columns = columns;
	x->room = columns + columns / 8;
	x->head = head;
	x->tiled = PM_NONE;
	x->row = malloc(g->rows * row_stride(x) * sizeof(*x->row));
	x->time = malloc((size_t)head * g->rows * sizeof(*x->time));
	x->tile = malloc((size_t)GATHER_TILE * g->rows * sizeof(*x->tile));
	return x->row && x->time && x->tile ? 0 : -ENOMEM;
}

/* Whether what intervals longer than from row to row need of the columns are their ends, as long as they rise. */
static bool adds_up(const struct replay *r, const struct pm_chunk *c)
{
	bool all = r->config.mode != REPLAY_EACH && r->begun && !r->joints.n;

	for (uint32_t i = 0; i < c->n_groups && all; i++) {
		const struct group_feeds *f = is_fed(r, &c->group[i]) ? replay_feeds(r, c->group[i].group) : NULL;

		for (uint32_t k = 0; f && k < f->n && all; k++) {
			const struct track *t = &r->track[f->feed[k].track];

			all = t->type == PM_U64 && t->semantics == PM_CUMULATIVE && !t->more;
		}
	}
	return all;
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
		err = begin_group(g, &g->group[i], pm_model_group(r->model, cg->group));
		if (err)
			return err;
		g->chunk.group[i].absent = false;
		g->chunk.group[i].v = g->group[i].time;
		g->chunk.group[i].stride = g->rows;
	}
	g->chunk.n_groups = c->n_groups;
	g->chunk.tick = g->tick;
	for (uint32_t i = 0; i < g->rows; i++)
		g->at[i] = (uint8_t)i;
	g->plain = adds_up(r, c);
	g->loose = 0;
	replay_see(r, c);
	return 0;
}

/* Whether the chunk has the same columns as those gathered so far. */
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
	size_t cells = (size_t)x->room * g->rows;

	if (!x->status && !(x->status = malloc(cells * sizeof(*x->status))))
		return -ENOMEM;
	if (!x->some_missing)
		memset(x->status, 0, cells * sizeof(*x->status));
	x->some_missing = true;
	g->plain = false;
	for (uint32_t c = 0; c < x->columns; c++)
		if (cg->status[c * cg->stride + row])
			x->status[c * g->rows + g->chunk.rows] = cg->status[c * cg->stride + row];
	return 0;
}

/* Copies columns [from, end) of all rows. */
static void take_columns(const struct gather *g, const struct gathered *x, uint32_t from, uint32_t end, uint64_t *to)
{
	size_t stride = row_stride(x);

	for (uint32_t row = 0; row < g->chunk.rows; row++) {
		const uint64_t *v = x->row + g->at[row] * stride;

		/* Each row is a stream of its own, more than processors predict. */
		__builtin_prefetch(v + from + AHEAD);
		for (uint32_t c = from; c < end; c++)
			to[(size_t)(c - from) * g->rows + row] = v[c];
	}
}

const uint64_t *gather_column(struct gather *g, uint32_t i, uint32_t column)
{
	struct gathered *x = &g->group[i];
	uint32_t first = column - column % GATHER_TILE, end = first + GATHER_TILE;

	if (x->tiled != first)
		take_columns(g, x, first, end < x->columns ? end : x->columns, x->tile);
	x->tiled = first;
	return x->tile + (size_t)(column - first) * g->rows;
}

/* Whether no difference is negative, or nearly as large as that would be; stores the readings, too, because memory is
 * what takes the time. */
static bool store_rising(uint64_t *restrict to, const uint64_t *restrict last, const uint64_t *restrict v,
			 size_t stride, uint32_t n)
{
	uint64_t any = 0;

	for (uint32_t k = 0; k < n; k++) {
		uint64_t now = v[k * stride];

		any |= now - last[k];
		to[k] = now;
	}
	return any < RISE_MOST;
}

static void store(uint64_t *to, const uint64_t *v, size_t stride, uint32_t n)
{
	if (stride == 1)
		memcpy(to, v, n * sizeof(*to));
	else
		for (uint32_t k = 0; k < n; k++)
			to[k] = v[k * stride];
}

/* Whether no event ran for a part of the time. */
static bool ran_or_not(const struct gathered *x, const uint64_t *now, const uint64_t *last)
{
	uint32_t times = x->head / 4;
	uint64_t any = 0;

	for (uint32_t k = 2 * times; k < 3 * times; k++)
		any |= (now[k] - last[k]) ^ (now[k + times] - last[k + times]);
	return !any;
}

/* Stores a row after the others. Returns whether all readings are there, none is below that of the last row, and no
 * event ran for a part of the time; or -ENOMEM. */
static int store_row(const struct replay *r, struct gather *g, const struct pm_chunk *c, uint32_t row)
{
	uint32_t n = g->chunk.rows;
	bool rises = g->plain && n;
	int err;

	for (uint32_t i = 0; i < c->n_groups; i++) {
		const struct pm_chunk_group *cg = &c->group[i];
		struct gathered *x = &g->group[i];
		uint64_t *to = x->row + g->at[n] * row_stride(x);
		const uint64_t *last = n ? x->row + g->at[n - 1] * row_stride(x) : NULL;

		if (g->chunk.group[i].absent)
			continue;
		if (rises)
			rises = store_rising(to, last, cg->v + row, cg->stride, x->columns);
		else
			store(to, cg->v + row, cg->stride, x->columns);
		if (rises && pm_model_group(r->model, cg->group)->flags & PM_GROUP_PERF_TIMES)
			rises = ran_or_not(x, to, last);
		if (cg->status && (err = take_status(g, x, cg, row)))
			return err;
		rises &= !cg->status;
	}
	return rises;
}

/* Replaces the last row by the one stored after it. */
static void drop_last(struct gather *g)
{
	uint32_t n = --g->chunk.rows;
	uint8_t at = g->at[n];

	g->at[n] = g->at[n + 1];
	g->at[n + 1] = at;
}

/* Which of the intervals from here on ends with this row, or after it. */
static uint64_t interval_of(const struct replay *r, uint64_t tick)
{
	return r->config.mode == REPLAY_EVERY && tick > r->next_ns ?
		       (tick - r->next_ns - 1) / r->config.every_ns + 1 :
		       0;
}

/* Whether a group is new with this chunk. Where members come and go every second, the next chunk has another one. */
static bool is_fresh(struct replay *r, const struct pm_chunk *c)
{
	uint32_t before = r->newest;

	for (uint32_t i = 0; i < c->n_groups; i++)
		r->newest = c->group[i].group > r->newest ? c->group[i].group : r->newest;
	return r->newest != before;
}

int gather_take(struct replay *r, const struct pm_chunk *c, uint32_t row, uint32_t end)
{
	struct gather *g = &r->gather;
	int err;

	if (!r->config.gather)
		return 0;
	if (!g->chunk.rows) {
		uint32_t rows = rows_for(r, c);

		if (is_fresh(r, c) || rows < GATHER_LEAST || (end - row) * 3 > rows)
			return 0;
		if ((err = begin(r, c, rows)))
			return err;
	} else if (g->chunk.rows + (end - row) > g->rows || !goes_on(r, c)) {
		return 0;
	}
	for (; row < end; row++) {
		uint32_t n = g->chunk.rows, loose;

		if ((err = store_row(r, g, c, row)) < 0)
			return err;
		loose = (uint32_t)err;
		/* What lies between two rows of an interval adds nothing to them. */
		if (loose && g->loose && g->loose < LOOSE_MOST &&
		    interval_of(r, g->tick[n - 1]) == interval_of(r, c->tick[row])) {
			drop_last(g);
			loose += g->loose;
		}
		g->loose = loose;
		g->tick[g->chunk.rows] = c->tick[row];
		g->wall[g->chunk.rows] =
			c->clocks.realtime ? (int64_t)(c->clocks.realtime - c->clocks.monotonic) : INT64_MIN;
		g->chunk.rows++;
	}
	return 1;
}

bool gather_is_full(const struct gather *g)
{
	return g->chunk.rows == g->rows;
}

int replay_settle(struct replay *r)
{
	struct gather *g = &r->gather;
	uint32_t rows = g->chunk.rows;
	int err;

	if (!rows)
		return 0;
	for (uint32_t i = 0; i < g->chunk.n_groups; i++) {
		struct gathered *x = &g->group[i];

		if (g->chunk.group[i].absent)
			continue;
		g->chunk.group[i].status = x->some_missing ? x->status : NULL;
		for (uint32_t c = 0; c < x->head; c += GATHER_TILE)
			take_columns(g, x, c, c + GATHER_TILE < x->head ? c + GATHER_TILE : x->head,
				     x->time + (size_t)c * g->rows);
	}
	err = replay_rows(r, &g->chunk, 0, rows, g->wall);
	g->chunk.rows = 0;
	return err;
}
