/* Model-specific registers of x86. There is no table of models: every register of the catalog is tried once at each
 * place it belongs to. If a register does not exist, the driver turns the fault into an error, which is recorded. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"
#include "record/plan/plan.h"
#include "record/sources/msr_reader.h"

#define COUNTERS_MAX 64 /* of one scope: a bit each */

struct msr_unit {
	struct unit unit;
	const struct msr_reader *reader;
	uint32_t n;
	uint32_t address[];
};

struct place {
	struct msr_place at;
	uint64_t counters;     /* those of its scope that can be read, by their order in the catalog */
	struct msr_unit *unit; /* owned by the plan; NULL: there is nothing to read */
};

struct msr_source {
	struct msr_devices devices;
	struct msr_reader reader;
	struct place *place; /* owned */
	uint32_t n;
	uint8_t *nonzero; /* owned; by row: somewhere its value was not 0 */
	bool hypervisor, any_open;
};

static int unit_read(struct unit *u, struct cells *c)
{
	struct msr_unit *m = (struct msr_unit *)u;
	uint64_t v;

	for (uint32_t k = 0; k < m->n; k++) {
		int err = m->reader->read(m->reader->ctx, u->cpu, m->address[k], &v);

		if (err)
			cells_fail(c, k, msr_reason(err));
		else
			cells_set(c, k, v);
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

/* ---- trying ---- */

static void note_config(struct plan *p, const struct msr_place *at, const struct catalog_msr *r, int err, uint64_t v)
{
	if (err)
		plan_config_missing(p, at->config_kind, at->config_number, msr_reason(err), "%s", r->counter.name);
	else if (r->use & CATALOG_MSR_ONCE)
		plan_config(p, at->config_kind, at->config_number, pm_u64(v), "%s", r->counter.name);
}

static void try_place(struct msr_source *d, struct plan *p, struct place *place)
{
	const struct msr_place *at = &place->at;
	unsigned bit = 0;

	for (const struct catalog_msr *r = catalog_msrs; r->address; r++) {
		uint64_t v = 0;
		int err;

		if (r->scope != at->scope)
			continue;
		err = d->reader.read(d->reader.ctx, at->cpu, r->address, &v);
		note_config(p, at, r, err, v);
		if (!err && v)
			d->nonzero[r - catalog_msrs] = 1;
		if (r->use & CATALOG_MSR_COUNTER)
			place->counters |= (uint64_t)!err << bit++;
	}
}

static bool is_known(const struct msr_source *d, const struct plan *p, const struct msr_place *at)
{
	for (uint32_t i = 0; i < d->n; i++)
		if (d->place[i].at.scope == at->scope && d->place[i].at.kind == at->kind &&
		    msr_place_has(p, &d->place[i].at, at->cpu))
			return true;
	return false;
}

/* Adds the places of all scopes for which this CPU is the first. */
static void add_places(struct msr_source *d, struct plan *p, uint32_t cpu)
{
	for (int scope = 0; scope < CATALOG_MSR_SCOPES; scope++) {
		struct msr_place at;

		msr_place_of(p, scope, cpu, &at);
		if (is_known(d, p, &at))
			continue;
		memory_room(&d->place, d->n, sizeof(*d->place));
		d->place[d->n] = (struct place){ .at = at };
		try_place(d, p, &d->place[d->n]);
		if (d->place[d->n].counters && !msr_place_instance(p, &d->place[d->n].at))
			d->place[d->n].counters = 0;
		d->n++;
	}
}

/* ---- groups ---- */

static struct msr_unit *unit_new(const struct msr_source *d, const struct place *place, uint32_t group,
				 uint32_t instance)
{
	uint32_t n = (uint32_t)__builtin_popcountll(place->counters);
	struct msr_unit *u = memory_new(1, sizeof(*u) + n * sizeof(u->address[0]));
	const struct catalog_msr *r = NULL;
	unsigned bit = 0;

	*u = (struct msr_unit){
		.unit = { .group = group,
			  .instance = instance,
			  .cpu = place->at.cpu,
			  .read = unit_read,
			  .release = unit_release },
		.reader = &d->reader,
	};
	while ((r = next_counter(place->at.scope, r, &bit)))
		if (place->counters >> bit & 1)
			u->address[u->n++] = r->address;
	return u;
}

static uint32_t group_counters(struct plan *p, const struct place *place, uint32_t id[COUNTERS_MAX])
{
	const struct catalog_msr *r = NULL;
	unsigned bit = 0;
	uint32_t n = 0;

	while ((r = next_counter(place->at.scope, r, &bit))) {
		if (!(place->counters >> bit & 1))
			continue;
		/* Without room for it plan_group() has none, either. */
		id[n++] = (uint32_t)plan_counter(p, &r->counter);
		if (strstr(r->counter.name, "energy"))
			plan_read_within(p, ENERGY_WITHIN_NS);
	}
	return n;
}

/* One group for all places from `first` on that have no unit yet and can read what that one can. */
static void add_group(struct msr_source *d, struct plan *p, uint32_t first)
{
	const struct place *like = &d->place[first];
	SCOPED(scoped_free) uint32_t *instance = memory_new(d->n, sizeof(*instance));
	uint32_t counter[COUNTERS_MAX], n = 0;
	struct pm_group g = { .source = "msr", .counter = counter, .instance = instance };
	int64_t id;

	g.n_counters = group_counters(p, like, counter);
	for (uint32_t i = first; i < d->n; i++)
		if (!d->place[i].unit && d->place[i].at.scope == like->at.scope &&
		    d->place[i].counters == like->counters)
			instance[g.n_instances++] = d->place[i].at.instance;
	id = plan_group(p, &g);
	for (uint32_t i = first; id > 0 && n < g.n_instances; i++) {
		struct place *place = &d->place[i];

		if (place->unit || place->at.scope != like->at.scope || place->counters != like->counters)
			continue;
		place->unit = unit_new(d, place, (uint32_t)id, n++);
		plan_add_unit(p, &place->unit->unit);
	}
}

static void add_groups(struct msr_source *d, struct plan *p)
{
	for (int scope = 0; scope < CATALOG_MSR_SCOPES; scope++)
		for (uint32_t i = 0; i < d->n; i++)
			if ((int)d->place[i].at.scope == scope && d->place[i].counters && !d->place[i].unit)
				add_group(d, p, i);
}

/* ---- the source ---- */

static bool is_x86(const struct plan *p)
{
	const char *arch = pm_map_text(&p->model->header, PM_HEADER_ARCH, "x86_64");

	return !strcmp(arch, "x86_64") || (arch[0] == 'i' && !strcmp(arch + 2, "86"));
}

static void refuse_open(struct plan *p, int err, uint32_t cpu)
{
	bool absent = err == -ENOENT || err == -ENXIO || err == -ENODEV;

	plan_refused(p, absent ? PM_REASON_NOT_SUPPORTED : msr_reason(err), msr_remedy(p->root, err),
		     pm_remark(PM_REMARK_MSR_DEVICE, cpu));
}

static int plan_all(struct msr_source *d, struct plan *p)
{
	uint32_t refused = 0;
	bool any = false;
	int why = 0;

	for (size_t i = 0; i < p->cpus.n; i++) {
		int open = d->reader.open(d->reader.ctx, p->cpus.cpu[i]);

		if (open) {
			refused = why ? refused : p->cpus.cpu[i];
			why = why ? why : open;
			continue;
		}
		d->any_open = true;
		add_places(d, p, p->cpus.cpu[i]);
	}
	add_groups(d, p);
	if (why)
		refuse_open(p, why, refused);
	for (uint32_t i = 0; i < d->n; i++)
		any = any || d->place[i].unit;
	if (any || !d->any_open)
		return 0;
	return plan_refused(p, PM_REASON_NOT_SUPPORTED, pm_remark(0), pm_remark(PM_REMARK_MSR_NONE));
}

static size_t n_rows(void)
{
	size_t n = 0;

	while (catalog_msrs[n].address)
		n++;
	return n;
}

int source_msr_plan(struct source *s, struct plan *p, const struct msr_reader *reader, struct error *e)
{
	struct msr_source *d = s->data = memory_new(1, sizeof(*d));

	msr_devices_init(&d->devices, p->root);
	d->reader = reader ? *reader : msr_devices_reader(&d->devices);
	d->hypervisor = pm_map_get(&p->model->header, PM_HEADER_HYPERVISOR) != NULL;
	d->nonzero = memory_new(n_rows(), 1);
	return plan_all(d, p);
}

static int msr_plan(struct source *s, struct plan *p, struct error *e)
{
	if (!is_x86(p))
		return plan_refused(p, PM_REASON_NOT_SUPPORTED, pm_remark(0), pm_remark(PM_REMARK_MSR_ARCH));
	return source_msr_plan(s, p, NULL, e);
}

/* The CPU that stood for a place is gone: another one takes over, under the same instance. */
static void move_place(struct msr_source *d, struct plan *p, struct place *place)
{
	uint32_t cpu = msr_place_cpu(p, &place->at);

	if (!place->unit || cpu == PM_NONE || cpu == place->at.cpu)
		return;
	place->at.cpu = cpu;
	place->unit = unit_new(d, place, place->unit->unit.group, place->unit->unit.instance);
	plan_add_unit(p, &place->unit->unit);
}

static void msr_update(struct source *s, struct plan *p, uint32_t cpu, bool online)
{
	struct msr_source *d = s->data;

	if (cpu == PM_NONE || !d->any_open)
		return;
	if (!online)
		d->reader.close(d->reader.ctx, cpu);
	else if (!plan_wants_cpu(p, cpu) || d->reader.open(d->reader.ctx, cpu))
		return;
	for (uint32_t i = 0; i < d->n; i++) {
		const struct pm_cpu *c = pm_topology_cpu(&p->model->topology, d->place[i].at.cpu);

		if (d->place[i].at.scope != CATALOG_MSR_CPU && (!c || !c->online))
			move_place(d, p, &d->place[i]);
	}
	if (online) {
		add_places(d, p, cpu);
		add_groups(d, p);
	}
}

/* Hypervisors return 0 for registers that they do not have. */
static void tell_suspects(struct msr_source *d, struct plan *p, const uint8_t *readable)
{
	for (const struct catalog_msr *r = catalog_msrs; r->address; r++)
		if (readable[r - catalog_msrs] && !d->nonzero[r - catalog_msrs])
			plan_refused(p, PM_REASON_SUSPECT, pm_remark(0), pm_remark(PM_REMARK_FILE, r->counter.name));
}

/* Read one-time values again: they may have changed during the recording. */
static void msr_finish(struct source *s, struct plan *p)
{
	struct msr_source *d = s->data;
	SCOPED(scoped_free) uint8_t *readable = memory_new(n_rows(), 1);

	for (uint32_t i = 0; i < d->n; i++) {
		for (const struct catalog_msr *r = catalog_msrs; r->address; r++) {
			const struct msr_place *at = &d->place[i].at;
			uint64_t v = 0;
			int failed;

			if (r->scope != at->scope || !(r->use & CATALOG_MSR_ONCE || d->hypervisor))
				continue;
			failed = d->reader.read(d->reader.ctx, at->cpu, r->address, &v);
			readable[r - catalog_msrs] |= !failed;
			d->nonzero[r - catalog_msrs] |= !failed && v;
			if (r->use & CATALOG_MSR_ONCE)
				note_config(p, at, r, failed, v);
		}
	}
	if (d->hypervisor)
		tell_suspects(d, p, readable);
}

static void msr_release(struct source *s)
{
	struct msr_source *d = s->data;

	msr_devices_release(&d->devices);
	free(d->place);
	free(d->nonzero);
}

const struct source_ops source_msr = {
	.name = "msr",
	.help = "model-specific registers: cycles, C-states, energy, temperatures, limits (/dev/cpu)",
	.plan = msr_plan,
	.update = msr_update,
	.finish = msr_finish,
	.release = msr_release,
};
