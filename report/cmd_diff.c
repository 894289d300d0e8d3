/* pmrep diff: is it slower, and is that certain? */
#include "report/cmd.h"
#include "report/commands.h"

#include <langinfo.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "report/diff/diff_collect.h"
#include "report/diff/diff_environment.h"
#include "report/diff/diff_input.h"
#include "report/diff/diff_judge.h"
#include "report/diff/diff_noise.h"
#include "report/diff/diff_output.h"
#include "report/diff/options_diff.h"

#define NAME "pmrep diff"

/* ---- before the numbers ---- */

/* Incomplete recordings take part with what is readable, unless that is refused. False: refused. */
static bool admit(struct diff_recordings *r, const struct diff_options *o)
{
	bool good = true;

	for (size_t i = 0; i < r->n; i++) {
		struct diff_recording *one = &r->recording[i];
		const char *what = one->damaged           ? "damaged" :
				   one->cut && !one->open ? "cut: its end is missing" :
							    NULL;

		cmd_complain_lines(NAME, one->path, &one->notes);
		buf_clear(&one->notes);
		if (one->snapshots < 2)
			what = "has no interval";
		if (!what)
			continue;
		cmd_complain(NAME, "%s: %s%s", one->path, what,
			     o->strict          ? "" :
			     one->snapshots < 2 ? "; left out" :
						  "; what is readable is used");
		good &= !o->strict;
	}
	return good;
}

static bool comparable(const struct diff_environment *env, const struct diff_options *o)
{
	for (size_t i = 0; i < env->n; i++) {
		const struct diff_difference *d = &env->difference[i];
		bool in_output = o->format != DIFF_CSV && o->format != DIFF_JUNIT && (o->force || !env->meaningless);

		if (d->meaningless || !in_output)
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

static bool has_side(const struct diff_series *s, const struct diff_recordings *r, enum diff_side side)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (r->recording[s->value[i].recording].side == side && !isnan(s->value[i].v))
			return true;
	return false;
}

/* Whether any number of one side exists on the other. */
static bool have_common(const struct diff_data *d, const struct diff_recordings *r)
{
	for (size_t i = 0; i < d->n; i++)
		if (has_side(&d->series[i], r, DIFF_BASE) && has_side(&d->series[i], r, DIFF_NEW))
			return true;
	return false;
}

static const char *nearest_metric(const char *word)
{
	const char *names[4096] = { "elapsed", "user", "system", "max_rss" };
	size_t n = 4;

	for (const struct metric_table *t = metric_tables; t->row; t++)
		for (size_t i = 0; i < t->n && n + 2 < sizeof(names) / sizeof(*names); i++) {
			names[n++] = t->row[i].name;
			if (t->row[i].display)
				names[n++] = t->row[i].display;
		}
	return options_nearest(word, names, n);
}

/* Checks for gates that match nothing in any recording. */
static bool gates_exist(const struct diff_options *o, const struct diff_data *d)
{
	for (size_t g = 0; g < o->n_gates; g++) {
		const char *word = o->gate[g].word, *near;
		bool found = false;

		for (size_t i = 0; i < d->n && !found; i++)
			found = d->series[i].n && d->series[i].gate == &o->gate[g];
		if (found)
			continue;
		near = nearest_metric(word);
		if (near && strcmp(near, word))
			cmd_complain(NAME, "--gate: no recording has '%s'; did you mean '%s'?", word, near);
		else
			cmd_complain(NAME, "--gate: no recording has '%s'; pmrep list metrics FILE lists them", word);
		return false;
	}
	return true;
}

static bool word_exists(const char *option, const struct selection_word *w)
{
	const char *near = w->known ? NULL : nearest_metric(w->word);

	if (w->known)
		return true;
	if (near && strcmp(near, w->word))
		cmd_complain(NAME, "%s: no recording has '%s'; did you mean '%s'?", option, w->word, near);
	else
		cmd_complain(NAME, "%s: no recording has '%s'; pmrep list metrics FILE lists them", option, w->word);
	return w->verb == SELECT_HIDE;
}

/* An unknown word would leave out something that was requested, or judge it the wrong way. */
static bool words_exist(const struct diff_options *o)
{
	static const char *const option[] = {
		[SELECT_SHOW] = "--show",
		[SELECT_HIDE] = "--hide",
		[SELECT_ENABLE] = "--enable",
	};
	bool all = true;

	for (size_t i = 0; i < o->selection.n && !o->n_gates; i++)
		all &= word_exists(option[o->selection.word[i].verb], &o->selection.word[i]);
	for (size_t i = 0; i < o->lower.n; i++)
		all &= word_exists("--lower", &o->lower.word[i]);
	for (size_t i = 0; i < o->higher.n; i++)
		all &= word_exists("--higher", &o->higher.word[i]);
	return all;
}

static bool is_damaged(const struct diff_recordings *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->recording[i].damaged || (r->recording[i].cut && !r->recording[i].open))
			return true;
	return false;
}

/* Says which runs of which side failed, unless none did or failures are permitted. */
static void tell_failures(const struct diff_recordings *r, const struct diff_options *o, struct buf *out)
{
	for (int side = 0; side < DIFF_SIDES; side++) {
		size_t failed = 0, all = 0;
		const struct diff_recording *first = NULL;

		for (size_t i = 0; i < r->n; i++) {
			for (uint32_t k = 0; k < r->recording[i].n_runs && (int)r->recording[i].side == side; k++) {
				bool counts = diff_counts(&r->recording[i].run[k], o);

				first = counts || first ? first : &r->recording[i];
				failed += !counts;
				all++;
			}
		}
		if (failed)
			buf_printf(out,
				   "FAILED: %zu of %zu runs of the %s (%s: exit status %s); they do not count "
				   "towards verdicts\n",
				   failed, all, side == DIFF_BASE ? "base" : "new side", first->path,
				   first->fact[DIFF_EXIT] ? first->fact[DIFF_EXIT] : "other than 0");
	}
}

static int status_of(const struct diff_results *results, const struct diff_recordings *r, const struct buf *failures)
{
	return results->failed || failures->len ? EXIT_NEGATIVE :
	       is_damaged(r)                    ? EXIT_DAMAGED :
	       results->inconclusive            ? EXIT_INCONCLUSIVE :
						  EXIT_GOOD;
}

static int print(const struct diff_report *x)
{
	SCOPED(buf_release) struct buf out = BUF_INIT;
	int status = x->status, err;

	switch (x->o->format) {
	case DIFF_CSV:
		err = diff_print_csv(x, &out);
		break;
	case DIFF_JSON:
		err = diff_print_json(x, &out);
		break;
	case DIFF_MARKDOWN:
		err = diff_print_markdown(x, &out);
		break;
	case DIFF_JUNIT:
		err = diff_print_junit(x, &out);
		break;
	default:
		err = diff_print_table(x, &out);
	}
	if (err) {
		status = cmd_no_memory(NAME);
	} else if (cmd_write(NAME, &out)) {
		status = EXIT_TROUBLE;
	}
	return status;
}

static bool few_runs(const struct diff_recordings *r)
{
	size_t runs[DIFF_SIDES] = { 0 };

	for (size_t i = 0; i < r->n; i++)
		runs[r->recording[i].side] += r->recording[i].n_runs;
	return runs[DIFF_BASE] < VERDICT_RUNS || runs[DIFF_NEW] < VERDICT_RUNS;
}

struct comparison {
	struct diff_options *o;
	struct diff_recordings recordings;
	struct diff_environment environment;
	struct diff_data data;
	struct diff_results results;
	struct diff_noise noise;
	struct buf failures;
};

static struct diff_report report_of(const struct comparison *c, const struct options_common *common)
{
	return (struct diff_report){
		.o = c->o,
		.recordings = &c->recordings,
		.environment = &c->environment,
		.results = &c->results,
		.width = cmd_width(STDOUT_FILENO),
		.colors = options_use_color(common, STDOUT_FILENO),
		.utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8"),
	};
}

static int judge(struct comparison *c, const struct options_common *common)
{
	struct diff_report x = report_of(c, common);
	struct error e = { 0 };

	tell_failures(&c->recordings, c->o, &c->failures);
	if (c->failures.err)
		return cmd_no_memory(NAME);
	if (c->failures.len)
		x.failures = buf_str(&c->failures);
	if (x.failures && c->o->format == DIFF_CSV)
		fputs(x.failures, stderr);
	complain_units(&c->data);
	if (!words_exist(c->o) || !gates_exist(c->o, &c->data))
		return EXIT_TROUBLE;
	if (!have_common(&c->data, &c->recordings)) {
		cmd_complain(NAME, "the two sides have no metric in common: there is nothing to compare");
		return EXIT_TROUBLE;
	}
	if (c->o->save_noise && diff_noise_save(&c->data, &c->recordings, c->o, &e))
		return cmd_fail(NAME, &e);
	if (diff_judge(&c->results, &c->data, &c->recordings, c->o, &c->noise, &e))
		return cmd_fail(NAME, &e);
	x.status = status_of(&c->results, &c->recordings, &c->failures);
	return print(&x);
}

static int compare(struct comparison *c, const struct options_common *common)
{
	struct diff_options *o = c->o;
	struct error e = { 0 };

	if ((o->noise && diff_noise_load(&c->noise, o->noise, &e)) || diff_find(&c->recordings, o, &e) ||
	    diff_scan(&c->recordings, o, &e) || diff_check(&c->recordings, &e))
		return cmd_fail(NAME, &e);
	if (!admit(&c->recordings, o))
		return EXIT_DAMAGED;
	if (diff_environment_compare(&c->environment, &c->recordings) || diff_find_order(&c->recordings, o))
		return cmd_no_memory(NAME);
	if (!comparable(&c->environment, o))
		return EXIT_TROUBLE;
	if (diff_collect(&c->data, &c->recordings, o, few_runs(&c->recordings), &e))
		return cmd_fail(NAME, &e);
	for (size_t i = 0; i < c->recordings.n; i++) {
		cmd_complain_lines(NAME, c->recordings.recording[i].path, &c->recordings.recording[i].notes);
		buf_clear(&c->recordings.recording[i].notes);
	}
	/* Damage within values shows only when they are read. */
	if (o->strict && is_damaged(&c->recordings)) {
		cmd_complain(NAME, "--strict: a recording is damaged");
		return EXIT_DAMAGED;
	}
	return judge(c, common);
}

int cmd_diff(int argc, char **argv)
{
	struct options_common common = { 0 };
	struct diff_options o;
	struct comparison c = { .o = &o, .failures = BUF_INIT };
	int status;

	diff_options_init(&o);
	status = cmd_options(&diff_spec, argc, argv, &o, &common);
	if (status < 0)
		status = compare(&c, &common);
	cmd_complain_skipped(NAME, o.vendor);
	buf_release(&c.failures);
	diff_results_release(&c.results);
	diff_data_release(&c.data);
	diff_environment_release(&c.environment);
	diff_recordings_release(&c.recordings);
	diff_noise_release(&c.noise);
	diff_options_release(&o);
	options_common_release(&common);
	return status;
}
