/* The three ways in which BPF programs count perf events. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "record/perf/perf_bpf_private.h"

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
		shared = shared && m->leader.shared;
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

/* The running task has been counted up to its last switch only. Tasks may run anywhere. */
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
	const struct bpf_group *b = of(row);

	return bpf_cgroups_sum(&b->all->cgroups, b->member[k].index, row->cgroup, cpu_of(row));
}

/* All events are counted together: from the first that is to be, to the last. */
static void cgroup_enable(struct perf_row *row, uint32_t k, bool on)
{
	struct perf_bpf *all = of(row)->all;

	all->on += on ? 1 : -1u;
	if (all->on != on)
		return;
	for (size_t i = 0; i < all->online.n; i++)
		bpf_cgroups_read(&all->cgroups, all->online.cpu[i]);
	bpf_cgroups_enable(&all->cgroups, on);
}

static void cgroup_refresh(const struct perf_row *row)
{
	const struct bpf_group *b = of(row);

	if (b->first && row->cgroup == row->group->first_cgroup)
		bpf_cgroups_read(&b->all->cgroups, cpu_of(row));
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
