/*
 * One series against itself, and against its equals. Level and spread are a median and a median distance; a stretch is
 * the run of bins whose mean lies farthest from the level, by the standard error that so many bins have. It counts if
 * it is more than chance does among so many series and bins, and more than the series itself does at other times:
 * what happens again and again is usual.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/incident/incident_scan.h"

#define STRETCHES     7   /* of a series that are looked at; the last is what it does anyway */
#define SIMILAR       4   /* so many of nearly the same size are usual */
#define BEYOND_OTHERS 1.6 /* times what the series does at other times */
#define PEERS_LEAST   4
#define PEER_SCORE    6.0
#define RHYTHM_TIMES  5

struct stretch {
	uint32_t from, to; /* values */
	double size;       /* standard errors */
};

/* ---- stretches ---- */

static double size_of(const struct scan *x, uint32_t from, uint32_t to)
{
	return (x->sum[to] - x->sum[from]) / sqrt((double)(to - from)) / scan_worth_of(x, to - from);
}

/* Whoever looks like what lies beside it belongs to it, though means of many values are worth less. */
static void grow(const struct scan *x, struct stretch *s)
{
	double half = s->to > s->from ? (x->sum[s->to] - x->sum[s->from]) / (s->to - s->from) / 2 : 0;

	while (half != 0 && s->from && !x->used[s->from - 1] && x->z[s->from - 1] / half > 1)
		s->from--;
	while (half != 0 && s->to < x->n && !x->used[s->to] && x->z[s->to] / half > 1)
		s->to++;
}

/* The run of values that lies farthest off, by the error of its mean. */
static struct stretch farthest(struct scan *x)
{
	struct stretch best = { 0 };
	bool moved = true;

	x->sum[0] = 0;
	for (uint32_t i = 0; i < x->n; i++)
		x->sum[i + 1] = x->sum[i] + (x->used[i] ? 0 : x->z[i]);
	for (uint32_t l = 0; l < LENGTHS && scan_length[l] <= x->n / 2; l++) {
		double root = 1 / sqrt((double)scan_length[l]) / x->worth[l], most = fabs(best.size) / root;

		for (uint32_t i = 0, step = scan_length[l] / 8 + 1; i + scan_length[l] <= x->n; i += step) {
			double d = fabs(x->sum[i + scan_length[l]] - x->sum[i]);

			if (d > most) {
				most = d;
				best = (struct stretch){ i, i + scan_length[l], d * root };
			}
		}
	}
	/* Its ends lie between the lengths that were tried. */
	while (moved && best.size > 0) {
		static const int move[4][2] = { { -1, 0 }, { 1, 0 }, { 0, -1 }, { 0, 1 } };

		moved = false;
		for (int k = 0; k < 4; k++) {
			uint32_t from = best.from + (uint32_t)move[k][0], to = best.to + (uint32_t)move[k][1];

			if (from >= x->n || to > x->n || from >= to || fabs(size_of(x, from, to)) <= best.size)
				continue;
			best = (struct stretch){ from, to, fabs(size_of(x, from, to)) };
			moved = true;
		}
	}
	grow(x, &best);
	return best;
}

static void standardize(struct scan *x, double level, double spread)
{
	for (uint32_t i = 0; i < x->n; i++)
		x->z[i] = (x->y[i] - level) / spread;
}

/* One whose stretches lie at the same distance from each other. */
static bool is_rhythm(const struct stretch *s, uint32_t n, uint32_t bins, double *period)
{
	uint32_t at[STRETCHES];
	double mean;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t k = i;

		for (; k && at[k - 1] > s[i].from; k--)
			at[k] = at[k - 1];
		at[k] = s[i].from;
	}
	mean = (double)(at[n - 1] - at[0]) / (n - 1);
	for (uint32_t i = 0; i + 1 < n; i++)
		if (fabs(at[i + 1] - at[i] - mean) > fmax(mean * 0.1, 1.5))
			return false;
	*period = mean;
	return n >= RHYTHM_TIMES && mean > 3 && at[n - 1] - at[0] > bins / 2;
}

static void judge(struct scan *x, uint32_t series, const struct stretch *s, uint32_t n, double rest, double level,
		  double spread)
{
	double most = 0, period;
	uint32_t similar = 0, k = 0;
	struct stretch alike[STRETCHES];

	for (uint32_t i = 0; i < n; i++)
		most = fmax(most, s[i].size);
	for (uint32_t i = 0; i < n; i++)
		if (s[i].size > most * 0.5) {
			alike[k++] = s[i];
			similar++;
		}
	if (similar >= RHYTHM_TIMES && most > x->limit && is_rhythm(alike, k, x->n, &period)) {
		double sum = 0;

		for (uint32_t j = alike[0].from; j < alike[0].to; j++)
			sum += x->z[j];
		scan_report(x,
			    (struct finding){ .series = series,
					      .kind = INCIDENT_RHYTHM,
					      .from = x->bin[0],
					      .to = x->s->used,
					      .score = (float)(most / x->limit),
					      .usual = (float)level,
					      .value = (float)(level + sum / (alike[0].to - alike[0].from) * spread),
					      .period = (float)period });
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		/* One value alone is a surprise only if it is large: no distribution is normal so far out. */
		uint32_t length = s[i].to - s[i].from;
		double limit = fmax(x->limit, rest * BEYOND_OTHERS) * (length == 1 ? 1.6 :
								       length == 2 ? 1.25 :
										     1),
		       sum = 0;

		similar = 0;
		for (uint32_t j = 0; j < n; j++)
			similar += s[j].size > s[i].size * 0.6;
		if (s[i].size < limit || similar >= SIMILAR)
			continue;
		/* The recorder's own start. */
		if (length == 1 && !x->bin[s[i].from] && !x->s->joined)
			continue;
		for (uint32_t j = s[i].from; j < s[i].to; j++)
			sum += x->z[j];
		scan_report(x, (struct finding){ .series = series,
						 .kind = INCIDENT_STRETCH,
						 .from = x->bin[s[i].from],
						 .to = x->bin[s[i].to - 1] + 1,
						 .score = (float)(s[i].size / limit),
						 .usual = (float)level,
						 .value = (float)(level + sum / (s[i].to - s[i].from) * spread) });
	}
}

/* The series less what comes at a fixed distance, where a stretch then stands out more than before. */
static double without_rhythm(struct scan *x, const struct incident_metric *m, double step, double level,
			     double *spread)
{
	double before;

	scan_worth(x);
	before = farthest(x).size;
	/* What stands out anyway would only be cut into pieces. */
	if (before > 2 * x->limit)
		return level;
	memcpy(x->raw, x->y, x->n * sizeof(*x->raw));
	for (int way = 0; way < 2; way++) {
		double then, spread_then;

		if (way ? scan_smooth(x, level) : scan_fold(x, level, *spread)) {
			then = scan_level(x, m, step, BULK, &spread_then);
			standardize(x, then, spread_then);
			scan_worth(x);
			if (farthest(x).size > fmax(before, x->limit)) {
				*spread = spread_then;
				return then;
			}
		}
		memcpy(x->y, x->raw, x->n * sizeof(*x->y));
		standardize(x, level, *spread);
	}
	return level;
}

static void find_stretches(struct scan *x, uint32_t series, const struct incident_metric *m, double step)
{
	struct stretch s[STRETCHES];
	double level, spread, rest = 0, like;
	uint32_t n = 0, taken = 0;

	memset(x->used, 0, x->n * sizeof(*x->used));
	level = scan_level(x, m, step, BULK, &spread);
	if (isnan(level) || spread <= 0)
		return;
	x->s->series[series].usual = level;
	standardize(x, level, spread);
	if (scan_resemblance(x) > 0.3) {
		if (scan_drift(x, series, m, step))
			level = scan_level(x, m, step, BULK, &spread);
		standardize(x, level, spread);
		level = without_rhythm(x, m, step, level, &spread);
	}
	scan_worth(x);
	while (n < STRETCHES) {
		struct stretch best = farthest(x);

		rest = best.size;
		if (best.size < (n ? 3 : x->limit * 0.6))
			break;
		s[n++] = best;
		for (uint32_t i = best.from ? best.from - 1 : 0; i < best.to + 1 && i < x->n; i++)
			x->used[i] = true;
	}
	if (!n)
		return;
	/* What they are beside the rest is known without them, if there is enough of it. */
	for (uint32_t i = 0; i < x->n; i++)
		taken += x->used[i];
	if (taken > x->n / 4)
		memset(x->used, 0, x->n * sizeof(*x->used));
	/* Then all that is left counts: what is far off again and again makes the rest less of a surprise. */
	level = scan_level(x, m, step, taken > x->n / 4 ? BULK : INFINITY, &spread);
	if (isnan(level) || spread <= 0)
		return;
	standardize(x, level, spread);
	like = fmin(fmax(scan_resemblance(x), 0), 0.95);
	for (uint32_t i = 0; i < n; i++) {
		double sum = 0, count = s[i].to - s[i].from;

		for (uint32_t k = s[i].from; k < s[i].to; k++)
			sum += x->z[k];
		s[i].size = fabs(sum) / sqrt(count * fmin(count, (1 + like) / (1 - like)));
		s[i].size = fmin(s[i].size, fabs(sum) / sqrt(count) / scan_worth_of(x, s[i].to - s[i].from));
	}
	if (n == STRETCHES)
		n--;
	judge(x, series, s, n, rest, level, spread);
}

static void scan_series(struct scan *x, uint32_t series)
{
	struct incident_row_series *of = &x->s->series[series];
	const struct incident_metric *m = &x->s->metric[of->metric];
	double low = INFINITY, high = -INFINITY, step;

	x->n = 0;
	for (uint32_t i = 0; i < x->s->used; i++) {
		if (isnan(of->v[i]))
			continue;
		x->bin[x->n] = i;
		x->y[x->n++] = (double)of->v[i];
		low = fmin(low, x->y[x->n - 1]);
		high = fmax(high, x->y[x->n - 1]);
	}
	of->usual = NAN;
	if (!x->n)
		return;
	of->usual = low;
	/* What never changed is no incident. */
	if (x->n < VALUES_LEAST || !(high > low))
		return;
	step = scan_step(x->y, x->n);
	find_stretches(x, series, m, step);
}

/* ---- equals ---- */

static int by_metric(const void *a, const void *b, void *ctx)
{
	const struct incident_store *s = ctx;
	const struct incident_row_series *x = &s->series[*(const uint32_t *)a], *y = &s->series[*(const uint32_t *)b];
	enum pm_kind j = s->row[x->row].kind, k = s->row[y->row].kind;

	if (x->metric != y->metric)
		return x->metric < y->metric ? -1 : 1;
	if (j != k)
		return j < k ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

/* One among n of a kind that is otherwise all the time; where several are, they are no exception. */
static void compare_peers(struct scan *x, const uint32_t *place, uint32_t n, double *work)
{
	const struct incident_store *s = x->s;
	const struct incident_metric *m = &s->metric[s->series[place[0]].metric];
	double level, spread, first = 0, width = s->interval_s * s->used * s->per_bin;
	uint32_t who = 0, beyond = 0;

	for (uint32_t i = 0; i < n; i++)
		work[i] = s->series[place[i]].usual;
	level = scan_median(work, n);
	for (uint32_t i = 0; i < n; i++)
		work[i] = fabs(s->series[place[i]].usual - level);
	spread = fmax(scan_median(work, n) / 0.6745, fabs(level) / 200);
	if (m->counts && width > 0)
		spread = fmax(spread, sqrt(fmax(fabs(level) * width, 1)) / width);
	if (!strcmp(m->unit, "%"))
		spread = fmax(spread, 0.5);
	if (spread <= 0 || level == 0)
		return;
	for (uint32_t i = 0; i < n; i++) {
		double d = fabs(s->series[place[i]].usual - level) / spread;

		beyond += d > PEER_SCORE / 2;
		if (d > first) {
			first = d;
			who = i;
		}
	}
	if (first < PEER_SCORE || beyond > 1 + n / 32)
		return;
	scan_report(x, (struct finding){ .series = place[who],
					 .kind = INCIDENT_PEER,
					 .to = s->used,
					 .score = (float)(first / PEER_SCORE),
					 .usual = (float)level,
					 .value = (float)s->series[place[who]].usual });
}

static void scan_peers(struct scan *x)
{
	const struct incident_store *s = x->s;
	uint32_t *place = calloc((size_t)s->n_series + 1, sizeof(*place)), n = 0;
	double *work = calloc((size_t)s->n_series + 1, sizeof(*work));

	if (!place || !work)
		x->err = -ENOMEM;
	for (uint32_t i = 0; !x->err && i < s->n_series; i++) {
		enum pm_kind kind = s->row[s->series[i].row].kind;

		if (!isnan(s->series[i].usual) && (kind == PM_CPU || kind == PM_PACKAGE || kind == PM_CORE))
			place[n++] = i;
	}
	if (!x->err)
		qsort_r(place, n, sizeof(*place), by_metric, (void *)(uintptr_t)s);
	for (uint32_t i = 0, end; i < n; i = end) {
		const struct incident_row_series *first = &s->series[place[i]];

		for (end = i; end < n && s->series[place[end]].metric == first->metric &&
			      s->row[s->series[place[end]].row].kind == s->row[first->row].kind;)
			end++;
		if (end - i >= PEERS_LEAST)
			compare_peers(x, place + i, end - i, work);
	}
	free(place);
	free(work);
}

int scan_all(struct incident_store *s, struct findings *out)
{
	size_t room = (size_t)s->used + 1;
	struct scan x = {
		.s = s,
		.out = out,
		.limit = sqrt(2 * log((double)s->n_series * s->used + 1)) + 0.8,
		.y = calloc(room, sizeof(*x.y)),
		.z = calloc(room, sizeof(*x.z)),
		.work = calloc(room, sizeof(*x.work)),
		.raw = calloc(room, sizeof(*x.raw)),
		.sum = calloc(room, sizeof(*x.sum)),
		.bin = calloc(room, sizeof(*x.bin)),
		.used = calloc(room, sizeof(*x.used)),
	};

	/* What is short scatters more than the rest. */
	if (s->used > 2 && s->to_s[s->used - 1] - s->from_s[s->used - 1] < 0.7 * (s->to_s[0] - s->from_s[0]))
		s->used--;
	if (!x.y || !x.z || !x.work || !x.raw || !x.sum || !x.bin || !x.used)
		x.err = -ENOMEM;
	if (s->used && !x.err)
		s->interval_s = (s->to_s[s->used - 1] - s->from_s[0]) / s->used / s->per_bin;
	for (uint32_t i = 0; i < s->n_series && !x.err; i++)
		scan_series(&x, i);
	if (!x.err && s->used >= VALUES_LEAST)
		scan_peers(&x);
	free(x.y);
	free(x.z);
	free(x.work);
	free(x.raw);
	free(x.sum);
	free(x.bin);
	free(x.used);
	return x.err;
}
