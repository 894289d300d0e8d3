/* Putting a page together, and making it small enough. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/number.h"
#include "report/html.h"
#include "report/html_text.h"

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* ---- the numbers and what they belong to ---- */

static void put_double(struct buf *out, double v)
{
	char text[NUMBER_MAX];

	if (v - v != 0)
		buf_addstr(out, "null");
	else
		buf_add(out, text, number_double(text, v));
}

/* Seven digits are enough for what is drawn. */
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

static void put_set(const struct html_set *s, const struct html_form *f, uint64_t offset, struct buf *out)
{
	struct html_form none = { .merge = 1, .bytes = 1 };
	bool left_out = !f->bytes;

	f = left_out ? &none : f;
	buf_printf(out, "{\"buckets\":%u,\"bytes\":%u,\"band\":%s,\"offset\":%llu,\"width\":", html_form_buckets(s, f),
		   f->bytes, f->band ? "true" : "false", (unsigned long long)offset);
	put_double(out, s->width_s * f->merge);
	buf_addstr(out, ",\"list\":[");
	for (uint32_t i = 0, n = 0; i < s->n && !left_out; i++) {
		const struct html_series *series = &s->series[i];

		buf_printf(out, "%s[%u,%u,", n++ ? "," : "", series->metric, series->row);
		put_short(out, series->present ? series->low : 0);
		buf_addch(out, ',');
		put_short(out, series->present ? series->high : 0);
		buf_addch(out, ',');
		put_short(out, series->present ? series->sum / series->weight : (double)__builtin_nan(""));
		buf_addch(out, ']');
	}
	buf_addstr(out, "]}");
}

static const char *event_word(const struct html_event *e)
{
	const char *name = pm_event_name(e->type);

	return name ? name : "other";
}

static void put_recording(const struct html_page *p, const struct html_recording *r, uint64_t *offset, struct buf *out)
{
	buf_addstr(out, "{\"name\":");
	html_json_text(out, base_name(r->path));
	buf_addstr(out, ",\"start\":");
	put_double(out, r->start_wall_ns > 0 ? (double)(r->start_wall_ns / 1000000) : (double)__builtin_nan(""));
	buf_addstr(out, ",\"duration\":");
	put_double(out, r->duration_s);
	buf_addstr(out, ",\"metrics\":[");
	for (uint32_t i = 0; i < r->n_metrics; i++) {
		const struct html_metric *m = &r->metric[i];

		/* Those that are in tables only need their place. */
		buf_addstr(out, i ? ",{\"name\":" : "{\"name\":");
		html_json_text(out, m->charted ? m->name : "");
		if (m->charted) {
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
		html_json_text(out, e->text);
		buf_addch(out, ']');
	}
	buf_addstr(out, "],\"near\":");
	put_set(&r->near, &p->near, *offset, out);
	*offset += html_form_bytes(&r->near, &p->near);
	buf_addstr(out, ",\"far\":");
	put_set(&r->far, &p->far, *offset, out);
	*offset += p->far.bytes ? html_form_bytes(&r->far, &p->far) : 0;
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
		html_text(out, base_name(r->path));
		if (r->host && r->host[0]) {
			buf_addstr(out, " (");
			html_text(out, r->host);
			buf_addch(out, ')');
		}
	}
}

static const char *fact_of(const struct html_recording *r, const char *name)
{
	for (uint32_t i = 0; i < r->n_facts; i++)
		if (!strcmp(r->fact[i].name, name))
			return r->fact[i].value;
	return NULL;
}

static void put_lead(const struct html_page *p, struct buf *out)
{
	static const char *const name[] = { "cpu_model", "CPUs", "kernel", "hypervisor", "duration", "start" };

	for (size_t i = 0; i < p->n; i++) {
		const struct html_recording *r = &p->recording[i];
		bool any = false;

		buf_addstr(out, "<p class=lead>");
		if (p->n > 1) {
			html_text(out, base_name(r->path));
			buf_addstr(out, ": ");
		}
		for (size_t k = 0; k < sizeof(name) / sizeof(*name); k++) {
			const char *value = fact_of(r, name[k]);

			if (!value)
				continue;
			buf_addstr(out, any ? " &middot; " : "");
			html_text(out, value);
			buf_addstr(out, !strcmp(name[k], "CPUs") ? " CPUs" : "");
			any = true;
		}
		buf_printf(out, "%s%llu intervals</p>\n", any ? " &middot; " : "", (unsigned long long)r->intervals);
	}
}

/* Each line as an item of a list. */
static void put_lines(struct buf *out, const char *lines)
{
	while (*lines) {
		size_t len = strcspn(lines, "\n");

		buf_addstr(out, "<li>");
		html_printf(out, "%.*s", (int)len, lines);
		buf_addstr(out, "</li>");
		lines += len + (lines[len] == '\n');
	}
}

static void put_note(struct buf *out, const char *about, struct buf *lines)
{
	if (!lines->len)
		return;
	buf_addstr(out, "<div class=note role=note><strong>");
	html_text(out, about);
	buf_addstr(out, "</strong><ul>");
	put_lines(out, buf_str(lines));
	buf_addstr(out, "</ul></div>\n");
}

static void put_notes(const struct html_page *p, struct buf *out)
{
	struct buf reduced = p->reduced;

	put_note(out, "Reduced, so that the page is small enough", &reduced);
	for (size_t i = 0; i < p->n; i++) {
		struct buf notes = p->recording[i].result.notes;

		put_note(out, base_name(p->recording[i].path), &notes);
	}
}

static void put_each(const struct html_page *p, struct buf *out, void (*put)(const struct html_recording *, struct buf *))
{
	for (size_t i = 0; i < p->n; i++) {
		if (p->n > 1) {
			buf_addstr(out, "<h3>");
			html_text(out, base_name(p->recording[i].path));
			buf_addstr(out, "</h3>\n");
		}
		put(&p->recording[i], out);
	}
}

static void put_summary(const struct html_page *p, struct buf *out)
{
	put_each(p, out, html_put_summary);
}

static void put_metrics(const struct html_page *p, struct buf *out)
{
	put_each(p, out, html_put_metrics);
}

static void put_outliers(const struct html_page *p, struct buf *out)
{
	put_each(p, out, html_put_outliers);
}

static void put_events(const struct html_page *p, struct buf *out)
{
	put_each(p, out, html_put_events);
}

static void put_facts(const struct html_page *p, struct buf *out)
{
	put_each(p, out, html_put_facts);
}

static void put_files(const struct html_page *p, struct buf *out)
{
	for (size_t i = 0; i < p->n; i++) {
		buf_addstr(out, i ? " and " : "");
		html_text(out, base_name(p->recording[i].path));
	}
}

static void put_generator(const struct html_page *p, struct buf *out)
{
	buf_addstr(out, "pmrep " PM_VERSION);
}

static void put_style(const struct html_page *p, struct buf *out)
{
	struct html_asset plot = html_asset_uplot_style(), own = html_asset_style();

	buf_add(out, plot.data, plot.len);
	buf_addch(out, '\n');
	buf_add(out, own.data, own.len);
}

static void put_script(const struct html_page *p, struct buf *out)
{
	struct html_asset own = html_asset_script();

	buf_add(out, own.data, own.len);
}

static void put_uplot(const struct html_page *p, struct buf *out)
{
	struct html_asset plot = html_asset_uplot_script();

	if (!plot.len)
		return;
	buf_addstr(out, "<script>");
	buf_add(out, plot.data, plot.len);
	buf_addstr(out, "</script>");
}

static void put_notice(const struct html_page *p, struct buf *out)
{
	struct html_asset notice = html_asset_uplot_notice();
	struct buf text = BUF_INIT;

	if (!html_asset_uplot_script().len)
		return;
	buf_add(&text, notice.data, notice.len);
	buf_addstr(out, "<details><summary>Charts are drawn by uPlot, which is under this licence</summary><pre>");
	html_text(out, buf_str(&text));
	buf_addstr(out, "</pre></details>");
	buf_release(&text);
}

/* A script or style is allowed by its digest, and nothing else is: what slipped into the page could not run. */
static void put_digest(struct buf *out, const struct buf *text)
{
	uint8_t digest[32];

	html_sha256(text->data, text->len, digest);
	buf_addstr(out, " 'sha256-");
	html_base64(out, digest, sizeof(digest));
	buf_addch(out, '\'');
}

static void put_policy(const struct html_page *p, struct buf *out)
{
	struct html_asset plot = html_asset_uplot_script();
	struct buf text = BUF_INIT;

	buf_addstr(out, "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; script-src");
	put_script(p, &text);
	put_digest(out, &text);
	buf_clear(&text);
	buf_add(&text, plot.data, plot.len);
	if (plot.len)
		put_digest(out, &text);
	buf_clear(&text);
	buf_addstr(out, "; style-src");
	put_style(p, &text);
	put_digest(out, &text);
	buf_release(&text);
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
	void (*put)(const struct html_page *p, struct buf *out); /* NULL: the numbers, which stream */
} parts[] = {
	{ "policy", put_policy },	{ "generator", put_generator }, { "title", put_title },
	{ "style", put_style },		{ "lead", put_lead },		{ "notes", put_notes },
	{ "summary", put_summary },	{ "verdictlink", put_verdict_link }, { "verdicts", put_verdicts },
	{ "outliers", put_outliers },	{ "events", put_events },	{ "metrics", put_metrics },
	{ "facts", put_facts },		{ "files", put_files },		{ "notice", put_notice },
	{ "data", put_data },		{ "numbers", NULL },		{ "uplot", put_uplot },
	{ "script", put_script },
};

/* Everything up to the numbers and behind them. */
static int put_page(const struct html_page *p, struct buf *before, struct buf *after, struct error *e)
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

			if ((size_t)(end - at) > len + 2 && !memcmp(at, parts[i].name, len) && !memcmp(at + len, "}}", 2)) {
				at += len + 2;
				break;
			}
		}
		if (i == sizeof(parts) / sizeof(*parts))
			return error_set(e, EINVAL, "the page has a part that nobody knows");
		if (parts[i].put)
			parts[i].put(p, out);
		else
			out = after;
	}
	return before->err || after->err ? error_sys(e, ENOMEM, "page") : 0;
}

/* ---- making it fit ---- */

static uint64_t numbers_bytes(const struct html_page *p)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < p->n; i++) {
		bytes += html_form_bytes(&p->recording[i].near, &p->near);
		bytes += p->far.bytes ? html_form_bytes(&p->recording[i].far, &p->far) : 0;
	}
	return html_base64_length(bytes);
}

static uint32_t most_buckets(const struct html_page *p, bool far)
{
	uint32_t most = 0;

	for (size_t i = 0; i < p->n; i++) {
		const struct html_recording *r = &p->recording[i];
		uint32_t n = far ? html_form_buckets(&r->far, &p->far) : html_form_buckets(&r->near, &p->near);

		most = n > most ? n : most;
	}
	return most;
}

static uint32_t far_series(const struct html_page *p)
{
	uint32_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		n += p->recording[i].far.n;
	return n;
}

/* The next thing that is missed least; false: nothing is left to take away. */
static bool reduce(struct html_page *p)
{
	bool far = p->far.bytes && far_series(p);

	if (far && p->far.bytes > 1)
		p->far.bytes = 1;
	else if (far && most_buckets(p, true) > 128)
		p->far.merge *= 2;
	else if (most_buckets(p, false) > 512)
		p->near.merge *= 2;
	else if (far && p->far.band)
		p->far.band = false;
	else if (far && most_buckets(p, true) > 32)
		p->far.merge *= 2;
	else if (most_buckets(p, false) > 64)
		p->near.merge *= 2;
	else if (far)
		p->far.bytes = 0;
	else if (most_buckets(p, false) > 16)
		p->near.merge *= 2;
	else
		return false;
	return true;
}

static void put_width(struct buf *out, double width_s)
{
	char text[NUMBER_MAX];

	buf_add(out, text, number_double(text, width_s));
	buf_addstr(out, " s");
}

static void say_reduced(struct html_page *p)
{
	const struct html_recording *r = p->recording;

	buf_clear(&p->reduced);
	if (p->near.merge > 1) {
		buf_addstr(&p->reduced, "the system, packages and devices: ");
		put_width(&p->reduced, r->near.width_s * p->near.merge);
		buf_addstr(&p->reduced, " in a point, with the lowest and highest value in it\n");
	}
	if (!p->far.bytes && far_series(p))
		buf_addstr(&p->reduced, "single CPUs, cores and tasks: left out of charts and heat map\n");
	else if (far_series(p) && (p->far.merge > 1 || !p->far.band)) {
		buf_addstr(&p->reduced, "single CPUs, cores and tasks: ");
		put_width(&p->reduced, r->far.width_s * p->far.merge);
		buf_addstr(&p->reduced, p->far.band ? " in a point, with the lowest and highest value in it\n" :
						      " in a point, means only\n");
	}
	for (size_t i = 0; i < p->n; i++)
		if (p->recording[i].near.left_out + p->recording[i].far.left_out)
			buf_printf(&p->reduced, "%s: %u series are not drawn\n", base_name(p->recording[i].path),
				   p->recording[i].near.left_out + p->recording[i].far.left_out);
}

/* ---- writing ---- */

struct pouring {
	struct outfile *out;
	struct buf raw, text;
	int err;
};

/* Base64 goes out in whole groups of three bytes; what is left waits for the next. */
static void pour(struct pouring *w, bool last)
{
	size_t n = last ? w->raw.len : w->raw.len / 3 * 3;

	if (w->err || (!last && w->raw.len < 49152))
		return;
	buf_clear(&w->text);
	html_base64(&w->text, w->raw.data, n);
	w->err = w->raw.err ? w->raw.err : w->text.err ? w->text.err : outfile_write(w->out, w->text.data, w->text.len);
	memmove(w->raw.data, w->raw.data + n, w->raw.len - n);
	w->raw.len -= n;
}

static void pour_set(struct pouring *w, const struct html_set *s, const struct html_form *f)
{
	for (uint32_t i = 0; i < s->n && f->bytes && !w->err; i++) {
		html_series_pack(s, &s->series[i], f, &w->raw);
		pour(w, false);
	}
}

static int write_all(const struct html_page *p, const struct buf *before, const struct buf *after, struct outfile *out,
		     struct error *e)
{
	struct pouring w = { .out = out };

	w.err = outfile_write(out, before->data, before->len);
	for (size_t i = 0; i < p->n && !w.err; i++) {
		pour_set(&w, &p->recording[i].near, &p->near);
		pour_set(&w, &p->recording[i].far, &p->far);
	}
	if (!w.err && w.raw.len)
		pour(&w, true);
	if (!w.err)
		w.err = outfile_write(out, after->data, after->len);
	buf_release(&w.raw);
	buf_release(&w.text);
	return w.err ? error_sys(e, -w.err, "%s", out->path) : 0;
}

static void put_megabytes(struct buf *out, uint64_t bytes)
{
	buf_printf(out, bytes < 1000000 ? "%.0f kB" : "%.1f MB", bytes < 1000000 ? (double)((bytes + 999) / 1000) :
		   (double)((bytes + 99999) / 100000) / 10);
}

#define NOTES_ROOM 1024 /* for the lines that say what was reduced */

int html_page_write(struct html_page *p, struct outfile *out, struct error *e)
{
	struct buf before = BUF_INIT, after = BUF_INIT, least = BUF_INIT;
	bool fits = false, more = true, had_far = true;
	int err;

	p->near = (struct html_form){ .merge = 1, .bytes = 2, .band = true };
	p->far = p->near;
	err = put_page(p, &before, &after, e);
	while (!err && more && !fits) {
		fits = before.len + after.len + NOTES_ROOM + numbers_bytes(p) <= p->max_bytes;
		more = fits || reduce(p);
		/* What is left out needs no names either. */
		if (had_far && !p->far.bytes)
			err = put_page(p, &before, &after, e);
		had_far = p->far.bytes;
	}
	if (!err && !fits) {
		put_megabytes(&least, before.len + after.len + numbers_bytes(p));
		err = error_set(e, EFBIG, "the page needs %s at least; --max-size allows it, or --show=METRIC,... makes it "
			       "smaller", buf_str(&least));
	}
	if (!err) {
		say_reduced(p);
		err = put_page(p, &before, &after, e);
	}
	if (!err)
		err = write_all(p, &before, &after, out, e);
	p->bytes = out->bytes;
	buf_release(&before);
	buf_release(&after);
	buf_release(&least);
	return err;
}
