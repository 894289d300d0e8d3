/* What names in formulas mean in a recording, and which metrics a recording can feed. */
#include "report/metric/bind.h"
#include "tests/unit/lib/report_harness.h"

static uint32_t event(struct builder *b, const char *name)
{
	return builder_counter(b, name, "1", PM_CUMULATIVE, PM_AGG_SUM);
}

static uint32_t counters(struct builder *b, const char *name, uint32_t *id, uint32_t max)
{
	const struct bind_options options = { .counters_only = true };
	struct binding binding = { 0 };
	struct places places = { 0 };
	struct error e = { 0 };
	uint32_t n;

	places_update(&places, &b->model);
	assert_int_equal(binding_build(&binding, &places, &options, &e), 0);
	n = bind_counters(binding.index, name, id, max);
	binding_release(&binding);
	places_release(&places);
	return n;
}

static uint32_t found(struct builder *b, const char *name)
{
	uint32_t id[16] = { 0 };

	return counters(b, name, id, 16) ? id[0] : 0;
}

static void events_have_many_names(void **state)
{
	struct builder b;
	uint32_t cycles, user, exact, pmu, tracepoint;

	builder_init(&b, one_a_row);
	cycles = event(&b, "cpu-cycles");
	user = event(&b, "instructions:u");
	exact = event(&b, "branch-misses:k");
	pmu = event(&b, "cpu/event=0x3c,umask=1/u");
	tracepoint = event(&b, "sched:sched_switch");
	event(&b, "branch-misses");
	assert_int_equal(found(&b, "cpu-cycles"), cycles);
	assert_int_equal(found(&b, "cycles"), cycles);
	assert_int_equal(found(&b, "CYCLES"), cycles);
	assert_int_equal(found(&b, "instructions"), user);
	assert_int_equal(found(&b, "instructions:u"), user);
	/* With modifiers the name means that event alone. */
	assert_int_equal(found(&b, "instructions:k"), 0);
	assert_int_equal(found(&b, "branch-misses:k"), exact);
	assert_int_equal(found(&b, "branch-misses"), tracepoint + 1);
	assert_int_equal(found(&b, "cpu/event=0x3c,umask=1/"), pmu);
	assert_int_equal(found(&b, "sched:sched_switch"), tracepoint);
	assert_int_equal(found(&b, "sched"), 0);
	assert_int_equal(found(&b, "branches"), 0);
	text_attr(&b, tracepoint, PM_COUNTER_PERF_METRIC_ID, "switches");
	assert_int_equal(found(&b, "switches"), tracepoint);
	builder_release(&b);
}

static void families_and_wildcards(void **state)
{
	struct builder b;
	uint32_t id[4], a[2], w[2];

	builder_init(&b, one_a_row);
	a[0] = event(&b, "cpuidle.time.c1");
	a[1] = event(&b, "cpuidle.time.c6");
	for (int i = 0; i < 2; i++)
		text_attr(&b, a[i], PM_COUNTER_FAMILY, "cpuidle.time");
	w[0] = event(&b, "uncore_0/reads/");
	w[1] = event(&b, "uncore_1/reads/");
	event(&b, "uncore_2/reads/");
	for (int i = 0; i < 2; i++) {
		text_attr(&b, w[i], PM_COUNTER_PERF_USER_TEXT, "uncore/reads/");
		assert_int_equal(
			pm_map_set(&builder_counter_at(&b, w[i])->attrs, PM_COUNTER_PERF_WILDCARD, pm_u64(7)), 0);
	}
	text_attr(&b, w[1] + 1, PM_COUNTER_PERF_USER_TEXT, "uncore/reads/");
	assert_int_equal(counters(&b, "cpuidle.time", id, 4), 2);
	assert_int_equal(id[0], a[0]);
	assert_int_equal(id[1], a[1]);
	/* The third was asked for on its own: adding it would count twice. */
	assert_int_equal(counters(&b, "uncore/reads/", id, 4), 2);
	assert_int_equal(id[1], w[1]);
	/* The number of all, also if there is no room for them. */
	assert_int_equal(counters(&b, "cpuidle.time", id, 1), 2);
	builder_release(&b);
}

static double literal(struct places *p, const char *name)
{
	struct value v;

	assert_true(bind_literal(p, name, &v));
	assert_int_equal(v.reason, 0);
	return v.v;
}

/* The core PMU with caps/slots, before something else. */
static void add_caps(struct builder *b, const char *slots)
{
	struct pm_pmu pmu = { 0 };
	struct pm_value caps = pm_array(2);

	for (uint32_t i = 0; i < 2; i++) {
		caps.array.item[i] = pm_array(2);
		caps.array.item[i].array.item[0] = pm_text(i ? "branches" : "slots");
		caps.array.item[i].array.item[1] = pm_text(i ? "0x20" : slots);
	}
	assert_int_equal(pm_map_set(&pmu.attrs, PM_PMU_NAME, pm_text("cpu")), 0);
	assert_int_equal(pm_map_set(&pmu.attrs, PM_PMU_CAPS, caps), 0);
	assert_int_equal(pm_model_add_pmu(&b->model, &pmu), 0);
	pm_map_release(&pmu.attrs);
}

static void machine_facts_come_from_the_recording(void **state)
{
	/* Hexadecimal, whatever is before it; 0 is not said. */
	static const struct {
		const char *text;
		double n;
	} slots[] = { { "0x00000008", 8 }, { "0x1a", 26 }, { "010", 16 }, { "5", 5 },
		      { "0x0", 0 },        { "0x", 0 },    { "", 0 } };
	struct builder b;
	struct places p = { 0 };
	struct value v;

	builder_init(&b, one_a_row);
	assert_int_equal(pm_map_set(&b.model.header, PM_HEADER_CLOCK_COUNTER_HZ, pm_u64(2100000000)), 0);
	places_update(&p, &b.model);
	assert_true(literal(&p, "num_cpus") == 8);
	assert_true(literal(&p, "num_cpus_online") == 8);
	assert_true(literal(&p, "num_cores") == 4);
	assert_true(literal(&p, "num_dies") == 2);
	assert_true(literal(&p, "num_packages") == 2);
	assert_true(literal(&p, "smt_on") == 1);
	assert_true(literal(&p, "system_tsc_freq") == 2100000000);
	assert_true(bind_literal(&p, "slots", &v));
	assert_int_equal(v.reason, VALUE_NO_INPUT);
	assert_false(bind_literal(&p, "num_moons", &v));
	for (size_t i = 0; i < sizeof(slots) / sizeof(*slots); i++) {
		add_caps(&b, slots[i].text);
		assert_true(bind_literal(&p, "slots", &v));
		assert_int_equal(!v.reason, slots[i].n > 0);
		assert_true(v.reason || v.v == slots[i].n);
		pm_map_release(&b.model.pmu[--b.model.n_pmus].attrs);
	}
	/* Without the second threads: what is offline does not count, and is still known to be there. */
	for (uint32_t i = 1; i < 8; i += 2)
		b.model.topology.cpu[i].online = false;
	for (uint32_t i = 1; i < 8; i += 2)
		b.model.topology.cpu[i].core = b.model.topology.cpu[i].package = PM_NONE;
	places_update(&p, &b.model);
	assert_true(literal(&p, "num_cpus") == 8);
	assert_true(literal(&p, "num_cpus_online") == 4);
	assert_true(literal(&p, "num_cores") == 4);
	assert_true(literal(&p, "smt_on") == 0);
	assert_int_equal(places_cpu(&p, 7)->package, 1);
	places_release(&p);
	builder_release(&b);
}

static void nothing(struct harness *h, const struct interval *i, size_t n)
{
}

/* It was asked for: a column without a value says why, no column would say nothing. */
static void what_the_user_added_is_there_unread(void **state)
{
	struct harness h = { .config = { .per = PM_CPU }, .look = nothing, .bind = { .absent = true } };
	const struct bound_metric *m;
	struct builder b;
	uint32_t read, added, other;

	(void)state;
	builder_init(&b, one_a_row);
	read = event(&b, "cycles");
	added = event(&b, "add.mine");
	other = event(&b, "add.other");
	text_attr(&b, added, PM_COUNTER_ADDED, "cpu");
	for (uint32_t c = added; c <= other; c++)
		assert_int_equal(pm_map_set(&builder_counter_at(&b, c)->attrs, PM_COUNTER_PERF_INVALID,
					    pm_u64(PM_REASON_NO_PERMISSION)),
				 0);
	builder_group(&b, PM_CPU, 8, 0, &read, 1);
	harness_start(&h, &b, "all", REPLAY_EACH);
	m = harness_metric(&h, "add.mine");
	assert_non_null(m);
	assert_true(m->absent && m->added && m->default_on);
	assert_int_equal(h.binding.input[m->input[0]].more->value.reason, PM_REASON_NO_PERMISSION);
	assert_null(harness_metric(&h, "add.other"));
	harness_stop(&h);
	builder_release(&b);
}

static void vendor(struct harness *h, struct metric_set *set, struct metric *row, const char *expr)
{
	*row = (struct metric){ .name = "v", .display = "V", .expr = expr };
	*set = (struct metric_set){ .row = row, .n = 1 };
	*h = (struct harness){ .config = { .summary = true, .per = PM_CPU },
			       .look = nothing,
			       .bind = { .vendor = set, .n_vendor = 1 } };
}

static void what_formulas_can_ask(void **state)
{
	static const struct {
		const char *expr;
		double system, cpu;
	} c[] = {
		{ "instructions", 8, 1 },
		{ "instructions * #num_cpus", 64, 8 },
		{ "has_event(instructions) + 10 * has_event(cycles)", 1, -1 },
		{ "cycles if has_event(cycles) else instructions", 8, 1 },
		{ "aggr_nr(instructions)", 8, 1 },
		{ "elapsed(instructions)", 8, 1 },
		{ "rate(instructions)", 8, 1 },
		{ "instructions / duration_time", 8, 1 },
		{ "last(instructions) * 10 + first(instructions)", 80, 10 },
		{ "instructions * strcmp_cpuid_str(GenuineIntel\\-6\\-55\\-\\[5\\-9\\])", 8, 1 },
		{ "instructions * strcmp_cpuid_str(GenuineIntel\\-6\\-5)", 0, 0 },
	};

	for (size_t k = 0; k < sizeof(c) / sizeof(c[0]); k++) {
		struct harness h;
		struct metric_set set;
		struct metric row;
		struct builder b;
		uint32_t id;

		builder_init(&b, one_a_row);
		id = event(&b, "instructions");
		builder_group(&b, PM_CPU, 8, 0, &id, 1);
		vendor(&h, &set, &row, c[k].expr);
		harness_start(&h, &b, "v", REPLAY_EACH);
		harness_feed(&h, 0, 2);
		if (harness_value(&h, "v", PM_SYSTEM, 0) != c[k].system)
			fail_msg("%s: %g, not %g", c[k].expr, harness_value(&h, "v", PM_SYSTEM, 0), c[k].system);
		if (c[k].cpu >= 0)
			assert_true(harness_value(&h, "v", PM_CPU, 5) == c[k].cpu);
		else
			assert_null(harness_cell(&h, "v", PM_CPU, 5));
		harness_stop(&h);
		builder_release(&b);
	}
}

/* Bits 22 to 16 of a register, by hand: 0x5a beside bits that are set, of CPU n less n; CPU 6 says that it is not valid. */
static struct reading thermal(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	uint64_t valid = i->number == 6 ? 0 : UINT64_C(1) << 31;

	return (struct reading){ valid | UINT64_C(1) << 23 | (UINT64_C(0x5a) - i->number) << 16 | 0xffff, 0 };
}

static void fields_of_registers(void **state)
{
	struct harness h;
	struct metric_set set;
	struct metric row;
	struct builder b;
	uint32_t id;

	builder_init(&b, thermal);
	id = builder_counter(&b, "msr.therm_status", "1", PM_BITFIELD, PM_AGG_NONE);
	builder_group(&b, PM_CPU, 8, 0, &id, 1);
	vendor(&h, &set, &row, "msr.therm_status.readout");
	harness_start(&h, &b, "v", REPLAY_EACH);
	harness_feed(&h, 0, 2);
	for (uint32_t cpu = 0; cpu < 8; cpu++)
		if (cpu == 6)
			assert_int_equal(harness_reason(&h, "v", PM_CPU, cpu), PM_REASON_SUSPECT);
		else
			assert_true(harness_value(&h, "v", PM_CPU, cpu) == 0x5a - cpu);
	/* The least distance is that of the hottest, whoever else is not known. */
	assert_true(harness_value(&h, "v", PM_SYSTEM, 0) == 0x53);
	assert_true(sheet_coverage(harness_cell(&h, "v", PM_SYSTEM, 0), 0) == 7 / 8.);
	harness_stop(&h);
	builder_release(&b);
}

static void a_broken_formula_is_named(void **state)
{
	struct harness h;
	struct metric_set set;
	struct metric row;
	struct builder b;
	struct error e = { 0 };
	uint32_t id;

	builder_init(&b, one_a_row);
	id = event(&b, "instructions");
	builder_group(&b, PM_CPU, 8, 0, &id, 1);
	vendor(&h, &set, &row, "instructions / ");
	places_update(&h.places, &b.model);
	assert_true(binding_build(&h.binding, &h.places, &h.bind, &e) < 0);
	assert_non_null(strstr(e.text, "metric v"));
	binding_release(&h.binding);
	places_release(&h.places);
	builder_release(&b);
}

static void names_are_unique(void **state)
{
	struct harness h;
	struct metric_set set;
	struct metric row;
	struct builder b;
	uint32_t id[3];

	builder_init(&b, one_a_row);
	/* An event that is called like a built-in metric, and a vendor's metric like another one. */
	id[0] = event(&b, "migrations");
	id[1] = event(&b, "instructions");
	id[2] = event(&b, "cycles");
	builder_group(&b, PM_CPU, 8, 0, id, 3);
	vendor(&h, &set, &row, "10 * instructions / cycles");
	row.name = "insn_per_cycle";
	harness_start(&h, &b, "all", REPLAY_EACH);
	harness_feed(&h, 0, 2);
	for (size_t i = 0; i < h.binding.n_metrics; i++)
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(h.binding.metric[i].name, h.binding.metric[k].name);
	assert_non_null(harness_metric(&h, "migrations"));
	assert_non_null(harness_metric(&h, "perf.migrations"));
	assert_true(harness_value(&h, "insn_per_cycle", PM_SYSTEM, 0) == 10);
	harness_stop(&h);
	builder_release(&b);
}

static void targets_are_literals(void **state)
{
	static const struct {
		const char *target;
		double cpu, wide;
	} rows[] = { { "system", 1, 1 }, { "cpu", 1, 0 }, { "cgroup", 1, 0 }, { "command", 0, 0 }, { "pid", 0, 0 } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct builder b;
		struct places p = { 0 };

		builder_init(&b, one_a_row);
		assert_int_equal(pm_map_set(&b.model.header, PM_HEADER_TARGET, pm_text(rows[i].target)), 0);
		places_update(&p, &b.model);
		assert_true(literal(&p, "target_cpu") == rows[i].cpu);
		/* Two threads a core: only who counts all of them counts cores. */
		assert_true(literal(&p, "core_wide") == rows[i].wide);
		places_release(&p);
		builder_release(&b);
	}
}

UNIT_TESTS(cmocka_unit_test(events_have_many_names), cmocka_unit_test(families_and_wildcards),
	   cmocka_unit_test(machine_facts_come_from_the_recording),
	   cmocka_unit_test(what_the_user_added_is_there_unread), cmocka_unit_test(what_formulas_can_ask),
	   cmocka_unit_test(fields_of_registers), cmocka_unit_test(a_broken_formula_is_named),
	   cmocka_unit_test(names_are_unique), cmocka_unit_test(targets_are_literals))
