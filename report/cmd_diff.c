/* pmrep diff: is it slower, and is that certain? */
#include "report/cmd.h"

#include <errno.h>
#include <langinfo.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/parse.h"
#include "report/diff/diff.h"
#include "common/memory.h"
#include "report/metric/vendor_files.h"
#include "report/pipeline/options_read.h"

#define NAME "pmrep diff"

/* ---- options ---- */

static const char brief[] =
	"Usage: pmrep diff [OPTION...] BASE NEW\n"
	"       pmrep diff [OPTION...] --base A1 A2 ... --new B1 B2 ...\n"
	"Is NEW slower than BASE, and is that certain? A verdict needs four runs or more on each side.\n\n"
	"  --base, --new FILE...        files or folders\n"
	"  --gate METRIC[:MARGIN],...   test only these; they decide the exit status\n"
	"  --margin=MARGIN              change that matters (2%)\n"
	"  --assume-run-sd=SD           how much runs vary, if there are few\n"
	"  --show, --hide, --enable=LIST  which metrics\n"
	"  --per-LEVEL                  every package, core, cpu ..., not only below what is flagged\n"
	"  --format=FORMAT              table, csv, json or markdown\n"
	"  --force                      compare different machines\n\n"
	"Examples:\n"
	"  pmrec -r 5 -o base.pmr make; pmrec -r 5 -o new.pmr make\n"
	"  pmrep diff --gate elapsed:1% base.pmr new.pmr\n"
	"Exit status: 0 no regression, 1 regressed, 2 error, 3 damaged input, 4 inconclusive.\n";

/* "2%" or "0.02". */
static int parse_share(const char *text, double *share)
{
	size_t len = strlen(text);
	char copy[32];
	bool percent = len && text[len - 1] == '%';

	len -= percent;
	if (!len || len >= sizeof(copy))
		return -EINVAL;
	memcpy(copy, text, len);
	copy[len] = 0;
	if (parse_double(copy, share))
		return -EINVAL;
	*share /= percent ? 100 : 1;
	return *share >= 0 && *share < 10 ? 0 : -ERANGE;
}

static int read_share(void *member, const char *arg, struct error *e)
{
	return parse_share(arg, member) ?
		       error_set(e, EINVAL, "'%s' is not a margin below 10, such as 2%% or 0.02", arg) :
		       0;
}

/* The margin follows the last ':' if it is a number: names of events have colons, too. */
static int set_gates(void *into, char *arg, struct error *e)
{
	SCOPED(selection_release) struct selection words = { 0 };
	struct diff_options *o = into;
	int err = selection_add(&words, SELECT_SHOW, arg, e);

	for (size_t i = 0; i < words.n && !err; i++) {
		char *word = words.word[i].word, *colon = strrchr(word, ':');
		struct diff_gate gate = { .margin = NAN };
		double margin;

		if (colon && !parse_share(colon + 1, &margin)) {
			gate.margin = margin;
			*colon = 0;
		}
		err = *word ? 0 : -EINVAL;
		gate.word = memory_text(word);
		memory_room(&o->gate, o->n_gates, sizeof(*o->gate));
		o->gate[o->n_gates++] = gate;
	}
	return err == -EINVAL ? error_set(e, EINVAL, "--gate: an empty name") : err;
}

#define OPTIONS_INTO struct diff_options
#define PER(kind)    BITS(per, 1u << (kind))
static const struct option_row rows[] = {
	{ .help = "Recordings:" },
	{ "base", 0, "FILE...", "the side to compare with: files or folders", LIST(path[DIFF_BASE]), .many = true },
	{ "new", 0, "FILE...", "the side to judge", LIST(path[DIFF_NEW]), .many = true },
	{ "force", 0, NULL, "compare recordings of different machines, too", FLAG(force) },
	{ .help = "Verdicts:" },
	{ "gate", 0, "METRIC[:MARGIN],...", "test only these metrics; they decide the exit status", CALL(gates) },
	{ "margin", 0, "MARGIN", "the relative change that matters, such as 2% or 0.02 (the metric's own, mostly 2%)",
	  READ(margin, read_share) },
	{ "assume-run-sd", 0, "SD",
	  "the relative standard deviation from run to run, for sides with fewer than four runs: 1%",
	  READ(run_sd, read_share) },
	{ "pairs", 0, NULL, "judge pairs: run 1 of one side with run 1 of the other, and so on", FLAG(pairs) },
	{ "alpha", 0, "ALPHA", "how often a verdict may be wrong (5%)", READ(alpha, read_share) },
	{ .help = "Metrics:" },
	{ "show", 's', "LIST", "compare only these: comma-separated names, globs or categories",
	  READ(selection, read_show) },
	{ "hide", 'H', "LIST", "leave these out", READ(selection, read_hide) },
	{ "enable", 'e', "LIST", "compare these too", READ(selection, read_enable) },
	{ "all", 0, NULL, "compare all metrics and counters", FLAG(all) },
	{ "metrics-file", 0, "FILE|DIR", "more metrics, in perf's JSON schema", READ(vendor, read_vendor_file) },
	{ "rate", 0, NULL, "raw counters per second, even if a command was recorded", FLAG(rate) },
	{ .help = "Places (by default only below a flagged metric):" },
	OPTIONS_PER(PER, "every"),
	{ .help = "Output:" },
	{ "format", 0, "table|csv|json|markdown", "table (default), csv, json or markdown", WORD(format) },
	{ 0 },
};

/* Recordings without a side, and shares without a meaning. */
static int operands(void *into, int n, char **operand, struct error *e)
{
	struct diff_options *o = into;

	o->place = operand;
	o->n_places = (size_t)n;
	if (o->run_sd <= 0)
		return error_set(e, EINVAL, "--assume-run-sd: give a deviation above 0, such as 1%%");
	if (!(o->alpha > 0) || !(o->alpha < 1))
		return error_set(e, EINVAL, "--alpha: give a probability between 0 and 1, such as 5%%");
	return 0;
}

const struct options_spec diff_spec = {
	.name = "pmrep diff",
	.rows = rows,
	.operands = operands,
	.operands_doc = "BASE NEW",
	.brief = brief,
	.paged = options_always_paged,
};

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
