/* What a recording is, without its numbers: facts by which the sides are compared, runs, and damage. */
#include "report/diff/diff_input.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/number.h"

#include "report/info/info.h"
#include "report/input/input.h"

struct scanner {
	struct diff_recording *r;
	const struct diff_options *o;
	struct pm_reader *reader;
	uint32_t part;
	uint32_t *run_at; /* owned; by number of a run: where the last one of that number is, from 1 on */
	bool known;       /* the facts were taken */
	int err;
};

/* ---- facts ---- */

static void set_fact(struct scanner *s, enum diff_fact f, struct buf *text)
{
	if (text->err)
		s->err = -ENOMEM;
	if (text->len) {
		free(s->r->fact[f]);
		s->r->fact[f] = buf_detach(text);
	}
	buf_release(text);
}

static void set_text(struct scanner *s, enum diff_fact f, uint32_t key)
{
	const struct pm_value *v = pm_map_get(&pm_reader_model(s->reader)->header, key);
	struct buf text = BUF_INIT;

	if (!v)
		return;
	if (v->kind == PM_VALUE_TEXT)
		buf_addstr(&text, v->str.data);
	else if (v->kind == PM_VALUE_BOOL)
		buf_addstr(&text, v->boolean ? "yes" : "no");
	else if (v->kind == PM_VALUE_U64)
		buf_printf(&text, "%" PRIu64, v->u64);
	for (uint32_t i = 0; v->kind == PM_VALUE_ARRAY && i < v->array.n; i++)
		if (v->array.item[i].kind == PM_VALUE_TEXT)
			buf_printf(&text, "%s%s", i ? "," : "", v->array.item[i].str.data);
	set_fact(s, f, &text);
}

/* A size or time that may differ slightly without being another. */
static void set_amount(struct scanner *s, enum diff_fact f, uint32_t key, double unit, const char *name)
{
	const struct pm_map *header = &pm_reader_model(s->reader)->header;
	struct buf text = BUF_INIT;

	if (!pm_map_get(header, key))
		return;
	buf_printf(&text, "%.6g %s", (double)(int64_t)((double)pm_map_u64(header, key, 0) / unit * 10 + 0.5) / 10,
		   name);
	set_fact(s, f, &text);
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* All values of a one-time reading, over its places. */
static void set_config(struct scanner *s, enum diff_fact f, const char *name)
{
	const struct pm_model *m = pm_reader_model(s->reader);
	const char *seen[16];
	size_t n = 0;
	struct buf text = BUF_INIT;

	for (uint32_t i = 0; i < m->n_configs && n < sizeof(seen) / sizeof(*seen); i++) {
		const struct pm_config *c = &m->config[i];
		bool old = strcmp(c->name, name) || c->reason || c->value.kind != PM_VALUE_TEXT;

		for (size_t k = 0; k < n && !old; k++)
			old = !strcmp(seen[k], c->value.str.data);
		if (!old)
			seen[n++] = c->value.str.data;
	}
	qsort(seen, n, sizeof(*seen), compare_texts);
	for (size_t i = 0; i < n; i++)
		buf_printf(&text, "%s%s", i ? "," : "", seen[i]);
	set_fact(s, f, &text);
}

static void set_topology(struct scanner *s)
{
	const struct pm_topology *t = &pm_reader_model(s->reader)->topology;
	struct buf text = BUF_INIT;
	struct topology_counts c;

	if (t->n && topology_count(t, &c)) {
		s->err = -ENOMEM;
	} else if (t->n) {
		const struct {
			const char *name;
			uint32_t n;
		} thing[] = {
			{ "CPU", c.cpus }, { "core", c.cores }, { "package", c.packages }, { "node", c.nodes }
		};

		for (size_t i = 0; i < sizeof(thing) / sizeof(*thing); i++)
			if (thing[i].n && thing[i].n != UINT32_MAX)
				buf_printf(&text, "%s%u %s%s", text.len ? ", " : "", thing[i].n, thing[i].name,
					   plural(thing[i].n));
	}
	set_fact(s, DIFF_TOPOLOGY, &text);
}

static void set_events(struct scanner *s)
{
	const struct pm_model *m = pm_reader_model(s->reader);
	struct diff_recording *r = s->r;

	r->event = calloc((size_t)m->n_counters + 1, sizeof(*r->event));
	if (!r->event) {
		s->err = -ENOMEM;
		return;
	}
	for (uint32_t i = 0; i < m->n_counters; i++) {
		if (strcmp(m->counter[i].source, "perf"))
			continue;
		r->event[r->n_events] = strdup(m->counter[i].name);
		if (!r->event[r->n_events])
			s->err = -ENOMEM;
		else
			r->n_events++;
	}
	qsort(r->event, r->n_events, sizeof(*r->event), compare_texts);
}

static bool has_times(void *ctx, const struct pm_group *g)
{
	return g->flags & PM_GROUP_PERF_TIMES;
}

/* For what part of its time the least counted event had a counter. */
static void set_multiplexing(struct scanner *s)
{
	const struct pm_model *m = pm_reader_model(s->reader);
	const struct pm_chunk *chunk;
	struct buf text = BUF_INIT;
	double least = 2;

	if (!s->r->n_events)
		return;
	pm_reader_select(s->reader, has_times, NULL);
	if (pm_reader_decode(s->reader, &chunk))
		return;
	for (uint32_t i = 0; i < chunk->n_groups; i++) {
		const struct pm_chunk_group *v = &chunk->group[i];
		const struct pm_group *g = pm_model_group(m, v->group);
		uint32_t times = g ? pm_group_times(g) : 0;

		if (!g || v->absent || !v->v || !(g->flags & PM_GROUP_PERF_TIMES))
			continue;
		for (uint32_t t = 0; t < times; t++) {
			double enabled = (double)v->v[(size_t)(2 * times + t) * v->stride + chunk->rows - 1];
			double running = (double)v->v[(size_t)(3 * times + t) * v->stride + chunk->rows - 1];

			if (enabled > 0 && running / enabled < least)
				least = running / enabled;
		}
	}
	if (least > 1)
		return;
	if (least > 0.995)
		buf_addstr(&text, "none");
	else
		buf_printf(&text, "some events had a counter about %.0f %% of the time",
			   10 * (double)(int)(10 * least + 0.5));
	set_fact(s, DIFF_MULTIPLEXING, &text);
}

static void take_facts(struct scanner *s)
{
	const struct pm_model *m = pm_reader_model(s->reader);
	const struct pm_map *header = &m->header;
	struct buf text = BUF_INIT;

	s->known = true;
	memcpy(s->r->id, m->recording_id, sizeof(s->r->id));
	if (pm_map_get(header, PM_HEADER_BOOT_ID) &&
	    !(s->r->boot = strdup(pm_map_text(header, PM_HEADER_BOOT_ID, ""))))
		s->err = -ENOMEM;
	set_text(s, DIFF_ARCH, PM_HEADER_ARCH);
	set_text(s, DIFF_CPU_MODEL, PM_HEADER_CPU_MODEL);
	set_text(s, DIFF_CPU_ID, PM_HEADER_CPU_ID);
	set_text(s, DIFF_MICROCODE, PM_HEADER_MICROCODE);
	set_topology(s);
	set_text(s, DIFF_SMT, PM_HEADER_SMT);
	set_text(s, DIFF_HYPERVISOR, PM_HEADER_HYPERVISOR);
	set_text(s, DIFF_EMULATED, PM_HEADER_EMULATED);
	set_amount(s, DIFF_MEMORY, PM_HEADER_MEMORY, 1 << 30, "GiB");
	set_text(s, DIFF_BIOS, PM_HEADER_BIOS);
	set_text(s, DIFF_KERNEL, PM_HEADER_KERNEL);
	set_text(s, DIFF_OS, PM_HEADER_OS);
	set_config(s, DIFF_GOVERNOR, "cpufreq.scaling_governor");
	set_config(s, DIFF_DRIVER, "cpufreq.scaling_driver");
	set_text(s, DIFF_WATCHDOG, PM_HEADER_NMI_WATCHDOG);
	set_text(s, DIFF_TARGET, PM_HEADER_TARGET);
	set_text(s, DIFF_COMMAND, PM_HEADER_COMMAND);
	if (pm_map_get(header, PM_HEADER_INTERVAL)) {
		uint64_t ns = pm_map_u64(header, PM_HEADER_INTERVAL, 0);

		if (ns)
			buf_printf(&text, "%.9g s", (double)ns / 1e9);
		else
			buf_addstr(&text, "start and end only");
		set_fact(s, DIFF_INTERVAL, &text);
	}
	set_text(s, DIFF_SOURCES, PM_HEADER_SOURCES);
	set_text(s, DIFF_TOOL, PM_HEADER_TOOL);
	s->r->command |= pm_map_get(header, PM_HEADER_COMMAND) ||
			 !strcmp(pm_map_text(header, PM_HEADER_TARGET, ""), "command");
	set_events(s);
}

/* ---- runs ---- */

#define RUNS 0x10000 /* of a recording */

/* Runs of a second recording in the file are numbered on. */
static struct diff_run *find_run(struct scanner *s, uint32_t run)
{
	struct diff_recording *r = s->r;
	struct diff_run *more;
	uint32_t number = s->part * RUNS + run % RUNS, *at;

	if (!s->run_at)
		s->run_at = calloc(RUNS, sizeof(*s->run_at));
	at = s->run_at ? &s->run_at[run % RUNS] : NULL;
	if (at && *at && r->run[*at - 1].run == number)
		return &r->run[*at - 1];
	more = at ? reallocarray(r->run, r->n_runs + 1, sizeof(*more)) : NULL;
	if (!more) {
		s->err = -ENOMEM;
		return NULL;
	}
	r->run = more;
	more[r->n_runs] = (struct diff_run){ .run = number };
	*at = ++r->n_runs;
	return &more[*at - 1];
}

static void take_chunk(struct scanner *s, const struct pm_chunk_head *head)
{
	struct diff_run *run = find_run(s, head->run);

	if (!s->known) {
		take_facts(s);
		set_multiplexing(s);
	}
	if (!run)
		return;
	if (!s->r->first_ns)
		s->r->first_ns = head->from_ns;
	if (!run->from_ns) {
		run->from_ns = head->from_ns;
		run->wall_ns = head->clocks.realtime;
	}
	run->to_ns = head->to_ns;
	s->r->snapshots += head->rows;
}

static bool is_marker(const struct pm_event *e, const char *text)
{
	return text && !strcmp(pm_map_text(&e->attrs, PM_EVENT_KEY_TEXT, ""), text);
}

static void take_event(struct scanner *s, const struct pm_event *e)
{
	const struct pm_map *a = &e->attrs;
	struct diff_recording *r = s->r;
	struct diff_run *run;
	SCOPED(buf_release) struct buf text = BUF_INIT;

	switch (e->type) {
	case PM_EVENT_LOST:
		r->lost_ticks += pm_map_u64(a, PM_EVENT_KEY_COUNT, 1);
		return;
	case PM_EVENT_MARKER:
	case PM_EVENT_CHILD_START:
	case PM_EVENT_CHILD_EXIT:
		break;
	default:
		return;
	}
	run = find_run(s,
		       (uint32_t)pm_map_u64(a, PM_EVENT_KEY_RUN, r->n_runs ? r->run[r->n_runs - 1].run % RUNS : 1));
	if (!run)
		return;
	if (e->type == PM_EVENT_MARKER) {
		if (!run->from_marker_ns && is_marker(e, s->o->from_marker))
			run->from_marker_ns = e->time_ns;
		else if (!run->to_marker_ns && is_marker(e, s->o->to_marker) &&
			 (!s->o->from_marker || run->from_marker_ns))
			run->to_marker_ns = e->time_ns;
		return;
	}
	r->command = true;
	if (e->type == PM_EVENT_CHILD_START) {
		run->start_ns = e->time_ns;
		return;
	}
	run->exited = true;
	run->exit_ns = e->time_ns;
	run->elapsed_ns = pm_map_u64(a, PM_EVENT_KEY_ELAPSED_NS, 0);
	run->user_ns = pm_map_u64(a, PM_EVENT_KEY_USER_NS, 0);
	run->system_ns = pm_map_u64(a, PM_EVENT_KEY_SYSTEM_NS, 0);
	run->cpu_ns = run->user_ns + run->system_ns;
	run->max_rss = pm_map_u64(a, PM_EVENT_KEY_MAXRSS, 0);
	run->failed = pm_map_get(a, PM_EVENT_KEY_SIGNAL) || pm_map_u64(a, PM_EVENT_KEY_EXIT, 0);
	if (pm_map_get(a, PM_EVENT_KEY_SIGNAL))
		buf_printf(&text, "signal %" PRIu64, pm_map_u64(a, PM_EVENT_KEY_SIGNAL, 0));
	else
		buf_printf(&text, "%" PRIu64, pm_map_u64(a, PM_EVENT_KEY_EXIT, 0));
	/* The worst of the runs. */
	if (!r->fact[DIFF_EXIT] || !strcmp(r->fact[DIFF_EXIT], "0"))
		set_fact(s, DIFF_EXIT, &text);
}

static void take_damage(struct scanner *s, const struct pm_damage *d)
{
	if (d->kind == PM_DAMAGE_NO_END || d->kind == PM_DAMAGE_CUT)
		s->r->cut = true;
	else
		s->r->damaged = true;
	s->r->damages++;
}

static int scan_items(struct scanner *s, struct error *e)
{
	struct pm_item item = { 0 };
	int got;

	while ((got = pm_reader_next(s->reader, &item)) == 1 && !s->err) {
		switch (item.kind) {
		case PM_ITEM_CHUNK:
			take_chunk(s, &item.chunk);
			break;
		case PM_ITEM_EVENT:
			take_event(s, item.event);
			break;
		case PM_ITEM_DAMAGE:
			take_damage(s, item.damage);
			break;
		case PM_ITEM_RECORDING:
			s->part++;
			break;
		default:
			break;
		}
	}
	if (got < 0 && got != -EAGAIN)
		return error_sys(e, -got, "%s: reading", s->r->path);
	if (!s->known)
		take_facts(s);
	s->r->parts = s->part + 1;
	return s->err ? error_sys(e, -s->err, "%s", s->r->path) : 0;
}

static int tell_gaps(struct diff_recording *r)
{
	struct buf text = BUF_INIT;

	if (r->damaged)
		buf_addstr(&text, "damaged");
	else if (r->cut)
		buf_addstr(&text, "cut");
	if (r->lost_ticks)
		buf_printf(&text, "%s%" PRIu64 " of %" PRIu64 " ticks lost", text.len ? ", " : "", r->lost_ticks,
			   r->lost_ticks + r->snapshots);
	if (!text.len)
		buf_addstr(&text, "none");
	r->fact[DIFF_GAPS] = buf_detach(&text);
	return r->fact[DIFF_GAPS] ? 0 : -ENOMEM;
}

/* The cost of a recording that was cut or merged is of another period. */
static int tell_cost(struct diff_recording *r, const struct pm_model *m)
{
	const struct pm_config *c = pm_model_config(m, "pmrec.cost.cpu_ns", PM_NONE);
	uint64_t to = r->n_runs ? r->run[r->n_runs - 1].to_ns : 0;
	struct buf text = BUF_INIT;
	double percent, digit;

	/* Of less than a second its share of a CPU says nothing. */
	if (!c || c->reason || c->value.kind != PM_VALUE_U64 || to < r->first_ns + 1000000000 ||
	    pm_map_get(&m->header, PM_HEADER_HISTORY))
		return 0;
	r->cost = (double)c->value.u64 / (double)(to - r->first_ns);
	percent = 100 * r->cost;
	/* One digit, so that several runs have the same text. */
	digit = percent > 0 ? pow(10, floor(log10(percent))) : 1;
	buf_printf(&text, "%g %% of a CPU", rint(percent / digit) * digit);
	r->fact[DIFF_COST] = buf_detach(&text);
	return r->fact[DIFF_COST] ? 0 : -ENOMEM;
}

int diff_scan(struct diff_recordings *all, const struct diff_options *o, struct error *e)
{
	int err = 0;

	for (size_t i = 0; i < all->n && !err; i++) {
		struct scanner s = { .r = &all->recording[i], .o = o };

		err = input_open_as(&s.reader, s.r->place, s.r->path, e);
		if (err)
			return err;
		err = scan_items(&s, e);
		free(s.run_at);
		if (!err && tell_cost(s.r, pm_reader_model(s.reader)))
			err = error_sys(e, ENOMEM, "%s", s.r->path);
		pm_reader_close(s.reader);
		/* A recording without an end that is still being written is intact, but not finished. */
		s.r->open = s.r->cut && !s.r->damaged && input_being_written(s.r->place);
		if (s.r->open)
			buf_addstr(&s.r->notes, "still being written: using what is there\n");
		if (!err && tell_gaps(s.r))
			err = error_sys(e, ENOMEM, "%s", s.r->path);
	}
	return err;
}
