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

struct list {
	struct options_common common;
	char *what, *glob, *root_path, *metric_file;
	char **event_files; /* owned, up to NULL */
	bool no_vendor;
	struct root root;
	struct perf_pmus pmus;
	char cpu[64];                               /* this CPU's id in the maps of vendor files; "": unknown */
	struct metric_set vendor[1 + VENDOR_TEXTS]; /* those of --metrics-file, and the pack */
	size_t n_vendor;
	struct metric_table *metrics; /* owned; the vendor's, then all that are built in; ends with row NULL */
	struct table *table;
	unsigned n;
};

/* A word without wildcards matches anywhere in the name of an event. */
static bool event_wanted(const struct list *l, const char *name)
{
	if (!l->glob || !l->glob[0])
		return true;
	return strpbrk(l->glob, "*?[") ? !fnmatch(l->glob, name, FNM_CASEFOLD) : strcasestr(name, l->glob) != NULL;
}

static bool wanted(const struct list *l, const char *name)
{
	return !l->glob || !fnmatch(l->glob, name, 0);
}

/* Begins a table of so many columns; the last one may take several lines. */
static void begin_table(struct list *l, const char *const *head, size_t n)
{
	l->table = table_new();
	for (size_t i = 0; i < n; i++)
		table_column(l->table, head[i], TABLE_LEFT, i == n - 1);
}

/* Cells that the table has no column for are left out. */
static void add_row(struct list *l, const char *a, const char *b, const char *c, const char *d)
{
	table_texts(l->table, (const char *const[]){ a, b, c, d }, d ? 4 : 3);
	l->n++;
}

/* ---- what -e takes on this machine ---- */

static void add(struct list *l, const char *name, const char *kind, const char *unit, const char *help)
{
	if (event_wanted(l, name))
		add_row(l, name, kind, unit, help ? help : "");
}

/* Whether this CPU lacks a general event: asks the kernel, for this process in user mode, which needs no privilege.
 * If the machine is emulated, it cannot be asked. */
static bool absent(const struct list *l, uint32_t type, uint64_t config)
{
	union perf_attr attr = { .a = { .size = PERF_ATTR_SIZE_VER0,
					.type = type,
					.config = config,
					.exclude_kernel = 1,
					.exclude_hv = 1,
					.disabled = 1 } };
	SCOPED(fd_close) int fd = l->root.emulated ? -1 : perf_open(&attr, perf_on_task(0), -1);

	return fd == -ENOENT || fd == -EOPNOTSUPP || fd == -ENXIO;
}

static void add_general(struct list *l, const char *name, const char *alias, const char *kind, const char *unit,
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
	struct list *l = arg;

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

/* The first PMU of the same class or kind if it has the same events and terms; NULL: none, or it is this one. */
static const struct event_pmu *twin_of(const struct perf_pmus *pmus, const struct event_pmu *pmu)
{
	const struct event_pmu *twin = pmus->pmu;
	size_t same = 0;

	while (twin != pmu && (perf_class(pmu) ? perf_class(twin) != perf_class(pmu) : !same_kind(twin, pmu)))
		twin++;
	if (twin == pmu || twin->n_formats != pmu->n_formats || twin->n_aliases != pmu->n_aliases)
		return NULL;
	while (same < pmu->n_aliases && !strcmp(twin->alias[same].name, pmu->alias[same].name) &&
	       !strcmp(twin->alias[same].text, pmu->alias[same].text))
		same++;
	return same == pmu->n_aliases ? twin : NULL;
}

static void add_pmu(struct list *l, const struct event_pmu *pmu)
{
	SCOPED(buf_release) struct buf name = BUF_INIT, text = BUF_INIT;
	bool tool = pmu->type == EVENT_TYPE_TOOL;

	for (size_t i = 0; i < pmu->n_aliases; i++) {
		const struct event_alias *a = &pmu->alias[i];

		buf_clear(&name);
		buf_clear(&text);
		/* The tool's events are known by their names alone. */
		buf_printf(&name, tool ? "%s%s" : "%s/%s/", tool ? "" : pmu->name, a->name);
		if (a->help)
			buf_printf(&text, "%s%s%s", a->help, a->deprecated ? " (deprecated)" : "", tool ? "" : "; ");
		if (!tool)
			buf_addstr(&text, a->text);
		add(l, buf_str(&name), kind_of(pmu, a), a->unit, buf_str(&text));
	}
	buf_clear(&name);
	buf_clear(&text);
	buf_printf(&name, "%s/TERM=VALUE,.../", pmu->name);
	for (size_t i = 0; i < pmu->n_formats; i++)
		buf_printf(&text, "%s%s (%s)", i ? ", " : "", pmu->format[i].name, pmu->format[i].text);
	if (pmu->n_formats)
		add(l, buf_str(&name), "terms", NULL, buf_str(&text));
}

/* What is the same on a dozen root complexes is listed for the first of those that were requested, and consecutive
 * others are named together. */
static void add_pmus(struct list *l, const struct perf_pmus *pmus)
{
	SCOPED(scoped_free) bool *listed = memory_new(pmus->n, sizeof(*listed));
	char name[200], as[120];

	for (size_t i = 0, k; i < pmus->n; i = k) {
		const struct event_pmu *pmu = &pmus->pmu[i], *twin = twin_of(pmus, pmu);
		unsigned before = l->n;

		k = i + 1;
		if (!twin || !listed[twin - pmus->pmu]) {
			add_pmu(l, pmu);
			listed[i] = l->n > before;
			continue;
		}
		while (k < pmus->n && twin_of(pmus, &pmus->pmu[k]) == twin)
			k++;
		snprintf(name, sizeof(name), k == i + 1 ? "%s/.../" : "%s/.../ to %s/.../", pmu->name,
			 pmus->pmu[k - 1].name);
		snprintf(as, sizeof(as), "as %s", twin->name);
		add_row(l, name, "uncore", NULL, as);
	}
}

/* PMUs of a class are described once: a word that matches one of them matches the description. */
static void add_class(struct list *l, const struct perf_pmus *pmus, const struct pmu_class *c)
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
	struct list *l = arg;
	char both[400];

	snprintf(both, sizeof(both), "%s:%s", system, name);
	add(l, both, "tracepoint", NULL, NULL);
	return 0;
}

static void add_tracepoints(struct list *l, const struct event_view *v)
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

static void find_cpu(struct list *l)
{
	const char *other = cpuid_for_vendor(NULL);
	SCOPED(cpulist_release) struct cpulist online = { 0 };
	bool known = other;

	if (known)
		snprintf(l->cpu, sizeof(l->cpu), "%s", other);
	else
		root_online(&l->root, &online);
	/* The first may be offline, or not for this container. */
	for (size_t i = 0; i < online.n && !known; i++) {
		const struct cpulist one = { .cpu = &online.cpu[i], .n = 1 };
		uint64_t midr = cputype_midr(&l->root, online.cpu[i]);
		struct cpuid_cpu *c = midr ? NULL : cpuid_collect(&l->root, &one, true);

		known = midr || (c && !c->err && cpuid_name(c, l->cpu, sizeof(l->cpu)));
		if (midr)
			snprintf(l->cpu, sizeof(l->cpu), "0x%016llx", (unsigned long long)midr);
		cpuid_free(c, 1);
	}
}

/* Names all PMUs, with the vendor's events. */
static int take_pmus(struct list *l, struct buf *notes, struct error *e)
{
	const char *cpu = l->cpu[0] ? l->cpu : NULL;
	struct vendor_texts texts;

	if (l->event_files && *l->event_files) {
		int err = perf_pmus_add_files(&l->pmus, l->event_files, NULL, cpu, notes, e);

		if (err)
			return err;
	}
	if (l->no_vendor)
		return 0;
	perf_pmus_add_pack(&l->pmus, cpu, NULL, false, &texts, notes);
	vendor_texts_release(&texts);
	return 0;
}

/* Appends the events whose name matches, for people. 0 or -errno. */
static int list_events(struct list *l, struct buf *out, struct error *e)
{
	static const char *const head[] = { "EVENT", "KIND", "UNIT", "WHAT" };
	static const struct {
		const char *name, *kind, *help;
	} forms[] = {
		{ "rHEX", "raw", "a code of the CPU's event table" },
		{ "TYPE:CONFIG", "numeric", "attr.type and attr.config, unchanged" },
		{ "mem:ADDR[/LEN][:rwx]", "breakpoint", "accesses to an address" },
	};
	SCOPED(buf_release) struct buf notes = BUF_INIT;
	struct event_view view;
	unsigned before = l->n;
	int err = take_pmus(l, &notes, e);

	if (err)
		return err;
	view = perf_view(&l->pmus, &l->root);
	begin_table(l, head, 4);
	for (const struct event_symbol *s = event_symbols; s->name; s++)
		add_general(l, s->name, s->alias, s->type == PERF_TYPE_SOFTWARE ? "software" : "hardware", s->unit,
			    s->help, absent(l, s->type, s->config));
	event_cache_each(add_cache, l);
	add_pmus(l, &l->pmus);
	for (const struct pmu_class *c = pmu_classes; c->name; c++)
		add_class(l, &l->pmus, c);
	add_tracepoints(l, &view);
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		add(l, forms[i].name, forms[i].kind, NULL, forms[i].help);
	if (l->n > before) {
		table_print(l->table, 0, true, false, out);
		buf_addstr(out, buf_str(&notes));
	}
	table_free(l->table);
	return 0;
}

/* ---- the command ---- */

#define OPTIONS_INTO struct list
static const struct option_row rows[] = {
	{ "events-file", 0, "FILE|DIR",
	  "include the CPU vendor's events, from files in perf's JSON schema; may be repeated", LIST(event_files) },
	{ "metrics-file", 0, "FILE|DIR", "include the CPU vendor's metrics, from files in that schema",
	  TEXT(metric_file) },
	{ "no-vendor", 0, NULL, "ignore what `pmrec vendor import` installed", FLAG(no_vendor) },
	{ "root", 0, "DIR", "read /sys, /proc and /dev below DIR", TEXT(root_path) },
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

static void list_sources(struct list *l)
{
	begin_table(l, (const char *const[]){ "SOURCE", "DEFAULT", "WHAT" }, 3);
	for (const struct source_ops *const *s = sources; *s; s++)
		if (wanted(l, (*s)->name))
			add_row(l, (*s)->name, "yes", (*s)->help, NULL);
	command_print(l->table, &l->common);
}

static void list_metrics(struct list *l)
{
	begin_table(l, (const char *const[]){ "METRIC", "UNIT", "WHAT" }, 3);
	for (const struct metric_table *m = l->metrics; m->row; m++)
		for (const struct metric *r = m->row; r < m->row + m->n; r++)
			if (wanted(l, r->name) || wanted(l, r->display))
				add_row(l, r->name, r->unit ? r->unit : "", r->help ? r->help : "", NULL);
	command_print(l->table, &l->common);
}

static int load_pack(struct list *l, struct error *e)
{
	struct vendor_pack pack;
	SCOPED(vendor_texts_release) struct vendor_texts texts = { 0 };
	bool changed = privileges_become_caller();
	int err = vendor_pack_find(&pack, e);

	privileges_become_self(changed);
	if (err)
		return err == -ENOENT ? 0 : err;
	err = vendor_pack_texts(&pack, l->cpu[0] ? l->cpu : NULL, &texts, e);
	vendor_pack_close(&pack);
	for (uint32_t i = 0; i < texts.n && !err; i++) {
		const char *text = texts.set[i].metrics;
		/* A set that has only events is not an error. */
		int none = *text ? metric_set_load_text(&l->vendor[l->n_vendor], text, strlen(text), e) : 1;

		l->n_vendor += !none;
	}
	return err;
}

static int load_vendor(struct list *l, struct error *e)
{
	int err;

	if (!l->metric_file)
		return l->no_vendor ? 0 : load_pack(l, e);
	err = metric_set_load(&l->vendor[0], l->metric_file, l->cpu[0] ? l->cpu : NULL, e);
	if (err)
		return error_prefix(e, "--metrics-file");
	l->n_vendor = 1;
	return 0;
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

static int take_metrics(struct list *l, struct error *e)
{
	size_t n = 0, used = 0;
	int err = load_vendor(l, e);

	if (err)
		return err;
	while (metric_tables[n].row)
		n++;
	l->metrics = memory_new(n + l->n_vendor + 1, sizeof(*l->metrics));
	for (size_t i = 0; i < l->n_vendor; i++)
		if (l->vendor[i].n)
			l->metrics[used++] = (struct metric_table){ "vendor", l->vendor[i].row,
								    sort_boards(&l->pmus, &l->vendor[i]) };
	memcpy(l->metrics + used, metric_tables, n * sizeof(*l->metrics));
	return 0;
}

static void members_of(const struct list *l, const char *group, struct buf *out)
{
	size_t want = strlen(group);

	for (const struct metric_table *m = l->metrics; m->row; m++)
		for (size_t i = 0; i < m->n; i++)
			for (const char *c = m->row[i].categories; c && *c; c += strcspn(c, ","), c += *c == ',')
				if (strcspn(c, ",") == want && !strncmp(c, group, want))
					buf_printf(out, "%s%s", out->len ? " " : "", m->row[i].name);
}

/* Prints each group once, in the order of the tables, with its metrics. */
static void list_groups(struct list *l)
{
	SCOPED(names_release) struct names seen = { 0 };

	begin_table(l, (const char *const[]){ "GROUP", "", "METRICS" }, 3);
	for (const struct metric_table *m = l->metrics; m->row; m++)
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
				add_row(l, group, "", buf_str(&members), NULL);
			}
	command_print(l->table, &l->common);
}

static int list_all(struct list *l, struct error *e)
{
	bool sources = l->what && !strcmp(l->what, "sources"), metrics = l->what && !strncmp(l->what, "metric", 6);
	SCOPED(buf_release) struct buf events = BUF_INIT;
	int err = 0;

	root_init(&l->root, l->root_path);
	if (sources || !l->what)
		list_sources(l);
	if (!sources) {
		perf_pmus_read(&l->pmus, &l->root);
		find_cpu(l);
	}
	if (!sources && !metrics)
		err = list_events(l, &events, e);
	fputs(buf_str(&events), stdout);
	if (metrics)
		err = take_metrics(l, e);
	if (err)
		return e->number ? err : error_sys(e, -err, "list");
	if (metrics && !strcmp(l->what, "metrics"))
		list_metrics(l);
	else if (metrics)
		list_groups(l);
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
	free(l.metrics);
	perf_pmus_release(&l.pmus);
	root_release(&l.root);
	free(l.event_files);
	options_common_release(&l.common);
	return code;
}
