/* Which events: those of the command line, or perf's defaults. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"
#include "common/number.h"
#include "common/table.h"
#include "record/host/cpuid.h"
#include "record/perf/perf_pmu.h"
#include "record/perf/perf_source.h"
#include "record/perf/pfm.h"
#include "record/plan/add.h"

/* Shares of the slots of Intel's cores (topdown-retiring and the like) are read from one register, which the slots
 * event switches on: the kernel accepts them only after that event, in its group. Their names vary; their codes do
 * not (arch/x86/events/intel/core.c: slots 0x400, shares 0x8000 to 0x8700). */

#define FIRST_SHARE 0x8000u
#define SHARES      0x700u /* bits that distinguish them */

static bool has_shares(const struct perf_source *s, const struct event *ev)
{
	const struct event_pmu *pmu = ev->core && ev->pmu_index != EVENT_NONE ? &s->pmus.pmu[ev->pmu_index] : NULL;

	return pmu && event_pmu_alias(pmu, "slots", 5);
}

bool perf_is_slots(const struct perf_source *s, const struct event *ev)
{
	return ev->config[0] == PERF_SLOTS && has_shares(s, ev);
}

bool perf_is_share(const struct perf_source *s, const struct event *ev)
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

static const struct event_pmu *pmu_named(const struct perf_pmus *pmus, const char *name)
{
	for (size_t i = 0; i < pmus->n; i++)
		if (!strcmp(pmus->pmu[i].name, name))
			return &pmus->pmu[i];
	return NULL;
}

static bool has_alias(const struct event_pmu *pmu, const char *name)
{
	return pmu && event_pmu_alias(pmu, name, strlen(name));
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
	const struct event_pmu *msr = pmu_named(pmus, "msr");

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
		if (!pmu_named(&s->pmus, name))
			return error_set(e, ENODEV, "--cputype: this machine has no PMU %s; it is not hybrid", name);
	}
	if (o->perf.pmu_filter && !pmu_named(&s->pmus, o->perf.pmu_filter))
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

static bool describes(const struct event_pmu *pmu, const char *name)
{
	return pmu->core && event_pmu_alias(pmu, name, strlen(name));
}

static bool described(const struct perf_pmus *pmus, const char *name)
{
	for (size_t i = 0; i < pmus->n; i++)
		if (describes(&pmus->pmu[i], name))
			return true;
	return false;
}

/* Reports remarks made while reading, one per line, in the file and to the user. */
static void tell_notes(struct plan *p, struct buf *notes)
{
	for (char *line = (char *)buf_str(notes), *end; *line; line = end + 1) {
		end = strchr(line, '\n');
		*end = '\0';
		plan_refused(p, PM_OK, pm_remark(0), pm_remark(PM_REMARK_TEXT, line));
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
		tell_notes(p, &notes);
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

struct reading {
	struct perf_source *s;
	struct plan *p;
};

/* An unusual PMU must not keep anything else from being recorded. */
static int add_default(void *arg, const struct event_pmu *pmu, const char *text, struct error *e)
{
	struct reading *r = arg;
	int err = read_text(r->s, r->p, text, e);

	if (err != -EINVAL && err != -ENOENT)
		return err;
	event_error_plain(e);
	perf_class_refuse(pmu, PM_REASON_NOT_SUPPORTED);
	plan_refused(r->p, PM_REASON_NOT_SUPPORTED, pm_remark(0), pm_remark(PM_REMARK_TEXT, e->text));
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
		if (!describes(&pmu[i], d->name) || !describes(&pmu[i], d->beside))
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
		if (!err && p->options->target != TARGET_TASKS)
			err = perf_classes_defaults(&s->pmus, p->root, add_default, &(struct reading){ s, p }, e);
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
		memory_must(event_set_mods(ev, ev->mods | ring));
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
	tell_notes(p, &notes);
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
			hint = "; " PERF_VENDOR_HINT;
	}
	snprintf(e->text + len, sizeof(e->text) - len, "%s", hint);
}

int perf_events_add(struct perf_source *s, struct plan *p, const char *text, struct error *e)
{
	size_t first = s->set.n;
	int err = read_text(s, p, text, e);

	if (!err)
		grow_events(s, first, true);
	return err;
}

/* --pfm-events: libpfm4 translates the names; then continues as if they had been given with -e. */
static int read_pfm(struct perf_source *s, struct plan *p, const char *list, struct error *e)
{
	SCOPED(buf_release) struct buf text = BUF_INIT;
	int err = pfm_events_text(list, &text, e);

	return err ? err : perf_events_add(s, p, buf_str(&text), e);
}

/* Whether both can be in one group: they count the same things at the same places. */
static bool are_alike(const struct perf_event *a, const struct perf_event *b)
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
	memory_must(event_set_mods(&s->set.event[at], s->set.event[like].mods));
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
			    are_alike(&s->event[i], &s->event[k]))
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
	for (size_t i = 0; i < o->n_added && !err; i++) {
		const struct add *a = &o->added[i];
		const char *slash = a->location == ADD_PERF ? strchr(a->text, '/') : NULL;
		size_t first = s->set.n;
		char text[256];

		if (!slash)
			continue;
		snprintf(text, sizeof(text), "%.*s/%s,name=%s/", (int)(slash - a->text), a->text, slash + 1, a->name);
		err = perf_events_add(s, p, text, e);
		for (size_t k = first; k < s->set.n && !err; k++)
			s->event[k].add = a;
	}
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
