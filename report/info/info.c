/* Facts of a recording: counts and what identifies, then the report part by part, as text and as JSON. */
#include "report/info/info.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"
#include "common/number.h"
#include "common/table.h"
#include "report/copy/redact.h"
#include "report/machine/decode.h"
#include "report/machine/value_out.h"

#define CPU(member)   offsetof(struct pm_cpu, member)
#define COUNT(member) offsetof(struct topology_counts, member)

/* What a report says of them; key NULL ends the list. `name` is for people; NULL: not for them. */
static const struct topology_part {
	const char *key, *name;
	size_t at; /* in struct topology_counts */
} topology_parts[] = {
	{ "cpus", "CPUs", COUNT(cpus) },
	{ "cores", "cores", COUNT(cores) },
	{ "clusters", "clusters", COUNT(clusters) },
	{ "dies", "dies", COUNT(dies) },
	{ "packages", "packages", COUNT(packages) },
	{ "nodes", "nodes", COUNT(nodes) },
	{ "threads_per_core", "threads per core", COUNT(threads) },
	{ "l1d_caches", NULL, COUNT(cache[0]) },
	{ "l1i_caches", NULL, COUNT(cache[1]) },
	{ "l2_caches", NULL, COUNT(cache[2]) },
	{ "l3_caches", NULL, COUNT(cache[3]) },
	{ "offline_cpus", "offline CPUs", COUNT(offline) },
	{ NULL, NULL, 0 },
};

static uint32_t *topology_number(struct topology_counts *c, size_t at)
{
	return (uint32_t *)(void *)((char *)c + at);
}

/* What tells things of a level apart: most are numbered within what they are part of. */
static const struct {
	size_t count, key[3]; /* key 0: none */
} levels[] = {
	{ COUNT(packages), { CPU(package) } },
	{ COUNT(dies), { CPU(package), CPU(die) } },
	{ COUNT(clusters), { CPU(package), CPU(die), CPU(cluster) } },
	{ COUNT(nodes), { CPU(node) } },
	{ COUNT(cache[0]), { CPU(cache[0]) } },
	{ COUNT(cache[1]), { CPU(cache[1]) } },
	{ COUNT(cache[2]), { CPU(cache[2]) } },
	{ COUNT(cache[3]), { CPU(cache[3]) } },
	{ COUNT(cores), { CPU(package), CPU(die), CPU(core) } }, /* last: how many share one, too */
};

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(uint32_t) * 3);
}

struct topology_counts topology_count(const struct pm_topology *t)
{
	uint32_t(*key)[3] = memory_new(t->n, sizeof(*key));
	struct topology_counts c = { 0 };

	for (size_t level = 0; level < sizeof(levels) / sizeof(*levels); level++) {
		uint32_t n = 0, distinct = 0, last = PM_NONE;

		for (uint32_t i = 0; i < t->n; i++) {
			memset(key[n], 0, sizeof(*key));
			for (int k = 0; k < 3 && levels[level].key[k]; k++) {
				memcpy(&last, (const char *)&t->cpu[i] + levels[level].key[k], sizeof(last));
				key[n][k] = last;
			}
			n += t->cpu[i].online && last != PM_NONE;
		}
		qsort(key, n, sizeof(*key), compare);
		c.threads = c.threads_least = 0;
		for (uint32_t i = 0, end; i < n; i = end, distinct++) {
			for (end = i + 1; end < n && !compare(key[i], key[end]);)
				end++;
			c.threads = end - i > c.threads ? end - i : c.threads;
			c.threads_least = distinct && c.threads_least < end - i ? c.threads_least : end - i;
		}
		*topology_number(&c, levels[level].count) = n ? distinct : UINT32_MAX;
	}
	for (uint32_t i = 0; i < t->n; i++)
		*(t->cpu[i].online ? &c.cpus : &c.offline) += 1;
	free(key);
	return c;
}

void topology_put(struct topology_counts c, struct buf *out)
{
	const struct {
		const char *name;
		uint32_t n;
	} thing[] = { { "CPU", c.cpus }, { "core", c.cores }, { "package", c.packages }, { "node", c.nodes } };

	for (size_t i = 0; i < sizeof(thing) / sizeof(*thing); i++)
		if (thing[i].n && thing[i].n != UINT32_MAX)
			buf_printf(out, "%s%u %s%s", out->len ? ", " : "", thing[i].n, thing[i].name,
				   plural(thing[i].n));
}

/* ---- privacy ---- */

static void reveal(struct reveals *r, enum pm_privacy privacy, const char *group, const char *what, uint64_t n)
{
	SCOPED(scoped_free) char *name = NULL;
	uint32_t i;

	if (privacy == PM_PRIVACY_TECHNICAL)
		return;
	/* A class of a later version: assume the strictest. */
	if (privacy > PM_PRIVACY_TIME)
		privacy = PM_PRIVACY_PERSON;
	name = memory_format("%d%s%s%s", privacy, group ? group : "", group ? ": " : "", what);
	if (names_get(&r->names, name, &i)) {
		r->row[i].count += n;
		return;
	}
	memory_room(&r->row, r->n, sizeof(*r->row));
	memory_done(names_set(&r->names, name, r->n));
	r->row[r->n++] = (struct reveal){ .privacy = privacy, .what = memory_text(name + 1), .count = n };
}

/* Whether redaction has treated this class of fields. */
static bool is_redacted(const struct pm_model *m, const char *class)
{
	const struct pm_value *list = pm_map_get(&m->header, PM_HEADER_REDACTED);

	for (uint32_t i = 0; list && list->kind == PM_VALUE_ARRAY && i < list->array.n; i++)
		if (list->array.item[i].kind == PM_VALUE_TEXT && !strcmp(list->array.item[i].str.data, class))
			return true;
	return false;
}

static void reveal_map(struct reveals *r, const struct pm_model *model, const struct pm_map *m,
		       const struct pm_key_row *rows, const char *group)
{
	char name[16], what[80];

	for (uint32_t i = 0; i < m->n; i++) {
		enum pm_privacy privacy = pm_key_privacy(m->field[i].key);
		const struct pm_value *v = &m->field[i].value;
		const char *class = privacy_name(privacy);
		bool pseudonym = class && v->kind == PM_VALUE_TEXT && redact_is_pseudonym(v->str.data) &&
				 is_redacted(model, class);

		snprintf(what, sizeof(what), "%s%s", key_name(rows, m->field[i].key, name),
			 pseudonym ? " (pseudonym)" : "");
		reveal(r, privacy, group, what, 1);
	}
}

void reveals_take_instances(struct scan *s)
{
	const struct pm_model *m = pm_reader_model(s->reader);
	uint32_t i = m->n_instances;

	while (i && m->instance[i - 1].id > s->last_instance)
		i--;
	for (; i < m->n_instances; i++) {
		reveal_map(&s->instances, m, &m->instance[i].attrs, pm_instance_keys, "instances");
		s->last_instance = m->instance[i].id;
	}
}

/* To be released. */
static struct reveals reveals_find(const struct scan *s)
{
	const struct pm_model *m = pm_reader_model(s->reader);
	bool shifted = is_redacted(m, "time");
	struct reveals r = { 0 };

	reveal_map(&r, m, &m->header, pm_header_keys, NULL);
	for (uint32_t i = 0; i < m->n_counters; i++)
		reveal_map(&r, m, &m->counter[i].attrs, pm_counter_keys, "counters");
	for (uint32_t i = 0; i < s->instances.n; i++)
		reveal(&r, s->instances.row[i].privacy, NULL, s->instances.row[i].what, s->instances.row[i].count);
	for (uint32_t i = 0; i < m->n_pmus; i++)
		reveal_map(&r, m, &m->pmu[i].attrs, pm_pmu_keys, "PMUs");
	for (uint32_t i = 0; i < m->n_probes; i++)
		reveal_map(&r, m, &m->probe[i].attrs, NULL, "probes");
	for (uint32_t i = 0; i < m->n_configs; i++)
		reveal(&r, m->config[i].privacy, "config", m->config[i].name, 1);
	for (uint32_t i = 0; i < s->n_events; i++)
		reveal_map(&r, m, &s->event[i].attrs, pm_event_keys, "events");
	if (s->clocks.realtime)
		reveal(&r, PM_PRIVACY_TIME, NULL, shifted ? "wall clock (shifted)" : "wall clock", 1);
	if (s->clocks.boottime)
		reveal(&r, PM_PRIVACY_TIME, NULL, shifted ? "time since boot (shifted)" : "time since boot", 1);
	return r;
}

void reveals_release(struct reveals *r)
{
	for (size_t i = 0; i < r->n; i++)
		free(r->row[i].what);
	free(r->row);
	names_release(&r->names);
	*r = (struct reveals){ 0 };
}

/* The minor version of the format; frames of another major version are not read. */
static unsigned long long format_minor(const struct pm_model *m)
{
	return pm_map_u64(&m->header, PM_HEADER_FORMAT_MINOR, 0);
}

/* A one-time value of the recorder, such as "pmrec.readers"; 0: none. */
static uint64_t info_number(const struct pm_model *m, const char *name)
{
	const struct pm_config *c = pm_model_config(m, name, PM_NONE);

	return c && !c->reason && c->value.kind == PM_VALUE_U64 ? c->value.u64 : 0;
}

/* ---- the report, part by part, of which others make text or a page ---- */

struct report {
	struct scan *s;
	const struct pm_model *m;
	void (*take)(void *ctx, struct info_part *part);
	void *ctx;
	struct info_part part; /* that is being filled */
	struct buf cell;
};

static void end_part(struct report *p)
{
	struct info_part *part = &p->part;

	memory_whole(&part->remarks);
	if (part->title)
		p->take(p->ctx, part);
	for (size_t i = 0; i < part->n_rows; i++)
		for (size_t k = 0; k < part->n; k++)
			free(part->row[i].cell[k]);
	free(part->row);
	buf_release(&part->remarks);
}

static void say_part(struct report *p, const char *title, const struct info_column *column, size_t n)
{
	end_part(p);
	p->part = (struct info_part){ .title = title, .column = column, .n = n };
}

/* A cell of each column; of the last one `privacy` says what it reveals. */
static void say_row(struct report *p, const char *const *cell, enum pm_privacy privacy)
{
	struct info_row row = { .privacy = privacy };

	memory_whole(&p->cell);
	for (size_t i = 0; i < p->part.n; i++)
		row.cell[i] = memory_text(cell[i] ? cell[i] : "");
	memory_room(&p->part.row, p->part.n_rows, sizeof(row));
	p->part.row[p->part.n_rows++] = row;
}

/* A part of names and values. */
static void say_facts(struct report *p, const char *title)
{
	static const struct info_column column[] = { { .name = "" }, { .name = "", .wraps = true } };

	say_part(p, title, column, 2);
}

static void say_fact(struct report *p, const char *name, const char *value, enum pm_privacy privacy)
{
	say_row(p, (const char *const[]){ name, value }, privacy);
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

/* Why ticks were lost, other than to a slow output. A cause explains no more time than it took. */
static void add_why_lost(struct report *p, uint64_t lost)
{
	double half_ns = (double)lost * (double)pm_map_u64(&p->m->header, PM_HEADER_INTERVAL, 0) / 2;
	uint64_t late_ns = cost_of(p, "late_ns"), overrun_ns = cost_of(p, "overrun_ns");

	if (lost && late_ns >= overrun_ns && (double)late_ns >= half_ns) {
		buf_addstr(&p->cell, "readers were late by ");
		say_ns(&p->cell, late_ns);
		buf_addstr(&p->cell,
			   ": they waited for a CPU, or pmrec was stopped; try a longer interval, or fewer events");
	} else if (lost && (double)overrun_ns >= half_ns) {
		buf_addstr(&p->cell, "reading took longer than an interval; try a longer one, or fewer sources");
	}
}

static void why_lost(struct report *p, uint64_t lost, uint64_t dropped)
{
	buf_clear(&p->cell);
	add_why_lost(p, lost);
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
	uint64_t stalls = cost_of(p, "stalls"), dropped = cost_of(p, "dropped");
	uint64_t missed = cost_of(p, "missed"), lost = s->lost_ticks > dropped ? s->lost_ticks - dropped : 0;

	if (!pm_model_config(p->m, "pmrec.cost.cpu_ns", PM_NONE) || seconds <= 0)
		return;
	buf_clear(&p->cell);
	buf_printf(&p->cell, "%.2f %% of a CPU, %.0f wake-ups per second, %.1f MB",
		   (double)cost_of(p, "cpu_ns") / 1e7 / seconds, (double)cost_of(p, "wakeups") / seconds,
		   (double)cost_of(p, "memory_kib") / 1024);
	if (stalls)
		buf_printf(&p->cell, "; the output stalled %llu time%s, %.1f s", (unsigned long long)stalls,
			   plural(stalls), (double)cost_of(p, "stalled_ns") / 1e9);
	if (dropped)
		buf_printf(&p->cell, "; %llu dropped", (unsigned long long)dropped);
	say_cell(p, "cost");
	if (missed > s->lost_ticks)
		say_fact_f(p, "missed readings", "%llu by one reader; its groups lack those ticks",
			   (unsigned long long)missed);
	lost = missed > lost ? missed : lost;
	why_lost(p, lost, dropped);
}

/* Perf events of CPUs that no reader read. */
static void sampling(struct report *p)
{
	uint64_t n = info_number(p->m, "pmrec.sampled"), stood_in = info_number(p->m, "pmrec.cost.stood_in");

	if (!n)
		return;
	buf_clear(&p->cell);
	buf_printf(&p->cell, "%llu groups of perf events, each on a CPU", (unsigned long long)n);
	if (stood_in)
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
	say_fact_f(p, "format", "1.%llu", format_minor(p->m));
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
			PM_PRIVACY_TECHNICAL);
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
		pm_model_probe_text(p->m, probe, &p->cell);
		if (probe->reason && probe->reason != PM_REASON_NOT_READ) /* then what says why */
			buf_printf(&p->cell, ": %s", pm_reason_text(probe->reason));
		if (pm_remark_code(&probe->hint)) {
			buf_addstr(&p->cell, "; try: ");
			pm_remark_text(&p->cell, &probe->hint);
		}
		memory_whole(&p->cell);
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
		buf_printf(&p->part.remarks, "tasks, cgroups and devices that ended: %llu; --all lists them\n",
			   (unsigned long long)ended);
	if (more)
		buf_printf(&p->part.remarks, "%llu more; pmrep dump shows them\n", (unsigned long long)more);
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

static void say_pmus(struct report *p)
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
		say_cell(p, pm_map_text(a, PM_PMU_NAME, "?"));
	}
}

static void say_config(struct report *p, bool all)
{
	if (!p->m->n_configs)
		return;
	say_facts(p, "One-time values");
	if (!all) {
		buf_printf(&p->part.remarks, "%u; --all shows them\n", p->m->n_configs);
		return;
	}
	for (uint32_t i = 0; i < p->m->n_configs; i++) {
		const struct pm_config *c = &p->m->config[i];

		buf_clear(&p->cell);
		if (c->reason)
			buf_printf(&p->cell, "- (%s)", pm_reason_text(c->reason));
		else
			value_text(&c->value, &p->cell);
		decode_places(c, "  (", ")", &p->cell);
		say_fact(p, c->name, buf_str(&p->cell), c->privacy);
	}
}

/* Adds a row to the part of that title, which begins with its first row. Of four cells, the second is the number in
 * the register. */
static void say_decoded(struct report *p, const char *title, struct decoded *d, size_t n)
{
	static const struct info_column column[] = {
		{ .name = "" }, { .name = "" }, { .name = "" }, { .name = "", .wraps = true }
	};
	const char *cell[] = { d->name, "", "", buf_str(&d->text) };
	char value[32];

	if (strcmp(p->part.title, title) != 0)
		say_part(p, title, column + 4 - n, n);
	snprintf(value, sizeof(value), "0x%llx", (unsigned long long)d->value);
	if (n == 4 && !strncmp(d->name, "msr.", 4))
		cell[1] = value;
	buf_clear(&p->cell);
	if (d->config)
		decode_places(d->config, "", "", &p->cell);
	cell[2] = buf_str(&p->cell);
	cell[4 - n] = d->name;
	say_row(p, cell + 4 - n, PM_PRIVACY_TECHNICAL);
}

/* Only x86 has some. */
static void say_register(void *ctx, struct decoded *d)
{
	say_decoded(ctx, "Registers", d, 4);
}

static void say_setting(void *ctx, struct decoded *d)
{
	say_decoded(ctx, "Settings of the kernel", d, 3);
}

void info_say(const char *path, struct scan *s, bool all, void (*take)(void *ctx, struct info_part *part), void *ctx)
{
	struct report p = { .s = s, .m = pm_reader_model(s->reader), .take = take, .ctx = ctx };

	recording(&p, path);
	say_host(&p);
	say_topology(&p);
	clocks(&p);
	sources(&p);
	say_pmus(&p);
	decode_all(p.m, say_register, &p);
	decode_settings(p.m, say_setting, &p);
	say_config(&p, all);
	missing(&p);
	events(&p, all);
	reveals(&p);
	end_part(&p);
	buf_release(&p.cell);
}

/* ---- as text: tables, one below the other ---- */

struct page {
	struct buf *out;
	unsigned width;
	bool color;
};

static void put_part(void *ctx, struct info_part *part)
{
	struct page *p = ctx;
	struct table *t = table_new();
	SCOPED(buf_release) struct buf marked = BUF_INIT;

	buf_printf(p->out, "%s%s%s%s\n", p->out->len ? "\n" : "", p->color ? "\033[1m" : "", part->title,
		   p->color ? "\033[0m" : "");
	for (size_t i = 0; i < part->n; i++)
		table_column(t, part->column[i].name, part->column[i].right ? TABLE_RIGHT : TABLE_LEFT,
			     part->column[i].wraps);
	for (const struct info_row *row = part->row; row < part->row + part->n_rows; row++) {
		const char *what = privacy_name(row->privacy);

		table_row(t);
		for (size_t i = 0; i < part->n; i++) {
			buf_addstr(&marked, row->cell[i]);
			if (what && i + 1 == part->n)
				buf_printf(&marked, "  [%s]", what);
			table_cell_buf(t, &marked, NULL);
		}
	}
	table_print(t, p->width, part->column[0].name[0], p->color, p->out);
	table_free(t);
	buf_addstr(p->out, buf_str(&part->remarks));
}

void info_text(const char *path, struct scan *s, bool all, unsigned width, bool color, struct buf *out)
{
	info_say(path, s, all, put_part, &(struct page){ out, width, color });
}

/* ---- as JSON: one object with everything ---- */

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

static struct json *remark_json(const struct pm_value *remark)
{
	SCOPED(buf_release) struct buf text = BUF_INIT;

	pm_remark_text(&text, remark);
	memory_whole(&text);
	return json_new_text(buf_str(&text));
}

static struct json *probe_json(const void *thing)
{
	const struct pm_probe *p = thing;
	struct json *j = json_new_object();
	char name[16];

	json_put(j, "source", json_new_text(p->source));
	json_put(j, "what", remark_json(&p->what));
	json_put(j, "reason", json_new_text(pm_reason_name(p->reason, name)));
	json_put(j, "text", json_new_text(pm_reason_text(p->reason)));
	json_put(j, "hint", pm_remark_code(&p->hint) ? remark_json(&p->hint) : json_new_null());
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

struct json *info_json(const char *path, struct scan *s)
{
	const struct pm_model *m = pm_reader_model(s->reader);
	uint64_t interval = pm_map_u64(&m->header, PM_HEADER_INTERVAL, 0);
	struct json *j = json_new_object();
	uint64_t readers = info_number(m, "pmrec.readers");
	SCOPED(buf_release) struct buf version = BUF_INIT;

	json_put(j, "file", json_new_text(path));
	buf_printf(&version, "1.%llu", format_minor(m));
	json_put(j, "format", json_new_buf(&version));
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
	json_put(j, "pmus", LIST(m->pmu, m->n_pmus, pmu_json));
	json_put(j, "probes", LIST(m->probe, m->n_probes, probe_json));
	json_put(j, "config", LIST(m->config, m->n_configs, config_json));
	json_put(j, "registers", decode_json(m));
	json_put(j, "events", events_json(s));
	json_put(j, "more_events", json_new_u64(s->more_events));
	return j;
}
