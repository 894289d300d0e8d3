/* The events that a list resolves to: texts, groups, release. */
#include "common/array.h"
#include "common/event/resolve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

/* Adds modifiers to a canonical text: "cycles:u", "cpu/cycles/u". */
char *resolve_with_mods(const char *body, uint32_t mods)
{
	struct buf b = BUF_INIT;
	size_t len = strlen(body);

	/* These concern the whole group, not the event. */
	mods &= ~(uint32_t)(EVENT_MOD_WEAK | EVENT_MOD_NO_REGROUP);
	buf_addstr(&b, body);
	if (mods && body[len - 1] != '/')
		buf_addch(&b, ':');
	event_mods_print(mods, &b);
	return buf_detach(&b);
}

int event_set_mods(struct event *ev, uint32_t mods)
{
	char *body = strndup(ev->name, ev->body), *name = body ? resolve_with_mods(body, mods) : NULL;

	free(body);
	if (!name)
		return -ENOMEM;
	free(ev->name);
	ev->name = name;
	ev->mods = mods;
	return 0;
}

uint32_t resolve_mods(const struct resolver *r)
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
	struct buf text = BUF_INIT;

	if (!terms || strpbrk(terms, "*?[") || !*ev->pmu || strncmp(ev->name, ev->pmu, strlen(ev->pmu)) || ev->mods)
		return strdup(ev->name);
	buf_printf(&text, "%s%s", ev->pmu, terms);
	return buf_detach(&text);
}

int resolve_add(struct resolver *r, struct event *ev, const char *body, bool expanded)
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
	if (n->group != EVENT_NONE) {
		const struct event_group *g = &r->list->group[n->group];

		if (g->name && !(ev->group_name = strdup(g->name)))
			goto no_memory;
	}
	ev->body = strlen(body);
	ev->name = resolve_with_mods(body, ev->mods);
	ev->text = strndup(r->list->text + n->column, n->end - n->column);
	if (!ev->name || !ev->text)
		goto no_memory;
	if (!ev->display && !(ev->display = expanded ? expanded_text(ev) : strdup(ev->text)))
		goto no_memory;
	if (set->n >= EVENT_LIST_MAX) {
		event_release(ev);
		return resolve_fail(r, E2BIG, n->column, "this makes more than %d events", EVENT_LIST_MAX);
	}
	if (array_room(&set->event, set->n, sizeof(*set->event)))
		goto no_memory;
	set->event[set->n++] = *ev;
	return 0;
tool_mods:
	event_release(ev);
	return resolve_fail(
		r, EINVAL, n->column,
		"pmrec counts %.60s itself, for the whole machine: modifiers, cpu and percore do not apply", body);
no_memory:
	event_release(ev);
	return error_set(r->e, ENOMEM, "out of memory");
}

/* Whether the two may be read together: software events with any event, all others only with events of their own PMU.
 */
static bool same_group(const struct event *a, const struct event *b)
{
	if (a->pmu_index == b->pmu_index && !strcmp(a->pmu, b->pmu))
		return true;
	return (!a->core && !a->uncore) || (!b->core && !b->uncore);
}

/* A member on another PMU is grouped with the others of that PMU, so that each PMU that a wildcard matches has its
 * own group. */
int resolve_groups(struct resolver *r, size_t start, const struct event_group *g)
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

		if (pmu != EVENT_NONE && r->view->pmu[pmu].hooks && r->view->pmu[pmu].hooks->strict_groups)
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
