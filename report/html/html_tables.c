/* The tables of a page, which need no script. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/number.h"
#include "report/html/html.h"
#include "report/html/html_text.h"
#include "report/input/input.h"
#include "report/machine/status.h"

#define MAINS_MOST  9    /* places of the summary */
#define SPARKS_MOST 1000 /* with more series, lines make a table too large */

void html_number(char out[static 48], double v, unsigned precision)
{
	double size = fabs(v);

	if (isnan(v)) {
		strcpy(out, "-");
		return;
	}
	/* Large numbers have enough digits. */
	if (size >= 1e6)
		precision = 0;
	/* A small number keeps two significant digits. */
	while (size > 0 && precision < 6 && size * pow(10, precision) < 9.5)
		precision++;
	out[number_fixed(out, v, precision)] = '\0';
}

void html_put_unit(const char *unit, struct buf *out)
{
	text_markup(out, strcmp(unit, "1") ? unit : "");
}

unsigned html_precision(const struct html_metric *m, const struct html_series *s)
{
	double apart = s->high - s->low;
	unsigned precision = m->precision;

	if (!s->present || apart <= fabs(s->high) * 1e-6)
		return precision;
	while (precision < 4 && apart * pow(10, precision) < 2)
		precision++;
	return precision;
}

static void put_cell(struct buf *out, double v, unsigned precision)
{
	char text[48];

	html_number(text, v, precision);
	buf_printf(out, "<td class=n>%s</td>", text);
}

/* ---- summary ---- */

static bool is_main(const struct html_row *row)
{
	return row->kind == PM_SYSTEM || row->kind == PM_PACKAGE;
}

/* The whole name, which may be truncated, and what it means. */
static void put_title(const struct html_metric *m, struct buf *out)
{
	text_markup(out, m->name);
	if (m->help[0])
		html_put(out, ": {}", m->help);
}

static void put_metric_head(const struct html_metric *m, struct buf *out)
{
	buf_addstr(out, "<th scope=row title=\"");
	put_title(m, out);
	html_put(out, "\">{}</th><td class=unit>", m->display);
	html_put_unit(m->unit, out);
	buf_addstr(out, "</td>");
}

static void put_trend(const struct html_recording *r, uint32_t metric, struct buf *out)
{
	const struct html_series *s = html_main(r, metric);

	buf_addstr(out, "<td class=trend>");
	if (s && s->bucket)
		html_put_spark(r, &s, 1, out);
	buf_addstr(out, "</td>");
}

void html_put_summary(const struct html_page *p, const struct html_recording *r, struct buf *out)
{
	uint32_t column[MAINS_MOST], n = 0, more = 0;
	bool sparks = r->near.n < SPARKS_MOST;

	if (!r->near.n) {
		buf_addstr(out,
			   "<p class=empty>No metric of the system or its packages could be computed: their counters "
			   "were not recorded, or are lost.</p>\n");
		return;
	}
	for (uint32_t i = 0; i < r->n_rows; i++) {
		if (is_main(&r->row[i]) && n < MAINS_MOST)
			column[n++] = i;
		else
			more += is_main(&r->row[i]);
	}
	buf_addstr(out,
		   "<div class=\"scroll tall\" tabindex=0 role=group aria-label=\"Summary\"><table class=numbers>"
		   "<thead><tr><th rowspan=2 scope=col>Metric</th><th rowspan=2 scope=col>Unit</th>");
	if (sparks)
		buf_addstr(out, "<th rowspan=2 scope=col class=trend>Over time</th>");
	for (uint32_t i = 0; i < n; i++)
		html_put(out, "<th colspan=3 scope=colgroup>{}</th>", r->row[column[i]].label);
	buf_addstr(out, "</tr><tr>");
	for (uint32_t i = 0; i < n; i++)
		buf_addstr(out, "<th scope=col>mean</th><th scope=col>min</th><th scope=col>max</th>");
	buf_addstr(out, "</tr></thead><tbody>\n");
	for (uint32_t m = 0; m < r->n_metrics; m++) {
		size_t before = out->len;
		bool any = false;

		if (!html_drawn(p, r, m))
			continue;
		buf_addstr(out, "<tr>");
		put_metric_head(&r->metric[m], out);
		if (sparks)
			put_trend(r, m, out);
		for (uint32_t i = 0; i < n; i++) {
			const struct html_series *s = html_near(r, m, column[i]);
			unsigned precision = s ? html_precision(&r->metric[m], s) : 0;
			char word[16];

			if (!s || !s->present) {
				any |= s && s->missing;
				buf_printf(out, "<td class=missing colspan=3>%s</td>",
					   s && s->missing ? status_word(s->reason, STATUS_NOT_FINITE, word) : "-");
				continue;
			}
			any = true;
			put_cell(out, html_mean(s), precision);
			put_cell(out, s->low, precision);
			put_cell(out, s->high, precision);
		}
		buf_addstr(out, "</tr>\n");
		if (!any)
			out->len = before;
	}
	buf_addstr(out, "</tbody></table></div>\n");
	if (more)
		buf_printf(out, "<p class=hint>%u more package%s without a column here: see every metric.</p>\n",
			   more, plural(more));
}

/* ---- every metric ---- */

static void put_metric_row(const struct html_recording *r, const struct html_series *s, struct buf *out)
{
	const struct html_metric *m = &r->metric[s->metric];
	char word[16];

	buf_addstr(out, "<tr><th scope=row title=\"");
	put_title(m, out);
	html_put(out, "\"><code>{}</code></th><td>{}</td>", m->name, r->row[s->row].label);
	put_cell(out, html_mean(s), html_precision(m, s));
	put_cell(out, s->present ? s->low : (double)NAN, html_precision(m, s));
	put_cell(out, s->present ? s->high : (double)NAN, html_precision(m, s));
	buf_addstr(out, "<td class=unit>");
	html_put_unit(m->unit, out);
	buf_printf(out, "</td><td class=n>%llu</td><td>", (unsigned long long)s->present);
	if (s->missing)
		buf_printf(out, "%llu missing: %s", (unsigned long long)s->missing,
			   status_word(s->reason, STATUS_NOT_FINITE, word));
	if (s->partial)
		buf_printf(out, "%s%llu partial", s->missing ? "; " : "", (unsigned long long)s->partial);
	if (s->doubtful)
		buf_printf(out, "%s%llu doubtful", s->missing || s->partial ? "; " : "",
			   (unsigned long long)s->doubtful);
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

void html_put_metrics(const struct html_page *p, const struct html_recording *r, struct buf *out)
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
	buf_addstr(out, "<div class=scroll tabindex=0 role=group aria-label=\"Every metric\">"
			"<table class=\"numbers every\"><thead><tr><th scope=col>Metric</th><th scope=col>Where</th>"
			"<th scope=col class=n>Mean</th><th scope=col class=n>Min</th><th scope=col class=n>Max</th>"
			"<th scope=col>Unit</th>"
			"<th scope=col class=n>Intervals</th><th scope=col>Missing</th></tr></thead><tbody>\n");
	for (uint32_t i = 0; i < n && i < p->rows; i++)
		put_metric_row(r, all[i], out);
	buf_addstr(out, "</tbody></table></div>\n");
	if (n > p->rows)
		buf_printf(out, "<p class=empty>%u more are not listed; pmrep show --total -d has them.</p>\n",
			   n - p->rows);
	free(all);
}

/* ---- events ---- */

void html_put_events(const struct html_page *p, const struct html_recording *r, struct buf *out)
{
	if (!r->n_events) {
		buf_addstr(out, "<p>No events: no markers, no CPUs going offline or online, no lost ticks.</p>\n");
		return;
	}
	buf_addstr(out, "<div class=scroll tabindex=0 role=group aria-label=\"Events\"><table><thead><tr>"
			"<th scope=col>At</th><th scope=col>What</th></tr></thead><tbody>\n");
	for (uint32_t i = 0; i < r->n_events; i++) {
		const struct html_event *e = &r->event[i];

		buf_printf(out, "<tr><td class=n><button type=button class=open data-from=%.6f data-to=%.6f>%+.3f s",
			   e->at_s, e->until_s, e->at_s);
		if (e->until_s > e->at_s)
			buf_printf(out, " to %+.3f s", e->until_s);
		buf_addstr(out, "</button></td><td>");
		html_text_cut(out, e->text, HTML_EVENT_TEXT);
		buf_addstr(out, "</td></tr>\n");
	}
	buf_addstr(out, "</tbody></table></div>\n");
	if (r->more_events)
		buf_printf(out, "<p>%llu more events are not listed; pmrep info --all has them.</p>\n",
			   (unsigned long long)r->more_events);
}

void html_put_resolution(const struct html_page *p, struct buf *out)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct html_recording *r = &p->recording[i];
		double near = r->near.width_s * p->near.merge, far = r->far.width_s * p->far.merge;

		if (!r->interval_s || !r->near.n)
			continue;
		if (near <= r->interval_s * 1.01 && (far <= r->interval_s * 1.01 || !r->far.n || !p->far.bytes))
			continue;
		html_put(out, p->n > 1 ? "<p class=hint>{}: a" : "<p class=hint>A", input_name(r->path));
		buf_printf(out, " point is %.6g s long", near);
		if (r->far.n && p->far.bytes)
			buf_printf(out, ", of single CPUs %.6g s", far);
		buf_addstr(out, ".</p>\n");
	}
}
