/* The text of a page: the template with its parts, and what the script reads. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/number.h"
#include "report/html/html.h"
#include "report/html/html_text.h"
#include "report/input/input.h"

/* ---- the numbers and what they belong to ---- */

static void put_double(struct buf *out, double v)
{
	char text[NUMBER_MAX];

	if (v - v != 0)
		buf_addstr(out, "null");
	else
		buf_add(out, text, number_double(text, v));
}

/* Seven digits are enough for drawing. */
static void put_short(struct buf *out, double v)
{
	char text[32];

	if (v - v != 0) {
		buf_addstr(out, "null");
		return;
	}
	snprintf(text, sizeof(text), "%.7g", v);
	buf_addstr(out, text);
}

static void put_set(const struct html_page *p, const struct html_set *s, const struct html_form *f, uint64_t offset,
		    struct buf *out)
{
	struct html_form none = { .merge = 1, .bytes = 1 };
	bool left_out = !f->bytes;

	f = left_out ? &none : f;
	buf_printf(out,
		   "{\"buckets\":%u,\"bytes\":%u,\"band\":%s,\"offset\":%llu,\"width\":", html_form_buckets(s, f),
		   f->bytes, f->band ? "true" : "false", (unsigned long long)offset);
	put_double(out, s->width_s * f->merge);
	buf_addstr(out, ",\"list\":[");
	for (uint32_t i = 0, n = 0; i < s->n && !left_out; i++) {
		const struct html_series *series = &s->series[i];

		if (series->metric >= p->metrics)
			continue;
		buf_printf(out, "%s[%u,%u,", n++ ? "," : "", series->metric, series->row);
		put_short(out, series->present ? series->low : 0);
		buf_addch(out, ',');
		put_short(out, series->present ? series->high : 0);
		buf_addch(out, ',');
		put_short(out, html_mean(series));
		buf_addch(out, ']');
	}
	buf_addstr(out, "]}");
}

static const char *event_word(const struct html_event *e)
{
	const char *name = pm_event_name(e->type);

	return name ? name : "other";
}

static void put_recording(const struct html_page *p, const struct html_recording *r, uint64_t *offset,
			  struct buf *out)
{
	buf_addstr(out, "{\"name\":");
	html_json_text(out, input_name(r->path));
	buf_addstr(out, ",\"start\":");
	put_double(out, r->start_wall_ns > 0 ? (double)(r->start_wall_ns / 1000000) : (double)__builtin_nan(""));
	buf_addstr(out, ",\"duration\":");
	put_double(out, r->duration_s);
	buf_addstr(out, ",\"metrics\":[");
	for (uint32_t i = 0; i < r->n_metrics && i < p->metrics; i++) {
		const struct html_metric *m = &r->metric[i];

		/* Those that are only in tables need only their place. */
		buf_addstr(out, i ? ",{" : "{");
		if (m->charted) {
			buf_addstr(out, "\"name\":");
			html_json_text(out, m->name);
			buf_addstr(out, ",\"display\":");
			html_json_text(out, m->display);
			buf_addstr(out, ",\"unit\":");
			html_json_text(out, m->unit);
			buf_addstr(out, ",\"help\":");
			html_json_text(out, m->help);
		}
		buf_addch(out, '}');
	}
	buf_addstr(out, "],\"rows\":[");
	for (uint32_t i = 0; i < r->n_rows; i++) {
		const struct html_row *row = &r->row[i];

		/* Without series, very many rows would only take room. */
		if (row->far && !p->far.bytes) {
			buf_addstr(out, i ? ",{\"far\":true}" : "{\"far\":true}");
			continue;
		}
		buf_addstr(out, i ? ",{\"label\":" : "{\"label\":");
		html_json_text(out, row->label);
		buf_addstr(out, ",\"place\":");
		html_json_text(out, row->place);
		buf_printf(out, ",\"kind\":\"%s\",\"far\":%s,\"package\":%lld,\"cpu\":%lld}", pm_kind_name(row->kind),
			   row->far ? "true" : "false", row->package == PM_NONE ? -1LL : (long long)row->package,
			   row->number == PM_NONE ? -1LL : (long long)row->number);
	}
	buf_addstr(out, "],\"events\":[");
	for (uint32_t i = 0; i < r->n_events; i++) {
		const struct html_event *e = &r->event[i];

		buf_addstr(out, i ? ",[" : "[");
		put_short(out, e->at_s);
		buf_addch(out, ',');
		put_short(out, e->until_s);
		buf_printf(out, ",\"%s\",%lld,", event_word(e), e->cpu == PM_NONE ? -1LL : (long long)e->cpu);
		html_json_text_cut(out, e->text, HTML_EVENT_TEXT);
		buf_addch(out, ']');
	}
	buf_addstr(out, "],\"near\":");
	put_set(p, &r->near, &p->near, *offset, out);
	*offset += html_page_bytes(p, &r->near, &p->near);
	buf_addstr(out, ",\"far\":");
	put_set(p, &r->far, &p->far, *offset, out);
	*offset += html_page_bytes(p, &r->far, &p->far);
	buf_addch(out, '}');
}

static void put_data(const struct html_page *p, struct buf *out)
{
	uint64_t offset = 0;

	buf_printf(out, "{\"reducedFar\":%s,\"recordings\":[", p->far.bytes ? "false" : "true");
	for (size_t i = 0; i < p->n; i++) {
		if (i)
			buf_addch(out, ',');
		put_recording(p, &p->recording[i], &offset, out);
	}
	buf_addstr(out, "]}");
}

/* ---- parts by name ---- */

static void put_title(const struct html_page *p, struct buf *out)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct html_recording *r = &p->recording[i];

		if (i)
			buf_addstr(out, " beside ");
		text_markup(out, input_name(r->path));
		if (r->host && r->host[0])
			html_put(out, " ({})", r->host);
	}
}

/* The same as a heading: what accompanies the name is less prominent. */
static void put_heading(const struct html_page *p, struct buf *out)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct html_recording *r = &p->recording[i];

		buf_addstr(out, i ? " <span class=soft>beside</span> " : "");
		text_markup(out, input_name(r->path));
		if (r->host && r->host[0])
			html_put(out, " <span class=\"soft host\" title=\"{}\">({})</span>", r->host, r->host);
	}
}

/* Each line as an item of a list. */
static void put_lines(struct buf *out, const char *lines)
{
	while (*lines) {
		size_t len = strcspn(lines, "\n");
		SCOPED(scoped_free) char *line = strndup(lines, len);

		out->err = line ? out->err : -ENOMEM;
		html_put(out, "<li>{}</li>", line ? line : "");
		lines += len + (lines[len] == '\n');
	}
}

static void put_note(struct buf *out, const char *about, struct buf *lines)
{
	if (!lines->len)
		return;
	html_put(out, "<div class=note role=note><strong>{}</strong><ul>", about);
	put_lines(out, buf_str(lines));
	buf_addstr(out, "</ul></div>\n");
}

static void put_notes(const struct html_page *p, struct buf *out)
{
	struct buf reduced = p->reduced;

	buf_addstr(out, "<div id=notes>");
	put_note(out, "Reduced, so that the page is small enough", &reduced);
	for (size_t i = 0; i < p->n; i++) {
		struct buf notes = p->recording[i].result.notes;

		put_note(out, input_name(p->recording[i].path), &notes);
	}
	buf_addstr(out, "</div>\n");
}

static void put_each(const struct html_page *p, struct buf *out,
		     void (*put)(const struct html_page *, const struct html_recording *, struct buf *))
{
	if (p->n == 1) {
		put(p, p->recording, out);
		return;
	}
	buf_addstr(out, "<div class=each>\n");
	for (size_t i = 0; i < p->n; i++) {
		buf_printf(out, "<div><h3><i class=\"swatch s%zu\"></i>", i);
		html_put(out, "{}</h3>\n", input_name(p->recording[i].path));
		put(p, &p->recording[i], out);
		buf_addstr(out, "</div>\n");
	}
	buf_addstr(out, "</div>\n");
}

static void put_recorded_facts(const struct html_page *p, const struct html_recording *r, struct buf *out)
{
	buf_add(out, r->facts.data, r->facts.len);
}

static void put_files(const struct html_page *p, struct buf *out)
{
	for (size_t i = 0; i < p->n; i++) {
		buf_addstr(out, i ? " and " : "");
		text_markup(out, input_name(p->recording[i].path));
	}
}

static void put_generator(const struct html_page *p, struct buf *out)
{
	buf_addstr(out, "pmrep " PM_VERSION);
}

static void put_asset(struct buf *out, struct html_asset asset)
{
	buf_add(out, asset.data, asset.len);
}

static void put_style(const struct html_page *p, struct buf *out)
{
	put_asset(out, html_asset_uplot_style());
	buf_addch(out, '\n');
	put_asset(out, html_asset_style());
}

static void put_script(const struct html_page *p, struct buf *out)
{
	put_asset(out, html_asset_script());
}

static void put_uplot(const struct html_page *p, struct buf *out)
{
	if (!html_asset_uplot_script().len)
		return;
	buf_addstr(out, "<script>");
	put_asset(out, html_asset_uplot_script());
	buf_addstr(out, "</script>");
}

static void put_notice(const struct html_page *p, struct buf *out)
{
	SCOPED(buf_release) struct buf text = BUF_INIT;

	if (!html_asset_uplot_script().len)
		return;
	put_asset(&text, html_asset_uplot_notice());
	html_put(out,
		 "<details><summary>Charts are drawn by uPlot, which is under this "
		 "licence</summary><pre>{}</pre></details>",
		 buf_str(&text));
}

/* Scripts and styles are allowed by their digests, and nothing else is: injected ones could not run. */
static void put_digest(struct buf *out, const char *hex)
{
	uint8_t digest[32];

	for (size_t i = 0; i < sizeof(digest); i++)
		sscanf(hex + 2 * i, "%2hhx", &digest[i]);
	buf_addstr(out, " 'sha256-");
	html_base64(out, digest, sizeof(digest));
	buf_addch(out, '\'');
}

static void put_policy(const struct html_page *p, struct buf *out)
{
	buf_addstr(out, "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; script-src");
	put_digest(out, PM_SCRIPT_SHA256);
	if (html_asset_uplot_script().len)
		put_digest(out, PM_UPLOT_SHA256);
	buf_addstr(out, "; style-src");
	put_digest(out, PM_STYLE_SHA256);
}

static void put_verdicts(const struct html_page *p, struct buf *out)
{
	if (!p->verdicts)
		return;
	buf_addstr(out, "<section id=verdicts aria-labelledby=verdicts-h><h2 id=verdicts-h>Verdicts</h2>\n");
	buf_add(out, p->verdicts->data, p->verdicts->len);
	buf_addstr(out, "</section>\n");
}

static void put_verdict_link(const struct html_page *p, struct buf *out)
{
	if (p->verdicts)
		buf_addstr(out, "<li><a href=\"#verdicts\">Verdicts</a></li>");
}

static const struct part {
	const char *name;
	void (*put)(const struct html_page *p, struct buf *out);
	/* Or for each recording; neither: the numbers, which are streamed. */
	void (*each)(const struct html_page *p, const struct html_recording *r, struct buf *out);
} parts[] = {
	{ "policy", put_policy },
	{ "generator", put_generator },
	{ "title", put_title },
	{ "heading", put_heading },
	{ "style", put_style },
	{ "identitylines", html_put_identity },
	{ "notes", put_notes },
	{ "glance", html_put_glance },
	{ "summary", .each = html_put_summary },
	{ "verdictlink", put_verdict_link },
	{ "verdicts", put_verdicts },
	{ "resolution", html_put_resolution },
	{ "incidents", .each = html_put_incidents },
	{ "events", .each = html_put_events },
	{ "metrics", .each = html_put_metrics },
	{ "facts", .each = put_recorded_facts },
	{ "files", put_files },
	{ "notice", put_notice },
	{ "data", put_data },
	{ "numbers", NULL },
	{ "uplot", put_uplot },
	{ "script", put_script },
};

int html_page_text(const struct html_page *p, struct buf *before, struct buf *after, struct error *e)
{
	struct html_asset page = html_asset_page();
	const char *at = page.data, *end = page.data + page.len;
	struct buf *out = before;

	buf_clear(before);
	buf_clear(after);
	while (at < end) {
		const char *mark = memmem(at, (size_t)(end - at), "{{", 2);
		size_t i = 0;

		buf_add(out, at, (size_t)((mark ? mark : end) - at));
		if (!mark)
			break;
		at = mark + 2;
		for (; i < sizeof(parts) / sizeof(*parts); i++) {
			size_t len = strlen(parts[i].name);

			if ((size_t)(end - at) > len + 2 && !memcmp(at, parts[i].name, len) &&
			    !memcmp(at + len, "}}", 2)) {
				at += len + 2;
				break;
			}
		}
		if (i == sizeof(parts) / sizeof(*parts))
			return error_set(e, EINVAL, "the page template has an unknown part");
		if (parts[i].each)
			put_each(p, out, parts[i].each);
		else if (parts[i].put)
			parts[i].put(p, out);
		else
			out = after;
	}
	return before->err || after->err ? error_sys(e, ENOMEM, "page") : 0;
}
