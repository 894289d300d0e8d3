#include "record/sample/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WORDS (PM_CHUNK_ROWS / 64)

int rows_init(struct rows *r, const struct readout *l)
{
	rows_release(r);
	r->readout = l;
	r->group = calloc(l->n_groups + SOURCE_TABLES + 1, sizeof(*r->group));
	r->present = calloc(l->n_groups + 1, sizeof(bool));
	r->missing = calloc(l->n_groups + 1, sizeof(bool));
	return r->group && r->present && r->missing ? 0 : -ENOMEM;
}

void rows_release(struct rows *r)
{
	free(r->group);
	free(r->present);
	free(r->missing);
	*r = (struct rows){ 0 };
}

static bool has(const uint64_t *bits, uint32_t row)
{
	return bits[row / 64] >> row % 64 & 1;
}

static void find_rows(struct rows *r, const struct ring *ring, uint64_t chunk, const struct ring_epoch *e,
		      const uint64_t *exist)
{
	const struct readout *l = r->readout;

	r->n = 0;
	for (uint32_t row = 0; row < l->rows; row++) {
		uint32_t i = r->n;

		if (!has(exist, row))
			continue;
		r->number[i] =
			e->tick_ns ? e->first_number : e->first_number + (chunk - e->first_chunk) * l->rows + row;
		r->tick[i] = e->tick_ns ? e->tick_ns : e->start_ns + r->number[i] * l->interval_ns;
		r->flags[i] = e->tick_ns || r->number[i] == e->last_number ? e->flags : PM_SNAPSHOT_TICK;
		r->place[i] = (uint8_t)row;
		r->n++;
	}
}

/* Fills the cells of a slot that nobody filled in this row. Cumulative companions repeat the row before, which costs
 * nothing. */
static void fill_missing(struct ring_buf *b, const struct slot *s, uint32_t row, uint64_t tick, uint16_t reason)
{
	struct pm_chunk_group *g = &b->group[s->group];

	for (uint32_t k = 0; k < s->n; k++) {
		size_t at = (s->value + (size_t)k * s->step) * g->stride + row;

		g->status[at] = reason;
		g->v[at] = row ? g->v[at - 1] : 0;
	}
	g->v[s->begin * g->stride + row] = tick;
	g->v[s->end * g->stride + row] = tick;
	if (s->enabled != PM_NONE) {
		uint64_t *enabled = &g->v[s->enabled * g->stride + row];
		uint64_t *running = &g->v[s->running * g->stride + row];

		*enabled = row ? enabled[-1] : 0;
		*running = row ? running[-1] : 0;
	}
}

static void fill_all_missing(struct rows *r, struct ring_buf *b)
{
	const struct readout *l = r->readout;

	for (uint32_t i = 0; i < l->n_slots; i++) {
		const struct slot *s = &l->slot[i];
		const uint64_t *filled = b->filled[s->reader].rows;

		for (uint32_t k = 0; k < r->n; k++) {
			if (s->unit && has(filled, r->place[k]))
				continue;
			fill_missing(b, s, r->place[k], r->tick[k], s->unit ? PM_REASON_MISSED : s->absent);
			b->slot_missing[i] = true;
		}
	}
}

static bool all_filled(const struct rows *r, const struct ring_buf *b, const uint64_t *exist)
{
	const struct readout *l = r->readout;

	for (uint32_t i = 0; i < l->n_readers; i++)
		if (memcmp(b->filled[i].rows, exist, WORDS * sizeof(*exist)))
			return false;
	/* Slots that nothing reads come last. */
	return !l->n_slots || l->slot[l->n_slots - 1].unit;
}

static void close_gaps(const struct rows *r, struct ring_buf *b)
{
	const struct readout *l = r->readout;

	for (uint32_t g = 0; g < l->n_groups; g++) {
		struct pm_chunk_group *cg = &b->group[g];

		for (uint32_t c = 0; c < l->group[g].columns; c++) {
			uint64_t *v = cg->v + c * cg->stride;
			uint16_t *status = cg->status + c * cg->stride;

			for (uint32_t i = 0; i < r->n; i++) {
				v[i] = v[r->place[i]];
				status[i] = status[r->place[i]];
			}
		}
	}
}

void rows_collect(struct rows *r, const struct ring *ring, struct ring_buf *b, uint64_t chunk,
		  const struct ring_epoch *e)
{
	const struct readout *l = r->readout;
	uint64_t exist[WORDS] = { 0 };

	for (uint32_t i = 0; i < l->n_readers; i++)
		for (uint32_t w = 0; w < WORDS; w++)
			exist[w] |= b->filled[i].rows[w];
	find_rows(r, ring, chunk, e, exist);
	if (!r->n)
		return;
	if (!all_filled(r, b, exist))
		fill_all_missing(r, b);
	if (r->place[r->n - 1] != r->n - 1)
		close_gaps(r, b);
	memset(r->present, 0, l->n_groups * sizeof(bool));
	memset(r->missing, 0, l->n_groups * sizeof(bool));
	for (uint32_t i = 0; i < l->n_slots; i++) {
		r->present[l->slot[i].group] |= b->slot_read[i];
		r->missing[l->slot[i].group] |= b->slot_missing[i];
	}
}

uint32_t rows_split(const struct rows *r, uint32_t row)
{
	uint32_t i = 0;

	while (row != PM_NONE && i + 1 < r->n && r->place[i] < row)
		i++;
	return i;
}

void rows_chunk(struct rows *r, const struct ring_buf *b, uint32_t first, uint32_t n, struct pm_chunk *c)
{
	const struct readout *l = r->readout;

	c->rows = n;
	c->tick = r->tick + first;
	c->number = r->number + first;
	c->flags = r->flags + first;
	c->group = r->group;
	c->n_groups = 0;
	for (uint32_t g = 0; g < l->n_groups; g++) {
		struct pm_chunk_group *to = &r->group[c->n_groups];

		if (!r->present[g])
			continue; /* not due in any of these snapshots */
		*to = b->group[g];
		to->v += first;
		to->status = r->missing[g] ? to->status + first : NULL;
		c->n_groups++;
	}
}
