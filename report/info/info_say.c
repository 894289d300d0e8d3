/* What pmrep info says, part by part, into a sink that makes text or a page of it. */
#include "report/info/info.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/number.h"
#include "report/metric/ways.h"
#include "report/machine/decode.h"
#include "report/machine/value_out.h"

struct report {
	struct scan *s;
	const struct pm_model *m;
	const struct info_sink *to;
	struct buf cell;
	int err;
};

static void part(struct report *p, const char *title, const struct info_column *column, size_t n)
{
	if (!p->err)
		p->err = p->to->part(p->to->ctx, title, column, n);
}

static void row(struct report *p, const char *const *cell, size_t n, enum pm_privacy privacy)
{
	if (!p->err)
		p->err = p->cell.err ? p->cell.err : p->to->row(p->to->ctx, cell, n, privacy);
}

/* A part of names and values. */
static void facts(struct report *p, const char *title)
{
	static const struct info_column column[] = { { .name = "" }, { .name = "", .wraps = true } };

	part(p, title, column, 2);
}

static void fact(struct report *p, const char *name, const char *value, enum pm_privacy privacy)
{
	row(p, (const char *const[]){ name, value }, 2, privacy);
}

static void fact_f(struct report *p, const char *name, enum pm_privacy privacy, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
static void fact_f(struct report *p, const char *name, enum pm_privacy privacy, const char *format, ...)
{
	va_list ap;

	buf_clear(&p->cell);
	va_start(ap, format);
	buf_vprintf(&p->cell, format, ap);
	va_end(ap);
	fact(p, name, buf_str(&p->cell), privacy);
}

/* The format has one %llu in it. */
static void remark(struct report *p, const char *format, unsigned long long n) __attribute__((format(printf, 2, 0)));
static void remark(struct report *p, const char *format, unsigned long long n)
{
	char text[80];

	snprintf(text, sizeof(text), format, n);
	if (!p->err)
		p->err = p->to->remark(p->to->ctx, text);
}

static void add_ns(struct buf *b, uint64_t ns)
{
	static const struct {
		uint64_t ns;
		const char *unit;
	} units[] = { { 1000000000, "s" }, { 1000000, "ms" }, { 1000, "us" }, { 1, "ns" } };
	char number[NUMBER_MAX];

	for (size_t i = 0; i < 4; i++) {
		if (ns >= units[i].ns || i == 3) {
			buf_add(b, number,
				number_fixed(number, (double)ns / (double)units[i].ns, ns && i < 3 ? 3 : 0));
			buf_printf(b, " %s", units[i].unit);
			return;
		}
	}
}

static void add_bytes(struct buf *b, uint64_t bytes)
{
	static const char *const unit[] = { "B", "kB", "MB", "GB", "TB", "PB", "EB" };
	double value = (double)bytes;
	unsigned i = 0;

	for (; value >= 999.95 && i < 6; i++)
		value /= 1000;
	buf_printf(b, "%.*f %s", i ? 1 : 0, value, unit[i]);
}

static void add_samples(struct buf *b, struct samples *s)
{
	if (!s->n) {
		buf_addch(b, '-');
		return;
	}
	buf_addstr(b, "median ");
	add_ns(b, samples_median(s));
	buf_addstr(b, ", at most ");
	add_ns(b, s->max);
}

/* Per second of the recording, and why ticks were lost if that can be told. */
static void cost(struct report *p)
{
	struct info_cost c = info_cost(p->m);
	struct scan *s = p->s;
	double seconds = (double)(s->last_ns - s->first_ns) / 1e9;
	uint64_t lost = s->lost_ticks > c.stolen_ticks ? s->lost_ticks - c.stolen_ticks : 0;
	double waited = seconds > 0 ? (double)c.reader_waited_ns / 1e6 / seconds : 0;

	if (!c.known || seconds <= 0)
		return;
	buf_clear(&p->cell);
	buf_printf(&p->cell, "%.2f %% of a CPU, %.0f wake-ups a second, waited %.1f ms a second for a CPU, %.1f MB",
		   (double)c.cpu_ns / 1e7 / seconds, (double)c.wakeups / seconds, (double)c.waited_ns / 1e6 / seconds,
		   (double)c.memory_kib / 1024);
	if (c.stalls)
		buf_printf(&p->cell, "; the output stalled %llu time%s, %.1f s", (unsigned long long)c.stalls,
			   plural(c.stalls), (double)c.stalled_ns / 1e9);
	if (c.dropped)
		buf_printf(&p->cell, "; %llu dropped", (unsigned long long)c.dropped);
	fact(p, "cost", buf_str(&p->cell), PM_PRIVACY_TECHNICAL);
	if (c.stolen_ns) {
		buf_clear(&p->cell);
		add_ns(&p->cell, c.stolen_ns);
		buf_printf(&p->cell, ", %llu of the lost ticks", (unsigned long long)c.stolen_ticks);
		fact(p, "stolen by the host", buf_str(&p->cell), PM_PRIVACY_TECHNICAL);
	}
	if (lost > s->snapshots / 100 && waited >= 10)
		fact_f(p, "ticks were lost", PM_PRIVACY_TECHNICAL,
		       "readers waited %.0f ms a second for a CPU: --realtime, or fewer events", waited);
	else if (lost && c.dropped)
		fact(p, "ticks were lost", "the output took too little: --buffer, or a longer interval",
		     PM_PRIVACY_TECHNICAL);
}

/* Who read perf events of CPUs, and why. */
static void sampling(struct report *p)
{
	uint64_t n = info_sampled(p->m), kernel = info_tick_sampled(p->m), reader = info_tick_read(p->m);

	if (!n && !kernel)
		return;
	buf_clear(&p->cell);
	if (n)
		buf_printf(&p->cell, "%llu groups of perf events, each on a CPU", (unsigned long long)n);
	if (kernel) {
		buf_addstr(&p->cell, n ? "; a tick takes " : "no perf events: a tick takes ");
		add_ns(&p->cell, kernel);
		buf_addstr(&p->cell, " there, and ");
		add_ns(&p->cell, reader);
		buf_addstr(&p->cell, " by a reader");
	}
	fact(p, "sampled by the kernel", buf_str(&p->cell), PM_PRIVACY_TECHNICAL);
}

static void recording(struct report *p, const char *path)
{
	struct scan *s = p->s;
	uint64_t start = scan_start(s);
	char text[64];

	facts(p, "Recording");
	fact(p, "file", path, PM_PRIVACY_TECHNICAL);
	fact_f(p, "state", PM_PRIVACY_TECHNICAL, "%s",
	       scan_damaged(s) ?
		       scan_lacks_end(s) ? "cut: its end is missing; see pmrep check" : "damaged; see pmrep check" :
	       s->being_written            ? "still being written" :
	       *pm_reader_newer(s->reader) ? "partly newer than this program; see pmrep check" :
	       s->ended                    ? "complete" :
					     "open end");
	if (start) {
		text[number_time(text, start, 0)] = '\0';
		fact(p, "start", text, PM_PRIVACY_TIME);
	}
	buf_clear(&p->cell);
	add_ns(&p->cell, s->last_ns - s->first_ns);
	fact(p, "duration", buf_str(&p->cell), PM_PRIVACY_TECHNICAL);
	fact_f(p, "snapshots", PM_PRIVACY_TECHNICAL, "%llu", (unsigned long long)s->snapshots);
	fact_f(p, "lost ticks", PM_PRIVACY_TECHNICAL, "%llu", (unsigned long long)s->lost_ticks);
	if (info_readers(p->m))
		fact_f(p, "reader threads", PM_PRIVACY_TECHNICAL, "%llu", (unsigned long long)info_readers(p->m));
	sampling(p);
	cost(p);
	buf_clear(&p->cell);
	add_ns(&p->cell, pm_map_u64(&p->m->header, PM_HEADER_INTERVAL, 0));
	buf_addstr(&p->cell, "; achieved: ");
	add_samples(&p->cell, &s->interval);
	fact(p, "interval", buf_str(&p->cell), PM_PRIVACY_TECHNICAL);
	buf_clear(&p->cell);
	add_samples(&p->cell, &s->late);
	fact(p, "behind the tick", buf_str(&p->cell), PM_PRIVACY_TECHNICAL);
	fact_f(p, "size", PM_PRIVACY_TECHNICAL, "%llu byte%s in %llu frame%s, %llu chunk%s",
	       (unsigned long long)s->bytes, plural(s->bytes), (unsigned long long)s->frames, plural(s->frames),
	       (unsigned long long)s->chunks, plural(s->chunks));
	if (s->snapshots && s->decoded)
		fact_f(p, "bytes a snapshot", PM_PRIVACY_TECHNICAL, "%.1f for %llu values",
		       (double)s->bytes / (double)s->snapshots, (unsigned long long)(s->values / s->decoded));
	if (s->decoded < s->snapshots)
		fact_f(p, "sampled", PM_PRIVACY_TECHNICAL,
		       "%llu of the snapshots, for what is said of intervals, lateness and skew",
		       (unsigned long long)s->decoded);
	if (s->runs > 1 || s->segments > 1)
		fact_f(p, "runs, segments", PM_PRIVACY_TECHNICAL, "%u, %llu", s->runs,
		       (unsigned long long)s->segments);
	if (s->recordings > 1)
		fact_f(p, "recordings", PM_PRIVACY_TECHNICAL, "%llu in this file; facts are of the last",
		       (unsigned long long)s->recordings);
}

/* Everything of the header, so that a key of a later version is shown too. */
static void host(struct report *p)
{
	char name[16];

	facts(p, "Host and recorder");
	for (uint32_t i = 0; i < p->m->header.n; i++) {
		const struct pm_field *f = &p->m->header.field[i];

		buf_clear(&p->cell);
		if (f->key == PM_HEADER_INTERVAL && f->value.kind == PM_VALUE_U64)
			add_ns(&p->cell, f->value.u64);
		else if (f->key == PM_HEADER_MEMORY && f->value.kind == PM_VALUE_U64)
			add_bytes(&p->cell, f->value.u64);
		else
			value_text(&f->value, &p->cell);
		fact(p, key_name(pm_header_keys, f->key, name), buf_str(&p->cell), pm_key_privacy(f->key));
	}
}

static void topology(struct report *p)
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

	facts(p, "Topology (online CPUs)");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (rows[i].n == UINT32_MAX)
			fact(p, rows[i].name, "-", PM_PRIVACY_TECHNICAL);
		else
			fact_f(p, rows[i].name, PM_PRIVACY_TECHNICAL, "%u", rows[i].n);
	}
	for (uint32_t i = 0; i < p->m->topology.n_types; i++)
		fact(p, "CPU type", p->m->topology.type[i], PM_PRIVACY_TECHNICAL);
}

static void clocks(struct report *p)
{
	const struct pm_clocks *a = &p->s->clocks, *b = &p->s->last_clocks;
	uint64_t mono = b->monotonic - a->monotonic;

	facts(p, "Clocks");
	fact_f(p, "monotonic at start", PM_PRIVACY_TECHNICAL, "%llu ns", (unsigned long long)a->monotonic);
	fact(p, "wall clock", a->realtime ? "recorded" : "not recorded",
	     a->realtime ? PM_PRIVACY_TIME : PM_PRIVACY_TECHNICAL);
	if (a->counter && b->counter > a->counter && mono)
		fact_f(p, "counter", PM_PRIVACY_TECHNICAL, "%s at %.3f MHz",
		       pm_map_text(&p->m->header, PM_HEADER_CLOCK_COUNTER, "of the CPU"),
		       (double)(b->counter - a->counter) * 1e3 / (double)mono);
	if (a->realtime && b->realtime)
		fact_f(p, "wall clock moved", PM_PRIVACY_TECHNICAL, "%+lld ns against monotonic",
		       (long long)(b->realtime - a->realtime - mono));
}

static void sources(struct report *p)
{
	static const struct info_column column[] = {
		{ .name = "source" },
		{ .name = "counters", .right = true },
		{ .name = "columns", .right = true },
		{ .name = "groups", .right = true },
		{ .name = "skew within a snapshot" },
	};

	part(p, "Sources", column, 5);
	for (uint32_t i = 0; i < p->s->n_sources; i++) {
		struct scan_source *source = &p->s->source[i];
		char number[3][16];

		snprintf(number[0], sizeof(number[0]), "%u", source->counters);
		snprintf(number[1], sizeof(number[1]), "%u", source->columns);
		snprintf(number[2], sizeof(number[2]), "%u", source->groups);
		buf_clear(&p->cell);
		add_samples(&p->cell, &source->skew);
		row(p, (const char *const[]){ source->name, number[0], number[1], number[2], buf_str(&p->cell) }, 5,
		    PM_PRIVACY_TECHNICAL);
	}
}

/* "event config:0-7, umask config:8-15": pairs of texts, or their names alone. */
/* Which way turbostat's columns came. */
static void columns(struct report *p)
{
	for (int way = 0, titled = 0; way < WAYS; way++) {
		buf_clear(&p->cell);
		ways_columns(p->m, (enum way)way, &p->cell);
		if (p->cell.len && !titled++)
			facts(p, "Columns");
		if (p->cell.len)
			fact(p, ways_name[way], buf_str(&p->cell), PM_PRIVACY_TECHNICAL);
	}
}

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

static void pmus(struct report *p, bool all)
{
	if (!p->m->n_pmus)
		return;
	facts(p, "PMUs");
	for (uint32_t i = 0; i < p->m->n_pmus; i++) {
		const struct pm_map *a = &p->m->pmu[i].attrs;
		const struct pm_value *events = pm_map_get(a, PM_PMU_EVENTS);
		const char *cpus = pm_map_text(a, PM_PMU_CPUMASK, pm_map_text(a, PM_PMU_CPUS, NULL));

		buf_clear(&p->cell);
		buf_printf(&p->cell, "type %llu", (unsigned long long)pm_map_u64(a, PM_PMU_TYPE, 0));
		if (pm_map_get(a, PM_PMU_IDENTIFIER))
			buf_printf(&p->cell, ", identifier %s", pm_map_text(a, PM_PMU_IDENTIFIER, ""));
		if (cpus)
			buf_printf(&p->cell, ", CPUs %s", cpus);
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
		fact(p, pm_map_text(a, PM_PMU_NAME, "?"), buf_str(&p->cell), PM_PRIVACY_TECHNICAL);
	}
}

static void missing(struct report *p)
{
	if (!p->m->n_probes)
		return;
	facts(p, "Not recorded");
	for (uint32_t i = 0; i < p->m->n_probes; i++) {
		const struct pm_probe *probe = &p->m->probe[i];

		buf_clear(&p->cell);
		buf_addstr(&p->cell, probe->what);
		if (probe->reason)
			buf_printf(&p->cell, ": %s", pm_reason_text(probe->reason));
		if (probe->hint)
			buf_printf(&p->cell, "; try: %s", probe->hint);
		fact(p, probe->source, buf_str(&p->cell), PM_PRIVACY_TECHNICAL);
	}
}

#define EVENTS_SHOWN 40

/* Times and sizes with units that fit them; what getrusage() counted is for those who want all. */
static void add_event(struct buf *b, const struct pm_map *attrs, bool all)
{
	for (uint32_t i = 0; i < attrs->n; i++) {
		const struct pm_field *f = &attrs->field[i];
		const struct pm_map one = { .field = &attrs->field[i], .n = 1 };
		uint64_t n = pm_map_u64(attrs, f->key, 0);

		if (f->key == PM_EVENT_KEY_RUSAGE && !all)
			continue;
		buf_addch(b, ' ');
		switch (f->key) {
		case PM_EVENT_KEY_USER_NS:
			buf_addstr(b, "user=");
			add_ns(b, n);
			break;
		case PM_EVENT_KEY_SYSTEM_NS:
			buf_addstr(b, "system=");
			add_ns(b, n);
			break;
		case PM_EVENT_KEY_ELAPSED_NS:
			buf_addstr(b, "elapsed=");
			add_ns(b, n);
			break;
		case PM_EVENT_KEY_MAXRSS:
			buf_addstr(b, "maxrss=");
			add_bytes(b, n);
			break;
		default:
			map_text(&one, pm_event_keys, b);
		}
	}
}

static void events(struct report *p, bool all)
{
	uint64_t all_events = p->s->n_events + p->s->more_events;
	uint32_t shown = p->s->n_events;

	if (!shown)
		return;
	if (!all && shown > EVENTS_SHOWN)
		shown = EVENTS_SHOWN;
	facts(p, "Events");
	for (uint32_t i = 0; i < shown; i++) {
		const struct pm_event *e = &p->s->event[i];
		const char *name = pm_event_name(e->type);
		enum pm_privacy privacy = PM_PRIVACY_TECHNICAL;
		char when[32];

		for (uint32_t k = 0; k < e->attrs.n; k++) {
			if (pm_key_privacy(e->attrs.field[k].key) > privacy)
				privacy = pm_key_privacy(e->attrs.field[k].key);
		}
		snprintf(when, sizeof(when), "%+.3f s", ((double)e->time_ns - (double)p->s->first_ns) / 1e9);
		buf_clear(&p->cell);
		buf_addstr(&p->cell, name ? name : "of a later version");
		add_event(&p->cell, &e->attrs, all);
		fact(p, when, buf_str(&p->cell), privacy);
	}
	if (shown < all_events)
		remark(p, "%llu more; pmrep dump shows them", (unsigned long long)(all_events - shown));
}

static void config(struct report *p, bool all)
{
	if (!p->m->n_configs)
		return;
	facts(p, "One-time values");
	if (!all) {
		remark(p, "%llu; --all shows them", p->m->n_configs);
		return;
	}
	for (uint32_t i = 0; i < p->m->n_configs; i++) {
		const struct pm_config *c = &p->m->config[i];
		const char *kind = pm_kind_name(c->kind);

		buf_clear(&p->cell);
		if (c->reason)
			buf_printf(&p->cell, "- (%s)", pm_reason_text(c->reason));
		else
			value_text(&c->value, &p->cell);
		if (c->kind != PM_SYSTEM && c->instances.n) {
			buf_printf(&p->cell, "  (%s ", kind ? kind : "?");
			cpulist_print(&c->instances, &p->cell);
			buf_addch(&p->cell, ')');
		}
		fact(p, c->name, buf_str(&p->cell), c->privacy);
	}
}

static int register_row(void *ctx, const struct decoded *d)
{
	struct report *p = ctx;
	struct buf text = BUF_INIT;
	char value[32] = "";

	if (!strncmp(d->name, "msr.", 4))
		snprintf(value, sizeof(value), "0x%llx", (unsigned long long)d->value);
	buf_clear(&p->cell);
	if (d->config && d->config->kind != PM_SYSTEM && d->config->instances.n) {
		buf_printf(&p->cell, "%s ", pm_kind_name(d->config->kind));
		cpulist_print(&d->config->instances, &p->cell);
	}
	decoded_text(d, &text);
	row(p, (const char *const[]){ d->name, value, buf_str(&p->cell), buf_str(&text) }, 4, PM_PRIVACY_TECHNICAL);
	buf_release(&text);
	return p->err;
}

static int setting_row(void *ctx, const struct decoded *d)
{
	struct report *p = ctx;

	buf_clear(&p->cell);
	if (d->config->kind != PM_SYSTEM && d->config->instances.n) {
		buf_printf(&p->cell, "%s ", pm_kind_name(d->config->kind));
		cpulist_print(&d->config->instances, &p->cell);
	}
	row(p, (const char *const[]){ d->name, buf_str(&p->cell), d->field[0].text }, 3, PM_PRIVACY_TECHNICAL);
	return p->err;
}

static int any_register(void *ctx, const struct decoded *d)
{
	return 1;
}

/* What the processor's registers say; nothing on other architectures. */
static void registers(struct report *p)
{
	static const struct info_column column[] = {
		{ .name = "" },
		{ .name = "" },
		{ .name = "" },
		{ .name = "", .wraps = true },
	};

	if (!decode_all(p->m, any_register, NULL))
		return;
	part(p, "Registers", column, 4);
	if (!p->err)
		decode_all(p->m, register_row, p);
}

static void settings(struct report *p)
{
	static const struct info_column column[] = { { .name = "" }, { .name = "" }, { .name = "", .wraps = true } };

	if (!decode_settings(p->m, any_register, NULL))
		return;
	part(p, "Settings of the kernel", column, 3);
	if (!p->err)
		decode_settings(p->m, setting_row, p);
}

static void groups(struct report *p)
{
	static const struct info_column column[] = {
		{ .name = "group", .right = true },    { .name = "source" },
		{ .name = "counters", .right = true }, { .name = "instances", .right = true },
		{ .name = "values", .right = true },   { .name = "first counter", .wraps = true },
	};

	part(p, "Groups (what is read together)", column, 6);
	for (uint32_t i = 0; i < p->m->n_groups; i++) {
		const struct pm_group *g = &p->m->group[i];
		const struct pm_counter *c = g->n_counters ? pm_model_counter(p->m, g->counter[0]) : NULL;
		char n[4][16];

		snprintf(n[0], sizeof(n[0]), "%u", g->id);
		snprintf(n[1], sizeof(n[1]), "%u", g->n_counters);
		snprintf(n[2], sizeof(n[2]), "%u", g->n_instances);
		snprintf(n[3], sizeof(n[3]), "%u", pm_group_values(g));
		row(p, (const char *const[]){ n[0], g->source, n[1], n[2], n[3], c ? c->name : "-" }, 6,
		    PM_PRIVACY_TECHNICAL);
	}
}

static void reveals(struct report *p)
{
	struct reveals r;

	facts(p, "What this file reveals");
	if (reveals_find(p->s, &r))
		p->err = -ENOMEM;
	for (int privacy = PM_PRIVACY_MACHINE; privacy <= PM_PRIVACY_TIME && !p->err; privacy++) {
		buf_clear(&p->cell);
		for (size_t i = 0; i < r.n; i++) {
			if (r.row[i].privacy != (enum pm_privacy)privacy)
				continue;
			buf_printf(&p->cell, "%s%s", p->cell.len ? ", " : "", r.row[i].what);
			if (r.row[i].count > 1)
				buf_printf(&p->cell, " (%llu)", (unsigned long long)r.row[i].count);
		}
		fact(p, privacy_name((enum pm_privacy)privacy), p->cell.len ? buf_str(&p->cell) : "nothing",
		     PM_PRIVACY_TECHNICAL);
	}
	reveals_release(&r);
}

int info_say(const char *path, struct scan *s, bool all, const struct info_sink *to)
{
	struct report p = { .s = s, .m = pm_reader_model(s->reader), .to = to, .cell = BUF_INIT };

	recording(&p, path);
	host(&p);
	topology(&p);
	clocks(&p);
	sources(&p);
	columns(&p);
	if (all)
		groups(&p);
	pmus(&p, all);
	registers(&p);
	settings(&p);
	config(&p, all);
	missing(&p);
	events(&p, all);
	reveals(&p);
	buf_release(&p.cell);
	return p.err;
}
