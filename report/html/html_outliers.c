/* What stands out: CPUs among CPUs, and moments among all moments of one series. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "report/html/html.h"
#include "report/html/html_text.h"

#define BUCKETS_LEAST 20 /* of fewer, none is unusual */
#define CPUS_LEAST    4
#define CANDIDATES    400 /* moments that are held against each other */
#define SAME_MOST     4   /* of one metric in the table: the next may be of use, too */

/* ---- robust figures ---- */

/* The k-th smallest of n; the array is reordered. */
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

static double median(double *v, size_t n)
{
	double upper = kth(v, n, n / 2);

	return n % 2 ? upper : (upper + kth(v, n, n / 2 - 1)) / 2;
}

/* The median, and what stands for a standard deviation: the median distance from it; where half of the values or more
 * are alike, the mean distance; and never less than a hundredth of the level. `v` is used up. */
static double level(double *v, size_t n, double *spread)
{
	double usual = median(v, n), sum = 0, least = fabs(usual) / 100;

	for (size_t i = 0; i < n; i++) {
		v[i] = fabs(v[i] - usual);
		sum += v[i];
	}
	*spread = median(v, n) / 0.6745;
	if (*spread == 0)
		*spread = sum / (double)n * 1.2533;
	if (*spread < least)
		*spread = least;
	return usual;
}

/* ---- CPUs ---- */

static int by_score(const void *a, const void *b)
{
	const struct html_outlier *x = a, *y = b;

	return (x->score < y->score) - (x->score > y->score);
}

static void compare_cpus(struct html_recording *r, uint32_t metric, const uint32_t *place, uint32_t n, double *work)
{
	double usual, spread;

	for (uint32_t i = 0; i < n; i++)
		work[i] = html_mean(&r->far.series[place[i]]);
	usual = level(work, n, &spread);
	for (uint32_t i = 0; i < n; i++) {
		const struct html_series *s = &r->far.series[place[i]];
		struct html_outlier o = { .metric = metric, .row = s->row, .value = html_mean(s), .usual = usual };

		o.score = o.value == usual ? 0 : fabs(o.value - usual) / spread;
		if (o.score < HTML_OUTLIER_SCORE)
			continue;
		if (r->n_outliers < HTML_OUTLIERS) {
			r->outlier[r->n_outliers++] = o;
		} else {
			qsort(r->outlier, r->n_outliers, sizeof(o), by_score);
			if (o.score > r->outlier[HTML_OUTLIERS - 1].score)
				r->outlier[HTML_OUTLIERS - 1] = o;
		}
	}
}

/* Series of CPUs lie by metric in order of rows, or of rows in order of metrics: so they are put together first. */
static int by_metric(const void *a, const void *b, void *ctx)
{
	const struct html_recording *r = ctx;
	const struct html_series *x = &r->far.series[*(const uint32_t *)a], *y = &r->far.series[*(const uint32_t *)b];

	if (x->metric != y->metric)
		return x->metric < y->metric ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

static int find_cpus(struct html_recording *r)
{
	uint32_t *place = calloc((size_t)r->far.n + 1, sizeof(*place)), n = 0;
	double *work = calloc((size_t)r->far.n + 1, sizeof(*work));

	for (uint32_t i = 0; place && work && i < r->far.n; i++)
		if (r->far.series[i].present && r->row[r->far.series[i].row].kind == PM_CPU)
			place[n++] = i;
	if (place && work)
		qsort_r(place, n, sizeof(*place), by_metric, r);
	for (uint32_t i = 0, end; i < n; i = end) {
		uint32_t metric = r->far.series[place[i]].metric;

		for (end = i; end < n && r->far.series[place[end]].metric == metric;)
			end++;
		if (end - i > r->n_compared)
			r->n_compared = end - i;
		if (end - i >= CPUS_LEAST)
			compare_cpus(r, metric, place + i, end - i, work);
	}
	free(place);
	free(work);
	qsort(r->outlier, r->n_outliers, sizeof(*r->outlier), by_score);
	return place && work ? 0 : -ENOMEM;
}

/* ---- moments ---- */

struct search {
	struct html_moment *found; /* CANDIDATES */
	uint32_t n;
	double *work, *value; /* by bucket */
};

static int by_moment(const void *a, const void *b)
{
	const struct html_moment *x = a, *y = b;

	return by_score(&x->is, &y->is);
}

static void keep(struct search *x, const struct html_moment *m)
{
	/* The system and its only package say the same; and so do the mean and the highest value of a bucket. */
	for (uint32_t i = 0; i < x->n; i++) {
		struct html_moment *other = &x->found[i];

		if (other->is.metric != m->is.metric || other->from_s > m->to_s || other->to_s < m->from_s)
			continue;
		if (m->is.score > other->is.score)
			*other = *m;
		return;
	}
	if (x->n == CANDIDATES) {
		qsort(x->found, x->n, sizeof(*x->found), by_moment);
		x->n = CANDIDATES / 2;
	}
	x->found[x->n++] = *m;
}

static double picked(const struct html_bucket *b, int which)
{
	return which == 0 ? (double)b->sum / (double)b->weight : which == 1 ? (double)b->high : (double)b->low;
}

/* Stretches in which the means, highs or lows of a series lie beyond their own band. */
static void find_stretches(const struct html_set *set, const struct html_series *s, int which, struct search *x)
{
	struct html_moment m = { .is = { .metric = s->metric, .row = s->row } };
	double usual, spread;
	size_t n = 0;

	for (uint32_t i = 0; i < set->used; i++) {
		x->value[i] = s->bucket[i].weight > 0 ? picked(&s->bucket[i], which) : (double)NAN;
		if (s->bucket[i].weight > 0)
			x->work[n++] = x->value[i];
	}
	if (n < BUCKETS_LEAST)
		return;
	usual = level(x->work, n, &spread);
	for (uint32_t i = 0; i <= set->used; i++) {
		double v = i < set->used ? x->value[i] : (double)NAN, score = 0;

		if (!isnan(v) && v != usual)
			score = fabs(v - usual) / spread;
		if (score >= HTML_MOMENT_SCORE) {
			if (m.is.score == 0)
				m.from_s = i * set->width_s;
			m.to_s = (i + 1) * set->width_s;
			if (score > m.is.score) {
				m.is.score = score;
				m.is.value = v;
				m.is.usual = usual;
			}
		} else if (m.is.score > 0) {
			keep(x, &m);
			m.is.score = 0;
		}
	}
}

static bool has_band(const struct html_set *set, const struct html_series *s)
{
	for (uint32_t i = 0; i < set->used; i++)
		if (s->bucket[i].weight > 0 && s->bucket[i].high > s->bucket[i].low)
			return true;
	return false;
}

static uint32_t known_of(const struct html_recording *r, uint32_t metric)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->n_moments; i++)
		n += r->moment[i].is.metric == metric;
	return n;
}

static int find_moments(struct html_recording *r)
{
	const struct html_set *set = &r->near;
	struct search x = {
		.found = calloc(CANDIDATES, sizeof(*x.found)),
		.work = calloc((size_t)set->used + 1, sizeof(*x.work)),
		.value = calloc((size_t)set->used + 1, sizeof(*x.value)),
	};
	bool room = x.found && x.work && x.value;

	for (uint32_t i = 0; room && i < set->n; i++) {
		const struct html_series *s = &set->series[i];
		int ways = s->bucket && has_band(set, s) ? 3 : 1;

		/* What is the same all the time has no moments. */
		for (int which = 0; s->bucket && s->present && s->high > s->low && which < ways; which++)
			find_stretches(set, s, which, &x);
	}
	if (room)
		qsort(x.found, x.n, sizeof(*x.found), by_moment);
	for (uint32_t i = 0; i < x.n && r->n_moments < HTML_OUTLIERS; i++)
		if (known_of(r, x.found[i].is.metric) < SAME_MOST)
			r->moment[r->n_moments++] = x.found[i];
	free(x.found);
	free(x.work);
	free(x.value);
	return room ? 0 : -ENOMEM;
}

int html_find_outliers(struct html_recording *r)
{
	int err = find_cpus(r);

	return err ? err : find_moments(r);
}

/* ---- as tables ---- */

static void put_value(struct buf *out, double v, unsigned precision)
{
	char text[48];

	html_number(text, v, precision);
	buf_printf(out, "<td class=n>%s</td>", text);
}

static void put_figures(const struct html_metric *m, const struct html_outlier *o, struct buf *out)
{
	put_value(out, o->value, m->precision);
	put_value(out, o->usual, m->precision);
	buf_addstr(out, "<td class=unit>");
	html_put_unit(m->unit, out);
	buf_printf(out, "</td><td class=n>%.*f</td>", o->score < 100 ? 1 : 0, o->score);
}

static void put_metric(const struct html_metric *m, struct buf *out)
{
	buf_addstr(out, "<td title=\"");
	html_text(out, m->help);
	buf_addstr(out, "\">");
	html_text(out, m->display);
	buf_addstr(out, "</td>");
}

void html_put_cpu_button(const struct html_recording *r, const struct html_outlier *o, struct buf *out)
{
	buf_addstr(out, "<button type=button class=open data-metric=\"");
	html_text(out, r->metric[o->metric].name);
	buf_addstr(out, "\" data-row=\"");
	html_text(out, r->row[o->row].label);
	buf_addstr(out, "\">");
	html_text(out, r->row[o->row].label);
	buf_addstr(out, "</button>");
}

static int time_digits(const struct html_recording *r)
{
	double width = r->near.width_s;

	return width >= 1 ? 0 : width >= .1 ? 1 : width >= .01 ? 2 : 3;
}

void html_put_moment_button(const struct html_recording *r, const struct html_moment *m, struct buf *out)
{
	buf_addstr(out, "<button type=button class=open data-metric=\"");
	html_text(out, r->metric[m->is.metric].name);
	buf_printf(out, "\" data-from=%.6f data-to=%.6f>%+.*f s</button>", m->from_s, m->to_s, time_digits(r),
		   m->from_s);
}

static void put_cpu(const struct html_recording *r, const struct html_outlier *o, struct buf *out)
{
	const struct html_row *row = &r->row[o->row];

	buf_addstr(out, "<tr><th scope=row>");
	html_put_cpu_button(r, o, out);
	buf_addstr(out, "</th><td>");
	html_text(out, row->place);
	buf_addstr(out, "</td>");
	put_metric(&r->metric[o->metric], out);
	put_figures(&r->metric[o->metric], o, out);
	buf_addstr(out, "</tr>\n");
}

static void put_cpus(const struct html_recording *r, struct buf *out)
{
	if (!r->n_outliers) {
		if (r->n_compared < CPUS_LEAST)
			buf_addstr(out, "<p class=empty>With fewer than four CPUs none can stand out.</p>\n");
		else
			buf_printf(out,
				   "<p class=empty>No CPU stands out: every mean of the %u CPUs lies within 3.5 "
				   "robust standard deviations of their median.</p>\n",
				   r->n_compared);
		return;
	}
	buf_addstr(out, "<div class=scroll tabindex=0 role=group aria-label=\"CPUs that stand out\">"
			"<table class=numbers><caption>CPUs whose mean lies far from the median of all CPUs</caption>"
			"<thead><tr><th scope=col>CPU</th><th scope=col>Where</th><th scope=col>Metric</th>"
			"<th scope=col class=n>Mean</th><th scope=col class=n>Median of CPUs</th>"
			"<th scope=col>Unit</th>"
			"<th scope=col class=n>Distance</th></tr></thead><tbody>\n");
	for (uint32_t i = 0; i < r->n_outliers; i++)
		put_cpu(r, &r->outlier[i], out);
	buf_addstr(out, "</tbody></table></div>\n");
}

/* Which other metrics left their band at that time. */
static void put_others(const struct html_recording *r, uint32_t which, struct buf *out)
{
	const struct html_moment *m = &r->moment[which];
	bool any = false;

	for (uint32_t i = 0; i < r->n_moments; i++) {
		const struct html_moment *other = &r->moment[i];

		if (i == which || other->from_s > m->to_s || other->to_s < m->from_s)
			continue;
		buf_addstr(out, any ? ", " : "");
		html_text(out, r->metric[other->is.metric].display);
		any = true;
	}
}

static void put_moment(const struct html_recording *r, uint32_t which, struct buf *out)
{
	const struct html_moment *m = &r->moment[which];

	buf_addstr(out, "<tr><th scope=row class=n>");
	html_put_moment_button(r, m, out);
	buf_printf(out, "</th><td class=n>%.*f s</td>", time_digits(r), m->to_s - m->from_s);
	put_metric(&r->metric[m->is.metric], out);
	buf_addstr(out, "<td>");
	html_text(out, r->row[m->is.row].label);
	buf_addstr(out, "</td>");
	put_figures(&r->metric[m->is.metric], &m->is, out);
	buf_addstr(out, "<td>");
	put_others(r, which, out);
	buf_addstr(out, "</td></tr>\n");
}

static void put_moments(const struct html_recording *r, struct buf *out)
{
	if (!r->n_moments) {
		if (!r->near.n)
			buf_addstr(out, "<p class=empty>No metric of the system, packages or devices has values "
					"over time.</p>\n");
		else if (r->near.used < BUCKETS_LEAST)
			buf_printf(out, "<p class=empty>With fewer than %d intervals no moment can stand out.</p>\n",
				   BUCKETS_LEAST);
		else
			buf_addstr(out, "<p class=empty>No moment stands out: all values of the system, packages and "
					"devices stay within five robust standard deviations of their median over "
					"time.</p>\n");
		return;
	}
	buf_addstr(out, "<div class=scroll tabindex=0 role=group aria-label=\"Moments that stand out\">"
			"<table class=numbers><caption>Moments in which a metric left its own band</caption>"
			"<thead><tr><th scope=col class=n>At</th><th scope=col class=n>For</th>"
			"<th scope=col>Metric</th><th scope=col>Where</th>"
			"<th scope=col class=n>Value</th><th scope=col class=n>Median over time</th>"
			"<th scope=col>Unit</th><th scope=col class=n>Distance</th>"
			"<th scope=col>At the same time</th></tr></thead><tbody>\n");
	for (uint32_t i = 0; i < r->n_moments; i++)
		put_moment(r, i, out);
	buf_addstr(out, "</tbody></table></div>\n");
}

void html_put_outliers(const struct html_page *p, const struct html_recording *r, struct buf *out)
{
	put_cpus(r, out);
	put_moments(r, out);
}
