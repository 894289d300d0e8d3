/* What a machine's uncore PMUs are, which of them are missing, and what is said of memory bandwidth; on a folder. */
#include "common/event/class_pmu.h"
#include "record/perf/perf_pmu.c"
#include "tests/unit/lib/remark.h"
#include "tests/unit/lib/perf_world.h"
#include "tests/unit/lib/sysroot.h"

#define PMU "/sys/bus/event_source/devices/"

struct machine {
	char dir[32];
	struct world *w;
	struct perf_pmus pmus;
};

static int set_up(void **state)
{
	struct machine *m = calloc(1, sizeof(*m));

	assert_non_null(m);
	sysroot_make(m->dir, NULL);
	sysroot_put(m->dir, "/sys/devices/system/cpu/online", "0-7\n");
	sysroot_put(m->dir, PMU "software/type", "1\n");
	unsetenv("PERF_CPUID");
	m->w = world_new(TARGET_SYSTEM, NULL, NULL, NULL);
	world_begin(m->w, m->dir);
	m->w->plan.source = &m->w->source;
	*state = m;
	return 0;
}

static int tear_down(void **state)
{
	struct machine *m = *state;

	perf_pmus_release(&m->pmus);
	m->w->source.data = NULL;
	plan_release(&m->w->plan);
	pm_model_release(&m->w->model);
	root_release(&m->w->root);
	free(m->w);
	sysroot_remove(m->dir);
	free(m);
	return 0;
}

static void put_pmu(struct machine *m, const char *name, const char *mask)
{
	char path[128];

	snprintf(path, sizeof(path), PMU "%s/type", name);
	sysroot_put(m->dir, path, "40\n");
	snprintf(path, sizeof(path), PMU "%s/format/event", name);
	sysroot_put(m->dir, path, "config:0-7\n");
	snprintf(path, sizeof(path), PMU "%s/cpumask", name);
	if (mask)
		sysroot_put(m->dir, path, "%s\n", mask);
}

static void drop(struct machine *m, const char *path)
{
	char command[160];

	snprintf(command, sizeof(command), "rm -r %s%s", m->dir, path);
	assert_int_equal(system(command), 0);
}

static void again(struct machine *m)
{
	perf_pmus_release(&m->pmus);
	perf_pmus_read(&m->pmus, &m->w->root);
}

static struct event_pmu *pmu_named(struct machine *m, const char *name)
{
	for (size_t i = 0; i < m->pmus.n; i++)
		if (!strcmp(m->pmus.pmu[i].name, name))
			return &m->pmus.pmu[i];
	fail_msg("there is no %s", name);
	return NULL;
}

/* The notes since the last time, each with its cure. */
static void missing(struct machine *m, const char *const (*want)[2], size_t n)
{
	const struct pm_model *model = &m->w->model;
	uint32_t first = model->n_probes;

	again(m);
	note_missing(&m->pmus, &m->w->plan);
	for (uint32_t i = first; i < model->n_probes; i++) {
		assert_in_range(i - first, 0, n - 1);
		assert_string_equal(said(&model->probe[i].what), want[i - first][0]);
		assert_string_equal(said(&model->probe[i].hint), want[i - first][1]);
		assert_int_equal(model->probe[i].reason, PM_REASON_NOT_SUPPORTED);
	}
	assert_int_equal(model->n_probes - first, n);
}

#define CSPMU "nvidia_cspmu (kernel option CONFIG_NVIDIA_CORESIGHT_PMU_ARCH_SYSTEM_PMU)"
#define CMEM  "nvidia_t410_cmem_latency_pmu (kernel option CONFIG_NVIDIA_TEGRA410_CMEM_LATENCY_PMU)"
#define BOUND ": the firmware describes it, but no driver is bound"

static void drivers_of_what_the_firmware_describes(void **state)
{
	static const char *const memory[][2] = { { "Tegra410 CPU memory latency" BOUND, "modprobe " CMEM } };
	struct machine *m = *state;

	missing(m, NULL, 0);
	sysroot_put(m->dir, "/sys/bus/acpi/devices/NVDA2021:00/status", "15\n");
	sysroot_put(m->dir, "/sys/bus/acpi/devices/NVDA20220/status", "15\n");
	drop(m, "/sys/bus/acpi/devices/NVDA20220");
	missing(m, memory, 1);
	put_pmu(m, "nvidia_cmem_latency_pmu_0", "0");
	missing(m, NULL, 0);
	drop(m, "/sys/bus/acpi");
	/* The generic ones of Arm have one driver. */
	sysroot_put(m->dir, "/sys/bus/platform/devices/arm-cs-arch-pmu.0/x", "\n");
	again(m);
	note_missing(&m->pmus, &m->w->plan);
	assert_int_equal(m->w->model.n_probes, 2);
	assert_string_equal(said(&m->w->model.probe[1].what), "Arm CoreSight uncore PMUs" BOUND);
	assert_string_equal(said(&m->w->model.probe[1].hint), "modprobe " CSPMU);
	put_pmu(m, "arm_cspmu_0", "0");
	missing(m, NULL, 0);
	drop(m, PMU "arm_cspmu_0");
	put_pmu(m, "nvidia_scf_pmu_0", "0");
	missing(m, NULL, 0);
}

/* ---- masks that sysfs lacks ---- */

static void units_are_read_on_one_cpu_of_a_package(void **state)
{
	struct machine *m = *state;
	char path[80];

	for (unsigned i = 0; i < 8; i++) {
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/topology/physical_package_id", i);
		sysroot_put(m->dir, path, "%u\n", i < 3 ? 0 : i < 6 ? 70 : 6);
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/topology/core_siblings_list", i);
		sysroot_put(m->dir, path, "%s\n", i < 3 ? "0-2" : i < 6 ? "3-5" : "6-7");
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/topology/thread_siblings_list", i);
		if (i < 6)
			sysroot_put(m->dir, path, "%u-%u\n", i / 2 * 2, i / 2 * 2 + 1);
	}
	put_pmu(m, "power", NULL);
	put_pmu(m, "cstate_core", NULL);
	put_pmu(m, "cstate_pkg", "5");
	put_pmu(m, "power_not", NULL);
	put_pmu(m, "nvidia_ucf_pmu_0", NULL);
	put_pmu(m, "nvidia_ucf_pmu_1", NULL);
	sysroot_put(m->dir, PMU "nvidia_ucf_pmu_1/associated_cpus", "4-5\n");
	put_pmu(m, "nvidia_scf_pmu_0", "2");
	again(m);
	assert_string_equal(pmu_named(m, "nvidia_ucf_pmu_0")->cpus, "0,3,6");
	assert_string_equal(pmu_named(m, "nvidia_ucf_pmu_1")->cpus, "4");
	assert_string_equal(pmu_named(m, "nvidia_scf_pmu_0")->cpus, "2");
	assert_true(pmu_named(m, "nvidia_ucf_pmu_0")->uncore);
	/* What no file tells counts by itself. */
	assert_string_equal(pmu_named(m, "power")->cpus, "0,3,6");
	assert_string_equal(pmu_named(m, "cstate_core")->cpus, "0,2,4,6,7");
	assert_string_equal(pmu_named(m, "cstate_pkg")->cpus, "5");
	assert_true(pmu_named(m, "power")->uncore);
	assert_null(pmu_named(m, "power_not")->cpus);
	assert_ptr_equal(perf_class_first(&m->pmus, perf_class(pmu_named(m, "nvidia_ucf_pmu_1"))),
			 pmu_named(m, "nvidia_ucf_pmu_0"));
	assert_null(perf_class(pmu_named(m, "software")));
}

/* Events whose words mean something on this processor alone. */
static void events_are_those_of_the_processor(void **state)
{
	static const char link0[] = "local_socket_outbound_data_beats_link_0",
			  link7[] = "local_socket_outbound_data_beats_link_7",
			  dram[] = "dram_channel_data_controller_0";
	struct machine *m = *state;

	for (unsigned family = 24; family <= 26; family++) {
		const struct event_pmu *df;

		/* As long as that of many CPUs. */
		sysroot_put(m->dir, "/proc/cpuinfo", "processor\t: 0\ncpu family\t: %u\nmodel\t\t: 1\n%09000d\n",
			    family, 0);
		put_pmu(m, "amd_df", "0");
		sysroot_put(m->dir, PMU "amd_df/format/event", "config:0-7,32-37\n");
		sysroot_put(m->dir, PMU "amd_df/format/umask", "config:8-15%s\n", family > 24 ? ",24-27" : "");
		again(m);
		df = pmu_named(m, "amd_df");
		assert_int_equal(event_pmu_alias(df, dram, strlen(dram)) != NULL, family == 24);
		assert_int_equal(event_pmu_alias(df, link0, strlen(link0)) != NULL, family > 24);
		assert_int_equal(event_pmu_alias(df, link7, strlen(link7)) != NULL, family == 25);
		if (family > 24)
			assert_string_equal(event_pmu_alias(df, link0, strlen(link0))->text,
					    family == 25 ? "event=0xb5f,umask=0xf3e" : "event=0xd5f,umask=0xf3e");
	}
}

/* ---- default events ---- */

static void put_event(struct machine *m, const char *pmu, const char *event)
{
	char path[128];

	snprintf(path, sizeof(path), PMU "%s/events/%s", pmu, event);
	sysroot_put(m->dir, path, "event=0x4\n");
}

static void defaults(struct machine *m, const char *want)
{
	SCOPED(buf_release) struct buf all = BUF_INIT;

	again(m);
	for (size_t i = 0; i < m->pmus.n; i++) {
		SCOPED(buf_release) struct buf out = BUF_INIT;

		perf_class_defaults(&m->pmus, &m->w->root, &m->pmus.pmu[i], &out);
		if (out.len)
			buf_printf(&all, "%s%s", all.len ? " " : "", buf_str(&out));
	}
	assert_string_equal(buf_str(&all), want);
}

static bool is_refused(struct machine *m, const char *name)
{
	uint16_t reason = pmu_named(m, name)->unit->refused;

	assert_true(!reason || reason == PM_REASON_NOT_SUPPORTED);
	return reason;
}

static void defaults_are_what_all_of_a_kind_have(void **state)
{
	struct machine *m = *state;

	drop(m, PMU "software");
	put_pmu(m, "uncore_imc_free_running_0", "0");
	put_event(m, "uncore_imc_free_running_0", "data_read");
	put_event(m, "uncore_imc_free_running_0", "data_write");
#define FREE "{uncore_imc_free_running_0/data_read/,uncore_imc_free_running_0/data_write/}:W"
	defaults(m, FREE);
	/* A better kind is recorded instead once it has something to record. */
	put_pmu(m, "uncore_imc_0", "0");
	put_pmu(m, "uncore_imc_1", "0");
	defaults(m, FREE);
	put_event(m, "uncore_imc_1", "cas_count_read");
	defaults(m, "{uncore_imc_1/cas_count_read/}:W");
	assert_true(is_refused(m, "uncore_imc_0"));
	assert_false(is_refused(m, "uncore_imc_1"));
	put_event(m, "uncore_imc_0", "cas_count_read");
	put_event(m, "uncore_imc_0", "cas_count_write");
	put_event(m, "uncore_imc_0", "not_a_default");
	defaults(m,
		 "{uncore_imc_0/cas_count_read/,uncore_imc_0/cas_count_write/}:W {uncore_imc_1/cas_count_read/}:W");
	assert_false(is_refused(m, "uncore_imc_0"));
	assert_true(is_refused(m, "uncore_imc_1"));
	put_event(m, "uncore_imc_1", "cas_count_write");
	put_event(m, "uncore_imc_1", "clockticks");
	defaults(m, "{uncore_imc_0/cas_count_read/,uncore_imc_0/cas_count_write/}:W "
		    "{uncore_imc_1/cas_count_read/,uncore_imc_1/cas_count_write/}:W");
	assert_false(is_refused(m, "uncore_imc_0") || is_refused(m, "uncore_imc_1"));
}

static void groups_hold_what_their_counters_can(void **state)
{
	static const struct {
		const char *bundles, *want;
	} cases[] = {
		{ NULL, "" },
		{ "e1", "{x/e1/}:W" },
		{ "e1,e2,e3,e4", "{x/e1/,x/e2/,x/e3/,x/e4/}:W" },
		{ "e1,e2;e3,e4", "{x/e1/,x/e2/,x/e3/,x/e4/}:W" },
		{ "e1,e2,e3;e4,e5", "{x/e1/,x/e2/,x/e3/}:W,{x/e4/,x/e5/}:W" },
		/* What a group has already needs no place, and what comes later may fill the first one. */
		{ "e1,e2,e3;e4,e5;e6", "{x/e1/,x/e2/,x/e3/,x/e6/}:W,{x/e4/,x/e5/}:W" },
		{ "e1,e2,e3;e1,e2,e4", "{x/e1/,x/e2/,x/e3/,x/e4/}:W" },
		{ "e1,e2,e3;?e4,e5;?e6", "{x/e1/,x/e2/,x/e3/,x/e6/}:W" },
		{ "none,e1;nothing", "{x/e1/}:W" },
		{ "e1,e1", "{x/e1/}:W" },
		{ "e,e11", "" },
	};
	struct machine *m = *state;
	char name[8];

	put_pmu(m, "uncore_imc_0", "0");
	for (int i = 1; i <= 6; i++) {
		snprintf(name, sizeof(name), "e%d", i);
		put_event(m, "uncore_imc_0", name);
	}
	for (int clock = 0; clock < 2; clock++) {
		if (clock)
			put_event(m, "uncore_imc_0", PMU_CLASS_CLOCK);
		again(m);
		for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
			struct buf out = BUF_INIT, want = BUF_INIT;

			perf_class_groups(pmu_named(m, "uncore_imc_0"), cases[i].bundles, "x", &out);
			/* The clock is the last one of each group, or stands alone. */
			for (const char *c = cases[i].want; *c; c++) {
				if (*c == '}' && clock)
					buf_addstr(&want, ",x/" PMU_CLASS_CLOCK "/");
				buf_addch(&want, *c);
			}
			if (clock && !*cases[i].want)
				buf_addstr(&want, "x/" PMU_CLASS_CLOCK "/");
			assert_string_equal(buf_str(&out), buf_str(&want));
			buf_release(&out);
			buf_release(&want);
		}
	}
}

/* ---- memory bandwidth ---- */

static void tell(struct machine *m, const char *want)
{
	struct buf out = BUF_INIT;

	perf_classes_tell(&m->pmus, &m->w->plan, &out);
	assert_string_equal(buf_str(&out), want);
	buf_release(&out);
}

static void count(struct machine *m, const char *pmu)
{
	char name[64];
	struct pm_counter c = { .name = name, .source = (char *)(uintptr_t) "perf" };

	snprintf(name, sizeof(name), "%s/read/", pmu);
	assert_int_equal(pm_map_set(&c.attrs, PM_COUNTER_PERF_PMU, pm_text(pmu)), 0);
	assert_true(pm_model_add_counter(&m->w->model, &c) > 0);
	pm_map_release(&c.attrs);
}

static void memory_that_nothing_counts_says_why(void **state)
{
	static const struct {
		const char *id, *said;
	} cases[] = {
		{ NULL, "no event is known for this processor" },
		{ "GenuineIntel-6-85-4", "modprobe intel_uncore (kernel option CONFIG_PERF_EVENTS_INTEL_UNCORE)" },
		{ "AuthenticAMD-25-17-1",
		  "modprobe amd_uncore (CONFIG_PERF_EVENTS_AMD_UNCORE); Zen 4 and later need Linux 6.8" },
		{ "0x00000000480fd010", "modprobe hisi_uncore_ddrc_pmu (CONFIG_HISI_PMU)" },
		{ "0x00000000520fd010", "no event is known for this processor" },
	};
	struct machine *m = *state;
	char want[200];

	again(m);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (cases[i].id)
			assert_int_equal(pm_map_set(&m->w->model.header, PM_HEADER_CPU_ID, pm_text(cases[i].id)), 0);
		snprintf(want, sizeof(want), "memory bandwidth: no PMU counts it: %s\n", cases[i].said);
		tell(m, want);
	}
	assert_int_equal(pm_map_set(&m->w->model.header, PM_HEADER_HYPERVISOR, pm_text("KVM")), 0);
	tell(m, "memory bandwidth: no PMU counts it: this virtual machine has none; record on its host\n");
	sysroot_put(m->dir, "/sys/fs/resctrl/mon_data/x", "\n");
	tell(m,
	     "memory bandwidth: no PMU counts it: this virtual machine has none; record on its host; resctrl groups "
	     "do\n");
}

static void memory_that_a_pmu_counts(void **state)
{
#define SUCH "memory bandwidth: 2 PMUs such as uncore_imc_0"
	struct machine *m = *state;

	put_pmu(m, "uncore_imc_0", "0");
	put_pmu(m, "uncore_cha_0", "0");
	again(m);
	tell(m,
	     "memory bandwidth: 1 PMU such as uncore_imc_0, which cannot be counted: this kernel names none of its "
	     "events that measure traffic\n");
	put_pmu(m, "uncore_imc_1", "0");
	again(m);
	perf_class_refuse(pmu_named(m, "uncore_imc_0"), PM_REASON_NO_PERMISSION);
	tell(m, SUCH ", which cannot be counted: its events were refused\n");
	assert_int_equal(plan_refused(&m->w->plan, PM_OK, remark_of("another cure"), remark_of("uncore_cha_0/x/")),
			 0);
	assert_int_equal(
		plan_refused(&m->w->plan, PM_OK, remark_of("the cure"), remark_of("uncore_imc_0/read/ and more")), 0);
	tell(m, SUCH ", which cannot be counted: the cure\n");
	count(m, "uncore_cha_0");
	count(m, "uncore_imc_1");
	tell(m, SUCH "; uncore_imc_0 cannot be counted, so sums are missing: the cure\n");
	count(m, "uncore_imc_0");
	tell(m, SUCH "\n");
	/* One that counts is said before a better one that does not. */
	again(m);
	put_pmu(m, "amd_umc_0", "0");
	again(m);
	tell(m, SUCH "\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(drivers_of_what_the_firmware_describes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(units_are_read_on_one_cpu_of_a_package, set_up, tear_down),
		cmocka_unit_test_setup_teardown(events_are_those_of_the_processor, set_up, tear_down),
		cmocka_unit_test_setup_teardown(defaults_are_what_all_of_a_kind_have, set_up, tear_down),
		cmocka_unit_test_setup_teardown(groups_hold_what_their_counters_can, set_up, tear_down),
		cmocka_unit_test_setup_teardown(memory_that_nothing_counts_says_why, set_up, tear_down),
		cmocka_unit_test_setup_teardown(memory_that_a_pmu_counts, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
