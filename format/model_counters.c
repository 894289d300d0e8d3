/* The counters of a model. A recording may have a hundred thousand, most of which differ only in their names: texts
 * are stored one after another without an allocation each, what a counter shares with the previous one is kept once,
 * and the index of names holds only ids. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/parse.h"
#include "format/limits.h"
#include "format/model_private.h"

#define TEXTS_FIRST 1024
#define TEXTS_MOST  65536

struct model_texts {
	struct model_texts *older;
	size_t used, cap;
	char data[];
};

static char *keep_text(struct pm_model_caps *caps, const char *text)
{
	struct model_texts *t = caps->texts;
	size_t size = strlen(text) + 1;
	char *kept;

	if (!t || size > t->cap - t->used) {
		size_t cap = !t ? TEXTS_FIRST : t->cap < TEXTS_MOST ? t->cap * 2 : TEXTS_MOST;

		cap = cap > size ? cap : size;
		t = malloc(sizeof(*t) + cap);
		if (!t)
			return NULL;
		*t = (struct model_texts){ .older = caps->texts, .cap = cap };
		caps->texts = t;
	}
	kept = t->data + t->used;
	memcpy(kept, text, size);
	t->used += size;
	return kept;
}

/* `twin`, which the model already holds, if it is equal; else a copy. */
static char *share_text(struct pm_model_caps *caps, const char *text, char *twin)
{
	if (!text)
		text = "";
	return twin && !strcmp(text, twin) ? twin : keep_text(caps, text);
}

/* The slot of the counter of that name, or the free one for it. */
static uint32_t *find_slot(const struct pm_model *m, const char *name)
{
	const struct pm_model_caps *caps = m->caps;
	uint32_t mask = caps->counter_slots - 1;

	for (uint32_t i = names_hash(name) & mask;; i = (i + 1) & mask) {
		uint32_t *id = &caps->counter_slot[i];

		if (!*id || !strcmp(m->counter[*id - 1].name, name))
			return id;
	}
}

/* Room for one more name. */
static int grow_index(struct pm_model *m)
{
	struct pm_model_caps *caps = m->caps;
	uint32_t wanted = caps->counter_slots ? caps->counter_slots * 2 : 64, *slot;

	if (m->n_counters + m->n_counters / 2 < caps->counter_slots)
		return 0;
	slot = calloc(wanted, sizeof(*slot));
	if (!slot)
		return -ENOMEM;
	free(caps->counter_slot);
	caps->counter_slot = slot;
	caps->counter_slots = wanted;
	for (uint32_t i = 0; i < m->n_counters; i++)
		*find_slot(m, m->counter[i].name) = i + 1;
	return 0;
}

static int copy_attrs(struct pm_map *to, const struct pm_map *from, const struct pm_counter *before)
{
	if (before && pm_map_equal(&before->attrs, from)) {
		*to = before->attrs;
		return 0;
	}
	return pm_map_copy(to, from);
}

bool pm_scale_good(const char *text)
{
	double v;

	return !parse_double(text, &v) && v > 0;
}

int64_t pm_model_add_counter(struct pm_model *m, const struct pm_counter *c)
{
	const struct pm_counter *before;
	struct pm_model_caps *caps;
	struct pm_counter copy;
	int err;

	if (!c->name || !*c->name || c->width > 64 || (c->scale.text && !pm_scale_good(c->scale.text)))
		return -EINVAL;
	if (strlen(c->name) > PM_MAX_NAME)
		return -E2BIG;
	if (pm_model_counter_named(m, c->name))
		return -EEXIST;
	err = model_grow(m, &m->counter, m->n_counters, PM_MAX_COUNTERS, sizeof(copy),
			 sizeof(copy) + 6 * strlen(c->name) + model_map_size(&c->attrs) + 128);
	if (!err)
		err = grow_index(m);
	if (err)
		return err;
	caps = m->caps;
	before = m->n_counters ? &m->counter[m->n_counters - 1] : NULL;
	copy = (struct pm_counter){
		.id = m->n_counters + 1,
		.name = keep_text(caps, c->name),
		.source = share_text(caps, c->source, before ? before->source : NULL),
		.unit = share_text(caps, c->unit, before ? before->unit : NULL),
		.scale = { .num = 1, .den = 1 },
		.type = c->type,
		.semantics = c->semantics,
		/* Only integers can wrap below 64 bits. */
		.width = !c->width || c->type >= PM_F64 ? 64 : c->width,
		.aggregation = c->aggregation,
		.newer = c->newer,
		.wide = c->wide,
	};
	copy.display = c->display ? share_text(caps, c->display, copy.name) : copy.name;
	if (c->scale.text)
		copy.scale.text = share_text(caps, c->scale.text, before ? before->scale.text : NULL);
	else if (c->scale.den)
		copy.scale = (struct pm_scale){ .num = c->scale.num, .den = c->scale.den };
	/* If a counter fails, its texts stay with the model until that is freed. */
	if (!copy.name || !copy.display || !copy.source || !copy.unit || (c->scale.text && !copy.scale.text) ||
	    copy_attrs(&copy.attrs, &c->attrs, before))
		return -ENOMEM;
	*find_slot(m, copy.name) = copy.id;
	m->counter[m->n_counters++] = copy;
	return copy.id;
}

void model_counters_release(struct pm_model *m)
{
	/* The last counter of those that share attributes frees them. */
	for (uint32_t i = 0; i < m->n_counters; i++)
		if (i + 1 == m->n_counters || m->counter[i].attrs.field != m->counter[i + 1].attrs.field)
			pm_map_release(&m->counter[i].attrs);
	free(m->counter);
	if (!m->caps)
		return;
	free(m->caps->counter_slot);
	for (struct model_texts *t = m->caps->texts, *older; t; t = older) {
		older = t->older;
		free(t);
	}
}

void pm_counter_release(struct pm_counter *c)
{
	free(c->name);
	free(c->display);
	free(c->source);
	free(c->unit);
	free(c->scale.text);
	pm_map_release(&c->attrs);
	*c = (struct pm_counter){ 0 };
}

int pm_counter_copy(struct pm_counter *to, const struct pm_counter *from)
{
	*to = *from;
	to->attrs = (struct pm_map){ 0 };
	to->name = strdup(from->name);
	to->display = strdup(from->display);
	to->source = strdup(from->source);
	to->unit = strdup(from->unit);
	to->scale.text = from->scale.text ? strdup(from->scale.text) : NULL;
	if (to->name && to->display && to->source && to->unit && !to->scale.text == !from->scale.text &&
	    !pm_map_copy(&to->attrs, &from->attrs))
		return 0;
	pm_counter_release(to);
	return -ENOMEM;
}

bool model_counter_equal(const struct pm_counter *a, const struct pm_counter *b)
{
	bool scale_text =
		!a->scale.text == !b->scale.text && (!a->scale.text || !strcmp(a->scale.text, b->scale.text));

	return !strcmp(a->name, b->name) && !strcmp(a->display, b->display) && !strcmp(a->source, b->source) &&
	       !strcmp(a->unit, b->unit) && scale_text && a->scale.num == b->scale.num &&
	       a->scale.den == b->scale.den && a->type == b->type && a->semantics == b->semantics &&
	       a->width == b->width && a->aggregation == b->aggregation && pm_map_equal(&a->attrs, &b->attrs);
}

const struct pm_counter *pm_model_counter(const struct pm_model *m, uint32_t id)
{
	return id && id <= m->n_counters ? &m->counter[id - 1] : NULL;
}

const struct pm_counter *pm_model_counter_named(const struct pm_model *m, const char *name)
{
	return m->caps && m->caps->counter_slots ? pm_model_counter(m, *find_slot(m, name)) : NULL;
}

const char *pm_model_probe_name(const struct pm_model *m, const struct pm_probe *p)
{
	const struct pm_counter *c = strcmp(p->source, "perf") ? NULL : pm_model_counter_named(m, p->what);
	size_t len = c && c->display ? strlen(c->display) : 0;

	/* "cycles#2" is the second of that name. */
	return len && (strncmp(p->what, c->display, len) || p->what[len] != '#') ? c->display : p->what;
}

bool pm_counters_measure_alike(const struct pm_counter *a, const struct pm_counter *b)
{
	const char *x = a->scale.text ? a->scale.text : "", *y = b->scale.text ? b->scale.text : "";

	return !strcmp(x, y) && a->scale.num == b->scale.num && a->scale.den == b->scale.den &&
	       !strcmp(a->unit, b->unit);
}
