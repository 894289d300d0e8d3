#include "record/perf/freeze_smi.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/host/privileges.h"

static int write_to(int fd, const char *text)
{
	return pwrite(fd, text, strlen(text), 0) == (ssize_t)strlen(text) ? 0 : -EIO;
}

/* Only SIGKILL ends it early. It keeps no descriptor open on which someone might wait. */
static void keep(int file, int alive)
{
	sigset_t all;
	ssize_t n;
	char byte;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	prctl(PR_SET_NAME, "pmrec/smi");
	if (dup2(file, 0) < 0 || dup2(alive, 1) < 0)
		_exit(1);
	syscall(SYS_close_range, 2u, ~0u, 0u);
	privileges_confine();
	do {
		n = read(1, &byte, 1);
	} while (n > 0 || (n < 0 && errno == EINTR));
	_exit(write_to(0, "0\n") ? 1 : 0);
}

int freeze_smi_begin(struct freeze_smi *f, const struct root *root, struct error *e)
{
	char now[8];
	SCOPED(fd_close) int file = -1;
	int pipe_fd[2], err = root_line(root, now, sizeof(now), FREEZE_SMI_PATH);

	*f = (struct freeze_smi){ .alive = -1 };
	if (err)
		return error_sys(e, -err, "--smi-cost: %s", FREEZE_SMI_PATH);
	if (!strcmp(now, "1"))
		return 0;
	file = root_open_write(root, FREEZE_SMI_PATH);
	if (file < 0)
		return error_sys(e, -file, "--smi-cost cannot set %s", FREEZE_SMI_PATH);
	if (pipe2(pipe_fd, O_CLOEXEC))
		return error_sys(e, errno, "--smi-cost");
	/* Start the process that restores the setting, then change it: there is no moment in between. */
	f->keeper = fork();
	if (f->keeper == 0) {
		close(pipe_fd[1]);
		keep(file, pipe_fd[0]);
	}
	err = f->keeper < 0 ? -errno : write_to(file, "1\n");
	close(pipe_fd[0]);
	f->alive = pipe_fd[1];
	if (f->keeper < 0)
		f->keeper = 0;
	if (err) {
		freeze_smi_end(f);
		return error_sys(e, -err, "--smi-cost: %s", FREEZE_SMI_PATH);
	}
	return 0;
}

void freeze_smi_end(struct freeze_smi *f)
{
	if (f->alive > 0)
		close(f->alive);
	while (f->keeper > 0 && waitpid(f->keeper, NULL, 0) < 0 && errno == EINTR)
		;
	*f = (struct freeze_smi){ .alive = -1 };
}
