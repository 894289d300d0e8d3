/* pmrec doctor: what would be recorded here, what not and why, and the command that would permit it. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/number.h"
#include "common/options_table.h"
#include "common/table.h"
#include "record/commands.h"
#include "record/host/privileges.h"
#include "record/perf/source_perf.h"
#include "record/plan/machine.h"
#include "record/plan/plan.h"
#include "record/sources/sources.h"

struct doctor {
	struct options_common common;
	struct record_options options;
	struct root root;
	struct pm_model model;
	struct plan plan;
	struct source *source;
	size_t n_sources;
};

#define OPTIONS_INTO struct doctor
static const struct option_row rows[] = {
	{ "root", 0, "DIR", "read /sys, /proc and /dev below DIR", TEXT(options.root) },
	{ "verbose", 'v', NULL, "list everything that the kernel refused", FLAG(options.run.verbose) },
	{ 0 },
};

static const struct options_spec spec = {
	.name = "pmrec doctor",
	.rows = rows,
	.brief = "Usage: pmrec doctor [OPTION...]\n"
		 "Try every source: say what it offers, what is missing, and how to get it.\n\n" OPTIONS_LIST,
};

static unsigned count_values(const struct doctor *d, const struct source *s)
{
	unsigned n = 0;

	for (const struct unit *u = d->plan.units; u; u = u->next) {
		const struct pm_group *g = u->source == s ? pm_model_group(&d->model, u->group) : NULL;

		if (g)
			n += g->flags & (PM_GROUP_LIST | PM_GROUP_SHARED_TIME) ? pm_group_values(g) : g->n_counters;
	}
	return n;
}

static bool denied(uint16_t reason)
{
	return reason == PM_REASON_NO_PERMISSION || reason == PM_REASON_ERRNO + EACCES ||
	       reason == PM_REASON_ERRNO + EPERM;
}

/* "what: why" of a probe, or only what, if the state of the source says why; of several with the same reason the
 * first, and the number of the others. */
#define WHAT_MAX 80

static void print_probe(const struct doctor *d, uint32_t i, bool absent, struct buf *out)
{
	const struct pm_probe *p = &d->model.probe[i];
	SCOPED(buf_release) struct buf text = BUF_INIT;
	const char *what;
	unsigned more = 0;
	size_t len;

	pm_remark_text(&text, &p->what);
	what = buf_str(&text);
	len = strlen(what);
	/* A list of events is for `info`: what helps stands in the next column. */
	for (size_t k = 0; len > WHAT_MAX && k < len; k++)
		if (k >= WHAT_MAX / 2 && what[k] == ',' && what[k + 1] == ' ')
			len = k + 1;
	for (uint32_t k = i + 1; k < d->model.n_probes; k++)
		more += !strcmp(d->model.probe[k].source, p->source) && d->model.probe[k].reason == p->reason;
	text_escape(out, what, len);
	if (what[len])
		buf_addstr(out, " ...");
	if (more && !d->options.run.verbose)
		buf_printf(out, " and %u more", more);
	if ((!absent || p->reason != PM_REASON_NOT_SUPPORTED) && p->reason != PM_REASON_NOT_READ)
		buf_printf(out, ": %s", pm_reason_text(p->reason));
}

static void row(struct table *t, const char *source, const char *state, const char *need, const char *cure)
{
	table_texts(t, (const char *const[]){ source, state, need, cure }, 4);
}

/* One row per source, and more for things that it lacks for other reasons. A source with neither values nor messages
 * records what an option names. */
static void examine(const struct doctor *d, const struct source *s, struct table *t)
{
	unsigned values = count_values(d, s);
	bool any_denied = false, lacks = false, first = true;
	SCOPED(buf_release) struct buf text = BUF_INIT, cure = BUF_INIT;
	const char *state;

	for (uint32_t i = 0; i < d->model.n_probes; i++)
		if (!strcmp(d->model.probe[i].source, s->ops->name)) {
			any_denied = any_denied || denied(d->model.probe[i].reason);
			lacks = true;
		}
	state = values ? lacks ? "partly" : "ok" : any_denied ? "denied" : "absent";
	if (values) {
		buf_printf(&text, "%u value%s", values, plural(values));
		row(t, s->ops->name, state, buf_str(&text), NULL);
		first = false;
	}
	for (uint32_t i = 0; i < d->model.n_probes; i++) {
		const struct pm_probe *p = &d->model.probe[i];
		bool told = false;

		if (strcmp(p->source, s->ops->name))
			continue;
		for (uint32_t k = 0; k < i && !d->options.run.verbose; k++)
			told = told || (!strcmp(d->model.probe[k].source, p->source) &&
					d->model.probe[k].reason == p->reason);
		if (told)
			continue;
		buf_clear(&text);
		print_probe(d, i, !values && !any_denied, &text);
		buf_clear(&cure);
		if (pm_remark_code(&p->hint))
			pm_remark_text(&cure, &p->hint);
		row(t, first ? s->ops->name : "", first ? state : "", buf_str(&text),
		    cure.len ? buf_str(&cure) : NULL);
		first = false;
	}
}

/* The source's own messages, each line after its name. */
static void ask(struct doctor *d, struct source *s, struct buf *out)
{
	SCOPED(buf_release) struct buf text = BUF_INIT;

	if (s->ops != &source_perf)
		return;
	perf_doctor(s, &d->plan, &text);
	for (const char *at = buf_str(&text); *at;) {
		size_t len = strcspn(at, "\n");

		buf_printf(out, "%s: %.*s\n", s->ops->name, (int)len, at);
		at += len + (at[len] == '\n');
	}
}

static void print(struct doctor *d)
{
	struct table *t = table_new();
	SCOPED(buf_release) struct buf text = BUF_INIT;
	static const char *const head[] = { "SOURCE", "STATE", "HAS OR NEEDS", "WHAT HELPS" };

	for (size_t i = 0; i < 4; i++)
		table_column(t, head[i], TABLE_LEFT, i >= 2);
	for (size_t i = 0; i < d->n_sources; i++)
		examine(d, &d->source[i], t);
	table_print(t, command_width(), true, options_use_color(&d->common, STDOUT_FILENO), &text);
	for (size_t i = 0; i < d->n_sources; i++)
		ask(d, &d->source[i], &text);
	/* Nothing is opened after this: report the state in which recording would take place. */
	privileges_confine();
	buf_addstr(&text, "while it samples, pmrec has ");
	privileges_tell(&text);
	buf_addstr(&text, "\n");
	fputs(buf_str(&text), stdout);
	table_free(t);
}

static int examine_all(struct doctor *d, struct error *e)
{
	int err;

	root_init(&d->root, d->options.root);
	pm_model_init(&d->model);
	err = sources_select(&d->source, &d->n_sources, "all", e);
	/* If a source is named, absence is an error when recording; here it is the answer. */
	for (size_t i = 0; i < d->n_sources && !err; i++)
		d->source[i].required = false;
	if (!err)
		err = plan_init(&d->plan, &d->options, &d->root, &d->model, e);
	if (!err)
		err = machine_describe(&d->plan, e);
	if (!err)
		err = plan_sources(&d->plan, d->source, d->n_sources, e);
	if (!err)
		print(d);
	return err;
}

int cmd_doctor(int argc, char **argv)
{
	struct doctor d = { .options = {
				    .sample.interval_ns = 1000000000, .run.runs = 1, .privacy = (char *)"default" } };
	struct error e = { 0 };
	int code = command_options(&spec, argc, argv, &d, &d.common);

	if (code < 0)
		code = examine_all(&d, &e) ? command_failed(&e) : 0;
	plan_release(&d.plan);
	sources_release(d.source, d.n_sources);
	pm_model_release(&d.model);
	root_release(&d.root);
	options_common_release(&d.common);
	return code;
}
