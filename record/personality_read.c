/* The readers of a recording while it is written: pmrep, and the file of --keep. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file.h"
#include "record/commands.h"
#include "record/host/opener.h"
#include "record/host/privileges.h"

/* A terminal's Ctrl-C reaches all; readers end when there is no more to read. */
static void ignore_signals(void)
{
	static const int sent[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGALRM, SIGABRT, SIGUSR1, SIGUSR2 };

	for (size_t i = 0; i < sizeof(sent) / sizeof(sent[0]); i++)
		signal(sent[i], SIG_IGN);
}

pid_t personality_start_reader(char *const *argv, int from, bool to_stderr)
{
	/* Not found by the child: the kernel takes long to forget a process that looked at its own /proc. */
	char path[PATH_MAX];
	bool found = command_find_pmrep(path);
	pid_t pid = fork();
	struct error e = { 0 };

	if (pid)
		return pid;
	opener_forget();
	ignore_signals();
	/* If one of the two is killed, so is the other. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (dup2(from, STDIN_FILENO) < 0 || (to_stderr && dup2(STDERR_FILENO, STDOUT_FILENO) < 0))
		_exit(EXIT_OWN);
	command_exec_pmrep(found ? path : NULL, argv, &e);
	_exit(command_failed(&e));
}

/* What was there stays until there is something to keep; who could read it cannot read what --privacy=full has. */
static int open_kept(const char *path)
{
	struct stat st;
	int fd = strcmp(path, "-") ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600) : STDOUT_FILENO;

	if (fd > STDOUT_FILENO && !fstat(fd, &st) && S_ISREG(st.st_mode) && (fchmod(fd, 0600) || ftruncate(fd, 0)))
		return -1;
	return fd;
}

pid_t personality_start_keeper(const char *who, const char *path, const int from[2], int to)
{
	pid_t pid = fork();
	char data[65536];
	int fd = -1;
	ssize_t n;

	if (pid)
		return pid;
	close(from[1]);
	opener_forget();
	ignore_signals();
	signal(SIGPIPE, SIG_IGN);
	if (privileges_for_child())
		_exit(EXIT_OWN);
	while ((n = read(from[0], data, sizeof(data))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (fd < 0 && (fd = open_kept(path)) < 0) {
			fprintf(stderr, "%s: cannot write '%s': %s\n", who, path, strerror(errno));
			_exit(EXIT_OWN);
		}
		if (n < 0 || file_write(fd, data, (size_t)n)) {
			fprintf(stderr, "%s: '%s': %s\n", who, path, strerror(errno));
			_exit(EXIT_OWN);
		}
		if (to >= 0 && file_write(to, data, (size_t)n))
			_exit(0);
	}
	_exit(fd >= 0 && close(fd) ? EXIT_OWN : 0);
}
