/* Counters, groups, strings and instances: lists with ids. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/definitions_private.h"

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

static uint32_t *take_ids(struct decoding *d, uint32_t *count)
{
	struct cbor *c = &d->c;
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
		take_room(d, &d->seen->ids, run, PM_FREE_IDS, PM_BYTE_IDS);
		if (c->err)
			break;
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
			g.counter = take_ids(d, &g.n_counters);
			break;
		case GROUP_INSTANCES:
			g.instance = take_ids(d, &g.n_instances);
			break;
		default:
			cbor_skip(c);
			break;
		}
	}
	if (!c->err && (!g.source || !g.counter || !g.instance))
		cbor_fail(c);
	if (!c->err && !old)
		take_room(d, &d->seen->columns, (uint64_t)g.n_counters * g.n_instances, PM_FREE_COLUMNS,
			  PM_BYTE_COLUMNS);
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
			i.kind = take_kind(c);
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
static void decode_list(struct decoding *d, uint64_t first, uint32_t known,
			void (*item)(struct decoding *d, uint32_t id))
{
	size_t n = cbor_array(&d->c);

	if (!first || first > UINT32_MAX - PM_MAX_COLUMNS)
		cbor_fail(&d->c);
	if (!d->c.err && first > known + 1ull)
		d->c.err = -ENOLINK;
	for (size_t i = 0; i < n && !d->c.err; i++)
		item(d, (uint32_t)(first + i));
}

void decode_schema(struct decoding *d)
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

void decode_instances(struct decoding *d)
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
