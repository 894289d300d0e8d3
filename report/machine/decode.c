#include "report/machine/decode.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/cpulist.h"
#include "common/memory.h"
#include "common/names.h"
#include "common/table.h"
#include "report/machine/value_out.h"

/* ---- fields of a text ---- */

static void begin_field(struct decoded *d, const char *name, const char *word)
{
	bool again = word && d->word && !strcmp(d->word, name);

	buf_printf(&d->text, "%s%s%s", d->text.len ? ", " : "", again ? "" : name, again || !*name ? "" : " ");
	d->word = word ? name : NULL;
}

__attribute__((format(printf, 3, 4))) static void decode_put(struct decoded *d, const char *name, const char *format,
							     ...)
{
	va_list ap;

	begin_field(d, name, NULL);
	va_start(ap, format);
	buf_vprintf(&d->text, format, ap);
	va_end(ap);
}

static void decode_add(struct decoded *d, const char *name, double number, const char *unit)
{
	decode_put(d, name, "%.7g%s%s", number, *unit ? " " : "", unit);
}

static void decode_hex(struct decoded *d, const char *name, uint64_t v)
{
	decode_put(d, name, "0x%" PRIx64, v);
}

/* Words of one name are a list: "active PROCHOT, Amps". */
static void decode_word(struct decoded *d, const char *name, const char *word)
{
	begin_field(d, name, word);
	buf_addstr(&d->text, word);
}

static void decode_flag(struct decoded *d, const char *name, bool set, const char *no)
{
	begin_field(d, set ? "" : no, NULL);
	buf_addstr(&d->text, name);
}

/* ---- the registers, as in Intel's SDM (volume 4) and AMD's manuals ---- */

enum field_kind {
	FIELD_NUMBER,
	FIELD_FLAG,    /* set is true: "turbo", or "no turbo" */
	FIELD_STATE,   /* likewise: "locked", or "not locked" */
	FIELD_INVERSE, /* set is false: the bit switches off */
	FIELD_HEX,
	FIELD_RATIO,   /* x bus clock, MHz */
	FIELD_WATTS,   /* x power unit */
	FIELD_WINDOW,  /* 2^Y * (1 + Z/4) x time unit: Y the low 5 bits, Z the 2 above (SDM, Package RAPL Domain) */
	FIELD_SECONDS, /* x time unit */
	FIELD_CELSIUS,
	FIELD_BELOW, /* Celsius below the maximum temperature */
	FIELD_POWER_UNIT,
	FIELD_ENERGY_UNIT,
	FIELD_TIME_UNIT,
	FIELD_LIMIT,   /* deepest package C-state, by model */
	FIELD_BIAS,    /* energy_perf_bias */
	FIELD_AMD_MHZ, /* of a P-state definition (PPR, PStateDef: CpuFid and CpuDfsId) */
	FIELD_BUS,     /* fsb_freq */
};

struct reg_field {
	const char *name;
	uint8_t hi, lo, kind;
	uint32_t only; /* cpu_flag that the model must have; 0: all */
};

struct reg_row {
	const char *name;              /* without "msr." */
	const struct reg_field *field; /* ends with name NULL */
	/* In place of the table, or after it. */
	void (*more)(const struct cpu_facts *f, uint64_t value, struct decoded *d);
	const char *const *reasons; /* [16], of limits: a bit each for what is in force, and 16 above for what was */
	uint32_t needs; /* cpu_flag without which known models use the register for something else; 0: none */
};
#define END \
	{ \
		.name = NULL \
	}
#define FIELDS(...) \
	(const struct reg_field[]) \
	{ \
		__VA_ARGS__, END \
	}

/* ---- what is more than a field ---- */

/* A number in each byte: of so many active cores, or of a group of cores. */
static void each_byte(struct decoded *d, uint64_t value, bool groups, unsigned first, unsigned n, double one,
		      const char *unit)
{
	for (unsigned i = 0; i < n; i++) {
		unsigned v = cpu_bits(value, 8 * i + 7, 8 * i), k = first + i;
		char name[16];

		snprintf(name, sizeof(name), groups ? "group %u" : k > 1 ? "%u cores" : "%u core", k);
		if (v)
			decode_add(d, name, v * one, unit);
	}
}

static void turbo(const struct cpu_facts *f, uint64_t value, struct decoded *d, bool groups, unsigned first,
		  unsigned n)
{
	bool known = f->bclk_mhz > 0;

	each_byte(d, value, groups, first, n, known ? f->bclk_mhz : 1, known ? "MHz" : "x bus clock");
}

/* Groups of cores whose sizes turbo_ratio_limit1 contains, on models that are known to have them. */
static void turbo_first(const struct cpu_facts *f, uint64_t value, struct decoded *d)
{
	/* The first group's ratio, then for each following group by how much it is slower and how many cores it
	 * adds. */
	unsigned ratio = cpu_bits(value, 15, 8), cores = cpu_bits(value, 7, 1);
	char name[16];

	if (!cpu_has(f, CPU_KNL_TURBO)) {
		turbo(f, value, d, cpu_has(f, CPU_TRL_COUNTS), 1, 8);
		return;
	}
	for (unsigned i = 0; i < 7; i++) {
		if (i) {
			ratio -= cpu_bits(value, 8 * i + 15, 8 * i + 13);
			cores += cpu_bits(value, 8 * i + 12, 8 * i + 8);
		}
		snprintf(name, sizeof(name), "group %u", i + 1);
		decode_put(d, name, "up to %u cores %g MHz", cores, ratio * f->bclk_mhz);
	}
}

static void turbo_second(const struct cpu_facts *f, uint64_t value, struct decoded *d)
{
	if (cpu_has(f, CPU_TRL_COUNTS))
		each_byte(d, value, true, 1, 8, 1, "cores at most");
	else
		turbo(f, value, d, false, 9, 8);
}

static void turbo_third(const struct cpu_facts *f, uint64_t value, struct decoded *d)
{
	turbo(f, value, d, false, 17, 2);
}

static void turbo_atom(const struct cpu_facts *f, uint64_t value, struct decoded *d)
{
	/* Six bits each, and also what is 0. */
	for (unsigned i = 0; i < 4; i++)
		decode_add(d, (const char *const[]){ "1 core", "2 cores", "3 cores", "4 cores" }[i],
			   cpu_bits(value, 8 * i + 5, 8 * i) * f->bclk_mhz, "MHz");
}

static void latency(const struct cpu_facts *f, uint64_t value, struct decoded *d)
{
	static const double unit_ns[] = { 1, 32, 1024, 32768, 1048576, 33554432 };
	unsigned unit = cpu_bits(value, 12, 10);

	decode_flag(d, "valid", cpu_bits(value, 15, 15), "not");
	if (unit < 6)
		decode_add(d, "latency", cpu_bits(value, 9, 0) * unit_ns[unit], "ns");
	else
		decode_word(d, "latency", "in an unknown unit");
}

static const char *const core_reasons[16] = {
	[0] = "PROCHOT",      [1] = "ThermStatus", [4] = "Graphics",  [5] = "Auto-HWP",  [6] = "VR-Therm",
	[8] = "Amps",         [9] = "CorePwr",     [10] = "PkgPwrL1", [11] = "PkgPwrL2", [12] = "MultiCoreTurbo",
	[13] = "Transitions",
};
static const char *const skl_reasons[16] = {
	[0] = "PROCHOT",   [1] = "ThermStatus", [4] = "RSR",          [5] = "RATL",
	[6] = "VR-Therm",  [7] = "VR-TDC",      [8] = "Other",        [10] = "PkgPwrL1",
	[11] = "PkgPwrL2", [12] = "MaxTurbo",   [13] = "Transitions",
};
static const char *const gfx_reasons[16] = {
	[0] = "PROCHOT", [1] = "ThermStatus", [4] = "Graphics",  [6] = "VR-Therm",
	[8] = "Amps",    [9] = "GFXPwr",      [10] = "PkgPwrL1", [11] = "PkgPwrL2",
};
static const char *const ring_reasons[16] = {
	[0] = "PROCHOT", [1] = "ThermStatus", [6] = "VR-Therm", [8] = "Amps", [10] = "PkgPwrL1", [11] = "PkgPwrL2",
};

static void decode_reasons(uint64_t value, const char *const *name, struct decoded *d)
{
	for (unsigned half = 0; half < 2; half++)
		for (unsigned i = 0; i < 16; i++)
			if (name[i] && cpu_bits(value, i + 16 * half, i + 16 * half))
				decode_word(d, half ? "logged" : "active", name[i]);
	if (!d->text.len)
		decode_word(d, "active", "nothing");
}

static void microcode(const struct cpu_facts *f, uint64_t value, struct decoded *d)
{
	decode_hex(d, "microcode", f->id.vendor == CPU_AMD ? value & 0xffffffff : value >> 32);
}

/* The time in which the energy counter wraps around: a recording must read it more often. */
static void joule_range(const struct cpu_facts *f, uint64_t value, struct decoded *d)
{
	if (f->range_s > 0) {
		decode_add(d, "counter range", f->range_s, "s");
		decode_add(d, f->tdp_recorded ? "at" : "at a guessed", f->tdp_watts, "W");
	}
}

static void offset(const struct cpu_facts *f, uint64_t value, struct decoded *d)
{
	unsigned n = f->id.known ? f->id.known->features->tcc_bits : 0;

	if (n)
		decode_add(d, "offset", cpu_bits(value, 24 + n - 1, 24), "C");
	else if (!f->id.known && f->id.vendor == CPU_INTEL && cpu_bits(value, 29, 24))
		decode_word(d, "offset", "depends on the model, which is not known");
}

#include "report/machine/registers.inc"

/* ---- recorded registers ---- */

/* Hands over what is complete. */
static void give(struct decoded *d, decode_take take, void *ctx)
{
	memory_whole(&d->text);
	take(ctx, d);
	buf_release(&d->text);
}

/* A number in a unit that another register defines. */
static void scaled(struct decoded *d, const char *name, unsigned raw, double unit, const char *unit_name)
{
	if (unit > 0)
		decode_add(d, name, raw * unit, unit_name);
	else
		decode_add(d, name, raw, "of an unknown unit");
}

static void bias(struct decoded *d, const char *name, unsigned v)
{
	static const char *const known[16] = {
		[0] = "performance", [4] = "balance-performance", [6] = "balanced", [8] = "balance-power",
		[15] = "power",
	};

	decode_put(d, name, known[v & 15] ? "%u (%s)" : "%u", v, known[v & 15]);
}

static void limit(const struct cpu_facts *f, struct decoded *d, const char *name, unsigned v)
{
	const char *text = f->id.known ? cpu_limit_name(f->id.known->features->limits, v) : NULL;

	decode_put(d, name, "%u (%s)", v,
		   text        ? text :
		   f->id.known ? "not known" :
				 "depends on the model, which is not known");
}

static void amd_mhz(const struct cpu_facts *f, struct decoded *d, const char *name, uint64_t v)
{
	unsigned fid = (unsigned)v & 0xff, did = (unsigned)v >> 8 & 0x3f;

	if (f->id.family >= 0x1a)
		decode_add(d, name, ((unsigned)v & 0xfff) * 5.0, "MHz");
	else if (f->id.family >= 0x17 && did)
		decode_add(d, name, 200.0 * fid / did, "MHz");
}

static void decode_field(const struct cpu_facts *f, const struct reg_field *r, uint64_t value, struct decoded *d)
{
	uint64_t raw = value >> r->lo & (~UINT64_C(0) >> (63 - (r->hi - r->lo)));
	unsigned v = (unsigned)raw;
	bool amd = f->id.vendor == CPU_AMD;

	switch ((enum field_kind)r->kind) {
	case FIELD_NUMBER:
		decode_add(d, r->name, v, "");
		return;
	case FIELD_FLAG:
		decode_flag(d, r->name, v, "no");
		return;
	case FIELD_STATE:
		decode_flag(d, r->name, v, "not");
		return;
	case FIELD_INVERSE:
		decode_flag(d, r->name, !v, "no");
		return;
	case FIELD_HEX:
		decode_hex(d, r->name, v);
		return;
	case FIELD_RATIO:
		scaled(d, r->name, v, f->bclk_mhz, "MHz");
		return;
	case FIELD_WATTS:
		scaled(d, r->name, v, f->power_unit, "W");
		return;
	case FIELD_WINDOW:
		scaled(d, r->name, 1, ldexp(1 + (v >> 5 & 3) / 4.0, (int)(v & 31)) * f->time_unit, "s");
		return;
	case FIELD_SECONDS:
		scaled(d, r->name, v, f->time_unit, "s");
		return;
	case FIELD_CELSIUS:
		decode_add(d, r->name, v, "C");
		return;
	case FIELD_BELOW:
		if (f->tj_max > 0)
			decode_add(d, r->name, f->tj_max - v, "C");
		else
			decode_add(d, r->name, v, "C below an unknown maximum");
		return;
	case FIELD_POWER_UNIT:
		decode_add(d, r->name, amd ? ldexp(1, -(int)v) : f->power_unit, "W");
		return;
	case FIELD_ENERGY_UNIT:
		decode_add(d, r->name, amd ? ldexp(1, -(int)v) : f->energy_unit, "J");
		return;
	case FIELD_TIME_UNIT:
		decode_add(d, r->name, amd ? ldexp(1, -(int)v) : f->time_unit, "s");
		return;
	case FIELD_LIMIT:
		limit(f, d, r->name, v);
		return;
	case FIELD_BIAS:
		bias(d, r->name, v);
		return;
	case FIELD_AMD_MHZ:
		amd_mhz(f, d, r->name, raw);
		return;
	case FIELD_BUS:
		if (f->bclk_mhz > 0)
			decode_add(d, r->name, f->bclk_mhz, "MHz");
		return;
	}
}

/* One register, whose text is to be released; false if there is no description of it. */
static bool decode_register(const struct cpu_facts *f, const char *name, uint64_t value, struct decoded *d)
{
	const struct reg_row *r = decode_registers;
	uint32_t flags = f->id.known ? f->id.known->features->flags : 0;

	if (!strncmp(name, "msr.", 4))
		name += 4;
	while (r->name && strcmp(r->name, name))
		r++;
	*d = (struct decoded){ .name = r->name, .value = value };
	if (!r->name || (f->id.known && r->needs && !(flags & r->needs)))
		return false;
	for (const struct reg_field *x = r->field; x && x->name; x++)
		if (!x->only || (flags & x->only))
			decode_field(f, x, value, d);
	if (r->more)
		r->more(f, value, d);
	if (r->reasons)
		decode_reasons(value, r->reasons, d);
	return true;
}

/* Units and clocks of the package that a reading belongs to, if there are several. */
static void facts_of(const struct pm_model *m, const struct cpu_facts *all, const struct pm_config *c,
		     struct cpu_facts *own)
{
	const struct pm_topology *t = &m->topology;
	uint32_t package = PM_NONE;

	if (c->kind == PM_PACKAGE && c->instances.n)
		package = c->instances.cpu[0];
	for (uint32_t i = 0; c->kind == PM_CPU && i < t->n && package == PM_NONE; i++)
		if (cpulist_has(&c->instances, t->cpu[i].cpu))
			package = t->cpu[i].package;
	if (package == PM_NONE || !t->n || t->cpu[0].package == t->cpu[t->n - 1].package)
		*own = *all;
	else
		cpu_facts_find(m, package, own);
}

/* Decodes every reading of a register: at other places, and at the end of the recording if it changed. */
static void decode_readings(const struct pm_model *m, const struct cpu_facts *f, const char *full, decode_take take,
			    void *ctx)
{
	SCOPED(names_release) struct names seen = { 0 };

	for (uint32_t i = 0; i < m->n_configs; i++) {
		const struct pm_config *c = &m->config[i];
		SCOPED(buf_release) struct buf reading = BUF_INIT;
		struct cpu_facts own;
		struct decoded d;
		uint32_t any;

		if (strcmp(c->name, full) || c->reason || c->value.kind != PM_VALUE_U64)
			continue;
		buf_printf(&reading, "%" PRIu64 " %d ", c->value.u64, c->kind);
		cpulist_print(&c->instances, &reading);
		memory_whole(&reading);
		if (names_get(&seen, buf_str(&reading), &any))
			continue;
		memory_done(names_set(&seen, buf_str(&reading), 1));
		facts_of(m, f, c, &own);
		if (!decode_register(&own, full, c->value.u64, &d))
			continue;
		d.name = c->name;
		d.config = c;
		give(&d, take, ctx);
	}
}

void decode_settings(const struct pm_model *m, decode_take take, void *ctx)
{
	static const char *const prefix[] = { "cpufreq.", "intel_pstate.", "cpu_dma_latency",
					      "cpuidle.", "uncorefreq.",   "powercap." };

	for (size_t k = 0; k < sizeof(prefix) / sizeof(prefix[0]); k++) {
		for (uint32_t i = 0; i < m->n_configs; i++) {
			const struct pm_config *c = &m->config[i];
			struct decoded d = { .name = c->name, .config = c };

			if (strncmp(c->name, prefix[k], strlen(prefix[k])) || c->reason ||
			    c->privacy != PM_PRIVACY_TECHNICAL)
				continue;
			value_text(&c->value, &d.text);
			/* The kernel's default: nobody has requested less. */
			if (!strcmp(c->name, "cpu_dma_latency_us") && c->value.kind == PM_VALUE_U64 &&
			    c->value.u64 == 2000000000)
				buf_addstr(&d.text, " (default)");
			give(&d, take, ctx);
		}
	}
}

/* ---- cpuid, and what the model table adds ---- */

struct flag_row {
	uint32_t leaf;
	uint8_t reg; /* 0 eax to 3 edx */
	uint8_t bit;
	const char *name;
};

static const struct flag_row flag_rows[] = {
	{ 1, 2, 0, "SSE3" },
	{ 1, 2, 3, "MONITOR" },
	{ 1, 2, 6, "SMX" },
	{ 1, 2, 7, "EIST" },
	{ 1, 2, 8, "TM2" },
	{ 1, 3, 4, "TSC" },
	{ 1, 3, 5, "MSR" },
	{ 1, 3, 22, "ACPI-TM" },
	{ 1, 3, 28, "HT" },
	{ 1, 3, 29, "TM" },
	{ 1, 2, 31, "hypervisor" },
	{ 6, 0, 0, "DTS" },
	{ 6, 0, 1, "turbo" },
	{ 6, 0, 6, "PTM" },
	{ 6, 0, 7, "HWP" },
	{ 6, 0, 8, "HWP notify" },
	{ 6, 0, 9, "HWP window" },
	{ 6, 0, 10, "HWP EPP" },
	{ 6, 0, 11, "HWP package" },
	{ 6, 2, 0, "APERF/MPERF" },
	{ 6, 2, 3, "EPB" },
	{ 7, 1, 2, "SGX" },
	{ 7, 3, 15, "hybrid" },
	{ 0x80000001, 2, 22, "topology extensions" },
	{ 0x80000007, 3, 8, "invariant TSC" },
	{ 0x80000007, 3, 9, "core performance boost" },
	{ 0x80000007, 3, 14, "RAPL" },
};

static void processor(const struct pm_model *m, const struct cpu_facts *f, struct decoded *d)
{
	const char *hypervisor = pm_map_text(&m->header, PM_HEADER_HYPERVISOR, NULL);
	uint32_t reg[4];

	decode_word(d, "vendor", f->id.vendor_name[0] ? f->id.vendor_name : "not known");
	decode_hex(d, "family", f->id.family);
	decode_hex(d, "model", f->id.model);
	decode_add(d, "stepping", f->id.stepping, "");
	if (f->id.levels)
		decode_hex(d, "cpuid levels", f->id.levels);
	if (cpu_leaf(m, 0x80000000, 0, PM_NONE, reg) && reg[0] >= 0x80000000)
		decode_hex(d, "extended levels", reg[0]);
	if (hypervisor)
		decode_word(d, "hypervisor", hypervisor);
	decode_word(d, "name", f->id.known ? f->id.known->name : "not in the model table");
	if (f->id.known)
		decode_word(d, "features as", f->id.known->features->name);
	else
		decode_word(d, "not known", "C-states, units and limits that differ by model");
}

static void clocks(const struct cpu_facts *f, struct decoded *d)
{
	const struct {
		const char *name;
		double mhz;
	} clock[] = { { "bus clock", f->bclk_mhz },
		      { "base", f->base_hz / 1e6 },
		      { "max efficiency", f->max_efficiency_hz / 1e6 },
		      { "crystal", f->crystal_hz / 1e6 },
		      { "TSC", f->tsc_hz / 1e6 } };

	for (size_t i = 0; i < sizeof(clock) / sizeof(*clock); i++)
		if (clock[i].mhz > 0)
			decode_add(d, clock[i].name, clock[i].mhz, "MHz");
}

static void flags(const struct pm_model *m, uint32_t leaf, const char *name, decode_take take, void *ctx)
{
	struct decoded d = { .name = name };
	uint32_t reg[4];

	if (!cpu_leaf(m, leaf, 0, PM_NONE, reg))
		return;
	for (size_t i = 0; i < sizeof(flag_rows) / sizeof(flag_rows[0]); i++)
		if (flag_rows[i].leaf == leaf)
			decode_flag(&d, flag_rows[i].name, reg[flag_rows[i].reg] >> flag_rows[i].bit & 1, "no");
	give(&d, take, ctx);
}

static void tsc(const struct pm_model *m, const struct cpu_facts *f, decode_take take, void *ctx)
{
	struct decoded d = { .name = "cpuid.00000015" };
	uint32_t reg[4];

	if (f->id.vendor != CPU_INTEL || !cpu_leaf(m, 0x15, 0, PM_NONE, reg) || !reg[0])
		return;
	decode_add(&d, "numerator", reg[1], "");
	decode_add(&d, "denominator", reg[0], "");
	if (reg[2])
		decode_add(&d, "crystal", reg[2] / 1e6, "MHz");
	else if (f->crystal_hz > 0)
		decode_add(&d, "crystal by the model table", f->crystal_hz / 1e6, "MHz");
	if (f->crystal_hz > 0)
		decode_add(&d, "TSC", f->crystal_hz * reg[1] / reg[0] / 1e6, "MHz");
	give(&d, take, ctx);
}

/* SDM, leaf 16H: 0 if the processor, or a hypervisor in its place, does not say. */
static void add_mhz(struct decoded *d, const char *name, uint32_t reg)
{
	if (reg & 0xffff)
		decode_add(d, name, reg & 0xffff, "MHz");
	else
		decode_word(d, name, "not reported");
}

static void frequencies(const struct pm_model *m, const struct cpu_facts *f, decode_take take, void *ctx)
{
	struct decoded d = { .name = "cpuid.00000016" };
	uint32_t reg[4];

	if (f->id.vendor != CPU_INTEL || !cpu_leaf(m, 0x16, 0, PM_NONE, reg))
		return;
	add_mhz(&d, "base", reg[0]);
	add_mhz(&d, "highest", reg[1]);
	add_mhz(&d, "bus", reg[2]);
	give(&d, take, ctx);
}

/* Which CPUs of a hybrid are of which kind. */
static void core_types(const struct pm_model *m, decode_take take, void *ctx)
{
	for (uint32_t i = 0; i < m->n_configs; i++) {
		const struct pm_config *c = &m->config[i];
		struct decoded d = { .name = "cpuid.0000001a", .config = c };
		uint32_t type;

		if (strcmp(c->name, "cpuid.0000001a.0") || c->reason || c->value.kind != PM_VALUE_BYTES ||
		    c->value.str.len != 16)
			continue;
		type = (unsigned char)c->value.str.data[3];
		if (!type)
			continue;
		decode_word(&d, "core",
			    type == 0x20 ? "Atom (efficiency)" :
			    type == 0x40 ? "Core (performance)" :
					   "other");
		give(&d, take, ctx);
	}
}

static void decode_cpuid(const struct pm_model *m, const struct cpu_facts *f, decode_take take, void *ctx)
{
	struct decoded d = { .name = "processor" }, c = { .name = "clocks" };

	if (f->id.vendor == CPU_OTHER)
		return;
	processor(m, f, &d);
	give(&d, take, ctx);
	flags(m, 1, "cpuid.00000001", take, ctx);
	flags(m, 6, "cpuid.00000006", take, ctx);
	flags(m, 7, "cpuid.00000007", take, ctx);
	tsc(m, f, take, ctx);
	frequencies(m, f, take, ctx);
	core_types(m, take, ctx);
	if (f->id.vendor == CPU_AMD)
		flags(m, 0x80000001, "cpuid.80000001", take, ctx);
	flags(m, 0x80000007, "cpuid.80000007", take, ctx);
	clocks(f, &c);
	if (c.text.len)
		give(&c, take, ctx);
}

void decode_all(const struct pm_model *m, decode_take take, void *ctx)
{
	struct cpu_facts f;
	char full[64];

	cpu_facts_find(m, PM_NONE, &f);
	decode_cpuid(m, &f, take, ctx);
	for (const struct reg_row *r = decode_registers; r->name; r++) {
		snprintf(full, sizeof(full), "msr.%s", r->name);
		if (pm_model_config(m, full, PM_NONE))
			decode_readings(m, &f, full, take, ctx);
	}
}

/* ---- for people ---- */

void decode_places(const struct pm_config *c, const char *before, const char *after, struct buf *out)
{
	const char *kind = pm_kind_name(c->kind);

	if (c->kind == PM_SYSTEM || !c->instances.n)
		return;
	buf_printf(out, "%s%s ", before, kind ? kind : "?");
	cpulist_print(&c->instances, out);
	buf_addstr(out, after);
}

static void text_line(void *ctx, struct decoded *d)
{
	struct buf *out = ctx;
	SCOPED(buf_release) struct buf line = BUF_INIT;

	buf_addstr(&line, d->name);
	if (d->config)
		decode_places(d->config, " (", ")", &line);
	buf_addstr(&line, ": ");
	if (!strncmp(d->name, "msr.", 4))
		buf_printf(&line, "0x%08llx%s", (unsigned long long)d->value, d->text.len ? " " : "");
	buf_addstr(&line, buf_str(&d->text));
	/* Names and words come from the file and go to a terminal. */
	memory_whole(&line);
	text_escape(out, buf_str(&line), line.len);
	buf_addch(out, '\n');
	memory_whole(out);
}

void decode_text(const struct pm_model *m, struct buf *out)
{
	decode_all(m, text_line, out);
	decode_settings(m, text_line, out);
}

/* The main facts: who it is, what it can do, how fast and how hot it may run, what power it may take. */
static void main_line(void *ctx, struct decoded *d)
{
	static const char *const facts[] = {
		"processor",
		"cpuid.0000000[167]",
		"cpuid.00000015",
		"cpuid.00000016",
		"clocks",
		"msr.platform_info",
		"msr.turbo_ratio_limit*",
		"msr.config_tdp_*",
		"msr.*_unit",
		"msr.*_power_info",
		"msr.*_power_limit",
		"msr.temperature_target",
		"cpuidle.current_*",
		"cpufreq.scaling_*",
		"intel_pstate.no_turbo",
	};

	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
		if (!fnmatch(facts[i], d->name, 0)) {
			text_line(ctx, d);
			return;
		}
}

/* Nodes are numbered in each package, and threads in each core. */
static void put_topology(const struct places *p, struct buf *out)
{
	for (uint32_t i = 0; i < p->n; i++) {
		const struct pm_cpu *c = &p->cpu[i];
		uint32_t node = c->node;

		for (uint32_t k = 0; k < p->n; k++)
			if (p->cpu[k].package == c->package && p->cpu[k].node < node)
				node = p->cpu[k].node;
		buf_printf(out, "cpu %u pkg %u die %u node %u lnode %u core %u thread %u\n", c->cpu, c->package,
			   c->die == PM_NONE ? 0 : c->die, c->node == PM_NONE ? 0 : c->node, c->node - node, c->core,
			   c->thread);
	}
}

void decode_turbostat(const struct places *places, bool quiet, bool debug, struct buf *out)
{
	const struct pm_model *m = places->model;
	const char *cmdline = pm_map_text(&m->header, PM_HEADER_CMDLINE, NULL);

	if (!quiet)
		buf_addstr(out, "turbostat version 2022.10.04 - pmrep\n");
	if (!quiet && cmdline) {
		buf_addstr(out, "Kernel command line: ");
		text_escape(out, cmdline, strlen(cmdline));
		buf_addch(out, '\n');
	}
	if (debug)
		put_topology(places, out);
	if (!quiet) {
		decode_all(m, main_line, out);
		decode_settings(m, main_line, out);
	}
	memory_whole(out);
}

/* ---- for programs ---- */

static void json_line(void *ctx, struct decoded *d)
{
	struct json *list = ctx, *j = json_new_object();
	SCOPED(buf_release) struct buf cpus = BUF_INIT;
	char value[32];

	json_put(j, "name", json_new_text(d->name));
	if (!strncmp(d->name, "msr.", 4)) {
		snprintf(value, sizeof(value), "0x%llx", (unsigned long long)d->value);
		json_put(j, "value", json_new_text(value));
	}
	if (d->config) {
		const char *kind = pm_kind_name(d->config->kind);

		cpulist_print(&d->config->instances, &cpus);
		json_put(j, "scope", json_new_text(kind ? kind : ""));
		json_put(j, "instances", json_new_buf(&cpus));
	}
	json_put(j, "text", json_new_text(buf_str(&d->text)));
	json_push(list, j);
}

struct json *decode_json(const struct pm_model *m)
{
	struct json *list = json_new_array();

	decode_all(m, json_line, list);
	return list;
}
