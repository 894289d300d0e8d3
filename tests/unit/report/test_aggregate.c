/* Rows and what is added up in them, on two packages of two cores of two threads. */
#include <stdio.h>

#include "tests/unit/lib/report_harness.h"

/* CPU n counts 10^n a second: who took part in a sum can be read off its digits. */
static uint64_t share(uint32_t cpu)
{
	uint64_t v = 1;

	while (cpu--)
		v *= 10;
	return v;
}

struct plan {
	uint32_t lost, offline; /* bit masks of CPUs whose readings fail */
};

static struct reading read_cpu(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	const struct plan *plan = b->data;
	struct reading r = { 0 };

	if (i->kind == PM_CPU && plan->lost & 1u << i->number)
		r.status = PM_REASON_MISSED;
	if (i->kind == PM_CPU && plan->offline & 1u << i->number)
		r.status = PM_REASON_OFFLINE;
	if (!strcmp(counter, "test.temp"))
		r.v = 40 + i->number; /* a level */
	else if (i->kind == PM_PACKAGE)
		r.v = row * (100 + i->number);
	else
		r.v = row * share(i->number == PM_NONE ? 0 : i->number);
	return r;
}

static void setup(struct builder *b, struct plan *plan)
{
	uint32_t c[3], energy;

	*plan = (struct plan){ 0 };
	builder_init(b, read_cpu);
	b->data = plan;
	c[0] = builder_counter(b, "test.count", "1", PM_CUMULATIVE, PM_AGG_SUM);
	c[1] = builder_counter(b, "test.temp", "Cel", PM_GAUGE, PM_AGG_MAX);
	builder_group(b, PM_CPU, 8, 0, c, 2);
	energy = builder_counter(b, "test.energy", "J", PM_CUMULATIVE, PM_AGG_SUM);
	builder_group(b, PM_PACKAGE, 2, 0, &energy, 1);
}

static void nothing(struct harness *h, const struct interval *i, size_t n)
{
}

static void run(struct harness *h, struct builder *b, enum pm_kind per)
{
	h->look = nothing;
	h->config.per = per;
	harness_start(h, b, "test.*", REPLAY_EACH);
	harness_feed(h, 0, 2);
	assert_int_equal(h->intervals, 1);
}

static void sums_by_level(void **state)
{
	static const struct {
		enum pm_kind per;
		uint32_t rows;
		double sum[8];
	} level[] = {
		{ PM_SYSTEM, 1, { 11111111 } },
		{ PM_PACKAGE, 2, { 1111, 11110000 } },
		{ PM_DIE, 2, { 1111, 11110000 } },
		{ PM_NODE, 2, { 1111, 11110000 } },
		{ PM_CACHE, 2, { 1111, 11110000 } },
		{ PM_CORE, 4, { 11, 1100, 110000, 11000000 } },
		{ PM_CPU, 8, { 1, 10, 100, 1000, 10000, 100000, 1000000, 10000000 } },
	};

	for (size_t l = 0; l < sizeof(level) / sizeof(level[0]); l++) {
		struct harness h = { .config = { .summary = true } };
		struct builder b;
		struct plan plan;

		setup(&b, &plan);
		run(&h, &b, level[l].per);
		assert_int_equal(harness_rows(&h, level[l].per), level[l].rows);
		for (uint32_t i = 0; i < level[l].rows; i++)
			assert_true(harness_value(&h, "test.count", level[l].per, i) == level[l].sum[i]);
		assert_true(harness_value(&h, "test.count", PM_SYSTEM, 0) == 11111111);
		assert_true(harness_value(&h, "test.temp", PM_SYSTEM, 0) == 47);
		assert_true(harness_value(&h, "test.energy", PM_SYSTEM, 0) == 201);
		/* Energy of a package is of no CPU. */
		if (level[l].per != PM_SYSTEM)
			assert_true(harness_value(&h, "test.energy", PM_PACKAGE, 1) == 101);
		if (level[l].per == PM_CPU)
			assert_null(harness_cell(&h, "test.energy", PM_CPU, 0));
		harness_stop(&h);
		builder_release(&b);
	}
}

static struct reading of_three(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	static const uint64_t v[] = { 7, 3, 5 };
	const uint16_t *status = b->data;
	uint64_t base = strcmp(counter, "test.total") ? 0 : 1000 * row;

	return (struct reading){ base + v[i->number] * (base ? row : 1), row ? status[i->number] : 0 };
}

/* Levels of 7, 3 and 5 on three CPUs, together, by each rule; and how many there are. */
static void rules(void **state)
{
	enum { AWAY = PM_REASON_OFFLINE, LOST = PM_REASON_ERRNO + 5, SEVERAL = REPORT_LEVEL };
	static const struct {
		uint16_t status[3];
		double v[6];        /* by rule */
		uint16_t reason[6]; /* of sums, of those that let others remain, of none */
		double n;
	} c[] = {
		{ { 0, 0, 0 }, { 15, 5, 7, 3, 7, 0 }, { 0, 0, 0, 0, 0, SEVERAL }, 3 },
		{ { AWAY, 0, 0 }, { 8, 4, 5, 3, 3, 0 }, { 0, 0, 0, 0, 0, SEVERAL }, 2 },
		{ { 0, AWAY, AWAY }, { 7, 7, 7, 7, 7, 7 }, { 0, 0, 0, 0, 0, 0 }, 1 },
		{ { 0, 0, LOST }, { 0, 5, 7, 3, 7, 0 }, { LOST, 0, 0, 0, 0, LOST }, 0 },
		{ { LOST, 0, AWAY }, { 0, 3, 3, 3, 3, 0 }, { LOST, 0, 0, 0, 0, LOST }, 0 },
		{ { LOST, LOST + 1, AWAY }, { 0 }, { LOST, LOST, LOST, LOST, LOST, LOST }, 0 },
		{ { AWAY, AWAY, AWAY }, { 0 }, { AWAY, AWAY, AWAY, AWAY, AWAY, AWAY }, 0 },
	};
	static const char *const name[] = { "test.r0", "test.r1", "test.r2", "test.r3", "test.r4", "test.r5" };
	struct metric row[7] = { { .name = "n", .display = "n", .expr = "aggr_nr(test.total)" } };
	struct metric_set set = { .row = row, .n = 7 };

	(void)state;
	for (size_t i = 0; i < 6; i++)
		row[i + 1] = (struct metric){ .name = name[i] + 5, .display = name[i] + 5, .expr = name[i] };
	for (size_t k = 0; k < sizeof(c) / sizeof(*c); k++) {
		struct harness h = { .config = { .per = PM_SYSTEM, .summary = true },
				     .bind = { .vendor = &set, .n_vendor = 1 },
				     .look = nothing };
		struct builder b;
		uint32_t id[7];
		const struct sheet_cell *cell;

		builder_init(&b, of_three);
		b.data = (void *)c[k].status;
		for (uint32_t i = 0; i < 6; i++)
			id[i] = builder_counter(&b, name[i], "1", PM_GAUGE, (enum pm_aggregation)i);
		id[6] = builder_counter(&b, "test.total", "1", PM_CUMULATIVE, PM_AGG_SUM);
		builder_group(&b, PM_CPU, 3, 0, id, 7);
		harness_start(&h, &b, "n,r0,r1,r2,r3,r4,r5", REPLAY_EACH);
		harness_feed(&h, 0, 2);
		for (uint32_t i = 0; i < 6; i++) {
			if (harness_reason(&h, name[i] + 5, PM_SYSTEM, 0) != c[k].reason[i])
				fail_msg("case %zu, rule %u: %u", k, i,
					 harness_reason(&h, name[i] + 5, PM_SYSTEM, 0));
			if (!c[k].reason[i] && harness_value(&h, name[i] + 5, PM_SYSTEM, 0) != c[k].v[i])
				fail_msg("case %zu, rule %u: %g", k, i, harness_value(&h, name[i] + 5, PM_SYSTEM, 0));
		}
		assert_int_equal(harness_reason(&h, "n", PM_SYSTEM, 0), c[k].reason[0]);
		cell = harness_cell(&h, "n", PM_SYSTEM, 0);
		assert_true(c[k].reason[0] || cell->value[0].v == c[k].n);
		/* What is lost is not covered; what is absent takes no part. */
		cell = harness_cell(&h, "r1", PM_SYSTEM, 0);
		for (uint32_t i = 0, known = 0, lost = 0; i <= 3; i++) {
			if (i == 3 && lost)
				assert_true(cell->coverage && cell->coverage[0] == (double)known / (known + lost));
			else if (i == 3)
				assert_true(!cell->coverage || cell->coverage[0] == 1);
			else
				known += !c[k].status[i], lost += c[k].status[i] >= LOST;
		}
		harness_stop(&h);
		builder_release(&b);
	}
}

static void events_of_a_package_count_once(void **state)
{
	struct harness h = { .config = { .summary = true } };
	struct builder b;
	struct plan plan;

	setup(&b, &plan);
	assert_int_equal(pm_map_set(&builder_counter_at(&b, 1)->attrs, PM_COUNTER_PERF_PER_PKG, pm_bool(true)), 0);
	/* The first CPU of package 1 has no value: its neighbour says the same. */
	plan.lost = 1u << 4;
	run(&h, &b, PM_PACKAGE);
	assert_true(harness_value(&h, "test.count", PM_PACKAGE, 0) == 1);
	assert_true(harness_value(&h, "test.count", PM_PACKAGE, 1) == 100000);
	assert_true(harness_value(&h, "test.count", PM_SYSTEM, 0) == 100001);
	harness_stop(&h);
	/* One is lost, and the others are offline: nothing is known of the package, which is more than its absence. */
	plan.lost = 1u << 0;
	plan.offline = 7u << 1;
	h = (struct harness){ .config = { .summary = true } };
	run(&h, &b, PM_PACKAGE);
	assert_int_equal(harness_reason(&h, "test.count", PM_PACKAGE, 0), PM_REASON_MISSED);
	assert_true(harness_value(&h, "test.count", PM_PACKAGE, 1) == 10000);
	assert_int_equal(harness_reason(&h, "test.count", PM_SYSTEM, 0), PM_REASON_MISSED);
	harness_stop(&h);
	/* Where every other CPU is of package 1. */
	plan.lost = plan.offline = 0;
	for (uint32_t i = 0; i < BUILDER_CPUS; i++)
		b.model.topology.cpu[i].package = i % 2;
	h = (struct harness){ .config = { .summary = true } };
	run(&h, &b, PM_PACKAGE);
	assert_true(harness_value(&h, "test.count", PM_PACKAGE, 1) == 10);
	assert_true(harness_value(&h, "test.count", PM_SYSTEM, 0) == 11);
	harness_stop(&h);
	builder_release(&b);
}

static void rows_of_some_cpus(void **state)
{
	struct harness h = { .config = { .summary = true, .rows = SHEET_CPU_SET } };
	struct builder b;
	struct plan plan;

	setup(&b, &plan);
	assert_int_equal(cpulist_parse(&h.config.cpus, "2,5..6", true, NULL), 0);
	run(&h, &b, PM_CPU);
	assert_int_equal(harness_rows(&h, PM_CPU), 3);
	assert_true(harness_value(&h, "test.count", PM_CPU, 0) == 100);
	assert_true(harness_value(&h, "test.count", PM_CPU, 2) == 1000000);
	/* The summary stays over all. */
	assert_true(harness_value(&h, "test.count", PM_SYSTEM, 0) == 11111111);
	harness_stop(&h);
	cpulist_release(&h.config.cpus);
	h = (struct harness){ .config = { .rows = SHEET_FIRST_OF_CORE } };
	run(&h, &b, PM_CPU);
	assert_int_equal(harness_rows(&h, PM_CPU), 4);
	assert_true(harness_value(&h, "test.count", PM_CPU, 3) == 1000000);
	harness_stop(&h);
	h = (struct harness){ .config = { .rows = SHEET_FIRST_OF_PACKAGE } };
	run(&h, &b, PM_CPU);
	assert_int_equal(harness_rows(&h, PM_CPU), 2);
	assert_true(harness_value(&h, "test.count", PM_CPU, 1) == 10000);
	harness_stop(&h);
	builder_release(&b);
}

static void what_has_no_place_at_a_level(void **state)
{
	struct harness h = { .config = { .only_per = true } };
	struct builder b;
	struct plan plan;
	uint32_t zone, watts;

	setup(&b, &plan);
	zone = builder_counter(&b, "test.zone", "Cel", PM_GAUGE, PM_AGG_MAX);
	builder_group(&b, PM_DEVICE, 2, 0, &zone, 1);
	watts = builder_counter(&b, "test.platform", "J", PM_CUMULATIVE, PM_AGG_SUM);
	builder_group(&b, PM_SYSTEM, 1, 0, &watts, 1);
	run(&h, &b, PM_PACKAGE);
	/* The whole system has energy when packages were asked for, but no sum of packages; a zone is no package. */
	assert_int_equal(harness_rows(&h, PM_DEVICE), 0);
	assert_null(harness_cell(&h, "test.count", PM_SYSTEM, 0));
	assert_true(harness_value(&h, "test.platform", PM_SYSTEM, 0) == 1);
	harness_stop(&h);
	h = (struct harness){ .config = { .summary = true } };
	run(&h, &b, PM_CPU);
	assert_int_equal(harness_rows(&h, PM_DEVICE), 2);
	harness_stop(&h);
	/* A zone of no CPU is of no package, but keeps its row beside theirs. */
	h = (struct harness){ .config = { .summary = true } };
	run(&h, &b, PM_PACKAGE);
	assert_int_equal(harness_rows(&h, PM_DEVICE), 2);
	assert_int_equal(harness_rows(&h, PM_PACKAGE), 2);
	harness_stop(&h);
	builder_release(&b);
	/* Of which node the PMU of a split package is, nothing says: there is no row, not an empty one either. */
	setup(&b, &plan);
	b.model.topology.cpu[1].node = 2;
	b.model.topology.cpu[5].node = 3;
	zone = builder_counter(&b, "test.uncore", "1", PM_CUMULATIVE, PM_AGG_SUM);
	builder_group(&b, PM_PMU, 2, 0, &zone, 1);
	h = (struct harness){ .config.per = PM_NODE, .look = nothing };
	harness_start(&h, &b, "test.uncore", REPLAY_EACH);
	assert_int_equal(h.sheet.n_rows, 0);
	harness_stop(&h);
	builder_release(&b);
}

/* Each row and each interval is judged for itself: 55556 of the system and 110001 of package 1 are too much, 11 of package
 * 0 is not. In the second interval it is not known, nor is the sum. */
static void look_judged(struct harness *h, const struct interval *i, size_t n)
{
	assert_int_equal(n, 2);
	for (size_t k = 0; k < 2; k++) {
		assert_int_equal(sheet_verdict(&h->sheet, harness_cell(h, "share", PM_SYSTEM, 0), k),
				 k ? SHEET_UNKNOWN : SHEET_BAD);
		assert_int_equal(sheet_verdict(&h->sheet, harness_cell(h, "share", PM_PACKAGE, 0), k),
				 k ? SHEET_UNKNOWN : SHEET_GOOD);
		assert_int_equal(sheet_verdict(&h->sheet, harness_cell(h, "share", PM_PACKAGE, 1), k), SHEET_BAD);
	}
}

static struct reading missed_later(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	struct reading r = read_cpu(b, counter, i, row);

	if (i->kind == PM_PACKAGE && !i->number && row == 2)
		r.status = PM_REASON_MISSED;
	return r;
}

static void thresholds_judge_each_interval(void **state)
{
	struct harness h = { .config = { .per = PM_PACKAGE } };
	struct metric row = { .name = "share",
			      .display = "share",
			      .unit = "1",
			      .expr = "test.count / test.energy",
			      .threshold = "test.count / test.energy > 1000" };
	struct metric_set set = { .row = &row, .n = 1 };
	struct builder b;
	struct plan plan;

	setup(&b, &plan);
	b.value = missed_later;
	h.config.summary = true;
	h.bind.vendor = &set;
	h.bind.n_vendor = 1;
	h.look = look_judged;
	harness_start(&h, &b, "share", REPLAY_EACH);
	harness_feed(&h, 0, 3);
	assert_int_equal(h.intervals, 2);
	harness_stop(&h);
	builder_release(&b);
}

static void add_pmu(struct builder *b, const char *name, const char *cpus, uint16_t refused)
{
	struct pm_pmu pmu = { 0 };

	assert_int_equal(pm_map_set(&pmu.attrs, PM_PMU_NAME, pm_text(name)), 0);
	if (cpus)
		assert_int_equal(pm_map_set(&pmu.attrs, PM_PMU_CPUMASK, pm_text(cpus)), 0);
	if (refused)
		assert_int_equal(pm_map_set(&pmu.attrs, PM_PMU_REFUSED, pm_u64(refused)), 0);
	assert_int_equal(pm_model_add_pmu(&b->model, &pmu), 0);
	pm_map_release(&pmu.attrs);
}

/* A counter of an event of a PMU that was requested with others; which was refused, or has the instance. */
static uint32_t add_member(struct builder *b, const char *pmu, const char *event, uint32_t wildcard, uint16_t invalid,
			   const uint32_t *instance)
{
	char name[64];
	uint32_t id;
	struct pm_group g = { .source = (char *)"perf",
			      .counter = &id,
			      .n_counters = 1,
			      .n_instances = 1,
			      .instance = (uint32_t *)instance };

	snprintf(name, sizeof(name), "%s/%s/", pmu, event);
	id = builder_counter(b, name, "1", PM_CUMULATIVE, PM_AGG_SUM);
	text_attr(b, id, PM_COUNTER_PERF_PMU, pmu);
	text_attr(b, id, PM_COUNTER_PERF_EVENT, name);
	text_attr(b, id, PM_COUNTER_PERF_USER_TEXT, event);
	assert_int_equal(pm_map_set(&builder_counter_at(b, id)->attrs, PM_COUNTER_PERF_WILDCARD, pm_u64(wildcard)),
			 0);
	if (invalid) {
		assert_int_equal(
			pm_map_set(&builder_counter_at(b, id)->attrs, PM_COUNTER_PERF_INVALID, pm_u64(invalid)), 0);
		return id;
	}
	assert_int_equal(
		pm_map_set(&builder_counter_at(b, id)->attrs, PM_COUNTER_PERF_GROUP, pm_u64(b->model.n_groups + 1)),
		0);
	assert_true(pm_model_add_group(&b->model, &g) > 0);
	return id;
}

/* The name of an event alone means all PMUs that have it, known kinds or not; cores have kinds of their own. */
static void events_without_pmus(void **state)
{
	static const char *const kinds[] = { "uncore_imc", "acme", "cpu" };
	struct metric row[] = { { .name = "r", .display = "r", .expr = "reads" },
				{ .name = "w", .display = "w", .expr = "writes" },
				{ .name = "f", .display = "f", .expr = "fills" } };
	struct metric_set set = { .row = row, .n = 3 };

	for (size_t k = 0; k < 3; k++) {
		struct harness h = { .config = { .per = PM_PACKAGE, .summary = true }, .look = nothing };
		struct builder b;
		char pmu[3][32];

		h.bind.vendor = &set;
		h.bind.n_vendor = 1;
		builder_init(&b, one_a_row);
		/* It is not of the kind. */
		add_pmu(&b, "arm_dsu_3", "0", PM_REASON_NOT_SUPPORTED);
		for (int i = 0; i < 3; i++) {
			snprintf(pmu[i], sizeof(pmu[i]), "%s_%d", kinds[k], i);
			add_pmu(&b, pmu[i], k < 2 ? "0" : NULL, 0);
		}
		for (uint32_t i = 0; i < 3; i++) {
			add_member(&b, pmu[i], "reads", 7, i == 2 ? PM_REASON_NO_PERMISSION : 0,
				   &b.instance[PM_PMU][0]);
			add_member(&b, pmu[i], "writes", 8, 0, &b.instance[PM_PMU][0]);
		}
		add_member(&b, pmu[1], "fills", 0, 0, &b.instance[PM_PMU][0]);
		harness_start(&h, &b, "r,w,f", REPLAY_EACH);
		harness_feed(&h, 0, 2);
		assert_true(harness_value(&h, "w", PM_SYSTEM, 0) == 3);
		assert_int_equal(harness_reason(&h, "r", PM_SYSTEM, 0), k < 2 ? PM_REASON_NO_PERMISSION : PM_OK);
		assert_int_equal(harness_reason(&h, "f", PM_SYSTEM, 0), k < 2 ? PM_REASON_NOT_READ : PM_OK);
		harness_stop(&h);
		builder_release(&b);
	}
}

/* Counters of one name, by kind of CPUs: one is absent, one lost, one known, as the test says. */
static struct reading of_kinds(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	const uint16_t *status = b->data;

	(void)i;
	return (struct reading){ row, status[counter[4] - '0'] };
}

static void an_absent_part_hides_no_loss(void **state)
{
	enum { AWAY = PM_REASON_OFFLINE, LOST = PM_REASON_NO_PERMISSION };
	static const struct {
		uint16_t status[3], reason;
		double sum;
	} c[] = {
		{ { 0, 0, 0 }, 0, 3 },          { { AWAY, 0, 0 }, 0, 2 },       { { 0, AWAY, AWAY }, 0, 1 },
		{ { AWAY, AWAY, AWAY }, AWAY }, { { AWAY, AWAY, LOST }, LOST }, { { LOST, AWAY, AWAY }, LOST },
		{ { AWAY, LOST, 0 }, LOST },    { { AWAY, 0, LOST }, LOST },    { { LOST, AWAY, 0 }, LOST },
	};
	struct metric row = { .name = "r", .display = "r", .expr = "reads" };
	struct metric_set set = { .row = &row, .n = 1 };

	(void)state;
	for (size_t k = 0; k < sizeof(c) / sizeof(*c); k++) {
		struct harness h = { .config = { .per = PM_SYSTEM, .summary = true },
				     .bind = { .vendor = &set, .n_vendor = 1 },
				     .look = nothing };
		struct builder b;
		char pmu[8];

		builder_init(&b, of_kinds);
		b.data = (void *)c[k].status;
		for (uint32_t i = 0; i < 3; i++) {
			snprintf(pmu, sizeof(pmu), "cpu_%u", i);
			add_pmu(&b, pmu, NULL, 0);
			add_member(&b, pmu, "reads", 7, 0, &b.instance[PM_CPU][i]);
		}
		harness_start(&h, &b, "r", REPLAY_EACH);
		harness_feed(&h, 0, 2);
		assert_int_equal(harness_reason(&h, "r", PM_SYSTEM, 0), c[k].reason);
		assert_true(c[k].reason || harness_value(&h, "r", PM_SYSTEM, 0) == c[k].sum);
		harness_stop(&h);
		builder_release(&b);
	}
}

UNIT_TESTS(cmocka_unit_test(sums_by_level), cmocka_unit_test(rules), cmocka_unit_test(events_of_a_package_count_once),
	   cmocka_unit_test(rows_of_some_cpus), cmocka_unit_test(what_has_no_place_at_a_level),
	   cmocka_unit_test(thresholds_judge_each_interval), cmocka_unit_test(an_absent_part_hides_no_loss),
	   cmocka_unit_test(events_without_pmus))
