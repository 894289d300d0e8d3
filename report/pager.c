#include "report/pager.h"

#include <errno.h>
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

bool pager_start(void)
{
	const char *pager = chosen(), *term = getenv("TERM");
	struct winsize size;
	char width[16];
	int way[2];
	pid_t child;

	unsetenv(WIDTH);
	if (!pager || !isatty(STDOUT_FILENO) || !term || !strcmp(term, "dumb") ||
	    ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || pipe(way))
		return false;
	child = fork();
	if (!child) {
		dup2(way[0], STDIN_FILENO);
		close(way[0]);
		close(way[1]);
		/* Ends if everything fits on the screen, keeps colors, does not wrap. */
		setenv("LESS", "FRSX", 0);
		execl("/bin/sh", "sh", "-c", pager, (char *)NULL);
		_exit(127);
	}
	if (child > 0) {
		dup2(way[1], STDOUT_FILENO);
		/* ^C belongs to the pager: output continues as long as it reads. */
		signal(SIGINT, SIG_IGN);
		snprintf(width, sizeof(width), "%u", size.ws_col);
		setenv(WIDTH, width, 1);
	}
	close(way[0]);
	close(way[1]);
	return child > 0;
}

void pager_wait(void)
{
	while (wait(NULL) > 0 || errno == EINTR)
		;
}
