/* The numbers of a sheet: inputs of every row from its tracks, then the formulas. */
#include <math.h>
#include <string.h>

#include "report/numbers/sheet_private.h"
#include "report/machine/status.h"

/* ---- several instances ---- */

/* Starts again, for the first n intervals, of counts. `more`: another counter of the same sum. */
static void aggregate_begin(struct aggregate *a, size_t n, bool more)
{
	a->n = n;
	a->levels = false;
	a->all_whole = more ? a->all_whole + a->whole : 0;
	a->whole = 0;
	memset(a->sum, 0, n * sizeof(*a->sum));
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
	for (size_t k = 0; k < a->n; k++)
		add_one(a, k, &v[k], s ? &s[k] : NULL, &interval[k], rule, may_go);
}

/* Of instances that count once together (a package's CPUs for an event of the package), the first with a value. */
static void aggregate_add_one_of(struct aggregate *a, const struct value *const *v, const struct support *const *s,
				 size_t n, const struct interval *interval, enum pm_aggregation rule, bool may_go)
{
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
	return value_of(rule == PM_AGG_MEAN ? a->sum[k] / count : a->sum[k]);
}

/* out += result if begun with `more`, else out = result. `count`: the number of instances. */
static void aggregate_end(struct aggregate *a, enum pm_aggregation rule, bool count, bool more, struct value *out)
{
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

/* ---- inputs ---- */

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

static uint64_t field(const struct bound_input *in, uint64_t bits)
{
	return bits >> in->more->lo & ((UINT64_C(1) << (in->more->hi - in->more->lo + 1)) - 1);
}

static struct value make(const struct bound_input *in, const struct value *v, double number,
			 const struct interval *interval)
{
	uint64_t bits = v->reason ? 0 : (uint64_t)v->v + (uint64_t)(int64_t)v->rest;

	switch ((enum input_op)in->more->op) {
	case INPUT_NUMBER:
		if (status_absent(v->reason))
			return *v;
		return isnan(number) ? value_missing(VALUE_NO_INPUT) : value_of(number);
	case INPUT_WALL:
		return status_absent(v->reason) ? *v :
		       interval->wall_ns        ? value_of((double)interval->wall_ns / 1e9) :
						  value_missing(VALUE_NO_INPUT);
	case INPUT_TIMES:
		if (number == 0)
			return value_of(0);
		break;
	default:
		break;
	}
	if (v->reason)
		return *v;
	if (in->more->valid && !(bits >> in->more->valid & 1))
		return value_missing(PM_REASON_SUSPECT);
	if (in->more->fact && isnan(number))
		return value_missing(VALUE_NO_INPUT);
	switch ((enum input_op)in->more->op) {
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

static void note_coverage(struct sheet_private *p, const struct interval *interval, size_t place)
{
	p->in_parts[place] = aggregate_times(&p->aggregate, interval, p->in_known + place * p->block,
					     p->in_lost + place * p->block, &p->in_whole[place]);
}

/* Combines values that are computed from each reading. */
static void fill_made(struct sheet_private *p, const struct bound_input *in, const uint32_t *track,
		      const double *number, uint32_t n, const struct interval *interval, size_t intervals,
		      size_t place)
{
	struct value *out = p->in + place * p->block;
	enum pm_aggregation rule = in->more->own_rule ? (enum pm_aggregation)p->at[track[0]].rule : in->more->rule;

	aggregate_begin(&p->aggregate, intervals, false);
	for (uint32_t i = 0; i < n; i++) {
		const struct value *v = values_of(p, track[i], aspect_of(in));

		for (size_t k = 0; k < intervals; k++)
			p->part[k] = make(in, &v[k], number ? number[i] : 0, &interval[k]);
		aggregate_add(&p->aggregate, p->part, support_of(p, track[i]), interval, rule,
			      p->at[track[i]].may_go);
	}
	aggregate_end(&p->aggregate, rule, false, false, out);
	note_coverage(p, interval, place);
	p->in_at[place] = out;
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

static void fill_tracks(struct sheet_private *p, const struct bound_input *in, const uint32_t *track, uint32_t n,
			const struct interval *interval, size_t intervals, size_t place)
{
	enum track_aspect aspect = aspect_of(in);
	bool count = in->aspect == EXPR_AGGR_NR;
	struct value *out = p->in + place * p->block;

	if (sheet_borrows(p, in, track, n)) {
		borrow(p, track[0], aspect, interval, intervals, place);
		return;
	}
	for (uint32_t i = 0; i < n;) {
		uint32_t counter = p->at[track[i]].counter;
		bool more = i > 0;
		/* Times are combined like values, by whichever rule applies. */
		bool by_input = in->more->op && !in->more->own_rule;
		enum pm_aggregation rule = by_input ? in->more->rule : (enum pm_aggregation)p->at[track[i]].rule;

		aggregate_begin(&p->aggregate, intervals, more);
		p->aggregate.levels = aspect == TRACK_MEAN || (p->at[track[i]].level && aspect == TRACK_VALUE);
		while (i < n && (by_input || p->at[track[i]].counter == counter)) {
			const struct track_at *at = &p->at[track[i]];
			uint32_t same = 0;

			if (!at->per_package) {
				aggregate_add(&p->aggregate, values_of(p, track[i], aspect), support_of(p, track[i]),
					      interval, rule, at->may_go);
				i++;
				continue;
			}
			for (; i < n && p->at[track[i]].counter == at->counter && p->at[track[i]].per_package &&
			       p->at[track[i]].package == at->package;
			     i++) {
				p->one_of[same] = values_of(p, track[i], aspect);
				p->one_of_support[same++] = support_of(p, track[i]);
			}
			aggregate_add_one_of(&p->aggregate, p->one_of, p->one_of_support, same, interval, rule,
					     at->may_go);
		}
		aggregate_end(&p->aggregate, rule, count, more, out);
	}
	note_coverage(p, interval, place);
	p->in_at[place] = out;
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

static void fill_clocked(struct sheet_private *p, const struct bound_input *in, const uint32_t *track,
			 const uint32_t *partner, uint32_t n, const struct interval *interval, size_t intervals,
			 size_t place)
{
	enum pm_aggregation rule = (enum pm_aggregation)p->at[track[0]].rule;
	bool count = in->aspect == EXPR_AGGR_NR;
	struct value *out = p->in + place * p->block;

	memset(p->stood, 0, intervals * sizeof(*p->stood));
	aggregate_begin(&p->aggregate, intervals, false);
	for (uint32_t i = 0; i < n; i++) {
		const struct value *v = values_of(p, track[i], aspect_of(in));
		const struct value *clock = NULL, *elapsed = NULL;
		double bytes = bytes_of(in, p->at[track[i]].counter);

		if (partner[i] != PM_NONE) {
			clock = values_of(p, partner[i], TRACK_VALUE);
			elapsed = values_of(p, partner[i], TRACK_ELAPSED);
		}
		for (size_t k = 0; k < intervals; k++) {
			p->part[k] = clocked(in, &v[k], clock ? &clock[k] : NULL, clock ? &elapsed[k] : NULL,
					     &p->stood[k]);
			if (in->more->bytes && !p->part[k].reason)
				p->part[k] = value_of(p->part[k].v * bytes + p->part[k].rest * bytes);
		}
		aggregate_add(&p->aggregate, p->part, support_of(p, track[i]), interval, rule,
			      p->at[track[i]].may_go);
	}
	aggregate_end(&p->aggregate, rule, count, false, out);
	note_coverage(p, interval, place);
	for (size_t k = 0; k < intervals; k++)
		if (p->stood[k] && out[k].reason == PM_REASON_OFFLINE)
			out[k] = value_missing(PM_REASON_NOT_COUNTED);
	p->in_at[place] = out;
}

static void fill_fed(struct sheet *s, const struct level *l, uint32_t row, uint32_t place,
		     const struct interval *interval, size_t n)
{
	struct sheet_private *p = s->p;
	const struct bound_input *in = &s->binding->input[l->input[place]];
	const struct sheet_cell *whole = p->whole ? p->whole[l->input[place]] : NULL;
	size_t slot = (size_t)row * l->n_inputs + place;
	uint32_t first = l->start[slot], tracks = l->start[slot + 1] - first;
	struct value *out = p->in + (size_t)place * p->block;

	if (tracks && in->more->clock) {
		fill_clocked(p, in, l->track + first, l->partner + first, tracks, interval, n, place);
		return;
	}
	if (tracks && in->more->op && in->aspect != EXPR_ELAPSED && in->aspect != EXPR_AGGR_NR) {
		fill_made(p, in, l->track + first, l->number ? l->number + first : NULL, tracks, interval, n, place);
		return;
	}
	if (tracks) {
		fill_tracks(p, in, l->track + first, tracks, interval, n, place);
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

/* ---- cells ---- */

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

static void take_inputs(struct sheet_private *p, const struct level *l, const struct bound_metric *m)
{
	for (uint32_t i = 0; i < m->n_inputs; i++)
		p->arg[i] = p->in_at[l->place[m->input[i]]];
}

/* Whether counters that the formula uses together have missed something. */
static bool is_split(const struct sheet *s, const struct level *l, uint32_t row, const struct bound_metric *m,
		     uint32_t formula)
{
	for (uint32_t i = 0; formula && i < m->n_inputs; i++) {
		size_t slot = (size_t)row * l->n_inputs + l->place[m->input[i]];

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
	fill_inputs(s, l, row, m, formula, interval, n);
	take_inputs(p, l, m);
	some = sheet_cover(s, l, m, interval, n, p->joint_coverage);
	expr_eval_rows(m->expr, p->arg, n, p->joint, p->scratch);
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
	if (is_split(s, l, row, m, formula))
		any = fill_joint(s, l, row, m, formula, interval, n, out, coverage, any);
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
