/* Command lines of turbostat and perf stat: what recorder and report are asked for, what is refused, and the status of
 * it all. Nothing is recorded. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "record/commands.h"
#include "record/joined.h"
#include "record/personality.h"
#include "tests/unit/lib/command.h"
#include "tests/unit/lib/sysroot.h"

/* ---- who would record and report ---- */

enum { SAYS = 1, TURBOSTAT = 2, BRIEF = 4, NEEDS = 8 };

/* What a process that asked has found: it ends with the words that it made. */
static struct {
	char recorder[4096], reporter[4096], kept[64], said[65536];
	int mode;
} * found;
static struct joined answer;                      /* of the recorder */
static int answer_code, reader_ends, keeper_ends; /* statuses; below 0: by that signal */

static void join(char *out, size_t size, char *const *word)
{
	out[0] = '\0';
	for (; *word; word++)
		snprintf(out + strlen(out), size - strlen(out), "%s%.500s", *out ? " " : "", *word);
}

int record_joined(int argc, char **argv, struct joined *j)
{
	struct joined asked = *j;

	if (argv[argc])
		abort();
	join(found->recorder, sizeof(found->recorder), argv);
	found->mode = (j->says ? SAYS : 0) | (j->turbostat ? TURBOSTAT : 0) | (j->brief ? BRIEF : 0) |
		      (j->needs ? NEEDS : 0);
	*j = answer;
	j->fd = asked.fd;
	return answer_code;
}

/* A process that ends so. */
static pid_t ends(int how)
{
	pid_t pid = how ? fork() : 0;

	if (how && !pid) {
		if (how < 0)
			raise(-how);
		_exit(how);
	}
	return pid;
}

pid_t personality_start_reader(const struct asked *a, int from)
{
	if (fcntl(from, F_GETFD) < 0)
		abort();
	join(found->reporter, sizeof(found->reporter), a->report.word);
	return ends(reader_ends);
}

pid_t personality_start_keeper(const struct asked *a, const char *path, const int from[2], int to)
{
	snprintf(found->kept, sizeof(found->kept), "%.32s%s", path, to < 0 ? " alone" : "");
	return ends(keeper_ends);
}

int cmd_report(int argc, char **argv)
{
	if (argv[argc])
		abort();
	join(found->reporter, sizeof(found->reporter), argv);
	return 77;
}

/* ---- asking ---- */

/* The status; found->said has what it printed. */
static int ask(int (*command)(int, char **), const char *words)
{
	memset(found, 0, sizeof(*found));
	return command_run(command, words, found->said, sizeof(found->said));
}

#define PERF   "pmrec --quiet --privacy=full -o - --sources=perf -i 0"
#define STAT   "pmrep stat --quiet --no-quotes --metric-style=classic"
#define STAT_7 "pmrep stat --quiet --no-quotes"
#define NAMED  " --metric-style=named"
#define TURBO \
	"pmrec --quiet --privacy=full -o - -a -e instructions " \
	"--sources=perf,msr,add,cpuidle,cpufreq,interrupts,throttle,powercap,gfx,uncorefreq,lpi,pmt -i 5"
#define SHOW  "pmrep show --format=turbostat"
#define PLAIN " --no-big-num --log-fd 2 -"

/* What recorder and report are told. */
static void words_are_translated(void **state)
{
	static const struct {
		const char *words, *record, *report;
	} perf[] = {
		{ "-e cycles true", PERF " -e cycles -- true", STAT PLAIN },
		{ "--as=7.2 -e cycles true", PERF " -e cycles -- true",
		  STAT_7 " --no-big-num --metric-style=none --log-fd 2 -" },
		{ "--as=7.2 --pfm-events x true", PERF " --pfm-events x -- true",
		  STAT_7 " --no-big-num --metric-style=none --log-fd 2 -" },
		{ "--as=7.2 true", PERF " -- true", STAT_7 NAMED PLAIN },
		{ "--as=6.1 true --as=7.2", PERF " -- true --as=7.2", STAT PLAIN },
		{ "-a -- --as=7.2", PERF " -a -- --as=7.2", STAT PLAIN },
		/* Numbers for programs have no groups of digits anyway. */
		{ "-x, -e x true", PERF " -e x -- true", STAT " -x , --log-fd 2 -" },
		{ "-j true", PERF " -- true", STAT " -j --log-fd 2 -" },
		/* Events take the meaning of --null, and -d needs no second word beside them. */
		{ "-e a,b -d -n true", PERF " -e a,b -d -- true", STAT " --null" PLAIN },
		{ "-M m -d -n true", PERF " -M m -d -- true", STAT " -M m --null" PLAIN },
		{ "-d -n true", PERF " -d --null -- true", STAT " -d --null" PLAIN },
		{ "-o /dev/null --append true", PERF " -- true", STAT " --append --no-big-num -o /dev/null -" },
		{ "-o /dev/null true", PERF " -- true", STAT " --no-big-num -o /dev/null --overwrite -" },
		{ "--append --log-fd 1 true", PERF " -- true", STAT " --no-big-num --log-fd 1 -" },
		{ "-o - true", PERF " -- true", STAT PLAIN },
		{ "--quiet true", PERF " -- true", "" },
		{ "-a -p 1 -C 0", PERF " -p 1", STAT PLAIN },
		{ "-a -t 1", PERF " -t 1", STAT PLAIN },
		{ "-p 1 -t 1", PERF " -p 1", STAT PLAIN },
		{ "--topdown --td-level 1 true", PERF " --topdown --td-level 1 -- true",
		  STAT " --topdown --metric-only --td-level 1" PLAIN },
		{ "--td-level 1 true", PERF " -- true", STAT PLAIN },
		{ "--as=7.2 --topdown --td-level 2 --root=/nowhere true", PERF " --root /nowhere -M TopdownL2 -- true",
		  STAT_7 NAMED " --topdown --metric-only --td-level 2" PLAIN },
		{ "--as=7.2 --topdown --root=/nowhere true", PERF " --root /nowhere -M TopdownL1 -- true",
		  STAT_7 NAMED " --topdown --metric-only" PLAIN },
		{ "--no-merge true", PERF " -- true", STAT " --no-merge" PLAIN },
		{ "--as=7.2 --no-merge -a true", PERF " -a -- true", STAT_7 NAMED " --no-merge --no-aggr" PLAIN },
		/* The older takes the last of them, and the report finds it. */
		{ "-A --per-core -a true", PERF " -a -- true", STAT " --no-aggr --per-core" PLAIN },
		{ "--as=7.2 --per-node --per-cache=L2 --per-core -a true", PERF " -a -- true",
		  STAT_7 NAMED " --per-core" PLAIN },
		{ "--as=7.2 --per-node --per-cache -a true", PERF " -a -- true", STAT_7 NAMED " --per-cache" PLAIN },
		{ "-I 0 true", PERF " -- true", STAT PLAIN },
		{ "-I 1 true", PERF " -I 1 -- true", STAT " --all" PLAIN },
		{ "-I 100 --interval-count 3 true", PERF " -I 100 -n 3 -- true", STAT " --all" PLAIN },
		{ "-I 100 --interval-count -1 true", PERF " -I 100 -- true", STAT " --all" PLAIN },
		{ "--timeout 0 true", PERF " -- true", STAT PLAIN },
		{ "-C ,0,,1, -a true", PERF " -C 0,1 -a -- true", STAT PLAIN },
		{ "--control fd:1 true", PERF " --control fd:1 -- true", STAT PLAIN },
		{ "--no-aff true", PERF " -- true", STAT PLAIN },
		{ "--per-thread -p 1", PERF " --per-thread -p 1", STAT " --per-thread --sort value" PLAIN },
	}, turbo[] = {
		{ "-i 2 -n 3", TURBO " -i 2.000000000 -n 3", SHOW " --all -" },
		{ "-i 0x10 -n 010", TURBO " -i 16.000000000 -n 8", SHOW " --all -" },
		{ "-i .001", TURBO " -i 0.001000000", SHOW " --all -" },
		{ "-N 5 -S", TURBO, SHOW " --header_iterations 5 --Summary --all -" },
		{ "-N 5 --Su", TURBO, SHOW " --header_iterations 5 --Summary --all -" },
		{ "-N 5", TURBO, SHOW " --all -" },
		{ "-c core", TURBO, SHOW " --cpu core --all -" },
		{ "-c package", TURBO, SHOW " --cpu package --all -" },
		{ "-c ,0,,1,", TURBO, SHOW " --cpu 0,1 --all -" },
		{ "-c 0..3", TURBO, SHOW " --cpu 0..3 --all -" },
		{ "--show a,,b --hide ,c", TURBO, SHOW " --show a,b --hide c --all -" },
		/* The first --show discards what was enabled before it. */
		{ "-e x -d -s y -s w", TURBO, SHOW " --header=cpus --show y --show w --all -" },
		{ "-s y -e x -s w", TURBO, SHOW " --show y --enable x --show w --all -" },
		{ "-d", TURBO, SHOW " --enable usec,Time_Of_Day_Seconds,APIC,X2APIC --header=cpus --all -" },
		{ "--as=2026 -d", TURBO,
		  SHOW "=2026 --enable usec,Time_Of_Day_Seconds,APIC,X2APIC --header=cpus --debug --all -" },
		{ "-o /dev/null", TURBO, SHOW " -o /dev/null --overwrite --all -" },
		{ "sleep 1", TURBO " -- sleep 1", SHOW " --total -" },
		{ "-l", TURBO " -i 0.001 -n 1", SHOW " --list --all -" },
		{ "-D true", TURBO " -i 0.001 -n 1", SHOW " --Dump --all -" },
		{ "--force -M -P", TURBO " --no-msr --no-perf", SHOW " --no-msr --no-perf --all -" },
		{ "-T 100 -J -I -q", TURBO " --TCC 100", SHOW " --TCC 100 --Joules --IPC --quiet --all -" },
		{ "-a msr0x10", TURBO " --add msr0x10", SHOW " --all -" },
	};

	for (size_t i = 0; i < sizeof(perf) / sizeof(*perf); i++) {
		assert_int_equal(ask(cmd_perfstat, perf[i].words), 0);
		assert_string_equal(found->recorder, perf[i].record);
		assert_string_equal(found->reporter, perf[i].report);
		assert_int_equal(found->mode, SAYS | BRIEF | (strncmp(perf[i].words, "--as=7", 6) ? 0 : NEEDS));
	}
	for (size_t i = 0; i < sizeof(turbo) / sizeof(*turbo); i++) {
		assert_int_equal(ask(cmd_turbostat, turbo[i].words), 0);
		assert_string_equal(found->recorder, turbo[i].record);
		assert_string_equal(found->reporter, turbo[i].report);
		assert_int_equal(found->mode, TURBOSTAT);
	}
}

/* Files of recordings, and reports of them. */
static void recordings_are_kept(void **state)
{
	static const struct {
		const char *words, *kept, *report;
	} row[] = {
		{ "--keep=/dev/null true", "/dev/null alone", STAT PLAIN },
		{ "record -o /dev/null true", "/dev/null alone", STAT PLAIN },
		{ "record -o - true", "- alone", STAT PLAIN },
		{ "--keep=/dev/zero record -o /dev/null true", "/dev/null alone", STAT PLAIN },
		{ "--keep=/dev/null record true", "/dev/null alone", STAT PLAIN },
		{ "-o /dev/full record -o /dev/null true", "/dev/null alone",
		  STAT " --no-big-num -o /dev/full --overwrite -" },
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		assert_int_equal(ask(cmd_perfstat, row[i].words), 0);
		assert_string_equal(found->kept, row[i].kept);
		assert_string_equal(found->recorder, PERF " -- true");
		assert_string_equal(found->reporter, row[i].report);
		assert_int_equal(found->mode, SAYS);
	}
	assert_int_equal(ask(cmd_perfstat, "report -I 1 -i /dev/null"), 77);
	assert_string_equal(found->reporter,
			    "report stat --quiet --no-quotes --metric-style=classic --all --log-fd 2 "
			    "/dev/null");
	assert_string_equal(found->kept, "");
	assert_int_equal(ask(cmd_perfstat, "report -i /dev/null"), 77);
	assert_string_equal(found->reporter,
			    "report stat --quiet --no-quotes --metric-style=classic --log-fd 2 /dev/null");
	assert_int_equal(ask(cmd_perfstat, "--as=7.2 report -i /dev/null"), 77);
	assert_string_equal(found->reporter,
			    "report stat --quiet --no-quotes --metric-style=none --log-fd 2 /dev/null");
	assert_int_equal(ask(cmd_perfstat, "report -i /nowhere"), 255);
	assert_non_null(strstr(found->said, "cannot read '/nowhere': No such file"));
	assert_string_equal(found->reporter, "");
}

/* Nothing runs; the status is that of the program, of which there are two generations. */
static void what_they_refuse_is_refused(void **state)
{
	enum { SAME = -1 };
	static const struct {
		const char *words;
		int status, newer;
		const char *text;
	} perf[] = {
		{ "--as=7.3 true", 129, 129, "--as=7.3: use 6.1 or 7.2" },
		{ "--frob", 129, SAME, "unknown option `--frob'" },
		{ "-a --per", 129, SAME, "unknown option `--per'" },
		{ "-e", 129, SAME, "`-e' requires a value" },
		{ "record --frob true", 129, SAME, "unknown option `--frob'" },
		{ "report --frob", 129, SAME, "unknown option `--frob'" },
		{ "-h", 129, SAME, "Usage: perf stat" },
		{ "--help", 0, SAME, "    -i, --no-inherit\n        --inherit\n    -p, --pid ...\n" },
		{ "--help", 0, SAME, "Ours:\n        --as=GENERATION\n            print as" },
		{ "-p 99999999", 234, 22, "no such process" },
		{ "-p 1,x", 234, 22, "no such process" },
		{ "-p 0", 234, 22, "no such process" },
		{ "-t 1,-1", 255, 1, "no such thread" },
		{ "-t 1,2147483647", 255, 1, "no such thread" },
		{ "--timeout 9 -a", 234, 22, "at least 10 ms" },
		{ "--timeout -1 -a", 129, SAME, "--timeout: '-1' is not a number" },
		{ "-I -1 -a", 129, SAME, "--interval-print: '-1' is not a number" },
		{ "-I 1s -a", 129, SAME, "--interval-print: '1s' is not a number" },
		{ "-r -1 true", 234, 22, "a number of runs is needed" },
		{ "-r x true", 129, SAME, "--repeat: 'x' is not a number" },
		{ "-r 2 record -o /dev/null true", 255, 255, "record takes no --repeat" },
		{ "-I 100 --timeout 500 true", 234, 22, "mutually exclusive" },
		{ "--interval-count 1 true", 234, 22, "--interval-count needs --interval-print" },
		{ "--interval-clear -I 100 -o /dev/null true", 255, 1, "needs a terminal" },
		{ "--interval-clear -I 100 true", 255, 1, "needs a terminal" },
		{ "--log-fd 77 true", 234, 22, "the descriptor is not open" },
		{ "--log-fd 0 true", 234, 22, "a number above 0" },
		{ "--log-fd 1 -o /dev/null true", 234, 22, "mutually exclusive" },
		{ "--table true", 234, 22, "--table needs --repeat" },
		{ "--per-thread true", 234, 22, "not a command alone" },
		{ "--per-thread -a -C 0 true", 234, 22, "mutually exclusive" },
		{ "--per-core true", 234, 22, "need --all-cpus or --cpu" },
		{ "--per-socket -p 1", 234, 22, "need --all-cpus or --cpu" },
		{ "-G x -e y -t 1", 234, 22, "need --all-cpus or --cpu" },
		{ "-B -x, true", 234, 22, "--big-num is for the table" },
		{ "-C 1-x true", 234, 22, "a list such as 0-3,8" },
		{ "-C 0..1 true", 234, 22, "a list such as 0-3,8" },
		{ "-C core true", 234, 22, "a list such as 0-3,8" },
		{ "--control foo true", 129, SAME, "of fifos that exist" },
		{ "--control fifo:/nowhere,/dev/null true", 129, SAME, "of fifos that exist" },
		{ "--per-cache=L9 -a true", 129, SAME, "L1 to L4" },
		{ "--per-cache=L22 -a true", 129, SAME, "L1 to L4" },
		{ "--per-cache=x2 -a true", 129, SAME, "L1 to L4" },
		{ "--tpebs-mode=x true", 129, SAME, "mean, min, max or last" },
		{ "--iostat -j", 234, 22, "has no JSON" },
		{ "--iostat --root=/nowhere", 129, SAME, "no IIO PMU here" },
		{ "-o /nowhere/x true", 255, 1, "cannot write '/nowhere/x'" },
		{ "record -o /nowhere/x true", 255, 255, "cannot write '/nowhere/x'" },
	}, turbo[] = {
		{ "--as=7.2", 1, SAME, "--as=7.2: use 2022 or 2026" },
		{ "--frob", 1, SAME, "Usage: turbostat" },
		{ "-h", 1, SAME, "Usage: turbostat" },
		{ "-i 0.0009", 2, SAME, "at least 0.001 s" },
		{ "-i x", 2, SAME, "at least 0.001 s" },
		{ "-n 0", 2, SAME, "--num_iterations: a number above 0" },
		{ "-N 0", 2, SAME, "--header_iterations: a number above 0" },
		{ "-c frob", 255, SAME, "core, package or a list" },
		{ "-o /nowhere/x", 1, SAME, "cannot write '/nowhere/x'" },
	};
	char words[200];

	for (size_t i = 0; i < sizeof(perf) / sizeof(*perf); i++) {
		int newer = perf[i].newer == SAME ? perf[i].status : perf[i].newer;

		assert_int_equal(ask(cmd_perfstat, perf[i].words), perf[i].status);
		assert_non_null(strstr(found->said, perf[i].text));
		snprintf(words, sizeof(words), "--as=7.2 %s", perf[i].words);
		assert_int_equal(ask(cmd_perfstat, words), newer);
		assert_string_equal(found->recorder, "");
	}
	for (size_t i = 0; i < sizeof(turbo) / sizeof(*turbo); i++) {
		assert_int_equal(ask(cmd_turbostat, turbo[i].words), turbo[i].status);
		assert_non_null(strstr(found->said, turbo[i].text));
		assert_string_equal(found->recorder, "");
	}
	assert_int_equal(ask(cmd_turbostat, "-v"), 0);
	assert_string_equal(found->said, "turbostat version 2022.10.04 - pmrec\n");
	assert_int_equal(ask(cmd_turbostat, "--as=2026 --version"), 0);
	assert_string_equal(found->said, "turbostat version 2026.04.21 - pmrec\n");
	assert_int_equal(ask(cmd_perfstat, "-a -C 0 -p 1"), 0);
	assert_string_equal(found->said, "PID/TID switch overriding CPU\n");
	assert_int_equal(ask(cmd_perfstat, "-a -p 1"), 0);
	assert_string_equal(found->said, "PID/TID switch overriding SYSTEM\n");
	assert_int_equal(ask(cmd_perfstat, "--timeout 99 -a"), 0);
	assert_non_null(strstr(found->said, "timeout < 100ms."));
	assert_int_equal(ask(cmd_perfstat, "--timeout 100 -a"), 0);
	assert_string_equal(found->said, "");
}

/* The status once it was recorded. */
static void it_ends_as_they_do(void **state)
{
	static const struct {
		bool perf;
		const char *words;
		struct joined answer;
		int code, reader, keeper, status;
	} row[] = {
		{ true, "true", { .ran = true }, 0, 0, 0, 0 },
		{ true, "true", { .ran = true, .status = 3 << 8 }, 3, 0, 0, 3 },
		{ true, "true", { .ran = true, .status = SIGKILL }, 137, 0, 0, 137 },
		{ false, "true", { .ran = true, .status = 3 << 8 }, 3, 0, 0, 3 },
		{ false, "true", { .ran = true, .status = SIGKILL }, 137, 0, 0, 9 },
		/* Who was ended by --timeout has no status of its own, but in perf 7. */
		{ true, "--timeout 100 true", { .ran = true, .cut = true, .status = SIGTERM }, 0, 0, 0, 0 },
		{ true,
		  "--as=7.2 --timeout 100 true",
		  { .ran = true, .cut = true, .status = SIGTERM },
		  0,
		  0,
		  0,
		  143 },
		{ true, "--as=7.2 true", { .ran = true, .cut = true, .status = SIGTERM }, 0, 0, 0, 0 },
		{ true, "true", { .failure = ENOENT }, 127, 0, 0, 255 },
		{ true, "--as=7.2 true", { .failure = ENOENT }, 127, 0, 0, 1 },
		{ false, "true", { .failure = ENOENT }, 127, 0, 0, ENOENT },
		{ true, "true", { .usage = true }, EXIT_OWN, 0, 0, 129 },
		{ false, "true", { .usage = true }, EXIT_OWN, 0, 0, 1 },
		{ true, "--topdown true", { .usage = true }, EXIT_OWN, 0, 0, 234 },
		{ true, "-T true", { .usage = true }, EXIT_OWN, 0, 0, 234 },
		{ true, "--as=7.2 -T true", { .usage = true }, EXIT_OWN, 0, 0, 22 },
		{ true, "-T -e x -G y -a true", { .usage = true }, EXIT_OWN, 0, 0, 129 },
		{ true, "-M x true", { .usage = true }, EXIT_OWN, 0, 0, 129 },
		{ true, "--as=7.2 -M x true", { .usage = true }, EXIT_OWN, 0, 0, 2 },
		{ true, "--as=7.2 -M x -e y true", { .usage = true }, EXIT_OWN, 0, 0, 129 },
		{ true, "true", { 0 }, EXIT_OWN, 0, 0, 1 },
		{ true, "true", { .unwanted = true }, EXIT_OWN, 0, 0, 0 },
		{ true, "true", { .refused = true }, 0, 0, 0, 1 },
		/* What the reader says of its output; a report of nothing is not its fault. */
		{ true, "true", { 0 }, 0, 2, 0, 1 },
		{ true, "true", { 0 }, 0, EXIT_OWN, 0, 1 },
		{ true, "true", { 0 }, 0, 1, 0, 0 },
		{ true, "true", { 0 }, 0, -SIGPIPE, 0, BY + SIGPIPE },
		{ true, "true", { 0 }, 0, -SIGKILL, 0, 0 },
		{ true, "--keep=/dev/null true", { 0 }, 0, 0, EXIT_OWN, 1 },
		{ true, "-a", { .signal = SIGINT }, 0, 0, 0, BY + SIGINT },
		{ true, "true", { .signal = SIGINT, .ran = true }, 0, 0, 0, 0 },
		{ true, "true", { .signal = SIGINT, .ran = true, .cut = true }, 0, 0, 0, BY + SIGINT },
		{ true, "true", { .signal = SIGINT, .ran = true, .status = SIGINT }, 0, 0, 0, BY + SIGINT },
		{ true, "true", { .signal = SIGTERM, .ran = true }, 0, 0, 0, BY + SIGTERM },
		{ false, "-q", { .signal = SIGINT }, 0, 0, 0, 0 },
		{ false, "-q", { .signal = SIGTERM }, 0, 0, 0, BY + SIGTERM },
		{ false, "-q", { .signal = SIGQUIT }, 0, 0, 0, BY + SIGQUIT },
		{ false, "true", { .signal = SIGQUIT, .ran = true, .status = 4 << 8 }, 0, 0, 0, 4 },
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		answer = row[i].answer;
		answer_code = row[i].code;
		reader_ends = row[i].reader;
		keeper_ends = row[i].keeper;
		assert_int_equal(ask(row[i].perf ? cmd_perfstat : cmd_turbostat, row[i].words), row[i].status);
	}
	answer = (struct joined){ 0 };
	answer_code = reader_ends = keeper_ends = 0;
}

/* Ports of Intel's servers, by what their PMUs say. */
static void ports_are_counted(void **state)
{
	static char dir[32];
	char words[128];

	sysroot_make(dir, NULL);
	sysroot_put(dir, "/sys/bus/event_source/devices/uncore_iio_0/die0", "0000:00\n");
	sysroot_put(dir, "/sys/bus/event_source/devices/uncore_iio_0/die1", "0000:80\n");
	sysroot_put(dir, "/sys/bus/event_source/devices/uncore_iio_1/die0", "0000:3d\n");
	snprintf(words, sizeof(words), "--root=%s --iostat=list", dir);
	assert_int_equal(ask(cmd_perfstat, words), 0);
	assert_string_equal(found->said,
			    "S0-uncore_iio_0<0000:00>\nS1-uncore_iio_0<0000:80>\nS0-uncore_iio_1<0000:3d>\n");
	assert_string_equal(found->recorder, "");
	snprintf(words, sizeof(words), "--root=%s -e x -p 1 --iostat", dir);
	assert_int_equal(ask(cmd_perfstat, words), 0);
	assert_string_equal(found->said,
			    "perf stat: --iostat: --event is ignored\nperf stat: --iostat: --pid is ignored\n");
	assert_non_null(strstr(found->reporter, " --iostat=0000:00=0.0,0000:80=0.1,0000:3d=1.0 "));
	assert_null(strstr(found->recorder, "-e x"));
	assert_null(strstr(found->recorder, "-p 1"));
	assert_non_null(strstr(found->recorder, " -a"));
	/* Each PMU counts once, for all of its dies. */
	assert_non_null(strstr(found->recorder, "-e {uncore_iio_0/event=0x83,umask=0x04,ch_mask=0xf,fc_mask=0x7/,"
						"uncore_iio_0/event=0x83,umask=0x01,ch_mask=0xf,fc_mask=0x7/,"
						"uncore_iio_0/event=0xc0,umask=0x04,ch_mask=0xf,fc_mask=0x7/,"
						"uncore_iio_0/event=0xc0,umask=0x01,ch_mask=0xf,fc_mask=0x7/} "
						"-e {uncore_iio_1/"));
	assert_null(strstr(strstr(found->recorder, "{uncore_iio_0") + 1, "{uncore_iio_0"));
	snprintf(words, sizeof(words), "--root=%s --iostat=0000:3d,x,0001:00,0000:80", dir);
	assert_int_equal(ask(cmd_perfstat, words), 0);
	assert_non_null(strstr(found->said, "'x,0001:00,0000:80' is not a port"));
	assert_non_null(strstr(found->said, "there is no port 0001:00"));
	assert_non_null(strstr(found->reporter, " --iostat=0000:3d=1.0,0000:80=0.1 "));
	snprintf(words, sizeof(words), "--root=%s --iostat=0000:81", dir);
	assert_int_equal(ask(cmd_perfstat, words), 129);
	assert_string_equal(found->recorder, "");
	sysroot_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_translated),        cmocka_unit_test(recordings_are_kept),
		cmocka_unit_test(what_they_refuse_is_refused), cmocka_unit_test(it_ends_as_they_do),
		cmocka_unit_test(ports_are_counted),
	};

	found = mmap(NULL, sizeof(*found), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (found == MAP_FAILED)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
