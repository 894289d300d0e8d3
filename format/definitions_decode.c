#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/cbor.h"
#include "format/definitions.h"
#include "format/definitions_key.h"
#include "format/frame.h"
#include "format/limits.h"
#include "format/model_private.h"

/* Attributes lie two levels below the body. */
#define ATTRS_DEPTH (PM_MAX_DEPTH - 3)

struct decoding {
	struct cbor c;
	struct pm_model *m;
	bool news; /* something was not known before */
};

static uint32_t take_u32(struct cbor *c, uint32_t max)
{
	uint64_t v = cbor_uint(c);

	if (v > max)
		cbor_fail(c);
	return c->err ? 0 : (uint32_t)v;
}

/* A C string: a NUL inside would hide what follows it. */
static void take_text(struct cbor *c, char **out)
{
	size_t len;
	const char *text = cbor_text(c, &len);

	if (c->err || len > PM_MAX_STRING || (len && memchr(text, '\0', len))) {
		cbor_fail(c);
		return;
	}
	free(*out);
	*out = malloc(len + 1);
	if (!*out) {
		c->err = -ENOMEM;
		return;
	}
	if (len)
		memcpy(*out, text, len);
	(*out)[len] = '\0';
}

static void take_attrs(struct cbor *c, struct pm_map *attrs)
{
	pm_map_release(attrs);
	cbor_value_map(c, attrs, ATTRS_DEPTH);
}

static void decode_header(struct decoding *d)
{
	struct pm_map header = { 0 };

	cbor_value_map(&d->c, &header, PM_MAX_DEPTH - 1);
	if (d->c.err || pm_map_equal(&header, &d->m->header)) {
		pm_map_release(&header);
		return;
	}
	pm_map_release(&d->m->header);
	d->m->header = header;
	d->news = true;
}

/* ---- topology ---- */

static void take_cpu_numbers(struct cbor *c, struct pm_topology *t, unsigned key)
{
	static const size_t place[] = {
		[TOPOLOGY_CPU] = offsetof(struct pm_cpu, cpu),
		[TOPOLOGY_PACKAGE] = offsetof(struct pm_cpu, package),
		[TOPOLOGY_DIE] = offsetof(struct pm_cpu, die),
		[TOPOLOGY_CLUSTER] = offsetof(struct pm_cpu, cluster),
		[TOPOLOGY_CORE] = offsetof(struct pm_cpu, core),
		[TOPOLOGY_NODE] = offsetof(struct pm_cpu, node),
		[TOPOLOGY_THREAD] = offsetof(struct pm_cpu, thread),
		[TOPOLOGY_L1D] = offsetof(struct pm_cpu, cache[PM_CACHE_L1D]),
		[TOPOLOGY_L1I] = offsetof(struct pm_cpu, cache[PM_CACHE_L1I]),
		[TOPOLOGY_L2] = offsetof(struct pm_cpu, cache[PM_CACHE_L2]),
		[TOPOLOGY_L3] = offsetof(struct pm_cpu, cache[PM_CACHE_L3]),
		[TOPOLOGY_TYPE] = offsetof(struct pm_cpu, type),
		[TOPOLOGY_CAPACITY] = offsetof(struct pm_cpu, capacity),
	};
	size_t n = cbor_array(c);

	if (n > PM_MAX_CPUS || (t->cpu && n != t->n))
		cbor_fail(c);
	if (!t->cpu && !c->err) {
		t->cpu = malloc((n ? n : 1) * sizeof(*t->cpu));
		if (!t->cpu) {
			c->err = -ENOMEM;
			return;
		}
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
			memcpy((char *)&t->cpu[k] + place[key], &number, sizeof(number));
	}
}

static void take_type_names(struct cbor *c, struct pm_topology *t)
{
	size_t n = cbor_array(c);

	if (n > PM_MAX_CPUS) {
		cbor_fail(c);
		return;
	}
	t->type = calloc(n ? n : 1, sizeof(*t->type));
	if (!t->type) {
		c->err = -ENOMEM;
		return;
	}
	for (t->n_types = 0; t->n_types < n && !c->err; t->n_types++)
		take_text(c, &t->type[t->n_types]);
}

static bool same_topology(const struct pm_topology *a, const struct pm_topology *b)
{
	if (a->time_ns != b->time_ns || a->n != b->n || a->n_types != b->n_types)
		return false;
	for (uint32_t k = 0; k < a->n; k++) {
		const struct pm_cpu *x = &a->cpu[k], *y = &b->cpu[k];

		/* The numbers lie before `online`; behind it is padding. */
		if (memcmp(x, y, offsetof(struct pm_cpu, online)) != 0 || x->online != y->online)
			return false;
	}
	return true;
}

static void decode_topology(struct decoding *d)
{
	struct pm_topology t = { 0 };
	struct cbor_map m;

	for (cbor_map(&d->c, &m); cbor_next(&d->c, &m);) {
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
			cbor_fail(&d->c);
	if (!d->c.err && !same_topology(&t, &d->m->topology)) {
		int err = pm_model_set_topology(d->m, &t);

		if (err)
			d->c.err = err;
		d->news = true;
	}
	pm_topology_release(&t);
}

/* ---- schema ---- */

static void take_scale(struct cbor *c, struct pm_scale *s)
{
	if (cbor_peek(c) == CBOR_TEXT) {
		take_text(c, &s->text);
		return;
	}
	if (cbor_array(c) != 2)
		cbor_fail(c);
	s->num = cbor_uint(c);
	s->den = cbor_uint(c);
	if (!s->den)
		cbor_fail(c);
}

static void take_counter(struct decoding *d, struct pm_counter *n)
{
	struct cbor *c = &d->c;
	struct cbor_map m;

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
			break;
		case COUNTER_SEMANTICS:
			n->semantics = (enum pm_semantics)take_u32(c, UINT8_MAX);
			break;
		case COUNTER_WIDTH:
			n->width = (uint8_t)take_u32(c, 64);
			if (!n->width)
				cbor_fail(c);
			break;
		case COUNTER_AGGREGATION:
			n->aggregation = (enum pm_aggregation)take_u32(c, UINT8_MAX);
			break;
		case COUNTER_ATTRS:
			take_attrs(c, &n->attrs);
			break;
		default:
			cbor_skip(c);
			break;
		}
	}
	if (!c->err && (!n->name || !n->source || !n->unit))
		cbor_fail(c);
	if (!c->err && !n->display) {
		n->display = strdup(n->name);
		if (!n->display)
			c->err = -ENOMEM;
	}
}

/* Adds item `id`, or compares it with what is there under this id. */
static void settle(struct decoding *d, int64_t added, uint32_t id, bool same)
{
	if (d->c.err)
		return;
	if (added < 0)
		d->c.err = added == -ENOMEM || added == -E2BIG ? (int)added : -EBADMSG;
	else if (!same || (added && added != id))
		cbor_fail(&d->c);
	d->news |= added > 0;
}

static void decode_counter(struct decoding *d, uint32_t id)
{
	struct pm_counter n = { 0 };
	const struct pm_counter *old = pm_model_counter(d->m, id);

	take_counter(d, &n);
	if (!d->c.err)
		settle(d, old ? 0 : pm_model_add_counter(d->m, &n), id, !old || model_counter_equal(old, &n));
	model_counter_release(&n);
}

static uint32_t *take_ids(struct cbor *c, uint32_t *count)
{
	uint32_t *id = NULL;
	size_t n = cbor_array(c);

	if (n % 3)
		cbor_fail(c);
	*count = 0;
	for (size_t i = 0; i < n && !c->err; i += 3) {
		uint32_t first = take_u32(c, UINT32_MAX), run = take_u32(c, PM_MAX_COLUMNS);
		uint32_t step = take_u32(c, PM_MAX_COLUMNS), *bigger;

		if (c->err || !run || run > PM_MAX_COLUMNS - *count || (uint64_t)run * step > UINT32_MAX - first) {
			cbor_fail(c);
			break;
		}
		bigger = realloc(id, (*count + run) * sizeof(*id));
		if (!bigger) {
			c->err = -ENOMEM;
			break;
		}
		id = bigger;
		for (uint32_t k = 0; k < run; k++)
			id[(*count)++] = first + k * step;
	}
	return id;
}

static void decode_group(struct decoding *d, uint32_t id)
{
	const struct pm_group *old = pm_model_group(d->m, id);
	struct pm_group g = { 0 };
	struct cbor *c = &d->c;
	struct cbor_map m;

	for (cbor_map(c, &m); cbor_next(c, &m);) {
		switch (m.key) {
		case GROUP_SOURCE:
			take_text(c, &g.source);
			break;
		case GROUP_FLAGS:
			g.flags = take_u32(c, UINT32_MAX);
			break;
		case GROUP_COUNTERS:
			g.counter = take_ids(c, &g.n_counters);
			break;
		case GROUP_INSTANCES:
			g.instance = take_ids(c, &g.n_instances);
			break;
		default:
			cbor_skip(c);
			break;
		}
	}
	if (!c->err && (!g.source || !g.counter || !g.instance))
		cbor_fail(c);
	if (!c->err)
		settle(d, old ? 0 : pm_model_add_group(d->m, &g), id, !old || model_group_equal(old, &g));
	model_group_release(&g);
}

static void decode_string(struct decoding *d, uint32_t id)
{
	const struct pm_value *old = pm_model_string(d->m, id);
	struct pm_value v = pm_u64(0);

	cbor_value(&d->c, &v, 0);
	if (v.kind != PM_VALUE_TEXT && v.kind != PM_VALUE_BYTES)
		cbor_fail(&d->c);
	if (!d->c.err)
		settle(d, old ? 0 : pm_model_add_string(d->m, v.str.data, v.str.len, v.kind == PM_VALUE_BYTES), id,
		       !old || pm_value_equal(old, &v));
	pm_value_release(&v);
}

static void decode_instance(struct decoding *d, uint32_t id)
{
	const struct pm_instance *old = pm_model_instance(d->m, id);
	struct pm_instance i = { .number = PM_NONE, .cpu = PM_NONE };
	struct cbor *c = &d->c;
	struct cbor_map m;
	bool has_kind = false;

	for (cbor_map(c, &m); cbor_next(c, &m);) {
		switch (m.key) {
		case INSTANCE_KIND:
			i.kind = (enum pm_kind)take_u32(c, UINT8_MAX);
			has_kind = true;
			break;
		case INSTANCE_NUMBER:
			i.number = take_u32(c, UINT32_MAX);
			break;
		case INSTANCE_CPU:
			i.cpu = take_u32(c, UINT32_MAX);
			break;
		case INSTANCE_ADDED:
			i.added_ns = cbor_uint(c);
			break;
		case INSTANCE_RETIRED:
			i.retired_ns = cbor_uint(c);
			break;
		case INSTANCE_ATTRS:
			take_attrs(c, &i.attrs);
			break;
		default:
			cbor_skip(c);
			break;
		}
	}
	if (!c->err && !has_kind)
		cbor_fail(c);
	if (!c->err) {
		settle(d, old ? 0 : pm_model_add_instance(d->m, &i), id,
		       !old || (old->kind == i.kind && old->number == i.number && old->cpu == i.cpu &&
				old->added_ns == i.added_ns && pm_map_equal(&old->attrs, &i.attrs)));
		if (!c->err && old && i.retired_ns && !old->retired_ns) {
			pm_model_retire_instance(d->m, id, i.retired_ns);
			d->news = true;
		}
	}
	pm_map_release(&i.attrs);
}

/* A list whose first id is known. A list that starts behind what is there builds on something that was lost. */
static void decode_list(struct decoding *d, uint64_t first, uint32_t known, void (*item)(struct decoding *d, uint32_t id))
{
	size_t n = cbor_array(&d->c);

	if (!first || first > UINT32_MAX - PM_MAX_COLUMNS)
		cbor_fail(&d->c);
	if (!d->c.err && first > known + 1ull)
		d->c.err = -ENOLINK;
	for (size_t i = 0; i < n && !d->c.err; i++)
		item(d, (uint32_t)(first + i));
}

static void decode_schema(struct decoding *d)
{
	uint64_t first = 0;
	struct cbor_map m;

	/* The first id comes before its list: keys are written in this order, and other orders are refused here. */
	for (cbor_map(&d->c, &m); cbor_next(&d->c, &m);) {
		switch (m.key) {
		case SCHEMA_FIRST_COUNTER:
		case SCHEMA_FIRST_GROUP:
		case SCHEMA_FIRST_STRING:
			first = cbor_uint(&d->c);
			break;
		case SCHEMA_COUNTERS:
			decode_list(d, first, d->m->n_counters, decode_counter);
			first = 0;
			break;
		case SCHEMA_GROUPS:
			decode_list(d, first, d->m->n_groups, decode_group);
			first = 0;
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

static void decode_retired(struct decoding *d)
{
	size_t n = cbor_array(&d->c);

	if (n % 2)
		cbor_fail(&d->c);
	for (size_t i = 0; i < n && !d->c.err; i += 2) {
		uint32_t id = take_u32(&d->c, UINT32_MAX);
		uint64_t time = cbor_uint(&d->c);

		if (d->c.err)
			return;
		if (!pm_model_instance(d->m, id)) {
			d->c.err = -ENOLINK;
			return;
		}
		d->news |= !pm_model_instance(d->m, id)->retired_ns;
		pm_model_retire_instance(d->m, id, time);
	}
}

static void decode_instances(struct decoding *d)
{
	uint64_t first = 0;
	struct cbor_map m;

	for (cbor_map(&d->c, &m); cbor_next(&d->c, &m);) {
		if (m.key == INSTANCES_FIRST)
			first = cbor_uint(&d->c);
		else if (m.key == INSTANCES_LIST)
			decode_list(d, first, d->m->n_instances, decode_instance);
		else if (m.key == INSTANCES_RETIRED)
			decode_retired(d);
		else
			cbor_skip(&d->c);
	}
}

/* ---- what has no ids ---- */

static void add_pmu(struct decoding *d, bool known)
{
	struct pm_pmu p = { 0 };
	int err;

	cbor_value_map(&d->c, &p.attrs, ATTRS_DEPTH);
	err = d->c.err || known ? 0 : pm_model_add_pmu(d->m, &p);
	if (err)
		d->c.err = err;
	d->news |= !known;
	pm_map_release(&p.attrs);
}

static void add_probe(struct decoding *d, bool known)
{
	struct pm_probe p = { 0 };
	struct cbor_map m;

	for (cbor_map(&d->c, &m); cbor_next(&d->c, &m);) {
		switch (m.key) {
		case PROBE_SOURCE:
			take_text(&d->c, &p.source);
			break;
		case PROBE_WHAT:
			take_text(&d->c, &p.what);
			break;
		case PROBE_HINT:
			take_text(&d->c, &p.hint);
			break;
		case PROBE_REASON:
			p.reason = (uint16_t)take_u32(&d->c, UINT16_MAX);
			break;
		case PROBE_ATTRS:
			take_attrs(&d->c, &p.attrs);
			break;
		default:
			cbor_skip(&d->c);
			break;
		}
	}
	if (!d->c.err && !known) {
		int err = pm_model_add_probe(d->m, &p);

		if (err)
			d->c.err = err;
		d->news = true;
	}
	model_probe_release(&p);
}

static void decode_items(struct decoding *d, uint32_t *seen, void (*add)(struct decoding *d, bool known))
{
	uint64_t first = 0;
	struct cbor_map m;

	for (cbor_map(&d->c, &m); cbor_next(&d->c, &m);) {
		size_t n;

		if (m.key == LIST_FIRST) {
			first = take_u32(&d->c, PM_MAX_COLUMNS);
			continue;
		}
		if (m.key != LIST_ITEMS) {
			cbor_skip(&d->c);
			continue;
		}
		n = cbor_array(&d->c);
		for (size_t i = 0; i < n && !d->c.err; i++)
			add(d, first + i < *seen);
		if (!d->c.err && first + n > *seen)
			*seen = (uint32_t)(first + n);
	}
}

static void take_numbers(struct cbor *c, struct cpulist *l)
{
	size_t n = cbor_array(c);
	int err = 0;

	if (n % 2)
		cbor_fail(c);
	for (size_t i = 0; i < n && !c->err; i += 2) {
		uint32_t first = take_u32(c, CPULIST_MAX), count = take_u32(c, CPULIST_MAX + 1);

		/* Ascending, so that a small file cannot ask for much work. */
		if (count > CPULIST_MAX + 1 - first || (l->n && first <= l->cpu[l->n - 1]))
			cbor_fail(c);
		for (uint32_t k = 0; k < count && !c->err && !err; k++)
			err = cpulist_add(l, first + k);
		if (err)
			c->err = err;
	}
}

static void decode_one_config(struct decoding *d)
{
	struct pm_config e = { .value = pm_u64(0) };
	struct cbor *c = &d->c;
	bool has_value = false;
	struct cbor_map m;
	uint32_t before;

	for (cbor_map(c, &m); cbor_next(c, &m);) {
		if (m.key >= CONFIG_VALUE && m.key % 100 == CONFIG_VALUE && m.key / 100 <= PM_PRIVACY_TIME) {
			if (has_value)
				cbor_fail(c);
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
			e.time_ns = cbor_uint(c);
			break;
		case CONFIG_KIND:
			e.kind = (enum pm_kind)take_u32(c, UINT8_MAX);
			break;
		case CONFIG_INSTANCES:
			take_numbers(c, &e.instances);
			break;
		case CONFIG_REASON:
			e.reason = (uint16_t)take_u32(c, UINT16_MAX);
			break;
		default:
			cbor_skip(c);
			break;
		}
	}
	if (!c->err && (!e.name || has_value == (e.reason != PM_OK)))
		cbor_fail(c);
	if (!c->err) {
		int err;

		before = d->m->caps ? d->m->caps->config_changes : 0;
		err = pm_model_add_config(d->m, &e);
		if (err)
			c->err = err == -EINVAL ? -EBADMSG : err;
		d->news |= d->m->caps && d->m->caps->config_changes != before;
	}
	model_config_release(&e);
}

static void decode_config(struct decoding *d)
{
	struct cbor_map m;

	for (cbor_map(&d->c, &m); cbor_next(&d->c, &m);) {
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

int decode_definitions(struct pm_model *m, unsigned type, const void *body, size_t len, struct definitions_seen *seen,
		       unsigned *parts)
{
	static const unsigned part[] = { [PM_FRAME_HEADER] = 1 << 0, [PM_FRAME_TOPOLOGY] = 1 << 1,
					 [PM_FRAME_SCHEMA] = 1 << 2, [PM_FRAME_INSTANCES] = 1 << 3,
					 [PM_FRAME_PMUS] = 1 << 4,   [PM_FRAME_PROBES] = 1 << 5,
					 [PM_FRAME_CONFIG] = 1 << 6 };
	struct decoding d = { .c = cbor_over(body, len), .m = m };

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
	*parts = part[type] | (d.news ? 0 : 1u << 7);
	return cbor_finish(&d.c);
}

int decode_event(struct pm_event *e, const void *body, size_t len)
{
	struct cbor c = cbor_over(body, len);
	struct cbor_map m;

	*e = (struct pm_event){ 0 };
	for (cbor_map(&c, &m); cbor_next(&c, &m);) {
		if (m.key == EVENT_TYPE)
			e->type = (enum pm_event_type)take_u32(&c, INT32_MAX);
		else if (m.key == EVENT_TIME)
			e->time_ns = cbor_uint(&c);
		else if (m.key == EVENT_ATTRS)
			take_attrs(&c, &e->attrs);
		else
			cbor_skip(&c);
	}
	if (!e->type)
		cbor_fail(&c);
	if (cbor_finish(&c))
		pm_event_release(e);
	return c.err;
}
