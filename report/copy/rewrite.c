#include "report/copy/rewrite.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/copy/rewrite_private.h"
#include "common/random.h"

/* Begins a recording of the output. */
static int open_output(struct rewrite *w, struct error *e)
{
	struct pm_writer_config config = { .sink = w->sink, .sink_ctx = w->sink_ctx, .model = &w->model };
	int err;

	if (w->rules->begin)
		w->rules->begin(w->rules->ctx);
	config.zstd_level = w->rules->zstd_level;
	pm_model_init(&w->model);
	err = random_bytes(w->model.recording_id, sizeof(w->model.recording_id));
	return err ? error_sys(e, -err, "random number") : pm_writer_new(&w->writer, &config, e);
}

static void close_output(struct rewrite *w)
{
	w->result.bytes += w->writer ? pm_writer_stats(w->writer).bytes : 0;
	pm_writer_free(w->writer);
	w->writer = NULL;
	rewrite_rows_release(&w->rows);
	rewrite_maps_release(&w->maps);
	pm_model_release(&w->model);
}

int rewrite_new(struct rewrite **out, const struct rewrite_rules *rules, pm_sink_fn sink, void *sink_ctx,
		struct error *e)
{
	struct rewrite *w = calloc(1, sizeof(*w));
	int err = 0;

	if (!w)
		return error_sys(e, ENOMEM, "output");
	w->rules = rules;
	w->sink = sink;
	w->sink_ctx = sink_ctx;
	w->result.ended = true;
	w->stretch = 1;
	err = open_output(w, e);
	if (err)
		rewrite_free(w);
	else
		*out = w;
	return err;
}

void rewrite_free(struct rewrite *w)
{
	if (!w)
		return;
	close_output(w);
	free(w);
}

struct rewrite_result rewrite_result(const struct rewrite *w)
{
	struct rewrite_result r = w->result;

	r.bytes += pm_writer_stats(w->writer).bytes;
	return r;
}

/* ---- snapshots ---- */

static bool in_window(const struct rewrite *w, uint64_t ns)
{
	return ns >= w->rules->from_ns && (!w->rules->to_ns || ns <= w->rules->to_ns);
}

/* Chooses where the segments of this recording go, once its first snapshot is known; returns whether that repeats the
 * last one of the previous recording. */
static bool join(struct rewrite *w, const struct pm_chunk *chunk)
{
	bool again = w->last_tick && chunk->tick[0] + w->rules->shift_ns == w->last_tick;

	if (w->begun)
		return false;
	w->begun = true;
	w->segment_in = chunk->segment;
	w->in_segment = 0;
	if (!w->recordings)
		return false;
	w->segment_base = w->segment_last - chunk->segment + (again ? 0 : 1);
	w->result.gaps += !again;
	return again;
}

/* Whether the chunk of the output can name the groups that damage took from this one: it has all of its snapshots. */
static bool names_lost(const struct rewrite *w, const struct pm_chunk *chunk)
{
	return chunk->partial && w->rules->every <= 1;
}

/* No difference may span what could not be read: the chunk lacks a group that was copied in this stretch. */
static void mend(struct rewrite *w, const struct pm_chunk *chunk)
{
	size_t here = 0;

	for (uint32_t i = 0; i < chunk->n_groups && chunk->partial; i++)
		here += rewrite_goes_over(w, &chunk->group[i]) &&
			rewrite_group_of(w, chunk->group[i].group)->stretch == w->stretch;
	if ((chunk->after_loss || (chunk->partial && !names_lost(w, chunk) && here < w->n_stretch)) && w->begun) {
		w->segment_base++;
		w->stretch++;
		w->n_stretch = 0;
	}
	for (uint32_t i = 0; i < chunk->n_groups; i++) {
		struct rewrite_group *to = rewrite_group_of(w, chunk->group[i].group);

		if (!rewrite_goes_over(w, &chunk->group[i]))
			continue;
		w->n_stretch += to->stretch != w->stretch;
		to->stretch = w->stretch;
	}
}

static bool skips(const struct rewrite *w, uint8_t flags)
{
	return w->rules->every > 1 && w->in_segment % w->rules->every &&
	       !(flags & (PM_SNAPSHOT_FIRST | PM_SNAPSHOT_LAST));
}

/* Whether chunks of the input can be copied, as far as they need not be packed again. */
static bool keeps_chunks(const struct rewrite *w)
{
	return !w->rules->gather && w->rules->every <= 1;
}

static int take_rows(struct rewrite *w, const struct pm_model *in, const struct pm_chunk *chunk, uint32_t from)
{
	uint32_t to = chunk->rows;
	bool skip[PM_CHUNK_ROWS];

	while (from < to && !in_window(w, chunk->tick[from]))
		from++;
	while (from < to && !in_window(w, chunk->tick[to - 1]))
		to--;
	if (w->rules->every <= 1)
		return from < to ? rewrite_rows_add(w, in, chunk, from, to - from, NULL) : 0;
	for (uint32_t row = from; row < to; row++, w->in_segment++)
		skip[row - from] = skips(w, chunk->flags[row]);
	return rewrite_rows_add(w, in, chunk, from, to - from, skip);
}

static int take_chunk(struct rewrite *w, struct pm_reader *reader, const struct pm_chunk *chunk)
{
	const struct pm_model *in = pm_reader_model(reader);
	bool all, apart = keeps_chunks(w) || names_lost(w, chunk);
	uint32_t from;
	int err = 0;

	/* What retired before the output begins does not belong in it. */
	if (!pm_writer_stats(w->writer).frames)
		pm_model_forget(&w->model, NULL, NULL, chunk->tick[chunk->rows - 1] >= w->rules->from_ns);
	mend(w, chunk);
	from = join(w, chunk) ? 1 : 0;
	if (chunk->segment != w->segment_in) {
		err = rewrite_rows_flush(w);
		w->segment_in = chunk->segment;
		w->in_segment = 0;
	}
	w->result.snapshots_in += chunk->rows;
	if (err || from == chunk->rows)
		return err;
	all = !from && in_window(w, chunk->tick[0]) && in_window(w, chunk->tick[chunk->rows - 1]);
	if (all && keeps_chunks(w) && !chunk->partial)
		return rewrite_rows_pass(w, reader, chunk, w->segment_base + chunk->segment);
	/* Rows of a part keep the clocks of their chunk. */
	if (apart)
		err = rewrite_rows_flush(w);
	if (!err)
		err = take_rows(w, in, chunk, from);
	if (!err && names_lost(w, chunk))
		err = rewrite_rows_lose(w, chunk);
	if (!err && apart)
		err = rewrite_rows_flush(w);
	return err;
}

/* ---- events ---- */

/* Whether the event describes a state that lasts. */
static bool event_lasts(enum pm_event_type type)
{
	switch (type) {
	case PM_EVENT_CPU_ONLINE:
	case PM_EVENT_CPU_OFFLINE:
	case PM_EVENT_ENABLE:
	case PM_EVENT_DISABLE:
	case PM_EVENT_CHILD_START:
	case PM_EVENT_CHILD_EXIT:
	case PM_EVENT_FAILED:
	case PM_EVENT_RUN_START:
	case PM_EVENT_RUN_END:
		return true;
	default:
		return false;
	}
}

/* Replaces the input's ids by the output's. False: the event is about something that is not copied. */
static bool map_event(const struct rewrite *w, struct pm_event *e)
{
	static const uint32_t keys[] = { PM_EVENT_KEY_INSTANCE, PM_EVENT_KEY_COUNTER };

	for (int i = 0; i < 2; i++) {
		uint64_t id = pm_map_u64(&e->attrs, keys[i], 0);
		uint32_t to = 0;

		if (!pm_map_get(&e->attrs, keys[i]))
			continue;
		if (id <= UINT32_MAX && !i)
			to = rewrite_instance_of(&w->maps, (uint32_t)id);
		else if (id && id <= w->maps.n_counters)
			to = w->maps.counter[id - 1];
		if (!to || pm_map_set(&e->attrs, keys[i], pm_u64(to)))
			return false;
	}
	return true;
}

static int shift_event(const struct rewrite *w, struct pm_event *e)
{
	const struct pm_value *since = pm_map_get(&e->attrs, PM_EVENT_KEY_SINCE);

	e->time_ns = rewrite_time(w, e->time_ns);
	if (!since || since->kind != PM_VALUE_U64)
		return 0;
	return pm_map_set(&e->attrs, PM_EVENT_KEY_SINCE, pm_u64(rewrite_time(w, since->u64)));
}

/* What is gone retires in the output, and that is the event there. */
static int retire(struct rewrite *w, const struct pm_event *event)
{
	uint64_t id = pm_map_u64(&event->attrs, PM_EVENT_KEY_INSTANCE, 0);
	uint32_t to = id <= UINT32_MAX ? rewrite_instance_of(&w->maps, (uint32_t)id) : 0;

	if (!to || !pm_model_instance(&w->model, to))
		return 0;
	return pm_model_retire_instance(&w->model, to, rewrite_time(w, event->time_ns));
}

static int take_event(struct rewrite *w, const struct pm_event *event)
{
	struct pm_event copy = *event;
	int r;

	if (event->type == PM_EVENT_GONE)
		return retire(w, event);
	if (!event_lasts(event->type) && !in_window(w, event->time_ns))
		return 0;
	if (pm_map_copy(&copy.attrs, &event->attrs))
		return -ENOMEM;
	r = map_event(w, &copy) ? shift_event(w, &copy) : REWRITE_DROP;
	if (r == REWRITE_KEEP && w->rules->event)
		r = w->rules->event(w->rules->ctx, &copy);
	/* Events stay between the snapshots where they were. */
	if (r == REWRITE_KEEP)
		r = rewrite_rows_flush(w);
	if (!r)
		r = pm_writer_event(w->writer, &copy);
	pm_event_release(&copy);
	return r < 0 ? r : 0;
}

static int write_note(struct rewrite *w, const struct pm_damage *d)
{
	struct pm_event e = { .type = PM_EVENT_NOTE, .time_ns = w->last_tick };
	char text[240];
	int r;

	snprintf(text, sizeof(text), "%llu bytes of the input could not be used: %s", (unsigned long long)d->length,
		 d->text);
	r = pm_map_set(&e.attrs, PM_EVENT_KEY_NOTE, pm_text(text));
	if (!r && w->rules->event)
		r = w->rules->event(w->rules->ctx, &e);
	if (r == REWRITE_KEEP)
		r = pm_writer_event(w->writer, &e);
	pm_event_release(&e);
	return r < 0 ? r : 0;
}

static int note_damage(struct rewrite *w, const struct pm_damage *d)
{
	int r = rewrite_rows_flush(w);

	if (w->rules->growing && (d->kind == PM_DAMAGE_NO_END || d->kind == PM_DAMAGE_CUT))
		return r;
	w->result.damages++;
	if (r || w->last_tick)
		return r ? r : write_note(w, d);
	/* There is no time yet at which to note it. */
	if (!w->early.length)
		w->early = *d;
	return 0;
}

static int note_early(struct rewrite *w)
{
	struct pm_damage d = w->early;

	if (!d.length || !w->last_tick)
		return 0;
	w->early.length = 0;
	return write_note(w, &d);
}

/* ---- recordings ---- */

static bool group_wanted(void *ctx, const struct pm_group *g)
{
	const struct rewrite *w = ctx;

	const struct rewrite_group *to = rewrite_group_of(w, g->id);

	return to && to->id;
}

static int end_recording(struct rewrite *w)
{
	int err = rewrite_rows_flush(w);

	rewrite_maps_release(&w->maps);
	w->n_stretch = 0;
	w->recordings += w->begun;
	w->opened = w->begun = false;
	return err;
}

/* Another recording of the input: of another machine, boot or time, with definitions of its own. */
static int next_output(struct rewrite *w, struct error *e)
{
	int err = end_recording(w);

	if (err || w->rules->join)
		return err;
	if (pm_writer_stats(w->writer).frames)
		err = rewrite_finish(w, e);
	close_output(w);
	w->segment_base = w->segment_last = w->recordings = 0;
	w->last_tick = 0;
	return err ? err : open_output(w, e);
}

/* Called at the first chunk. 1: the reader has moved to the start of the window, and the chunk is not wanted. */
static int open_window(struct rewrite *w, struct pm_reader *reader, const struct pm_chunk_head *first,
		       struct error *e)
{
	int err = w->rules->start ? w->rules->start(w->rules->ctx, reader, first, e) : 0;

	w->opened = true;
	return err ? err : w->rules->from_ns > first->to_ns && !pm_reader_seek(reader, w->rules->from_ns, false);
}

/* Forgets what has gone, once everything about it is copied. */
static void forget(struct rewrite *w, struct pm_reader *reader)
{
	const struct pm_model *in = pm_reader_model(reader);

	if (w->maps.seen_instances != in->n_instances || w->maps.seen_groups != in->n_groups)
		return;
	pm_reader_forget(reader, NULL, NULL);
	w->maps.seen_instances = in->n_instances;
	w->maps.seen_groups = in->n_groups;
}

static int take_item(struct rewrite *w, struct pm_reader *reader, const struct pm_item *item, bool *end,
		     struct error *e)
{
	const struct pm_model *in = pm_reader_model(reader);
	const struct pm_chunk *chunk;
	int err = 0;

	switch (item->kind) {
	case PM_ITEM_MODEL:
		if (item->parts & PM_PART_REPEATED)
			break;
		/* What becomes known here must not be written before what was read earlier. */
		if (w->rules->gather_small && keeps_chunks(w))
			err = rewrite_rows_flush(w);
		if (!err)
			err = rewrite_model(w, in, e);
		if (!err && item->parts & PM_PART_SCHEMA)
			err = rewrite_retire_groups(w, in);
		if (!err && item->parts & (PM_PART_SCHEMA | PM_PART_INSTANCES))
			pm_reader_select(reader, group_wanted, w);
		break;
	case PM_ITEM_CHUNK:
		if (!w->opened && (err = open_window(w, reader, &item->chunk, e)))
			return err < 0 ? err : 0;
		if (w->recordings && !w->begun && item->chunk.from_ns + w->rules->shift_ns < w->last_tick)
			return error_set(e, EINVAL, "its recordings overlap in time: they are not consecutive");
		forget(w, reader);
		w->key = item->chunk.key;
		err = pm_reader_decode(reader, &chunk);
		if (err == -EBADMSG)
			err = 0; /* listed as damage, which is the next item */
		else if (!err)
			err = take_chunk(w, reader, chunk);
		if (!err)
			err = note_early(w);
		break;
	case PM_ITEM_EVENT:
		err = take_event(w, item->event);
		break;
	case PM_ITEM_DAMAGE:
		err = note_damage(w, item->damage);
		break;
	case PM_ITEM_RECORDING:
		err = next_output(w, e);
		*end = false;
		break;
	case PM_ITEM_END:
		*end = true;
		break;
	case PM_ITEM_INDEX:
	case PM_ITEM_OTHER:
		break;
	}
	return err;
}

int rewrite_recording(struct rewrite *w, struct pm_reader *reader, struct error *e)
{
	struct pm_item item;
	bool end = false;
	int r, err = 0;

	pm_reader_select(reader, group_wanted, w);
	while (!err && (r = pm_reader_next(reader, &item)) != 0) {
		if (r < 0)
			return error_sys(e, -r, "cannot continue reading");
		err = take_item(w, reader, &item, &end, e);
		if (err || item.kind != PM_ITEM_CHUNK || !w->rules->to_ns || item.chunk.from_ns <= w->rules->to_ns)
			continue;
		end = true;
		if (w->rules->join || (r = pm_reader_leave(reader)) == 0)
			break;
		err = r < 0 ? r : 0;
	}
	w->result.ended = w->result.ended && end;
	w->result.newer |= *pm_reader_newer(reader) != '\0';
	if (!err)
		err = end_recording(w);
	if (err && e && !e->text[0]) {
		const char *text = pm_writer_error(w->writer);

		return text[0] ? error_set(e, -err, "%s", text) : error_sys(e, -err, "cannot continue writing");
	}
	return err;
}

int rewrite_finish(struct rewrite *w, struct error *e)
{
	int err = pm_writer_define(w->writer);

	if (!err)
		err = pm_writer_finish(w->writer);
	return err ? error_sys(e, -err, "cannot write the end") : 0;
}

static int copy_input(struct rewrite *w, size_t i, rewrite_input_fn input, void *ctx, struct error *e)
{
	struct pm_reader *reader;
	const char *name;
	int err = input(ctx, i, &reader, &name, e);

	if (err)
		return err;
	err = rewrite_recording(w, reader, e);
	if (err)
		error_prefix(e, "%s", name);
	pm_reader_close(reader);
	return err;
}

int rewrite_all(const struct rewrite_rules *rules, size_t n, rewrite_input_fn input, void *ctx, pm_sink_fn sink,
		void *sink_ctx, struct rewrite_result *result, struct error *e)
{
	struct rewrite *w = NULL;
	int err = rewrite_new(&w, rules, sink, sink_ctx, e);

	for (size_t i = 0; i < n && !err; i++)
		err = copy_input(w, i, input, ctx, e);
	if (!err)
		err = rewrite_finish(w, e);
	if (!err)
		*result = rewrite_result(w);
	rewrite_free(w);
	return err;
}
