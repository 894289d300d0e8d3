/*
 * pmrep html: a self-contained page about one recording or two, which needs nothing but a browser.
 *
 *   a sink of the pipeline -> struct html_recording, as large for any length -> the template of report/web
 */
#include "report/cmd_copy.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/memory.h"
#include "common/number.h"
#include "common/options_table.h"
#include "common/table.h"
#include "report/diff/diff.h"
#include "report/export/output.h"
#include "report/incident/incident.h"
#include "report/info/info.h"
#include "report/input/input.h"
#include "report/input/outfile.h"
#include "report/input/spool.h"
#include "report/machine/status.h"
#include "report/machine/value_out.h"
#include "report/pipeline/bins.h"
#include "report/pipeline/options_read.h"
#include "report/pipeline/pipeline.h"

#define HTML_RECORDINGS 2
#define HTML_EVENTS     5000 /* drawn and listed; more are counted */

struct html_event {
	enum pm_event_type type;
	double at_s, until_s; /* from the origin; until_s > at_s for a stretch that is lost */
	uint32_t cpu;         /* PM_NONE: none */
	char *text;           /* owned: what people read */
};

/* Lines of the head. */
enum html_fact { HOST, PRODUCT, PROCESSOR, TOPOLOGY, OS, RECORDED, COUNTED, LABELS, HISTORY, FACTS };
static const char *const fact_names[FACTS] = { "Host",     "Product", "Processor", "Size",   "System",
					       "Recorded", "Counted", "Labels",    "History" };

struct html_recording {
	char *path; /* owned: as the user calls it */
	struct bins bins;
	double interval_s;        /* the requested one; 0: none */
	struct html_event *event; /* owned */
	uint32_t n_events;
	uint64_t more_events;
	char *fact[FACTS]; /* owned; NULL: nothing is known */
	struct buf facts;  /* markup of all that info says */
	uint64_t lost_ticks;
	uint32_t n_refused; /* things that could not be recorded */
	struct incidents incidents;
	char *host; /* owned; "" if it is not recorded */
	struct pipeline_result result;
};

/* How series go into a page. */
struct html_form {
	uint32_t merge; /* so many buckets become one */
	uint32_t bytes; /* of a number: 1 or 2; 0: series are left out */
	bool band;      /* smallest and largest beside the mean */
};

struct html_page {
	const struct html_recording *recording;
	size_t n;
	uint64_t max_bytes;
	struct buf verdicts;        /* markup; empty: there are none */
	struct buf counts;          /* of verdicts: a sentence */
	struct html_form near, far; /* out: the form of the series; far.bytes 0: they were left out */
	uint32_t metrics, rows;     /* out: the most metrics that are drawn, and listed in the table of all */
	struct buf reduced;         /* out: lines that say what was reduced; empty: nothing */
};

/* What html_assets.S contains. */
#define ASSET(name) \
	extern const char html_##name##_begin[] __attribute__((visibility("hidden"))); \
	extern const char html_##name##_end[] __attribute__((visibility("hidden")));
ASSET(page)
ASSET(script)
ASSET(style)
/* Empty in a build without uPlot. */
ASSET(uplot_script)
ASSET(uplot_style)
ASSET(uplot_notice)
#define ASSET_LENGTH(name)   ((size_t)(html_##name##_end - html_##name##_begin))
#define PUT_ASSET(out, name) buf_add(out, html_##name##_begin, ASSET_LENGTH(name))

/* ---- text ---- */

/* In JSON these characters occur only in strings, so they may be escaped wherever they are. */
static void add_safe(struct buf *out, const struct buf *json)
{
	size_t from = 0;

	for (size_t i = 0; i < json->len; i++) {
		const uint8_t *p = json->data + i;
		bool line = *p == 0xe2 && i + 2 < json->len && p[1] == 0x80 && (p[2] == 0xa8 || p[2] == 0xa9);

		if (!line && *p != '<' && *p != '>' && *p != '&')
			continue;
		buf_add(out, json->data + from, i - from);
		buf_printf(out, "\\u%04x", line ? 0x2000u + (p[2] - 0x80u) : *p);
		i += line ? 2 : 0;
		from = i + 1;
	}
	buf_add(out, json->data + from, json->len - from);
	buf_carry(out, json);
}

/* A string with its quotes that can stand inside <script>: no '<', '>', '&', U+2028 or U+2029 is left in it. */
static void script_text(struct buf *out, const char *text)
{
	SCOPED(buf_release) struct buf plain = BUF_INIT;

	json_quote(&plain, text, strlen(text));
	add_safe(out, &plain);
}

/* Text of at most so many bytes, with a sign if there is more. */
static void put_cut(struct buf *out, const char *text, size_t most, void (*put)(struct buf *out, const char *text))
{
	SCOPED(buf_release) struct buf head = BUF_INIT;
	size_t len = strnlen(text, most + 1);

	if (len <= most) {
		put(out, text);
		return;
	}
	/* Never within a character. */
	for (len = most; len && ((unsigned char)text[len] & 0xc0) == 0x80;)
		len--;
	buf_add(&head, text, len);
	buf_addstr(&head, "\xe2\x80\xa6");
	put(out, buf_str(&head));
	buf_carry(out, &head);
}

/* As html_put(), but `put` writes the texts. */
static void put_formatted(struct buf *out, const char *format, va_list ap,
			  void (*put)(struct buf *out, const char *text))
{
	const char *end;

	for (; *format; format = end) {
		size_t plain = strcspn(format, "%");
		char one[16] = "", number[NUMBER_MAX];
		double v;

		buf_add(out, format, plain);
		format += plain;
		if (!*format)
			return;
		end = format + 1 + strcspn(format + 1, "sudfg%") + 1;
		memcpy(one, format, (size_t)(end - format));
		switch (end[-1]) {
		case 's':
			put_cut(out, va_arg(ap, const char *),
				one[1] == '.' ? strtoul(one + 2, NULL, 10) : SIZE_MAX - 1, put);
			break;
		case 'f':
		case 'g':
			v = va_arg(ap, double);
			if (v - v != 0)
				buf_addstr(out, "null");
			else if (!strcmp(one, "%g"))
				buf_add(out, number, number_double(number, v));
			else
				buf_printf(out, one, v);
			break;
		case '%':
			buf_addch(out, '%');
			break;
		default:
			if (one[1] == 'l')
				buf_printf(out, one, va_arg(ap, unsigned long long));
			else if (one[1] == 'z')
				buf_printf(out, one, va_arg(ap, size_t));
			else
				buf_printf(out, one, va_arg(ap, unsigned));
		}
	}
}

/* Formats like printf(), but texts become markup, of which %.300s shows at most 300 bytes and a sign that there is
 * more; %g is the shortest number, and numbers that are not finite are null. */
__attribute__((format(printf, 2, 3))) static void html_put(struct buf *out, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	put_formatted(out, format, ap, text_markup);
	va_end(ap);
}

/* The same for the data of the script. */
__attribute__((format(printf, 2, 3))) static void put_json(struct buf *out, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	put_formatted(out, format, ap, script_text);
	va_end(ap);
}

/* ---- base64 ---- */

static uint64_t base64_length(uint64_t len)
{
	return (len + 2) / 3 * 4;
}

/* Standard alphabet, padded, without line breaks: 4 bytes for every 3. */
static void put_base64(struct buf *out, const void *data, size_t len)
{
	static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char *to = output_room(out, (size_t)base64_length(len));
	const uint8_t *p = data;

	out->len += (size_t)base64_length(len);
	for (size_t i = 0; i < len; i += 3) {
		uint32_t v = (uint32_t)p[i] << 16 | (i + 1 < len ? (uint32_t)p[i + 1] << 8 : 0) |
			     (i + 2 < len ? p[i + 2] : 0);

		*to++ = digit[v >> 18];
		*to++ = digit[v >> 12 & 63];
		*to++ = i + 1 < len ? digit[v >> 6 & 63] : '=';
		*to++ = i + 2 < len ? digit[v & 63] : '=';
	}
}

/* ---- what a page takes from a recording ---- */

struct collect {
	struct sink sink;
	struct html_recording *r;
	const struct pipeline_config *config;
	struct sink *search; /* owned: finds incidents in the same numbers */
	/* Owned, by metric: what has bins; of that what is not shown; the others. */
	bool *charted, *few, *others;
	size_t n_sheets, n_charted; /* the others are in the last sheet, if it is one more */
	size_t damages;             /* that have become events */
	uint32_t placed_events;     /* whose times are seconds from the start */
};

static void html_recording_release(struct html_recording *r)
{
	incidents_release(&r->incidents);
	bins_release(&r->bins);
	for (uint32_t i = 0; i < r->n_events; i++)
		free(r->event[i].text);
	for (int i = 0; i < FACTS; i++)
		free(r->fact[i]);
	free(r->event);
	free(r->path);
	free(r->host);
	buf_release(&r->facts);
	pipeline_result_release(&r->result);
	*r = (struct html_recording){ 0 };
}

#define CHARTS 4 /* of an incident */

/* Whether an incident concerns the metric, which then has a chart although tables omit it by default. */
static bool is_of_incident(const struct html_recording *r, const char *metric)
{
	for (uint32_t i = 0; i < r->incidents.n; i++) {
		const struct incident *x = &r->incidents.incident[i];

		for (uint32_t k = 0, n = 0; k < x->n_series && n < CHARTS; k++) {
			if (!incident_names_first(x, k))
				continue;
			if (!strcmp(x->series[k].metric, metric))
				return true;
			n++;
		}
	}
	return false;
}

static void forget_plan(struct collect *c)
{
	free(c->charted);
	free(c->few);
	free(c->others);
}

/* Incidents are looked for in metrics that are not shown, too. */
static int plan(struct sink *sink, struct sink_plan *plan)
{
	static const struct sheet_config system_only = { .per = PM_SYSTEM, .summary = true, .summary_only = true };
	struct collect *c = (struct collect *)sink;
	const bool *wanted;
	bool any = false;
	int err = c->search->ops->plan(c->search, plan);

	if (err)
		return err;
	wanted = plan->sheet[0].shown;
	forget_plan(c);
	c->charted = memory_new(plan->binding->n_metrics, sizeof(*c->charted));
	c->few = memory_new(plan->binding->n_metrics, sizeof(*c->few));
	c->others = memory_new(plan->binding->n_metrics, sizeof(*c->others));
	for (size_t i = 0; i < plan->binding->n_metrics; i++) {
		c->charted[i] = plan->shown[i] || wanted[i];
		c->few[i] = !plan->shown[i];
		c->others[i] = !c->charted[i];
		any |= c->others[i];
	}
	c->n_charted = plan->n_sheets;
	for (size_t i = 0; i < c->n_charted; i++)
		plan->sheet[i].shown = c->charted;
	if (any)
		plan->sheet[plan->n_sheets++] = (struct sink_wish){ system_only, c->others };
	c->n_sheets = plan->n_sheets;
	return 0;
}

static int shape(struct sink *sink, const struct sheet *sheet, size_t n)
{
	struct collect *c = (struct collect *)sink;
	bool whole = c->config->since.kind == MOMENT_NONE && c->config->until.kind == MOMENT_NONE;

	bins_shape(&c->r->bins, sink, sheet, n, &(struct bins_view){ c->n_charted, c->few, whole });
	return c->search->ops->shape(c->search, sheet, c->n_charted);
}

static int intervals(struct sink *sink, const struct sheet *sheet, const struct interval *interval, size_t n)
{
	struct collect *c = (struct collect *)sink;

	bins_intervals(&c->r->bins, interval, n);
	return c->search->ops->intervals(c->search, sheet, interval, n);
}

static int totals(struct sink *sink, const struct sheet *sheet, const struct interval *interval, size_t n)
{
	struct collect *c = (struct collect *)sink;

	bins_totals(&c->r->bins, sheet, c->n_sheets, interval, n);
	return 0;
}

/* ---- events ---- */

/* Times are CLOCK_MONOTONIC until the end, when the origin is known. */
static void add_event(struct collect *c, enum pm_event_type type, uint64_t since_ns, uint64_t time_ns, uint32_t cpu,
		      char *text)
{
	struct html_recording *r = c->r;

	if (r->n_events == HTML_EVENTS) {
		r->more_events++;
		free(text);
		return;
	}
	memory_room(&r->event, r->n_events, sizeof(*r->event));
	r->event[r->n_events++] = (struct html_event){
		.type = type,
		.at_s = (double)since_ns,
		.until_s = (double)time_ns,
		.cpu = cpu,
		.text = text,
	};
}

static void event(struct sink *sink, const struct pm_event *e)
{
	struct collect *c = (struct collect *)sink;
	const struct pm_instance *instance = pm_model_instance(
		pm_reader_model(sink->reader), (uint32_t)pm_map_u64(&e->attrs, PM_EVENT_KEY_INSTANCE, PM_NONE));
	uint64_t since = pm_map_u64(&e->attrs, PM_EVENT_KEY_SINCE, e->time_ns);
	struct buf text = BUF_INIT;

	c->search->ops->event(c->search, e);
	/* Tasks end by the hundred. */
	if (e->type == PM_EVENT_GONE && instance && instance->kind == PM_TASK)
		return;
	event_text(e, &text);
	add_event(c, e->type, since < e->time_ns ? since : e->time_ns, e->time_ns,
		  (uint32_t)pm_map_u64(&e->attrs, PM_EVENT_KEY_CPU, PM_NONE), memory_checked(buf_detach(&text)));
}

/* ---- the end ---- */

/* Damage is a stretch without values, as lost ticks are. */
static void add_damage(struct collect *c)
{
	size_t n;
	const struct pm_damage *d = pm_reader_damage(c->sink.reader, &n);

	for (d += c->damages; c->damages < n; c->damages++, d++) {
		if (!d->from_ns || d->harmless)
			continue;
		add_event(c, PM_EVENT_LOST, d->from_ns, d->to_ns ? d->to_ns : d->from_ns, PM_NONE,
			  memory_format("damaged: %s", d->text));
	}
}

static int end(struct sink *sink)
{
	struct collect *c = (struct collect *)sink;
	struct html_recording *r = c->r;

	add_damage(c);
	/* Of several recordings in one file, the first defines the series. */
	if (!r->host)
		r->host = memory_text(pm_map_text(&pm_reader_model(sink->reader)->header, PM_HEADER_HOST, ""));
	for (; c->placed_events < r->n_events; c->placed_events++) {
		struct html_event *h = &r->event[c->placed_events];

		h->at_s = bins_at(&r->bins, (uint64_t)h->at_s);
		h->until_s = bins_at(&r->bins, (uint64_t)h->until_s);
	}
	bins_end(&r->bins);
	return c->search->ops->end(c->search);
}

static const struct sink_ops ops = {
	.roomy = true,
	.plan = plan,
	.shape = shape,
	.intervals = intervals,
	.totals = totals,
	.forgets = true,
	.event = event,
	.end = end,
};

/* Reads a recording, which is called `name`. `config` selects metrics and time. 0 or -errno with the text in *e;
 * release the recording in both cases. */
static int html_collect(struct html_recording *r, const char *path, const char *name,
			const struct pipeline_config *config, struct error *e)
{
	struct pipeline_config own = *config;
	struct collect c = { .sink.ops = &ops, .r = r, .config = config };
	SCOPED(pm_reader_scoped) struct pm_reader *reader = NULL;
	int err;

	*r = (struct html_recording){ .path = memory_text(name) };
	own.mode = PIPELINE_EACH;
	if ((err = input_open(&reader, path, false, e)))
		return err;
	err = incidents_begin(&r->incidents, &c.search, reader, path, e);
	if (!err)
		err = pipeline_run(&own, reader, &c.sink, &r->result, e);
	forget_plan(&c);
	bins_close(&r->bins);
	err = incidents_finish(&r->incidents, c.search, path, err, e);
	if (err && !strstr(e->text, path))
		error_prefix(e, "%s", path);
	for (uint32_t i = 0; i < r->bins.n_metrics; i++)
		r->bins.metric[i].charted |= is_of_incident(r, r->bins.metric[i].name);
	bins_sort(&r->bins);
	return err;
}

/* ---- what pmrep info says ---- */

#define ROWS_MOST 1000 /* per part: a large machine has very many one-time values */

struct facts {
	struct buf *out;
	bool in_cards;
};

/* Short parts are side by side, and open. */
static bool is_card(const char *title)
{
	static const char *const card[] = { "Recording", "Host and recorder", "Topology (online CPUs)", "Clocks" };

	for (size_t i = 0; i < sizeof(card) / sizeof(*card); i++)
		if (!strcmp(title, card[i]))
			return true;
	return false;
}

static void put_facts_row(struct buf *out, const struct info_part *part, const struct info_row *row)
{
	const char *what = privacy_name(row->privacy);

	buf_addstr(out, "<tr>");
	for (size_t i = 0; i < part->n; i++) {
		buf_addstr(out, !i ? "<th scope=row>" : part->column[i].right ? "<td class=n>" : "<td>");
		text_markup(out, row->cell[i]);
		if (what && i + 1 == part->n)
			buf_printf(out, " <span class=reveals title=\"reveals the %s\">%s</span>", what, what);
		buf_addstr(out, i ? "</td>" : "</th>");
	}
	buf_addstr(out, "</tr>\n");
}

static void put_facts(void *ctx, struct info_part *part)
{
	struct facts *f = ctx;
	bool card = is_card(part->title), open = card || !strcmp(part->title, "Sources");

	/* Events have a place of their own, where they can be clicked. */
	if (!part->n_rows || !strcmp(part->title, "Events"))
		return;
	if (card != f->in_cards)
		buf_addstr(f->out, card ? "<div class=cards>\n" : "</div>\n");
	f->in_cards = card;
	html_put(f->out, "<details class=\"facts%s\"%s><summary>%s", card ? " card" : "", open ? " open" : "",
		 part->title);
	if (!card)
		html_put(f->out, " <span class=count>%zu</span>", part->n_rows);
	html_put(f->out, "</summary><div class=scroll tabindex=0 role=group aria-label=\"%s\"><table class=facts>",
		 part->title);
	for (size_t i = 0; i < part->n && part->column[0].name[0]; i++)
		buf_printf(f->out, "%s<th scope=col%s>%s</th>%s", i ? "" : "<thead><tr>",
			   part->column[i].right ? " class=n" : "", part->column[i].name,
			   i + 1 < part->n ? "" : "</tr></thead>");
	buf_addstr(f->out, "<tbody>\n");
	for (size_t i = 0; i < part->n_rows && i < ROWS_MOST; i++)
		put_facts_row(f->out, part, &part->row[i]);
	buf_addstr(f->out, "</tbody></table></div>");
	if (part->n_rows > ROWS_MOST)
		html_put(f->out, "<p class=hint>%zu more: pmrep info --all has them.</p>", part->n_rows - ROWS_MOST);
	buf_addstr(f->out, "</details>\n");
}

/* ---- the head ---- */

/* Has the line, unless it is empty. */
static void add(struct html_recording *r, enum html_fact fact, struct buf *value)
{
	memory_whole(value);
	if (value->len)
		r->fact[fact] = memory_checked(buf_detach(value));
}

static void add_plain(struct html_recording *r, const struct pm_model *m, uint32_t key, enum html_fact fact)
{
	const struct pm_value *v = pm_map_get(&m->header, key);
	struct buf text = BUF_INIT;

	if (v)
		value_text(v, &text);
	add(r, fact, &text);
}

static const char *word(const struct pm_model *m, uint32_t key)
{
	return pm_map_text(&m->header, key, "");
}

static void add_machine(struct html_recording *r, const struct pm_model *m)
{
	uint64_t memory = pm_map_u64(&m->header, PM_HEADER_MEMORY, 0);
	struct topology_counts c = topology_count(&m->topology);
	struct buf text = BUF_INIT;

	buf_addstr(&text, word(m, word(m, PM_HEADER_CPU_MODEL)[0] ? PM_HEADER_CPU_MODEL : PM_HEADER_ARCH));
	add(r, PROCESSOR, &text);
	topology_put(c, &text);
	if (c.offline)
		buf_printf(&text, "%s%u offline CPU%s", text.len ? ", " : "", c.offline, plural(c.offline));
	if (memory)
		buf_printf(&text, "%s%.1f GB of memory", text.len ? ", " : "", (double)memory / 1e9);
	add(r, TOPOLOGY, &text);
	buf_addstr(&text, word(m, PM_HEADER_OS));
	if (word(m, PM_HEADER_KERNEL)[0])
		buf_printf(&text, "%sLinux %s", text.len ? ", " : "", word(m, PM_HEADER_KERNEL));
	if (word(m, PM_HEADER_HYPERVISOR)[0])
		buf_printf(&text, "%sguest of %s", text.len ? ", " : "", word(m, PM_HEADER_HYPERVISOR));
	add(r, OS, &text);
}

static void add_when(struct html_recording *r, const struct pm_model *m)
{
	uint64_t interval = pm_map_u64(&m->header, PM_HEADER_INTERVAL, 0);
	struct buf text = BUF_INIT;
	char when[64];

	if (r->bins.start_wall_ns > 0) {
		when[number_time(when, (uint64_t)r->bins.start_wall_ns / 1000000000 * 1000000000, 0)] = '\0';
		/* 2026-01-31T12:00:00Z, for people. */
		buf_printf(&text, "%.10s %.8s UTC, ", when, when + 11);
	}
	buf_printf(&text, "%.3f s in %llu interval%s", r->bins.duration_s, (unsigned long long)r->result.intervals,
		   plural(r->result.intervals));
	if (interval)
		html_put(&text, interval < 1000000000 ? " of %g ms" : " of %g s",
			 (double)interval / (interval < 1000000000 ? 1e6 : 1e9));
	add(r, RECORDED, &text);
}

/* What was counted, and how a command ended. */
static void add_target(struct html_recording *r, const struct pm_model *m, const struct scan *s)
{
	const struct pm_value *arguments = pm_map_get(&m->header, PM_HEADER_ARGUMENTS);
	const char *target = word(m, PM_HEADER_TARGET), *command = word(m, PM_HEADER_COMMAND);
	struct buf text = BUF_INIT;
	uint64_t signal = 0, status = 0;
	unsigned runs = 0, failed = 0;

	buf_addstr(&text, !strcmp(target, "system") ? "the whole system" : target);
	if (command[0])
		buf_printf(&text, "%s%s", text.len ? ": " : "", command);
	for (uint32_t i = 0; arguments && arguments->kind == PM_VALUE_ARRAY && i < arguments->array.n; i++) {
		buf_addch(&text, ' ');
		value_text(&arguments->array.item[i], &text);
	}
	for (uint32_t i = 0; i < s->n_events; i++) {
		if (s->event[i].type != PM_EVENT_CHILD_EXIT)
			continue;
		signal = pm_map_u64(&s->event[i].attrs, PM_EVENT_KEY_SIGNAL, 0);
		status = pm_map_u64(&s->event[i].attrs, PM_EVENT_KEY_EXIT, 0);
		failed += signal || status;
		runs++;
	}
	if (runs > 1 && failed)
		buf_printf(&text, ", %u runs, %u of which failed", runs, failed);
	else if (runs > 1)
		buf_printf(&text, ", %u runs, each with exit status 0", runs);
	else if (runs)
		buf_printf(&text, signal ? ", killed by signal %llu" : ", exit status %llu",
			   (unsigned long long)(signal ? signal : status));
	add(r, COUNTED, &text);
}

/* What `pmrep info` prints for the whole file, in a second pass: identity, topology, decoded registers, quality,
 * refusals. 0 or -errno with the text in *e. */
static int html_facts(struct html_recording *r, const char *path, struct error *e)
{
	struct facts f = { .out = &r->facts };
	SCOPED(scan_release) struct scan s = { 0 };
	/* Everything was read before; what is damaged is read again, to say so. */
	int err = scan_path(&s, path, SCAN_TIMES | (r->result.damaged ? 0 : SCAN_INDEX), e);
	const struct pm_model *m;

	if (err)
		return err;
	m = pm_reader_model(s.reader);
	add_plain(r, m, PM_HEADER_HOST, HOST);
	add_plain(r, m, PM_HEADER_PRODUCT, PRODUCT);
	add_machine(r, m);
	add_when(r, m);
	add_target(r, m, &s);
	add_plain(r, m, PM_HEADER_LABELS, LABELS);
	add_plain(r, m, PM_HEADER_HISTORY, HISTORY);
	info_say(input_name(r->path), &s, true, put_facts, &f);
	if (f.in_cards)
		buf_addstr(&r->facts, "</div>\n");
	r->interval_s = (double)pm_map_u64(&m->header, PM_HEADER_INTERVAL, 0) / 1e9;
	r->lost_ticks = s.lost_ticks;
	r->n_refused = m->n_probes;
	memory_whole(&r->facts);
	return 0;
}

#define EVENT_TEXT ".300" /* bytes of one */

typedef void part_each(const struct html_page *p, const struct html_recording *r, struct buf *out);

/* ---- sparklines ---- */

#define SPARK_X      120 /* of its box */
#define SPARK_Y      28
#define SPARK_POINTS 60
#define SPARK_SPAN   0.1 /* of the size of values, from bottom to top: otherwise noise looks large */

/* The box that a line is drawn in: from the lowest to the highest value, and so many seconds wide. */
struct box {
	double low, high, seconds;
};

static double height_of(const struct box *b, double v)
{
	double span = fmax(b->high - b->low, SPARK_SPAN * fmax(fabs(b->low), fabs(b->high)));
	double share = span > 0 ? 0.5 + (v - (b->low + b->high) / 2) / span : 0;

	return 2 + (1 - fmin(fmax(share, 0), 1)) * (SPARK_Y - 4);
}

/* Some buckets as one. */
static struct bin column(const struct bins_set *set, const struct bins_series *s, uint32_t from, uint32_t end)
{
	struct bin all = { 0 };

	for (uint32_t k = from; k < end; k++)
		bin_join(&all, &bins_of(set, s)[k]);
	return all;
}

/* Means over time, in at most SPARK_POINTS columns, with gaps; then the range of the values, without which a short
 * peak would be invisible. */
static void put_line(const struct bins_set *set, const struct bins_series *s, const struct box *box, size_t which,
		     struct buf *out)
{
	uint32_t every = (set->used + SPARK_POINTS - 1) / SPARK_POINTS;
	double part = box->seconds > 0 ? SPARK_X / box->seconds * set->width_s : 1;
	SCOPED(buf_release) struct buf reach = BUF_INIT;
	bool pen = false;

	buf_printf(out, "<path class=\"line s%zu\" d=\"", which);
	for (uint32_t i = 0; i < set->used; i += every) {
		uint32_t end = i + every < set->used ? i + every : set->used;
		struct bin b = column(set, s, i, end);
		double x = (i + end) / 2.0 * part, top = height_of(box, (double)b.high);
		double bottom = height_of(box, (double)b.low);

		if (b.weight <= 0) {
			pen = false;
			continue;
		}
		buf_printf(out, "%c%.1f %.1f", pen ? 'L' : 'M', x, height_of(box, (double)b.sum / (double)b.weight));
		/* A single point becomes a visible dash. */
		if (!pen)
			buf_addstr(out, "h.1");
		if (bottom - top > 1)
			buf_printf(&reach, "M%.1f %.1fV%.1f", x, top, bottom);
		pen = true;
	}
	buf_addstr(out, "\"/>");
	if (reach.len)
		buf_printf(out, "<path class=\"reach s%zu\" d=\"%s\"/>", which, buf_str(&reach));
	buf_carry(out, &reach);
}

static void put_spark(const struct html_recording *r, const struct bins_series *const *series, size_t n,
		      struct buf *out)
{
	struct box box = { .low = (double)INFINITY, .high = -(double)INFINITY };

	for (size_t i = 0; i < n; i++) {
		if (!series[i])
			continue;
		box.low = fmin(box.low, series[i]->low);
		box.high = fmax(box.high, series[i]->high);
		box.seconds = fmax(box.seconds, r[i].bins.duration_s);
	}
	if (box.low >= 0 && box.low < box.high / 2)
		box.low = 0;
	buf_printf(out, "<svg class=spark viewBox=\"0 0 %d %d\" preserveAspectRatio=none aria-hidden=true>", SPARK_X,
		   SPARK_Y);
	for (size_t i = 0; i < n; i++)
		if (series[i])
			put_line(&r[i].bins.near, series[i], &box, i, out);
	buf_addstr(out, "</svg>");
}

/* The series of a metric for the whole system, else the first with a value; NULL: none. */
static const struct bins_series *main_series(const struct html_recording *r, uint32_t metric)
{
	const struct bins_series *found = NULL;

	for (uint32_t row = 0; row < r->bins.n_rows; row++) {
		const struct bins_series *s = bins_find(&r->bins.near, metric, row);

		if (s && s->present && r->bins.row[row].kind == PM_SYSTEM)
			return s;
		found = found || !s || !s->present ? found : s;
	}
	return found;
}

/* ---- tables, which need no script ---- */

#define MAINS_MOST  9    /* places of the summary */
#define SPARKS_MOST 1000 /* with more series, lines make a table too large */

/* A value as tables print it. */
static void put_value(struct buf *out, double v, unsigned precision)
{
	double size = fabs(v);
	char text[48];

	/* Large numbers have enough digits. */
	if (size >= 1e6)
		precision = 0;
	/* A small number keeps two significant digits. */
	while (size > 0 && precision < 6 && size * pow(10, precision) < 9.5)
		precision++;
	if (isnan(v))
		buf_addch(out, '-');
	else
		buf_add(out, text, number_fixed(text, v, precision));
}

static void put_cell(struct buf *out, double v, unsigned precision)
{
	buf_addstr(out, "<td class=n>");
	put_value(out, v, precision);
	buf_addstr(out, "</td>");
}

/* The unit to show: none for counts, because "1" would look like a number. */
static const char *html_unit(const char *unit)
{
	return strcmp(unit, "1") ? unit : "";
}

static unsigned precision_of(const struct bins_metric *m, const struct bins_series *s)
{
	double apart = s->high - s->low;
	unsigned precision = m->precision;

	if (!s->present || apart <= fabs(s->high) * 1e-6)
		return precision;
	while (precision < 4 && apart * pow(10, precision) < 2)
		precision++;
	return precision;
}

static void put_cells(struct buf *out, const struct bins_metric *m, const struct bins_series *s)
{
	const double v[] = { bins_mean(s), s->present ? s->low : (double)NAN, s->present ? s->high : (double)NAN };

	for (size_t i = 0; i < 3; i++)
		put_cell(out, v[i], precision_of(m, s));
}

/* ---- summary ---- */

static bool is_main(const struct bins_row *row)
{
	return row->kind == PM_SYSTEM || row->kind == PM_PACKAGE;
}

/* Whether a metric is drawn in this page. */
static bool is_drawn(const struct html_page *p, const struct html_recording *r, uint32_t metric)
{
	return metric < p->metrics && r->bins.metric[metric].charted;
}

/* The title is the whole name, which may be truncated, and what it means. */
static void put_summary_row(const struct html_recording *r, uint32_t metric, const uint32_t *column, uint32_t n,
			    bool spark, struct buf *out)
{
	const struct bins_metric *m = &r->bins.metric[metric];
	const struct bins_series *main = main_series(r, metric);
	size_t before = out->len;
	bool any = false;
	char word[16];

	html_put(out, "<tr><th scope=row title=\"%s%s%s\">%s</th><td class=unit>%s</td>", m->name,
		 m->help[0] ? ": " : "", m->help, m->display, html_unit(m->unit));
	if (spark) {
		buf_addstr(out, "<td class=trend>");
		if (main)
			put_spark(r, &main, 1, out);
		buf_addstr(out, "</td>");
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct bins_series *s = bins_find(&r->bins.near, metric, column[i]);

		any |= s && (s->present || s->missing);
		if (s && s->present)
			put_cells(out, m, s);
		else
			html_put(out, "<td class=missing colspan=3>%s</td>",
				 s && s->missing ? status_word(s->reason, STATUS_NOT_FINITE, word) : "-");
	}
	buf_addstr(out, "</tr>\n");
	if (!any)
		out->len = before;
}

static void put_summary(const struct html_page *p, const struct html_recording *r, struct buf *out)
{
	uint32_t column[MAINS_MOST], n = 0, more = 0;
	bool sparks = r->bins.near.n < SPARKS_MOST;

	if (!r->bins.near.n) {
		buf_addstr(out,
			   "<p class=empty>No metric of the system or its packages could be computed: their counters "
			   "were not recorded, or are lost.</p>\n");
		return;
	}
	for (uint32_t i = 0; i < r->bins.n_rows; i++) {
		if (is_main(&r->bins.row[i]) && n < MAINS_MOST)
			column[n++] = i;
		else
			more += is_main(&r->bins.row[i]);
	}
	buf_addstr(out,
		   "<div class=\"scroll tall\" tabindex=0 role=group aria-label=\"Summary\"><table class=numbers>"
		   "<thead><tr><th rowspan=2 scope=col>Metric</th><th rowspan=2 scope=col>Unit</th>");
	if (sparks)
		buf_addstr(out, "<th rowspan=2 scope=col class=trend>Over time</th>");
	for (uint32_t i = 0; i < n; i++)
		html_put(out, "<th colspan=3 scope=colgroup>%s</th>", r->bins.row[column[i]].label);
	buf_addstr(out, "</tr><tr>");
	for (uint32_t i = 0; i < n; i++)
		buf_addstr(out, "<th scope=col>mean</th><th scope=col>min</th><th scope=col>max</th>");
	buf_addstr(out, "</tr></thead><tbody>\n");
	for (uint32_t m = 0; m < r->bins.n_metrics; m++)
		if (is_drawn(p, r, m))
			put_summary_row(r, m, column, n, sparks, out);
	buf_addstr(out, "</tbody></table></div>\n");
	if (more)
		buf_printf(out, "<p class=hint>%u more package%s without a column here: see every metric.</p>\n",
			   more, plural(more));
}

/* ---- every metric ---- */

static void put_metric_row(const struct html_recording *r, const struct bins_series *s, struct buf *out)
{
	const struct bins_metric *m = &r->bins.metric[s->metric];
	char word[16];

	html_put(out, "<tr><th scope=row title=\"%s%s%s\"><code>%s</code></th><td>%s</td>", m->name,
		 m->help[0] ? ": " : "", m->help, m->name, r->bins.row[s->row].label);
	put_cells(out, m, s);
	html_put(out, "<td class=unit>%s</td><td class=n>%llu</td><td>", html_unit(m->unit),
		 (unsigned long long)s->present);
	if (s->missing)
		html_put(out, "%llu missing: %s", (unsigned long long)s->missing,
			 status_word(s->reason, STATUS_NOT_FINITE, word));
	if (s->partial)
		html_put(out, "%s%llu partial", s->missing ? "; " : "", (unsigned long long)s->partial);
	if (s->doubtful)
		html_put(out, "%s%llu doubtful", s->missing || s->partial ? "; " : "",
			 (unsigned long long)s->doubtful);
	buf_addstr(out, "</td></tr>\n");
}

static int by_name(const void *a, const void *b, void *ctx)
{
	const struct html_recording *r = ctx;
	const struct bins_series *x = *(const struct bins_series *const *)a,
				 *y = *(const struct bins_series *const *)b;
	int d = strcmp(r->bins.metric[x->metric].name, r->bins.metric[y->metric].name);

	return d ? d : (x->row > y->row) - (x->row < y->row);
}

static void put_metrics(const struct html_page *p, const struct html_recording *r, struct buf *out)
{
	const struct bins_series **all = memory_new((size_t)r->bins.near.n + r->bins.totals.n, sizeof(*all));
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->bins.near.n; i++)
		all[n++] = &r->bins.near.series[i];
	for (uint32_t i = 0; i < r->bins.totals.n; i++)
		all[n++] = &r->bins.totals.series[i];
	qsort_r(all, n, sizeof(struct bins_series *), by_name, (void *)(uintptr_t)r);
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

static void put_events(const struct html_page *p, const struct html_recording *r, struct buf *out)
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
		html_put(out, "</button></td><td>%" EVENT_TEXT "s</td></tr>\n", e->text);
	}
	buf_addstr(out, "</tbody></table></div>\n");
	if (r->more_events)
		buf_printf(out, "<p>%llu more events are not listed; pmrep info --all has them.</p>\n",
			   (unsigned long long)r->more_events);
}

/* ---- incidents ---- */

static void put_button(const struct html_recording *r, const struct incident *i, struct buf *out)
{
	/* A CPU among its equals has charts of its own. */
	const struct incident_series *cpu =
		i->n_series && i->kind == INCIDENT_PEER && i->series->kind == PM_CPU ? i->series : NULL;
	SCOPED(buf_release) struct buf when = BUF_INIT;
	uint32_t n = 0;

	buf_addstr(out, "<button type=button class=open data-metrics=\"");
	for (uint32_t k = 0; k < i->n_series && n < CHARTS; k++)
		if (incident_names_first(i, k))
			html_put(out, "%s%s", n++ ? "\t" : "", i->series[k].metric);
	incident_put_time(&r->incidents, i, &when);
	if (cpu)
		html_put(out, "\" data-row=\"%s\">%s</button>", cpu->label, buf_str(&when));
	else
		html_put(out, "\" data-from=%.6f data-to=%.6f>%s</button>", i->from_s, i->to_s, buf_str(&when));
}

static void put_incidents(const struct html_page *p, const struct html_recording *r, struct buf *out)
{
	const struct incidents *all = &r->incidents;
	char time[64];

	if (!all->n) {
		html_put(out, "<p class=empty>Nothing stands out among %u series.</p>\n", all->n_scanned);
		return;
	}
	buf_addstr(out,
		   "<p class=hint>What differs from the rest of the recording, in any metric at any level; what "
		   "happens at one time is one incident, the most surprising comes first. A click shows its time "
		   "and the charts of its metrics.</p>\n"
		   "<div class=scroll tabindex=0 role=group aria-label=\"Incidents\"><table class=incidents>"
		   "<thead><tr><th scope=col class=n>#</th><th scope=col>When</th><th scope=col>Time (UTC)</th>"
		   "<th scope=col>What</th></tr></thead><tbody>\n");
	for (uint32_t i = 0; i < all->n; i++) {
		const struct incident *x = &all->incident[i];
		uint64_t wall_ns = (uint64_t)(all->start_wall_ns + (int64_t)(x->from_s * 1e9));

		html_put(out, "<tr%s><td class=n>%u</td><td>", x->kind == INCIDENT_LOSS ? " class=bad" : "", i + 1);
		put_button(r, x, out);
		buf_addstr(out, "</td><td>");
		if (all->start_wall_ns && number_time(time, wall_ns, 0) >= 19)
			buf_printf(out, "<time datetime=\"%.19sZ\">%.10s %.8s</time>", time, time, time + 11);
		html_put(out, "</td><td class=what>%s</td></tr>\n", x->text);
	}
	buf_addstr(out, "</tbody></table></div>\n");
}

#define TILES 8

/* ---- identity ---- */

/* Side by side, with differences marked: whether two recordings are comparable is the first thing to know. */
static void put_pair(const struct html_page *p, struct buf *out)
{
	buf_addstr(out, "<div class=scroll tabindex=0 role=group aria-label=\"The two recordings\">"
			"<table class=pair><thead><tr><td></td>");
	for (size_t i = 0; i < p->n; i++)
		html_put(out, "<th scope=col><i class=\"swatch s%zu\"></i>%s</th>", i,
			 input_name(p->recording[i].path));
	buf_addstr(out, "</tr></thead><tbody>\n");
	for (int k = 0; k < FACTS; k++) {
		const char *a = p->recording[0].fact[k], *b = p->recording[1].fact[k];
		bool differs = k != RECORDED && (!a || !b || strcmp(a, b));

		if (!a && !b)
			continue;
		html_put(out, "<tr%s><th scope=row>%s</th><td>%s</td><td>%s", differs ? " class=differs" : "",
			 fact_names[k], a ? a : "-", b ? b : "-");
		buf_addstr(out, differs ? " <span class=mark>differs</span></td></tr>\n" : "</td></tr>\n");
	}
	buf_addstr(out, "</tbody></table></div>\n");
}

static void put_identity(const struct html_page *p, struct buf *out)
{
	const struct html_recording *r = p->recording;

	if (p->n > 1) {
		put_pair(p, out);
		return;
	}
	buf_addstr(out, "<dl class=identity>\n");
	for (int i = 0; i < FACTS; i++)
		if (r->fact[i])
			html_put(out, "<div><dt>%s</dt><dd title=\"%s\">%s</dd></div>\n", fact_names[i], r->fact[i],
				 r->fact[i]);
	buf_addstr(out, "</dl>\n");
}

/* ---- tiles ---- */

static bool find_metric(const struct html_recording *r, const char *name, uint32_t *metric)
{
	for (*metric = 0; *metric < r->bins.n_metrics; ++*metric)
		if (r->bins.metric[*metric].charted && !strcmp(r->bins.metric[*metric].name, name))
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
		if (find_metric(r, first[i], &metric) && main_series(r, metric))
			tile[n++] = metric;
	for (int moved = 1; moved >= 0; moved--)
		for (metric = 0; metric < r->bins.n_metrics && n < TILES; metric++) {
			const struct bins_series *s = r->bins.metric[metric].charted ? main_series(r, metric) : NULL;
			bool known = false;

			for (uint32_t i = 0; i < n; i++)
				known |= tile[i] == metric;
			if (s && !known && (s->high > s->low) == moved && n < TILES)
				tile[n++] = metric;
		}
	return n;
}

/* "147.5k": a tile has room for five characters. */
static void put_brief(struct buf *out, double v, unsigned precision)
{
	static const struct {
		double limit;
		const char *sign;
	} units[] = { { 1e15, "P" }, { 1e12, "T" }, { 1e9, "G" }, { 1e6, "M" }, { 1e3, "k" } };
	double size = fabs(v);

	for (size_t i = 0; i < 5 && size >= 1e5; i++) {
		double part = v / units[i].limit;

		/* 999,960,000 is 1.000G, not 1000M. */
		if (size < units[i].limit * .99995)
			continue;
		buf_printf(out, "%.*f%s", fabs(part) < 9.9995 ? 3 : fabs(part) < 99.995 ? 2 : 1, part, units[i].sign);
		return;
	}
	put_value(out, v, size >= 1000 ? 0 : precision);
}

static void put_tile(const struct html_page *p, uint32_t metric, struct buf *out)
{
	const struct html_recording *r = p->recording;
	const struct bins_metric *m = &r->bins.metric[metric];
	const struct bins_series *series[HTML_RECORDINGS] = { main_series(r, metric) };
	uint32_t other;

	if (p->n > 1 && find_metric(&r[1], m->name, &other))
		series[1] = main_series(&r[1], other);
	html_put(out, "<li class=tile><h3 title=\"%s\"><button type=button class=open data-metric=\"%s\">%s</button>",
		 m->help, m->name, m->display);
	if (r->bins.row[series[0]->row].kind != PM_SYSTEM)
		html_put(out, " <span class=unit>%s</span>", r->bins.row[series[0]->row].label);
	buf_addstr(out, "</h3><p class=big>");
	for (size_t i = 0; i < p->n; i++) {
		buf_printf(out, "%s<b%s>", i ? " <span class=unit>&rarr;</span> " : "", i ? " class=second" : "");
		if (series[i])
			put_brief(out, bins_mean(series[i]), precision_of(m, series[i]));
		else
			buf_addch(out, '-');
		buf_addstr(out, "</b>");
	}
	html_put(out, " <span class=unit>%s</span></p>", html_unit(m->unit));
	put_spark(p->recording, series, p->n, out);
	if (p->n == 1) {
		buf_addstr(out, "<p class=range>");
		put_brief(out, series[0]->low, precision_of(m, series[0]));
		buf_addstr(out, " to ");
		put_brief(out, series[0]->high, precision_of(m, series[0]));
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

/* ---- what is not whole ---- */

/* The number of series with intervals without a value, or with a part of it. */
static uint32_t with_gaps(const struct html_recording *r)
{
	const struct bins_set *set[] = { &r->bins.near, &r->bins.far, &r->bins.totals };
	uint32_t n = 0;

	for (size_t k = 0; k < 3; k++)
		for (uint32_t i = 0; i < set[k]->n; i++)
			n += set[k]->series[i].missing || set[k]->series[i].partial;
	return n;
}

#define WHICH(part) "<a href=\"#" part "\">which and why</a></li>\n"

static void put_missing(const struct html_page *p, const struct html_recording *r, struct buf *out)
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
		buf_printf(out, "<li>%u series lack values, or parts of them, at times: " WHICH("every"),
			   with_gaps(r));
	if (out->len == before)
		buf_addstr(out, "<li class=empty>Nothing: no tick was lost, and every series is complete.</li>\n");
	if (r->n_refused)
		buf_printf(out, "<li class=soft>%u thing%s could not be recorded: " WHICH("identity"), r->n_refused,
			   plural(r->n_refused));
	buf_addstr(out, "</ul>\n");
}

/* The name of a recording, with the color of its lines. */
static void put_name(const struct html_page *p, size_t i, struct buf *out)
{
	html_put(out, "<h3><i class=\"swatch s%zu\"></i>%s</h3>\n", i, input_name(p->recording[i].path));
}

static void put_about(const struct html_page *p, const char *title, part_each *put, struct buf *out)
{
	buf_printf(out, "<div><h2>%s</h2>\n", title);
	for (size_t i = 0; i < p->n; i++) {
		if (p->n > 1)
			put_name(p, i, out);
		put(p, &p->recording[i], out);
	}
	buf_addstr(out, "</div>\n");
}

static void put_glance(const struct html_page *p, struct buf *out)
{
	struct buf counts = p->counts;

	if (counts.len)
		buf_printf(out,
			   "<p class=counts><a href=\"#verdicts\">Verdicts</a> on the metrics that have a "
			   "better direction: %s.</p>\n",
			   buf_str(&counts));
	buf_addstr(out, "<div class=about id=incidents>\n");
	put_about(p, "Incidents", put_incidents, out);
	buf_addstr(out, "</div>\n");
	put_tiles(p, out);
	buf_addstr(out, "<div class=about>\n");
	put_about(p, "What is missing", put_missing, out);
	buf_addstr(out, "</div>\n");
}

/* ---- the numbers and what they belong to ---- */

/* Numbers of a series in that form. */
static uint32_t form_buckets(const struct bins_set *s, const struct html_form *f)
{
	return (s->used + f->merge - 1) / f->merge;
}

/* Bytes of numbers of the drawn series. */
static uint64_t set_bytes(const struct html_page *p, const struct bins_set *s, const struct html_form *f)
{
	uint64_t drawn = 0;

	for (uint32_t i = 0; i < s->n; i++)
		drawn += s->series[i].metric < p->metrics;
	return drawn * form_buckets(s, f) * f->bytes * (f->band ? 3 : 1);
}

static void put_set(const struct html_page *p, const struct bins_set *s, const struct html_form *f, uint64_t offset,
		    struct buf *out)
{
	struct html_form none = { .merge = 1, .bytes = 1 };
	bool left_out = !f->bytes;

	f = left_out ? &none : f;
	put_json(out, "{\"buckets\":%u,\"bytes\":%u,\"band\":", form_buckets(s, f), f->bytes);
	buf_addstr(out, f->band ? "true" : "false");
	put_json(out, ",\"offset\":%llu,\"width\":%g,\"list\":[", (unsigned long long)offset, s->width_s * f->merge);
	/* Seven digits are enough for drawing. */
	for (uint32_t i = 0, n = 0; i < s->n && !left_out; i++) {
		const struct bins_series *x = &s->series[i];

		if (x->metric < p->metrics)
			put_json(out, n++ ? ",[%u,%u,%.7g,%.7g,%.7g]" : "[%u,%u,%.7g,%.7g,%.7g]", x->metric, x->row,
				 x->present ? x->low : 0, x->present ? x->high : 0, bins_mean(x));
	}
	buf_addstr(out, "]}");
}

static long long number_or_none(uint32_t n)
{
	return n == PM_NONE ? -1 : (long long)n;
}

static void put_recording(const struct html_page *p, const struct html_recording *r, uint64_t *offset,
			  struct buf *out)
{
	put_json(out, "{\"name\":%s,\"start\":%g,\"duration\":%g,\"metrics\":[", input_name(r->path),
		 r->bins.start_wall_ns > 0 ? (double)(r->bins.start_wall_ns / 1000000) : (double)NAN,
		 r->bins.duration_s);
	for (uint32_t i = 0; i < r->bins.n_metrics && i < p->metrics; i++) {
		const struct bins_metric *m = &r->bins.metric[i];

		/* Those that are only in tables need only their place. */
		buf_addstr(out, i ? ",{" : "{");
		if (m->charted)
			put_json(out, "\"name\":%s,\"display\":%s,\"unit\":%s,\"help\":%s", m->name, m->display,
				 m->unit, m->help);
		buf_addch(out, '}');
	}
	buf_addstr(out, "],\"rows\":[");
	for (uint32_t i = 0; i < r->bins.n_rows; i++) {
		const struct bins_row *row = &r->bins.row[i];

		buf_addstr(out, i ? ",{" : "{");
		/* Without series, very many rows would only take room. */
		if (!row->far || p->far.bytes)
			put_json(out, "\"label\":%s,\"place\":%s,\"kind\":%s,", row->label, row->place,
				 pm_kind_name(row->kind));
		buf_addstr(out, row->far ? "\"far\":true" : "\"far\":false");
		if (!row->far || p->far.bytes)
			put_json(out, ",\"package\":%lld,\"cpu\":%lld", number_or_none(row->package),
				 number_or_none(row->number));
		buf_addch(out, '}');
	}
	buf_addstr(out, "],\"events\":[");
	for (uint32_t i = 0; i < r->n_events; i++) {
		const struct html_event *e = &r->event[i];
		const char *name = pm_event_name(e->type);

		buf_addstr(out, i ? ",[" : "[");
		put_json(out, "%.7g,%.7g,%s,%lld,%" EVENT_TEXT "s]", e->at_s, e->until_s, name ? name : "other",
			 number_or_none(e->cpu), e->text);
	}
	buf_addstr(out, "],\"near\":");
	put_set(p, &r->bins.near, &p->near, *offset, out);
	*offset += set_bytes(p, &r->bins.near, &p->near);
	buf_addstr(out, ",\"far\":");
	put_set(p, &r->bins.far, &p->far, *offset, out);
	*offset += set_bytes(p, &r->bins.far, &p->far);
	buf_addch(out, '}');
}

static void put_data(const struct html_page *p, struct buf *out)
{
	uint64_t offset = 0;

	buf_printf(out, "{\"reducedFar\":%s,\"recordings\":[", p->far.bytes ? "false" : "true");
	for (size_t i = 0; i < p->n; i++) {
		buf_addstr(out, i ? "," : "");
		put_recording(p, &p->recording[i], &offset, out);
	}
	buf_addstr(out, "]}");
}

/* ---- what pmrep diff says about two recordings ---- */

static unsigned digits_of(double v)
{
	return fabs(v) >= 1000 ? 0 : fabs(v) >= 100 ? 1 : 3;
}

/* As a percentage, or as a factor from ten on, which ratios of logarithms may miss by a little. */
static void put_percent(struct buf *out, double ratio)
{
	if (isfinite(ratio) && ratio > 9.99995)
		buf_printf(out, "&times;%.*f", ratio < 100 ? 1 : 0, ratio);
	else if (isfinite(ratio))
		buf_printf(out, "%+.2f %%", (ratio - 1) * 100);
	else
		buf_addch(out, '-');
}

static void put_result(struct buf *out, const struct diff_result *r, bool with_why)
{
	static const char *const class[] = {
		[VERDICT_REGRESSED] = " class=verdict-regressed",
		[VERDICT_IMPROVED] = " class=verdict-improved",
		[VERDICT_ABSENT] = "",
	};
	const char *mark = class[r->v.kind];

	html_put(out, "<tr><th scope=row>%s</th><td>%s</td><td%s>%s</td>", r->series->display,
		 r->series->where[0] ? r->series->where : "system", mark ? mark : "", verdict_name(r->v.kind));
	put_cell(out, r->v.base, digits_of(r->v.base));
	put_cell(out, r->v.fresh, digits_of(r->v.fresh));
	html_put(out, "<td class=unit>%s</td><td class=n>", html_unit(r->series->unit));
	put_percent(out, r->v.ratio);
	buf_addstr(out, "</td><td class=n>");
	if (isfinite(r->v.low) && isfinite(r->v.high)) {
		put_percent(out, r->v.low);
		buf_addstr(out, " to ");
		put_percent(out, r->v.high);
	} else {
		buf_addch(out, '-');
	}
	buf_addstr(out, "</td>");
	if (with_why)
		html_put(out, "<td class=why>%s</td>", r->why);
	buf_addstr(out, "</tr>\n");
}

static void put_differences(struct buf *out, const struct diff_environment *env)
{
	if (!env->n)
		return;
	buf_printf(out, "<div class=note role=note><strong>%s</strong><ul>",
		   env->meaningless ? "The machines are too different to compare: there are no verdicts" :
				      "The recordings differ in more than their numbers");
	for (size_t i = 0; i < env->n; i++)
		html_put(out, "<li>%s: %s and %s</li>", env->difference[i].name, env->difference[i].side[DIFF_BASE],
			 env->difference[i].side[DIFF_NEW]);
	buf_addstr(out, "</ul></div>\n");
}

/* "2 regressed, 1 improved, 14 the same": of all metrics with a better direction. */
static void put_counts(struct buf *out, const struct diff_results *results)
{
	static const struct {
		enum verdict_kind kind;
		const char *word;
	} row[] = {
		{ VERDICT_REGRESSED, "regressed" },       { VERDICT_CHANGED, "changed" },
		{ VERDICT_IMPROVED, "improved" },         { VERDICT_SAME, "the same" },
		{ VERDICT_INCONCLUSIVE, "inconclusive" }, { VERDICT_ABSENT, "on one side only" },
	};
	bool any = false;

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		if (!results->count[row[i].kind])
			continue;
		buf_printf(out, "%s%zu %s", any ? ", " : "", results->count[row[i].kind], row[i].word);
		any = true;
	}
}

static void put_results(struct buf *out, const struct diff_results *results, struct buf *counts)
{
	const char *why = diff_why_of_all(results);

	put_counts(counts, results);
	if (counts->len)
		buf_printf(out, "<p><strong>Of the metrics that have a better direction: %s.</strong></p>\n",
			   buf_str(counts));
	if (why)
		html_put(out, "<p>Of all of them: %s.</p>\n", why);
	buf_addstr(out, "<p class=hint>The first recording is the base. A change counts only if its interval lies "
			"beyond the metric's margin. A single run per side shows how values vary within it, "
			"but not how other runs would differ.</p>\n"
			"<div class=scroll tabindex=0 role=group aria-label=\"Verdicts\">"
			"<table class=\"numbers verdicts\">"
			"<thead><tr><th scope=col>Metric</th><th scope=col>Where</th><th scope=col>Verdict</th>"
			"<th scope=col class=n>Base</th><th scope=col class=n>New</th><th scope=col>Unit</th>"
			"<th scope=col class=n>Change</th>"
			"<th scope=col class=n>95 % interval</th>");
	buf_addstr(out, why ? "</tr></thead><tbody>\n" : "<th scope=col>Why</th></tr></thead><tbody>\n");
	for (size_t i = 0; i < results->n; i++)
		put_result(out, &results->result[i], !why);
	buf_addstr(out, "</tbody></table></div>\n");
}

static int compare(struct diff *d, struct buf *out, struct buf *counts, struct error *e)
{
	bool meaningless;
	int err = diff_find(d, e);

	meaningless = d->recordings.environment.meaningless;
	if (!err && !meaningless)
		err = diff_collect(d, e);
	if (err)
		return err;
	put_differences(out, &d->recordings.environment);
	if (!meaningless) {
		diff_judge(d);
		put_results(out, &d->results, counts);
	}
	memory_whole(out);
	return 0;
}

/* Of both recordings of a page, in these files; or why there is no verdict. */
static void find_verdicts(struct html_page *p, const struct spool *source, const struct selection *selection)
{
	struct diff d = DIFF_INIT;
	struct error e = { 0 };
	int err = 0;

	for (int s = 0; s < DIFF_SIDES; s++)
		options_append(&d.o.path[s], (char *)(uintptr_t)source[s].path);
	for (size_t i = 0; i < selection->n && !err; i++)
		err = selection_add(&d.o.selection, selection->word[i].verb, selection->word[i].word, &e);
	d.o.selection.has_show = selection->has_show;
	if (!err)
		err = compare(&d, &p->verdicts, &p->counts, &e);
	/* The page is useful without verdicts: it says why there are none. */
	if (err)
		html_put(&p->verdicts, "<p>No verdicts: %s.</p>\n", e.text[0] ? e.text : strerror(-err));
	diff_release(&d);
}

/* ---- parts by name ---- */

/* What the page is about. */
static void put_page_title(const struct html_page *p, struct buf *out)
{
	for (const struct html_recording *r = p->recording; r < p->recording + p->n; r++) {
		html_put(out, "%s%s", r > p->recording ? " beside " : "", input_name(r->path));
		if (r->host && r->host[0])
			html_put(out, " (%s)", r->host);
	}
}

/* The same as a heading: what accompanies the name is less prominent. */
static void put_heading(const struct html_page *p, struct buf *out)
{
	for (const struct html_recording *r = p->recording; r < p->recording + p->n; r++) {
		buf_addstr(out, r > p->recording ? " <span class=soft>beside</span> " : "");
		text_markup(out, input_name(r->path));
		if (r->host && r->host[0])
			html_put(out, " <span class=\"soft host\" title=\"%s\">(%s)</span>", r->host, r->host);
	}
}

/* A list with an item for each line. */
static void put_note(struct buf *out, const char *about, struct buf *lines)
{
	SCOPED(scoped_free) char *all = memory_text(buf_str(lines));
	char *rest = all;

	if (!*all)
		return;
	html_put(out, "<div class=note role=note><strong>%s</strong><ul>", about);
	for (const char *line; (line = strsep(&rest, "\n"));)
		if (*line)
			html_put(out, "<li>%s</li>", line);
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

static void put_each(const struct html_page *p, part_each *put, struct buf *out)
{
	if (p->n == 1) {
		put(p, p->recording, out);
		return;
	}
	buf_addstr(out, "<div class=each>\n");
	for (size_t i = 0; i < p->n; i++) {
		buf_addstr(out, "<div>");
		put_name(p, i, out);
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
	for (size_t i = 0; i < p->n; i++)
		html_put(out, "%s%s", i ? " and " : "", input_name(p->recording[i].path));
}

static void put_style(const struct html_page *p, struct buf *out)
{
	PUT_ASSET(out, uplot_style);
	buf_addch(out, '\n');
	PUT_ASSET(out, style);
}

static void put_uplot(const struct html_page *p, struct buf *out)
{
	if (!ASSET_LENGTH(uplot_script))
		return;
	buf_addstr(out, "<script>");
	PUT_ASSET(out, uplot_script);
	buf_addstr(out, "</script>");
}

static void put_notice(const struct html_page *p, struct buf *out)
{
	SCOPED(buf_release) struct buf text = BUF_INIT;

	PUT_ASSET(&text, uplot_notice);
	if (text.len)
		html_put(out,
			 "<details><summary>Charts are drawn by uPlot, which is under this "
			 "licence</summary><pre>%s</pre></details>",
			 buf_str(&text));
}

/* Scripts and styles are allowed by their digests, and nothing else is: injected ones could not run. */
static void put_digest(struct buf *out, const char *hex)
{
	uint8_t digest[32];

	for (size_t i = 0; i < sizeof(digest); i++)
		sscanf(hex + 2 * i, "%2hhx", &digest[i]);
	buf_addstr(out, " 'sha256-");
	put_base64(out, digest, sizeof(digest));
	buf_addch(out, '\'');
}

static void put_policy(const struct html_page *p, struct buf *out)
{
	buf_addstr(out, "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; script-src");
	put_digest(out, PM_SCRIPT_SHA256);
	if (ASSET_LENGTH(uplot_script))
		put_digest(out, PM_UPLOT_SHA256);
	buf_addstr(out, "; style-src");
	put_digest(out, PM_STYLE_SHA256);
}

static void put_verdicts(const struct html_page *p, struct buf *out)
{
	if (!p->verdicts.len)
		return;
	buf_addstr(out, "<section id=verdicts aria-labelledby=verdicts-h><h2 id=verdicts-h>Verdicts</h2>\n");
	buf_add(out, p->verdicts.data, p->verdicts.len);
	buf_addstr(out, "</section>\n");
}

static void put_verdict_link(const struct html_page *p, struct buf *out)
{
	if (p->verdicts.len)
		buf_addstr(out, "<li><a href=\"#verdicts\">Verdicts</a></li>");
}

static const char generator[] = "pmrep " PM_VERSION;

static const struct part {
	const char *name;
	void (*put)(const struct html_page *p, struct buf *out);
	part_each *each;       /* or for each recording, */
	const char *from, *to; /* or a text */
} parts[] = {
	{ "policy", put_policy },
	{ "generator", .from = generator, .to = generator + sizeof(generator) - 1 },
	{ "title", put_page_title },
	{ "heading", put_heading },
	{ "style", put_style },
	{ "identitylines", put_identity },
	{ "notes", put_notes },
	{ "glance", put_glance },
	{ "summary", .each = put_summary },
	{ "verdictlink", put_verdict_link },
	{ "verdicts", put_verdicts },
	{ "events", .each = put_events },
	{ "metrics", .each = put_metrics },
	{ "facts", .each = put_recorded_facts },
	{ "files", put_files },
	{ "notice", put_notice },
	{ "data", put_data },
	{ "uplot", put_uplot },
	{ "script", .from = html_script_begin, .to = html_script_end },
};

/* Appends the part of the page that its template calls {{name}}; false: there is none. */
static bool html_page_part(const struct html_page *p, const char *name, size_t len, struct buf *out)
{
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		if (strlen(parts[i].name) != len || memcmp(parts[i].name, name, len))
			continue;
		if (parts[i].each)
			put_each(p, parts[i].each, out);
		else if (parts[i].put)
			parts[i].put(p, out);
		else
			buf_add(out, parts[i].from, (size_t)(parts[i].to - parts[i].from));
		return true;
	}
	return false;
}

/* The page before the numbers, which are in base64, and after them. */
static void page_text(const struct html_page *p, struct buf *before, struct buf *after)
{
	const char *at = html_page_begin, *mark;
	struct buf *out = before;

	buf_clear(before);
	buf_clear(after);
	for (; (mark = memmem(at, (size_t)(html_page_end - at), "{{", 2)); at = mark + 2) {
		buf_add(out, at, (size_t)(mark - at));
		at = mark + 2;
		mark = memmem(at, (size_t)(html_page_end - at), "}}", 2);
		if (mark && mark - at == 7 && !memcmp(at, "numbers", 7))
			out = after;
		else if (!mark || !html_page_part(p, at, (size_t)(mark - at), out))
			abort(); /* the template is compiled in */
	}
	buf_add(out, at, (size_t)(html_page_end - at));
	memory_whole(before);
	memory_whole(after);
}

/* ---- the numbers ---- */

/* 0: missing; else from 1 on, rounded to the nearest. */
static inline uint32_t number_of(double v, const struct bins_series *s, double span, uint32_t most)
{
	double part = span > 0 ? (v - s->low) / span : 0;
	uint32_t n;

	part = part > 0 ? part < 1 ? part : 1 : 0;
	part *= most - 1;
	n = (uint32_t)part;
	return 1 + n + (part - n >= 0.5);
}

static inline void put(uint8_t *out, uint32_t n, uint32_t bytes)
{
	out[0] = (uint8_t)n;
	if (bytes == 2)
		out[1] = (uint8_t)(n >> 8);
}

/* Appends the numbers of a series: all means, then all lows, then all highs; 0 is missing, 1 the lowest value of the
 * series and the largest number that fits its highest. Little endian. */
static void pack(const struct bins_set *s, const struct bins_series *series, const struct html_form *f,
		 struct buf *out)
{
	uint32_t n = form_buckets(s, f), most = f->bytes == 1 ? UINT8_MAX : UINT16_MAX;
	size_t part = (size_t)n * f->bytes, len = part * (f->band ? 3 : 1);
	double span = series->high - series->low;
	uint8_t *to;

	to = (uint8_t *)output_room(out, len);
	for (uint32_t i = 0; i < n; i++, to += f->bytes) {
		struct bin b = { 0 };
		bool any;

		for (uint32_t k = i * f->merge; k < (i + 1) * f->merge && k < s->used; k++)
			bin_join(&b, &bins_of(s, series)[k]);
		any = b.weight != 0;
		put(to, any ? number_of((double)b.sum / (double)b.weight, series, span, most) : 0, f->bytes);
		if (!f->band)
			continue;
		put(to + part, any ? number_of((double)b.low, series, span, most) : 0, f->bytes);
		put(to + 2 * part, any ? number_of((double)b.high, series, span, most) : 0, f->bytes);
	}
	out->len += len;
}

/* ---- sizes ---- */

#define METRICS_LEAST 10 /* metrics that are drawn, and rows of the table, if no more fit */
#define ROWS_LEAST    20

static uint64_t numbers_bytes(const struct html_page *p)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < p->n; i++) {
		bytes += set_bytes(p, &p->recording[i].bins.near, &p->near);
		bytes += set_bytes(p, &p->recording[i].bins.far, &p->far);
	}
	return base64_length(bytes);
}

/* The most of each thing that a recording has; of distant series, all of them. */
struct sizes {
	uint32_t near_buckets, far_buckets, far_series, metrics, rows;
};

static void enlarge(uint32_t *most, uint32_t n)
{
	*most = n > *most ? n : *most;
}

static struct sizes sizes_of(const struct html_page *p)
{
	struct sizes s = { 0 };

	for (const struct html_recording *r = p->recording; r < p->recording + p->n; r++) {
		enlarge(&s.near_buckets, form_buckets(&r->bins.near, &p->near));
		enlarge(&s.far_buckets, form_buckets(&r->bins.far, &p->far));
		enlarge(&s.metrics, r->bins.n_metrics);
		enlarge(&s.rows, r->bins.near.n + r->bins.totals.n);
		s.far_series += r->bins.far.n;
	}
	return s;
}

/* Removes what is missed least; false: nothing is left to remove. */
static bool reduce(struct html_page *p)
{
	struct sizes most = sizes_of(p);
	bool far = p->far.bytes && most.far_series;

	if (far && p->far.bytes > 1)
		p->far.bytes = 1;
	else if (far && most.far_buckets > 128)
		p->far.merge *= 2;
	else if (most.near_buckets > 512)
		p->near.merge *= 2;
	else if (far && p->far.band)
		p->far.band = false;
	else if (far && most.far_buckets > 32)
		p->far.merge *= 2;
	else if (most.near_buckets > 64)
		p->near.merge *= 2;
	else if (far)
		p->far.bytes = 0;
	else if (most.near_buckets > 16)
		p->near.merge *= 2;
	else
		return false;
	return true;
}

/* Reduces metrics, and rows in the table of all, to `part` of them; false: there are no more than that. */
static bool reduce_text(struct html_page *p, double part, uint32_t metrics_least, uint32_t rows_least)
{
	struct sizes most = sizes_of(p);
	uint32_t metrics, rows, before = p->metrics, before_rows = p->rows;

	part = part > .9 ? .9 : part;
	metrics = (uint32_t)((p->metrics < most.metrics ? p->metrics : most.metrics) * part);
	rows = (uint32_t)((p->rows < most.rows ? p->rows : most.rows) * part);
	if (metrics >= metrics_least)
		p->metrics = metrics;
	if (rows >= rows_least)
		p->rows = rows;
	return p->metrics != before || p->rows != before_rows;
}

/* Whether a point is longer than an interval, as far as that is known. */
static bool is_coarse(const struct html_recording *r, const struct bins_set *s, const struct html_form *f)
{
	return s->n && (f->merge > 1 || (r->interval_s > 0 && s->width_s > r->interval_s * 1.01));
}

static void say_reduced(struct html_page *p)
{
	const struct html_recording *r = p->recording;
	struct sizes most = sizes_of(p);

	buf_clear(&p->reduced);
	if (p->metrics < most.metrics)
		buf_printf(&p->reduced, "%u of %u metrics are drawn; --show=METRIC,... draws others\n", p->metrics,
			   most.metrics);
	if (p->rows < most.rows)
		buf_printf(&p->reduced, "the table of every metric has %u of %u rows\n", p->rows, most.rows);
	if (is_coarse(r, &r->bins.near, &p->near))
		html_put(&p->reduced,
			 "the system, packages and devices: %g s in a point, with the lowest and highest value in "
			 "it\n",
			 r->bins.near.width_s * p->near.merge);
	if (!p->far.bytes && most.far_series)
		buf_addstr(&p->reduced, "single CPUs, cores and tasks: left out of charts and heat map\n");
	else if (most.far_series && (p->far.bytes == 1 || is_coarse(r, &r->bins.far, &p->far)))
		html_put(&p->reduced, "single CPUs, cores and tasks: %g s in a point, %s%s\n",
			 r->bins.far.width_s * p->far.merge,
			 p->far.band ? "with the lowest and highest value in it" : "means only",
			 p->far.bytes > 1 ? "" :
					    ", each in 254 steps from the lowest to the highest value of its series");
	for (r = p->recording; r < p->recording + p->n; r++)
		if (r->bins.near.left_out + r->bins.far.left_out)
			buf_printf(&p->reduced, "%s: %u series are not drawn\n", input_name(r->path),
				   r->bins.near.left_out + r->bins.far.left_out);
}

/* ---- writing ---- */

/* The first `n` bytes, three of which are four of base64. */
static int write_base64(struct outfile *out, struct buf *raw, size_t n)
{
	SCOPED(buf_release) struct buf text = BUF_INIT;

	put_base64(&text, raw->data, n);
	memory_whole(&text);
	if (!n)
		return 0;
	memmove(raw->data, raw->data + n, raw->len - n);
	raw->len -= n;
	return outfile_write(out, text.data, text.len);
}

static int write_numbers(const struct html_page *p, struct outfile *out)
{
	SCOPED(buf_release) struct buf raw = BUF_INIT;
	int err = 0;

	for (size_t i = 0; i < 2 * p->n; i++) {
		const struct bins_set *s = i % 2 ? &p->recording[i / 2].bins.far : &p->recording[i / 2].bins.near;
		const struct html_form *f = i % 2 ? &p->far : &p->near;

		for (uint32_t k = 0; k < s->n && f->bytes && !err; k++) {
			if (s->series[k].metric < p->metrics)
				pack(s, &s->series[k], f, &raw);
			if (raw.len > 49152)
				err = write_base64(out, &raw, raw.len / 3 * 3);
		}
	}
	return err ? err : write_base64(out, &raw, raw.len);
}

/* "120 kB", "9.5 MB", rounded up, so that the stated size suffices. */
static void put_size(struct buf *out, uint64_t bytes)
{
	buf_printf(out, bytes < 1000000 ? "%.0f kB" : "%.1f MB",
		   bytes < 1000000 ? (double)((bytes + 999) / 1000) : (double)((bytes + 99999) / 100000) / 10);
}

#define NOTES_ROOM 1024 /* for the lines that say what was reduced */

/* Leaves out what is missed least until the page is small enough. 0 or -errno with the text in *e. */
static int fit(struct html_page *p, struct buf *before, struct buf *after, struct error *e)
{
	SCOPED(buf_release) struct buf least = BUF_INIT;
	uint64_t words = p->max_bytes / 10 * 6, bytes;

	page_text(p, before, after);
	/* If text alone fills the page, less of it leaves room for numbers. */
	while (before->len + after->len > words &&
	       reduce_text(p, (double)words / (double)(before->len + after->len), 100, 500))
		page_text(p, before, after);
	while ((bytes = before->len + after->len + NOTES_ROOM + numbers_bytes(p)) > p->max_bytes) {
		bool had_far = p->far.bytes, less = reduce(p);

		if (!less && !reduce_text(p, .5, METRICS_LEAST, ROWS_LEAST)) {
			put_size(&least, bytes);
			return error_set(e, EFBIG,
					 "the page needs at least %s; allow that with --max-size, or choose metrics "
					 "with --show=METRIC,...",
					 buf_str(&least));
		}
		/* What is left out needs no names either. */
		if (!less || (had_far && !p->far.bytes))
			page_text(p, before, after);
	}
	return 0;
}

/* 0 or -errno with the text in *e; -EFBIG: the page cannot be that small. */
static int html_page_write(struct html_page *p, struct outfile *out, struct error *e)
{
	SCOPED(buf_release) struct buf before = BUF_INIT, after = BUF_INIT;
	int err;

	p->near = p->far = (struct html_form){ .merge = 1, .bytes = 2, .band = true };
	p->metrics = p->rows = UINT32_MAX;
	if ((err = fit(p, &before, &after, e)))
		return err;
	say_reduced(p);
	page_text(p, &before, &after);
	err = outfile_write(out, before.data, before.len);
	if (!err)
		err = write_numbers(p, out);
	if (!err)
		err = outfile_write(out, after.data, after.len);
	return err ? error_sys(e, -err, "%s", out->path) : 0;
}

/* ---- the command ---- */

static const char brief[] =
	"Usage: pmrep html [OPTION...] -o PAGE.html FILE [FILE]\n"
	"Make one page of a recording, or of two side by side, that any browser opens from disk: charts, CPUs\n"
	"over time, outliers, every metric, events, and the machine. The page loads nothing.\n\n" OPTIONS_LIST "\n"
	"Examples:\n"
	"  pmrep html -o report.html host.pmr\n"
	"  pmrep html --max-size=2M --show=util,freq -o small.html host.pmr\n"
	"  pmrep html -o compared.html before.pmr after.pmr\n";

#define MAX_SIZE_DEFAULT 10000000
/* Browsers limit strings to 512 MiB, and a page becomes more than one string. */
#define MAX_SIZE_MOST 256000000

struct html {
	struct cmd_copy copy; /* first */
	uint64_t max_bytes;
	struct pipeline_config config;
};

#define OPTIONS_INTO struct html
static const struct option_row rows[] = {
	CMD_COPY_OPTIONS,
	{ "max-size", 0, "SIZE", "size limit of the page (10M); the page says what was reduced", SIZE(max_bytes, 1) },
	{ "since", 0, "TIME",
	  "only from TIME on: seconds from the start, -SECONDS before the end, 2026-01-31T12:00:00Z or @SECONDS",
	  READ(config.since, read_moment) },
	{ "until", 0, "TIME", "only up to TIME", READ(config.until, read_moment) },
	{ "show", 's', "LIST", "chart these metrics, as for pmrep show", READ(config.selection, read_show) },
	{ "hide", 'H', "LIST", "do not chart these metrics", READ(config.selection, read_hide) },
	{ 0 },
};

static int operands(void *into, int n, char **operand, struct error *e)
{
	const struct html *h = into;

	if (n > HTML_RECORDINGS)
		return error_set(e, EINVAL, "html takes one recording, or two to compare; pmrep merge joins several");
	if (h->max_bytes > MAX_SIZE_MOST)
		return error_set(e, EINVAL, "--max-size: at most 256M; browsers cannot handle larger pages");
	return cmd_copy_files(into, n, operand, e);
}

static const struct options_spec spec = {
	.name = "pmrep html",
	.rows = rows,
	.operands = operands,
	.operands_doc = "FILE [FILE]",
	.brief = brief,
};

/* Errors name the file that the user knows. */
static void call_by_name(struct error *e, const struct spool *s)
{
	size_t len = strlen(s->path);
	struct error as_told = *e;

	if (s->fd >= 0 && !strncmp(e->text, s->path, len))
		snprintf(e->text, sizeof(e->text), "%s%s", s->name, as_told.text + len);
}

static int collect(struct html_recording *r, const struct html *h, const struct spool *s, struct error *e)
{
	int err = html_collect(r, s->path, s->name, &h->config, e);

	if (!err)
		err = html_facts(r, s->path, e);
	if (!err && !r->result.intervals)
		err = error_set(e, ENODATA, "%s: nothing to show: %s", s->name,
				r->result.snapshots ? "an interval needs two snapshots" : "no snapshot");
	if (err)
		call_by_name(e, s);
	return err;
}

static int run(void *input, const struct options_common *common)
{
	struct html *h = input;
	size_t n = (size_t)h->copy.files.n;
	struct html_recording recording[HTML_RECORDINGS] = { 0 };
	struct spool source[HTML_RECORDINGS] = { { .fd = -1 }, { .fd = -1 } };
	struct html_page page = { .recording = recording, .n = n, .max_bytes = h->max_bytes };
	struct outfile out = { .fd = -1 };
	SCOPED(buf_release) struct buf size = BUF_INIT;
	struct error e = { 0 };
	int err, judged, status = EXIT_GOOD;

	/* Open the output first: reading takes long, and a refusal should not. */
	err = outfile_open(&out, h->copy.output, h->copy.overwrite | OUTFILE_PRIVATE, h->copy.files.path, n, &e);
	for (size_t i = 0; i < n && !err; i++) {
		/* The input is read several times. */
		err = spool_open(&source[i], h->copy.files.path[i], SPOOL_TWICE, &e);
		if (!err)
			err = collect(&recording[i], h, &source[i], &e);
		if (err)
			continue;
		judged = cmd_judge(&recording[i].result, source[i].name, false);
		/* That a recording has no end yet while it is written is no news. */
		if (judged != EXIT_GOOD || !recording[i].result.cut_only)
			cmd_complain_lines(spec.name, source[i].name, &recording[i].result.notes);
		status = judged != EXIT_GOOD ? judged : status;
	}
	if (!err && n == 2)
		find_verdicts(&page, source, &h->config.selection);
	if (!err)
		err = html_page_write(&page, &out, &e);
	put_size(&size, out.bytes);
	err = outfile_end(&out, err, &e);
	if (err)
		status = cmd_fail(spec.name, &e);
	else
		cmd_complain(spec.name, "%s: %s, %zu recording%s",
			     strcmp(h->copy.output, "-") ? h->copy.output : "stdout", buf_str(&size), n, plural(n));
	if (!err && page.reduced.len)
		cmd_complain_lines(spec.name, "reduced", &page.reduced);
	buf_release(&page.reduced);
	buf_release(&page.verdicts);
	buf_release(&page.counts);
	for (size_t i = 0; i < HTML_RECORDINGS; i++) {
		html_recording_release(&recording[i]);
		spool_close(&source[i]);
	}
	return status;
}

int cmd_html(int argc, char **argv)
{
	struct html h = { .max_bytes = MAX_SIZE_DEFAULT, .config = { .bind = { .rate = true } } };
	int r = cmd_run(&spec, argc, argv, &h, run);

	selection_release(&h.config.selection);
	return r;
}
