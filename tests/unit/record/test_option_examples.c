/*
 * Every example command line of the three reference documents (the manual pages of turbostat and perf-stat, the
 * kernel's page on Tegra410 PMUs), given to pmrec in place of the tool's name: it is understood, or the error says
 * where the option belongs. And the table of letters beside the options that pmrec has.
 */
#include "record/cmd_record.c"
#include "tests/unit/lib/test.h"

/* It is that of the program. */
void command_suggest(char *const *argv, struct error *e)
{
}

#define WORDS 24

struct example {
	const char *word[WORDS]; /* what follows the tool's name */
	const char *error;       /* part of the message; NULL: understood */
	const char *command;     /* first word of the command; NULL: none */
	uint64_t interval_ns;    /* 0: not looked at */
};

static const struct example turbostat[] = {
	{ { "--show", "sysfs", "--quiet", "sleep", "10" }, .error = "--show belongs to pmrep show" },
	{ { "-o", "ts.out", "sleep", "10" }, .command = "sleep" },
	{ { "--quiet", "--hide", "sysfs,IRQ,SMI,CoreTmp,PkgTmp,GFX%rc6,GFXMHz,PkgWatt,CorWatt,GFXWatt" },
	  .error = "--hide belongs to pmrep show" },
	{ { "--quiet", "--cpu", "0-3", "--show", "CPU", "--add", "msr0x199,u32,raw,PRF_CTRL", "sleep", ".1" },
	  .error = "--show belongs to pmrep show" },
	{ { "--interval", "5" }, .interval_ns = 5000000000 },
	{ { "-interval", "5" }, .interval_ns = 5000000000 },
	{ { "-i", "0.5" }, .interval_ns = 500000000 },
	{ { "--num_iterations", "3" } },
	{ { "-num_iter", "3" } },
	{ { "--out", "ts.out" } },
	{ { "--quiet" } },
	{ { "--Dump" }, .error = "belongs to pmrep show" },
	{ { "--Summary" }, .error = "belongs to pmrep show" },
	{ { "--Joules" }, .error = "belongs to pmrep show" },
	{ { "--enable", "Time_Of_Day_Seconds" }, .error = "belongs to pmrep show" },
	{ { "--debug" }, .error = "belongs to pmrep show" },
	{ { "--list" } },
};

static const struct example perf_stat[] = {
	{ { "-A", "-a", "-e", "cpu/event,percore=1/,otherevent" }, .error = "-A belongs to pmrep stat" },
	{ { "-e", "cycles,instructions", "--bpf-prog", "17247", "--timeout", "1000" } },
	{ { "-d" } },
	{ { "-d", "-d" } },
	{ { "-d", "-d", "-d" } },
	{ { "-ddd", "make" }, .command = "make" },
	{ { "-C", "0,1" } },
	{ { "-C", "0-2" } },
	{ { "--null", "-r", "5", "--table", "perf", "bench", "sched", "pipe" },
	  .error = "--table belongs to pmrep stat" },
	{ { "--null", "-r", "5", "perf", "bench", "sched", "pipe" }, .command = "perf" },
	{ { "-e", "cycles", "-G", "cgroup_name", "-a", "-e", "cycles" } },
	{ { "-G", "foo,,bar" }, .error = "no event before it" },
	{ { "-e", "e1", "-e", "e2", "-G", "foo,foo" } },
	{ { "-e", "e1", "-e", "e2", "-G", "foo" } },
	{ { "--log-fd", "3", "--", "true" }, .error = "--log-fd belongs to pmrep stat" },
	{ { "--log-fd", "3", "--append", "--", "true" }, .error = "--log-fd belongs to pmrep stat" },
	{ { "-D", "-1", "-e", "cpu-cycles", "-a", "-I", "1000", "--control", "fd:10,11", "--", "sleep", "30" },
	  .command = "sleep",
	  .interval_ns = 1000000000 },
	{ { "--repeat", "10", "--null", "--sync", "--pre", "make -s O=defconfig-build/clean", "--", "make", "-s",
	    "-j64", "O=defconfig-build/", "bzImage" },
	  .command = "make" },
	{ { "--repeat", "10", "--null", "--sync", "--", "make", "-s", "-j64", "O=defconfig-build/", "bzImage" },
	  .command = "make" },
	{ { "-I", "1000", "-e", "cycles", "-a", "sleep", "5" }, .command = "sleep", .interval_ns = 1000000000 },
	{ { "-I", "1000", "--interval-count", "2", "-e", "cycles", "-a" }, .interval_ns = 1000000000 },
	{ { "--time", "2000", "-e", "cycles", "-a" } },
	{ { "--timeout", "2000", "-e", "cycles", "-a" } },
	{ { "--per-socket", "-a" }, .error = "--per-socket belongs to pmrep show and pmrep stat" },
	{ { "-x", ";" }, .error = "-x belongs to pmrep stat" },
	{ { "-j" }, .error = "-j belongs to pmrep stat" },
	{ { "--metric-only", "-a" }, .error = "--metric-only belongs to pmrep stat" },
	{ { "--no-metric-only", "-a" }, .error = "belongs to pmrep stat" },
	{ { "report", "-i", "file" }, .command = "report" },
	{ { "-e", "cycles", "-a", "record", "-o", "file", "--", "true" }, .command = "record" },
	{ { "--", "make" }, .command = "make" },
	{ { "-e", "cpu_core/cycles/" } },
	{ { "-e", "cycles", "-a" } },
	{ { "-e", "cycles", "--", "taskset", "-c", "16", "./triad_loop" }, .command = "taskset" },
	{ { "-e", "cpu_core/r1a/" } },
	{ { "-e", "cpu_atom/L1-icache-loads/" } },
	{ { "-e", "cpu_core/cycles/,cpu_atom/instructions/" } },
	{ { "-e", "{cpu_core/cycles/,cpu_core/instructions/}" } },
	{ { "-e", "{cpu_core/cycles/,cpu_atom/instructions/}" } },
	{ { "--event=cycles", "--all-cpus", "--no-inherit", "true" }, .command = "true" },
};

static const struct example tegra410[] = {
	{ { "-a", "-e", "nvidia_ucf_pmu_0/event=0x0/" } },
	{ { "-a", "-e", "nvidia_ucf_pmu_0/event=0x0,src_loc_cpu=0x1,dst_loc_cmem=0x1/" } },
	{ { "-a", "-e", "nvidia_ucf_pmu_1/event=0x0,src_loc_noncpu=0x1,dst_rem=0x1/" } },
	{ { "-a", "-e", "nvidia_pcie_pmu_0_rc_0/event=0x0,src_rp_mask=0x1/" } },
	{ { "-a", "-e", "nvidia_pcie_pmu_0_rc_1/event=0x1,src_rp_mask=0x3,dst_loc_cmem=0x1/" } },
	{ { "-a", "-e", "nvidia_pcie_pmu_1_rc_2/event=0x2,src_rp_mask=0x1/" } },
	{ { "-a", "-e", "nvidia_pcie_pmu_1_rc_3/event=0x3,src_rp_mask=0x3,dst_loc_cmem=0x1/" } },
	{ { "-a", "-e", "nvidia_pcie_pmu_0_rc_4/event=0x4,src_bdf=0x0180,src_bdf_en=0x1/" } },
	{ { "-a", "-e", "nvidia_pcie_tgt_pmu_0_rc_0/event=0x0,dst_rp_mask=0x3/" } },
	{ { "-a", "-e",
	    "nvidia_pcie_tgt_pmu_0_rc_1/event=0x1,dst_addr_base=0x10000,dst_addr_mask=0xFFF00,dst_addr_en=0x1/" } },
	{ { "-a", "-e",
	    "{nvidia_cmem_latency_pmu_0/rd_req/,nvidia_cmem_latency_pmu_0/rd_cum_outs/,"
	    "nvidia_cmem_latency_pmu_0/cycles/}" } },
	{ { "-a", "-e", "nvidia_nvlink_c2c_pmu_0/in_rd_req/" } },
	{ { "-a", "-e", "nvidia_nvlink_c2c_pmu_0/in_rd_cum_outs,gpu_mask=0x1/" } },
	{ { "-a", "-e", "nvidia_nvlink_c2c_pmu_0/in_rd_cum_outs,gpu_mask=0x2/" } },
	{ { "-a", "-e", "nvidia_nvlink_c2c_pmu_0/out_rd_req/" } },
	{ { "-a", "-e", "nvidia_nvlink_c2c_pmu_0/out_rd_cum_outs,gpu_mask=0x1/" } },
	{ { "-a", "-e", "nvidia_nvlink_c2c_pmu_0/out_rd_cum_outs,gpu_mask=0x2/" } },
	{ { "-a", "-e", "nvidia_nvclink_pmu_0/in_rd_req/" } },
	{ { "-a", "-e", "nvidia_nvclink_pmu_0/out_rd_req/" } },
	{ { "-a", "-e", "{nvidia_nvdlink_pmu_0/in_rd_req/,nvidia_nvdlink_pmu_0/in_rd_cum_outs/}" } },
};

static void run_example(const struct example *x, const char *document, size_t number)
{
	char *argv[WORDS + 2] = { (char *)"pmrec" };
	struct record_cmdline c;
	struct error e = { 0 };
	int argc = 1, r;

	for (; x->word[argc - 1]; argc++)
		argv[argc] = (char *)x->word[argc - 1];
	r = record_cmdline_parse(&c, argc, argv, &e);
	if (x->error) {
		if (r != -EINVAL || !strstr(e.text, x->error))
			fail_msg("%s, line %zu: %d '%s' instead of '%s'", document, number, r, e.text, x->error);
	} else if (r) {
		fail_msg("%s, line %zu: %d '%s'", document, number, r, e.text);
	} else {
		assert_int_equal(!!c.options.run.command, !!x->command);
		if (x->command)
			assert_string_equal(c.options.run.command[0], x->command);
		if (x->interval_ns)
			assert_int_equal(c.options.sample.interval_ns, x->interval_ns);
		if (!strcmp(document, "tegra410")) {
			assert_true(c.options.perf.system_wide);
			assert_string_equal(c.options.perf.events[0], x->word[2]);
		}
	}
	record_cmdline_release(&c);
}

#define RUN_ALL(table) \
	do { \
		for (size_t i = 0; i < sizeof(table) / sizeof(*(table)); i++) \
			run_example(&(table)[i], #table, i); \
	} while (0)

static void examples(void **state)
{
	RUN_ALL(turbostat);
	RUN_ALL(perf_stat);
	RUN_ALL(tegra410);
}

UNIT_TESTS(cmocka_unit_test(examples))
