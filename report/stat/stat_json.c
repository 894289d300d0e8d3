/* -j: perf's objects, one per line, with perf's keys and blanks; strings are escaped, numbers have no locale. */
#include <math.h>
#include <string.h>

#include "common/json.h"
#include "common/number.h"
#include "report/stat/stat.h"

static void put_key(struct stat_sheet *s, const char *key, bool *more)
{
	struct buf *out = &s->out->text;

	buf_addstr(out, *more ? ", " : "");
	json_quote(out, key, strlen(key));
	buf_addstr(out, " : ");
	*more = true;
}

static void put_text(struct stat_sheet *s, const char *key, const char *text, bool *more)
{
	put_key(s, key, more);
	json_quote(&s->out->text, text, strlen(text));
}

static void put_fixed(struct stat_sheet *s, double v, unsigned decimals)
{
	char text[64];

	buf_add(&s->out->text, text, number_fixed(text, v, decimals));
}

static void put_number(struct stat_sheet *s, const char *key, uint64_t v, bool *more)
{
	char text[NUMBER_MAX];

	put_key(s, key, more);
	buf_add(&s->out->text, text, number_u64(text, v));
}

static const char *place_word(const struct stat_sheet *s, const struct stat_row *row)
{
	if (s->config->aggr == STAT_NONE)
		return row->place.kind == PM_CPU ? "cpu" : "core";
	return s->config->aggr == STAT_THREAD ? "thread" : stat_aggr_words[s->config->aggr];
}

/* perf says "0" where its other formats say "CPU0". */
static const char *place_text(const struct stat_sheet *s, const struct stat_row *row)
{
	return row->label + (s->config->aggr == STAT_NONE && row->place.kind == PM_CPU ? strlen("CPU") : 0);
}

static void put_prefix(struct stat_sheet *s, const struct stat_row *row, uint32_t nr, bool *more)
{
	const char *word = place_word(s, row);

	buf_addch(&s->out->text, '{');
	if (s->time[0]) {
		put_key(s, "interval", more);
		buf_addstr(&s->out->text, s->time);
	}
	if (word)
		put_text(s, word, place_text(s, row), more);
	if (row->counted)
		put_number(s, "aggregate-number", nr, more);
}

static void put_metric(struct stat_sheet *s, const struct stat_metric *m, bool *more)
{
	put_key(s, "metric-value", more);
	if (m->reason || !isfinite(m->value))
		buf_addstr(&s->out->text, "null");
	else
		put_fixed(s, m->value, 6);
	put_text(s, "metric-unit", m->unit, more);
	if (m->threshold)
		put_text(s, "metric-threshold", m->threshold, more);
}

/* Writes the place before the value, or unit and event after it. */
static void make_text(struct stat_sheet *s, const struct stat_line *l, bool after)
{
	const struct stat_event *e = &s->event[l->event];
	const struct stat_row *row = &s->row[l->row];
	const char *cgroup = e->cgroup ? e->cgroup : s->config->aggr == STAT_CGROUP ? row->label : NULL;
	struct buf *out = &s->text;

	if (!after) {
		const char *word = place_word(s, row);

		if (!word)
			return;
		json_quote(out, word, strlen(word));
		buf_addstr(out, " : ");
		json_quote(out, place_text(s, row), strlen(place_text(s, row)));
		buf_addstr(out, ", ");
		return;
	}
	buf_addstr(out, "\", \"unit\" : ");
	json_quote(out, e->unit, strlen(e->unit));
	buf_addstr(out, ", \"event\" : ");
	json_quote(out, e->name, strlen(e->name));
	if (cgroup) {
		buf_addstr(out, ", \"cgroup\" : ");
		json_quote(out, cgroup, strlen(cgroup));
	}
}

#define PUT(at, text) stat_put(at, text, sizeof(text) - 1)

static void put_line(struct stat_sheet *s, const struct stat_line *l)
{
	const struct stat_event *e = &s->event[l->event];
	const struct stat_row *row = &s->row[l->row];
	const struct stat_sum *now = &l->now;
	struct stat_metric metric[STAT_METRICS];
	size_t n = stat_shadow(s, l, metric);
	struct buf *out = &s->out->text;
	const char *text = (const char *)s->text.data;
	bool there = !now->reason && now->running, more = true;
	const char *unfed = there && e->unfed ? e->unfed : "";
	char *at = output_room(out, l->before.len + l->after.len + 512);

	if (!at)
		return;
	*at++ = '{';
	if (s->time[0]) {
		at = stat_put(PUT(at, "\"interval\" : "), s->time, strlen(s->time));
		at = PUT(at, ", ");
	}
	at = stat_put(at, text + l->before.at, l->before.len);
	if (row->counted) {
		at = PUT(at, "\"aggregate-number\" : ");
		at += number_u64(at, now->nr);
		at = PUT(at, ", ");
	}
	at = PUT(at, "\"counter-value\" : \"");
	if (!there) {
		at = stat_put(at, stat_missing(now->reason), strlen(stat_missing(now->reason)));
	} else if (e->mul == 1 && e->div == 1 && now->rest == 0) {
		at += number_u64(at, now->v);
		at = PUT(at, ".000000");
	} else {
		at += number_fixed(at, stat_value(e, now), 6);
	}
	at = stat_put(at, text + l->after.at, l->after.len);
	if (s->n_runs) {
		at = PUT(at, ", \"variance\" : ");
		at += number_fixed(at, there ? stat_spread_percent(&l->value) : 0, 2);
	}
	at = PUT(at, ", \"event-runtime\" : ");
	at += number_u64(at, there ? now->running : 0);
	at = PUT(at, ", \"pcnt-running\" : ");
	at += number_u64(at, stat_percent(now));
	at = PUT(at, ".00");
	if (!n) {
		at = stat_put(PUT(at, ", \"metric-value\" : 0.000000, \"metric-unit\" : \""), unfed, strlen(unfed));
		at = PUT(at, "\"}\n");
	}
	out->len = (size_t)(at - (char *)out->data);
	if (n) {
		put_metric(s, &metric[0], &more);
		buf_addstr(out, "}\n");
	}
	for (size_t i = 1; i < n; i++) {
		more = false;
		put_prefix(s, row, now->nr, &more);
		put_metric(s, &metric[i], &more);
		buf_addstr(out, "}\n");
	}
}

static void put_alone(struct stat_sheet *s, uint32_t row, const struct stat_metric *m)
{
	bool more = false;

	put_prefix(s, &s->row[row], 1, &more);
	put_metric(s, m, &more);
	buf_addstr(&s->out->text, "}\n");
}

/* One object per place, a member per metric. */
static void put_metrics(struct stat_sheet *s)
{
	SCOPED(buf_release) struct buf head = BUF_INIT;

	for (uint32_t row = 0; row < s->n_rows; row++) {
		uint32_t nr = 0;
		bool more = false, any = false;

		for (uint32_t e = 0; e < s->n_events; e++) {
			const struct stat_line *l = stat_line_at(s, row, e);

			nr = l && l->now.nr > nr ? l->now.nr : nr;
		}
		put_prefix(s, &s->row[row], nr, &more);
		if (s->config->aggr == STAT_CGROUP)
			put_text(s, "cgroup", s->row[row].label, &more);
		for (uint32_t i = 0; i < stat_shadow_heads(s); i++) {
			struct stat_metric m;

			stat_shadow_cell(s, row, i, &m);
			buf_clear(&head);
			stat_shadow_head(s, i, &head);
			put_key(s, buf_str(&head), &more);
			if (m.reason || !isfinite(m.value)) {
				buf_addstr(&s->out->text, "\"none\"");
			} else {
				buf_addch(&s->out->text, '"');
				put_fixed(s, m.value, m.precision);
				buf_addch(&s->out->text, '"');
			}
			any = true;
		}
		if (!any)
			put_text(s, "metric-value", "none", &more);
		buf_addstr(&s->out->text, "}\n");
	}
	buf_carry(&s->out->text, &head);
}

static void lines(struct stat_sheet *s)
{
	if (s->config->metric_only) {
		put_metrics(s);
		return;
	}
	stat_texts(s, make_text);
	stat_each_line(s, put_line, put_alone);
}

const struct stat_form_ops stat_json = { .lines = lines };
