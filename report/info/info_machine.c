/* pmrep info on the machine: its header, topology, PMUs, registers and settings. */
#include "report/info/info_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "report/machine/decode.h"
#include "report/machine/value_out.h"

/* Everything in the header, so that keys of a later version are shown, too. */
void say_host(struct report *p)
{
	char name[16];

	say_facts(p, "Host and recorder");
	for (uint32_t i = 0; i < p->m->header.n; i++) {
		const struct pm_field *f = &p->m->header.field[i];

		buf_clear(&p->cell);
		if (f->key == PM_HEADER_INTERVAL && f->value.kind == PM_VALUE_U64)
			say_ns(&p->cell, f->value.u64);
		else if (f->key == PM_HEADER_MEMORY && f->value.kind == PM_VALUE_U64)
			buf_bytes(&p->cell, f->value.u64);
		else
			value_text(&f->value, &p->cell);
		say_fact(p, key_name(pm_header_keys, f->key, name), buf_str(&p->cell), pm_key_privacy(f->key));
	}
}

void say_topology(struct report *p)
{
	struct topology_counts c;

	if (topology_count(&p->m->topology, &c)) {
		p->err = -ENOMEM;
		return;
	}
	const struct {
		const char *name;
		uint32_t n;
	} rows[] = {
		{ "packages", c.packages },
		{ "dies", c.dies },
		{ "nodes", c.nodes },
		{ "clusters", c.clusters },
		{ "cores", c.cores },
		{ "CPUs", c.cpus },
		{ "threads per core", c.threads ? c.threads : UINT32_MAX },
		{ "offline CPUs", c.offline },
	};

	say_facts(p, "Topology (online CPUs)");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (rows[i].n == UINT32_MAX)
			say_fact(p, rows[i].name, "-", PM_PRIVACY_TECHNICAL);
		else
			say_fact_f(p, rows[i].name, "%u", rows[i].n);
	}
	for (uint32_t i = 0; i < p->m->topology.n_types; i++)
		say_fact(p, "CPU type", p->m->topology.type[i], PM_PRIVACY_TECHNICAL);
}

/* "event config:0-7, umask config:8-15": pairs of texts, or only their names. */
static void add_pairs(struct report *p, const char *title, const struct pm_value *v, bool names)
{
	if (!v || v->kind != PM_VALUE_ARRAY || !v->array.n)
		return;
	buf_printf(&p->cell, "; %s ", title);
	for (uint32_t i = 0; i < v->array.n; i++) {
		const struct pm_value *pair = &v->array.item[i];

		if (pair->kind != PM_VALUE_ARRAY || !pair->array.n)
			continue;
		buf_addstr(&p->cell, i ? ", " : "");
		value_text(&pair->array.item[0], &p->cell);
		if (names || pair->array.n < 2)
			continue;
		buf_addch(&p->cell, ' ');
		value_text(&pair->array.item[1], &p->cell);
	}
}

void say_pmus(struct report *p, bool all)
{
	if (!p->m->n_pmus)
		return;
	say_facts(p, "PMUs");
	for (uint32_t i = 0; i < p->m->n_pmus; i++) {
		const struct pm_map *a = &p->m->pmu[i].attrs;
		const struct pm_value *events = pm_map_get(a, PM_PMU_EVENTS);
		const char *cpus = pm_map_text(a, PM_PMU_CPUMASK, pm_map_text(a, PM_PMU_CPUS, NULL));

		buf_clear(&p->cell);
		buf_printf(&p->cell, "type %llu", (unsigned long long)pm_map_u64(a, PM_PMU_TYPE, 0));
		if (pm_map_get(a, PM_PMU_IDENTIFIER))
			buf_printf(&p->cell, ", identifier %s", pm_map_text(a, PM_PMU_IDENTIFIER, ""));
		if (cpus)
			buf_printf(&p->cell, *cpus ? ", CPUs %s" : ", no CPU online%s", cpus);
		if (pm_map_get(a, PM_PMU_COUNTERS))
			buf_printf(&p->cell, ", %llu counters found",
				   (unsigned long long)pm_map_u64(a, PM_PMU_COUNTERS, 0));
		if (events && events->kind == PM_VALUE_ARRAY)
			buf_printf(&p->cell, ", %u named event%s", events->array.n, plural(events->array.n));
		if (all) {
			add_pairs(p, "formats", pm_map_get(a, PM_PMU_FORMATS), false);
			add_pairs(p, "caps", pm_map_get(a, PM_PMU_CAPS), false);
			add_pairs(p, "files", pm_map_get(a, PM_PMU_FILES), false);
			add_pairs(p, "events", events, true);
		}
		say_cell(p, pm_map_text(a, PM_PMU_NAME, "?"));
	}
}

/* "cpu 0-3"; nothing for the system. */
static void add_places(struct buf *b, const struct pm_config *c)
{
	const char *kind = pm_kind_name(c->kind);

	if (c->kind == PM_SYSTEM || !c->instances.n)
		return;
	buf_printf(b, "%s ", kind ? kind : "?");
	cpulist_print(&c->instances, b);
}

void say_config(struct report *p, bool all)
{
	if (!p->m->n_configs)
		return;
	say_facts(p, "One-time values");
	if (!all) {
		say_remark(p, "%llu; --all shows them", p->m->n_configs);
		return;
	}
	for (uint32_t i = 0; i < p->m->n_configs; i++) {
		const struct pm_config *c = &p->m->config[i];

		buf_clear(&p->cell);
		if (c->reason)
			buf_printf(&p->cell, "- (%s)", pm_reason_text(c->reason));
		else
			value_text(&c->value, &p->cell);
		if (c->kind != PM_SYSTEM && c->instances.n) {
			buf_addstr(&p->cell, "  (");
			add_places(&p->cell, c);
			buf_addch(&p->cell, ')');
		}
		say_fact(p, c->name, buf_str(&p->cell), c->privacy);
	}
}

static int register_row(void *ctx, const struct decoded *d)
{
	struct report *p = ctx;
	SCOPED(buf_release) struct buf text = BUF_INIT;
	char value[32] = "";

	if (!strncmp(d->name, "msr.", 4))
		snprintf(value, sizeof(value), "0x%llx", (unsigned long long)d->value);
	buf_clear(&p->cell);
	if (d->config)
		add_places(&p->cell, d->config);
	decoded_text(d, &text);
	buf_carry(&p->cell, &text);
	say_row(p, (const char *const[]){ d->name, value, buf_str(&p->cell), buf_str(&text) }, 4,
		PM_PRIVACY_TECHNICAL);
	return p->err;
}

static int setting_row(void *ctx, const struct decoded *d)
{
	struct report *p = ctx;

	buf_clear(&p->cell);
	add_places(&p->cell, d->config);
	say_row(p, (const char *const[]){ d->name, buf_str(&p->cell), d->field[0].text }, 3, PM_PRIVACY_TECHNICAL);
	return p->err;
}

static int any_register(void *ctx, const struct decoded *d)
{
	return 1;
}

/* What the processor's registers say, which only x86 has, and the kernel's settings. */
void say_decoded(struct report *p)
{
	static const struct info_column column[] = {
		{ .name = "" }, { .name = "" }, { .name = "" }, { .name = "", .wraps = true }
	};

	if (decode_all(p->m, any_register, NULL)) {
		say_part(p, "Registers", column, 4);
		p->err = p->err ? p->err : decode_all(p->m, register_row, p);
	}
	if (decode_settings(p->m, any_register, NULL)) {
		say_part(p, "Settings of the kernel", column + 1, 3);
		p->err = p->err ? p->err : decode_settings(p->m, setting_row, p);
	}
}
