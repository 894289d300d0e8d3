/* What the kernel samples: turns the samples that wait for a reader into rows. */
#include "record/sample/sampler_private.h"

#include <string.h>

static void begin_chunk(struct slot *s)
{
	memset(s->sampled, 0, sizeof(s->sampled));
	s->stood_in = 0;
}

void sampler_start_samples(struct reader *r)
{
	const struct readout *l = r->sampler->config.ring->readout;
	const struct readout_reader *rr = &l->reader[r->index];

	for (uint32_t i = rr->first; i < rr->first + rr->n; i++) {
		struct slot *s = &l->slot[i];

		begin_chunk(s);
		if (!s->away && s->unit->sampling) {
			s->unit->sampling->start(s->unit);
			s->phase = PM_NONE;
		}
	}
}

/* The tick to which a sample belongs. The timer runs in whole intervals from its start, which was some time after a
 * tick; interrupts are late, never early, so the smallest lateness seen is that time. */
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

static void set_times(const struct pm_chunk_group *g, const struct slot *s, uint32_t row, uint64_t begin,
		      uint64_t end)
{
	g->v[s->begin * g->stride + row] = begin;
	g->v[s->end * g->stride + row] = end;
}

/* Takes one unit's samples of the chunk that begins with tick `first`; ticks for which the kernel had no room are
 * missing, as if the reader had missed them. b NULL: there is no buffer for them. */
static void take_samples(const struct readout *l, struct slot *s, struct ring_buf *b, uint32_t i,
			 const struct ring_epoch *e, uint64_t first, uint64_t last)
{
	struct unit *u = s->unit;
	uint64_t time;

	while (!s->away && u->sampling && u->sampling->peek(u, &time)) {
		uint64_t tick = time > e->start_ns ? tick_of(s, time - e->start_ns, l->interval_ns) : 0;
		uint32_t row = (uint32_t)(tick - first);
		struct cells c;

		if (tick > last)
			return;
		/* Of two in one tick, the first belongs to it. */
		if (!b || tick < first || s->sampled[row / 64] >> row % 64 & 1) {
			u->sampling->take(u, NULL);
			continue;
		}
		slot_cells(b, s, row, &c);
		c.any_missing = &b->slot_missing[i];
		time += u->sampling->take(u, &c);
		set_times(&b->group[s->group], s, row, time, time);
		s->sampled[row / 64] |= 1ull << row % 64;
		b->slot_read[i] = true;
	}
}

void sampler_stand_in(struct reader *r, const struct ring_epoch *e, uint64_t chunk, uint64_t first, uint64_t tick)
{
	struct ring *ring = r->sampler->config.ring;
	const struct readout *l = ring->readout;
	const struct readout_reader *rr = &l->reader[r->index];
	const uint32_t row = (uint32_t)(tick - first);
	struct ring_buf *b = ring_enter(ring, r->index, chunk);

	for (uint32_t i = rr->first; b && i < rr->first + rr->n; i++) {
		struct slot *s = &l->slot[i];
		uint64_t begin, end, next;
		struct cells c;

		take_samples(l, s, b, i, e, first, tick);
		if (s->away || !s->unit->sampling || s->sampled[row / 64] >> row % 64 & 1 ||
		    atomic_load_explicit(&s->dead, memory_order_relaxed))
			continue;
		slot_cells(b, s, row, &c);
		c.any_missing = &b->slot_missing[i];
		begin = clocks_monotonic();
		sampler_read_slot(r, b, i, &c, &begin, &end);
		/* Whoever comes to read after the next sample was taken is too late: values would go back. */
		if (s->unit->sampling->peek(s->unit, &next) && next < end)
			continue;
		set_times(&b->group[s->group], s, row, begin, end);
		s->sampled[row / 64] |= 1ull << row % 64;
		s->stood_in++;
		r->delay.stood_in++;
	}
	ring_exit(ring, r->index);
	r->read_ns = clocks_monotonic();
}

/* This many rows of a chunk show what the kernel does. */
#define ROWS_THAT_TELL 8

/* Whether more than a quarter of a slot's rows lack a sample. */
static bool has_gaps(const struct slot *s, uint32_t rows)
{
	int n = -(int)s->stood_in;

	for (uint32_t w = 0; w < PM_CHUNK_ROWS / 64; w++)
		n += __builtin_popcountll(s->sampled[w]);
	return !s->away && s->unit->sampling && rows >= ROWS_THAT_TELL && n < (int)(rows - rows / 4);
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
		const uint64_t tick0_ns = e->start_ns + first * l->interval_ns;

		for (uint32_t row = 0; row <= last - first; row++) {
			struct cells c;

			if (!(any[row / 64] >> row % 64 & 1) || s->sampled[row / 64] >> row % 64 & 1 ||
			    b->filled[r->index].rows[row / 64] >> row % 64 & 1)
				continue;
			slot_cells(b, s, row, &c);
			c.any_missing = &b->slot_missing[i];
			cells_fail_all(&c, s->away ? PM_REASON_OFFLINE : PM_REASON_MISSED);
			set_times(&b->group[s->group], s, row, tick0_ns + row * l->interval_ns,
				  tick0_ns + row * l->interval_ns);
			if (c.enabled)
				*c.enabled = row ? c.enabled[-1] : 0;
			if (c.running)
				*c.running = row ? c.running[-1] : 0;
		}
	}
	for (uint32_t i = rr->first; i < rr->first + rr->n; i++) {
		r->gaps |= has_gaps(&l->slot[i], (uint32_t)(last - first + 1));
		begin_chunk(&l->slot[i]);
	}
	for (uint32_t w = 0; b && w < PM_CHUNK_ROWS / 64; w++)
		ring_fill(b, r->index, w, any[w]);
	ring_exit(ring, r->index);
}
