/* What `pmrep diff` says of the two recordings of a page. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/diff_collect.h"
#include "report/diff_environment.h"
#include "report/diff_input.h"
#include "report/diff_judge.h"
#include "report/diff_noise.h"
#include "report/html.h"
#include "report/html_text.h"
#include "report/options_diff.h"

static void put_number(struct buf *out, double v)
{
	char text[48];

	html_number(text, v, 3);
	buf_printf(out, "<td class=n>%s</td>", text);
}

static void put_percent(struct buf *out, double ratio)
{
	if (isfinite(ratio))
		buf_printf(out, "%+.2f %%", (ratio - 1) * 100);
	else
		buf_addch(out, '-');
}

static void put_result(struct buf *out, const struct diff_result *r)
{
	static const char *const class[] = {
		[VERDICT_REGRESSED] = " class=verdict-regressed", [VERDICT_IMPROVED] = " class=verdict-improved",
		[VERDICT_ABSENT] = "",
	};
	const char *mark = class[r->v.kind];

	buf_addstr(out, "<tr><th scope=row>");
	html_text(out, r->series->display);
	buf_addstr(out, "</th><td>");
	html_text(out, r->series->where[0] ? r->series->where : "system");
	buf_printf(out, "</td><td%s>%s</td>", mark ? mark : "", verdict_name(r->v.kind));
	put_number(out, r->v.base);
	put_number(out, r->v.fresh);
	buf_addstr(out, "<td class=unit>");
	html_text(out, r->series->unit);
	buf_addstr(out, "</td><td class=n>");
	put_percent(out, r->v.ratio);
	buf_addstr(out, "</td><td class=n>");
	if (isfinite(r->v.low) && isfinite(r->v.high)) {
		put_percent(out, r->v.low);
		buf_addstr(out, " to ");
		put_percent(out, r->v.high);
	} else {
		buf_addch(out, '-');
	}
	buf_addstr(out, "</td><td>");
	html_text(out, r->why);
	buf_addstr(out, "</td></tr>\n");
}

static void put_differences(struct buf *out, const struct diff_environment *env)
{
	if (!env->n)
		return;
	buf_printf(out, "<div class=note role=note><strong>%s</strong><ul>", env->meaningless ?
		   "The machines differ so that their numbers do not compare: there are no verdicts" :
		   "The recordings differ in more than their numbers");
	for (size_t i = 0; i < env->n; i++) {
		buf_addstr(out, "<li>");
		html_printf(out, "%s: %s and %s", env->difference[i].name, env->difference[i].side[DIFF_BASE],
			    env->difference[i].side[DIFF_NEW]);
		buf_addstr(out, "</li>");
	}
	buf_addstr(out, "</ul></div>\n");
}

static void put_results(struct buf *out, const struct diff_results *results)
{
	buf_addstr(out, "<p class=hint>The first recording is the base. A change is only called one where its "
			"interval lies beyond what matters for the metric; one run a side can say how "
			"values vary within it, and not how other runs would have gone.</p>\n"
			"<div class=scroll tabindex=0 role=region aria-label=\"Verdicts\">"
			"<table class=\"numbers verdicts\">"
			"<thead><tr><th scope=col>Metric</th><th scope=col>Where</th><th scope=col>Verdict</th>"
			"<th scope=col class=n>Base</th><th scope=col class=n>New</th><th scope=col>Unit</th>"
			"<th scope=col class=n>Change</th>"
			"<th scope=col class=n>95 % interval</th><th scope=col>Why</th></tr></thead><tbody>\n");
	for (size_t i = 0; i < results->n; i++)
		put_result(out, &results->result[i]);
	buf_addstr(out, "</tbody></table></div>\n");
}

static int compare(struct diff_options *o, struct buf *out, struct error *e)
{
	struct diff_recordings recordings = { 0 };
	struct diff_environment environment = { 0 };
	struct diff_data data = { 0 };
	struct diff_results results = { 0 };
	struct diff_noise noise = { 0 };
	int err = diff_find(&recordings, o, e);

	if (!err)
		err = diff_scan(&recordings, o, e);
	if (!err)
		err = diff_check(&recordings, e);
	if (!err && diff_environment_compare(&environment, &recordings))
		err = error_sys(e, ENOMEM, "comparing");
	if (!err && !environment.meaningless) {
		err = diff_collect(&data, &recordings, o, true, e);
		if (!err)
			err = diff_judge(&results, &data, &recordings, o, &noise, e);
	}
	if (!err) {
		put_differences(out, &environment);
		if (!environment.meaningless)
			put_results(out, &results);
		err = out->err;
	}
	diff_results_release(&results);
	diff_data_release(&data);
	diff_environment_release(&environment);
	diff_recordings_release(&recordings);
	diff_noise_release(&noise);
	return err;
}

void html_verdicts(const char *base, const char *fresh, const struct selection *selection, struct buf *out)
{
	const char *path[DIFF_SIDES] = { base, fresh };
	struct diff_options o;
	struct error e = { 0 };
	int err = 0;

	diff_options_init(&o);
	for (int s = 0; s < DIFF_SIDES; s++) {
		o.path[s] = calloc(1, sizeof(*o.path[s]));
		o.n_paths[s] = 1;
		if (o.path[s])
			o.path[s][0] = (char *)(uintptr_t)path[s];
		else
			err = -ENOMEM;
	}
	for (size_t i = 0; i < selection->n && !err; i++)
		err = selection_add(&o.selection, selection->word[i].verb, selection->word[i].word, &e);
	o.selection.has_show = selection->has_show;
	if (!strcmp(base, "-") || !strcmp(fresh, "-"))
		err = error_set(&e, ESPIPE, "a stream cannot be read again for it");
	if (!err)
		err = compare(&o, out, &e);
	/* The page is good without them: it says why they are not there. */
	if (err) {
		buf_addstr(out, "<p>No verdicts: ");
		html_text(out, e.text[0] ? e.text : strerror(-err));
		buf_addstr(out, ".</p>\n");
	}
	diff_options_release(&o);
}
