/* Changes while a recording continues: CPUs go offline and online, tasks begin and end, counters are switched. */
#include <errno.h>
#include <stdio.h>

#include "record/host/opener.h"
#include "record/plan/topology.h"
#include "record/sample/session_private.h"

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
static int update_sources(struct session *s, uint32_t cpu, bool online)
{
	int err = 0;

	for (size_t i = 0; i < s->n_sources && !err; i++) {
		struct source *source = &s->source[i];

		if (!source->wanted || !source->ops->update ||
		    (cpu == PM_NONE && !atomic_exchange(&source->stale, false)))
			continue;
		s->plan.source = source;
		err = source->ops->update(source, &s->plan, cpu, online);
	}
	s->plan.source = NULL;
	return err;
}

static int remember_offline(struct session *s, const struct cpulist *gone, const struct cpulist *come)
{
	struct cpulist still = { 0 };
	int err = 0;

	for (size_t i = 0; i < s->offline.n && !err; i++)
		if (!cpulist_has(come, s->offline.cpu[i]))
			err = cpulist_add(&still, s->offline.cpu[i]);
	for (size_t i = 0; i < gone->n && !err; i++)
		err = cpulist_add(&still, gone->cpu[i]);
	if (err) {
		cpulist_release(&still);
		return err;
	}
	cpulist_release(&s->offline);
	s->offline = still;
	return 0;
}

/* Once. */
static int tell_limit(struct session *s)
{
	if (s->limit_told)
		return 0;
	s->limit_told = true;
	return plan_note(
		&s->plan, 1,
		"a limit of the format is reached: from now on, new instances and counters are not recorded");
}

static int change_cpus(struct session *s, const struct cpulist *gone, const struct cpulist *come, struct error *e)
{
	bool stays, counting = s->counting;
	int err;

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
	err = remember_offline(s, gone, come);
	if (!err && (gone->n || come->n))
		err = topology_refresh(&s->plan);
	if (err > 0)
		err = 0;
	for (size_t i = 0; i < gone->n && !err; i++)
		err = update_sources(s, gone->cpu[i], false);
	for (size_t i = 0; i < come->n && !err; i++)
		err = update_sources(s, come->cpu[i], true);
	if (!err)
		err = update_sources(s, PM_NONE, true);
	/* At a limit of the format, what fits continues. */
	if (err == -E2BIG)
		err = tell_limit(s);
	recording_unlock(s->recording);
	session_tell_pending(s);
	if (err)
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
	if (err || !counting)
		return err;
	if (come->n)
		session_begin(s);
	else
		session_tick_on(s);
	return 0;
}

/* What is open continues. */
static int tell_opener(struct session *s)
{
	static const char text[] =
		"the process that opens files and events has ended: CPUs and tasks that appear later are missing";

	snprintf(s->plan.told, sizeof(s->plan.told), "%s", text);
	return plan_note(&s->plan, 1, text);
}

int session_look(struct session *s, struct error *e)
{
	int err = 0;

	cost_look(&s->cost, recording_stats(s->recording).lost, s->options->sample.interval_ns);
	for (size_t i = 0; i < s->n_sources && !err; i++) {
		if (!s->source[i].wanted || !s->source[i].ops->look)
			continue;
		s->plan.source = &s->source[i];
		recording_lock(s->recording);
		err = s->source[i].ops->look(&s->source[i], &s->plan);
		recording_unlock(s->recording);
	}
	s->plan.source = NULL;
	if (!err && opener_lost())
		err = tell_opener(s);
	session_tell_pending(s);
	return err ? error_sys(e, -err, "looking for what has ended") : 0;
}

bool session_is_calm(const struct session *s)
{
	bool calm = hotplug_hears(&s->hotplug) && !s->wants_ticks &&
		    /* Ticks are lost for what the host stole in the same second. */
		    (!s->cost.may_steal || s->options->sample.interval_ns >= 1000000000);

	for (size_t i = 0; i < s->n_sources && calm; i++)
		calm = !s->source[i].wanted || !s->source[i].restless;
	return calm;
}

int session_watch_fd(const struct session *s)
{
	int fd = -1;

	for (size_t i = 0; i < s->n_sources && fd < 0; i++)
		if (s->source[i].wanted && s->source[i].ops->watch)
			fd = s->source[i].ops->watch(&s->source[i]);
	return fd;
}

bool session_notice(struct session *s)
{
	bool work = false;

	for (size_t i = 0; i < s->n_sources; i++)
		if (s->source[i].wanted && s->source[i].ops->notice)
			work = s->source[i].ops->notice(&s->source[i], &s->plan) || work;
	return work;
}

struct switched {
	struct session *s;
	enum pm_event_type type;
};

static void tell_switched(void *arg, uint32_t counter)
{
	struct switched *w = arg;

	session_event_number(w->s, w->type, PM_EVENT_KEY_COUNTER, counter);
}

int session_enable_one(struct session *s, const char *name, bool on, struct error *e)
{
	struct switched w = { .s = s, .type = on ? PM_EVENT_ENABLE : PM_EVENT_DISABLE };
	bool counting = s->counting;
	int n = 0;

	/* Differences across the switch would cover another period. */
	session_end(s);
	for (size_t i = 0; i < s->n_sources && n >= 0; i++) {
		const struct source_ops *ops = s->source[i].ops;
		int one = s->source[i].wanted && ops->enable_one ?
				  ops->enable_one(&s->source[i], name, on, tell_switched, &w) :
				  0;

		n = one < 0 ? one : n + one;
	}
	if (counting)
		session_begin(s);
	return n < 0 ? error_sys(e, -n, "cannot %s '%.100s'", on ? "enable" : "disable", name) : n;
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
