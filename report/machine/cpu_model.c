#include "report/machine/cpu_model.h"

#include <stdio.h>
#include <string.h>

#define PC2_TO_10 (CPU_PC2 | CPU_PC3 | CPU_PC6 | CPU_PC7 | CPU_PC8 | CPU_PC9 | CPU_PC10)
#define PC2_TO_7  (CPU_PC2 | CPU_PC3 | CPU_PC6 | CPU_PC7)
#define SERVER    (CPU_CC6 | CPU_PC2 | CPU_PC6)

#define SERVER_ENERGY (CPU_NO_CORE_ENERGY | CPU_NO_GFX_ENERGY) /* packages and memory alone */

/* clang-format off */
#define FEATURES(name_, limits_, bclk_, crystal_, watts_, tcc_, cstates_, flags_) \
	static const struct cpu_features name_ = { \
		.name = #name_, .limits = LIMITS_##limits_, .bclk_mhz = bclk_, .crystal_hz = crystal_, \
		.default_watts = watts_, .tcc_bits = tcc_, .cstates = cstates_, .flags = flags_ \
	}
/* Name, way of the limits; bus clock in MHz, crystal in Hz, watts where nothing says them, bits of the offset of TCC. */
FEATURES(nhm, NHM, 400.0 / 3, 0, 0, 0, CPU_CC3 | CPU_CC6 | CPU_PC3 | CPU_PC6, CPU_NO_TDP_LEVELS);
FEATURES(snb, SNB, 100, 0, 130, 0, CPU_CC3 | CPU_CC6 | CPU_CC7 | PC2_TO_7, CPU_NO_TDP_LEVELS);
FEATURES(snx, SNB, 100, 0, 130, 0, CPU_CC3 | CPU_CC6 | CPU_CC7 | PC2_TO_7, CPU_NO_TDP_LEVELS);
FEATURES(ivb, SNB, 100, 0, 130, 0, CPU_CC3 | CPU_CC6 | CPU_CC7 | PC2_TO_7, 0);
FEATURES(ivx, SNB, 100, 0, 130, 0, CPU_CC3 | CPU_CC6 | CPU_CC7 | PC2_TO_7, CPU_NO_TDP_LEVELS | CPU_TRL_MORE);
FEATURES(hsw, HSW, 100, 0, 130, 0, CPU_CC3 | CPU_CC6 | CPU_CC7 | PC2_TO_7, CPU_LIMIT_REASONS);
FEATURES(hsx, HSW, 100, 0, 145, 0,
	 CPU_CC3 | CPU_CC6 | CPU_CC7 | PC2_TO_7, CPU_LIMIT_REASONS | CPU_FIXED_DRAM | CPU_TRL_MORE);
FEATURES(hswl, HSW, 100, 0, 45, 0, CPU_CC3 | CPU_CC6 | CPU_CC7 | PC2_TO_10, CPU_LIMIT_REASONS);
FEATURES(hswg, HSW, 100, 0, 130, 0, CPU_CC3 | CPU_CC6 | CPU_CC7 | PC2_TO_7, CPU_LIMIT_REASONS);
FEATURES(bdw, HSW, 100, 0, 45, 0, CPU_CC3 | CPU_CC6 | CPU_CC7 | PC2_TO_10, 0);
FEATURES(bdwg, HSW, 100, 0, 65, 0, CPU_CC3 | CPU_CC6 | CPU_CC7 | PC2_TO_7, 0);
FEATURES(bdx, HSW, 100, 0, 145, 0,
	 CPU_CC3 | CPU_CC6 | CPU_PC2 | CPU_PC3 | CPU_PC6, CPU_FIXED_DRAM | CPU_AUTO_CONVERSION | CPU_TRL_MORE);
FEATURES(skl, HSW, 100, 24000000, 0, 6,
	 CPU_CC3 | CPU_CC6 | CPU_CC7 | PC2_TO_10, CPU_TSC_TWEAK | CPU_EXTENDED_C0);
FEATURES(cnl, HSW, 100, 24000000, 0, 6,
	 CPU_CC1 | CPU_CC6 | CPU_CC7 | PC2_TO_10, CPU_TSC_TWEAK | CPU_EXTENDED_C0);
FEATURES(adl, HSW, 100, 38400000, 0, 6,
	 CPU_CC1 | CPU_CC6 | CPU_CC7 | CPU_PC2 | CPU_PC3 | CPU_PC6 | CPU_PC8 | CPU_PC10,
	 CPU_TSC_TWEAK | CPU_EXTENDED_C0);
FEATURES(lnl, HSW, 100, 38400000, 0, 6,
	 CPU_CC1 | CPU_CC6 | CPU_CC7 | CPU_PC2 | CPU_PC6 | CPU_PC10, CPU_TSC_TWEAK | CPU_EXTENDED_C0);
FEATURES(skx, SKX, 100, 0, 205, 0,
	 SERVER, CPU_FIXED_DRAM | CPU_TRL_COUNTS | CPU_AUTO_CONVERSION | SERVER_ENERGY);
FEATURES(icx, ICX, 100, 0, 270, 0,
	 SERVER | CPU_CC1, CPU_FIXED_DRAM | CPU_TRL_COUNTS | CPU_PREWAKE | SERVER_ENERGY);
FEATURES(spr, SKX, 100, 0, 350, 0,
	 SERVER | CPU_CC1, CPU_FIXED_PSYS | CPU_TRL_COUNTS | CPU_PREWAKE | SERVER_ENERGY);
FEATURES(dmr, SKX, 100, 0, 0, 0,
	 SERVER | CPU_CC1 | CPU_MC6, CPU_TRL_COUNTS | CPU_PREWAKE | CPU_NO_TDP_LEVELS | SERVER_ENERGY);
FEATURES(srf, SKX, 100, 0, 330, 0, SERVER | CPU_CC1 | CPU_MC6, CPU_TRL_COUNTS | CPU_PREWAKE | SERVER_ENERGY);
FEATURES(grr, SKX, 100, 0, 0, 0, CPU_CC1 | CPU_CC6 | CPU_MC6, CPU_TRL_COUNTS | CPU_PREWAKE | SERVER_ENERGY);
FEATURES(slv, SLV, 0, 0, 30, 0,
	 CPU_CC1 | CPU_CC6 | CPU_PC6 | CPU_MC6,
	 CPU_RAPL_MICRO | CPU_ATOM_RATIOS | CPU_PC6_IN_PC7 | CPU_NO_TDP_LEVELS);
FEATURES(slvd, SLV, 0, 0, 30, 0, CPU_CC1 | CPU_CC6 | CPU_PC6, CPU_PC6_IN_PC7 | CPU_NO_TDP_LEVELS);
FEATURES(amt, AMT, 400.0 / 3, 0, 0, 0, CPU_CC1 | CPU_CC3 | CPU_CC6 | CPU_PC3 | CPU_PC6, CPU_NO_TDP_LEVELS);
FEATURES(gmt, GMT, 100, 19200000, 0, 0,
	 CPU_CC1 | CPU_CC3 | CPU_CC6 | CPU_CC7 | PC2_TO_10, CPU_TRL_COUNTS | CPU_NO_TDP_LEVELS);
FEATURES(gmtd, GMT, 100, 25000000, 0, 0,
	 SERVER | CPU_CC1, CPU_TRL_COUNTS | CPU_NO_TDP_LEVELS | CPU_NO_GFX_ENERGY);
FEATURES(gmtp, GMT, 100, 19200000, 0, 0,
	 CPU_CC1 | CPU_CC3 | CPU_CC6 | CPU_CC7 | PC2_TO_10, CPU_NO_TDP_LEVELS);
FEATURES(tmt, GMT, 100, 0, 0, 0, CPU_CC6 | CPU_CC7 | PC2_TO_10, CPU_TSC_TWEAK | CPU_NO_TDP_LEVELS);
FEATURES(tmtd, GMT, 100, 0, 0, 0, CPU_CC1 | CPU_CC6, CPU_TRL_COUNTS | CPU_NO_TDP_LEVELS | SERVER_ENERGY);
FEATURES(knl, SKX, 100, 0, 215, 0,
	 CPU_CC1 | CPU_CC6 | CPU_PC3 | CPU_PC6, CPU_FIXED_DRAM | CPU_PERF_X1024 | CPU_KNL_TURBO | SERVER_ENERGY);
/* clang-format on */

static const struct cpu_features amd = { .name = "amd", .default_watts = 280 };
static const struct cpu_features amd_old = { .name = "amd_old" };

/* clang-format off */
#define INTEL(family_, model_, features_, name_) \
	{ .vendor = CPU_INTEL, .family = family_, .model = model_, .name = name_, .features = &(features_) }
#define AMD(family_, features_, name_) \
	{ .vendor = CPU_AMD, .family = family_, .model = UINT16_MAX, .name = name_, .features = &(features_) }
/* clang-format on */

const struct cpu_model cpu_models[] = {
	INTEL(6, 0x1a, nhm, "Nehalem-EP"),
	INTEL(6, 0x1e, nhm, "Nehalem"),
	INTEL(6, 0x1f, nhm, "Nehalem"),
	INTEL(6, 0x2e, nhm, "Nehalem-EX"),
	INTEL(6, 0x25, nhm, "Westmere"),
	INTEL(6, 0x2c, nhm, "Westmere-EP"),
	INTEL(6, 0x2f, nhm, "Westmere-EX"),
	INTEL(6, 0x2a, snb, "Sandy Bridge"),
	INTEL(6, 0x2d, snx, "Sandy Bridge-EP"),
	INTEL(6, 0x3a, ivb, "Ivy Bridge"),
	INTEL(6, 0x3e, ivx, "Ivy Bridge-EP"),
	INTEL(6, 0x3c, hsw, "Haswell"),
	INTEL(6, 0x3f, hsx, "Haswell-EP"),
	INTEL(6, 0x45, hswl, "Haswell-ULT"),
	INTEL(6, 0x46, hswg, "Haswell-GT3e"),
	INTEL(6, 0x3d, bdw, "Broadwell"),
	INTEL(6, 0x47, bdwg, "Broadwell-GT3e"),
	INTEL(6, 0x4f, bdx, "Broadwell-EP"),
	INTEL(6, 0x56, bdx, "Broadwell-DE"),
	INTEL(6, 0x4e, skl, "Skylake mobile"),
	INTEL(6, 0x5e, skl, "Skylake"),
	INTEL(6, 0x8e, skl, "Kaby Lake mobile"),
	INTEL(6, 0x9e, skl, "Kaby Lake"),
	INTEL(6, 0xa5, skl, "Comet Lake"),
	INTEL(6, 0xa6, skl, "Comet Lake mobile"),
	INTEL(6, 0x55, skx, "Skylake, Cascade Lake or Cooper Lake server"),
	INTEL(6, 0x66, cnl, "Cannon Lake"),
	INTEL(6, 0x7d, cnl, "Ice Lake"),
	INTEL(6, 0x7e, cnl, "Ice Lake mobile"),
	INTEL(6, 0x9d, cnl, "Ice Lake NNPI"),
	INTEL(6, 0xa7, cnl, "Rocket Lake"),
	INTEL(6, 0x8c, cnl, "Tiger Lake mobile"),
	INTEL(6, 0x8d, cnl, "Tiger Lake"),
	INTEL(6, 0x8a, cnl, "Lakefield"),
	INTEL(6, 0x6a, icx, "Ice Lake server"),
	INTEL(6, 0x6c, icx, "Ice Lake-D"),
	INTEL(6, 0x97, adl, "Alder Lake"),
	INTEL(6, 0x9a, adl, "Alder Lake mobile"),
	INTEL(6, 0xbe, adl, "Alder Lake-N"),
	INTEL(6, 0xb7, adl, "Raptor Lake"),
	INTEL(6, 0xba, adl, "Raptor Lake-P"),
	INTEL(6, 0xbf, adl, "Raptor Lake-S"),
	INTEL(6, 0xd7, adl, "Bartlett Lake"),
	INTEL(6, 0xac, adl, "Meteor Lake"),
	INTEL(6, 0xaa, adl, "Meteor Lake mobile"),
	INTEL(6, 0xb5, adl, "Arrow Lake-U"),
	INTEL(6, 0xc5, adl, "Arrow Lake-H"),
	INTEL(6, 0xc6, adl, "Arrow Lake"),
	INTEL(6, 0xbd, lnl, "Lunar Lake"),
	INTEL(6, 0xcc, lnl, "Panther Lake"),
	INTEL(6, 0xd5, lnl, "Wildcat Lake"),
	INTEL(18, 1, lnl, "Nova Lake"),
	INTEL(18, 3, lnl, "Nova Lake mobile"),
	INTEL(6, 0x8f, spr, "Sapphire Rapids"),
	INTEL(6, 0xcf, spr, "Emerald Rapids"),
	INTEL(6, 0xad, spr, "Granite Rapids"),
	INTEL(6, 0xae, spr, "Granite Rapids-D"),
	INTEL(19, 1, dmr, "Diamond Rapids"),
	INTEL(6, 0xaf, srf, "Sierra Forest"),
	INTEL(6, 0xdd, srf, "Clearwater Forest"),
	INTEL(6, 0xb6, grr, "Grand Ridge"),
	INTEL(6, 0x37, slv, "Silvermont"),
	INTEL(6, 0x4a, slv, "Silvermont mobile"),
	INTEL(6, 0x5a, slv, "Silvermont mobile"),
	INTEL(6, 0x4d, slvd, "Silvermont server"),
	INTEL(6, 0x4c, amt, "Airmont"),
	INTEL(6, 0x75, amt, "Airmont NP"),
	INTEL(6, 0x5c, gmt, "Goldmont"),
	INTEL(6, 0x5f, gmtd, "Goldmont server (Denverton)"),
	INTEL(6, 0x7a, gmtp, "Goldmont Plus"),
	INTEL(6, 0x96, tmt, "Tremont (Elkhart Lake)"),
	INTEL(6, 0x9c, tmt, "Tremont (Jasper Lake)"),
	INTEL(6, 0x86, tmtd, "Tremont server (Snow Ridge)"),
	INTEL(6, 0x57, knl, "Knights Landing"),
	INTEL(6, 0x85, knl, "Knights Mill"),
	AMD(0x10, amd_old, "AMD family 10h"),
	AMD(0x15, amd_old, "AMD family 15h (Bulldozer)"),
	AMD(0x16, amd_old, "AMD family 16h (Jaguar)"),
	AMD(0x17, amd, "AMD Zen, Zen+ or Zen 2"),
	AMD(0x18, amd, "Hygon Dhyana"),
	AMD(0x19, amd, "AMD Zen 3 or Zen 4"),
	AMD(0x1a, amd, "AMD Zen 5"),
	{ .name = NULL },
};

const struct cpu_model *cpu_model_find(enum cpu_vendor vendor, uint32_t family, uint32_t model)
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
	/* The extended parts count where the short ones are full. */
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
