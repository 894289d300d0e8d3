/* The incidents, which come first: each opens its time, with the charts that matter. */
#include <string.h>

#include "common/number.h"
#include "report/html/html.h"
#include "report/html/html_text.h"

#define FIRST  6 /* that the first screen names */
#define CHARTS 4 /* of one */

/* The CPU or other place of many that it is about; NULL: it has charts of its own. */
static const struct incident_series *place_of(const struct incident *i)
{
	const struct incident_series *s = i->n_series ? &i->series[0] : NULL;

	return s && i->kind == INCIDENT_PEER && s->kind == PM_CPU ? s : NULL;
}

static void put_button(const struct html_recording *r, const struct incident *i, struct buf *out)
{
	const struct incident_series *place = place_of(i);
	SCOPED(buf_release) struct buf when = BUF_INIT;
	uint32_t n = 0;

	buf_addstr(out, "<button type=button class=open data-metrics=\"");
	for (uint32_t k = 0; k < i->n_series && n < CHARTS; k++)
		if (incident_names_first(i, k)) {
			buf_addstr(out, n++ ? "\t" : "");
			text_markup(out, i->series[k].metric);
		}
	buf_addch(out, '"');
	if (place)
		html_put(out, " data-row=\"{}\"", place->label);
	else
		buf_printf(out, " data-from=%.6f data-to=%.6f", i->from_s, i->to_s);
	incident_put_time(&r->incidents, i, &when);
	buf_printf(out, ">%s</button>", buf_str(&when));
}

static const char *class_of(const struct incident *i)
{
	return i->kind == INCIDENT_LOSS ? " class=bad" : "";
}

void html_put_first_incidents(const struct html_recording *r, struct buf *out)
{
	const struct incidents *all = &r->incidents;

	buf_addstr(out, "<ol class=\"findings incidents\">\n");
	for (uint32_t i = 0; i < all->n && i < FIRST; i++) {
		buf_printf(out, "<li%s>", class_of(&all->incident[i]));
		put_button(r, &all->incident[i], out);
		html_put(out, " {}</li>\n", all->incident[i].text);
	}
	buf_addstr(out, "</ol>\n");
	if (all->n > FIRST)
		buf_printf(out, "<p><a href=\"#incidents\">%u more</a></p>\n", all->n - FIRST);
	if (!all->n)
		buf_printf(out, "<p class=empty>Nothing stands out among %u series.</p>\n", all->n_scanned);
}

static void put_clock(const struct incidents *all, double at_s, struct buf *out)
{
	char text[64];
	size_t len;

	if (!all->start_wall_ns)
		return;
	len = number_time(text, (uint64_t)(all->start_wall_ns + (int64_t)(at_s * 1e9)), 0);
	if (len < 19)
		return;
	buf_printf(out, "<time datetime=\"%.19sZ\">%.10s %.8s</time>", text, text, text + 11);
}

void html_put_incidents(const struct html_page *p, const struct html_recording *r, struct buf *out)
{
	const struct incidents *all = &r->incidents;

	if (!all->n) {
		buf_printf(out, "<p class=empty>Nothing stands out among %u series.</p>\n", all->n_scanned);
		return;
	}
	buf_addstr(out, "<div class=scroll tabindex=0 role=group aria-label=\"Incidents\"><table class=incidents>"
			"<thead><tr><th scope=col class=n>#</th><th scope=col>When</th><th scope=col>Time (UTC)</th>"
			"<th scope=col>What</th></tr></thead><tbody>\n");
	for (uint32_t i = 0; i < all->n; i++) {
		buf_printf(out, "<tr%s><td class=n>%u</td><td>", class_of(&all->incident[i]), i + 1);
		put_button(r, &all->incident[i], out);
		buf_addstr(out, "</td><td>");
		put_clock(all, all->incident[i].from_s, out);
		html_put(out, "</td><td class=what>{}</td></tr>\n", all->incident[i].text);
	}
	buf_addstr(out, "</tbody></table></div>\n");
}

/* Whether it has a chart although tables omit it by default. */
bool html_incident_metric(const struct html_recording *r, const char *metric)
{
	for (uint32_t i = 0; i < r->incidents.n; i++) {
		const struct incident *x = &r->incidents.incident[i];
		uint32_t n = 0;

		for (uint32_t k = 0; k < x->n_series && n < CHARTS; k++)
			if (incident_names_first(x, k)) {
				n++;
				if (!strcmp(x->series[k].metric, metric))
					return true;
			}
	}
	return false;
}
