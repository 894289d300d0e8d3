/* Sources of /proc, and all sources together, on a copy of a machine whose numbers tests/sysroots/make has chosen. */
#include "tests/unit/lib/remark.h"
#include "tests/unit/lib/snapshot.h"
#include "tests/unit/lib/test.h"

/* ---- stat, schedstat, softirqs ---- */

static void stat_follows_hotplug(void **state)
{
	start("hybrid", "stat");
	sysroot_put(here.dir, "/proc/stat",
		    "cpu 1\ncpu0 10 11 12 13 14 15 16 17 18 19\n"
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
	assert_int_equal(of_cpu("stat.nice", 14), STATUS(PM_REASON_FORMAT));
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

/* CPUs that come online bring so many lines that the text outgrows its buffer. */
static void many_cpus_come_online(void **state)
{
	enum { CPUS = 64 };
	SCOPED(buf_release) struct buf text = BUF_INIT;

	sysroot_make(here.dir, NULL);
	sysroot_put(here.dir, "/sys/devices/system/cpu/online", "0\n");
	sysroot_put(here.dir, "/sys/devices/system/cpu/present", "0-%d\n", CPUS - 1);
	sysroot_put(here.dir, "/proc/schedstat", "version 15\ncpu0 0 0 0 0 0 0 7 8 9\n");
	start_with(NULL, "schedstat", "full", NULL);
	buf_addstr(&text, "version 15\n");
	for (int i = 0; i < CPUS; i++)
		buf_printf(&text, "cpu%d 0 0 0 0 0 0 %d 8 9\ndomain0 ff%0200d\n", i, 70 + i, 0);
	sysroot_put(here.dir, "/proc/schedstat", "%s", buf_str(&text));
	sample();
	assert_int_equal(of_cpu("schedstat.run_time", 0), STATUS(pm_reason_errno(EFBIG)));
	update("schedstat", CPUS - 1, true);
	sample();
	assert_int_equal(of_cpu("schedstat.run_time", 0), 70);
	assert_int_equal(of_cpu("schedstat.run_time", CPUS - 1), 70 + CPUS - 1);
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
	assert_non_null(strstr(said(&refused("schedstat")->hint), "kernel.sched_schedstats=1"));
	teardown(state);
	start("arm64", "schedstat");
	assert_int_equal(refused("schedstat")->reason, PM_REASON_FORMAT);
	assert_non_null(strstr(said(&refused("schedstat")->what), "version 14"));
	assert_null(here.plan.units);
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
	sysroot_put(here.dir, "/proc/interrupts",
		    ARM_HEAD " 11: 7 0 5 0 0 0 0 9 GICv3\n 40: 0 3 0 0 0 0 0 0 late\n"
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
	sysroot_put(here.dir, "/proc/interrupts",
		    ARM_HEAD " 11: 7 0 5 6 0 0 0 9 GICv3\n 40: 0 3 0 0 0 0 0 0 late\n"
			     "IPI0: 1 2 3 4 5 6 7 8 x\nErr: 2\n");
	sample();
	assert_false(atomic_load(&named("interrupts")->stale));
	assert_int_equal(of_cpu("interrupts.total", 3), 4 + 6);
}

static void interrupts_totals_start_again_with_a_cell(void **state)
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
	/* A short way back is a new start, of which it is not known when it was; a long one is a wrap of 32 bits. */
	sysroot_put(here.dir, "/proc/interrupts",
		    ARM_HEAD " 11: 0 0 0 0 0 0 0 3 GICv3\nIPI0: 1 2 3 4 5 6 7 4294967290 x\n");
	sample();
	assert_int_equal(of_cpu("interrupts.total", 7), 0);
	sysroot_put(here.dir, "/proc/interrupts", ARM_HEAD " 11: 0 0 0 0 0 0 0 3 GICv3\nIPI0: 1 2 3 4 5 6 7 4 x\n");
	sample();
	assert_int_equal(of_cpu("interrupts.total", 7), 10);
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

/* /proc/softirqs has a column for each CPU that may ever be there; /proc/interrupts, for those that are online, among
 * them what was added since the start. */
static void columns_of_cpus_that_may_come(void **state)
{
	static const char *const sources[] = { "stat", "softirqs", "interrupts" };

	sysroot_make(here.dir, NULL);
	sysroot_put(here.dir, "/sys/devices/system/cpu/present", "0-1,4\n");
	sysroot_put(here.dir, "/sys/devices/system/cpu/online", "0-1,4\n");
	sysroot_put(here.dir, "/sys/devices/system/cpu/possible", "0-7\n");
	sysroot_put(here.dir, "/proc/softirqs", ARM_HEAD "HI: 1 2 0 0 5 0 0 6\n");
	sysroot_put(here.dir, "/proc/interrupts", " CPU0 CPU1 CPU4\nIPI0: 1 2 3 x\n");
	sysroot_put(here.dir, "/proc/stat", "cpu 3\ncpu0 1\ncpu1 2\ncpu4 5\n");
	start_with(NULL, "stat,softirqs,interrupts", "default", NULL);
	assert_null(refused("softirqs"));
	sample();
	assert_int_equal(of_cpu("softirqs.hi", 1), 2);
	assert_int_equal(of_cpu("softirqs.hi", 4), 5);
	assert_int_equal(of_cpu("interrupts.ipi0", 4), 3);
	sysroot_put(here.dir, "/proc/interrupts", " CPU0 CPU1 CPU2 CPU4 CPU7\nIPI0: 1 2 9 4 9 x\n");
	sample();
	assert_int_equal(of_cpu("interrupts.ipi0", 1), 2);
	assert_int_equal(of_cpu("interrupts.ipi0", 4), 4);
	assert_int_equal(of_cpu("interrupts.total", 4), 4);
	assert_int_equal(of_cpu("softirqs.hi", 7), NO_COLUMN);
	sysroot_put(here.dir, "/proc/stat", "cpu 3\ncpu0 1\ncpu1 2\ncpu2 3\ncpu4 5\ncpu7 8\n");
	for (size_t i = 0; i < sizeof(sources) / sizeof(*sources); i++)
		update(sources[i], 7, true);
	sample();
	assert_int_equal(of_cpu("stat.user", 7), 8);
	assert_int_equal(of_cpu("stat.user", 2), NO_COLUMN);
	assert_int_equal(of_cpu("softirqs.hi", 7), 6);
	assert_int_equal(of_cpu("interrupts.ipi0", 7), 9);
	assert_int_equal(of_cpu("interrupts.ipi0", 4), 4);
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

/* Numbers have the names of the line before; other protocols have lines of the same kind. */
static void tcp_goes_by_names(void **state)
{
#define IP_LINES "Ip: Forwarding InSegs\nIp: 1 77\n"
	const struct {
		const char *text;
		uint64_t sent, again, established;
	} cases[] = {
		{ IP_LINES "Tcp: CurrEstab InSegs OutSegs RetransSegs\nTcp: 5 10 20 3\nUdp: InSegs\nUdp: 9\n", 20, 3,
		  5 },
		/* As another kernel orders them, with names that begin alike. */
		{ IP_LINES "Tcp: RetransSegsX RetransSegs CurrEst OutSegs\nTcp: 8 4 9 21\n", 21, 4,
		  STATUS(PM_REASON_FORMAT) },
		/* Fewer numbers than names. */
		{ IP_LINES "Tcp: CurrEstab OutSegs RetransSegs\nTcp: 6 22\n", 22, STATUS(PM_REASON_FORMAT), 6 },
		/* What is no number is no 0. */
		{ IP_LINES "Tcp: CurrEstab OutSegs RetransSegs\nTcp: - 24 5x\n", 24, STATUS(PM_REASON_FORMAT),
		  STATUS(PM_REASON_FORMAT) },
		/* Numbers without end. */
		{ IP_LINES "Tcp: CurrEstab OutSegs RetransSegs\nTcp: 6 23 5", 23, 5, 6 },
		{ IP_LINES "Tcp: CurrEstab OutSegs RetransSegs\n", STATUS(pm_reason_errno(ENODATA)),
		  STATUS(pm_reason_errno(ENODATA)), STATUS(pm_reason_errno(ENODATA)) },
	};

	(void)state;
	sysroot_make(here.dir, NULL);
	sysroot_put(here.dir, "/sys/devices/system/cpu/online", "0\n");
	sysroot_put(here.dir, "/proc/net/snmp", "%s", cases[0].text);
	start_with(NULL, "tcp", "full", NULL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		sysroot_put(here.dir, "/proc/net/snmp", "%s", cases[i].text);
		sample();
		assert_int_equal(of_system("tcp.out_segments"), cases[i].sent);
		assert_int_equal(of_system("tcp.retransmitted"), cases[i].again);
		assert_int_equal(of_system("tcp.established"), cases[i].established);
	}
}

/* What appears while recording gets its place when the control thread looks, and what goes is gone. */
static void interfaces_come_and_go(void **state)
{
#define NET_HEAD "Inter-|   Receive\n face |bytes    packets\n"
	sysroot_make(here.dir, NULL);
	sysroot_put(here.dir, "/sys/devices/system/cpu/online", "0\n");
	sysroot_put(here.dir, "/proc/net/dev", NET_HEAD "  eth0: 11 12 0 0 0 0 0 0 21 22 0 0 0 0 0 0\n");
	start_with(NULL, "netdev", "full", NULL);
	sample();
	assert_int_equal(of_device("netdev.rx_bytes", "eth0"), 11);
	assert_int_equal(of_device("netdev.tx_packets", "eth0"), 22);
	sysroot_put(here.dir, "/proc/net/dev",
		    NET_HEAD
		    "  eth0: 31 12 0 0 0 0 0 0 21 22 0 0 0 0 0 0\n  eth1: 41 12 0 0 0 0 0 0 51 22 0 0 0 0 0 0\n");
	sample();
	assert_int_equal(of_device("netdev.rx_bytes", "eth0"), 31);
	assert_int_equal(of_device("netdev.rx_bytes", "eth1"), NO_COLUMN);
	update("netdev", 0, true);
	sample();
	assert_int_equal(of_device("netdev.rx_bytes", "eth1"), NO_COLUMN);
	update("netdev", PM_NONE, true);
	sample();
	assert_int_equal(of_device("netdev.rx_bytes", "eth1"), 41);
	assert_int_equal(of_device("netdev.tx_bytes", "eth1"), 51);
	sysroot_put(here.dir, "/proc/net/dev", NET_HEAD "  eth1: 42 12 0 0 0 0 0 0 51 22 0 0 0 0 0 0\n");
	sample();
	assert_int_equal(of_device("netdev.rx_bytes", "eth0"), STATUS(PM_REASON_GONE));
	assert_int_equal(of_device("netdev.rx_bytes", "eth1"), 42);
}

/* So many at once that their text outgrows its buffer. */
static void many_interfaces_come_at_once(void **state)
{
	enum { MANY = 200 };
	SCOPED(buf_release) struct buf text = BUF_INIT;

	sysroot_make(here.dir, NULL);
	sysroot_put(here.dir, "/sys/devices/system/cpu/online", "0\n");
	sysroot_put(here.dir, "/proc/net/dev", NET_HEAD "  eth0: 11 12 0 0 0 0 0 0 21 22 0 0 0 0 0 0\n");
	start_with(NULL, "netdev", "full", NULL);
	buf_addstr(&text, NET_HEAD);
	for (int i = 0; i < MANY; i++)
		buf_printf(&text, "  eth%d: %d 12 0 0 0 0 0 0 51 22 0 0 0 0 0 0\n", i, 41 + i);
	sysroot_put(here.dir, "/proc/net/dev", "%s", buf_str(&text));
	sample();
	assert_int_equal(of_device("netdev.rx_bytes", "eth0"), STATUS(pm_reason_errno(EFBIG)));
	assert_true(atomic_load(&named("netdev")->stale));
	update("netdev", PM_NONE, true);
	sample();
	assert_int_equal(of_device("netdev.rx_bytes", "eth0"), 41);
	assert_int_equal(of_device("netdev.rx_bytes", "eth199"), 240);
}

/* A partition's traffic is part of its disk's. */
static void disks_are_those_of_the_kernel(void **state)
{
	sysroot_make(here.dir, NULL);
	sysroot_put(here.dir, "/sys/devices/system/cpu/online", "0\n");
	sysroot_put(here.dir, "/sys/block/sda/dev", "8:0\n");
	sysroot_put(here.dir, "/sys/block/c0!d0/dev", "9:0\n");
	sysroot_put(here.dir, "/proc/diskstats",
		    "   8       0 sda 11 12 13 14 21 22 23 24 0 5 6\n"
		    "   8       1 sda1 1 2 3 4 5 6 7 8 0 5 6\n"
		    "   9       0 c0/d0 31 0 0 0 41 0 0 0 0 0 0\n");
	start_with(NULL, "diskstats", "full", NULL);
	sample();
	assert_int_equal(of_device("diskstats.reads", "sda"), 11);
	assert_int_equal(of_device("diskstats.writes", "sda"), 21);
	assert_int_equal(of_device("diskstats.writes", "c0/d0"), 41);
	for (uint32_t i = 0; i < here.model.n_instances; i++)
		assert_string_not_equal(pm_map_text(&here.model.instance[i].attrs, PM_INSTANCE_NAME, ""), "sda1");
}

/* ---- all together ---- */

static void every_source_costs_itself_only(void **state)
{
	struct error e = { 0 };

	sysroot_make(here.dir, NULL);
	sysroot_put(here.dir, "/sys/devices/system/cpu/online", "0-1\n");
	here.options = (struct record_options){ .privacy = "default" };
	root_init(&here.root, here.dir);
	pm_model_init(&here.model);
	assert_int_equal(plan_init(&here.plan, &here.options, &here.root, &here.model, &e), 0);
	assert_int_equal(machine_describe(&here.plan, &e), 0);
	assert_int_equal(sources_select(&here.source, &here.n_sources, "all,-perf", &e), 0);
	assert_int_equal(plan_sources(&here.plan, here.source, here.n_sources, &e), 0);
	assert_null(here.plan.units);
	for (size_t i = 0; i < here.n_sources; i++)
		/* Nothing was asked of --add. */
		if (here.source[i].wanted && strcmp(here.source[i].ops->name, "add") &&
		    !refused(here.source[i].ops->name))
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

static void softirqs_read_columns(void **state)
{
	start("hybrid", "softirqs");
	sample();
	assert_int_equal(of_cpu("softirqs.net_tx", 6), 56);
	assert_string_equal(pm_map_text(&counter("softirqs.net_tx")->attrs, PM_COUNTER_FAMILY, ""), "softirqs.vec");
	assert_string_equal(pm_map_text(&counter("softirqs.net_tx")->attrs, PM_COUNTER_MEMBER, ""), "NET_TX");
	/* A line and a CPU that were not there are nobody's. */
	sysroot_put(here.dir, "/proc/softirqs", "  CPU0  CPU6 CPU70\n  HI: 1 2 7\n NEW: 8 8 7\n NET_TX: 3 4 7\n");
	sample();
	assert_int_equal(of_cpu("softirqs.net_tx", 0), 3);
	assert_int_equal(of_cpu("softirqs.net_tx", 6), 4);
	assert_int_equal(of_cpu("softirqs.net_tx", 5), STATUS(PM_REASON_OFFLINE));
}

UNIT_TESTS(cmocka_unit_test_teardown(stat_follows_hotplug, teardown),
	   cmocka_unit_test_teardown(cpus_of_the_list_only, teardown),
	   cmocka_unit_test_teardown(many_cpus_come_online, teardown),
	   cmocka_unit_test_teardown(schedstat_reads_versions, teardown),
	   cmocka_unit_test_teardown(interrupts_read_cells, teardown),
	   cmocka_unit_test_teardown(interrupts_add_what_fires, teardown),
	   cmocka_unit_test_teardown(interrupts_totals_start_again_with_a_cell, teardown),
	   cmocka_unit_test_teardown(interrupts_follow_hotplug, teardown),
	   cmocka_unit_test_teardown(columns_of_cpus_that_may_come, teardown),
	   cmocka_unit_test_teardown(a_dead_file_kills_its_unit, teardown),
	   cmocka_unit_test_teardown(tcp_goes_by_names, teardown),
	   cmocka_unit_test_teardown(interfaces_come_and_go, teardown),
	   cmocka_unit_test_teardown(many_interfaces_come_at_once, teardown),
	   cmocka_unit_test_teardown(disks_are_those_of_the_kernel, teardown),
	   cmocka_unit_test_teardown(every_source_costs_itself_only, teardown),
	   cmocka_unit_test_teardown(counters_belong_to_their_source, teardown),
	   cmocka_unit_test_teardown(softirqs_read_columns, teardown))
