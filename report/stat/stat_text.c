/* What perf stat prints for people. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/memory.h"
#include "common/number.h"
#include "common/table.h"
#include "common/utf8.h"
#include "report/stat/stat.h"

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
static void end_line(struct buf *out)
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

static void put_metric(struct stat_sheet *s, const struct stat_metric *m)
{
	buf_addstr(s->text, " # ");
	put_number(s, m, m->width, m->own ? "-" : "nan", m->percent > 1 ? " %" : m->percent ? "%" : "");
	/* After instructions perf prints an extra blank. */
	if (m->width == 7 && m->precision == 2 && !m->percent)
		buf_addch(s->text, ' ');
	put_safe(s->text, m->unit, 0);
}

/* Below the line of its event, or, without one, where no event is printed. */
static void put_more(struct stat_sheet *s, uint32_t row, const struct stat_line *l, const struct stat_metric *m)
{
	put_place(s, &s->row[row], l ? l->now.nr : 1);
	buf_printf(s->text, "%*s", 18 + 1 + UNIT_WIDTH + 1 + NAME_WIDTH, "");
	put_metric(s, m);
	end_line(s->text);
}

static void put_line(struct stat_sheet *s, const struct stat_line *l)
{
	const struct stat_event *e = &s->event[l->event];
	const struct stat_row *row = &s->row[l->row];
	struct stat_metric metric[STAT_METRICS];
	size_t n = stat_shadow(s, l, metric), from;
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
		put_metric(s, &metric[i]);
	}
	/* How far the runs are apart, and of the time, how much it was counted: in columns of their own. */
	if (s->n_runs > 1 || shared)
		pad(s->text, from, (there ? METRIC_WIDTH : METRIC_NONE) + (color ? 9 : 0));
	if (there && s->n_runs > 1 && stat_spread_percent(&l->value) != 0)
		buf_printf(s->text, "  ( +-%6.2f%% )", stat_spread_percent(&l->value));
	if (shared)
		buf_printf(s->text, "  (%.2f%%)",
			   now->reason ? 0 : 100.0 * (double)now->running / (double)now->enabled);
	end_line(s->text);
	if (s->config->verbose && there) {
		put_place(s, row, now->nr);
		buf_addstr(s->text, "# ");
		put_safe(s->text, e->name, 0);
		buf_printf(s->text, ": %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", now->raw, now->enabled, now->running);
	}
	for (size_t i = 1; i < n && !stat_is_beside(s, e); i++)
		put_more(s, l->row, l, &metric[i]);
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
		end_line(s->text);
	}
	for (uint32_t row = 0; row < s->n_rows; row++) {
		put_place(s, &s->row[row], stat_counters_in(s, row));
		for (uint32_t i = 0; i < s->n_heads; i++) {
			struct stat_metric m;

			stat_shadow_cell(s, row, i, &m);
			put_number(s, &m, (int)utf8_count(buf_str(&head[i]), head[i].len), "-", "");
		}
		end_line(s->text);
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

void stat_put_ports(struct stat_sheet *s)
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

void stat_text(struct stat_sheet *s)
{
	bool interval = s->time[0], heads = !interval || (s->intervals - 1) % HEAD_EVERY == 0;

	if (interval && s->config->clear)
		buf_addstr(s->text, "\033[H\033[2J");
	if (interval && heads && !s->config->metric_only && !s->config->iostat) {
		buf_addstr(s->text, "#           time ");
		put_place_head(s);
		buf_printf(s->text, "%*s unit events", s->aggr == STAT_CGROUP ? 19 : 18, "counts");
		end_line(s->text);
	}
	if (!interval)
		put_head(s);
	if (s->config->iostat)
		stat_put_ports(s);
	else if (s->config->metric_only)
		put_only(s, heads);
	else
		stat_each_line(s, put_line, put_more);
	if (!interval)
		put_foot(s);
}
