/* pmrec list: events, sources and metrics of this machine. */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/event/vendor_events.h"
#include "common/metric/metric.h"
#include "common/options_table.h"
#include "common/table.h"
#include "format/vendor_pack.h"
#include "record/commands.h"
#include "record/host/privileges.h"
#include "record/list_events.h"
#include "record/perf/perf_pmu.h"
#include "record/sources/sources.h"

struct list {
	struct options_common common;
	char *what, *glob, *root, *metric_file;
	char **event_files;                         /* owned, up to NULL */
	struct metric_set vendor[1 + VENDOR_TEXTS]; /* those of --metrics-file, and the pack */
	size_t n_vendor;
	bool no_vendor;
	struct metric_table *table; /* owned; the vendor's, then all that are built in; ends with row NULL */
	unsigned n;
};

#define OPTIONS_INTO struct list
static const struct option_row rows[] = {
	{ "events-file", 0, "FILE|DIR",
	  "include the CPU vendor's events, from files in perf's JSON schema; may be repeated", LIST(event_files) },
	{ "metrics-file", 0, "FILE|DIR", "include the CPU vendor's metrics, from files in that schema",
	  TEXT(metric_file) },
	{ "no-vendor", 0, NULL, "ignore what `pmrec vendor import` installed", FLAG(no_vendor) },
	{ "root", 0, "DIR", "read /sys, /proc and /dev below DIR", TEXT(root) },
	{ 0 },
};

static const char *const kinds[] = { "events", "sources", "metrics", "metricgroups", NULL };

static int take_words(void *into, int n, char **operand, struct error *e)
{
	struct list *l = into;

	for (const char *const *k = kinds; *k && n; k++)
		if (!strcmp(operand[0], *k))
			l->what = operand[0];
	if (n > 1 + (l->what != NULL))
		return error_set(e, EINVAL, "list takes one GLOB");
	/* `pmrec list 'cpu*'` lists everything whose name matches. */
	l->glob = operand[l->what != NULL];
	return 0;
}

static const struct options_spec spec = {
	.name = "pmrec list",
	.rows = rows,
	.operands = take_words,
	.operands_doc = "[events|sources|metrics|metricgroups] [GLOB]",
	.brief = "Usage: pmrec list [events|sources|metrics|metricgroups] [GLOB]\n"
		 "\n"
		 "List what can be recorded on this machine; by default sources and events.\n"
		 "\n"
		 "  events        for -e\n"
		 "  sources       for --sources\n"
		 "  metrics       that pmrep computes; -M records what one needs\n"
		 "  metricgroups  names for several metrics, for -M\n",
};

static bool wanted(const struct list *l, const char *name)
{
	return !l->glob || !fnmatch(l->glob, name, 0);
}

static struct table *new_table(const char *a, const char *b, const char *c)
{
	struct table *t = table_new();

	table_column(t, a, TABLE_LEFT, false);
	table_column(t, b, TABLE_LEFT, false);
	table_column(t, c, TABLE_LEFT, true);
	return t;
}

static void row(struct table *t, const char *a, const char *b, const char *c)
{
	table_texts(t, (const char *const[]){ a, b, c }, 3);
}

static int list_sources(struct list *l)
{
	struct table *t = new_table("SOURCE", "DEFAULT", "WHAT");

	for (const struct source_ops *const *s = sources; *s; s++) {
		if (!wanted(l, (*s)->name))
			continue;
		row(t, (*s)->name, "yes", (*s)->help);
		l->n++;
	}
	return command_print(t, &l->common);
}

static int list_metrics(struct list *l)
{
	struct table *t = new_table("METRIC", "UNIT", "WHAT");

	for (const struct metric_table *m = l->table; m->row; m++) {
		for (size_t i = 0; i < m->n; i++) {
			if (!wanted(l, m->row[i].name) && !wanted(l, m->row[i].display))
				continue;
			row(t, m->row[i].name, m->row[i].unit ? m->row[i].unit : "",
			    m->row[i].help ? m->row[i].help : "");
			l->n++;
		}
	}
	return command_print(t, &l->common);
}

static int load_pack(struct list *l, const char *id, struct error *e)
{
	struct vendor_pack pack;
	SCOPED(vendor_texts_release) struct vendor_texts texts = { 0 };
	bool changed = privileges_become_caller();
	int err = vendor_pack_find(&pack, e);

	privileges_become_self(changed);
	if (err)
		return err == -ENOENT ? 0 : err;
	err = vendor_pack_texts(&pack, id, &texts, e);
	vendor_pack_close(&pack);
	for (uint32_t i = 0; i < texts.n && !err; i++) {
		const char *text = texts.set[i].metrics;
		/* A set that has only events is not an error. */
		int none = *text ? metric_set_load_text(&l->vendor[l->n_vendor], text, strlen(text), e) : 1;

		l->n_vendor += !none;
		err = none == -ENOMEM ? none : 0;
	}
	return err;
}

static int load_vendor(struct list *l, const struct root *root, struct error *e)
{
	char id[64];
	const char *known = list_cpu_id(root, id, sizeof(id)) ? id : NULL;
	int err = 0;

	if (l->metric_file && !(err = metric_set_load(&l->vendor[0], l->metric_file, known, e)))
		l->n_vendor = 1;
	if (err)
		error_prefix(e, "--metrics-file");
	else if (!l->no_vendor && !l->metric_file)
		err = load_pack(l, known, e);
	return err;
}

/* Whether the machine has the PMU that a board's metric is about. */
static bool is_here(const struct perf_pmus *pmus, const struct metric *m)
{
	const char *compat = m->board ? strchr(m->board, '=') + 1 : NULL;
	char unit[128];

	snprintf(unit, sizeof(unit), "%.*s", m->board ? (int)(compat - m->board) - 1 : 0, m->board ? m->board : "");
	for (size_t i = 0; compat && i < pmus->n; i++)
		if (event_pmu_matches(unit, pmus->pmu[i].name) && pmus->pmu[i].identifier &&
		    vendor_matches(compat, pmus->pmu[i].identifier))
			return true;
	return !compat;
}

/* How many of a set's metrics are not another board's; these come first from now on. */
static size_t sort_boards(const struct perf_pmus *pmus, struct metric_set *set)
{
	size_t n = 0;

	for (size_t i = 0; i < set->n; i++)
		if (is_here(pmus, &set->row[i])) {
			struct metric one = set->row[n];

			set->row[n++] = set->row[i];
			set->row[i] = one;
		}
	return n;
}

static int take_tables(struct list *l, struct error *e)
{
	SCOPED(root_release) struct root root = { 0 };
	SCOPED(perf_pmus_release) struct perf_pmus pmus = { 0 };
	size_t n = 0, used = 0;
	int err = root_init(&root, l->root);

	if (!err)
		err = load_vendor(l, &root, e);
	if (!err && l->n_vendor)
		err = perf_pmus_read(&pmus, &root);
	if (err)
		return err;
	while (metric_tables[n].row)
		n++;
	l->table = calloc(n + l->n_vendor + 1, sizeof(*l->table));
	if (!l->table)
		return -ENOMEM;
	for (size_t i = 0; i < l->n_vendor; i++)
		if (l->vendor[i].n)
			l->table[used++] = (struct metric_table){ "vendor", l->vendor[i].row,
								  sort_boards(&pmus, &l->vendor[i]) };
	memcpy(l->table + used, metric_tables, n * sizeof(*l->table));
	return 0;
}

static void members_of(const struct list *l, const char *group, struct buf *out)
{
	size_t want = strlen(group);

	for (const struct metric_table *m = l->table; m->row; m++)
		for (size_t i = 0; i < m->n; i++)
			for (const char *c = m->row[i].categories; c && *c; c += strcspn(c, ","), c += *c == ',')
				if (strcspn(c, ",") == want && !strncmp(c, group, want))
					buf_printf(out, "%s%s", out->len ? " " : "", m->row[i].name);
}

/* Prints each group once, in the order of the tables, with its metrics. */
static int list_groups(struct list *l)
{
	struct table *t = new_table("GROUP", "", "METRICS");
	SCOPED(names_release) struct names seen = { 0 };
	int err = 0;

	for (const struct metric_table *m = l->table; m->row && !err; m++)
		for (size_t i = 0; i < m->n && !err; i++)
			for (const char *c = m->row[i].categories; c && *c && !err;
			     c += strcspn(c, ","), c += *c == ',') {
				SCOPED(buf_release) struct buf members = BUF_INIT;
				char group[64];
				uint32_t ignored;

				snprintf(group, sizeof(group), "%.*s", (int)strcspn(c, ","), c);
				if (names_get(&seen, group, &ignored) || !wanted(l, group))
					continue;
				err = names_set(&seen, group, 0);
				members_of(l, group, &members);
				row(t, group, "", buf_str(&members));
				l->n++;
			}
	if (!err)
		return command_print(t, &l->common);
	table_free(t);
	return err;
}

static int list_events_of_machine(struct list *l, struct error *e)
{
	SCOPED(buf_release) struct buf text = BUF_INIT;
	SCOPED(root_release) struct root root = { 0 };
	int err = root_init(&root, l->root), n;

	if (err)
		return err;
	n = list_events(&root, l->glob, l->event_files, l->no_vendor, &text, e);
	if (n > 0) {
		fputs(buf_str(&text), stdout);
		l->n += (unsigned)n;
	}
	return n < 0 ? n : 0;
}

static int list_all(struct list *l, struct error *e)
{
	bool all = !l->what;
	int err = 0;

	if (all || !strcmp(l->what, "sources"))
		err = list_sources(l);
	if (!err && (all || !strcmp(l->what, "events")))
		err = list_events_of_machine(l, e);
	if (!err && l->what && !strncmp(l->what, "metric", 6))
		err = take_tables(l, e);
	if (!err && l->what && !strcmp(l->what, "metrics"))
		err = list_metrics(l);
	if (!err && l->what && !strcmp(l->what, "metricgroups"))
		err = list_groups(l);
	if (err)
		return e->number ? err : error_sys(e, -err, "list");
	if (!l->n && l->glob)
		return error_set(e, ENOENT, "nothing here is named '%s'", l->glob);
	return 0;
}

int cmd_list(int argc, char **argv)
{
	struct list l = { 0 };
	struct error e = { 0 };
	int code = command_options(&spec, argc, argv, &l, &l.common);

	if (code < 0)
		code = list_all(&l, &e) ? command_failed(&e) : 0;
	for (size_t i = 0; i < l.n_vendor; i++)
		metric_set_release(&l.vendor[i]);
	free(l.table);
	free(l.event_files);
	options_common_release(&l.common);
	return code;
}
