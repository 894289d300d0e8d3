/* PMUs and tracepoints of a machine that consists of files, and the list of its events. */
#include "record/cmd_list_machine.c"
#include "record/host/perf_open.h"
#include "record/perf/perf_pmu.h"
#include "record/perf/perf_source.h"
#include "record/plan/plan.h"
#include "tests/unit/lib/remark.h"
#include "tests/unit/lib/sysroot.h"
#include "tests/unit/lib/test.h"

static const struct {
	const char *path, *text;
} files[] = {
#define PMU(name) "/sys/bus/event_source/devices/" name
	{ PMU("cpu_core/type"), "4" },
	{ PMU("cpu_core/cpus"), "0-3" },
	{ PMU("cpu_core/format/event"), "config:0-7" },
	{ PMU("cpu_core/format/umask"), "config:8-15" },
	{ PMU("cpu_core/events/slots"), "event=0x00,umask=0x4" },
	{ PMU("cpu_core/events/odd"), "event=0x00,cmask=0x4" },
	{ PMU("cpu_atom/type"), "10" },
	{ PMU("cpu_atom/cpus"), "4-7" },
	{ PMU("cpu_atom/format/event"), "config:0-7" },
	{ PMU("power/type"), "14" },
	{ PMU("power/cpumask"), "0,4" },
	{ PMU("power/format/event"), "config:0-7" },
	{ PMU("power/events/energy-pkg"), "event=0x02" },
	{ PMU("power/events/energy-pkg.scale"), "2.3283064365386962890625e-10" },
	{ PMU("power/events/energy-pkg.unit"), "Joules" },
	{ PMU("half_gone/format/event"), "config:0-7" }, /* no type: cannot be opened */
};

struct machine {
	char dir[32];
	struct root root;
	struct perf_pmus pmus;
	struct event_view view;
	char *event_files[2];
};

static int set_up(void **state)
{
	struct machine *m = calloc(1, sizeof(*m));

	assert_non_null(m);
	sysroot_make(m->dir, NULL);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		sysroot_put(m->dir, files[i].path, "%s\n", files[i].text);
	root_init(&m->root, m->dir);
	perf_pmus_read(&m->pmus, &m->root);
	m->view = perf_view(&m->pmus, &m->root);
	*state = m;
	return 0;
}

static int tear_down(void **state)
{
	struct machine *m = *state;

	sysroot_remove(m->dir);
	perf_pmus_release(&m->pmus);
	root_release(&m->root);
	free(m);
	return 0;
}

static void check_list(struct machine *m, const char *glob, int n, const char *has, const char *has_not)
{
	struct list l = { .root = m->root, .glob = (char *)glob, .event_files = m->event_files, .no_vendor = true };
	struct buf out = BUF_INIT;
	struct error e = { 0 };

	perf_pmus_read(&l.pmus, &l.root);
	find_cpu(&l);
	assert_int_equal(list_events(&l, &out, &e), 0);
	assert_int_equal(l.n, n);
	if (has && !strstr(buf_str(&out), has))
		fail_msg("no %s in:\n%s", has, buf_str(&out));
	if (has_not && strstr(buf_str(&out), has_not))
		fail_msg("%s in:\n%s", has_not, buf_str(&out));
	perf_pmus_release(&l.pmus);
	buf_release(&out);
}

static void test_list(void **state)
{
	struct machine *m = *state;

	check_list(m, "energy", 1, "Joules", "cycles");
	check_list(m, "power/*", 2, "event (config:0-7)", "cpu_core");
	check_list(m, "cs", 1, "context-switches OR cs", NULL);
	check_list(m, "LLC-load*", 2, "LLC-load-misses", "dTLB");
	check_list(m, "no-such-event", 0, NULL, "LLC");
	/* Nobody asks the machine that runs the test. */
	check_list(m, NULL, 22 + 32 + 3 + 3 + 1 + 3 + 3, "cpu_core/slots/", "not on this machine");
}

static void test_list_of_vendor_and_tool(void **state)
{
	struct machine *m = *state;
	char path[64];

	check_list(m, "duration_time", 1, "time that was counted", "tool/duration");
	check_list(m, "user_time", 1, "tool", "config");
	check_list(m, "mem_reads", 0, NULL, "cpu_atom");
	sysroot_put(m->dir, "/v.json",
		    "[{\"EventName\": \"MEM_READS\", \"EventCode\": \"0x4\", \"Unit\": \"cpu_core\", "
		    "\"BriefDescription\": \"loads of all kinds\"}]\n");
	snprintf(path, sizeof(path), "%s/v.json", m->dir);
	m->event_files[0] = path;
	check_list(m, "mem_reads", 1, "loads of all kinds; event=0x4", "cpu_atom");
	check_list(m, "cpu_core/*", 4, "vendor", NULL);
}

/* Where a counter is missing, the watchdog that holds it is named, and nowhere else. */
static void test_watchdog(void **state)
{
	struct machine *m = *state;
	struct record_options options = { .target = TARGET_SYSTEM };
	struct plan p = { .options = &options, .root = &m->root };

	assert_false(perf_nmi_watchdog(&m->root));
	sysroot_put(m->dir, "/proc/sys/kernel/nmi_watchdog", "0\n");
	assert_null(strstr(said_once(perf_remedy(EBUSY, NULL, &p)), "nmi_watchdog"));
	sysroot_put(m->dir, "/proc/sys/kernel/nmi_watchdog", "1\n");
	assert_true(perf_nmi_watchdog(&m->root));
	assert_non_null(strstr(said_once(perf_remedy(EBUSY, NULL, &p)), "kernel.nmi_watchdog=0"));
	assert_null(strstr(said_once(perf_remedy(EINVAL, NULL, &p)), "nmi_watchdog"));
	sysroot_put(m->dir, "/proc/sys/kernel/perf_event_paranoid", "2\n");
	assert_non_null(strstr(said_once(perf_remedy(EACCES, NULL, &p)), "perf_event_paranoid=0 (it is 2)"));
}

/* The cure is one that cures: what paranoid bars from all is not what is barred from the tasks of others. */
static void test_permission(void **state)
{
	static const struct {
		enum target_kind target;
		bool tracepoint, foreign;
		const char *paranoid, *hint, *not ;
	} row[] = {
		{ TARGET_SYSTEM, false, false, "2", "perf_event_paranoid=0 (it is 2)", NULL },
		{ TARGET_COMMAND, false, false, "3", "perf_event_paranoid=1 (it is 3)", NULL },
		/* Kernels of Debian and Ubuntu: the capability alone is not enough. */
		{ TARGET_SYSTEM, false, false, "4", "and sysctl kernel.perf_event_paranoid=2, or", NULL },
		{ TARGET_TASKS, false, true, "3", "and sysctl kernel.perf_event_paranoid=2: tasks of other", NULL },
		{ TARGET_COMMAND, true, false, "1", "perf_event_paranoid=-1 (it is 1)", NULL },
		{ TARGET_TASKS, false, false, "2", "perf_event_paranoid=1 (it is 2)", NULL },
		{ TARGET_TASKS, false, true, "2", "tasks of other users", "perf_event_paranoid" },
		{ TARGET_SYSTEM, false, false, "-1", "outside the container", "setcap" },
	};
	struct machine *m = *state;
	struct event tracepoint = { .type = PERF_TYPE_TRACEPOINT };

	sysroot_put(m->dir, "/proc/12/comm", "a\n");
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		/* Without ids all threads of the system are meant. */
		struct record_options options = { .target = row[i].target,
						  .perf.pids = (char *)(row[i].foreign ? NULL : "12") };
		struct plan p = { .options = &options, .root = &m->root };
		const char *hint;

		sysroot_put(m->dir, "/proc/sys/kernel/perf_event_paranoid", "%s\n", row[i].paranoid);
		hint = said_once(perf_remedy(EACCES, row[i].tracepoint ? &tracepoint : NULL, &p));
		if (!strstr(hint, row[i].hint) || (row[i].not &&strstr(hint, row[i].not )))
			fail_msg("%zu: %s", i, hint);
	}
}

/* Whose tasks they are: one of another user's among them is enough. */
static void test_tasks_of_others(void **state)
{
	static const struct {
		const char *pids, *tids;
		bool foreign;
	} row[] = {
		{ "12", NULL, false },    { "13", NULL, true },    { "12,13", NULL, true }, { "13,12", NULL, true },
		{ "12,12", NULL, false }, { "12", "13", true },    { NULL, "12", false },   { NULL, "13", true },
		{ "99", NULL, false },    { "99,13", "12", true },
	};
	struct machine *m = *state;
	char path[64];

	if (geteuid())
		skip();
	sysroot_put(m->dir, "/proc/12/comm", "a\n");
	sysroot_put(m->dir, "/proc/13/comm", "a\n");
	sysroot_put(m->dir, "/proc/sys/kernel/perf_event_paranoid", "2\n");
	snprintf(path, sizeof(path), "%s/proc/13", m->dir);
	assert_int_equal(chown(path, 1000, 1000), 0);
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct record_options options = { .target = TARGET_TASKS,
						  .perf.pids = (char *)(uintptr_t)row[i].pids,
						  .perf.tids = (char *)(uintptr_t)row[i].tids };
		struct plan p = { .options = &options, .root = &m->root };

		assert_int_equal(strstr(said_once(perf_remedy(EACCES, NULL, &p)), "tasks of other users") != NULL,
				 row[i].foreign);
	}
}

/* Energy and idle states are counted without being asked for; registers only where they cannot be read. */
static void test_defaults(void **state)
{
	struct machine *m = *state;
	uint32_t cpu = 0;
	struct record_options options = { .target = TARGET_SYSTEM };
	struct plan plan = { .options = &options, .root = &m->root, .cpus = { .cpu = &cpu, .n = 1 } };
	struct perf_source s = { 0 };
	unsigned power = 0, registers = 0;
	struct error e = { 0 };

	sysroot_put(m->dir, PMU("msr/type"), "11\n");
	sysroot_put(m->dir, PMU("msr/format/event"), "config:0-63\n");
	sysroot_put(m->dir, PMU("msr/events/aperf"), "event=0x01\n");
	perf_pmus_read(&s.pmus, &m->root);
	plan.model = calloc(1, sizeof(*plan.model));
	assert_non_null(plan.model);
	pm_model_init(plan.model);
	for (int round = 0; round < 2; round++) {
		if (perf_events_read(&s, &plan, "", &e))
			fail_msg("%s", e.text);
		for (size_t i = 0; i < s.set.n; i++) {
			power += !strcmp(s.set.event[i].name, "power/energy-pkg/");
			registers += !strcmp(s.set.event[i].name, "msr/aperf/");
			assert_false(s.event[i].requested);
		}
		assert_int_equal(power, round + 1);
		assert_int_equal(registers, 1);
		free(s.event);
		s.event = NULL;
		event_set_release(&s.set);
		sysroot_put(m->dir, "/dev/cpu/0/msr", "\n");
	}
	perf_pmus_release(&s.pmus);
	pm_model_release(plan.model);
	free(plan.model);
}

UNIT_TESTS(cmocka_unit_test_setup_teardown(test_list, set_up, tear_down),
	   cmocka_unit_test_setup_teardown(test_watchdog, set_up, tear_down),
	   cmocka_unit_test_setup_teardown(test_permission, set_up, tear_down),
	   cmocka_unit_test_setup_teardown(test_tasks_of_others, set_up, tear_down),
	   cmocka_unit_test_setup_teardown(test_list_of_vendor_and_tool, set_up, tear_down),
	   cmocka_unit_test_setup_teardown(test_defaults, set_up, tear_down))
