/* Levels and spreads that a few values do not move, and what of a series is slow or comes again and again. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/incident/incident_scan.h"

#define LAG_MOST     512
#define DRIFT_BLOCKS 16
#define DRIFT_PAIRS  100 /* of 120 that have to agree */

const uint32_t scan_length[LENGTHS] = { 1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096 };

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

double scan_median(double *v, size_t n)
{
	double upper = kth(v, n, n / 2);

	return n % 2 ? upper : (upper + kth(v, n, n / 2 - 1)) / 2;
}

double scan_step(const double *v, uint32_t n)
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

double scan_level(struct scan *x, const struct incident_metric *m, double step, double bulk, double *spread)
{
	double level, sum = 0, square = 0, mean, least;
	uint32_t n = 0, some = 0;

	for (uint32_t i = 0; i < x->n; i++)
		if (!x->used[i])
			x->work[n++] = x->y[i];
	if (n < VALUES_LEAST / 2)
		return NAN;
	level = scan_median(x->work, n);
	for (uint32_t i = 0; i < n; i++) {
		x->work[i] = fabs(x->work[i] - level);
		sum += x->work[i];
	}
	*spread = scan_median(x->work, n) / 0.6745;
	if (*spread < 1e-9 * fabs(level) || *spread == 0)
		*spread = sum / n * 1.2533;
	least = least_spread(x, m, level, step);
	*spread = fmax(*spread, least);
	sum = 0;
	for (uint32_t i = 0; i < x->n; i++) {
		double d = x->y[i] - level;

		if (x->used[i] || fabs(d) > bulk * *spread)
			continue;
		sum += d;
		square += d * d;
		some++;
	}
	mean = some ? sum / some : 0;
	if (some > 1)
		*spread = fmax(*spread, sqrt(fmax(square / some - mean * mean, 0)));
	return level + mean;
}

void scan_worth(struct scan *x)
{
	double worth = 1;

	for (uint32_t l = 0; l < LENGTHS; l++) {
		uint32_t n = x->n / scan_length[l];
		double level;

		if (l % 2 == 1 && l > 2 && n >= 10) {
			for (uint32_t i = 0; i < n; i++) {
				x->work[i] = 0;
				for (uint32_t k = 0; k < scan_length[l]; k++)
					x->work[i] += fmax(-BULK, fmin(BULK, x->z[i * scan_length[l] + k]));
				x->work[i] /= sqrt(scan_length[l]);
				x->sum[i] = x->work[i];
			}
			level = scan_median(x->work, n);
			for (uint32_t i = 0; i < n; i++)
				x->work[i] = fabs(x->sum[i] - level);
			worth = fmax(worth, scan_median(x->work, n) / 0.6745);
		}
		x->worth[l] = worth;
	}
}

double scan_worth_of(const struct scan *x, uint32_t n)
{
	uint32_t l = 0;

	while (l + 1 < LENGTHS && scan_length[l + 1] <= n)
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
		block[b] = scan_median(x->work, to - from);
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
	level = scan_median(work, n);
	for (uint32_t i = 0; i < n; i++)
		work[i] = fabs(v[i] - level);
	return scan_median(work, n) / 0.6745;
}

double scan_resemblance(const struct scan *x)
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

void scan_report(struct scan *x, struct finding f)
{
	struct finding *more = incident_grown(x->out->f, x->out->n, &x->out->cap, sizeof(*more));

	if (!more) {
		x->err = -ENOMEM;
		return;
	}
	x->out->f = more;
	more[x->out->n++] = f;
}

bool scan_drift(struct scan *x, uint32_t series, const struct incident_metric *m, double step)
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
	change = scan_median(slope, n) * DRIFT_BLOCKS;
	memcpy(x->work, block, sizeof(block));
	level = scan_median(x->work, DRIFT_BLOCKS);
	usual = level - change / 2;
	for (uint32_t i = 0; i < DRIFT_BLOCKS; i++)
		block[i] = level + change * ((i + 0.5) / DRIFT_BLOCKS - 0.5);
	take_off(x, DRIFT_BLOCKS, block, level, x->z);
	noise = fmax(spread_of(x->work, x->z, x->n), least_spread(x, m, level, step));
	if (fabs(change) < 5 * noise)
		return false;
	memcpy(x->y, x->z, x->n * sizeof(*x->y));
	scan_report(x, (struct finding){ .series = series,
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

bool scan_fold(struct scan *x, double level, double spread)
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
		x->z[i] = x->y[i] - scan_median(near, n) + level;
	}
	if (spread_of(x->work, x->z, x->n) > 0.85 * spread)
		return false;
	memcpy(x->y, x->z, x->n * sizeof(*x->y));
	return true;
}

#define NEAR 8 /* values on each side */

bool scan_smooth(struct scan *x, double level)
{
	if (x->n < 4 * NEAR)
		return false;
	for (uint32_t i = 0; i < x->n; i++) {
		uint32_t from = i > NEAR ? i - NEAR : 0, to = i + NEAR < x->n ? i + NEAR + 1 : x->n;

		memcpy(x->work, x->y + from, (to - from) * sizeof(*x->work));
		x->z[i] = x->y[i] - scan_median(x->work, to - from) + level;
	}
	memcpy(x->y, x->z, x->n * sizeof(*x->y));
	return true;
}
