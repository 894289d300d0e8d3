/* Every source on a copy of a machine whose numbers tests/sysroots/make has chosen. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <cmocka.h>

#include "tests/unit/planned.h"

#define UNITS_MAX 16
#define SYSTEM PM_NONE
#define STATUS(reason) (-1 - (int64_t)(reason)) /* how value() says that there is none */

static struct planned here;
static struct {
	uint64_t *v;
	uint16_t *status;
	int result;
} sampled[UNITS_MAX];

static void start_with(const char *kind, const char *sources, const char *privacy, const char *cpus)
{
	struct error e = { 0 };

	here.options = (struct record_options){ .privacy = (char *)privacy, .cpus = (char *)cpus };
	planned_begin(&here, kind, sources);
	assert_int_equal(plan_sources(&here.plan, here.source, here.n_sources, &e), 0);
}

static void start(const char *kind, const char *sources)
{
	start_with(kind, sources, "default", NULL);
}

static int teardown(void **state)
{
	if (!here.dir[0])
		return 0; /* the test was skipped */
	for (int i = 0; i < UNITS_MAX; i++) {
		free(sampled[i].v);
		free(sampled[i].status);
		sampled[i].v = NULL;
		sampled[i].status = NULL;
	}
	planned_end(&here);
	return 0;
}

/* One snapshot. */
static void sample(void)
{
	int i = 0;

	for (struct unit *u = here.plan.units; u; u = u->next, i++) {
		uint32_t n = pm_group_values(pm_model_group(&here.model, u->group));
		bool missing;
		struct cells c = { .step = 1, .n = n, .any_missing = &missing };

		assert_true(i < UNITS_MAX);
		sampled[i].v = realloc(sampled[i].v, (n + 1) * sizeof(uint64_t));
		sampled[i].status = realloc(sampled[i].status, (n + 1) * sizeof(uint16_t));
		memset(sampled[i].v, 0xee, n * sizeof(uint64_t));
		memset(sampled[i].status, 0, n * sizeof(uint16_t));
		c.v = sampled[i].v;
		c.status = sampled[i].status;
		sampled[i].result = u->read(u, &c);
	}
}

static bool is_instance(const struct pm_instance *in, enum pm_kind kind, uint32_t cpu, const char *name)
{
	return in->kind == kind && in->cpu == cpu &&
	       (!name || !strcmp(pm_map_text(&in->attrs, PM_INSTANCE_NAME, ""), name));
}

/* What the last snapshot has for that counter: a place by its first CPU, a device by its name. */
static int64_t value_of(const char *counter, enum pm_kind kind, uint32_t cpu, const char *name)
{
	const struct pm_counter *c = pm_model_counter_named(&here.model, counter);
	int i = 0;

	if (!c)
		return STATUS(9999);
	for (struct unit *u = here.plan.units; u; u = u->next, i++) {
		const struct pm_group *g = pm_model_group(&here.model, u->group);

		for (uint32_t k = 0; k < pm_group_values(g); k++) {
			if (pm_group_counter_of(g, k) != c->id ||
			    !is_instance(pm_model_instance(&here.model, pm_group_instance_of(g, k)), kind, cpu, name))
				continue;
			return sampled[i].status[k] ? STATUS(sampled[i].status[k]) : (int64_t)sampled[i].v[k];
		}
	}
	return STATUS(9998);
}

#define NO_COUNTER STATUS(9999)
#define NO_COLUMN STATUS(9998)

static int64_t of_cpu(const char *counter, uint32_t cpu)
{
	return value_of(counter, PM_CPU, cpu, NULL);
}

static int64_t of_system(const char *counter)
{
	return value_of(counter, PM_SYSTEM, PM_NONE, NULL);
}

static int64_t of_device(const char *counter, const char *name)
{
	return value_of(counter, PM_DEVICE, PM_NONE, name);
}

static struct source *named(const char *name)
{
	for (size_t i = 0; i < here.n_sources; i++)
		if (!strcmp(here.source[i].ops->name, name))
			return &here.source[i];
	fail_msg("no source %s", name);
	return NULL;
}

static void update(const char *name, uint32_t cpu, bool online)
{
	here.plan.source = named(name);
	assert_int_equal(here.plan.source->ops->update(here.plan.source, &here.plan, cpu, online), 0);
	here.plan.source = NULL;
}

static const struct pm_probe *refused(const char *name)
{
	for (uint32_t i = 0; i < here.model.n_probes; i++)
		if (!strcmp(here.model.probe[i].source, name))
			return &here.model.probe[i];
	return NULL;
}

static const struct pm_counter *counter(const char *name)
{
	const struct pm_counter *c = pm_model_counter_named(&here.model, name);

	if (!c)
		fail_msg("no counter %s", name);
	return c;
}

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
	/* All CPUs alike: one matrix with one time. */
	assert_int_equal(here.model.n_groups, 1);
	assert_int_equal(here.model.group[0].flags, PM_GROUP_SHARED_TIME);
	assert_string_equal(pm_model_config(&here.model, "cpuidle.state3.name", 5)->value.str.data, "C6-SKX");
	assert_int_equal(pm_model_config(&here.model, "cpuidle.state3.latency", 5)->value.u64, 30);
	assert_int_equal(pm_model_config(&here.model, "cpuidle.state3.latency", 5)->instances.n, 15);
	assert_string_equal(pm_model_config(&here.model, "cpuidle.current_driver", PM_NONE)->value.str.data, "intel_idle");
}

static void cpuidle_tells_states_apart(void **state)
{
	start("arm64", "cpuidle");
	sample();
	assert_int_equal(of_cpu("cpuidle.usage.wfi", 2), 2001);
	assert_int_equal(of_cpu("cpuidle.usage.lpi", 2), 2101);
	assert_int_equal(of_cpu("cpuidle.usage.lpi_2", 2), 2201);
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

/* ---- stat, schedstat, softirqs ---- */

static void stat_reads_columns(void **state)
{
	start("server", "stat");
	sample();
	assert_int_equal(of_cpu("stat.user", 0), 0);
	assert_int_equal(of_cpu("stat.idle", 7), 703);
	assert_int_equal(of_cpu("stat.guest_nice", 14), 1409);
	assert_int_equal(of_cpu("stat.user", 15), NO_COLUMN);
	assert_int_equal(of_system("stat.ctxt"), 815);
	assert_int_equal(of_system("stat.intr"), 4711);
	assert_int_equal(of_system("stat.processes"), 42);
	assert_int_equal(of_system("stat.procs_running"), 3);
	assert_int_equal(counter("stat.procs_running")->semantics, PM_GAUGE);
	assert_int_equal(counter("stat.user")->scale.den, 100);
}

static void stat_follows_hotplug(void **state)
{
	start("hybrid", "stat");
	sysroot_put(here.dir, "/proc/stat", "cpu 1\ncpu0 10 11 12 13 14 15 16 17 18 19\n"
				       "cpu5 50 51 52 53 54 55 56 57\nintr 9 1 1\nprocesses 8\n");
	sample();
	assert_int_equal(of_cpu("stat.nice", 0), 11);
	assert_int_equal(of_cpu("stat.nice", 5), 51);
	assert_int_equal(of_cpu("stat.nice", 1), STATUS(PM_REASON_OFFLINE));
	assert_int_equal(of_cpu("stat.nice", 7), STATUS(PM_REASON_OFFLINE));
	assert_int_equal(of_cpu("stat.guest", 5), STATUS(PM_REASON_NOT_SUPPORTED)); /* a line that is shorter */
	assert_int_equal(of_system("stat.intr"), 9);
	assert_int_equal(of_system("stat.processes"), 8);
	assert_int_equal(of_system("stat.ctxt"), STATUS(PM_REASON_FORMAT));
	teardown(state);
	/* A CPU that was offline from the start. */
	start("server", "stat");
	sysroot_put(here.dir, "/proc/stat", "cpu0 1 2\ncpu14 3 4\ncpu15 5 6\nctxt 1\n");
	update("stat", 15, true);
	sample();
	assert_int_equal(of_cpu("stat.nice", 15), 6);
	assert_int_equal(of_cpu("stat.nice", 14), 4);
	/* Not that all went offline: the file is broken. */
	sysroot_put(here.dir, "/proc/stat", "\n");
	sample();
	assert_int_equal(of_cpu("stat.nice", 14), STATUS(pm_reason_errno(EINVAL)));
}

static void cpus_of_the_list_only(void **state)
{
	start_with("server", "stat,cpuidle,interrupts", "default", "2-3");
	sample();
	assert_int_equal(of_cpu("stat.idle", 3), 303);
	assert_int_equal(of_cpu("stat.idle", 4), NO_COLUMN);
	assert_int_equal(of_cpu("cpuidle.usage.poll", 4), NO_COLUMN);
	assert_int_equal(of_cpu("interrupts.total", 4), NO_COLUMN);
	assert_true(of_cpu("interrupts.total", 3) > 0);
	update("stat", 15, true);
	sample();
	assert_int_equal(of_cpu("stat.idle", 15), NO_COLUMN);
}

static void schedstat_reads_versions(void **state)
{
	start("server", "schedstat");
	sample();
	assert_int_equal(of_cpu("schedstat.yields", 14), 141);
	assert_int_equal(of_cpu("schedstat.schedules", 14), 143);
	assert_int_equal(of_cpu("schedstat.idle_schedules", 14), 144);
	assert_int_equal(of_cpu("schedstat.wakeups", 14), 145);
	assert_int_equal(of_cpu("schedstat.local_wakeups", 14), 146);
	assert_int_equal(of_cpu("schedstat.run_time", 14), 147);
	assert_int_equal(of_cpu("schedstat.wait_time", 14), 148);
	assert_int_equal(of_cpu("schedstat.timeslices", 14), 149);
	teardown(state);
	/* Switched off: what would stand at 0 for ever is not recorded, and that is said. */
	start("hybrid", "schedstat");
	sample();
	assert_int_equal(of_cpu("schedstat.yields", 2), NO_COUNTER);
	assert_int_equal(of_cpu("schedstat.run_time", 2), 27);
	assert_non_null(strstr(refused("schedstat")->hint, "kernel.sched_schedstats=1"));
	teardown(state);
	start("arm64", "schedstat");
	assert_int_equal(refused("schedstat")->reason, PM_REASON_FORMAT);
	assert_non_null(strstr(refused("schedstat")->what, "version 14"));
	assert_null(here.plan.units);
}

static void softirqs_read_columns(void **state)
{
	start("hybrid", "softirqs");
	sample();
	assert_int_equal(of_cpu("softirqs.net_tx", 6), 56);
	assert_string_equal(pm_map_text(&counter("softirqs.net_tx")->attrs, PM_COUNTER_FAMILY, ""), "softirqs.vec");
	assert_string_equal(pm_map_text(&counter("softirqs.net_tx")->attrs, PM_COUNTER_MEMBER, ""), "NET_TX");
	sysroot_put(here.dir, "/proc/softirqs", "  CPU0  CPU6\n  HI: 1 2\n NEW: 8 8\n NET_TX: 3 4\n");
	sample();
	assert_int_equal(of_cpu("softirqs.net_tx", 0), 3);
	assert_int_equal(of_cpu("softirqs.net_tx", 6), 4);
	assert_int_equal(of_cpu("softirqs.net_tx", 5), STATUS(PM_REASON_OFFLINE));
}

/* ---- interrupts ---- */

#define ARM_HEAD "           CPU0       CPU1       CPU2       CPU3       CPU4       CPU5       CPU6       CPU7\n"

static void interrupts_read_cells(void **state)
{
	start("arm64", "interrupts");
	sample();
	assert_int_equal(of_cpu("interrupts.total", 0), 7 + 1);
	assert_int_equal(of_cpu("interrupts.total", 7), 9 + 8);
	assert_int_equal(of_cpu("interrupts.11", 0), 7);
	assert_int_equal(of_cpu("interrupts.11", 1), NO_COLUMN); /* it is 0 */
	assert_int_equal(of_cpu("interrupts.ipi0", 1), 2);
	assert_int_equal(of_system("interrupts.err"), NO_COUNTER);
	assert_int_equal(counter("interrupts.ipi0")->width, 32);
	assert_int_equal(counter("interrupts.total")->width, 64);
	assert_string_equal(pm_map_text(&counter("interrupts.ipi0")->attrs, PM_COUNTER_HELP, ""),
			    "Rescheduling interrupts");
	assert_string_equal(pm_map_text(&counter("interrupts.11")->attrs, PM_COUNTER_DEVICES, ""),
			    "GICv3 27 Level arch_timer");
	teardown(state);
	start_with("server", "interrupts", "strict", NULL);
	sample();
	assert_int_equal(of_system("interrupts.err"), 5);
	assert_int_equal(of_cpu("interrupts.24", 3), 1003);
	assert_int_equal(of_cpu("interrupts.total", 3), 4 * 1003);
	/* The text of this line is the name of a network interface. */
	assert_string_equal(pm_map_text(&counter("interrupts.24")->attrs, PM_COUNTER_DEVICES, "absent"), "absent");
	assert_string_equal(pm_map_text(&counter("interrupts.nmi")->attrs, PM_COUNTER_HELP, ""),
			    "Non-maskable interrupts");
}

static void interrupts_add_what_fires(void **state)
{
	start("arm64", "interrupts");
	sysroot_put(here.dir, "/proc/interrupts", ARM_HEAD " 11: 7 0 5 0 0 0 0 9 GICv3\n 40: 0 3 0 0 0 0 0 0 late\n"
		    "IPI0: 1 2 3 4 5 6 7 8 x\nErr: 2\n");
	assert_false(atomic_load(&named("interrupts")->stale));
	sample();
	assert_true(atomic_load(&named("interrupts")->stale));
	assert_int_equal(of_cpu("interrupts.11", 2), NO_COLUMN);
	assert_int_equal(of_cpu("interrupts.total", 2), 5 + 3);
	update("interrupts", PM_NONE, true);
	sample();
	assert_int_equal(of_cpu("interrupts.11", 0), 7);
	assert_int_equal(of_cpu("interrupts.11", 2), 5);
	assert_int_equal(of_cpu("interrupts.40", 1), 3);
	assert_int_equal(of_system("interrupts.err"), 2);
	assert_int_equal(of_cpu("interrupts.total", 1), 2 + 3);
	assert_int_equal(here.model.n_groups, 2);
	/* Columns cost space: the next ones wait a while. */
	atomic_store(&named("interrupts")->stale, false);
	sysroot_put(here.dir, "/proc/interrupts", ARM_HEAD " 11: 7 0 5 6 0 0 0 9 GICv3\n 40: 0 3 0 0 0 0 0 0 late\n"
		    "IPI0: 1 2 3 4 5 6 7 8 x\nErr: 2\n");
	sample();
	assert_false(atomic_load(&named("interrupts")->stale));
	assert_int_equal(of_cpu("interrupts.total", 3), 4 + 6);
}

static void interrupts_totals_never_go_back(void **state)
{
	start("arm64", "interrupts");
	sample();
	assert_int_equal(of_cpu("interrupts.total", 7), 17);
	/* The line's driver goes, and comes back with a counter of its own. */
	sysroot_put(here.dir, "/proc/interrupts", ARM_HEAD "IPI0: 1 2 3 4 5 6 7 10 x\n");
	sample();
	assert_int_equal(of_cpu("interrupts.total", 7), 19);
	assert_int_equal(of_cpu("interrupts.11", 7), STATUS(PM_REASON_GONE));
	sysroot_put(here.dir, "/proc/interrupts", ARM_HEAD " 11: 0 0 0 0 0 0 0 4 GICv3\nIPI0: 1 2 3 4 5 6 7 10 x\n");
	sample();
	assert_int_equal(of_cpu("interrupts.total", 7), 23);
	assert_int_equal(of_cpu("interrupts.11", 7), 4);
	/* A short way back is a new start, a long one a wrap of 32 bits. */
	sysroot_put(here.dir, "/proc/interrupts",
		    ARM_HEAD " 11: 0 0 0 0 0 0 0 3 GICv3\nIPI0: 1 2 3 4 5 6 7 4294967290 x\n");
	sample();
	assert_int_equal(of_cpu("interrupts.total", 7), 23 + 3 + 4294967280);
	sysroot_put(here.dir, "/proc/interrupts", ARM_HEAD " 11: 0 0 0 0 0 0 0 3 GICv3\nIPI0: 1 2 3 4 5 6 7 4 x\n");
	sample();
	assert_int_equal(of_cpu("interrupts.total", 7), 23 + 3 + 4294967280 + 10);
	assert_int_equal(of_cpu("interrupts.ipi0", 7), 4);
}

static void interrupts_follow_hotplug(void **state)
{
	start("arm64", "interrupts");
	sysroot_put(here.dir, "/proc/interrupts", " CPU0 CPU7\n 11: 8 9 GICv3\nIPI0: 2 8 x\nErr: 0\n");
	sample();
	assert_int_equal(of_cpu("interrupts.11", 0), 8);
	assert_int_equal(of_cpu("interrupts.total", 0), 10);
	assert_int_equal(of_cpu("interrupts.ipi0", 7), 8);
	assert_int_equal(of_cpu("interrupts.ipi0", 3), STATUS(PM_REASON_OFFLINE));
	assert_int_equal(of_cpu("interrupts.total", 3), STATUS(PM_REASON_OFFLINE));
	sysroot_put(here.dir, "/proc/interrupts",
		    ARM_HEAD " 11: 8 0 0 0 0 0 0 9 GICv3\nIPI0: 2 2 3 5 5 6 7 8 x\nErr: 0\n");
	sample();
	assert_int_equal(of_cpu("interrupts.ipi0", 3), 5);
	assert_int_equal(of_cpu("interrupts.total", 3), 5);
	/* A line cut short is no 0. */
	sysroot_put(here.dir, "/proc/interrupts", ARM_HEAD " 11: 8 0 0 0 0 0 0 9 GICv3\nIPI0: 2 2 3\nErr: 0\n");
	sample();
	assert_int_equal(of_cpu("interrupts.ipi0", 3), STATUS(PM_REASON_FORMAT));
	assert_int_equal(of_cpu("interrupts.ipi0", 2), 3);
	sysroot_put(here.dir, "/proc/interrupts",
		    ARM_HEAD " 11: 8 0 0 0 0 0 0 9 GICv3\nIPI0: 2 2 3 5 5 6 7 8 x\nErr: 0\n");
	sample();
	assert_int_equal(of_cpu("interrupts.ipi0", 3), 5);
}

static void a_dead_file_kills_its_unit(void **state)
{
	start("arm64", "interrupts");
	sysroot_put(here.dir, "/proc/interrupts", "gibberish\n");
	sample();
	assert_int_equal(sampled[0].result, 0);
	assert_int_equal(of_cpu("interrupts.total", 0), STATUS(pm_reason_errno(EINVAL)));
	sample();
	sample();
	assert_int_equal(sampled[0].result, -EINVAL);
}

/* ---- memory ---- */

static void vmstat_knows_levels(void **state)
{
	start("server", "vmstat");
	sample();
	assert_int_equal(of_system("vmstat.nr_free_pages"), 4000);
	assert_int_equal(of_system("vmstat.nr_dirtied"), 300);
	assert_int_equal(of_system("vmstat.pgfault"), 123456);
	assert_int_equal(of_system("vmstat.workingset_refault_file"), 8);
	assert_int_equal(counter("vmstat.nr_free_pages")->semantics, PM_GAUGE);
	assert_int_equal(counter("vmstat.nr_active_anon")->semantics, PM_GAUGE);
	assert_int_equal(counter("vmstat.nr_dirtied")->semantics, PM_CUMULATIVE);
	assert_int_equal(counter("vmstat.workingset_nodes")->semantics, PM_GAUGE);
	assert_int_equal(counter("vmstat.workingset_refault_file")->semantics, PM_CUMULATIVE);
	sysroot_put(here.dir, "/proc/vmstat", "nr_active_anon 1\nnewcomer 2\npgfault 3\n");
	sample();
	assert_int_equal(of_system("vmstat.pgfault"), 3);
	assert_int_equal(of_system("vmstat.nr_free_pages"), STATUS(PM_REASON_GONE));
}

static void pressure_reads_totals(void **state)
{
	start("server", "pressure");
	sample();
	assert_int_equal(of_system("pressure.cpu.some"), 10003);
	assert_int_equal(of_system("pressure.memory.full"), 5006);
	assert_int_equal(of_system("pressure.io.some"), 10002);
	assert_int_equal(of_system("pressure.irq.full"), NO_COUNTER);
	assert_int_equal(counter("pressure.io.some")->scale.den, 1000000);
	teardown(state);
	start("arm64", "pressure");
	assert_int_equal(refused("pressure")->reason, pm_reason_errno(ENOENT));
	assert_null(here.plan.units);
}

/* ---- sensors ---- */

static void cpufreq_reads_khz(void **state)
{
	start("server", "cpufreq");
	sample();
	assert_int_equal(of_cpu("cpufreq.cur", 9), 2000009);
	assert_int_equal(counter("cpufreq.cur")->scale.num, 1000);
	assert_int_equal(pm_model_config(&here.model, "cpufreq.scaling_max_freq", 9)->value.u64, 3500000);
	assert_string_equal(pm_model_config(&here.model, "cpufreq.scaling_driver", 9)->value.str.data, "intel_pstate");
	sysroot_put(here.dir, "/sys/devices/system/cpu/cpu9/cpufreq/scaling_cur_freq", "<unknown>\n");
	sample();
	assert_int_equal(of_cpu("cpufreq.cur", 9), STATUS(PM_REASON_FORMAT));
	assert_int_equal(of_cpu("cpufreq.cur", 8), 2000008);
	teardown(state);
	start("arm64", "cpufreq");
	assert_int_equal(refused("cpufreq")->reason, PM_REASON_NOT_SUPPORTED);
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
	assert_int_equal(value_of("throttle.core", PM_CORE, 6, NULL), 16);
	assert_int_equal(value_of("throttle.core_time", PM_CORE, 1, NULL), 21);
	assert_int_equal(value_of("throttle.package", PM_PACKAGE, 4, NULL), 31);
	assert_int_equal(value_of("throttle.package_time", PM_PACKAGE, 0, NULL), 40);
	assert_int_equal(value_of("throttle.core", PM_CORE, 8, NULL), NO_COLUMN); /* a second thread */
	assert_int_equal(here.model.n_groups, 2);
	assert_int_equal(here.model.group[0].n_instances, 8);
	assert_int_equal(here.model.group[1].n_instances, 2);
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
	assert_int_equal(pm_model_config(&here.model, "powercap.intel-rapl:0.max_energy_range_uj", PM_NONE)->value.u64,
			 range);
	assert_int_equal(pm_model_config(&here.model, "powercap.intel-rapl:0.constraint_0.power_limit_uw",
					 PM_NONE)->value.u64, 165000000);
	assert_string_equal(counter("powercap.energy.core")->unit, "J");
}

/* ---- gfx, uncorefreq, lpi ---- */

/* On a copy of the machine that has no such files yet. */
static void start_again(const char *sources)
{
	planned_forget(&here);
	planned_describe(&here, sources);
	assert_int_equal(plan_sources(&here.plan, here.source, here.n_sources, NULL), 0);
}

#define DRM "/sys/class/drm/"

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
	assert_int_equal(of_device("uncorefreq.cluster", "package1/domain2.0"), 1800000);
	assert_int_equal(pm_model_config(&here.model, "uncorefreq.package_01_die_01.max_freq_khz", PM_NONE)->value.u64,
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

/* ---- all together ---- */

static void every_source_costs_itself_only(void **state)
{
	struct error e = { 0 };

	sysroot_make(here.dir, NULL);
	sysroot_put(here.dir, "/sys/devices/system/cpu/online", "0-1\n");
	here.options = (struct record_options){ .privacy = "default" };
	assert_int_equal(root_init(&here.root, here.dir), 0);
	pm_model_init(&here.model);
	assert_int_equal(plan_init(&here.plan, &here.options, &here.root, &here.model, &e), 0);
	assert_int_equal(machine_describe(&here.plan, &e), 0);
	assert_int_equal(sources_select(&here.source, &here.n_sources, "all,-perf", &e), 0);
	assert_int_equal(plan_sources(&here.plan, here.source, here.n_sources, &e), 0);
	assert_null(here.plan.units);
	for (size_t i = 0; i < here.n_sources; i++)
		/* Nothing was asked of --add. */
		if (here.source[i].wanted && strcmp(here.source[i].ops->name, "add") && !refused(here.source[i].ops->name))
			fail_msg("%s says nothing of what it lacks", here.source[i].ops->name);
}

/* What a source makes is in the catalog, and its counters are named after it. */
static void counters_belong_to_their_source(void **state)
{
	start("server", "all,-perf");
	for (uint32_t i = 0; i < here.model.n_counters; i++) {
		const struct pm_counter *c = &here.model.counter[i];
		size_t len = strlen(c->source);

		assert_memory_equal(c->name, c->source, len);
		assert_int_equal(c->name[len], '.');
		assert_int_equal(strspn(c->name, "abcdefghijklmnopqrstuvwxyz0123456789._"), strlen(c->name));
		assert_non_null(named(c->source));
	}
	assert_true(here.model.n_counters > 60);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(cpuidle_reads_states, teardown),
		cmocka_unit_test_teardown(cpuidle_tells_states_apart, teardown),
		cmocka_unit_test_teardown(cpuidle_follows_hotplug, teardown),
		cmocka_unit_test_teardown(cpuidle_gets_its_files, teardown),
		cmocka_unit_test_teardown(stat_reads_columns, teardown),
		cmocka_unit_test_teardown(stat_follows_hotplug, teardown),
		cmocka_unit_test_teardown(cpus_of_the_list_only, teardown),
		cmocka_unit_test_teardown(schedstat_reads_versions, teardown),
		cmocka_unit_test_teardown(softirqs_read_columns, teardown),
		cmocka_unit_test_teardown(interrupts_read_cells, teardown),
		cmocka_unit_test_teardown(interrupts_add_what_fires, teardown),
		cmocka_unit_test_teardown(interrupts_totals_never_go_back, teardown),
		cmocka_unit_test_teardown(interrupts_follow_hotplug, teardown),
		cmocka_unit_test_teardown(a_dead_file_kills_its_unit, teardown),
		cmocka_unit_test_teardown(vmstat_knows_levels, teardown),
		cmocka_unit_test_teardown(pressure_reads_totals, teardown),
		cmocka_unit_test_teardown(cpufreq_reads_khz, teardown),
		cmocka_unit_test_teardown(thermal_may_freeze, teardown),
		cmocka_unit_test_teardown(throttle_counts_places, teardown),
		cmocka_unit_test_teardown(hwmon_names_channels, teardown),
		cmocka_unit_test_teardown(powercap_goes_on_beyond_its_range, teardown),
		cmocka_unit_test_teardown(gfx_knows_three_drivers, teardown),
		cmocka_unit_test_teardown(uncorefreq_belongs_to_dies_and_clusters, teardown),
		cmocka_unit_test_teardown(lpi_has_two_places, teardown),
		cmocka_unit_test_teardown(every_source_costs_itself_only, teardown),
		cmocka_unit_test_teardown(counters_belong_to_their_source, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
