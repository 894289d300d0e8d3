/* Columns that depend on where a reading was taken: packages with registers of their own, cores of different kinds,
 * telemetry, clusters. */
#include <stdio.h>

#include "tests/unit/lib/turbostat_machine.h"

/* L2_REQUEST.ALL and .HIT of Intel's lists of events, in the bits that the kernel gives event and umask. */
static void events_of_the_second_level_cache_are_named(void **state)
{
	static const struct {
		uint32_t model;
		const char *option;
	} row[] = {
		{ 0x8f, "cpu/event=0x24,umask=0xff/,cpu/event=0x24,umask=0xdf/" },
		{ 0xdd, "cpu/event=0x24,umask=0x1ff/,cpu/event=0x24,umask=0x1bf/" },
		{ 0x97, "cpu_core/event=0x24,umask=0xff/,cpu_core/event=0x24,umask=0xdf/,"
			"cpu_atom/event=0x24,umask=0x0/,cpu_atom/event=0x24,umask=0x2/" },
		{ 0x3c, "" },
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct cpu_identity id = { .vendor = CPU_INTEL, .family = 6, .model = row[i].model };
		struct buf out = BUF_INIT;

		cpu_l2_option(&id, &out);
		assert_string_equal(buf_str(&out), row[i].option);
		buf_release(&out);
	}
}

static bool is_shown(const struct harness *h, const char *display)
{
	for (uint32_t i = 0; i < h->sheet.n_columns; i++)
		if (!strcmp(h->sheet.column[i].metric->display, display))
			return true;
	return false;
}

/* A state that the packages may not enter is not shown, unless somebody asks for it. */
static void package_limits(void **state)
{
	static const struct {
		uint64_t first, second;
		bool pc2, pc6;
	} row[] = {
		{ 0, 0, false, false }, /* pc0 */
		{ 1, 1, true, false },  /* pc2 */
		{ 2, 2, true, true },   /* pc6n */
		{ 1, 7, true, true },   /* one of them may do all */
		{ 4, 4, true, true },   /* reserved: nothing is known */
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct harness h = { 0 };
		struct builder b;

		whole_machine(&b, 0x55);
		config_at(&b, "msr.pkg_cst_config_control", PM_PACKAGE, 0, row[i].first);
		config_at(&b, "msr.pkg_cst_config_control", PM_PACKAGE, 1, row[i].second);
		start(&h, &b, NULL);
		assert_int_equal(is_shown(&h, "Pkg%pc2"), row[i].pc2);
		assert_int_equal(is_shown(&h, "Pkg%pc6"), row[i].pc6);
		assert_true(is_shown(&h, "CPU%c6"));
		harness_stop(&h);
		start(&h, &b, "Pkg%pc6");
		near(&h, "package.c6", PM_PACKAGE, 0, 6);
		harness_stop(&h);
		builder_release(&b);
	}
}

/* Silvermont counts package C6 where others count C7. */
static void silvermont(void **state)
{
	struct harness h = { 0 };
	struct builder b;

	whole_machine(&b, 0x37);
	start(&h, &b, "all");
	near(&h, "package.c6", PM_PACKAGE, 0, 7);
	harness_stop(&h);
	start(&h, &b, NULL);
	assert_true(is_shown(&h, "Pkg%pc6"));
	assert_false(is_shown(&h, "Pkg%pc7"));
	harness_stop(&h);
	builder_release(&b);
}

/* ---- what is no register ---- */

#define CRYSTAL_HZ 38400000.0

static bool second_region(const struct builder *b, const struct pm_instance *i)
{
	unsigned number[2] = { 0, 1 };

	for (int k = 0; k < 2; k++) {
		const struct pm_instance *one = &b->model.instance[b->instance[PM_DEVICE][k] - 1];

		if (sscanf(pm_map_text(&one->attrs, PM_INSTANCE_NAME, ""), "telem%u", &number[k]) != 1)
			number[k] = (unsigned)k;
	}
	return number[i->id != b->instance[PM_DEVICE][0]] != (number[0] < number[1] ? number[0] : number[1]);
}

static struct reading others(struct builder *b, const char *name, const struct pm_instance *i, uint64_t row)
{
	unsigned module;

	/* The region that the kernel found first, and the other. */
	if (!strcmp(name, "pmt.1a067102_120"))
		return (struct reading){ 1000 + (uint64_t)((second_region(b, i) ? 0.5 : 0.3) * CRYSTAL_HZ) * row, 0 };
	if (sscanf(name, "pmt.14421519_%u", &module) == 1) {
		/* 1 %, 3 % ... 23 %, and in the second region 26 %, 28 % ... 48 %. */
		unsigned percent = 2 * ((module - 20936) / 24) + (second_region(b, i) ? 26 : 1);

		return (struct reading){ 7 + UINT64_C(8000000) * percent * row, 0 };
	}
	if (!strcmp(name, "uncorefreq.cluster.0_0"))
		return (struct reading){ 1800000 + 200000 * i->number, 0 };
	if (!strcmp(name, "uncorefreq.cluster.1_0"))
		return (struct reading){ 800000, 0 };
	if (!strcmp(name, "throttle.core"))
		return (struct reading){ 500 + row * (i->cpu + 1), 0 };
	if (!strncmp(name, "core_", 5))
		return (struct reading){ row * (strstr(name, "hits") ? 3000000 : 5000000), 0 };
	if (!strncmp(name, "atom_", 5))
		return (struct reading){ row * (strstr(name, "hits") ? 500000 : 2000000), 0 };
	return programmed(b, name, i, row);
}

#define REGIONS 2

/* Regions as the kernel numbers them; their instances come in the order of `number`. */
static void add_telemetry(struct builder *b, const uint32_t *number)
{
	uint32_t id[13];

	for (uint32_t k = 0; k < REGIONS; k++) {
		struct pm_instance *i = &b->model.instance[b->instance[PM_DEVICE][k] - 1];
		char name[32];

		snprintf(name, sizeof(name), number[k] == PM_NONE ? "other" : "telem%u", number[k]);
		assert_int_equal(pm_map_set(&i->attrs, PM_INSTANCE_NAME, pm_text(name)), 0);
	}
	for (uint32_t m = 0; m < 13; m++) {
		char name[32] = "pmt.1a067102_120";

		if (m < 12)
			snprintf(name, sizeof(name), "pmt.14421519_%u", 20936 + 24 * m);
		id[m] = builder_counter(b, name, "1", PM_BITFIELD, PM_AGG_NONE);
	}
	builder_group(b, PM_DEVICE, REGIONS, 0, id, 13);
}

/* CPUs 4 to 7 of package 1 get numbers from `cpu` on. */
static void start_telemetry(struct harness *h, struct builder *b, uint32_t cpu, const uint32_t *number)
{
	builder_init(b, others);
	intel(b, 0xaa);
	leaf(b, "cpuid.00000015.0", 2, 216, 0, 0); /* the crystal is the model's */
	for (uint32_t k = 4; k < 8; k++)
		b->model.topology.cpu[k].cpu = cpu + k - 4;
	add_telemetry(b, number);
	start(h, b, "Die%c6,CPU%c1e");
	assert_true(is_shown(h, "Die%c6") && is_shown(h, "CPU%c1e"));
}

/* A word of a region counts for the four CPUs of a module, a region for a die; nothing else gives them a row. */
static void telemetry(void **state)
{
	static const struct {
		uint32_t cpu, number[REGIONS];
		double c1e; /* of package 1; package 0 is module 0 */
	} row[] = {
		{ 4, { 0, 1 }, 3 },
		{ 44, { 0, 1 }, 23 },  /* the last module of the first region */
		{ 48, { 0, 1 }, 26 },  /* the first of the second */
		{ 52, { 10, 2 }, 28 }, /* by number, not by name or as they were found */
	};

	for (size_t k = 0; k < sizeof(row) / sizeof(row[0]); k++) {
		struct harness h = { 0 };
		struct builder b;

		start_telemetry(&h, &b, row[k].cpu, row[k].number);
		assert_int_equal(harness_rows(&h, PM_CPU), 8);
		assert_int_equal(harness_rows(&h, PM_DIE), 2);
		for (uint32_t cpu = 0; cpu < 8; cpu++)
			near(&h, "cpu.c1e", PM_CPU, cpu, cpu < 4 ? 1 : row[k].c1e);
		near(&h, "die.c6", PM_DIE, 0, 30);
		near(&h, "die.c6", PM_DIE, 1, 50);
		/* Words of modules that the machine does not have are not in the mean. */
		near(&h, "cpu.c1e", PM_SYSTEM, 0, (1 + row[k].c1e) / 2);
		near(&h, "die.c6", PM_SYSTEM, 0, 40);
		harness_stop(&h);
		builder_release(&b);
	}
}

/* One die has the first region alone, as a machine of one package. */
static void telemetry_of_one_die(void **state)
{
	struct harness h = { 0 };
	struct builder b;

	builder_init(&b, others);
	intel(&b, 0xaa);
	leaf(&b, "cpuid.00000015.0", 2, 216, 0, 0);
	for (uint32_t k = 0; k < 8; k++)
		b.model.topology.cpu[k].package = 0;
	add_telemetry(&b, (const uint32_t[]){ 3, 4 });
	start(&h, &b, "all");
	assert_int_equal(harness_rows(&h, PM_DIE), 1);
	near(&h, "die.c6", PM_DIE, 0, 30);
	near(&h, "die.c6", PM_SYSTEM, 0, 30);
	harness_stop(&h);
	builder_release(&b);
}

/* Names that do not tell the order: the mean of all, and of no CPU. */
static void telemetry_without_order(void **state)
{
	struct harness h = { 0 };
	struct builder b;

	start_telemetry(&h, &b, 4, (const uint32_t[]){ PM_NONE, PM_NONE });
	assert_int_equal(harness_rows(&h, PM_CPU), 0);
	near(&h, "die.c6", PM_SYSTEM, 0, 40);
	near(&h, "cpu.c1e", PM_SYSTEM, 0, 24.5);
	harness_stop(&h);
	builder_release(&b);
}

static void clusters(void **state)
{
	struct harness h = { 0 };
	struct builder b;
	uint32_t id[2];

	builder_init(&b, others);
	intel(&b, 0xad);
	add_group(&b, PM_CPU, 8, few_names);
	for (int i = 0; i < 2; i++) {
		struct pm_counter *c;

		id[i] = builder_counter(&b, i ? "uncorefreq.cluster.1_0" : "uncorefreq.cluster.0_0", "Hz", PM_GAUGE,
					PM_AGG_MEAN);
		c = builder_counter_at(&b, id[i]);
		c->scale.num = 1000;
		assert_int_equal(pm_map_set(&c->attrs, PM_COUNTER_FAMILY, pm_text("uncorefreq.cluster")), 0);
		assert_int_equal(pm_map_set(&c->attrs, PM_COUNTER_MEMBER, pm_text(i ? "1.0" : "0.0")), 0);
	}
	builder_group(&b, PM_PACKAGE, 2, 0, id, 2);
	start(&h, &b, NULL);
	assert_true(is_shown(&h, "UMHz0.0") && is_shown(&h, "UMHz1.0"));
	near(&h, "uncore.cluster.0.0.mhz", PM_PACKAGE, 0, 1800);
	near(&h, "uncore.cluster.0.0.mhz", PM_PACKAGE, 1, 2000);
	near(&h, "uncore.cluster.0.0.mhz", PM_SYSTEM, 0, 1900);
	near(&h, "uncore.cluster.1.0.mhz", PM_PACKAGE, 1, 800);
	harness_stop(&h);
	builder_release(&b);
}

/* ---- the second-level cache ---- */

static uint32_t raw_event(struct builder *b, const char *name, const char *pmu, uint64_t config)
{
	uint32_t id = builder_counter(b, name, "1", PM_CUMULATIVE, PM_AGG_SUM);
	struct pm_counter *c = builder_counter_at(b, id);
	unsigned char attr[16] = { 4 };
	struct pm_value v;

	for (int i = 0; i < 8; i++)
		attr[8 + i] = (unsigned char)(config >> 8 * i);
	v = pm_bytes(attr, sizeof(attr));
	assert_int_equal(pm_map_set(&c->attrs, PM_COUNTER_PERF_ATTR, v), 0);
	assert_int_equal(pm_map_set(&c->attrs, PM_COUNTER_PERF_PMU, pm_text(pmu)), 0);
	return id;
}

static void second_level_cache(void **state)
{
	static const struct {
		uint32_t model;
		const char *pmu[2];
		uint64_t refs[2], hits[2];
		double references, hit; /* of one CPU; 0: no column */
	} row[] = {
		{ 0x8f, { "cpu", NULL }, { 0xff24, 0 }, { 0xdf24, 0 }, 5, 60 },
		{ 0xaf, { "cpu", NULL }, { 0x0024, 0 }, { 0x0224, 0 }, 5, 60 },
		{ 0xdd, { "cpu", NULL }, { 0x1000000ff24, 0 }, { 0x1000000bf24, 0 }, 5, 60 },
		{ 0xdd, { "cpu", NULL }, { 0xff24, 0 }, { 0xbf24, 0 }, 0, 0 }, /* the codes of another model */
		{ 0x97, { "cpu_core", "cpu_atom" }, { 0xff24, 0x24 }, { 0xdf24, 0x224 }, 7, 50 },
		{ 0xbd, { "cpu_core", "cpu_atom" }, { 0xff24, 0x724 }, { 0x5f24, 0x224 }, 7, 50 },
		{ 0xc5, { "cpu_core", "cpu_lowpower" }, { 0xff24, 0x24 }, { 0x5f24, 0x224 }, 7, 50 },
		{ 0xcc, { "cpu_core", "cpu_atom" }, { 0xff24, 0x1000000ff24 }, { 0x5f24, 0x1000000bf24 }, 7, 50 },
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		unsigned pmus = row[i].pmu[1] ? 2 : 1;
		struct harness h = { 0 };
		struct builder b;
		uint32_t id[4];

		builder_init(&b, others);
		intel(&b, row[i].model);
		for (unsigned k = 0; k < pmus; k++) {
			id[2 * k] = raw_event(&b, k ? "atom_refs" : "core_refs", row[i].pmu[k], row[i].refs[k]);
			id[2 * k + 1] = raw_event(&b, k ? "atom_hits" : "core_hits", row[i].pmu[k], row[i].hits[k]);
		}
		builder_group(&b, PM_CPU, 8, 0, id, 2 * pmus);
		start(&h, &b, "all");
		if (row[i].references > 0) {
			near(&h, "l2.references", PM_CPU, 0, row[i].references);
			near(&h, "l2.references", PM_SYSTEM, 0, 8 * row[i].references);
			near(&h, "l2.hit", PM_CPU, 3, row[i].hit);
			near(&h, "l2.hit", PM_SYSTEM, 0, row[i].hit);
		} else {
			assert_null(harness_metric(&h, "l2.references"));
			assert_null(harness_metric(&h, "l2.hit"));
		}
		harness_stop(&h);
		builder_release(&b);
	}
}

UNIT_TESTS(cmocka_unit_test(events_of_the_second_level_cache_are_named), cmocka_unit_test(package_limits),
	   cmocka_unit_test(silvermont), cmocka_unit_test(telemetry), cmocka_unit_test(clusters),
	   cmocka_unit_test(second_level_cache), cmocka_unit_test(telemetry_of_one_die),
	   cmocka_unit_test(telemetry_without_order))
