/* --stats: what the values did over the intervals. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/number.h"
#include "common/table.h"
#include "report/stat.h"

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

static void put_csv(struct stat_sheet *s, const struct stat_line *l, size_t n, const double *f)
{
	const char *sep = s->config->separator,
	           *field[3] = { s->row[l->row].label, s->event[l->event].name, s->event[l->event].unit };
	struct buf *out = &s->x->out;
	char text[64];

	for (int i = s->config->aggr == STAT_GLOBAL; i < 3; i++) {
		bool quote = strpbrk(field[i], "\"\n") || (sep[0] && strstr(field[i], sep));

		buf_addstr(out, quote ? "\"" : "");
		for (const char *c = field[i]; *c; c++)
			buf_printf(out, *c == '"' ? "\"\"" : "%c", *c);
		buf_addstr(out, quote ? "\"" : "");
		buf_addstr(out, sep);
	}
	buf_add(out, text, number_u64(text, n));
	for (int i = 0; i < FIGURES; i++) {
		buf_addstr(out, sep);
		if (n)
			buf_add(out, text, number_double(text, f[i]));
	}
	buf_addch(out, '\n');
}

static void put_json(struct stat_sheet *s, const struct stat_line *l, size_t n, const double *f)
{
	const char *word = stat_aggr_words[s->config->aggr];
	struct buf *out = &s->x->out;
	char text[64];

	buf_addch(out, '{');
	if (s->config->aggr != STAT_GLOBAL) {
		buf_printf(out, "\"%s\" : ",
		           word                             ? word
		           : s->config->aggr == STAT_NONE   ? "cpu"
		           : s->config->aggr == STAT_THREAD ? "thread"
		                                            : "cgroup");
		json_quote(out, s->row[l->row].label, strlen(s->row[l->row].label));
		buf_addstr(out, ", ");
	}
	buf_addstr(out, "\"event\" : ");
	json_quote(out, s->event[l->event].name, strlen(s->event[l->event].name));
	buf_addstr(out, ", \"unit\" : ");
	json_quote(out, s->event[l->event].unit, strlen(s->event[l->event].unit));
	buf_addstr(out, ", \"intervals\" : ");
	buf_add(out, text, number_u64(text, n));
	for (int i = 0; i < FIGURES; i++) {
		buf_printf(out, ", \"%s\" : ", figure[i]);
		if (n)
			buf_add(out, text, number_double(text, f[i]));
		else
			buf_addstr(out, "null");
	}
	buf_addstr(out, "}\n");
}

static int put_row(struct table *t, struct stat_sheet *s, const struct stat_line *l, size_t n,
                   const double *f)
{
	const struct stat_event *e = &s->event[l->event];
	size_t at = 0;
	char text[64];
	int err = table_row(t);

	if (s->config->aggr != STAT_GLOBAL)
		err = err ? err : table_cell(t, at++, s->row[l->row].label, NULL);
	err = err ? err : table_cell(t, at++, e->name, NULL);
	err = err ? err : table_cell(t, at++, e->unit, NULL);
	snprintf(text, sizeof(text), "%zu", n);
	err = err ? err : table_cell(t, at++, text, NULL);
	for (int i = 0; i < FIGURES && !err; i++) {
		bool whole = !e->fraction && i < MEAN;

		text[n ? number_fixed(text, f[i], whole ? 0 : 2) : 0] = '\0';
		err = table_cell(t, at++, n ? text : "-", NULL);
	}
	return err;
}

static struct table *new_table(const struct stat_sheet *s)
{
	struct table *t = table_new();
	int err = t ? 0 : -1;

	if (!err && s->config->aggr != STAT_GLOBAL)
		err = table_column(t, "WHERE", TABLE_LEFT, false);
	err = err ? err : table_column(t, "EVENT", TABLE_LEFT, false);
	err = err ? err : table_column(t, "UNIT", TABLE_LEFT, false);
	err = err ? err : table_column(t, "INTERVALS", TABLE_RIGHT, false);
	for (int i = 0; i < FIGURES && !err; i++) {
		char head[16];
		size_t k = 0;

		for (const char *c = figure[i]; *c; c++)
			head[k++] = (char)(*c >= 'a' && *c <= 'z' ? *c - 32 : *c);
		head[k] = '\0';
		err = table_column(t, head, TABLE_RIGHT, false);
	}
	if (err) {
		table_free(t);
		return NULL;
	}
	return t;
}

static void put_csv_heads(struct stat_sheet *s)
{
	const char *sep = s->config->separator;
	struct buf *out = &s->x->out;

	buf_printf(out, "%s%sevent%sunit%sintervals", s->config->aggr == STAT_GLOBAL ? "" : "where",
	           s->config->aggr == STAT_GLOBAL ? "" : sep, sep, sep);
	for (int i = 0; i < FIGURES; i++)
		buf_printf(out, "%s%s", sep, figure[i]);
	buf_addch(out, '\n');
}

void stat_print_stats(struct stat_sheet *s)
{
	struct table *t = s->config->form == STAT_TEXT ? new_table(s) : NULL;
	int err = s->config->form == STAT_TEXT && !t ? -1 : 0;

	if (s->config->form == STAT_CSV)
		put_csv_heads(s);
	for (uint32_t i = 0; i < s->n_lines && !err; i++) {
		struct stat_line *l = &s->line[i];
		size_t n = l->history.len / sizeof(double);
		double f[FIGURES] = { 0 };

		if (stat_skips(s, l))
			continue;
		if (n)
			compute((double *)(void *)l->history.data, n, f);
		if (s->config->form == STAT_CSV)
			put_csv(s, l, n, f);
		else if (s->config->form == STAT_JSON)
			put_json(s, l, n, f);
		else
			err = put_row(t, s, l, n, f);
	}
	if (t && !err)
		err = table_print(t, 0, true, false, &s->x->out);
	table_free(t);
	if (err)
		s->x->out.err = -12;
}
