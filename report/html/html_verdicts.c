/* What `pmrep diff` says about the two recordings of a page. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"
#include "common/options_table.h"
#include "report/diff/diff.h"
#include "report/html/html.h"

static void put_number(struct buf *out, double v)
{
	html_put(out, "<td class=n>%s</td>", html_number(v, fabs(v) >= 1000 ? 0 : fabs(v) >= 100 ? 1 : 3).text);
}

/* As a percentage, or as a factor from ten on, which ratios of logarithms may miss by a little. */
static void put_percent(struct buf *out, double ratio)
{
	if (isfinite(ratio) && ratio > 9.99995)
		buf_printf(out, "&times;%.*f", ratio < 100 ? 1 : 0, ratio);
	else if (isfinite(ratio))
		buf_printf(out, "%+.2f %%", (ratio - 1) * 100);
	else
		buf_addch(out, '-');
}

static void put_result(struct buf *out, const struct diff_result *r, bool with_why)
{
	static const char *const class[] = {
		[VERDICT_REGRESSED] = " class=verdict-regressed",
		[VERDICT_IMPROVED] = " class=verdict-improved",
		[VERDICT_ABSENT] = "",
	};
	const char *mark = class[r->v.kind];

	html_put(out, "<tr><th scope=row>%s</th><td>%s</td><td%s>%s</td>", r->series->display,
		 r->series->where[0] ? r->series->where : "system", mark ? mark : "", verdict_name(r->v.kind));
	put_number(out, r->v.base);
	put_number(out, r->v.fresh);
	html_put(out, "<td class=unit>%s</td><td class=n>", html_unit(r->series->unit));
	put_percent(out, r->v.ratio);
	buf_addstr(out, "</td><td class=n>");
	if (isfinite(r->v.low) && isfinite(r->v.high)) {
		put_percent(out, r->v.low);
		buf_addstr(out, " to ");
		put_percent(out, r->v.high);
	} else {
		buf_addch(out, '-');
	}
	buf_addstr(out, "</td>");
	if (with_why)
		html_put(out, "<td class=why>%s</td>", r->why);
	buf_addstr(out, "</tr>\n");
}

static void put_differences(struct buf *out, const struct diff_environment *env)
{
	if (!env->n)
		return;
	buf_printf(out, "<div class=note role=note><strong>%s</strong><ul>",
		   env->meaningless ? "The machines are too different to compare: there are no verdicts" :
				      "The recordings differ in more than their numbers");
	for (size_t i = 0; i < env->n; i++)
		html_put(out, "<li>%s: %s and %s</li>", env->difference[i].name, env->difference[i].side[DIFF_BASE],
			 env->difference[i].side[DIFF_NEW]);
	buf_addstr(out, "</ul></div>\n");
}

/* "2 regressed, 1 improved, 14 the same": of all metrics with a better direction. */
static void put_counts(struct buf *out, const struct diff_results *results)
{
	static const struct {
		enum verdict_kind kind;
		const char *word;
	} row[] = {
		{ VERDICT_REGRESSED, "regressed" },       { VERDICT_CHANGED, "changed" },
		{ VERDICT_IMPROVED, "improved" },         { VERDICT_SAME, "the same" },
		{ VERDICT_INCONCLUSIVE, "inconclusive" }, { VERDICT_ABSENT, "on one side only" },
	};
	bool any = false;

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		if (!results->count[row[i].kind])
			continue;
		buf_printf(out, "%s%zu %s", any ? ", " : "", results->count[row[i].kind], row[i].word);
		any = true;
	}
}

static void put_results(struct buf *out, const struct diff_results *results, struct buf *counts)
{
	const char *why = diff_why_of_all(results);

	put_counts(counts, results);
	if (counts->len)
		buf_printf(out, "<p><strong>Of the metrics that have a better direction: %s.</strong></p>\n",
			   buf_str(counts));
	if (why)
		html_put(out, "<p>Of all of them: %s.</p>\n", why);
	buf_addstr(out, "<p class=hint>The first recording is the base. A change counts only if its interval lies "
			"beyond the metric's margin. A single run per side shows how values vary within it, "
			"but not how other runs would differ.</p>\n"
			"<div class=scroll tabindex=0 role=group aria-label=\"Verdicts\">"
			"<table class=\"numbers verdicts\">"
			"<thead><tr><th scope=col>Metric</th><th scope=col>Where</th><th scope=col>Verdict</th>"
			"<th scope=col class=n>Base</th><th scope=col class=n>New</th><th scope=col>Unit</th>"
			"<th scope=col class=n>Change</th>"
			"<th scope=col class=n>95 % interval</th>");
	buf_addstr(out, why ? "</tr></thead><tbody>\n" : "<th scope=col>Why</th></tr></thead><tbody>\n");
	for (size_t i = 0; i < results->n; i++)
		put_result(out, &results->result[i], !why);
	buf_addstr(out, "</tbody></table></div>\n");
}

static int compare(struct diff_options *o, struct buf *out, struct buf *counts, struct error *e)
{
	SCOPED(diff_recordings_release) struct diff_recordings recordings = { 0 };
	SCOPED(diff_data_release) struct diff_data data = { 0 };
	SCOPED(diff_results_release) struct diff_results results = { 0 };
	bool meaningless;
	int err = diff_find(&recordings, o, e);

	meaningless = recordings.environment.meaningless;
	if (!err && !meaningless)
		err = diff_collect(&data, &recordings, o, e);
	if (err)
		return err;
	put_differences(out, &recordings.environment);
	if (!meaningless) {
		diff_judge(&results, &data, &recordings, o);
		put_results(out, &results, counts);
	}
	memory_whole(out);
	return 0;
}

void html_verdicts(const char *base, const char *fresh, const struct selection *selection, struct buf *out,
		   struct buf *counts)
{
	const char *path[DIFF_SIDES] = { base, fresh };
	struct diff_options o = DIFF_OPTIONS_INIT;
	struct error e = { 0 };
	int err = 0;

	for (int s = 0; s < DIFF_SIDES; s++)
		options_append(&o.path[s], (char *)(uintptr_t)path[s]);
	for (size_t i = 0; i < selection->n && !err; i++)
		err = selection_add(&o.selection, selection->word[i].verb, selection->word[i].word, &e);
	o.selection.has_show = selection->has_show;
	if (!err)
		err = compare(&o, out, counts, &e);
	/* The page is useful without verdicts: it says why there are none. */
	if (err)
		html_put(out, "<p>No verdicts: %s.</p>\n", e.text[0] ? e.text : strerror(-err));
	diff_options_release(&o);
}
