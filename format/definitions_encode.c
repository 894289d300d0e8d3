/* Turns the model into bodies of definition and event frames, in slices that keep frames small. */
#include <string.h>

#include "format/cbor.h"
#include "format/definitions.h"
#include "format/definitions_key.h"
#include "format/model_private.h"

static void add_text(struct cbor_fields *f, unsigned key, const char *text)
{
	cbor_field(f, key);
	cbor_add_text(f->out, text, strlen(text));
}

static void add_attrs(struct cbor_fields *f, unsigned key, const struct pm_map *attrs)
{
	if (!attrs->n)
		return;
	cbor_field(f, key);
	cbor_add_map(f->out, attrs);
}

/* Items are gathered separately from their array, because its head contains their count. */
static void add_items(struct cbor_fields *f, unsigned key, uint64_t n, const struct buf *items)
{
	cbor_field(f, key);
	cbor_add_head(f->out, CBOR_ARRAY, n);
	buf_carry(f->out, items);
	buf_add(f->out, items->data, items->len);
}

void encode_header(struct buf *out, const struct pm_model *m)
{
	cbor_add_map(out, &m->header);
}

/* One row per number of struct pm_cpu. */
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
	struct cbor_fields f = cbor_fields(out);

	cbor_field_uint(&f, TOPOLOGY_TIME, t->time_ns);
	for (size_t i = 0; i < CPU_NUMBERS; i++) {
		if (!known_anywhere(t, i))
			continue;
		cbor_field(&f, cpu_numbers[i].key);
		cbor_add_head(out, CBOR_ARRAY, t->n);
		for (uint32_t k = 0; k < t->n; k++) {
			uint32_t v = cpu_number(&t->cpu[k], i);

			cbor_add_int(out, v == PM_NONE ? -1 : (int64_t)v);
		}
	}
	cbor_field(&f, TOPOLOGY_ONLINE);
	cbor_add_head(out, CBOR_ARRAY, t->n);
	for (uint32_t k = 0; k < t->n; k++)
		cbor_add_uint(out, t->cpu[k].online);
	if (!t->n_types)
		return;
	cbor_field(&f, TOPOLOGY_TYPE_NAMES);
	cbor_add_head(out, CBOR_ARRAY, t->n_types);
	for (uint32_t k = 0; k < t->n_types; k++)
		cbor_add_text(out, t->type[k], strlen(t->type[k]));
}

static void add_counter(struct buf *out, const struct pm_counter *c)
{
	struct cbor_fields f = cbor_fields(out);

	add_text(&f, COUNTER_NAME, c->name);
	if (strcmp(c->display, c->name) != 0)
		add_text(&f, COUNTER_DISPLAY, c->display);
	add_text(&f, COUNTER_SOURCE, c->source);
	add_text(&f, COUNTER_UNIT, c->unit);
	if (c->scale.text) {
		add_text(&f, COUNTER_SCALE, c->scale.text);
	} else if (c->scale.num != 1 || c->scale.den != 1) {
		cbor_field(&f, COUNTER_SCALE);
		cbor_add_head(out, CBOR_ARRAY, 2);
		cbor_add_uint(out, c->scale.num);
		cbor_add_uint(out, c->scale.den);
	}
	cbor_field_unless(&f, COUNTER_TYPE, c->type, 0);
	cbor_field_unless(&f, COUNTER_SEMANTICS, c->semantics, 0);
	cbor_field_unless(&f, COUNTER_WIDTH, c->width, 64);
	cbor_field_unless(&f, COUNTER_AGGREGATION, c->aggregation, 0);
	add_attrs(&f, COUNTER_ATTRS, &c->attrs);
}

/* Length of the arithmetic progression that starts at id[0]; *step is its step. Descending ids end it. */
static uint32_t progression(const uint32_t *id, uint32_t n, uint32_t *step)
{
	uint32_t count = 1;

	*step = n > 1 && id[1] >= id[0] ? id[1] - id[0] : 0;
	while (count < n && id[count] == id[count - 1] + *step)
		count++;
	return count;
}

static void add_ids(struct cbor_fields *f, unsigned key, const uint32_t *id, uint32_t n)
{
	uint32_t step, runs = 0;

	for (uint32_t i = 0; i < n; runs++)
		i += progression(id + i, n - i, &step);
	cbor_field(f, key);
	cbor_add_head(f->out, CBOR_ARRAY, 3ull * runs);
	for (uint32_t i = 0; i < n;) {
		uint32_t count = progression(id + i, n - i, &step);

		cbor_add_uint(f->out, id[i]);
		cbor_add_uint(f->out, count);
		cbor_add_uint(f->out, step);
		i += count;
	}
}

/* Writes the instances of `from` that left, as [stay, leave ...]. */
static void add_left(struct cbor_fields *f, const struct pm_group *g, const struct pm_group *from, uint32_t kept)
{
	SCOPED(buf_release) struct buf items = BUF_INIT;
	uint64_t n = 0;

	for (uint32_t at = 0, k = 0; at < from->n_instances;) {
		uint32_t stay = 0, leave = 0;

		for (; at < from->n_instances && k < kept && from->instance[at] == g->instance[k]; at++, k++)
			stay++;
		for (; at < from->n_instances && (k == kept || from->instance[at] != g->instance[k]); at++)
			leave++;
		if (!leave)
			break;
		cbor_add_uint(&items, stay);
		cbor_add_uint(&items, leave);
		n += 2;
	}
	if (n)
		add_items(f, GROUP_LEFT, n, &items);
}

/* Writes what the group has that the previous one had not, and which of its instances have left. */
static void add_continued(struct buf *out, const struct pm_group *g, const struct pm_group *from)
{
	uint32_t kept = model_group_kept(g, from, NULL);
	struct cbor_fields f = cbor_fields(out);

	if (strcmp(g->source, from->source) != 0)
		add_text(&f, GROUP_SOURCE, g->source);
	if (kept < g->n_instances)
		add_ids(&f, GROUP_INSTANCES, g->instance + kept, g->n_instances - kept);
	cbor_field_uint(&f, GROUP_CONTINUES, from->id);
	add_left(&f, g, from, kept);
}

static void add_group(struct buf *out, const struct pm_group *g, const struct pm_group *from)
{
	struct cbor_fields f;

	if (from) {
		add_continued(out, g, from);
		return;
	}
	f = cbor_fields(out);
	add_text(&f, GROUP_SOURCE, g->source);
	cbor_field_unless(&f, GROUP_FLAGS, g->flags, 0);
	add_ids(&f, GROUP_COUNTERS, g->counter, g->n_counters);
	add_ids(&f, GROUP_INSTANCES, g->instance, g->n_instances);
}

/* The ids of a list: only the first, if they are consecutive. */
struct listed {
	struct buf ranges; /* all but the last range, which is [first, first + n) */
	uint64_t n_ranges;
	uint32_t first, n, all;
};

static void list_close(struct listed *l)
{
	if (!l->n)
		return;
	cbor_add_uint(&l->ranges, l->first);
	cbor_add_uint(&l->ranges, l->n);
	l->n_ranges++;
}

static void list_add(struct listed *l, uint32_t id)
{
	if (!l->n || id != l->first + l->n) {
		list_close(l);
		l->first = id;
		l->n = 0;
	}
	l->n++;
	l->all++;
}

static void add_listed(struct cbor_fields *f, unsigned key, struct listed *l)
{
	if (!l->n_ranges) {
		cbor_field_uint(f, key, l->first);
	} else {
		list_close(l);
		add_items(f, key, 2 * l->n_ranges, &l->ranges);
	}
	buf_release(&l->ranges);
}

/* Adds items of the span until the slice is full; returns how many. */
#define TAKE(out, span, add) \
	for (; (span)->from < (span)->to && (out)->len < DEFINITIONS_SLICE && !(out)->err; (span)->from++) \
	add

void encode_schema(struct buf *out, const struct pm_model *m, struct span *counters, struct span *groups,
		   struct span *strings, struct retired *retired, bool live)
{
	SCOPED(buf_release) struct buf s = BUF_INIT, g = BUF_INIT, c = BUF_INIT;
	struct span first_counter = *counters, first_string = *strings;
	struct listed listed = { .ranges = BUF_INIT };
	struct retired gone = { 0 };
	struct cbor_fields f = cbor_fields(out);

	TAKE(&c, counters, add_counter(&c, &m->counter[counters->from]));
	/* Groups refer to counters, so they follow when all counters are written. */
	if (counters->from == counters->to)
		TAKE(&g, groups, {
			const struct pm_group *one = &m->group[groups->from];

			if (live && one->retired)
				continue;
			add_group(&g, one, live || !one->continues ? NULL : pm_model_group(m, one->continues));
			list_add(&listed, one->id);
		});
	TAKE(&s, strings, cbor_add_value(&s, &m->string[strings->from]));
	/* A group retires after the one that continues it is written. */
	gone = groups->from == groups->to && strings->from == strings->to ? *retired : gone;
	if (counters->from > first_counter.from) {
		cbor_field_uint(&f, SCHEMA_FIRST_COUNTER, first_counter.from + 1ull);
		add_items(&f, SCHEMA_COUNTERS, counters->from - first_counter.from, &c);
	}
	if (listed.all) {
		add_listed(&f, SCHEMA_FIRST_GROUP, &listed);
		add_items(&f, SCHEMA_GROUPS, listed.all, &g);
	}
	if (strings->from > first_string.from) {
		cbor_field_uint(&f, SCHEMA_FIRST_STRING, first_string.from + 1ull);
		add_items(&f, SCHEMA_STRINGS, strings->from - first_string.from, &s);
	}
	if (gone.n) {
		cbor_field_ranges(&f, SCHEMA_RETIRED, gone.id, gone.n);
		retired->n = 0;
	}
}

static void add_instance(struct buf *out, const struct pm_instance *i, uint64_t base_ns)
{
	struct cbor_fields f = cbor_fields(out);

	cbor_field_uint(&f, INSTANCE_KIND, i->kind);
	cbor_field_unless(&f, INSTANCE_NUMBER, i->number, PM_NONE);
	cbor_field_unless(&f, INSTANCE_CPU, i->cpu, PM_NONE);
	if (i->added_ns)
		cbor_field_int(&f, INSTANCE_ADDED, (int64_t)(i->added_ns - base_ns));
	if (i->retired_ns)
		cbor_field_int(&f, INSTANCE_RETIRED, (int64_t)(i->retired_ns - base_ns));
	add_attrs(&f, INSTANCE_ATTRS, &i->attrs);
}

/* Each id less the previous one. */
static void add_retired(struct cbor_fields *f, const struct pm_model *m, const struct retired *retired,
			uint64_t base_ns)
{
	uint32_t before = 0;

	cbor_field(f, INSTANCES_RETIRED);
	cbor_add_head(f->out, CBOR_ARRAY, 2ull * retired->n);
	for (uint32_t i = 0; i < retired->n; i++) {
		uint64_t time_ns = pm_model_instance(m, retired->id[i])->retired_ns;

		cbor_add_int(f->out, (int64_t)retired->id[i] - before);
		cbor_add_int(f->out, (int64_t)(time_ns - base_ns));
		before = retired->id[i];
		base_ns = time_ns;
	}
}

void encode_instances(struct buf *out, const struct pm_model *m, struct span *instances,
		      const struct retired *retired, bool live)
{
	uint64_t base_ns = retired->n ? pm_model_instance(m, retired->id[0])->retired_ns : 0;
	struct listed listed = { .ranges = BUF_INIT };
	struct cbor_fields f = cbor_fields(out);
	SCOPED(buf_release) struct buf items = BUF_INIT;

	TAKE(&items, instances, {
		const struct pm_instance *one = &m->instance[instances->from];

		if (live && one->retired_ns)
			continue;
		base_ns = base_ns ? base_ns : one->added_ns ? one->added_ns : one->retired_ns;
		add_instance(&items, one, base_ns);
		list_add(&listed, one->id);
	});
	cbor_field_unless(&f, INSTANCES_BASE, base_ns, 0);
	if (listed.all) {
		add_listed(&f, INSTANCES_FIRST, &listed);
		add_items(&f, INSTANCES_LIST, listed.all, &items);
	}
	if (retired->n)
		add_retired(&f, m, retired, base_ns);
}

static void add_list(struct buf *out, uint32_t first, uint32_t n, struct buf *items)
{
	struct cbor_fields f = cbor_fields(out);

	cbor_field_uint(&f, LIST_FIRST, first);
	add_items(&f, LIST_ITEMS, n, items);
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
	struct cbor_fields f = cbor_fields(out);

	add_text(&f, PROBE_SOURCE, p->source);
	add_text(&f, PROBE_WHAT, p->what);
	if (p->hint)
		add_text(&f, PROBE_HINT, p->hint);
	cbor_field_uint(&f, PROBE_REASON, p->reason);
	add_attrs(&f, PROBE_ATTRS, &p->attrs);
}

void encode_probes(struct buf *out, const struct pm_model *m, struct span *probes)
{
	uint32_t first = probes->from;
	struct buf items = BUF_INIT;

	TAKE(&items, probes, add_probe(&items, &m->probe[probes->from]));
	add_list(out, first, probes->from - first, &items);
}

static void add_config(struct buf *out, const struct pm_config *c)
{
	struct cbor_fields f = cbor_fields(out);

	add_text(&f, CONFIG_NAME, c->name);
	cbor_field_uint(&f, CONFIG_TIME, c->time_ns);
	cbor_field_uint(&f, CONFIG_KIND, c->kind);
	if (c->instances.n)
		cbor_field_ranges(&f, CONFIG_INSTANCES, c->instances.cpu, c->instances.n);
	if (c->reason) {
		cbor_field_uint(&f, CONFIG_REASON, c->reason);
		return;
	}
	cbor_field(&f, CONFIG_VALUE + 100u * c->privacy);
	cbor_add_value(out, &c->value);
}

void encode_config(struct buf *out, const struct pm_model *m, struct span *configs,
		   bool (*chosen)(const void *ctx, uint32_t index), const void *ctx)
{
	struct cbor_fields f = cbor_fields(out);
	SCOPED(buf_release) struct buf items = BUF_INIT;
	uint64_t n = 0;

	TAKE(&items, configs, {
		if (chosen && !chosen(ctx, configs->from))
			continue;
		add_config(&items, &m->config[configs->from]);
		n++;
	});
	add_items(&f, CONFIG_ITEMS, n, &items);
}

void encode_event(struct buf *items, const struct pm_event *e, uint64_t base_ns)
{
	struct cbor_fields f = cbor_fields(items);

	cbor_field_uint(&f, EVENT_TYPE, e->type);
	cbor_field_int(&f, EVENT_TIME, (int64_t)(e->time_ns - base_ns));
	add_attrs(&f, EVENT_ATTRS, &e->attrs);
}

void encode_events(struct buf *out, uint64_t base_ns, uint32_t n, const struct buf *items)
{
	struct cbor_fields f = cbor_fields(out);

	cbor_field_unless(&f, EVENTS_BASE, base_ns, 0);
	add_items(&f, EVENTS_LIST, n, items);
}
