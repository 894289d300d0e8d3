/* What the host stole from the recorder: the largest growth of a CPU, in ticks of the kernel's clock, against lost
 * ticks. All values are worked out for a clock of 100 Hz: one of its ticks is 10 ms. */
#include "record/sample/session.c"
#include "tests/unit/lib/planned.h"
#include "tests/unit/lib/test.h"

#define MS 1000000ull

struct fixture {
	char dir[32];
	struct root root;
	struct cost cost;
};

/* user, nice, system, idle, iowait, irq, softirq, steal; the first line is the sum of all. */
static void host_took(struct fixture *f, unsigned from_0, unsigned from_3)
{
	sysroot_put(f->dir, "/proc/stat",
		    "cpu  1 2 3 4 5 6 7 %u 0 0\ncpu0 1 2 3 4 5 6 7 %u 0 0\ncpu3 1 2 3 4 5 6 7 %u 0 0\nintr 5 1 2 3 4 "
		    "5 6 7 "
		    "8\ncpu9 1 2 3\n",
		    from_0 + from_3, from_0, from_3);
}

static void begin(struct fixture *f, unsigned from_0, unsigned from_3)
{
	*f = (struct fixture){ 0 };
	sysroot_make(f->dir, NULL);
	host_took(f, from_0, from_3);
	root_init(&f->root, f->dir);
	cost_begin(&f->cost, &f->root);
}

static void end(struct fixture *f)
{
	cost_release(&f->cost);
	root_release(&f->root);
	sysroot_remove(f->dir);
}

/* As if the last look were long ago. */
static void look(struct fixture *f, uint64_t lost, uint64_t interval_ns)
{
	f->cost.look_ns = 0;
	cost_look(&f->cost, lost, interval_ns);
}

static void the_most_of_one_cpu_counts(void **state)
{
	struct fixture f;

	if (sysconf(_SC_CLK_TCK) != 100)
		skip();
	begin(&f, 100, 7);
	assert_int_equal(f.cost.n_stolen, 4);
	assert_int_equal(f.cost.stolen[0], 100);
	assert_int_equal(f.cost.stolen[1], 0);
	assert_int_equal(f.cost.stolen[3], 7);
	assert_true(f.cost.may_steal);
	/* 2 and 5 ticks of 10 ms: 50 ms, in which 5 intervals of 10 ms were due, of which 3 were lost. */
	host_took(&f, 102, 12);
	look(&f, 3, 10 * MS);
	assert_int_equal(f.cost.stolen_ns, 50 * MS);
	assert_int_equal(f.cost.stolen_ticks, 3);
	assert_int_equal(f.cost.spare_ns, 20 * MS);
	/* Nothing new was stolen; what is found lost later was lost then. */
	look(&f, 4, 10 * MS);
	assert_int_equal(f.cost.stolen_ns, 50 * MS);
	assert_int_equal(f.cost.stolen_ticks, 4);
	assert_int_equal(f.cost.spare_ns, 0);
	/* Lost without theft. */
	look(&f, 9, 10 * MS);
	assert_int_equal(f.cost.stolen_ticks, 4);
	/* 30 ms hold one of 20 ms, and the rest is spare. */
	host_took(&f, 105, 12);
	look(&f, 14, 20 * MS);
	assert_int_equal(f.cost.stolen_ns, 80 * MS);
	assert_int_equal(f.cost.stolen_ticks, 5);
	assert_int_equal(f.cost.spare_ns, 10 * MS);
	/* A count that went back is no theft, and the next one is taken from there. */
	host_took(&f, 3, 12);
	look(&f, 14, 20 * MS);
	host_took(&f, 4, 12);
	look(&f, 14, 20 * MS);
	assert_int_equal(f.cost.stolen_ns, 90 * MS);
	/* Never more than the time that passed. */
	host_took(&f, 4000000, 12);
	f.cost.look_ns = clocks_monotonic();
	cost_look(&f.cost, 14, 20 * MS);
	assert_in_range(f.cost.stolen_ns, 90 * MS, 39000 * MS);
	assert_in_range(f.cost.look_ns, clocks_monotonic() - 60000 * MS, clocks_monotonic());
	end(&f);
}

/* A machine without a host is looked at only when ticks were lost, and one that has no ticks never. */
static void who_never_stole_is_not_asked(void **state)
{
	struct fixture f;

	if (sysconf(_SC_CLK_TCK) != 100)
		skip();
	begin(&f, 0, 0);
	assert_false(f.cost.may_steal);
	host_took(&f, 0, 1);
	look(&f, 0, 10 * MS);
	assert_int_equal(f.cost.stolen_ns, 0);
	look(&f, 1, 0);
	assert_int_equal(f.cost.stolen_ns, 0);
	look(&f, 1, 10 * MS);
	assert_int_equal(f.cost.stolen_ns, 10 * MS);
	assert_int_equal(f.cost.stolen_ticks, 1);
	assert_true(f.cost.may_steal);
	host_took(&f, 0, 2);
	look(&f, 1, 10 * MS);
	assert_int_equal(f.cost.stolen_ns, 20 * MS);
	end(&f);
	/* Without the file nothing was stolen. */
	*(&f) = (struct fixture){ 0 };
	sysroot_make(f.dir, NULL);
	root_init(&f.root, f.dir);
	cost_begin(&f.cost, &f.root);
	look(&f, 3, 10 * MS);
	assert_int_equal(f.cost.stolen_ns, 0);
	end(&f);
}

/* Of the own cgroup and those above, and of both versions, the one that was held back longest. */
static void a_quota_above_holds_back_too(void **state)
{
	static const char above[] = "/sys/fs/cgroup/pod.slice/cpu.stat",
			  old[] = "/sys/fs/cgroup/cpu,cpuacct/a/cpu.stat";
	struct fixture f;

	begin(&f, 0, 0);
	assert_int_equal(f.cost.throttled_ns, 0);
	cost_release(&f.cost);
	sysroot_put(f.dir, "/proc/self/cgroup", "9:cpuset:/z\n4:cpu,cpuacct:/a\n0::/pod.slice/x:y.scope\n");
	sysroot_put(f.dir, "/sys/fs/cgroup/pod.slice/x:y.scope/cpu.stat", "nr_throttled 2\nthrottled_usec 7\n");
	cost_begin(&f.cost, &f.root);
	assert_int_equal(f.cost.throttled_ns, 7000);
	cost_release(&f.cost);
	sysroot_put(f.dir, above, "usage_usec 90\nnr_throttled 2\nthrottled_usec 9\nnr_bursts 0\n");
	cost_begin(&f.cost, &f.root);
	assert_int_equal(f.cost.throttled_ns, 9000);
	cost_release(&f.cost);
	sysroot_put(f.dir, old, "nr_periods 4\nnr_throttled 3\nthrottled_time 258925281\nnr_bursts 0\n");
	cost_begin(&f.cost, &f.root);
	assert_int_equal(f.cost.throttled_ns, 258925281);
	end(&f);
}

UNIT_TESTS(cmocka_unit_test(the_most_of_one_cpu_counts), cmocka_unit_test(who_never_stole_is_not_asked),
	   cmocka_unit_test(a_quota_above_holds_back_too))
