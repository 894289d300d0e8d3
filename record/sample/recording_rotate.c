/* Recordings of several files: when one is full, and how the next one continues without losing a snapshot. */
#include "record/sample/recording_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/random.h"

/* When to try again after a file could not be started. */
#define ROTATE_AGAIN_NS 1000000000
/* An entry in the index and end frame of a file takes less than this. */
#define INDEX_ENTRY 24

uint32_t recording_rows_of_file(struct recording *r, uint32_t first, uint32_t n)
{
	const struct recording_rotation *rot = &r->config.rotation;
	uint32_t i = 0;

	if (!rot->period_ns)
		return n;
	if (!r->file_until_ns)
		r->file_until_ns = r->rows->tick[first] + rot->period_ns;
	while (i < n && (r->rows->tick[first + i] < r->file_until_ns || r->rows->tick[first + i] < r->again_ns))
		i++;
	return i < n ? i + 1 : n;
}

bool recording_file_is_full(const struct recording *r, uint32_t row)
{
	const struct recording_rotation *rot = &r->config.rotation;
	struct pm_writer_stats stats = pm_writer_stats(r->writer);
	uint64_t tick = r->rows->tick[row];

	if (r->rows->flags[row] & PM_SNAPSHOT_LAST || tick < r->again_ns)
		return false;
	if (rot->period_ns && tick >= r->file_until_ns)
		return true;
	/* One more might be too many, as may a copy of the definitions, which the end has, too; but a file must have
	 * one after the snapshot that it begins with. */
	return rot->bytes && stats.snapshots > 1 &&
	       stats.bytes + r->chunk_bytes + 2 * stats.copy_bytes + INDEX_ENTRY * (stats.frames + 8) > rot->bytes;
}

static void tell_no_file(struct recording *r, uint64_t tick, const struct error *e)
{
	struct pm_event note = { .type = PM_EVENT_NOTE, .time_ns = tick };
	SCOPED(buf_release) struct buf line = BUF_INIT;
	char text[120];

	buf_printf(&line, "could not start another file, and continued with the previous one: %s\n", e->text);
	/* Where in a user's directories the recording lies is not recorded. */
	snprintf(text, sizeof(text), "could not start another file: %s", strerror(e->number));
	if (recording_note(r, &line)) {
		(void)pm_map_set(&note.attrs, PM_EVENT_KEY_NOTE, pm_text(text));
		recording_write_event(r, &note);
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

void recording_rotate(struct recording *r, const struct ring_buf *b, const struct ring_epoch *e, uint32_t row,
		      const struct pm_clocks *clocks)
{
	struct pm_chunk c = { .run = e->run, .segment = e->segment + r->slept, .clocks = *clocks };
	const struct recording_rotation *rot = &r->config.rotation;
	uint8_t *id = r->config.writer.model->recording_id, new_id[sizeof(r->config.writer.model->recording_id)];
	uint64_t tick = r->rows->tick[row];
	struct pm_writer *next = NULL;
	struct error error = { 0 };
	void *sink_ctx;
	int err = random_bytes(new_id, sizeof(new_id));

	err = err ? error_sys(&error, -err, "random number") : rot->open(rot->ctx, &sink_ctx, &error);

	r->again_ns = tick + ROTATE_AGAIN_NS;
	if (err) {
		tell_no_file(r, tick, &error);
		return;
	}
	rows_chunk(r->rows, b, row, 1, &c);
	err = begin_file(r, sink_ctx, &c, new_id, &next, &error);
	if (err) {
		pm_writer_free(next);
	} else {
		pthread_mutex_lock(&r->model_lock);
		replace_writer(r, next);
		memcpy(id, new_id, sizeof(new_id));
		pthread_mutex_unlock(&r->model_lock);
		outlet_await_empty(r->outlet);
	}
	rot->settle(rot->ctx, !err);
	if (err == -ENOSPC && rot->make_room && rot->make_room(rot->ctx)) {
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
	while (rot->period_ns && r->file_until_ns <= tick)
		r->file_until_ns += rot->period_ns;
}
