/* PMUs, probe results and one-time values: lists without ids. */
#include <errno.h>

#include "format/definitions_private.h"

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
	bool has_reason = false;
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
	if (!p.source || !p.what || !has_reason)
		cbor_fail(&d->c);
	if (!d->c.err && !known) {
		int err = pm_model_add_probe(d->m, &p);

		if (err)
			d->c.err = err;
		d->news = true;
	}
	pm_probe_release(&p);
}

static void decode_items(struct decoding *d, uint32_t *seen, void (*add)(struct decoding *d, bool known))
{
	uint64_t first = UINT64_MAX;
	struct cbor_map m;

	for (cbor_body(&d->c, &m); cbor_next(&d->c, &m);) {
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
		if (first == UINT64_MAX)
			cbor_fail(&d->c);
		for (size_t i = 0; i < n && !d->c.err; i++)
			add(d, first + i < *seen);
		if (!d->c.err && first + n > *seen)
			*seen = (uint32_t)(first + n);
	}
}

static void take_numbers(struct decoding *d, struct cpulist *l)
{
	struct cbor *c = &d->c;
	size_t n = cbor_array(c);
	int err = 0;

	if (n % 2)
		cbor_fail(c);
	for (size_t i = 0; i < n && !c->err; i += 2) {
		uint32_t first = take_u32(c, CPULIST_MAX), count = take_u32(c, CPULIST_MAX + 1);

		/* Ascending, so that a small file cannot demand much work. */
		if (count > CPULIST_MAX + 1 - first || (l->n && first <= l->cpu[l->n - 1]))
			cbor_fail(c);
		take_room(d, &d->seen->ids, count, PM_FREE_IDS, PM_BYTE_IDS);
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
	bool has_value = false, has_time = false, has_kind = false, newer;
	uint32_t said;
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
	if (!c->err && (!e.name || !has_time || !has_kind || has_value == (e.reason != PM_OK)))
		cbor_fail(c);
	newer = is_newer(d, false, "a value read once", e.name ? e.name : "", 0);
	if (!c->err && !newer) {
		int err;

		before = d->m->caps ? d->m->caps->config_changes : 0;
		err = pm_model_add_config(d->m, &e);
		if (err)
			c->err = err == -EINVAL ? -EBADMSG : err;
		d->news |= d->m->caps && d->m->caps->config_changes != before;
	}
	pm_config_release(&e);
}

void decode_config(struct decoding *d)
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

void decode_pmus(struct decoding *d)
{
	decode_items(d, &d->seen->pmus, add_pmu);
}

void decode_probes(struct decoding *d)
{
	decode_items(d, &d->seen->probes, add_probe);
}
