/* What pmrec list, doctor, vendor, compare, mark and dump print of machines and files whose contents are known. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "record/commands.h"
#include "tests/unit/lib/command.h"
#include "tests/unit/lib/sysroot.h"

static char dir[32], said[1 << 20];

static int __attribute__((format(printf, 2, 3))) ask(int (*command)(int, char **), const char *format, ...)
{
	char words[900];
	va_list ap;

	va_start(ap, format);
	vsnprintf(words, sizeof(words), format, ap);
	va_end(ap);
	return command_run(command, words, said, sizeof(said));
}

static unsigned lines(void)
{
	unsigned n = 0;

	for (const char *at = said; *at; at++)
		n += *at == '\n';
	return n;
}

static void says(const char *text)
{
	if (!strstr(said, text))
		fail_msg("no '%s' in:\n%s", text, said);
}

static void does_not_say(const char *text)
{
	if (strstr(said, text))
		fail_msg("'%s' in:\n%s", text, said);
}

#define PMUS "/sys/bus/event_source/devices/"

static int setup(void **state)
{
	sysroot_make(dir, NULL);
	setenv("XDG_DATA_HOME", dir, 1);
	setenv("PERF_CPUID", "AcmeCPU-1-2-3", 1);
	sysroot_put(dir, "/sys/devices/system/cpu/online", "0-1\n");
	sysroot_put(dir, "/proc/stat", "cpu 1\ncpu0 1 2\ncpu1 3 4\nctxt 5\n");
	for (int i = 0; i < 3; i++) {
		char path[100];

		snprintf(path, sizeof(path), PMUS "uncore_box_%d/type", i);
		sysroot_put(dir, path, "%d\n", 40 + i);
		snprintf(path, sizeof(path), PMUS "uncore_box_%d/cpumask", i);
		sysroot_put(dir, path, "0\n");
		snprintf(path, sizeof(path), PMUS "uncore_box_%d/format/event", i);
		sysroot_put(dir, path, "config:0-7\n");
		snprintf(path, sizeof(path), PMUS "uncore_box_%d/events/beats", i);
		sysroot_put(dir, path, "event=0x%x\n", i == 2 ? 8 : 7);
	}
	sysroot_put(dir, PMUS "uncore_box_0/identifier", "rev1\n");
	return 0;
}

static int teardown(void **state)
{
	sysroot_remove(dir);
	return 0;
}

static void sources_and_events_are_listed(void **state)
{
	assert_int_equal(ask(cmd_list, "--root=%s sources cpu*", dir), 0);
	assert_int_equal(lines(), 3);
	says("SOURCE  DEFAULT WHAT\n");
	says("cpuidle yes     ");
	says("cpufreq yes     ");
	assert_int_equal(ask(cmd_list, "--root=%s stat", dir), 0);
	says("CPU time by kind");
	assert_int_equal(ask(cmd_list, "--root=%s sources box", dir), EXIT_OWN);
	assert_string_equal(said, "pmrec: nothing here is named 'box'\n");
	assert_int_equal(ask(cmd_list, "--root=%s events a b", dir), EXIT_OWN);
	says("list takes one GLOB");
	assert_int_equal(ask(cmd_list, "--root=%s a b", dir), EXIT_OWN);
	says("list takes one GLOB");
	/* The second has the first one's event, the third another one of that name. */
	assert_int_equal(ask(cmd_list, "--root=%s events box", dir), 0);
	says("uncore_box_0/beats/");
	says("event=0x7\n");
	says("uncore_box_1/.../");
	says("as uncore_box_0\n");
	says("uncore_box_2/beats/");
	says("event=0x8\n");
	says("event (config:0-7)\n");
	does_not_say("uncore_box_1/beats/");
	does_not_say("page-faults");
	assert_int_equal(ask(cmd_list, "--root=%s events box_1", dir), 0);
	says("uncore_box_1/beats/");
	does_not_say("uncore_box_0");
	assert_int_equal(ask(cmd_list, "--root=%s events BRANCHES", dir), 0);
	says("branches OR branch-instructions ");
	assert_int_equal(ask(cmd_list, "--root=%s events page-f*", dir), 0);
	assert_int_equal(lines(), 2);
	says("page-faults OR faults software");
	assert_int_equal(ask(cmd_list, "--root=%s events rHEX", dir), 0);
	assert_int_equal(lines(), 2);
}

static void metrics_are_listed(void **state)
{
	sysroot_put(dir, "/m.json",
		    "[ { \"MetricName\": \"AcmeOne\", \"MetricExpr\": \"1\", \"MetricGroup\": \"Acme;Own\" },"
		    "  { \"MetricName\": \"AcmeTwo\", \"MetricExpr\": \"2\", \"MetricGroup\": \"Acme\","
		    "    \"BriefDescription\": \"Two of them\" },"
		    "  { \"MetricName\": \"OfBoard\", \"MetricExpr\": \"3\", \"Unit\": \"uncore_box\", \"Compat\": "
		    "\"rev1\" },"
		    "  { \"MetricName\": \"OfOther\", \"MetricExpr\": \"4\", \"Unit\": \"uncore_box\", \"Compat\": "
		    "\"rev2\" } ]");
	assert_int_equal(ask(cmd_list, "--root=%s metrics util", dir), 0);
	assert_int_equal(lines(), 2);
	says("util   %    Time that the CPU was not idle");
	assert_int_equal(ask(cmd_list, "--root=%s --metrics-file=%s/m.json metrics acme*", dir, dir), 0);
	assert_int_equal(lines(), 3);
	says("acmetwo");
	says("Two of them\n");
	assert_int_equal(ask(cmd_list, "--root=%s --metrics-file=%s/m.json metrics of*", dir, dir), 0);
	says("ofboard");
	does_not_say("ofother");
	assert_int_equal(ask(cmd_list, "--root=%s --metrics-file=%s/m.json metricgroups Acme", dir, dir), 0);
	assert_int_equal(lines(), 2);
	says("acmeone acmetwo\n");
	assert_int_equal(ask(cmd_list, "--root=%s --metrics-file=%s/m.json metricgroups Own", dir, dir), 0);
	says("acmeone\n");
	assert_int_equal(ask(cmd_list, "--root=%s metricgroups Own", dir), EXIT_OWN);
	says("nothing here is named 'Own'");
	assert_int_equal(ask(cmd_list, "--root=%s --metrics-file=%s/none metrics", dir, dir), EXIT_OWN);
	says("--metrics-file");
}

/* A kernel's tree, a map of files, Arm's telemetry, and what is none of these. */
static void vendors_files_are_imported(void **state)
{
	assert_int_equal(ask(cmd_vendor, "import"), EXIT_OWN);
	says("nothing to import");
	assert_int_equal(ask(cmd_vendor, "export x"), EXIT_OWN);
	says("'export' is not a command of pmrec vendor");
	assert_int_equal(ask(cmd_vendor, "import %s/none", dir), EXIT_OWN);
	says("No such file");
	sysroot_put(dir, "/empty/x.json", "{}");
	assert_int_equal(ask(cmd_vendor, "import %s/empty", dir), EXIT_OWN);
	says("contains neither a mapfile.csv nor a vendor's file");
	assert_int_equal(ask(cmd_vendor, "import %s/empty/x.json", dir), EXIT_OWN);
	says("does not say which CPU it is for");
	assert_int_equal(ask(cmd_vendor, " "), EXIT_OWN);
	sysroot_put(dir, "/arch/mapfile.csv",
		    "CPUID,Version,Folder,Type\nAcmeCPU-1-.*,v1,one,core\nAcmeCPU-9-.*,v1,one,core\n"
		    "AcmeCPU-2-.*,v1,two,core\nAcmeCPU-3-.*,v1,none,core\nAcmeCPU-4-.*,v1,../empty,core\n"
		    "Acme(,v1,one,core\n");
	sysroot_put(dir, "/arch/one/e.json",
		    "[ { \"EventName\": \"ACME.X\", \"EventCode\": \"0x2\", \"Unit\": \"box\", "
		    "\"BriefDescription\": \"Faults "
		    "of acme\" } ]");
	sysroot_put(
		dir, "/arch/one/m.json",
		"[ { \"MetricName\": \"AcmeTwice\", \"MetricExpr\": \"2 * ACME.X\", \"MetricGroup\": \"Acme\" } ]");
	sysroot_put(dir, "/arch/two/e.json",
		    "[ { \"EventName\": \"ACME.Y\", \"EventCode\": \"0x3\", \"Unit\": \"box\" },"
		    "  { \"EventName\": \"ACME.Z\", \"EventCode\": \"0x4\", \"Unit\": \"box\" } ]");
	sysroot_put(dir, "/arch/.git/e.json", "[ { ");
	assert_int_equal(ask(cmd_vendor, "import %s/arch", dir), 0);
	says("/pmrec/vendor.pmv: 2 processors, 3 events, 1 metric, ");
	says("../empty: it leads out of the tree\n");
	says("Acme(,one: its first word is not a regular expression\n");
	assert_int_equal(ask(cmd_vendor, " "), 0);
	assert_int_equal(lines(), 4);
	says("/pmrec/vendor.pmv\n");
	says("AcmeCPU-1-.* AcmeCPU-9-.*\n");
	says("AcmeCPU-2-.*\n");
	assert_int_equal(ask(cmd_list, "--root=%s events acme", dir), 0);
	assert_int_equal(lines(), 3);
	says("uncore_box_1/.../ to uncore_box_2/.../");
	says("Faults of acme; ");
	assert_int_equal(ask(cmd_list, "--root=%s --no-vendor events acme", dir), EXIT_OWN);
	assert_int_equal(ask(cmd_list, "--root=%s metrics acme*", dir), 0);
	says("acmetwice");
	assert_int_equal(ask(cmd_list, "--root=%s metricgroups Acme", dir), 0);
	/* Without descriptions, where it is told to write. */
	assert_int_equal(ask(cmd_vendor, "import -d -o %s/pmrec/vendor.pmv %s/arch", dir, dir), 0);
	assert_int_equal(ask(cmd_list, "--root=%s events acme", dir), 0);
	does_not_say("Faults of acme");
	assert_int_equal(ask(cmd_vendor, "import -o %s/none/x %s/arch", dir, dir), EXIT_OWN);
}

static void a_machine_is_examined(void **state)
{
	assert_int_equal(ask(cmd_doctor, "--root=%s x", dir), EXIT_OWN);
	assert_int_equal(ask(cmd_doctor, "--root=%s/none", dir), EXIT_OWN);
	assert_int_equal(ask(cmd_doctor, "--root=%s", dir), 0);
	says("SOURCE");
	says("stat        partly 9 values");
	says("\nwhile it samples, pmrec has ");
	says("\nhwmon       absent /sys/class/hwmon/hwmon*\n");
	says("\nschedstat   absent /proc/schedstat: No such file or directory ");
	says(" a kernel with CONFIG_SCHEDSTATS\n");
}

static void what_cannot_be_asked_is_refused(void **state)
{
	static const struct {
		int (*command)(int, char **);
		const char *words, *text;
	} row[] = {
		{ cmd_compare, "a", "compare takes two commands" },
		{ cmd_compare, "a b c", "compare takes two commands" },
		{ cmd_compare, "-r 0 a b", "--repeat" },
		{ cmd_compare, "-r 1001 a b", "--repeat" },
		{ cmd_compare, "-o /nowhere/x a b", "/nowhere/x: No such file" },
		{ cmd_dump, "", "no output given" },
		{ cmd_dump, "-o x y", "takes no operands" },
		{ cmd_dump, "-o x --pid 0", "--pid" },
		{ cmd_dump, "-o x --pid 2147483647", "process 2147483647 is not a recorder that you may dump" },
		{ cmd_mark, "", "mark takes one TEXT" },
		{ cmd_mark, "a b", "mark takes one TEXT" },
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		assert_int_equal(ask(row[i].command, "%s", row[i].words), EXIT_OWN);
		says(row[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sources_and_events_are_listed),   cmocka_unit_test(metrics_are_listed),
		cmocka_unit_test(vendors_files_are_imported),      cmocka_unit_test(a_machine_is_examined),
		cmocka_unit_test(what_cannot_be_asked_is_refused),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
