/* Counters, groups, strings and instances: lists with ids. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "format/definitions_private.h"

#define GROUP_FLAGS_KNOWN (PM_GROUP_LIST | PM_GROUP_SHARED_TIME | PM_GROUP_PERF_TIMES)

static void take_scale(struct cbor *c, struct pm_scale *s)
{
	if (cbor_peek(c) == CBOR_TEXT) {
		take_text(c, &s->text);
		if (!c->err && !pm_scale_good(s->text))
			cbor_fail(c);
		return;
	}
	if (cbor_array(c) != 2)
		cbor_fail(c);
	s->num = cbor_uint(c);
	s->den = cbor_uint(c);
	if (!s->num || !s->den)
		cbor_fail(c);
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
				cbor_fail(c);
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
		cbor_fail(c);
	/* As the model has it, so that a repetition is the same. */
	if (n->type >= PM_F64)
		n->width = 64;
	n->wide = columns != 1;
	if (n->wide) {
		d->newer = "columns";
		d->newer_number = columns;
	}
	if (!c->err && !n->display) {
		n->display = strdup(n->name);
		if (!n->display)
			c->err = -ENOMEM;
	}
}

/* Adds item `id`, or compares it with the known one of this id. */
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
	n.newer = is_newer(d, old, "counter", n.name ? n.name : "", id);
	if (n.aggregation > PM_AGG_NONE && pm_number_critical(n.aggregation) && !old && !d->c.err)
		newer_note(
			d->seen->newer,
			"aggregation %d of counter %u, %s is newer than this program: its values cannot be combined",
			n.aggregation, id, n.name);
	if (!d->c.err)
		settle(d, old ? 0 : pm_model_add_counter(d->m, &n), id, !old || model_counter_equal(old, &n));
	pm_counter_release(&n);
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
		uint32_t step = take_u32(c, UINT32_MAX), *bigger;

		if (c->err || !run || run > PM_MAX_COLUMNS - *count || (run - 1ull) * step > UINT32_MAX - first) {
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

/* Fills in what a group takes over from the one that it continues. */
static void take_over(struct decoding *d, struct pm_group *g, const uint32_t *left, size_t n_left)
{
	const struct pm_group *from = pm_model_group(d->m, g->continues);
	uint32_t *instance, n = 0, at = 0;

	if (!from) {
		d->c.err = -ENOLINK;
		return;
	}
	instance = malloc(((size_t)from->n_instances + g->n_instances) * sizeof(*instance));
	g->counter = malloc(from->n_counters * sizeof(*g->counter));
	if (!g->source)
		g->source = strdup(from->source);
	if (!instance || !g->counter || !g->source) {
		free(instance);
		d->c.err = -ENOMEM;
		return;
	}
	memcpy(g->counter, from->counter, from->n_counters * sizeof(*g->counter));
	g->n_counters = from->n_counters;
	g->flags = from->flags;
	g->newer |= from->newer;
	for (size_t i = 0; i < n_left; i += 2) {
		uint64_t stay = left[i], leave = left[i + 1];

		if (stay + leave > from->n_instances - at) {
			cbor_fail(&d->c);
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
		cbor_fail(c);
	/* Each takes at least a byte, so memory stays proportional to the file. */
	pair = c->err ? NULL : malloc((n + 1) * sizeof(*pair));
	if (!pair && !c->err)
		c->err = -ENOMEM;
	for (size_t i = 0; i < n && !c->err; i++)
		pair[(*count)++] = take_u32(c, PM_MAX_COLUMNS);
	return pair;
}

static void decode_group(struct decoding *d, uint32_t id)
{
	const struct pm_group *old = pm_model_group(d->m, id);
	struct pm_group g = { 0 };
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
		cbor_fail(c);
	if (!c->err && g.continues)
		take_over(d, &g, left, n_left);
	free(left);
	if (!c->err && (!g.source || !g.counter || !g.instance))
		cbor_fail(c);
	if (!c->err && !old)
		take_room(d, &d->seen->columns, pm_group_values(&g), PM_FREE_COLUMNS, PM_BYTE_COLUMNS);
	if (!c->err)
		settle(d, old ? 0 : model_add_group(d->m, &g, id), id, !old || model_group_equal(old, &g));
	if (!c->err && g.continues) {
		/* A copy does not say what a group continues. */
		if (old)
			d->m->group[old - d->m->group].continues = g.continues;
		if (old && pm_model_retire_group(d->m, g.continues))
			c->err = -ENOMEM;
		else if (array_room(&d->seen->group, d->seen->n_groups, sizeof(*d->seen->group)))
			c->err = -ENOMEM;
		else
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
		cbor_fail(&d->c);
	if (!d->c.err)
		settle(d, old ? 0 : model_append_string(d->m, v.str.data, v.str.len, v.kind == PM_VALUE_BYTES), id,
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
		cbor_fail(c);
	i.newer = is_newer(d, old, "instance", pm_map_text(&i.attrs, PM_INSTANCE_NAME, ""), id);
	if (!c->err) {
		settle(d, old ? 0 : model_add_instance(d->m, &i, id), id,
		       !old || (old->kind == i.kind && old->number == i.number && old->cpu == i.cpu &&
				old->added_ns == i.added_ns && pm_map_equal(&old->attrs, &i.attrs)));
		if (!c->err && old && i.retired_ns && !old->retired_ns) {
			if (pm_model_retire_instance(d->m, id, i.retired_ns))
				c->err = -ENOMEM;
			d->news = true;
		}
	}
	pm_map_release(&i.attrs);
}

/* A list whose first id is known. If it starts after the last known id, something that it builds on was lost. */
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

/* Ids of a list that follows: the first, or [first, count ...]. */
struct listed {
	struct cbor ranges;
	size_t n_ranges;
	uint64_t next, left; /* of the range at hand */
	uint64_t last;
};

static struct listed take_listed(struct cbor *c)
{
	struct listed l = { .left = UINT64_MAX };

	if (cbor_peek(c) != CBOR_ARRAY) {
		l.next = cbor_uint(c);
		return l;
	}
	l.left = 0;
	l.ranges = *c;
	cbor_skip(c);
	l.n_ranges = cbor_array(&l.ranges);
	if (l.n_ranges % 2)
		cbor_fail(c);
	l.n_ranges /= 2;
	return l;
}

/* 0: there is no next id, or it is invalid. */
static uint32_t next_listed(struct listed *l)
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

static void decode_listed(struct decoding *d, struct listed *l, void (*item)(struct decoding *d, uint32_t id))
{
	size_t n = cbor_array(&d->c);
	bool one = l->left == UINT64_MAX; /* the first, and no count */

	for (size_t i = 0; i < n && !d->c.err; i++) {
		uint32_t id = next_listed(l);

		if (id)
			item(d, id);
		else
			cbor_fail(&d->c);
	}
	if (!one && (l->left || l->n_ranges))
		cbor_fail(&d->c);
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
	if (pm_model_retire_group(d->m, g->id))
		d->c.err = -ENOMEM;
}

static void decode_retired_groups(struct decoding *d)
{
	size_t n = cbor_array(&d->c);

	if (n % 2)
		cbor_fail(&d->c);
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

void decode_schema(struct decoding *d)
{
	struct listed groups = { 0 };
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
			groups = (struct listed){ 0 };
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

static void decode_retired(struct decoding *d)
{
	size_t n = cbor_array(&d->c);
	uint64_t time = d->base_ns;
	int64_t id = 0;

	if (n % 2)
		cbor_fail(&d->c);
	for (size_t i = 0; i < n && !d->c.err; i += 2) {
		const struct pm_instance *known;
		int64_t step = cbor_int(&d->c);

		time = take_time(&d->c, time);
		if (d->c.err || step > UINT32_MAX || step < -(int64_t)UINT32_MAX || id + step < 1 ||
		    id + step > UINT32_MAX) {
			cbor_fail(&d->c);
			return;
		}
		id += step;
		known = pm_model_instance(d->m, (uint32_t)id);
		/* Forgotten already, or its definition was lost. */
		if (!known || known->retired_ns)
			continue;
		d->news = true;
		if (pm_model_retire_instance(d->m, (uint32_t)id, time))
			d->c.err = -ENOMEM;
	}
}

void decode_instances(struct decoding *d)
{
	struct listed ids = { 0 };
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
