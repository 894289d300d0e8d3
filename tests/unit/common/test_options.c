/* The rules of command lines, on option arrays made for the test; test_option_examples.c has the programs' own. */
#include <ctype.h>

#include "common/options_table.h"
#include "tests/unit/lib/test.h"

struct seen {
	char text[400];
	char **operand;
	int n;
};

static int set_seen(void *into, char *arg, struct error *e)
{
	struct seen *s = into;
	size_t len = strlen(s->text);

	snprintf(s->text + len, sizeof(s->text) - len, "%s%s", len ? " " : "", arg ? arg : "-");
	return 0;
}

static int set_pid(void *into, char *arg, struct error *e)
{
	return error_set(e, EINVAL, "--pid: '%s' is not a number", arg);
}

static int see_operands(void *into, int n, char **operand, struct error *e)
{
	struct seen *s = into;

	s->operand = operand;
	s->n = n;
	return 0;
}

#define OPTIONS_INTO struct seen
static const struct option_row record_rows[] = {
	{ "all-cpus", 'a', NULL, "", CALL(seen) },
	{ "add", 0, "COUNTER", "", CALL(seen) },
	{ "cpu", 'C', "LIST", "", CALL(seen) },
	{ "delay", 'D', "MS", "", CALL(seen) },
	{ "detailed", 'd', NULL, "", CALL(seen) },
	{ "event", 'e', "EVENT", "", CALL(seen) },
	{ "interval", 'i', "SEC", "", CALL(seen) },
	{ "interval-count", 'n', "NUM", "", CALL(seen) },
	{ "num_iterations" },
	{ "interval-print", 'I', "MS", "", CALL(seen) },
	{ "no-inherit", 0, NULL, "", CALL(seen) },
	{ "output", 'o', "FILE", "", CALL(seen) },
	{ "out" },
	{ "overwrite", 0, NULL, "", CALL(seen) },
	{ "pre", 0, "CMD", "", CALL(seen) },
	{ "pid", 'p', "LIST", "", CALL(pid) },
	{ "quiet", 'q', NULL, "", CALL(seen) },
	{ "report", 0, "WHAT", "", CALL(seen), .optional = true },
	{ "sync", 'S', NULL, "", CALL(seen) },
	{ "transaction", 'T', NULL, "", CALL(seen) },
	{ "TCC", 0, "C", "", CALL(seen) },
	{ "verbose", 'v', NULL, "", CALL(seen) },
	{ 0 },
};

static const struct option_row show_rows[] = {
	{ "cpu", 'c', "SET", "", CALL(seen) },
	{ .letter = 'C' },
	{ "debug", 'd', NULL, "", CALL(seen) },
	{ "enable", 'e', "COLUMN", "", CALL(seen) },
	{ "every", 'i', "SEC", "", CALL(seen) },
	{ "interval" },
	{ "interval-clear", 0, NULL, "", CALL(seen) },
	{ "hide", 'H', "COLUMN", "", CALL(seen) },
	{ "no-msr", 'M', NULL, "", CALL(seen) },
	{ "num_iterations", 'n', "NUM", "", CALL(seen) },
	{ "show", 's', "COLUMN", "", CALL(seen) },
	{ "Summary", 'S', NULL, "", CALL(seen) },
	{ "quiet", 'q', NULL, "", CALL(seen) },
	{ "TCC", 'T', "C", "", CALL(seen) },
	{ "base", 0, "FILE...", "", CALL(seen), .many = true },
	{ 0 },
};

static const struct options_spec record_spec = {
	.name = "pmrec",
	.rows = record_rows,
	.operands = see_operands,
	.command = true,
	.brief = "Usage: brief\n",
};
static const struct options_spec show_spec = { .name = "pmrep show", .rows = show_rows, .operands = see_operands };
static const struct option_row since_rows[] = {
	{ "format", 0, "table|csv", "", CALL(seen) },
	{ "since", 0, "TIME", "", CALL(seen) },
	{ 0 },
};
static const struct options_spec since_spec = { .name = "pmrep show", .rows = since_rows };
static const struct options_spec info_spec = { .name = "pmrep info", .rows = show_rows, .operands = see_operands };
static const struct options_spec bare_spec = { .name = "pmrec doctor", .rows = show_rows };

/* Splits at blanks; "_" stands for an empty word. */
static int split(char *text, char **argv)
{
	int argc = 0;

	argv[argc++] = (char *)"prog";
	for (char *p = strtok(text, " "); p; p = strtok(NULL, " "))
		argv[argc++] = strcmp(p, "_") ? p : p + 1;
	argv[argc] = NULL;
	return argc;
}

static const struct line {
	const struct options_spec *spec;
	const char *words;
	const char *want; /* rewritten words, '!' and a part of the message, or '=' and the message */
} lines[] = {
	{ &record_spec, "", "--" },
	{ &record_spec, "-ad", "--all-cpus --detailed --" },
	{ &record_spec, "-ddd sleep 1", "--detailed --detailed --detailed -- sleep 1" },
	{ &record_spec, "-ai 5 -S", "--all-cpus --interval=5 --sync --" },
	{ &record_spec, "-interval 5", "--interval=5 --" },
	{ &record_spec, "-interval=5", "--interval=5 --" },
	{ &record_spec, "--interval 5 x", "--interval=5 -- x" },
	{ &record_spec, "-i5", "--interval=5 --" },
	{ &record_spec, "-i=5", "--interval=5 --" },
	{ &record_spec, "-num_iter=3", "--interval-count=3 --" },
	{ &record_spec, "-num-iter 3", "--interval-count=3 --" },
	{ &record_spec, "-n 3", "--interval-count=3 --" },
	{ &record_spec, "-out ts.pmr", "--output=ts.pmr --" },
	{ &record_spec, "--ou ts.pmr", "--output=ts.pmr --" },
	{ &record_spec, "-o- true", "--output=- -- true" },
	{ &record_spec, "-I1000", "--interval-print=1000 --" },
	{ &record_spec, "-D -1 -a", "--delay=-1 --all-cpus --" },
	{ &record_spec, "-TCC 100", "--TCC=100 --" },
	{ &record_spec, "-T", "--transaction --" },
	/* All of -add are letters without argument: the cluster wins over the long name. */
	{ &record_spec, "-add", "--all-cpus --detailed --detailed --" },
	{ &record_spec, "--add msr0x199,u32", "--add=msr0x199,u32 --" },
	{ &record_spec, "-e _ -a", "--event= --all-cpus --" },
	/* Options end at the command, whatever it has. */
	{ &record_spec, "-a make -i 5 --bad", "--all-cpus -- make -i 5 --bad" },
	{ &record_spec, "-a -- make -- -x", "--all-cpus -- make -- -x" },
	{ &record_spec, "-- -a", "-- -a" },
	{ &record_spec, "-- 5", "-- 5" },
	{ &record_spec, "5", "!is a number" },
	{ &record_spec, "-a 0.5", "!-i 0.5" },
	/* Taking back. */
	{ &record_spec, "-a --no-all-cpus", "--" },
	{ &record_spec, "--no-all-cpus -a", "--all-cpus --" },
	{ &record_spec, "-dd -q --no-detailed", "--quiet --" },
	{ &record_spec, "--no-inherit --inherit", "--" },
	{ &record_spec, "--no-inh", "--no-inherit --" },
	{ &record_spec, "--no-over --overwrite", "--overwrite --" },
	{ &record_spec, "--no-quiet=1", "!takes no value" },
	{ &record_spec, "--no-interval 5", "!--interval" },
	/* Optional values only where they are attached. */
	{ &record_spec, "--report true", "--report -- true" },
	{ &record_spec, "--report=stat true", "--report=stat -- true" },
	{ &record_spec, "--color=never --version", "--color=never --version --" },
	{ &record_spec, "-h", "--help --" },
	{ &record_spec, "--help=all", "--help=all --" },
	/* The wrong half. */
	{ &record_spec, "-x,", "!-x belongs to pmrep stat" },
	{ &record_spec, "-x", "!-x belongs to pmrep stat" },
	{ &record_spec, "-ax", "!-x belongs to pmrep stat" },
	{ &record_spec, "-c 0", "!-C" },
	{ &record_spec, "-show CPU", "!--show belongs to pmrep show" },
	{ &record_spec, "--show=CPU", "!--show belongs to pmrep show" },
	{ &record_spec, "-hide CPU", "!--hide belongs to pmrep show" },
	{ &record_spec, "--per-socket -a", "!--per-socket belongs to pmrep show and pmrep stat" },
	{ &record_spec, "--field-separator=,", "!--field-separator belongs to pmrep stat" },
	{ &record_spec, "--no-big-num", "!belongs to pmrep stat" },
	{ &record_spec, "-enable all", "!--enable belongs to pmrep show" },
	{ &show_spec, "-x, f", "!--format=csv" },
	{ &show_spec, "-I 1000 f", "!--show=IPC" },
	{ &show_spec, "--event=cycles", "!--event belongs to pmrec and pmrep stat" },
	{ &show_spec, "--all-cpus", "!--all-cpus belongs to pmrec" },
	{ &show_spec, "-a", "!belongs to pmrec" },
	{ &show_spec, "--input f", "!without an option" },
	{ &show_spec, "--tpebs-mode", "!not an option here" },
	{ &show_spec, "--no-scale", "!--no-scale belongs to pmrec and pmrep stat" },
	{ &info_spec, "--scale", "!--no-scale belongs to pmrec and pmrep stat" },
	{ &show_spec, "--field-sep=,", "!unknown option --field-sep" },
	/* The hint is what the command at hand has, or where the option is given. */
	{ &record_spec, "--hybrid-merge", "=--hybrid-merge belongs to pmrep stat: give it when reporting" },
	{ &show_spec, "--hybrid-merge", "=--hybrid-merge belongs to pmrep stat" },
	{ &show_spec, "--timeout=3", "=--timeout belongs to pmrec: give it when recording" },
	{ &show_spec, "--delay=3", "=--delay belongs to pmrec: give it when recording" },
	{ &since_spec, "--delay=3", "=--delay belongs to pmrec: skip the beginning with --since" },
	{ &since_spec, "-r2", "=-r belongs to pmrec (--repeat): pmrep finds the runs in a recording by itself" },
	{ &since_spec, "--last=10", "=--last is not an option here: use --since=-SECONDS" },
	{ &show_spec, "--last=10", "!unknown option --last" },
	{ &since_spec, "--csv", "=--csv is not an option here: use --format=csv" },
	{ &since_spec, "--json", "!unknown option --json" },
	{ &record_spec, "-F 99", "!-i 10ms" },
	{ &record_spec, "-g", "!-e '{a,b}'" },
	/* Typing errors. */
	{ &record_spec, "--evnet cycles", "!did you mean --event?" },
	{ &record_spec, "--quite", "!did you mean --quiet?" },
	{ &record_spec, "--frobnicate", "!unknown option --frobnicate" },
	{ &record_spec, "-k", "!-k is not an option" },
	{ &record_spec, "-5", "!-5" },
	{ &record_spec, "--int 5", "--interval=5 --" },
	{ &record_spec, "--interval- 5", "!can mean --interval-count or --interval-print" },
	{ &record_spec, "--o f", "!can mean --out or --overwrite" },
	{ &record_spec, "--quiet=yes", "!takes no value" },
	{ &record_spec, "-i", "!-i needs a value: SEC" },
	{ &record_spec, "--event", "!--event needs a value: EVENT" },
	{ &record_spec, "--=x", "!unknown option" },
	/* Commands of pmrep mix options and files. */
	{ &show_spec, "a.pmr -S b.pmr", "--Summary -- a.pmr b.pmr" },
	{ &show_spec, "a.pmr -- -S", "-- a.pmr -S" },
	{ &show_spec, "-", "-- -" },
	{ &show_spec, "-S -q -n 3 -", "--Summary --quiet --num_iterations=3 -- -" },
	{ &show_spec, "-qS -show CPU,Busy% f", "--quiet --Summary --show=CPU,Busy% -- f" },
	{ &show_spec, "-C 0-3 -c core", "--cpu=0-3 --cpu=core --" },
	{ &show_spec, "-interval 5 f", "--every=5 -- f" },
	{ &show_spec, "--TCC 100 -T 95", "--TCC=100 --TCC=95 --" },
	{ &show_spec, "--msr -M --msr -q", "--quiet --" },
	{ &show_spec, "5", "-- 5" },
	/* Other commands: the letters of their own array. */
	{ &info_spec, "-S f -T 5", "--Summary --TCC=5 -- f" },
	{ &info_spec, "-x", "!-x belongs to pmrep stat" },
	{ &info_spec, "-qh", "--quiet --help --" },
};

static int parse(const struct options_spec *spec, const char *words, char *text, struct seen *s,
		 struct options_common *c, struct error *e)
{
	char *argv[40];
	int argc;

	memset(s, 0, sizeof(*s));
	memset(c, 0, sizeof(*c));
	memset(e, 0, sizeof(*e));
	strcpy(text, words);
	argc = split(text, argv);
	return options_parse(spec, argc, argv, s, c, e);
}

static void words(void **state)
{
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		char text[200], got[400] = "";
		struct options_common c;
		struct error e;
		struct seen s;
		int r = parse(lines[i].spec, lines[i].words, text, &s, &c, &e);

		if (lines[i].want[0] == '!' || lines[i].want[0] == '=') {
			const char *want = lines[i].want + 1;

			if (r != -EINVAL || (want[-1] == '=' ? strcmp(e.text, want) : !strstr(e.text, want)))
				fail_msg("%s: %d '%s' instead of '%s'", lines[i].words, r, e.text, lines[i].want);
			options_common_release(&c);
			continue;
		}
		for (char **said = c.said; said && *said; said++) {
			strcat(got, *said);
			strcat(got, " ");
		}
		strcat(got, "--");
		for (int k = 0; k < s.n; k++) {
			strcat(got, " ");
			strcat(got, s.operand[k]);
		}
		if (r < 0 || strcmp(got, lines[i].want))
			fail_msg("%s: %d '%s' %s instead of '%s'", lines[i].words, r, got, e.text, lines[i].want);
		options_common_release(&c);
	}
}

/* Every letter that a command lacks is answered with where it belongs, or that it belongs nowhere. */
static void letters(void **state)
{
	static const struct option_row none[] = { { 0 } };
	static const struct options_spec programs[] = { { .name = "pmrec", .rows = none },
							{ .name = "pmrep show", .rows = none },
							{ .name = "pmrep stat", .rows = none } };
	unsigned refused = 0;

	for (size_t i = 0; i < 3; i++)
		for (char l = 'A'; l <= 'z'; l++) {
			const char word[] = { '-', l, 0 };
			char text[sizeof(word)];
			struct options_common c;
			struct error e;
			struct seen s;

			if (!isalpha((unsigned char)l))
				continue;
			if (parse(&programs[i], word, text, &s, &c, &e) == -EINVAL) {
				assert_true(e.text[0] == '-' && e.text[1] == l);
				assert_true(strlen(e.text) > 12);
				refused++;
			}
			options_common_release(&c);
		}
	/* -h and -v are everywhere. */
	assert_int_equal(refused, 3 * 50);
}

static void parsing(void **state)
{
	char text[200];
	struct options_common c;
	struct error e;
	struct seen s;

	assert_int_equal(parse(&record_spec, "-ai 5 --color=never --TCC=90 ls -l", text, &s, &c, &e), 0);
	assert_string_equal(s.text, "- 5 90");
	assert_int_equal(s.n, 2);
	assert_string_equal(s.operand[0], "ls");
	assert_string_equal(s.operand[1], "-l");
	assert_int_equal(c.color, OPTIONS_COLOR_NEVER);
	assert_false(options_use_color(&c, 1));
	options_common_release(&c);

	assert_int_equal(parse(&show_spec, "f --color", text, &s, &c, &e), 0);
	assert_true(options_use_color(&c, -1));
	options_common_release(&c);

	assert_int_equal(parse(&show_spec, "--color=auto", text, &s, &c, &e), 0);
	assert_false(options_use_color(&c, -1));
	options_common_release(&c);

	assert_int_equal(parse(&record_spec, "-p x", text, &s, &c, &e), -EINVAL);
	assert_string_equal(e.text, "--pid: 'x' is not a number");
	options_common_release(&c);

	assert_int_equal(parse(&record_spec, "--color=pink", text, &s, &c, &e), -EINVAL);
	options_common_release(&c);

	assert_int_equal(parse(&record_spec, "-h", text, &s, &c, &e), 1);
	assert_string_equal(buf_str(&c.text), "Usage: brief\n");
	options_common_release(&c);

	assert_int_equal(parse(&record_spec, "--help=all", text, &s, &c, &e), 1);
	assert_non_null(strstr(buf_str(&c.text), "--overwrite"));
	assert_non_null(strstr(buf_str(&c.text), "--color"));
	options_common_release(&c);

	assert_int_equal(parse(&bare_spec, "-S f", text, &s, &c, &e), -EINVAL);
	assert_string_equal(e.text, "'f': pmrec doctor takes no operands");
	options_common_release(&c);

	assert_int_equal(parse(&show_spec, "--base a b -S c", text, &s, &c, &e), 0);
	assert_string_equal(s.text, "a b -");
	assert_int_equal(s.n, 1);
	options_common_release(&c);

	assert_int_equal(parse(&show_spec, "-v", text, &s, &c, &e), 1);
	assert_string_equal(buf_str(&c.text), "pmrep " PM_VERSION "\n");
	options_common_release(&c);
}

static void nearest(void **state)
{
	static const char *const words[] = { "show", "info", "list", "dump", "check", NULL };
	static const char *const blank[] = { "", NULL };

	assert_string_equal(options_nearest("chekc", words, SIZE_MAX), "check");
	assert_string_equal(options_nearest("LIST", words, SIZE_MAX), "list");
	assert_string_equal(options_nearest("shw", words, 1), "show");
	assert_null(options_nearest("recording.pmr", words, SIZE_MAX));
	assert_null(options_nearest("chekc", words, 3));
	assert_null(options_nearest("x", blank, SIZE_MAX));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words),
		cmocka_unit_test(letters),
		cmocka_unit_test(parsing),
		cmocka_unit_test(nearest),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
