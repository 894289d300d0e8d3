/* pmrec report and --report: finds the pmrep that belongs to this pmrec and runs it, also during a recording. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "record/commands.h"
#include "record/host/opener.h"
#include "record/host/privileges.h"

/* "/usr/libexec/pmrec/pmrep" for "/usr/bin/pmrec", or "build/bin/pmrep": any other might be a different program. */
static bool beside_us(char path[static PATH_MAX], const char *where)
{
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 32);
	char *slash;

	if (n <= 0)
		return false;
	path[n] = '\0';
	slash = strrchr(path, '/');
	if (!slash)
		return false;
	strcpy(slash + 1, where);
	return !access(path, X_OK);
}

bool command_find_pmrep(char path[static PATH_MAX])
{
	return beside_us(path, "../libexec/pmrec/pmrep") || beside_us(path, "pmrep");
}

int command_exec_pmrep(const char *found, char *const *args, struct error *e)
{
	char path[PATH_MAX];
	int err = privileges_for_child();

	if (!err && (found || command_find_pmrep(path)))
		execv(found ? found : path, args);
	if (!err) {
		execvp("pmrep", args);
		err = -errno;
	}
	return error_sys(e, -err, "cannot run pmrep");
}

/* A terminal's Ctrl-C reaches all; readers end when there is no more to read. */
static void ignore_signals(void)
{
	static const int sent[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1 };

	for (size_t i = 0; i < sizeof(sent) / sizeof(sent[0]); i++)
		signal(sent[i], SIG_IGN);
}

pid_t command_start_reader(char *const *argv, int from, bool to_stderr)
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

int cmd_report(int argc, char **argv)
{
	struct error e = { 0 };

	argv[0] = (char *)"pmrep";
	command_exec_pmrep(NULL, argv, &e);
	return command_failed(&e);
}
