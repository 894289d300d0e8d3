#include "report/pipeline/pipeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/input/input.h"
#include "report/machine/value_out.h"
#include "report/pipeline/lost.h"
#include "report/pipeline/pipeline_private.h"

static void fill(struct lane *l, const struct interval *interval, size_t n)
{
	for (size_t i = 0; i < l->n_sheets; i++)
		sheet_fill(&l->sheet[i], interval, n);
}

static int totals_done(void *ctx, const struct interval *interval, size_t n)
{
	struct run *r = ctx;
	struct lane *l = &r->lane[LANE_TOTALS];
	int err;

	if (l->stale && (err = sheets_build(r, l)))
		return err;
	fill(l, interval, n);
	err = r->sink->ops->totals(r->sink, l->sheet, interval, n);
	return err ? sheets_fail(r, err, "output") : 0;
}

static int intervals_done(void *ctx, const struct interval *interval, size_t n)
{
	struct run *r = ctx;
	uint64_t max = r->config->max_intervals;
	bool last = max && r->result->intervals + n >= max;
	int err;

	/* What is left of the one behind the last. */
	if (max && r->result->intervals >= max)
		return 1;
	if (last) {
		n = (size_t)(max - r->result->intervals);
		r->full = true;
	}
	if (r->lane[LANE_INTERVALS].stale && (err = sheets_shape(r)))
		return err;
	fill(&r->lane[LANE_INTERVALS], interval, n);
	if ((err = r->sink->ops->intervals(r->sink, r->lane[LANE_INTERVALS].sheet, interval, n)))
		return sheets_fail(r, err, "output");
	r->result->intervals += n;
	if (last && r->n_lanes > LANE_TOTALS)
		replay_until(r->lane[LANE_TOTALS].replay, interval[n - 1].to_ns);
	return last;
}

/* ---- the time window ---- */

/* At the first chunk of the file: where to begin. 1: the reader has moved, the chunk is not wanted. */
static int open_window(struct run *all, const struct pm_chunk_head *first)
{
	uint64_t since = 0, until = 0;
	const struct pipeline_config *c = all->config;
	int err;

	all->in_window = true;
	if ((err = moment_resolve(&c->since, all->reader, first, &since, all->error)) ||
	    (err = moment_resolve(&c->until, all->reader, first, &until, all->error)))
		return err;
	for (struct run *r = all; r < all + all->n_all; r++) {
		r->sink->origin_ns = first->from_ns;
		r->window.since_ns = since;
		r->window.until_ns = until;
	}
	/* A stream cannot seek; what comes before is read and skipped. */
	if (since > first->to_ns && !pm_reader_seek(all->reader, since, false))
		return 1;
	return 0;
}

static enum replay_mode mode_of(const struct run *r)
{
	const struct pm_map *header = &pm_reader_model(r->reader)->header;

	switch (r->config->mode) {
	case PIPELINE_EACH:
		return REPLAY_EACH;
	case PIPELINE_EVERY:
		return REPLAY_EVERY;
	case PIPELINE_TOTAL:
		return REPLAY_TOTAL;
	default:
		return r->child || pm_map_get(header, PM_HEADER_COMMAND) ||
				       !strcmp(pm_map_text(header, PM_HEADER_TARGET, ""), "command") ?
			       REPLAY_TOTAL :
			       REPLAY_EACH;
	}
}

static bool wants_totals(const struct run *r)
{
	bool runs = pm_map_u64(&pm_reader_model(r->reader)->header, PM_HEADER_RUNS, 1) != 1;

	return r->sink->ops->totals && r->sink->whole != SINK_NO_TOTALS &&
	       (r->sink->whole != SINK_ALL_RUNS || runs || r->window.mode != REPLAY_TOTAL);
}

/* Enough to fit the rate of the TSC, and to know the slew of the clock from the beginning on. */
#define CLOCKS_NS   10000000000u
#define CLOCKS_MOST 256

static int foresee(struct run *r)
{
	struct pm_clocks *clocks = malloc(CLOCKS_MOST * sizeof(*clocks));
	int n = clocks ? pm_reader_clocks(r->reader, clocks, CLOCKS_MOST, CLOCKS_NS) : -ENOMEM;

	for (size_t i = 0; i < r->n_lanes && n > 0; i++)
		replay_foresee(r->lane[i].replay, clocks, (size_t)n);
	free(clocks);
	/* What cannot be read is reported at its place. */
	return n == -ENOMEM ? n : 0;
}

static int start(struct run *r)
{
	int err;

	r->window.mode = mode_of(r);
	r->window.every_ns = r->config->every_ns;
	r->window.counts = r->sink->ops->counts;
	r->window.no_scale = r->config->no_scale;
	/* What someone waits for, or what is printed while it comes through a pipe, must not be late. */
	r->window.roomy = r->sink->ops->roomy;
	r->window.gather = !r->config->wait && !r->config->max_intervals && pm_reader_seekable(r->reader);
	r->sink->one = r->window.mode == REPLAY_TOTAL;
	r->window.forget = !r->sink->ops->totals || r->sink->ops->forgets;
	err = replay_new(&r->lane[LANE_INTERVALS].replay, &r->window, intervals_done, r);
	r->n_lanes = 1;
	if (!err && wants_totals(r)) {
		struct replay_config whole = r->window;

		whole.mode = REPLAY_TOTAL;
		whole.counts = false;
		whole.join_runs = r->sink->whole == SINK_ALL_RUNS;
		err = replay_new(&r->lane[LANE_TOTALS].replay, &whole, totals_done, r);
		r->n_lanes++;
	}
	if (!err)
		err = foresee(r);
	return err ? error_sys(r->error, -err, "replay") : 0;
}

/* ---- items ---- */

static void forget(struct run *r)
{
	for (size_t i = 0; i < LANES; i++) {
		sheets_release(&r->lane[i]);
		replay_free(r->lane[i].replay);
		r->lane[i].replay = NULL;
	}
	r->n_lanes = 0;
	binding_release(&r->binding);
	places_release(&r->places);
	free(r->shown);
	r->shown = NULL;
	r->laid_out = false;
}

/* Calls it for all lanes, once they have data. 1: there are as many intervals as were asked for. */
static int in_lanes(struct run *r, int (*what)(struct replay *))
{
	int full = 0;

	for (size_t i = 0; i < r->n_lanes && r->laid_out; i++) {
		int err = what(r->lane[i].replay);

		if (err < 0)
			return err;
		full |= err;
	}
	return full;
}

/* Finishes what was read so far before handling the next event. */
static int settle(struct run *r)
{
	return in_lanes(r, replay_settle);
}

static int cannot_read(struct run *all, const struct pm_item *item, int why)
{
	int err = 0;

	for (struct run *r = all; r < all + all->n_all && err >= 0; r++)
		err = settle(r);
	return err < 0 ? err : input_failed(all->error, why, item, "reading");
}

static int take_values(struct run *r, const struct pm_chunk *chunk)
{
	int full = 0;

	r->sink->boot_offset_ns = chunk->clocks.boottime ? chunk->clocks.boottime - chunk->clocks.monotonic : 0;
	r->result->snapshots += chunk->rows;
	/* Totals have the same end as the intervals. */
	for (size_t i = 0; i < r->n_lanes; i++) {
		int err = replay_chunk(r->lane[i].replay, chunk);

		if (err < 0)
			return err;
		full |= err;
	}
	return full;
}

static int take_chunk(struct run *all, const struct pm_item *item)
{
	const struct pm_chunk *chunk;
	bool laid_out = all->stale;
	int err;

	/* What retired before the first wanted snapshot is of no use. */
	if (!all->n_lanes)
		pm_reader_forget(all->reader, NULL, NULL);
	if (!all->in_window && (err = open_window(all, &item->chunk)))
		return err < 0 ? err : 0;
	if (all->window.until_ns && item->chunk.from_ns > all->window.until_ns) {
		/* Another recording of the file has a time of its own. */
		err = pm_reader_leave(all->reader);
		all->full = !err;
		return err < 0 ? cannot_read(all, item, err) : 0;
	}
	for (struct run *r = all; r < all + all->n_all; r++)
		if ((!r->n_lanes && (err = start(r))) || (r->stale && (err = sheets_lay_out(r))))
			return err;
	err = pm_reader_decode(all->reader, &chunk);
	/* Damage comes as an item of its own. */
	if (err == -EBADMSG)
		return 0;
	if (err)
		return cannot_read(all, item, err);
	for (struct run *r = all; r < all + all->n_all && !err; r++)
		err = take_values(r, chunk);
	return !err && laid_out ? sheets_forget(all) : err;
}

static int finish(struct run *r)
{
	/* Additions to the model after the last snapshot (values that are read at the end) do not change a sheet. */
	int err = in_lanes(r, replay_finish);

	if (err >= 0 && r->laid_out)
		lost_note(r->lane[LANE_INTERVALS].replay, r->places.model, &r->binding, &r->result->remarks);
	if (err >= 0 && r->n_lanes && r->sink->ops->end && (err = r->sink->ops->end(r->sink)))
		return sheets_fail(r, err, "output");
	return err < 0 ? err : 0;
}

static void take_damage(struct run *r, const struct pm_damage *d)
{
	r->result->damaged |= d->kind != PM_DAMAGE_NO_END && d->kind != PM_DAMAGE_CUT;
	r->result->cut_only = !r->result->damaged;
}

/* If definitions concern one run, all lay out again: what has gone is dropped for all at once. */
static int take_model(struct run *all, unsigned parts)
{
	bool concerned = false;
	int err = 0;

	for (struct run *r = all; r < all + all->n_all; r++)
		concerned |= sheets_concerned(r, parts);
	for (struct run *r = all; r < all + all->n_all && concerned && !err; r++) {
		r->stale = true;
		r->parts |= parts;
		err = settle(r);
	}
	return err;
}

static int take_other(struct run *r, const struct pm_item *item)
{
	int err;

	switch (item->kind) {
	case PM_ITEM_EVENT:
		if ((err = settle(r)))
			return err;
		r->child |= item->event->type == PM_EVENT_CHILD_START;
		if (r->sink->ops->event)
			r->sink->ops->event(r->sink, item->event);
		return 0;
	case PM_ITEM_DAMAGE:
		take_damage(r, item->damage);
		return 0;
	case PM_ITEM_END:
		r->result->ended = true;
		return 0;
	case PM_ITEM_RECORDING:
		if ((err = finish(r)))
			return err;
		forget(r);
		r->bound[0] = 0;
		r->result->ended = r->child = r->in_window = false;
		r->stale = true;
		return 0;
	default:
		return 0;
	}
}

static int take(struct run *all, const struct pm_item *item)
{
	int err = 0;

	if (item->kind == PM_ITEM_MODEL)
		return item->parts & PM_PART_REPEATED ? 0 : take_model(all, item->parts);
	if (item->kind == PM_ITEM_CHUNK)
		return take_chunk(all, item);
	for (struct run *r = all; r < all + all->n_all && !err; r++)
		err = take_other(r, item);
	return err;
}

/* 1: nobody writes any longer. */
static int wait_for_more(struct run *r)
{
	int err = r->config->wait(r->config->wait_ctx);

	if (err == 1 && !r->result->ended) {
		r->result->cut_only = !r->result->damaged;
		buf_addstr(&r->result->notes, "the recorder ended without an end frame\n");
	}
	return err;
}

static int read_all(struct run *all)
{
	struct pm_item item = { 0 };
	int err = 0;

	while (!err && !all->full) {
		int got = pm_reader_next(all->reader, &item);

		if (got == 1)
			err = take(all, &item);
		else if (got == -EAGAIN && all->config->wait)
			err = wait_for_more(all);
		else if (got && got != -EAGAIN)
			err = cannot_read(all, &item, got);
		else
			break;
	}
	if (err == -ENOMEM)
		return input_failed(all->error, err, &item, "reading");
	err = err < 0 ? err : 0;
	for (struct run *r = all; r < all + all->n_all && !err; r++)
		err = finish(r);
	return err == -ENOMEM && !all->error->text[0] ? error_sys(all->error, ENOMEM, "adding up") : err;
}

static void note_damage(struct run *r)
{
	struct buf *out = &r->result->notes;
	const struct pm_damage *d;
	size_t n;

	buf_addstr(out, pm_reader_newer(r->reader));
	d = pm_reader_damage(r->reader, &n);
	for (size_t i = 0; i < n; i++) {
		damage_text(&d[i], out);
		buf_addch(out, '\n');
	}
}

void pipeline_result_release(struct pipeline_result *r)
{
	buf_release(&r->notes);
	buf_release(&r->remarks);
}

int pipeline_run_all(const struct pipeline_part *part, size_t n, struct pm_reader *reader, struct error *e)
{
	SCOPED(scoped_free) struct run *all = calloc(n, sizeof(*all));
	int err;

	for (size_t i = 0; i < n; i++) {
		*part[i].result = (struct pipeline_result){ 0 };
		part[i].sink->error.text[0] = '\0';
		part[i].sink->reader = reader;
		if (all)
			all[i] = (struct run){ .all = all,
					       .n_all = n,
					       .config = part[i].config,
					       .reader = reader,
					       .sink = part[i].sink,
					       .result = part[i].result,
					       .error = e,
					       .stale = true };
	}
	if (!all)
		return error_sys(e, ENOMEM, "reading");
	err = read_all(all);
	for (struct run *r = all; r < all + n; r++) {
		note_damage(r);
		forget(r);
	}
	return err < 0 ? err : 0;
}

int pipeline_run(const struct pipeline_config *config, struct pm_reader *reader, struct sink *sink,
		 struct pipeline_result *result, struct error *e)
{
	return pipeline_run_all(&(struct pipeline_part){ config, sink, result }, 1, reader, e);
}

const char *pipeline_why_empty(const struct pipeline_config *config, const struct pipeline_result *result)
{
	if (!result->snapshots)
		return "no snapshot";
	return config->since.kind || config->until.kind ? "there is no interval in that time" :
							  "an interval needs two snapshots";
}

int pipeline_offer(const struct pipeline_config *config, struct pm_reader *reader, struct offer *o, struct buf *notes,
		   struct error *e)
{
	SCOPED(pipeline_result_release) struct pipeline_result result = { 0 };
	struct run r = { .config = config, .reader = reader, .result = &result, .error = e };
	struct pm_item item = { 0 };
	int got, err;

	while ((got = pm_reader_next(reader, &item)) == 1 && item.kind != PM_ITEM_CHUNK)
		;
	if (got < 0 && got != -EAGAIN)
		return error_sys(e, -got, "reading");
	err = sheets_bind(&r);
	*o = (struct offer){ .places = r.places, .binding = r.binding, .shown = r.shown };
	buf_add(notes, result.notes.data, result.notes.len);
	return err;
}

void offer_release(struct offer *o)
{
	binding_release(&o->binding);
	places_release(&o->places);
	free(o->shown);
	*o = (struct offer){ 0 };
}
