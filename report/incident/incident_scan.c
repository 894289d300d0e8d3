/*
 * Each series against itself, and against its peers. The series of one metric at places of one kind are a family.
 * For every length of a stretch, the family's value at a time is the largest sum that any of its series has there, in
 * standard errors; so a wide machine has no more chances to be wrong than a narrow one. What happens is what lies
 * beyond the tail that the family shows at all other times: an exponential tail over their largest peaks, pulled
 * towards that of a normal distribution by as many observations as PRIOR says. Whatever bursts again and again thus
 * has a long tail and is no news.
 *
 * Peaks over a threshold, declustered by runs: Coles 2001, An Introduction to Statistical Modeling of Extreme Values,
 * 4. Several outliers are tested from the smallest to the largest, so that none hides another: Rosner 1983,
 * Technometrics 25.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/statistics.h"
#include "common/array.h"
#include "report/incident/incident_scan.h"

#define ALIKE  1.2 /* factor of the tail for autocorrelated series, if they are more than one of so many: */
#define FEW    8
#define LOOKS  6.0  /* effective number of independent lengths, sides and views */
#define MOST   0.7  /* of the recording */
#define RECURS 4    /* other bursts, from which on one is usual */
#define ALMOST 0.3  /* of its energy, from which on another burst is as much */
#define CHANCE 1.1  /* of the largest that a normal distribution has: errors are estimates */
#define NEWS   0.01 /* bursts larger than it that chance may add */

/* ---- what a family does ---- */

/* Records the largest step of a block on either side; its place matters only if no earlier series had one as large.
 */
static void raise_peak(const struct scan *x, struct peak *p, double d, double usual, double scale, const double *sum,
		       uint32_t from, uint32_t length, uint32_t series)
{
	if (!(fabs(d - usual) * scale > (double)p->size))
		return;
	while (sum[from + length] - sum[from] != d)
		from += length / 8 + 1;
	*p = (struct peak){ (float)(fabs(d - usual) * scale), x->bin[from], series };
}

/* Single values, which are no sums to look for the largest of. */
static void take_values(const struct scan *x, struct family *f, uint32_t series, uint32_t v)
{
	const double *sum = x->view[v].sum;
	double scale = 1 / x->view[v].error[0], usual = x->view[v].mean[0];

	for (uint32_t i = 0; i < x->n; i++) {
		double d = sum[i + 1] - sum[i] - usual, size = fabs(d) * scale;
		struct peak *p = &f->peak[v][d > 0 ? UP : DOWN][0][x->bin[i]];

		if (size > (double)p->size)
			*p = (struct peak){ (float)size, x->bin[i], series };
	}
}

static void take_lengths(const struct scan *x, struct family *f, uint32_t series, uint32_t v, uint32_t l)
{
	const uint32_t length = scan_length[l], step = length / 8 + 1;
	const double *sum = x->view[v].sum;
	double scale = 1 / x->view[v].error[l], usual = length * x->view[v].mean[l];
	uint32_t starts = x->n >= length ? x->n - length + 1 : 0;
	bool gaps = x->n < x->s->used;

	for (uint32_t i = 0, block = 0, from, end; i < starts; block++) {
		double up = usual, down = usual;

		/* Without gaps the place of a value is its bin. */
		block = gaps ? x->bin[i] / length : block;
		end = (block + 1) * length < starts ? (block + 1) * length : starts;
		if (gaps)
			for (end = i; end < starts && x->bin[end] < (block + 1) * length;)
				end++;
		for (from = i; i + step < end; i += 2 * step) {
			double d = sum[i + length] - sum[i], e = sum[i + step + length] - sum[i + step];
			double most = d > e ? d : e, least = d > e ? e : d;

			up = most > up ? most : up;
			down = least < down ? least : down;
		}
		for (; i < end; i += step) {
			double d = sum[i + length] - sum[i];

			up = d > up ? d : up;
			down = d < down ? d : down;
		}
		raise_peak(x, &f->peak[v][UP][l][block], up, usual, scale, sum, from, length, series);
		raise_peak(x, &f->peak[v][DOWN][l][block], down, usual, scale, sum, from, length, series);
	}
}

static void take_peaks(const struct scan *x, struct family *f, uint32_t series)
{
	f->n_alike += x->views > WHITE;
	for (uint32_t v = 0; v < x->views; v++)
		for (uint32_t l = 0; l < LENGTHS; l++)
			if (x->view[v].error[l] > 0 && l)
				take_lengths(x, f, series, v, l);
			else if (x->view[v].error[l] > 0)
				take_values(x, f, series, v);
}

/* The limit of what chance and the family produce: `others`, largest first, are its peaks at other times. Half the
 * square of a normal deviate has an exponential tail of scale 1. */
static double limit_of(const struct peak *others, uint32_t n, double tests, bool alike)
{
	/* The last of few are what the larger ones left room for, and no threshold. */
	uint32_t k = n > TAIL ? TAIL : n > 1 ? n - 1 - n / 4 : n;
	double from = n ? energy(&others[k < n ? k : n - 1]) : 0, excess = 0, scale, weight = PRIOR + k;

	for (uint32_t i = 0; i < k; i++)
		excess += energy(&others[i]) - from;
	/* If peaks are large throughout, the error was underestimated. */
	scale = (PRIOR * fmax(alike ? ALIKE : 1, from / 6) + excess) / weight;
	return sqrt(2 * (from + scale * weight * (pow(fmax(k, 1) * tests / WRONG, 1 / weight) - 1)));
}

static bool meets(const struct stretch *a, const struct stretch *b)
{
	uint32_t reach = a->view == WHITE || b->view == WHITE ? ORDER_MOST : 1;

	return a->from < b->to + reach && b->from < a->to + reach;
}

/* Of overlapping stretches the clearest stays; measured in the series before prediction from neighbours is removed.
 */
static void keep(struct family *f, const struct stretch *new)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < f->n_stretches; i++)
		if (meets(&f->stretch[i], new) &&
		    (f->stretch[i].view < new->view ||
		     f->stretch[i].size / f->stretch[i].limit >= new->size / new->limit))
			return;
	for (uint32_t i = 0; i < f->n_stretches; i++)
		if (!meets(&f->stretch[i], new))
			f->stretch[n++] = f->stretch[i];
	f->n_stretches = n;
	if (n < STRETCHES)
		f->stretch[f->n_stretches++] = *new;
}

static void judge(struct scan *x, struct family *f, enum view v, enum side side, uint32_t l, double tests)
{
	struct peak peak[OUTLIERS + TAIL + 1];
	uint32_t n = blocks_of(x, l), m = 0;
	/* A single value is surprising only if it is large: no distribution is normal so far out. */
	double limit = INFINITY, wider = l == 0 ? 1.6 : l == 1 ? 1.25 : 1;

	while (m < n && (double)f->peak[v][side][l][m].size <= x->limit_least * wider)
		m++;
	if (m == n)
		return;
	n = scan_apart(x, f->peak[v][side][l], l, v == WHITE ? ORDER_MOST : 0, peak, OUTLIERS + TAIL + 1);
	for (m = n < OUTLIERS ? n : OUTLIERS; m; m--) {
		limit = limit_of(peak + m, n - m, tests, f->n_alike * FEW > f->n) * wider;
		if ((double)peak[m - 1].size > limit)
			break;
	}
	for (uint32_t i = 0; i < m; i++) {
		/* The recorder's own start. */
		if (l == 0 && !peak[i].from && !x->s->joined)
			continue;
		keep(f, &(struct stretch){ .view = v,
					   .side = side,
					   .from = peak[i].from,
					   .to = peak[i].from + scan_length[l],
					   .series = peak[i].series,
					   .size = (double)peak[i].size,
					   .limit = limit });
	}
}

/* ---- what is said of it ---- */

/* The first value of a bin or one after it. */
static uint32_t value_at(const struct scan *x, uint32_t bin)
{
	uint32_t low = 0, high = x->n;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (x->bin[middle] < bin)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* As `recorded`; NULL: without waves and drifts. */
static double mean_of(const struct scan *x, const float *recorded, uint32_t from, uint32_t to)
{
	double sum = 0;

	for (uint32_t i = from; i < to; i++)
		sum += recorded ? (double)recorded[x->bin[i]] : x->y[i];
	return to > from ? sum / (to - from) : NAN;
}

/* The usual value around a stretch. */
static double usual_at(const struct scan *x, const struct stretch *s, uint32_t from, uint32_t to)
{
	uint32_t reach = 2 * (to - from) > 8 ? 2 * (to - from) : 8, n = 0;
	double median, mean = 0;

	if (s->view == PLAIN)
		return x->level;
	for (uint32_t i = from > reach ? from - reach : 0; i < x->n && i < to + reach; i++)
		if (i < from || i >= to)
			x->work[n++] = x->y[i];
	if (!n)
		return x->level;
	/* A median of rounded values is coarse; a mean follows outliers. */
	median = statistics_median(x->work, n);
	for (uint32_t i = 0; i < n; i++)
		mean += fmax(fmin(x->work[i] - median, 2.5 * x->spread), -2.5 * x->spread) / n;
	return median + mean;
}

/* The exact beginning and end: the run of values that are nearer to the stretch than to what is usual. */
static void find_ends(struct scan *x, struct stretch *s)
{
	uint32_t from, to, reach, start, end;
	struct best_run run;
	double usual, half;

	if (!scan_series(x, s->series, false))
		return;
	from = value_at(x, s->from);
	to = value_at(x, s->to);
	reach = 3 * (to - from) + 4;
	usual = usual_at(x, s, from, to);
	half = (mean_of(x, NULL, from, to) - usual) / 2;
	start = from > reach ? from - reach : 0;
	end = to + reach < x->n ? to + reach : x->n;
	run = (struct best_run){ .start = start };
	for (uint32_t i = start; i < end && half != 0; i++)
		best_run_add(&run, i, fmin((x->y[i] - usual) / half - 1, 3));
	if (run.to) {
		from = run.from;
		to = run.to;
	}
	while (from && (x->y[from - 1] - usual) / half > 1)
		from--;
	while (to < x->n && (x->y[to] - usual) / half > 1)
		to++;
	s->from = x->bin[from];
	s->to = x->bin[to - 1] + 1;
}

static double size_at(const struct scan *x, const struct stretch *s, uint32_t from, uint32_t to)
{
	const struct viewed *v = &x->view[s->view];
	uint32_t l = 0;
	double d;

	while (l + 1 < LENGTHS && scan_length[l + 1] <= to - from && v->error[l + 1] > 0)
		l++;
	d = (v->sum[to] - v->sum[from] - (to - from) * v->mean[l]) /
	    (v->error[l] * sqrt((double)(to - from) / scan_length[l]));
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

	while (l + 1 < LENGTHS && scan_length[l + 1] <= s->to - s->from)
		l++;
	do
		n = scan_apart(x, f->peak[s->view][s->side][l], l, 0, peak, PEAKS);
	while (!(n && peak[0].size > 0) && l--);
	for (uint32_t i = 0; i < n; i++)
		if (peak[i].from < s->to && s->from < peak[i].from + scan_length[l])
			own = fmax(own, energy(&peak[i]));
	/* Where many have many, chance alone makes larger ones. */
	least = fmax(x->limit_least, CHANCE * sqrt(2 * log((double)f->n * blocks_of(x, l))));
	for (uint32_t i = 0; i < n && (double)peak[i].size > least; i++) {
		if (peak[i].from < s->to && s->from < peak[i].from + scan_length[l])
			continue;
		sum += energy(&peak[i]) > ALMOST * own ? energy(&peak[i]) : 0;
		other[others++] = (double)peak[i].size;
	}
	/* The larger half describe the tail: where the bulk of them lies says nothing about how far it reaches. */
	many = others < 2 * RECURS ? RECURS - 1 : others / 2;
	for (uint32_t i = 0; i < many && others >= RECURS; i++)
		tail += log(other[i] / other[many]);
	if (others >= RECURS && sqrt(2 * own) < other[many] * pow(many / NEWS, tail / (many + 1)))
		return INFINITY;
	return own > 0 ? sum / own : 0;
}

static void report(struct scan *x, struct family *f, uint32_t series)
{
	for (uint32_t i = 0; i < f->n_stretches; i++) {
		const struct stretch *s = &f->stretch[i];
		uint32_t from = value_at(x, s->from), to = value_at(x, s->to);
		double size, wave = 0;

		if (from == to || (uint32_t)s->view >= x->views)
			continue;
		for (uint32_t k = from; k < to && x->waves; k++)
			wave += (x->with_waves[k] - x->y[k]) / (to - from);
		size = series == s->series ? s->size : fmin(size_at(x, s, from, to), s->size);
		if (size >= fmax(s->size / 2, MEMBER))
			scan_report(x,
				    (struct finding){ .series = series,
						      .kind = INCIDENT_STRETCH,
						      .from = s->from,
						      .to = s->to,
						      .recurs = (float)s->recurs,
						      .score = (float)(size / s->limit),
						      .usual = (float)(usual_at(x, s, from, to) + wave),
						      .value = (float)mean_of(x, x->s->series[series].v, from, to) });
	}
}

static void fill_peaks(struct scan *x, struct family *f, bool report)
{
	f->n_alike = 0;
	x->equals = f->n;
	for (uint32_t v = 0; v < VIEWS; v++)
		for (uint32_t side = 0; side < SIDES; side++)
			for (uint32_t l = 0; l < LENGTHS; l++)
				memset(f->peak[v][side][l], 0, blocks_of(x, l) * sizeof(struct peak));
	for (uint32_t i = 0; i < f->n && !x->err; i++) {
		if (scan_series(x, f->series[i], report))
			take_peaks(x, f, f->series[i]);
		x->s->series[f->series[i]].usual = x->level;
	}
}

static void scan_family(struct scan *x, struct family *f, double tests)
{
	f->n_stretches = 0;
	find_common(x, f->series, f->in_sum ? f->n : 0);
	fill_peaks(x, f, true);
	for (enum side side = UP; side < SIDES; side++)
		if (take_rhythm(x, f, side, tests))
			fill_peaks(x, f, false);
	for (uint32_t v = 0; v < VIEWS; v++)
		for (uint32_t side = 0; side < SIDES; side++)
			for (uint32_t l = 0; l < LENGTHS; l++)
				judge(x, f, v, side, l, tests);
	for (uint32_t i = f->n_stretches; i--;) {
		struct stretch *s = &f->stretch[i];

		find_ends(x, s);
		/* What it does most of the time is usual; and the first interval is the recorder's own start. */
		if (s->to - s->from > MOST * x->s->used || (s->to == 1 && !x->s->joined))
			*s = f->stretch[--f->n_stretches];
		else
			s->recurs = recurs(x, f, s);
	}
	for (uint32_t i = 0; i < f->n && f->n_stretches && !x->err; i++)
		if (scan_series(x, f->series[i], false))
			report(x, f, f->series[i]);
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

static bool are_equals(const struct incident_store *s, uint32_t a, uint32_t b)
{
	return s->series[a].metric == s->series[b].metric &&
	       s->row[s->series[a].row].kind == s->row[s->series[b].row].kind;
}

/* ---- all ---- */

/* Allocates all memory that a scan needs in one piece. */
static void *lay_out(struct scan *x, struct family *f)
{
	size_t room = (size_t)x->s->used + 1, doubles = 12 * room, peaks = 0;
	struct peak *peak;
	double *at;

	for (uint32_t l = 0; l < LENGTHS; l++)
		peaks += blocks_of(x, l);
	at = calloc(1,
		    doubles * sizeof(*at) + (size_t)VIEWS * SIDES * peaks * sizeof(*peak) + room * sizeof(*x->bin));
	if (!at)
		return NULL;
	x->y = at;
	x->z = at + room;
	x->work = at + 2 * room;
	x->work2 = at + 3 * room;
	x->spectrum = (double complex *)(at + 6 * room);
	x->common = at + 10 * room;
	x->with_waves = at + 11 * room;
	for (uint32_t v = 0; v < VIEWS; v++)
		x->view[v].sum = at + (4 + v) * room;
	peak = (struct peak *)(at + doubles);
	for (uint32_t v = 0; v < VIEWS; v++)
		for (uint32_t side = 0; side < SIDES; side++)
			for (uint32_t l = 0; l < LENGTHS; peak += blocks_of(x, l++))
				f->peak[v][side][l] = peak;
	x->bin = (uint32_t *)peak;
	return at;
}

int scan_all(struct incident_store *s, struct findings *out)
{
	const uint32_t n = s->n_series - s->kept;
	SCOPED(scoped_free) uint32_t *place = calloc((size_t)n + 1, sizeof(*place));
	struct scan x = { .s = s, .out = out, .at = PM_NONE };
	struct family f = { 0 };
	SCOPED(scoped_free) void *room = NULL;
	uint32_t families = 0;
	double tests;

	/* A shorter interval scatters more than the others. */
	if (s->used > 2 && s->to_s[s->used - 1] - s->from_s[s->used - 1] < 0.7 * (s->to_s[0] - s->from_s[0]))
		s->used--;
	s->interval_s = 0;
	for (uint32_t i = 0; i < s->used; i++)
		s->interval_s += (s->to_s[i] - s->from_s[i]) / s->used / s->per_bin;
	room = lay_out(&x, &f);
	if (!place || !room)
		x.err = -ENOMEM;
	for (uint32_t i = 0; i < n && place; i++)
		place[i] = s->kept + i;
	if (place)
		qsort_r(place, n, sizeof(*place), by_metric, s);
	for (uint32_t i = 0; place && i < n; i++)
		families += !i || !are_equals(s, place[i - 1], place[i]);
	/* Parts are of about the same size. */
	tests = families * (s->parts ? s->parts : 1) * LOOKS;
	x.limit_least = sqrt(2 * PRIOR * (pow(TAIL * tests / WRONG, 1.0 / (PRIOR + TAIL)) - 1));
	for (uint32_t i = 0; i < n && !x.err; i += f.n) {
		f.series = place + i;
		f.in_sum = i && s->series[place[i - 1]].metric == s->series[place[i]].metric;
		for (f.n = 1; i + f.n < n && are_equals(s, place[i], place[i + f.n]);)
			f.n++;
		scan_family(&x, &f, tests);
		compare_peers(&x, f.series, f.n);
	}
	return x.err;
}
