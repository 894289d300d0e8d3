/* Collects rows that must be packed again until they fill a chunk. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "report/copy/rewrite_private.h"

#define GATHER_BYTES (8u << 20) /* of values that wait for their chunk */
#define STAGE_ROWS   8          /* values of a column that fill a cache line */

/* Rows of a chunk that are examined, and those of them that are copied. */
struct pick {
	uint32_t row, n;              /* looked at */
	const bool *skip;             /* [n]; NULL: none is skipped */
	uint32_t stay[PM_CHUNK_ROWS]; /* indices of those that stay; followed by the last one if it is skipped */
	uint32_t kept, put;           /* number that stay; including the spare one */
	bool staged;                  /* one row: it is staged */
};

/* ---- memory ---- */

static int slot_begin(struct rewrite_rows *r, const struct rewrite_group *to)
{
	size_t need = (size_t)to->n_columns * r->room;
	struct rewrite_slot *s;

	if (array_hold(&r->slot, &r->cap_slots, r->n_slots + 1, sizeof(*r->slot)))
		return -ENOMEM;
	s = &r->slot[r->n_slots];
	if (s->size < need) {
		free(s->g.v);
		free(s->g.status);
		s->g.v = malloc(need * sizeof(*s->g.v));
		s->g.status = malloc(need * sizeof(*s->g.status));
		s->size = s->g.v && s->g.status ? need : 0;
		if (!s->size)
			return -ENOMEM;
	}
	s->g.group = to->id;
	s->g.stride = r->room;
	s->columns = to->n_columns;
	s->stage = r->columns;
	s->missing = false;
	r->columns += to->n_columns;
	r->n_slots++;
	return 0;
}

/* A row that comes alone touches one cache line in each column. Several of them wait, and are then written together.
 */
static int stage_begin(struct rewrite_rows *r)
{
	size_t need = (size_t)r->columns * (STAGE_ROWS + 1);

	r->staged = 0;
	if (r->room < 2 * STAGE_ROWS || r->stage_size >= need)
		return 0;
	free(r->stage);
	r->stage = malloc(need * sizeof(*r->stage));
	r->stage_size = r->stage ? need : 0;
	return r->stage ? 0 : -ENOMEM;
}

/* Begins to gather rows of this chunk's shape. */
static int begin(struct rewrite *w, const struct pm_chunk *chunk)
{
	struct rewrite_rows *r = &w->rows;
	uint64_t columns = 1;
	int err = 0;

	for (uint32_t i = 0; i < chunk->n_groups; i++)
		if (rewrite_goes_over(w, &chunk->group[i]))
			columns += rewrite_group_of(w, chunk->group[i].group)->n_columns;
	columns = GATHER_BYTES / 10 / columns;
	r->room = columns < 1 ? 1 : columns > PM_CHUNK_ROWS ? PM_CHUNK_ROWS : (uint32_t)columns;
	r->n_slots = r->columns = 0;
	for (uint32_t i = 0; i < chunk->n_groups && !err; i++)
		if (rewrite_goes_over(w, &chunk->group[i]))
			err = slot_begin(r, rewrite_group_of(w, chunk->group[i].group));
	r->chunk.run = chunk->run;
	r->chunk.segment = w->segment_base + chunk->segment;
	r->chunk.rows = 0;
	r->chunk.clocks = chunk->clocks;
	return err ? err : stage_begin(r);
}

static bool fits(const struct rewrite *w, const struct pm_chunk *chunk)
{
	const struct rewrite_rows *r = &w->rows;
	uint32_t n = 0;

	if (r->chunk.run != chunk->run || r->chunk.segment != w->segment_base + chunk->segment)
		return false;
	for (uint32_t i = 0; i < chunk->n_groups; i++) {
		if (!rewrite_goes_over(w, &chunk->group[i]))
			continue;
		if (n == r->n_slots || r->slot[n].g.group != rewrite_group_of(w, chunk->group[i].group)->id)
			return false;
		n++;
	}
	return n == r->n_slots;
}

/* Moves the staged rows, and a spare one after them, to their places in the columns. */
static void unstage(struct rewrite_rows *r)
{
	uint32_t n = r->staged + (r->spare && r->spare_staged);

	for (uint32_t i = 0; n && i < r->n_slots; i++) {
		const struct rewrite_slot *s = &r->slot[i];
		const uint64_t *from = r->stage + s->stage;
		uint64_t *to = s->g.v + r->chunk.rows - r->staged;

		for (uint32_t k = 0; k < s->columns; k++, from++, to += s->g.stride)
			for (uint32_t row = 0; row < n; row++)
				to[row] = from[(size_t)row * r->columns];
	}
	r->staged = 0;
	r->spare_staged = false;
}

void rewrite_gather_end(struct rewrite_rows *r)
{
	unstage(r);
	if (r->spare)
		r->chunk.rows++;
	r->spare = false;
}

/* ---- rows ---- */

static struct pick pick_rows(const struct rewrite_rows *r, uint32_t row, uint32_t n, const bool *skip)
{
	struct pick p = { .row = row, .skip = skip };

	/* A skipped row needs a place, too: it is the spare one until another follows. */
	while (p.n < n && r->chunk.rows + p.kept < r->room) {
		if (!skip || !skip[p.n])
			p.stay[p.kept++] = row + p.n;
		p.n++;
	}
	p.put = p.kept;
	if (skip && skip[p.n - 1])
		p.stay[p.put++] = row + p.n - 1;
	p.staged = p.put == 1 && r->room >= 2 * STAGE_ROWS;
	return p;
}

/* A column in which skipped rows pass something on to the next one. */
static int put_carried(struct rewrite *w, const struct pm_model *in, struct rewrite_group *to, uint32_t column,
		       const uint64_t *from, const uint16_t *status, const struct pick *p, uint64_t *v, uint16_t *why)
{
	uint32_t at = 0;
	int err = 0;

	for (uint32_t i = 0; i < p->n && !err; i++) {
		bool skipped = p->skip && p->skip[i];

		v[at] = from[p->row + i];
		why[at] = status ? status[p->row + i] : 0;
		err = rewrite_put_special(w, in, to, column, skipped, &v[at], &why[at]);
		at += !skipped;
	}
	return err;
}

static void put_status(struct rewrite_slot *s, uint32_t column, uint32_t at, uint32_t n, const uint16_t *why)
{
	uint16_t any = 0;

	for (uint32_t i = 0; i < n; i++)
		any |= why[i];
	if (any && !s->missing) {
		memset(s->g.status, 0, (size_t)s->columns * s->g.stride * sizeof(*s->g.status));
		s->missing = true;
	}
	if (s->missing)
		memcpy(s->g.status + column * s->g.stride + at, why, n * sizeof(*why));
}

/* Times are those of the ticks, which cost nothing. */
static void put_blank(struct rewrite *w, const struct pm_chunk *chunk, const struct rewrite_group *to,
		      const struct pick *p, struct rewrite_slot *slot)
{
	struct rewrite_rows *r = &w->rows;
	uint64_t *stage = p->staged ? r->stage + (size_t)r->staged * r->columns + slot->stage : NULL;
	uint16_t why[PM_CHUNK_ROWS];

	for (uint32_t k = 0; k < to->n_columns; k++) {
		uint64_t *v = stage ? stage + k : slot->g.v + k * slot->g.stride + r->chunk.rows;

		for (uint32_t i = 0; i < p->put; i++) {
			v[i] = k < to->n_clocks ? chunk->tick[p->stay[i]] + w->rules->shift_ns : 0;
			why[i] = k < to->n_head ? 0 : PM_REASON_LEFT_OUT;
		}
		put_status(slot, k, r->chunk.rows, p->put, why);
	}
}

static int put_group(struct rewrite *w, const struct pm_model *in, const struct pm_chunk_group *from,
		     const struct pick *p, struct rewrite_slot *slot)
{
	struct rewrite_group *to = rewrite_group_of(w, from->group);
	struct rewrite_rows *r = &w->rows;
	uint64_t *stage = p->staged ? r->stage + (size_t)r->staged * r->columns + slot->stage : NULL;
	uint16_t why[PM_CHUNK_ROWS] = { 0 };
	int err = 0;

	for (uint32_t k = 0; k < to->n_columns && !err; k++) {
		uint64_t *v = stage ? stage + k : slot->g.v + k * slot->g.stride + r->chunk.rows;
		const uint64_t *old = from->v + to->column[k] * from->stride;
		const uint16_t *status =
			from->status && k >= to->n_head ? from->status + to->column[k] * from->stride : NULL;
		uint64_t add = k < to->n_clocks ? w->rules->shift_ns : 0;
		uint32_t counter = to->special ? to->special[k] : 0;

		if (counter && rewrite_adds_up(pm_model_counter(in, counter))) {
			err = put_carried(w, in, to, k, old, status, p, v, why);
			put_status(slot, k, r->chunk.rows, p->put, why);
			continue;
		}
		for (uint32_t i = 0; i < p->put; i++)
			v[i] = old[p->stay[i]] + add;
		if (!status && !counter && !slot->missing)
			continue;
		for (uint32_t i = 0; i < p->put; i++)
			why[i] = status ? status[p->stay[i]] : 0;
		for (uint32_t i = 0; counter && i < p->put && !err; i++)
			err = rewrite_put_special(w, in, to, k, false, &v[i], &why[i]);
		put_status(slot, k, r->chunk.rows, p->put, why);
	}
	return err;
}

static int put_rows(struct rewrite *w, const struct pm_model *in, const struct pm_chunk *chunk, const struct pick *p)
{
	struct rewrite_rows *r = &w->rows;
	uint32_t slot = 0;
	int err = 0;

	if (!p->staged || r->staged == STAGE_ROWS) {
		/* The spare row is to be overwritten. */
		r->spare = false;
		unstage(r);
	}
	for (uint32_t i = 0; i < chunk->n_groups && !err; i++) {
		const struct rewrite_group *to = rewrite_group_of(w, chunk->group[i].group);

		if (!rewrite_goes_over(w, &chunk->group[i]))
			continue;
		if (to->blank)
			put_blank(w, chunk, to, p, &r->slot[slot]);
		else
			err = put_group(w, in, &chunk->group[i], p, &r->slot[slot]);
		slot++;
	}
	for (uint32_t i = 0; i < p->put && !err; i++) {
		uint32_t at = r->chunk.rows + i, row = p->stay[i];

		r->tick[at] = chunk->tick[row] + w->rules->shift_ns;
		/* Numbered by what is left: if one snapshot in ten stays, numbers cost as little. */
		r->number[at] = chunk->number[row] / (w->rules->every > 1 ? w->rules->every : 1);
		r->flags[at] = chunk->flags[row];
	}
	if (err)
		return err;
	r->chunk.rows += p->kept;
	r->staged += p->staged ? p->kept : 0;
	r->spare = p->put > p->kept;
	r->spare_staged = r->spare && p->staged;
	return 0;
}

int rewrite_rows_add(struct rewrite *w, const struct pm_model *in, const struct pm_chunk *chunk, uint32_t row,
		     uint32_t n, const bool *skip)
{
	struct rewrite_rows *r = &w->rows;
	int err = 0;

	if ((r->chunk.rows || r->spare) && !fits(w, chunk))
		err = rewrite_rows_flush(w);
	while (n && !err) {
		struct pick p;

		if (r->chunk.rows && r->chunk.rows == r->room)
			err = rewrite_rows_flush(w);
		if (!err && !r->chunk.rows && !r->spare)
			err = begin(w, chunk);
		if (err)
			break;
		p = pick_rows(r, row, n, skip);
		err = put_rows(w, in, chunk, &p);
		row += p.n;
		n -= p.n;
		skip = skip ? skip + p.n : NULL;
	}
	return err;
}

void rewrite_rows_release(struct rewrite_rows *r)
{
	for (uint32_t i = 0; i < r->cap_slots; i++) {
		free(r->slot[i].g.v);
		free(r->slot[i].g.status);
	}
	free(r->slot);
	free(r->lost);
	free(r->stage);
	*r = (struct rewrite_rows){ 0 };
}
