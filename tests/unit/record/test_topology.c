/* Topologies of machines that consist of files. */
#include "record/plan/machine.c"
#include "record/host/cpuid.h"
#include "record/plan/plan.h"
#include "tests/unit/lib/sysroot.h"
#include "tests/unit/lib/test.h"

static char dir[32];
static struct root root;
static struct record_options options;
static struct plan plan = { .root = &root, .options = &options };
static struct pm_topology topology;

static void open_tree(const char *kind)
{
	sysroot_make(dir, kind);
	root_init(&root, dir);
	assert_int_equal(topology_read(&plan, NULL, &topology, NULL), 0);
}

static int teardown(void **state)
{
	pm_topology_release(&topology);
	root_release(&root);
	sysroot_remove(dir);
	return 0;
}

/* 8 CPUs of one package whose numbers of cores begin again in the middle, as in an Opteron: two threads a core. A core keeps
 * its number while CPUs go and come. */
static void numbers_that_repeat(void **state)
{
	static const char *const online[] = { "0-7", "0-3,5-7", "1-3,5-7", "1-3,5-6", "0-7" };
	static const char *const lists[][8] = {
		{ "0-1", "0-1", "2-3", "2-3", "4-5", "4-5", "6-7", "6-7" },
		{ "0-1", "0-1", "2-3", "2-3", "", "5", "6-7", "6-7" },
		{ "", "1", "2-3", "2-3", "", "5", "6-7", "6-7" },
		{ "", "1", "2-3", "2-3", "", "5", "6", "" },
		{ "0-1", "0-1", "2-3", "2-3", "4-5", "4-5", "6-7", "6-7" },
	};
	struct pm_topology t = { 0 }, before = { 0 };

	open_tree("arm64");
	sysroot_put(dir, "/sys/devices/system/cpu/present", "0-7\n");
	for (size_t step = 0; step < sizeof(online) / sizeof(online[0]); step++) {
		sysroot_put(dir, "/sys/devices/system/cpu/online", "%s\n", online[step]);
		for (unsigned c = 0; c < 8; c++) {
			char path[100];

			for (int old = 0; old < 2; old++) {
				snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/topology/%s", c,
					 old ? "thread_siblings_list" : "core_cpus_list");
				sysroot_put(dir, path, "%s\n", lists[step][c]);
			}
			snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/topology/core_id", c);
			sysroot_put(dir, path, "%u\n", c / 2 % 2);
			snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/topology/cluster_id", c);
			sysroot_put(dir, path, "-1\n");
		}
		assert_int_equal(topology_read(&plan, step ? &before : NULL, &t, NULL), 0);
		for (unsigned c = 0; c < 8; c++) {
			if (t.cpu[c].core != c / 2 || t.cpu[c].thread != c % 2)
				fail_msg("step %zu, CPU %u: core %u, thread %u", step, c, t.cpu[c].core,
					 t.cpu[c].thread);
		}
		pm_topology_release(&before);
		before = t;
	}
	pm_topology_release(&before);
}

#define CPU0 "/sys/devices/system/cpu/cpu0/"

/* Each of them changes one thing of the first CPU. */
static const struct {
	const char *file, *text;
} changes[] = {
	{ CPU0 "topology/physical_package_id", "3" },
	{ CPU0 "topology/die_id", "5" },
	{ CPU0 "topology/cluster_id", "9" },
	{ CPU0 "topology/core_id", "77" },
	{ CPU0 "cpu_capacity", "300" },
	{ CPU0 "cache/index3/id", "6" },
	{ "/sys/devices/system/node/node3/cpulist", "0" },
	{ "/sys/devices/system/cpu/online", "1-13" },
};

static void instances_and_refresh(void **state)
{
	struct record_options options = { .privacy = "default" };
	struct pm_model model;
	struct plan p;
	int64_t core0, id;

	open_tree("server");
	pm_model_init(&model);
	assert_int_equal(plan_init(&p, &options, &root, &model, NULL), 0);
	assert_int_equal(machine_describe(&p, NULL), 0);
	core0 = topology_instance(&p, PM_CORE, 8);
	assert_true(core0 > 0);
	assert_int_equal(topology_instance(&p, PM_CORE, 0), core0);
	/* Core 0 of the other package has the same number and is another one. */
	id = topology_instance(&p, PM_CORE, 12);
	assert_true(id > 0 && id != core0);
	assert_int_equal(pm_model_instance(&model, (uint32_t)id)->number, 0);
	assert_int_equal(pm_model_instance(&model, (uint32_t)id)->cpu, 4);
	assert_int_equal(topology_instance(&p, PM_PACKAGE, 15), -ENOENT);
	assert_int_equal(topology_instance(&p, PM_CPU, 3), plan_cpu_instance(&p, 3));

	assert_int_equal(topology_refresh(&p), 0);
	sysroot_put(dir, "/sys/devices/system/cpu/online", "0-13\n");
	assert_int_equal(topology_refresh(&p), 1);
	assert_false(pm_topology_cpu(&model.topology, 14)->online);
	assert_int_equal(pm_topology_cpu(&model.topology, 14)->package, 1);
	assert_int_equal(topology_refresh(&p), 0);
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		sysroot_put(dir, changes[i].file, "%s\n", changes[i].text);
		if (topology_refresh(&p) != 1)
			fail_msg("%s has changed", changes[i].file);
		assert_int_equal(topology_refresh(&p), 0);
	}
	plan_release(&p);
	pm_model_release(&model);
}

/* Two CPUs of each other place, in the same numbers or in others; numbers mean something within a larger place alone. */
static void places_are_shared_by_their_numbers(void **state)
{
	static const enum pm_kind kinds[] = { PM_PACKAGE, PM_DIE, PM_CLUSTER, PM_CACHE, PM_NODE, PM_CORE };
	static const struct {
		const char *differ; /* in package, die, cluster, l3 (x), node, core (o) */
		const char *shared; /* of the kinds, in that order */
	} cases[] = {
		{ "", "111111" },  { "p", "000110" }, { "d", "100110" }, { "c", "110110" },
		{ "x", "111011" }, { "n", "111101" }, { "o", "111110" }, { "do", "100110" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pm_cpu c[2] = { { .cpu = 3, .package = 1, .die = 2, .cluster = 3, .node = 4, .core = 5 },
				       { .cpu = 7, .package = 1, .die = 2, .cluster = 3, .node = 4, .core = 5 } };
		struct pm_topology t = { .cpu = c, .n = 2 };

		c[0].cache[PM_CACHE_L3] = c[1].cache[PM_CACHE_L3] = 6;
		for (const char *at = cases[i].differ; *at; at++) {
			c[1].package += *at == 'p';
			c[1].die += *at == 'd';
			c[1].cluster += *at == 'c';
			c[1].cache[PM_CACHE_L3] += *at == 'x';
			c[1].node += *at == 'n';
			c[1].core += *at == 'o';
		}
		for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
			if (topology_shares(&t, kinds[k], 3, 7) != (cases[i].shared[k] == '1'))
				fail_msg("\"%s\", kind %zu", cases[i].differ, k);
			assert_false(topology_shares(&t, kinds[k], 3, 8));
			assert_false(topology_shares(&t, kinds[k], 8, 3));
			assert_true(topology_shares(&t, kinds[k], 7, 7));
		}
		assert_true(topology_shares(&t, PM_CPU, 8, 8));
		assert_false(topology_shares(&t, PM_CPU, 3, 7));
		assert_false(topology_shares(&t, PM_SYSTEM, 3, 7));
		/* What has no number is no place. */
		c[0] = c[1] = (struct pm_cpu){ .cpu = 3,
					       .package = PM_NONE,
					       .die = PM_NONE,
					       .cluster = PM_NONE,
					       .node = PM_NONE,
					       .core = PM_NONE };
		c[0].cache[PM_CACHE_L3] = c[1].cache[PM_CACHE_L3] = PM_NONE;
		c[1].cpu = 7;
		for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
			assert_false(topology_shares(&t, kinds[k], 3, 7));
	}
}

static void no_cpus_is_an_error(void **state)
{
	struct pm_topology t;
	struct error e = { 0 };

	open_tree("arm64");
	sysroot_put(dir, "/sys/devices/system/cpu/online", "\n");
	assert_int_equal(topology_read(&plan, NULL, &t, &e), -EINVAL);
	assert_non_null(strstr(e.text, "online"));
}

/* P cores alone are a kind if the machine has others, which are offline. */
static void kinds_of_cpus(void **state)
{
	struct pm_topology t, after;
	struct error e = { 0 };

	open_tree("server");
	sysroot_put(dir, "/sys/devices/system/cpu/online", "0-3\n");
	sysroot_put(dir, "/sys/devices/cpu_atom/cpus", "0-3\n");
	assert_int_equal(topology_read(&plan, NULL, &t, &e), 0);
	assert_int_equal(t.n_types, 0);
	assert_int_equal(t.cpu[0].type, PM_NONE);
	pm_topology_release(&t);
	sysroot_put(dir, "/sys/devices/cpu_core/cpus", "0-1\n");
	sysroot_put(dir, "/sys/devices/cpu_atom/cpus", "2\n");
	assert_int_equal(topology_read(&plan, NULL, &t, &e), 0);
	assert_int_equal(t.n_types, 2);
	assert_string_equal(t.type[t.cpu[1].type], "cpu_core");
	assert_string_equal(t.type[t.cpu[2].type], "cpu_atom");
	assert_int_equal(t.cpu[3].type, PM_NONE);
	/* Who went offline keeps its kind, and is not in the kernel's lists. */
	sysroot_put(dir, "/sys/devices/system/cpu/online", "0-1,3\n");
	sysroot_put(dir, "/sys/devices/cpu_atom/cpus", "\n");
	assert_int_equal(topology_read(&plan, &t, &after, &e), 0);
	assert_int_equal(after.n_types, 2);
	assert_string_equal(after.type[after.cpu[2].type], "cpu_atom");
	assert_string_equal(after.type[after.cpu[0].type], "cpu_core");
	pm_topology_release(&after);
	assert_int_equal(topology_read(&plan, NULL, &after, &e), 0);
	assert_int_equal(after.n_types, 1);
	assert_int_equal(after.cpu[2].type, PM_NONE);
	pm_topology_release(&after);
	pm_topology_release(&t);
}

UNIT_TESTS(cmocka_unit_test_teardown(numbers_that_repeat, teardown),
	   cmocka_unit_test_teardown(instances_and_refresh, teardown),
	   cmocka_unit_test(places_are_shared_by_their_numbers),
	   cmocka_unit_test_teardown(no_cpus_is_an_error, teardown),
	   cmocka_unit_test_teardown(kinds_of_cpus, teardown))
