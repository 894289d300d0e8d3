#include "record/sample/sampler.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/memory.h"
#include "record/host/privileges.h"
#include "record/host/process.h"

/* BOOTTIME and MONOTONIC are read one after the other; a difference below this is preemption, not sleep. */
#define SLEPT_MIN_NS 5000000

/* A reading is doubtful if it took more than this part of its interval, and this many times what it should. */
#define DOUBT_SHARE 100
#define DOUBT_TIMES 4

/* A reader that is told to stop does not need longer, given a CPU. */
#define STARVED_MS 50

/* So many ticks pass at most until a reader that has yet to see whether samples come finds out that they do not. */
#define LOOKS_EVERY 8

/* Near the end, a reading that takes longer is not waited for. */
#define PATIENCE_NS 500000000u

/* A reader that does not return from a file is abandoned: if it returns after all, it touches nothing. */
enum reader_state { READER_PARKED, READER_BUSY, READER_LEFT };

struct reader {
	alignas(RING_LINE) struct sampler *sampler;
	pthread_t thread;
	uint32_t index;
	uint64_t in_chunk; /* first chunk of the epoch that it has not touched; read by control while parked */
	int64_t slept_ns;  /* first reader */
	struct sampler_delay delay;
	/* Whether it looks for samples at each tick, and reads what has none: for good once some were missing. */
	bool gaps;
	uint64_t phase_ns;       /* how long after a tick its sample is due */
	uint64_t read_ns;        /* when it had read the last row */
	uint64_t awake_ns;       /* when it woke up last */
	_Atomic pid_t tid;       /* 0: not yet running */
	_Atomic bool pins_again; /* its CPU is back; set by control */
	_Atomic int state;       /* enum reader_state; from BUSY by the one who is first */
	_Atomic uint32_t at;     /* the slot that it reads, + 1; 0: none */
};

struct sampler {
	struct sampler_config config;
	struct reader *reader;
	uint32_t started;
	int fd;
	bool running;  /* control's own view */
	bool hurry;    /* likewise: the end is near */
	uint32_t left; /* abandoned readers */
	struct ring_epoch epoch;
	uint64_t next_chunk;
	struct affinity anywhere;                    /* where the process may run */
	alignas(RING_LINE) _Atomic uint32_t command; /* rises with each epoch */
	_Atomic uint32_t exit;
	alignas(RING_LINE) _Atomic uint32_t stop;   /* what readers sleep on between ticks */
	alignas(RING_LINE) _Atomic uint32_t active; /* readers in the epoch */
};

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* Replaces begin and end, in ns after those of the group's first place, by the usual ones if they are nearly equal.
 * What is unusual twice becomes usual. */
static void even_out(struct slot *s, uint64_t slack_ns, uint64_t *begin, uint64_t *end)
{
	if (s->seen && distance(*begin + *end, 2 * s->usual_at + s->usual_ns) <= 2 * slack_ns) {
		*begin = s->usual_at;
		*end = s->usual_at + s->usual_ns;
		s->off = false;
		return;
	}
	if (!s->seen || s->off) {
		s->usual_at = *begin;
		s->usual_ns = *end - *begin;
	}
	s->off = s->seen;
	s->seen = true;
}

/* Where a slot's values go in that row. */
static void slot_cells(const struct ring_buf *b, const struct slot *s, uint32_t row, struct cells *c)
{
	const struct pm_chunk_group *g = &b->group[s->group];

	c->v = g->v + s->value * g->stride + row;
	c->status = g->status + s->value * g->stride + row;
	c->step = s->step * g->stride;
	c->n = s->n;
	c->enabled = s->enabled == PM_NONE ? NULL : g->v + s->enabled * g->stride + row;
	c->running = s->running == PM_NONE ? NULL : g->v + s->running * g->stride + row;
}

/* Reads a unit, and again if unusual times suggest an interruption: the values and their time do not belong together
 * then. *begin is that of the reading that counts. If the second reading takes as long, the machine has become
 * slower, which must not double all readings. */
static int read_unit(struct slot *s, struct cells *c, uint64_t interval_ns, uint64_t *begin, uint64_t *end)
{
	int err = s->unit->read(s->unit, c);
	uint64_t took;

	*end = clocks_monotonic();
	took = *end - *begin;
	if (!err && took > interval_ns / DOUBT_SHARE && interval_ns && s->shortest_ns &&
	    took > DOUBT_TIMES * s->shortest_ns) {
		for (uint32_t k = 0; k < c->n; k++)
			c->status[k * c->step] = PM_OK;
		*begin = *end;
		err = s->unit->read(s->unit, c);
		*end = clocks_monotonic();
		took = *end - *begin;
		if (took > DOUBT_TIMES * s->shortest_ns)
			s->shortest_ns *= 2;
	}
	if (!s->shortest_ns || took < s->shortest_ns)
		s->shortest_ns = took;
	return err;
}

/* What is not there counts nothing; what fails may go on counting. */
static uint16_t why_dead(int err)
{
	return err == -ENODEV || err == -ENXIO || err == -ENOENT || err == -ESRCH ? PM_REASON_GONE :
										    pm_reason_errno(err);
}

/* Reads slot i into its cells, twice if the first time is in doubt; *begin, which comes as the time now, and *end are
 * of the reading that counts. A unit that has failed for good is dead from then on. */
static void read_slot(struct reader *r, struct ring_buf *b, uint32_t i, struct cells *c, uint64_t *begin,
		      uint64_t *end)
{
	const struct readout *l = r->sampler->config.ring->readout;
	struct slot *s = &l->slot[i];
	int err;

	atomic_store_explicit(&r->at, i + 1, memory_order_release);
	err = read_unit(s, c, l->interval_ns, begin, end);
	atomic_store_explicit(&r->at, 0, memory_order_relaxed);
	b->slot_read[i] = true;
	if (err < 0) {
		atomic_store_explicit(&s->dead, err, memory_order_relaxed);
		cells_fail_all(c, why_dead(err));
	}
}

static bool is_left(const struct reader *r)
{
	return atomic_load_explicit(&r->state, memory_order_relaxed) == READER_LEFT;
}

/* Reads all units of a reader into one row. */
static void read_row(struct reader *reader, const struct readout *l, struct ring_buf *b, uint32_t row,
		     uint64_t number, bool single)
{
	const struct readout_reader *r = &l->reader[reader->index];
	uint64_t begin = clocks_monotonic(), end, first = begin;
	uint32_t group = PM_NONE;

	for (uint32_t i = r->first; i < r->first + r->n; i++) {
		struct slot *s = &l->slot[i];
		const struct pm_chunk_group *g = &b->group[s->group];
		uint64_t from, to;
		struct cells c;
		int dead;

		if (is_left(reader))
			return;
		slot_cells(b, s, row, &c);
		c.any_missing = &b->slot_missing[i];
		dead = atomic_load_explicit(&s->dead, memory_order_relaxed);
		if (s->away || dead) {
			cells_fail_all(&c, s->away ? PM_REASON_OFFLINE : why_dead(dead));
			b->slot_read[i] = true;
			end = begin;
		} else if (number > 1 && s->every > 1 && !single && number % s->every) {
			/* At first twice, so that a short recording has values, too. */
			cells_fail_all(&c, PM_REASON_NOT_READ);
			end = begin;
		} else {
			read_slot(reader, b, i, &c, &begin, &end);
		}
		if (s->group != group)
			first = begin;
		group = s->group;
		from = begin - first;
		to = end - first;
		if (s->unit->even && to > from)
			even_out(s, l->interval_ns / EVEN_SHARE, &from, &to);
		g->v[s->begin * g->stride + row] = first + from;
		g->v[s->end * g->stride + row] = first + to;
		begin = end;
	}
	reader->read_ns = begin;
}

/* The first reader does this for all: reads the clocks once a chunk, and notices that the machine has slept. */
static void watch_clocks(struct reader *r, struct ring_buf *b, uint32_t row)
{
	const struct clock_source *clocks = r->sampler->config.clocks;
	int64_t slept = clocks->slept(clocks->ctx);

	if (slept - r->slept_ns > SLEPT_MIN_NS || r->slept_ns - slept > SLEPT_MIN_NS) {
		slept = clocks->slept(clocks->ctx);
		if (slept - r->slept_ns > SLEPT_MIN_NS) {
			if (b->slept_row == PM_NONE)
				b->slept_row = row;
			b->slept_ns += slept - r->slept_ns;
			r->slept_ns = slept;
		}
	}
	if (!b->clocks.monotonic)
		clocks->read(clocks->ctx, &b->clocks);
}

static void snapshot(struct reader *r, uint64_t chunk, uint32_t row, uint64_t number, bool single)
{
	struct ring *ring = r->sampler->config.ring;
	struct ring_buf *b = ring_enter(ring, r->index, chunk);

	if (!b) {
		ring_drop(ring, r->index, chunk, 1);
	} else {
		if (r->index == 0)
			watch_clocks(r, b, row);
		read_row(r, ring->readout, b, row, number, single);
		if (!is_left(r))
			ring_fill(b, r->index, row / 64, 1ull << row % 64);
	}
	ring_exit(ring, r->index);
}

/* False: told to stop. */
static bool sleep_until(const struct reader *r, uint64_t deadline_ns, uint64_t *now)
{
	struct sampler *s = r->sampler;

	while (!atomic_load_explicit(&s->stop, memory_order_acquire) && !is_left(r)) {
		*now = clocks_monotonic();
		if (*now >= deadline_ns)
			return true;
		futex_wait_until(&s->stop, 0, deadline_ns);
	}
	return false;
}

/* Records why a tick is lost that is taken so late. */
static void count_delay(struct reader *r, uint64_t due_ns, uint64_t now, uint64_t interval)
{
	/* Of what was due while it was stopped, only the first tick is late for that reason. */
	uint64_t from = due_ns > r->awake_ns ? due_ns : r->awake_ns;

	r->awake_ns = now;
	if (now < due_ns + interval)
		return;
	if (r->read_ns < due_ns) {
		r->delay.late_ns += now - from;
		return;
	}
	r->delay.overrun_ns += now - due_ns;
}

static void run_ticks(struct reader *r, const struct ring_epoch *e)
{
	struct ring *ring = r->sampler->config.ring;
	uint64_t interval = ring->readout->interval_ns, chunk, now, k = e->first_number, left = e->first_chunk;
	uint32_t rows = ring->readout->rows, row;

	while (sleep_until(r, e->start_ns + k * interval, &now)) {
		/* If the next tick is due, this one is lost, and the next one is taken. */
		count_delay(r, e->start_ns + k * interval, now, interval);
		r->delay.missed -= k;
		k = (now - e->start_ns) / interval;
		if (k > e->last_number)
			k = e->last_number;
		r->delay.missed += k;
		chunk = e->first_chunk + (k - e->first_number) / rows;
		row = (uint32_t)((k - e->first_number) % rows);
		if (chunk > left) {
			left = chunk;
			ring_leave(ring, r->index, left);
		}
		r->in_chunk = chunk + 1;
		snapshot(r, chunk, row, k, false);
		if (is_left(r))
			return;
		if (row == rows - 1) {
			left = chunk + 1;
			ring_leave(ring, r->index, left);
		}
		if (k == e->last_number)
			break;
		k++;
	}
}

static void begin_chunk(struct slot *s)
{
	memset(s->sampled, 0, sizeof(s->sampled));
	s->stood_in = 0;
}

/* Lets the kernel begin with the samples of a reader. */
static void start_samples(struct reader *r)
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

/* Reads units without a sample of that tick: some kernels do not sample an idle CPU. */
static void read_unsampled(struct reader *r, const struct ring_epoch *e, uint64_t chunk, uint64_t first,
			   uint64_t tick)
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
		read_slot(r, b, i, &c, &begin, &end);
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

/* Fills the rows of one chunk, and finds whether the reader has to stand in from then on. A tick with samples of some
 * units only is missing in the others. */
static void collect_samples(struct reader *r, const struct ring_epoch *e, uint64_t chunk, uint64_t first,
			    uint64_t last)
{
	struct ring *ring = r->sampler->config.ring;
	const struct readout *l = ring->readout;
	const struct readout_reader *rr = &l->reader[r->index];
	struct ring_buf *b = ring_enter(ring, r->index, chunk);
	uint64_t any[PM_CHUNK_ROWS / 64] = { 0 };

	if (b && r->index == 0)
		watch_clocks(r, b, 0);
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

/* Looks when samples of a tick should have come, and reads it if they did not; false if told to stop meanwhile. While
 * all come it looks less and less often, as each look costs a wake-up; after that, at each tick of the chunk. */
static bool stand_in(struct reader *r, const struct ring_epoch *e, uint64_t chunk, uint64_t first, uint64_t k,
		     uint64_t last)
{
	const uint64_t interval = r->sampler->config.ring->readout->interval_ns;
	const uint64_t half = e->start_ns + r->phase_ns + interval / 2;
	const uint64_t before = r->delay.stood_in;
	uint64_t now, step = 1;
	bool on = true;

	r->in_chunk = chunk + 1;
	while (on && k <= last) {
		on = sleep_until(r, half + k * interval, &now);
		now = clocks_monotonic();
		count_delay(r, half + k * interval, now, interval);
		k = (on ? now - half : now - e->start_ns) / interval;
		if (k >= first && k <= last && !is_left(r))
			read_unsampled(r, e, chunk, first, k);
		step = r->gaps || r->delay.stood_in > before ? 1 : step < LOOKS_EVERY ? 2 * step : step;
		k = k < last && k + step > last ? last : k + step;
	}
	return on;
}

/* The first tick is read; its samples follow at whole intervals from it. */
static void run_sampled(struct reader *r, const struct ring_epoch *e)
{
	struct ring *ring = r->sampler->config.ring;
	uint64_t interval = ring->readout->interval_ns, k = e->first_number, now, chunk = e->first_chunk, first;
	uint64_t looks; /* the chunk that shows whether samples come */
	uint32_t rows = ring->readout->rows;
	bool on = sleep_until(r, e->start_ns + k * interval, &now);

	if (!on)
		return;
	k = (now - e->start_ns) / interval;
	k = k > e->last_number ? e->last_number : k;
	chunk += (k - e->first_number) / rows;
	if (chunk > e->first_chunk)
		ring_leave(ring, r->index, chunk);
	r->in_chunk = chunk + 1;
	snapshot(r, chunk, (uint32_t)((k - e->first_number) % rows), k, false);
	start_samples(r);
	r->phase_ns = (clocks_monotonic() - e->start_ns) % interval;
	looks = chunk;
	while (on && !is_left(r) && k < e->last_number) {
		uint64_t last;
		const struct ring_buf *b;

		first = e->first_number + (chunk - e->first_chunk) * rows;
		last = first + rows - 1 < e->last_number ? first + rows - 1 : e->last_number;
		if (r->gaps || chunk == looks) {
			on = stand_in(r, e, chunk, first, k < first ? first : k + 1, last);
		} else {
			on = sleep_until(r, e->start_ns + (last + 2) * interval, &now);
			/* A reader that stood still may be told to stop before it looks. */
			count_delay(r, e->start_ns + (last + 2) * interval, clocks_monotonic(), interval);
		}
		r->in_chunk = chunk + 1;
		collect_samples(r, e, chunk, first, last);
		/* The last tick is the purpose of the epoch: if its sample did not come, read it. */
		b = on && last == e->last_number ? ring_enter(ring, r->index, chunk) : NULL;
		if (b && !(b->filled[r->index].rows[(last - first) / 64] >> (last - first) % 64 & 1))
			snapshot(r, chunk, (uint32_t)(last - first), last, false);
		ring_exit(ring, r->index);
		k = last;
		chunk++;
		if (on)
			ring_leave(ring, r->index, chunk);
	}
}

static void run_epoch(struct reader *r)
{
	const struct ring_epoch *e = &r->sampler->epoch;
	uint64_t now;

	r->in_chunk = e->first_chunk;
	if (atomic_exchange(&r->pins_again, false))
		affinity_pin(r->sampler->config.ring->readout->reader[r->index].cpu);
	if (!e->tick_ns) {
		if (r->sampler->config.ring->readout->reader[r->index].sampled)
			run_sampled(r, e);
		else
			run_ticks(r, e);
	} else if (sleep_until(r, e->tick_ns, &now)) {
		r->in_chunk = e->first_chunk + 1;
		snapshot(r, e->first_chunk, 0, e->first_number, true);
	}
}

/* Whoever does it first, the reader or control, counts it as no longer active. */
static bool leaves_epoch(struct reader *r, int to)
{
	int busy = READER_BUSY;

	return atomic_compare_exchange_strong(&r->state, &busy, to);
}

static void *reader_main(void *arg)
{
	struct reader *r = arg;
	struct sampler *s = r->sampler;
	uint32_t cpu = s->config.ring->readout->reader[r->index].cpu, seen = 0, now;
	uint64_t one = 1;
	char name[24];

	atomic_store(&r->tid, gettid());
	snprintf(name, sizeof(name), "pmrec/%u", cpu == PM_NONE ? r->index : cpu);
	prctl(PR_SET_NAME, name);
	/* Otherwise the kernel may delay timers by 50 us. */
	prctl(PR_SET_TIMERSLACK, 1);
	/* A CPU that this machine lacks (under --root) or that a cpuset forbids is read from another one. */
	if (cpu != PM_NONE)
		affinity_pin(cpu);
	privileges_hurry();
	for (;;) {
		while ((now = atomic_load(&s->command)) == seen)
			futex_wait_until(&s->command, seen, 0);
		seen = now;
		if (atomic_load(&s->exit))
			return NULL;
		run_epoch(r);
		if (!leaves_epoch(r, READER_PARKED))
			return NULL;
		if (atomic_fetch_sub(&s->active, 1) == 1 && write(s->fd, &one, sizeof(one)) < 0)
			abort(); /* an eventfd that holds at most one cannot fail */
	}
}

int sampler_new(struct sampler **out, const struct sampler_config *config, struct error *e)
{
	const struct readout *l = config->ring->readout;
	struct sampler *s = aligned_alloc(RING_LINE, sizeof(*s));
	int err;

	memset(memory_checked(s), 0, sizeof(*s));
	s->config = *config;
	s->fd = -1;
	if (!s->config.clocks)
		s->config.clocks = &clocks_machine;
	err = -affinity_save(&s->anywhere);
	if (err)
		goto fail;
	s->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->fd < 0) {
		err = errno;
		goto fail;
	}
	s->reader = memory_checked(aligned_alloc(RING_LINE, l->n_readers * sizeof(*s->reader)));
	memset(s->reader, 0, l->n_readers * sizeof(*s->reader));
	for (uint32_t i = 0; i < l->n_readers; i++) {
		struct reader *r = &s->reader[i];

		r->sampler = s;
		r->index = i;
		r->slept_ns = s->config.clocks->slept(s->config.clocks->ctx);
		err = pthread_create(&r->thread, NULL, reader_main, r);
		if (err)
			goto fail;
		s->started++;
	}
	*out = s;
	return 0;
fail:
	sampler_free(s);
	return error_sys(e, err, "reader threads");
}

/* Lets readers whose CPU is kept busy by others finish on any CPU. */
static void unpin(struct sampler *s)
{
	for (uint32_t i = 0; i < s->started; i++) {
		struct reader *r = &s->reader[i];
		pid_t tid = atomic_load(&r->tid);

		if (tid && s->config.ring->readout->reader[i].cpu != PM_NONE && !affinity_apply(&s->anywhere, tid))
			atomic_store(&r->pins_again, true);
	}
}

/* Whether it has ended. */
static bool join_reader(pthread_t thread)
{
	struct timespec t = clocks_timespec(clocks_ns(CLOCK_REALTIME) + STARVED_MS * 1000000);

	return !pthread_timedjoin_np(thread, NULL, &t);
}

bool sampler_free(struct sampler *s)
{
	if (!s)
		return true;
	atomic_store(&s->exit, 1);
	atomic_fetch_add(&s->command, 1);
	futex_wake_all(&s->command);
	for (uint32_t i = 0; i < s->started; i++)
		while (!is_left(&s->reader[i]) && !join_reader(s->reader[i].thread))
			unpin(s);
	if (s->left)
		return false;
	fd_close(&s->fd);
	free(s->reader);
	free(s);
	return true;
}

bool sampler_begin(struct sampler *s, struct ring_epoch *e)
{
	e->first_chunk = s->next_chunk;
	if (s->left == s->started || !ring_begin(s->config.ring, e))
		return false;
	s->epoch = *e;
	s->running = true;
	atomic_store(&s->stop, 0);
	atomic_store(&s->active, s->started - s->left);
	for (uint32_t i = 0; i < s->started; i++)
		if (!is_left(&s->reader[i]))
			atomic_store(&s->reader[i].state, READER_BUSY);
	atomic_fetch_add(&s->command, 1);
	futex_wake_all(&s->command);
	return true;
}

/* Leaves readers behind that are in the middle of a reading: what they read does not respond. Returns whether none is
 * active. */
static bool leave_behind(struct sampler *s)
{
	bool last = false;

	for (uint32_t i = 0; i < s->started; i++) {
		struct reader *r = &s->reader[i];
		uint32_t at = atomic_load(&r->at);

		if (!at || !leaves_epoch(r, READER_LEFT))
			continue;
		atomic_store(&s->config.ring->readout->slot[at - 1].dead, -ETIMEDOUT);
		s->left++;
		last = atomic_fetch_sub(&s->active, 1) == 1;
	}
	return last;
}

void sampler_hurry(struct sampler *s)
{
	s->hurry = true;
}

void sampler_park(struct sampler *s)
{
	struct pollfd p = { .fd = s->fd, .events = POLLIN };
	uint64_t count, until = 0;

	if (!s->running)
		return;
	/* Let a single snapshot finish: it is the purpose of the epoch. */
	if (!s->epoch.tick_ns) {
		atomic_store(&s->stop, 1);
		futex_wake_all(&s->stop);
	}
	while (read(s->fd, &count, sizeof(count)) < 0) {
		if (!poll(&p, 1, STARVED_MS))
			unpin(s);
		if (!until && (s->hurry || interrupted()))
			until = clocks_monotonic() + PATIENCE_NS;
		else if (until && clocks_monotonic() > until && leave_behind(s))
			break;
	}
	s->running = false;
	for (uint32_t i = 0; i < s->started; i++)
		if (s->reader[i].in_chunk > s->next_chunk)
			s->next_chunk = s->reader[i].in_chunk;
	s->next_chunk = ring_leave_all(s->config.ring, s->next_chunk);
}

void sampler_pin_again(struct sampler *s, uint32_t cpu)
{
	for (uint32_t i = 0; i < s->started; i++)
		if (s->config.ring->readout->reader[i].cpu == cpu)
			s->reader[i].pins_again = true;
}

struct sampler_delay sampler_delay(const struct sampler *s)
{
	struct sampler_delay most = { 0 };

	for (uint32_t i = 0; i < s->started; i++) {
		const struct sampler_delay *d = &s->reader[i].delay;

		most.late_ns = d->late_ns > most.late_ns ? d->late_ns : most.late_ns;
		most.overrun_ns = d->overrun_ns > most.overrun_ns ? d->overrun_ns : most.overrun_ns;
		most.missed = d->missed > most.missed ? d->missed : most.missed;
		most.stood_in += d->stood_in;
	}
	return most;
}

int sampler_fd(const struct sampler *s)
{
	return s->fd;
}

bool sampler_running(const struct sampler *s)
{
	return s->running;
}

uint64_t sampler_next_chunk(const struct sampler *s)
{
	return s->next_chunk;
}
