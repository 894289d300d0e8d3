/* The lines of perf stat: their order, and what it prints for people, as CSV (-x) and JSON (-j). */
#include "report/stat/stat.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/json.h"
#include "common/memory.h"
#include "common/number.h"
#include "common/table.h"
#include "common/utf8.h"

typedef void put_line_fn(struct stat_sheet *s, const struct stat_line *l);
typedef void put_metric_fn(struct stat_sheet *s, uint32_t row, const struct stat_line *l,
			   const struct stat_metric *m);

/* Lines that say nothing: a place without the event, or a thread of the whole system that did not run. */
static bool skips(const struct stat_sheet *s, const struct stat_line *l)
{
	if (s->event[l->event].hidden)
		return true;
	if (s->aggr != STAT_THREAD || s->event[l->event].invalid)
		return false;
	return !l->n || (s->system_wide && (l->now.reason || !l->now.v));
}

/* Prints the metrics of a row that belong to no line. */
static void put_rest(struct stat_sheet *s, uint32_t row, put_metric_fn *put_metric)
{
	struct stat_metric m[STAT_METRICS];
	size_t n = stat_metrics(s, row, NULL, m);

	for (size_t i = 0; i < n; i++)
		put_metric(s, row, NULL, &m[i]);
}

/* Calls put_line() for each line to be printed, in order, and put_metric(), without a line, for each metric that
 * belongs to none: after the lines of a place, or after all lines where those of an event stand together. Stops where
 * the output fails, which keeps the error. */
static void each_line(struct stat_sheet *s, put_line_fn *put_line, put_metric_fn *put_metric)
{
	bool by_row = !stat_is_by_event(s);
	uint32_t row = stat_has_alone(s) ? 0 : s->n_rows;

	for (uint32_t i = 0; i < s->n_lines; i++) {
		const struct stat_line *l = &s->line[s->order[i]];

		while (by_row && row < l->row)
			put_rest(s, row++, put_metric);
		if (skips(s, l))
			continue;
		put_line(s, l);
		if (output_is_full(s->out) && output_flush(s->out))
			return;
	}
	while (row < s->n_rows)
		put_rest(s, row++, put_metric);
}

/* The threads of an event: those that counted most come first. */
static int by_value(const void *a, const void *b, void *sheet)
{
	const struct stat_sheet *s = sheet;
	const struct stat_line *x = &s->line[*(const uint32_t *)a], *y = &s->line[*(const uint32_t *)b];
	double vx = x->now.reason ? -1 : stat_value(&s->event[x->event], &x->now);
	double vy = y->now.reason ? -1 : stat_value(&s->event[y->event], &y->now);

	if (x->event != y->event || vx == vy)
		return array_order(x->event, y->event, x > y, y > x);
	return vx > vy ? -1 : 1;
}

/* The most counters that a line of the row adds up. */
static uint32_t counters_in(const struct stat_sheet *s, uint32_t row)
{
	uint32_t nr = 0;

	for (uint32_t e = 0; e < s->n_events; e++) {
		const struct stat_line *l = stat_line_at(s, row, e);

		nr = l && l->now.nr > nr ? l->now.nr : nr;
	}
	return nr;
}

/* ---- for people ---- */

#define HEAD_EVERY   25 /* intervals between two head lines */
#define NAME_WIDTH   32
#define UNIT_WIDTH   4
#define METRIC_WIDTH 35 /* from the '#' to the blanks before the spread */
#define METRIC_NONE  28 /* if nothing was counted */
#define ONLY_WIDTH   20 /* a column of --metric-only */

/* Pads to that many characters since `from`. */
static void pad(struct buf *out, size_t from, int width)
{
	size_t n = out->err ? (size_t)width : utf8_count((const char *)out->data + from, out->len - from);

	for (; n < (size_t)width; n++)
		buf_addch(out, ' ');
}

static void put_safe(struct buf *out, const char *text, int width)
{
	size_t before = out->len;

	text_escape(out, text, strlen(text));
	pad(out, before, width);
}

/* At most `len` bytes of the text, at the right of that many characters. */
static void put_right(struct buf *out, const char *text, size_t len, size_t width)
{
	SCOPED(buf_release) struct buf safe = BUF_INIT;

	text_escape(&safe, text, strnlen(text, len));
	memory_whole(&safe);
	for (size_t n = utf8_count(buf_str(&safe), safe.len); n < width; n++)
		buf_addch(out, ' ');
	buf_add(out, safe.data, safe.len);
	memory_whole(out);
}

/* No line ends in blanks. */
static void end_text(struct buf *out)
{
	while (out->len && out->data[out->len - 1] == ' ')
		out->len--;
	buf_addch(out, '\n');
}

/* With commas between thousands, whatever the locale says. */
static void grouped(char *out, double v, unsigned decimals, bool big)
{
	char plain[64];
	size_t n = number_fixed(plain, v, decimals), digits, at = 0;

	plain[n] = '\0';
	digits = strcspn(plain, ".e");
	for (size_t i = 0; i < n; i++) {
		size_t left = digits - i;

		if (big && i && i < digits && left % 3 == 0 && plain[i - 1] != '-')
			out[at++] = ',';
		out[at++] = plain[i];
	}
	out[at] = '\0';
}

static void put_place(struct stat_sheet *s, const struct stat_row *row, uint32_t nr)
{
	enum stat_aggr aggr = s->aggr;
	const char *dash;

	if (s->time[0])
		buf_printf(s->text, "%16s ", s->time);
	if (aggr == STAT_GLOBAL)
		return;
	dash = aggr == STAT_THREAD ? strrchr(row->label, '-') : NULL;
	if (dash) {
		put_right(s->text, row->label, (size_t)(dash - row->label), 16);
		buf_printf(s->text, "-%-*s", stat_levels[s->aggr].width - 17, dash + 1);
	} else {
		put_safe(s->text, row->label, stat_levels[s->aggr].width);
	}
	if (row->counted)
		buf_printf(s->text, " %4u", nr);
	if (row->counted || aggr == STAT_CGROUP)
		buf_addch(s->text, ' ');
}

/* The number of a metric, at the right of so many characters. */
static void put_number(struct stat_sheet *s, const struct stat_metric *m, int width, const char *none,
		       const char *after)
{
	bool there = !m->reason && isfinite(m->value), color = there && s->config->color && m->color;
	char text[64];

	text[there ? number_fixed(text, m->value, m->precision) : 0] = '\0';
	buf_printf(s->text, "%s%s%s%*s%s%s ", color ? "\033[" : "", color ? m->color : "", color ? "m" : "", width,
		   there ? text : none, after, color ? "\033[0m" : "");
}

static void text_metric(struct stat_sheet *s, const struct stat_metric *m)
{
	buf_addstr(s->text, " # ");
	put_number(s, m, m->width, m->own ? "-" : "nan", m->percent > 1 ? " %" : m->percent ? "%" : "");
	/* After instructions perf prints an extra blank. */
	if (m->width == 7 && m->precision == 2 && !m->percent)
		buf_addch(s->text, ' ');
	put_safe(s->text, m->unit, 0);
}

/* Below the line of its event, or, without one, where no event is printed. */
static void text_more(struct stat_sheet *s, uint32_t row, const struct stat_line *l, const struct stat_metric *m)
{
	put_place(s, &s->row[row], l ? l->now.nr : 1);
	buf_printf(s->text, "%*s", 18 + 1 + UNIT_WIDTH + 1 + NAME_WIDTH, "");
	text_metric(s, m);
	end_text(s->text);
}

static void text_line(struct stat_sheet *s, const struct stat_line *l)
{
	const struct stat_event *e = &s->event[l->event];
	const struct stat_row *row = &s->row[l->row];
	struct stat_metric metric[STAT_METRICS];
	size_t n = stat_metrics(s, l->row, l, metric), from;
	const struct stat_sum *now = &l->now;
	bool there = !now->reason && now->running, color, shared = stat_is_shared(now);
	char text[96];

	put_place(s, row, now->nr);
	if (there)
		grouped(text, stat_value(e, now), e->fraction ? 2 : 0, s->config->big_num);
	buf_printf(s->text, "%18s ", there ? text : stat_missing(now->reason));
	put_safe(s->text, there || !e->invalid ? e->unit : "", UNIT_WIDTH);
	buf_addch(s->text, ' ');
	put_safe(s->text, e->name, there || !e->cgroup ? NAME_WIDTH : NAME_WIDTH - 7);
	if (e->cgroup) {
		buf_addch(s->text, ' ');
		put_safe(s->text, e->cgroup, 0);
	}
	from = s->text->len;
	color = n && s->config->color && metric[0].color;
	for (size_t i = 0; i < (stat_is_beside(s, e) ? n : n ? 1 : 0); i++) {
		if (i)
			pad(s->text, from, METRIC_WIDTH * i);
		text_metric(s, &metric[i]);
	}
	/* How far the runs are apart, and of the time, how much it was counted: in columns of their own. */
	if (s->n_runs > 1 || shared)
		pad(s->text, from, (there ? METRIC_WIDTH : METRIC_NONE) + (color ? 9 : 0));
	if (there && s->n_runs > 1 && stat_spread_percent(&l->value) != 0)
		buf_printf(s->text, "  ( +-%6.2f%% )", stat_spread_percent(&l->value));
	if (shared)
		buf_printf(s->text, "  (%.2f%%)",
			   now->reason ? 0 : 100.0 * (double)now->running / (double)now->enabled);
	end_text(s->text);
	if (s->config->verbose && there) {
		put_place(s, row, now->nr);
		buf_addstr(s->text, "# ");
		put_safe(s->text, e->name, 0);
		buf_printf(s->text, ": %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", now->raw, now->enabled, now->running);
	}
	for (size_t i = 1; i < n && !stat_is_beside(s, e); i++)
		text_more(s, l->row, l, &metric[i]);
}

/* ---- heads and feet ---- */

static void put_place_head(struct stat_sheet *s)
{
	enum stat_aggr aggr = s->aggr;
	const char *word = stat_levels[aggr].word;

	if (aggr == STAT_THREAD)
		buf_printf(s->text, "%16s-%-*s", "comm", stat_levels[s->aggr].width - 17, "pid");
	else
		buf_printf(s->text, "%-*s", stat_levels[s->aggr].width, aggr == STAT_NONE ? "CPU" : word ? word : "");
	if (stat_levels[aggr].counted)
		buf_addstr(s->text, " cpus ");
}

static void put_command(struct stat_sheet *s)
{
	const struct pm_map *h = &s->places->model->header;
	const struct pm_value *args = pm_map_get(h, PM_HEADER_ARGUMENTS);

	buf_addch(s->text, '\'');
	put_safe(s->text, pm_map_text(h, PM_HEADER_COMMAND, "a command"), 0);
	for (uint32_t i = 0; args && args->kind == PM_VALUE_ARRAY && i < args->array.n; i++) {
		const struct pm_value *v = &args->array.item[i];

		buf_addch(s->text, ' ');
		if (v->kind == PM_VALUE_TEXT)
			text_escape(s->text, v->str.data, v->str.len);
	}
	buf_addch(s->text, '\'');
}

static void put_ids(struct stat_sheet *s, bool threads)
{
	const struct pm_model *m = s->places->model;
	const char *sep = threads ? "thread id '" : "process id '";
	uint64_t last = 0;

	for (uint32_t i = 0; i < m->n_instances; i++) {
		uint64_t id = pm_map_u64(&m->instance[i].attrs, threads ? PM_INSTANCE_TID : PM_INSTANCE_PID, 0);

		if (m->instance[i].kind != PM_TASK || m->instance[i].number != PM_NONE || !id || id == last)
			continue;
		buf_printf(s->text, "%s%" PRIu64, sep, id);
		last = id;
		sep = ",";
	}
	buf_addstr(s->text, last ? "'" : threads ? "threads" : "processes");
}

static void put_head(struct stat_sheet *s)
{
	const struct pm_map *h = &s->places->model->header;
	const char *target = pm_map_text(h, PM_HEADER_TARGET, "system"), *cpus = pm_map_text(h, PM_HEADER_CPUS, NULL);
	SCOPED(buf_release) struct buf programs = BUF_INIT;
	bool command = !strcmp(target, "command");

	buf_addstr(s->text, "\n Performance counter stats for ");
	if (stat_programs_list(s, &programs)) {
		buf_printf(s->text, "'BPF program(s) %s'", buf_str(&programs));
	} else if (!strcmp(target, "pid") || !strcmp(target, "tid")) {
		put_ids(s, target[0] == 't');
	} else if (!command && (s->config->cpus.n || cpus)) {
		buf_addstr(s->text, "'CPU(s) ");
		if (s->config->cpus.n)
			cpulist_print(&s->config->cpus, s->text);
		else
			put_safe(s->text, cpus, 0);
		buf_addch(s->text, '\'');
	} else if (command && pm_map_get(h, PM_HEADER_COMMAND)) {
		put_command(s);
	} else {
		buf_addstr(s->text, command ? "'a command'" : "'system wide'");
	}
	if (s->n_runs > 1)
		buf_printf(s->text, " (%u runs)", s->n_runs);
	buf_addstr(s->text, ":\n\n");
}

static void put_table(struct stat_sheet *s, int precision)
{
	double mean = s->wall.mean / 1e9;
	int indent = 16 - precision;

	buf_printf(s->text, "%*s# Table of individual measurements:\n", indent, "");
	for (uint32_t i = 0; i < s->n_runs; i++) {
		double run = s->run_wall[i] / 1e9;
		int marks = run > 0 ? (int)(fabs(run - mean) * 100 / run) / 5 + 1 : 1; /* one more for each 5 % */

		buf_printf(s->text, " %17.*f (%+.*f) ", precision, run, precision, run - mean);
		for (int k = 0; k < marks && k < 100; k++)
			buf_addch(s->text, '#');
		buf_addch(s->text, '\n');
	}
	buf_printf(s->text, "\n%*s# Final result:\n", indent, "");
}

static void put_foot(struct stat_sheet *s)
{
	if (s->n_events && !s->config->null)
		buf_addch(s->text, '\n');
	if (s->n_runs > 1) {
		double error = stat_spread_error(&s->wall) / 1e9;
		/* The decimals that three digits of the spread need. */
		int p = error > 0 ? (int)lround(ceil(-log10(error))) + 2 : 9, precision = p < 0 ? 0 : p > 9 ? 9 : p;

		if (s->config->table)
			put_table(s, precision);
		buf_printf(s->text, " %17.*f +- %.*f seconds time elapsed  ( +-%6.2f%% )\n\n", precision,
			   s->wall.mean / 1e9, precision, error, stat_spread_percent(&s->wall));
		return;
	}
	buf_printf(s->text, " %17.9f seconds time elapsed\n\n", s->seconds);
	/* A command that ran while other things were counted only limits the time. */
	if (s->user.n > 0 && !strcmp(pm_map_text(&s->places->model->header, PM_HEADER_TARGET, "command"), "command"))
		buf_printf(s->text, " %17.9f seconds user\n %17.9f seconds sys\n\n\n", s->user.mean / 1e9,
			   s->system.mean / 1e9);
}

/* ---- --metric-only ---- */

static void put_only(struct stat_sheet *s, bool heads)
{
	SCOPED(scoped_free) struct buf *head = memory_new(s->n_heads, sizeof(*head));

	for (uint32_t i = 0; i < s->n_heads; i++)
		put_right(&head[i], stat_head(s, i), SIZE_MAX, ONLY_WIDTH);
	if (heads) {
		if (s->time[0])
			buf_printf(s->text, "#%15s ", "time");
		put_place_head(s);
		for (uint32_t i = 0; i < s->n_heads; i++)
			buf_printf(s->text, "%s ", buf_str(&head[i]));
		end_text(s->text);
	}
	for (uint32_t row = 0; row < s->n_rows; row++) {
		put_place(s, &s->row[row], counters_in(s, row));
		for (uint32_t i = 0; i < s->n_heads; i++) {
			struct stat_metric m;

			stat_metric_at(s, row, i, &m);
			put_number(s, &m, (int)utf8_count(buf_str(&head[i]), head[i].len), "-", "");
		}
		end_text(s->text);
	}
	for (uint32_t i = 0; i < s->n_heads; i++)
		buf_release(&head[i]);
}

/* ---- --iostat: traffic of PCIe ports; each is a PMU on a die, as the option says ---- */

#define PORT_WIDTH 20              /* of a column */
#define MIB        (1024.0 * 1024) /* of four bytes each */

/* Events of a PMU are in the order of the heads. */
static void put_port(struct stat_sheet *s, const char *pmu, uint32_t die, const char *sep)
{
	char text[64];

	for (uint32_t e = 0; e < s->n_events; e++) {
		const struct stat_event *ev = &s->event[e];
		const struct stat_line *l = die < s->n_rows ? stat_line_at(s, die, e) : NULL;
		size_t n = 1;

		if (strcmp(pm_map_text(&ev->first->attrs, PM_COUNTER_PERF_PMU, ""), pmu))
			continue;
		if (l && !l->now.reason && l->now.running)
			n = number_fixed(text, stat_value(ev, &l->now) * 4 / MIB, 0);
		else
			text[0] = '-';
		buf_printf(s->text, "%*.*s%s", sep ? 0 : PORT_WIDTH, (int)n, text, sep ? sep : " ");
	}
	buf_addch(s->text, '\n');
}

static void put_ports(struct stat_sheet *s)
{
	static const char *const heads[] = { "Inbound Read(MB)", "Inbound Write(MB)", "Outbound Read(MB)",
					     "Outbound Write(MB)" };
	const char *sep = s->config->form == STAT_CSV ? s->config->separator : NULL, *at = s->config->iostat;
	char port[16], pmu[32];
	unsigned number, die;
	int len = 0;

	if (!s->time[0] ? !s->summing : s->intervals == 1 || (!sep && (s->intervals - 1) % HEAD_EVERY == 0)) {
		buf_addstr(s->text, !s->time[0] ? "" : sep ? " time," : " #          time ");
		buf_addstr(s->text, sep ? "port," : "   port         ");
		for (size_t i = 0; i < 4; i++)
			buf_printf(s->text, "%*s%s", sep ? 0 : PORT_WIDTH, heads[i], sep ? sep : " ");
		buf_addch(s->text, '\n');
	}
	for (; sscanf(at, "%15[^=]=%u.%u%n", port, &number, &die, &len) == 3; at += len + (at[len] == ',')) {
		snprintf(pmu, sizeof(pmu), "uncore_iio_%u", number);
		if (s->time[0])
			buf_printf(s->text, "%16s%s", s->time, sep ? sep : " ");
		buf_printf(s->text, "%s%s", port, sep ? sep : " ");
		put_port(s, pmu, die, sep);
	}
}

/* ---- the whole ---- */

static void print_text(struct stat_sheet *s)
{
	bool interval = s->time[0], heads = !interval || (s->intervals - 1) % HEAD_EVERY == 0;

	if (interval && s->config->clear)
		buf_addstr(s->text, "\033[H\033[2J");
	if (interval && heads && !s->config->metric_only && !s->config->iostat) {
		buf_addstr(s->text, "#           time ");
		put_place_head(s);
		buf_printf(s->text, "%*s unit events", s->aggr == STAT_CGROUP ? 19 : 18, "counts");
		end_text(s->text);
	}
	if (!interval)
		put_head(s);
	if (s->config->iostat)
		put_ports(s);
	else if (s->config->metric_only)
		put_only(s, heads);
	else
		each_line(s, text_line, text_more);
	if (!interval)
		put_foot(s);
}

/*
 * ---- CSV and JSON ----
 *
 * perf's fields in perf's order, with the blanks that perf writes. Fixed where perf varies: no locale, no leading
 * blanks, and a field of CSV that contains the separator is quoted.
 */

struct span {
	const char *text;
	size_t len;
};
#define SPAN(text) \
	{ \
		text, sizeof(text) - 1 \
	}

/* What a form writes around the numbers; a separator follows. */
struct notation {
	struct span open, close, nr, value[2], whole, spread[2], runtime, percent, no_value, no_unit[2];
	const char *none, *no_cell, *quote;
	unsigned decimals; /* of values with a fraction; 0: those of the event */
	bool keys;
};

static const struct notation csv = {
	.close = SPAN("\n"), .spread[1] = SPAN("%"), .none = "", .no_cell = "", .quote = ""
};
static const struct notation json = {
	.open = SPAN("{"),
	.close = SPAN("}\n"),
	.nr = SPAN("\"aggregate-number\" : "),
	.value = { SPAN("\"counter-value\" : \""), SPAN("\"") },
	.whole = SPAN(".000000"),
	.spread[0] = SPAN("\"variance\" : "),
	.runtime = SPAN("\"event-runtime\" : "),
	.percent = SPAN("\"pcnt-running\" : "),
	.no_value = SPAN("\"metric-value\" : 0.000000"),
	.no_unit = { SPAN("\"metric-unit\" : \""), SPAN("\"") },
	.none = "null",
	.no_cell = "none",
	.quote = "\"",
	.decimals = 6,
	.keys = true,
};

static const struct notation *notation_of(const struct stat_sheet *s)
{
	return s->config->form == STAT_JSON ? &json : &csv;
}

static const char *separator_of(const struct stat_sheet *s)
{
	return s->config->form == STAT_JSON ? ", " : s->config->separator;
}

static struct span separator_span(const struct stat_sheet *s)
{
	return (struct span){ separator_of(s), strlen(separator_of(s)) };
}

static char *put(char *at, const char *text, size_t len)
{
	if (len)
		memcpy(at, text, len);
	return at + len;
}

static char *put_span(char *at, struct span x)
{
	return put(at, x.text, x.len);
}

static char *put_buf(char *at, const struct buf *b)
{
	return b->len ? put(at, (const char *)b->data, b->len) : at;
}

static void put_key(const struct stat_sheet *s, struct buf *out, const char *key)
{
	if (!notation_of(s)->keys)
		return;
	json_quote(out, key, strlen(key));
	buf_addstr(out, " : ");
}

static void put_field(const struct stat_sheet *s, struct buf *out, const char *key, const char *text)
{
	put_key(s, out, key);
	if (notation_of(s)->keys)
		json_quote(out, text, strlen(text));
	else if (s->config->no_quotes)
		text_escape(out, text, strlen(text));
	else
		text_csv(out, text, s->config->separator);
	buf_addstr(out, separator_of(s));
}

static void put_fixed(struct buf *out, double v, unsigned decimals)
{
	char text[64];

	buf_add(out, text, number_fixed(text, v, decimals));
}

/* No separator stands at the end. */
static void end_line(struct stat_sheet *s)
{
	s->text->len -= strlen(separator_of(s));
	buf_add(s->text, notation_of(s)->close.text, notation_of(s)->close.len);
}

/* Time, "summary", and the place with the number of counters in it. */
static void put_prefix(struct stat_sheet *s, const struct stat_row *row, uint32_t nr)
{
	const struct notation *x = notation_of(s);
	struct span sep = separator_span(s);
	char *at = memory_checked(output_room(s->text, s->stamp.len + row->written.len + sep.len + 128));

	at = put_buf(put_buf(at, &s->stamp), &row->written);
	if (row->counted) {
		at = put_span(at, x->nr);
		at = put_span(at + number_u64(at, nr), sep);
	}
	s->text->len = (size_t)(at - (char *)s->text->data);
}

/* For readers of perf's CSV, a negative number or none is an empty field. */
static bool has_number(const struct stat_sheet *s, const struct stat_metric *m)
{
	return !m->reason && isfinite(m->value) && (notation_of(s)->keys || m->value >= 0);
}

static void put_metric(struct stat_sheet *s, const struct stat_metric *m)
{
	const struct notation *x = notation_of(s);

	put_key(s, s->text, "metric-value");
	if (has_number(s, m))
		put_fixed(s->text, m->value, x->decimals ? x->decimals : m->precision);
	else
		buf_addstr(s->text, x->none);
	buf_addstr(s->text, separator_of(s));
	put_field(s, s->text, "metric-unit", m->unit);
	if (m->threshold && x->keys)
		put_field(s, s->text, "metric-threshold", m->threshold);
}

/* A metric on a line of its own, with the empty fields of an event; `l`: below that line, or NULL. */
static void put_more(struct stat_sheet *s, uint32_t row, const struct stat_line *l, const struct stat_metric *m)
{
	bool cgroup = l && s->event[l->event].cgroup;

	put_prefix(s, &s->row[row], l ? l->now.nr : 1);
	for (int n = notation_of(s)->keys ? 0 : 5 + cgroup + (s->n_runs > 0); n > 0; n--)
		buf_addstr(s->text, s->config->separator);
	put_metric(s, m);
	end_line(s);
}

static char *put_value(const struct stat_sheet *s, char *at, const struct stat_event *e, const struct stat_sum *sum)
{
	const struct notation *x = notation_of(s);
	const char *text = stat_missing(sum->reason), *quote = "";

	if (sum->reason || !sum->running) {
		if (!x->keys && !s->config->no_quotes && strstr(text, s->config->separator))
			quote = "\"";
		at = put(at, quote, strlen(quote));
		at = put(at, text, strlen(text));
		return put(at, quote, strlen(quote));
	}
	if (e->mul == 1 && e->div == 1 && sum->rest == 0)
		return put_span(at + number_u64(at, sum->v), x->whole);
	return at + number_fixed(at, stat_value(e, sum), x->decimals ? x->decimals : e->fraction ? 2 : 0);
}

static void put_line(struct stat_sheet *s, const struct stat_line *l)
{
	const struct stat_event *e = &s->event[l->event];
	const struct stat_row *row = &s->row[l->row];
	const struct notation *x = notation_of(s);
	const struct stat_sum *now = &l->now;
	struct span sep = separator_span(s);
	struct stat_metric metric[STAT_METRICS];
	size_t n = stat_metrics(s, l->row, l, metric), i;
	bool there = !now->reason && now->running, beside = n > 1 && !x->keys && stat_is_beside(s, e);
	char *at;

	put_prefix(s, row, now->nr);
	at = memory_checked(output_room(s->text, e->written.len + row->cgroup.len + 8 * sep.len + 512));
	at = put_value(s, put_span(at, x->value[0]), e, now);
	at = put_buf(put_span(put_span(at, x->value[1]), sep), &e->written);
	if (!e->cgroup)
		at = put_buf(at, &row->cgroup);
	if (s->n_runs) {
		at = put_span(at, x->spread[0]);
		at += number_fixed(at, there ? stat_spread_percent(&l->value) : 0, 2);
		at = put_span(put_span(at, x->spread[1]), sep);
	}
	at = put_span(at, x->runtime);
	at = put_span(at + number_u64(at, there ? now->running : 0), sep);
	at = put_span(at, x->percent);
	at = put_span(put(at + number_u64(at, stat_percent(now)), ".00", 3), sep);
	if (!n) {
		const char *unfed = x->keys && there && e->unfed ? e->unfed : "";

		at = put_span(put_span(put_span(at, x->no_value), sep), x->no_unit[0]);
		at = put(at, unfed, strlen(unfed));
		at = put_span(put_span(at, x->no_unit[1]), x->close);
	}
	s->text->len = (size_t)(at - (char *)s->text->data);
	if (!n)
		return;
	for (i = 0; i < (beside ? n : 1); i++)
		put_metric(s, &metric[i]);
	end_line(s);
	for (; i < n; i++)
		put_more(s, l->row, l, &metric[i]);
}

/* --metric-only: a line or object per place. */
static void put_metrics(struct stat_sheet *s)
{
	const struct notation *x = notation_of(s);

	for (uint32_t row = 0; row < s->n_rows; row++) {
		put_prefix(s, &s->row[row], counters_in(s, row));
		buf_add(s->text, s->row[row].cgroup.data, s->row[row].cgroup.len);
		for (uint32_t i = 0; i < s->n_heads; i++) {
			struct stat_metric m;

			stat_metric_at(s, row, i, &m);
			put_key(s, s->text, stat_head(s, i));
			buf_addstr(s->text, x->quote);
			if (has_number(s, &m))
				put_fixed(s->text, m.value, m.precision);
			else
				buf_addstr(s->text, x->no_cell);
			buf_addstr(s->text, x->quote);
			buf_addstr(s->text, separator_of(s));
		}
		if (!x->keys) {
			buf_addch(s->text, '\n');
			continue;
		}
		if (!s->n_heads)
			put_field(s, s->text, "metric-value", x->no_cell);
		end_line(s);
	}
}

static void put_csv_head(struct stat_sheet *s, const char *head, const char *quotable)
{
	text_csv_name(s->text, head, quotable);
	buf_addstr(s->text, s->config->separator);
}

static void begin_fields(struct stat_sheet *s)
{
	const struct stat_level *level = &stat_levels[s->aggr];

	if (!s->config->metric_only || s->config->form != STAT_CSV)
		return;
	if (s->config->intervals)
		put_csv_head(s, "time", "");
	if (level->word)
		put_csv_head(s, s->aggr == STAT_THREAD ? "comm-pid" : level->word, "");
	if (level->counted)
		put_csv_head(s, "cpus", "");
	for (uint32_t i = 0; i < s->n_heads; i++)
		put_csv_head(s, stat_head(s, i), s->config->no_quotes ? "" : s->config->separator);
	buf_addch(s->text, '\n');
}

static void shape_fields(struct stat_sheet *s)
{
	bool keys = notation_of(s)->keys;

	/* perf's JSON says "0" where its other formats say "CPU0", and names cgroups last. */
	for (uint32_t i = 0; i < s->n_rows; i++) {
		struct stat_row *row = &s->row[i];
		bool cpu = s->aggr == STAT_NONE && row->place.kind == PM_CPU;
		struct buf *to = s->aggr == STAT_CGROUP && keys ? &row->cgroup : &row->written;

		buf_clear(to);
		if (s->aggr != STAT_GLOBAL)
			put_field(s, to, s->aggr == STAT_NONE && !cpu ? "core" : stat_levels[s->aggr].word,
				  row->label + (cpu && keys ? strlen("CPU") : 0));
		memory_whole(to);
	}
	for (uint32_t i = 0; i < s->n_events; i++) {
		struct stat_event *e = &s->event[i];

		buf_clear(&e->written);
		put_field(s, &e->written, "unit", e->unit);
		put_field(s, &e->written, "event", e->name);
		if (e->cgroup)
			put_field(s, &e->written, "cgroup", e->cgroup);
		memory_whole(&e->written);
	}
}

static void print_fields(struct stat_sheet *s)
{
	struct buf *stamp = &s->stamp;

	buf_clear(stamp);
	buf_addstr(stamp, notation_of(s)->keys ? "{" : "");
	if (s->time[0]) {
		put_key(s, stamp, "interval");
		buf_addstr(stamp, s->time);
		buf_addstr(stamp, separator_of(s));
	} else if (s->summing && !s->config->no_csv_summary && s->config->form == STAT_CSV) {
		buf_printf(stamp, "%16s%s", "summary", separator_of(s));
	}
	memory_whole(stamp);
	if (s->config->metric_only)
		put_metrics(s);
	else
		each_line(s, put_line, put_more);
}

void stat_print_shape(struct stat_sheet *s)
{
	shape_fields(s);
	if (s->begins)
		begin_fields(s);
}

void stat_print(struct stat_sheet *s)
{
	if (s->aggr == STAT_THREAD && s->n_lines)
		qsort_r(s->order, s->n_lines, sizeof(*s->order), by_value, s);
	if (s->config->form == STAT_TEXT)
		print_text(s);
	else if (s->config->iostat && s->config->form == STAT_CSV)
		put_ports(s);
	else
		print_fields(s);
}
