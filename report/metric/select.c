#include "report/metric/select.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"
#include "common/names.h"
#include "common/options.h"
#include "report/machine/status.h"

void selection_release(struct selection *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->word[i].word);
	free(s->word);
	*s = (struct selection){ 0 };
}

static void add_word(struct selection *s, enum selection_verb verb, const char *text, size_t len)
{
	memory_room(&s->word, s->n, sizeof(*s->word));
	s->word[s->n++] = (struct selection_word){ .verb = verb, .word = memory_checked(strndup(text, len)) };
	s->has_show |= verb == SELECT_SHOW;
}

/* The end of a word: a comma that is not inside pmu/.../ or {...}. */
static const char *word_end(const char *c)
{
	bool terms = false;

	for (; *c; c++) {
		if (*c == '/')
			terms = !terms && strchr(c + 1, '/');
		else if (*c == ',' && !terms)
			break;
	}
	return c;
}

int selection_add(struct selection *s, enum selection_verb verb, const char *list, struct error *e)
{
	static const char *const option[] = { "--show", "--hide", "--enable" };

	for (;;) {
		const char *end = word_end(list);

		if (end == list)
			return error_set(e, EINVAL, "%s: an empty name", option[verb]);
		add_word(s, verb, list, (size_t)(end - list));
		if (!*end)
			return 0;
		list = end + 1;
	}
}

/* Whether the word, which may be a glob, is the text in whatever case. Most words are none, and fnmatch() is slow. */
static bool is_like(const char *word, const char *text)
{
	return strpbrk(word, "*?[\\") ? !fnmatch(word, text, FNM_CASEFOLD) : !strcasecmp(word, text);
}

/* Whether the word is in a comma separated list. */
static bool listed(const char *word, const char *list)
{
	while (list && *list) {
		size_t len = strcspn(list, ",");
		char one[128];

		if (len < sizeof(one)) {
			memcpy(one, list, len);
			one[len] = 0;
			if (is_like(word, one))
				return true;
		}
		list += len + (list[len] == ',');
	}
	return false;
}

bool selection_matches(const char *word, const char *name, const char *display, const char *aliases,
		       const char *categories)
{
	/* A name may contain what is special in a glob: "cpu/event=[1]/". */
	if (!strcmp(word, "all") || !strcasecmp(word, name) || !strcasecmp(word, display))
		return true;
	return is_like(word, name) || is_like(word, display) || listed(word, aliases) || listed(word, categories);
}

/* An empty column is shown if it is named. */
static bool names_absent(const char *word, const struct bound_metric *m)
{
	if (!strcmp(word, "all"))
		return !m->unlikely;
	for (const char *list = m->about->aliases, *end; *list; list = *end ? end + 1 : end) {
		end = strchrnul(list, ',');
		if (strlen(word) == (size_t)(end - list) && !strncasecmp(word, list, strlen(word)))
			return true;
	}
	return !strcasecmp(word, m->name) || !strcasecmp(word, m->display);
}

static bool fits(const char *word, bool hide, const struct bound_metric *m)
{
	/* What is hidden may be lacking, too. */
	if (hide)
		return selection_matches(word, m->name, m->display, m->about->aliases, m->about->categories);
	if (m->foreign)
		return strcmp(word, "all") && names_absent(word, m);
	if (m->absent && !m->added)
		return names_absent(word, m);
	return selection_matches(word, m->name, m->display, m->about->aliases, m->about->categories);
}

/* An exact name means only that one, whatever else it matches in another case. */
static bool is_exactly(const char *word, const struct bound_metric *m)
{
	return !strcmp(word, m->name) || !strcmp(word, m->display);
}

/* Whether a metric of the tables has this head. */
static bool heads_metric(const char *word, const struct binding *b)
{
	for (size_t i = 0; i < b->n_metrics; i++)
		if (!b->metric[i].counter && !strcasecmp(word, b->metric[i].display))
			return true;
	return false;
}

/* Whether a counter has the word only as its head: the metric computed from it may have the same ("SMI"). */
static bool is_by_head(const char *word, const struct bound_metric *m)
{
	return m->counter && !m->added && strcasecmp(word, m->name) && !strcasecmp(word, m->display);
}

/* `head`: heads_metric(). */
static bool is_passed_over(const char *word, bool head, const struct bound_metric *m)
{
	return (head && is_by_head(word, m)) || (m->foreign && m->absent);
}

/* Notes what metrics of that name lack in this recording. True if there is any. */
static bool note_rows(const char *word, const struct metric *row, size_t n, const struct binding *b,
		      const struct places *p, struct buf *notes)
{
	SCOPED(buf_release) struct buf scratch = BUF_INIT;
	bool known = false;

	for (size_t i = 0; i < n && !known; i++) {
		const struct metric *m = &row[i];
		const char *lacks;
		bool member;

		/* "UMHz0.0" is one of "UMHz*". */
		member = m->each && strcspn(m->display, "*") > 1 && !fnmatch(m->display, word, FNM_CASEFOLD);
		if (!member && !selection_matches(word, m->name, m->display, m->aliases, m->categories))
			continue;
		lacks = bind_missing(b, p, m, &scratch);
		known = !member || lacks;
		if (notes && lacks)
			buf_printf(notes, "'%s' needs '%s'%s, which this recording does not have\n", word, lacks,
				   m->otherwise && strchr(lacks, '/') ? " or another PMU's event for the same" : "");
	}
	return known;
}

bool selection_lacks(const char *word, const struct binding *b, const struct places *p, struct buf *notes)
{
	bool known = false;

	for (size_t i = 0; i < b->n_vendor && !known; i++)
		known = note_rows(word, b->vendor[i].row, b->vendor[i].n, b, p, notes);
	known = known || note_rows(word, b->recorded.row, b->recorded.n, b, p, notes);
	for (const struct metric_table *t = metric_tables; t->row && !known; t++)
		known = note_rows(word, t->row, t->n, b, p, notes);
	return known;
}

/* Topology columns are shown where they are useful, but turbostat's users name them; sources may be hidden whether
 * they took part or not. */
static const char *const harmless[] = {
	"Package", "Die", "L3", "Node", "Module", "Core", "CPU", "topology", "Time", "msr", "perf",
};
#define N_HARMLESS (sizeof(harmless) / sizeof(harmless[0]))
#define N_PLACES   7 /* of them are columns */

/* Written like the column's head: "CPU" is the column, "cpu" a category. */
static bool is_place(const char *word)
{
	for (size_t i = 0; i < N_PLACES; i++)
		if (!strcmp(word, harmless[i]))
			return true;
	return false;
}

static bool is_harmless(const char *word)
{
	for (size_t i = 0; i < N_HARMLESS; i++)
		if (!strcasecmp(word, harmless[i]))
			return true;
	return false;
}

/* Suggestions; lists are split into words that belong to `text`. */
struct candidates {
	const char **name;
	size_t n;
	char *text[2048];
	size_t n_texts;
};

static void add_candidate(struct candidates *c, const char *name)
{
	if (!name || !name[0] || strchr(name, '*'))
		return;
	memory_room(&c->name, c->n, sizeof(*c->name));
	c->name[c->n++] = name;
}

static void add_list(struct candidates *c, const char *list)
{
	while (list && *list && c->n_texts < sizeof(c->text) / sizeof(c->text[0])) {
		size_t len = strcspn(list, ",");
		char *word = memory_checked(strndup(list, len));

		c->text[c->n_texts++] = word;
		add_candidate(c, word);
		list += len + (list[len] == ',');
	}
}

/* Whether the word is the name between two dots, or up to one. */
static bool is_part(const char *name, const char *word)
{
	const char *at = strcasestr(name, word), *end = at ? at + strlen(word) : NULL;

	return at && *word && (at == name || at[-1] == '.') && (!*end || *end == '.') && strchr(name, '.');
}

int selection_unknown(const char *word, const struct binding *b, const struct places *p, struct error *e)
{
	const struct pm_counter *text = pm_model_counter_named(p->model, word);
	SCOPED(scoped_free) struct candidates *c = memory_new(1, sizeof(*c));
	const char *near = NULL;

	if (text && pm_counter_texts(text))
		return error_set(e, ENOENT, "'%s' has texts, no numbers; pmrep dump --counter prints them", word);
	/* What this recording has comes first: among equally close names the first is offered. */
	for (size_t i = 0; i < b->n_metrics; i++) {
		add_candidate(c, b->metric[i].name);
		add_candidate(c, b->metric[i].display);
	}
	for (size_t i = 0; i < N_HARMLESS; i++)
		add_candidate(c, harmless[i]);
	for (size_t v = 0; v < b->n_vendor; v++)
		for (size_t i = 0; i < b->vendor[v].n; i++)
			add_candidate(c, b->vendor[v].row[i].name);
	for (const struct metric_table *t = metric_tables; t->row; t++)
		for (size_t i = 0; i < t->n; i++) {
			add_candidate(c, t->row[i].name);
			add_candidate(c, t->row[i].display);
			add_list(c, t->row[i].aliases);
			add_list(c, t->row[i].categories);
		}
	/* "rss" is a part of task.rss, "mem" of mem.bw. */
	for (size_t i = 0; i < c->n && !near; i++)
		near = is_part(c->name[i], word) ? c->name[i] : NULL;
	if (!near)
		near = options_nearest(word, c->name, c->n);
	error_set(e, ENOENT, "no column is named '%s'%s%s%s (pmrep list metrics shows all%s)", word,
		  near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "",
		  b->n_vendor ? "" : ", and pmrec vendor import DIR adds the CPU vendor's");
	for (size_t i = 0; i < c->n_texts; i++)
		free(c->text[i]);
	free(c->name);
	return -ENOENT;
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), len = strlen(end);

	return n > len && !strcmp(text + n - len, end);
}

/* What is shown in place of each metric: with --Joules energies for powers, "pkg_j" for "pkgwatt". For free(). */
static uint32_t *in_place(const struct binding *b, bool joules)
{
	SCOPED(names_release) struct names energy = { 0 };
	SCOPED(buf_release) struct buf name = BUF_INIT;
	uint32_t *at = memory_new(b->n_metrics, sizeof(*at));

	for (size_t i = 0; i < b->n_metrics; i++) {
		at[i] = (uint32_t)i;
		if (joules && ends_with(b->metric[i].name, "_j"))
			memory_done(names_set(&energy, b->metric[i].name, (uint32_t)i));
	}
	for (size_t i = 0; joules && i < b->n_metrics; i++) {
		if (!ends_with(b->metric[i].name, "watt"))
			continue;
		buf_clear(&name);
		buf_printf(&name, "%.*s_j", (int)(strlen(b->metric[i].name) - strlen("watt")), b->metric[i].name);
		memory_whole(&name);
		names_get(&energy, buf_str(&name), &at[i]);
	}
	return at;
}

/* Metrics of the busiest processes and cgroups: the columns of rows of that kind. */
static bool is_who(const struct bound_metric *m, enum pm_kind who)
{
	return m->kind == who && !m->counter && strstr(m->about->categories, who == PM_TASK ? "tasks" : "cgroups");
}

/* `who`: the recording has some of that kind, and they are wanted; PM_KINDS: none. */
static bool is_default(const struct bound_metric *m, enum pm_kind who)
{
	return (who != PM_KINDS && is_who(m, who)) || (m->default_on && (who == PM_KINDS || m->kind == who));
}

/* turbostat's columns of requested C-states: names take precedence over categories, and hiding over showing, wherever
 * the words are. */
static void let_names_win(const struct selection *s, const struct binding *b, bool *shown)
{
	for (size_t i = 0; i < b->n_metrics; i++)
		for (size_t w = 0; w < 2 * s->n && !strncmp(b->metric[i].name, "idle.", 5) &&
				   listed("sysfs", b->metric[i].about->categories);
		     w++) {
			const struct selection_word *word = &s->word[w % s->n];
			bool hide = word->verb == SELECT_HIDE;

			if (hide == (w >= s->n) && is_exactly(word->word, &b->metric[i]))
				shown[i] = !hide;
		}
}

int selection_apply(const struct selection *s, const struct binding *b, const struct places *p, bool *shown,
		    struct buf *notes, struct error *e)
{
	SCOPED(scoped_free) uint32_t *at = in_place(b, s->joules);
	enum pm_kind who = PM_KINDS;

	for (size_t i = 0; (s->who == PM_TASK || s->who == PM_CGROUP) && i < b->n_metrics && who == PM_KINDS; i++)
		who = is_who(&b->metric[i], s->who) ? s->who : PM_KINDS;
	memset(shown, 0, b->n_metrics * sizeof(*shown));
	for (size_t i = 0; i < b->n_metrics; i++)
		shown[at[i]] |=
			(s->all && !b->metric[i].foreign && !(b->metric[i].absent && b->metric[i].unlikely)) ||
			(s->lenient && b->metric[i].added) ||
			(!s->has_show && (b->metric[i].added || is_default(&b->metric[i], who)));
	for (size_t w = 0; w < s->n; w++) {
		const struct selection_word *word = &s->word[w];
		bool found = false, exact = false, hide = word->verb == SELECT_HIDE;
		struct error near = { 0 };
		bool head = heads_metric(word->word, b);

		if (is_place(word->word))
			continue;
		for (size_t i = 0; i < b->n_metrics && !exact; i++)
			exact = is_exactly(word->word, &b->metric[i]) &&
				!is_passed_over(word->word, head, &b->metric[i]);
		for (size_t i = 0; i < b->n_metrics; i++) {
			if (b->metric[i].foreign && b->metric[i].unlikely && exact &&
			    is_exactly(word->word, &b->metric[i])) {
				found = true;
				if (notes && !hide)
					buf_printf(notes,
						   "'%s': this processor does not have it, or may not use it\n",
						   word->word);
			}
			if (is_passed_over(word->word, head, &b->metric[i]))
				continue;
			if (exact ? !is_exactly(word->word, &b->metric[i]) : !fits(word->word, hide, &b->metric[i]))
				continue;
			found = true;
			/* When turbostat hides a group, what the user added stays. */
			shown[at[i]] = !hide || (s->lenient && b->metric[i].added && !exact);
		}
		if (found || is_harmless(word->word) || selection_lacks(word->word, b, p, hide ? NULL : notes))
			continue;
		if (!hide && !s->lenient)
			return selection_unknown(word->word, b, p, e);
		/* Hiding what does not exist is harmless, but may be a typing error. */
		selection_unknown(word->word, b, p, &near);
		if (notes)
			buf_printf(notes, "%s%s\n", hide ? "nothing to hide: " : "", near.text);
	}
	if (s->lenient)
		let_names_win(s, b, shown);
	return 0;
}

static uint16_t why_absent(const struct binding *b, size_t i)
{
	return b->input[b->metric[i].input[0]].more->value.reason;
}

/* Columns that turbostat would show and that do not exist; or those that exist without any number. */
static bool is_missed(const struct binding *b, const bool *shown, bool there, size_t i)
{
	const struct bound_metric *m = &b->metric[i];

	return m->absent && shown[i] == there && (there || (!m->unlikely && !m->foreign && turbostat_shows(m)));
}

/* All that lack their numbers for the same reason as `i`, which is the first of them. */
static void note_alike(const struct binding *b, const bool *shown, bool there, size_t i, struct buf *out)
{
	struct listed heads = { 0 };

	for (size_t k = i; k < b->n_metrics; k++)
		if (is_missed(b, shown, there, k) && why_absent(b, k) == why_absent(b, i))
			listed_add(&heads, b->metric[k].display);
	listed_put(&heads, out);
	buf_printf(out, " (%s)", pm_reason_text(why_absent(b, i)));
}

void selection_note_absent(const struct selection *s, const struct binding *b, const bool *shown, struct buf *out)
{
	for (int there = s->has_show; there < 2; there++) {
		bool any = false;

		for (size_t i = 0; i < b->n_metrics; i++) {
			size_t first = 0;

			if (!is_missed(b, shown, there, i))
				continue;
			while (!is_missed(b, shown, there, first) || why_absent(b, first) != why_absent(b, i))
				first++;
			/* It was written with the first of its group. */
			if (first < i)
				continue;
			buf_addstr(out, any ? "; " : there ? "no numbers: " : "not shown: ");
			any = true;
			note_alike(b, shown, there, i, out);
		}
		if (any)
			buf_addstr(out, "; pmrep info says more\n");
	}
}
