/* Levels and spreads that resist outliers, slow drifts, and what neighbouring values of a series do not predict. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/statistics.h"
#include "report/incident/incident_scan.h"

#define BULK         2.5 /* spreads from the median: values farther away say nothing about the rest */
#define BULK_TIMES   3
#define SAMPLE       301
#define BULK_LEAST   0.65   /* of the values */
#define BULK_SPREAD  0.9546 /* deviation of that part of a normal distribution */
#define ALIKE        0.25   /* correlation of neighbours from which on a series counts as autocorrelated */
#define ALIKE_ERRORS 2.6    /* and in standard errors, which chance does not make of a short one */
#define RARE         0.75   /* of the values that are the same: others are rare */
#define DRIFT_BLOCKS 16
#define DRIFT_PAIRS  84  /* of 120 that must agree */
#define DRIFT_SPREAD 6.5 /* change in spreads, and more where many series can have one */
#define STEP_BLOCKS  2   /* of them on both sides of a step */
#define STEP         6.0 /* times the scatter of the blocks beside it */
#define STAY         4.0 /* likewise, for a level that ends before the recording does */
#define STEP_SPREAD  2.0 /* and spreads */
#define WAVES        4
#define WAVE_LEAST   40 /* values needed to find one */
#define PARTS        8  /* of an autocorrelated series: so long a stretch must recur to be known */
#define WHITE_MOST   64 /* values of a stretch: a longer one is seen as well without */

const uint32_t scan_length[LENGTHS] = { 1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096 };

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

/* The least spread that chance alone makes: a part of the level, of a step, of the root of what is counted. */
static double least_spread(const struct scan *x, const struct incident_metric *m, double level, double step)
{
	double width = x->s->interval_s * x->s->per_bin, least = fabs(level) / 1000;

	if (m->counts && width > 0 && m->fault != METRIC_GRAVE)
		least = fmax(least, sqrt(fmax(fabs(level) * width, 1)) / width);
	if (!strcmp(m->unit, "%"))
		least = fmax(least, 0.3);
	return m->fault == METRIC_FAULT ? least : fmax(least, m->fault == METRIC_GRAVE ? step / 16 : step / 2);
}

/* Starts with medians, which a few values do not move, and ends with mean and deviation of the bulk, because sums are
 * compared with them. */
static void find_level(struct scan *x, const struct incident_metric *m, double step)
{
	double sum = 0, square, mean, wide;
	uint32_t some, same = 0;
	bool rare, flat;

	/* Of many values a sample is enough to begin with. */
	some = x->n < SAMPLE ? x->n : SAMPLE;
	for (uint32_t i = 0; i < some; i++)
		x->work[i] = x->y[(uint64_t)i * x->n / some];
	x->spread = scan_spread(x->work, x->work, some, &x->level);
	for (uint32_t i = 0; i < x->n; i++) {
		sum += fabs(x->y[i] - x->level);
		same += fabs(x->y[i] - x->level) <= 1e-9 * fabs(x->level);
	}
	flat = x->spread < 1e-9 * fabs(x->level) || x->spread == 0;
	rare = flat && same > RARE * x->n;
	wide = sum / x->n * 1.2533;
	if (flat)
		x->spread = wide;
	x->least = least_spread(x, m, x->level, step);
	x->spread = fmax(x->spread, x->least);
	some = 0;
	for (int k = 0; k < BULK_TIMES; k++) {
		uint32_t before = some;

		some = 0;
		sum = square = 0;
		for (uint32_t i = 0; i < x->n; i++) {
			double d = x->y[i] - x->level;

			if (fabs(d) > BULK * x->spread)
				continue;
			sum += d;
			square += d * d;
			some++;
		}
		mean = some ? sum / some : 0;
		/* A series that alternates between two values has no bulk at one of them. */
		if (some < BULK_LEAST * x->n && x->spread < wide)
			x->spread = wide;
		else if (some > 1)
			x->spread = fmax(x->least, sqrt(fmax(square / some - mean * mean, 0)) / BULK_SPREAD);
		x->level += mean;
		if (some == before)
			break;
	}
	for (uint32_t i = 0; i < x->n; i++) {
		x->z[i] = x->spread > 0 ? (x->y[i] - x->level) / x->spread : 0;
		/* The size of a change in what is nearly always the same is unknown: the change has to last. */
		if (rare && !m->fault)
			x->z[i] = asinh(x->z[i]);
	}
}

/* ---- what is slow ---- */

/* A level that a series goes to. */
struct step {
	uint32_t from, to; /* values */
	double change;
};

/* The medians of equal parts of at least so many values. False: there are too few. */
static bool find_blocks(struct scan *x, uint32_t least, double *block)
{
	for (uint32_t b = 0; b < DRIFT_BLOCKS && x->n >= DRIFT_BLOCKS * least; b++) {
		uint32_t from = (uint32_t)((uint64_t)x->n * b / DRIFT_BLOCKS),
			 to = (uint32_t)((uint64_t)x->n * (b + 1) / DRIFT_BLOCKS);

		memcpy(x->work, x->y + from, (to - from) * sizeof(double));
		block[b] = statistics_median(x->work, to - from);
	}
	return x->n >= DRIFT_BLOCKS * least;
}

static double squares_of(const double *v, uint32_t n, double slope, double *mean)
{
	double sum = 0;

	*mean = 0;
	for (uint32_t i = 0; i < n; i++)
		*mean += (v[i] - slope * i) / n;
	for (uint32_t i = 0; i < n; i++)
		sum += pow(v[i] - slope * i - *mean, 2);
	return sum;
}

static void add_from(struct scan *x, const struct step *s, double d)
{
	for (uint32_t i = s->from; i < s->to; i++)
		x->y[i] += d;
}

static double clipped_mean(const struct scan *x, uint32_t from, uint32_t to, double around, double at)
{
	double sum = 0;

	for (uint32_t i = from; i < to; i++)
		sum += clipped(x->y[i] - around, fabs(at));
	return sum / (to - from);
}

/* The exact place of a step near the start of a block: most values after it are beyond the middle of both levels,
 * most before it are not. */
static uint32_t edge_near(const struct scan *x, uint32_t block, double half, double change)
{
	uint32_t from = (uint32_t)((uint64_t)x->n * (block - 1) / DRIFT_BLOCKS), at = from;
	double sum = 0, most = 0;

	for (uint32_t i = from; i < (uint64_t)x->n * (block + 1) / DRIFT_BLOCKS; i++) {
		sum += clipped((half - x->y[i]) / change, 0.5);
		if (sum > most) {
			most = sum;
			at = i + 1;
		}
	}
	return at;
}

/* Finds where a series goes from one level to another, and stays there to its end or for long, if that describes it
 * far better than a line; removes the step. False: there is none. */
static bool take_step(struct scan *x, struct step *s)
{
	double block[DRIFT_BLOCKS], rest[DRIFT_BLOCKS], slope = 0, least = INFINITY, before, behind, half = 0, line;
	uint32_t from = 0, to = 0;

	if (!find_blocks(x, 6, block))
		return false;
	for (uint32_t i = 0; i < DRIFT_BLOCKS; i++)
		slope += block[i] * (i - (DRIFT_BLOCKS - 1) / 2.0);
	slope /= DRIFT_BLOCKS * (DRIFT_BLOCKS * DRIFT_BLOCKS - 1) / 12.0;
	line = squares_of(block, DRIFT_BLOCKS, slope, &before);
	for (uint32_t end = DRIFT_BLOCKS; end > STEP_BLOCKS; end = end == DRIFT_BLOCKS ? end - STEP_BLOCKS : end - 1)
		for (uint32_t i = STEP_BLOCKS; i + STEP_BLOCKS <= end; i++) {
			uint32_t outside = DRIFT_BLOCKS - (end - i);
			double squares;

			if (end < DRIFT_BLOCKS && (end - i <= STEP_BLOCKS || end - i > DRIFT_BLOCKS / 2))
				continue;
			memcpy(rest, block, i * sizeof(*rest));
			memcpy(rest + i, block + end, (DRIFT_BLOCKS - end) * sizeof(*rest));
			squares = squares_of(rest, outside, 0, &before) + squares_of(block + i, end - i, 0, &behind);
			/* With two ends it more easily resembles anything. */
			if (squares < least * (end < DRIFT_BLOCKS && to == DRIFT_BLOCKS ? 0.5 : 1)) {
				least = squares;
				from = i;
				to = end;
				s->change = behind - before;
				half = (behind + before) / 2;
			}
		}
	if (s->change == 0 || least > line / 2 ||
	    fabs(s->change) < (to < DRIFT_BLOCKS ? STAY : STEP) * sqrt(least / (DRIFT_BLOCKS - 2)))
		return false;
	s->from = edge_near(x, from, half, s->change);
	s->to = to < DRIFT_BLOCKS ? edge_near(x, to, half, -s->change) : x->n;
	/* Medians of rounded values jump where nothing does. */
	if (s->to <= s->from || !s->from ||
	    fabs(clipped_mean(x, s->from, s->to, half, s->change) - clipped_mean(x, 0, s->from, half, s->change)) <
		    fabs(s->change) / 2)
		return false;
	add_from(x, s, -s->change);
	return true;
}

/* By how much a series steadily goes one way, by the medians of equal parts; removes that. 0: it does not. */
static double take_drift(struct scan *x)
{
	double block[DRIFT_BLOCKS], slope[DRIFT_BLOCKS * DRIFT_BLOCKS / 2], change;
	int agree = 0;
	uint32_t n = 0;

	if (!find_blocks(x, 3, block))
		return 0;
	for (uint32_t i = 0; i < DRIFT_BLOCKS; i++)
		for (uint32_t k = i + 1; k < DRIFT_BLOCKS; k++) {
			agree += (block[k] > block[i]) - (block[k] < block[i]);
			slope[n++] = (block[k] - block[i]) / (k - i);
		}
	if (abs(agree) < DRIFT_PAIRS)
		return 0;
	change = statistics_median(slope, n) * DRIFT_BLOCKS;
	for (uint32_t i = 0; i < x->n; i++)
		x->y[i] -= change * ((i + 0.5) / x->n - 0.5);
	return change;
}

/* ---- what all do ---- */

/* Removes what its peers do at the same time; false: the series is much the same without it. */
static bool take_common(struct scan *x)
{
	double product = 0, square = 0, before = 0, left = 0;

	for (uint32_t i = 0; i < x->n; i++) {
		double c = clipped(x->common[x->bin[i]], CLIP);

		product += c * clipped((x->y[i] - x->level) / x->spread, CLIP);
		square += c * c;
	}
	if (!(square > 0 && x->spread > 0))
		return false;
	for (uint32_t i = 0; i < x->n; i++) {
		x->work2[i] = x->y[i] - product / square * x->spread * x->common[x->bin[i]];
		before += pow(clipped((x->y[i] - x->level) / x->spread, BULK), 2);
		left += pow(clipped((x->work2[i] - x->level) / x->spread, BULK), 2);
	}
	if (!(left < WAVE * WAVE * before))
		return false;
	memcpy(x->y, x->work2, x->n * sizeof(*x->y));
	return true;
}

/* ---- what neighbours foretell ---- */

/* The autoregression of a series, by Levinson's recursion, of the order that the Bayesian criterion chooses: each
 * further coefficient also takes some of what happened once for usual. Returns the order. a[0] is 1. */
static uint32_t autoregression(struct scan *x, double *a)
{
	uint32_t most = x->n / 6 < ORDER_MOST ? x->n / 6 : ORDER_MOST, order = 0;
	double r[ORDER_MOST + 1], error, now[ORDER_MOST + 1] = { 1 }, old[ORDER_MOST + 1], best = INFINITY;
	double alike = fmax(ALIKE, ALIKE_ERRORS / sqrt(x->n));

	for (uint32_t i = 0; i < x->n; i++)
		x->work2[i] = clipped(x->z[i], CLIP);
	for (uint32_t k = 0; k <= most; k++) {
		r[k] = 0;
		for (uint32_t i = k; i < x->n; i++)
			r[k] += x->work2[i] * x->work2[i - k];
		/* Two neighbours are enough to see that there is no correlation. */
		if (k < 2)
			continue;
		x->near |= fmax(fabs(r[1]), fabs(r[2])) >= ALIKE * r[0];
		if (k == 2 && fmax(fabs(r[1]), fabs(r[2])) < alike * r[0])
			return 0;
	}
	error = r[0] *= 1.001;
	for (uint32_t k = 1; k <= most && error > 0; k++) {
		double reflection = r[k], cost;

		for (uint32_t i = 1; i < k; i++)
			reflection += now[i] * r[k - i];
		reflection /= -error;
		memcpy(old, now, sizeof(old));
		for (uint32_t i = 1; i < k; i++)
			now[i] = old[i] + reflection * old[k - i];
		now[k] = reflection;
		error *= 1 - reflection * reflection;
		cost = x->n * log(error) + k * log(x->n);
		if (cost < best) {
			best = cost;
			order = k;
			memcpy(a, now, sizeof(now));
		}
	}
	return order;
}

/* Applies a filter forwards and backwards alike; the series is mirrored before its first value and after its last. */
static void see(struct scan *x, enum view v, const double *filter, uint32_t order, uint32_t least)
{
	struct viewed *out = &x->view[v];
	double spread, variance = 0, row = filter[0], wider = 1, level, mean = 0, scale;
	int last = (int)x->n - 1;

	out->sum[0] = 0;
	for (int i = 0; i <= last; i++) {
		double value = filter[0] * x->z[i];

		for (int k = 1; k <= (int)order; k++)
			value += filter[k] * (x->z[abs(i - k)] + x->z[i + k > last ? 2 * last - i - k : i + k]);
		x->work2[i] = value;
		out->sum[i + 1] = out->sum[i] + value;
	}
	spread = order ? fmax(scan_spread(x->work, x->work2, x->n, &level) / sqrt(filter[0]), x->least / x->spread) :
			 1;
	for (uint32_t l = 0, length = 0; l < LENGTHS; l++) {
		uint32_t n = x->n / scan_length[l];

		out->error[l] = 0;
		if (n < least || (order && scan_length[l] > WHITE_MOST))
			continue;
		/* The variance of a sum is that of all elements of the filter's matrix that it covers. */
		for (; length < scan_length[l]; length++) {
			variance += row;
			row += length + 1 <= order ? 2 * filter[length + 1] : 0;
		}
		/* And the series' own estimate, if it has enough of such stretches; they overlap, because a few that
		 * do not say little. */
		if (l % 2 == 1 && l > 2 && n >= 10) {
			uint32_t step = scan_length[l] / 4;

			n = (x->n - scan_length[l]) / step + 1;
			for (uint32_t i = 0; i < n; i++)
				x->work2[i] = out->sum[i * step + scan_length[l]] - out->sum[i * step];
			scale = spread * sqrt(fmax(variance, 1e-9)) / (1 - 1.0 / sqrt(n));
			wider = fmax(wider, scan_spread_above(x->work, x->work2, n, wider * scale, &level) / scale);
			mean = level / scan_length[l];
		}
		out->mean[l] = mean;
		out->error[l] = spread * sqrt(fmax(variance, 1e-9)) * wider;
	}
}

/* The later level is the news, unless it is most of the recording. */
static void report_step(struct scan *x, uint32_t series, const struct step *s, double limit, double low)
{
	bool later = s->from > x->n / 4 || s->to < x->n;

	scan_report(x, (struct finding){ .series = series,
					 .kind = INCIDENT_STRETCH,
					 .from = later ? x->bin[s->from] : 0,
					 .to = later ? x->bin[s->to - 1] + 1 : x->bin[s->from],
					 .score = (float)(fabs(s->change) / x->spread / limit),
					 .usual = (float)fmax(later ? x->level : x->level + s->change, low),
					 .value = (float)fmax(later ? x->level + s->change : x->level, low) });
}

static bool scan_values(struct scan *x, uint32_t series, bool report)
{
	const struct incident_row_series *of = &x->s->series[series];
	const struct incident_metric *m = &x->s->metric[of->metric];
	double a[ORDER_MOST + 1], filter[ORDER_MOST + 1] = { 1 }, low = INFINITY, high = -INFINITY, step;
	double limit = DRIFT_SPREAD * (1 + 0.1 * log2(x->equals)), change = 0;
	struct step stays = { 0 };
	uint32_t order, parts;
	bool at;

	x->n = 0;
	x->near = false;
	for (uint32_t i = 0; i < x->s->used; i++) {
		if (isnan(of->v[i]))
			continue;
		x->bin[x->n] = i;
		x->y[x->n++] = (double)of->v[i];
		low = x->y[x->n - 1] < low ? x->y[x->n - 1] : low;
		high = x->y[x->n - 1] > high ? x->y[x->n - 1] : high;
	}
	x->level = x->n ? low : NAN;
	/* What never changed is no incident. */
	if (x->n < VALUES_LEAST || !(high > low))
		return false;
	step = step_of(x->y, x->n);
	find_level(x, m, step);
	if (x->has_common && take_common(x))
		find_level(x, m, step);
	order = autoregression(x, a);
	at = order && take_step(x, &stays);
	if (at)
		find_level(x, m, step);
	if (at && fabs(stays.change) < STEP_SPREAD * x->spread) {
		add_from(x, &stays, stays.change);
		find_level(x, m, step);
		at = false;
	}
	change = at ? stays.change : 0;
	if (at && report && fabs(change) > STEP_SPREAD * (1.25 + 0.06 * log2(x->equals)) * x->spread)
		report_step(x, series, &stays, STEP_SPREAD, low);
	if (!at)
		change = order ? take_drift(x) : 0;
	if (change != 0 && !at)
		find_level(x, m, step);
	if (change != 0)
		order = autoregression(x, a);
	parts = x->near || change != 0 ? PARTS : 3;
	memcpy(x->with_waves, x->y, x->n * sizeof(*x->y));
	for (x->waves = 0; order && x->waves < WAVES && x->waves < x->n / WAVE_LEAST && take_wave(x); x->waves++) {
		find_level(x, m, step);
		order = autoregression(x, a);
	}
	if (!(x->spread > 0))
		return false;
	if (report && !at && fabs(change) > limit * x->spread)
		scan_report(x, (struct finding){ .series = series,
						 .kind = INCIDENT_DRIFT,
						 .to = x->s->used,
						 .score = (float)(fabs(change) / x->spread / limit),
						 .usual = (float)fmax(x->level - change / 2, low),
						 .value = (float)fmax(x->level + change / 2, low) });
	see(x, PLAIN, filter, 0, parts);
	x->views = order ? VIEWS : WHITE;
	for (uint32_t k = 0; k <= order && order; k++) {
		filter[k] = 0;
		for (uint32_t i = k; i <= order; i++)
			filter[k] += a[i] * a[i - k];
	}
	if (order)
		see(x, WHITE, filter, order, PARTS);
	return true;
}

bool scan_series(struct scan *x, uint32_t series, bool report)
{
	if (report || x->at != series) {
		x->good = scan_values(x, series, report);
		x->at = series;
	}
	return x->good;
}
