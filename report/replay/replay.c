#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/replay/replay_private.h"

int replay_new(struct replay **r, const struct replay_config *config, replay_sink sink, void *ctx)
{
	*r = calloc(1, sizeof(**r));
	if (!*r)
		return -ENOMEM;
	(*r)->config = *config;
	(*r)->sink = sink;
	(*r)->ctx = ctx;
	(*r)->wall = INT64_MIN;
	(*r)->slope = 1;
	(*r)->fresh = true;
	(*r)->stretch = 1;
	return 0;
}

void replay_free(struct replay *r)
{
	if (!r)
		return;
	replay_forget_feeds(r);
	gather_release(&r->gather);
	joints_release(&r->joints);
	free(r->seconds);
	free(r->doubt);
	for (size_t i = 0; i < r->n_tracks; i++)
		track_release(&r->track[i]);
	for (size_t i = 0; i < r->n_rules; i++)
		free(r->rule[i]);
	free(r->rule);
	free(r->track);
	free(r->past);
	free(r->live);
	free(r->brief);
	free(r->key);
	free(r->want);
	free(r->sum_of);
	free(r->arena);
	free(r->counts);
	free(r);
}

/* ---- intervals ---- */

static struct count *counts_of(const struct replay *r, size_t track)
{
	return r->counts ? r->counts + track * r->rows : NULL;
}

static void interval_done(struct replay *r, size_t k)
{
	struct interval *i = &r->done[k];

	*i = r->now;
	i->to_ns = r->last_ns;
	i->wall_ns = r->wall == INT64_MIN ? 0 : (int64_t)(r->last_ns + (uint64_t)r->wall);
	r->open = false;
}

/* Ends interval k of the track. After its end a track is absent. */
static void close_track(struct replay *r, size_t track, size_t k)
{
	struct track *t = &r->track[track];
	uint64_t rest = t->ended ? r->done[k].duration_ns - t->loss->ended_ns : 0;

	if (rest) {
		track_missed(t, PM_REASON_OFFLINE, rest);
		t->over = true;
	}
	if (t->ended)
		t->loss->ended_ns = 0;
	track_close(t, results_of(r, track), r->rows, k, counts_of(r, track));
}

static int emit(struct replay *r, size_t n)
{
	int err;

	/* From the last, because what has just begun was not there before. */
	r->some_loss = false;
	for (size_t i = r->n_tracks; i-- && n && r->losses && !r->some_loss;)
		r->some_loss = r->track[i].loss && r->track[i].loss->some;
	err = n ? r->sink(r->ctx, r->done, n) : 0;
	doubt_forget(r);
	for (size_t i = 0; i < r->n_tracks && r->some_loss; i++)
		if (r->track[i].loss)
			r->track[i].loss->some = false;
	return err;
}

/* Allocates the record of what the track is missing. */
static int make_loss(struct replay *r, struct track *t)
{
	r->losses = true;
	return track_loss_of(t, r->rows) ? 0 : -ENOMEM;
}

/* Closes the open interval at the current place. */
static int flush(struct replay *r)
{
	int err;

	if (!r->open)
		return 0;
	if (r->n_folded && (err = replay_drop_ended(r)))
		return err;
	if (!r->placed && (err = replay_lay_results(r)))
		return err;
	interval_done(r, 0);
	doubt_close(r);
	for (size_t i = 0; i < r->n_tracks; i++)
		close_track(r, i, 0);
	for (size_t i = 0; i < r->n_past; i++)
		track_end_close(&r->past[i], r->done[0].duration_ns);
	err = emit(r, 1);
	for (size_t i = 0; i < r->n_past; i++)
		track_end_again(&r->past[i]);
	return err;
}

static void restart(struct replay *r)
{
	for (size_t i = 0; i < r->n_live; i++)
		track_pause(&r->track[r->live[i]]);
	joints_restart(&r->joints);
	r->stretch++;
	r->fresh = true;
}

int replay_finish(struct replay *r)
{
	int err = replay_settle(r);

	/* What is made of the intervals needs room, too. */
	gather_release(&r->gather);
	free(r->key);
	r->key = NULL;
	r->n_keys = r->used_keys = 0;
	if (!err)
		err = flush(r);
	restart(r);
	r->begun = false;
	return err;
}

static int new_stretch(struct replay *r, const struct pm_chunk *c)
{
	int err;

	if (r->run == c->run && r->segment == c->segment && !c->after_loss)
		return 0;
	if ((err = replay_settle(r)))
		return err;
	if (r->run != c->run) {
		err = r->config.join_runs ? 0 : flush(r);
		r->begun = false;
	}
	restart(r);
	r->run = c->run;
	r->segment = c->segment;
	return err;
}

static void open_interval(struct replay *r)
{
	if (!r->open)
		r->now = (struct interval){ .from_ns = r->last_ns, .run = r->run, .segment = r->segment };
	r->open = true;
	r->now.segment = r->segment;
}

/* What was not observed between two stretches has no row of its own, but is part of longer intervals. */
static int lose_hidden(struct replay *r, uint64_t tick)
{
	uint64_t ns = monotonic_ns(tick - r->last_ns, r->slope);
	int err = 0;

	if (r->config.mode == REPLAY_EACH)
		return 0;
	open_interval(r);
	r->now.duration_ns += ns;
	r->now.partial = true;
	for (size_t i = 0; i < r->n_live && !err; i++) {
		struct track *t = &r->track[r->live[i]];
		const struct pm_instance *in = pm_model_instance(r->model, t->instance);

		if (t->seen && in && !in->retired_ns && !(err = make_loss(r, t)))
			track_hide(t, ns);
	}
	return err;
}

/* Takes a snapshot at `tick`; returns whether an interval ends with it. */
static bool advance(struct replay *r, uint64_t tick)
{
	uint64_t every = r->config.every_ns;
	bool first = r->fresh;

	if (!r->begun)
		r->next_ns = every < UINT64_MAX - tick ? tick + every : UINT64_MAX;
	else if (r->config.mode == REPLAY_EVERY && tick > r->next_ns)
		r->next_ns += (tick - r->next_ns + every - 1) / every * every;
	if (!first) {
		open_interval(r);
		r->now.duration_ns += monotonic_ns(tick - r->last_ns, r->slope);
	}
	r->begun = true;
	r->fresh = false;
	r->last_ns = tick;
	return !first && (r->config.mode == REPLAY_EACH || (r->config.mode == REPLAY_EVERY && tick == r->next_ns));
}

/* Whether the open interval must end before a snapshot at `tick`: what spans its end belongs to the next one. */
static bool ends_before(const struct replay *r, uint64_t tick)
{
	return r->config.mode == REPLAY_EVERY && r->open && tick > r->next_ns;
}

/* Rows of a track that is used together with others, some of which are incomplete. */
static void feed_joint(struct replay *r, uint32_t track, const struct column *c, uint32_t row, uint32_t end,
		       const bool *closes, const struct joint_row *what)
{
	struct track *t = &r->track[track];
	size_t k = 0;

	for (; row < end; row++) {
		track_joint_step(t, c->v ? c : NULL, row, &what[row], column_ns(c, row));
		if (closes[row])
			track_close(t, results_of(r, track), r->rows, k++, counts_of(r, track));
	}
	if (what[end - 1].what == JOINT_TAKE && !t->away)
		track_joint_resume(t);
}

/* Rows [row, end), of which those in closes[] end an interval. */
static int feed_track(struct replay *r, uint32_t track, const struct column *c, uint32_t row, uint32_t end,
		      const bool *closes, bool all_close, bool *plain)
{
	struct count *counts = counts_of(r, track);
	struct track *t = &r->track[track];
	const struct joint_row *joint = r->joints.n && joints_own(&r->joints, track) ? joint_rows(r, track) : NULL;
	bool regular;
	size_t k = 0;
	int err;

	t->perf = r->perf_scale && c->enabled;
	if (t->seen != r->chunk) {
		t->seen = r->chunk;
		r->unseen--;
	}
	if (joint) {
		feed_joint(r, track, c, row, end, closes, joint);
		return 0;
	}
	/* With the first snapshot of a stretch nothing can be lost yet. */
	if (!c->before && !t->started && !t->before && !(c->status && c->status[row])) {
		track_step(t, c, row);
		if (closes[row])
			track_close(t, results_of(r, track), r->rows, k++, counts);
		row++;
		all_close = false;
	}
	regular = track_is_regular(t, c, row, end);
	*plain = regular;
	if (!regular && (err = make_loss(r, t)))
		return err;
	if (all_close) {
		track_rows(t, c, row, end, results_of(r, track), r->rows, 0, counts, regular);
		return 0;
	}
	while (row < end) {
		uint32_t last = row;

		while (last + 1 < end && !closes[last])
			last++;
		track_span(t, c, row, last + 1, regular);
		if (closes[last])
			track_close(t, results_of(r, track), r->rows, k++, counts);
		row = last + 1;
	}
	return 0;
}

/* The columns of times that belong to the values of a feed. */
static struct column times_of(const struct replay *r, const struct pm_group *g, const struct pm_chunk_group *cg,
			      uint32_t time)
{
	uint32_t times = pm_group_times(g);
	size_t stride = cg->stride;
	struct column c = {
		.begin = cg->v + time * stride,
		.end = cg->v + (times + time) * stride,
		.tick = r->slice.tick,
		.first = r->slice.row,
		.before = r->slice.before,
		.begins = r->slice.begins,
		.slope = r->slope,
	};

	if (g->flags & PM_GROUP_PERF_TIMES) {
		c.enabled = cg->v + (2 * times + time) * stride;
		c.running = cg->v + (3 * times + time) * stride;
	}
	return c;
}

/* Once for all counters of an instance, if they fit. */
static bool fill_seconds(struct replay *r, const struct pm_group *g, const struct pm_chunk_group *cg, uint32_t row,
			 uint32_t end)
{
	uint32_t times = pm_group_times(g);

	if ((size_t)times * end > r->max_seconds)
		return false;
	for (uint32_t i = 0; i < times; i++) {
		struct column c = times_of(r, g, cg, i);

		track_seconds(&c, row, end, r->seconds + (size_t)i * end);
	}
	return true;
}

static inline struct column column_in(struct replay *r, const struct pm_chunk *chunk, uint32_t i,
				      const struct pm_group *g, const struct feed *x)
{
	const struct pm_chunk_group *cg = &chunk->group[i];
	struct column c = times_of(r, g, cg, x->time);

	c.v = chunk == &r->gather.chunk ? gather_column(&r->gather, i, x->column) : cg->v + x->column * cg->stride;
	c.status = cg->status ? cg->status + x->column * cg->stride : NULL;
	return c;
}

static struct column column_at(struct replay *r, const struct pm_chunk *chunk, uint32_t i, const struct feed *x)
{
	return column_in(r, chunk, i, pm_model_group(r->model, chunk->group[i].group), x);
}

/* Group `i` of the chunk: its plain tracks, or those that formulas use together. */
static int feed_chunk_group(struct replay *r, const struct pm_chunk *chunk, uint32_t i, uint32_t row, uint32_t end,
			    const bool *closes, bool all_close, bool joint)
{
	const struct pm_chunk_group *cg = &chunk->group[i];
	const struct pm_group *g = pm_model_group(r->model, cg->group);
	struct group_feeds *f = replay_read(r, cg);
	double seconds[PM_CHUNK_ROWS];
	struct row_note note[PM_CHUNK_ROWS];
	bool filled, plain = true;
	int err;

	if (!f)
		return 0;
	if (!joint && (err = doubt_read(r, f, cg, row, end, closes)))
		return err;
	filled = all_close && f->timed && fill_seconds(r, g, cg, row, end);
	for (uint32_t k = 0; k < f->n; k++) {
		const struct feed *x = &f->feed[k];
		struct column c;

		if ((r->joints.n && joints_own(&r->joints, x->track) != joint) ||
		    !replay_takes(r, f, &r->track[x->track]))
			continue;
		c = column_in(r, chunk, i, g, x);
		if (!joint && joints_ask(&r->joints, x->track))
			c.note = memset(note, 0, end * sizeof(*note));
		if (filled) {
			c.seconds = r->seconds + (size_t)x->time * end;
		} else if (all_close && f->timed) {
			track_seconds(&c, row, end, seconds);
			c.seconds = seconds;
		}
		if ((err = feed_track(r, x->track, &c, row, end, closes, all_close, &plain)))
			return err;
		if (c.note && !plain)
			joints_note(&r->joints, x->track, note, row, end);
	}
	return 0;
}

static uint16_t why_missing(const struct replay *r, const struct track *t)
{
	const struct pm_instance *i = pm_model_instance(r->model, t->instance);

	return !i || i->retired_ns || !t->seen ? PM_REASON_OFFLINE : PM_REASON_DROPPED;
}

void replay_see(struct replay *r, const struct pm_chunk *c)
{
	size_t seen = 0;

	r->chunk++;
	for (uint32_t i = 0; i < c->n_groups; i++) {
		struct group_feeds *f = replay_read(r, &c->group[i]);

		for (uint32_t k = 0; f && k < f->n; k++) {
			struct track *t = &r->track[f->feed[k].track];

			if (!replay_takes(r, f, t))
				continue;
			seen += t->seen != r->chunk;
			t->seen = r->chunk;
		}
	}
	r->unseen = r->n_live - seen;
	for (size_t i = 0; i < r->n_live && r->unseen; i++) {
		struct track *t = &r->track[r->live[i]];

		if (t->seen != r->chunk)
			t->unseen = why_missing(r, t);
	}
}

/* A track that is not in the chunk. */
static int miss_track(struct replay *r, uint32_t track, uint32_t row, uint32_t end, const bool *closes)
{
	const struct column c = {
		.tick = r->slice.tick, .first = r->slice.row, .before = r->slice.before, .slope = r->slope
	};
	struct track *t = &r->track[track];
	bool asked = joints_ask(&r->joints, track);
	struct row_note note[PM_CHUNK_ROWS] = { 0 };
	size_t k = 0;

	if (make_loss(r, t))
		return -ENOMEM;
	if (joints_own(&r->joints, track)) {
		feed_joint(r, track, &c, row, end, closes, joint_rows(r, track));
		return 0;
	}
	for (uint32_t i = row; i < end; i++) {
		track_unseen(t, t->unseen, column_ns(&c, i), asked ? &note[i] : NULL);
		if (closes[i])
			track_close(t, results_of(r, track), r->rows, k++, counts_of(r, track));
	}
	if (asked)
		joints_note(&r->joints, track, note, row, end);
	return 0;
}

/* Plain tracks that are not in the chunk, or those that formulas use together. */
static int miss_tracks(struct replay *r, const struct pm_chunk *c, uint32_t row, uint32_t end, const bool *closes,
		       bool joint)
{
	int err = 0;

	for (size_t i = 0; i < r->n_live && r->unseen && !err; i++) {
		struct track *t = &r->track[r->live[i]];

		if (t->seen == r->chunk || joints_own(&r->joints, r->live[i]) != joint)
			continue;
		if (c != &r->gather.chunk)
			t->unseen = why_missing(r, t);
		err = miss_track(r, r->live[i], row, end, closes);
	}
	return err;
}

/* Rows [row, end) end at most as many intervals as the arena holds. */
static int feed_slice(struct replay *r, const struct pm_chunk *c, uint32_t row, uint32_t end, const bool *closes,
		      size_t n)
{
	int err = joints_split(r, c, row, end, column_at);

	if (err > 0) {
		err = joints_attach(r);
		r->placed = false;
	}
	if (!err && n && !r->placed)
		err = replay_lay_results(r);
	if (err)
		return err;
	joints_begin(&r->joints, row, end);
	for (uint32_t i = 0; i < c->n_groups && !err; i++)
		err = feed_chunk_group(r, c, i, row, end, closes, n == end - row, false);
	err = err ? err : miss_tracks(r, c, row, end, closes, false);
	joints_end(&r->joints, row, end);
	for (uint32_t i = 0; i < c->n_groups && r->joints.n && !err; i++)
		err = feed_chunk_group(r, c, i, row, end, closes, n == end - row, true);
	err = err || !r->joints.n ? err : miss_tracks(r, c, row, end, closes, true);
	for (size_t i = 0; n && i < r->n_tracks && r->n_live < r->n_tracks; i++)
		for (size_t k = 0; k < n && r->track[i].ended; k++)
			close_track(r, i, k);
	return err ? err : emit(r, n);
}

int replay_rows(struct replay *r, const struct pm_chunk *c, uint32_t row, uint32_t rows, const int64_t *wall)
{
	bool closes[PM_CHUNK_ROWS];
	uint32_t end;
	int err;

	while (row < rows) {
		size_t n = 0;

		if (ends_before(r, c->tick[row]) && (err = flush(r)))
			return err;
		if (r->fresh && r->begun && (err = lose_hidden(r, c->tick[row])))
			return err;
		r->slice = (struct slice){ c->tick, row, r->fresh ? 0 : r->last_ns, r->fresh && !r->open };
		for (end = row; end < rows && n < r->rows; end++) {
			if (end > row && ends_before(r, c->tick[end])) {
				closes[end - 1] = true;
				interval_done(r, n++);
				if (n == r->rows)
					break;
			}
			closes[end] = advance(r, c->tick[end]);
			r->wall = wall ? wall[end] : r->wall;
			if (closes[end])
				interval_done(r, n++);
		}
		if ((err = feed_slice(r, c, row, end, closes, n)))
			return err;
		row = end;
	}
	return 0;
}

/* What a damaged chunk lacks starts again: what was lost may have said that it was away. */
static void lose_unseen(struct replay *r)
{
	for (size_t i = 0; i < r->n_live; i++)
		if (r->track[r->live[i]].seen != r->chunk)
			track_pause(&r->track[r->live[i]]);
}

int replay_chunk(struct replay *r, const struct pm_chunk *c)
{
	uint32_t row = 0, rows = c->rows;
	double slope;
	int err;

	while (row < rows && c->tick[row] < r->config.since_ns)
		row++;
	while (rows > row && r->config.until_ns && c->tick[rows - 1] > r->config.until_ns)
		rows--;
	if (row >= rows || rows > PM_CHUNK_ROWS)
		return 0;
	if ((err = new_stretch(r, c)))
		return err;
	slope = r->slope;
	replay_find_slope(r, &c->clocks);
	if (slope != r->slope && r->gather.chunk.rows) {
		double now = r->slope;

		r->slope = slope;
		if ((err = replay_settle(r)))
			return err;
		r->slope = now;
	}
	err = c->partial ? 0 : gather_take(r, c, row, rows);
	if (!err && r->gather.chunk.rows) {
		if ((err = replay_settle(r)))
			return err;
		err = c->partial ? 0 : gather_take(r, c, row, rows);
	}
	if (err == 1)
		return gather_is_full(&r->gather) ? replay_settle(r) : 0;
	if (err)
		return err;
	r->wall = c->clocks.realtime ? (int64_t)(c->clocks.realtime - c->clocks.monotonic) : INT64_MIN;
	r->chunk++;
	r->unseen = r->n_live;
	err = replay_rows(r, c, row, rows, NULL);
	if (c->partial)
		lose_unseen(r);
	return err;
}
