/* Whole runs of the recorder on a machine of files: the status, what it says, and what a report is told of it. */
#include <signal.h>
#include <sys/mman.h>

#include "record/commands.h"
#include "record/joined.h"
#include "tests/unit/lib/command.h"
#include "tests/unit/lib/sysroot.h"
#include "tests/unit/lib/test.h"

static char dir[32], said[65536];
static struct joined *joined; /* shared with the process that records */

void command_suggest(char *const *argv, struct error *e)
{
	struct error was = *e;

	error_set(e, was.number, "%s; or what?", was.text);
}

static int setup(void **state)
{
	sysroot_make(dir, NULL);
	sysroot_put(dir, "/sys/devices/system/cpu/online", "0-1\n");
	sysroot_put(dir, "/proc/stat", "cpu 1\ncpu0 1 2\ncpu1 3 4\nctxt 5\n");
	sysroot_put(dir, "/sys/bus/event_source/devices/box_7/type", "77\n");
	sysroot_put(dir, "/sys/bus/event_source/devices/box_7/events/beats", "event=1\n");
	sysroot_put(dir, "/exit3", "exit 3\n");
	sysroot_put(dir, "/term", "kill -TERM $$\n");
	sysroot_put(dir, "/long", "exec sleep 100\n");
	joined = mmap(NULL, sizeof(*joined), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return joined == MAP_FAILED;
}

static int teardown(void **state)
{
	sysroot_remove(dir);
	return 0;
}

/* "@" stands for the folder. */
static const char *placed(const char *words)
{
	static char text[900];
	size_t n = 0;

	for (; *words; words++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, *words == '@' ? dir : "%c", *words);
	return text;
}

static void says(const char *text)
{
	if (!strstr(said, text))
		fail_msg("no '%s' in:\n%s", text, said);
}

static bool exists(const char *name)
{
	return !access(placed(name), F_OK);
}

#define STAT "--root=@ --sources=stat --overwrite -o @/x.pmr "

static void a_run_has_a_status(void **state)
{
	static const struct {
		const char *words;
		int status;
		const char *text;
		bool kept;
	} row[] = {
		{ STAT "-i 0.005 -n 2", 0, "/x.pmr: ", true },
		{ STAT "-i 0.005 -n 1 -q", 0, "", true },
		{ STAT "-i 0 -- true", 0, "/x.pmr: 2 snapshots, ", true },
		{ STAT "-i 0 -r 3 -- true", 0, "/x.pmr: 6 snapshots, ", true },
		{ STAT "-i 0 -- sh @/exit3", 3, "/x.pmr: 2 snapshots, ", true },
		{ STAT "-i 0 -- sh @/term", 143, "/x.pmr: 2 snapshots, ", true },
		{ STAT "-i 0 --timeout 20 -- sh @/long", 143, "/x.pmr: 2 snapshots, ", true },
		{ STAT "-i 0 --timeout 20", 0, "/x.pmr: 2 snapshots, ", true },
		{ STAT "-i 0.005 -n 2 -- sh @/long", 143, "/x.pmr: ", true },
		{ STAT "-i 0 -D 1000 -- true", 0, "/x.pmr: 2 snapshots, ", true },
		/* A recording of nothing is not kept. */
		{ STAT "-i 0 -- @/none", 127, "/none': cannot run the command: No such file or directory; or what?",
		  false },
		{ STAT "-i 0 -- @/exit3", 126, "/exit3': cannot run the command: Permission denied", false },
		{ STAT "-i 0 --pre=false -- true", EXIT_OWN, "--pre: 'false' ended with 1", true },
		{ STAT "-i 0 --post=false -- true", EXIT_OWN, "--post: 'false' ended with 1", true },
		{ STAT "-i 0 --pre=true --post=true -- sh @/exit3", 3, "2 snapshots", true },
		{ "--root=@ --sources=stat -o @/none/x.pmr", EXIT_OWN, "/none/x.pmr", false },
		{ "--root=@/none --sources=stat -o @/x.pmr", EXIT_OWN, "/none", false },
		{ STAT "--control=fifo:@/none", EXIT_OWN, "create it with mkfifo", false },
		{ STAT "-e x -n 1", EXIT_OWN, "-e names events, but --sources excludes perf", false },
		{ STAT "-M x -n 1", EXIT_OWN, "-M names events, but --sources excludes perf", false },
		{ STAT "--control=file", EXIT_OWN, "neither fd: nor fifo:", false },
		{ STAT "-e x -n 1 -l", 0, "box_7/beats/", false },
		{ "--help", 0, "Usage: pmrec [OPTION...]", false },
		{ "--frob", EXIT_OWN, "--frob", false },
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		int status;

		unlink(placed("@/x.pmr"));
		status = command_run(cmd_record, placed(row[i].words), said, sizeof(said));
		if (status != row[i].status)
			fail_msg("%s: %d: %s", row[i].words, status, said);
		says(row[i].text);
		/* Who failed is not told of a result. */
		if (status >= EXIT_OWN && status <= EXIT_NO_COMMAND && strstr(said, "snapshot"))
			fail_msg("%s: %s", row[i].words, said);
		if (exists("@/x.pmr") != row[i].kept)
			fail_msg("%s: %s", row[i].words, row[i].kept ? "no file" : "a file");
	}
	/* What is there stays. */
	sysroot_put(dir, "/x.pmr", "mine");
	assert_int_equal(command_run(cmd_record, placed("--root=@ --sources=stat -n 1 -i 0.01 -o @/x.pmr"), said,
				     sizeof(said)),
			 EXIT_OWN);
	says("--overwrite");
}

#define JOINED "--root=@ --sources=stat --quiet -o - "

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_run_has_a_status),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
