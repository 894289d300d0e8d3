/* pmrec list: events, sources and metrics of this machine. */
#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/event/vendor_events.h"
#include "common/memory.h"
#include "common/metric/metric.h"
#include "common/options_table.h"
#include "common/table.h"
#include "format/vendor_pack.h"
#include "record/commands.h"
#include "record/host/cpuid.h"
#include "record/host/perf_open.h"
#include "record/host/privileges.h"
#include "record/perf/perf_pmu.h"
#include "record/sources/sources.h"

/* ---- what -e takes on this machine ---- */

struct listing {
	const struct root *root;
	const char *glob;
	struct table *table;
	/* consecutive PMUs that equal another one: named together */
	const struct event_pmu *same_first, *same_last, *same_as;
	int n;
};

/* A word without wildcards matches anywhere in the name. */
static bool event_wanted(const struct listing *l, const char *name)
{
	if (!l->glob || !l->glob[0])
		return true;
	return strpbrk(l->glob, "*?[") ? !fnmatch(l->glob, name, FNM_CASEFOLD) : strcasestr(name, l->glob) != NULL;
}

static void add_row(struct listing *l, const char *name, const char *kind, const char *unit, const char *help)
{
	const char *cell[] = { name, kind, unit, help };

	table_texts(l->table, cell, sizeof(cell) / sizeof(cell[0]));
	l->n++;
}

static void add(struct listing *l, const char *name, const char *kind, const char *unit, const char *help)
{
	if (event_wanted(l, name))
		add_row(l, name, kind, unit, help);
}

/* Whether this CPU lacks a general event: asks the kernel, for this process in user mode, which needs no privilege.
 * If the machine is emulated, it cannot be asked. */
static bool absent(const struct listing *l, uint32_t type, uint64_t config)
{
	union perf_attr attr = { .a = { .size = PERF_ATTR_SIZE_VER0,
					.type = type,
					.config = config,
					.exclude_kernel = 1,
					.exclude_hv = 1,
					.disabled = 1 } };
	SCOPED(fd_close) int fd = l->root->emulated ? -1 : perf_open(&attr, perf_on_task(0), -1);

	return fd == -ENOENT || fd == -EOPNOTSUPP || fd == -ENXIO;
}

static void add_general(struct listing *l, const char *name, const char *alias, const char *kind, const char *unit,
			const char *help, bool is_absent)
{
	char text[200], both[128];

	if (!event_wanted(l, name) && !(alias && event_wanted(l, alias)))
		return;
	snprintf(both, sizeof(both), alias ? "%s OR %s" : "%s", name, alias);
	snprintf(text, sizeof(text), "%s%s%s", is_absent ? "not on this machine" : "", is_absent && help ? ": " : "",
		 help ? help : "");
	add_row(l, both, kind, unit, text);
}

static int add_cache(void *arg, const char *name, uint64_t config)
{
	struct listing *l = arg;

	add_general(l, name, NULL, "cache", NULL, NULL, absent(l, PERF_TYPE_HW_CACHE, config));
	return 0;
}

static const char *kind_of(const struct event_pmu *pmu, const struct event_alias *a)
{
	if (a->vendor)
		return "vendor";
	if (pmu->type == EVENT_TYPE_TOOL)
		return "tool";
	return pmu->uncore ? "uncore" : pmu->core ? "core" : "PMU";
}

/* Whether the two differ only in their numbers. */
static bool same_kind(const struct event_pmu *a, const struct event_pmu *b)
{
	size_t len[2] = { strlen(a->name), strlen(b->name) };

	for (int i = 0; i < 2; i++)
		while (len[i] && isdigit((unsigned char)(i ? b : a)->name[len[i] - 1]))
			len[i]--;
	return a->uncore && b->uncore && len[0] == len[1] && a->name[len[0]] && b->name[len[1]] &&
	       !strncmp(a->name, b->name, len[0]);
}

/* The first PMU of the same class or kind; NULL: none, or it is this one. */
static const struct event_pmu *twin_of(const struct perf_pmus *pmus, const struct event_pmu *pmu)
{
	for (size_t i = 0; &pmus->pmu[i] != pmu; i++)
		if (perf_class(pmu) ? perf_class(&pmus->pmu[i]) == perf_class(pmu) : same_kind(&pmus->pmu[i], pmu))
			return &pmus->pmu[i];
	return NULL;
}

static void add_same(struct listing *l)
{
	char name[200], what[120];

	if (!l->same_first)
		return;
	snprintf(name, sizeof(name), l->same_first == l->same_last ? "%s/.../" : "%s/.../ to %s/.../",
		 l->same_first->name, l->same_last->name);
	snprintf(what, sizeof(what), "as %s", l->same_as->name);
	add_row(l, name, "uncore", NULL, what);
	l->same_first = NULL;
}

/* Whether the twin has that event, or term, and it is listed. */
static bool listed(const struct listing *l, const struct event_pmu *twin, const struct event_alias *a,
		   const char *behind)
{
	SCOPED(buf_release) struct buf name = BUF_INIT;
	bool yes = twin && !a;

	for (size_t i = 0; twin && i < twin->n_aliases && !yes; i++)
		yes = !strcmp(twin->alias[i].name, a->name) && !strcmp(twin->alias[i].text, a->text);
	if (yes) {
		buf_printf(&name, "%s%s", twin->name, behind);
		yes = !name.err && event_wanted(l, buf_str(&name));
	}
	return yes;
}

static void add_pmu(struct listing *l, const struct perf_pmus *pmus, const struct event_pmu *pmu)
{
	const struct event_pmu *twin = twin_of(pmus, pmu);
	SCOPED(buf_release) struct buf name = BUF_INIT, terms = BUF_INIT;
	bool same = false, described = twin && pmu->n_formats && twin->n_formats == pmu->n_formats &&
				       listed(l, twin, NULL, "/TERM=VALUE,.../");
	int before = l->n;

	if (twin != l->same_as)
		add_same(l);
	for (size_t i = 0; i < pmu->n_aliases; i++) {
		const struct event_alias *a = &pmu->alias[i];

		buf_clear(&name);
		/* The tool's events are known by their names alone. */
		if (pmu->type == EVENT_TYPE_TOOL)
			buf_addstr(&name, a->name);
		else
			buf_printf(&name, "%s/%s/", pmu->name, a->name);
		/* What is the same on a dozen root complexes is listed only for the first that was requested. */
		if (listed(l, twin, a, buf_str(&name) + strlen(pmu->name))) {
			same = true;
			continue;
		}
		buf_clear(&terms);
		if (a->help)
			buf_printf(&terms, "%s%s%s", a->help, a->deprecated ? " (deprecated)" : "",
				   pmu->type == EVENT_TYPE_TOOL ? "" : "; ");
		if (pmu->type != EVENT_TYPE_TOOL)
			buf_addstr(&terms, a->text);
		add(l, buf_str(&name), kind_of(pmu, a), a->unit, buf_str(&terms));
	}
	buf_clear(&name);
	buf_clear(&terms);
	same |= described && !pmu->n_aliases;
	if (same) {
		if (l->n != before)
			add_same(l);
		l->same_first = l->same_first ? l->same_first : pmu;
		l->same_last = pmu;
		l->same_as = twin;
	}
	buf_printf(&name, "%s/TERM=VALUE,.../", pmu->name);
	for (size_t i = 0; i < pmu->n_formats; i++)
		buf_printf(&terms, "%s%s (%s)", i ? ", " : "", pmu->format[i].name, pmu->format[i].text);
	if (pmu->n_formats && !described)
		add(l, buf_str(&name), "terms", NULL, buf_str(&terms));
}

/* PMUs of a class are described once: a word that matches one of them matches the description. */
static void add_class(struct listing *l, const struct perf_pmus *pmus, const struct pmu_class *c)
{
	const struct event_pmu *first = NULL, *last = NULL;
	bool found = event_wanted(l, c->name);
	char name[128], what[500];
	unsigned n = 0;

	for (size_t i = 0; i < pmus->n; i++) {
		if (perf_class(&pmus->pmu[i]) != c)
			continue;
		first = first ? first : &pmus->pmu[i];
		last = &pmus->pmu[i];
		found |= event_wanted(l, pmus->pmu[i].name);
		n++;
	}
	if (!n || !found)
		return;
	snprintf(name, sizeof(name), "%s/EVENT,.../", c->name);
	if (n == 1)
		snprintf(what, sizeof(what), "%s (%s)%s%s", c->title, first->name, c->note ? "; " : "",
			 c->note ? c->note : "");
	else
		snprintf(what, sizeof(what), "%s, on all of its %u PMUs (%s to %s)%s%s", c->title, n, first->name,
			 last->name, c->note ? "; " : "", c->note ? c->note : "");
	add_row(l, name, "class", NULL, what);
	for (const struct pmu_class_filter *f = c->filter; f->name; f++) {
		/* A term that stands for others exists if they do. */
		bool have = event_pmu_format(first, f->name) ||
			    (!strcmp(f->name, "dst_addr") && event_pmu_format(first, "dst_addr_base"));

		if (!have)
			continue;
		snprintf(name, sizeof(name), "%s/EVENT,%s=.../", c->name, f->name);
		if (f->all > 1)
			snprintf(what, sizeof(what), "%s; all: 0x%llx", f->help, (unsigned long long)f->all);
		else
			snprintf(what, sizeof(what), "%s", f->help);
		add_row(l, name, "filter", NULL, what);
	}
}

static int add_tracepoint(void *arg, const char *system, const char *name, uint64_t id)
{
	struct listing *l = arg;
	char both[400];

	snprintf(both, sizeof(both), "%s:%s", system, name);
	add(l, both, "tracepoint", NULL, NULL);
	return 0;
}

static void add_tracepoints(struct listing *l, const struct event_view *v)
{
	int n = v->tracepoints(v->data, "*", "*", add_tracepoint, l);

	if (n == -ENODEV)
		add(l, "SYSTEM:NAME", "tracepoint", NULL,
		    "cannot be listed: tracefs is not mounted (mount -t tracefs nodev /sys/kernel/tracing)");
	else if (n < 0)
		add(l, "SYSTEM:NAME", "tracepoint", NULL,
		    "cannot be listed: tracefs may not be read (as root: mount -o remount,mode=750,gid=GROUP "
		    "/sys/kernel/tracing)");
}

/* This CPU's id in the maps of vendor files; false if it is unknown. */
static bool list_cpu_id(const struct root *root, char *id, size_t size)
{
	const char *other = cpuid_for_vendor(NULL);
	SCOPED(cpulist_release) struct cpulist online = { 0 };
	bool known = other && snprintf(id, size, "%s", other) > 0;

	/* The first may be offline, or not for this container. */
	if (!known)
		root_online(root, &online);
	for (size_t i = 0; i < online.n && !known; i++) {
		const struct cpulist one = { .cpu = &online.cpu[i], .n = 1 };
		uint64_t midr = cputype_midr(root, online.cpu[i]);
		struct cpuid_cpu *c;

		known = midr && snprintf(id, size, "0x%016llx", (unsigned long long)midr) > 0;
		c = known ? NULL : cpuid_collect(root, &one, true);
		if (!c)
			continue;
		known = !c->err && cpuid_name(c, id, size);
		cpuid_free(c, 1);
	}
	return known;
}

static void add_pack(struct perf_pmus *pmus, const struct root *root, struct buf *notes)
{
	struct vendor_texts texts;
	char id[64];

	perf_pmus_add_pack(pmus, list_cpu_id(root, id, sizeof(id)) ? id : NULL, NULL, false, &texts, notes);
	vendor_texts_release(&texts);
}

/* Appends the events whose name matches `glob` (NULL: all), for people; with those of vendor event files
 * (NULL-terminated; NULL: none). Their number, or -errno. */
static int list_events(const struct root *root, const char *glob, char *const *event_files, bool no_vendor,
		       struct buf *out, struct error *e)
{
	static const struct {
		const char *name, *kind, *help;
	} forms[] = {
		{ "rHEX", "raw", "a code of the CPU's event table" },
		{ "TYPE:CONFIG", "numeric", "attr.type and attr.config, unchanged" },
		{ "mem:ADDR[/LEN][:rwx]", "breakpoint", "accesses to an address" },
	};
	struct listing l = { .root = root, .glob = glob, .table = table_new() };
	SCOPED(perf_pmus_release) struct perf_pmus pmus = { 0 };
	SCOPED(buf_release) struct buf notes = BUF_INIT;
	struct event_view view;
	char id[64];
	int err;

	perf_pmus_read(&pmus, root);
	if (event_files && *event_files) {
		err = perf_pmus_add_files(&pmus, event_files, NULL, list_cpu_id(root, id, sizeof(id)) ? id : NULL,
					  &notes, e);
		if (err) {
			table_free(l.table);
			return err;
		}
	}
	if (!no_vendor)
		add_pack(&pmus, root, &notes);
	view = perf_view(&pmus, root);
	table_column(l.table, "EVENT", TABLE_LEFT, false);
	table_column(l.table, "KIND", TABLE_LEFT, false);
	table_column(l.table, "UNIT", TABLE_LEFT, false);
	table_column(l.table, "WHAT", TABLE_LEFT, true);
	for (const struct event_symbol *s = event_symbols; s->name; s++)
		add_general(&l, s->name, s->alias, s->type == PERF_TYPE_SOFTWARE ? "software" : "hardware", s->unit,
			    s->help, absent(&l, s->type, s->config));
	event_cache_each(add_cache, &l);
	for (size_t i = 0; i < pmus.n; i++)
		add_pmu(&l, &pmus, &pmus.pmu[i]);
	add_same(&l);
	for (const struct pmu_class *c = pmu_classes; c->name; c++)
		add_class(&l, &pmus, c);
	add_tracepoints(&l, &view);
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		add(&l, forms[i].name, forms[i].kind, NULL, forms[i].help);
	table_print(l.table, 0, true, false, out);
	buf_addstr(out, buf_str(&notes));
	table_free(l.table);
	return l.n;
}

/* ---- the command ---- */

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

static void list_sources(struct list *l)
{
	struct table *t = new_table("SOURCE", "DEFAULT", "WHAT");

	for (const struct source_ops *const *s = sources; *s; s++) {
		if (!wanted(l, (*s)->name))
			continue;
		row(t, (*s)->name, "yes", (*s)->help);
		l->n++;
	}
	command_print(t, &l->common);
}

static void list_metrics(struct list *l)
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
	command_print(t, &l->common);
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
	int err;

	root_init(&root, l->root);
	err = load_vendor(l, &root, e);
	if (err)
		return err;
	if (l->n_vendor)
		perf_pmus_read(&pmus, &root);
	while (metric_tables[n].row)
		n++;
	l->table = memory_new(n + l->n_vendor + 1, sizeof(*l->table));
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
static void list_groups(struct list *l)
{
	struct table *t = new_table("GROUP", "", "METRICS");
	SCOPED(names_release) struct names seen = { 0 };

	for (const struct metric_table *m = l->table; m->row; m++)
		for (size_t i = 0; i < m->n; i++)
			for (const char *c = m->row[i].categories; c && *c; c += strcspn(c, ","), c += *c == ',') {
				SCOPED(buf_release) struct buf members = BUF_INIT;
				char group[64];
				uint32_t ignored;

				snprintf(group, sizeof(group), "%.*s", (int)strcspn(c, ","), c);
				if (names_get(&seen, group, &ignored) || !wanted(l, group))
					continue;
				memory_done(names_set(&seen, group, 0));
				members_of(l, group, &members);
				row(t, group, "", buf_str(&members));
				l->n++;
			}
	command_print(t, &l->common);
}

static int list_events_of_machine(struct list *l, struct error *e)
{
	SCOPED(buf_release) struct buf text = BUF_INIT;
	SCOPED(root_release) struct root root = { 0 };
	int n;

	root_init(&root, l->root);
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
		list_sources(l);
	if (!err && (all || !strcmp(l->what, "events")))
		err = list_events_of_machine(l, e);
	if (!err && l->what && !strncmp(l->what, "metric", 6))
		err = take_tables(l, e);
	if (!err && l->what && !strcmp(l->what, "metrics"))
		list_metrics(l);
	if (!err && l->what && !strcmp(l->what, "metricgroups"))
		list_groups(l);
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
