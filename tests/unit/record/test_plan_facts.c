/* What a plan finds out of a machine whose files are given, what it calls devices, and what it says was refused. */
#include <endian.h>
#include <pwd.h>

#include "record/plan/machine.h"
#include "record/plan/plan.h"
#include "record/sources/sources.h"
#include "tests/unit/lib/remark.h"
#include "tests/unit/lib/plan_fixture.h"
#include "tests/unit/lib/test.h"

static void plan(struct fixture *f)
{
	struct error e = { 0 };

	root_init(&f->root, f->dir);
	assert_int_equal(plan_init(&f->plan, &f->options, &f->root, &f->model, &e), 0);
}

/* clang-format off */
static const struct {
	const char *path, *text;
} files[] = {
	{ "/proc/sys/kernel/arch", "riscv64\n" },
	{ "/proc/sys/kernel/osrelease", "6.1.2\n" },
	{ "/proc/sys/kernel/hostname", "there\n" },
	{ "/proc/sys/kernel/random/boot_id", "boot-1\n" },
	{ "/etc/machine-id", "0123\n" },
	{ "/proc/cmdline", "root=/dev/x ro\n" },
	{ "/sys/hypervisor/type", "xen\n" },
	{ "/sys/devices/system/cpu/smt/control", "forceoff\n" },
	{ "/sys/devices/system/cpu/cpu0/microcode/version", "0x2a\n" },
	{ "/sys/class/dmi/id/sys_vendor", "Maker\n" },
	{ "/sys/class/dmi/id/product_name", "\n" },
	{ "/sys/class/dmi/id/product_version", "Mark 2\n" },
	{ "/sys/class/dmi/id/bios_version", "1.2\n" },
	{ "/etc/os-release", "NAME=\"Other\"\nPRETTY_NAME=\"Some OS 3\" \n" },
	{ "/proc/meminfo", "MemFree: 7 kB\nMemTotal:       2048 kB\n" },
	{ "/proc/sys/kernel/perf_event_paranoid", "-1\n" },
	{ "/proc/sys/kernel/nmi_watchdog", "1\n" },
	{ "/proc/cpuinfo", "processor : 0\nvendor_id\t: Some Vendor\ncpu modelling : no\nmodel name\t:  A CPU \nmicrocode : 0x99\n" },
};

static const struct {
	uint32_t key;
	const char *text; /* NULL: a number */
	bool full, normal, strict;
} facts[] = {
	{ PM_HEADER_ARCH, "riscv64", true, true, true },
	{ PM_HEADER_KERNEL, "6.1.2", true, true, true },
	{ PM_HEADER_HOST, "there", true, true, false },
	{ PM_HEADER_CMDLINE, "root=/dev/x ro", true, false, false },
	{ PM_HEADER_HYPERVISOR, "xen", true, true, true },
	{ PM_HEADER_SMT, "forceoff", true, true, true },
	{ PM_HEADER_MICROCODE, "0x2a", true, true, true },
	{ PM_HEADER_OS, "Some OS 3", true, true, true },
	{ PM_HEADER_CPU_VENDOR, "Some Vendor", true, true, true },
	{ PM_HEADER_CPU_MODEL, "A CPU", true, true, true },
	{ PM_HEADER_PRODUCT, "Maker Mark 2", true, true, false },
	{ PM_HEADER_BIOS, "1.2", true, true, false },
};
/* clang-format on */

static void a_machine_is_described_by_its_files(void **state)
{
	static const char *const levels[] = { "full", "default", "strict" };
	struct error e = { 0 };
	struct fixture f;

	for (size_t level = 0; level < 3; level++) {
		fixture_begin(&f, "0", levels[level]);
		for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
			sysroot_put(f.dir, files[i].path, "%s", files[i].text);
		sysroot_put(f.dir, "/dev/cpu_dma_latency", "\x05%c%c%c", 1, 0, 0);
		f.options.tcc_celsius = 95;
		plan(&f);
		assert_int_equal(machine_describe(&f.plan, &e), 0);
		for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
			bool there = level == 0 ? facts[i].full : level == 1 ? facts[i].normal : facts[i].strict;

			assert_string_equal(pm_map_text(&f.model.header, facts[i].key, ""),
					    there ? facts[i].text : "");
		}
		assert_int_equal(pm_map_u64(&f.model.header, PM_HEADER_MEMORY, 0), 2048 * 1024);
		assert_int_equal(pm_map_u64(&f.model.header, PM_HEADER_NMI_WATCHDOG, 9), 1);
		assert_int_equal(pm_map_get(&f.model.header, PM_HEADER_PARANOID)->s64, -1);
		assert_int_equal(pm_model_config(&f.model, "cpu_dma_latency_us", PM_NONE)->value.u64, 0x105);
		assert_int_equal(pm_model_config(&f.model, "tcc_celsius", PM_NONE)->value.u64, 95);
		assert_int_equal(pm_model_config(&f.model, "machine.has_pmem", PM_NONE)->value.u64, 0);
		fixture_end(&f);
	}
}

static const char *device_name(const struct fixture *f, int64_t id)
{
	return pm_map_text(&pm_model_instance(&f->model, (uint32_t)id)->attrs, PM_INSTANCE_NAME, "");
}

static void devices_have_names_of_their_own(void **state)
{
	static const struct source_ops ops = { .name = "disks" };
	struct source source = { .ops = &ops };
	const struct pm_instance *i;
	struct fixture f;

	for (int full = 0; full < 2; full++) {
		fixture_begin(&f, "0", full ? "full" : "strict");
		plan(&f);
		f.plan.source = &source;
		assert_string_equal(device_name(&f, device_instance(&f.plan, "x", NULL, PM_NONE)), "x");
		assert_string_equal(device_name(&f, device_instance(&f.plan, "x", "/sys/p", PM_NONE)), "x.2");
		assert_string_equal(device_name(&f, device_instance(&f.plan, "x", NULL, PM_NONE)), "x.3");
		assert_string_equal(device_name(&f, device_named(&f.plan, "sda", 4, false)),
				    full ? "sda" : "disks-5");
		i = pm_model_instance(&f.model, (uint32_t)device_instance(&f.plan, "y", "/sys/q", 0));
		assert_string_equal(pm_map_text(&i->attrs, PM_INSTANCE_DEVICE_PATH, ""), full ? "/sys/q" : "");
		assert_int_equal(i->cpu, 0);
		assert_int_equal(i->kind, PM_DEVICE);
		assert_true(i->added_ns > 0);
		i = pm_model_instance(&f.model, (uint32_t)device_instance(&f.plan, "z", NULL, PM_NONE));
		assert_null(pm_map_get(&i->attrs, PM_INSTANCE_DEVICE_PATH));
		assert_int_equal(i->cpu, PM_NONE);
		fixture_end(&f);
	}
}

#define DENIED "permission was refused"
#define ABSENT "not supported by the kernel or the hardware"

/* clang-format off */
static const struct {
	struct { const char *source, *what, *hint; uint16_t reason; } probe[7];
	const char *some, *all; /* NULL: as some */
} refusals[] = {
	{ { { "msr", "a", NULL, PM_REASON_NO_PERMISSION } }, "pmrec: not recorded: msr: a (" DENIED ")\n", NULL },
	{ { { "msr", "a", NULL, PM_REASON_NOT_SUPPORTED } }, "", "pmrec: not recorded: msr: a (" ABSENT ")\n" },
	{ { { "add", "a", NULL, PM_REASON_NOT_SUPPORTED } }, "pmrec: not recorded: add: a (" ABSENT ")\n", NULL },
	{ { { "perf", "named", NULL, PM_REASON_NOT_SUPPORTED } }, "pmrec: not recorded: perf: named (" ABSENT ")\n", NULL },
	{ { { "perf", "plain", NULL, PM_REASON_NOT_SUPPORTED } }, "", "pmrec: not recorded: perf: plain (" ABSENT ")\n" },
	{ { { "msr", "named", NULL, PM_REASON_NOT_SUPPORTED } }, "", "pmrec: not recorded: msr: named (" ABSENT ")\n" },
	{ { { "perf", "one more thing", NULL, PM_OK }, { "msr", "a\x1b", "do\x07", PM_REASON_ERRNO + EPERM } },
	  "pmrec: one more thing\npmrec: not recorded: msr: a\\x1b (Operation not permitted); try: do\\x07\n", NULL },
	{ { { "x", "a", NULL, PM_REASON_ERRNO + EMFILE }, { "y", "b", NULL, PM_REASON_ERRNO + ENFILE } },
	  "pmrec: not recorded: x: a (Too many open files); try: a higher `ulimit -Hn`\n"
	  "pmrec: not recorded: y: b (Too many open files in system); try: a higher sysctl fs.file-max\n", NULL },
	/* What one cure would cure is one line; others are told apart by their source. */
	{ { { "x", "a", "h", PM_REASON_NO_PERMISSION }, { "z", "q", "other", PM_REASON_ERRNO + EACCES }, { "x", "b", "h", PM_REASON_NO_PERMISSION },
	    { "y", "c", "h", PM_REASON_ERRNO + ENOMEM }, { "y", "d", "h", PM_REASON_NO_PERMISSION }, { "x", "gone", "h", PM_REASON_GONE } },
	  "pmrec: not recorded: x: a, b; y: c and 1 more (" DENIED "); try: h\npmrec: not recorded: z: q (Permission denied); try: other\n",
	  "pmrec: not recorded: x: a, b; y: c and 2 more (" DENIED "); try: h\npmrec: not recorded: z: q (Permission denied); try: other\n" },
	{ { { "x", "a", NULL, PM_REASON_NO_PERMISSION }, { "x", "b", NULL, PM_REASON_NO_PERMISSION }, { "x", "c", "h", PM_REASON_ERRNO + EBUSY } },
	  "pmrec: not recorded: x: a, b (" DENIED ")\npmrec: not recorded: x: c (Device or resource busy); try: h\n", NULL },
	{ { { "a", "1", NULL, PM_REASON_NO_PERMISSION }, { "b", "2", NULL, PM_REASON_NO_PERMISSION }, { "c", "3", NULL, PM_REASON_NO_PERMISSION },
	    { "d", "4", NULL, PM_REASON_NO_PERMISSION }, { "e", "5", NULL, PM_REASON_NO_PERMISSION }, { "f", "6", NULL, PM_REASON_NO_PERMISSION } },
	  "pmrec: not recorded: a: 1 (" DENIED ")\npmrec: not recorded: b: 2 (" DENIED ")\npmrec: not recorded: c: 3 (" DENIED ")\n"
	  "pmrec: not recorded: d: 4 (" DENIED ")\npmrec: and 2 more; `pmrec doctor` lists them\n",
	  "pmrec: not recorded: a: 1 (" DENIED ")\npmrec: not recorded: b: 2 (" DENIED ")\npmrec: not recorded: c: 3 (" DENIED ")\n"
	  "pmrec: not recorded: d: 4 (" DENIED ")\npmrec: not recorded: e: 5 (" DENIED ")\npmrec: not recorded: f: 6 (" DENIED ")\n" },
};
/* clang-format on */

static void what_was_refused_is_told_once_a_cure(void **state)
{
	struct pm_counter named = { .name = (char *)"named", .source = (char *)"perf", .unit = (char *)"1" };
	struct buf text = BUF_INIT;
	struct fixture f;

	assert_int_equal(pm_map_set(&named.attrs, PM_COUNTER_PERF_INVALID, pm_u64(1)), 0);
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		fixture_begin(&f, "0", "default");
		plan(&f);
		assert_true(pm_model_add_counter(&f.model, &named) > 0);
		for (size_t k = 0; k < 7 && refusals[i].probe[k].source; k++) {
			struct source_ops ops = { .name = refusals[i].probe[k].source };
			struct source source = { .ops = &ops };

			f.plan.source = &source;
			assert_int_equal(plan_refused(&f.plan, refusals[i].probe[k].reason,
						      remark_of(refusals[i].probe[k].hint),
						      pm_remark(PM_REMARK_EVENTS, refusals[i].probe[k].what)),
					 0);
		}
		for (int all = 0; all < 2; all++) {
			refused_print(&f.model, all, &text);
			assert_string_equal(buf_str(&text),
					    all && refusals[i].all ? refusals[i].all : refusals[i].some);
			buf_clear(&text);
		}
		fixture_end(&f);
	}
	pm_map_release(&named.attrs);
	buf_release(&text);
}

/* Where nothing else says what the processor is, the kernel's text for people does, if it says all of it. */
static void a_processor_is_identified_by_its_text(void **state)
{
	static const struct {
		const char *text, *id;
	} cases[] = {
		{ "vendor_id\t: Maker\ncpu family\t: 6\nmodel\t\t: 143\nstepping\t: 11\n", "Maker-6-8F-B" },
		{ "vendor_id\t: Maker\ncpu family\t: 6\nmodel\t\t: 143\n", "" },
		{ "vendor_id\t: Maker\ncpu family\t: x\nmodel\t\t: 143\nstepping\t: 11\n", "" },
	};
	struct fixture f;
	struct error e;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fixture_begin(&f, "0", "full");
		sysroot_put(f.dir, "/proc/cpuinfo", "%s", cases[i].text);
		plan(&f);
		assert_int_equal(machine_describe(&f.plan, &e), 0);
		assert_string_equal(pm_map_text(&f.model.header, PM_HEADER_CPU_ID, ""), cases[i].id);
		fixture_end(&f);
	}
}

/* The first that a right or a limit would cure. */
static void a_right_or_a_limit_is_named_first(void **state)
{
	static const struct {
		uint16_t reason;
		bool found;
	} cases[] = {
		{ PM_REASON_NO_PERMISSION, true },
		{ PM_REASON_ERRNO + EACCES, true },
		{ PM_REASON_ERRNO + EPERM, true },
		{ PM_REASON_ERRNO + EMFILE, true },
		{ PM_REASON_ERRNO + ENFILE, true },
		{ PM_REASON_ERRNO + ENOMEM, true },
		{ PM_REASON_ERRNO + EBUSY, true },
		{ PM_REASON_ERRNO + EINVAL, false },
		{ PM_REASON_NOT_SUPPORTED, false },
		{ PM_REASON_GONE, false },
		{ PM_OK, false },
	};
	struct fixture f;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fixture_begin(&f, "0", "default");
		plan(&f);
		assert_null(refused_first(&f.model));
		assert_int_equal(plan_refused(&f.plan, PM_REASON_GONE, pm_remark(0), remark_of("gone")), 0);
		assert_int_equal(plan_refused(&f.plan, cases[i].reason, pm_remark(0), remark_of("this")), 0);
		assert_int_equal(plan_refused(&f.plan, PM_REASON_NO_PERMISSION, pm_remark(0), remark_of("that")), 0);
		assert_string_equal(said(&refused_first(&f.model)->what), cases[i].found ? "this" : "that");
		fixture_end(&f);
	}
}

UNIT_TESTS(cmocka_unit_test(a_machine_is_described_by_its_files), cmocka_unit_test(devices_have_names_of_their_own),
	   cmocka_unit_test(what_was_refused_is_told_once_a_cure),
	   cmocka_unit_test(a_processor_is_identified_by_its_text),
	   cmocka_unit_test(a_right_or_a_limit_is_named_first))
