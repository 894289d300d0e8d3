#include "record/sample/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/add.h"
#include "common/random.h"
#include "record/host/opener.h"
#include "record/host/privileges.h"
#include "record/host/process.h"
#include "record/perf/source_perf.h"
#include "record/plan/machine.h"
#include "record/plan/plan.h"
#include "record/sources/sources.h"

#define RING_BYTES    (16u << 20)
#define CHUNK_NS      1000000000u
#define CHUNK_LIVE_NS 100000000u /* if someone may be waiting for it */

/* Time for all readers to wake up, so that an extra snapshot begins on all of them at once. */
#define LEAD_NS 100000

/* If the last tick has not been taken this long after it was due, it waits for a file that does not respond. */
#define DUE_NS 1000000000u

/* Adds what delayed the current readers; call it before they end. */
static void add_delay(struct sampler_delay *sum, struct sampler_delay d)
{
	sum->late_ns += d.late_ns;
	sum->overrun_ns += d.overrun_ns;
	sum->missed += d.missed;
	sum->stood_in += d.stood_in;
}

/* One-time values pmrec.cost.*, with the model locked. */
static void record_cost(struct session *s)
{
	struct recording_stats stats = recording_stats(s->recording);
	struct outlet_state out = recording_outlet(s->recording);
	struct rusage usage = { 0 };

	getrusage(RUSAGE_SELF, &usage);
	const struct {
		const char *name;
		uint64_t value;
	} row[] = {
		{ "elapsed_ns", clocks_monotonic() - s->cost_ns },
		{ "cpu_ns", clocks_timeval_ns(&usage.ru_utime) + clocks_timeval_ns(&usage.ru_stime) },
		{ "wakeups", (uint64_t)usage.ru_nvcsw },
		{ "late_ns", s->delay.late_ns },
		{ "overrun_ns", s->delay.overrun_ns },
		{ "missed", s->delay.missed },
		{ "stood_in", s->delay.stood_in },
		{ "memory_kib", (uint64_t)usage.ru_maxrss },
		{ "stalls", out.stalls },
		{ "stalled_ns", out.stalled_ns },
		{ "dropped", s->dropped },
		{ "bytes", stats.bytes },
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		plan_fact(&s->plan, pm_u64(row[i].value), "pmrec.cost.%s", row[i].name);
}

/* ---- the plan ---- */

/* -P, --no-msr and --null are other words for --sources=-NAME. */
static void leave_out(struct session *s, const char *name)
{
	for (size_t i = 0; i < s->n_sources; i++)
		if (!strcmp(s->source[i].ops->name, name))
			s->source[i].wanted = s->source[i].required = false;
}

/* What --add names is recorded whatever --sources says; events of -e and -M need their source. */
static int take_added(struct session *s, struct error *e)
{
	const struct perf_options *perf = &s->options->perf;

	for (size_t k = 0; k < s->n_sources && s->options->sample.sources; k++)
		if (!strcmp(s->source[k].ops->name, "perf") && !s->source[k].wanted &&
		    ((perf->events && *perf->events) || perf->metrics))
			return error_set(e, EINVAL, "%s names events, but --sources excludes perf",
					 perf->events && *perf->events ? "-e" : "-M");
	for (size_t k = 0; k < s->n_sources && s->options->n_added; k++)
		if (!strcmp(s->source[k].ops->name, "add"))
			s->source[k].wanted = true;
	return 0;
}

/* A source that was requested by name and has nothing is an error, with the reason that the source gave. */
static int check_required(struct session *s, struct error *e)
{
	SCOPED(buf_release) struct buf text = BUF_INIT;
	const struct pm_probe *first;

	for (size_t i = 0; i < s->n_sources; i++) {
		const struct source *source = &s->source[i];
		const struct unit *u = s->plan.units;

		while (u && u->source != source)
			u = u->next;
		if (u || !source->required || !source->wanted || s->options->output.fd)
			continue;
		for (uint32_t k = 0; k < s->model.n_probes; k++) {
			const struct pm_probe *p = &s->model.probe[k];

			/* A remark is no reason. */
			if (!p->reason || strcmp(p->source, source->ops->name))
				continue;
			pm_remark_text(&text, &p->what);
			if (p->reason != PM_REASON_NOT_READ)
				buf_printf(&text, ": %s", pm_reason_text(p->reason));
			if (pm_remark_code(&p->hint)) {
				buf_addstr(&text, "; try: ");
				pm_remark_text(&text, &p->hint);
			}
			return error_set(e, ENODEV, "nothing to record from %s: %s", p->source, buf_str(&text));
		}
		return error_set(e, ENODEV, "nothing to record from %s on this machine", source->ops->name);
	}
	if (s->plan.units || s->options->output.fd)
		return 0;
	first = refused_first(&s->model);
	if (first) {
		pm_remark_text(&text, &first->what);
		return error_set(e, ENODEV, "nothing can be recorded here: %s: %s", buf_str(&text),
				 pm_reason_text(first->reason));
	}
	return error_set(e, ENODEV, "nothing can be recorded here; pmrec doctor says why");
}

/* Only events that count cost what they will cost, so they count during the trial. */
static int choose_readers(struct session *s, struct error *e)
{
	const struct record_options *o = s->options;
	bool counts = o->target != TARGET_COMMAND;
	int err = 0;

	s->per_cpu = o->sample.threads == THREADS_CPU;
	if (o->sample.threads)
		return 0;
	if (counts)
		err = session_enable(s, true, e);
	if (!err)
		s->per_cpu = readout_measure_per_cpu(&s->plan, o->sample.interval_ns);
	if (counts && !err)
		err = session_enable(s, false, e);
	return err;
}

int session_plan(struct session *s, const struct record_options *o, pid_t child, char *const *argv, struct error *e)
{
	int err;

	s->cost_ns = clocks_monotonic();
	s->options = o;
	s->run = 1;
	s->hotplug.fd = -1;
	s->last_number = UINT64_MAX;
	pm_model_init(&s->model);
	err = random_bytes(s->model.recording_id, sizeof(s->model.recording_id));
	if (err)
		return error_sys(e, -err, "random number");
	root_init(&s->root, o->root);
	if (!s->clocks && s->root.emulated)
		s->clocks = &clocks_emulated;
	err = hotplug_init(&s->hotplug, &s->root);
	if (err)
		return error_sys(e, -err, "%s" ROOT_ONLINE, o->root ? o->root : "");
	err = sources_select(&s->source, &s->n_sources, o->sample.sources, e);
	if (err)
		return err;
	if (o->no_perf || o->perf.null)
		leave_out(s, "perf");
	if (o->no_msr)
		leave_out(s, "msr");
	err = take_added(s, e);
	if (err)
		return err;
	err = plan_init(&s->plan, o, &s->root, &s->model, e);
	s->plan.child = child;
	if (!err)
		err = machine_describe(&s->plan, e);
	if (!err)
		err = plan_sources(&s->plan, s->source, s->n_sources, e);
	if (!err)
		err = check_required(s, e);
	if (err)
		return err;
	header_fill(&s->plan, s->source, s->n_sources, argv);
	s->plan.sampling = true;
	return choose_readers(s, e);
}

/* Retires groups that nobody reads and whose instances have all retired. Others may be read again: CPUs come back. */
static void retire_groups(struct pm_model *m, const struct readout *l)
{
	uint32_t next = 0;

	for (uint32_t i = 0; i < m->n_groups; i++) {
		const struct pm_group *g = &m->group[i];
		uint32_t k = 0;

		while (next < l->n_groups && l->group[next].id < g->id)
			next++;
		if (g->retired || (next < l->n_groups && l->group[next].id == g->id))
			continue;
		while (k < g->n_instances && pm_model_instance(m, g->instance[k])->retired_ns)
			k++;
		if (k == g->n_instances)
			memory_must(pm_model_retire_group(m, g->id));
	}
}

/* Readers, rings and where their values go, all made from the plan; the readers are parked. 0 or -errno. */
static int session_start_threads(struct session *s, struct error *e)
{
	struct sampler_config config = { .ring = &s->ring, .clocks = s->clocks };
	uint64_t sampled = 0;
	int err;

	/* The writer may be forgetting retired ids at this moment. */
	recording_lock(s->recording);
	err = readout_init(&s->readout, &s->plan, s->options->sample.interval_ns, s->chunk_ns, s->per_cpu,
			   &s->offline, e);
	recording_unlock(s->recording);
	if (err)
		return err;
	ring_init(&s->ring, &s->readout, RING_BYTES, recording_wake(s->recording));
	recording_attach(s->recording, &s->ring);
	recording_lock(s->recording);
	/* Everything about them is written. */
	retire_groups(&s->model, &s->readout);
	plan_fact(&s->plan, pm_u64(s->readout.n_readers), "pmrec.readers");
	for (const struct unit *u = s->plan.units; u; u = u->next)
		sampled += u->sampling != NULL;
	if (sampled)
		plan_fact(&s->plan, pm_u64(sampled), "pmrec.sampled");
	recording_unlock(s->recording);
	return sampler_new(&s->sampler, &config, e);
}

/* Releases these; the readers must be parked. */
static void session_stop_threads(struct session *s)
{
	if (s->sampler) {
		add_delay(&s->delay, sampler_delay(s->sampler));
		s->dropped += ring_dropped(&s->ring);
	}
	if (!sampler_free(s->sampler))
		s->left = s->sampler;
	s->sampler = NULL;
	if (s->recording)
		recording_attach(s->recording, NULL);
	if (s->left)
		return;
	ring_release(&s->ring);
	readout_release(&s->readout);
}

static void tell_rights(struct session *s)
{
	SCOPED(buf_release) struct buf text = BUF_INIT;

	privileges_tell(&text);
	plan_fact(&s->plan, pm_text(buf_str(&text)), "pmrec.rights");
}

static int add_tables(void *ctx, struct pm_chunk *c)
{
	struct session *s = ctx;

	for (size_t i = 0; i < s->n_sources; i++) {
		const struct source_ops *ops = s->source[i].ops;
		int n = ops->tables && s->source[i].data ?
				ops->tables(&s->source[i], &s->plan, c, c->group + c->n_groups) :
				0;

		if (n < 0)
			return n;
		c->n_groups += (uint32_t)n;
	}
	return 0;
}

int session_open(struct session *s, struct error *e)
{
	struct recording_config config = {
		.writer = {
			.sink = outlet_write,
			.sink_ctx = session_output(s),
			.model = &s->model,
			.loose = s->options->output.fd > 0,
			.codec = s->options->output.codec,
		},
		.buffer = s->options->output.buffer_bytes,
		.clocks = s->clocks,
		.tables = add_tables,
		.tables_ctx = s,
	};
	int err = rotation_begin(&s->rotation, s->options, e);

	if (err)
		return err;
	s->chunk_ns = session_output(s)->live ? CHUNK_LIVE_NS : CHUNK_NS;
	if (plan_rotates(s->options))
		config.rotation = &s->rotation;
	config.waits_for_room = session_output(s)->regular && !s->options->output.fd;
	/* Everything is open; what comes later is opened by the opener. */
	privileges_confine();
	tell_rights(s);
	err = recording_new(&s->recording, &config, e);
	if (err)
		return output_blame(session_output(s), e);
	return session_start_threads(s, e);
}

/* Records the events that wait in the plan. */
static void session_tell_pending(struct session *s)
{
	for (uint32_t i = 0; i < s->plan.n_events; i++)
		session_event(s, &s->plan.event[i]);
	s->plan.n_events = 0;
}

static void finish_sources(struct session *s)
{
	recording_lock(s->recording);
	s->plan.time_ns = clocks_monotonic();
	for (size_t i = 0; i < s->n_sources; i++) {
		const struct source_ops *ops = s->source[i].ops;

		if (!s->source[i].data || !ops->finish)
			continue;
		s->plan.source = &s->source[i];
		ops->finish(&s->source[i], &s->plan);
	}
	s->plan.source = NULL;
	record_cost(s);
	recording_unlock(s->recording);
}

int session_close(struct session *s, struct error *e)
{
	session_stop_threads(s);
	finish_sources(s);
	session_tell_pending(s);
	return recording_finish(s->recording, e);
}

void session_release(struct session *s)
{
	if (s->sampler && sampler_running(s->sampler))
		sampler_park(s->sampler);
	session_stop_threads(s);
	recording_free(s->recording);
	if (s->left)
		return;
	plan_release(&s->plan);
	sources_release(s->source, s->n_sources);
	hotplug_release(&s->hotplug);
	cpulist_release(&s->offline);
	pm_model_release(&s->model);
	root_release(&s->root);
	*s = (struct session){ .rotation = s->rotation };
}

int session_enable(struct session *s, bool on, struct error *e)
{
	struct source *perf = perf_among(s->source, s->n_sources);
	int err = perf ? perf_enable(perf, on) : 0;

	return err ? error_sys(e, -err, "cannot %s perf", on ? "start" : "stop") : 0;
}

/* The number of the tick that is due now; without ticks, snapshots are counted. */
static uint64_t due(const struct session *s, uint64_t now)
{
	uint64_t interval = s->options->sample.interval_ns;

	return interval ? (now - s->start_ns) / interval : s->number + 1;
}

static void single(struct session *s, uint8_t flags, bool resumed)
{
	struct ring_epoch e = { .run = s->run, .segment = s->segment, .flags = flags, .resumed = resumed };

	if (sampler_running(s->sampler))
		sampler_park(s->sampler);
	e.tick_ns = s->single_ns = clocks_monotonic() + LEAD_NS;
	if (!s->start_ns)
		s->start_ns = e.tick_ns;
	else if (s->options->sample.interval_ns || !(flags & PM_SNAPSHOT_BETWEEN))
		s->number = due(s, e.tick_ns);
	e.start_ns = s->start_ns;
	e.first_number = e.last_number = s->number;
	/* Without room the snapshot counts as lost. */
	if (sampler_begin(s->sampler, &e))
		sampler_park(s->sampler);
}

/* Ticks again, in the segment that is open. */
static void session_tick_on(struct session *s)
{
	struct ring_epoch e = { .run = s->run,
				.segment = s->segment,
				.start_ns = s->start_ns,
				.flags = PM_SNAPSHOT_LAST,
				.last_number = s->last_number };

	/* An extra snapshot after the last tick is the end. */
	s->reached_last = s->number >= s->last_number;
	if (!s->options->sample.interval_ns || s->reached_last)
		return;
	e.first_number = due(s, clocks_monotonic()) + 1;
	if (e.first_number <= s->number)
		e.first_number = s->number + 1;
	if (e.first_number > e.last_number)
		e.first_number = e.last_number;
	s->wants_ticks = !sampler_begin(s->sampler, &e);
}

void session_retry(struct session *s)
{
	if (s->wants_ticks && s->counting && !sampler_running(s->sampler))
		session_tick_on(s);
}

void session_begin(struct session *s)
{
	bool first = !s->start_ns;

	if (s->counting)
		return;
	if (!first)
		s->segment++;
	s->counting = true;
	single(s, PM_SNAPSHOT_FORCED | PM_SNAPSHOT_FIRST, true);
	if (s->options->sample.iterations && s->limited_run != s->run) {
		s->last_number = s->number + s->options->sample.iterations;
		s->limited_run = s->run;
	}
	session_tick_on(s);
}

void session_end(struct session *s)
{
	if (!s->counting)
		return;
	if (sampler_running(s->sampler))
		sampler_park(s->sampler);
	if (!s->reached_last)
		single(s, PM_SNAPSHOT_FORCED | PM_SNAPSHOT_LAST, false);
	s->counting = false;
}

void session_snapshot(struct session *s, bool restart)
{
	if (!s->counting)
		return;
	single(s, PM_SNAPSHOT_FORCED, false);
	if (restart)
		s->start_ns = s->single_ns - s->number * s->options->sample.interval_ns;
	session_tick_on(s);
}

uint64_t session_between_due(const struct session *s, uint64_t now)
{
	uint64_t interval = s->options->sample.interval_ns, within = s->plan.within_ns, tick, next;

	if (!s->counting || !within || (interval && interval <= within))
		return UINT64_MAX;
	if (!interval)
		return s->single_ns + within;
	/* Halfway or later before a tick, that will do. */
	within = interval / ((interval + within - 1) / within);
	tick = s->start_ns + due(s, now) * interval;
	next = (s->single_ns > tick ? s->single_ns : tick) + within;
	return next + within / 2 < tick + interval ? next : tick + interval + within;
}

void session_between(struct session *s)
{
	single(s, PM_SNAPSHOT_BETWEEN, false);
	if (s->options->sample.interval_ns)
		session_tick_on(s);
}

void session_prolong(struct session *s, uint64_t ticks)
{
	if (sampler_running(s->sampler))
		sampler_park(s->sampler);
	s->last_number += ticks;
	session_tick_on(s);
}

void session_hurry(struct session *s)
{
	recording_hurry(s->recording);
	if (s->sampler)
		sampler_hurry(s->sampler);
}

uint64_t session_due(const struct session *s)
{
	if (s->last_number == UINT64_MAX || !s->sampler || !sampler_running(s->sampler))
		return UINT64_MAX;
	return s->start_ns + (s->last_number + 1) * s->options->sample.interval_ns + DUE_NS;
}

void session_ticks_ended(struct session *s)
{
	if (!sampler_running(s->sampler))
		return;
	sampler_park(s->sampler);
	s->reached_last = true;
}

int session_next_run(struct session *s, pid_t child, struct error *e)
{
	struct source *perf = perf_among(s->source, s->n_sources);
	int err = 0;

	s->run++;
	s->reached_last = false;
	s->plan.child = child;
	recording_drain(s->recording);
	recording_lock(s->recording);
	if (perf)
		err = perf_restart(perf, &s->plan, e);
	recording_unlock(s->recording);
	return err;
}

int session_event(struct session *s, struct pm_event *event)
{
	uint64_t after = s->sampler && !sampler_running(s->sampler) ? sampler_next_chunk(s->sampler) : 0;

	if (!event->time_ns)
		event->time_ns = clocks_monotonic();
	return recording_event(s->recording, event, after);
}

void session_event_number(struct session *s, enum pm_event_type type, uint32_t key, uint64_t value)
{
	struct pm_event event = { .type = type };

	/* Without memory the event says less. */
	(void)pm_map_set(&event.attrs, key, pm_u64(value));
	session_event(s, &event);
}

/* Its place was given to a newer one. */
static bool is_superseded(struct unit *u)
{
	for (const struct unit *newer = u->next; newer; newer = newer->next)
		if (newer->group == u->group && newer->instance == u->instance)
			return true;
	return false;
}

static bool any_stale(const struct session *s)
{
	for (size_t i = 0; i < s->n_sources; i++)
		if (atomic_load(&s->source[i].stale))
			return true;
	return false;
}

/* PM_NONE: update those that have become stale. */
static void update_sources(struct session *s, uint32_t cpu, bool online)
{
	for (size_t i = 0; i < s->n_sources; i++) {
		struct source *source = &s->source[i];

		if (!source->data || !source->ops->update ||
		    (cpu == PM_NONE && !atomic_exchange(&source->stale, false)))
			continue;
		s->plan.source = source;
		source->ops->update(source, &s->plan, cpu, online);
	}
	s->plan.source = NULL;
}

static void remember_offline(struct session *s, const struct cpulist *gone, const struct cpulist *come)
{
	struct cpulist still = { 0 };

	for (size_t i = 0; i < s->offline.n; i++)
		if (!cpulist_has(come, s->offline.cpu[i]))
			memory_must(cpulist_add(&still, s->offline.cpu[i]));
	for (size_t i = 0; i < gone->n; i++)
		memory_must(cpulist_add(&still, gone->cpu[i]));
	cpulist_release(&s->offline);
	s->offline = still;
}

/* Once. */
static void tell_limit(struct session *s)
{
	if (!s->limit_told)
		plan_note(&s->plan, 1, pm_remark(PM_REMARK_LIMIT));
	s->limit_told = true;
}

static int change_cpus(struct session *s, const struct cpulist *gone, const struct cpulist *come, struct error *e)
{
	bool stays, counting = s->counting;
	int err = 0;

	if (come->n) {
		/* What comes back may count from 0 again. */
		session_end(s);
	} else if (s->sampler && sampler_running(s->sampler)) {
		sampler_park(s->sampler);
	}
	for (size_t i = 0; i < gone->n; i++)
		session_event_number(s, PM_EVENT_CPU_OFFLINE, PM_EVENT_KEY_CPU, gone->cpu[i]);
	for (size_t i = 0; i < come->n; i++)
		session_event_number(s, PM_EVENT_CPU_ONLINE, PM_EVENT_KEY_CPU, come->cpu[i]);
	recording_lock(s->recording);
	remember_offline(s, gone, come);
	if (gone->n || come->n)
		err = topology_refresh(&s->plan);
	for (size_t i = 0; i < gone->n; i++)
		update_sources(s, gone->cpu[i], false);
	for (size_t i = 0; i < come->n; i++)
		update_sources(s, come->cpu[i], true);
	update_sources(s, PM_NONE, true);
	/* At a limit of the format, what fits continues. */
	if (s->plan.full)
		tell_limit(s);
	recording_unlock(s->recording);
	session_tell_pending(s);
	if (err < 0)
		return error_sys(e, -err, "after a change of the CPUs");
	for (size_t i = 0; i < come->n; i++)
		sampler_pin_again(s->sampler, come->cpu[i]);
	recording_lock(s->recording);
	stays = readout_switch(&s->readout, &s->plan, &s->offline);
	recording_unlock(s->recording);
	if (!stays) {
		/* The writer first releases the old units. */
		session_stop_threads(s);
		plan_drop_units(&s->plan, is_superseded);
		err = session_start_threads(s, e);
	}
	if (err < 0 || !counting)
		return err < 0 ? err : 0;
	if (come->n)
		session_begin(s);
	else
		session_tick_on(s);
	return 0;
}

/* What is open continues. */
static void tell_opener(struct session *s)
{
	struct pm_value remark = pm_remark(PM_REMARK_OPENER_ENDED);

	plan_tell(&s->plan, &remark);
	plan_note(&s->plan, 1, remark);
}

void session_look(struct session *s)
{
	struct source *perf = perf_among(s->source, s->n_sources);

	if (perf) {
		s->plan.source = perf;
		recording_lock(s->recording);
		perf_look(perf, &s->plan);
		recording_unlock(s->recording);
		s->plan.source = NULL;
	}
	if (opener_lost())
		tell_opener(s);
	session_tell_pending(s);
}

bool session_is_calm(const struct session *s)
{
	bool calm = hotplug_hears(&s->hotplug) && !s->wants_ticks;

	for (size_t i = 0; i < s->n_sources && calm; i++)
		calm = !s->source[i].wanted || !s->source[i].restless;
	return calm;
}

int session_watch_fd(const struct session *s)
{
	const struct source *perf = perf_among(s->source, s->n_sources);

	return perf ? perf_watch(perf) : -1;
}

bool session_notice(struct session *s)
{
	struct source *perf = perf_among(s->source, s->n_sources);

	return perf && perf_notice(perf, &s->plan);
}

int session_look_for_cpus(struct session *s, struct error *e)
{
	SCOPED(cpulist_release) struct cpulist gone = { 0 }, come = { 0 };
	int n = hotplug_look(&s->hotplug, &gone, &come), err = 0;
	bool ours = false;

	for (size_t i = 0; i < gone.n && n > 0; i++)
		ours = ours || plan_wants_cpu(&s->plan, gone.cpu[i]);
	for (size_t i = 0; i < come.n && n > 0; i++)
		ours = ours || plan_wants_cpu(&s->plan, come.cpu[i]);
	if ((n > 0 && ours) || any_stale(s))
		err = change_cpus(s, &gone, &come, e);
	return err;
}
