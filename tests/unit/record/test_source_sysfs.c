/* Sources of sysfs on a copy of a machine whose numbers tests/sysroots/make has chosen. */
#include <sys/resource.h>

#include "record/sources/filegrid.h"
#include "tests/unit/lib/remark.h"
#include "tests/unit/lib/snapshot.h"
#include "tests/unit/lib/test.h"

/* ---- cpuidle ---- */

static void cpuidle_reads_states(void **state)
{
	const struct pm_counter *c;

	start("server", "cpuidle");
	sample();
	assert_int_equal(of_cpu("cpuidle.usage.poll", 0), 1);
	assert_int_equal(of_cpu("cpuidle.time.c1e", 7), 7202);
	assert_int_equal(of_cpu("cpuidle.above.c6", 14), 14303);
	assert_int_equal(of_cpu("cpuidle.below.c1", 3), 3104);
	assert_int_equal(of_cpu("cpuidle.time.c6", 15), NO_COLUMN);
	c = counter("cpuidle.time.c6");
	assert_string_equal(pm_map_text(&c->attrs, PM_COUNTER_FAMILY, ""), "cpuidle.time");
	assert_string_equal(pm_map_text(&c->attrs, PM_COUNTER_MEMBER, ""), "C6");
	assert_int_equal(c->scale.den, 1000000);
	/* All CPUs alike: one matrix, with a time for each CPU. */
	assert_int_equal(here.model.n_groups, 1);
	assert_int_equal(here.model.group[0].flags, 0);
	assert_string_equal(pm_model_config(&here.model, "cpuidle.state3.name", 5)->value.str.data, "C6-SKX");
	assert_int_equal(pm_model_config(&here.model, "cpuidle.state3.latency", 5)->value.u64, 30);
	assert_int_equal(pm_model_config(&here.model, "cpuidle.state3.latency", 5)->instances.n, 15);
	assert_string_equal(pm_model_config(&here.model, "cpuidle.current_driver", PM_NONE)->value.str.data,
			    "intel_idle");
}

static void cpuidle_tells_states_apart(void **state)
{
	start("arm64", "cpuidle");
	sample();
	assert_int_equal(of_cpu("cpuidle.usage.wfi", 2), 2001);
	assert_int_equal(of_cpu("cpuidle.usage.lpi_0", 2), 2101);
	assert_int_equal(of_cpu("cpuidle.usage.lpi_1", 2), 2201);
	teardown(state);
	start("hybrid", "cpuidle");
	sample();
	assert_int_equal(here.model.n_groups, 2);
	assert_int_equal(of_cpu("cpuidle.usage.c10", 0), 301);
	assert_int_equal(of_cpu("cpuidle.usage.c10", 4), NO_COLUMN);
	assert_int_equal(of_cpu("cpuidle.usage.c2acpi", 4), 4201);
	assert_string_equal(pm_map_text(&counter("cpuidle.usage.c2acpi")->attrs, PM_COUNTER_MEMBER, ""), "C2ACPI");
}

static void cpuidle_follows_hotplug(void **state)
{
	start("server", "cpuidle");
	update("cpuidle", 3, false);
	sample();
	assert_int_equal(of_cpu("cpuidle.time.c1", 3), STATUS(PM_REASON_OFFLINE));
	assert_int_equal(of_cpu("cpuidle.time.c1", 2), 2102);
	/* The kernel makes new files for it. */
	sysroot_put(here.dir, "/new", "77\n");
	{
		char from[64], to[128];

		snprintf(from, sizeof(from), "%s/new", here.dir);
		snprintf(to, sizeof(to), "%s/sys/devices/system/cpu/cpu3/cpuidle/state1/time", here.dir);
		assert_int_equal(rename(from, to), 0);
	}
	update("cpuidle", 3, true);
	sample();
	assert_int_equal(of_cpu("cpuidle.time.c1", 3), 77);
	/* A CPU that was never there. */
	sysroot_put(here.dir, "/sys/devices/system/cpu/cpu15/cpuidle/state0/name", "POLL\n");
	sysroot_put(here.dir, "/sys/devices/system/cpu/cpu15/cpuidle/state0/usage", "5\n");
	update("cpuidle", 15, true);
	sample();
	assert_int_equal(of_cpu("cpuidle.usage.poll", 15), 5);
	assert_int_equal(of_cpu("cpuidle.usage.poll", 0), 1);
}

/* What belongs to an idle state changes when the CPU leaves it, and the number of entries with it. */
static void cpuidle_asks_quiet_states_whether_they_were_entered(void **state)
{
	const char *usage = "/sys/devices/system/cpu/cpu2/cpuidle/state1/usage";
	const char *time = "/sys/devices/system/cpu/cpu2/cpuidle/state1/time";

	start("server", "cpuidle");
	sample();
	sysroot_put(here.dir, time, "5000\n");
	sample();
	assert_int_equal(of_cpu("cpuidle.time.c1", 2), 5000);
	for (int i = 0; i < 8; i++)
		sample();
	sysroot_put(here.dir, time, "6000\n");
	sample();
	assert_int_equal(of_cpu("cpuidle.time.c1", 2), 5000);
	sysroot_put(here.dir, usage, "99\n");
	sample();
	assert_int_equal(of_cpu("cpuidle.usage.c1", 2), 99);
	assert_int_equal(of_cpu("cpuidle.time.c1", 2), 6000);
	/* A reader may have come between two of its numbers. */
	sysroot_put(here.dir, time, "7000\n");
	sample();
	assert_int_equal(of_cpu("cpuidle.time.c1", 2), 7000);
}

/* The kernel has one description of states for all CPUs, unless it shows a driver for each. */
static void cpuidle_believes_one_driver(void **state)
{
	start("server", "cpuidle");
	assert_int_equal(pm_model_config(&here.model, "cpuidle.state3.latency", 5)->instances.n, 15);
	teardown(state);
	sysroot_make(here.dir, "server");
	for (int i = 0; i < 15; i++) {
		char driver[80];

		snprintf(driver, sizeof(driver), "/sys/devices/system/cpu/cpu%d/cpuidle/driver/name", i);
		sysroot_put(here.dir, driver, i == 5 ? "second\n" : "first\n");
	}
	sysroot_put(here.dir, "/sys/devices/system/cpu/cpu5/cpuidle/state3/latency", "77\n");
	sysroot_put(here.dir, "/sys/devices/system/cpu/cpu5/cpuidle/state3/disable", "1\n");
	sysroot_put(here.dir, "/sys/devices/system/cpu/cpu4/cpuidle/state3/disable", "0\n");
	start("server", "cpuidle");
	assert_int_equal(pm_model_config(&here.model, "cpuidle.state3.latency", 5)->value.u64, 77);
	assert_int_equal(pm_model_config(&here.model, "cpuidle.state3.latency", 4)->value.u64, 30);
	assert_int_equal(pm_model_config(&here.model, "cpuidle.state3.disable", 5)->value.u64, 1);
	assert_int_equal(pm_model_config(&here.model, "cpuidle.state3.disable", 4)->value.u64, 0);
}

/* 240 files where the shell allows 100: the limit is raised as far as it goes. */
static void cpuidle_gets_its_files(void **state)
{
	struct rlimit old, low;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	low = old;
	low.rlim_cur = 100;
	if (old.rlim_max < 400)
		skip();
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	start("server", "cpuidle");
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	sample();
	assert_int_equal(of_cpu("cpuidle.below.c6", 14), 14304);
	assert_null(refused("cpuidle"));
}

/* ---- sensors ---- */

static void cpufreq_reads_khz(void **state)
{
	start("server", "cpufreq");
	sample();
	assert_int_equal(of_cpu("cpufreq.cur", 9), 2000009);
	assert_int_equal(counter("cpufreq.cur")->scale.num, 1000);
	for (uint32_t cpu = 0; cpu < 10; cpu += 9)
		assert_int_equal(pm_model_config(&here.model, "cpufreq.scaling_max_freq", cpu)->value.u64, 3500000);
	assert_string_equal(pm_model_config(&here.model, "cpufreq.scaling_driver", 9)->value.str.data,
			    "intel_pstate");
	sysroot_put(here.dir, "/sys/devices/system/cpu/cpu9/cpufreq/scaling_cur_freq", "<unknown>\n");
	sample();
	assert_int_equal(of_cpu("cpufreq.cur", 9), STATUS(PM_REASON_FORMAT));
	assert_int_equal(of_cpu("cpufreq.cur", 8), 2000008);
	teardown(state);
	start("arm64", "cpufreq");
	assert_int_equal(refused("cpufreq")->reason, PM_REASON_NOT_SUPPORTED);
}

static void cpufreq_follows_hotplug(void **state)
{
	sysroot_make(here.dir, "server");
	sysroot_put(here.dir, "/sys/devices/system/cpu/online", "0-3\n");
	start("server", "cpufreq");
	sample();
	assert_int_equal(of_cpu("cpufreq.cur", 5), NO_COLUMN);
	sysroot_put(here.dir, "/sys/devices/system/cpu/online", "0-14\n");
	update("cpufreq", PM_NONE, true);
	update("cpufreq", 6, false);
	sample();
	assert_int_equal(of_cpu("cpufreq.cur", 5), NO_COLUMN);
	update("cpufreq", 5, true);
	sample();
	assert_int_equal(of_cpu("cpufreq.cur", 5), 2000005);
	assert_int_equal(of_cpu("cpufreq.cur", 3), 2000003);
	assert_int_equal(of_cpu("cpufreq.cur", 6), NO_COLUMN);
}

/* CPUs of a policy share its folder; a list of them is no number. */
static void cpufreq_knows_policies(void **state)
{
	const struct pm_config *c;

	sysroot_make(here.dir, "server");
	for (int i = 8; i < 10; i++) {
		char at[80];

		snprintf(at, sizeof(at), "/sys/devices/system/cpu/cpu%d/cpufreq/related_cpus", i);
		sysroot_put(here.dir, at, "8 9 \n");
		snprintf(at, sizeof(at), "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_governor", i);
		sysroot_put(here.dir, at, "schedutil\n");
	}
	sysroot_put(here.dir, "/sys/devices/system/cpu/cpu9/acpi_cppc/highest_perf", "255\n");
	start("server", "cpufreq");
	c = pm_model_config(&here.model, "cpufreq.related_cpus", 9);
	assert_string_equal(c->value.str.data, "8 9");
	assert_int_equal(c->instances.n, 2);
	assert_string_equal(pm_model_config(&here.model, "cpufreq.scaling_governor", 9)->value.str.data, "schedutil");
	assert_string_equal(pm_model_config(&here.model, "cpufreq.scaling_governor", 7)->value.str.data, "powersave");
	assert_int_equal(pm_model_config(&here.model, "cppc.highest_perf", 9)->value.u64, 255);
	assert_null(pm_model_config(&here.model, "cppc.highest_perf", 8));
}

static void thermal_may_freeze(void **state)
{
	start("server", "thermal");
	sample();
	assert_int_equal(of_device("thermal.temp", "acpitz"), -5000);
	assert_int_equal(of_device("thermal.temp", "x86_pkg_temp"), 55000);
	assert_int_equal(of_device("thermal.temp", "x86_pkg_temp.2"), 55001);
	assert_int_equal(counter("thermal.temp")->type, PM_S64);
}

static void throttle_counts_places(void **state)
{
	start("server", "throttle");
	sample();
	assert_int_equal(value_of("throttle.core", PM_CPU, 6, NULL), 16);
	assert_int_equal(value_of("throttle.core_time", PM_CPU, 1, NULL), 21);
	assert_int_equal(value_of("throttle.package", PM_PACKAGE, 4, NULL), 31);
	assert_int_equal(value_of("throttle.package_time", PM_PACKAGE, 0, NULL), 40);
	assert_int_equal(value_of("throttle.core", PM_CPU, 8, NULL), 10); /* the second thread of core 0 */
	assert_int_equal(here.model.n_groups, 2);
	assert_int_equal(here.model.group[0].n_instances, 15);
	assert_int_equal(here.model.group[1].n_instances, 2);
}

static void resctrl_knows_groups(void **state)
{
	start("server", "resctrl");
	sample();
	assert_int_equal(of_device("resctrl.occupancy", "resctrl/L3_00"), 1048576 + 1);
	assert_int_equal(of_device("resctrl.total_bytes", "resctrl/L3_01"), 2000000 + 1);
	assert_int_equal(of_device("resctrl.total_bytes", "resctrl/web/L3_00"), 1000000 + 3);
	/* No number is no 0; a part is not added to what it is a part of. */
	assert_int_equal(of_device("resctrl.total_bytes", "resctrl/web/L3_01"), NO_COLUMN);
	assert_int_equal(of_device("resctrl.local_bytes", "resctrl/web/L3_01"), 0);
	assert_int_equal(of_device("resctrl.part.total_bytes", "resctrl/mon/batch/L3_00"), 1000000 + 18);
	assert_int_equal(of_device("resctrl.total_bytes", "resctrl/mon/batch/L3_00"), NO_COLUMN);
	assert_int_equal(refused("resctrl")->reason, PM_REASON_FORMAT);
	teardown(state);
	start("hybrid", "resctrl");
	assert_non_null(strstr(said(&refused("resctrl")->hint), "mount -t resctrl"));
}

static void hwmon_names_channels(void **state)
{
	start("server", "hwmon");
	sample();
	assert_int_equal(of_device("hwmon.temp", "coretemp/Package id 0"), 50000);
	assert_int_equal(of_device("hwmon.temp", "coretemp/Package id 1"), 51000);
	assert_int_equal(of_device("hwmon.temp", "coretemp/Core 0"), 41000);
	assert_int_equal(of_device("hwmon.temp", "coretemp/Core 0.2"), 41000);
	assert_int_equal(of_device("hwmon.fan", "board/fan1"), 1200);
	assert_int_equal(of_device("hwmon.in", "board/in0"), 1048);
	assert_int_equal(of_device("hwmon.power", "board/power1"), 35500000);
	assert_int_equal(of_device("hwmon.fan", "board/fan2"), NO_COLUMN);
	assert_int_equal(refused("hwmon")->reason, PM_REASON_FORMAT);
	assert_int_equal(here.plan.units->min_period_ns, 1000000000);
}

static void powercap_goes_on_beyond_its_range(void **state)
{
	const uint64_t range = 262143328850;

	start("server", "powercap");
	sample();
	assert_int_equal(value_of("powercap.energy.package", PM_PACKAGE, 0, NULL), 262143000000);
	assert_int_equal(value_of("powercap.energy.core", PM_PACKAGE, 0, NULL), 1000000);
	assert_int_equal(value_of("powercap.energy.dram", PM_PACKAGE, 0, NULL), 2000000);
	assert_int_equal(value_of("powercap.energy.package", PM_PACKAGE, 4, NULL), 3000000);
	assert_int_equal(of_device("powercap.energy.psys", "psys"), 4000000);
	assert_int_equal(here.model.n_groups, 1);
	assert_int_equal(here.model.group[0].n_counters, 5); /* the zones of the MMIO driver are the same again */
	sysroot_put(here.dir, "/sys/class/powercap/intel-rapl:0/energy_uj", "1000\n");
	sample();
	assert_int_equal(value_of("powercap.energy.package", PM_PACKAGE, 0, NULL), range + 1000);
	sysroot_put(here.dir, "/sys/class/powercap/intel-rapl:0/energy_uj", "1500\n");
	sample();
	assert_int_equal(value_of("powercap.energy.package", PM_PACKAGE, 0, NULL), range + 1500);
	assert_int_equal(
		pm_model_config(&here.model, "powercap.intel-rapl:0.max_energy_range_uj", PM_NONE)->value.u64, range);
	assert_int_equal(
		pm_model_config(&here.model, "powercap.intel-rapl:0.constraint_0.power_limit_uw", PM_NONE)->value.u64,
		165000000);
	assert_string_equal(counter("powercap.energy.core")->unit, "J");
}

/* On a copy of the machine that has no such files yet. */
static void start_again(const char *sources)
{
	planned_forget(&here);
	planned_describe(&here, sources);
	assert_int_equal(plan_sources(&here.plan, here.source, here.n_sources, NULL), 0);
}

#define DRM "/sys/class/drm/"

/* What is no channel, or has no words of its own. Names of files: Documentation/hwmon/sysfs-interface.rst. */
static void hwmon_knows_channels(void **state)
{
	static const struct {
		const char *file, *text, *counter, *device;
		int64_t value;
	} row[] = {
		{ "temp1_input", "-40000\n", "hwmon.temp", "hwmon/temp1", -40000 },
		{ "temp_input", "1\n", "hwmon.temp", "hwmon/temp", NO_COLUMN },
		{ "temp2_average", "2\n", "hwmon.temp", "hwmon/temp2", NO_COLUMN },
		{ "temp3_input", "3000\n", "hwmon.temp", "hwmon/temp3", 3000 },
		{ "temp3_label", "\n", "hwmon.temp", "hwmon/temp3", 3000 },
		{ "temp4_max", "4\n", "hwmon.temp", "hwmon/temp4", NO_COLUMN },
		{ "temp5input", "5\n", "hwmon.temp", "hwmon/temp5", NO_COLUMN },
		{ "power1_average", "6\n", "hwmon.power", "hwmon/power1.2", NO_COLUMN },
		{ "power1_input", "7\n", "hwmon.power", "hwmon/power1", 7 },
		{ "power2_average", "8\n", "hwmon.power", "hwmon/power2", 8 },
		{ "curr1_input", "9\n", "hwmon.curr", "hwmon/curr1", 9 },
		{ "energy12_input", "10\n", "hwmon.energy", "hwmon/energy12", 10 },
		{ "abcdefghijklmnop1_input", "11\n", "hwmon.temp", "hwmon/abcdefghijklmnop1", NO_COLUMN },
		{ "in0000000000000000000000000000000_input", "12\n", "hwmon.in",
		  "hwmon/in0000000000000000000000000000000", NO_COLUMN },
	};
	char path[96];

	sysroot_make(here.dir, "server");
	sysroot_put(here.dir, "/sys/class/hwmon/hwmon3/name", "\n");
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		snprintf(path, sizeof(path), "/sys/class/hwmon/hwmon3/%s", row[i].file);
		sysroot_put(here.dir, path, "%s", row[i].text);
	}
	sysroot_put(here.dir, "/sys/class/hwmon/hwmon4/fan1_input", "13\n");
	start("server", "hwmon");
	sample();
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		if (of_device(row[i].counter, row[i].device) != row[i].value)
			fail_msg("%s", row[i].file);
	assert_int_equal(of_device("hwmon.fan", "hwmon/fan1"), 13);
}

static void zones_may_lack_a_type(void **state)
{
	sysroot_make(here.dir, "server");
	sysroot_put(here.dir, "/sys/class/thermal/thermal_zone3/temp", "1000\n");
	sysroot_put(here.dir, "/sys/class/thermal/thermal_zone4/temp", "2000\n");
	sysroot_put(here.dir, "/sys/class/thermal/thermal_zone4/type", "\n");
	sysroot_put(here.dir, "/sys/class/thermal/thermal_zone5/type", "silent\n");
	sysroot_put(here.dir, "/sys/class/thermal/cooling_device0/temp", "4\n");
	sysroot_put(here.dir, "/sys/class/thermal/cooling_device0/type", "fan\n");
	start("server", "thermal");
	assert_null(refused("thermal"));
	sample();
	assert_int_equal(of_device("thermal.temp", "zone"), 1000);
	assert_int_equal(of_device("thermal.temp", "zone.2"), 2000);
	assert_int_equal(of_device("thermal.temp", "silent"), NO_COLUMN);
	assert_int_equal(of_device("thermal.temp", "fan"), NO_COLUMN);
	sysroot_put(here.dir, "/sys/class/thermal/thermal_zone5/temp", "<cold>\n");
	start_again("thermal");
	assert_int_equal(refused("thermal")->reason, PM_REASON_FORMAT);
	sample();
	assert_int_equal(of_device("thermal.temp", "silent"), NO_COLUMN);
	assert_int_equal(of_device("thermal.temp", "acpitz"), -5000);
}

static uint64_t fact(const char *name)
{
	const struct pm_config *c = pm_model_config(&here.model, name, PM_NONE);

	return c ? c->value.u64 : UINT64_MAX;
}

static void powercap_knows_packages_and_dies(void **state)
{
	static const struct {
		const char *zone, *name;
	} zone[] = {
		{ "intel-rapl:3", "package-1-die-0" }, { "intel-rapl:4", "package-0-die-7" },
		{ "intel-rapl:5", "package-9" },       { "intel-rapl:5:0", "uncore" },
		{ "intel-rapl:6", "package-1x" },      { "intel-rapl:7", "package-1-die-0x" },
	};
	char path[96];

	sysroot_make(here.dir, "server");
	for (unsigned i = 0; i < sizeof(zone) / sizeof(zone[0]); i++) {
		snprintf(path, sizeof(path), "/sys/class/powercap/%s/name", zone[i].zone);
		sysroot_put(here.dir, path, "%s\n", zone[i].name);
		snprintf(path, sizeof(path), "/sys/class/powercap/%s/energy_uj", zone[i].zone);
		sysroot_put(here.dir, path, "%u\n", 100 + i);
	}
	/* One has no name, one no energy, one neither above it. */
	sysroot_put(here.dir, "/sys/class/powercap/intel-rapl:8/energy_uj", "8\n");
	sysroot_put(here.dir, "/sys/class/powercap/intel-rapl:9/name", "still\n");
	sysroot_put(here.dir, "/sys/class/powercap/intel-rapl:10:0/name", "orphan\n");
	sysroot_put(here.dir, "/sys/class/powercap/intel-rapl:10:0/energy_uj", "8\n");
	sysroot_put(here.dir, "/sys/class/powercap/intel-rapl:5/enabled", "1\n");
	sysroot_put(here.dir, "/sys/class/powercap/intel-rapl:5/constraint_7_max_power_uw", "77\n");
	sysroot_put(here.dir, "/sys/class/powercap/intel-rapl:5/constraint_8_max_power_uw", "88\n");
	start("server", "powercap");
	assert_null(refused("powercap"));
	sample();
	assert_int_equal(value_of("powercap.energy.package", PM_DIE, 4, NULL), 100);
	assert_int_equal(of_device("powercap.energy.package", "package-0-die-7"), 101);
	assert_int_equal(of_device("powercap.energy.package", "package-9"), 102);
	assert_int_equal(of_device("powercap.energy.uncore", "package-9/uncore"), 103);
	assert_int_equal(of_device("powercap.energy.package", "package-1x"), NO_COLUMN);
	assert_int_equal(of_device("powercap.energy.package", "package-1-die-0x"), NO_COLUMN);
	assert_int_equal(of_device("powercap.energy.package_1x", "package-1x"), 104);
	assert_int_equal(value_of("powercap.energy.package", PM_PACKAGE, 4, NULL), 3000000);
	assert_int_equal(fact("powercap.intel-rapl:5.enabled"), 1);
	assert_int_equal(fact("powercap.intel-rapl:0.enabled"), UINT64_MAX);
	assert_int_equal(fact("powercap.intel-rapl:5.constraint_7.max_power_uw"), 77);
	assert_int_equal(fact("powercap.intel-rapl:5.constraint_8.max_power_uw"), UINT64_MAX);
	assert_string_equal(
		pm_model_config(&here.model, "powercap.intel-rapl:0.constraint_0.name", PM_NONE)->value.str.data,
		"long_term");
	/* Without a number there is no zone. */
	sysroot_put(here.dir, "/sys/class/powercap/intel-rapl:9/energy_uj", "none\n");
	start_again("powercap");
	assert_int_equal(refused("powercap")->reason, PM_REASON_FORMAT);
	/* But where others are added up with it, its part is missing, and it may have one later. */
	sysroot_put(here.dir, "/sys/class/powercap/intel-rapl:5/energy_uj", "none\n");
	start_again("powercap");
	sample();
	assert_int_equal(of_device("powercap.energy.package", "package-9"), STATUS(PM_REASON_FORMAT));
	sysroot_put(here.dir, "/sys/class/powercap/intel-rapl:5/energy_uj", "7\n");
	sample();
	assert_int_equal(of_device("powercap.energy.package", "package-9"), 7);
}

/* What a file says of all CPUs, of a policy, and of one CPU; an empty one says nothing. */
static void cpufreq_has_settings(void **state)
{
	sysroot_make(here.dir, "server");
	sysroot_put(here.dir, "/sys/devices/system/cpu/cpufreq/boost", "1\n");
	sysroot_put(here.dir, "/sys/devices/system/cpu/intel_pstate/status", "active\n");
	sysroot_put(here.dir, "/sys/devices/system/cpu/intel_pstate/max_perf_pct", "\n");
	sysroot_put(here.dir, "/sys/devices/system/cpu/cpu0/power/energy_perf_bias", "6\n");
	sysroot_put(here.dir, "/sys/devices/system/cpu/cpu9/power/energy_perf_bias", "15\n");
	sysroot_put(here.dir, "/sys/devices/system/cpu/cpu9/acpi_cppc/highest_perf", "255\n");
	sysroot_put(here.dir, "/sys/devices/system/cpu/cpu9/acpi_cppc/lowest_perf", "22\n");
	sysroot_put(here.dir, "/sys/devices/system/cpu/cpu9/acpi_cppc/nominal_perf", "130\n");
	sysroot_put(here.dir, "/sys/devices/system/cpu/cpu9/acpi_cppc/nominal_freq", "2100\n");
	sysroot_put(here.dir, "/sys/devices/system/cpu/cpu8/acpi_cppc/nominal_freq", "2200\n");
	/* Lists that are none, of others, and with CPUs that are not recorded. */
	sysroot_put(here.dir, "/sys/devices/system/cpu/cpu3/cpufreq/related_cpus", "x y\n");
	sysroot_put(here.dir, "/sys/devices/system/cpu/cpu4/cpufreq/related_cpus", "5 6\n");
	sysroot_put(here.dir, "/sys/devices/system/cpu/cpu7/cpufreq/related_cpus", "7 300\n");
	start("server", "cpufreq");
	assert_int_equal(fact("cpufreq.boost"), 1);
	assert_int_equal(fact("intel_pstate.no_turbo"), 0);
	assert_int_equal(fact("intel_pstate.max_perf_pct"), UINT64_MAX);
	assert_int_equal(fact("amd_pstate.status"), UINT64_MAX);
	assert_string_equal(pm_model_config(&here.model, "intel_pstate.status", PM_NONE)->value.str.data, "active");
	assert_int_equal(pm_model_config(&here.model, "cpufreq.energy_perf_bias", 0)->value.u64, 6);
	assert_int_equal(pm_model_config(&here.model, "cpufreq.energy_perf_bias", 9)->value.u64, 15);
	assert_null(pm_model_config(&here.model, "cpufreq.energy_perf_bias", 1));
	assert_int_equal(pm_model_config(&here.model, "cppc.nominal_freq", 9)->value.u64, 2100);
	/* Who lacks the first of them is not asked for the others. */
	assert_null(pm_model_config(&here.model, "cppc.nominal_freq", 8));
	assert_int_equal(pm_model_config(&here.model, "cpufreq.related_cpus", 3)->instances.n, 1);
	assert_int_equal(pm_model_config(&here.model, "cpufreq.related_cpus", 4)->instances.n, 1);
	assert_null(pm_model_config(&here.model, "cpufreq.related_cpus", 5));
	assert_int_equal(pm_model_config(&here.model, "cpufreq.related_cpus", 7)->instances.n, 1);
	for (uint32_t cpu = 0; cpu < 15; cpu++)
		assert_int_equal(pm_model_config(&here.model, "cpufreq.scaling_max_freq", cpu)->value.u64, 3500000);
}

static void throttle_follows_hotplug(void **state)
{
	start_with("server", "throttle", "default", "1-5");
	sample();
	assert_int_equal(value_of("throttle.core", PM_CPU, 0, NULL), NO_COLUMN);
	assert_int_equal(value_of("throttle.core", PM_CPU, 1, NULL), 11);
	assert_int_equal(value_of("throttle.core", PM_CPU, 5, NULL), 15);
	assert_int_equal(value_of("throttle.package_time", PM_PACKAGE, 0, NULL), 40);
	assert_int_equal(value_of("throttle.package_time", PM_PACKAGE, 4, NULL), 41);
	sysroot_put(here.dir, "/sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "99\n");
	update("throttle", PM_NONE, false);
	sample();
	assert_int_equal(value_of("throttle.core", PM_CPU, 1, NULL), 99);
	update("throttle", 1, false);
	sample();
	assert_true(value_of("throttle.core", PM_CPU, 1, NULL) < 0);
	assert_int_equal(value_of("throttle.core", PM_CPU, 2, NULL), 12);
	update("throttle", 1, true);
	sample();
	assert_int_equal(value_of("throttle.core", PM_CPU, 1, NULL), 99);
	teardown(state);
	start("arm64", "throttle");
	assert_int_equal(refused("throttle")->reason, PM_REASON_NOT_SUPPORTED);
}

/* A group's name is what its folder is called, or where that is not recorded, its number. */
static void resctrl_groups_have_names_or_numbers(void **state)
{
	sysroot_make(here.dir, "server");
	sysroot_put(here.dir, "/sys/fs/resctrl/web/mon_groups/part/mon_data/mon_L3_00/llc_occupancy", "71\n");
	sysroot_put(here.dir, "/sys/fs/resctrl/web/mon_data/mon_L2_00/llc_occupancy", "72\n");
	sysroot_put(here.dir, "/sys/fs/resctrl/web/mon_data/mon_L3_00/other", "73\n");
	sysroot_put(here.dir, "/sys/fs/resctrl/web/mon_data/mon_L3_99/llc_occupancy", "74\n");
	start("server", "resctrl");
	sample();
	assert_int_equal(of_device("resctrl.part.occupancy", "resctrl/web/mon/part/L3_00"), 71);
	assert_int_equal(of_device("resctrl.occupancy", "resctrl/web/L2_00"), NO_COLUMN);
	assert_int_equal(of_device("resctrl.occupancy", "resctrl/web/L3_99"), 74);
	/* A cache's numbers belong to its first CPU: the caches of this machine are its four dies. */
	for (uint32_t i = 0; i < here.model.n_instances; i++) {
		const struct pm_instance *in = &here.model.instance[i];
		const char *name = pm_map_text(&in->attrs, PM_INSTANCE_NAME, "");

		if (!strcmp(name, "resctrl/web/L3_00") || !strcmp(name, "resctrl/web/mon/part/L3_00"))
			assert_int_equal(in->cpu, 0);
		else if (!strcmp(name, "resctrl/web/L3_01"))
			assert_int_equal(in->cpu, 2);
		else if (!strcmp(name, "resctrl/web/L3_99"))
			assert_int_equal(in->cpu, PM_NONE);
	}
	teardown(state);
	start_with("server", "resctrl", "strict", NULL);
	sample();
	assert_int_equal(of_device("resctrl.total_bytes", "resctrl/L3_01"), 2000000 + 1);
	assert_int_equal(of_device("resctrl.total_bytes", "resctrl/web/L3_00"), NO_COLUMN);
	assert_int_equal(of_device("resctrl.total_bytes", "resctrl/2/L3_00"), 1000000 + 3);
}

/* ---- gfx, uncorefreq, lpi ---- */

static void gfx_knows_three_drivers(void **state)
{
	start("hybrid", "gfx");
	assert_int_equal(refused("gfx")->reason, PM_REASON_NOT_SUPPORTED);
	/* Before i915 had graphics units. */
	sysroot_put(here.dir, DRM "card0/power/rc6_residency_ms", "100\n");
	sysroot_put(here.dir, DRM "card0/gt_cur_freq_mhz", "300\n");
	sysroot_put(here.dir, DRM "card0-HDMI-A-1/gt_cur_freq_mhz", "1\n");
	start_again("gfx");
	sample();
	assert_int_equal(of_device("gfx.rc6", "card0"), 100);
	assert_int_equal(of_device("gfx.freq", "card0"), 300);
	assert_int_equal(of_device("gfx.freq_actual", "card0"), NO_COUNTER);
	/* With them, the same card is not counted twice. */
	sysroot_put(here.dir, DRM "card0/gt/gt0/rc6_residency_ms", "101\n");
	sysroot_put(here.dir, DRM "card0/gt/gt0/rps_act_freq_mhz", "301\n");
	sysroot_put(here.dir, DRM "card0/gt/gt1/rc6_residency_ms", "102\n");
	/* xe says itself which is which. */
	sysroot_put(here.dir, DRM "card1/device/tile0/gt0/gtidle/name", "gt0-mc\n");
	sysroot_put(here.dir, DRM "card1/device/tile0/gt0/gtidle/idle_residency_ms", "103\n");
	sysroot_put(here.dir, DRM "card1/device/tile0/gt1/gtidle/name", "gt1-rc\n");
	sysroot_put(here.dir, DRM "card1/device/tile0/gt1/gtidle/idle_residency_ms", "104\n");
	sysroot_put(here.dir, DRM "card1/device/tile0/gt1/freq0/act_freq", "304\n");
	start_again("gfx");
	sample();
	assert_int_equal(of_device("gfx.rc6", "card0"), NO_COLUMN);
	assert_int_equal(of_device("gfx.rc6", "card0/gt0"), 101);
	assert_int_equal(of_device("gfx.freq_actual", "card0/gt0"), 301);
	assert_int_equal(of_device("gfx.media_rc6", "card0/gt1"), 102);
	assert_int_equal(of_device("gfx.media_rc6", "card1/gt0"), 103);
	assert_int_equal(of_device("gfx.rc6", "card1/gt1"), 104);
	assert_int_equal(of_device("gfx.freq_actual", "card1/gt1"), 304);
	assert_int_equal(counter("gfx.rc6")->scale.den, 1000);
}

#define UNCORE "/sys/devices/system/cpu/intel_uncore_frequency/"

static void uncorefreq_belongs_to_dies_and_clusters(void **state)
{
	start("server", "uncorefreq");
	assert_non_null(refused("uncorefreq"));
	sysroot_put(here.dir, UNCORE "package_01_die_01/current_freq_khz", "2200000\n");
	sysroot_put(here.dir, UNCORE "package_01_die_01/max_freq_khz", "2400000\n");
	sysroot_put(here.dir, UNCORE "package_07_die_00/current_freq_khz", "1\n");
	sysroot_put(here.dir, UNCORE "uncore03/current_freq_khz", "1800000\n");
	sysroot_put(here.dir, UNCORE "uncore03/package_id", "1\n");
	sysroot_put(here.dir, UNCORE "uncore03/domain_id", "2\n");
	sysroot_put(here.dir, UNCORE "uncore03/fabric_cluster_id", "0\n");
	start_again("uncorefreq");
	sample();
	/* CPU 6 is the first of the second die of package 1. */
	assert_int_equal(value_of("uncorefreq.package", PM_DIE, 6, NULL), 2200000);
	assert_int_equal(value_of("uncorefreq.cluster.2_0", PM_PACKAGE, 4, NULL), 1800000);
	assert_int_equal(
		pm_model_config(&here.model, "uncorefreq.package_01_die_01.max_freq_khz", PM_NONE)->value.u64,
		2400000);
	teardown(state);
	start("hybrid", "uncorefreq");
	sysroot_put(here.dir, UNCORE "package_00_die_00/current_freq_khz", "2100000\n");
	start_again("uncorefreq");
	sample();
	assert_int_equal(value_of("uncorefreq.package", PM_PACKAGE, 0, NULL), 2100000);
}

static void lpi_has_two_places(void **state)
{
	start("hybrid", "lpi");
	assert_non_null(refused("lpi"));
	sysroot_put(here.dir, "/sys/kernel/debug/pmc_core/slp_s0_residency_usec", "500\n");
	start_again("lpi");
	sample();
	assert_int_equal(of_system("lpi.system"), 500);
	assert_int_equal(of_system("lpi.cpu"), NO_COUNTER);
	sysroot_put(here.dir, "/sys/devices/system/cpu/cpuidle/low_power_idle_cpu_residency_us", "700\n");
	sysroot_put(here.dir, "/sys/devices/system/cpu/cpuidle/low_power_idle_system_residency_us", "600\n");
	start_again("lpi");
	sample();
	assert_int_equal(of_system("lpi.system"), 600);
	assert_int_equal(of_system("lpi.cpu"), 700);
}

/* Ids begin at 0; a file that could be read is not added for what could not be made. */
static void what_was_not_made_has_no_file(void **state)
{
	struct filegrid g = { 0 }, other = { 0 };

	start("server", "stat");
	assert_int_equal(filegrid_add(&g, 0, -ENOSPC, 0, 0, "/proc/stat"), -ENOSPC);
	assert_int_equal(filegrid_add(&other, -EEXIST, 0, 0, 0, "/proc/stat"), -EEXIST);
	assert_int_equal(g.n + other.n, 0);
}

UNIT_TESTS(cmocka_unit_test_teardown(cpuidle_reads_states, teardown),
	   cmocka_unit_test_teardown(cpuidle_tells_states_apart, teardown),
	   cmocka_unit_test_teardown(cpuidle_follows_hotplug, teardown),
	   cmocka_unit_test_teardown(cpuidle_asks_quiet_states_whether_they_were_entered, teardown),
	   cmocka_unit_test_teardown(cpuidle_gets_its_files, teardown),
	   cmocka_unit_test_teardown(cpufreq_reads_khz, teardown),
	   cmocka_unit_test_teardown(cpufreq_follows_hotplug, teardown),
	   cmocka_unit_test_teardown(cpufreq_knows_policies, teardown),
	   cmocka_unit_test_teardown(cpuidle_believes_one_driver, teardown),
	   cmocka_unit_test_teardown(thermal_may_freeze, teardown),
	   cmocka_unit_test_teardown(throttle_counts_places, teardown),
	   cmocka_unit_test_teardown(resctrl_knows_groups, teardown),
	   cmocka_unit_test_teardown(hwmon_names_channels, teardown),
	   cmocka_unit_test_teardown(powercap_goes_on_beyond_its_range, teardown),
	   cmocka_unit_test_teardown(hwmon_knows_channels, teardown),
	   cmocka_unit_test_teardown(zones_may_lack_a_type, teardown),
	   cmocka_unit_test_teardown(powercap_knows_packages_and_dies, teardown),
	   cmocka_unit_test_teardown(cpufreq_has_settings, teardown),
	   cmocka_unit_test_teardown(throttle_follows_hotplug, teardown),
	   cmocka_unit_test_teardown(resctrl_groups_have_names_or_numbers, teardown),
	   cmocka_unit_test_teardown(gfx_knows_three_drivers, teardown),
	   cmocka_unit_test_teardown(uncorefreq_belongs_to_dies_and_clusters, teardown),
	   cmocka_unit_test_teardown(lpi_has_two_places, teardown),
	   cmocka_unit_test_teardown(what_was_not_made_has_no_file, teardown))
