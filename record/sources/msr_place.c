#include "record/sources/msr_place.h"

#include <string.h>

#include "record/plan/plan.h"
#include "record/plan/topology.h"

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

void msr_place_of(const struct plan *p, enum catalog_msr_scope scope, uint32_t cpu, struct msr_place *place)
{
	const struct pm_cpu *c = pm_topology_cpu(&p->model->topology, cpu);
	enum pm_kind kind = kind_of(p, scope, cpu);

	*place = (struct msr_place){ .scope = scope,
				     .kind = kind,
				     .instance = PM_NONE,
				     .cpu = cpu,
				     .config_kind = PM_CPU,
				     .config_number = cpu };
	if (kind == PM_PACKAGE && c) {
		place->config_kind = PM_PACKAGE;
		place->config_number = c->package;
	} else if (kind == PM_SYSTEM) {
		place->config_kind = PM_SYSTEM;
		place->config_number = PM_NONE;
	}
}

int msr_place_instance(struct plan *p, struct msr_place *place)
{
	int64_t id = place->kind == PM_SYSTEM ? p->system_instance : topology_instance(p, place->kind, place->cpu);

	if (id < 0)
		return (int)id;
	place->instance = (uint32_t)id;
	return 0;
}

bool msr_place_has(const struct plan *p, const struct msr_place *place, uint32_t cpu)
{
	return place->kind == PM_SYSTEM || topology_shares(&p->model->topology, place->kind, place->cpu, cpu);
}

uint32_t msr_place_cpu(const struct plan *p, const struct msr_place *place)
{
	const struct pm_topology *t = &p->model->topology;

	for (uint32_t i = 0; i < t->n; i++)
		if (t->cpu[i].online && plan_wants_cpu(p, t->cpu[i].cpu) && msr_place_has(p, place, t->cpu[i].cpu))
			return t->cpu[i].cpu;
	return PM_NONE;
}
