#include "report/diff/diff_judge.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/statistics.h"

#define MARGIN 0.02

void diff_results_release(struct diff_results *r)
{
	for (size_t i = 0; i < r->n; i++)
		free(r->result[i].value);
	free(r->result);
	*r = (struct diff_results){ 0 };
}

static void set_rules(struct diff_result *x, const struct diff_options *o, const struct diff_noise *noise)
{
	const struct diff_series *s = x->series;
	const struct diff_gate *gate = s->gate;
	double sd = noise->file ? diff_noise_of(noise, s) : NAN;

	x->gated = gate != NULL;
	x->rules = (struct verdict_rules){
		.margin = gate && !isnan(gate->margin) ? gate->margin :
			  !isnan(o->margin)            ? o->margin :
			  s->margin > 0                ? s->margin :
							 MARGIN,
		.alpha = o->alpha,
		.pairs = o->pairs,
		.run_sd = isnan(sd) ? o->run_sd : sd,
		.better = s->better,
	};
}

static bool counts(const struct diff_recording *r, uint32_t run, const struct diff_options *o)
{
	for (uint32_t k = 0; k < r->n_runs; k++)
		if (r->run[k].run == run)
			return diff_counts(&r->run[k], o);
	return true;
}

/* The numbers of one side, and what is known of each within its run. */
static size_t gather(struct diff_result *x, const struct diff_recordings *r, const struct diff_options *o,
		     enum diff_side side, double *value, double *error, uint32_t *session)
{
	const struct diff_series *s = x->series;
	double samples = 0, time = 0;
	size_t n = 0;

	for (uint32_t i = 0; i < s->n; i++) {
		const struct diff_value *v = &s->value[i];

		if (r->recording[v->recording].side != side || isnan(v->v) ||
		    !counts(&r->recording[v->recording], v->run, o))
			continue;
		value[n] = v->v;
		session[n] = r->recording[v->recording].session;
		error[n++] = v->error;
		samples += v->samples / v->time;
		time += v->time;
	}
	x->samples[side] = n ? samples : NAN;
	x->time[side] = n ? time / (double)n : NAN;
	return n;
}

static int measure(struct diff_result *x, const struct diff_recordings *r, const struct diff_options *o)
{
	size_t n = x->series->n, base, units[DIFF_SIDES];
	double *value = malloc((n + 1) * sizeof(*value));
	SCOPED(scoped_free) double *error = malloc((n + 1) * sizeof(*error)), *unit = malloc((n + 1) * sizeof(*unit));
	SCOPED(scoped_free) uint32_t *session = malloc((n + 1) * sizeof(*session));
	struct verdict_side side[DIFF_SIDES];
	int err = value && error && unit && session ? 0 : -ENOMEM;

	free(x->value);
	x->value = value;
	if (err)
		goto out;
	base = units[DIFF_BASE] = gather(x, r, o, DIFF_BASE, value, error, session);
	units[DIFF_NEW] = gather(x, r, o, DIFF_NEW, value + base, error + base, session + base);
	memcpy(x->n, units, sizeof(units));
	memcpy(unit, value, (base + units[DIFF_NEW]) * sizeof(*unit));
	if (!o->pairs)
		x->rules.sessions = verdict_sessions(unit, session, units);
	x->rules.by_session = units[DIFF_BASE] < base || units[DIFF_NEW] < x->n[DIFF_NEW];
	side[DIFF_BASE] = (struct verdict_side){ unit, x->rules.by_session ? NULL : error, units[DIFF_BASE] };
	side[DIFF_NEW] =
		(struct verdict_side){ unit + base, x->rules.by_session ? NULL : error + base, units[DIFF_NEW] };
	x->v = verdict_measure(&side[DIFF_BASE], &side[DIFF_NEW], &x->rules);
out:
	return err;
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

/* Adjusts p to q for all results of a family from `first` on. */
static int discover(struct diff_results *out, size_t first, enum family family, const struct diff_options *o)
{
	size_t n = out->n - first;
	SCOPED(scoped_free) double *q = calloc(n + 1, sizeof(*q)), *p = calloc(n + 1, sizeof(*p));
	int err = p && q ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && !err; i++) {
		const struct diff_result *x = &out->result[first + i];

		p[i] = family_of(x, o) == family ? x->v.p_tested : NAN;
	}
	if (!err)
		err = statistics_false_discovery(p, q, n);
	for (size_t i = 0; i < n && !err; i++)
		if (!isnan(q[i]))
			out->result[first + i].v.q = q[i];
	return err;
}

/* If the sides did not take turns, each run of a family may resemble the previous one; then they are tested again. */
static int look_at_order(struct diff_results *out, size_t first, enum family family, const struct diff_recordings *r,
			 const struct diff_options *o)
{
	struct verdict_side(*side)[DIFF_SIDES] = calloc(out->n - first + 1, sizeof(*side));
	struct verdict_order order;
	size_t n = 0;
	int err = 0;

	if (!side)
		return -ENOMEM;
	for (size_t i = first; i < out->n; i++) {
		const struct diff_result *x = &out->result[i];

		if (family_of(x, o) != family || x->rules.sessions || x->rules.by_session)
			continue;
		side[n][DIFF_BASE] = (struct verdict_side){ .value = x->value, .n = x->n[DIFF_BASE] };
		side[n++][DIFF_NEW] =
			(struct verdict_side){ .value = x->value + x->n[DIFF_BASE], .n = x->n[DIFF_NEW] };
	}
	order = verdict_order(side, n);
	for (size_t i = first; i < out->n && !err; i++) {
		struct diff_result *x = &out->result[i];

		if (family_of(x, o) != family || x->rules.sessions || x->rules.by_session)
			continue;
		x->rules.order = order;
		err = measure(x, r, o);
	}
	free(side);
	return err;
}

static void explain(struct diff_result *x, const struct diff_recordings *r, const struct diff_options *o)
{
	size_t runs[DIFF_SIDES] = { 0 };
	const struct verdict *v = &x->v;
	size_t at = 0;

	for (size_t i = 0; i < r->n; i++)
		for (uint32_t k = 0; k < r->recording[i].n_runs; k++)
			runs[r->recording[i].side] += diff_counts(&r->recording[i].run[k], o);
	if (v->capped && v->kind == VERDICT_CHANGED && !isnan(v->spread))
		at += (size_t)snprintf(x->why, sizeof(x->why), "chance only if %s vary by more than %.*f %%",
				       diff_unit(x), v->spread < 1 ? 1 : 0, 100 * v->spread);
	else if (v->why)
		at += (size_t)snprintf(x->why, sizeof(x->why), "%s", v->why);
	else if (v->needed)
		at += (size_t)snprintf(x->why, sizeof(x->why), "about %zu %s per side would settle it", v->needed,
				       diff_unit(x));
	else if (v->kind == VERDICT_INCONCLUSIVE)
		at += (size_t)snprintf(x->why, sizeof(x->why), "%s",
				       v->low > 0 ? "it would take more than 10000 runs per side, or another margin" :
						    "runs vary too much to say how many would be needed");
	if (v->kind != VERDICT_ABSENT && at < sizeof(x->why) &&
	    (x->n[DIFF_BASE] < runs[DIFF_BASE] || x->n[DIFF_NEW] < runs[DIFF_NEW]))
		snprintf(x->why + at, sizeof(x->why) - at, "%sin %zu of %zu and %zu of %zu runs", at ? "; " : "",
			 x->n[DIFF_BASE], runs[DIFF_BASE], x->n[DIFF_NEW], runs[DIFF_NEW]);
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

static bool is_flagged(const struct diff_result *x)
{
	return !x->v.capped &&
	       (x->v.kind == VERDICT_REGRESSED || x->v.kind == VERDICT_IMPROVED || x->v.kind == VERDICT_CHANGED);
}

/* Whether the level above the series was tested and flagged. */
static bool below_flagged(const struct diff_results *out, const struct diff_series *s, enum pm_kind above)
{
	for (size_t i = 0; i < out->n; i++) {
		const struct diff_series *parent = out->result[i].series;

		if (parent->place.kind == above && !strcmp(parent->metric, s->metric) &&
		    !strcmp(parent->unit, s->unit) &&
		    (above == PM_SYSTEM || parent->place.package == s->place.package))
			return is_flagged(&out->result[i]);
	}
	return false;
}

/* The number of places of that level in the data. */
static size_t places_of(const struct diff_data *d, enum pm_kind kind)
{
	const char *first = NULL;

	for (size_t i = 0; i < d->n; i++) {
		if (d->series[i].place.kind != kind)
			continue;
		if (first && strcmp(first, d->series[i].where))
			return 2;
		first = d->series[i].where;
	}
	return first ? 1 : 0;
}

static int judge_level(struct diff_results *out, const struct diff_data *d, const struct diff_recordings *r,
		       const struct diff_options *o, const struct diff_noise *noise, enum pm_kind kind,
		       enum pm_kind above)
{
	size_t first = out->n, before = out->n;
	struct diff_result *more = reallocarray(out->result, out->n + d->n + 1, sizeof(*more));
	int err = 0;

	if (!more)
		return -ENOMEM;
	out->result = more;
	for (size_t i = 0; i < d->n && !err; i++) {
		const struct diff_series *s = &d->series[i];
		struct diff_results parents = { .result = out->result, .n = before };

		if (s->place.kind != kind || (above != PM_KINDS && !below_flagged(&parents, s, above)))
			continue;
		out->result[out->n] = (struct diff_result){ .series = s };
		set_rules(&out->result[out->n], o, noise);
		err = measure(&out->result[out->n++], r, o);
	}
	for (enum family k = 0; k < FAMILIES && !err && !o->pairs && r->order != DIFF_TURNS; k++)
		err = look_at_order(out, first, k, r, o);
	for (enum family k = 0; k < FAMILIES && !err; k++)
		err = discover(out, first, k, o);
	for (size_t i = first; i < out->n && !err; i++) {
		verdict_decide(&out->result[i].v, &out->result[i].rules);
		explain(&out->result[i], r, o);
	}
	qsort(out->result + first, out->n - first, sizeof(*out->result), compare_results);
	return err;
}

static void conclude(struct diff_results *out, const struct diff_options *o)
{
	size_t open = 0;
	bool command = false;

	for (size_t i = 0; i < out->n && !o->n_gates; i++)
		command |= importance(out->result[i].series) < 5;
	out->by_default = command;
	for (size_t i = 0; i < out->n; i++) {
		struct diff_result *x = &out->result[i];
		enum verdict_kind kind = x->v.kind;
		bool undecided = diff_open(x);
		bool system = x->series->place.kind == PM_SYSTEM;

		if (o->n_gates ? !x->gated : x->rules.better == METRIC_NEUTRAL) {
			out->neutral += system && !o->n_gates;
			continue;
		}
		/* Places below a flagged metric say where the change comes from, and are part of it. */
		if (!system && !o->per)
			continue;
		out->count[kind]++;
		x->fails = kind == VERDICT_REGRESSED || (o->n_gates && kind == VERDICT_CHANGED && !undecided);
		out->failed |= x->fails;
		x->decides = o->n_gates ? system : command && is_default_gate(x);
		open += x->decides && undecided;
		/* What is zero on both sides decides nothing. */
		out->decided += !undecided && (x->v.base < 0 || x->v.base > 0 || x->v.fresh < 0 || x->v.fresh > 0);
	}
	/* A gate holds if each of its metrics is shown to hold, and a command has default gates; without gates
	 * nothing was learned if nothing was decided. */
	out->inconclusive = o->n_gates || command ? open : !out->decided;
}

int diff_judge(struct diff_results *out, const struct diff_data *d, const struct diff_recordings *r,
	       const struct diff_options *o, const struct diff_noise *noise, struct error *e)
{
	int err = judge_level(out, d, r, o, noise, PM_SYSTEM, PM_KINDS);

	if (!o->per) {
		/* A single package is the system. */
		bool packages = places_of(d, PM_PACKAGE) > 1;

		if (!err && packages)
			err = judge_level(out, d, r, o, noise, PM_PACKAGE, PM_SYSTEM);
		if (!err && places_of(d, PM_CORE) > 1)
			err = judge_level(out, d, r, o, noise, PM_CORE, packages ? PM_PACKAGE : PM_SYSTEM);
	}
	for (int k = PM_PACKAGE; k < PM_KINDS && !err; k++)
		if (o->per >> k & 1)
			err = judge_level(out, d, r, o, noise, (enum pm_kind)k, PM_KINDS);
	if (err)
		return error_sys(e, -err, "verdicts");
	conclude(out, o);
	return 0;
}
