/*
 * The metrics after the lines: which there are, those of -M or perf's own choice for an event, and their values,
 * which come from the engine at the rows of the lines.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/event/event.h"
#include "common/metric/shadow.h"
#include "common/options.h"
#include "common/memory.h"
#include "report/metric/select.h"
#include "report/stat/stat.h"

#define SHADOW_INPUTS 8 /* of the formula of a struct shadow */

/* A metric that is printed. */
struct shown {
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
struct answer {
	uint32_t row, at; /* of the sheet, and the cell in it + 1; 0: nothing feeds it there */
	struct value now; /* of the current interval, or the total */
	enum sheet_verdict verdict;
};

struct stat_shadow {
	struct shown *shown; /* owned, ordered by event; stat.n_heads of them */
	uint32_t *behind;    /* owned: places in shown[] of what may follow the lines of an event, by event */
	uint32_t *first;     /* owned: into behind, by event; then those on lines of their own, and their end */
	/* What is asked of the engine, once for each cgroup with events of the metric. */
	struct sheet_custom rows;
	bool *asked;           /* owned: by metric of the binding */
	uint32_t *cgroup;      /* owned: by scope */
	struct answer *answer; /* owned: row by row */
	uint32_t n_rows;
};

void stat_shadow_release(struct stat_sheet *s)
{
	struct stat_shadow *sh = s->shadow;

	for (uint32_t i = 0; i < s->n_heads; i++) {
		free(sh->shown[i].events);
		free(sh->shown[i].words);
		free(sh->shown[i].head);
	}
	s->n_heads = 0;
	if (!sh)
		return;
	free(sh->shown);
	free(sh->behind);
	free(sh->first);
	free(sh->asked);
	free(sh->cgroup);
	free(sh->answer);
	free(sh);
	s->shadow = NULL;
}

/* Takes what the other owns. */
static void add_shown(struct stat_sheet *s, struct shown *what)
{
	memory_room(&s->shadow->shown, s->n_heads, sizeof(*what));
	what->turn = s->n_heads;
	s->shadow->shown[s->n_heads++] = *what;
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

static bool uses_event(const struct shown *x, uint32_t event)
{
	uint32_t i = 0;

	while (i < x->n_events && x->events[i] != event)
		i++;
	return i < x->n_events;
}

/* Adds the event of a counter to those that the metric uses. */
static void add_event(struct stat_sheet *s, struct shown *x, uint32_t counter)
{
	uint32_t event = stat_event_of(s, counter, x->cgroup);

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
static void take_metric(struct stat_sheet *s, struct shown *x, const struct bound_metric *m)
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

			if (has_line(c) && stat_programs_wanted(&s->config->programs, c))
				add_event(s, x, c->id);
		}
	}
}

/* ---- -M: metrics of tables and vendors' files ---- */

/* Adds a metric to those that are printed, once its events are known. */
static void finish(struct stat_sheet *s, struct shown *x, const char *display, const char *categories)
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
	struct shown what = { .cgroup = cgroup, .pmu = m->about->pmu };

	for (uint32_t i = 0; i < s->n_heads; i++)
		if (s->shadow->shown[i].metric == m && s->shadow->shown[i].cgroup == cgroup)
			return;
	take_metric(s, &what, m);
	finish(s, &what, m->display, m->about->categories);
}

/* If its events could not be opened it has no number, and says so in their place. False: some were not requested. */
static bool add_refused(struct stat_sheet *s, const struct metric *row, uint32_t cgroup)
{
	struct shown what = { .cgroup = cgroup,
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
			add_event(s, &what, counter);
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
		const struct shown *x = &s->shadow->shown[i];

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
		if (stat_cgroup_of(&m->instance[i]) &&
		    stat_wants_cgroup(s->config, stat_cgroup_name(&m->instance[i])))
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
static void add_rate(struct stat_sheet *s, uint32_t event)
{
	const struct stat_event *ev = &s->event[event];
	struct shown what = { .event = event, .cgroup = ev->in_cgroup, .rate = true };
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
		struct shown what = { .event = event, .shadow = row };
		const struct bound_metric *m;

		ev = &s->event[event];
		what.cgroup = ev->in_cgroup;
		what.pmu = ev->n_counters > 1 ? NULL : stat_core_pmu(s, ev->first);
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
	struct shown *shown = s->shadow->shown;
	SCOPED(scoped_free) uint32_t *uses = memory_new(s->n_events, sizeof(*uses));

	for (uint32_t i = 0; i < s->n_heads; i++)
		for (uint32_t k = 0; k < shown[i].n_events; k++)
			uses[shown[i].events[k]]++;
	for (uint32_t i = 0; i < s->n_heads; i++) {
		uint32_t best = UINT32_MAX;

		for (uint32_t k = 0; k < shown[i].n_events; k++) {
			uint32_t at = shown[i].events[k];

			if (!s->event[at].hidden &&
			    (best == UINT32_MAX || array_order(uses[at], uses[best], stat_rank(&s->event[at]),
							       stat_rank(&s->event[best])) < 0))
				best = at;
		}
		shown[i].event = best;
	}
}

static int by_event(const void *a, const void *b)
{
	const struct shown *x = a, *y = b;

	return array_order(x->event, y->event, x->turn, y->turn);
}

/* A metric of several PMUs may stand after the first line of any, whatever of them a row has. */
static void index_lines(struct stat_sheet *s)
{
	struct stat_shadow *sh = s->shadow;
	uint32_t n = 0;

	if (s->n_heads)
		qsort(sh->shown, s->n_heads, sizeof(*sh->shown), by_event);
	sh->first = memory_new((size_t)s->n_events + 2, sizeof(*sh->first));
	for (uint32_t e = 0; e <= s->n_events; sh->first[++e] = n)
		for (uint32_t i = 0; i < s->n_heads; i++) {
			const struct shown *x = &sh->shown[i];
			bool alone = e == s->n_events;

			if (alone ? x->event != UINT32_MAX :
				    x->event != e && !(x->of_pmus && !s->event[e].hidden && uses_event(x, e)))
				continue;
			memory_room(&sh->behind, n, sizeof(*sh->behind));
			sh->behind[n++] = i;
		}
}

/* No two are the same, because they would be two members of one object: the event distinguishes them. */
static void write_heads(struct stat_sheet *s)
{
	struct shown *shown = s->shadow->shown;

	for (uint32_t i = 0; i < s->n_heads; i++) {
		const struct shown *x = &shown[i];

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
				const struct shown *x = &shown[i];
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
	return s->shadow->shown[id].head;
}

int stat_shadow_bind(struct stat_sheet *s, struct buf *notes, struct error *e)
{
	uint32_t n = s->n_events;
	const char *name;
	int err = 0;

	stat_shadow_release(s);
	s->shadow = memory_new(1, sizeof(*s->shadow));
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
	index_lines(s);
	write_heads(s);
	return 0;
}

/* ---- the engine's numbers ---- */

static int lay_out(void *ctx, uint32_t *rows)
{
	struct stat_sheet *s = ctx;
	int err = s->laid_out ? 0 : stat_lay_out(s, s->sink.notes, &s->sink.error);

	*rows = s->n_rows;
	return err;
}

static uint32_t row_in(void *ctx, uint32_t scope, uint32_t counter, const struct pm_instance *i)
{
	const struct stat_sheet *s = ctx;
	const struct pm_counter *c = pm_model_counter(s->places->model, counter);

	return stat_programs_wanted(&s->config->programs, c) ? stat_row_of(s, c, s->shadow->cgroup[scope], i) :
							       PM_NONE;
}

void stat_shadow_plan(struct stat_sheet *s, struct sink_plan *plan)
{
	const struct binding *b = plan->binding;
	struct stat_shadow *sh = s->shadow;

	sh->rows = (struct sheet_custom){ .ctx = s, .lay_out = lay_out, .row = row_in };
	sh->asked = memory_new(b->n_metrics, sizeof(*sh->asked));
	sh->cgroup = memory_new(s->n_heads, sizeof(*sh->cgroup));
	for (uint32_t i = 0; i < s->n_heads; i++) {
		const struct shown *x = &sh->shown[i];
		uint32_t scope = 0;

		while (scope < sh->rows.scopes && sh->cgroup[scope] != x->cgroup)
			scope++;
		sh->cgroup[scope] = x->cgroup;
		sh->rows.scopes += scope == sh->rows.scopes;
		if (x->metric)
			sh->asked[x->metric - b->metric] = true;
	}
	if (s->n_heads)
		plan->sheet[plan->n_sheets++] = (struct sink_wish){ { .custom = &sh->rows }, sh->asked };
}

void stat_shadow_shape(struct stat_sheet *s, const struct sheet *sheet, size_t n_sheets)
{
	struct stat_shadow *sh = s->shadow;

	free(sh->answer);
	sh->n_rows = s->n_rows;
	sh->answer = memory_new((size_t)sh->n_rows * s->n_heads, sizeof(*sh->answer));
	for (size_t i = 0; i < (size_t)sh->n_rows * s->n_heads; i++)
		sh->answer[i].now = value_missing(VALUE_NO_INPUT);
	for (uint32_t r = 0; n_sheets && r < sheet->n_rows; r++)
		for (uint32_t k = 0; k < sheet->row[r].n_cells; k++)
			for (uint32_t i = 0; i < s->n_heads; i++) {
				const struct shown *x = &sh->shown[i];
				struct answer *a = &sh->answer[(size_t)(r % sh->n_rows) * s->n_heads + i];

				if (x->metric == sheet->column[sheet->row[r].cell[k].column].metric &&
				    x->cgroup == sh->cgroup[r / sh->n_rows])
					a->row = r, a->at = k + 1;
			}
}

void stat_shadow_take(struct stat_sheet *s, const struct sheet *sheet, size_t k)
{
	for (size_t i = 0; i < (size_t)s->shadow->n_rows * s->n_heads; i++) {
		struct answer *a = &s->shadow->answer[i];
		const struct sheet_cell *cell = a->at ? &sheet->row[a->row].cell[a->at - 1] : NULL;

		if (!cell)
			continue;
		a->now = cell->value[k];
		a->verdict = sheet_verdict(sheet, cell, k);
		s->doubtful |= !a->now.reason && sheet_quality(cell, k) == STATUS_DOUBTFUL;
	}
}

/* ---- values ---- */

static const struct answer *answer_of(const struct stat_sheet *s, const struct shown *x, uint32_t row)
{
	return &s->shadow->answer[(size_t)row * s->n_heads + (size_t)(x - s->shadow->shown)];
}

static void judge(const struct stat_sheet *s, const struct shown *x, enum sheet_verdict verdict,
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
static bool take_rate(const struct stat_sheet *s, const struct shown *x, const struct stat_line *l, bool scaled,
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
static bool is_home(const struct stat_sheet *s, const struct shown *x, const struct stat_line *l)
{
	for (uint32_t i = 0; i < x->n_events; i++) {
		const struct stat_line *other = stat_line_at(s, l->row, x->events[i]);

		if (other && !s->event[x->events[i]].hidden && !other->now.reason &&
		    stat_rank(&s->event[other->event]) < stat_rank(&s->event[l->event]))
			return false;
	}
	return true;
}

/* The formula of the counts in the lines of a row. */
static struct value of_lines(const struct stat_sheet *s, const struct shown *x, uint32_t row)
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

static void take_value(const struct stat_sheet *s, const struct shown *x, uint32_t row, struct stat_metric *out)
{
	struct answer engine = *answer_of(s, x, row);
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

size_t stat_shadow(const struct stat_sheet *s, const struct stat_line *l, struct stat_metric out[static STAT_METRICS])
{
	const struct stat_shadow *sh = s->shadow;
	size_t n = 0;

	if (!s->n_heads || (l->now.reason && !s->asked))
		return 0;
	for (uint32_t i = sh->first[l->event]; i < sh->first[l->event + 1] && n < STAT_METRICS; i++) {
		const struct shown *x = &sh->shown[sh->behind[i]];

		if (x->of_pmus && !is_home(s, x, l))
			continue;
		if (x->rate) {
			n += take_rate(s, x, l, true, &out[n]);
			continue;
		}
		/* If perf cannot compute a metric, it says so if it was requested, and prints nothing if it was its
		 * own choice. */
		take_value(s, x, l->row, &out[n]);
		n += !out[n].reason || s->asked;
	}
	return n;
}

bool stat_is_beside(const struct stat_sheet *s, const struct stat_event *e)
{
	return !s->asked && strstr(e->name, "topdown-");
}

size_t stat_shadow_alone(const struct stat_sheet *s, uint32_t row, struct stat_metric out[static STAT_METRICS])
{
	const struct stat_shadow *sh = s->shadow;
	size_t n = 0;

	for (uint32_t i = sh->first[s->n_events]; i < sh->first[s->n_events + 1] && n < STAT_METRICS; i++)
		take_value(s, &sh->shown[sh->behind[i]], row, &out[n++]);
	return n;
}

bool stat_shadow_has_alone(const struct stat_sheet *s)
{
	const struct stat_shadow *sh = s->shadow;

	/* Requesting only events implies these. */
	return sh->first[s->n_events] < sh->first[s->n_events + 1] && (s->config->metrics.n || !s->config->events.n);
}

void stat_shadow_cell(const struct stat_sheet *s, uint32_t row, uint32_t id, struct stat_metric *out)
{
	const struct shown *x = &s->shadow->shown[id];
	const struct stat_line *l = x->rate ? stat_line_at(s, row, x->event) : NULL;

	*out = (struct stat_metric){ .value = (double)NAN, .reason = VALUE_NO_INPUT, .unit = "" };
	if (!x->rate)
		take_value(s, x, row, out);
	else if (l)
		take_rate(s, x, l, false, out);
}
