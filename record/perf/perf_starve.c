/*
 * Groups that never get their counters: the kernel counts a group as a whole or not at all, and of one that another
 * user's events keep out nobody would hear. It is told, and its events are counted one by one from then on, so that
 * they take turns on what is left.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/perf/perf_source.h"

/* Looked for once a second, so told before two have passed. */
#define STARVED_NS 800000000u

/* How many of its members have to stay together; all of them where the user wants nothing else. */
static uint32_t inseparable(const struct perf_source *s, struct perf_group *g)
{
	for (uint32_t k = 0; k < g->n; k++)
		if (g->member[k]->ev->mods & (EVENT_MOD_PINNED | EVENT_MOD_EXCLUSIVE))
			return g->n;
	return g->way == PERF_BY_READ ? perf_topdown_order(s, g) : g->n;
}

int perf_starving_look(struct perf_source *s, struct source *source, struct plan *p)
{
	struct buf text = BUF_INIT;
	uint32_t told = 0;
	int err = 0;

	for (uint32_t i = 0; i < s->n_groups && !err; i++) {
		struct perf_group *g = s->group[i];

		if (!perf_group_starves(g, STARVED_NS))
			continue;
		g->starved = inseparable(s, g) < g->n;
		if (g->starved)
			atomic_store(&source->stale, true);
		buf_clear(&text);
		buf_printf(&text, "%s%s: not counted so far, because others hold the counters%s",
			   g->member[0]->ev->name, g->n > 1 ? " and the others of its group" : "",
			   g->starved ? "; from now on its events are counted one by one" : "");
		err = text.err ? text.err : plan_note(p, g->n, buf_str(&text));
		/* One line is for all of them. */
		if (!told++)
			snprintf(p->told, sizeof(p->told), "%s", buf_str(&text));
	}
	if (told > 1)
		snprintf(p->told + strlen(p->told), sizeof(p->told) - strlen(p->told),
			 "; and %u more groups (pmrep info lists them)", told - 1);
	buf_release(&text);
	return err;
}

static bool has_starved(struct unit *u)
{
	const struct perf_row *row = perf_row_of(u);

	return row && row->group && row->group->starved && row->end == PERF_ENDED;
}

/* Opens the group anew; its times go on where those of the rows before stopped. */
static int open_again(struct perf_source *s, struct plan *p, struct perf_group *g, const struct perf_row *old,
		      uint32_t n_old)
{
	int err = perf_rows_open(s, p, g);

	for (uint32_t i = 0; i < g->n_rows && !err; i++)
		for (uint32_t k = 0; k < n_old; k++)
			if (g->row[i]->instance == old[k].instance)
				g->row[i]->base_enabled = old[k].base_enabled;
	return err;
}

static int take_apart(struct perf_source *s, struct plan *p, struct perf_group *g)
{
	uint32_t keep = inseparable(s, g), first = s->n_groups, n_old = g->n_rows;
	struct perf_row *old = calloc(n_old + 1, sizeof(*old));
	int err = old ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < n_old && !err; i++) {
		uint64_t count, running;

		old[i].instance = g->row[i]->instance;
		(void)perf_row_count(g->row[i], 0, &count, &old[i].base_enabled, &running);
		g->row[i]->end = PERF_ENDED;
	}
	plan_drop_units(p, has_starved);
	g->starved = false;
	while (g->n > keep && !err)
		err = perf_group_split(s, g, keep);
	if (!err)
		err = open_again(s, p, g, old, n_old);
	for (uint32_t k = first; k < s->n_groups && !err; k++) {
		s->group[k]->number = k + 1;
		err = open_again(s, p, s->group[k], old, n_old);
	}
	free(old);
	return err;
}

int perf_starving_split(struct perf_source *s, struct plan *p)
{
	uint32_t asked = s->n_groups;
	int err = 0;

	for (uint32_t i = 0; i < asked && !err; i++)
		if (s->group[i]->starved)
			err = take_apart(s, p, s->group[i]);
	return err;
}
