/* The report of pmrep info, part by part, into a sink that makes text or a page. */
#include "report/info/info.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "common/number.h"
#include "report/input/memory.h"
#include "report/machine/decode.h"
#include "report/machine/value_out.h"
#include "report/metric/ways.h"

struct report {
	struct scan *s;
	const struct pm_model *m;
	const struct info_sink *to;
	struct buf cell;
};

static void say_part(struct report *p, const char *title, const struct info_column *column, size_t n)
{
	p->to->part(p->to->ctx, title, column, n);
}

static void say_row(struct report *p, const char *const *cell, size_t n, enum pm_privacy privacy)
{
	memory_whole(&p->cell);
	p->to->row(p->to->ctx, cell, n, privacy);
}

/* A part of names and values. */
static void say_facts(struct report *p, const char *title)
{
	static const struct info_column column[] = { { .name = "" }, { .name = "", .wraps = true } };

	say_part(p, title, column, 2);
}

static void say_fact(struct report *p, const char *name, const char *value, enum pm_privacy privacy)
{
	say_row(p, (const char *const[]){ name, value }, 2, privacy);
}

/* What is technical: of p->cell. */
static void say_cell(struct report *p, const char *name)
{
	say_fact(p, name, buf_str(&p->cell), PM_PRIVACY_TECHNICAL);
}

__attribute__((format(printf, 3, 4))) static void say_fact_f(struct report *p, const char *name, const char *format,
							     ...)
{
	va_list ap;

	buf_clear(&p->cell);
	va_start(ap, format);
	buf_vprintf(&p->cell, format, ap);
	va_end(ap);
	say_cell(p, name);
}

/* The format has one %llu in it. */
__attribute__((format(printf, 2, 0))) static void say_remark(struct report *p, const char *format,
							     unsigned long long n)
{
	char text[80];

	snprintf(text, sizeof(text), format, n);
	p->to->remark(p->to->ctx, text);
}

/* "1.250 ms" */
static void say_ns(struct buf *b, uint64_t ns)
{
	static const struct {
		uint64_t ns;
		const char *unit;
	} units[] = { { 1000000000, "s" }, { 1000000, "ms" }, { 1000, "us" }, { 1, "ns" } };
	char number[NUMBER_MAX];

	for (size_t i = 0; i < 4; i++) {
		/* 999.9999 ms would become 1000 ms, beside others of 1 s. */
		if (ns + units[i].ns / 2000000 >= units[i].ns || i == 3) {
			buf_add(b, number,
				number_fixed(number, (double)ns / (double)units[i].ns, ns && i < 3 ? 3 : 0));
			buf_printf(b, " %s", units[i].unit);
			return;
		}
	}
}

static void add_samples(struct buf *b, struct samples *s)
{
	if (!s->n) {
		buf_addch(b, '-');
		return;
	}
	buf_addstr(b, "median ");
	say_ns(b, samples_median(s));
	buf_addstr(b, ", at most ");
	say_ns(b, s->max);
}

/* What recording cost the machine, as the recorder reports it. */
static uint64_t cost_of(const struct report *p, const char *what)
{
	char name[64];

	snprintf(name, sizeof(name), "pmrec.cost.%s", what);
	return info_number(p->m, name);
}

/* Why ticks were lost that neither the host took nor a slow output. A cause explains no more time than it took. */
static void add_why_lost(struct report *p, uint64_t lost, double seconds)
{
	double half_ns = (double)lost * (double)pm_map_u64(&p->m->header, PM_HEADER_INTERVAL, 0) / 2;
	uint64_t waited_ns = cost_of(p, "reader_waited_ns"), late_ns = cost_of(p, "late_ns");
	uint64_t readers = info_number(p->m, "pmrec.readers");
	double waited = (double)waited_ns / 1e6 / seconds;

	/* Kernels that do not count it say that nobody ever waited. */
	if (lost && cost_of(p, "waited_ns") && late_ns / 2 > waited_ns + cost_of(p, "stolen_ns") &&
	    (double)late_ns >= half_ns) {
		buf_addstr(&p->cell, "the recorder did not run for ");
		say_ns(&p->cell, late_ns);
		buf_addstr(&p->cell, ": it was stopped, or its cgroup was frozen");
	} else if (lost > p->s->snapshots / 100 && waited >= 10 && (double)waited_ns >= half_ns) {
		buf_printf(&p->cell, "readers waited %.0f ms per second for a CPU", waited);
		if (readers > 1)
			buf_printf(&p->cell, ", all %llu together", (unsigned long long)readers);
		if ((double)cost_of(p, "throttled_ns") >= half_ns)
			buf_addstr(&p->cell, " (a quota held back their cgroup)");
		buf_addstr(&p->cell, "; try --realtime, or fewer events");
	} else if (lost && (double)cost_of(p, "overrun_ns") >= half_ns) {
		buf_addstr(&p->cell, "reading took longer than an interval; try a longer one, or fewer sources");
	}
}

static void why_lost(struct report *p, uint64_t lost, uint64_t dropped, double seconds)
{
	buf_clear(&p->cell);
	add_why_lost(p, lost, seconds);
	if (dropped && p->cell.len)
		buf_printf(&p->cell, "; %llu: ", (unsigned long long)dropped);
	if (dropped)
		buf_addstr(&p->cell, "the output was too slow; try --buffer, or a longer interval");
	if (p->cell.len)
		say_cell(p, "ticks were lost");
}

/* Per second in which it was counted, which began before the first snapshot. */
static void cost(struct report *p)
{
	struct scan *s = p->s;
	uint64_t elapsed_ns = cost_of(p, "elapsed_ns");
	double seconds = (double)(elapsed_ns ? elapsed_ns : s->last_ns - s->first_ns) / 1e9;
	/* By the host: from one CPU at most, while so many ticks were lost. */
	uint64_t stolen_ns = cost_of(p, "stolen_ns"), stolen = cost_of(p, "stolen_ticks");
	uint64_t stalls = cost_of(p, "stalls"), dropped = cost_of(p, "dropped");
	uint64_t missed = cost_of(p, "missed"), lost = s->lost_ticks > dropped ? s->lost_ticks - dropped : 0;

	if (!pm_model_config(p->m, "pmrec.cost.cpu_ns", PM_NONE) || seconds <= 0)
		return;
	buf_clear(&p->cell);
	buf_printf(&p->cell,
		   "%.2f %% of a CPU, %.0f wake-ups per second, waited %.1f ms per second for a CPU (all "
		   "threads together), %.1f MB",
		   (double)cost_of(p, "cpu_ns") / 1e7 / seconds, (double)cost_of(p, "wakeups") / seconds,
		   (double)cost_of(p, "waited_ns") / 1e6 / seconds, (double)cost_of(p, "memory_kib") / 1024);
	if (stalls)
		buf_printf(&p->cell, "; the output stalled %llu time%s, %.1f s", (unsigned long long)stalls,
			   plural(stalls), (double)cost_of(p, "stalled_ns") / 1e9);
	if (dropped)
		buf_printf(&p->cell, "; %llu dropped", (unsigned long long)dropped);
	say_cell(p, "cost");
	if (missed > s->lost_ticks)
		say_fact_f(p, "missed readings", "%llu by one reader; its groups lack those ticks",
			   (unsigned long long)missed);
	if (stolen_ns) {
		buf_clear(&p->cell);
		say_ns(&p->cell, stolen_ns);
		buf_printf(&p->cell, ", %llu of the lost ticks", (unsigned long long)stolen);
		say_cell(p, "stolen by the host");
	}
	lost = missed > lost ? missed : lost;
	why_lost(p, lost > stolen ? lost - stolen : 0, dropped, seconds);
}

/* Who read perf events of CPUs, and why. */
static void sampling(struct report *p)
{
	/* The measured cost of a tick of all groups on a CPU, either way. */
	uint64_t kernel = info_number(p->m, "pmrec.sampling.kernel_ns");
	uint64_t reader = info_number(p->m, "pmrec.sampling.reader_ns"), n = info_number(p->m, "pmrec.sampled");
	uint64_t stood_in = info_number(p->m, "pmrec.cost.stood_in");

	if (!n && !kernel)
		return;
	buf_clear(&p->cell);
	if (n)
		buf_printf(&p->cell, "%llu groups of perf events, each on a CPU", (unsigned long long)n);
	if (kernel) {
		buf_addstr(&p->cell, n ? "; a tick costs " : "no perf events: a tick costs ");
		say_ns(&p->cell, kernel);
		buf_addstr(&p->cell, " in the kernel, ");
		say_ns(&p->cell, reader);
		buf_addstr(&p->cell, " in a reader");
	}
	if (n && stood_in)
		buf_printf(&p->cell, "; %llu sample%s did not come and were read", (unsigned long long)stood_in,
			   plural(stood_in));
	say_cell(p, "sampled by the kernel");
}

static void recording(struct report *p, const char *path)
{
	struct scan *s = p->s;
	uint64_t start = scan_start(s), readers = info_number(p->m, "pmrec.readers");
	uint64_t interval = pm_map_u64(&p->m->header, PM_HEADER_INTERVAL, 0);
	char text[64];

	say_facts(p, "Recording");
	say_fact(p, "file", path, PM_PRIVACY_TECHNICAL);
	say_fact_f(p, "state", "%s",
		   scan_damaged(s)             ? scan_lacks_end(s) ? "cut: its end is missing; see pmrep check" :
								     "damaged; see pmrep check" :
		   s->being_written            ? "still being written" :
		   *pm_reader_newer(s->reader) ? "partly newer than this program; see pmrep check" :
		   s->ended                    ? "complete" :
						 "open end");
	say_fact(p, "format", info_version(p->m).text, PM_PRIVACY_TECHNICAL);
	if (start) {
		text[number_time(text, start, 0)] = '\0';
		say_fact(p, "start", text, PM_PRIVACY_TIME);
	}
	buf_clear(&p->cell);
	say_ns(&p->cell, s->earlier_ns + s->last_ns - s->first_ns);
	say_cell(p, "duration");
	say_fact_f(p, "snapshots", "%llu", (unsigned long long)s->snapshots);
	say_fact_f(p, "lost ticks", "%llu", (unsigned long long)s->lost_ticks);
	if (readers)
		say_fact_f(p, "reader threads", "%llu", (unsigned long long)readers);
	sampling(p);
	cost(p);
	buf_clear(&p->cell);
	if (interval)
		say_ns(&p->cell, interval);
	else
		buf_addch(&p->cell, '-');
	buf_addstr(&p->cell, "; achieved: ");
	add_samples(&p->cell, &s->interval);
	say_cell(p, "interval");
	buf_clear(&p->cell);
	add_samples(&p->cell, &s->late);
	say_cell(p, "behind the tick");
	say_fact_f(p, "size", "%llu byte%s in %llu frame%s, %llu chunk%s", (unsigned long long)s->bytes,
		   plural(s->bytes), (unsigned long long)s->frames, plural(s->frames), (unsigned long long)s->chunks,
		   plural(s->chunks));
	if (s->snapshots && s->decoded)
		say_fact_f(p, "bytes per snapshot", "%.1f for %llu values", (double)s->bytes / (double)s->snapshots,
			   (unsigned long long)(s->values / s->decoded));
	if (s->decoded < s->snapshots)
		say_fact_f(p, "sampled", "%llu snapshots, for intervals, lateness and skew",
			   (unsigned long long)s->decoded);
	if (s->runs > 1 || s->segments > 1)
		say_fact_f(p, "runs, segments", "%u, %llu", s->runs, (unsigned long long)s->segments);
	if (s->recordings > 1)
		say_fact_f(p, "recordings",
			   "%llu in this file; counts and duration are of all, other facts of the last",
			   (unsigned long long)s->recordings);
}

static void clocks(struct report *p)
{
	const struct pm_clocks *a = &p->s->clocks, *b = &p->s->last_clocks;
	uint64_t mono = b->monotonic - a->monotonic;

	say_facts(p, "Clocks");
	say_fact_f(p, "monotonic at start", "%llu ns", (unsigned long long)a->monotonic);
	say_fact(p, "wall clock", a->realtime ? "recorded" : "not recorded",
		 a->realtime ? PM_PRIVACY_TIME : PM_PRIVACY_TECHNICAL);
	if (a->counter && b->counter > a->counter && mono)
		say_fact_f(p, "counter", "%s at %.3f MHz",
			   pm_map_text(&p->m->header, PM_HEADER_CLOCK_COUNTER, "of the CPU"),
			   (double)(b->counter - a->counter) * 1e3 / (double)mono);
	if (a->realtime && b->realtime)
		say_fact_f(p, "wall clock moved", "%+lld ns against monotonic",
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

	say_part(p, "Sources", column, 5);
	for (uint32_t i = 0; i < p->s->n_sources; i++) {
		struct scan_source *source = &p->s->source[i];
		char number[3][16];

		snprintf(number[0], sizeof(number[0]), "%u", source->counters);
		snprintf(number[1], sizeof(number[1]), "%u", source->columns);
		snprintf(number[2], sizeof(number[2]), "%u", source->groups);
		buf_clear(&p->cell);
		add_samples(&p->cell, &source->skew);
		say_row(p, (const char *const[]){ source->name, number[0], number[1], number[2], buf_str(&p->cell) },
			5, PM_PRIVACY_TECHNICAL);
	}
}

static void add_column(void *arg, enum way way, const char *column, const char *counters)
{
	struct buf *text = (struct buf *)arg + way;

	buf_printf(text, "%s%s (%s)", text->len ? ", " : "", column, counters);
}

/* By which way turbostat's columns came. */
static void columns(struct report *p)
{
	struct buf text[WAYS] = { 0 };

	memory_done(ways_each(p->m, add_column, text));
	for (int way = 0, titled = 0; way < WAYS; way++) {
		memory_whole(&text[way]);
		if (text[way].len && !titled++)
			say_facts(p, "Columns");
		if (text[way].len)
			say_fact(p, ways_name[way], buf_str(&text[way]), PM_PRIVACY_TECHNICAL);
		buf_release(&text[way]);
	}
}

static void missing(struct report *p)
{
	if (!p->m->n_probes)
		return;
	say_facts(p, "Not recorded");
	for (uint32_t i = 0; i < p->m->n_probes; i++) {
		const struct pm_probe *probe = &p->m->probe[i];

		buf_clear(&p->cell);
		buf_addstr(&p->cell, pm_model_probe_name(p->m, probe));
		if (probe->reason && probe->reason != PM_REASON_NOT_READ) /* then what says why */
			buf_printf(&p->cell, ": %s", pm_reason_text(probe->reason));
		if (probe->hint)
			buf_printf(&p->cell, "; try: %s", probe->hint);
		say_cell(p, probe->source);
	}
}

#define EVENTS_SHOWN 40

/* Times and sizes in suitable units; getrusage()'s counts only with `all`. */
static void add_event(struct buf *b, const struct pm_map *attrs, bool all)
{
	static const struct {
		uint32_t key;
		const char *name;
	} times[] = { { PM_EVENT_KEY_USER_NS, "user=" },
		      { PM_EVENT_KEY_SYSTEM_NS, "system=" },
		      { PM_EVENT_KEY_ELAPSED_NS, "elapsed=" },
		      { 0, NULL } };

	for (uint32_t i = 0; i < attrs->n; i++) {
		const struct pm_field *f = &attrs->field[i];
		const struct pm_map one = { .field = &attrs->field[i], .n = 1 };
		uint64_t n = pm_map_u64(attrs, f->key, 0);
		size_t k = 0;

		if (f->key == PM_EVENT_KEY_RUSAGE && !all)
			continue;
		buf_addch(b, ' ');
		while (times[k].name && times[k].key != f->key)
			k++;
		if (times[k].name) {
			buf_addstr(b, times[k].name);
			say_ns(b, n);
		} else if (f->key == PM_EVENT_KEY_MAXRSS) {
			buf_addstr(b, "maxrss=");
			buf_bytes(b, n);
		} else {
			map_text(&one, pm_event_keys, b);
		}
	}
}

static void say_event(struct report *p, const struct pm_event *e, bool all)
{
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
	say_fact(p, when, buf_str(&p->cell), privacy);
}

static void events(struct report *p, bool all)
{
	uint64_t ended = all ? 0 : p->s->n_gone, more = p->s->n_events + p->s->more_events - ended;
	uint32_t shown = 0;

	if (!p->s->n_events)
		return;
	say_facts(p, "Events");
	for (uint32_t i = 0; i < p->s->n_events && (all || shown < EVENTS_SHOWN); i++) {
		if (!all && p->s->event[i].type == PM_EVENT_GONE)
			continue;
		say_event(p, &p->s->event[i], all);
		shown++;
	}
	more -= shown;
	if (ended)
		say_remark(p, "tasks, cgroups and devices that ended: %llu; --all lists them",
			   (unsigned long long)ended);
	if (more)
		say_remark(p, "%llu more; pmrep dump shows them", (unsigned long long)more);
}

static void groups(struct report *p)
{
	static const struct info_column column[] = {
		{ .name = "group", .right = true },    { .name = "source" },
		{ .name = "counters", .right = true }, { .name = "instances", .right = true },
		{ .name = "values", .right = true },   { .name = "first counter", .wraps = true },
	};

	say_part(p, "Groups (what is read together)", column, 6);
	for (uint32_t i = 0; i < p->m->n_groups; i++) {
		const struct pm_group *g = &p->m->group[i];
		const struct pm_counter *c = g->n_counters ? pm_model_counter(p->m, g->counter[0]) : NULL;
		char n[4][16];

		snprintf(n[0], sizeof(n[0]), "%u", g->id);
		snprintf(n[1], sizeof(n[1]), "%u", g->n_counters);
		snprintf(n[2], sizeof(n[2]), "%u", g->n_instances);
		snprintf(n[3], sizeof(n[3]), "%u", pm_group_values(g));
		say_row(p, (const char *const[]){ n[0], g->source, n[1], n[2], n[3], c ? c->name : "-" }, 6,
			PM_PRIVACY_TECHNICAL);
	}
}

static void reveals(struct report *p)
{
	SCOPED(reveals_release) struct reveals r = reveals_find(p->s);

	say_facts(p, "What this file reveals");
	for (int privacy = PM_PRIVACY_MACHINE; privacy <= PM_PRIVACY_TIME; privacy++) {
		buf_clear(&p->cell);
		for (size_t i = 0; i < r.n; i++) {
			if (r.row[i].privacy != (enum pm_privacy)privacy)
				continue;
			buf_printf(&p->cell, "%s%s", p->cell.len ? ", " : "", r.row[i].what);
			if (r.row[i].count > 1)
				buf_printf(&p->cell, " (%llu)", (unsigned long long)r.row[i].count);
		}
		say_fact(p, privacy_name((enum pm_privacy)privacy), p->cell.len ? buf_str(&p->cell) : "nothing",
			 PM_PRIVACY_TECHNICAL);
	}
}

/* ---- the machine ---- */

/* Everything in the header, so that keys of a later version are shown, too. */
static void say_host(struct report *p)
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

static void say_topology(struct report *p)
{
	/* From the largest part to the smallest. */
	static const uint8_t turn[] = { 4, 3, 5, 2, 1, 0, 6, 11 };
	struct topology_counts c = topology_count(&p->m->topology);

	say_facts(p, "Topology (online CPUs)");
	for (size_t i = 0; i < sizeof(turn); i++) {
		const struct topology_part *part = &topology_parts[turn[i]];
		bool threads = part->at == offsetof(struct topology_counts, threads);
		uint32_t n = *topology_number(&c, part->at);

		if (n == UINT32_MAX || (threads && !n))
			say_fact(p, part->name, "-", PM_PRIVACY_TECHNICAL);
		else if (threads && c.threads_least < n)
			say_fact_f(p, part->name, "%u to %u", c.threads_least, n);
		else
			say_fact_f(p, part->name, "%u", n);
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

static void say_pmus(struct report *p, bool all)
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

static void say_config(struct report *p, bool all)
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

static void register_row(void *ctx, const struct decoded *d)
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
}

static void setting_row(void *ctx, const struct decoded *d)
{
	struct report *p = ctx;

	buf_clear(&p->cell);
	add_places(&p->cell, d->config);
	say_row(p, (const char *const[]){ d->name, buf_str(&p->cell), d->field[0].text }, 3, PM_PRIVACY_TECHNICAL);
}

static void any_register(void *ctx, const struct decoded *d)
{
	*(bool *)ctx = true;
}

/* What the processor's registers say, which only x86 has, and the kernel's settings. */
static void say_decoded(struct report *p)
{
	static const struct info_column column[] = {
		{ .name = "" }, { .name = "" }, { .name = "" }, { .name = "", .wraps = true }
	};

	bool registers = false, settings = false;

	decode_all(p->m, any_register, &registers);
	if (registers) {
		say_part(p, "Registers", column, 4);
		decode_all(p->m, register_row, p);
	}
	decode_settings(p->m, any_register, &settings);
	if (settings) {
		say_part(p, "Settings of the kernel", column + 1, 3);
		decode_settings(p->m, setting_row, p);
	}
}

void info_say(const char *path, struct scan *s, bool all, const struct info_sink *to)
{
	struct report p = { .s = s, .m = pm_reader_model(s->reader), .to = to, .cell = BUF_INIT };

	recording(&p, path);
	say_host(&p);
	say_topology(&p);
	clocks(&p);
	sources(&p);
	columns(&p);
	if (all)
		groups(&p);
	say_pmus(&p, all);
	say_decoded(&p);
	say_config(&p, all);
	missing(&p);
	events(&p, all);
	reveals(&p);
	buf_release(&p.cell);
}
