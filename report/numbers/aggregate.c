#include "report/numbers/aggregate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/machine/status.h"

int aggregate_init(struct aggregate *a, size_t n)
{
	*a = (struct aggregate){
		.n = n,
		.sum = malloc(n * sizeof(*a->sum)),
		.count = malloc(n * sizeof(*a->count)),
		.lost = malloc(n * sizeof(*a->lost)),
		.away = malloc(n * sizeof(*a->away)),
	};
	if (a->sum && a->count && a->lost && a->away)
		return 0;
	aggregate_release(a);
	return -ENOMEM;
}

void aggregate_release(struct aggregate *a)
{
	free(a->sum);
	free(a->count);
	free(a->lost);
	free(a->away);
	*a = (struct aggregate){ 0 };
}

void aggregate_begin(struct aggregate *a, size_t n)
{
	a->n = n;
	a->whole = 0;
	memset(a->sum, 0, n * sizeof(*a->sum));
	memset(a->count, 0, n * sizeof(*a->count));
	memset(a->lost, 0, n * sizeof(*a->lost));
	memset(a->away, 0, n * sizeof(*a->away));
}

static bool is_away(uint16_t reason, bool may_go)
{
	return status_absent(reason) || (may_go && reason == PM_REASON_GONE);
}

static uint32_t count_at(const struct aggregate *a, size_t k)
{
	return a->count[k] + a->whole;
}

static void add_one(struct aggregate *a, size_t k, const struct value *v, enum pm_aggregation rule, bool may_go)
{
	if (v->reason) {
		uint16_t *why = is_away(v->reason, may_go) ? a->away : a->lost;

		why[k] = why[k] ? why[k] : v->reason;
		return;
	}
	if (!count_at(a, k))
		a->sum[k] = v->v;
	else if (rule == PM_AGG_SUM || rule == PM_AGG_MEAN)
		a->sum[k] += v->v;
	else if (rule == PM_AGG_MAX ? v->v > a->sum[k] : rule == PM_AGG_MIN && v->v < a->sum[k])
		a->sum[k] = v->v;
	a->count[k]++;
}

static bool all_there(const struct value *v, size_t n)
{
	uint16_t any = 0;

	for (size_t k = 0; k < n; k++)
		any |= v[k].reason;
	return !any;
}

void aggregate_add(struct aggregate *a, const struct value *v, enum pm_aggregation rule, bool may_go)
{
	/* Nearly all values of nearly all recordings come through here. */
	if (rule == PM_AGG_SUM && all_there(v, a->n)) {
		double *restrict sum = a->sum;

		for (size_t k = 0, n = a->n; k < n; k++)
			sum[k] += v[k].v;
		a->whole++;
		return;
	}
	for (size_t k = 0; k < a->n; k++)
		add_one(a, k, &v[k], rule, may_go);
}

void aggregate_add_one_of(struct aggregate *a, const struct value *const *v, size_t n, enum pm_aggregation rule,
			  bool may_go)
{
	for (size_t k = 0; k < a->n; k++) {
		size_t i = 0;

		while (i < n && v[i][k].reason)
			i++;
		/* None is there: one that is lost says more than one that is away. */
		if (i == n)
			for (i = 0; i + 1 < n && is_away(v[i][k].reason, may_go); i++)
				;
		add_one(a, k, &v[i][k], rule, may_go);
	}
}

static struct value result(const struct aggregate *a, size_t k, enum pm_aggregation rule, enum aggregate_as as)
{
	bool tolerant = rule == PM_AGG_MEAN || rule == PM_AGG_MAX || rule == PM_AGG_MIN || rule == PM_AGG_FIRST;
	uint32_t count = count_at(a, k);

	if (a->lost[k] && !(tolerant && as == AGGREGATE_BY_RULE && count))
		return value_missing(a->lost[k]);
	if (!count)
		return value_missing(a->away[k] ? a->away[k] : VALUE_NO_INPUT);
	if (as == AGGREGATE_COUNT)
		return value_of(count);
	if (as == AGGREGATE_BY_RULE && rule == PM_AGG_NONE && count > 1)
		return value_missing(REPORT_LEVEL);
	if (as == AGGREGATE_BY_RULE && rule == PM_AGG_MEAN)
		return value_of(a->sum[k] / count);
	return value_of(a->sum[k]);
}

bool aggregate_end(struct aggregate *a, enum pm_aggregation rule, enum aggregate_as as, bool more, struct value *out,
		   uint8_t *partial)
{
	bool any = false;

	for (size_t k = 0; k < a->n; k++) {
		struct value v = result(a, k, rule, as);
		bool part = !v.reason && a->lost[k];

		partial[k] = more ? partial[k] | part : part;
		any |= part;
		if (!more || (!v.reason && status_absent(out[k].reason)))
			out[k] = v;
		else if (v.reason && !out[k].reason && !status_absent(v.reason))
			out[k] = v;
		else if (!v.reason && !out[k].reason)
			out[k] = value_of(out[k].v + v.v);
	}
	return any;
}
