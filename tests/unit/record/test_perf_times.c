/* Times of the tool's events, of tasks and CPUs that come and go: texts of /proc written by hand. */
#include "record/perf/perf_events.c"
#include "record/perf/source_perf.c"
#include "tests/unit/lib/perf_world.h"
#include "tests/unit/lib/sysroot.h"

struct fixture {
	char dir[32];
	struct world *w;
	struct perf_source *s;
	uint64_t tick;
};

static void put_times(struct fixture *f, int pid, int tid, unsigned user, unsigned system)
{
	char path[64];

	snprintf(path, sizeof(path), tid ? "/proc/%d/task/%d/stat" : "/proc/%d/stat", pid, tid);
	sysroot_put(f->dir, path, "%d (a b) S 1 1 1 0 -1 0 0 0 0 0 %u %u 1000 2000 20 0 1 0 5\n", pid, user, system);
}

static void begin(struct fixture *f, enum target_kind target, bool per_thread)
{
	sysroot_make(f->dir, NULL);
	sysroot_put(f->dir, "/sys/devices/system/cpu/online", "0,2\n");
	f->tick = 1000000000 / (uint64_t)sysconf(_SC_CLK_TCK);
	f->w = world_new(target, "user_time,system_time,duration_time", NULL, NULL);
	f->w->options.perf.per_thread = per_thread;
	world_begin(f->w, f->dir);
	f->s = calloc(1, sizeof(*f->s));
	assert_non_null(f->s);
	f->w->source.data = f->s;
	f->s->ends = f->s->follow.epoll = -1;
	perf_pmus_read(&f->s->pmus, &f->w->root);
}

static void plan(struct fixture *f)
{
	assert_int_equal(perf_events_read(f->s, &f->w->plan, "", &f->w->e), 0);
	assert_int_equal(perf_tasks_add(f->s, &f->w->plan, &f->w->e), 0);
	perf_counters_add(f->s, &f->w->plan);
	perf_tool_plan(f->s, &f->w->plan);
}

static void end(struct fixture *f)
{
	world_end(f->w, false);
	free(f->w);
	sysroot_remove(f->dir);
}

/* The k-th unit of times, which comes after that of values. */
static struct unit *unit_of(const struct fixture *f, unsigned k)
{
	struct unit *found = NULL;

	for (struct unit *u = f->w->plan.units; u; u = u->next) {
		const struct pm_group *g = pm_model_group(&f->w->model, u->group);

		if (g->n_counters == 2 && !k--)
			found = u;
	}
	return found;
}

/* What the place of a unit says: ticks of the user and of the system, or a reason. */
static void expect(struct fixture *f, unsigned unit, uint32_t place, uint32_t places, uint16_t reason, uint64_t user,
		   uint64_t system)
{
	uint64_t v[16] = { 0 }, enabled = 0, running = 0;
	uint16_t status[16] = { 0 };
	bool missing = false;
	struct unit *u = unit_of(f, unit);
	struct cells c = { v,
			   status,
			   .step = 1,
			   .n = 2 * places,
			   .enabled = &enabled,
			   .running = &running,
			   .any_missing = &missing };

	assert_non_null(u);
	assert_int_equal(pm_model_group(&f->w->model, u->group)->n_instances, places);
	assert_int_equal(u->read(u, &c), 0);
	assert_true(enabled > 0 && running == enabled);
	assert_int_equal(status[place], reason);
	assert_int_equal(status[places + place], reason);
	if (!reason) {
		assert_int_equal(v[place], user * f->tick);
		assert_int_equal(v[places + place], system * f->tick);
	}
}

static void threads_begin_at_0_and_end(void **state)
{
	struct perf_task *more;
	struct fixture f;

	begin(&f, TARGET_COMMAND, true);
	f.w->plan.child = 70;
	put_times(&f, 70, 70, 7, 8);
	put_times(&f, 71, 71, 20, 30);
	plan(&f);
	assert_int_equal(count_units(f.w), 2);
	/* Without those of its children: they are tasks themselves. */
	expect(&f, 0, 0, 1, PM_OK, 7, 8);
	put_times(&f, 70, 70, 9, 8);
	expect(&f, 0, 0, 1, PM_OK, 9, 8);
	/* One that began meanwhile. */
	more = realloc(f.s->task, 2 * sizeof(*more));
	assert_non_null(more);
	f.s->task = more;
	more[1] = (struct perf_task){ .pid = 71, .tid = 71, .began_ns = 5, .end = -1 };
	f.s->n_tasks = 2;
	perf_threads_update(f.s, &f.w->plan);
	assert_int_equal(count_units(f.w), 3);
	expect(&f, 1, 0, 1, PM_OK, 0, 0);
	expect(&f, 1, 0, 1, PM_OK, 20, 30);
	perf_threads_update(f.s, &f.w->plan);
	assert_int_equal(count_units(f.w), 3);
	/* Its file is empty once it has ended, and stays so. */
	sysroot_put(f.dir, "/proc/71/task/71/stat", "%s", "");
	expect(&f, 1, 0, 1, PM_REASON_GONE, 0, 0);
	put_times(&f, 71, 71, 40, 50);
	expect(&f, 1, 0, 1, PM_REASON_GONE, 0, 0);
	expect(&f, 0, 0, 1, PM_OK, 9, 8);
	perf_threads_update(f.s, &f.w->plan);
	assert_int_equal(count_units(f.w), 2);
	expect(&f, 0, 0, 1, PM_OK, 9, 8);
	sysroot_put(f.dir, "/proc/70/task/70/stat", "70 (a b) S 1\n");
	expect(&f, 0, 0, 1, PM_REASON_FORMAT, 0, 0);
	end(&f);
}

static void cpus_come_and_go(void **state)
{
	static const char *const with_1 = "cpu  1 1 1 1\ncpu0 3 1 5 0\ncpu1 10 0 11 0\ncpu2 20 0 21 0\n";
	struct fixture f;

	begin(&f, TARGET_SYSTEM, false);
	sysroot_put(f.dir, "/proc/stat", "cpu  1 1 1 1\ncpu0 3 1 5 0\ncpu2 20 0 21 0\n");
	plan(&f);
	assert_int_equal(count_units(f.w), 2);
	expect(&f, 0, 0, 2, PM_OK, 4, 5);
	expect(&f, 0, 1, 2, PM_OK, 20, 21);
	sysroot_put(f.dir, "/proc/stat", "%s", with_1);
	perf_tool_cpu(f.s, &f.w->plan, 1, false);
	perf_tool_cpu(f.s, &f.w->plan, 2, true);
	assert_int_equal(count_units(f.w), 2);
	perf_tool_cpu(f.s, &f.w->plan, 1, true);
	perf_tool_cpu(f.s, &f.w->plan, 1, true);
	assert_int_equal(count_units(f.w), 3);
	expect(&f, 1, 0, 1, PM_OK, 10, 11);
	sysroot_put(f.dir, "/proc/stat", "cpu  1 1 1 1\ncpu0 4 1 5 0\ncpu2 20 0 21 0\n");
	expect(&f, 1, 0, 1, PM_REASON_OFFLINE, 0, 0);
	expect(&f, 0, 0, 2, PM_OK, 5, 5);
	sysroot_put(f.dir, "/proc/stat", "%s", "");
	expect(&f, 0, 0, 2, PM_REASON_FORMAT, 0, 0);
	end(&f);
	/* Others than those of -C are nobody's. */
	begin(&f, TARGET_SYSTEM, false);
	sysroot_put(f.dir, "/proc/stat", "%s", with_1);
	f.w->options.cpus = (char *)(uintptr_t) "0,2";
	plan(&f);
	perf_tool_cpu(f.s, &f.w->plan, 1, true);
	assert_int_equal(count_units(f.w), 2);
	end(&f);
}

static void value_is(struct plan *p, const char *name, uint64_t want)
{
	struct metrics m = { .p = p, .smt = smt_on(p) };
	double got = 77;

	assert_int_equal(literal(&m, name, &got), want != UINT64_MAX);
	if (want != UINT64_MAX)
		assert_int_equal(got, want);
}

/* What the machine has, by its topology: two packages of two dies of a core with two threads. */
static void values_are_those_of_the_machine(void **state)
{
	static const struct {
		uint32_t offline; /* one bit a CPU */
		uint64_t dies, packages, smt;
	} cases[] = {
		{ 0, 4, 2, 1 },    { 0x02, 4, 2, 1 }, { 0x03, 3, 2, 1 },
		{ 0x0f, 2, 1, 1 }, { 0xaa, 4, 2, 0 }, { 0x55, 4, 2, 0 },
	};
	static const struct {
		enum target_kind target;
		const char *cpus, *smt;
		uint64_t wide;
	} wide[] = {
		{ TARGET_SYSTEM, NULL, "1", 1 },  { TARGET_SYSTEM, "0-1", "1", 1 }, { TARGET_SYSTEM, "0", "1", 0 },
		{ TARGET_SYSTEM, "1-2", "1", 0 }, { TARGET_SYSTEM, "0", "0", 1 },   { TARGET_TASKS, NULL, "1", 0 },
		{ TARGET_TASKS, NULL, "0", 1 },
	};
	struct pm_topology *t;
	struct fixture f;

	begin(&f, TARGET_SYSTEM, false);
	t = &f.w->model.topology;
	t->cpu = calloc(8, sizeof(*t->cpu));
	assert_non_null(t->cpu);
	t->n = 8;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (uint32_t k = 0; k < 8; k++)
			t->cpu[k] = (struct pm_cpu){ .cpu = k,
						     .package = k / 4,
						     .die = k / 2 % 2,
						     .cluster = PM_NONE,
						     .core = 0,
						     .online = !(cases[i].offline >> k & 1) };
		value_is(&f.w->plan, "num_dies", cases[i].dies);
		value_is(&f.w->plan, "num_packages", cases[i].packages);
		value_is(&f.w->plan, "smt_on", cases[i].smt);
	}
	for (uint32_t k = 0; k < 8; k++)
		t->cpu[k].online = true;
	for (size_t i = 0; i < sizeof(wide) / sizeof(wide[0]); i++) {
		f.w->options.target = wide[i].target;
		f.w->options.cpus = (char *)(uintptr_t)wide[i].cpus;
		cpulist_release(&f.w->plan.cpus);
		assert_int_equal(cpulist_parse(&f.w->plan.cpus, wide[i].cpus ? wide[i].cpus : "0-7", false, NULL), 0);
		sysroot_put(f.dir, "/sys/devices/system/cpu/smt/active", "%s\n", wide[i].smt);
		value_is(&f.w->plan, "core_wide", wide[i].wide ? 1 : UINT64_MAX);
		value_is(&f.w->plan, "smt_on", *wide[i].smt == '1');
	}
	value_is(&f.w->plan, "has_pmem", 0);
	sysroot_put(f.dir, "/sys/firmware/acpi/tables/NFIT", "x");
	value_is(&f.w->plan, "has_pmem", 1);
	value_is(&f.w->plan, "duration_time", UINT64_MAX);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_begin_at_0_and_end),
		cmocka_unit_test(cpus_come_and_go),
		cmocka_unit_test(values_are_those_of_the_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
