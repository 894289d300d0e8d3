/* What options ask of the perf source, on a machine that is a folder: cgroups, tasks, sets of events. */
#include "record/perf/source_perf.c"
#include "tests/unit/lib/perf_world.h"
#include "tests/unit/lib/sysroot.h"

#define PMU  "/sys/bus/event_source/devices/"
#define V2   "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n"
#define TREE "/sys/fs/cgroup/"

struct machine {
	char dir[32];
	struct world *w;
	struct perf_source s;
	struct buf text;
};

static int set_up(void **state)
{
	struct machine *m = calloc(1, sizeof(*m));

	assert_non_null(m);
	sysroot_make(m->dir, NULL);
	sysroot_put(m->dir, "/sys/devices/system/cpu/online", "0-3\n");
	sysroot_put(m->dir, PMU "software/type", "1\n");
	*state = m;
	return 0;
}

static int tear_down(void **state)
{
	struct machine *m = *state;

	sysroot_remove(m->dir);
	free(m);
	return 0;
}

static struct perf_options *begin(struct machine *m, const char *a, const char *b, const char *c)
{
	m->w = world_new(TARGET_SYSTEM, a, b, c);
	world_begin(m->w, m->dir);
	m->s = (struct perf_source){ .ends = -1, .follow.epoll = -1 };
	perf_pmus_read(&m->s.pmus, &m->w->root);
	return &m->w->options.perf;
}

static void end(struct machine *m)
{
	perf_tasks_release(&m->s);
	perf_cgroups_release(&m->s);
	free(m->s.event);
	event_set_release(&m->s.set);
	buf_release(&m->s.no_event);
	perf_pmus_release(&m->s.pmus);
	world_end(m->w, true);
	free(m->w);
	buf_release(&m->text);
}

static int read_events(struct machine *m)
{
	return perf_events_read(&m->s, &m->w->plan, "", &m->w->e);
}

static void says(const struct machine *m, const char *text)
{
	if (!strstr(m->w->e.text, text))
		fail_msg("'%s' lacks '%s'", m->w->e.text, text);
}

/* ---- cgroups ---- */

static void make_tree(struct machine *m, const char *mounts)
{
	static const char *const path[] = { "", "a/", "a/x/", "a/x/y/", "b/" };
	char name[64];

	sysroot_put(m->dir, "/proc/mounts", "%s", mounts);
	for (size_t i = 0; i < sizeof(path) / sizeof(path[0]); i++) {
		snprintf(name, sizeof(name), TREE "%scgroup.procs", path[i]);
		sysroot_put(m->dir, name, "\n");
	}
	sysroot_put(m->dir, TREE "a/file/of", "\n");
}

static void the_hierarchy_of_perf_events_comes_first(void **state)
{
	static const struct {
		const char *mounts, *found;
	} cases[] = {
		{ "proc /proc proc rw 0 0\n" V2 "cgroup2 /later cgroup2 rw 0 0\n", "/sys/fs/cgroup" },
		{ V2 "cgroup /sys/fs/cgroup/a cgroup rw,cpu 0 0\n", "/sys/fs/cgroup" },
		{ V2 "cgroup /sys/fs/cgroup/a cgroup rw,perf_event 0 0\n", "/sys/fs/cgroup/a" },
		{ "cgroup /sys/fs/cgroup/a cgroup rw,perf_event 0 0\n" V2, "/sys/fs/cgroup/a" },
		{ "cgroup /sys/fs/cgroup/a cgroup rw,cpu 0 0\n", NULL },
		{ "x /sys/fs/cgroup tmpfs rw,perf_event 0 0\n", NULL },
	};
	struct machine *m = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		make_tree(m, cases[i].mounts);
		begin(m, "cs", NULL, NULL)->each_cgroup = (char *)(uintptr_t) "x,/";
		if (cases[i].found) {
			assert_int_equal(read_events(m), 0);
			assert_string_equal(m->s.hierarchy, cases[i].found);
		} else {
			assert_int_equal(read_events(m), -ENOENT);
			says(m, "mount -t cgroup2");
		}
		end(m);
	}
	/* Nobody asked. */
	begin(m, "cs", NULL, NULL);
	assert_int_equal(read_events(m), 0);
	assert_null(m->s.hierarchy);
	end(m);
}

/* ---- tasks ---- */

/* The kernel says when a process has ended, before its parent has reaped it; its threads end with it. */
static void the_kernel_says_when_tasks_end(void **state)
{
	struct machine *m = *state;
	pid_t child[2];
	char id[16], path[32];
	siginfo_t info;

	for (int k = 0; k < 2; k++) {
		child[k] = fork();
		assert_true(child[k] >= 0);
		if (!child[k]) {
			pause();
			_exit(0);
		}
		snprintf(path, sizeof(path), "/proc/%d/task/%d/x", child[k], child[k]);
		sysroot_put(m->dir, path, "\n");
	}
	snprintf(id, sizeof(id), "%d,%d", child[0], child[1]);
	/* A second thread of the first. */
	snprintf(path, sizeof(path), "/proc/%d/task/9999999/x", child[0]);
	sysroot_put(m->dir, path, "\n");
	begin(m, "cs", NULL, NULL)->pids = id;
	m->w->options.target = TARGET_TASKS;
	assert_int_equal(perf_tasks_add(&m->s, &m->w->plan, &m->w->e), 0);
	assert_int_equal(m->s.n_tasks, 3);
	perf_tasks_watch(&m->s, &m->w->plan);
	assert_false(perf_tasks_notice(&m->s));
	if (m->s.task[0].end >= 0) {
		kill(child[0], SIGKILL);
		assert_int_equal(waitid(P_PID, (id_t)child[0], &info, WEXITED | WNOWAIT), 0);
		assert_true(perf_tasks_notice(&m->s));
		for (uint32_t k = 0; k < 3; k++)
			assert_int_equal(m->s.task[k].ended_ns > 0, m->s.task[k].pid == child[0]);
		assert_false(perf_tasks_notice(&m->s));
		perf_tasks_look(&m->s, &m->w->plan);
		assert_false(m->w->plan.targets_gone);
	}
	for (int k = 0; k < 2; k++) {
		kill(child[k], SIGKILL);
		assert_int_equal(waitpid(child[k], NULL, 0), child[k]);
	}
	end(m);
	/* Nobody waits for those that are followed anyway. */
	begin(m, "cs", NULL, NULL)->per_thread = true;
	m->w->options.target = TARGET_TASKS;
	perf_tasks_watch(&m->s, &m->w->plan);
	assert_int_equal(m->s.ends, -1);
	m->w->options.perf.per_thread = false;
	m->w->options.target = TARGET_COMMAND;
	perf_tasks_watch(&m->s, &m->w->plan);
	assert_int_equal(m->s.ends, -1);
	end(m);
}

/* ---- sets of events ---- */

static void put_events(struct machine *m, const char *pmu, const char *const *names)
{
	char path[96];

	for (; *names; names++) {
		snprintf(path, sizeof(path), PMU "%s/events/%s", pmu, *names);
		sysroot_put(m->dir, path, "event=1\n");
	}
}

static int sets(struct machine *m)
{
	buf_clear(&m->text);
	perf_pmus_release(&m->s.pmus);
	perf_pmus_read(&m->s.pmus, &m->w->root);
	return perf_sets_text(&m->s, &m->w->plan, &m->text, &m->w->e);
}

static void options_stand_for_sets_of_events(void **state)
{
	static const char *const first[] = { "cycles-t", NULL }, *const rest[] = { "tx-start", NULL };
	static const char *const more[] = { "cycles-ct", "el-start", NULL };
	static const char *const smi[] = { "smi", NULL }, *const aperf[] = { "aperf", NULL };
	struct machine *m = *state;
	struct perf_options *o;

	sysroot_put(m->dir, PMU "cpu/type", "4\n");
	sysroot_put(m->dir, PMU "cpu/format/event", "config:0-7\n");
	sysroot_put(m->dir, PMU "msr/type", "9\n");
	sysroot_put(m->dir, PMU "msr/format/event", "config:0-7\n");
	o = begin(m, "cs", NULL, NULL);
	assert_int_equal(sets(m), 0);
	assert_string_equal(buf_str(&m->text), "");
	o->transaction = true;
	assert_int_equal(sets(m), -ENODEV);
	says(m, "--transaction: no core PMU");
	put_events(m, "cpu", first);
	assert_int_equal(sets(m), -ENODEV);
	put_events(m, "cpu", rest);
	assert_int_equal(sets(m), 0);
	assert_string_equal(buf_str(&m->text),
			    "task-clock,{cpu/instructions/,cpu/cycles/,cpu/cycles-t/,cpu/tx-start/}:W");
	put_events(m, "cpu", more);
	assert_int_equal(sets(m), 0);
	assert_string_equal(buf_str(&m->text),
			    "task-clock,{cpu/instructions/,cpu/cycles/,cpu/cycles-t/,cpu/tx-start/,"
			    "cpu/el-start/,cpu/cycles-ct/}:W");
	o->transaction = false;
	o->smi_cost = true;
	assert_int_equal(sets(m), -ENODEV);
	put_events(m, "msr", smi);
	assert_int_equal(sets(m), -ENODEV);
	says(m, "--smi-cost: the msr PMU");
	put_events(m, "msr", aperf);
	assert_int_equal(sets(m), 0);
	assert_string_equal(buf_str(&m->text), "{msr/aperf/,msr/smi/,cycles}:W");
	/* All of them, in one list. */
	o->transaction = true;
	assert_int_equal(sets(m), 0);
	assert_int_equal(!strncmp(buf_str(&m->text), "{msr/aperf/,msr/smi/,cycles}:W,task-clock,{", 43), 1);
	o->transaction = o->smi_cost = false;
	/* PMUs that options name. */
	o->cputype = (char *)(uintptr_t) "atom";
	assert_int_equal(sets(m), -ENODEV);
	says(m, "--cputype: this machine has no PMU cpu_atom");
	o->cputype = NULL;
	o->pmu_filter = (char *)(uintptr_t) "msr";
	assert_int_equal(sets(m), 0);
	o->pmu_filter = (char *)(uintptr_t) "ms";
	assert_int_equal(sets(m), -ENODEV);
	says(m, "--pmu-filter: this machine has no PMU ms");
	end(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_hierarchy_of_perf_events_comes_first, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_kernel_says_when_tasks_end, set_up, tear_down),
		cmocka_unit_test_setup_teardown(options_stand_for_sets_of_events, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
