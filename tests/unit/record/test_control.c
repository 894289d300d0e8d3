/* What others ask of a recorder, and what it tells them: control lines, markers by socket, progress. */
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "record/cmd_record.c"
#include "tests/unit/lib/test.h"

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
		{ "disable", CONTROL_DISABLE, "" },
		{ "snapshot", CONTROL_SNAPSHOT, "" },
		{ "mark \t two words ", CONTROL_MARK, "two words " },
		{ "mark a-b", CONTROL_MARK, "a-b" },
		{ "dump", CONTROL_DUMP, "" },
		{ "stop", CONTROL_STOP, "" },
		{ "evlist", CONTROL_EVLIST, "" },
		{ "enable cycles", CONTROL_ENABLE, "cycles" },
		{ "disable cycles", CONTROL_DISABLE, "cycles" },
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

/* ---- signals ---- */

/* It is that of the program. */
void command_suggest(char *const *argv, struct error *e)
{
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

UNIT_TESTS(cmocka_unit_test(words_are_commands), cmocka_unit_test(lines_come_in_pieces),
	   cmocka_unit_test(answers_say_what_was_wrong), cmocka_unit_test(only_pipes_are_taken),
	   cmocka_unit_test(progress_is_a_line), cmocka_unit_test(keys_end_a_recording))
