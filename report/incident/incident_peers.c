/* Compares equal places: what all of them do at the same time, and which one differs throughout. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/statistics.h"
#include "report/incident/incident_scan.h"

#define COMMON_LEAST 6 /* of which one is little */
#define PEERS_LEAST  4
#define PEER_SCORE   6.0

/* Finds what all of a family do at the same time, if another row shows it. */
void find_common(struct scan *x, const uint32_t *series, uint32_t many)
{
	const struct incident_store *s = x->s;
	SCOPED(scoped_free) double *work = NULL;
	double level, spread;

	x->has_common = many >= COMMON_LEAST;
	if (!x->has_common)
		return;
	work = calloc(many, sizeof(*work));
	if (!work) {
		x->err = -ENOMEM;
		return;
	}
	for (uint32_t b = 0; b < s->used; b++) {
		uint32_t n = 0;

		for (uint32_t i = 0; i < many; i++)
			if (!isnan(s->series[series[i]].v[b]))
				work[n++] = (double)s->series[series[i]].v[b];
		x->common[b] = n ? statistics_median(work, n) : b ? x->common[b - 1] : 0;
	}
	spread = scan_spread(x->work, x->common, s->used, &level);
	x->has_common = spread > 0;
	for (uint32_t b = 0; b < s->used; b++)
		x->common[b] = (x->common[b] - level) / spread;
}

static double plain_mean(const struct incident_store *s, uint32_t of)
{
	double sum = 0;
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->used; i++)
		if (!isnan(s->series[of].v[i])) {
			sum += (double)s->series[of].v[i];
			n++;
		}
	return n ? sum / n : NAN;
}

/* How far the mean of one differs from its peers', in spreads of them and towards `side`: for what comes in bursts,
 * the usual value is not the amount. */
static double means_apart(const struct scan *x, const uint32_t *series, uint32_t many, uint32_t who, double side,
			  double *work)
{
	double mean = plain_mean(x->s, series[who]), level, spread;
	uint32_t n = 0;

	for (uint32_t i = 0; i < many; i++)
		if (!isnan(x->s->series[series[i]].usual))
			work[n++] = plain_mean(x->s, series[i]);
	spread = scan_spread(work, work, n, &level);
	return copysign(mean - level, (mean - level) * side) / fmax(spread, fabs(level) / 200);
}

/* Finds one among its peers that always differs; where several do, they are no exception. */
void compare_peers(struct scan *x, const uint32_t *series, uint32_t many)
{
	const struct incident_store *s = x->s;
	const struct incident_metric *m = &s->metric[s->series[series[0]].metric];
	enum pm_kind kind = s->row[s->series[series[0]].row].kind;
	double level, spread, first = 0, width = s->interval_s * s->used * s->per_bin, limit;
	SCOPED(scoped_free) double *work = calloc((size_t)many + 1, sizeof(*work));
	uint32_t who = 0, beyond = 0, n = 0;

	if (!work)
		x->err = -ENOMEM;
	if (!work || (kind != PM_CPU && kind != PM_PACKAGE && kind != PM_CORE))
		return;
	for (uint32_t i = 0; i < many; i++)
		if (!isnan(s->series[series[i]].usual))
			work[n++] = s->series[series[i]].usual;
	if (n < PEERS_LEAST)
		return;
	limit = PEER_SCORE * (1 + 2.0 / (n - 2));
	/* A few say little about their variation: found by simulation, so that two of 10,000 equal ones have such a
	 * first one. */
	spread = scan_spread(work, work, n, &level) * fmax((5.5 + 100 / pow(n - 3, 1.5)) / limit, 1);
	spread = fmax(spread, fabs(level) / 200);
	if (m->counts && width > 0)
		spread = fmax(spread, sqrt(fmax(fabs(level) * width, 1)) / width);
	if (!strcmp(m->unit, "%"))
		spread = fmax(spread, 0.5);
	for (uint32_t i = 0; i < many && spread > 0; i++) {
		double d = fabs(s->series[series[i]].usual - level) / spread;

		beyond += d > limit / 2;
		if (d > first) {
			first = d;
			who = i;
		}
	}
	if (first > limit && beyond <= 1 + n / 32 && level != 0 &&
	    means_apart(x, series, many, who, s->series[series[who]].usual - level, work) > limit / 2)
		scan_report(x, (struct finding){ .series = series[who],
						 .kind = INCIDENT_PEER,
						 .to = s->used,
						 .score = (float)(first / limit),
						 .usual = (float)level,
						 .value = (float)s->series[series[who]].usual });
}
