/* Columns that depend on where a reading was taken: packages with registers of their own, clusters. */
#include "tests/unit/lib/turbostat_machine.h"

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

UNIT_TESTS(cmocka_unit_test(package_limits), cmocka_unit_test(silvermont), cmocka_unit_test(clusters))
