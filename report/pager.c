#include "report/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/table.h"
#include "report/input/input.h"

/* How a part of the program that only has a descriptor, or a child process, learns the width. */
#define WIDTH "PMREP_PAGER_WIDTH"
#define FDS   64 /* of the parent, at most */

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

/* Which file the parent reads, and how much of it is behind. */
static void show_progress(pid_t parent)
{
	for (int fd = STDERR_FILENO + 1; fd < FDS; fd++) {
		SCOPED(buf_release) struct buf name = BUF_INIT;
		char path[64], target[4096];
		unsigned flags = 0;
		uint64_t at = 0;
		struct stat st;
		ssize_t len;
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", (int)parent, fd);
		f = fopen(path, "re");
		if (!f || fscanf(f, "pos: %" SCNu64 " flags: %o", &at, &flags) != 2)
			at = 0;
		if (f)
			fclose(f);
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)parent, fd);
		len = readlink(path, target, sizeof(target) - 1);
		if (!at || (flags & O_ACCMODE) != O_RDONLY || len < 0 || stat(path, &st) || !S_ISREG(st.st_mode))
			continue;
		target[len] = '\0';
		text_escape(&name, input_name(target), strlen(input_name(target)));
		fprintf(stderr, "\r%.50s: %u %% read\033[K", buf_str(&name),
			(uint64_t)st.st_size > at ? (unsigned)(100.0 * (double)at / (double)st.st_size) : 100);
		return;
	}
}

static void interrupted(int number)
{
	/* poll() ends. */
}

/* Until the parent prints or ends: after a second, how far it has read. ^C ends it, as it would without us. */
static void await_output(pid_t parent)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	bool shown = false;
	int n;

	sigaction(SIGINT, &(struct sigaction){ .sa_handler = interrupted }, NULL);
	while ((n = poll(&in, 1, shown ? 200 : 1000)) == 0) {
		show_progress(parent);
		shown = true;
	}
	if (shown)
		fprintf(stderr, "\r\033[K");
	if (n < 0) {
		kill(parent, SIGPIPE);
		_exit(128 + SIGINT);
	}
	signal(SIGINT, SIG_DFL);
}

/* A child whose standard input is what the parent writes into *to. 0 in the child, which can start other programs. */
static pid_t fork_reader(int *to)
{
	pid_t child;
	int way[2];

	if (pipe2(way, O_CLOEXEC))
		return -1;
	child = fork();
	if (!child)
		dup2(way[0], STDIN_FILENO);
	close(way[0]);
	if (child > 0)
		*to = way[1];
	else
		close(way[1]);
	return child;
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

bool pager_start(bool wanted, bool saves)
{
	const char *pager = wanted ? chosen() : NULL, *term = getenv("TERM");
	bool said = isatty(STDERR_FILENO), smart = term && strcmp(term, "dumb") != 0;
	struct winsize size;
	struct stat st;
	bool paged = pager && smart && isatty(STDOUT_FILENO) && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	pid_t parent = getpid(), child;
	char text[4096];
	ssize_t n;
	int to = -1;

	unsetenv(WIDTH);
	/* Who reads from a pipe may be drawing on the terminal. */
	if (!paged && !(said && smart && (saves || (!fstat(STDOUT_FILENO, &st) && S_ISREG(st.st_mode)))))
		return false;
	child = fork_reader(&to);
	if (child < 0)
		return false;
	if (!child) {
		if (said)
			await_output(parent);
		if (paged) {
			/* Ends if everything fits on the screen, keeps colors, does not wrap. */
			setenv("LESS", "FRSX", 0);
			execl("/bin/sh", "sh", "-c", pager, (char *)NULL);
			_exit(127);
		}
		signal(SIGINT, SIG_IGN);
		while ((n = read(STDIN_FILENO, text, sizeof(text))) > 0 && write(STDERR_FILENO, text, (size_t)n) == n)
			;
		_exit(0);
	}
	/* What is said would stand across the pager's screen, or beside the progress. */
	if (said)
		dup2(to, STDERR_FILENO);
	if (paged) {
		dup2(to, STDOUT_FILENO);
		/* ^C belongs to the pager: output continues as long as it reads. */
		signal(SIGINT, SIG_IGN);
		snprintf(text, sizeof(text), "%u", size.ws_col);
		setenv(WIDTH, text, 1);
	}
	close(to);
	atexit(wait_at_exit);
	return paged;
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
