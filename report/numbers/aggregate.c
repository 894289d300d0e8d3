#include "report/numbers/aggregate.h"

#include <string.h>

#include "report/machine/status.h"

void aggregate_begin(struct aggregate *a, size_t n, bool more)
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

static bool all_there(const struct value *v, size_t n)
{
	uint16_t any = 0;

	for (size_t k = 0; k < n; k++)
		any |= v[k].reason;
	return !any;
}

void aggregate_add(struct aggregate *a, const struct value *v, const struct support *s,
		   const struct interval *interval, enum pm_aggregation rule, bool may_go)
{
	/* Nearly all values of nearly all recordings come through here. */
	if (rule == PM_AGG_SUM && !s && all_there(v, a->n)) {
		double *restrict sum = a->sum;

		for (size_t k = 0, n = a->n; k < n; k++)
			sum[k] += v[k].v;
		a->whole++;
		return;
	}
	for (size_t k = 0; k < a->n; k++)
		add_one(a, k, &v[k], s ? &s[k] : NULL, &interval[k], rule, may_go);
}

void aggregate_add_one_of(struct aggregate *a, const struct value *const *v, const struct support *const *s, size_t n,
			  const struct interval *interval, enum pm_aggregation rule, bool may_go)
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

void aggregate_end(struct aggregate *a, enum pm_aggregation rule, bool count, bool more, struct value *out)
{
	for (size_t k = 0; k < a->n; k++) {
		struct value v = result(a, k, rule, count);

		if (!more || (!v.reason && status_absent(out[k].reason)))
			out[k] = v;
		else if (v.reason && !out[k].reason && !status_absent(v.reason))
			out[k] = v;
		else if (!v.reason && !out[k].reason)
			out[k] = value_of(out[k].v + v.v);
	}
}

bool aggregate_times(const struct aggregate *a, const struct interval *interval, double *known, double *lost,
		     uint32_t *whole)
{
	*whole = a->all_whole + a->whole;
	for (size_t k = 0; a->some_parts && k < a->n; k++) {
		known[k] = a->known[k] + *whole * ((double)interval[k].duration_ns / 1e9);
		lost[k] = a->unknown[k];
	}
	return a->some_parts;
}
