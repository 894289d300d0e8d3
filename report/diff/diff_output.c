/* The result of a comparison. For programs one list of facts per metric, as CSV or JSON; for people one layout, as a
 * table or as markdown. */
#include "report/diff/diff.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/json.h"
#include "common/memory.h"
#include "common/number.h"
#include "common/table.h"
#include "report/exit.h"
#include "report/export/exporter.h"

/* ---- for programs ---- */

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
	for (size_t i = 0; i < x->results->n; i++) {
		const struct diff_result *r = &x->results->result[i];

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

	for (size_t i = 0; i < x->recordings->n; i++) {
		const struct diff_recording *r = &x->recordings->recording[i];
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
	const struct diff_recordings *r = x->recordings;
	SCOPED(json_scoped) struct json *whole = json_new_object();
	struct json *boots = json_new_object(), *all = json_new_array();

	json_put(boots, "base", json_new_u64(r->boots[DIFF_BASE]));
	json_put(boots, "new", json_new_u64(r->boots[DIFF_NEW]));
	json_put(boots, "shared", json_new_u64(r->boots_shared));
	json_put(whole, "base", json_side(x, DIFF_BASE));
	json_put(whole, "new", json_side(x, DIFF_NEW));
	json_put(whole, "order", order[r->order] ? json_new_text(order[r->order]) : json_new_null());
	json_put(whole, "boots", boots);
	json_put(whole, "differences", json_environment(&x->recordings->environment));
	for (size_t i = 0; i < x->results->n; i++)
		json_push(all, json_result(&x->results->result[i]));
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
	const struct diff_recordings *r = x->recordings;
	size_t runs[DIFF_SIDES] = { 0 }, files[DIFF_SIDES] = { 0 };
	bool all_shared = r->boots_shared == r->boots[DIFF_BASE] && r->boots_shared == r->boots[DIFF_NEW];

	for (size_t i = 0; i < r->n; i++) {
		runs[r->recording[i].side] += r->recording[i].n_runs;
		files[r->recording[i].side]++;
	}
	buf_printf(out, "base: %zu run%s of %zu recording%s; new: %zu run%s of %zu recording%s", runs[DIFF_BASE],
		   plural(runs[DIFF_BASE]), files[DIFF_BASE], plural(files[DIFF_BASE]), runs[DIFF_NEW],
		   plural(runs[DIFF_NEW]), files[DIFF_NEW], plural(files[DIFF_NEW]));
	if (r->boots[DIFF_BASE] + r->boots[DIFF_NEW] - r->boots_shared > 1 && !x->o->pairs)
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
		size_t some = x->results->count[order[i]];

		if (some)
			buf_printf(out, "%s%zu %s", n ? ", " : "", some, verdict_name(order[i]));
		n += some;
	}
	if (n && x->results->neutral)
		buf_printf(out, " of the %zu with a better direction", n);
	if (!n)
		buf_addstr(out, "nothing to judge by: all metrics with a better direction are 0");
	buf_addstr(out, x->failures                    ? ": FAILED" :
			x->status == EXIT_NEGATIVE     ? x->o->n_gates ? ": the gate fails" : ": regressed" :
			x->status == EXIT_INCONCLUSIVE ? "" :
			x->status == EXIT_DAMAGED      ? ": damaged input was used" :
			x->o->n_gates                  ? ": the gate holds" :
							 ": no regression");
	if (x->status == EXIT_INCONCLUSIVE)
		put_undecided(out, x->results, markdown);
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
	for (size_t i = 0; i < x->recordings->environment.n; i++) {
		const struct diff_difference *d = &x->recordings->environment.difference[i];

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

	snprintf(interval, sizeof(interval), "%.3g %% INTERVAL", 100 * (1 - x->o->alpha));
	for (size_t i = 0; i < x->results->n; i++)
		places |= !is_folded(&x->results->result[i]) && x->results->result[i].series->place.kind != PM_SYSTEM;
	for (int c = 0; c < COLUMNS; c++)
		if (places || c != PLACE)
			table_column(t, head[c], right >> c & 1 ? TABLE_RIGHT : TABLE_LEFT, c == WHY);
	for (size_t i = 0; i < x->results->n; i++) {
		const struct diff_result *r = &x->results->result[i];

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
	const char *why_all = diff_why_of_all(x->results);

	if (markdown)
		buf_printf(out, "### pmrep diff%s\n\n",
			   x->failures                    ? ": FAILED" :
			   x->status == EXIT_NEGATIVE     ? ": regressed" :
			   x->status == EXIT_INCONCLUSIVE ? ": inconclusive" :
							    "");
	if (x->failures)
		buf_printf(out, "%s%s", x->failures, markdown ? "\n" : "");
	put_sides(out, x);
	if (x->recordings->environment.n)
		put_differences(x, markdown, out);
	put_results(x, markdown, why_all, out);
	put_folded(out, x->results, VERDICT_SAME, markdown);
	put_folded(out, x->results, VERDICT_INCONCLUSIVE, markdown);
	if (why_all) {
		put_text(out, why_all, markdown);
		buf_addch(out, '\n');
	}
	put_summary(out, x, markdown);
}

void diff_print(const struct diff_report *x, struct buf *out)
{
	if (x->o->format == DIFF_CSV)
		print_csv(x, out);
	else if (x->o->format == DIFF_JSON)
		print_json(x, out);
	else
		print_text(x, x->o->format == DIFF_MARKDOWN, out);
}
