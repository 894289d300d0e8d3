/* What others ask of a recorder, and what it tells them: control lines, markers by socket, signals, triggers, progress. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/commands.h"
#include "record/control.h"
#include "record/host/clocks.h"
#include "record/joined.h"
#include "record/marksocket.h"
#include "record/pressure.h"
#include "record/progress.h"
#include "record/recorder.h"

/* ---- control lines ---- */

static struct control control;
static int to, from;

static void begin(bool with_ack)
{
	int ctl[2], ack[2];
	struct error e = { 0 };
	char where[48];

	assert_int_equal(pipe2(ctl, O_CLOEXEC | O_NONBLOCK), 0);
	assert_int_equal(pipe2(ack, O_CLOEXEC | O_NONBLOCK), 0);
	snprintf(where, sizeof(where), with_ack ? "fd:%d,%d" : "fd:%d", ctl[0], ack[1]);
	assert_int_equal(control_open(&control, where, &e), 0);
	/* It has its own. */
	close(ctl[0]);
	close(ack[1]);
	to = ctl[1];
	from = ack[0];
}

static void end(void)
{
	control_close(&control);
	if (to >= 0)
		close(to);
	close(from);
}

static void put(const char *text)
{
	assert_int_equal(write(to, text, strlen(text)), (ssize_t)strlen(text));
}

static void words_are_commands(void **state)
{
	static const struct {
		const char *line;
		enum control_verb verb;
		const char *text;
	} cases[] = {
		{ "ping", CONTROL_PING, "" },
		{ "enable", CONTROL_ENABLE, "" },
		{ "enable cycles", CONTROL_ENABLE, "cycles" },
		{ "disable", CONTROL_DISABLE, "" },
		{ "snapshot", CONTROL_SNAPSHOT, "" },
		{ "mark \t two words ", CONTROL_MARK, "two words " },
		{ "mark a-b", CONTROL_MARK, "a-b" },
		{ "dump", CONTROL_DUMP, "" },
		{ "stop", CONTROL_STOP, "" },
		{ "evlist", CONTROL_EVLIST, "" },
		{ "enable-event cycles", CONTROL_ENABLE, "cycles" },
		{ "disable-event cycles", CONTROL_DISABLE, "cycles" },
		/* One event needs a name. */
		{ "enable-event", CONTROL_UNKNOWN, "" },
		{ "disable-event ", CONTROL_UNKNOWN, "" },
		{ "enabled", CONTROL_UNKNOWN, "" },
		{ "pin", CONTROL_UNKNOWN, "" },
		{ " ping", CONTROL_UNKNOWN, "ping" },
	};
	struct control_command c;

	begin(true);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		put(cases[i].line);
		put("\n");
		assert_true(control_next(&control, &c));
		assert_int_equal(c.verb, cases[i].verb);
		assert_string_equal(c.text, cases[i].text);
		assert_false(control_next(&control, &c));
	}
	end();
}

static void lines_come_in_pieces(void **state)
{
	char text[5000];
	struct control_command c;

	begin(true);
	assert_false(control_next(&control, &c));
	put("pi");
	assert_false(control_next(&control, &c));
	put("ng\n\n\nstop");
	assert_true(control_next(&control, &c));
	assert_int_equal(c.verb, CONTROL_PING);
	assert_false(control_next(&control, &c));
	/* A program may end its words as C does. */
	assert_int_equal(write(to, "\0dump", 5), 5);
	assert_true(control_next(&control, &c));
	assert_int_equal(c.verb, CONTROL_STOP);
	/* What is too long is cut. */
	put("\nmark ");
	memset(text, 'x', sizeof(text));
	assert_int_equal(write(to, text, sizeof(text)), sizeof(text));
	put("\n");
	assert_true(control_next(&control, &c));
	assert_int_equal(c.verb, CONTROL_DUMP);
	assert_true(control_next(&control, &c));
	assert_int_equal(c.verb, CONTROL_MARK);
	assert_int_equal(strlen(c.text), sizeof(control.line) - 1 - 5);
	/* The last line needs no end, and after it nobody listens. */
	put("evlist");
	close(to);
	to = -1;
	assert_true(control_next(&control, &c));
	assert_int_equal(c.verb, CONTROL_EVLIST);
	assert_int_equal(control.ctl, -1);
	assert_false(control_next(&control, &c));
	end();
}

static void answers_say_what_was_wrong(void **state)
{
	char got[400], long_text[400];

	begin(true);
	control_answer(&control, NULL);
	control_answer(&control, "no");
	assert_int_equal(read(from, got, sizeof(got)), 7);
	assert_memory_equal(got, "ack\nno\n", 7);
	memset(long_text, 'y', sizeof(long_text) - 1);
	long_text[sizeof(long_text) - 1] = '\0';
	control_answer(&control, long_text);
	assert_int_equal(read(from, got, sizeof(got)), 251);
	/* One that does not read is not waited for. */
	for (int i = 0; i < 20000; i++)
		control_answer(&control, NULL);
	assert_true(control.ack >= 0);
	end();
	begin(false);
	assert_int_equal(control.ack, -1);
	control_answer(&control, NULL);
	end();
}

static void only_pipes_are_taken(void **state)
{
	static const struct {
		const char *where;
		int err;
		const char *said;
	} cases[] = {
		{ "fd:x", -EINVAL, "names no file descriptors" },
		{ "fd:", -EINVAL, "names no file descriptors" },
		{ "fd:1048577", -EINVAL, "names no file descriptors" },
		{ "fd:0,1048577", -EINVAL, "names no file descriptors" },
		{ "fd:0,y", -EINVAL, "names no file descriptors" },
		{ "fd:1048576", -EBADF, "fd:1048576" },
		{ "fd:0,1048576", -EBADF, "fd:0,1048576" },
		{ "fifo:/nowhere/ctl", -ENOENT, "create it with mkfifo" },
		{ "fifo:/dev/null", -EINVAL, "is not a fifo" },
		{ "file:x", -EINVAL, "neither fd: nor fifo:" },
	};
	char dir[] = "/tmp/pm-control-XXXXXX", ctl[64], ack[64], where[160];
	struct control_command c;
	struct error e = { 0 };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(control_open(&control, cases[i].where, &e), cases[i].err);
		if (!strstr(e.text, cases[i].said))
			fail_msg("%s: %s", cases[i].where, e.text);
		assert_int_equal(control.ctl, -1);
		assert_int_equal(control.ack, -1);
	}
	assert_int_equal(control_open(&control, NULL, &e), 0);
	assert_false(control_next(&control, &c));
	control_close(&control);
	assert_non_null(mkdtemp(dir));
	snprintf(ctl, sizeof(ctl), "%s/ctl", dir);
	snprintf(ack, sizeof(ack), "%s/ack", dir);
	assert_int_equal(mkfifo(ctl, 0600) | mkfifo(ack, 0600), 0);
	snprintf(where, sizeof(where), "fifo:%s,%s", ctl, ack);
	assert_int_equal(control_open(&control, where, &e), 0);
	/* One that leaves does not end it. */
	for (int i = 0; i < 2; i++) {
		to = open(ctl, O_WRONLY | O_NONBLOCK);
		put("ping\n");
		close(to);
		assert_true(control_next(&control, &c));
		assert_int_equal(c.verb, CONTROL_PING);
		assert_false(control_next(&control, &c));
	}
	control_close(&control);
	unlink(ctl);
	unlink(ack);
	rmdir(dir);
}

/* ---- the socket ---- */

/* A client that says that line to this process; its exit status is how many obeyed, or 100. */
static pid_t client(const char *line, pid_t pid, const char *refusal)
{
	pid_t child = fork();
	char got[64] = "";
	struct error e = { 0 };
	int n;

	if (child)
		return child;
	n = marksocket_say(pid, line, NULL, got, sizeof(got), &e);
	_exit(strcmp(got, refusal) ? 100 : n);
}

static int status_of(pid_t child)
{
	int status = 0;

	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int wait_for_peer(char *line, size_t size, struct control_command *c)
{
	int peer = -1;

	for (int i = 0; i < 5000 && peer < 0; i++) {
		peer = control_next_peer(&control, line, size, c);
		if (peer < 0)
			usleep(1000);
	}
	return peer;
}

static void markers_come_by_socket(void **state)
{
	struct message_fds none = { .n = 0 };
	struct control_command c;
	struct error e = { 0 };
	char line[32];
	pid_t child;
	int peer;

	assert_int_equal(control_open(&control, NULL, &e), 0);
	if (control.mark < 0)
		skip();
	assert_int_equal(control_next_peer(&control, line, sizeof(line), &c), -1);
	/* Another recorder of the same process has another name, and is another one. */
	assert_int_equal(status_of(client("mark x", 1, "")), 0);
	child = client("mark two words", getpid(), "");
	peer = wait_for_peer(line, sizeof(line), &c);
	assert_true(peer >= 0);
	assert_int_equal(c.verb, CONTROL_MARK);
	assert_string_equal(c.text, "two words");
	marksocket_answer(peer, NULL, &none);
	assert_int_equal(status_of(child), 1);
	child = client("mark a text that is longer than the line", getpid(), "not now");
	peer = wait_for_peer(line, sizeof(line), &c);
	assert_string_equal(c.text, "a text that is longer than");
	marksocket_answer(peer, "not now", &none);
	assert_int_equal(status_of(child), 0);
	control_close(&control);
	assert_int_equal(control.mark, -1);
	assert_int_equal(status_of(client("mark x", getpid(), "")), 0);
}

/* ---- signals ---- */

/* Whether each signal is heard, in a process of its own, by the recorder, perf or turbostat with and without a
 * command. Its exit status: 0 if all is as expected. */
static int heard(const struct joined *j, bool command, const int *yes, const int *no)
{
	struct signals_event e;
	struct signals s;

	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGQUIT, SIG_DFL); /* a background job of a shell ignores it */
	if (signals_init(&s, j, command))
		return 1;
	if (signals_next(&s, &e))
		return 2;
	for (; *yes; yes++) {
		kill(getpid(), *yes);
		if (!signals_next(&s, &e) || e.signo != *yes || e.terminal)
			return *yes;
		if (signals_end(&e) != (*yes != SIGCHLD && *yes != SIGUSR1 && *yes != SIGUSR2))
			return 64 + *yes;
	}
	for (; *no; no++) {
		sigset_t set;

		sigprocmask(SIG_BLOCK, NULL, &set);
		if (sigismember(&set, *no))
			return 128 + *no;
	}
	signals_release(&s);
	return s.fd >= 0;
}

static void signals_are_heard_by_whom_they_are_for(void **state)
{
	static const struct joined perf = { .says = true }, turbostat = { 0 };
	static const struct {
		const struct joined *j;
		bool command;
		int yes[10], no[6];
	} cases[] = {
		/* A background job ignores SIGINT, which pmrec does not keep; nohup is kept. */
		{ NULL,
		  false,
		  { SIGINT, SIGTERM, SIGQUIT, SIGCHLD, SIGUSR1, SIGUSR2 },
		  { SIGHUP, SIGALRM, SIGABRT, SIGPIPE } },
		{ NULL, true, { SIGINT, SIGTERM, SIGQUIT, SIGCHLD, SIGUSR1, SIGUSR2 }, { SIGHUP, SIGALRM } },
		{ &perf, true, { SIGINT, SIGTERM, SIGQUIT, SIGUSR1, SIGALRM, SIGABRT, SIGPIPE }, { SIGUSR2 } },
		{ &perf, false, { SIGINT, SIGALRM }, { SIGUSR1, SIGUSR2 } },
		{ &turbostat, true, { SIGINT, SIGPIPE }, { SIGUSR1, SIGALRM, SIGUSR2 } },
		{ &turbostat, false, { SIGUSR1, SIGTERM }, { SIGALRM, SIGABRT } },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		pid_t child = fork();
		int status;

		if (!child)
			_exit(heard(cases[i].j, cases[i].command, cases[i].yes, cases[i].no));
		status = status_of(child);
		if (status)
			fail_msg("case %zu: %d", i, status);
	}
}

/* It is that of the program. */
void command_suggest(char *const *argv, struct error *e)
{
}

/* perf and turbostat wait for a command that did not receive the signal; perf's intervals end with it, and perf ends
 * of SIGQUIT. A second Ctrl-C is for a command that ignores the first. */
static void signals_end_a_recording(void **state)
{
	enum { OURS, PERF, TURBOSTAT };
	static const struct {
		int signo, who;
		bool running, terminal, intervals, quit, run_over, interrupted, run_over_twice;
	} row[] = {
		{ SIGINT, OURS, false, false, true, true, true, true, true },
		{ SIGINT, OURS, true, false, true, true, false, true, true },
		{ SIGINT, PERF, true, false, false, true, false, false, false },
		{ SIGINT, PERF, true, false, true, true, false, true, true },
		{ SIGINT, PERF, true, true, false, true, false, true, true },
		{ SIGINT, PERF, false, false, false, true, true, true, true },
		{ SIGALRM, PERF, true, false, false, true, false, false, false },
		{ SIGQUIT, PERF, true, false, false, true, false, true, true },
		{ SIGQUIT, TURBOSTAT, true, false, true, true, false, false, false },
		{ SIGINT, TURBOSTAT, true, true, true, true, false, true, true },
		{ SIGTERM, OURS, true, false, true, true, false, false, false },
		{ SIGTERM, OURS, false, false, true, true, true, false, true },
		{ SIGHUP, PERF, false, false, true, true, true, false, true },
		{ SIGUSR1, PERF, true, false, true, false, false, false, false },
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		const struct record_options o = { .sample.interval_ns = row[i].intervals ? 1000 : 0 };
		const struct signals_event e = { .signo = row[i].signo, .terminal = row[i].terminal };
		struct joined j = { .says = row[i].who == PERF };
		static struct recorder r;

		r = (struct recorder){ .options = &o,
				       .joined = row[i].who == OURS ? NULL : &j,
				       .child.started = row[i].running };
		recorder_signal(&r, &e);
		assert_int_equal(r.quit, row[i].quit);
		assert_int_equal(r.run_over, row[i].run_over);
		assert_int_equal(r.interrupted, row[i].interrupted);
		assert_int_equal(j.signal, r.joined && row[i].signo != SIGUSR1 ? row[i].signo : 0);
		recorder_signal(&r, &e);
		assert_int_equal(r.run_over, row[i].run_over_twice);
	}
}

static void keys_end_a_recording(void **state)
{
	int input[2], before = dup(STDIN_FILENO);
	static struct recorder r;

	r = (struct recorder){ .input = true };
	assert_int_equal(pipe2(input, O_CLOEXEC), 0);
	assert_int_equal(dup2(input[0], STDIN_FILENO), STDIN_FILENO);
	assert_int_equal(write(input[1], "\n", 1), 1);
	recorder_input(&r);
	assert_true(r.input && !r.quit && !r.run_over);
	assert_int_equal(write(input[1], "xq\n", 3), 3);
	recorder_input(&r);
	assert_true(r.input && r.quit && r.run_over);
	close(input[1]);
	recorder_input(&r);
	assert_false(r.input);
	dup2(before, STDIN_FILENO);
	close(before);
	close(input[0]);
}

/* ---- triggers ---- */

static void triggers_are_spelled_out(void **state)
{
	static const struct {
		const char *text;
		int err;
		struct pressure p;
	} cases[] = {
		{ "psi:memory:some:150ms/2s", 0, { "memory", false, 150000, 2000000 } },
		{ "psi:io:full:1s/10s", 0, { "io", true, 1000000, 10000000 } },
		{ "psi:cpu:some:500ms/500ms", 0, { "cpu", false, 500000, 500000 } },
		{ "psi:cpu:some:1us/0.5s", 0, { "cpu", false, 1, 500000 } },
		{ "psi:cpu:some:501ms/500ms", -EINVAL, { "" } },
		{ "psi:cpu:some:1ms/499ms", -EINVAL, { "" } },
		{ "psi:cpu:some:1ms/10001ms", -EINVAL, { "" } },
		{ "psi:cpu:some:0/1s", -EINVAL, { "" } },
		{ "psi:cpu:any:1ms/1s", -EINVAL, { "" } },
		{ "psi:cpu:some:1ms", -EINVAL, { "" } },
		{ "psi:cpu:some:1ms/1s/2s", -EINVAL, { "" } },
		{ "psi:cpu:some:1parsec/1s", -EINVAL, { "" } },
		{ "cpu:some:1ms/1s", -EINVAL, { "" } },
		{ "", -EINVAL, { "" } },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct error e = { 0 };
		struct pressure p;

		if (pressure_parse(&p, cases[i].text, &e) != cases[i].err)
			fail_msg("%s: %s", cases[i].text, e.text);
		if (cases[i].err)
			continue;
		assert_string_equal(p.resource, cases[i].p.resource);
		assert_int_equal(p.full, cases[i].p.full);
		assert_int_equal(p.stall_us, cases[i].p.stall_us);
		assert_int_equal(p.window_us, cases[i].p.window_us);
	}
}

/* ---- progress ---- */

static void progress_is_a_line(void **state)
{
	static const struct {
		uint64_t seconds;
		struct recording_stats stats;
		const char *line;
	} cases[] = {
		{ 0, { .snapshots = 0, .bytes = 0 }, "0:00:00  0 snapshots  0 B" },
		{ 59, { .snapshots = 1, .bytes = 95100 }, "0:00:59  1 snapshot  95.1 kB" },
		{ 3600 + 23 * 60 + 4,
		  { .snapshots = 83, .bytes = 999, .lost = 1 },
		  "1:23:04  83 snapshots  999 B  1 lost tick" },
		{ 100 * 3600,
		  { .snapshots = 2, .bytes = 999, .lost = 2 },
		  "100:00:00  2 snapshots  999 B  2 lost ticks" },
	};
	struct buf line = BUF_INIT;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		/* Half a second more, so that this takes none of it. */
		struct progress p = { .start_ns = clocks_monotonic() - cases[i].seconds * 1000000000 - 500000000 };

		progress_put(&p, &cases[i].stats, &line);
		assert_string_equal(buf_str(&line), cases[i].line);
		buf_clear(&line);
	}
	buf_release(&line);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_commands),
		cmocka_unit_test(lines_come_in_pieces),
		cmocka_unit_test(answers_say_what_was_wrong),
		cmocka_unit_test(only_pipes_are_taken),
		cmocka_unit_test(markers_come_by_socket),
		cmocka_unit_test(signals_are_heard_by_whom_they_are_for),
		cmocka_unit_test(signals_end_a_recording),
		cmocka_unit_test(keys_end_a_recording),
		cmocka_unit_test(triggers_are_spelled_out),
		cmocka_unit_test(progress_is_a_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
