#include "report/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* How a part of the program that only has a descriptor, or a child process, learns the width. */
#define WIDTH "PMREP_PAGER_WIDTH"

unsigned pager_width(void)
{
	const char *text = getenv(WIDTH);

	return text && !isatty(STDOUT_FILENO) ? (unsigned)strtoul(text, NULL, 10) : 0;
}

static const char *chosen(void)
{
	const char *pager = getenv("PMREP_PAGER");

	if (!pager)
		pager = getenv("PAGER");
	if (!pager)
		return "if command -v less >/dev/null 2>&1; then exec less; else exec cat; fi";
	return *pager && strcmp(pager, "cat") != 0 ? pager : NULL;
}

/* What was printed before memory ended is still being read. Otherwise pager_wait() has been here. */
static void wait_at_exit(void)
{
	if (waitpid(-1, NULL, WNOHANG) < 0)
		return;
	fflush(stdout);
	close(STDOUT_FILENO);
	pager_wait();
}

bool pager_start(bool wanted)
{
	const char *pager = wanted ? chosen() : NULL, *term = getenv("TERM");
	struct winsize size;
	char width[16];
	pid_t child;
	int way[2];

	unsetenv(WIDTH);
	if (!pager || !term || !strcmp(term, "dumb") || !isatty(STDOUT_FILENO) ||
	    ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || pipe2(way, O_CLOEXEC))
		return false;
	child = fork();
	if (!child) {
		dup2(way[0], STDIN_FILENO);
		/* Ends if everything fits on the screen, keeps colors, does not wrap. */
		setenv("LESS", "FRSX", 0);
		execl("/bin/sh", "sh", "-c", pager, (char *)NULL);
		_exit(127);
	}
	if (child > 0) {
		/* What is said would stand across the pager's screen. */
		if (isatty(STDERR_FILENO))
			dup2(way[1], STDERR_FILENO);
		dup2(way[1], STDOUT_FILENO);
		/* ^C belongs to the pager: output continues as long as it reads. */
		signal(SIGINT, SIG_IGN);
		snprintf(width, sizeof(width), "%u", size.ws_col);
		setenv(WIDTH, width, 1);
		atexit(wait_at_exit);
	}
	close(way[0]);
	close(way[1]);
	return child > 0;
}

void pager_wait(void)
{
	if (waitpid(-1, NULL, WNOHANG) < 0)
		return;
	/* It may be what they read. */
	close(STDERR_FILENO);
	while (wait(NULL) > 0 || errno == EINTR)
		;
}
