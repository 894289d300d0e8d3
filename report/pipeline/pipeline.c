#include "report/pipeline/pipeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "format/model.h"
#include "report/input/input.h"
#include "common/memory.h"
#include "report/machine/pci.h"
#include "report/machine/status.h"
#include "report/machine/value_out.h"
#include "report/metric/bind.h"
#include "report/replay/replay.h"

/* One sequence of intervals. */
struct lane {
	struct replay *replay;
	struct sheet sheet[PM_KINDS]; /* those that the sink wants */
	size_t n_sheets;
	bool stale; /* they are not those of the plan */
};

/* Interval by interval, or as the user joins them; and the whole, if the sink wants that, too. */
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
	struct sink_plan plan;         /* of the current layout */
	unsigned parts;                /* of the model, that have changed since the counters were bound */
	uint32_t bound[4];             /* counters, strings, instances, groups at that time */
	bool laid_out;                 /* the sheets were laid out for this recording */
	uint32_t n_counters, n_groups; /* of the model, seen so far */
	bool noted;                    /* what the selection lacks was reported */
	bool child;                    /* a command was started */
	bool in_window;                /* --since and --until are resolved */
	bool full;                     /* enough intervals were printed */
};

static void want_metric(const struct run *r, struct replay *replay, const struct bound_metric *m, bool each);

static void fill(struct lane *l, const struct interval *interval, size_t n)
{
	for (size_t i = 0; i < l->n_sheets; i++)
		sheet_fill(&l->sheet[i], interval, n);
}

/* Reports an error of the sink, or of work for it. */
static int sheets_fail(struct run *r, int err, const char *what)
{
	if (!r->sink->error.text[0])
		error_sys(&r->sink->error, -err, "%s", what);
	*r->error = r->sink->error;
	return err;
}

static void sheets_release(struct lane *l)
{
	while (l->n_sheets)
		sheet_release(&l->sheet[--l->n_sheets]);
}

static bool group_wanted(void *ctx, const struct pm_group *g)
{
	const struct run *r = ctx;

	return r->n_lanes && replay_wants_group(r->lane[LANE_INTERVALS].replay, g);
}

static void update_places(struct run *r, const struct pm_model *m)
{
	places_update(&r->places, m);
	if (r->config->cache_level)
		r->places.cache = r->config->cache_level == 2 ? PM_CACHE_L2 : PM_CACHE_L3;
}

static bool has_cpu(const struct places *p, uint32_t cpu)
{
	if (places_cpu(p, cpu))
		return true;
	/* Without topology, CPUs are those that have counters. */
	for (uint32_t i = 0; i < p->model->n_instances; i++)
		if (p->model->instance[i].kind == PM_CPU && p->model->instance[i].number == cpu)
			return true;
	return false;
}

/* CPUs of --cpu that the recording lacks: a note, or an error if it has none of them. */
static int check_cpus(struct run *r, struct buf *notes)
{
	const struct sheet_config *sheet = &r->config->sheet;
	SCOPED(cpulist_release) struct cpulist absent = { 0 };
	SCOPED(buf_release) struct buf text = BUF_INIT;

	for (size_t i = 0; sheet->rows == SHEET_CPU_SET && i < sheet->cpus.n; i++)
		if (!has_cpu(&r->places, sheet->cpus.cpu[i]))
			memory_done(cpulist_add(&absent, sheet->cpus.cpu[i]));
	cpulist_print(&absent, &text);
	memory_whole(&text);
	if (absent.n && absent.n == sheet->cpus.n)
		return error_set(r->error, ENOENT, "the recording has no CPU %s", buf_str(&text));
	if (absent.n && notes)
		buf_printf(notes, "the recording has no CPU %s\n", buf_str(&text));
	return 0;
}

/* Binds metrics to the counters of the current model, and chooses what is shown. */
static int sheets_bind(struct run *r)
{
	struct buf *notes = r->noted ? NULL : &r->result->notes;
	enum pm_kind per = r->config->sheet.per;
	int err;

	update_places(r, pm_reader_model(r->reader));
	if (r->config->pci && (err = pci_label(&r->places, pm_reader_model(r->reader))))
		return error_sys(r->error, -err, "--pci: the recorded map of PCI");
	if (notes && (err = check_cpus(r, notes)))
		return err;
	if ((err = binding_build(&r->binding, &r->places, &r->config->bind, r->error)))
		return err;
	free(r->shown);
	r->shown = memory_new(r->binding.n_metrics, sizeof(*r->shown));
	err = selection_apply(&r->config->selection, &r->binding, &r->places, r->shown, notes, r->error);
	/* Rows of tasks, cgroups and devices have no columns of the processor. */
	if (!err && notes && r->config->note_absent && (per < PM_PMU || per >= PM_KINDS))
		selection_note_absent(&r->config->selection, &r->binding, r->shown, &r->result->remarks);
	r->noted = true;
	if (r->sink)
		r->sink->places_only = r->config->places_only && !memchr(r->shown, true, r->binding.n_metrics);
	return err;
}

/* Only tasks and cgroups came and went since then, in groups that continue: all counters are as they were. */
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

static int plan(struct run *r, const struct pm_model *m)
{
	const struct sink_ops *ops = r->sink->ops;
	int err = 0;

	if (still_bound(r, m)) {
		update_places(r, m);
	} else {
		if ((err = sheets_bind(r)))
			return err;
		for (size_t i = 0; i < r->n_lanes; i++)
			replay_begin_tracks(r->lane[i].replay, r->places.model);
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
	r->sink->runs = pm_map_u64(&r->places.model->header, PM_HEADER_RUNS, 1) != 1;
	if (ops->plan && (err = ops->plan(r->sink, &r->plan)))
		return sheets_fail(r, err, "laying out the report");
	if (!ops->plan)
		r->plan.sheet[r->plan.n_sheets++] = (struct sink_wish){ r->config->sheet, r->shown };
	return 0;
}

/* Builds the sheets of a lane by the plan. */
static int sheets_build(struct run *r, struct lane *l)
{
	const struct sink_plan *plan = &r->plan;
	int err = 0;

	sheets_release(l);
	for (; l->n_sheets < plan->n_sheets && !err; l->n_sheets++)
		err = sheet_build(&l->sheet[l->n_sheets], &plan->sheet[l->n_sheets].config, &r->places, &r->binding,
				  plan->sheet[l->n_sheets].shown, l->replay);
	l->stale = false;
	return err ? sheets_fail(r, err, "laying out the report") : 0;
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

/* Texts have no columns: there is nothing to compute of them. */
static bool has_numbers(const struct pm_model *m)
{
	for (uint32_t i = 0; i < m->n_counters; i++)
		if (!pm_counter_texts(&m->counter[i]))
			return true;
	return m->n_counters == 0;
}

/* Passes the shape of the intervals' sheets to the sink. */
static int sheets_shape(struct run *r)
{
	struct lane *each = &r->lane[LANE_INTERVALS];
	int err = sheets_build(r, each);

	if (err)
		return err;
	if (!r->sink->ops->plan && !r->config->places_only && !each->sheet[0].n_columns)
		return error_set(r->error, ENOENT, "%s",
				 has_numbers(r->places.model) ?
					 "no column is left to show (pmrep list metrics lists them)" :
					 "the recording has texts only, no numbers to show; pmrep dump prints them");
	if ((err = r->sink->ops->shape(r->sink, each->sheet, each->n_sheets)))
		return sheets_fail(r, err, "output");
	r->laid_out = true;
	return 0;
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

/* At the first chunk of the file: where to begin. 1: the reader has moved, the chunk is not wanted. */
static int open_window(struct run *r, const struct pm_chunk_head *first)
{
	int err;

	r->in_window = true;
	r->sink->origin_ns = first->from_ns;
	r->window.since_ns = r->window.until_ns = 0;
	if ((err = moment_resolve(&r->config->since, r->reader, first, &r->window.since_ns, r->error)) ||
	    (err = moment_resolve(&r->config->until, r->reader, first, &r->window.until_ns, r->error)))
		return err;
	/* A stream cannot seek; what comes before is read and skipped. */
	return r->window.since_ns > first->to_ns && !pm_reader_seek(r->reader, r->window.since_ns, false);
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

static void foresee(struct run *r)
{
	SCOPED(scoped_free) struct pm_clocks *clocks = memory_new(CLOCKS_MOST, sizeof(*clocks));
	int n = pm_reader_clocks(r->reader, clocks, CLOCKS_MOST, CLOCKS_NS);

	/* What cannot be read is reported at its place. */
	for (size_t i = 0; i < r->n_lanes && n > 0; i++)
		replay_foresee(r->lane[i].replay, clocks, (size_t)n);
}

static void start(struct run *r)
{
	r->window.mode = mode_of(r);
	r->window.every_ns = r->config->every_ns;
	r->window.counts = r->sink->ops->counts;
	r->window.no_scale = r->config->no_scale;
	/* What someone waits for, or what is printed while it comes through a pipe, must not be late. */
	r->window.roomy = r->sink->ops->roomy;
	r->window.gather = !r->config->wait && !r->config->max_intervals && pm_reader_seekable(r->reader);
	r->sink->one = r->window.mode == REPLAY_TOTAL;
	r->window.forget = !r->sink->ops->totals || r->sink->ops->forgets;
	r->lane[LANE_INTERVALS].replay = replay_new(&r->window, intervals_done, r);
	r->n_lanes = 1;
	if (wants_totals(r)) {
		struct replay_config whole = r->window;

		whole.mode = REPLAY_TOTAL;
		whole.counts = false;
		whole.join_runs = r->sink->whole == SINK_ALL_RUNS;
		r->lane[LANE_TOTALS].replay = replay_new(&whole, totals_done, r);
		r->n_lanes++;
	}
	foresee(r);
}

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

static int cannot_read(struct run *r, int why)
{
	int err = settle(r);

	return err < 0 ? err : input_failed(r->error, why, "reading");
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

/* `each`: rows of single tasks are possible. */
static void want_inputs(const struct run *r, struct replay *replay, const uint32_t *input, uint32_t n, bool each)
{
	for (uint32_t k = 0; k < n; k++) {
		const struct bound_input *in = &r->binding.input[input[k]];
		bool one_by_one = each || in->more->op || in->more->clock || in->aspect == EXPR_AGGR_NR;

		for (uint32_t c = 0; !in->constant && c < in->n_counters; c++)
			replay_want(replay, in->counter[c],
				    bound_input_aspects(in) | (unsigned)one_by_one << TRACK_EACH);
		if (in->more->whole && !in->constant)
			want_metric(r, replay, bind_whole(&r->binding, in->more), false);
	}
}

static void want_metric(const struct run *r, struct replay *replay, const struct bound_metric *m, bool each)
{
	want_inputs(r, replay, m->input, m->n_inputs, each);
	if (m->threshold)
		want_inputs(r, replay, m->threshold->input, m->threshold->n_inputs, each);
}

/* Tracks what the sheets of the plan use. */
static void follow(struct run *r, struct lane *l)
{
	for (const struct sink_wish *w = r->plan.sheet; w < r->plan.sheet + r->plan.n_sheets; w++) {
		bool each = w->config.custom || !(w->config.fold_tasks || w->config.summary_only);

		for (size_t i = 0; i < r->binding.n_metrics; i++)
			if (w->shown[i])
				want_metric(r, l->replay, &r->binding.metric[i], each);
	}
	l->stale = true;
	replay_end_tracks(l->replay);
}

/* After the model has changed: lays out the tracks, and the sheets unless they can wait. */
static int sheets_lay_out(struct run *r)
{
	const struct pm_model *m = pm_reader_model(r->reader);
	bool waits = r->laid_out && r->window.mode == REPLAY_TOTAL, same = still_bound(r, m);
	int err;

	r->sink->notes = r->noted ? NULL : &r->result->notes;
	if ((err = plan(r, m)))
		return err;
	for (size_t i = 0; i < r->n_lanes; i++)
		follow(r, &r->lane[i]);
	r->stale = false;
	r->n_counters = m->n_counters;
	r->n_groups = m->n_groups;
	/* Much may come and go before the total is complete; but whose levels are combined has to be known. */
	for (size_t i = waits ? LANE_INTERVALS : LANE_TOTALS; i < r->n_lanes && !same && !err; i++) {
		err = sheets_build(r, &r->lane[i]);
		r->lane[i].stale = true;
	}
	return err || waits ? err : sheets_shape(r);
}

static void needed(void *ctx, const struct pm_model *m, bool *of_slot)
{
	const struct run *r = ctx;

	for (const struct lane *l = r->lane; l < r->lane + r->n_lanes; l++) {
		for (size_t t = 0; t < replay_tracks(l->replay); t++)
			of_slot[pm_model_instance(m, replay_track(l->replay, t).instance)->slot] = true;
		for (size_t i = 0; i < l->n_sheets; i++)
			for (uint32_t k = 0; k < l->sheet[i].n_rows; k++) {
				const struct pm_instance *in =
					pm_model_instance(m, l->sheet[i].row[k].place.instance);

				if (in)
					of_slot[in->slot] = true;
			}
	}
}

/* Right after a layout and a chunk: drops from the model what has gone and no interval needs. */
static int sheets_forget(struct run *r)
{
	const struct pm_model *m = pm_reader_model(r->reader);
	int err = 0;

	for (size_t i = 0; i < r->n_lanes && !err; i++)
		err = replay_settle(r->lane[i].replay);
	pm_reader_forget(r->reader, needed, r);
	update_places(r, m);
	r->bound[2] = m->n_instances;
	r->bound[3] = r->n_groups = m->n_groups;
	return err;
}

static int take_chunk(struct run *r, const struct pm_item *item)
{
	const struct pm_chunk *chunk;
	bool laid_out = r->stale;
	int err;

	/* What retired before the first wanted snapshot is of no use. */
	if (!r->n_lanes)
		pm_reader_forget(r->reader, NULL, NULL);
	if (!r->in_window && (err = open_window(r, &item->chunk)))
		return err < 0 ? err : 0;
	if (r->window.until_ns && item->chunk.from_ns > r->window.until_ns) {
		/* Another recording of the file has a time of its own. */
		err = pm_reader_leave(r->reader);
		r->full = !err;
		return err < 0 ? cannot_read(r, err) : 0;
	}
	if (!r->n_lanes)
		start(r);
	if (r->stale && (err = sheets_lay_out(r)))
		return err;
	err = pm_reader_decode(r->reader, &chunk);
	/* Damage comes as an item of its own. */
	if (err == -EBADMSG)
		return 0;
	if (err)
		return cannot_read(r, err);
	err = take_values(r, chunk);
	return !err && laid_out ? sheets_forget(r) : err;
}

#define LINES 16

static bool is_lost(const struct replay *r, const struct pm_model *m, size_t track, uint16_t reason)
{
	const struct pm_instance *i = pm_model_instance(m, replay_track(r, track).instance);

	/* A task may never have run. */
	return i && i->kind != PM_TASK && i->kind != PM_CGROUP && replay_never_known(r, track) == reason;
}

static const struct {
	uint16_t reason;
	const char *cure;
} cures[] = {
	{ PM_REASON_NOT_COUNTED, "its counters were never free: record fewer events, or stop what else counts" },
	{ PM_REASON_NO_PERMISSION, "pmrec doctor says which rights are needed" },
	{ PM_REASON_DROPPED, "record with a larger --buffer" },
	{ PM_REASON_MISSED, "record at a longer interval" },
	{ PM_REASON_ERRNO + 1, "pmrec doctor says which rights are needed" },
	{ PM_REASON_ERRNO + 13, "pmrec doctor says which rights are needed" },
	{ PM_REASON_ERRNO + 24, "raise ulimit -n before recording" },
};

static const char *cure_of(uint16_t reason)
{
	for (size_t i = 0; i < sizeof(cures) / sizeof(cures[0]); i++)
		if (cures[i].reason == reason)
			return cures[i].cure;
	return "pmrec doctor says what this machine has";
}

static void note_reason(const struct replay *r, const struct pm_model *m, size_t first, uint16_t reason,
			struct buf *out)
{
	struct listed what = { 0 }, where = { 0 };
	char word[16];

	for (size_t t = first; t < replay_tracks(r); t++) {
		struct track_info info = replay_track(r, t);

		if (!is_lost(r, m, t, reason))
			continue;
		listed_add(&what, pm_model_counter(m, info.counter)->name);
		listed_add_instance(&where, pm_model_instance(m, info.instance));
	}
	listed_put(&what, out);
	buf_addstr(out, " of ");
	listed_put(&where, out);
	buf_printf(out, ": never read (%s), so sums with it are missing; %s\n",
		   status_word(reason, STATUS_WHOLE, word), cure_of(reason));
}

/* Notes PMUs that are missing from the sum over their kind. */
static void note_shut(const struct binding *b, struct buf *out)
{
	struct listed pmus = { 0 };
	uint16_t reason = 0;
	char word[16];

	for (size_t i = 0; i < b->n_inputs; i++)
		for (uint32_t k = 0; k < b->input[i].more->n_shut; k++) {
			reason = reason ? reason : b->input[i].more->shut[k].reason;
			listed_add(&pmus, b->input[i].more->shut[k].pmu);
		}
	listed_put(&pmus, out);
	if (reason == PM_REASON_NOT_READ)
		buf_addstr(
			out,
			": not all events of their kind were recorded, so some sums are missing; name the kind after "
			"-e, not one of them\n");
	else if (reason)
		buf_printf(out, ": not recorded (%s), so sums with it are missing; %s\n",
			   status_word(reason, STATUS_WHOLE, word), cure_of(reason));
}

/* Appends which requested values were never known, why, and what would help: a line for each reason. */
static void lost_note(const struct replay *r, const struct pm_model *m, const struct binding *b, struct buf *out)
{
	uint16_t said[LINES];
	size_t n = 0;

	note_shut(b, out);

	for (size_t t = 0; t < replay_tracks(r) && n < LINES; t++) {
		uint16_t reason = replay_never_known(r, t);
		bool again = !reason || !is_lost(r, m, t, reason);

		for (size_t i = 0; i < n && !again; i++)
			again = said[i] == reason;
		if (again)
			continue;
		said[n++] = reason;
		note_reason(r, m, t, reason, out);
	}
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

/* Whether definitions change what is laid out. Groups that nobody requested come and go with every snapshot. */
static bool sheets_concerned(struct run *r, unsigned parts)
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

static int take_model(struct run *r, unsigned parts)
{
	if (parts & PM_PART_REPEATED || !sheets_concerned(r, parts))
		return 0;
	r->stale = true;
	r->parts |= parts;
	return settle(r);
}

static int take(struct run *r, const struct pm_item *item)
{
	int err;

	switch (item->kind) {
	case PM_ITEM_MODEL:
		return take_model(r, item->parts);
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
			err = cannot_read(r, got);
		else
			break;
	}
	return err < 0 ? err : finish(r);
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

int pipeline_run(const struct pipeline_config *config, struct pm_reader *reader, struct sink *sink,
		 struct pipeline_result *result, struct error *e)
{
	struct run r = {
		.config = config, .reader = reader, .sink = sink, .result = result, .error = e, .stale = true
	};
	int err;

	*result = (struct pipeline_result){ 0 };
	sink->error.text[0] = '\0';
	sink->reader = reader;
	err = read_all(&r);
	note_damage(&r);
	forget(&r);
	return err < 0 ? err : 0;
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
	struct pm_item item;
	int err = input_next_chunk(reader, &item, "reading", e);

	if (err < 0)
		return err;
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
