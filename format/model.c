#include "format/model.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/names.h"
#include "common/parse.h"
#include "format/limits.h"

static uint64_t model_map_size(const struct pm_map *m);

static char *copy_text(const char *text)
{
	return strdup(text ? text : "");
}

void pm_model_init(struct pm_model *m)
{
	*m = (struct pm_model){ 0 };
}

void pm_probe_release(struct pm_probe *p)
{
	free(p->source);
	pm_value_release(&p->what);
	pm_value_release(&p->hint);
	pm_map_release(&p->attrs);
	*p = (struct pm_probe){ 0 };
}

int pm_probe_copy(struct pm_probe *to, const struct pm_probe *from)
{
	*to = (struct pm_probe){ .source = copy_text(from->source), .reason = from->reason };
	if (to->source && pm_remark_code(&from->what) && !pm_value_copy(&to->what, &from->what) &&
	    !pm_value_copy(&to->hint, &from->hint) && !pm_map_copy(&to->attrs, &from->attrs))
		return 0;
	pm_probe_release(to);
	return -ENOMEM;
}

void pm_topology_release(struct pm_topology *t)
{
	free(t->cpu);
	for (uint32_t i = 0; i < t->n_types; i++)
		free(t->type[i]);
	free(t->type);
	*t = (struct pm_topology){ 0 };
}

static void model_ids_release(struct model_ids *ids)
{
	free(ids->place);
	free(ids->spare);
	free(ids->retired);
	*ids = (struct model_ids){ 0 };
}

struct model_texts {
	struct model_texts *older;
	size_t used, cap;
	char data[];
};

static void model_counters_release(struct pm_model *m)
{
	/* The last counter of those that share attributes frees them. */
	for (uint32_t i = 0; i < m->n_counters; i++)
		if (i + 1 == m->n_counters || m->counter[i].attrs.field != m->counter[i + 1].attrs.field)
			pm_map_release(&m->counter[i].attrs);
	free(m->counter);
	free(m->index.counters.slot);
	for (struct model_texts *t = m->index.texts, *older; t; t = older) {
		older = t->older;
		free(t);
	}
}

static void model_instance_release(struct pm_instance *i)
{
	pm_map_release(&i->attrs);
	*i = (struct pm_instance){ 0 };
}

void pm_model_release(struct pm_model *m)
{
	pm_map_release(&m->header);
	pm_topology_release(&m->topology);
	model_counters_release(m);
	for (uint32_t i = 0; i < m->n_instances; i++)
		model_instance_release(&m->instance[i]);
	for (uint32_t i = 0; i < m->n_groups; i++)
		pm_group_release(&m->group[i]);
	for (uint32_t i = 0; i < m->n_strings; i++)
		pm_value_release(&m->string[i]);
	for (uint32_t i = 0; i < m->n_pmus; i++)
		pm_map_release(&m->pmu[i].attrs);
	for (uint32_t i = 0; i < m->n_probes; i++)
		pm_probe_release(&m->probe[i]);
	for (uint32_t i = 0; i < m->n_configs; i++)
		pm_config_release(&m->config[i]);
	free(m->instance);
	free(m->group);
	free(m->string);
	free(m->pmu);
	free(m->probe);
	free(m->config);
	names_release(&m->strings);
	model_ids_release(&m->index.instance_ids);
	model_ids_release(&m->index.group_ids);
	names_release(&m->index.config_names);
	free(m->index.config_older);
	free(m->index.configs.slot);
	*m = (struct pm_model){ 0 };
}

/* -E2BIG when the model would grow beyond PM_MAX_MODEL, else 0 and counted. */
static int model_account(struct pm_model *m, uint64_t bytes)
{
	if (bytes > PM_MAX_MODEL - m->index.bytes)
		return -E2BIG;
	m->index.bytes += bytes;
	return 0;
}

/* The same, and room for one more in a list of the model, or -E2BIG beyond `max`. */
static int model_grow(struct pm_model *m, void *array, uint32_t n, uint32_t max, size_t size, uint64_t bytes)
{
	int err = model_account(m, bytes);

	return err ? err : n >= max ? -E2BIG : array_room(array, n, size);
}

int64_t model_append_string(struct pm_model *m, const void *data, size_t len, bool bytes)
{
	struct pm_value v;
	int err;

	if (len > PM_MAX_STRING)
		return -E2BIG;
	err = model_grow(m, &m->string, m->n_strings, PM_MAX_STRINGS, sizeof(v), sizeof(v) + 2 * len + 64);
	if (err)
		return err;
	v = bytes ? pm_bytes(data, len) : pm_text_n(data, len);
	if (!v.str.data)
		return -ENOMEM;
	m->string[m->n_strings++] = v;
	return m->n_strings;
}

int64_t pm_model_add_string(struct pm_model *m, const void *data, size_t len, bool bytes)
{
	/* Only texts without NUL can be keys of the map; others are rare and are added without a lookup. */
	bool key = !bytes && !memchr(data, '\0', len);
	const char *text;
	int64_t id;
	uint32_t known;
	int err;

	id = model_append_string(m, data, len, bytes);
	if (id < 0 || !key)
		return id;
	text = m->string[id - 1].str.data;
	if (names_get(&m->strings, text, &known)) {
		pm_value_release(&m->string[--m->n_strings]);
		return known;
	}
	err = names_set(&m->strings, text, (uint32_t)id);
	if (err)
		pm_value_release(&m->string[--m->n_strings]);
	return err ? err : id;
}

/* Bytes that a value or map holds outside itself. */
static uint64_t model_value_size(const struct pm_value *v)
{
	uint64_t size = 0;

	switch (v->kind) {
	case PM_VALUE_TEXT:
	case PM_VALUE_BYTES:
		return v->str.len + 24;
	case PM_VALUE_ARRAY:
		for (uint32_t i = 0; i < v->array.n; i++)
			size += sizeof(*v) + model_value_size(&v->array.item[i]);
		return size;
	case PM_VALUE_MAP:
		return model_map_size(&v->map);
	default:
		return 0;
	}
}

static uint64_t model_map_size(const struct pm_map *m)
{
	uint64_t size = 0;

	for (uint32_t i = 0; i < m->n; i++)
		size += sizeof(m->field[i]) + model_value_size(&m->field[i].value);
	return size;
}

int pm_model_add_pmu(struct pm_model *m, const struct pm_pmu *p)
{
	int err = model_grow(m, &m->pmu, m->n_pmus, PM_MAX_PMUS, sizeof(*p), sizeof(*p) + model_map_size(&p->attrs));

	if (!err)
		err = pm_map_copy(&m->pmu[m->n_pmus].attrs, &p->attrs);
	m->n_pmus += !err;
	return err;
}

int pm_model_add_probe(struct pm_model *m, const struct pm_probe *p)
{
	uint64_t size = sizeof(*p) + model_value_size(&p->what) + model_map_size(&p->attrs) + 64;
	int err = model_grow(m, &m->probe, m->n_probes, PM_MAX_PROBES, sizeof(*p), size);

	if (!err)
		err = pm_probe_copy(&m->probe[m->n_probes], p);
	m->n_probes += !err;
	return err;
}

static int compare_cpus(const void *a, const void *b)
{
	uint32_t x = ((const struct pm_cpu *)a)->cpu, y = ((const struct pm_cpu *)b)->cpu;

	return x < y ? -1 : x > y;
}

int pm_model_set_topology(struct pm_model *m, const struct pm_topology *t)
{
	struct pm_topology copy = { .time_ns = t->time_ns };

	if (t->n > PM_MAX_CPUS || t->n_types > PM_MAX_CPUS)
		return -E2BIG;
	copy.cpu = calloc(t->n ? t->n : 1, sizeof(*copy.cpu));
	copy.type = calloc(t->n_types ? t->n_types : 1, sizeof(*copy.type));
	if (!copy.cpu || !copy.type)
		goto no_memory;
	if (t->n)
		memcpy(copy.cpu, t->cpu, t->n * sizeof(*copy.cpu));
	copy.n = t->n;
	qsort(copy.cpu, copy.n, sizeof(*copy.cpu), compare_cpus);
	for (; copy.n_types < t->n_types; copy.n_types++) {
		copy.type[copy.n_types] = copy_text(t->type[copy.n_types]);
		if (!copy.type[copy.n_types])
			goto no_memory;
	}
	pm_topology_release(&m->topology);
	m->topology = copy;
	m->index.topology_version++;
	return 0;

no_memory:
	pm_topology_release(&copy);
	return -ENOMEM;
}

const struct pm_value *pm_model_string(const struct pm_model *m, uint32_t id)
{
	return id && id <= m->n_strings ? &m->string[id - 1] : NULL;
}

const struct pm_cpu *pm_topology_cpu(const struct pm_topology *t, uint32_t cpu)
{
	size_t at = ARRAY_PLACE(t->n, i, t->cpu[i].cpu < cpu);

	return at < t->n && t->cpu[at].cpu == cpu ? &t->cpu[at] : NULL;
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *const kinds[] = {
	[PM_SYSTEM] = "system", [PM_PACKAGE] = "package", [PM_DIE] = "die",       [PM_CLUSTER] = "cluster",
	[PM_CACHE] = "cache",   [PM_NODE] = "node",       [PM_CORE] = "core",     [PM_CPU] = "cpu",
	[PM_PMU] = "pmu",       [PM_TASK] = "task",       [PM_CGROUP] = "cgroup", [PM_DEVICE] = "device",
};

static const char *const types[] = {
	[PM_U64] = "u64", [PM_S64] = "s64", [PM_F64] = "f64", [PM_TEXT] = "text", [PM_BYTES] = "bytes",
};

static const char *const semantics_words[] = {
	[PM_CUMULATIVE] = "cumulative", [PM_DELTA] = "delta",       [PM_GAUGE] = "gauge", [PM_PEAK] = "peak",
	[PM_STATE] = "state",           [PM_BITFIELD] = "bitfield",
};

static const char *const aggregations[] = {
	[PM_AGG_SUM] = "sum", [PM_AGG_MEAN] = "mean",   [PM_AGG_MAX] = "max",
	[PM_AGG_MIN] = "min", [PM_AGG_FIRST] = "first", [PM_AGG_NONE] = "none",
};

/* clang-format off */
static const char *const events[] = {
	[PM_EVENT_MARKER] = "marker",           [PM_EVENT_CPU_ONLINE] = "cpu-online",
	[PM_EVENT_CPU_OFFLINE] = "cpu-offline", [PM_EVENT_LOST] = "lost",
	[PM_EVENT_CLOCK_STEP] = "clock-step",   [PM_EVENT_SUSPEND] = "suspend",
	[PM_EVENT_ENABLE] = "enable",           [PM_EVENT_DISABLE] = "disable",
	[PM_EVENT_CHILD_START] = "child-start", [PM_EVENT_CHILD_EXIT] = "child-exit",
	[PM_EVENT_FAILED] = "failed",           [PM_EVENT_RUN_START] = "run-start",
	[PM_EVENT_RUN_END] = "run-end",         [PM_EVENT_GONE] = "gone",
	[PM_EVENT_NOTE] = "note",
};

/* clang-format on */

static const struct {
	const char *name, *text;
} reasons[] = {
	[PM_OK] = { "ok", "there is a value" },
	[PM_REASON_NOT_COUNTED] = { "not-counted", "the event never ran in the interval" },
	[PM_REASON_NOT_SUPPORTED] = { "not-supported", "not supported by the kernel or the hardware" },
	[PM_REASON_NO_PERMISSION] = { "no-permission", "permission was refused" },
	[PM_REASON_OFFLINE] = { "offline", "its CPU was offline" },
	[PM_REASON_MISSED] = { "missed", "the reader came too late for this snapshot" },
	[PM_REASON_GONE] = { "gone", "the task, cgroup, device or file has ended" },
	[PM_REASON_DROPPED] = { "dropped", "it was read, but lost before it was written" },
	[PM_REASON_SUSPECT] = { "suspect", "the value cannot be what it claims to be" },
	[PM_REASON_FORMAT] = { "format", "the kernel's text was not as expected" },
	[PM_REASON_NOT_READ] = { "not-read", "it was not due in this snapshot" },
	[PM_REASON_LEFT_OUT] = { "left-out", "it was recorded, and left out to make the file smaller" },
	[PM_REASON_NEWER] = { "newer", "it was recorded in a way that this version is too old to read" },
};

static const char *word(const char *const *table, size_t n, unsigned i)
{
	return i < n ? table[i] : NULL;
}

const char *pm_kind_name(enum pm_kind kind)
{
	return word(kinds, COUNT(kinds), kind);
}

const char *pm_type_name(enum pm_type type)
{
	return word(types, COUNT(types), type);
}

const char *pm_semantics_name(enum pm_semantics semantics)
{
	return word(semantics_words, COUNT(semantics_words), semantics);
}

const char *pm_aggregation_name(enum pm_aggregation aggregation)
{
	return word(aggregations, COUNT(aggregations), aggregation);
}

const char *pm_event_name(enum pm_event_type type)
{
	return word(events, COUNT(events), type);
}

const char *pm_reason_name(uint16_t reason, char buf[static 16])
{
	if (reason < COUNT(reasons))
		return reasons[reason].name;
	if (reason > PM_REASON_ERRNO && reason < PM_REASON_ERRNO + 1000)
		snprintf(buf, 16, "errno-%u", (unsigned)(reason - PM_REASON_ERRNO));
	else
		snprintf(buf, 16, "reason-%u", reason);
	return buf;
}

const char *pm_reason_text(uint16_t reason)
{
	const char *text = NULL;

	if (reason < COUNT(reasons))
		return reasons[reason].text;
	if (reason > PM_REASON_ERRNO && reason < PM_REASON_ERRNO + 1000)
		text = strerrordesc_np(reason - PM_REASON_ERRNO);
	return text ? text : "for a reason that this version does not know";
}

void pm_event_release(struct pm_event *e)
{
	pm_map_release(&e->attrs);
	*e = (struct pm_event){ 0 };
}

static uint32_t id_at(const void *array, uint32_t place, size_t size)
{
	uint32_t id;

	memcpy(&id, (const char *)array + place * size, sizeof(id));
	return id;
}

static uint32_t id_place(const struct model_ids *ids, uint32_t id)
{
	return (uint32_t)(id * ids->secret >> 32) & (ids->places - 1);
}

/* The place of an id in the array; PM_NONE if it is not there. Items begin with their id. */
static uint32_t model_ids_place(const struct model_ids *ids, const void *array, uint32_t n, size_t size, uint32_t id)
{
	uint32_t mask = ids->places - 1;

	if (!id)
		return PM_NONE;
	if (id <= n && id_at(array, id - 1, size) == id)
		return id - 1;
	if (!ids->place)
		return PM_NONE;
	for (uint32_t i = id_place(ids, id); ids->place[i]; i = (i + 1) & mask)
		if (id_at(array, ids->place[i] - 1, size) == id)
			return ids->place[i] - 1;
	return PM_NONE;
}

/* Notes the place of an id that is not in the map. */
static void put_id(struct model_ids *ids, uint32_t id, uint32_t place)
{
	uint32_t mask = ids->places - 1, i = id_place(ids, id);

	while (ids->place[i])
		i = (i + 1) & mask;
	ids->place[i] = place + 1;
}

/* Builds a map of `n` items with room for as many more. 0 or -ENOMEM. */
static int build(struct model_ids *ids, const void *array, uint32_t n, size_t size)
{
	uint32_t places = 64;

	while (places / 4 < n)
		places *= 2;
	ids->secret = names_secret() | 1;
	free(ids->place);
	ids->place = calloc(places, sizeof(*ids->place));
	ids->places = ids->place ? places : 0;
	for (uint32_t i = 0; i < n && ids->place; i++)
		put_id(ids, id_at(array, i, size), i);
	return ids->place ? 0 : -ENOMEM;
}

/* The array grows at its end by an item with this id and gets a slot for it; -ENOMEM. Call before it is counted. */
static int model_ids_add(struct model_ids *ids, const void *array, uint32_t n, size_t size, uint32_t id,
			 uint32_t *slot)
{
	int err = 0;

	if (ids->place ? n >= ids->places / 2 : id != n + 1)
		err = build(ids, array, n, size);
	/* Allocate now, so that giving a slot back cannot fail. */
	if (!err)
		err = array_hold(&ids->spare, &ids->spare_room, ids->slots + 1ull, sizeof(*ids->spare));
	if (err)
		return err;
	*slot = ids->n_spare ? ids->spare[--ids->n_spare] : ids->slots++;
	/* The item is stored behind the others before anyone looks it up. */
	if (ids->place)
		put_id(ids, id, n);
	return 0;
}

static int model_ids_retire(struct model_ids *ids, uint32_t id)
{
	if (array_room(&ids->retired, ids->n_retired, sizeof(id)))
		return -ENOMEM;
	ids->retired[ids->n_retired++] = id;
	return 0;
}

/* After items were dropped: nothing has retired. */
static void model_ids_rebuild(struct model_ids *ids, const void *array, uint32_t n, size_t size)
{
	ids->n_retired = ids->n_kept = 0;
	memset(ids->place, 0, ids->places * sizeof(*ids->place));
	for (uint32_t i = 0; i < n; i++)
		put_id(ids, id_at(array, i, size), i);
}

#define KEY_ROW(key, number, kind, name) { key, PM_VALUE_##kind, name },
const struct pm_key_row pm_header_keys[] = { PM_HEADER_KEYS(KEY_ROW){ .key = 0 } };

const struct pm_key_row pm_counter_keys[] = { PM_COUNTER_KEYS(KEY_ROW){ .key = 0 } };

const struct pm_key_row pm_instance_keys[] = { PM_INSTANCE_KEYS(KEY_ROW){ .key = 0 } };

const struct pm_key_row pm_pmu_keys[] = { PM_PMU_KEYS(KEY_ROW){ .key = 0 } };

const struct pm_key_row pm_event_keys[] = { PM_EVENT_KEYS(KEY_ROW){ .key = 0 } };

const struct pm_key_row *pm_key_find(const struct pm_key_row *rows, uint32_t key)
{
	for (; rows->key; rows++)
		if (rows->key == key)
			return rows;
	return NULL;
}

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

/* Of all that pm_value_equal() compares: entries that differ in anything must not meet in one slot. */
static uint64_t value_hash(uint64_t h, const struct pm_value *v)
{
	bool string = v->kind == PM_VALUE_TEXT || v->kind == PM_VALUE_BYTES;
	uint64_t number = string                    ? v->str.len :
			  v->kind == PM_VALUE_ARRAY ? v->array.n :
			  v->kind == PM_VALUE_MAP   ? v->map.n :
			  v->kind == PM_VALUE_BOOL  ? v->boolean :
						      v->u64;

	h = names_mix(h, &v->kind, sizeof(v->kind));
	h = names_mix(h, &number, sizeof(number));
	if (string)
		return names_mix(h, v->str.data, v->str.len);
	for (uint32_t i = 0; v->kind == PM_VALUE_ARRAY && i < v->array.n; i++)
		h = value_hash(h, &v->array.item[i]);
	for (uint32_t i = 0; v->kind == PM_VALUE_MAP && i < v->map.n; i++) {
		h = names_mix(h, &v->map.field[i].key, sizeof(v->map.field[i].key));
		h = value_hash(h, &v->map.field[i].value);
	}
	return h;
}

static uint64_t hash_of(const struct pm_config *c)
{
	uint64_t h = names_mix(names_secret(), c->name, strlen(c->name));

	h = names_mix(h, &c->privacy, sizeof(c->privacy));
	h = names_mix(h, &c->time_ns, sizeof(c->time_ns));
	h = names_mix(h, &c->kind, sizeof(c->kind));
	h = names_mix(h, &c->reason, sizeof(c->reason));
	return value_hash(h, &c->value);
}

static uint32_t config_hash(const struct pm_model *m, uint32_t i)
{
	return (uint32_t)hash_of(&m->config[i]);
}

/* Makes room for one more than `n` items, which have these hashes. 0 or -ENOMEM. */
static int slots_room(struct model_slots *s, const struct pm_model *m, uint32_t n,
		      uint32_t (*hash)(const struct pm_model *m, uint32_t i))
{
	uint32_t wanted = s->n ? s->n * 2 : 64, *slot;

	if (n + n / 2 < s->n)
		return 0;
	slot = calloc(wanted, sizeof(*slot));
	if (!slot)
		return -ENOMEM;
	free(s->slot);
	*s = (struct model_slots){ slot, wanted };
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = hash(m, i) & (wanted - 1);

		while (slot[at])
			at = (at + 1) & (wanted - 1);
		slot[at] = i + 1;
	}
	return 0;
}

/* The slot of an equal entry, or the free one for it. */
static uint32_t *find_config(const struct pm_model *m, const struct pm_config *c)
{
	const struct model_slots *s = &m->index.configs;

	for (uint32_t i = (uint32_t)hash_of(c) & (s->n - 1);; i = (i + 1) & (s->n - 1))
		if (!s->slot[i] || same_but_instances(&m->config[s->slot[i] - 1], c))
			return &s->slot[i];
}

static int join_cpus(struct pm_model *m, struct pm_config *c, const struct cpulist *from)
{
	struct cpulist *into = &c->instances;

	for (size_t i = 0; i < from->n; i++) {
		int err = 0;

		if (cpulist_has(into, from->cpu[i]))
			continue;
		err = model_account(m, sizeof(*into->cpu));
		if (!err)
			err = cpulist_add(into, from->cpu[i]);
		if (err)
			return err;
		c->change = ++m->index.config_changes;
	}
	return 0;
}

int pm_model_add_config(struct pm_model *m, const struct pm_config *c)
{
	struct pm_config copy = { 0 };
	uint32_t older = 0, *slot;
	int err;

	if (!c->name || !*c->name)
		return -EINVAL;
	if (strlen(c->name) > PM_MAX_NAME)
		return -E2BIG;
	err = model_account(m, 0);
	if (!err)
		err = slots_room(&m->index.configs, m, m->n_configs, config_hash);
	if (err)
		return err;
	slot = find_config(m, c);
	if (*slot)
		return join_cpus(m, &m->config[*slot - 1], &c->instances);
	err = model_grow(m, &m->config, m->n_configs, PM_MAX_CONFIGS, sizeof(copy),
			 sizeof(copy) + 2 * strlen(c->name) + model_value_size(&c->value) + c->instances.n * 4 + 64);
	if (!err)
		err = array_room(&m->index.config_older, m->n_configs, sizeof(older));
	if (err)
		return err;
	err = pm_config_copy(&copy, c);
	names_get(&m->index.config_names, c->name, &older);
	if (!err)
		err = names_set(&m->index.config_names, c->name, m->n_configs + 1);
	if (err) {
		pm_config_release(&copy);
		return err;
	}
	*slot = m->n_configs + 1;
	m->index.config_older[m->n_configs] = older;
	copy.change = ++m->index.config_changes;
	m->config[m->n_configs++] = copy;
	return 0;
}

const struct pm_config *pm_model_config(const struct pm_model *m, const char *name, uint32_t number)
{
	uint32_t at;

	if (!names_get(&m->index.config_names, name, &at))
		return NULL;
	for (; at; at = m->index.config_older[at - 1]) {
		const struct pm_config *c = &m->config[at - 1];

		if (number == PM_NONE || cpulist_has(&c->instances, number))
			return c;
	}
	return NULL;
}

#define TEXTS_FIRST 1024
#define TEXTS_MOST  65536

static char *keep_text(struct pm_model_index *index, const char *text)
{
	struct model_texts *t = index->texts;
	size_t size = strlen(text) + 1;
	char *kept;

	if (!t || size > t->cap - t->used) {
		size_t cap = !t ? TEXTS_FIRST : t->cap < TEXTS_MOST ? t->cap * 2 : TEXTS_MOST;

		cap = cap > size ? cap : size;
		t = malloc(sizeof(*t) + cap);
		if (!t)
			return NULL;
		*t = (struct model_texts){ .older = index->texts, .cap = cap };
		index->texts = t;
	}
	kept = t->data + t->used;
	memcpy(kept, text, size);
	t->used += size;
	return kept;
}

/* `twin`, which the model already holds, if it is equal; else a copy. */
static char *share_text(struct pm_model_index *index, const char *text, char *twin)
{
	if (!text)
		text = "";
	return twin && !strcmp(text, twin) ? twin : keep_text(index, text);
}

static uint32_t counter_hash(const struct pm_model *m, uint32_t i)
{
	return names_hash(m->counter[i].name);
}

/* The slot of the counter of that name, or the free one for it. */
static uint32_t *find_slot(const struct pm_model *m, const char *name)
{
	const struct model_slots *s = &m->index.counters;

	for (uint32_t i = names_hash(name) & (s->n - 1);; i = (i + 1) & (s->n - 1))
		if (!s->slot[i] || !strcmp(m->counter[s->slot[i] - 1].name, name))
			return &s->slot[i];
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
	struct pm_model_index *index = &m->index;
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
		err = slots_room(&m->index.counters, m, m->n_counters, counter_hash);
	if (err)
		return err;
	before = m->n_counters ? &m->counter[m->n_counters - 1] : NULL;
	copy = (struct pm_counter){
		.id = m->n_counters + 1,
		.name = keep_text(index, c->name),
		.source = share_text(index, c->source, before ? before->source : NULL),
		.unit = share_text(index, c->unit, before ? before->unit : NULL),
		.scale = { .num = 1, .den = 1 },
		.type = c->type,
		.semantics = c->semantics,
		/* Only integers can wrap below 64 bits. */
		.width = !c->width || c->type >= PM_F64 ? 64 : c->width,
		.aggregation = c->aggregation,
		.newer = c->newer,
		.wide = c->wide,
	};
	copy.display = c->display ? share_text(index, c->display, copy.name) : copy.name;
	if (c->scale.text)
		copy.scale.text = share_text(index, c->scale.text, before ? before->scale.text : NULL);
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
	return m->index.counters.n ? pm_model_counter(m, *find_slot(m, name)) : NULL;
}

const struct pm_counter *pm_model_probe_counter(const struct pm_model *m, const struct pm_probe *p)
{
	const struct pm_value *v = &p->what;

	if (strcmp(p->source, "perf") || pm_remark_code(v) != PM_REMARK_EVENTS || v->array.n != 2 ||
	    v->array.item[1].kind != PM_VALUE_TEXT)
		return NULL;
	return pm_model_counter_named(m, v->array.item[1].str.data);
}

void pm_model_probe_text(const struct pm_model *m, const struct pm_probe *p, struct buf *out)
{
	const struct pm_counter *c = pm_model_probe_counter(m, p);
	size_t len = c && c->display ? strlen(c->display) : 0;

	/* "cycles#2" is the second of that name. */
	if (len && (strncmp(c->name, c->display, len) || c->name[len] != '#'))
		buf_addstr(out, c->display);
	else
		pm_remark_text(out, &p->what);
}

bool pm_counters_measure_alike(const struct pm_counter *a, const struct pm_counter *b)
{
	const char *x = a->scale.text ? a->scale.text : "", *y = b->scale.text ? b->scale.text : "";

	return !strcmp(x, y) && a->scale.num == b->scale.num && a->scale.den == b->scale.den &&
	       !strcmp(a->unit, b->unit);
}

#define FORGET_MIN 64 /* retired items for which a pass over the model is worthwhile */

void pm_group_release(struct pm_group *g)
{
	free(g->source);
	free(g->counter);
	free(g->instance);
	*g = (struct pm_group){ 0 };
}

bool model_group_equal(const struct pm_group *a, const struct pm_group *b)
{
	return !strcmp(a->source, b->source) && a->flags == b->flags && a->n_counters == b->n_counters &&
	       a->n_instances == b->n_instances &&
	       !memcmp(a->counter, b->counter, a->n_counters * sizeof(*a->counter)) &&
	       !memcmp(a->instance, b->instance, a->n_instances * sizeof(*a->instance));
}

static uint64_t instance_size(const struct pm_instance *i)
{
	return sizeof(*i) + model_map_size(&i->attrs);
}

static uint64_t group_size(const struct pm_group *g)
{
	return sizeof(*g) + 4ull * (g->n_counters + g->n_instances) + 32;
}

/* The array also holds the retired that are not yet forgotten; the limit is for those that live. */
static uint32_t most(uint32_t max, uint32_t retired)
{
	return retired > UINT32_MAX / 4 - max ? UINT32_MAX / 4 : max + retired;
}

static struct pm_instance *find_instance(const struct pm_model *m, uint32_t id)
{
	uint32_t at = model_ids_place(&m->index.instance_ids, m->instance, m->n_instances, sizeof(*m->instance), id);

	return at == PM_NONE ? NULL : &m->instance[at];
}

static struct pm_group *find_group(const struct pm_model *m, uint32_t id)
{
	uint32_t at = model_ids_place(&m->index.group_ids, m->group, m->n_groups, sizeof(*m->group), id);

	return at == PM_NONE ? NULL : &m->group[at];
}

int64_t model_add_instance(struct pm_model *m, const struct pm_instance *i, uint32_t id)
{
	struct pm_model_index *index = &m->index;
	struct pm_instance copy = *i;
	int err;

	err = model_grow(m, &m->instance, m->n_instances, most(PM_MAX_INSTANCES, index->instance_ids.n_retired),
			 sizeof(copy), instance_size(i));
	if (!err)
		err = pm_map_copy(&copy.attrs, &i->attrs);
	if (!err) {
		err = model_ids_add(&index->instance_ids, m->instance, m->n_instances, sizeof(copy), id, &copy.slot);
		if (err)
			pm_map_release(&copy.attrs);
	}
	if (err)
		return err;
	copy.id = id;
	copy.retired_ns = 0;
	m->instance[m->n_instances++] = copy;
	m->last_instance = id > m->last_instance ? id : m->last_instance;
	if (i->retired_ns && pm_model_retire_instance(m, id, i->retired_ns))
		return -ENOMEM;
	return id;
}

int64_t pm_model_add_instance(struct pm_model *m, const struct pm_instance *i)
{
	return m->last_instance == UINT32_MAX ? -E2BIG : model_add_instance(m, i, m->last_instance + 1);
}

uint32_t model_group_kept(const struct pm_group *g, const struct pm_group *from, uint32_t *place)
{
	uint32_t kept = 0;

	for (uint32_t at = 0; at < from->n_instances && kept < g->n_instances; at++) {
		if (from->instance[at] != g->instance[kept])
			continue;
		if (place)
			place[kept] = at;
		kept++;
	}
	return kept;
}

static bool continues(const struct pm_model *m, const struct pm_group *g)
{
	const struct pm_group *from = pm_model_group(m, g->continues);

	return from && !(g->flags & PM_GROUP_LIST) && from->flags == g->flags && from->n_counters == g->n_counters &&
	       !memcmp(from->counter, g->counter, g->n_counters * sizeof(*g->counter));
}

static bool ascend(const uint32_t *id, uint32_t n)
{
	for (uint32_t k = 1; k < n; k++)
		if (id[k] <= id[k - 1])
			return false;
	return true;
}

static int by_id(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* A column that occurs twice would be counted twice. Returns 0, -EINVAL or -ENOMEM; nearly all lists ascend. */
static int each_once(const uint32_t *id, const uint32_t *with, uint32_t n)
{
	SCOPED(scoped_free) uint64_t *sorted = NULL;
	int err = 0;

	if (ascend(id, n) || (with && ascend(with, n)))
		return 0;
	sorted = malloc(n * sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	for (uint32_t k = 0; k < n; k++)
		sorted[k] = (with ? (uint64_t)with[k] << 32 : 0) | id[k];
	qsort(sorted, n, sizeof(*sorted), by_id);
	for (uint32_t k = 1; k < n; k++)
		if (sorted[k] == sorted[k - 1])
			err = -EINVAL;
	return err;
}

static int check_group(const struct pm_model *m, const struct pm_group *g)
{
	uint64_t columns;
	int err;

	if (!g->n_counters || !g->n_instances ||
	    g->flags & ~(uint32_t)(PM_GROUP_LIST | PM_GROUP_SHARED_TIME | PM_GROUP_PERF_TIMES) ||
	    (g->flags & PM_GROUP_LIST && g->n_instances != g->n_counters))
		return -EINVAL;
	columns = g->flags & PM_GROUP_LIST ? g->n_counters : (uint64_t)g->n_counters * g->n_instances;
	if (columns + 4ull * g->n_instances > PM_MAX_COLUMNS)
		return -E2BIG;
	for (uint32_t k = 0; k < g->n_counters; k++)
		if (!pm_model_counter(m, g->counter[k]))
			return -EINVAL;
	for (uint32_t k = 0; k < g->n_instances; k++)
		if (!pm_model_instance(m, g->instance[k]))
			return -EINVAL;
	if (g->flags & PM_GROUP_LIST) {
		err = each_once(g->counter, g->instance, g->n_counters);
	} else {
		err = each_once(g->counter, NULL, g->n_counters);
		if (!err)
			err = each_once(g->instance, NULL, g->n_instances);
	}
	return !err && g->continues && !continues(m, g) ? -EINVAL : err;
}

static uint32_t *copy_ids(const uint32_t *id, uint32_t n)
{
	uint32_t *copy = malloc(n * sizeof(*copy));

	if (copy)
		memcpy(copy, id, n * sizeof(*copy));
	return copy;
}

int64_t model_add_group(struct pm_model *m, const struct pm_group *g, uint32_t id)
{
	struct pm_group copy = *g;
	int err = check_group(m, g);

	if (!err)
		err = model_grow(m, &m->group, m->n_groups, most(PM_MAX_GROUPS, m->index.group_ids.n_retired),
				 sizeof(copy), group_size(g));
	if (err)
		return err;
	copy.id = id;
	copy.retired = copy.continued = false;
	copy.source = strdup(g->source ? g->source : "");
	copy.counter = copy_ids(g->counter, g->n_counters);
	copy.instance = copy_ids(g->instance, g->n_instances);
	if (!copy.source || !copy.counter || !copy.instance ||
	    model_ids_add(&m->index.group_ids, m->group, m->n_groups, sizeof(copy), id, &copy.slot)) {
		pm_group_release(&copy);
		return -ENOMEM;
	}
	m->group[m->n_groups++] = copy;
	m->last_group = id > m->last_group ? id : m->last_group;
	if (g->continues) {
		find_group(m, g->continues)->continued = true;
		err = pm_model_retire_group(m, g->continues);
	}
	return err ? (int64_t)err : id;
}

int64_t pm_model_add_group(struct pm_model *m, const struct pm_group *g)
{
	return m->last_group == UINT32_MAX ? -E2BIG : model_add_group(m, g, m->last_group + 1);
}

const struct pm_instance *pm_model_instance(const struct pm_model *m, uint32_t id)
{
	return find_instance(m, id);
}

const struct pm_group *pm_model_group(const struct pm_model *m, uint32_t id)
{
	return find_group(m, id);
}

int pm_model_retire_instance(struct pm_model *m, uint32_t id, uint64_t time_ns)
{
	struct pm_instance *i = find_instance(m, id);

	if (!i)
		return -EINVAL;
	if (i->retired_ns)
		return 0;
	if (model_ids_retire(&m->index.instance_ids, id))
		return -ENOMEM;
	i->retired_ns = time_ns ? time_ns : 1;
	return 0;
}

int pm_model_retire_group(struct pm_model *m, uint32_t id)
{
	struct pm_group *g = find_group(m, id);

	if (!g)
		return -EINVAL;
	if (g->retired)
		return 0;
	if (model_ids_retire(&m->index.group_ids, id))
		return -ENOMEM;
	g->retired = true;
	return 0;
}

/* Those that stay have retired all the same. */
static void still_retired(struct model_ids *ids, uint32_t id)
{
	ids->retired[ids->n_retired++] = id;
	ids->n_kept = ids->n_retired;
}

static bool names_needed(const struct pm_model *m, const struct pm_group *g, const bool *needed)
{
	bool any = false;

	for (uint32_t k = 0; k < g->n_instances && !any && !g->continued; k++)
		any = needed[find_instance(m, g->instance[k])->slot];
	return any;
}

/* With what the groups that stay name, more is needed. */
static void forget_groups(struct pm_model *m, bool *needed)
{
	struct model_ids *ids = &m->index.group_ids;
	uint32_t n = 0;

	for (uint32_t i = 0; i < m->n_groups; i++) {
		struct pm_group *g = &m->group[i];

		if (!g->retired || names_needed(m, g, needed)) {
			m->group[n++] = *g;
			continue;
		}
		m->index.bytes -= group_size(g);
		ids->spare[ids->n_spare++] = g->slot;
		pm_group_release(g);
	}
	m->n_groups = n;
	model_ids_rebuild(ids, m->group, n, sizeof(*m->group));
	for (uint32_t i = 0; i < n; i++) {
		if (m->group[i].retired)
			still_retired(ids, m->group[i].id);
		for (uint32_t k = 0; k < m->group[i].n_instances; k++)
			needed[find_instance(m, m->group[i].instance[k])->slot] = true;
	}
}

static void forget_instances(struct pm_model *m, const bool *needed)
{
	struct model_ids *ids = &m->index.instance_ids;
	uint32_t n = 0;

	for (uint32_t i = 0; i < m->n_instances; i++) {
		struct pm_instance *x = &m->instance[i];

		if (!x->retired_ns || needed[x->slot]) {
			m->instance[n++] = *x;
			continue;
		}
		m->index.bytes -= instance_size(x);
		ids->spare[ids->n_spare++] = x->slot;
		model_instance_release(x);
	}
	m->n_instances = n;
	model_ids_rebuild(ids, m->instance, n, sizeof(*m->instance));
	for (uint32_t i = 0; i < n; i++)
		if (m->instance[i].retired_ns)
			still_retired(ids, m->instance[i].id);
}

/* Whether enough of all items have retired since the last time. */
static bool many(const struct model_ids *ids, uint32_t n)
{
	uint32_t retired = ids->n_retired - ids->n_kept;

	return retired >= FORGET_MIN && retired >= n / 3;
}

void pm_model_forget(struct pm_model *m, pm_model_needs *needs, void *ctx, bool few)
{
	struct pm_model_index *index = &m->index;
	SCOPED(scoped_free) bool *needed = NULL;

	if (!few && !many(&index->instance_ids, m->n_instances) && !many(&index->group_ids, m->n_groups))
		return;
	/* Without memory, try another time. */
	needed = calloc(index->instance_ids.slots + 1, sizeof(*needed));
	if (!needed ||
	    (!index->instance_ids.place &&
	     build(&index->instance_ids, m->instance, m->n_instances, sizeof(*m->instance))) ||
	    (!index->group_ids.place && build(&index->group_ids, m->group, m->n_groups, sizeof(*m->group))))
		return;
	if (needs)
		needs(ctx, m, needed);
	forget_groups(m, needed);
	forget_instances(m, needed);
	index->forgotten++;
}
