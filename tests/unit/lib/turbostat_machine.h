/* A processor of programmed rates, for tests of turbostat's columns. */
#pragma once

#include <errno.h>
#include <math.h>

#include "report/machine/cpu_facts.h"
#include "tests/unit/lib/report_harness.h"

#define TSC_HZ UINT64_C(2600000000)
#define ESU    16384.0 /* counts a joule with rapl_power_unit 0xa0e03 */

static inline void config_at(struct builder *b, const char *name, enum pm_kind kind, uint32_t number, uint64_t v)
{
	struct pm_config c = { .name = (char *)name, .kind = kind, .value = pm_u64(v), .time_ns = BUILDER_START_NS };

	if (number != PM_NONE)
		assert_int_equal(cpulist_add(&c.instances, number), 0);
	assert_int_equal(pm_model_add_config(&b->model, &c), 0);
	cpulist_release(&c.instances);
}

static inline void config(struct builder *b, const char *name, uint64_t v)
{
	config_at(b, name, PM_SYSTEM, PM_NONE, v);
}

static inline void leaf_at(struct builder *b, const char *name, uint32_t cpu, uint32_t eax, uint32_t ebx,
			   uint32_t ecx, uint32_t edx)
{
	const uint32_t reg[4] = { eax, ebx, ecx, edx };
	struct pm_config c = { .name = (char *)name,
			       .kind = cpu == PM_NONE ? PM_SYSTEM : PM_CPU,
			       .time_ns = BUILDER_START_NS };
	uint8_t raw[16];

	for (int i = 0; i < 16; i++)
		raw[i] = (uint8_t)(reg[i / 4] >> (8 * (i % 4)));
	if (cpu != PM_NONE)
		assert_int_equal(cpulist_add(&c.instances, cpu), 0);
	c.value = pm_bytes(raw, sizeof(raw));
	assert_int_equal(pm_model_add_config(&b->model, &c), 0);
	pm_value_release(&c.value);
	cpulist_release(&c.instances);
}

static inline void leaf(struct builder *b, const char *name, uint32_t eax, uint32_t ebx, uint32_t ecx, uint32_t edx)
{
	leaf_at(b, name, PM_NONE, eax, ebx, ecx, edx);
}

/* An Intel processor of family 6: Skylake server is 0x55. */
static inline void intel(struct builder *b, uint32_t model)
{
	leaf(b, "cpuid.00000000.0", 0x16, 0x756e6547, 0x6c65746e, 0x49656e69);
	leaf(b, "cpuid.00000001.0", (model >> 4) << 16 | 6 << 8 | (model & 15) << 4 | 1, 0, 0, 0);
	assert_int_equal(pm_map_set(&b->model.header, PM_HEADER_CLOCK_COUNTER, pm_text("tsc")), 0);
	assert_int_equal(pm_map_set(&b->model.header, PM_HEADER_CLOCK_COUNTER_HZ, pm_u64(TSC_HZ)), 0);
	config(b, "msr.platform_info", UINT64_C(8) << 40 | 26 << 8);
	config(b, "msr.rapl_power_unit", 0xa0e03);
	config(b, "msr.temperature_target", 100 << 16);
	config(b, "msr.pkg_power_info", 0x208); /* 65 W */
}

static inline void amd(struct builder *b)
{
	leaf(b, "cpuid.00000000.0", 0x10, 0x68747541, 0x444d4163, 0x69746e65);
	leaf(b, "cpuid.00000001.0", 0xa << 20 | 2 << 16 | 0xf << 8 | 1 << 4, 0, 0, 0);
	config(b, "msr.amd_power_unit", 0xa1003); /* 2^-16 J */
}

/* What a counter gains in a second. */
static inline double rate_of(const char *name, const struct pm_instance *i)
{
	static const struct {
		const char *name;
		double of_tsc, a_second;
	} row[] = {
		{ "msr.core_c1_res", 0.05, 0 },
		{ "msr.core_c3_res", 0.02, 0 },
		{ "msr.core_c6_res", 0.25, 0 },
		{ "msr.core_c7_res", 0.04, 0 },
		{ "msr.module_c6_res", 0.125, 0 },
		{ "msr.weighted_core_c0", 1.5, 0 },
		{ "msr.any_core_c0", 0.75, 0 },
		{ "msr.any_gfxe_c0", 0.5, 0 },
		{ "msr.core_gfxe_overlap_c0", 0.25, 0 },
		{ "msr.pkg_c2_res", 0.1, 0 },
		{ "msr.pkg_c3_res", 0.03, 0 },
		{ "msr.pkg_c6_res", 0.06, 0 },
		{ "msr.pkg_c7_res", 0.07, 0 },
		{ "msr.pkg_c8_res", 0.08, 0 },
		{ "msr.pkg_c9_res", 0.09, 0 },
		{ "msr.pkg_c10_res", 0.11, 0 },
		{ "msr.smi_count", 0, 3 },
		{ "interrupts.total", 0, 101 },
		{ "cpu/event=0x24,umask=0xff/", 0, 5e6 },
		{ "cpu/event=0x24,umask=0xdf/", 0, 3e6 },
		{ "interrupts.nmi", 0, 2 },
		{ "cache-references", 0, 8e6 },
		{ "cache-misses", 0, 2e6 },
		{ "instructions", 0, 520e6 },
	};
	double package = i->kind == PM_PACKAGE ? i->number + 1 : 1;

	if (!strcmp(name, "msr.tsc"))
		return (double)TSC_HZ;
	if (!strcmp(name, "msr.mperf"))
		return 0.1 * (i->number + 1) * (double)TSC_HZ;
	if (!strcmp(name, "msr.aperf"))
		return 0.1 * (i->number + 1) * (double)TSC_HZ * 1.25;
	if (!strcmp(name, "msr.pkg_energy_status"))
		return 35.5 * package * ESU;
	if (!strcmp(name, "msr.pp0_energy_status"))
		return 20.25 * ESU;
	if (!strcmp(name, "msr.pp1_energy_status"))
		return 1.5 * ESU;
	if (!strcmp(name, "msr.dram_energy_status"))
		return 4 / 15.3e-6;
	if (!strcmp(name, "msr.platform_energy_status"))
		return 60 * ESU;
	if (!strcmp(name, "msr.pkg_perf_status"))
		return 0.125 * package * 1024;
	if (!strcmp(name, "msr.dram_perf_status"))
		return 0.0625 * 1024;
	if (!strcmp(name, "msr.amd_pkg_energy"))
		return 90 * 65536.0;
	if (!strcmp(name, "msr.amd_core_energy"))
		return 2.5 * 65536;
	for (size_t k = 0; k < sizeof(row) / sizeof(row[0]); k++)
		if (!strcmp(row[k].name, name))
			return row[k].of_tsc * (double)TSC_HZ + row[k].a_second;
	return 0;
}

/* Snapshots begin where 32-bit counters are about to wrap; an instance is read when the builder says so. */
static inline struct reading programmed(struct builder *b, const char *name, const struct pm_instance *i,
					uint64_t row)
{
	const struct pm_counter *c = pm_model_counter_named(&b->model, name);
	uint64_t v;

	if (!strcmp(name, "msr.therm_status"))
		return (struct reading){ 1u << 31 | 1u << 27 | (55 - i->number) << 16, 0 };
	if (!strcmp(name, "msr.package_therm_status"))
		return (struct reading){ (45 - i->number) << 16, 0 };
	v = (uint64_t)llround(rate_of(name, i) * (double)row * (double)b->period_ns / 1e9);
	return (struct reading){ c->width == 32 ? (uint32_t)(v + 0xffffff00) : v + 12345, 0 };
}

struct group_of {
	enum pm_kind kind;
	uint32_t n;
	const char *const *name; /* ends with NULL */
};

static const char *const cpu_names[] = { "msr.tsc",
					 "msr.mperf",
					 "msr.aperf",
					 "msr.core_c1_res",
					 "msr.smi_count",
					 "interrupts.total",
					 "interrupts.nmi",
					 "cache-references",
					 "cache-misses",
					 "instructions",
					 "cpu/event=0x24,umask=0xff/",
					 "cpu/event=0x24,umask=0xdf/",
					 NULL };
static const char *const few_names[] = { "msr.tsc", "msr.mperf", "msr.aperf", NULL };
static const char *const core_names[] = { "msr.core_c3_res", "msr.core_c6_res", "msr.core_c7_res", "msr.therm_status",
					  NULL };
/* clang-format off */
static const char *const package_names[] = {
	"msr.pkg_energy_status", "msr.pp0_energy_status", "msr.pp1_energy_status", "msr.dram_energy_status",
	"msr.pkg_perf_status", "msr.dram_perf_status", "msr.package_therm_status", "msr.pkg_c2_res", "msr.pkg_c3_res",
	"msr.pkg_c6_res", "msr.pkg_c7_res", "msr.pkg_c8_res", "msr.pkg_c9_res", "msr.pkg_c10_res",
	"msr.weighted_core_c0", "msr.any_core_c0", "msr.any_gfxe_c0", "msr.core_gfxe_overlap_c0", NULL
};
/* clang-format on */
static const char *const system_names[] = { "msr.platform_energy_status", NULL };
static const char *const amd_core_names[] = { "msr.amd_core_energy", NULL };
static const char *const amd_package_names[] = { "msr.amd_pkg_energy", NULL };

static inline void add_group(struct builder *b, enum pm_kind kind, uint32_t n, const char *const *name)
{
	uint32_t id[32], k = 0;

	for (; name[k]; k++) {
		bool level = strstr(name[k], "therm_status") != NULL;
		bool cycles = strstr(name[k], "_res") || strstr(name[k], "perf") == name[k] + 5 ||
			      strstr(name[k], "_c0") || !strcmp(name[k], "msr.tsc");
		bool narrow = strstr(name[k], "energy") || strstr(name[k], "perf_status") || strstr(name[k], "smi");

		id[k] = builder_counter(b, name[k], "1", level ? PM_BITFIELD : PM_CUMULATIVE,
					level  ? PM_AGG_NONE :
					cycles ? PM_AGG_MEAN :
						 PM_AGG_SUM);
		builder_counter_at(b, id[k])->width = narrow ? 32 : 64;
	}
	builder_group(b, kind, n, 0, id, k);
}

static inline void look_nowhere(struct harness *h, const struct interval *i, size_t n)
{
}

static inline void start(struct harness *h, struct builder *b, const char *show)
{
	h->look = look_nowhere;
	h->config.per = PM_CPU;
	h->config.summary = true;
	harness_start(h, b, show, REPLAY_EACH);
	harness_feed(h, 0, 2);
}

static inline void near(const struct harness *h, const char *metric, enum pm_kind kind, uint32_t nth, double truth)
{
	double v = harness_value(h, metric, kind, nth);

	if (fabs(v - truth) > 1e-6 * (1 + fabs(truth)))
		fail_msg("%s of %s %u: %.9f, not %.9f", metric, pm_kind_name(kind), nth, v, truth);
}

static inline void whole_machine(struct builder *b, uint32_t model)
{
	builder_init(b, programmed);
	intel(b, model);
	add_group(b, PM_CPU, 8, cpu_names);
	add_group(b, PM_CORE, 4, core_names);
	add_group(b, PM_PACKAGE, 2, package_names);
	add_group(b, PM_SYSTEM, 1, system_names);
}
