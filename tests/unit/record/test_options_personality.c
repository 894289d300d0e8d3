/* Command lines of turbostat and perf stat: what recorder and report are asked for, what is refused, and the status of
 * it all. Nothing is recorded. */
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "record/commands.h"
#include "tests/unit/lib/command.h"
#include "tests/unit/lib/sysroot.h"
#include "tests/unit/lib/test.h"

/* ---- who would record and report ---- */

enum { SAYS = 1, TURBOSTAT = 2, BRIEF = 4, KEEPS = 8 };

/* What a process that asked has found: it ends with the words that it made. */
static struct {
	char recorder[4096], reporter[4096], said[65536];
	int mode;
} * found;
static struct joined answer;         /* of the recorder */
static int answer_code, reader_ends; /* status; below 0: by that signal */

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
		      (j->keeps ? KEEPS : 0);
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

pid_t command_start_reader(char *const *argv, int from, bool to_stderr)
{
	if (fcntl(from, F_GETFD) < 0)
		abort();
	join(found->reporter, sizeof(found->reporter), argv);
	return ends(reader_ends);
}

int command_exec_pmrep(const char *there, char *const *argv, struct error *e)
{
	join(found->reporter, sizeof(found->reporter), argv);
	return error_set(e, ENOENT, "nobody reports");
}

/* ---- asking ---- */

/* The status; found->said has what it printed. */
static int ask(int (*command)(int, char **), const char *words)
{
	memset(found, 0, sizeof(*found));
	return command_run(command, words, found->said, sizeof(found->said));
}

#define PERF "pmrec --quiet --privacy=full -o - --sources=perf -i 0"
#define STAT "pmrep stat --quiet --no-quotes"
#define TURBO \
	"pmrec --quiet --privacy=full -o - -a -e instructions " \
	"--sources=perf,msr,add,cpuidle,cpufreq,interrupts,throttle,powercap,gfx,uncorefreq,lpi -i 5"
#define SHOW  "pmrep show --format=turbostat"
#define PLAIN " --no-big-num --log-fd 2 -"

/* What recorder and report are told. */
static void words_are_translated(void **state)
{
	static const struct {
		const char *words, *record, *report;
	} perf[] = {
		{ "-e cycles true", PERF " -e cycles -- true", STAT PLAIN },
		{ "-a -- --keep", PERF " -a -- --keep", STAT PLAIN },
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
		{ "--no-merge true", PERF " -- true", STAT " --no-merge" PLAIN },
		/* The last of them counts, and the report finds it. */
		{ "-A --per-core -a true", PERF " -a -- true", STAT " --no-aggr --per-core" PLAIN },
		{ "-I 0 true", PERF " -- true", STAT PLAIN },
		{ "-I 1 true", PERF " -I 1 -- true", STAT " --all" PLAIN },
		{ "-I 100 --interval-count 3 true", PERF " -I 100 -n 3 -- true", STAT " --all" PLAIN },
		{ "-I 100 --interval-count 0 true", PERF " -I 100 -- true", STAT " --all" PLAIN },
		{ "--timeout 0 true", PERF " -- true", STAT PLAIN },
		{ "-C ,0,,1, -a true", PERF " -C 0,1 -a -- true", STAT PLAIN },
		{ "--control fd:1 true", PERF " --control fd:1 -- true", STAT PLAIN },
		{ "--per-cache=L2 -a true", PERF " -a -- true", STAT " --per-cache=L2" PLAIN },
		{ "--per-thread -p 1", PERF " --per-thread -p 1", STAT " --per-thread" PLAIN },
	}, turbo[] = {
		{ "-i 2 -n 3", TURBO " -i 2 -n 3", SHOW " --all -" },
		{ "-i .001", TURBO " -i .001", SHOW " --all -" },
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
		{ "-o /dev/null", TURBO, SHOW " -o /dev/null --overwrite --all -" },
		{ "sleep 1", TURBO " -- sleep 1", SHOW " --total -" },
		{ "-l", TURBO " -i 0.001 -n 1", SHOW " --list --all -" },
		{ "-D true", TURBO " -i 0.001 -n 1", SHOW " --Dump --all -" },
		{ "-M -P", TURBO " --no-msr --no-perf", SHOW " --no-msr --no-perf --all -" },
		{ "-T 100 -J -I -q", TURBO " --TCC 100", SHOW " --TCC 100 --Joules --IPC --quiet --all -" },
		{ "-a msr0x10", TURBO " --add msr0x10", SHOW " --all -" },
	};

	for (size_t i = 0; i < sizeof(perf) / sizeof(*perf); i++) {
		assert_int_equal(ask(cmd_perfstat, perf[i].words), 0);
		assert_string_equal(found->recorder, perf[i].record);
		assert_string_equal(found->reporter, perf[i].report);
		assert_int_equal(found->mode, SAYS | BRIEF);
	}
	for (size_t i = 0; i < sizeof(turbo) / sizeof(*turbo); i++) {
		assert_int_equal(ask(cmd_turbostat, turbo[i].words), 0);
		assert_string_equal(found->recorder, turbo[i].record);
		assert_string_equal(found->reporter, turbo[i].report);
		assert_int_equal(found->mode, TURBOSTAT);
	}
	assert_int_equal(ask(cmd_perfstat, "--keep=/dev/null true"), 0);
	assert_string_equal(found->recorder, PERF " --overwrite -o /dev/null -- true");
	assert_int_equal(found->mode, SAYS | KEEPS);
	assert_int_equal(ask(cmd_turbostat, "--keep=/dev/null"), 0);
	assert_string_equal(found->recorder, TURBO " --overwrite -o /dev/null");
	assert_int_equal(found->mode, TURBOSTAT | KEEPS);
}

/* Nothing runs: 129 (turbostat: 1) for wrong usage, else 1. */
static void wrong_words_are_refused(void **state)
{
	static const struct {
		const char *words;
		int status;
		const char *text;
	} perf[] = {
		{ "--frob", 129, "perf stat: unrecognized option '--frob'" },
		{ "-a --per", 129, "option '--per' is ambiguous" },
		{ "-e", 129, "option requires an argument -- 'e'" },
		{ "record --frob true", 129, "unrecognized option '--frob'" },
		{ "report --frob", 129, "unrecognized option '--frob'" },
		{ "-h", 129, "Usage: perf stat" },
		{ "--help", 0, "    -i, --no-inherit\n        --inherit\n    -p, --pid ...\n" },
		{ "--help", 0, "Ours:\n        --per-cluster\n            one line" },
		{ "--log-fd 77 true", 129, "an open descriptor above 0" },
		{ "--log-fd 0 true", 129, "an open descriptor above 0" },
		{ "--log-fd 1 -o /dev/null true", 129, "mutually exclusive" },
		{ "--per-core true", 129, "add --all-cpus or --cpu" },
		{ "--per-socket -p 1", 129, "add --all-cpus or --cpu" },
		{ "-G x -e y -t 1", 129, "add --all-cpus or --cpu" },
		{ "-B -x, true", 129, "--big-num is for the table" },
		{ "--iostat -j", 129, "has no JSON" },
		{ "--iostat --root=/nowhere", 129, "no IIO PMU here" },
		{ "-o /nowhere/x true", 1, "cannot write '/nowhere/x'" },
		{ "record -o /nowhere/x true", 1, "cannot write '/nowhere/x'" },
	}, turbo[] = {
		{ "--frob", 1, "Usage: turbostat" },
		{ "-h", 1, "Usage: turbostat" },
		{ "-i 0.0009", 1, "at least 0.001 s" },
		{ "-i x", 1, "at least 0.001 s" },
		{ "-o /nowhere/x", 1, "cannot write '/nowhere/x'" },
	};

	for (size_t i = 0; i < sizeof(perf) / sizeof(*perf); i++) {
		assert_int_equal(ask(cmd_perfstat, perf[i].words), perf[i].status);
		assert_non_null(strstr(found->said, perf[i].text));
		assert_string_equal(found->recorder, "");
	}
	for (size_t i = 0; i < sizeof(turbo) / sizeof(*turbo); i++) {
		assert_int_equal(ask(cmd_turbostat, turbo[i].words), turbo[i].status);
		assert_non_null(strstr(found->said, turbo[i].text));
		assert_string_equal(found->recorder, "");
	}
	assert_int_equal(ask(cmd_turbostat, "-v"), 0);
	assert_string_equal(found->said, "turbostat version 2022.10.04 - pmrec\n");
	assert_int_equal(ask(cmd_perfstat, "-a -C 0 -p 1"), 0);
	assert_string_equal(found->said, "PID/TID switch overriding CPU\n");
	assert_int_equal(ask(cmd_perfstat, "-a -p 1"), 0);
	assert_string_equal(found->said, "PID/TID switch overriding SYSTEM\n");
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
		cmocka_unit_test(words_are_translated),
		cmocka_unit_test(wrong_words_are_refused),
		cmocka_unit_test(ports_are_counted),
	};

	found = mmap(NULL, sizeof(*found), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (found == MAP_FAILED)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
