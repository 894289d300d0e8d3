/* Turns the model into bodies of definition and event frames, in slices that keep frames small, and back: adds such
 * bodies to the model, and notes which parts changed. A repetition must equal what is known. */
#include "format/definitions.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"
#include "format/frame.h"
#include "format/limits.h"
#include "format/reader.h"

static void add_text(struct cbor_fields *f, unsigned key, const char *text)
{
	cbor_field(f, key);
	cbor_add_text(f->out, text, strlen(text));
}

static void add_value(struct cbor_fields *f, unsigned key, const struct pm_value *v)
{
	cbor_field(f, key);
	cbor_add_value(f->out, v);
}

static void add_attrs(struct cbor_fields *f, unsigned key, const struct pm_map *attrs)
{
	if (!attrs->n)
		return;
	cbor_field(f, key);
	cbor_add_map(f->out, attrs);
}

void encode_header(struct buf *out, const struct pm_model *m)
{
	cbor_add_map(out, &m->header);
}

/* One row per number of struct pm_cpu, from TOPOLOGY_CPU on. */
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

static void encode_counter(struct buf *out, const struct pm_counter *c)
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
		cbor_field_items(f, GROUP_LEFT, n, &items);
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

static void encode_group(struct buf *out, const struct pm_group *g, const struct pm_group *from)
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

/* The ids of a list, which ascend: only the first, if they are consecutive. */
static void add_listed(struct cbor_fields *f, unsigned key, const struct buf *ids)
{
	const uint32_t *id = (const void *)ids->data;
	size_t n = ids->len / sizeof(*id);

	if (id[n - 1] - id[0] == n - 1)
		cbor_field_uint(f, key, id[0]);
	else
		cbor_field_ranges(f, key, id, n);
}

/* Adds items of the span until the slice is full; returns how many. */
#define TAKE(out, span, add) \
	for (; (span)->from < (span)->to && (out)->len < DEFINITIONS_SLICE && !(out)->err; (span)->from++) \
	add

void encode_schema(struct buf *out, const struct pm_model *m, struct span *counters, struct span *groups,
		   struct span *strings, struct retired *retired, bool live)
{
	SCOPED(buf_release) struct buf s = BUF_INIT, g = BUF_INIT, c = BUF_INIT, ids = BUF_INIT;
	struct span first_counter = *counters, first_string = *strings;
	struct retired gone = { 0 };
	struct cbor_fields f = cbor_fields(out);

	TAKE(&c, counters, encode_counter(&c, &m->counter[counters->from]));
	/* Groups refer to counters, so they follow when all counters are written. */
	if (counters->from == counters->to)
		TAKE(&g, groups, {
			const struct pm_group *one = &m->group[groups->from];

			if (live && one->retired)
				continue;
			encode_group(&g, one, live || !one->continues ? NULL : pm_model_group(m, one->continues));
			buf_add(&ids, &one->id, sizeof(one->id));
		});
	TAKE(&s, strings, cbor_add_value(&s, &m->string[strings->from]));
	/* A group retires after the one that continues it is written. */
	gone = groups->from == groups->to && strings->from == strings->to ? *retired : gone;
	if (counters->from > first_counter.from) {
		cbor_field_uint(&f, SCHEMA_FIRST_COUNTER, first_counter.from + 1ull);
		cbor_field_items(&f, SCHEMA_COUNTERS, counters->from - first_counter.from, &c);
	}
	buf_carry(out, &ids);
	if (ids.len) {
		add_listed(&f, SCHEMA_FIRST_GROUP, &ids);
		cbor_field_items(&f, SCHEMA_GROUPS, ids.len / sizeof(uint32_t), &g);
	}
	if (strings->from > first_string.from) {
		cbor_field_uint(&f, SCHEMA_FIRST_STRING, first_string.from + 1ull);
		cbor_field_items(&f, SCHEMA_STRINGS, strings->from - first_string.from, &s);
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
	struct cbor_fields f = cbor_fields(out);
	SCOPED(buf_release) struct buf items = BUF_INIT, ids = BUF_INIT;

	TAKE(&items, instances, {
		const struct pm_instance *one = &m->instance[instances->from];

		if (live && one->retired_ns)
			continue;
		base_ns = base_ns ? base_ns : one->added_ns ? one->added_ns : one->retired_ns;
		add_instance(&items, one, base_ns);
		buf_add(&ids, &one->id, sizeof(one->id));
	});
	cbor_field_unless(&f, INSTANCES_BASE, base_ns, 0);
	buf_carry(out, &ids);
	if (ids.len) {
		add_listed(&f, INSTANCES_FIRST, &ids);
		cbor_field_items(&f, INSTANCES_LIST, ids.len / sizeof(uint32_t), &items);
	}
	if (retired->n)
		add_retired(&f, m, retired, base_ns);
}

static void add_list(struct buf *out, uint32_t first, uint32_t n, struct buf *items)
{
	struct cbor_fields f = cbor_fields(out);

	cbor_field_uint(&f, LIST_FIRST, first);
	cbor_field_items(&f, LIST_ITEMS, n, items);
	buf_release(items);
}

void encode_pmus(struct buf *out, const struct pm_model *m, struct span *pmus)
{
	uint32_t first = pmus->from;
	struct buf items = BUF_INIT;

	TAKE(&items, pmus, cbor_add_map(&items, &m->pmu[pmus->from].attrs));
	add_list(out, first, pmus->from - first, &items);
}

static void encode_probe(struct buf *out, const struct pm_probe *p)
{
	struct cbor_fields f = cbor_fields(out);

	add_text(&f, PROBE_SOURCE, p->source);
	add_value(&f, PROBE_WHAT, &p->what);
	if (pm_remark_code(&p->hint))
		add_value(&f, PROBE_HINT, &p->hint);
	cbor_field_uint(&f, PROBE_REASON, p->reason);
	add_attrs(&f, PROBE_ATTRS, &p->attrs);
}

void encode_probes(struct buf *out, const struct pm_model *m, struct span *probes)
{
	uint32_t first = probes->from;
	struct buf items = BUF_INIT;

	TAKE(&items, probes, encode_probe(&items, &m->probe[probes->from]));
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
	cbor_field_items(&f, CONFIG_ITEMS, n, &items);
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
	cbor_field_items(&f, EVENTS_LIST, n, items);
}

/* ---- decoding ---- */

struct decoding {
	struct cbor c;
	struct pm_model *m;
	struct definitions_seen *seen;
	uint64_t base_ns;      /* from which times count */
	bool news;             /* something was not known before */
	const char *newer;     /* what this version cannot read in the current definition; NULL: nothing, ... */
	uint32_t newer_number; /* ... and its number */
};

#define NEWER_MAX 2000 /* bytes of notes */

void newer_note(struct buf *out, const char *format, ...)
{
	char line[400];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(line, sizeof(line) - 1, format, args);
	va_end(args);
	for (char *at = line; (at = strpbrk(at, "\n\r")); at++)
		*at = ' ';
	len = (int)strlen(line);
	line[len++] = '\n';
	if (out && out->len < NEWER_MAX && (!out->len || !memmem(out->data, out->len, line, (size_t)len)))
		buf_add(out, line, (size_t)len);
}

/* A number that may be unknown (all up to `last` are known) and then critical; a key that is unknown. */
static void look_at_number(struct decoding *d, const char *what, uint32_t number, uint32_t last)
{
	if (number <= last || !pm_number_critical(number))
		return;
	d->newer = what;
	d->newer_number = number;
}

static void look_at_key(struct decoding *d, uint32_t key)
{
	if (!pm_key_critical(key))
		return;
	d->newer = "key";
	d->newer_number = key;
}

static void look_at_attrs(struct decoding *d, const struct pm_map *attrs)
{
	for (uint32_t i = 0; i < attrs->n; i++)
		look_at_key(d, attrs->field[i].key);
}

/* Notes that of a new definition; whether there was something. */
static bool is_newer(struct decoding *d, bool known, const char *what, const char *name, uint32_t id)
{
	bool newer = d->newer;

	if (newer && !known && !d->c.err)
		newer_note(d->seen->newer, "%s %u of %s %u%s%s is newer than this program: its values cannot be read",
			   d->newer, d->newer_number, what, id, *name ? ", " : "", name);
	d->newer = NULL;
	return newer;
}

static void decode_header(struct decoding *d)
{
	struct pm_map header = { 0 };
	struct cbor order = d->c;
	struct cbor_map m;

	for (cbor_body(&order, &m); cbor_next(&order, &m);)
		cbor_skip(&order);
	cbor_value_map(&d->c, &header, ATTRS_DEPTH);
	if (order.err)
		cbor_fail(&d->c, (enum pm_rule)order.rule);
	if (d->c.err || pm_map_equal(&header, &d->m->header)) {
		pm_map_release(&header);
		return;
	}
	pm_map_release(&d->m->header);
	d->m->header = header;
	d->news = true;
}

static void take_cpu_numbers(struct cbor *c, struct pm_topology *t, unsigned key)
{
	size_t n = cbor_array(c);

	if (n > PM_MAX_CPUS || (t->cpu && n != t->n))
		cbor_fail(c, PM_RULE_CPUS);
	if (!t->cpu && !c->err) {
		t->cpu = memory_new(n, sizeof(*t->cpu));
		t->n = (uint32_t)n;
		memset(t->cpu, 0xff, n * sizeof(*t->cpu)); /* PM_NONE everywhere */
		for (uint32_t k = 0; k < t->n; k++)
			t->cpu[k].online = false;
	}
	for (size_t k = 0; k < n && !c->err; k++) {
		int64_t v = cbor_int(c);
		uint32_t number = v < 0 || v >= PM_NONE ? PM_NONE : (uint32_t)v;

		if (key == TOPOLOGY_ONLINE)
			t->cpu[k].online = v == 1;
		else
			memcpy((char *)&t->cpu[k] + cpu_numbers[key - TOPOLOGY_CPU].offset, &number, sizeof(number));
	}
}

static void take_type_names(struct cbor *c, struct pm_topology *t)
{
	size_t n = cbor_array(c);

	if (n > PM_MAX_CPUS) {
		cbor_fail(c, PM_RULE_LIMIT);
		return;
	}
	t->type = memory_new(n, sizeof(*t->type));
	for (t->n_types = 0; t->n_types < n && !c->err; t->n_types++)
		take_text(c, &t->type[t->n_types]);
}

static bool same_topology(const struct pm_topology *a, const struct pm_topology *b)
{
	if (a->time_ns != b->time_ns || a->n != b->n || a->n_types != b->n_types)
		return false;
	for (uint32_t k = 0; k < a->n; k++) {
		const struct pm_cpu *x = &a->cpu[k], *y = &b->cpu[k];

		/* The fields before `online` are numbers; padding follows it. */
		if (memcmp(x, y, offsetof(struct pm_cpu, online)) != 0 || x->online != y->online)
			return false;
	}
	for (uint32_t k = 0; k < a->n_types; k++)
		if (strcmp(a->type[k], b->type[k]) != 0)
			return false;
	return true;
}

static void decode_topology(struct decoding *d)
{
	struct pm_topology t = { 0 };
	struct cbor_map m;

	for (cbor_body(&d->c, &m); cbor_next(&d->c, &m);) {
		if (m.key == TOPOLOGY_TIME)
			t.time_ns = cbor_uint(&d->c);
		else if (m.key >= TOPOLOGY_CPU && m.key <= TOPOLOGY_ONLINE)
			take_cpu_numbers(&d->c, &t, m.key);
		else if (m.key == TOPOLOGY_TYPE_NAMES)
			take_type_names(&d->c, &t);
		else
			cbor_skip(&d->c);
	}
	for (uint32_t k = 0; k < t.n; k++)
		if (t.cpu[k].cpu == PM_NONE || (k && t.cpu[k].cpu <= t.cpu[k - 1].cpu))
			cbor_fail(&d->c, PM_RULE_CPUS);
	if (!d->c.err && !same_topology(&t, &d->m->topology)) {
		d->c.err = pm_model_set_topology(d->m, &t);
		d->news = true;
	}
	pm_topology_release(&t);
}

/* Adds `n` to `*used`. Its limit grows with the bytes of the definitions, because a few bytes can name many things;
 * -E2BIG in d->c beyond it. */
static void take_room(struct decoding *d, uint64_t *used, uint64_t n, uint64_t free, uint64_t by_byte)
{
	*used += n;
	if (!d->c.err && *used > free + d->seen->stored * by_byte)
		d->c.err = -E2BIG;
}

static void take_numbers(struct decoding *d, struct cpulist *l)
{
	struct cbor *c = &d->c;
	size_t n = cbor_tuples(c, 2);

	for (size_t i = 0; i < n && !c->err; i += 2) {
		uint32_t first = take_u32(c, CPULIST_MAX), count = take_u32(c, CPULIST_MAX + 1);

		/* Ascending, so that a small file cannot demand much work. */
		if (count > CPULIST_MAX + 1 - first || (l->n && first <= l->cpu[l->n - 1]))
			cbor_fail(c, PM_RULE_NUMBERS);
		take_room(d, &d->seen->ids, count, PM_FREE_IDS, PM_BYTE_IDS);
		for (uint32_t k = 0; k < count && !c->err; k++)
			memory_done(cpulist_add(l, first + k));
	}
}

/* An instance's kind. One of a newer version stands beside what is known, as devices do; *said is its number. */
static enum pm_kind take_kind(struct cbor *c, uint32_t *said)
{
	*said = take_u32(c, UINT8_MAX);
	return *said < PM_KINDS ? (enum pm_kind) * said : PM_DEVICE;
}

/* Nanoseconds less base_ns, below 2^63 in all. */
static uint64_t take_time(struct cbor *c, uint64_t base_ns)
{
	uint64_t ns = base_ns + (uint64_t)cbor_int(c);

	if (ns > INT64_MAX)
		cbor_fail(c, PM_RULE_TIME);
	return c->err ? 0 : ns;
}

static void decode_one_config(struct decoding *d)
{
	struct pm_config e = { .value = pm_u64(0) };
	struct cbor *c = &d->c;
	bool has_value = false, has_time = false, has_kind = false, newer;
	uint32_t said, before = d->m->index.config_changes;
	struct cbor_map m;

	for (cbor_map(c, &m); cbor_next(c, &m);) {
		if (m.key >= CONFIG_VALUE && m.key % 100 == CONFIG_VALUE && m.key / 100 <= PM_PRIVACY_TIME) {
			if (has_value)
				cbor_fail(c, PM_RULE_CONFIG);
			e.privacy = (enum pm_privacy)(m.key / 100);
			has_value = true;
			cbor_value(c, &e.value, ATTRS_DEPTH);
			continue;
		}
		switch (m.key) {
		case CONFIG_NAME:
			take_text(c, &e.name);
			break;
		case CONFIG_TIME:
			e.time_ns = take_time(c, 0);
			has_time = true;
			break;
		case CONFIG_KIND:
			e.kind = take_kind(c, &said);
			look_at_number(d, "kind", said, PM_KINDS - 1);
			has_kind = true;
			break;
		case CONFIG_INSTANCES:
			take_numbers(d, &e.instances);
			break;
		case CONFIG_REASON:
			e.reason = (uint16_t)take_u32(c, UINT16_MAX);
			break;
		default:
			cbor_skip(c);
			break;
		}
	}
	if (!e.name || !has_time || !has_kind)
		cbor_fail(c, PM_RULE_REQUIRED);
	if (has_value == (e.reason != PM_OK))
		cbor_fail(c, PM_RULE_CONFIG);
	newer = is_newer(d, false, "a value read once", e.name ? e.name : "", 0);
	if (!c->err && !newer) {
		int err = pm_model_add_config(d->m, &e);

		if (err == -EINVAL)
			cbor_fail(c, PM_RULE_CONFIG);
		else
			c->err = err;
		d->news |= d->m->index.config_changes != before;
	}
	pm_config_release(&e);
}

static void decode_config(struct decoding *d)
{
	struct cbor_map m;

	for (cbor_body(&d->c, &m); cbor_next(&d->c, &m);) {
		size_t n;

		if (m.key != CONFIG_ITEMS) {
			cbor_skip(&d->c);
			continue;
		}
		n = cbor_array(&d->c);
		while (n-- && !d->c.err)
			decode_one_config(d);
	}
}

static void add_pmu(struct decoding *d, bool known)
{
	struct pm_pmu p = { 0 };

	cbor_value_map(&d->c, &p.attrs, ATTRS_DEPTH);
	if (!d->c.err && !known)
		d->c.err = pm_model_add_pmu(d->m, &p);
	d->news |= !known;
	pm_map_release(&p.attrs);
}

static void decode_items(struct decoding *d, uint32_t *seen, void (*add)(struct decoding *d, bool known))
{
	uint64_t first = UINT64_MAX;
	struct cbor_map m;

	for (cbor_body(&d->c, &m); cbor_next(&d->c, &m);) {
		size_t n;

		if (m.key == LIST_FIRST)
			first = take_u32(&d->c, PM_MAX_COLUMNS);
		else if (m.key != LIST_ITEMS)
			cbor_skip(&d->c);
		if (m.key != LIST_ITEMS)
			continue;
		n = cbor_array(&d->c);
		if (first == UINT64_MAX)
			cbor_fail(&d->c, PM_RULE_FIRST);
		for (size_t i = 0; i < n && !d->c.err; i++)
			add(d, first + i < *seen);
		if (!d->c.err && first + n > *seen)
			*seen = (uint32_t)(first + n);
	}
}

/* Releases what *attrs held; the caller owns what it holds now. */
static void take_attrs(struct cbor *c, struct pm_map *attrs)
{
	pm_map_release(attrs);
	cbor_value_map(c, attrs, ATTRS_DEPTH);
}

/* Releases what *v held; the caller owns what it holds now. */
static void take_remark(struct cbor *c, struct pm_value *v)
{
	pm_value_release(v);
	cbor_value(c, v, 1);
	if (!c->err && !pm_remark_code(v))
		cbor_fail(c, PM_RULE_VALUES);
}

static void add_probe(struct decoding *d, bool known)
{
	struct pm_probe p = { 0 };
	bool has_reason = false;
	struct cbor_map m;

	for (cbor_map(&d->c, &m); cbor_next(&d->c, &m);) {
		switch (m.key) {
		case PROBE_SOURCE:
			take_text(&d->c, &p.source);
			break;
		case PROBE_WHAT:
			take_remark(&d->c, &p.what);
			break;
		case PROBE_HINT:
			take_remark(&d->c, &p.hint);
			break;
		case PROBE_REASON:
			p.reason = (uint16_t)take_u32(&d->c, UINT16_MAX);
			has_reason = true;
			break;
		case PROBE_ATTRS:
			take_attrs(&d->c, &p.attrs);
			break;
		default:
			cbor_skip(&d->c);
			break;
		}
	}
	if (!p.source || !pm_remark_code(&p.what) || !has_reason)
		cbor_fail(&d->c, PM_RULE_REQUIRED);
	if (!d->c.err && !known) {
		d->c.err = pm_model_add_probe(d->m, &p);
		d->news = true;
	}
	pm_probe_release(&p);
}

static void take_scale(struct cbor *c, struct pm_scale *s)
{
	if (cbor_peek(c) == CBOR_TEXT) {
		take_text(c, &s->text);
		if (!c->err && !pm_scale_good(s->text))
			cbor_fail(c, PM_RULE_SCALE);
		return;
	}
	if (cbor_array(c) != 2)
		cbor_fail(c, PM_RULE_SCALE);
	s->num = cbor_uint(c);
	s->den = cbor_uint(c);
	if (!s->num || !s->den)
		cbor_fail(c, PM_RULE_SCALE);
}

static void take_counter(struct decoding *d, struct pm_counter *n)
{
	struct cbor *c = &d->c;
	struct cbor_map m;
	uint32_t columns = 1;

	n->width = 64;
	n->scale = (struct pm_scale){ .num = 1, .den = 1 };
	for (cbor_map(c, &m); cbor_next(c, &m);) {
		switch (m.key) {
		case COUNTER_NAME:
			take_text(c, &n->name);
			break;
		case COUNTER_DISPLAY:
			take_text(c, &n->display);
			break;
		case COUNTER_SOURCE:
			take_text(c, &n->source);
			break;
		case COUNTER_UNIT:
			take_text(c, &n->unit);
			break;
		case COUNTER_SCALE:
			take_scale(c, &n->scale);
			break;
		case COUNTER_TYPE:
			n->type = (enum pm_type)take_u32(c, UINT8_MAX);
			look_at_number(d, "type", n->type, PM_BYTES);
			break;
		case COUNTER_SEMANTICS:
			n->semantics = (enum pm_semantics)take_u32(c, UINT8_MAX);
			look_at_number(d, "semantics", n->semantics, PM_BITFIELD);
			break;
		case COUNTER_WIDTH:
			n->width = (uint8_t)take_u32(c, 64);
			if (!n->width)
				cbor_fail(c, PM_RULE_WIDTH);
			break;
		case COUNTER_AGGREGATION:
			n->aggregation = (enum pm_aggregation)take_u32(c, UINT8_MAX);
			break;
		case COUNTER_ATTRS:
			take_attrs(c, &n->attrs);
			look_at_attrs(d, &n->attrs);
			break;
		case COUNTER_COLUMNS:
			columns = take_u32(c, PM_MAX_COLUMNS);
			break;
		default:
			look_at_key(d, m.key);
			cbor_skip(c);
			break;
		}
	}
	if (!c->err && (!n->name || !n->source || !n->unit || !columns))
		cbor_fail(c, PM_RULE_REQUIRED);
	/* As the model has it, so that a repetition is the same. */
	if (n->type >= PM_F64)
		n->width = 64;
	n->wide = columns != 1;
	if (n->wide) {
		d->newer = "columns";
		d->newer_number = columns;
	}
	if (!c->err && !n->display)
		n->display = memory_text(n->name);
}

/* Adds item `id`, or compares it with the known one of this id. */
static void settle_id(struct decoding *d, int64_t added, uint32_t id, bool same)
{
	if (d->c.err)
		return;
	if (added == -ENOMEM || added == -E2BIG)
		d->c.err = (int)added;
	else if (added < 0)
		cbor_fail(&d->c, PM_RULE_GROUP);
	else if (!same || (added && added != id))
		cbor_fail(&d->c, PM_RULE_SAME);
	d->news |= added > 0;
}

static void decode_counter(struct decoding *d, uint32_t id)
{
	struct pm_counter n = { 0 };
	const struct pm_counter *old = pm_model_counter(d->m, id);

	take_counter(d, &n);
	n.newer = is_newer(d, old, "counter", n.name ? n.name : "", id);
	if (n.aggregation > PM_AGG_NONE && pm_number_critical(n.aggregation) && !old && !d->c.err)
		newer_note(
			d->seen->newer,
			"aggregation %d of counter %u, %s is newer than this program: its values cannot be combined",
			n.aggregation, id, n.name);
	if (!d->c.err)
		settle_id(d, old ? 0 : pm_model_add_counter(d->m, &n), id, !old || model_counter_equal(old, &n));
	pm_counter_release(&n);
}

#define GROUP_FLAGS_KNOWN (PM_GROUP_LIST | PM_GROUP_SHARED_TIME | PM_GROUP_PERF_TIMES)

static uint32_t *take_ids(struct decoding *d, uint32_t *count)
{
	struct cbor *c = &d->c;
	uint32_t *id = NULL;
	size_t n = cbor_tuples(c, 3);

	*count = 0;
	for (size_t i = 0; i < n && !c->err; i += 3) {
		uint32_t first = take_u32(c, UINT32_MAX), run = take_u32(c, PM_MAX_COLUMNS);
		uint32_t step = take_u32(c, UINT32_MAX);

		if (c->err || !run || run > PM_MAX_COLUMNS - *count || (run - 1ull) * step > UINT32_MAX - first) {
			cbor_fail(c, PM_RULE_RUNS);
			break;
		}
		take_room(d, &d->seen->ids, run, PM_FREE_IDS, PM_BYTE_IDS);
		if (c->err)
			break;
		id = memory_resize(id, *count + run, sizeof(*id));
		for (uint32_t k = 0; k < run; k++)
			id[(*count)++] = first + k * step;
	}
	return id;
}

/* Fills in what a group takes over from the one that it continues. */
static void take_over(struct decoding *d, struct pm_group *g, const uint32_t *left, size_t n_left)
{
	const struct pm_group *from = pm_model_group(d->m, g->continues);
	uint32_t *instance, n = 0, at = 0;

	if (!from) {
		d->c.err = -ENOLINK;
		return;
	}
	instance = memory_new((size_t)from->n_instances + g->n_instances, sizeof(*instance));
	g->counter = memory_copy(from->counter, from->n_counters, sizeof(*g->counter));
	if (!g->source)
		g->source = memory_text(from->source);
	g->n_counters = from->n_counters;
	g->flags = from->flags;
	g->newer |= from->newer;
	for (size_t i = 0; i < n_left; i += 2) {
		uint64_t stay = left[i], leave = left[i + 1];

		if (stay + leave > from->n_instances - at) {
			cbor_fail(&d->c, PM_RULE_CONTINUE);
			break;
		}
		memcpy(instance + n, from->instance + at, stay * sizeof(*instance));
		n += (uint32_t)stay;
		at += (uint32_t)(stay + leave);
	}
	memcpy(instance + n, from->instance + at, (from->n_instances - at) * sizeof(*instance));
	n += from->n_instances - at;
	if (g->n_instances)
		memcpy(instance + n, g->instance, g->n_instances * sizeof(*instance));
	free(g->instance);
	g->instance = instance;
	g->n_instances += n;
}

static uint32_t *take_pairs(struct cbor *c, size_t *count)
{
	size_t n = cbor_array(c);
	uint32_t *pair;

	*count = 0;
	if (n % 2 || n > 2 * PM_MAX_COLUMNS)
		cbor_fail(c, PM_RULE_PAIRS);
	/* Each takes at least a byte, so memory stays proportional to the file. */
	pair = c->err ? NULL : memory_new(n + 1, sizeof(*pair));
	for (size_t i = 0; i < n && !c->err; i++)
		pair[(*count)++] = take_u32(c, PM_MAX_COLUMNS);
	return pair;
}

static void decode_group(struct decoding *d, uint32_t id)
{
	const struct pm_group *old = pm_model_group(d->m, id);
	struct pm_group g = { .copy = d->seen->copy };
	struct cbor *c = &d->c;
	uint32_t *left = NULL, flags = 0;
	struct cbor_map m;
	size_t n_left = 0;

	for (cbor_map(c, &m); cbor_next(c, &m);) {
		switch (m.key) {
		case GROUP_SOURCE:
			take_text(c, &g.source);
			break;
		case GROUP_FLAGS:
			flags = take_u32(c, UINT32_MAX);
			g.flags = flags & GROUP_FLAGS_KNOWN;
			/* Critical flags are the lower halves of the standard and the private range. */
			flags &= 0x00ff00ff & ~(uint32_t)GROUP_FLAGS_KNOWN;
			if (flags) {
				d->newer = "flags";
				d->newer_number = flags;
			}
			break;
		case GROUP_COUNTERS:
			g.counter = take_ids(d, &g.n_counters);
			break;
		case GROUP_INSTANCES:
			g.instance = take_ids(d, &g.n_instances);
			break;
		case GROUP_CONTINUES:
			g.continues = take_u32(c, UINT32_MAX);
			break;
		case GROUP_LEFT:
			free(left);
			left = take_pairs(c, &n_left);
			break;
		default:
			look_at_key(d, m.key);
			cbor_skip(c);
			break;
		}
	}
	for (uint32_t k = 0; k < g.n_counters; k++) {
		const struct pm_counter *counter = pm_model_counter(d->m, g.counter[k]);

		g.newer |= counter && counter->wide;
	}
	g.newer |= is_newer(d, old, "group", g.source ? g.source : "", id);
	if (!c->err && g.continues && (g.flags || flags || g.counter || g.continues >= id))
		cbor_fail(c, PM_RULE_CONTINUE);
	if (!c->err && g.continues)
		take_over(d, &g, left, n_left);
	free(left);
	if (!c->err && (!g.source || !g.counter || !g.instance))
		cbor_fail(c, PM_RULE_GROUP);
	if (!c->err && !old)
		take_room(d, &d->seen->columns, pm_group_values(&g), PM_FREE_COLUMNS, PM_BYTE_COLUMNS);
	if (!c->err)
		settle_id(d, old ? 0 : model_add_group(d->m, &g, id), id, !old || model_group_equal(old, &g));
	if (!c->err && old)
		d->m->group[old - d->m->group].copy = g.copy;
	if (!c->err && g.continues) {
		/* A copy does not say what a group continues. */
		if (old)
			d->m->group[old - d->m->group].continues = g.continues;
		if (old)
			memory_done(pm_model_retire_group(d->m, g.continues));
		memory_room(&d->seen->group, d->seen->n_groups, sizeof(*d->seen->group));
		d->seen->group[d->seen->n_groups++] = id;
	}
	pm_group_release(&g);
}

static void decode_string(struct decoding *d, uint32_t id)
{
	const struct pm_value *old = pm_model_string(d->m, id);
	struct pm_value v = pm_u64(0);

	cbor_value(&d->c, &v, 0);
	if (v.kind != PM_VALUE_TEXT && v.kind != PM_VALUE_BYTES)
		cbor_fail(&d->c, PM_RULE_STRING);
	if (!d->c.err)
		settle_id(d, old ? 0 : model_append_string(d->m, v.str.data, v.str.len, v.kind == PM_VALUE_BYTES), id,
			  !old || pm_value_equal(old, &v));
	pm_value_release(&v);
}

/* A list whose first id is known. If it starts after the last known id, something that it builds on was lost. */
static void decode_list(struct decoding *d, uint64_t first, uint32_t known,
			void (*item)(struct decoding *d, uint32_t id))
{
	size_t n = cbor_array(&d->c);

	if (!first || first > UINT32_MAX - PM_MAX_COLUMNS)
		cbor_fail(&d->c, PM_RULE_FIRST);
	if (!d->c.err && first > known + 1ull)
		d->c.err = -ENOLINK;
	for (size_t i = 0; i < n && !d->c.err; i++)
		item(d, (uint32_t)(first + i));
}

/* Ids of a list that follows: the first, or [first, count ...]. */
struct listed_ids {
	struct cbor ranges;
	size_t n_ranges;
	uint64_t next, left; /* of the range at hand */
	uint64_t last;
};

static struct listed_ids take_listed(struct cbor *c)
{
	struct listed_ids l = { .left = UINT64_MAX };

	if (cbor_peek(c) != CBOR_ARRAY) {
		l.next = cbor_uint(c);
		return l;
	}
	l.left = 0;
	l.ranges = *c;
	cbor_skip(c);
	l.n_ranges = cbor_array(&l.ranges);
	if (l.n_ranges % 2)
		cbor_fail(c, PM_RULE_PAIRS);
	l.n_ranges /= 2;
	return l;
}

/* 0: there is no next id, or it is invalid. */
static uint32_t next_listed(struct listed_ids *l)
{
	if (!l->left && l->n_ranges) {
		l->n_ranges--;
		l->next = cbor_uint(&l->ranges);
		l->left = cbor_uint(&l->ranges);
	}
	if (!l->left || l->ranges.err || l->next > UINT32_MAX || l->next <= l->last)
		return 0;
	l->left--;
	l->last = l->next++;
	return (uint32_t)l->last;
}

static void decode_listed(struct decoding *d, struct listed_ids *l, void (*item)(struct decoding *d, uint32_t id))
{
	size_t n = cbor_array(&d->c);
	bool one = l->left == UINT64_MAX; /* the first, and no count */

	for (size_t i = 0; i < n && !d->c.err; i++) {
		uint32_t id = next_listed(l);

		if (id)
			item(d, id);
		else
			cbor_fail(&d->c, l->ranges.at ? PM_RULE_LISTED : PM_RULE_FIRST);
	}
	if (!one && (l->left || l->n_ranges))
		cbor_fail(&d->c, PM_RULE_LISTED);
}

static void retire_group(struct decoding *d, const struct pm_group *g)
{
	uint64_t columns;

	if (!g || g->retired)
		return;
	d->news = true;
	/* Few bytes may claim much room: at most that of live groups. */
	columns = (uint64_t)g->n_counters * g->n_instances;
	d->seen->columns -= columns < d->seen->columns ? columns : d->seen->columns;
	memory_done(pm_model_retire_group(d->m, g->id));
}

static void decode_retired_groups(struct decoding *d)
{
	size_t n = cbor_tuples(&d->c, 2);

	for (size_t i = 0; i < n && !d->c.err; i += 2) {
		uint64_t first = take_u32(&d->c, UINT32_MAX), count = take_u32(&d->c, UINT32_MAX);

		/* An unknown one has been forgotten already, or its definition was lost. A range of any length takes
		 * few bytes, so bound the work by what exists. */
		if (count > d->m->n_groups) {
			for (uint32_t k = 0; k < d->m->n_groups; k++)
				if (d->m->group[k].id >= first && d->m->group[k].id - first < count)
					retire_group(d, &d->m->group[k]);
			continue;
		}
		for (uint64_t id = first; id < first + count && id <= UINT32_MAX; id++)
			retire_group(d, pm_model_group(d->m, (uint32_t)id));
	}
}

/* The bodies of one kind of frame each. Errors are left in d->c. */
static void decode_schema(struct decoding *d)
{
	struct listed_ids groups = { 0 };
	uint64_t first = 0;
	struct cbor_map m;

	for (cbor_body(&d->c, &m); cbor_next(&d->c, &m);) {
		switch (m.key) {
		case SCHEMA_FIRST_COUNTER:
		case SCHEMA_FIRST_STRING:
			first = cbor_uint(&d->c);
			break;
		case SCHEMA_COUNTERS:
			decode_list(d, first, d->m->n_counters, decode_counter);
			first = 0;
			break;
		case SCHEMA_FIRST_GROUP:
			groups = take_listed(&d->c);
			break;
		case SCHEMA_GROUPS:
			decode_listed(d, &groups, decode_group);
			groups = (struct listed_ids){ 0 };
			break;
		case SCHEMA_RETIRED:
			decode_retired_groups(d);
			break;
		case SCHEMA_STRINGS:
			decode_list(d, first, d->m->n_strings, decode_string);
			first = 0;
			break;
		default:
			cbor_skip(&d->c);
			break;
		}
	}
}

static void decode_instance(struct decoding *d, uint32_t id)
{
	const struct pm_instance *old = pm_model_instance(d->m, id);
	struct pm_instance i = { .copy = d->seen->copy, .number = PM_NONE, .cpu = PM_NONE };
	struct cbor *c = &d->c;
	struct cbor_map m;
	bool has_kind = false;
	uint32_t said;

	for (cbor_map(c, &m); cbor_next(c, &m);) {
		switch (m.key) {
		case INSTANCE_KIND:
			i.kind = take_kind(c, &said);
			look_at_number(d, "kind", said, PM_KINDS - 1);
			has_kind = true;
			break;
		case INSTANCE_NUMBER:
			i.number = take_u32(c, UINT32_MAX);
			break;
		case INSTANCE_CPU:
			i.cpu = take_u32(c, UINT32_MAX);
			break;
		case INSTANCE_ADDED:
			i.added_ns = take_time(c, d->base_ns);
			break;
		case INSTANCE_RETIRED:
			i.retired_ns = take_time(c, d->base_ns);
			break;
		case INSTANCE_ATTRS:
			take_attrs(c, &i.attrs);
			look_at_attrs(d, &i.attrs);
			break;
		default:
			look_at_key(d, m.key);
			cbor_skip(c);
			break;
		}
	}
	if (!c->err && !has_kind)
		cbor_fail(c, PM_RULE_REQUIRED);
	i.newer = is_newer(d, old, "instance", pm_map_text(&i.attrs, PM_INSTANCE_NAME, ""), id);
	if (!c->err) {
		settle_id(d, old ? 0 : model_add_instance(d->m, &i, id), id,
			  !old || (old->kind == i.kind && old->number == i.number && old->cpu == i.cpu &&
				   old->added_ns == i.added_ns && pm_map_equal(&old->attrs, &i.attrs)));
		if (!c->err && old)
			d->m->instance[old - d->m->instance].copy = i.copy;
		if (!c->err && old && i.retired_ns && !old->retired_ns) {
			memory_done(pm_model_retire_instance(d->m, id, i.retired_ns));
			d->news = true;
		}
	}
	pm_map_release(&i.attrs);
}

static void decode_retired(struct decoding *d)
{
	size_t n = cbor_tuples(&d->c, 2);
	uint64_t time = d->base_ns;
	int64_t id = 0;

	for (size_t i = 0; i < n && !d->c.err; i += 2) {
		const struct pm_instance *known;
		int64_t step = cbor_int(&d->c);

		time = take_time(&d->c, time);
		if (d->c.err || step > UINT32_MAX || step < -(int64_t)UINT32_MAX || id + step < 1 ||
		    id + step > UINT32_MAX) {
			cbor_fail(&d->c, PM_RULE_RETIRED);
			return;
		}
		id += step;
		known = pm_model_instance(d->m, (uint32_t)id);
		/* Forgotten already, or its definition was lost. */
		if (!known || known->retired_ns)
			continue;
		d->news = true;
		memory_done(pm_model_retire_instance(d->m, (uint32_t)id, time));
	}
}

static void decode_instances(struct decoding *d)
{
	struct listed_ids ids = { 0 };
	struct cbor_map m;

	d->base_ns = 0;
	for (cbor_body(&d->c, &m); cbor_next(&d->c, &m);) {
		if (m.key == INSTANCES_BASE)
			d->base_ns = take_time(&d->c, 0);
		else if (m.key == INSTANCES_FIRST)
			ids = take_listed(&d->c);
		else if (m.key == INSTANCES_LIST)
			decode_listed(d, &ids, decode_instance);
		else if (m.key == INSTANCES_RETIRED)
			decode_retired(d);
		else
			cbor_skip(&d->c);
	}
}

int decode_definitions(struct pm_model *m, unsigned type, const void *body, size_t len, struct definitions_seen *seen,
		       unsigned *parts)
{
	static const unsigned part[] = {
		[PM_FRAME_HEADER] = PM_PART_HEADER, [PM_FRAME_TOPOLOGY] = PM_PART_TOPOLOGY,
		[PM_FRAME_SCHEMA] = PM_PART_SCHEMA, [PM_FRAME_INSTANCES] = PM_PART_INSTANCES,
		[PM_FRAME_PMUS] = PM_PART_PMUS,     [PM_FRAME_PROBES] = PM_PART_PROBES,
		[PM_FRAME_CONFIG] = PM_PART_CONFIG,
	};
	struct decoding d = { .c = cbor_over(body, len), .m = m, .seen = seen };

	seen->n_groups = 0;

	switch (type) {
	case PM_FRAME_HEADER:
		decode_header(&d);
		break;
	case PM_FRAME_TOPOLOGY:
		decode_topology(&d);
		break;
	case PM_FRAME_SCHEMA:
		decode_schema(&d);
		break;
	case PM_FRAME_INSTANCES:
		decode_instances(&d);
		break;
	case PM_FRAME_PMUS:
		decode_items(&d, &seen->pmus, add_pmu);
		break;
	case PM_FRAME_PROBES:
		decode_items(&d, &seen->probes, add_probe);
		break;
	case PM_FRAME_CONFIG:
		decode_config(&d);
		break;
	default:
		return -EINVAL;
	}
	*parts = part[type] | (d.news ? 0 : (unsigned)PM_PART_REPEATED);
	cbor_finish(&d.c);
	/* What adds to the model serves writers, too, and returns it. */
	if (d.c.err == -ENOMEM)
		memory_ends(ENOMEM);
	seen->rule = (enum pm_rule)d.c.rule;
	return d.c.err;
}

void definitions_seen_release(struct definitions_seen *s)
{
	free(s->group);
	*s = (struct definitions_seen){ 0 };
}

static void take_event(struct cbor *c, struct pm_event *e, uint64_t base_ns)
{
	struct cbor_map m;

	*e = (struct pm_event){ .time_ns = base_ns };
	for (cbor_map(c, &m); cbor_next(c, &m);) {
		if (m.key == EVENT_TYPE)
			e->type = (enum pm_event_type)take_u32(c, INT32_MAX);
		else if (m.key == EVENT_TIME)
			e->time_ns = take_time(c, base_ns);
		else if (m.key == EVENT_ATTRS)
			take_attrs(c, &e->attrs);
		else
			cbor_skip(c);
	}
	if (!e->type)
		cbor_fail(c, PM_RULE_EVENT);
}

int decode_events(const void *body, size_t len, void (*take)(void *ctx, struct pm_event *e), void *ctx,
		  enum pm_rule *rule)
{
	struct cbor c = cbor_over(body, len);
	uint64_t base_ns = 0;
	struct cbor_map m;

	for (cbor_body(&c, &m); cbor_next(&c, &m);) {
		size_t n;

		if (m.key == EVENTS_BASE)
			base_ns = take_time(&c, 0);
		else if (m.key != EVENTS_LIST)
			cbor_skip(&c);
		n = m.key == EVENTS_LIST ? cbor_array(&c) : 0;
		for (size_t i = 0; i < n && !c.err; i++) {
			struct pm_event e;

			take_event(&c, &e, base_ns);
			if (c.err)
				pm_event_release(&e);
			else
				take(ctx, &e);
		}
	}
	cbor_finish(&c);
	*rule = (enum pm_rule)c.rule;
	return c.err;
}

uint32_t take_u32(struct cbor *c, uint32_t max)
{
	uint64_t v = cbor_uint(c);

	if (v > max)
		cbor_fail(c, PM_RULE_RANGE);
	return c->err ? 0 : (uint32_t)v;
}

void take_text(struct cbor *c, char **out)
{
	size_t len;
	const char *text = cbor_text(c, &len);

	if (c->err || len > PM_MAX_STRING || (len && memchr(text, '\0', len))) {
		cbor_fail(c, PM_RULE_TEXT);
		return;
	}
	free(*out);
	*out = memory_new(len + 1, 1);
	if (len)
		memcpy(*out, text, len);
}
