/* pmrep diff: is it slower, and is that certain? */
#include "report/cmd.h"

#include <langinfo.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "report/diff/diff.h"

#define NAME "pmrep diff"

/* ---- before the numbers ---- */

static void complain_notes(struct diff_recordings *r)
{
	for (size_t i = 0; i < r->n; i++) {
		cmd_complain_lines(NAME, r->recording[i].path, &r->recording[i].notes);
		buf_clear(&r->recording[i].notes);
	}
}

/* Incomplete recordings take part with what is readable. */
static void complain_incomplete(const struct diff_recordings *r)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct diff_recording *one = &r->recording[i];

		if (one->snapshots < 2)
			cmd_complain(NAME, "%s: has no interval; left out", one->path);
		else if (one->damaged || (one->cut && !one->open))
			cmd_complain(NAME, "%s: %s; what is readable is used", one->path,
				     one->damaged ? "damaged" : "cut: its end is missing");
	}
}

static bool comparable(const struct diff_environment *env, const struct diff_options *o)
{
	for (size_t i = 0; i < env->n; i++) {
		const struct diff_difference *d = &env->difference[i];

		if (d->meaningless || o->format == DIFF_CSV || (env->meaningless && !o->force))
			cmd_complain(NAME, "%s differs: %s and %s", d->name, d->side[DIFF_BASE], d->side[DIFF_NEW]);
	}
	if (!env->meaningless || o->force)
		return true;
	cmd_complain(NAME, "their numbers are not comparable; --force compares them anyway");
	return false;
}

/* ---- after them ---- */

/* If one name has several units, each is a metric of its own, and is not compared. */
static void complain_units(const struct diff_data *d)
{
	for (size_t i = 0; i < d->n; i++)
		for (size_t k = 0; k < i && d->series[i].place.kind == PM_SYSTEM; k++)
			if (d->series[k].place.kind == PM_SYSTEM && !strcmp(d->series[i].metric, d->series[k].metric))
				cmd_complain(NAME,
					     "%s is in '%s' in some recordings and in '%s' in others: these are not "
					     "compared",
					     d->series[i].metric, d->series[k].unit, d->series[i].unit);
}

/* Whether any number of one side exists on the other. */
static bool have_common(const struct diff_data *d, const struct diff_recordings *r)
{
	for (size_t i = 0; i < d->n; i++) {
		const struct diff_series *s = &d->series[i];
		bool has[DIFF_SIDES] = { false, false };

		for (uint32_t k = 0; k < s->n; k++)
			has[r->recording[s->value[k].recording].side] |= !isnan(s->value[k].v);
		if (has[DIFF_BASE] && has[DIFF_NEW])
			return true;
	}
	return false;
}

/* Complains about a word that names nothing. */
static bool is_known(const char *option, const char *word, bool known)
{
	const char *names[4096] = { "elapsed", "user", "system", "max_rss" }, *near;
	size_t n = 4;

	if (known)
		return true;
	for (const struct metric_table *t = metric_tables; t->row; t++)
		for (size_t i = 0; i < t->n && n + 2 < sizeof(names) / sizeof(*names); i++) {
			names[n++] = t->row[i].name;
			if (t->row[i].display)
				names[n++] = t->row[i].display;
		}
	near = options_nearest(word, names, n);
	if (near && strcmp(near, word))
		cmd_complain(NAME, "%s: no recording has '%s'; did you mean '%s'?", option, word, near);
	else
		cmd_complain(NAME, "%s: no recording has '%s'; pmrep list metrics FILE lists them", option, word);
	return false;
}

/* An unknown word would leave out something that was requested, or judge it the wrong way. */
static bool words_exist(const struct diff_options *o, const struct diff_data *d)
{
	static const char *const option[] = {
		[SELECT_SHOW] = "--show",
		[SELECT_HIDE] = "--hide",
		[SELECT_ENABLE] = "--enable",
	};
	bool all = true;

	for (size_t i = 0; i < d->n; i++)
		if (d->series[i].n && d->series[i].gate)
			d->series[i].gate->known = true;
	for (size_t i = 0; i < o->n_gates; i++)
		all &= is_known("--gate", o->gate[i].word, o->gate[i].known);
	for (size_t i = 0; i < o->selection.n && !o->n_gates; i++) {
		const struct selection_word *w = &o->selection.word[i];

		all &= is_known(option[w->verb], w->word, w->known) || w->verb == SELECT_HIDE;
	}
	return all;
}

static bool is_damaged(const struct diff_recordings *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->recording[i].damaged || (r->recording[i].cut && !r->recording[i].open))
			return true;
	return false;
}

/* Says which runs of which side failed, unless none did. */
static void put_failures(const struct diff_recordings *r, struct buf *out)
{
	for (enum diff_side side = 0; side < DIFF_SIDES; side++) {
		size_t failed = 0, all = 0;
		const struct diff_recording *first = NULL;

		for (size_t i = 0; i < r->n; i++)
			for (uint32_t k = 0; k < r->recording[i].n_runs && r->recording[i].side == side; k++) {
				if (r->recording[i].run[k].failed && !failed++)
					first = &r->recording[i];
				all++;
			}
		if (failed)
			buf_printf(out,
				   "FAILED: %zu of %zu runs of the %s (%s: exit status %s); they do not count "
				   "towards verdicts\n",
				   failed, all, side == DIFF_BASE ? "base" : "new side", first->path,
				   first->fact[DIFF_EXIT] ? first->fact[DIFF_EXIT] : "other than 0");
	}
}

struct comparison {
	struct diff_options o; /* first: the rows of the options fill it */
	struct diff_recordings recordings;
	struct diff_data data;
	struct diff_results results;
};

static int compare(void *input, const struct options_common *common)
{
	struct comparison *c = input;
	SCOPED(buf_release) struct buf failures = BUF_INIT, out = BUF_INIT;
	struct diff_report x = {
		.o = &c->o,
		.recordings = &c->recordings,
		.results = &c->results,
		.width = cmd_width(STDOUT_FILENO),
		.colors = options_use_color(common, STDOUT_FILENO),
		.utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8"),
	};
	struct error e = { 0 };

	if (diff_find(&c->recordings, &c->o, &e))
		return cmd_fail(NAME, &e);
	complain_notes(&c->recordings);
	complain_incomplete(&c->recordings);
	if (!comparable(&c->recordings.environment, &c->o))
		return EXIT_TROUBLE;
	if (diff_collect(&c->data, &c->recordings, &c->o, &e))
		return cmd_fail(NAME, &e);
	complain_notes(&c->recordings);
	put_failures(&c->recordings, &failures);
	if (failures.len)
		x.failures = buf_str(&failures);
	if (x.failures && c->o.format == DIFF_CSV)
		fputs(x.failures, stderr);
	complain_units(&c->data);
	if (!words_exist(&c->o, &c->data))
		return EXIT_TROUBLE;
	if (!have_common(&c->data, &c->recordings)) {
		cmd_complain(NAME, "the two sides have no metric in common: there is nothing to compare");
		return EXIT_TROUBLE;
	}
	diff_judge(&c->results, &c->data, &c->recordings, &c->o);
	x.status = c->results.failed || x.failures ? EXIT_NEGATIVE :
		   is_damaged(&c->recordings)      ? EXIT_DAMAGED :
		   c->results.inconclusive         ? EXIT_INCONCLUSIVE :
						     EXIT_GOOD;
	diff_print(&x, &out);
	buf_carry(&out, &failures);
	cmd_write(&out);
	return x.status;
}

int cmd_diff(int argc, char **argv)
{
	struct comparison c = { .o = DIFF_OPTIONS_INIT };
	int status = cmd_run(&diff_spec, argc, argv, &c, compare);

	cmd_complain_skipped(NAME, c.o.vendor);
	diff_results_release(&c.results);
	diff_data_release(&c.data);
	diff_recordings_release(&c.recordings);
	diff_options_release(&c.o);
	return status;
}
