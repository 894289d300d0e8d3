/*
 * Which metrics stand after the lines without being requested: rates and ratios of perf's own choice for an
 * event.
 */
#include "report/metric/recorded_metrics.h"
#include "report/stat/stat_shadow.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/event/event.h"
#include "report/metric/meaning.h"

void stat_shadow_release(struct stat_sheet *s)
{
	struct stat_shadow *sh = s->shadow;

	if (!sh)
		return;
	for (uint32_t i = 0; i < sh->n; i++) {
		free(sh->shown[i].events);
		free(sh->shown[i].words);
	}
	free(sh->shown);
	free(sh->behind);
	free(sh->first);
	free(sh);
	s->shadow = NULL;
}

/* ---- finding ---- */

/* A key that no words of an event are. */
static void pmu_key(struct buf *key, const char *name)
{
	buf_clear(key);
	buf_printf(key, "pmu %s", name);
}

const struct pm_pmu *stat_pmu(const struct stat_sheet *s, const char *name)
{
	SCOPED(buf_release) struct buf key = BUF_INIT;
	uint32_t i;

	pmu_key(&key, name);
	return names_get(&s->known, buf_str(&key), &i) ? &s->places->model->pmu[i] : NULL;
}

int stat_know_pmus(struct stat_sheet *s)
{
	const struct pm_model *m = s->places->model;
	SCOPED(buf_release) struct buf key = BUF_INIT;
	int err = 0;

	/* The first of a name counts. */
	for (uint32_t i = m->n_pmus; i-- && !err;) {
		pmu_key(&key, pm_map_text(&m->pmu[i].attrs, PM_PMU_NAME, ""));
		err = key.err ? key.err : names_set(&s->known, buf_str(&key), i);
	}
	return err;
}

bool stat_is_uncore(const struct stat_sheet *s, const struct pm_counter *c)
{
	const struct pm_pmu *pmu = stat_pmu(s, pm_map_text(&c->attrs, PM_COUNTER_PERF_PMU, ""));

	return pmu && pm_map_get(&pmu->attrs, PM_PMU_CPUMASK);
}

const char *stat_core_pmu(const struct stat_sheet *s, const struct pm_counter *c)
{
	const char *name = pm_map_text(&c->attrs, PM_COUNTER_PERF_PMU, NULL);
	const struct pm_pmu *pmu = name ? stat_pmu(s, name) : NULL;

	return name && (!strcmp(name, "cpu_core") || !strcmp(name, "cpu_atom") ||
			(pmu && pm_map_get(&pmu->attrs, PM_PMU_CPUS))) ?
		       name :
		       NULL;
}

static bool attr_of(const struct stat_sheet *s, const struct pm_counter *c, uint32_t *type, uint64_t *config)
{
	const struct pm_value *v = pm_map_get(&c->attrs, PM_COUNTER_PERF_ATTR);

	if (!v || v->kind != PM_VALUE_BYTES || v->str.len < 16)
		return false;
	*type = (uint32_t)meaning_attr(s->places->model, c, 0, 4);
	*config = meaning_attr(s->places->model, c, 8, 8);
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
	if (stat_is_uncore(s, ev->first))
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
static int add_rate(struct stat_sheet *s, uint32_t event)
{
	const struct stat_event *ev = &s->event[event];
	struct shown *shown;
	uint32_t clock, k = 0;

	while (k < ev->n_counters && s->places->kind[ev->counter[k]] == PM_KINDS)
		k++;
	if (k == ev->n_counters)
		return 0;
	if (!bind_counters(&s->binding->index, "task-clock", &clock, 1) &&
	    !bind_counters(&s->binding->index, "cpu-clock", &clock, 1))
		return 0;
	for (size_t i = 0; i < s->binding->n_metrics; i++) {
		if (s->binding->metric[i].counter != clock)
			continue;
		if (!(shown = stat_shown_add(s->shadow)))
			return -ENOMEM;
		shown->event = event;
		shown->metric = &s->binding->metric[i];
		shown->cgroup = ev->in_cgroup;
		shown->rate = true;
		return 0;
	}
	return 0;
}

/* What an attr leaves out of user, kernel, hypervisor, idle and host. */
static uint64_t left_out(const struct stat_sheet *s, const struct pm_counter *c)
{
	/* Bits 4 to 7 and 19, from the one end of the word or the other. */
	bool little = pm_map_bool(&s->places->model->header, PM_HEADER_LITTLE_ENDIAN, true);

	return meaning_attr(s->places->model, c, 40, 8) & (little ? 0x800f0 : UINT64_C(0xf00100000000000));
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
static bool choose_mode(const struct stat_sheet *s, struct shown *x)
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

/* Shows one more metric: all of `what` is set but the metric itself; the words go over. Nothing if what the formula
 * needs was not recorded. */
static int add_shown(struct stat_sheet *s, struct shown what, const char *name)
{
	const struct stat_event *ev = &s->event[what.event];
	const struct bound_metric *m;
	struct shown *shown;
	int err;

	what.cgroup = ev->in_cgroup;
	what.pmu = ev->n_counters > 1 ? NULL : stat_core_pmu(s, ev->first);
	m = stat_metric_named(s, name, what.pmu);
	err = !what.words ? -ENOMEM : m ? stat_take_metric(s, &what, m) : -ENOENT;
	if (!err && what.shadow && !choose_mode(s, &what))
		err = -ENOENT;
	if (!err && (shown = stat_shown_add(s->shadow))) {
		*shown = what;
		return 0;
	}
	free(what.events);
	free(what.words);
	return err == -ENOENT ? 0 : -ENOMEM;
}

static int metrics_of(struct stat_sheet *s, uint32_t event)
{
	const struct shadow *row = NULL;
	char name[64];
	uint32_t type;
	uint64_t config;
	size_t n;
	bool own;
	int err = 0;

	plain_name(s, &s->event[event], name, &type, &config);
	/* perf knows events by type and config: not those of PMUs, nor of one kind of CPUs. */
	own = type > PERF_TYPE_HW_CACHE ? event_symbol_find(name) != NULL : config >> 32 != 0;
	n = own ? 0 : shadow_find(type, config, name, &row);
	/* perf spells this one in two ways. */
	s->event[event].unfed = !n ? NULL : strcmp(row->label, "GHz") ? row->label : "Ghz";
	for (size_t i = 0; i < n && !err; i++)
		err = add_shown(s, (struct shown){ .event = event, .shadow = &row[i], .words = strdup(row[i].label) },
				row[i].metric);
	if (n || err)
		return err;
	return add_rate(s, event);
}

/* ---- all of them ---- */

static int by_event(const void *a, const void *b)
{
	const struct shown *x = a, *y = b;

	return array_order(x->event, y->event, x->turn, y->turn);
}

static int by_place_behind(const void *a, const void *b)
{
	const struct behind *x = a, *y = b;

	return array_order(x->event, y->event, x->shown, y->shown);
}

/* A metric of several PMUs may stand after the first line of any, whatever of them a row has. */
static int find_behind(const struct stat_sheet *s)
{
	struct stat_shadow *sh = s->shadow;
	size_t most = 0;

	for (uint32_t i = 0; i < sh->n; i++)
		most += 1 + (sh->shown[i].of_pmus ? sh->shown[i].n_events : 0);
	sh->behind = calloc(most + 1, sizeof(*sh->behind));
	if (!sh->behind)
		return -ENOMEM;
	for (uint32_t i = 0; i < sh->n; i++) {
		const struct shown *x = &sh->shown[i];

		sh->behind[sh->n_behind++] = (struct behind){ x->event, i };
		for (uint32_t k = 0; x->of_pmus && k < x->n_events; k++)
			if (!s->event[x->events[k]].hidden && x->events[k] != x->event)
				sh->behind[sh->n_behind++] = (struct behind){ x->events[k], i };
	}
	qsort(sh->behind, sh->n_behind, sizeof(*sh->behind), by_place_behind);
	return 0;
}

static int index_events(struct stat_sheet *s)
{
	struct stat_shadow *sh = s->shadow;
	uint32_t at = 0;

	for (uint32_t i = 0; i < sh->n; i++)
		sh->shown[i].turn = i;
	if (sh->n)
		qsort(sh->shown, sh->n, sizeof(*sh->shown), by_event);
	if (find_behind(s))
		return -ENOMEM;
	sh->n_first = s->n_events;
	sh->first = calloc((size_t)s->n_events + 1, sizeof(*sh->first));
	if (!sh->first)
		return -ENOMEM;
	for (uint32_t i = 0; i <= s->n_events; i++) {
		while (at < sh->n_behind && sh->behind[at].event < i)
			at++;
		sh->first[i] = at;
	}
	return 0;
}

/* perf puts a metric after the event that the fewest metrics share. */
static int choose_lines(struct stat_sheet *s)
{
	struct stat_shadow *sh = s->shadow;
	SCOPED(scoped_free) uint32_t *uses = calloc((size_t)s->n_events + 1, sizeof(*uses));

	if (!uses)
		return -ENOMEM;
	for (uint32_t i = 0; i < sh->n; i++)
		for (uint32_t k = 0; k < sh->shown[i].n_events; k++)
			uses[sh->shown[i].events[k]]++;
	for (uint32_t i = 0; i < sh->n; i++)
		sh->shown[i].event = stat_home(s, &sh->shown[i], uses);
	return 0;
}

bool stat_may_show(const struct metric *row)
{
	for (const struct shadow *x = shadows; x->event; x++)
		if (x->metric[0] == row->name[0] && !strcmp(x->metric, row->name))
			return true;
	return false;
}

int stat_shadow_bind(struct stat_sheet *s, struct buf *notes, struct error *e)
{
	uint32_t n = s->n_events;
	bool asked = s->config->metrics.n > 0;
	const char *name;
	int err = 0;

	stat_shadow_release(s);
	s->shadow = calloc(1, sizeof(*s->shadow));
	if (!s->shadow)
		return error_sys(e, ENOMEM, "metrics");
	for (size_t i = 0; i < s->config->metrics.n && !err; i++)
		if ((err = stat_metrics_add(s, s->config->metrics.word[i], notes, e)))
			return err;
	/* What was recorded for metrics shows them, as perf does that counts for them. */
	for (uint32_t i = 0; !asked && !err && (name = recorded_name(s->places->model, i)); i++)
		if (*name && (err = stat_metrics_add(s, name, NULL, e)))
			return err;
	asked |= s->shadow->n > 0;
	s->shadow->asked = asked;
	if (asked && choose_lines(s))
		return error_sys(e, ENOMEM, "metrics");
	for (uint32_t i = 0; i < n && !err && !asked; i++)
		err = metrics_of(s, i);
	err = err ? err : index_events(s);
	return err ? error_sys(e, -err, "metrics") : 0;
}
