/* Columns that depend on where a reading was taken: packages with registers of their own, cores of different kinds,
 * clusters. */
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

static struct reading others(struct builder *b, const char *name, const struct pm_instance *i, uint64_t row)
{
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
	   cmocka_unit_test(silvermont), cmocka_unit_test(clusters), cmocka_unit_test(second_level_cache))
