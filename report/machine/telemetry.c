#include "report/machine/telemetry.h"

#include <stdio.h>
#include <string.h>

enum telemetry telemetry_of(const char *counter)
{
	if (!strcmp(counter, TELEMETRY_DIES))
		return TELEMETRY_DIE;
	return strcmp(counter, TELEMETRY_MODULES) ? TELEMETRY_NONE : TELEMETRY_MODULE;
}

enum pm_kind telemetry_kind(enum telemetry what)
{
	return what == TELEMETRY_DIE ? PM_DIE : PM_CPU;
}

uint32_t telemetry_number(const struct pm_instance *i)
{
	uint32_t number;

	return sscanf(pm_map_text(&i->attrs, PM_INSTANCE_NAME, ""), "telem%u", &number) == 1 ? number : PM_NONE;
}

/* The place of a CPU that was always offline is unknown. */
static bool is_known(const struct pm_cpu *c)
{
	return c && c->package != PM_NONE;
}

static bool is_before(const struct pm_cpu *a, const struct pm_cpu *b)
{
	return a->package != b->package ? a->package < b->package : a->die < b->die;
}

/* A CPU of the die with this many dies before it, by package and number; NULL: there is none. */
static const struct pm_cpu *find_die(const struct places *p, uint32_t before)
{
	const struct pm_cpu *last = NULL;

	for (uint32_t n = 0; n <= before; n++) {
		const struct pm_cpu *next = NULL;

		for (uint32_t i = 0; i < p->n; i++)
			if (is_known(&p->cpu[i]) && (!last || is_before(last, &p->cpu[i])) &&
			    (!next || is_before(&p->cpu[i], next)))
				next = &p->cpu[i];
		if (!next)
			return NULL;
		last = next;
	}
	return last;
}

static uint32_t cpus_of_die(const struct places *p, uint32_t die, uint32_t *cpu)
{
	const struct pm_cpu *one = find_die(p, die);
	uint32_t n = 0;

	for (uint32_t i = 0; one && i < p->n; i++)
		if (p->cpu[i].package == one->package && p->cpu[i].die == one->die)
			cpu[n++] = p->cpu[i].cpu;
	return n;
}

static uint32_t cpus_of_module(const struct places *p, uint32_t module, uint32_t *cpu)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < TELEMETRY_CPUS_OF_A_MODULE; i++)
		if (is_known(places_cpu(p, module * TELEMETRY_CPUS_OF_A_MODULE + i)))
			cpu[n++] = module * TELEMETRY_CPUS_OF_A_MODULE + i;
	return n;
}

uint32_t telemetry_cpus(const struct places *p, enum telemetry what, const struct pm_counter *c, uint32_t region,
			uint32_t *cpu)
{
	unsigned offset;

	if (what == TELEMETRY_DIE)
		return cpus_of_die(p, region, cpu);
	if (sscanf(c->name, TELEMETRY_MODULES "_%u", &offset) != 1 || offset < TELEMETRY_MODULES_FIRST)
		return 0;
	return cpus_of_module(
		p, region * TELEMETRY_MODULES_N + (offset - TELEMETRY_MODULES_FIRST) / TELEMETRY_MODULES_STEP, cpu);
}
