/*
 * pmrep stat: what its lines are, and their numbers. Which counters are one event, which places have rows and which
 * columns a line sums up; what the replay counted in these, over intervals and runs; the metrics after the lines,
 * those of -M or perf's own choice, whose values come from the engine at the rows of the lines; and the sink that
 * takes intervals, runs and totals of a recording. stat_print.c writes them.
 */
#include "report/stat/stat.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "common/catalog/pmu_class.h"
#include "common/event/event.h"
#include "common/memory.h"
#include "common/options.h"
#include "common/parse.h"
#include "report/machine/status.h"
#include "report/metric/select.h"

/* clang-format off */
const struct stat_level stat_levels[STAT_AGGRS] = {
	[STAT_GLOBAL]  = { PM_SYSTEM,  NULL,      0,  false },
	[STAT_NONE]    = { PM_CPU,     "cpu",     11, false },
	[STAT_THREAD]  = { PM_TASK,    "thread",  26, false },
	[STAT_SOCKET]  = { PM_PACKAGE, "socket",  6,  true },
	[STAT_DIE]     = { PM_DIE,     "die",     12, true },
	[STAT_CLUSTER] = { PM_CLUSTER, "cluster", 20, true },
	[STAT_CACHE]   = { PM_CACHE,   "cache",   22, true },
	[STAT_CORE]    = { PM_CORE,    "core",    15, true },
	[STAT_NODE]    = { PM_NODE,    "node",    6,  true },
	[STAT_CGROUP]  = { PM_CGROUP,  "cgroup",  24, false },
};
/* clang-format on */

/* The number of the cgroup that an instance counts events in, CPU by CPU; 0: none. */
static uint32_t cgroup_of(const struct pm_instance *i)
{
	return i->kind == PM_CGROUP && i->cpu != PM_NONE ? i->number : 0;
}

static uint64_t rank_of(const struct stat_event *e)
{
	return (uint64_t)(e->in_cgroup == PM_NONE || e->placed ? 0 : e->in_cgroup) << 32 | e->order;
}

/* ---- events of BPF programs ---- */

/* 12 of "program 12"; 0: none */
static unsigned long program_of(const struct pm_counter *c)
{
	const char *text = pm_map_text(&c->attrs, PM_COUNTER_PERF_BPF, "");

	return strncmp(text, "program ", 8) ? 0 : strtoul(text + 8, NULL, 10);
}

/* Whether both are one event in two programs. The same event may occur twice, each with a number of its own. */
static bool are_programs(const struct pm_counter *a, const struct pm_counter *b)
{
	return program_of(a) && program_of(b) && program_of(a) != program_of(b) &&
	       pm_map_u64(&a->attrs, PM_COUNTER_PERF_WILDCARD, 0) ==
		       pm_map_u64(&b->attrs, PM_COUNTER_PERF_WILDCARD, 0) &&
	       !strcmp(pm_map_text(&a->attrs, PM_COUNTER_PERF_EVENT, ""),
		       pm_map_text(&b->attrs, PM_COUNTER_PERF_EVENT, ""));
}

static bool has_id(const struct stat_ids *ids, uint64_t wanted)
{
	for (size_t i = 0; i < ids->n; i++)
		if (ids->id[i] == wanted)
			return true;
	return false;
}

static bool programs_wanted(const struct stat_ids *wanted, const struct pm_counter *c)
{
	return !wanted->n || has_id(wanted, program_of(c));
}

bool stat_programs_list(const struct stat_sheet *s, struct buf *out)
{
	const struct pm_model *m = s->places->model;
	unsigned long last = 0;

	/* Programs are counted one after the other. */
	for (uint32_t i = 0; i < m->n_counters; i++) {
		unsigned long program = program_of(&m->counter[i]);

		if (!program || program == last || !programs_wanted(&s->config->programs, &m->counter[i]))
			continue;
		buf_printf(out, "%s%lu", last ? "," : "", program);
		last = program;
	}
	return last;
}

/* ---- PMUs ---- */

/* The first of a name counts. */
static void know_pmus(struct stat_sheet *s)
{
	const struct pm_model *m = s->places->model;

	s->kinds = 0;
	for (uint32_t i = m->n_pmus; i--;) {
		memory_done(names_set(&s->pmus, pm_map_text(&m->pmu[i].attrs, PM_PMU_NAME, ""), i));
		s->kinds += pm_map_get(&m->pmu[i].attrs, PM_PMU_CPUS) != NULL;
	}
}

/* NULL: the recording says nothing of it. */
static const struct pm_pmu *pmu_named(const struct stat_sheet *s, const char *name)
{
	uint32_t i;

	return names_get(&s->pmus, name, &i) ? &s->places->model->pmu[i] : NULL;
}

static bool is_uncore(const struct stat_sheet *s, const struct pm_counter *c)
{
	const struct pm_pmu *pmu = pmu_named(s, pm_map_text(&c->attrs, PM_COUNTER_PERF_PMU, ""));

	return pmu && pm_map_get(&pmu->attrs, PM_PMU_CPUMASK);
}

/* Whether a PMU counts one of several kinds of CPUs, or all. */
static bool has_cpus(const struct stat_sheet *s, const char *name)
{
	const struct pm_pmu *pmu = pmu_named(s, name);

	return !strcmp(name, "cpu_core") || !strcmp(name, "cpu_atom") ||
	       (pmu && pm_map_get(&pmu->attrs, PM_PMU_CPUS));
}

/* The PMU of a counter, if it counts one of several kinds of CPUs; else NULL. */
static const char *core_pmu(const struct stat_sheet *s, const struct pm_counter *c)
{
	const char *name = pm_map_text(&c->attrs, PM_COUNTER_PERF_PMU, NULL);

	return name && s->kinds != 1 && has_cpus(s, name) ? name : NULL;
}

/* ---- which counters ---- */

static bool is_perf(const struct pm_counter *c)
{
	return !strcmp(c->source, "perf");
}

/* Whether it counts up and can be summed. */
static bool is_count(const struct pm_counter *c)
{
	return (c->type == PM_U64 || c->type == PM_S64) && c->aggregation == PM_AGG_SUM &&
	       (c->semantics == PM_CUMULATIVE || c->semantics == PM_DELTA || is_perf(c)) &&
	       !pm_map_get(&c->attrs, PM_COUNTER_ADDED);
}

static size_t base_len(const char *name)
{
	const char *slash = strrchr(name, '/');

	if (slash)
		return slash[1] ? (size_t)(slash + 1 - name) : strlen(name);
	/* "sched:sched_switch" is a tracepoint, without modifiers; modifiers are short. */
	const char *colon = strrchr(name, ':');

	return colon && strspn(colon + 1, EVENT_MOD_LETTERS) == strlen(colon + 1) ? (size_t)(colon - name) :
										    strlen(name);
}

static bool name_is(const char *word, const char *name)
{
	char base[256];
	size_t len = base_len(name);

	if (!strcmp(word, name) || !fnmatch(word, name, 0))
		return true;
	if (len >= sizeof(base) || !name[len])
		return false;
	snprintf(base, sizeof(base), "%.*s", (int)len, name);
	return !strcmp(word, base) || !fnmatch(word, base, 0);
}

static bool is_named(const struct pm_counter *c, const char *word)
{
	const struct event_symbol *symbol = event_symbol_find(word);

	return name_is(word, c->display) || name_is(word, c->name) ||
	       !strcmp(word, pm_map_text(&c->attrs, PM_COUNTER_PERF_USER_TEXT, "")) ||
	       (symbol && is_perf(c) && (name_is(symbol->name, c->display) || name_is(symbol->name, c->name)));
}

/* "cpu_core/cycles/" of a hybrid's default is cycles, too. */
static bool is_default(const struct stat_sheet *s, const struct pm_counter *c, unsigned level)
{
	const char *slash = strchr(c->display, '/');
	char inner[128] = "";

	if (slash && !is_uncore(s, c))
		snprintf(inner, sizeof(inner), "%.*s", (int)strcspn(slash + 1, "/"), slash + 1);
	for (const struct event_default *d = event_defaults; d->name; d++) {
		const struct event_symbol *symbol = event_symbol_find(d->name);

		if (d->detailed > level || d->only == EVENT_DEFAULT_OF_TURBOSTAT)
			continue;
		if (name_is(d->name, c->display) || !strcmp(d->name, inner) ||
		    (symbol && symbol->alias && name_is(symbol->alias, c->display)))
			return true;
	}
	return false;
}

static const char *name_of_cgroup(const struct pm_instance *i)
{
	return pm_map_text(&i->attrs, PM_INSTANCE_CGROUP, pm_map_text(&i->attrs, PM_INSTANCE_NAME, "cgroup"));
}

static const char *cgroup_name(const struct pm_model *m, uint32_t number)
{
	for (uint32_t i = 0; i < m->n_instances; i++)
		if (cgroup_of(&m->instance[i]) == number)
			return name_of_cgroup(&m->instance[i]);
	return NULL;
}

/* The cgroups in which counters were counted, as numbers, by counter id; 0 is among them if it was also counted
 * elsewhere, or nowhere. */
static void find_cgroups(const struct pm_model *m, const bool *chosen, struct cpulist *in)
{
	bool any = false;

	for (uint32_t i = 0; i < m->n_instances && !any; i++)
		any = cgroup_of(&m->instance[i]) != 0;
	for (uint32_t i = 0; any && i < m->n_groups; i++)
		for (uint32_t v = 0; v < pm_group_values(&m->group[i]); v++) {
			uint32_t counter = pm_group_counter_of(&m->group[i], v);
			const struct pm_instance *on = pm_model_instance(m, pm_group_instance_of(&m->group[i], v));

			if (chosen[counter] && on)
				memory_done(cpulist_add(&in[counter], cgroup_of(on)));
		}
	for (uint32_t i = 0; i < m->n_counters; i++)
		if (!in[m->counter[i].id].n)
			memory_done(cpulist_add(&in[m->counter[i].id], 0));
}

static bool wants_cgroup(const struct stat_config *config, const char *cgroup)
{
	for (size_t i = 0; cgroup && i < config->cgroups.n; i++)
		if (!fnmatch(config->cgroups.word[i], cgroup, 0))
			return true;
	return !config->cgroups.n;
}

/* Sets chosen[counter id]. */
static int choose_named(struct stat_sheet *s, bool *chosen, struct error *e)
{
	const struct pm_model *m = s->places->model;
	const struct stat_words *w = &s->config->events;

	for (size_t i = 0; i < w->n; i++) {
		const char *near;
		SCOPED(scoped_free) const char **names = NULL;
		bool any = false;
		size_t n = 0;

		for (uint32_t k = 0; k < m->n_counters; k++) {
			const struct pm_counter *c = &m->counter[k];

			if (!is_count(c) || !is_named(c, w->word[i]))
				continue;
			chosen[c->id] = any = true;
		}
		if (any)
			continue;
		names = memory_new(m->n_counters, sizeof(*names));
		for (uint32_t k = 0; k < m->n_counters; k++)
			if (is_count(&m->counter[k]))
				names[n++] = m->counter[k].display;
		near = options_nearest(w->word[i], names, n);
		return error_set(e, ENOENT, "-e: the recording has no event '%s'%s%s%s", w->word[i],
				 near ? "; did you mean '" : "", near ? near : " (pmrep list lists what it has)",
				 near ? "'?" : "");
	}
	return 0;
}

static void choose_default(struct stat_sheet *s, bool *chosen)
{
	const struct pm_model *m = s->places->model;
	const struct stat_config *config = s->config;
	bool asked = false, any = false;

	for (uint32_t i = 0; i < m->n_counters; i++)
		asked |= is_perf(&m->counter[i]) && pm_map_bool(&m->counter[i].attrs, PM_COUNTER_REQUESTED, false);
	for (uint32_t i = 0; i < m->n_counters; i++) {
		const struct pm_counter *c = &m->counter[i];

		if (!is_perf(c) || !is_count(c))
			continue;
		chosen[c->id] = config->all_events ||
				(asked && !config->detailed ? pm_map_bool(&c->attrs, PM_COUNTER_REQUESTED, false) :
							      is_default(s, c, config->detailed));
		any |= chosen[c->id];
	}
	for (uint32_t i = 0; i < m->n_counters && !any; i++)
		chosen[m->counter[i].id] = is_perf(&m->counter[i]) && is_count(&m->counter[i]);
}

/* ---- merging ---- */

/* "uncore_imc" of uncore_imc_10: the name that equal PMUs share. */
static size_t stem_len(const char *pmu)
{
	size_t len = strlen(pmu);

	while (len && pmu[len - 1] >= '0' && pmu[len - 1] <= '9')
		len--;
	if (len && pmu[len - 1] == '_')
		len--;
	return len;
}

static bool is_hybrid(const struct stat_sheet *s, const char *name)
{
	return has_cpus(s, name) && strcmp(name, "cpu");
}

/* The event without its PMU, and without the number of one that was requested twice. */
static const char *after_pmu(const struct pm_counter *c)
{
	const char *name = pm_map_text(&c->attrs, PM_COUNTER_PERF_EVENT, c->name), *slash = strchr(name, '/');

	return slash ? slash : name;
}

/* The class of a PMU whose name has more than one number, or an address; NULL: it has none. */
static const struct pmu_class *odd_class(const char *pmu)
{
	const struct pmu_class *c = pmu_class_of(pmu, NULL);
	const char *number = c && c->pmu ? strchr(c->pmu, '#') : NULL;

	return c && c->pmu && (strchr(c->pmu, '*') || (number && strchr(number + 1, '#'))) ? c : NULL;
}

/* Whether both are one event of several PMUs. */
static bool belong_together(const struct stat_sheet *s, const struct pm_counter *a, const struct pm_counter *b)
{
	uint64_t wildcard = pm_map_u64(&a->attrs, PM_COUNTER_PERF_WILDCARD, 0);
	const char *pa = pm_map_text(&a->attrs, PM_COUNTER_PERF_PMU, ""),
		   *pb = pm_map_text(&b->attrs, PM_COUNTER_PERF_PMU, "");
	size_t len = stem_len(pa);

	if (are_programs(a, b))
		return !s->config->no_merge;
	if (s->config->no_merge || !pm_counters_measure_alike(a, b) || !wildcard ||
	    wildcard != pm_map_u64(&b->attrs, PM_COUNTER_PERF_WILDCARD, 0) || !strcmp(pa, pb) ||
	    strcmp(after_pmu(a), after_pmu(b)))
		return false;
	if (is_hybrid(s, pa) && is_hybrid(s, pb))
		return s->config->hybrid_merge;
	return (len == stem_len(pb) && !strncmp(pa, pb, len)) || (odd_class(pa) && odd_class(pa) == odd_class(pb));
}

/* Their common name: "uncore_imc/cas_count_read/", or the user's words: for a hybrid's, and for some of a kind. */
static char *merged_name(const struct stat_sheet *s, const struct pm_counter *c)
{
	const char *pmu = pm_map_text(&c->attrs, PM_COUNTER_PERF_PMU, "");
	const char *user = pm_map_text(&c->attrs, PM_COUNTER_PERF_USER_TEXT, NULL);
	size_t len = strlen(pmu), words = user ? strcspn(user, "/") : 0;
	bool begins = !strncmp(c->display, pmu, len) && c->display[len] == '/';

	if (user && (is_hybrid(s, pmu) || (begins && strcspn(user, "*?[") < words)))
		return memory_text(user);
	if (!begins)
		return memory_text(c->display);
	return memory_format("%.*s%s", odd_class(pmu) ? 64 : (int)stem_len(pmu),
			     odd_class(pmu) ? odd_class(pmu)->name : pmu, c->display + len);
}

/* ---- the list ---- */

static void add_counter(struct stat_event *ev, uint32_t id)
{
	memory_room(&ev->counter, ev->n_counters, sizeof(*ev->counter));
	ev->counter[ev->n_counters++] = id;
}

static void new_event(struct stat_sheet *s, const struct pm_counter *c, uint32_t cgroup)
{
	double mul = (double)c->scale.num, div = (double)(c->scale.den ? c->scale.den : 1);
	const char *program = pm_map_text(&c->attrs, PM_COUNTER_PERF_PROGRAM, NULL);
	struct buf name = BUF_INIT;
	struct stat_event *ev;
	uint64_t config;
	char plain[64];

	if (c->scale.text && parse_double(c->scale.text, &mul))
		mul = 1;
	/* 1e-6 is not exactly a double, 1000000 is: dividing gives the right digits. */
	if (mul > 1e-15 && mul < 1 && mul == 1 / (double)(uint64_t)(1 / mul + 0.5)) {
		div = (double)(uint64_t)(1 / mul + 0.5);
		mul = 1;
	}
	memory_room(&s->event, s->n_events, sizeof(*ev));
	ev = &s->event[s->n_events++];
	*ev = (struct stat_event){
		.in_cgroup = cgroup,
		.first = c,
		.order = c->id,
		.mul = mul,
		.div = div,
		.fraction = floor(mul / div) != mul / div,
		.unit = c->unit && strcmp(c->unit, "1") ? event_unit_perf(c->unit) : "",
		.cgroup = cgroup && cgroup != PM_NONE ? cgroup_name(s->places->model, cgroup) :
							pm_map_text(&c->attrs, PM_COUNTER_PERF_CGROUP, NULL),
		.per_pkg = pm_map_bool(&c->attrs, PM_COUNTER_PERF_PER_PKG, false),
		.percore = pm_map_bool(&c->attrs, PM_COUNTER_PERF_PERCORE, false),
		.asked = pm_map_bool(&c->attrs, PM_COUNTER_REQUESTED, false),
		.invalid = (uint16_t)pm_map_u64(&c->attrs, PM_COUNTER_PERF_INVALID, 0),
	};
	buf_addstr(&name, c->display);
	/* perf does not name the modes that were requested of events of caches. */
	snprintf(plain, sizeof(plain), "%.*s", (int)strcspn(c->display, ":"), c->display);
	if (ev->asked && !event_symbol_find(plain) && !event_cache_parse(plain, &config))
		name.len = strlen(plain);
	if (s->config->no_merge && program_of(c))
		buf_printf(&name, " [%lu%s%s]", program_of(c), program ? " " : "", program ? program : "");
	ev->name = memory_checked(buf_detach(&name));
	add_counter(ev, c->id);
}

/* The first event that it belongs to, of the last ones with the same words; PM_NONE: there is none. */
static uint32_t event_with(const struct stat_sheet *s, const struct pm_counter *c, uint32_t last)
{
	enum { MOST = 256 };
	uint32_t found = PM_NONE, tries = 0;

	for (uint32_t i = last + 1; i && tries < MOST; i = s->event[i - 1].before, tries++)
		if (belong_together(s, s->event[i - 1].first, c))
			found = i - 1;
	return found;
}

/* Adds a counter to an event, or as one; `hidden`: only metrics use it. Returns the event's place. */
static uint32_t add_event(struct stat_sheet *s, const struct pm_counter *c, uint32_t cgroup, bool hidden)
{
	unsigned long long wildcard = pm_map_u64(&c->attrs, PM_COUNTER_PERF_WILDCARD, 0);
	SCOPED(scoped_free) char *words = memory_format("%llu %u %d %s", wildcard, cgroup, hidden, after_pmu(c));
	uint32_t last = PM_NONE, found = PM_NONE;
	struct stat_event *ev;

	if (names_get(&s->known, words, &last) && pm_map_get(&c->attrs, PM_COUNTER_PERF_WILDCARD))
		found = event_with(s, c, last);
	if (found == PM_NONE) {
		new_event(s, c, cgroup);
		found = s->n_events - 1;
		s->event[found].before = last + 1;
		s->event[found].hidden = hidden;
		memory_done(names_set(&s->known, words, found));
		return found;
	}
	ev = &s->event[found];
	if (ev->n_counters == 1) {
		free(ev->name);
		ev->name = merged_name(s, c);
	}
	/* One that could be opened is enough. */
	if (!pm_map_get(&c->attrs, PM_COUNTER_PERF_INVALID))
		ev->invalid = 0;
	add_counter(ev, c->id);
	return found;
}

static uint32_t event_of(struct stat_sheet *s, uint32_t counter, uint32_t cgroup)
{
	for (uint32_t i = 0; i < s->n_events; i++)
		for (uint32_t k = 0; k < s->event[i].n_counters; k++)
			if (s->event[i].counter[k] == counter && s->event[i].in_cgroup == cgroup)
				return i;
	return add_event(s, pm_model_counter(s->places->model, counter), cgroup, true);
}

static void forget_events(struct stat_sheet *s)
{
	for (uint32_t i = 0; i < s->n_events; i++) {
		free(s->event[i].name);
		free(s->event[i].counter);
		buf_release(&s->event[i].written);
	}
	free(s->event);
	names_release(&s->known);
	names_release(&s->pmus);
	s->event = NULL;
	s->n_events = 0;
}

static bool is_invalid(const struct pm_counter *c)
{
	return pm_map_get(&c->attrs, PM_COUNTER_PERF_INVALID);
}

/* perf prints the events of one cgroup after those of the other. */
static void add_chosen(struct stat_sheet *s, const bool *chosen)
{
	const struct pm_model *m = s->places->model;
	SCOPED(cpulist_release) struct cpulist all = { 0 };
	SCOPED(scoped_free) struct cpulist *of_counter = memory_new((size_t)m->n_counters + 1, sizeof(*of_counter));
	uint32_t first = s->n_events;
	bool each = false;

	find_cgroups(m, chosen, of_counter);
	for (uint32_t i = 0; i < m->n_counters; i++) {
		const struct cpulist *in = &of_counter[m->counter[i].id];

		if (!chosen[m->counter[i].id])
			continue;
		for (size_t k = 0; k < in->n && !is_invalid(&m->counter[i]); k++)
			memory_done(cpulist_add(&all, in->cpu[k]));
		each |= in->n > 1;
	}
	/* What could not be opened could not be opened in any cgroup. */
	for (uint32_t i = 0; i < m->n_counters; i++) {
		struct cpulist *in = &of_counter[m->counter[i].id];

		if (!chosen[m->counter[i].id] || !is_invalid(&m->counter[i]))
			continue;
		if (all.n && each && !cpulist_has(&all, 0))
			in->n = 0;
		for (size_t k = 0; k < all.n && each; k++)
			memory_done(cpulist_add(in, all.cpu[k]));
		for (size_t k = 0; k < in->n && !each; k++)
			memory_done(cpulist_add(&all, in->cpu[k]));
	}
	for (size_t k = 0; k < all.n; k++)
		for (uint32_t i = 0; i < m->n_counters; i++) {
			bool any = s->aggr == STAT_CGROUP;
			uint32_t cgroup = any ? PM_NONE : all.cpu[k], id = m->counter[i].id;
			const char *name = cgroup ? cgroup_name(m, cgroup) :
						    pm_map_text(&m->counter[i].attrs, PM_COUNTER_PERF_CGROUP, NULL);

			if (chosen[id] && (any ? k == 0 : cpulist_has(&of_counter[id], cgroup)) &&
			    (any || wants_cgroup(s->config, name)))
				add_event(s, &m->counter[i], cgroup, false);
		}
	/* With -G each event has its own cgroup, or an empty one, and its place. */
	for (uint32_t i = first; i < s->n_events && !each; i++) {
		s->event[i].placed = true;
		if (!s->event[i].in_cgroup && all.n > 1)
			s->event[i].cgroup = "";
	}
	for (uint32_t i = 0; i <= m->n_counters; i++)
		cpulist_release(&of_counter[i]);
}

/* The events that are wanted. 0 or -errno. */
static int find_events(struct stat_sheet *s, struct error *e)
{
	const struct pm_model *m = s->places->model;
	SCOPED(scoped_free) bool *chosen = memory_new((size_t)m->n_counters + 1, sizeof(*chosen));
	int err = 0;

	forget_events(s);
	know_pmus(s);
	for (uint32_t i = 0; i < m->n_instances; i++)
		if (cgroup_of(&m->instance[i]) > CPULIST_MAX)
			return error_sys(e, ERANGE, "events");
	if (s->config->events.n)
		err = choose_named(s, chosen, e);
	else if (!s->config->metrics.n || s->config->all_events || s->config->detailed)
		choose_default(s, chosen);
	if (err)
		return err;
	for (uint32_t i = 0; i < m->n_counters; i++)
		chosen[m->counter[i].id] &= programs_wanted(&s->config->programs, &m->counter[i]);
	add_chosen(s, chosen);
	if (!s->n_events && !s->config->metrics.n && m->n_counters)
		err = error_set(
			e, ENOENT,
			s->config->programs.n ?
				"no event of that BPF program was recorded" :
			s->config->cgroups.n ?
				"no event of that cgroup was recorded" :
				"no perf event was recorded; -e takes other counters, which pmrep list shows");
	return err;
}

/* ---- what rows are called ---- */

static uint32_t or_zero(uint32_t n)
{
	return n == PM_NONE ? 0 : n;
}

static void label_task(const struct stat_sheet *s, const struct pm_instance *i, struct buf *out)
{
	const char *comm = pm_map_text(&i->attrs, PM_INSTANCE_COMM, NULL);
	uint64_t tid = pm_map_u64(&i->attrs, PM_INSTANCE_TID, 0);
	const char *command = pm_map_text(&s->places->model->header, PM_HEADER_COMMAND, NULL);
	const char *slash = command ? strrchr(command, '/') : NULL;

	if (!comm && command && s->child)
		comm = slash ? slash + 1 : command;
	if (comm && tid)
		buf_printf(out, "%s-%llu", comm, (unsigned long long)tid);
	else
		buf_addstr(out, pm_map_text(&i->attrs, PM_INSTANCE_NAME, "task"));
}

static void put_place_label(const struct stat_sheet *s, const struct place *p, struct buf *out)
{
	static const char *const words[PM_KINDS] = {
		[PM_CPU] = "CPU",   [PM_PACKAGE] = "S", [PM_DIE] = "-D", [PM_CLUSTER] = "-CLS",
		[PM_CACHE] = "-ID", [PM_CORE] = "-C",   [PM_NODE] = "N"
	};
	const struct pm_instance *i = pm_model_instance(s->places->model, p->instance);
	const char *word = words[p->kind];

	if (word && word[0] == '-')
		buf_printf(out, "S%u", or_zero(p->package));
	if (word && word[0] == '-' && p->kind != PM_DIE)
		buf_printf(out, "-D%u", or_zero(p->die));
	if (p->kind == PM_CACHE)
		buf_addstr(out, s->places->cache == PM_CACHE_L2 ? "-L2" : "-L3");
	if (word)
		buf_printf(out, "%s%u", word, or_zero(place_number(p)));
	else if (p->kind == PM_TASK && i)
		label_task(s, i, out);
	else if (p->kind == PM_CGROUP && i)
		buf_addstr(out, name_of_cgroup(i));
}

/* ---- rows ---- */

static const struct pm_cpu *cpu_of(const struct stat_sheet *s, const struct pm_instance *i)
{
	return i->kind == PM_CPU ? places_cpu(s->places, i->number) :
	       i->cpu != PM_NONE ? places_cpu(s->places, i->cpu) :
				   NULL;
}

/* Whether what an instance counted is wanted, of an event in that cgroup. */
static bool is_wanted(const struct stat_sheet *s, const struct pm_instance *i, uint32_t cgroup)
{
	const struct stat_config *c = s->config;
	uint32_t cpu = i->kind == PM_CPU ? i->number : i->kind == PM_TASK ? PM_NONE : i->cpu;

	if (cgroup != PM_NONE && cgroup != cgroup_of(i))
		return false;
	if (c->cpus.n && cpu != PM_NONE && !cpulist_has(&c->cpus, cpu))
		return false;
	if (s->aggr == STAT_CGROUP && i->kind == PM_CGROUP && !wants_cgroup(c, name_of_cgroup(i)))
		return false;
	if (!c->pids.n && !c->tids.n)
		return true;
	/* What counts for the whole system, such as time, counts for a task as well. */
	return i->kind == PM_SYSTEM ||
	       (i->kind == PM_TASK && (has_id(&c->pids, pm_map_u64(&i->attrs, PM_INSTANCE_PID, 0)) ||
				       has_id(&c->tids, pm_map_u64(&i->attrs, PM_INSTANCE_TID, 0))));
}

/* Equal places by their CPUs, so that the first one stays. */
static int by_place(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	int order = place_compare(x, y);

	return order ? order : array_order(x->first_cpu, y->first_cpu, 0, 0);
}

/* perf lists CPUs by number, and other places by socket, die and core. */
static int by_cpu(const void *a, const void *b)
{
	const struct place *x = &((const struct stat_row *)a)->place, *y = &((const struct stat_row *)b)->place;

	int order = array_order(x->first_cpu, y->first_cpu, 0, 0);

	return order ? order : place_compare(x, y);
}

static int by_place_of(const void *a, const void *b, void *rows)
{
	const struct stat_row *row = rows;

	return place_compare(&row[*(const uint32_t *)a].place, &row[*(const uint32_t *)b].place);
}

/* Keeps each place once, in order, with its label. */
static void make_rows(struct stat_sheet *s, const struct place *place, uint32_t n)
{
	const struct stat_level *level = &stat_levels[s->aggr];
	SCOPED(scoped_free) struct place *sorted = memory_copy(place, n, sizeof(*sorted));

	qsort(sorted, n, sizeof(*sorted), by_place);
	for (uint32_t i = 0; i < n; i++) {
		if (s->n_rows && !place_compare(&s->row[s->n_rows - 1].place, &sorted[i]))
			continue;
		memory_room(&s->row, s->n_rows, sizeof(*s->row));
		s->row[s->n_rows++] = (struct stat_row){ .place = sorted[i] };
	}
	if (s->aggr == STAT_NONE && s->n_rows)
		qsort(s->row, s->n_rows, sizeof(*s->row), by_cpu);
	s->row_at = memory_new(s->n_rows, sizeof(*s->row_at));
	for (uint32_t i = 0; i < s->n_rows; i++) {
		struct buf label = BUF_INIT;

		put_place_label(s, &s->row[i].place, &label);
		s->row[i].label = memory_checked(buf_detach(&label));
		s->row[i].counted = level->counted && s->row[i].place.kind == level->kind;
		s->row_at[i] = i;
	}
	qsort_r(s->row_at, s->n_rows, sizeof(*s->row_at), by_place_of, s->row);
}

/* ---- which track is in which line ---- */

/* The kind of place for which the event has lines. */
static enum pm_kind kind_for(const struct stat_sheet *s, const struct stat_event *ev)
{
	if (s->aggr == STAT_NONE && ev->percore && !s->config->show_thread)
		return PM_CORE;
	return stat_levels[s->aggr].kind;
}

static int find_row(const struct stat_sheet *s, const struct place *place)
{
	size_t at = ARRAY_PLACE(s->n_rows, i, place_compare(&s->row[s->row_at[i]].place, place) < 0);

	return at < s->n_rows && !place_compare(&s->row[s->row_at[at]].place, place) ? (int)s->row_at[at] : -1;
}

/* A cgroup has an instance for each CPU; its place is that of the first one. */
static bool place_of_cgroup(const struct stat_sheet *s, const struct pm_instance *i, struct place *place)
{
	const struct pm_model *m = s->places->model;

	for (uint32_t k = 0; k < m->n_instances; k++)
		if (m->instance[k].kind == PM_CGROUP && m->instance[k].number == i->number)
			return places_find(s->places, &m->instance[k], PM_CGROUP, place);
	return false;
}

/* The first place from k on whose CPU was counted, or the number of places. */
static uint32_t next_counted(const struct stat_sheet *s, uint32_t k)
{
	SCOPED(cpulist_release) struct cpulist asked = { 0 };
	const char *text = pm_map_text(&s->places->model->header, PM_HEADER_CPUS, NULL);

	if (text && cpulist_parse(&asked, text, false, NULL))
		cpulist_release(&asked);
	for (; k < s->places->n; k++) {
		uint32_t cpu = s->places->cpu[k].cpu;

		if ((!s->config->cpus.n || cpulist_has(&s->config->cpus, cpu)) &&
		    (!asked.n || cpulist_has(&asked, cpu)))
			break;
	}
	return k;
}

static struct pm_instance instance_of_cpu(const struct stat_sheet *s, uint32_t k)
{
	uint32_t cpu = k < s->places->n ? s->places->cpu[k].cpu : PM_NONE;

	return (struct pm_instance){ .kind = PM_CPU, .number = cpu, .cpu = cpu };
}

/* An event of a package is placed at the first CPU that has it. */
static bool place_of(const struct stat_sheet *s, const struct stat_event *ev, const struct pm_instance *i,
		     struct place *place)
{
	enum pm_kind kind = kind_for(s, ev);
	const struct pm_cpu *c = cpu_of(s, i);

	if (kind == PM_CPU && ev->per_pkg && c) {
		for (uint32_t k = 0; k < s->places->n; k++) {
			const struct pm_cpu *other = &s->places->cpu[k];
			struct pm_instance first = instance_of_cpu(s, k);

			if (other->package == c->package && other->die == c->die &&
			    (!s->config->cpus.n || cpulist_has(&s->config->cpus, other->cpu)))
				return places_find(s->places, &first, kind, place);
		}
	}
	if (kind == PM_TASK && i->kind != PM_TASK)
		return false;
	/* What the machine has once, such as time, is placed at the first CPU that is counted. */
	if (i->kind == PM_SYSTEM && kind != PM_SYSTEM && !(kind == PM_CPU && c)) {
		struct pm_instance first = instance_of_cpu(s, next_counted(s, 0));

		return places_find(s->places, &first, kind, place);
	}
	if (kind == PM_CGROUP)
		return i->kind == PM_CGROUP && place_of_cgroup(s, i, place);
	/* Events of a package are placed at the CPU that reads them; a cgroup's counts are taken CPU by CPU. */
	if (c && (kind == PM_CPU ? i->kind != PM_CPU : i->kind == PM_CGROUP && kind != PM_SYSTEM)) {
		struct pm_instance on = { .kind = PM_CPU, .number = c->cpu, .cpu = c->cpu };

		return places_find(s->places, &on, kind, place);
	}
	return places_find(s->places, i, kind, place);
}

/* A track that counts for an event. */
struct feed {
	uint32_t event, row, track;
};

static int by_event_then_row(const void *a, const void *b)
{
	const struct feed *x = a, *y = b;

	return x->event != y->event ? array_order(x->event, y->event, 0, 0) :
				      array_order(x->row, y->row, x->track, y->track);
}

/* Many tracks in a row often share a place. */
static uint32_t add_place(struct place **place, uint32_t *n, const struct place *at)
{
	if (*n && !place_compare(&(*place)[*n - 1], at) && (*place)[*n - 1].first_cpu == at->first_cpu)
		return *n - 1;
	memory_room(place, *n, sizeof(**place));
	(*place)[*n] = *at;
	return (*n)++;
}

/* What feeds the lines, ordered, and the rows. *nowhere: how many columns have none. */
static struct feed *find_rows(struct stat_sheet *s, size_t *n, uint32_t *nowhere)
{
	const struct pm_model *m = s->places->model;
	SCOPED(scoped_free) struct place *place = NULL;
	struct place at = PLACE_NOWHERE(PM_SYSTEM);
	const char *target = pm_map_text(&m->header, PM_HEADER_TARGET, "");
	/* Events by counter: places in `member`, which has one and the next. */
	SCOPED(scoped_free) uint32_t *last = memory_new((size_t)m->n_counters + 1, sizeof(*last));
	SCOPED(scoped_free) uint32_t(*member)[2] = NULL;
	struct feed *feed = NULL;
	uint32_t n_members = 0, n_places = 0, n_cpus = 0;

	for (uint32_t e = 0; e < s->n_events; e++)
		for (uint32_t k = 0; k < s->event[e].n_counters; k++) {
			memory_room(&member, n_members, sizeof(*member));
			member[n_members][0] = e;
			member[n_members][1] = last[s->event[e].counter[k]];
			last[s->event[e].counter[k]] = ++n_members;
		}
	if (s->aggr == STAT_GLOBAL)
		add_place(&place, &n_places, &at);
	for (uint32_t t = 0; t < replay_tracks(s->replay); t++) {
		struct track_info info = replay_track(s->replay, t);
		const struct pm_instance *i = pm_model_instance(m, info.instance);

		for (uint32_t k = last[info.counter]; k; k = member[k - 1][1]) {
			struct stat_event *ev = &s->event[member[k - 1][0]];

			ev->counted = true;
			if (!i || !is_wanted(s, i, ev->in_cgroup))
				continue;
			if (!place_of(s, ev, i, &at)) {
				++*nowhere;
				continue;
			}
			memory_room(&feed, *n, sizeof(*feed));
			feed[(*n)++] = (struct feed){ member[k - 1][0], add_place(&place, &n_places, &at), t };
		}
	}
	/* There are lines even if no event is supported. */
	if (!n_places && !*nowhere && s->aggr != STAT_THREAD && s->aggr != STAT_CGROUP &&
	    (!strcmp(target, "system") || !strcmp(target, "cpu")))
		n_cpus = s->places->n;
	for (uint32_t k = next_counted(s, 0); k < n_cpus; k = next_counted(s, k + 1)) {
		struct pm_instance i = instance_of_cpu(s, k);

		if (places_find(s->places, &i, stat_levels[s->aggr].kind, &at))
			add_place(&place, &n_places, &at);
	}
	make_rows(s, place, n_places);
	for (size_t i = 0; i < *n; i++)
		feed[i].row = (uint32_t)find_row(s, &place[feed[i].row]);
	if (*n)
		qsort(feed, *n, sizeof(*feed), by_event_then_row);
	return feed;
}

static void add_column(struct stat_sheet *s, struct stat_line *l, uint32_t track)
{
	struct track_info t = replay_track(s->replay, track);
	const struct pm_instance *i = pm_model_instance(s->places->model, t.instance);
	const struct pm_cpu *c = cpu_of(s, i);

	memory_room(&s->column, s->n_columns, sizeof(*s->column));
	s->column[s->n_columns++] = (struct stat_column){
		.track = track,
		.counter = t.counter,
		.instance = t.instance,
		.package = c ? c->package : PM_NONE,
		.die = c ? c->die : PM_NONE,
	};
	l->n++;
}

static uint32_t row_of(const struct stat_sheet *s, const struct pm_counter *c, uint32_t cgroup,
		       const struct pm_instance *i)
{
	const struct stat_event like = { .per_pkg = pm_map_bool(&c->attrs, PM_COUNTER_PERF_PER_PKG, false),
					 .percore = pm_map_bool(&c->attrs, PM_COUNTER_PERF_PERCORE, false) };
	struct place place;

	return is_wanted(s, i, cgroup) && place_of(s, &like, i, &place) ? (uint32_t)find_row(s, &place) : PM_NONE;
}

static void add_lines(struct stat_sheet *s, uint32_t event, struct stat_line **at, const struct feed *feed, size_t n)
{
	const struct stat_event *ev = &s->event[event];
	bool everywhere = s->aggr == STAT_NONE && ev->percore && s->config->show_thread, alone = false;
	bool rank_first = stat_is_by_event(s);

	for (size_t i = 0; i < n && !alone; i++) {
		uint32_t instance = replay_track(s->replay, feed[i].track).instance;

		alone = s->row[feed[i].row].counted &&
			pm_model_instance(s->places->model, instance)->kind == PM_SYSTEM;
	}
	for (uint32_t r = 0; r < s->n_rows; r++) {
		struct stat_line *l = *at;
		size_t own_feed = ARRAY_PLACE(n, i, feed[i].row < r);

		*l = (struct stat_line){ .row = r,
					 .event = event,
					 .counter = ev->counter[0],
					 .cgroup = ev->in_cgroup,
					 /* perf goes event by event if it distinguishes CPUs or threads, and place
					  * by place if it sums. */
					 .order = { rank_first ? rank_of(ev) : r, rank_first ? r : rank_of(ev) },
					 .first = s->n_columns,
					 .total.reason = ev->invalid ? ev->invalid : PM_REASON_NOT_COUNTED };
		for (size_t k = everywhere ? 0 : own_feed; k < n && (everywhere || feed[k].row == r); k++) {
			const struct place *p = &s->row[feed[k].row].place, *own = &s->row[r].place;

			/* The siblings of a core, each with the counts of all of them. */
			if (everywhere && (p->package != own->package || p->die != own->die || p->core != own->core))
				continue;
			add_column(s, l, feed[k].track);
		}
		/* An event that could not be opened anywhere has a line everywhere, a percore one only where CPUs
		 * have one; also one that counts at a single place. */
		if (l->n || ((!ev->counted || alone) && s->row[r].place.kind == kind_for(s, ev)))
			++*at;
	}
}

static int by_order(const void *a, const void *b)
{
	const struct stat_line *x = a, *y = b;

	return array_order(x->order[0], y->order[0], x->order[1], y->order[1]);
}

static void index_lines(struct stat_sheet *s)
{
	if (s->n_lines)
		qsort(s->line, s->n_lines, sizeof(*s->line), by_order);
	s->line_of = memory_new((size_t)s->n_rows * s->n_events, sizeof(*s->line_of));
	s->order = memory_new(s->n_lines, sizeof(*s->order));
	for (uint32_t i = 0; i < s->n_lines; i++) {
		s->line_of[(size_t)s->line[i].row * s->n_events + s->line[i].event] = i + 1;
		s->order[i] = i;
	}
}

/* ---- the whole ---- */

static void forget_pointers(struct stat_sheet *s)
{
	s->row = NULL;
	s->row_at = NULL;
	s->line = NULL;
	s->line_of = s->order = NULL;
	s->column = NULL;
	s->n_rows = s->n_lines = s->n_columns = 0;
}

static void forget_layout(struct stat_sheet *s)
{
	for (uint32_t i = 0; i < s->n_rows; i++) {
		free(s->row[i].label);
		buf_release(&s->row[i].written);
		buf_release(&s->row[i].cgroup);
	}
	free(s->row);
	free(s->row_at);
	free(s->line);
	free(s->line_of);
	free(s->order);
	free(s->column);
	forget_pointers(s);
}

/* Columns are mostly in the same order as before. */
static void keep_unseen(struct stat_sheet *s, const struct stat_line *l, const struct stat_column *was, uint32_t n)
{
	for (uint32_t i = 0, at = 0; i < n; i++)
		for (uint32_t k = 0; k < l->n && was[i].unseen_ns; k++, at++) {
			struct stat_column *c = &s->column[l->first + (at %= l->n)];

			if (c->counter != was[i].counter || c->instance != was[i].instance)
				continue;
			c->unseen_ns = was[i].unseen_ns;
			break;
		}
}

/* What was added up before the model grew continues. */
static void keep_sums(struct stat_sheet *s, struct stat_sheet *old)
{
	for (uint32_t k = 0; k < old->n_lines; k++) {
		struct stat_line *was = &old->line[k], *l;
		int row = find_row(s, &old->row[was->row].place);
		uint32_t i = 0, event = was->event, at;

		/* Events are mostly where they were. */
		for (; i < s->n_events; i++, event++)
			if (s->event[event %= s->n_events].counter[0] == was->counter &&
			    s->event[event].in_cgroup == was->cgroup)
				break;
		at = i == s->n_events || row < 0 ? 0 : s->line_of[(size_t)row * s->n_events + event];
		if (!at)
			continue;
		l = &s->line[at - 1];
		l->total = was->total;
		l->value = was->value;
		l->enabled = was->enabled;
		l->running = was->running;
		keep_unseen(s, l, old->column + was->first, was->n);
	}
}

static int lay_out_lines(struct stat_sheet *s, struct buf *notes, struct error *e)
{
	SCOPED(scoped_free) struct feed *feed = NULL;
	struct stat_sheet old = *s;
	struct stat_line *at;
	uint32_t nowhere = 0;
	size_t n = 0, from = 0;
	bool filtered;

	forget_pointers(s);
	feed = find_rows(s, &n, &nowhere);
	at = s->line = memory_new((size_t)s->n_rows * s->n_events + 1, sizeof(*s->line));
	for (uint32_t i = 0; i < s->n_events; i++) {
		size_t to = from;

		while (to < n && feed[to].event == i)
			to++;
		add_lines(s, i, &at, feed + from, to - from);
		from = to;
	}
	s->n_lines = (uint32_t)(at - s->line);
	index_lines(s);
	keep_sums(s, &old);
	forget_layout(&old);
	filtered = s->config->cpus.n || s->config->pids.n || s->config->tids.n;
	if ((!s->n_lines || (!s->n_columns && filtered)) && !s->config->metrics.n && s->places->model->n_counters) {
		if (filtered)
			return error_set(e, ENOENT, "nothing was recorded for those CPUs or tasks%s",
					 s->config->pids.n || s->config->tids.n ?
						 " (ids are recorded with --privacy=full only)" :
						 "");
		return error_set(e, ENOENT, "the events were not counted %s",
				 s->aggr == STAT_THREAD ? "by thread: -A or --per-core shows each CPU" :
				 s->aggr == STAT_CGROUP ? "by cgroup" :
							  "by CPU, but for tasks: --per-thread shows each");
	}
	s->laid_out = true;
	if (nowhere && s->n_rows && notes)
		buf_printf(notes, "%u columns do not fit this report and are left out\n", nowhere);
	return 0;
}

/* ---- counts of an interval, their sums, and runs ---- */

/* Whether no earlier column counted the same event of the same package. */
static bool is_first(const struct stat_sheet *s, const struct stat_line *l, uint32_t i, size_t k)
{
	const struct stat_column *c = &s->column[l->first + i];

	for (uint32_t j = 0; j < i; j++) {
		const struct stat_column *other = &s->column[l->first + j];

		if (other->package == c->package && other->die == c->die && other->counter == c->counter &&
		    !replay_counts(s->replay, other->track)[k].reason)
			return false;
	}
	return true;
}

/* Time in which a column was not observed lowers the percentage. The next reading may include the count of a missed
 * one, so sums of intervals lack only what none has included. Waiting for a counter is part of its own times. */
static void take_lost(const struct stat_sheet *s, struct stat_line *l, struct stat_column *c, bool counted, size_t k)
{
	const struct support *u = replay_support(s->replay, c->track);
	uint64_t lost = u ? (uint64_t)(u[k].lost * 1e9) : 0;

	/* Nor is a disabled event observed. */
	lost = lost > s->off_ns && u[k].why != PM_REASON_NOT_COUNTED ? lost - s->off_ns : 0;
	l->now.lost += lost;
	l->total.lost -= c->unseen_ns;
	c->unseen_ns = counted ? 0 : c->unseen_ns;
	/* What the reader itself found to be lost is never included: gaps, resets. */
	if (lost && u[k].why >= VALUE_DIVISION_BY_ZERO)
		l->total.lost += lost;
	else
		c->unseen_ns += lost;
	l->total.lost += c->unseen_ns;
}

static void count_line(struct stat_sheet *s, struct stat_line *l, size_t k)
{
	bool package = s->event[l->event].per_pkg && s->aggr != STAT_THREAD;
	uint32_t missing = 0, n = 0;
	uint16_t why = 0;

	for (uint32_t i = 0; i < l->n; i++) {
		struct stat_column *column = &s->column[l->first + i];
		const struct count *c = replay_counts(s->replay, column->track) + k;

		if (!package)
			take_lost(s, l, column, !c->reason, k);
		else if (!c->reason && !is_first(s, l, i, k))
			continue;
		if (__builtin_expect(c->reason, 0)) {
			missing++;
			why = c->reason;
			/* What waited for a counter all the time lowers the percentage. */
			if (c->reason == PM_REASON_NOT_COUNTED && !package)
				l->now.enabled += c->enabled;
			continue;
		}
		l->now.v += c->made;
		l->now.raw += c->v;
		l->now.enabled += c->enabled;
		l->now.running += c->running;
		n++;
	}
	l->now.enabled += l->now.lost;
	l->now.nr = package && n ? n : l->n;
	if (!missing || (package && n))
		return;
	if (missing == l->n) {
		l->now.reason = why;
		return;
	}
	for (uint32_t i = 0; i < l->n; i++) {
		const struct stat_column *column = &s->column[l->first + i];
		const struct count *c = replay_counts(s->replay, column->track) + k;
		const struct support *u = replay_support(s->replay, column->track);

		/* A CPU that is offline, and a task that does not exist, have no part in the sum; nor does an event
		 * while it is not enabled, which is known to count nothing. */
		if (!c->reason || status_absent(c->reason) ||
		    (c->reason == PM_REASON_NOT_COUNTED && (!c->enabled || (u && u[k].known > 0))))
			continue;
		listed_add(&s->lost, s->event[l->event].name);
		listed_add_instance(&s->lost_at, pm_model_instance(s->places->model, column->instance));
		s->why_lost = c->reason;
		s->partial = true;
		/* Nothing of it is known at any time: the sum is not a number, here as everywhere. In a line of
		 * several intervals, the next one may include what this one lacks. */
		if (!s->config->intervals)
			l->now.reason = c->reason;
	}
}

static void count_lines(struct stat_sheet *s, size_t k)
{
	for (uint32_t i = 0; i < s->n_lines; i++) {
		struct stat_line *l = &s->line[i];
		const struct stat_event *e = &s->event[l->event];

		l->now = (struct stat_sum){ .nr = e->invalid != 0,
					    .reason = e->invalid ? e->invalid : PM_REASON_NOT_COUNTED };
		if (!l->n)
			continue;
		l->now = (struct stat_sum){ 0 };
		count_line(s, l, k);
	}
}

static void add_total(struct stat_sheet *s)
{
	for (uint32_t i = 0; i < s->n_lines; i++) {
		struct stat_line *l = &s->line[i];
		bool first = !l->total.nr;

		l->total.nr = l->now.nr;
		l->total.enabled += l->now.enabled - (s->config->intervals ? l->now.lost : 0);
		if (l->now.reason) {
			l->total.reason = first ? l->now.reason : l->total.reason;
			continue;
		}
		l->total.reason = 0;
		l->total.v += l->now.v;
		l->total.raw += l->now.raw;
		l->total.running += l->now.running;
	}
}

static void take_totals(struct stat_sheet *s)
{
	for (uint32_t i = 0; i < s->n_lines; i++) {
		s->line[i].now = s->line[i].total;
		if (s->config->intervals)
			s->line[i].now.enabled += s->line[i].total.lost;
		if (s->line[i].now.reason)
			s->line[i].now.v = s->line[i].now.running = 0;
	}
}

void stat_spread_add(struct stat_spread *w, double v)
{
	double delta = v - w->mean;

	w->n++;
	w->mean += delta / w->n;
	w->m2 += delta * (v - w->mean);
}

double stat_spread_error(const struct stat_spread *w)
{
	return w->n < 2 ? 0 : sqrt(w->m2 / (w->n - 1) / w->n);
}

double stat_spread_percent(const struct stat_spread *w)
{
	return w->mean != 0 ? 100 * stat_spread_error(w) / w->mean : 0;
}

static void add_run(struct stat_sheet *s, double wall_ns)
{
	memory_room(&s->run_wall, s->n_runs, sizeof(*s->run_wall));
	s->run_wall[s->n_runs++] = wall_ns;
	stat_spread_add(&s->wall, wall_ns);
	for (uint32_t i = 0; i < s->n_lines; i++) {
		struct stat_line *l = &s->line[i];

		l->total.nr = l->now.nr;
		if (l->now.reason) {
			l->total.reason = l->value.n > 0 ? 0 : l->now.reason;
			l->total.enabled = l->now.enabled;
			continue;
		}
		l->total.reason = 0;
		stat_spread_add(&l->value, (double)l->now.v);
		stat_spread_add(&l->enabled, (double)l->now.enabled);
		stat_spread_add(&l->running, (double)l->now.running);
	}
}

static void take_means(struct stat_sheet *s)
{
	for (uint32_t i = 0; i < s->n_lines; i++) {
		struct stat_line *l = &s->line[i];

		l->now = (struct stat_sum){ .nr = l->total.nr,
					    .reason = l->total.reason,
					    .enabled = l->total.enabled };
		if (l->now.reason)
			continue;
		l->now.v = l->now.raw = (uint64_t)l->value.mean;
		l->now.rest = l->value.mean - (double)l->now.v;
		l->now.enabled = (uint64_t)l->enabled.mean;
		l->now.running = (uint64_t)l->running.mean;
	}
}

bool stat_is_shared(const struct stat_sum *sum)
{
	return sum->reason ? sum->reason == PM_REASON_NOT_COUNTED && sum->enabled : sum->running < sum->enabled;
}

unsigned stat_percent(const struct stat_sum *sum)
{
	/* A thousand CPUs have more hundredths of nanoseconds in three days than 64 bits hold. */
	return !stat_is_shared(sum) ? 100 :
	       sum->reason          ? 0 :
				      (unsigned)((unsigned __int128)100 * sum->running / sum->enabled);
}

double stat_value(const struct stat_event *e, const struct stat_sum *sum)
{
	return ((double)sum->v + sum->rest) * e->mul / e->div;
}

const char *stat_missing(uint16_t reason)
{
	return reason == PM_REASON_NOT_SUPPORTED || reason == pm_reason_errno(2) || reason == pm_reason_errno(95) ||
			       reason == pm_reason_errno(22) || reason == pm_reason_errno(19) ||
			       reason == pm_reason_errno(6) || reason == PM_REASON_NO_PERMISSION ||
			       reason == pm_reason_errno(13) || reason == pm_reason_errno(1) ?
		       "<not supported>" :
		       "<not counted>";
}

/* Says that -C cannot be honoured. */
static void note_tasks(struct stat_sheet *s)
{
	for (uint32_t i = 0; s->config->cpus.n && i < s->n_columns; i++) {
		const struct pm_instance *in = pm_model_instance(s->places->model, s->column[i].instance);

		if (!in || in->kind != PM_TASK)
			continue;
		buf_addstr(&s->notes,
			   "-C: events of tasks were counted wherever the tasks ran; their lines are for all CPUs\n");
		return;
	}
}

/* A run without a number does not count for the mean. */
static void note_runs(struct stat_sheet *s)
{
	for (uint32_t i = 0; i < s->n_lines; i++) {
		const struct stat_line *l = &s->line[i];
		const char *place = s->row[l->row].label;
		uint32_t n = (uint32_t)l->value.n;

		if (n && n < s->n_runs && !s->event[l->event].hidden)
			buf_printf(&s->notes, "%s%s%s: not counted in %u of %u runs; the mean is of the others\n",
				   s->event[l->event].name, place[0] ? " of " : "", place, s->n_runs - n, s->n_runs);
	}
}

static void note_lost(struct stat_sheet *s)
{
	note_tasks(s);
	note_runs(s);
	if (s->lost.have.n) {
		char word[16];

		listed_put(&s->lost, &s->notes);
		buf_addstr(&s->notes, " of ");
		listed_put(&s->lost_at, &s->notes);
		buf_printf(&s->notes, ": %s in some intervals%s\n", status_word(s->why_lost, STATUS_WHOLE, word),
			   s->config->intervals ? "; sums cover the others" :
						  ", so there is no sum; -A shows the others");
	}
	if (s->doubtful)
		buf_addstr(&s->notes, "metrics are doubtful: a reading took longer than 1 % of its interval, or a "
				      "share exceeds 101 %\n");
}

/* ---- behind the '#' ---- */

/* What `perf stat` prints after the '#' of an event's line: the metric of each event, its words, and the limits of
 * its colors. */
enum shadow_level { SHADOW_PLAIN, SHADOW_GOOD, SHADOW_LESS_GOOD, SHADOW_NEARLY_BAD, SHADOW_BAD };

struct shadow {
	const char *event;   /* canonical name, without PMU and modifiers: "instructions", "topdown-retiring" */
	const char *metric;  /* name of the row in the metric tables */
	const char *label;   /* after the number */
	unsigned char width; /* of the number, as in "%8.3f", without a '%' */
	unsigned char decimals;
	unsigned char percent; /* 1: a '%' follows the number, 2: a blank and a '%'; the metric's unit is then "%" */
	bool own_line;         /* on a line of its own below the event's */
	bool lower;            /* limits are lower ones: above limit[0] is SHADOW_GOOD */
	/* In the metric's unit: SHADOW_BAD above [0], SHADOW_NEARLY_BAD above [1], SHADOW_LESS_GOOD above [2]. 0: no
	 * such limit; without any, the number is SHADOW_PLAIN. */
	double limit[3];
};

/* clang-format off */
/* The widths and limits are those that perf's users know. */
#define MISSES(event_, metric_, label_) \
	{ .event = event_, .metric = metric_, .label = label_, .width = 7, .decimals = 2, .percent = 1, \
	  .limit = { 20, 10, 5 } }
#define TOPDOWN(event_, metric_, label_, ...) \
	{ .event = event_, .metric = metric_, .label = label_, .width = 8, .decimals = 1, .percent = 1, \
	  .limit = { __VA_ARGS__ } }
#define TOPDOWN_GOOD(event_, metric_, label_, limit_) \
	{ .event = event_, .metric = metric_, .label = label_, .width = 8, .decimals = 1, .percent = 1, \
	  .lower = true, .limit = { limit_ } }

static const struct shadow shadows[] = {
	{ .event = "task-clock", .metric = "cpus_utilized", .label = "CPUs utilized", .width = 8, .decimals = 3 },
	{ .event = "cpu-clock", .metric = "cpus_utilized_clock", .label = "CPUs utilized", .width = 8,
	  .decimals = 3 },
	{ .event = "cycles", .metric = "cycles_frequency", .label = "GHz", .width = 8, .decimals = 3 },
	{ .event = "instructions", .metric = "insn_per_cycle", .label = "insn per cycle", .width = 7,
	  .decimals = 2 },
	{ .event = "instructions", .metric = "stalled_cycles_per_instruction", .label = "stalled cycles per insn",
	  .width = 7, .decimals = 2, .own_line = true },
	{ .event = "stalled-cycles-frontend", .metric = "frontend_cycles_idle", .label = "frontend cycles idle",
	  .width = 7, .decimals = 2, .percent = 1, .limit = { 50, 30, 10 } },
	{ .event = "stalled-cycles-backend", .metric = "backend_cycles_idle", .label = "backend cycles idle",
	  .width = 7, .decimals = 2, .percent = 1, .limit = { 75, 50, 20 } },
	MISSES("branch-misses", "branch_miss_rate", "of all branches"),
	{ .event = "cache-misses", .metric = "cache_miss_rate", .label = "of all cache refs", .width = 8,
	  .decimals = 3, .percent = 2, .limit = { 20, 10, 5 } },
	MISSES("L1-dcache-load-misses", "l1d_miss_rate", "of all L1-dcache accesses"),
	MISSES("L1-icache-load-misses", "l1i_miss_rate", "of all L1-icache accesses"),
	MISSES("LLC-load-misses", "llc_miss_rate", "of all LL-cache accesses"),
	MISSES("dTLB-load-misses", "dtlb_miss_rate", "of all dTLB cache accesses"),
	MISSES("iTLB-load-misses", "itlb_miss_rate", "of all iTLB cache accesses"),

	{ .event = "cycles-t", .metric = "transactional_cycles", .label = "transactional cycles", .width = 7,
	  .decimals = 2, .percent = 1 },
	{ .event = "cycles-ct", .metric = "aborted_cycles", .label = "aborted cycles", .width = 7, .decimals = 2,
	  .percent = 1 },
	{ .event = "tx-start", .metric = "cycles_per_transaction", .label = "cycles / transaction", .width = 8 },
	{ .event = "el-start", .metric = "cycles_per_elision", .label = "cycles / elision", .width = 8 },
	{ .event = "smi", .metric = "smi_cycles", .label = "SMI cycles%", .width = 8, .decimals = 1,
	  .percent = 1, .limit = { 10 } },
	{ .event = "smi", .metric = "smi_num", .label = "SMI#", .width = 4, .own_line = true },

	TOPDOWN("topdown-fetch-bubbles", "tma_frontend_bound", "frontend bound", 20),
	TOPDOWN_GOOD("topdown-slots-retired", "tma_retiring", "retiring", 70),
	TOPDOWN("topdown-recovery-bubbles", "tma_bad_speculation", "bad speculation", 10),
	TOPDOWN("topdown-slots-issued", "tma_backend_bound", "backend bound", 20),
	TOPDOWN_GOOD("topdown-retiring", "tma_retiring", "Retiring", 70),
	TOPDOWN("topdown-bad-spec", "tma_bad_speculation", "Bad Speculation", 10),
	TOPDOWN("topdown-fe-bound", "tma_frontend_bound", "Frontend Bound", 20),
	TOPDOWN("topdown-be-bound", "tma_backend_bound", "Backend Bound", 20),
	TOPDOWN_GOOD("topdown-heavy-ops", "tma_heavy_operations", "Heavy Operations", 10),
	{ .event = "topdown-heavy-ops", .metric = "tma_light_operations", .label = "Light Operations", .width = 8,
	  .decimals = 1, .percent = 1, .own_line = true, .lower = true, .limit = { 60 } },
	TOPDOWN("topdown-br-mispredict", "tma_branch_mispredicts", "Branch Mispredict", 10),
	{ .event = "topdown-br-mispredict", .metric = "tma_machine_clears", .label = "Machine Clears", .width = 8,
	  .decimals = 1, .percent = 1, .own_line = true, .limit = { 10 } },
	TOPDOWN("topdown-fetch-lat", "tma_fetch_latency", "Fetch Latency", 15),
	{ .event = "topdown-fetch-lat", .metric = "tma_fetch_bandwidth", .label = "Fetch Bandwidth", .width = 8,
	  .decimals = 1, .percent = 1, .own_line = true, .limit = { 10 } },
	TOPDOWN("topdown-mem-bound", "tma_memory_bound", "Memory Bound", 20),
	{ .event = "topdown-mem-bound", .metric = "tma_core_bound", .label = "Core Bound", .width = 8,
	  .decimals = 1, .percent = 1, .own_line = true, .limit = { 10 } },
	{ .event = NULL },
};
/* clang-format on */

/* Whether the row is about an event with these attr words. */
static bool has_config(const struct shadow *s, uint32_t type, uint64_t config)
{
	const struct event_symbol *symbol;
	uint64_t cache;

	if (type == PERF_TYPE_HW_CACHE)
		return !event_cache_parse(s->event, &cache) && cache == (uint32_t)config;
	symbol = event_symbol_find(s->event);
	return symbol && symbol->type == type &&
	       symbol->config == (type == PERF_TYPE_HARDWARE ? (uint32_t)config : config);
}

/* "cpu/topdown-retiring/u" and "topdown-retiring:u" are topdown-retiring; "msr/smi/" is smi. */
static bool has_name(const struct shadow *s, const char *name)
{
	const char *slash = strchr(name, '/'), *from = slash ? slash + 1 : name;
	size_t len = strcspn(from, slash ? "/" : ":");

	return strlen(s->event) == len && !strncasecmp(s->event, from, len);
}

/*
 * The lines of an event: *row is the first of as many adjacent rows as the result says. 0: it has none and shows its
 * count per second of CPU time ("K/sec"). `type` and `config` are those of its attr, without regard to bits above 31,
 * which a hybrid PMU adds. Events that are not hardware, software or cache events are found by `name`, as recorded,
 * with or without PMU ("cpu/topdown-retiring/", "msr/smi/") and modifiers.
 */
static size_t shadow_find(uint32_t type, uint64_t config, const char *name, const struct shadow **row)
{
	bool known = type == PERF_TYPE_HARDWARE || type == PERF_TYPE_SOFTWARE || type == PERF_TYPE_HW_CACHE;
	size_t n = 0;

	for (const struct shadow *s = shadows; s->event; s++) {
		if (known ? !has_config(s, type, config) : !has_name(s, name)) {
			if (n)
				break;
			continue;
		}
		if (!n)
			*row = s;
		n++;
	}
	return n;
}

/* NaN is SHADOW_PLAIN. */
static enum shadow_level shadow_judge(const struct shadow *s, double value)
{
	static const enum shadow_level level[] = { SHADOW_BAD, SHADOW_NEARLY_BAD, SHADOW_LESS_GOOD };

	if (isnan(value) || s->limit[0] == 0)
		return SHADOW_PLAIN;
	if (s->lower)
		return value > s->limit[0] ? SHADOW_GOOD : SHADOW_PLAIN;
	for (size_t i = 0; i < sizeof(level) / sizeof(level[0]); i++)
		if (s->limit[i] > 0 && value > s->limit[i])
			return level[i];
	return SHADOW_GOOD;
}

/* ---- metrics ---- */

#define SHADOW_INPUTS 8 /* of the formula of a struct shadow */

/* A metric that is printed. */
struct stat_shown {
	uint32_t event; /* the event with the metric on its line; UINT32_MAX: a separate line at the end of a row */
	const struct shadow *shadow;       /* NULL: of -M, or a rate */
	const struct bound_metric *metric; /* of a rate: the clock; NULL: its events could not be opened */
	const char *name, *unit;
	uint8_t precision;
	uint32_t *events; /* owned: its events, as places in stat.event */
	uint32_t n_events;
	uint32_t cgroup; /* the cgroup of its events; PM_NONE: any */
	uint32_t turn;   /* it was the n-th to be found */
	const char *pmu; /* the kind of CPUs of its events, where there are several; or NULL */
	char *words;     /* owned: unit and name as printed */
	char *head;      /* owned: of its column of --metric-only */
	bool judged;     /* it has a threshold */
	bool of_pmus;    /* computed PMU by PMU */
	bool rate;       /* the count a second of the clock */
	bool fed;        /* of another mode than the engine's: computed of the lines of these events */
	uint32_t feed[SHADOW_INPUTS];
};

/* A metric at a row. */
struct stat_answer {
	uint32_t row, at; /* of the sheet, and the cell in it + 1; 0: nothing feeds it there */
	struct value now; /* of the current interval, or the total */
	enum sheet_verdict verdict;
};

static void forget_metrics(struct stat_sheet *s)
{
	for (uint32_t i = 0; i < s->n_heads; i++) {
		free(s->shown[i].events);
		free(s->shown[i].words);
		free(s->shown[i].head);
	}
	free(s->shown);
	free(s->behind);
	free(s->first);
	free(s->wanted);
	free(s->cgroup);
	free(s->answer);
	s->shown = NULL;
	s->behind = s->first = s->cgroup = NULL;
	s->wanted = NULL;
	s->answer = NULL;
	s->n_heads = 0;
}

/* Takes what the other owns. */
static void add_shown(struct stat_sheet *s, struct stat_shown *what)
{
	memory_room(&s->shown, s->n_heads, sizeof(*what));
	what->turn = s->n_heads;
	s->shown[s->n_heads++] = *what;
}

/* ---- which events feed a metric ---- */

/* The metric of this name, that of a kind of CPUs if there is one; NULL: none. */
static const struct bound_metric *metric_named(const struct stat_sheet *s, const char *name, const char *pmu)
{
	const struct bound_metric *any = NULL;

	for (size_t i = 0; i < s->binding->n_metrics; i++) {
		const struct bound_metric *m = &s->binding->metric[i];

		if (m->counter || m->absent || strcmp(m->name, name))
			continue;
		if (m->about->pmu && pmu && !strcmp(m->about->pmu, pmu))
			return m;
		any = !m->about->pmu || !pmu ? m : any;
	}
	return any;
}

static bool uses_event(const struct stat_shown *x, uint32_t event)
{
	uint32_t i = 0;

	while (i < x->n_events && x->events[i] != event)
		i++;
	return i < x->n_events;
}

/* Adds the event of a counter to those that the metric uses. */
static void use_event(struct stat_sheet *s, struct stat_shown *x, uint32_t counter)
{
	uint32_t event = event_of(s, counter, x->cgroup);

	if (uses_event(x, event))
		return;
	memory_room(&x->events, x->n_events, sizeof(*x->events));
	x->events[x->n_events++] = event;
}

/* Only counts that could be opened have lines; what is read beside them has none. */
static bool has_line(const struct pm_counter *c)
{
	return (!strcmp(c->source, "perf") || c->semantics == PM_CUMULATIVE || c->semantics == PM_DELTA) &&
	       !pm_map_get(&c->attrs, PM_COUNTER_PERF_INVALID);
}

/* Fills in the metric and its events in the cgroup that is in *x. */
static void take_metric(struct stat_sheet *s, struct stat_shown *x, const struct bound_metric *m)
{
	x->metric = m;
	x->name = m->name;
	x->unit = m->about->unit;
	x->precision = m->precision;
	x->judged = m->threshold != NULL;
	for (uint32_t i = 0; i < m->n_inputs; i++) {
		const struct bound_input *in = &s->binding->input[m->input[i]];
		const struct pmu_class *class;

		/* Without a name it is a clock that accompanies others. */
		if (in->constant || in->duration || !in->more->name[0])
			continue;
		x->of_pmus |= in->more->clock || class_event_named(in->more->name, &class);
		for (uint32_t k = 0; k < in->n_counters; k++) {
			const struct pm_counter *c = pm_model_counter(s->places->model, in->counter[k]);

			if (has_line(c) && programs_wanted(&s->config->programs, c))
				use_event(s, x, c->id);
		}
	}
}

/* ---- -M: metrics of tables and vendors' files ---- */

/* Adds a metric to those that are printed, once its events are known. */
static void finish(struct stat_sheet *s, struct stat_shown *x, const char *display, const char *categories)
{
	const char *unit = strcmp(x->unit, "1") ? x->unit : "";

	/* Without -e the lines are those that the metrics use. */
	for (uint32_t i = 0; !s->config->events.n && i < x->n_events; i++)
		s->event[x->events[i]].hidden = false;
	/* Our names are column heads, or perf's; a vendor's name is that in its file. */
	if ((!strncmp(x->name, "tma_", 4) && strncasecmp(display, "tma_", 4)) ||
	    !strncmp(categories, "perf,", strlen("perf,")))
		display = x->name;
	x->words = memory_format("%s%s%s", unit, unit[0] ? "  " : "", display);
	add_shown(s, x);
}

static void add_metric(struct stat_sheet *s, const struct bound_metric *m, uint32_t cgroup)
{
	struct stat_shown what = { .cgroup = cgroup, .pmu = m->about->pmu };

	for (uint32_t i = 0; i < s->n_heads; i++)
		if (s->shown[i].metric == m && s->shown[i].cgroup == cgroup)
			return;
	take_metric(s, &what, m);
	finish(s, &what, m->display, m->about->categories);
}

/* If its events could not be opened it has no number, and says so in their place. False: some were not requested. */
static bool add_refused(struct stat_sheet *s, const struct metric *row, uint32_t cgroup)
{
	struct stat_shown what = { .cgroup = cgroup,
				   .name = row->name,
				   .unit = row->unit ? row->unit : "",
				   .judged = row->threshold != NULL };
	const struct expr_input *in;
	struct expr *expr;
	uint32_t counter;
	size_t n;
	int err = expr_parse(&expr, row->expr, NULL);
	bool all = !err;

	if (err == -ENOMEM)
		memory_ends(ENOMEM);
	in = all ? expr_inputs(expr, &n) : NULL;
	for (size_t i = 0; all && i < n; i++) {
		if (in[i].aspect == EXPR_LITERAL || in[i].aspect == EXPR_CPUID_MATCH ||
		    in[i].aspect == EXPR_HAS_EVENT)
			continue;
		if ((all = bind_counters(s->binding->index, in[i].name, &counter, 1)))
			use_event(s, &what, counter);
	}
	all = all && what.n_events;
	if (all)
		finish(s, &what, row->display ? row->display : row->name, row->categories ? row->categories : "");
	else
		free(what.events);
	if (!err)
		expr_free(expr);
	return all;
}

static bool is_shown(const struct stat_sheet *s, uint32_t cgroup, const struct bound_metric *m)
{
	for (uint32_t i = 0; i < s->n_heads; i++) {
		const struct stat_shown *x = &s->shown[i];

		/* A vendor's metric whose name several kinds of CPUs have is followed by its kind. */
		size_t len = strlen(m->name);
		bool twin = x->pmu && !strncmp(x->name, m->name, len) && strchr("._ ", x->name[len]) &&
			    !strcmp(x->name + len + (x->name[len] != 0), x->pmu);

		if (x->metric && x->cgroup == cgroup && x->pmu == m->about->pmu &&
		    (twin || !strcmp(x->name, m->name) || !strcasecmp(x->metric->display, m->display)))
			return true;
	}
	return false;
}

/* Adds those of rows that the word names whose events could not be opened. Few rows have the word; to look one up
 * takes as long as there are metrics. */
static bool add_unfed(struct stat_sheet *s, const struct metric *row, size_t n, const char *word, uint32_t cgroup)
{
	bool any = false;

	for (; n--; row++)
		any |= !row->each &&
		       selection_matches(word, row->name, row->display, row->aliases ? row->aliases : "",
					 row->categories ? row->categories : "") &&
		       !metric_named(s, row->name, NULL) && add_refused(s, row, cgroup);
	return any;
}

/* Adds all metrics that the word names, of vendors' files and of tables. */
static int add_word(struct stat_sheet *s, const char *word, uint32_t cgroup, struct buf *notes, struct error *e)
{
	const struct binding *b = s->binding;
	bool all = !strcmp(word, "Default"), any = false;

	/* perf's Default group has the metrics of all CPUs, and those of the recorded one. */
	for (int vendor = 1; vendor >= 0 && (!any || all); vendor--) {
		for (size_t i = 0; i < b->n_metrics; i++) {
			const struct bound_metric *m = &b->metric[i];

			if (m->vendor != vendor || m->counter || m->absent ||
			    !selection_matches(word, m->name, m->display, m->about->aliases, m->about->categories) ||
			    (!vendor && any && is_shown(s, cgroup, m)))
				continue;
			add_metric(s, m, cgroup);
			any = true;
		}
		for (size_t v = 0; vendor && v < b->n_vendor; v++)
			any |= add_unfed(s, b->vendor[v].row, b->vendor[v].n, word, cgroup);
		if (vendor)
			any |= add_unfed(s, b->recorded.row, b->recorded.n, word, cgroup);
		for (const struct metric_table *t = metric_tables; !vendor && t->row; t++)
			any |= add_unfed(s, t->row, t->n, word, cgroup);
	}
	if (any || selection_lacks(word, b, s->places, notes))
		return 0;
	selection_unknown(word, b, s->places, e);
	return error_prefix(e, "-M");
}

/* A metric whose events were counted in cgroups is printed for each of them. */
static int add_words(struct stat_sheet *s, const char *word, struct buf *notes, struct error *e)
{
	const struct pm_model *m = s->places->model;
	bool by_cgroup = s->aggr == STAT_CGROUP;
	SCOPED(cpulist_release) struct cpulist in = { 0 };
	int err = 0;

	for (uint32_t i = 0; i < m->n_instances && !by_cgroup; i++)
		if (cgroup_of(&m->instance[i]) && wants_cgroup(s->config, name_of_cgroup(&m->instance[i])))
			memory_done(cpulist_add(&in, m->instance[i].number));
	if (!in.n)
		return add_word(s, word, by_cgroup ? PM_NONE : 0, notes, e);
	for (size_t i = 0; i < in.n && !err; i++)
		err = add_word(s, word, in.cpu[i], notes, e);
	return err;
}

/* ---- perf's choice ---- */

static bool attr_of(const struct stat_sheet *s, const struct pm_counter *c, uint32_t *type, uint64_t *config)
{
	const struct pm_value *v = pm_map_get(&c->attrs, PM_COUNTER_PERF_ATTR);

	if (!v || v->kind != PM_VALUE_BYTES || v->str.len < 16)
		return false;
	*type = (uint32_t)bind_attr(s->places->model, c, 0, 4);
	*config = bind_attr(s->places->model, c, 8, 8);
	return true;
}

/* The name that tables know an event by: "cycles" for cpu_core/cpu-cycles/u. */
static void plain_name(const struct stat_sheet *s, const struct stat_event *ev, char name[static 64], uint32_t *type,
		       uint64_t *config)
{
	const char *display = ev->first->display, *slash = strchr(display, '/'), *from = slash ? slash + 1 : display;
	const struct event_symbol *symbol;

	snprintf(name, 64, "%.*s", (int)strcspn(from, slash ? "/" : ":"), from);
	/* What a device calls cycles are not those of the CPUs. */
	if (is_uncore(s, ev->first))
		snprintf(name, 64, "%s", display);
	if (attr_of(s, ev->first, type, config)) {
		if (*type == PERF_TYPE_HW_CACHE)
			event_cache_name((uint32_t)*config, name, 64);
		for (symbol = event_symbols; symbol->name; symbol++)
			if (symbol->type == *type &&
			    symbol->config == (*type == PERF_TYPE_HARDWARE ? (uint32_t)*config : *config))
				break;
		if (symbol->name && *type <= PERF_TYPE_SOFTWARE)
			snprintf(name, 64, "%s", symbol->name);
		return;
	}
	*type = UINT32_MAX;
	if ((symbol = event_symbol_find(name))) {
		*type = symbol->type;
		*config = symbol->config;
		snprintf(name, 64, "%s", symbol->name);
	} else if (!event_cache_parse(name, config)) {
		*type = PERF_TYPE_HW_CACHE;
	}
}

/* A count a second of the CPU time that was counted beside it: perf counts cpu-clock instead of task-clock where it
 * counts CPUs. */
static void add_rate(struct stat_sheet *s, uint32_t event)
{
	const struct stat_event *ev = &s->event[event];
	struct stat_shown what = { .event = event, .cgroup = ev->in_cgroup, .rate = true };
	uint32_t clock, k = 0;

	while (k < ev->n_counters && s->places->kind[ev->counter[k]] == PM_KINDS)
		k++;
	if (k == ev->n_counters || (!bind_counters(s->binding->index, "task-clock", &clock, 1) &&
				    !bind_counters(s->binding->index, "cpu-clock", &clock, 1)))
		return;
	for (size_t i = 0; i < s->binding->n_metrics && !what.metric; i++)
		if (s->binding->metric[i].counter == clock)
			what.metric = &s->binding->metric[i];
	if (what.metric)
		add_shown(s, &what);
}

/* What an attr leaves out of user, kernel, hypervisor, idle and host. */
static uint64_t left_out(const struct stat_sheet *s, const struct pm_counter *c)
{
	/* Bits 4 to 7 and 19, from the one end of the word or the other. */
	bool little = pm_map_bool(&s->places->model->header, PM_HEADER_LITTLE_ENDIAN, true);

	return bind_attr(s->places->model, c, 40, 8) & (little ? 0x800f0 : UINT64_C(0xf00100000000000));
}

/* Whether both are one event in the modes of the second; software has none. */
static bool is_twin(const struct stat_sheet *s, const struct stat_event *a, const struct stat_event *b,
		    const struct stat_event *of)
{
	uint32_t type, other_type;
	uint64_t config, other_config;

	if (!attr_of(s, a->first, &type, &config) || !attr_of(s, b->first, &other_type, &other_config))
		return a == b;
	return type == other_type && config == other_config && a->in_cgroup == b->in_cgroup &&
	       (type == PERF_TYPE_SOFTWARE || left_out(s, a->first) == left_out(s, of->first));
}

/* perf has a ratio for each mode, of events that were counted in it alone; the engine has one of the first of these.
 * False: there is none of this event. */
static bool choose_mode(const struct stat_sheet *s, struct stat_shown *x)
{
	const struct stat_event *ev = &s->event[x->event];
	const struct bound_metric *m = x->metric;
	bool own = !x->n_events, moved = false, whole = m->n_inputs <= SHADOW_INPUTS;
	uint32_t type;
	uint64_t config;

	if (!attr_of(s, ev->first, &type, &config))
		return true;
	for (uint32_t i = 0; i < m->n_inputs && i < SHADOW_INPUTS; i++) {
		const struct bound_input *in = &s->binding->input[m->input[i]];
		uint32_t first = in->constant || !in->n_counters ? x->n_events : 0, at = 0;

		while (first < x->n_events && s->event[x->events[first]].first->id != in->counter[0])
			first++;
		x->feed[i] = UINT32_MAX;
		whole &= in->constant || first < x->n_events;
		if (first == x->n_events)
			continue;
		first = x->events[first];
		/* The engine's own, if it is in this mode: of other lines only counts can be taken. */
		if (is_twin(s, &s->event[first], &s->event[first], ev))
			at = first;
		while (at < s->n_events && !is_twin(s, &s->event[at], &s->event[first], ev))
			at++;
		if (at == s->n_events)
			return false;
		own |= is_twin(s, ev, &s->event[first], ev);
		moved |= at != first;
		x->feed[i] = at;
	}
	x->fed = moved && whole && m->expr;
	return own;
}

/* perf's choice for an event; without what their formulas need there are none. */
static void add_choices(struct stat_sheet *s, uint32_t event)
{
	const struct stat_event *ev = &s->event[event];
	const struct shadow *row = NULL;
	char name[64];
	uint32_t type;
	uint64_t config;
	size_t n;
	bool own;

	plain_name(s, ev, name, &type, &config);
	/* perf knows events by type and config: not those of PMUs, nor of one kind of CPUs. */
	own = type > PERF_TYPE_HW_CACHE ? event_symbol_find(name) != NULL : config >> 32 != 0;
	n = own ? 0 : shadow_find(type, config, name, &row);
	/* perf spells this one in two ways. */
	s->event[event].unfed = !n ? NULL : strcmp(row->label, "GHz") ? row->label : "Ghz";
	if (!n)
		add_rate(s, event);
	for (; n--; row++) {
		struct stat_shown what = { .event = event, .shadow = row };
		const struct bound_metric *m;

		ev = &s->event[event];
		what.cgroup = ev->in_cgroup;
		what.pmu = ev->n_counters > 1 ? NULL : core_pmu(s, ev->first);
		if (!(m = metric_named(s, row->metric, what.pmu)))
			continue;
		take_metric(s, &what, m);
		if (choose_mode(s, &what)) {
			what.words = memory_text(row->label);
			add_shown(s, &what);
		} else {
			free(what.events);
		}
	}
}

bool stat_may_show(const struct metric *row)
{
	for (const struct shadow *x = shadows; x->event; x++)
		if (x->metric[0] == row->name[0] && !strcmp(x->metric, row->name))
			return true;
	return false;
}

/* ---- on which lines, and under which heads ---- */

/* perf puts a metric after the event that the fewest metrics share, of those that are printed. */
static void choose_lines(struct stat_sheet *s)
{
	struct stat_shown *shown = s->shown;
	SCOPED(scoped_free) uint32_t *uses = memory_new(s->n_events, sizeof(*uses));

	for (uint32_t i = 0; i < s->n_heads; i++)
		for (uint32_t k = 0; k < shown[i].n_events; k++)
			uses[shown[i].events[k]]++;
	for (uint32_t i = 0; i < s->n_heads; i++) {
		uint32_t best = UINT32_MAX;

		for (uint32_t k = 0; k < shown[i].n_events; k++) {
			uint32_t at = shown[i].events[k];

			if (!s->event[at].hidden &&
			    (best == UINT32_MAX ||
			     array_order(uses[at], uses[best], rank_of(&s->event[at]), rank_of(&s->event[best])) < 0))
				best = at;
		}
		shown[i].event = best;
	}
}

static int by_event(const void *a, const void *b)
{
	const struct stat_shown *x = a, *y = b;

	return array_order(x->event, y->event, x->turn, y->turn);
}

/* A metric of several PMUs may stand after the first line of any, whatever of them a row has. */
static void index_heads(struct stat_sheet *s)
{
	uint32_t n = 0;

	if (s->n_heads)
		qsort(s->shown, s->n_heads, sizeof(*s->shown), by_event);
	s->first = memory_new((size_t)s->n_events + 2, sizeof(*s->first));
	for (uint32_t e = 0; e <= s->n_events; s->first[++e] = n)
		for (uint32_t i = 0; i < s->n_heads; i++) {
			const struct stat_shown *x = &s->shown[i];
			bool alone = e == s->n_events;

			if (alone ? x->event != UINT32_MAX :
				    x->event != e && !(x->of_pmus && !s->event[e].hidden && uses_event(x, e)))
				continue;
			memory_room(&s->behind, n, sizeof(*s->behind));
			s->behind[n++] = i;
		}
}

/* No two are the same, because they would be two members of one object: the event distinguishes them. */
static void write_heads(struct stat_sheet *s)
{
	struct stat_shown *shown = s->shown;

	for (uint32_t i = 0; i < s->n_heads; i++) {
		const struct stat_shown *x = &shown[i];

		shown[i].head = memory_format("%s%s%s%s%s",
					      x->rate                         ? "/sec " :
					      x->shadow && x->shadow->percent ? "%  " :
										"",
					      x->rate ? s->event[x->event].name : x->words, x->pmu ? " (" : "",
					      x->pmu ? x->pmu : "", x->pmu ? ")" : "");
	}
	for (uint32_t i = s->n_heads; i-- > 0;)
		for (uint32_t k = 0; k < i; k++)
			if (!strcmp(shown[k].head, shown[i].head)) {
				const struct stat_shown *x = &shown[i];
				const struct stat_event *ev = x->event < s->n_events ? &s->event[x->event] :
							      x->n_events            ? &s->event[x->events[0]] :
										       NULL;
				char *plain = x->head;

				shown[i].head = memory_format("%s %s", plain,
							      !ev        ? x->name :
							      ev->cgroup ? ev->cgroup :
									   ev->name);
				free(plain);
				break;
			}
}

const char *stat_head(const struct stat_sheet *s, uint32_t id)
{
	return s->shown[id].head;
}

static int find_metrics(struct stat_sheet *s, struct buf *notes, struct error *e)
{
	uint32_t n = s->n_events;
	const char *name;
	int err = 0;

	forget_metrics(s);
	s->asked = s->config->metrics.n > 0;
	for (size_t i = 0; i < s->config->metrics.n && !err; i++)
		err = add_words(s, s->config->metrics.word[i], notes, e);
	/* What was recorded for metrics shows them, as perf does that counts for them. */
	for (uint32_t i = 0; !s->asked && !err && (name = recorded_name(s->places->model, i)); i++)
		err = *name ? add_words(s, name, NULL, e) : 0;
	if (err)
		return err;
	s->asked |= s->n_heads > 0;
	if (s->asked)
		choose_lines(s);
	for (uint32_t i = 0; i < n && !s->asked; i++)
		add_choices(s, i);
	index_heads(s);
	write_heads(s);
	return 0;
}

/* ---- the engine's numbers ---- */

static int lay_out(void *ctx, uint32_t *rows)
{
	struct stat_sheet *s = ctx;
	int err = s->laid_out ? 0 : lay_out_lines(s, s->sink.notes, &s->sink.error);

	*rows = s->n_rows;
	return err;
}

static uint32_t row_in(void *ctx, uint32_t scope, uint32_t counter, const struct pm_instance *i)
{
	const struct stat_sheet *s = ctx;
	const struct pm_counter *c = pm_model_counter(s->places->model, counter);

	return programs_wanted(&s->config->programs, c) ? row_of(s, c, s->cgroup[scope], i) : PM_NONE;
}

static void plan_metrics(struct stat_sheet *s, struct sink_plan *plan)
{
	const struct binding *b = plan->binding;
	s->wish = (struct sheet_custom){ .ctx = s, .lay_out = lay_out, .row = row_in };
	s->wanted = memory_new(b->n_metrics, sizeof(*s->wanted));
	s->cgroup = memory_new(s->n_heads, sizeof(*s->cgroup));
	for (uint32_t i = 0; i < s->n_heads; i++) {
		const struct stat_shown *x = &s->shown[i];
		uint32_t scope = 0;

		while (scope < s->wish.scopes && s->cgroup[scope] != x->cgroup)
			scope++;
		s->cgroup[scope] = x->cgroup;
		s->wish.scopes += scope == s->wish.scopes;
		if (x->metric)
			s->wanted[x->metric - b->metric] = true;
	}
	if (s->n_heads)
		plan->sheet[plan->n_sheets++] = (struct sink_wish){ { .custom = &s->wish }, s->wanted };
}

static void shape_metrics(struct stat_sheet *s, const struct sheet *sheet, size_t n_sheets)
{
	free(s->answer);
	s->answer = memory_new((size_t)s->n_rows * s->n_heads, sizeof(*s->answer));
	for (size_t i = 0; i < (size_t)s->n_rows * s->n_heads; i++)
		s->answer[i].now = value_missing(VALUE_NO_INPUT);
	for (uint32_t r = 0; n_sheets && r < sheet->n_rows; r++)
		for (uint32_t k = 0; k < sheet->row[r].n_cells; k++)
			for (uint32_t i = 0; i < s->n_heads; i++) {
				const struct stat_shown *x = &s->shown[i];
				struct stat_answer *a = &s->answer[(size_t)(r % s->n_rows) * s->n_heads + i];

				if (x->metric == sheet->column[sheet->row[r].cell[k].column].metric &&
				    x->cgroup == s->cgroup[r / s->n_rows])
					a->row = r, a->at = k + 1;
			}
}

static void take_metrics(struct stat_sheet *s, const struct sheet *sheet, size_t k)
{
	for (size_t i = 0; i < (size_t)s->n_rows * s->n_heads; i++) {
		struct stat_answer *a = &s->answer[i];
		const struct sheet_cell *cell = a->at ? &sheet->row[a->row].cell[a->at - 1] : NULL;

		if (!cell)
			continue;
		a->now = cell->value[k];
		a->verdict = sheet_verdict(sheet, cell, k);
		s->doubtful |= !a->now.reason && sheet_quality(cell, k) == STATUS_DOUBTFUL;
	}
}

/* ---- values ---- */

static const struct stat_answer *answer_of(const struct stat_sheet *s, const struct stat_shown *x, uint32_t row)
{
	return &s->answer[(size_t)row * s->n_heads + (size_t)(x - s->shown)];
}

static void judge(const struct stat_sheet *s, const struct stat_shown *x, enum sheet_verdict verdict,
		  struct stat_metric *out)
{
	static const char *const color[] = {
		[SHADOW_LESS_GOOD] = "33", [SHADOW_NEARLY_BAD] = "35", [SHADOW_BAD] = "31"
	};
	enum shadow_level level;

	if (s->config->no_threshold)
		return;
	if (x->shadow) {
		level = shadow_judge(x->shadow, out->value);
		out->color = level == SHADOW_GOOD && x->shadow->lower ? "32" :
			     level <= SHADOW_BAD                      ? color[level] :
									NULL;
		return;
	}
	if (verdict != SHEET_UNJUDGED)
		out->threshold = verdict == SHEET_BAD ? "bad" : verdict == SHEET_GOOD ? "good" : "unknown";
	else if (x->judged)
		out->threshold = "unknown";
	if (out->threshold && !strcmp(out->threshold, "bad"))
		out->color = "31";
}

/* "1.732 K/sec": below a thousand of the largest unit that it reaches, or of the one unit. */
static bool take_rate(const struct stat_sheet *s, const struct stat_shown *x, const struct stat_line *l, bool scaled,
		      struct stat_metric *out)
{
	static const char *const units[] = { "/sec", "K/sec", "M/sec", "G/sec" };
	struct value clock = answer_of(s, x, l->row)->now;
	bool there = !l->now.reason && !clock.reason && clock.v > 0; /* ms of CPU time */
	double rate = there ? stat_value(&s->event[l->event], &l->now) / (clock.v / 1000) : 0, size = 1;
	size_t i = 0;

	for (; scaled && i < 3 && rate >= size * 1000; i++)
		size *= 1000;
	there = there && !isnan(rate);
	if (there)
		*out = (struct stat_metric){ .value = rate / size, .width = 8, .precision = 3, .unit = units[i] };
	return there;
}

/* Whether no earlier line of the row could be followed by the metric. */
static bool is_home(const struct stat_sheet *s, const struct stat_shown *x, const struct stat_line *l)
{
	for (uint32_t i = 0; i < x->n_events; i++) {
		const struct stat_line *other = stat_line_at(s, l->row, x->events[i]);

		if (other && !s->event[x->events[i]].hidden && !other->now.reason &&
		    rank_of(&s->event[other->event]) < rank_of(&s->event[l->event]))
			return false;
	}
	return true;
}

/* The formula of the counts in the lines of a row. */
static struct value of_lines(const struct stat_sheet *s, const struct stat_shown *x, uint32_t row)
{
	struct value in[SHADOW_INPUTS];

	for (uint32_t i = 0; i < x->metric->n_inputs; i++) {
		uint32_t event = x->feed[i];
		const struct stat_line *l = event == UINT32_MAX ? NULL : stat_line_at(s, row, event);

		in[i] = event == UINT32_MAX ? s->binding->input[x->metric->input[i]].more->value :
			!l || l->now.reason ? value_missing(l ? l->now.reason : VALUE_NO_INPUT) :
					      value_of(stat_value(&s->event[l->event], &l->now));
	}
	return expr_eval(x->metric->expr, in);
}

static void take_value(const struct stat_sheet *s, const struct stat_shown *x, uint32_t row, struct stat_metric *out)
{
	struct stat_answer engine = *answer_of(s, x, row);
	struct value v = x->fed ? of_lines(s, x, row) : engine.now;

	*out = (struct stat_metric){
		.value = v.reason ? (double)NAN : v.v,
		.reason = v.reason,
		.unit = x->words,
		.width = 8,
		.precision = 1,
	};
	if (x->shadow) {
		out->width = x->shadow->width;
		out->precision = x->shadow->decimals;
		out->percent = x->shadow->percent;
	} else if (x->of_pmus) {
		out->precision = x->precision;
		out->own = true;
	} else if (!strcmp(x->unit, "1")) {
		out->precision = 2;
	}
	judge(s, x, x->fed ? SHEET_UNJUDGED : engine.verdict, out);
}

size_t stat_metrics(const struct stat_sheet *s, uint32_t row, const struct stat_line *l,
		    struct stat_metric out[static STAT_METRICS])
{
	uint32_t event = l ? l->event : s->n_events;
	size_t n = 0;

	if (!s->n_heads || (l && l->now.reason && !s->asked))
		return 0;
	for (uint32_t i = s->first[event]; i < s->first[event + 1] && n < STAT_METRICS; i++) {
		const struct stat_shown *x = &s->shown[s->behind[i]];

		if (l && x->of_pmus && !is_home(s, x, l))
			continue;
		if (x->rate) {
			n += take_rate(s, x, l, true, &out[n]);
			continue;
		}
		/* If perf cannot compute a metric, it says so if it was requested, and prints nothing if it was its
		 * own choice. */
		take_value(s, x, row, &out[n]);
		n += !out[n].reason || s->asked;
	}
	return n;
}

bool stat_is_beside(const struct stat_sheet *s, const struct stat_event *e)
{
	return !s->asked && strstr(e->name, "topdown-");
}

bool stat_has_alone(const struct stat_sheet *s)
{
	/* Requesting only events implies these. */
	return s->first[s->n_events] < s->first[s->n_events + 1] && (s->config->metrics.n || !s->config->events.n);
}

void stat_metric_at(const struct stat_sheet *s, uint32_t row, uint32_t id, struct stat_metric *out)
{
	const struct stat_shown *x = &s->shown[id];
	const struct stat_line *l = x->rate ? stat_line_at(s, row, x->event) : NULL;

	*out = (struct stat_metric){ .value = (double)NAN, .reason = VALUE_NO_INPUT, .unit = "" };
	if (!x->rate)
		take_value(s, x, row, out);
	else if (l)
		take_rate(s, x, l, false, out);
}

/* ---- the sink ---- */

static void forget(struct stat_sheet *s)
{
	forget_layout(s);
	forget_events(s);
	forget_metrics(s);
	listed_release(&s->lost);
	listed_release(&s->lost_at);
	buf_release(&s->stamp);
	free(s->off);
	s->off = NULL;
	s->n_off = 0;
	free(s->run_wall);
	s->run_wall = NULL;
	s->n_runs = 0;
}

void stat_release(struct stat_sheet *s)
{
	forget(s);
	buf_release(&s->notes);
}

/* ---- intervals ---- */

static int plan(struct sink *sink, struct sink_plan *plan)
{
	struct stat_sheet *s = (struct stat_sheet *)sink;
	const struct places *places = plan->places;
	int err;

	s->begins = !s->replay;
	s->places = places;
	s->replay = plan->replay;
	/* perf prints a line per cgroup if metrics have columns. */
	for (uint32_t i = 0; i < places->model->n_instances && s->config->metric_only && s->aggr == STAT_GLOBAL; i++)
		if (cgroup_of(&places->model->instance[i]))
			s->aggr = STAT_CGROUP;
	s->system_wide = !strcmp(pm_map_text(&places->model->header, PM_HEADER_TARGET, ""), "system");
	/* Of runs without end perf prints each, without the command's own times. */
	s->each = !pm_map_u64(&places->model->header, PM_HEADER_RUNS, 1);
	s->runs = pm_map_u64(&places->model->header, PM_HEADER_RUNS, 1) != 1;
	s->binding = plan->binding;
	s->laid_out = s->shaped = false;
	if ((err = find_events(s, &sink->error)) || (err = find_metrics(s, sink->notes, &sink->error)))
		return err;
	if (!s->n_events && !s->n_heads && places->model->n_counters)
		return error_set(&sink->error, ENOENT,
				 "the recording has none of the events that these metrics need");
	for (uint32_t i = 0; i < s->n_events; i++)
		for (uint32_t k = 0; k < s->event[i].n_counters; k++)
			replay_want(s->replay, s->event[i].counter[k], 1u << TRACK_VALUE);
	plan_metrics(s, plan);
	return 0;
}

static int shape(struct sink *sink, const struct sheet *sheet, size_t n)
{
	struct stat_sheet *s = (struct stat_sheet *)sink;
	int err;

	if (!s->laid_out && (err = lay_out_lines(s, sink->notes, &sink->error)))
		return err;
	shape_metrics(s, sheet, n);
	s->shaped = true;
	stat_print_shape(s);
	return 0;
}

/* For how much of the interval events were disabled. */
static uint64_t off_ns(const struct stat_sheet *s, const struct interval *i)
{
	uint64_t sum = 0;

	for (size_t k = 0; k < s->n_off; k++) {
		uint64_t from = s->off[k].from_ns > i->from_ns ? s->off[k].from_ns : i->from_ns;
		uint64_t to = s->off[k].to_ns < i->to_ns ? s->off[k].to_ns : i->to_ns;

		sum += to > from ? to - from : 0;
	}
	return sum < i->to_ns - i->from_ns ? sum : i->to_ns - i->from_ns;
}

/* JSON has no comments. */
static void put_started(struct stat_sheet *s, const struct interval *i)
{
	time_t t = (time_t)((i->wall_ns - (int64_t)(i->to_ns - i->from_ns)) / 1000000000);
	char text[64];
	struct tm tm;

	if (i->wall_ns && localtime_r(&t, &tm) && strftime(text, sizeof(text), "%a %b %e %H:%M:%S %Y", &tm))
		buf_printf(s->text, "# started on %s\n\n", text);
}

static void one_interval(struct stat_sheet *s, const struct interval *i, size_t k)
{
	const struct stat_config *c = s->config;
	int64_t since = (int64_t)(i->to_ns - s->sink.origin_ns);
	uint64_t counted;

	s->off_ns = off_ns(s, i);
	/* pmrec omits most of the time with events disabled, and what it omitted is not part of the duration. */
	counted = i->to_ns - i->from_ns - s->off_ns;
	counted = counted < i->duration_ns ? counted : i->duration_ns;

	if (c->started && c->form != STAT_JSON && !s->intervals)
		put_started(s, i);
	s->intervals++;
	s->counted_ns += counted;
	s->seconds = (double)counted / 1e9;
	count_lines(s, k);
	if (c->intervals) {
		snprintf(s->time, sizeof(s->time), "%*" PRIu64 ".%09" PRIu64, c->form == STAT_CSV ? 6 : 0,
			 (uint64_t)since / 1000000000, (uint64_t)since % 1000000000);
		stat_print(s);
	} else if (s->runs) {
		/* The command's own time, if known, not that of the snapshots around it. */
		counted = s->elapsed_ns && !s->switched ? s->elapsed_ns : counted;
		s->seconds = (double)counted / 1e9;
		s->elapsed_ns = 0;
		s->user = s->each ? (struct stat_spread){ 0 } : s->user;
		if (s->each)
			stat_print(s);
		else
			add_run(s, (double)counted);
	}
	if (!s->runs || c->intervals)
		add_total(s);
}

static int intervals(struct sink *sink, const struct sheet *sheet, const struct interval *interval, size_t n)
{
	struct stat_sheet *s = (struct stat_sheet *)sink;
	int err = 0;

	for (size_t k = 0; k < n && !err; k++) {
		take_metrics(s, sheet, k);
		one_interval(s, &interval[k], k);
		if ((err = output_pace(s->out)))
			sink->error = s->out->error;
	}
	return err;
}

static void event(struct sink *sink, const struct pm_event *event)
{
	struct stat_sheet *s = (struct stat_sheet *)sink;
	bool off = s->n_off && s->off[s->n_off - 1].to_ns == UINT64_MAX;

	switch (event->type) {
	case PM_EVENT_CHILD_START:
		s->child = true;
		break;
	case PM_EVENT_CHILD_EXIT:
		s->child = true;
		s->elapsed_ns = pm_map_u64(&event->attrs, PM_EVENT_KEY_ELAPSED_NS, 0);
		stat_spread_add(&s->user, (double)pm_map_u64(&event->attrs, PM_EVENT_KEY_USER_NS, 0));
		stat_spread_add(&s->system, (double)pm_map_u64(&event->attrs, PM_EVENT_KEY_SYSTEM_NS, 0));
		break;
	case PM_EVENT_DISABLE:
		s->switched = true;
		if (off)
			break;
		memory_room(&s->off, s->n_off, sizeof(*s->off));
		s->off[s->n_off++] = (struct stat_off){ event->time_ns, UINT64_MAX };
		break;
	case PM_EVENT_ENABLE:
		s->switched = true;
		if (off)
			s->off[s->n_off - 1].to_ns = event->time_ns;
		break;
	default:
		break;
	}
}

static int end(struct sink *sink)
{
	struct stat_sheet *s = (struct stat_sheet *)sink;
	int err = 0;

	if (!s->replay)
		return 0;
	s->time[0] = '\0';
	/* There may have been no interval since the model grew. */
	if (s->intervals && !s->shaped && (err = shape(sink, NULL, 0)))
		return err;
	if (s->intervals && !s->each && (!s->config->intervals || s->config->summary)) {
		/* perf's CSV says so of any totals, if it was asked for them. */
		s->summing = s->config->intervals || (s->config->summary && s->config->form == STAT_CSV);
		s->seconds = (double)s->counted_ns / 1e9;
		if (s->n_runs) {
			take_means(s);
			s->seconds = s->wall.mean / 1e9;
		} else {
			/* For a command beside other things, clocks and counts cover a little more. */
			if (s->elapsed_ns && !s->switched && !s->config->window && !s->config->intervals &&
			    !strcmp(pm_map_text(&s->places->model->header, PM_HEADER_TARGET, ""), "command"))
				s->seconds = (double)s->elapsed_ns / 1e9;
			take_totals(s);
		}
		stat_print(s);
		s->summing = false;
	}
	note_lost(s);
	if (s->config->table && s->n_runs < 2)
		buf_addstr(&s->notes, "--table: the recording has only one run\n");
	forget(s);
	s->replay = NULL;
	s->intervals = s->counted_ns = s->elapsed_ns = 0;
	s->user = s->system = s->wall = (struct stat_spread){ 0 };
	s->child = s->switched = false;
	if ((err = output_flush(s->out)))
		sink->error = s->out->error;
	return err;
}

/* For the summary after intervals, and the means of runs. */
static int totals(struct sink *sink, const struct sheet *sheet, const struct interval *interval, size_t n)
{
	struct stat_sheet *s = (struct stat_sheet *)sink;
	int err = s->shaped ? 0 : shape(sink, sheet, 1);

	if (n && !err)
		take_metrics(s, sheet, n - 1);
	return err;
}

static const struct sink_ops ops = {
	.counts = true,
	.plan = plan,
	.shape = shape,
	.intervals = intervals,
	.totals = totals,
	.event = event,
	.end = end,
};

void stat_init(struct stat_sheet *s, const struct stat_config *config, struct output *out)
{
	*s = (struct stat_sheet){ .sink = { .ops = &ops,
					    .recording = "",
					    .whole = config->intervals && !config->summary ? SINK_NO_TOTALS :
											     SINK_ALL_RUNS },
				  .config = config,
				  .aggr = config->aggr,
				  .out = out,
				  .text = &out->text };
}
