/* Which events: those of the command line, of options and metrics, or perf's defaults. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/memory.h"
#include "common/metric/expr.h"
#include "common/metric/metric.h"
#include "common/number.h"
#include "common/options.h"
#include "common/table.h"
#include "record/host/cpuid.h"
#include "record/host/privileges.h"
#include "record/perf/perf_pmu.h"
#include "record/perf/perf_source.h"
#include "record/perf/pfm.h"
#include "record/plan/machine.h"

#define VENDOR_HINT \
	"`pmrec vendor import DIR` adds the CPU vendor's (DIR: tools/perf/pmu-events/arch of a kernel tree)"

/* Shares of the slots of Intel's cores (topdown-retiring and the like) are read from one register, which the slots
 * event switches on: the kernel accepts them only after that event, in its group. Their names vary; their codes do
 * not (arch/x86/events/intel/core.c: slots 0x400, shares 0x8000 to 0x8700). */

#define SLOTS       0x400u
#define FIRST_SHARE 0x8000u
#define SHARES      0x700u /* bits that distinguish them */

static bool has_shares(const struct perf_source *s, const struct event *ev)
{
	const struct event_pmu *pmu = ev->core && ev->pmu_index != EVENT_NONE ? &s->pmus.pmu[ev->pmu_index] : NULL;

	return event_pmu_alias(pmu, "slots", 5);
}

static bool perf_is_slots(const struct perf_source *s, const struct event *ev)
{
	return ev->config[0] == SLOTS && has_shares(s, ev);
}

static bool perf_is_share(const struct perf_source *s, const struct event *ev)
{
	return (ev->config[0] & ~(uint64_t)SHARES) == FIRST_SHARE && has_shares(s, ev);
}

uint32_t perf_topdown_order(const struct perf_source *s, struct perf_group *g)
{
	uint32_t front = 0, slots = 0;
	bool any = false;

	while (slots < g->n && !perf_is_slots(s, g->member[slots]->ev))
		slots++;
	for (uint32_t k = 0; k < g->n; k++)
		any |= perf_is_share(s, g->member[k]->ev);
	if (!any || slots == g->n)
		return 1;
	for (uint32_t k = 0; k < g->n; k++) {
		uint32_t from = k ? k : slots;
		struct perf_event *e;

		/* The leader first; then the shares, in order. */
		while (k && from < g->n && !perf_is_share(s, g->member[from]->ev))
			from++;
		if (from == g->n)
			break;
		e = g->member[from];
		memmove(&g->member[k + 1], &g->member[k], (from - k) * sizeof(*g->member));
		g->member[k] = e;
		front++;
	}
	return front;
}

/* Sets of events that an option stands for: --transaction, --topdown, --smi-cost. Each needs events that few machines
 * have; without them it is refused as a whole, because a part would mean nothing. */

static bool has_alias(const struct event_pmu *pmu, const char *name)
{
	return event_pmu_alias(pmu, name, strlen(name));
}

static void put_event_name(struct buf *out, const struct event_pmu *pmu, const char *name, bool first)
{
	buf_printf(out, "%s%s/%s/", first ? "" : ",", pmu->name, name);
}

/* Cycles in transactions, their starts and, where the CPU has them, elided locks and committed cycles. */
static int add_transaction(const struct perf_pmus *pmus, struct buf *out, struct error *e)
{
	static const char *const more[] = { "el-start", "cycles-ct" };

	for (size_t i = 0; i < pmus->n; i++) {
		const struct event_pmu *pmu = &pmus->pmu[i];

		if (!pmu->core || !has_alias(pmu, "cycles-t") || !has_alias(pmu, "tx-start"))
			continue;
		buf_printf(out, "task-clock,{%s/instructions/,%s/cycles/", pmu->name, pmu->name);
		put_event_name(out, pmu, "cycles-t", false);
		put_event_name(out, pmu, "tx-start", false);
		for (size_t k = 0; k < sizeof(more) / sizeof(more[0]); k++)
			if (has_alias(pmu, more[k]))
				put_event_name(out, pmu, more[k], false);
		buf_addstr(out, "}:W");
		return 0;
	}
	return error_set(e, ENODEV,
			 "--transaction: no core PMU has the events cycles-t and tx-start; this processor, or its "
			 "hypervisor, offers no transactional memory");
}

static bool old_topdown(const struct event_pmu *pmu)
{
	return has_alias(pmu, "topdown-total-slots");
}

static unsigned levels(const struct event_pmu *pmu)
{
	return has_alias(pmu, "topdown-heavy-ops") ? 2 : 1;
}

/* Adds all topdown events of a core PMU; "slots" leads those of a metrics register. */
static void add_topdown_of(const struct event_pmu *pmu, struct buf *out)
{
	bool slots = has_alias(pmu, "slots"), first = !slots;

	buf_printf(out, "%s{", out->len ? "," : "");
	if (slots)
		put_event_name(out, pmu, "slots", true);
	for (size_t k = 0; k < pmu->n_aliases; k++) {
		const char *name = pmu->alias[k].name;

		if (strncmp(name, "topdown-", 8) || strchr(name, '.'))
			continue;
		put_event_name(out, pmu, name, first);
		first = false;
	}
	buf_addstr(out, "}:W");
}

static int add_topdown(const struct perf_pmus *pmus, const struct plan *p, struct buf *out, struct error *e)
{
	const struct record_options *o = p->options;
	unsigned found = 0, deepest = 0;
	char smt[8] = "0";

	root_line(p->root, smt, sizeof(smt), "/sys/devices/system/cpu/smt/active");
	for (size_t i = 0; i < pmus->n; i++) {
		const struct event_pmu *pmu = &pmus->pmu[i];

		if (!pmu->core || (!has_alias(pmu, "topdown-retiring") && !old_topdown(pmu)))
			continue;
		if (!has_alias(pmu, "slots") && old_topdown(pmu) && !strcmp(smt, "1") && o->target != TARGET_SYSTEM)
			return error_set(e, EINVAL,
					 "--topdown: the events of this processor count whole cores, not threads, so "
					 "they cannot be attributed to tasks; add -a");
		found++;
		if (levels(pmu) > deepest)
			deepest = levels(pmu);
		add_topdown_of(pmu, out);
	}
	if (!found)
		return error_set(e, ENODEV,
				 "--topdown: no core PMU has topdown-* events here; with the vendor's metrics, -M "
				 "TopdownL1 counts what other processors offer instead");
	if (o->perf.td_level > deepest)
		return error_set(e, EINVAL, "--td-level: this processor has %u level%s", deepest, plural(deepest));
	return 0;
}

static int add_smi(const struct perf_pmus *pmus, struct buf *out, struct error *e)
{
	const struct event_pmu *msr = event_pmu_named(pmus->pmu, pmus->n, "msr");

	if (!has_alias(msr, "aperf") || !has_alias(msr, "smi"))
		return error_set(e, ENODEV,
				 "--smi-cost: the msr PMU has no events aperf and smi here; only Intel processors "
				 "count SMIs, and hypervisors hide that");
	buf_printf(out, "%s{msr/aperf/,msr/smi/,cycles}:W", out->len ? "," : "");
	return 0;
}

int perf_sets_text(const struct perf_source *s, const struct plan *p, struct buf *out, struct error *e)
{
	const struct record_options *o = p->options;
	char name[16];
	int err = 0;

	if (o->perf.cputype) {
		snprintf(name, sizeof(name), "cpu_%s", o->perf.cputype);
		if (!event_pmu_named(s->pmus.pmu, s->pmus.n, name))
			return error_set(e, ENODEV, "--cputype: this machine has no PMU %s; it is not hybrid", name);
	}
	if (o->perf.pmu_filter && !event_pmu_named(s->pmus.pmu, s->pmus.n, o->perf.pmu_filter))
		return error_set(e, ENODEV,
				 "--pmu-filter: this machine has no PMU %s; `pmrec list events` lists them",
				 o->perf.pmu_filter);
	if (o->perf.topdown)
		err = add_topdown(&s->pmus, p, out, e);
	if (!err && o->perf.smi_cost)
		err = add_smi(&s->pmus, out, e);
	if (!err && o->perf.transaction) {
		if (out->len)
			buf_addstr(out, ",");
		err = add_transaction(&s->pmus, out, e);
	}
	memory_whole(out);
	return err;
}

static bool described(const struct perf_pmus *pmus, const char *name)
{
	for (size_t i = 0; i < pmus->n; i++)
		if (pmus->pmu[i].core && has_alias(&pmus->pmu[i], name))
			return true;
	return false;
}

/* Reports remarks made while reading, one per line, in the file and to the user. */
static void tell_notes(struct plan *p, struct buf *notes, uint16_t reason)
{
	for (char *line = (char *)buf_str(notes), *end; *line; line = end + 1) {
		end = strchr(line, '\n');
		*end = '\0';
		plan_refused(p, reason, pm_remark(0), pm_remark(PM_REMARK_TEXT, line));
	}
}

/* --cputype, --pmu-filter: of events that were expanded to all types of cores, or to several PMUs, keeps only this
 * one's. Explicitly named PMUs stay. */
static void keep_pmu(struct event_set *set, size_t first, const char *pmu, bool type)
{
	size_t kept = first;

	for (size_t i = first; i < set->n; i++) {
		struct event *ev = &set->event[i];
		size_t len = strlen(ev->pmu);
		bool named = !strncmp(ev->text, ev->pmu, len) && (type || ev->text[len] == '/');

		if ((type ? ev->core : ev->wildcard > 0) && !named && strcmp(ev->pmu, pmu))
			event_release(ev);
		else
			set->event[kept++] = *ev;
	}
	set->n = kept;
}

static int read_text(struct perf_source *s, struct plan *p, const char *text, struct error *e)
{
	SCOPED(buf_release) struct buf notes = BUF_INIT;
	size_t first = s->set.n;
	char type[32];
	int err = perf_events_of(&s->pmus, p->root, text, &s->set, &notes, e);

	snprintf(type, sizeof(type), "cpu_%s", p->options->perf.cputype ? p->options->perf.cputype : "");
	if (!err && p->options->perf.cputype)
		keep_pmu(&s->set, first, type, true);
	if (!err && p->options->perf.pmu_filter)
		keep_pmu(&s->set, first, p->options->perf.pmu_filter, false);
	if (!err)
		tell_notes(p, &notes, PM_OK);
	return err;
}

/* A filter belongs to the tracepoints of the text that it was given with. */
static int add_filter(struct perf_source *s, size_t first, const char *filter, const char *text, struct error *e)
{
	bool any = false;

	for (size_t i = first; i < s->set.n; i++)
		if (s->set.event[i].type == PERF_TYPE_TRACEPOINT) {
			s->event[i].filter = filter;
			any = true;
		}
	return any ? 0 : error_set(e, EINVAL, "--filter: \"%.100s\" has no tracepoint", text);
}

static void grow_events(struct perf_source *s, size_t from, bool requested)
{
	s->event = memory_resize(s->event, s->set.n, sizeof(*s->event));
	for (size_t i = from; i < s->set.n; i++)
		s->event[i] = (struct perf_event){ .requested = requested };
}

/* PMUs whose events run whether or not anyone counts: energy and idle states, on one CPU of each package or core. The
 * registers after "msr" are read directly where that is permitted. */
static const struct {
	const char *pmu;
	bool without_registers;
} free_running[] = {
	{ "power" },         { "power_core" }, { "cstate_core" },
	{ "cstate_module" }, { "cstate_pkg" }, { "msr", .without_registers = true },
};

static bool has_registers(const struct plan *p)
{
	SCOPED(fd_close)
	int fd = p->options->no_msr || !p->cpus.n ? -1 : root_open(p->root, "/dev/cpu/%u/msr", p->cpus.cpu[0]);

	return fd >= 0;
}

static int read_free_running(struct perf_source *s, struct plan *p, struct error *e)
{
	bool registers = has_registers(p);
	char text[160];
	int err = 0;

	for (size_t f = 0; f < sizeof(free_running) / sizeof(free_running[0]); f++) {
		for (size_t i = 0; i < s->pmus.n; i++) {
			const struct event_pmu *pmu = &s->pmus.pmu[i];

			if (strcmp(pmu->name, free_running[f].pmu))
				continue;
			/* Without a CPU of its own it would count only the command. */
			if (free_running[f].without_registers && (registers || p->options->target != TARGET_SYSTEM))
				continue;
			for (size_t k = 0; k < pmu->n_aliases && !err; k++) {
				snprintf(text, sizeof(text), "%s/%s/", pmu->name, pmu->alias[k].name);
				err = read_text(s, p, text, e);
			}
		}
	}
	return err;
}

/* The default events of a PMU that has a class. An unusual PMU must not keep anything else from being recorded. */
static int read_class(struct perf_source *s, struct plan *p, const struct event_pmu *pmu, struct error *e)
{
	SCOPED(buf_release) struct buf text = BUF_INIT;
	int err;

	perf_class_defaults(&s->pmus, p->root, pmu, &text);
	err = text.len ? read_text(s, p, buf_str(&text), e) : 0;
	if (err != -EINVAL && err != -ENOENT)
		return err;
	event_error_plain(e);
	perf_class_refuse(pmu, PM_REASON_NOT_SUPPORTED);
	plan_refused(p, PM_REASON_NOT_SUPPORTED, pm_remark(0), pm_remark(PM_REMARK_TEXT, e->text));
	*e = (struct error){ 0 };
	return 0;
}

static bool is_default_wanted(const struct event_default *d, const struct perf_source *s,
			      const struct record_options *o)
{
	bool cpus = o->target == TARGET_SYSTEM;

	if (d->detailed > o->perf.detailed || (d->if_described && !described(&s->pmus, d->name)))
		return false;
	switch (d->only) {
	case EVENT_DEFAULT_OF_TASKS:
		return !cpus;
	case EVENT_DEFAULT_OF_CPUS:
		return cpus;
	case EVENT_DEFAULT_OF_TURBOSTAT:
		return cpus && !o->perf.detailed && !o->output.fd;
	case EVENT_DEFAULT_OF_ALL:
		break;
	}
	return true;
}

/* Events that only one of several kinds of cores has. */
static int read_beside(struct perf_source *s, struct plan *p, const struct event_default *d, struct error *e)
{
	const struct event_pmu *pmu = s->pmus.pmu;
	char text[128];
	int err = 0;

	/* Core PMUs come first. */
	for (size_t i = 0; i < s->pmus.n && !err; i++) {
		if (!pmu[i].core || !has_alias(&pmu[i], d->name) || !has_alias(&pmu[i], d->beside))
			continue;
		snprintf(text, sizeof(text), s->pmus.n > 1 && pmu[1].core ? "%s/%s/" : "%.0s%s", pmu[i].name,
			 d->name);
		err = read_text(s, p, text, e);
	}
	return err;
}

/* Events of -d alone, besides those that the user names. */
static int read_defaults(struct perf_source *s, struct plan *p, bool beside, struct error *e)
{
	size_t first = s->set.n;
	int err = 0;

	for (const struct event_default *d = event_defaults; d->name && !err; d++)
		if (is_default_wanted(d, s, p->options) && (d->detailed || !beside))
			err = d->beside ? read_beside(s, p, d, e) : read_text(s, p, d->name, e);
	/* perf has no more. */
	if (!p->options->output.fd && !beside) {
		if (!err)
			err = read_free_running(s, p, e);
		for (size_t i = 0; i < s->pmus.n && !err && p->options->target != TARGET_TASKS; i++)
			err = read_class(s, p, &s->pmus.pmu[i], e);
	}
	grow_events(s, first, beside);
	return err;
}

/* --all-user, --all-kernel; an event's own modifiers take precedence. */
static void restrict_rings(struct event *ev, const struct record_options *o)
{
	uint32_t ring = (o->perf.all_user ? EVENT_MOD_USER : 0) | (o->perf.all_kernel ? EVENT_MOD_KERNEL : 0);

	ev->kernel_only &= !o->perf.as_perf;
	if (ring && !(ev->mods & EVENT_MOD_RING) && !ev->uncore && ev->type != EVENT_TYPE_TOOL &&
	    !(o->perf.all_user && ev->kernel_only))
		event_set_mods(ev, ev->mods | ring);
}

/* Reads events and metrics that the user has imported, unless other files were given. */
static void read_pack(struct perf_source *s, struct plan *p, const char *id, struct buf *notes)
{
	static char *const nothing[] = { NULL };
	const struct record_options *o = p->options;
	int n;

	if (o->perf.no_vendor || !(o->perf.events || o->perf.metrics))
		return;
	n = perf_pmus_add_pack(&s->pmus, id, o->perf.events ? o->perf.events : nothing, o->perf.metrics != NULL,
			       &s->vendor, notes);
	memory_must(n == -ENOMEM ? n : 0);
	s->packed = n != -ENOENT;
}

static int read_files(struct perf_source *s, struct plan *p, struct error *e)
{
	const char *own = pm_map_text(&p->model->header, PM_HEADER_CPU_ID, NULL), *id = cpuid_for_vendor(own);
	SCOPED(buf_release) struct buf notes = BUF_INIT;
	int err;

	read_pack(s, p, id, &notes);
	err = perf_pmus_add_files(&s->pmus, p->options->perf.event_files, p->options->perf.metric_files, id, &notes,
				  e);
	/* Their codes may count something else here. */
	if (id && (!own || strcmp(id, own)) &&
	    (s->vendor.n || p->options->perf.event_files || p->options->perf.metric_files)) {
		buf_addstr(&notes, "PERF_CPUID: the vendor's events and metrics are those of ");
		text_escape(&notes, id, strlen(id));
		buf_printf(&notes, ", and this is %s\n", own ? own : "an unknown CPU");
	}
	tell_notes(p, &notes, PM_OK);
	return err;
}

/* Says how to find an event that is not here. A vendor's name may only need an import. */
static void add_hint(const struct perf_source *s, struct error *e)
{
	size_t len = strlen(e->text);
	const char *hint = strstr(e->text, "did you mean") ? "" : "; `pmrec list events` lists them";

	if (!strstr(e->text, "there is no event"))
		return;
	for (const char *c = e->text; *c && !s->packed; c++) {
		char in = *c == '"' ? c[1 + strcspn(c + 1, "._\"")] : 0;

		if ((in == '.' || in == '_') && (*hint ? isalpha((unsigned char)c[1]) : isupper((unsigned char)c[1])))
			hint = "; " VENDOR_HINT;
	}
	snprintf(e->text + len, sizeof(e->text) - len, "%s", hint);
}

static int perf_events_add(struct perf_source *s, struct plan *p, const char *text, struct error *e)
{
	size_t first = s->set.n;
	int err = read_text(s, p, text, e);

	if (!err)
		grow_events(s, first, true);
	return err;
}

/* ---- the events that metrics need ---- */

/* -M: the events that metrics need. Each metric's events of a PMU are counted in one group, so that they cover the
 * same time; metrics share groups. What cannot be in a group (software events, and what a vendor excludes) is counted
 * alone, once for all metrics. */

/* An event of a metric. */
struct want {
	char *text;           /* owned */
	struct event_set set; /* owned; its events, at least one */
	bool extra;           /* requested by the threshold alone */
	bool done;            /* it is in a group */
	bool alone;           /* it fits into none */
};

struct picked {
	const struct metric *row;
	char *word; /* owned; of -M, and whether it named a group of metrics */
	bool by_group;
	bool vendor;
	bool ungrouped;
	bool parted;       /* its events had no room in one group */
	bool extra;        /* while events of the threshold are added */
	struct want *want; /* owned */
	size_t n;
};

/* A metric that can be named. */
struct candidate {
	const struct metric *row;
	bool vendor; /* of a file, not built in */
};

struct metrics {
	struct perf_source *s;
	struct plan *p;
	struct error *error;
	struct metric_set *set; /* owned; of --metrics-file */
	size_t n_sets, n_files; /* the first are of --metrics-file */
	struct candidate *all;  /* owned */
	size_t n_all;
	struct picked *picked; /* owned */
	size_t n;
	bool watchdog, smt;
};

/* Loads the files of --metrics-file; metrics that had to be left out become notes. 0 or -errno with *m->error. */
static int metric_sets_load(struct metrics *m)
{
	const char *id = cpuid_for_vendor(pm_map_text(&m->p->model->header, PM_HEADER_CPU_ID, NULL));
	char **path = m->p->options->perf.metric_files;
	size_t n = 0;
	bool changed;
	int err = 0;

	while (path && path[n])
		n++;
	m->n_files = n;
	m->set = memory_new(n + m->s->vendor.n, sizeof(*m->set));
	changed = privileges_become_caller();
	for (; m->n_sets < n && !err; m->n_sets++) {
		err = metric_set_load(&m->set[m->n_sets], path[m->n_sets], id, m->error);
		if (err)
			error_prefix(m->error, "--metrics-file");
	}
	privileges_become_self(changed);
	for (size_t i = 0; i < m->n_sets; i++)
		tell_notes(m->p, &m->set[i].skipped, PM_REASON_FORMAT);
	for (uint32_t i = 0; i < m->s->vendor.n && !err; i++) {
		const char *text = m->s->vendor.set[i].metrics;
		int none = *text ? metric_set_load_text(&m->set[m->n_sets], text, strlen(text), m->error) : 1;

		m->n_sets += !none;
		err = none == -ENOMEM ? none : 0;
	}
	return err;
}

/* Whether a comma separated list has the word, in capitals or not. */
static bool metric_in_list(const char *list, const char *word)
{
	size_t want = strlen(word);

	for (; list && *list; list += strcspn(list, ","), list += *list == ',') {
		size_t len = strcspn(list, ",");

		if (len == want && !strncasecmp(list, word, len))
			return true;
	}
	return false;
}

static bool is_metric_named(const struct metric *row, const char *word)
{
	return !strcasecmp(row->name, word) || !strcasecmp(row->display, word) || metric_in_list(row->aliases, word);
}

static void pick(struct metrics *m, const struct metric *row, const char *word, bool by_group, bool vendor)
{
	for (size_t i = 0; i < m->n; i++)
		/* A metric that is requested twice counts once; a vendor's replaces ours. */
		if (m->picked[i].row == row || !strcasecmp(m->picked[i].row->name, row->name)) {
			m->picked[i].by_group &= by_group;
			return;
		}
	memory_room(&m->picked, m->n, sizeof(*m->picked));
	m->picked[m->n++] =
		(struct picked){ .row = row, .word = memory_text(word), .by_group = by_group, .vendor = vendor };
}

static void add_candidate(struct metrics *m, const struct metric *row, bool vendor)
{
	memory_room(&m->all, m->n_all, sizeof(*m->all));
	m->all[m->n_all++] = (struct candidate){ row, vendor };
}

static void list_candidates(struct metrics *m)
{
	for (size_t k = 0; k < m->n_sets; k++)
		for (size_t i = 0; i < m->set[k].n; i++)
			add_candidate(m, &m->set[k].row[i], true);
	for (const struct metric_table *t = metric_tables; t->row; t++)
		for (size_t i = 0; i < t->n; i++)
			if (!t->row[i].each)
				add_candidate(m, &t->row[i], false);
}

struct word {
	const char *text;
	bool by_name;
	bool vendor; /* search the rows of files, or the built-in ones */
	bool found;
	const struct metric *first; /* that it named */
};

/* In files of hybrid processors each kind of cores may have a metric of one name. */
static bool are_twins(const struct metrics *m, const struct metric *a, const struct metric *b)
{
	for (size_t k = 0; k < m->n_sets; k++) {
		const struct metric *from = m->set[k].row, *to = from + m->set[k].n;

		if (a >= from && a < to && b >= from && b < to)
			return !strcasecmp(a->aliases, b->aliases);
	}
	return false;
}

/* A machine may lack a kind of cores: of the metrics of one name, one that can be counted is enough. */
static void make_optional(struct metrics *m, const struct metric *row)
{
	for (size_t i = 0; i < m->n; i++)
		m->picked[i].by_group |= m->picked[i].row == row;
}

static void pick_if(struct metrics *m, const struct metric *row, bool vendor, struct word *w)
{
	if (vendor != w->vendor && strcasecmp(w->text, "all"))
		return;
	if (w->by_name ? !is_metric_named(row, w->text) :
			 strcasecmp(w->text, "all") && !metric_in_list(row->categories, w->text))
		return;
	/* Of two with one name the first is meant. */
	if (w->by_name && w->found) {
		if (!are_twins(m, w->first, row))
			return;
		make_optional(m, w->first);
		pick(m, row, w->text, true, vendor);
		return;
	}
	w->found = true;
	w->first = row;
	pick(m, row, w->text, !w->by_name, vendor);
}

/* Makes the name or group of the row the best, if it is nearer to the word. */
static void offer(const struct metric *row, const char *word, char best[static 64])
{
	const char *const names[] = { *best ? best : row->name, row->name, row->display };
	const char *found = options_nearest(word, names, sizeof(names) / sizeof(names[0]));
	char one[64];

	if (found && found != best)
		snprintf(best, 64, "%s", found);
	for (const char *list = row->categories; list && *list; list += strcspn(list, ","), list += *list == ',') {
		const char *const words[] = { *best ? best : one, one };

		snprintf(one, sizeof(one), "%.*s", (int)strcspn(list, ","), list);
		if (options_nearest(word, words, 2) == one)
			snprintf(best, 64, "%s", one);
	}
}

static int pick_word(struct metrics *m, const char *text)
{
	struct word w = { .text = text };
	char best[64] = "";

	/* A file that the user gives takes precedence. */
	for (int ours = 0; ours < 2; ours++)
		for (int group = 0; group < 2 && !w.found; group++) {
			w.vendor = !ours;
			w.by_name = !group;
			for (size_t i = 0; i < m->n_all; i++)
				pick_if(m, m->all[i].row, m->all[i].vendor, &w);
		}
	if (w.found)
		return 0;
	for (size_t i = 0; i < m->n_all; i++)
		offer(m->all[i].row, text, best);
	return error_set(m->error, ENOENT, "-M: there is no metric or metric group '%.80s'%s%s%s%s", text,
			 *best ? ", did you mean " : "", best, *best ? "?" : "",
			 m->n_sets || m->s->packed ? "" : "; " VENDOR_HINT);
}

/* Fills m->picked with what the texts of -M name; the text of -ENOENT names the nearest. */
static int metrics_pick(struct metrics *m)
{
	int err = 0;

	for (char **list = m->p->options->perf.metrics; *list && !err; list++) {
		char *copy = memory_text(*list), *rest = copy, *word;

		while (!err && (word = strsep(&rest, ",")))
			if (*word)
				err = pick_word(m, word);
		free(copy);
		if (!err && !m->n)
			err = error_set(m->error, EINVAL, "-M: '%.80s' names no metric", *list);
	}
	return err;
}

/* Which events of metrics are counted together. A metric's events of one PMU stay in one group, so that its formula
 * covers one period; metrics share a group while the PMU has counters for all of it, so that few groups take turns.
 * A metric whose events are part of those of one without room is parted if it would open any of them again.
 * Only the kernel knows what fits (fixed counters, slot shares that need none, which event can use which counter), so
 * a trial group is opened. In this check the kernel ignores the counter of the NMI watchdog, so the trial includes an
 * event for it. */

struct bin {
	const char *pmu; /* that of each member's first event */
	struct want *want[PERF_GROUP_MAX];
	size_t n;
	size_t refused; /* number of additional events that did not fit */
};

static const char *pmu_of(const struct want *w)
{
	return w->set.event[0].pmu;
}

static bool may_group(const char *pmu)
{
	return strcmp(pmu, "software") && strcmp(pmu, "tracepoint") && strcmp(pmu, "tool");
}

static bool holds(const struct bin *b, const struct want *w)
{
	for (size_t i = 0; i < b->n; i++)
		if (!strcasecmp(b->want[i]->text, w->text))
			return true;
	return false;
}

/* ---- what fits ---- */

struct trial {
	struct perf_place at;
	int fd[PERF_GROUP_MAX + 2];
	size_t n;
	bool whole; /* nothing was refused */
};

/* Exclusions do not affect which counter an event gets, and user mode is always permitted. */
static void try_event(struct trial *t, const struct event *ev)
{
	union perf_attr attr;
	int fd;

	perf_attr_fill(&attr, ev);
	if (ev->core) {
		attr.a.exclude_user = 0;
		attr.a.exclude_kernel = attr.a.exclude_hv = 1;
	}
	/* On Arm the kernel accepts members as if a stopped leader needed no counter. */
	attr.a.disabled = 0;
	fd = t->whole ? perf_open_relaxed(&attr, t->at, t->n ? t->fd[0] : -1) : -1;
	if (fd >= 0) {
		t->fd[t->n++] = fd;
	} else if (t->whole && t->n && (fd = perf_open_relaxed(&attr, t->at, -1)) >= 0) {
		/* An event that the kernel cannot count even alone takes no room. */
		close(fd);
		t->whole = false;
	}
}

/* The first event of the PMU that the text stands for; NULL: none. */
static const struct event *event_on(const struct want *w, uint32_t pmu)
{
	for (size_t i = 0; i < w->set.n; i++)
		if (w->set.event[i].pmu_index == pmu)
			return &w->set.event[i];
	return NULL;
}

/* The first event of the group there that is such a one; NULL: none. */
static const struct event *find_in_bin(struct metrics *m, const struct bin *b, uint32_t pmu,
				       bool (*is)(const struct perf_source *s, const struct event *ev))
{
	const struct event *ev;

	for (size_t i = 0; i < b->n; i++)
		if ((ev = event_on(b->want[i], pmu)) && is(m->s, ev))
			return ev;
	return NULL;
}

static void try_leader(struct metrics *m, struct trial *t, const struct bin *b, uint32_t pmu)
{
	const struct event *slots = find_in_bin(m, b, pmu, perf_is_slots),
			   *share = find_in_bin(m, b, pmu, perf_is_share);
	struct event added;

	/* They will be added (perf_events_read()). */
	if (share && !slots) {
		added = *share;
		added.config[0] = SLOTS;
		slots = &added;
	}
	if (slots)
		try_event(t, slots);
}

static bool fits_on(struct metrics *m, const struct bin *b, uint32_t pmu)
{
	static const struct event watchdog = { .type = PERF_TYPE_HARDWARE,
					       .config = { PERF_COUNT_HW_CPU_CYCLES },
					       .core = true };
	const struct event_pmu *p = pmu == EVENT_NONE ? NULL : &m->s->pmus.pmu[pmu];
	struct trial t = { .at = perf_on_task(0), .whole = true };
	SCOPED(cpulist_release) struct cpulist cpus = { 0 };
	const struct event *ev;

	if (p && p->cpus && !p->core && !cpulist_parse(&cpus, p->cpus, false, NULL) && cpus.n)
		t.at = perf_on_cpu((int)cpus.cpu[0]);
	try_leader(m, &t, b, pmu);
	for (size_t i = 0; i < b->n; i++)
		if ((ev = event_on(b->want[i], pmu)) && !(t.n && perf_is_slots(m->s, ev)))
			try_event(&t, ev);
	if (m->watchdog && p && p->core)
		try_event(&t, &watchdog);
	for (size_t i = 0; i < t.n; i++)
		close(t.fd[t.n - 1 - i]);
	return t.whole;
}

/* Whether they fit, on every kind of core that has the events; of equal PMUs outside the cores, on one. Under --root
 * there is no kernel to ask. */
static bool bin_fits(struct metrics *m, const struct bin *b)
{
	const struct event_set *set = &b->want[0]->set;
	bool all = true;

	if (m->p->root->emulated)
		return true;
	for (size_t i = 0; i < set->n && all && (!i || set->event[i].core); i++)
		all = fits_on(m, b, set->event[i].pmu_index);
	return all;
}

/* ---- metrics into groups ---- */

struct packing {
	struct metrics *m;
	struct bin *bin; /* owned */
	size_t n;
	/* The metric is part of one that had no room: perf counts each of its events once, and so may we. */
	bool once;
};

static bool held(const struct packing *k, const char *pmu, const struct want *w)
{
	for (size_t i = 0; i < k->n; i++)
		if (!strcmp(k->bin[i].pmu, pmu) && holds(&k->bin[i], w))
			return true;
	return false;
}

/* The metric's events of the PMU that are not open yet. */
static struct bin bin_take(const struct picked *one, const char *pmu, bool extra)
{
	struct bin b = { .pmu = pmu, .refused = SIZE_MAX };

	for (size_t i = 0; i < one->n && b.n < PERF_GROUP_MAX; i++)
		if (!one->want[i].done && !one->want[i].alone && !strcmp(pmu_of(&one->want[i]), pmu) &&
		    (extra || !one->want[i].extra))
			b.want[b.n++] = &one->want[i];
	return b;
}

static size_t growth(const struct bin *b, const struct bin *by)
{
	size_t n = 0;

	for (size_t i = 0; i < by->n; i++)
		n += !holds(b, by->want[i]);
	return n;
}

/* Whether they are more than this kind of PMU has counters for, although its driver does not say so: only a single
 * formula may try that. */
static bool exceeds(const struct metrics *m, const struct bin *b, size_t n)
{
	uint32_t pmu = b->want[0]->set.event[0].pmu_index;
	const struct pmu_class *c = pmu == EVENT_NONE ? NULL : perf_class(&m->s->pmus.pmu[pmu]);

	return c && c->unchecked && n > c->counters;
}

/* Adds them to the group that can take all of them and grows the least. */
static bool bin_join(struct packing *k, const struct bin *by)
{
	/* A single event has no partners, but may share a group anyway. */
	size_t most = by->n < 2 || k->m->p->root->emulated ? 0 : by->n;

	for (size_t i = 0; i < by->n && k->once && most; i++)
		most -= held(k, by->pmu, by->want[i]);
	for (size_t more = 0; more <= most; more++)
		for (size_t i = 0; i < k->n; i++) {
			struct bin *b = &k->bin[i], both;

			if (strcmp(b->pmu, by->pmu) || growth(b, by) != more || more >= b->refused ||
			    b->n + more > PERF_GROUP_MAX || (more && exceeds(k->m, b, b->n + more)))
				continue;
			both = *b;
			for (size_t w = 0; w < by->n; w++)
				if (!holds(b, by->want[w]))
					both.want[both.n++] = by->want[w];
			if (!more || bin_fits(k->m, &both)) {
				*b = both;
				return true;
			}
			b->refused = more;
		}
	return false;
}

/* Removes what is already in a group, and from a formula what only its threshold needs; returns whether nothing is
 * left. */
static bool stands(const struct packing *k, struct bin *b, bool formula)
{
	size_t kept = 0;

	for (size_t w = 0; w < b->n; w++) {
		bool here = (!formula || b->want[w]->extra) && held(k, b->pmu, b->want[w]);

		b->want[w]->alone |= here;
		if (!here)
			b->want[kept++] = b->want[w];
	}
	b->n = kept;
	return !kept;
}

/* Whether all events of a metric are among those of another. */
static bool is_part(const struct picked *one, const struct picked *of)
{
	size_t i = 0, k = 0;

	for (; i < one->n && k < of->n; i++)
		for (k = 0; k < of->n && strcasecmp(of->want[k].text, one->want[i].text);)
			k++;
	return k < of->n;
}

/* Adds them to an existing group or a new one; false: they do not fit, or there is only one. */
static bool place(struct packing *k, const struct bin *b)
{
	bool placed = !k->m->p->options->perf.metric_no_merge && bin_join(k, b);
	struct bin rest = *b;

	if (!placed && b->n > 1 && bin_fits(k->m, b) && !(k->once && (stands(k, &rest, false) || rest.n < 2))) {
		memory_room(&k->bin, k->n, sizeof(*k->bin));
		k->bin[k->n++] = rest;
		placed = true;
	}
	for (size_t i = 0; i < b->n && placed; i++)
		b->want[i]->done = true;
	return placed;
}

/* Slot shares, and the slots that lead them, need no counter here; in another group, shares would need their slots
 * there. */
static struct bin add_shares(const struct metrics *m, struct bin b, const struct bin *of)
{
	for (size_t i = 0; i < of->n; i++) {
		const struct event *ev = &of->want[i]->set.event[0];

		if (!holds(&b, of->want[i]) && (perf_is_share(m->s, ev) || perf_is_slots(m->s, ev)))
			b.want[b.n++] = of->want[i];
	}
	return b;
}

static void pack_metric(struct packing *k, struct picked *one, const char *pmu, bool thresholds)
{
	struct bin whole = bin_take(one, pmu, true), formula = bin_take(one, pmu, false),
		   none = { .pmu = pmu, .refused = SIZE_MAX };
	struct bin led, with;
	/* The threshold's additional events must not split the formula. What does not fit together takes turns one by
	 * one, once for all metrics. */
	const struct bin *tries[] = { &whole, &with, &formula, &led };

	/* Thresholds use what is counted elsewhere, so those without a formula left come last. */
	if ((!formula.n && !thresholds) || stands(k, &whole, formula.n))
		return;
	led = add_shares(k->m, none, &whole);
	with = add_shares(k->m, formula, &whole);
	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++, one->parted = true)
		if (tries[i]->n && (!i || tries[i]->n != tries[i - 1]->n) && place(k, tries[i]))
			return;
	for (size_t i = 0; i < whole.n; i++)
		whole.want[i]->alone = true;
}

/* Opens a text, and notes what formulas call its events. 0 or -errno with *m->error. */
static int metrics_open(struct metrics *m, const char *text)
{
	size_t first = m->s->set.n;
	int err = perf_events_add(m->s, m->p, text, m->error);

	for (size_t i = first; i < m->s->set.n && !err; i++) {
		struct event *ev = &m->s->set.event[i];

		if (!ev->metric_id)
			ev->metric_id = memory_text(ev->text);
	}
	return err;
}

static int open_bin(struct metrics *m, const struct bin *b)
{
	SCOPED(buf_release) struct buf text = BUF_INIT;

	for (size_t i = 0; i < b->n; i++) {
		buf_printf(&text, "%s%s", i ? "," : "{", b->want[i]->text);
		b->want[i]->done = true;
	}
	buf_addstr(&text, "}:W");
	memory_whole(&text);
	return metrics_open(m, buf_str(&text));
}

/* Largest first, so that part of another comes after it. */
static int compare_sizes(const void *left, const void *right)
{
	const struct picked *const *a = left, *const *b = right;

	if ((*a)->n != (*b)->n)
		return (*a)->n < (*b)->n ? 1 : -1;
	return (*a > *b) - (*a < *b);
}

/* Opens what is to be counted together and marks it done. 0 or -errno with *m->error. */
static int metric_groups_open(struct metrics *m)
{
	struct packing k = { .m = m };
	SCOPED(scoped_free) struct picked **list = memory_new(m->n, sizeof(*list));
	int err = 0;

	for (size_t i = 0; i < m->n; i++)
		list[i] = &m->picked[i];
	qsort(list, m->n, sizeof(*list), compare_sizes);
	for (size_t i = 0; i < 2 * m->n; i++) {
		struct picked *one = list[i % m->n];

		k.once = false;
		for (size_t larger = 0; larger < i % m->n && !k.once && !m->p->options->perf.metric_no_merge;
		     larger++)
			k.once = list[larger]->parted && is_part(one, list[larger]);
		for (size_t w = 0; w < one->n && !one->ungrouped; w++) {
			const struct want *first = &one->want[w];

			if (!first->done && !first->alone && may_group(pmu_of(first)))
				pack_metric(&k, one, pmu_of(first), i >= m->n);
		}
	}
	for (size_t i = 0; i < k.n && !err; i++)
		err = open_bin(m, &k.bin[i]);
	free(k.bin);
	return err;
}

static void release_wants(struct picked *one)
{
	for (size_t i = 0; i < one->n; i++) {
		free(one->want[i].text);
		event_set_release(&one->want[i].set);
	}
	free(one->want);
	one->want = NULL;
	one->n = 0;
}

static void release_picked(struct picked *one)
{
	release_wants(one);
	free(one->word);
	*one = (struct picked){ 0 };
}

static void release(struct metrics *m)
{
	for (size_t i = 0; i < m->n; i++)
		release_picked(&m->picked[i]);
	free(m->picked);
	free(m->all);
	for (size_t i = 0; i < m->n_sets; i++)
		metric_set_release(&m->set[i]);
	free(m->set);
}

/* ---- what formulas ask of the machine ---- */

/* The number of places of that kind with an online CPU: the first CPU of each counts. */
static uint64_t count_places(const struct pm_topology *t, enum pm_kind kind)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < t->n; i++) {
		bool first = t->cpu[i].online;

		for (uint32_t k = 0; k < i && first; k++)
			first = !t->cpu[k].online || !topology_same_place(&t->cpu[k], &t->cpu[i], kind);
		n += first;
	}
	return n;
}

/* Whether each core is counted with all its threads or not at all. */
static bool core_wide(const struct plan *p)
{
	const struct pm_topology *t = &p->model->topology;

	for (uint32_t i = 0; i < t->n; i++)
		for (uint32_t k = 0; k < t->n; k++)
			if (t->cpu[i].online && t->cpu[k].online && plan_wants_cpu(p, t->cpu[i].cpu) &&
			    !plan_wants_cpu(p, t->cpu[k].cpu) && topology_same_place(&t->cpu[i], &t->cpu[k], PM_CORE))
				return false;
	return true;
}

static bool smt_on(const struct plan *p)
{
	const struct pm_topology *t = &p->model->topology;
	uint64_t active;

	if (!root_u64(p->root, &active, "/sys/devices/system/cpu/smt/active"))
		return active;
	return count_places(t, PM_CORE) < count_places(t, PM_CPU);
}

/* Literals that stay the same for the whole recording; false: this one does not, or is unknown here. Whoever switches
 * the threads of cores meanwhile loses the metrics that then need other events, but nobody pays for both ways of
 * computing them. */
static bool literal(void *ctx, const char *name, double *v)
{
	const struct metrics *m = ctx;
	const struct plan *p = m->p;
	const struct pm_topology *t = &p->model->topology;

	if (!strcmp(name, "has_pmem"))
		*v = root_exists(p->root, "/sys/firmware/acpi/tables/NFIT");
	else if (!strcmp(name, "num_packages"))
		*v = (double)count_places(t, PM_PACKAGE);
	else if (!strcmp(name, "num_dies"))
		*v = (double)count_places(t, PM_DIE);
	else if (!strcmp(name, "smt_on"))
		*v = m->smt;
	else if (!strcmp(name, "core_wide"))
		*v = !m->smt || (p->options->target == TARGET_SYSTEM && core_wide(p));
	else
		return false;
	/* The reader of a recording may undo what -C leaves out. */
	return *v != 0 || strcmp(name, "core_wide") != 0;
}

/* ---- which events ---- */

/* Whether another source records that counter, such as "stat.user". */
static bool is_counter(const struct plan *p, const char *name)
{
	size_t len = strcspn(name, ".");

	for (size_t i = 0; i < p->n_sources; i++) {
		const char *source = p->sources[i].ops->name;

		if (name[len] && strlen(source) == len && !strncmp(source, name, len))
			return true;
	}
	return false;
}

/* Finds the events that the text stands for here; false and *e: none. */
static bool find_events_of(struct metrics *m, const char *text, struct event_set *set, struct error *e)
{
	SCOPED(buf_release) struct buf notes = BUF_INIT;
	int err = perf_events_of(&m->s->pmus, m->p->root, text, set, &notes, e);

	if (err)
		event_error_plain(e);
	return !err && set->n;
}

static void add_want(struct picked *one, const char *text, struct event_set *set)
{
	for (size_t i = 0; i < one->n; i++)
		if (!strcasecmp(one->want[i].text, text)) {
			event_set_release(set);
			return;
		}
	memory_room(&one->want, one->n, sizeof(*one->want));
	one->want[one->n++] = (struct want){ .text = memory_text(text), .set = *set, .extra = one->extra };
}

/* Returns 0 also if the event is absent and the formula copes; -ENOENT if it does not. */
static int want_event(struct metrics *m, struct picked *one, const char *name, bool optional, struct error *e)
{
	struct event_set set = { 0 };

	if (find_events_of(m, name, &set, e))
		add_want(one, name, &set);
	else if (!optional)
		return -ENOENT;
	return 0;
}

static bool asks_first(const struct expr_input *in, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (in[i].aspect == EXPR_HAS_EVENT && !strcmp(in[i].name, name))
			return true;
	return false;
}

static int want_formula(struct metrics *m, struct picked *one, const char *text, struct error *e)
{
	const struct expr_input *in;
	struct expr *x;
	size_t n;
	int err = expr_parse(&x, text, e);

	if (err)
		return err;
	expr_fold(x, literal, m);
	in = expr_inputs(x, &n);
	for (size_t i = 0; i < n && !err; i++) {
		/* Elapsed time is in every recording; a metric of the system is requested by its own name. */
		if (in[i].aspect == EXPR_LITERAL || in[i].aspect == EXPR_CPUID_MATCH || in[i].aspect == EXPR_SYSTEM ||
		    is_counter(m->p, in[i].name) || !strcmp(in[i].name, "duration_time"))
			continue;
		/* When CPUs are counted, there are no tasks whose clock it could be. */
		if (!one->vendor && one->row->otherwise && m->p->options->target == TARGET_SYSTEM &&
		    !strcmp(in[i].name, "task-clock")) {
			err = -ENOENT;
			break;
		}
		err = want_event(m, one, in[i].name, asks_first(in, n, in[i].name), e);
		if (!err && in[i].by)
			err = want_event(m, one, in[i].by, false, e);
	}
	expr_free(x);
	return err;
}

/* Takes the first of the row's formulas that the machine can feed. */
static int want_row(struct metrics *m, struct picked *one, struct error *e)
{
	const struct metric *row = one->row;
	const char *list = row->otherwise;
	int err = want_formula(m, one, row->expr, e);

	while (err == -ENOENT && list && *list) {
		size_t len = strcspn(list, ";");
		char *text = memory_checked(strndup(list, len));
		struct error other = { 0 };

		release_wants(one);
		err = want_formula(m, one, text, &other);
		free(text);
		list += len + (list[len] == ';');
	}
	/* The additional events of a threshold are worth less than the metric. */
	if (!err && row->threshold && !m->p->options->perf.metric_no_threshold) {
		struct error other = { 0 };

		one->extra = true;
		err = want_formula(m, one, row->threshold, &other);
		one->extra = false;
		err = err == -ENOENT ? 0 : err;
	}
	return err;
}

static bool is_ungrouped(const struct metrics *m, const struct picked *one)
{
	const struct record_options *o = m->p->options;

	if (o->perf.metric_no_group || (one->by_group && metric_in_list(one->row->ungrouped_in, one->word)))
		return true;
	switch (one->row->grouping) {
	case METRIC_UNGROUPED:
		return true;
	case METRIC_UNGROUPED_NMI:
		return m->watchdog;
	case METRIC_UNGROUPED_THRESHOLD_NMI:
		return m->watchdog && !o->perf.metric_no_threshold;
	case METRIC_UNGROUPED_SMT:
		return m->smt;
	case METRIC_GROUPED:
		break;
	}
	return false;
}

/* A metric over PMUs that this machine lacks belongs to other machines: nobody misses it. */
static bool is_elsewhere(const struct metrics *m, const struct metric *row)
{
	for (const struct pmu_class *c = pmu_classes; c->name; c++) {
		const char *at = strstr(row->expr, c->name);

		if (at && at[strlen(c->name)] == '@')
			return !perf_class_first(&m->s->pmus, c);
	}
	return false;
}

/* Metrics of a group that this machine cannot feed are left out; if a metric was named, or nothing of a group is
 * left, that is an error. */
static int find_events(struct metrics *m)
{
	size_t kept = 0, all = m->n;

	for (size_t i = 0; i < all; i++) {
		struct picked one = m->picked[i];
		struct error e = { 0 };
		int err = want_row(m, &one, &e);

		m->picked[i].want = one.want;
		m->picked[i].n = one.n;
		if (err && one.by_group && i + 1 == all && !kept)
			return error_set(m->error, e.number ? e.number : ENOENT,
					 "-M: none of the metrics of %.80s can be computed here, such as %s: %s",
					 one.word, one.row->display, e.text);
		if (err == -ENOENT && !one.by_group && one.row->otherwise && is_elsewhere(m, one.row))
			return error_set(m->error, ENOENT,
					 "-M: metric %s: no PMU of this machine counts it; see pmrec doctor",
					 one.row->display);
		if (err && !one.by_group)
			return error_set(m->error, e.number ? e.number : ENOENT, "-M: metric %s: %s%s",
					 one.row->display, e.text,
					 one.vendor || m->n_sets || m->s->packed ? "" : "; " VENDOR_HINT);
		if (err) {
			release_picked(&m->picked[i]);
			if (!is_elsewhere(m, one.row))
				plan_refused(m->p, PM_REASON_NOT_SUPPORTED, pm_remark(0),
					     pm_remark(PM_REMARK_METRIC, one.row->display, e.text));
			continue;
		}
		if (!one.n)
			buf_printf(&m->s->no_event, "%s%s", m->s->no_event.len ? ", " : "", one.row->display);
		one.ungrouped = is_ungrouped(m, &one);
		m->picked[i] = (struct picked){ 0 };
		m->picked[kept++] = one;
	}
	m->n = kept;
	return 0;
}

/* ---- opening ---- */

/* The event of "nvidia_ucf/mem_bytes_rd/", if the text belongs to that class. */
static const char *class_event(const struct pmu_class *c, const char *text, size_t *len)
{
	size_t name = strlen(c->name);

	if (strncmp(text, c->name, name) || text[name] != '/')
		return NULL;
	*len = strcspn(text + name + 1, "/,=");
	return text[name + 1 + *len] == '/' && !text[name + *len + 2] ? text + name + 1 : NULL;
}

/* Metrics over a class of PMUs: what each needs at once stays together, in as few groups as the hardware allows. */
static int open_class(struct metrics *m, const struct pmu_class *c)
{
	SCOPED(buf_release) struct buf bundles = BUF_INIT, text = BUF_INIT;
	const struct event_pmu *pmu = perf_class_first(&m->s->pmus, c);

	for (size_t k = 0; k < m->n && pmu; k++) {
		bool first = true;

		for (size_t i = 0; i < m->picked[k].n; i++) {
			struct want *w = &m->picked[k].want[i];
			size_t len;
			const char *event = class_event(c, w->text, &len);

			if (!event)
				continue;
			w->done = true;
			buf_printf(&bundles, "%s%.*s",
				   !first && !c->apart ? "," :
				   bundles.len         ? ";" :
							 "",
				   (int)len, event);
			first = false;
		}
	}
	if (!bundles.len)
		return 0;
	memory_whole(&bundles);
	perf_class_probe(&m->s->pmus, pmu, m->p->root);
	perf_class_groups(pmu, buf_str(&bundles), c->name, &text);
	memory_whole(&text);
	return text.len ? metrics_open(m, buf_str(&text)) : 0;
}

/* What stands in no group: once for all metrics, unless each is to have its own. */
static int open_rest(struct metrics *m)
{
	bool merge = !m->p->options->perf.metric_no_merge;
	SCOPED(names_release) struct names seen = { 0 };
	uint32_t ignored;
	int err = 0;

	for (size_t k = 0; k < m->n; k++)
		for (size_t i = 0; i < m->picked[k].n && merge; i++)
			if (m->picked[k].want[i].done)
				memory_must(names_set(&seen, m->picked[k].want[i].text, 0));
	for (size_t k = 0; k < m->n && !err; k++)
		for (size_t i = 0; i < m->picked[k].n && !err; i++) {
			struct want *w = &m->picked[k].want[i];

			if (w->done || (merge && names_get(&seen, w->text, &ignored)))
				continue;
			memory_must(names_set(&seen, w->text, 0));
			err = metrics_open(m, w->text);
		}
	return err;
}

/* ---- what the recording says ---- */

static struct pm_value definition(const struct metrics *m, const struct metric *row)
{
	const char *const texts[] = {
		row->display, row->unit, row->expr, row->threshold, row->categories, row->help
	};
	const uint32_t n = sizeof(texts) / sizeof(texts[0]);
	bool packed = false;
	struct pm_value v;

	for (size_t i = m->n_files; i < m->n_sets; i++)
		packed |= row >= m->set[i].row && row < m->set[i].row + m->set[i].n;
	v = plan_array(n + packed);
	for (uint32_t i = 0; i < n; i++)
		v.array.item[i] = pm_text(texts[i] ? texts[i] : "");
	if (v.array.item && packed)
		v.array.item[PM_METRIC_VENDOR] = pm_bool(true);
	return v;
}

/* What was requested in words: a report is laid out by them. */
static void record_words(struct metrics *m)
{
	SCOPED(buf_release) struct buf all = BUF_INIT;
	struct pm_value v;
	uint32_t n = 0;
	char *rest, *word;

	for (char **list = m->p->options->perf.metrics; *list; list++)
		buf_printf(&all, "%s%s", all.len ? "," : "", *list);
	for (const char *c = buf_str(&all); *c; c++)
		n += *c == ',';
	memory_whole(&all);
	v = plan_array(n + 1);
	v.array.n = 0;
	rest = all.data ? (char *)all.data : NULL;
	while ((word = strsep(&rest, ",")))
		if (*word)
			v.array.item[v.array.n++] = pm_text(word);
	plan_set(&m->p->model->header, PM_HEADER_METRIC_WORDS, v);
}

/* All that were picked, in the order of asking; a vendor's with its definition, because the file will not be
 * there. */
static void record_metrics(struct metrics *m)
{
	struct pm_value v = plan_array((uint32_t)m->n);

	for (uint32_t i = 0; i < v.array.n; i++) {
		const struct picked *one = &m->picked[i];

		v.array.item[i] = one->vendor ? definition(m, one->row) : pm_text(one->row->name);
	}
	plan_set(&m->p->model->header, PM_HEADER_METRICS, v);
	record_words(m);
}

static int perf_metrics_read(struct perf_source *s, struct plan *p, struct error *e)
{
	struct metrics m = { .s = s, .p = p, .error = e };
	int err;

	if (!p->options->perf.metrics)
		return 0;
	m.watchdog = perf_nmi_watchdog(p->root);
	m.smt = smt_on(p);
	/* Files of cores do not know that the cache after them may have events of the same names. */
	s->pmus.cores_first = true;
	err = metric_sets_load(&m);
	list_candidates(&m);
	if (!err)
		err = metrics_pick(&m);
	if (!err)
		err = find_events(&m);
	for (const struct pmu_class *c = pmu_classes; c->name && !err; c++)
		err = open_class(&m, c);
	if (!err)
		err = metric_groups_open(&m);
	if (!err)
		err = open_rest(&m);
	/* Where nothing else is counted, time is, so that what needs no event has intervals. */
	if (!err && !s->set.n)
		err = metrics_open(&m, "duration_time");
	if (!err)
		record_metrics(&m);
	s->pmus.cores_first = false;
	release(&m);
	return err;
}

/* ---- all together ---- */

/* --pfm-events: libpfm4 translates the names; then continues as if they had been given with -e. */
static int read_pfm(struct perf_source *s, struct plan *p, const char *list, struct error *e)
{
	SCOPED(buf_release) struct buf text = BUF_INIT;
	int err = pfm_events_text(list, &text, e);

	return err ? err : perf_events_add(s, p, buf_str(&text), e);
}

/* Whether both can be in one group: they count the same things at the same places. */
static bool may_share(const struct perf_event *a, const struct perf_event *b)
{
	const uint32_t ignored = EVENT_MOD_WEAK;

	return a->ev->pmu_index == b->ev->pmu_index && (a->ev->mods & ~ignored) == (b->ev->mods & ~ignored) &&
	       a->first_cgroup == b->first_cgroup && a->n_cgroups == b->n_cgroups;
}

static int add_slots(struct perf_source *s, struct plan *p, size_t like, struct error *e)
{
	size_t at = s->set.n;
	char text[128];
	int err;

	snprintf(text, sizeof(text), "%s/slots/", s->set.event[like].pmu);
	err = perf_events_add(s, p, text, e);
	if (err)
		return err;
	s->event[at] = s->event[like];
	s->set.event[at].group = s->set.event[like].group;
	event_set_mods(&s->set.event[at], s->set.event[like].mods);
	return 0;
}

/* Gives each slot share a group with the slots, which are added if nobody requested them. */
static int group_shares(struct perf_source *s, struct plan *p, struct error *e)
{
	size_t asked = s->set.n;
	int err = 0;

	for (size_t i = 0; i < asked && !err; i++) {
		struct event *ev = &s->set.event[i];
		bool lone = !ev->group, led = false;

		if (!perf_is_share(s, ev))
			continue;
		if (lone)
			ev->group = ++s->set.groups;
		for (size_t k = 0; k < s->set.n; k++)
			s->event[k].ev = &s->set.event[k];
		for (size_t k = 0; k < s->set.n; k++) {
			struct event *other = &s->set.event[k];
			bool slots = perf_is_slots(s, other);

			if (lone && !other->group && (slots ? !led : perf_is_share(s, other)) &&
			    may_share(&s->event[i], &s->event[k]))
				other->group = ev->group;
			led |= slots && other->group == ev->group;
		}
		if (!led)
			err = add_slots(s, p, i, e);
	}
	return err;
}

int perf_events_read(struct perf_source *s, struct plan *p, const char *sets, struct error *e)
{
	const struct record_options *o = p->options;
	SCOPED(scoped_free) size_t *end = NULL;
	size_t n = 0;
	bool named = o->perf.events || o->perf.pfm_events || o->perf.metrics || *sets;
	int err;

	while (o->perf.events && o->perf.events[n])
		n++;
	end = memory_new(n, sizeof(*end));
	err = read_files(s, p, e);
	if (!err && !named)
		err = read_defaults(s, p, false, e);
	for (size_t i = 0; i < n && !err; i++) {
		size_t first = s->set.n;

		err = read_text(s, p, o->perf.events[i], e);
		if (err) {
			add_hint(s, e);
			error_prefix(e, "-e '%.60s%s'", o->perf.events[i],
				     strlen(o->perf.events[i]) > 60 ? "..." : "");
		}
		grow_events(s, first, !o->perf.turbostat);
		if (!err && o->perf.filters && o->perf.filters[i])
			err = add_filter(s, first, o->perf.filters[i], o->perf.events[i], e);
		end[i] = s->set.n;
	}
	if (!err && o->perf.turbostat && !has_registers(p)) {
		size_t first = s->set.n;

		err = read_free_running(s, p, e);
		grow_events(s, first, false);
	}
	if (!err && named && o->perf.detailed)
		err = read_defaults(s, p, true, e);
	if (!err && *sets)
		err = perf_events_add(s, p, sets, e);
	if (!err)
		err = perf_metrics_read(s, p, e);
	for (size_t i = 0; o->perf.pfm_events && o->perf.pfm_events[i] && !err; i++)
		err = read_pfm(s, p, o->perf.pfm_events[i], e);
	/* The set no longer moves. */
	if (!err)
		err = perf_classes_check(&s->pmus, &s->set, p, e);
	if (!err)
		err = perf_cgroups_read(s, p, end, e);
	vendor_texts_release(&s->vendor);
	if (!err)
		err = group_shares(s, p, e);
	for (size_t i = 0; i < s->set.n && !err; i++) {
		s->event[i].ev = &s->set.event[i];
		restrict_rings(&s->set.event[i], o);
		perf_attr_fill(&s->event[i].attr, &s->set.event[i]);
		s->event[i].err = s->set.event[i].missing;
		if (o->perf.bpf_programs && s->set.event[i].uncore) {
			s->event[i].err = EOPNOTSUPP;
			s->event[i].remedy = PM_REMEDY_NO_BPF;
		}
	}
	return err;
}
