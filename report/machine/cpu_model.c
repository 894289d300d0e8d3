#include "report/machine/cpu_model.h"

#include <stdio.h>
#include <string.h>

#include "report/machine/cpu_models.inc"

static const struct cpu_model *cpu_model_find(enum cpu_vendor vendor, uint32_t family, uint32_t model)
{
	for (const struct cpu_model *m = cpu_models; m->name; m++)
		if (m->vendor == vendor && m->family == family && (m->model == model || m->model == UINT16_MAX))
			return m;
	return NULL;
}

bool cpu_leaf(const struct pm_model *m, uint32_t leaf, uint32_t subleaf, uint32_t cpu, uint32_t reg[static 4])
{
	const struct pm_config *c;
	char name[32];

	memset(reg, 0, 4 * sizeof(*reg));
	snprintf(name, sizeof(name), "cpuid.%08x.%u", leaf, subleaf);
	c = pm_model_config(m, name, cpu);
	if (!c || c->reason || c->value.kind != PM_VALUE_BYTES || c->value.str.len != 16)
		return false;
	for (unsigned i = 0; i < 16; i++)
		reg[i / 4] |= (uint32_t)(unsigned char)c->value.str.data[i] << (8 * (i % 4));
	return true;
}

static bool is_of_package(const struct pm_model *m, const struct pm_config *c, uint32_t package)
{
	if (c->kind == PM_PACKAGE)
		return cpulist_has(&c->instances, package);
	for (uint32_t i = 0; c->kind == PM_CPU && i < m->topology.n; i++)
		if (m->topology.cpu[i].package == package && cpulist_has(&c->instances, m->topology.cpu[i].cpu))
			return true;
	return c->kind == PM_SYSTEM;
}

bool cpu_register_at(const struct pm_model *m, uint32_t package, const char *name, uint64_t *value)
{
	const struct pm_config *c;
	char full[64];

	snprintf(full, sizeof(full), "msr.%s", name);
	for (uint32_t i = package == PM_NONE ? 0 : m->n_configs; i--;) {
		c = &m->config[i];
		if (c->reason || c->value.kind != PM_VALUE_U64 || strcmp(c->name, full) ||
		    !is_of_package(m, c, package))
			continue;
		*value = c->value.u64;
		return true;
	}
	c = pm_model_config(m, full, PM_NONE);
	if (!c || c->reason || c->value.kind != PM_VALUE_U64)
		return false;
	*value = c->value.u64;
	return true;
}

static enum cpu_vendor vendor_of(const char *name)
{
	if (!strcmp(name, "GenuineIntel"))
		return CPU_INTEL;
	return !strcmp(name, "AuthenticAMD") || !strcmp(name, "HygonGenuine") ? CPU_AMD : CPU_OTHER;
}

static void from_leaf_1(struct cpu_identity *id, uint32_t eax)
{
	id->stepping = eax & 15;
	id->family = eax >> 8 & 15;
	id->model = eax >> 4 & 15;
	/* The extended parts are used where the short ones are full. */
	if (id->family == 6 || id->family == 15)
		id->model |= (eax >> 16 & 15) << 4;
	if (id->family == 15)
		id->family += eax >> 20 & 255;
}

bool cpu_identify(const struct pm_model *m, struct cpu_identity *id)
{
	const char *text = pm_map_text(&m->header, PM_HEADER_CPU_ID, NULL);
	uint32_t reg[4];

	*id = (struct cpu_identity){ 0 };
	if (cpu_leaf(m, 0, 0, PM_NONE, reg)) {
		id->levels = reg[0];
		for (int i = 0; i < 12; i++)
			id->vendor_name[i] = (char)(reg[(int[]){ 1, 3, 2 }[i / 4]] >> (8 * (i % 4)));
	}
	if (!id->vendor_name[0] && text)
		snprintf(id->vendor_name, sizeof(id->vendor_name), "%.*s", (int)strcspn(text, "-"), text);
	if (!id->vendor_name[0])
		snprintf(id->vendor_name, sizeof(id->vendor_name), "%s",
			 pm_map_text(&m->header, PM_HEADER_CPU_VENDOR, ""));
	id->vendor = vendor_of(id->vendor_name);
	if (cpu_leaf(m, 1, 0, PM_NONE, reg))
		from_leaf_1(id, reg[0]);
	else if (!text || sscanf(text, "%*[^-]-%u-%x-%x", &id->family, &id->model, &id->stepping) < 2)
		return false;
	id->known = cpu_model_find(id->vendor, id->family, id->model);
	return true;
}

const char *cpu_limit_name(enum cpu_limits limits, unsigned value)
{
	static const char *const name[][16] = {
		[LIMITS_NHM] = { "pc0", "pc1", "pc3", "pc6", "pc7", NULL, NULL, "unlimited" },
		[LIMITS_SNB] = { "pc0", "pc2", "pc6n", "pc6r", "pc7", "pc7s", NULL, "unlimited" },
		[LIMITS_HSW] = { "pc0", "pc2", "pc3", "pc6", "pc7", "pc7s", "pc8", "pc9", "unlimited" },
		[LIMITS_SLV] = { "pc0", "pc1", NULL, NULL, "pc4", NULL, "pc6", "pc7", NULL, NULL, NULL, NULL, NULL,
				 NULL, "pc6", "pc7" },
		[LIMITS_AMT] = { "unlimited", "pc1", "pc2", NULL, NULL, NULL, "pc6", "pc7" },
		[LIMITS_SKX] = { "pc0", "pc2", "pc6n", "pc6r", NULL, NULL, NULL, "unlimited" },
		[LIMITS_ICX] = { "pc0", "pc2", "pc6", "pc6", NULL, NULL, NULL, "unlimited" },
		[LIMITS_GMT] = { "unlimited", "pc1", "pc3", "pc6", "pc7", "pc7s", "pc8", "pc9", "pc10" },
	};

	return limits && value < 16 ? name[limits][value] : NULL;
}
