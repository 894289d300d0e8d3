#include "report/info/dump.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/double_bits.h"
#include "common/json.h"
#include "common/number.h"
#include "common/table.h"
#include "report/info/scan.h"
#include "report/input/memory.h"
#include "report/machine/value_out.h"

bool dump_wants(const struct dump *d, uint32_t counter)
{
	const struct pm_counter *c = pm_model_counter(pm_reader_model(d->reader), counter);

	if (!d->glob)
		return true;
	for (size_t i = 0; c && d->glob[i]; i++) {
		if (!fnmatch(d->glob[i], c->name, 0))
			return true;
	}
	return false;
}

/* ---- one line of fields, in either form ---- */

static void begin(struct dump *d, const char *what)
{
	if (d->json) {
		buf_addstr(&d->out, "{\"is\":");
		json_quote(&d->out, what, strlen(what));
	} else {
		buf_addstr(&d->out, what);
	}
}

static void end(struct dump *d)
{
	buf_addstr(&d->out, d->json ? "}\n" : "\n");
}

static void name(struct dump *d, const char *key)
{
	if (d->json) {
		buf_addch(&d->out, ',');
		json_quote(&d->out, key, strlen(key));
		buf_addch(&d->out, ':');
	} else {
		buf_printf(&d->out, " %s=", key);
	}
}

static void text(struct dump *d, const char *key, const char *value, size_t len)
{
	bool quotes = !len;

	/* Fields end at blanks. */
	for (size_t i = 0; i < len && !quotes; i++)
		quotes = value[i] == ' ' || value[i] == '"';
	name(d, key);
	if (d->json) {
		json_quote(&d->out, value, len);
		return;
	}
	buf_addstr(&d->out, quotes ? "\"" : "");
	text_escape(&d->out, value, len);
	buf_addstr(&d->out, quotes ? "\"" : "");
}

static void str(struct dump *d, const char *key, const char *value)
{
	if (value)
		text(d, key, value, strlen(value));
}

static void u64(struct dump *d, const char *key, uint64_t value)
{
	char number[NUMBER_MAX];

	name(d, key);
	buf_add(&d->out, number, number_u64(number, value));
}

static void number_or_not(struct dump *d, const char *key, uint32_t value)
{
	if (value != PM_NONE)
		u64(d, key, value);
}

/* Writes a combined text, and releases it. */
static void built(struct dump *d, const char *key, struct buf *b)
{
	text(d, key, buf_str(b), b->len);
	buf_carry(&d->out, b);
	buf_release(b);
}

static void value(struct dump *d, const char *key, const struct pm_value *v)
{
	SCOPED(json_scoped) struct json *j = d->json ? value_json(v) : NULL;
	struct buf b = BUF_INIT;

	if (d->json) {
		name(d, key);
		json_print(j, 0, &d->out);
		return;
	}
	value_text(v, &b);
	built(d, key, &b);
}

static void map(struct dump *d, const struct pm_map *m, const struct pm_key_row *rows)
{
	char key[16];

	for (uint32_t i = 0; i < m->n; i++)
		value(d, key_name(rows, m->field[i].key, key), &m->field[i].value);
}

static void list(struct dump *d, const char *key, const uint32_t *v, uint32_t n)
{
	char number[NUMBER_MAX];

	name(d, key);
	buf_addstr(&d->out, d->json ? "[" : "");
	for (uint32_t i = 0; i < n; i++) {
		buf_addstr(&d->out, i ? "," : "");
		buf_add(&d->out, number, number_u64(number, v[i]));
	}
	buf_addstr(&d->out, d->json ? "]" : "");
}

/* ---- definitions ---- */

/* What this version has no word for is written as a number. */
static void word(struct dump *d, const char *key, const char *known, uint64_t number)
{
	if (known)
		str(d, key, known);
	else
		u64(d, key, number);
}

static void counter(struct dump *d, const struct pm_counter *c)
{
	begin(d, "counter");
	u64(d, "id", c->id);
	str(d, "name", c->name);
	str(d, "display", c->display);
	str(d, "source", c->source);
	str(d, "unit", c->unit);
	word(d, "type", pm_type_name(c->type), c->type);
	word(d, "semantics", pm_semantics_name(c->semantics), c->semantics);
	word(d, "aggregation", pm_aggregation_name(c->aggregation), c->aggregation);
	u64(d, "width", c->width);
	u64(d, "scale_num", c->scale.num);
	u64(d, "scale_den", c->scale.den);
	str(d, "scale", c->scale.text);
	map(d, &c->attrs, pm_counter_keys);
	end(d);
}

static void instance(struct dump *d, const struct pm_instance *i)
{
	begin(d, "instance");
	u64(d, "id", i->id);
	str(d, "kind", pm_kind_name(i->kind));
	number_or_not(d, "number", i->number);
	number_or_not(d, "cpu", i->cpu);
	u64(d, "added_ns", i->added_ns);
	if (i->retired_ns)
		u64(d, "retired_ns", i->retired_ns);
	map(d, &i->attrs, pm_instance_keys);
	end(d);
}

static void group(struct dump *d, const struct pm_group *g)
{
	begin(d, "group");
	u64(d, "id", g->id);
	str(d, "source", g->source);
	u64(d, "flags", g->flags);
	list(d, "counters", g->counter, g->n_counters);
	list(d, "instances", g->instance, g->n_instances);
	end(d);
}

static void probe(struct dump *d, const struct pm_probe *p)
{
	char reason[16];

	begin(d, "probe");
	str(d, "source", p->source);
	str(d, "what", p->what);
	str(d, "reason", pm_reason_name(p->reason, reason));
	str(d, "hint", p->hint);
	map(d, &p->attrs, NULL);
	end(d);
}

static void config(struct dump *d, const struct pm_config *c)
{
	struct buf b = BUF_INIT;
	char reason[16];

	begin(d, "config");
	str(d, "name", c->name);
	str(d, "kind", pm_kind_name(c->kind));
	cpulist_print(&c->instances, &b);
	built(d, "instances", &b);
	u64(d, "time_ns", c->time_ns);
	str(d, "status", pm_reason_name(c->reason, reason));
	str(d, "reveals", privacy_name(c->privacy));
	if (!c->reason)
		value(d, "value", &c->value);
	end(d);
}

static void topology(struct dump *d, const struct pm_topology *t)
{
	for (uint32_t i = 0; i < t->n; i++) {
		const struct pm_cpu *c = &t->cpu[i];

		begin(d, "cpu");
		u64(d, "cpu", c->cpu);
		u64(d, "online", c->online);
		number_or_not(d, "package", c->package);
		number_or_not(d, "die", c->die);
		number_or_not(d, "cluster", c->cluster);
		number_or_not(d, "core", c->core);
		number_or_not(d, "node", c->node);
		number_or_not(d, "thread", c->thread);
		for (int k = 0; k < PM_CACHES; k++) {
			static const char *const cache[PM_CACHES] = { "l1d", "l1i", "l2", "l3" };

			number_or_not(d, cache[k], c->cache[k]);
		}
		if (c->type < t->n_types)
			str(d, "type", t->type[c->type]);
		number_or_not(d, "capacity", c->capacity);
		end(d);
	}
}

/* Writes what the model has gained since the last call. */
static void definitions(struct dump *d, unsigned parts)
{
	const struct pm_model *m = pm_reader_model(d->reader);

	if (parts & PM_PART_HEADER) {
		begin(d, "header");
		map(d, &m->header, pm_header_keys);
		end(d);
	}
	if (parts & PM_PART_TOPOLOGY)
		topology(d, &m->topology);
	for (; d->counters < m->n_counters; d->counters++)
		counter(d, &m->counter[d->counters]);
	for (; d->instances < m->n_instances; d->instances++)
		instance(d, &m->instance[d->instances]);
	for (; d->groups < m->n_groups; d->groups++)
		group(d, &m->group[d->groups]);
	for (; d->strings < m->n_strings; d->strings++) {
		begin(d, "string");
		u64(d, "id", d->strings + 1);
		value(d, "value", &m->string[d->strings]);
		end(d);
	}
	for (; d->pmus < m->n_pmus; d->pmus++) {
		begin(d, "pmu");
		map(d, &m->pmu[d->pmus].attrs, pm_pmu_keys);
		end(d);
	}
	for (; d->probes < m->n_probes; d->probes++)
		probe(d, &m->probe[d->probes]);
	for (; d->configs < m->n_configs; d->configs++)
		config(d, &m->config[d->configs]);
}

/* ---- frames ---- */

static void parts_text(struct dump *d, unsigned parts)
{
	static const char *const part[] = { "header", "topology", "schema", "instances",
					    "pmus",   "probes",   "config", "repeated" };
	struct buf b = BUF_INIT;

	for (unsigned i = 0; i < sizeof(part) / sizeof(*part); i++) {
		if (parts & 1u << i)
			buf_printf(&b, "%s%s", b.len ? "," : "", part[i]);
	}
	built(d, "parts", &b);
}

static void chunk_head(struct dump *d, const struct pm_chunk_head *c)
{
	str(d, "key", c->key ? "yes" : "no");
	u64(d, "run", c->run);
	u64(d, "segment", c->segment);
	u64(d, "snapshots", c->rows);
	u64(d, "from_ns", c->from_ns);
	u64(d, "to_ns", c->to_ns);
	u64(d, "monotonic", c->clocks.monotonic);
	u64(d, "monotonic_raw", c->clocks.monotonic_raw);
	u64(d, "realtime", c->clocks.realtime);
	u64(d, "boottime", c->clocks.boottime);
	u64(d, "counter", c->clocks.counter);
}

static void damage(struct dump *d, const struct pm_damage *p)
{
	str(d, "damage", damage_name(p->kind));
	if (p->from_ns)
		u64(d, "from_ns", p->from_ns);
	if (p->frames)
		u64(d, "frames", p->frames);
	str(d, "text", p->text);
}

void dump_frame(struct dump *d, const struct pm_item *item)
{
	static const char *const kind[] = {
		[PM_ITEM_MODEL] = "definition", [PM_ITEM_CHUNK] = "chunk",         [PM_ITEM_EVENT] = "event",
		[PM_ITEM_DAMAGE] = "damage",    [PM_ITEM_INDEX] = "index",         [PM_ITEM_END] = "end",
		[PM_ITEM_OTHER] = "other",      [PM_ITEM_RECORDING] = "recording",
	};
	const char *event;

	begin(d, item->kind == PM_ITEM_DAMAGE || item->kind == PM_ITEM_RECORDING ? kind[item->kind] : "frame");
	u64(d, "offset", item->offset);
	u64(d, "length", item->length);
	if (item->kind != PM_ITEM_DAMAGE && item->kind != PM_ITEM_RECORDING) {
		u64(d, "sequence", item->sequence);
		u64(d, "type", item->type);
		str(d, "kind", item->newer ? "newer" : kind[item->kind]);
	}
	switch (item->kind) {
	case PM_ITEM_MODEL:
		parts_text(d, item->parts);
		break;
	case PM_ITEM_CHUNK:
		chunk_head(d, &item->chunk);
		break;
	case PM_ITEM_EVENT:
		event = pm_event_name(item->event->type);
		if (event)
			str(d, "event", event);
		else
			u64(d, "event", item->event->type);
		u64(d, "time_ns", item->event->time_ns);
		map(d, &item->event->attrs, pm_event_keys);
		break;
	case PM_ITEM_DAMAGE:
		damage(d, item->damage);
		break;
	case PM_ITEM_RECORDING:
		d->counters = d->instances = d->groups = d->pmus = d->probes = d->configs = d->strings = 0;
		break;
	default:
		break;
	}
	end(d);
	if (item->kind == PM_ITEM_MODEL && !d->no_definitions)
		definitions(d, item->parts & PM_PART_REPEATED ? 0 : item->parts);
}

/* ---- values ---- */

static void raw(struct dump *d, const struct pm_model *m, const struct pm_counter *c, uint64_t v)
{
	const struct pm_value *s;
	char number[NUMBER_MAX];
	double f;

	if (pm_counter_texts(c)) {
		s = v <= UINT32_MAX ? pm_model_string(m, (uint32_t)v) : NULL;
		if (s)
			value(d, "value", s);
		return;
	}
	switch (c->type) {
	case PM_S64:
		name(d, "value");
		buf_add(&d->out, number, number_s64(number, (int64_t)v));
		return;
	case PM_F64:
		f = double_from_bits(v);
		name(d, "value");
		if (d->json && f - f != 0)
			buf_addstr(&d->out, "null");
		else
			buf_add(&d->out, number, number_double(number, f));
		return;
	default:
		u64(d, "value", v);
	}
}

static void flags_text(struct dump *d, uint8_t flags)
{
	char list[32];
	int n = snprintf(list, sizeof(list), "%s%s%s%s", flags & PM_SNAPSHOT_FORCED ? "forced," : "",
			 flags & PM_SNAPSHOT_FIRST ? "first," : "", flags & PM_SNAPSHOT_LAST ? "last," : "",
			 flags & PM_SNAPSHOT_BETWEEN ? "between," : "");

	if (n)
		text(d, "flags", list, (size_t)n - 1);
}

static int group_values(struct dump *d, const struct pm_group *g, const struct pm_chunk_group *cg, uint32_t row)
{
	const struct pm_model *m = pm_reader_model(d->reader);
	uint32_t times = pm_group_times(g), head = pm_group_head(g), n = pm_group_values(g);
	char reason_buf[16];
	double f;
	int r = 0;

	for (uint32_t k = 0; k < n && !r; k++) {
		uint32_t time = pm_group_time_of(g, k);
		uint32_t id = pm_group_counter_of(g, k);
		const struct pm_counter *c = pm_model_counter(m, id);
		const struct pm_instance *i = pm_model_instance(m, pm_group_instance_of(g, k));
		size_t cell = (size_t)(head + k) * cg->stride + row;
		uint16_t reason = cg->status ? cg->status[cell] : PM_OK;

		if (!c || !i || !dump_wants(d, id))
			continue;
		begin(d, "value");
		str(d, "counter", c->name);
		str(d, "scope", pm_kind_name(i->kind));
		number_or_not(d, "number", i->number);
		u64(d, "instance", i->id);
		if (!reason)
			raw(d, m, c, cg->v[cell]);
		/* JSON has neither nan nor inf. */
		f = c->type == PM_F64 ? double_from_bits(cg->v[cell]) : 0;
		str(d, "status",
		    d->json && !reason && f - f != 0 ? "not-finite" : pm_reason_name(reason, reason_buf));
		u64(d, "begin", cg->v[(size_t)time * cg->stride + row]);
		u64(d, "end", cg->v[(size_t)(times + time) * cg->stride + row]);
		if (g->flags & PM_GROUP_PERF_TIMES) {
			u64(d, "enabled", cg->v[(size_t)(2 * times + time) * cg->stride + row]);
			u64(d, "running", cg->v[(size_t)(3 * times + time) * cg->stride + row]);
		}
		end(d);
		r = d->flush(d);
	}
	return r;
}

int dump_snapshot(struct dump *d, const struct pm_chunk *chunk, uint32_t row)
{
	const struct pm_model *m = pm_reader_model(d->reader);
	int r = 0;

	begin(d, "snapshot");
	u64(d, "number", chunk->number[row]);
	u64(d, "tick", chunk->tick[row]);
	flags_text(d, chunk->flags[row]);
	end(d);
	for (uint32_t k = 0; k < chunk->n_groups && !r; k++) {
		const struct pm_group *g = pm_model_group(m, chunk->group[k].group);

		if (g && !chunk->group[k].absent)
			r = group_values(d, g, &chunk->group[k], row);
	}
	return r;
}

/* ---- turbostat's --Dump ---- */

static void put_value(const struct pm_counter *c, const struct pm_instance *i, uint64_t value, struct buf *out)
{
	if (i->kind == PM_SYSTEM || i->number == PM_NONE)
		buf_printf(out, "%s: ", c->name);
	else
		buf_printf(out, "%s (%s %" PRIu32 "): ", c->name, pm_kind_name(i->kind), i->number);
	if (c->type == PM_S64)
		buf_printf(out, "%" PRId64 "\n", (int64_t)value);
	else if (c->type == PM_F64)
		buf_printf(out, "%.10g\n", double_from_bits(value));
	else /* registers read as their documents have them */
		buf_printf(out, !strncmp(c->name, "msr.", 4) ? "0x%016" PRIx64 "\n" : "%" PRIu64 "\n", value);
}

/* Marks the counters that feed shown columns. */
static void mark_counters(const struct offer *offer, bool *feeds)
{
	const struct binding *b = &offer->binding;

	for (size_t i = 0; i < b->n_metrics; i++)
		for (uint32_t k = 0; offer->shown[i] && k < b->metric[i].n_inputs; k++) {
			const struct bound_input *in = &b->input[b->metric[i].input[k]];

			for (uint32_t n = 0; !in->constant && n < in->n_counters; n++)
				feeds[in->counter[n]] = true;
		}
}

void dump_turbostat(const struct offer *offer, const struct pm_chunk *chunk, struct buf *out)
{
	const struct pm_model *m = offer->places.model;
	SCOPED(scoped_free) bool *feeds = memory_new((size_t)m->n_counters + 1, sizeof(*feeds));

	mark_counters(offer, feeds);
	for (uint32_t k = 0; k < chunk->n_groups; k++) {
		const struct pm_chunk_group *cg = &chunk->group[k];
		const struct pm_group *g = pm_model_group(m, cg->group);

		for (uint32_t v = 0; g && !cg->absent && v < pm_group_values(g); v++) {
			size_t cell = (size_t)(pm_group_head(g) + v) * cg->stride;
			const struct pm_counter *c = pm_model_counter(m, pm_group_counter_of(g, v));
			const struct pm_instance *i = pm_model_instance(m, pm_group_instance_of(g, v));

			if (c && i && feeds[c->id] && !pm_counter_texts(c) && !(cg->status && cg->status[cell]))
				put_value(c, i, cg->v[cell], out);
		}
	}
}
