/* --stats: statistics of the values over the intervals. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/json.h"
#include "common/number.h"
#include "common/table.h"
#include "report/stat/stat_shadow.h"

enum { MIN, P50, P90, P95, P99, MAX, MEAN, DEVIATION, FIGURES };
static const char *const figure[FIGURES] = { "min", "p50", "p90", "p95", "p99", "max", "mean", "stddev" };

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The smallest value that at least so many percent do not exceed. */
static double percentile(const double *sorted, size_t n, double percent)
{
	size_t rank = (size_t)ceil(percent / 100 * (double)n);

	return sorted[rank ? rank - 1 : 0];
}

static void compute(double *v, size_t n, double out[static FIGURES])
{
	struct stat_spread w = { 0 };

	qsort(v, n, sizeof(*v), by_size);
	for (size_t i = 0; i < n; i++)
		stat_spread_add(&w, v[i]);
	out[MIN] = v[0];
	out[MAX] = v[n - 1];
	out[P50] = percentile(v, n, 50);
	out[P90] = percentile(v, n, 90);
	out[P95] = percentile(v, n, 95);
	out[P99] = percentile(v, n, 99);
	out[MEAN] = w.mean;
	out[DEVIATION] = n > 1 ? sqrt(w.m2 / (w.n - 1)) : 0;
}

/* A line: of an event or a metric. */
struct stats {
	const char *where, *name, *unit;
	const char *cgroup; /* NULL: none */
	bool metric;
	unsigned decimals; /* of values in text */
	size_t n;
	double f[FIGURES];
};

static void put_csv_field(struct stat_sheet *s, const char *text)
{
	text_csv_name(&s->out->text, text, s->config->separator);
	buf_addstr(&s->out->text, s->config->separator);
}

static void put_csv(struct stat_sheet *s, const struct stats *x, bool cgroups)
{
	const char *sep = s->config->separator;
	struct buf *out = &s->out->text;
	char text[64];

	if (s->config->aggr != STAT_GLOBAL)
		put_csv_field(s, x->where);
	put_csv_field(s, x->name);
	put_csv_field(s, x->unit);
	if (cgroups)
		put_csv_field(s, x->cgroup ? x->cgroup : "");
	buf_add(out, text, number_u64(text, x->n));
	for (int i = 0; i < FIGURES; i++) {
		buf_addstr(out, sep);
		if (x->n)
			buf_add(out, text, number_double(text, x->f[i]));
	}
	buf_addch(out, '\n');
}

static void put_json_text(struct buf *out, const char *key, const char *text)
{
	buf_printf(out, "\"%s\" : ", key);
	json_quote(out, text, strlen(text));
	buf_addstr(out, ", ");
}

static void put_json(struct stat_sheet *s, const struct stats *x)
{
	const char *word = stat_aggr_words[s->config->aggr];
	struct buf *out = &s->out->text;
	char text[64];

	buf_addch(out, '{');
	if (s->config->aggr != STAT_GLOBAL)
		put_json_text(out,
			      word                           ? word :
			      s->config->aggr == STAT_NONE   ? "cpu" :
			      s->config->aggr == STAT_THREAD ? "thread" :
							       "cgroup",
			      x->where);
	put_json_text(out, x->metric ? "metric" : "event", x->name);
	put_json_text(out, "unit", x->unit);
	if (x->cgroup)
		put_json_text(out, "cgroup", x->cgroup);
	buf_addstr(out, "\"intervals\" : ");
	buf_add(out, text, number_u64(text, x->n));
	for (int i = 0; i < FIGURES; i++) {
		buf_printf(out, ", \"%s\" : ", figure[i]);
		if (x->n)
			buf_add(out, text, number_double(text, x->f[i]));
		else
			buf_addstr(out, "null");
	}
	buf_addstr(out, "}\n");
}

static void put_row(struct table *t, struct stat_sheet *s, const struct stats *x, bool cgroups)
{
	char text[64];

	table_row(t);
	if (s->config->aggr != STAT_GLOBAL)
		table_cell(t, x->where, NULL);
	table_cell(t, x->name, NULL);
	table_cell(t, x->unit, NULL);
	if (cgroups)
		table_cell(t, x->cgroup ? x->cgroup : "", NULL);
	snprintf(text, sizeof(text), "%zu", x->n);
	table_cell(t, text, NULL);
	for (int i = 0; i < FIGURES; i++) {
		text[x->n ? number_fixed(text, x->f[i], i < MEAN || x->decimals ? x->decimals : 2) : 0] = '\0';
		table_cell(t, x->n ? text : "-", NULL);
	}
}

static struct table *new_table(const struct stat_sheet *s, bool cgroups)
{
	struct table *t = table_new();

	if (s->config->aggr != STAT_GLOBAL)
		table_column(t, "WHERE", TABLE_LEFT, false);
	table_column(t, "EVENT", TABLE_LEFT, false);
	table_column(t, "UNIT", TABLE_LEFT, false);
	if (cgroups)
		table_column(t, "CGROUP", TABLE_LEFT, false);
	table_column(t, "INTERVALS", TABLE_RIGHT, false);
	for (int i = 0; i < FIGURES; i++) {
		char head[16];
		size_t k = 0;

		for (const char *c = figure[i]; *c; c++)
			head[k++] = (char)(*c >= 'a' && *c <= 'z' ? *c - 32 : *c);
		head[k] = '\0';
		table_column(t, head, TABLE_RIGHT, false);
	}
	return t;
}

static void put_csv_heads(struct stat_sheet *s, bool cgroups)
{
	const char *sep = s->config->separator;
	struct buf *out = &s->out->text;

	buf_printf(out, "%s%sevent%sunit%s%s%sintervals", s->config->aggr == STAT_GLOBAL ? "" : "where",
		   s->config->aggr == STAT_GLOBAL ? "" : sep, sep, sep, cgroups ? "cgroup" : "", cgroups ? sep : "");
	for (int i = 0; i < FIGURES; i++)
		buf_printf(out, "%s%s", sep, figure[i]);
	buf_addch(out, '\n');
}

static void put(struct table *t, struct stat_sheet *s, struct stats *x, struct buf *history, bool cgroups)
{
	x->n = history->len / sizeof(double);
	if (x->n)
		compute((double *)(void *)history->data, x->n, x->f);
	if (s->config->form == STAT_TEXT)
		put_row(t, s, x, cgroups);
	else if (s->config->form == STAT_CSV)
		put_csv(s, x, cgroups);
	else
		put_json(s, x);
}

void stat_print_stats(struct stat_sheet *s)
{
	bool cgroups = false;
	struct table *t;

	for (uint32_t i = 0; i < s->n_events; i++)
		cgroups |= s->event[i].cgroup != NULL;
	t = s->config->form == STAT_TEXT ? new_table(s, cgroups) : NULL;
	if (s->config->form == STAT_CSV)
		put_csv_heads(s, cgroups);
	for (uint32_t i = 0; i < s->n_lines; i++) {
		struct stat_line *l = &s->line[i];
		const struct stat_event *e = &s->event[l->event];
		struct stats x = { .where = s->row[l->row].label,
				   .name = e->name,
				   .unit = e->unit,
				   .cgroup = e->cgroup,
				   .decimals = e->fraction ? 2 : 0 };

		if (!stat_skips(s, l))
			put(t, s, &x, &l->history, cgroups);
	}
	for (size_t i = 0; i < s->n_histories; i++) {
		struct stat_history *h = &s->history[i];
		struct stats x = {
			.where = h->where, .name = h->name, .unit = h->unit, .metric = true, .decimals = 3
		};

		put(t, s, &x, &h->values, cgroups);
	}
	if (s->config->form == STAT_TEXT && table_print(t, 0, true, false, &s->out->text))
		s->out->text.err = -ENOMEM;
	table_free(t);
}

/* ---- metrics ---- */

void stat_forget_history(struct stat_sheet *s)
{
	for (size_t i = 0; i < s->n_histories; i++) {
		free(s->history[i].where);
		free(s->history[i].head);
		buf_release(&s->history[i].values);
	}
	free(s->history);
	s->history = NULL;
	s->n_histories = 0;
	names_release(&s->history_of);
}

/* "GHz  cycles_frequency" is unit and name. */
static int add_history(struct stat_sheet *s, const char *where, const char *head)
{
	struct stat_history one = { 0 };
	char *gap;

	if (array_room(&s->history, s->n_histories, sizeof(*s->history)))
		return -ENOMEM;
	one.where = strdup(where);
	one.head = strdup(head);
	if (!one.where || !one.head) {
		free(one.where);
		free(one.head);
		return -ENOMEM;
	}
	gap = strstr(one.head, "  ");
	one.name = gap ? gap + 2 : one.head;
	one.unit = gap ? one.head : "";
	if (gap)
		*gap = '\0';
	s->history[s->n_histories++] = one;
	return 0;
}

int stat_keep_metrics(struct stat_sheet *s)
{
	SCOPED(buf_release) struct buf key = BUF_INIT, head = BUF_INIT;
	int err = 0;

	for (uint32_t row = 0; row < s->n_rows && s->shadow->asked; row++)
		for (uint32_t id = 0; id < stat_shadow_heads(s) && !err; id++) {
			struct stat_metric m;
			uint32_t at;

			buf_clear(&head);
			buf_clear(&key);
			stat_shadow_head(s, id, &head);
			buf_printf(&key, "%s\n%s", s->row[row].label, buf_str(&head));
			if (!names_get(&s->history_of, buf_str(&key), &at)) {
				at = (uint32_t)s->n_histories;
				err = add_history(s, s->row[row].label, buf_str(&head));
				err = err ? err : names_set(&s->history_of, buf_str(&key), at);
			}
			stat_shadow_cell(s, row, id, &m);
			if (!err && !m.reason && isfinite(m.value))
				buf_add(&s->history[at].values, &m.value, sizeof(m.value));
			err = err ? err : head.err ? head.err : key.err;
		}
	return err;
}
