/*
 * perf events of this machine: software events and, where there is one, the msr PMU. What is counted is
 * compared with work of known size (page faults, context switches, CPU time of this process), not with
 * earlier output.
 */
#include "tests/unit/lib/remark.h"
#include "tests/unit/lib/perf_world.h"
#include "tests/unit/lib/sysroot.h"

static void test_counts_known_work(void **state)
{
	NEED_KERNEL();
	struct world *w = world_new(TARGET_TASKS, "page-faults:u,minor-faults", "task-clock", NULL);
	char tid[16];
	struct rusage before, after;
	uint64_t faults, clock;

	w->options.perf.tids = tid_text(tid);
	world_begin(w, NULL);
	if (world_plan(w))
		fail_msg("%s", w->e.text);
	/* Software events alone: one read returns them all. */
	assert_int_equal(count_units(w), 1);
	assert_int_equal(w->plan.units->cpu, PM_NONE);
	perf_enable(&w->source, true);
	getrusage(RUSAGE_THREAD, &before);
	faults = sum_of(w, "minor-faults");
	clock = sum_of(w, "task-clock");
	touch(1000);
	burn(20000000);
	faults = sum_of(w, "minor-faults") - faults;
	clock = sum_of(w, "task-clock") - clock;
	getrusage(RUSAGE_THREAD, &after);
	assert_in_range(faults, 1000, after.ru_minflt - before.ru_minflt);
	assert_in_range(clock, 20000000, 2000000000);
	/* Stopped, it stands still. */
	perf_enable(&w->source, false);
	faults = sum_of(w, "minor-faults");
	touch(100);
	assert_int_equal(sum_of(w, "minor-faults"), faults);
	world_end(w, true);
	free(w);
}

static void test_wrong_text_ends_it(void **state)
{
	static const struct {
		const char *events, *filter, *tids, *says;
	} wrong[] = {
		{ "cs,cycels", NULL, NULL, "column 4" },   { "cs,{faults", NULL, NULL, "column 11" },
		{ "cs", "a==1", NULL, "no tracepoint" },   { "cs", NULL, "abc", "not a list of ids" },
		{ "cs", NULL, "2147483647", "no thread" },
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct world *w = world_new(TARGET_TASKS, wrong[i].events, NULL, NULL);

		w->filters[0] = (char *)wrong[i].filter;
		w->options.perf.tids = (char *)(wrong[i].tids ? wrong[i].tids : "1");
		world_begin(w, NULL);
		assert_true(world_plan(w) < 0);
		if (!strstr(w->e.text, wrong[i].says))
			fail_msg("'%s' says '%s'", wrong[i].events, w->e.text);
		world_end(w, true);
		free(w);
	}
}

static void test_defaults(void **state)
{
	struct world *w;
	const char *refused = "";

	NEED_SYSTEM_WIDE();
	w = world_new(TARGET_SYSTEM, NULL, NULL, NULL);
	world_begin(w, NULL);
	if (world_plan(w))
		fail_msg("%s", w->e.text);
	assert_non_null(pm_model_counter_named(&w->model, "cpu-clock"));
	assert_non_null(pm_model_counter_named(&w->model, "context-switches"));
	for (uint32_t i = 0; i < w->model.n_counters; i++) {
		assert_null(pm_map_get(&w->model.counter[i].attrs, PM_COUNTER_PERF_INVALID));
		assert_null(pm_map_get(&w->model.counter[i].attrs, PM_COUNTER_REQUESTED));
	}
	/* Each default is a counter or is named in a note. */
	for (uint32_t i = 0; i < w->model.n_probes; i++)
		if (strstr(said(&w->model.probe[i].what), "instructions"))
			refused = said(&w->model.probe[i].what);
	assert_true(!pm_model_counter_named(&w->model, "instructions") == !!strstr(refused, "instructions"));
	world_end(w, true);
	free(w);
}

/* In a process without privileges; its exit status says what was found. */
static int look_unprivileged(void)
{
	struct world *w;
	const struct pm_counter *c;
	char tid[16];
	int wrong = 0;

	if (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))
		return 99;
	if (own_allowed(false) || !own_allowed(true))
		return 77; /* perf_event_paranoid is not 2, or a filter refuses all */
	w = world_new(TARGET_TASKS, "task-clock,cs,page-faults:k,faults", NULL, NULL);
	w->options.perf.tids = tid_text(tid);
	world_begin(w, NULL);
	if (world_plan(w))
		return 98;
	/* Without modifiers: only the user's part, and named so. */
	c = pm_model_counter_named(&w->model, "task-clock:u");
	wrong |= !c || pm_map_get(&c->attrs, PM_COUNTER_PERF_INVALID) ? 1 : 0;
	c = pm_model_counter_named(&w->model, "page-faults:u");
	wrong |= !c || strcmp(c->display, "faults:u") ? 2 : 0;
	/* What happens in the kernel only is not counted as 0; what was asked for with k is not something
	 * else. */
	c = pm_model_counter_named(&w->model, "context-switches");
	wrong |= !c || pm_map_u64(&c->attrs, PM_COUNTER_PERF_INVALID, 0) != PM_REASON_NO_PERMISSION ? 4 : 0;
	c = pm_model_counter_named(&w->model, "page-faults:k");
	wrong |= !c || pm_map_u64(&c->attrs, PM_COUNTER_PERF_INVALID, 0) != PM_REASON_NO_PERMISSION ? 8 : 0;
	wrong |= w->model.n_probes != 2 || !pm_remark_code(&w->model.probe[0].hint) ||
				 !strstr(said(&w->model.probe[0].hint), "setcap cap_perfmon") ?
			 16 :
			 0;
	world_end(w, true);
	free(w);
	return wrong;
}

static void test_without_privileges(void **state)
{
	int status;
	pid_t pid;

	if (geteuid())
		skip();
	pid = fork();
	if (!pid)
		_exit(look_unprivileged());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- under another root ---- */

static void test_emulated(void **state)
{
	struct world *w = world_new(TARGET_SYSTEM, "cs", NULL, NULL);
	char dir[32];
	const struct pm_value *v;
	const struct pm_pmu *pmu;

	sysroot_make(dir, NULL);
	sysroot_put(dir, "/sys/devices/system/cpu/online", "0-1\n");
#define IMC "/sys/bus/event_source/devices/uncore_imc_0/"
	sysroot_put(dir, IMC "type", "21\n");
	sysroot_put(dir, IMC "cpumask", "0\n");
	sysroot_put(dir, IMC "identifier", "0x36\n");
	sysroot_put(dir, IMC "perf_event_mux_interval_ms", "4\n");
	sysroot_put(dir, IMC "format/event", "config:0-7\n");
	sysroot_put(dir, IMC "events/read", "event=0x4,umask=0x3\n");
	sysroot_put(dir, IMC "events/read.scale", "6.103515625e-5\n");
	sysroot_put(dir, IMC "events/read.unit", "MiB\n");
	sysroot_put(dir, IMC "events/read.per-pkg", "1\n");
	sysroot_put(dir, IMC "caps/branches", "32\n");
	world_begin(w, dir);
	if (world_plan(w))
		fail_msg("%s", w->e.text);
	assert_int_equal(w->model.n_counters, 0);
	assert_null(w->plan.units);
	assert_int_equal(w->model.n_probes, 1);
	assert_int_equal(w->model.n_pmus, 2); /* and that of the tool */
	assert_string_equal(pm_map_text(&w->model.pmu[0].attrs, PM_PMU_NAME, ""), "tool");
	pmu = &w->model.pmu[1];
	assert_string_equal(pm_map_text(&pmu->attrs, PM_PMU_NAME, ""), "uncore_imc_0");
	assert_int_equal(pm_map_u64(&pmu->attrs, PM_PMU_TYPE, 0), 21);
	assert_string_equal(pm_map_text(&pmu->attrs, PM_PMU_CPUMASK, ""), "0");
	assert_string_equal(pm_map_text(&pmu->attrs, PM_PMU_IDENTIFIER, ""), "0x36");
	v = pm_map_get(&pmu->attrs, PM_PMU_EVENTS);
	assert_non_null(v);
	assert_int_equal(v->array.n, 1);
	assert_string_equal(v->array.item[0].array.item[1].str.data, "event=0x4,umask=0x3");
	assert_string_equal(v->array.item[0].array.item[2].str.data, "6.103515625e-5");
	assert_string_equal(v->array.item[0].array.item[3].str.data, "MiB");
	assert_int_equal(v->array.item[0].array.item[4].u64, 1);
	v = pm_map_get(&pmu->attrs, PM_PMU_FORMATS);
	assert_string_equal(v->array.item[0].array.item[1].str.data, "config:0-7");
	v = pm_map_get(&pmu->attrs, PM_PMU_CAPS);
	assert_string_equal(v->array.item[0].array.item[0].str.data, "branches");
	v = pm_map_get(&pmu->attrs, PM_PMU_FILES);
	assert_int_equal(v->array.n, 1);
	world_end(w, true);
	free(w);
	sysroot_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts_known_work), cmocka_unit_test(test_wrong_text_ends_it),
		cmocka_unit_test(test_defaults),          cmocka_unit_test(test_without_privileges),
		cmocka_unit_test(test_emulated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
