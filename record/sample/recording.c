#include "record/sample/recording.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "common/memory.h"
#include "common/random.h"
#include "record/host/process.h"

struct message {
	struct message *next;
	struct pm_event event;
	uint64_t after;
};

struct recording {
	struct recording_config config;
	struct pm_writer *writer;
	struct outlet *outlet;
	struct outlet_target target[2]; /* of this file, and of the previous or next one */
	unsigned now;
	pthread_t thread;
	bool running;
	int fd;
	_Atomic uint32_t wake;

	pthread_mutex_t lock; /* guards the queue, `done`, `quit`, `ring`, `error` */
	pthread_cond_t progress;
	struct message *first, **last;
	uint32_t n_messages, refused; /* events that wait, and that were refused because too many did */
	uint32_t done;                /* value of `wake` up to which everything is written */
	bool quit;
	struct ring *ring;
	struct error error;
	int failed;
	_Atomic int no_room; /* -errno of the last try */
	struct buf dead;     /* a line a source that stopped delivering; guarded by model_lock */

	pthread_mutex_t model_lock;

	/* The writer thread's own. */
	struct rows *rows;    /* of the chunk in hand */
	uint64_t next_number; /* tick that should come next */
	uint32_t serial;      /* of the epoch of the last rows */
	uint64_t dropped;     /* of ring_dropped(), as last reported */
	uint32_t slept;       /* suspends so far: each begins a segment */
	int64_t wall_offset;  /* REALTIME - BOOTTIME */
	bool wall_known;

	/* Of the files before, and of the one that is being written. */
	uint64_t snapshots_before, bytes_before;
	uint64_t chunk_bytes;   /* of the largest chunk of this file */
	uint64_t file_until_ns; /* the first snapshot then or later is the file's last; 0: not yet known */
	uint64_t again_ns;      /* no other file is begun before this time */

	_Atomic uint64_t snapshots, lost, bytes;
	_Atomic bool trying; /* a failure of the sink concerns a file that is dispensable */
};

/* Events are small and rare. */
#define EVENT_ROOM   4096
#define MESSAGES_MAX 4096

/* Updates the counts that others may read. */
static void recording_count(struct recording *r)
{
	struct pm_writer_stats stats = pm_writer_stats(r->writer);

	atomic_store(&r->bytes, r->bytes_before + stats.bytes);
	atomic_store(&r->snapshots, r->snapshots_before + stats.snapshots);
}

static void note_failure(struct recording *r, int err, const char *text)
{
	SCOPED(unlock) pthread_mutex_t *held = lock(&r->lock);
	uint64_t one = 1;

	if (r->failed)
		return;
	r->failed = err;
	if (*text)
		error_set(&r->error, -err, "%s", text);
	else
		error_sys(&r->error, -err, "write");
	if (write(r->fd, &one, sizeof(one)) < 0)
		r->fd = -1;
}

static void fail(struct recording *r, int err)
{
	note_failure(r, err, pm_writer_error(r->writer));
}

/* The sink failed; called on any thread. The failure of a file other than this one concerns recording_rotate(). */
static void sink_failed(void *ctx, int err)
{
	struct recording *r = ctx;

	if (!atomic_load(&r->trying))
		note_failure(r, err, "");
}

/* The sink is out of space, or has some again, while recording continues. A file other than this one concerns
 * recording_rotate(). */
static bool sink_stalled(void *ctx, int err)
{
	struct recording *r = ctx;
	uint64_t one = 1;

	if (!r->config.waits_for_room || atomic_load(&r->trying) ||
	    (err != -ENOSPC && err != -EDQUOT && err != -EFBIG && err != -EIO))
		return false;
	atomic_store(&r->no_room, err);
	if (write(r->fd, &one, sizeof(one)) < 0)
		return true; /* the counter is full, so it is readable */
	return true;
}

int recording_no_room(struct recording *r)
{
	int err = atomic_exchange(&r->no_room, 0);
	uint64_t n;

	/* A failure keeps it readable. */
	if (err && read(r->fd, &n, sizeof(n)) < 0)
		return err;
	return err;
}

static bool has_failed(struct recording *r)
{
	SCOPED(unlock) pthread_mutex_t *held = lock(&r->lock);

	return r->failed != 0;
}

/* Takes the attributes. */
static void write_event(struct recording *r, struct pm_event *e)
{
	int err = 0;

	if (!has_failed(r) && outlet_await_room(r->outlet, EVENT_ROOM)) {
		pthread_mutex_lock(&r->model_lock);
		err = pm_writer_event(r->writer, e);
		recording_count(r);
		pthread_mutex_unlock(&r->model_lock);
	}
	if (err)
		fail(r, err);
	pm_event_release(e);
}

/* ---- what the writer thread notices: missing ticks, dead units, a clock that was set ---- */

/* REALTIME against BOOTTIME: readings are a few us apart; a step is someone's doing. */
#define STEP_MIN_NS 2000000

static void set(struct pm_event *e, uint32_t key, struct pm_value v)
{
	/* Without memory an event says less; recording continues. */
	(void)pm_map_set(&e->attrs, key, v);
}

static void tell_lost(struct recording *r, uint64_t count, uint64_t since_ns, uint16_t reason)
{
	struct pm_event e = { .type = PM_EVENT_LOST, .time_ns = since_ns };

	set(&e, PM_EVENT_KEY_COUNT, pm_u64(count));
	set(&e, PM_EVENT_KEY_SINCE, pm_u64(since_ns));
	set(&e, PM_EVENT_KEY_REASON, pm_u64(reason));
	write_event(r, &e);
	atomic_fetch_add(&r->lost, count);
}

/* Ticks without a row, before or between the rows of a chunk. */
static void find_lost(struct recording *r, const struct ring *ring, const struct ring_epoch *e)
{
	uint64_t interval = ring->readout->interval_ns;

	if (e->resumed && e->serial != r->serial)
		r->next_number = e->first_number;
	r->serial = e->serial;
	for (uint32_t i = 0; i < r->rows->n; i++) {
		uint64_t number = r->rows->number[i];

		if (number > r->next_number) {
			uint64_t lost = number - r->next_number, dropped = ring_dropped(ring) - r->dropped;

			tell_lost(r, lost, e->start_ns + r->next_number * interval,
				  dropped ? PM_REASON_DROPPED : PM_REASON_MISSED);
			/* What has been dropped by now may include rows of chunks that are still to come. */
			r->dropped += dropped < lost ? dropped : lost;
			if (i == 0)
				pm_writer_break(r->writer);
		}
		if (number >= r->next_number)
			r->next_number = number + 1;
	}
}

/* Adds a line for the end unless it is there; whether it is new. */
static bool recording_note(struct recording *r, struct buf *line)
{
	SCOPED(unlock) pthread_mutex_t *held = lock(&r->model_lock);
	bool is_new = !line->err && !strstr(buf_str(&r->dead), buf_str(line));

	if (is_new)
		buf_addstr(&r->dead, buf_str(line));
	return is_new;
}

/* Once per source and reason, however many units it had. */
static void note_dead(struct recording *r, const char *source, uint16_t reason)
{
	SCOPED(buf_release) struct buf line = BUF_INIT;

	buf_printf(&line, "%s stopped delivering: %s\n", source, pm_reason_text(reason));
	recording_note(r, &line);
}

/* Units that have died since the last look. */
static void find_dead(struct recording *r, const struct readout *l)
{
	for (uint32_t i = 0; i < l->n_slots; i++) {
		struct slot *s = &l->slot[i];
		int err = s->told ? 0 : atomic_load_explicit(&s->dead, memory_order_relaxed);
		struct pm_event e = { .type = PM_EVENT_FAILED, .time_ns = clocks_monotonic() };

		if (!err)
			continue;
		s->told = true;
		note_dead(r, s->source, pm_reason_errno(err));
		set(&e, PM_EVENT_KEY_SOURCE, pm_text(s->source));
		set(&e, PM_EVENT_KEY_REASON, pm_u64(pm_reason_errno(err)));
		if (s->cpu != PM_NONE)
			set(&e, PM_EVENT_KEY_CPU, pm_u64(s->cpu));
		write_event(r, &e);
	}
}

/* Whether the wall clock was set. */
static void find_step(struct recording *r, const struct pm_clocks *c)
{
	int64_t offset = (int64_t)(c->realtime - c->boottime), step = offset - r->wall_offset;
	struct pm_event e = { .type = PM_EVENT_CLOCK_STEP, .time_ns = c->monotonic };

	if (r->wall_known && (step > STEP_MIN_NS || step < -STEP_MIN_NS)) {
		set(&e, PM_EVENT_KEY_STEP, step < 0 ? pm_s64(step) : pm_u64((uint64_t)step));
		write_event(r, &e);
	}
	if (!r->wall_known || step > STEP_MIN_NS || step < -STEP_MIN_NS)
		r->wall_offset = offset;
	r->wall_known = true;
}

/* ---- chunks and files ---- */

/* Writes the chunk and what sources add to it; with the model locked. 0 or -errno. */
static int recording_write_chunk(struct recording *r, struct pm_writer *w, struct pm_chunk *c)
{
	int err = r->config.tables ? r->config.tables(r->config.tables_ctx, c) : 0;

	return err ? err : pm_writer_chunk(w, c);
}

static int write_stretch(struct recording *r, const struct ring_buf *b, const struct ring_epoch *e, uint32_t first,
			 uint32_t n, const struct pm_clocks *clocks)
{
	struct pm_chunk c = { .run = e->run, .segment = e->segment + r->slept, .clocks = *clocks };
	uint64_t before = pm_writer_stats(r->writer).bytes, bytes;
	int err;

	rows_chunk(r->rows, b, first, n, &c);
	/* Before locking the model, which others need meanwhile. */
	if (has_failed(r) || !outlet_await_room(r->outlet, r->chunk_bytes)) {
		atomic_fetch_add(&r->lost, n);
		return -ETIMEDOUT;
	}
	pthread_mutex_lock(&r->model_lock);
	err = recording_write_chunk(r, r->writer, &c);
	pthread_mutex_unlock(&r->model_lock);
	recording_count(r);
	bytes = pm_writer_stats(r->writer).bytes - before;
	r->chunk_bytes = bytes > r->chunk_bytes ? bytes : r->chunk_bytes;
	if (err)
		fail(r, err);
	return err;
}

/* How many of these rows go into this file: up to the first one that exceeds its time. */
static uint32_t recording_rows_of_file(struct recording *r, uint32_t first, uint32_t n)
{
	uint64_t period_ns = r->config.rotation->options->output.rotate_ns;
	uint32_t i = 0;

	if (!period_ns)
		return n;
	if (!r->file_until_ns)
		r->file_until_ns = r->rows->tick[first] + period_ns;
	while (i < n && (r->rows->tick[first + i] < r->file_until_ns || r->rows->tick[first + i] < r->again_ns))
		i++;
	return i < n ? i + 1 : n;
}

/* An entry in the index and end frame of a file takes less than this. */
#define INDEX_ENTRY 24

/* Whether the file ends with that row, which is written. The last one of a segment is never
 * repeated. */
static bool recording_file_is_full(const struct recording *r, uint32_t row)
{
	const struct output_options *o = &r->config.rotation->options->output;
	struct pm_writer_stats stats = pm_writer_stats(r->writer);
	uint64_t tick = r->rows->tick[row];

	if (r->rows->flags[row] & PM_SNAPSHOT_LAST || tick < r->again_ns)
		return false;
	if (o->rotate_ns && tick >= r->file_until_ns)
		return true;
	/* One more might be too many, as may a copy of the definitions, which the end has, too; but a file must have
	 * one after the snapshot that it begins with. */
	return o->rotate_bytes && stats.snapshots > 1 &&
	       stats.bytes + r->chunk_bytes + 2 * stats.copy_bytes + INDEX_ENTRY * (stats.frames + 8) >
		       o->rotate_bytes;
}

/* When to try again after a file could not be started. */
#define ROTATE_AGAIN_NS 1000000000

static void tell_no_file(struct recording *r, uint64_t tick, const struct error *e)
{
	struct pm_event note = { .type = PM_EVENT_NOTE, .time_ns = tick };
	SCOPED(buf_release) struct buf line = BUF_INIT;

	buf_printf(&line, "could not start another file, and continued with the previous one: %s\n", e->text);
	/* Where in a user's directories the recording lies is not recorded. */
	if (recording_note(r, &line)) {
		(void)pm_map_set(&note.attrs, PM_EVENT_KEY_NOTE,
				 pm_remark(PM_REMARK_NO_OTHER_FILE, (unsigned)e->number));
		write_event(r, &note);
	}
}

/* Ends the previous file. All its snapshots are in it, whatever happens to that end. */
static void replace_writer(struct recording *r, struct pm_writer *next)
{
	struct pm_writer_stats before;

	pm_writer_finish(r->writer);
	/* Without memory the kernel does it in its own time. */
	(void)outlet_put(&r->target[r->now], NULL, 0);
	before = pm_writer_stats(r->writer);
	r->bytes_before += before.bytes;
	/* The snapshot that the files share. */
	r->snapshots_before += before.snapshots - 1;
	pm_writer_free(r->writer);
	r->writer = next;
	r->now = !r->now;
}

/* The writer of a file: the model's definitions, to that target. 0 or -errno. */
static int recording_writer(struct recording *r, unsigned target, void *sink_ctx, struct pm_writer **w,
			    struct error *e)
{
	struct pm_writer_config config = r->config.writer;
	struct outlet_target *t = &r->target[target];
	int err;

	*t = (struct outlet_target){ r->outlet, sink_ctx };
	/* Two files share a snapshot. */
	if (r->writer)
		t->before = r->snapshots_before + pm_writer_stats(r->writer).snapshots - 1;
	config.sink = outlet_put;
	config.sink_ctx = t;
	err = pm_writer_new(w, &config, e);
	if (err)
		return err;
	t->writer = *w;
	err = pm_writer_define(*w);
	return err ? error_set(e, -err, "%s", pm_writer_error(*w)) : 0;
}

/* Writes the beginning of the next file, until it is certain that it can be written. */
static int begin_file(struct recording *r, void *sink_ctx, struct pm_chunk *c, const uint8_t *new_id,
		      struct pm_writer **next, struct error *e)
{
	uint8_t *id = r->config.writer.model->recording_id, old_id[sizeof(r->config.writer.model->recording_id)];
	int err;

	/* From here on a failure concerns the next file. */
	if (!outlet_await_empty(r->outlet))
		return error_sys(e, ETIMEDOUT, "write");
	atomic_store(&r->trying, true);
	pthread_mutex_lock(&r->model_lock);
	memcpy(old_id, id, sizeof(old_id));
	memcpy(id, new_id, sizeof(old_id));
	err = recording_writer(r, !r->now, sink_ctx, next, e);
	if (!err && (err = recording_write_chunk(r, *next, c)))
		error_set(e, -err, "%s", pm_writer_error(*next));
	memcpy(id, old_id, sizeof(old_id));
	pthread_mutex_unlock(&r->model_lock);
	if (!outlet_await_empty(r->outlet) && !err)
		err = error_sys(e, ETIMEDOUT, "write");
	if (!err && (err = outlet_forgive(r->outlet)))
		error_sys(e, -err, "write");
	atomic_store(&r->trying, false);
	return err;
}

/* The next file begins with the snapshot that this one ended with, so that joined they lack nothing. It is begun
 * before this one ends: a failure leaves things as they were. */
static void recording_rotate(struct recording *r, const struct ring_buf *b, const struct ring_epoch *e, uint32_t row,
			     const struct pm_clocks *clocks)
{
	struct pm_chunk c = { .run = e->run, .segment = e->segment + r->slept, .clocks = *clocks };
	struct rotation *rotation = r->config.rotation;
	uint8_t *id = r->config.writer.model->recording_id, new_id[sizeof(r->config.writer.model->recording_id)];
	uint64_t tick = r->rows->tick[row], period_ns = rotation->options->output.rotate_ns;
	struct pm_writer *next = NULL;
	struct error error = { 0 };
	struct output *output;
	int err = random_bytes(new_id, sizeof(new_id));

	err = err ? error_sys(&error, -err, "random number") : rotation_open_next(rotation, &output, &error);

	r->again_ns = tick + ROTATE_AGAIN_NS;
	if (err) {
		tell_no_file(r, tick, &error);
		return;
	}
	rows_chunk(r->rows, b, row, 1, &c);
	err = begin_file(r, output, &c, new_id, &next, &error);
	if (err) {
		pm_writer_free(next);
	} else {
		pthread_mutex_lock(&r->model_lock);
		replace_writer(r, next);
		memcpy(id, new_id, sizeof(new_id));
		pthread_mutex_unlock(&r->model_lock);
		outlet_await_empty(r->outlet);
	}
	rotation_settle(rotation, !err);
	if (err == -ENOSPC && rotation_make_room(rotation)) {
		r->again_ns = 0;
		return;
	}
	if (err) {
		tell_no_file(r, tick, &error);
		return;
	}
	recording_count(r);
	r->again_ns = 0;
	r->chunk_bytes = 0;
	while (period_ns && r->file_until_ns <= tick)
		r->file_until_ns += period_ns;
}

static void write_rows(struct recording *r, const struct ring_buf *b, const struct ring_epoch *e, uint32_t first,
		       uint32_t n, const struct pm_clocks *clocks)
{
	bool rotates = r->config.rotation;

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

static void write_chunk(struct recording *r, struct ring *ring, const struct ring_buf *b, const struct ring_epoch *e)
{
	struct pm_clocks clocks = b->clocks;
	uint32_t split;

	r->rows = &ring->rows;
	if (!r->rows->n)
		return;
	if (!clocks.monotonic)
		r->config.clocks->read(r->config.clocks->ctx, &clocks);
	find_lost(r, ring, e);
	find_step(r, &clocks);
	split = rows_split(r->rows, b->slept_row);
	if (b->slept_row == PM_NONE) {
		write_rows(r, b, e, 0, r->rows->n, &clocks);
	} else {
		struct pm_event slept = { .type = PM_EVENT_SUSPEND, .time_ns = r->rows->tick[split] };

		if (split)
			write_rows(r, b, e, 0, split, &clocks);
		(void)pm_map_set(&slept.attrs, PM_EVENT_KEY_STEP, pm_u64((uint64_t)b->slept_ns));
		write_event(r, &slept);
		r->slept++;
		r->rows->flags[split] |= PM_SNAPSHOT_FIRST;
		write_rows(r, b, e, split, r->rows->n - split, &clocks);
	}
}

static void tell_refused(struct recording *r, uint32_t n)
{
	struct pm_event e = { .type = PM_EVENT_NOTE, .time_ns = clocks_monotonic() };

	(void)pm_map_set(&e.attrs, PM_EVENT_KEY_COUNT, pm_u64(n));
	(void)pm_map_set(&e.attrs, PM_EVENT_KEY_NOTE, pm_remark(PM_REMARK_OUTPUT_BLOCKED));
	write_event(r, &e);
}

/* Writes the events whose chunks are written. */
static void write_events(struct recording *r, const struct ring *ring)
{
	for (;;) {
		struct message *m;
		uint32_t refused = 0;

		pthread_mutex_lock(&r->lock);
		m = r->first;
		if (m && (!ring || m->after <= ring->next)) {
			r->first = m->next;
			if (!r->first)
				r->last = &r->first;
			r->n_messages--;
		} else {
			m = NULL;
		}
		if (!r->first) {
			refused = r->refused;
			r->refused = 0;
		}
		pthread_mutex_unlock(&r->lock);
		if (!m)
			return;
		write_event(r, &m->event);
		free(m);
		if (refused)
			tell_refused(r, refused);
	}
}

/* Together, so that many are cheap; and immediately, so that none is lost with the recorder. */
static void flush_events(struct recording *r)
{
	int err = 0;

	if (!has_failed(r)) {
		pthread_mutex_lock(&r->model_lock);
		err = pm_writer_flush(r->writer);
		recording_count(r);
		pthread_mutex_unlock(&r->model_lock);
	}
	if (err)
		fail(r, err);
}

static void write_all(struct recording *r, struct ring *ring)
{
	const struct ring_epoch *e;
	struct ring_buf *b;

	write_events(r, ring);
	while (ring && (b = ring_take(ring, &e))) {
		write_chunk(r, ring, b, e);
		ring_give_back(ring, b);
		write_events(r, ring);
	}
	if (ring)
		find_dead(r, ring->readout);
	flush_events(r);
}

static void *writer_main(void *arg)
{
	struct recording *r = arg;
	bool quit = false;

	prctl(PR_SET_NAME, "pmrec/write");
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
			futex_wait_until(&r->wake, seen, ring ? ring_due(ring) : 0);
	}
	return NULL;
}

int recording_new(struct recording **out, const struct recording_config *config, struct error *e)
{
	struct recording *r = memory_new(1, sizeof(*r));
	struct outlet_config outlet = { .bytes = config->buffer,
					.sink = config->writer.sink,
					.stalled = sink_stalled,
					.failed = sink_failed,
					.ctx = r };
	int err;

	r->config = *config;
	if (!r->config.clocks)
		r->config.clocks = &clocks_machine;
	r->last = &r->first;
	r->serial = UINT32_MAX;
	pthread_mutex_init(&r->lock, NULL);
	pthread_mutex_init(&r->model_lock, NULL);
	pthread_cond_init(&r->progress, NULL);
	r->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = r->fd < 0 ? error_sys(e, errno, "eventfd") : outlet_new(&r->outlet, &outlet, e);
	if (!err)
		err = recording_writer(r, r->now, config->writer.sink_ctx, &r->writer, e);
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
	bool given_up;

	if (!r)
		return;
	stop_thread(r);
	while (r->first) {
		struct message *m = r->first;

		r->first = m->next;
		pm_event_release(&m->event);
		free(m);
	}
	buf_release(&r->dead);
	given_up = r->outlet && outlet_state(r->outlet).given_up;
	outlet_free(r->outlet);
	pm_writer_free(r->writer);
	/* Writing may resume. */
	if (given_up)
		return;
	fd_close(&r->fd);
	pthread_cond_destroy(&r->progress);
	pthread_mutex_destroy(&r->lock);
	pthread_mutex_destroy(&r->model_lock);
	free(r);
}

_Atomic uint32_t *recording_wake(struct recording *r)
{
	return &r->wake;
}

/* Encodes until that time (UINT64_MAX: without limit). Returns whether all is encoded. */
static bool drain(struct recording *r, uint64_t until_ns)
{
	uint32_t want;
	bool done;

	if (!r->running)
		return true;
	want = atomic_fetch_add(&r->wake, 1) + 1;
	futex_wake_all(&r->wake);
	pthread_mutex_lock(&r->lock);
	while (!(done = (int32_t)(r->done - want) >= 0) && clocks_monotonic() < until_ns) {
		struct timespec t = clocks_timespec(clocks_ns(CLOCK_REALTIME) + 100000000);

		/* A signal that ends the program also ends the wait for the sink. */
		if (interrupted())
			outlet_hurry(r->outlet);
		pthread_cond_timedwait(&r->progress, &r->lock, &t);
	}
	pthread_mutex_unlock(&r->lock);
	return done;
}

void recording_drain(struct recording *r)
{
	drain(r, UINT64_MAX);
}

bool recording_flush(struct recording *r)
{
	const struct timespec moment = { .tv_nsec = 1000000 };
	uint64_t until = clocks_monotonic() + RECORDING_FLUSH_NS;
	bool done = drain(r, until);

	while (done && outlet_state(r->outlet).bytes && (done = clocks_monotonic() < until))
		nanosleep(&moment, NULL);
	return done;
}

void recording_hurry(struct recording *r)
{
	outlet_hurry(r->outlet);
}

void recording_attach(struct recording *r, struct ring *ring)
{
	recording_drain(r);
	pthread_mutex_lock(&r->lock);
	r->ring = NULL;
	pthread_mutex_unlock(&r->lock);
	/* The thread may still hold the old pointer: after one more round it does not. */
	recording_drain(r);
	r->dropped = 0;
	r->serial = UINT32_MAX;
	pthread_mutex_lock(&r->lock);
	r->ring = ring;
	pthread_mutex_unlock(&r->lock);
}

int recording_event(struct recording *r, struct pm_event *e, uint64_t after)
{
	struct message *m = calloc(1, sizeof(*m));
	bool full;

	if (!m) {
		pm_event_release(e);
		return -ENOMEM;
	}
	m->event = *e;
	m->after = after;
	*e = (struct pm_event){ 0 };
	pthread_mutex_lock(&r->lock);
	full = r->n_messages >= MESSAGES_MAX;
	if (full) {
		r->refused++;
	} else {
		*r->last = m;
		r->last = &m->next;
		r->n_messages++;
	}
	pthread_mutex_unlock(&r->lock);
	if (full) {
		pm_event_release(&m->event);
		free(m);
		return -ENOBUFS;
	}
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
	SCOPED(unlock) pthread_mutex_t *held = lock(&r->lock);

	if (r->failed)
		*e = r->error;
	return r->failed;
}

struct recording_stats recording_stats(const struct recording *r)
{
	return (struct recording_stats){ .snapshots = atomic_load(&r->snapshots),
					 .lost = atomic_load(&r->lost),
					 .bytes = atomic_load(&r->bytes) };
}

struct outlet_state recording_outlet(struct recording *r)
{
	return outlet_state(r->outlet);
}

const char *recording_dead(struct recording *r)
{
	return buf_str(&r->dead);
}

/* Adds to the error what the file lacks. */
static int tell_missing(struct recording *r, struct error *e)
{
	struct error why = *e;
	uint64_t handed = r->snapshots_before + pm_writer_stats(r->writer).snapshots;

	return error_set(e, why.number, "%s, so the recording is cut: %llu snapshots are missing", why.text,
			 (unsigned long long)(handed - outlet_state(r->outlet).snapshots + atomic_load(&r->lost)));
}

int recording_finish(struct recording *r, struct error *e)
{
	int err;

	stop_thread(r);
	if (recording_error(r, e))
		return tell_missing(r, e);
	err = pm_writer_finish(r->writer);
	recording_count(r);
	if (err)
		return error_set(e, -err, "%s", pm_writer_error(r->writer));
	if (outlet_put(&r->target[r->now], NULL, 0))
		return error_sys(e, ENOMEM, "buffers");
	if (!outlet_await_empty(r->outlet))
		error_set(e, ETIMEDOUT, "the output is blocked");
	else if (!recording_error(r, e))
		return 0;
	return tell_missing(r, e);
}
