#include "report/stat/stat_class.h"

#include <errno.h>
#include <stdlib.h>

#include "report/machine/status.h"

#define MOST 1024 /* PMUs that a name may stand for */

/* The event of a class that the input names, if the formula at hand is about that class. */
static const struct pmu_class_event *event_of(const struct stat_scope *at, const struct expr_input *x)
{
	const struct pmu_class *class = NULL;
	const struct pmu_class_event *event = at->class ? class_event_named(x->name, &class) : NULL;

	return event && class == at->class->class ? event : NULL;
}

bool stat_class_takes(const struct stat_scope *at, const struct expr_input *x)
{
	return x->aspect == EXPR_SECONDS || event_of(at, x);
}

/* Each x goes with the y at its place in the list, or with the only one. */
static uint32_t pair_any(const struct stat_sheet *s, const struct expr_input *x, uint32_t *counter, uint32_t *clock)
{
	uint32_t n = bind_counters(s->places->model, x->by, clock, MOST),
		 k = bind_counters(s->places->model, x->name, counter, MOST);

	if (!n || n > MOST || k > MOST || (n > 1 && n != k))
		return 0;
	for (uint32_t i = 1; n == 1 && i < k; i++)
		clock[i] = clock[0];
	return k;
}

static int add_pair(struct stat_sheet *s, const struct stat_scope *at, struct stat_input *in, uint32_t counter,
		    uint32_t clock)
{
	int64_t event = stat_event_alone(s, counter), ticks = clock ? stat_event_alone(s, clock) : PM_NONE,
		line = stat_event_of(s, counter, at->cgroup);
	bool have = false;

	if (event < 0 || ticks < 0 || line < 0)
		return -ENOMEM;
	in->pair[in->n_pairs++] = (struct stat_pair){ (uint32_t)event, (uint32_t)ticks };
	for (uint32_t k = 0; k < in->n; k++)
		have |= in->event[k] == line;
	if (!have)
		in->event[in->n++] = (uint32_t)line;
	return 0;
}

int stat_class_bind(struct stat_sheet *s, const struct stat_scope *at, struct stat_input *in,
		    const struct expr_input *x)
{
	const struct pmu_class_event *event = event_of(at, x);
	uint32_t counter[MOST], clock[MOST], n;
	int err = 0;

	n = event ? class_counters(at->class, event, counter, clock, MOST) : pair_any(s, x, counter, clock);
	in->aspect = x->aspect;
	in->kind = STAT_IN_CONSTANT;
	if (x->aspect == EXPR_HAS_EVENT) {
		in->value = value_of(n > 0);
		return 0;
	}
	if (!n)
		return -ENOENT;
	if (x->aspect == EXPR_SOURCE_COUNT) {
		in->value = value_of(n);
		return 0;
	}
	if (x->aspect != EXPR_VALUE && x->aspect != EXPR_RATE && x->aspect != EXPR_ELAPSED &&
	    x->aspect != EXPR_AGGR_NR && x->aspect != EXPR_SECONDS)
		return -ENOENT;
	in->kind = STAT_IN_PAIRS;
	in->event = calloc(n, sizeof(*in->event));
	in->pair = calloc(n, sizeof(*in->pair));
	if (!in->event || !in->pair)
		return -ENOMEM;
	for (uint32_t i = 0; i < n && !err; i++)
		err = add_pair(s, at, in, counter[i], clock[i]);
	return err;
}

/* The kernel's time of the event is that of the PMU, which may have come late or gone early. */
static double seconds_of(const struct stat_sheet *s, const struct stat_sum *sum)
{
	return sum->enabled ? (double)sum->enabled / 1e9 : s->seconds;
}

struct value stat_class_value(const struct stat_sheet *s, const struct stat_input *in, uint32_t row)
{
	double sum = 0, nr = 0;
	uint16_t why = VALUE_NO_INPUT;

	for (uint32_t i = 0; i < in->n_pairs; i++) {
		const struct stat_pair *p = &in->pair[i];
		const struct stat_line *l = stat_line_at(s, row, p->event),
				       *clock = p->clock == PM_NONE ? NULL : stat_line_at(s, row, p->clock);
		double v, ticks;

		if (!l)
			continue;
		if (clock && !clock->now.reason && stat_value(&s->event[p->clock], &clock->now) == 0) {
			why = PM_REASON_NOT_COUNTED;
			continue;
		}
		/* What is not there any more has no part in the sum. */
		if (status_absent(l->now.reason)) {
			why = why == VALUE_NO_INPUT ? l->now.reason : why;
			continue;
		}
		if (l->now.reason)
			return value_missing(l->now.reason);
		v = stat_value(&s->event[p->event], &l->now);
		nr++;
		if (in->aspect == EXPR_ELAPSED) {
			sum += seconds_of(s, &l->now);
		} else if (in->aspect == EXPR_RATE) {
			sum += v / seconds_of(s, &l->now);
		} else if (in->aspect != EXPR_SECONDS) {
			sum += v;
		} else if (!clock || clock->now.reason) {
			return value_missing(clock ? clock->now.reason : VALUE_NO_INPUT);
		} else {
			ticks = stat_value(&s->event[p->clock], &clock->now);
			sum += v * seconds_of(s, &clock->now) / ticks;
		}
	}
	if (nr == 0)
		return value_missing(why);
	return value_of(in->aspect == EXPR_AGGR_NR ? nr : sum);
}
