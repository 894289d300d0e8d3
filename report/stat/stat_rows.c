/* What is printed: which counters are one event, which places have rows, and which columns a line sums up. */
#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/catalog/pmu_class.h"
#include "common/event/event.h"
#include "common/memory.h"
#include "common/options.h"
#include "common/parse.h"
#include "report/stat/stat.h"

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

/* ---- lists of the command line ---- */

void stat_words_release(struct stat_words *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->word[i]);
	free(w->word);
	*w = (struct stat_words){ 0 };
}

void stat_words_add(struct stat_words *w, const char *list)
{
	const char *start = list, *c = list;
	bool inside = false;

	for (;; c++) {
		if (*c == '/')
			inside = !inside;
		if (*c && (*c != ',' || inside))
			continue;
		while (*start == '{' || *start == ' ')
			start++;
		size_t len = (size_t)(c - start);
		const char *brace = memchr(start, '}', len);

		if (brace)
			len = (size_t)(brace - start);
		if (len) {
			memory_room(&w->word, w->n, sizeof(*w->word));
			w->word[w->n++] = memory_checked(strndup(start, len));
		}
		if (!*c)
			break;
		start = c + 1;
	}
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

bool stat_programs_wanted(const struct stat_words *wanted, const struct pm_counter *c)
{
	unsigned long program = program_of(c);

	for (size_t i = 0; i < wanted->n && program; i++)
		if (program == strtoul(wanted->word[i], NULL, 10))
			return true;
	return !wanted->n;
}

bool stat_programs_list(const struct stat_sheet *s, struct buf *out)
{
	const struct pm_model *m = s->places->model;
	unsigned long last = 0;

	/* Programs are counted one after the other. */
	for (uint32_t i = 0; i < m->n_counters; i++) {
		unsigned long program = program_of(&m->counter[i]);

		if (!program || program == last || !stat_programs_wanted(&s->config->programs, &m->counter[i]))
			continue;
		buf_printf(out, "%s%lu", last ? "," : "", program);
		last = program;
	}
	return last;
}

/* ---- PMUs ---- */

/* Their places in the model, under keys that no words of an event are; the first of a name counts. */
static void know_pmus(struct stat_sheet *s)
{
	const struct pm_model *m = s->places->model;

	for (uint32_t i = m->n_pmus; i--;) {
		SCOPED(scoped_free)
		char *key = memory_format("pmu %s", pm_map_text(&m->pmu[i].attrs, PM_PMU_NAME, ""));

		memory_done(names_set(&s->known, key, i));
	}
}

/* NULL: the recording says nothing of it. */
static const struct pm_pmu *pmu_named(const struct stat_sheet *s, const char *name)
{
	SCOPED(scoped_free) char *key = memory_format("pmu %s", name);
	uint32_t i;

	return names_get(&s->known, key, &i) ? &s->places->model->pmu[i] : NULL;
}

bool stat_is_uncore(const struct stat_sheet *s, const struct pm_counter *c)
{
	const struct pm_pmu *pmu = pmu_named(s, pm_map_text(&c->attrs, PM_COUNTER_PERF_PMU, ""));

	return pmu && pm_map_get(&pmu->attrs, PM_PMU_CPUMASK);
}

const char *stat_core_pmu(const struct stat_sheet *s, const struct pm_counter *c)
{
	const char *name = pm_map_text(&c->attrs, PM_COUNTER_PERF_PMU, NULL);
	const struct pm_pmu *pmu = name ? pmu_named(s, name) : NULL;

	return name && (!strcmp(name, "cpu_core") || !strcmp(name, "cpu_atom") ||
			(pmu && pm_map_get(&pmu->attrs, PM_PMU_CPUS))) ?
		       name :
		       NULL;
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

	if (slash && !stat_is_uncore(s, c))
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

const char *stat_cgroup_name(const struct pm_instance *i)
{
	return pm_map_text(&i->attrs, PM_INSTANCE_CGROUP, pm_map_text(&i->attrs, PM_INSTANCE_NAME, "cgroup"));
}

static const char *cgroup_name(const struct pm_model *m, uint32_t number)
{
	for (uint32_t i = 0; i < m->n_instances; i++)
		if (stat_cgroup_of(&m->instance[i]) == number)
			return stat_cgroup_name(&m->instance[i]);
	return NULL;
}

/* The cgroups in which counters were counted, as numbers, by counter id; 0 is among them if it was also counted
 * elsewhere, or nowhere. */
static void find_cgroups(const struct pm_model *m, const bool *chosen, struct cpulist *in)
{
	bool any = false;

	for (uint32_t i = 0; i < m->n_instances && !any; i++)
		any = stat_cgroup_of(&m->instance[i]) != 0;
	for (uint32_t i = 0; any && i < m->n_groups; i++)
		for (uint32_t v = 0; v < pm_group_values(&m->group[i]); v++) {
			uint32_t counter = pm_group_counter_of(&m->group[i], v);
			const struct pm_instance *on = pm_model_instance(m, pm_group_instance_of(&m->group[i], v));

			if (chosen[counter] && on)
				memory_done(cpulist_add(&in[counter], stat_cgroup_of(on)));
		}
	for (uint32_t i = 0; i < m->n_counters; i++)
		if (!in[m->counter[i].id].n)
			memory_done(cpulist_add(&in[m->counter[i].id], 0));
}

bool stat_wants_cgroup(const struct stat_config *config, const char *cgroup)
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
				 near ? "; did you mean '" : "", near ? near : " (pmrep list events lists them)",
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
	const struct pm_pmu *pmu = pmu_named(s, name);

	return !strcmp(name, "cpu_core") || !strcmp(name, "cpu_atom") ||
	       (pmu && pm_map_get(&pmu->attrs, PM_PMU_CPUS) && strcmp(name, "cpu"));
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

uint32_t stat_event_of(struct stat_sheet *s, uint32_t counter, uint32_t cgroup)
{
	for (uint32_t i = 0; i < s->n_events; i++)
		for (uint32_t k = 0; k < s->event[i].n_counters; k++)
			if (s->event[i].counter[k] == counter && s->event[i].in_cgroup == cgroup)
				return i;
	return add_event(s, pm_model_counter(s->places->model, counter), cgroup, true);
}

void stat_events_release(struct stat_sheet *s)
{
	for (uint32_t i = 0; i < s->n_events; i++) {
		free(s->event[i].name);
		free(s->event[i].counter);
		buf_release(&s->event[i].written);
	}
	free(s->event);
	names_release(&s->known);
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
			    (any || stat_wants_cgroup(s->config, name)))
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

int stat_events_find(struct stat_sheet *s, struct error *e)
{
	const struct pm_model *m = s->places->model;
	SCOPED(scoped_free) bool *chosen = memory_new((size_t)m->n_counters + 1, sizeof(*chosen));
	int err = 0;

	stat_events_release(s);
	know_pmus(s);
	for (uint32_t i = 0; i < m->n_instances; i++)
		if (stat_cgroup_of(&m->instance[i]) > CPULIST_MAX)
			return error_sys(e, ERANGE, "events");
	if (s->config->events.n)
		err = choose_named(s, chosen, e);
	else if (!s->config->metrics.n || s->config->all_events || s->config->detailed)
		choose_default(s, chosen);
	if (err)
		return err;
	for (uint32_t i = 0; i < m->n_counters; i++)
		chosen[m->counter[i].id] &= stat_programs_wanted(&s->config->programs, &m->counter[i]);
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
		buf_addstr(out, stat_cgroup_name(i));
}

/* ---- rows ---- */

static const struct pm_cpu *cpu_of(const struct stat_sheet *s, const struct pm_instance *i)
{
	return i->kind == PM_CPU ? places_cpu(s->places, i->number) :
	       i->cpu != PM_NONE ? places_cpu(s->places, i->cpu) :
				   NULL;
}

static bool has_id(const struct stat_ids *ids, uint64_t wanted)
{
	for (size_t i = 0; i < ids->n; i++)
		if (ids->id[i] == wanted)
			return true;
	return false;
}

/* Whether what an instance counted is wanted, of an event in that cgroup. */
static bool is_wanted(const struct stat_sheet *s, const struct pm_instance *i, uint32_t cgroup)
{
	const struct stat_config *c = s->config;
	uint32_t cpu = i->kind == PM_CPU ? i->number : i->kind == PM_TASK ? PM_NONE : i->cpu;

	if (cgroup != PM_NONE && cgroup != stat_cgroup_of(i))
		return false;
	if (c->cpus.n && cpu != PM_NONE && !cpulist_has(&c->cpus, cpu))
		return false;
	if (s->aggr == STAT_CGROUP && i->kind == PM_CGROUP && !stat_wants_cgroup(c, stat_cgroup_name(i)))
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

uint32_t stat_row_of(const struct stat_sheet *s, const struct pm_counter *c, uint32_t cgroup,
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
					 .order = { rank_first ? stat_rank(ev) : r, rank_first ? r : stat_rank(ev) },
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

void stat_forget_layout(struct stat_sheet *s)
{
	for (uint32_t i = 0; i < s->n_rows; i++) {
		free(s->row[i].label);
		buf_release(&s->row[i].written);
		buf_release(&s->row[i].cgroup);
	}
	for (uint32_t i = 0; i < s->n_lines; i++)
		buf_release(&s->line[i].history);
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
		l->history = was->history;
		was->history = (struct buf)BUF_INIT;
		keep_unseen(s, l, old->column + was->first, was->n);
	}
}

int stat_lay_out(struct stat_sheet *s, struct buf *notes, struct error *e)
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
	stat_forget_layout(&old);
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
