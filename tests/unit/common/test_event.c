/*
 * The event language. Expected attr words are written from the kernel's ABI (perf_event.h) and from the
 * format texts of the PMUs below, not taken from the program.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <fnmatch.h>

#include "common/event/event.h"

/* ---- a machine ---- */

static struct event_format cpu_formats[] = {
	{ "event", "config:0-7" }, { "umask", "config:8-15" },  { "edge", "config:18" },
	{ "inv", "config:23" },    { "cmask", "config:24-31" }, { "ldlat", "config1:0-15" },
};
static struct event_alias cpu_aliases[] = {
	{ .name = "cpu-cycles", .text = "event=0x3c" },
	{ .name = "slots", .text = "event=0x00,umask=0x4" },
	{ .name = "mem-loads", .text = "event=0xcd,umask=0x1,ldlat=3" },
	{ .name = "topdown-total-slots.scale", .text = "event=1" },
};
static struct event_format imc_formats[] = {
	{ "event", "config:0-7" },  { "wide", "config:0-7,32-35" }, { "three", "config3:4-7" },
	{ "four", "config4:0-63" }, { "broken", "config:7-3" },
};
static struct event_alias imc_aliases[] = {
	{ .name = "cas_count_read",
	  .text = "event=0x04,wide=0x3",
	  .scale = "6.103515625e-5",
	  .unit = "MiB",
	  .per_pkg = true },
	{ .name = "param", .text = "event=0x9,three=?" },
	{ .name = "snap", .text = "event=0x2", .snapshot = true },
};
static struct event_format msr_formats[] = { { "event", "config:0-63" } };
static struct event_alias msr_aliases[] = { { .name = "tsc", .text = "event=0x00" },
					    { .name = "smi", .text = "event=0x04" } };

#define COUNT(a)   (sizeof(a) / sizeof((a)[0]))
#define FORMATS(f) .format = f, .n_formats = COUNT(f)
#define ALIASES(a) .alias = a, .n_aliases = COUNT(a)

static struct event_pmu pmus[] = {
	{ .name = "cpu", .type = 4, .core = true, FORMATS(cpu_formats), ALIASES(cpu_aliases) },
	{ .name = "msr", .type = 9, FORMATS(msr_formats), ALIASES(msr_aliases) },
	{ .name = "software", .type = 1 },
	{ .name = "uncore_imc_0",
	  .type = 20,
	  .uncore = true,
	  .cpus = "0,8",
	  FORMATS(imc_formats),
	  ALIASES(imc_aliases) },
	{ .name = "uncore_imc_1",
	  .type = 21,
	  .uncore = true,
	  .cpus = "0,8",
	  FORMATS(imc_formats),
	  ALIASES(imc_aliases) },
	{ .name = "uncore_imc_free_running", .type = 22, .uncore = true, .cpus = "0" },
};
static struct event_pmu hybrid_pmus[] = {
	{ .name = "cpu_core", .type = 4, .core = true, .cpus = "0-3", FORMATS(cpu_formats), ALIASES(cpu_aliases) },
	{ .name = "cpu_atom", .type = 10, .core = true, .cpus = "4-7", FORMATS(cpu_formats) },
};

static const struct {
	const char *system, *name;
	uint64_t id;
} tracepoints[] = {
	{ "sched", "sched_switch", 300 },
	{ "sched", "sched_wakeup", 301 },
	{ "sched", "sched_wakeup_new", 302 },
	{ "syscalls", "sys_enter_read", 700 },
	{ "one", "again", 801 },
	{ "two", "again", 802 },
	{ "three", "again", 803 },
	{ "four", "again", 804 },
};

static int list_tracepoints(void *data, const char *system, const char *name, event_tracepoint_fn found, void *arg)
{
	int n = 0;

	if (data)
		return -*(int *)data;
	for (size_t i = 0; i < COUNT(tracepoints); i++) {
		int r;

		if (fnmatch(system, tracepoints[i].system, 0) || fnmatch(name, tracepoints[i].name, 0))
			continue;
		r = found(arg, tracepoints[i].system, tracepoints[i].name, tracepoints[i].id);
		if (r)
			return r;
		n++;
	}
	return n;
}

static const struct event_view machine = { .pmu = pmus, .n_pmus = COUNT(pmus), .tracepoints = list_tracepoints };
static const struct event_view hybrid = { .pmu = hybrid_pmus, .n_pmus = COUNT(hybrid_pmus) };
static const struct event_view nothing = { 0 };

static struct event_set resolve_on(const struct event_view *view, const char *text)
{
	struct event_list *list = NULL;
	struct event_set set = { 0 };
	struct buf notes = BUF_INIT;
	struct error e = { 0 };

	if (event_parse(&list, text, &e) || event_resolve(list, view, &set, &notes, &e))
		fail_msg("%s: %s", text, e.text);
	event_list_free(list);
	buf_release(&notes);
	return set;
}

/* The text is refused; returns what was said. */
static const char *refusal_on(const struct event_view *view, const char *text, struct error *e)
{
	struct event_list *list = NULL;
	struct event_set set = { 0 };
	struct buf notes = BUF_INIT;
	int r;

	*e = (struct error){ 0 };
	r = event_parse(&list, text, e);
	if (!r)
		r = event_resolve(list, view, &set, &notes, e);
	event_list_free(list);
	buf_release(&notes);
	assert_int_equal(set.n, 0);
	event_set_release(&set);
	if (!r)
		fail_msg("accepted: %s", text);
	assert_string_not_equal(e->text, "");
	return e->text;
}

static void check_one(const char *text, const char *name, uint32_t type, uint64_t config)
{
	struct event_set set = resolve_on(&machine, text);

	assert_int_equal(set.n, 1);
	assert_string_equal(set.event[0].name, name);
	assert_int_equal(set.event[0].type, type);
	assert_int_equal(set.event[0].config[0], config);
	event_set_release(&set);
}

/* ---- tests ---- */

static void test_symbols(void **state)
{
	check_one("cycles", "cycles", 0, 0);
	check_one("cpu-cycles", "cycles", 0, 0);
	check_one("Instructions:u", "instructions:u", 0, 1);
	check_one("branch-instructions", "branches", 0, 4);
	check_one("idle-cycles-backend", "stalled-cycles-backend", 0, 8);
	check_one("ref-cycles", "ref-cycles", 0, 9);
	check_one("cs", "context-switches", 1, 3);
	check_one("faults", "page-faults", 1, 2);
	check_one("migrations", "cpu-migrations", 1, 4);
	check_one("cgroup-switches", "cgroup-switches", 1, 11);
	check_one("software/cs/", "software/cs/", 1, 3);
}

static void test_clock_has_unit(void **state)
{
	struct event_set set = resolve_on(&nothing, "task-clock,cpu-clock");

	assert_int_equal(set.n, 2);
	for (int i = 0; i < 2; i++) {
		assert_string_equal(set.event[i].unit, "msec");
		assert_string_equal(set.event[i].scale, "1e-6");
	}
	event_set_release(&set);
}

static void test_cache(void **state)
{
	/* cache | operation << 8 | result << 16 */
	check_one("L1-dcache-loads", "L1-dcache-loads", 3, 0);
	check_one("L1-dcache-load-misses", "L1-dcache-load-misses", 3, 0x10000);
	check_one("l1d-stores-miss", "L1-dcache-store-misses", 3, 0x10100);
	check_one("LLC", "LLC-loads", 3, 2);
	check_one("L2-speculative-read-access", "LLC-prefetches", 3, 0x202);
	check_one("Data-TLB-write", "dTLB-stores", 3, 0x103);
	check_one("itlb-read-misses", "iTLB-load-misses", 3, 0x10004);
	check_one("btb-miss-load", "branch-load-misses", 3, 0x10005);
	check_one("node-prefetch-misses", "node-prefetch-misses", 3, 0x10206);
	check_one("L1-instruction-prefetches", "L1-icache-prefetches", 3, 0x201);
	struct error e;

	assert_non_null(strstr(refusal_on(&machine, "iTLB-stores", &e), "no such operation"));
	assert_non_null(strstr(refusal_on(&machine, "L1-dcache-load-loads", &e), "there is no event"));
}

static void test_raw_and_numeric(void **state)
{
	check_one("r1a8", "r1a8", 4, 0x1a8);
	check_one("r0xffffffffffffffff:k", "rffffffffffffffff:k", 4, UINT64_MAX);
	check_one("cpu/r3c/", "cpu/r3c/", 4, 0x3c);
	check_one("9:0x4", "9:0x4", 9, 4);
	check_one("1:3:u", "1:0x3:u", 1, 3);
	/* Hardware, caches and raw events are of the cores; software, tracepoints and others are not. */
	for (uint32_t type = 0; type < 10; type++) {
		char text[16];
		struct event_set set;

		snprintf(text, sizeof(text), "%u:0x1", type);
		set = resolve_on(&machine, text);
		assert_int_equal(set.event[0].core, type == 0 || type == 3 || type == 4);
		event_set_release(&set);
	}
}

static void test_terms(void **state)
{
	check_one("cpu/event=0xc4,umask=0x20,cmask=1,edge,inv=0/",
		  "cpu/event=0xc4,umask=0x20,cmask=0x1,edge,inv=0x0/", 4, 0xc4 | 0x20 << 8 | 1 << 24 | 1 << 18);
	check_one("msr/tsc/", "msr/tsc/", 9, 0);
	check_one("msr/smi/u", "msr/smi/u", 9, 4);
	check_one("smi", "msr/smi/", 9, 4);
	check_one("cpu/cpu-cycles/", "cpu/cpu-cycles/", 4, 0x3c);
	check_one("cpu/cycles/", "cpu/cycles/", 0, 0);
	check_one("cpu/slots,umask=0x7/", "cpu/slots,umask=0x7/", 4, 0x700);
	check_one("cpu/umask=0x7,slots/", "cpu/umask=0x7,slots/", 4, 0x700);
	check_one("cpu/config=0x12345/ppp", "cpu/config=0x12345/ppp", 4, 0x12345);
	/* 0x3f of "0-7,32-35": all below; 0xfff: four bits above. */
	check_one("uncore_imc_0/wide=0x3f/", "uncore_imc_0/wide=0x3f/", 20, 0x3f);
	check_one("uncore_imc_0/wide=0xfff/", "uncore_imc_0/wide=0xfff/", 20, 0xf000000ffull);
	check_one(" cpu/ event = 0x3c , umask = 1 /u ", "cpu/event=0x3c,umask=0x1/u", 4, 0x13c);
}

static void test_config_words(void **state)
{
	struct event_set set = resolve_on(
		&machine,
		"uncore_imc_1/event=1,three=0xa,four=0xffffffffffffffff,config2=7/,cpu/mem-loads,ldlat=50/");

	assert_int_equal(set.event[0].config[0], 1);
	assert_int_equal(set.event[0].config[2], 7);
	assert_int_equal(set.event[0].config[3], 0xa0);
	assert_true(set.event[0].config[4] == UINT64_MAX);
	assert_int_equal(set.event[1].config[0], 0x1cd);
	assert_int_equal(set.event[1].config[1], 50);
	event_set_release(&set);
}

static void test_alias_facts(void **state)
{
	struct event_set set = resolve_on(&machine, "uncore_imc_0/cas_count_read,name='a, b/c'/,uncore_imc_0/snap/");

	assert_string_equal(set.event[0].scale, "6.103515625e-5");
	assert_string_equal(set.event[0].unit, "MiB");
	assert_true(set.event[0].per_pkg);
	assert_false(set.event[0].snapshot);
	assert_true(set.event[0].uncore);
	assert_string_equal(set.event[0].display, "a, b/c");
	assert_string_equal(set.event[0].name, "uncore_imc_0/cas_count_read/");
	assert_string_equal(set.event[0].text, "uncore_imc_0/cas_count_read,name='a, b/c'/");
	assert_true(set.event[1].snapshot);
	event_set_release(&set);
}

static void test_wildcards(void **state)
{
	static const char *const same[] = { "uncore_imc/event=4/", "imc/event=4/", "uncore_im?_[01]/event=4/",
					    "imc_*[0-9]/event=4/" };

	for (size_t i = 0; i < COUNT(same); i++) {
		struct event_set set = resolve_on(&machine, same[i]);

		assert_int_equal(set.n, 2);
		assert_string_equal(set.event[0].name, "uncore_imc_0/event=0x4/");
		assert_string_equal(set.event[1].name, "uncore_imc_1/event=0x4/");
		assert_int_equal(set.event[1].type, 21);
		assert_int_not_equal(set.event[0].wildcard, 0);
		assert_int_equal(set.event[0].wildcard, set.event[1].wildcard);
		event_set_release(&set);
	}
	struct event_set set = resolve_on(&machine, "cas_count_read");

	assert_int_equal(set.n, 2);
	assert_string_equal(set.event[1].name, "uncore_imc_1/cas_count_read/");
	assert_string_equal(set.event[1].unit, "MiB");
	event_set_release(&set);
	/* One PMU alone is no sum. */
	set = resolve_on(&machine, "tsc");
	assert_int_equal(set.n, 1);
	assert_int_equal(set.event[0].wildcard, 0);
	event_set_release(&set);
}

/* Units of cores and of the cache behind them name events alike. */
static void test_cores_first(void **state)
{
	struct event_pmu both[] = { pmus[0], pmus[0] };
	struct event_view view = { .pmu = both, .n_pmus = COUNT(both) };

	both[1].name = "arm_dsu_0";
	both[1].type = 50;
	both[1].core = false;
	both[1].uncore = true;
	for (int first = 0; first < 2; first++) {
		struct event_set set;

		view.cores_first = first;
		set = resolve_on(&view, "slots");
		assert_int_equal(set.n, first ? 1 : 2);
		assert_string_equal(set.event[0].pmu, both[0].name);
		event_set_release(&set);
	}
}

static void test_pmu_names(void **state)
{
	assert_true(event_pmu_matches("cpu", "cpu"));
	assert_false(event_pmu_matches("cpu", "cpu_core"));
	assert_false(event_pmu_matches("cpum", "cpum_cf"));
	assert_true(event_pmu_matches("uncore_imc", "uncore_imc_10"));
	assert_true(event_pmu_matches("imc", "uncore_imc_0"));
	assert_true(event_pmu_matches("uncore_imc", "imc3"));
	assert_false(event_pmu_matches("uncore_imc", "uncore_imc_free_running_0"));
	assert_true(event_pmu_matches("smmuv3_pmcg", "smmuv3_pmcg_3f062"));
	assert_true(event_pmu_matches("nvidia_ucf_pmu", "nvidia_ucf_pmu_1"));
	assert_true(event_pmu_matches("nvidia_*_0", "nvidia_ucf_pmu_0"));
	assert_false(event_pmu_matches("", "0"));
}

static void test_tracepoints(void **state)
{
	struct event_set set = resolve_on(&machine, "sched:sched_switch:u,sched:sched_wake*,s*:sys_enter_read");

	assert_int_equal(set.n, 4);
	assert_string_equal(set.event[0].name, "sched:sched_switch:u");
	assert_int_equal(set.event[0].type, 2);
	assert_int_equal(set.event[0].config[0], 300);
	assert_int_equal(set.event[0].wildcard, 0);
	assert_string_equal(set.event[2].name, "sched:sched_wakeup_new");
	assert_string_equal(set.event[2].display, "sched:sched_wakeup_new");
	assert_int_equal(set.event[2].parsed, 1);
	assert_int_equal(set.event[3].config[0], 700);
	event_set_release(&set);

	struct error e;
	int eacces = EACCES;
	struct event_view refused = machine;

	assert_non_null(strstr(refusal_on(&machine, "sched:sched_swich", &e), "did you mean \"sched_switch\""));
	/* Three at most. */
	assert_non_null(strstr(refusal_on(&machine, "nowhere:again", &e),
			       "did you mean \"one:again\", \"two:again\", \"three:again\"?"));
	refused.data = &eacces;
	set = resolve_on(&refused, "cs,sched:sched_switch");
	assert_int_equal(set.event[1].missing, EACCES);
	event_set_release(&set);
	/* Without tracefs a name may be right, but a glob stands for nothing. */
	set = resolve_on(&hybrid, "sched:sched_switch");
	assert_int_equal(set.event[0].missing, ENODEV);
	event_set_release(&set);
	assert_non_null(strstr(refusal_on(&hybrid, "sched:*", &e), "tracefs"));
}

static void test_breakpoint(void **state)
{
	struct event_set set = resolve_on(&machine, "mem:0x1000/8:w:u,mem:4096,mem:0x2000:x");

	assert_int_equal(set.n, 3);
	assert_int_equal(set.event[0].type, 5);
	assert_int_equal(set.event[0].bp_type, 2);
	assert_int_equal(set.event[0].config[1], 0x1000);
	assert_int_equal(set.event[0].config[2], 8);
	assert_string_equal(set.event[0].name, "mem:0x1000/8:w:u");
	assert_int_equal(set.event[1].bp_type, 3);
	assert_int_equal(set.event[1].config[2], 4);
	assert_int_equal(set.event[2].bp_type, 4);
	assert_int_equal(set.event[2].config[2], sizeof(long));
	event_set_release(&set);
}

static void test_groups(void **state)
{
	struct event_set set = resolve_on(&machine, "cs,front{cycles,instructions:k}:uW,{faults:u,msr/tsc/}:D,cs");

	assert_int_equal(set.n, 6);
	assert_int_equal(set.event[0].group, 0);
	assert_int_equal(set.event[1].group, set.event[2].group);
	assert_int_not_equal(set.event[1].group, set.event[3].group);
	assert_int_equal(set.event[3].group, set.event[4].group);
	assert_string_equal(set.event[1].group_name, "front");
	assert_null(set.event[3].group_name);
	assert_int_equal(set.event[1].mods, EVENT_MOD_USER | EVENT_MOD_WEAK);
	assert_int_equal(set.event[2].mods, EVENT_MOD_USER | EVENT_MOD_KERNEL | EVENT_MOD_WEAK);
	assert_string_equal(set.event[2].name, "instructions:uk");
	assert_int_equal(set.event[3].mods, EVENT_MOD_USER | EVENT_MOD_PINNED);
	assert_int_equal(set.event[4].mods, 0);
	assert_int_equal(set.event[5].parsed, 5);
	event_set_release(&set);
}

static void test_groups_of_uncore(void **state)
{
	struct event_set set = resolve_on(&machine, "{uncore_imc/event=1/,uncore_imc/event=2/}");

	assert_int_equal(set.n, 4); /* 1@0 1@1 2@0 2@1 */
	assert_int_equal(set.event[0].group, set.event[2].group);
	assert_int_equal(set.event[1].group, set.event[3].group);
	assert_int_not_equal(set.event[0].group, set.event[1].group);
	event_set_release(&set);
}

static void test_group_over_pmus_is_split(void **state)
{
	struct event_list *list;
	struct event_set set = { 0 };
	struct buf notes = BUF_INIT;
	struct error e;

	assert_int_equal(event_parse(&list, "{cycles,cs,uncore_imc_0/event=1/}", &e), 0);
	assert_int_equal(event_resolve(list, &machine, &set, &notes, &e), 0);
	assert_int_equal(set.event[0].group, set.event[1].group);
	assert_int_not_equal(set.event[0].group, set.event[2].group);
	assert_non_null(strstr(buf_str(&notes), "2 groups"));
	event_list_free(list);
	event_set_release(&set);
	buf_release(&notes);
}

static void test_hybrid(void **state)
{
	struct event_set set = resolve_on(&hybrid, "{cycles,L1-dcache-loads}:u,r3c,cpu_atom/cycles/");

	assert_int_equal(set.n, 7);
	assert_string_equal(set.event[0].name, "cpu_core/cycles/u");
	assert_string_equal(set.event[1].name, "cpu_atom/cycles/u");
	assert_int_equal(set.event[1].type, 0);
	assert_true(set.event[1].config[0] == 10ull << 32);
	assert_int_equal(set.event[3].type, 3);
	assert_true(set.event[2].config[0] == 4ull << 32);
	assert_int_equal(set.event[0].group, set.event[2].group);
	assert_int_equal(set.event[1].group, set.event[3].group);
	assert_int_not_equal(set.event[0].group, set.event[1].group);
	assert_int_equal(set.event[5].type, 10);
	assert_int_equal(set.event[5].config[0], 0x3c);
	assert_int_equal(set.event[6].type, 0);
	assert_true(set.event[6].config[0] == 10ull << 32);
	/* The expanded names mean the same when they are written. */
	struct event_set again = resolve_on(&hybrid, set.event[1].name);

	assert_true(again.event[0].config[0] == set.event[1].config[0]);
	event_set_release(&again);
	event_set_release(&set);
}

static void test_modifiers(void **state)
{
	struct event_set set = resolve_on(&machine, "cycles:ukhGHIppPSDeX");

	assert_int_equal(event_mods_precise(set.event[0].mods), 2);
	assert_string_equal(set.event[0].name, "cycles:ukhIGHppPSDe");
	assert_int_equal(event_set_mods(&set.event[0], EVENT_MOD_USER), 0);
	assert_string_equal(set.event[0].name, "cycles:u");
	assert_int_equal(event_set_mods(&set.event[0], 0), 0);
	assert_string_equal(set.event[0].name, "cycles");
	event_set_release(&set);
	set = resolve_on(&machine, "cpu/event=1/");
	assert_int_equal(event_set_mods(&set.event[0], EVENT_MOD_USER), 0);
	assert_string_equal(set.event[0].name, "cpu/event=0x1/u");
	assert_int_equal(event_set_mods(&set.event[0], EVENT_MOD_KERNEL), 0);
	assert_string_equal(set.event[0].name, "cpu/event=0x1/k");
	event_set_release(&set);
}

static void test_errors(void **state)
{
	static const struct {
		const char *text, *says;
	} wrong[] = {
		{ "", "column 1: an event is missing" },
		{ "cycles,", "column 8: an event is missing" },
		{ "cycles,,cs", "column 8: expected an event" },
		{ "cycles cs", "column 8: expected \",\"" },
		{ "cycles:uz", "column 9: not a modifier" },
		{ "cycles:uu", "column 9: not a modifier" },
		{ "cycles:pppp", "column 11: not a modifier" },
		{ "cycles:", "column 8: modifiers or a tracepoint name are missing after" },
		{ "{cs", "column 4: the closing \"}\" is missing" },
		{ "{cs,faults", "column 11: the closing \"}\" is missing" },
		{ "{}", "column 2: expected an event" },
		{ "{cs}}", "column 5: expected \",\" or the end" },
		{ "cpu/event=1", "the closing \"/\" is missing" },
		{ "cpu/event=/", "column 11: a value is missing" },
		{ "cpu/event=1,/", "column 13: a term is missing" },
		{ "cpu/=1/", "column 5: the name of a term is missing" },
		{ "cpu/name='abc/", "column 10: the quote is not closed" },
		{ "cpu/event=99999999999999999999/", "does not fit 64 bits" },
		{ "cs,cpu/event=1,umask=256/",
		  "column 16: umask=0x100 is too big for cpu (config:8-15), the maximum is 0xff" },
		{ "cpu/event=abc/", "column 5: the term \"event\" of cpu needs a number" },
		{ "cs,cpu/event=1,umsk=2/", "column 16: cpu has no term or event \"umsk\"; did you mean \"umask\"?" },
		{ "cpu/confih=1/", "has no term or event \"confih\"; did you mean \"config\"?" },
		{ "cs,cycels", "column 4: there is no event \"cycels\"; did you mean \"cycles\"?" },
		{ "uncore_ims/event=1/", "there is no PMU \"uncore_ims\"" },
		{ "L1-dcache-laod-misses", "did you mean \"L1-dcache-load-misses\"?" },
		{ "cpu/name='x'y/", "expected \",\" or \"/\" after the term" },
		{ "mrs/tsc/", "column 1: there is no PMU \"mrs\"; did you mean \"msr\"?" },
		{ "cs/umask=1/", "has no term or event \"umask\"" },
		{ "uncore_imc_0/param/", "needs the term \"three=...\"" },
		{ "uncore_imc_0/broken=1/", "not known" },
		{ "cpu/config/", "needs a number" },
		{ "cpu/name/", "needs a value" },
		{ "cpu/event=1,cpu=x/", "neither a CPU nor" },
		{ "cpu/@etr/", "configures a driver" },
		{ "{cs,faults:D}", "column 5: only the first event" },
		{ "4294967296:1", "does not fit 32 bits" },
		{ "1:x", "expected a number" },
		{ "mem:zzz", "column 5: expected an address" },
		{ "mem:0x10/9", "column 10: a breakpoint watches 1 to 8 bytes" },
		{ "mem:0x10/0", "1 to 8 bytes" },
		{ "cs,r12345678901234567", "column 4: a raw event has at most 16" },
		{ "uncore_imc_0/zzzzzzzzz/",
		  "has no term or event \"zzzzzzzzz\"; it has event, wide, three, four, broken, cas_count_read" },
		{ "msr/zzzzz/", "msr has no term or event \"zzzzz\"; it has " },
		{ "nowhere:sched_switch", "did you mean \"sched:sched_switch\"?" },
		{ "zzzzzzzz/a/", "there is no PMU \"zzzzzzzz\"; here are " },
		{ "mem:0x10:rx", "cannot watch execution" },
	};

	for (size_t i = 0; i < COUNT(wrong); i++) {
		struct error e;
		const char *text = refusal_on(&machine, wrong[i].text, &e);

		if (!strstr(text, wrong[i].says))
			fail_msg("'%s' gives '%s', not '%s'", wrong[i].text, text, wrong[i].says);
	}
}

/* A whole name, in any case. */
static void test_names_are_whole(void **state)
{
	struct event_alias alias[] = { { .name = (char *)(uintptr_t) "abc" },
				       { .name = (char *)(uintptr_t) "ab" },
				       { .name = (char *)(uintptr_t) "xyz" } };
	struct event_format format[] = { { (char *)(uintptr_t) "event", (char *)(uintptr_t) "config:0-7" },
					 { (char *)(uintptr_t) "even", (char *)(uintptr_t) "config:8" } };
	struct event_pmu pmu = { .alias = alias, .n_aliases = 3, .format = format, .n_formats = 2 };

	assert_ptr_equal(event_pmu_alias(&pmu, "abc", 3), &alias[0]);
	assert_ptr_equal(event_pmu_alias(&pmu, "abc", 2), &alias[1]);
	assert_ptr_equal(event_pmu_alias(&pmu, "XYZ,a", 3), &alias[2]);
	assert_null(event_pmu_alias(&pmu, "a", 1));
	assert_null(event_pmu_alias(&pmu, "abcd", 4));
	assert_string_equal(event_pmu_format(&pmu, "even"), "config:8");
	assert_null(event_pmu_format(&pmu, "EVENT"));
}

/* A list of `n` times `word` between two texts, and how it is refused; NULL: it is not. */
static void repeat(const char *before, const char *word, size_t n, const char *after, const char *says)
{
	struct event_list *list = NULL;
	struct buf text = BUF_INIT;
	struct error e = { 0 };
	int err;

	buf_addstr(&text, before);
	for (size_t i = 0; i < n; i++)
		buf_addstr(&text, word);
	buf_addstr(&text, after);
	err = event_parse(&list, buf_str(&text), &e);
	assert_int_equal(err, says ? -E2BIG : 0);
	if (says && !strstr(e.text, says))
		fail_msg("%s", e.text);
	event_list_free(list);
	buf_release(&text);
}

static void test_limits(void **state)
{
	repeat("cpu/event=1", ",umask=1", EVENT_TERM_MAX - 1, "/", NULL);
	repeat("cpu/event=1", ",umask=1", EVENT_TERM_MAX, "/", "an event has at most");
	repeat("cs", ",cs", EVENT_LIST_MAX - 1, "", NULL);
	repeat("cs", ",cs", EVENT_LIST_MAX, "", "more than 8192 events");
	repeat("cs", " ", EVENT_TEXT_MAX - 2, "", NULL);
	repeat("cs", " ", EVENT_TEXT_MAX - 1, "", "longer than 1048576 bytes");
}

static void test_parameter(void **state)
{
	check_one("uncore_imc_0/param,three=1/", "uncore_imc_0/param,three=0x1/", 20, 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_symbols),
		cmocka_unit_test(test_clock_has_unit),
		cmocka_unit_test(test_cache),
		cmocka_unit_test(test_raw_and_numeric),
		cmocka_unit_test(test_terms),
		cmocka_unit_test(test_config_words),
		cmocka_unit_test(test_alias_facts),
		cmocka_unit_test(test_wildcards),
		cmocka_unit_test(test_cores_first),
		cmocka_unit_test(test_pmu_names),
		cmocka_unit_test(test_tracepoints),
		cmocka_unit_test(test_breakpoint),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_groups_of_uncore),
		cmocka_unit_test(test_group_over_pmus_is_split),
		cmocka_unit_test(test_hybrid),
		cmocka_unit_test(test_modifiers),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_names_are_whole),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_parameter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
