/* One track represents everything that has ended, of a counter that is added up. Its count is the sum of theirs, and
 * so is its rate, although each has its own time: that of the interval and a little more or less.
 *
 * Where single ones are wanted, each keeps only what it comes to. */
#include <errno.h>
#include <stdlib.h>

#include "report/replay/track_private.h"

/* Times that differ from the interval's by at most one part in so many: then the first terms are exact to a double.
 */
#define ALIKE 10000

int track_begin_sum(struct track *sum, const struct track *t, size_t rows)
{
	*sum = *t;
	sum->loss = NULL;
	sum->times = t->times ? calloc(1, sizeof(*sum->times)) : NULL;
	track_begin_interval(sum);
	if (!sum->times != !t->times || !track_loss_of(sum, rows))
		return -ENOMEM;
	sum->loss->sum = calloc(1, sizeof(*sum->loss->sum));
	sum->loss->ever = true;
	return sum->loss->sum ? 0 : -ENOMEM;
}

bool track_fold(struct track *sum, struct track *t)
{
	const struct track_loss *l = t->loss;
	struct track_sum *s = sum->loss->sum;
	int64_t beyond = (int64_t)(t->elapsed + l->absent - l->ended_ns);
	double v = t->any ? track_value(t).v : 0;
	struct tally y;

	if (t->more || t->uncore || !t->times != !sum->times || l->joint || l->lost || l->before || l->pending ||
	    l->earlier || l->hidden || (uint64_t)llabs(beyond) > l->ended_ns / ALIKE)
		return false;
	for (unsigned k = 0; k < TRACK_TERMS; k++, v *= (double)beyond / 1e9)
		s->term[k] += v;
	s->known += t->any ? l->ended_ns - l->absent : 0;
	y = tally_take(t);
	tally_put(sum, &y);
	return true;
}

double track_sum_rate(const struct track *sum)
{
	double d = (double)sum->loss->absent / 1e9, rate = 0;

	/* c / (d + x) = c / d - c x / d^2 + c x^2 / d^3 ... */
	for (unsigned k = TRACK_TERMS; k; k--)
		rate = (sum->loss->sum->term[k - 1] - rate) / d;
	return rate;
}

bool track_end(struct track_end *e, struct track *t)
{
	const struct track_loss *l = t->loss;
	const unsigned simple = 1u << TRACK_VALUE | 1u << TRACK_ELAPSED | 1u << TRACK_RATE;
	struct value v = track_value(t);

	if (t->more || t->uncore || l->joint || t->aspects & ~simple || __builtin_popcount(t->aspects) != 1)
		return false;
	*e = (struct track_end){
		.counter = t->counter,
		.instance = t->instance,
		.aspects = t->aspects,
		.divides = t->aspects == 1u << TRACK_RATE && !is_level(t) && t->semantics != PM_PEAK,
		.some = l->absent || l->lost || v.reason || l->carried,
		.v = v.reason || t->aspects != 1u << TRACK_ELAPSED ? v : value_of((double)t->elapsed / 1e9),
		.ns = { t->elapsed, l->absent - l->ended_ns, l->lost, l->before, l->why },
	};
	return true;
}

void track_end_close(struct track_end *e, uint64_t ns)
{
	uint64_t known = e->ns.known, absent = e->ns.absent + ns, counted = known + absent;

	if (e->divides && !e->v.reason)
		e->v = counted ? value_of(e->v.v / ((double)counted / 1e9)) : value_missing(VALUE_DIVISION_BY_ZERO);
	e->some |= absent != 0;
	e->at = (struct support){ (double)known / 1e9, (double)(int64_t)absent / 1e9, (double)e->ns.lost / 1e9,
				  (double)e->ns.before / 1e9, e->ns.why };
}

void track_end_again(struct track_end *e)
{
	e->v = value_missing(PM_REASON_OFFLINE);
	e->some = true;
	e->ns.known = e->ns.absent = e->ns.lost = e->ns.before = e->ns.why = 0;
}
