/* Finds what recurs at the same distance, or nearly. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/incident/incident_scan.h"

#define RHYTHM_TIMES 5
#define RHYTHM_LEAST 5.0  /* evidence that places alone must give */
#define JITTER       0.06 /* of the distance */
#define MISSED       1    /* beats in a row */
#define BEATS        512
#define APART        5 /* bins between beats, at least */
#define BEAT         3 /* bins on both sides that may belong to a beat */

/* The beats of a rhythm, and the evidence for it. */
struct rhythm {
	double period, evidence; /* in bins; minus the logarithm of the probability by chance */
	uint32_t at[BEATS], n;   /* bins of its beats */
};

/* Follows the beats from a peak in one direction: if one is early or late, so are those after it. */
static void follow(const struct scan *x, const struct peak *bin, double least, double reach, int way, uint32_t from,
		   struct rhythm *r, uint32_t *due)
{
	double next = from;

	for (int missed = 0; missed <= MISSED;) {
		uint32_t best = PM_NONE;

		next += way * r->period;
		if (next < 0 || next >= x->s->used)
			return;
		for (uint32_t b = next > reach ? (uint32_t)ceil(next - reach) : 0;
		     b <= next + reach && b < x->s->used; b++)
			if ((double)bin[b].size >= least && (best == PM_NONE || bin[b].size > bin[best].size))
				best = b;
		++*due;
		missed = best == PM_NONE ? missed + 1 : 0;
		if (best == PM_NONE)
			continue;
		if (r->n < BEATS)
			r->at[r->n++] = best;
		next = best;
		r->period = fabs((double)best - from) / round(fabs((double)best - from) / r->period);
	}
}

/* Tests whether the largest peaks recur at a distance that is unlikely by chance, given the places and sizes of
 * others. */
static void try_rhythm(const struct scan *x, const struct peak *bin, const struct peak *peak, uint32_t many,
		       double distance, double reach, struct rhythm *best)
{
	double least = (double)peak[many - 1].size, above = 0, others = 0, chance, scale, excess;
	uint32_t n_others = 0;

	if ((double)peak[many / 2].size < MEMBER)
		return;
	for (uint32_t b = 0; b < x->s->used; b++)
		above += (double)bin[b].size >= least;
	chance = fmin(above * (2 * reach + 1) / x->s->used, 0.9);
	for (uint32_t i = 0; i < many && i < 8; i++) {
		struct rhythm r = { .period = distance, .at = { peak[i].from }, .n = 1 };
		uint32_t due = 1;

		follow(x, bin, least, reach, 1, peak[i].from, &r, &due);
		follow(x, bin, least, reach, -1, peak[i].from, &r, &due);
		if (r.n < RHYTHM_TIMES || r.n < due / 2 || r.period < APART || r.n * r.period < x->s->used / 2.0)
			continue;
		others = excess = 0;
		n_others = 0;
		for (uint32_t k = 0; k < r.n; k++)
			excess += energy(&bin[r.at[k]]) - least * least / 2;
		for (uint32_t k = 0; k < many; k++) {
			uint32_t j = 0;

			while (j < r.n && r.at[j] != peak[k].from)
				j++;
			others += j == r.n ? energy(&peak[k]) - least * least / 2 : 0;
			n_others += j == r.n;
		}
		scale = (PRIOR + others) / (PRIOR + n_others);
		excess = fmax(excess / scale / r.n, 1);
		r.evidence = (2.0 - r.n) * log(chance) - lgamma(due + 1) + lgamma(r.n + 1) + lgamma(due - r.n + 1);
		if (r.evidence < RHYTHM_LEAST)
			continue;
		r.evidence += r.n * (excess - 1 - log(excess));
		if (r.evidence > best->evidence)
			*best = r;
	}
}

/* The distance at which most of so many peaks have another one; 0: there is none. */
static uint32_t usual_distance(struct scan *x, const struct peak *peak, uint32_t many)
{
	uint32_t best = 0, most = x->s->used / (RHYTHM_TIMES - 1);

	memset(x->work, 0, (most + 2) * sizeof(*x->work));
	for (uint32_t i = 0; i < many; i++)
		for (uint32_t k = 0; k < i; k++) {
			uint32_t d = peak[i].from > peak[k].from ? peak[i].from - peak[k].from :
								   peak[k].from - peak[i].from;

			for (uint32_t at = d - 1; at <= d + 1 && at <= most; at++)
				x->work[at] += at == d ? 1.1 : 1;
		}
	for (uint32_t d = APART; d <= most; d++)
		if (x->work[d] > (best ? x->work[best] : 2))
			best = d;
	return best;
}

bool take_rhythm(struct scan *x, struct family *f, enum side side, double tests)
{
	static const uint32_t many[] = { 5, 7, 10, 16, 28, PEAKS };
	const struct peak *bin = f->peak[PLAIN][side][0];
	struct peak peak[PEAKS];
	struct rhythm r = { 0 };
	struct incident_row_series *of;
	uint32_t n = 0, series = 0, times = 0;
	double size = 0, value = 0;
	uint32_t first = x->s->used, last = 0;

	for (uint32_t b = 0; b < x->s->used; b++)
		n += (double)bin[b].size >= MEMBER;
	/* Of the fewest that are tried, try_rhythm() wants the larger half to be large. */
	if (n <= RHYTHM_TIMES / 2)
		return false;
	n = scan_apart(x, bin, 0, APART - 2, peak, PEAKS);
	for (uint32_t i = 0; i < sizeof(many) / sizeof(*many) && many[i] <= n; i++) {
		double distance = usual_distance(x, peak, many[i]);

		/* If beats are smaller than other peaks, perhaps only every second or third of them is among these.
		 */
		for (int part = 1; part <= 3 && distance / part >= APART; part++) {
			try_rhythm(x, bin, peak, many[i], distance / part, 1, &r);
			try_rhythm(x, bin, peak, many[i], distance / part, JITTER * distance / part, &r);
		}
	}
	if (r.evidence < log(tests * x->s->used / WRONG))
		return false;
	for (uint32_t i = 0; i < r.n; i++) {
		uint32_t same = 0;

		for (uint32_t k = 0; k < r.n; k++)
			same += bin[r.at[k]].series == bin[r.at[i]].series;
		if (same > times) {
			times = same;
			series = bin[r.at[i]].series;
		}
		size += (double)bin[r.at[i]].size / sqrt(r.n);
		first = r.at[i] < first ? r.at[i] : first;
		last = r.at[i] > last ? r.at[i] : last;
	}
	of = &x->s->series[series];
	times = 0;
	for (uint32_t i = 0; i < r.n; i++)
		if (!isnan(of->v[r.at[i]])) {
			value += (double)of->v[r.at[i]];
			times++;
		}
	scan_report(x, (struct finding){ .series = series,
					 .kind = INCIDENT_RHYTHM,
					 .from = first,
					 .to = last + 1,
					 .score = (float)(size / x->limit_least),
					 .usual = (float)of->usual,
					 .value = (float)(value / times),
					 .period = (float)r.period });
	x->at = PM_NONE;
	for (uint32_t i = 0; i < f->n; i++)
		for (uint32_t k = 0; k < r.n; k++) {
			uint32_t from = r.at[k], to = from + 1;

			while (from && from + BEAT > r.at[k] && (double)bin[from - 1].size > MEMBER)
				from--;
			while (to < x->s->used && to <= r.at[k] + BEAT && (double)bin[to].size > MEMBER)
				to++;
			for (; from < to; from++)
				x->s->series[f->series[i]].v[from] = NAN;
		}
	return true;
}
