#include "report/machine/cpu_facts.h"

#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "common/parse.h"

#define DRAM_JOULES 15.3e-6 /* for servers whose memory has its own unit */

/* NUMBERS.md, section 3, says why. */
#define RATED_TIMES    4    /* that a package can draw of what it is rated for, */
#define RATED_MORE     150  /* W, and these, */
#define UNRATED_WATTS  1000 /* or these, if nothing says what that is */
#define PLATFORM_WATTS 2000 /* besides the packages */
/* Energy registers are updated each millisecond; the monitor of a hypervisor may do so once a second. */
#define LATE_NS       20000000
#define LATE_GUEST_NS 2000000000

#define ZONE_ENERGY "powercap.energy."

static void find_bclk(const struct pm_model *m, uint32_t package, struct cpu_facts *f)
{
	static const double slv[] = { 83.3, 100, 133.3, 116.7, 80 };
	uint64_t v;

	if (f->id.known && f->id.known->features->bclk_mhz > 0)
		f->bclk_mhz = f->id.known->features->bclk_mhz;
	else if (f->id.known && f->id.known->features->limits == LIMITS_SLV)
		f->bclk_mhz = cpu_register_at(m, package, "fsb_freq", &v) && cpu_bits(v, 3, 0) < 5 ?
				      slv[cpu_bits(v, 3, 0)] :
				      0;
	else if (f->id.vendor == CPU_INTEL)
		/* Every Intel processor since Sandy Bridge except some Atoms. */
		f->bclk_mhz = 100;
}

double cpu_counter_hz(const struct pm_model *m, double nominal)
{
	uint64_t told = pm_map_u64(&m->header, PM_HEADER_CLOCK_COUNTER_HZ, 0);

	nominal = told ? (double)told : nominal;
	/* Reading two clocks one after the other is no more exact than that. */
	return m->counter_hz > 0 && fabs(nominal - m->counter_hz) > 1e-3 * m->counter_hz ? m->counter_hz : nominal;
}

static void find_clocks(const struct pm_model *m, uint32_t package, struct cpu_facts *f)
{
	uint32_t reg[4];
	uint64_t v;

	if (f->id.vendor == CPU_INTEL && cpu_leaf(m, 0x15, 0, PM_NONE, reg) && reg[0] && reg[1]) {
		f->crystal_hz = reg[2] ? reg[2] : f->id.known ? f->id.known->features->crystal_hz : 0;
		f->tsc_hz = f->crystal_hz * reg[1] / reg[0];
	}
	if (f->id.vendor == CPU_INTEL && cpu_leaf(m, 0x16, 0, PM_NONE, reg))
		f->base_hz = (reg[0] & 0xffff) * 1e6;
	if (cpu_has(f, CPU_ATOM_RATIOS)) {
		if (cpu_register_at(m, package, "atom_core_ratios", &v) && f->bclk_mhz > 0) {
			f->max_efficiency_hz = cpu_bits(v, 13, 8) * f->bclk_mhz * 1e6;
			f->base_hz = cpu_bits(v, 21, 16) * f->bclk_mhz * 1e6;
		}
	} else if (cpu_register_at(m, package, "platform_info", &v) && f->bclk_mhz > 0) {
		f->max_efficiency_hz = cpu_bits(v, 47, 40) * f->bclk_mhz * 1e6;
		if (cpu_bits(v, 15, 8))
			f->base_hz = cpu_bits(v, 15, 8) * f->bclk_mhz * 1e6;
	}
	if (!strcmp(pm_map_text(&m->header, PM_HEADER_CLOCK_COUNTER, "tsc"), "tsc") &&
	    cpu_counter_hz(m, f->tsc_hz) > 0)
		f->tsc_hz = cpu_counter_hz(m, f->tsc_hz);
	f->tsc_tweak = cpu_has(f, CPU_TSC_TWEAK) && f->base_hz > 0 && f->tsc_hz > 0 ? f->base_hz / f->tsc_hz : 1;
	/* They differ by more than rounding: then they are about different clocks. */
	if (fabs(f->tsc_tweak - 1) > 0.05)
		f->tsc_tweak = 1;
	f->perf_factor = cpu_has(f, CPU_PERF_X1024) ? 1024 : 1;
}

/* Models of AMD whose energy registers have 64 bits. AMD's driver amd_energy for hwmon tells them from those of 32
 * (family 17h model 31h, family 19h models 0xh and 3xh). */
static const struct {
	uint32_t family, first, last;
} amd_wide[] = {
	{ 0x19, 0x10, 0x1f }, /* Genoa */
	{ 0x19, 0x90, 0x9f }, /* MI300A */
	{ 0x19, 0xa0, 0xaf }, /* Bergamo, Siena */
	{ 0x1a, 0x00, 0x1f }, /* Turin */
};

static void find_units(const struct pm_model *m, uint32_t package, struct cpu_facts *f)
{
	uint64_t v;
	bool micro;

	if (cpu_register_at(m, package, "amd_power_unit", &v) && f->id.vendor == CPU_AMD)
		f->amd_unit = ldexp(1, -(int)cpu_bits(v, 12, 8));
	for (size_t i = 0; i < sizeof(amd_wide) / sizeof(amd_wide[0]) && f->id.vendor == CPU_AMD; i++)
		if (f->id.family == amd_wide[i].family && f->id.model >= amd_wide[i].first &&
		    f->id.model <= amd_wide[i].last)
			f->amd_bits = 64;
	if (!cpu_register_at(m, package, "rapl_power_unit", &v) || f->id.vendor == CPU_AMD)
		return;
	micro = cpu_has(f, CPU_RAPL_MICRO);
	f->power_unit = micro ? ldexp(1e-3, (int)cpu_bits(v, 3, 0)) : ldexp(1, -(int)cpu_bits(v, 3, 0));
	f->energy_unit = micro ? ldexp(1e-6, (int)cpu_bits(v, 12, 8)) : ldexp(1, -(int)cpu_bits(v, 12, 8));
	f->time_unit = ldexp(1, -(int)(cpu_bits(v, 19, 16) || micro ? cpu_bits(v, 19, 16) : 10));
	f->dram_unit = cpu_has(f, CPU_FIXED_DRAM) ? DRAM_JOULES : f->energy_unit;
	f->psys_unit = cpu_has(f, CPU_FIXED_PSYS) ? 1 : f->energy_unit;
}

/* What the kernel's power zones whose names begin with `kind` say. */
struct zones {
	double rated_uw, most_uw, range; /* the greatest; the least range in uJ; 0: not known */
};

static double zone_number(const struct pm_model *m, const char *zone, int len, const char *what)
{
	const struct pm_config *c;
	char name[128];

	snprintf(name, sizeof(name), "%.*s.%s", len, zone, what);
	c = pm_model_config(m, name, PM_NONE);
	return c && !c->reason && c->value.kind == PM_VALUE_U64 ? (double)c->value.u64 : 0;
}

static struct zones zones_of(const struct pm_model *m, const char *kind)
{
	struct zones z = { 0 };
	const char *suffix;

	for (uint32_t i = 0; i < m->n_configs; i++) {
		const struct pm_config *c = &m->config[i];
		double range, w;

		if (strncmp(c->name, "powercap.", 9) || !(suffix = strrchr(c->name, '.')) ||
		    strcmp(suffix, ".name") || strstr(c->name, ".constraint_") || c->value.kind != PM_VALUE_TEXT ||
		    strncmp(c->value.str.data, kind, strlen(kind)) != 0)
			continue;
		range = zone_number(m, c->name, (int)(suffix - c->name), "max_energy_range_uj");
		z.range = range > 0 && (range < z.range || !(z.range > 0)) ? range : z.range;
		w = zone_number(m, c->name, (int)(suffix - c->name), "constraint_0.max_power_uw");
		z.rated_uw = w > z.rated_uw ? w : z.rated_uw;
		w = zone_number(m, c->name, (int)(suffix - c->name), "constraint_1.max_power_uw");
		z.most_uw = w > z.most_uw ? w : z.most_uw;
	}
	return z;
}

static void find_most(const struct pm_model *m, bool registers, uint64_t info, struct cpu_facts *f)
{
	struct zones z = zones_of(m, "package");
	double rated = z.rated_uw / 1e6, most = z.most_uw / 1e6;

	if (registers) {
		rated = cpu_bits(info, 14, 0) * f->power_unit > rated ? cpu_bits(info, 14, 0) * f->power_unit : rated;
		most = cpu_bits(info, 46, 32) * f->power_unit > most ? cpu_bits(info, 46, 32) * f->power_unit : most;
	}
	if (!(rated > 0) && f->id.known && f->id.vendor == CPU_INTEL)
		rated = f->id.known->features->default_watts;
	f->most_watts = rated > 0 ? RATED_TIMES * rated + RATED_MORE : UNRATED_WATTS;
	f->most_watts = most > f->most_watts ? most : f->most_watts;
}

static void find_limits(const struct pm_model *m, uint32_t package, struct cpu_facts *f)
{
	double unit = f->id.vendor == CPU_AMD ? f->amd_unit : f->energy_unit;
	const struct pm_config *told;
	uint64_t v;

	if (cpu_register_at(m, package, "temperature_target", &v))
		f->tj_max = cpu_bits(v, 23, 16);
	/* The user knew better. */
	told = pm_model_config(m, "tcc_celsius", PM_NONE);
	if (told && told->value.kind == PM_VALUE_U64)
		f->tj_max = (double)told->value.u64;
	if (cpu_register_at(m, package, "pkg_power_info", &v) && cpu_bits(v, 14, 0) && f->power_unit > 0) {
		f->tdp_watts = cpu_bits(v, 14, 0) * f->power_unit;
		f->tdp_recorded = true;
	} else if (f->id.known && f->id.known->features->default_watts > 0) {
		f->tdp_watts = f->id.known->features->default_watts;
	} else {
		/* More than nearly any package draws: rather assume too short a range. */
		f->tdp_watts = 500;
	}
	f->range_s = unit * 4294967295.0 / f->tdp_watts;
	find_most(m, f->tdp_recorded, v, f);
}

void cpu_facts_find(const struct pm_model *m, uint32_t package, struct cpu_facts *f)
{
	*f = (struct cpu_facts){ .tsc_tweak = 1, .perf_factor = 1 };
	cpu_identify(m, &f->id);
	find_bclk(m, package, f);
	find_clocks(m, package, f);
	find_units(m, package, f);
	find_limits(m, package, f);
}

/* ---- literals ---- */

static const struct {
	const char *name;
	size_t offset;
} numbers[] = {
	{ "base_hz", offsetof(struct cpu_facts, base_hz) },
	{ "tsc_hz", offsetof(struct cpu_facts, tsc_hz) },
	{ "crystal_hz", offsetof(struct cpu_facts, crystal_hz) },
	{ "tsc_tweak", offsetof(struct cpu_facts, tsc_tweak) },
	{ "perf_factor", offsetof(struct cpu_facts, perf_factor) },
	{ "rapl_energy_unit", offsetof(struct cpu_facts, energy_unit) },
	{ "rapl_dram_unit", offsetof(struct cpu_facts, dram_unit) },
	{ "rapl_psys_unit", offsetof(struct cpu_facts, psys_unit) },
	{ "rapl_time_unit", offsetof(struct cpu_facts, time_unit) },
	{ "amd_energy_unit", offsetof(struct cpu_facts, amd_unit) },
	{ "tj_max", offsetof(struct cpu_facts, tj_max) },
};

/* 1 if the model has it, 0 if not; unknown models: missing. A C-state: it has a register for it, and its packages may
 * enter it. */
static const struct {
	const char *name;
	uint32_t cstate;
	unsigned package;     /* its number if it is a package state */
	uint32_t flag, lacks; /* a flag that the model has to have, and one that it may not have */
} traits[] = {
	{ "has_cc1", CPU_CC1, 0 },
	{ "has_cc3", CPU_CC3, 0 },
	{ "has_cc6", CPU_CC6, 0 },
	{ "has_cc7", CPU_CC7, 0 },
	{ "has_pc2", CPU_PC2, 2 },
	{ "has_pc3", CPU_PC3, 3 },
	{ "has_pc6", CPU_PC6, 6 },
	{ "has_pc7", CPU_PC7, 7 },
	{ "has_pc8", CPU_PC8, 8 },
	{ "has_pc9", CPU_PC9, 9 },
	{ "has_pc10", CPU_PC10, 10 },
	{ "has_mc6", CPU_MC6, 0 },
	{ "has_extended_c0", .flag = CPU_EXTENDED_C0 },
	{ "has_core_energy", .lacks = CPU_NO_CORE_ENERGY },
	{ "has_gfx_energy", .lacks = CPU_NO_GFX_ENERGY },
};

/* "pc6n" is 6, "pc7s" is 7; a name without a number sets no limit. */
static unsigned deepest(const struct cpu_facts *f, const struct pm_model *m, uint32_t package)
{
	const char *name = NULL;
	unsigned n;
	uint64_t v;

	if (f->id.known && cpu_register_at(m, package, "pkg_cst_config_control", &v))
		name = cpu_limit_name(f->id.known->features->limits, (unsigned)v & 15);
	return name && sscanf(name, "pc%u", &n) == 1 ? n : UINT_MAX;
}

/* The deepest state that any package may enter. */
static unsigned deepest_of_all(const struct cpu_facts *f, const struct pm_model *m)
{
	unsigned most = 0;

	if (!m->topology.n)
		return deepest(f, m, PM_NONE);
	for (uint32_t i = 0; i < m->topology.n; i++) {
		unsigned n = i && m->topology.cpu[i].package == m->topology.cpu[i - 1].package ?
				     most :
				     deepest(f, m, m->topology.cpu[i].package);

		most = n > most ? n : most;
	}
	return most;
}

static struct value trait(const struct cpu_facts *f, const struct pm_model *m, size_t i)
{
	const struct cpu_features *has = f->id.known ? f->id.known->features : NULL;

	if (!has)
		return value_missing(VALUE_NO_INPUT);
	return value_of((has->cstates & traits[i].cstate) == traits[i].cstate &&
			(has->flags & traits[i].flag) == traits[i].flag && !(has->flags & traits[i].lacks) &&
			(!traits[i].package || deepest_of_all(f, m) >= traits[i].package));
}

/* What the model, or cpuid, says about one CPU. */
static bool of_cpu(const struct cpu_facts *f, const struct pm_model *m, const char *name, uint32_t cpu,
		   struct value *v)
{
	bool intel = f->id.vendor == CPU_INTEL;
	uint32_t reg[4];

	*v = value_missing(VALUE_NO_INPUT);
	if (!strcmp(name, "pc6_in_pc7")) {
		/* A factor: missing if the register counts something else. */
		if (f->id.known && f->id.known->features->flags & CPU_PC6_IN_PC7)
			*v = value_of(1);
	} else if (!strcmp(name, "core_zone")) {
		/* Also a factor: the kernel's zone "core" shows the register of one core on AMD. */
		*v = f->id.vendor == CPU_AMD ? value_missing(PM_REASON_NOT_SUPPORTED) : value_of(1);
	} else if (!strcmp(name, "apic_id")) {
		if (cpu_leaf(m, 1, 0, cpu, reg))
			*v = value_of(reg[1] >> 24);
	} else if (!strcmp(name, "x2apic_id")) {
		/* AMD's is in its own leaf, if it says that it has that leaf. */
		if (intel ? cpu_leaf(m, 0xb, 0, cpu, reg) && reg[1] & 0xffff :
			    cpu_leaf(m, 0x80000001, 0, PM_NONE, reg) && reg[2] >> 22 & 1)
			if (intel || cpu_leaf(m, 0x8000001e, 0, cpu, reg))
				*v = value_of(reg[intel ? 3 : 0]);
	} else if (!strcmp(name, "counts_cc3") || !strcmp(name, "counts_cc7")) {
		/* Another factor: registers of states that the model lacks may be readable, and say nothing. */
		*v = value_of(!f->id.known || f->id.known->features->cstates & (name[9] == '3' ? CPU_CC3 : CPU_CC7));
	} else if (!strcmp(name, "c7_in_c6")) {
		bool atom = intel && cpu_leaf(m, 0x1a, 0, cpu, reg) && reg[0] >> 24 == 0x20;

		*v = value_of(atom && (!f->id.known || f->id.known->features->cstates & CPU_CC7));
	} else {
		return false;
	}
	return true;
}

bool cpu_literal(const struct pm_model *m, const char *name, uint32_t package, uint32_t cpu, struct value *v)
{
	struct cpu_facts f;

	cpu_facts_find(m, package, &f);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (strcmp(name, numbers[i].name))
			continue;
		double d = *(const double *)(const void *)((const char *)&f + numbers[i].offset);

		*v = d > 0 ? value_of(d) : value_missing(VALUE_NO_INPUT);
		return true;
	}
	for (size_t i = 0; i < sizeof(traits) / sizeof(traits[0]); i++) {
		if (strcmp(name, traits[i].name))
			continue;
		*v = trait(&f, m, i);
		return true;
	}
	return of_cpu(&f, m, name, cpu, v);
}

/* ---- rules for differences ---- */

static uint64_t to_ns(double s)
{
	return s > 0 && s < 1e9 ? (uint64_t)(s * 1e9) : 0;
}

/* `one`: what a count stands for; `most`: the greatest rate, of that per second; `range`: counts in a turn, or 0. */
static void bound(struct counter_rule *r, double one, double most, double range)
{
	if (!(one > 0) || !(most > 0))
		return;
	r->most = most / one / 1e9;
	r->wrap_ns = to_ns(range * one / most);
}

static const struct {
	const char *name;
	size_t unit; /* offset of what a count stands for */
	enum { OF_PACKAGE, OF_PLATFORM, OF_TIME } of;
} narrow[] = {
	{ "pkg_energy_status", offsetof(struct cpu_facts, energy_unit), OF_PACKAGE },
	{ "pp0_energy_status", offsetof(struct cpu_facts, energy_unit), OF_PACKAGE },
	{ "pp1_energy_status", offsetof(struct cpu_facts, energy_unit), OF_PACKAGE },
	{ "dram_energy_status", offsetof(struct cpu_facts, dram_unit), OF_PACKAGE },
	{ "amd_pkg_energy", offsetof(struct cpu_facts, amd_unit), OF_PACKAGE },
	{ "amd_core_energy", offsetof(struct cpu_facts, amd_unit), OF_PACKAGE },
	{ "platform_energy_status", offsetof(struct cpu_facts, psys_unit), OF_PLATFORM },
	{ "pkg_perf_status", offsetof(struct cpu_facts, time_unit), OF_TIME },
	{ "dram_perf_status", offsetof(struct cpu_facts, time_unit), OF_TIME },
};

static double platform_watts(const struct cpu_facts *f, const struct pm_model *m)
{
	uint32_t packages = 1;

	for (uint32_t i = 0; i < m->topology.n; i++)
		if (m->topology.cpu[i].package != PM_NONE && m->topology.cpu[i].package >= packages)
			packages = m->topology.cpu[i].package + 1;
	return PLATFORM_WATTS + packages * f->most_watts;
}

static void register_rule(const struct cpu_facts *f, const struct pm_model *m, const char *name,
			  struct counter_rule *r)
{
	/* A hypervisor may answer for registers that it does not have; and a processor for energy that it does not
	 * count, which the kernel, too, takes for absent. */
	r->never_zero = pm_map_get(&m->header, PM_HEADER_HYPERVISOR) != NULL;
	r->is_clock = !strcmp(name, "tsc");
	/* A CPU must run to read them. */
	r->advances = r->is_clock || !strcmp(name, "aperf") || !strcmp(name, "mperf");
	for (size_t k = 0; k < sizeof(narrow) / sizeof(narrow[0]); k++) {
		if (strcmp(name, narrow[k].name))
			continue;
		r->never_zero = r->never_zero || narrow[k].of != OF_TIME;
		if (!strncmp(name, "amd_", 4)) {
			r->width = f->amd_bits;
			r->may_be_wide = true;
		}
		bound(r, *(const double *)(const void *)((const char *)f + narrow[k].unit),
		      narrow[k].of == OF_TIME     ? 1 :
		      narrow[k].of == OF_PLATFORM ? platform_watts(f, m) :
						    f->most_watts,
		      r->width == 64 ? 0 : 4294967295.0);
	}
}

static bool is_amd_energy(const struct pm_instance *i)
{
	return !strncmp(pm_map_text(&i->attrs, PM_INSTANCE_NAME, ""), "amd_energy", 10);
}

static enum sensor sensor_of(const struct pm_counter *c)
{
	return !strcmp(c->name, "hwmon.temp") || !strcmp(c->name, "thermal.temp") ? SENSOR_TEMPERATURE :
	       !strcmp(c->name, "hwmon.fan")                                      ? SENSOR_FAN :
										    SENSOR_NONE;
}

bool counter_may_have_rule(const struct pm_counter *c)
{
	return !strncmp(c->name, "msr.", 4) || !strncmp(c->name, ZONE_ENERGY, strlen(ZONE_ENERGY)) ||
	       !strcmp(c->name, "hwmon.energy") || sensor_of(c) ||
	       !strncmp(pm_map_text(&c->attrs, PM_COUNTER_PERF_PMU, ""), "power", 5);
}

bool counter_rule(const struct cpu_facts *f, const struct pm_model *m, const struct pm_counter *c,
		  const struct pm_instance *i, struct counter_rule *r)
{
	double watts = f->most_watts, one = (double)c->scale.num / (double)(c->scale.den ? c->scale.den : 1);

	*r = (struct counter_rule){ .late_ns = LATE_NS, .sensor = sensor_of(c) };
	if (c->semantics != PM_CUMULATIVE)
		return r->sensor;
	if (pm_map_get(&m->header, PM_HEADER_HYPERVISOR))
		r->late_ns = LATE_GUEST_NS;
	if (!strncmp(c->name, "msr.", 4)) {
		register_rule(f, m, c->name + 4, r);
	} else if (!strncmp(c->name, ZONE_ENERGY, strlen(ZONE_ENERGY))) {
		const char *kind = c->name + strlen(ZONE_ENERGY);

		bound(r, one, strcmp(kind, "psys") ? watts : platform_watts(f, m),
		      zones_of(m, kind).range / 1e6 / one);
	} else if (!strncmp(pm_map_text(&c->attrs, PM_COUNTER_PERF_PMU, ""), "power", 5) && c->scale.text &&
		   !parse_double(c->scale.text, &one)) {
		/* The kernel reads it often enough, and adds up the differences. A hypervisor's may answer 0. */
		r->never_zero = pm_map_get(&m->header, PM_HEADER_HYPERVISOR) != NULL;
		bound(r, one, strstr(c->name, "psys") ? platform_watts(f, m) : watts, 0);
	} else if (!strcmp(c->name, "hwmon.energy")) {
		bound(r, one, is_amd_energy(i) ? watts : platform_watts(f, m), 0);
	}
	return r->wrap_ns || r->most > 0 || r->advances || r->never_zero;
}
