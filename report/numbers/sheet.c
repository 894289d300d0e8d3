#include "report/numbers/sheet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/memory.h"
#include "report/machine/status.h"

/* One kind of rows, and the inputs of metrics at this level. */
struct level {
	enum pm_kind kind;
	uint32_t first_row, n_rows;
	uint32_t *input; /* places in binding.input */
	uint32_t n_inputs;
	uint32_t *place;  /* by binding input: its place in input[], PM_NONE: not used here */
	uint32_t *row_of; /* owned: by track: row, PM_NONE: none; only while the sheet is built */
	uint32_t *start;  /* by (row - first_row) * n_inputs + place: first in track[] */
	uint32_t *track;
	uint32_t *partner; /* beside track[]: the clock of an input that has one, or PM_NONE; NULL: none has */
	const struct average **average; /* as start[]: the levels of the input row by row, or NULL; NULL: none */
	double *number;   /* beside track[]: bound_input's number at its place; NULL: no input has one */
	uint32_t *column; /* columns that this level shows */
	uint32_t n_columns;
};

/* Several instances' values to one, by the rule of their counter. NUMBERS.md says what a missing value does. */
struct aggregate {
	size_t n; /* intervals */
	double sum[PM_CHUNK_ROWS];
	double weight[PM_CHUNK_ROWS];  /* of levels in a mean: seconds between ticks that they are known for */
	double known[PM_CHUNK_ROWS];   /* seconds between ticks, of instances not known all the time */
	double unknown[PM_CHUNK_ROWS]; /* seconds that were lost */
	uint32_t count[PM_CHUNK_ROWS]; /* values, besides those of the `whole` instances */
	uint32_t whole;                /* instances with all values, of the current counter */
	uint32_t all_whole;            /* of all counters since the beginning */
	uint16_t lost[PM_CHUNK_ROWS];  /* reason of a value that is missing; 0: none */
	uint16_t away[PM_CHUNK_ROWS];  /* reason of one that is absent */
	bool some_parts;               /* known[] or unknown[] is in use */
	bool only_whole;               /* of the current counter there are no others than `whole` instances */
	bool levels;                   /* adds up levels: an instance counts as 0 while it is absent */
};

struct track_at {
	uint32_t counter;
	uint32_t package; /* for events that count once a package */
	uint8_t rule;
	bool may_go : 1, per_package : 1, nowhere : 1, level : 1;
};

struct sheet_private {
	void **owned; /* what sheet_room() made: all arrays but those of which it is said that they are owned */
	size_t n_owned;
	const struct replay *replay;
	uint32_t *formula;    /* by column: what replay_join() returned for its counters */
	struct sheet *system; /* owned: the row of the system, of metrics that formulas want for it; or NULL */
	const struct sheet_cell **whole; /* by binding input: its cell there, or NULL */
	uint32_t taken;                  /* the formula for which inputs are being filled; 0: for none */
	struct level level[PM_KINDS];
	uint32_t n_levels;
	bool topology;           /* each place of the wanted level that has a CPU online has a row */
	size_t block;            /* intervals at once */
	struct track_at *at;     /* by track */
	uint32_t *of_counter;    /* owned: tracks ordered by counter */
	uint32_t *counter_start; /* owned: by counter id */
	uint32_t n_counters;
	struct sheet_cell *cell;              /* of all rows */
	struct value *value;                  /* block for each cell that is more than one track */
	double *coverage;                     /* block per cell */
	uint8_t *verdict;                     /* likewise: sheet_verdict; NULL: no column has a threshold */
	struct value judged[PM_CHUNK_ROWS];   /* value of a threshold */
	struct value joint[PM_CHUNK_ROWS];    /* value of a formula with its counters taken together */
	double joint_coverage[PM_CHUNK_ROWS]; /* likewise */
	double all_lost[PM_CHUNK_ROWS];       /* seconds that the inputs of a formula lack */
	size_t n_cells;
	/* Scratch for one row: an array of `block` for each input. */
	struct value *in, *scratch;
	double *in_known, *in_lost;       /* seconds, over all tracks of the input */
	uint32_t *in_whole;               /* members known all of the time, if in_known and in_lost are unused */
	bool *in_parts;                   /* they have */
	uint64_t *in_row, rows;           /* which row each was filled for; rows filled so far */
	uint32_t filled;                  /* replay_settled() at that time */
	bool stood[PM_CHUNK_ROWS];        /* the clock of some reading stopped */
	uint8_t *shun;                    /* track x block: it is not used; NULL: not needed so far */
	bool shuns;                       /* at present */
	struct value part[PM_CHUNK_ROWS]; /* a field of what one track read */
	const struct value **in_at, **arg, **one_of;
	const struct support **one_of_support;
	struct aggregate aggregate;
};

/* Whether an input that so many tracks feed, the first of which is given, is what its track says, as it is. Of a
 * level that is added up its absent time counts as 0. */
static inline bool sheet_borrows(const struct sheet_private *p, const struct bound_input *in, const uint32_t *track,
				 uint32_t feeds)
{
	return feeds == 1 && !in->more->op && !in->more->clock && !in->more->n_shut && in->aspect != EXPR_AGGR_NR &&
	       !((p->at[*track].level || in->aspect == EXPR_MEAN) && p->at[*track].rule == PM_AGG_SUM);
}

/* How many tracks feed an input of a row. */
static inline uint32_t level_feeds(const struct level *l, uint32_t row, uint32_t place)
{
	size_t slot = (size_t)row * l->n_inputs + place;

	return l->start[slot + 1] - l->start[slot];
}

/* Room for n elements, and one more, which are 0, until the sheet is released. */
static void *sheet_room(struct sheet_private *p, size_t n, size_t size)
{
	memory_room(&p->owned, p->n_owned, sizeof(*p->owned));
	return p->owned[p->n_owned++] = memory_new(n + 1, size);
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

/* What a user adds is averaged, as in turbostat. */
static enum pm_aggregation rule_of(const struct pm_counter *c)
{
	enum pm_aggregation rule = pm_counter_joins(c);

	return rule == PM_AGG_SUM && pm_map_get(&c->attrs, PM_COUNTER_ADDED) ? PM_AGG_MEAN : rule;
}

static void index_tracks(struct sheet *s)
{
	struct sheet_private *p = s->p;
	const struct pm_model *m = s->places->model;
	size_t n = replay_tracks(p->replay);

	p->n_counters = m->n_counters + 1;
	p->at = sheet_room(p, n, sizeof(*p->at));
	p->of_counter = memory_new(n, sizeof(*p->of_counter));
	p->counter_start = memory_new((size_t)p->n_counters + 2, sizeof(*p->counter_start));
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
		p->at[t].may_go = i->kind == PM_TASK || i->kind == PM_CGROUP || i->kind == PM_DEVICE || i->retired_ns;
		p->at[t].per_package = i->kind == PM_CPU && pm_map_bool(&c->attrs, PM_COUNTER_PERF_PER_PKG, false);
		if (p->at[t].per_package && places_find(s->places, i, PM_PACKAGE, &place))
			p->at[t].package = place.package;
		p->at[t].level = c->semantics == PM_GAUGE;
		p->at[t].nowhere = (i->kind == PM_DEVICE || i->kind == PM_PMU) && i->cpu == PM_NONE;
	}
	/* The tracks of counter c: of_counter[counter_start[c] ... counter_start[c + 1]). */
}

static const struct pm_instance *instance_of(const struct sheet *s, uint32_t track)
{
	return pm_model_instance(s->places->model, replay_track(s->p->replay, track).instance);
}

/* The track of a counter at an instance, or PM_NONE. */
static uint32_t track_at(const struct sheet_private *p, uint32_t counter, uint32_t instance)
{
	for (uint32_t x = counter ? p->counter_start[counter] : 0; counter && x < p->counter_start[counter + 1]; x++)
		if (replay_track(p->replay, p->of_counter[x]).instance == instance)
			return p->of_counter[x];
	return PM_NONE;
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

/* The track of a slot that counts for the member that track `of` counts for: of the same instance, or of the place
 * that the member lies in. `near`: where it probably is. */
static uint32_t beside(const struct sheet *s, const struct level *l, size_t slot, uint32_t of, uint32_t near)
{
	const struct pm_model *model = s->places->model;
	uint32_t first = l->start[slot], n = l->start[slot + 1] - first,
		 own = replay_track(s->p->replay, of).instance;
	const struct pm_instance *member = pm_model_instance(model, own);

	for (uint32_t i = 0; i < n; i++) {
		uint32_t k = first + (near + i) % n;
		uint32_t instance = replay_track(s->p->replay, l->track[k]).instance;
		const struct pm_instance *other = pm_model_instance(model, instance);
		struct place at, around;

		if (instance == own ||
		    (other->kind != member->kind && places_find(s->places, other, other->kind, &at) &&
		     places_find(s->places, member, other->kind, &around) && !place_compare(&at, &around)))
			return k;
	}
	return PM_NONE;
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
	if (config->per == PM_DIE && m->by_die)
		return PM_DIE;
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

static void put_column(struct sheet *s, enum pm_kind kind, uint32_t column)
{
	const struct bound_metric *m = s->column[column].metric;
	struct level *l = add_level(s, kind);

	l->column[l->n_columns++] = column;
	put_inputs(l, m->input, m->n_inputs);
	if (m->threshold)
		put_inputs(l, m->threshold->input, m->threshold->n_inputs);
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

static bool is_topological(enum pm_kind kind)
{
	return kind == PM_CPU || (kind < PM_KINDS && kind_contains(kind, PM_CPU));
}

static void choose_columns(struct sheet *s, const struct sheet_config *config, const bool *shown)
{
	bool summary = config->summary || config->summary_only, below = false;

	s->column = memory_new(s->binding->n_metrics, sizeof(*s->column));
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

		if (level == PM_SYSTEM || (summary && !stands_alone(s, s->column[c].metric)))
			put_column(s, PM_SYSTEM, c);
		if (level != PM_SYSTEM && level != PM_KINDS) {
			put_column(s, level, c);
			below |= is_topological(level);
		}
	}
	s->p->topology = is_topological(s->per) && s->per != PM_SYSTEM &&
			 (config->places == SHEET_TOPOLOGY || (config->places == SHEET_BELOW && below));
	if (s->p->topology) {
		add_level(s, s->per);
		if (summary)
			add_level(s, PM_SYSTEM);
	}
}

static bool has_cell(const struct sheet *s, const struct level *l, uint32_t row, const struct bound_metric *m)
{
	bool any = false, only_constants = true;

	/* A register has no value for the whole machine, unless the row of its only CPU stands for that. */
	if (m->digits && l->kind == PM_SYSTEM && m->kind != PM_SYSTEM && s->places->n != 1)
		return false;
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

static void make_cells(struct sheet *s)
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
	}
}

static void judge(struct sheet_private *p, const struct level *l, const struct bound_threshold *t,
		  const struct value *of, size_t n, uint8_t *verdict)
{
	for (uint32_t i = 0; i < t->n_inputs; i++)
		p->arg[i] = p->in_at[l->place[t->input[i]]];
	expr_eval_rows(t->expr, p->arg, n, p->judged, p->scratch);
	for (size_t k = 0; k < n; k++)
		verdict[k] = of[k].reason || p->judged[k].reason ? SHEET_UNKNOWN :
			     p->judged[k].v != 0                 ? SHEET_BAD :
								   SHEET_GOOD;
}

static void make_scratch(struct sheet *s)
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
static void join_counters(struct sheet *s, struct replay *replay)
{
	size_t most = (size_t)s->places->model->n_counters * 2 + 1;
	SCOPED(scoped_free) uint32_t *counter = memory_new(most, sizeof(*counter));

	s->p->formula = sheet_room(s->p, s->n_columns, sizeof(*s->p->formula));
	for (uint32_t c = 0; c < s->n_columns; c++) {
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
		s->p->formula[c] = replay_join(replay, counter, n, area_of(s, m), s->places);
	}
}

/* Whether levels of several members are combined row by row. Tasks that come and go within a total are not laid
 * out before its end. */
static bool is_averaged(const struct sheet *s, const struct bound_input *in, const uint32_t *track, uint32_t n)
{
	const struct track_at *at = &s->p->at[*track];
	bool several = false;

	for (uint32_t i = 1; i < n && !several; i++)
		several = s->p->at[track[i]].counter != at->counter;
	return !several && at->level && !at->per_package && in->kind != PM_TASK && in->kind != PM_CGROUP &&
	       (in->aspect == EXPR_VALUE || in->aspect == EXPR_MEAN || in->aspect == EXPR_RATE) && !in->more->op &&
	       !in->more->clock && (at->rule == PM_AGG_MEAN || at->rule == PM_AGG_MAX || at->rule == PM_AGG_MIN);
}

static void average_levels(struct sheet *s, struct replay *replay, const struct sheet_config *config,
			   const char *owner)
{
	for (uint32_t i = 0; i < s->p->n_levels; i++) {
		struct level *l = &s->p->level[i];
		uint32_t per_scope = config->custom && l->n_rows ? l->n_rows / config->custom->scopes : 0;

		for (size_t slot = 0; slot < (size_t)l->n_rows * l->n_inputs; slot++) {
			const struct bound_input *in = &s->binding->input[l->input[slot % l->n_inputs]];
			const uint32_t *track = l->track + l->start[slot];
			uint32_t n = l->start[slot + 1] - l->start[slot], row = (uint32_t)(slot / l->n_inputs);
			uint32_t part = per_scope ? PM_KINDS + row / per_scope : l->kind;

			if (n < 2 || in->constant || !is_averaged(s, in, track, n))
				continue;
			if (!l->average)
				l->average = sheet_room(s->p, (size_t)l->n_rows * l->n_inputs, sizeof(*l->average));
			l->average[slot] = replay_average(replay, owner, part, s->p->at[*track].rule, track, n);
		}
	}
}

/* Lays out the row of the system for metrics that the columns' formulas need. */
static void build_system(struct sheet *s, struct replay *replay, const char *owner)
{
	const struct sheet_config config = { .per = PM_SYSTEM, .summary_only = true, .owner = owner + 1 };
	const struct binding *b = s->binding;
	bool any = false;
	SCOPED(scoped_free) bool *wanted = memory_new(b->n_metrics, sizeof(*wanted));

	for (uint32_t c = 0; c < s->n_columns; c++)
		for (uint32_t i = 0; i < s->column[c].metric->n_inputs; i++) {
			const struct bound_metric *m = bind_whole(b, b->input[s->column[c].metric->input[i]].more);

			if (m)
				any = wanted[m - b->metric] = true;
		}
	if (!any)
		return;
	s->p->system = memory_new(1, sizeof(*s->p->system));
	s->p->whole = sheet_room(s->p, b->n_inputs, sizeof(*s->p->whole));
	/* Only custom rows have errors. */
	sheet_build(s->p->system, &config, s->places, b, wanted, replay);
	for (size_t i = 0; i < b->n_inputs; i++)
		for (uint32_t c = 0; b->input[i].more->whole && c < s->p->system->row[0].n_cells; c++) {
			const struct sheet_cell *cell = &s->p->system->row[0].cell[c];

			if (s->p->system->column[cell->column].metric == bind_whole(b, b->input[i].more))
				s->p->whole[i] = cell;
		}
}

struct filter {
	const struct sheet_config *config;
	struct place *kept; /* places of a level that contain a CPU of the set */
	size_t n;
};

/* Whether --cpu keeps the row; `before`: the previous row of the same level. */
static bool passes(const struct filter *f, const struct place *place, const struct place *before)
{
	if (!is_topological(place->kind) || place->kind == PM_SYSTEM)
		return true;
	switch (f->config->rows) {
	case SHEET_CPU_SET:
		return bsearch(place, f->kept, f->n, sizeof(*place), place_compare) != NULL;
	case SHEET_FIRST_OF_CORE:
		return place->kind != PM_CPU || !before || before->package != place->package ||
		       before->die != place->die || before->core != place->core;
	case SHEET_FIRST_OF_PACKAGE:
		return (place->kind != PM_CPU && place->kind != PM_CORE) || !before ||
		       before->package != place->package;
	default:
		return true;
	}
}

static void prepare_filter(struct filter *f, const struct sheet *s, enum pm_kind kind)
{
	const struct cpulist *cpus = &f->config->cpus;

	free(f->kept);
	f->n = 0;
	f->kept = memory_new(cpus->n, sizeof(*f->kept));
	for (size_t i = 0; i < cpus->n; i++) {
		struct pm_instance cpu = { .kind = PM_CPU, .number = cpus->cpu[i], .cpu = cpus->cpu[i] };

		f->n += places_find(s->places, &cpu, kind, &f->kept[f->n]);
	}
	qsort(f->kept, f->n, sizeof(*f->kept), place_compare);
}

/* Marks the counters that the level's inputs use. */
static void mark_counters(const struct sheet *s, const struct level *l, bool *wanted)
{
	for (uint32_t i = 0; i < l->n_inputs; i++) {
		const struct bound_input *in = &s->binding->input[l->input[i]];

		for (uint32_t k = 0; !in->constant && k < in->n_counters; k++)
			wanted[in->counter[k]] = true;
	}
}

/* Places are found in the order of tracks, of which many in a row often share one. */
static uint32_t put_place(const struct place *at, struct place *found, size_t *n)
{
	if (!*n || place_compare(&found[*n - 1], at))
		found[(*n)++] = *at;
	return (uint32_t)*n - 1;
}

/* Fills row_of[], and returns the places of the rows. */
static struct place *place_tracks(struct sheet *s, struct level *l, struct filter *filter, size_t *n_rows)
{
	const struct pm_model *m = s->places->model;
	size_t n = replay_tracks(s->p->replay), of_tracks, found = 0, kept = 0;
	uint32_t slots = 0;
	struct place *sorted, one;
	SCOPED(scoped_free) struct place *at = memory_resize(NULL, n + s->places->n + 1, sizeof(*at));
	SCOPED(scoped_free) bool *wanted = memory_new((size_t)m->n_counters + 1, sizeof(*wanted));
	SCOPED(scoped_free) uint32_t *row = NULL, *of_slot = NULL;

	for (uint32_t i = 0; i < m->n_instances; i++)
		slots = m->instance[i].slot < slots ? slots : m->instance[i].slot + 1;
	if (filter->config->rows == SHEET_CPU_SET)
		prepare_filter(filter, s, l->kind);
	of_slot = memory_new(slots, sizeof(*of_slot));
	l->row_of = memory_resize(NULL, n, sizeof(*l->row_of));
	mark_counters(s, l, wanted);
	for (size_t t = 0; t < n; t++) {
		struct track_info info = replay_track(s->p->replay, t);
		const struct pm_instance *in = pm_model_instance(m, info.instance);
		uint32_t *place = &of_slot[in->slot];

		/* 0: not looked for yet, 1: nowhere. */
		if (wanted[info.counter] && !*place)
			*place = places_find(s->places, in, l->kind, &one) ? put_place(&one, at, &found) + 2 : 1;
		l->row_of[t] = wanted[info.counter] ? *place - 2 : PM_NONE;
	}
	of_tracks = found;
	for (uint32_t i = 0; i < s->places->n && s->p->topology && l->kind == s->per; i++) {
		const struct pm_cpu *c = &s->places->cpu[i];
		struct pm_instance cpu = { .kind = PM_CPU, .number = c->cpu, .cpu = c->cpu };

		if (c->online && places_find(s->places, &cpu, l->kind, &one))
			at[found++] = one;
	}
	/* The system exists even for a formula of machine facts alone. */
	if (l->kind == PM_SYSTEM && !found)
		places_find(s->places, &(struct pm_instance){ .kind = PM_SYSTEM }, PM_SYSTEM, &at[found++]);
	sorted = memory_copy(at, found, sizeof(*sorted));
	row = memory_new(of_tracks, sizeof(*row));
	qsort(sorted, found, sizeof(*sorted), place_compare);
	for (size_t i = 0; i < found; i++) {
		if (i && !place_compare(&sorted[i], &sorted[i - 1]))
			continue;
		/* What the kernel gives no number, as the cache of a core that has none, is no place of its kind. */
		if (l->kind == s->per && kind_contains(PM_PACKAGE, l->kind) && sorted[i].instance == PM_NONE &&
		    place_number(&sorted[i]) == PM_NONE)
			continue;
		if (passes(filter, &sorted[i], kept ? &sorted[kept - 1] : NULL))
			sorted[kept++] = sorted[i];
	}
	for (size_t i = 0; i < of_tracks; i++) {
		const struct place *p = bsearch(&at[i], sorted, kept, sizeof(*sorted), place_compare);

		row[i] = p ? (uint32_t)(p - sorted) : PM_NONE;
	}
	for (size_t t = 0; t < n; t++)
		if (l->row_of[t] != PM_NONE)
			l->row_of[t] = row[l->row_of[t]];
	*n_rows = kept;
	return sorted;
}

/* The feeds of a level are counted first, then filled in. */
struct feeder {
	struct sheet *s;
	struct level *l;
	const struct sheet_custom *custom;
	bool fill;
	size_t total;
	struct place *first; /* owned: places of the kind first_of, each with its first CPU; NULL: not looked for */
	size_t n_first;
	enum pm_kind first_of;
};

static void feed_input(struct feeder *f, uint32_t row, uint32_t input, uint32_t t)
{
	struct level *l = f->l;
	size_t slot = (size_t)row * l->n_inputs + input;

	if (f->fill)
		l->track[l->start[slot + 1]++] = t;
	else
		l->start[slot + 2]++, f->total++;
}

static void feed_custom(struct feeder *f, uint32_t input, uint32_t t)
{
	struct track_info info = replay_track(f->s->p->replay, t);
	const struct pm_instance *i = pm_model_instance(f->s->places->model, info.instance);
	uint32_t rows = f->l->n_rows / f->custom->scopes;

	for (uint32_t scope = 0; scope < f->custom->scopes; scope++) {
		uint32_t row = f->custom->row(f->custom->ctx, scope, info.counter, i);

		if (row != PM_NONE)
			feed_input(f, row + scope * rows, input, t);
	}
}

/* An input that covers more than one row of this level: each row inside its place uses all of it. */
static bool is_spread(const struct level *l, const struct bound_input *in)
{
	return !in->constant && !in->duration && in->kind != PM_KINDS && in->kind != l->kind &&
	       kind_contains(in->kind, l->kind);
}

/* Whether the row is inside the track's place. */
static bool feeds_row(const struct sheet *s, const struct place *row, uint32_t t)
{
	struct track_info info = replay_track(s->p->replay, t);
	const struct pm_instance *i = pm_model_instance(s->places->model, info.instance);
	struct place at;

	return places_find(s->places, i, i->kind, &at) && place_has(s->places, &at, row);
}

static int by_first_cpu(const void *left, const void *right)
{
	const struct place *a = left, *b = right;
	int d = place_compare(a, b);

	return d ? d : array_order(a->first_cpu, b->first_cpu, 0, 0);
}

/* Finds the first CPU online of each such place. */
static void find_first(struct feeder *f, enum pm_kind kind)
{
	const struct places *p = f->s->places;
	size_t n = 0;

	if (f->first && f->first_of == kind)
		return;
	free(f->first);
	f->first = memory_new((size_t)p->n + 1, sizeof(*f->first));
	f->first_of = kind;
	f->n_first = 0;
	for (uint32_t k = 0; k < p->n; k++) {
		struct pm_instance cpu = { .kind = PM_CPU, .number = p->cpu[k].cpu, .cpu = p->cpu[k].cpu };

		n += p->cpu[k].online && places_find(p, &cpu, kind, &f->first[n]);
	}
	qsort(f->first, n, sizeof(*f->first), by_first_cpu);
	for (size_t k = 0; k < n; k++)
		if (!k || place_compare(&f->first[k], &f->first[k - 1]))
			f->first[f->n_first++] = f->first[k];
}

/* Whether the track is of the first CPU of such a place. */
static bool is_of_first(struct feeder *f, enum pm_kind kind, uint32_t t)
{
	const struct places *p = f->s->places;
	const struct pm_instance *i = instance_of(f->s, t);
	struct pm_instance cpu = { .kind = PM_CPU };
	const struct place *first;
	struct place around, own, at;

	/* It is one itself, also without a topology. */
	if (i->kind == kind)
		return true;
	find_first(f, kind);
	if (!places_find(p, i, kind, &around) || !places_find(p, i, i->kind, &own))
		return false;
	first = bsearch(&around, f->first, f->n_first, sizeof(*f->first), place_compare);
	if (!first)
		return false;
	cpu.number = cpu.cpu = first->first_cpu;
	return places_find(p, &cpu, i->kind, &at) && !place_compare(&at, &own);
}

static void feed_places(struct feeder *f, const struct bound_input *in, uint32_t input, uint32_t t)
{
	const struct level *l = f->l;
	uint32_t row = l->row_of[t], last = row;
	bool spread = row == PM_NONE && is_spread(l, in);

	if ((row == PM_NONE && !spread) || (in->more->first_of && !is_of_first(f, in->more->first_of, t)))
		return;
	if (spread) {
		row = 0;
		last = l->n_rows ? l->n_rows - 1 : 0;
	}
	for (; row <= last && row < l->n_rows; row++)
		if (!spread || feeds_row(f->s, &f->s->row[l->first_row + row].place, t))
			feed_input(f, row, input, t);
}

static void feed_level(struct feeder *f)
{
	const struct sheet_private *p = f->s->p;

	for (uint32_t i = 0; i < f->l->n_inputs; i++) {
		const struct bound_input *in = &f->s->binding->input[f->l->input[i]];

		for (uint32_t k = 0; !in->constant && k < in->n_counters; k++)
			for (uint32_t c = in->counter[k], x = p->counter_start[c]; x < p->counter_start[c + 1]; x++)
				if (f->custom)
					feed_custom(f, i, p->of_counter[x]);
				else
					feed_places(f, in, i, p->of_counter[x]);
	}
}

/* Connects tracks with the inputs of rows that they feed. */
static void connect(struct sheet *s, struct level *l, const struct sheet_custom *custom)
{
	size_t n = (size_t)l->n_rows * l->n_inputs;
	struct feeder f = { .s = s, .l = l, .custom = custom };

	l->start = sheet_room(s->p, n + 1, sizeof(*l->start));
	feed_level(&f);
	for (size_t k = 2; k < n + 2; k++)
		l->start[k] += l->start[k - 1];
	l->track = sheet_room(s->p, f.total, sizeof(*l->track));
	f.fill = true;
	feed_level(&f);
	free(f.first);
}

/* The clock of a reading. */
static uint32_t partner_of(const struct sheet *s, const struct bound_input *in, struct track_info info)
{
	uint32_t c = 0;

	while (c + 1 < in->n_counters && in->counter[c] != info.counter)
		c++;
	return track_at(s->p, in->more->clock[c], info.instance);
}

/* Finds the clocks of readings that have one, and the processor's facts at the place of every reading that is
 * multiplied by one. */
static void find_partners(const struct sheet *s, struct level *l)
{
	size_t total = l->start[(size_t)l->n_rows * l->n_inputs];

	for (uint32_t i = 0; i < l->n_inputs; i++) {
		const struct bound_input *in = &s->binding->input[l->input[i]];
		bool clocked = in->more->clock && !in->constant;
		bool times = !in->constant && (in->more->fact || in->more->fixed != 0);

		if (clocked && !l->partner)
			l->partner = sheet_room(s->p, total, sizeof(*l->partner));
		if (times && !l->number)
			l->number = sheet_room(s->p, total, sizeof(*l->number));
		for (uint32_t r = 0; r < l->n_rows && (clocked || times); r++) {
			size_t slot = (size_t)r * l->n_inputs + i;

			for (uint32_t k = l->start[slot]; k < l->start[slot + 1]; k++) {
				struct track_info info = replay_track(s->p->replay, l->track[k]);

				if (clocked)
					l->partner[k] = partner_of(s, in, info);
				if (times)
					l->number[k] = bind_number(
						s->places, in, pm_model_instance(s->places->model, info.instance));
			}
		}
	}
}

static int make_custom(const struct sheet_custom *custom, struct place **place, size_t *n)
{
	uint32_t rows = 0;
	int err = custom->lay_out(custom->ctx, &rows);

	*n = (size_t)rows * custom->scopes;
	*place = memory_new(*n, sizeof(**place));
	for (size_t i = 0; i < *n; i++)
		(*place)[i].kind = PM_SYSTEM;
	return err;
}

/* Once the columns of all levels are chosen: orders the levels, and fills row[] and each level's rows. 0, or -errno
 * of custom rows. */
static int sheet_make_rows(struct sheet *s, const struct sheet_config *config)
{
	struct sheet_private *p = s->p;
	struct filter filter = { .config = config };
	int err = 0;

	/* Levels in the order of rows: the system, then smaller places. */
	for (uint32_t i = 0; i < p->n_levels; i++)
		for (uint32_t k = i; k && p->level[k].kind < p->level[k - 1].kind; k--) {
			struct level swap = p->level[k];

			p->level[k] = p->level[k - 1];
			p->level[k - 1] = swap;
		}
	for (uint32_t i = 0; i < p->n_levels && !err; i++) {
		struct level *l = &p->level[i];
		SCOPED(scoped_free) struct place *place = NULL;
		size_t n = 0;

		if (config->custom)
			err = make_custom(config->custom, &place, &n);
		else
			place = place_tracks(s, l, &filter, &n);
		if (err)
			break;
		s->row = memory_resize(s->row, s->n_rows + n, sizeof(*s->row));
		l->first_row = s->n_rows;
		l->n_rows = (uint32_t)n;
		for (size_t k = 0; k < n; k++)
			s->row[s->n_rows++] = (struct sheet_row){ .place = place[k] };
		connect(s, l, config->custom);
		find_partners(s, l);
		free(l->row_of);
		l->row_of = NULL;
	}
	free(filter.kept);
	return err;
}

int sheet_build(struct sheet *s, const struct sheet_config *config, const struct places *places,
		const struct binding *binding, const bool *shown, struct replay *replay)
{
	const char *owner = config->owner ? config->owner : (const char *)s;
	int err;

	sheet_release(s);
	s->places = places;
	s->binding = binding;
	s->per = config->summary_only ? PM_SYSTEM : config->per;
	s->p = memory_new(1, sizeof(*s->p));
	s->p->replay = replay;
	s->p->block = replay_block(replay);
	index_tracks(s);
	order_packages(s);
	choose_columns(s, config, shown);
	if ((err = sheet_make_rows(s, config)))
		return err;
	make_cells(s);
	join_counters(s, replay);
	average_levels(s, replay, config, owner);
	build_system(s, replay, owner);
	forget_index(s->p);
	make_scratch(s);
	return 0;
}

/* Whether an earlier input has the same counters: what is named twice counts once. */
static bool is_again(const struct sheet *s, const struct bound_metric *m, uint32_t i)
{
	const struct bound_input *in = &s->binding->input[m->input[i]], *of;
	bool again = false;

	for (uint32_t k = 0; k < i && in->counter && in->n_counters && !again; k++) {
		of = &s->binding->input[m->input[k]];
		again = of->counter && of->n_counters == in->n_counters &&
			!memcmp(of->counter, in->counter, in->n_counters * sizeof(*in->counter));
	}
	return again;
}

/* Adds how long an input is known, and how long not. */
static void cover(const struct sheet *s, const struct bound_metric *m, uint32_t input, size_t place,
		  const struct interval *interval, size_t n, double *known, double *lost)
{
	const struct sheet_private *p = s->p;

	if (is_again(s, m, input))
		return;
	for (size_t k = 0; k < n; k++) {
		known[k] += p->in_parts[place] ? p->in_known[place * p->block + k] :
						 p->in_whole[place] * ((double)interval[k].duration_ns / 1e9);
		lost[k] += p->in_parts[place] ? p->in_lost[place * p->block + k] : 0;
	}
}

/* Coverage of a cell with these inputs: what is known over all of them; at most what is known of the formula's
 * system-wide inputs. Returns whether that is less than all. */
static bool sheet_cover(const struct sheet *s, const struct level *l, const struct bound_metric *m,
			const struct interval *interval, size_t n, double *coverage)
{
	struct sheet_private *p = s->p;
	double *known = coverage, *lost = p->all_lost;
	bool any = false;

	for (uint32_t i = 0; i < m->n_inputs; i++) {
		const struct sheet_cell *whole = p->whole ? p->whole[m->input[i]] : NULL;

		any |= p->in_parts[l->place[m->input[i]]] || (whole && whole->coverage);
	}
	if (!any)
		return false;
	memset(known, 0, n * sizeof(*known));
	memset(lost, 0, n * sizeof(*lost));
	for (uint32_t i = 0; i < m->n_inputs; i++)
		cover(s, m, i, l->place[m->input[i]], interval, n, known, lost);
	any = false;
	for (size_t k = 0; k < n; k++) {
		any |= lost[k] > 0;
		coverage[k] = lost[k] > 0 ? known[k] / (known[k] + lost[k]) : 1;
	}
	for (uint32_t i = 0; p->whole && i < m->n_inputs; i++) {
		const struct sheet_cell *whole = p->whole[m->input[i]];

		any |= whole && whole->coverage;
		for (size_t k = 0; whole && whole->coverage && k < n; k++)
			coverage[k] = fmin(coverage[k], whole->coverage[k]);
	}
	return any;
}

static bool takes_time(const struct bound_input *in)
{
	return in->rate || in->aspect == EXPR_RATE || in->aspect == EXPR_ELAPSED || in->aspect == EXPR_SECONDS;
}

/* Whether slow readings of an input make the metric doubtful: if its time counts, or if it is combined with registers
 * that are read one after the other. */
static bool may_doubt(const struct sheet *s, const struct bound_metric *m, const struct bound_input *in)
{
	const struct pm_model *model = s->places->model;

	return in->n_counters && !in->constant &&
	       (takes_time(in) ||
		(m->n_inputs > 1 && !strcmp(pm_model_counter(model, in->counter[0])->source, "msr")));
}

static void doubt_input(const struct sheet *s, const struct level *l, uint32_t row, uint32_t place, size_t n,
			double *coverage)
{
	size_t slot = (size_t)row * l->n_inputs + place;

	for (uint32_t t = l->start[slot]; t < l->start[slot + 1]; t++) {
		const uint8_t *own = replay_doubt(s->p->replay, l->track[t]);

		for (size_t k = 0; own && k < n; k++)
			coverage[k] += coverage[k] >= 1 && own[k];
	}
}

/* Adds to the coverage of a cell where slow readings make it doubtful. */
static void sheet_doubt(const struct sheet *s, const struct level *l, uint32_t row, struct sheet_cell *cell, size_t n)
{
	struct sheet_private *p = s->p;
	const struct bound_metric *m = s->column[cell->column].metric;

	if (!replay_doubts(p->replay))
		return;
	for (uint32_t i = 0; i < m->n_inputs; i++) {
		const struct bound_input *in = &s->binding->input[m->input[i]];
		const struct sheet_cell *whole = p->whole ? p->whole[m->input[i]] : NULL;
		double *coverage = p->coverage + (size_t)(cell - p->cell) * p->block;

		if (!may_doubt(s, m, in) && !(whole && whole->coverage))
			continue;
		for (size_t k = 0; !cell->coverage && k < n; k++)
			coverage[k] = 1;
		cell->coverage = coverage;
		for (size_t k = 0; whole && whole->coverage && k < n; k++)
			coverage[k] += coverage[k] >= 1 && whole->coverage[k] > 1;
		doubt_input(s, l, row, l->place[m->input[i]], n, coverage);
	}
}

/* Starts again, for the first n intervals, of counts. `more`: another counter of the same sum. */
static void aggregate_begin(struct aggregate *a, size_t n, bool more)
{
	a->n = n;
	a->levels = false;
	a->all_whole = more ? a->all_whole + a->whole : 0;
	a->whole = 0;
	a->only_whole = true;
	memset(a->sum, 0, n * sizeof(*a->sum));
	memset(a->weight, 0, n * sizeof(*a->weight));
	memset(a->count, 0, n * sizeof(*a->count));
	memset(a->lost, 0, n * sizeof(*a->lost));
	memset(a->away, 0, n * sizeof(*a->away));
	if (more)
		return;
	a->some_parts = false;
	memset(a->known, 0, n * sizeof(*a->known));
	memset(a->unknown, 0, n * sizeof(*a->unknown));
}

static bool is_away(uint16_t reason, bool may_go)
{
	return status_absent(reason) || (may_go && reason == PM_REASON_GONE);
}

static uint32_t count_at(const struct aggregate *a, size_t k)
{
	return a->count[k] + a->whole;
}

/* Adds how much of the interval was known of the instance. */
static void add_time(struct aggregate *a, size_t k, const struct value *v, const struct support *s,
		     const struct interval *i)
{
	double all = (double)i->duration_ns / 1e9, lost = s ? s->lost : 0;

	/* Nothing was read of it, not even that something was lost. */
	if (v->reason && lost == 0)
		lost = all;
	a->known[k] += v->reason ? 0 : s ? all - s->absent - lost + s->before : all;
	a->unknown[k] += lost;
	a->some_parts = true;
}

static void add_value(struct aggregate *a, size_t k, double v, enum pm_aggregation rule)
{
	if (!count_at(a, k))
		a->sum[k] = v;
	else if (rule == PM_AGG_SUM || rule == PM_AGG_MEAN)
		a->sum[k] += v;
	else if (rule == PM_AGG_MAX ? v > a->sum[k] : rule == PM_AGG_MIN && v < a->sum[k])
		a->sum[k] = v;
	a->count[k]++;
}

static void add_one(struct aggregate *a, size_t k, const struct value *v, const struct support *s,
		    const struct interval *i, enum pm_aggregation rule, bool may_go)
{
	if (v->reason && is_away(v->reason, may_go)) {
		a->away[k] = a->away[k] ? a->away[k] : v->reason;
		return;
	}
	add_time(a, k, v, s, i);
	if (a->levels && rule == PM_AGG_SUM && s && !v->reason && s->absent > 0) {
		add_value(a, k, v->v * s->known / (s->known + s->absent), rule);
		return;
	}
	if (v->reason) {
		a->lost[k] = a->lost[k] ? a->lost[k] : v->reason;
		return;
	}
	if (a->levels && rule == PM_AGG_MEAN) {
		double all = (double)i->duration_ns / 1e9, w = s ? all - s->absent - s->lost + s->before : all;

		w = w > 1e-9 ? w : 1e-9;
		a->weight[k] += w;
		add_value(a, k, v->v * w, rule);
		return;
	}
	add_value(a, k, v->v, rule);
}

/* Adds values that are all known; false: some are not, and nothing was added. Memory is what takes the time, so they
 * are looked at once. */
static bool add_known(struct aggregate *a, const struct value *v)
{
	double sum[PM_CHUNK_ROWS];
	uint16_t any = 0;

	for (size_t k = 0; k < a->n; k++) {
		any |= v[k].reason;
		sum[k] = a->sum[k] + v[k].v;
	}
	if (!any)
		memcpy(a->sum, sum, a->n * sizeof(*sum));
	return !any;
}

/* One instance. `s`: for how long it was known; NULL: all the time. `may_go`: if it is gone it is left out, as if
 * offline (a task that ended). */
static void aggregate_add(struct aggregate *a, const struct value *v, const struct support *s,
			  const struct interval *interval, enum pm_aggregation rule, bool may_go)
{
	/* Nearly all values of nearly all recordings come through here. */
	if (rule == PM_AGG_SUM && !s && add_known(a, v)) {
		a->whole++;
		return;
	}
	a->only_whole = false;
	for (size_t k = 0; k < a->n; k++)
		add_one(a, k, &v[k], s ? &s[k] : NULL, &interval[k], rule, may_go);
}

/* Of instances that count once together (a package's CPUs for an event of the package), the first with a value. */
static void aggregate_add_one_of(struct aggregate *a, const struct value *const *v, const struct support *const *s,
				 size_t n, const struct interval *interval, enum pm_aggregation rule, bool may_go)
{
	a->only_whole = false;
	for (size_t k = 0; k < a->n; k++) {
		size_t i = 0;

		while (i < n && v[i][k].reason)
			i++;
		/* None is known: a loss says more than an absence. */
		if (i == n)
			for (i = 0; i + 1 < n && is_away(v[i][k].reason, may_go); i++)
				;
		add_one(a, k, &v[i][k], s[i] ? &s[i][k] : NULL, &interval[k], rule, may_go);
	}
}

static struct value result(const struct aggregate *a, size_t k, enum pm_aggregation rule, bool as_count)
{
	bool tolerant = rule == PM_AGG_MEAN || rule == PM_AGG_MAX || rule == PM_AGG_MIN || rule == PM_AGG_FIRST;
	uint32_t count = count_at(a, k);

	if (a->lost[k] && !(tolerant && count))
		return value_missing(a->lost[k]);
	if (!count)
		return value_missing(a->away[k] ? a->away[k] : VALUE_NO_INPUT);
	if (as_count)
		return value_of(count);
	if ((rule == PM_AGG_NONE || rule == PM_AGG_NEWER) && count > 1)
		return value_missing(rule == PM_AGG_NONE ? REPORT_LEVEL : PM_REASON_NEWER);
	return value_of(rule == PM_AGG_MEAN ? a->sum[k] / (a->levels ? a->weight[k] : count) : a->sum[k]);
}

/* out += result if begun with `more`, else out = result. `count`: the number of instances. */
static void aggregate_end(struct aggregate *a, enum pm_aggregation rule, bool count, bool more, struct value *out)
{
	if (a->only_whole && a->whole && !count && !more) {
		for (size_t k = 0; k < a->n; k++)
			out[k] = value_of(a->sum[k]);
		return;
	}
	for (size_t k = 0; k < a->n; k++) {
		struct value v = result(a, k, rule, count);

		if (!more || (status_absent(out[k].reason) && !status_absent(v.reason)))
			out[k] = v;
		else if (v.reason && !out[k].reason && !status_absent(v.reason))
			out[k] = v;
		else if (!v.reason && !out[k].reason)
			out[k] = value_of(out[k].v + v.v);
	}
}

/* How long all instances since the beginning were known, and for how long not; false: all of them all of the time,
 * with their number only. */
static bool aggregate_times(const struct aggregate *a, const struct interval *interval, double *known, double *lost,
			    uint32_t *whole)
{
	*whole = a->all_whole + a->whole;
	for (size_t k = 0; a->some_parts && k < a->n; k++) {
		known[k] = a->known[k] + *whole * ((double)interval[k].duration_ns / 1e9);
		lost[k] = a->unknown[k];
	}
	return a->some_parts;
}

static enum track_aspect aspect_of(const struct bound_input *in)
{
	unsigned bits = bound_input_aspects(in);

	return (enum track_aspect)__builtin_ctz(bits);
}

static const struct value *values_of(const struct sheet_private *p, uint32_t track, enum track_aspect aspect)
{
	return replay_values(p->replay, replay_joined(p->replay, track, p->taken), aspect);
}

static const struct support *support_of(const struct sheet_private *p, uint32_t track)
{
	return replay_support(p->replay, replay_joined(p->replay, track, p->taken));
}

/* The same without the intervals in which the track is not used; valid until the next call. */
static const struct value *usable_of(struct sheet_private *p, uint32_t track, enum track_aspect aspect, size_t n)
{
	const struct value *v = values_of(p, track, aspect);

	for (size_t k = 0; p->shuns && k < n; k++)
		p->part[k] = p->shun[track * p->block + k] && !v[k].reason ? value_missing(VALUE_UNSTABLE) : v[k];
	return p->shuns ? p->part : v;
}

static uint64_t field(const struct bound_input *in, uint64_t bits)
{
	return bits >> in->more->lo & ((UINT64_C(1) << (in->more->hi - in->more->lo + 1)) - 1);
}

static struct value make(const struct bound_input *in, const struct value *v, double number,
			 const struct interval *interval)
{
	enum input_op op = (enum input_op)in->more->op;
	uint64_t bits = v->reason ? 0 : (uint64_t)v->v + (uint64_t)(int64_t)v->rest;

	if ((op == INPUT_NUMBER || op == INPUT_WALL) && status_absent(v->reason))
		return *v;
	if (op == INPUT_NUMBER)
		return isnan(number) ? value_missing(VALUE_NO_INPUT) : value_of(number);
	if (op == INPUT_WALL)
		return interval->wall_ns ? value_of((double)interval->wall_ns / 1e9) : value_missing(VALUE_NO_INPUT);
	if (op == INPUT_TIMES && number == 0)
		return value_of(0);
	if (v->reason)
		return *v;
	if (in->more->valid && !(bits >> in->more->valid & 1))
		return value_missing(PM_REASON_SUSPECT);
	if (in->more->fact && isnan(number))
		return value_missing(VALUE_NO_INPUT);
	switch (op) {
	case INPUT_BITS:
		return value_of((double)field(in, bits));
	case INPUT_BELOW:
		return value_of(number - (double)field(in, bits));
	case INPUT_TIMES:
		return value_of(v->v * number + v->rest * number);
	case INPUT_OVER:
		return value_of(v->v / number + v->rest / number);
	default:
		return *v;
	}
}

/* Takes one track's value as it is. */
static void borrow(struct sheet_private *p, uint32_t track, enum track_aspect aspect, const struct interval *interval,
		   size_t intervals, size_t place)
{
	const struct support *s = support_of(p, track);

	p->in_at[place] = values_of(p, track, aspect);
	p->in_parts[place] = s != NULL;
	p->in_whole[place] = 1;
	for (size_t k = 0; s && k < intervals; k++) {
		double all = (double)interval[k].duration_ns / 1e9;

		p->in_known[place * p->block + k] = s[k].known > 0 ? all - s[k].absent - s[k].lost + s[k].before : 0;
		p->in_lost[place * p->block + k] = s[k].lost;
	}
}

static double bytes_of(const struct bound_input *in, uint32_t counter)
{
	uint32_t i = 0;

	while (in->more->bytes && i < in->n_counters && in->counter[i] != counter)
		i++;
	return in->more->bytes && i < in->n_counters ? in->more->bytes[i] : 1;
}

/* A reading whose clock stopped is ignored, as if it did not exist. */
static struct value clocked(const struct bound_input *in, const struct value *v, const struct value *clock,
			    const struct value *elapsed, bool *stood)
{
	if (clock && !clock->reason && clock->v == 0) {
		*stood = true;
		return value_missing(PM_REASON_OFFLINE);
	}
	if (v->reason || in->aspect != EXPR_SECONDS)
		return *v;
	if (!clock)
		return value_missing(VALUE_NO_INPUT);
	return clock->reason ? *clock : elapsed->reason ? *elapsed : value_of(v->v * elapsed->v / clock->v);
}

/* Whether the input is computed from each reading. */
static bool is_made(const struct bound_input *in)
{
	return in->more->op && in->aspect != EXPR_ELAPSED && in->aspect != EXPR_AGGR_NR;
}

/* What the input takes of the x-th track of the level; good until the next call. */
static const struct value *readings_of(struct sheet_private *p, const struct level *l, const struct bound_input *in,
				       uint32_t x, const struct interval *interval, size_t n)
{
	const struct value *v = usable_of(p, l->track[x], aspect_of(in), n), *clock = NULL, *elapsed = NULL;
	double bytes = in->more->clock ? bytes_of(in, p->at[l->track[x]].counter) : 1;

	if (in->more->clock && l->partner[x] != PM_NONE) {
		clock = values_of(p, l->partner[x], TRACK_VALUE);
		elapsed = values_of(p, l->partner[x], TRACK_ELAPSED);
	}
	for (size_t k = 0; in->more->clock && k < n; k++) {
		p->part[k] = clocked(in, &v[k], clock ? &clock[k] : NULL, clock ? &elapsed[k] : NULL, &p->stood[k]);
		if (in->more->bytes && !p->part[k].reason)
			p->part[k] = value_of(p->part[k].v * bytes + p->part[k].rest * bytes);
	}
	for (size_t k = 0; is_made(in) && k < n; k++)
		p->part[k] = make(in, &v[k], l->number ? l->number[x] : 0, &interval[k]);
	return in->more->clock || is_made(in) ? p->part : v;
}

/* Combines the tracks of a slot. `rows`: levels that were combined row by row; NULL: they are combined here. */
static void fill_tracks(struct sheet_private *p, const struct level *l, const struct bound_input *in, size_t slot,
			const struct interval *interval, size_t n, size_t place)
{
	const double *rows = l->average ? replay_averaged(p->replay, l->average[slot]) : NULL;
	uint32_t x = l->start[slot], end = l->start[slot + 1];
	/* Computed values are combined, whatever they are of, and so are times, by whichever rule applies. */
	bool computed = in->more->clock || is_made(in), more = false;
	bool together = computed || (in->more->op && !in->more->own_rule);
	struct value *out = p->in + place * p->block;

	if (sheet_borrows(p, in, l->track + x, end - x)) {
		borrow(p, l->track[x], aspect_of(in), interval, n, place);
		return;
	}
	memset(p->stood, 0, n * sizeof(*p->stood));
	for (; x < end; more = true) {
		const struct track_at *first = &p->at[l->track[x]];
		enum pm_aggregation rule =
			in->more->op && !in->more->own_rule ? in->more->rule : (enum pm_aggregation)first->rule;

		aggregate_begin(&p->aggregate, n, more);
		p->aggregate.levels =
			!computed && (aspect_of(in) == TRACK_MEAN || (first->level && aspect_of(in) == TRACK_VALUE));
		while (x < end && (together || p->at[l->track[x]].counter == first->counter)) {
			const struct track_at *at = &p->at[l->track[x]];
			uint32_t same = 0;

			if (!at->per_package || computed) {
				aggregate_add(&p->aggregate, readings_of(p, l, in, x, interval, n),
					      support_of(p, l->track[x]), interval, rule, at->may_go);
				x++;
				continue;
			}
			for (; x < end && p->at[l->track[x]].counter == at->counter &&
			       p->at[l->track[x]].per_package && p->at[l->track[x]].package == at->package;
			     x++) {
				p->one_of[same] = values_of(p, l->track[x], aspect_of(in));
				p->one_of_support[same++] = support_of(p, l->track[x]);
			}
			aggregate_add_one_of(&p->aggregate, p->one_of, p->one_of_support, same, interval, rule,
					     at->may_go);
		}
		aggregate_end(&p->aggregate, rule, in->aspect == EXPR_AGGR_NR, more, out);
	}
	for (size_t k = 0; rows && !p->taken && !p->shuns && k < n; k++)
		if (!out[k].reason && !isnan(rows[k]))
			out[k] = value_of(rows[k]);
	for (size_t k = 0; k < n; k++)
		if (p->stood[k] && out[k].reason == PM_REASON_OFFLINE)
			out[k] = value_missing(PM_REASON_NOT_COUNTED);
	p->in_parts[place] = aggregate_times(&p->aggregate, interval, p->in_known + place * p->block,
					     p->in_lost + place * p->block, &p->in_whole[place]);
	p->in_at[place] = out;
}

static void fill_fed(struct sheet *s, const struct level *l, uint32_t row, uint32_t place,
		     const struct interval *interval, size_t n)
{
	struct sheet_private *p = s->p;
	const struct bound_input *in = &s->binding->input[l->input[place]];
	const struct sheet_cell *whole = p->whole ? p->whole[l->input[place]] : NULL;
	size_t slot = (size_t)row * l->n_inputs + place;
	struct value *out = p->in + (size_t)place * p->block;

	if (l->start[slot] < l->start[slot + 1]) {
		fill_tracks(p, l, in, slot, interval, n, place);
		return;
	}
	p->in_parts[place] = false;
	p->in_whole[place] = 0;
	if (whole) {
		p->in_at[place] = whole->value;
		return;
	}
	for (size_t k = 0; k < n; k++)
		out[k] = in->constant ? in->more->value :
			 in->duration ? value_of((double)interval[k].duration_ns / 1e9) :
					value_missing(VALUE_NO_INPUT);
	p->in_at[place] = out;
}

/* A PMU of the kind that was not recorded counts as a member without known values. */
static void fill_input(struct sheet *s, const struct level *l, uint32_t row, uint32_t place,
		       const struct interval *interval, size_t n)
{
	const struct bound_input *in = &s->binding->input[l->input[place]];
	const struct place *at = &s->row[l->first_row + row].place;
	struct value *out = s->p->in + (size_t)place * s->p->block;

	fill_fed(s, l, row, place, interval, n);
	for (uint32_t i = 0; at->kind != PM_PMU && i < in->more->n_shut; i++)
		for (size_t k = 0;
		     k < n && (in->more->shut[i].cpu == PM_NONE ||
			       place_has(s->places, at, &(struct place){ .first_cpu = in->more->shut[i].cpu }));
		     k++)
			out[k] = out[k].reason ? out[k] : value_missing(in->more->shut[i].reason);
}

static void take_inputs(struct sheet_private *p, const struct level *l, const struct bound_metric *m)
{
	for (uint32_t i = 0; i < m->n_inputs; i++)
		p->arg[i] = p->in_at[l->place[m->input[i]]];
}

/* Whether counters that the formula uses together have missed something, or are combined row by row without
 * the others. */
static bool is_split(const struct sheet *s, const struct level *l, uint32_t row, const struct bound_metric *m,
		     uint32_t formula)
{
	for (uint32_t i = 0; formula && i < m->n_inputs; i++) {
		size_t slot = (size_t)row * l->n_inputs + l->place[m->input[i]];

		if (l->average && replay_averaged(s->p->replay, l->average[slot]))
			return true;
		for (uint32_t t = l->start[slot]; t < l->start[slot + 1]; t++)
			if (replay_joined(s->p->replay, l->track[t], formula) != l->track[t])
				return true;
	}
	return false;
}

static void fill_inputs(struct sheet *s, const struct level *l, uint32_t row, const struct bound_metric *m,
			uint32_t formula, const struct interval *interval, size_t n)
{
	s->p->taken = formula;
	for (uint32_t i = 0; i < m->n_inputs; i++)
		fill_input(s, l, row, l->place[m->input[i]], interval, n);
	s->p->taken = 0;
}

/* Whether nothing is known of any member of an input. */
static bool is_alone(const struct sheet_private *p, uint32_t place, size_t k)
{
	uint16_t reason = p->in_at[place][k].reason;

	return reason && reason != REPORT_LEVEL && !(p->in_parts[place] && p->in_known[place * p->block + k] > 0);
}

/* Fills those that the row has not needed so far. */
static void need_inputs(struct sheet *s, const struct level *l, uint32_t row, const uint32_t *input, uint32_t inputs,
			const struct interval *interval, size_t n)
{
	for (uint32_t i = 0; i < inputs; i++) {
		uint32_t place = l->place[input[i]];

		if (s->p->in_row[place] == s->p->rows)
			continue;
		s->p->in_row[place] = s->p->rows;
		fill_input(s, l, row, place, interval, n);
	}
}

/* Evaluates again, with other inputs, into joint[] and joint_coverage[]; returns whether that is less than all. */
static bool fill_again(struct sheet *s, const struct level *l, uint32_t row, const struct bound_metric *m,
		       uint32_t formula, const struct interval *interval, size_t n)
{
	struct sheet_private *p = s->p;

	fill_inputs(s, l, row, m, formula, interval, n);
	take_inputs(p, l, m);
	expr_eval_rows(m->expr, p->arg, n, p->joint, p->scratch);
	return sheet_cover(s, l, m, interval, n, p->joint_coverage);
}

/* Evaluates again with what is known of all inputs together. An input that is missing by itself restricts no other.
 */
static bool fill_joint(struct sheet *s, const struct level *l, uint32_t row, const struct bound_metric *m,
		       uint32_t formula, const struct interval *interval, size_t n, struct value *out,
		       double *coverage, bool any)
{
	struct sheet_private *p = s->p;
	bool alone[PM_CHUNK_ROWS] = { false }, some;

	for (uint32_t i = 0; i < m->n_inputs; i++)
		for (size_t k = 0; k < n && !s->binding->input[m->input[i]].more->whole; k++)
			alone[k] |= is_alone(p, l->place[m->input[i]], k);
	some = fill_again(s, l, row, m, formula, interval, n);
	for (size_t k = 0; k < n; k++) {
		coverage[k] = any ? coverage[k] : 1;
		if (alone[k])
			continue;
		out[k] = p->joint[k];
		coverage[k] = some ? p->joint_coverage[k] : 1;
	}
	fill_inputs(s, l, row, m, 0, interval, n);
	return true;
}

/* As far apart as the readings of two counters may be without a doubt about either. */
#define SHARE_MOST   101
#define SHARE_INPUTS 32

/* The input with most members, as its place; PM_NONE: none has several, or some is not what tracks say. */
static uint32_t finest_input(const struct sheet *s, const struct level *l, uint32_t row, const struct bound_metric *m)
{
	uint32_t finest = PM_NONE, most = 1;

	for (uint32_t i = 0; i < m->n_inputs; i++) {
		const struct bound_input *in = &s->binding->input[m->input[i]];
		uint32_t n = level_feeds(l, row, l->place[m->input[i]]);

		if (n && (in->more->op || in->more->clock || in->more->n_shut || in->aspect == EXPR_AGGR_NR))
			return PM_NONE;
		if (n > most) {
			most = n;
			finest = l->place[m->input[i]];
		}
	}
	return finest;
}

/* Computes the share of each member by itself. `late`: one has more than all of its time; `bad`: one contradicts
 * itself, and its tracks are not to be used. Returns whether that is so in any interval. */
static bool try_members(struct sheet *s, const struct level *l, uint32_t row, const struct bound_metric *m, size_t n,
			bool *late, bool *bad)
{
	struct sheet_private *p = s->p;
	uint32_t finest = finest_input(s, l, row, m), used[SHARE_INPUTS];
	uint32_t members = finest == PM_NONE || m->n_inputs > SHARE_INPUTS ? 0 : level_feeds(l, row, finest);
	size_t slots = (size_t)row * l->n_inputs;
	bool any = false;

	for (uint32_t j = 0; j < members; j++) {
		bool whole = true;

		for (uint32_t i = 0; i < m->n_inputs && whole; i++) {
			uint32_t place = l->place[m->input[i]];
			const struct bound_input *in = &s->binding->input[m->input[i]];

			used[i] = PM_NONE;
			p->arg[i] = p->in_at[place];
			if (!level_feeds(l, row, place))
				continue;
			used[i] = beside(s, l, slots + place, l->track[l->start[slots + finest] + j], j);
			whole = used[i] != PM_NONE;
			if (whole)
				p->arg[i] = values_of(p, l->track[used[i]], aspect_of(in));
		}
		if (!whole)
			continue;
		expr_eval_rows(m->expr, p->arg, n, p->judged, p->scratch);
		for (size_t k = 0; k < n; k++) {
			late[k] |= !p->judged[k].reason && p->judged[k].v > SHARE_MOST;
			if (p->judged[k].reason != VALUE_UNSTABLE)
				continue;
			any = bad[k] = true;
			if (!p->shun)
				p->shun = sheet_room(p, replay_tracks(p->replay) * p->block, 1);
			for (uint32_t i = 0; i < m->n_inputs && p->shun; i++)
				if (used[i] != PM_NONE)
					p->shun[l->track[used[i]] * p->block + k] = 1;
		}
	}
	return any && p->shun;
}

/* Leaves out members whose own share is no share, and doubts what is more than all of the time. Returns whether
 * `coverage` counts. */
static bool fill_share(struct sheet *s, const struct level *l, uint32_t row, const struct bound_metric *m,
		       uint32_t formula, const struct interval *interval, size_t n, struct value *out,
		       double *coverage, bool any)
{
	struct sheet_private *p = s->p;
	bool late[PM_CHUNK_ROWS] = { false }, bad[PM_CHUNK_ROWS] = { false }, some;

	p->taken = formula;
	some = try_members(s, l, row, m, n, late, bad);
	p->taken = 0;
	for (size_t k = 0; k < n; k++) {
		late[k] |= out[k].v > SHARE_MOST;
		coverage[k] = any ? coverage[k] : 1;
	}
	if (some) {
		p->shuns = true;
		some = fill_again(s, l, row, m, formula, interval, n);
		p->shuns = false;
		for (size_t k = 0; k < n; k++) {
			out[k] = bad[k] ? p->joint[k] : out[k];
			coverage[k] = bad[k] && some ? p->joint_coverage[k] : coverage[k];
		}
		memset(p->shun, 0, replay_tracks(p->replay) * p->block);
		fill_inputs(s, l, row, m, 0, interval, n);
		any = true;
	}
	for (size_t k = 0; k < n; k++) {
		any |= late[k];
		coverage[k] += late[k] && !out[k].reason && coverage[k] >= 1;
	}
	return any;
}

static void fill_cell(struct sheet *s, const struct level *l, uint32_t row, struct sheet_cell *cell,
		      const struct interval *interval, size_t n)
{
	struct sheet_private *p = s->p;
	const struct bound_metric *m = s->column[cell->column].metric;
	uint32_t formula = p->formula[cell->column];
	size_t at = (size_t)(cell - p->cell) * p->block;
	double *coverage = p->coverage + at;
	struct value *out;
	bool any;

	need_inputs(s, l, row, m->input, m->n_inputs, interval, n);
	if (m->threshold)
		need_inputs(s, l, row, m->threshold->input, m->threshold->n_inputs, interval, n);
	any = sheet_cover(s, l, m, interval, n, coverage);
	take_inputs(p, l, m);
	cell->lasts = false;
	/* What is not scratch stays unchanged until the sink returns. */
	if (!m->expr && p->arg[0] != p->in + l->place[m->input[0]] * p->block) {
		cell->coverage = any ? coverage : NULL;
		cell->value = p->arg[0];
		cell->lasts = !(p->whole && p->whole[m->input[0]]);
		return;
	}
	out = p->value + (cell->value - p->value);
	if (m->expr)
		expr_eval_rows(m->expr, p->arg, n, out, p->scratch);
	else
		memcpy(out, p->arg[0], n * sizeof(*out));
	if (!is_split(s, l, row, m, formula))
		formula = 0;
	if (formula)
		any = fill_joint(s, l, row, m, formula, interval, n, out, coverage, any);
	if (m->share && m->expr)
		any = fill_share(s, l, row, m, formula, interval, n, out, coverage, any);
	cell->coverage = any ? coverage : NULL;
	if (m->threshold)
		judge(p, l, m->threshold, out, n, p->verdict + at);
}

enum sheet_verdict sheet_verdict(const struct sheet *s, const struct sheet_cell *cell, size_t k)
{
	const struct sheet_private *p = s->p;

	return p->verdict ? (enum sheet_verdict)p->verdict[(size_t)(cell - p->cell) * p->block + k] : SHEET_UNJUDGED;
}

void sheet_fill(struct sheet *s, const struct interval *interval, size_t n)
{
	uint32_t settled = replay_settled(s->p->replay);
	bool still = settled && settled == s->p->filled;

	if (s->p->system)
		sheet_fill(s->p->system, interval, n);
	s->p->filled = settled;
	for (uint32_t i = 0; i < s->p->n_levels; i++) {
		const struct level *l = &s->p->level[i];

		for (uint32_t r = 0; r < l->n_rows; r++) {
			struct sheet_row *row = &s->row[l->first_row + r];

			s->p->rows++;
			for (uint32_t c = 0; c < row->n_cells; c++) {
				if (still && row->cell[c].lasts)
					continue;
				fill_cell(s, l, r, &row->cell[c], interval, n);
				sheet_doubt(s, l, r, &row->cell[c], n);
			}
		}
	}
}
