/* Which cgroups used most CPU and memory, read and wrote most, and what they waited for. A cgroup enters the table
 * once it matters, and leaves it when it is gone, or when others need the place. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "record/host/clocks.h"
#include "record/sources/cgroup_list.h"
#include "record/sources/ranking.h"

#define ROWS       64
#define TOP        16 /* of each kind enter the table */
#define IDLE_LEAST 10 /* readings for which a cgroup stays after it was among these */
/* Less than this per reading does not matter: 16 MiB, 64 KiB; in the catalog's units. */
#define LEAST_MEMORY 4096
#define LEAST_IO     128

static const char *const key[CGROUP_VALUES] = { "user",        "system",      "throttled", "memory", "anon",
						"faults",      "oom_kills",   "read",      "write",  "cpu_some",
						"memory_some", "memory_full", "io_some",   "io_full" };
_Static_assert(ROWS <= (int)RANKING_ROWS && (int)CGROUP_VALUES <= (int)RANKING_VALUES, "all fit in");

enum { CELL_READING, CELL_MISSED, CELLS };
static const char *const cell_key[CELLS] = { "reading", "missed" };

struct row {
	struct ranking_row row; /* first */
	char path[CGROUP_PATH];
	uint32_t number;
	uint64_t since_ns;
};

struct cgroups {
	struct ranking ranking; /* first */
	struct cgroup_list list;
	uint32_t last_id, last_number;
	uint64_t before_ns; /* of the reading before */
};

/* ---- who is in the table ---- */

static uint64_t by_cpu(const struct cgroup *c)
{
	return cgroup_cpu(c) < CGROUP_LEAST ? 0 : cgroup_cpu(c);
}

/* Since the machine was started. */
static uint64_t by_all(const struct cgroup *c)
{
	return c->use.v[CGROUP_USER] + c->use.v[CGROUP_SYSTEM];
}

static uint64_t by_memory(const struct cgroup *c)
{
	uint64_t v = c->use.status[CGROUP_MEMORY] ? 0 : c->use.v[CGROUP_MEMORY];

	return v < LEAST_MEMORY ? 0 : v;
}

static uint64_t by_io(const struct cgroup *c)
{
	uint64_t v = c->use.v[CGROUP_READ] - c->before.v[CGROUP_READ] + c->use.v[CGROUP_WRITTEN] -
		     c->before.v[CGROUP_WRITTEN];

	return v < LEAST_IO ? 0 : v;
}

/* Makes room for one more, if necessary in place of the least wanted; returns whether there is room. */
static bool make_room(struct cgroups *d)
{
	struct cgroup *least = NULL;
	uint32_t members = 0;

	for (uint32_t i = 0; i < d->list.n; i++) {
		struct cgroup *c = &d->list.cgroup[i];

		if (!c->path[0] || !c->member)
			continue;
		members++;
		if (!least || c->wanted < least->wanted)
			least = c;
	}
	if (members < ROWS)
		return true;
	if (least->wanted + IDLE_LEAST > d->list.reading)
		return false;
	least->member = 0;
	return true;
}

static void want(struct cgroups *d, struct cgroup *c)
{
	if (!c->member) {
		if (!make_room(d))
			return;
		c->member = ++d->last_id;
		c->number = c->number ? c->number : ++d->last_number;
		c->since_ns = d->before_ns;
		if (c->full != d->list.reading)
			cgroup_list_rest(&d->list, c);
		c->base = c->before;
	}
	c->wanted = d->list.reading;
}

static void want_most(struct cgroups *d, uint64_t (*of)(const struct cgroup *c))
{
	for (int k = 0; k < TOP; k++) {
		struct cgroup *most = NULL;
		uint64_t value = 0;

		for (uint32_t i = d->list.whole; i < d->list.n; i++) {
			struct cgroup *c = &d->list.cgroup[i];
			uint64_t v = c->path[0] && !(c->member && c->wanted == d->list.reading) ? of(c) : 0;

			if (v > value) {
				value = v;
				most = c;
			}
		}
		if (!most)
			return;
		want(d, most);
	}
}

/* ---- a reading ---- */

static void put_rows(struct cgroups *d)
{
	for (uint32_t i = 0; i < d->list.n; i++) {
		const struct cgroup *c = &d->list.cgroup[i];
		struct row *row;

		if (!c->path[0] || !c->member)
			continue;
		row = ranking_add(&d->ranking, c->member);
		memcpy(row->path, c->path, sizeof(row->path));
		row->number = c->number;
		row->since_ns = c->since_ns;
		for (int k = 0; k < CGROUP_VALUES; k++) {
			row->row.v[k] = cgroup_since(c, (enum cgroup_value)k);
			row->row.status[k] = c->use.status[k];
		}
	}
}

static int cgroups_read(struct unit *u, struct cells *c)
{
	struct cgroups *d = (struct cgroups *)u;
	uint64_t now = clocks_monotonic();
	int err = cgroup_list_read(&d->list);

	if (err || !c) {
		d->before_ns = now;
		return err;
	}
	/* From its first snapshot on, a recording says which it examines. */
	if (d->list.reading == 2)
		want_most(d, by_all);
	want_most(d, by_cpu);
	want_most(d, by_memory);
	want_most(d, by_io);
	ranking_begin(&d->ranking, d->list.reading);
	put_rows(d);
	ranking_end(&d->ranking);
	d->before_ns = now;
	cells_set(c, CELL_READING, d->list.reading);
	cells_set(c, CELL_MISSED, d->list.missed);
	return 0;
}

/* ---- on the writer's thread ---- */

static int64_t new_instance(struct plan *p, const struct ranking_row *ranked)
{
	const struct row *row = (const struct row *)ranked;
	struct pm_instance i = {
		.kind = PM_CGROUP, .number = row->number, .cpu = PM_NONE, .added_ns = row->since_ns
	};
	char name[32];

	snprintf(name, sizeof(name), "cgroup-%u", row->number);
	if (plan_may_name(p->options, PM_INSTANCE_CGROUP))
		plan_set(&i.attrs, PM_INSTANCE_CGROUP, pm_text(row->path));
	else
		plan_set(&i.attrs, PM_INSTANCE_NAME, pm_text(name));
	return plan_instance(p, &i);
}

/* ---- planning ---- */

static int cgroups_plan(struct source *s, struct plan *p, struct error *e)
{
	struct cgroups *d = ranking_new(s, p, sizeof(*d));
	int err;

	if (!d)
		return 0;
	d->ranking = (struct ranking){ .source = "cgroups",
				       .key = key,
				       .n_values = CGROUP_VALUES,
				       .row_size = sizeof(struct row),
				       .instance = new_instance,
				       .unit.read = cgroups_read };
	ranking_init(&d->ranking);
	err = cgroup_list_init(&d->list, p->root);
	/* What is used from now on counts. */
	if (!err)
		err = cgroups_read(&d->ranking.unit, NULL);
	/* Beside those of version 1 an empty hierarchy of version 2 stays empty. */
	if (d->list.version1 && (err == -ENOENT || (!err && d->list.n == d->list.whole)))
		return plan_refused(p, PM_REASON_NOT_SUPPORTED, pm_remark(PM_REMEDY_CGROUPS_UNIFIED),
				    pm_remark(PM_REMARK_CGROUPS_OLD));
	if (err)
		return plan_refused(p, pm_reason_errno(err), pm_remark(err == -ENOENT ? PM_REMEDY_CGROUPS_MOUNT : 0),
				    pm_remark(PM_REMARK_CGROUPS));
	/* Those of -G have the first numbers. */
	for (uint32_t i = 0; i < p->model->n_instances; i++)
		if (p->model->instance[i].kind == PM_CGROUP && p->model->instance[i].number > d->last_number)
			d->last_number = p->model->instance[i].number;
	/* Most machines that have none now will have none later. */
	ranking_plan(&d->ranking, p, cell_key, CELLS, d->list.n == d->list.whole);
	return 0;
}

static void cgroups_release(struct source *s)
{
	struct cgroups *d = s->data;

	cgroup_list_release(&d->list);
	ranking_release(&d->ranking);
}

const struct source_ops source_cgroups = {
	.name = "cgroups",
	.help = "cgroups that use the most CPU, memory and storage (version 2: cpu.stat, io.stat ...)",
	.plan = cgroups_plan,
	.tables = ranking_tables,
	.release = cgroups_release,
};
