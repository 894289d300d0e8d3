/* The tracks of a replay, found by counter and instance, and the groups that feed them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/replay/replay_private.h"

static void release_feeds(struct group_feeds *f)
{
	free(f->feed);
	free(f->doubt);
	f->feed = NULL;
	f->doubt = NULL;
}

static void release_spans(struct group_feeds *f)
{
	free(f->spans);
	f->spans = NULL;
}

static int by_group(const void *a, const void *b)
{
	const struct group_feeds *x = a, *y = b;

	return (x->group > y->group) - (x->group < y->group);
}

void replay_set_feeds_aside(struct replay *r)
{
	for (uint32_t i = 0; i < r->n_former; i++)
		release_spans(&r->former[i]);
	free(r->former);
	r->former = r->group;
	r->n_former = r->n_groups;
	for (uint32_t i = 0; i < r->n_former; i++)
		release_feeds(&r->former[i]);
	if (r->n_former)
		qsort(r->former, r->n_former, sizeof(*r->former), by_group);
	free(r->at_slot);
	r->group = NULL;
	r->at_slot = NULL;
	r->n_groups = r->cap_groups = r->n_slots = r->groups_seen = r->last_seen = 0;
}

void replay_forget_feeds(struct replay *r)
{
	replay_set_feeds_aside(r);
	replay_set_feeds_aside(r);
}

/* How long the group's last readings took, if that was known before all was laid out anew. */
static void take_spans(struct replay *r, const struct pm_group *g, struct group_feeds *f)
{
	struct group_feeds *of = r->n_former ? bsearch(f, r->former, r->n_former, sizeof(*f), by_group) : NULL;

	if (!of || of->n_spans != pm_group_times(g))
		return;
	f->spans = of->spans;
	f->n_spans = of->n_spans;
	of->spans = NULL;
	of->n_spans = 0;
}

struct group_feeds *replay_feeds(const struct replay *r, uint32_t group)
{
	const struct pm_group *g = pm_model_group(r->model, group);
	struct group_feeds *f =
		g && g->slot < r->n_slots && r->at_slot[g->slot] ? &r->group[r->at_slot[g->slot] - 1] : NULL;

	return f && f->group == group ? f : NULL;
}

struct group_feeds *replay_read(const struct replay *r, const struct pm_chunk_group *cg)
{
	struct group_feeds *f = cg->absent ? NULL : replay_feeds(r, cg->group);

	if (f && f->stretch != r->stretch)
		f->first = r->chunk;
	if (f)
		f->stretch = r->stretch;
	return f;
}

bool replay_takes(const struct replay *r, const struct group_feeds *f, struct track *t)
{
	const struct pm_group *g;
	const struct group_feeds *other;

	if (t->group == f->group)
		return true;
	g = pm_model_group(r->model, t->group);
	other = g && !g->retired ? replay_feeds(r, t->group) : NULL;
	if (f->first != r->chunk || (other && other->stretch == r->stretch))
		return false;
	t->group = f->group;
	return true;
}

static uint32_t *find_key(const struct replay *r, uint32_t counter, uint32_t instance)
{
	uint64_t both = (uint64_t)counter << 32 | instance;
	/* Bits below these depend on the instance alone, which may be the only one. */
	size_t i = (size_t)((both * 0x9e3779b97f4a7c15u) >> 32) & (r->n_keys - 1);

	while (r->key[i] &&
	       (r->track[r->key[i] - 1].counter != counter || r->track[r->key[i] - 1].instance != instance))
		i = (i + 1) & (r->n_keys - 1);
	return &r->key[i];
}

/* Makes room for one more; what has ended is left out. */
static int reserve_keys(struct replay *r)
{
	size_t n = 1024;

	if (r->used_keys * 2 < r->n_keys)
		return 0;
	while (n <= r->n_live * 4)
		n *= 2;
	free(r->key);
	r->key = calloc(n, sizeof(*r->key));
	r->n_keys = r->key ? n : 0;
	r->used_keys = 0;
	for (size_t i = 0; i < r->n_live && r->key; i++) {
		const struct track *t = &r->track[r->live[i]];

		if (joints_own(&r->joints, r->live[i]))
			continue;
		*find_key(r, t->counter, t->instance) = r->live[i] + 1;
		r->used_keys++;
	}
	return r->key ? 0 : -ENOMEM;
}

uint32_t *replay_find_key(struct replay *r, uint32_t counter, uint32_t instance)
{
	return reserve_keys(r) ? NULL : find_key(r, counter, instance);
}

int replay_reserve_tracks(struct replay *r, size_t n)
{
	struct track *t;
	uint32_t *live;

	if (n <= r->cap_tracks)
		return 0;
	if (!(t = reallocarray(r->track, n, sizeof(*t))))
		return -ENOMEM;
	r->track = t;
	if (!(live = reallocarray(r->live, n, sizeof(*live))))
		return -ENOMEM;
	r->live = live;
	/* Nothing is in doubt between blocks, and rarely ever again. */
	free(r->doubt);
	r->doubt = NULL;
	r->cap_tracks = n;
	return 0;
}

uint32_t replay_add_track(struct replay *r)
{
	if (r->n_tracks == r->cap_tracks && replay_reserve_tracks(r, r->cap_tracks + r->cap_tracks / 2 + 64))
		return PM_NONE;
	r->track[r->n_tracks] = (struct track){ 0 };
	r->live[r->n_live++] = (uint32_t)r->n_tracks;
	return (uint32_t)r->n_tracks++;
}

void replay_drop_retired(struct replay *r)
{
	for (uint32_t i = 0; i < r->n_groups;) {
		struct group_feeds *f = &r->group[i];
		const struct pm_group *g = pm_model_group(r->model, f->group);

		if (g && !g->retired) {
			i++;
			continue;
		}
		release_feeds(f);
		release_spans(f);
		r->at_slot[f->slot] = 0;
		*f = r->group[--r->n_groups];
		if (i < r->n_groups)
			r->at_slot[f->slot] = i + 1;
	}
}

struct group_feeds *replay_add_group(struct replay *r, const struct pm_group *g)
{
	if (r->n_groups == r->cap_groups) {
		uint32_t cap = r->cap_groups + r->cap_groups / 2 + 16;
		struct group_feeds *group = reallocarray(r->group, cap, sizeof(*group));

		if (!group)
			return NULL;
		r->group = group;
		r->cap_groups = cap;
	}
	if (g->slot >= r->n_slots) {
		uint32_t n = g->slot + g->slot / 2 + 16, *at = reallocarray(r->at_slot, n, sizeof(*at));

		if (!at)
			return NULL;
		memset(at + r->n_slots, 0, (n - r->n_slots) * sizeof(*at));
		r->at_slot = at;
		r->n_slots = n;
	}
	r->group[r->n_groups] = (struct group_feeds){ .group = g->id, .slot = g->slot };
	take_spans(r, g, &r->group[r->n_groups]);
	r->at_slot[g->slot] = ++r->n_groups;
	return &r->group[r->n_groups - 1];
}
