#include "report/pipeline/pipeline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/number.h"
#include "report/input/input.h"
#include "report/machine/pci.h"
#include "report/pipeline/lost.h"

/* A way through the intervals. */
struct lane {
	struct replay *replay;
	struct sheet sheet[PM_KINDS]; /* those that the sink wants */
	size_t n_sheets;
	bool stale; /* they are not those of the plan */
};

/* Interval by interval, or however the user joins them; and the whole, where the sink wants that, too. */
enum { LANE_INTERVALS, LANE_TOTALS, LANES };

struct run {
	const struct pipeline_config *config;
	struct pm_reader *reader;
	struct sink *sink;
	struct pipeline_result *result;
	struct error *error;
	struct places places;
	struct binding binding;
	bool *shown;
	struct lane lane[LANES];
	size_t n_lanes; /* 0: nothing was read yet */
	struct replay_config window;
	bool stale;                    /* the model has changed since the sheets were laid out */
	struct sink_plan plan;         /* of the layout at hand */
	unsigned parts;                /* of the model, that have changed since the counters were bound */
	uint32_t bound[4];             /* counters, strings, instances, groups then */
	bool laid_out;                 /* and they were, for this recording */
	uint32_t n_counters, n_groups; /* that of the model were looked at */
	bool noted;                    /* what the selection lacks was said */
	bool child;                    /* a command was started */
	bool in_window;                /* --since and --until are resolved */
	bool full;                     /* enough intervals were printed */
};

/* ---- laying out ---- */

static bool group_wanted(void *ctx, const struct pm_group *g)
{
	const struct run *r = ctx;

	return r->n_lanes && replay_wants_group(r->lane[LANE_INTERVALS].replay, g);
}

static bool has_cpu(const struct places *p, uint32_t cpu)
{
	if (places_cpu(p, cpu))
		return true;
	/* Without topology a CPU is what has counters. */
	for (uint32_t i = 0; i < p->model->n_instances; i++)
		if (p->model->instance[i].kind == PM_CPU && p->model->instance[i].number == cpu)
			return true;
	return false;
}

/* CPUs of --cpu that the recording lacks: a note, or an error if it has none of them. */
static int check_cpus(struct run *r, struct buf *notes)
{
	const struct sheet_config *sheet = &r->config->sheet;
	struct cpulist absent = { 0 };
	struct buf text = BUF_INIT;
	int err = 0;

	for (size_t i = 0; sheet->rows == SHEET_CPU_SET && i < sheet->cpus.n && !err; i++)
		if (!has_cpu(&r->places, sheet->cpus.cpu[i]))
			err = cpulist_add(&absent, sheet->cpus.cpu[i]);
	cpulist_print(&absent, &text);
	if (err || text.err)
		err = error_sys(r->error, ENOMEM, "--cpu");
	else if (absent.n && absent.n == sheet->cpus.n)
		err = error_set(r->error, ENOENT, "the recording has no CPU %s", buf_str(&text));
	else if (absent.n && notes)
		buf_printf(notes, "the recording has no CPU %s\n", buf_str(&text));
	buf_release(&text);
	cpulist_release(&absent);
	return err;
}

/* Rows are where something was recorded: what the CPUs have, though no number of it is printed. */
static void choose_rows(struct run *r)
{
	struct bound_metric *m = NULL;
	bool none = true;

	for (size_t i = 0; i < r->binding.n_metrics; i++) {
		if (r->shown[i] && (r->config->places_only || r->binding.metric[i].kind == PM_CPU))
			return;
		none &= !r->shown[i];
		if (r->binding.metric[i].kind == PM_CPU && r->binding.metric[i].counter && !m)
			m = &r->binding.metric[i];
	}
	if (!m)
		return;
	r->shown[m - r->binding.metric] = true;
	m->for_rows = true;
	r->sink->places_only = none;
}

static int bind(struct run *r)
{
	struct buf *notes = r->noted ? NULL : &r->result->notes;
	int err;

	if ((err = places_update(&r->places, pm_reader_model(r->reader))))
		return error_sys(r->error, -err, "topology");
	if (r->config->pci && (err = pci_label(&r->places, pm_reader_model(r->reader))))
		return error_sys(r->error, -err, "--pci: the recorded map of PCI");
	if (notes && (err = check_cpus(r, notes)))
		return err;
	if ((err = binding_build(&r->binding, &r->places, &r->config->bind, r->error)))
		return err;
	free(r->shown);
	r->shown = calloc(r->binding.n_metrics + 1, sizeof(*r->shown));
	if (!r->shown)
		return error_sys(r->error, ENOMEM, "columns");
	err = selection_apply(&r->config->selection, &r->binding, &r->places, r->shown, notes, r->error);
	if (!err && notes && r->config->note_absent)
		selection_note_absent(&r->config->selection, &r->binding, r->shown, &r->result->remarks);
	r->noted = true;
	if (!err && (r->config->places_only || r->config->cpu_rows))
		choose_rows(r);
	return err;
}

static int want_inputs(const struct run *r, struct replay *replay, const uint32_t *input, uint32_t n)
{
	int err = 0;

	for (uint32_t k = 0; k < n; k++) {
		const struct bound_input *in = &r->binding.input[input[k]];

		for (uint32_t c = 0; !in->constant && !err && c < in->n_counters; c++)
			err = replay_want(replay, in->counter[c], bound_input_aspects(in));
	}
	return err;
}

/* What the metrics of a sheet are made of. */
static int want_sheet(const struct run *r, struct replay *replay, const bool *shown)
{
	int err = 0;

	for (size_t i = 0; !err && i < r->binding.n_metrics; i++) {
		const struct bound_metric *m = &r->binding.metric[i];

		if (!shown[i])
			continue;
		err = want_inputs(r, replay, m->input, m->n_inputs);
		if (!err && m->threshold)
			err = want_inputs(r, replay, m->threshold->input, m->threshold->n_inputs);
	}
	return err;
}

static int fail(struct run *r, int err, const char *what)
{
	if (!r->sink->error.text[0])
		error_sys(&r->sink->error, -err, "%s", what);
	*r->error = r->sink->error;
	return err;
}

static void release_sheets(struct lane *l)
{
	while (l->n_sheets)
		sheet_release(&l->sheet[--l->n_sheets]);
}

static int begin_tracks(struct run *r)
{
	int err = 0;

	for (size_t i = 0; i < r->n_lanes && !err; i++)
		err = replay_begin_tracks(r->lane[i].replay, r->places.model);
	return err;
}

/* Tracks what the sheets of the plan are made of. */
static int follow(struct run *r, struct lane *l)
{
	int err = 0;

	for (size_t i = 0; i < r->plan.n_sheets && !err; i++)
		err = want_sheet(r, l->replay, r->plan.sheet[i].shown);
	l->stale = true;
	return err ? err : replay_end_tracks(l->replay);
}

static int build_sheets(struct run *r, struct lane *l)
{
	const struct sink_plan *plan = &r->plan;
	int err = 0;

	release_sheets(l);
	for (; l->n_sheets < plan->n_sheets && !err; l->n_sheets++)
		err = sheet_build(&l->sheet[l->n_sheets], &plan->sheet[l->n_sheets].config, &r->places, &r->binding,
				  plan->sheet[l->n_sheets].shown, l->replay);
	l->stale = false;
	return err ? fail(r, err, "laying out the report") : 0;
}

/* What came and went since then are tasks and cgroups, in groups that go on: all counters are what they were. */
static bool still_bound(const struct run *r, const struct pm_model *m)
{
	if (r->parts & ~(unsigned)(PM_PART_SCHEMA | PM_PART_INSTANCES) || !r->bound[0] ||
	    m->n_counters != r->bound[0] || m->n_strings != r->bound[1])
		return false;
	for (uint32_t i = r->bound[2]; i < m->n_instances; i++)
		if (m->instance[i].kind != PM_TASK && m->instance[i].kind != PM_CGROUP)
			return false;
	for (uint32_t i = r->bound[3]; i < m->n_groups; i++)
		if (!m->group[i].continues)
			return false;
	return true;
}

/* The sink learns what the sheets of the intervals look like. */
static int shape(struct run *r)
{
	struct lane *each = &r->lane[LANE_INTERVALS];
	int err = build_sheets(r, each);

	if (err)
		return err;
	if (!r->sink->ops->plan && !each->sheet[0].n_columns)
		return error_set(r->error, ENOENT, "no column is left to show (pmrep list metrics lists them)");
	if ((err = r->sink->ops->shape(r->sink, each->sheet, each->n_sheets)))
		return fail(r, err, "output");
	r->laid_out = true;
	return 0;
}

static int plan(struct run *r, const struct pm_model *m)
{
	const struct sink_ops *ops = r->sink->ops;
	int err = 0;

	if (still_bound(r, m)) {
		if ((err = places_update(&r->places, m)))
			return error_sys(r->error, -err, "topology");
	} else {
		if ((err = bind(r)) || (err = begin_tracks(r)))
			return err;
		pm_reader_select(r->reader, group_wanted, r);
	}
	r->parts = 0;
	memcpy(r->bound, (uint32_t[]){ m->n_counters, m->n_strings, m->n_instances, m->n_groups }, sizeof(r->bound));
	r->plan = (struct sink_plan){
		.places = &r->places,
		.binding = &r->binding,
		.shown = r->shown,
		.replay = r->lane[LANE_INTERVALS].replay,
	};
	r->sink->runs = pm_map_u64(&r->places.model->header, PM_HEADER_RUNS, 1) > 1;
	if (ops->plan && (err = ops->plan(r->sink, &r->plan)))
		return fail(r, err, "laying out the report");
	if (!ops->plan)
		r->plan.sheet[r->plan.n_sheets++] = (struct sink_wish){ r->config->sheet, r->shown };
	return 0;
}

static int lay_out(struct run *r)
{
	const struct pm_model *m = pm_reader_model(r->reader);
	int err;

	r->sink->notes = r->noted ? NULL : &r->result->notes;
	if ((err = plan(r, m)))
		return err;
	for (size_t i = 0; i < r->n_lanes && !err; i++)
		err = follow(r, &r->lane[i]);
	if (err)
		return fail(r, err, "laying out the report");
	r->stale = false;
	r->n_counters = m->n_counters;
	r->n_groups = m->n_groups;
	/* Much may come and go before the whole is there. */
	return r->laid_out && r->window.mode == REPLAY_TOTAL ? 0 : shape(r);
}

/* Whether definitions change what is laid out. Groups that nobody asked for come and go with every snapshot. */
static bool concerns(struct run *r, unsigned parts)
{
	const struct pm_model *m = r->places.model;

	if (!r->laid_out || r->stale || parts & ~(unsigned)(PM_PART_SCHEMA | PM_PART_INSTANCES) ||
	    m->n_counters != r->n_counters)
		return true;
	for (; r->n_groups < m->n_groups; r->n_groups++)
		if (group_wanted(r, &m->group[r->n_groups]))
			return true;
	return false;
}

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

	if (l->stale && (err = build_sheets(r, l)))
		return err;
	fill(l, interval, n);
	err = r->sink->ops->totals(r->sink, l->sheet, interval, n);
	return err ? fail(r, err, "output") : 0;
}

static int intervals_done(void *ctx, const struct interval *interval, size_t n)
{
	struct run *r = ctx;
	uint64_t max = r->config->max_intervals;
	int err;

	if (max && r->result->intervals + n >= max) {
		n = (size_t)(max - r->result->intervals);
		r->full = true;
	}
	if (r->lane[LANE_INTERVALS].stale && (err = shape(r)))
		return err;
	fill(&r->lane[LANE_INTERVALS], interval, n);
	if ((err = r->sink->ops->intervals(r->sink, r->lane[LANE_INTERVALS].sheet, interval, n)))
		return fail(r, err, "output");
	r->result->intervals += n;
	return r->full ? 1 : 0;
}

/* ---- the time window ---- */

/* At the first chunk of the file: where to begin. 1: the reader was moved, the chunk is not wanted. */
static int open_window(struct run *r, const struct pm_chunk_head *first)
{
	uint64_t since = 0, until = 0;
	const struct pipeline_config *c = r->config;
	int err;

	r->in_window = true;
	r->sink->origin_ns = first->from_ns;
	if ((err = moment_resolve(&c->since, r->reader, first, &since, r->error)) ||
	    (err = moment_resolve(&c->until, r->reader, first, &until, r->error)))
		return err;
	r->window.since_ns = since;
	r->window.until_ns = until;
	/* A stream cannot be hopped over; then what lies before is read and left out. */
	if (since > first->to_ns && !pm_reader_seek(r->reader, since))
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
	bool runs = pm_map_u64(&pm_reader_model(r->reader)->header, PM_HEADER_RUNS, 1) > 1;

	return r->sink->ops->totals && r->sink->whole != SINK_NO_TOTALS &&
	       (r->sink->whole != SINK_ALL_RUNS || runs || r->window.mode != REPLAY_TOTAL);
}

/* Enough to fit the rate of the TSC, and to know how the clock was slewed from the beginning on. */
#define CLOCKS_NS   10000000000u
#define CLOCKS_MOST 256

static int foresee(struct run *r)
{
	struct pm_clocks *clocks = malloc(CLOCKS_MOST * sizeof(*clocks));
	int n = clocks ? pm_reader_clocks(r->reader, clocks, CLOCKS_MOST, CLOCKS_NS) : -ENOMEM;

	for (size_t i = 0; i < r->n_lanes && n > 0; i++)
		replay_foresee(r->lane[i].replay, clocks, (size_t)n);
	free(clocks);
	/* What cannot be read will be said where it is. */
	return n == -ENOMEM ? n : 0;
}

static int start(struct run *r)
{
	int err;

	r->window.mode = mode_of(r);
	r->window.every_ns = r->config->every_ns;
	r->window.counts = r->sink->ops->counts;
	r->window.no_scale = r->config->no_scale;
	/* What is waited for, or printed as it comes through a pipe, must not come late. */
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
		release_sheets(&r->lane[i]);
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

/* Does it in all lanes, once there is something in them. */
static int in_lanes(struct run *r, int (*what)(struct replay *))
{
	int err = 0;

	for (size_t i = 0; i < r->n_lanes && r->laid_out && !err; i++)
		err = what(r->lane[i].replay);
	return err;
}

/* What was read so far comes before what happens now. */
static int settle(struct run *r)
{
	return in_lanes(r, replay_settle);
}

static int cannot_read(struct run *r, const struct pm_item *item, int why)
{
	int err = settle(r);

	return err < 0 ? err : input_failed(r->error, why, item, "reading");
}

static int take_chunk(struct run *r, const struct pm_item *item)
{
	const struct pm_chunk *chunk;
	int err;

	if (!r->in_window && (err = open_window(r, &item->chunk)))
		return err < 0 ? err : 0;
	if (r->window.until_ns && item->chunk.from_ns > r->window.until_ns) {
		r->full = true;
		return 0;
	}
	if (!r->n_lanes && (err = start(r)))
		return err;
	if (r->stale && (err = lay_out(r)))
		return err;
	err = pm_reader_decode(r->reader, &chunk);
	/* Damage comes as an item of its own. */
	if (err == -EBADMSG)
		return 0;
	if (err)
		return cannot_read(r, item, err);
	r->sink->boot_offset_ns = chunk->clocks.boottime ? chunk->clocks.boottime - chunk->clocks.monotonic : 0;
	r->result->snapshots += chunk->rows;
	for (size_t i = 0; i < r->n_lanes && !err; i++)
		err = replay_chunk(r->lane[i].replay, chunk);
	return err;
}

static int finish(struct run *r)
{
	/* What the model has gained after the last snapshot (values that are read at the end) changes no sheet. */
	int err = in_lanes(r, replay_finish);

	if (err >= 0 && r->laid_out)
		lost_note(r->lane[LANE_INTERVALS].replay, r->places.model, &r->result->remarks);
	if (err >= 0 && r->n_lanes && r->sink->ops->end && (err = r->sink->ops->end(r->sink)))
		return fail(r, err, "output");
	return err < 0 ? err : 0;
}

static int take_damage(struct run *r, const struct pm_damage *d)
{
	if (d->kind == PM_DAMAGE_NO_END || d->kind == PM_DAMAGE_CUT) {
		r->result->cut_only = !r->result->damaged;
		return 0;
	}
	r->result->damaged = true;
	r->result->cut_only = false;
	return in_lanes(r, replay_break);
}

static int take(struct run *r, const struct pm_item *item)
{
	int err;

	switch (item->kind) {
	case PM_ITEM_MODEL:
		if (item->parts & PM_PART_REPEATED)
			return 0;
		if (!concerns(r, item->parts))
			return 0;
		r->stale = true;
		r->parts |= item->parts;
		return settle(r);
	case PM_ITEM_CHUNK:
		return take_chunk(r, item);
	case PM_ITEM_EVENT:
		if ((err = settle(r)))
			return err;
		r->child |= item->event->type == PM_EVENT_CHILD_START;
		if (r->sink->ops->event)
			r->sink->ops->event(r->sink, item->event);
		return 0;
	case PM_ITEM_DAMAGE:
		return take_damage(r, item->damage);
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

/* 1: nobody writes any longer. */
static int wait_for_more(struct run *r)
{
	int err = r->config->wait(r->config->wait_ctx);

	if (err == 1 && !r->result->ended) {
		r->result->cut_only = !r->result->damaged;
		buf_addstr(&r->result->notes, "the recorder went away without an end frame\n");
	}
	return err;
}

static int read_all(struct run *r)
{
	struct pm_item item = { 0 };
	int err = 0;

	while (!err && !r->full) {
		int got = pm_reader_next(r->reader, &item);

		if (got == 1)
			err = take(r, &item);
		else if (got == -EAGAIN && r->config->wait)
			err = wait_for_more(r);
		else if (got && got != -EAGAIN)
			err = cannot_read(r, &item, got);
		else
			break;
	}
	if (err == -ENOMEM)
		return input_failed(r->error, err, &item, "reading");
	return err < 0 ? err : finish(r);
}

static void put_time(struct buf *out, const struct pm_reader *reader, uint64_t ns)
{
	uint64_t wall = pm_reader_realtime(reader, ns);
	char text[64];

	if (wall)
		buf_add(out, text, number_time(text, wall, 0));
	else
		buf_printf(out, "%" PRIu64 ".%03u s", ns / 1000000000, (unsigned)(ns / 1000000 % 1000));
}

static void note_damage(struct run *r)
{
	struct buf *out = &r->result->notes;
	const struct pm_damage *d;
	size_t n;

	buf_addstr(out, pm_reader_newer(r->reader));
	d = pm_reader_damage(r->reader, &n);
	for (size_t i = 0; i < n; i++) {
		if (d[i].length)
			buf_printf(out, "bytes %" PRIu64 " to ", d[i].offset);
		else
			buf_addstr(out, "at byte ");
		buf_printf(out, "%" PRIu64 ": %s", d[i].offset + d[i].length, d[i].text);
		if (d[i].from_ns) {
			buf_addstr(out, d[i].to_ns ? "; nothing from " : "; nothing after ");
			put_time(out, r->reader, d[i].from_ns);
		}
		if (d[i].to_ns) {
			buf_addstr(out, d[i].from_ns ? " to " : "; nothing before ");
			put_time(out, r->reader, d[i].to_ns);
		}
		buf_addch(out, '\n');
	}
}

int pipeline_run(const struct pipeline_config *config, struct pm_reader *reader, struct sink *sink,
		 struct pipeline_result *result, struct error *e)
{
	struct run r = {
		.config = config,
		.reader = reader,
		.sink = sink,
		.result = result,
		.error = e,
		.stale = true,
	};
	int err;

	*result = (struct pipeline_result){ 0 };
	sink->error.text[0] = '\0';
	err = read_all(&r);
	note_damage(&r);
	forget(&r);
	return err < 0 ? err : 0;
}

const char *pipeline_why_empty(const struct pipeline_config *config, const struct pipeline_result *result)
{
	if (!result->snapshots)
		return "no snapshot";
	return config->since.kind || config->until.kind ? "no interval lies in that time" :
							  "an interval needs two snapshots";
}

int pipeline_offer(const struct pipeline_config *config, struct pm_reader *reader, struct offer *o, struct buf *notes,
		   struct error *e)
{
	struct pipeline_result result = { 0 };
	struct run r = { .config = config, .reader = reader, .result = &result, .error = e };
	struct pm_item item = { 0 };
	int got, err;

	while ((got = pm_reader_next(reader, &item)) == 1 && item.kind != PM_ITEM_CHUNK)
		;
	if (got < 0 && got != -EAGAIN)
		return error_sys(e, -got, "reading");
	err = bind(&r);
	*o = (struct offer){ .places = r.places, .binding = r.binding, .shown = r.shown };
	buf_add(notes, result.notes.data, result.notes.len);
	buf_release(&result.notes);
	buf_release(&result.remarks);
	return err;
}

void offer_release(struct offer *o)
{
	binding_release(&o->binding);
	places_release(&o->places);
	free(o->shown);
	*o = (struct offer){ 0 };
}
