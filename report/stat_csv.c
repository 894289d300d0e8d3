/* -x: perf's fields in perf's order. What perf leaves to chance is settled: no locale, no leading blanks, and a field
 * in which the separator occurs is quoted. */
#include <math.h>
#include <string.h>

#include "common/number.h"
#include "report/stat.h"

static void put_field(struct stat_sheet *s, const char *text)
{
	struct buf *out = &s->x->out;
	const char *sep = s->config->separator;

	if (!strpbrk(text, "\"\r\n") && (!sep[0] || !strstr(text, sep))) {
		buf_addstr(out, text);
		return;
	}
	buf_addch(out, '"');
	for (; *text; text++) {
		if (*text == '"')
			buf_addch(out, '"');
		buf_addch(out, *text == '\n' || *text == '\r' ? ' ' : *text);
	}
	buf_addch(out, '"');
}

static void put_sep(struct stat_sheet *s, unsigned n)
{
	while (n--)
		buf_addstr(&s->x->out, s->config->separator);
}

/* Time, "summary", and the place with the number of counters in it. */
static void put_prefix(struct stat_sheet *s, const struct stat_row *row, uint32_t nr)
{
	struct buf *out = &s->x->out;
	char text[NUMBER_MAX];

	if (s->time[0]) {
		buf_addstr(out, s->time);
		put_sep(s, 1);
	} else if (s->summing && !s->config->no_csv_summary) {
		buf_addstr(out, "summary");
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

	buf_add(&s->x->out, text, number_fixed(text, v, decimals));
}

/* A number that is negative or none at all is an empty field for perf's readers. */
static void put_metric(struct stat_sheet *s, const struct stat_metric *m)
{
	if (!m->reason && isfinite(m->value) && m->value >= 0)
		put_fixed(s, m->value, m->precision);
	put_sep(s, 1);
	put_field(s, m->unit);
}

static void put_line(struct stat_sheet *s, const struct stat_line *l)
{
	const struct stat_event *e = &s->event[l->event];
	const struct stat_row *row = &s->row[l->row];
	struct stat_metric metric[STAT_METRICS];
	size_t n = stat_shadow(s, l, metric);
	struct buf *out = &s->x->out;
	char text[NUMBER_MAX];
	bool there = !l->now.reason && l->now.running;

	put_prefix(s, row, l->now.nr);
	if (there)
		put_fixed(s, stat_value(e, l->now.v), e->fraction ? 2 : 0);
	else
		buf_addstr(out, stat_missing(l->now.reason));
	put_sep(s, 1);
	put_field(s, e->unit);
	put_sep(s, 1);
	put_field(s, e->name);
	put_sep(s, 1);
	if (e->cgroup) {
		put_field(s, e->cgroup);
		put_sep(s, 1);
	}
	if (s->n_runs) {
		put_fixed(s, there ? stat_spread_percent(&l->value) : 0, 2);
		buf_addch(out, '%');
		put_sep(s, 1);
	}
	buf_add(out, text, number_u64(text, there ? l->now.running : 0));
	put_sep(s, 1);
	/* Whole percents, as perf has them. */
	buf_add(out, text, number_u64(text, there && l->now.enabled ? 100 * l->now.running / l->now.enabled : 100));
	buf_addstr(out, ".00");
	put_sep(s, 1);
	if (n)
		put_metric(s, &metric[0]);
	else
		put_sep(s, 1);
	buf_addch(out, '\n');
	for (size_t i = 1; i < n; i++) {
		put_prefix(s, row, l->now.nr);
		put_sep(s, 5u + (e->cgroup != NULL) + (s->n_runs > 0));
		put_metric(s, &metric[i]);
		buf_addch(out, '\n');
	}
}

static void put_alone(struct stat_sheet *s, uint32_t row)
{
	struct stat_metric metric[STAT_METRICS];
	size_t n = stat_shadow_alone(s, row, metric);

	for (size_t i = 0; i < n; i++) {
		put_prefix(s, &s->row[row], 1);
		put_sep(s, 5u + (s->n_runs > 0));
		put_metric(s, &metric[i]);
		buf_addch(&s->x->out, '\n');
	}
}

/* ---- --metric-only ---- */

static const char *const heads[STAT_AGGRS] = {
	[STAT_NONE] = "cpu", [STAT_THREAD] = "comm-pid", [STAT_SOCKET] = "socket", [STAT_DIE] = "die",
	[STAT_CLUSTER] = "cluster", [STAT_CACHE] = "cache", [STAT_CORE] = "core", [STAT_NODE] = "node", [STAT_CGROUP] = "cgroup",
};

static void put_heads(struct stat_sheet *s)
{
	struct buf *out = &s->x->out, head = BUF_INIT;
	enum stat_aggr aggr = s->config->aggr;

	if (s->config->intervals) {
		buf_addstr(out, "time");
		put_sep(s, 1);
	}
	if (heads[aggr]) {
		buf_addstr(out, heads[aggr]);
		put_sep(s, 1);
		if (aggr != STAT_NONE && aggr != STAT_THREAD && aggr != STAT_CGROUP) {
			buf_addstr(out, "ctrs");
			put_sep(s, 1);
		}
	}
	for (uint32_t i = 0; i < stat_shadow_heads(s); i++) {
		buf_clear(&head);
		stat_shadow_head(s, i, &head);
		put_field(s, buf_str(&head));
		put_sep(s, 1);
	}
	buf_addch(out, '\n');
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
		buf_addch(&s->x->out, '\n');
	}
}

static void begin(struct stat_sheet *s)
{
	if (s->config->metric_only)
		put_heads(s);
}

static void lines(struct stat_sheet *s)
{
	uint32_t last = UINT32_MAX, shown = 0;

	if (s->config->metric_only) {
		put_metrics(s);
		return;
	}
	for (uint32_t i = 0; i < s->n_lines; i++) {
		const struct stat_line *l = &s->line[s->order[i]];
		uint32_t block = stat_block(s, l);

		shown = block == last ? shown : 0;
		last = block;
		if (stat_skips(s, l) || (s->config->top && shown++ >= s->config->top))
			continue;
		put_line(s, l);
		if (exporter_is_full(s->x) && exporter_flush(s->x))
			return;
	}
	for (uint32_t row = 0; s->config->metrics.n && row < s->n_rows; row++)
		put_alone(s, row);
}

static void end(struct stat_sheet *s)
{
}

const struct stat_form_ops stat_csv = { .begin = begin, .lines = lines, .end = end };
