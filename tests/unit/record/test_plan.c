/* What a plan does for sources: instances, probes, privacy of one-time values, the choice of sources. */
#include "common/catalog/catalog.h"
#include "format/limits.h"
#include "record/plan/plan.h"
#include "record/sources/sources.h"
#include "tests/unit/lib/plan_fixture.h"
#include "tests/unit/lib/test.h"

static void build(struct fixture *f, const char *online)
{
	fixture_begin(f, online, "default");
	root_init(&f->root, f->dir);
}

static void a_cpu_that_is_not_there_is_refused(void **state)
{
	struct error e = { 0 };
	struct fixture f;

	build(&f, "0-3");
	f.options.cpus = (char *)"2,7";
	assert_int_equal(plan_init(&f.plan, &f.options, &f.root, &f.model, &e), -ENODEV);
	assert_non_null(strstr(e.text, "CPU 7"));
	fixture_end(&f);
	build(&f, "0-3");
	f.options.cpus = (char *)"1-2";
	assert_int_equal(plan_init(&f.plan, &f.options, &f.root, &f.model, &e), 0);
	assert_int_equal(f.plan.cpus.n, 2);
	fixture_end(&f);
}

static void instances_are_made_once(void **state)
{
	struct error e = { 0 };
	struct fixture f;
	int64_t id;

	build(&f, "0-3");
	assert_int_equal(plan_init(&f.plan, &f.options, &f.root, &f.model, &e), 0);
	id = plan_cpu_instance(&f.plan, 3);
	assert_true(id > 0);
	assert_int_equal(plan_cpu_instance(&f.plan, 3), id);
	assert_int_not_equal(plan_cpu_instance(&f.plan, 900), id);
	assert_int_equal(plan_cpu_instance(&f.plan, 3), id);
	assert_int_equal(pm_model_instance(&f.model, (uint32_t)id)->number, 3);
	fixture_end(&f);
}

static void privacy_decides(void **state)
{
	static const struct {
		const char *level;
		uint32_t key;
		bool may;
	} cases[] = {
		{ "strict", PM_HEADER_KERNEL, true },     { "strict", PM_HEADER_HOST, false },
		{ "strict", PM_HEADER_LABELS, false },    { "strict", PM_HEADER_COMMAND, false },
		{ "default", PM_HEADER_HOST, true },      { "default", PM_INSTANCE_PID, false },
		{ "default", PM_INSTANCE_CGROUP, false }, { "default", PM_HEADER_USER, false },
		{ "full", PM_HEADER_ARGUMENTS, true },    { "full", PM_HEADER_CMDLINE, true },
	};
	struct error e = { 0 };
	struct fixture f;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct record_options o = { .privacy = (char *)cases[i].level };

		assert_int_equal(plan_may_record(&o, cases[i].key), cases[i].may);
	}
	build(&f, "0");
	f.options.privacy = (char *)"strict";
	assert_int_equal(plan_init(&f.plan, &f.options, &f.root, &f.model, &e), 0);
	plan_fact(&f.plan, pm_text("x"), "a.%d", 1);
	plan_config(&f.plan, PM_CPU, 0, pm_u64(7), "b.%d", 2);
	assert_non_null(pm_model_config(&f.model, "a.1", PM_NONE));
	assert_non_null(pm_model_config(&f.model, "b.2", 0));
	fixture_end(&f);
}

static bool is_wanted(const struct source *s, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(s[i].ops->name, name))
			return s[i].wanted;
	return false;
}

static void sources_are_chosen_by_name(void **state)
{
	struct error e = { 0 };
	struct source *s;
	size_t n;

	assert_int_equal(sources_select(&s, &n, NULL, &e), 0);
	for (size_t i = 0; i < n; i++)
		assert_true(s[i].wanted);
	sources_release(s, n);
	assert_int_equal(sources_select(&s, &n, "stat,cpuidle", &e), 0);
	assert_true(is_wanted(s, n, "stat"));
	assert_true(is_wanted(s, n, "cpuidle"));
	assert_false(is_wanted(s, n, "perf"));
	sources_release(s, n);
	assert_int_equal(sources_select(&s, &n, "-stat", &e), 0);
	assert_false(is_wanted(s, n, "stat"));
	assert_true(is_wanted(s, n, "perf"));
	sources_release(s, n);
	assert_int_equal(sources_select(&s, &n, "", &e), -EINVAL);
	assert_int_equal(sources_select(&s, &n, "stat,nothing", &e), -EINVAL);
	assert_non_null(strstr(e.text, "nothing"));
}

static void what_exceeds_a_limit_while_sampling_is_left_out(void **state)
{
	const struct catalog_counter row = { .name = "left.out", .source = "left" };
	struct error e = { 0 };
	struct fixture f;
	uint32_t counter, instance;
	struct pm_group g = { .source = (char *)"left",
			      .counter = &counter,
			      .n_counters = 1,
			      .instance = &instance,
			      .n_instances = 1 };

	build(&f, "0");
	assert_int_equal(plan_init(&f.plan, &f.options, &f.root, &f.model, &e), 0);
	f.plan.sampling = true;
	f.model.index.bytes = PM_MAX_MODEL;
	assert_int_equal(plan_counter(&f.plan, &row), -E2BIG);
	assert_true(f.plan.full);
	/* There would be room for its group, but the counter is missing. */
	f.model.index.bytes = 0;
	counter = (uint32_t)-E2BIG;
	instance = f.plan.system_instance;
	assert_int_equal(plan_group(&f.plan, &g), -E2BIG);
	fixture_end(&f);
}

UNIT_TESTS(cmocka_unit_test(a_cpu_that_is_not_there_is_refused), cmocka_unit_test(instances_are_made_once),
	   cmocka_unit_test(privacy_decides), cmocka_unit_test(sources_are_chosen_by_name),
	   cmocka_unit_test(what_exceeds_a_limit_while_sampling_is_left_out))
