/*
 * Tool events: texts of /proc written by hand, a topology of our own, and times beside those of the kernel's own
 * clocks and of getrusage().
 */
#include "tests/unit/lib/perf_world.h"

#include <pthread.h>
#include <sys/wait.h>

#include "record/perf/perf_events.c"
#include "record/perf/perf_tool.c"

static void test_task_times(void **state)
{
	/* proc(5): utime is field 14, stime 15, cutime 16, cstime 17. The name may hold what it likes. */
	static const char text[] = "42 (a) b 1 2 3) S 1 42 42 0 -1 4194560 100 200 3 4 71 82 930 1040 20 0 1 0 5\n";
	uint64_t t[2];

	assert_true(perf_tool_task_times(text, false, t));
	assert_int_equal(t[0], 71);
	assert_int_equal(t[1], 82);
	assert_true(perf_tool_task_times(text, true, t));
	assert_int_equal(t[0], 71 + 930);
	assert_int_equal(t[1], 82 + 1040);
	assert_false(perf_tool_task_times("", false, t));
	assert_false(perf_tool_task_times("42 (a", false, t));
	assert_false(perf_tool_task_times("42 (a) ", false, t));
	assert_false(perf_tool_task_times("42 (a)xS 1 42 42 0 -1 4194560 100 200 3 4 71 82 930 1040 20", false, t));
	assert_false(perf_tool_task_times("42 (a) S 1 42 42 0 -1", false, t));
	assert_false(perf_tool_task_times("42 (a) S 1 42 42 0 -1 4194560 100 200 3 4 71 82", false, t));
	assert_false(perf_tool_task_times("42 (a) S 1 42 42 0 -1 4194560 100 200 3 4 71 x 3 4 5", false, t));
}

static void test_cpu_times(void **state)
{
	static const char text[] = "cpu  999 999 999 999\ncpu0 10 2 5 100 0 0 0 0 0 0\ncpu2 30 4 7 100 0\n"
				   "cpu12 1 1 1 1\nintr 5 cpu1 1 1 1\nctxt 1\n";
	uint64_t t[2];

	assert_true(perf_tool_cpu_times(text, 0, t));
	assert_int_equal(t[0], 12); /* with what ran niced */
	assert_int_equal(t[1], 5);
	assert_true(perf_tool_cpu_times(text, 2, t));
	assert_int_equal(t[0], 34);
	assert_true(perf_tool_cpu_times(text, 12, t));
	assert_false(perf_tool_cpu_times(text, 1, t)); /* offline */
	assert_false(perf_tool_cpu_times("", 0, t));
	/* The first count of all CPUs is no CPU's number. */
	assert_false(perf_tool_cpu_times("cpu  1 2 3 4\ncpu0 1 2 3 4\n", 1, t));
}

/* Two packages of two cores of two threads; the second package has lost a thread. */
static void test_values(void **state)
{
	struct pm_cpu cpu[8];
	struct record_options options = { .target = TARGET_SYSTEM };
	struct pm_model model = { .topology = { .cpu = cpu, .n = 8 } };
	uint32_t all[8], half[] = { 0, 2, 4, 6 };
	struct root root;
	struct plan p = { .options = &options, .root = &root, .model = &model, .cpus = { .cpu = all, .n = 8 } };
	static const struct {
		const char *name;
		uint64_t value;
	} row[] = {
		{ "num_dies", 2 }, { "num_packages", 2 }, { "smt_on", 1 }, { "core_wide", 1 }, { "has_pmem", 0 },
	};
	struct metrics m = { .p = &p };
	double v;

	for (uint32_t i = 0; i < 8; i++) {
		all[i] = i;
		cpu[i] = (struct pm_cpu){
			.cpu = i, .package = i / 4, .core = i / 2 % 2, .thread = i % 2, .online = i != 7
		};
	}
	root_init(&root, "/nowhere");
	m.smt = smt_on(&p);
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		if (!literal(&m, row[i].name, &v) || v != (double)row[i].value)
			fail_msg("%s: %g", row[i].name, v);
	}
	assert_false(literal(&m, "num_cpus", &v));
	/* One thread of each core: the other runs uncounted. */
	p.cpus = (struct cpulist){ .cpu = half, .n = 4 };
	options.cpus = "0,2,4,6";
	assert_false(literal(&m, "core_wide", &v));
	/* Without second threads it does not matter. */
	for (uint32_t i = 0; i < 8; i++)
		cpu[i].online = i % 2 == 0;
	assert_true(literal(&m, "core_wide", &v));
	root_release(&root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_task_times),
		cmocka_unit_test(test_cpu_times),
		cmocka_unit_test(test_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
