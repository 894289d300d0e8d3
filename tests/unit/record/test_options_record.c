/* The command line of pmrec: what each spelling means, and what is refused with which hint. */
#include "record/cmd_record.c"
#include "tests/unit/lib/test.h"

/* It is that of the program. */
void command_suggest(char *const *argv, struct error *e)
{
}

struct parsed {
	struct record_cmdline c;
	struct error e;
	int code;
	char *copy;
	char *argv[40];
};

/* Words are split at blanks; '+' stands for a blank within a word. */
static void parse(struct parsed *p, const char *line)
{
	int argc = 0;

	memset(p, 0, sizeof(*p));
	p->copy = strdup(line);
	assert_non_null(p->copy);
	for (char *word = strtok(p->copy, " "); word; word = strtok(NULL, " ")) {
		for (char *c = word; *c; c++)
			if (*c == '+')
				*c = ' ';
		p->argv[argc++] = word;
	}
	p->code = record_cmdline_parse(&p->c, argc, p->argv, &p->e);
}

static void done(struct parsed *p)
{
	record_cmdline_release(&p->c);
	free(p->copy);
}

static void intervals(void **state)
{
	static const struct {
		const char *line;
		uint64_t ns;
	} cases[] = {
		{ "pmrec -i 5", 5000000000 },
		{ "pmrec -i 0.5", 500000000 },
		{ "pmrec -i 10ms", 10000000 },
		{ "pmrec -I 1000", 1000000000 },
		{ "pmrec -I1", 1000000 },
		{ "pmrec --interval=2", 2000000000 },
		{ "pmrec -interval 2", 2000000000 },
		{ "pmrec --interval-print 100", 100000000 },
		{ "pmrec -i 0", 0 },
		{ "pmrec -qi 3", 3000000000 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct parsed p;

		parse(&p, cases[i].line);
		if (p.code)
			print_error("%s: %s\n", cases[i].line, p.e.text);
		assert_int_equal(p.code, 0);
		assert_int_equal(p.c.options.sample.interval_ns, cases[i].ns);
		done(&p);
	}
}

static void what_is_counted(void **state)
{
	struct parsed p;

	parse(&p, "pmrec -ad -e cycles,instructions -e sched:sched_switch --filter prev_pid==1 -- make -j8");
	assert_int_equal(p.code, 0);
	assert_true(p.c.options.perf.system_wide);
	assert_int_equal(p.c.options.perf.detailed, 1);
	assert_string_equal(p.c.options.perf.events[0], "cycles,instructions");
	assert_string_equal(p.c.options.perf.events[1], "sched:sched_switch");
	assert_null(p.c.options.perf.events[2]);
	assert_null(p.c.options.perf.filters[0]);
	assert_string_equal(p.c.options.perf.filters[1], "prev_pid==1");
	assert_string_equal(p.c.options.run.command[0], "make");
	assert_string_equal(p.c.options.run.command[1], "-j8");
	assert_null(p.c.options.run.command[2]);
	assert_int_equal(p.c.options.target, TARGET_SYSTEM);
	done(&p);
}

static void targets(void **state)
{
	struct parsed p;

	parse(&p, "pmrec sleep 1");
	assert_int_equal(p.c.options.target, TARGET_COMMAND);
	assert_string_equal(p.c.options.run.command[1], "1");
	done(&p);
	parse(&p, "pmrec -C 0-1 sleep 1");
	assert_int_equal(p.c.options.target, TARGET_SYSTEM);
	done(&p);
	parse(&p, "pmrec -p 1,2 sleep 1");
	assert_int_equal(p.c.options.target, TARGET_TASKS);
	assert_string_equal(p.c.options.perf.pids, "1,2");
	done(&p);
}

/* What stands behind the command belongs to it. */
static void options_of_the_command(void **state)
{
	struct parsed p;

	parse(&p, "pmrec -n 3 ls -l -o x");
	assert_int_equal(p.code, 0);
	assert_int_equal(p.c.options.sample.iterations, 3);
	assert_null(p.c.options.output.output);
	assert_false(p.c.options.run.list);
	assert_string_equal(p.c.options.run.command[3], "x");
	done(&p);
}

static void refusals(void **state)
{
	static const struct {
		const char *line, *hint;
	} cases[] = {
		{ "pmrec 5", "-i 5" },
		{ "pmrec -n 0", "-n" },
		{ "pmrec -n -1", "-n" },
		{ "pmrec -i x", "-i" },
		{ "pmrec -i -1", "-i" },
		{ "pmrec -i 1us", "10 us" },
		{ "pmrec -x ,", "pmrep" },
		{ "pmrec -j", "pmrep" },
		{ "pmrec -A", "pmrep" },
		{ "pmrec -c 0", "--cpu" },
		{ "pmrec -N 3", "pmrep" },
		{ "pmrec -s PkgWatt", "pmrep show" },
		{ "pmrec --Joules", "pmrep show" },
		{ "pmrec --filter x", "-e" },
		{ "pmrec --label x", "KEY=VALUE" },
		{ "pmrec --privacy=none", "strict" },
		{ "pmrec --report=html", "stat" },
		{ "pmrec --report -o -", "pmrep -" },
		{ "pmrec -r 2", "COMMAND" },
		{ "pmrec -D -1 true", "--control" },
		{ "pmrec -p 1 -t 1", "-t" },
		{ "pmrec -a -p 1", "-a" },
		{ "pmrec -i 0 -n 2", "-n" },
		{ "pmrec --intreval 1", "--interval" },
		{ "pmrec -o", "-o" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct parsed p;

		parse(&p, cases[i].line);
		if (p.code >= 0 || !strstr(p.e.text, cases[i].hint))
			print_error("%s: %d %s\n", cases[i].line, p.code, p.e.text);
		assert_true(p.code < 0);
		assert_non_null(strstr(p.e.text, cases[i].hint));
		done(&p);
	}
}

/* Every letter is an option or an error that says more than "unknown". */
static void every_letter(void **state)
{
	for (char letter = 'A'; letter <= 'z'; letter = letter == 'Z' ? 'a' : (char)(letter + 1)) {
		char line[32];
		struct parsed p;

		snprintf(line, sizeof(line), "pmrec -%c", letter);
		parse(&p, line);
		if (p.code < 0) {
			assert_non_null(strstr(p.e.text, "-"));
			assert_true(strlen(p.e.text) > 10);
		}
		done(&p);
		if (letter == 'z')
			break;
	}
}

static void cgroups_and_threads(void **state)
{
	static const struct {
		const char *line;
		enum target_kind target;
	} cases[] = {
		{ "pmrec true", TARGET_COMMAND },
		{ "pmrec -a true", TARGET_SYSTEM },
		{ "pmrec -C 0 true", TARGET_SYSTEM },
		{ "pmrec -p 1 true", TARGET_TASKS },
		{ "pmrec -e cs -G a true", TARGET_SYSTEM },
		{ "pmrec -e cs --for-each-cgroup=a true", TARGET_SYSTEM },
		{ "pmrec --per-thread true", TARGET_COMMAND },
		{ "pmrec --per-thread -C 0 true", TARGET_COMMAND },
		{ "pmrec --per-thread -a", TARGET_TASKS },
		{ "pmrec -b 1", TARGET_SYSTEM },
		{ "pmrec -b 1,22 -C 0 true", TARGET_SYSTEM },
		{ "pmrec --bpf-counters true", TARGET_COMMAND },
		{ "pmrec --bpf-counters -p 1", TARGET_TASKS },
		{ "pmrec --bpf-counters --for-each-cgroup=a true", TARGET_SYSTEM },
	};
	static const char *const wrong[] = {
		"pmrec -G a",
		"pmrec -e cs -G a --for-each-cgroup=b",
		"pmrec -e cs -G a -p 1",
		"pmrec -e cs --for-each-cgroup=a --per-thread",
		"pmrec --cputype=big",
		"pmrec --td-level=x",
		"pmrec -b 0",
		"pmrec -b 1,",
		"pmrec -b 4294967296",
		"pmrec -b 1 -p 1",
		"pmrec -b 1 --per-thread",
		"pmrec -e cs -b 1 -G a",
		"pmrec -b 1 --for-each-cgroup=a",
		"pmrec -b 1 --bpf-counters",
		"pmrec --bpf-counters --per-thread",
	};
	struct parsed p;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		parse(&p, cases[i].line);
		if (p.code)
			fail_msg("%s: %s", cases[i].line, p.e.text);
		assert_int_equal(p.c.options.target, cases[i].target);
		done(&p);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		parse(&p, wrong[i]);
		if (p.code != -EINVAL)
			fail_msg("%s: %d", wrong[i], p.code);
		done(&p);
	}
	parse(&p, "pmrec -e a -e b -G x,,y -e c -G z");
	assert_int_equal(p.c.options.perf.n_cgroups, 2);
	assert_string_equal(p.c.options.perf.cgroups[0].names, "x,,y");
	assert_int_equal(p.c.options.perf.cgroups[0].n_events, 2);
	assert_int_equal(p.c.options.perf.cgroups[1].n_events, 3);
	done(&p);
}

UNIT_TESTS(cmocka_unit_test(cgroups_and_threads), cmocka_unit_test(intervals), cmocka_unit_test(what_is_counted),
	   cmocka_unit_test(targets), cmocka_unit_test(options_of_the_command), cmocka_unit_test(refusals),
	   cmocka_unit_test(every_letter))
