/* perf events. Planning opens every event once to find out what the machine permits, adds the counters in the user's
 * order, and then one column group for each kernel group: its events times the CPUs or tasks that it is opened on. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/number.h"

#include "record/host/clocks.h"
#include "record/perf/freeze_smi.h"
#include "record/perf/pci_config.h"
#include "record/perf/perf_class.h"
#include "record/perf/perf_tool.h"

/* Within this time a group has a counter: those of one PMU take turns of some milliseconds. */
#define LACKING_NS 800000000u
#define TURN_NS    8000000u

/* Approximate number of descriptors that the sources after this one need. */
#define OTHERS 32

/* Checks how many descriptors all rows need, besides all others. */
static int check_descriptors(const struct perf_source *s, struct plan *p)
{
	uint64_t need = 0, have = perf_raise_nofile();
	char hint[80];

	for (uint32_t i = 0; i < s->n_groups; i++) {
		const struct perf_group *g = s->group[i];
		/* What BPF counts needs descriptors once, and the kernel keeps the events. */
		uint32_t each = g->bpf && !bpf_group_opens(g->bpf) ? 5 : perf_rows_places(s, g);

		need += (uint64_t)(g->n + (g->sample_ns > 0)) * each;
	}
	/* What notices new tasks. */
	if (p->options->perf.per_thread && !p->options->perf.no_inherit)
		need += (uint64_t)(s->n_tasks + 1) * p->model->topology.n;
	need += perf_used_nofile();
	if (need <= have)
		return 0;
	need += OTHERS;
	snprintf(hint, sizeof(hint), "ulimit -Hn %" PRIu64, need);
	return plan_refused(p, pm_reason_errno(EMFILE), hint,
			    "the events need %" PRIu64 " open files, and the limit is %" PRIu64, need, have);
}

/* ---- the source ---- */

/* Texts that are wrong for the machine are also wrong under --root. */
static int refuse_emulated(struct perf_source *s, struct plan *p, const char *sets, struct error *e)
{
	int err = p->options->perf.events || p->options->perf.metrics ? perf_events_read(s, p, sets, e) : 0;

	if (err)
		return err;
	/* More descriptors would not help. */
	if (p->root->shortage)
		*p->root->shortage = 0;
	return plan_refused(p, PM_REASON_NOT_SUPPORTED, NULL,
			    "perf events: with --root, nothing is counted on the machine that runs pmrec");
}

/* The kernel's own events on CPUs neither end nor wait for a counter. */
static bool is_restless(const struct perf_source *s, const struct plan *p)
{
	bool some = p->options->target != TARGET_SYSTEM || s->n_cgroups;

	for (uint32_t i = 0; i < s->n_groups && !some; i++)
		for (uint32_t k = 0; k < s->group[i]->n && !some; k++)
			some = s->group[i]->member[k]->ev->type != PERF_TYPE_SOFTWARE;
	return some;
}

static int perf_plan(struct source *source, struct plan *p, struct error *e)
{
	struct perf_source *s = calloc(1, sizeof(*s));
	SCOPED(buf_release) struct buf sets = BUF_INIT;
	int err;

	if (!s)
		return error_sys(e, ENOMEM, "perf events");
	source->data = s;
	s->follow.epoll = s->ends = -1;
	e->text[0] = '\0';
	err = perf_pmus_read(&s->pmus, p->root);
	if (!err && (p->options->perf.null || p->root->emulated))
		err = perf_pmus_record(&s->pmus, NULL, p);
	if (!err && p->options->perf.null)
		return 0;
	if (!err)
		err = perf_sets_text(s, p, &sets, e);
	if (!err && perf_classes_pci(&s->pmus))
		err = pci_map_record(perf_classes_pci(&s->pmus), p);
	if (!err && !p->options->perf.brief)
		err = perf_classes_missing(&s->pmus, p);
	if (!err && p->root->emulated)
		return refuse_emulated(s, p, buf_str(&sets), e);
	perf_raise_nofile();
	if (!err)
		err = perf_events_read(s, p, buf_str(&sets), e);
	if (!err)
		err = perf_pmus_record(&s->pmus, &s->set, p);
	if (!err)
		err = perf_tasks_add(s, p, e);
	if (!err)
		perf_tool_check(s, p);
	if (!err && p->options->target == TARGET_TASKS && p->options->cpus)
		err = plan_refused(p, PM_OK, NULL, "-C %.60s: events of tasks count wherever the tasks run",
				   p->options->cpus);
	if (!err)
		err = perf_bpf_check(s, p, e);
	if (!err)
		err = perf_groups_settle(s, p, e);
	s->from_exec = s->to_exec = p->options->target == TARGET_COMMAND && !p->options->perf.delay_ms;
	if (!err)
		err = perf_bpf_begin(s, p, e);
	if (!err)
		err = perf_choose_sampling(s, p);
	if (!err)
		err = check_descriptors(s, p);
	if (!err)
		err = perf_counters_add(s, p);
	for (uint32_t i = 0; i < s->n_groups && !err; i++)
		err = perf_rows_open(s, p, s->group[i]);
	s->to_exec = false;
	perf_held_close(s);
	source->restless = is_restless(s, p);
	if (!err)
		err = perf_tool_plan(s, p);
	if (!err)
		err = perf_threads_begin(s, p, e);
	if (!err)
		perf_tasks_watch(s, p);
	if (err && !e->text[0])
		error_sys(e, -err, "perf events");
	return err;
}

static int switch_rows(struct perf_source *s, bool on)
{
	int err = 0;

	for (uint32_t i = 0; i < s->n_groups; i++)
		for (uint32_t k = 0; k < s->group[i]->n_rows; k++) {
			int one = perf_row_enable(s->group[i]->row[k], on);

			err = err ? err : one;
		}
	return err;
}

/* Also of its twins in other BPF programs, which are counters of their own. */
static void set_off(struct perf_source *s, size_t i, bool off, void (*found)(void *arg, uint32_t counter), void *arg)
{
	s->event[i].off = off;
	if (found)
		found(arg, s->event[i].counter);
	for (uint32_t g = 0; g < s->n_groups; g++)
		for (uint32_t k = 0; s->group[g]->copy && k < s->group[g]->n; k++) {
			struct perf_event *twin = &s->group[g]->copy[k];

			if (twin->ev != s->event[i].ev)
				continue;
			twin->off = off;
			if (found)
				found(arg, twin->counter);
		}
}

static int perf_enable(struct source *source, bool on)
{
	struct perf_source *s = source->data;

	s->on = on;
	s->from_exec = false;
	for (size_t i = 0; i < s->set.n && on && !s->chosen; i++)
		set_off(s, i, false, NULL, NULL);
	if (on)
		s->chosen = false;
	return switch_rows(s, on);
}

static int perf_update(struct source *source, struct plan *p, uint32_t cpu, bool online)
{
	struct perf_source *s = source->data;
	int err;

	if (cpu == PM_NONE) {
		err = perf_rows_revive(s, p);
		return err ? err : perf_threads_update(s, p);
	}
	err = perf_tool_cpu(s, p, cpu, online);
	if (!err && online) {
		err = perf_threads_cpu(s, p, cpu);
		atomic_store(&source->stale, p->options->perf.per_thread);
	}
	for (uint32_t i = 0; i < s->n_groups && !err; i++) {
		struct perf_group *g = s->group[i];
		uint32_t n = g->n_cgroups ? g->n_cgroups : 1;

		/* What BPF counts, on new CPUs and for tasks that get there, too. */
		if (online && g->bpf && (g->tasks || plan_wants_cpu(p, cpu)))
			bpf_group_online(g, cpu);
		for (uint32_t c = g->first_cgroup; c < g->first_cgroup + n && !err && !g->tasks; c++)
			err = perf_rows_update(s, p, g, c, cpu, online);
	}
	return err;
}

static bool answers_to(const struct event *ev, const char *name)
{
	return !strcmp(name, ev->display) || !strcmp(name, ev->name) || !strcmp(name, ev->text);
}

static int perf_enable_one(struct source *source, const char *name, bool on,
			   void (*found)(void *arg, uint32_t counter), void *arg)
{
	struct perf_source *s = source->data;
	bool running = s->on || s->from_exec, all_off = on && !running && !s->chosen;
	int n = 0, err = 0;

	for (size_t i = 0; i < s->set.n; i++) {
		if (!s->event[i].counter || !answers_to(s->event[i].ev, name))
			continue;
		/* If nothing counts, to enable one event is to leave out the others. */
		for (size_t k = 0; k < s->set.n && all_off; k++)
			set_off(s, k, true, NULL, NULL);
		all_off = false;
		s->chosen = !running;
		set_off(s, i, !on, found, arg);
		n++;
	}
	if (n)
		err = switch_rows(s, running);
	return err ? err : n;
}

/* If a PMU's driver was removed, its events stand still, and the kernel may not even report that. */
static int look_for_pmus(struct perf_source *s, struct plan *p)
{
	int err = 0;

	for (uint32_t i = 0; i < s->n_groups && !err; i++) {
		struct perf_group *g = s->group[i];
		const struct event_pmu *pmu = perf_class_of_group(&s->pmus, g);

		if (!pmu || !g->n_rows || g->row[0]->end != PERF_ALIVE ||
		    root_exists(p->root, "/sys/bus/event_source/devices/%s", pmu->name))
			continue;
		for (uint32_t k = 0; k < g->n_rows && !err; k++) {
			g->row[k]->end = PERF_ENDED;
			err = plan_gone(p, g->row[k]->instance, clocks_monotonic());
		}
	}
	return err;
}

/* Says of which group, and why. */
static void say_lacking(const struct perf_group *g, const struct perf_row *row, uint32_t n, const struct plan *p,
			struct buf *text)
{
	const struct event *ev = g->member[0]->ev;

	buf_printf(text, "%s%s: %s counted", ev->name, g->n > 1 ? " and the others of its group" : "",
		   row->seen_running ? "hardly" : "not");
	if (n == 1 && g->n_rows > 1 && row->at.cpu >= 0)
		buf_printf(text, " on CPU %d", row->at.cpu);
	else if (n < g->n_rows)
		buf_printf(text, " in %u of %u places", n, g->n_rows);
	buf_addstr(text, ", because others hold counters or the PMU has too few");
	if (ev->core && perf_nmi_watchdog(p->root))
		buf_addstr(text, "; sysctl kernel.nmi_watchdog=0 frees one on each CPU");
}

/* Reports each group that has no counter, once. It is counted as a whole or not at all, and the kernel does not say
 * when the events of others keep it out. */
static int look_for_lacking(struct perf_source *s, struct plan *p)
{
	SCOPED(buf_release) struct buf text = BUF_INIT;
	uint32_t told = 0;
	int err = 0;

	for (uint32_t i = 0; i < s->n_groups && !err; i++) {
		struct perf_group *g = s->group[i];
		const struct perf_row *row = NULL;
		uint32_t n = 0;

		for (uint32_t k = 0; k < g->n_rows && !g->lacking; k++)
			if (perf_row_lacks_counter(g->row[k], LACKING_NS + (uint64_t)s->n_groups * TURN_NS)) {
				row = g->row[k];
				n++;
			}
		if (!n)
			continue;
		g->lacking = true;
		buf_clear(&text);
		say_lacking(g, row, n, p, &text);
		err = text.err ? text.err : plan_note(p, g->n, buf_str(&text));
		/* One line for all of them. */
		if (!told++)
			snprintf(p->told, sizeof(p->told), "%s", buf_str(&text));
	}
	if (told > 1)
		snprintf(p->told + strlen(p->told), sizeof(p->told) - strlen(p->told),
			 "; and %u more groups (pmrep info lists them)", told - 1);
	return err;
}

static int perf_look(struct source *source, struct plan *p)
{
	struct perf_source *s = source->data;
	int err = s ? perf_cgroups_look(s, p) : 0;

	if (s && !err)
		err = perf_tasks_look(s, p);

	if (s && !err)
		err = look_for_pmus(s, p);
	if (s && !err)
		err = look_for_lacking(s, p);
	for (uint32_t i = 0; s && i < s->n_groups; i++)
		for (uint32_t k = 0; k < s->group[i]->n_rows && s->group[i]->n_cgroups; k++) {
			struct perf_row *row = s->group[i]->row[k];

			if (s->cgroup[row->cgroup].gone && row->end == PERF_ALIVE)
				row->end = PERF_ENDING;
		}
	return err;
}

static int perf_restart(struct source *source, struct plan *p, struct error *e)
{
	struct perf_source *s = source->data;
	int err = 0;

	if (p->options->target != TARGET_COMMAND || !s->n_tasks)
		return 0;
	s->task[0].tid = s->task[0].pid = p->child;
	s->from_exec = s->to_exec = !p->options->perf.delay_ms;
	for (uint32_t i = 0; i < s->n_groups && !err; i++)
		for (uint32_t k = 0; k < s->group[i]->n_rows && !err; k++) {
			struct perf_row *row = s->group[i]->row[k];

			if (!s->group[i]->tasks)
				continue;
			perf_row_close(row, false);
			/* What the previous command had started ends with it. */
			if (row->instance != s->task[0].instance) {
				row->end = PERF_ENDED;
				continue;
			}
			row->at.pid = p->child;
			err = perf_row_open(row, perf_start_of(s, s->group[i]));
			/* Others may hold its counter in this run. */
			row->shut = err == -EBUSY;
			if (row->shut)
				err = 0;
			if (err)
				error_sys(e, -err, "%s in the next run", s->group[i]->member[0]->ev->name);
		}
	s->to_exec = false;
	perf_tool_restart(s->tool, p);
	if (!err)
		err = perf_threads_restart(s, p, e);
	atomic_store(&source->stale, p->options->perf.per_thread);
	return err;
}

static int perf_watch(const struct source *source)
{
	const struct perf_source *s = source->data;

	return !s ? -1 : s->follow.epoll >= 0 ? s->follow.epoll : s->ends;
}

static bool perf_notice(struct source *source, struct plan *p)
{
	struct perf_source *s = source->data;
	bool work = s && perf_threads_notice(s, p);

	if (work)
		atomic_store(&source->stale, true);
	return work || (s && perf_tasks_notice(s));
}

/* Reports of which PMUs nothing could be read, and why that may be. */
static int note_standing(struct perf_source *s, struct plan *p)
{
	int err = 0;

	for (uint32_t i = 0; i < s->n_groups && !err; i++) {
		struct perf_group *g = s->group[i];
		const struct event_pmu *pmu = perf_class_of_group(&s->pmus, g);
		bool first = pmu != NULL;

		for (uint32_t k = 0; k < i && first; k++)
			first = perf_class_of_group(&s->pmus, s->group[k]) != pmu;
		if (first && g->n_rows && g->row[0]->end == PERF_ALIVE)
			err = perf_class_stands(pmu, g, p);
	}
	return err;
}

static int perf_finish(struct source *source, struct plan *p)
{
	struct perf_source *s = source->data;
	int err = s ? note_standing(s, p) : 0;

	if (s && s->n_missed && !err)
		err = plan_note(p, s->n_missed, "tasks that ended before they could be followed");
	if (s && s->n_lost && !err)
		err = plan_note(p, s->n_lost,
				"times that tasks started and ended too fast to notice: only those still running are "
				"followed");
	return err;
}

static void perf_release(struct source *source)
{
	struct perf_source *s = source->data;

	for (uint32_t i = 0; i < s->n_groups; i++)
		perf_group_free(s->group[i]);
	free(s->group);
	free(s->event);
	perf_held_close(s);
	perf_tasks_release(s);
	perf_cgroups_release(s);
	perf_follow_end(&s->follow);
	perf_tool_release(s->tool);
	perf_bpf_release(s->bpf);
	event_set_release(&s->set);
	buf_release(&s->no_event);
	perf_pmus_release(&s->pmus);
}

static void perf_doctor(struct source *source, struct plan *p, struct buf *out)
{
	struct perf_source *s = source->data;
	uint32_t rows = 0, events = 0;
	char line[32];

	for (uint32_t i = 0; s && i < s->n_groups; i++) {
		rows += s->group[i]->n_rows;
		events += s->group[i]->n;
	}
	buf_printf(out, "%u event%s in %u group%s, %u read%s per snapshot; %zu PMU%s\n", events, plural(events),
		   s ? s->n_groups : 0, plural(s ? s->n_groups : 0), rows, plural(rows), s ? s->pmus.n : 0,
		   plural(s ? s->pmus.n : 0));
	/* Each driver has its own cure; the table has room for one. */
	for (uint32_t i = 0; i < p->model->n_probes; i++)
		if (p->model->probe[i].hint && !strncmp(p->model->probe[i].hint, "modprobe nvidia", 15))
			buf_printf(out, "%s: %s\n", p->model->probe[i].what, p->model->probe[i].hint);
	if (s)
		perf_classes_tell(&s->pmus, p, out);
	if (!root_line(p->root, line, sizeof(line), "/proc/sys/kernel/perf_event_paranoid"))
		buf_printf(out, "kernel.perf_event_paranoid is %s\n", line);
	if (!root_line(p->root, line, sizeof(line), FREEZE_SMI_PATH) && !strcmp(line, "1"))
		buf_addstr(out, "core counters are frozen in firmware interrupts; unless somebody is recording with "
				"--smi-cost, echo 0 >" FREEZE_SMI_PATH "\n");
	perf_bpf_doctor(p, out);
	if (perf_nmi_watchdog(p->root))
		buf_addstr(out, "the NMI watchdog may hold one counter on each CPU: sysctl kernel.nmi_watchdog=0\n");
}

const struct source_ops source_perf = {
	.name = "perf",
	.help = "events of the kernel's perf interface: those of -e, or perf's defaults",
	.plan = perf_plan,
	.update = perf_update,
	.enable = perf_enable,
	.restart = perf_restart,
	.look = perf_look,
	.watch = perf_watch,
	.notice = perf_notice,
	.enable_one = perf_enable_one,
	.finish = perf_finish,
	.release = perf_release,
	.doctor = perf_doctor,
};

const char *perf_no_event(const struct source *source)
{
	const struct perf_source *s = source->ops == &source_perf ? source->data : NULL;

	return s && s->no_event.len ? buf_str((struct buf *)(uintptr_t)&s->no_event) : NULL;
}
