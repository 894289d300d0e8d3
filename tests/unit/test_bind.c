/* What names in formulas mean in a recording, and which metrics a recording can feed. */
#include "report/meaning.h"
#include "report_harness.h"

static struct reading one_a_row(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	return (struct reading){ row, 0 };
}

static void text_attr(struct builder *b, uint32_t counter, uint32_t key, const char *text)
{
	assert_int_equal(pm_map_set(&builder_counter_at(b, counter)->attrs, key, pm_text(text)), 0);
}

static uint32_t event(struct builder *b, const char *name)
{
	return builder_counter(b, name, "1", PM_CUMULATIVE, PM_AGG_SUM);
}

static uint32_t found(struct builder *b, const char *name)
{
	uint32_t id[16] = { 0 };

	return bind_counters(&b->model, name, id, 16) ? id[0] : 0;
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
	assert_int_equal(bind_counters(&b.model, "cpuidle.time", id, 4), 2);
	assert_int_equal(id[0], a[0]);
	assert_int_equal(id[1], a[1]);
	/* The third was asked for on its own: adding it would count twice. */
	assert_int_equal(bind_counters(&b.model, "uncore/reads/", id, 4), 2);
	assert_int_equal(id[1], w[1]);
	/* The number of all, also if there is no room for them. */
	assert_int_equal(bind_counters(&b.model, "cpuidle.time", id, 1), 2);
	builder_release(&b);
}

static double literal(struct places *p, const char *name)
{
	struct value v;

	assert_true(bind_literal(p, name, &v));
	assert_int_equal(v.reason, 0);
	return v.v;
}

static void machine_facts_come_from_the_recording(void **state)
{
	struct builder b;
	struct places p = { 0 };
	struct value v;

	builder_init(&b, one_a_row);
	assert_int_equal(pm_map_set(&b.model.header, PM_HEADER_CLOCK_COUNTER_HZ, pm_u64(2100000000)), 0);
	assert_int_equal(places_update(&p, &b.model), 0);
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
	/* Without the second threads: what is offline does not count, and is still known to be there. */
	for (uint32_t i = 1; i < 8; i += 2)
		b.model.topology.cpu[i].online = false;
	for (uint32_t i = 1; i < 8; i += 2)
		b.model.topology.cpu[i].core = b.model.topology.cpu[i].package = PM_NONE;
	assert_int_equal(places_update(&p, &b.model), 0);
	assert_true(literal(&p, "num_cpus") == 8);
	assert_true(literal(&p, "num_cpus_online") == 4);
	assert_true(literal(&p, "num_cores") == 4);
	assert_true(literal(&p, "smt_on") == 0);
	assert_int_equal(places_cpu(&p, 7)->package, 1);
	places_release(&p);
	builder_release(&b);
}

static void idle_states(struct builder *b)
{
	static const char *const member[] = { "POLL", "C1-ACPI" };
	uint32_t id[4];

	id[0] = builder_counter(b, "cpuidle.time.poll", "s", PM_CUMULATIVE, PM_AGG_SUM);
	id[1] = builder_counter(b, "cpuidle.time.c1_acpi", "s", PM_CUMULATIVE, PM_AGG_SUM);
	id[2] = builder_counter(b, "cpuidle.usage.poll", "1", PM_CUMULATIVE, PM_AGG_SUM);
	id[3] = builder_counter(b, "cpuidle.usage.c1_acpi", "1", PM_CUMULATIVE, PM_AGG_SUM);
	for (int i = 0; i < 4; i++) {
		text_attr(b, id[i], PM_COUNTER_FAMILY, i < 2 ? "cpuidle.time" : "cpuidle.usage");
		text_attr(b, id[i], PM_COUNTER_MEMBER, member[i % 2]);
	}
	builder_group(b, PM_CPU, 8, 0, id, 4);
}

/* Time counts up by a quarter of the seconds that pass; one entry a millisecond. */
static struct reading idle_quarter(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	return (struct reading){ strstr(counter, "time") ? row * 250000 : row * 1000, 0 };
}

static void nothing(struct harness *h, const struct interval *i, size_t n)
{
}

static void families_become_metrics(void **state)
{
	struct harness h = { .config = { .summary = true, .per = PM_CPU }, .look = nothing };
	const struct bound_metric *m;
	struct builder b;

	builder_init(&b, idle_quarter);
	idle_states(&b);
	builder_counter_at(&b, 1)->scale.den = 1000000;
	builder_counter_at(&b, 2)->scale.den = 1000000;
	harness_start(&h, &b, "idle.*", REPLAY_EACH);
	harness_feed(&h, 0, 2);
	m = harness_metric(&h, "idle.c1_acpi.residency");
	assert_non_null(m);
	assert_string_equal(m->display, "C1-ACPI%");
	assert_string_equal(m->unit, "%");
	assert_int_equal(m->kind, PM_CPU);
	assert_true(harness_value(&h, "idle.c1_acpi.residency", PM_CPU, 3) == 25);
	assert_true(harness_value(&h, "idle.poll.residency", PM_SYSTEM, 0) == 25);
	/* The '*' between two things multiplies: 1e6 * 0.25 s / 1000. */
	assert_true(harness_value(&h, "idle.poll.duration", PM_CPU, 0) == 250);
	harness_stop(&h);
	builder_release(&b);
}

static void metrics_without_counters_are_not_there(void **state)
{
	struct harness h = { .config = { .per = PM_CPU }, .look = nothing };
	struct buf scratch = BUF_INIT;
	struct builder b;
	uint32_t c[2];

	builder_init(&b, one_a_row);
	c[0] = event(&b, "instructions");
	builder_group(&b, PM_CPU, 8, 0, c, 1);
	harness_start(&h, &b, "instructions", REPLAY_EACH);
	assert_null(harness_metric(&h, "insn_per_cycle"));
	for (const struct metric_table *t = metric_tables; t->row; t++)
		for (size_t i = 0; i < t->n; i++)
			if (!strcmp(t->row[i].name, "insn_per_cycle"))
				assert_string_equal(bind_missing(&h.binding, &h.places, &t->row[i], &scratch),
						    "cycles");
	harness_stop(&h);
	c[1] = event(&b, "cycles");
	builder_group(&b, PM_CPU, 8, 0, c, 2);
	h = (struct harness){ .config = { .per = PM_CPU }, .look = nothing };
	harness_start(&h, &b, "IPC", REPLAY_EACH);
	assert_non_null(harness_metric(&h, "insn_per_cycle"));
	assert_int_equal(h.sheet.n_columns, 1);
	harness_stop(&h);
	buf_release(&scratch);
	builder_release(&b);
}

static void vendor(struct harness *h, struct metric_set *set, struct metric *row, const char *expr)
{
	*row = (struct metric){ .name = "v", .display = "V", .expr = expr };
	*set = (struct metric_set){ .row = row, .n = 1 };
	*h = (struct harness){ .config = { .summary = true, .per = PM_CPU }, .look = nothing,
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
	assert_int_equal(places_update(&h.places, &b.model), 0);
	assert_true(binding_build(&h.binding, &h.places, &h.bind, &e) < 0);
	assert_non_null(strstr(e.text, "metric v"));
	binding_release(&h.binding);
	places_release(&h.places);
	builder_release(&b);
}

static void counters_are_metrics(void **state)
{
	struct harness h = { .config = { .per = PM_CPU }, .look = nothing, .bind = { .rate = true } };
	const struct bound_metric *m;
	struct builder b;
	uint32_t id, level, text;

	builder_init(&b, one_a_row);
	b.period_ns = 500000000;
	id = builder_counter(&b, "test.bytes", "By", PM_CUMULATIVE, PM_AGG_SUM);
	assert_int_equal(pm_map_set(&builder_counter_at(&b, id)->attrs, PM_COUNTER_REQUESTED, pm_bool(true)), 0);
	builder_group(&b, PM_CPU, 8, 0, &id, 1);
	level = builder_counter(&b, "test.level", "Cel", PM_GAUGE, PM_AGG_MEAN);
	builder_group(&b, PM_CPU, 8, 0, &level, 1);
	text = builder_counter(&b, "test.text", "", PM_STATE, PM_AGG_NONE);
	builder_counter_at(&b, text)->type = PM_TEXT;
	builder_group(&b, PM_CPU, 8, 0, &text, 1);
	builder_counter(&b, "test.nowhere", "1", PM_CUMULATIVE, PM_AGG_SUM);
	harness_start(&h, &b, "test.*", REPLAY_EACH);
	harness_feed(&h, 0, 3);
	m = harness_metric(&h, "test.bytes");
	assert_non_null(m);
	assert_string_equal(m->unit, "By/s");
	assert_true(m->default_on);
	assert_true(harness_value(&h, "test.bytes", PM_CPU, 0) == 2);
	assert_false(harness_metric(&h, "test.level")->default_on);
	assert_string_equal(harness_metric(&h, "test.level")->unit, "Cel");
	assert_true(harness_value(&h, "test.level", PM_CPU, 0) == 1);
	assert_null(harness_metric(&h, "test.text"));
	assert_null(harness_metric(&h, "test.nowhere"));
	harness_stop(&h);
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

/* ---- metrics of vendors ---- */

struct vendor_test {
	struct builder b;
	struct places places;
	struct metric_set set;
	struct binding binding;
};

static void bind_text(struct vendor_test *t, const char *json)
{
	struct bind_options options = { .vendor = &t->set, .n_vendor = json ? 1 : 0 };
	struct error e = { 0 };

	if (json && metric_set_load_text(&t->set, json, strlen(json), &e))
		fail_msg("%s", e.text);
	assert_int_equal(places_update(&t->places, &t->b.model), 0);
	if (binding_build(&t->binding, &t->places, &options, &e))
		fail_msg("%s", e.text);
}

static void unbind(struct vendor_test *t)
{
	binding_release(&t->binding);
	metric_set_release(&t->set);
	places_release(&t->places);
	builder_release(&t->b);
}

static const struct bound_metric *metric_of(struct vendor_test *t, const char *name)
{
	for (size_t i = 0; i < t->binding.n_metrics; i++)
		if (!strcmp(t->binding.metric[i].name, name))
			return &t->binding.metric[i];
	return NULL;
}

/* The input of a metric that has this name. */
static const struct bound_input *input_of(struct vendor_test *t, const struct bound_metric *m, const char *name)
{
	for (uint32_t i = 0; i < m->n_inputs; i++)
		if (!strcmp(t->binding.input[m->input[i]].name, name))
			return &t->binding.input[m->input[i]];
	fail_msg("%s has no input %s", m->name, name);
	return NULL;
}

/* Counters are bound where they have instances. */
static uint32_t perf_event_in(struct builder *b, const char *name, const char *unit, uint32_t group)
{
	uint32_t id = builder_counter(b, name, unit, PM_CUMULATIVE, PM_AGG_SUM);

	text_attr(b, id, PM_COUNTER_PERF_EVENT, name);
	assert_int_equal(pm_map_set(&builder_counter_at(b, id)->attrs, PM_COUNTER_PERF_GROUP, pm_u64(group)), 0);
	builder_group(b, PM_CPU, 8, 0, &id, 1);
	return id;
}

static uint32_t perf_event(struct builder *b, const char *name, uint32_t group)
{
	return perf_event_in(b, name, "1", group);
}

static void thresholds_are_tied_to_their_inputs(void **state)
{
	struct vendor_test t = { 0 };
	const struct bound_metric *m;
	struct value v[2] = { value_of(30), value_of(100) };

	builder_init(&t.b, one_a_row);
	perf_event(&t.b, "a", 1);
	perf_event(&t.b, "b", 1);
	bind_text(&t, "[ { \"MetricName\": \"r\", \"MetricExpr\": \"a / b\", \"MetricThreshold\": \"r > 0.25\" }, "
		      "{ \"MetricName\": \"s\", \"MetricExpr\": \"a\", \"MetricThreshold\": \"r > no_such\" }, "
		      "{ \"MetricName\": \"u\", \"MetricExpr\": \"b\" } ]");
	m = metric_of(&t, "r");
	assert_non_null(m);
	assert_non_null(m->threshold);
	assert_int_equal(m->threshold->n_inputs, 2);
	assert_string_equal(t.binding.input[m->threshold->input[0]].name, "a");
	assert_true(expr_eval(m->threshold->expr, v).v == 1);
	v[0] = value_of(20);
	assert_true(expr_eval(m->threshold->expr, v).v == 0);
	v[0] = value_missing(VALUE_GAP);
	assert_int_equal(expr_eval(m->threshold->expr, v).reason, VALUE_GAP);
	/* What the recording cannot tell is no judgement, and takes no metric away. */
	assert_non_null(metric_of(&t, "s"));
	assert_null(metric_of(&t, "s")->threshold);
	assert_null(metric_of(&t, "u")->threshold);
	unbind(&t);
}

static void a_question_mark_runs(void **state)
{
	struct vendor_test t = { 0 };

	builder_init(&t.b, one_a_row);
	perf_event(&t.b, "hv/CYC,chip=0/", 1);
	perf_event(&t.b, "hv/CYC,chip=1/", 2);
	bind_text(&t, "[ { \"MetricName\": \"cyc\", \"MetricExpr\": \"hv@CYC\\\\,chip\\\\=?@ / 10\" } ]");
	assert_non_null(metric_of(&t, "cyc_0"));
	assert_non_null(metric_of(&t, "cyc_1"));
	assert_null(metric_of(&t, "cyc_2"));
	assert_null(metric_of(&t, "cyc"));
	assert_string_equal(input_of(&t, metric_of(&t, "cyc_1"), "hv/CYC,chip=1/")->name, "hv/CYC,chip=1/");
	unbind(&t);
}

static void formulas_take_events_of_one_group(void **state)
{
	struct vendor_test t = { 0 };
	uint32_t id[4];

	builder_init(&t.b, one_a_row);
	/* cycles was counted with each of the other two. */
	id[0] = perf_event(&t.b, "x_cycles", 1);
	id[1] = perf_event(&t.b, "x_first", 1);
	id[2] = perf_event(&t.b, "x_cycles#2", 2);
	id[3] = perf_event(&t.b, "x_second", 2);
	text_attr(&t.b, id[0], PM_COUNTER_PERF_METRIC_ID, "x_cycles");
	text_attr(&t.b, id[1], PM_COUNTER_PERF_METRIC_ID, "x_first");
	text_attr(&t.b, id[2], PM_COUNTER_PERF_METRIC_ID, "x_cycles");
	text_attr(&t.b, id[3], PM_COUNTER_PERF_METRIC_ID, "x_second");
	bind_text(&t, "[ { \"MetricName\": \"one\", \"MetricExpr\": \"x_first / x_cycles\" }, "
		      "{ \"MetricName\": \"two\", \"MetricExpr\": \"x_second / x_cycles\" }, "
		      "{ \"MetricName\": \"both\", \"MetricExpr\": \"(x_first + x_second) / x_cycles\" } ]");
	assert_int_equal(input_of(&t, metric_of(&t, "one"), "x_cycles")->counter[0], id[0]);
	assert_int_equal(input_of(&t, metric_of(&t, "two"), "x_cycles")->counter[0], id[2]);
	assert_int_equal(input_of(&t, metric_of(&t, "two"), "x_second")->counter[0], id[3]);
	assert_non_null(metric_of(&t, "both"));
	unbind(&t);
}

/* Vendors' formulas have nanoseconds of clocks and units of energy counters; ours have what is shown. */
static void formulas_of_vendors_have_raw_counts(void **state)
{
	struct vendor_test t = { 0 };
	uint32_t clock;

	builder_init(&t.b, one_a_row);
	clock = perf_event(&t.b, "task-clock", 1);
	builder_counter_at(&t.b, clock)->scale.text = (char *)"1e-6";
	perf_event_in(&t.b, "user_time", "ns", 2);
	bind_text(&t, "[ { \"MetricName\": \"theirs\", \"MetricExpr\": \"task\\\\-clock / (duration_time * 1e9)\" }, "
		      "{ \"MetricName\": \"share\", \"MetricExpr\": \"user_time / duration_time\" } ]");
	assert_int_equal(input_of(&t, metric_of(&t, "theirs"), "task-clock")->op, INPUT_TIMES);
	assert_true(input_of(&t, metric_of(&t, "theirs"), "task-clock")->fixed == 1 / 1e-6);
	assert_true(input_of(&t, metric_of(&t, "theirs"), "duration_time")->duration);
	assert_true(input_of(&t, metric_of(&t, "share"), "user_time")->fixed == 1e-9);
	assert_non_null(metric_of(&t, "cpus_utilized"));
	assert_int_equal(input_of(&t, metric_of(&t, "cpus_utilized"), "task-clock")->op, INPUT_PLAIN);
	unbind(&t);
}

static struct pm_value texts(uint32_t n, const char *const *text)
{
	struct pm_value v = pm_array(n);

	for (uint32_t i = 0; i < n; i++)
		v.array.item[i] = pm_text(text[i]);
	return v;
}

static struct pm_value row_of_texts(const char *name, const char *text)
{
	return texts(5, (const char *const[]){ name, text, "", "", "" });
}

/* A PMU whose event number is config:0-7 and whose mask is config:8-15, and an alias of it. */
static void add_pmu(struct builder *b)
{
	struct pm_pmu pmu = { 0 };
	struct pm_value formats = pm_array(2), events = pm_array(1);

	formats.array.item[0] = row_of_texts("event", "config:0-7");
	formats.array.item[1] = row_of_texts("umask", "config:8-15");
	events.array.item[0] = row_of_texts("retired", "event=0xc0,umask=1");
	assert_int_equal(pm_map_set(&pmu.attrs, PM_PMU_NAME, pm_text("cpu")), 0);
	assert_int_equal(pm_map_set(&pmu.attrs, PM_PMU_TYPE, pm_u64(4)), 0);
	assert_int_equal(pm_map_set(&pmu.attrs, PM_PMU_FORMATS, formats), 0);
	assert_int_equal(pm_map_set(&pmu.attrs, PM_PMU_EVENTS, events), 0);
	assert_int_equal(pm_model_add_pmu(&b->model, &pmu), 0);
	pm_map_release(&pmu.attrs);
}

static void attr_of(struct builder *b, uint32_t id, uint32_t type, uint64_t config, bool little)
{
	uint8_t bytes[136] = { 0 };

	for (size_t i = 0; i < 4; i++)
		bytes[i] = (uint8_t)(type >> 8 * (little ? i : 3 - i));
	for (size_t i = 0; i < 8; i++)
		bytes[8 + i] = (uint8_t)(config >> 8 * (little ? i : 7 - i));
	assert_int_equal(pm_map_set(&builder_counter_at(b, id)->attrs, PM_COUNTER_PERF_ATTR,
				    pm_bytes(bytes, sizeof(bytes))), 0);
}

static void events_are_found_by_what_they_count(void **state)
{
	for (int little = 0; little < 2; little++) {
		struct vendor_test t = { 0 };
		struct meaning x;
		uint32_t retired, user, id[4];

		builder_init(&t.b, one_a_row);
		assert_int_equal(pm_map_set(&t.b.model.header, PM_HEADER_LITTLE_ENDIAN, pm_bool(little)), 0);
		add_pmu(&t.b);
		user = perf_event(&t.b, "cpu/config=0x2c0/u", 1);
		attr_of(&t.b, user, 4, 0x2c0, little);
		retired = perf_event(&t.b, "cpu/retired/", 1);
		attr_of(&t.b, retired, 4, 0x1c0, little);
		meaning_init(&x, &t.b.model);
		assert_int_equal(meaning_find(&x, NULL, "cpu/umask=0x01,event=0xc0/", id, 4), 1);
		assert_int_equal(id[0], retired);
		assert_int_equal(meaning_find(&x, NULL, "cpu/retired,umask=2/", id, 4), 1);
		assert_int_equal(id[0], user);
		assert_int_equal(meaning_find(&x, NULL, "cpu/retired,umask=2/u", id, 4), 1);
		/* Modifiers of a formula are meant. */
		assert_int_equal(meaning_find(&x, NULL, "cpu/retired,umask=2/k", id, 4), 0);
		assert_int_equal(meaning_find(&x, NULL, "cpu/retired/u", id, 4), 0);
		assert_int_equal(meaning_find(&x, NULL, "cpu/event=0xc1/", id, 4), 0);
		assert_int_equal(meaning_find(&x, NULL, "gpu/event=0xc0/", id, 4), 0);
		assert_int_equal(meaning_find(&x, NULL, "cpu/event=0xc0", id, 4), 0);
		meaning_release(&x);
		bind_text(&t, "[ { \"MetricName\": \"m\", \"MetricExpr\": \"2 * cpu@event\\\\=0xc0\\\\,umask\\\\=1@\" } ]");
		assert_non_null(metric_of(&t, "m"));
		assert_int_equal(input_of(&t, metric_of(&t, "m"), "cpu/event=0xc0,umask=1/")->counter[0], retired);
		unbind(&t);
	}
}

/* What pmrec was asked for needs no file, and is shown. */
static void recorded_metrics_need_no_file(void **state)
{
	struct vendor_test t = { 0 };
	struct pm_value all = pm_array(4);

	all.array.item[0] = texts(6, (const char *const[]){ "Ratio", "%", "100 * a / b", "a / b > 0.5", "G1,G2", "A share" });
	all.array.item[1] = pm_text("cs_per_second");
	all.array.item[2] = texts(6, (const char *const[]){ "Broken", "", "a +", "", "", "" });
	all.array.item[3] = pm_u64(3);
	builder_init(&t.b, one_a_row);
	assert_int_equal(pm_map_set(&t.b.model.header, PM_HEADER_METRICS, all), 0);
	perf_event(&t.b, "a", 1);
	perf_event(&t.b, "b", 1);
	perf_event(&t.b, "context-switches", 2);
	perf_event(&t.b, "task-clock", 2);
	perf_event(&t.b, "page-faults", 2);
	bind_text(&t, NULL);
	assert_non_null(metric_of(&t, "ratio"));
	assert_true(metric_of(&t, "ratio")->default_on);
	assert_string_equal(metric_of(&t, "ratio")->unit, "%");
	assert_non_null(metric_of(&t, "ratio")->threshold);
	assert_true(metric_of(&t, "cs_per_second")->default_on);
	assert_false(metric_of(&t, "page_faults_per_second")->default_on);
	assert_null(metric_of(&t, "broken"));
	assert_non_null(strstr(buf_str(&t.binding.recorded.skipped), "Broken"));
	unbind(&t);
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
		assert_int_equal(places_update(&p, &b.model), 0);
		assert_true(literal(&p, "target_cpu") == rows[i].cpu);
		/* Two threads a core: only who counts all of them counts cores. */
		assert_true(literal(&p, "core_wide") == rows[i].wide);
		places_release(&p);
		builder_release(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_have_many_names),
		cmocka_unit_test(families_and_wildcards),
		cmocka_unit_test(machine_facts_come_from_the_recording),
		cmocka_unit_test(families_become_metrics),
		cmocka_unit_test(metrics_without_counters_are_not_there),
		cmocka_unit_test(what_formulas_can_ask),
		cmocka_unit_test(a_broken_formula_is_named),
		cmocka_unit_test(counters_are_metrics),
		cmocka_unit_test(names_are_unique),
		cmocka_unit_test(thresholds_are_tied_to_their_inputs),
		cmocka_unit_test(a_question_mark_runs),
		cmocka_unit_test(formulas_take_events_of_one_group),
		cmocka_unit_test(formulas_of_vendors_have_raw_counts),
		cmocka_unit_test(events_are_found_by_what_they_count),
		cmocka_unit_test(recorded_metrics_need_no_file),
		cmocka_unit_test(targets_are_literals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
