/* The model to bodies of definition and event frames. Lists go in slices, so that no frame gets too large. */
#include <string.h>

#include "format/cbor.h"
#include "format/definitions.h"
#include "format/definitions_key.h"

static void add_text(struct buf *out, unsigned key, const char *text)
{
	cbor_add_uint(out, key);
	cbor_add_text(out, text, strlen(text));
}

static void add_uint(struct buf *out, unsigned key, uint64_t v)
{
	cbor_add_uint(out, key);
	cbor_add_uint(out, v);
}

static void add_attrs(struct buf *out, unsigned key, const struct pm_map *attrs)
{
	if (!attrs->n)
		return;
	cbor_add_uint(out, key);
	cbor_add_map(out, attrs);
}

/* Items are put together apart from their array, because its head tells their number. */
static void add_items(struct buf *out, unsigned key, uint64_t n, struct buf *items)
{
	cbor_add_uint(out, key);
	cbor_add_head(out, CBOR_ARRAY, n);
	if (items->err && !out->err)
		out->err = items->err;
	buf_add(out, items->data, items->len);
}

void encode_header(struct buf *out, const struct pm_model *m)
{
	cbor_add_map(out, &m->header);
}

/* One row a number of struct pm_cpu. */
static const struct {
	unsigned key;
	size_t offset;
} cpu_numbers[] = {
	{ TOPOLOGY_CPU, offsetof(struct pm_cpu, cpu) },
	{ TOPOLOGY_PACKAGE, offsetof(struct pm_cpu, package) },
	{ TOPOLOGY_DIE, offsetof(struct pm_cpu, die) },
	{ TOPOLOGY_CLUSTER, offsetof(struct pm_cpu, cluster) },
	{ TOPOLOGY_CORE, offsetof(struct pm_cpu, core) },
	{ TOPOLOGY_NODE, offsetof(struct pm_cpu, node) },
	{ TOPOLOGY_THREAD, offsetof(struct pm_cpu, thread) },
	{ TOPOLOGY_L1D, offsetof(struct pm_cpu, cache[PM_CACHE_L1D]) },
	{ TOPOLOGY_L1I, offsetof(struct pm_cpu, cache[PM_CACHE_L1I]) },
	{ TOPOLOGY_L2, offsetof(struct pm_cpu, cache[PM_CACHE_L2]) },
	{ TOPOLOGY_L3, offsetof(struct pm_cpu, cache[PM_CACHE_L3]) },
	{ TOPOLOGY_TYPE, offsetof(struct pm_cpu, type) },
	{ TOPOLOGY_CAPACITY, offsetof(struct pm_cpu, capacity) },
};
#define CPU_NUMBERS (sizeof(cpu_numbers) / sizeof(cpu_numbers[0]))

static uint32_t cpu_number(const struct pm_cpu *c, size_t i)
{
	uint32_t v;

	memcpy(&v, (const char *)c + cpu_numbers[i].offset, sizeof(v));
	return v;
}

static bool known_anywhere(const struct pm_topology *t, size_t i)
{
	for (uint32_t k = 0; k < t->n; k++)
		if (cpu_number(&t->cpu[k], i) != PM_NONE)
			return true;
	return false;
}

void encode_topology(struct buf *out, const struct pm_topology *t)
{
	uint64_t fields = 2 + (t->n_types > 0);

	for (size_t i = 0; i < CPU_NUMBERS; i++)
		fields += known_anywhere(t, i);
	cbor_add_head(out, CBOR_MAP, fields);
	add_uint(out, TOPOLOGY_TIME, t->time_ns);
	for (size_t i = 0; i < CPU_NUMBERS; i++) {
		if (!known_anywhere(t, i))
			continue;
		cbor_add_uint(out, cpu_numbers[i].key);
		cbor_add_head(out, CBOR_ARRAY, t->n);
		for (uint32_t k = 0; k < t->n; k++) {
			uint32_t v = cpu_number(&t->cpu[k], i);

			cbor_add_int(out, v == PM_NONE ? -1 : (int64_t)v);
		}
	}
	cbor_add_uint(out, TOPOLOGY_ONLINE);
	cbor_add_head(out, CBOR_ARRAY, t->n);
	for (uint32_t k = 0; k < t->n; k++)
		cbor_add_uint(out, t->cpu[k].online);
	if (!t->n_types)
		return;
	cbor_add_uint(out, TOPOLOGY_TYPE_NAMES);
	cbor_add_head(out, CBOR_ARRAY, t->n_types);
	for (uint32_t k = 0; k < t->n_types; k++)
		cbor_add_text(out, t->type[k], strlen(t->type[k]));
}

static void add_counter(struct buf *out, const struct pm_counter *c)
{
	bool display = strcmp(c->display, c->name) != 0;
	bool scale = c->scale.text || c->scale.num != 1 || c->scale.den != 1;

	cbor_add_head(out, CBOR_MAP,
		      3u + display + scale + (c->type != 0) + (c->semantics != 0) + (c->width != 64) +
			      (c->aggregation != 0) + (c->attrs.n > 0));
	add_text(out, COUNTER_NAME, c->name);
	if (display)
		add_text(out, COUNTER_DISPLAY, c->display);
	add_text(out, COUNTER_SOURCE, c->source);
	add_text(out, COUNTER_UNIT, c->unit);
	if (c->scale.text) {
		add_text(out, COUNTER_SCALE, c->scale.text);
	} else if (scale) {
		cbor_add_uint(out, COUNTER_SCALE);
		cbor_add_head(out, CBOR_ARRAY, 2);
		cbor_add_uint(out, c->scale.num);
		cbor_add_uint(out, c->scale.den);
	}
	if (c->type)
		add_uint(out, COUNTER_TYPE, c->type);
	if (c->semantics)
		add_uint(out, COUNTER_SEMANTICS, c->semantics);
	if (c->width != 64)
		add_uint(out, COUNTER_WIDTH, c->width);
	if (c->aggregation)
		add_uint(out, COUNTER_AGGREGATION, c->aggregation);
	add_attrs(out, COUNTER_ATTRS, &c->attrs);
}

/* Length of the arithmetic progression that starts at id[0]; *step is its step. Ids that fall end it. */
static uint32_t progression(const uint32_t *id, uint32_t n, uint32_t *step)
{
	uint32_t count = 1;

	*step = n > 1 && id[1] >= id[0] ? id[1] - id[0] : 0;
	while (count < n && id[count] == id[count - 1] + *step)
		count++;
	return count;
}

static void add_ids(struct buf *out, unsigned key, const uint32_t *id, uint32_t n)
{
	uint32_t step, runs = 0;

	for (uint32_t i = 0; i < n; runs++)
		i += progression(id + i, n - i, &step);
	cbor_add_uint(out, key);
	cbor_add_head(out, CBOR_ARRAY, 3ull * runs);
	for (uint32_t i = 0; i < n;) {
		uint32_t count = progression(id + i, n - i, &step);

		cbor_add_uint(out, id[i]);
		cbor_add_uint(out, count);
		cbor_add_uint(out, step);
		i += count;
	}
}

static void add_group(struct buf *out, const struct pm_group *g)
{
	cbor_add_head(out, CBOR_MAP, 3u + (g->flags != 0));
	add_text(out, GROUP_SOURCE, g->source);
	if (g->flags)
		add_uint(out, GROUP_FLAGS, g->flags);
	add_ids(out, GROUP_COUNTERS, g->counter, g->n_counters);
	add_ids(out, GROUP_INSTANCES, g->instance, g->n_instances);
}

/* Takes items of the span until the slice is full; returns how many. */
#define TAKE(out, span, add) \
	for (; (span)->from < (span)->to && (out)->len < DEFINITIONS_SLICE && !(out)->err; (span)->from++) \
	add

void encode_schema(struct buf *out, const struct pm_model *m, struct span *counters, struct span *groups,
		   struct span *strings)
{
	struct buf c = BUF_INIT, g = BUF_INIT, s = BUF_INIT;
	struct span first_counter = *counters, first_group = *groups, first_string = *strings;
	uint64_t parts;

	TAKE(&c, counters, add_counter(&c, &m->counter[counters->from]));
	/* Groups name counters, so none goes out before all counters have. */
	if (counters->from == counters->to)
		TAKE(&g, groups, add_group(&g, &m->group[groups->from]));
	TAKE(&s, strings, cbor_add_value(&s, &m->string[strings->from]));
	parts = (counters->from > first_counter.from) + (groups->from > first_group.from) +
		(strings->from > first_string.from);
	cbor_add_head(out, CBOR_MAP, 2 * parts);
	if (counters->from > first_counter.from) {
		add_uint(out, SCHEMA_FIRST_COUNTER, first_counter.from + 1ull);
		add_items(out, SCHEMA_COUNTERS, counters->from - first_counter.from, &c);
	}
	if (groups->from > first_group.from) {
		add_uint(out, SCHEMA_FIRST_GROUP, first_group.from + 1ull);
		add_items(out, SCHEMA_GROUPS, groups->from - first_group.from, &g);
	}
	if (strings->from > first_string.from) {
		add_uint(out, SCHEMA_FIRST_STRING, first_string.from + 1ull);
		add_items(out, SCHEMA_STRINGS, strings->from - first_string.from, &s);
	}
	buf_release(&c);
	buf_release(&g);
	buf_release(&s);
}

static void add_instance(struct buf *out, const struct pm_instance *i)
{
	cbor_add_head(out, CBOR_MAP,
		      1u + (i->number != PM_NONE) + (i->cpu != PM_NONE) + (i->added_ns != 0) + (i->retired_ns != 0) +
			      (i->attrs.n > 0));
	add_uint(out, INSTANCE_KIND, i->kind);
	if (i->number != PM_NONE)
		add_uint(out, INSTANCE_NUMBER, i->number);
	if (i->cpu != PM_NONE)
		add_uint(out, INSTANCE_CPU, i->cpu);
	if (i->added_ns)
		add_uint(out, INSTANCE_ADDED, i->added_ns);
	if (i->retired_ns)
		add_uint(out, INSTANCE_RETIRED, i->retired_ns);
	add_attrs(out, INSTANCE_ATTRS, &i->attrs);
}

void encode_instances(struct buf *out, const struct pm_model *m, struct span *instances)
{
	uint32_t first = instances->from;
	struct buf items = BUF_INIT;

	TAKE(&items, instances, add_instance(&items, &m->instance[instances->from]));
	cbor_add_head(out, CBOR_MAP, 2);
	add_uint(out, INSTANCES_FIRST, first + 1ull);
	add_items(out, INSTANCES_LIST, instances->from - first, &items);
	buf_release(&items);
}

void encode_retired(struct buf *out, const uint64_t *pairs, size_t n)
{
	cbor_add_head(out, CBOR_MAP, 1);
	cbor_add_uint(out, INSTANCES_RETIRED);
	cbor_add_head(out, CBOR_ARRAY, 2 * n);
	for (size_t i = 0; i < 2 * n; i++)
		cbor_add_uint(out, pairs[i]);
}

static void add_list(struct buf *out, uint32_t first, uint32_t n, struct buf *items)
{
	cbor_add_head(out, CBOR_MAP, 2);
	add_uint(out, LIST_FIRST, first);
	add_items(out, LIST_ITEMS, n, items);
	buf_release(items);
}

void encode_pmus(struct buf *out, const struct pm_model *m, struct span *pmus)
{
	uint32_t first = pmus->from;
	struct buf items = BUF_INIT;

	TAKE(&items, pmus, cbor_add_map(&items, &m->pmu[pmus->from].attrs));
	add_list(out, first, pmus->from - first, &items);
}

static void add_probe(struct buf *out, const struct pm_probe *p)
{
	cbor_add_head(out, CBOR_MAP, 3u + (p->hint != NULL) + (p->attrs.n > 0));
	add_text(out, PROBE_SOURCE, p->source);
	add_text(out, PROBE_WHAT, p->what);
	if (p->hint)
		add_text(out, PROBE_HINT, p->hint);
	add_uint(out, PROBE_REASON, p->reason);
	add_attrs(out, PROBE_ATTRS, &p->attrs);
}

void encode_probes(struct buf *out, const struct pm_model *m, struct span *probes)
{
	uint32_t first = probes->from;
	struct buf items = BUF_INIT;

	TAKE(&items, probes, add_probe(&items, &m->probe[probes->from]));
	add_list(out, first, probes->from - first, &items);
}

static void add_ranges(struct buf *out, unsigned key, const struct cpulist *l)
{
	uint64_t ranges = 0;

	for (size_t i = 0; i < l->n; i++)
		ranges += !i || l->cpu[i] != l->cpu[i - 1] + 1;
	cbor_add_uint(out, key);
	cbor_add_head(out, CBOR_ARRAY, 2 * ranges);
	for (size_t i = 0; i < l->n;) {
		size_t n = 1;

		while (i + n < l->n && l->cpu[i + n] == l->cpu[i] + n)
			n++;
		cbor_add_uint(out, l->cpu[i]);
		cbor_add_uint(out, n);
		i += n;
	}
}

static void add_config(struct buf *out, const struct pm_config *c)
{
	cbor_add_head(out, CBOR_MAP, 3u + (c->instances.n > 0) + (c->reason != 0) + (c->reason == 0));
	add_text(out, CONFIG_NAME, c->name);
	add_uint(out, CONFIG_TIME, c->time_ns);
	add_uint(out, CONFIG_KIND, c->kind);
	if (c->instances.n)
		add_ranges(out, CONFIG_INSTANCES, &c->instances);
	if (c->reason) {
		add_uint(out, CONFIG_REASON, c->reason);
		return;
	}
	cbor_add_uint(out, CONFIG_VALUE + 100u * c->privacy);
	cbor_add_value(out, &c->value);
}

void encode_config(struct buf *out, const struct pm_model *m, struct span *configs,
		   bool (*chosen)(const void *ctx, uint32_t index), const void *ctx)
{
	struct buf items = BUF_INIT;
	uint64_t n = 0;

	TAKE(&items, configs, {
		if (chosen && !chosen(ctx, configs->from))
			continue;
		add_config(&items, &m->config[configs->from]);
		n++;
	});
	cbor_add_head(out, CBOR_MAP, 1);
	add_items(out, CONFIG_ITEMS, n, &items);
	buf_release(&items);
}

void encode_event(struct buf *out, const struct pm_event *e)
{
	cbor_add_head(out, CBOR_MAP, 2u + (e->attrs.n > 0));
	add_uint(out, EVENT_TYPE, e->type);
	add_uint(out, EVENT_TIME, e->time_ns);
	add_attrs(out, EVENT_ATTRS, &e->attrs);
}
