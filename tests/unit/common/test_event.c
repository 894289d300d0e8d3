/*
 * The event language. Expected attr words are written from the kernel's ABI (perf_event.h) and from the
 * format texts of the PMUs below, not taken from the program.
 */
#include <fnmatch.h>

#include "common/event/event.h"
#include "tests/unit/lib/test.h"

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

UNIT_TESTS(cmocka_unit_test(test_raw_and_numeric), cmocka_unit_test(test_tracepoints),
	   cmocka_unit_test(test_group_over_pmus_is_split), cmocka_unit_test(test_errors),
	   cmocka_unit_test(test_limits))
