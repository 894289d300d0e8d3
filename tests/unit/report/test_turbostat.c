/* turbostat's columns on recordings whose rates are programmed, and what happens when registers misbehave. */
#include "report/cmd_show.c"
#include "tests/unit/lib/turbostat_machine.h"

/* Every column, a row for each place that it has, and the summary. */
static void columns(void **state)
{
	static const struct {
		const char *name;
		enum pm_kind kind;
		double first, second, system; /* of the first two places */
	} row[] = {
		{ "avg_mhz", PM_CPU, 325, 650, 325 * 4.5 },
		{ "bzy_mhz", PM_CPU, 3250, 3250, 3250 },
		{ "busy", PM_CPU, 10, 20, 45 },
		{ "tsc_mhz", PM_CPU, 2600, 2600, 2600 },
		{ "insn_per_cycle", PM_CPU, 1.6, 0.8, 520e6 / (325e6 * 4.5) },
		{ "irq.count", PM_CPU, 101, 101, 808 },
		{ "nmi", PM_CPU, 2, 2, 16 },
		{ "smi", PM_CPU, 3, 3, 24 },
		{ "llc.references", PM_CPU, 8, 8, 64 },
		{ "llc.hit", PM_CPU, 75, 75, 75 },
		{ "l2.references", PM_CPU, 5, 5, 40 },
		{ "l2.hit", PM_CPU, 60, 60, 60 },
		{ "cpu.c1", PM_CPU, 5, 5, 5 },
		{ "cpu.c3", PM_CORE, 2, 2, 2 },
		{ "cpu.c6", PM_CORE, 25, 25, 25 },
		{ "cpu.c7", PM_CORE, 4, 4, 4 },
		{ "package.temp", PM_PACKAGE, 55, 56, 56 },
		{ "package.c0.total", PM_PACKAGE, 150, 150, 150 },
		{ "package.c0.any", PM_PACKAGE, 75, 75, 75 },
		{ "package.c0.gfx", PM_PACKAGE, 50, 50, 50 },
		{ "package.c0.both", PM_PACKAGE, 25, 25, 25 },
		{ "package.c2", PM_PACKAGE, 10, 10, 10 },
		{ "package.c3", PM_PACKAGE, 3, 3, 3 },
		{ "package.c6", PM_PACKAGE, 6, 6, 6 },
		{ "package.c7", PM_PACKAGE, 7, 7, 7 },
		{ "package.c8", PM_PACKAGE, 8, 8, 8 },
		{ "package.c9", PM_PACKAGE, 9, 9, 9 },
		{ "package.c10", PM_PACKAGE, 11, 11, 11 },
		/* Counts are whole numbers: a watt is 16384 of them. */
		{ "pkgwatt", PM_PACKAGE, 35.5, 71, 106.5 },
		{ "pkg_j", PM_PACKAGE, 35.5, 71, 106.5 },
		{ "corwatt", PM_PACKAGE, 20.25, 20.25, 40.5 },
		{ "gfxwatt", PM_PACKAGE, 1.5, 1.5, 3 },
		{ "ramwatt", PM_PACKAGE, 261438 * 15.3e-6, 261438 * 15.3e-6, 2 * 261438 * 15.3e-6 },
		{ "package.throttled", PM_PACKAGE, 12.5, 25, 37.5 },
		{ "memory.throttled", PM_PACKAGE, 6.25, 6.25, 12.5 },
		{ "syswatt", PM_SYSTEM, 60, 0, 60 },
	};
	struct harness h = { 0 };
	struct builder b;

	whole_machine(&b, 0x55);
	start(&h, &b, "all");
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		near(&h, row[i].name, row[i].kind, 0, row[i].first);
		if (row[i].kind != PM_SYSTEM)
			near(&h, row[i].name, row[i].kind, 1, row[i].second);
		near(&h, row[i].name, PM_SYSTEM, 0, row[i].system);
	}
	/* Instances of cores have numbers of their own; the hottest has the smallest distance. */
	assert_true(harness_value(&h, "core.temp", PM_SYSTEM, 0) >= harness_value(&h, "core.temp", PM_CORE, 0));
	harness_stop(&h);
	builder_release(&b);
}

/* What is left of 100 %, where the model has no counter for C1: a core's states count for each of its threads. Efficiency
 * cores, CPUs 4 to 7, count C7 in C6. */
static void soft_c1(void **state)
{
	for (int hybrid = 0; hybrid < 2; hybrid++) {
		struct harness h = { 0 };
		struct builder b;

		builder_init(&b, programmed);
		intel(&b, hybrid ? 0x97 : 0x55);
		add_group(&b, PM_CPU, 8, few_names);
		add_group(&b, PM_CORE, 4, core_names);
		for (uint32_t cpu = 4; hybrid && cpu < 8; cpu++)
			leaf_at(&b, "cpuid.0000001a.0", cpu, 0x20u << 24 | 1, 0, 0, 0);
		start(&h, &b, "all");
		/* Neither model has C3, and a server no C7, whatever their registers say. */
		near(&h, "cpu.c1", PM_CPU, 0, 100 - 10 - 25 - (hybrid ? 4 : 0));
		near(&h, "cpu.c1", PM_CPU, 1, 100 - 20 - 25 - (hybrid ? 4 : 0));
		near(&h, "cpu.c1", PM_CPU, 5, 100 - 60 - 25);
		/* Busier than the other states leave: the counters were not read at one instant. */
		near(&h, "cpu.c1", PM_CPU, 7, 0);
		if (!hybrid)
			near(&h, "cpu.c1", PM_SYSTEM, 0, 100 - 45 - 25);
		harness_stop(&h);
		builder_release(&b);
	}
}

static void amd_cores(void **state)
{
	struct harness h = { 0 };
	struct builder b;

	builder_init(&b, programmed);
	amd(&b);
	add_group(&b, PM_CPU, 8, few_names);
	add_group(&b, PM_CORE, 4, amd_core_names);
	add_group(&b, PM_PACKAGE, 2, amd_package_names);
	start(&h, &b, NULL);
	near(&h, "pkgwatt", PM_PACKAGE, 1, 90);
	near(&h, "pkgwatt", PM_SYSTEM, 0, 180);
	near(&h, "corwatt", PM_CORE, 3, 2.5);
	near(&h, "corwatt", PM_SYSTEM, 0, 10);
	/* No base frequency is known: by the measured TSC. */
	near(&h, "bzy_mhz", PM_CPU, 2, 3250);
	harness_stop(&h);
	builder_release(&b);
}

/* ---- counters that the user described ---- */

static void describe(struct builder *b, uint32_t id, const char *format, const char *type, unsigned char width)
{
	struct pm_counter *c = builder_counter_at(b, id);

	assert_int_equal(pm_map_set(&c->attrs, PM_COUNTER_REQUESTED, pm_bool(true)), 0);
	assert_int_equal(pm_map_set(&c->attrs, PM_COUNTER_ADDED, pm_text("cpu")), 0);
	assert_int_equal(pm_map_set(&c->attrs, PM_COUNTER_ADD_FORMAT, pm_text(format)), 0);
	if (type)
		assert_int_equal(pm_map_set(&c->attrs, PM_COUNTER_ADD_TYPE, pm_text(type)), 0);
	c->width = width;
}

static struct reading added(struct builder *b, const char *name, const struct pm_instance *i, uint64_t row)
{
	if (!strcmp(name, "add.prf_ctrl"))
		return (struct reading){ 0xc00, 0 };
	if (!strcmp(name, "add.cycles"))
		return (struct reading){ row * TSC_HZ / 8, 0 };
	if (!strcmp(name, "add.usec"))
		return (struct reading){ row * 300000, 0 };
	return programmed(b, name, i, row);
}

static void added_counters(void **state)
{
	struct harness h = { 0 };
	struct builder b;
	uint32_t id[3];

	builder_init(&b, added);
	intel(&b, 0x3c);
	add_group(&b, PM_CPU, 8, few_names);
	id[0] = builder_counter(&b, "add.prf_ctrl", "1", PM_BITFIELD, PM_AGG_NONE);
	id[1] = builder_counter(&b, "add.cycles", "1", PM_CUMULATIVE, PM_AGG_MEAN);
	id[2] = builder_counter(&b, "add.usec", "1", PM_CUMULATIVE, PM_AGG_MEAN);
	describe(&b, id[0], "raw", NULL, 32);
	describe(&b, id[1], "percent", NULL, 64);
	describe(&b, id[2], "percent", "usec", 64);
	builder_group(&b, PM_CPU, 8, 0, id, 3);
	start(&h, &b, "Busy%,add");
	assert_int_equal(h.sheet.n_columns, 4);
	assert_string_equal(h.sheet.column[0].metric->name, "busy");
	near(&h, "add.prf_ctrl", PM_CPU, 3, 0xc00);
	assert_int_equal(harness_metric(&h, "add.prf_ctrl")->digits, 8);
	near(&h, "add.cycles", PM_CPU, 3, 12.5);
	near(&h, "add.usec", PM_CPU, 3, 30);
	near(&h, "add.usec", PM_SYSTEM, 0, 30);
	harness_stop(&h);
	builder_release(&b);
}

/* ---- what goes wrong ---- */

static struct reading broken(struct builder *b, const char *name, const struct pm_instance *i, uint64_t row)
{
	const char *what = b->data;
	struct reading r = programmed(b, name, i, row);

	if (!strcmp(what, "eio") && !strcmp(name, "msr.pkg_energy_status") && i->number == 1 && row)
		return (struct reading){ 0, pm_reason_errno(EIO) };
	if (!strcmp(what, "still") && !strcmp(name, "msr.aperf") && i->number == 2)
		r.v = 777;
	if (!strcmp(what, "tsc-stops") && !strcmp(name, "msr.tsc") && i->number == 3)
		r.v = 4711;
	if (!strcmp(what, "tsc-slow") && !strcmp(name, "msr.tsc") && i->number == 3)
		r.v = row * TSC_HZ / 10 * 9;
	if (!strcmp(what, "reset") && !strcmp(name, "msr.pkg_c6_res") && i->number == 0)
		r.v = row ? 5 : 1000000;
	if (!strcmp(what, "zero-at-start") && !strcmp(name, "msr.pkg_energy_status") && !row)
		r.v = 0;
	if (!strcmp(what, "zero-at-start") && !strcmp(name, "msr.pkg_energy_status") && row)
		r.v = (uint64_t)(35.5 * ESU);
	if (!strcmp(what, "answers-zero") && strcmp(name, "msr.tsc"))
		r.v = 0;
	if (!strcmp(what, "too-much") && !strcmp(name, "msr.mperf"))
		r.v = row * TSC_HZ * 2;
	return r;
}

struct broken_case {
	const char *what, *metric;
	enum pm_kind kind;
	uint32_t nth, reason;
	double value; /* if reason is 0 */
	uint64_t period_ns;
};

static void one_broken(const struct broken_case *c)
{
	struct harness h = { 0 };
	struct builder b;

	whole_machine(&b, 0x55);
	b.value = broken;
	b.data = (void *)c->what;
	b.period_ns = c->period_ns ? c->period_ns : b.period_ns;
	if (!strcmp(c->what, "answers-zero"))
		assert_int_equal(pm_map_set(&b.model.header, PM_HEADER_HYPERVISOR, pm_text("kvm")), 0);
	start(&h, &b, "all");
	if (!c->reason) {
		near(&h, c->metric, c->kind, c->nth, c->value);
	} else if (harness_reason(&h, c->metric, c->kind, c->nth) != c->reason) {
		fail_msg("%s, %s of %s %u: reason %u, not %u", c->what, c->metric, pm_kind_name(c->kind), c->nth,
			 harness_reason(&h, c->metric, c->kind, c->nth), c->reason);
	}
	harness_stop(&h);
	builder_release(&b);
}

/* Registers that fail or lie: a reason in their cell and in sums with them, and numbers everywhere else. */
static void misbehaving_registers(void **state)
{
	/* 2^32 / 16384 J at 4 x 65 + 150 W. */
	const uint64_t turn_ns = UINT64_C(262144000000000) / 410;
	const struct broken_case cases[] = {
		{ "eio", "pkgwatt", PM_PACKAGE, 1, 1005 },
		{ "eio", "pkgwatt", PM_SYSTEM, 0, 1005 },
		{ "eio", "pkgwatt", PM_PACKAGE, 0, 0, 35.5 },
		{ "still", "avg_mhz", PM_CPU, 2, REPORT_STILL },
		{ "still", "bzy_mhz", PM_CPU, 2, REPORT_STILL },
		{ "still", "busy", PM_CPU, 2, 0, 30 },
		{ "tsc-stops", "busy", PM_CPU, 3, REPORT_TSC },
		{ "tsc-stops", "busy", PM_CPU, 2, 0, 30 },
		/* A ratio of two counters needs no rate; the frequency is what shows the trouble. */
		{ "tsc-slow", "busy", PM_CPU, 3, 0, 40 / 0.9 },
		{ "tsc-slow", "tsc_mhz", PM_CPU, 3, 0, 2340 },
		{ "tsc-slow", "avg_mhz", PM_CPU, 3, 0, 1300 },
		{ "reset", "package.c6", PM_PACKAGE, 0, REPORT_RESET },
		{ "reset", "package.c6", PM_PACKAGE, 1, 0, 6 },
		{ "zero-at-start", "pkgwatt", PM_PACKAGE, 0, 0, 35.5 },
		{ "zero-at-start", "ramwatt", PM_PACKAGE, 0, 0, 261438 * 15.3e-6 },
		{ "answers-zero", "pkgwatt", PM_PACKAGE, 0, PM_REASON_SUSPECT },
		{ "answers-zero", "package.c6", PM_PACKAGE, 1, PM_REASON_SUSPECT },
		{ "answers-zero", "busy", PM_CPU, 0, PM_REASON_SUSPECT },
		{ "answers-zero", "core.temp", PM_CORE, 0, PM_REASON_SUSPECT },
		{ "too-much", "busy", PM_CPU, 0, VALUE_UNSTABLE },
		/* So long that the counter may have turned round unseen. */
		{ "slow", "pkgwatt", PM_PACKAGE, 0, REPORT_WRAP, 0, turn_ns + 1000000000 },
		{ "slow", "package.c6", PM_PACKAGE, 0, 0, 6, turn_ns + 1000000000 },
		{ "slow", "pkgwatt", PM_PACKAGE, 0, 0, 35.5, UINT64_C(600000000000) },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		one_broken(&cases[i]);
}

/* CPU 3 is not read in the third snapshot. */
static struct reading once_missed(struct builder *b, const char *name, const struct pm_instance *i, uint64_t row)
{
	if (i->kind == PM_CPU && i->number == 3 && row == 2)
		return (struct reading){ 0, PM_REASON_MISSED };
	return programmed(b, name, i, row);
}

static unsigned missed_cells, told_cells;
static double there = 1; /* the share of the time in which CPU 3 could count */

/* Where there is a number it is the programmed one, of CPU 3 and of the system it is part of. */
static void look_past_missed(struct harness *h, const struct interval *interval, size_t n)
{
	const struct sheet_cell *system = harness_cell(h, "tsc_mhz", PM_SYSTEM, 0);
	const struct sheet_cell *own = harness_cell(h, "tsc_mhz", PM_CPU, 3);
	const struct sheet_cell *average = harness_cell(h, "avg_mhz", PM_CPU, 3);

	for (size_t k = 0; k < n; k++) {
		const struct value v[] = { system->value[k], own->value[k], average->value[k] };
		const double truth[] = { 2600, 2600, there * 0.4 * 2600 * 1.25 };

		for (int c = 0; c < 3; c++) {
			missed_cells += v[c].reason != 0;
			told_cells += !v[c].reason;
			if (!v[c].reason && fabs(v[c].v - truth[c]) > 1e-4 * truth[c])
				fail_msg("interval %zu, column %d: %g, not %g", k, c, v[c].v, truth[c]);
		}
	}
}

static void a_missed_reading_bends_no_clock(void **state)
{
	struct harness h = { .look = look_past_missed };
	struct builder b;

	whole_machine(&b, 0x55);
	b.value = once_missed;
	missed_cells = told_cells = 0;
	h.config = (struct sheet_config){ .per = PM_CPU, .summary = true };
	harness_start(&h, &b, "all", REPLAY_EACH);
	harness_feed(&h, 0, 6);
	assert_true(replay_finish(h.replay) >= 0);
	assert_int_equal(h.intervals, 5);
	/* The interval that the reading ends; the mean of the machine is that of the others. The next has the time of
	 * both. */
	assert_int_equal(missed_cells, 2);
	assert_int_equal(told_cells, 13);
	harness_stop(&h);
	builder_release(&b);
}

/* CPU 3 is away for a while. */
static struct reading once_away(struct builder *b, const char *name, const struct pm_instance *i, uint64_t row)
{
	if (i->kind == PM_CPU && i->number == 3 && (row == 3 || row == 4))
		return (struct reading){ 0, PM_REASON_OFFLINE };
	return programmed(b, name, i, row);
}

static void a_cpu_that_was_away_bends_no_clock(void **state)
{
	struct harness h = { .look = look_past_missed };
	struct builder b;

	whole_machine(&b, 0x55);
	b.value = once_away;
	missed_cells = told_cells = 0;
	h.config = (struct sheet_config){ .per = PM_CPU, .summary = true };
	there = 5. / 8;
	harness_start(&h, &b, "all", REPLAY_TOTAL);
	harness_feed(&h, 0, 9);
	assert_true(replay_finish(h.replay) >= 0);
	assert_int_equal(h.intervals, 1);
	assert_int_equal(told_cells, 3);
	there = 1;
	harness_stop(&h);
	builder_release(&b);
}

/* ---- facts ---- */

static void literals(void **state)
{
	static const char *const names[] = {
		"base_hz",          "tsc_hz",         "crystal_hz",     "tsc_tweak",       "perf_factor",
		"rapl_energy_unit", "rapl_dram_unit", "rapl_psys_unit", "rapl_time_unit",  "amd_energy_unit",
		"tj_max",           "has_cc1",        "has_cc3",        "has_cc6",         "has_cc7",
		"has_pc2",          "has_pc3",        "has_pc6",        "has_pc7",         "has_pc8",
		"has_pc9",          "has_pc10",       "has_mc6",        "has_extended_c0", "pc6_in_pc7",
		"apic_id",          "x2apic_id",      "c7_in_c6",       "has_core_energy", "has_gfx_energy",
		"core_zone",        "counts_cc3",     "counts_cc7",
	};
	struct builder b;
	struct value v;

	whole_machine(&b, 0xa7);
	leaf(&b, "cpuid.00000015.0", 2, 216, 24000000, 0);
	leaf(&b, "cpuid.00000016.0", 2600, 4200, 100, 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_true(cpu_literal(&b.model, names[i], PM_NONE, PM_NONE, &v));
	assert_false(cpu_literal(&b.model, "moons", PM_NONE, PM_NONE, &v));
	assert_true(cpu_literal(&b.model, "base_hz", PM_NONE, PM_NONE, &v) && v.v == 2600e6);
	assert_true(cpu_literal(&b.model, "rapl_energy_unit", PM_NONE, PM_NONE, &v) && v.v == 1 / ESU);
	assert_true(cpu_literal(&b.model, "rapl_dram_unit", PM_NONE, PM_NONE, &v) && v.v == 1 / ESU);
	assert_true(cpu_literal(&b.model, "rapl_time_unit", PM_NONE, PM_NONE, &v) && v.v == 1.0 / 1024);
	assert_true(cpu_literal(&b.model, "tj_max", PM_NONE, PM_NONE, &v) && v.v == 100);
	/* The TSC was measured, and runs at the base frequency here. */
	assert_true(cpu_literal(&b.model, "tsc_tweak", PM_NONE, PM_NONE, &v) && v.v == 1);
	pm_map_remove(&b.model.header, PM_HEADER_CLOCK_COUNTER_HZ);
	assert_true(cpu_literal(&b.model, "tsc_tweak", PM_NONE, PM_NONE, &v) && v.v == 2600.0 / 2592);
	builder_release(&b);
}

/* ---- --Dump ---- */

/* The number of the counter, times 4096, the place's number, times 16, and the row. */
static struct reading by_counter(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	uint64_t id = 1;

	while (strcmp(builder_counter_at(b, (uint32_t)id)->name, counter) != 0)
		id++;
	/* Interrupts are missing for one CPU. */
	return (struct reading){ id << 12 | i->number << 4 | row, id == 2 && i->number == 1 ? PM_REASON_MISSED : 0 };
}

/* Name and value of what feeds shown columns; what is missing has no line. */
static void one_dump(void **state)
{
	static const struct {
		const char *name;
		enum pm_kind kind;
		uint32_t n;
	} counters[] = { { "msr.aperf", PM_CPU, 2 },
			 { "interrupts.total", PM_CPU, 2 },
			 { "msr.pkg_energy_status", PM_PACKAGE, 1 },
			 { "msr.pkg_c2_res", PM_PACKAGE, 1 } };
	struct bind_options options = { .columns = COLUMNS_TURBOSTAT };
	struct offer offer = { 0 };
	struct error e = { 0 };
	struct buf out = BUF_INIT;
	struct builder b;

	builder_init(&b, by_counter);
	intel(&b, 0x55);
	for (size_t i = 0; i < sizeof(counters) / sizeof(*counters); i++) {
		uint32_t id = builder_counter(&b, counters[i].name, "1", PM_CUMULATIVE, PM_AGG_SUM);

		builder_group(&b, counters[i].kind, counters[i].n, 0, &id, 1);
	}
	places_update(&offer.places, &b.model);
	assert_int_equal(binding_build(&offer.binding, &offer.places, &options, &e), 0);
	offer.shown = calloc(offer.binding.n_metrics + 1, sizeof(*offer.shown));
	assert_non_null(offer.shown);
	for (size_t i = 0; i < offer.binding.n_metrics; i++)
		offer.shown[i] =
			strcmp(offer.binding.metric[i].name, "package.c2") != 0 && !offer.binding.metric[i].counter;
	dump_turbostat(&offer, builder_chunk(&b, 3, 1, 1), &out);
	assert_string_equal(buf_str(&out), "msr.aperf (cpu 0): 0x0000000000001003\n"
					   "msr.aperf (cpu 1): 0x0000000000001013\n"
					   "interrupts.total (cpu 0): 8195\n"
					   "msr.pkg_energy_status (package 0): 0x0000000000003003\n");
	offer_release(&offer);
	buf_release(&out);
	builder_release(&b);
}

UNIT_TESTS(cmocka_unit_test(one_dump), cmocka_unit_test(columns), cmocka_unit_test(soft_c1),
	   cmocka_unit_test(amd_cores), cmocka_unit_test(misbehaving_registers),
	   cmocka_unit_test(a_missed_reading_bends_no_clock), cmocka_unit_test(a_cpu_that_was_away_bends_no_clock),
	   cmocka_unit_test(literals), cmocka_unit_test(added_counters))
