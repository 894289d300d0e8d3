#include "record/sample/ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "record/sample/futex.h"

#define BUFS_MIN 4
#define BUFS_MAX 64

static void buf_free(struct ring_buf *b, uint32_t n_groups)
{
	for (uint32_t g = 0; g < n_groups && b->group; g++) {
		free(b->group[g].v);
		free(b->group[g].status);
	}
	free(b->group);
	free(b->slot_missing);
	free(b->slot_read);
	free(b->filled);
}

void ring_release(struct ring *r)
{
	for (uint32_t i = 0; i < r->n_bufs && r->buf; i++)
		buf_free(&r->buf[i], r->readout->n_groups);
	free(r->buf);
	free(r->reader);
	*r = (struct ring){ 0 };
}

static int buf_init_groups(struct ring_buf *b, const struct readout *l)
{
	for (uint32_t g = 0; g < l->n_groups; g++) {
		size_t n = (size_t)l->group[g].columns * l->rows;

		b->group[g] = (struct pm_chunk_group){ .group = l->group[g].id, .stride = l->rows };
		b->group[g].v = malloc(n * sizeof(uint64_t) + 1);
		b->group[g].status = malloc(n * sizeof(uint16_t) + 1);
		if (!b->group[g].v || !b->group[g].status)
			return -ENOMEM;
		/* Written, not only zero: a reader shall not meet a page fault. */
		memset(b->group[g].v, 0, n * sizeof(uint64_t));
		memset(b->group[g].status, 0, n * sizeof(uint16_t));
	}
	return 0;
}

static int buf_init(struct ring_buf *b, const struct readout *l)
{
	b->group = calloc(l->n_groups + 1, sizeof(*b->group));
	b->slot_missing = calloc(l->n_slots + 1, sizeof(bool));
	b->slot_read = calloc(l->n_slots + 1, sizeof(bool));
	b->filled = aligned_alloc(RING_LINE, l->n_readers * sizeof(*b->filled));
	if (!b->group || !b->slot_missing || !b->slot_read || !b->filled)
		return -ENOMEM;
	memset(b->filled, 0, l->n_readers * sizeof(*b->filled));
	b->slept_row = PM_NONE;
	return buf_init_groups(b, l);
}

int ring_init(struct ring *r, const struct readout *l, size_t bytes, _Atomic uint32_t *wake)
{
	size_t n = bytes / (l->row_bytes * l->rows + 4096);

	*r = (struct ring){ .readout = l, .wake = wake };
	n = n < BUFS_MIN ? BUFS_MIN : n > BUFS_MAX ? BUFS_MAX : n;
	r->buf = calloc(n, sizeof(*r->buf));
	r->reader = aligned_alloc(RING_LINE, l->n_readers * sizeof(*r->reader));
	if (!r->buf || !r->reader)
		goto fail;
	memset(r->reader, 0, l->n_readers * sizeof(*r->reader));
	for (; r->n_bufs < n; r->n_bufs++) {
		atomic_init(&r->buf[r->n_bufs].chunk, r->n_bufs);
		if (buf_init(&r->buf[r->n_bufs], l)) {
			r->n_bufs++;
			goto fail;
		}
	}
	return 0;
fail:
	ring_release(r);
	return -ENOMEM;
}

bool ring_begin(struct ring *r, const struct ring_epoch *e)
{
	uint32_t n = atomic_load_explicit(&r->epochs, memory_order_relaxed);

	if (n - atomic_load(&r->epochs_done) >= RING_EPOCHS)
		return false;
	r->epoch[n % RING_EPOCHS] = *e;
	r->epoch[n % RING_EPOCHS].serial = n;
	atomic_store(&r->epochs, n + 1);
	return true;
}

static void wake(struct ring *r)
{
	atomic_fetch_add(r->wake, 1);
	futex_wake_all(r->wake);
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
	/* Only the last one to leave wakes the writer: one wake-up a chunk, however many readers there are. */
	if (chunk > before && all_left(r, before))
		wake(r);
}

void ring_leave_all(struct ring *r, uint64_t chunk)
{
	for (uint32_t i = 0; i < r->readout->n_readers; i++)
		atomic_store(&r->reader[i].left, chunk);
	wake(r);
}

struct ring_buf *ring_take(struct ring *r, uint64_t *chunk, const struct ring_epoch **e)
{
	uint32_t n;

	if (!all_left(r, r->next))
		return NULL;
	*chunk = r->next;
	/* The epoch of a chunk is the last one that begins at or before it. */
	n = atomic_load_explicit(&r->epochs_done, memory_order_relaxed);
	while (n + 1 != atomic_load(&r->epochs) && r->epoch[(n + 1) % RING_EPOCHS].first_chunk <= r->next)
		n++;
	atomic_store(&r->epochs_done, n);
	*e = &r->epoch[n % RING_EPOCHS];
	return &r->buf[r->next % r->n_bufs];
}

/* Statuses are all PM_OK in a free buffer: readers write only what is missing. */
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

void ring_give_back(struct ring *r, struct ring_buf *b)
{
	const struct readout *l = r->readout;

	clean_statuses(b, l);
	memset(b->slot_missing, 0, l->n_slots * sizeof(bool));
	memset(b->slot_read, 0, l->n_slots * sizeof(bool));
	memset(b->filled, 0, l->n_readers * sizeof(*b->filled));
	b->clocks = (struct pm_clocks){ 0 };
	b->slept_row = PM_NONE;
	b->slept_ns = 0;
	atomic_store_explicit(&b->chunk, r->next + r->n_bufs, memory_order_release);
	r->next++;
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
