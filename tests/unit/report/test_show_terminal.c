/* What goes to a terminal, and through which pager: a child on a terminal of its own, of 61 columns. */
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>

#include "report/cmd.c"
#include "tests/unit/lib/captured.h"
#include "tests/unit/lib/diff_world.h"
#include "tests/unit/lib/test.h"

enum { EVERYTHING, NO_OUTPUT, NO_MESSAGES };

/* What a command does around its output: whether there is a pager, the width behind it and that of the terminal, and whether ^C
 * is ignored. */
static void command(int closed)
{
	int none = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct sigaction was;
	bool started;

	if (closed == NO_OUTPUT)
		dup2(none, STDOUT_FILENO);
	if (closed == NO_MESSAGES)
		dup2(none, STDERR_FILENO);
	started = pager_start(true);
	sigaction(SIGINT, NULL, &was);
	fprintf(closed == NO_OUTPUT ? stderr : stdout, "%d %u %u %d\n", started, pager_width(),
		cmd_width(closed == NO_OUTPUT ? STDERR_FILENO : STDOUT_FILENO), was.sa_handler == SIG_IGN);
	fflush(stdout);
	fprintf(stderr, "said %d\n", isatty(STDERR_FILENO));
	fclose(stdout);
	cmd_pager_wait();
	_exit(7);
}

/* clang-format off */
static const struct {
	const char *ours, *pager, *term, *less;
	int closed;
	const char *out;
} cases[] = {
	{ NULL, "sed s/^/P:/", "xterm", NULL, EVERYTHING, "P:1 61 61 1\nP:said 0\n" },
	{ "sed s/^/O:/", "sed s/^/P:/", "xterm", NULL, EVERYTHING, "O:1 61 61 1\nO:said 0\n" },
	{ "sed s/^/O:/", NULL, "xterm", NULL, NO_MESSAGES, "O:1 61 61 1\n" },
	{ "cat; echo $LESS", NULL, "xterm", NULL, EVERYTHING, "1 61 61 1\nsaid 0\nFRSX\n" },
	{ "cat; echo $LESS", NULL, "xterm", "M", EVERYTHING, "1 61 61 1\nsaid 0\nM\n" },
	{ "", "sed s/^/P:/", "xterm", NULL, EVERYTHING, "0 0 61 0\nsaid 1\n" },
	{ "cat", "sed s/^/P:/", "xterm", NULL, EVERYTHING, "0 0 61 0\nsaid 1\n" },
	{ NULL, "sed s/^/P:/", "dumb", NULL, EVERYTHING, "0 0 61 0\nsaid 1\n" },
	{ NULL, "sed s/^/P:/", NULL, NULL, EVERYTHING, "0 0 61 0\nsaid 1\n" },
	{ NULL, "sed s/^/P:/", "xterm", NULL, NO_OUTPUT, "0 0 61 0\nsaid 1\n" },
};
/* clang-format on */

static void set(const char *name, const char *value)
{
	if (value)
		setenv(name, value, 1);
	else
		unsetenv(name);
}

/* Runs `child` on a terminal, or into a pipe, and keeps what it prints; its status. */
static int on_terminal(bool is_terminal, void (*child)(const void *ctx), const void *ctx, char *out, size_t room)
{
	struct winsize size = { .ws_row = 50, .ws_col = 61 };
	size_t len = 0, kept = 0;
	ssize_t n;
	int way[2], fd, status;
	pid_t pid;

	fflush(NULL);
	if (is_terminal) {
		pid = forkpty(&fd, NULL, NULL, &size);
	} else {
		assert_int_equal(pipe(way), 0);
		pid = fork();
		if (!pid) {
			dup2(way[1], STDOUT_FILENO);
			dup2(way[1], STDERR_FILENO);
		}
		close(way[1]);
		fd = way[0];
	}
	assert_true(pid >= 0);
	if (!pid)
		child(ctx);
	while (len < room - 1 && (n = read(fd, out + len, room - 1 - len)) > 0)
		len += (size_t)n;
	close(fd);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	/* Terminals end lines with two characters. */
	for (size_t k = 0; k < len; k++)
		if (out[k] != '\r')
			out[kept++] = out[k];
	out[kept] = '\0';
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void paged(const void *ctx)
{
	size_t i = *(const size_t *)ctx;

	set("PMREP_PAGER", cases[i].ours);
	set("PAGER", cases[i].pager);
	set("TERM", cases[i].term);
	set("LESS", cases[i].less);
	/* Of another pager. */
	set("PMREP_PAGER_WIDTH", "99");
	command(cases[i].closed);
}

static void terminal(void **state)
{
	char out[512];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(on_terminal(true, paged, &i, out, sizeof(out)), 7);
		if (strcmp(out, cases[i].out))
			fail_msg("%zu: %s", i, out);
	}
}

/* ---- commands ---- */

UNIT_TESTS(cmocka_unit_test(terminal))
