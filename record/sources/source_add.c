/* Counters that the user described with --add: registers, files, telemetry. Events belong to the perf source. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/memory.h"
#include "record/plan/add.h"
#include "record/plan/plan.h"
#include "record/plan/topology.h"
#include "record/sources/filegrid.h"
#include "record/sources/msr_reader.h"

#define TELEMETRY "/sys/class/intel_pmt"
#define CPU_FILES "/sys/devices/system/cpu/cpu"

struct add_unit;

/* A register at one of the places where it is read. */
struct added {
	const struct add *add;
	uint32_t counter; /* id */
	struct msr_place at;
	struct add_unit *unit; /* owned by the plan */
};

struct add_source {
	struct msr_devices devices;
	struct msr_reader reader;
	struct root named; /* the machine, for paths that the caller names */
	struct filegrid *grids;
	struct added *added; /* owned */
	uint32_t n;
};

/* One number: a CPU's register, or a field of a telemetry file. */
struct add_unit {
	struct unit unit;
	const struct msr_reader *reader; /* NULL: telemetry */
	uint32_t address;
	int fd;
	off_t offset;
	unsigned lsb;
	uint64_t mask;
};

static int unit_read(struct unit *u, struct cells *c)
{
	const struct add_unit *a = (struct add_unit *)u;
	uint64_t v = 0;
	int err;

	if (a->reader) {
		err = a->reader->read(a->reader->ctx, u->cpu, a->address, &v);
	} else {
		ssize_t n = pread(a->fd, &v, sizeof(v), a->offset);

		err = n < 0 ? -errno : n == sizeof(v) ? 0 : -EIO;
	}
	if (err)
		cells_fail(c, 0, msr_reason(err));
	else
		cells_set(c, 0, v >> a->lsb & a->mask);
	return 0;
}

static void unit_release(struct unit *u)
{
	struct add_unit *a = (struct add_unit *)u;

	fd_close(&a->fd);
	free(a);
}

static uint64_t mask_of(const struct add *a)
{
	return a->width < 64 ? (1ull << a->width) - 1 : UINT64_MAX;
}

/* ---- the counter ---- */

/* `why`: the reason why it cannot be read; the column exists anyway, and says so. */
static uint32_t add_counter(struct plan *p, const struct add *a, uint16_t why)
{
	char name[ADD_NAME_MAX + 16], part[ADD_NAME_MAX];
	struct pm_counter c = {
		.name = name,
		.display = (char *)a->name,
		.source = "add",
		.unit = "1",
		.scale = { .num = 1, .den = 1 },
		.width = (uint8_t)a->width,
		.semantics = a->format == ADD_RAW     ? PM_BITFIELD :
			     a->format == ADD_AVERAGE ? PM_GAUGE :
							PM_CUMULATIVE,
		/* Shares of time are averaged, counts added up, register fields neither. */
		.aggregation = a->format == ADD_RAW               ? PM_AGG_NONE :
			       a->format == ADD_DELTA && !a->type ? PM_AGG_SUM :
								    PM_AGG_MEAN,
	};
	int64_t id;

	if (c.semantics == PM_GAUGE)
		c.width = 64;
	member_part(part, sizeof(part), a->name, strlen(a->name));
	snprintf(name, sizeof(name), "add.%s", part);
	for (unsigned n = 2; pm_model_counter_named(p->model, name); n++)
		snprintf(name, sizeof(name), "add.%s_%u", part, n);
	add_set_attrs(a, &c.attrs);
	if (why)
		plan_set(&c.attrs, PM_COUNTER_PERF_INVALID, pm_u64(why));
	id = memory_must(pm_model_add_counter(p->model, &c));
	pm_map_release(&c.attrs);
	return (uint32_t)id;
}

static void refuse(struct plan *p, const struct add *a, int err, struct pm_value remedy)
{
	uint16_t why = err == -ENOENT ? PM_REASON_NOT_SUPPORTED : msr_reason(err);

	add_counter(p, a, why);
	plan_refused(p, why, remedy, pm_remark(PM_REMARK_ADDED, a->name));
}

/* ---- registers ---- */

static enum catalog_msr_scope msr_scope(enum add_scope scope)
{
	return scope == ADD_CPU ? CATALOG_MSR_CPU : scope == ADD_CORE ? CATALOG_MSR_CORE : CATALOG_MSR_PACKAGE;
}

static bool is_known(const struct add_source *d, const struct plan *p, const struct add *a, uint32_t cpu)
{
	for (uint32_t i = 0; i < d->n; i++)
		if (d->added[i].add == a && msr_place_has(p, &d->added[i].at, cpu))
			return true;
	return false;
}

/* Adds the place that the CPU stands for, if it is new and the register can be read there; *why says why not. */
static void try_place(struct add_source *d, struct plan *p, const struct add *a, uint32_t cpu, int *why)
{
	struct added new = { .add = a };
	uint64_t v;

	if (is_known(d, p, a, cpu))
		return;
	*why = d->reader.open(d->reader.ctx, cpu);
	if (!*why)
		*why = d->reader.read(d->reader.ctx, cpu, a->address, &v);
	if (*why)
		return;
	memory_room(&d->added, d->n, sizeof(*d->added));
	msr_place_of(p, msr_scope(a->scope), cpu, &new.at);
	if (msr_place_instance(p, &new.at))
		d->added[d->n++] = new;
}

static void add_unit(struct add_source *d, struct plan *p, struct added *x, uint32_t group, uint32_t instance)
{
	struct add_unit *u = memory_new(1, sizeof(*u));

	*u = (struct add_unit){
		.unit = { .group = group,
			  .instance = instance,
			  .cpu = x->at.cpu,
			  .read = unit_read,
			  .release = unit_release },
		.reader = &d->reader,
		.address = x->add->address,
		.fd = -1,
		.mask = mask_of(x->add),
	};
	x->unit = u;
	plan_add_unit(p, &u->unit);
}

/* One matrix for the places from `first` on, all of one register. */
static void add_msr_group(struct add_source *d, struct plan *p, uint32_t first, uint32_t counter)
{
	struct pm_group g = { .source = "add", .counter = &counter, .n_counters = 1 };
	int64_t id;

	g.instance = memory_new(d->n - first, sizeof(*g.instance));
	for (uint32_t i = first; i < d->n; i++)
		g.instance[g.n_instances++] = d->added[i].at.instance;
	id = plan_group(p, &g);
	free(g.instance);
	if (id < 0)
		d->n = first;
	for (uint32_t i = first; i < d->n; i++) {
		d->added[i].counter = counter;
		add_unit(d, p, &d->added[i], (uint32_t)id, i - first);
	}
}

static void plan_msr(struct add_source *d, struct plan *p, const struct add *a)
{
	uint32_t first = d->n;
	int why = -ENODEV;

	for (size_t i = 0; i < p->cpus.n; i++)
		try_place(d, p, a, p->cpus.cpu[i], &why);
	if (d->n == first)
		refuse(p, a, why, why == -EIO ? pm_remark(0) : msr_remedy(p->root, why));
	else
		add_msr_group(d, p, first, add_counter(p, a, 0));
}

/* The CPU that stood for a core or package is gone: another one takes over, under the same instance. */
static void move_places(struct add_source *d, struct plan *p)
{
	for (uint32_t i = 0; i < d->n; i++) {
		struct added *x = &d->added[i];
		const struct pm_cpu *c = pm_topology_cpu(&p->model->topology, x->at.cpu);
		uint32_t cpu;

		if (x->at.kind == PM_CPU || (c && c->online))
			continue;
		cpu = msr_place_cpu(p, &x->at);
		if (cpu == PM_NONE || cpu == x->at.cpu || d->reader.open(d->reader.ctx, cpu))
			continue;
		x->at.cpu = cpu;
		add_unit(d, p, x, x->unit->unit.group, x->unit->unit.instance);
	}
}

/* A CPU that was not there at the start. */
static void add_places(struct add_source *d, struct plan *p, uint32_t cpu)
{
	for (size_t i = 0; i < p->options->n_added; i++) {
		const struct add *a = &p->options->added[i];
		uint32_t counter = 0, first = d->n;
		int why;

		for (uint32_t k = 0; k < d->n && a->location == ADD_MSR; k++)
			counter = d->added[k].add == a ? d->added[k].counter : counter;
		/* What could not be read anywhere was reported as missing, and stays so. */
		if (!counter)
			continue;
		try_place(d, p, a, cpu, &why);
		if (d->n > first)
			add_msr_group(d, p, first, counter);
	}
}

/* ---- files ---- */

/* The part after the number in a path below cpu3 (or cpu*): such a file is read for every CPU, core or package. */
static const char *per_cpu_part(const char *path)
{
	const char *at = path + strlen(CPU_FILES);
	size_t digits;

	if (strncmp(path, CPU_FILES, strlen(CPU_FILES)))
		return NULL;
	digits = *at == '*' ? 1 : strspn(at, "0123456789");
	return digits && at[digits] == '/' ? at + digits + 1 : NULL;
}

static void plan_path(struct add_source *d, struct plan *p, const struct add *a)
{
	const char *part = per_cpu_part(a->text);
	struct filegrid *g;
	uint32_t counter;
	int err = part ? filegrid_try(&d->named, CPU_FILES "%u/%s", p->cpus.cpu[0], part) :
			 filegrid_try(&d->named, "%s", a->text);

	if (err) {
		refuse(p, a, err,
		       pm_remark(err == -EACCES ? PM_REMEDY_ROOT :
				 err == -EINVAL ? PM_REMEDY_ADD_NUMBER :
						  0));
		return;
	}
	g = filegrid_new(p);
	g->root = &d->named;
	counter = add_counter(p, a, 0);
	if (!part)
		filegrid_add(g, counter, p->system_instance, PM_NONE, 0, "%s", a->text);
	for (size_t i = 0; i < p->cpus.n && part; i++) {
		struct msr_place at;
		bool known = false;

		msr_place_of(p, msr_scope(a->scope), p->cpus.cpu[i], &at);
		msr_place_instance(p, &at);
		for (uint32_t k = 0; k < g->n; k++)
			known = known || g->cell[k].instance == at.instance;
		/* If a CPU lacks the file, only its own value is missing. */
		if (!known)
			filegrid_add(g, counter, at.instance, at.cpu, 0, CPU_FILES "%u/%s", at.cpu, part);
	}
	filegrid_finish(g, p, &d->grids);
}

/* ---- the source ---- */

static int add_plan(struct source *s, struct plan *p, struct error *e)
{
	struct add_source *d = s->data = memory_new(1, sizeof(*d));

	d->named = *p->root; /* which owns the prefix */
	d->named.named = true;
	msr_devices_init(&d->devices, p->root);
	d->reader = msr_devices_reader(&d->devices);
	for (size_t i = 0; i < p->options->n_added; i++) {
		const struct add *a = &p->options->added[i];

		if (a->location == ADD_MSR)
			plan_msr(d, p, a);
		else if (a->location == ADD_PATH)
			plan_path(d, p, a);
		else if (a->location == ADD_PMT)
			plan_telemetry(d, p, a);
	}
	return 0;
}

static void add_update(struct source *s, struct plan *p, uint32_t cpu, bool online)
{
	struct add_source *d = s->data;

	if (cpu == PM_NONE)
		return;
	filegrid_cpu(d->grids, cpu, online);
	if (!online) {
		d->reader.close(d->reader.ctx, cpu);
	} else if (d->n && plan_wants_cpu(p, cpu)) {
		/* The file of the CPU that went offline is not that of the one that came online. */
		if (d->reader.open(d->reader.ctx, cpu))
			return;
		add_places(d, p, cpu);
	}
	move_places(d, p);
}

static void add_source_release(struct source *s)
{
	struct add_source *d = s->data;

	msr_devices_release(&d->devices);
	free(d->added);
}

const struct source_ops source_add = {
	.name = "add",
	.help = "what --add names: registers, files, telemetry fields",
	.plan = add_plan,
	.update = add_update,
	.release = add_source_release,
};
