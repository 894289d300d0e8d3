/* CPUID leaves of machines that consist of files. */
#include "record/host/cpuid.c"
#include "record/plan/machine.h"
#include "record/plan/plan.h"
#include "tests/unit/lib/sysroot.h"
#include "tests/unit/lib/test.h"

static char dir[32];
static struct root root;
static struct cpulist cpus;
static struct cpuid_cpu *asked;

static int teardown(void **state)
{
	cpuid_free(asked, cpus.n);
	asked = NULL;
	cpulist_release(&cpus);
	root_release(&root);
	if (dir[0])
		sysroot_remove(dir);
	dir[0] = '\0';
	return 0;
}

static void open_tree(const char *kind, const char *list)
{
	sysroot_make(dir, kind);
	root_init(&root, dir);
	assert_int_equal(cpulist_parse(&cpus, list, false, NULL), 0);
}

/* Family, model and stepping as Intel's and AMD's manuals put them together. */
static void names_cpus(void **state)
{
	static const struct {
		const char *vendor;
		uint32_t eax;
		const char *name;
	} row[] = {
		{ "ebx=0x756e6547 ecx=0x6c65746e edx=0x49656e69", 0x000906a3, "GenuineIntel-6-9A-3" },
		{ "ebx=0x756e6547 ecx=0x6c65746e edx=0x49656e69", 0x00000f29, "GenuineIntel-15-2-9" },
		{ "ebx=0x68747541 ecx=0x444d4163 edx=0x69746e65", 0x00a10f11, "AuthenticAMD-25-11-1" },
		{ "ebx=0x68747541 ecx=0x444d4163 edx=0x69746e65", 0x00830f10, "AuthenticAMD-23-31-0" },
		/* Families but 6 and 15 have no extended model, those but 15 no extended family. */
		{ "ebx=0x756e6547 ecx=0x6c65746e edx=0x49656e69", 0x00150543, "GenuineIntel-5-4-3" },
		{ "ebx=0x756e6547 ecx=0x6c65746e edx=0x49656e69", 0x00190743, "GenuineIntel-7-4-3" },
		{ "ebx=0x756e6547 ecx=0x6c65746e edx=0x49656e69", 0x019906a3, "GenuineIntel-6-9A-3" },
	};
	char name[64];

	open_tree(NULL, "0");
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		sysroot_put(dir, "/dev/cpu/0/cpuid",
			    "CPU:\n   0x00000000 0x00: eax=0x00000001 %s\n"
			    "   0x00000001 0x00: eax=0x%08x ebx=0x0 ecx=0x0 edx=0x0\n",
			    row[i].vendor, row[i].eax);
		asked = cpuid_collect(&root, &cpus, false);
		assert_true(cpuid_name(&asked[0], name, sizeof(name)));
		assert_string_equal(name, row[i].name);
		cpuid_free(asked, 1);
		asked = NULL;
	}
}

static void names_hypervisors(void **state)
{
	static const char *const row[][2] = {
		{ "ebx=0x4b4d564b ecx=0x564b4d56 edx=0x0000004d", "kvm" },
		{ "ebx=0x7263694d ecx=0x666f736f edx=0x76482074", "hyperv" },
		{ "ebx=0x61774d56 ecx=0x4d566572 edx=0x65726177", "vmware" },
		{ "ebx=0x6c6c6548 ecx=0x6f57206f edx=0x00646c72", "Hello World" },
		{ "ebx=0x00000000 ecx=0x00000000 edx=0x00000000", "unknown" },
	};
	char name[13];

	open_tree(NULL, "0");
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		sysroot_put(dir, "/dev/cpu/0/cpuid",
			    "CPU:\n   0x00000000 0x00: eax=0x00000001 ebx=0x1 ecx=0x2 edx=0x3\n"
			    "   0x00000001 0x00: eax=0x0 ebx=0x0 ecx=0x80000000 edx=0x0\n"
			    "   0x40000000 0x00: eax=0x40000001 %s\n",
			    row[i][0]);
		asked = cpuid_collect(&root, &cpus, false);
		assert_true(cpuid_hypervisor(&asked[0], name));
		assert_string_equal(name, row[i][1]);
		cpuid_free(asked, 1);
		asked = NULL;
	}
}

#define LEAF(leaf, subleaf, eax, ecx) "   0x" #leaf " 0x" #subleaf ": eax=0x" #eax " ebx=0x0 ecx=0x" #ecx " edx=0x0\n"

/* Of the driver each leaf has 16 bytes at its own number: a file with holes can hold the first of each range. */
static void reads_what_the_driver_says(void **state)
{
	static const uint8_t first[16] = "\0\0\0\0GenuntelineI", more[16] = { [3] = 0x80, 1, 2, 3, 4, [15] = 0x81 };
	char path[64];
	FILE *f;

	open_tree(NULL, "0");
	sysroot_put(dir, "/dev/cpu/0/cpuid", "%s", "");
	asked = cpuid_collect(&root, &cpus, false);
	assert_int_equal(asked[0].err, -EIO);
	cpuid_free(asked, 1);
	asked = NULL;
	snprintf(path, sizeof(path), "%s/dev/cpu/0/cpuid", dir);
	f = fopen(path, "w");
	assert_int_equal(fwrite(first, sizeof(first), 1, f), 1);
	assert_int_equal(fseeko(f, 0x80000000, SEEK_SET), 0);
	assert_int_equal(fwrite(more, sizeof(more), 1, f), 1);
	fclose(f);
	asked = cpuid_collect(&root, &cpus, false);
	assert_int_equal(asked[0].err, 0);
	assert_int_equal(asked[0].n, 2);
	assert_int_equal(cpuid_get(&asked[0], 0, 0)->ebx, 0x756e6547);
	assert_int_equal(cpuid_get(&asked[0], 0, 0)->ecx, 0x6c65746e);
	assert_int_equal(cpuid_get(&asked[0], 0, 0)->edx, 0x49656e69);
	assert_int_equal(cpuid_get(&asked[0], 0x80000000, 0)->eax, 0x80000000);
	assert_int_equal(cpuid_get(&asked[0], 0x80000000, 0)->ebx, 0x04030201);
	assert_int_equal(cpuid_get(&asked[0], 0x80000000, 0)->edx, 0x81000000);
	/* A text without the first leaf is none of a processor. */
	cpuid_free(asked, 1);
	asked = NULL;
	sysroot_put(dir, "/dev/cpu/0/cpuid", "CPU:\n" LEAF(1, 0, 1, 0));
	assert_null(cpuid_collect(&root, &cpus, false));
}

/* Of a machine whose first CPU has no dump the others' are there. */
static void one_dump_is_enough(void **state)
{
	open_tree(NULL, "0-1");
	sysroot_put(dir, "/dev/cpu/1/cpuid",
		    "CPU:\n   0x00000000 0x00: eax=0x00000001 ebx=0x756e6547 ecx=0x6c65746e edx=0x49656e69\n"
		    "   0x00000001 0x00: eax=0x000906a3 ebx=0x0 ecx=0x0 edx=0x0\n");
	asked = cpuid_collect(&root, &cpus, false);
	assert_int_equal(asked[0].err, -ENOENT);
	assert_int_equal(asked[1].err, 0);
	assert_non_null(cpuid_get(&asked[1], 1, 0));
}

/* A hypervisor may show programs another processor than the kernel: its maker, model, features and highest leaf. */
static bool kernel_sees_the_same(int fd)
{
	uint32_t raw[4];

	for (uint32_t leaf = 0; leaf < 8; leaf++) {
		const struct cpuid_regs *l = leaf < 2 || leaf == 7 ? cpuid_get(&asked[0], leaf, 0) : NULL;

		if (l && (pread(fd, raw, sizeof(raw), leaf) != sizeof(raw) || memcmp(l, raw, sizeof(raw)) != 0))
			return false;
	}
	return true;
}

/* The instruction and the kernel's driver must agree, leaf by leaf; APIC ids tell the CPUs apart. */
static void agrees_with_the_driver(void **state)
{
	int fd = open("/dev/cpu/0/cpuid", O_RDONLY);
	uint32_t raw[4];

	if (fd < 0)
		skip();
	root_init(&root, NULL);
	assert_int_equal(root_cpulist(&root, &cpus, "/sys/devices/system/cpu/online"), 0);
	asked = cpuid_collect(&root, &cpus, false);
	if (asked[0].cpu != 0 || asked[0].err || !kernel_sees_the_same(fd))
		skip();
	assert_true(asked[0].n > 5);
	for (uint32_t k = 0; k < asked[0].n; k++) {
		const struct cpuid_leaf *l = &asked[0].leaf[k];

		assert_int_equal(pread(fd, raw, 16, (off_t)((uint64_t)l->subleaf << 32 | l->leaf)), 16);
		assert_int_equal(l->regs.eax, raw[0]);
		assert_int_equal(l->regs.ebx, raw[1]);
		assert_int_equal(l->regs.ecx, raw[2]);
		assert_int_equal(l->regs.edx, raw[3]);
	}
	for (size_t i = 1; i < cpus.n; i++)
		if (!asked[i].err)
			assert_int_not_equal(cpuid_get(&asked[i], 1, 0)->ebx >> 24,
					     cpuid_get(&asked[0], 1, 0)->ebx >> 24);
	close(fd);
}

static void describe(const char *privacy, const char *kind, struct pm_model *model)
{
	struct record_options options = { .privacy = (char *)privacy };
	struct plan p;

	if (!dir[0]) {
		sysroot_make(dir, kind);
		root_init(&root, dir);
	}
	pm_model_init(model);
	assert_int_equal(plan_init(&p, &options, &root, model, NULL), 0);
	assert_int_equal(machine_describe(&p, NULL), 0);
	plan_release(&p);
}

static const char *text(const struct pm_model *m, uint32_t key)
{
	return pm_map_text(&m->header, key, "absent");
}

static void describes_the_machine(void **state)
{
	const struct pm_config *c;
	struct pm_model m;

	describe("default", "server", &m);
	assert_string_equal(text(&m, PM_HEADER_ARCH), "x86_64");
	assert_string_equal(text(&m, PM_HEADER_KERNEL), "6.12.0-test");
	assert_string_equal(text(&m, PM_HEADER_OS), "Test OS 1 (quoted)");
	assert_string_equal(text(&m, PM_HEADER_CPU_ID), "GenuineIntel-6-55-7");
	assert_string_equal(text(&m, PM_HEADER_HOST), "host-of-server");
	assert_string_equal(text(&m, PM_HEADER_PRODUCT), "Maker Box 1");
	assert_string_equal(text(&m, PM_HEADER_SMT), "on");
	assert_string_equal(text(&m, PM_HEADER_CMDLINE), "absent");
	assert_string_equal(text(&m, PM_HEADER_HYPERVISOR), "absent");
	assert_int_equal(pm_map_u64(&m.header, PM_HEADER_MEMORY, 0), 16384 * 1024);
	assert_int_equal(pm_map_get(&m.header, PM_HEADER_PARANOID)->s64, -1);
	/* One entry for all CPUs where they agree, bytes in the order eax ebx ecx edx, each little endian. */
	c = pm_model_config(&m, "cpuid.00000000.0", 14);
	assert_non_null(c);
	assert_int_equal(c->instances.n, 15);
	assert_int_equal(c->value.str.len, 16);
	assert_memory_equal(c->value.str.data, "\x0b\0\0\0GenuntelineI", 16);
	c = pm_model_config(&m, "cpuid.00000001.0", 14);
	assert_non_null(c);
	assert_int_equal(c->instances.n, 1);
	pm_model_release(&m);
}

static void another_cpu_may_be_named(void **state)
{
	unsetenv("PERF_CPUID");
	assert_null(cpuid_for_vendor(NULL));
	assert_string_equal(cpuid_for_vendor("own"), "own");
	setenv("PERF_CPUID", "", 1);
	assert_string_equal(cpuid_for_vendor("own"), "own");
	setenv("PERF_CPUID", "other", 1);
	assert_string_equal(cpuid_for_vendor("own"), "other");
	assert_string_equal(cpuid_for_vendor(NULL), "other");
	unsetenv("PERF_CPUID");
}

UNIT_TESTS(cmocka_unit_test_teardown(names_cpus, teardown), cmocka_unit_test_teardown(names_hypervisors, teardown),
	   cmocka_unit_test_teardown(reads_what_the_driver_says, teardown),
	   cmocka_unit_test_teardown(one_dump_is_enough, teardown),
	   cmocka_unit_test_teardown(agrees_with_the_driver, teardown),
	   cmocka_unit_test_teardown(describes_the_machine, teardown), cmocka_unit_test(another_cpu_may_be_named))
