/* The values of the metrics after the lines. */
#include <math.h>
#include <string.h>

#include "report/stat/stat_shadow.h"

static void judge(const struct stat_sheet *s, const struct shown *x, enum sheet_verdict verdict,
		  struct stat_metric *out)
{
	static const char *const color[] = {
		[SHADOW_LESS_GOOD] = "33", [SHADOW_NEARLY_BAD] = "35", [SHADOW_BAD] = "31"
	};
	enum shadow_level level;

	if (s->config->no_threshold)
		return;
	if (x->shadow) {
		level = shadow_judge(x->shadow, out->value);
		out->color = level == SHADOW_GOOD && x->shadow->lower ? "32" :
			     level <= SHADOW_BAD                      ? color[level] :
									NULL;
		return;
	}
	if (verdict != SHEET_UNJUDGED)
		out->threshold = verdict == SHEET_BAD ? "bad" : verdict == SHEET_GOOD ? "good" : "unknown";
	else if (x->judged)
		out->threshold = "unknown";
	if (out->threshold && !strcmp(out->threshold, "bad"))
		out->color = "31";
}

/* The rate per second of CPU time; NaN: unknown. */
static double rate_of(const struct stat_sheet *s, const struct shown *x, const struct stat_line *l)
{
	enum sheet_verdict verdict;
	struct value clock = stat_numbers_get(s, (uint32_t)(x - s->shadow->shown), l->row, &verdict);

	if (l->now.reason || clock.reason || clock.v <= 0)
		return (double)NAN;
	return stat_value(&s->event[l->event], &l->now) / (clock.v / 1000);
}

/* "1.732 K/sec": below a thousand of the largest unit that it reaches. */
static bool take_rate(const struct stat_sheet *s, const struct shown *x, const struct stat_line *l,
		      struct stat_metric *out)
{
	static const struct {
		double size;
		const char *unit;
	} units[] = { { 1e9, "G/sec" }, { 1e6, "M/sec" }, { 1e3, "K/sec" }, { 1, "/sec" } };
	double rate = rate_of(s, x, l);
	size_t i = 0;

	if (isnan(rate))
		return false;
	while (i < 3 && rate < units[i].size)
		i++;
	*out = (struct stat_metric){ .value = rate / units[i].size,
				     .width = 8,
				     .precision = 3,
				     .unit = units[i].unit,
				     .name = units[i].unit };
	return true;
}

/* Whether no earlier line of the row could be followed by the metric. */
static bool is_home(const struct stat_sheet *s, const struct shown *x, const struct stat_line *l)
{
	for (uint32_t i = 0; i < x->n_events; i++) {
		const struct stat_line *other = stat_line_at(s, l->row, x->events[i]);

		if (other && !s->event[x->events[i]].hidden && !other->now.reason && other->rank < l->rank)
			return false;
	}
	return true;
}

/* The formula of the counts in the lines of a row. */
static struct value of_lines(const struct stat_sheet *s, const struct shown *x, uint32_t row)
{
	struct value in[SHADOW_INPUTS];

	for (uint32_t i = 0; i < x->metric->n_inputs; i++) {
		uint32_t event = x->feed[i];
		const struct stat_line *l = event == UINT32_MAX ? NULL : stat_line_at(s, row, event);

		in[i] = event == UINT32_MAX ? s->binding->input[x->metric->input[i]].more->value :
			!l || l->now.reason ? value_missing(l ? l->now.reason : VALUE_NO_INPUT) :
					      value_of(stat_value(&s->event[l->event], &l->now));
	}
	return expr_eval(x->metric->expr, in);
}

static void take_metric(const struct stat_sheet *s, const struct shown *x, uint32_t row, struct stat_metric *out)
{
	enum sheet_verdict verdict = SHEET_UNJUDGED;
	struct value v =
		x->fed ? of_lines(s, x, row) : stat_numbers_get(s, (uint32_t)(x - s->shadow->shown), row, &verdict);

	*out = (struct stat_metric){
		.value = v.reason ? (double)NAN : v.v,
		.reason = v.reason,
		.unit = x->words,
		.name = x->name,
		.width = 8,
		.precision = 1,
		.id = (uint32_t)(x - s->shadow->shown),
	};
	if (x->shadow) {
		out->width = x->shadow->width;
		out->precision = x->shadow->decimals;
		out->percent = x->shadow->percent;
	} else if (x->of_pmus) {
		out->precision = x->precision;
		out->own = true;
	} else if (!strcmp(x->unit, "1")) {
		out->precision = 2;
	}
	judge(s, x, verdict, out);
}

/* If perf cannot compute a metric, it says so if it was requested, and prints nothing if it was its own choice. */
static bool is_wanted(const struct shown *x, const struct stat_metric *m, const struct stat_sheet *s)
{
	return !m->reason || s->shadow->asked;
}

size_t stat_shadow(const struct stat_sheet *s, const struct stat_line *l, struct stat_metric out[static STAT_METRICS])
{
	const struct stat_shadow *sh = s->shadow;
	size_t n = 0;

	if (!sh->n || (l->now.reason && !sh->asked))
		return 0;
	for (uint32_t i = sh->first[l->event]; i < sh->first[l->event + 1] && n < STAT_METRICS; i++) {
		const struct shown *x = &sh->shown[sh->behind[i].shown];

		if (x->of_pmus && !is_home(s, x, l))
			continue;
		if (x->rate) {
			n += take_rate(s, x, l, &out[n]);
			continue;
		}
		take_metric(s, x, l->row, &out[n]);
		n += is_wanted(x, &out[n], s);
	}
	return n;
}

bool stat_is_beside(const struct stat_sheet *s, const struct stat_event *e)
{
	return !s->shadow->asked && strstr(e->name, "topdown-");
}

size_t stat_shadow_alone(const struct stat_sheet *s, uint32_t row, struct stat_metric out[static STAT_METRICS])
{
	const struct stat_shadow *sh = s->shadow;
	size_t n = 0;

	for (uint32_t i = sh->first[sh->n_first]; i < sh->n_behind && n < STAT_METRICS; i++) {
		take_metric(s, &sh->shown[sh->behind[i].shown], row, &out[n]);
		n++;
	}
	return n;
}

bool stat_shadow_has_alone(const struct stat_sheet *s)
{
	const struct stat_shadow *sh = s->shadow;

	/* Requesting only events implies these. */
	return sh->first[sh->n_first] < sh->n_behind && (s->config->metrics.n || !s->config->events.n);
}

uint32_t stat_shadow_heads(const struct stat_sheet *s)
{
	return s->shadow->n;
}

static const char *words_of(const struct stat_sheet *s, const struct shown *x)
{
	return x->rate ? s->event[x->event].name : x->words;
}

/* Whether an earlier metric has the same words. */
static bool is_repeated(const struct stat_sheet *s, uint32_t id)
{
	const struct shown *x = &s->shadow->shown[id];

	for (uint32_t i = 0; i < id; i++) {
		const struct shown *other = &s->shadow->shown[i];

		if (other->rate == x->rate && !strcmp(other->pmu ? other->pmu : "", x->pmu ? x->pmu : "") &&
		    !strcmp(words_of(s, other), words_of(s, x)))
			return true;
	}
	return false;
}

/* What distinguishes it from those with the same words. */
static const char *mark_of(const struct stat_sheet *s, const struct shown *x)
{
	const struct stat_event *ev = x->event < s->n_events ? &s->event[x->event] : NULL;

	if (!ev && x->n_events)
		ev = &s->event[x->events[0]];
	return !ev ? x->name : ev->cgroup ? ev->cgroup : ev->name;
}

void stat_shadow_head(const struct stat_sheet *s, uint32_t id, struct buf *out)
{
	const struct shown *x = &s->shadow->shown[id];

	if (x->rate)
		buf_printf(out, "/sec %s", s->event[x->event].name);
	else
		buf_printf(out, "%s%s", x->shadow && x->shadow->percent ? "%  " : "", x->words);
	/* Otherwise two columns of one name would be two members of one object. */
	if (x->pmu)
		buf_printf(out, " (%s)", x->pmu);
	if (is_repeated(s, id))
		buf_printf(out, " %s", mark_of(s, x));
}

void stat_shadow_cell(const struct stat_sheet *s, uint32_t row, uint32_t id, struct stat_metric *out)
{
	const struct shown *x = &s->shadow->shown[id];
	const struct stat_line *l = x->rate ? stat_line_at(s, row, x->event) : NULL;

	*out = (struct stat_metric){ .value = (double)NAN, .reason = VALUE_NO_INPUT, .unit = "", .name = "" };
	if (!x->rate)
		take_metric(s, x, row, out);
	else if (l && !isnan(rate_of(s, x, l)))
		*out = (struct stat_metric){
			.value = rate_of(s, x, l), .width = 8, .precision = 3, .unit = "/sec", .name = "/sec"
		};
	out->id = id;
}
