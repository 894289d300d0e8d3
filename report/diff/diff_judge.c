/* From series to verdicts: rules of each metric, levels below flagged parents, the false discovery rate. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/memory.h"
#include "common/statistics.h"
#include "report/diff/diff.h"

#define MARGIN 0.02

void diff_results_release(struct diff_results *r)
{
	for (size_t i = 0; i < r->n; i++)
		free(r->result[i].value);
	free(r->result);
	*r = (struct diff_results){ 0 };
}

static struct diff_result begin_result(const struct diff_series *s, const struct diff_options *o)
{
	return (struct diff_result){
		.series = s,
		.gated = s->gate,
		.rules = {
			.margin = s->gate && !isnan(s->gate->margin) ? s->gate->margin :
				  !isnan(o->margin)                  ? o->margin :
				  s->margin > 0                      ? s->margin :
								       MARGIN,
			.alpha = o->alpha,
			.pairs = o->pairs,
			.run_sd = o->run_sd,
			.better = s->better,
		},
	};
}

/* Whether the command of the run failed. */
static bool has_failed(const struct diff_recording *r, uint32_t run)
{
	for (uint32_t k = 0; k < r->n_runs; k++)
		if (r->run[k].run == run)
			return r->run[k].failed;
	return false;
}

/* The numbers of one side, and what is known of each within its run. */
static size_t take_side(struct diff_result *x, const struct diff_recordings *r, enum diff_side side, double *value,
			double *error, uint32_t *session)
{
	const struct diff_series *s = x->series;
	size_t n = 0;

	for (uint32_t i = 0; i < s->n; i++) {
		const struct diff_value *v = &s->value[i];
		const struct diff_recording *from = &r->recording[v->recording];

		if (from->side != side || isnan(v->v) || has_failed(from, v->run))
			continue;
		value[n] = v->v;
		session[n] = from->session;
		error[n++] = v->error;
	}
	return n;
}

static void measure(struct diff_result *x, const struct diff_recordings *r, const struct diff_options *o)
{
	size_t n = x->series->n, base, units[DIFF_SIDES];
	SCOPED(scoped_free) double *error = memory_new(n, sizeof(*error)), *unit = memory_new(n, sizeof(*unit));
	SCOPED(scoped_free) uint32_t *session = memory_new(n, sizeof(*session));
	struct verdict_side side[DIFF_SIDES];

	free(x->value);
	x->value = memory_new(n, sizeof(*x->value));
	base = units[DIFF_BASE] = take_side(x, r, DIFF_BASE, x->value, error, session);
	units[DIFF_NEW] = take_side(x, r, DIFF_NEW, x->value + base, error + base, session + base);
	memcpy(x->n, units, sizeof(units));
	memcpy(unit, x->value, (base + units[DIFF_NEW]) * sizeof(*unit));
	if (!o->pairs)
		x->rules.sessions = verdict_sessions(unit, session, units);
	x->rules.by_session = units[DIFF_BASE] < base || units[DIFF_NEW] < x->n[DIFF_NEW];
	for (int s = 0; s < DIFF_SIDES; s++)
		side[s] = (struct verdict_side){ unit + s * base, x->rules.by_session ? NULL : error + s * base,
						 units[s] };
	x->v = verdict_measure(&side[DIFF_BASE], &side[DIFF_NEW], &x->rules);
}

/* What a command is judged by, most important first. */
static int importance(const struct diff_series *s)
{
	static const char *const first[] = { "command.elapsed", "command.cpu",  "command.user", "command.system",
					     "command.max_rss", "instructions", "cycles" };
	int i = 0, n = sizeof(first) / sizeof(*first);

	while (i < n && (strncmp(s->metric, first[i], strlen(first[i])) ||
			 (s->metric[strlen(first[i])] && s->metric[strlen(first[i])] != ':')))
		i++;
	return i;
}

static bool is_default_gate(const struct diff_result *x)
{
	int at = importance(x->series);

	return x->series->place.kind == PM_SYSTEM && at < 7 && at != 2 && at != 3;
}

/* Results that are tested together: gates, given or default; other metrics with a better direction; those without
 * one. The more there are, the clearer each must be; so what decides does not suffer from the rest. */
enum family { FAMILY_GATES, FAMILY_BETTER, FAMILY_NEUTRAL, FAMILIES };

static enum family family_of(const struct diff_result *x, const struct diff_options *o)
{
	if (o->n_gates || is_default_gate(x))
		return FAMILY_GATES;
	return x->rules.better == METRIC_NEUTRAL ? FAMILY_NEUTRAL : FAMILY_BETTER;
}

/* Adjusts p to q for those of n results that are of a family. */
static void discover(struct diff_result *x, size_t n, enum family family, const struct diff_options *o)
{
	SCOPED(scoped_free) double *q = memory_new(n, sizeof(*q)), *p = memory_new(n, sizeof(*p));

	for (size_t i = 0; i < n; i++)
		p[i] = family_of(&x[i], o) == family ? x[i].v.p_tested : NAN;
	if (statistics_false_discovery(p, q, n))
		memory_ends(ENOMEM);
	for (size_t i = 0; i < n; i++)
		if (!isnan(q[i]))
			x[i].v.q = q[i];
}

/* If the sides did not take turns, each run of a family may resemble the previous one; then they are tested again. */
static void look_at_order(struct diff_result *x, size_t n, enum family family, const struct diff_recordings *r,
			  const struct diff_options *o)
{
	SCOPED(scoped_free) struct verdict_side(*side)[DIFF_SIDES] = memory_new(n, sizeof(*side));
	struct verdict_order order;
	size_t found = 0;

	for (size_t i = 0; i < n; i++) {
		if (family_of(&x[i], o) != family || x[i].rules.sessions || x[i].rules.by_session)
			continue;
		side[found][DIFF_BASE] = (struct verdict_side){ .value = x[i].value, .n = x[i].n[DIFF_BASE] };
		side[found++][DIFF_NEW] =
			(struct verdict_side){ .value = x[i].value + x[i].n[DIFF_BASE], .n = x[i].n[DIFF_NEW] };
	}
	order = verdict_order(side, found);
	for (size_t i = 0; i < n; i++)
		if (family_of(&x[i], o) == family && !x[i].rules.sessions && !x[i].rules.by_session) {
			x[i].rules.order = order;
			measure(&x[i], r, o);
		}
}

static void explain(struct diff_result *x, const size_t runs[DIFF_SIDES])
{
	const struct verdict *v = &x->v;
	SCOPED(buf_release) struct buf text = BUF_INIT;

	if (v->capped && v->kind == VERDICT_CHANGED && !isnan(v->spread))
		buf_printf(&text, "chance only if %s vary by more than %.*f %%", diff_unit(x), v->spread < 1 ? 1 : 0,
			   100 * v->spread);
	else if (v->why)
		buf_addstr(&text, v->why);
	else if (v->needed)
		buf_printf(&text, "about %zu %s per side would settle it", v->needed, diff_unit(x));
	else if (v->kind == VERDICT_INCONCLUSIVE)
		buf_addstr(&text, v->low > 0 ? "it would take more than 10000 runs per side, or another margin" :
					       "runs vary too much to say how many would be needed");
	if (v->kind != VERDICT_ABSENT && (x->n[DIFF_BASE] < runs[DIFF_BASE] || x->n[DIFF_NEW] < runs[DIFF_NEW]))
		buf_printf(&text, "%sin %zu of %zu and %zu of %zu runs", text.len ? "; " : "", x->n[DIFF_BASE],
			   runs[DIFF_BASE], x->n[DIFF_NEW], runs[DIFF_NEW]);
	memory_whole(&text);
	snprintf(x->why, sizeof(x->why), "%s", buf_str(&text));
}

/* The distance of the new side, in either direction. */
static double effect(const struct diff_result *x)
{
	if (x->v.kind == VERDICT_ABSENT)
		return -1;
	if (isnan(x->v.ratio) || x->v.ratio <= 0)
		return x->v.p < x->rules.alpha ? INFINITY : -0.5;
	return fabs(log(x->v.ratio));
}

/* Worse ones first, then by subject, then by the size of the effect. */
static int compare_results(const void *a, const void *b)
{
	static const unsigned char loud[] = {
		[VERDICT_REGRESSED] = 0,    [VERDICT_CHANGED] = 1, [VERDICT_IMPROVED] = 2,
		[VERDICT_INCONCLUSIVE] = 3, [VERDICT_ABSENT] = 4,  [VERDICT_SAME] = 5
	};
	const struct diff_result *x = a, *y = b;
	double dx = effect(x), dy = effect(y);
	int d = loud[x->v.kind] - loud[y->v.kind];

	d = d ? d : importance(x->series) - importance(y->series);
	if (d)
		return d;
	if (dx > dy || dx < dy)
		return dx > dy ? -1 : 1;
	if (x->series->order != y->series->order)
		return x->series->order < y->series->order ? -1 : 1;
	return strcmp(x->series->metric, y->series->metric);
}

/* Whether the level above the series was tested and flagged, in the first n results. */
static bool below_flagged(const struct diff_result *x, size_t n, const struct diff_series *s, enum pm_kind above)
{
	for (size_t i = 0; i < n; i++) {
		const struct diff_series *parent = x[i].series;

		if (parent->place.kind == above && !strcmp(parent->metric, s->metric) &&
		    !strcmp(parent->unit, s->unit) &&
		    (above == PM_SYSTEM || parent->place.package == s->place.package))
			return !x[i].v.capped && (x[i].v.kind == VERDICT_REGRESSED ||
						  x[i].v.kind == VERDICT_IMPROVED || x[i].v.kind == VERDICT_CHANGED);
	}
	return false;
}

/* Whether the data have more than one place of that level. */
static bool has_places(const struct diff_data *d, enum pm_kind kind)
{
	const char *first = NULL;

	for (size_t i = 0; i < d->n; i++) {
		if (d->series[i].place.kind != kind)
			continue;
		if (first && strcmp(first, d->series[i].where))
			return true;
		first = d->series[i].where;
	}
	return false;
}

/* Judges all places of the level, or those whose place `above` is flagged. */
static void judge_level(struct diff_results *out, const struct diff_data *d, const struct diff_recordings *r,
			const struct diff_options *o, enum pm_kind kind, enum pm_kind above)
{
	size_t before = out->n, n, runs[DIFF_SIDES] = { 0 };
	struct diff_result *x;

	for (size_t i = 0; i < r->n; i++)
		for (uint32_t k = 0; k < r->recording[i].n_runs; k++)
			runs[r->recording[i].side] += !r->recording[i].run[k].failed;
	for (size_t i = 0; i < d->n; i++) {
		const struct diff_series *s = &d->series[i];

		if (s->place.kind != kind || (above != PM_KINDS && !below_flagged(out->result, before, s, above)))
			continue;
		memory_room(&out->result, out->n, sizeof(*out->result));
		out->result[out->n] = begin_result(s, o);
		measure(&out->result[out->n++], r, o);
	}
	x = out->result + before;
	n = out->n - before;
	for (enum family k = 0; k < FAMILIES && n; k++) {
		if (!o->pairs && r->order != DIFF_TURNS)
			look_at_order(x, n, k, r, o);
		discover(x, n, k, o);
	}
	for (size_t i = 0; i < n; i++) {
		verdict_decide(&x[i].v, &x[i].rules);
		explain(&x[i], runs);
	}
	if (n)
		qsort(x, n, sizeof(*x), compare_results);
}

const char *diff_why_of_all(const struct diff_results *all)
{
	for (size_t i = 0; i < all->n; i++)
		if (!all->result[i].why[0] || strcmp(all->result[i].why, all->result[0].why))
			return NULL;
	return all->n > 1 ? all->result[0].why : NULL;
}

static void conclude(struct diff_results *out, const struct diff_options *o)
{
	size_t open = 0, decided = 0;
	bool command = false;

	for (size_t i = 0; i < out->n && !o->n_gates; i++)
		command |= importance(out->result[i].series) < 5;
	for (size_t i = 0; i < out->n; i++) {
		struct diff_result *x = &out->result[i];
		enum verdict_kind kind = x->v.kind;
		bool undecided = diff_open(x), system = x->series->place.kind == PM_SYSTEM;

		if (o->n_gates ? !x->gated : x->rules.better == METRIC_NEUTRAL) {
			out->neutral += system && !o->n_gates;
			continue;
		}
		/* Places below a flagged metric say where the change comes from, and are part of it. */
		if (!system && !o->per)
			continue;
		out->count[kind]++;
		out->failed |= kind == VERDICT_REGRESSED || (o->n_gates && kind == VERDICT_CHANGED && !undecided);
		x->decides = o->n_gates ? system : command && is_default_gate(x);
		open += x->decides && undecided;
		/* What is zero on both sides decides nothing. */
		decided += !undecided && (x->v.base < 0 || x->v.base > 0 || x->v.fresh < 0 || x->v.fresh > 0);
	}
	/* A gate holds if each of its metrics is shown to hold, and a command has default gates; without gates
	 * nothing was learned if nothing was decided. */
	out->inconclusive = o->n_gates || command ? open : !decided;
}

void diff_judge(struct diff_results *out, const struct diff_data *d, const struct diff_recordings *r,
		const struct diff_options *o)
{
	/* A single package is the system. */
	bool packages = has_places(d, PM_PACKAGE);

	judge_level(out, d, r, o, PM_SYSTEM, PM_KINDS);
	if (!o->per && packages)
		judge_level(out, d, r, o, PM_PACKAGE, PM_SYSTEM);
	if (!o->per && has_places(d, PM_CORE))
		judge_level(out, d, r, o, PM_CORE, packages ? PM_PACKAGE : PM_SYSTEM);
	for (int k = PM_PACKAGE; k < PM_KINDS; k++)
		if (o->per >> k & 1)
			judge_level(out, d, r, o, (enum pm_kind)k, PM_KINDS);
	conclude(out, o);
}
