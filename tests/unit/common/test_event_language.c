/*
 * The event language, sentence by sentence: rows of a text and the events that it means, written from the kernel's
 * ABI and from the description of perf's language; every example list of the reference documents; and what holds for
 * all of them: a canonical name means the very same event.
 */
#include <fnmatch.h>

#include "common/event/event.h"
#include "tests/unit/lib/event_print.h"
#include "tests/unit/lib/test.h"

#define COUNT(a)   (sizeof(a) / sizeof((a)[0]))
#define FORMATS(f) .format = f, .n_formats = COUNT(f)
#define ALIASES(a) .alias = a, .n_aliases = COUNT(a)

/* ---- machines ---- */

static struct event_format core_formats[] = {
	{ "event", "config:0-7" }, { "umask", "config:8-15" },  { "edge", "config:18" },
	{ "inv", "config:23" },    { "cmask", "config:24-31" },
};
static struct event_alias core_aliases[] = {
	{ .name = "inst_retired.any", .text = "event=0xc0" },
	{ .name = "instructions", .text = "event=0xc0,umask=0x1" },
	{ .name = "slots", .text = "event=0x00,umask=0x4" },
	{ .name = "mem-loads", .text = "event=0xcd" },
	{ .name = "read", .text = "event=0xad" },
};
static struct event_format box_formats[] = {
	{ "event", "config:0-7,21" },   { "one", "config1:4-11,60-63" }, { "two", "config2:0-63" },
	{ "three", "config3:1,3,5,7" }, { "four", "config4:62-63" },     { "core", "config:16-19" },
};
static struct event_alias box_aliases[] = {
	{ .name = "reads", .text = "event=0x4", .scale = "64", .unit = "Bytes", .per_pkg = true },
	{ .name = "reads_all", .text = "event=0x5" },
	{ .name = "temp", .text = "event=0x6", .snapshot = true },
	{ .name = "of_core", .text = "event=0x7,core=?" },
	{ .name = "of_old", .text = "event=0x8,core=$core" },
};
static struct event_format other_formats[] = { { "number", "config:0-63" } };

/* clang-format off */
static struct event_pmu machine_pmus[] = {
	{ .name = "cpu", .type = 4, .core = true, FORMATS(core_formats), ALIASES(core_aliases) },
	{ .name = "software", .type = 1 },
	{ .name = "uncore_box_0", .type = 20, .uncore = true, .cpus = "0", FORMATS(box_formats),
	  ALIASES(box_aliases) },
	{ .name = "uncore_box_10", .type = 21, .uncore = true, .cpus = "0", FORMATS(box_formats),
	  ALIASES(box_aliases) },
	{ .name = "uncore_boxes", .type = 22, .uncore = true, .cpus = "0", FORMATS(other_formats) },
	{ .name = "smmuv3_pmcg_3f062", .type = 23, FORMATS(box_formats) },
	{ .name = "smmuv3_pmcg_3f082", .type = 24, FORMATS(box_formats) },
	{ .name = "hisi_sccl1_ddrc3", .type = 25, .uncore = true, .cpus = "0", FORMATS(box_formats) },
	{ 0 }, /* the tool's */
};
/* clang-format on */
static struct event_pmu hybrid_pmus[] = {
	{ .name = "cpu_core", .type = 4, .core = true, .cpus = "0-3", FORMATS(core_formats), ALIASES(core_aliases) },
	{ .name = "cpu_atom", .type = 10, .core = true, .cpus = "4-7", FORMATS(core_formats) },
	{ .name = "cpu_lowpower", .type = 11, .core = true, .cpus = "8-9", FORMATS(core_formats) },
};

static int tracepoints(void *data, const char *system, const char *name, event_tracepoint_fn found, void *arg)
{
	static const char *const all[][2] = { { "sched", "sched_switch" },
					      { "sched", "sched_wakeup" },
					      { "skb", "kfree_skb" } };
	int n = 0, r = 0;

	for (size_t i = 0; i < COUNT(all) && !r; i++)
		if (!fnmatch(system, all[i][0], 0) && !fnmatch(name, all[i][1], 0)) {
			r = found(arg, all[i][0], all[i][1], 100 + i);
			n++;
		}
	return r ? r : n;
}

static struct event_view machine = { .pmu = machine_pmus, .n_pmus = COUNT(machine_pmus), .tracepoints = tracepoints };
static const struct event_view hybrid = { .pmu = hybrid_pmus, .n_pmus = COUNT(hybrid_pmus) };

static int set_up(void **state)
{
	event_tool_pmu(&machine_pmus[COUNT(machine_pmus) - 1]);
	return 0;
}

static int tear_down(void **state)
{
	event_pmu_release(&machine_pmus[COUNT(machine_pmus) - 1]);
	return 0;
}

static int try_resolve(const struct event_view *view, const char *text, struct event_set *set, struct error *e)
{
	struct event_list *list = NULL;
	struct buf notes = BUF_INIT;
	int err = event_parse(&list, text, e);

	if (!err)
		err = event_resolve(list, view, set, &notes, e);
	event_list_free(list);
	buf_release(&notes);
	return err;
}

static bool same_words(const struct event *a, const struct event *b)
{
	uint32_t of_group = EVENT_MOD_WEAK | EVENT_MOD_NO_REGROUP;

	return a->type == b->type && !memcmp(a->config, b->config, sizeof(a->config)) && a->bp_type == b->bp_type &&
	       (a->mods & ~of_group) == (b->mods & ~of_group) && !strcmp(a->pmu, b->pmu) && a->percore == b->percore;
}

/* Resolves; and every event's canonical name means that event, and is its own canonical name. */
static struct event_set resolve(const struct event_view *view, const char *text)
{
	struct event_set set = { 0 };
	struct error e = { 0 };

	if (try_resolve(view, text, &set, &e))
		fail_msg("%s: %s", text, e.text);
	for (size_t i = 0; i < set.n; i++) {
		struct event_set again = { 0 };

		if (try_resolve(view, set.event[i].name, &again, &e))
			fail_msg("%s: its name %s: %s", text, set.event[i].name, e.text);
		if (again.n != 1 || !same_words(&set.event[i], &again.event[0]) ||
		    strcmp(set.event[i].name, again.event[0].name))
			fail_msg("%s: the name %s means %s", text, set.event[i].name,
				 again.n ? again.event[0].name : "-");
		event_set_release(&again);
	}
	return set;
}

/* ---- rows ---- */

enum { HARDWARE, SOFTWARE, TRACEPOINT, CACHE, RAW, BREAKPOINT };

struct expected {
	uint32_t type;
	uint64_t config[EVENT_CONFIGS];
};

struct sentence {
	const char *text;
	size_t n;
	struct expected event[4];
};

static void check(const struct event_view *view, const struct sentence *row, size_t rows)
{
	for (size_t i = 0; i < rows; i++) {
		struct event_set set = resolve(view, row[i].text);

		if (set.n != row[i].n)
			fail_msg("%s: %zu events", row[i].text, set.n);
		for (size_t k = 0; k < set.n && k < COUNT(row[i].event); k++)
			if (set.event[k].type != row[i].event[k].type ||
			    memcmp(set.event[k].config, row[i].event[k].config, sizeof(set.event[k].config)))
				fail_msg("%s, event %zu: type %u, 0x%llx 0x%llx 0x%llx 0x%llx 0x%llx", row[i].text,
					 k + 1, set.event[k].type, (unsigned long long)set.event[k].config[0],
					 (unsigned long long)set.event[k].config[1],
					 (unsigned long long)set.event[k].config[2],
					 (unsigned long long)set.event[k].config[3],
					 (unsigned long long)set.event[k].config[4]);
		event_set_release(&set);
	}
}

/* clang-format off */
static const struct sentence rows[] = {
	/* pmu/term,term/; pmu//; k=v, k (= 1), rHEX; decimal or 0x */
	{ "cpu/event=60,umask=0x2,edge/", 1, { { RAW, { 60 | 2 << 8 | 1 << 18 } } } },
	{ "cpu//", 1, { { RAW, { 0 } } } },
	{ "cpu/r1c2/,cpu/r0x1c2/", 2, { { RAW, { 0x1c2 } }, { RAW, { 0x1c2 } } } },
	/* name/terms/ where the name is an event's: the terms modify it */
	{ "cycles/name=mine/,cs/period=3/", 2, { { HARDWARE, { 0 } }, { SOFTWARE, { 3 } } } },
	{ "inst_retired.any/umask=0x3,cmask=1/", 1, { { RAW, { 0xc0 | 3 << 8 | 1 << 24 } } } },
	{ "reads/core=2/", 2, { { 20, { 0x4 | 2 << 16 } }, { 21, { 0x4 | 2 << 16 } } } },
	{ "L1-dcache-loads/name=x/", 1, { { CACHE, { 0 } } } },
	/* names are looked up in every PMU; on a named one sysfs wins over what is general */
	{ "inst_retired.any", 1, { { RAW, { 0xc0 } } } },
	{ "cpu/instructions/,instructions", 2, { { RAW, { 0x1c0 } }, { HARDWARE, { 1 } } } },
	{ "cpu/cycles/,cpu/L1-dcache-load-misses/", 2, { { HARDWARE, { 0 } }, { CACHE, { 0x10000 } } } },
	{ "reads", 2, { { 20, { 4 } }, { 21, { 4 } } } },
	{ "reads*", 4, { { 20, { 4 } }, { 20, { 5 } }, { 21, { 4 } }, { 21, { 5 } } } },
	{ "read", 1, { { RAW, { 0xad } } } },
	/* tracepoints, with globs in both parts, and terms */
	{ "sched:sched_switch", 1, { { TRACEPOINT, { 100 } } } },
	{ "sched:sched_*,s*:[k]free?skb", 3,
	  { { TRACEPOINT, { 100 } }, { TRACEPOINT, { 101 } }, { TRACEPOINT, { 102 } } } },
	{ "skb:kfree_skb/name=drops/", 1, { { TRACEPOINT, { 102 } } } },
	/* raw: 1 to 16 digits */
	{ "r0,rffffffffffffffff,r0x1A8", 3, { { RAW, { 0 } }, { RAW, { UINT64_MAX } }, { RAW, { 0x1a8 } } } },
	/* TYPE:CONFIG, dec or 0x; the terms are ours */
	{ "20:0x3,0x1:3", 2, { { 20, { 3 } }, { SOFTWARE, { 3 } } } },
	{ "20:0x3/config1=7,config2=0x9/", 1, { { 20, { 3, 7, 9 } } } },
	/* breakpoints */
	{ "mem:0x1000", 1, { { BREAKPOINT, { 0, 0x1000, 4 } } } },
	{ "mem:0x1000/2:w,cs", 2, { { BREAKPOINT, { 0, 0x1000, 2 } }, { SOFTWARE, { 3 } } } },
	{ "{cycles,mem:4096/8:rw:u}", 2, { { HARDWARE, { 0 } }, { BREAKPOINT, { 0, 4096, 8 } } } },
	{ "mem:0x1000:x:k", 1, { { BREAKPOINT, { 0, 0x1000, sizeof(long) } } } },
	/* the fixed keys: whole words, */
	{ "cpu/config=0x123456789,config1=1,config2=2,config3=3,config4=4/", 1,
	  { { RAW, { 0x123456789, 1, 2, 3, 4 } } } },
	/* those that say how samples would be taken, */
	{ "cpu/event=1,period=10,freq=9,branch_type=any,time,call-graph=fp,stack-size=8,max-stack=3,nr=2,overwrite,"
	  "no-overwrite,aux-output,aux-action=start-paused,aux-sample-size=4,ratio-to-prev=2/", 1,
	  { { RAW, { 1 } } } },
	/* and the rest */
	{ "cpu/event=1,percore,inherit,metric-id=m,name='a:b,c=d/e'/", 1, { { RAW, { 1 } } } },
	{ "cpu/event=1,percore=1,no-inherit/", 1, { { RAW, { 1 } } } },
	{ "cpu/event=1,cpu=3/,cpu/event=1,cpu=0-2,cpu=5/", 2, { { RAW, { 1 } }, { RAW, { 1 } } } },
	{ "cpu/legacy-hardware-config=4/,cpu/legacy-cache-config=0x10002/", 2,
	  { { HARDWARE, { 4 } }, { CACHE, { 0x10002 } } } },
	/* formats: bits are dealt out from the lowest, in the order of the list, up to config4 */
	{ "uncore_box_0/event=0x1ff/", 1, { { 20, { 0xff | 1 << 21 } } } },
	{ "uncore_box_0/one=0xfff,two=0xffffffffffffffff/", 1,
	  { { 20, { 0, 0xf000000000000ff0ull, UINT64_MAX } } } },
	{ "uncore_box_0/three=0xf,four=3/", 1, { { 20, { 0, 0, 0, 0xaa, 3ull << 62 } } } },
	/* parameters */
	{ "uncore_box_0/of_core,core=5/,uncore_box_0/of_old,core=0x6/", 2,
	  { { 20, { 7 | 5 << 16 } }, { 20, { 8 | 6 << 16 } } } },
	/* the user's terms win, wherever they stand */
	{ "cpu/inst_retired.any,event=1/,cpu/event=1,inst_retired.any/", 2, { { RAW, { 1 } }, { RAW, { 1 } } } },
	/* names of PMUs: exact, suffix of digits or of more than two hex digits, without uncore_, globs */
	{ "uncore_box/event=1/", 2, { { 20, { 1 } }, { 21, { 1 } } } },
	{ "box/event=1/", 2, { { 20, { 1 } }, { 21, { 1 } } } },
	{ "box_10/event=1/", 1, { { 21, { 1 } } } },
	{ "uncore_*box_[01]*/event=1/", 2, { { 20, { 1 } }, { 21, { 1 } } } },
	{ "smmuv3_pmcg/event=1/", 2, { { 23, { 1 } }, { 24, { 1 } } } },
	{ "smmuv3_pmcg_3f082/event=1/", 1, { { 24, { 1 } } } },
	{ "hisi_sccl1_ddrc/event=1/", 1, { { 25, { 1 } } } },
	/* a glob over several kinds means those that have the term */
	{ "uncore_box*/event=1/", 2, { { 20, { 1 } }, { 21, { 1 } } } },
	{ "uncore_box*/number=9/", 1, { { 22, { 9 } } } },
	/* tool events */
	{ "duration_time,user_time,system_time", 3,
	  { { EVENT_TYPE_TOOL, { 1 } }, { EVENT_TYPE_TOOL, { 2 } }, { EVENT_TYPE_TOOL, { 3 } } } },
	{ "tool/duration_time/,tool/user_time,name=s/", 2,
	  { { EVENT_TYPE_TOOL, { 1 } }, { EVENT_TYPE_TOOL, { 2 } } } },
	{ "slots", 1, { { RAW, { 0x400 } } } }, /* on x86 that is the CPU's */
};
/* clang-format on */

static void test_sentences(void **state)
{
	check(&machine, rows, COUNT(rows));
}

/* One event for each core PMU: general ones name it in the upper half, raw ones by type. */
static void test_hybrid(void **state)
{
	static const struct sentence row[] = {
		{ "cycles",
		  3,
		  { { HARDWARE, { 4ull << 32 } }, { HARDWARE, { 10ull << 32 } }, { HARDWARE, { 11ull << 32 } } } },
		{ "LLC-loads:u",
		  3,
		  { { CACHE, { 2 | 4ull << 32 } }, { CACHE, { 2 | 10ull << 32 } }, { CACHE, { 2 | 11ull << 32 } } } },
		{ "r1a", 3, { { 4, { 0x1a } }, { 10, { 0x1a } }, { 11, { 0x1a } } } },
		{ "cs", 1, { { SOFTWARE, { 3 } } } },
		{ "inst_retired.any", 1, { { 4, { 0xc0 } } } },
		{ "cpu_core/r1a/,cpu_atom/L1-icache-loads/", 2, { { 4, { 0x1a } }, { CACHE, { 1 | 10ull << 32 } } } },
		{ "cpu_atom/legacy-hardware-config=1/", 1, { { HARDWARE, { 1 | 10ull << 32 } } } },
	};
	struct event_set set;

	check(&hybrid, row, COUNT(row));
	set = resolve(&hybrid, "{cycles,instructions}");
	for (size_t i = 0; i < 3; i++) {
		assert_string_equal(set.event[i].pmu, hybrid_pmus[i].name);
		assert_int_equal(set.event[i].group, set.event[3 + i].group);
		assert_int_not_equal(set.event[i].group, set.event[(i + 1) % 3].group);
	}
	assert_string_equal(set.event[1].display, "cpu_atom/cycles/");
	event_set_release(&set);
	/* cpu= may name the PMU whose CPUs are meant. */
	set = resolve(&hybrid, "cs/cpu=cpu_atom/,cs/cpu=cpu_core,cpu=9/");
	assert_string_equal(set.event[0].cpus, "4-7");
	assert_string_equal(set.event[1].cpus, "0-3,9");
	event_set_release(&set);
}

static void test_modifiers(void **state)
{
	static const struct {
		const char *text;
		uint32_t mods;
	} row[] = {
		{ "cycles:u", EVENT_MOD_USER },
		{ "cycles:hk", EVENT_MOD_HV | EVENT_MOD_KERNEL },
		{ "cpu/event=1/u", EVENT_MOD_USER },
		{ "cpu/event=1/:u", EVENT_MOD_USER },
		{ "cycles:G", EVENT_MOD_GUEST },
		{ "cycles:HI", EVENT_MOD_HOST | EVENT_MOD_NO_IDLE },
		{ "cycles:p", EVENT_MOD_PRECISE_1 },
		{ "cycles:pp", EVENT_MOD_PRECISE_2 },
		{ "cycles:ppp", EVENT_MOD_PRECISE_1 | EVENT_MOD_PRECISE_2 },
		{ "cycles:pup", EVENT_MOD_PRECISE_2 | EVENT_MOD_USER },
		{ "cycles:P", EVENT_MOD_MAX_PRECISE },
		{ "cycles:SDe", EVENT_MOD_SAMPLE_READ | EVENT_MOD_PINNED | EVENT_MOD_EXCLUSIVE },
		{ "cycles:X", EVENT_MOD_NO_REGROUP },
		{ "cycles:b", EVENT_MOD_BPF },
		{ "cycles:ub", EVENT_MOD_USER | EVENT_MOD_BPF },
		{ "cycles:W", 0 }, /* is for groups */
		{ "{cycles}:Wu", EVENT_MOD_WEAK | EVENT_MOD_USER },
		{ "{cycles:k}:u", EVENT_MOD_KERNEL | EVENT_MOD_USER },
		{ "{cycles}:D", EVENT_MOD_PINNED },
		{ "sched:sched_switch:u", EVENT_MOD_USER },
		{ "r1a:k", EVENT_MOD_KERNEL },
	};
	static const char *const wrong[][2] = {
		{ "cycles:uu", "column 9" },       { "cycles:z", "column 8" },
		{ "cycles:pppp", "column 11" },    { "{cs,cycles:e}", "only the first" },
		{ "cycles:R", "is for sampling" },
	};

	for (size_t i = 0; i < COUNT(row); i++) {
		struct event_set set = resolve(&machine, row[i].text);

		if (set.event[0].mods != row[i].mods)
			fail_msg("%s: 0x%x", row[i].text, set.event[0].mods);
		event_set_release(&set);
	}
	for (size_t i = 0; i < COUNT(wrong); i++) {
		struct event_set set = { 0 };
		struct error e = { 0 };

		assert_true(try_resolve(&machine, wrong[i][0], &set, &e) < 0);
		if (!strstr(e.text, wrong[i][1]))
			fail_msg("%s: %s", wrong[i][0], e.text);
		event_set_release(&set);
	}
}

/* Errors point at the column and name what is near. */
static void test_errors(void **state)
{
	static const char *const wrong[][2] = {
		{ "cs,duration_tim",
		  "column 4: there is no event \"duration_tim\"; did you mean \"duration_time\"?" },
		{ "inst_retired.ayn", "did you mean \"inst_retired.any\"?" },
		{ "tool/user_tim/", "column 6: tool has no term or event \"user_tim\"; did you mean \"user_time\"?" },
		{ "cpu/event=1,umsk=1/", "column 13: cpu has no term or event \"umsk\"; did you mean \"umask\"?" },
		{ "inst_retired.any/umsk=1/", "column 18" },
		{ "uncore_box*/nothing=1/", "has no term or event \"nothing\"" },
		{ "uncore_box_0/event=0x200/", "too big for uncore_box_0 (config:0-7,21), the maximum is 0x1ff" },
		{ "uncore_box_0/of_core/", "needs the term \"core=...\"" },
		{ "cpu/legacy-hardware-config/", "needs a number" },
		{ "hwmon_coretemp/temp1/", "sources hwmon" },
		{ "nothing*", "there is no event \"nothing*\"" },
		{ "1:2/umask=1/", "column 5: software has no term or event \"umask\"" },
		{ "cpu/cpu=0-x/", "neither a CPU" },
		{ "cpu/@drv=1/", "column 5: @drv configures a driver" },
	};

	for (size_t i = 0; i < COUNT(wrong); i++) {
		struct event_set set = { 0 };
		struct error e = { 0 };

		if (!try_resolve(&machine, wrong[i][0], &set, &e))
			fail_msg("accepted: %s", wrong[i][0]);
		if (!strstr(e.text, wrong[i][1]))
			fail_msg("%s: %s", wrong[i][0], e.text);
		assert_int_equal(set.n, 0);
		event_set_release(&set);
	}
}

static void test_facts_beside_the_words(void **state)
{
	struct event_set set = resolve(&machine, "cpu/event=1,percore,no-inherit,metric-id=m,name='a:b,c=d/e'/,"
						 "cpu/event=1,inherit/,uncore_box_10/temp/,reads,duration_time,"
						 "user_time,top{cycles,cs}:W");

	assert_true(set.event[0].percore);
	assert_int_equal(set.event[0].inherit, 0);
	assert_string_equal(set.event[0].metric_id, "m");
	assert_string_equal(set.event[0].display, "a:b,c=d/e");
	assert_int_equal(set.event[1].inherit, 1);
	assert_true(set.event[2].snapshot && !set.event[2].per_pkg && set.event[2].uncore);
	assert_true(set.event[3].per_pkg);
	assert_string_equal(set.event[4].scale, "64");
	assert_string_equal(set.event[4].unit, "Bytes");
	assert_int_equal(set.event[3].wildcard, set.event[4].wildcard);
	assert_string_equal(set.event[5].unit, "ns");
	assert_false(set.event[5].snapshot || set.event[5].core || set.event[5].uncore);
	assert_string_equal(set.event[7].group_name, "top");
	event_set_release(&set);
}

/* Parts that stand in this order: names of PMUs on Arm servers, as files of vendors have them. */
static void test_parts(void **state)
{
	assert_true(event_pmu_matches("hisi_sccl,ddrc", "hisi_sccl1_ddrc3"));
	assert_true(event_pmu_matches("hisi_sccl,ddrc", "hisi_sccl12_ddrc"));
	assert_true(event_pmu_matches("hisi_sccl,l3c", "hisi_sccl3_l3c12"));
	assert_false(event_pmu_matches("hisi_sccl,ddrc", "hisi_sccl1_ddrcx"));
	assert_false(event_pmu_matches("hisi_sccl,ddrc", "hisi_sicl1_ddrc3"));
	assert_false(event_pmu_matches("hisi_sccl,ddrc", "my_hisi_sccl1_ddrc3"));
	assert_false(event_pmu_matches("hisi_sccl,ddrc", "hisi_sccl1_hha3"));
	assert_false(event_pmu_matches("hisi_sccl,", "hisi_sccl1"));
	assert_false(event_pmu_matches(",", "a"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sentences),
		cmocka_unit_test(test_hybrid),
		cmocka_unit_test(test_modifiers),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_facts_beside_the_words),
		cmocka_unit_test(test_parts),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
