/* One-time values: a large machine has thousands, mostly the same on every CPU, so equal ones share an entry. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/names.h"
#include "format/limits.h"
#include "format/model_private.h"

void pm_config_release(struct pm_config *c)
{
	free(c->name);
	cpulist_release(&c->instances);
	pm_value_release(&c->value);
	*c = (struct pm_config){ 0 };
}

int pm_config_copy(struct pm_config *to, const struct pm_config *from)
{
	int err;

	*to = *from;
	to->name = strdup(from->name);
	to->instances = (struct cpulist){ 0 };
	err = pm_value_copy(&to->value, &from->value);
	if (!err)
		err = to->name ? cpulist_copy(&to->instances, &from->instances) : -ENOMEM;
	if (err)
		pm_config_release(to);
	return err;
}

static bool same_but_instances(const struct pm_config *a, const struct pm_config *b)
{
	return a->privacy == b->privacy && a->time_ns == b->time_ns && a->kind == b->kind && a->reason == b->reason &&
	       !strcmp(a->name, b->name) && pm_value_equal(&a->value, &b->value);
}

static uint64_t hash_of(const struct pm_config *c)
{
	uint64_t h = names_mix(names_secret(), c->name, strlen(c->name));

	h = names_mix(h, &c->time_ns, sizeof(c->time_ns));
	h = names_mix(h, &c->kind, sizeof(c->kind));
	h = names_mix(h, &c->reason, sizeof(c->reason));
	if (c->value.kind == PM_VALUE_TEXT || c->value.kind == PM_VALUE_BYTES)
		return names_mix(h, c->value.str.data, c->value.str.len);
	if (c->value.kind == PM_VALUE_U64)
		return names_mix(h, &c->value.u64, sizeof(c->value.u64));
	if (c->value.kind == PM_VALUE_ARRAY)
		for (uint32_t i = 0; i < c->value.array.n; i++)
			if (c->value.array.item[i].kind == PM_VALUE_U64)
				h = names_mix(h, &c->value.array.item[i].u64, sizeof(uint64_t));
	return h;
}

/* The slot of an equal entry, or the free one for it. */
static struct config_slot *find(const struct pm_model *m, const struct pm_config *c, uint64_t hash)
{
	const struct pm_model_caps *caps = m->caps;

	for (uint32_t i = (uint32_t)hash & (caps->config_slots - 1);; i = (i + 1) & (caps->config_slots - 1)) {
		struct config_slot *s = &caps->config_slot[i];

		if (!s->index || (s->hash == hash && same_but_instances(&m->config[s->index - 1], c)))
			return s;
	}
}

static int grow_slots(struct pm_model_caps *caps)
{
	uint32_t slots = caps->config_slots ? caps->config_slots * 2 : 64;
	struct config_slot *slot = calloc(slots, sizeof(*slot));

	if (!slot)
		return -ENOMEM;
	for (uint32_t i = 0; i < caps->config_slots; i++) {
		uint32_t at = (uint32_t)caps->config_slot[i].hash & (slots - 1);

		if (!caps->config_slot[i].index)
			continue;
		while (slot[at].index)
			at = (at + 1) & (slots - 1);
		slot[at] = caps->config_slot[i];
	}
	free(caps->config_slot);
	caps->config_slot = slot;
	caps->config_slots = slots;
	return 0;
}

static int join(struct pm_model *m, struct cpulist *into, const struct cpulist *from)
{
	for (size_t i = 0; i < from->n; i++) {
		int err = 0;

		if (cpulist_has(into, from->cpu[i]))
			continue;
		err = model_account(m, sizeof(*into->cpu));
		if (!err)
			err = cpulist_add(into, from->cpu[i]);
		if (err)
			return err;
		m->caps->config_changes++;
	}
	return 0;
}

int pm_model_add_config(struct pm_model *m, const struct pm_config *c)
{
	struct pm_config copy = { 0 };
	struct config_slot *slot;
	uint64_t hash;
	uint32_t older = 0;
	int err;

	if (!c->name || !*c->name)
		return -EINVAL;
	if (strlen(c->name) > PM_MAX_NAME)
		return -E2BIG;
	err = model_account(m, 0);
	if (!err && m->n_configs + m->n_configs / 2 >= m->caps->config_slots)
		err = grow_slots(m->caps);
	if (err)
		return err;
	hash = hash_of(c);
	slot = find(m, c, hash);
	if (slot->index)
		return join(m, &m->config[slot->index - 1].instances, &c->instances);
	err = model_grow(m, &m->config, m->n_configs, PM_MAX_CONFIGS, sizeof(copy),
			 sizeof(copy) + 2 * strlen(c->name) + model_value_size(&c->value) + c->instances.n * 4 + 64);
	if (!err)
		err = array_room(&m->caps->config_older, m->n_configs, sizeof(older));
	if (err)
		return err;
	err = pm_config_copy(&copy, c);
	names_get(&m->caps->config_names, c->name, &older);
	if (!err)
		err = names_set(&m->caps->config_names, c->name, m->n_configs + 1);
	if (err) {
		pm_config_release(&copy);
		return err;
	}
	*slot = (struct config_slot){ .hash = hash, .index = m->n_configs + 1 };
	m->caps->config_older[m->n_configs] = older;
	m->config[m->n_configs++] = copy;
	m->caps->config_changes++;
	return 0;
}

const struct pm_config *pm_model_config(const struct pm_model *m, const char *name, uint32_t number)
{
	uint32_t at;

	if (!m->caps || !names_get(&m->caps->config_names, name, &at))
		return NULL;
	for (; at; at = m->caps->config_older[at - 1]) {
		const struct pm_config *c = &m->config[at - 1];

		if (number == PM_NONE || cpulist_has(&c->instances, number))
			return c;
	}
	return NULL;
}
