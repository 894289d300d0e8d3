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

#include "report/incident/incident_private.h"

#define VALUES_LEAST  8
#define STRETCHES     7    /* of a series that are looked at; the last is what it does anyway */
#define SIMILAR       4    /* so many of nearly the same size are usual */
#define BEYOND_OTHERS 1.45 /* times what the series does at other times */
#define LENGTHS       16
#define LAG_MOST      512
#define DRIFT_BLOCKS  16
#define DRIFT_PAIRS   100 /* of 120 that have to agree */
#define PEERS_LEAST   4
#define PEER_SCORE    6.0
#define RHYTHM_TIMES  5

struct scan {
	struct incident_store *s;
	struct findings *out;
	double limit;               /* of standard errors, that chance does not reach */
	double *y, *z, *work, *raw; /* by value */
	double *sum;                /* z up to there */
	uint32_t *bin;              /* of value */
	bool *used;                 /* in a stretch already */
	double worth[LENGTHS]; /* by length: how much wider means of so many are than those of independent values */
	uint32_t n;
	int err;
};

static const uint32_t length[LENGTHS] = { 1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096 };

struct stretch {
	uint32_t from, to; /* values */
	double size;       /* standard errors */
};

/* ---- robust figures ---- */

static double kth(double *v, size_t n, size_t k)
{
	size_t from = 0, to = n - 1;

	while (from < to) {
		double pivot = v[from + (to - from) / 2];
		size_t i = from, j = to;

		for (;;) {
			while (v[i] < pivot)
				i++;
			while (v[j] > pivot)
				j--;
			if (i >= j)
				break;
			double t = v[i];

			v[i++] = v[j];
			v[j--] = t;
		}
		if (k <= j)
			to = j;
		else
			from = j + 1;
	}
	return v[k];
}

/* The array is reordered. */
static double median(double *v, size_t n)
{
	double upper = kth(v, n, n / 2);

	return n % 2 ? upper : (upper + kth(v, n, n / 2 - 1)) / 2;
}

/* The smallest step of a series that has few values; 0: it has many. */
static double step_of(const double *v, uint32_t n)
{
	double seen[12], step = INFINITY;
	uint32_t known = 0;

	for (uint32_t i = 0, k; i < n; i++) {
		for (k = 0; k < known && seen[k] != v[i];)
			k++;
		if (k < known)
			continue;
		if (known == sizeof(seen) / sizeof(*seen))
			return 0;
		for (uint32_t j = 0; j < known; j++)
			step = fmin(step, fabs(seen[j] - v[i]));
		seen[known++] = v[i];
	}
	return isfinite(step) ? step : 0;
}

/* What chance makes of it at least: a part of the level, of a step, of the root of what is counted. */
static double least_spread(const struct scan *x, const struct incident_metric *m, double level, double step)
{
	double width = x->s->interval_s * x->s->per_bin, least = fabs(level) / 300;

	if (m->counts && width > 0 && !m->grave)
		least = fmax(least, sqrt(fmax(fabs(level) * width, 1)) / width);
	if (!strcmp(m->unit, "%"))
		least = fmax(least, 0.3);
	return fmax(least, m->grave ? step / 8 : step / 2);
}

#define BULK 4.0 /* spreads from the median: what lies farther away says nothing of the rest */

/* Level and spread of the values that are in no stretch. Begins with medians, because those stay as they are whatever
 * a few values do, and ends with mean and deviation of the bulk, because sums are compared with them. */
static double level_of(struct scan *x, const struct incident_metric *m, double step, double *spread)
{
	double level, sum = 0, square = 0, mean, least;
	uint32_t n = 0, bulk = 0;

	for (uint32_t i = 0; i < x->n; i++)
		if (!x->used[i])
			x->work[n++] = x->y[i];
	if (n < VALUES_LEAST / 2)
		return NAN;
	level = median(x->work, n);
	for (uint32_t i = 0; i < n; i++) {
		x->work[i] = fabs(x->work[i] - level);
		sum += x->work[i];
	}
	*spread = median(x->work, n) / 0.6745;
	if (*spread < 1e-9 * fabs(level) || *spread == 0)
		*spread = sum / n * 1.2533;
	least = least_spread(x, m, level, step);
	*spread = fmax(*spread, least);
	sum = 0;
	for (uint32_t i = 0; i < x->n; i++) {
		double d = x->y[i] - level;

		if (x->used[i] || fabs(d) > BULK * *spread)
			continue;
		sum += d;
		square += d * d;
		bulk++;
	}
	mean = bulk ? sum / bulk : 0;
	if (bulk > 1)
		*spread = fmax(*spread, sqrt(fmax(square / bulk - mean * mean, 0)));
	return level + mean;
}

/* Values that resemble those before them make means that scatter more: seen from the means of parts. */
static void find_worth(struct scan *x)
{
	double worth = 1;

	for (uint32_t l = 0; l < LENGTHS; l++) {
		uint32_t n = x->n / length[l];
		double level;

		if (l % 2 == 1 && l > 2 && n >= 10) {
			for (uint32_t i = 0; i < n; i++) {
				x->work[i] = 0;
				for (uint32_t k = 0; k < length[l]; k++)
					x->work[i] += fmax(-BULK, fmin(BULK, x->z[i * length[l] + k]));
				x->work[i] /= sqrt(length[l]);
				x->sum[i] = x->work[i];
			}
			level = median(x->work, n);
			for (uint32_t i = 0; i < n; i++)
				x->work[i] = fabs(x->sum[i] - level);
			worth = fmax(worth, median(x->work, n) / 0.6745);
		}
		x->worth[l] = worth;
	}
}

static double worth_of(const struct scan *x, uint32_t n)
{
	uint32_t l = 0;

	while (l + 1 < LENGTHS && length[l + 1] <= n)
		l++;
	return x->worth[l];
}

/* ---- what is slow ---- */

/* Medians of equal parts; false: some have too few values. */
static bool blocks_of(struct scan *x, uint32_t n, double *block)
{
	for (uint32_t b = 0; b < n; b++) {
		uint32_t from = (uint32_t)((uint64_t)x->n * b / n), to = (uint32_t)((uint64_t)x->n * (b + 1) / n);

		if (to - from < 3)
			return false;
		memcpy(x->work, x->y + from, (to - from) * sizeof(double));
		block[b] = median(x->work, to - from);
	}
	return true;
}

/* The series less the line through the blocks. */
static void take_off(struct scan *x, uint32_t n, const double *block, double level, double *out)
{
	for (uint32_t i = 0; i < x->n; i++) {
		double at = ((double)i + 0.5) / x->n * n - 0.5;
		uint32_t b = at < 0 ? 0 : at >= n - 2 ? n - 2 : (uint32_t)at;

		out[i] = x->y[i] - (block[b] + (block[b + 1] - block[b]) * (at - b)) + level;
	}
}

static double spread_of(double *work, const double *v, uint32_t n)
{
	double level;

	memcpy(work, v, n * sizeof(*work));
	level = median(work, n);
	for (uint32_t i = 0; i < n; i++)
		work[i] = fabs(v[i] - level);
	return median(work, n) / 0.6745;
}

/* How much a value is like the one before, 0 to 1. */
static double resemblance(const struct scan *x)
{
	double last = 0, sum = 0, square = 1e-12;

	for (uint32_t i = 0; i < x->n; i++) {
		double z = fmax(-BULK, fmin(BULK, x->z[i]));

		z = x->used[i] ? 0 : z;
		sum += z * last;
		square += z * z;
		last = z;
	}
	return sum / square;
}

static void report(struct scan *x, struct finding f)
{
	struct finding *more = incident_grown(x->out->f, x->out->n, &x->out->cap, sizeof(*more));

	if (!more) {
		x->err = -ENOMEM;
		return;
	}
	x->out->f = more;
	more[x->out->n++] = f;
}

/* A series that goes one way all the time, and what it does beside that. */
static bool find_drift(struct scan *x, uint32_t series, const struct incident_metric *m, double step)
{
	double block[DRIFT_BLOCKS], slope[DRIFT_BLOCKS * DRIFT_BLOCKS / 2], change, level, noise, usual;
	int agree = 0;
	uint32_t n = 0;

	if (x->n < DRIFT_BLOCKS * 3 || !blocks_of(x, DRIFT_BLOCKS, block))
		return false;
	for (uint32_t i = 0; i < DRIFT_BLOCKS; i++)
		for (uint32_t k = i + 1; k < DRIFT_BLOCKS; k++) {
			agree += (block[k] > block[i]) - (block[k] < block[i]);
			slope[n++] = (block[k] - block[i]) / (k - i);
		}
	if (abs(agree) < DRIFT_PAIRS)
		return false;
	change = median(slope, n) * DRIFT_BLOCKS;
	memcpy(x->work, block, sizeof(block));
	level = median(x->work, DRIFT_BLOCKS);
	usual = level - change / 2;
	for (uint32_t i = 0; i < DRIFT_BLOCKS; i++)
		block[i] = level + change * ((i + 0.5) / DRIFT_BLOCKS - 0.5);
	take_off(x, DRIFT_BLOCKS, block, level, x->z);
	noise = fmax(spread_of(x->work, x->z, x->n), least_spread(x, m, level, step));
	if (fabs(change) < 5 * noise)
		return false;
	memcpy(x->y, x->z, x->n * sizeof(*x->y));
	report(x, (struct finding){ .series = series,
				    .kind = INCIDENT_DRIFT,
				    .to = x->s->used,
				    .score = (float)(fabs(change) / noise / 5),
				    .usual = (float)usual,
				    .value = (float)(usual + change) });
	return true;
}

/* The distance after which the series is like itself again, having been less so before; 0: none. */
static uint32_t period_of(const struct scan *x)
{
	double best = 0.25, least = 1;
	uint32_t period = 0;

	for (uint32_t lag = 2; lag <= x->n / 3 && lag <= LAG_MOST; lag++) {
		double sum = 0, square = 1e-12;

		for (uint32_t i = lag; i < x->n; i++) {
			sum += x->sum[i] * x->sum[i - lag];
			square += x->sum[i] * x->sum[i];
		}
		least = fmin(least, sum / square);
		/* Twice the period is one, too. */
		if (sum / square > fmax(best * 1.05, least + 0.25)) {
			best = sum / square;
			period = lag;
		}
	}
	return period;
}

/* What comes again and again at a fixed distance is usual: each value less the median of those one and two periods
 * away, which one incident does not move. False: there is no period, or it explains little. */
static bool fold(struct scan *x, double level, double spread)
{
	uint32_t period;

	for (uint32_t i = 0; i < x->n; i++)
		x->sum[i] = fmax(-BULK, fmin(BULK, x->z[i]));
	period = period_of(x);
	if (!period)
		return false;
	for (uint32_t i = 0; i < x->n; i++) {
		double near[4];
		uint32_t n = 0;

		for (uint32_t k = 1; n < 4 && k * period < x->n; k++) {
			if (i >= k * period)
				near[n++] = x->y[i - k * period];
			if (i + k * period < x->n && n < 4)
				near[n++] = x->y[i + k * period];
		}
		x->z[i] = x->y[i] - median(near, n) + level;
	}
	if (spread_of(x->work, x->z, x->n) > 0.85 * spread)
		return false;
	memcpy(x->y, x->z, x->n * sizeof(*x->y));
	return true;
}

/* ---- stretches ---- */

static double size_of(const struct scan *x, uint32_t from, uint32_t to)
{
	return (x->sum[to] - x->sum[from]) / sqrt((double)(to - from)) / worth_of(x, to - from);
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
	for (uint32_t l = 0; l < LENGTHS && length[l] <= x->n / 2; l++) {
		double root = 1 / sqrt((double)length[l]) / x->worth[l], most = fabs(best.size) / root;

		for (uint32_t i = 0, step = length[l] / 8 + 1; i + length[l] <= x->n; i += step) {
			double d = fabs(x->sum[i + length[l]] - x->sum[i]);

			if (d > most) {
				most = d;
				best = (struct stretch){ i, i + length[l], d * root };
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
		report(x, (struct finding){ .series = series,
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
		double limit = fmax(x->limit, rest * BEYOND_OTHERS), sum = 0;

		similar = 0;
		for (uint32_t j = 0; j < n; j++)
			similar += s[j].size > s[i].size * 0.6;
		if (s[i].size < limit || similar >= SIMILAR)
			continue;
		for (uint32_t j = s[i].from; j < s[i].to; j++)
			sum += x->z[j];
		report(x, (struct finding){ .series = series,
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
	double before, then = level, spread_then = *spread;

	find_worth(x);
	before = farthest(x).size;
	/* What stands out anyway would only be cut into pieces. */
	if (before > 2 * x->limit)
		return level;
	memcpy(x->raw, x->y, x->n * sizeof(*x->raw));
	if (fold(x, level, *spread)) {
		then = level_of(x, m, step, &spread_then);
		standardize(x, then, spread_then);
		find_worth(x);
		if (farthest(x).size > before) {
			*spread = spread_then;
			return then;
		}
		memcpy(x->y, x->raw, x->n * sizeof(*x->y));
	}
	standardize(x, level, *spread);
	return level;
}

static void find_stretches(struct scan *x, uint32_t series, const struct incident_metric *m, double step)
{
	struct stretch s[STRETCHES];
	double level, spread, rest = 0, like;
	uint32_t n = 0, taken = 0;

	memset(x->used, 0, x->n * sizeof(*x->used));
	level = level_of(x, m, step, &spread);
	if (isnan(level) || spread <= 0)
		return;
	x->s->series[series].usual = level;
	standardize(x, level, spread);
	if (resemblance(x) > 0.3) {
		if (find_drift(x, series, m, step))
			level = level_of(x, m, step, &spread);
		standardize(x, level, spread);
		level = without_rhythm(x, m, step, level, &spread);
	}
	find_worth(x);
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
	level = level_of(x, m, step, &spread);
	if (isnan(level) || spread <= 0)
		return;
	standardize(x, level, spread);
	like = fmin(fmax(resemblance(x), 0), 0.95);
	for (uint32_t i = 0; i < n; i++) {
		double sum = 0, count = s[i].to - s[i].from;

		for (uint32_t k = s[i].from; k < s[i].to; k++)
			sum += x->z[k];
		s[i].size = fabs(sum) / sqrt(count * fmin(count, (1 + like) / (1 - like)));
		s[i].size = fmin(s[i].size, fabs(sum) / sqrt(count) / worth_of(x, s[i].to - s[i].from));
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
	step = step_of(x->y, x->n);
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
	level = median(work, n);
	for (uint32_t i = 0; i < n; i++)
		work[i] = fabs(s->series[place[i]].usual - level);
	spread = fmax(median(work, n) / 0.6745, fabs(level) / 200);
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
	report(x, (struct finding){ .series = place[who],
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
