/* The smaller parts beside the binding: what grows with the interval, what was recorded with -M, vendors' files, and one
 * column for an event of several PMUs. */
#include "tests/unit/lib/report_harness.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "report/metric/vendor_files.h"
#include "tests/unit/lib/captured.h"

static void nothing(struct harness *h, const struct interval *i, size_t n)
{
	(void)h, (void)i, (void)n;
}

static uint32_t counter(struct builder *b, const char *name, enum pm_semantics semantics, enum pm_aggregation how)
{
	uint32_t id = builder_counter(b, name, "1", semantics, how);

	builder_group(b, PM_CPU, 8, 0, &id, 1);
	return id;
}

/* Twice the interval, twice the number. */
static void amounts(void **state)
{
	static const struct {
		const char *expr;
		bool amount;
	} c[] = {
		{ "instructions", true },
		{ "test.delta", true },
		{ "test.level", false },
		{ "3 * instructions", true },
		{ "instructions + cycles", true },
		{ "instructions + test.delta", true },
		{ "instructions - 7", false },
		{ "instructions + test.level", false },
		{ "instructions * test.level", true },
		{ "instructions * cycles", false },
		{ "instructions / cycles", false },
		{ "instructions * cycles / (instructions + cycles)", true },
		{ "instructions / duration_time", false },
		{ "instructions * #num_cpus", true },
		{ "#num_cpus", false },
		{ "5", false },
		{ "rate(instructions)", false },
		{ "elapsed(instructions)", true },
		{ "instructions / elapsed(instructions)", false },
		{ "last(instructions)", false },
		{ "first(instructions)", false },
		{ "mean(test.level)", false },
		{ "max_of(test.level)", false },
		{ "aggr_nr(instructions)", false },
		{ "instructions if has_event(cycles) else 0", true },
		/* Nowhere is there a number. */
		{ "instructions / 0", false },
	};

	(void)state;
	for (size_t k = 0; k < sizeof(c) / sizeof(*c); k++) {
		struct metric row = { .name = "v", .display = "V", .expr = c[k].expr };
		struct metric_set set = { .row = &row, .n = 1 };
		struct harness h = { .config = { .summary = true, .per = PM_CPU },
				     .look = nothing,
				     .bind = { .vendor = &set, .n_vendor = 1 } };
		const struct bound_metric *m;
		struct builder b;

		builder_init(&b, one_a_row);
		counter(&b, "instructions", PM_CUMULATIVE, PM_AGG_SUM);
		counter(&b, "cycles", PM_CUMULATIVE, PM_AGG_SUM);
		counter(&b, "test.delta", PM_DELTA, PM_AGG_SUM);
		counter(&b, "test.level", PM_GAUGE, PM_AGG_MEAN);
		harness_start(&h, &b, "v", REPLAY_EACH);
		m = harness_metric(&h, "v");
		assert_non_null(m);
		if (metric_is_amount(&h.binding, m, &b.model) != c[k].amount)
			fail_msg("%s", c[k].expr);
		/* Counters as metrics have no formula. */
		m = harness_metric(&h, "test.delta");
		assert_true(m && metric_is_amount(&h.binding, m, &b.model));
		m = harness_metric(&h, "test.level");
		assert_true(m && !metric_is_amount(&h.binding, m, &b.model));
		harness_stop(&h);
		builder_release(&b);
	}
}

/* Name, unit, formula, threshold, groups, help; or a text alone, which is the name of one of ours. */
static void recorded(void **state)
{
	static const struct {
		const char *part[6];
	} rows[] = {
		{ { "ipc" } },
		{ { "Core-Bound 2", "%", "x / y", "x > 3", "A;B", "why" } },
		{ { "plain", "", "x", "", "", "" } },
		{ { "", "", "x", "", "", "" } },
		{ { "broken", "", "x +", "", "", "" } },
		{ { "short", "", "z" } },
	};
	const struct bind_options options = { 0 };
	struct pm_value all = pm_array(6);
	struct metric_set *set;
	struct binding binding = { 0 };
	struct places places = { 0 };
	struct error e = { 0 };
	struct builder b;

	(void)state;
	builder_init(&b, one_a_row);
	assert_null(recorded_name(&b.model, 0));
	for (uint32_t i = 0; i < 6; i++) {
		uint32_t n = 0;

		while (n < 6 && rows[i].part[n])
			n++;
		all.array.item[i] = n == 1 ? pm_text(rows[i].part[0]) : pm_array(n);
		for (uint32_t k = 0; k < n && n > 1; k++)
			all.array.item[i].array.item[k] = pm_text(rows[i].part[k]);
	}
	assert_int_equal(pm_map_set(&b.model.header, PM_HEADER_METRICS, all), 0);
	places_update(&places, &b.model);
	assert_int_equal(binding_build(&binding, &places, &options, &e), 0);
	set = &binding.recorded;
	assert_int_equal(set->n, 3);
	assert_string_equal(set->row[0].name, "core_bound_2");
	assert_string_equal(set->row[0].display, "Core-Bound 2");
	assert_string_equal(set->row[0].aliases, "Core-Bound 2");
	assert_string_equal(set->row[0].unit, "%");
	assert_string_equal(set->row[0].expr, "x / y");
	assert_string_equal(set->row[0].threshold, "x > 3");
	assert_string_equal(set->row[0].categories, "A;B");
	assert_string_equal(set->row[0].help, "why");
	assert_int_equal(set->row[0].precision, 2);
	assert_true(set->row[0].default_on);
	assert_string_equal(set->row[1].name, "plain");
	assert_null(set->row[1].threshold);
	assert_null(set->row[1].categories);
	assert_string_equal(set->row[2].expr, "z");
	assert_string_equal(set->row[2].help, "");
	assert_non_null(strstr(buf_str(&set->skipped), "metric broken left out: "));
	assert_null(strchr(strchr(buf_str(&set->skipped), '\n') + 1, '\n'));
	binding_release(&binding);
	places_release(&places);
	assert_string_equal(recorded_name(&b.model, 0), "ipc");
	assert_string_equal(recorded_name(&b.model, 1), "Core-Bound 2");
	assert_string_equal(recorded_name(&b.model, 3), "");
	assert_string_equal(recorded_name(&b.model, 5), "short");
	assert_null(recorded_name(&b.model, 6));
	builder_release(&b);
}

/* What is left out of a file is told once, and a file is for every CPU. */
static void files(void **state)
{
	struct buf text = BUF_INIT, lines = BUF_INIT;
	struct vendor_files *v = NULL;
	struct vendor_choice choice, other;
	struct error e = { 0 };
	struct builder b;
	char path[64];

	(void)state;
	builder_init(&b, one_a_row);
	assert_int_equal(vendor_files_choose(NULL, &b.model, &choice, &e), 0);
	assert_true(!choice.n && !choice.set && !choice.events);
	vendor_files_skipped(NULL, &lines);
	assert_int_equal(vendor_files_add_pack(&v, true, &e), 0);
	/* Never stays never. */
	assert_int_equal(vendor_files_add_pack(&v, false, &e), 0);
	assert_int_equal(vendor_files_choose(v, &b.model, &choice, &e), 0);
	assert_int_equal(choice.n, 0);
	assert_int_equal(vendor_files_add(&v, "/nonexistent/a.json", &e), -ENOENT);
	assert_non_null(strstr(e.text, "/nonexistent/a.json"));
	buf_addstr(&text,
		   "[{\"MetricName\":\"a\",\"MetricExpr\":\"x\"},{\"MetricName\":\"b\",\"MetricExpr\":\"x +\"}]");
	captured_file(path, &text);
	assert_int_equal(vendor_files_add(&v, path, &e), 0);
	captured_remove(path);
	for (int again = 0; again < 2; again++) {
		buf_clear(&lines);
		vendor_files_skipped(v, &lines);
		assert_int_equal(lines.len > 0, !again);
	}
	assert_int_equal(vendor_files_choose(v, &b.model, &choice, &e), 0);
	assert_int_equal(choice.n, 1);
	assert_int_equal(choice.n_packed, 0);
	assert_int_equal(choice.set[0].n, 1);
	assert_string_equal(choice.set[0].row[0].display, "a");
	assert_int_equal(pm_map_set(&b.model.header, PM_HEADER_CPU_ID, pm_text("GenuineIntel-6-8F-8")), 0);
	assert_int_equal(vendor_files_choose(v, &b.model, &other, &e), 0);
	assert_ptr_equal(other.set, choice.set);
	vendor_files_free(v);
	buf_release(&text);
	buf_release(&lines);
	builder_release(&b);
}

static void perf_event(struct builder *b, uint32_t id, const char *pmu, const char *event)
{
	text_attr(b, id, PM_COUNTER_PERF_PMU, pmu);
	text_attr(b, id, PM_COUNTER_PERF_EVENT, event);
	text_attr(b, id, PM_COUNTER_PERF_USER_TEXT, event);
	assert_int_equal(pm_map_set(&builder_counter_at(b, id)->attrs, PM_COUNTER_PERF_GROUP, pm_u64(id)), 0);
	assert_int_equal(pm_map_set(&builder_counter_at(b, id)->attrs, PM_COUNTER_PERF_WILDCARD, pm_u64(1)), 0);
}

/* What a hostile file may have in a few kilobytes: sets of filters, events of one request, regions of telemetry. */
static void many_cost_no_square(void **state)
{
	enum { FILTERS = 1000, EVENTS = 20000, REGIONS = 600 };
	struct harness h = { .config = { .summary = true, .per = PM_CPU }, .look = nothing };
	uint32_t *id = calloc(EVENTS, sizeof(*id)), region[REGIONS], word;
	struct builder b;
	struct pm_group g = { .source = (char *)"pmt", .counter = &word, .n_counters = 1, .instance = region };
	char name[64];
	clock_t begin;

	(void)state;
	assert_non_null(id);
	builder_init(&b, one_a_row);
	for (uint32_t i = 0; i < EVENTS; i++) {
		snprintf(name, sizeof(name), i < FILTERS ? "nvidia_ucf_pmu_0/cycles,port=%u/" : "acme/e%u/", i);
		id[i] = builder_counter(&b, name, "1", PM_CUMULATIVE, PM_AGG_SUM);
		perf_event(&b, id[i], i < FILTERS ? "nvidia_ucf_pmu_0" : "acme", name);
	}
	builder_group(&b, PM_PMU, 1, 0, id, EVENTS);
	word = builder_counter(&b, "pmt.14421519_20936", "1", PM_CUMULATIVE, PM_AGG_SUM);
	for (uint32_t i = 0; i < REGIONS; i++) {
		struct pm_instance at = { .kind = PM_DEVICE, .number = 100 + i, .cpu = PM_NONE, .added_ns = 1 };

		snprintf(name, sizeof(name), "telem%u", i);
		assert_int_equal(pm_map_set(&at.attrs, PM_INSTANCE_NAME, pm_text(name)), 0);
		region[g.n_instances++] = (uint32_t)pm_model_add_instance(&b.model, &at);
		pm_map_release(&at.attrs);
	}
	assert_true(pm_model_add_group(&b.model, &g) > 0);
	begin = clock();
	harness_start(&h, &b, "all", REPLAY_EACH);
	assert_true(clock() - begin < 5 * CLOCKS_PER_SEC);
	harness_feed(&h, 0, 2);
	assert_true(harness_value(&h, "pmt.14421519_20936", PM_SYSTEM, 0) == REGIONS);
	harness_stop(&h);
	builder_release(&b);
	free(id);
}

UNIT_TESTS(cmocka_unit_test(amounts), cmocka_unit_test(recorded), cmocka_unit_test(files),
	   cmocka_unit_test(many_cost_no_square))
