/* What a reader knows of each group: whether it is wanted, how its columns lie, and its last row. */
#include "format/reader_private.h"

#include <errno.h>
#include <stdlib.h>

#include "common/array.h"
#include "format/model_private.h"

static void group_release(struct reader_group *g)
{
	layout_release(&g->layout);
	free(g->v);
	free(g->before);
	free(g->status);
	*g = (struct reader_group){ 0 };
}

void reader_groups_release(struct pm_reader *r)
{
	for (uint32_t i = 0; i < r->groups_cap; i++)
		group_release(&r->group[i]);
	free(r->group);
	r->group = NULL;
	r->groups_cap = 0;
	r->chunk_open = r->chunk_decoded = false;
}

void pm_reader_select(struct pm_reader *r, bool (*wanted)(void *ctx, const struct pm_group *g), void *ctx)
{
	r->wanted = wanted;
	r->wanted_ctx = ctx;
	for (uint32_t i = 0; i < r->groups_cap; i++)
		r->group[i].wanted = WANTED_UNASKED;
}

void pm_reader_forget(struct pm_reader *r, pm_model_needs *needs, void *ctx)
{
	r->forgets = !needs;
	pm_model_forget(&r->model, needs, ctx, false);
}

struct reader_group *reader_group_of(struct pm_reader *r, uint32_t id)
{
	const struct pm_group *g = pm_model_group(&r->model, id);
	struct reader_group *own;

	if (array_hold(&r->group, &r->groups_cap, g->slot + 1ull, sizeof(*r->group)))
		return NULL;
	own = &r->group[g->slot];
	if (own->id != id) {
		group_release(own);
		own->id = id;
	}
	return own;
}

struct reader_group *reader_group_if(struct pm_reader *r, uint32_t id)
{
	const struct pm_group *g = pm_model_group(&r->model, id);

	return g && g->slot < r->groups_cap && r->group[g->slot].id == id ? &r->group[g->slot] : NULL;
}

bool reader_wants(struct pm_reader *r, uint32_t id)
{
	const struct pm_group *g = pm_model_group(&r->model, id);
	struct reader_group *own = g ? reader_group_if(r, id) : NULL;

	if (!own)
		return false;
	if (own->wanted == WANTED_UNASKED)
		own->wanted = !r->wanted || r->wanted(r->wanted_ctx, g) ? WANTED_YES : WANTED_NO;
	return own->wanted == WANTED_YES;
}

int reader_keep_last_row(struct reader_group *g)
{
	struct pm_matrix m = { .rows = g->rows, .stride = g->rows, .v = g->v };

	if (!g->in_v)
		return 0;
	if (!g->before) {
		g->before = malloc(2ull * g->layout.columns * sizeof(*g->before));
		if (!g->before)
			return -ENOMEM;
	}
	m.before = g->chained ? g->before : NULL;
	row_after(&g->layout, &m, g->before);
	g->in_v = false;
	return 0;
}

int reader_need_layout(struct pm_reader *r, struct reader_group *own)
{
	const struct pm_group *g = pm_model_group(&r->model, own->id);

	if (own->layout.band)
		return 0;
	for (uint32_t i = 0; i < g->n_counters; i++) {
		const struct pm_counter *c = pm_model_counter(&r->model, g->counter[i]);

		own->marked |= c->newer;
		own->strings |= pm_counter_texts(c);
	}
	for (uint32_t i = 0; i < g->n_instances; i++)
		own->marked |= pm_model_instance(&r->model, g->instance[i])->newer;
	return layout_init(&own->layout, &r->model, g);
}

static int continue_group(struct pm_reader *r, const struct pm_group *g)
{
	const struct pm_group *from = pm_model_group(&r->model, g->continues);
	struct reader_group *own, *old = from ? reader_group_if(r, from->id) : NULL;
	int err;

	if (!old || !r->chain || old->chain != r->chain)
		return 0;
	own = reader_group_of(r, g->id);
	old = reader_group_if(r, from->id);
	if (!own || reader_keep_last_row(old) || reader_need_layout(r, own))
		return -ENOMEM;
	/* The chunk is being read again after going back: what is known is newer. */
	if (own->chain == r->chain)
		return 0;
	free(own->before);
	own->before = malloc(2ull * own->layout.columns * sizeof(*own->before));
	if (!own->before)
		return -ENOMEM;
	err = group_take_over(g, own->before, from, old->before, old->last_tick);
	own->in_v = false;
	own->last_tick = old->last_tick;
	own->chain = old->chain;
	return err;
}

int reader_groups_changed(struct pm_reader *r)
{
	const struct model_ids *ids = &r->model.caps->group_ids;
	int err = 0;

	for (uint32_t i = 0; i < r->seen.n_groups && !err; i++)
		err = continue_group(r, pm_model_group(&r->model, r->seen.group[i]));
	/* The rows take most of a group's memory. */
	for (uint32_t i = r->forgotten == r->model.caps->forgotten ? r->retired_groups : 0; i < ids->n_retired; i++) {
		struct reader_group *g = reader_group_if(r, ids->retired[i]);

		if (g)
			group_release(g);
	}
	r->retired_groups = ids->n_retired;
	return err;
}
