#include "report/numbers/sheet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "report/numbers/sheet_private.h"

void *sheet_room(struct sheet_private *p, size_t n, size_t size)
{
	void *data = array_room(&p->owned, p->n_owned, sizeof(*p->owned)) ? NULL : calloc(n + 1, size);

	if (data)
		p->owned[p->n_owned++] = data;
	p->failed |= !data;
	return data;
}

/* Needed only while building: with very many counters these are megabytes. */
static void forget_index(struct sheet_private *p)
{
	free(p->of_counter);
	free(p->counter_start);
	p->of_counter = p->counter_start = NULL;
}

void sheet_release(struct sheet *s)
{
	struct sheet_private *p = s->p;

	if (p) {
		if (p->system)
			sheet_release(p->system);
		free(p->system);
		for (size_t i = 0; i < p->n_owned; i++)
			free(p->owned[i]);
		free(p->owned);
		for (uint32_t i = 0; i < p->n_levels; i++)
			free(p->level[i].row_of);
		forget_index(p);
		free(p);
	}
	free(s->row);
	free(s->column);
	*s = (struct sheet){ 0 };
}

/* ---- tracks ---- */

/* What a user adds is averaged, as in turbostat. */
static enum pm_aggregation rule_of(const struct pm_counter *c)
{
	enum pm_aggregation rule = pm_counter_joins(c);

	return rule == PM_AGG_SUM && pm_map_get(&c->attrs, PM_COUNTER_ADDED) ? PM_AGG_MEAN : rule;
}

static int index_tracks(struct sheet *s)
{
	struct sheet_private *p = s->p;
	const struct pm_model *m = s->places->model;
	size_t n = replay_tracks(p->replay);

	p->n_counters = m->n_counters + 1;
	p->at = sheet_room(p, n, sizeof(*p->at));
	p->of_counter = malloc((n + 1) * sizeof(*p->of_counter));
	p->counter_start = calloc((size_t)p->n_counters + 2, sizeof(*p->counter_start));
	if (!p->at || !p->of_counter || !p->counter_start)
		return -ENOMEM;
	for (size_t t = 0; t < n; t++)
		if (replay_track(p->replay, t).counter)
			p->counter_start[replay_track(p->replay, t).counter + 2]++;
	for (uint32_t c = 2; c <= p->n_counters + 1; c++)
		p->counter_start[c] += p->counter_start[c - 1];
	for (size_t t = 0; t < n; t++) {
		struct track_info info = replay_track(p->replay, t);
		const struct pm_counter *c = pm_model_counter(m, info.counter);
		const struct pm_instance *i = pm_model_instance(m, info.instance);
		struct place place;

		if (!info.counter)
			continue;
		p->of_counter[p->counter_start[info.counter + 1]++] = (uint32_t)t;
		p->at[t].counter = info.counter;
		p->at[t].rule = (uint8_t)rule_of(c);
		p->at[t].may_go = i->kind == PM_TASK || i->kind == PM_CGROUP || i->retired_ns;
		p->at[t].per_package = i->kind == PM_CPU && pm_map_bool(&c->attrs, PM_COUNTER_PERF_PER_PKG, false);
		if (p->at[t].per_package && places_find(s->places, i, PM_PACKAGE, &place))
			p->at[t].package = place.package;
		p->at[t].level = c->semantics == PM_GAUGE;
		p->at[t].nowhere = (i->kind == PM_DEVICE || i->kind == PM_PMU) && i->cpu == PM_NONE;
	}
	/* The tracks of counter c: of_counter[counter_start[c] ... counter_start[c + 1]). */
	return 0;
}

static const struct pm_instance *instance_of(const struct sheet *s, uint32_t track)
{
	return pm_model_instance(s->places->model, replay_track(s->p->replay, track).instance);
}

static int compare_per_package(const void *left, const void *right, void *ctx)
{
	const struct sheet *s = ctx;
	uint32_t t = *(const uint32_t *)left, u = *(const uint32_t *)right;
	const struct track_at *a = &s->p->at[t], *b = &s->p->at[u];

	if (a->per_package != b->per_package)
		return a->per_package ? 1 : -1;
	return array_order(a->package, b->package, instance_of(s, t)->number, instance_of(s, u)->number);
}

/* The CPUs of a package become adjacent, for aggregate_add_one_of(). */
static void order_packages(struct sheet *s)
{
	const struct sheet_private *p = s->p;

	for (uint32_t c = 1; c < p->n_counters; c++) {
		uint32_t *t = &p->of_counter[p->counter_start[c]], n = p->counter_start[c + 1] - p->counter_start[c];
		bool some = false;

		for (size_t k = 0; k < n && !some; k++)
			some = p->at[t[k]].per_package;
		if (n > 1 && some)
			qsort_r(t, n, sizeof(*t), compare_per_package, s);
	}
}

/* ---- levels and columns ---- */

/* Devices and PMUs that belong to no CPU belong only to the system. */
static bool has_place(const struct sheet *s, const struct bound_metric *m)
{
	const struct sheet_private *p = s->p;

	for (uint32_t i = 0; i < m->n_inputs; i++) {
		const struct bound_input *in = &s->binding->input[m->input[i]];

		for (uint32_t k = 0; !in->constant && k < in->n_counters; k++) {
			uint32_t c = in->counter[k];

			for (uint32_t x = p->counter_start[c]; x < p->counter_start[c + 1]; x++)
				if (p->at[p->of_counter[x]].nowhere)
					return false;
		}
	}
	return true;
}

static enum pm_kind display_level(const struct sheet *s, const struct sheet_config *config,
				  const struct bound_metric *m)
{
	bool beside = m->kind == PM_DEVICE || m->kind == PM_PMU;

	if (config->summary_only)
		return PM_SYSTEM;
	if (kind_contains(config->per, m->kind) && (!beside || config->per == m->kind || has_place(s, m)))
		return config->per;
	if (config->fold_pmus && m->kind == PM_PMU && has_place(s, m))
		return PM_PACKAGE;
	if ((config->fold_tasks && (m->kind == PM_TASK || m->kind == PM_CGROUP)) ||
	    (config->sum_tasks && m->kind == PM_TASK))
		return PM_KINDS;
	if (!config->only_per || kind_contains(m->kind, config->per))
		return m->kind;
	return PM_KINDS;
}

static struct level *find_level(struct sheet_private *p, enum pm_kind kind)
{
	for (uint32_t i = 0; i < p->n_levels; i++)
		if (p->level[i].kind == kind)
			return &p->level[i];
	return NULL;
}

static struct level *add_level(struct sheet *s, enum pm_kind kind)
{
	struct level *l = find_level(s->p, kind);
	size_t n = s->binding->n_inputs + 1;

	if (l)
		return l;
	l = &s->p->level[s->p->n_levels++];
	l->kind = kind;
	l->input = sheet_room(s->p, n, sizeof(*l->input));
	l->place = sheet_room(s->p, n, sizeof(*l->place));
	l->column = sheet_room(s->p, s->n_columns, sizeof(*l->column));
	if (s->p->failed)
		return NULL;
	memset(l->place, 0xff, n * sizeof(*l->place));
	return l;
}

static void put_inputs(struct level *l, const uint32_t *input, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (l->place[input[i]] != PM_NONE)
			continue;
		l->place[input[i]] = l->n_inputs;
		l->input[l->n_inputs++] = input[i];
	}
}

static int put_column(struct sheet *s, enum pm_kind kind, uint32_t column)
{
	const struct bound_metric *m = s->column[column].metric;
	struct level *l = add_level(s, kind);

	if (!l)
		return -ENOMEM;
	l->column[l->n_columns++] = column;
	put_inputs(l, m->input, m->n_inputs);
	if (m->threshold)
		put_inputs(l, m->threshold->input, m->threshold->n_inputs);
	return 0;
}

/* A cgroup's counts are included in those of its parents: they are valid for each, but not for all together. */
static bool stands_alone(const struct sheet *s, const struct bound_metric *m)
{
	bool alone = m->kind == PM_CGROUP && !m->counter;

	for (uint32_t i = 0; i < m->n_inputs && alone; i++) {
		const struct bound_input *in = &s->binding->input[m->input[i]];

		alone = in->constant || !in->n_counters ||
			pm_counter_joins(pm_model_counter(s->places->model, in->counter[0])) == PM_AGG_NONE;
	}
	return alone;
}

static int choose_columns(struct sheet *s, const struct sheet_config *config, const bool *shown)
{
	bool summary = config->summary || config->summary_only;
	int err;

	s->column = calloc(s->binding->n_metrics + 1, sizeof(*s->column));
	if (!s->column)
		return -ENOMEM;
	for (size_t i = 0; i < s->binding->n_metrics; i++) {
		const struct bound_metric *m = &s->binding->metric[i];
		enum pm_kind level = display_level(s, config, m);

		level = config->custom ? PM_SYSTEM : level;
		if (!shown[i] || (level == PM_KINDS && !summary) || (level != m->kind && stands_alone(s, m)))
			continue;
		s->column[s->n_columns++] = (struct sheet_column){ .metric = m, .level = level };
	}
	for (uint32_t c = 0; c < s->n_columns; c++) {
		enum pm_kind level = s->column[c].level;

		if ((level == PM_SYSTEM || (summary && !stands_alone(s, s->column[c].metric))) &&
		    (err = put_column(s, PM_SYSTEM, c)))
			return err;
		if (level != PM_SYSTEM && level != PM_KINDS && (err = put_column(s, level, c)))
			return err;
	}
	return 0;
}

/* ---- cells ---- */

static bool has_cell(const struct sheet *s, const struct level *l, uint32_t row, const struct bound_metric *m)
{
	bool any = false, only_constants = true;

	for (uint32_t i = 0; i < m->n_inputs; i++) {
		const struct bound_input *in = &s->binding->input[m->input[i]];

		if (in->constant || in->duration || in->more->whole)
			continue;
		only_constants = false;
		any |= level_feeds(l, row, l->place[m->input[i]]) > 0;
	}
	/* A plain counter that cannot be combined says nothing above its own level. */
	if (m->counter && any) {
		const struct pm_counter *c = pm_model_counter(s->places->model, m->counter);

		return pm_counter_joins(c) != PM_AGG_NONE || level_feeds(l, row, l->place[m->input[0]]) == 1;
	}
	return any || (only_constants && l->kind == PM_SYSTEM);
}

/* Whether the cell shows one track's value as it is, and needs no room of its own. */
static bool is_plain(const struct sheet *s, const struct level *l, uint32_t row, const struct bound_metric *m)
{
	uint32_t place;

	if (m->expr)
		return false;
	place = l->place[m->input[0]];
	return sheet_borrows(s->p, &s->binding->input[m->input[0]],
			     l->track + l->start[(size_t)row * l->n_inputs + place], level_feeds(l, row, place));
}

static int make_cells(struct sheet *s)
{
	struct sheet_private *p = s->p;
	size_t own = 0;

	for (int fill = 0; fill < 2; fill++) {
		p->n_cells = own = 0;
		for (uint32_t i = 0; i < p->n_levels; i++) {
			const struct level *l = &p->level[i];

			for (uint32_t r = 0; r < l->n_rows; r++) {
				struct sheet_row *row = &s->row[l->first_row + r];
				size_t first = p->n_cells;

				for (uint32_t c = 0; c < l->n_columns; c++) {
					const struct bound_metric *m = s->column[l->column[c]].metric;
					bool plain;

					if (!has_cell(s, l, r, m))
						continue;
					plain = is_plain(s, l, r, m);
					if (fill)
						p->cell[p->n_cells] = (struct sheet_cell){
							.column = l->column[c],
							.estimate = m->estimate,
							.value = plain ? NULL : p->value + own * p->block,
						};
					own += !plain;
					p->n_cells++;
				}
				if (fill)
					row->cell = p->cell + first;
				row->n_cells = (uint32_t)(p->n_cells - first);
			}
		}
		if (fill)
			break;
		p->cell = sheet_room(p, p->n_cells, sizeof(*p->cell));
		p->value = sheet_room(p, own * p->block, sizeof(*p->value));
		p->coverage = sheet_room(p, p->n_cells * p->block, sizeof(*p->coverage));
		if (p->failed)
			return -ENOMEM;
	}
	return 0;
}

static int make_scratch(struct sheet *s)
{
	struct sheet_private *p = s->p;
	size_t inputs = 1, depth = 1, args = 1, alike = 1, tracks = replay_tracks(p->replay);
	bool judge = false;

	for (uint32_t i = 0; i < p->n_levels; i++)
		if (p->level[i].n_inputs > inputs)
			inputs = p->level[i].n_inputs;
	for (uint32_t c = 0; c < s->n_columns; c++) {
		const struct bound_metric *m = s->column[c].metric;

		if (m->expr && expr_depth(m->expr) > depth)
			depth = expr_depth(m->expr);
		if (m->n_inputs > args)
			args = m->n_inputs;
		if (!m->threshold)
			continue;
		judge = true;
		if (expr_depth(m->threshold->expr) > depth)
			depth = expr_depth(m->threshold->expr);
		if (m->threshold->n_inputs > args)
			args = m->threshold->n_inputs;
	}
	if (judge)
		p->verdict = sheet_room(p, p->n_cells * p->block, 1);
	/* Other tracks of such a counter may lie beside them. */
	for (size_t t = 0; t < tracks && alike == 1; t++)
		alike += p->at[t].per_package ? tracks : 0;
	p->in = sheet_room(p, inputs * p->block, sizeof(*p->in));
	p->in_known = sheet_room(p, inputs * p->block, sizeof(*p->in_known));
	p->in_lost = sheet_room(p, inputs * p->block, sizeof(*p->in_lost));
	p->in_whole = sheet_room(p, inputs, sizeof(*p->in_whole));
	p->in_parts = sheet_room(p, inputs, sizeof(*p->in_parts));
	p->in_row = sheet_room(p, inputs, sizeof(*p->in_row));
	p->in_at = sheet_room(p, inputs, sizeof(*p->in_at));
	p->scratch = sheet_room(p, depth * p->block, sizeof(*p->scratch));
	p->arg = sheet_room(p, args, sizeof(*p->arg));
	p->one_of = sheet_room(p, alike, sizeof(*p->one_of));
	p->one_of_support = sheet_room(p, alike, sizeof(*p->one_of_support));
	return p->failed ? -ENOMEM : 0;
}

/* The smallest place that contains inputs of several kinds; PM_KINDS: all are of one kind. */
static enum pm_kind area_of(const struct sheet *s, const struct bound_metric *m)
{
	enum pm_kind area = PM_KINDS;
	bool several = false, beside = false;

	for (uint32_t i = 0; i < m->n_inputs; i++) {
		const struct bound_input *in = &s->binding->input[m->input[i]];

		if (in->constant || !in->n_counters)
			continue;
		beside |= in->kind == PM_PMU || in->kind == PM_DEVICE;
		several |= area != PM_KINDS && area != in->kind;
		area = area == PM_KINDS ? in->kind : kind_join(area, in->kind);
	}
	return !several ? PM_KINDS : beside ? kind_join(area, PM_PACKAGE) : area;
}

/* Registers the counters that formulas use together. */
static int join_counters(struct sheet *s, struct replay *replay)
{
	size_t most = (size_t)s->places->model->n_counters * 2 + 1;
	SCOPED(scoped_free) uint32_t *counter = malloc(most * sizeof(*counter));
	int64_t formula = 0;

	s->p->formula = sheet_room(s->p, s->n_columns, sizeof(*s->p->formula));
	if (!counter || !s->p->formula)
		formula = -ENOMEM;
	for (uint32_t c = 0; c < s->n_columns && formula >= 0; c++) {
		const struct bound_metric *m = s->column[c].metric;
		uint32_t n = 0;

		for (uint32_t i = 0; m->expr && i < m->n_inputs; i++) {
			const struct bound_input *in = &s->binding->input[m->input[i]];

			for (uint32_t k = 0; !in->constant && k < in->n_counters; k++) {
				if (n < most)
					counter[n++] = in->counter[k];
				if (in->more->clock && in->more->clock[k] && n < most)
					counter[n++] = in->more->clock[k];
			}
		}
		formula = replay_join(replay, counter, n, area_of(s, m), s->places);
		if (formula > 0)
			s->p->formula[c] = (uint32_t)formula;
	}
	return formula < 0 ? (int)formula : 0;
}

/* Lays out the row of the system for metrics that the columns' formulas need. */
static int build_system(struct sheet *s, struct replay *replay)
{
	const struct sheet_config config = { .per = PM_SYSTEM, .summary_only = true };
	const struct binding *b = s->binding;
	bool any = false;
	SCOPED(scoped_free) bool *wanted = calloc(b->n_metrics + 1, sizeof(*wanted));
	int err = wanted ? 0 : -ENOMEM;

	for (uint32_t c = 0; c < s->n_columns && !err; c++)
		for (uint32_t i = 0; i < s->column[c].metric->n_inputs; i++) {
			const struct bound_metric *m = bind_whole(b, b->input[s->column[c].metric->input[i]].more);

			if (m)
				any = wanted[m - b->metric] = true;
		}
	if (any) {
		s->p->system = calloc(1, sizeof(*s->p->system));
		s->p->whole = sheet_room(s->p, b->n_inputs, sizeof(*s->p->whole));
		err = s->p->system && s->p->whole ? sheet_build(s->p->system, &config, s->places, b, wanted, replay) :
						    -ENOMEM;
	}
	for (size_t i = 0; any && !err && i < b->n_inputs; i++)
		for (uint32_t c = 0; b->input[i].more->whole && c < s->p->system->row[0].n_cells; c++) {
			const struct sheet_cell *cell = &s->p->system->row[0].cell[c];

			if (s->p->system->column[cell->column].metric == bind_whole(b, b->input[i].more))
				s->p->whole[i] = cell;
		}
	return err;
}

int sheet_build(struct sheet *s, const struct sheet_config *config, const struct places *places,
		const struct binding *binding, const bool *shown, struct replay *replay)
{
	int err;

	sheet_release(s);
	s->places = places;
	s->binding = binding;
	s->per = config->summary_only ? PM_SYSTEM : config->per;
	s->p = calloc(1, sizeof(*s->p));
	if (!s->p)
		return -ENOMEM;
	s->p->replay = replay;
	s->p->block = replay_block(replay);
	if ((err = index_tracks(s)))
		return err;
	order_packages(s);
	if ((err = choose_columns(s, config, shown)) || (err = sheet_make_rows(s, config)) || (err = make_cells(s)) ||
	    (err = join_counters(s, replay)) || (err = build_system(s, replay)))
		return err;
	forget_index(s->p);
	return make_scratch(s);
}
