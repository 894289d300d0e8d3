/* The tables of a page, which are there without any script. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/number.h"
#include "report/html.h"
#include "report/html_text.h"
#include "report/status.h"

#define OUTLIERS 20
#define OUTLIER_SCORE 3.5 /* Iglewicz and Hoaglin's limit for a modified z */

void html_number(char out[static 48], double v, unsigned precision)
{
	double size = fabs(v);

	if (isnan(v)) {
		strcpy(out, "-");
		return;
	}
	/* A small number keeps two digits that say something. */
	while (size > 0 && precision < 6 && size * pow(10, precision) < 9.5)
		precision++;
	out[number_fixed(out, v, precision)] = '\0';
}

static void put_cell(struct buf *out, double v, unsigned precision)
{
	char text[48];

	html_number(text, v, precision);
	buf_printf(out, "<td class=n>%s</td>", text);
}

static double mean_of(const struct html_series *s)
{
	return s->present ? s->sum / s->weight : (double)NAN;
}

/* ---- identity ---- */

void html_put_facts(const struct html_recording *r, struct buf *out)
{
	bool open = false;

	for (uint32_t i = 0; i < r->n_facts; i++) {
		const struct html_fact *f = &r->fact[i];

		if (f->head) {
			buf_addstr(out, open ? "</tbody></table></details>\n" : "");
			buf_printf(out, "<details%s><summary>", i < 2 || !strcmp(f->name, "Host and recorder") ||
				   !strncmp(f->name, "Topology", 8) ? " open" : "");
			html_text(out, f->name);
			buf_addstr(out, "</summary><table class=facts><tbody>\n");
			open = true;
			continue;
		}
		buf_addstr(out, "<tr><th scope=row>");
		html_text(out, f->name);
		buf_addstr(out, "</th><td>");
		html_text(out, f->value);
		if (f->reveals)
			buf_printf(out, " <span class=reveals>%s</span>", f->reveals);
		buf_addstr(out, "</td></tr>\n");
	}
	buf_addstr(out, open ? "</tbody></table></details>\n" : "");
}

/* ---- summary ---- */

static bool is_main(const struct html_row *row)
{
	return row->kind == PM_SYSTEM || row->kind == PM_PACKAGE;
}

static const struct html_series *near_at(const struct html_recording *r, uint32_t metric, uint32_t row)
{
	for (uint32_t i = 0; i < r->near.n; i++)
		if (r->near.series[i].metric == metric && r->near.series[i].row == row)
			return &r->near.series[i];
	return NULL;
}

static void put_metric_head(const struct html_metric *m, struct buf *out)
{
	buf_addstr(out, "<th scope=row title=\"");
	html_text(out, m->help);
	buf_addstr(out, "\">");
	html_text(out, m->display);
	buf_addstr(out, "</th><td class=unit>");
	html_text(out, m->unit);
	buf_addstr(out, "</td>");
}

void html_put_summary(const struct html_recording *r, struct buf *out)
{
	uint32_t *column = calloc((size_t)r->n_rows + 1, sizeof(*column)), n = 0;

	if (!column) {
		out->err = -ENOMEM;
		return;
	}
	for (uint32_t i = 0; i < r->n_rows && n < 9; i++)
		if (is_main(&r->row[i]))
			column[n++] = i;
	buf_addstr(out,
		   "<div class=\"scroll tall\" tabindex=0 role=region aria-label=\"Summary\"><table class=numbers>"
		   "<thead><tr><th rowspan=2 scope=col>Metric</th><th rowspan=2 scope=col>Unit</th>");
	for (uint32_t i = 0; i < n; i++) {
		buf_addstr(out, "<th colspan=3 scope=colgroup>");
		html_text(out, r->row[column[i]].label);
		buf_addstr(out, "</th>");
	}
	buf_addstr(out, "</tr><tr>");
	for (uint32_t i = 0; i < n; i++)
		buf_addstr(out, "<th scope=col>mean</th><th scope=col>min</th><th scope=col>max</th>");
	buf_addstr(out, "</tr></thead><tbody>\n");
	for (uint32_t m = 0; m < r->n_metrics; m++) {
		size_t before = out->len;
		bool any = false;

		if (!r->metric[m].charted)
			continue;
		buf_addstr(out, "<tr>");
		put_metric_head(&r->metric[m], out);
		for (uint32_t i = 0; i < n; i++) {
			const struct html_series *s = near_at(r, m, column[i]);
			unsigned precision = r->metric[m].precision;
			char word[16];

			if (!s || !s->present) {
				any |= s && s->missing;
				buf_printf(out, "<td class=missing colspan=3>%s</td>",
					   s && s->missing ? status_word(s->reason, false, word) : "-");
				continue;
			}
			any = true;
			put_cell(out, mean_of(s), precision);
			put_cell(out, s->low, precision);
			put_cell(out, s->high, precision);
		}
		buf_addstr(out, "</tr>\n");
		if (!any)
			out->len = before;
	}
	buf_addstr(out, "</tbody></table></div>\n");
	free(column);
}

/* ---- every metric ---- */

static void put_metric_row(const struct html_recording *r, const struct html_series *s, struct buf *out)
{
	const struct html_metric *m = &r->metric[s->metric];
	char word[16];

	buf_addstr(out, "<tr><th scope=row title=\"");
	html_text(out, m->help);
	buf_addstr(out, "\"><code>");
	html_text(out, m->name);
	buf_addstr(out, "</code></th><td>");
	html_text(out, r->row[s->row].label);
	buf_addstr(out, "</td>");
	put_cell(out, mean_of(s), m->precision);
	put_cell(out, s->present ? s->low : (double)NAN, m->precision);
	put_cell(out, s->present ? s->high : (double)NAN, m->precision);
	buf_addstr(out, "<td class=unit>");
	html_text(out, m->unit);
	buf_printf(out, "</td><td class=n>%llu</td><td>", (unsigned long long)s->present);
	if (s->missing)
		buf_printf(out, "%llu missing: %s", (unsigned long long)s->missing,
			   status_word(s->reason, false, word));
	if (s->partial)
		buf_printf(out, "%s%llu partial", s->missing ? "; " : "", (unsigned long long)s->partial);
	buf_addstr(out, "</td></tr>\n");
}

static int by_name(const void *a, const void *b, void *ctx)
{
	const struct html_recording *r = ctx;
	const struct html_series *x = *(const struct html_series *const *)a,
				 *y = *(const struct html_series *const *)b;
	int d = strcmp(r->metric[x->metric].name, r->metric[y->metric].name);

	return d ? d : (x->row > y->row) - (x->row < y->row);
}

void html_put_metrics(const struct html_recording *r, struct buf *out)
{
	const struct html_series **all = calloc((size_t)r->near.n + r->totals.n + 1, sizeof(*all));
	uint32_t n = 0;

	if (!all) {
		out->err = -ENOMEM;
		return;
	}
	for (uint32_t i = 0; i < r->near.n; i++)
		all[n++] = &r->near.series[i];
	for (uint32_t i = 0; i < r->totals.n; i++)
		all[n++] = &r->totals.series[i];
	qsort_r(all, n, sizeof(struct html_series *), by_name, (void *)(uintptr_t)r);
	buf_addstr(out, "<div class=scroll tabindex=0 role=region aria-label=\"Every metric\">"
			"<table class=\"numbers every\"><thead><tr><th scope=col>Metric</th><th scope=col>Where</th>"
			"<th scope=col class=n>Mean</th><th scope=col class=n>Min</th><th scope=col class=n>Max</th>"
			"<th scope=col>Unit</th>"
			"<th scope=col class=n>Intervals</th><th scope=col>Missing</th></tr></thead><tbody>\n");
	for (uint32_t i = 0; i < n; i++)
		put_metric_row(r, all[i], out);
	buf_addstr(out, "</tbody></table></div>\n");
	free(all);
}

/* ---- outliers ---- */

struct outlier {
	uint32_t metric, row;
	double mean, usual, score;
};

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int by_score(const void *a, const void *b)
{
	const struct outlier *x = a, *y = b;

	return (x->score < y->score) - (x->score > y->score);
}

static double median(double *v, uint32_t n)
{
	qsort(v, n, sizeof(*v), by_value);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* How far the CPUs of one metric lie from their median, in robust standard deviations. */
static void find_outliers(const struct html_recording *r, uint32_t metric, const uint32_t *place, uint32_t n,
			  double *work, struct outlier *found, uint32_t *n_found)
{
	double usual, spread, least;

	for (uint32_t i = 0; i < n; i++)
		work[i] = mean_of(&r->far.series[place[i]]);
	usual = median(work, n);
	for (uint32_t i = 0; i < n; i++)
		work[i] = fabs(work[i] - usual);
	/* Where all but a few are alike there is no spread; a hundredth of the level stands in for it. */
	spread = median(work, n) / 0.6745;
	least = fabs(usual) / 100;
	spread = spread > least ? spread : least;
	for (uint32_t i = 0; i < n; i++) {
		const struct html_series *s = &r->far.series[place[i]];
		struct outlier o = { .metric = metric, .row = s->row, .mean = mean_of(s), .usual = usual };

		o.score = o.mean == usual ? 0 : spread > 0 ? fabs(o.mean - usual) / spread : (double)INFINITY;
		if (o.score < OUTLIER_SCORE)
			continue;
		if (*n_found < OUTLIERS) {
			found[(*n_found)++] = o;
		} else {
			qsort(found, *n_found, sizeof(*found), by_score);
			if (o.score > found[OUTLIERS - 1].score)
				found[OUTLIERS - 1] = o;
		}
	}
	qsort(found, *n_found, sizeof(*found), by_score);
}

static void put_outlier(const struct html_recording *r, const struct outlier *o, struct buf *out)
{
	const struct html_metric *m = &r->metric[o->metric];
	const struct html_row *row = &r->row[o->row];

	buf_printf(out, "<tr><th scope=row><button type=button class=open data-row=%u>", o->row);
	html_text(out, row->label);
	buf_addstr(out, "</button></th><td>");
	html_text(out, row->place);
	buf_addstr(out, "</td><td title=\"");
	html_text(out, m->help);
	buf_addstr(out, "\">");
	html_text(out, m->display);
	buf_addstr(out, "</td>");
	put_cell(out, o->mean, m->precision);
	put_cell(out, o->usual, m->precision);
	buf_addstr(out, "<td class=unit>");
	html_text(out, m->unit);
	buf_addstr(out, "</td>");
	if (isinf(o->score))
		buf_addstr(out, "<td class=n>alone</td></tr>\n");
	else
		buf_printf(out, "<td class=n>%.1f</td></tr>\n", o->score);
}

void html_put_outliers(const struct html_recording *r, struct buf *out)
{
	uint32_t *place = calloc((size_t)r->far.n + 1, sizeof(*place)), n_found = 0;
	double *work = calloc((size_t)r->far.n + 1, sizeof(*work));
	struct outlier found[OUTLIERS];

	if (!place || !work)
		out->err = -ENOMEM;
	for (uint32_t m = 0; m < r->n_metrics && !out->err; m++) {
		uint32_t n = 0;

		if (!r->metric[m].charted)
			continue;
		for (uint32_t i = 0; i < r->far.n; i++)
			if (r->far.series[i].metric == m && r->far.series[i].present &&
			    r->row[r->far.series[i].row].kind == PM_CPU)
				place[n++] = i;
		if (n >= 4)
			find_outliers(r, m, place, n, work, found, &n_found);
	}
	free(place);
	free(work);
	if (!n_found) {
		buf_addstr(out, "<p>No CPU stands out: every mean lies within 3.5 robust standard deviations of the "
				"median of all CPUs (with fewer than four CPUs none can).</p>\n");
		return;
	}
	buf_addstr(out, "<div class=scroll tabindex=0 role=region aria-label=\"Outliers\"><table class=numbers>"
			"<thead><tr><th scope=col>CPU</th><th scope=col>Where</th><th scope=col>Metric</th>"
			"<th scope=col class=n>Mean</th><th scope=col class=n>Median of CPUs</th>"
			"<th scope=col>Unit</th>"
			"<th scope=col class=n>Distance</th></tr></thead><tbody>\n");
	for (uint32_t i = 0; i < n_found; i++)
		put_outlier(r, &found[i], out);
	buf_addstr(out, "</tbody></table></div>\n");
}

/* ---- events ---- */

void html_put_events(const struct html_recording *r, struct buf *out)
{
	if (!r->n_events) {
		buf_addstr(out, "<p>No events: no marker, no CPU that came or went, no lost tick.</p>\n");
		return;
	}
	buf_addstr(out, "<div class=scroll tabindex=0 role=region aria-label=\"Events\"><table><thead><tr>"
			"<th scope=col>At</th><th scope=col>What</th></tr></thead><tbody>\n");
	for (uint32_t i = 0; i < r->n_events; i++) {
		const struct html_event *e = &r->event[i];

		buf_printf(out, "<tr><td class=n>%+.3f s", e->at_s);
		if (e->until_s > e->at_s)
			buf_printf(out, " to %+.3f s", e->until_s);
		buf_addstr(out, "</td><td>");
		html_text(out, e->text);
		buf_addstr(out, "</td></tr>\n");
	}
	buf_addstr(out, "</tbody></table></div>\n");
	if (r->more_events)
		buf_printf(out, "<p>%llu more events are not listed; pmrep info --all has them.</p>\n",
			   (unsigned long long)r->more_events);
}
