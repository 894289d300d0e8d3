#include "report/diff/diff_output.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/number.h"
#include "common/table.h"
#include "report/exit.h"
#include "report/export/exporter.h"

/* "1.0532", or "-" for NaN. */
static void put_number(struct buf *out, double v, const char *format)
{
	char text[64];

	if (isnan(v)) {
		buf_addch(out, '-');
		return;
	}
	snprintf(text, sizeof(text), format, v);
	buf_addstr(out, text);
}

/* One character per run, by height, the sides separate. */
static void diff_put_runs(struct buf *out, const struct diff_result *x, bool utf8)
{
	static const char *const bar[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	size_t n = x->n[DIFF_BASE] + x->n[DIFF_NEW];
	double low = INFINITY, high = -INFINITY;

	for (size_t i = 0; i < n; i++) {
		low = fmin(low, x->value[i]);
		high = fmax(high, x->value[i]);
	}
	for (size_t i = 0; i < n && n <= 64; i++) {
		unsigned step = high > low ? (unsigned)((x->value[i] - low) / (high - low) * 7.999) : 3;

		if (i == x->n[DIFF_BASE])
			buf_addch(out, ' ');
		if (utf8)
			buf_addstr(out, bar[step]);
		else
			buf_addch(out, (char)('1' + step));
	}
}

/* Numbers of both sides: "5 and 5 runs of 10 recordings". */
static void diff_put_sides(struct buf *out, const struct diff_report *x)
{
	size_t runs[DIFF_SIDES] = { 0 }, files[DIFF_SIDES] = { 0 };

	for (size_t i = 0; i < x->recordings->n; i++) {
		const struct diff_recording *r = &x->recordings->recording[i];

		runs[r->side] += r->n_runs;
		files[r->side]++;
	}
	buf_printf(out, "base: %zu run%s of %zu recording%s; new: %zu run%s of %zu recording%s", runs[DIFF_BASE],
		   plural(runs[DIFF_BASE]), files[DIFF_BASE], plural(files[DIFF_BASE]), runs[DIFF_NEW],
		   plural(runs[DIFF_NEW]), files[DIFF_NEW], plural(files[DIFF_NEW]));
}

/* What else may differ between the sides, a sentence each. */
static void put_order(struct buf *out, const struct diff_report *x, const char *before)
{
	const struct diff_recordings *r = x->recordings;
	bool all_shared = r->boots_shared == r->boots[DIFF_BASE] && r->boots_shared == r->boots[DIFF_NEW];

	if (r->boots[DIFF_BASE] + r->boots[DIFF_NEW] - r->boots_shared > 1 && !x->o->pairs)
		buf_printf(out, "%sBoots: %u of the base, %u of the new side; %s.", before, r->boots[DIFF_BASE],
			   r->boots[DIFF_NEW],
			   all_shared ? "their effects on both sides are removed" :
					"each counts as one run, because boots differ");
	if (r->order == DIFF_BASE_FIRST || r->order == DIFF_NEW_FIRST)
		buf_printf(out, "%sAll runs of the %s came first: a drift would look like a change.", before,
			   r->order == DIFF_BASE_FIRST ? "base" : "new side");
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
	size_t needed = 0, n = 0;

	for (size_t i = 0; i < all->n; i++) {
		const struct diff_result *r = &all->result[i];

		if (!r->decides || !diff_open(r))
			continue;
		buf_addstr(out, n++ ? ", " : ": undecided: ");
		put_text(out, r->series->metric, markdown);
		if (r->v.needed > needed)
			most = r;
		needed = r->v.needed > needed ? r->v.needed : needed;
	}
	if (most)
		buf_printf(out, "; about %zu %s per side would decide", needed, diff_unit(most));
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
		buf_addstr(out, n++ ? ", " : kind == VERDICT_SAME ? "SAME: " : "INCONCLUSIVE: ");
		put_text(out, r->series->metric, markdown);
		buf_addstr(out, r->series->where[0] ? " of " : "");
		put_text(out, r->series->where, markdown);
	}
	if (n)
		buf_addstr(out, markdown ? ".\n\n" : "\n");
}

/* "2 REGRESSED, 30 SAME of the 32 with a better direction", and what that means for the exit code. */
static void diff_put_summary(struct buf *out, const struct diff_report *x, bool markdown)
{
	static const enum verdict_kind order[] = { VERDICT_REGRESSED, VERDICT_CHANGED,      VERDICT_IMPROVED,
						   VERDICT_SAME,      VERDICT_INCONCLUSIVE, VERDICT_ABSENT };
	size_t n = 0;

	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++)
		n += x->results->count[order[i]];
	for (size_t i = 0, some = 0; i < sizeof(order) / sizeof(*order); i++)
		if (x->results->count[order[i]])
			buf_printf(out, "%s%zu %s", some++ ? ", " : "", x->results->count[order[i]],
				   verdict_name(order[i]));
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
}

/* ---- csv ---- */

static void put_csv_number(struct buf *out, double v)
{
	char text[NUMBER_MAX];

	buf_addch(out, ',');
	if (isfinite(v))
		buf_add(out, text, export_number(text, v));
}

int diff_print_csv(const struct diff_report *x, struct buf *out)
{
	buf_addstr(out,
		   "metric,scope,place,unit,better,gated,verdict,base,new,ratio,low,high,p,q,p_permutation,n_base,"
		   "n_new,margin,run_sd,samples_base,samples_new,time_base,time_new,runs_needed,why,runs\n");
	for (size_t i = 0; i < x->results->n; i++) {
		const struct diff_result *r = &x->results->result[i];
		const double number[] = { r->v.base, r->v.fresh, r->v.ratio, r->v.low,
					  r->v.high, r->v.p,     r->v.q,     r->v.ranks };
		const char *better = r->rules.better == METRIC_LOWER  ? "lower" :
				     r->rules.better == METRIC_HIGHER ? "higher" :
									"";

		export_csv_field(out, r->series->metric);
		buf_printf(out, ",%s,", pm_kind_name(r->series->place.kind));
		export_csv_field(out, r->series->where);
		buf_addch(out, ',');
		export_csv_field(out, r->series->unit);
		buf_printf(out, ",%s,%s,%s", better, r->gated ? "yes" : "no", verdict_name(r->v.kind));
		for (size_t k = 0; k < sizeof(number) / sizeof(*number); k++)
			put_csv_number(out, number[k]);
		buf_printf(out, ",%zu,%zu", r->v.n_base, r->v.n_fresh);
		put_csv_number(out, r->rules.margin);
		put_csv_number(out, r->v.within ? r->rules.run_sd : NAN);
		for (int s = 0; s < DIFF_SIDES; s++)
			put_csv_number(out, r->samples[s]);
		for (int s = 0; s < DIFF_SIDES; s++)
			put_csv_number(out, r->time[s]);
		put_csv_number(out, r->v.needed ? (double)r->v.needed : NAN);
		buf_addch(out, ',');
		export_csv_field(out, r->why);
		buf_addch(out, ',');
		for (size_t k = 0; k < r->n[DIFF_BASE] + r->n[DIFF_NEW]; k++) {
			char text[NUMBER_MAX];

			buf_addstr(out, !k ? "" : k == r->n[DIFF_BASE] ? " | " : " ");
			buf_add(out, text, export_number(text, r->value[k]));
		}
		buf_addch(out, '\n');
	}
	return out->err;
}

/* ---- markdown ---- */

/* A cell of a table, " text |", preceded by "|" if it is the first. The text must not break the table. */
static void put_markdown(struct buf *out, const char *text, bool first)
{
	buf_addstr(out, first ? "| " : " ");
	text_markdown(out, text);
	buf_addstr(out, " |");
}

int diff_print_markdown(const struct diff_report *x, struct buf *out)
{
	SCOPED(buf_release) struct buf text = BUF_INIT;

	buf_addstr(out, "### pmrep diff");
	buf_addstr(out, x->failures                    ? ": FAILED\n\n" :
			x->status == EXIT_NEGATIVE     ? ": regressed\n\n" :
			x->status == EXIT_INCONCLUSIVE ? ": inconclusive\n\n" :
							 "\n\n");
	if (x->failures)
		buf_printf(out, "%s\n", x->failures);
	diff_put_sides(out, x);
	buf_addch(out, '.');
	put_order(out, x, " ");
	buf_addch(out, '\n');
	if (x->environment->n)
		buf_addstr(out, "\n| differs | base | new |\n|---|---|---|\n");
	for (size_t i = 0; i < x->environment->n; i++) {
		const struct diff_difference *d = &x->environment->difference[i];

		put_markdown(out, d->name, true);
		put_markdown(out, d->side[DIFF_BASE], false);
		put_markdown(out, d->side[DIFF_NEW], false);
		buf_addch(out, '\n');
	}
	buf_printf(
		out,
		"\n| metric | place | base | new | unit | ratio | %.3g %% interval | p | q | n | verdict | runs | |\n"
		"|---|---|--:|--:|---|--:|:-:|--:|--:|--:|---|---|---|\n",
		100 * (1 - x->o->alpha));
	for (size_t i = 0; i < x->results->n; i++) {
		const struct diff_result *r = &x->results->result[i];
		bool loud = r->v.kind == VERDICT_REGRESSED || r->v.kind == VERDICT_IMPROVED;

		if (is_folded(r))
			continue;
		put_markdown(out, r->series->metric, true);
		put_markdown(out, r->series->where[0] ? r->series->where : "system", false);
		for (int s = 0; s < DIFF_SIDES; s++) {
			buf_addch(out, ' ');
			put_number(out, s ? r->v.fresh : r->v.base, "%.5g");
			buf_addstr(out, " |");
		}
		put_markdown(out, r->series->unit, false);
		buf_addch(out, ' ');
		put_number(out, r->v.ratio, "%.4f");
		buf_addstr(out, " | ");
		put_number(out, r->v.low, "%.4f");
		buf_addstr(out, " to ");
		put_number(out, r->v.high, "%.4f");
		buf_addstr(out, " | ");
		put_number(out, r->v.p, "%.2g");
		buf_addstr(out, " | ");
		put_number(out, r->v.q, "%.2g");
		buf_printf(out, " | %zu+%zu | %s%s%s |", r->v.n_base, r->v.n_fresh, loud ? "**" : "",
			   verdict_name(r->v.kind), loud ? "**" : "");
		buf_clear(&text);
		diff_put_runs(&text, r, true);
		put_markdown(out, buf_str(&text), false);
		put_markdown(out, r->why, false);
		buf_addch(out, '\n');
	}
	buf_addch(out, '\n');
	put_folded(out, x->results, VERDICT_SAME, true);
	put_folded(out, x->results, VERDICT_INCONCLUSIVE, true);
	diff_put_summary(out, x, true);
	buf_addstr(out, ".\n");
	if (text.err && !out->err)
		out->err = text.err;
	return out->err;
}

/* ---- the table ---- */

static const char *color_of(const struct diff_result *r)
{
	switch (r->v.kind) {
	case VERDICT_REGRESSED:
		return "31;1";
	case VERDICT_IMPROVED:
		return "32";
	case VERDICT_CHANGED:
		return "33";
	case VERDICT_SAME:
		return NULL;
	default:
		return "2";
	}
}

/* Adds the text as the next cell, and clears it. */
static void put_cell(struct table *t, struct buf *text, const char *color)
{
	if (!text->len)
		buf_addch(text, '-');
	table_cell_buf(t, text, color);
}

/* What applies to every value is said once, below them. */
static const char *why_of_all(const struct diff_results *all)
{
	for (size_t i = 0; i < all->n; i++)
		if (!all->result[i].why[0] || strcmp(all->result[i].why, all->result[0].why))
			return NULL;
	return all->n > 1 ? all->result[0].why : NULL;
}

static void put_row(struct table *t, const struct diff_report *x, const struct diff_result *r, bool places,
		    const char *why_all)
{
	const char *color = color_of(r);
	SCOPED(buf_release) struct buf text = BUF_INIT;

	table_row(t);
	table_cell(t, r->series->metric, color);
	if (places)
		table_cell(t, r->series->where[0] ? r->series->where : "system", NULL);
	for (int s = 0; s < DIFF_SIDES; s++) {
		put_number(&text, s ? r->v.fresh : r->v.base, "%.5g");
		put_cell(t, &text, NULL);
	}
	table_cell(t, r->series->unit[0] ? r->series->unit : "-", NULL);
	put_number(&text, r->v.ratio, "%.4f");
	put_cell(t, &text, color);
	if (!isnan(r->v.low) && !isnan(r->v.high))
		buf_printf(&text, "%.4f..%.4f", r->v.low, r->v.high);
	put_cell(t, &text, NULL);
	put_number(&text, r->v.p, "%.2g");
	put_cell(t, &text, NULL);
	put_number(&text, r->v.q, "%.2g");
	put_cell(t, &text, NULL);
	buf_printf(&text, "%zu+%zu", r->v.n_base, r->v.n_fresh);
	put_cell(t, &text, NULL);
	table_cell(t, verdict_name(r->v.kind), color);
	diff_put_runs(&text, r, x->utf8);
	put_cell(t, &text, NULL);
	if (!why_all)
		buf_addstr(&text, r->why);
	/* Without other runs, an interval counts as many samples as it has. */
	if (r->v.within && !isnan(r->samples[DIFF_BASE]) && !isnan(r->samples[DIFF_NEW]))
		buf_printf(&text, "%seffective samples %.3g and %.3g", text.len ? "; " : "", r->samples[DIFF_BASE],
			   r->samples[DIFF_NEW]);
	put_cell(t, &text, NULL);
}

static int put_differences(const struct diff_report *x, struct buf *out)
{
	struct table *t = table_new();
	int err;

	table_column(t, "DIFFERS", TABLE_LEFT, false);
	table_column(t, "BASE", TABLE_LEFT, true);
	table_column(t, "NEW", TABLE_LEFT, true);
	for (size_t i = 0; i < x->environment->n; i++) {
		const struct diff_difference *d = &x->environment->difference[i];

		table_row(t);
		table_cell(t, d->name, d->meaningless ? "31;1" : "33");
		for (int s = 0; s < DIFF_SIDES; s++)
			table_cell(t, d->side[s], NULL);
	}
	err = table_print(t, x->width, true, x->colors, out);
	buf_addch(out, '\n');
	table_free(t);
	return err;
}

int diff_print_table(const struct diff_report *x, struct buf *out)
{
	char interval[32];
	const struct {
		const char *head;
		enum table_align align;
		bool wrap, places;
	} column[] = {
		{ "METRIC", TABLE_LEFT, false, false },  { "PLACE", TABLE_LEFT, false, true },
		{ "BASE", TABLE_RIGHT, false, false },   { "NEW", TABLE_RIGHT, false, false },
		{ "UNIT", TABLE_LEFT, false, false },    { "RATIO", TABLE_RIGHT, false, false },
		{ interval, TABLE_LEFT, false, false },  { "P", TABLE_RIGHT, false, false },
		{ "Q", TABLE_RIGHT, false, false },      { "N", TABLE_RIGHT, false, false },
		{ "VERDICT", TABLE_LEFT, false, false }, { "RUNS", TABLE_LEFT, false, false },
		{ "WHY", TABLE_LEFT, true, false },
	};
	const char *why_all = why_of_all(x->results);
	struct table *t = table_new();
	size_t rows = 0;
	bool places = false;
	int err = 0;

	snprintf(interval, sizeof(interval), "%.3g %% INTERVAL", 100 * (1 - x->o->alpha));
	if (x->failures)
		buf_addstr(out, x->failures);
	diff_put_sides(out, x);
	put_order(out, x, "\n");
	buf_addstr(out, "\n\n");
	if (x->environment->n)
		err = put_differences(x, out);
	for (size_t i = 0; i < x->results->n; i++)
		if (!is_folded(&x->results->result[i])) {
			places |= x->results->result[i].series->place.kind != PM_SYSTEM;
			rows++;
		}
	for (size_t i = 0; i < sizeof(column) / sizeof(*column); i++)
		if (places || !column[i].places)
			table_column(t, column[i].head, column[i].align, column[i].wrap);
	for (size_t i = 0; i < x->results->n && !err; i++)
		if (!is_folded(&x->results->result[i]))
			put_row(t, x, &x->results->result[i], places, why_all);
	if (!err && rows)
		err = table_print(t, x->width, true, x->colors, out);
	table_free(t);
	if (rows)
		buf_addch(out, '\n');
	put_folded(out, x->results, VERDICT_SAME, false);
	put_folded(out, x->results, VERDICT_INCONCLUSIVE, false);
	if (why_all) {
		put_text(out, why_all, false);
		buf_addch(out, '\n');
	}
	diff_put_summary(out, x, false);
	buf_addch(out, '\n');
	return err ? err : out->err;
}

/* ---- JUnit ---- */

static void put_case(struct buf *out, const struct diff_result *r)
{
	buf_addstr(out, "<testcase classname=\"");
	text_markup(out, r->series->where[0] ? r->series->where : pm_kind_name(r->series->place.kind));
	buf_addstr(out, "\" name=\"");
	text_markup(out, r->series->metric);
	buf_addstr(out, "\">");
	if (r->fails || diff_open(r)) {
		buf_printf(out, "<%s message=\"%s", r->fails ? "failure" : "skipped", verdict_name(r->v.kind));
		if (!isnan(r->v.ratio))
			buf_printf(out, ": x %.4f", r->v.ratio);
		if (!isnan(r->v.low) && !isnan(r->v.high))
			buf_printf(out, ", %.4f to %.4f", r->v.low, r->v.high);
		buf_addstr(out, r->why[0] ? "; " : "");
		text_markup(out, r->why);
		buf_addstr(out, "\"/>");
	}
	buf_addstr(out, "</testcase>\n");
}

int diff_print_junit(const struct diff_report *x, struct buf *out)
{
	size_t failures = 0, skipped = 0, n = 0;

	/* Places that say where a change comes from are not tests of their own; they follow the system. */
	while (n < x->results->n && (x->o->per || x->results->result[n].series->place.kind == PM_SYSTEM))
		n++;
	for (size_t i = 0; i < n; i++) {
		failures += x->results->result[i].fails;
		skipped += !x->results->result[i].fails && diff_open(&x->results->result[i]);
	}
	buf_printf(out,
		   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		   "<testsuite name=\"pmrep diff\" tests=\"%zu\" failures=\"%zu\" errors=\"%d\" skipped=\"%zu\">\n",
		   n + (x->failures != NULL), failures, x->failures != NULL, skipped);
	if (x->failures) {
		buf_addstr(out, "<testcase classname=\"runs\" name=\"exit status\"><error message=\"");
		text_markup(out, x->failures);
		buf_addstr(out, "\"/></testcase>\n");
	}
	for (size_t i = 0; i < n; i++)
		put_case(out, &x->results->result[i]);
	buf_addstr(out, "</testsuite>\n");
	return out->err;
}
