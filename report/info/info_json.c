/* pmrep info --format=json: one object with everything. */
#include "report/info/info.h"

#include "report/input/memory.h"
#include "report/machine/decode.h"
#include "report/machine/value_out.h"
#include "report/metric/ways.h"

static struct json *or_null(uint32_t n)
{
	return n == UINT32_MAX ? json_new_null() : json_new_u64(n);
}

/* A number of a later version has no name. */
static struct json *name_json(const char *name)
{
	return name ? json_new_text(name) : json_new_null();
}

static struct json *cpulist_json(const struct cpulist *l)
{
	SCOPED(buf_release) struct buf b = BUF_INIT;

	cpulist_print(l, &b);
	return json_new_buf(&b);
}

static struct json *samples_json(struct samples *s)
{
	struct json *j;

	if (!s->n)
		return json_new_null();
	j = json_new_object();
	json_put(j, "median", json_new_u64(samples_median(s)));
	json_put(j, "max", json_new_u64(s->max));
	return j;
}

/* An array of what `one` makes of each of n things. */
static struct json *list_json(const void *things, size_t n, size_t size, struct json *(*one)(const void *thing))
{
	struct json *list = json_new_array();

	for (size_t i = 0; i < n; i++)
		json_push(list, one((const char *)things + i * size));
	return list;
}

#define LIST(things, n, one) list_json(things, n, sizeof(*(things)), one)

static struct json *type_json(const void *type)
{
	return json_new_text(*(char *const *)type);
}

static struct json *topology_json(const struct pm_topology *t)
{
	struct topology_counts c = topology_count(t);
	struct json *j = json_new_object();

	c.threads = c.threads ? c.threads : UINT32_MAX;
	for (const struct topology_part *part = topology_parts; part->key; part++)
		json_put(j, part->key, or_null(*topology_number(&c, part->at)));
	json_put(j, "cpu_types", LIST(t->type, t->n_types, type_json));
	return j;
}

static struct json *clocks_json(const struct scan *s)
{
	struct json *j = json_new_object();

	json_put(j, "monotonic", json_new_u64(s->clocks.monotonic));
	json_put(j, "monotonic_raw", json_new_u64(s->clocks.monotonic_raw));
	json_put(j, "realtime", s->clocks.realtime ? json_new_u64(s->clocks.realtime) : json_new_null());
	json_put(j, "boottime", s->clocks.boottime ? json_new_u64(s->clocks.boottime) : json_new_null());
	json_put(j, "counter", s->clocks.counter ? json_new_u64(s->clocks.counter) : json_new_null());
	return j;
}

static struct json *source_json(const void *thing)
{
	/* Its samples are sorted. */
	struct scan_source *s = (struct scan_source *)(uintptr_t)thing;
	struct json *j = json_new_object();

	json_put(j, "name", json_new_text(s->name));
	json_put(j, "groups", json_new_u64(s->groups));
	json_put(j, "counters", json_new_u64(s->counters));
	json_put(j, "columns", json_new_u64(s->columns));
	json_put(j, "skew_ns", samples_json(&s->skew));
	return j;
}

static struct json *group_json(const void *thing)
{
	const struct pm_group *g = thing;
	struct json *j = json_new_object();

	json_put(j, "id", json_new_u64(g->id));
	json_put(j, "source", json_new_text(g->source));
	json_put(j, "counters", json_new_u64(g->n_counters));
	json_put(j, "instances", json_new_u64(g->n_instances));
	json_put(j, "columns", json_new_u64(pm_group_values(g)));
	json_put(j, "shape", json_new_text(g->flags & PM_GROUP_LIST ? "list" : "matrix"));
	json_put(j, "shared_time", json_new_bool(pm_group_times(g) == 1));
	json_put(j, "perf_times", json_new_bool(g->flags & PM_GROUP_PERF_TIMES));
	return j;
}

static struct json *counter_json(const void *thing)
{
	const struct pm_counter *c = thing;
	struct json *j = json_new_object();

	json_put(j, "name", json_new_text(c->name));
	json_put(j, "display", json_new_text(c->display));
	json_put(j, "source", json_new_text(c->source));
	json_put(j, "unit", json_new_text(c->unit));
	json_put(j, "type", name_json(pm_type_name(c->type)));
	json_put(j, "semantics", name_json(pm_semantics_name(c->semantics)));
	json_put(j, "aggregation", name_json(pm_aggregation_name(c->aggregation)));
	json_put(j, "width", json_new_u64(c->width));
	if (c->scale.text) {
		json_put(j, "scale", json_new_text(c->scale.text));
	} else if (c->scale.num != 1 || c->scale.den != 1) {
		json_put(j, "scale_num", json_new_u64(c->scale.num));
		json_put(j, "scale_den", json_new_u64(c->scale.den));
	}
	json_put(j, "attrs", map_json(&c->attrs, pm_counter_keys));
	return j;
}

static struct json *pmu_json(const void *thing)
{
	return map_json(&((const struct pm_pmu *)thing)->attrs, pm_pmu_keys);
}

static struct json *probe_json(const void *thing)
{
	const struct pm_probe *p = thing;
	struct json *j = json_new_object();
	char name[16];

	json_put(j, "source", json_new_text(p->source));
	json_put(j, "what", json_new_text(p->what));
	json_put(j, "reason", json_new_text(pm_reason_name(p->reason, name)));
	json_put(j, "text", json_new_text(pm_reason_text(p->reason)));
	json_put(j, "hint", p->hint ? json_new_text(p->hint) : json_new_null());
	return j;
}

static struct json *config_json(const void *thing)
{
	const struct pm_config *c = thing;
	const char *privacy = privacy_name(c->privacy);
	struct json *j = json_new_object();
	char name[16];

	json_put(j, "name", json_new_text(c->name));
	json_put(j, "scope", name_json(pm_kind_name(c->kind)));
	json_put(j, "instances", cpulist_json(&c->instances));
	json_put(j, "value", c->reason ? json_new_null() : value_json(&c->value));
	json_put(j, "status", json_new_text(pm_reason_name(c->reason, name)));
	json_put(j, "reveals", privacy ? json_new_text(privacy) : json_new_null());
	return j;
}

static struct json *events_json(const struct scan *s)
{
	struct json *list = json_new_array();

	for (uint32_t i = 0; i < s->n_events; i++) {
		const struct pm_event *e = &s->event[i];
		const char *name = pm_event_name(e->type);
		struct json *j = json_new_object();

		json_put(j, "event", name ? json_new_text(name) : json_new_u64(e->type));
		json_put(j, "time", time_json(pm_reader_realtime(s->reader, e->time_ns)));
		json_put(j, "monotonic_ns", json_new_u64(e->time_ns));
		json_put(j, "attrs", map_json(&e->attrs, pm_event_keys));
		json_push(list, j);
	}
	return list;
}

static struct json *labels_json(const struct pm_model *m)
{
	const struct pm_value *labels = pm_map_get(&m->header, PM_HEADER_LABELS);
	struct json *j = json_new_object();

	for (uint32_t i = 0; labels && labels->kind == PM_VALUE_ARRAY && i < labels->array.n; i++) {
		const struct pm_value *pair = &labels->array.item[i];

		if (pair->kind == PM_VALUE_ARRAY && pair->array.n == 2 && pair->array.item[0].kind == PM_VALUE_TEXT)
			json_put(j, pair->array.item[0].str.data, value_json(&pair->array.item[1]));
	}
	return j;
}

static struct json *reveals_json(const struct scan *s)
{
	struct json *j = json_new_object(), *list[4] = { NULL };
	SCOPED(reveals_release) struct reveals r = reveals_find(s);

	for (int p = PM_PRIVACY_MACHINE; p <= PM_PRIVACY_TIME; p++) {
		list[p] = json_new_array();
		json_put(j, privacy_name((enum pm_privacy)p), list[p]);
	}
	for (size_t i = 0; i < r.n; i++)
		json_push(list[r.row[i].privacy], json_new_text(r.row[i].what));
	return j;
}

static void add_column(void *list, enum way way, const char *column, const char *counters)
{
	struct json *j = json_new_object();

	json_put(j, "column", json_new_text(column));
	json_put(j, "way", json_new_text(ways_name[way]));
	json_put(j, "from", json_new_text(counters));
	json_push(list, j);
}

static struct json *columns_json(const struct pm_model *m)
{
	struct json *list = json_new_array();

	memory_done(ways_each(m, add_column, list));
	return list;
}

struct json *info_json(const char *path, struct scan *s)
{
	const struct pm_model *m = pm_reader_model(s->reader);
	uint64_t interval = pm_map_u64(&m->header, PM_HEADER_INTERVAL, 0);
	struct json *j = json_new_object();
	uint64_t readers = info_number(m, "pmrec.readers");

	json_put(j, "file", json_new_text(path));
	json_put(j, "format", json_new_text(info_version(m).text));
	json_put(j, "snapshots", json_new_u64(s->snapshots));
	json_put(j, "lost_ticks", json_new_u64(s->lost_ticks));
	json_put(j, "readers", readers ? json_new_u64(readers) : json_new_null());
	json_put(j, "start", time_json(scan_start(s)));
	json_put(j, "duration_ns", json_new_u64(s->earlier_ns + s->last_ns - s->first_ns));
	json_put(j, "interval_ns", interval ? json_new_u64(interval) : json_new_null());
	json_put(j, "achieved_interval_ns", samples_json(&s->interval));
	json_put(j, "late_ns", samples_json(&s->late));
	json_put(j, "bytes", json_new_u64(s->bytes));
	json_put(j, "bytes_per_snapshot",
		 s->snapshots ? json_new_f64((double)s->bytes / (double)s->snapshots) : json_new_null());
	json_put(j, "sampled_snapshots", json_new_u64(s->decoded));
	json_put(j, "values", s->decoded < s->snapshots ? json_new_null() : json_new_u64(s->values));
	json_put(j, "chunks", json_new_u64(s->chunks));
	json_put(j, "runs", json_new_u64(s->runs));
	json_put(j, "segments", json_new_u64(s->segments));
	json_put(j, "recordings", json_new_u64(s->recordings));
	json_put(j, "ended", json_new_bool(s->ended));
	json_put(j, "being_written", json_new_bool(s->being_written));
	json_put(j, "newer", newer_json(s->reader));
	json_put(j, "damage", damage_json(s->damage, s->n_damage));
	json_put(j, "host", map_json(&m->header, pm_header_keys));
	json_put(j, "labels", labels_json(m));
	json_put(j, "reveals", reveals_json(s));
	json_put(j, "topology", topology_json(&m->topology));
	json_put(j, "clocks", clocks_json(s));
	json_put(j, "sources", LIST(s->source, s->n_sources, source_json));
	json_put(j, "groups", LIST(m->group, m->n_groups, group_json));
	json_put(j, "counters", LIST(m->counter, m->n_counters, counter_json));
	json_put(j, "columns", columns_json(m));
	json_put(j, "pmus", LIST(m->pmu, m->n_pmus, pmu_json));
	json_put(j, "probes", LIST(m->probe, m->n_probes, probe_json));
	json_put(j, "config", LIST(m->config, m->n_configs, config_json));
	json_put(j, "registers", decode_json(m));
	json_put(j, "events", events_json(s));
	json_put(j, "more_events", json_new_u64(s->more_events));
	return j;
}
