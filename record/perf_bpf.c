#include "record/perf_bpf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "record/bpf_cgroups.h"
#include "record/bpf_follower.h"
#include "record/bpf_leader.h"
#include "record/bpf_profile.h"
#include "record/perf_source.h"

struct perf_bpf {
	uint32_t n_cpus;       /* that may be there at all */
	struct cpulist online; /* when it began */
	struct bpf_target *target;
	uint32_t n_targets;
	struct bpf_profile profile;
	bool tasks_begun;
	struct bpf_tasks tasks;
	uint32_t *place; /* instance of each place of counts of tasks */
	uint32_t n_places;
	struct bpf_cgroups cgroups;
};

/* A member of a group. */
struct bpf_member {
	uint32_t index; /* among the events of the profile or of the cgroups */
	bool on;
	struct bpf_leader leader;
	struct bpf_follower follower;
};

struct bpf_way;

struct bpf_group {
	const struct bpf_way *way;
	struct perf_bpf *all;
	struct bpf_member *member; /* owned; of each of the perf group */
	uint32_t n;
	uint32_t target; /* PERF_BY_PROGRAM */
	bool first;      /* its rows bring up to date what others of the same snapshot read, too */
	char text[96];
};

/* How one way differs from the others. NULL: nothing to do there. */
struct bpf_way {
	bool opens;
	int (*begin)(struct perf_source *s, struct plan *p, struct perf_group *g, struct error *e);
	int (*open)(struct perf_row *row);
	void (*close)(struct perf_row *row);
	struct bpf_sum (*sum)(const struct perf_row *row, uint32_t k);
	void (*enable)(struct perf_row *row, uint32_t k, bool on);
	void (*refresh)(const struct perf_row *row);
	void (*online)(struct perf_row *row);
};

static struct bpf_group *of(const struct perf_row *row)
{
	return row->group->bpf;
}

static uint32_t cpu_of(const struct perf_row *row)
{
	return row->at.cpu < 0 ? PM_NONE : (uint32_t)row->at.cpu;
}

/* ---- around the runs of a program ---- */

static int profile_open(struct perf_row *row)
{
	struct bpf_group *b = of(row);
	int err = 0;

	for (uint32_t k = 0; k < row->n && !b->target && !err; k++)
		if (row->fd[k] >= 0)
			err = bpf_profile_put(&b->all->profile, b->member[k].index, cpu_of(row), row->fd[k]);
	return err;
}

/* The map would keep them open. */
static void profile_close(struct perf_row *row)
{
	struct bpf_group *b = of(row);

	for (uint32_t k = 0; k < row->n && !b->target; k++)
		if (row->fd[k] >= 0)
			bpf_profile_put(&b->all->profile, b->member[k].index, cpu_of(row), -1);
}

static struct bpf_sum profile_sum(const struct perf_row *row, uint32_t k)
{
	const struct bpf_group *b = of(row);

	return bpf_profile_sum(&b->all->profile, b->target, b->member[k].index, cpu_of(row));
}

/* ---- through a leader ---- */

static int leader_begin(struct perf_source *s, struct plan *p, struct perf_group *g, struct error *e)
{
	struct perf_bpf *all = s->bpf;
	const char *path = p->options->bpf_attr_map;
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
			err = plan_refused(p, PM_OK, NULL, "events are not shared with other recorders: %s",
					   why.text);
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
		shared = shared && leaders.map >= 0 && !ev->filter;
	}
	snprintf(b->text, sizeof(b->text), "%s", shared ? "shared" : "alone");
	bpf_leaders_close(&leaders);
	return err;
}

static uint32_t place_of(const struct perf_row *row)
{
	const struct perf_bpf *all = of(row)->all;
	uint32_t i = 0;

	while (row->group->tasks && i < all->n_places && all->place[i] != row->instance)
		i++;
	return i;
}

static struct bpf_sum leader_sum(const struct perf_row *row, uint32_t k)
{
	return bpf_follower_sum(&of(row)->member[k].follower, place_of(row), cpu_of(row));
}

static int leader_open(struct perf_row *row)
{
	const struct bpf_group *b = of(row);

	if (!row->group->tasks)
		return 0;
	for (uint32_t k = 0; k < row->n; k++)
		bpf_sum_clear(&row->sum[k]);
	return bpf_tasks_put(&b->all->tasks, (uint32_t)row->at.pid, place_of(row));
}

static void leader_close(struct perf_row *row)
{
	if (row->group->tasks)
		bpf_tasks_drop(&of(row)->all->tasks, (uint32_t)row->at.pid);
}

static void read_everywhere(const struct bpf_group *b, uint32_t k)
{
	for (size_t i = 0; i < b->all->online.n; i++)
		bpf_follower_read(&b->member[k].follower, &b->member[k].leader, b->all->online.cpu[i]);
}

static void leader_enable(struct perf_row *row, uint32_t k, bool on)
{
	struct bpf_group *b = of(row);

	read_everywhere(b, k);
	bpf_follower_enable(&b->member[k].follower, on);
}

/* What runs at this moment has been counted up to its last switch only. Tasks may run anywhere. */
static void leader_refresh(const struct perf_row *row)
{
	const struct bpf_group *b = of(row);

	for (uint32_t k = 0; k < row->n; k++) {
		if (!row->group->tasks)
			bpf_follower_read(&b->member[k].follower, &b->member[k].leader, cpu_of(row));
		else if (row == row->group->row[0])
			read_everywhere(b, k);
	}
}

static void leader_online(struct perf_row *row)
{
	const struct bpf_group *b = of(row);

	for (uint32_t k = 0; k < row->n; k++) {
		const struct perf_event *ev = row->group->member[k];

		(void)bpf_leader_add_cpu(&b->member[k].leader, &ev->attr, ev->filter, cpu_of(row));
	}
}

/* ---- for cgroups ---- */

static int cgroup_put(const struct perf_group *g, uint32_t k, uint32_t cpu)
{
	const struct bpf_group *b = g->bpf;
	union perf_attr attr = g->member[k]->attr;
	int fd, err;

	attr.a.disabled = 0;
	attr.a.inherit = 0;
	attr.a.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	fd = perf_open(&attr, perf_on_cpu((int)cpu), -1);
	err = fd < 0 ? fd : bpf_cgroups_put(&b->all->cgroups, b->member[k].index, cpu, fd);
	if (fd >= 0)
		close(fd);
	return err;
}

/* The programs are there already: they count all groups. */
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
	const struct bpf_group *b = of(row);

	return bpf_cgroups_sum(&b->all->cgroups, b->member[k].index, row->cgroup, cpu_of(row));
}

static void cgroup_enable(struct perf_row *row, uint32_t k, bool on)
{
	struct bpf_group *b = of(row);

	if (k)
		return;
	for (size_t i = 0; i < b->all->online.n; i++)
		bpf_cgroups_read(&b->all->cgroups, b->all->online.cpu[i]);
	bpf_cgroups_enable(&b->all->cgroups, on);
}

static void cgroup_refresh(const struct perf_row *row)
{
	const struct bpf_group *b = of(row);

	if (b->first && row->cgroup == row->group->first_cgroup)
		bpf_cgroups_read(&b->all->cgroups, cpu_of(row));
}

static void cgroup_online(struct perf_row *row)
{
	for (uint32_t k = 0; k < row->n; k++)
		(void)cgroup_put(row->group, k, cpu_of(row));
}

/* ---- the table ---- */

static const struct bpf_way ways[] = {
	[PERF_BY_PROGRAM] = { .opens = true, .open = profile_open, .close = profile_close, .sum = profile_sum },
	[PERF_BY_LEADER] = { .begin = leader_begin, .open = leader_open, .close = leader_close, .sum = leader_sum,
			     .enable = leader_enable, .refresh = leader_refresh, .online = leader_online },
	[PERF_BY_CGROUP] = { .begin = cgroup_begin, .sum = cgroup_sum, .enable = cgroup_enable,
			     .refresh = cgroup_refresh, .online = cgroup_online },
};

enum perf_way perf_way_of(const struct record_options *o, const struct event *ev)
{
	if (ev->type == EVENT_TYPE_TOOL)
		return PERF_BY_READ;
	if (o->bpf_programs)
		return PERF_BY_PROGRAM;
	/* What happens outside of cores happens in no task. */
	if (ev->uncore || (!o->bpf_counters && !(ev->mods & EVENT_MOD_BPF)))
		return PERF_BY_READ;
	return o->each_cgroup ? PERF_BY_CGROUP : PERF_BY_LEADER;
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

int bpf_row_open(struct perf_row *row)
{
	struct bpf_group *b = of(row);

	if (!row->sum)
		row->sum = calloc(row->n, sizeof(*row->sum));
	if (!row->sum)
		return -ENOMEM;
	for (uint32_t k = 0; k < row->n; k++)
		row->sum[k] = b->way->sum(row, k);
	return b->way->open ? b->way->open(row) : 0;
}

void bpf_row_close(struct perf_row *row)
{
	if (row->sum && of(row)->way->close)
		of(row)->way->close(row);
}

int bpf_row_enable(struct perf_row *row, bool on)
{
	struct bpf_group *b = of(row);

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

ssize_t bpf_row_read(const struct perf_row *row)
{
	const struct bpf_way *way = of(row)->way;
	uint32_t words = row->first + row->n_open;

	if (way->refresh)
		way->refresh(row);
	for (uint32_t k = 0; k < row->n_open; k++) {
		struct bpf_cell count = bpf_sum_read(&row->sum[row->place[k]]);

		row->got[row->first + k] = count.value;
		if (k)
			continue;
		row->got[PERF_READ_ENABLED] = count.enabled;
		row->got[PERF_READ_RUNNING] = count.running;
	}
	return (ssize_t)((words < PERF_READ_HEAD ? PERF_READ_HEAD : words) * sizeof(*row->got));
}

void bpf_row_online(struct perf_row *row)
{
	if (of(row)->way->online)
		of(row)->way->online(row);
}

/* ---- groups ---- */

static struct bpf_group *group_new(struct perf_bpf *all, const struct perf_group *g)
{
	struct bpf_group *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	*b = (struct bpf_group){ .way = &ways[g->way], .all = all, .n = g->n,
				 .member = calloc(g->n, sizeof(*b->member)) };
	for (uint32_t k = 0; b->member && k < g->n; k++)
		b->member[k] = (struct bpf_member){ .leader = BPF_LEADER_NONE, .follower = BPF_FOLLOWER_NONE };
	if (b->member)
		return b;
	free(b);
	return NULL;
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
	struct perf_bpf *b = calloc(1, sizeof(*b));
	struct cpulist possible = { 0 };
	int err;

	if (!b)
		return NULL;
	*b = (struct perf_bpf){ .profile = { .events = -1, .cells = BPF_CELLS_NONE }, .tasks = BPF_TASKS_NONE,
				.cgroups = BPF_CGROUPS_NONE, .n_places = s->n_tasks,
				.place = calloc(s->n_tasks + 1, sizeof(*b->place)) };
	err = root_cpulist(p->root, &b->online, "/sys/devices/system/cpu/online");
	if (!err)
		err = root_cpulist(p->root, &possible, "/sys/devices/system/cpu/possible");
	b->n_cpus = err || !possible.n ? 0 : possible.cpu[possible.n - 1] + 1;
	cpulist_release(&possible);
	for (uint32_t i = 0; b->place && i < s->n_tasks; i++)
		b->place[i] = s->task[i].instance;
	if (b->n_cpus && b->place)
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
		struct bpf_target *bigger = realloc(b->target, (b->n_targets + 1) * sizeof(*bigger));
		int err;

		if (!bigger)
			return error_sys(e, ENOMEM, "-b");
		b->target = bigger;
		err = bpf_target_find(&bigger[b->n_targets], (uint32_t)strtoul(at, NULL, 10), e);
		b->n_targets++;
		if (err)
			return err;
		at += strcspn(at, ",");
		at += *at == ',';
	}
	return 0;
}

/* Groups for the programs behind the first: the same events, counted elsewhere. */
static int add_twin(struct perf_source *s, const struct perf_group *g, uint32_t target)
{
	struct perf_group **bigger = realloc(s->group, (s->n_groups + 1) * sizeof(*bigger)), *twin;
	int err;

	if (!bigger)
		return -ENOMEM;
	s->group = bigger;
	twin = perf_group_new();
	if (!twin)
		return -ENOMEM;
	s->group[s->n_groups++] = twin;
	twin->number = s->n_groups;
	twin->way = g->way;
	twin->copy = calloc(g->n, sizeof(*twin->copy));
	err = twin->copy ? cpulist_copy(&twin->cpus, &g->cpus) : -ENOMEM;
	for (uint32_t k = 0; k < g->n && !err; k++) {
		twin->copy[k] = *g->member[k];
		err = perf_group_add(twin, &twin->copy[k]);
	}
	if (!err)
		twin->bpf = group_new(g->bpf->all, twin);
	if (err || !twin->bpf)
		return err ? err : -ENOMEM;
	for (uint32_t k = 0; k < g->n; k++)
		twin->bpf->member[k].index = g->bpf->member[k].index;
	twin->bpf->target = target;
	return 0;
}

static void name_programs(struct perf_source *s)
{
	for (uint32_t i = 0; i < s->n_groups; i++) {
		struct bpf_group *b = s->group[i]->bpf;
		const struct bpf_target *t = &s->bpf->target[b ? b->target : 0];

		if (b && s->group[i]->way == PERF_BY_PROGRAM)
			snprintf(b->text, sizeof(b->text), "program %u %s", t->id, t->name);
	}
}

static int begin_profile(struct perf_source *s, struct plan *p, uint32_t n_events, struct error *e)
{
	struct perf_bpf *b = s->bpf;
	uint32_t n_groups = s->n_groups;
	int err = find_targets(b, p->options->bpf_programs, e);

	if (!err)
		err = bpf_profile_init(&b->profile, b->target, b->n_targets, n_events, b->n_cpus, e);
	if (err)
		return err;
	for (uint32_t t = 1; t < b->n_targets; t++)
		for (uint32_t i = 0; i < n_groups && !err; i++)
			if (s->group[i]->way == PERF_BY_PROGRAM)
				err = add_twin(s, s->group[i], t);
	name_programs(s);
	return err ? error_sys(e, -err, "-b") : 0;
}

static int begin_cgroups(struct perf_source *s, struct plan *p, uint32_t n_events, struct error *e)
{
	int *directory = calloc(s->n_cgroups, sizeof(*directory)), err;

	if (!directory)
		return error_sys(e, ENOMEM, "cgroups");
	for (uint32_t i = 0; i < s->n_cgroups; i++)
		directory[i] = s->cgroup[i].fd;
	err = bpf_cgroups_init(&s->bpf->cgroups, p->root, directory, s->n_cgroups, n_events, s->bpf->n_cpus, e);
	free(directory);
	return err;
}

/* Before Linux 5.11, maps count as locked memory. */
static void raise_memlock(void)
{
	struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };

	(void)setrlimit(RLIMIT_MEMLOCK, &all);
}

int perf_bpf_begin(struct perf_source *s, struct plan *p, struct error *e)
{
	uint32_t events[PERF_BY_CGROUP + 1] = { 0 };
	int err = 0;

	for (uint32_t i = 0; i < s->n_groups; i++)
		events[s->group[i]->way] += s->group[i]->n;
	if (!events[PERF_BY_PROGRAM] && !events[PERF_BY_LEADER] && !events[PERF_BY_CGROUP])
		return 0;
	raise_memlock();
	s->bpf = bpf_new(s, p);
	if (!s->bpf)
		return error_sys(e, ENOMEM, "counting by BPF");
	memset(events, 0, sizeof(events));
	for (uint32_t i = 0; i < s->n_groups; i++) {
		struct perf_group *g = s->group[i];

		if (g->way == PERF_BY_READ)
			continue;
		g->bpf = group_new(s->bpf, g);
		if (!g->bpf)
			return error_sys(e, ENOMEM, "counting by BPF");
		g->bpf->first = !events[g->way];
		for (uint32_t k = 0; k < g->n; k++)
			g->bpf->member[k].index = events[g->way]++;
	}
	if (events[PERF_BY_PROGRAM])
		err = begin_profile(s, p, events[PERF_BY_PROGRAM], e);
	if (events[PERF_BY_CGROUP] && !err)
		err = begin_cgroups(s, p, events[PERF_BY_CGROUP], e);
	for (uint32_t i = 0; i < s->n_groups && !err; i++)
		if (s->group[i]->bpf && s->group[i]->bpf->way->begin)
			err = s->group[i]->bpf->way->begin(s, p, s->group[i], e);
	return err;
}
