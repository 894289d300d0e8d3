/* Adds the bodies of definition and event frames to the model, and notes which parts changed. A repetition must equal
 * what is known. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/definitions_private.h"
#include "format/frame.h"
#include "format/reader.h"

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

void look_at_number(struct decoding *d, const char *what, uint32_t number, uint32_t last)
{
	if (number <= last || !pm_number_critical(number))
		return;
	d->newer = what;
	d->newer_number = number;
}

void look_at_key(struct decoding *d, uint32_t key)
{
	if (!pm_key_critical(key))
		return;
	d->newer = "key";
	d->newer_number = key;
}

void look_at_attrs(struct decoding *d, const struct pm_map *attrs)
{
	for (uint32_t i = 0; i < attrs->n; i++)
		look_at_key(d, attrs->field[i].key);
}

bool is_newer(struct decoding *d, bool known, const char *what, const char *name, uint32_t id)
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
		cbor_fail(&d->c);
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
			cbor_fail(&d->c);
	if (!d->c.err && !same_topology(&t, &d->m->topology)) {
		int err = pm_model_set_topology(d->m, &t);

		if (err)
			d->c.err = err;
		d->news = true;
	}
	pm_topology_release(&t);
}

void take_room(struct decoding *d, uint64_t *used, uint64_t n, uint64_t free, uint64_t by_byte)
{
	*used += n;
	if (!d->c.err && *used > free + d->seen->stored * by_byte)
		d->c.err = -E2BIG;
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
		decode_pmus(&d);
		break;
	case PM_FRAME_PROBES:
		decode_probes(&d);
		break;
	case PM_FRAME_CONFIG:
		decode_config(&d);
		break;
	default:
		return -EINVAL;
	}
	*parts = part[type] | (d.news ? 0 : (unsigned)PM_PART_REPEATED);
	return cbor_finish(&d.c);
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
		cbor_fail(c);
}

int decode_events(const void *body, size_t len, int (*take)(void *ctx, struct pm_event *e), void *ctx)
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
			if (!c.err)
				c.err = take(ctx, &e);
			if (c.err)
				pm_event_release(&e);
		}
	}
	return cbor_finish(&c);
}
