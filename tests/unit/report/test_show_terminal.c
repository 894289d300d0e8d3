/* What goes to a terminal, and through which pager: a child on a terminal of its own, of 61 columns. */
#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "report/cmd.h"
#include "report/pager.h"

enum { EVERYTHING, NO_OUTPUT, NO_MESSAGES };

/* What a command does around its output: whether there is a pager, the width behind it and that of the terminal, and whether ^C
 * is ignored. */
static void command(int closed, bool watch, bool saves)
{
	int none = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct sigaction was;
	bool started;

	if (closed == NO_OUTPUT)
		dup2(none, STDOUT_FILENO);
	if (closed == NO_MESSAGES)
		dup2(none, STDERR_FILENO);
	started = !watch && pager_start();
	if (watch)
		pager_watch(saves);
	sigaction(SIGINT, NULL, &was);
	fprintf(closed == NO_OUTPUT ? stderr : stdout, "%d %u %u %d\n", started, pager_width(),
		cmd_width(closed == NO_OUTPUT ? STDERR_FILENO : STDOUT_FILENO), was.sa_handler == SIG_IGN);
	fflush(stdout);
	fprintf(stderr, "said %d\n", isatty(STDERR_FILENO));
	fclose(stdout);
	pager_wait();
	_exit(7);
}

/* clang-format off */
static const struct {
	const char *ours, *pager, *term, *less;
	int closed;
	bool watch, saves;
	const char *out;
} cases[] = {
	{ NULL, "sed s/^/P:/", "xterm", NULL, EVERYTHING, false, false, "P:1 61 61 1\nP:said 0\n" },
	{ "sed s/^/O:/", "sed s/^/P:/", "xterm", NULL, EVERYTHING, false, false, "O:1 61 61 1\nO:said 0\n" },
	{ "sed s/^/O:/", NULL, "xterm", NULL, NO_MESSAGES, false, false, "O:1 61 61 1\n" },
	{ "cat; echo $LESS", NULL, "xterm", NULL, EVERYTHING, false, false, "1 61 61 1\nsaid 0\nFRSX\n" },
	{ "cat; echo $LESS", NULL, "xterm", "M", EVERYTHING, false, false, "1 61 61 1\nsaid 0\nM\n" },
	{ "", "sed s/^/P:/", "xterm", NULL, EVERYTHING, false, false, "0 0 61 0\nsaid 1\n" },
	{ "cat", "sed s/^/P:/", "xterm", NULL, EVERYTHING, false, false, "0 0 61 0\nsaid 1\n" },
	{ NULL, "sed s/^/P:/", "dumb", NULL, EVERYTHING, false, false, "0 0 61 0\nsaid 1\n" },
	{ NULL, "sed s/^/P:/", NULL, NULL, EVERYTHING, false, false, "0 0 61 0\nsaid 1\n" },
	{ NULL, "sed s/^/P:/", "xterm", NULL, NO_OUTPUT, false, false, "0 0 61 0\nsaid 1\n" },
	/* What waits for output passes messages on, if a command saves what it makes. */
	{ NULL, NULL, "xterm", NULL, EVERYTHING, true, true, "0 0 61 0\nsaid 0\n" },
	{ NULL, NULL, "xterm", NULL, EVERYTHING, true, false, "0 0 61 0\nsaid 1\n" },
	{ NULL, NULL, "dumb", NULL, EVERYTHING, true, true, "0 0 61 0\nsaid 1\n" },
	{ NULL, NULL, NULL, NULL, EVERYTHING, true, true, "0 0 61 0\nsaid 1\n" },
	{ NULL, NULL, "xterm", NULL, NO_OUTPUT, true, false, "0 0 61 0\nsaid 1\n" },
	{ NULL, NULL, "xterm", NULL, NO_MESSAGES, true, true, "0 0 61 0\n" },
};
/* clang-format on */

static void set(const char *name, const char *value)
{
	if (value)
		setenv(name, value, 1);
	else
		unsetenv(name);
}

static void terminal(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct winsize size = { .ws_row = 50, .ws_col = 61 };
		char out[512], *to = out;
		size_t len = 0;
		ssize_t n;
		int fd, status;
		pid_t pid;

		fflush(NULL);
		pid = forkpty(&fd, NULL, NULL, &size);
		assert_true(pid >= 0);
		if (!pid) {
			set("PMREP_PAGER", cases[i].ours);
			set("PAGER", cases[i].pager);
			set("TERM", cases[i].term);
			set("LESS", cases[i].less);
			/* Of another pager. */
			set("PMREP_PAGER_WIDTH", cases[i].watch ? NULL : "99");
			command(cases[i].closed, cases[i].watch, cases[i].saves);
		}
		while (len < sizeof(out) - 1 && (n = read(fd, out + len, sizeof(out) - 1 - len)) > 0)
			len += (size_t)n;
		close(fd);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
		/* Terminals end lines with two characters. */
		for (size_t k = 0; k < len; k++)
			if (out[k] != '\r')
				*to++ = out[k];
		*to = '\0';
		if (strcmp(out, cases[i].out))
			fail_msg("%zu: %s", i, out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(terminal) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
