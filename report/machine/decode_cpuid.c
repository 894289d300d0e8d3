/* The processor: cpuid, and what the model table adds. */
#include <stdio.h>
#include <string.h>

#include "report/machine/decode.h"

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

static void clocks(const struct pm_model *m, const struct cpu_facts *f, struct decoded *d)
{
	if (f->bclk_mhz > 0)
		decode_add(d, "bus clock", f->bclk_mhz, "MHz");
	if (f->base_hz > 0)
		decode_add(d, "base", f->base_hz / 1e6, "MHz");
	if (f->max_efficiency_hz > 0)
		decode_add(d, "max efficiency", f->max_efficiency_hz / 1e6, "MHz");
	if (f->crystal_hz > 0)
		decode_add(d, "crystal", f->crystal_hz / 1e6, "MHz");
	if (f->tsc_hz > 0)
		decode_add(d, "TSC", f->tsc_hz / 1e6, "MHz");
}

static void flags(const struct pm_model *m, uint32_t leaf, const char *name, decode_take take, void *ctx)
{
	struct decoded d = { .name = name };
	uint32_t reg[4];

	if (!cpu_leaf(m, leaf, 0, PM_NONE, reg))
		return;
	for (size_t i = 0; i < sizeof(flag_rows) / sizeof(flag_rows[0]); i++)
		if (flag_rows[i].leaf == leaf)
			decode_flag(&d, flag_rows[i].name, reg[flag_rows[i].reg] >> flag_rows[i].bit & 1);
	decode_give(&d, take, ctx);
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
	decode_give(&d, take, ctx);
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
	decode_give(&d, take, ctx);
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
		decode_give(&d, take, ctx);
	}
}

void decode_cpuid(const struct pm_model *m, const struct cpu_facts *f, decode_take take, void *ctx)
{
	struct decoded d = { .name = "processor" }, c = { .name = "clocks" };

	if (f->id.vendor == CPU_OTHER)
		return;
	processor(m, f, &d);
	decode_give(&d, take, ctx);
	flags(m, 1, "cpuid.00000001", take, ctx);
	flags(m, 6, "cpuid.00000006", take, ctx);
	flags(m, 7, "cpuid.00000007", take, ctx);
	tsc(m, f, take, ctx);
	frequencies(m, f, take, ctx);
	core_types(m, take, ctx);
	if (f->id.vendor == CPU_AMD)
		flags(m, 0x80000001, "cpuid.80000001", take, ctx);
	flags(m, 0x80000007, "cpuid.80000007", take, ctx);
	clocks(m, f, &c);
	if (c.text.len)
		decode_give(&c, take, ctx);
}
