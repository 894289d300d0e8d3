/*
 * Each series against itself, and against its peers. The series of one metric at places of one kind are a family.
 * For every length of a stretch, the family's value at a time is the largest sum that any of its series has there, in
 * standard errors; so a wide machine has no more chances to be wrong than a narrow one. What happens is what lies
 * beyond the tail that the family shows at all other times: an exponential tail over their largest peaks, pulled
 * towards that of a normal distribution by as many observations as PRIOR says. Whatever bursts again and again thus
 * has a long tail and is no news.
 *
 * Before that, what is usual is taken off: a step or a drift, waves, and what recurs at a fixed distance. Steps and
 * drifts are findings of their own.
 *
 * Peaks over a threshold, declustered by runs: Coles 2001, An Introduction to Statistical Modeling of Extreme Values,
 * 4. Several outliers are tested from the smallest to the largest, so that none hides another: Rosner 1983,
 * Technometrics 25.
 */
#include <complex.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/incident/incident_scan.h"
#include "report/numbers/statistics.h"

#define VALUES_LEAST  8
#define LENGTHS       16
#define CLIP          4.0
#define NORMAL_MEDIAN 0.6745 /* of a normal distribution's deviations, in spreads */
#define OUTLIERS      3      /* at most, of one length; more are usual */
#define TAIL          20     /* peaks that describe the tail */
#define PRIOR         20     /* weight of the normal distribution beside them */
#define WRONG         0.002  /* incidents that chance may produce in a recording */
#define MEMBER        3.5    /* standard errors from which on a series joins what its family does */
#define STRETCHES     12     /* of a family */
#define PEAKS         48     /* most peaks of peaks_apart() */
#define LOOKS         6.0    /* effective number of independent lengths and sides */
#define MOST          0.7    /* of the recording */
#define RECURS        4      /* other bursts, from which on one is usual */
#define ALMOST        0.3    /* of its energy, from which on another burst is as much */
#define NEWS          0.01   /* bursts larger than it that chance may add */
#define CHANCE        1.1    /* of the largest that a normal distribution has: errors are estimates */

#define BULK         2.5 /* spreads from the median: values farther away say nothing about the rest */
#define BULK_TIMES   3
#define SAMPLE       301
#define BULK_LEAST   0.65   /* of the values */
#define BULK_SPREAD  0.9546 /* deviation of that part of a normal distribution */
#define ALIKE        0.25   /* correlation of neighbours from which on a series resembles itself */
#define ALIKE_ERRORS 2.6    /* and in standard errors, which chance does not make of a short one */
#define RARE         0.75   /* of the values that are the same: others are rare */
#define BLOCKS       16     /* whose medians show steps and drifts */
#define DRIFT_PAIRS  84     /* of 120 that must agree */
#define DRIFT_SPREAD 6.5    /* change in spreads, and more where many series can have one */
#define STEP_BLOCKS  2      /* of them on both sides of a step */
#define STEP         6.0    /* times the scatter of the blocks beside it */
#define STAY         4.0    /* likewise, for a level that ends before the recording does */
#define STEP_SPREAD  2.0    /* and spreads */
#define WAVES        4
#define WAVE_LEAST   40  /* values needed to find one */
#define WAVE         0.9 /* of the spread that may be left for a wave to be one */
#define WAVE_SHARE   0.1 /* of the squares that its frequency has at least; less cannot leave so little */
#define HAMPEL       1.3 /* spreads from which on a value counts less; from twice as many on, not at all */
#define HAMPEL_TIMES 5
#define PARTS        8 /* of a series that resembles itself: so long a stretch must recur to be known */

#define BEATS_LEAST 5
#define BEATS       4096 /* more than lie APART in all bins */
#define REGULAR     0.8  /* of the beats that are as far apart as most of them, or twice that */
#define JITTER      0.06 /* of the distance */
#define APART       5    /* bins between beats, at least */
#define BEAT        3    /* bins on both sides that may belong to a beat */

#define PEERS_LEAST 4
#define PEER_SCORE  6.0

#define GROUPS_MOST 4096
#define TOGETHER_S  60  /* what recurs so soon is the same incident */
#define CLEAR       1.2 /* score */
#define NEARLY      0.5 /* of the best score: shows it as well */
#define SHARED      0.4 /* of the time of both together: then it is the same */

static const uint32_t lengths[LENGTHS] = { 1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096 };

enum side { UP, DOWN, SIDES };

/* Something about a series. */
struct finding {
	uint32_t series;
	enum incident_kind kind;
	uint32_t from, to; /* bins [from, to) */
	float score;       /* how far beyond what chance and the series do elsewhere; 1: just */
	float usual, value;
	float recurs; /* times at irregular distances, by their size; INFINITY: it is usual */
};
struct findings {
	struct finding *f; /* owned */
	uint32_t n;
};

/* The current series as it is judged: standard errors by value, and by the length of a stretch what its sum scatters
 * by. */
struct scan {
	struct incident_store *s;
	struct findings *out;
	double *y, *z, *work, *work2; /* by value */
	double *with_waves;           /* y before waves were taken off */
	double complex *spectrum;
	double *sum;           /* of values up to there; n + 1 */
	uint32_t *bin;         /* of value */
	double error[LENGTHS]; /* by length; 0: not looked at */
	/* Likewise, of a value: of what is skewed, such as bursts, the usual sum is not that of the usual values. */
	double mean[LENGTHS];
	double level, spread;
	double limit_least; /* what no family has a lower limit than, whatever it does */
	uint32_t n;
	uint32_t equals; /* series of its family */
	uint32_t at;     /* the series that all this is of; PM_NONE: none, or its values have changed */
	bool good;       /* what scan_series() said of it */
};

struct peak {
	float size;    /* standard errors; 0: none */
	uint32_t from; /* bin */
	uint32_t series;
};
struct stretch {
	enum side side;
	uint32_t from, to; /* bins */
	uint32_t series;   /* that shows it best */
	double size, limit;
	double recurs; /* as of a finding */
};
struct family {
	const uint32_t *series;
	uint32_t n;
	struct peak *peak[SIDES][LENGTHS]; /* one for each lengths[] of bins */
	struct stretch stretch[STRETCHES];
	uint32_t n_stretches;
};

static void report(struct scan *x, struct finding f)
{
	memory_room(&x->out->f, x->out->n, sizeof(f));
	x->out->f[x->out->n++] = f;
}

/* ---- figures that resist outliers ---- */

static double clipped(double z, double at)
{
	return z > at ? at : z < -at ? -at : z;
}

/* Of n values around their median, in *level; `work` has room for as many, or is the values. */
static double spread_of(double *work, const double *v, uint32_t n, double *level)
{
	memmove(work, v, n * sizeof(*work));
	*level = statistics_median(work, n);
	for (uint32_t i = 0; i < n; i++)
		work[i] = fabs(v[i] - *level);
	return statistics_median(work, n) / NORMAL_MEDIAN;
}

/* The least difference between two of the values, if they have few: they are rounded to it. */
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
	double width = x->s->bin_s, least = fabs(level) / 1000;

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
	/* Of many values a sample is enough to begin with. */
	uint32_t some = x->n < SAMPLE ? x->n : SAMPLE;
	double sum = 0, square, mean, wide, least;
	uint32_t same = 0;
	bool rare;

	for (uint32_t i = 0; i < some; i++)
		x->work[i] = x->y[(uint64_t)i * x->n / some];
	x->spread = spread_of(x->work, x->work, some, &x->level);
	for (uint32_t i = 0; i < x->n; i++) {
		sum += fabs(x->y[i] - x->level);
		same += fabs(x->y[i] - x->level) <= 1e-9 * fabs(x->level);
	}
	wide = sum / x->n * 1.2533;
	if (x->spread <= 1e-9 * fabs(x->level))
		x->spread = wide;
	/* The size of a change in what is nearly always the same is unknown: the change has to last. */
	rare = same > RARE * x->n && !m->fault;
	least = least_spread(x, m, x->level, step);
	x->spread = fmax(x->spread, least);
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
			x->spread = fmax(least, sqrt(fmax(square / some - mean * mean, 0)) / BULK_SPREAD);
		x->level += mean;
		if (some == before)
			break;
	}
	for (uint32_t i = 0; i < x->n; i++) {
		x->z[i] = x->spread > 0 ? (x->y[i] - x->level) / x->spread : 0;
		x->z[i] = rare ? asinh(x->z[i]) : x->z[i];
	}
}

/* The correlation of values with the next ones, or the ones after these, where it is larger. */
static double likeness(struct scan *x)
{
	double r[3] = { 0 };

	for (uint32_t i = 0; i < x->n; i++)
		x->work2[i] = clipped(x->z[i], CLIP);
	for (uint32_t k = 0; k < 3; k++)
		for (uint32_t i = k; i < x->n; i++)
			r[k] += x->work2[i] * x->work2[i - k];
	return r[0] > 0 ? fmax(fabs(r[1]), fabs(r[2])) / r[0] : 0;
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
	for (uint32_t b = 0; b < BLOCKS && x->n >= BLOCKS * least; b++) {
		uint32_t from = (uint32_t)((uint64_t)x->n * b / BLOCKS),
			 to = (uint32_t)((uint64_t)x->n * (b + 1) / BLOCKS);

		memcpy(x->work, x->y + from, (to - from) * sizeof(double));
		block[b] = statistics_median(x->work, to - from);
	}
	return x->n >= BLOCKS * least;
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

/* The exact place of a step near the start of a block: most values after it are beyond the middle of both levels,
 * most before it are not. */
static uint32_t edge_near(const struct scan *x, uint32_t block, double half, double change)
{
	uint32_t from = (uint32_t)((uint64_t)x->n * (block - 1) / BLOCKS), at = from;
	double sum = 0, most = 0;

	for (uint32_t i = from; i < (uint64_t)x->n * (block + 1) / BLOCKS; i++) {
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
	double block[BLOCKS], rest[BLOCKS], slope = 0, least = INFINITY, before, behind, half = 0, line;
	uint32_t from = 0, to = BLOCKS;

	if (!find_blocks(x, 6, block))
		return false;
	for (uint32_t i = 0; i < BLOCKS; i++)
		slope += block[i] * (i - (BLOCKS - 1) / 2.0) / (BLOCKS * (BLOCKS * BLOCKS - 1) / 12.0);
	line = squares_of(block, BLOCKS, slope, &before);
	for (uint32_t i = STEP_BLOCKS; i < BLOCKS; i++)
		for (uint32_t end = i + STEP_BLOCKS; end <= BLOCKS; end++) {
			double squares;

			/* A level that ends has to be longer; and what is most of the recording is usual. */
			if (end < BLOCKS && (end - i == STEP_BLOCKS || end - i > BLOCKS / 2))
				continue;
			memcpy(rest, block, i * sizeof(*rest));
			memcpy(rest + i, block + end, (BLOCKS - end) * sizeof(*rest));
			squares = squares_of(rest, BLOCKS - (end - i), 0, &before) +
				  squares_of(block + i, end - i, 0, &behind);
			/* With two ends it more easily resembles anything. */
			if (squares < least * (end < BLOCKS && to == BLOCKS ? 0.5 : 1)) {
				least = squares;
				from = i;
				to = end;
				s->change = behind - before;
				half = (behind + before) / 2;
			}
		}
	if (s->change == 0 || least > line / 2 ||
	    fabs(s->change) < (to < BLOCKS ? STAY : STEP) * sqrt(least / (BLOCKS - 2)))
		return false;
	s->from = edge_near(x, from, half, s->change);
	s->to = to < BLOCKS ? edge_near(x, to, half, -s->change) : x->n;
	if (s->to <= s->from || !s->from || fabs(s->change) < STEP_SPREAD * x->spread / 2)
		return false;
	for (uint32_t i = s->from; i < s->to; i++)
		x->y[i] -= s->change;
	return true;
}

/* By how much a series steadily goes one way, by the medians of equal parts; removes that. 0: it does not. */
static double take_drift(struct scan *x)
{
	double block[BLOCKS], slope[BLOCKS * BLOCKS / 2], change;
	int agree = 0;
	uint32_t n = 0;

	if (!find_blocks(x, 3, block))
		return 0;
	for (uint32_t i = 0; i < BLOCKS; i++)
		for (uint32_t k = i + 1; k < BLOCKS; k++) {
			agree += (block[k] > block[i]) - (block[k] < block[i]);
			slope[n++] = (block[k] - block[i]) / (k - i);
		}
	if (abs(agree) < DRIFT_PAIRS)
		return 0;
	change = statistics_median(slope, n) * BLOCKS;
	for (uint32_t i = 0; i < x->n; i++)
		x->y[i] -= change * ((i + 0.5) / x->n - 0.5);
	return change;
}

/* ---- waves ---- */

/* In place; n is a power of two (Cooley and Tukey 1965). */
static void transform(double complex *v, uint32_t n)
{
	for (uint32_t i = 1, k = 0; i < n; i++) {
		uint32_t bit = n / 2;

		for (; k & bit; bit /= 2)
			k ^= bit;
		k ^= bit;
		if (i < k) {
			double complex swap = v[i];

			v[i] = v[k];
			v[k] = swap;
		}
	}
	for (uint32_t width = 2; width <= n; width *= 2) {
		double turn_c = cos(2 * M_PI / width), turn_s = -sin(2 * M_PI / width), c = 1, s = 0;

		for (uint32_t k = 0; k < width / 2; k++) {
			double next = c * turn_c - s * turn_s;

			for (uint32_t i = k; i < n; i += width) {
				double re = creal(v[i + width / 2]), im = cimag(v[i + width / 2]);
				double complex turned = c * re - s * im + (c * im + s * re) * I;

				v[i + width / 2] = v[i] - turned;
				v[i] += turned;
			}
			s = c * turn_s + s * turn_c;
			c = next;
		}
	}
}

/* A wave of a frequency, in radians a value: a level, and its parts of cosine and sine. */
struct wave {
	double turn, of[3];
};

/* The one that is nearest to work2 by least squares; returns how much of the sum of squares it explains. */
static double fit_wave(const struct scan *x, struct wave *w)
{
	double m[3][4] = { { 0 } }, explained = 0;

	for (uint32_t i = 0; i < x->n; i++) {
		double of[4] = { 1, cos(w->turn * i), sin(w->turn * i), x->work2[i] };

		for (int k = 0; k < 12; k++)
			m[k / 4][k % 4] += of[k / 4] * of[k % 4];
	}
	for (int k = 0; k < 3; k++)
		w->of[k] = m[k][3];
	for (int k = 0; k < 3; k++)
		for (int j = 0; j < 3; j++) {
			double times = j == k ? 0 : m[j][k] / m[k][k];

			for (int l = k; l < 4; l++)
				m[j][l] -= times * m[k][l];
		}
	for (int k = 0; k < 3; k++) {
		explained += w->of[k] * m[k][3] / m[k][k];
		w->of[k] = m[k][3] / m[k][k];
	}
	return explained;
}

/* Subtracts a wave from the series, into work2; returns the spread of the rest. */
static double beside(struct scan *x, const struct wave *w)
{
	double level;

	for (uint32_t i = 0; i < x->n; i++)
		x->work2[i] = x->z[i] - w->of[0] - w->of[1] * cos(w->turn * i) - w->of[2] * sin(w->turn * i);
	return spread_of(x->work, x->work2, x->n, &level);
}

/* Removes the strongest wave. False: that hardly changes the series. */
static bool take_wave(struct scan *x)
{
	double best = 0, before, spread, squares = 0;
	struct wave w = { 0 };
	uint32_t n = 1, at = 1;

	while (n < 2 * x->n)
		n *= 2;
	memset((double *)x->spectrum, 0, n * sizeof(*x->spectrum));
	for (uint32_t i = 0; i < x->n; i++) {
		x->spectrum[i] = x->work2[i] = clipped(x->z[i], CLIP);
		squares += x->work2[i] * x->work2[i];
	}
	transform(x->spectrum, n);
	for (uint32_t k = 1; k < n / 2; k++) {
		double power = pow(creal(x->spectrum[k]), 2) + pow(cimag(x->spectrum[k]), 2);

		at = power > best ? k : at;
		best = fmax(best, power);
	}
	if (2 * best < WAVE_SHARE * squares * x->n)
		return false;
	before = spread_of(x->work, x->z, x->n, &spread);
	best = 0;
	for (double k = -0.75; k <= 0.75; k += 0.25) {
		struct wave near = { .turn = 2 * M_PI * (at + k) / n };
		double explained = fit_wave(x, &near);

		/* Less than most of one period may be anything. */
		if (explained > best && (at + k) * x->n >= 0.7 * n) {
			best = explained;
			w = near;
		}
	}
	/* Outliers must not bend it: Hampel's estimate, by adjusted values. */
	for (int k = 0; k < HAMPEL_TIMES && best > 0; k++) {
		spread = HAMPEL * beside(x, &w);
		for (uint32_t i = 0; i < x->n; i++) {
			double d = fabs(x->work2[i]) < 2 * spread ? clipped(x->work2[i], spread) : 0;

			x->work2[i] = x->z[i] - x->work2[i] + d;
		}
		fit_wave(x, &w);
	}
	if (!(best > 0 && beside(x, &w) < WAVE * before))
		return false;
	for (uint32_t i = 0; i < x->n; i++)
		x->y[i] -= x->spread * (x->z[i] - x->work2[i]);
	return true;
}

/* ---- among its peers ---- */

/* Finds one among its peers that always differs; where several do, they are no exception. */
static void compare_peers(struct scan *x, const struct family *f)
{
	const struct incident_store *s = x->s;
	const struct incident_metric *m = &s->metric[s->series[f->series[0]].metric];
	enum pm_kind kind = s->about.row[s->series[f->series[0]].row].kind;
	double level, spread, first = 0, width = s->used * s->bin_s, limit;
	SCOPED(scoped_free) double *work = memory_new((size_t)f->n + 1, sizeof(*work));
	uint32_t who = 0, beyond = 0, n = 0;

	if (kind != PM_CPU && kind != PM_PACKAGE && kind != PM_CORE)
		return;
	for (uint32_t i = 0; i < f->n; i++)
		if (!isnan(s->series[f->series[i]].usual))
			work[n++] = s->series[f->series[i]].usual;
	if (n < PEERS_LEAST)
		return;
	limit = PEER_SCORE * (1 + 2.0 / (n - 2));
	/* A few say little about their variation: found by simulation, so that two of 10,000 equal ones have such a
	 * first one. */
	spread = spread_of(work, work, n, &level) * fmax((5.5 + 100 / pow(n - 3, 1.5)) / limit, 1);
	spread = fmax(spread, fabs(level) / 200);
	if (m->counts && width > 0)
		spread = fmax(spread, sqrt(fmax(fabs(level) * width, 1)) / width);
	if (!strcmp(m->unit, "%"))
		spread = fmax(spread, 0.5);
	for (uint32_t i = 0; i < f->n && spread > 0; i++) {
		double d = fabs(s->series[f->series[i]].usual - level) / spread;

		beyond += d > limit / 2;
		if (d > first) {
			first = d;
			who = i;
		}
	}
	if (first > limit && beyond <= 1 + n / 32 && level != 0)
		report(x, (struct finding){ .series = f->series[who],
					    .kind = INCIDENT_PEER,
					    .to = s->used,
					    .score = (float)(first / limit),
					    .usual = (float)level,
					    .value = (float)s->series[f->series[who]].usual });
}

/* ---- a series ---- */

/* What a sum of so many values scatters by; with fewer than `least` such stretches it is not looked at. */
static void find_errors(struct scan *x, uint32_t least)
{
	double wider = 1, level, mean = 0;

	x->sum[0] = 0;
	for (uint32_t i = 0; i < x->n; i++)
		x->sum[i + 1] = x->sum[i] + x->z[i];
	for (uint32_t l = 0; l < LENGTHS; l++) {
		uint32_t n = x->n / lengths[l], step = lengths[l] / 4;
		double scale = sqrt(lengths[l]);

		x->error[l] = 0;
		if (n < least)
			continue;
		/* And the series' own estimate, if it has enough of such stretches; they overlap, because a few that
		 * do not say little. */
		if (l % 2 == 1 && l > 2 && n >= 10) {
			n = (x->n - lengths[l]) / step + 1;
			for (uint32_t i = 0; i < n; i++)
				x->work2[i] = x->sum[i * step + lengths[l]] - x->sum[i * step];
			wider = fmax(wider, spread_of(x->work, x->work2, n, &level) * (1 - 1.0 / sqrt(n)) / scale);
			mean = level / lengths[l];
		}
		x->mean[l] = mean;
		x->error[l] = scale * wider;
	}
}

/* The later level is the news, unless it is most of the recording. */
static void report_step(struct scan *x, uint32_t series, const struct step *s, double low)
{
	bool later = s->from > x->n / 4 || s->to < x->n;

	report(x, (struct finding){ .series = series,
				    .kind = INCIDENT_STRETCH,
				    .from = later ? x->bin[s->from] : 0,
				    .to = later ? x->bin[s->to - 1] + 1 : x->bin[s->from],
				    .score = (float)(fabs(s->change) / x->spread / STEP_SPREAD),
				    .usual = (float)fmax(later ? x->level : x->level + s->change, low),
				    .value = (float)fmax(later ? x->level + s->change : x->level, low) });
}

static bool scan_values(struct scan *x, uint32_t series, bool say)
{
	const struct incident_row_series *of = &x->s->series[series];
	const struct incident_metric *m = &x->s->metric[of->metric];
	double low = INFINITY, high = -INFINITY, step, moved = 0, change, resembles;
	struct step stays = { 0 };
	bool at, alike;

	x->n = 0;
	for (uint32_t i = 0; i < x->s->used; i++) {
		if (isnan(of->v[i]))
			continue;
		x->bin[x->n] = i;
		x->y[x->n++] = (double)of->v[i];
		low = fmin(low, (double)of->v[i]);
		high = fmax(high, (double)of->v[i]);
	}
	x->level = x->n ? low : NAN;
	/* What never changed is no incident. */
	if (x->n < VALUES_LEAST || !(high > low))
		return false;
	step = step_of(x->y, x->n);
	find_level(x, m, step);
	resembles = likeness(x);
	alike = resembles >= fmax(ALIKE, ALIKE_ERRORS / sqrt(x->n));
	at = alike && take_step(x, &stays);
	if (at)
		find_level(x, m, step);
	if (at && say && fabs(stays.change) > STEP_SPREAD * (1.25 + 0.06 * log2(x->equals)) * x->spread)
		report_step(x, series, &stays, low);
	if (!at && alike && (moved = take_drift(x)) != 0)
		find_level(x, m, step);
	memcpy(x->with_waves, x->y, x->n * sizeof(*x->y));
	for (uint32_t k = 0; alike && k < WAVES && k < x->n / WAVE_LEAST && take_wave(x); k++)
		find_level(x, m, step);
	if (!(x->spread > 0))
		return false;
	change = moved / x->spread / DRIFT_SPREAD / (1 + 0.1 * log2(x->equals));
	if (say && fabs(change) > 1)
		report(x, (struct finding){ .series = series,
					    .kind = INCIDENT_DRIFT,
					    .to = x->s->used,
					    .score = (float)fabs(change),
					    .usual = (float)fmax(x->level - moved / 2, low),
					    .value = (float)fmax(x->level + moved / 2, low) });
	find_errors(x, at || moved != 0 || resembles >= ALIKE ? PARTS : 3);
	return true;
}

/* The values of a series, its level, and how it is judged; a drift is taken off, and reported if `say`. False:
 * nothing can be said of it. */
static bool scan_series(struct scan *x, uint32_t series, bool say)
{
	if (say || x->at != series) {
		x->good = scan_values(x, series, say);
		x->at = series;
	}
	return x->good;
}

/* ---- what a family does ---- */

static uint32_t blocks_of(const struct scan *x, uint32_t l)
{
	return x->s->used / lengths[l] + 1;
}

static double energy(const struct peak *p)
{
	return (double)p->size * (double)p->size / 2;
}

/* The largest sum of a block of stretches on either side. */
static void take_lengths(const struct scan *x, struct family *f, uint32_t series, uint32_t l)
{
	const uint32_t length = lengths[l], step = length / 8 + 1;
	double usual = length * x->mean[l];

	for (uint32_t i = 0; i + length <= x->n; i += step) {
		double d = x->sum[i + length] - x->sum[i] - usual;
		struct peak *p = &f->peak[d > 0 ? UP : DOWN][l][x->bin[i] / length];

		if (fabs(d) > (double)p->size * x->error[l])
			*p = (struct peak){ (float)(fabs(d) / x->error[l]), x->bin[i], series };
	}
}

/* The largest of the peaks of blocks of lengths[l] that lie apart by twice that; largest first, and of equal ones the
 * first. */
static uint32_t peaks_apart(const struct scan *x, const struct peak *block, uint32_t l, struct peak *out,
			    uint32_t most)
{
	uint32_t found = 0, reach = 2 * lengths[l];

	for (; found < most; found++) {
		struct peak top = { 0 };

		for (uint32_t i = 0, k; i < blocks_of(x, l); i++) {
			if (!(block[i].size > top.size))
				continue;
			for (k = 0; k < found &&
				    (block[i].from >= out[k].from + reach || out[k].from >= block[i].from + reach);)
				k++;
			top = k == found ? block[i] : top;
		}
		if (!(top.size > 0))
			break;
		out[found] = top;
	}
	return found;
}

/* The limit of what chance and the family produce: `others`, largest first, are its peaks at other times. Half the
 * square of a normal deviate has an exponential tail of scale 1. */
static double limit_of(const struct peak *others, uint32_t n, double tests)
{
	/* The last of few are what the larger ones left room for, and no threshold. */
	uint32_t k = n > TAIL ? TAIL : n > 1 ? n - 1 - n / 4 : n;
	double from = n ? energy(&others[k < n ? k : n - 1]) : 0, excess = 0, scale, weight = PRIOR + k;

	for (uint32_t i = 0; i < k; i++)
		excess += energy(&others[i]) - from;
	/* If peaks are large throughout, the error was underestimated. */
	scale = (PRIOR * fmax(1, from / 6) + excess) / weight;
	return sqrt(2 * (from + scale * weight * (pow(fmax(k, 1) * tests / WRONG, 1 / weight) - 1)));
}

static bool meets(const struct stretch *a, const struct stretch *b)
{
	return a->from <= b->to && b->from <= a->to;
}

/* Of overlapping stretches the clearest stays. */
static void keep(struct family *f, const struct stretch *new)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < f->n_stretches; i++)
		if (meets(&f->stretch[i], new) && f->stretch[i].size / f->stretch[i].limit >= new->size / new->limit)
			return;
	for (uint32_t i = 0; i < f->n_stretches; i++)
		if (!meets(&f->stretch[i], new))
			f->stretch[n++] = f->stretch[i];
	f->n_stretches = n;
	if (n < STRETCHES)
		f->stretch[f->n_stretches++] = *new;
}

static void judge(struct scan *x, struct family *f, enum side side, uint32_t l, double tests)
{
	struct peak peak[OUTLIERS + TAIL + 1];
	uint32_t n = blocks_of(x, l), m = 0;
	/* A single value is surprising only if it is large: no distribution is normal so far out. */
	double limit = INFINITY, wider = l == 0 ? 1.6 : l == 1 ? 1.25 : 1;

	while (m < n && (double)f->peak[side][l][m].size <= x->limit_least * wider)
		m++;
	if (m == n)
		return;
	n = peaks_apart(x, f->peak[side][l], l, peak, OUTLIERS + TAIL + 1);
	for (m = n < OUTLIERS ? n : OUTLIERS; m; m--) {
		limit = limit_of(peak + m, n - m, tests) * wider;
		if ((double)peak[m - 1].size > limit)
			break;
	}
	for (uint32_t i = 0; i < m; i++) {
		/* The recorder's own start. */
		if (l == 0 && !peak[i].from && x->s->per_bin < 2)
			continue;
		keep(f, &(struct stretch){ .side = side,
					   .from = peak[i].from,
					   .to = peak[i].from + lengths[l],
					   .series = peak[i].series,
					   .size = (double)peak[i].size,
					   .limit = limit });
	}
}

/* ---- what recurs at the same distance, or nearly ---- */

/* The bins of peaks that are not much smaller than the largest ones. */
static uint32_t find_beats(const struct scan *x, const struct peak *bin, uint32_t *at)
{
	struct peak top[BEATS_LEAST];
	uint32_t n = 0, tops = peaks_apart(x, bin, 0, top, BEATS_LEAST);
	double least = tops == BEATS_LEAST ? fmax(MEMBER, (double)top[tops - 1].size / 2) : INFINITY;

	for (uint32_t b = 0; b < x->s->used && n < BEATS; b++) {
		if ((double)bin[b].size < least)
			continue;
		if (!n || b >= at[n - 1] + APART)
			at[n++] = b;
		else if (bin[b].size > bin[at[n - 1]].size)
			at[n - 1] = b;
	}
	return n;
}

/* Leaves out what repeats at a fixed distance, such as cron's jobs: it is usual. False: nothing repeats. */
static bool take_rhythm(struct scan *x, const struct family *f, enum side side)
{
	const struct peak *bin = f->peak[side][0];
	uint32_t at[BEATS], n = find_beats(x, bin, at), regular = 0;
	bool good[BEATS + 1] = { false }; /* as far from the one before as most */
	double gap;

	if (n < BEATS_LEAST)
		return false;
	for (uint32_t i = 1; i < n; i++)
		x->work[i - 1] = (double)at[i] - at[i - 1];
	gap = statistics_median(x->work, n - 1);
	for (uint32_t i = 1; i < n; i++) {
		double times = (at[i] - at[i - 1]) / gap;

		good[i] = times < 2.5 && fabs(times - fmax(round(times), 1)) <= fmax(JITTER, 1 / gap);
		regular += good[i];
	}
	if (regular < REGULAR * (n - 1) || n * gap < x->s->used / 2.0)
		return false;
	for (uint32_t k = 0; k < n; k++)
		for (uint32_t b = at[k] > BEAT ? at[k] - BEAT : 0;
		     (good[k] || good[k + 1]) && b < x->s->used && b <= at[k] + BEAT; b++)
			for (uint32_t i = 0; i < f->n && (b == at[k] || (double)bin[b].size > MEMBER); i++)
				x->s->series[f->series[i]].v[b] = NAN;
	x->at = PM_NONE;
	return true;
}

/* ---- what is said of it ---- */

/* The first value of a bin or one after it. */
static uint32_t value_at(const struct scan *x, uint32_t bin)
{
	uint32_t at = 0;

	while (at < x->n && x->bin[at] < bin)
		at++;
	return at;
}

static double mean_of(const double *v, uint32_t from, uint32_t to)
{
	double sum = 0;

	for (uint32_t i = from; i < to; i++)
		sum += v[i];
	return sum / (to - from);
}

/* The exact beginning and end: the run with the largest sum of what is nearer to the stretch than to the usual. */
static void find_ends(struct scan *x, struct stretch *s)
{
	uint32_t from, to, reach, start, end;
	double half, sum = 0, most = 0;

	if (!scan_series(x, s->series, false))
		return;
	from = value_at(x, s->from);
	to = value_at(x, s->to);
	reach = 3 * (to - from) + 4;
	half = (mean_of(x->y, from, to) - x->level) / 2;
	start = from > reach ? from - reach : 0;
	end = to + reach < x->n ? to + reach : x->n;
	for (uint32_t i = start; i < end && half != 0; i++) {
		sum += fmin((x->y[i] - x->level) / half - 1, 3);
		if (sum <= 0) {
			sum = 0;
			start = i + 1;
		} else if (sum > most) {
			most = sum;
			from = start;
			to = i + 1;
		}
	}
	while (from && (x->y[from - 1] - x->level) / half > 1)
		from--;
	while (to < x->n && (x->y[to] - x->level) / half > 1)
		to++;
	s->from = x->bin[from];
	s->to = x->bin[to - 1] + 1;
}

static double size_at(const struct scan *x, const struct stretch *s, uint32_t from, uint32_t to)
{
	uint32_t l = 0;
	double d;

	while (l + 1 < LENGTHS && lengths[l + 1] <= to - from && x->error[l + 1] > 0)
		l++;
	d = (x->sum[to] - x->sum[from] - (to - from) * x->mean[l]) /
	    (x->error[l] * sqrt((double)(to - from) / lengths[l]));
	return s->side == UP ? d : -d;
}

/* How often the family does as much at other times, by their energy beside its own: the surprise is shared. INFINITY:
 * again and again. Of such bursts only what lies beyond their own tail, a power law, is news (Hill 1975, Annals of
 * Statistics 3). */
static double recurs(struct scan *x, const struct family *f, const struct stretch *s)
{
	struct peak peak[PEAKS];
	uint32_t l = 0, n, others = 0, many;
	double own = 0, sum = 0, tail = 0.5, least, other[PEAKS] = { 0 };

	while (l + 1 < LENGTHS && lengths[l + 1] <= s->to - s->from)
		l++;
	do
		n = peaks_apart(x, f->peak[s->side][l], l, peak, PEAKS);
	while (!n && l--);
	/* Where many have many, chance alone makes larger ones. */
	least = fmax(x->limit_least, CHANCE * sqrt(2 * log((double)f->n * blocks_of(x, l))));
	for (uint32_t i = 0; i < n; i++)
		if (peak[i].from < s->to && s->from < peak[i].from + lengths[l])
			own = fmax(own, energy(&peak[i]));
		else if ((double)peak[i].size > least)
			other[others++] = (double)peak[i].size;
	for (uint32_t i = 0; i < others; i++)
		sum += other[i] * other[i] / 2 > ALMOST * own ? other[i] * other[i] / 2 : 0;
	/* The larger half describe the tail: where the bulk of them lies says nothing about how far it reaches. */
	many = others < 2 * RECURS ? RECURS - 1 : others / 2;
	for (uint32_t i = 0; i < many && others >= RECURS; i++)
		tail += log(other[i] / other[many]);
	if (others >= RECURS && sqrt(2 * own) < other[many] * pow(many / NEWS, tail / (many + 1)))
		return INFINITY;
	return own > 0 ? sum / own : 0;
}

static void report_stretches(struct scan *x, struct family *f, uint32_t series)
{
	for (uint32_t i = 0; i < f->n_stretches; i++) {
		const struct stretch *s = &f->stretch[i];
		uint32_t from = value_at(x, s->from), to = value_at(x, s->to);
		double size, value = 0;

		if (from == to)
			continue;
		for (uint32_t k = from; k < to; k++)
			value += (double)x->s->series[series].v[x->bin[k]] / (to - from);
		size = series == s->series ? s->size : fmin(size_at(x, s, from, to), s->size);
		if (size < fmax(s->size / 2, MEMBER))
			continue;
		report(x, (struct finding){ .series = series,
					    .kind = INCIDENT_STRETCH,
					    .from = s->from,
					    .to = s->to,
					    .recurs = (float)s->recurs,
					    .score = (float)(size / s->limit),
					    .usual = (float)(x->level + mean_of(x->with_waves, from, to) -
							     mean_of(x->y, from, to)),
					    .value = (float)value });
	}
}

static void fill_peaks(struct scan *x, struct family *f, bool say)
{
	x->equals = f->n;
	for (uint32_t side = 0; side < SIDES; side++)
		for (uint32_t l = 0; l < LENGTHS; l++)
			memset(f->peak[side][l], 0, blocks_of(x, l) * sizeof(struct peak));
	for (uint32_t i = 0; i < f->n; i++) {
		bool good = scan_series(x, f->series[i], say);

		for (uint32_t l = 0; good && l < LENGTHS; l++)
			if (x->error[l] > 0)
				take_lengths(x, f, f->series[i], l);
		x->s->series[f->series[i]].usual = x->level;
	}
}

static void scan_family(struct scan *x, struct family *f, double tests)
{
	f->n_stretches = 0;
	fill_peaks(x, f, true);
	for (enum side side = UP; side < SIDES; side++)
		if (take_rhythm(x, f, side))
			fill_peaks(x, f, false);
	for (uint32_t side = 0; side < SIDES; side++)
		for (uint32_t l = 0; l < LENGTHS; l++)
			judge(x, f, side, l, tests);
	for (uint32_t i = f->n_stretches; i--;) {
		struct stretch *s = &f->stretch[i];

		find_ends(x, s);
		/* What it does most of the time is usual; and the first interval is the recorder's own start. */
		if (s->to - s->from > MOST * x->s->used || (s->to == 1 && x->s->per_bin < 2))
			*s = f->stretch[--f->n_stretches];
		else
			s->recurs = recurs(x, f, s);
	}
	for (uint32_t i = 0; i < f->n && f->n_stretches; i++)
		if (scan_series(x, f->series[i], false))
			report_stretches(x, f, f->series[i]);
}

/* ---- all ---- */

static int by_metric(const void *a, const void *b, void *ctx)
{
	const struct incident_store *s = ctx;
	const struct incident_row_series *x = &s->series[*(const uint32_t *)a], *y = &s->series[*(const uint32_t *)b];
	enum pm_kind j = s->about.row[x->row].kind, k = s->about.row[y->row].kind;

	if (x->metric != y->metric)
		return x->metric < y->metric ? -1 : 1;
	if (j != k)
		return j < k ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

static bool are_equals(const struct incident_store *s, uint32_t a, uint32_t b)
{
	return s->series[a].metric == s->series[b].metric &&
	       s->about.row[s->series[a].row].kind == s->about.row[s->series[b].row].kind;
}

/* Allocates all memory that a scan needs in one piece. */
static void *lay_out(struct scan *x, struct family *f)
{
	size_t room = (size_t)x->s->used + 1, doubles = 14 * room, peaks = 0;
	struct peak *peak;
	double *at;

	for (uint32_t l = 0; l < LENGTHS; l++)
		peaks += blocks_of(x, l);
	at = memory_new(1, doubles * sizeof(*at) + SIDES * peaks * sizeof(*peak) + room * sizeof(*x->bin));
	x->y = at;
	x->z = at + room;
	x->work = at + 2 * room;
	x->work2 = at + 3 * room;
	x->with_waves = at + 4 * room;
	x->sum = at + 5 * room;
	/* Up to four times as many values, of two numbers each. */
	x->spectrum = (double complex *)(at + 6 * room);
	peak = (struct peak *)(at + doubles);
	for (uint32_t side = 0; side < SIDES; side++)
		for (uint32_t l = 0; l < LENGTHS; peak += blocks_of(x, l++))
			f->peak[side][l] = peak;
	x->bin = (uint32_t *)peak;
	return at;
}

static void scan_families(struct incident_store *s, struct findings *out)
{
	const uint32_t n = s->n_series;
	SCOPED(scoped_free) uint32_t *place = memory_new(n, sizeof(*place));
	struct scan x = { .s = s, .out = out, .at = PM_NONE };
	struct family f = { 0 };
	SCOPED(scoped_free) void *room = NULL;
	uint32_t families = 0;
	double tests;

	s->bin_s = 0;
	for (uint32_t b = 0; b < s->used; b++)
		s->bin_s += (s->to_s[b] - s->from_s[b]) / s->used;
	/* An interval that is shorter than those beside it, such as the last one, scatters more. */
	for (uint32_t b = 0; b < s->used; b++) {
		double before = b ? s->to_s[b - 1] - s->from_s[b - 1] : INFINITY;
		double after = b + 1 < s->used ? s->to_s[b + 1] - s->from_s[b + 1] : INFINITY;

		for (uint32_t i = 0; i < s->n_series && s->to_s[b] - s->from_s[b] < 0.7 * fmin(before, after); i++)
			s->series[i].v[b] = NAN;
	}
	room = lay_out(&x, &f);
	for (uint32_t i = 0; i < n; i++)
		place[i] = i;
	qsort_r(place, n, sizeof(*place), by_metric, s);
	for (uint32_t i = 0; i < n; i++)
		families += !i || !are_equals(s, place[i - 1], place[i]);
	tests = families * LOOKS;
	x.limit_least = sqrt(2 * PRIOR * (pow(TAIL * tests / WRONG, 1.0 / (PRIOR + TAIL)) - 1));
	for (uint32_t i = 0; i < n; i += f.n) {
		f.series = place + i;
		for (f.n = 1; i + f.n < n && are_equals(s, place[i], place[i + f.n]);)
			f.n++;
		scan_family(&x, &f, tests);
		compare_peers(&x, &f);
	}
}

/* ---- what belongs together ---- */

struct group {
	struct incident i;              /* that it becomes */
	uint32_t from, to;              /* bins */
	float most;                     /* the best score */
	uint32_t first;                 /* its first series */
	uint32_t metric[16], n_metrics; /* that its score counts */
	bool usual;                     /* whatever shows it clearly recurs at any time, and is no fault */
};

static int by_score(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;

	if (x->score != y->score)
		return x->score < y->score ? 1 : -1;
	return x->series < y->series ? -1 : x->series > y->series;
}

/* However surely it differs, nobody asks why: of anything, not for less than a thirtieth, or what the metric matters
 * from; of a level (pages, tasks, memory), not for less than a tenth, and not for less than half where it is what a
 * recording began with; of a rate, not for less than a fifth, or an eighth that is clear. */
static bool is_trifle(const struct incident_metric *m, const struct finding *f)
{
	double moved = fabs((double)f->value - (double)f->usual), usual = fabs((double)f->usual), least = usual / 30;
	bool counted = !strcmp(m->unit, "1"), bytes = !strcmp(m->unit, "By") && !m->amount;
	bool megabytes = !strcmp(m->unit, "MB");

	if (!strcmp(m->unit, "%"))
		least = fmax(1, fmin(3, 0.15 * usual));
	else if ((counted || bytes || megabytes) && f->kind != INCIDENT_DRIFT)
		least = (f->from || m->amount ? 0.1 : 0.5) * usual;
	/* The recorder itself takes some memory: a megabyte, or as many pages. */
	if (bytes || megabytes || (counted && !m->amount && (usual > 1000 || !strncmp(m->name, "vmstat.nr_", 10))))
		least = fmax(least, bytes ? 1 << 20 : megabytes ? 1 : 256);
	if (m->counts && f->kind == INCIDENT_STRETCH)
		least = fmax(least, usual / ((double)f->score < CLEAR ? 5 : 8));
	least = fmax(least, incident_least(m->name));
	return moved <= 1e-6 * usual || (m->fault == METRIC_GRAVE ? f->value < f->usual : moved < least);
}

static bool is_memory(const struct incident_metric *m)
{
	return !m->amount &&
	       (!strcmp(m->unit, "By") || !strcmp(m->unit, "MB") || !strncmp(m->name, "vmstat.nr_", 10));
}

/* Everything drifts at the same time: what shares a name, or is memory, is one incident. */
static bool same_drift(const struct incident_store *s, uint32_t a, uint32_t b)
{
	const struct incident_metric *m = &s->metric[s->series[a].metric];
	const struct incident_metric *n = &s->metric[s->series[b].metric];
	size_t first = strcspn(m->name, ".");

	return (first == strcspn(n->name, ".") && !strncmp(m->name, n->name, first)) ||
	       (is_memory(m) && is_memory(n));
}

static bool same_time(const struct incident_store *s, const struct group *g, const struct finding *f)
{
	double from = fmax(g->from, f->from), to = fmin(g->to, f->to);
	double first = fmin(g->from, f->from), last = fmax(g->to, f->to);

	if (g->i.kind != f->kind)
		return false;
	switch (f->kind) {
	case INCIDENT_DRIFT:
		return same_drift(s, g->first, f->series);
	case INCIDENT_PEER:
		return s->series[g->first].row == s->series[f->series].row;
	default:
		break;
	}
	if (to - from >= SHARED * (last - first))
		return true;
	/* The bins before and after are those in which it began and ended. */
	return f->to - f->from <= 2 && to - from >= -1;
}

/* How far the value moved, relative to what is usual: 1 for twice as much. */
static double size_of(const struct finding *f)
{
	double usual = fabs((double)f->usual), moved = fabs((double)f->value - (double)f->usual);

	return fmin(0.6 + 0.4 * log10(1 + 9 * (usual > 0 ? moved / usual : 1000)), 1.6);
}

static double gain(const struct incident_store *s, const struct finding *f)
{
	const struct incident_metric *m = &s->metric[s->series[f->series].metric];
	double weight = m->fault == METRIC_GRAVE ? 2 : m->fault == METRIC_NO_FAULT ? 1 / (1 + (double)f->recurs) : 1;

	return log2(1 + (double)f->score) * size_of(f) * weight;
}

/* What a series did then is said once: by the clearest of the stretches in which it was seen, which comes first. Each
 * further metric adds less to the score that is new, and further places of one metric nearly nothing. */
static void add_to(struct group *g, const struct incident_store *s, const struct finding *f)
{
	const struct incident_row_series *of = &s->series[f->series];
	const struct incident_metric *m = &s->metric[of->metric];
	const struct bins_row *row = &s->about.row[of->row];
	bool named = row->kind == PM_DEVICE || row->kind == PM_PMU || row->kind == PM_CGROUP;
	struct incident *i = &g->i;
	uint32_t k = 0;

	for (uint32_t n = 0; n < i->n_series; n++)
		if (i->series[n].id == f->series)
			return;
	while (k < g->n_metrics && g->metric[k] != of->metric)
		k++;
	if (k == g->n_metrics && k < sizeof(g->metric) / sizeof(*g->metric)) {
		g->metric[g->n_metrics++] = of->metric;
		i->score += gain(s, f) / g->n_metrics;
	}
	if (i->n_all++ >= INCIDENT_SERIES)
		return;
	memory_room(&i->series, i->n_series, sizeof(*i->series));
	i->series[i->n_series++] = (struct incident_series){
		.id = f->series,
		.metric = m->name,
		.display = m->display,
		.unit = m->amount ? !strcmp(m->unit, "1") ? "1/s" : m->unit : m->unit,
		.label = row->kind == PM_SYSTEM ? "" : row->label,
		.device = named ? row->label : "",
		.kind = row->kind,
		.package = row->package,
		/* A core is named by its first CPU, as in tables. */
		.cpu = row->kind == PM_CORE ? row->first_cpu : row->number,
		.usual = (double)f->usual,
		.value = (double)f->value,
		.score = gain(s, f),
	};
}

static void end_group(struct group *g, const struct incident_store *s)
{
	struct incident *i = &g->i;

	i->from_s = s->from_s[g->from];
	i->to_s = s->to_s[g->to ? g->to - 1 : 0];
	i->score = g->usual ? 0 : i->score + 0.1 * log2(1 + i->n_all);
}

static int by_rank(const void *a, const void *b)
{
	const struct incident *x = a, *y = b;

	if (x->score != y->score)
		return x->score < y->score ? 1 : -1;
	return (x->from_s > y->from_s) - (x->from_s < y->from_s);
}

/* Adjacent losses of one kind become one. */
static void add_losses(const struct incident_store *s, struct incidents *out)
{
	uint32_t first = out->n;

	for (uint32_t i = 0; i < s->n_losses && out->n < 2 * INCIDENTS_MOST; i++) {
		const struct incident_loss *l = &s->loss[i];
		double apart = l->text[0] ? TOGETHER_S : 10 * s->bin_s;
		struct incident *last;
		uint32_t at = out->n;

		while (at > first && strcmp(out->incident[at - 1].text, l->text) != 0)
			at--;
		last = at > first ? &out->incident[at - 1] : NULL;
		if (last && l->from_s <= last->to_s + apart) {
			last->to_s = fmax(last->to_s, l->to_s);
			last->times += l->text[0] ? 1 : (uint32_t)l->ticks;
		} else {
			last = &out->incident[out->n++];
			*last = (struct incident){ .kind = INCIDENT_LOSS,
						   .from_s = l->from_s,
						   .to_s = l->to_s,
						   .times = l->text[0] ? 1 : (uint32_t)l->ticks,
						   .text = memory_text(l->text) };
		}
		last->score = l->text[0] ? 1.5 : fmin(0.4 + 0.25 * log2(1 + last->times), 3);
	}
}

/* Joins what happens at one time into one incident; best first. */
static void merge_all(struct incident_store *s, struct findings *f, struct incidents *out)
{
	struct group *g = memory_new(GROUPS_MOST, sizeof(*g));
	uint32_t n = 0;

	if (f->n)
		qsort(f->f, f->n, sizeof(*f->f), by_score);
	for (uint32_t i = 0; i < f->n; i++) {
		struct group *to;

		if (is_trifle(&s->metric[s->series[f->f[i].series].metric], &f->f[i]))
			continue;
		for (to = g; to < g + n && !same_time(s, to, &f->f[i]);)
			to++;
		if (to == g + GROUPS_MOST)
			continue;
		if (to == g + n) {
			n++;
			*to = (struct group){ .i.kind = f->f[i].kind,
					      .first = f->f[i].series,
					      .from = f->f[i].from,
					      .to = f->f[i].to,
					      .most = f->f[i].score,
					      .usual = true };
		}
		to->usual &= gain(s, &f->f[i]) == 0 ||
			     (to->i.n_all && (f->f[i].recurs > 1 || f->f[i].score < NEARLY * to->most));
		add_to(to, s, &f->f[i]);
	}
	for (uint32_t i = 0; i < n; i++)
		end_group(&g[i], s);
	if (n)
		qsort(g, n, sizeof(*g), by_rank);
	out->incident = memory_new((size_t)3 * INCIDENTS_MOST, sizeof(*out->incident));
	for (uint32_t i = 0; i < n; i++)
		if (out->n < INCIDENTS_MOST)
			out->incident[out->n++] = g[i].i;
		else
			free(g[i].i.series);
	add_losses(s, out);
	if (out->n)
		qsort(out->incident, out->n, sizeof(*out->incident), by_rank);
	free(g);
}

void scan_all(struct incident_store *s, struct incidents *out)
{
	struct findings f = { 0 };

	scan_families(s, &f);
	merge_all(s, &f, out);
	free(f.f);
}
