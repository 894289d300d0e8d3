/* One track represents everything that has ended, of a counter that is added up. Its count is the sum of theirs, and
 * so is its rate, although each has its own time: that of the interval and a little more or less. */
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
