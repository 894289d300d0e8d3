/* CPUID leaves of machines that consist of files. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "record/host/cpuid.h"
#include "record/plan/machine.h"
#include "record/plan/plan.h"
#include "tests/unit/lib/sysroot.h"

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
	assert_int_equal(root_init(&root, dir), 0);
	assert_int_equal(cpulist_parse(&cpus, list, false, NULL), 0);
}

static void reads_dumps(void **state)
{
	const struct cpuid_regs *r;
	char vendor[13], brand[49], name[64], hypervisor[13] = "before";

	open_tree("server", "0,3");
	assert_int_equal(cpuid_collect(&root, &cpus, false, &asked), 0);
	assert_int_equal(asked[1].cpu, 3);
	assert_int_equal(asked[1].err, 0);
	r = cpuid_get(&asked[1], 1, 0);
	assert_non_null(r);
	assert_int_equal(r->ebx, 0x03100800);
	r = cpuid_get(&asked[0], 7, 1);
	assert_non_null(r);
	assert_int_equal(r->eax, 0x30);
	/* Leaf 0xb ends at the level without type; 0x1f and 0x40000000 are not there. */
	assert_non_null(cpuid_get(&asked[0], 0xb, 1));
	assert_null(cpuid_get(&asked[0], 0xb, 2));
	assert_null(cpuid_get(&asked[0], 0x1f, 0));
	assert_null(cpuid_get(&asked[0], 0x40000000, 0));
	assert_true(cpuid_vendor(&asked[0], vendor));
	assert_string_equal(vendor, "GenuineIntel");
	assert_true(cpuid_brand(&asked[0], brand));
	assert_string_equal(brand, "Test CPU -1 number one");
	assert_true(cpuid_name(&asked[0], name, sizeof(name)));
	assert_string_equal(name, "GenuineIntel-6-55-7");
	assert_false(cpuid_hypervisor(&asked[0], hypervisor));
	assert_string_equal(hypervisor, "");
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
		assert_int_equal(cpuid_collect(&root, &cpus, false, &asked), 0);
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
		assert_int_equal(cpuid_collect(&root, &cpus, false, &asked), 0);
		assert_true(cpuid_hypervisor(&asked[0], name));
		assert_string_equal(name, row[i][1]);
		cpuid_free(asked, 1);
		asked = NULL;
	}
}

/* Whether a CPU whose dump is the text has the leaf, if asked for all or briefly. */
static void expect_leaf(const char *dump, uint32_t leaf, uint32_t subleaf, bool whole, bool brief)
{
	for (int i = 0; i < 2; i++) {
		sysroot_put(dir, "/dev/cpu/0/cpuid", "CPU:\n%s", dump);
		assert_int_equal(cpuid_collect(&root, &cpus, i, &asked), 0);
		assert_int_equal(asked[0].err, 0);
		if (!!cpuid_get(&asked[0], leaf, subleaf) != (i ? brief : whole))
			fail_msg("%x.%x of %s", leaf, subleaf, dump);
		cpuid_free(asked, 1);
		asked = NULL;
	}
}

#define LEAF(leaf, subleaf, eax, ecx) "   0x" #leaf " 0x" #subleaf ": eax=0x" #eax " ebx=0x0 ecx=0x" #ecx " edx=0x0\n"

/* A processor that lacks a leaf answers with another one's words: only those up to the highest of their range are
 * asked for, and of a leaf's parts only those up to its end. */
static void asks_for_what_is_there(void **state)
{
	static const struct {
		const char *dump;
		uint32_t leaf, subleaf;
		bool whole, brief;
	} row[] = {
		{ LEAF(0, 0, 6, 0) LEAF(6, 0, 1, 0), 6, 0, true, true },
		{ LEAF(0, 0, 5, 0) LEAF(6, 0, 1, 0), 6, 0, false, false },
		{ LEAF(0, 0, 6, 0) LEAF(3, 0, 1, 0), 3, 0, false, false },
		{ LEAF(0, 0, 80000008, 0) LEAF(6, 0, 1, 0), 6, 0, false, false },
		{ LEAF(0, 0, 1, 0) LEAF(80000000, 0, 80000007, 0) LEAF(80000007, 0, 0, 0), 0x80000007, 0, true,
		  true },
		{ LEAF(0, 0, 1, 0) LEAF(80000000, 0, 80000007, 0) LEAF(80000008, 0, 0, 0), 0x80000008, 0, false,
		  false },
		{ LEAF(0, 0, 1, 0) LEAF(80000000, 0, 8, 0) LEAF(80000007, 0, 0, 0), 0x80000007, 0, false, false },
		{ LEAF(0, 0, 1, 0) LEAF(80000001, 0, 1, 0), 0x80000001, 0, false, false },
		{ LEAF(0, 0, 1, 0) LEAF(1, 0, 0, 80000000) LEAF(40000000, 0, 0, 0), 0x40000000, 0, true, true },
		{ LEAF(0, 0, 1, 0) LEAF(1, 0, 0, 7fffffff) LEAF(40000000, 0, 0, 0), 0x40000000, 0, false, false },
		{ LEAF(0, 0, 1, 0) LEAF(40000000, 0, 0, 0), 0x40000000, 0, false, false },
		/* The list of caches ends with one of type 0, that of levels, too. */
		{ LEAF(0, 0, 4, 0) LEAF(4, 0, 121, 0) LEAF(4, 1, 10, 0) LEAF(4, 2, 1e0, 0), 4, 1, true, false },
		{ LEAF(0, 0, 4, 0) LEAF(4, 0, 121, 0) LEAF(4, 1, 10, 0) LEAF(4, 2, 1e0, 0), 4, 2, false, false },
		{ LEAF(0, 0, 4, 0) LEAF(4, 0, 0, 0) LEAF(4, 1, 1, 0), 4, 0, true, false },
		{ LEAF(0, 0, 4, 0) LEAF(4, 0, 0, 0) LEAF(4, 1, 1, 0), 4, 1, false, false },
		{ LEAF(0, 0, b, 0) LEAF(b, 0, 1, 100) LEAF(b, 1, 4, ff01), 0xb, 1, true, false },
		{ LEAF(0, 0, b, 0) LEAF(b, 0, 1, 100) LEAF(b, 1, 4, 10001), 0xb, 1, false, false },
		/* One counts its parts, up to what is kept. */
		{ LEAF(0, 0, 7, 0) LEAF(7, 0, 1, 0) LEAF(7, 1, 0, 0), 7, 1, true, false },
		{ LEAF(0, 0, 7, 0) LEAF(7, 0, 0, 0) LEAF(7, 1, 0, 0), 7, 1, false, false },
		/* Others have no more than one. */
		{ LEAF(0, 0, 6, 0) LEAF(6, 0, 1, 0) LEAF(6, 1, 1, 0), 6, 1, false, false },
	};

	open_tree(NULL, "0");
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		expect_leaf(row[i].dump, row[i].leaf, row[i].subleaf, row[i].whole, row[i].brief);
}

static void parts_have_a_limit(void **state)
{
	static const char *const count[] = { "1f", "20", "ffffffff" };
	char dump[4096];

	open_tree(NULL, "0");
	for (size_t k = 0; k < sizeof(count) / sizeof(count[0]); k++) {
		int n = snprintf(dump, sizeof(dump), LEAF(0, 0, 7, 0));

		for (unsigned i = 0; i < 34; i++)
			n += snprintf(dump + n, sizeof(dump) - (size_t)n,
				      "0x7 0x%x: eax=0x%s ebx=0x0 ecx=0x0 edx=0x0\n", i, count[k]);
		expect_leaf(dump, 7, 31, true, false);
		expect_leaf(dump, 7, 32, false, false);
	}
}

/* Of the driver each leaf has 16 bytes at its own number: a file with holes can hold the first of each range. */
static void reads_what_the_driver_says(void **state)
{
	static const uint8_t first[16] = "\0\0\0\0GenuntelineI", more[16] = { [3] = 0x80, 1, 2, 3, 4, [15] = 0x81 };
	char path[64];
	FILE *f;

	open_tree(NULL, "0");
	sysroot_put(dir, "/dev/cpu/0/cpuid", "%s", "");
	assert_int_equal(cpuid_collect(&root, &cpus, false, &asked), 0);
	assert_int_equal(asked[0].err, -EIO);
	cpuid_free(asked, 1);
	asked = NULL;
	snprintf(path, sizeof(path), "%s/dev/cpu/0/cpuid", dir);
	f = fopen(path, "w");
	assert_int_equal(fwrite(first, sizeof(first), 1, f), 1);
	assert_int_equal(fseeko(f, 0x80000000, SEEK_SET), 0);
	assert_int_equal(fwrite(more, sizeof(more), 1, f), 1);
	fclose(f);
	assert_int_equal(cpuid_collect(&root, &cpus, false, &asked), 0);
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
	assert_int_equal(cpuid_collect(&root, &cpus, false, &asked), -ENOSYS);
	assert_null(asked);
}

/* Of a machine whose first CPU has no dump the others' are there. */
static void one_dump_is_enough(void **state)
{
	open_tree(NULL, "0-1");
	sysroot_put(dir, "/dev/cpu/1/cpuid",
		    "CPU:\n   0x00000000 0x00: eax=0x00000001 ebx=0x756e6547 ecx=0x6c65746e edx=0x49656e69\n"
		    "   0x00000001 0x00: eax=0x000906a3 ebx=0x0 ecx=0x0 edx=0x0\n");
	assert_int_equal(cpuid_collect(&root, &cpus, false, &asked), 0);
	assert_int_equal(asked[0].err, -ENOENT);
	assert_int_equal(asked[1].err, 0);
	assert_non_null(cpuid_get(&asked[1], 1, 0));
}

static void nothing_to_ask(void **state)
{
	open_tree("arm64", "0-7");
	assert_int_equal(cpuid_collect(&root, &cpus, false, &asked), -ENOSYS);
	assert_null(asked);
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
	assert_int_equal(root_init(&root, NULL), 0);
	assert_int_equal(root_cpulist(&root, &cpus, "/sys/devices/system/cpu/online"), 0);
	assert_int_equal(cpuid_collect(&root, &cpus, false, &asked), 0);
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
		assert_int_equal(root_init(&root, dir), 0);
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

static bool holds(const struct pm_model *m, const char *secret)
{
	for (uint32_t i = 0; i < m->header.n; i++)
		if (m->header.field[i].value.kind == PM_VALUE_TEXT &&
		    strstr(m->header.field[i].value.str.data, secret))
			return true;
	for (uint32_t i = 0; i < m->n_configs; i++)
		if (m->config[i].value.kind == PM_VALUE_TEXT && strstr(m->config[i].value.str.data, secret))
			return true;
	return false;
}

static void keeps_privacy(void **state)
{
	struct pm_model m;

	describe("strict", "server", &m);
	assert_string_equal(text(&m, PM_HEADER_HOST), "absent");
	assert_string_equal(text(&m, PM_HEADER_BOOT_ID), "absent");
	assert_string_equal(text(&m, PM_HEADER_PRODUCT), "absent");
	assert_string_equal(text(&m, PM_HEADER_CPU_ID), "GenuineIntel-6-55-7");
	pm_model_release(&m);
	describe("full", NULL, &m);
	assert_string_equal(text(&m, PM_HEADER_CMDLINE), "root=/dev/secret quiet");
	assert_false(holds(&m, "SECRET")); /* the serial number of the product */
	pm_model_release(&m);
}

static void describes_arm(void **state)
{
	const struct pm_config *c;
	struct pm_model m;

	describe("default", "arm64", &m);
	assert_string_equal(text(&m, PM_HEADER_ARCH), "aarch64");
	assert_string_equal(text(&m, PM_HEADER_CPU_ID), "0x00000000412fd050");
	assert_string_equal(text(&m, PM_HEADER_CPU_MODEL), "cortex-a55");
	c = pm_model_config(&m, "arm64.midr_el1", 5);
	assert_non_null(c);
	assert_int_equal(c->value.u64, 0x410fd411);
	assert_int_equal(c->instances.n, 4);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(reads_dumps, teardown),
		cmocka_unit_test_teardown(names_cpus, teardown),
		cmocka_unit_test_teardown(names_hypervisors, teardown),
		cmocka_unit_test_teardown(asks_for_what_is_there, teardown),
		cmocka_unit_test_teardown(parts_have_a_limit, teardown),
		cmocka_unit_test_teardown(reads_what_the_driver_says, teardown),
		cmocka_unit_test_teardown(one_dump_is_enough, teardown),
		cmocka_unit_test_teardown(nothing_to_ask, teardown),
		cmocka_unit_test_teardown(agrees_with_the_driver, teardown),
		cmocka_unit_test_teardown(describes_the_machine, teardown),
		cmocka_unit_test_teardown(keeps_privacy, teardown),
		cmocka_unit_test_teardown(describes_arm, teardown),
		cmocka_unit_test(another_cpu_may_be_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
