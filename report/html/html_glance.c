/* The first screen of a page: which recordings, their totals, what happened, and what is unusual. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/html/html.h"
#include "report/html/html_text.h"
#include "report/input/input.h"
#include "report/machine/value_out.h"

#define TILES    8
#define HAPPENED 6 /* events that are named */

/* ---- identity ---- */

static const char *fact_of(const struct html_recording *r, const char *name)
{
	for (uint32_t i = 0; i < r->n_facts; i++)
		if (!strcmp(r->fact[i].name, name))
			return r->fact[i].value;
	return "";
}

/* Side by side, with differences marked: whether two recordings are comparable is the first thing to know. */
static void put_pair(const struct html_page *p, struct buf *out)
{
	static const char *const name[] = { "Host",     "Product", "Processor", "Size",   "System",
					    "Recorded", "Counted", "Labels",    "History" };

	buf_addstr(out, "<div class=scroll tabindex=0 role=group aria-label=\"The two recordings\">"
			"<table class=pair><thead><tr><td></td>");
	for (size_t i = 0; i < p->n; i++) {
		buf_printf(out, "<th scope=col><i class=\"swatch s%zu\"></i>", i);
		html_put(out, "{}</th>", input_name(p->recording[i].path));
	}
	buf_addstr(out, "</tr></thead><tbody>\n");
	for (size_t k = 0; k < sizeof(name) / sizeof(*name); k++) {
		const char *a = fact_of(&p->recording[0], name[k]), *b = fact_of(&p->recording[1], name[k]);
		bool differs = strcmp(a, b) && strcmp(name[k], "Recorded");

		if (!a[0] && !b[0])
			continue;
		buf_addstr(out, differs ? "<tr class=differs>" : "<tr>");
		html_put(out, "<th scope=row>{}</th><td>{}</td><td>{}", name[k], a[0] ? a : "-", b[0] ? b : "-");
		buf_addstr(out, differs ? " <span class=mark>differs</span></td></tr>\n" : "</td></tr>\n");
	}
	buf_addstr(out, "</tbody></table></div>\n");
}

void html_put_identity(const struct html_page *p, struct buf *out)
{
	const struct html_recording *r = p->recording;

	if (p->n > 1) {
		put_pair(p, out);
		return;
	}
	buf_addstr(out, "<dl class=identity>\n");
	for (uint32_t i = 0; i < r->n_facts; i++)
		html_put(out, "<div><dt>{}</dt><dd title=\"{}\">{}</dd></div>\n", r->fact[i].name, r->fact[i].value,
			 r->fact[i].value);
	buf_addstr(out, "</dl>\n");
}

/* ---- tiles ---- */

static bool find_metric(const struct html_recording *r, const char *name, uint32_t *metric)
{
	for (*metric = 0; *metric < r->n_metrics; ++*metric)
		if (r->metric[*metric].charted && !strcmp(r->metric[*metric].name, name))
			return true;
	return false;
}

/* First what people ask of the recorded machine; then what changed, in the order of columns. */
static uint32_t pick_tiles(const struct html_recording *r, uint32_t tile[TILES])
{
	static const char *const first[] = {
		"busy",          "util",         "bzy_mhz", "ipc",           "insn_per_cycle", "cycles_frequency",
		"package.watts", "package.temp", "mem.bw",  "llc.hit_share", "ctxsw",          "irq",
	};
	uint32_t n = 0, metric;

	for (size_t i = 0; i < sizeof(first) / sizeof(*first) && n < TILES - 2; i++)
		if (find_metric(r, first[i], &metric) && html_main(r, metric))
			tile[n++] = metric;
	for (int moved = 1; moved >= 0; moved--)
		for (metric = 0; metric < r->n_metrics && n < TILES; metric++) {
			const struct html_series *s = r->metric[metric].charted ? html_main(r, metric) : NULL;
			bool known = false;

			for (uint32_t i = 0; i < n; i++)
				known |= tile[i] == metric;
			if (s && !known && (s->high > s->low) == moved && n < TILES)
				tile[n++] = metric;
		}
	return n;
}

/* "147.5k": a tile has room for five characters. */
static void put_short(struct buf *out, double v, unsigned precision)
{
	static const struct {
		double limit;
		const char *sign;
	} units[] = { { 1e15, "P" }, { 1e12, "T" }, { 1e9, "G" }, { 1e6, "M" }, { 1e3, "k" } };
	double size = fabs(v);
	char text[48];

	for (size_t i = 0; i < 5 && size >= 1e5; i++) {
		double part = v / units[i].limit;

		/* 999,960,000 is 1.000G, not 1000M. */
		if (size < units[i].limit * .99995)
			continue;
		buf_printf(out, "%.*f%s", fabs(part) < 9.9995 ? 3 : fabs(part) < 99.995 ? 2 : 1, part, units[i].sign);
		return;
	}
	html_number(text, v, fabs(v) >= 1000 ? 0 : precision);
	buf_addstr(out, text);
}

static void put_tile(const struct html_page *p, uint32_t metric, struct buf *out)
{
	const struct html_recording *r = p->recording;
	const struct html_metric *m = &r->metric[metric];
	const struct html_series *series[HTML_RECORDINGS] = { html_main(r, metric) };
	uint32_t other;

	if (p->n > 1 && find_metric(&r[1], m->name, &other))
		series[1] = html_main(&r[1], other);
	html_put(out, "<li class=tile><h3 title=\"{}\"><button type=button class=open data-metric=\"{}\">{}</button>",
		 m->help, m->name, m->display);
	if (r->row[series[0]->row].kind != PM_SYSTEM)
		html_put(out, " <span class=unit>{}</span>", r->row[series[0]->row].label);
	buf_addstr(out, "</h3><p class=big>");
	for (size_t i = 0; i < p->n; i++) {
		buf_printf(out, "%s<b%s>", i ? " <span class=unit>&rarr;</span> " : "", i ? " class=second" : "");
		if (series[i])
			put_short(out, html_mean(series[i]), html_precision(m, series[i]));
		else
			buf_addch(out, '-');
		buf_addstr(out, "</b>");
	}
	buf_addstr(out, " <span class=unit>");
	html_put_unit(m->unit, out);
	buf_addstr(out, "</span></p>");
	html_put_spark(p->recording, series, p->n, out);
	if (p->n == 1) {
		buf_addstr(out, "<p class=range>");
		put_short(out, series[0]->low, html_precision(m, series[0]));
		buf_addstr(out, " to ");
		put_short(out, series[0]->high, html_precision(m, series[0]));
		buf_addstr(out, "</p>");
	}
	buf_addstr(out, "</li>\n");
}

static void put_tiles(const struct html_page *p, struct buf *out)
{
	uint32_t tile[TILES], n = pick_tiles(p->recording, tile);

	if (!n)
		return;
	buf_printf(out, "<ul class=\"tiles%s\" aria-label=\"Means%s\">\n", p->n > 1 ? " two" : "",
		   p->n > 1 ? " of the first and the second recording" : ", and lowest and highest values");
	for (uint32_t i = 0; i < n; i++)
		put_tile(p, tile[i], out);
	buf_addstr(out, "</ul>\n");
}

/* ---- what happened ---- */

static const char *event_class(const struct html_event *e)
{
	switch (e->type) {
	case PM_EVENT_MARKER:
		return "marker";
	case PM_EVENT_CPU_ONLINE:
	case PM_EVENT_CPU_OFFLINE:
		return "hotplug";
	case PM_EVENT_LOST:
		return "lost";
	default:
		return e->until_s > e->at_s ? "lost" : "other";
	}
}

/* What every recording has at its beginning and end says little, and cgroups and devices may go by the hundred. */
static bool is_usual(const struct html_event *e)
{
	switch (e->type) {
	case PM_EVENT_CHILD_START:
	case PM_EVENT_CHILD_EXIT:
	case PM_EVENT_RUN_START:
	case PM_EVENT_RUN_END:
	case PM_EVENT_ENABLE:
	case PM_EVENT_DISABLE:
	case PM_EVENT_GONE:
		return true;
	default:
		return false;
	}
}

static void put_strip(const struct html_recording *r, struct buf *out)
{
	buf_addstr(out, "<svg class=strip viewBox=\"0 0 1000 20\" preserveAspectRatio=none aria-hidden=true>"
			"<rect class=whole width=1000 height=20 />");
	for (uint32_t i = 0; i < r->n_events && i < 500 && r->duration_s > 0; i++) {
		const struct html_event *e = &r->event[i];
		double x = e->at_s / r->duration_s * 1000, width = (e->until_s - e->at_s) / r->duration_s * 1000;

		if (x < 0 || x > 1000)
			continue;
		buf_printf(out, "<rect class=%s x=%.1f width=%.1f height=20><title>", event_class(e),
			   x > 997 ? 997 : x, width > 3 ? width : 3);
		html_text_cut(out, e->text, HTML_EVENT_TEXT);
		buf_addstr(out, "</title></rect>");
	}
	buf_addstr(out, "</svg>\n");
}

static void put_happened(const struct html_recording *r, struct buf *out)
{
	uint64_t all = r->n_events + r->more_events;
	uint32_t shown = 0;

	if (!all) {
		buf_addstr(out, "<p class=empty>Nothing noted: no markers, no CPUs going offline or online, no lost "
				"ticks.</p>\n");
		return;
	}
	put_strip(r, out);
	buf_addstr(out, "<ul class=\"findings marked\">\n");
	for (uint32_t i = 0; i < r->n_events && shown < HAPPENED; i++) {
		const struct html_event *e = &r->event[i];

		if (all > HAPPENED && is_usual(e))
			continue;
		shown++;
		buf_printf(out,
			   "<li><i class=\"kind %s\"></i><button type=button class=open data-from=%.6f "
			   "data-to=%.6f>%+.1f s</button> ",
			   event_class(e), e->at_s, e->until_s, e->at_s);
		html_text_cut(out, e->text, HTML_EVENT_TEXT);
		buf_addstr(out, "</li>\n");
	}
	if (all > shown)
		buf_printf(out, "<li><a href=\"#events\">%llu %s</a></li>\n", (unsigned long long)(all - shown),
			   shown ? "more" : "starts and ends of tasks or runs");
	buf_addstr(out, "</ul>\n");
}

/* ---- what is not whole ---- */

/* The number of series with intervals without a value, or with a part of it. */
static uint32_t with_gaps(const struct html_recording *r)
{
	const struct html_set *set[] = { &r->near, &r->far, &r->totals };
	uint32_t n = 0;

	for (size_t k = 0; k < 3; k++)
		for (uint32_t i = 0; i < set[k]->n; i++)
			n += set[k]->series[i].missing || set[k]->series[i].partial;
	return n;
}

static void put_missing(const struct html_recording *r, struct buf *out)
{
	size_t before;

	buf_addstr(out, "<ul class=findings>\n");
	before = out->len;
	if (r->result.damaged || r->result.cut_only)
		buf_printf(out, "<li class=bad>The recording is %s: <a href=\"#notes\">what is missing</a></li>\n",
			   r->result.damaged ? "damaged" : "cut, or was still being written");
	if (r->lost_ticks)
		buf_printf(out, "<li class=bad>%llu lost tick%s: <a href=\"#events\">when</a></li>\n",
			   (unsigned long long)r->lost_ticks, plural(r->lost_ticks));
	if (with_gaps(r))
		buf_printf(out,
			   "<li>%u series lack values, or parts of them, at times: <a href=\"#every\">which and "
			   "why</a></li>\n",
			   with_gaps(r));
	if (out->len == before)
		buf_addstr(out, "<li class=empty>Nothing: no tick was lost, and every series is complete.</li>\n");
	if (r->n_refused)
		buf_printf(out,
			   "<li class=soft>%u thing%s could not be recorded: <a href=\"#identity\">which and "
			   "why</a></li>\n",
			   r->n_refused, plural(r->n_refused));
	buf_addstr(out, "</ul>\n");
}

static void put_about(const struct html_page *p, const char *title,
		      void (*put)(const struct html_recording *, struct buf *), struct buf *out)
{
	buf_printf(out, "<div><h2>%s</h2>\n", title);
	for (size_t i = 0; i < p->n; i++) {
		if (p->n > 1) {
			buf_printf(out, "<h3><i class=\"swatch s%zu\"></i>", i);
			html_put(out, "{}</h3>\n", input_name(p->recording[i].path));
		}
		put(&p->recording[i], out);
	}
	buf_addstr(out, "</div>\n");
}

void html_put_glance(const struct html_page *p, struct buf *out)
{
	if (p->verdict_counts && p->verdict_counts[0])
		buf_printf(out,
			   "<p class=counts><a href=\"#verdicts\">Verdicts</a> on the metrics that have a "
			   "better direction: %s.</p>\n",
			   p->verdict_counts);
	buf_addstr(out, "<div class=about>\n");
	put_about(p, "Incidents", html_put_first_incidents, out);
	buf_addstr(out, "</div>\n");
	put_tiles(p, out);
	buf_addstr(out, "<div class=about>\n");
	put_about(p, "What is missing", put_missing, out);
	put_about(p, "What happened", put_happened, out);
	buf_addstr(out, "</div>\n");
}
