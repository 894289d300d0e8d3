#include "record/perf/perf_bpf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/memory.h"
#include "record/bpf/bpf_load.h"
#include "record/host/privileges.h"
#include "record/perf/perf_source.h"

/* The three ways in which BPF programs count perf events. */

static struct bpf_group *row_bpf(const struct perf_row *row)
{
	return row->group->bpf;
}

static uint32_t row_cpu(const struct perf_row *row)
{
	return row->at.cpu < 0 ? PM_NONE : (uint32_t)row->at.cpu;
}

/* ---- around the runs of a program ---- */

static int profile_open(struct perf_row *row)
{
	struct bpf_group *b = row_bpf(row);
	int err = 0;

	for (uint32_t k = 0; k < row->n && !b->target && !err; k++)
		if (row->fd[k] >= 0)
			err = bpf_profile_put(&b->all->profile, b->member[k].index, row_cpu(row), row->fd[k]);
	return err;
}

/* The map would keep them open. */
static void profile_close(struct perf_row *row)
{
	struct bpf_group *b = row_bpf(row);

	for (uint32_t k = 0; k < row->n && !b->target; k++)
		if (row->fd[k] >= 0)
			bpf_profile_put(&b->all->profile, b->member[k].index, row_cpu(row), -1);
}

static struct bpf_sum profile_sum(const struct perf_row *row, uint32_t k)
{
	const struct bpf_group *b = row_bpf(row);

	return bpf_profile_sum(&b->all->profile, b->target, b->member[k].index, row_cpu(row));
}

/* ---- through a leader ---- */

static int leader_begin(struct perf_source *s, struct plan *p, struct perf_group *g, struct error *e)
{
	struct perf_bpf *all = s->bpf;
	const char *path = p->options->perf.bpf_attr_map;
	struct bpf_leaders leaders;
	struct error why = { 0 };
	struct bpf_group *b = g->bpf;
	bool shared = true;
	int err = 0;

	if (g->tasks && !all->tasks_begun) {
		all->tasks_begun = true;
		err = bpf_tasks_init(&all->tasks, p->root, g->inherit, e);
	}
	if (err)
		return err;
	if (bpf_leaders_open(&leaders, path ? path : BPF_ATTR_MAP, &why)) {
		if (path)
			return error_set(e, why.number, "--bpf-attr-map: %s", why.text);
		if (b->first)
			err = plan_refused(p, PM_OK, pm_remark(0), pm_remark(PM_REMARK_NOT_SHARED, why.text));
	}
	for (uint32_t k = 0; k < b->n && !err; k++) {
		struct bpf_member *m = &b->member[k];
		const struct perf_event *ev = g->member[k];

		err = bpf_leader_begin(&m->leader, &leaders, &ev->attr, ev->filter, &all->online, all->n_cpus, e);
		if (!err)
			err = bpf_follower_init(&m->follower, &m->leader, g->tasks ? &all->tasks : NULL,
						g->tasks ? all->n_places : 1, all->n_cpus, e);
		if (err)
			error_prefix(e, "%s", ev->ev->name);
		shared = shared && m->leader.shared;
	}
	snprintf(b->text, sizeof(b->text), "%s", shared ? "shared" : "alone");
	bpf_leaders_close(&leaders);
	return err;
}

static uint32_t row_place(const struct perf_row *row)
{
	const struct perf_bpf *all = row_bpf(row)->all;
	uint32_t i = 0;

	while (row->group->tasks && i < all->n_places && all->place[i] != row->instance)
		i++;
	return i;
}

static struct bpf_sum leader_sum(const struct perf_row *row, uint32_t k)
{
	return bpf_follower_sum(&row_bpf(row)->member[k].follower, row_place(row), row_cpu(row));
}

static int leader_open(struct perf_row *row)
{
	const struct bpf_group *b = row_bpf(row);

	if (!row->group->tasks)
		return 0;
	for (uint32_t k = 0; k < row->n; k++)
		bpf_sum_clear(&row->sum[k]);
	return bpf_tasks_put(&b->all->tasks, (uint32_t)row->at.pid, row_place(row));
}

static void leader_close(struct perf_row *row)
{
	if (row->group->tasks)
		bpf_tasks_drop(&row_bpf(row)->all->tasks, (uint32_t)row->at.pid);
}

static void read_everywhere(const struct bpf_group *b, uint32_t k)
{
	for (size_t i = 0; i < b->all->online.n; i++)
		bpf_follower_read(&b->member[k].follower, &b->member[k].leader, b->all->online.cpu[i]);
}

static void leader_enable(struct perf_row *row, uint32_t k, bool on)
{
	struct bpf_group *b = row_bpf(row);

	read_everywhere(b, k);
	bpf_follower_enable(&b->member[k].follower, on);
}

/* The running task has been counted up to its last switch only. Tasks may run anywhere. */
static void leader_refresh(const struct perf_row *row)
{
	const struct bpf_group *b = row_bpf(row);

	for (uint32_t k = 0; k < row->n; k++) {
		if (!row->group->tasks)
			bpf_follower_read(&b->member[k].follower, &b->member[k].leader, row_cpu(row));
		else if (row == row->group->row[0])
			read_everywhere(b, k);
	}
}

static void leader_online(struct perf_group *g, uint32_t cpu)
{
	cpulist_add(&g->bpf->all->online, cpu);
	for (uint32_t k = 0; k < g->n; k++)
		(void)bpf_leader_add_cpu(&g->bpf->member[k].leader, &g->member[k]->attr, g->member[k]->filter, cpu);
}

/* ---- for cgroups ---- */

static int cgroup_put(const struct perf_group *g, uint32_t k, uint32_t cpu)
{
	const struct bpf_group *b = g->bpf;
	union perf_attr attr = g->member[k]->attr;
	SCOPED(fd_close) int fd = -1;

	attr.a.disabled = 0;
	attr.a.inherit = 0;
	attr.a.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	fd = perf_open(&attr, perf_on_cpu((int)cpu), -1);
	return fd < 0 ? fd : bpf_cgroups_put(&b->all->cgroups, b->member[k].index, cpu, fd);
}

/* The programs exist already: they count all groups. */
static int cgroup_begin(struct perf_source *s, struct plan *p, struct perf_group *g, struct error *e)
{
	snprintf(g->bpf->text, sizeof(g->bpf->text), "cgroups");
	for (uint32_t k = 0; k < g->n; k++)
		for (size_t i = 0; i < g->cpus.n; i++) {
			int err = cgroup_put(g, k, g->cpus.cpu[i]);

			if (err && err != -ENODEV)
				return error_sys(e, -err, "%s on CPU %u", g->member[k]->ev->name, g->cpus.cpu[i]);
		}
	return 0;
}

static struct bpf_sum cgroup_sum(const struct perf_row *row, uint32_t k)
{
	const struct bpf_group *b = row_bpf(row);

	return bpf_cgroups_sum(&b->all->cgroups, b->member[k].index, row->cgroup, row_cpu(row));
}

/* All events are counted together: from the first that is to be, to the last. */
static void cgroup_enable(struct perf_row *row, uint32_t k, bool on)
{
	struct perf_bpf *all = row_bpf(row)->all;

	all->on += on ? 1 : -1u;
	if (all->on != on)
		return;
	for (size_t i = 0; i < all->online.n; i++)
		bpf_cgroups_read(&all->cgroups, all->online.cpu[i]);
	bpf_cgroups_enable(&all->cgroups, on);
}

static void cgroup_refresh(const struct perf_row *row)
{
	const struct bpf_group *b = row_bpf(row);

	if (b->first && row->cgroup == row->group->first_cgroup)
		bpf_cgroups_read(&b->all->cgroups, row_cpu(row));
}

static void cgroup_online(struct perf_group *g, uint32_t cpu)
{
	cpulist_add(&g->bpf->all->online, cpu);
	for (uint32_t k = 0; k < g->n; k++)
		(void)cgroup_put(g, k, cpu);
}

/* ---- the table ---- */

/* clang-format off */
const struct bpf_way bpf_ways[] = {
	[PERF_BY_PROGRAM] = { .opens = true, .open = profile_open, .close = profile_close, .sum = profile_sum },
	[PERF_BY_LEADER] = { .begin = leader_begin, .open = leader_open, .close = leader_close, .sum = leader_sum,
			     .enable = leader_enable, .refresh = leader_refresh, .online = leader_online },
	[PERF_BY_CGROUP] = { .begin = cgroup_begin, .sum = cgroup_sum, .enable = cgroup_enable,
			     .refresh = cgroup_refresh, .online = cgroup_online },
};
/* clang-format on */

enum perf_way perf_way_of(const struct record_options *o, const struct event *ev)
{
	if (ev->type == EVENT_TYPE_TOOL)
		return PERF_BY_READ;
	if (o->perf.bpf_programs)
		return PERF_BY_PROGRAM;
	/* Events outside of cores belong to no task. */
	if (ev->uncore || (!o->perf.bpf_counters && !(ev->mods & EVENT_MOD_BPF)))
		return PERF_BY_READ;
	return o->perf.each_cgroup ? PERF_BY_CGROUP : PERF_BY_LEADER;
}

unsigned perf_way_refuses(const struct record_options *o, const struct event *ev, int *err)
{
	if (!o->perf.bpf_programs || !ev->uncore)
		return 0;
	*err = EOPNOTSUPP;
	return PM_REMEDY_NO_BPF;
}

/* ---- rows ---- */

bool bpf_group_opens(const struct bpf_group *b)
{
	return b->way->opens && !b->target;
}

const char *bpf_group_text(const struct bpf_group *b)
{
	return b->text;
}

const char *bpf_group_name(const struct bpf_group *b)
{
	return b->name;
}

int bpf_row_open(struct perf_row *row)
{
	struct bpf_group *b = row_bpf(row);

	if (!row->sum)
		row->sum = memory_new(row->n, sizeof(*row->sum));
	for (uint32_t k = 0; k < row->n; k++)
		row->sum[k] = b->way->sum(row, k);
	return b->way->open ? b->way->open(row) : 0;
}

void bpf_row_close(struct perf_row *row)
{
	if (row->sum && row_bpf(row)->way->close)
		row_bpf(row)->way->close(row);
}

int bpf_row_enable(struct perf_row *row, bool on)
{
	struct bpf_group *b = row_bpf(row);

	row->any_off = false;
	for (uint32_t k = 0; k < row->n; k++) {
		bool off = row->group->member[k]->off;

		row->missing[k] = off ? PM_REASON_NOT_COUNTED : PM_OK;
		row->any_off = row->any_off || off;
		/* It concerns all rows alike. */
		if (b->way->enable && b->member[k].on != (on && !off)) {
			b->member[k].on = on && !off;
			b->way->enable(row, k, on && !off);
		}
	}
	return 0;
}

void bpf_row_refresh(const struct perf_row *row)
{
	if (row_bpf(row)->way->refresh)
		row_bpf(row)->way->refresh(row);
}

ssize_t bpf_row_read(const struct perf_row *row)
{
	uint32_t words = row->first + row->n_open;
	bool timed = false;

	bpf_row_refresh(row);
	for (uint32_t k = 0; k < row->n_open; k++) {
		struct bpf_cell count = bpf_sum_read(&row->sum[row->place[k]]);

		row->got[row->first + k] = count.value;
		/* If --control stopped an event alone, its times stand still. */
		if (timed || (row->missing[row->place[k]] && k + 1 < row->n_open))
			continue;
		timed = true;
		row->got[PERF_READ_ENABLED] = count.enabled;
		row->got[PERF_READ_RUNNING] = count.running;
	}
	return (ssize_t)((words < PERF_READ_HEAD ? PERF_READ_HEAD : words) * sizeof(*row->got));
}

void bpf_group_online(struct perf_group *g, uint32_t cpu)
{
	if (g->bpf->way->online)
		g->bpf->way->online(g, cpu);
}

/* ---- groups ---- */

static struct bpf_group *group_new(struct perf_bpf *all, const struct perf_group *g)
{
	struct bpf_group *b = memory_new(1, sizeof(*b));

	*b = (struct bpf_group){
		.way = &bpf_ways[g->way], .all = all, .n = g->n, .member = memory_new(g->n, sizeof(*b->member))
	};
	for (uint32_t k = 0; k < g->n; k++)
		b->member[k] = (struct bpf_member){ .leader = BPF_LEADER_NONE, .follower = BPF_FOLLOWER_NONE };
	return b;
}

void bpf_group_free(struct bpf_group *b)
{
	if (!b)
		return;
	for (uint32_t k = 0; k < b->n; k++) {
		bpf_follower_release(&b->member[k].follower);
		bpf_leader_release(&b->member[k].leader);
	}
	free(b->member);
	free(b);
}

/* ---- all together ---- */

static struct perf_bpf *bpf_new(const struct perf_source *s, const struct plan *p)
{
	struct perf_bpf *b = memory_new(1, sizeof(*b));
	SCOPED(cpulist_release) struct cpulist possible = { 0 };
	int err;

	*b = (struct perf_bpf){ .profile = { .events = -1, .cells = BPF_CELLS_NONE },
				.tasks = BPF_TASKS_NONE,
				.cgroups = BPF_CGROUPS_NONE,
				.n_places = s->n_tasks,
				.place = memory_new(s->n_tasks, sizeof(*b->place)) };
	err = root_cpulist(p->root, &b->online, "/sys/devices/system/cpu/online");
	if (!err)
		err = root_cpulist(p->root, &possible, "/sys/devices/system/cpu/possible");
	b->n_cpus = err || !possible.n ? 0 : possible.cpu[possible.n - 1] + 1;
	for (uint32_t i = 0; i < s->n_tasks; i++)
		b->place[i] = s->task[i].instance;
	if (b->n_cpus)
		return b;
	perf_bpf_release(b);
	return NULL;
}

void perf_bpf_release(struct perf_bpf *b)
{
	if (!b)
		return;
	bpf_profile_release(&b->profile);
	for (uint32_t i = 0; i < b->n_targets; i++)
		bpf_target_release(&b->target[i]);
	free(b->target);
	bpf_tasks_release(&b->tasks);
	bpf_cgroups_release(&b->cgroups);
	free(b->place);
	cpulist_release(&b->online);
	free(b);
}

static int find_targets(struct perf_bpf *b, const char *list, struct error *e)
{
	for (const char *at = list; *at;) {
		int err;

		memory_room(&b->target, b->n_targets, sizeof(*b->target));
		err = bpf_target_find(&b->target[b->n_targets], (uint32_t)strtoul(at, NULL, 10), e);
		b->n_targets++;
		if (err)
			return err;
		at += strcspn(at, ",");
		at += *at == ',';
	}
	return 0;
}

/* Groups for the programs after the first: the same events, counted in another program. */
static void add_twin(struct perf_source *s, const struct perf_group *g, uint32_t target)
{
	struct perf_group *twin = perf_group_like(&s->group, &s->n_groups, g);

	twin->copy = memory_new(g->n, sizeof(*twin->copy));
	for (uint32_t k = 0; k < g->n; k++) {
		twin->copy[k] = *g->member[k];
		perf_group_add(twin, &twin->copy[k]);
	}
	twin->bpf = group_new(g->bpf->all, twin);
	for (uint32_t k = 0; k < g->n; k++)
		twin->bpf->member[k].index = g->bpf->member[k].index;
	twin->bpf->target = target;
}

static void name_programs(struct perf_source *s)
{
	for (uint32_t i = 0; i < s->n_groups; i++) {
		struct bpf_group *b = s->group[i]->bpf;
		const struct bpf_target *t = &s->bpf->target[b ? b->target : 0];

		if (!b || s->group[i]->way != PERF_BY_PROGRAM)
			continue;
		snprintf(b->text, sizeof(b->text), "program %u", t->id);
		b->name = *t->name ? t->name : NULL;
	}
}

static int begin_profile(struct perf_source *s, struct plan *p, uint32_t n_events, struct error *e)
{
	struct perf_bpf *b = s->bpf;
	uint32_t n_groups = s->n_groups;
	int err = find_targets(b, p->options->perf.bpf_programs, e);

	/* The counts in several programs are added up like those of several PMUs. */
	for (uint32_t i = 0; i < n_groups && b->n_targets > 1; i++)
		for (uint32_t k = 0; k < s->group[i]->n; k++)
			if (s->group[i]->way == PERF_BY_PROGRAM && !s->group[i]->member[k]->ev->wildcard)
				s->group[i]->member[k]->ev->wildcard = ++s->set.wildcards;
	if (!err && n_events)
		err = bpf_profile_init(&b->profile, b->target, b->n_targets, n_events, b->n_cpus, e);
	if (err)
		return err;
	for (uint32_t t = 1; t < b->n_targets; t++)
		for (uint32_t i = 0; i < n_groups; i++)
			if (s->group[i]->way == PERF_BY_PROGRAM)
				add_twin(s, s->group[i], t);
	name_programs(s);
	return 0;
}

static int begin_cgroups(struct perf_source *s, struct plan *p, uint32_t n_events, struct error *e)
{
	SCOPED(scoped_free) int *directory = memory_new(s->n_cgroups, sizeof(*directory));

	for (uint32_t i = 0; i < s->n_cgroups; i++)
		directory[i] = s->cgroup[i].fd;
	return bpf_cgroups_init(&s->bpf->cgroups, p->root, directory, s->n_cgroups, n_events, s->bpf->n_cpus, e);
}

int perf_bpf_check(const struct perf_source *s, struct plan *p, struct error *e)
{
	bool any = p->options->perf.bpf_programs != NULL, groups = false;
	int err;

	for (size_t i = 0; i < s->set.n; i++) {
		const struct event *ev = &s->set.event[i];
		enum perf_way way = perf_way_of(p->options, ev);

		any = any || way != PERF_BY_READ;
		groups = groups || ((way == PERF_BY_LEADER || way == PERF_BY_CGROUP) && ev->group &&
				    !(ev->mods & EVENT_MOD_WEAK));
	}
	err = any ? bpf_check(e) : 0;
	if (err || !groups)
		return err;
	return plan_refused(p, PM_OK, pm_remark(0), pm_remark(PM_REMARK_BPF_ONE_BY_ONE));
}

/* Checks what options alone do not show: single events with the modifier. */
static int check_target(const struct record_options *o, const struct perf_group *g, struct error *e)
{
	const char *name = g->member[0]->ev->name;

	if (g->way != PERF_BY_LEADER)
		return 0;
	if (g->n_cgroups)
		return error_set(e, EINVAL, "%s: BPF counts cgroups with --for-each-cgroup, not with -G", name);
	if (o->perf.per_thread)
		return error_set(e, EINVAL, "%s: BPF cannot follow new threads one by one, as --per-thread does",
				 name);
	return 0;
}

int perf_bpf_begin(struct perf_source *s, struct plan *p, struct error *e)
{
	uint32_t events[PERF_BY_CGROUP + 1] = { 0 };
	int err = 0;

	for (uint32_t i = 0; i < s->n_groups; i++)
		events[s->group[i]->way] += s->group[i]->n;
	if (!events[PERF_BY_LEADER] && !events[PERF_BY_CGROUP] && !p->options->perf.bpf_programs)
		return 0;
	for (uint32_t i = 0; i < s->n_groups && !err; i++)
		err = check_target(p->options, s->group[i], e);
	if (err)
		return err;
	s->bpf = bpf_new(s, p);
	if (!s->bpf)
		return error_sys(e, ENOMEM, "counting with BPF");
	memset(events, 0, sizeof(events));
	for (uint32_t i = 0; i < s->n_groups; i++) {
		struct perf_group *g = s->group[i];

		if (g->way == PERF_BY_READ)
			continue;
		g->bpf = group_new(s->bpf, g);
		g->bpf->first = !events[g->way];
		for (uint32_t k = 0; k < g->n; k++)
			g->bpf->member[k].index = events[g->way]++;
	}
	if (p->options->perf.bpf_programs)
		err = begin_profile(s, p, events[PERF_BY_PROGRAM], e);
	if (events[PERF_BY_CGROUP] && !err)
		err = begin_cgroups(s, p, events[PERF_BY_CGROUP], e);
	for (uint32_t i = 0; i < s->n_groups && !err; i++)
		if (s->group[i]->bpf && s->group[i]->bpf->way->begin)
			err = s->group[i]->bpf->way->begin(s, p, s->group[i], e);
	return err;
}

void perf_bpf_doctor(const struct plan *p, struct buf *out)
{
	struct error why = { 0 };

	if (p->root->emulated)
		return;
	if (bpf_check(&why)) {
		buf_printf(out, "no --bpf-counters, no -b: %s\n", why.text);
		return;
	}
	buf_printf(out, "--bpf-counters works here%s\n",
		   root_exists(p->root, "/sys/kernel/btf/vmlinux") ?
			   "" :
			   " for CPUs, not for tasks and cgroups: they need a kernel with CONFIG_DEBUG_INFO_BTF=y");
	if (bpf_check_attach(&why))
		buf_printf(out, "no -b: %s\n", why.text);
	else if (!privileges_has("cap_sys_admin"))
		buf_addstr(out, "no -b: finding BPF programs needs CAP_SYS_ADMIN\n");
	else
		buf_addstr(out, "-b works here\n");
}
