/* Which events are printed, and which counters are one event. */
#include <errno.h>
#include <linux/perf_event.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/catalog/pmu_class.h"
#include "common/event/event.h"
#include "common/options.h"
#include "common/parse.h"
#include "report/stat/stat_shadow.h"

/* ---- names ---- */

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
	memcpy(base, name, len);
	base[len] = '\0';
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

/* The cgroups in which a counter was counted, as numbers; 0 is among them if it was also counted elsewhere, or
 * nowhere. */
static int cgroups_of(const struct stat_sheet *s, uint32_t counter, struct cpulist *found)
{
	const struct pm_model *m = s->places->model;
	bool any = false;
	int err = 0;

	for (uint32_t i = 0; i < m->n_instances && !any; i++)
		any = stat_cgroup_of(&m->instance[i]) != 0;
	for (uint32_t i = 0; any && i < m->n_groups && !err; i++) {
		const struct pm_group *g = &m->group[i];

		for (uint32_t v = 0; v < pm_group_values(g) && !err; v++) {
			const struct pm_instance *in;

			if (pm_group_counter_of(g, v) != counter)
				continue;
			in = pm_model_instance(m, pm_group_instance_of(g, v));
			if (in && !(found->n && cpulist_has(found, stat_cgroup_of(in))))
				err = cpulist_add(found, stat_cgroup_of(in));
		}
	}
	return err || found->n ? err : cpulist_add(found, 0);
}

bool stat_wants_cgroup(const struct stat_config *config, const char *cgroup)
{
	for (size_t i = 0; cgroup && i < config->cgroups.n; i++)
		if (!fnmatch(config->cgroups.word[i], cgroup, 0))
			return true;
	return !config->cgroups.n;
}

static bool has_cgroup(const struct stat_sheet *s, const struct pm_counter *c, uint32_t number)
{
	const char *cgroup =
		number ? cgroup_name(s->places->model, number) : pm_map_text(&c->attrs, PM_COUNTER_PERF_CGROUP, NULL);

	return number == PM_NONE || stat_wants_cgroup(s->config, cgroup);
}

/* Sets chosen[counter id]. */
static int choose_named(struct stat_sheet *s, bool *chosen, struct error *e)
{
	const struct pm_model *m = s->places->model;
	const struct stat_words *w = &s->config->events;

	for (size_t i = 0; i < w->n; i++) {
		const char *near = NULL;
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
		names = calloc((size_t)m->n_counters + 1, sizeof(*names));
		for (uint32_t k = 0; names && k < m->n_counters; k++)
			if (is_count(&m->counter[k]))
				names[n++] = m->counter[k].display;
		near = names ? options_nearest(w->word[i], names, n) : NULL;
		error_set(e, ENOENT, "-e: the recording has no event '%s'%s%s%s", w->word[i],
			  near ? "; did you mean '" : "", near ? near : " (pmrep list events lists them)",
			  near ? "'?" : "");
		return -ENOENT;
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
	const struct pm_pmu *pmu = stat_pmu(s, name);

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

	if (stat_programs_same(a, b))
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
	struct buf name = BUF_INIT;

	if (user && (is_hybrid(s, pmu) || (begins && strcspn(user, "*?[") < words)))
		buf_addstr(&name, user);
	else if (begins)
		buf_printf(&name, "%.*s%s", odd_class(pmu) ? 64 : (int)stem_len(pmu),
			   odd_class(pmu) ? odd_class(pmu)->name : pmu, c->display + len);
	else
		buf_addstr(&name, c->display);
	return buf_detach(&name);
}

/* ---- the list ---- */

static void describe(const struct stat_sheet *s, struct stat_event *ev, const struct pm_counter *c)
{
	double mul = (double)c->scale.num, div = (double)(c->scale.den ? c->scale.den : 1);

	if (c->scale.text && parse_double(c->scale.text, &mul))
		mul = 1;
	/* 1e-6 is not exactly a double, 1000000 is: dividing gives the right digits. */
	if (mul > 1e-15 && mul < 1 && mul == 1 / (double)(uint64_t)(1 / mul + 0.5)) {
		div = (double)(uint64_t)(1 / mul + 0.5);
		mul = 1;
	}
	ev->first = c;
	ev->order = c->id;
	ev->mul = mul;
	ev->div = div;
	ev->fraction = floor(mul / div) != mul / div;
	ev->unit = c->unit && strcmp(c->unit, "1") ? event_unit_perf(c->unit) : "";
	ev->cgroup = pm_map_text(&c->attrs, PM_COUNTER_PERF_CGROUP, NULL);
	ev->per_pkg = pm_map_bool(&c->attrs, PM_COUNTER_PERF_PER_PKG, false);
	ev->percore = pm_map_bool(&c->attrs, PM_COUNTER_PERF_PERCORE, false);
	ev->asked = pm_map_bool(&c->attrs, PM_COUNTER_REQUESTED, false);
	ev->invalid = (uint16_t)pm_map_u64(&c->attrs, PM_COUNTER_PERF_INVALID, 0);
}

static int add_counter(struct stat_event *ev, uint32_t id)
{
	if (array_room(&ev->counter, ev->n_counters, sizeof(*ev->counter)))
		return -ENOMEM;
	ev->counter[ev->n_counters++] = id;
	return 0;
}

static int new_event(struct stat_sheet *s, const struct pm_counter *c, uint32_t cgroup)
{
	struct stat_event *ev = realloc(s->event, (s->n_events + 1) * sizeof(*ev));
	struct buf name = BUF_INIT;
	uint64_t config;
	char plain[64];
	int err;

	if (!ev)
		return -ENOMEM;
	s->event = ev;
	ev = &s->event[s->n_events];
	*ev = (struct stat_event){ 0 };
	describe(s, ev, c);
	ev->in_cgroup = cgroup;
	if (cgroup && cgroup != PM_NONE)
		ev->cgroup = cgroup_name(s->places->model, cgroup);
	buf_addstr(&name, c->display);
	/* perf does not name the modes that were requested of events of caches. */
	snprintf(plain, sizeof(plain), "%.*s", (int)strcspn(c->display, ":"), c->display);
	if (ev->asked && !event_symbol_find(plain) && !event_cache_parse(plain, &config))
		name.len = strlen(plain);
	if (s->config->no_merge)
		stat_programs_put(c, &name);
	ev->name = buf_detach(&name);
	s->n_events++;
	err = add_counter(ev, c->id);
	return ev->name ? err : -ENOMEM;
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

static int add_event(struct stat_sheet *s, const struct pm_counter *c, uint32_t cgroup, bool hidden)
{
	const struct pm_value *wildcard = pm_map_get(&c->attrs, PM_COUNTER_PERF_WILDCARD);
	SCOPED(buf_release) struct buf words = BUF_INIT;
	uint32_t last = PM_NONE, found = PM_NONE;
	struct stat_event *ev;
	int err;

	buf_printf(&words, "%llu %u %d %s", (unsigned long long)pm_map_u64(&c->attrs, PM_COUNTER_PERF_WILDCARD, 0),
		   cgroup, hidden, after_pmu(c));
	if (words.err)
		return words.err;
	if (names_get(&s->known, buf_str(&words), &last) && wildcard)
		found = event_with(s, c, last);
	if (found == PM_NONE) {
		err = new_event(s, c, cgroup);
		if (err)
			return err;
		s->event[s->n_events - 1].before = last + 1;
		return names_set(&s->known, buf_str(&words), s->n_events - 1);
	}
	ev = &s->event[found];
	if (ev->n_counters == 1) {
		char *name = merged_name(s, c);

		if (!name)
			return -ENOMEM;
		free(ev->name);
		ev->name = name;
	}
	/* One that could be opened is enough. */
	if (!pm_map_get(&c->attrs, PM_COUNTER_PERF_INVALID))
		ev->invalid = 0;
	return add_counter(ev, c->id);
}

int64_t stat_event_of(struct stat_sheet *s, uint32_t counter, uint32_t cgroup)
{
	const struct pm_counter *c = pm_model_counter(s->places->model, counter);
	uint32_t before = s->n_events;
	int err;

	for (uint32_t i = 0; i < s->n_events; i++)
		for (uint32_t k = 0; k < s->event[i].n_counters; k++)
			if (s->event[i].counter[k] == counter && s->event[i].in_cgroup == cgroup)
				return i;
	if ((err = add_event(s, c, cgroup, true)))
		return err;
	if (s->n_events > before)
		s->event[before].hidden = true;
	return stat_event_of(s, counter, cgroup);
}

void stat_events_release(struct stat_sheet *s)
{
	for (uint32_t i = 0; i < s->n_events; i++) {
		free(s->event[i].name);
		free(s->event[i].counter);
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
static int add_chosen(struct stat_sheet *s, bool *chosen)
{
	const struct pm_model *m = s->places->model;
	SCOPED(cpulist_release) struct cpulist all = { 0 };
	SCOPED(scoped_free) struct cpulist *in = calloc((size_t)m->n_counters + 1, sizeof(*in));
	uint32_t first = s->n_events;
	int err = in ? 0 : -ENOMEM;
	bool each = false;

	for (uint32_t i = 0; i < m->n_counters && !err; i++) {
		chosen[m->counter[i].id] =
			chosen[m->counter[i].id] && stat_programs_wanted(&s->config->programs, &m->counter[i]);
		if (!chosen[m->counter[i].id])
			continue;
		err = cgroups_of(s, m->counter[i].id, &in[i]);
		for (size_t k = 0; k < in[i].n && !err && !is_invalid(&m->counter[i]); k++)
			err = cpulist_add(&all, in[i].cpu[k]);
		each |= in[i].n > 1;
	}
	/* What could not be opened could not be opened in any cgroup. */
	for (uint32_t i = 0; i < m->n_counters && !err; i++) {
		if (!chosen[m->counter[i].id] || !is_invalid(&m->counter[i]))
			continue;
		if (all.n && each && !cpulist_has(&all, 0))
			in[i].n = 0;
		for (size_t k = 0; k < all.n && each && !err; k++)
			err = cpulist_has(&in[i], all.cpu[k]) ? 0 : cpulist_add(&in[i], all.cpu[k]);
		for (size_t k = 0; k < in[i].n && !each && !err; k++)
			err = cpulist_has(&all, in[i].cpu[k]) ? 0 : cpulist_add(&all, in[i].cpu[k]);
	}
	for (size_t k = 0; k < all.n && !err; k++)
		for (uint32_t i = 0; i < m->n_counters && !err; i++) {
			bool any = s->config->aggr == STAT_CGROUP;
			uint32_t cgroup = any ? PM_NONE : all.cpu[k];

			if (!chosen[m->counter[i].id] || (any ? k > 0 : !cpulist_has(&in[i], cgroup)))
				continue;
			if (has_cgroup(s, &m->counter[i], cgroup))
				err = add_event(s, &m->counter[i], cgroup, false);
		}
	/* With -G each event has its own cgroup, or an empty one, and its place. */
	for (uint32_t i = first; i < s->n_events && !each && !err; i++) {
		s->event[i].placed = true;
		if (!s->event[i].in_cgroup && all.n > 1)
			s->event[i].cgroup = "";
	}
	for (uint32_t i = 0; in && i < m->n_counters; i++)
		cpulist_release(&in[i]);
	return err;
}

int stat_events_find(struct stat_sheet *s, struct buf *notes, struct error *e)
{
	const struct pm_model *m = s->places->model;
	SCOPED(scoped_free) bool *chosen = calloc((size_t)m->n_counters + 1, sizeof(*chosen));
	int err = 0;

	stat_events_release(s);
	if (!chosen || stat_know_pmus(s))
		return error_sys(e, ENOMEM, "events");
	if (s->config->events.n)
		err = choose_named(s, chosen, e);
	else if (!s->config->metrics.n || s->config->all_events || s->config->detailed)
		choose_default(s, chosen);
	if (!err && (err = add_chosen(s, chosen)))
		error_sys(e, -err, "events");
	if (!err && !s->n_events && !s->config->metrics.n && m->n_counters)
		err = error_set(
			e, ENOENT,
			s->config->programs.n ?
				"no event of that BPF program was recorded" :
			s->config->cgroups.n ?
				"no event of that cgroup was recorded" :
				"no perf event was recorded; -e takes other counters, which pmrep list shows");
	return err;
}
