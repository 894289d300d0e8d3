/* Turns a parsed list into events with attr words: names are looked up in the view; terms are fixed keys, aliases of
 * sysfs and format fields. */
#include <errno.h>
#include <fnmatch.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/cpulist.h"
#include "common/event/class_pmu.h"
#include "common/event/event.h"
#include "common/memory.h"
#include "common/parse.h"

struct resolver {
	const struct event_list *list;
	const struct event_view *view;
	struct event_set *set;
	struct buf *notes;
	struct error *e;
	const struct event_node *node; /* being resolved */
	uint32_t wildcard;             /* number for what it expands to; 0: it cannot be several */
};

/* ---- fixed keys ---- */

enum fixed_effect {
	FIXED_CONFIG, /* config word `n` */
	FIXED_NAME,
	FIXED_METRIC_ID,
	FIXED_PERCORE,
	FIXED_INHERIT, /* `n` */
	FIXED_CPU,
	FIXED_LEGACY,   /* an event of the general type `n`, asked of this PMU */
	FIXED_SAMPLING, /* affects sampling, not counting */
};

static const struct fixed_key {
	const char *key;
	enum fixed_effect effect;
	int n;
} fixed_keys[] = {
	{ "config", FIXED_CONFIG, 0 },
	{ "config1", FIXED_CONFIG, 1 },
	{ "config2", FIXED_CONFIG, 2 },
	{ "config3", FIXED_CONFIG, 3 },
	{ "config4", FIXED_CONFIG, 4 },
	{ "name", FIXED_NAME },
	{ "metric-id", FIXED_METRIC_ID },
	{ "percore", FIXED_PERCORE },
	{ "inherit", FIXED_INHERIT, 1 },
	{ "no-inherit", FIXED_INHERIT, 0 },
	{ "cpu", FIXED_CPU },
	{ "legacy-hardware-config", FIXED_LEGACY, 0 },
	{ "legacy-cache-config", FIXED_LEGACY, 3 },
	{ "ratio-to-prev", FIXED_SAMPLING },
	{ "period", FIXED_SAMPLING },
	{ "freq", FIXED_SAMPLING },
	{ "branch_type", FIXED_SAMPLING },
	{ "time", FIXED_SAMPLING },
	{ "call-graph", FIXED_SAMPLING },
	{ "stack-size", FIXED_SAMPLING },
	{ "max-stack", FIXED_SAMPLING },
	{ "nr", FIXED_SAMPLING },
	{ "overwrite", FIXED_SAMPLING },
	{ "no-overwrite", FIXED_SAMPLING },
	{ "aux-output", FIXED_SAMPLING },
	{ "aux-action", FIXED_SAMPLING },
	{ "aux-sample-size", FIXED_SAMPLING },
};
#define N_FIXED (sizeof(fixed_keys) / sizeof(fixed_keys[0]))

/* The row of the key, or NULL. */
static const struct fixed_key *fixed_key(const char *key)
{
	for (size_t i = 0; i < N_FIXED; i++)
		if (!strcmp(fixed_keys[i].key, key))
			return &fixed_keys[i];
	return NULL;
}

static void set_text(char **to, const char *from)
{
	free(*to);
	*to = memory_text(from);
}

/* "column N: ..." for the place `column` (from 0). Returns -number. */
static int resolve_fail(struct resolver *r, int number, uint32_t column, const char *format, ...)
{
	char text[300];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	return error_set(r->e, number, "column %u: %s", column + 1, text);
}

static int need_value(struct resolver *r, const struct event_term *t, bool number)
{
	if (number ? t->is_number : t->value != NULL)
		return 0;
	return resolve_fail(r, EINVAL, t->column, "the term \"%s\" needs a %s", t->key, number ? "number" : "value");
}

/* A second cpu= adds to the first. */
static void add_cpus(struct event *ev, const char *list)
{
	char *before = ev->cpus;

	ev->cpus = before ? memory_format("%s,%s", before, list) : memory_text(list);
	free(before);
}

static size_t core_pmus(const struct event_view *v, const struct event_pmu **first)
{
	size_t n = 0;

	*first = NULL;
	for (size_t i = 0; i < v->n_pmus; i++)
		if (v->pmu[i].core && !n++)
			*first = &v->pmu[i];
	return n;
}

/* If there are several kinds of cores, a general event has its PMU's type in the upper half of its config. */
static uint64_t general_pmu(const struct resolver *r, const struct event_pmu *pmu)
{
	const struct event_pmu *first;

	return pmu && pmu->core && core_pmus(r->view, &first) > 1 ? (uint64_t)pmu->type << 32 : 0;
}

static int apply_fixed(struct resolver *r, struct event *ev, const struct event_pmu *pmu, const struct event_term *t,
		       const struct fixed_key *fixed)
{
	const struct event_pmu *of;
	struct cpulist cpus = { 0 };
	struct error ignored;
	int err = 0;

	switch (fixed->effect) {
	case FIXED_CONFIG:
		err = need_value(r, t, true);
		if (!err)
			ev->config[fixed->n] = t->number;
		return err;
	case FIXED_NAME:
		err = need_value(r, t, false);
		ev->named = true;
		if (!err)
			set_text(&ev->display, t->value);
		return err;
	case FIXED_METRIC_ID:
		err = need_value(r, t, false);
		if (!err)
			set_text(&ev->metric_id, t->value);
		return err;
	case FIXED_PERCORE:
		ev->percore = !t->value || (t->is_number && t->number);
		return 0;
	case FIXED_INHERIT:
		ev->inherit = (int8_t)(t->is_number && !t->number ? !fixed->n : fixed->n);
		return 0;
	case FIXED_CPU:
		err = need_value(r, t, false);
		if (err)
			return err;
		/* The comma separates terms here, so this is a number, a range, or the PMU whose CPUs are meant. */
		of = event_pmu_named(r->view->pmu, r->view->n_pmus, t->value);
		if (of) {
			add_cpus(ev, of->cpus ? of->cpus : "0-65535");
			return 0;
		}
		err = cpulist_parse(&cpus, t->value, false, &ignored);
		cpulist_release(&cpus);
		if (err)
			return resolve_fail(r, EINVAL, t->column,
					    "\"%s\" is neither a CPU nor a range of CPUs nor a PMU", t->value);
		add_cpus(ev, t->value);
		return 0;
	case FIXED_LEGACY:
		err = need_value(r, t, true);
		if (!err) {
			ev->type = (uint32_t)fixed->n;
			ev->config[0] = t->number | general_pmu(r, pmu);
		}
		return err;
	case FIXED_SAMPLING:
		return 0;
	}
	return 0;
}

/* ---- aliases and format fields ---- */

static int apply_format(struct resolver *r, struct event *ev, const struct event_pmu *pmu, const char *format,
			const struct event_term *t)
{
	uint64_t max = 0;
	int err;

	if (t->value && !t->is_number)
		return resolve_fail(r, EINVAL, t->column, "the term \"%s\" of %s needs a number, not \"%.40s\"",
				    t->key, pmu->name, t->value);
	err = event_format_pack(format, t->value ? t->number : 1, ev->config, &max);
	if (err == -ERANGE)
		return resolve_fail(r, EINVAL, t->column,
				    "%s=0x%llx is too big for %s (%.60s), the maximum is 0x%llx", t->key,
				    (unsigned long long)t->number, pmu->name, format, (unsigned long long)max);
	if (err)
		return resolve_fail(r, EINVAL, t->column,
				    "the kernel describes \"%s\" of %s as \"%.60s\", which is not known", t->key,
				    pmu->name, format);
	return 0;
}

static int unknown_term(struct resolver *r, const struct event_pmu *pmu, const struct event_term *t)
{
	struct nearest near = { .word = t->key };
	char hint[256];
	size_t own;

	for (size_t i = 0; pmu && i < pmu->n_formats; i++)
		nearest_offer(&near, pmu->format[i].name);
	for (size_t i = 0; pmu && i < pmu->n_aliases; i++)
		nearest_offer(&near, pmu->alias[i].name);
	own = near.len;
	for (size_t i = 0; i < N_FIXED; i++)
		nearest_offer(&near, fixed_keys[i].key);
	near.len = own;
	return resolve_fail(r, EINVAL, t->column, "%s%s has no term or event \"%.60s\"%s", pmu ? "" : "the event ",
			    pmu ? pmu->name : r->node->name, t->key,
			    nearest_text(&near, "it has", hint, sizeof(hint)));
}

/* Applies one term that is not an alias. */
static int apply(struct resolver *r, struct event *ev, const struct event_pmu *pmu, const struct event_term *t)
{
	const char *format;
	uint64_t raw;

	if (t->driver)
		return resolve_fail(r, EINVAL, t->column, "@%s configures a driver for tracing, not for counting",
				    t->key);
	if (fixed_key(t->key))
		return apply_fixed(r, ev, pmu, t, fixed_key(t->key));
	if (pmu && pmu->ruled) {
		struct error rule = { 0 };
		int taken = class_pmu_term(pmu, t, ev->config, r->notes, &rule);

		if (taken)
			return taken > 0 ? 0 : resolve_fail(r, -taken, t->column, "%s", rule.text);
	}
	format = event_pmu_format(pmu, t->key);
	if (format)
		return apply_format(r, ev, pmu, format, t);
	if (pmu && !t->value && t->key[0] == 'r' &&
	    !parse_u64_span(t->key + (t->key[1] == '0' && t->key[2] == 'x' ? 3 : 1),
			    strlen(t->key + (t->key[1] == '0' && t->key[2] == 'x' ? 3 : 1)), 16, &raw)) {
		ev->config[0] = raw;
		return 0;
	}
	return unknown_term(r, pmu, t);
}

static bool has_key(const struct event_node *n, const char *key)
{
	for (size_t i = 0; i < n->n_terms; i++)
		if (!strcmp(n->term[i].key, key) && n->term[i].value)
			return true;
	return false;
}

static int apply_alias(struct resolver *r, struct event *ev, const struct event_pmu *pmu, const struct event_alias *a,
		       const struct event_term *t)
{
	struct event_term *terms = NULL;
	struct error inner = { 0 };
	int n = event_terms_parse(&terms, a->text, &inner), err = n < 0 ? n : 0;

	if (n < 0)
		return resolve_fail(r, EINVAL, t->column, "cannot parse the kernel's text for %s/%s/: %.100s",
				    pmu->name, a->name, inner.text);
	for (int i = 0; i < n && !err; i++) {
		struct event_term inherited = terms[i];

		/* "core=?" must be given by the user; older kernels write "$core". */
		if (terms[i].value && (terms[i].value[0] == '?' || terms[i].value[0] == '$')) {
			if (!has_key(r->node, terms[i].key))
				err = resolve_fail(r, EINVAL, t->column, "%s/%s/ needs the term \"%s=...\"",
						   pmu->name, a->name, terms[i].key);
			continue;
		}
		inherited.column = t->column;
		err = apply(r, ev, pmu, &inherited);
	}
	event_terms_free(terms, (size_t)n);
	if (!err && a->scale)
		set_text(&ev->scale, a->scale);
	if (!err && a->unit)
		set_text(&ev->unit, a->unit);
	ev->per_pkg |= a->per_pkg;
	ev->snapshot |= a->snapshot;
	return err;
}

/* Whether it is a general event requested from one PMU: "cpu_core/cycles/", "software/cs/". */
static bool is_legacy(const struct event_pmu *pmu, const char *name, const struct event_symbol **s, uint64_t *config)
{
	*s = pmu ? event_symbol_find(name) : NULL;
	if (*s)
		return (*s)->type == 0 ? pmu->core : pmu->type == 1;
	return pmu && pmu->core && !event_cache_parse(name, config);
}

static void apply_legacy(struct resolver *r, struct event *ev, const struct event_pmu *pmu, const char *name)
{
	const struct event_symbol *s;
	uint64_t config = 0;

	is_legacy(pmu, name, &s, &config);
	ev->type = s ? s->type : 3;
	ev->config[0] = (s ? s->config : config) | general_pmu(r, pmu);
	if (s && s->scale)
		set_text(&ev->scale, s->scale);
	if (s && s->unit)
		set_text(&ev->unit, s->unit);
	ev->kernel_only = s && s->kernel_only;
}

/* Does the term say what is counted, as against what it is called and how it would be sampled? */
static bool resolve_term_counts(const struct event_term *t)
{
	const struct fixed_key *fixed = fixed_key(t->key);

	return !fixed ||
	       (fixed->effect != FIXED_NAME && fixed->effect != FIXED_METRIC_ID && fixed->effect != FIXED_SAMPLING);
}

/* Applies the node's terms to ev, which has its PMU (NULL: none) and what its name said. */
static int resolve_terms(struct resolver *r, struct event *ev, const struct event_pmu *pmu)
{
	const struct event_node *n = r->node;
	int err = 0;

	/* Event names come first, so that the user's terms override theirs wherever they stand. */
	for (int names = 1; names >= 0 && !err; names--)
		for (size_t i = 0; i < n->n_terms && !err; i++) {
			const struct event_term *t = &n->term[i];
			bool plain = !t->value && !t->driver;
			const struct event_alias *a = plain ? event_pmu_alias(pmu, t->key, strlen(t->key)) : NULL;
			const struct event_symbol *s;
			uint64_t config;
			bool legacy =
				plain && !a && !event_pmu_format(pmu, t->key) && is_legacy(pmu, t->key, &s, &config);

			if (a && names)
				err = apply_alias(r, ev, pmu, a, t);
			else if (legacy && names)
				apply_legacy(r, ev, pmu, t->key);
			else if (!a && !legacy && !names)
				err = apply(r, ev, pmu, t);
			if (!names && fixed_key(t->key) && fixed_key(t->key)->effect == FIXED_SAMPLING)
				buf_printf(r->notes, "%.60s in \"%.*s\" applies to sampling only, and is ignored\n",
					   t->key, (int)(n->end - n->column), r->list->text + n->column);
		}
	if (!err && pmu && pmu->ruled) {
		struct error rule = { 0 };

		err = class_pmu_finish(pmu, ev->config, r->notes, &rule);
		if (err)
			err = resolve_fail(r, -err, n->column, "%s", rule.text);
	}
	return err;
}

/* The events that a list resolves to: texts, groups, release. */

void event_release(struct event *ev)
{
	free(ev->name);
	free(ev->display);
	free(ev->text);
	free(ev->pmu);
	free(ev->scale);
	free(ev->unit);
	free(ev->cpus);
	free(ev->metric_id);
	free(ev->group_name);
}

void event_set_release(struct event_set *set)
{
	for (size_t i = 0; i < set->n; i++)
		event_release(&set->event[i]);
	free(set->event);
	*set = (struct event_set){ 0 };
}

/* Modifiers after a canonical text: "cycles:u", "cpu/cycles/u". Owned. */
static char *resolve_with_mods(const char *body, uint32_t mods)
{
	struct buf b = BUF_INIT;
	size_t len = strlen(body);

	/* These concern the whole group, not the event. */
	mods &= ~(uint32_t)(EVENT_MOD_WEAK | EVENT_MOD_NO_REGROUP);
	buf_addstr(&b, body);
	if (mods && body[len - 1] != '/')
		buf_addch(&b, ':');
	event_mods_print(mods, &b);
	return memory_checked(buf_detach(&b));
}

void event_set_mods(struct event *ev, uint32_t mods)
{
	SCOPED(scoped_free) char *body = ev->name;

	body[ev->body] = '\0';
	ev->name = resolve_with_mods(body, mods);
	ev->mods = mods;
}

/* Modifiers of the node, with those that its group hands down. */
static uint32_t resolve_mods(const struct resolver *r)
{
	const uint32_t of_leader = EVENT_MOD_PINNED | EVENT_MOD_EXCLUSIVE;
	const struct event_node *n = r->node;
	const struct event_group *g = n->group == EVENT_NONE ? NULL : &r->list->group[n->group];

	if (!g)
		return n->mods & ~(uint32_t)EVENT_MOD_WEAK;
	return n->mods | (g->first == (uint32_t)(n - r->list->node) ? g->mods : g->mods & ~of_leader);
}

#define HARMLESS (EVENT_MOD_WEAK | EVENT_MOD_SAMPLE_READ | EVENT_MOD_NO_REGROUP)

/* The text for one of several PMUs or events that the user's text stands for: the terms after the PMU's name, if they
 * name one event. */
static char *expanded_text(const struct event *ev)
{
	const char *terms = strchr(ev->text, '/');

	if (!terms || strpbrk(terms, "*?[") || !*ev->pmu || strncmp(ev->name, ev->pmu, strlen(ev->pmu)) || ev->mods)
		return memory_text(ev->name);
	return memory_format("%s%s", ev->pmu, terms);
}

/* Appends the event, which it takes over in any case, with the texts that are still missing: `body` is the
 * canonical text without modifiers; `expanded`: its display name cannot be what the user wrote. */
static int resolve_add(struct resolver *r, struct event *ev, const char *body, bool expanded)
{
	const struct event_node *n = r->node;
	struct event_set *set = r->set;

	/* A group passes its modifiers on to the members that they concern. */
	if (ev->type == EVENT_TYPE_TOOL && (n->mods & ~(uint32_t)HARMLESS || ev->cpus || ev->percore))
		goto tool_mods;
	if (n->mods & EVENT_MOD_WEAK)
		buf_printf(r->notes, "W applies to groups, and \"%.*s\" is not one\n", (int)(n->end - n->column),
			   r->list->text + n->column);
	ev->mods = resolve_mods(r);
	ev->parsed = set->parsed;
	ev->wildcard = r->wildcard;
	ev->group = n->group == EVENT_NONE ? 0 : 1; /* numbered once all members are known */
	if (n->group != EVENT_NONE && r->list->group[n->group].name)
		ev->group_name = memory_text(r->list->group[n->group].name);
	ev->body = strlen(body);
	ev->name = resolve_with_mods(body, ev->mods);
	ev->text = memory_format("%.*s", (int)(n->end - n->column), r->list->text + n->column);
	if (!ev->display)
		ev->display = expanded ? expanded_text(ev) : memory_text(ev->text);
	if (set->n >= EVENT_LIST_MAX) {
		event_release(ev);
		return resolve_fail(r, E2BIG, n->column, "this makes more than %d events", EVENT_LIST_MAX);
	}
	memory_room(&set->event, set->n, sizeof(*set->event));
	set->event[set->n++] = *ev;
	return 0;
tool_mods:
	event_release(ev);
	return resolve_fail(
		r, EINVAL, n->column,
		"pmrec counts %.60s itself, for the whole machine: modifiers, cpu and percore do not apply", body);
}

/* Whether the two may be read together: software events with any event, all others only with events of their own PMU.
 */
static bool same_group(const struct event *a, const struct event *b)
{
	if (a->pmu_index == b->pmu_index && !strcmp(a->pmu, b->pmu))
		return true;
	return (!a->core && !a->uncore) || (!b->core && !b->uncore);
}

/* Numbers the groups of the events from `start` on, which all come from one pair of braces. A member on another PMU
 * is grouped with the others of that PMU, so that each PMU that a wildcard matches has its own group. */
static int resolve_groups(struct resolver *r, size_t start, const struct event_group *g)
{
	struct event_set *set = r->set;
	uint32_t base = set->groups;

	for (size_t i = start; i < set->n; i++)
		set->event[i].group = 0;
	for (size_t i = start; i < set->n; i++) {
		struct event *ev = &set->event[i];

		for (size_t k = start; k < i && !ev->group; k++) {
			const struct event *other = &set->event[k];
			bool fits = true;

			for (size_t m = start; m < i && fits; m++)
				fits = set->event[m].group != other->group || same_group(&set->event[m], ev);
			if (fits)
				ev->group = other->group;
		}
		if (!ev->group)
			ev->group = ++set->groups;
	}
	if (set->groups == base + 1)
		return 0;
	for (size_t i = start; i < set->n; i++)
		if (set->event[i].wildcard)
			return 0; /* one group per PMU is what was requested */
	for (size_t i = start; i < set->n; i++) {
		uint32_t pmu = set->event[i].pmu_index;

		if (pmu != EVENT_NONE && r->view->pmu[pmu].ruled)
			return resolve_fail(r, EINVAL, r->list->node[g->first].column,
					    "the events of a group must be of one PMU: %s does not count with others",
					    set->event[i].pmu);
	}
	buf_printf(r->notes,
		   "the group {%.*s} spans PMUs that cannot be counted together; it is split into %u groups\n",
		   (int)(r->list->node[g->first + g->n - 1].end - r->list->node[g->first].column),
		   r->list->text + r->list->node[g->first].column, (unsigned)(set->groups - base));
	return 0;
}

/* On a PMU; NULL: there is none, but it would have the name. */
static struct event new_event(const struct resolver *r, const struct event_pmu *pmu, const char *name, uint32_t type)
{
	return (struct event){ .pmu = memory_text(pmu ? pmu->name : name),
			       .pmu_index = pmu ? (uint32_t)(pmu - r->view->pmu) : EVENT_NONE,
			       .type = type,
			       .inherit = -1,
			       .core = pmu && pmu->core,
			       .uncore = pmu && pmu->uncore };
}

/* Applies the terms of the node; without them the event is released. */
static int take_terms(struct resolver *r, struct event *ev, const struct event_pmu *pmu)
{
	int err = resolve_terms(r, ev, pmu);

	if (err)
		event_release(ev);
	return err;
}

/* Completes an event whose terms have been applied; its text is `stem` and the terms that decide what is counted. */
static int finish_event(struct resolver *r, struct event *ev, const char *stem, bool slashes, bool expanded)
{
	SCOPED(buf_release) struct buf body = BUF_INIT;
	bool any = false;

	buf_addstr(&body, stem);
	for (size_t i = 0; i < r->node->n_terms; i++) {
		const struct event_term *t = &r->node->term[i];

		if (!resolve_term_counts(t))
			continue;
		/* "cpu_core/cycles/" can take more terms. */
		if (!any && body.len && body.data[body.len - 1] == '/') {
			body.len--;
			buf_addch(&body, ',');
		} else {
			buf_addch(&body, any ? ',' : '/');
		}
		any = true;
		buf_addstr(&body, t->key);
		if (t->is_number && strcmp(t->key, "cpu"))
			buf_printf(&body, "=0x%llx", (unsigned long long)t->number);
		else if (t->value)
			buf_printf(&body, "=%s", t->value);
	}
	if (any)
		buf_addch(&body, '/');
	else if (slashes)
		buf_addstr(&body, "//");
	memory_whole(&body);
	return resolve_add(r, ev, buf_str(&body), expanded);
}

/* ---- names ---- */

static int add_software(struct resolver *r, const struct event_symbol *s)
{
	const struct event_pmu *pmu = event_pmu_named(r->view->pmu, r->view->n_pmus, "software");
	struct event ev = new_event(r, pmu, "software", PERF_TYPE_SOFTWARE);
	int err;

	ev.config[0] = s->config;
	ev.kernel_only = s->kernel_only;
	if (s->scale) {
		ev.scale = memory_text(s->scale);
		ev.unit = memory_text(s->unit);
	}
	err = take_terms(r, &ev, NULL);
	return err ? err : finish_event(r, &ev, s->name, false, false);
}

/* The name that perf prints for an event that it has expanded. */
static char *pmu_display(const struct resolver *r, const struct event_pmu *pmu, const char *name)
{
	char body[200];

	snprintf(body, sizeof(body), "%.90s/%.90s/", pmu->name, name);
	return resolve_with_mods(body, resolve_mods(r));
}

/* Adds a hardware, cache or raw event: one or, on a hybrid machine, one for each core PMU, whose name it gets. */
static int add_core(struct resolver *r, uint32_t type, uint64_t config, const char *name)
{
	const struct event_pmu *first;
	size_t n = core_pmus(r->view, &first);
	bool hybrid = n > 1;
	int err = 0;

	if (hybrid)
		r->wildcard = ++r->set->wildcards;
	for (size_t i = 0; !err && i < (hybrid ? r->view->n_pmus : 1); i++) {
		const struct event_pmu *pmu = hybrid ? &r->view->pmu[i] : first;
		char stem[200];
		struct event ev;

		if (hybrid && !pmu->core)
			continue;
		ev = new_event(r, pmu, "cpu", type);
		ev.config[0] = config;
		ev.core = true;
		if (hybrid && type == PERF_TYPE_RAW)
			ev.type = pmu->type;
		else if (hybrid)
			ev.config[0] |= (uint64_t)pmu->type << 32;
		err = take_terms(r, &ev, NULL);
		if (err)
			break;
		if (hybrid && !ev.display)
			ev.display = pmu_display(r, pmu, name);
		/* If the PMU has an event of that name, that is another event. */
		if (hybrid && type != PERF_TYPE_RAW && event_pmu_alias(pmu, name, strlen(name)))
			snprintf(stem, sizeof(stem), "%.90s/legacy-%s-config=0x%llx/", pmu->name,
				 type == PERF_TYPE_HW_CACHE ? "cache" : "hardware", (unsigned long long)config);
		else if (hybrid)
			snprintf(stem, sizeof(stem), "%.90s/%.90s/", pmu->name, name);
		err = finish_event(r, &ev, hybrid ? stem : name, false, hybrid);
	}
	return err;
}

/* Adds pmu/terms/ on one PMU, or pmu/alias/ for an alias that was written alone. */
static int add_pmu_event(struct resolver *r, const struct event_pmu *pmu, const struct event_alias *alone,
			 bool expanded)
{
	struct event_term terms[EVENT_TERM_MAX + 1];
	struct event_node with_alias = *r->node;
	struct event ev = new_event(r, pmu, NULL, pmu->type);
	struct resolver inner = *r;
	int err;

	if (alone) {
		/* The name becomes a term; the node keeps its place in the text. */
		terms[0] = (struct event_term){ .key = alone->name, .column = r->node->column };
		for (size_t i = 0; i < r->node->n_terms; i++)
			terms[i + 1] = r->node->term[i];
		with_alias.term = terms;
		with_alias.n_terms++;
	}
	inner.node = &with_alias;
	err = take_terms(&inner, &ev, pmu);
	if (err)
		return err;
	if (alone) {
		char stem[300];

		snprintf(stem, sizeof(stem), "%.140s/%.140s/", pmu->name, alone->name);
		return finish_event(r, &ev, stem, false, expanded);
	}
	return finish_event(r, &ev, pmu->name, true, expanded);
}

static int offer_cache(void *arg, const char *name, uint64_t config)
{
	nearest_offer(arg, name);
	return 0;
}

static int unknown_name(struct resolver *r, const char *name)
{
	struct nearest near = { .word = name };
	char hint[256];

	/* Searching for a suggestion is slow, and without `e` nobody would read it. */
	if (!r->e)
		return -ENOENT;
	for (const struct event_symbol *s = event_symbols; s->name; s++) {
		nearest_offer(&near, s->name);
		if (s->alias)
			nearest_offer(&near, s->alias);
	}
	event_cache_each(offer_cache, &near);
	for (size_t i = 0; i < r->view->n_pmus; i++)
		for (size_t k = 0; k < r->view->pmu[i].n_aliases; k++)
			nearest_offer(&near, r->view->pmu[i].alias[k].name);
	return resolve_fail(r, ENOENT, r->node->column, "there is no event \"%.80s\"%s", name,
			    nearest_text(&near, NULL, hint, sizeof(hint)));
}

static bool cores_have(const struct event_view *view, const char *name)
{
	for (size_t i = 0; i < view->n_pmus; i++)
		if (view->pmu[i].core && event_pmu_alias(&view->pmu[i], name, strlen(name)))
			return true;
	return false;
}

/* Adds the event of this name, or those that match a glob, on every PMU that has it. Returns their number, or -errno.
 */
static int add_aliases(struct resolver *r, const char *name)
{
	bool glob = strpbrk(name, "*?["), cores = r->view->cores_first && cores_have(r->view, name);
	int found = 0, err = 0;

	for (int pass = 0; pass < 2 && !err; pass++) {
		if (pass && found > 1)
			r->wildcard = ++r->set->wildcards;
		for (size_t i = 0; i < r->view->n_pmus && !err; i++) {
			const struct event_pmu *pmu = &r->view->pmu[i];

			for (size_t k = 0; k < pmu->n_aliases && !err && (pmu->core || !cores); k++) {
				const char *alias = pmu->alias[k].name;

				if (glob ? fnmatch(name, alias, FNM_CASEFOLD) : strcasecmp(alias, name))
					continue;
				if (pass)
					err = add_pmu_event(r, pmu, &pmu->alias[k], found > 1 || glob);
				else
					found++;
			}
		}
	}
	return err ? err : found;
}

/* Adds a word without PMU. -ENOENT without a message: unknown. */
static int add_name(struct resolver *r, const char *name)
{
	const struct event_symbol *s = event_symbol_find(name);
	char canonical[64];
	uint64_t config;
	int err;

	if (s)
		return s->type == PERF_TYPE_SOFTWARE ? add_software(r, s) :
						       add_core(r, PERF_TYPE_HARDWARE, s->config, s->name);
	err = event_cache_parse(name, &config);
	if (!err) {
		event_cache_name(config, canonical, sizeof(canonical));
		return add_core(r, PERF_TYPE_HW_CACHE, config, canonical);
	}
	if (err == -EINVAL)
		return resolve_fail(r, EINVAL, r->node->column, "\"%.80s\": this cache has no such operation", name);
	err = add_aliases(r, name);
	return err > 0 ? 0 : err ? err : -ENOENT;
}

/* ---- PMUs ---- */

static int unknown_pmu(struct resolver *r, const char *name)
{
	struct nearest near = { .word = name };
	char hint[256];

	/* perf itself makes PMUs of these files. */
	if (!strncmp(name, "hwmon", 5) || !strncmp(name, "drm_", 4))
		return resolve_fail(r, ENOENT, r->node->column,
				    "\"%.80s\" is not a kernel PMU; the sources %s are recorded without -e", name,
				    name[0] == 'h' ? "hwmon and thermal" : "for graphics");
	if (event_pmu_takes_pointer(name))
		return resolve_fail(r, ENOENT, r->node->column,
				    "\"%s\" takes no text; make a probe with perf probe, and count its tracepoint",
				    name);
	for (size_t i = 0; i < r->view->n_pmus; i++)
		nearest_offer(&near, r->view->pmu[i].name);
	return resolve_fail(r, ENOENT, r->node->column, "there is no PMU \"%.80s\"%s", name,
			    nearest_text(&near, "here are", hint, sizeof(hint)));
}

static bool answers(const struct event_pmu *pmu, const char *pattern)
{
	return (pmu->class && !strcmp(pmu->class, pattern)) || event_pmu_matches(pattern, pmu->name);
}

/* Whether the kernel lists the event that the text names. */
static bool names_event(const struct event_pmu *pmu, const struct event_node *n)
{
	for (size_t k = 0; k < n->n_terms; k++)
		if (!n->term[k].value && event_pmu_alias(pmu, n->term[k].key, strlen(n->term[k].key)))
			return true;
	return false;
}

static int add_pmu(struct resolver *r)
{
	const struct event_node *n = r->node;
	const struct event_pmu *exact = event_pmu_named(r->view->pmu, r->view->n_pmus, n->name);
	size_t found = 0, added = 0;
	SCOPED(buf_release) struct buf lacking = BUF_INIT;
	int err = 0, refused = 0;

	if (exact)
		return add_pmu_event(r, exact, NULL, false);
	for (size_t i = 0; i < r->view->n_pmus; i++)
		found += answers(&r->view->pmu[i], n->name);
	if (!found) {
		err = add_name(r, n->name);
		return err == -ENOENT ? unknown_pmu(r, n->name) : err;
	}
	r->wildcard = ++r->set->wildcards;
	for (size_t i = 0; i < r->view->n_pmus && !err; i++) {
		if (!answers(&r->view->pmu[i], n->name))
			continue;
		err = add_pmu_event(r, &r->view->pmu[i], NULL, true);
		added += !err;
		/* A glob over PMUs of several kinds selects those that have the event. */
		if (err == -EINVAL && found > 1) {
			if (names_event(&r->view->pmu[i], n) && r->e) {
				event_error_plain(r->e);
				buf_printf(&lacking, "not counted: %s\n", r->e->text);
			}
			refused = err;
			err = 0;
		}
	}
	/* If one of several equal PMUs is left out, their sum is too low. */
	if (!err && added)
		buf_addstr(r->notes, buf_str(&lacking));
	return err ? err : added ? 0 : refused;
}

/* ---- tracepoints and numbers ---- */

struct found_tracepoints {
	struct resolver *r;
	bool expanded;
};

static int add_tracepoint(void *arg, const char *system, const char *name, uint64_t id)
{
	struct found_tracepoints *f = arg;
	char body[400];
	struct event ev = new_event(f->r, NULL, "tracepoint", PERF_TYPE_TRACEPOINT);
	int err;

	ev.config[0] = id;
	err = take_terms(f->r, &ev, NULL);
	if (err)
		return err;
	snprintf(body, sizeof(body), "%s:%s", system, name);
	return resolve_add(f->r, &ev, body, f->expanded);
}

static int offer_tracepoint(void *arg, const char *system, const char *name, uint64_t id)
{
	nearest_offer(arg, name);
	return 0;
}

/* A tracepoint of the same name in another system. */
static int take_tracepoint(void *arg, const char *system, const char *name, uint64_t id)
{
	struct nearest *near = arg;

	if (near->n < sizeof(near->names) / sizeof(near->names[0]))
		snprintf(near->names[near->n++], sizeof(near->names[0]), "%.31s:%.31s", system, name);
	return 0;
}

static int add_tracepoints(struct resolver *r)
{
	const struct event_node *n = r->node;
	struct found_tracepoints f = { .r = r, .expanded = strpbrk(n->name, "*?[") || strpbrk(n->event, "*?[") };
	struct nearest near = { .word = n->event };
	const struct event_view *v = r->view;
	char hint[256], body[400];
	struct event ev;
	bool hidden;
	int err;

	if (f.expanded)
		r->wildcard = ++r->set->wildcards;
	err = v->tracepoints ? v->tracepoints(v->data, n->name, n->event, add_tracepoint, &f) : -ENODEV;
	if (err > 0)
		return 0;
	hidden = err == -ENODEV || err == -EACCES || err == -EPERM;
	if (err && (f.expanded || !hidden))
		return !hidden ?
			       err :
			       resolve_fail(r, -err, n->column,
					    "the tracepoints \"%.40s:%.40s\" cannot be listed: %s", n->name, n->event,
					    err == -ENODEV ? "tracefs is not mounted (mount -t tracefs nodev "
							     "/sys/kernel/tracing)" :
							     "tracefs may not be read (as root: mount -o "
							     "remount,mode=750,gid=GROUP /sys/kernel/tracing)");
	if (!err) {
		v->tracepoints(v->data, n->name, "*", offer_tracepoint, &near);
		if (!near.n)
			v->tracepoints(v->data, "*", n->event, take_tracepoint, &near);
		return resolve_fail(r, ENOENT, n->column, "there is no tracepoint \"%.60s:%.60s\"%s", n->name,
				    n->event, nearest_text(&near, NULL, hint, sizeof(hint)));
	}
	/* Whether it exists cannot be found out: record it as missing, and continue with the others. */
	ev = new_event(r, NULL, "tracepoint", PERF_TYPE_TRACEPOINT);
	ev.missing = -err;
	snprintf(body, sizeof(body), "%.190s:%.190s", n->name, n->event);
	return resolve_add(r, &ev, body, false);
}

static int add_numeric(struct resolver *r)
{
	const struct event_node *n = r->node;
	const struct event_pmu *pmu = NULL;
	char body[64];
	struct event ev;
	int err;

	if (n->type > UINT32_MAX)
		return resolve_fail(r, EINVAL, n->column, "the type does not fit 32 bits");
	for (size_t i = 0; i < r->view->n_pmus && !pmu; i++)
		if (r->view->pmu[i].type == n->type)
			pmu = &r->view->pmu[i];
	ev = new_event(r, pmu, "", (uint32_t)n->type);
	ev.config[0] = n->config;
	ev.core |= n->type == PERF_TYPE_HARDWARE || n->type == PERF_TYPE_HW_CACHE || n->type == PERF_TYPE_RAW;
	for (const struct event_symbol *s = event_symbols; s->name; s++)
		if (s->type == n->type && s->config == n->config && s->scale && !ev.scale) {
			ev.scale = memory_text(s->scale);
			ev.unit = memory_text(s->unit);
		}
	err = take_terms(r, &ev, pmu);
	if (err)
		return err;
	snprintf(body, sizeof(body), "%llu:0x%llx", (unsigned long long)n->type, (unsigned long long)n->config);
	return finish_event(r, &ev, body, false, false);
}

static int add_breakpoint(struct resolver *r)
{
	const struct event_node *n = r->node;
	char body[64];
	struct event ev = new_event(r, NULL, "breakpoint", PERF_TYPE_BREAKPOINT);

	ev.bp_type = (uint32_t)n->type;
	ev.config[1] = n->config;
	ev.config[2] = n->length;
	snprintf(body, sizeof(body), "mem:0x%llx/%llu:%s%s%s", (unsigned long long)n->config,
		 (unsigned long long)n->length, n->type & 1 ? "r" : "", n->type & 2 ? "w" : "",
		 n->type & 4 ? "x" : "");
	return resolve_add(r, &ev, body, false);
}

static int resolve_node(struct resolver *r)
{
	const struct event_node *n = r->node;
	char raw[32];
	int err;

	if (n->mods & EVENT_MOD_RETIRE)
		return resolve_fail(r, EINVAL, n->column, "the modifier R is for sampling, and pmrec counts");
	if (n->group != EVENT_NONE && n->mods & (EVENT_MOD_PINNED | EVENT_MOD_EXCLUSIVE) &&
	    r->list->group[n->group].first != (uint32_t)(n - r->list->node))
		return resolve_fail(r, EINVAL, n->column,
				    "only the first event of a group can be pinned or exclusive");
	switch (n->form) {
	case EVENT_NAME:
		err = add_name(r, n->name);
		return err == -ENOENT ? unknown_name(r, n->name) : err;
	case EVENT_RAW:
		err = add_aliases(r, n->name);
		if (err)
			return err < 0 ? err : 0;
		snprintf(raw, sizeof(raw), "r%llx", (unsigned long long)n->config);
		return add_core(r, PERF_TYPE_RAW, n->config, raw);
	case EVENT_PMU:
		return add_pmu(r);
	case EVENT_TRACEPOINT:
		return add_tracepoints(r);
	case EVENT_NUMERIC:
		return add_numeric(r);
	case EVENT_BREAKPOINT:
		return add_breakpoint(r);
	}
	return -EINVAL;
}

void event_error_plain(struct error *e)
{
	int column = 0;

	if (sscanf(e->text, "column %*u: %n", &column) == 0 && column)
		memmove(e->text, e->text + column, strlen(e->text + column) + 1);
}

int event_resolve(const struct event_list *list, const struct event_view *view, struct event_set *set,
		  struct buf *notes, struct error *e)
{
	struct resolver r = { .list = list, .view = view, .set = set, .notes = notes, .e = e };
	struct event_set before = *set;
	size_t group_start = 0;
	int err = 0;

	for (size_t i = 0; i < list->n && !err; i++) {
		const struct event_group *g =
			list->node[i].group == EVENT_NONE ? NULL : &list->group[list->node[i].group];

		r.node = &list->node[i];
		r.wildcard = 0;
		if (g && g->first == i)
			group_start = set->n;
		err = resolve_node(&r);
		set->parsed++;
		if (!err && g && g->first + g->n == i + 1)
			err = resolve_groups(&r, group_start, g);
	}
	if (!err)
		return 0;
	while (set->n > before.n)
		event_release(&set->event[--set->n]);
	set->groups = before.groups;
	set->wildcards = before.wildcards;
	set->parsed = before.parsed;
	return err;
}
