/* pmrep dump: what is in the file, frame by frame and value by value. */
#include "report/cmd.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/double_bits.h"
#include "common/json.h"
#include "common/number.h"
#include "common/options_table.h"
#include "common/table.h"
#include "report/export/output.h"
#include "report/info/scan.h"
#include "report/input/input.h"
#include "report/machine/value_out.h"

static const char brief[] =
	"Usage: pmrep dump [OPTION...] FILE\n"
	"Print every frame with its offset, every definition, every raw value.\n\n" OPTIONS_LIST "\n"
	"Examples:\n"
	"  pmrep dump --no-values host.pmr\n"
	"  pmrep dump --counter='cpuidle.usage.*' host.pmr\n"
	"  pmrep dump --format=json host.pmr | jq -c 'select(.value)'\n";

struct dump {
	struct pm_reader *reader; /* owned */
	char **glob;              /* owned array, up to NULL; counters, all if there is none */
	bool json, no_values, no_definitions;
	struct buf out;
	struct output_total total;
	/* How much of the model is printed already. */
	uint32_t counters, instances, groups, pmus, probes, configs, strings;
};

struct arguments {
	struct cmd_files files; /* first */
	struct dump d;
	enum cmd_format format;
	uint64_t snapshots; /* UINT64_MAX: all */
};

#define OPTIONS_INTO struct arguments
static const struct option_row rows[] = {
	{ "counter", 0, "GLOB", "only values of counters that match; may be repeated", LIST(d.glob) },
	{ "no-values", 0, NULL, "frames and definitions only", FLAG(d.no_values) },
	{ "no-definitions", 0, NULL, "frames and values only", FLAG(d.no_definitions) },
	{ "snapshots", 0, "N", "only the first N snapshots", AMOUNT(snapshots, 1, UINT64_MAX) },
	{ "format", 0, "text|json", "text (default) or json: one object per line", WORD(format) },
	{ 0 },
};

static int operands(void *into, int n, char **operand, struct error *e)
{
	return n > 1 ? error_set(e, EINVAL, "one recording at a time; try --help") : cmd_files(into, n, operand, e);
}

static const struct options_spec spec = {
	.name = "pmrep dump",
	.rows = rows,
	.operands = operands,
	.operands_doc = "FILE",
	.brief = brief,
	.paged = options_always_paged,
};

/* Snapshots, and texts in them, can be large: write what is printed immediately. */
static int flush(struct dump *d)
{
	struct error e = { 0 };

	if (d->out.len <= 1u << 16)
		return 0;
	if (output_count(&d->total, d->out.data, d->out.len, &e))
		return cmd_fail(spec.name, &e);
	cmd_write(&d->out);
	return 0;
}

/* Whether to print values of the counter. */
static bool dump_wants(const struct dump *d, uint32_t counter)
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

	for (uint32_t i = 0; i < m->n; i++) {
		struct pm_value made;

		value(d, key_name(rows, m->field[i].key, key), value_shown(rows, &m->field[i], &made));
		pm_value_release(&made);
	}
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

static void remark(struct dump *d, const char *key, const struct pm_value *v)
{
	struct buf b = BUF_INIT;

	pm_remark_text(&b, v);
	built(d, key, &b);
}

static void probe(struct dump *d, const struct pm_probe *p)
{
	char reason[16];

	begin(d, "probe");
	str(d, "source", p->source);
	remark(d, "what", &p->what);
	str(d, "reason", pm_reason_name(p->reason, reason));
	if (pm_remark_code(&p->hint))
		remark(d, "hint", &p->hint);
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

static void dump_frame(struct dump *d, const struct pm_item *item)
{
	static const char *const kind[] = {
		[PM_ITEM_MODEL] = "definition", [PM_ITEM_CHUNK] = "chunk",         [PM_ITEM_EVENT] = "event",
		[PM_ITEM_DAMAGE] = "damage",    [PM_ITEM_INDEX] = "index",         [PM_ITEM_END] = "end",
		[PM_ITEM_OTHER] = "other",      [PM_ITEM_RECORDING] = "recording",
	};

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
		word(d, "event", pm_event_name(item->event->type), item->event->type);
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
		r = flush(d);
	}
	return r;
}

/* 0, or what flush() returned. */
static int dump_snapshot(struct dump *d, const struct pm_chunk *chunk, uint32_t row)
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

/* ---- the recording ---- */

static bool wanted(void *ctx, const struct pm_group *g)
{
	const struct dump *d = ctx;

	for (uint32_t i = 0; i < g->n_counters; i++) {
		if (dump_wants(d, g->counter[i]))
			return true;
	}
	return false;
}

static int dump_chunk(struct dump *d, uint64_t *left)
{
	const struct pm_chunk *chunk;
	int r = pm_reader_decode(d->reader, &chunk);

	/* Damage is the next item. */
	if (r)
		return r == -EBADMSG ? 0 : r;
	for (uint32_t row = 0; row < chunk->rows && *left && !r; row++) {
		r = dump_snapshot(d, chunk, row);
		*left -= *left != UINT64_MAX;
		r = r ? r : flush(d);
	}
	return r;
}

static int dump_items(struct dump *d, uint64_t left, struct error *e)
{
	struct pm_item item = { 0 };
	int r = 0;

	while (left && (r = pm_reader_next(d->reader, &item)) > 0) {
		dump_frame(d, &item);
		r = item.kind == PM_ITEM_CHUNK && !d->no_values ? dump_chunk(d, &left) : flush(d);
		if (r)
			break;
	}
	if (r < 0) {
		input_failed(e, r, "cannot continue reading");
		return cmd_fail(spec.name, e);
	}
	if (!r)
		cmd_write(&d->out);
	return r;
}

/* A name that matches nothing is probably a typing error. */
static bool any_wanted(const struct dump *d)
{
	const struct pm_model *m = pm_reader_model(d->reader);

	for (size_t i = 0; i < m->n_counters; i++)
		if (dump_wants(d, m->counter[i].id))
			return true;
	return !d->glob;
}

static int run(void *input, const struct options_common *common)
{
	struct arguments *a = input;
	const char *path = a->files.path[0];
	bool being_written = input_being_written(path);
	struct error e = { 0 };
	int r;

	a->d.json = a->format == CMD_JSON;
	if (input_open(&a->d.reader, path, false, &e))
		return cmd_fail(spec.name, &e);
	pm_reader_select(a->d.reader, wanted, &a->d);
	r = dump_items(&a->d, a->snapshots, &e);
	if (!r)
		r = cmd_judge_file(spec.name, path, reader_damaged(a->d.reader, being_written));
	if (*pm_reader_newer(a->d.reader))
		cmd_complain(spec.name, "%s: partly newer than this program; pmrep check lists those parts", path);
	if ((!r || r == EXIT_DAMAGED) && !any_wanted(&a->d)) {
		cmd_complain(spec.name, "%s: no counter is named '%s'; pmrep list names them", path, a->d.glob[0]);
		r = EXIT_TROUBLE;
	}
	return r;
}

int cmd_dump(int argc, char **argv)
{
	struct arguments a = { .snapshots = UINT64_MAX };
	int r = cmd_run(&spec, argc, argv, &a, run);

	pm_reader_close(a.d.reader);
	buf_release(&a.d.out);
	free(a.d.glob);
	return r;
}
