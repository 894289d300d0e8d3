#include "record/list_events.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/table.h"
#include "record/perf_open.h"
#include "record/perf_pmu.h"

struct listing {
	const struct root *root;
	const char *glob;
	struct table *table;
	int n, err;
};

/* A word without wildcards is looked for anywhere in the name. */
static bool wanted(const struct listing *l, const char *name)
{
	if (!l->glob || !l->glob[0])
		return true;
	return strpbrk(l->glob, "*?[") ? !fnmatch(l->glob, name, FNM_CASEFOLD)
	                               : strcasestr(name, l->glob) != NULL;
}

static void add_row(struct listing *l, const char *name, const char *kind, const char *unit, const char *help)
{
	const char *cell[] = { name, kind, unit, help };

	if (l->err)
		return;
	l->err = table_row(l->table);
	for (size_t i = 0; i < sizeof(cell) / sizeof(cell[0]) && !l->err; i++)
		if (cell[i] && cell[i][0])
			l->err = table_cell(l->table, i, cell[i], NULL);
	l->n++;
}

static void add(struct listing *l, const char *name, const char *kind, const char *unit, const char *help)
{
	if (wanted(l, name))
		add_row(l, name, kind, unit, help);
}

/* Whether this CPU has a general event: asked of the kernel, for the user's part of this process, so that it
 * needs no privilege. On a machine that is only described nobody can be asked. */
static bool absent(const struct listing *l, uint32_t type, uint64_t config)
{
	union perf_attr attr = { .a = { .size = PERF_ATTR_SIZE_VER0,
		                        .type = type,
		                        .config = config,
		                        .exclude_kernel = 1,
		                        .exclude_hv = 1,
		                        .disabled = 1 } };
	int fd;

	if (l->root->emulated)
		return false;
	fd = perf_open(&attr, perf_on_task(0), -1);
	if (fd >= 0)
		close(fd);
	return fd == -ENOENT || fd == -EOPNOTSUPP || fd == -ENXIO;
}

static void add_general(struct listing *l, const char *name, const char *alias, const char *kind,
                        const char *unit, const char *help, bool is_absent)
{
	char text[200], both[128];

	if (!wanted(l, name) && !(alias && wanted(l, alias)))
		return;
	snprintf(both, sizeof(both), alias ? "%s OR %s" : "%s", name, alias);
	snprintf(text, sizeof(text), "%s%s%s", is_absent ? "not on this machine" : "",
	         is_absent && help ? ": " : "", help ? help : "");
	add_row(l, both, kind, unit, text);
}

static int add_cache(void *arg, const char *name, uint64_t config)
{
	struct listing *l = arg;

	add_general(l, name, NULL, "cache", NULL, NULL, absent(l, PERF_TYPE_HW_CACHE, config));
	return l->err;
}

static void add_pmu(struct listing *l, const struct event_pmu *pmu)
{
	struct buf name = BUF_INIT, terms = BUF_INIT;

	for (size_t i = 0; i < pmu->n_aliases; i++) {
		const struct event_alias *a = &pmu->alias[i];

		buf_clear(&name);
		buf_printf(&name, "%s/%s/", pmu->name, a->name);
		add(l, buf_str(&name), pmu->uncore ? "uncore" : pmu->core ? "core" : "PMU", a->unit, a->text);
	}
	buf_clear(&name);
	buf_printf(&name, "%s/TERM=VALUE,.../", pmu->name);
	for (size_t i = 0; i < pmu->n_formats; i++)
		buf_printf(&terms, "%s%s (%s)", i ? ", " : "", pmu->format[i].name, pmu->format[i].text);
	if (pmu->n_formats)
		add(l, buf_str(&name), "terms", NULL, buf_str(&terms));
	l->err = l->err ? l->err : name.err ? name.err : terms.err;
	buf_release(&name);
	buf_release(&terms);
}

static int add_tracepoint(void *arg, const char *system, const char *name, uint64_t id)
{
	struct listing *l = arg;
	char both[400];

	snprintf(both, sizeof(both), "%s:%s", system, name);
	add(l, both, "tracepoint", NULL, NULL);
	return l->err;
}

static void add_tracepoints(struct listing *l, const struct event_view *v)
{
	int n = v->tracepoints(v->data, "*", "*", add_tracepoint, l);

	if (n == -ENODEV)
		add(l, "SYSTEM:NAME", "tracepoint", NULL,
		    "cannot be listed: tracefs is not mounted (mount -t tracefs nodev /sys/kernel/tracing)");
	else if (n < 0 && !l->err)
		add(l, "SYSTEM:NAME", "tracepoint", NULL, "cannot be listed: tracefs may not be read");
}

int list_events(const struct root *root, const char *glob, struct buf *out, struct error *e)
{
	static const struct {
		const char *name, *kind, *help;
	} forms[] = {
		{ "rHEX", "raw", "a code of the CPU's event table" },
		{ "TYPE:CONFIG", "numeric", "attr.type and attr.config as they are" },
		{ "mem:ADDR[/LEN][:rwx]", "breakpoint", "accesses to an address" },
	};
	struct listing l = { .root = root, .glob = glob, .table = table_new() };
	struct perf_pmus pmus = { 0 };
	struct event_view view;

	if (!l.table)
		return error_sys(e, ENOMEM, "list of events");
	l.err = perf_pmus_read(&pmus, root);
	view = perf_view(&pmus, root);
	if (!l.err)
		l.err = table_column(l.table, "EVENT", TABLE_LEFT, false);
	if (!l.err)
		l.err = table_column(l.table, "KIND", TABLE_LEFT, false);
	if (!l.err)
		l.err = table_column(l.table, "UNIT", TABLE_LEFT, false);
	if (!l.err)
		l.err = table_column(l.table, "WHAT", TABLE_LEFT, true);
	for (const struct event_symbol *s = event_symbols; s->name; s++)
		add_general(&l, s->name, s->alias, s->type == PERF_TYPE_SOFTWARE ? "software" : "hardware",
		            s->unit, s->help, absent(&l, s->type, s->config));
	event_cache_each(add_cache, &l);
	for (size_t i = 0; i < pmus.n; i++)
		add_pmu(&l, &pmus.pmu[i]);
	add_tracepoints(&l, &view);
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		add(&l, forms[i].name, forms[i].kind, NULL, forms[i].help);
	if (!l.err)
		l.err = table_print(l.table, 0, true, false, out);
	table_free(l.table);
	perf_pmus_release(&pmus);
	return l.err ? error_sys(e, -l.err, "list of events") : l.n;
}
