#include "record/perf/metric_pick.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/options.h"
#include "record/host/cpuid.h"
#include "record/host/privileges.h"

int metrics_no_memory(struct metrics *m)
{
	return error_set(m->error, ENOMEM, "out of memory");
}

static int note_lines(struct metrics *m, const struct buf *lines)
{
	int err = 0;

	for (const char *line = buf_str((struct buf *)(uintptr_t)lines); *line && !err;) {
		size_t len = strcspn(line, "\n");

		err = plan_refused(m->p, PM_REASON_FORMAT, NULL, "%.*s", (int)len, line);
		line += len + (line[len] == '\n');
	}
	return err;
}

int metric_sets_load(struct metrics *m)
{
	const char *id = cpuid_for_vendor(pm_map_text(&m->p->model->header, PM_HEADER_CPU_ID, NULL));
	char **path = m->p->options->perf.metric_files;
	size_t n = 0;
	bool changed;
	int err = 0;

	while (path && path[n])
		n++;
	m->set = calloc(n + m->s->vendor.n + 1, sizeof(*m->set));
	if (!m->set)
		return metrics_no_memory(m);
	changed = privileges_become_caller();
	for (; m->n_sets < n && !err; m->n_sets++) {
		err = metric_set_load(&m->set[m->n_sets], path[m->n_sets], id, m->error);
		if (err)
			error_prefix(m->error, "--metrics-file");
	}
	privileges_become_self(changed);
	for (size_t i = 0; i < m->n_sets && !err; i++)
		err = note_lines(m, &m->set[i].skipped);
	for (uint32_t i = 0; i < m->s->vendor.n && !err; i++) {
		const char *text = m->s->vendor.set[i].metrics;
		int none = *text ? metric_set_load_text(&m->set[m->n_sets], text, strlen(text), m->error) : 1;

		m->n_sets += !none;
		err = none == -ENOMEM ? none : 0;
	}
	return err;
}

bool metric_in_list(const char *list, const char *word)
{
	size_t want = strlen(word);

	for (; list && *list; list += strcspn(list, ","), list += *list == ',') {
		size_t len = strcspn(list, ",");

		if (len == want && !strncasecmp(list, word, len))
			return true;
	}
	return false;
}

static bool is_named(const struct metric *row, const char *word)
{
	return !strcasecmp(row->name, word) || !strcasecmp(row->display, word) || metric_in_list(row->aliases, word);
}

static int pick(struct metrics *m, const struct metric *row, const char *word, bool by_group, bool vendor)
{
	for (size_t i = 0; i < m->n; i++)
		/* A metric that is requested twice counts once; a vendor's replaces ours. */
		if (m->picked[i].row == row || !strcasecmp(m->picked[i].row->name, row->name)) {
			m->picked[i].by_group &= by_group;
			return 0;
		}
	if (array_room(&m->picked, m->n, sizeof(*m->picked)))
		return metrics_no_memory(m);
	m->picked[m->n] = (struct picked){ .row = row, .word = strdup(word), .by_group = by_group, .vendor = vendor };
	return m->picked[m->n++].word ? 0 : metrics_no_memory(m);
}

typedef int (*visit_fn)(struct metrics *m, const struct metric *row, bool vendor, void *arg);

static int each_row(struct metrics *m, visit_fn visit, void *arg)
{
	int err = 0;

	for (size_t k = 0; k < m->n_sets && !err; k++)
		for (size_t i = 0; i < m->set[k].n && !err; i++)
			err = visit(m, &m->set[k].row[i], true, arg);
	for (const struct metric_table *t = metric_tables; t->row && !err; t++)
		for (size_t i = 0; i < t->n && !err; i++)
			if (!t->row[i].each)
				err = visit(m, &t->row[i], false, arg);
	return err;
}

struct word {
	const char *text;
	bool by_name;
	bool vendor; /* search the rows of files, or the built-in ones */
	bool found;
	const struct metric *first; /* that it named */
};

/* In files of hybrid processors each kind of cores may have a metric of one name. */
static bool are_twins(const struct metrics *m, const struct metric *a, const struct metric *b)
{
	for (size_t k = 0; k < m->n_sets; k++) {
		const struct metric *from = m->set[k].row, *to = from + m->set[k].n;

		if (a >= from && a < to && b >= from && b < to)
			return !strcasecmp(a->aliases, b->aliases);
	}
	return false;
}

/* A machine may lack a kind of cores: of the metrics of one name, one that can be counted is enough. */
static void make_optional(struct metrics *m, const struct metric *row)
{
	for (size_t i = 0; i < m->n; i++)
		m->picked[i].by_group |= m->picked[i].row == row;
}

static int pick_if(struct metrics *m, const struct metric *row, bool vendor, void *arg)
{
	struct word *w = arg;

	if (vendor != w->vendor && strcasecmp(w->text, "all"))
		return 0;
	if (w->by_name ? !is_named(row, w->text) :
			 strcasecmp(w->text, "all") && !metric_in_list(row->categories, w->text))
		return 0;
	/* Of two with one name the first is meant. */
	if (w->by_name && w->found) {
		if (!are_twins(m, w->first, row))
			return 0;
		make_optional(m, w->first);
		return pick(m, row, w->text, true, vendor);
	}
	w->found = true;
	w->first = row;
	return pick(m, row, w->text, !w->by_name, vendor);
}

struct near {
	const char *word;
	char best[64];
};

static int offer(struct metrics *m, const struct metric *row, bool vendor, void *arg)
{
	struct near *near = arg;
	const char *const names[] = { near->best[0] ? near->best : row->name, row->name, row->display };
	const char *found = options_nearest(near->word, names, sizeof(names) / sizeof(names[0]));
	char one[64];

	(void)m, (void)vendor;
	if (found && found != near->best)
		snprintf(near->best, sizeof(near->best), "%s", found);
	for (const char *list = row->categories; list && *list; list += strcspn(list, ","), list += *list == ',') {
		const char *const words[] = { near->best[0] ? near->best : one, one };

		snprintf(one, sizeof(one), "%.*s", (int)strcspn(list, ","), list);
		found = options_nearest(near->word, words, 2);
		if (found == one)
			snprintf(near->best, sizeof(near->best), "%s", one);
	}
	return 0;
}

static int pick_word(struct metrics *m, const char *text)
{
	struct word w = { .text = text };
	struct near near = { .word = text };
	int err = 0;

	/* A file that the user gives takes precedence. */
	for (int ours = 0; ours < 2; ours++)
		for (int group = 0; group < 2 && !err && !w.found; group++) {
			w.vendor = !ours;
			w.by_name = !group;
			err = each_row(m, pick_if, &w);
		}
	if (err || w.found)
		return err;
	each_row(m, offer, &near);
	return error_set(m->error, ENOENT, "-M: there is no metric or metric group '%.80s'%s%s%s%s", text,
			 near.best[0] ? ", did you mean " : "", near.best, near.best[0] ? "?" : "",
			 m->n_sets || m->s->packed ? "" : "; " PERF_VENDOR_HINT);
}

int metrics_pick(struct metrics *m)
{
	int err = 0;

	for (char **list = m->p->options->perf.metrics; *list && !err; list++) {
		char *copy = strdup(*list), *rest = copy, *word;

		if (!copy)
			return metrics_no_memory(m);
		while (!err && (word = strsep(&rest, ",")))
			if (*word)
				err = pick_word(m, word);
		free(copy);
		if (!err && !m->n)
			err = error_set(m->error, EINVAL, "-M: '%.80s' names no metric", *list);
	}
	return err;
}
