/* Provides what a sink requests: binds metrics to counters, and lays out tracks and sheets whenever the model has
 * changed. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/machine/pci.h"
#include "report/pipeline/pipeline_private.h"

static bool group_wanted(void *ctx, const struct pm_group *g)
{
	const struct run *all = ctx;
	bool wanted = false;

	for (const struct run *r = all; r < all + all->n_all && !wanted; r++)
		wanted = r->n_lanes && replay_wants_group(r->lane[LANE_INTERVALS].replay, g);
	return wanted;
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
	return err;
}

/* Rows are places where something was recorded: CPUs, even if no number of theirs is printed. */
static void choose_rows(struct run *r)
{
	struct bound_metric *m = NULL;
	bool none = true;

	for (size_t i = 0; i < r->binding.n_metrics; i++) {
		if (r->shown[i] && (!r->config->cpu_rows || r->binding.metric[i].kind == PM_CPU))
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

int sheets_bind(struct run *r)
{
	struct buf *notes = r->noted ? NULL : &r->result->notes;
	enum pm_kind per = r->config->sheet.per;
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
	/* Rows of tasks, cgroups and devices have no columns of the processor. */
	if (!err && notes && r->config->note_absent && (per < PM_PMU || per >= PM_KINDS))
		selection_note_absent(&r->config->selection, &r->binding, r->shown, &r->result->remarks);
	r->noted = true;
	if (!err && (r->config->places_only || r->config->cpu_rows))
		choose_rows(r);
	return err;
}

static int want_metric(const struct run *r, struct replay *replay, const struct bound_metric *m, bool each);

/* `each`: rows of single tasks are possible. */
static int want_inputs(const struct run *r, struct replay *replay, const uint32_t *input, uint32_t n, bool each)
{
	int err = 0;

	for (uint32_t k = 0; k < n; k++) {
		const struct bound_input *in = &r->binding.input[input[k]];
		bool one_by_one = each || in->more->op || in->more->clock || in->aspect == EXPR_AGGR_NR;

		for (uint32_t c = 0; !in->constant && !err && c < in->n_counters; c++)
			err = replay_want(replay, in->counter[c],
					  bound_input_aspects(in) | (unsigned)one_by_one << TRACK_EACH);
		if (in->more->whole && !in->constant && !err)
			err = want_metric(r, replay, bind_whole(&r->binding, in->more), false);
	}
	return err;
}

static int want_metric(const struct run *r, struct replay *replay, const struct bound_metric *m, bool each)
{
	int err = want_inputs(r, replay, m->input, m->n_inputs, each);

	return err || !m->threshold ? err : want_inputs(r, replay, m->threshold->input, m->threshold->n_inputs, each);
}

/* Requests what the metrics of a sheet use. */
static int want_sheet(const struct run *r, struct replay *replay, const struct sheet_config *config,
		      const bool *shown)
{
	bool each = config->custom || !(config->fold_tasks || config->summary_only);
	int err = 0;

	for (size_t i = 0; !err && i < r->binding.n_metrics; i++)
		if (shown[i])
			err = want_metric(r, replay, &r->binding.metric[i], each);
	return err;
}

int sheets_fail(struct run *r, int err, const char *what)
{
	if (!r->sink->error.text[0])
		error_sys(&r->sink->error, -err, "%s", what);
	*r->error = r->sink->error;
	return err;
}

void sheets_release(struct lane *l)
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

/* Tracks what the sheets of the plan use. */
static int follow(struct run *r, struct lane *l)
{
	int err = 0;

	for (size_t i = 0; i < r->plan.n_sheets && !err; i++)
		err = want_sheet(r, l->replay, &r->plan.sheet[i].config, r->plan.sheet[i].shown);
	l->stale = true;
	return err ? err : replay_end_tracks(l->replay);
}

int sheets_build(struct run *r, struct lane *l)
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

/* Texts have no columns: there is nothing to compute of them. */
static bool has_numbers(const struct pm_model *m)
{
	for (uint32_t i = 0; i < m->n_counters; i++)
		if (!pm_counter_texts(&m->counter[i]))
			return true;
	return m->n_counters == 0;
}

int sheets_shape(struct run *r)
{
	struct lane *each = &r->lane[LANE_INTERVALS];
	int err = sheets_build(r, each);

	if (err)
		return err;
	if (!r->sink->ops->plan && !each->sheet[0].n_columns)
		return error_set(r->error, ENOENT, "%s",
				 has_numbers(r->places.model) ?
					 "no column is left to show (pmrep list metrics lists them)" :
					 "the recording has texts only, no numbers to show; pmrep dump prints them");
	if ((err = r->sink->ops->shape(r->sink, each->sheet, each->n_sheets)))
		return sheets_fail(r, err, "output");
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
		if ((err = sheets_bind(r)) || (err = begin_tracks(r)))
			return err;
		pm_reader_select(r->reader, group_wanted, r->all);
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

int sheets_lay_out(struct run *r)
{
	const struct pm_model *m = pm_reader_model(r->reader);
	int err;

	r->sink->notes = r->noted ? NULL : &r->result->notes;
	if ((err = plan(r, m)))
		return err;
	for (size_t i = 0; i < r->n_lanes && !err; i++)
		err = follow(r, &r->lane[i]);
	if (err)
		return sheets_fail(r, err, "laying out the report");
	r->stale = false;
	r->n_counters = m->n_counters;
	r->n_groups = m->n_groups;
	/* Much may come and go before the total is complete. */
	return r->laid_out && r->window.mode == REPLAY_TOTAL ? 0 : sheets_shape(r);
}

static void needed_by(const struct run *r, const struct pm_model *m, bool *of_slot)
{
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

static void needed(void *ctx, const struct pm_model *m, bool *of_slot)
{
	const struct run *all = ctx;

	for (const struct run *r = all; r < all + all->n_all; r++)
		needed_by(r, m, of_slot);
}

int sheets_forget(struct run *all)
{
	const struct pm_model *m = pm_reader_model(all->reader);
	int err = 0;

	for (struct run *r = all; r < all + all->n_all; r++)
		for (size_t i = 0; i < r->n_lanes && !err; i++)
			err = replay_settle(r->lane[i].replay);
	pm_reader_forget(all->reader, needed, all);
	for (struct run *r = all; r < all + all->n_all; r++) {
		if (!err && places_update(&r->places, m))
			err = error_sys(r->error, ENOMEM, "topology");
		r->bound[2] = m->n_instances;
		r->bound[3] = r->n_groups = m->n_groups;
	}
	return err;
}

bool sheets_concerned(struct run *r, unsigned parts)
{
	const struct pm_model *m = r->places.model;

	if (!r->laid_out || r->stale || parts & ~(unsigned)(PM_PART_SCHEMA | PM_PART_INSTANCES) ||
	    m->n_counters != r->n_counters)
		return true;
	for (; r->n_groups < m->n_groups; r->n_groups++)
		if (group_wanted(r->all, &m->group[r->n_groups]))
			return true;
	return false;
}
