/* The rows of a sheet: which places each level has, and which tracks feed which of their inputs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "report/numbers/sheet_private.h"
#include "report/machine/telemetry.h"

static int compare_places(const void *a, const void *b)
{
	return place_compare(a, b);
}

struct filter {
	const struct sheet_config *config;
	struct place *kept; /* places of a level that contain a CPU of the set */
	size_t n;
};

/* Whether --cpu keeps the row; `before`: the previous row of the same level. */
static bool passes(const struct filter *f, const struct place *place, const struct place *before)
{
	bool topological = place->kind == PM_CPU || kind_contains(place->kind, PM_CPU);

	if (!topological || place->kind == PM_SYSTEM)
		return true;
	switch (f->config->rows) {
	case SHEET_CPU_SET:
		return bsearch(place, f->kept, f->n, sizeof(*place), compare_places) != NULL;
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

/* Whether counts at that place count for the system. */
static bool counts(const struct sheet *s, const struct sheet_config *config, const struct pm_instance *i)
{
	bool part = i->kind == PM_PMU && i->cpu != PM_NONE;
	struct place at;

	if (!config->set_alone || !places_find(s->places, i, part ? PM_PACKAGE : i->kind, &at) ||
	    (at.kind != PM_CPU && !kind_contains(at.kind, PM_CPU)))
		return true;
	for (size_t k = 0; k < config->cpus.n; k++)
		if (place_has(s->places, &at, &(struct place){ .first_cpu = config->cpus.cpu[k] }))
			return true;
	return false;
}

static int prepare_filter(struct filter *f, const struct sheet *s, enum pm_kind kind)
{
	const struct cpulist *cpus = &f->config->cpus;

	free(f->kept);
	f->n = 0;
	f->kept = malloc((cpus->n + 1) * sizeof(*f->kept));
	if (!f->kept)
		return -ENOMEM;
	for (size_t i = 0; i < cpus->n; i++) {
		struct pm_instance cpu = { .kind = PM_CPU, .number = cpus->cpu[i], .cpu = cpus->cpu[i] };

		f->n += places_find(s->places, &cpu, kind, &f->kept[f->n]);
	}
	qsort(f->kept, f->n, sizeof(*f->kept), compare_places);
	return 0;
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

struct numbered {
	uint32_t number, track;
};

static int by_number(const void *left, const void *right)
{
	const struct numbered *a = left, *b = right;

	return array_order(a->number, b->number, a->track, b->track);
}

/* Fills region[] if some input is telemetry. A region that came back has its number a second time. */
static int number_regions(struct sheet *s)
{
	struct sheet_private *p = s->p;
	size_t tracks = replay_tracks(p->replay);
	SCOPED(scoped_free) struct numbered *of = NULL;
	bool any = false;

	for (size_t i = 0; i < s->binding->n_inputs; i++)
		any |= s->binding->input[i].more->telemetry && !s->binding->input[i].constant;
	if (!any)
		return 0;
	of = malloc((tracks + 1) * sizeof(*of));
	p->region = sheet_room(p, tracks, sizeof(*p->region));
	if (!of || !p->region)
		return -ENOMEM;
	for (uint32_t c = 1; c < p->n_counters; c++) {
		const uint32_t *t = p->of_counter + p->counter_start[c];
		uint32_t n = p->counter_start[c + 1] - p->counter_start[c], region = 0;

		for (uint32_t i = 0; i < n; i++)
			of[i] = (struct numbered){
				telemetry_number(
					pm_model_instance(s->places->model, replay_track(p->replay, t[i]).instance)),
				t[i],
			};
		qsort(of, n, sizeof(*of), by_number);
		for (uint32_t i = 0; i < n; i++) {
			region += i && of[i].number != of[i - 1].number;
			p->region[of[i].track] = of[i].number == PM_NONE ? PM_NONE : region;
		}
	}
	return 0;
}

/* The CPUs for which the track counts as this input. */
static uint32_t cpus_of_track(const struct sheet *s, const struct bound_input *in, uint32_t t, uint32_t *cpu)
{
	const struct pm_counter *c = pm_model_counter(s->places->model, replay_track(s->p->replay, t).counter);
	uint32_t region = s->p->region[t];

	return region == PM_NONE ? 0 : telemetry_cpus(s->places, (enum telemetry)in->more->telemetry, c, region, cpu);
}

/* Marks CPUs for which telemetry has a number: they have rows even if nothing else was read of them. */
static void mark_cpus(const struct sheet *s, const struct level *l, bool *marked, uint32_t *cpu)
{
	const struct sheet_private *p = s->p;

	for (uint32_t i = 0; i < l->n_inputs; i++) {
		const struct bound_input *in = &s->binding->input[l->input[i]];

		for (uint32_t k = 0; in->more->telemetry && !in->constant && k < in->n_counters; k++) {
			uint32_t c = in->counter[k];

			for (uint32_t x = p->counter_start[c]; x < p->counter_start[c + 1]; x++)
				for (uint32_t n = cpus_of_track(s, in, p->of_counter[x], cpu); n; n--)
					marked[places_cpu(s->places, cpu[n - 1]) - s->places->cpu] = true;
		}
	}
}

/* Places are found in the order of tracks, of which many in a row often share one. */
static uint32_t put_place(const struct place *at, struct place *found, size_t *n)
{
	if (!*n || place_compare(&found[*n - 1], at))
		found[(*n)++] = *at;
	return (uint32_t)*n - 1;
}

static int place_tracks(struct sheet *s, struct level *l, struct filter *filter, struct place **rows, size_t *n_rows)
{
	const struct pm_model *m = s->places->model;
	size_t n = replay_tracks(s->p->replay), of_tracks, found = 0, kept = 0;
	size_t cpus = s->places->n;
	uint32_t slots = 0;
	struct place *sorted = NULL;
	SCOPED(scoped_free) struct place *at = malloc((n + cpus + 1) * sizeof(*at));
	SCOPED(scoped_free)
	bool *wanted = calloc((size_t)m->n_counters + 1, sizeof(*wanted)),
	     *marked = calloc(cpus + 1, sizeof(*marked));
	SCOPED(scoped_free) uint32_t *cpu = malloc((cpus + 1) * sizeof(*cpu)), *row = NULL, *of_slot = NULL;
	int err = filter->config->rows == SHEET_CPU_SET ? prepare_filter(filter, s, l->kind) : 0;
	struct place one;

	for (uint32_t i = 0; i < m->n_instances; i++)
		slots = m->instance[i].slot < slots ? slots : m->instance[i].slot + 1;
	of_slot = calloc(slots + 1, sizeof(*of_slot));
	l->row_of = malloc((n + 1) * sizeof(*l->row_of));
	if (!at || !wanted || !marked || !cpu || !of_slot || !l->row_of || err) {
		err = -ENOMEM;
		goto out;
	}
	mark_counters(s, l, wanted);
	for (size_t t = 0; t < n; t++) {
		struct track_info info = replay_track(s->p->replay, t);
		const struct pm_instance *in = pm_model_instance(m, info.instance);
		uint32_t *place = &of_slot[in->slot];

		/* 0: not looked for yet, 1: nowhere. */
		if (wanted[info.counter] && !*place)
			*place = (l->kind != PM_SYSTEM || counts(s, filter->config, in)) &&
						 places_find(s->places, in, l->kind, &one) ?
					 put_place(&one, at, &found) + 2 :
					 1;
		l->row_of[t] = wanted[info.counter] ? *place - 2 : PM_NONE;
	}
	of_tracks = found;
	mark_cpus(s, l, marked, cpu);
	for (size_t i = 0; i < cpus; i++) {
		struct pm_instance in = { .kind = PM_CPU,
					  .number = s->places->cpu[i].cpu,
					  .cpu = s->places->cpu[i].cpu };

		if (marked[i] && places_find(s->places, &in, l->kind, &one))
			put_place(&one, at, &found);
	}
	/* The system exists even for a formula of machine facts alone. */
	if (l->kind == PM_SYSTEM && !found)
		places_find(s->places, &(struct pm_instance){ .kind = PM_SYSTEM }, PM_SYSTEM, &at[found++]);
	sorted = malloc((found + 1) * sizeof(*sorted));
	row = malloc((of_tracks + 1) * sizeof(*row));
	if (!sorted || !row) {
		err = -ENOMEM;
		goto out;
	}
	memcpy(sorted, at, found * sizeof(*sorted));
	qsort(sorted, found, sizeof(*sorted), compare_places);
	for (size_t i = 0; i < found; i++) {
		if (i && !place_compare(&sorted[i], &sorted[i - 1]))
			continue;
		if (passes(filter, &sorted[i], kept ? &sorted[kept - 1] : NULL))
			sorted[kept++] = sorted[i];
	}
	for (size_t i = 0; i < of_tracks; i++) {
		const struct place *p = bsearch(&at[i], sorted, kept, sizeof(*sorted), compare_places);

		row[i] = p ? (uint32_t)(p - sorted) : PM_NONE;
	}
	for (size_t t = 0; t < n; t++)
		if (l->row_of[t] != PM_NONE)
			l->row_of[t] = row[l->row_of[t]];
	*rows = sorted;
	*n_rows = kept;
	sorted = NULL;
out:
	free(sorted);
	return err;
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

/* Whether a telemetry value counts in the row. The system also has values of unknown places. */
static bool counts_in_row(const struct sheet *s, const struct place *row, const struct bound_input *in, uint32_t t,
			  uint32_t *cpu)
{
	if (!s->places->n || s->p->region[t] == PM_NONE)
		return row->kind == PM_SYSTEM;
	for (uint32_t n = cpus_of_track(s, in, t, cpu); n; n--)
		if (place_has(s->places, row, &(struct place){ .first_cpu = cpu[n - 1] }))
			return true;
	return false;
}

static bool lies_in_row(const struct sheet *s, const struct bound_input *in, uint32_t t, uint32_t row, uint32_t *cpu)
{
	const struct place *place = &s->row[row].place;

	return in->more->telemetry ? counts_in_row(s, place, in, t, cpu) : feeds_row(s, place, t);
}

/* The feeds of a level are counted first, then filled in. */
struct feeder {
	struct sheet *s;
	struct level *l;
	const struct sheet_custom *custom;
	uint32_t *cpu;
	bool fill;
	size_t total;
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

static void feed_places(struct feeder *f, const struct bound_input *in, uint32_t input, uint32_t t)
{
	const struct level *l = f->l;
	uint32_t row = l->row_of[t], last = row;
	bool spread = in->more->telemetry || (row == PM_NONE && is_spread(l, in));

	if (row == PM_NONE && !spread)
		return;
	if (spread) {
		row = 0;
		last = l->n_rows ? l->n_rows - 1 : 0;
	}
	for (; row <= last && row < l->n_rows; row++)
		if (!spread || lies_in_row(f->s, in, t, l->first_row + row, f->cpu))
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
static int connect(struct sheet *s, struct level *l, const struct sheet_custom *custom)
{
	size_t n = (size_t)l->n_rows * l->n_inputs;
	struct feeder f = { .s = s, .l = l, .custom = custom };

	l->start = sheet_room(s->p, n + 1, sizeof(*l->start));
	f.cpu = malloc(((size_t)s->places->n + 1) * sizeof(*f.cpu));
	if (l->start && f.cpu) {
		feed_level(&f);
		for (size_t k = 2; k < n + 2; k++)
			l->start[k] += l->start[k - 1];
		l->track = sheet_room(s->p, f.total, sizeof(*l->track));
		f.fill = true;
		if (l->track)
			feed_level(&f);
	}
	free(f.cpu);
	return l->track ? 0 : -ENOMEM;
}

/* The track of a counter at an instance, or PM_NONE. */
static uint32_t track_at(const struct sheet_private *p, uint32_t counter, uint32_t instance)
{
	for (uint32_t x = counter ? p->counter_start[counter] : 0; counter && x < p->counter_start[counter + 1]; x++)
		if (replay_track(p->replay, p->of_counter[x]).instance == instance)
			return p->of_counter[x];
	return PM_NONE;
}

/* Finds the clocks of readings that have one. */
static int find_partners(const struct sheet *s, struct level *l)
{
	size_t total = l->start[(size_t)l->n_rows * l->n_inputs];

	for (uint32_t i = 0; i < l->n_inputs; i++) {
		const struct bound_input *in = &s->binding->input[l->input[i]];

		if (!in->more->clock || in->constant)
			continue;
		if (!l->partner && !(l->partner = sheet_room(s->p, total, sizeof(*l->partner))))
			return -ENOMEM;
		for (uint32_t r = 0; r < l->n_rows; r++) {
			size_t slot = (size_t)r * l->n_inputs + i;

			for (uint32_t k = l->start[slot]; k < l->start[slot + 1]; k++) {
				struct track_info info = replay_track(s->p->replay, l->track[k]);
				uint32_t c = 0;

				while (c + 1 < in->n_counters && in->counter[c] != info.counter)
					c++;
				l->partner[k] = track_at(s->p, in->more->clock[c], info.instance);
			}
		}
	}
	return 0;
}

/* Finds the processor's facts at the place of every reading that is multiplied by one. */
static int find_numbers(const struct sheet *s, struct level *l)
{
	size_t total = l->start[(size_t)l->n_rows * l->n_inputs];

	for (uint32_t i = 0; i < l->n_inputs; i++) {
		const struct bound_input *in = &s->binding->input[l->input[i]];

		if ((!in->more->fact && in->more->fixed == 0) || in->constant)
			continue;
		if (!l->number && !(l->number = sheet_room(s->p, total, sizeof(*l->number))))
			return -ENOMEM;
		for (uint32_t r = 0; r < l->n_rows; r++) {
			size_t slot = (size_t)r * l->n_inputs + i;

			for (uint32_t k = l->start[slot]; k < l->start[slot + 1]; k++) {
				struct track_info info = replay_track(s->p->replay, l->track[k]);

				l->number[k] = bind_number(s->places, in,
							   pm_model_instance(s->places->model, info.instance));
			}
		}
	}
	return 0;
}

static int make_custom(const struct sheet_custom *custom, struct place **place, size_t *n)
{
	uint32_t rows = 0;
	int err = custom->lay_out(custom->ctx, &rows);

	*n = (size_t)rows * custom->scopes;
	*place = err ? NULL : calloc(*n + 1, sizeof(**place));
	for (size_t i = 0; *place && i < *n; i++)
		(*place)[i].kind = PM_SYSTEM;
	return err ? err : *place ? 0 : -ENOMEM;
}

int sheet_make_rows(struct sheet *s, const struct sheet_config *config)
{
	struct sheet_private *p = s->p;
	struct filter filter = { .config = config };
	int err = number_regions(s);

	/* Levels in the order of rows: the system, then smaller places. */
	for (uint32_t i = 0; i < p->n_levels && !err; i++)
		for (uint32_t k = i; k && p->level[k].kind < p->level[k - 1].kind; k--) {
			struct level swap = p->level[k];

			p->level[k] = p->level[k - 1];
			p->level[k - 1] = swap;
		}
	for (uint32_t i = 0; i < p->n_levels && !err; i++) {
		struct level *l = &p->level[i];
		SCOPED(scoped_free) struct place *place = NULL;
		struct sheet_row *row;
		size_t n = 0;

		err = config->custom ? make_custom(config->custom, &place, &n) :
				       place_tracks(s, l, &filter, &place, &n);
		row = err ? NULL : realloc(s->row, (s->n_rows + n + 1) * sizeof(*row));
		if (row) {
			s->row = row;
			l->first_row = s->n_rows;
			l->n_rows = (uint32_t)n;
			for (size_t k = 0; k < n; k++)
				s->row[s->n_rows++] = (struct sheet_row){ .place = place[k] };
			err = connect(s, l, config->custom);
			if (!err)
				err = find_numbers(s, l);
			if (!err)
				err = find_partners(s, l);
			free(l->row_of);
			l->row_of = NULL;
		} else if (!err) {
			err = -ENOMEM;
		}
	}
	free(filter.kept);
	return err;
}
