/* Turns a parsed list into events with attr words: names are looked up in the view. */
#include "common/event/resolve.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { TYPE_HARDWARE = 0, TYPE_SOFTWARE = 1, TYPE_TRACEPOINT = 2, TYPE_CACHE = 3, TYPE_RAW = 4, TYPE_BREAKPOINT = 5 };

int resolve_fail(struct resolver *r, int number, uint32_t column, const char *format, ...)
{
	char text[300];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	return error_set(r->e, number, "column %u: %s", column + 1, text);
}

static int new_event(struct event *ev, const char *pmu, uint32_t index, uint32_t type)
{
	*ev = (struct event){ .pmu_index = index, .type = type, .inherit = -1 };
	ev->pmu = strdup(pmu);
	return ev->pmu ? 0 : -ENOMEM;
}

/* Completes an event whose terms have been applied; its text is `stem` and the terms that decide what is counted. */
static int finish(struct resolver *r, struct event *ev, const char *stem, bool slashes, bool expanded)
{
	SCOPED(buf_release) struct buf body = BUF_INIT;
	bool any = false;
	int err;

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
	err = body.err;
	if (err)
		event_release(ev);
	else
		err = resolve_add(r, ev, buf_str(&body), expanded);
	return err;
}

/* ---- names ---- */

static const struct event_pmu *pmu_named(const struct event_view *v, const char *name)
{
	for (size_t i = 0; i < v->n_pmus; i++)
		if (!strcmp(v->pmu[i].name, name))
			return &v->pmu[i];
	return NULL;
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

static int add_software(struct resolver *r, const struct event_symbol *s)
{
	const struct event_pmu *pmu = pmu_named(r->view, "software");
	struct event ev;
	int err = new_event(&ev, "software", pmu ? (uint32_t)(pmu - r->view->pmu) : EVENT_NONE, TYPE_SOFTWARE);

	ev.config[0] = s->config;
	ev.kernel_only = s->kernel_only;
	if (!err && s->scale && (!(ev.scale = strdup(s->scale)) || !(ev.unit = strdup(s->unit))))
		err = -ENOMEM;
	if (!err)
		err = resolve_terms(r, &ev, NULL);
	if (err) {
		event_release(&ev);
		return err;
	}
	return finish(r, &ev, s->name, false, false);
}

/* The name that perf prints for an event that it has expanded; NULL: no memory. */
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
		err = new_event(&ev, pmu ? pmu->name : "cpu", pmu ? (uint32_t)(pmu - r->view->pmu) : EVENT_NONE,
				type);
		ev.config[0] = config;
		ev.core = true;
		if (hybrid && type == TYPE_RAW)
			ev.type = pmu->type;
		else if (hybrid)
			ev.config[0] |= (uint64_t)pmu->type << 32;
		if (!err)
			err = resolve_terms(r, &ev, NULL);
		if (err) {
			event_release(&ev);
			break;
		}
		if (hybrid && !ev.display && !(ev.display = pmu_display(r, pmu, name))) {
			event_release(&ev);
			return -ENOMEM;
		}
		/* If the PMU has an event of that name, that is another event. */
		if (hybrid && type != TYPE_RAW && event_pmu_alias(pmu, name, strlen(name)))
			snprintf(stem, sizeof(stem), "%.90s/legacy-%s-config=0x%llx/", pmu->name,
				 type == TYPE_CACHE ? "cache" : "hardware", (unsigned long long)config);
		else if (hybrid)
			snprintf(stem, sizeof(stem), "%.90s/%.90s/", pmu->name, name);
		err = finish(r, &ev, hybrid ? stem : name, false, hybrid);
	}
	return err;
}

/* Adds pmu/terms/ on one PMU, or pmu/alias/ for an alias that was written alone. */
static int add_pmu_event(struct resolver *r, const struct event_pmu *pmu, const struct event_alias *alone,
			 bool expanded)
{
	struct event_term terms[EVENT_TERM_MAX + 1];
	struct event_node with_alias = *r->node;
	struct event ev;
	int err = new_event(&ev, pmu->name, (uint32_t)(pmu - r->view->pmu), pmu->type);

	if (alone) {
		/* The name becomes a term; the node keeps its place in the text. */
		terms[0] = (struct event_term){ .key = alone->name, .column = r->node->column };
		for (size_t i = 0; i < r->node->n_terms; i++)
			terms[i + 1] = r->node->term[i];
		with_alias.term = terms;
		with_alias.n_terms++;
	}
	ev.core = pmu->core;
	ev.uncore = pmu->uncore;
	if (!err) {
		struct resolver inner = *r;

		inner.node = &with_alias;
		err = resolve_terms(&inner, &ev, pmu);
	}
	if (err) {
		event_release(&ev);
		return err;
	}
	if (alone) {
		char stem[300];

		snprintf(stem, sizeof(stem), "%.140s/%.140s/", pmu->name, alone->name);
		return finish(r, &ev, stem, false, expanded);
	}
	return finish(r, &ev, pmu->name, true, expanded);
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
			    nearest_text(&near, hint, sizeof(hint)));
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
		return s->type == TYPE_SOFTWARE ? add_software(r, s) : add_core(r, TYPE_HARDWARE, s->config, s->name);
	err = event_cache_parse(name, &config);
	if (!err) {
		event_cache_name(config, canonical, sizeof(canonical));
		return add_core(r, TYPE_CACHE, config, canonical);
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
	struct listing all = { 0 };
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
	for (size_t i = 0; i < r->view->n_pmus; i++) {
		nearest_offer(&near, r->view->pmu[i].name);
		listing_add(&all, r->view->pmu[i].name);
	}
	return resolve_fail(r, ENOENT, r->node->column, "there is no PMU \"%.80s\"%s", name,
			    near.n ? nearest_text(&near, hint, sizeof(hint)) : listing_text(&all, "here are"));
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
	const struct event_pmu *exact = pmu_named(r->view, n->name);
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
	struct event ev;
	int err = new_event(&ev, "tracepoint", EVENT_NONE, TYPE_TRACEPOINT);

	ev.config[0] = id;
	if (!err)
		err = resolve_terms(f->r, &ev, NULL);
	if (err) {
		event_release(&ev);
		return err;
	}
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
	int err;

	if (f.expanded)
		r->wildcard = ++r->set->wildcards;
	err = v->tracepoints ? v->tracepoints(v->data, n->name, n->event, add_tracepoint, &f) : -ENODEV;
	if (err > 0)
		return 0;
	if (err && (f.expanded || (err != -ENODEV && err != -EACCES && err != -EPERM)))
		return err != -ENODEV && err != -EACCES && err != -EPERM ?
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
				    n->event, nearest_text(&near, hint, sizeof(hint)));
	}
	/* Whether it exists cannot be found out: record it as missing, and continue with the others. */
	if (new_event(&ev, "tracepoint", EVENT_NONE, TYPE_TRACEPOINT))
		return -ENOMEM;
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
	err = new_event(&ev, pmu ? pmu->name : "", pmu ? (uint32_t)(pmu - r->view->pmu) : EVENT_NONE,
			(uint32_t)n->type);
	ev.config[0] = n->config;
	ev.core = n->type == TYPE_HARDWARE || n->type == TYPE_CACHE || n->type == TYPE_RAW || (pmu && pmu->core);
	ev.uncore = pmu && pmu->uncore;
	for (const struct event_symbol *s = event_symbols; s->name && !err; s++)
		if (s->type == n->type && s->config == n->config && s->scale && !ev.scale &&
		    (!(ev.scale = strdup(s->scale)) || !(ev.unit = strdup(s->unit))))
			err = -ENOMEM;
	if (!err)
		err = resolve_terms(r, &ev, pmu);
	if (err) {
		event_release(&ev);
		return err;
	}
	snprintf(body, sizeof(body), "%llu:0x%llx", (unsigned long long)n->type, (unsigned long long)n->config);
	return finish(r, &ev, body, false, false);
}

static int add_breakpoint(struct resolver *r)
{
	const struct event_node *n = r->node;
	char body[64];
	struct event ev;

	if (new_event(&ev, "breakpoint", EVENT_NONE, TYPE_BREAKPOINT))
		return -ENOMEM;
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
		return add_core(r, TYPE_RAW, n->config, raw);
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
	if (err == -ENOMEM)
		error_set(e, ENOMEM, "out of memory");
	while (set->n > before.n)
		event_release(&set->event[--set->n]);
	set->groups = before.groups;
	set->wildcards = before.wildcards;
	set->parsed = before.parsed;
	return err;
}
