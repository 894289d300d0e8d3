#include "record/sample/recording_private.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "record/sample/futex.h"

/* REALTIME against BOOTTIME: readings a few us apart; a step is an act of somebody. */
#define STEP_MIN_NS 2000000

void recording_count(struct recording *r)
{
	struct pm_writer_stats stats = pm_writer_stats(r->writer);

	atomic_store(&r->bytes, r->bytes_before + stats.bytes);
	atomic_store(&r->snapshots, r->snapshots_before + stats.snapshots);
}

static void fail(struct recording *r, int err)
{
	uint64_t one = 1;

	pthread_mutex_lock(&r->lock);
	if (!r->failed) {
		const char *text = pm_writer_error(r->writer);

		r->failed = err;
		if (text && *text)
			error_set(&r->error, -err, "%s", text);
		else
			error_sys(&r->error, -err, "writing");
		if (write(r->fd, &one, sizeof(one)) < 0)
			r->fd = -1;
	}
	pthread_mutex_unlock(&r->lock);
}

static bool has_failed(struct recording *r)
{
	bool failed;

	pthread_mutex_lock(&r->lock);
	failed = r->failed != 0;
	pthread_mutex_unlock(&r->lock);
	return failed;
}

void recording_write_event(struct recording *r, struct pm_event *e)
{
	int err = 0;

	if (!has_failed(r)) {
		pthread_mutex_lock(&r->model_lock);
		err = pm_writer_event(r->writer, e);
		recording_count(r);
		pthread_mutex_unlock(&r->model_lock);
	}
	if (err)
		fail(r, err);
	pm_event_release(e);
}

static void set(struct pm_event *e, uint32_t key, struct pm_value v)
{
	/* Without memory an event says less; the recording goes on. */
	(void)pm_map_set(&e->attrs, key, v);
}

static void tell_lost(struct recording *r, uint64_t count, uint64_t since_ns, uint16_t reason)
{
	struct pm_event e = { .type = PM_EVENT_LOST, .time_ns = since_ns };

	set(&e, PM_EVENT_KEY_COUNT, pm_u64(count));
	set(&e, PM_EVENT_KEY_SINCE, pm_u64(since_ns));
	set(&e, PM_EVENT_KEY_REASON, pm_u64(reason));
	recording_write_event(r, &e);
	atomic_fetch_add(&r->lost, count);
}

/* Ticks without a row, before or between the rows of a chunk. */
static void find_lost(struct recording *r, const struct ring *ring, const struct ring_epoch *e)
{
	uint64_t interval = ring->readout->interval_ns;

	if (e->resumed && e->serial != r->serial)
		r->next_number = e->first_number;
	r->serial = e->serial;
	for (uint32_t i = 0; i < r->rows.n; i++) {
		uint64_t number = r->rows.number[i];

		if (number > r->next_number) {
			uint64_t lost = number - r->next_number, dropped = ring_dropped(ring) - r->dropped;

			tell_lost(r, lost, e->start_ns + r->next_number * interval,
				  dropped ? PM_REASON_DROPPED : PM_REASON_MISSED);
			/* What was dropped by now may be rows of chunks that are still to come. */
			r->dropped += dropped < lost ? dropped : lost;
			if (i == 0)
				pm_writer_break(r->writer);
		}
		if (number >= r->next_number)
			r->next_number = number + 1;
	}
}

bool recording_note(struct recording *r, struct buf *line)
{
	bool is_new;

	pthread_mutex_lock(&r->model_lock);
	is_new = !line->err && !strstr(buf_str(&r->dead), buf_str(line));
	if (is_new)
		buf_addstr(&r->dead, buf_str(line));
	pthread_mutex_unlock(&r->model_lock);
	return is_new;
}

/* Once a source and reason, however many units it had. */
static void note_dead(struct recording *r, const char *source, uint16_t reason)
{
	struct buf line = BUF_INIT;

	buf_printf(&line, "%s stopped delivering: %s\n", source, pm_reason_text(reason));
	recording_note(r, &line);
	buf_release(&line);
}

static void find_dead(struct recording *r, const struct readout *l)
{
	for (uint32_t i = 0; i < l->n_slots; i++) {
		struct slot *s = &l->slot[i];
		int err = s->told ? 0 : atomic_load_explicit(&s->dead, memory_order_relaxed);
		struct pm_event e = { .type = PM_EVENT_FAILED, .time_ns = clocks_monotonic() };
		const char *source;

		if (!err)
			continue;
		s->told = true;
		source = s->unit->source ? s->unit->source->ops->name : "pmrec";
		note_dead(r, source, pm_reason_errno(err));
		set(&e, PM_EVENT_KEY_SOURCE, pm_text(source));
		set(&e, PM_EVENT_KEY_REASON, pm_u64(pm_reason_errno(err)));
		if (s->unit->cpu != PM_NONE)
			set(&e, PM_EVENT_KEY_CPU, pm_u64(s->unit->cpu));
		recording_write_event(r, &e);
	}
}

static void find_step(struct recording *r, const struct pm_clocks *c)
{
	int64_t offset = (int64_t)(c->realtime - c->boottime), step = offset - r->wall_offset;
	struct pm_event e = { .type = PM_EVENT_CLOCK_STEP, .time_ns = c->monotonic };

	if (r->wall_known && (step > STEP_MIN_NS || step < -STEP_MIN_NS)) {
		set(&e, PM_EVENT_KEY_STEP, step < 0 ? pm_s64(step) : pm_u64((uint64_t)step));
		recording_write_event(r, &e);
	}
	if (!r->wall_known || step > STEP_MIN_NS || step < -STEP_MIN_NS)
		r->wall_offset = offset;
	r->wall_known = true;
}

static int write_stretch(struct recording *r, const struct ring_buf *b, const struct ring_epoch *e, uint32_t first,
			 uint32_t n, const struct pm_clocks *clocks)
{
	struct pm_chunk c = { .run = e->run, .segment = e->segment + r->slept, .clocks = *clocks };
	uint64_t before = pm_writer_stats(r->writer).bytes, bytes;
	int err;

	rows_chunk(&r->rows, b, first, n, &c);
	if (has_failed(r))
		return -EIO;
	pthread_mutex_lock(&r->model_lock);
	err = pm_writer_chunk(r->writer, &c);
	pthread_mutex_unlock(&r->model_lock);
	recording_count(r);
	bytes = pm_writer_stats(r->writer).bytes - before;
	r->chunk_bytes = bytes > r->chunk_bytes ? bytes : r->chunk_bytes;
	if (err)
		fail(r, err);
	return err;
}

static void write_rows(struct recording *r, const struct ring_buf *b, const struct ring_epoch *e, uint32_t first,
		       uint32_t n, const struct pm_clocks *clocks)
{
	bool rotates = r->config.rotation.open;

	while (n) {
		uint32_t now = rotates ? recording_rows_of_file(r, first, n) : n;

		if (write_stretch(r, b, e, first, now, clocks))
			return;
		if (rotates && recording_file_is_full(r, first + now - 1))
			recording_rotate(r, b, e, first + now - 1, clocks);
		first += now;
		n -= now;
	}
}

static void write_chunk(struct recording *r, struct ring *ring, struct ring_buf *b, uint64_t chunk,
			const struct ring_epoch *e)
{
	struct pm_clocks clocks = b->clocks;
	uint32_t split;

	rows_collect(&r->rows, ring, b, chunk, e);
	find_dead(r, ring->readout);
	if (!r->rows.n)
		return;
	if (!clocks.monotonic)
		r->config.clocks->read(r->config.clocks->ctx, &clocks);
	find_lost(r, ring, e);
	find_step(r, &clocks);
	split = rows_split(&r->rows, b->slept_row);
	if (b->slept_row == PM_NONE) {
		write_rows(r, b, e, 0, r->rows.n, &clocks);
	} else {
		struct pm_event slept = { .type = PM_EVENT_SUSPEND, .time_ns = r->rows.tick[split] };

		if (split)
			write_rows(r, b, e, 0, split, &clocks);
		set(&slept, PM_EVENT_KEY_STEP, pm_u64((uint64_t)b->slept_ns));
		recording_write_event(r, &slept);
		r->slept++;
		r->rows.flags[split] |= PM_SNAPSHOT_FIRST;
		write_rows(r, b, e, split, r->rows.n - split, &clocks);
	}
}

/* Events whose chunks are written. */
static void write_events(struct recording *r, const struct ring *ring)
{
	for (;;) {
		struct message *m;

		pthread_mutex_lock(&r->lock);
		m = r->first;
		if (m && (!ring || m->after <= ring->next)) {
			r->first = m->next;
			if (!r->first)
				r->last = &r->first;
		} else {
			m = NULL;
		}
		pthread_mutex_unlock(&r->lock);
		if (!m)
			return;
		recording_write_event(r, &m->event);
		free(m);
	}
}

static void write_all(struct recording *r, struct ring *ring)
{
	const struct ring_epoch *e;
	struct ring_buf *b;
	uint64_t chunk;

	write_events(r, ring);
	while (ring && (b = ring_take(ring, &chunk, &e))) {
		write_chunk(r, ring, b, chunk, e);
		ring_give_back(ring, b);
		write_events(r, ring);
	}
}

static void *writer_main(void *arg)
{
	struct recording *r = arg;
	bool quit = false;

	prctl(PR_SET_NAME, "pmrec/write");
	if (r->config.thread_starts)
		r->config.thread_starts();
	while (!quit) {
		uint32_t seen = atomic_load(&r->wake);
		struct ring *ring;

		pthread_mutex_lock(&r->lock);
		ring = r->ring;
		quit = r->quit;
		pthread_mutex_unlock(&r->lock);
		write_all(r, ring);
		pthread_mutex_lock(&r->lock);
		r->done = seen;
		pthread_cond_broadcast(&r->progress);
		pthread_mutex_unlock(&r->lock);
		if (!quit)
			futex_wait_until(&r->wake, seen, 0);
	}
	return NULL;
}

int recording_new(struct recording **out, const struct recording_config *config, struct error *e)
{
	struct recording *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return error_sys(e, ENOMEM, "recording");
	r->config = *config;
	if (!r->config.clocks)
		r->config.clocks = &clocks_machine;
	r->last = &r->first;
	r->serial = UINT32_MAX;
	pthread_mutex_init(&r->lock, NULL);
	pthread_mutex_init(&r->model_lock, NULL);
	pthread_cond_init(&r->progress, NULL);
	r->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = r->fd < 0 ? error_sys(e, errno, "eventfd") : pm_writer_new(&r->writer, &r->config.writer, e);
	if (!err) {
		err = pm_writer_define(r->writer);
		if (err)
			error_set(e, -err, "%s", pm_writer_error(r->writer));
	}
	if (!err) {
		recording_count(r);
		err = -pthread_create(&r->thread, NULL, writer_main, r);
		if (err)
			error_sys(e, -err, "writer thread");
	}
	if (err) {
		recording_free(r);
		return err;
	}
	r->running = true;
	*out = r;
	return 0;
}

static void poke(struct recording *r)
{
	atomic_fetch_add(&r->wake, 1);
	futex_wake_all(&r->wake);
}

static void stop_thread(struct recording *r)
{
	if (!r->running)
		return;
	recording_drain(r);
	pthread_mutex_lock(&r->lock);
	r->quit = true;
	pthread_mutex_unlock(&r->lock);
	poke(r);
	pthread_join(r->thread, NULL);
	r->running = false;
}

void recording_free(struct recording *r)
{
	if (!r)
		return;
	stop_thread(r);
	while (r->first) {
		struct message *m = r->first;

		r->first = m->next;
		pm_event_release(&m->event);
		free(m);
	}
	rows_release(&r->rows);
	buf_release(&r->dead);
	pm_writer_free(r->writer);
	if (r->fd >= 0)
		close(r->fd);
	pthread_cond_destroy(&r->progress);
	pthread_mutex_destroy(&r->lock);
	pthread_mutex_destroy(&r->model_lock);
	free(r);
}

_Atomic uint32_t *recording_wake(struct recording *r)
{
	return &r->wake;
}

void recording_drain(struct recording *r)
{
	uint32_t want;

	if (!r->running)
		return;
	want = atomic_fetch_add(&r->wake, 1) + 1;
	futex_wake_all(&r->wake);
	pthread_mutex_lock(&r->lock);
	while ((int32_t)(r->done - want) < 0)
		pthread_cond_wait(&r->progress, &r->lock);
	pthread_mutex_unlock(&r->lock);
}

int recording_attach(struct recording *r, struct ring *ring)
{
	int err = 0;

	recording_drain(r);
	pthread_mutex_lock(&r->lock);
	r->ring = NULL;
	pthread_mutex_unlock(&r->lock);
	/* The thread may still hold the old pointer from before: after one more round it does not. */
	recording_drain(r);
	r->dropped = 0;
	r->serial = UINT32_MAX;
	if (ring)
		err = rows_init(&r->rows, ring->readout);
	pthread_mutex_lock(&r->lock);
	r->ring = err ? NULL : ring;
	pthread_mutex_unlock(&r->lock);
	return err;
}

int recording_event(struct recording *r, struct pm_event *e, uint64_t after)
{
	struct message *m = calloc(1, sizeof(*m));

	if (!m) {
		pm_event_release(e);
		return -ENOMEM;
	}
	m->event = *e;
	m->after = after;
	*e = (struct pm_event){ 0 };
	pthread_mutex_lock(&r->lock);
	*r->last = m;
	r->last = &m->next;
	pthread_mutex_unlock(&r->lock);
	poke(r);
	return 0;
}

void recording_lock(struct recording *r)
{
	pthread_mutex_lock(&r->model_lock);
}

void recording_unlock(struct recording *r)
{
	pthread_mutex_unlock(&r->model_lock);
}

int recording_fd(const struct recording *r)
{
	return r->fd;
}

int recording_error(struct recording *r, struct error *e)
{
	int err;

	pthread_mutex_lock(&r->lock);
	err = r->failed;
	if (err)
		*e = r->error;
	pthread_mutex_unlock(&r->lock);
	return err;
}

struct recording_stats recording_stats(const struct recording *r)
{
	return (struct recording_stats){ .snapshots = atomic_load(&r->snapshots),
					 .lost = atomic_load(&r->lost),
					 .bytes = atomic_load(&r->bytes) };
}

const char *recording_dead(struct recording *r)
{
	return buf_str(&r->dead);
}

int recording_finish(struct recording *r, struct error *e)
{
	int err;

	stop_thread(r);
	err = recording_error(r, e);
	if (err)
		return err;
	err = pm_writer_finish(r->writer);
	recording_count(r);
	return err ? error_set(e, -err, "%s", pm_writer_error(r->writer)) : 0;
}
