/* -x: perf's fields in perf's order. Fixed where perf varies: no locale, no leading blanks, and a field that contains
 * the separator is quoted. */
#include <math.h>
#include <string.h>

#include "common/number.h"
#include "common/table.h"
#include "report/stat/stat.h"

static void add_field(const struct stat_sheet *s, struct buf *out, const char *text)
{
	if (s->config->no_quotes)
		text_escape(out, text, strlen(text));
	else
		text_csv(out, text, s->config->separator);
}

static void put_field(struct stat_sheet *s, const char *text)
{
	add_field(s, &s->out->text, text);
}

static void put_sep(struct stat_sheet *s, unsigned n)
{
	while (n--)
		buf_addstr(&s->out->text, s->config->separator);
}

/* Time, "summary", and the place with the number of counters in it. */
static void put_prefix(struct stat_sheet *s, const struct stat_row *row, uint32_t nr)
{
	struct buf *out = &s->out->text;
	char text[NUMBER_MAX];

	if (s->time[0]) {
		buf_addstr(out, s->time);
		put_sep(s, 1);
	} else if (s->summing && !s->config->no_csv_summary) {
		buf_printf(out, "%16s", "summary");
		put_sep(s, 1);
	}
	if (s->config->aggr == STAT_GLOBAL)
		return;
	put_field(s, row->label);
	put_sep(s, 1);
	if (!row->counted)
		return;
	buf_add(out, text, number_u64(text, nr));
	put_sep(s, 1);
}

static void put_fixed(struct stat_sheet *s, double v, unsigned decimals)
{
	char text[64];

	buf_add(&s->out->text, text, number_fixed(text, v, decimals));
}

/* For readers of perf's output, a negative number or none is an empty field. */
static void put_metric(struct stat_sheet *s, const struct stat_metric *m)
{
	if (!m->reason && isfinite(m->value) && m->value >= 0)
		put_fixed(s, m->value, m->precision);
	put_sep(s, 1);
	put_field(s, m->unit);
}

/* Writes what precedes the value, or stands between it and the run time. */
static void make_text(struct stat_sheet *s, const struct stat_line *l, bool after)
{
	const struct stat_event *e = &s->event[l->event];
	const char *sep = s->config->separator;
	struct buf *out = &s->text;

	if (!after && s->config->aggr != STAT_GLOBAL) {
		add_field(s, out, s->row[l->row].label);
		buf_addstr(out, sep);
	} else if (after) {
		buf_addstr(out, sep);
		add_field(s, out, e->unit);
		buf_addstr(out, sep);
		add_field(s, out, e->name);
		buf_addstr(out, sep);
		if (e->cgroup) {
			add_field(s, out, e->cgroup);
			buf_addstr(out, sep);
		}
	}
}

static char *put_number(char *at, const struct stat_event *e, const struct stat_sum *sum)
{
	if (e->mul == 1 && e->div == 1 && sum->rest == 0)
		return at + number_u64(at, sum->v);
	return at + number_fixed(at, stat_value(e, sum), e->fraction ? 2 : 0);
}

static char *put_missing(const struct stat_sheet *s, char *at, uint16_t reason, const char *sep)
{
	const char *text = stat_missing(reason), *quote = !s->config->no_quotes && strstr(text, sep) ? "\"" : "";

	at = stat_put(at, quote, strlen(quote));
	at = stat_put(at, text, strlen(text));
	return stat_put(at, quote, strlen(quote));
}

static void put_more(struct stat_sheet *s, const struct stat_line *l, const struct stat_metric *metric, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		put_prefix(s, &s->row[l->row], l->now.nr);
		put_sep(s, 5u + (s->event[l->event].cgroup != NULL) + (s->n_runs > 0));
		put_metric(s, &metric[i]);
		buf_addch(&s->out->text, '\n');
	}
}

static void put_line(struct stat_sheet *s, const struct stat_line *l)
{
	const struct stat_event *e = &s->event[l->event];
	const struct stat_sum *now = &l->now;
	const char *sep = s->config->separator, *text = (const char *)s->text.data;
	struct stat_metric metric[STAT_METRICS];
	size_t n = stat_shadow(s, l, metric), sep_len = strlen(sep);
	struct buf *out = &s->out->text;
	bool there = !now->reason && now->running;
	char *at;

	if (s->time[0] || s->summing) {
		const char *first = s->time[0] ? s->time : s->config->no_csv_summary ? "" : "summary";

		buf_printf(out, "%*s", s->summing && first[0] ? 16 : 0, first);
		if (first[0])
			buf_add(out, sep, sep_len);
	}
	if (!(at = output_room(out, l->before.len + l->after.len + 8 * sep_len + 256)))
		return;
	at = stat_put(at, text + l->before.at, l->before.len);
	if (s->row[l->row].counted)
		at = stat_put(at + number_u64(at, now->nr), sep, sep_len);
	if (there)
		at = put_number(at, e, now);
	else
		at = put_missing(s, at, now->reason, sep);
	at = stat_put(at, text + l->after.at, l->after.len);
	if (s->n_runs) {
		at += number_fixed(at, there ? stat_spread_percent(&l->value) : 0, 2);
		*at++ = '%';
		at = stat_put(at, sep, sep_len);
	}
	at = stat_put(at + number_u64(at, there ? now->running : 0), sep, sep_len);
	at += number_u64(at, stat_percent(now));
	at = stat_put(stat_put(at, ".00", 3), sep, sep_len);
	if (!n) {
		at = stat_put(at, sep, sep_len);
		*at++ = '\n';
	}
	out->len = (size_t)(at - (char *)out->data);
	if (n) {
		put_metric(s, &metric[0]);
		for (size_t i = 1; i < n && stat_is_beside(s, e); i++) {
			put_sep(s, 1);
			put_metric(s, &metric[i]);
		}
		buf_addch(out, '\n');
		if (!stat_is_beside(s, e))
			put_more(s, l, metric, n);
	}
}

static void put_alone(struct stat_sheet *s, uint32_t row, const struct stat_metric *m)
{
	put_prefix(s, &s->row[row], 1);
	put_sep(s, 5u + (s->n_runs > 0));
	put_metric(s, m);
	buf_addch(&s->out->text, '\n');
}

/* ---- --metric-only ---- */

static const char *const heads[STAT_AGGRS] = {
	[STAT_NONE] = "cpu",  [STAT_THREAD] = "comm-pid", [STAT_SOCKET] = "socket",
	[STAT_DIE] = "die",   [STAT_CLUSTER] = "cluster", [STAT_CACHE] = "cache",
	[STAT_CORE] = "core", [STAT_NODE] = "node",       [STAT_CGROUP] = "cgroup",
};

static void put_heads(struct stat_sheet *s)
{
	struct buf *out = &s->out->text, head = BUF_INIT;
	enum stat_aggr aggr = s->config->aggr;

	if (s->config->intervals) {
		buf_addstr(out, "time");
		put_sep(s, 1);
	}
	if (heads[aggr]) {
		buf_addstr(out, heads[aggr]);
		put_sep(s, 1);
		if (aggr != STAT_NONE && aggr != STAT_THREAD && aggr != STAT_CGROUP) {
			buf_addstr(out, "cpus");
			put_sep(s, 1);
		}
	}
	for (uint32_t i = 0; i < stat_shadow_heads(s); i++) {
		buf_clear(&head);
		stat_shadow_head(s, i, &head);
		text_csv_name(out, buf_str(&head), s->config->no_quotes ? "" : s->config->separator);
		put_sep(s, 1);
	}
	buf_addch(out, '\n');
	buf_carry(out, &head);
	buf_release(&head);
}

static uint32_t counters_in(const struct stat_sheet *s, uint32_t row)
{
	uint32_t nr = 0;

	for (uint32_t e = 0; e < s->n_events; e++) {
		const struct stat_line *l = stat_line_at(s, row, e);

		nr = l && l->now.nr > nr ? l->now.nr : nr;
	}
	return nr;
}

static void put_metrics(struct stat_sheet *s)
{
	for (uint32_t row = 0; row < s->n_rows; row++) {
		put_prefix(s, &s->row[row], counters_in(s, row));
		for (uint32_t i = 0; i < stat_shadow_heads(s); i++) {
			struct stat_metric m;

			stat_shadow_cell(s, row, i, &m);
			if (!m.reason && isfinite(m.value) && m.value >= 0)
				put_fixed(s, m.value, m.precision);
			put_sep(s, 1);
		}
		buf_addch(&s->out->text, '\n');
	}
}

static void begin(struct stat_sheet *s)
{
	if (s->config->metric_only)
		put_heads(s);
}

static void lines(struct stat_sheet *s)
{
	if (s->config->iostat) {
		stat_put_ports(s);
		return;
	}
	if (s->config->metric_only) {
		put_metrics(s);
		return;
	}
	stat_texts(s, make_text);
	stat_each_line(s, put_line, put_alone);
}

const struct stat_form_ops stat_csv = { .begin = begin, .lines = lines };
