#include "record/sources/ranking.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/catalog/catalog.h"
#include "common/memory.h"
#include "record/host/process.h"

#define SHORTEST_NS 1000000000u
#define LATE_MOST   8 /* readings that wait for the writer */

struct ranking_page {
	uint64_t reading;
	uint32_t n;
	char *row; /* owned: RANKING_ROWS of row_size */
};

void ranking_init(struct ranking *r)
{
	pthread_mutex_init(&r->lock, NULL);
	r->late = memory_new(LATE_MOST + 1, sizeof(*r->late));
	for (int i = 0; i <= LATE_MOST; i++)
		r->late[i].row = memory_new(RANKING_ROWS, r->row_size);
	r->taken = &r->late[LATE_MOST];
}

void ranking_release(struct ranking *r)
{
	for (int i = 0; r->late && i <= LATE_MOST; i++)
		free(r->late[i].row);
	free(r->late);
	pthread_mutex_destroy(&r->lock);
}

/* ---- on the thread that reads ---- */

void ranking_offer(struct ranking_top *t, uint64_t value, void *who)
{
	uint32_t at = t->n < t->most ? t->n : t->most - 1;

	if (!value || (t->n == t->most && value <= t->value[at]))
		return;
	t->n += t->n < t->most;
	for (; at && t->value[at - 1] < value; at--) {
		t->value[at] = t->value[at - 1];
		t->who[at] = t->who[at - 1];
	}
	t->value[at] = value;
	t->who[at] = who;
}

bool ranking_want(struct ranking *r, struct ranking_stay *one, const struct ranking_stays *all)
{
	struct ranking_stay *least = NULL;
	uint32_t there = 0;

	one->wanted = r->reading;
	if (one->id)
		return false;
	for (uint32_t i = 0; i < all->n; i++) {
		struct ranking_stay *s = (struct ranking_stay *)((char *)all->first + i * all->size);

		if (!s->id)
			continue;
		there++;
		if (!least || s->wanted < least->wanted)
			least = s;
	}
	if (there >= all->most && least->wanted + all->idle > r->reading)
		return false;
	if (there >= all->most)
		least->id = 0;
	one->id = ++r->last_id;
	one->number = one->number ? one->number : ++r->last_number;
	one->since_ns = r->before_ns;
	return true;
}

void ranking_begin(struct ranking *r, uint64_t reading)
{
	pthread_mutex_lock(&r->lock);
	r->page = &r->late[reading % LATE_MOST];
	r->page->reading = reading;
	r->page->n = 0;
}

void *ranking_add(struct ranking *r, const struct ranking_stay *stay)
{
	void *row = r->page->row + r->page->n++ * r->row_size;

	memset(row, 0, r->row_size);
	((struct ranking_row *)row)->stay = *stay;
	return row;
}

void ranking_end(struct ranking *r)
{
	pthread_mutex_unlock(&r->lock);
}

/* ---- planning ---- */

/* Adds the counters of the table. 0, or -E2BIG while sampling. */
static int ranking_counters(struct ranking *r, struct plan *p)
{
	for (uint32_t k = 0; k < r->n_values && !r->counter[k]; k++) {
		const struct catalog_counter *row = catalog_find(r->source, r->key[k]);
		int64_t id = plan_counter(p, row);

		if (id < 0)
			return (int)id;
		if (row->semantics == CATALOG_CUMULATIVE)
			plan_set(&p->model->counter[id - 1].attrs, PM_COUNTER_FROM_ZERO, pm_bool(true));
		r->counter[k] = (uint32_t)id;
	}
	return 0;
}

void *ranking_new(struct source *s, struct plan *p, size_t size)
{
	uint64_t interval = p->options->sample.interval_ns;

	if (!interval || interval >= SHORTEST_NS)
		return s->data = memory_new(1, size);
	plan_refused(p, PM_REASON_NOT_READ, pm_remark(PM_REMEDY_SLOWER), pm_remark(PM_REMARK_TOO_OFTEN));
	return NULL;
}

void ranking_plan(struct ranking *r, struct plan *p, const char *const *cell_key, uint32_t n_cells, bool late)
{
	uint32_t counter[RANKING_VALUES], instance = p->system_instance;
	struct pm_group g = { .source = (char *)r->source,
			      .counter = counter,
			      .n_counters = n_cells,
			      .instance = &instance,
			      .n_instances = 1 };

	for (uint32_t i = 0; i < n_cells; i++)
		counter[i] = (uint32_t)plan_counter(p, catalog_find(r->source, cell_key[i]));
	r->unit.group = (uint32_t)plan_group(p, &g);
	r->unit.cpu = PM_NONE;
	plan_add_unit(p, &r->unit);
	if (!late)
		ranking_counters(r, p);
}

/* ---- on the writer's thread ---- */

static const struct ranking_row *row_at(const struct ranking *r, uint32_t i)
{
	return (const struct ranking_row *)(r->taken->row + i * r->row_size);
}

static const struct ranking_row *row_of(const struct ranking *r, uint32_t id)
{
	for (uint32_t i = 0; i < r->taken->n; i++)
		if (row_at(r, i)->stay.id == id)
			return row_at(r, i);
	return NULL;
}

/* Those that were written before stay in front, in that order. 1: the members changed. */
static int update_members(struct ranking *r, struct plan *p, uint64_t now_ns)
{
	uint32_t kept = 0, before = r->n;

	for (uint32_t i = 0; i < before; i++) {
		if (!row_of(r, r->id[i])) {
			plan_gone(p, r->row_instance[i], now_ns);
			continue;
		}
		r->id[kept] = r->id[i];
		r->row_instance[kept++] = r->row_instance[i];
	}
	r->n = kept;
	for (uint32_t i = 0; i < r->taken->n; i++) {
		const struct ranking_row *row = row_at(r, i);
		uint32_t k = 0;
		int64_t id;

		while (k < kept && r->id[k] != row->stay.id)
			k++;
		if (k < kept)
			continue;
		id = r->instance(p, row);
		if (id < 0)
			return (int)id;
		r->id[r->n] = row->stay.id;
		r->row_instance[r->n++] = (uint32_t)id;
	}
	return kept != before || r->n != kept;
}

static int update_group(struct ranking *r, struct plan *p)
{
	struct pm_group g = { .source = (char *)r->source,
			      .flags = PM_GROUP_SHARED_TIME,
			      .counter = r->counter,
			      .n_counters = r->n_values,
			      .instance = r->row_instance,
			      .n_instances = r->n,
			      .continues = r->group };
	int64_t id = r->n ? plan_group(p, &g) : 0;

	if (id < 0)
		return (int)id;
	if (!r->n && r->group)
		memory_must(pm_model_retire_group(p->model, r->group));
	r->group = (uint32_t)id;
	return 0;
}

static void fill(struct ranking *r, const uint64_t *times)
{
	r->v[0] = times[0];
	r->v[1] = times[1];
	for (uint32_t i = 0; i < r->n; i++) {
		const struct ranking_row *row = row_of(r, r->id[i]);

		for (uint32_t k = 0; k < r->n_values; k++) {
			r->v[2 + k * r->n + i] = row->v[k];
			r->status[2 + k * r->n + i] = row->status[k];
		}
	}
}

static bool take_page(struct ranking *r, uint64_t reading)
{
	const struct ranking_page *page = &r->late[reading % LATE_MOST];
	SCOPED(unlock) pthread_mutex_t *held = lock(&r->lock);

	if (page->reading != reading)
		return false;
	r->taken->n = page->n;
	memcpy(r->taken->row, page->row, page->n * r->row_size);
	return true;
}

int ranking_tables(struct source *s, struct plan *p, const struct pm_chunk *c, struct pm_chunk_group *out)
{
	struct ranking *r = s->data;
	const struct pm_chunk_group *own = NULL;
	uint64_t times[2];
	int err = 0;

	for (uint32_t i = 0; i < c->n_groups; i++)
		if (c->group[i].group == r->unit.group)
			own = &c->group[i];
	if (!own || c->rows != 1 || (own->status && own->status[2 * own->stride]) ||
	    !take_page(r, own->v[2 * own->stride]))
		return 0;
	times[0] = own->v[0];
	times[1] = own->v[own->stride];
	if (r->taken->n)
		err = ranking_counters(r, p);
	if (!err)
		err = update_members(r, p, times[1]);
	if (err == 1)
		err = update_group(r, p);
	if (err || !r->n)
		return err;
	fill(r, times);
	*out = (struct pm_chunk_group){ .group = r->group, .v = r->v, .status = r->status, .stride = 1 };
	return 1;
}
