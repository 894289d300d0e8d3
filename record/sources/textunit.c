#include "record/sources/textunit.h"

#include <errno.h>
#include <stdlib.h>

#include "common/array.h"
#include "record/plan/plan.h"

/* A file of /proc that fails this often in a row will not come back. */
#define FAILURES_OF_THE_DEAD 3

struct textunit {
	struct unit unit;
	struct textstore *store;
	bool refreshes;
	uint32_t slot[];
};

int textstore_resize(struct textstore *s, uint32_t n)
{
	uint64_t *value = realloc(s->value, (n ? n : 1) * sizeof(*value));
	uint16_t *status;

	if (!value)
		return -ENOMEM;
	s->value = value;
	status = realloc(s->status, (n ? n : 1) * sizeof(*status));
	if (!status)
		return -ENOMEM;
	s->status = status;
	for (uint32_t i = s->n; i < n; i++) {
		value[i] = 0;
		status[i] = PM_REASON_FORMAT;
	}
	s->n = n;
	return 0;
}

void textstore_release(struct textstore *s)
{
	free(s->value);
	free(s->status);
	free(s->cell);
	*s = (struct textstore){ 0 };
}

int textstore_cell(struct textstore *s, int64_t counter, int64_t instance, uint32_t slot)
{
	if (counter < 0 || instance < 0)
		return (int)(counter < 0 ? counter : instance);
	if (array_room(&s->cell, s->n_cells, sizeof(*s->cell)))
		return -ENOMEM;
	s->cell[s->n_cells++] = (struct textcell){ (uint32_t)counter, (uint32_t)instance, slot };
	return 0;
}

static int refresh(struct textstore *s)
{
	s->err = s->refresh(s);
	s->failures = s->err ? s->failures + 1 : 0;
	return s->err;
}

static int textunit_read(struct unit *u, struct cells *c)
{
	struct textunit *t = (struct textunit *)u;
	const struct textstore *s = t->store;

	if (t->refreshes)
		refresh(t->store);
	if (s->err) {
		cells_fail_all(c, pm_reason_errno(s->err));
		/* A file that has outgrown its buffer is not dead: update() takes care of it. */
		return s->failures >= FAILURES_OF_THE_DEAD && s->err != -EFBIG ? s->err : 0;
	}
	for (uint32_t k = 0; k < c->n; k++) {
		uint32_t slot = t->slot[k];

		if (s->status[slot] == PM_OK)
			cells_set(c, k, s->value[slot]);
		else
			cells_fail(c, k, s->status[slot]);
	}
	return 0;
}

static void textunit_release(struct unit *u)
{
	free(u);
}

int textunit_add(struct plan *p, struct textstore *s, uint64_t min_period_ns)
{
	uint32_t n = s->n_cells;
	SCOPED(scoped_free) uint32_t *id = calloc(2 * n + 1, sizeof(*id));
	struct textunit *t = malloc(sizeof(*t) + n * sizeof(t->slot[0]));
	struct pm_group g = { .source = (char *)p->source->ops->name,
			      .flags = PM_GROUP_LIST,
			      .counter = id,
			      .n_counters = n,
			      .instance = id + n,
			      .n_instances = n };
	int64_t group = id && t ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < n && !group; i++) {
		g.counter[i] = s->cell[i].counter;
		g.instance[i] = s->cell[i].instance;
		t->slot[i] = s->cell[i].slot;
	}
	if (!group && n)
		group = pm_model_add_group(p->model, &g);
	s->n_cells = 0;
	if (group <= 0) {
		free(t);
		return (int)group;
	}
	t->unit = (struct unit){ .group = (uint32_t)group,
				 .cpu = PM_NONE,
				 .min_period_ns = min_period_ns,
				 .read = textunit_read,
				 .release = textunit_release };
	t->store = s;
	t->refreshes = !s->has_reader;
	s->has_reader = true;
	plan_add_unit(p, &t->unit);
	return 0;
}

int textsource_new(struct source *s, struct plan *p, size_t size, const char *path, const char *hint,
		   int (*refresh)(struct textstore *s))
{
	struct textsource *t = calloc(1, size);
	int err;

	if (!t)
		return -ENOMEM;
	err = textfile_open(&t->file, p->root, path);
	if (err) {
		free(t);
		return plan_refused(p, pm_reason_errno(err), err == -ENOENT ? hint : NULL, "%s", path);
	}
	t->store.refresh = refresh;
	s->data = t;
	return 0;
}

void textsource_release(struct source *s)
{
	struct textsource *t = s->data;

	textstore_release(&t->store);
	textfile_release(&t->file);
}
