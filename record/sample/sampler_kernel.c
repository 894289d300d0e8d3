/* What the kernel samples: rows made of the samples that wait for a reader. */
#include "record/sample/sampler_private.h"

#include <string.h>

void sampler_start_samples(const struct readout *l, const struct readout_reader *rr)
{
	for (uint32_t i = rr->first; i < rr->first + rr->n; i++)
		if (!l->slot[i].away && l->slot[i].unit->sampling) {
			l->slot[i].unit->sampling->start(l->slot[i].unit);
			l->slot[i].phase = PM_NONE;
		}
}

/* The tick that a sample is of. The timer goes by whole intervals from when it was started, which was some time after
 * a tick; interrupts are late, and never early, so the least lateness that was seen is that time. */
static uint64_t tick_of(struct slot *s, uint64_t since_start, uint64_t interval)
{
	int64_t off;
	uint64_t tick;

	if (s->phase == PM_NONE)
		s->phase = (uint32_t)(since_start % interval);
	if (since_start + interval / 2 < s->phase)
		return 0;
	tick = (since_start + interval / 2 - s->phase) / interval;
	off = (int64_t)(since_start - tick * interval) - (int64_t)s->phase;
	if (off < 0)
		s->phase = (uint32_t)((int64_t)s->phase + off > 0 ? (int64_t)s->phase + off : 0);
	return tick;
}

static void set_times(const struct pm_chunk_group *g, const struct slot *s, uint32_t row, uint64_t time)
{
	g->v[s->begin * g->stride + row] = time;
	g->v[s->end * g->stride + row] = time;
}

/* Samples of one unit that belong to the chunk that begins with tick `first`; ticks that found no room in the kernel
 * have none, as they were missed by the reader. b NULL: there is no buffer for them. */
static void take_samples(const struct readout *l, struct slot *s, struct ring_buf *b, uint32_t i,
			 const struct ring_epoch *e, uint64_t first, uint64_t last)
{
	struct unit *u = s->unit;
	uint64_t time;

	memset(s->sampled, 0, sizeof(s->sampled));
	while (!s->away && u->sampling && u->sampling->peek(u, &time)) {
		uint64_t tick = time > e->start_ns ? tick_of(s, time - e->start_ns, l->interval_ns) : 0;
		uint32_t row = (uint32_t)(tick - first);
		struct cells c;

		if (tick > last)
			return;
		/* Of two in one tick the first one is its own. */
		if (!b || tick < first || s->sampled[row / 64] >> row % 64 & 1) {
			u->sampling->take(u, NULL);
			continue;
		}
		slot_cells(b, s, row, &c);
		c.any_missing = &b->slot_missing[i];
		u->sampling->take(u, &c);
		set_times(&b->group[s->group], s, row, time);
		s->sampled[row / 64] |= 1ull << row % 64;
		b->slot_read[i] = true;
	}
}

void sampler_collect_samples(struct reader *r, const struct ring_epoch *e, uint64_t chunk, uint64_t first,
			     uint64_t last)
{
	struct ring *ring = r->sampler->config.ring;
	const struct readout *l = ring->readout;
	const struct readout_reader *rr = &l->reader[r->index];
	struct ring_buf *b = ring_enter(ring, r->index, chunk);
	uint64_t any[PM_CHUNK_ROWS / 64] = { 0 };

	if (b && r->index == 0)
		sampler_watch_clocks(r, b, 0);
	for (uint32_t i = rr->first; i < rr->first + rr->n; i++) {
		take_samples(l, &l->slot[i], b, i, e, first, last);
		for (uint32_t w = 0; w < PM_CHUNK_ROWS / 64; w++)
			any[w] |= l->slot[i].sampled[w];
	}
	if (!b)
		ring_drop(ring, r->index, chunk, last - first + 1);
	for (uint32_t i = rr->first; b && i < rr->first + rr->n; i++) {
		struct slot *s = &l->slot[i];

		for (uint32_t row = 0; row <= last - first; row++) {
			struct cells c;

			if (!(any[row / 64] >> row % 64 & 1) || s->sampled[row / 64] >> row % 64 & 1 ||
			    b->filled[r->index].rows[row / 64] >> row % 64 & 1)
				continue;
			slot_cells(b, s, row, &c);
			c.any_missing = &b->slot_missing[i];
			cells_fail_all(&c, s->away ? PM_REASON_OFFLINE : PM_REASON_MISSED);
			set_times(&b->group[s->group], s, row, e->start_ns + (first + row) * l->interval_ns);
			if (c.enabled)
				*c.enabled = row ? c.enabled[-1] : 0;
			if (c.running)
				*c.running = row ? c.running[-1] : 0;
		}
	}
	for (uint32_t w = 0; b && w < PM_CHUNK_ROWS / 64; w++)
		ring_fill(b, r->index, w, any[w]);
	ring_exit(ring, r->index);
}
