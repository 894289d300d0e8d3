#include "record/sample/ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/memory.h"
#include "record/host/clocks.h"
#include "record/host/process.h"

#define BUFS_MIN 4
#define BUFS_MAX 64
/* For longer than this nobody needs to stand still: what is written waits in a queue of its own. */
#define BUFS_NS 16000000000u
/* How long a reader may take for a tick on a busy machine before the others go on without it. */
#define LATE_NS 200000000u
#define WORDS   (PM_CHUNK_ROWS / 64)
/* A buffer has its memory so many chunks before its turn: readers meet no page faults, and a short recording does not
 * pay for what only a writer that stands still would need. */
#define WARM_AHEAD 4
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

static void buf_free(struct ring_buf *b)
{
	if (!b)
		return;
	if (b->cells)
		munmap(b->cells, b->size);
	free(b->group);
	free(b->slot_missing);
	free(b->slot_read);
	free(b->filled);
	free(b);
}

void ring_release(struct ring *r)
{
	for (uint32_t i = 0; i < r->n_bufs; i++)
		buf_free(r->buf[i]);
	while (r->held) {
		struct ring_buf *b = r->held;

		r->held = b->next;
		buf_free(b);
	}
	free(r->buf);
	free(r->reader);
	free(r->rows.group);
	free(r->rows.present);
	free(r->rows.missing);
	if (r->readout)
		pthread_mutex_destroy(&r->lock);
	*r = (struct ring){ 0 };
}

static int buf_init_groups(struct ring_buf *b, const struct readout *l)
{
	const size_t cell = sizeof(uint64_t) + sizeof(uint16_t);
	size_t n = 0;
	uint64_t *v;
	uint16_t *status;

	for (uint32_t g = 0; g < l->n_groups; g++)
		n += (size_t)l->group[g].columns * l->rows;
	b->size = (n + 1) * cell;
	v = mmap(NULL, b->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (v == MAP_FAILED)
		return -ENOMEM;
	b->cells = v;
	status = (uint16_t *)(v + n);
	for (uint32_t g = 0; g < l->n_groups; g++) {
		b->group[g] = (struct pm_chunk_group){
			.group = l->group[g].id, .stride = l->rows, .v = v, .status = status
		};
		v += (size_t)l->group[g].columns * l->rows;
		status += (size_t)l->group[g].columns * l->rows;
	}
	return 0;
}

/* Gives a buffer its memory, whatever it holds. False: the kernel cannot (before 5.14). */
static bool warm(const struct ring_buf *b)
{
	return !madvise(b->cells, b->size, MADV_POPULATE_WRITE);
}

static struct ring_buf *buf_new(const struct readout *l)
{
	struct ring_buf *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->group = calloc(l->n_groups + 1, sizeof(*b->group));
	b->slot_missing = calloc(l->n_slots + 1, sizeof(bool));
	b->slot_read = calloc(l->n_slots + 1, sizeof(bool));
	b->filled = aligned_alloc(RING_LINE, l->n_readers * sizeof(*b->filled));
	if (!b->group || !b->slot_missing || !b->slot_read || !b->filled || buf_init_groups(b, l)) {
		buf_free(b);
		return NULL;
	}
	memset(b->filled, 0, l->n_readers * sizeof(*b->filled));
	b->slept_row = PM_NONE;
	return b;
}

void ring_init(struct ring *r, const struct readout *l, size_t bytes, _Atomic uint32_t *wake)
{
	const uint64_t chunk_ns = l->interval_ns * l->rows;
	size_t n = bytes / (l->row_bytes * l->rows + 4096);
	bool later = true;

	*r = (struct ring){ .readout = l, .wake = wake };
	pthread_mutex_init(&r->lock, NULL);
	if (chunk_ns && n > BUFS_NS / chunk_ns)
		n = BUFS_NS / chunk_ns;
	n = n < BUFS_MIN ? BUFS_MIN : n > BUFS_MAX ? BUFS_MAX : n;
	r->buf = memory_new(n, sizeof(*r->buf));
	r->reader = memory_checked(aligned_alloc(RING_LINE, l->n_readers * sizeof(*r->reader)));
	r->rows.readout = l;
	r->rows.group = memory_new(l->n_groups + SOURCE_TABLES, sizeof(*r->rows.group));
	r->rows.present = memory_new(l->n_groups, sizeof(bool));
	r->rows.missing = memory_new(l->n_groups, sizeof(bool));
	memset(r->reader, 0, l->n_readers * sizeof(*r->reader));
	for (; r->n_bufs < n; r->n_bufs++) {
		struct ring_buf *b = memory_checked(buf_new(l));

		atomic_init(&b->chunk, r->n_bufs);
		atomic_init(&r->buf[r->n_bufs], b);
	}
	while (r->warm < n && (r->warm < WARM_AHEAD || !later)) {
		const struct ring_buf *b = r->buf[r->warm++];

		later = warm(b);
		if (!later)
			memset(b->cells, 0, b->size);
	}
}

static void wake(struct ring *r)
{
	atomic_fetch_add(r->wake, 1);
	futex_wake_all(r->wake);
}

bool ring_begin(struct ring *r, const struct ring_epoch *e)
{
	uint32_t n = atomic_load_explicit(&r->epochs, memory_order_relaxed);

	if (n - atomic_load(&r->epochs_done) >= RING_EPOCHS)
		return false;
	pthread_mutex_lock(&r->lock);
	r->epoch[n % RING_EPOCHS] = *e;
	r->epoch[n % RING_EPOCHS].serial = n;
	r->until = UINT64_MAX;
	atomic_store(&r->epochs, n + 1);
	pthread_mutex_unlock(&r->lock);
	/* It may have gone to sleep without an end to wait for. */
	if (!e->tick_ns)
		wake(r);
	return true;
}

static bool all_left(const struct ring *r, uint64_t chunk)
{
	for (uint32_t i = 0; i < r->readout->n_readers; i++)
		if (atomic_load(&r->reader[i].left) <= chunk)
			return false;
	return true;
}

void ring_leave(struct ring *r, uint32_t i, uint64_t chunk)
{
	uint64_t before = atomic_load_explicit(&r->reader[i].left, memory_order_relaxed);

	atomic_store(&r->reader[i].left, chunk);
	/* Only the last one to leave wakes the writer: one wake-up per chunk, however many readers there are. */
	if (chunk > before && all_left(r, before))
		wake(r);
}

uint64_t ring_leave_all(struct ring *r, uint64_t chunk)
{
	pthread_mutex_lock(&r->lock);
	if (chunk < atomic_load(&r->closed))
		chunk = atomic_load(&r->closed);
	r->until = chunk;
	for (uint32_t i = 0; i < r->readout->n_readers; i++)
		atomic_store(&r->reader[i].left, chunk);
	pthread_mutex_unlock(&r->lock);
	wake(r);
	return chunk;
}

struct ring_buf *ring_enter(struct ring *r, uint32_t i, uint64_t chunk)
{
	struct ring_buf *b;

	atomic_store(&r->reader[i].in, chunk + 1);
	if (atomic_load(&r->closed) > chunk)
		return NULL;
	b = atomic_load(&r->buf[chunk % r->n_bufs]);
	return atomic_load(&b->chunk) == chunk ? b : NULL;
}

void ring_exit(struct ring *r, uint32_t i)
{
	atomic_store_explicit(&r->reader[i].in, 0, memory_order_release);
}

void ring_drop(struct ring *r, uint32_t i, uint64_t chunk, uint64_t n)
{
	_Atomic uint64_t *dropped = &r->reader[i].dropped;

	/* Those who come too late have missed it, but a buffer existed. */
	if (atomic_load(&r->closed) <= chunk)
		atomic_store_explicit(dropped, atomic_load_explicit(dropped, memory_order_relaxed) + n,
				      memory_order_relaxed);
}

/* The epoch of the next chunk: the last one that begins at or before it. NULL: none has begun. */
static const struct ring_epoch *next_epoch(struct ring *r)
{
	uint32_t n = atomic_load_explicit(&r->epochs_done, memory_order_relaxed), begun = atomic_load(&r->epochs);

	if (!begun)
		return NULL;
	while (n + 1 != begun && r->epoch[(n + 1) % RING_EPOCHS].first_chunk <= r->next)
		n++;
	atomic_store(&r->epochs_done, n);
	return &r->epoch[n % RING_EPOCHS];
}

/* A tick can be taken until the next one is due; what the kernel has sampled waits one more chunk. */
static uint64_t due(struct ring *r)
{
	const struct ring_epoch *e = next_epoch(r);
	const struct readout *l = r->readout;
	uint64_t first, last;

	if (!e || e->tick_ns || r->next >= r->until)
		return 0;
	first = e->first_number + (r->next - e->first_chunk) * l->rows;
	if (first > e->last_number)
		return 0;
	last = e->last_number - first < l->rows ? e->last_number : first + l->rows - 1;
	return e->start_ns + (last + 1 + (l->n_readers > l->n_reading ? l->rows : 0)) * l->interval_ns + LATE_NS;
}

uint64_t ring_due(struct ring *r)
{
	SCOPED(unlock) pthread_mutex_t *held = lock(&r->lock);

	return due(r);
}

static bool close_late(struct ring *r)
{
	SCOPED(unlock) pthread_mutex_t *held = lock(&r->lock);
	uint64_t ns = due(r);

	if (!ns || clocks_monotonic() < ns)
		return false;
	atomic_store(&r->closed, r->next + 1);
	return true;
}

static bool is_inside(const struct ring *r, uint32_t i, uint64_t chunk)
{
	return atomic_load(&r->reader[i].in) == chunk + 1;
}

static bool anybody_inside(const struct ring *r, uint64_t chunk)
{
	for (uint32_t i = 0; i < r->readout->n_readers; i++)
		if (is_inside(r, i, chunk))
			return true;
	return false;
}

static bool has_row(const uint64_t *bits, uint32_t row)
{
	return bits[row / 64] >> row % 64 & 1;
}

static void copy_column(struct pm_chunk_group *to, const struct pm_chunk_group *from, uint32_t column,
			const uint64_t *rows)
{
	for (uint32_t row = 0; row < from->stride && column != PM_NONE; row++)
		if (has_row(rows, row)) {
			to->v[column * from->stride + row] = from->v[column * from->stride + row];
			to->status[column * from->stride + row] = from->status[column * from->stride + row];
		}
}

/* Copies the rows that readers have finished, from a buffer that some are still using. */
static void copy_finished(const struct ring *r, struct ring_buf *to, struct ring_buf *b)
{
	const struct readout *l = r->readout;

	for (uint32_t i = 0; i < l->n_readers; i++)
		for (uint32_t w = 0; w < WORDS; w++)
			to->filled[i].rows[w] = __atomic_load_n(&b->filled[i].rows[w], __ATOMIC_ACQUIRE);
	for (uint32_t i = 0; i < l->n_slots; i++) {
		const struct slot *s = &l->slot[i];
		const uint64_t *rows = to->filled[s->reader].rows;
		struct pm_chunk_group *g = &to->group[s->group], *from = &b->group[s->group];

		to->slot_missing[i] = to->slot_read[i] = true;
		for (uint32_t k = 0; k < s->n; k++)
			copy_column(g, from, s->value + k * s->step, rows);
		copy_column(g, from, s->begin, rows);
		copy_column(g, from, s->end, rows);
		copy_column(g, from, s->enabled, rows);
		copy_column(g, from, s->running, rows);
	}
	if (!is_inside(r, 0, r->next)) {
		to->clocks = b->clocks;
		to->slept_row = b->slept_row;
		to->slept_ns = b->slept_ns;
		b->slept_ns = 0;
	}
}

/* In a free buffer all statuses are PM_OK: readers write only what is missing. */
static void clean_statuses(struct ring_buf *b, const struct readout *l)
{
	for (uint32_t i = 0; i < l->n_slots; i++) {
		const struct slot *s = &l->slot[i];
		struct pm_chunk_group *g = &b->group[s->group];

		for (uint32_t k = 0; k < s->n && b->slot_missing[i]; k++)
			memset(g->status + (s->value + (size_t)k * s->step) * g->stride, 0,
			       l->rows * sizeof(*g->status));
	}
}

static void clean(struct ring *r, struct ring_buf *b)
{
	const struct readout *l = r->readout;

	clean_statuses(b, l);
	memset(b->slot_missing, 0, l->n_slots * sizeof(bool));
	memset(b->slot_read, 0, l->n_slots * sizeof(bool));
	memset(b->filled, 0, l->n_readers * sizeof(*b->filled));
	b->clocks = (struct pm_clocks){ 0 };
	b->slept_row = PM_NONE;
	b->slept_ns = 0;
}

/* A buffer that all have left, or a new one; NULL without memory. */
static struct ring_buf *spare(struct ring *r)
{
	for (struct ring_buf **at = &r->held; *at; at = &(*at)->next) {
		struct ring_buf *b = *at;

		/* What it reports of a suspend goes to the next chunk first: see below. */
		if (anybody_inside(r, atomic_load(&b->chunk)) || b->slept_ns)
			continue;
		*at = b->next;
		clean(r, b);
		return b;
	}
	return buf_new(r->readout);
}

/* Moves what there is of the next chunk to another buffer, which replaces this one. */
static struct ring_buf *replace(struct ring *r, struct ring_buf *b)
{
	struct ring_buf *to = spare(r);

	if (!to)
		return NULL;
	copy_finished(r, to, b);
	atomic_store(&to->chunk, r->next);
	atomic_store(&r->buf[r->next % r->n_bufs], to);
	b->next = r->held;
	r->held = b;
	return to;
}

/* Moves what readers of a held buffer reported about a suspend to the next chunk. */
static void add_sleep(struct ring *r, struct ring_buf *to)
{
	for (struct ring_buf *b = r->held; b; b = b->next) {
		if (!b->slept_ns || anybody_inside(r, atomic_load(&b->chunk)))
			continue;
		to->slept_row = to->slept_row == PM_NONE ? 0 : to->slept_row;
		to->slept_ns += b->slept_ns;
		b->slept_ns = 0;
	}
}

/* ---- rows ---- */

static void find_rows(struct rows *r, uint64_t chunk, const struct ring_epoch *e, const uint64_t *exist)
{
	const struct readout *l = r->readout;

	r->n = 0;
	for (uint32_t row = 0; row < l->rows; row++) {
		uint32_t i = r->n;

		if (!has_row(exist, row))
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
			if (s->unit && has_row(filled, r->place[k]))
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

/* Analyzes a buffer of epoch `e`, and closes its gaps. */
static void collect_rows(struct rows *r, struct ring_buf *b, uint64_t chunk, const struct ring_epoch *e)
{
	const struct readout *l = r->readout;
	uint64_t exist[WORDS] = { 0 };

	for (uint32_t i = 0; i < l->n_readers; i++)
		for (uint32_t w = 0; w < WORDS; w++)
			exist[w] |= b->filled[i].rows[w];
	find_rows(r, chunk, e, exist);
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

struct ring_buf *ring_take(struct ring *r, const struct ring_epoch **e)
{
	struct ring_buf *b = r->buf[r->next % r->n_bufs];

	if (!all_left(r, r->next) && !close_late(r))
		return NULL;
	if (anybody_inside(r, r->next))
		b = replace(r, b);
	if (!b)
		return NULL;
	*e = next_epoch(r);
	add_sleep(r, b);
	collect_rows(&r->rows, b, r->next, *e);
	return b;
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

void ring_give_back(struct ring *r, struct ring_buf *b)
{
	clean(r, b);
	r->next++;
	if (r->warm < r->n_bufs && r->warm < r->next + WARM_AHEAD)
		warm(r->buf[r->warm++]);
	atomic_store_explicit(&b->chunk, r->next - 1 + r->n_bufs, memory_order_release);
}

uint64_t ring_dropped(const struct ring *r)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < r->readout->n_readers; i++) {
		uint64_t d = atomic_load_explicit(&r->reader[i].dropped, memory_order_relaxed);

		n = d > n ? d : n;
	}
	return n;
}
