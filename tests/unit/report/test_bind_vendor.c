/* Metrics of vendors on a recording: which counters feed them, and what is left out. */
#include <stdio.h>

#include "report/metric/bind.h"
#include "tests/unit/lib/report_harness.h"

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
	places_update(&t->places, &t->b.model);
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
		if (!strcmp(t->binding.input[m->input[i]].more->name, name))
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

/* Every PMU of a kind has groups of its own; what a formula names is all of them. */
static void formulas_take_all_pmus_of_a_kind(void **state)
{
	struct vendor_test t = { 0 };
	char name[64];

	builder_init(&t.b, one_a_row);
	for (uint32_t pmu = 0; pmu < 4; pmu++)
		for (uint32_t group = 0; group < 2; group++) {
			static const char *const other[] = { "reads", "writes" };

			for (int event = 0; event < 2; event++) {
				const char *id = event ? other[group] : "clockticks";
				uint32_t c;

				snprintf(name, sizeof(name), "uncore_imc_%u/%s/%s", pmu, id,
					 group && !event ? "#2" : "");
				c = perf_event(&t.b, name, 1 + 2 * pmu + group);
				text_attr(&t.b, c, PM_COUNTER_PERF_METRIC_ID, id);
				snprintf(name, sizeof(name), "uncore_imc_%u", pmu);
				text_attr(&t.b, c, PM_COUNTER_PERF_PMU, name);
			}
		}
	bind_text(&t, "[ { \"MetricName\": \"wr\", \"MetricExpr\": \"writes / clockticks\" } ]");
	assert_int_equal(input_of(&t, metric_of(&t, "wr"), "writes")->n_counters, 4);
	assert_int_equal(input_of(&t, metric_of(&t, "wr"), "clockticks")->n_counters, 4);
	/* Four counters a PMU, in the order of opening; the clock beside the writes is the third. */
	for (uint32_t pmu = 0; pmu < 4; pmu++) {
		assert_int_equal(input_of(&t, metric_of(&t, "wr"), "clockticks")->counter[pmu], 4 * pmu + 3);
		assert_int_equal(input_of(&t, metric_of(&t, "wr"), "writes")->counter[pmu], 4 * pmu + 4);
	}
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
	assert_int_equal(input_of(&t, metric_of(&t, "theirs"), "task-clock")->more->op, INPUT_TIMES);
	assert_true(input_of(&t, metric_of(&t, "theirs"), "task-clock")->more->fixed == 1 / 1e-6);
	assert_true(input_of(&t, metric_of(&t, "theirs"), "duration_time")->duration);
	assert_int_equal(input_of(&t, metric_of(&t, "share"), "user_time")->more->op, INPUT_TIMES);
	assert_true(input_of(&t, metric_of(&t, "share"), "user_time")->more->fixed == 1e-9);
	assert_non_null(metric_of(&t, "cpus_utilized"));
	assert_int_equal(input_of(&t, metric_of(&t, "cpus_utilized"), "task-clock")->more->op, INPUT_PLAIN);
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
	assert_int_equal(
		pm_map_set(&builder_counter_at(b, id)->attrs, PM_COUNTER_PERF_ATTR, pm_bytes(bytes, sizeof(bytes))),
		0);
}

static void events_are_found_by_what_they_count(void **state)
{
	enum { RETIRED = 1, USER };
	static const struct {
		const char *text;
		int counter; /* 0: none */
	} c[] = {
		{ "cpu@umask\\\\=0x01\\\\,event\\\\=0xc0@", RETIRED },
		{ "cpu@retired\\\\,umask\\\\=2@", USER },
		{ "cpu@retired\\\\,umask\\\\=2@u", USER },
		/* Modifiers of a formula are meant. */
		{ "cpu@retired\\\\,umask\\\\=2@k", 0 },
		{ "cpu@retired@u", 0 },
		{ "cpu@event\\\\=0xc1@", 0 },
		{ "gpu@event\\\\=0xc0@", 0 },
	};

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(c) / sizeof(*c); i++) {
		struct vendor_test t = { 0 };
		struct buf text = BUF_INIT;
		const struct bound_metric *m;
		int counter = c[i / 2].counter;
		uint32_t id[3];

		builder_init(&t.b, one_a_row);
		assert_int_equal(pm_map_set(&t.b.model.header, PM_HEADER_LITTLE_ENDIAN, pm_bool(i % 2)), 0);
		add_pmu(&t.b);
		id[USER] = perf_event(&t.b, "cpu/config=0x2c0/u", 1);
		attr_of(&t.b, id[USER], 4, 0x2c0, i % 2);
		id[RETIRED] = perf_event(&t.b, "cpu/retired/", 1);
		attr_of(&t.b, id[RETIRED], 4, 0x1c0, i % 2);
		buf_printf(&text, "[ { \"MetricName\": \"m\", \"MetricExpr\": \"2 * %s\" } ]", c[i / 2].text);
		bind_text(&t, buf_str(&text));
		m = metric_of(&t, "m");
		assert_int_equal(m != NULL, counter != 0);
		if (m)
			assert_int_equal(t.binding.input[m->input[0]].counter[0], id[counter]);
		buf_release(&text);
		unbind(&t);
	}
}

/* What pmrec was asked for needs no file, and is shown. */
static void recorded_metrics_need_no_file(void **state)
{
	struct vendor_test t = { 0 };
	struct pm_value all = pm_array(4);

	all.array.item[0] =
		texts(6, (const char *const[]){ "Ratio", "%", "100 * a / b", "a / b > 0.5", "G1,G2", "A share" });
	all.array.item[1] = pm_text("CS_per_second");
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
	assert_string_equal(metric_of(&t, "ratio")->about->unit, "%");
	assert_non_null(metric_of(&t, "ratio")->threshold);
	assert_true(metric_of(&t, "cs_per_second")->default_on);
	assert_false(metric_of(&t, "page_faults_per_second")->default_on);
	assert_null(metric_of(&t, "broken"));
	assert_non_null(strstr(buf_str(&t.binding.recorded.skipped), "Broken"));
	unbind(&t);
}

/* PMUs of a kind are one, and what is named is not named again; of more than three only the number is said. */
static void counters_are_named_once(void **state)
{
	static const struct {
		const char *formula, *names;
	} c[] = {
		{ "ab + a", "ab, a" },
		{ "a + ab", "a, ab" },
		{ "u_0@x@ + a + u_1@x@", "u/x/, a" },
		{ "a + ab + b", "a, ab, b" },
		{ "u_0@x@ + ab + a + u_1@x@ + b", "u/x/, ab, a and 1 more" },
		{ "u_0@x@ + ab + a + b + c_1", "u/x/, ab, a and 2 more" },
		{ "a + ab + b + u_0@x@ + u_1@x@", "a, ab, b and 1 more" },
	};

	for (size_t i = 0; i < sizeof(c) / sizeof(*c); i++) {
		static const char *const names[] = { "a", "b", "ab", "c_1", "u_0/x/", "u_1/x/" };
		struct vendor_test t = { 0 };
		struct buf text = BUF_INIT, said = BUF_INIT;

		builder_init(&t.b, one_a_row);
		for (uint32_t k = 0; k < sizeof(names) / sizeof(*names); k++)
			perf_event(&t.b, names[k], 1);
		buf_printf(&text, "[ { \"MetricName\": \"m\", \"MetricExpr\": \"%s\" } ]", c[i].formula);
		bind_text(&t, buf_str(&text));
		assert_non_null(metric_of(&t, "m"));
		bound_counters(&t.binding, metric_of(&t, "m"), &said);
		assert_string_equal(buf_str(&said), c[i].names);
		buf_release(&text);
		buf_release(&said);
		unbind(&t);
	}
}

UNIT_TESTS(cmocka_unit_test(formulas_take_all_pmus_of_a_kind), cmocka_unit_test(formulas_of_vendors_have_raw_counts),
	   cmocka_unit_test(events_are_found_by_what_they_count), cmocka_unit_test(recorded_metrics_need_no_file),
	   cmocka_unit_test(counters_are_named_once))
