/* pmrep diff: is it slower, and is that certain? */
#include "report/cmd.h"

#include <errno.h>
#include <langinfo.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/json.h"
#include "common/memory.h"
#include "common/number.h"
#include "common/parse.h"
#include "common/table.h"
#include "report/diff/diff.h"
#include "report/exit.h"
#include "report/export/exporter.h"
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

/* ---- output: for programs one list of facts per metric, for people one layout, as a table or as markdown ---- */

struct diff_report {
	const struct diff *d;
	const char *failures; /* lines on runs that failed; NULL: none */
	int status;           /* exit code */
	unsigned width;       /* of the terminal; 0: none */
	bool colors;
	bool utf8; /* of the terminal */
};

struct fact {
	const char *name;
	enum { FACT_TEXT, FACT_REAL, FACT_COUNT, FACT_FLAG } kind;
	const char *text; /* NULL: none */
	double number;    /* NaN: none */
	bool json_only;
};
#define FACTS 32

static size_t list_facts(const struct diff_result *r, struct fact out[static FACTS])
{
	const struct verdict *v = &r->v;
	const struct fact all[] = {
		{ "metric", FACT_TEXT, r->series->metric },
		{ "scope", FACT_TEXT, pm_kind_name(r->series->place.kind) },
		{ "place", FACT_TEXT, r->series->where },
		{ "unit", FACT_TEXT, r->series->unit },
		{ "better", FACT_TEXT,
		  r->rules.better == METRIC_LOWER  ? "lower" :
		  r->rules.better == METRIC_HIGHER ? "higher" :
						     NULL },
		{ "gated", FACT_FLAG, NULL, r->gated },
		{ "explained_by_run_sd", FACT_REAL, NULL, v->spread, .json_only = true },
		{ "verdict", FACT_TEXT, verdict_name(v->kind) },
		{ "base", FACT_REAL, NULL, v->base },
		{ "new", FACT_REAL, NULL, v->fresh },
		{ "ratio", FACT_REAL, NULL, v->ratio },
		{ "low", FACT_REAL, NULL, v->low },
		{ "high", FACT_REAL, NULL, v->high },
		{ "p", FACT_REAL, NULL, v->p },
		{ "q", FACT_REAL, NULL, v->q },
		{ "p_permutation", FACT_REAL, NULL, v->ranks },
		{ "n_base", FACT_COUNT, NULL, (double)v->n_base },
		{ "n_new", FACT_COUNT, NULL, (double)v->n_fresh },
		{ "margin", FACT_REAL, NULL, r->rules.margin },
		{ "run_sd", FACT_REAL, NULL, v->within ? r->rules.run_sd : NAN },
		{ "logarithmic", FACT_FLAG, NULL, v->logarithmic, .json_only = true },
		{ "runs_needed", FACT_COUNT, NULL, v->needed ? (double)v->needed : NAN },
		{ "why", FACT_TEXT, r->why },
	};

	memcpy(out, all, sizeof(all));
	return sizeof(all) / sizeof(*all);
}

static void put_exact(struct buf *out, double v)
{
	char text[NUMBER_MAX];

	if (isfinite(v))
		buf_add(out, text, export_number(text, v));
}

static void print_csv(const struct diff_report *x, struct buf *out)
{
	struct diff_series nothing = { .metric = (char *)"" };
	struct diff_result head = { .series = &nothing };
	struct fact fact[FACTS];
	size_t n = list_facts(&head, fact);

	for (size_t k = 0; k < n; k++)
		if (!fact[k].json_only)
			buf_printf(out, "%s,", fact[k].name);
	buf_addstr(out, "runs\n");
	for (size_t i = 0; i < x->d->results.n; i++) {
		const struct diff_result *r = &x->d->results.result[i];

		list_facts(r, fact);
		for (size_t k = 0; k < n; k++) {
			if (fact[k].json_only)
				continue;
			if (fact[k].kind == FACT_FLAG)
				buf_addstr(out, fact[k].number > 0 ? "yes" : "no");
			else if (fact[k].kind != FACT_TEXT)
				put_exact(out, fact[k].number);
			else if (fact[k].text)
				export_csv_field(out, fact[k].text);
			buf_addch(out, ',');
		}
		for (size_t k = 0; k < r->n[DIFF_BASE] + r->n[DIFF_NEW]; k++) {
			buf_addstr(out, !k ? "" : k == r->n[DIFF_BASE] ? " | " : " ");
			put_exact(out, r->value[k]);
		}
		buf_addch(out, '\n');
	}
}

static struct json *json_side(const struct diff_report *x, enum diff_side side)
{
	struct json *all = json_new_array();

	for (size_t i = 0; i < x->d->recordings.n; i++) {
		const struct diff_recording *r = &x->d->recordings.recording[i];
		struct json *one;

		if (r->side != side)
			continue;
		one = json_new_object();
		json_put(one, "recording", json_new_text(r->path));
		json_put(one, "runs", json_new_u64(r->n_runs));
		json_put(one, "snapshots", json_new_u64(r->snapshots));
		json_put(one, "lost_ticks", json_new_u64(r->lost_ticks));
		json_put(one, "doubtful", json_new_u64(r->doubtful));
		json_put(one, "damaged", json_new_bool(r->damaged));
		json_put(one, "cut", json_new_bool(r->cut));
		json_push(all, one);
	}
	return all;
}

static struct json *json_environment(const struct diff_environment *env)
{
	struct json *all = json_new_array();

	for (size_t i = 0; i < env->n; i++) {
		struct json *one = json_new_object();

		json_put(one, "what", json_new_text(env->difference[i].name));
		json_put(one, "base", json_new_text(env->difference[i].side[DIFF_BASE]));
		json_put(one, "new", json_new_text(env->difference[i].side[DIFF_NEW]));
		json_put(one, "meaningless", json_new_bool(env->difference[i].meaningless));
		json_push(all, one);
	}
	return all;
}

static struct json *json_result(const struct diff_result *r)
{
	struct json *one = json_new_object(), *runs[DIFF_SIDES] = { json_new_array(), json_new_array() };
	struct fact fact[FACTS];

	for (size_t k = 0, n = list_facts(r, fact); k < n; k++) {
		const struct fact *f = &fact[k];

		json_put(one, f->name,
			 f->kind == FACT_FLAG                       ? json_new_bool(f->number > 0) :
			 f->kind == FACT_COUNT && !isnan(f->number) ? json_new_u64((uint64_t)f->number) :
			 f->kind != FACT_TEXT                       ? json_new_f64(f->number) :
			 f->text                                    ? json_new_text(f->text) :
								      json_new_null());
	}
	for (size_t i = 0; i < r->n[DIFF_BASE] + r->n[DIFF_NEW]; i++)
		json_push(runs[i >= r->n[DIFF_BASE]], json_new_f64(r->value[i]));
	json_put(one, "base_runs", runs[DIFF_BASE]);
	json_put(one, "new_runs", runs[DIFF_NEW]);
	return one;
}

static void print_json(const struct diff_report *x, struct buf *out)
{
	static const char *const order[] = { [DIFF_BASE_FIRST] = "base first",
					     [DIFF_NEW_FIRST] = "new first",
					     [DIFF_MIXED] = "mixed",
					     [DIFF_TURNS] = "in turn" };
	const struct diff_recordings *r = &x->d->recordings;
	SCOPED(json_scoped) struct json *whole = json_new_object();
	struct json *boots = json_new_object(), *all = json_new_array();

	json_put(boots, "base", json_new_u64(r->boots[DIFF_BASE]));
	json_put(boots, "new", json_new_u64(r->boots[DIFF_NEW]));
	json_put(boots, "shared", json_new_u64(r->boots_shared));
	json_put(whole, "base", json_side(x, DIFF_BASE));
	json_put(whole, "new", json_side(x, DIFF_NEW));
	json_put(whole, "order", order[r->order] ? json_new_text(order[r->order]) : json_new_null());
	json_put(whole, "boots", boots);
	json_put(whole, "differences", json_environment(&x->d->recordings.environment));
	for (size_t i = 0; i < x->d->results.n; i++)
		json_push(all, json_result(&x->d->results.result[i]));
	json_put(whole, "failures", x->failures ? json_new_text(x->failures) : json_new_null());
	json_put(whole, "results", all);
	json_put(whole, "exit", json_new_u64((uint64_t)x->status));
	json_print(whole, 2, out);
	buf_addch(out, '\n');
}

/* ---- for people ---- */

/* Prints and frees a table, and a blank line below it. */
static void end_table(struct table *t, const struct diff_report *x, bool markdown, struct buf *out)
{
	size_t before = out->len;

	if (markdown)
		table_markdown(t, out);
	else
		table_print(t, x->width, true, x->colors, out);
	if (out->len > before)
		buf_addch(out, '\n');
	table_free(t);
}

/* One character per run, by height, the sides separate. */
static void put_runs(struct buf *out, const struct diff_result *r, bool utf8)
{
	static const char *const bar[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	size_t n = r->n[DIFF_BASE] + r->n[DIFF_NEW];
	double low = INFINITY, high = -INFINITY;

	for (size_t i = 0; i < n; i++) {
		low = fmin(low, r->value[i]);
		high = fmax(high, r->value[i]);
	}
	for (size_t i = 0; i < n && n <= 64; i++) {
		unsigned step = high > low ? (unsigned)((r->value[i] - low) / (high - low) * 7.999) : 3;

		if (i == r->n[DIFF_BASE])
			buf_addch(out, ' ');
		if (utf8)
			buf_addstr(out, bar[step]);
		else
			buf_addch(out, (char)('1' + step));
	}
}

/* Numbers of both sides, and what else may differ between them, a sentence each. */
static void put_sides(struct buf *out, const struct diff_report *x)
{
	const struct diff_recordings *r = &x->d->recordings;
	size_t runs[DIFF_SIDES] = { 0 }, files[DIFF_SIDES] = { 0 };
	bool all_shared = r->boots_shared == r->boots[DIFF_BASE] && r->boots_shared == r->boots[DIFF_NEW];

	for (size_t i = 0; i < r->n; i++) {
		runs[r->recording[i].side] += r->recording[i].n_runs;
		files[r->recording[i].side]++;
	}
	buf_printf(out, "base: %zu run%s of %zu recording%s; new: %zu run%s of %zu recording%s", runs[DIFF_BASE],
		   plural(runs[DIFF_BASE]), files[DIFF_BASE], plural(files[DIFF_BASE]), runs[DIFF_NEW],
		   plural(runs[DIFF_NEW]), files[DIFF_NEW], plural(files[DIFF_NEW]));
	if (r->boots[DIFF_BASE] + r->boots[DIFF_NEW] - r->boots_shared > 1 && !x->d->o.pairs)
		buf_printf(out, "\nBoots: %u of the base, %u of the new side; %s.", r->boots[DIFF_BASE],
			   r->boots[DIFF_NEW],
			   all_shared ? "their effects on both sides are removed" :
					"each counts as one run, because boots differ");
	if (r->order == DIFF_BASE_FIRST || r->order == DIFF_NEW_FIRST)
		buf_printf(out, "\nAll runs of the %s came first: a drift would look like a change.",
			   r->order == DIFF_BASE_FIRST ? "base" : "new side");
	buf_addstr(out, "\n\n");
}

/* A text of a recording within a sentence. */
static void put_text(struct buf *out, const char *text, bool markdown)
{
	if (markdown)
		text_markdown(out, text);
	else
		text_escape(out, text, strlen(text));
}

/* What is still undecided, and how many runs would decide it. */
static void put_undecided(struct buf *out, const struct diff_results *all, bool markdown)
{
	const struct diff_result *most = NULL;
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++) {
		const struct diff_result *r = &all->result[i];

		if (!r->decides || !diff_open(r))
			continue;
		buf_addstr(out, n++ ? ", " : ": undecided: ");
		put_text(out, r->series->metric, markdown);
		if (r->v.needed > (most ? most->v.needed : 0))
			most = r;
	}
	if (most)
		buf_printf(out, "; about %zu %s per side would decide", most->v.needed, diff_unit(most));
}

/* Whether nothing changed, as far as can be told: such results share one line. */
static bool is_folded(const struct diff_result *r)
{
	return !r->gated && (r->v.kind == VERDICT_SAME || (r->v.kind == VERDICT_INCONCLUSIVE && r->v.capped));
}

static void put_folded(struct buf *out, const struct diff_results *all, enum verdict_kind kind, bool markdown)
{
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++) {
		const struct diff_result *r = &all->result[i];

		if (!is_folded(r) || r->v.kind != kind)
			continue;
		buf_printf(out, "%s%s", n ? ", " : verdict_name(kind), n ? "" : ": ");
		n++;
		put_text(out, r->series->metric, markdown);
		buf_addstr(out, r->series->where[0] ? " of " : "");
		put_text(out, r->series->where, markdown);
	}
	if (n)
		buf_addch(out, '\n');
}

/* "2 REGRESSED, 30 SAME of the 32 with a better direction", and what that means for the exit code. */
static void put_summary(struct buf *out, const struct diff_report *x, bool markdown)
{
	static const enum verdict_kind order[] = { VERDICT_REGRESSED, VERDICT_CHANGED,      VERDICT_IMPROVED,
						   VERDICT_SAME,      VERDICT_INCONCLUSIVE, VERDICT_ABSENT };
	size_t n = 0;

	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++) {
		size_t some = x->d->results.count[order[i]];

		if (some)
			buf_printf(out, "%s%zu %s", n ? ", " : "", some, verdict_name(order[i]));
		n += some;
	}
	if (n && x->d->results.neutral)
		buf_printf(out, " of the %zu with a better direction", n);
	if (!n)
		buf_addstr(out, "nothing to judge by: all metrics with a better direction are 0");
	buf_addstr(out, x->failures                    ? ": FAILED" :
			x->status == EXIT_NEGATIVE     ? x->d->o.n_gates ? ": the gate fails" : ": regressed" :
			x->status == EXIT_INCONCLUSIVE ? "" :
			x->status == EXIT_DAMAGED      ? ": damaged input was used" :
			x->d->o.n_gates                ? ": the gate holds" :
							 ": no regression");
	if (x->status == EXIT_INCONCLUSIVE)
		put_undecided(out, &x->d->results, markdown);
	buf_addch(out, '\n');
}

enum { METRIC, PLACE, BASE, NEW, UNIT, RATIO, LIMITS, P, Q, N, VERDICT, RUNS, WHY, COLUMNS };

static void put_column(struct buf *out, int column, const struct diff_result *r, bool utf8)
{
	const struct verdict *v = &r->v;
	const char *const text[COLUMNS] = {
		[METRIC] = r->series->metric,
		[PLACE] = r->series->where[0] ? r->series->where : "system",
		[UNIT] = r->series->unit,
		[VERDICT] = verdict_name(v->kind),
		[WHY] = r->why,
	};
	const double number[COLUMNS] = {
		[BASE] = v->base, [NEW] = v->fresh, [RATIO] = v->ratio, [P] = v->p, [Q] = v->q,
	};

	if (text[column])
		buf_addstr(out, text[column]);
	else if (column == LIMITS && !isnan(v->low + v->high))
		buf_printf(out, "%.4f..%.4f", v->low, v->high);
	else if (column == N)
		buf_printf(out, "%zu+%zu", v->n_base, v->n_fresh);
	else if (column == RUNS)
		put_runs(out, r, utf8);
	else if (column != LIMITS && !isnan(number[column]))
		buf_printf(out,
			   column == RATIO            ? "%.4f" :
			   column == P || column == Q ? "%.2g" :
							"%.5g",
			   number[column]);
	if (!out->len)
		buf_addch(out, '-');
}

static void put_differences(const struct diff_report *x, bool markdown, struct buf *out)
{
	static const char *const head[] = { "DIFFERS", "BASE", "NEW" };
	struct table *t = table_new();

	for (int c = 0; c < 3; c++)
		table_column(t, head[c], TABLE_LEFT, c);
	for (size_t i = 0; i < x->d->recordings.environment.n; i++) {
		const struct diff_difference *d = &x->d->recordings.environment.difference[i];

		table_row(t);
		table_cell(t, d->name, d->meaningless ? "31;1" : "33");
		for (int s = 0; s < DIFF_SIDES; s++)
			table_cell(t, d->side[s], NULL);
	}
	end_table(t, x, markdown, out);
}

static void put_results(const struct diff_report *x, bool markdown, const char *why_all, struct buf *out)
{
	static const char *const color[] = { [VERDICT_REGRESSED] = "31;1",
					     [VERDICT_IMPROVED] = "32",
					     [VERDICT_CHANGED] = "33",
					     [VERDICT_INCONCLUSIVE] = "2",
					     [VERDICT_ABSENT] = "2" };
	char interval[32];
	const char *const head[COLUMNS] = { "METRIC", "PLACE", "BASE", "NEW",     "UNIT", "RATIO", interval,
					    "P",      "Q",     "N",    "VERDICT", "RUNS", "WHY" };
	const unsigned right = 1 << BASE | 1 << NEW | 1 << RATIO | 1 << P | 1 << Q | 1 << N;
	SCOPED(buf_release) struct buf text = BUF_INIT;
	struct table *t = table_new();
	bool places = false;

	snprintf(interval, sizeof(interval), "%.3g %% INTERVAL", 100 * (1 - x->d->o.alpha));
	for (size_t i = 0; i < x->d->results.n; i++)
		places |= !is_folded(&x->d->results.result[i]) &&
			  x->d->results.result[i].series->place.kind != PM_SYSTEM;
	for (int c = 0; c < COLUMNS; c++)
		if (places || c != PLACE)
			table_column(t, head[c], right >> c & 1 ? TABLE_RIGHT : TABLE_LEFT, c == WHY);
	for (size_t i = 0; i < x->d->results.n; i++) {
		const struct diff_result *r = &x->d->results.result[i];

		if (is_folded(r))
			continue;
		table_row(t);
		for (int c = 0; c < COLUMNS; c++) {
			if (c == PLACE && !places)
				continue;
			if (c == WHY && why_all)
				buf_addch(&text, '-');
			else
				put_column(&text, c, r, markdown || x->utf8);
			table_cell_buf(t, &text, c == METRIC || c == RATIO || c == VERDICT ? color[r->v.kind] : NULL);
		}
	}
	end_table(t, x, markdown, out);
}

static void print_text(const struct diff_report *x, bool markdown, struct buf *out)
{
	const char *why_all = diff_why_of_all(&x->d->results);

	if (markdown)
		buf_printf(out, "### pmrep diff%s\n\n",
			   x->failures                    ? ": FAILED" :
			   x->status == EXIT_NEGATIVE     ? ": regressed" :
			   x->status == EXIT_INCONCLUSIVE ? ": inconclusive" :
							    "");
	if (x->failures)
		buf_printf(out, "%s%s", x->failures, markdown ? "\n" : "");
	put_sides(out, x);
	if (x->d->recordings.environment.n)
		put_differences(x, markdown, out);
	put_results(x, markdown, why_all, out);
	put_folded(out, &x->d->results, VERDICT_SAME, markdown);
	put_folded(out, &x->d->results, VERDICT_INCONCLUSIVE, markdown);
	if (why_all) {
		put_text(out, why_all, markdown);
		buf_addch(out, '\n');
	}
	put_summary(out, x, markdown);
}

static void diff_print(const struct diff_report *x, struct buf *out)
{
	if (x->d->o.format == DIFF_CSV)
		print_csv(x, out);
	else if (x->d->o.format == DIFF_JSON)
		print_json(x, out);
	else
		print_text(x, x->d->o.format == DIFF_MARKDOWN, out);
}

/* ---- the command ---- */

static int compare(void *input, const struct options_common *common)
{
	struct diff *c = input;
	SCOPED(buf_release) struct buf failures = BUF_INIT, out = BUF_INIT;
	struct diff_report x = {
		.d = c,
		.width = cmd_width(STDOUT_FILENO),
		.colors = options_use_color(common, STDOUT_FILENO),
		.utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8"),
	};
	struct error e = { 0 };

	if (diff_find(c, &e))
		return cmd_fail(NAME, &e);
	complain_notes(&c->recordings);
	complain_incomplete(&c->recordings);
	if (!comparable(&c->recordings.environment, &c->o))
		return EXIT_TROUBLE;
	if (diff_collect(c, &e))
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
	diff_judge(c);
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
	struct diff c = DIFF_INIT;
	int status = cmd_run(&diff_spec, argc, argv, &c, compare);

	cmd_complain_skipped(NAME, c.o.vendor);
	diff_release(&c);
	return status;
}
