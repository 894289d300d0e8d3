/* Walks the lines: their order, and which of them are skipped. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/stat/stat.h"

const char *const stat_aggr_words[STAT_AGGRS] = {
	[STAT_SOCKET] = "socket", [STAT_DIE] = "die",   [STAT_CLUSTER] = "cluster",
	[STAT_CACHE] = "cache",   [STAT_CORE] = "core", [STAT_NODE] = "node",
};

/* Lines that say nothing: a place without the event, or a thread of the whole system that did not run. */
bool stat_skips(const struct stat_sheet *s, const struct stat_line *l)
{
	if (s->event[l->event].hidden)
		return true;
	if (s->config->aggr != STAT_THREAD || s->event[l->event].invalid)
		return false;
	return !l->n || (s->system_wide && (l->now.reason || !l->now.v));
}

/* Prints the metrics of a row that belong to no line. */
static void put_rest(struct stat_sheet *s, uint32_t row, stat_put_alone *put_alone)
{
	struct stat_metric m[STAT_METRICS];
	size_t n = stat_shadow_alone(s, row, m);

	for (size_t i = 0; i < n; i++)
		put_alone(s, row, &m[i]);
}

void stat_each_line(struct stat_sheet *s, void (*put_line)(struct stat_sheet *s, const struct stat_line *l),
		    stat_put_alone *put_alone)
{
	bool by_row = !stat_is_by_event(s);
	uint32_t last = UINT32_MAX, shown = 0, row = stat_shadow_has_alone(s) ? 0 : s->n_rows;

	for (uint32_t i = 0; i < s->n_lines; i++) {
		const struct stat_line *l = &s->line[s->order[i]];
		uint32_t block = by_row ? l->row : l->event;

		while (by_row && row < l->row)
			put_rest(s, row++, put_alone);
		shown = block == last ? shown : 0;
		last = block;
		if (stat_skips(s, l) || (s->config->top && shown++ >= s->config->top))
			continue;
		put_line(s, l);
		if (output_is_full(s->out) && output_flush(s->out))
			return;
	}
	while (row < s->n_rows)
		put_rest(s, row++, put_alone);
}

void stat_texts(struct stat_sheet *s, void (*make)(struct stat_sheet *s, const struct stat_line *l, bool after))
{
	if (s->text.len)
		return;
	for (uint32_t i = 0; i < s->n_lines; i++) {
		struct stat_line *l = &s->line[i];

		l->before.at = (uint32_t)s->text.len;
		make(s, l, false);
		l->before.len = (uint32_t)s->text.len - l->before.at;
		l->after.at = (uint32_t)s->text.len;
		make(s, l, true);
		l->after.len = (uint32_t)s->text.len - l->after.at;
	}
	buf_carry(&s->out->text, &s->text);
}

/* ---- sorting ---- */

struct sort_key {
	uint32_t line, block;
	double value;
	const char *name;
};

static int by_key(const void *a, const void *b)
{
	const struct sort_key *x = a, *y = b;
	int d;

	if (x->block != y->block)
		return x->block < y->block ? -1 : 1;
	if (x->value != y->value)
		return x->value > y->value ? -1 : 1;
	d = x->name ? strcmp(x->name, y->name) : 0;
	return d ? d : (x->line > y->line) - (x->line < y->line);
}

/* Sorts within what belongs together: the lines of a place, or the CPUs and threads of an event. */
int stat_sort_lines(struct stat_sheet *s)
{
	enum stat_sort sort = s->config->sort;
	bool by_event = stat_is_by_event(s);
	SCOPED(scoped_free) struct sort_key *key = NULL;

	if (sort == STAT_SORT_NONE)
		return 0;
	key = calloc((size_t)s->n_lines + 1, sizeof(*key));
	if (!key)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->n_lines; i++) {
		const struct stat_line *l = &s->line[i];

		key[i] = (struct sort_key){ .line = i, .block = by_event ? l->event : l->row };
		if (sort == STAT_SORT_VALUE)
			key[i].value = l->now.reason ? -1 : stat_value(&s->event[l->event], &l->now);
		else if (sort == STAT_SORT_RUNNING)
			key[i].value = (double)l->now.running;
		else
			key[i].name = by_event ? s->row[l->row].label : s->event[l->event].name;
	}
	qsort(key, s->n_lines, sizeof(*key), by_key);
	for (uint32_t i = 0; i < s->n_lines; i++)
		s->order[i] = key[i].line;
	return 0;
}
