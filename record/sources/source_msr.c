/*
 * Model-specific registers of x86: those of the catalog, and those that --add names, with the files that it names.
 * There is no table of models: every register of the catalog is tried once at each place it belongs to. If a register
 * does not exist, the driver turns the fault into an error, which is recorded. One CPU stands for its core, module,
 * package or the whole system, so that a shared register is read once.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/add.h"
#include "common/catalog/msr.h"
#include "common/memory.h"
#include "record/host/perf_open.h"
#include "record/plan/plan.h"
#include "record/plan/machine.h"
#include "record/sources/filegrid.h"

#define COUNTERS_MAX 64 /* of one scope: a bit each */
#define CPU_FILES    ADD_CPU_FILES

/* One read call: the registers of a place. */
struct msr_unit {
	struct unit unit;
	uint64_t mask;
	uint32_t n;
	uint32_t address[];
};

struct place {
	enum catalog_msr_scope scope;
	enum pm_kind kind; /* of the instance; may be narrower than the scope where the topology says less */
	uint32_t instance; /* id */
	uint32_t cpu;      /* that is read */
	/* One-time values name a place by a number that is unique in the machine: a package by its own, the system by
	 * none, anything else by the CPU that was read first. */
	uint32_t config_number;
	const struct add *add; /* NULL: it has registers of the catalog */
	uint32_t counter;      /* id of what was added */
	/* Those of the catalog that have its scope and can be read, by their order there; 1 for what was added. */
	uint64_t counters;
	struct msr_unit *unit; /* owned by the plan; NULL: there is nothing to read */
};

struct registers {
	const struct root *root;
	int *fd; /* owned: files of the msr driver, by CPU number; -1: not open */
	uint32_t n_fds;
	struct place *place; /* owned */
	uint32_t n;
	/* Of the catalog. */
	uint8_t *nonzero; /* owned; by row: somewhere its value was not 0 */
	bool hypervisor;
	/* Of --add. */
	struct root named; /* the machine, for paths that the caller names */
	struct filegrid *grids;
};

/* ---- the driver's files ---- */

/* 0 or -errno: -ENODEV if the CPU is offline, -EIO if it has no such register. */
static int msr_read(const struct registers *d, uint32_t cpu, uint32_t address, uint64_t *value)
{
	ssize_t n;

	if (cpu >= d->n_fds || d->fd[cpu] < 0)
		return -ENODEV;
	do {
		n = pread(d->fd[cpu], value, sizeof(*value), address);
	} while (n < 0 && errno == EINTR);
	if (n == sizeof(*value))
		return 0;
	return n < 0 ? -errno : -EIO;
}

static void msr_close(struct registers *d, uint32_t cpu)
{
	if (cpu < d->n_fds)
		fd_close(&d->fd[cpu]);
}

/* Anew: the file of a CPU that went offline is not that of the one that comes online. */
static int msr_open(struct registers *d, uint32_t cpu)
{
	int fd;

	if (cpu >= d->n_fds)
		d->fd = memory_resize(d->fd, cpu + 1, sizeof(*d->fd));
	while (d->n_fds <= cpu)
		d->fd[d->n_fds++] = -1;
	msr_close(d, cpu);
	fd = root_open(d->root, "/dev/cpu/%u/msr", cpu);
	if (fd == -EMFILE) {
		perf_raise_nofile();
		fd = root_open(d->root, "/dev/cpu/%u/msr", cpu);
	}
	d->fd[cpu] = fd < 0 ? -1 : fd;
	return fd < 0 ? fd : 0;
}

/* How to open them. */
static struct pm_value msr_remedy(const struct root *root, int err)
{
	bool container = root_exists(root, "/.dockerenv") || root_exists(root, "/run/.containerenv");

	switch (-err) {
	case ENOENT:
	case ENXIO:
	case ENODEV:
		if (!container)
			return pm_remark(PM_REMEDY_MSR);
		if (!root_exists(root, "/sys/module/msr"))
			return pm_remark(PM_REMEDY_MSR_HOST);
		return pm_remark(PM_REMEDY_MSR_CONTAINER, "");
	case EPERM:
	case EACCES:
		/* Some kernels allow reading registers under lockdown. */
		return pm_remark(container  ? PM_REMEDY_MSR_CONTAINER :
				 !geteuid() ? PM_REMEDY_MSR_ROOT :
					      PM_REMEDY_MSR_SETCAP,
				 root_locked_down(root, false) ?
					 "; this kernel is locked down, and may refuse registers to everybody" :
					 "");
	case EMFILE:
		return pm_remark(PM_REMEDY_DESCRIPTORS);
	default:
		return pm_remark(0);
	}
}

/* ---- places ---- */

/* For Intel's processors with several dies in a package, what Intel calls a package is one die: each has its own
 * energy, temperature and C-states. AMD's dies share them. */
static bool is_of_die(const struct plan *p, uint32_t cpu)
{
	const struct pm_topology *t = &p->model->topology;
	const struct pm_cpu *c = pm_topology_cpu(t, cpu);

	if (!c || strcmp(pm_map_text(&p->model->header, PM_HEADER_CPU_VENDOR, ""), "GenuineIntel"))
		return false;
	for (uint32_t i = 0; i < t->n; i++)
		if (t->cpu[i].package == c->package && t->cpu[i].die != PM_NONE && c->die != PM_NONE &&
		    t->cpu[i].die != c->die)
			return true;
	return false;
}

/* From wide to narrow; the first kind that the topology knows is used. */
static enum pm_kind kind_of(const struct plan *p, enum catalog_msr_scope scope, uint32_t cpu)
{
	static const enum pm_kind kinds[CATALOG_MSR_SCOPES][3] = {
		[CATALOG_MSR_CPU] = { PM_CPU },
		[CATALOG_MSR_CORE] = { PM_CORE, PM_CPU },
		[CATALOG_MSR_MODULE] = { PM_CLUSTER, PM_CORE, PM_CPU },
		[CATALOG_MSR_PACKAGE] = { PM_PACKAGE, PM_SYSTEM },
		[CATALOG_MSR_SYSTEM] = { PM_SYSTEM },
	};
	const enum pm_kind *kind = kinds[scope];

	if (scope == CATALOG_MSR_PACKAGE && is_of_die(p, cpu))
		return PM_DIE;
	while (*kind != PM_SYSTEM && !topology_shares(&p->model->topology, *kind, cpu, cpu))
		kind++;
	return *kind;
}

/* The place of that scope to which the CPU belongs, with this CPU to be read. Adds nothing to the model. */
static struct place place_of(const struct plan *p, enum catalog_msr_scope scope, uint32_t cpu)
{
	struct place place = { .scope = scope, .kind = kind_of(p, scope, cpu), .cpu = cpu, .config_number = cpu };

	if (place.kind == PM_PACKAGE)
		place.config_number = pm_topology_cpu(&p->model->topology, cpu)->package;
	else if (place.kind == PM_SYSTEM)
		place.config_number = PM_NONE;
	return place;
}

/* Sets the instance of a place that has something to record; added to the model if new. False: there is no room for
 * one. */
static bool set_instance(struct plan *p, struct place *place)
{
	int64_t id = place->kind == PM_SYSTEM ? p->system_instance : topology_instance(p, place->kind, place->cpu);

	place->instance = id < 0 ? PM_NONE : (uint32_t)id;
	return id > 0;
}

static bool place_has(const struct plan *p, const struct place *place, uint32_t cpu)
{
	return place->kind == PM_SYSTEM || topology_shares(&p->model->topology, place->kind, place->cpu, cpu);
}

static bool is_known(const struct registers *d, const struct plan *p, const struct place *like)
{
	for (uint32_t i = 0; i < d->n; i++)
		if (d->place[i].add == like->add && d->place[i].scope == like->scope &&
		    d->place[i].kind == like->kind && place_has(p, &d->place[i], like->cpu))
			return true;
	return false;
}

/* The lowest online CPU of the place that may be recorded; PM_NONE if there is none. */
static uint32_t online_cpu(const struct plan *p, const struct place *place)
{
	const struct pm_topology *t = &p->model->topology;

	for (uint32_t i = 0; i < t->n; i++)
		if (t->cpu[i].online && plan_wants_cpu(p, t->cpu[i].cpu) && place_has(p, place, t->cpu[i].cpu))
			return t->cpu[i].cpu;
	return PM_NONE;
}

static void add_place(struct registers *d, const struct place *new)
{
	memory_room(&d->place, d->n, sizeof(*d->place));
	d->place[d->n++] = *new;
}

/* ---- units ---- */

static int unit_read(struct unit *u, struct cells *c)
{
	const struct msr_unit *m = (const struct msr_unit *)u;
	uint64_t v;

	for (uint32_t k = 0; k < m->n; k++) {
		int err = msr_read(u->source->data, u->cpu, m->address[k], &v);

		if (err)
			cells_fail(c, k, filegrid_reason(err, true));
		else
			cells_set(c, k, v & m->mask);
	}
	return 0;
}

static void unit_release(struct unit *u)
{
	free(u);
}

/* Finds the next running register of a scope; *bit counts them. */
static const struct catalog_msr *next_counter(enum catalog_msr_scope scope, const struct catalog_msr *r,
					      unsigned *bit)
{
	for (r = r ? (++*bit, r + 1) : catalog_msrs; r->address; r++)
		if (r->scope == scope && r->use & CATALOG_MSR_COUNTER)
			return r;
	return NULL;
}

static void add_unit(struct plan *p, struct place *place, uint32_t group, uint32_t instance)
{
	uint32_t n = (uint32_t)__builtin_popcountll(place->counters);
	struct msr_unit *u = memory_new(1, sizeof(*u) + n * sizeof(u->address[0]));
	const struct catalog_msr *r = NULL;
	unsigned bit = 0;

	*u = (struct msr_unit){
		.unit = { .group = group,
			  .instance = instance,
			  .cpu = place->cpu,
			  .read = unit_read,
			  .release = unit_release },
		.mask = place->add && place->add->width == 32 ? UINT32_MAX : UINT64_MAX,
	};
	if (place->add)
		u->address[u->n++] = place->add->address;
	while (!place->add && (r = next_counter(place->scope, r, &bit)))
		if (place->counters >> bit & 1)
			u->address[u->n++] = r->address;
	place->unit = u;
	plan_add_unit(p, &u->unit);
}

static uint32_t group_counters(struct plan *p, const struct place *place, uint32_t id[COUNTERS_MAX])
{
	const struct catalog_msr *r = NULL;
	unsigned bit = 0;
	uint32_t n = 0;

	if (place->add)
		id[n++] = place->counter;
	while (!place->add && (r = next_counter(place->scope, r, &bit))) {
		if (!(place->counters >> bit & 1))
			continue;
		/* Without room for it plan_group() has none, either. */
		id[n++] = (uint32_t)plan_counter(p, &r->counter);
		if (strstr(r->counter.name, "energy"))
			plan_read_within(p, ENERGY_WITHIN_NS);
	}
	return n;
}

static bool is_alike(const struct place *a, const struct place *b)
{
	return a->add == b->add && a->scope == b->scope && a->counters == b->counters;
}

/* One group for all places from `first` on that have no unit yet and can read what that one can. */
static void add_group(struct registers *d, struct plan *p, uint32_t first)
{
	SCOPED(scoped_free) uint32_t *instance = memory_new(d->n, sizeof(*instance));
	uint32_t counter[COUNTERS_MAX], n = 0;
	struct pm_group g = { .source = (char *)p->source->ops->name, .counter = counter, .instance = instance };
	int64_t id;

	g.n_counters = group_counters(p, &d->place[first], counter);
	for (uint32_t i = first; i < d->n; i++)
		if (!d->place[i].unit && is_alike(&d->place[i], &d->place[first]))
			instance[g.n_instances++] = d->place[i].instance;
	id = plan_group(p, &g);
	for (uint32_t i = first; id > 0 && n < g.n_instances; i++)
		if (!d->place[i].unit && is_alike(&d->place[i], &d->place[first]))
			add_unit(p, &d->place[i], (uint32_t)id, n++);
}

/* The CPU that stood for a place is gone: another one takes over, under the same instance. */
static void move_places(struct registers *d, struct plan *p)
{
	for (struct place *place = d->place; place < d->place + d->n; place++) {
		const struct pm_cpu *c = pm_topology_cpu(&p->model->topology, place->cpu);
		uint32_t cpu;

		if (!place->unit || place->kind == PM_CPU || (c && c->online))
			continue;
		cpu = online_cpu(p, place);
		if (cpu == PM_NONE || cpu == place->cpu)
			continue;
		/* What is open stays so: other places read it, and it may not be possible to open it again. */
		if ((cpu >= d->n_fds || d->fd[cpu] < 0) && msr_open(d, cpu))
			continue;
		place->cpu = cpu;
		add_unit(p, place, place->unit->unit.group, place->unit->unit.instance);
	}
}

/* ---- those of the catalog ---- */

static void note_config(struct plan *p, const struct place *place, const struct catalog_msr *r, int err, uint64_t v)
{
	enum pm_kind kind = place->kind == PM_PACKAGE || place->kind == PM_SYSTEM ? place->kind : PM_CPU;

	if (err)
		plan_config_missing(p, kind, place->config_number, filegrid_reason(err, true), "%s", r->counter.name);
	else if (r->use & CATALOG_MSR_ONCE)
		plan_config(p, kind, place->config_number, pm_u64(v), "%s", r->counter.name);
}

static void try_place(struct registers *d, struct plan *p, struct place *place)
{
	unsigned bit = 0;

	for (const struct catalog_msr *r = catalog_msrs; r->address; r++) {
		uint64_t v = 0;
		int err;

		if (r->scope != place->scope)
			continue;
		err = msr_read(d, place->cpu, r->address, &v);
		note_config(p, place, r, err, v);
		if (!err && v)
			d->nonzero[r - catalog_msrs] = 1;
		if (r->use & CATALOG_MSR_COUNTER)
			place->counters |= (uint64_t)!err << bit++;
	}
}

/* Adds the places of all scopes for which this CPU is the first. */
static void add_places(struct registers *d, struct plan *p, uint32_t cpu)
{
	for (int scope = 0; scope < CATALOG_MSR_SCOPES; scope++) {
		struct place new = place_of(p, scope, cpu);

		if (is_known(d, p, &new))
			continue;
		try_place(d, p, &new);
		if (new.counters && !set_instance(p, &new))
			new.counters = 0;
		add_place(d, &new);
	}
}

static void add_groups(struct registers *d, struct plan *p)
{
	for (int scope = 0; scope < CATALOG_MSR_SCOPES; scope++)
		for (uint32_t i = 0; i < d->n; i++)
			if ((int)d->place[i].scope == scope && d->place[i].counters && !d->place[i].unit)
				add_group(d, p, i);
}

static bool is_x86(const struct plan *p)
{
	const char *arch = pm_map_text(&p->model->header, PM_HEADER_ARCH, "x86_64");

	return !strcmp(arch, "x86_64") || (arch[0] == 'i' && !strcmp(arch + 2, "86"));
}

static void refuse_open(struct plan *p, int err, uint32_t cpu)
{
	bool absent = err == -ENOENT || err == -ENXIO || err == -ENODEV;

	plan_refused(p, absent ? PM_REASON_NOT_SUPPORTED : filegrid_reason(err, true), msr_remedy(p->root, err),
		     pm_remark(PM_REMARK_MSR_DEVICE, cpu));
}

static size_t n_rows(void)
{
	size_t n = 0;

	while (catalog_msrs[n].address)
		n++;
	return n;
}

static int msr_plan(struct source *s, struct plan *p, struct error *e)
{
	struct registers *d;
	uint32_t refused = 0;
	bool any = false;
	int why = 0;

	if (!is_x86(p))
		return plan_refused(p, PM_REASON_NOT_SUPPORTED, pm_remark(0), pm_remark(PM_REMARK_MSR_ARCH));
	d = s->data = memory_new(1, sizeof(*d));
	d->root = p->root;
	d->hypervisor = pm_map_get(&p->model->header, PM_HEADER_HYPERVISOR) != NULL;
	d->nonzero = memory_new(n_rows(), 1);
	for (size_t i = 0; i < p->cpus.n; i++) {
		int err = msr_open(d, p->cpus.cpu[i]);

		if (!err)
			add_places(d, p, p->cpus.cpu[i]);
		else if (!why)
			refused = p->cpus.cpu[i];
		why = why ? why : err;
	}
	add_groups(d, p);
	if (why)
		refuse_open(p, why, refused);
	for (uint32_t i = 0; i < d->n; i++)
		any = any || d->place[i].unit;
	if (any || !d->n)
		return 0;
	return plan_refused(p, PM_REASON_NOT_SUPPORTED, pm_remark(0), pm_remark(PM_REMARK_MSR_NONE));
}

/* Hypervisors return 0 for registers that they do not have. */
static void tell_suspects(struct registers *d, struct plan *p, const uint8_t *readable)
{
	for (const struct catalog_msr *r = catalog_msrs; r->address; r++)
		if (readable[r - catalog_msrs] && !d->nonzero[r - catalog_msrs])
			plan_refused(p, PM_REASON_SUSPECT, pm_remark(0), pm_remark(PM_REMARK_FILE, r->counter.name));
}

/* Read one-time values again: they may have changed during the recording. */
static void msr_finish(struct source *s, struct plan *p)
{
	struct registers *d = s->data;
	SCOPED(scoped_free) uint8_t *readable = memory_new(n_rows(), 1);

	for (uint32_t i = 0; i < d->n; i++) {
		const struct place *place = &d->place[i];

		for (const struct catalog_msr *r = catalog_msrs; r->address; r++) {
			uint64_t v = 0;
			int failed;

			if (r->scope != place->scope || !(r->use & CATALOG_MSR_ONCE || d->hypervisor))
				continue;
			failed = msr_read(d, place->cpu, r->address, &v);
			readable[r - catalog_msrs] |= !failed;
			d->nonzero[r - catalog_msrs] |= !failed && v;
			if (r->use & CATALOG_MSR_ONCE)
				note_config(p, place, r, failed, v);
		}
	}
	if (d->hypervisor)
		tell_suspects(d, p, readable);
}

/* ---- those of --add ---- */

static void set_attrs(const struct add *a, struct pm_map *attrs)
{
	char where[24];

	plan_set(attrs, PM_COUNTER_REQUESTED, pm_bool(true));
	/* The register or the kernel's file, whatever the column is called. Other files have names of the user's. */
	snprintf(where, sizeof(where), "msr0x%x", a->address);
	if (a->location == ADD_MSR || (a->text && (!strncmp(a->text, "/sys/", 5) || !strncmp(a->text, "/proc/", 6))))
		plan_set(attrs, PM_COUNTER_HELP, pm_text(a->location == ADD_MSR ? where : a->text));
	plan_set(attrs, PM_COUNTER_ADDED, pm_text(add_scope_word(a->scope)));
	plan_set(attrs, PM_COUNTER_ADD_FORMAT, pm_text(add_format_word(a->format)));
	if (a->type)
		plan_set(attrs, PM_COUNTER_ADD_TYPE, pm_text(a->type));
}

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
	set_attrs(a, &c.attrs);
	if (why)
		plan_set(&c.attrs, PM_COUNTER_PERF_INVALID, pm_u64(why));
	id = memory_must(pm_model_add_counter(p->model, &c));
	pm_map_release(&c.attrs);
	return (uint32_t)id;
}

static void refuse(struct plan *p, const struct add *a, int err, struct pm_value remedy)
{
	uint16_t why = err == -ENOENT ? PM_REASON_NOT_SUPPORTED :
		       err == -EINVAL ? pm_reason_errno(err) :
					filegrid_reason(err, true);

	add_counter(p, a, why);
	plan_refused(p, why, remedy, pm_remark(PM_REMARK_ADDED, a->name));
}

static enum catalog_msr_scope msr_scope(enum add_scope scope)
{
	return scope == ADD_CPU ? CATALOG_MSR_CPU : scope == ADD_CORE ? CATALOG_MSR_CORE : CATALOG_MSR_PACKAGE;
}

/* Adds the place that the CPU stands for, if it is new and the register can be read there; *why says why not. */
static void try_added(struct registers *d, struct plan *p, const struct add *a, uint32_t cpu, int *why)
{
	struct place new = place_of(p, msr_scope(a->scope), cpu);
	uint64_t v;

	new.add = a;
	new.counters = 1;
	if (is_known(d, p, &new))
		return;
	*why = msr_open(d, cpu);
	if (!*why)
		*why = msr_read(d, cpu, a->address, &v);
	if (!*why && set_instance(p, &new))
		add_place(d, &new);
}

/* One group for the places from `first` on. Without room for it they are not kept: when their CPUs come again, they
 * are tried again. */
static void add_added(struct registers *d, struct plan *p, uint32_t first, uint32_t counter)
{
	for (uint32_t i = first; i < d->n; i++)
		d->place[i].counter = counter;
	add_group(d, p, first);
	if (!d->place[first].unit)
		d->n = first;
}

static void plan_register(struct registers *d, struct plan *p, const struct add *a)
{
	uint32_t first = d->n;
	int why = -ENODEV;

	for (size_t i = 0; i < p->cpus.n; i++)
		try_added(d, p, a, p->cpus.cpu[i], &why);
	if (d->n == first)
		refuse(p, a, why, msr_remedy(p->root, why));
	else
		add_added(d, p, first, add_counter(p, a, 0));
}

/* A CPU that was not there at the start. */
static void add_to_added(struct registers *d, struct plan *p, uint32_t cpu)
{
	for (size_t i = 0; i < p->options->n_added; i++) {
		const struct add *a = &p->options->added[i];
		uint32_t counter = 0, first = d->n;
		int why;

		for (uint32_t k = 0; k < d->n; k++)
			counter = d->place[k].add == a ? d->place[k].counter : counter;
		/* What could not be read anywhere was reported as missing, and stays so. */
		if (!counter)
			continue;
		try_added(d, p, a, cpu, &why);
		if (d->n > first)
			add_added(d, p, first, counter);
	}
}

static void plan_path(struct registers *d, struct plan *p, const struct add *a)
{
	const char *part = add_per_cpu(a->text);
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
	for (size_t i = 0; i < p->cpus.n; i++) {
		struct place at = place_of(p, msr_scope(a->scope), p->cpus.cpu[i]);
		bool known = false;

		/* Only registers take a die for a package. */
		at.kind = at.kind == PM_DIE ? PM_PACKAGE : at.kind;
		set_instance(p, &at);
		for (uint32_t k = 0; k < g->n; k++)
			known = known || g->cell[k].instance == at.instance;
		/* If a CPU lacks the file, only its own value is missing. Any other file is read for each place. */
		if (!known && part)
			filegrid_add(g, counter, at.instance, at.cpu, 0, CPU_FILES "%u/%s", at.cpu, part);
		else if (!known)
			filegrid_add(g, counter, at.instance, at.kind == PM_CPU ? at.cpu : PM_NONE, 0, "%s", a->text);
	}
	filegrid_finish(g, p, &d->grids);
}

static int add_plan(struct source *s, struct plan *p, struct error *e)
{
	struct registers *d = s->data = memory_new(1, sizeof(*d));

	d->root = p->root;
	d->named = *p->root; /* which owns the prefix */
	d->named.named = true;
	for (size_t i = 0; i < p->options->n_added; i++) {
		const struct add *a = &p->options->added[i];

		if (a->location == ADD_MSR)
			plan_register(d, p, a);
		else if (a->location == ADD_PATH)
			plan_path(d, p, a);
	}
	return 0;
}

/* ---- both ---- */

static void update(struct source *s, struct plan *p, uint32_t cpu, bool online)
{
	struct registers *d = s->data;

	if (cpu == PM_NONE)
		return;
	filegrid_cpu(d->grids, cpu, online);
	if (!online)
		msr_close(d, cpu);
	else if (!d->n || !plan_wants_cpu(p, cpu) || msr_open(d, cpu))
		return;
	move_places(d, p);
	if (online && d->nonzero) {
		add_places(d, p, cpu);
		add_groups(d, p);
	} else if (online) {
		add_to_added(d, p, cpu);
	}
}

static void release(struct source *s)
{
	struct registers *d = s->data;

	for (uint32_t i = 0; i < d->n_fds; i++)
		msr_close(d, i);
	free(d->fd);
	free(d->place);
	free(d->nonzero);
}

const struct source_ops source_msr = {
	.name = "msr",
	.help = "model-specific registers: cycles, C-states, energy, temperatures, limits (/dev/cpu)",
	.plan = msr_plan,
	.update = update,
	.finish = msr_finish,
	.release = release,
};

const struct source_ops source_add = {
	.name = "add",
	.help = "what --add names: registers and files",
	.plan = add_plan,
	.update = update,
	.release = release,
};
